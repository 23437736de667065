/* tacit/tacit.h: programs for a whole cluster without a line of communication code.
 *
 * The model in ten sentences. A program creates *buffers*: virtual arrays of 0 to 3 dimensions that all
 * nodes (processes) of a run share. It submits *tasks*: an iteration range, a kernel, and a list of
 * *accesses*, each of which says by a *range mapper* which part of a buffer a piece of the range reads
 * or writes. Every node submits the same tasks in the same order. tacit splits each task over the nodes,
 * gives every node a *chunk* of the range, works out which data must travel from whom to whom, and runs
 * everything as soon as its inputs are there. Nothing blocks but fences, waits and tacit_finalize.
 * Results are taken out with a *fence*, or written by a host task. Programs that run on one node run
 * unchanged on many. The result of a program without reductions does not depend on the number of nodes.
 *
 * Conventions, stated once:
 *   Errors.      Every call returns a tacit_status, TACIT_OK (0) or a negative value. tacit_last_error
 *                gives a sentence that names task, buffer, box and the cure. A call that fails changes
 *                nothing. Errors that happen later (memory, network) are kept by the context, returned by
 *                every later call, and end the job on all nodes. TACIT_ERROR_MEMORY of a call is refused like the rest on one
 *                node; on several it ends the job, since other nodes may have had the memory. doc/errors.md explains each sentence.
 *   Zero.        Description structs may be zero-initialised; zero always means the default.
 *   Ownership.   Descriptions, names and arguments are copied before a call returns.
 *   Handles.     A call with a context that is finalized, a buffer that is destroyed, a ticket that is released or garbage in their place
 *                returns TACIT_ERROR_STATE and reads no memory that is not there.
 *   Threads.     A context is used by one thread at a time. Kernels must not call tacit.
 *   Collective.  Calls marked "all nodes" must be made by all nodes in the same order with the same
 *                arguments (pointers may differ, what they point to may not, unless it says so).
 *   Units.       Indices and sizes count elements; bytes are called bytes. */
#ifndef TACIT_TACIT_H
#define TACIT_TACIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TACIT_VERSION_MAJOR 0
#define TACIT_VERSION_MINOR 1
#define TACIT_VERSION_PATCH 0

#if defined(TACIT_STATIC_DEFINE)
#define TACIT_API
#else
#define TACIT_API __attribute__((visibility("default")))
#endif

/* ---------------------------------------------------------------- status */

#define TACIT_STATUS_LIST(X)                                                                                           \
    X(TACIT_OK, 0, "success")                                                                                          \
    X(TACIT_ERROR_ARGUMENT, -1, "invalid argument")                                                                    \
    X(TACIT_ERROR_DIMENSION, -2, "wrong number of dimensions")                                                         \
    X(TACIT_ERROR_RANGE, -3, "a box or range is empty, too large or outside its buffer")                               \
    X(TACIT_ERROR_MAPPER, -4, "a range mapper that cannot be used like this")                                          \
    X(TACIT_ERROR_UNINITIALIZED, -5, "a read of elements that nobody has written")                                     \
    X(TACIT_ERROR_OVERLAP, -6, "several nodes write the same elements")                                                \
    X(TACIT_ERROR_STATE, -7, "the object is finalized, destroyed or in use")                                           \
    X(TACIT_ERROR_CONFIG, -8, "an unknown or malformed setting")                                                       \
    X(TACIT_ERROR_MEMORY, -9, "not enough memory for user data")                                                       \
    X(TACIT_ERROR_UNSUPPORTED, -10, "not available in this build or on this machine")                                  \
    X(TACIT_ERROR_NETWORK, -11, "the network or the MPI library failed")                                               \
    X(TACIT_ERROR_KERNEL, -12, "a kernel reported a failure")                                                          \
    X(TACIT_ERROR_DIVERGENCE, -13, "nodes submitted different tasks")

typedef enum tacit_status {
#define TACIT_X(name, value, text) name = value,
    TACIT_STATUS_LIST(TACIT_X)
#undef TACIT_X
} tacit_status;

/* The name of a status, such as "TACIT_ERROR_RANGE". Never NULL. */
TACIT_API const char *tacit_status_name(tacit_status status);

/* ---------------------------------------------------------------- geometry */

#define TACIT_MAX_DIMS 3

/* The extent of a buffer or of a task's iteration space. dims 0 is one element. */
typedef struct tacit_range {
    size_t size[TACIT_MAX_DIMS];
    int dims;
} tacit_range;

/* A half-open cuboid of indices; dimensions that are not used are [0, 1). */
typedef struct tacit_box {
    size_t min[TACIT_MAX_DIMS];
    size_t max[TACIT_MAX_DIMS];
} tacit_box;

static inline tacit_range tacit_range_make(int dims, size_t n0, size_t n1, size_t n2)
{
    tacit_range r;
    r.dims = dims;
    r.size[0] = n0;
    r.size[1] = n1;
    r.size[2] = n2;
    return r;
}
static inline tacit_range tacit_range1(size_t n0)
{
    return tacit_range_make(1, n0, 1, 1);
}
static inline tacit_range tacit_range2(size_t n0, size_t n1)
{
    return tacit_range_make(2, n0, n1, 1);
}
static inline tacit_range tacit_range3(size_t n0, size_t n1, size_t n2)
{
    return tacit_range_make(3, n0, n1, n2);
}

/* TACIT_RANGE(n), TACIT_RANGE(rows, columns), TACIT_RANGE(planes, rows, columns) */
#define TACIT_PICK4_(a, b, c, name, ...) name
#define TACIT_RANGE(...) TACIT_PICK4_(__VA_ARGS__, tacit_range3, tacit_range2, tacit_range1, 0)(__VA_ARGS__)

static inline tacit_box tacit_box3(size_t a0, size_t b0, size_t a1, size_t b1, size_t a2, size_t b2)
{
    tacit_box b;
    b.min[0] = a0, b.max[0] = b0;
    b.min[1] = a1, b.max[1] = b1;
    b.min[2] = a2, b.max[2] = b2;
    return b;
}
static inline tacit_box tacit_box2(size_t a0, size_t b0, size_t a1, size_t b1)
{
    return tacit_box3(a0, b0, a1, b1, 0, 1);
}
static inline tacit_box tacit_box1(size_t a0, size_t b0)
{
    return tacit_box3(a0, b0, 0, 1, 0, 1);
}
/* The whole buffer, whatever its size. */
#define TACIT_BOX_ALL tacit_box3(0, SIZE_MAX, 0, SIZE_MAX, 0, SIZE_MAX)

/* ---------------------------------------------------------------- objects */

typedef struct tacit_context tacit_context;
typedef struct tacit_buffer tacit_buffer;
typedef struct tacit_fence_ticket tacit_fence_ticket;
typedef struct tacit_host_object tacit_host_object; /* something outside tacit that host tasks use: a file, a library */
typedef struct tacit_region tacit_region;           /* the output of a custom mapper */

/* ---------------------------------------------------------------- range mappers */

enum { TACIT_COMPONENT_FULL = 1, TACIT_COMPONENT_SPAN, TACIT_COMPONENT_DIM, TACIT_COMPONENT_PERIODIC };

/* What one dimension of a buffer sees of a chunk. Made by tacit_full, tacit_span, tacit_dim, tacit_dim_scaled,
 * tacit_dim_periodic. */
typedef struct tacit_component {
    int64_t lo, hi; /* span: [lo, hi); dim, periodic: halo below and above */
    int32_t mul, div;
    uint8_t kind, dim;
} tacit_component;

enum {
    TACIT_MAPPER_ONE_TO_ONE = 1,
    TACIT_MAPPER_ALL,
    TACIT_MAPPER_FIXED,
    TACIT_MAPPER_SLICE,
    TACIT_MAPPER_NEIGHBORHOOD,
    TACIT_MAPPER_STAR,
    TACIT_MAPPER_TRANSPOSED,
    TACIT_MAPPER_COMPONENTS,
    TACIT_MAPPER_REPLICATED,
    TACIT_MAPPER_CUSTOM,
    TACIT_MAPPER_PERIODIC
};

/* A range mapper: a pure function from a box of the iteration space to a region of a buffer. A plain value,
 * made by the functions below. `c` has one component per buffer dimension. Results are clamped to the buffer. */
typedef struct tacit_mapper {
    tacit_component c[TACIT_MAX_DIMS];
    int32_t kind;
    int32_t arg; /* slice: the dimension; custom: the handle */
} tacit_mapper;

static inline tacit_component tacit_component_make(int kind, int dim, int64_t lo, int64_t hi)
{
    tacit_component c;
    c.kind = (uint8_t)kind;
    c.dim = (uint8_t)dim;
    c.mul = c.div = 1;
    c.lo = lo;
    c.hi = hi;
    return c;
}
/* The whole extent of the buffer dimension. */
static inline tacit_component tacit_full(void)
{
    return tacit_component_make(TACIT_COMPONENT_FULL, 0, 0, 0);
}
/* The indices [a, b), whatever the chunk. */
static inline tacit_component tacit_span(size_t a, size_t b)
{
    return tacit_component_make(TACIT_COMPONENT_SPAN, 0, (int64_t)a, (int64_t)b);
}
/* The chunk's extent in dimension k of the iteration space. */
static inline tacit_component tacit_dim(int k)
{
    return tacit_component_make(TACIT_COMPONENT_DIM, k, 0, 0);
}
/* [floor(begin * mul / div) - lo, ceil(end * mul / div) + hi) of the chunk's extent in dimension k. */
static inline tacit_component tacit_dim_scaled(int k, int mul, int div, int64_t lo, int64_t hi)
{
    tacit_component c = tacit_component_make(TACIT_COMPONENT_DIM, k, lo, hi);
    c.mul = mul;
    c.div = div;
    return c;
}

static inline tacit_mapper tacit_components(tacit_component c0, tacit_component c1, tacit_component c2)
{
    tacit_mapper m;
    m.kind = TACIT_MAPPER_COMPONENTS;
    m.arg = 0;
    m.c[0] = c0;
    m.c[1] = c1;
    m.c[2] = c2;
    return m;
}
static inline tacit_mapper tacit_mapper_of(int kind, int arg, tacit_component c0, tacit_component c1,
                                           tacit_component c2)
{
    tacit_mapper m = tacit_components(c0, c1, c2);
    m.kind = kind;
    m.arg = arg;
    return m;
}
static inline tacit_component tacit_halo(int k, size_t e)
{
    return tacit_component_make(TACIT_COMPONENT_DIM, k, (int64_t)e, (int64_t)e);
}

/* The chunk's extent in dimension k and e elements more on both sides, where behind the buffer's last element comes
 * its first. */
static inline tacit_component tacit_dim_periodic(int k, size_t e)
{
    return tacit_component_make(TACIT_COMPONENT_PERIODIC, k, (int64_t)e, (int64_t)e);
}

/* Item i touches element i. Task and buffer have the same number of dimensions. */
static inline tacit_mapper tacit_one_to_one(void)
{
    return tacit_mapper_of(TACIT_MAPPER_ONE_TO_ONE, 0, tacit_dim(0), tacit_dim(1), tacit_dim(2));
}
/* Every item touches the whole buffer (reading; for writing see tacit_replicated). */
static inline tacit_mapper tacit_all(void)
{
    return tacit_mapper_of(TACIT_MAPPER_ALL, 0, tacit_full(), tacit_full(), tacit_full());
}
/* Every item touches the same box of the buffer. */
static inline tacit_mapper tacit_fixed(tacit_box b)
{
    return tacit_mapper_of(TACIT_MAPPER_FIXED, 0, tacit_span(b.min[0], b.max[0]), tacit_span(b.min[1], b.max[1]),
                           tacit_span(b.min[2], b.max[2]));
}
/* One to one, but the whole extent in buffer dimension `dim`. */
static inline tacit_mapper tacit_slice(int dim)
{
    return tacit_mapper_of(TACIT_MAPPER_SLICE, dim, dim == 0 ? tacit_full() : tacit_dim(0),
                           dim == 1 ? tacit_full() : tacit_dim(1), dim == 2 ? tacit_full() : tacit_dim(2));
}
/* One to one, and e0 (e1, e2) elements more on both sides of each dimension: a box-shaped stencil. */
static inline tacit_mapper tacit_neighborhood(size_t e0, size_t e1, size_t e2)
{
    return tacit_mapper_of(TACIT_MAPPER_NEIGHBORHOOD, 0, tacit_halo(0, e0), tacit_halo(1, e1), tacit_halo(2, e2));
}
/* The same along the axes only, without corners: a star-shaped stencil. */
static inline tacit_mapper tacit_star(size_t e0, size_t e1, size_t e2)
{
    return tacit_mapper_of(TACIT_MAPPER_STAR, 0, tacit_halo(0, e0), tacit_halo(1, e1), tacit_halo(2, e2));
}
/* tacit_neighborhood on a torus: behind the last element of a dimension comes the first. At a border the view of a
 * chunk spans all of the dimension, of which only the strips are there, so kernels name neighbours with TACIT_WRAP.
 * A dimension with a halo of 0 is one to one. */
static inline tacit_mapper tacit_periodic(size_t e0, size_t e1, size_t e2)
{
    return tacit_mapper_of(TACIT_MAPPER_PERIODIC, 0, tacit_dim_periodic(0, e0), tacit_dim_periodic(1, e1),
                           tacit_dim_periodic(2, e2));
}
/* Buffer dimension d follows task dimension p_d. */
static inline tacit_mapper tacit_transposed(int p0, int p1, int p2)
{
    return tacit_mapper_of(TACIT_MAPPER_TRANSPOSED, 0, tacit_dim(p0), tacit_dim(p1), tacit_dim(p2));
}
/* For writes of the whole buffer that every node computes alike. */
static inline tacit_mapper tacit_replicated(void)
{
    return tacit_mapper_of(TACIT_MAPPER_REPLICATED, 0, tacit_full(), tacit_full(), tacit_full());
}
/* A custom mapper; the handle comes from tacit_mapper_create. */
static inline tacit_mapper tacit_custom(int handle)
{
    return tacit_mapper_of(TACIT_MAPPER_CUSTOM, handle, tacit_full(), tacit_full(), tacit_full());
}

/* ---------------------------------------------------------------- reduction operators */

typedef enum tacit_type {
    TACIT_INT8 = 1,
    TACIT_INT16,
    TACIT_INT32,
    TACIT_INT64,
    TACIT_UINT8,
    TACIT_UINT16,
    TACIT_UINT32,
    TACIT_UINT64,
    TACIT_FLOAT,
    TACIT_DOUBLE
} tacit_type;

enum {
    TACIT_OP_SUM = 1,
    TACIT_OP_PRODUCT,
    TACIT_OP_MIN,
    TACIT_OP_MAX,
    TACIT_OP_AND,
    TACIT_OP_OR,
    TACIT_OP_XOR,
    TACIT_OP_USER
};

/* An operator on a C type, made by the functions below, or one of the program's own, made by tacit_op_create. The buffer's
 * element is one value of that type. */
typedef struct tacit_op {
    int32_t kind;
    int32_t type; /* user operators: the handle */
} tacit_op;

/* into[i] = into[i] op from[i] for n elements. Associative. May be called on any thread. */
typedef void tacit_combine_fn(void *into, const void *from, size_t n, const void *user);

typedef struct tacit_op_desc {
    tacit_combine_fn *combine;
    const void *identity; /* one element that changes nothing: elem_size bytes, copied */
    size_t elem_size;
    const void *user; /* handed to `combine`: user_size bytes, copied */
    size_t user_size;
    bool
        commutative; /* partial results may be combined in any order; else in the order of the range (splits are 1D then) */
} tacit_op_desc;

/* Register an operator. Its identity is its order of creation. Errors: TACIT_ERROR_ARGUMENT, _MEMORY. All nodes. */
TACIT_API tacit_status tacit_op_create_sized(tacit_context *ctx, const tacit_op_desc *desc, size_t size, tacit_op *out);
static inline tacit_status tacit_op_create(tacit_context *ctx, const tacit_op_desc *desc, tacit_op *out)
{
    return tacit_op_create_sized(ctx, desc, sizeof(tacit_op_desc), out);
}

static inline tacit_op tacit_op_make(int kind, tacit_type type)
{
    tacit_op op;
    op.kind = kind;
    op.type = (int32_t)type;
    return op;
}
static inline tacit_op tacit_sum(tacit_type t)
{
    return tacit_op_make(TACIT_OP_SUM, t);
}
static inline tacit_op tacit_product(tacit_type t)
{
    return tacit_op_make(TACIT_OP_PRODUCT, t);
}
static inline tacit_op tacit_min(tacit_type t)
{
    return tacit_op_make(TACIT_OP_MIN, t);
}
static inline tacit_op tacit_max(tacit_type t)
{
    return tacit_op_make(TACIT_OP_MAX, t);
}
static inline tacit_op tacit_bitand(tacit_type t)
{
    return tacit_op_make(TACIT_OP_AND, t);
}
static inline tacit_op tacit_bitor(tacit_type t)
{
    return tacit_op_make(TACIT_OP_OR, t);
}
static inline tacit_op tacit_bitxor(tacit_type t)
{
    return tacit_op_make(TACIT_OP_XOR, t);
}

/* ---------------------------------------------------------------- accesses */

#define TACIT_MAX_ACCESSES 16

enum { TACIT_READ = 1, TACIT_WRITE, TACIT_UPDATE, TACIT_REDUCE };

/* Buffer, mode, mapper. A zero mode ends an access list. */
typedef struct tacit_access {
    tacit_buffer *buffer;
    tacit_mapper mapper;
    tacit_op op;
    int32_t mode;
    bool include_old; /* reductions: the old contents are part of the result */
} tacit_access;

static inline tacit_access tacit_access_make(tacit_buffer *b, int mode, tacit_mapper m)
{
    tacit_access a;
    a.buffer = b;
    a.mapper = m;
    a.op = tacit_op_make(0, (tacit_type)0);
    a.mode = mode;
    a.include_old = false;
    return a;
}
static inline tacit_access tacit_read(tacit_buffer *b, tacit_mapper m)
{
    return tacit_access_make(b, TACIT_READ, m);
}
/* The kernel writes every element that the mapper names; old contents are not needed. */
static inline tacit_access tacit_write(tacit_buffer *b, tacit_mapper m)
{
    return tacit_access_make(b, TACIT_WRITE, m);
}
/* The kernel reads and writes the elements. */
static inline tacit_access tacit_update(tacit_buffer *b, tacit_mapper m)
{
    return tacit_access_make(b, TACIT_UPDATE, m);
}
/* Every chunk combines into a private view of the whole buffer, filled with the identity of `op`; when the task is done the
 * buffer holds the combination of all of them. Its old contents are not part of it. Floating-point results depend in their last bits on
 * how the range was cut, unless tacit_config.reproducible is set: then the kernel is called for one block of the range at a time, and blocks are
 * combined in an order of their own (doc/model.md). */
static inline tacit_access tacit_reduce(tacit_buffer *b, tacit_op op)
{
    tacit_access a = tacit_access_make(b, TACIT_REDUCE, tacit_all());
    a.op = op;
    return a;
}

/* The same, and the old contents come first: buffer = buffer op (all chunks). */
static inline tacit_access tacit_reduce_into(tacit_buffer *b, tacit_op op)
{
    tacit_access a = tacit_reduce(b, op);
    a.include_old = true;
    return a;
}

/* ---------------------------------------------------------------- kernels */

/* What a kernel sees of one access. `data` addresses the first element of `box`; strides are in bytes; the
 * last dimension is contiguous. Elements outside the access but inside the box must not be touched; TACIT_BOUNDS_CHECK=1 finds out. */
typedef struct tacit_view {
    void *data;
    tacit_box box;
    size_t stride[TACIT_MAX_DIMS];
    size_t elem_size;
    size_t ld; /* leading dimension in elements, for BLAS: distance between rows of a 2D view */
    int dims;
    int mode;
    const char *name; /* of the buffer, for messages */
} tacit_view;

/* What a kernel is called with. */
typedef struct tacit_launch {
    tacit_box chunk;        /* the items to compute; the runtime may cut a node's chunk further */
    const tacit_view *view; /* one per access, in the order of the task's list */
    const void *args;       /* the task's argument bytes, read only */
    size_t args_size;
    int node, num_nodes;
    int worker, num_workers; /* which of the node's workers runs this call */
    const char *name;        /* of the task */
    tacit_context *context;
    int on; /* of the task: TACIT_ON_DEVICES, ... */
} tacit_launch;

/* A host kernel. It may be called on parts of a chunk from several threads at once, unless `.whole_chunk`; and more than once on the same
 * items, with equal views, if TACIT_BOUNDS_CHECK is set. */
typedef void tacit_host_kernel(const tacit_launch *launch);

/* From inside a kernel: the run has failed, for the reason that follows. The kernel should return then. The context gets TACIT_ERROR_KERNEL
 * with the sentence, and the job ends on all nodes. Any thread. */
TACIT_API void tacit_kernel_fail(const tacit_launch *launch, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

/* One entry per backend; a task may carry several. */
typedef struct tacit_kernel {
    tacit_host_kernel *host;
    struct {
        const char *source, *entry;
    } opencl;                                               /* not available yet */
    void (*cuda)(const tacit_launch *launch, void *stream); /* not available yet */
} tacit_kernel;

/* Elements of a view, by their index in the buffer. TACIT_AT is an lvalue, TACIT_GET reads only.
 * They check type size, mode and bounds unless NDEBUG or TACIT_UNCHECKED is defined, and cost nothing then. */
TACIT_API void tacit_view_check(const tacit_view *v, size_t elem_size, bool write, size_t i, size_t j, size_t k);
#if defined(NDEBUG) || defined(TACIT_UNCHECKED)
#define TACIT_CHECK_(type, v, write, i, j, k) ((void)0)
#else
#define TACIT_CHECK_(type, v, write, i, j, k) tacit_view_check(&(v), sizeof(type), write, i, j, k)
#endif
#define TACIT_PTR3_(type, v, i, j, k)                                                                                  \
    ((type *)((char *)(v).data + ((i) - (v).box.min[0]) * (v).stride[0] + ((j) - (v).box.min[1]) * (v).stride[1]) +    \
     ((k) - (v).box.min[2]))
#define TACIT_PTR2_(type, v, i, j)                                                                                     \
    ((type *)((char *)(v).data + ((i) - (v).box.min[0]) * (v).stride[0]) + ((j) - (v).box.min[1]))
#define TACIT_PTR1_(type, v, i) ((type *)(v).data + ((i) - (v).box.min[0]))
#define TACIT_AT0(type, v) (*(TACIT_CHECK_(type, v, true, 0, 0, 0), (type *)(v).data))
#define TACIT_AT1(type, v, i) (*(TACIT_CHECK_(type, v, true, i, 0, 0), TACIT_PTR1_(type, v, i)))
#define TACIT_AT2(type, v, i, j) (*(TACIT_CHECK_(type, v, true, i, j, 0), TACIT_PTR2_(type, v, i, j)))
#define TACIT_AT3(type, v, i, j, k) (*(TACIT_CHECK_(type, v, true, i, j, k), TACIT_PTR3_(type, v, i, j, k)))
#define TACIT_GET0(type, v) (*(TACIT_CHECK_(type, v, false, 0, 0, 0), (const type *)(v).data))
#define TACIT_GET1(type, v, i) (*(TACIT_CHECK_(type, v, false, i, 0, 0), (const type *)TACIT_PTR1_(type, v, i)))
#define TACIT_GET2(type, v, i, j) (*(TACIT_CHECK_(type, v, false, i, j, 0), (const type *)TACIT_PTR2_(type, v, i, j)))
#define TACIT_GET3(type, v, i, j, k)                                                                                   \
    (*(TACIT_CHECK_(type, v, false, i, j, k), (const type *)TACIT_PTR3_(type, v, i, j, k)))

/* The indices of one dimension of a box: TACIT_FOR (i, k->chunk, 0) loops over the chunk's items. The end is read once, before the loop. A plain
 * loop with `i < k->chunk.max[0]` is as fast for most types, but where elements are characters or size_t, each might be that end, for
 * all that a compiler knows, and it will not vectorise. For the same reason copy views into local variables: `const tacit_view v = k->view[0]`. */
#define TACIT_FOR(i, box, dim) for (size_t i = (box).min[dim], i##_end_ = (box).max[dim]; i < i##_end_; i++)

/* Index i of a ring of n elements, for i from -n to 2 n - 1. The neighbours of element i, by tacit_periodic(1, 0, 0):
 *     const size_t below = TACIT_WRAP(i - 1, n), above = TACIT_WRAP(i + 1, n);
 *     TACIT_AT1(double, out, i) = TACIT_GET1(double, in, below) + TACIT_GET1(double, in, above);
 * where i - 1 may well be that of a size_t 0. */
#define TACIT_WRAP(i, n) tacit_wrap_((ptrdiff_t)(i), (size_t)(n))
static inline size_t tacit_wrap_(ptrdiff_t i, size_t n)
{
    return i < 0 ? (size_t)i + n : (size_t)i >= n ? (size_t)i - n : (size_t)i;
}

/* ---------------------------------------------------------------- configuration and contexts */

/* One field per TACIT_* environment variable, which wins over the field. Zero means default.
 * doc/configuration.md and `tacit help settings` list the variables. */
typedef struct tacit_config {
    int workers;  /* TACIT_WORKERS: threads that run kernels on this node */
    int threads;  /* TACIT_THREADS: TACIT_THREADS_INLINE runs everything in the calling thread */
    int progress; /* TACIT_PROGRESS: TACIT_PROGRESS_SHARED or TACIT_PROGRESS_THREAD */
    const char *
        host_devices; /* TACIT_HOST_DEVICES: "2" or "2:discrete": virtual devices, sharing host memory or with one each */
    int run_ahead;    /* TACIT_RUN_AHEAD: horizons that submission may be ahead of execution (8) */
    int horizon_step;  /* TACIT_HORIZON_STEP: length of the critical path between horizons (4) */
    int horizon_front; /* TACIT_HORIZON_FRONT: width of the front that makes a horizon (32 * workers of all nodes, at least 64, at most 1024) */
    size_t early_bytes; /* TACIT_EARLY_BYTES: per peer, bytes sent that no receive is known for (1 MiB) */
    int watchdog; /* TACIT_WATCHDOG: seconds without progress after which a node says what it waits for (60); -1: never */
    int divergence;             /* TACIT_DIVERGENCE: TACIT_DIVERGENCE_OFF: nodes do not compare what they submit (on) */
    const char *graph;          /* TACIT_GRAPH: path prefix; writes the three graphs as Graphviz files */
    const char *graph_tasks;    /* TACIT_GRAPH_TASKS: which tasks the graphs show, "first:last" */
    int log;                    /* TACIT_LOG: 0 default (warnings), else 1 error, 2 warning, 3 info, 4 debug */
    const char *dry_run;        /* TACIT_DRY_RUN: "NODES" or "NODES:NODE"; see tacit_is_dry_run */
    const char *dry_run_report; /* TACIT_DRY_RUN_REPORT: where its report goes as JSON */
    const char *
        explain; /* TACIT_EXPLAIN: "1" or a path: a table of what tasks read of what others wrote, and how it gets there */
    int reproducible; /* TACIT_REPRODUCIBLE: 1: the bits of reductions depend neither on workers, nor devices, nor nodes */
    int bounds_check; /* TACIT_BOUNDS_CHECK: 1 finds kernels that touch what their accesses do not declare (0) */
    const char *
        memory_limit; /* TACIT_MEMORY_LIMIT: "12G" or "80%": what this node may allocate for buffers and results (100%) */
    int lookahead; /* TACIT_LOOKAHEAD: whether allocations wait until the next tasks are known: TACIT_LOOKAHEAD_OFF, _ON (the
                    * default: for 0.2 ms at most), _FULL (until a fence, a wait or the second horizon: the same plans in every run) */
    int collectives; /* TACIT_COLLECTIVES: what becomes of transfers in which all nodes, or rows or columns of them, take part: TACIT_COLLECTIVES_OFF (messages),
                      * _DISCOVER (collectives, found for each task by itself), _LOOKAHEAD (the default: for a window of tasks) */
    int collective_schedule; /* TACIT_COLLECTIVE_SCHEDULE: who carries out collectives: TACIT_COLLECTIVE_SCHEDULE_MPI (MPI, where a collective is one that it
                              * knows), _PACKED (the same, and transpositions of small equal pieces are packed), _DIRECT (messages between pairs of
                              * nodes), _MEASURE (what is faster, measured at the start), _AUTO (the default: what is usually faster) */
} tacit_config;
enum {
    TACIT_COLLECTIVES_DEFAULT = 0,
    TACIT_COLLECTIVES_OFF = 1,
    TACIT_COLLECTIVES_DISCOVER = 2,
    TACIT_COLLECTIVES_LOOKAHEAD = 3
};
enum {
    TACIT_COLLECTIVE_SCHEDULE_DEFAULT = 0,
    TACIT_COLLECTIVE_SCHEDULE_AUTO = 1,
    TACIT_COLLECTIVE_SCHEDULE_MPI = 2,
    TACIT_COLLECTIVE_SCHEDULE_DIRECT = 3,
    TACIT_COLLECTIVE_SCHEDULE_MEASURE = 4,
    TACIT_COLLECTIVE_SCHEDULE_PACKED = 5
};
enum { TACIT_THREADS_DEFAULT = 0, TACIT_THREADS_INLINE = -1, TACIT_THREADS_ON = 1 };
enum { TACIT_LOOKAHEAD_DEFAULT = 0, TACIT_LOOKAHEAD_OFF = 1, TACIT_LOOKAHEAD_ON = 2, TACIT_LOOKAHEAD_FULL = 3 };
enum { TACIT_DIVERGENCE_DEFAULT = 0, TACIT_DIVERGENCE_OFF = -1, TACIT_DIVERGENCE_ON = 1 };
enum { TACIT_PROGRESS_DEFAULT = 0, TACIT_PROGRESS_SHARED = 1, TACIT_PROGRESS_THREAD = 2 };

/* Start tacit on this node. Initialises MPI unless somebody has. `config` may be NULL.
 * Errors: TACIT_ERROR_CONFIG, TACIT_ERROR_NETWORK. All nodes. */
TACIT_API tacit_status tacit_init_sized(const tacit_config *config, size_t size, tacit_context **out);
static inline tacit_status tacit_init(const tacit_config *config, tacit_context **out)
{
    return tacit_init_sized(config, sizeof(tacit_config), out);
}

/* Wait for everything, stop the threads, free the context and its buffers; finalises MPI if tacit initialised it.
 * Returns the first error of the run. `ctx` may be NULL. All nodes. */
TACIT_API tacit_status tacit_finalize(tacit_context *ctx);

/* The number of this node, 0 to tacit_num_nodes - 1. */
TACIT_API int tacit_node(const tacit_context *ctx);
TACIT_API int tacit_num_nodes(const tacit_context *ctx);

/* Whether this is a dry run (`dry_run` in tacit_config, TACIT_DRY_RUN). A dry run plans as one node of many, alone and without MPI: tasks are
 * checked and planned as in a live run, but no kernel is called, nothing is sent, and buffers have no memory, so that plans for a million
 * nodes and for data that fit nowhere can be looked at. Fences give zeros: a loop that ends when a value says so must end otherwise,
 * and results mean nothing. tacit_finalize prints a report. Counters tell what a live run would have sent. */
TACIT_API bool tacit_is_dry_run(const tacit_context *ctx);

/* A sentence about the last error of this context (NULL or one that is finalized: of tacit_init, or of a call with no context, on this thread), valid until the next call. Never NULL. */
TACIT_API const char *tacit_last_error(const tacit_context *ctx);

/* ---------------------------------------------------------------- buffers */

enum { TACIT_DISTRIBUTE_BLOCK = 0, TACIT_DISTRIBUTE_CYCLIC };

/* Which node owns which part of a buffer: where `.init_local` comes from, where tacit_fence_local brings it, and where tasks run that are placed
 * by owner. Data still moves to whoever writes it; owners are a convention, not a cage. Nodes form a grid: node (i,j,k) has number
 * (i * grid[1] + j) * grid[2] + k. Block gives each node one box, as even as a split (so the default is what a task's 1D split gives, and a grid that is
 * as square as can be what a 2D split gives). Cyclic deals out blocks in turn in every dimension, as ScaLAPACK does. */
typedef struct tacit_distribution {
    int kind;                     /* TACIT_DISTRIBUTE_BLOCK or TACIT_DISTRIBUTE_CYCLIC */
    int grid[TACIT_MAX_DIMS];     /* nodes per dimension of the buffer; all 0: all of them along dimension 0 */
    size_t block[TACIT_MAX_DIMS]; /* cyclic: elements of a block; block: borders lie on multiples of it; 0: 1 */
} tacit_distribution;

typedef struct tacit_buffer_desc {
    const char *name;  /* for messages and graphs; copied */
    tacit_range range; /* dims 0: a single element */
    size_t elem_size;  /* bytes of one element, at least 1 */
    const void *
        init; /* the contents, the whole buffer in row-major order, the same bytes on all nodes; NULL: undefined. Free when create returns */
    bool init_borrow; /* `init` or `init_local` stays valid and unchanged until tacit_finalize: not copied at once */
    tacit_distribution distribution; /* who owns what; see above */
    const void *
        init_local; /* instead of `init`: the contents of this node's own part, its local array; on all nodes or on none (a node that owns nothing gives any address) */
} tacit_buffer_desc;

/* A node's own part of a buffer of this range: `*box` is the smallest box around it, `*local` the extent of its local array: a dense row-major array
 * of the node's blocks in order (for a block distribution just the box). Sizes of 0 if the node owns nothing. `distribution` NULL: the default one.
 * Both outputs may be NULL. Errors: TACIT_ERROR_ARGUMENT, _DIMENSION, _RANGE. Local. */
TACIT_API tacit_status tacit_distribution_local(tacit_context *ctx, const tacit_distribution *distribution,
                                                tacit_range range, int node, tacit_box *box, tacit_range *local);

/* The node that owns the element (i, j, k) of a buffer of this range. Errors: the same, and _RANGE for an index outside. Local. */
TACIT_API tacit_status tacit_distribution_owner(tacit_context *ctx, const tacit_distribution *distribution,
                                                tacit_range range, size_t i, size_t j, size_t k, int *node);

/* A buffer allocates nothing by itself, but for `.init`: each node allocates the parts that its tasks touch, so a buffer may be larger than a node's
 * memory. What a node needs beyond its limit (TACIT_MEMORY_LIMIT) is refused before it is allocated, with a table on stderr.
 * Errors: TACIT_ERROR_ARGUMENT, _DIMENSION, _RANGE (zero or overflowing size), _MEMORY. All nodes. */
TACIT_API tacit_status tacit_buffer_create_sized(tacit_context *ctx, const tacit_buffer_desc *desc, size_t size,
                                                 tacit_buffer **out);
static inline tacit_status tacit_buffer_create(tacit_context *ctx, const tacit_buffer_desc *desc, tacit_buffer **out)
{
    return tacit_buffer_create_sized(ctx, desc, sizeof(tacit_buffer_desc), out);
}

/* The handle is invalid at once; memory is freed when the tasks that use it are done. NULL is allowed. All nodes. */
TACIT_API tacit_status tacit_buffer_destroy(tacit_context *ctx, tacit_buffer *buffer);

/* ---------------------------------------------------------------- custom mappers */

/* Adds to `out` the boxes that `chunk` touches of a buffer of extent `range`. Must be pure: the same on all nodes,
 * no side effects, callable from any thread. For writing, different chunks must give different elements, however the range is cut (at multiples of
 * the granularity): tacit_submit tries it. */
typedef void tacit_mapper_fn(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out);
TACIT_API void tacit_region_add(tacit_region *region, tacit_box box);

enum { TACIT_MAPPER_CONSTANT = 1 /* the result does not depend on the chunk */ };

/* Register a custom mapper. `user_size` bytes at `user` are copied. Its identity is its order of creation.
 * Errors: TACIT_ERROR_ARGUMENT, _MEMORY. All nodes. */
TACIT_API tacit_status tacit_mapper_create(tacit_context *ctx, tacit_mapper_fn *fn, const void *user, size_t user_size,
                                           unsigned properties, int *out);

/* ---------------------------------------------------------------- tasks */

typedef enum tacit_on {
    TACIT_ON_DEVICES = 0, /* split over nodes and their devices */
    TACIT_ON_HOST,        /* a host task, split over nodes: runs on the host, may call the operating system */
    TACIT_ON_ONE_NODE,    /* a host task on one node: `.place`, else node 0; gets the whole range */
    TACIT_ON_EVERY_NODE   /* a host task on every node, which gets the whole range: see below */
} tacit_on;

/* Tasks on every node call the kernel once per node, each time with the whole range; a node reads what the mapper gives for all of it. They
 * write with tacit_replicated() only, the same on all nodes, and do not reduce. Such a kernel may wait for the other nodes, for instance in a
 * collective operation of MPI (tacit_launch_communicator in tacit/mpi.h); kernels of other tasks must not. So these tasks run one after the other,
 * in the order of their submission on all nodes, and on a thread of their own (`worker` is 0 of 1). Where everything runs in the calling thread, a
 * node begins one when all that it has to do for earlier tasks is done, inside any call of tacit. doc/mpi.md has more. */

/* Zero: tacit decides. Made by tacit_place_node and tacit_place_owner. */
typedef struct tacit_place {
    int kind;
    int arg;
} tacit_place;
enum { TACIT_PLACE_SPLIT = 0, TACIT_PLACE_NODE, TACIT_PLACE_OWNER };
static inline tacit_place tacit_place_node(int node)
{
    tacit_place p;
    p.kind = TACIT_PLACE_NODE;
    p.arg = node;
    return p;
}
/* The node that owns the first element (smallest index in every dimension) that access i of the task names, by the distribution of its buffer. */
static inline tacit_place tacit_place_owner(int i)
{
    tacit_place p;
    p.kind = TACIT_PLACE_OWNER;
    p.arg = i;
    return p;
}

enum { TACIT_SPLIT_DEFAULT = 0, TACIT_SPLIT_1D, TACIT_SPLIT_2D };

/* Hints never change results, only where and how fast they are computed; where floating-point reductions are cut shows in their last bits. With
 * tacit_config.reproducible only `granularity` does: it rounds the length of a block, the kernel is called for one block at a time also if
 * `whole_chunk`, and splits of tasks with reductions are 1D. */
typedef struct tacit_hints {
    int split; /* TACIT_SPLIT_1D (default): dimension 0; TACIT_SPLIT_2D: dimensions 0 and 1, into a grid of two factors of the number
                * of chunks that are as equal as possible, the larger one along the dimension with more blocks of the granularity */
    size_t granularity[TACIT_MAX_DIMS]; /* chunk borders lie on multiples of this (default 1) */
    int oversubscribe;                  /* chunks per node (default 1) */
    int priority;                       /* higher runs first, -1000 to 1000 */
    bool whole_chunk;                   /* the kernel gets a node's chunk in one call */
    bool pure;                          /* output depends on the declared reads only: may be computed redundantly */
    const uint32_t *weights;            /* one relative weight per node, for unequal splits along dimension 0; copied */
    bool
        no_collectives; /* what this task reads comes by messages, even where a collective would do (`collectives` in tacit_config) */
} tacit_hints;

#define TACIT_MAX_HOST_OBJECTS 4

typedef struct tacit_task {
    const char *name;
    tacit_range range;             /* dims 0: one item */
    size_t offset[TACIT_MAX_DIMS]; /* first index of the range (default 0) */
    tacit_access access[TACIT_MAX_ACCESSES];
    tacit_kernel kernel;
    const void *args; /* copied */
    size_t args_size;
    tacit_on on;
    tacit_place place;
    tacit_hints hint;
    tacit_host_object *host_object[TACIT_MAX_HOST_OBJECTS]; /* host tasks: what they use besides buffers */
    bool hash_args; /* the argument bytes are the same on all nodes, who compare them (`divergence` in tacit_config) */
} tacit_task;

/* In an initialiser: the kernel's arguments are a copy of the struct `x`. */
#define TACIT_ARGS(x) .args = &(x), .args_size = sizeof(x)

/* Submit a task; returns at once, or helps with progress while the program is too far ahead (`run_ahead`).
 * A range with a zero extent does nothing. Errors, each with a sentence in tacit_last_error: TACIT_ERROR_ARGUMENT, _DIMENSION,
 * _RANGE, _MAPPER, _UNINITIALIZED (reads what nobody wrote), _OVERLAP (nodes would write the same elements), _STATE, _UNSUPPORTED. All nodes. */
TACIT_API tacit_status tacit_submit_sized(tacit_context *ctx, const tacit_task *task, size_t size);
static inline tacit_status tacit_submit(tacit_context *ctx, const tacit_task *task)
{
    return tacit_submit_sized(ctx, task, sizeof(tacit_task));
}

/* Host objects order the side effects of host tasks: on each node, tasks that name the same object (`.host_object`) run one after the other,
 * in the order of their submission, such as several that append to one file. An object has no contents and causes no messages. For
 * tasks that do not run on devices. Errors: TACIT_ERROR_ARGUMENT. All nodes. */
TACIT_API tacit_status tacit_host_object_create(tacit_context *ctx, tacit_host_object **out);

/* The handle is invalid at once; tasks that named it keep their order. NULL is allowed. Objects that are left end with the
 * context. Errors: TACIT_ERROR_STATE. All nodes. */
TACIT_API tacit_status tacit_host_object_destroy(tacit_context *ctx, tacit_host_object *object);

/* ---------------------------------------------------------------- waiting and reading */

/* Wait until everything submitted so far is done on this node. All nodes. */
TACIT_API tacit_status tacit_wait(tacit_context *ctx);

/* Let everything submitted so far begin, now: without it, a task may wait until the next few are known, whose needs decide how data travels and what is
 * allocated (`collectives` and `lookahead` in tacit_config). Waits, fences and the runtime's horizons do the same. Worth a call before the
 * program does something else for long. Returns at once. All nodes. */
TACIT_API tacit_status tacit_flush(tacit_context *ctx);

/* Wait for the newest contents of `box` and copy them to `dst` (row-major, packed, on every node).
 * Errors: TACIT_ERROR_RANGE (empty or outside), _UNINITIALIZED. All nodes. */
TACIT_API tacit_status tacit_fence_read(tacit_context *ctx, tacit_buffer *buffer, tacit_box box, void *dst);

/* Wait for the newest contents of this node's own part (`.distribution`) and copy them to its local array `dst`, packed as
 * tacit_distribution_local says; nobody gets a copy of the whole. A node that owns nothing may pass NULL. Errors: TACIT_ERROR_ARGUMENT,
 * _STATE, _UNINITIALIZED (of any part of the buffer). All nodes. */
TACIT_API tacit_status tacit_fence_local(tacit_context *ctx, tacit_buffer *buffer, void *dst);

/* The same as tacit_fence_read without waiting: tacit_fence_get waits, gives the address of the values, and they stay valid until
 * tacit_fence_release. All nodes. */
TACIT_API tacit_status tacit_fence(tacit_context *ctx, tacit_buffer *buffer, tacit_box box, tacit_fence_ticket **out);
TACIT_API tacit_status tacit_fence_get(tacit_fence_ticket *ticket, const void **data);
TACIT_API void tacit_fence_release(tacit_fence_ticket *ticket);

/* ---------------------------------------------------------------- counters */

/* What this node has done so far. Local. */
typedef struct tacit_counters {
    uint64_t tasks, horizons, commands, instructions;
    uint64_t messages_sent, bytes_sent, messages_received, bytes_received;
    uint64_t chunks_evaluated;  /* range mappers applied to chunks by the planner */
    uint64_t allocated_bytes;   /* allocated by tacit for itself, now */
    uint64_t allocated_peak;    /* and at most so far */
    uint64_t buffer_bytes;      /* memory of buffers on this node, now */
    uint64_t reallocations;     /* allocations of buffers that had to grow */
    uint64_t early_bytes_peak;  /* most bytes on the way to one peer that no receive was known for */
    uint64_t tracking_entries;  /* entries of all region maps, now */
    uint64_t reallocated_bytes; /* copied because of that */
    uint64_t collectives;       /* started */
    uint64_t collective_bytes_sent,
        collective_bytes_received; /* what this node gave and got by them: not in messages and bytes */
} tacit_counters;
TACIT_API tacit_status tacit_get_counters(tacit_context *ctx, tacit_counters *out);

/* ---------------------------------------------------------------- MPI */

/* What tacit/mpi.h is made of; programs that use MPI themselves include that header, which has tacit_init_mpi and
 * tacit_launch_communicator. A communicator passes as the address of an MPI_Comm here, so that other programs need no mpi.h. */
typedef struct tacit_mpi_comm {
    void *address; /* of an MPI_Comm */
    size_t size;   /* sizeof(MPI_Comm) */
    int library;   /* the MPI that the program is compiled with */
} tacit_mpi_comm;
enum { TACIT_MPI_OTHER = 0, TACIT_MPI_OPEN_MPI, TACIT_MPI_MPICH };

TACIT_API tacit_status tacit_init_mpi_sized(const tacit_mpi_comm *comm, const tacit_config *config, size_t size,
                                            tacit_context **out);
TACIT_API bool tacit_launch_communicator_sized(const tacit_launch *launch, const tacit_mpi_comm *out);

#ifdef __cplusplus
}
#endif
#endif
