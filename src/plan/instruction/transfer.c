/* The instruction graph, messages: many at once, since a task may exchange data with every node.
 *
 * What the messages of one task and buffer have in common is looked up once, and room for their instructions is taken for a few at a time. Messages
 * in a row that send the same box depend on the same, so the tracker is asked once for all of them. */
#include "plan/instruction/impl.h"

enum { AT_ONCE = 32 };

static bool is_transfer(const ti_command *command)
{
    return command->kind == TI_COMMAND_SEND || command->kind == TI_COMMAND_RECEIVE;
}

/* ---- needs */

static bool has_all(const ti_buffer_memory *memory, const ti_command *command)
{
    for (uint32_t i = 0; i < command->as.transfer.boxes; i++) {
        if (!ti_buffer_memory_has(memory, &command->as.transfer.box[i])) {
            return false;
        }
    }
    return true;
}

size_t ti_instruction_count_allocated(ti_instruction_graph *graph, const ti_command *const *command, size_t left)
{
    if (!is_transfer(command[0])) {
        return 0;
    }
    const ti_task *task = command[0]->task;
    const ti_buffer_info *buffer = command[0]->as.transfer.buffer;
    const ti_buffer_memory *memory = ti_instruction_memory(graph, buffer, TI_HOST_MEMORY);
    bool whole = ti_buffer_memory_has(memory, &buffer->extent);
    size_t n = 0;
    while (n < left && is_transfer(command[n]) && command[n]->task == task &&
           command[n]->as.transfer.buffer == buffer && (whole || has_all(memory, command[n]))) {
        n++;
    }
    return n;
}

/* ---- instructions */

/* Messages in a row that differ in their boxes and peers only. Between those of a node with several memories there may be copies. */
static size_t length_of_run(const ti_instruction_graph *graph, const ti_command *const *command, size_t left)
{
    size_t most = graph->system->memories == 1 ? TI_MIN(left, (size_t)AT_ONCE) : 1, n = 1;
    while (n < most && command[n]->kind == command[0]->kind && command[n]->task == command[0]->task &&
           command[n]->as.transfer.buffer == command[0]->as.transfer.buffer) {
        n++;
    }
    return n;
}

/* How many messages in a row send the same one box. */
static size_t count_alike(const ti_command *const *command, size_t left)
{
    size_t n = 1;
    if (command[0]->kind != TI_COMMAND_SEND || command[0]->as.transfer.boxes != 1) {
        return 1;
    }
    while (n < left && command[n]->as.transfer.boxes == 1 &&
           ti_box_equal(command[n]->as.transfer.box, command[0]->as.transfer.box)) {
        n++;
    }
    return n;
}

/* The dimension along which `b` follows `a`, or -1. */
static int follows_along(const ti_box *a, const ti_box *b)
{
    int along = -1;
    for (int d = 0; d < 3; d++) {
        if (a->min[d] != b->min[d] || a->max[d] != b->max[d]) {
            if (along >= 0 || a->max[d] != b->min[d]) {
                return -1;
            }
            along = d;
        }
    }
    return along;
}

/* Find messages in a row whose boxes lie side by side. Whether they are so many that it matters. */
static bool find_row(const ti_command *const *command, size_t left, ti_box_run *row)
{
    enum { LEAST = 4 };
    size_t most = TI_MIN(left, (size_t)TI_MAX_IN_RUN);
    if (left < LEAST || command[0]->as.transfer.boxes != 1 || command[1]->as.transfer.boxes != 1) {
        return false;
    }
    row->box = command[0]->as.transfer.box[0];
    row->along = follows_along(&row->box, command[1]->as.transfer.box);
    int d = TI_MAX(row->along, 0);
    row->border[0] = row->box.min[d];
    row->border[1] = row->box.max[d];
    for (row->count = 1; row->along >= 0 && row->count < most; row->count++) {
        const ti_box *last = command[row->count - 1]->as.transfer.box, *next = command[row->count]->as.transfer.box;
        if (command[row->count]->as.transfer.boxes != 1 || follows_along(last, next) != d) {
            break;
        }
        row->border[row->count + 1] = row->box.max[d] = next->max[d];
    }
    return row->count >= LEAST;
}

/* Where messages in a row are compiled to: room for what they need. */
typedef struct room {
    ti_buffer_memory *memory;
    bool known; /* all boxes lie in the allocation that was found last */
    ti_instruction_box *box;
    size_t alone;  /* messages that no row helps */
    uint64_t *dep; /* one per message; those that depend on more find room themselves */
} room;

static void finish(ti_instruction_graph *graph, ti_instruction *instruction, room *at)
{
    const ti_deps *deps = &graph->emit.deps;
    instruction->deps = (uint32_t)deps->ids.count;
    instruction->dep = at->dep;
    if (TI_LIKELY(deps->ids.count == 1)) {
        *at->dep++ = deps->ids.data[0];
    } else {
        instruction->dep = ti_arena_copy(ti_arena_ring_top(&graph->emit.arenas), deps->ids.data,
                                         deps->ids.count * sizeof(uint64_t));
    }
    graph->emit.batch.data[graph->emit.batch.count++] = instruction;
}

static void compile_part(ti_instruction_graph *graph, const room *at, const ti_command *command, const ti_box *part,
                         uint64_t id)
{
    if (TI_UNLIKELY(!at->known && !ti_buffer_memory_has(at->memory, part))) {
        ti_buffer_memory_turn_to(at->memory, part);
    }
    *at->box = (ti_instruction_box){ { .allocation = at->memory->latest.id, .whole = at->memory->latest.box }, *part };
    if (command->kind == TI_COMMAND_SEND) {
        ti_tracker_read(&at->memory->tracker, part, id, &graph->emit.deps);
    } else {
        ti_tracker_write(&at->memory->tracker, part, id, &graph->emit.deps);
        ti_instruction_note_write(graph, command->as.transfer.buffer, part, TI_HOST_MEMORY);
    }
}

static void start_message(ti_instruction_graph *graph, const ti_command *command, ti_instruction *instruction,
                          const room *at)
{
    instruction->kind = command->kind == TI_COMMAND_SEND ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE;
    instruction->id = graph->emit.next_id++;
    instruction->task = command->task;
    instruction->priority = command->task->shape->priority;
    instruction->device = 0;
    instruction->as.transfer.peer = command->as.transfer.peer;
    instruction->as.transfer.counter = command->as.transfer.counter;
    instruction->as.transfer.box = at->box;
    instruction->as.transfer.boxes = command->as.transfer.boxes;
    instruction->as.transfer.elem_size = command->as.transfer.buffer->elem_size;
    instruction->as.transfer.buffer = command->as.transfer.buffer;
}

static void compile_message(ti_instruction_graph *graph, const ti_command *command, ti_instruction *instruction,
                            room *at)
{
    start_message(graph, command, instruction, at);
    ti_deps_start(&graph->emit.deps, instruction->id);
    for (uint32_t i = 0; i < command->as.transfer.boxes; i++, at->box++) {
        compile_part(graph, at, command, &command->as.transfer.box[i], instruction->id);
    }
    finish(graph, instruction, at);
}

/* The message at `first` has been compiled; those after it send the same. */
static void compile_alike(ti_instruction_graph *graph, ti_buffer_memory *memory, const ti_command *const *command,
                          ti_instruction *first, size_t n)
{
    ti_tracker_read_again(&memory->tracker, &first->as.transfer.box->box, first->id + 1, n - 1);
    for (size_t i = 1; i < n; i++) {
        ti_instruction *instruction = first + i;
        instruction->kind = first->kind;
        instruction->deps = first->deps;
        instruction->dep = first->dep;
        instruction->id = graph->emit.next_id++;
        instruction->task = first->task;
        instruction->priority = first->priority;
        instruction->device = 0;
        instruction->as.transfer = first->as.transfer;
        instruction->as.transfer.peer = command[i]->as.transfer.peer;
        instruction->as.transfer.counter = command[i]->as.transfer.counter;
        graph->emit.batch.data[graph->emit.batch.count++] = instruction;
    }
}

static bool track_row(ti_instruction_graph *graph, ti_command_kind kind, const ti_box_run *row, ti_tracker *tracker)
{
    uint64_t first = graph->emit.next_id;
    ti_deps_start(&graph->emit.deps, first);
    return kind == TI_COMMAND_SEND ? ti_tracker_read_run(tracker, row, first, &graph->emit.deps)
                                   : ti_tracker_write_run(tracker, row, first, &graph->emit.deps);
}

/* Messages in a row whose boxes lie side by side, if they depend on the same: how many, or 0. */
static size_t compile_row(ti_instruction_graph *graph, const ti_command *const *command, size_t left,
                          ti_instruction *instruction, room *at)
{
    ti_box_run row;
    if (!at->known || at->alone > 0 || !find_row(command, left, &row)) {
        at->alone -= at->alone > 0;
        return 0;
    }
    if (!track_row(graph, command[0]->kind, &row, &at->memory->tracker)) {
        at->alone = row.count - 1;
        return 0;
    }
    const ti_place place = { .allocation = at->memory->latest.id, .whole = at->memory->latest.box };
    for (uint32_t i = 0; i < row.count; i++, at->box++) {
        start_message(graph, command[i], &instruction[i], at);
        *at->box = (ti_instruction_box){ place, command[i]->as.transfer.box[0] };
        instruction[i].deps = i ? instruction->deps : 0;
        instruction[i].dep = instruction->dep;
        if (i == 0) {
            finish(graph, instruction, at);
        } else {
            graph->emit.batch.data[graph->emit.batch.count++] = &instruction[i];
        }
    }
    return row.count;
}

static void make_fresh(ti_instruction_graph *graph, const ti_command *command)
{
    for (uint32_t i = 0; command->kind == TI_COMMAND_SEND && i < command->as.transfer.boxes; i++) {
        ti_instruction_make_fresh(graph, command->task, command->as.transfer.buffer, &command->as.transfer.box[i],
                                  TI_HOST_MEMORY);
    }
}

/* Take room for `n` messages. */
static room make_room(ti_instruction_graph *graph, const ti_command *const *command, size_t n)
{
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    size_t boxes = 0;
    for (size_t i = 0; i < n; i++) {
        boxes += command[i]->as.transfer.boxes;
    }
    ti_vec_reserve(&graph->emit.batch, graph->emit.batch.count + n);
    return (room){ .memory = ti_instruction_memory(graph, command[0]->as.transfer.buffer, TI_HOST_MEMORY),
                   .box = TI_ARENA_ARRAY(arena, ti_instruction_box, boxes),
                   .dep = TI_ARENA_ARRAY(arena, uint64_t, n) };
}

size_t ti_instruction_compile_transfers(ti_instruction_graph *graph, size_t index)
{
    const ti_window *w = &graph->window;
    const ti_command *const *command = &w->command.data[index];
    size_t n = length_of_run(graph, command, w->command.count - index), alike;
    if (graph->system->memories > 1) {
        make_fresh(graph, command[0]);
    }
    ti_instruction *instruction = TI_ARENA_ARRAY(ti_arena_ring_top(&graph->emit.arenas), ti_instruction, n);
    room at = make_room(graph, command, n);
    at.known = w->known_first <= index && index + n <= w->known_end && at.memory->latest.id == w->known;
    for (size_t i = 0; i < n; i += alike) {
        alike = compile_row(graph, &command[i], n - i, &instruction[i], &at);
        if (alike > 0) {
            continue;
        }
        compile_message(graph, command[i], &instruction[i], &at);
        alike = count_alike(&command[i], n - i);
        if (alike > 1) {
            compile_alike(graph, at.memory, &command[i], &instruction[i], alike);
        }
    }
    return n;
}
