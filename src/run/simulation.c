/* Simulated runs: see simulation.h. */
#include "run/simulation.h"

#include "run/simulation_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 4096 };

struct ti_simulation {
    ti_platform platform;
    ti_system system; /* of the simulated nodes */
    ti_cluster *cluster;
    ti_recorder **recorder; /* of each node, or NULL: no trace is written */
};

static bool read_files(ti_platform *p, const char *files, ti_strbuf *why)
{
    char *list = ti_strdup(files), *rest = list;
    bool good = true;
    for (char *path; good && (path = strtok_r(rest, ":", &rest));) {
        good = ti_platform_read(p, path, why);
    }
    ti_strfree(list);
    return good && ti_platform_is_complete(p, why);
}

ti_simulation *ti_simulation_create(const char *files, ti_system *system, ti_strbuf *why)
{
    ti_simulation *s = TI_NEW(ti_simulation);
    ti_platform_init(&s->platform);
    bool good = read_files(&s->platform, files, why);
    if (good && system->num_nodes > MOST_NODES) {
        ti_strbuf_add(why, "at most %d nodes can be simulated, not %d", MOST_NODES, system->num_nodes);
        good = false;
    }
    if (!good) {
        ti_simulation_destroy(s);
        return NULL;
    }
    system->total_workers = (int64_t)s->platform.workers * system->devices * system->num_nodes;
    return s;
}

bool ti_simulation_begin(ti_simulation *s, const ti_system *system, const tacit_config *config, ti_strbuf *why)
{
    s->system = *system;
    s->system.workers = (int)s->platform.workers;
    s->system.local_nodes = 1;
    if (config->trace) {
        s->recorder = ti_simulation_recorders_open(&s->system, config, why);
        if (!s->recorder) {
            return false;
        }
    }
    s->cluster = ti_cluster_create(&(ti_cluster_desc){ .system = &s->system,
                                                       .platform = &s->platform,
                                                       .run_ahead = (uint64_t)config->run_ahead,
                                                       .recorder = s->recorder });
    return true;
}

void ti_simulation_destroy(ti_simulation *s)
{
    if (s) {
        ti_cluster_destroy(s->cluster);
        ti_simulation_recorders_close(s->recorder, s->system.num_nodes, NULL);
        ti_platform_fini(&s->platform);
        TI_DELETE(s);
    }
}

void ti_simulation_submit(ti_simulation *s, const ti_task *const *task, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ti_cluster_submit(s->cluster, task[i]);
    }
}

void ti_simulation_wait(ti_simulation *s, ti_cluster_event what)
{
    ti_cluster_wait(s->cluster, what);
}

uint64_t ti_simulation_executed(const ti_simulation *s)
{
    return ti_cluster_executed(s->cluster);
}

/* ---- the report */

static const char *const use_names[TI_USES] = { "kernels", "messages", "planning", "ahead", "idle" };

typedef struct path_share {
    const char *name;
    double ns;
} path_share;

static int by_ns(const void *a, const void *b)
{
    double x = ((const path_share *)a)->ns, y = ((const path_share *)b)->ns;
    return (x < y) - (x > y);
}

/* The critical path by name, the longest part first. */
static size_t shares_of(const ti_cluster_result *r, path_share out[TI_PATH_SLOTS])
{
    static const char *const names[TI_PATH_NAMES] = { "(planning)", "(messages)", "(copies)" };
    size_t count = 0;
    for (int i = 0; i < TI_PATH_SLOTS; i++) {
        if (r->path[i] > 0) {
            out[count++] = (path_share){ i < TI_PATH_NAMES ? names[i] : r->paths->name.data[i - TI_PATH_NAMES],
                                         r->path[i] };
        }
    }
    qsort(out, count, sizeof(*out), by_ns);
    return count;
}

static double workers_ns(const ti_cluster_result *r)
{
    double sum = 0;
    for (int u = 0; u < TI_USES; u++) {
        sum += r->use[u];
    }
    return sum > 0 ? sum : 1;
}

/* Messages between two nodes, without those of collectives: from, to, their number, bytes. */
static void add_pairs(const ti_cluster_result *r, int nodes, ti_strbuf *out)
{
    bool first = true;
    if (!r->pairs) {
        return;
    }
    ti_strbuf_add(out, ",\n  \"pairs\": [");
    for (int i = 0; i < nodes * nodes; i++) {
        const ti_cluster_pair *pair = &r->pairs[i];
        if (pair->messages > 0) {
            ti_strbuf_add(out, "%s[%d, %d, %" PRIu64 ", %" PRIu64 "]", first ? "" : ", ", i / nodes, i % nodes,
                          pair->messages, pair->bytes);
            first = false;
        }
    }
    ti_strbuf_add(out, "]");
}

static void add_json(const ti_simulation *s, const ti_cluster_result *r, ti_strbuf *out)
{
    path_share share[TI_PATH_SLOTS];
    size_t shares = shares_of(r, share);
    ti_strbuf_add(out, "{\n  \"simulation\": true,\n  \"nodes\": %d,\n  \"workers\": %d,\n  \"ns\": %.0f,\n",
                  s->system.num_nodes, s->system.workers, r->ns);
    ti_strbuf_add(out,
                  "  \"tasks\": %" PRIu64 ",\n  \"instructions\": %" PRIu64 ",\n  \"messages\": %" PRIu64
                  ",\n  \"bytes\": %" PRIu64 ",\n  \"collectives\": %" PRIu64 ",\n  \"events\": %" PRIu64
                  ",\n  \"held_peak\": %" PRIu64 ",\n",
                  r->tasks, r->instructions, r->messages, r->bytes, r->collectives, r->events, r->held_peak);
    ti_strbuf_add(out, "  \"least_busy\": %.6f,\n  \"most_busy\": %.6f,\n  \"workers_do\": {",
                  r->least_busy / (r->ns > 0 ? r->ns * s->system.workers * s->system.devices : 1),
                  r->most_busy / (r->ns > 0 ? r->ns * s->system.workers * s->system.devices : 1));
    for (int u = 0; u < TI_USES; u++) {
        ti_strbuf_add(out, "%s\"%s\": %.6f", u ? ", " : "", use_names[u], r->use[u] / workers_ns(r));
    }
    ti_strbuf_add(out, "},\n  \"critical_path\": [");
    for (size_t i = 0; i < shares; i++) {
        ti_strbuf_add(out, "%s\n    {\"name\": ", i ? "," : "");
        ti_strbuf_add_json(out, share[i].name);
        ti_strbuf_add(out, ", \"ns\": %.0f}", share[i].ns);
    }
    ti_strbuf_add(out, "\n  ]");
    add_pairs(r, s->system.num_nodes, out);
    ti_strbuf_add(out, "\n}\n");
}

bool ti_simulation_report(ti_simulation *s, const char *path, ti_strbuf *why)
{
    if (!ti_cluster_finish(s->cluster, why)) {
        return false;
    }
    ti_cluster_result r = ti_cluster_result_of(s->cluster);
    ti_strbuf text = { 0 };
    add_json(s, &r, &text);
    bool good = ti_simulation_recorders_close(s->recorder, s->system.num_nodes, why);
    s->recorder = NULL;
    if (!good) {
        /* what is in the files is not all */
    } else if (!path) {
        fputs(ti_strbuf_text(&text), stderr);
    } else if (!ti_strbuf_write(&text, path)) {
        ti_strbuf_add(why, "cannot write '%s': %s; set TACIT_SIMULATE_REPORT to a path in a folder that exists", path,
                      strerror(errno));
        good = false;
    }
    ti_strbuf_fini(&text);
    return good;
}
