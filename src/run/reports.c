/* What the runtime of one node tells of its run: counters, facts for advice, graphs, reports. See runtime.h.
 *
 * Called by the application thread, which takes a role where a stage knows the answer. */
#include "run/counters.h"
#include "run/impl.h"
#include "trace/explain.h"

#include <string.h>

void ti_runtime_counters(ti_runtime *rt, tacit_counters *out)
{
    ti_round_catch_up(rt);
    ti_counters_of_tasks(rt->tasks, out);
    out->buffer_bytes = atomic_load_explicit(&rt->progress.buffer_bytes, memory_order_relaxed);
    ti_lock_take(&rt->scheduling);
    ti_counters_of_plans(rt->scheduler.commands, rt->scheduler.graph, out);
    ti_lock_drop(&rt->scheduling);
    ti_lock_take(&rt->executing);
    ti_counters_of_network(&rt->comm->stats, ti_executor_outbox_counts(rt->executor), out);
    ti_roles_leave_executor(rt);
}

uint64_t ti_runtime_followed(ti_runtime *rt)
{
    ti_round_catch_up(rt);
    ti_lock_take(&rt->executing);
    uint64_t followed = ti_executor_followed(rt->executor);
    ti_roles_leave_executor(rt);
    return followed;
}

uint64_t ti_runtime_in_rounds(const ti_runtime *rt)
{
    return rt->round.tasks;
}

void ti_runtime_advise(ti_runtime *rt, ti_advice_facts *facts)
{
    if (!rt->advisor.on || ti_failure_get(&rt->progress.failure) != TACIT_OK) {
        return;
    }
    ti_lock_take(&rt->scheduling);
    ti_counters_of_advice(rt->scheduler.commands, rt->scheduler.graph, facts);
    ti_lock_drop(&rt->scheduling);
    ti_lock_take(&rt->executing);
    ti_advisor_gather(&rt->advisor, rt->comm, &rt->system, facts);
    ti_roles_leave_executor(rt);
}

bool ti_runtime_write_graphs(ti_runtime *rt, ti_strbuf *why)
{
    return ti_graph_files_write(&rt->graphs, rt->system.node, rt->system.num_nodes, why);
}

/* Of traced contexts beside each other where their traces are. */
static bool write_explain(const ti_runtime *rt, ti_strbuf *why)
{
    ti_strbuf path = { 0 };
    if (!rt->system.explain) {
        return true;
    }
    ti_tracing_path(&rt->trace, rt->config.explain, &path);
    bool to_stderr = strcmp(rt->config.explain, "1") == 0;
    bool good = ti_explain_write(&rt->system, to_stderr ? rt->config.explain : path.text, why);
    ti_strbuf_fini(&path);
    return good;
}

bool ti_runtime_report(ti_runtime *rt, ti_strbuf *why)
{
    bool good = !rt->dry || ti_dry_run_report(rt->dry, &rt->system, &rt->config, why);
    if (rt->trace.recorder && ti_failure_get(&rt->progress.failure) == TACIT_OK) {
        ti_lock_take(&rt->executing); /* nobody else polls notes meanwhile */
        ti_tracing_end(&rt->trace, rt->comm);
        ti_roles_leave_executor(rt);
    }
    ti_explain_carried(rt->system.explain, rt->comm->stats.carried);
    return good && write_explain(rt, why);
}
