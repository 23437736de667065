/* Forwards: see forward.h. */
#include "plan/task/forward.h"

#include "base/check.h"
#include "plan/task/producer.h"
#include "trace/explain.h"

#include <string.h>

/* ti_system::old_producers, unless it says otherwise. */
enum { MANY_OLD = 4 };

/* What a task reads of a producer. Those of another kind than PLAIN are for the report only: no forward comes of them. */
typedef enum part_read { PLAIN, EARLIER, PINNED, STAYS } part_read;
typedef struct candidate {
    uint32_t producer;
    part_read kind;
    bool moves;                  /* not all of it is read as it was written */
    uint32_t first, last, count; /* pieces; first and last + 1 */
    uint32_t next;               /* of the same producer, + 1 */
} candidate;

typedef struct piece {
    ti_box box;
    uint32_t next; /* of the same candidate, + 1 */
} piece;

struct ti_forwards {
    bool marks;
    bool off;            /* there are edges for the report, but no forwards */
    ti_explain *explain; /* or NULL */
    int nodes;
    size_t most_old;
    uint64_t point;       /* the latest horizon or epoch */
    ti_geometry geometry; /* of task `geometry_task` */
    uint64_t geometry_task;
    TI_VEC(ti_producers *) buffer; /* by slot */
    uint64_t question;             /* counts the buffers that were asked for */
    ti_region_entries hits;
    ti_boxes rest;
    ti_boxes merged; /* that the task reads */
    TI_VEC(piece) pieces;
    TI_VEC(candidate) candidates;
    TI_VEC(uint32_t) old; /* producers that the task reads from, but for what stays */
    TI_VEC(ti_forward) out;
    TI_VEC(ti_edge) edges;
};

ti_forwards *ti_forwards_create(const ti_system *system)
{
    bool off = system->collectives == TI_COLLECTIVES_OFF;
    if (system->num_nodes == 1 || (off && !system->explain)) {
        return NULL;
    }
    ti_forwards *f = TI_NEW(ti_forwards);
    f->off = off;
    f->explain = system->explain;
    f->nodes = system->num_nodes;
    f->most_old = system->old_producers > 0 ? (size_t)system->old_producers : MANY_OLD;
    f->marks = system->collectives == TI_COLLECTIVES_DISCOVER;
    return f;
}

size_t ti_forwards_entries(const ti_forwards *f)
{
    size_t sum = 0;
    for (size_t i = 0; f && i < f->buffer.count; i++) {
        sum += f->buffer.data[i] ? f->buffer.data[i]->map.count : 0;
    }
    return sum;
}

static void close_buffer(ti_forwards *f, uint32_t slot)
{
    if (slot < f->buffer.count && f->buffer.data[slot]) {
        ti_producers_fini(f->buffer.data[slot]);
        TI_DELETE(f->buffer.data[slot]);
        f->buffer.data[slot] = NULL;
    }
}

void ti_forwards_destroy(ti_forwards *f)
{
    if (!f) {
        return;
    }
    for (size_t i = 0; i < f->buffer.count; i++) {
        close_buffer(f, (uint32_t)i);
    }
    ti_vec_fini(&f->buffer);
    ti_vec_fini(&f->hits);
    ti_vec_fini(&f->rest);
    ti_vec_fini(&f->merged);
    ti_vec_fini(&f->pieces);
    ti_vec_fini(&f->candidates);
    ti_vec_fini(&f->old);
    ti_vec_fini(&f->out);
    ti_vec_fini(&f->edges);
    TI_DELETE(f);
}

/* ---- writes */

/* Looked at only where tasks have not met before. */
static const ti_geometry *geometry_of(ti_forwards *f, const ti_task *task)
{
    if (f->geometry_task != task->id) {
        f->geometry_task = task->id;
        ti_geometry_fill(&f->geometry, task->shape, f->nodes);
    }
    return &f->geometry;
}

static const char *name_of(ti_forwards *f, const ti_task *task)
{
    return ti_explain_name(f->explain, task->kind == TI_TASK_CREATE ? "(initial contents)" : task->shape->name);
}

static void note_write(ti_forwards *f, const ti_task *task, uint32_t index_of_access)
{
    const ti_access *access = &task->shape->access[index_of_access];
    ti_producers *producers = f->buffer.data[access->buffer->slot];
    bool everywhere = task->shape->place == TI_PLACE_EVERYWHERE && access->mode != TACIT_REDUCE;
    const ti_footprint *touched = &task->shape->footprint[index_of_access];
    const ti_box *image = touched->box;
    for (uint32_t k = 0; k < touched->boxes; k++) {
        if (everywhere) { /* all nodes have it: nothing will move */
            ti_producers_erase(producers, &image[k]);
            continue;
        }
        ti_producer p = { .task = task->id, .box = image[k] };
        p.manner.geometry = *geometry_of(f, task);
        p.manner.reduced = access->mode == TACIT_REDUCE;
        if (!p.manner.reduced) {
            p.manner.mapper = access->mapper[TI_MIN(k, access->mappers - 1)];
        }
        p.name = f->explain ? name_of(f, task) : NULL;
        ti_producers_write(producers, &p, f->point);
    }
}

/* ---- reads */

/* The candidate of a producer: new ones move nothing yet. */
static candidate *candidate_of(ti_forwards *f, ti_producers *producers, uint32_t index, part_read kind)
{
    ti_producer *p = &producers->pool.data[index];
    uint32_t first = p->question == f->question ? p->candidate : 0;
    for (uint32_t at = first; at; at = f->candidates.data[at - 1].next) {
        if (f->candidates.data[at - 1].kind == kind) {
            return &f->candidates.data[at - 1];
        }
    }
    ti_vec_push(&f->candidates, ((candidate){ .producer = index, .kind = kind, .next = first }));
    p->question = f->question;
    p->candidate = (uint32_t)f->candidates.count;
    return &f->candidates.data[f->candidates.count - 1];
}

/* Whether the access reads what the producer wrote as it was written. */
static bool is_free(ti_forwards *f, const ti_producers *producers, const ti_producer *p, const ti_task *task,
                    const ti_access *access, uint32_t mapper)
{
    const ti_manner *m = ti_producer_manner(producers, p);
    return m && !m->reduced && ti_mapper_equal(&m->mapper, &access->mapper[mapper]) &&
           memcmp(&m->geometry, geometry_of(f, task), sizeof(ti_geometry)) == 0;
}

/* From one node to one node. */
static bool is_pinned(const ti_producers *producers, const ti_producer *p, const ti_task *task)
{
    const ti_manner *m = ti_producer_manner(producers, p);
    return m && m->geometry.place >= 0 && task->shape->place >= 0 && !m->reduced;
}

/* Pieces from `alone` on do not meet this one. */
static void add_piece(ti_forwards *f, candidate *c, const ti_box *box, size_t alone)
{
    ti_vec_clear(&f->rest);
    ti_vec_push(&f->rest, *box);
    for (uint32_t at = c->first; at && at <= alone && f->rest.count; at = f->pieces.data[at - 1].next) {
        ti_boxes_subtract(&f->rest, &f->pieces.data[at - 1].box);
    }
    for (size_t i = 0; i < f->rest.count; i++) {
        ti_vec_push(&f->pieces, ((piece){ .box = f->rest.data[i] }));
        uint32_t last = (uint32_t)f->pieces.count;
        *(c->last ? &f->pieces.data[c->last - 1].next : &c->first) = last;
        c->last = last;
        c->count++;
    }
}

static void note_old(ti_forwards *f, ti_producer *p, uint32_t index)
{
    if (p->task && p->task <= f->point && p->met != f->question) {
        p->met = f->question;
        ti_vec_push(&f->old, index);
    }
}

static void look_at_read(ti_forwards *f, const ti_task *task, uint32_t index_of_access)
{
    const ti_access *access = &task->shape->access[index_of_access];
    ti_producers *producers = f->buffer.data[access->buffer->slot];
    const ti_footprint *touched = &task->shape->footprint[index_of_access];
    const ti_box *image = touched->box;
    for (uint32_t k = 0; k < touched->boxes; k++) {
        size_t alone = f->pieces.count;
        ti_vec_clear(&f->hits);
        ti_region_map_query(&producers->map, &image[k], &f->hits);
        for (size_t i = 0; i < f->hits.count; i++) {
            const ti_region_entry *hit = &f->hits.data[i];
            ti_producer *p = ti_producer_at(producers, hit->value);
            bool pinned = is_pinned(producers, p, task);
            bool moves = !is_free(f, producers, p, task, access, TI_MIN(k, access->mappers - 1));
            bool plain = !(hit->value & 1) && !pinned;
            ti_box common = ti_box_intersect(&hit->box, &image[k]);
            if (!pinned && moves) {
                note_old(f, p, (uint32_t)(hit->value >> 1));
            }
            if (plain || f->explain) {
                part_read kind = plain ? PLAIN : pinned ? PINNED : moves ? EARLIER : STAYS;
                candidate *c = candidate_of(f, producers, (uint32_t)(hit->value >> 1), kind);
                c->moves |= plain && moves;
                add_piece(f, c, &common, alone);
            }
            if (plain && moves && f->marks && !task->shape->no_collectives) {
                ti_producers_mark(producers, hit, &common);
            }
        }
    }
}

static ti_box *boxes_of(ti_forwards *f, const candidate *c, ti_arena *arena)
{
    ti_box *box = TI_ARENA_ARRAY(arena, ti_box, c->count), *end = box;
    for (uint32_t at = c->first; at; at = f->pieces.data[at - 1].next) {
        *end++ = f->pieces.data[at - 1].box;
    }
    return box;
}

static void emit(ti_forwards *f, const ti_buffer_info *buffer, const candidate *c, ti_arena *arena)
{
    const ti_producer *p = &f->buffer.data[buffer->slot]->pool.data[c->producer];
    ti_forward forward = { .buffer = buffer, .producer = p->task, .box = boxes_of(f, c, arena), .boxes = c->count };
    forward.whole = ti_boxes_volume(forward.box, forward.boxes) == p->volume;
    ti_vec_push(&f->out, forward);
}

/* One forward for all that the task reads of merged producers, in a form that does not depend on how they are kept apart. Whether anything moves. */
static bool emit_merged(ti_forwards *f, const ti_buffer_info *buffer, ti_arena *arena)
{
    ti_vec_clear(&f->merged);
    bool moves = false;
    for (size_t i = 0; i < f->candidates.count; i++) {
        const candidate *c = &f->candidates.data[i];
        if (c->kind == PLAIN && !f->buffer.data[buffer->slot]->pool.data[c->producer].task) {
            moves |= c->moves;
            for (uint32_t at = c->first; at; at = f->pieces.data[at - 1].next) {
                ti_vec_push(&f->merged, f->pieces.data[at - 1].box);
            }
        }
    }
    if (moves) {
        ti_boxes_normalize(&f->merged);
        const ti_box *box = ti_arena_copy(arena, f->merged.data, f->merged.count * sizeof(ti_box));
        ti_vec_push(&f->out, ((ti_forward){ .buffer = buffer, .box = box, .boxes = (uint32_t)f->merged.count }));
    }
    return moves;
}

/* The same as an edge for the report; `forward` is an index, or -1. */
static void add_edge(ti_forwards *f, const ti_task *task, const ti_buffer_info *buffer, const candidate *c, int forward,
                     ti_arena *arena)
{
    const ti_producers *producers = f->buffer.data[buffer->slot];
    const ti_producer *p = &producers->pool.data[c->producer];
    ti_edge edge = { .buffer = buffer,
                     .producer = p->name,
                     .consumer = name_of(f, task),
                     .name = ti_explain_name(f->explain, buffer->name),
                     .box = boxes_of(f, c, arena),
                     .boxes = c->count,
                     .forward = forward,
                     .merged = !p->task };
    edge.verdict = c->kind == EARLIER ? TI_VERDICT_EARLIER
                   : c->kind == PINNED && ti_producer_manner(producers, p)->geometry.place != task->shape->place
                       ? TI_VERDICT_ONE_TO_ONE
                   : !c->moves ? TI_VERDICT_FREE
                   : f->off    ? TI_VERDICT_OFF
                               : TI_VERDICT_HINT;
    ti_vec_push(&f->edges, edge);
}

/* A task that reads what many wrote before the latest horizon makes one of them, so that the next one finds less. */
static void merge_old(ti_forwards *f, ti_producers *producers)
{
    for (size_t i = 0; f->old.count > f->most_old && i < f->old.count; i++) {
        ti_producers_merge(producers, f->old.data[i]);
    }
}

/* All reads of one buffer, of which access `first` is the first. */
static void derive(ti_forwards *f, const ti_task *task, uint32_t first, ti_arena *arena)
{
    const ti_buffer_info *buffer = task->shape->access[first].buffer;
    ti_producers *producers = f->buffer.data[buffer->slot];
    ti_vec_clear(&f->pieces);
    ti_vec_clear(&f->candidates);
    ti_vec_clear(&f->old);
    if (producers->map.count == 0) {
        return;
    }
    f->question++;
    for (uint32_t i = first; i < task->shape->accesses; i++) {
        if (task->shape->access[i].buffer == buffer && ti_access_needs_old(&task->shape->access[i])) {
            look_at_read(f, task, i);
        }
    }
    bool forwards = !f->off && !task->shape->no_collectives;
    int merged = forwards && producers->merged_volume && emit_merged(f, buffer, arena) ? (int)f->out.count - 1 : -1;
    for (size_t i = 0; i < f->candidates.count; i++) {
        const candidate *c = &f->candidates.data[i];
        bool is_merged = !producers->pool.data[c->producer].task;
        int forward = is_merged && c->kind == PLAIN ? merged : -1;
        if (!is_merged && forwards && c->moves) {
            emit(f, buffer, c, arena);
            forward = (int)f->out.count - 1;
        }
        if (f->explain) {
            add_edge(f, task, buffer, c, forward, arena);
        }
    }
    if (f->off || !task->shape->no_collectives) {
        merge_old(f, producers);
    }
}

static void add_kernel_task(ti_forwards *f, ti_task *task, ti_arena *arena)
{
    ti_vec_clear(&f->out);
    ti_vec_clear(&f->edges);
    for (uint32_t i = 0; i < task->shape->accesses && (f->explain || !task->shape->no_collectives); i++) {
        if (ti_shape_is_first_read(task->shape, i)) {
            derive(f, task, i, arena);
        }
    }
    task->forwards = (uint32_t)f->out.count;
    task->forward = ti_arena_copy(arena, f->out.data, f->out.count * sizeof(ti_forward));
    if (f->explain) {
        task->edges = (uint32_t)f->edges.count;
        task->edge = ti_arena_copy(arena, f->edges.data, f->edges.count * sizeof(ti_edge));
    }
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        if (ti_access_writes(&task->shape->access[i]) || task->shape->access[i].mode == TACIT_REDUCE) {
            note_write(f, task, i);
        }
    }
}

static void open_buffer(ti_forwards *f, const ti_task *task)
{
    uint32_t slot = task->as.create.buffer->slot;
    while (f->buffer.count <= slot) {
        ti_vec_push(&f->buffer, NULL);
    }
    TI_ASSERT(!f->buffer.data[slot]);
    f->buffer.data[slot] = TI_NEW(ti_producers);
    ti_producers_init(f->buffer.data[slot], f->explain ? ti_explain_name(f->explain, "(earlier tasks)") : NULL);
    if (task->shape->accesses) { /* every node has its own part of the initial contents */
        note_write(f, task, 0);
    }
}

void ti_forwards_add(ti_forwards *f, ti_task *task, ti_arena *arena)
{
    switch (task->kind) {
    case TI_TASK_EXECUTE:
    case TI_TASK_FENCE:
        if (!ti_box_is_empty(&task->shape->range)) {
            add_kernel_task(f, task, arena);
        }
        break;
    case TI_TASK_CREATE:
        open_buffer(f, task);
        break;
    case TI_TASK_DESTROY:
        close_buffer(f, task->as.destroy->slot);
        break;
    case TI_TASK_EPOCH:
    case TI_TASK_HORIZON:
        f->point = task->id;
        break;
    }
}
