/* The instruction graph, cycles: see impl.h, and plan/instruction/cycle.h for the state. The instructions of a steady
 * loop are those of the last time, but for their ids.
 *
 * The commands between two horizons, or points where the program waits for its node, are a segment. If the last few
 * segments are like those before them, the next ones are recorded: commands, and the instructions and dependencies that
 * they become. If what the trackers know then is what they knew before, but for ids, all of which have grown by as many
 * instructions as there were, then the same commands become the same instructions again, and the trackers know the same
 * after them. So as long as each command is the one that was recorded, nothing is derived: an instruction is a copy of
 * the recorded one, and the number of instructions since is added to all ids. Horizons are steps of the cycle like
 * others, so the same holds for what dependencies below them read as.
 *
 * The trackers are not told meanwhile. When another command comes they catch up: the ids that they know grow by the
 * complete rounds, and what the steps of the round at hand have touched is told. Then all is as if each command had
 * been looked at.
 *
 * There are cycles of messages, also of several parts (bundle.c), of collectives, small reductions, fences, and of
 * executions, also of several pieces and on several devices, with the copies that they need between places: which place
 * has what is part of what must be as before. There are none where executions follow their tasks
 * (plan/instruction/follow.h), of windows in tiles, of samples, nor while anything waits in the window. A recorded
 * cycle is good until memory of a buffer is allocated or freed: then the command at hand is another one. Scheduler
 * thread. */
#include "plan/stream/impl.h"

#include "base/map.h"

#include <string.h>

/* A cycle has so many commands at most; trackers with more entries are not compared. */
enum { MAX_STEPS = 65536, MAX_ENTRIES = 32768 };
/* Rounds that make up for recording. */
enum { WORTH = 2 };

void ti_cycle_init(ti_cycle *c, const ti_system *system)
{
    c->off = system->derive_always;
}

/* ---- views */

static void free_views(ti_cycle_views *views)
{
    ti_free(views, sizeof(*views) + views->count * sizeof(*views->view));
}

static void keep_views(ti_cycle *c)
{
    TI_ASSERT(!c->views); /* they have been retired */
    const size_t bytes = c->view.count * sizeof(*c->views->view);
    c->views = ti_alloc(sizeof(*c->views) + bytes);
    c->views->last_task = 0;
    c->views->count = c->view.count;
    if (bytes) {
        memcpy(c->views->view, c->view.data, bytes);
    }
}

static void retire_views(ti_cycle *c)
{
    if (c->views) {
        ti_vec_push(&c->retired, c->views);
        c->views = NULL;
    }
}

void ti_cycle_release(ti_cycle *c, uint64_t executed)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->retired.count; i++) {
        if (c->retired.data[i]->last_task > executed) {
            c->retired.data[kept++] = c->retired.data[i];
        } else {
            free_views(c->retired.data[i]);
        }
    }
    c->retired.count = kept;
}

void ti_cycle_fini(ti_cycle *c)
{
    retire_views(c);
    ti_cycle_release(c, UINT64_MAX);
    ti_vec_fini(&c->retired);
    ti_vec_fini(&c->step);
    ti_vec_fini(&c->dep);
    ti_vec_fini(&c->box);
    ti_vec_fini(&c->touch);
    ti_vec_fini(&c->view);
    ti_vec_fini(&c->chunk);
    ti_vec_fini(&c->combination);
    ti_tracker_state_fini(&c->before);
    ti_tracker_state_fini(&c->after);
    ti_loop_fini(&c->loop);
}

/* ---- recording */

/* What all trackers know. */
static void describe(ti_instruction_graph *graph, ti_tracker_state *state)
{
    ti_follow_catch_up(graph);
    ti_vec_clear(&state->ids);
    ti_vec_clear(&state->others);
    ti_vec_push(&state->ids, graph->emit.era.applied);
    for (size_t i = 0; i < graph->buffer.count; i++) {
        const ti_buffer_state *b = graph->buffer.data[i];
        const size_t places = b ? b->place.count : 0;
        ti_vec_push(&state->others, places);
        for (size_t p = 0; p < places; p++) {
            ti_tracker_describe(&b->place.data[p]->tracker, state);
        }
        if (places > 1) {
            ti_coherence_describe(b->coherence, state);
        }
    }
}

static void start_recording(ti_instruction_graph *graph, size_t segments)
{
    ti_cycle *c = &graph->cycle;
    TI_ASSERT(segments > 0 && graph->window.command.count == 0);
    c->loop.phase = TI_LOOP_RECORDS;
    c->wanted = segments;
    ti_vec_clear(&c->step);
    ti_vec_clear(&c->dep);
    ti_vec_clear(&c->box);
    ti_vec_clear(&c->touch);
    c->told = 0;
    ti_vec_clear(&c->view);
    retire_views(c);
    ti_vec_clear(&c->chunk);
    ti_vec_clear(&c->combination);
    c->first = graph->emit.next_id;
    c->changes = graph->emit.changes;
    describe(graph, &c->before);
}

static void finish_recording(ti_instruction_graph *graph)
{
    ti_cycle *c = &graph->cycle;
    c->length = c->shift = graph->emit.next_id - c->first;
    if (c->changes == graph->emit.changes && graph->emit.era.entries <= MAX_ENTRIES && graph->emit.era.applied) {
        describe(graph, &c->after);
        if (ti_tracker_state_has_grown(&c->before, &c->after, c->length)) {
            TI_ASSERT(c->length == c->step.count && c->told <= c->touch.count); /* a step is an instruction */
            c->loop.phase = TI_LOOP_REPEATS;
            keep_views(c);
            ti_cycle_drop_implied(c);
            c->applied = graph->emit.era.applied;
            c->at = 0;
            c->rounds = 0;
            return;
        }
    }
    ti_loop_give_up(&c->loop, false);
}

/* Buffers of commands before that may be gone by now. */
static bool ends_a_buffer(const ti_command *const *command, size_t count)
{
    bool ends = false;
    for (size_t i = 0; i < count; i++) {
        ends |= command[i]->kind == TI_COMMAND_DESTROY;
    }
    return ends;
}

static void record(ti_instruction_graph *graph, const ti_command *const *command, size_t count, size_t first)
{
    ti_cycle *c = &graph->cycle;
    const size_t end = graph->emit.batch.count;
    bool can = c->step.count + (end - first) <= MAX_STEPS && !ends_a_buffer(command, count);
    size_t at = first;
    for (size_t i = 0; can && i < count; i++) {
        const ti_instruction *const *instruction = graph->emit.batch.data + at;
        const size_t n = ti_cycle_instructions(command[i], instruction, end - at);
        can = ti_cycle_record(graph, command[i], instruction, n);
        at += n;
    }
    if (!can || at != end) {
        ti_loop_give_up(&c->loop, false);
    }
}

/* ---- segments */

static uint64_t word_of(const ti_command *command)
{
    const bool transfer = command->kind == TI_COMMAND_SEND || command->kind == TI_COMMAND_RECEIVE;
    const bool is_point = command->kind == TI_COMMAND_EPOCH, comes_again = command->task->shape->serial || is_point;
    const uint64_t which = transfer ? (uint64_t)command->as.transfer.peer : is_point ? command->task->kind : 0;
    return ((uint64_t)command->kind ^ which << 8 ^ command->task->shape->serial << 32) +
           (comes_again ? 0 : command->id << 8);
}

static void end_segment(ti_instruction_graph *graph)
{
    ti_cycle *c = &graph->cycle;
    ti_loop_end_segment(&c->loop);
    if (c->loop.phase == TI_LOOP_RECORDS) {
        TI_ASSERT(c->wanted > 0);
        if (--c->wanted == 0) {
            finish_recording(graph);
        }
        return;
    }
    const size_t round = graph->emit.era.entries <= MAX_ENTRIES ? ti_loop_round(&c->loop) : 0;
    if (round) {
        start_recording(graph, round);
    }
}

size_t ti_cycle_segment(const ti_command *const *command, size_t count)
{
    size_t n = 0;
    while (n < count && !ti_command_ends_segment(command[n])) {
        n++;
    }
    return TI_MIN(n + 1, count);
}

void ti_cycle_note(ti_instruction_graph *graph, const ti_command *const *command, size_t count, size_t first)
{
    ti_cycle *c = &graph->cycle;
    if (c->off) {
        return;
    }
    if (c->loop.phase == TI_LOOP_RECORDS && count > 0) {
        record(graph, command, count, first);
    }
    for (size_t i = 0; i < count; i++) {
        const bool is_point = command[i]->kind == TI_COMMAND_EPOCH;
        ti_loop_note(&c->loop, word_of(command[i]));
        if (is_point && i + 1 == count && ti_command_ends_segment(command[i]) && graph->window.command.count == 0) {
            end_segment(graph);
        } else if (is_point) {
            ti_loop_forget(&c->loop);
        }
    }
}

/* ---- repeating */

/* The trackers catch up. */
static TI_NOINLINE void stop(ti_instruction_graph *graph)
{
    ti_cycle *c = &graph->cycle;
    const uint64_t applied = graph->emit.era.applied;
    TI_ASSERT(c->changes == graph->emit.changes && c->shift == (c->rounds + 1) * c->length);
    for (size_t i = 0; i < graph->buffer.count && c->rounds > 0; i++) {
        const ti_buffer_state *b = graph->buffer.data[i];
        for (size_t p = 0; b && p < b->place.count; p++) {
            ti_tracker_shift(&b->place.data[p]->tracker, c->applied, c->rounds * c->length);
        }
    }
    ti_era_apply(&graph->emit.era, c->applied + c->rounds * c->length);
    uint64_t segments = c->rounds * c->loop.recorded;
    for (size_t at = 0; at < c->at; at++) {
        ti_cycle_tell_step(graph, at);
        segments += c->step.data[at].instruction.kind == TI_INSTRUCTION_EPOCH;
    }
    TI_ASSERT(graph->emit.era.applied == applied);
    (void)applied;
    ti_loop_give_up(&c->loop, c->rounds >= WORTH);
    ti_loop_go_on(&c->loop, segments);
}

uint64_t ti_instruction_graph_round(const ti_instruction_graph *graph)
{
    const ti_cycle *c = &graph->cycle;
    TI_ASSERT(c->at < MAX_STEPS);
    return c->loop.phase == TI_LOOP_REPEATS && graph->window.command.count == 0 ? c->first * MAX_STEPS + c->at : 0;
}

void ti_instruction_graph_pass(ti_instruction_graph *graph, uint64_t instructions)
{
    ti_cycle *c = &graph->cycle;
    TI_ASSERT(c->loop.phase == TI_LOOP_REPEATS && instructions % c->length == 0);
    c->rounds += instructions / c->length;
    c->shift += instructions;
    c->repeated += instructions;
    graph->emit.next_id += instructions;
    graph->newest_point += instructions;
    ti_era_apply(&graph->emit.era, graph->emit.era.applied + instructions);
}

size_t ti_cycle_repeat(ti_instruction_graph *graph, const ti_command *const *command, size_t count)
{
    ti_cycle *c = &graph->cycle;
    if (c->loop.phase != TI_LOOP_REPEATS) {
        return 0;
    }
    ti_vec_reserve(&graph->emit.batch, graph->emit.batch.count + count);
    for (size_t i = 0; i < count;) {
        const ti_cycle_step *main = ti_cycle_main(&c->step.data[c->at]);
        const uint32_t reductions = main->reductions;
        const size_t steps = main->steps + reductions;
        TI_ASSERT(steps > 0 && c->at + steps <= c->step.count);
        if (!ti_cycle_is_step(graph, c->at, command + i, count - i)) {
            stop(graph);
            return i;
        }
        ti_cycle_take_step(graph, c->at, command + i);
        i += 1 + reductions;
        c->repeated += steps;
        c->at += steps;
        TI_ASSERT(graph->emit.next_id == c->first + c->at + c->shift);
        if (c->at == c->step.count) {
            c->at = 0;
            c->rounds++;
            c->shift += c->length;
        }
    }
    return count;
}
