/* Forwards: see forward.h. */
#include "plan/forward.h"

#include "base/check.h"
#include "base/map.h"
#include "trace/explain.h"

#include <string.h>

/* What tasks must have in common to be divided among nodes alike. */
typedef struct geometry {
    ti_box range;
    int64_t gran[3], grid[3];
    uint64_t weights; /* a hash */
    int place, oversubscribe;
    bool two_dimensional;
} geometry;

/* An access that wrote something which is not all overwritten yet. */
typedef struct producer {
    uint64_t task;
    int64_t volume; /* of what is left */
    geometry geometry;
    ti_mapper mapper;
    bool reduced;       /* the result of a reduction: one node has it */
    const char *name;   /* of the task, if somebody wants to know */
    uint32_t next_free; /* in the pool */
    uint64_t row;       /* of the task */
    uint32_t access, image;
    struct { /* who read it last: the usual case in loops */
        uint64_t row;
        uint32_t access;
        bool free;
    } reader;
} producer;

typedef struct found {
    uint32_t producer;
    ti_box box;
} found;

/* A producer that the task reads from. For the report there are others too, with one of these bits, that no forward comes of. */
enum { EARLIER = 1u << 29, PINNED = 1u << 30, STAYS = 1u << 31, OF_REPORT = 7u << 29 };
typedef struct candidate {
    uint32_t producer;
    bool moves; /* not all of it is read as it was written */
} candidate;

struct ti_forwards {
    bool marks;
    bool off;            /* there are edges for the report, but no forwards */
    ti_explain *explain; /* or NULL */
    int nodes;
    geometry geometry; /* of task `geometry_task` */
    uint64_t geometry_task;
    TI_VEC(ti_region_map *) buffer; /* by slot: box -> producer << 1 | moved */
    TI_VEC(producer) pool;
    uint32_t free_producer; /* + 1 */
    ti_region_entries hits;
    ti_boxes image, rest;
    TI_VEC(found) pieces;
    TI_VEC(candidate) candidates;
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
    f->marks = system->collectives == TI_COLLECTIVES_DISCOVER;
    return f;
}

size_t ti_forwards_entries(const ti_forwards *f)
{
    size_t sum = 0;
    for (size_t i = 0; f && i < f->buffer.count; i++) {
        sum += f->buffer.data[i] ? f->buffer.data[i]->count : 0;
    }
    return sum;
}

/* ---- producers */

/* Looked at only where tasks have not met before. */
static const geometry *geometry_of(ti_forwards *f, const ti_task *task)
{
    geometry *out = &f->geometry;
    if (f->geometry_task == task->id) {
        return out;
    }
    f->geometry_task = task->id;
    memset(out, 0, sizeof(*out));
    out->range = task->range;
    memcpy(out->gran, task->gran, sizeof(out->gran));
    memcpy(out->grid, task->grid, sizeof(out->grid));
    for (int i = 0; task->weights && i < f->nodes; i++) {
        out->weights = ti_hash64(out->weights ^ (task->weights[i] + (uint64_t)1));
    }
    out->place = task->place;
    out->oversubscribe = task->oversubscribe;
    out->two_dimensional = task->two_dimensional;
    return out;
}

static bool same_geometry(const geometry *a, const geometry *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static uint32_t take_producer(ti_forwards *f)
{
    if (!f->free_producer) {
        ti_vec_push(&f->pool, (producer){ .task = 0 });
        return (uint32_t)f->pool.count - 1;
    }
    uint32_t index = f->free_producer - 1;
    f->free_producer = f->pool.data[index].next_free;
    return index;
}

static void lose(ti_forwards *f, uint64_t value, int64_t volume)
{
    uint32_t index = (uint32_t)(value >> 1);
    producer *p = &f->pool.data[index];
    p->volume -= volume;
    TI_ASSERT(p->volume >= 0);
    if (p->volume == 0) {
        p->next_free = f->free_producer;
        f->free_producer = index + 1;
    }
}

static void insert(ti_forwards *f, ti_region_map *map, const ti_box *box, uint64_t value)
{
    ti_region_map_insert(map, box, value);
    f->pool.data[value >> 1].volume += ti_box_volume(box);
}

/* ---- life */

static void close_buffer(ti_forwards *f, uint32_t slot)
{
    static const ti_box everything = { { INT64_MIN, INT64_MIN, INT64_MIN }, { INT64_MAX, INT64_MAX, INT64_MAX } };
    if (slot < f->buffer.count && f->buffer.data[slot]) {
        ti_vec_clear(&f->hits);
        ti_region_map_query(f->buffer.data[slot], &everything, &f->hits);
        for (size_t i = 0; i < f->hits.count; i++) {
            lose(f, f->hits.data[i].value, ti_box_volume(&f->hits.data[i].box));
        }
        ti_region_map_fini(f->buffer.data[slot]);
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
    ti_vec_fini(&f->pool);
    ti_vec_fini(&f->hits);
    ti_vec_fini(&f->image);
    ti_vec_fini(&f->rest);
    ti_vec_fini(&f->pieces);
    ti_vec_fini(&f->candidates);
    ti_vec_fini(&f->out);
    ti_vec_fini(&f->edges);
    TI_DELETE(f);
}

/* ---- writes */

/* Whoever wrote parts of the box is no longer their producer. The entries that are cut keep their marks. */
static void erase(ti_forwards *f, ti_region_map *map, const ti_box *box)
{
    ti_vec_clear(&f->hits);
    ti_region_map_query(map, box, &f->hits);
    for (size_t i = 0; i < f->hits.count; i++) {
        const ti_region_entry *hit = &f->hits.data[i];
        ti_box piece[6];
        int pieces = ti_box_subtract(&hit->box, box, piece);
        ti_region_map_remove(map, &hit->box, hit->value);
        for (int k = 0; k < pieces; k++) {
            insert(f, map, &piece[k], hit->value);
        }
        lose(f, hit->value, ti_box_volume(&hit->box));
    }
}

static const char *name_of(ti_forwards *f, const ti_task *task)
{
    return ti_explain_name(f->explain, task->kind == TI_TASK_CREATE ? "(initial contents)" : task->name);
}

/* What the whole task touches by an access. */
static const ti_box *image_of(ti_forwards *f, const ti_task *task, uint32_t access, size_t *count)
{
    if (task->footprint) {
        *count = task->footprint[access].boxes;
        return task->footprint[access].box;
    }
    ti_vec_clear(&f->image);
    ti_access_image(&task->access[access], &task->range, &f->image);
    *count = f->image.count;
    return f->image.data;
}

/* The producer of just this box, if it is the same access of a task of the same row: a loop writes again what it wrote before. */
static producer *same_producer(ti_forwards *f, const ti_task *task, uint32_t access, uint32_t image, const ti_box *box,
                               uint64_t value)
{
    producer *p = &f->pool.data[value >> 1];
    bool same = task->row && p->row == task->row && p->access == access && p->image == image;
    return same && p->volume == ti_box_volume(box) ? p : NULL;
}

static uint32_t new_producer(ti_forwards *f, const ti_task *task, uint32_t index_of_access, uint32_t image)
{
    const ti_access *access = &task->access[index_of_access];
    uint32_t index = take_producer(f);
    producer *p = &f->pool.data[index];
    *p = (producer){ .task = task->id,
                     .geometry = *geometry_of(f, task),
                     .reduced = access->mode == TACIT_REDUCE,
                     .name = f->explain ? name_of(f, task) : NULL,
                     .row = task->row,
                     .access = index_of_access,
                     .image = image };
    if (!p->reduced) {
        p->mapper = access->mapper[TI_MIN(image, access->mappers - 1)];
    }
    return index;
}

static void note_write(ti_forwards *f, const ti_task *task, uint32_t index_of_access)
{
    const ti_access *access = &task->access[index_of_access];
    ti_region_map *map = f->buffer.data[access->buffer->slot];
    bool everywhere = task->place == TI_PLACE_EVERYWHERE && access->mode != TACIT_REDUCE;
    size_t images;
    const ti_box *image = image_of(f, task, index_of_access, &images);
    for (size_t k = 0; k < images; k++) {
        const ti_box *box = &image[k];
        if (everywhere) { /* all nodes have it: nothing will move */
            erase(f, map, box);
            continue;
        }
        uint64_t *at = ti_region_map_find(map, box);
        producer *same = at ? same_producer(f, task, index_of_access, (uint32_t)k, box, *at) : NULL;
        if (same) {
            same->task = task->id;
            *at &= ~(uint64_t)1;
            continue;
        }
        uint64_t value = (uint64_t)new_producer(f, task, index_of_access, (uint32_t)k) << 1;
        if (at) {
            int64_t volume = ti_box_volume(box);
            lose(f, *at, volume);
            f->pool.data[value >> 1].volume += volume;
            *at = value;
        } else {
            erase(f, map, box);
            insert(f, map, box, value);
        }
    }
}

/* ---- reads */

/* The candidate of a producer: new ones move nothing yet. */
static candidate *candidate_of(ti_forwards *f, uint32_t index)
{
    for (size_t i = 0; i < f->candidates.count; i++) {
        if (f->candidates.data[i].producer == index) {
            return &f->candidates.data[i];
        }
    }
    ti_vec_push(&f->candidates, ((candidate){ index, false }));
    return &f->candidates.data[f->candidates.count - 1];
}

/* Whether the access reads what the producer wrote as it was written. */
static bool is_free(ti_forwards *f, const producer *p, const ti_task *task, const ti_access *access, uint32_t mapper)
{
    return !p->reduced && ti_mapper_equal(&p->mapper, &access->mapper[mapper]) &&
           same_geometry(&p->geometry, geometry_of(f, task));
}

/* From one node to one node. */
static bool is_pinned(const producer *p, const ti_task *task)
{
    return p->geometry.place >= 0 && task->place >= 0 && !p->reduced;
}

static void add_piece(ti_forwards *f, uint32_t index, const ti_box *box)
{
    ti_vec_clear(&f->rest);
    ti_vec_push(&f->rest, *box);
    for (size_t i = 0; i < f->pieces.count && f->rest.count; i++) {
        if (f->pieces.data[i].producer == index) {
            ti_boxes_subtract(&f->rest, &f->pieces.data[i].box);
        }
    }
    for (size_t i = 0; i < f->rest.count; i++) {
        ti_vec_push(&f->pieces, ((found){ index, f->rest.data[i] }));
    }
}

/* Mark what has moved, cutting the entry if need be. */
static void mark(ti_region_map *map, const ti_region_entry *hit, const ti_box *common)
{
    if (ti_box_equal(&hit->box, common)) {
        *ti_region_map_find(map, &hit->box) = hit->value | 1;
        return;
    }
    ti_box piece[6];
    int pieces = ti_box_subtract(&hit->box, common, piece);
    ti_region_map_remove(map, &hit->box, hit->value);
    for (int k = 0; k < pieces; k++) {
        ti_region_map_insert(map, &piece[k], hit->value);
    }
    ti_region_map_insert(map, common, hit->value | 1);
}

static void look_at_read(ti_forwards *f, const ti_task *task, uint32_t index_of_access)
{
    const ti_access *access = &task->access[index_of_access];
    ti_region_map *map = f->buffer.data[access->buffer->slot];
    size_t images;
    const ti_box *image = image_of(f, task, index_of_access, &images);
    for (size_t k = 0; k < images; k++) {
        ti_vec_clear(&f->hits);
        ti_region_map_query(map, &image[k], &f->hits);
        for (size_t i = 0; i < f->hits.count; i++) {
            const ti_region_entry *hit = &f->hits.data[i];
            const producer *p = &f->pool.data[hit->value >> 1];
            bool pinned = is_pinned(p, task);
            uint32_t index = (uint32_t)(hit->value >> 1);
            ti_box common = ti_box_intersect(&hit->box, &image[k]);
            if ((hit->value & 1) || pinned) {
                if (f->explain) {
                    bool moves = !is_free(f, p, task, access, TI_MIN((uint32_t)k, access->mappers - 1));
                    index |= pinned ? PINNED : moves ? EARLIER : STAYS;
                    candidate_of(f, index);
                    add_piece(f, index, &common);
                }
                continue;
            }
            bool moves = !is_free(f, p, task, access, TI_MIN((uint32_t)k, access->mappers - 1));
            candidate_of(f, index)->moves |= moves;
            add_piece(f, index, &common);
            if (moves && f->marks && !task->no_collectives) {
                mark(map, hit, &common);
            }
        }
    }
}

static void emit(ti_forwards *f, const ti_buffer_info *buffer, const candidate *c, ti_arena *arena)
{
    ti_forward forward = { .buffer = buffer, .producer = f->pool.data[c->producer].task };
    int64_t volume = 0;
    for (size_t i = 0; i < f->pieces.count; i++) {
        forward.boxes += f->pieces.data[i].producer == c->producer;
    }
    ti_box *box = TI_ARENA_ARRAY(arena, ti_box, forward.boxes);
    forward.box = box;
    for (size_t i = 0; i < f->pieces.count; i++) {
        if (f->pieces.data[i].producer == c->producer) {
            *box++ = f->pieces.data[i].box;
            volume += ti_box_volume(&f->pieces.data[i].box);
        }
    }
    forward.whole = volume == f->pool.data[c->producer].volume;
    ti_vec_push(&f->out, forward);
}

/* The same as an edge for the report; `forward` is an index, or -1. */
static void add_edge(ti_forwards *f, const ti_task *task, const ti_buffer_info *buffer, const candidate *c, int forward,
                     ti_arena *arena)
{
    const producer *p = &f->pool.data[c->producer & ~OF_REPORT];
    ti_edge edge = { .buffer = buffer, .producer = p->name, .consumer = name_of(f, task), .forward = forward };
    edge.name = ti_explain_name(f->explain, buffer->name);
    edge.verdict = c->producer & EARLIER                                      ? TI_VERDICT_EARLIER
                   : c->producer & PINNED && p->geometry.place != task->place ? TI_VERDICT_ONE_TO_ONE
                   : !c->moves                                                ? TI_VERDICT_FREE
                   : f->off                                                   ? TI_VERDICT_OFF
                                                                              : TI_VERDICT_HINT;
    ti_box *box = TI_ARENA_ARRAY(arena, ti_box, f->pieces.count);
    for (size_t i = 0; i < f->pieces.count; i++) {
        if (f->pieces.data[i].producer == c->producer) {
            box[edge.boxes++] = f->pieces.data[i].box;
        }
    }
    edge.box = box;
    ti_vec_push(&f->edges, edge);
}

/* The usual case in loops: one read of one box, all of which one task wrote. False: it is not. */
static bool derive_one(ti_forwards *f, const ti_task *task, uint32_t first, ti_arena *arena)
{
    const ti_access *access = &task->access[first];
    ti_region_map *map = f->buffer.data[access->buffer->slot];
    size_t images;
    const ti_box *image = image_of(f, task, first, &images);
    for (uint32_t i = first + 1; i < task->accesses; i++) {
        images += task->access[i].buffer == access->buffer && ti_access_needs_old(&task->access[i]);
    }
    if (images != 1 || f->explain || ti_box_is_empty(image)) {
        return false;
    }
    ti_vec_clear(&f->hits);
    ti_region_map_query(map, image, &f->hits);
    if (f->hits.count != 1) {
        return false;
    }
    const ti_region_entry *hit = f->hits.data;
    producer *p = &f->pool.data[hit->value >> 1];
    if (p->reader.row != task->row || p->reader.access != first || !task->row) {
        p->reader.free = is_free(f, p, task, access, 0);
        p->reader.row = task->row;
        p->reader.access = first;
    }
    if ((hit->value & 1) || p->reader.free || is_pinned(p, task)) {
        return true;
    }
    ti_box *common = TI_ARENA_NEW(arena, ti_box);
    *common = ti_box_intersect(&hit->box, image);
    ti_vec_push(&f->out, ((ti_forward){ .buffer = access->buffer,
                                        .producer = p->task,
                                        .box = common,
                                        .boxes = 1,
                                        .whole = ti_box_volume(common) == p->volume }));
    if (f->marks) {
        mark(map, hit, common);
    }
    return true;
}

/* All reads of one buffer, of which access `first` is the first. */
static void derive(ti_forwards *f, const ti_task *task, uint32_t first, ti_arena *arena)
{
    const ti_buffer_info *buffer = task->access[first].buffer;
    ti_vec_clear(&f->pieces);
    ti_vec_clear(&f->candidates);
    if (f->buffer.data[buffer->slot]->count == 0 || derive_one(f, task, first, arena)) {
        return;
    }
    for (uint32_t i = first; i < task->accesses; i++) {
        if (task->access[i].buffer == buffer && ti_access_needs_old(&task->access[i])) {
            look_at_read(f, task, i);
        }
    }
    for (size_t i = 0; i < f->candidates.count; i++) {
        bool forward = f->candidates.data[i].moves && !f->off && !task->no_collectives;
        if (forward) {
            emit(f, buffer, &f->candidates.data[i], arena);
        }
        if (f->explain) {
            add_edge(f, task, buffer, &f->candidates.data[i], forward ? (int)f->out.count - 1 : -1, arena);
        }
    }
}

static void add_kernel_task(ti_forwards *f, ti_task *task, ti_arena *arena)
{
    ti_vec_clear(&f->out);
    ti_vec_clear(&f->edges);
    for (uint32_t i = 0; i < task->accesses && (f->explain || !task->no_collectives); i++) {
        if (ti_task_is_first_read(task, i)) {
            derive(f, task, i, arena);
        }
    }
    task->forwards = (uint32_t)f->out.count;
    task->forward = ti_arena_copy(arena, f->out.data, f->out.count * sizeof(ti_forward));
    if (f->explain) {
        task->edges = (uint32_t)f->edges.count;
        task->edge = ti_arena_copy(arena, f->edges.data, f->edges.count * sizeof(ti_edge));
    }
    for (uint32_t i = 0; i < task->accesses; i++) {
        if (ti_access_writes(&task->access[i]) || task->access[i].mode == TACIT_REDUCE) {
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
    f->buffer.data[slot] = TI_NEW(ti_region_map);
    ti_region_map_init(f->buffer.data[slot]);
    if (task->accesses) { /* every node has its own part of the initial contents */
        note_write(f, task, 0);
    }
}

void ti_forwards_add(ti_forwards *f, ti_task *task, ti_arena *arena)
{
    switch (task->kind) {
    case TI_TASK_EXECUTE:
    case TI_TASK_FENCE:
        if (!ti_box_is_empty(&task->range)) {
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
        break;
    }
}
