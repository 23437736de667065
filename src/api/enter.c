/* What all other files of this folder call first: whether a call may go on, and the sentence if not (see context.h).
 * Also questions about a context, which need no more. Application thread. */
#include "api/context.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

enum { MAX_BYTES_BITS = 62 };
#define LONG_HOST_WORK_NS 10000000000u

/* The sentence about a failed tacit_init, a call with a context that is none, or a call inside a kernel, while the
 * context may be in use: there is nothing else to keep it. One per thread. */
static _Thread_local char lost_error[512];

static bool is_context(const tacit_context *ctx)
{
    return TI_LIKELY(ctx != NULL) && ti_handle_is_live(TI_HANDLE_CONTEXT, ctx);
}

tacit_status ti_no_context(tacit_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(lost_error, sizeof(lost_error), format, args);
    va_end(args);
    return status;
}

static bool is_in_kernel(const tacit_context *ctx)
{
    return TI_UNLIKELY(ti_failure_kernel != NULL) && ti_failure_kernel->context == ctx;
}

/* Also printed once, since few kernels look at a status. */
static tacit_status refuse_in_kernel(tacit_context *ctx, const char *who)
{
    ti_no_context(TACIT_ERROR_STATE,
                  "%s: the kernel of task '%s' calls it, but kernels must not call tacit; call it where tasks are "
                  "submitted, and give the kernel what it needs by accesses and arguments",
                  who, ti_failure_kernel->name);
    if (!atomic_exchange(&ctx->told_kernel, true)) {
        ti_log(TI_LOG_ERROR, "%s", lost_error);
    }
    return TACIT_ERROR_STATE;
}

tacit_status ti_check_context(tacit_context *ctx, const char *who)
{
    tacit_status status = ti_check_handle(ctx, who);
    return status == TACIT_OK && is_in_kernel(ctx) ? refuse_in_kernel(ctx, who) : status;
}

tacit_status ti_check_handle(const tacit_context *ctx, const char *who)
{
    if (TI_LIKELY(is_context(ctx))) {
        return TACIT_OK;
    }
    if (!ctx) {
        return ti_no_context(TACIT_ERROR_ARGUMENT, "%s: the context is NULL; pass the one that tacit_init gave", who);
    }
    return ti_no_context(TACIT_ERROR_STATE, "%s: the context is finalized, or is not one that tacit_init gave", who);
}

tacit_status ti_context_error(tacit_context *ctx, tacit_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ti_lock_take(&ctx->erring);
    ti_strbuf_clear(&ctx->error);
    ti_strbuf_vadd(&ctx->error, format, args);
    ti_lock_drop(&ctx->erring);
    va_end(args);
    return status;
}

tacit_status ti_context_check_thread(tacit_context *ctx)
{
    if (TI_LIKELY(!ctx->one_thread) || pthread_equal(ctx->thread, pthread_self())) {
        return TACIT_OK;
    }
    return ti_context_error(ctx, TACIT_ERROR_STATE,
                            "only the thread that created this context may use it, since MPI was initialised with %s; "
                            "call tacit there, or initialise MPI with MPI_THREAD_MULTIPLE",
                            ctx->thread_level);
}

tacit_status ti_context_no_memory(tacit_context *ctx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ti_strbuf_clear(&ctx->error);
    ti_strbuf_vadd(&ctx->error, format, args);
    va_end(args);
    if (tacit_num_nodes(ctx) > 1) {
        ti_runtime_fail(ctx->runtime, TACIT_ERROR_MEMORY, "%s", ti_strbuf_text(&ctx->error));
        ti_runtime_wait_points(ctx->runtime);
    }
    return TACIT_ERROR_MEMORY;
}

void ti_context_notice_host_work(tacit_context *ctx)
{
    if (ctx->entered == UINT64_MAX) {
        return;
    }
    uint64_t now = ti_clock_ns();
    if (ctx->entered && now - ctx->entered > LONG_HOST_WORK_NS && ti_runtime_has_fenced(ctx->runtime)) {
        ti_log(TI_LOG_WARNING,
               "this is a dry run, whose fences give zeros, and the program has worked for %d s outside of tacit since "
               "the last call; leave such work out if tacit_is_dry_run",
               (int)((now - ctx->entered) / 1000000000u));
        now = UINT64_MAX;
    }
    ctx->entered = now;
}

tacit_status ti_context_enter(tacit_context *ctx)
{
    TI_TRY(ti_context_check_thread(ctx));
    ti_failure *failure = ti_runtime_failure(ctx->runtime);
    tacit_status status = ti_failure_get(failure);
    if (status != TACIT_OK) {
        return ti_context_error(ctx, status, "%s", failure->text);
    }
    if (TI_UNLIKELY(ctx->error.length)) {
        ti_lock_take(&ctx->erring);
        ti_strbuf_clear(&ctx->error);
        ti_lock_drop(&ctx->erring);
    }
    if (TI_UNLIKELY(ti_runtime_dry(ctx->runtime) != NULL)) {
        ti_context_notice_host_work(ctx);
    }
    return TACIT_OK;
}

tacit_status ti_context_begin_closely(tacit_context *ctx, const char *who)
{
    TI_TRY(ti_check_context(ctx, who));
    return ti_context_enter(ctx);
}

const char *tacit_last_error(const tacit_context *ctx)
{
    return is_context(ctx) && !is_in_kernel(ctx) ? ti_strbuf_text(&ctx->error) : lost_error;
}

const char *tacit_status_name(tacit_status status)
{
    switch (status) {
#define NAME(name, value, text)                                                                                        \
    case name:                                                                                                         \
        return #name;
        TACIT_STATUS_LIST(NAME)
#undef NAME
    }
    return "TACIT_ERROR_UNKNOWN";
}

/* ---- handles and sizes */

tacit_status ti_check_buffer(tacit_context *ctx, const char *who, const tacit_buffer *buffer)
{
    if (TI_LIKELY(ti_buffer_is_usable(ctx, buffer))) {
        return TACIT_OK;
    }
    if (!buffer) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "%s: the buffer is NULL; create it with tacit_buffer_create",
                                who);
    }
    if (!ti_handle_is_live(TI_HANDLE_BUFFER, buffer)) {
        return ti_context_error(
            ctx, TACIT_ERROR_STATE,
            "%s: the buffer was destroyed some time ago, also by tacit_finalize, or is not one that "
            "tacit_buffer_create gave",
            who);
    }
    if (buffer->context != ctx) {
        return ti_context_error(ctx, TACIT_ERROR_STATE, "%s: buffer '%s' belongs to another context; create one here",
                                who, buffer->info->name);
    }
    return ti_context_error(ctx, TACIT_ERROR_STATE,
                            "%s: buffer '%s' is destroyed already; destroy it after the last call that names it", who,
                            buffer->info->name);
}

tacit_status ti_check_extent(tacit_context *ctx, const char *who, tacit_range range, size_t elem_size, ti_box *out)
{
    *out = (ti_box){ { 0, 0, 0 }, { 1, 1, 1 } };
    if (range.dims < 0 || range.dims > TACIT_MAX_DIMS) {
        return ti_context_error(ctx, TACIT_ERROR_DIMENSION, "%s has %d dimensions; use 0 to 3", who, range.dims);
    }
    size_t bytes = elem_size;
    bool overflow = false;
    for (int d = 0; d < range.dims; d++) {
        if (range.size[d] == 0) {
            return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                    "%s has size 0 in dimension %d; every dimension needs at least 1", who, d);
        }
        if (range.size[d] > (size_t)1 << TI_MAX_ITEMS_BITS) {
            return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                    "%s has more than 2^%d elements in dimension %d; check the sizes of its range", who,
                                    TI_MAX_ITEMS_BITS, d);
        }
        overflow |= __builtin_mul_overflow(bytes, range.size[d], &bytes);
        out->max[d] = (int64_t)range.size[d];
    }
    if (overflow || bytes > (size_t)1 << MAX_BYTES_BITS) {
        return ti_context_error(ctx, TACIT_ERROR_RANGE, "%s is larger than 2^%d bytes; check the sizes of its range",
                                who, MAX_BYTES_BITS);
    }
    return TACIT_OK;
}

/* ---- questions */

int tacit_node(const tacit_context *ctx)
{
    return is_context(ctx) ? ti_runtime_system(ctx->runtime)->node : -1;
}

int tacit_num_nodes(const tacit_context *ctx)
{
    return is_context(ctx) ? ti_runtime_system(ctx->runtime)->num_nodes : -1;
}

int tacit_workers(const tacit_context *ctx)
{
    if (!is_context(ctx)) {
        return -1;
    }
    const ti_system *system = ti_runtime_system(ctx->runtime);
    return ti_system_hosts(system) * system->workers;
}

bool tacit_is_dry_run(const tacit_context *ctx)
{
    return is_context(ctx) && ti_dry_run_is_known(ti_runtime_dry(ctx->runtime));
}

tacit_status tacit_get_counters(tacit_context *ctx, tacit_counters *out)
{
    TI_TRY(ti_check_context(ctx, "tacit_get_counters"));
    if (!out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_get_counters: out is NULL");
    }
    ti_runtime_counters(ctx->runtime, out);
    return TACIT_OK;
}
