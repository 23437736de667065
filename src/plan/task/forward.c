/* Forwards: see forward.h. */
#include "plan/task/forward.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/sort.h"
#include "plan/task/producer.h"
#include "trace/explain.h"

#include <string.h>

enum { MAX_OLD = 4 /* ti_system::old_producers, unless it says otherwise */, MAX_NAMESAKES = 100, KNOWN_BITS = 8 };

/* What a task reads of a producer. Only PLAIN ones become forwards; the other kinds are for the report. */
typedef enum part_read { PLAIN, EARLIER, PINNED, STAYS } part_read;
_Static_assert(STAYS + 1 == TI_READ_KINDS, "a candidate of each kind");
typedef struct candidate {
    ti_producer *producer;
    part_read kind;
    bool moves;          /* not all of it is read as it was written */
    uint32_t first, end; /* pieces, once they are sorted */
} candidate;

/* What one image of an access has in common with an entry. Pieces of one image are disjoint. */
typedef struct piece {
    ti_box box;
    uint32_t candidate;
} piece;

/* The forwards that the reads of one buffer by a task of a shape became, kept for the next task of the shape. It gets
 * the same if its reads meet the same entries, written by as many producers with the same writes. Kept only where these
 * are few. */
enum { KEPT_HITS = 4, KEPT_BOXES = 8, KEPT_READS = 64 };
typedef struct kept_read {
    uint64_t reader; /* number_of the first of the reads; 0: nothing is kept */
    const ti_producers *producers;
    uint64_t changes; /* of these */
    uint32_t misses;  /* since it was of use */
    uint32_t hits, forwards;
    struct kept_hit {
        const uint64_t *entry; /* where it lies */
        uint64_t made;         /* by which write */
        int64_t volume;        /* of the producer */
        uint32_t first;        /* hit of the same producer */
    } hit[KEPT_HITS];
    ti_forward forward[KEPT_HITS]; /* its producer is a hit, its boxes are the next of these: */
    ti_box box[KEPT_BOXES];
} kept_read;

struct ti_forwards {
    bool marks;
    bool off;            /* there are edges for the report, or sources, but no forwards */
    bool sources;        /* of placed tasks are wanted */
    ti_explain *explain; /* or NULL */
    int nodes;
    size_t max_old;
    uint64_t point;       /* the latest horizon or epoch */
    ti_geometry geometry; /* of task `geometry_task` */
    uint64_t geometry_task;
    struct ti_forwards_known {
        uint64_t writer, reader; /* number_of */
        bool moves;
    } known[1 << KNOWN_BITS];      /* by a hash of both */
    kept_read *kept;               /* KEPT_READS by a hash of the reader; NULL until one is kept */
    ti_region_refs met;            /* scratch */
    TI_VEC(ti_producers *) buffer; /* by slot */
    uint64_t question;             /* counts the buffers that were asked for */
    ti_region_entries hits;
    ti_boxes boxes, rest;
    TI_VEC(candidate) candidates;
    TI_VEC(piece) pieces, other_pieces;
    uint32_t images;           /* that the pieces are of */
    bool moves;                /* some of them are not read as they were written */
    TI_VEC(ti_producer *) old; /* producers that the task reads from, but for what stays */
    TI_VEC(ti_forward) out;
    TI_VEC(ti_edge) edges;
};

ti_forwards *ti_forwards_create(const ti_system *system)
{
    bool off = system->collectives == TI_COLLECTIVES_OFF;
    bool sources = system->multicast >= TI_MULTICAST_TREES;
    if (system->num_nodes == 1 || (off && !system->explain && !sources)) {
        return NULL;
    }
    ti_forwards *f = TI_NEW(ti_forwards);
    f->off = off;
    f->sources = sources;
    f->explain = system->explain;
    f->nodes = system->num_nodes;
    f->max_old = system->old_producers > 0 ? (size_t)system->old_producers : MAX_OLD;
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
    ti_free(f->kept, f->kept ? KEPT_READS * sizeof(*f->kept) : 0);
    ti_vec_fini(&f->met);
    ti_vec_fini(&f->hits);
    ti_vec_fini(&f->rest);
    ti_vec_fini(&f->boxes);
    ti_vec_fini(&f->pieces);
    ti_vec_fini(&f->other_pieces);
    ti_vec_fini(&f->candidates);
    ti_vec_fini(&f->old);
    ti_vec_fini(&f->out);
    ti_vec_fini(&f->edges);
    TI_DELETE(f);
}

/* ---- writes */

/* The geometry of the task at hand, made when it is first asked for: most reads and writes that come again do not need
 * it. */
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

static void describe_manner(ti_forwards *f, const ti_task *task, const ti_access *access, uint32_t box, ti_manner *out)
{
    memset(out, 0, sizeof(*out));
    out->geometry = *geometry_of(f, task);
    out->reduced = access->mode == TACIT_REDUCE;
    if (!out->reduced) {
        out->mapper = access->mapper[TI_MIN(box, access->mappers - 1)];
    }
}

/* A number for one mapper of an access, which no other shape has; 0: the shape comes once. */
static inline uint64_t number_of(const ti_shape *shape, uint32_t access, uint32_t mapper)
{
    enum { BITS = 5 };
    _Static_assert(TACIT_MAX_ACCESSES <= 1 << BITS && TI_MAPPER_PARTS <= 1 << BITS, "they have room");
    return shape->serial ? (shape->serial << BITS | access) << BITS | mapper : 0;
}

static void note_write(ti_forwards *f, const ti_task *task, uint32_t index_of_access)
{
    const ti_access *access = &task->shape->access[index_of_access];
    ti_producers *producers = f->buffer.data[access->buffer->slot];
    bool everywhere = task->shape->place == TI_PLACE_EVERYWHERE && access->mode != TACIT_REDUCE;
    const ti_footprint *touched = &task->shape->footprint[index_of_access];
    const ti_box *image = touched->box;
    const bool plain = !f->explain && !everywhere && !touched->tile && task->shape->place < 0;
    const uint64_t made = plain ? number_of(task->shape, index_of_access, 0) : 0;
    if (made && touched->boxes == 1 && ti_producers_write_again(producers, image, made, task->id)) {
        return;
    }
    for (uint32_t k = 0; k < touched->boxes; k++) {
        if (everywhere) { /* all nodes have it: nothing will move */
            ti_producers_erase(producers, &image[k]);
            continue;
        }
        ti_producer p = { .task = task->id, .box = image[k], .place = task->shape->place };
        ti_manner manner;
        if (p.place < 0 || access->mode == TACIT_REDUCE) {
            describe_manner(f, task, access, k, &manner);
            p.manner = &manner;
            p.place = -1;
            manner.made = touched->boxes == 1 ? made : 0;
        }
        p.name = f->explain ? name_of(f, task) : NULL;
        ti_producers_write(producers, &p, touched->tile, f->point);
    }
}

/* ---- reads */

/* The candidate for a producer; a new one does not move anything yet. */
static candidate *candidate_of(ti_forwards *f, ti_producer *p, part_read kind)
{
    if (p->question != f->question) {
        p->question = f->question;
        memset(p->candidate, 0, sizeof(p->candidate));
    }
    if (!p->candidate[kind]) {
        ti_vec_push(&f->candidates, ((candidate){ .producer = p, .kind = kind }));
        p->candidate[kind] = (uint32_t)f->candidates.count;
    }
    TI_ASSERT(p->candidate[kind] <= f->candidates.count && f->candidates.data[p->candidate[kind] - 1].producer == p);
    return &f->candidates.data[p->candidate[kind] - 1];
}

/* Whether what is read was written in another way. */
static bool differs(ti_forwards *f, const ti_task *task, const ti_manner *m, const ti_mapper *mapper)
{
    return !m || m->reduced || !ti_mapper_equal(&m->mapper, mapper) ||
           memcmp(&m->geometry, geometry_of(f, task), sizeof(ti_geometry)) != 0;
}

/* The same; for reads and writes that come again the answer is kept. */
static bool moves(ti_forwards *f, const ti_task *task, const ti_producers *producers, const ti_producer *p,
                  uint32_t index_of_access, uint32_t mapper)
{
    const ti_mapper *read = &task->shape->access[index_of_access].mapper[mapper];
    const uint64_t writer = ti_producer_made(p), reader = writer ? number_of(task->shape, index_of_access, mapper) : 0;
    if (!reader) {
        return differs(f, task, ti_producer_manner(producers, p), read);
    }
    struct ti_forwards_known *k = &f->known[(writer * TI_HASH_KEY + reader) * TI_HASH_KEY >> (64 - KNOWN_BITS)];
    if (k->writer != writer || k->reader != reader) {
        *k = (struct ti_forwards_known){ writer, reader, differs(f, task, p->manner, read) };
    }
    return k->moves;
}

static void look_at_hit(ti_forwards *f, const ti_task *task, uint32_t index_of_access, uint32_t mapper,
                        const ti_box *image, const ti_region_entry *hit)
{
    const ti_access *access = &task->shape->access[index_of_access];
    ti_producers *producers = f->buffer.data[access->buffer->slot];
    ti_producer *p = ti_producer_of(hit->value);
    bool pinned = ti_producer_place(producers, p) >= 0 && task->shape->place >= 0; /* from one node to one node */
    if (pinned && !f->explain) {                                                   /* no forward comes of it */
        return;
    }
    bool moved = moves(f, task, producers, p, index_of_access, mapper);
    TI_ASSERT(ti_box_meets(&hit->box, image) && p->volume > 0);
    bool plain = !ti_producer_moved(hit->value) && !pinned;
    f->moves |= moved;
    ti_box common = ti_box_intersect(&hit->box, image);
    if (!pinned && moved && p->task && p->task <= f->point && p->met != f->question) {
        p->met = f->question;
        ti_vec_push(&f->old, p);
    }
    if (plain || f->explain) {
        candidate *c = candidate_of(f, p, plain ? PLAIN : pinned ? PINNED : moved ? EARLIER : STAYS);
        c->moves |= plain && moved;
        ti_vec_push(&f->pieces, ((piece){ common, (uint32_t)(c - f->candidates.data) }));
    }
    if (plain && moved && f->marks && !task->shape->no_collectives) {
        ti_producers_mark(producers, hit, &common);
    }
}

static void look_at_read(ti_forwards *f, const ti_task *task, uint32_t index_of_access)
{
    const ti_access *access = &task->shape->access[index_of_access];
    const ti_footprint *touched = &task->shape->footprint[index_of_access];
    for (uint32_t k = 0; k < touched->boxes; k++) {
        ti_vec_clear(&f->hits);
        ti_region_map_query(&f->buffer.data[access->buffer->slot]->map, &touched->box[k], &f->hits);
        for (size_t i = 0; i < f->hits.count; i++) {
            look_at_hit(f, task, index_of_access, TI_MIN(k, access->mappers - 1), &touched->box[k], &f->hits.data[i]);
        }
        f->images++;
    }
}

static int by_candidate(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/* Sort pieces by candidate, and note which pieces each has. */
static void sort_pieces(ti_forwards *f)
{
    if (f->candidates.count > 1) {
        ti_vec_sort(&f->pieces, &f->other_pieces, by_candidate);
    }
    for (uint32_t i = 0; i < f->pieces.count; i++) {
        candidate *c = &f->candidates.data[f->pieces.data[i].candidate];
        TI_ASSERT(c->end == 0 || c->end == i);
        c->first = c->end ? c->first : i;
        c->end = i + 1;
    }
}

/* What is read of a candidate, as disjoint boxes. What another read of the task has moved is not reported again. Valid
 * until the next call. */
static const ti_boxes *boxes_of(ti_forwards *f, const candidate *c)
{
    TI_ASSERT(c->first < c->end && c->end <= f->pieces.count);
    ti_vec_clear(&f->boxes);
    for (uint32_t i = c->first; i < c->end; i++) {
        if (f->images > 1) {
            ti_boxes_add_missing(&f->boxes, &f->pieces.data[i].box, &f->rest);
        } else {
            ti_vec_push(&f->boxes, f->pieces.data[i].box);
        }
    }
    uint32_t plain = c->kind == EARLIER ? c->producer->candidate[PLAIN] : 0;
    for (uint32_t i = plain ? f->candidates.data[plain - 1].first : 0; plain && i < f->candidates.data[plain - 1].end;
         i++) {
        ti_boxes_subtract(&f->boxes, &f->pieces.data[i].box);
    }
    return &f->boxes;
}

static void emit(ti_forwards *f, const ti_buffer_info *buffer, const candidate *c, ti_arena *arena)
{
    const ti_boxes *boxes = boxes_of(f, c);
    TI_ASSERT(boxes->count > 0 && c->producer->volume > 0);
    ti_forward forward = { .buffer = buffer, .producer = c->producer->task, .boxes = (uint32_t)boxes->count };
    forward.box = ti_arena_copy(arena, boxes->data, boxes->count * sizeof(ti_box));
    TI_ASSERT(ti_boxes_volume(boxes->data, boxes->count) <= c->producer->volume);
    forward.whole = ti_boxes_volume(boxes->data, boxes->count) == c->producer->volume;
    ti_vec_push(&f->out, forward);
}

/* One forward for all that the task reads of merged producers. Its boxes are in normal form, so they do not depend on
 * how merged producers are kept apart. Returns whether anything moves. */
static bool emit_merged(ti_forwards *f, const ti_buffer_info *buffer, ti_arena *arena)
{
    ti_vec_clear(&f->boxes);
    bool moves = false;
    for (size_t i = 0; i < f->candidates.count; i++) {
        const candidate *c = &f->candidates.data[i];
        bool counts = c->kind == PLAIN && !c->producer->task;
        moves |= counts && c->moves;
        for (uint32_t k = c->first; counts && k < c->end; k++) {
            ti_vec_push(&f->boxes, f->pieces.data[k].box);
        }
    }
    if (moves) {
        ti_boxes_normalize(&f->boxes);
        const ti_box *box = ti_arena_copy(arena, f->boxes.data, f->boxes.count * sizeof(ti_box));
        ti_vec_push(&f->out, ((ti_forward){ .buffer = buffer, .box = box, .boxes = (uint32_t)f->boxes.count }));
    }
    return moves;
}

/* An edge for the report: what the task reads of the candidate. `forward` is an index, or -1. */
static void add_edge(ti_forwards *f, const ti_task *task, const ti_buffer_info *buffer, const candidate *c, int forward,
                     ti_arena *arena)
{
    const ti_producers *producers = f->buffer.data[buffer->slot];
    const ti_producer *p = c->producer;
    const ti_boxes *boxes = boxes_of(f, c);
    if (!boxes->count) {
        return;
    }
    ti_edge edge = { .buffer = buffer,
                     .producer = p->name,
                     .consumer = name_of(f, task),
                     .name = producers->buffer,
                     .box = ti_arena_copy(arena, boxes->data, boxes->count * sizeof(ti_box)),
                     .boxes = (uint32_t)boxes->count,
                     .forward = forward,
                     .merged = !p->task };
    edge.verdict = c->kind == EARLIER                                                           ? TI_VERDICT_EARLIER
                   : c->kind == PINNED && ti_producer_place(producers, p) != task->shape->place ? TI_VERDICT_ONE_TO_ONE
                   : !c->moves                                                                  ? TI_VERDICT_FREE
                   : f->off                                                                     ? TI_VERDICT_OFF
                                                                                                : TI_VERDICT_HINT;
    ti_vec_push(&f->edges, edge);
}

/* ---- reads that come again */

static inline bool may_be_kept(const ti_forwards *f, const ti_task *task)
{
    return !f->explain && !f->marks && !f->off && task->shape->serial && task->shape->place < 0;
}

static inline size_t kept_at(uint64_t reader)
{
    enum { BITS = 6 };
    _Static_assert(KEPT_READS == 1 << BITS, "a place for each hash");
    return reader * TI_HASH_KEY >> (64 - BITS);
}

/* Whether the reads meet the same entries as when this was kept. Their boxes are the same if no entry has been added or
 * removed since. */
static inline bool meets_same(const kept_read *k, const ti_producers *producers)
{
    if (k->producers != producers || k->changes != producers->changes || producers->merged_volume) {
        return false;
    }
    for (uint32_t i = 0; i < k->hits; i++) {
        const struct kept_hit *h = &k->hit[i];
        const ti_producer *p = ti_producer_of(*h->entry);
        if (ti_producer_moved(*h->entry) || ti_producer_made(p) != h->made || p->volume != h->volume) {
            return false;
        }
        for (uint32_t other = 0; other < i; other++) {
            if ((ti_producer_of(*k->hit[other].entry) == p) != (k->hit[other].first == h->first)) {
                return false;
            }
        }
    }
    return true;
}

/* Emit the forwards as they were kept. False: they are not known. */
static bool derive_again(ti_forwards *f, const ti_task *task, uint32_t first, const ti_producers *producers,
                         ti_arena *arena)
{
    const uint64_t reader = number_of(task->shape, first, 0);
    kept_read *k = f->kept ? &f->kept[kept_at(reader)] : NULL;
    if (!k || k->reader != reader || !meets_same(k, producers)) {
        return false;
    }
    k->misses = 0;
    const ti_box *box = k->box;
    for (uint32_t i = 0; i < k->forwards; i++) {
        ti_forward forward = k->forward[i];
        TI_ASSERT(forward.producer < k->hits);
        forward.producer = ti_producer_of(*k->hit[forward.producer].entry)->task;
        forward.box = ti_arena_copy(arena, box, forward.boxes * sizeof(ti_box));
        box += forward.boxes;
        ti_vec_push(&f->out, forward);
    }
    return true;
}

/* Note all entries that the reads of one buffer meet. False: there are too many, or some are not simple. */
static bool keep_hits(ti_forwards *f, const ti_task *task, uint32_t first, ti_producers *producers, kept_read *k)
{
    const ti_shape *shape = task->shape;
    for (uint32_t a = first; a < shape->accesses; a++) {
        const ti_footprint *touched = &shape->footprint[a];
        bool reads = shape->access[a].buffer == shape->access[first].buffer && ti_access_needs_old(&shape->access[a]);
        for (uint32_t b = 0; reads && b < touched->boxes; b++) {
            ti_region_map_refer(&producers->map, &touched->box[b], &f->met);
            for (size_t i = 0; i < f->met.count; i++) {
                const ti_producer *p = ti_producer_of(*f->met.data[i].value);
                if (k->hits == KEPT_HITS || !ti_producer_made(p) || ti_producer_moved(*f->met.data[i].value)) {
                    return false;
                }
                uint32_t same = 0;
                while (same < k->hits && ti_producer_of(*k->hit[same].entry) != p) {
                    same++;
                }
                k->hit[k->hits++] = (struct kept_hit){ f->met.data[i].value, ti_producer_made(p), p->volume, same };
            }
        }
    }
    return true;
}

/* Keep the forwards from `next` on, which the reads have become. Each is of one producer: where there are so few, none
 * is merged. */
static TI_NOINLINE void keep(ti_forwards *f, const ti_task *task, uint32_t first, ti_producers *producers, size_t next)
{
    enum { PATIENCE = 4, SELDOM = 16 };
    const uint64_t reader = number_of(task->shape, first, 0);
    kept_read k = { .reader = reader, .producers = producers, .changes = producers->changes };
    kept_read *old = f->kept ? &f->kept[kept_at(reader)] : NULL;
    uint32_t boxes = 0;
    if (old && old->reader == reader && (k.misses = ++old->misses) > PATIENCE && k.misses % SELDOM) {
        return; /* it never meets the same */
    }
    bool can = producers->merged_volume == 0 && f->max_old >= KEPT_HITS && keep_hits(f, task, first, producers, &k);
    for (size_t i = 0; can && i < f->candidates.count && next < f->out.count; i++) {
        const ti_forward *forward = &f->out.data[next];
        uint32_t hit = 0;
        if (!f->candidates.data[i].moves) {
            continue;
        }
        while (hit < k.hits && ti_producer_of(*k.hit[hit].entry) != f->candidates.data[i].producer) {
            hit++;
        }
        can = hit < k.hits && boxes + forward->boxes <= KEPT_BOXES;
        for (uint32_t b = 0; can && b < forward->boxes; b++) {
            k.box[boxes++] = forward->box[b];
        }
        TI_ASSERT(k.forwards < KEPT_HITS);
        k.forward[k.forwards] = *forward;
        k.forward[k.forwards++].producer = hit;
        next++;
    }
    if (can) {
        f->kept = f->kept ? f->kept : TI_NEW_ARRAY(kept_read, (size_t)KEPT_READS);
        f->kept[kept_at(reader)] = k;
    }
}

/* All reads of one buffer, of which access `first` is the first. */
static void look_and_derive(ti_forwards *f, const ti_task *task, uint32_t first, ti_arena *arena)
{
    const ti_buffer_info *buffer = task->shape->access[first].buffer;
    ti_producers *producers = f->buffer.data[buffer->slot];
    ti_vec_clear(&f->pieces);
    ti_vec_clear(&f->candidates);
    ti_vec_clear(&f->old);
    f->question++;
    f->images = 0;
    f->moves = false;
    for (uint32_t i = first; i < task->shape->accesses; i++) {
        if (task->shape->access[i].buffer == buffer && ti_access_needs_old(&task->shape->access[i])) {
            look_at_read(f, task, i);
        }
    }
    if (!f->moves && !f->explain) { /* all is read as it was written: no forward comes of it */
        return;
    }
    sort_pieces(f);
    bool forwards = !f->off && !task->shape->no_collectives;
    int merged = forwards && producers->merged_volume && emit_merged(f, buffer, arena) ? (int)f->out.count - 1 : -1;
    for (size_t i = 0; i < f->candidates.count; i++) {
        const candidate *c = &f->candidates.data[i];
        bool is_merged = !c->producer->task;
        int forward = is_merged && c->kind == PLAIN ? merged : -1;
        if (!is_merged && forwards && c->moves) {
            emit(f, buffer, c, arena);
            forward = (int)f->out.count - 1;
        }
        if (f->explain) {
            add_edge(f, task, buffer, c, forward, arena);
        }
    }
    if (!task->shape->no_collectives) { /* such tasks are looked at only if there is a report: it must change nothing */
        for (size_t i = 0; f->old.count > f->max_old && i < f->old.count; i++) { /* the next task finds less */
            ti_producers_merge(producers, f->old.data[i]);
        }
    }
}

/* The forwards of all reads of one buffer: as they were kept, or derived. */
static void derive(ti_forwards *f, const ti_task *task, uint32_t first, ti_arena *arena)
{
    ti_producers *producers = f->buffer.data[task->shape->access[first].buffer->slot];
    const bool may = may_be_kept(f, task);
    bool all_pinned = task->shape->place >= 0 && producers->loose == 0; /* look_at_hit would find nothing */
    if (producers->map.count == 0 || (all_pinned && !f->explain)) {
        return;
    }
    if (!may || !derive_again(f, task, first, producers, arena)) {
        const size_t before = f->out.count;
        look_and_derive(f, task, first, arena);
        if (may) {
            keep(f, task, first, producers, before);
        }
    }
}

/* ---- sources of placed tasks */

/* The source of a read by a task on this node, all of which this producer wrote; 0: none. */
static uint64_t source_of(const ti_producer *p, int node)
{
    return p && p->task && p->place >= 0 && p->place != node ? p->task : 0;
}

/* Whether a read may have a source other than 0: it touches one box, by one component mapper. */
static bool may_have_source(const ti_shape *shape, uint32_t index)
{
    const ti_access *access = &shape->access[index];
    return ti_access_reads(access) && shape->footprint[index].boxes == 1 && access->mappers == 1 && !access->custom;
}

static void set_sources(ti_task *task, const uint64_t *source, ti_arena *arena)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        any |= source[i];
    }
    task->source = any ? ti_arena_copy(arena, source, task->shape->accesses * sizeof(*source)) : NULL;
}

/* The producer that wrote all of the box, if one entry has it; else NULL. */
static const ti_producer *only_producer(ti_forwards *f, ti_producers *producers, const ti_box *box)
{
    ti_vec_clear(&f->hits);
    ti_region_map_query(&producers->map, box, &f->hits);
    bool one = f->hits.count == 1 && ti_box_covers(&f->hits.data[0].box, box);
    return one ? ti_producer_of(f->hits.data[0].value) : NULL;
}

static bool has_sources(const ti_forwards *f, const ti_task *task)
{
    return f->sources && task->shape->place >= 0 && task->kind == TI_TASK_EXECUTE && !task->shape->no_collectives;
}

static void look_for_sources(ti_forwards *f, ti_task *task, ti_arena *arena)
{
    const ti_shape *shape = task->shape;
    uint64_t source[TACIT_MAX_ACCESSES] = { 0 };
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (may_have_source(shape, i)) {
            ti_producers *producers = f->buffer.data[shape->access[i].buffer->slot];
            source[i] = source_of(only_producer(f, producers, shape->footprint[i].box), shape->place);
        }
    }
    set_sources(task, source, arena);
}

/* ---- tasks */

void ti_forwards_expect(const ti_forwards *f, const ti_buffer_info *buffer, uint32_t tile)
{
    __builtin_prefetch((const void *)(uintptr_t)ti_tile_note_of(f->buffer.data[buffer->slot]->tiles, tile), 1);
}

/* Only what the task writes is looked up: its reads change nothing here, and no forward comes of them. */
bool ti_forwards_pass(ti_forwards *f, const ti_shape *form, const uint32_t *tile, uint64_t id, int node)
{
    ti_producer *found[TACIT_MAX_ACCESSES];
    uint32_t count = 0;
    if (f->sources || f->explain) {
        return false;
    }
    for (uint32_t turns = form->turns; turns; turns &= turns - 1) {
        if (f->buffer.data[form->access[__builtin_ctz(turns)].buffer->slot]->loose > 0) {
            return false;
        }
    }
    for (uint32_t writes = form->writes; writes; writes &= writes - 1) {
        const int i = __builtin_ctz(writes);
        ti_producer *p = ti_producers_of_tile(f->buffer.data[form->access[i].buffer->slot], tile[i]);
        if (!p || p->place < 0) {
            return false;
        }
        found[count++] = p;
    }
    while (count) {
        ti_producer_rewrite(found[--count], id, node);
    }
    return true;
}

/* The same for a placed task of any boxes, and where sources are wanted: all that it reads was written by placed tasks,
 * and each box that it writes is an entry which is all that its producer wrote. False: nothing has changed. */
static bool passes_by(ti_forwards *f, ti_task *task, ti_arena *arena)
{
    const ti_shape *shape = task->shape;
    ti_producer *found[TACIT_MAX_ACCESSES];
    uint64_t source[TACIT_MAX_ACCESSES];
    uint32_t writes = 0; /* bits: accesses */
    const bool sources = has_sources(f, task);
    _Static_assert(TACIT_MAX_ACCESSES <= 32, "a bit for each access");
    if (shape->place < 0 || f->explain) {
        return false;
    }
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *access = &shape->access[i];
        const bool reads = ti_access_reads(access), write = ti_access_writes(access);
        ti_producers *producers = f->buffer.data[access->buffer->slot];
        source[i] = 0;
        if (!write && !sources && producers->loose == 0 && reads) {
            continue;
        }
        found[i] = ti_producers_of_box(producers, &shape->footprint[i]);
        if (access->mode == TACIT_REDUCE || !found[i] || (reads && found[i]->place < 0)) {
            return false;
        }
        source[i] = sources && may_have_source(shape, i) ? source_of(found[i], shape->place) : 0;
        writes |= (uint32_t)write << i;
    }
    if (sources) {
        set_sources(task, source, arena);
    }
    for (; writes; writes &= writes - 1) {
        ti_producer_rewrite(found[__builtin_ctz(writes)], task->id, shape->place);
    }
    return true;
}

static void add_kernel_task(ti_forwards *f, ti_task *task, ti_arena *arena)
{
    if (passes_by(f, task, arena)) {
        return;
    }
    task->shape = ti_shape_complete(task->shape, arena);
    if (has_sources(f, task)) {
        look_for_sources(f, task, arena);
    }
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

/* Buffers that live at the same time and have one name are told apart by numbers. */
static const char *name_buffer(ti_forwards *f, const char *name)
{
    ti_strbuf text = { 0 };
    ti_strbuf_add(&text, "%s", name);
    for (int number = 2;; number++) {
        const char *own = ti_explain_name(f->explain, ti_strbuf_text(&text));
        size_t i = 0;
        while (i < f->buffer.count && (!f->buffer.data[i] || f->buffer.data[i]->buffer != own)) {
            i++;
        }
        if (i == f->buffer.count || number > MAX_NAMESAKES) {
            ti_strbuf_fini(&text);
            return own;
        }
        ti_strbuf_clear(&text);
        ti_strbuf_add(&text, "%s (%d)", name, number);
    }
}

static void open_buffer(ti_forwards *f, const ti_task *task)
{
    uint32_t slot = task->as.create.buffer->slot;
    while (f->buffer.count <= slot) {
        ti_vec_push(&f->buffer, NULL);
    }
    const char *own = f->explain ? name_buffer(f, task->as.create.buffer->name) : NULL;
    TI_ASSERT(!f->buffer.data[slot]);
    f->buffer.data[slot] = TI_NEW(ti_producers);
    ti_producers_init(f->buffer.data[slot], f->explain ? ti_explain_name(f->explain, "(earlier tasks)") : NULL);
    f->buffer.data[slot]->buffer = own;
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
        TI_ASSERT(f->point < task->id);
        f->point = task->id;
        break;
    case TI_TASK_BRIEF:
        TI_UNREACHABLE(); /* ti_forwards_pass */
    }
}

/* ---- for cycles */

ti_producers *ti_forwards_producers(const ti_forwards *f, size_t slot)
{
    return slot < f->buffer.count ? f->buffer.data[slot] : NULL;
}

void ti_forwards_pass_point(ti_forwards *f, uint64_t point)
{
    TI_ASSERT(f->point <= point);
    f->point = point;
}
