/* tacit/tacit.h: programs for a whole cluster without a line of communication code.
 *
 * This header and those that it includes are the manual. Read this essay, then the header of what
 * you need:
 *
 *     tacit/context.h   begin and end, waiting, errors, counters
 *     tacit/config.h    settings
 *     tacit/buffer.h    buffers, who owns which part of them, fences
 *     tacit/task.h      tasks, hints, host objects
 *     tacit/access.h    what a task does with a buffer; reductions
 *     tacit/mapper.h    which part of a buffer a piece of a task touches
 *     tacit/view.h      what a kernel is called with
 *     tacit/box.h       ranges and boxes
 *     tacit/base.h      statuses and handles
 *     tacit/mpi.h       for programs that use MPI themselves; not included here
 *     tacit/opencl.h    kernels that are functions which start work on OpenCL devices; not included here
 *     tacit/cuda.h      the same for CUDA devices; not included here
 *     tacit/io.h        buffers to and from files; a library of its own, not included here
 *     tacit/layer.h     for libraries that stand on tacit; not included here
 *
 * ---------------------------------------------------------------------------------- the model
 *
 * A program creates *buffers*: virtual arrays of 0 to 3 dimensions that all *nodes* (processes) of a
 * run share. It submits *tasks*: an iteration *range*, a *kernel*, and a list of *accesses*, each of
 * which says by a *range mapper* which part of a buffer a piece of the range reads or writes. tacit
 * splits each task over the nodes, gives every node a *chunk* of the range, works out which data must
 * travel from whom to whom, and runs everything as soon as its inputs are there. Results are taken
 * out by a *fence*, or written by a *host task*.
 *
 *     #include <stdio.h>
 *     #include <tacit/tacit.h>
 *
 *     static void fill(const tacit_launch *k)
 *     {
 *         TACIT_FOR (i, k->chunk, 0)
 *             TACIT_AT1(double, k->view[0], i) = (double)(i % 10);
 *     }
 *     static void add_next(const tacit_launch *k)
 *     {
 *         TACIT_FOR (i, k->chunk, 0)
 *             TACIT_AT1(double, k->view[1], i) =
 *                 TACIT_GET1(double, k->view[0], i) + TACIT_GET1(double, k->view[0], i + 1);
 *     }
 *     int main(void)
 *     {
 *         const size_t n = 1000000;
 *         double first[3];
 *         tacit_context *ctx;
 *         tacit_buffer *a, *b;
 *         const tacit_buffer_desc of_a = { .name = "a", .range = TACIT_RANGE(n + 1), .elem_size = sizeof(double) };
 *         const tacit_buffer_desc of_b = { .name = "b", .range = TACIT_RANGE(n), .elem_size = sizeof(double) };
 *         if (tacit_init(NULL, &ctx) || tacit_buffer_create(ctx, &of_a, &a) || tacit_buffer_create(ctx, &of_b, &b))
 *             return 1;
 *         const tacit_task filling = { .name = "fill", .range = TACIT_RANGE(n + 1), .kernel.host = fill,
 *                                      .access = { tacit_write(a, tacit_one_to_one()) } };
 *         const tacit_task adding = { .name = "add", .range = TACIT_RANGE(n), .kernel.host = add_next,
 *                                     .access = { tacit_read(a, tacit_neighborhood(1, 0, 0)),
 *                                                 tacit_write(b, tacit_one_to_one()) } };
 *         if (tacit_submit(ctx, &filling) || tacit_submit(ctx, &adding) ||
 *             tacit_fence_read(ctx, b, tacit_box1(0, 3), first))
 *             return puts(tacit_last_error(ctx)), 1;
 *         if (tacit_node(ctx) == 0)
 *             printf("%g %g %g ...\n", first[0], first[1], first[2]);
 *         return tacit_finalize(ctx) != TACIT_OK;
 *     }
 *
 *     cc -o add add.c $(pkg-config --cflags --libs tacit)
 *     tacit run -n 4 ./add
 *
 * A program that runs on one node runs unchanged on many. Its result does not depend on the number
 * of nodes, if kernels compute each element in the same way whatever the chunk is; reductions of
 * floating-point numbers also need tacit_config.reproducible. doc/model.md explains the model with
 * pictures.
 *
 * ------------------------------------------------------------------------------- what it does
 *
 * Every node hears the same tasks and makes its own plan, without asking the others:
 *
 *   1. The *task graph* says which task must follow which. It is the same on all nodes. The thread
 *      that submits makes it.
 *   2. The *command graph* says what this node does: which chunk it executes, what it sends to whom
 *      and receives from whom. Transfers in which all nodes take part become collectives.
 *   3. The *instruction graph* says where in memory: allocations, copies, messages, kernels.
 *   4. Instructions start as soon as those that they depend on are done, in any order. Messages
 *      travel while kernels run.
 *
 * Now and then tacit adds a *horizon* to the task graph: everything before it is forgotten when it
 * has been executed. So neither time per task nor memory grows with the length of a run.
 *
 * ------------------------------------------------------------------- when something is not right
 *
 *   A call fails.             Print tacit_last_error; doc/errors.md has an entry for each sentence.
 *   Results are wrong.        TACIT_BOUNDS_CHECK=1 finds kernels that touch what their accesses do not
 *                             declare, the usual reason for results that differ between numbers of
 *                             nodes. Without -DNDEBUG, TACIT_AT and TACIT_GET check indices and types.
 *   Last bits differ.         TACIT_REPRODUCIBLE=1 fixes the order of reductions. No -ffast-math.
 *   It hangs.                 After 60 seconds each node says what it waits for (TACIT_WATCHDOG).
 *   It is slow.               `tacit trace` shows where the time goes; TACIT_EXPLAIN=1 says how data
 *                             travelled, and why not by a collective; TACIT_LOG=info prints counters.
 *   It needs much memory.     tacit_all() puts all of a buffer on every node; so does .init.
 *   What would it do on       TACIT_DRY_RUN=1024 plans as one of 1024 nodes, and `tacit plan` makes a
 *   more nodes?               table of such plans.
 *   What does it do at all?   TACIT_GRAPH=prefix draws the graphs. TACIT_THREADS=0 runs everything in
 *                             one thread, for a debugger.
 *
 * ---------------------------------------------------------------------------------- the rules
 *
 * Stated once here; each function says where it differs, and repeats what matters most.
 *
 *   Nodes.      Every node runs the same program. Calls marked "nodes: all" must be made by all
 *               nodes, in the same order, with the same arguments: creating and destroying,
 *               submitting, fencing, waiting, beginning and ending. Pointers may differ; what they
 *               point to may not, unless it says so. So a branch around such a call may depend on
 *               the command line, a counter, or a number that a fence brought, but not on the number
 *               of the node, the time, or what one node found on its disk. Calls marked "any" are
 *               questions and clean-ups that each node may make by itself.
 *               Nodes compare what they submit while the run goes on, and the first difference ends
 *               the job with TACIT_ERROR_DIVERGENCE and a sentence.
 *   Threads.    A context is used by one thread at a time: "the context's" thread is whichever makes
 *               the call. If MPI was initialised with MPI_THREAD_SINGLE or _FUNNELED, it is the one
 *               that created the context; others get TACIT_ERROR_STATE. Calls marked "any" may be
 *               made on any thread at any time. Kernels run on threads of tacit's own, or inside
 *               calls that wait, and must not call tacit: such calls get TACIT_ERROR_STATE, too
 *               (tacit/view.h has the exceptions). Two threads at the same time are found in builds
 *               of tacit with TACIT_CHECKS=basic or full.
 *   Waiting.    Submitting does not wait for execution. Fences, tacit_wait and tacit_finalize do, and
 *               so does tacit_buffer_create while it copies .init.
 *   Errors.     Most calls return a tacit_status: TACIT_OK, which is 0, or a negative value.
 *               tacit_last_error has a sentence that names task, buffer and box, and the cure. A call
 *               that is refused changes nothing, and its outputs are not set (tacit_init sets its
 *               own to NULL). Besides the errors listed, every call that needs a context returns
 *               TACIT_ERROR_ARGUMENT for NULL and TACIT_ERROR_STATE for one that is finalized or
 *               none. "The error of the run" is the first thing that failed later, in a kernel, in
 *               memory or in the network: it ends the job on all nodes, and later calls return it.
 *   Zero.       Descriptions are plain structs in which zero means default. Initialise them with
 *               designated initialisers, and new fields do no harm. What stands above a field says
 *               what it is; what stands behind it, its values, default or unit.
 *   Ownership.  Descriptions, names and arguments are copied before a call returns, and may be on
 *               the stack. Exceptions: .init with .init_borrow, and what pointers inside argument
 *               bytes point to. What tacit creates belongs to the context, and ends with it at the
 *               latest. Every create has its destroy.
 *   Units.      Sizes and indices count elements or items; bytes are called bytes. Boxes are
 *               half-open, and row-major: the last dimension is contiguous.
 *
 * Names: tacit_ and TACIT_ are the library's; names that end in an underscore are not for programs.
 * The headers need a C11 or C++17 compiler that knows GNU attributes, and no other header than
 * stdbool.h, stddef.h and stdint.h. */
#ifndef TACIT_TACIT_H
#define TACIT_TACIT_H

/* The version of these headers. Versions with the same major and minor number have the same
 * interface. */
#define TACIT_VERSION_MAJOR 0
#define TACIT_VERSION_MINOR 1
#define TACIT_VERSION_PATCH 0

#include <tacit/access.h>
#include <tacit/base.h>
#include <tacit/box.h>
#include <tacit/buffer.h>
#include <tacit/config.h>
#include <tacit/context.h>
#include <tacit/mapper.h>
#include <tacit/task.h>
#include <tacit/view.h>

#endif
