/* Contexts: start, finish, questions about the run. Application thread. */
#include "api/check_overlap.h"
#include "api/recall.h"
#include "base/config.h"
#include "base/log.h"
#include "run/dry_run.h"

#include <stdio.h>

enum { ERROR_TEXT = 1024 }; /* bytes that are there when memory has run out */

/* The sentence about a failed tacit_init, or a call with a context that is none: there is nothing else to keep it. One per thread. */
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

tacit_status ti_check_context(const tacit_context *ctx, const char *who)
{
    if (TI_LIKELY(is_context(ctx))) {
        return TACIT_OK;
    }
    if (!ctx) {
        return ti_no_context(TACIT_ERROR_ARGUMENT, "%s: the context is NULL; pass the one that tacit_init gave", who);
    }
    return ti_no_context(TACIT_ERROR_STATE, "%s: the context is finalized, or is not one that tacit_init gave", who);
}

static tacit_status init_failed(tacit_status status, const char *text)
{
    return ti_no_context(status, "%s", text);
}

tacit_status ti_context_create(const tacit_config *config, ti_comm *comm, tacit_context **out)
{
    ti_strbuf why = { 0 };
    tacit_status status = TACIT_OK;
    tacit_context *ctx = TI_HANDLE_NEW(tacit_context, TI_HANDLE_CONTEXT);
    ti_strbuf_reserve(&ctx->error, ERROR_TEXT);
    ctx->one_thread = comm->threads == TI_COMM_THREADS_CREATOR;
    ctx->thread_level = comm->thread_level;
    ctx->thread = pthread_self();
    ctx->reproducible = config->reproducible != 0;
    ti_runtime_desc desc = { .config = *config, .comm = comm, .context = ctx };
    ctx->runtime = ti_runtime_create(&desc, &status, &why);
    if (!ctx->runtime) {
        init_failed(status, ti_strbuf_text(&why));
        ti_strbuf_fini(&ctx->error);
        ti_handle_free(TI_HANDLE_CONTEXT, ctx);
        ctx = NULL;
    } else {
        ctx->recall = ti_recall_create();
    }
    ti_strbuf_fini(&why);
    *out = ctx;
    return status;
}

/* The settings, from the program and its environment. */
static tacit_status resolve(const char *who, const tacit_config *config, size_t size, tacit_context **out,
                            tacit_config *resolved)
{
    tacit_config given = { 0 };
    ti_strbuf why = { 0 };
    if (!out) {
        char text[100];
        snprintf(text, sizeof(text), "%s: out is NULL; pass the address of a tacit_context pointer", who);
        return init_failed(TACIT_ERROR_ARGUMENT, text);
    }
    *out = NULL;
    if (config) {
        __builtin_memcpy(&given, config, size < sizeof(given) ? size : sizeof(given));
    }
    tacit_status status = ti_config_resolve(&given, resolved, &why);
    if (status != TACIT_OK) {
        init_failed(status, ti_strbuf_text(&why));
    }
    ti_strbuf_fini(&why);
    return status;
}

static tacit_status start_on(ti_comm *comm, const tacit_config *resolved, tacit_context **out)
{
    ti_log_setup(resolved->log, comm->num_nodes > 1 ? comm->node : -1);
    return ti_context_create(resolved, comm, out);
}

/* Dry runs need no network, whatever the launcher. That their results are none is said at the beginning and at the end. */
static tacit_status start_dry_run(const tacit_config *resolved, tacit_context **out)
{
    ti_strbuf why = { 0 };
    int nodes, node;
    tacit_status status;
    if (ti_dry_run_parse(resolved->dry_run, &nodes, &node, &why)) {
        ti_dry_run_announce(nodes, node, stderr);
        status = start_on(ti_comm_dry_create(node, nodes), resolved, out);
    } else {
        status = init_failed(TACIT_ERROR_CONFIG, why.text);
    }
    ti_strbuf_fini(&why);
    return status;
}

tacit_status tacit_init_sized(const tacit_config *config, size_t size, tacit_context **out)
{
    tacit_config resolved;
    char text[400] = "";
    TI_TRY(resolve("tacit_init", config, size, out, &resolved));
    if (resolved.dry_run) {
        return start_dry_run(&resolved, out);
    }
    ti_comm_settings settings = { resolved.early_bytes, resolved.collective_schedule };
    ti_comm *comm = ti_comm_mpi_is_launched() ? ti_comm_mpi_create(&settings, text, sizeof(text))
                                              : ti_comm_self_create();
    return comm ? start_on(comm, &resolved, out) : init_failed(TACIT_ERROR_NETWORK, text);
}

tacit_status tacit_init_mpi_sized(const tacit_mpi_comm *given, const tacit_config *config, size_t size,
                                  tacit_context **out)
{
    tacit_config resolved;
    char text[400] = "";
    ti_comm *comm;
    TI_TRY(resolve("tacit_init_mpi", config, size, out, &resolved));
    if (resolved.dry_run) {
        return start_dry_run(&resolved, out);
    }
    ti_comm_settings settings = { resolved.early_bytes, resolved.collective_schedule };
    tacit_status status = ti_comm_mpi_adopt(given, &settings, &comm, text, sizeof(text));
    return status == TACIT_OK ? start_on(comm, &resolved, out) : init_failed(status, text);
}

/* ---- errors */

tacit_status ti_context_error(tacit_context *ctx, tacit_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ti_strbuf_clear(&ctx->error);
    ti_strbuf_vadd(&ctx->error, format, args);
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

tacit_status ti_context_enter(tacit_context *ctx)
{
    TI_TRY(ti_context_check_thread(ctx));
    ti_failure *failure = ti_runtime_failure(ctx->runtime);
    tacit_status status = ti_failure_get(failure);
    if (status != TACIT_OK) {
        return ti_context_error(ctx, status, "%s", failure->text);
    }
    ti_strbuf_clear(&ctx->error);
    return TACIT_OK;
}

/* Take a task that is not submitted out of its arena again, unless the arena has opened another block for it. Programs may try
 * often; only a submitted task makes the horizon that recycles the arena. */
static void forget_task(tacit_context *ctx, ti_task *task)
{
    ti_arena *arena;
    char *newest = (char *)ti_task_graph_new(ti_runtime_task_graph(ctx->runtime), &arena);
    if ((char *)arena->block < (char *)task && (char *)task < newest) {
        arena->next = (char *)task;
    }
}

tacit_status ti_context_check(tacit_context *ctx, ti_task *task)
{
    ti_strbuf_clear(&ctx->error);
    tacit_status status = ti_task_graph_check(ti_runtime_task_graph(ctx->runtime), task, &ctx->error);
    status = status ? status : ti_check_overlap(ctx, task);
    if (status != TACIT_OK) {
        forget_task(ctx, task);
    }
    return status;
}

const char *tacit_last_error(const tacit_context *ctx)
{
    return is_context(ctx) ? ti_strbuf_text(&ctx->error) : lost_error;
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

/* ---- the end */

static void submit_epoch(tacit_context *ctx, const char *name, bool barrier)
{
    ti_arena *arena;
    ti_task *task = ti_task_graph_new(ti_runtime_task_graph(ctx->runtime), &arena);
    task->kind = TI_TASK_EPOCH;
    task->name = name;
    task->as.barrier = barrier;
    ti_runtime_submit(ctx->runtime, task);
}

tacit_status tacit_flush(tacit_context *ctx)
{
    TI_TRY(ti_check_context(ctx, "tacit_flush"));
    TI_TRY(ti_context_enter(ctx));
    ti_arena *arena;
    ti_task *task = ti_task_graph_new(ti_runtime_task_graph(ctx->runtime), &arena);
    task->kind = TI_TASK_HORIZON;
    task->name = "flush";
    ti_runtime_submit(ctx->runtime, task);
    return TACIT_OK;
}

tacit_status tacit_wait(tacit_context *ctx)
{
    TI_TRY(ti_check_context(ctx, "tacit_wait"));
    TI_TRY(ti_context_enter(ctx));
    submit_epoch(ctx, "wait", false);
    ti_runtime_wait_points(ctx->runtime);
    ti_context_bury(ctx);
    return ti_context_enter(ctx);
}

/* For scripts: name and value of each. */
static void log_counters(tacit_context *ctx)
{
    tacit_counters c;
    if (!ti_log_enabled(TI_LOG_INFO) || tacit_get_counters(ctx, &c) != TACIT_OK) {
        return;
    }
    const struct {
        const char *name;
        uint64_t value;
    } list[] = { { "tasks", c.tasks },
                 { "horizons", c.horizons },
                 { "commands", c.commands },
                 { "instructions", c.instructions },
                 { "messages_sent", c.messages_sent },
                 { "bytes_sent", c.bytes_sent },
                 { "messages_received", c.messages_received },
                 { "bytes_received", c.bytes_received },
                 { "allocated_peak", c.allocated_peak },
                 { "reallocations", c.reallocations },
                 { "reallocated_bytes", c.reallocated_bytes },
                 { "collectives", c.collectives },
                 { "collective_bytes_sent", c.collective_bytes_sent },
                 { "collective_bytes_received", c.collective_bytes_received } };
    ti_strbuf text = { 0 };
    for (size_t i = 0; i < TI_COUNT(list); i++) {
        ti_strbuf_add(&text, " %s=%llu", list[i].name, (unsigned long long)list[i].value);
    }
    ti_log(TI_LOG_INFO, "counters:%s", text.text);
    ti_strbuf_fini(&text);
}

static void free_context(tacit_context *ctx)
{
    ti_runtime_destroy(ctx->runtime);
    ti_context_bury_all(ctx);
    for (size_t i = 0; i < ctx->mappers.count; i++) {
        ti_free(ctx->mappers.data[i]->user, ctx->mappers.data[i]->user_size);
        TI_DELETE(ctx->mappers.data[i]);
    }
    ti_vec_fini(&ctx->mappers);
    for (size_t i = 0; i < ctx->ops.count; i++) {
        ti_free((void *)(uintptr_t)ctx->ops.data[i]->desc.identity, ctx->ops.data[i]->desc.elem_size);
        ti_free((void *)(uintptr_t)ctx->ops.data[i]->desc.user, ctx->ops.data[i]->desc.user_size);
        TI_DELETE(ctx->ops.data[i]);
    }
    ti_vec_fini(&ctx->ops);
    for (size_t i = 0; i < ctx->objects.count; i++) {
        ti_handle_free(TI_HANDLE_OBJECT, ctx->objects.data[i]);
    }
    ti_vec_fini(&ctx->objects);
    ti_vec_fini(&ctx->free_slots);
    ti_overlap_answers_destroy(ctx->overlap_answers);
    ti_recall_destroy(ctx->recall);
    ti_strbuf_fini(&ctx->error);
    ti_handle_free(TI_HANDLE_CONTEXT, ctx);
}

tacit_status tacit_finalize(tacit_context *ctx)
{
    if (!ctx) {
        return TACIT_OK;
    }
    TI_TRY(ti_check_context(ctx, "tacit_finalize"));
    TI_TRY(ti_context_check_thread(ctx));
    ti_runtime_settle(ctx->runtime);
    if (ti_failure_get(ti_runtime_failure(ctx->runtime)) == TACIT_OK) {
        while (ctx->live) {
            tacit_buffer_destroy(ctx, ctx->live);
        }
        submit_epoch(ctx, "finalize", true);
    }
    ti_runtime_wait_points(ctx->runtime);
    tacit_status status = ti_failure_get(ti_runtime_failure(ctx->runtime));
    log_counters(ctx);
    ti_strbuf why = { 0 };
    if (!ti_runtime_write_graphs(ctx->runtime, &why) || !ti_runtime_report(ctx->runtime, &why)) {
        ti_log(TI_LOG_ERROR, "%s", why.text);
        status = status == TACIT_OK ? TACIT_ERROR_CONFIG : status;
    }
    ti_strbuf_fini(&why);
    free_context(ctx);
    return status;
}

void ti_context_discard(tacit_context *ctx)
{
    free_context(ctx);
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

bool tacit_is_dry_run(const tacit_context *ctx)
{
    return is_context(ctx) && ti_runtime_is_dry(ctx->runtime);
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
