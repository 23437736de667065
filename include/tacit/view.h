/* tacit/view.h: what a kernel is called with: views of buffers, and the launch.
 *
 * A kernel is a C function over a box of items. It gets everything by one argument:
 *
 *     static void add(const tacit_launch *k)
 *     {
 *         const double factor = *(const double *)k->args;
 *         const tacit_view a = k->view[0], b = k->view[1];
 *         TACIT_FOR (i, k->chunk, 0)
 *             TACIT_AT1(double, b, i) += factor * TACIT_GET1(double, a, i);
 *     }
 *
 * Indices are those of the buffer, wherever its parts lie in memory. A kernel that wants plain
 * pointers takes `data`, `stride` and `ld` of a view instead of the macros, such as for BLAS, here
 * C += A B for the rows of the chunk:
 *
 *     const tacit_view a = k->view[0], b = k->view[1], c = k->view[2];
 *     const size_t i = k->chunk.min[0], rows = k->chunk.max[0] - i;
 *     cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, n, n,
 *                 1.0, &TACIT_GET2(double, a, i, 0), a.ld,
 *                 &TACIT_GET2(double, b, 0, 0), b.ld, 1.0, &TACIT_AT2(double, c, i, 0), c.ld);
 *
 * Rules for kernels. They touch of buffers only what their accesses declare for the items of the
 * call, and compute each element in the same way whatever the chunk is. They must not call tacit
 * with their context: such calls are refused (TACIT_ERROR_STATE), except for tacit_kernel_fail, the
 * questions tacit_node, tacit_num_nodes, tacit_is_dry_run, tacit_distribution_local,
 * tacit_distribution_owner and tacit_last_error (which then is about calls of this kernel's thread),
 * and, in tasks on every node, tacit_launch_communicator of tacit/mpi.h.
 * They must not wait for other nodes or other kernels, except in tasks on every node.
 * They return: one that calls exit ends the job with an error; tacit_kernel_fail says what is wrong.
 * A kernel of a task on devices may be called from several threads at once, so it has no static
 * variables that it writes. What the launch points to is valid during the call. */
#ifndef TACIT_VIEW_H
#define TACIT_VIEW_H

#include <tacit/box.h>

TACIT_C_BEGIN_

/* ===================================================================================== views */

/* What a kernel sees of one access.
 *
 * Element (i, j, k) of the buffer, with box.min <= (i, j, k) < box.max, has the address
 *
 *     (char *)data + (i - box.min[0]) * stride[0] + (j - box.min[1]) * stride[1] + (k - box.min[2]) * stride[2]
 *
 * where terms of dimensions that the buffer does not have are left out. `box` is the smallest box
 * around what the access declares for the part of the range that this node and device compute; the
 * call may be for less (tacit_launch.chunk). Elements of the box that the access does not declare,
 * such as the corners of a star, must not be touched; TACIT_BOUNDS_CHECK=1 finds kernels that do.
 * A reduction's box is all of the buffer.
 *
 * A custom mapper, or a shift, may declare nothing for a part: then `data` is NULL and `box` is empty.
 * The view of an access in parts (tacit_in_parts) is made of other views: see below.
 *
 * Do not take rows for contiguous: use `stride` or `ld`. The allocation may be larger than the box,
 * and with TACIT_BOUNDS_CHECK=1 rows lie apart. Allocations are aligned to 64 bytes; a view begins
 * anywhere in one. */
typedef struct tacit_view {
    void *data;                    /* the first element of `box` */
    tacit_box box;                 /* in indices of the buffer */
    size_t stride[TACIT_MAX_DIMS]; /* bytes from an index to the next; of the last dimension: elem_size */
    size_t elem_size;              /* bytes of one element */
    size_t ld;                     /* elements from a row to the next: the leading dimension of BLAS; 1 in 0D and 1D */
    int dims;                      /* of the buffer */
    int mode;                      /* TACIT_READ, ... */
    const char *name;              /* of the buffer, for messages */
    size_t extent[TACIT_MAX_DIMS]; /* elements of the buffer in each dimension; 1 in those that it does not have */
    int access;                    /* index in the task's list, for messages */
    const struct tacit_launch *launch; /* of the node's chunk, for messages */
    const struct tacit_view *part;     /* of an access in parts; else NULL */
    size_t parts;                      /* how many; 0: the view is in one piece */
} tacit_view;

/* The elements of a view, by their index in the buffer. The number in the name is that of the
 * dimensions of the buffer; `type` is the C type of its elements; `v` is a tacit_view, evaluated
 * more than once.
 *
 *     TACIT_AT2(double, v, i, j) = 1.0;          an lvalue: to write, or to read and write
 *     double x = TACIT_GET2(double, v, i, j);    reads only: for tacit_read
 *
 * Unless NDEBUG or TACIT_UNCHECKED is defined where they are used, they check that the task has the
 * access, that the size of `type` is elem_size, that the mode allows to write (TACIT_AT), and that the
 * index is in the box. If not, a sentence says so, and the process ends there: on one node by abort, so
 * that a debugger shows the line, on several with the job. With NDEBUG or TACIT_UNCHECKED they are the
 * bare address computation. Indices are evaluated once either way. Checks make kernels 14 to 18 times
 * slower; where there were any, tacit_finalize says so on node 0, once. */
#define TACIT_AT0(type, v) (*TACIT_ELEMENT_(type, v, true, 0, 0, 0, (type *)(v).data))
#define TACIT_AT1(type, v, i) (*TACIT_ELEMENT_(type, v, true, i, 0, 0, TACIT_PTR1_(type, v, i)))
#define TACIT_AT2(type, v, i, j) (*TACIT_ELEMENT_(type, v, true, i, j, 0, TACIT_PTR2_(type, v, i, j)))
#define TACIT_AT3(type, v, i, j, k) (*TACIT_ELEMENT_(type, v, true, i, j, k, TACIT_PTR3_(type, v, i, j, k)))
#define TACIT_GET0(type, v) (*(const type *)TACIT_ELEMENT_(type, v, false, 0, 0, 0, (type *)(v).data))
#define TACIT_GET1(type, v, i) (*(const type *)TACIT_ELEMENT_(type, v, false, i, 0, 0, TACIT_PTR1_(type, v, i)))
#define TACIT_GET2(type, v, i, j) (*(const type *)TACIT_ELEMENT_(type, v, false, i, j, 0, TACIT_PTR2_(type, v, i, j)))
#define TACIT_GET3(type, v, i, j, k)                                                                                   \
    (*(const type *)TACIT_ELEMENT_(type, v, false, i, j, k, TACIT_PTR3_(type, v, i, j, k)))

/* What they are made of: the address, with the last dimension contiguous, or the check, which gives it, too. */
#define TACIT_PTR3_(type, v, i, j, k)                                                                                  \
    ((type *)((char *)(v).data + ((i) - (v).box.min[0]) * (v).stride[0] + ((j) - (v).box.min[1]) * (v).stride[1]) +    \
     ((k) - (v).box.min[2]))
#define TACIT_PTR2_(type, v, i, j)                                                                                     \
    ((type *)((char *)(v).data + ((i) - (v).box.min[0]) * (v).stride[0]) + ((j) - (v).box.min[1]))
#define TACIT_PTR1_(type, v, i) ((type *)(v).data + ((i) - (v).box.min[0]))
#if defined(NDEBUG) || defined(TACIT_UNCHECKED)
#define TACIT_ELEMENT_(type, v, write, i, j, k, address) (address)
#else
#define TACIT_ELEMENT_(type, v, write, i, j, k, address)                                                               \
    ((type *)tacit_view_check(&(v), sizeof(type), write, (size_t)(i), (size_t)(j), (size_t)(k)))
#endif

/* The check behind the macros: the element's address, or a sentence on stderr that names task, node and
 * access, and the end of the process. It is said once for the job: where several nodes find the same at
 * the same time, the lowest one speaks and ends it.
 *
 *   thread  any
 *   nodes   any */
TACIT_API void *tacit_view_check(const tacit_view *v, size_t elem_size, bool write, size_t i, size_t j, size_t k);

/* ------------------------------------------------------------------------------ views in parts
 *
 * The view of an access in parts (tacit_in_parts) is made of other views, one for each box that the
 * access declares for the node's chunk: `parts` of them in `part`, in no order that means anything.
 * Each is a view like any other, with data, stride and ld of its own, and all macros work on it. The
 * view itself has no data: `box` is the smallest box around all parts, and `data` is NULL. How many
 * parts there are depends on the chunk: in the middle of a torus it is one.
 *
 *     double x = TACIT_PART_GET2(double, v, i, j);       finds the part that has the element
 *
 *     const tacit_view *above = tacit_part_of(&v, i - 1, j, 0);        a row at a time: look once,
 *     for (size_t k = j; k < above->box.max[1]; k++)                   and go on in that part
 *         sum += TACIT_GET2(double, *above, i - 1, k);
 *
 *     for (size_t p = 0; p < v.parts; p++)               all there is
 *         TACIT_FOR (i, v.part[p].box, 0)
 *             sum += TACIT_GET1(double, v.part[p], i);
 *
 * All of this works on views in one piece, too, but for the loop over `part`. */

/* The part that has element (i, j, k); 0 stands for dimensions that the buffer does not have. A view in
 * one piece is its only part. NULL if none has it.
 *
 *   thread  any */
static inline const tacit_view *tacit_part_of(const tacit_view *v, size_t i, size_t j, size_t k)
{
    const tacit_view *const one = v->parts ? v->part : v, *const end = one + (v->parts ? v->parts : 1);
    for (const tacit_view *p = one; p != end; p++) {
        /* also true of a dimension that there is not, whose box is [0, 1) */
        if (i - p->box.min[0] < p->box.max[0] - p->box.min[0] && j - p->box.min[1] < p->box.max[1] - p->box.min[1] &&
            k - p->box.min[2] < p->box.max[2] - p->box.min[2]) {
            return p;
        }
    }
    return NULL;
}

/* The elements of a view in parts, by their index in the buffer: TACIT_AT and TACIT_GET of the part that
 * has the element, with their checks. Indices are evaluated once. The search is a few comparisons for each
 * part; where that counts, see above. */
#define TACIT_PART_AT1(type, v, i) (*(type *)tacit_part_element_(&(v), sizeof(type), true, 1, i, 0, 0))
#define TACIT_PART_AT2(type, v, i, j) (*(type *)tacit_part_element_(&(v), sizeof(type), true, 2, i, j, 0))
#define TACIT_PART_AT3(type, v, i, j, k) (*(type *)tacit_part_element_(&(v), sizeof(type), true, 3, i, j, k))
#define TACIT_PART_GET1(type, v, i) (*(const type *)tacit_part_element_(&(v), sizeof(type), false, 1, i, 0, 0))
#define TACIT_PART_GET2(type, v, i, j) (*(const type *)tacit_part_element_(&(v), sizeof(type), false, 2, i, j, 0))
#define TACIT_PART_GET3(type, v, i, j, k) (*(const type *)tacit_part_element_(&(v), sizeof(type), false, 3, i, j, k))

static inline void *tacit_part_element_(const tacit_view *v, size_t elem_size, bool write, int dims, size_t i, size_t j,
                                        size_t k)
{
    const tacit_view *p = tacit_part_of(v, i, j, k);
#if defined(NDEBUG) || defined(TACIT_UNCHECKED)
    p = p ? p : v->parts ? v->part : v;
    (void)write;
    return (char *)p->data + (i - p->box.min[0]) * (dims > 1 ? p->stride[0] : elem_size) +
           (dims > 1 ? (j - p->box.min[1]) * (dims > 2 ? p->stride[1] : elem_size) : 0) +
           (dims > 2 ? (k - p->box.min[2]) * elem_size : 0);
#else
    (void)dims;
    return tacit_view_check(p ? p : v, elem_size, write, i, j, k);
#endif
}

/* Index i of a ring of n elements, for i from -n to 2 n - 1, also where i - 1 is that of a size_t 0. The
 * neighbours of element i, read by tacit_periodic(1, 0, 0):
 *
 *     const size_t below = TACIT_WRAP(i - 1, n), above = TACIT_WRAP(i + 1, n);
 *     TACIT_AT1(double, out, i) = TACIT_GET1(double, in, below) + TACIT_GET1(double, in, above); */
#define TACIT_WRAP(i, n) tacit_wrap_((ptrdiff_t)(i), (size_t)(n))
static inline size_t tacit_wrap_(ptrdiff_t i, size_t n)
{
    return i < 0 ? (size_t)i + n : (size_t)i >= n ? (size_t)i - n : (size_t)i;
}

/* The indices of one dimension of a box, as a loop over size_t i:
 *
 *     TACIT_FOR (i, k->chunk, 0)
 *         TACIT_FOR (j, k->chunk, 1)
 *             ...
 *
 * The end is read once, before the loop. A plain loop with `i < k->chunk.max[0]` is as fast for most
 * element types. But where elements are characters or size_t, a compiler must assume that a write to
 * an element may change that end, and does not vectorise. For the same reason copy views into local
 * variables: `const tacit_view v = k->view[0];`. */
#define TACIT_FOR(i, box, dim) for (size_t i = (box).min[dim], i##_end_ = (box).max[dim]; i < i##_end_; i++)

/* =================================================================================== kernels */

/* What a kernel is called with. Everything in it belongs to tacit and is valid during the call. */
typedef struct tacit_launch {
    /* The items to compute, in indices of the task's range, offset included; never empty. It is a
     * chunk of a node, or a part of one: tacit cuts chunks for devices and workers. */
    tacit_box chunk; /* in items */
    /* One for each access, in the order of the task's list. */
    const tacit_view *view; /* as many as the task has accesses */
    /* The task's argument bytes: a copy, to read only. */
    const void *args; /* aligned to 16 bytes */
    size_t args_size; /* in bytes; 0: there are none, and `args` means nothing */
    /* Which node this is, of how many. The result must not depend on it, nor on the worker. */
    int node, num_nodes; /* 0 to num_nodes - 1 */
    /* Which of the node's workers makes the call, from 0, all devices together: for scratch memory of
     * one's own. Calls with the same worker may follow each other on different threads, but do not
     * overlap. Tasks on every node have one of their own, 0 of 1, which overlaps with the others. */
    int worker, num_workers; /* 0 to num_workers - 1; tacit_workers asks for the number */
    /* The task's name, for messages. */
    const char *name; /* "task" if it has none */
    /* For tacit_kernel_fail. The kernel must not use it otherwise. */
    tacit_context *context; /* not NULL */
    /* Where the task runs. */
    int on; /* TACIT_ON_DEVICES, ... (tacit/task.h) */
    /* How many entries `view` has. */
    int num_views; /* 0 to TACIT_MAX_ACCESSES */
    /* Of a collective host task: which of the context's groups it is in, for tacit_launch_communicator. */
    int group; /* 1 to TACIT_MAX_COLLECTIVE_GROUPS; 0: none */
    /* Of the task's range; in others `chunk` is [0, 1). */
    int dims; /* 0 to 3 */
} tacit_launch;

/* A kernel on the host: compute the items of launch->chunk.
 *
 * How often it is called, and for which parts of the range, is tacit's choice, within the hints of
 * the task: on several threads at once, for boxes that together are the node's share. Some of them may
 * be executed long before others: those that wait for messages come last (tacit_config.overlap). Once
 * per chunk of a node with .whole_chunk, and in host tasks. With TACIT_BOUNDS_CHECK=1, kernels on
 * devices are called more than once for the same items, with equal inputs. */
typedef void tacit_host_kernel(const tacit_launch *launch);

/* A kernel on an OpenCL device: put the work for the items of launch->chunk into opencl->queue (tacit/opencl.h), and
 * return. Once per chunk of a device, or per part of one (tacit_config.overlap). It does not wait; what it puts into
 * other queues, `queue` must wait for. If the work cannot be started, it calls tacit_kernel_fail. */
struct tacit_opencl;
typedef void tacit_opencl_launch(const tacit_launch *launch, const struct tacit_opencl *opencl);

/* A kernel on a CUDA device: start the work for the items of launch->chunk in `stream`, and return. The views have
 * addresses of the device, whose context is the calling thread's current one; tacit waits for the stream. Once per
 * chunk of a device, or per part of one. It does not wait itself, and starts nothing in other streams that `stream`
 * does not wait for. If the work cannot be started, it calls tacit_kernel_fail. */
typedef void tacit_cuda_launch(const tacit_launch *launch, void *stream);

/* The entries of a task's kernel, one per kind of device: a task may have several, which must compute
 * the same, and runs on those devices of a node (tacit_config.devices) that it has an entry for. If
 * there are none, `host` runs on the host's cores, and what it touches is copied. A task with no entry
 * for any device of the node is refused with TACIT_ERROR_UNSUPPORTED, and one with none at all with
 * TACIT_ERROR_ARGUMENT. Host tasks run on the host. doc/devices.md shows how to write a kernel once. */
typedef struct tacit_kernel {
    /* A C function. */
    tacit_host_kernel *host; /* NULL: none */
    /* A program in OpenCL C 1.2 and the name of its kernel. Its parameters are one TACIT_VIEW for each
     * access, TACIT_CHUNK, TACIT_VALUE if the task has arguments, and TACIT_SCRATCH if there are
     * local_bytes. Each item of the chunk is a work-item; where groups have a size, there may be more,
     * which TACIT_FOR leaves out. Accesses in parts are seen in one piece. In tasks with reductions each
     * group has a partial result that it sets (TACIT_RESULT); with tacit_config.reproducible, and where
     * there is `launch` instead, these run by `host`.
     *
     * The texts are not copied, and must stay as they are until tacit_finalize; a kernel is compiled
     * when a task first needs it, and kept. One that does not compile is the error of the run. */
    struct {
        tacit_opencl_launch *launch; /* instead: a function that fills a queue; NULL: none */
        const char *source, *entry;  /* NULL: none */
        size_t group
            [TACIT_MAX_DIMS]; /* items of a work-group in each dimension of the range; zeros: the driver's choice */
        size_t local_bytes;   /* of a work-group's scratch memory; default: 0 */
    } opencl;
    /* For CUDA devices: a function that starts work in a stream (tacit/cuda.h), or a program in CUDA C++ and
     * the name of its kernel, as above; NVRTC compiles it. Texts that use only what doc/devices.md names are
     * the same in both languages. If there is `launch`, it is what runs. */
    struct {
        tacit_cuda_launch *launch;    /* NULL: none */
        const char *source, *entry;   /* NULL: none */
        size_t group[TACIT_MAX_DIMS]; /* items of a block in each dimension; zeros: tacit's choice */
        size_t local_bytes;           /* of a block's scratch memory; default: 0 */
    } cuda;
} tacit_kernel;

/* C code that is compiled here and also begins an OpenCL program: what kernels of both kinds have in
 * common is written once. Behind `text`, the name of the program, stands the rest of it as a string.
 *
 *     TACIT_BOTH(waves, "TACIT_KERNEL advance(TACIT_VIEW(u), TACIT_CHUNK(c), TACIT_VALUE(struct basin, b)) {...}",
 *         struct basin { double c2; };
 *         static double next(double c2, double here, double sum) { return here + c2 * (sum - 4.0 * here); }
 *     );
 *     ... .kernel = { .host = advance, .opencl = { .source = waves, .entry = "advance" } } ...
 *
 * The code has no preprocessor lines, and no types but those that both have: those of stdint.h, float,
 * double. Integers as arguments have a size in their name, since OpenCL's `long` has 64 bits anywhere. */
#define TACIT_BOTH(text, rest, ...) __VA_ARGS__ static const char text[] = #__VA_ARGS__ "\n" rest

/* From inside a kernel: the run has failed, for a reason in the manner of printf. The call returns;
 * the kernel should return soon, too. The context gets TACIT_ERROR_KERNEL with a sentence that names
 * the task, the node and the reason (cut after 399 bytes), and the job ends on all nodes.
 *
 *   launch  that of the kernel's own call
 *   format  and what follows: read before the call returns
 *
 *   thread  any, while the kernel's call lasts
 *   nodes   any */
TACIT_API void tacit_kernel_fail(const tacit_launch *launch, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

TACIT_C_END_
#endif
