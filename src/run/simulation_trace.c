/* The trace of a simulated run: see simulation_trace.h. */
#include "run/simulation_trace.h"

#include "base/alloc.h"
#include "base/config.h"
#include "run/tracing.h"

/* All is written by one thread, so what does not fit is written at once and nothing is dropped. */
enum { ROOM = 256, BEGIN = 1 };

/* What has nothing to do with the machine that simulates, nor with where its files lie. */
static void add_facts(ti_recorder *recorder, const tacit_config *config)
{
    tacit_config shown = *config;
    shown.simulate = shown.simulate_report = shown.dry_run_report = NULL;
    shown.trace = shown.explain = shown.graph = NULL;
    shown.workers = 0;
    ti_tracing_add_facts(recorder, &shown, "thread", "simulated");
}

ti_recorder **ti_simulation_recorders_open(const ti_system *system, const tacit_config *config, ti_strbuf *why)
{
    int nodes = system->num_nodes;
    ti_recorder **recorder = TI_NEW_ARRAY(ti_recorder *, (size_t)nodes);
    ti_trace_clock *clock = TI_NEW_ARRAY(ti_trace_clock, (size_t)nodes);
    bool good = true;
    for (int q = 0; q < nodes && good; q++) {
        clock[q] = (ti_trace_clock){ .time = BEGIN, .node = (uint32_t)q };
        recorder[q] = ti_recorder_create(&(ti_recorder_desc){ .prefix = config->trace,
                                                              .node = q,
                                                              .nodes = nodes,
                                                              .rings = TI_TRACE_WORKER + ti_system_workers(system),
                                                              .capacity = ROOM,
                                                              .start = BEGIN },
                                         why);
        good = recorder[q] != NULL;
        if (good) {
            add_facts(recorder[q], config);
        }
    }
    if (good) {
        ti_recorder_clocks(recorder[0], clock, (size_t)nodes);
    }
    ti_free(clock, (size_t)nodes * sizeof(*clock));
    if (!good) {
        ti_simulation_recorders_close(recorder, nodes, NULL);
    }
    return good ? recorder : NULL;
}

bool ti_simulation_recorders_close(ti_recorder **recorder, int nodes, ti_strbuf *why)
{
    bool good = true;
    for (int q = 0; recorder && q < nodes; q++) {
        good = (!recorder[q] || ti_recorder_destroy(recorder[q], good ? why : NULL)) && good;
    }
    if (recorder) {
        ti_free(recorder, (size_t)nodes * sizeof(ti_recorder *));
    }
    return good;
}
