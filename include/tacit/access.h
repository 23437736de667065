/* tacit/access.h: what a task does with a buffer: reduction operators, and accesses.
 *
 * An access is a buffer, a mode and a range mapper. It is all that a program says about data. From
 * the accesses of all tasks follow the dependencies between tasks, what is sent to whom, and what
 * memory each node needs.
 *
 *     mode            the kernel ...                              old contents   mapper
 *     tacit_read      reads the elements                          are brought    any
 *     tacit_write     writes every one of them                    are not        fit for writing
 *     tacit_update    reads and writes them                       are brought    fit for writing
 *     tacit_reduce    combines into a private copy of the buffer  are replaced   none: all of it
 *
 * Write what the kernel does and no more. tacit_update where tacit_write would do brings old contents
 * from other nodes, and makes the task wait for them; tacit_write where the kernel leaves elements
 * out makes these undefined.
 *
 * Several accesses of one task to the same buffer are allowed if they touch different elements, if
 * all of them read, or if one reads with the mapper with which another writes. Different elements
 * means those that the whole range touches, also by custom mappers: a red-black sweep in place
 * updates by a mapper that names red cells and reads by one that names black ones. What a task reads
 * of a buffer that it writes otherwise is refused (TACIT_ERROR_OVERLAP), since the result would depend
 * on where the range is cut: a stencil needs two buffers. In a task on one node, and on every node,
 * it is allowed; then the kernel is called once for all of the range. Two accesses that write or
 * reduce the same elements are always refused.
 *
 * All of this is plain values, except for operators of the program's own. */
#ifndef TACIT_ACCESS_H
#define TACIT_ACCESS_H

#include <tacit/mapper.h>

TACIT_C_BEGIN_

/* ======================================================================= reduction operators */

/* C types of buffer elements that built-in operators work on. */
typedef enum tacit_type {
    TACIT_INT8 = 1, /* int8_t */
    TACIT_INT16,    /* int16_t */
    TACIT_INT32,    /* int32_t */
    TACIT_INT64,    /* int64_t */
    TACIT_UINT8,    /* uint8_t */
    TACIT_UINT16,   /* uint16_t */
    TACIT_UINT32,   /* uint32_t */
    TACIT_UINT64,   /* uint64_t */
    TACIT_FLOAT,    /* float: no bitwise operators */
    TACIT_DOUBLE    /* double: no bitwise operators */
} tacit_type;

/* What an operator does; set by the functions below. */
enum {
    TACIT_OP_SUM = 1, /* tacit_sum */
    TACIT_OP_PRODUCT, /* tacit_product */
    TACIT_OP_MIN,     /* tacit_min */
    TACIT_OP_MAX,     /* tacit_max */
    TACIT_OP_AND,     /* tacit_bitand */
    TACIT_OP_OR,      /* tacit_bitor */
    TACIT_OP_XOR,     /* tacit_bitxor */
    TACIT_OP_USER     /* tacit_op_create */
};

/* An operator on one element of a buffer. A plain value, made by the functions below, or by
 * tacit_op_create; the latter belongs to its context. */
typedef struct tacit_op {
    int32_t kind; /* TACIT_OP_... */
    int32_t type; /* a tacit_type; TACIT_OP_USER: the handle */
} tacit_op;

/* An operator from its fields: what the functions below are made of. */
static inline tacit_op tacit_op_make(int kind, tacit_type type)
{
    const tacit_op op = { kind, (int32_t)type };
    return op;
}

/* The sum, with the identity 0. Integers wrap around. */
static inline tacit_op tacit_sum(tacit_type t) { return tacit_op_make(TACIT_OP_SUM, t); }
/* The product, with the identity 1. Integers wrap around. */
static inline tacit_op tacit_product(tacit_type t) { return tacit_op_make(TACIT_OP_PRODUCT, t); }
/* The smaller value. The identity is the largest integer of the type, or infinity. */
static inline tacit_op tacit_min(tacit_type t) { return tacit_op_make(TACIT_OP_MIN, t); }
/* The larger value. The identity is the smallest integer of the type, or minus infinity. */
static inline tacit_op tacit_max(tacit_type t) { return tacit_op_make(TACIT_OP_MAX, t); }
/* Bitwise and, of integers. The identity has all bits set. */
static inline tacit_op tacit_bitand(tacit_type t) { return tacit_op_make(TACIT_OP_AND, t); }
/* Bitwise or, of integers. The identity is 0. */
static inline tacit_op tacit_bitor(tacit_type t) { return tacit_op_make(TACIT_OP_OR, t); }
/* Bitwise exclusive or, of integers. The identity is 0. */
static inline tacit_op tacit_bitxor(tacit_type t) { return tacit_op_make(TACIT_OP_XOR, t); }

/* An operator of the program's own: into[i] = into[i] op from[i] for i from 0 to n - 1. The place of
 * the largest element, for instance:
 *
 *     struct peak { double value; uint64_t at; };
 *     static void higher(void *into, const void *from, size_t n, const void *user)
 *     {
 *         struct peak *a = into;
 *         const struct peak *b = from;
 *         for (size_t i = 0; i < n; i++)
 *             if (b[i].value > a[i].value || (b[i].value == a[i].value && b[i].at < a[i].at))
 *                 a[i] = b[i];
 *     }
 *     const struct peak none = { -INFINITY, UINT64_MAX };
 *     const tacit_op_desc desc = { .combine = higher, .identity = &none,
 *                                  .elem_size = sizeof(none), .commutative = true };
 *     tacit_op highest;
 *     tacit_op_create(ctx, &desc, &highest);
 *     ... tacit_reduce(peak, highest) ...
 *
 *   into, from   n elements of elem_size bytes each; they do not overlap. What is in `into` comes
 *                before what is in `from`, in the order of the range.
 *   n            elements, at least 1
 *   user         the context's copy of the bytes of the description, or NULL
 *
 * It must be associative and pure. It is called on any thread, also inside MPI, on several at once,
 * and must not call tacit. */
typedef void tacit_combine_fn(void *into, const void *from, size_t n, const void *user);

/* The description of an operator. */
typedef struct tacit_op_desc {
    /* The function. */
    tacit_combine_fn *combine; /* not NULL */
    /* One element that changes nothing. */
    const void *identity; /* elem_size bytes, copied; not NULL */
    /* The size of one element, which is that of the buffers that it reduces into. */
    size_t elem_size; /* in bytes, at least 1 */
    /* For `combine`. */
    const void *user; /* user_size bytes, copied; NULL only if that is 0 */
    size_t user_size; /* in bytes */
    /* Partial results may be combined in any order. If not, they are combined in the order of the
     * range, and a task that uses the operator cannot be split in two dimensions. */
    bool commutative; /* default: false */
} tacit_op_desc;

/* Register an operator. It lives until tacit_op_destroy, or as long as the context.
 *
 *   desc   may go out of scope when the call returns, with all that it points to
 *   out    gets the operator
 *
 *   errors  TACIT_ERROR_ARGUMENT   desc or out is NULL; .combine, .identity, .elem_size or .user is
 *                                  missing
 *           TACIT_ERROR_MEMORY     no memory for the copies
 *           TACIT_ERROR_STATE      the context is none
 *   thread  the context's
 *   nodes   all, in the same order: nodes know an operator by its handle
 *
 * Programs call tacit_op_create. (The exported function also takes the size of the struct, so that
 * the struct can grow.) */
TACIT_API tacit_status tacit_op_create_sized(tacit_context *ctx, const tacit_op_desc *desc, size_t size, tacit_op *out);
static inline tacit_status tacit_op_create(tacit_context *ctx, const tacit_op_desc *desc, tacit_op *out)
{
    return tacit_op_create_sized(ctx, desc, sizeof(tacit_op_desc), out);
}

/* Destroy an operator of the program's own. Tasks that were submitted before go on as if it were
 * there: the copies of its identity and its bytes are freed when they are done, at a later tacit_wait
 * or create or destroy call. Tasks that name it from now on are refused with TACIT_ERROR_STATE. The
 * operator's number is never given again; about 100 bytes stay until the end. It does not wait.
 *
 *   op  from tacit_op_create
 *
 *   errors  TACIT_ERROR_ARGUMENT   it is none of this context's, or a built-in one
 *           TACIT_ERROR_STATE      it is destroyed already; the context is none, or the call comes
 *                                  from a thread that may not call MPI
 *   thread  the context's
 *   nodes   any; but a task that names the operator is submitted on all nodes or on none */
TACIT_API tacit_status tacit_op_destroy(tacit_context *ctx, tacit_op op);

/* ================================================================================== accesses */

/* A task has at most this many. One more is TACIT_ERROR_ARGUMENT; compilers warn of those beyond it. */
#define TACIT_MAX_ACCESSES 16

/* The mode of an access; set by the functions below. 0 ends the list of a task. */
enum {
    TACIT_READ = 1, /* tacit_read */
    TACIT_WRITE,    /* tacit_write */
    TACIT_UPDATE,   /* tacit_update */
    TACIT_REDUCE    /* tacit_reduce, tacit_reduce_into */
};

/* One access of a task: an entry of tacit_task.access. Made by the functions below. */
typedef struct tacit_access {
    tacit_buffer *buffer; /* of the same context, and not destroyed */
    tacit_mapper mapper;  /* not of reductions, which touch all of the buffer */
    tacit_op op;          /* of reductions */
    int32_t mode;         /* TACIT_READ, ...; 0: the list ends before this entry */
    bool include_old;     /* of reductions: the old contents are part of the result */
    bool in_parts;        /* tacit_in_parts; not of reductions */
} tacit_access;

/* An access from its fields: what the functions below are made of. */
static inline tacit_access tacit_access_make(tacit_buffer *b, int mode, tacit_mapper m)
{
    const tacit_access a = { b, m, { 0, 0 }, mode, false, false };
    return a;
}

/* The kernel reads the elements that the mapper names. They must have been written, by an earlier
 * task or by .init: tacit_submit refuses to read what nobody wrote (TACIT_ERROR_UNINITIALIZED). */
static inline tacit_access tacit_read(tacit_buffer *b, tacit_mapper m) { return tacit_access_make(b, TACIT_READ, m); }

/* The kernel writes every element that the mapper names, without reading it. Old contents are not
 * brought to the node; an element that the kernel leaves out is undefined afterwards.
 * (TACIT_BOUNDS_CHECK=1 finds such elements.) */
static inline tacit_access tacit_write(tacit_buffer *b, tacit_mapper m) { return tacit_access_make(b, TACIT_WRITE, m); }

/* The kernel reads the elements, and writes all, some or none of them. */
static inline tacit_access tacit_update(tacit_buffer *b, tacit_mapper m)
{
    return tacit_access_make(b, TACIT_UPDATE, m);
}

/* The kernel adds up, or whatever `op` does. Each call gets a private view of the whole buffer and
 * combines into it:
 *
 *     tacit_reduce(total, tacit_sum(TACIT_DOUBLE))             in the access list
 *     TACIT_AT0(double, k->view[0]) += value;                  in the kernel
 *
 * The view holds the identity of `op` when the call begins. When the task is done, the buffer holds
 * the combination of all views; its old contents are not part of that.
 *
 * The buffer may be an array, such as a histogram, of at most 2^34 elements; every worker needs
 * memory for all of it. Each of several reductions in a task has a view of its own. Not in tasks on
 * every node.
 *
 * Where the range is cut shows in the last bits of floating-point results. With
 * tacit_config.reproducible it does not: then the range is cut into at most 256 blocks that depend
 * on nothing but the range and the granularity, the kernel is called for one block at a time, and
 * blocks are combined along a fixed binary tree (doc/model.md, "Reductions").
 *
 * Errors of tacit_submit: TACIT_ERROR_ARGUMENT (an operator that is none, or not for elements of
 * this size; one that is not commutative with a 2D split; on every node), TACIT_ERROR_RANGE (too
 * many elements). */
static inline tacit_access tacit_reduce(tacit_buffer *b, tacit_op op)
{
    tacit_access a = tacit_access_make(b, TACIT_REDUCE, tacit_all());
    a.op = op;
    return a;
}

/* The same, and the old contents come first: buffer = buffer op (all calls). They must have been
 * written. For sums that go on from task to task. */
static inline tacit_access tacit_reduce_into(tacit_buffer *b, tacit_op op)
{
    tacit_access a = tacit_reduce(b, op);
    a.include_old = true;
    return a;
}

/* The same access, whose boxes may lie apart in memory. A view is one box, so what lies between the
 * boxes of an access is allocated on every node that has several: all of a dimension where
 * tacit_periodic goes around its end. In parts only the boxes are:
 *
 *     tacit_in_parts(tacit_read(world, tacit_periodic(1, 1, 0)))     in the access list
 *     TACIT_PART_GET2(double, k->view[0], above, j)                  in the kernel (tacit/view.h)
 *
 * Also of a custom mapper, of which every box of its region is a part. What is read, sent and waited
 * for is the same, and so are results. It is worth it where the boxes are less than half of the box
 * around them, of which `tacit plan` warns. Nodes do not compare whether an access is in parts.
 *
 * Errors of tacit_submit: TACIT_ERROR_ARGUMENT (a reduction, which has no parts). */
static inline tacit_access tacit_in_parts(tacit_access a)
{
    a.in_parts = true;
    return a;
}

TACIT_C_END_
#endif
