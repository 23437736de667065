/* Contexts: start, wait, finish (tacit/context.h). Application thread. */
#include "api/check_overlap.h"
#include "api/owners.h"
#include "api/shapes.h"
#include "base/config.h"
#include "base/log.h"
#include "comm/delay.h"
#include "comm/launched.h"
#include "run/dry_run.h"

#include <stdio.h>

enum { ERROR_TEXT = 1024 }; /* bytes that are there when memory has run out */

static tacit_status init_failed(tacit_status status, const char *text)
{
    return ti_no_context(status, "%s", text);
}

/* A network of a larger latency, if TACIT_COMM_DELAY asks for one. */
static ti_comm *delay(const tacit_config *config, ti_comm *comm)
{
    bool delays = config->comm_delay && comm->num_nodes > 1 && !config->dry_run;
    return delays ? ti_comm_delay_create(comm, (uint64_t)config->comm_delay * 1000, (ti_delay_clock){ 0 }) : comm;
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
    ctx->passes.on = comm->num_nodes > 1;
    ctx->config = *config;
    ti_config_own_texts(&ctx->config);
    ti_runtime_desc desc = { .config = ctx->config, .comm = delay(config, comm), .context = ctx };
    ctx->runtime = ti_runtime_create(&desc, &status, &why);
    if (!ctx->runtime) {
        init_failed(status, ti_strbuf_text(&why));
        ti_strbuf_fini(&ctx->error);
        ti_config_free_texts(&ctx->config);
        ti_handle_free(TI_HANDLE_CONTEXT, ctx);
        ctx = NULL;
    } else {
        ti_view_watch_exit();
        ctx->failure = ti_runtime_failure(ctx->runtime);
        ctx->is_plain = !ctx->one_thread && !ti_runtime_dry(ctx->runtime);
        ctx->shapes = ti_shapes_create(ctx);
        ctx->fence = TI_NEW(tacit_task);
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

/* The launcher of another MPI starts processes that do not find each other: each would do all the work. */
static void warn_if_lonely(const tacit_config *resolved, int nodes)
{
    if (nodes == 1 && !resolved->dry_run && ti_launched_as_speaker() && ti_comm_mpi_is_alone()) {
        ti_log(TI_LOG_WARNING,
               "a launcher started several processes, but each of them runs alone and does all the work: it is not the "
               "launcher of tacit's MPI (%s); start the program by tacit run -n, or by the mpiexec of that MPI",
               ti_comm_mpi_library());
    }
}

static tacit_status start_on(ti_comm *comm, const tacit_config *resolved, tacit_context **out)
{
    ti_log_setup(resolved->log, comm->num_nodes > 1 ? comm->node : -1);
    warn_if_lonely(resolved, comm->num_nodes);
    return ti_context_create(resolved, comm, out);
}

/* Dry runs need no network, whatever the launcher; one that is there has compared settings. That their results are none
 * is said at the beginning and at the end. */
static tacit_status start_dry_run(const tacit_config *resolved, ti_comm *compared, tacit_context **out)
{
    if (compared) {
        compared->ops->destroy(compared);
    }
    ti_strbuf why = { 0 };
    int nodes, node;
    tacit_status status;
    if (ti_dry_run_parse(resolved->dry_run, &nodes, &node, &why)) {
        ti_dry_run_announce(nodes, node, resolved->simulate != NULL, stderr);
        status = start_on(ti_comm_dry_create(node, nodes), resolved, out);
    } else {
        status = init_failed(TACIT_ERROR_CONFIG, why.text);
    }
    ti_strbuf_fini(&why);
    return status;
}

/* The network over MPI: on a communicator of the program's, or with NULL on one of its own. All nodes compare their
 * settings there, so it is opened for dry runs, too, if there are several processes: others may run live. */
static tacit_status open_mpi(const tacit_mpi_comm *given, const tacit_config *resolved, ti_comm **out, char *why,
                             size_t why_size)
{
    ti_strbuf shared = { 0 };
    ti_config_shared(resolved, &shared);
    ti_comm_settings settings = { .early_bytes = resolved->early_bytes,
                                  .relay_bytes = resolved->relay_bytes,
                                  .broadcast = resolved->broadcast,
                                  .schedule = resolved->collective_schedule,
                                  .no_near = resolved->local_messages == TACIT_LOCAL_MESSAGES_MPI,
                                  .text = shared.text };
    tacit_status status = TACIT_OK;
    if (given) {
        status = ti_comm_mpi_adopt(given, &settings, out, why, why_size);
    } else {
        *out = ti_comm_mpi_create(&settings, why, why_size);
        status = *out ? TACIT_OK : TACIT_ERROR_NETWORK;
    }
    ti_strbuf_fini(&shared);
    return status;
}

tacit_status tacit_init_sized(const tacit_config *config, size_t size, tacit_context **out)
{
    tacit_config resolved;
    char text[400] = "";
    ti_comm *comm = NULL;
    TI_TRY(resolve("tacit_init", config, size, out, &resolved));
    bool mpi = resolved.dry_run ? ti_comm_mpi_has_others() : ti_comm_mpi_is_launched();
    tacit_status status = mpi ? open_mpi(NULL, &resolved, &comm, text, sizeof(text)) : TACIT_OK;
    if (resolved.dry_run) {
        return start_dry_run(&resolved, comm, out);
    }
    comm = mpi ? comm : ti_comm_self_create();
    return status == TACIT_OK ? start_on(comm, &resolved, out) : init_failed(status, text);
}

tacit_status tacit_init_mpi_sized(const tacit_mpi_comm *given, const tacit_config *config, size_t size,
                                  tacit_context **out)
{
    tacit_config resolved;
    char text[400] = "";
    ti_comm *comm = NULL;
    TI_TRY(resolve("tacit_init_mpi", config, size, out, &resolved));
    tacit_status status = open_mpi(given, &resolved, &comm, text, sizeof(text));
    if (resolved.dry_run) {
        return start_dry_run(&resolved, comm, out);
    }
    return status == TACIT_OK ? start_on(comm, &resolved, out) : init_failed(status, text);
}

/* ---- the end */

static void submit_point(tacit_context *ctx, ti_task_kind kind, const char *name, bool barrier)
{
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    ti_task *task = ti_task_graph_new(graph, kind, ti_task_graph_shape(graph, name));
    task->as.barrier = barrier;
    ti_runtime_submit(ctx->runtime, task);
}

tacit_status tacit_flush(tacit_context *ctx)
{
    TI_TRY(ti_context_begin(ctx, "tacit_flush"));
    submit_point(ctx, TI_TASK_HORIZON, "flush", false);
    return TACIT_OK;
}

/* After a wait. Where that was a point or not, all is done that was submitted, unless the run has failed; what planners
 * may still know is freed when a point after it has been executed. */
static void free_retired(tacit_context *ctx)
{
    const bool all = ti_failure_get(ti_runtime_failure(ctx->runtime)) == TACIT_OK;
    ti_free_retired_buffers(ctx);
    ti_free_retired_functions(ctx);
    ti_free_retired_weights(ctx);
    ti_free_retired_objects(ctx, all ? UINT64_MAX : ti_runtime_executed(ctx->runtime));
}

/* Tuning, and comparing what pure kernels have computed, is where all nodes wait for each other. */
static tacit_status wait_for_all(tacit_context *ctx, const char *name, bool meets, bool asked)
{
    const bool tunes = asked || ti_runtime_is_due(ctx->runtime);
    const bool is_long = ti_passes_are_many(&ctx->passes);
    ti_passes_begin(&ctx->passes);
    if (!meets && !tunes && ti_runtime_rest(ctx->runtime, is_long)) {
        free_retired(ctx);
        return ti_context_enter(ctx);
    }
    submit_point(ctx, TI_TASK_EPOCH, name, meets || tunes || ti_runtime_checks_pure(ctx->runtime));
    ti_runtime_wait_points(ctx->runtime);
    ti_runtime_check_pure(ctx->runtime, false);
    if (tunes && ti_failure_get(ti_runtime_failure(ctx->runtime)) == TACIT_OK &&
        ti_runtime_choose(ctx->runtime, asked)) {
        ti_shapes_forget_balanced(ctx->shapes);
    }
    free_retired(ctx);
    return ti_context_enter(ctx);
}

tacit_status tacit_wait(tacit_context *ctx)
{
    TI_TRY(ti_context_begin(ctx, "tacit_wait"));
    return wait_for_all(ctx, "wait", false, false);
}

tacit_status tacit_barrier(tacit_context *ctx)
{
    TI_TRY(ti_context_begin(ctx, "tacit_barrier"));
    return wait_for_all(ctx, "barrier", true, false);
}

tacit_status tacit_retune(tacit_context *ctx)
{
    TI_TRY(ti_context_begin(ctx, "tacit_retune"));
    return wait_for_all(ctx, "retune", true, true);
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
                 { "messages_local", c.messages_local },
                 { "allocated_peak", c.allocated_peak },
                 { "reallocations", c.reallocations },
                 { "reallocated_bytes", c.reallocated_bytes },
                 { "collectives", c.collectives },
                 { "collective_bytes_sent", c.collective_bytes_sent },
                 { "collective_bytes_received", c.collective_bytes_received },
                 { "broadcasts", c.broadcasts },
                 { "broadcast_recipients", c.broadcast_recipients },
                 { "broadcast_refused", c.broadcast_refused },
                 { "relayed_bytes", c.relayed_bytes },
                 { "shared_versions", c.shared_versions },
                 { "shared_versions_late", c.shared_versions_late },
                 { "multicasts", c.multicasts },
                 { "multicast_recipients", c.multicast_recipients },
                 { "multicast_depth", c.multicast_depth },
                 { "multicast_forwards", c.multicast_forwards } };
    ti_strbuf text = { 0 };
    for (size_t i = 0; i < TI_COUNT(list); i++) {
        ti_strbuf_add(&text, " %s=%llu", list[i].name, (unsigned long long)list[i].value);
    }
    ti_log(TI_LOG_INFO, "counters:%s", text.text);
    ti_strbuf_fini(&text);
}

/* One node speaks for all. */
static void advise(tacit_context *ctx, ti_advice_facts *facts)
{
    if (tacit_node(ctx) != 0 || ctx->config.advice == TACIT_ADVICE_OFF) {
        return;
    }
    facts->checked = ti_view_checks_are_news();
    for (int advice = 0; advice < TI_ADVICE_KINDS; advice++) {
        ti_strbuf why = { 0 };
        if (ti_advice_say((ti_advice)advice, facts, &why)) {
            ti_log_text(TI_LOG_WARNING, why.text);
        }
        ti_strbuf_fini(&why);
    }
}

static void free_groups(tacit_context *ctx)
{
    for (size_t i = 0; i < ctx->groups.count; i++) {
        ti_handle_free(TI_HANDLE_GROUP, ctx->groups.data[i]);
    }
    ti_vec_fini(&ctx->groups);
}

static void free_context(tacit_context *ctx)
{
    ti_runtime_destroy(ctx->runtime);
    ti_free_all_buffers(ctx);
    ti_free_all_owners(ctx);
    ti_free_all_functions(ctx);
    ti_free_all_weights(ctx);
    ti_free_all_prepared(ctx);
    ti_free_attachments(ctx);
    ti_free_all_objects(ctx);
    free_groups(ctx);
    ti_vec_fini(&ctx->free_slots);
    ti_shapes_destroy(ctx->shapes);
    TI_DELETE(ctx->fence);
    ti_config_free_texts(&ctx->config);
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
    if (ti_runtime_dry(ctx->runtime)) {
        ti_context_notice_host_work(ctx);
    }
    ti_runtime_settle(ctx->runtime);
    if (ti_failure_get(ti_runtime_failure(ctx->runtime)) == TACIT_OK) {
        while (ctx->live) {
            tacit_buffer_destroy(ctx, ctx->live);
        }
        submit_point(ctx, TI_TASK_EPOCH, "finalize", true);
    }
    ti_runtime_wait_points(ctx->runtime);
    ti_runtime_check_pure(ctx->runtime, true);
    tacit_status status = ti_failure_get(ti_runtime_failure(ctx->runtime));
    ti_advice_facts facts = { .span = 0 };
    ti_runtime_advise(ctx->runtime, &facts); /* all nodes, before one of them may find fault with a report */
    log_counters(ctx);
    ti_strbuf why = { 0 };
    if (!ti_runtime_write_graphs(ctx->runtime, &why) || !ti_runtime_report(ctx->runtime, &why)) {
        ti_log(TI_LOG_ERROR, "%s", why.text);
        status = status == TACIT_OK ? TACIT_ERROR_CONFIG : status;
    }
    ti_strbuf_fini(&why);
    if (status == TACIT_OK) {
        advise(ctx, &facts);
    }
    free_context(ctx);
    return status;
}

void ti_context_discard(tacit_context *ctx)
{
    free_context(ctx);
}
