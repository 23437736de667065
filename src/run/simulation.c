/* Simulated runs: see simulation.h. */
#include "run/simulation.h"

#include "base/config.h"
#include "run/simulation_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 4096 };

struct ti_simulation {
    ti_platform platform;
    ti_system system; /* of the simulated nodes */
    ti_cluster *cluster;
    ti_recorder **recorder; /* of each node, or NULL: no trace is written */
    ti_replay *replay;      /* or NULL */
};

static bool read_files(ti_platform *p, const char *files, ti_strbuf *why)
{
    char *list = ti_strdup(files), *rest = list;
    bool good = true;
    for (char *path; good && (path = strtok_r(rest, ":", &rest));) {
        good = ti_platform_read(p, path, why);
    }
    ti_strfree(list);
    return good && ti_platform_is_complete(p, files, why);
}

/* What the program or its environment says of threads and collectives counts more than the files. Inline, there is one
 * thread. */
static void obey_settings(ti_platform *p, const tacit_config *c)
{
    if (c->threads == TACIT_THREADS_INLINE) {
        p->progress = TI_PROGRESS_INLINE;
    } else if (c->progress != TACIT_PROGRESS_DEFAULT) {
        p->progress = c->progress == TACIT_PROGRESS_THREAD ? TI_PROGRESS_THREAD : TI_PROGRESS_SHARED;
    }
    if (c->collective_schedule == TACIT_COLLECTIVE_SCHEDULE_DIRECT) {
        p->algorithm = TI_ALGORITHM_LINEAR;
    }
    if (p->replay && p->in_order) { /* what came when is recorded */
        p->progress = TI_PROGRESS_THREAD;
    }
    p->workers = p->progress == TI_PROGRESS_INLINE ? 1 : p->workers;
}

/* How many workers there are, and if a recorded run is to be followed: that run's. */
static bool follow(ti_simulation *s, ti_system *system, ti_strbuf *why)
{
    const ti_platform *p = &s->platform;
    system->total_workers = (int64_t)p->workers * system->devices * system->num_nodes;
    if (!p->replay) {
        return true;
    }
    s->replay = ti_replay_create(p->replay, system->num_nodes, p->in_order, why);
    system->total_workers = 0;
    for (int q = 0; s->replay && q < system->num_nodes; q++) {
        int workers = ti_replay_workers(s->replay, q);
        const int hosts = ti_system_hosts(system);
        system->total_workers += workers / hosts * system->devices;
        s->platform.workers = TI_MAX(q == 0 ? 1 : s->platform.workers, workers / hosts);
        if (workers % hosts != 0) {
            ti_strbuf_add(why,
                          "'%s' has %d workers on node %d, which are not those of %d devices: set "
                          "TACIT_HOST_DEVICES as it was then",
                          p->replay, workers, q, hosts);
            return false;
        }
    }
    return s->replay != NULL;
}

ti_simulation *ti_simulation_create(const tacit_config *config, ti_system *system, ti_strbuf *why)
{
    ti_simulation *s = TI_NEW(ti_simulation);
    ti_platform_init(&s->platform);
    bool good = read_files(&s->platform, config->simulate, why);
    obey_settings(&s->platform, config);
    if (good && system->num_nodes > MAX_NODES) {
        ti_strbuf_add(why, "at most %d nodes can be simulated, not %d", MAX_NODES, system->num_nodes);
        good = false;
    }
    good = good && follow(s, system, why);
    if (!good) {
        ti_simulation_destroy(s);
        return NULL;
    }
    return s;
}

/* By which payloads travel that several nodes wait for. Flat: there are no relays. */
static ti_tree tree_of(const ti_system *system, const tacit_config *config)
{
    bool relays = system->multicast == TI_MULTICAST_DYNAMIC || system->found_tree != TI_TREE_FLAT;
    return relays ? ti_tree_of_setting(config->broadcast, false) : TI_TREE_FLAT;
}

/* What the file says that a device has, or the part of it that TACIT_DEVICE_MEMORY leaves. */
static void choose_device_memory(ti_simulation *s, const tacit_config *config)
{
    const uint64_t there = (uint64_t)s->platform.device_memory;
    uint64_t wanted = there;
    if (config->device_memory) {
        ti_config_memory(config->device_memory, there, &wanted);
    }
    for (int m = 1; m < s->system.memories; m++) {
        s->system.device_memory[m] = there ? TI_MIN(wanted, there) : wanted;
    }
}

bool ti_simulation_begin(ti_simulation *s, const ti_system *system, const tacit_config *config, ti_strbuf *why)
{
    s->system = *system;
    s->system.workers = (int)s->platform.workers;
    s->system.local_nodes = 1;
    choose_device_memory(s, config);
    if (s->platform.progress == TI_PROGRESS_INLINE) { /* there are no relays */
        s->system.found_tree = TI_TREE_FLAT;
    }
    if (config->trace) {
        s->recorder = ti_simulation_recorders_open(&s->system, config, why);
        if (!s->recorder) {
            return false;
        }
    }
    s->cluster = ti_cluster_create(&(ti_cluster_desc){ .system = &s->system,
                                                       .platform = &s->platform,
                                                       .run_ahead = (uint64_t)config->run_ahead,
                                                       .tree = tree_of(&s->system, config),
                                                       .relay_bytes = (size_t)config->relay_bytes,
                                                       .early_bytes = (uint64_t)config->early_bytes,
                                                       .attended = config->threads != TACIT_THREADS_INLINE,
                                                       .recorder = s->recorder,
                                                       .replay = s->replay });
    return true;
}

void ti_simulation_destroy(ti_simulation *s)
{
    if (s) {
        ti_cluster_destroy(s->cluster);
        ti_replay_destroy(s->replay);
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

void ti_simulation_choose(ti_simulation *s, const ti_system *system)
{
    ti_cluster_choose(s->cluster, system);
}

uint64_t ti_simulation_executed(const ti_simulation *s)
{
    return ti_cluster_executed(s->cluster);
}

bool ti_simulation_replays(const ti_simulation *s)
{
    return s->replay != NULL;
}

void ti_simulation_give_values(ti_simulation *s, uint64_t fence, void *data, size_t bytes)
{
    if (s->replay) {
        ti_replay_give_values(s->replay, fence, data, bytes);
    }
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
    ti_strbuf_add(out,
                  "  \"broadcasts\": %" PRIu64 ",\n  \"broadcast_recipients\": %" PRIu64
                  ",\n  \"broadcast_refused\": %" PRIu64 ",\n  \"relayed_bytes\": %" PRIu64
                  ",\n  \"held_back\": %" PRIu64 ",\n",
                  r->broadcasts, r->recipients, r->refused, r->relayed_bytes, r->held_back);
    ti_strbuf_add(out, "  \"idle_nodes\": %d,\n  \"least_busy\": %.6f,\n  \"most_busy\": %.6f,\n  \"workers_do\": {",
                  r->idle_nodes, r->least_busy / (r->ns > 0 ? r->ns * ti_cluster_units(&s->system) : 1),
                  r->most_busy / (r->ns > 0 ? r->ns * ti_cluster_units(&s->system) : 1));
    for (int u = 0; u < TI_USES; u++) {
        ti_strbuf_add(out, "%s\"%s\": %.6f", u ? ", " : "", use_names[u], r->use[u] / workers_ns(r));
    }
    ti_strbuf_add(out, "},\n  \"critical_path\": [");
    for (size_t i = 0; i < shares; i++) {
        ti_strbuf_add(out, "%s\n    {\"name\": ", i ? "," : "");
        ti_strbuf_add_json(out, share[i].name);
        ti_strbuf_add(out, ", \"ns\": %.0f}", share[i].ns);
    }
    ti_strbuf_add(out, "\n  ],\n  \"unmet_kernels\": [");
    for (size_t i = 0, unmet = 0; i < s->platform.kernels.count; i++) {
        if (!s->platform.kernels.data[i].met) {
            ti_strbuf_add(out, "%s", unmet++ ? ", " : "");
            ti_strbuf_add_json(out, s->platform.kernels.data[i].task);
        }
    }
    ti_strbuf_add(out, "]");
    add_pairs(r, s->system.num_nodes, out);
    if (s->replay) {
        ti_strbuf_add(out,
                      ",\n  \"replay\": {\"ns\": %.0f, \"instructions\": %" PRIu64 ", \"events\": %" PRIu64
                      ", \"moved\": %" PRIu64 "}",
                      r->replay.recorded_ns, r->replay.instructions, r->replay.events, r->replay.moved);
    }
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
