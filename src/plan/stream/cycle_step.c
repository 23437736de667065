/* The instruction graph, a step of a cycle: a command, and the instruction that it becomes in each round.
 *
 * What is recorded of a step: all of the instruction but its task, the counter of a message and the like, which come
 * with the command, and the dependencies that trackers have found. Staging memory of reductions is taken and given
 * back each time, since which one comes next does not follow from the trackers: kernels wait for its last users
 * besides. A cycle goes on only as long as there is enough of it, so that none is allocated or freed. */
#include "plan/instruction/staging.h"
#include "plan/stream/impl.h"

#include <stddef.h>
#include <string.h>

/* ---- recording */

/* The template of the shape's executions now, or NULL. */
static inline ti_template *template_of(const ti_instruction_graph *graph, const ti_shape *shape)
{
    const ti_templates *all = &graph->templates;
    const ti_template_entry *e = shape->number < all->entry.count ? &all->entry.data[shape->number] : NULL;
    return e && e->serial == shape->serial ? e->current : NULL;
}

/* Nothing differs from task to task. */
static inline bool is_plain(const ti_command *execute)
{
    return !execute->as.execute.samples && !execute->as.execute.window;
}

/* Reads first, as kernels are tracked. */
static void record_touches(ti_instruction_graph *graph, const ti_shape *shape, const ti_piece *piece, ti_cycle_step *s)
{
    ti_cycle *c = &graph->cycle;
    s->touch = c->touch.count;
    for (int write = 0; write < 2; write++) {
        for (uint32_t i = 0; i < shape->accesses; i++) {
            const ti_access *access = &shape->access[i];
            const ti_footprint *f = &piece->footprint[i];
            const bool counts = write ? ti_access_writes(access) : access->mode == TACIT_READ;
            for (uint32_t k = 0; counts && access->mode != TACIT_REDUCE && k < f->boxes; k++) {
                ti_vec_push(&c->touch,
                            ((ti_template_touch){ ti_instruction_memory(graph, access->buffer, TI_HOST_MEMORY),
                                                  access->buffer->slot, write == 1, f->box[k] }));
            }
        }
    }
    s->touches = (uint32_t)(c->touch.count - s->touch);
}

static bool record_piece(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i,
                         uint32_t piece, ti_cycle_step *s)
{
    const ti_shape *shape = command->task->shape;
    const ti_piece *of = &command->as.execute.piece[piece];
    ti_cycle *c = &graph->cycle;
    bool can = (i->kind == TI_INSTRUCTION_KERNEL || i->kind == TI_INSTRUCTION_HOST) && i->task == command->task &&
               !i->as.kernel.made && !i->as.kernel.runs && i->device == 0 &&
               ti_box_equal(&i->as.kernel.chunk, &of->chunk);
    for (uint32_t k = 0; can && k < i->as.kernel.views; k++) {
        can = !i->as.kernel.view[k].part && !shape->access[k].in_parts;
        s->reductions += i->as.kernel.view[k].mode == TACIT_REDUCE;
    }
    if (!can) {
        return false;
    }
    s->view = c->view.count;
    for (uint32_t k = 0; k < i->as.kernel.views; k++) {
        ti_vec_push(&c->view, i->as.kernel.view[k]);
    }
    record_touches(graph, shape, of, s);
    return true;
}

/* The dependencies that are not of staging memory. */
static bool record_reducing(const ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i,
                            ti_cycle_step *s)
{
    s->deps = graph->newest_tracked.deps;
    return command->as.execute.pieces == 1 && graph->newest_tracked.id == i->id;
}

static bool record_execution(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i,
                             uint32_t piece, ti_cycle_step *s)
{
    const ti_shape *shape = command->task->shape;
    if ((i->kind == TI_INSTRUCTION_KERNEL || i->kind == TI_INSTRUCTION_HOST) && i->as.kernel.made) {
        s->made = template_of(graph, shape);
        return s->made && s->made->kernel.as.kernel.made == i->as.kernel.made;
    }
    s->pieces = piece == 0 ? command->as.execute.pieces : 0;
    s->ahead = command->as.execute.ahead;
    return is_plain(command) && shape->serial && !shape->orders && !shape->in_blocks &&
           record_piece(graph, command, i, piece, s) && (!s->reductions || record_reducing(graph, command, i, s));
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

/* By a collective where partial results are small, so that whoever starts it combines them; or of this node alone. */
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
        s->touch = c->combination.count;
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

static bool record_kind(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i, uint32_t piece,
                        ti_cycle_step *s)
{
    switch (command->kind) {
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        return record_message(&graph->cycle, command, i, s);
    case TI_COMMAND_COLLECTIVE:
        return record_collective(&graph->cycle, command, i, s);
    case TI_COMMAND_EXECUTE:
        return record_execution(graph, command, i, piece, s);
    case TI_COMMAND_REDUCE:
        return record_reduction(graph, command, i, s);
    case TI_COMMAND_EPOCH:
        return i->kind == TI_INSTRUCTION_EPOCH && ti_command_is_horizon(command);
    case TI_COMMAND_FENCE:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        return false;
    }
    TI_UNREACHABLE();
}

static bool record_step(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i, uint32_t piece)
{
    ti_cycle *c = &graph->cycle;
    ti_cycle_step s = { .instruction = *i, .serial = command->task->shape->serial, .dep = c->dep.count };
    s.deps = i->deps;
    s.applied = graph->emit.era.applied;
    if (!record_kind(graph, command, i, piece, &s)) {
        return false;
    }
    for (uint32_t k = 0; k < s.deps; k++) {
        ti_vec_push(&c->dep, i->dep[k]);
    }
    ti_vec_push(&c->step, s);
    return true;
}

static inline bool is_part(const ti_command *command)
{
    return (command->kind == TI_COMMAND_SEND || command->kind == TI_COMMAND_RECEIVE) && command->as.transfer.bundle;
}

/* Of a message of several parts: who packs or unpacks depends on what trackers say of the buffer; on all else when it
 * is repeated. */
static bool record_of_part(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *i,
                           uint32_t number)
{
    const bool send = command->kind == TI_COMMAND_SEND, copy = i->kind == TI_INSTRUCTION_COPY;
    const ti_buffer_info *buffer = command->as.transfer.buffer;
    ti_cycle *c = &graph->cycle;
    ti_cycle_step s = { .instruction = *i, .serial = command->task->shape->serial, .dep = c->dep.count };
    if (!copy && i->kind != (send ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE)) {
        return false;
    }
    s.part = command->as.transfer.part;
    s.parts = command->as.transfer.bundle->parts;
    s.peer = command->as.transfer.peer;
    s.pieces = number == 0 ? (uint32_t)ti_instruction_part_instructions(command) : 0;
    s.applied = graph->emit.era.applied;
    if (copy) {
        s.deps = i->deps - i->as.copy.apart;
        s.touch = c->touch.count;
        s.touches = 1;
        ti_vec_push(&c->touch, ((ti_template_touch){ ti_instruction_memory(graph, buffer, TI_HOST_MEMORY), buffer->slot,
                                                     !send, i->as.copy.box }));
    } else {
        record_boxes(c, i->as.transfer.box, i->as.transfer.boxes, &s);
    }
    for (uint32_t k = 0; k < s.deps; k++) {
        ti_vec_push(&c->dep, i->dep[k]);
    }
    ti_vec_push(&c->step, s);
    return true;
}

size_t ti_cycle_instructions(const ti_command *command)
{
    return command->kind == TI_COMMAND_EXECUTE ? command->as.execute.pieces
           : is_part(command)                  ? ti_instruction_part_instructions(command)
                                               : 1;
}

bool ti_cycle_record(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *const *instruction)
{
    bool can = true;
    for (uint32_t k = 0; can && is_part(command) && k < ti_cycle_instructions(command); k++) {
        can = record_of_part(graph, command, instruction[k], k);
    }
    if (is_part(command)) {
        return can;
    }
    for (uint32_t k = 0; can && k < ti_cycle_instructions(command); k++) {
        can = record_step(graph, command, instruction[k], k);
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
static bool has_pieces(const ti_cycle_step *s, const ti_command *execute)
{
    bool has = execute->as.execute.pieces == s->pieces && execute->as.execute.ahead == s->ahead;
    for (uint32_t k = 0; has && k < s->pieces; k++) {
        has = ti_box_equal(&execute->as.execute.piece[k].chunk, &s[k].instruction.as.kernel.chunk);
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
        return s->pieces && has_pieces(s, execute) && (!s->reductions || has_reductions(graph, s, command, left));
    }
    return execute->as.execute.pieces == 1 && !execute->as.execute.ahead &&
           ti_box_equal(&execute->as.execute.piece->chunk, &s->made->kernel.as.kernel.chunk) &&
           template_of(graph, execute->task->shape) == s->made;
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
        return s->instruction.kind == TI_INSTRUCTION_EPOCH && ti_command_is_horizon(first) &&
               !ti_instruction_frees_staging(graph);
    case TI_COMMAND_REDUCE: /* it comes with its execution */
    case TI_COMMAND_FENCE:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        return false;
    }
    TI_UNREACHABLE();
}

/* Whether nothing has to be looked at but the command itself, which is like one before: not staging memory either. */
static inline bool is_known(const ti_instruction_graph *graph, const ti_cycle_step *s, const ti_command *command)
{
    return command->again && command->again == s->again && !s->reductions && command->kind != TI_COMMAND_EPOCH &&
           (!s->made || template_of(graph, command->task->shape) == s->made);
}

bool ti_cycle_is_step(ti_instruction_graph *graph, size_t at, const ti_command *const *command, size_t left)
{
    ti_cycle_step *s = &graph->cycle.step.data[at];
    if (TI_LIKELY(is_known(graph, s, command[0]))) {
        return true;
    }
    const bool is = is_step(graph, s, command, left);
    s->again = is ? command[0]->again : 0;
    return is;
}

/* ---- the next round */

#define BYTES_UP_TO(kind) (offsetof(ti_instruction, as) + sizeof(((ti_instruction *)0)->as.kind))

/* A copy, with its dependencies and boxes in one piece of memory. */
static inline ti_instruction *start(ti_instruction_graph *graph, const ti_cycle_step *s, const ti_instruction *from,
                                    size_t bytes, const ti_task *task, ti_instruction_box **box)
{
    const ti_cycle *c = &graph->cycle;
    const size_t whole = TI_ALIGN_UP(sizeof(*from), 16), boxes = s->boxes * sizeof(**box);
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

/* The collective is equal to the recorded one, and may be another one. */
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
                                          &graph->cycle.combination.data[s->touch], sizeof(*first));
    s->instruction.as.collective.what = command->as.reduce.what;
    s->instruction.as.collective.give = s->instruction.as.collective.get = command->as.reduce.what->region;
    ti_instruction *i = start(graph, s, &s->instruction, BYTES_UP_TO(collective), command->task, &box);
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

/* With staging memory for its reductions, for whose last users it waits, too. */
static void take_reducing(ti_instruction_graph *graph, ti_cycle_step *s, const ti_command *const *command)
{
    const ti_task *task = command[0]->task;
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    ti_deps *deps = &graph->emit.deps;
    const uint32_t views = s->instruction.as.kernel.views;
    uint64_t staging[TACIT_MAX_ACCESSES];
    ti_instruction_box *none;
    ti_instruction *i = start(graph, s, &s->instruction, BYTES_UP_TO(kernel), task, &none);
    ti_instruction_view *view = ti_arena_copy(arena, &graph->cycle.view.data[s->view], views * sizeof(*view));
    ti_deps_start(deps, i->id);
    ti_deps_add_all(deps, i->dep, i->deps);
    for (uint32_t k = 1; k <= s->reductions; k++) {
        const uint64_t *after;
        size_t afters;
        staging[k - 1] = ti_instruction_take_staging(graph, task, 0, s[k].staging, &after, &afters);
        view[s[k].access].place.allocation = staging[k - 1];
        ti_deps_add_all(deps, after, afters);
    }
    i->as.kernel.view = view;
    ti_emit_deps(&graph->emit, i);
    for (uint32_t k = 1; k <= s->reductions; k++) {
        take_reduction(graph, &s[k], command[k], staging[k - 1]);
    }
}

static void take_pieces(ti_instruction_graph *graph, const ti_cycle_step *s, const ti_command *command)
{
    for (uint32_t k = 0; k < s->pieces; k++) {
        const uint32_t views = s[k].instruction.as.kernel.views;
        ti_instruction_box *none;
        ti_instruction *i = start(graph, &s[k], &s[k].instruction, BYTES_UP_TO(kernel), command->task, &none);
        i->as.kernel.view = ti_arena_copy(ti_arena_ring_top(&graph->emit.arenas), &graph->cycle.view.data[s[k].view],
                                          views * sizeof(ti_instruction_view));
    }
}

void ti_cycle_take_step(ti_instruction_graph *graph, size_t at, const ti_command *const *command)
{
    ti_cycle_step *s = &graph->cycle.step.data[at];
    ti_instruction_box *none;
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
            s->reductions ? take_reducing(graph, s, command) : take_pieces(graph, s, command[0]);
            return;
        }
        s->made->last_task = command[0]->task->id;
        start(graph, s, &s->made->kernel, BYTES_UP_TO(kernel), command[0]->task, &none);
        ti_follow_note(&graph->follow, command[0]->task, graph->emit.next_id - 1);
        return;
    case TI_COMMAND_EPOCH:
        ti_instruction_compile_point(graph, command[0]);
        return;
    case TI_COMMAND_REDUCE:
    case TI_COMMAND_FENCE:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        TI_UNREACHABLE();
    }
}

/* ---- what trackers have not been told */

static void tell_boxes(ti_tracker *t, const ti_box *box, uint32_t count, bool write, ti_deps *deps)
{
    for (uint32_t k = 0; k < count; k++) {
        (write ? ti_tracker_write : ti_tracker_read)(t, &box[k], deps->self, deps);
    }
}

static void tell_touches(const ti_template_touch *touch, uint32_t count, ti_deps *deps)
{
    for (uint32_t k = 0; k < count; k++) {
        tell_boxes(&touch[k].memory->tracker, &touch[k].box, 1, touch[k].write, deps);
    }
}

void ti_cycle_tell_step(ti_instruction_graph *graph, size_t at)
{
    const ti_cycle *c = &graph->cycle;
    const ti_cycle_step *s = &c->step.data[at];
    const ti_instruction *i = &s->instruction;
    ti_deps *deps = &graph->emit.deps;
    ti_deps_start(deps, i->id + c->shift);
    if (s->parts) {
        tell_touches(&c->touch.data[s->touch], s->touches, deps);
    } else if (i->kind == TI_INSTRUCTION_EPOCH) {
        ti_era_apply(&graph->emit.era, s->applied + c->shift);
    } else if (i->kind == TI_INSTRUCTION_REDUCE) {
        ti_tracker *t = &ti_instruction_memory(graph, i->as.reduce.buffer, TI_HOST_MEMORY)->tracker;
        tell_boxes(t, &i->as.reduce.box, 1, true, deps);
    } else if (i->kind == TI_INSTRUCTION_COLLECTIVE) {
        ti_tracker *t = &ti_instruction_memory(graph, i->as.collective.buffer, TI_HOST_MEMORY)->tracker;
        if (s->staging) { /* what is given is staging memory */
            tell_boxes(t, &i->as.collective.buffer->extent, i->as.collective.gets, true, deps);
            return;
        }
        tell_boxes(t, i->as.collective.give, i->as.collective.gives, false, deps);
        tell_boxes(t, i->as.collective.get, i->as.collective.gets, true, deps);
    } else if (i->kind == TI_INSTRUCTION_SEND || i->kind == TI_INSTRUCTION_RECEIVE) {
        ti_tracker *t = &ti_instruction_memory(graph, i->as.transfer.buffer, TI_HOST_MEMORY)->tracker;
        for (uint32_t k = 0; k < s->boxes; k++) {
            tell_boxes(t, &c->box.data[s->box + k].box, 1, i->kind == TI_INSTRUCTION_RECEIVE, deps);
        }
    } else if (s->made) {
        tell_touches(s->made->touch, s->made->touches, deps);
    } else {
        tell_touches(&c->touch.data[s->touch], s->touches, deps);
    }
}
