/* tacit/buffer.h: buffers, who owns which part of them, and fences, which bring contents out.
 *
 * A buffer is a virtual array of 0 to 3 dimensions with elements of any size, shared by all nodes.
 * It has no place of its own: each node allocates the parts that its tasks touch, when they touch
 * them, so a buffer may be larger than the memory of any node. What one access of a node touches
 * lies in one piece of memory, its bounding box, unless it is in parts (tacit_in_parts): then each
 * of its boxes does, and not what lies between. Contents get in by .init, by .init_local and by
 * tasks that write, and get out by fences and by host tasks that read.
 *
 * What a node needs beyond its limit (TACIT_MEMORY_LIMIT; by default its share of the machine's
 * memory) is refused before it is allocated: the run fails with TACIT_ERROR_MEMORY, with a table on
 * stderr of what needs how much and why. */
#ifndef TACIT_BUFFER_H
#define TACIT_BUFFER_H

#include <tacit/box.h>

TACIT_C_BEGIN_

/* ============================================================================= distributions
 *
 * A distribution says which node owns which part of a buffer. Owners matter in three places only:
 *
 *   .init_local        takes each node's own part as its initial contents
 *   tacit_fence_local  brings the newest contents of its own part to each node
 *   tacit_place_owner  runs a task on the node that owns what one of its accesses names
 *
 * Between these, data lies where tasks write it; owners are a convention, not a restriction. A
 * program that has its data in blocks already, from MPI or from ScaLAPACK, hands them over and takes
 * them back like this, and no node needs room for the whole.
 *
 * Nodes form a grid with as many dimensions as the buffer. Node (i, j, k) of it has the number
 * (i * grid[1] + j) * grid[2] + k. Nodes beyond the grid own nothing.
 *
 *     block distribution                      cyclic distribution, as ScaLAPACK has it
 *     one box for each node, as even as       blocks of .block elements are dealt out in turn, in
 *     a task's split                          every dimension
 *
 *     grid 2 x 2    0 0 0 1 1 1               grid 2 x 2     0 1 0 1 0 1
 *                   0 0 0 1 1 1               blocks 1 x 1   2 3 2 3 2 3
 *                   2 2 2 3 3 3                              0 1 0 1 0 1
 *                   2 2 2 3 3 3                              2 3 2 3 2 3
 *
 * A node's *local array* is a dense row-major array of its blocks in order, without gaps: for a
 * block distribution its box, for a cyclic one what ScaLAPACK stores (by rows). */

/* The kind of a distribution. */
enum {
    TACIT_DISTRIBUTE_BLOCK = 0, /* the default */
    TACIT_DISTRIBUTE_CYCLIC     /* block-cyclic */
};

/* Zero: a block distribution over all nodes along dimension 0, which is where a task's 1D split
 * leaves what item i writes to element i. */
typedef struct tacit_distribution {
    /* How blocks are dealt out. */
    int kind; /* TACIT_DISTRIBUTE_BLOCK or TACIT_DISTRIBUTE_CYCLIC */
    /* Nodes along each dimension of the buffer: at least 1 for each, and no more than there are
     * nodes in all. */
    int grid[TACIT_MAX_DIMS]; /* all 0: all nodes along dimension 0 */
    /* Cyclic: the size of a block; there may be at most 2^24 blocks. Block: borders between nodes
     * are multiples of it. */
    size_t block[TACIT_MAX_DIMS]; /* in elements; 0 is 1 */
} tacit_distribution;

/* A node's own part of a buffer of this range.
 *
 *   distribution  NULL: the default one
 *   range         of the buffer, which need not exist
 *   node          0 to tacit_num_nodes - 1
 *   box           gets the smallest box around the part; empty if the node owns nothing. May be NULL.
 *   local         gets the extent of the node's local array; sizes of 0 if it owns nothing. May be
 *                 NULL. It has the bytes local.size[0] * local.size[1] * local.size[2] * elem_size.
 *
 *   errors  TACIT_ERROR_ARGUMENT   ctx is NULL, or there is no such kind
 *           TACIT_ERROR_DIMENSION  the range has more than 3 dimensions, or the grid too few or too many
 *           TACIT_ERROR_RANGE      a size of 0 or beyond the limits, a grid with more nodes than the
 *                                  run or than there are blocks, too many blocks, no such node
 *           TACIT_ERROR_STATE      the context is none
 *   thread  the context's
 *   nodes   any */
TACIT_API tacit_status tacit_distribution_local(tacit_context *ctx, const tacit_distribution *distribution,
                                                tacit_range range, int node, tacit_box *box, tacit_range *local);

/* The node that owns element (i, j, k) of a buffer of this range. Indices of dimensions that it does
 * not have are 0.
 *
 *   node    gets the number; not NULL
 *
 *   errors  those of tacit_distribution_local; TACIT_ERROR_RANGE also for an index outside
 *   thread  the context's
 *   nodes   any */
TACIT_API tacit_status tacit_distribution_owner(tacit_context *ctx, const tacit_distribution *distribution,
                                                tacit_range range, size_t i, size_t j, size_t k, int *node);

/* =================================================================================== buffers */

/* The description of a buffer. Zero means default; .elem_size is needed.
 *
 *     tacit_buffer *A;
 *     const tacit_buffer_desc desc = { .name = "A", .range = TACIT_RANGE(rows, columns),
 *                                      .elem_size = sizeof(double) };
 *     tacit_status status = tacit_buffer_create(ctx, &desc, &A); */
typedef struct tacit_buffer_desc {
    /* For messages and graphs; the same on all nodes. */
    const char *name; /* copied; NULL: B and a number */
    /* The extent. */
    tacit_range range; /* in elements; dims 0: a single one */
    /* The size of one element: .elem_size = sizeof(double). */
    size_t elem_size; /* in bytes, at least 1 */
    /* The contents of the whole buffer, row-major and packed; the same bytes on all nodes, each of
     * which keeps all of them. */
    const void *init; /* NULL: undefined, to be written by tasks */
    /* .init or .init_local stays valid and unchanged until tacit_finalize, so tacit_buffer_create
     * need not wait until it is copied. */
    bool init_borrow; /* default: false */
    /* Who owns what; see above. */
    tacit_distribution distribution; /* default: blocks along dimension 0 */
    /* Instead of .init: the contents of this node's own part, its local array. On all nodes or on
     * none; a node that owns nothing gives any address but NULL. */
    const void *init_local; /* row-major and packed */
} tacit_buffer_desc;

/* Create a buffer.
 *
 *   desc   may go out of scope when the call returns, with all that it points to, unless
 *          .init_borrow says otherwise. With .init or .init_local the call waits until this node has
 *          copied them; without, it returns at once.
 *   out    gets the handle, which belongs to the context: it ends with tacit_buffer_destroy or
 *          tacit_finalize
 *
 *   errors  TACIT_ERROR_ARGUMENT   desc or out is NULL, .elem_size is 0, .init and .init_local are
 *                                  both given, or there is no such kind of distribution
 *           TACIT_ERROR_DIMENSION  more than 3 dimensions, or a grid with other ones
 *           TACIT_ERROR_RANGE      a size of 0, more than 2^46 elements in a dimension or 2^62
 *                                  bytes; a distribution that does not fit
 *           TACIT_ERROR_STATE      the context is none
 *           the error of the run   also TACIT_ERROR_MEMORY, if there is no room for .init
 *   thread  the context's
 *   nodes   all, in the same order
 *
 * Programs call tacit_buffer_create. (The exported function also takes the size of the struct, so
 * that the struct can grow.) */
TACIT_API tacit_status tacit_buffer_create_sized(tacit_context *ctx, const tacit_buffer_desc *desc, size_t size,
                                                 tacit_buffer **out);
static inline tacit_status tacit_buffer_create(tacit_context *ctx, const tacit_buffer_desc *desc, tacit_buffer **out)
{
    return tacit_buffer_create_sized(ctx, desc, sizeof(tacit_buffer_desc), out);
}

/* Destroy a buffer. The handle is invalid at once; tasks that were submitted before still use it, and
 * its memory is freed when they are done. Nothing is waited for. NULL is allowed, and does nothing.
 * Buffers that are left are destroyed by tacit_finalize.
 *
 *   errors  TACIT_ERROR_ARGUMENT  the context is NULL
 *           TACIT_ERROR_STATE     the buffer is destroyed already, of another context, or none; the
 *                                 context is none
 *   thread  the context's
 *   nodes   all, in the same order as other calls */
TACIT_API tacit_status tacit_buffer_destroy(tacit_context *ctx, tacit_buffer *buffer);

/* Give a buffer another extent. What both extents have keeps its contents, as far as somebody has written it;
 * the rest is undefined, to be written by tasks. Nothing is waited for: the call is ordered with tasks as a
 * task is that reads the old contents and writes the new ones. Tasks and fences that were submitted before see
 * the old extent, those that are submitted after it the new one.
 *
 *     tacit_fence_read(ctx, total, TACIT_BOX_ALL, &n);
 *     tacit_buffer_resize(ctx, result, TACIT_RANGE(n));
 *
 * Contents are copied in memory, by tasks named "resize" that are split along dimension 0: until they are done, a
 * node has both. Where nobody has written anything, nothing is copied. An equal extent changes nothing.
 *
 *   range   with as many dimensions as the buffer has
 *
 *   errors  TACIT_ERROR_ARGUMENT   ctx or buffer is NULL
 *           TACIT_ERROR_DIMENSION  the buffer has other dimensions
 *           TACIT_ERROR_RANGE      a size of 0, or one beyond the limits of tacit_buffer_create; a
 *                                  distribution that does not fit any more
 *           TACIT_ERROR_STATE      the context or the buffer is none, destroyed, or of another context
 *           the error of the run
 *   thread  the context's
 *   nodes   all, in the same order as other calls, with the same range */
TACIT_API tacit_status tacit_buffer_resize(tacit_context *ctx, tacit_buffer *buffer, tacit_range range);

/* Set all elements to one value: a task named "fill", which every node does for what it owns
 * (.distribution), ordered with other tasks by what they access. Old contents are neither read nor
 * moved. Returns at once.
 *
 *     const double zero = 0;
 *     tacit_fill(ctx, A, &zero);
 *
 *   value   one element: elem_size bytes, copied before the call returns; the same on all nodes, which
 *           do not compare it
 *
 *   errors  TACIT_ERROR_ARGUMENT  ctx, buffer or value is NULL
 *           TACIT_ERROR_STATE     the context or the buffer is none, destroyed, or of another context
 *           the error of the run
 *   thread  the context's
 *   nodes   all, in the same order as other calls */
TACIT_API tacit_status tacit_fill(tacit_context *ctx, tacit_buffer *buffer, const void *value);

/* ==================================================================================== fences
 *
 * A fence takes contents out of a buffer: those that all tasks submitted before have left. All nodes
 * get the same values, so a program may decide by them how it goes on:
 *
 *     do {
 *         submit_sweep();
 *         tacit_fence_read(ctx, residual, TACIT_BOX_ALL, &r);
 *     } while (r > tolerance);
 *
 * Every node gets all of the box, which is what a small result needs. A large one is better read
 * by tacit_fence_local, or by a host task that writes it to a file. What a fence reads must have
 * been written, or it is refused. In a dry run fences give zeros. */

/* Wait for the newest contents of a part of a buffer, and copy them.
 *
 *   box   not empty, in the buffer; TACIT_BOX_ALL for all of it
 *   dst   gets the elements of the box, row-major and packed: volume * elem_size bytes. Undefined
 *         after an error of the run.
 *
 *   errors  TACIT_ERROR_ARGUMENT       ctx, buffer or dst is NULL
 *           TACIT_ERROR_RANGE          the box is empty or leaves the buffer
 *           TACIT_ERROR_UNINITIALIZED  somewhere in the box nobody has written
 *           TACIT_ERROR_STATE          the context or the buffer is none, or destroyed
 *           the error of the run
 *   thread  the context's
 *   nodes   all, in the same order, with the same box */
TACIT_API tacit_status tacit_fence_read(tacit_context *ctx, tacit_buffer *buffer, tacit_box box, void *dst);

/* Wait for the newest contents of this node's own part, and copy them to its local array. Nobody
 * gets a copy of the whole.
 *
 *   dst   gets the part, packed as tacit_distribution_local says; NULL on a node that owns nothing
 *
 *   errors  those of tacit_fence_read but TACIT_ERROR_RANGE; all parts of the buffer must have been
 *           written, also those of other nodes
 *   thread  the context's
 *   nodes   all, in the same order */
TACIT_API tacit_status tacit_fence_local(tacit_context *ctx, tacit_buffer *buffer, void *dst);

/* Ask for contents without waiting. The values are those of the moment of this call, whatever tasks
 * are submitted before they are looked at.
 *
 *     tacit_fence(ctx, residual, TACIT_BOX_ALL, &ticket);
 *     submit_next_sweep();
 *     tacit_fence_get(ticket, &data);
 *     ... *(const double *)data ...
 *     tacit_fence_release(ticket);
 *
 *   out   gets the ticket, which the program releases by tacit_fence_release
 *
 *   errors  those of tacit_fence_read, and TACIT_ERROR_MEMORY if there is no room for the values
 *   thread  the context's
 *   nodes   all, in the same order, with the same box */
TACIT_API tacit_status tacit_fence(tacit_context *ctx, tacit_buffer *buffer, tacit_box box, tacit_fence_ticket **out);

/* Wait for the values of a fence. May be called again.
 *
 *   data   gets the address of the values, row-major and packed, which tacit owns: they are valid
 *          until tacit_fence_release, also after the buffer is destroyed
 *
 *   errors  TACIT_ERROR_ARGUMENT  ticket or data is NULL
 *           TACIT_ERROR_STATE     the ticket is released, or its context finalized
 *           the error of the run
 *           (the sentence of the first two is that of tacit_last_error(NULL))
 *   thread  the context's
 *   nodes   any: nodes may ask for tickets in different orders */
TACIT_API tacit_status tacit_fence_get(tacit_fence_ticket *ticket, const void **data);

/* Give up a ticket and its values. Waits until they are there, if nobody has. NULL is allowed. May be
 * called after tacit_finalize, which leaves tickets alone. A ticket that is released already is
 * reported on stderr.
 *
 *   thread  the context's
 *   nodes   any */
TACIT_API void tacit_fence_release(tacit_fence_ticket *ticket);

TACIT_C_END_
#endif
