/* The watchdog: see watchdog.h. */
#include "run/watchdog.h"

#include "base/clock.h"
#include "base/log.h"

enum { MAX_WAITS = 8 };

void ti_watchdog_look_at_kernels(const ti_watchdog *dog, ti_executor *executor, int node)
{
    uint64_t now = ti_clock_ns(), ns = 0;
    const char *task;
    while ((task = ti_executor_long_kernel(executor, now, (uint64_t)dog->limit * 1000000000u, &ns)) != NULL) {
        ti_log(
            TI_LOG_WARNING,
            "kernel '%s' has run for %d s on node %d; if it should not, look whether it loops for ever, or waits for "
            "something that another kernel or node does",
            task, (int)(ns / 1000000000u), node);
    }
}

void ti_watchdog_look(ti_watchdog *dog, const ti_executor *executor, ti_agreement *agreement, uint64_t tasks)
{
    uint64_t now = ti_clock_ns(), activity = ti_executor_activity(executor);
    bool quiet = activity == dog->activity && ti_executor_running(executor) == 0;
    if (quiet && dog->since && now - dog->since < (uint64_t)dog->limit * 1000000000u) {
        return;
    }
    if (quiet && dog->since) {
        ti_strbuf text = { 0 };
        ti_executor_describe_waits(executor, MAX_WAITS, &text);
        if (agreement) {
            ti_agreement_describe(agreement, &text);
        }
        ti_log(TI_LOG_WARNING, "no progress for %d s; %llu tasks were submitted on this node, which waits for:%s",
               dog->limit, (unsigned long long)tasks, text.length ? ti_strbuf_text(&text) : " nothing of the network");
        ti_strbuf_fini(&text);
    }
    dog->activity = activity;
    dog->since = now;
}
