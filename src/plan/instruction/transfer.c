/* The instruction graph, messages: see impl.h. They are compiled many at once, since a task may exchange data with
 * every node.
 *
 * What the messages of one task and buffer have in common is looked up once, and room for their instructions is taken
 * for a few at a time. Messages that follow each other often send the same box, or boxes that are a run
 * (plan/track/tracker.h). Then they depend on the same, and the tracker is asked once for all of them. Scheduler
 * thread. */
#include "plan/instruction/impl.h"

enum { AT_ONCE = TI_MAX_IN_RUN };

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

/* Where the contents come to. Bundles are packed and unpacked by the host. */
static int memory_of(const ti_instruction_graph *graph, const ti_command *command)
{
    bool received = command->kind == TI_COMMAND_RECEIVE && !command->as.transfer.bundle;
    return received ? ti_instruction_receiver(graph, command->task) : TI_HOST_MEMORY;
}

/* What is sent has room in the host's memory, also if it leaves from a device: that may have to make room before. */
void ti_instruction_want_transfer(ti_instruction_graph *graph, const ti_command *command)
{
    const int memory = memory_of(graph, command);
    for (uint32_t i = 0; i < command->as.transfer.boxes; i++) {
        ti_instruction_want(graph, (ti_need){ command->task, -1 }, command->as.transfer.buffer,
                            &command->as.transfer.box[i], memory);
    }
}

size_t ti_instruction_count_allocated(ti_instruction_graph *graph, const ti_command *const *command, size_t left)
{
    if (!is_transfer(command[0]) || memory_of(graph, command[0]) != TI_HOST_MEMORY) {
        return 0;
    }
    const ti_task *task = command[0]->task;
    const ti_buffer_info *buffer = command[0]->as.transfer.buffer;
    const ti_buffer_memory *memory = ti_instruction_memory(graph, buffer, TI_HOST_MEMORY);
    bool whole = ti_buffer_memory_has(memory, &buffer->extent);
    size_t n = 0;
    while (n < left && is_transfer(command[n]) && command[n]->task == task && !command[n]->as.transfer.bundle &&
           memory_of(graph, command[n]) == TI_HOST_MEMORY && command[n]->as.transfer.buffer == buffer &&
           (whole || has_all(memory, command[n]))) {
        n++;
    }
    return n;
}

/* ---- runs */

enum { APART = -1, SAME = 3 };

/* SAME if the boxes are the same; the dimension along which `b` follows `a`; or APART. */
static inline int relation_of(const ti_box *a, const ti_box *b)
{
    int along = SAME;
    for (int d = 0; d < 3; d++) {
        if (a->min[d] != b->min[d] || a->max[d] != b->max[d]) {
            if (along != SAME || a->max[d] != b->min[d]) {
                return APART;
            }
            along = d;
        }
    }
    return along;
}

/* The box of a message that has only one. */
static inline const ti_box *only_box(const ti_command *command)
{
    return command->as.transfer.boxes == 1 ? command->as.transfer.box : NULL;
}

/* The first messages whose boxes are a run, or all the same (along: SAME); or only one (APART). */
static void find_run(const ti_command *const *command, size_t left, ti_box_run *run)
{
    const ti_box *last = only_box(command[0]), *next = last && left > 1 ? only_box(command[1]) : NULL;
    uint32_t count = 1;
    TI_ASSERT(0 < left && left <= AT_ONCE);
    run->count = 1;
    run->along = next ? relation_of(last, next) : APART;
    if (run->along == APART) {
        return;
    }
    int d = run->along == SAME ? 0 : run->along;
    run->box = *last;
    run->border[0] = last->min[d];
    run->border[1] = last->max[d];
    do {
        run->border[++count] = next->max[d];
        last = next;
        next = count < left ? only_box(command[count]) : NULL;
    } while (next && (run->along == SAME ? ti_box_equal(last, next) : relation_of(last, next) == run->along));
    run->box.max[d] = last->max[d];
    run->count = count;
}

/* Ask the tracker for all messages of a run together, the first of which has id `first`. Whether they depend on the
 * same; if not, nothing has changed. */
static bool track_run(ti_instruction_graph *graph, ti_command_kind kind, const ti_box_run *run,
                      ti_buffer_memory *memory, uint64_t first)
{
    enum { MIN_RUN = 4 };
    ti_deps *deps = &graph->emit.deps;
    bool same = run->along == SAME, send = kind == TI_COMMAND_SEND;
    if (same ? !send : run->count < MIN_RUN || !ti_buffer_memory_has(memory, &run->box)) {
        return false;
    }
    ti_deps_start(deps, first);
    if (!same) {
        return send ? ti_tracker_read_run(&memory->tracker, run, first, deps)
                    : ti_tracker_write_run(&memory->tracker, run, first, deps);
    }
    ti_tracker_read(&memory->tracker, &run->box, first, deps);
    ti_tracker_read_again(&memory->tracker, &run->box, first + 1, run->count - 1);
    return true;
}

/* ---- versions */

enum { BROADCAST_NODES = 3 }; /* with fewer, each version has one recipient */

/* Later sends of a version wait for the one instruction that the first one waited for, and not for a horizon that has
 * passed since. What it wrote is still there: a write would have made another version, a copy another allocation. */
static void wait_as_first(ti_instruction_graph *graph, const ti_instruction *message, ti_buffer_memory *memory,
                          ti_sent_version *version)
{
    ti_deps *deps = &graph->emit.deps;
    uint64_t allocation = message->as.transfer.box[0].place.allocation, applied = graph->emit.era.applied;
    if (version->again == 0) {
        version->allocation = allocation;
        version->after = deps->ids.count == 1 ? deps->ids.data[0] : 0;
    } else if (version->after && version->allocation == allocation && version->after < applied &&
               deps->ids.count == 1 && deps->ids.data[0] == applied) {
        ti_deps_start(deps, message->id);
        ti_deps_add(deps, version->after);
        ti_tracker_note_early(&memory->tracker, message->id);
    }
}

/* Contents have versions if a placed task wants them. What a split task reads of one node on several others is sent by
 * all nodes alike, or becomes a collective: a tree would only add hops. */
static bool has_versions(const ti_instruction_graph *graph, const ti_instruction *message)
{
    return message->kind == TI_INSTRUCTION_SEND && message->task->shape->place >= 0 &&
           graph->system->num_nodes >= BROADCAST_NODES;
}

/* Say which contents a message carries, whose dependencies have been gathered. */
static void find_version(ti_instruction_graph *graph, ti_instruction *message, const int *place)
{
    if (!has_versions(graph, message)) {
        return;
    }
    ti_buffer_state *state = ti_instruction_buffer(graph, message->as.transfer.buffer);
    uint32_t boxes = message->as.transfer.boxes;
    ti_sent *sent = ti_sent_at(&graph->sent, state->info->slot);
    for (uint32_t i = 0; i < boxes; i++) {
        ti_sent_version *v = ti_sent_add(sent, &message->as.transfer.box[i].box, &graph->newest_version);
        message->as.transfer.version = TI_MAX(message->as.transfer.version, v->number);
        message->as.transfer.again = TI_MAX(message->as.transfer.again, v->again);
        if (boxes == 1) {
            wait_as_first(graph, message, state->place.data[place ? place[0] : TI_HOST_MEMORY], v);
        }
        v->again++;
    }
}

/* The same for messages of a planned tree, which are all the same, to different nodes. */
static void find_common_version(ti_instruction_graph *graph, ti_instruction *message, uint32_t count)
{
    if (!has_versions(graph, message)) {
        return;
    }
    graph->newest_version++;
    for (uint32_t i = 0; i < count; i++) {
        message[i].as.transfer.version = graph->newest_version;
        message[i].as.transfer.again = i;
    }
}

/* ---- instructions */

/* Messages that differ in their boxes and peers only: how many, with how many boxes. Between those of a buffer with
 * several places there may be copies. */
static size_t count_together(const ti_buffer_state *state, const ti_command *const *command, size_t left, size_t *boxes)
{
    const ti_command *first = command[0];
    size_t max = state->place.count == 1 ? TI_MIN(left, (size_t)AT_ONCE) : 1, n = 1;
    *boxes = first->as.transfer.boxes;
    while (n < max && command[n]->kind == first->kind && command[n]->task == first->task &&
           !command[n]->as.transfer.bundle && command[n]->as.transfer.buffer == first->as.transfer.buffer) {
        *boxes += command[n++]->as.transfer.boxes;
    }
    return n;
}

/* Append `n` messages to the batch: all but what their boxes are and what they depend on. */
static void start_messages(ti_instruction_graph *graph, const ti_command *const *command, size_t n,
                           ti_instruction *message, const ti_instruction_box *box)
{
    const ti_task *task = command[0]->task;
    const ti_buffer_info *buffer = command[0]->as.transfer.buffer;
    bool send = command[0]->kind == TI_COMMAND_SEND;
    int priority = task->shape->priority;
    size_t elem_size = buffer->elem_size;
    uint64_t first = graph->emit.next_id;
    ti_vec_reserve(&graph->emit.batch, graph->emit.batch.count + n);
    const ti_instruction **batch = graph->emit.batch.data + graph->emit.batch.count;
    for (size_t i = 0; i < n; i++) {
        message[i].kind = send ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE;
        message[i].id = first + i;
        message[i].task = task;
        message[i].priority = priority;
        message[i].device = 0;
        message[i].as.transfer.peer = command[i]->as.transfer.peer;
        message[i].as.transfer.boxes = command[i]->as.transfer.boxes;
        message[i].as.transfer.counter = command[i]->as.transfer.counter;
        message[i].as.transfer.box = box;
        message[i].as.transfer.elem_size = elem_size;
        message[i].as.transfer.buffer = buffer;
        message[i].as.transfer.version = 0;
        message[i].as.transfer.again = 0;
        message[i].as.transfer.planned = command[i]->as.transfer.planned;
        box += command[i]->as.transfer.boxes;
        batch[i] = &message[i];
    }
    graph->emit.next_id += n;
    graph->emit.batch.count += n;
}

/* Places were chosen when the contents were made fresh there. */
static void finish_message(ti_instruction_graph *graph, const ti_command *command, const int *place,
                           ti_instruction *message, ti_instruction_box *box)
{
    const ti_buffer_info *buffer = command->as.transfer.buffer;
    ti_deps_start(&graph->emit.deps, message->id);
    for (uint32_t i = 0; i < command->as.transfer.boxes; i++) {
        const ti_box *part = &command->as.transfer.box[i];
        int in = place ? place[i] : TI_HOST_MEMORY;
        box[i] = (ti_instruction_box){ ti_instruction_place(graph, buffer, part, in), *part };
        ti_instruction_touch(graph, buffer, part, in, command->kind == TI_COMMAND_RECEIVE);
    }
    find_version(graph, message, place);
    ti_emit_deps(&graph->emit, message);
}

/* Whether a place has the newest contents of the box, all in one allocation. */
static bool has_newest(ti_instruction_graph *graph, const ti_buffer_state *state, const ti_box *box, size_t place)
{
    if (!ti_buffer_memory_find(state->place.data[place], box)) {
        return false;
    }
    ti_vec_clear(&graph->lacking);
    ti_coherence_lacking(state->coherence, box, (int)place, &graph->lacking);
    return graph->lacking.count == 0;
}

/* A place of an accelerator that has all that is sent, where the network reads it there and the host would need a copy;
 * -1: there is none. A message has one memory, and placed tasks' may be forwarded from the host's. */
static int find_source(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_buffer_state *state = ti_instruction_buffer(graph, command->as.transfer.buffer);
    const uint32_t boxes = command->as.transfer.boxes;
    bool may = graph->system->direct && command->task->shape->place == TI_PLACE_SPLIT, on_host = true;
    for (uint32_t i = 0; may && on_host && i < boxes; i++) {
        const ti_box *box = &command->as.transfer.box[i];
        int host = ti_instruction_place_in(graph, command->as.transfer.buffer, box, TI_HOST_MEMORY);
        on_host = has_newest(graph, state, box, (size_t)host);
    }
    for (size_t p = 1; may && !on_host && p < state->place.count; p++) {
        uint32_t has = 0;
        while (state->place.data[p]->foreign && has < boxes &&
               has_newest(graph, state, &command->as.transfer.box[has], p)) {
            has++;
        }
        if (has == boxes) {
            return (int)p;
        }
    }
    return -1;
}

/* The places of the boxes of a message, where there are several; what it sends is brought there. */
static const int *choose_places(ti_instruction_graph *graph, const ti_command *command)
{
    uint32_t boxes = command->as.transfer.boxes;
    const ti_buffer_info *buffer = command->as.transfer.buffer;
    const int source = command->kind == TI_COMMAND_SEND ? find_source(graph, command) : -1;
    int *place = TI_ARENA_ARRAY(ti_arena_ring_top(&graph->emit.arenas), int, boxes);
    for (uint32_t i = 0; i < boxes; i++) {
        const ti_box *box = &command->as.transfer.box[i];
        place[i] = source >= 0 ? source : ti_instruction_place_in(graph, buffer, box, memory_of(graph, command));
        if (command->kind == TI_COMMAND_SEND) {
            ti_instruction_make_fresh(graph, command->task, buffer, box, place[i]);
        }
    }
    return place;
}

/* Messages whose dependencies have been found together. */
static void finish_run(ti_instruction_graph *graph, const ti_command *const *command, const ti_box_run *run,
                       ti_buffer_memory *memory, ti_instruction *message, ti_instruction_box *box)
{
    const ti_place place = ti_buffer_memory_place(memory, &run->box);
    uint32_t boxes = run->along == SAME ? 1 : run->count;
    ti_emit_deps(&graph->emit, message);
    for (uint32_t i = 0; i < boxes; i++) {
        box[i] = (ti_instruction_box){ place, *command[i]->as.transfer.box };
    }
    for (uint32_t i = 0; i < run->count; i++) {
        ti_instruction_note_touch(graph, message[i].id, command[i]->as.transfer.buffer, command[i]->as.transfer.box,
                                  TI_HOST_MEMORY,
                                  message->kind == TI_INSTRUCTION_SEND ? TI_TOUCH_READS : TI_TOUCH_WRITES);
    }
    for (uint32_t i = 1; i < run->count; i++) {
        message[i].deps = message->deps;
        message[i].dep = message->dep;
        message[i].as.transfer.box = boxes == 1 ? box : &box[i];
    }
    if (run->along == SAME) {
        find_common_version(graph, message, run->count);
    } else if (command[0]->kind == TI_COMMAND_RECEIVE) {
        ti_sent_write(ti_sent_of(&graph->sent, command[0]->as.transfer.buffer->slot), &run->box);
    }
}

size_t ti_instruction_compile_transfers(ti_instruction_graph *graph, size_t index)
{
    const ti_command *const *command = &graph->window.command.data[index];
    const ti_buffer_info *buffer = command[0]->as.transfer.buffer;
    const ti_buffer_state *state = ti_instruction_buffer(graph, buffer);
    ti_buffer_memory *memory = state->place.data[TI_HOST_MEMORY];
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    size_t boxes, n = count_together(state, command, graph->window.command.count - index, &boxes);
    const int *place = state->place.count == 1 ? NULL : choose_places(graph, command[0]);
    TI_ASSERT(n > 0 && index + n <= graph->window.command.count && (!place || n == 1));
    ti_instruction *message = TI_ARENA_ARRAY(arena, ti_instruction, n);
    ti_instruction_box *box = TI_ARENA_ARRAY(arena, ti_instruction_box, boxes);
    start_messages(graph, command, n, message, box);
    for (size_t i = 0, end; i < n; i = end) {
        ti_box_run run;
        find_run(&command[i], n - i, &run);
        end = i + run.count;
        if (!place && track_run(graph, command[i]->kind, &run, memory, message[i].id)) {
            finish_run(graph, &command[i], &run, memory, &message[i], box);
            box += run.count;
            continue;
        }
        for (; i < end; i++) {
            finish_message(graph, command[i], place, &message[i], box);
            box += command[i]->as.transfer.boxes;
        }
    }
    TI_ASSERT(box == message[0].as.transfer.box + boxes);
    return n;
}
