/* What the tool has found out, as JSON. See report.h.
 *
 * Names are those of the text, in lower case with underscores; what is not there is null. json_pack takes over the
 * references of the values that it is given as "o". */
#include "report.h"

#include "base/config.h"
#include "base/strbuf.h"
#include "device/cuda.h"
#include "device/opencl.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints and frees. */
static int print(json_t *value)
{
    int failed = json_dumpf(value, stdout, JSON_INDENT(2)) != 0 || putchar('\n') == EOF || fflush(stdout) != 0;
    json_decref(value);
    return failed ? tool_fail(TOOL_FAILURE, "the standard output cannot be written: %s", strerror(errno)) : TOOL_OK;
}

/* A string, in UTF-8; null if there is none. */
static json_t *text(const char *value)
{
    ti_strbuf clean = { 0 };
    ti_strbuf_add_utf8(&clean, value ? value : "");
    json_t *string = clean.length > 0 ? json_string(clean.text) : json_null();
    ti_strbuf_fini(&clean);
    return string;
}

bool tool_json_is_there(void)
{
    return true;
}

/* ---------------------------------------------------------------- settings */

/* The table; with values and where they come from, or without. */
static json_t *settings(bool with_values)
{
    json_t *rows = json_array();
    const ti_setting *s;
    for (size_t i = 0; (s = ti_config_setting(i)); i++) {
        json_t *row = json_pack("{s:s, s:s, s:s, s:s}", "name", s->name, "values", s->values, "default", s->initial,
                                "help", s->help);
        if (with_values) {
            bool set = ti_config_source(i, NULL) == TI_FROM_ENVIRONMENT;
            json_object_set_new(row, "value", text(set ? getenv(s->name) : s->initial));
            json_object_set_new(row, "source", json_string(set ? "environment" : "default"));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

int tool_json_settings(void)
{
    return print(settings(false));
}

/* ---------------------------------------------------------------- info */

static json_t *features(void)
{
    json_t *object = json_object();
    tool_feature f;
    for (size_t i = 0; tool_feature_at(i, &f); i++) {
        json_object_set_new(object, f.name, json_string(f.value));
    }
    return object;
}

static json_t *launchers(void)
{
    json_t *rows = json_array();
    tool_launcher l;
    for (size_t i = 0; tool_launcher_at(i, &l); i++) {
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:o}", "name", l.name, "library", l.library, "path", text(l.path)));
        ti_strfree(l.path);
    }
    return rows;
}

static json_t *devices(const tool_facts *facts)
{
    json_t *rows = json_array();
    for (int d = 0; d < facts->devices; d++) {
        json_array_append_new(rows, json_pack("{s:s, s:i, s:i}", "kind", "host", "workers", facts->workers, "memory",
                                              facts->discrete ? d + 1 : 0));
    }
    for (int d = 0; d < facts->accelerators; d++) {
        json_array_append_new(rows, json_pack("{s:s, s:i}", "kind",
                                              strcmp(facts->accelerator, "CUDA") == 0 ? "cuda" : "opencl", "memory",
                                              (facts->discrete ? facts->devices : 0) + d + 1));
    }
    return rows;
}

static json_t *opencl_devices(void)
{
    json_t *rows = json_array();
    ti_opencl_fact f;
    for (int i = 0; ti_opencl_fact_of(i, &f); i++) {
        json_array_append_new(rows, json_pack("{s:s, s:s, s:b, s:i, s:I}", "name", f.name, "driver", f.platform, "gpu",
                                              f.is_gpu, "units", f.units, "memory", (json_int_t)f.memory));
    }
    return rows;
}

static json_t *cuda_devices(void)
{
    json_t *rows = json_array();
    ti_cuda_fact f;
    for (int i = 0; ti_cuda_fact_of(i, &f); i++) {
        char capability[32];
        snprintf(capability, sizeof(capability), "%d.%d", f.major, f.minor);
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:i, s:I, s:f}", "name", f.name, "capability", capability, "units",
                                        f.units, "memory", (json_int_t)f.memory, "memory_bandwidth", f.bandwidth));
    }
    return rows;
}

int tool_json_info(const tool_facts *facts)
{
    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", TACIT_VERSION_MAJOR, TACIT_VERSION_MINOR, TACIT_VERSION_PATCH);
    json_t *library = json_pack("{s:o, s:o}", "path", text(facts->library), "problem",
                                text(ti_strbuf_text(&facts->library_problem)));
    json_t *object = json_pack("{s:s, s:o, s:o, s:o, s:i, s:o, s:o}", "version", version, "features", features(),
                               "library", library, "mpi_library", text(facts->mpi_library), "cores", facts->cores,
                               "devices", devices(facts), "launchers", launchers());
    json_object_set_new(object, "bound", text(facts->devices > 0 ? ti_strbuf_text(&facts->bound) : NULL));
    json_object_set_new(object, "opencl", opencl_devices());
    json_object_set_new(object, "cuda", cuda_devices());
    json_object_set_new(object, "settings", settings(true));
    json_object_set_new(object, "settings_problem", text(ti_strbuf_text(&facts->settings_problem)));
    return print(object);
}

/* ---------------------------------------------------------------- graphs and benchmarks */

int tool_json_graphs(const tool_graph_file *files, size_t count, int exit_status)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        const tool_graph_file *f = &files[i];
        json_t *node = f->node < 0 ? json_null() : json_integer(f->node);
        json_array_append_new(rows, json_pack("{s:s, s:o, s:I, s:o, s:o}", "graph", f->graph, "node", node, "vertices",
                                              (json_int_t)f->vertices, "dot", text(f->dot), "svg", text(f->svg)));
    }
    return print(json_pack("{s:i, s:o}", "exit_status", exit_status, "files", rows));
}

int tool_json_benches(const tool_benchmark *entries, size_t count)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        const tool_benchmark *e = &entries[i];
        json_array_append_new(rows, json_pack("{s:s, s:s, s:i, s:b}", "name", e->name, "help", e->help, "nodes",
                                              e->nodes, "built", e->built));
    }
    return print(rows);
}

/* ---------------------------------------------------------------- plans */

/* A copy, empty if there is none. */
static char *word(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return ti_strdup(value ? value : "");
}

static uint64_t number(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static int by_bytes(const void *a, const void *b)
{
    const tool_plan_name *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void read_names(const json_t *rows, tool_plan *out)
{
    size_t i;
    json_t *row;
    out->names_count = json_array_size(rows);
    out->names = TI_NEW_ARRAY(tool_plan_name, out->names_count ? out->names_count : 1);
    json_array_foreach(rows, i, row)
    {
        out->names[i].name = ti_strdup(json_string_value(json_object_get(row, "name")));
        out->names[i].messages = number(row, "messages_sent") + number(row, "messages_received");
        out->names[i].bytes = number(row, "bytes_sent") + number(row, "bytes_received");
    }
    qsort(out->names, out->names_count, sizeof(*out->names), by_bytes);
}

static void read_idle(const json_t *rows, tool_plan *out)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        tool_plan_idle idle = { .buffer = ti_strdup(json_string_value(json_object_get(row, "buffer"))),
                                .task = ti_strdup(json_string_value(json_object_get(row, "task"))),
                                .access = (int)number(row, "access"),
                                .spans = json_is_true(json_object_get(row, "spans")),
                                .bytes = number(row, "bytes"),
                                .used_bytes = number(row, "used_bytes") };
        ti_vec_push(&out->idle, idle);
    }
}

/* The first one serves the host's memory. */
static void read_memories(const json_t *peaks, tool_plan *out)
{
    for (size_t i = 1; i < json_array_size(peaks); i++) {
        const uint64_t peak = (uint64_t)json_integer_value(json_array_get(peaks, i));
        out->device_memory = TI_MAX(out->device_memory, peak);
    }
}

bool tool_json_read_plan(const char *path, tool_plan *out)
{
    json_t *report = json_load_file(path, 0, NULL);
    const json_t *ns = json_object_get(report, "planning_ns");
    const char *stage;
    json_t *value;
    if (!json_is_true(json_object_get(report, "dry_run"))) {
        json_decref(report);
        return false;
    }
    *out = (tool_plan){ .node = number(report, "node"),
                        .tasks = number(json_object_get(report, "tasks"), "execute"),
                        .messages = number(report, "messages_sent") + number(report, "messages_received") -
                                    number(report, "fence_messages"),
                        .collectives = number(report, "collectives") - number(report, "fence_collectives"),
                        .bytes = number(report, "bytes_sent") + number(report, "bytes_received") -
                                 number(report, "fence_bytes") + number(report, "collective_bytes_given") +
                                 number(report, "collective_bytes_got") - number(report, "fence_collective_bytes"),
                        .peers = number(report, "peers"),
                        .memory = number(report, "buffer_bytes_peak"),
                        .items = number(report, "items"),
                        .items_of_all = number(report, "items_of_all_nodes"),
                        .multicasts = number(report, "multicasts"),
                        .multicast_recipients = number(report, "multicast_recipients"),
                        .multicast_depth = number(report, "multicast_depth"),
                        .multicast_forwards = number(report, "multicast_forwards"),
                        .multicasts_left = number(report, "multicasts_left"),
                        .multicast = word(report, "multicast"),
                        .multicast_tree = word(report, "multicast_tree") };
    json_object_foreach((json_t *)(uintptr_t)ns, stage, value)
    {
        out->planning_ns += (uint64_t)json_integer_value(value);
    }
    read_names(json_object_get(report, "by_task"), out);
    read_idle(json_object_get(report, "idle_memory"), out);
    read_memories(json_object_get(report, "device_bytes_peak"), out);
    json_decref(report);
    return true;
}

static void read_path(const json_t *rows, tool_simulation *out)
{
    size_t i;
    json_t *row;
    out->paths = json_array_size(rows);
    out->path = TI_NEW_ARRAY(tool_path_share, out->paths ? out->paths : 1);
    json_array_foreach(rows, i, row)
    {
        out->path[i].name = ti_strdup(json_string_value(json_object_get(row, "name")));
        out->path[i].ns = json_number_value(json_object_get(row, "ns"));
    }
}

static void read_unmet(const json_t *names, tool_simulation *out)
{
    out->unmet = json_array_size(names);
    out->unmet_kernel = out->unmet ? TI_NEW_ARRAY(char *, out->unmet) : NULL;
    for (size_t i = 0; i < out->unmet; i++) {
        out->unmet_kernel[i] = ti_strdup(json_string_value(json_array_get(names, i)));
    }
}

bool tool_json_read_simulation(const char *path, tool_simulation *out)
{
    static const char *const uses[] = { "kernels", "messages", "planning", "ahead", "idle" };
    json_t *report = json_load_file(path, 0, NULL);
    if (!json_is_true(json_object_get(report, "simulation"))) {
        json_decref(report);
        return false;
    }
    *out = (tool_simulation){ .nodes = (long)number(report, "nodes"),
                              .ns = json_number_value(json_object_get(report, "ns")),
                              .idle_nodes = (long)number(report, "idle_nodes"),
                              .least_busy = json_number_value(json_object_get(report, "least_busy")),
                              .most_busy = json_number_value(json_object_get(report, "most_busy")),
                              .tasks = number(report, "tasks"),
                              .messages = number(report, "messages"),
                              .bytes = number(report, "bytes"),
                              .collectives = number(report, "collectives"),
                              .broadcasts = number(report, "broadcasts"),
                              .recipients = number(report, "broadcast_recipients"),
                              .refused = number(report, "broadcast_refused"),
                              .relayed_bytes = number(report, "relayed_bytes") };
    for (size_t i = 0; i < TI_COUNT(uses); i++) {
        out->use[i] = json_number_value(json_object_get(json_object_get(report, "workers_do"), uses[i]));
    }
    read_path(json_object_get(report, "critical_path"), out);
    read_unmet(json_object_get(report, "unmet_kernels"), out);
    const json_t *replay = json_object_get(report, "replay");
    out->replay.ns = json_number_value(json_object_get(replay, "ns"));
    out->replay.instructions = number(replay, "instructions");
    out->replay.events = number(replay, "events");
    out->replay.moved = number(replay, "moved");
    json_decref(report);
    return true;
}

int tool_json_simulations(const tool_simulation *row, size_t count)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        const tool_simulation *r = &row[i];
        json_t *path = json_array();
        for (size_t k = 0; k < r->paths; k++) {
            json_array_append_new(path, json_pack("{s:o, s:f}", "name", text(r->path[k].name), "ns", r->path[k].ns));
        }
        json_t *out = json_pack(
            "{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, "
            "s:I, s:I, s:I, s:o}",
            "nodes", (json_int_t)r->nodes, "ns", r->ns, "least_busy", r->least_busy, "most_busy", r->most_busy,
            "kernels", r->use[0], "waiting_messages", r->use[1], "waiting_planning", r->use[2], "waiting_ahead",
            r->use[3], "idle", r->use[4], "tasks", (json_int_t)r->tasks, "messages", (json_int_t)r->messages, "bytes",
            (json_int_t)r->bytes, "collectives", (json_int_t)r->collectives, "broadcasts", (json_int_t)r->broadcasts,
            "broadcast_recipients", (json_int_t)r->recipients, "broadcast_refused", (json_int_t)r->refused,
            "relayed_bytes", (json_int_t)r->relayed_bytes, "critical_path", path);
        if (r->replay.instructions) {
            json_object_set_new(out, "recorded",
                                json_pack("{s:f, s:I, s:I, s:I}", "ns", r->replay.ns, "instructions",
                                          (json_int_t)r->replay.instructions, "events", (json_int_t)r->replay.events,
                                          "moved", (json_int_t)r->replay.moved));
        }
        json_array_append_new(rows, out);
    }
    return print(json_pack("{s:o}", "rows", rows));
}

static json_t *idle_memory(const tool_plan *idle)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < idle->idle.count; i++) {
        const tool_plan_idle *w = &idle->idle.data[i];
        json_array_append_new(rows, json_pack("{s:o, s:o, s:i, s:b, s:I, s:I, s:I, s:I}", "buffer", text(w->buffer),
                                              "task", text(w->task), "access", w->access, "spans", w->spans, "bytes",
                                              (json_int_t)w->bytes, "used_bytes", (json_int_t)w->used_bytes, "nodes",
                                              (json_int_t)w->nodes, "node", (json_int_t)w->node));
    }
    return rows;
}

static void set(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

int tool_json_plans(const tool_plan_row *row, size_t count, const tool_plan *most, const tool_plan *idle)
{
    json_t *rows = json_array(), *names = json_array();
    for (size_t i = 0; i < count; i++) {
        const tool_plan_row *r = &row[i];
        json_t *one = json_pack("{s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:f, s:I, s:i}", "nodes", (json_int_t)r->nodes,
                                "tasks", (json_int_t)r->tasks, "us_per_task", r->us_per_task, "messages",
                                (json_int_t)r->messages, "collectives", (json_int_t)r->collectives, "bytes",
                                (json_int_t)r->bytes, "peers", (json_int_t)r->peers, "load", r->load, "memory",
                                (json_int_t)r->memory, "exit_status", r->exit_status);
        set(one, "device_memory", r->device_memory);
        set(one, "multicasts", r->multicasts);
        set(one, "multicast_recipients", r->multicast_recipients);
        set(one, "multicast_depth", r->multicast_depth);
        set(one, "multicast_forwards", r->multicast_forwards);
        set(one, "multicasts_left", r->multicasts_left);
        json_array_append_new(rows, one);
    }
    for (size_t i = 0; i < most->names_count; i++) {
        const tool_plan_name *n = &most->names[i];
        json_array_append_new(names, json_pack("{s:o, s:I, s:I}", "name", text(n->name), "messages",
                                               (json_int_t)n->messages, "bytes", (json_int_t)n->bytes));
    }
    return print(json_pack("{s:o, s:I, s:o, s:o, s:o, s:o}", "rows", rows, "node", (json_int_t)most->node, "tasks",
                           names, "idle_memory", idle_memory(idle), "multicast", text(most->multicast),
                           "multicast_tree", text(most->multicast_tree)));
}
