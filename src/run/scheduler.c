/* The scheduler role: see scheduler.h. */
#include "run/scheduler.h"

#include "base/check.h"
#include "base/clock.h"

enum { TASKS = 1024, INSTRUCTIONS = 4096 };

void ti_scheduler_init(ti_scheduler *s, const ti_system *system, uint64_t patience)
{
    s->patience = patience;
    ti_ring_init(&s->tasks, TASKS);
    ti_ring_init(&s->instructions, INSTRUCTIONS);
    s->commands = ti_command_graph_create(system);
    s->graph = ti_instruction_graph_create(system);
}

void ti_scheduler_fini(ti_scheduler *s)
{
    ti_instruction_graph_destroy(s->graph);
    ti_command_graph_destroy(s->commands);
    ti_ring_fini(&s->instructions);
    ti_ring_fini(&s->tasks);
}

/* Pass on what fits; true if all of the batch is gone. */
static bool pass_on(ti_scheduler *s)
{
    while (s->passed < s->batch.count &&
           ti_ring_push(&s->instructions, (void *)(uintptr_t)s->batch.instruction[s->passed])) {
        s->passed++;
    }
    TI_ASSERT(s->passed <= s->batch.count);
    bool all = s->passed == s->batch.count;
    atomic_store_explicit(&s->backlog, !all, memory_order_relaxed);
    return all;
}

/* A stage has planned a task since *start; the next one begins. */
static void note_stage(ti_scheduler *s, ti_trace_kind kind, const ti_task *task, size_t made, uint64_t *start)
{
    uint64_t end = ti_clock_ns();
    ti_trace_add(s->trace,
                 &(ti_trace_record){
                     .start = *start, .end = end, .task = (uint32_t)task->id, .number = (uint32_t)made, .kind = kind });
    *start = end;
}

static void note_window(ti_scheduler *s)
{
    bool open = ti_instruction_graph_is_waiting(s->graph);
    if (open == (s->window_since != 0)) {
        return;
    }
    uint64_t now = ti_clock_ns();
    if (!open) {
        ti_trace_add(s->trace, &(ti_trace_record){ .start = s->window_since, .end = now, .kind = TI_TRACE_WINDOW });
    }
    s->window_since = open ? now : 0;
}

static void take_batch(ti_scheduler *s, ti_instruction_batch batch)
{
    TI_ASSERT(s->passed == s->batch.count); /* nothing of the one before is left */
    s->batch = batch;
    s->passed = 0;
    s->idle_since = 0;
    if (s->tap) {
        s->tap->instructions(s->tap->user, batch);
    }
    for (size_t i = 0; s->instruction_dot && i < batch.count; i++) {
        ti_dot_instruction(s->instruction_dot, batch.instruction[i]);
    }
    if (TI_UNLIKELY(s->trace != NULL)) {
        note_window(s);
    }
    if (s->patience > 0) {
        atomic_store_explicit(&s->waiting, ti_instruction_graph_is_waiting(s->graph), memory_order_relaxed);
    }
}

/* The step of a cycle of the instruction graph that comes with the task, if that begins a round of a steady loop; else
 * 0. */
static uint64_t begins_cycle(ti_scheduler *s, const ti_task *task)
{
    const bool begins = task->kind != TI_TASK_BRIEF && task->again && task->again % TI_AGAIN_STEPS == 0 &&
                        ti_command_graph_comes_to_round(s->commands, task->again);
    return begins ? ti_instruction_graph_round(s->graph) : 0;
}

static void plan(ti_scheduler *s, const ti_task *task)
{
    const uint64_t cycle = s->round ? begins_cycle(s, task) : 0;
    uint64_t start = s->dry || s->trace ? ti_clock_ns() : 0;
    ti_command_batch commands = ti_command_graph_add(s->commands, &task, 1);
    if (s->dry) {
        ti_dry_run_note_commands(s->dry, task, commands, ti_clock_ns() - start);
        start = ti_clock_ns();
    }
    if (TI_UNLIKELY(s->trace != NULL)) {
        note_stage(s, TI_TRACE_COMMANDS, task, commands.count, &start);
    }
    for (size_t i = 0; s->command_dot && i < commands.count; i++) {
        ti_dot_command(s->command_dot, commands.command[i]);
    }
    if (s->tap) {
        s->tap->commands(s->tap->user, commands);
    }
    take_batch(s, ti_instruction_graph_add(s->graph, commands));
    if (s->round) {
        ti_round_note(s->round, task, cycle,
                      &(ti_round_planned){ commands.count, s->batch, ti_command_graph_holds(s->commands) });
    }
    if (TI_UNLIKELY(s->trace != NULL)) {
        note_stage(s, TI_TRACE_INSTRUCTIONS, task, s->batch.count, &start);
    }
    if (s->dry) {
        ti_dry_run_note_time(s->dry, task, TI_STAGE_INSTRUCTION, ti_clock_ns() - start);
    }
}

void ti_scheduler_close(ti_scheduler *s)
{
    if (ti_instruction_graph_is_waiting(s->graph)) {
        take_batch(s, ti_instruction_graph_close(s->graph));
        pass_on(s);
    }
}

bool ti_scheduler_flush(ti_scheduler *s)
{
    TI_ASSERT(!s->dry && !s->trace && !s->command_dot); /* these see only what comes of a task */
    const bool holds = ti_command_graph_holds(s->commands);
    if (holds) {
        ti_command_batch commands = ti_command_graph_flush(s->commands);
        if (s->tap) {
            s->tap->commands(s->tap->user, commands);
        }
        take_batch(s, ti_instruction_graph_add(s->graph, commands));
        pass_on(s);
        if (s->round) {
            ti_round_interrupt(s->round);
        }
    }
    return holds;
}

/* Nothing more has come for a while: what was kept back should run. */
static bool close_if_idle(ti_scheduler *s)
{
    if (s->patience == 0 || !ti_instruction_graph_is_waiting(s->graph)) {
        return false;
    }
    uint64_t now = ti_clock_ns();
    s->idle_since = s->idle_since ? s->idle_since : now;
    if (now - s->idle_since < s->patience) {
        return false;
    }
    ti_scheduler_close(s);
    return true;
}

void ti_scheduler_release(ti_scheduler *s, uint64_t executed)
{
    if (executed != s->released) {
        TI_ASSERT(executed > s->released);
        s->released = executed;
        ti_command_graph_release(s->commands, executed);
        ti_instruction_graph_release(s->graph, executed);
    }
}

bool ti_scheduler_step(ti_scheduler *s, int budget, uint64_t executed)
{
    ti_scheduler_release(s, executed);
    ti_instruction_graph_set_results(s->graph, atomic_load_explicit(&s->results, memory_order_relaxed));
    bool any = false;
    for (; budget > 0 && pass_on(s); budget--) {
        const ti_task *task = ti_ring_pop(&s->tasks);
        if (!task) {
            return close_if_idle(s) || any;
        }
        const ti_task *later = ti_ring_ahead(&s->tasks, TI_COMMAND_EXPECTED - 1);
        if (later) {
            ti_command_graph_expect(s->commands, later);
        }
        plan(s, task);
        any = true;
    }
    pass_on(s);
    return any;
}

bool ti_scheduler_keep_results(ti_scheduler *s, uint64_t bytes, uint64_t buffers, uint64_t limit)
{
    uint64_t results = atomic_load_explicit(&s->results, memory_order_relaxed);
    if (limit && results + buffers + bytes > limit) {
        return false;
    }
    atomic_store_explicit(&s->results, results + bytes, memory_order_relaxed);
    return true;
}
