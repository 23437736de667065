/* The instruction graph, templates: see template.h.
 *
 * A template is one piece of memory: itself, its views, the memories of its accesses, what it touches, and where that
 * was found. */
#include "plan/instruction/impl.h"

#include <string.h>

static void free_template(ti_template *t)
{
    ti_free(t, t->bytes);
}

void ti_templates_fini(ti_templates *ts)
{
    for (size_t i = 0; i < ts->entry.count; i++) {
        if (ts->entry.data[i].current) {
            free_template(ts->entry.data[i].current);
        }
    }
    for (size_t i = 0; i < ts->retired.count; i++) {
        free_template(ts->retired.data[i]);
    }
    ti_vec_fini(&ts->entry);
    ti_vec_fini(&ts->retired);
}

void ti_templates_release(ti_templates *ts, uint64_t executed)
{
    size_t kept = 0;
    for (size_t i = 0; i < ts->retired.count; i++) {
        ti_template *t = ts->retired.data[i];
        if (t->last_task > executed) {
            ts->retired.data[kept++] = t;
        } else {
            free_template(t);
        }
    }
    ts->retired.count = kept;
}

/* ---- whether it still holds */

static bool has_stayed(ti_instruction_graph *graph, const ti_shape *shape, ti_template *t)
{
    TI_ASSERT(t->accesses == shape->accesses);
    for (uint32_t i = 0; i < t->accesses; i++) {
        const ti_buffer_memory *memory = ti_instruction_memory(graph, shape->access[i].buffer, TI_HOST_MEMORY);
        if (memory != t->memory[i].is || memory->changed != t->memory[i].changed) {
            return false;
        }
    }
    t->seen = graph->emit.changes;
    return true;
}

/* What is behind the applied horizon need not be told to the trackers, all else is, since they point to the
 * template. */
static void retire(ti_instruction_graph *graph, ti_template_entry *e)
{
    if (e->current) {
        if (graph->follow.lag.count) {
            ti_follow_catch_up(graph);
        }
        ti_vec_push(&graph->templates.retired, e->current);
    }
    *e = (ti_template_entry){ .serial = 0 };
}

bool ti_template_may_be(const ti_instruction_graph *graph, const ti_command *command)
{
    return command->task->shape->serial && !graph->coherent && command->as.execute.pieces == 1 &&
           !command->as.execute.ahead && !command->as.execute.samples;
}

ti_template *ti_template_find(ti_instruction_graph *graph, const ti_command *command, bool *known)
{
    const ti_shape *shape = command->task->shape;
    *known = false;
    if (shape->number >= graph->templates.entry.count ||
        graph->templates.entry.data[shape->number].serial != shape->serial) {
        return NULL;
    }
    ti_template_entry *e = &graph->templates.entry.data[shape->number];
    ti_template *t = e->current;
    if (t && t->seen != graph->emit.changes && !has_stayed(graph, shape, t)) {
        retire(graph, e);
        return NULL;
    }
    *known = true;
    return t && ti_box_equal(&t->kernel.as.kernel.chunk, &command->as.execute.piece->chunk) ? t : NULL;
}

/* ---- making one */

/* Whether tasks of the shape may have templates at all. */
static bool is_plain(const ti_shape *shape)
{
    bool plain = !shape->in_blocks && !shape->orders;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        plain = plain && shape->access[i].mode != TACIT_REDUCE && !shape->access[i].in_parts;
    }
    return plain;
}

static bool has_memory(ti_instruction_graph *graph, const ti_shape *shape, const ti_footprint *footprint)
{
    for (uint32_t i = 0; i < shape->accesses; i++) {
        ti_buffer_memory *memory = ti_instruction_memory(graph, shape->access[i].buffer, TI_HOST_MEMORY);
        if (footprint[i].boxes && !ti_buffer_memory_find(memory, &footprint[i].bounding)) {
            return false;
        }
    }
    return true;
}

static uint32_t count_touches(const ti_shape *shape, const ti_footprint *footprint)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        count += footprint[i].boxes;
    }
    return count;
}

/* With room for all that belongs to it. */
static ti_template *allocate(uint32_t accesses, uint32_t touches, bool is_tracked)
{
    size_t views = TI_ALIGN_UP(sizeof(ti_template), 16), memories = views + accesses * sizeof(ti_instruction_view);
    size_t boxes = memories + accesses * sizeof(ti_template_memory);
    size_t found = boxes + touches * sizeof(ti_template_touch);
    size_t bytes = found + (is_tracked ? touches * sizeof(ti_tracker_found) : 0);
    ti_template *t = ti_alloc_zero(bytes);
    t->bytes = bytes;
    t->accesses = accesses;
    t->view = (ti_instruction_view *)(void *)((char *)t + views);
    t->memory = (ti_template_memory *)(void *)((char *)t + memories);
    t->touch = (ti_template_touch *)(void *)((char *)t + boxes);
    t->found = is_tracked ? (ti_tracker_found *)(void *)((char *)t + found) : NULL;
    return t;
}

static void fill_touches(ti_template *t, const ti_shape *shape, const ti_footprint *footprint)
{
    for (int write = 0; write < 2; write++) {
        for (uint32_t i = 0; i < shape->accesses; i++) {
            if (ti_access_writes(&shape->access[i]) != (write == 1)) {
                continue;
            }
            for (uint32_t k = 0; k < footprint[i].boxes; k++) {
                t->touch[t->touches++] = (ti_template_touch){ t->memory[i].is, shape->access[i].buffer->slot,
                                                              write == 1, footprint[i].box[k] };
            }
        }
    }
}

static void fill_views(ti_instruction_graph *graph, ti_template *t, const ti_shape *shape,
                       const ti_footprint *footprint)
{
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *a = &shape->access[i];
        ti_instruction_view *view = &t->view[i];
        ti_buffer_memory *memory = ti_instruction_memory(graph, a->buffer, TI_HOST_MEMORY);
        t->memory[i] = (ti_template_memory){ memory, memory->changed };
        t->changed = TI_MAX(t->changed, memory->changed);
        *view = (ti_instruction_view){
            .buffer = a->buffer, .mode = a->mode, .reducer = a->reducer, .box = footprint[i].bounding
        };
        if (footprint[i].boxes) {
            view->place = ti_buffer_memory_place(memory, &view->box);
        }
    }
}

ti_template *ti_template_make(ti_instruction_graph *graph, const ti_command *command, const ti_device_piece *at,
                              ti_instruction_kind kind)
{
    const ti_shape *shape = command->task->shape;
    const ti_footprint *footprint = at->piece->footprint;
    TI_ASSERT(ti_template_may_be(graph, command));
    while (graph->templates.entry.count <= shape->number) {
        ti_vec_push(&graph->templates.entry, ((ti_template_entry){ .serial = 0 }));
    }
    ti_template_entry *e = &graph->templates.entry.data[shape->number];
    retire(graph, e);
    if (!is_plain(shape)) {
        e->serial = shape->serial;
        return NULL;
    }
    if (!has_memory(graph, shape, footprint)) {
        return NULL;
    }
    ti_template *t = allocate(shape->accesses, count_touches(shape, footprint), !graph->follow.done);
    fill_views(graph, t, shape, footprint);
    fill_touches(t, shape, footprint);
    TI_ASSERT(t->touches == count_touches(shape, footprint)); /* so many have room */
    t->seen = graph->emit.changes;
    t->kernel.kind = kind;
    t->kernel.device = at->device;
    t->kernel.priority = shape->priority;
    t->kernel.as.kernel.chunk = at->piece->chunk;
    t->kernel.as.kernel.view = t->view;
    t->kernel.as.kernel.views = shape->accesses;
    t->kernel.as.kernel.made = ++graph->templates.made;
    *e = (ti_template_entry){ shape->serial, t };
    return t;
}

/* ---- using it */

/* Messages look where kernels have been last. */
static inline void note_latest(const ti_template *t)
{
    for (uint32_t i = 0; i < t->accesses; i++) {
        const ti_place *place = &t->view[i].place;
        ti_allocation *latest = &t->memory[i].is->latest;
        if (TI_UNLIKELY(latest->id != place->allocation) && place->allocation) {
            *latest = (ti_allocation){ place->allocation, place->whole };
        }
    }
}

ti_instruction *ti_template_start(ti_instruction_graph *graph, ti_template *t, const ti_task *task)
{
    enum { BYTES = offsetof(ti_instruction, as) + sizeof(t->kernel.as.kernel) };
    ti_instruction *instruction = ti_arena_alloc(ti_arena_ring_top(&graph->emit.arenas), sizeof(*instruction));
    memcpy(instruction, &t->kernel, BYTES);
    TI_ASSERT(t->last_task < task->id);
    t->last_task = task->id;
    note_latest(t);
    ti_emit_begin(&graph->emit, instruction, task);
    return instruction;
}

void ti_template_track(ti_instruction_graph *graph, const ti_template *t)
{
    ti_deps *deps = &graph->emit.deps;
    for (uint32_t i = 0; i < t->touches; i++) {
        const ti_template_touch *touch = &t->touch[i];
        if (touch->write) {
            ti_sent_write(ti_sent_of(&graph->sent, touch->slot), &touch->box);
        }
        (touch->write ? ti_tracker_write_found : ti_tracker_read_found)(
            &touch->memory->tracker, &touch->box, t->found ? &t->found[i] : NULL, deps->self, deps);
    }
}
