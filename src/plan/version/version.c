/* Symbolic versions: see version.h. Rules are named by number (doc/internals.md). */
#include "plan/version/version.h"

#include "base/check.h"
#include "base/map.h"
#include "base/sort.h"
#include "grid/region.h"

#include <string.h>

/* ---- entries */

static ti_version *new_version(ti_version_map *map)
{
    ti_version *v = map->free;
    if (!v) {
        return TI_NEW(ti_version);
    }
    map->free = v->next_free;
    memset(v, 0, sizeof(*v));
    return v;
}

static void ref_holders(ti_writer_kind kind, ti_holder *writer, ti_copies *copies)
{
    if (kind == TI_WRITER_SPLIT) {
        ti_holder_ref(writer);
    }
    ti_copies_ref(copies);
}

ti_version_state ti_version_state_take(const ti_version *v)
{
    ref_holders(v->kind, v->writer, v->copies);
    return (ti_version_state){ v->box, v->kind, v->a, v->b, v->writer, v->copies };
}

void ti_version_state_drop(const ti_version_state *s)
{
    if (s->kind == TI_WRITER_SPLIT) {
        ti_holder_unref(s->writer);
    }
    ti_copies_unref(s->copies);
}

bool ti_version_state_is_of(const ti_version_state *s, const ti_version *v)
{
    const ti_version like = { .kind = s->kind, .a = s->a, .b = s->b, .writer = s->writer };
    return ti_version_has_writer_of(&like, v) && s->copies == v->copies && ti_box_equal(&s->box, &v->box);
}

static void drop_writer(ti_version *v)
{
    if (v->kind == TI_WRITER_SPLIT) {
        ti_holder_unref(v->writer);
    }
    v->kind = TI_WRITER_UNDEFINED;
    v->writer = NULL;
}

static void set_copies(ti_version *v, ti_copies *copies)
{
    ti_copies_ref(copies);
    ti_copies_unref(v->copies);
    v->copies = copies;
}

static void drop_holders(ti_version *v)
{
    drop_writer(v);
    set_copies(v, NULL);
    v->joined = 0;
}

static void free_version(ti_version_map *map, ti_version *v)
{
    drop_holders(v);
    v->tile = 0;
    for (size_t i = 0; v->dirty && i < map->dirty.count; i++) {
        map->dirty.data[i] = map->dirty.data[i] == v ? NULL : map->dirty.data[i];
    }
    v->next_free = map->free;
    map->free = v;
}

static void set_nodes(ti_version *v, int a, int b)
{
    TI_ASSERT(0 <= a && a < b);
    drop_writer(v);
    v->kind = TI_WRITER_NODES;
    v->a = a;
    v->b = b;
}

static void mark_dirty(ti_version_map *map, ti_version *v)
{
    if (!v->dirty) {
        v->dirty = true;
        ti_vec_push(&map->dirty, v);
    }
}

static void insert(ti_version_map *map, ti_version *v)
{
    TI_ASSERT(!ti_box_is_empty(&v->box) && ti_box_covers(&map->extent, &v->box));
    ti_region_map_insert(&map->index, &v->box, (uint64_t)(uintptr_t)v);
    map->changes++;
    map->most = TI_MAX(map->most, map->index.count);
    mark_dirty(map, v);
}

static void remove_from_index(ti_version_map *map, ti_version *v)
{
    ti_region_map_remove(&map->index, &v->box, (uint64_t)(uintptr_t)v);
    map->changes++;
}

static ti_version *copy_version(ti_version_map *map, const ti_version *v, const ti_box *box)
{
    ti_version *copy = new_version(map);
    TI_ASSERT(v->joined == 0);
    *copy = *v;
    copy->box = *box;
    copy->tile = 0;
    copy->dirty = false;
    ref_holders(copy->kind, copy->writer, copy->copies);
    return copy;
}

void ti_version_map_init(ti_version_map *map, const ti_box *extent, int nodes, bool initialised, uint64_t *evaluated)
{
    memset(map, 0, sizeof(*map));
    map->extent = *extent;
    map->nodes = nodes;
    map->evaluated = evaluated;
    map->changes = 1;
    ti_region_map_init(&map->index);
    ti_holder_cache_init(&map->holders, evaluated);
    ti_copies_cache_init(&map->copies);
    ti_version *v = new_version(map);
    v->box = *extent;
    if (initialised) {
        set_nodes(v, 0, nodes);
    }
    insert(map, v);
    map->dirty.count = 0;
    v->dirty = false;
}

void ti_version_map_fini(ti_version_map *map)
{
    ti_version_map_query(map, &map->extent);
    for (size_t i = 0; i < map->hit.count; i++) {
        TI_DELETE(map->hit.data[i]);
    }
    for (ti_version *v = map->free, *next; v; v = next) {
        next = v->next_free;
        TI_DELETE(v);
    }
    ti_region_map_fini(&map->index);
    ti_tile_notes_destroy(map->tiles);
    ti_copies_cache_fini(&map->copies);
    ti_holder_cache_fini(&map->holders);
    ti_vec_fini(&map->dirty);
    ti_vec_fini(&map->hit);
    ti_vec_fini(&map->found);
    ti_vec_fini(&map->other);
}

/* Nodes that have joined as readers become a part of the copies, or if all nodes hold the box then, of the writers.
 * Nothing is merged: the entry stays apart, as it did when they joined. */
static TI_NOINLINE void gather_joined(ti_version_map *map, ti_version *v)
{
    const ti_node_range everybody = { 0, map->nodes };
    set_copies(v, ti_copies_add_each(&map->copies, v->copies, v->join, v->joined));
    v->joined = 0;
    if (v->copies->nodes.count <= 2 && ti_copies_have(v->copies, everybody, ti_version_owners(v))) {
        set_nodes(v, 0, map->nodes);
        set_copies(v, ti_copies_drop_nodes(&map->copies, v->copies, everybody));
    }
}

static inline ti_version *gather(ti_version_map *map, ti_version *v)
{
    if (TI_UNLIKELY(v->joined > 0)) {
        gather_joined(map, v);
    }
    return v;
}

const ti_versions *ti_version_map_query(ti_version_map *map, const ti_box *box)
{
    ti_vec_clear(&map->found);
    ti_vec_clear(&map->hit);
    ti_region_map_query(&map->index, box, &map->found);
    for (size_t i = 0; i < map->found.count; i++) {
        ti_vec_push(&map->hit, gather(map, (ti_version *)(uintptr_t)map->found.data[i].value));
    }
    return &map->hit;
}

ti_version *ti_version_map_search(ti_version_map *map, uint32_t tile, const ti_box *box)
{
    const uint64_t *at = ti_region_map_find(&map->index, box);
    if (!at) {
        return NULL;
    }
    ti_version *v = (ti_version *)(uintptr_t)*at;
    v->tile = tile ? tile : v->tile;
    ti_tile_note(&map->tiles, tile, *at);
    return v;
}

ti_version *ti_version_map_find(ti_version_map *map, uint32_t tile, const ti_box *box)
{
    ti_version *v = ti_version_map_tile(map, tile, box);
    return v ? gather(map, v) : NULL;
}

static int by_corner(const void *a, const void *b)
{
    const ti_region_entry *x = a, *y = b;
    return ti_box_compare(&x->box, &y->box);
}

/* Boxes that lie apart are looked up one by one: between them there may be many other entries. */
static void query_each(ti_version_map *map, const ti_boxes *boxes)
{
    ti_vec_clear(&map->found);
    ti_vec_clear(&map->hit);
    for (size_t i = 0; i < boxes->count; i++) {
        ti_region_map_query(&map->index, &boxes->data[i], &map->found);
    }
    ti_vec_sort(&map->found, &map->other, by_corner);
    for (size_t i = 0; i < map->found.count; i++) {
        uint64_t value = map->found.data[i].value;
        if (i == 0 || map->found.data[i - 1].value != value) {
            ti_vec_push(&map->hit, gather(map, (ti_version *)(uintptr_t)value));
        }
    }
}

const ti_versions *ti_version_map_query_any(ti_version_map *map, const ti_boxes *boxes)
{
    enum { MAX_SEARCHED = 8 }; /* entries that are looked at one after the other */
    TI_ASSERT(boxes->count > 0);
    if (boxes->count > 1 && map->index.count > MAX_SEARCHED) {
        query_each(map, boxes);
        return &map->hit;
    }
    ti_box around = ti_boxes_bounding(boxes->data, boxes->count);
    ti_version_map_query(map, &around);
    size_t kept = 0;
    for (size_t i = 0; i < map->hit.count; i++) {
        map->hit.data[kept] = map->hit.data[i];
        kept += boxes->count == 1 || ti_boxes_meet(boxes, &map->hit.data[i]->box);
    }
    map->hit.count = kept;
    return &map->hit;
}

/* ---- merging (R3) */

static bool same_version(const ti_version *x, const ti_version *y)
{
    return ti_version_has_writer_of(x, y) && x->copies == y->copies;
}

/* Find the neighbours of an entry. They are known if no entry has been cut or merged since they were found, as with
 * tiles. */
static void find_beside(ti_version_map *map, ti_version *v)
{
    if (v->beside_at == map->changes) {
        return;
    }
    ti_vec_clear(&map->found);
    ti_region_map_query_joining(&map->index, &v->box, &map->found);
    TI_ASSERT(map->found.count <= TI_COUNT(v->beside));
    v->besides = 0;
    for (size_t i = 0; i < map->found.count; i++) {
        v->beside[v->besides++] = (ti_version *)(uintptr_t)map->found.data[i].value;
    }
    v->beside_at = map->changes;
}

/* Merge `v` with the first neighbour that equals it; the one with the smaller corner stays. NULL if there is none. */
static ti_version *merge_once(ti_version_map *map, ti_version *v)
{
    find_beside(map, gather(map, v));
    for (int i = 0; i < v->besides; i++) {
        ti_version *w = gather(map, v->beside[i]);
        ti_box joined;
        if (!same_version(v, w) || !ti_box_join(&v->box, &w->box, &joined)) {
            continue;
        }
        ti_version *low = ti_box_compare(&v->box, &w->box) < 0 ? v : w, *high = low == v ? w : v;
        remove_from_index(map, low);
        remove_from_index(map, high);
        free_version(map, high);
        low->box = joined;
        low->tile = 0;
        ti_region_map_insert(&map->index, &low->box, (uint64_t)(uintptr_t)low);
        return low;
    }
    return NULL;
}

static int by_box(const void *a, const void *b)
{
    return ti_box_compare(&(*(ti_version *const *)a)->box, &(*(ti_version *const *)b)->box);
}

/* Merge whatever has changed with its neighbours, in entry order. */
static void settle(ti_version_map *map)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->dirty.count; i++) { /* but for those that were freed since */
        map->dirty.data[kept] = map->dirty.data[i];
        kept += map->dirty.data[i] != NULL;
    }
    map->dirty.count = kept;
    ti_vec_sort(&map->dirty, &map->hit, by_box);
    if (map->index.count > 1) {
        for (size_t i = 0; i < map->dirty.count; i++) {
            ti_version *v = map->dirty.data[i];
            while (v) {
                v = merge_once(map, v);
            }
        }
    }
    for (size_t i = 0; i < map->dirty.count; i++) {
        if (map->dirty.data[i]) {
            map->dirty.data[i]->dirty = false;
        }
    }
    ti_vec_clear(&map->dirty);
    TI_ASSERT(map->index.count > 0);
}

/* ---- cutting (R2) */

/* Simplify a piece that a cut has left: readers that do not touch it are dropped, and if one node wrote all of it, that
 * node is named. */
static void simplify(ti_version_map *map, ti_version *v)
{
    set_copies(v, ti_copies_cut(&map->copies, v->copies, &v->box));
    int a, b;
    if (v->kind == TI_WRITER_SPLIT && v->writer->disjoint && ti_holder_candidate_nodes(v->writer, &v->box, &a, &b) &&
        a == b) {
        set_nodes(v, a, a + 1);
    }
}

/* Replace `v` by its parts outside `box`, simplified if a write cut it, and return its part inside. */
static ti_version *cut_out(ti_version_map *map, ti_version *v, const ti_box *box, bool by_write)
{
    if (ti_box_covers(box, &v->box)) {
        return v;
    }
    ti_box piece[6], common = ti_box_intersect(&v->box, box);
    TI_ASSERT(!ti_box_is_empty(&common));
    int pieces = ti_box_subtract(&v->box, box, piece);
    remove_from_index(map, v);
    for (int i = 0; i < pieces; i++) {
        ti_version *rest = copy_version(map, v, &piece[i]);
        if (by_write) {
            simplify(map, rest);
        }
        insert(map, rest);
    }
    v->box = common;
    v->tile = 0;
    insert(map, v);
    return v;
}

/* The entry, if it was inserted last, need not be merged. One node wrote it: a tile that was cut out of what is around
 * it, and that will be used again. */
static void keep_cut(ti_version_map *map, ti_version *v)
{
    size_t last = map->dirty.count - 1;
    if (ti_version_map_stays_apart(map) && map->index.count <= TI_VERSION_APART && map->dirty.count &&
        map->dirty.data[last] == v) {
        map->dirty.count = last;
        v->dirty = false;
    }
}

/* The entry is exactly what is about to be written: it becomes undefined until then. */
static void clear_entry(ti_version_map *map, ti_version *v)
{
    drop_holders(v);
    if (!ti_version_map_stays_apart(map)) {
        mark_dirty(map, v);
    }
}

/* Make `box` one entry, which is undefined until it is written. */
static ti_version *clear_box(ti_version_map *map, const ti_box *box)
{
    ti_version *exact = ti_version_map_search(map, 0, box);
    if (exact) {
        clear_entry(map, exact);
        return exact;
    }
    ti_version_map_query(map, box);
    for (size_t i = 0; i < map->hit.count; i++) {
        ti_version *inside = cut_out(map, map->hit.data[i], box, true);
        remove_from_index(map, inside);
        free_version(map, inside);
    }
    ti_version *v = new_version(map);
    v->box = *box;
    insert(map, v);
    return v;
}

static void set_cleared(ti_version_map *map, ti_version *v, int a, int b)
{
    set_nodes(v, a, b);
    if (b == a + 1) {
        keep_cut(map, v);
    }
    if (map->dirty.count) {
        settle(map);
    }
}

void ti_version_map_set(ti_version_map *map, const ti_box *box, int a, int b)
{
    set_cleared(map, clear_box(map, box), a, b);
}

void ti_version_map_write_entry(ti_version_map *map, ti_version *v, int q)
{
    clear_entry(map, v);
    set_cleared(map, v, q, q + 1);
}

/* Whether the box is an entry that this writer wrote before, and no other node has read since: then nothing changes. */
static bool is_as_written(ti_version_map *map, const ti_holder *writer, const ti_copies *copies, const ti_box *box)
{
    const ti_version *v = writer->constant ? NULL : ti_version_map_find(map, 0, box);
    return v && v->kind == TI_WRITER_SPLIT && v->writer == writer && v->copies == copies;
}

static void write_all(ti_version_map *map, ti_holder *writer, ti_copies *copies)
{
    for (size_t i = 0; i < writer->image.count; i++) {
        if (is_as_written(map, writer, copies, &writer->image.data[i])) {
            continue;
        }
        ti_version *v = clear_box(map, &writer->image.data[i]);
        if (writer->constant) {
            set_nodes(v, writer->split->node_a, writer->split->node_b);
            if (v->b == v->a + 1) {
                keep_cut(map, v);
            }
        } else {
            v->kind = TI_WRITER_SPLIT;
            v->writer = ti_holder_ref(writer);
            set_copies(v, copies);
        }
    }
    if (map->dirty.count) {
        settle(map);
    }
}

void ti_version_map_write(ti_version_map *map, ti_holder *writer)
{
    write_all(map, writer, NULL);
}

void ti_version_map_write_copied(ti_version_map *map, ti_holder *writer, ti_holder *copy)
{
    ti_copies *copies = copy && !writer->constant ? ti_copies_add_reader(&map->copies, NULL, copy) : NULL;
    ti_copies_ref(copies);
    write_all(map, writer, copies);
    ti_copies_unref(copies);
}

/* ---- reading (R4) */

static bool all_hold(const ti_version *v, ti_node_range nodes)
{
    return ti_copies_have(v->copies, nodes, ti_version_owners(v));
}

/* The nodes hold the box from now on. The writers are among them, and any of them may serve others. */
static void promote(ti_version_map *map, ti_version *v, ti_node_range nodes, const ti_box *box)
{
    TI_ASSERT(v->kind != TI_WRITER_UNDEFINED && nodes.a < nodes.b);
    v = cut_out(map, v, box, false);
    set_nodes(v, nodes.a, nodes.b);
    set_copies(v, ti_copies_drop_nodes(&map->copies, v->copies, nodes));
    mark_dirty(map, v);
}

/* The nodes hold the box from now on, beside the writers. */
static void spread(ti_version_map *map, ti_version *v, ti_node_range nodes, const ti_box *box)
{
    const ti_node_range everybody = { 0, map->nodes };
    v = cut_out(map, v, box, false);
    set_copies(v, ti_copies_add_nodes(&map->copies, v->copies, nodes));
    mark_dirty(map, v);
    if (v->copies->nodes.count <= 2 && all_hold(v, everybody)) { /* more intervals leave others out */
        promote(map, v, everybody, box);
    }
}

static void remember(ti_version_map *map, ti_version *v, ti_holder *reader)
{
    if (v->kind != TI_WRITER_SPLIT || !ti_holder_covers(v->writer, reader)) {
        ti_copies *copies = ti_copies_add_reader(&map->copies, v->copies, reader);
        if (copies != v->copies) {
            set_copies(v, copies);
            mark_dirty(map, v);
        }
    }
}

static void read_entry(ti_version_map *map, ti_version *v, ti_holder *reader, const ti_box *image, bool many)
{
    ti_node_range nodes = { reader->split->node_a, reader->split->node_b };
    if (v->kind == TI_WRITER_UNDEFINED || all_hold(v, nodes)) {
        return;
    }
    int writer_a = v->kind == TI_WRITER_NODES ? v->a : v->writer->split->node_a;
    int writer_b = v->kind == TI_WRITER_NODES ? v->b : v->writer->split->node_b;
    ti_box common = ti_box_intersect(&v->box, image);
    if (!reader->constant || (many && !ti_box_equal(&common, &v->box))) {
        remember(map, v, reader);
    } else if (nodes.a <= writer_a && writer_b <= nodes.b) {
        promote(map, v, nodes, &common);
    } else {
        spread(map, v, nodes, &common);
    }
}

/* The entry that was marked last, which was read by itself, need not be merged. */
static void leave_apart(ti_version_map *map, size_t before)
{
    TI_ASSERT(map->dirty.count <= before + 1);
    if (map->dirty.count > before && ti_version_map_stays_apart(map)) {
        map->dirty.data[--map->dirty.count]->dirty = false;
    }
}

/* Entries that were read together, and follow each other with equal contents, need not stay apart. */
static void join_hits(ti_version_map *map)
{
    for (size_t i = 1; i < map->hit.count && ti_version_map_stays_apart(map); i++) {
        if (same_version(map->hit.data[i - 1], map->hit.data[i])) {
            mark_dirty(map, map->hit.data[i]);
        }
    }
}

void ti_version_map_read(ti_version_map *map, ti_holder *reader)
{
    bool many = map->index.count >= TI_VERSION_MANY;
    for (size_t i = 0; i < reader->image.count; i++) {
        const ti_box *image = &reader->image.data[i];
        size_t before = map->dirty.count;
        ti_version_map_query(map, image);
        bool alone = map->hit.count == 1 && ti_box_equal(&map->hit.data[0]->box, image);
        for (size_t k = 0; k < map->hit.count; k++) {
            read_entry(map, map->hit.data[k], reader, image, many);
        }
        if (alone) {
            leave_apart(map, before);
        } else {
            join_hits(map);
        }
    }
    if (map->dirty.count) {
        settle(map);
    }
}

void ti_version_map_hold(ti_version_map *map, ti_version *v, int q)
{
    ti_node_range nodes = { q, q + 1 };
    if (v->kind == TI_WRITER_UNDEFINED || ti_version_holds(v, q)) {
        return;
    }
    bool alone = v->kind == TI_WRITER_SPLIT && v->writer->split->node_a == q && v->writer->split->node_b == q + 1;
    if (!alone && ti_version_map_stays_apart(map)) {
        if (TI_UNLIKELY(v->joined == TI_VERSION_JOINING)) {
            gather_joined(map, v);
        }
        ti_version_list(v, q);
        return;
    }
    (alone ? promote : spread)(map, gather(map, v), nodes, &v->box);
    leave_apart(map, 0);
    if (map->dirty.count) {
        settle(map);
    }
}

void ti_version_map_share(ti_version_map *map, const ti_box *box, int nodes)
{
    ti_version_map_query(map, box);
    for (size_t k = 0; k < map->hit.count; k++) {
        ti_version *v = map->hit.data[k];
        if (v->kind != TI_WRITER_UNDEFINED && (v->kind != TI_WRITER_NODES || v->a > 0 || v->b < nodes)) {
            ti_box common = ti_box_intersect(&v->box, box);
            promote(map, v, (ti_node_range){ 0, nodes }, &common);
        }
    }
    if (map->dirty.count) {
        settle(map);
    }
}

void ti_version_map_load(ti_version_map *map, const ti_version_state *state, size_t count)
{
    TI_ASSERT(map->dirty.count == 0 && count > 0);
    ti_version_map_query(map, &map->extent);
    for (size_t i = 0; i < map->hit.count; i++) {
        free_version(map, map->hit.data[i]);
    }
    ti_region_map_remove_inside(&map->index, &map->extent);
    for (size_t i = 0; i < count; i++) {
        ti_version *v = new_version(map);
        ref_holders(state[i].kind, state[i].writer, state[i].copies);
        v->box = state[i].box;
        v->kind = state[i].kind;
        v->a = state[i].a;
        v->b = state[i].b;
        v->writer = state[i].writer;
        v->copies = state[i].copies;
        ti_region_map_insert(&map->index, &v->box, (uint64_t)(uintptr_t)v);
    }
    map->changes++;
}

/* ---- questions (R5 to R7) */

bool ti_version_is_free(const ti_version *v, ti_holders reads)
{
    for (size_t i = 0; i < reads.count; i++) {
        const ti_holder *r = reads.data[i];
        bool held = v->kind == TI_WRITER_UNDEFINED || (v->kind == TI_WRITER_SPLIT && ti_holder_covers(v->writer, r)) ||
                    all_hold(v, (ti_node_range){ r->split->node_a, r->split->node_b });
        for (size_t k = 0; k < ti_copies_readers(v->copies) && !held; k++) {
            held = ti_holder_covers(v->copies->reader.data[k], r);
        }
        if (!held) {
            return false;
        }
    }
    return true;
}

void ti_demand_fini(ti_demand *demand)
{
    ti_vec_fini(&demand->image);
    ti_vec_fini(&demand->held);
    ti_vec_fini(&demand->rest);
}

void ti_demand_make(const ti_version_map *map, const ti_version *v, ti_holders reads, int q, const ti_box *clip,
                    ti_demand *demand)
{
    TI_ASSERT(ti_box_covers(&v->box, clip));
    ti_vec_clear(&demand->image);
    ti_vec_clear(&demand->held);
    demand->apart = reads.count == 1 && reads.data[0]->observed_disjoint;
    if (v->copies && ti_copies_have(v->copies, (ti_node_range){ q, q + 1 }, (ti_node_range){ 0, 0 })) {
        return;
    }
    for (size_t i = 0; i < reads.count; i++) {
        ti_holder_node(&map->holders, reads.data[i], q, clip, &demand->image);
    }
    for (size_t i = 0; i < ti_copies_readers(v->copies) && demand->image.count; i++) {
        ti_holder_node(&map->holders, v->copies->reader.data[i], q, clip, &demand->held);
    }
}

void ti_demand_hold_own(const ti_version_map *map, const ti_version *v, int q, const ti_box *clip, ti_demand *demand)
{
    if (v->kind == TI_WRITER_SPLIT && demand->image.count) {
        ti_holder_node(&map->holders, v->writer, q, clip, &demand->held);
    }
}

void ti_demand_lacks(ti_demand *demand, const ti_box *clip, ti_boxes *out)
{
    TI_ASSERT(out != &demand->image && out != &demand->held && out != &demand->rest);
    ti_vec_clear(out);
    if (TI_LIKELY(demand->image.count == 1 && demand->held.count == 0)) {
        ti_boxes_push_common(&demand->image.data[0], clip, out);
        demand->compared++;
        return;
    }
    for (size_t i = 0; i < demand->image.count; i++) {
        ti_box common = ti_box_intersect(&demand->image.data[i], clip);
        if (ti_box_is_empty(&common)) {
            continue;
        }
        if (out->count && !demand->apart) {
            demand->compared += out->count;
            ti_boxes_add_missing(out, &common, &demand->rest);
        } else {
            ti_vec_push(out, common);
        }
    }
    demand->compared += demand->image.count + demand->held.count;
    for (size_t i = 0; i < demand->held.count && out->count; i++) {
        if (ti_box_meets(&demand->held.data[i], clip)) {
            ti_boxes_subtract(out, &demand->held.data[i]);
        }
    }
}

void ti_version_wants(const ti_version_map *map, const ti_version *v, ti_holders reads, int q, ti_boxes *out,
                      ti_demand *demand)
{
    ti_vec_clear(out);
    if (v->kind == TI_WRITER_UNDEFINED || (v->kind == TI_WRITER_NODES && v->a <= q && q < v->b)) {
        return;
    }
    ti_demand_make(map, v, reads, q, &v->box, demand);
    ti_demand_hold_own(map, v, q, &v->box, demand);
    ti_demand_lacks(demand, &v->box, out);
}

void ti_version_owned(const ti_version_map *map, const ti_version *v, int64_t c, ti_boxes *out)
{
    TI_ASSERT(v->kind == TI_WRITER_SPLIT);
    ti_vec_clear(out);
    ti_holder_chunk(&map->holders, v->writer, c, &v->box, out);
    if (v->writer->disjoint || !out->count) {
        return;
    }
    /* Where images overlap, the lowest chunk owns. */
    ti_chunk_list lower = { 0 };
    ti_boxes image = { 0 };
    ti_box whole = ti_boxes_bounding(out->data, out->count);
    ti_holder_candidates(v->writer, &whole, &lower);
    for (size_t i = 0; i < lower.count && lower.data[i] < c; i++) {
        ti_holder_chunk(&map->holders, v->writer, lower.data[i], &v->box, &image);
    }
    for (size_t i = 0; i < image.count; i++) {
        ti_boxes_subtract(out, &image.data[i]);
    }
    ti_vec_fini(&image);
    ti_vec_fini(&lower);
}

/* ---- checks */

uint64_t ti_version_map_digest(ti_version_map *map)
{
    uint64_t digest = 0;
    ti_version_map_query(map, &map->extent);
    for (size_t i = 0; i < map->hit.count; i++) {
        const ti_version *v = map->hit.data[i];
        digest = ti_hash_words(&v->box, sizeof(v->box), digest);
        digest = ti_hash64(digest ^ (uint64_t)v->kind);
        digest = v->kind == TI_WRITER_NODES ? ti_hash64(digest ^ (uint64_t)v->a << 32 ^ (uint64_t)v->b) : digest;
        digest = v->kind == TI_WRITER_SPLIT ? ti_hash64(v->writer->interned.hash ^ digest) : digest;
        digest = v->copies ? ti_hash64(v->copies->interned.hash ^ digest) : digest;
    }
    return digest;
}

bool ti_version_map_is_valid(ti_version_map *map)
{
    int64_t volume = 0;
    bool valid = ti_region_map_is_valid(&map->index);
    ti_version_map_query(map, &map->extent);
    for (size_t i = 0; i < map->hit.count && valid; i++) {
        const ti_version *v = map->hit.data[i];
        volume += ti_box_volume(&v->box);
        valid = !v->dirty && (v->kind != TI_WRITER_NODES || v->a < v->b) &&
                ti_copies_readers(v->copies) <= TI_COPIES_READERS;
        for (size_t k = i + 1; k < map->hit.count && valid; k++) {
            ti_box joined;
            valid = !ti_box_meets(&v->box, &map->hit.data[k]->box) &&
                    !(map->most <= TI_VERSION_MANY && ti_box_join(&v->box, &map->hit.data[k]->box, &joined) &&
                      same_version(v, map->hit.data[k]));
        }
    }
    return valid && volume == ti_box_volume(&map->extent) && map->hit.count == map->index.count;
}
