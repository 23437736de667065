/* tacit/mapper.h: range mappers: which part of a buffer a piece of a task touches.
 *
 * A range mapper is a pure function from a box of the iteration space (a chunk, or part of one) to
 * a part of a buffer. The planner applies it to the chunk of each node to learn who needs what; it
 * never looks into kernels. A mapper may name more than the kernel touches, which costs messages
 * and memory, but never less.
 *
 * Built-in mappers are plain values, made by the functions below; they need no context and are
 * never destroyed. Each has one *component* per dimension of the buffer, which says what that
 * dimension sees of the chunk. So most of them can be written with tacit_components, and
 *
 *     tacit_one_to_one()          is  tacit_components(tacit_dim(0), tacit_dim(1), tacit_dim(2))
 *     tacit_slice(1)              is  tacit_components(tacit_dim(0), tacit_full(), tacit_dim(2))
 *     tacit_all()                 is  tacit_components(tacit_full(), tacit_full(), tacit_full())
 *
 * for a buffer of any number of dimensions: components of dimensions that the buffer does not have
 * are not looked at.
 *
 * What a mapper names must lie in the buffer, but for halos and shifts, which are cut at its borders.
 * A kernel that is written for an interior item must therefore look at the indices at the border.
 *
 * What the items [2, 4) of 8 touch of a buffer of 8 elements:
 *
 *     tacit_one_to_one()            . . # # . . . .
 *     tacit_neighborhood(1, 0, 0)   . # # # # . . .
 *     tacit_all()                   # # # # # # # #
 *     tacit_fixed(tacit_box1(0, 2)) # # . . . . . .
 *
 * and what the items [2, 4) x [2, 4) touch of a matrix of 6 x 6:
 *
 *     one_to_one      neighborhood    star            slice(1)        transposed(1, 0, 2)
 *                     (1, 1, 0)       (1, 1, 0)                       of [0, 2) x [2, 4)
 *     . . . . . .     . . . . . .     . . . . . .     . . . . . .     . . . . . .
 *     . . . . . .     . # # # # .     . . # # . .     . . . . . .     . . . . . .
 *     . . # # . .     . # # # # .     . # # # # .     # # # # # #     # # . . . .
 *     . . # # . .     . # # # # .     . # # # # .     # # # # # #     # # . . . .
 *     . . . . . .     . # # # # .     . . # # . .     . . . . . .     . . . . . .
 *     . . . . . .     . . . . . .     . . . . . .     . . . . . .     . . . . . .
 *
 * What a chunk needs and its node does not have must travel, so mappers decide what a step costs.
 * Let a matrix be written one to one, by a task that is split along dimension 0, and read by one
 * with the same range: with tacit_neighborhood a node gets a border from each neighbour, with
 * tacit_slice(1) nothing, with tacit_slice(0) and tacit_all() all that it lacks.
 *
 * The functions that make mappers check nothing; tacit_submit does. Its errors:
 *
 *     TACIT_ERROR_DIMENSION   task and buffer do not have the dimensions that the mapper needs
 *     TACIT_ERROR_RANGE       the mapper leaves the buffer, or a halo is longer than 2^46
 *     TACIT_ERROR_MAPPER      a mapper that was not made by these functions, a scale out of range,
 *                             or one that is not fit for writing
 *     TACIT_ERROR_OVERLAP     two nodes would write the same element
 *
 * To be fit for writing (tacit_write, tacit_update) a mapper gives different chunks different
 * elements: it uses each dimension of the task at most once and every one that is split, and has
 * no halo (a shift is allowed). tacit_replicated and tasks on one node are the exceptions. */
#ifndef TACIT_MAPPER_H
#define TACIT_MAPPER_H

#include <tacit/box.h>

TACIT_C_BEGIN_

/* ================================================================================ components */

/* What kind a component is; set by the functions below. */
enum {
    TACIT_COMPONENT_FULL = 1, /* the whole extent of the buffer's dimension */
    TACIT_COMPONENT_SPAN,     /* a fixed interval of it */
    TACIT_COMPONENT_DIM,      /* what a dimension of the chunk maps to */
    TACIT_COMPONENT_PERIODIC  /* the same, and behind the last element comes the first */
};

/* What one dimension of a buffer sees of a chunk. Made by tacit_full, tacit_span, tacit_dim,
 * tacit_dim_scaled and tacit_dim_periodic. */
typedef struct tacit_component {
    int64_t lo, hi;    /* span: the interval [lo, hi); dim, periodic: elements more below and above */
    int32_t mul, div;  /* dim: the scale mul / div from items to elements, each 1 to 16384 */
    uint8_t kind, dim; /* TACIT_COMPONENT_...; dim, periodic: the dimension of the task, from 0 */
} tacit_component;

/* A component from its fields, with the scale 1 / 1: what the functions below are made of. */
static inline tacit_component tacit_component_make(int kind, int dim, int64_t lo, int64_t hi)
{
    const tacit_component c = { lo, hi, 1, 1, (uint8_t)kind, (uint8_t)dim };
    return c;
}

/* The whole extent of the buffer's dimension, whatever the chunk. */
static inline tacit_component tacit_full(void) { return tacit_component_make(TACIT_COMPONENT_FULL, 0, 0, 0); }

/* The elements [a, b) of the buffer's dimension, whatever the chunk. It must lie in the buffer; it
 * may be empty, and [0, SIZE_MAX) is the whole extent. */
static inline tacit_component tacit_span(size_t a, size_t b)
{
    return tacit_component_make(TACIT_COMPONENT_SPAN, 0, (int64_t)a, (int64_t)b);
}

/* What the chunk has in dimension k of the task, counted from 0: item i touches index i. */
static inline tacit_component tacit_dim(int k) { return tacit_component_make(TACIT_COMPONENT_DIM, k, 0, 0); }

/* A chunk with the items [begin, end) in dimension k touches
 *
 *     [ floor(begin * mul / div) - lo,  ceil(end * mul / div) + hi )
 *
 * cut to the buffer. `mul` elements belong to `div` items; both are 1 to 16384. `lo` and `hi` are a
 * halo in elements; a negative one shrinks or, with the other, shifts. The range may leave the buffer
 * only by the halo or shift, or if every item has an element in it (TACIT_ERROR_RANGE). An item that is
 * shifted out of it touches nothing.
 *
 *     tacit_dim_scaled(0, 2, 1, 0, 0)    item i touches elements 2i and 2i + 1
 *     tacit_dim_scaled(0, 1, 2, 0, 0)    items 2i and 2i + 1 touch element i
 *     tacit_dim_scaled(0, 1, 1, 1, 2)    item i touches elements i - 1 to i + 2
 *     tacit_dim_scaled(0, 1, 1, -3, 3)   item i touches element i + 3
 *     tacit_dim_scaled(0, 1, 1, 1, 0)    item i touches elements i - 1 and i: cells beside face i
 *
 * Between a fine grid of 2n + 1 points and a coarse one of n, coarse point j lying on 2j + 1:
 *
 *     tacit_dim_scaled(0, 2, 1, 0, 1)    restriction, items coarse: reads fine 2j, 2j + 1, 2j + 2
 *     tacit_dim_scaled(0, 1, 2, 1, 0)    prolongation, items fine: reads coarse i/2 - 1 and i/2
 *     tacit_dim_scaled(0, 2, 1, -1, 1)   injection, items coarse: writes fine 2j + 1 and 2j + 2
 *
 * Where div > 1 and the access writes, tacit raises the granularity of the task, so that the items
 * of one element stay together; the task's first item must then be the first of an element. */
static inline tacit_component tacit_dim_scaled(int k, int mul, int div, int64_t lo, int64_t hi)
{
    const tacit_component c = { lo, hi, mul, div, TACIT_COMPONENT_DIM, (uint8_t)k };
    return c;
}

/* What the chunk has in dimension k, and `e` elements more on both sides. */
static inline tacit_component tacit_halo(int k, size_t e)
{
    return tacit_component_make(TACIT_COMPONENT_DIM, k, (int64_t)e, (int64_t)e);
}

/* The same on a ring: behind the buffer's last element in this dimension comes its first, and before
 * the first comes the last. For tori in some dimensions only; tacit_periodic is one in all. */
static inline tacit_component tacit_dim_periodic(int k, size_t e)
{
    return tacit_component_make(TACIT_COMPONENT_PERIODIC, k, (int64_t)e, (int64_t)e);
}

/* =================================================================================== mappers */

/* Which function made a mapper. Components say what it does; the kind says what to check. */
enum {
    TACIT_MAPPER_ONE_TO_ONE = 1, /* tacit_one_to_one */
    TACIT_MAPPER_ALL,            /* tacit_all */
    TACIT_MAPPER_FIXED,          /* tacit_fixed */
    TACIT_MAPPER_SLICE,          /* tacit_slice */
    TACIT_MAPPER_NEIGHBORHOOD,   /* tacit_neighborhood */
    TACIT_MAPPER_STAR,           /* tacit_star */
    TACIT_MAPPER_TRANSPOSED,     /* tacit_transposed */
    TACIT_MAPPER_COMPONENTS,     /* tacit_components */
    TACIT_MAPPER_REPLICATED,     /* tacit_replicated */
    TACIT_MAPPER_CUSTOM,         /* tacit_custom */
    TACIT_MAPPER_PERIODIC        /* tacit_periodic */
};

/* A range mapper. A plain value: copy it, keep it, use it in any task of any context (a custom one
 * only where it was created). */
typedef struct tacit_mapper {
    tacit_component c[TACIT_MAX_DIMS]; /* one for each dimension of the buffer */
    int32_t kind;                      /* TACIT_MAPPER_... */
    int32_t arg;                       /* slice: the dimension; custom: the handle */
} tacit_mapper;

/* A mapper from its fields: what the functions below are made of. */
static inline tacit_mapper tacit_mapper_of(int kind, int arg, tacit_component c0, tacit_component c1,
                                           tacit_component c2)
{
    const tacit_mapper m = { { c0, c1, c2 }, kind, arg };
    return m;
}

/* Say for each dimension of the buffer what it sees. The general form: task and buffer may have
 * different numbers of dimensions, and several dimensions may follow the same one of the task (not
 * for writing). Give tacit_full() for dimensions that the buffer does not have.
 *
 * A 1D task over the rows of a matrix:    tacit_components(tacit_dim(0), tacit_full(), tacit_full()) */
static inline tacit_mapper tacit_components(tacit_component c0, tacit_component c1, tacit_component c2)
{
    return tacit_mapper_of(TACIT_MAPPER_COMPONENTS, 0, c0, c1, c2);
}

/* Item i touches element i. Task and buffer have the same number of dimensions. Fit for writing. What
 * a task writes and the next reads like this stays where it is: nothing travels. */
static inline tacit_mapper tacit_one_to_one(void)
{
    return tacit_mapper_of(TACIT_MAPPER_ONE_TO_ONE, 0, tacit_dim(0), tacit_dim(1), tacit_dim(2));
}

/* Every item touches the whole buffer: every node gets a copy of all of it. For reading, and for
 * writing in a task on one node; what every node writes alike is tacit_replicated(). A buffer that
 * is read like this must fit into the memory of each node. */
static inline tacit_mapper tacit_all(void)
{
    return tacit_mapper_of(TACIT_MAPPER_ALL, 0, tacit_full(), tacit_full(), tacit_full());
}

/* Every item touches the same box, which must lie in the buffer; TACIT_BOX_ALL is all of it. For
 * reading, and for writing in a task on one node. An earlier row that all of a matrix is divided by is
 * tacit_fixed(tacit_box2(5, 6, 0, columns)). */
static inline tacit_mapper tacit_fixed(tacit_box b)
{
    return tacit_mapper_of(TACIT_MAPPER_FIXED, 0, tacit_span(b.min[0], b.max[0]), tacit_span(b.min[1], b.max[1]),
                           tacit_span(b.min[2], b.max[2]));
}

/* Item i touches element i and everything along dimension `dim` of the buffer. Equal dimensions.
 * tacit_slice(1) of a matrix is the row of item (i, j), and tacit_slice(0) its column. Fit for
 * writing if the task is not split along `dim`. */
static inline tacit_mapper tacit_slice(int dim)
{
    return tacit_mapper_of(TACIT_MAPPER_SLICE, dim, dim == 0 ? tacit_full() : tacit_dim(0),
                           dim == 1 ? tacit_full() : tacit_dim(1), dim == 2 ? tacit_full() : tacit_dim(2));
}

/* Item i touches the box of elements from i - e to i + e, with e = (e0, e1, e2): a box-shaped
 * stencil with corners. Cut at the borders of the buffer. Equal dimensions. For reading; the task
 * writes to another buffer:
 *
 *     .access = { tacit_read(U, tacit_neighborhood(1, 1, 0)), tacit_write(V, tacit_one_to_one()) }
 *
 * and the next step swaps U and V. */
static inline tacit_mapper tacit_neighborhood(size_t e0, size_t e1, size_t e2)
{
    return tacit_mapper_of(TACIT_MAPPER_NEIGHBORHOOD, 0, tacit_halo(0, e0), tacit_halo(1, e1), tacit_halo(2, e2));
}

/* The same along the axes only: a star-shaped stencil. The corners do not travel; the kernel sees
 * memory for them (tacit_view.box), but may not touch it. Take the star where the kernel needs no
 * corners: it saves messages to the diagonal neighbours of a 2D split. */
static inline tacit_mapper tacit_star(size_t e0, size_t e1, size_t e2)
{
    return tacit_mapper_of(TACIT_MAPPER_STAR, 0, tacit_halo(0, e0), tacit_halo(1, e1), tacit_halo(2, e2));
}

/* tacit_neighborhood on a torus: nothing is cut at the borders of the buffer, since behind the last
 * element of a dimension comes the first. A dimension with e = 0 is one to one. For reading. At a
 * border the view of a chunk spans the whole dimension, and so does the memory behind it, but only
 * the strips that the mapper names are there; kernels name neighbours with TACIT_WRAP. */
static inline tacit_mapper tacit_periodic(size_t e0, size_t e1, size_t e2)
{
    return tacit_mapper_of(TACIT_MAPPER_PERIODIC, 0, tacit_dim_periodic(0, e0), tacit_dim_periodic(1, e1),
                           tacit_dim_periodic(2, e2));
}

/* Dimension d of the buffer follows dimension p_d of the task: tacit_transposed(1, 0, 2) is item
 * (i, j) touching element (j, i). Fit for writing if no dimension is named twice. */
static inline tacit_mapper tacit_transposed(int p0, int p1, int p2)
{
    return tacit_mapper_of(TACIT_MAPPER_TRANSPOSED, 0, tacit_dim(p0), tacit_dim(p1), tacit_dim(p2));
}

/* With tacit_write only: every call of the kernel writes the whole buffer, and all calls write the
 * same. A node that had a part of the task has the contents afterwards and is sent nothing; give
 * the task as many items as there are nodes, or run it on every node. It is for tables that are
 * cheaper to compute than to send, and the only way to write in a task on every node. That all
 * calls compute the same is the program's promise; nobody checks it. */
static inline tacit_mapper tacit_replicated(void)
{
    return tacit_mapper_of(TACIT_MAPPER_REPLICATED, 0, tacit_full(), tacit_full(), tacit_full());
}

/* What a C function says; the handle comes from tacit_mapper_create. */
static inline tacit_mapper tacit_custom(int handle)
{
    return tacit_mapper_of(TACIT_MAPPER_CUSTOM, handle, tacit_full(), tacit_full(), tacit_full());
}

/* ============================================================================ custom mappers
 *
 * For parts that are no boxes, or follow from the program's own data, such as the columns that the
 * rows of a sparse matrix touch:
 *
 *     static void columns_of(const tacit_box *rows, const tacit_range *vector, const void *user, tacit_region *out)
 *     {
 *         const struct csr *a = *(const struct csr *const *)user;
 *         for (size_t k = a->begin[rows->min[0]]; k < a->begin[rows->max[0]]; k++)
 *             tacit_region_add(out, tacit_box1(a->column[k], a->column[k] + 1));
 *     }
 *     ...
 *     tacit_mapper_create(ctx, columns_of, &matrix, sizeof(matrix), 0, &handle);   (matrix is a pointer)
 *     ... tacit_read(x, tacit_custom(handle)) ...
 *
 * It costs more than a built-in mapper. Every node calls it for the whole range and for the chunks of
 * all nodes; with TACIT_WRITE and TACIT_UPDATE also for the 61 or 63 parts of one finer cut. But it does
 * so once per chunk and extent, however many tasks use it: the function is pure, so what it said is kept,
 * up to 64 MiB for each mapper (an answer of more than 349 525 boxes is not). A chunk with n boxes costs
 * n log n in planning the first time, and about n for each task that comes for the first time.
 *
 * In windows of pure tasks (TACIT_LATENCY, doc/latency.md) nodes also execute items of their neighbours.
 * Where a task reads by a custom mapper what another one of the window wrote, every node calls the mapper
 * for each box of items that any node executes: at most 64 for a node and a task, once for each window
 * that differs from those before. To find out what of a chunk waits for messages, a node calls it for
 * parts of its own boxes, in halves down to a 64th of each dimension. */

/* Add to `out` what the items of `chunk` touch of a buffer of extent `range`.
 *
 *   chunk   a box of items, not empty; it includes the task's offset. It may be a node's chunk, the
 *           whole range, any part of one, or any other box of the range. The answer may depend on this
 *           box and on nothing else.
 *   range   the extent of the buffer, with its number of dimensions
 *   user    the context's copy of the bytes that tacit_mapper_create got, or NULL
 *   out     empty at the call; filled by tacit_region_add
 *
 * The function must be pure: the same result for the same chunk on all nodes, at any time and on
 * any thread, without side effects. What it adds for a chunk must be what it adds for the items of
 * the chunk one by one, together. (TACIT_BOUNDS_CHECK=1 finds a mapper that adds more for parts.)
 *
 * For writing, different chunks must give different elements, wherever the range is cut (at
 * multiples of the granularity). tacit_submit tries that on the chunks of this run's nodes and on
 * one finer cut, and refuses with TACIT_ERROR_OVERLAP; what only other cuts show is not found. */
typedef void tacit_mapper_fn(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out);

/* Add a box to the result of a custom mapper. Boxes may overlap and come in any order; what leaves
 * the buffer is cut off, and an empty box adds nothing.
 *
 *   thread  any, inside a call of a tacit_mapper_fn and with its `out`
 *   nodes   any */
TACIT_API void tacit_region_add(tacit_region *region, tacit_box box);

/* Properties of custom mappers, combined with |. */
enum {
    TACIT_MAPPER_CONSTANT = 1 /* the result does not depend on the chunk, so all nodes read the same: a hint for
                               * the search for collectives */
};

/* Register a custom mapper. It lives until tacit_mapper_destroy, or as long as the context.
 *
 *   fn          the function; not NULL
 *   user        user_size bytes that are copied now and given to every call; may be NULL if
 *               user_size is 0. What they point to is not copied, and must live as long as the
 *               context, or until the tasks are done that were submitted before
 *               tacit_mapper_destroy.
 *   user_size   in bytes
 *   properties  0 or TACIT_MAPPER_CONSTANT
 *   out         gets the handle for tacit_custom, which counts the mappers of the context
 *
 *   errors  TACIT_ERROR_ARGUMENT   fn, out or user is NULL, or there is no such property
 *           TACIT_ERROR_MEMORY     no memory for the copy
 *           TACIT_ERROR_STATE      the context is none
 *   thread  the context's
 *   nodes   all, in the same order: nodes know a mapper by its handle */
TACIT_API tacit_status tacit_mapper_create(tacit_context *ctx, tacit_mapper_fn *fn, const void *user, size_t user_size,
                                           unsigned properties, int *out);

/* Destroy a custom mapper. Tasks that were submitted before go on as if it were there: the copy of its
 * bytes, and what was kept of its answers, are freed when they are done, at a later tacit_wait or
 * create or destroy call. Buffers that were written by it stay what they are. Tasks that name it from
 * now on are refused with TACIT_ERROR_STATE, also those that were submitted before with the same
 * description. The handle is never given again; less than 100 bytes stay until the end.
 *
 * It does not wait. Where `user` holds pointers, free what they point to after tacit_wait.
 *
 *   handle  from tacit_mapper_create
 *
 *   errors  TACIT_ERROR_ARGUMENT   there is no such mapper
 *           TACIT_ERROR_STATE      it is destroyed already; the context is none, or the call comes
 *                                  from a thread that may not call MPI
 *   thread  the context's
 *   nodes   any; but a task that names the mapper is submitted on all nodes or on none */
TACIT_API tacit_status tacit_mapper_destroy(tacit_context *ctx, int handle);

TACIT_C_END_
#endif
