/* Producers: see producer.h. */
#include "plan/task/producer.h"

#include "base/check.h"
#include "base/map.h"

#include <string.h>

/* Names of merged producers that are kept apart. */
enum { MOST_NAMES = 16 };

void ti_geometry_fill(ti_geometry *out, const ti_shape *shape, int nodes)
{
    memset(out, 0, sizeof(*out));
    out->range = shape->range;
    memcpy(out->gran, shape->gran, sizeof(out->gran));
    memcpy(out->grid, shape->grid, sizeof(out->grid));
    for (int i = 0; shape->weights && i < nodes; i++) {
        out->weights = ti_hash64(out->weights ^ (shape->weights[i] + (uint64_t)1));
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

void ti_producers_fini(ti_producers *ps)
{
    ti_region_map_fini(&ps->map);
    ti_vec_fini(&ps->pool);
    ti_vec_fini(&ps->merged);
    ti_vec_fini(&ps->hits);
}

/* ---- the pool, and the list of those that are not merged */

static uint32_t take(ti_producers *ps, const ti_producer *like)
{
    uint32_t index = ps->free - 1;
    if (ps->free) {
        ps->free = ps->pool.data[index].next;
        ps->pool.data[index] = *like;
    } else {
        index = (uint32_t)ps->pool.count;
        ti_vec_push(&ps->pool, *like);
    }
    return index;
}

static void link_last(ti_producers *ps, uint32_t index)
{
    ti_producer *p = &ps->pool.data[index];
    p->previous = ps->last;
    p->next = 0;
    *(ps->last ? &ps->pool.data[ps->last - 1].next : &ps->first) = index + 1;
    ps->last = index + 1;
    ps->listed++;
}

static void unlink_from_list(ti_producers *ps, uint32_t index)
{
    const ti_producer *p = &ps->pool.data[index];
    *(p->previous ? &ps->pool.data[p->previous - 1].next : &ps->first) = p->next;
    *(p->next ? &ps->pool.data[p->next - 1].previous : &ps->last) = p->previous;
    ps->listed--;
}

static void gain(ti_producers *ps, uint64_t value, int64_t volume)
{
    ti_producer *p = ti_producer_at(ps, value);
    p->volume += volume;
    ps->merged_volume += p->task ? 0 : volume;
}

/* Merged ones stay in the pool. */
static void lose(ti_producers *ps, uint64_t value, int64_t volume)
{
    ti_producer *p = ti_producer_at(ps, value);
    p->volume -= volume;
    ps->merged_volume -= p->task ? 0 : volume;
    TI_ASSERT(p->volume >= 0);
    if (p->volume == 0 && p->task) {
        unlink_from_list(ps, (uint32_t)(value >> 1));
        p->next = ps->free;
        ps->free = (uint32_t)(value >> 1) + 1;
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
        ti_region_map_remove(&ps->map, &hit->box, hit->value);
        for (int k = 0; k < pieces; k++) { /* they keep their marks */
            ti_region_map_insert(&ps->map, &piece[k], hit->value);
        }
        lose(ps, hit->value, ti_box_volume(&common));
    }
}

/* Whether the box is all that is left of a producer, which is not merged. */
static bool is_all_of(ti_producers *ps, uint64_t value, const ti_box *box)
{
    const ti_producer *p = ti_producer_at(ps, value);
    return p->task && p->volume == ti_box_volume(box);
}

/* Loops write the same boxes again: the new producer takes the place of the old one, also in the list. */
static void replace(ti_producers *ps, uint64_t value, const ti_producer *producer)
{
    ti_producer *p = ti_producer_at(ps, value), old = *p;
    *p = *producer;
    p->volume = old.volume;
    p->previous = old.previous;
    p->next = old.next;
}

void ti_producers_write(ti_producers *ps, const ti_producer *producer, uint64_t point)
{
    enum { AT_ONCE = 2 };
    const ti_box *box = &producer->box;
    uint64_t *at = ti_region_map_find(&ps->map, box);
    if (at && is_all_of(ps, *at, box)) {
        replace(ps, *at, producer);
        *at &= ~(uint64_t)1;
        return;
    }
    uint32_t index = take(ps, producer);
    uint64_t value = (uint64_t)index << 1;
    link_last(ps, index);
    gain(ps, value, ti_box_volume(box));
    if (at) {
        lose(ps, *at, ti_box_volume(box));
        *at = value;
    } else {
        ti_producers_erase(ps, box);
        ti_region_map_insert(&ps->map, box, value);
    }
    for (int i = 0; i < AT_ONCE && ps->listed > ps->bound; i++) {
        uint32_t oldest = ps->first - 1;
        if (ps->pool.data[oldest].task <= point) {
            ti_producers_merge(ps, oldest);
        } else { /* it has written again since */
            unlink_from_list(ps, oldest);
            link_last(ps, oldest);
        }
    }
}

void ti_producers_mark(ti_producers *ps, const ti_region_entry *entry, const ti_box *part)
{
    ti_region_map *map = &ps->map;
    if (ti_box_equal(&entry->box, part)) {
        *ti_region_map_find(map, &entry->box) = entry->value | 1;
        return;
    }
    ti_box piece[6];
    int pieces = ti_box_subtract(&entry->box, part, piece);
    ti_region_map_remove(map, &entry->box, entry->value);
    for (int k = 0; k < pieces; k++) {
        ti_region_map_insert(map, &piece[k], entry->value);
    }
    ti_region_map_insert(map, part, entry->value | 1);
}

/* ---- merging */

/* The producer of what was merged under a name. */
static uint32_t merged_of(ti_producers *ps, const char *name)
{
    for (size_t i = 0; i < ps->merged.count; i++) {
        if (ps->pool.data[ps->merged.data[i]].name == name) {
            return ps->merged.data[i];
        }
    }
    if (ps->merged.count >= MOST_NAMES && name != ps->others) {
        return merged_of(ps, ps->others);
    }
    uint32_t index = take(ps, &(ti_producer){ .name = name });
    ti_vec_push(&ps->merged, index);
    return index;
}

static void note_manner(ti_producers *ps, const ti_manner *manner)
{
    if (ps->merged_volume == 0) {
        ps->merged_manner = *manner;
        ps->various = manner->reduced;
    }
    ps->various |= manner->reduced ||
                   memcmp(&ps->merged_manner.geometry, &manner->geometry, sizeof(ti_geometry)) != 0 ||
                   !ti_mapper_equal(&ps->merged_manner.mapper, &manner->mapper);
}

void ti_producers_merge(ti_producers *ps, uint32_t index)
{
    ti_producer was = ps->pool.data[index];
    uint32_t to = merged_of(ps, was.name);
    note_manner(ps, &was.manner);
    ti_vec_clear(&ps->hits);
    ti_region_map_query(&ps->map, &was.box, &ps->hits);
    size_t kept = 0;
    for (size_t i = 0; i < ps->hits.count; i++) {
        ti_region_entry e = ps->hits.data[i];
        if (e.value >> 1 == index) {
            lose(ps, e.value, ti_box_volume(&e.box));
            e.value = (uint64_t)to << 1 | (e.value & 1);
            gain(ps, e.value, ti_box_volume(&e.box));
            *ti_region_map_find(&ps->map, &e.box) = e.value;
            ps->hits.data[kept++] = e;
        }
    }
    for (size_t i = 0; i < kept; i++) {
        const ti_region_entry *e = &ps->hits.data[i];
        if (ti_region_map_remove(&ps->map, &e->box, e->value)) { /* no earlier one has joined it */
            ti_region_map_insert_joined(&ps->map, &e->box, e->value);
        }
    }
}
