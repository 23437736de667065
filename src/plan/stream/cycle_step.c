/* The instruction graph, a step of a cycle: see impl.h, and plan/instruction/cycle.h for what is kept of it. A step is
 * an instruction that a command became, and becomes again in each round.
 *
 * What is recorded of a step: the dependencies that trackers have found, and all of the instruction but what comes with
 * the command: its task, the counter of a message and the like. Staging memory of reductions is taken and given back
 * each time, since which one comes next does not follow from the trackers: so kernels wait for its last users besides.
 * A cycle goes on only as long as there is enough of it, so that none is allocated or freed. Scheduler thread. */
#include "plan/instruction/staging.h"
#include "plan/stream/impl.h"

#include <stddef.h>
#include <string.h>

/* ---- recording */

/* The template that executions of the shape have now, or NULL. */
static inline ti_template *template_of(const ti_instruction_graph *graph, const ti_shape *shape)
{
    const ti_templates *all = &graph->templates;
    const ti_template_entry *e = shape->number < all->entry.count ? &all->entry.data[shape->number] : NULL;
    return e && e->serial == shape->serial ? e->current : NULL;
}

/* Whether the execution has nothing that differs from task to task. */
static inline bool is_plain(const ti_command *execute)
{
    return !execute->as.execute.samples && !execute->as.execute.window;
}

static bool record_views(ti_cycle *c, const ti_shape *shape, const ti_instruction *i, ti_cycle_step *s)
{
    bool can = !i->as.kernel.runs;
    for (uint32_t k = 0; can && k < i->as.kernel.views; k++) {
        can = !i->as.kernel.view[k].part && !shape->access[k].in_parts;
        s->reductions += i->as.kernel.view[k].mode == TACIT_REDUCE;
    }
    s->view = c->view.count;
    for (uint32_t k = 0; can && k < i->as.kernel.views; k++) {
        ti_vec_push(&c->view, i->as.kernel.view[k]);
    }
    return can;
}

/* The pieces of the command, of each of which a device may have a part. */
static void record_chunks(ti_cycle *c, const ti_command *command, ti_cycle_step *s)
{
    s->pieces = command->as.execute.pieces;
    s->ahead = command->as.execute.ahead;
    s->chunk = c->chunk.count;
    for (uint32_t k = 0; k < s->pieces; k++) {
        ti_vec_push(&c->chunk, command->as.execute.piece[k].chunk);
    }
}

/* Keep only the dependencies that are not for staging memory. */
static bool record_reducing(const ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i,
                            ti_cycle_step *s)
{
    s->deps = graph->newest_tracked.deps;
    return command->as.execute.pieces == 1 && i->device == 0 && graph->newest_tracked.id == i->id;
}

static bool record_execution(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i,
                             ti_cycle_step *s)
{
    const ti_shape *shape = command->task->shape;
    if (i->kind != TI_INSTRUCTION_KERNEL && i->kind != TI_INSTRUCTION_HOST) {
        return false;
    }
    if (i->as.kernel.made) {
        s->made = template_of(graph, shape);
        return s->made && s->made->kernel.as.kernel.made == i->as.kernel.made;
    }
    s->instruction.as.kernel.made = ++graph->templates.made; /* so the executor keeps its views */
    record_chunks(&graph->cycle, command, s);
    return is_plain(command) && shape->serial && !shape->orders && !shape->in_blocks &&
           record_views(&graph->cycle, shape, i, s) && (!s->reductions || record_reducing(graph, command, i, s));
}

static void record_boxes(ti_cycle *c, const ti_instruction_box *box, uint32_t boxes, ti_cycle_step *s)
{
    s->box = c->box.count;
    s->boxes = boxes;
    for (uint32_t k = 0; k < boxes; k++) {
        ti_vec_push(&c->box, box[k]);
    }
}

static bool record_message(ti_cycle *c, const ti_command *command, const ti_instruction *i, ti_cycle_step *s)
{
    const bool send = command->kind == TI_COMMAND_SEND;
    if (i->kind != (send ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE) || i->as.transfer.version ||
        i->as.transfer.planned) {
        return false;
    }
    record_boxes(c, i->as.transfer.box, i->as.transfer.boxes, s);
    return true;
}

/* Whether this node alone has partial results, and keeps the result. */
static inline bool is_of_this_node(const ti_command *reduce)
{
    const ti_tree_place *tree = reduce->as.reduce.tree;
    return tree && tree->children == 0 && tree->parent < 0;
}

/* Record a reduction by a collective, where partial results are so small that whoever starts it combines them; or one
 * of this node alone. */
static bool record_reduction(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i,
                             ti_cycle_step *s)
{
    ti_cycle *c = &graph->cycle;
    const bool collective = i->kind == TI_INSTRUCTION_COLLECTIVE;
    if (command->as.reduce.alone ||
        (collective ? !i->as.collective.first : i->kind != TI_INSTRUCTION_REDUCE || !is_of_this_node(command))) {
        return false;
    }
    for (size_t k = 0; k < graph->staged.count; k++) {
        const ti_staging *staged = &graph->staged.data[k];
        if (staged->task == command->task && staged->access == command->as.reduce.access) {
            s->staging = staged->slots * staged->slot_bytes;
        }
    }
    s->access = command->as.reduce.access;
    s->takes_old = command->as.reduce.takes_old;
    if (collective) {
        s->what = command->as.reduce.what->serial;
        s->combination = c->combination.count;
        ti_vec_push(&c->combination, *i->as.collective.first);
        record_boxes(c, i->as.collective.place, i->as.collective.places, s);
    }
    return s->staging > 0;
}

static bool record_collective(ti_cycle *c, const ti_command *command, const ti_instruction *i, ti_cycle_step *s)
{
    if (i->kind != TI_INSTRUCTION_COLLECTIVE) {
        return false;
    }
    s->what = command->as.collective.what->serial;
    record_boxes(c, i->as.collective.place, i->as.collective.places, s);
    return true;
}

/* Record an instruction of a fence: a copy to the program's memory, or at the end the one that says that all are done,
 * if there is one. */
static bool record_fence(ti_cycle *c, const ti_command *command, const ti_instruction *i, ti_cycle_step *s)
{
    const ti_user_copy *user = &command->task->as.fence;
    s->signals = user->signal != NULL;
    s->pieces = (uint32_t)user->pieces;
    s->chunk = c->chunk.count;
    for (size_t k = 0; k < user->pieces; k++) {
        ti_vec_push(&c->chunk, user->piece[k].box);
        ti_vec_push(&c->chunk, user->piece[k].whole);
    }
    return command->task->shape->serial && (i->kind == TI_INSTRUCTION_COPY || i->kind == TI_INSTRUCTION_FENCE);
}

static bool record_kind(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i,
                        ti_cycle_step *s)
{
    switch (command->kind) {
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        return record_message(&graph->cycle, command, i, s);
    case TI_COMMAND_COLLECTIVE:
        return record_collective(&graph->cycle, command, i, s);
    case TI_COMMAND_EXECUTE:
        return record_execution(graph, command, i, s);
    case TI_COMMAND_REDUCE:
        return record_reduction(graph, command, i, s);
    case TI_COMMAND_EPOCH:
        return i->kind == TI_INSTRUCTION_EPOCH && ti_command_ends_segment(command);
    case TI_COMMAND_FENCE:
        return record_fence(&graph->cycle, command, i, s);
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        return false;
    }
    TI_UNREACHABLE();
}

/* What the instruction has told the trackers. */
static void take_touches(ti_cycle *c, const ti_instruction *i, ti_cycle_step *s)
{
    while (c->told < c->touch.count && c->touch.data[c->told].id < i->id) {
        c->told++; /* with a template */
    }
    s->touch = c->told;
    while (c->told < c->touch.count && c->touch.data[c->told].id == i->id) {
        c->told++;
    }
    s->touches = (uint32_t)(c->told - s->touch);
}

static ti_cycle_step begin_step(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i)
{
    ti_cycle *c = &graph->cycle;
    ti_cycle_step s = { .instruction = *i,
                        .serial = command->task->shape->serial,
                        .applied = graph->emit.era.applied,
                        .dep = c->dep.count,
                        .deps = i->deps };
    take_touches(c, i, &s);
    return s;
}

static void end_step(ti_cycle *c, const ti_instruction *i, const ti_cycle_step *s)
{
    TI_ASSERT(s->deps <= i->deps);
    for (uint32_t k = 0; k < s->deps; k++) {
        ti_vec_push(&c->dep, i->dep[k]);
    }
    ti_vec_push(&c->step, *s);
}

/* Between places of a buffer. */
static bool is_between_places(const ti_cycle *c, const ti_cycle_step *s)
{
    return s->instruction.kind == TI_INSTRUCTION_COPY && s->touches == 2 &&
           c->touch.data[s->touch + 1].how == TI_TOUCH_COPIES;
}

static bool record_main(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i,
                        ti_cycle_step *s)
{
    if (!record_kind(graph, command, i, s)) {
        return false;
    }
    end_step(&graph->cycle, i, s);
    return true;
}

/* The copies that the command needs, and what it is. With reductions that is one instruction. */
static bool record_command(ti_instruction_graph *graph, const ti_command *command,
                           const ti_instruction *const *instruction, size_t count)
{
    ti_cycle *c = &graph->cycle;
    const size_t first = c->step.count;
    uint32_t copies = 0, mains = 0;
    bool can = true, copy = true;
    for (size_t k = 0; can && k < count; k++) {
        ti_cycle_step s = begin_step(graph, command, instruction[k]);
        copy = is_between_places(c, &s);
        copies += copy && mains == 0;
        mains += !copy;
        if (copy) {
            end_step(c, instruction[k], &s);
        } else {
            can = record_main(graph, command, instruction[k], &s);
        }
    }
    if (!can || copy) {
        return false; /* it does not end in what it is */
    }
    TI_ASSERT(mains > 0 && first + copies < c->step.count);
    c->step.data[first].copies = copies;
    ti_cycle_step *main = ti_cycle_main(&c->step.data[first]);
    main->steps = (uint32_t)count;
    return (command->kind != TI_COMMAND_REDUCE || count == 1) && (!main->reductions || mains == 1);
}

static inline bool is_part(const ti_command *command)
{
    return (command->kind == TI_COMMAND_SEND || command->kind == TI_COMMAND_RECEIVE) && command->as.transfer.bundle;
}

/* Record an instruction for a part of a message. What packing and unpacking wait for depends on what trackers say of
 * the buffer; everything else is found when the part is repeated. */
static bool record_of_part(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i,
                           size_t instructions)
{
    const bool send = command->kind == TI_COMMAND_SEND, copy = i->kind == TI_INSTRUCTION_COPY;
    ti_cycle *c = &graph->cycle;
    ti_cycle_step s = begin_step(graph, command, i);
    if ((!copy && i->kind != (send ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE)) || is_between_places(c, &s)) {
        return false;
    }
    s.part = command->as.transfer.part;
    s.parts = command->as.transfer.bundle->parts;
    s.peer = command->as.transfer.peer;
    s.steps = (uint32_t)instructions;
    if (copy) {
        s.deps = i->deps - i->as.copy.apart;
    } else {
        s.deps = 0;
        record_boxes(c, i->as.transfer.box, i->as.transfer.boxes, &s);
    }
    end_step(c, i, &s);
    return true;
}

/* An execution or a fence becomes several instructions, which are of these kinds. */
static bool is_of_several(const ti_command *command, const ti_instruction *i)
{
    const bool main = command->kind == TI_COMMAND_FENCE
                          ? i->kind == TI_INSTRUCTION_FENCE
                          : i->kind == TI_INSTRUCTION_KERNEL || i->kind == TI_INSTRUCTION_HOST;
    return i->task == command->task && (main || i->kind == TI_INSTRUCTION_COPY);
}

size_t ti_cycle_instructions(const ti_command *command, const ti_instruction *const *instruction, size_t left)
{
    const bool several = command->kind == TI_COMMAND_EXECUTE || command->kind == TI_COMMAND_FENCE;
    size_t n = 0;
    if (is_part(command)) {
        return TI_MIN(ti_instruction_part_instructions(command), left);
    }
    while (n < left &&
           (several ? is_of_several(command, instruction[n]) : instruction[n]->kind == TI_INSTRUCTION_COPY)) {
        n++;
    }
    return several ? n : TI_MIN(n + 1, left);
}

bool ti_cycle_record(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *const *instruction,
                     size_t count)
{
    if (!is_part(command)) {
        return record_command(graph, command, instruction, count);
    }
    bool can = count == ti_instruction_part_instructions(command);
    for (size_t k = 0; can && k < count; k++) {
        can = record_of_part(graph, command, instruction[k], count);
    }
    return can;
}

/* ---- whether a command is the recorded one */

static bool is_same_message(const ti_cycle *c, const ti_cycle_step *s, const ti_command *command)
{
    const ti_instruction *i = &s->instruction;
    const ti_instruction_box *box = &c->box.data[s->box];
    bool same = i->kind == (command->kind == TI_COMMAND_SEND ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE) &&
                command->as.transfer.buffer == i->as.transfer.buffer &&
                command->as.transfer.peer == i->as.transfer.peer && command->as.transfer.boxes == s->boxes &&
                !command->as.transfer.planned && !command->as.transfer.bundle;
    for (uint32_t k = 0; same && k < s->boxes; k++) {
        same = ti_box_equal(&command->as.transfer.box[k], &box[k].box);
    }
    return same;
}

static bool is_same_reduction(const ti_cycle_step *s, const ti_command *command)
{
    if (!s->staging || command->as.reduce.access != s->access || command->as.reduce.takes_old != s->takes_old ||
        command->as.reduce.alone) {
        return false;
    }
    return s->what ? command->as.reduce.what && command->as.reduce.what->serial == s->what &&
                         command->as.reduce.gets == (s->instruction.as.collective.gets > 0)
                   : is_of_this_node(command);
}

/* Whether the reductions that follow an execution do so again, and there is memory for all of them. */
static bool has_reductions(const ti_instruction_graph *graph, const ti_cycle_step *s, const ti_command *const *command,
                           size_t left)
{
    bool has = left > s->reductions;
    TI_ASSERT(s + s->reductions < graph->cycle.step.data + graph->cycle.step.count);
    for (uint32_t k = 1; has && k <= s->reductions; k++) {
        uint32_t before = 0;
        for (uint32_t other = 1; other < k; other++) {
            before += s[other].staging == s[k].staging;
        }
        has = command[k]->kind == TI_COMMAND_REDUCE && command[k]->task == command[0]->task &&
              is_same_reduction(&s[k], command[k]) && ti_instruction_has_staging(graph, 0, s[k].staging, before);
    }
    return has;
}

/* The pieces are those of the steps, without a template. */
static bool has_pieces(const ti_cycle *c, const ti_cycle_step *s, const ti_command *execute)
{
    bool has = execute->as.execute.pieces == s->pieces && execute->as.execute.ahead == s->ahead;
    for (uint32_t k = 0; has && k < s->pieces; k++) {
        has = ti_box_equal(&execute->as.execute.piece[k].chunk, &c->chunk.data[s->chunk + k]);
    }
    return has;
}

static bool is_same_execution(const ti_instruction_graph *graph, const ti_cycle_step *s,
                              const ti_command *const *command, size_t left)
{
    const ti_command *execute = command[0];
    if (!is_plain(execute)) {
        return false;
    }
    if (!s->made) {
        return s->pieces && has_pieces(&graph->cycle, s, execute) &&
               (!s->reductions || has_reductions(graph, s, command, left));
    }
    return execute->as.execute.pieces == 1 && !execute->as.execute.ahead &&
           ti_box_equal(&execute->as.execute.piece->chunk, &s->made->kernel.as.kernel.chunk) &&
           template_of(graph, execute->task->shape) == s->made;
}

static bool is_same_fence(const ti_cycle *c, const ti_cycle_step *s, const ti_command *fence)
{
    const ti_user_copy *user = &fence->task->as.fence;
    bool same = user->pieces == s->pieces && (user->signal != NULL) == s->signals;
    for (uint32_t k = 0; same && k < s->pieces; k++) {
        same = ti_box_equal(&user->piece[k].box, &c->chunk.data[s->chunk + 2 * k]) &&
               ti_box_equal(&user->piece[k].whole, &c->chunk.data[s->chunk + 2 * k + 1]);
    }
    return same;
}

static bool is_step(const ti_instruction_graph *graph, const ti_cycle_step *s, const ti_command *const *command,
                    size_t left)
{
    const ti_command *first = command[0];
    if (first->task->shape->serial != s->serial) {
        return false;
    }
    switch (first->kind) {
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        return s->parts ? ti_instruction_part_is_same(graph, first, s) && ti_instruction_part_has_memory(graph, first)
                        : is_same_message(&graph->cycle, s, first);
    case TI_COMMAND_COLLECTIVE:
        return s->what && !s->staging && first->as.collective.buffer == s->instruction.as.collective.buffer &&
               first->as.collective.what->serial == s->what;
    case TI_COMMAND_EXECUTE:
        return is_same_execution(graph, s, command, left);
    case TI_COMMAND_EPOCH:
        return s->instruction.kind == TI_INSTRUCTION_EPOCH && ti_command_ends_segment(first) &&
               s->instruction.as.epoch.is_horizon == (first->task->kind == TI_TASK_HORIZON) &&
               !ti_instruction_frees_staging(graph);
    case TI_COMMAND_FENCE:
        return is_same_fence(&graph->cycle, s, first);
    case TI_COMMAND_REDUCE: /* it comes with its execution */
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        return false;
    }
    TI_UNREACHABLE();
}

/* Whether the command is known by its number alone to be like the recorded one, and there is nothing else to look at,
 * such as staging memory. */
static inline bool is_known(const ti_instruction_graph *graph, const ti_cycle_step *s, const ti_command *command)
{
    return command->again && command->again == s->again && !s->reductions && command->kind != TI_COMMAND_EPOCH &&
           (!s->made || template_of(graph, command->task->shape) == s->made);
}

bool ti_cycle_is_step(ti_instruction_graph *graph, size_t at, const ti_command *const *command, size_t left)
{
    ti_cycle_step *s = ti_cycle_main(&graph->cycle.step.data[at]);
    if (TI_LIKELY(is_known(graph, s, command[0]))) {
        return true;
    }
    const bool is = is_step(graph, s, command, left);
    s->again = is ? command[0]->again : 0;
    return is;
}

/* ---- the next round */

#define BYTES_UP_TO(kind) (offsetof(ti_instruction, as) + sizeof(((ti_instruction *)0)->as.kind))

/* Emit a copy of the recorded instruction. It lies in one piece of memory with its dependencies and boxes. */
static inline ti_instruction *start(ti_instruction_graph *graph, const ti_cycle_step *s, const ti_instruction *from,
                                    size_t bytes, const ti_task *task, ti_instruction_box **box)
{
    const ti_cycle *c = &graph->cycle;
    const size_t whole = TI_ALIGN_UP(sizeof(*from), 16), boxes = s->boxes * sizeof(**box);
    TI_ASSERT(s->dep + s->deps <= c->dep.count && s->box + s->boxes <= c->box.count);
    char *memory = ti_arena_alloc(ti_arena_ring_top(&graph->emit.arenas), whole + boxes + s->deps * sizeof(uint64_t));
    ti_instruction *i = (ti_instruction *)(void *)memory;
    uint64_t *dep = (uint64_t *)(void *)(memory + whole + boxes);
    *box = (ti_instruction_box *)(void *)(memory + whole);
    memcpy(i, from, bytes);
    for (uint32_t k = 0; k < s->boxes; k++) {
        (*box)[k] = c->box.data[s->box + k];
    }
    for (uint32_t k = 0; k < s->deps; k++) {
        dep[k] = c->dep.data[s->dep + k] + c->shift;
    }
    i->id = graph->emit.next_id++;
    i->task = task;
    i->deps = s->deps;
    i->dep = dep;
    TI_ASSERT(i->id == s->instruction.id + c->shift);
    ti_vec_push(&graph->emit.batch, i);
    return i;
}

static void take_message(ti_instruction_graph *graph, const ti_cycle_step *s, const ti_command *command)
{
    ti_instruction_box *box;
    ti_instruction *i = start(graph, s, &s->instruction, BYTES_UP_TO(transfer), command->task, &box);
    i->as.transfer.counter = command->as.transfer.counter;
    i->as.transfer.box = box;
}

/* The collective is equal to the recorded one, but may be another object. */
static void take_collective(ti_instruction_graph *graph, ti_cycle_step *s, const ti_command *command)
{
    ti_instruction_box *box;
    s->instruction.as.collective.what = command->as.collective.what;
    s->instruction.as.collective.give = command->as.collective.give;
    s->instruction.as.collective.get = command->as.collective.get;
    ti_instruction *i = start(graph, s, &s->instruction, BYTES_UP_TO(collective), command->task, &box);
    i->as.collective.sequence = command->as.collective.sequence;
    i->as.collective.place = box;
}

static ti_instruction *take_combining(ti_instruction_graph *graph, ti_cycle_step *s, const ti_command *command,
                                      uint64_t staging)
{
    ti_instruction_box *box;
    ti_combination *first = ti_arena_copy(ti_arena_ring_top(&graph->emit.arenas),
                                          &graph->cycle.combination.data[s->combination], sizeof(*first));
    s->instruction.as.collective.what = command->as.reduce.what;
    s->instruction.as.collective.give = s->instruction.as.collective.get = command->as.reduce.what->region;
    ti_instruction *i = start(graph, s, &s->instruction, BYTES_UP_TO(collective), command->task, &box);
    TI_ASSERT(s->boxes == 1 && s->combination < graph->cycle.combination.count);
    first->staging = staging;
    if (!command->as.reduce.gets) {
        box->place.allocation = staging;
    }
    i->as.collective.sequence = command->as.reduce.sequence;
    i->as.collective.place = box;
    i->as.collective.first = first;
    return i;
}

static void take_reduction(ti_instruction_graph *graph, ti_cycle_step *s, const ti_command *command, uint64_t staging)
{
    ti_instruction_box *none;
    ti_instruction *i;
    if (s->what) {
        i = take_combining(graph, s, command, staging);
    } else {
        i = start(graph, s, &s->instruction, BYTES_UP_TO(reduce), command->task, &none);
        i->as.reduce.staging = staging;
    }
    ti_instruction_give_staging(graph, command->task, 0, s->staging, staging, &i->id, 1);
}

/* A kernel without template. */
static ti_instruction *start_kernel(ti_instruction_graph *graph, const ti_cycle_step *s, const ti_task *task)
{
    ti_cycle_views *views = graph->cycle.views;
    ti_instruction_box *none;
    ti_instruction *i = start(graph, s, &s->instruction, BYTES_UP_TO(kernel), task, &none);
    TI_ASSERT(s->view + s->instruction.as.kernel.views <= views->count);
    i->as.kernel.view = views->view + s->view;
    views->last_task = task->id;
    return i;
}

/* A kernel with staging memory for its reductions; it waits for the last users of that, too. */
static void take_reducing(ti_instruction_graph *graph, ti_cycle_step *s, const ti_command *const *command)
{
    const ti_task *task = command[0]->task;
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    ti_deps *deps = &graph->emit.deps;
    const uint32_t views = s->instruction.as.kernel.views;
    uint64_t staging[TACIT_MAX_ACCESSES];
    ti_instruction *i = start_kernel(graph, s, task);
    uint64_t *results = TI_ARENA_ARRAY(arena, uint64_t, views);
    ti_deps_start(deps, i->id);
    ti_deps_add_all(deps, i->dep, i->deps);
    for (uint32_t k = 1; k <= s->reductions; k++) {
        const uint64_t *after;
        size_t afters;
        staging[k - 1] = ti_instruction_take_staging(graph, task, 0, s[k].staging, &after, &afters);
        TI_ASSERT(s[k].access < views && s[k].staging > 0);
        results[s[k].access] = staging[k - 1];
        ti_cycle_add_waits(deps, &s[0], after, afters);
    }
    i->as.kernel.results = results;
    ti_emit_deps(&graph->emit, i);
    for (uint32_t k = 1; k <= s->reductions; k++) {
        take_reduction(graph, &s[k], command[k], staging[k - 1]);
    }
}

static void take_copy(ti_instruction_graph *graph, const ti_cycle_step *s, const ti_task *task)
{
    ti_instruction_box *none;
    start(graph, s, &s->instruction, BYTES_UP_TO(copy), task, &none);
}

/* The kernels of an execution, of which the first is the main step, and the copies between them. */
static void take_pieces(ti_instruction_graph *graph, const ti_cycle_step *s, size_t steps, const ti_command *command)
{
    for (size_t k = 0; k < steps; k++) {
        if (s[k].instruction.kind == TI_INSTRUCTION_COPY) {
            take_copy(graph, &s[k], command->task);
            continue;
        }
        start_kernel(graph, &s[k], command->task);
    }
}

/* The instructions of a fence; where they copy to comes with the task. */
static void take_fence(ti_instruction_graph *graph, const ti_cycle_step *s, size_t steps, const ti_task *task)
{
    ti_instruction_box *none;
    for (size_t k = 0; k < steps; k++) {
        const bool copies = s[k].instruction.kind == TI_INSTRUCTION_COPY;
        ti_instruction *i = start(graph, &s[k], &s[k].instruction, copies ? BYTES_UP_TO(copy) : BYTES_UP_TO(fence),
                                  task, &none);
        if (!copies) {
            i->as.fence.signal = task->as.fence.signal;
        } else if (!i->as.copy.to.allocation) { /* nowhere, if what was recorded had been carried out by a round */
            i->as.copy.to.user = task->as.fence.memory;
        }
    }
}

void ti_cycle_take_step(ti_instruction_graph *graph, size_t at, const ti_command *const *command)
{
    ti_cycle_step *first = &graph->cycle.step.data[at], *s = ti_cycle_main(first);
    ti_instruction_box *none;
    for (const ti_cycle_step *copy = first; copy < s; copy++) {
        take_copy(graph, copy, command[0]->task);
    }
    switch (command[0]->kind) {
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        if (s->parts) {
            ti_instruction_repeat_part(graph, command[0], s);
        } else {
            take_message(graph, s, command[0]);
        }
        return;
    case TI_COMMAND_COLLECTIVE:
        take_collective(graph, s, command[0]);
        return;
    case TI_COMMAND_EXECUTE:
        if (!s->made) {
            s->reductions ? take_reducing(graph, s, command)
                          : take_pieces(graph, s, s->steps - first->copies, command[0]);
            return;
        }
        s->made->last_task = command[0]->task->id;
        start(graph, s, &s->made->kernel, BYTES_UP_TO(kernel), command[0]->task, &none);
        ti_follow_note(&graph->follow, command[0]->task, graph->emit.next_id - 1);
        return;
    case TI_COMMAND_EPOCH:
        ti_instruction_compile_point(graph, command[0]);
        return;
    case TI_COMMAND_FENCE:
        take_fence(graph, s, s->steps - first->copies, command[0]->task);
        return;
    case TI_COMMAND_REDUCE:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        TI_UNREACHABLE();
    }
}

/* ---- what trackers have not been told */

static void tell(ti_instruction_graph *graph, const ti_cycle_touch *touch)
{
    ti_buffer_state *b = graph->buffer.data[touch->slot];
    ti_deps *deps = &graph->emit.deps;
    const bool write = touch->how != TI_TOUCH_READS;
    TI_ASSERT(b && (size_t)touch->place < b->place.count);
    (write ? ti_tracker_write : ti_tracker_read)(&b->place.data[touch->place]->tracker, &touch->box, deps->self, deps);
    if (write && b->place.count > 1) {
        (touch->how == TI_TOUCH_COPIES ? ti_coherence_copy : ti_coherence_write)(b->coherence, &touch->box,
                                                                                 touch->place);
    }
}

void ti_cycle_tell_step(ti_instruction_graph *graph, size_t at)
{
    const ti_cycle *c = &graph->cycle;
    const ti_cycle_step *s = &c->step.data[at];
    TI_ASSERT(at < c->at && s->touch + s->touches <= c->touch.count);
    ti_deps *deps = &graph->emit.deps;
    ti_deps_start(deps, s->instruction.id + c->shift);
    if (s->instruction.kind == TI_INSTRUCTION_EPOCH) {
        ti_era_apply(&graph->emit.era, s->applied + c->shift);
    }
    for (uint32_t k = 0; k < s->touches; k++) {
        tell(graph, &c->touch.data[s->touch + k]);
    }
    for (uint32_t k = 0; s->made && k < s->made->touches; k++) {
        const ti_template_touch *touch = &s->made->touch[k];
        (touch->write ? ti_tracker_write : ti_tracker_read)(&touch->memory->tracker, &touch->box, deps->self, deps);
    }
}
