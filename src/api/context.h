/* A context: what the public handles stand for. Application thread.
 *
 * Who calls whom in this folder: a file calls only those that stand before it here, never in a circle
 * (tools/lint/circles).
 *   enter                          whether a call may go on, and the sentence if not
 *   description, tile, view, mpi, layer
 *   check_overlap, shapes
 *   mapper, object, weights, op    what tasks name, besides buffers
 *   owners                         distributions as accesses of tasks
 *   admit, check_task              the checks of a new task
 *   buffer, fence, submit
 *   prepare                        what submit is told again
 *   context                        the beginning, waiting, and the end
 *   group, object_fence            which wait by the public functions */
#ifndef TI_CONTEXT_H
#define TI_CONTEXT_H

#include "api/passes.h"
#include "base/handle.h"
#include "base/strbuf.h"
#include "run/runtime.h"

#include <pthread.h>
#include <stdatomic.h>

/* Most items, elements, offsets and halos per dimension, as a power of two: with them sums and scaled indices fit
 * int64_t. */
enum { TI_MAX_ITEMS_BITS = 46 };

typedef struct ti_owners ti_owners; /* owners.c */

struct tacit_buffer {
    ti_buffer_info *info;      /* as it is now: tacit_buffer_resize makes another one */
    tacit_distribution *given; /* who owns what, as the program said it; NULL: nothing */
    tacit_context *context;
    struct tacit_buffer *next; /* among the live ones, or among the retired ones */
    struct tacit_buffer **link;
    uint64_t destroyed_by; /* id of the task; 0: live */
    ti_owners *owners;     /* of a cyclic distribution, from when it is first needed on */
};

struct tacit_host_object {
    tacit_context *context;
    uint32_t order; /* its slot in the planners */
    bool live;
    struct tacit_host_object *next; /* among the retired or the destroyed ones */
    tacit_host_object_desc desc;
    uint64_t destroyed_by; /* the last task that may use the contents */
    ti_signal fenced;      /* by its latest fence */
};

struct tacit_collective_group {
    tacit_context *context;
    int number; /* from 1 on */
    bool live;
};

struct tacit_weights {
    tacit_context *context;
    ti_weights values;
    uint64_t uses;         /* creations without their destruction; 0: destroyed */
    uint64_t destroyed_by; /* then: the last task that may use it */
    struct tacit_weights *next;
};

struct tacit_fence_ticket {
    tacit_context *context;
    uint64_t serial; /* of the context, which may be finalized before the ticket is released */
    uint64_t number; /* which one of the context's fences it is; 0: its values have been got */
    ti_signal signal;
    void *memory;
    size_t bytes;
};

/* Who owns what. */
static inline ti_distribution ti_buffer_distribution(const tacit_buffer *buffer)
{
    static const tacit_distribution none;
    return ti_distribution_make(buffer->given ? buffer->given : &none, &buffer->info->extent,
                                tacit_num_nodes(buffer->context));
}

typedef struct ti_shapes ti_shapes;

/* A mapper or an operator that the program has destroyed, and whose tasks may not be executed yet. */
typedef struct ti_retired {
    ti_custom_mapper *mapper; /* or NULL */
    ti_user_op *op;           /* likewise */
    uint64_t task;            /* the last one that may use it */
} ti_retired;

/* What a layer keeps with a context (tacit/layer.h). */
typedef struct ti_attachment {
    const void *key;
    void *value;
    void (*end)(void *value);
} ti_attachment;

struct tacit_context {
    ti_runtime *runtime;
    tacit_config config; /* with strings of its own */
    ti_strbuf error;
    ti_lock erring;               /* two threads that use one context, which is found, both write the sentence */
    tacit_buffer *live, *retired; /* retired: destroyed by the program, and their tasks may not be executed yet */
    TI_VEC(uint32_t) free_slots;
    uint32_t slots;
    uint64_t buffers; /* created so far */
    TI_VEC(ti_custom_mapper *) mappers;
    TI_VEC(ti_user_op *) ops;
    uint64_t entered; /* a dry run: when the last call was; then UINT64_MAX: nothing more to say */
    TI_VEC(ti_retired) retired_functions;
    ti_shapes *shapes;                       /* of tasks that have been submitted before */
    tacit_task *fence;                       /* the latest one of a box, described as a task; all else of it is 0 */
    tacit_weights *weights;                  /* and those that are destroyed, and whose tasks may not be executed yet */
    TI_VEC(tacit_host_object *) objects;     /* all that were made */
    tacit_host_object *destroyed_objects;    /* to be used again */
    tacit_host_object *retired_objects;      /* destroyed by the program, and their tasks may use the contents */
    TI_VEC(tacit_collective_group *) groups; /* by number - 1 */
    TI_VEC(ti_attachment) attachments;
    tacit_prepared *prepared;                         /* all that live */
    ti_passes passes;                                 /* of the program's loop */
    ti_owners *owners, *unused_owners, *ended_owners; /* that buffers use, or used; ended: addresses only */
    ti_failure *failure;                              /* the runtime's */
    bool is_plain;                                    /* any thread may use it, and it is no dry run */
    bool one_thread;                                  /* only `thread` may use it, which created it */
    pthread_t thread;
    const char *thread_level;
    bool reproducible;
    atomic_bool stopping;     /* a kernel has used a view wrongly, and its thread ends the process */
    _Atomic bool told_kernel; /* that a kernel called tacit was printed */
};

/* A context on a network of the caller's, which is the runtime's from now on: tests, and benchmarks of planning. */
tacit_status ti_context_create(const tacit_config *config, ti_comm *comm, tacit_context **out);

/* Free a context whose tasks went elsewhere (ti_runtime_divert): nothing is waited for. */
void ti_context_discard(tacit_context *ctx);

/* Whether `ctx`, which may be anything, is a context, and none of its kernels makes this call. If not, the sentence is
 * kept where tacit_last_error finds it. `who` is the call. */
tacit_status ti_check_context(tacit_context *ctx, const char *who);
/* The same for calls that kernels may make. */
tacit_status ti_check_handle(const tacit_context *ctx, const char *who);
/* The same of a buffer of this context that is not destroyed. `who` begins the sentence. */
tacit_status ti_check_buffer(tacit_context *ctx, const char *who, const tacit_buffer *buffer);

static inline bool ti_buffer_is_usable(const tacit_context *ctx, const tacit_buffer *buffer)
{
    return buffer && ti_handle_is_live(TI_HANDLE_BUFFER, buffer) && buffer->context == ctx && !buffer->destroyed_by;
}

/* The same of weights of items. */
tacit_status ti_check_weights(tacit_context *ctx, const char *who, const tacit_weights *weights);
/* Free those that are destroyed, and whose tasks have been executed; all of them: the runtime is gone. */
void ti_free_retired_weights(tacit_context *ctx);
void ti_free_all_weights(tacit_context *ctx);
/* A copy of the weights of nodes that TACIT_BALANCE gives tasks now; NULL: all alike. */
const uint32_t *ti_shares_of_nodes(const tacit_context *ctx, ti_arena *arena);

/* Store a sentence where there is no context, and return the status. */
tacit_status ti_no_context(tacit_status status, const char *format, ...) TI_PRINTF(2, 3);

/* Store a sentence about an error of the caller and return the status. */
tacit_status ti_context_error(tacit_context *ctx, tacit_status status, const char *format, ...) TI_PRINTF(3, 4);

/* Whether MPI may be called from this thread: nearly all calls lead there. */
tacit_status ti_context_check_thread(tacit_context *ctx);

/* Store a sentence about memory of a size that the user chose. Other nodes may have had theirs, and go on: the job of
 * several nodes ends. */
tacit_status ti_context_no_memory(tacit_context *ctx, const char *format, ...) TI_PRINTF(2, 3);

/* TACIT_OK, or the error of the run so far. Clears the sentence of the last call. */
tacit_status ti_context_enter(tacit_context *ctx);

/* A call begins: ti_check_context, then ti_context_enter. Nearly always there is nothing to be found. */
tacit_status ti_context_begin_closely(tacit_context *ctx, const char *who);
static inline tacit_status ti_context_begin(tacit_context *ctx, const char *who)
{
    const bool is_plain = ti_handle_is_newest(TI_HANDLE_CONTEXT, ctx) && ctx->is_plain && !ti_failure_kernel &&
                          !ctx->error.length && ti_failure_get(ctx->failure) == TACIT_OK;
    return TI_LIKELY(is_plain) ? TACIT_OK : ti_context_begin_closely(ctx, who);
}

/* Whether what tasks of a new shape, which has footprints, read has been written, and their chunks write apart. */
tacit_status ti_context_check(tacit_context *ctx, const ti_shape *shape);

/* Whether accesses to views have been checked in this process: true at most once. */
bool ti_view_checks_are_news(void);

/* From now on a kernel that calls exit ends the job with a sentence. */
void ti_view_watch_exit(void);

/* Say once if the program of a dry run computes for long after a fence: it may wait for a result that never comes. */
void ti_context_notice_host_work(tacit_context *ctx);

/* Keep a custom mapper, and `user`, which ti_alloc gave: its handle. */
int ti_context_add_mapper(tacit_context *ctx, tacit_mapper_fn *fn, void *user, size_t user_size, unsigned properties);

/* The program has destroyed one of them: it goes when its tasks have been executed. */
void ti_retire_function(tacit_context *ctx, ti_custom_mapper *mapper, ti_user_op *op);
void ti_free_retired_functions(tacit_context *ctx);
void ti_free_all_functions(tacit_context *ctx); /* the runtime is gone */

/* Whether the program may name the host object. `who` begins the sentence. */
tacit_status ti_check_object(tacit_context *ctx, const char *who, const tacit_host_object *object);
/* Contents of host objects that the program has destroyed, whose tasks come before this one, which is executed. */
void ti_free_retired_objects(tacit_context *ctx, uint64_t executed);
void ti_free_all_objects(tacit_context *ctx); /* the runtime is gone */

/* What tacit_submit does when the call may go on: the shape of the task, unless it has none, or needs none. `returns`:
 * it will come again. */
tacit_status ti_submit(tacit_context *ctx, const tacit_task *task, bool returns, const ti_shape **shape);
/* A task of a shape that the table knows. */
void ti_submit_again(tacit_context *ctx, const ti_shape *shape, const void *args);
/* Whether the description is good, whatever has been written. */
tacit_status ti_submit_check(tacit_context *ctx, const tacit_task *task);
void ti_free_all_prepared(tacit_context *ctx);

/* The extent of a range as a box; an error if it is empty or too large to count the bytes of its elements. `who` begins
 * the sentence. */
tacit_status ti_check_extent(tacit_context *ctx, const char *who, tacit_range range, size_t elem_size, ti_box *out);

/* Free the retired buffers whose destruction has been executed. */
void ti_free_retired_buffers(tacit_context *ctx);
/* Free all buffers: the runtime is gone. */
void ti_free_all_buffers(tacit_context *ctx);

/* What layers keep goes: the runtime is gone. */
void ti_free_attachments(tacit_context *ctx);

#define TI_TRY(call)                                                                                                   \
    do {                                                                                                               \
        tacit_status ti_status_ = (call);                                                                              \
        if (ti_status_ != TACIT_OK) {                                                                                  \
            return ti_status_;                                                                                         \
        }                                                                                                              \
    } while (0)

#endif
