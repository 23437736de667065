/* Producers: see producer.h. */
#include "plan/task/producer.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"

#include <string.h>

/* Names of merged producers that are kept apart. */
enum { MAX_NAMES = 16 };

void ti_geometry_fill(ti_geometry *out, const ti_shape *shape, int nodes)
{
    memset(out, 0, sizeof(*out));
    out->range = shape->range;
    memcpy(out->gran, shape->gran, sizeof(out->gran));
    memcpy(out->grid, shape->grid, sizeof(out->grid));
    for (int i = 0; shape->weights && i < nodes; i++) {
        out->weights = ti_hash64(out->weights ^ (shape->weights[i] + (uint64_t)1));
    }
    if (shape->border) {
        out->weights = ti_hash_bytes(shape->border, (size_t)shape->borders * sizeof(shape->border[0]));
    }
    out->place = shape->place;
    out->oversubscribe = shape->oversubscribe;
    out->two_dimensional = shape->two_dimensional;
}

void ti_producers_init(ti_producers *ps, const char *others)
{
    memset(ps, 0, sizeof(*ps));
    ti_region_map_init(&ps->map);
    ps->others = others;
    ps->bound = TI_PRODUCERS;
}

static void delete_producer(ti_producer *p)
{
    if (p->manner) {
        TI_DELETE(p->manner);
    }
    TI_DELETE(p);
}

void ti_producers_fini(ti_producers *ps)
{
    for (size_t i = 0; i < ps->merged.count; i++) {
        delete_producer(ps->merged.data[i]);
    }
    if (ps->merged_like) {
        delete_producer(ps->merged_like);
    }
    ti_producer *list[] = { ps->first, ps->free };
    for (size_t i = 0; i < TI_COUNT(list); i++) {
        for (ti_producer *p = list[i], *next; p; p = next) {
            next = p->next;
            delete_producer(p);
        }
    }
    ti_region_map_fini(&ps->map);
    ti_tile_notes_destroy(ps->tiles);
    ti_vec_fini(&ps->merged);
    ti_vec_fini(&ps->hits);
}

/* ---- those that there are, and the list of those that are not merged */

/* What `like` says of a producer; the rest of it stays. Of tiles that is little. */
static inline void describe(ti_producer *p, const ti_producer *like)
{
    TI_ASSERT(!like->task || like->place >= 0 || like->manner);
    p->task = like->task;
    p->box = like->box;
    p->place = like->place;
    p->marked = false;
    p->name = like->name;
    if (like->place < 0 && like->manner) {
        p->manner = p->manner ? p->manner : TI_NEW(ti_manner);
        *p->manner = *like->manner;
    }
}

static ti_producer *take(ti_producers *ps, const ti_producer *like)
{
    ti_producer *p = ps->free;
    if (p) {
        ps->free = p->next;
        *p = (ti_producer){ .manner = p->manner };
    } else {
        p = TI_NEW(ti_producer);
    }
    describe(p, like);
    return p;
}

static void link_last(ti_producers *ps, ti_producer *p)
{
    p->previous = ps->last;
    p->next = NULL;
    *(p->previous ? &p->previous->next : &ps->first) = p;
    ps->last = p;
    ps->listed++;
}

static void unlink_from_list(ti_producers *ps, const ti_producer *p)
{
    TI_ASSERT(ps->listed > 0 && (ps->listed > 1 || ps->first == ps->last));
    *(p->previous ? &p->previous->next : &ps->first) = p->next;
    *(p->next ? &p->next->previous : &ps->last) = p->previous;
    ps->listed--;
}

static bool is_loose(const ti_producer *p)
{
    return !p->task || p->place < 0;
}

/* Merged ones stay when nothing is left of them. */
static void change_volume(ti_producers *ps, ti_producer *p, int64_t by)
{
    p->volume += by;
    p->whole = p->whole && by > 0;
    ps->loose += is_loose(p) ? by : 0;
    ps->merged_volume += p->task ? 0 : by;
    TI_ASSERT(p->volume >= 0 && ps->merged_volume >= 0 && ps->loose >= ps->merged_volume);
    if (p->volume == 0 && p->task) {
        unlink_from_list(ps, p);
        p->next = ps->free;
        ps->free = p;
    }
}

/* ---- entries */

void ti_producers_erase(ti_producers *ps, const ti_box *box)
{
    ti_vec_clear(&ps->hits);
    ti_region_map_query(&ps->map, box, &ps->hits);
    for (size_t i = 0; i < ps->hits.count; i++) {
        const ti_region_entry *hit = &ps->hits.data[i];
        ti_box common = ti_box_intersect(&hit->box, box), piece[6];
        int pieces = ti_box_subtract(&hit->box, box, piece);
        ps->changes++;
        ti_region_map_remove(&ps->map, &hit->box, hit->value);
        for (int k = 0; k < pieces; k++) { /* they keep their marks */
            ti_region_map_insert(&ps->map, &piece[k], hit->value);
        }
        change_volume(ps, ti_producer_of(hit->value), -ti_box_volume(&common));
    }
}

/* Whether all that a producer wrote is left. */
static inline bool is_whole(const ti_producer *p, const ti_box *box)
{
    return p->task && p->volume == ti_box_volume(box);
}

ti_producer *ti_producers_near(ti_producers *ps, const ti_footprint *touched)
{
    if (touched->boxes != 1) {
        return NULL;
    }
    const uint64_t *at = ti_region_map_near(&ps->map, touched->box);
    ti_producer *p = at ? ti_producer_of(*at) : NULL;
    return p && !p->marked && ti_box_equal(&p->box, touched->box) && is_whole(p, touched->box) ? p : NULL;
}

static inline void number(ti_producer *p, uint32_t tile)
{
    TI_ASSERT(tile >> TI_TILE_BITS == 0);
    p->tile = tile & (((uint32_t)1 << TI_TILE_BITS) - 1); /* there are no others */
}

void ti_producers_write(ti_producers *ps, const ti_producer *producer, uint32_t tile, uint64_t point)
{
    enum { AT_ONCE = 2 };
    const ti_box *box = &producer->box;
    int64_t volume = ti_box_volume(box);
    uint64_t *at = ti_region_map_find(&ps->map, box);
    ti_producer *old = at ? ti_producer_of(*at) : NULL;
    TI_ASSERT(producer->task && volume > 0);
    if (old && is_whole(old, box)) { /* loops write the same boxes again: it stays where it is in the list */
        ps->loose -= is_loose(old) ? volume : 0;
        describe(old, producer);
        ps->loose += is_loose(old) ? volume : 0;
        number(old, tile ? tile : old->tile);
        *at = (uint64_t)(uintptr_t)old;
        ti_tile_note(&ps->tiles, tile, *at);
        return;
    }
    ti_producer *p = take(ps, producer);
    number(p, tile);
    link_last(ps, p);
    change_volume(ps, p, volume);
    p->whole = true;
    ti_tile_note(&ps->tiles, tile, (uint64_t)(uintptr_t)p);
    if (old) {
        change_volume(ps, old, -volume);
        *at = (uint64_t)(uintptr_t)p;
    } else {
        ti_producers_erase(ps, box);
        ps->changes++;
        ti_region_map_insert(&ps->map, box, (uint64_t)(uintptr_t)p);
    }
    for (int i = 0; i < AT_ONCE && ps->listed > ps->bound; i++) {
        ti_producer *oldest = ps->first;
        if (oldest->task <= point) {
            ti_producers_merge(ps, oldest);
        } else { /* it has written again since */
            unlink_from_list(ps, oldest);
            link_last(ps, oldest);
        }
    }
}

bool ti_producers_write_again(ti_producers *ps, const ti_box *box, uint64_t made, uint64_t task)
{
    uint64_t *at = ti_region_map_find(&ps->map, box);
    ti_producer *p = at ? ti_producer_of(*at) : NULL;
    if (!p || ti_producer_made(p) != made || !is_whole(p, box)) {
        return false;
    }
    TI_ASSERT(p->task < task);
    p->task = task;
    p->marked = false;
    *at = (uint64_t)(uintptr_t)p;
    return true;
}

void ti_producers_mark(ti_producers *ps, const ti_region_entry *entry, const ti_box *part)
{
    ti_box rest[6];
    ti_region_entry piece[7];
    int pieces = ti_box_subtract(&entry->box, part, rest);
    TI_ASSERT(ti_box_covers(&entry->box, part) && !ti_producer_moved(entry->value));
    for (int k = 0; k < pieces; k++) {
        piece[k] = (ti_region_entry){ rest[k], entry->value };
    }
    piece[pieces] = (ti_region_entry){ *part, entry->value | 1 };
    ti_producer_of(entry->value)->marked = true;
    ps->changes++;
    ti_region_map_cut(&ps->map, &entry->box, piece, pieces + 1);
}

/* ---- merging */

/* The producer of what was merged under a name. */
static ti_producer *merged_of(ti_producers *ps, const char *name)
{
    for (size_t i = 0; i < ps->merged.count; i++) {
        if (ps->merged.data[i]->name == name) {
            return ps->merged.data[i];
        }
    }
    if (ps->merged.count >= MAX_NAMES && name != ps->others) {
        return merged_of(ps, ps->others);
    }
    ti_producer *p = take(ps, &(ti_producer){ .place = -1, .name = name });
    ti_vec_push(&ps->merged, p);
    return p;
}

static bool is_alike(const ti_producer *p, const ti_producer *other)
{
    if (p->place != other->place) {
        return false;
    }
    return p->place >= 0 ? ti_box_equal(&p->box, &other->box)
                         : memcmp(&p->manner->geometry, &other->manner->geometry, sizeof(ti_geometry)) == 0 &&
                               ti_mapper_equal(&p->manner->mapper, &other->manner->mapper);
}

static void note_manner(ti_producers *ps, const ti_producer *p)
{
    bool reduced = p->place < 0 && p->manner->reduced;
    if (ps->merged_volume == 0) {
        ps->merged_like = ps->merged_like ? ps->merged_like : TI_NEW(ti_producer);
        describe(ps->merged_like, p);
        ps->various = reduced;
    }
    ps->various |= reduced || !is_alike(ps->merged_like, p);
}

void ti_producers_merge(ti_producers *ps, ti_producer *p)
{
    TI_ASSERT(p->task && p->volume > 0);
    ti_producer *to = merged_of(ps, p->name);
    note_manner(ps, p);
    ps->changes++;
    ti_vec_clear(&ps->hits);
    ti_region_map_query(&ps->map, &p->box, &ps->hits);
    size_t kept = 0;
    for (size_t i = 0; i < ps->hits.count; i++) {
        ti_region_entry e = ps->hits.data[i];
        if (ti_producer_of(e.value) == p) {
            int64_t volume = ti_box_volume(&e.box);
            change_volume(ps, p, -volume);
            change_volume(ps, to, volume);
            e.value = (uint64_t)(uintptr_t)to | ti_producer_moved(e.value);
            *ti_region_map_find(&ps->map, &e.box) = e.value;
            ps->hits.data[kept++] = e;
        }
    }
    TI_ASSERT(p->volume == 0 && !to->task); /* nothing lies outside of the box that it wrote */
    for (size_t i = 0; i < kept; i++) {
        const ti_region_entry *e = &ps->hits.data[i];
        if (ti_region_map_remove(&ps->map, &e->box, e->value)) { /* no earlier one has joined it */
            ti_region_map_insert_joined(&ps->map, &e->box, e->value);
        }
    }
}

/* ---- cycles */

/* Where no entry has been added or has gone since, all producers are those that there were. */
bool ti_producers_describe(ti_producers *ps, ti_tracker_state *state, ti_written *ids)
{
    const ti_box everything = ti_box_everything();
    ti_vec_clear(&ps->hits);
    ti_region_map_query(&ps->map, &everything, &ps->hits);
    bool can = ps->merged_volume == 0 && ps->listed < ps->bound;
    ti_tracker_state_add(state, &ps->changes, sizeof(ps->changes));
    for (size_t i = 0; i < ps->hits.count && can; i++) {
        const ti_region_entry *e = &ps->hits.data[i];
        const ti_producer *p = ti_producer_of(e->value);
        can = !ti_producer_moved(e->value) && !p->marked;
        ti_tracker_state_add(state, &e->box, sizeof(e->box));
        ti_tracker_state_add(state,
                             (const uint64_t[]){ (uint64_t)(uintptr_t)p, (uint64_t)p->volume, (uint64_t)p->place },
                             3 * sizeof(uint64_t));
        if (p->place < 0) {
            ti_tracker_state_add(state, p->manner, sizeof(*p->manner));
        }
        ti_vec_push(ids, p->task);
    }
    return can;
}

void ti_producers_shift(ti_producers *ps, uint64_t first, uint64_t by)
{
    for (ti_producer *p = ps->first; p; p = p->next) {
        p->task += p->task >= first ? by : 0;
    }
}

bool ti_producers_written(ti_producers *ps, const ti_box *box, uint64_t task, ti_producer_write *out)
{
    const uint64_t *at = ti_region_map_find(&ps->map, box);
    const ti_producer *p = at ? ti_producer_of(*at) : NULL;
    if (!p || p->task != task || !is_whole(p, box)) {
        return false;
    }
    *out = (ti_producer_write){ .to = ps, .producer = *p, .tile = p->tile };
    if (p->place < 0) {
        out->manner = *p->manner;
    }
    return true;
}

void ti_producers_repeat(const ti_producer_write *w, uint64_t task, uint64_t point)
{
    if (!w->producer.task) {
        ti_producers_erase(w->to, &w->producer.box);
        return;
    }
    ti_producer p = w->producer;
    ti_manner manner = w->manner;
    p.task = task;
    p.manner = p.place < 0 ? &manner : NULL;
    ti_producers_write(w->to, &p, w->tile, point);
}
