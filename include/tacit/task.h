/* tacit/task.h: tasks: what is to be computed, where, and what else they use.
 *
 * A task is an iteration range, a kernel, and accesses. Every node submits every task; each takes its
 * own share of the range and knows that of the others without asking. Tasks run as soon as their
 * inputs are there, in any order that the accesses allow; the result is that of a program that runs
 * them one by one, in the order of submission.
 *
 *     on              .place     who computes                       kernel calls on a node
 *     ON_DEVICES      zero       every node a part of the range     several, on several workers
 *     ON_DEVICES      a node     that node, all of it               several, if items write apart
 *     ON_HOST         zero       every node a part of the range     one for each of its chunks
 *     ON_ONE_NODE     or zero    one node, all of it                one
 *     ON_EVERY_NODE   zero       every node, all of it              one
 *
 * A range is split into chunks that are as equal as possible: 10 items on 4 nodes are 3, 3, 2 and 2.
 * With fewer items than nodes the last nodes have none. The split is a function of the range, the
 * hints and the number of nodes, so data that a task leaves is where the next task with the same range
 * and hints looks for it. */
#ifndef TACIT_TASK_H
#define TACIT_TASK_H

#include <tacit/access.h>
#include <tacit/view.h>

TACIT_C_BEGIN_

/* ================================================================================ where it runs */

/* On what a task runs. */
typedef enum tacit_on {
    TACIT_ON_DEVICES = 0, /* split over nodes, then over their devices and workers. The default. */
    TACIT_ON_HOST,        /* a host task, split over nodes: one call for each chunk of a node */
    TACIT_ON_ONE_NODE,    /* a host task on one node (.place, else node 0), which gets the whole range */
    TACIT_ON_EVERY_NODE   /* a host task on every node, which gets the whole range: a collective host task */
} tacit_on;

/* Host tasks may use the operating system: files, clocks, the terminal. Their kernel is called once
 * for each chunk, on one thread.
 *
 * Collective host tasks (TACIT_ON_EVERY_NODE) call the kernel once per node, each time with the whole
 * range. A node reads what the mappers give for all of it. They write with tacit_replicated() only,
 * the same on all nodes, and do not reduce. Such a kernel, and no other, may wait for the other
 * nodes, for instance in a collective operation of MPI (tacit_launch_communicator in tacit/mpi.h).
 * Therefore these tasks run one after the other, in the order of their submission on all nodes, and
 * on a thread of their own (`worker` is 0 of 1); those of different groups (.group) may overlap.
 * Where everything runs in the calling thread, a node begins one when all that it has to do for
 * earlier tasks is done, inside any call of tacit. More in doc/mpi.md. */

/* How a task is placed; set by the functions below. */
enum {
    TACIT_PLACE_SPLIT = 0, /* tacit splits it over the nodes */
    TACIT_PLACE_NODE,      /* tacit_place_node */
    TACIT_PLACE_OWNER      /* tacit_place_owner */
};

/* Which node runs a task. Zero: tacit splits it. A placed task has its whole range on one node, and
 * may write with any mapper. */
typedef struct tacit_place {
    int kind; /* TACIT_PLACE_... */
    int arg;  /* the node, or the index of the access */
} tacit_place;

/* All of the task runs on this node, 0 to tacit_num_nodes - 1; else TACIT_ERROR_RANGE. */
static inline tacit_place tacit_place_node(int node)
{
    const tacit_place p = { TACIT_PLACE_NODE, node };
    return p;
}

/* All of the task runs on the node that owns the first element that access i names: the smallest
 * index in every dimension, by the .distribution of its buffer. Accesses count from 0; one that the
 * task does not have is TACIT_ERROR_ARGUMENT. */
static inline tacit_place tacit_place_owner(int i)
{
    const tacit_place p = { TACIT_PLACE_OWNER, i };
    return p;
}

/* ===================================================================================== hints */

/* Along how many dimensions a range is split over nodes. */
enum {
    TACIT_SPLIT_DEFAULT = 0, /* TACIT_SPLIT_1D */
    TACIT_SPLIT_1D,          /* along dimension 0: every chunk has whole rows */
    TACIT_SPLIT_2D           /* along dimensions 0 and 1: shorter borders on many nodes */
};

/* Hints never change results, only where and how fast they are computed; and where reductions of
 * floating-point numbers are cut, which shows in their last bits. With tacit_config.reproducible only
 * `granularity` does that: it rounds the length of a block. The kernel is then called for one block
 * at a time also with `whole_chunk`, and tasks with reductions are split in one dimension.
 *
 * Zero is the default of each. All nodes give the same hints. */
typedef struct tacit_hints {
    /* A 2D split makes a grid of two factors of the number of chunks that are as equal as possible;
     * the larger one lies along the dimension with more granules. */
    int split; /* TACIT_SPLIT_...; default: 1D */
    /* Borders of chunks, and of what workers get along dimension 0, lie at the first item of the
     * range plus a multiple of this. */
    size_t granularity[TACIT_MAX_DIMS]; /* in items, at most 2^46; 0 is 1 */
    /* Chunks per node. More chunks let a node begin with the first while it waits for what the second
     * needs. Not of tasks that run on one node or on every node. */
    int oversubscribe; /* at most 1024; 0 is 1 */
    /* Of the kernels that are ready on a node, those of higher priority start first. */
    int priority; /* -1000 to 1000 */
    /* The kernel gets each chunk of a node in one call, instead of parts on several workers, or parts before and
     * after messages come (tacit_config.overlap). Host tasks always do. */
    bool whole_chunk; /* default: false */
    /* What the kernel writes depends on nothing but its arguments and what it declares to read, and it has
     * no other effect: it may be called for the same items on several nodes, and gives the same there.
     * tacit_config.latency makes use of it: a call may then have items of other nodes, too.
     * tacit_config.check_pure finds kernels that do not keep this promise. */
    bool pure; /* default: false */
    /* One relative weight for each node, for unequal chunks along dimension 0. 0 counts as 1, and
     * every node gets at least one granule while there are enough. Not with TACIT_SPLIT_2D. */
    const uint32_t *weights; /* tacit_num_nodes of them, copied; NULL: equal chunks */
    /* Weights of items, for chunks of dimension 0 with about equal sums of them; with `weights`, with sums in
     * proportion to these. What workers and devices get of a chunk is cut in the same way. They cover the items of
     * dimension 0, counted from 0, not from the offset. Every node gets at least one granule while there are
     * enough. Not with TACIT_SPLIT_2D, which is refused; without effect where the task is not split. */
    tacit_weights *item_weights; /* tacit_weights_create; NULL: items are alike */
    /* No window of pure tasks with this one has more tasks than that; 1: this task is in none. 0: what
     * tacit_config.latency says. */
    int window; /* 0 to 64; default: 0 */
    /* What this task reads comes by messages, even where a collective would do. Compare
     * tacit_config.collectives. */
    bool no_collectives; /* default: false */
} tacit_hints;

/* ===================================================================================== tasks */

/* A task names at most this many host objects. */
#define TACIT_MAX_HOST_OBJECTS 4

/* The description of a task. Zero means default; .kernel is needed.
 *
 *     const struct params p = { dt, n };
 *     const tacit_task kick = {
 *         .name = "kick",
 *         .range = TACIT_RANGE(n),
 *         .kernel = { .host = kick_bodies },
 *         TACIT_ARGS(p),
 *         .access = { tacit_read(P, tacit_all()), tacit_update(V, tacit_one_to_one()) },
 *     };
 *     tacit_status status = tacit_submit(ctx, &kick);
 *
 * Descriptions need not be kept, but may be: a loop can submit the same one again and again, or change
 * what differs. Where kernels take less than a microsecond that is worth it: one has 2.5 KB. */
typedef struct tacit_task {
    /* For messages, graphs and reports; the same on all nodes. */
    const char *name; /* copied; NULL: "task" */
    /* The items. With a dimension of size 0 the task does nothing. */
    tacit_range range; /* dims 0: one item */
    /* The index of the first item in each dimension: items are [offset, offset + size). */
    size_t offset[TACIT_MAX_DIMS]; /* at most 2^46; default: 0 */
    /* What it does with buffers. */
    tacit_access access[TACIT_MAX_ACCESSES + 1]; /* ends at the first entry that is zero; the last one must be */
    /* What to call. The function must be the same on all nodes; its address may differ. */
    tacit_kernel kernel; /* .kernel = { .host = function } */
    /* Argument bytes for the kernel: see TACIT_ARGS. What they point to is not copied: a pointer means
     * something in this process only, and must stay valid until the task is done. */
    const void *args; /* args_size bytes, copied; NULL only if that is 0 */
    size_t args_size; /* in bytes, at most 2^24; the same on all nodes */
    /* On what it runs. */
    tacit_on on; /* TACIT_ON_...; default: on devices */
    /* On which node. Not with TACIT_ON_EVERY_NODE. */
    tacit_place place; /* default: split over the nodes */
    /* How to split and run it. */
    tacit_hints hint; /* default: as if there were none */
    /* Host tasks: what they use besides buffers; see below. */
    tacit_host_object *host_object[TACIT_MAX_HOST_OBJECTS]; /* NULL: none */
    /* The argument bytes are the same on all nodes, which compare them (tacit_config.divergence).
     * Without it only their number is compared. */
    bool hash_args; /* default: false */
    /* What the kernel takes for one item on one worker, for `tacit simulate`, and for tacit_config.overlap, which asks
     * whether cutting a chunk is worth it. */
    double cost; /* in nanoseconds; default: 0, as the machine's file says. The same on all nodes. */
    /* Collective host tasks: they follow those of the same group, and may overlap with those of other groups. */
    tacit_collective_group *group; /* tacit_collective_group_create; NULL: none, which is a group, too */
} tacit_task;

/* In an initialiser of tacit_task: the kernel's arguments are a copy of the struct `x`. */
#define TACIT_ARGS(x) .args = &(x), .args_size = sizeof(x)

/* Submit a task.
 *
 * The call checks the description, adds it to the task graph, and returns. It helps with the progress
 * of earlier tasks while the program is too far ahead of their planning or execution
 * (tacit_config.run_ahead), so that memory does not grow with the length of a run; that is the only
 * time it waits. Where everything runs in the calling thread, the task may be executed inside the call.
 *
 *   task   may go out of scope when the call returns, with its name, arguments and weights. Its
 *          buffers, mappers, operators and host objects belong to ctx.
 *
 *   errors  TACIT_ERROR_ARGUMENT       something is NULL or has no such value; no kernel; a host
 *                                      object in a task on devices
 *           TACIT_ERROR_DIMENSION      more than 3 dimensions, or a mapper that needs others
 *           TACIT_ERROR_RANGE          a size beyond the limits, a mapper that leaves its buffer, no
 *                                      such node
 *           TACIT_ERROR_MAPPER         a mapper that cannot be used like this
 *           TACIT_ERROR_UNINITIALIZED  it reads what nobody has written
 *           TACIT_ERROR_OVERLAP        nodes would write the same elements, or read what others write
 *           TACIT_ERROR_STATE          a handle is destroyed or of another context
 *           TACIT_ERROR_UNSUPPORTED    a kernel for other devices only
 *           the error of the run
 *   thread  the context's
 *   nodes   all, in the same order. They compare what they submit: names, ranges, buffers, modes,
 *           mappers, places, hints that change the split, sizes of arguments. The first difference
 *           ends the job with TACIT_ERROR_DIVERGENCE.
 *   source  What bounds the memory of the graphs is a horizon: Thoman, Salzmann, Balancing Tracking
 *           Granularity and Parallelism in Many-Task Systems: The Horizons Approach, 2024.
 *
 * Programs call tacit_submit. (The exported function also takes the size of the struct, so that the
 * struct can grow.) */
TACIT_API tacit_status tacit_submit_sized(tacit_context *ctx, const tacit_task *task, size_t size);
static inline tacit_status tacit_submit(tacit_context *ctx, const tacit_task *task)
{
    return tacit_submit_sized(ctx, task, sizeof(tacit_task));
}

/* ============================================================================ prepared tasks
 *
 * A loop may submit the same tasks in each step. tacit finds that out by itself, by comparing their
 * descriptions with those of the step before. Where kernels take less than a microsecond, describing and
 * comparing takes longer than what is to be computed. Then prepare the tasks once, and start them in each
 * step, as persistent requests of MPI are:
 *
 *     for (size_t i = 0; i < rows; i++)
 *         tacit_prepare(ctx, &(tacit_task){ ... row i ... }, &row[i]);
 *     for (int step = 0; step < steps; step++)
 *         for (size_t i = 0; i < rows; i++)
 *             tacit_start(ctx, row[i], NULL);
 *
 * A started task is a task like any other: what follows it, what it sends and what it computes is as if its
 * description had been submitted. Prepared and other tasks may come in any order. */

/* Keep the description of a task.
 *
 *   task    is copied, with its name, arguments and weights. The handles in it are not: a buffer, a mapper, an
 *           operator, weights of items or a host object may be destroyed; then it cannot be started any more.
 *   out     gets the handle, which belongs to the context: it ends with tacit_prepared_destroy or tacit_finalize
 *
 *   errors  those of tacit_submit that do not depend on what has been written; TACIT_ERROR_ARGUMENT also if out
 *           is NULL
 *   thread  the context's
 *   nodes   any: only starting is seen by others
 *
 * (The exported function also takes the size of the struct, so that the struct can grow.) */
TACIT_API tacit_status tacit_prepare_sized(tacit_context *ctx, const tacit_task *task, size_t size,
                                           tacit_prepared **out);
static inline tacit_status tacit_prepare(tacit_context *ctx, const tacit_task *task, tacit_prepared **out)
{
    return tacit_prepare_sized(ctx, task, sizeof(tacit_task), out);
}

/* Submit a prepared task: tacit_submit of its description.
 *
 *   args    the arguments of this one, of as many bytes as the description says, copied; NULL: the description's
 *
 *   errors  those of tacit_submit; TACIT_ERROR_ARGUMENT also if prepared is NULL, TACIT_ERROR_STATE also if it is
 *           destroyed, of another context, or none
 *   thread  the context's
 *   nodes   all, as tacit_submit */
TACIT_API tacit_status tacit_start(tacit_context *ctx, tacit_prepared *prepared, const void *args);

/* Forget a prepared task. Those that were started go on. NULL is allowed, and does nothing.
 *
 *   errors  TACIT_ERROR_ARGUMENT  the context is NULL
 *           TACIT_ERROR_STATE     it is destroyed already, of another context, or none
 *   thread  the context's
 *   nodes   any */
TACIT_API tacit_status tacit_prepared_destroy(tacit_context *ctx, tacit_prepared *prepared);

/* =========================================================================== weights of items
 *
 * Items of a task may differ in what they take: rows of a sparse matrix, buckets, cells with particles. Where
 * the program knows by how much, it says so, and each node gets a run of items with about the same sum:
 *
 *     tacit_fence_read(ctx, counts, TACIT_BOX_ALL, count);          all nodes have the same values
 *     tacit_weights_create(ctx, buckets, count, &by_count);
 *     ... .range = TACIT_RANGE(buckets), .hint.item_weights = by_count ...
 *     tacit_weights_destroy(ctx, by_count);                         also while tasks use them
 *
 * With the average A of the sums of P chunks, and W of the heaviest granule, no chunk has more than
 * A + W (1 + ln P). Tasks with equal weights, ranges and hints are split alike, so that data stays where it
 * is. Weights never change results. They are not for every step: what has come before is planned again
 * with new weights, and data moves to where they put it. */

/* Create weights of the items 0 to count - 1.
 *
 *   weight  count of them, 0 included, copied before the call returns; the same on all nodes, which compare them.
 *           Where all that are left are 0, items count alike.
 *   out     gets the handle, which belongs to the context: it ends with tacit_weights_destroy or
 *           tacit_finalize. Equal weights get the same handle, which is destroyed as often as it was created.
 *
 *   errors  TACIT_ERROR_ARGUMENT  ctx, weight or out is NULL
 *           TACIT_ERROR_RANGE     count is 0 or larger than 2^46, or the sum of the weights larger than 2^62
 *           TACIT_ERROR_MEMORY    there is no room for 8 bytes per item
 *           TACIT_ERROR_STATE     the context is none
 *           the error of the run
 *   thread  the context's
 *   nodes   all, in the same order, with the same weights */
TACIT_API tacit_status tacit_weights_create(tacit_context *ctx, size_t count, const uint64_t *weight,
                                            tacit_weights **out);

/* Destroy weights. Tasks that were submitted before still use them. NULL is allowed, and does nothing.
 *
 *   errors  TACIT_ERROR_ARGUMENT  the context is NULL
 *           TACIT_ERROR_STATE     they are destroyed already, of another context, or none
 *   thread  the context's
 *   nodes   all, in the same order */
TACIT_API tacit_status tacit_weights_destroy(tacit_context *ctx, tacit_weights *weights);

/* ======================================================== groups of collective host tasks
 *
 * Collective host tasks follow each other, in the order of their submission: so all nodes enter what
 * their kernels do together, such as collective operations of MPI, in the same order. Where two of them
 * have nothing to do with each other, each may have a group of its own:
 *
 *     tacit_collective_group *output, *solver;
 *     tacit_collective_group_create(ctx, &output);
 *     tacit_collective_group_create(ctx, &solver);
 *     ... .on = TACIT_ON_EVERY_NODE, .group = output ...         writes a file by parallel HDF5
 *     ... .on = TACIT_ON_EVERY_NODE, .group = solver ...         meanwhile
 *
 * Tasks of one group follow each other; those of different groups may run at the same time, unless what
 * they read and write, or a host object, orders them. Each group has a communicator of its own
 * (tacit_launch_communicator) and, while it has tasks, a thread of its own on each node. Tasks without
 * a group are one more group. Where everything runs in the calling thread, nothing overlaps, and
 * all such tasks run in the order of their submission. */

/* So many groups may exist at once; each has an MPI communicator. */
#define TACIT_MAX_COLLECTIVE_GROUPS 16

/* Create a group. It waits for all nodes, like tacit_barrier, unless one that was destroyed is used again: programs
 * create groups at the start.
 *
 *   out     gets the handle, which belongs to the context: it ends with tacit_collective_group_destroy or
 *           tacit_finalize
 *
 *   errors  TACIT_ERROR_ARGUMENT  ctx or out is NULL
 *           TACIT_ERROR_RANGE     there are TACIT_MAX_COLLECTIVE_GROUPS
 *           TACIT_ERROR_STATE     the context is none
 *           TACIT_ERROR_NETWORK   MPI makes no communicator
 *           the error of the run
 *   thread  the context's
 *   nodes   all, in the same order */
TACIT_API tacit_status tacit_collective_group_create(tacit_context *ctx, tacit_collective_group **out);

/* Destroy a group. The handle is invalid at once; tasks that were submitted before are still of the group. NULL is
 * allowed, and does nothing.
 *
 *   errors  TACIT_ERROR_ARGUMENT  the context is NULL
 *           TACIT_ERROR_STATE     the group is destroyed already, or of another context
 *   thread  the context's
 *   nodes   all, in the same order */
TACIT_API tacit_status tacit_collective_group_destroy(tacit_context *ctx, tacit_collective_group *group);

/* ============================================================================== host objects
 *
 * Buffers order tasks by the data that they share. What host tasks share outside of tacit is named as
 * a host object. On each node, tasks that name the same one run one after the other, in the order of
 * their submission, such as several that append to one file. An object causes no messages and
 * orders nothing between nodes. It may carry contents, each node its own: an open file, a solver of
 * another library.
 *
 *     tacit_host_object *log;
 *     tacit_host_object_create(ctx, &log);
 *     ... .on = TACIT_ON_ONE_NODE, .host_object = { log } ... */

/* Create a host object.
 *
 *   out     gets the handle, which belongs to the context: it ends with tacit_host_object_destroy or
 *           tacit_finalize
 *
 *   errors  TACIT_ERROR_ARGUMENT  ctx or out is NULL
 *           TACIT_ERROR_STATE     the context is none
 *           the error of the run
 *   thread  the context's
 *   nodes   all, in the same order */
TACIT_API tacit_status tacit_host_object_create(tacit_context *ctx, tacit_host_object **out);

/* What a host object carries on this node. Zero-initialise it. */
typedef struct tacit_host_object_desc {
    void *contents; /* this node's; NULL: nothing */
    /* Ends the contents, if that is not NULL: called once, by the context's thread, when all tasks that
     * may use them are done: in a tacit_wait (or tacit_barrier) after tacit_host_object_destroy, or in
     * tacit_finalize. It must not call tacit. */
    void (*end)(void *contents); /* NULL: nothing is called, and they are the program's */
} tacit_host_object_desc;

/* Create a host object with contents. Kernels of tasks that name it get them from
 * tacit_host_object_contents and may change what they point to: on each node, no other task that names
 * the object runs meanwhile. The handle is the same for all of a node's tasks: pass it in `.args`.
 *
 *   desc    is copied
 *
 *   errors  those of tacit_host_object_create; TACIT_ERROR_ARGUMENT also if desc is NULL. Then the
 *           contents stay the program's
 *   thread  the context's
 *   nodes   all, in the same order; what the contents are may differ
 *
 * (The exported function also takes the size of the struct, so that the struct can grow.) */
TACIT_API tacit_status tacit_host_object_create_sized(tacit_context *ctx, const tacit_host_object_desc *desc,
                                                      size_t size, tacit_host_object **out);
static inline tacit_status tacit_host_object_create_with(tacit_context *ctx, const tacit_host_object_desc *desc,
                                                         tacit_host_object **out)
{
    return tacit_host_object_create_sized(ctx, desc, sizeof(tacit_host_object_desc), out);
}

/* The contents of a host object on this node, or NULL. For kernels of tasks that name it, and for the
 * program after tacit_host_object_fence, until it submits the next task that names it.
 *
 *   object  not destroyed, or destroyed and the kernel's task was submitted before
 *   owner   as the description said
 *   thread  any
 *   nodes   any */
TACIT_API void *tacit_host_object_contents(const tacit_host_object *object);

/* Wait until this node has executed all tasks so far that name the object, and get its contents. Tasks
 * that do not name it go on, and others may be submitted: their kernels must not name the object while
 * the program uses the contents. In a dry run nothing has been executed.
 *
 *   contents  gets them; NULL: only wait
 *
 *   errors  TACIT_ERROR_ARGUMENT  ctx or object is NULL
 *           TACIT_ERROR_STATE     the object is destroyed, or of another context
 *           the error of the run
 *   owner   the contents stay the object's
 *   thread  the context's
 *   nodes   all, in the same order as other calls */
TACIT_API tacit_status tacit_host_object_fence(tacit_context *ctx, tacit_host_object *object, void **contents);

/* Destroy a host object. The handle is invalid at once, but for kernels of tasks that named it, which keep
 * their order; so are its contents. NULL is allowed, and does nothing.
 *
 *   errors  TACIT_ERROR_ARGUMENT  the context is NULL
 *           TACIT_ERROR_STATE     the object is destroyed already, or of another context
 *   thread  the context's
 *   nodes   all, in the same order */
TACIT_API tacit_status tacit_host_object_destroy(tacit_context *ctx, tacit_host_object *object);

TACIT_C_END_
#endif
