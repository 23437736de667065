/* tacit/base.h: what every other header of tacit needs: the export macro, statuses, handles.
 *
 * Programs include <tacit/tacit.h>, which has all of it and explains the model. */
#ifndef TACIT_BASE_H
#define TACIT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TACIT_API marks a function that the library exports. A program may define TACIT_STATIC_DEFINE
 * before the first include, to do without the attribute. */
#if defined(TACIT_STATIC_DEFINE)
#define TACIT_API
#else
#define TACIT_API __attribute__((visibility("default")))
#endif

/* Around the declarations of each header: they have C linkage, also in C++. Names that end in an
 * underscore are the headers' own; programs do not use them. */
#ifdef __cplusplus
#define TACIT_C_BEGIN_ extern "C" {
#define TACIT_C_END_ }
#else
#define TACIT_C_BEGIN_
#define TACIT_C_END_
#endif

TACIT_C_BEGIN_

/* ==================================================================================== status
 *
 * Nearly every call returns a status: TACIT_OK, which is 0, or a negative value. The status says
 * which kind of mistake it is, for code; the sentence that tacit_last_error gives says which task,
 * which buffer, which box, and what to do, for people. doc/errors.md explains every sentence.
 *
 * There are three situations:
 *
 *   A mistake in the call. The call is refused: it returns the status, and changes nothing. The
 *   program may go on. These mistakes are the same on all nodes, if all nodes make the same calls,
 *   so all nodes are refused alike.
 *
 *   Memory whose size the program chose (a fence, the bytes of a mapper or operator). On one node
 *   the call is refused like any other. On several nodes the job ends, since the other nodes may
 *   have had the memory and would wait for this one.
 *
 *   The run fails later: a kernel, the network, memory for a buffer, nodes that diverge. The first
 *   such error is printed once on stderr, and the job ends on all nodes. Every later call returns
 *   its status and its sentence, but for those that destroy something or only ask. */

/* All statuses: X(name, value, meaning). A program may expand the list for tables of its own:
 *
 *     #define CASE(name, value, meaning) case name: return meaning;
 *     switch (status) { TACIT_STATUS_LIST(CASE) }
 *
 * What each of them usually comes from, and the cure:
 *
 *   ARGUMENT       A NULL, a field that was left out, a number that means nothing. Initialise
 *                  descriptions with designated initialisers.
 *   DIMENSION      Task and buffer do not have the dimensions that a mapper needs: use
 *                  tacit_components.
 *   RANGE          The task is larger than its buffer, or has an offset; or a negative number has
 *                  become a size_t. Halos and shifts may leave a buffer; items may not.
 *   MAPPER         A mapper that cannot write: write each item's own element, read with the halo.
 *   UNINITIALIZED  The first task wrote less than the second reads, often without the border. Give
 *                  the buffer .init, or write all of it first; tacit_update needs old contents,
 *                  tacit_write does not.
 *   OVERLAP        A sum that should be a reduction, or a stencil in one buffer that needs two.
 *   STATE          A handle that is used after its end, or MPI that is not up.
 *   CONFIG         A misspelled TACIT_... variable: the sentence has the nearest name.
 *   MEMORY         More nodes, smaller parts, or a higher TACIT_MEMORY_LIMIT: the table on stderr
 *                  says what takes most.
 *   UNSUPPORTED    No thread to be had, a build without MPI, a kernel for devices that are not there.
 *   NETWORK        What MPI says of itself. Often another node ended: its own last words say why.
 *   KERNEL         tacit_kernel_fail, with the program's own words; or TACIT_BOUNDS_CHECK=1 found
 *                  something.
 *   DIVERGENCE     A branch around a call that nodes take differently: look for what depends on the
 *                  number of the node, on time, on random numbers or on files. */
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

/* The name of a status, such as "TACIT_ERROR_RANGE"; "TACIT_ERROR_UNKNOWN" for a number that is
 * none. Never NULL.
 *
 *   owner   the string is a constant of the library
 *   thread  any
 *   nodes   any */
TACIT_API const char *tacit_status_name(tacit_status status);

/* =================================================================================== handles
 *
 * What tacit creates is known to the program by a pointer to an opaque struct. A handle belongs to
 * one context and ends with it at the latest. It is not the same number on all nodes.
 *
 * Handles are checked. A call with a context that is finalized, a buffer that is destroyed, a
 * ticket that is released, a handle of another context, or garbage in their place returns
 * TACIT_ERROR_STATE and reads no memory that is not there. A stale handle is recognised until 1024
 * others of its kind have been given up after it; then its place may be used again. (The place of a
 * host object is used again by the next one that the context creates.) */

/* A running tacit on this node: tacit/context.h. */
typedef struct tacit_context tacit_context;

/* A virtual array that all nodes share: tacit/buffer.h. */
typedef struct tacit_buffer tacit_buffer;

/* A fence whose values may not be there yet: tacit/buffer.h. */
typedef struct tacit_fence_ticket tacit_fence_ticket;

/* Something outside tacit that host tasks use, such as a file or a library: tacit/task.h. */
typedef struct tacit_host_object tacit_host_object;

/* Collective host tasks that follow each other, and overlap with those of other groups: tacit/task.h. */
typedef struct tacit_collective_group tacit_collective_group;

/* Weights of items, which a task can be split by: tacit/task.h. */
typedef struct tacit_weights tacit_weights;

/* A description of a task that is kept, to be submitted often: tacit/task.h. */
typedef struct tacit_prepared tacit_prepared;

/* Where a custom mapper puts its result. It exists during the call of the mapper: tacit/mapper.h. */
typedef struct tacit_region tacit_region;

TACIT_C_END_
#endif
