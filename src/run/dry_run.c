/* Dry runs: see dry_run.h. */
#include "run/dry_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 100000000, MAX_ROWS = 12 };

/* In the order of the kinds. */
static const char *const stage_names[] = { "task_graph", "command_graph", "instruction_graph" };
static const char *const task_names[] = { "execute", "fence", "epoch", "horizon", "create", "destroy" };
static const char *const command_names[] = { "execute", "send",  "receive", "collective", "reduce",
                                             "fence",   "epoch", "create",  "destroy" };
static const char *const instruction_names[] = { "alloc", "free",    "copy",       "kernel", "host",  "collective_host",
                                                 "send",  "receive", "collective", "reduce", "fence", "epoch" };
_Static_assert(TI_COUNT(stage_names) == TI_STAGES, "a name for each stage");
_Static_assert(TI_COUNT(task_names) == TI_TASK_KINDS, "a name for each kind of task");
_Static_assert(TI_COUNT(command_names) == TI_COMMAND_KINDS, "a name for each kind of command");
_Static_assert(TI_COUNT(instruction_names) == TI_INSTRUCTION_KINDS, "a name for each kind of instruction");

static bool parse_int(const char **text, int least, int most, int *out)
{
    char *end;
    long n = **text >= '0' && **text <= '9' ? strtol(*text, &end, 10) : -1;
    if (n < least || n > most) {
        return false;
    }
    *text = end;
    *out = (int)n;
    return true;
}

bool ti_dry_run_parse(const char *text, int *nodes, int *node, ti_strbuf *why)
{
    const char *at = text;
    *node = 0;
    bool good = parse_int(&at, 1, MAX_NODES, nodes);
    if (good && *at == ':') {
        at++;
        good = parse_int(&at, 0, *nodes - 1, node);
    }
    if (!good || *at) {
        ti_strbuf_add(why, "TACIT_DRY_RUN is '%s', but must be NODES or NODES:NODE, such as 1024:512; NODES is 1 to %d",
                      text, MAX_NODES);
        return false;
    }
    return true;
}

void ti_dry_run_announce(int nodes, int node, bool simulated, FILE *out)
{
    if (simulated) {
        fprintf(out, "tacit dry run: simulating %d nodes; no kernel is called and fences give zeros\n", nodes);
    } else {
        fprintf(out, "tacit dry run: planning as node %d of %d; no kernel is called and fences give zeros\n", node,
                nodes);
    }
}

ti_dry_run *ti_dry_run_create(ti_comm_stats *network)
{
    ti_dry_run *run = TI_NEW(ti_dry_run);
    run->executed.network = network;
    return run;
}

void ti_dry_run_destroy(ti_dry_run *run)
{
    if (run) {
        ti_simulation_destroy(run->simulation);
        ti_dry_fini(&run->executed);
        TI_DELETE(run);
    }
}

void ti_dry_run_note_commands(ti_dry_run *run, const ti_task *task, ti_command_batch batch, uint64_t ns)
{
    run->tasks[task->kind]++;
    run->items += task->kind == TI_TASK_EXECUTE ? (uint64_t)ti_box_volume(&task->shape->range) : 0;
    ti_dry_run_note_time(run, task, TI_STAGE_COMMAND, ns);
    for (size_t i = 0; i < batch.count; i++) {
        run->commands[batch.command[i]->kind]++;
    }
}

/* Fences bring results to all nodes, which is no part of a program's steady state: they are counted apart. */
void ti_dry_run_note_time(ti_dry_run *run, const ti_task *task, ti_stage stage, uint64_t ns)
{
    *(task->kind == TI_TASK_FENCE ? &run->fence_ns : &run->ns[stage]) += ns;
}

void ti_dry_run_note_held(ti_dry_run *run, const ti_task_graph *tasks, const ti_command_graph *commands,
                          const ti_instruction_graph *instructions)
{
    ti_command_counts c = ti_command_graph_counts(commands);
    ti_instruction_counts i = ti_instruction_graph_counts(instructions);
    run->tracking_peak = TI_MAX(run->tracking_peak, ti_task_graph_all_entries(tasks) + c.entries + i.entries);
    run->arena_peak = TI_MAX(run->arena_peak, ti_task_graph_arena_bytes(tasks) + c.arena_bytes + i.arena_bytes);
    run->chunks_evaluated = c.chunks_evaluated;
    run->multicast = c.multicast;
}

/* ---- a simulation besides */

bool ti_dry_run_simulate(ti_dry_run *run, const tacit_config *config, ti_system *system, ti_strbuf *why)
{
    if (!config->simulate) {
        return true;
    }
    if (!run) {
        ti_strbuf_add(why,
                      "TACIT_SIMULATE is set, but TACIT_DRY_RUN is not; set it to the number of nodes to simulate");
        return false;
    }
    run->simulation = ti_simulation_create(config, system, why);
    return run->simulation != NULL;
}

bool ti_dry_run_begin(ti_dry_run *run, const tacit_config *config, const ti_system *system, ti_strbuf *why)
{
    return !run || !run->simulation || ti_simulation_begin(run->simulation, system, config, why);
}

bool ti_dry_run_is_known(const ti_dry_run *run)
{
    return run && !(run->simulation && ti_simulation_replays(run->simulation));
}

void ti_dry_run_take(ti_dry_run *run, const ti_task *const *task, size_t count)
{
    if (run && run->simulation) {
        ti_simulation_submit(run->simulation, task, count);
    }
}

void ti_dry_run_wait(ti_dry_run *run, ti_cluster_event what)
{
    if (run && run->simulation) {
        ti_simulation_wait(run->simulation, what);
    }
}

void ti_dry_run_choose(ti_dry_run *run, const ti_system *system)
{
    if (run && run->simulation) {
        ti_simulation_choose(run->simulation, system);
    }
}

void ti_dry_run_give_values(ti_dry_run *run, uint64_t fence, void *data, size_t bytes)
{
    if (run && run->simulation) {
        ti_simulation_give_values(run->simulation, fence, data, bytes);
    }
}

uint64_t ti_dry_run_executed(const ti_dry_run *run, uint64_t executed)
{
    return run && run->simulation ? TI_MIN(executed, ti_simulation_executed(run->simulation)) : executed;
}

static uint64_t sum(const uint64_t *count, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += count[i];
    }
    return total;
}

/* ---- for people */

static void print_counts(FILE *out, const char *label, const uint64_t *count, const char *const *name, size_t n)
{
    fprintf(out, "  %-22s %" PRIu64, label, sum(count, n));
    const char *before = " (";
    for (size_t i = 0; i < n; i++) {
        if (count[i]) {
            fprintf(out, "%s%" PRIu64 " %s", before, count[i], name[i]);
            before = ", ";
        }
    }
    fprintf(out, "%s\n", before[0] == ',' ? ")" : "");
}

static void print_names(FILE *out, const ti_dry *dry)
{
    fprintf(out, "  %-22s %12s %14s %12s %14s %12s %14s\n", "tasks by name", "kernels", "items", "sends", "bytes",
            "receives", "bytes");
    for (size_t i = 0; i < dry->names.count && i < MAX_ROWS; i++) {
        const ti_dry_name *n = &dry->names.data[i];
        fprintf(
            out, "    %-20.20s %12" PRIu64 " %14" PRIu64 " %12" PRIu64 " %14" PRIu64 " %12" PRIu64 " %14" PRIu64 "\n",
            n->name, n->kernels, n->items, n->messages_sent, n->bytes_sent, n->messages_received, n->bytes_received);
    }
    if (dry->names.count > MAX_ROWS) {
        fprintf(out, "    and %zu more (TACIT_DRY_RUN_REPORT has all)\n", dry->names.count - MAX_ROWS);
    }
}

/* Allocations of which most lies idle. */
static void print_loose(FILE *out, const ti_dry_memory *memory)
{
    for (size_t i = 0; i < memory->loose.count && i < MAX_ROWS; i++) {
        const ti_dry_loose *l = &memory->loose.data[i];
        fprintf(out, "  %-22s %" PRIu64 " bytes of '%s', of which %" PRIu64 " are touched", i ? "" : "idle memory",
                l->bytes, l->buffer, l->used_bytes);
        if (l->task) {
            fprintf(out, " (task '%s', access %d)", l->task, l->access);
        }
        fprintf(out, "\n");
    }
}

/* Who finds what several nodes read. */
static const char *multicast_name(const ti_system *system)
{
    return system->multicast == TI_MULTICAST_NONE      ? "off"
           : system->multicast == TI_MULTICAST_DYNAMIC ? "dynamic"
           : system->found_tree == TI_TREE_FLAT        ? "planned"
                                                       : "by_size";
}

static const char *tree_name(const ti_system *system)
{
    static const char *const names[] = { "flat", "binomial", "binary", "chain" };
    return system->multicast >= TI_MULTICAST_TREES ? names[system->multicast - TI_MULTICAST_TREES] : "";
}

/* What a device has allocated at most; device 0 serves the host's memory, and its own if it has one. */
static uint64_t peak_of(const ti_dry *dry, int device)
{
    return (size_t)device < dry->place.count ? dry->place.data[device].peak : 0;
}

static void print_memories(const ti_dry *dry, const ti_system *system, FILE *out)
{
    for (int d = 1; d < system->devices; d++) {
        if (ti_system_memory(system, d) != TI_HOST_MEMORY) {
            char name[TI_DEVICE_NAME];
            fprintf(out, "  %-22s %" PRIu64 " bytes at most on device %s\n", "device memory", peak_of(dry, d),
                    ti_system_device_name(system, d, name));
        }
    }
}

static void print_multicasts(const ti_dry_run *run, const ti_system *system, FILE *out)
{
    const ti_multicast_counts *m = &run->multicast;
    if (system->multicast < TI_MULTICAST_TREES) {
        return;
    }
    fprintf(out,
            "  %-22s %" PRIu64 " to %" PRIu64 " nodes, %s, depth %u at most; %" PRIu64 " messages sent on for others\n",
            "planned multicasts", m->multicasts, m->recipients, tree_name(system), m->depth, m->forwards);
    if (system->found_tree != TI_TREE_FLAT) {
        fprintf(out, "  %-22s %" PRIu64 " to %" PRIu64 " nodes, which their sender finds when it has the data\n",
                "left for broadcasts", m->left, m->left_recipients);
    }
}

static void print_table(const ti_dry_run *run, const ti_system *system, FILE *out)
{
    const ti_dry *dry = &run->executed;
    double tasks = (double)TI_MAX(run->tasks[TI_TASK_EXECUTE], 1), total = 0;
    fprintf(out, "tacit dry run: the plan of node %d of %d; nothing was computed\n", system->node, system->num_nodes);
    print_counts(out, "tasks", run->tasks, task_names, TI_TASK_KINDS);
    print_counts(out, "commands", run->commands, command_names, TI_COMMAND_KINDS);
    print_counts(out, "instructions", dry->instructions, instruction_names, TI_INSTRUCTION_KINDS);
    for (int i = 0; i < TI_STAGES; i++) {
        total += (double)run->ns[i];
    }
    fprintf(out, "  %-22s %.3f ms, %.2f us per task (task graph %.2f, command graph %.2f, instruction graph %.2f)\n",
            "planning", 1e-6 * total, 1e-3 * total / tasks, 1e-3 * (double)run->ns[TI_STAGE_TASK] / tasks,
            1e-3 * (double)run->ns[TI_STAGE_COMMAND] / tasks, 1e-3 * (double)run->ns[TI_STAGE_INSTRUCTION] / tasks);
    fprintf(out, "  %-22s %" PRIu64 " messages, %" PRIu64 " bytes\n", "would send", dry->network->messages_sent,
            dry->network->bytes_sent);
    fprintf(out, "  %-22s %" PRIu64 " messages, %" PRIu64 " bytes\n", "would receive", dry->network->messages_received,
            dry->network->bytes_received);
    fprintf(out, "  %-22s %" PRIu64 ", giving %" PRIu64 " and getting %" PRIu64 " bytes\n", "collectives",
            dry->network->collectives, dry->network->collective_bytes_out, dry->network->collective_bytes_in);
    fprintf(out,
            "  %-22s %" PRIu64 " messages, %" PRIu64 " collectives, %" PRIu64 " bytes, %.3f ms of planning besides\n",
            "of these for fences", dry->fence_messages, dry->fence_collectives,
            dry->fence_bytes + dry->fence_collective_bytes, 1e-6 * (double)run->fence_ns);
    print_multicasts(run, system, out);
    fprintf(out, "  %-22s %zu\n", "peers", dry->peers.count);
    fprintf(out, "  %-22s %" PRIu64 "\n", "items", dry->items);
    fprintf(out, "  %-22s %" PRIu64 " bytes at most\n", "buffers", dry->buffer_bytes_peak);
    print_memories(dry, system, out);
    fprintf(out, "  %-22s %" PRIu64 " tracking entries, %" PRIu64 " bytes of arenas at most\n", "bookkeeping",
            run->tracking_peak, run->arena_peak);
    print_loose(out, &dry->memory);
    print_names(out, dry);
}

/* ---- for programs */

static void add_number(ti_strbuf *out, const char *key, uint64_t value)
{
    ti_strbuf_add(out, "  \"%s\": %" PRIu64 ",\n", key, value);
}

static void add_counts(ti_strbuf *out, const char *key, const uint64_t *count, const char *const *name, size_t n)
{
    ti_strbuf_add(out, "  \"%s\": {", key);
    for (size_t i = 0; i < n; i++) {
        ti_strbuf_add(out, "%s\"%s\": %" PRIu64, i ? ", " : "", name[i], count[i]);
    }
    ti_strbuf_add(out, "},\n");
}

/* By device; see peak_of. */
static void add_memories(ti_strbuf *out, const ti_dry *dry, const ti_system *system)
{
    ti_strbuf_add(out, "  \"device_bytes_peak\": [");
    for (int d = 0; d < system->devices; d++) {
        ti_strbuf_add(out, "%s%" PRIu64, d ? ", " : "", peak_of(dry, d));
    }
    ti_strbuf_add(out, "],\n");
}

static void add_names(ti_strbuf *out, const ti_dry *dry)
{
    ti_strbuf_add(out, "  \"by_task\": [");
    for (size_t i = 0; i < dry->names.count; i++) {
        const ti_dry_name *n = &dry->names.data[i];
        ti_strbuf_add(out, "%s\n    {\"name\": ", i ? "," : "");
        ti_strbuf_add_json(out, n->name);
        ti_strbuf_add(out,
                      ", \"kernels\": %" PRIu64 ", \"items\": %" PRIu64 ", \"messages_sent\": %" PRIu64
                      ", \"bytes_sent\": %" PRIu64 ", \"messages_received\": %" PRIu64 ", \"bytes_received\": %" PRIu64
                      "}",
                      n->kernels, n->items, n->messages_sent, n->bytes_sent, n->messages_received, n->bytes_received);
    }
    ti_strbuf_add(out, "\n  ]\n");
}

static void add_loose(ti_strbuf *out, const ti_dry_memory *memory)
{
    ti_strbuf_add(out, "  \"idle_memory\": [");
    for (size_t i = 0; i < memory->loose.count; i++) {
        const ti_dry_loose *l = &memory->loose.data[i];
        ti_strbuf_add(out, "%s\n    {\"buffer\": ", i ? "," : "");
        ti_strbuf_add_json(out, l->buffer);
        ti_strbuf_add(out, ", \"task\": ");
        ti_strbuf_add_json(out, l->task ? l->task : "");
        ti_strbuf_add(out, ", \"access\": %d, \"spans\": %s, \"bytes\": %" PRIu64 ", \"used_bytes\": %" PRIu64 "}",
                      l->access, l->spans ? "true" : "false", l->bytes, l->used_bytes);
    }
    ti_strbuf_add(out, "],\n");
}

static void add_json(const ti_dry_run *run, const ti_system *system, ti_strbuf *out)
{
    const ti_dry *dry = &run->executed;
    ti_strbuf_add(out, "{\n  \"dry_run\": true,\n");
    add_number(out, "nodes", (uint64_t)system->num_nodes);
    add_number(out, "node", (uint64_t)system->node);
    add_number(out, "devices", (uint64_t)system->devices);
    add_number(out, "workers", (uint64_t)system->workers);
    add_number(out, "horizon_step", (uint64_t)system->horizon_step);
    add_number(out, "horizon_front", (uint64_t)system->horizon_front);
    add_counts(out, "tasks", run->tasks, task_names, TI_TASK_KINDS);
    add_counts(out, "commands", run->commands, command_names, TI_COMMAND_KINDS);
    add_counts(out, "instructions", dry->instructions, instruction_names, TI_INSTRUCTION_KINDS);
    add_counts(out, "planning_ns", run->ns, stage_names, TI_STAGES);
    add_number(out, "chunks_evaluated", run->chunks_evaluated);
    add_number(out, "messages_sent", dry->network->messages_sent);
    add_number(out, "bytes_sent", dry->network->bytes_sent);
    add_number(out, "messages_received", dry->network->messages_received);
    add_number(out, "bytes_received", dry->network->bytes_received);
    add_number(out, "collectives", dry->network->collectives);
    add_number(out, "collective_bytes_given", dry->network->collective_bytes_out);
    add_number(out, "collective_bytes_got", dry->network->collective_bytes_in);
    ti_strbuf_add(out, "  \"multicast\": \"%s\",\n  \"multicast_tree\": \"%s\",\n", multicast_name(system),
                  tree_name(system));
    add_number(out, "multicasts", run->multicast.multicasts);
    add_number(out, "multicast_recipients", run->multicast.recipients);
    add_number(out, "multicast_depth", run->multicast.depth);
    add_number(out, "multicast_forwards", run->multicast.forwards);
    add_number(out, "multicasts_left", run->multicast.left);
    add_number(out, "multicast_left_recipients", run->multicast.left_recipients);
    add_number(out, "fence_collectives", dry->fence_collectives);
    add_number(out, "fence_collective_bytes", dry->fence_collective_bytes);
    add_number(out, "fence_messages", dry->fence_messages);
    add_number(out, "fence_bytes", dry->fence_bytes);
    add_number(out, "fence_planning_ns", run->fence_ns);
    add_number(out, "peers", dry->peers.count);
    add_number(out, "items", dry->items);
    add_number(out, "items_of_all_nodes", run->items);
    add_number(out, "buffer_bytes_peak", dry->buffer_bytes_peak);
    add_memories(out, dry, system);
    add_number(out, "tracking_entries_peak", run->tracking_peak);
    add_number(out, "arena_bytes_peak", run->arena_peak);
    add_number(out, "allocated_bytes_peak", ti_alloc_peak());
    add_loose(out, &dry->memory);
    add_names(out, dry);
    ti_strbuf_add(out, "}\n");
}

bool ti_dry_run_report(ti_dry_run *run, const ti_system *system, const tacit_config *config, ti_strbuf *why)
{
    const char *path = config->dry_run_report;
    ti_dry_memory_end(&run->executed.memory);
    if (!run->simulation) {
        print_table(run, system, stderr);
    } else if (!ti_simulation_report(run->simulation, config->simulate_report, why)) {
        return false;
    }
    if (!path) {
        return true;
    }
    ti_strbuf text = { 0 };
    add_json(run, system, &text);
    bool ok = ti_strbuf_write(&text, path);
    if (!ok) {
        ti_strbuf_add(why,
                      "cannot write '%s': %s; set TACIT_DRY_RUN_REPORT to a path in a folder that exists and has room",
                      path, strerror(errno));
    }
    ti_strbuf_fini(&text);
    return ok;
}
