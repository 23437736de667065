/* Planners driven directly: see planning.h. */
#include "planning.h"

#include "base/clock.h"
#include "base/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2 };

static void take(void *user, const ti_task *task)
{
    planning *p = user;
    ti_vec_push(&p->made, task);
}

static void release(planning *p)
{
    ti_task_graph_release(p->tasks, p->planned_point);
}

static void plan_commands(planning *p)
{
    for (size_t i = 0; i < p->made.count; i++) {
        if (i + TI_COMMAND_EXPECTED < p->made.count) {
            ti_command_graph_expect(p->commands, p->made.data[i + TI_COMMAND_EXPECTED]);
        }
        ti_command_batch batch = ti_command_graph_add(p->commands, &p->made.data[i], 1);
        ti_vec_reserve(&p->command, p->command.count + batch.count);
        memcpy(p->command.data + p->command.count, batch.command, batch.count * sizeof(*batch.command));
        p->command.count += batch.count;
        ti_vec_push(&p->border, p->command.count);
    }
}

static size_t plan_instructions(planning *p)
{
    size_t from = 0, made = 0;
    for (size_t i = 0; i < p->made.count; i++) {
        ti_command_batch batch = { .command = p->command.data + from, .count = p->border.data[i] - from };
        made += ti_instruction_graph_add(p->instructions, batch).count;
        from = p->border.data[i];
    }
    /* What waits for later tasks is planned too: the block counts as executed when the next one is planned. */
    return made + ti_instruction_graph_close(p->instructions).count;
}

/* ---- what a block has made */

static bool is_collective(const ti_command *c)
{
    return c->kind == TI_COMMAND_COLLECTIVE || (c->kind == TI_COMMAND_REDUCE && c->as.reduce.what);
}

static uint64_t messages_of(const ti_command *c)
{
    if (c->kind == TI_COMMAND_REDUCE) {
        if (c->as.reduce.what) {
            return 0;
        }
        return (uint64_t)c->as.reduce.tree->children + (c->as.reduce.tree->parent >= 0);
    }
    return c->kind == TI_COMMAND_SEND || c->kind == TI_COMMAND_RECEIVE;
}

static uint64_t bytes_of(const ti_buffer_info *buffer, const ti_box *box, uint32_t boxes)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < boxes; i++) {
        bytes += (uint64_t)ti_box_volume(&box[i]) * buffer->elem_size;
    }
    return bytes;
}

/* A reduction along the tree of nodes takes a value from each child, and gives one to the parent. */
static void note_reduce(planning *p, const ti_command *c)
{
    const ti_buffer_info *buffer = c->task->shape->access[c->as.reduce.access].buffer;
    const ti_collective *what = c->as.reduce.what;
    uint64_t value = bytes_of(buffer, &buffer->extent, 1);
    if (what) {
        p->counts.sent_bytes += value;
        p->counts.received_bytes += bytes_of(buffer, what->get, what->gets);
        return;
    }
    p->counts.sent_bytes += c->as.reduce.tree->parent >= 0 ? value : 0;
    p->counts.received_bytes += value * (uint64_t)c->as.reduce.tree->children;
}

static void note_bytes(planning *p, const ti_command *c)
{
    if (c->kind == TI_COMMAND_SEND) {
        p->counts.sent_bytes += bytes_of(c->as.transfer.buffer, c->as.transfer.box, c->as.transfer.boxes);
    } else if (c->kind == TI_COMMAND_RECEIVE) {
        p->counts.received_bytes += bytes_of(c->as.transfer.buffer, c->as.transfer.box, c->as.transfer.boxes);
    } else if (c->kind == TI_COMMAND_COLLECTIVE) {
        p->counts.sent_bytes += bytes_of(c->as.collective.buffer, c->as.collective.give, c->as.collective.gives);
        p->counts.received_bytes += bytes_of(c->as.collective.buffer, c->as.collective.get, c->as.collective.gets);
    } else if (c->kind == TI_COMMAND_REDUCE && p->run.nodes > 1) {
        note_reduce(p, c);
    }
}

static void see(planning *p, const ti_task *task)
{
    ti_arena arena = { 0 };
    p->see(p->user, task->kind == TI_TASK_BRIEF ? ti_brief_task(task, &arena) : task);
    ti_arena_fini(&arena);
}

static void note_block(planning *p, size_t tasks, size_t instructions)
{
    p->counts.tasks += tasks;
    p->counts.instructions += instructions;
    p->counts.commands += p->command.count;
    for (size_t i = 0; i < p->made.count; i++) {
        if (p->made.data[i]->kind == TI_TASK_HORIZON) {
            p->counts.horizons++;
        }
        p->counts.briefs += p->made.data[i]->kind == TI_TASK_BRIEF;
        if (p->see) {
            see(p, p->made.data[i]);
        }
    }
    for (size_t i = 0; i < p->command.count; i++) {
        p->counts.messages += messages_of(p->command.data[i]);
        p->counts.collectives += is_collective(p->command.data[i]);
        note_bytes(p, p->command.data[i]);
        if (p->command.data[i]->kind == TI_COMMAND_EPOCH) { /* not before: windows of pure tasks hold horizons */
            p->planned_point = TI_MAX(p->planned_point, p->command.data[i]->task->id);
        }
        p->counts.executions += p->command.data[i]->kind == TI_COMMAND_EXECUTE;
        if (p->look) {
            p->look(p->user, p->command.data[i]);
        }
    }
    ti_command_counts c = ti_command_graph_counts(p->commands);
    ti_instruction_counts n = ti_instruction_graph_counts(p->instructions);
    uint64_t entries = ti_task_graph_all_entries(p->tasks) + c.entries + n.entries;
    uint64_t bytes = ti_task_graph_arena_bytes(p->tasks) + c.arena_bytes + n.arena_bytes;
    p->counts.chunks_evaluated = c.chunks_evaluated;
    p->entries_peak = TI_MAX(p->entries_peak, entries);
    p->arena_peak = TI_MAX(p->arena_peak, bytes);
    ti_vec_clear(&p->made);
    ti_vec_clear(&p->command);
    ti_vec_clear(&p->border);
}

static uint64_t now(const planning *p)
{
    struct timespec t;
    if (!p->large) {
        return ti_clock_ns();
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The second and third stage of what has been submitted since `start`. */
static void finish_block(planning *p, size_t tasks, uint64_t start, uint64_t ns[PLANNING_STAGES])
{
    uint64_t submitted = now(p);
    ti_command_graph_release(p->commands, p->planned_point);
    plan_commands(p);
    uint64_t commanded = now(p);
    ti_instruction_graph_release(p->instructions, p->planned_point);
    size_t instructions = plan_instructions(p);
    uint64_t instructed = now(p);
    ns[0] += submitted - start;
    ns[1] += commanded - submitted;
    ns[2] += instructed - commanded;
    note_block(p, tasks, instructions);
}

void planning_block(planning *p, size_t tasks, uint64_t ns[PLANNING_STAGES])
{
    const planning_counts before = p->counts;
    uint64_t of_block[PLANNING_STAGES] = { 0 }, sum = 0;
    uint64_t start = now(p);
    release(p);
    for (size_t i = 0; i < tasks; i++) {
        pattern_next(&p->run);
    }
    finish_block(p, tasks, start, of_block);
    for (int s = 0; s < PLANNING_STAGES; s++) {
        ns[s] += of_block[s];
        sum += of_block[s];
    }
    if (p->counts.executions == before.executions && p->counts.messages == before.messages &&
        p->counts.collectives == before.collectives) {
        p->foreign_ns += sum;
        p->foreign_tasks += tasks;
    }
}

uint64_t planning_horizon(planning *p)
{
    uint64_t of_task[PLANNING_STAGES] = { 0 }, of_horizon[PLANNING_STAGES] = { 0 };
    uint64_t clock = 3 * planning_clock_ns(p);
    release(p);
    p->horizon_ns = 0;
    ti_task_graph_time_horizons(p->tasks, &p->horizon_ns);
    pattern_next(&p->run);
    ti_task_graph_time_horizons(p->tasks, NULL);
    const ti_task *horizon = p->made.count > 1 ? p->made.data[1] : NULL;
    p->made.count = 1;
    finish_block(p, 1, ti_clock_ns(), of_task);
    if (!horizon) {
        return 0;
    }
    ti_vec_push(&p->made, horizon);
    finish_block(p, 0, ti_clock_ns(), of_horizon);
    uint64_t sum = p->horizon_ns + of_horizon[1] + of_horizon[2];
    return sum > clock ? sum - clock : 1;
}

void planning_wait(planning *p)
{
    static const ti_shape shape = { .name = "wait" };
    const ti_task *made[TI_TASK_GRAPH_BATCH];
    uint64_t ns[PLANNING_STAGES] = { 0 };
    size_t count = ti_task_graph_add(p->tasks, ti_task_graph_new(p->tasks, TI_TASK_EPOCH, &shape), made);
    for (size_t i = 0; i < count; i++) {
        ti_vec_push(&p->made, made[i]);
    }
    finish_block(p, 0, now(p), ns);
}

uint64_t planning_clock_ns(planning *p)
{
    enum { READS = 64 };
    uint64_t *known = &p->clock_ns[p->large];
    for (int round = 0; !*known || round % READS; round++) {
        uint64_t start = now(p);
        for (int i = 1; i < READS; i++) {
            (void)now(p);
        }
        uint64_t mean = TI_MAX((now(p) - start) / READS, 1);
        *known = *known ? TI_MIN(*known, mean) : mean;
    }
    return *known;
}

/* ---- begin and end */

static tacit_context *create_context(const planning_options *o)
{
    const tacit_config given = { .workers = WORKERS };
    tacit_config config;
    tacit_context *ctx = NULL;
    ti_strbuf why = { 0 };
    if (ti_config_resolve(&given, &config, &why) != TACIT_OK) {
        fprintf(stderr, "%s\n", ti_strbuf_text(&why));
        exit(EXIT_FAILURE);
    }
    ti_strbuf_fini(&why);
    config.dry_run = "as the network says";
    config.graph = NULL;
    config.host_devices = o->host_devices;
    config.collectives = o->collectives ? o->collectives : config.collectives;
    if (config.multicast == TACIT_MULTICAST_AUTO) { /* a window of its own, if it is asked for */
        config.multicast = TACIT_MULTICAST_DYNAMIC;
    }
    config.latency = o->latency ? o->latency : config.latency;
    config.overlap = o->overlap ? o->overlap : TACIT_OVERLAP_OFF;
    config.horizon_step = o->horizon_step ? o->horizon_step : config.horizon_step;
    config.horizon_front = o->horizon_front ? o->horizon_front : config.horizon_front;
    if (ti_context_create(&config, ti_comm_dry_create(o->node, o->nodes), &ctx) != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(NULL));
        exit(EXIT_FAILURE);
    }
    return ctx;
}

void planning_open(planning *p, const planning_options *o, uint64_t ns[PLANNING_STAGES])
{
    memset(p, 0, sizeof(*p));
    p->ctx = create_context(o);
    p->ctx->entered = UINT64_MAX; /* no look at the clock in every call, which only dry runs take */
    const ti_system *system = ti_runtime_system(p->ctx->runtime);
    p->tasks = ti_runtime_task_graph(p->ctx->runtime);
    p->commands = ti_command_graph_create(system);
    p->instructions = ti_instruction_graph_create(system);
    ti_runtime_divert(p->ctx->runtime, take, p, !o->whole);
    uint64_t start = ti_clock_ns();
    pattern_start(&p->run, o->pattern, p->ctx, o->tasks, o->tiles);
    finish_block(p, 0, start, ns);
}

void planning_close(planning *p)
{
    ti_instruction_graph_destroy(p->instructions);
    ti_command_graph_destroy(p->commands);
    ti_context_discard(p->ctx); /* its last tasks are diverted, too, and dropped */
    ti_vec_fini(&p->made);
    ti_vec_fini(&p->command);
    ti_vec_fini(&p->border);
}
