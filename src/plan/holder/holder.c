/* Holders: see holder.h. */
#include "plan/holder/holder.h"

#include "base/check.h"
#include "base/map.h"
#include "base/sort.h"
#include "ir/custom.h"

#include <string.h>

/* The boxes of every chunk of a custom mapper: those of chunk c are box[start[c]] to box[start[c + 1] - 1]. */
typedef struct ti_chunk_table {
    ti_boxes box;
    size_t *start;
    int64_t chunks;
    ti_box around;       /* all boxes, */
    int node_a, node_b;  /* which nodes [node_a, node_b] have; -1: there are none */
    ti_region_map index; /* box to chunk */
    ti_region_entries hits;
    ti_chunk_list list, other;
} ti_chunk_table;

/* ---- splits */

static void drop_split(ti_interned *interned, bool keep_memory)
{
    ti_split_ref *ref = (ti_split_ref *)interned;
    if (ref->split.table) {
        ti_free((void *)(uintptr_t)ref->split.table, (size_t)(ref->split.parts[0] + 1) * sizeof(int64_t));
    }
    *ref = (ti_split_ref){ .own_count = 0 };
    if (!keep_memory) {
        TI_DELETE(ref);
    }
}

void ti_split_cache_init(ti_split_cache *cache, int node)
{
    static const ti_interner_kind kind = { .drop = drop_split };
    *cache = (ti_split_cache){ .values.kind = &kind, .node = node };
}

void ti_split_cache_fini(ti_split_cache *cache)
{
    ti_interner_fini(&cache->values);
    ti_vec_fini(&cache->table);
}

ti_split_ref *ti_split_cache_get(ti_split_cache *cache, const ti_split_request *request)
{
    if (request->weights) {
        ti_vec_reserve(&cache->table, (size_t)request->nodes * (size_t)request->oversubscribe + 1);
    }
    ti_split split = ti_split_make(request, cache->table.data);
    uint64_t hash = ti_split_hash(&split);
    ti_split_ref *ref = (ti_split_ref *)ti_interner_first(&cache->values, hash);
    while (ref && (ref->interned.hash != hash || !ti_split_equal(&ref->split, &split))) {
        ref = (ti_split_ref *)ref->interned.next;
    }
    if (!ref) {
        ref = ti_interner_take(&cache->values, sizeof(*ref));
        ref->split = split;
        if (split.table) {
            size_t size = (size_t)(split.parts[0] + 1) * sizeof(int64_t);
            ref->split.table = memcpy(ti_alloc(size), split.table, size);
        }
        ref->own_count = ti_split_chunks_of(&split, cache->node, &ref->own_first);
        ti_split_nodes(&split, &ref->node_a, &ref->node_b);
        ti_interner_add(&cache->values, &ref->interned, hash);
    }
    ref->interned.last_use = ++cache->values.clock;
    TI_ASSERT(ref->node_a < ref->node_b && ref->node_b <= request->nodes);
    return ref;
}

/* ---- holders */

static void drop_holder(ti_interned *interned, bool keep_memory)
{
    ti_holder *h = (ti_holder *)interned;
    if (h->split) { /* else it is a spare */
        TI_ASSERT(h->split->interned.refs > 0);
        h->split->interned.refs--;
    }
    if (h->table) {
        ti_region_map_fini(&h->table->index);
        ti_free(h->table->start, (size_t)(h->table->chunks + 1) * sizeof(size_t));
        ti_vec_fini(&h->table->box);
        ti_vec_fini(&h->table->hits);
        ti_vec_fini(&h->table->list);
        ti_vec_fini(&h->table->other);
        TI_DELETE(h->table);
    }
    ti_spread_unref(h->spread);
    *h = (ti_holder){ .image = h->image };
    ti_vec_clear(&h->image);
    if (!keep_memory) {
        ti_vec_fini(&h->image);
        TI_DELETE(h);
    }
}

void ti_holder_cache_init(ti_holder_cache *cache, uint64_t *evaluated)
{
    static const ti_interner_kind kind = { .drop = drop_holder };
    *cache = (ti_holder_cache){ .values.kind = &kind, .evaluated = evaluated };
}

void ti_holder_cache_fini(ti_holder_cache *cache)
{
    ti_interner_fini(&cache->values);
}

static void add_image(const ti_holder *h, const ti_box *items, ti_boxes *out)
{
    if (h->custom) {
        ti_custom_image(h->custom, items, &h->extent, h->dims, out);
        return;
    }
    ti_box image[TI_MAPPER_BOXES];
    int boxes = ti_mapper_image(&h->mapper, &h->extent, items, image);
    for (int i = 0; i < boxes; i++) {
        ti_vec_push(out, image[i]);
    }
}

/* Append what chunk c touches. */
static void add_chunk(const ti_holder *h, int64_t c, ti_boxes *out)
{
    if (!h->spread) {
        ti_box items = ti_split_chunk(&h->split->split, c);
        add_image(h, &items, out);
        return;
    }
    ti_boxes items = { 0 }, image = { 0 };
    ti_spread_items(h->spread, &h->split->split, c, &items);
    for (size_t i = 0; i < items.count; i++) {
        add_image(h, &items.data[i], &image);
    }
    ti_boxes_normalize(&image);
    for (size_t i = 0; i < image.count; i++) {
        ti_vec_push(out, image.data[i]);
    }
    ti_vec_fini(&items);
    ti_vec_fini(&image);
}

/* All chunks of a custom mapper, or of a spread that is listed; for every node, since there is no inverse. */
static ti_chunk_table *build_table(const ti_holder *h, uint64_t *evaluated)
{
    ti_chunk_table *table = TI_NEW(ti_chunk_table);
    table->chunks = h->split->split.chunks;
    table->start = TI_NEW_ARRAY(size_t, (size_t)table->chunks + 1);
    table->node_a = table->node_b = -1;
    ti_region_map_init(&table->index);
    table->index.overlapping = true;
    for (int64_t c = 0; c < table->chunks; c++) {
        add_chunk(h, c, &table->box);
        table->start[c + 1] = table->box.count;
        ++*evaluated;
        for (size_t i = table->start[c]; i < table->start[c + 1]; i++) {
            ti_region_map_insert(&table->index, &table->box.data[i], (uint64_t)c);
        }
        if (table->start[c + 1] > table->start[c]) {
            int node = ti_split_node(&h->split->split, c);
            table->node_a = table->node_a < 0 ? node : table->node_a;
            table->node_b = node;
        }
    }
    if (table->box.count) {
        table->around = ti_boxes_bounding(table->box.data, table->box.count);
    }
    return table;
}

/* ---- what the chunks of a custom mapper show */

static int by_min(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* How the boxes of all chunks lie along dimension d: all alike, or side by side, where each begins where the one before
 * ends, or otherwise. */
static ti_along along_of_table(const ti_chunk_table *table, int d)
{
    typedef struct span {
        int64_t min, max;
    } span;
    TI_VEC(span) spans = { 0 }, other = { 0 };
    ti_along along = TI_ALONG_CONSTANT;
    for (size_t i = 0; i < table->box.count; i++) {
        const ti_box *b = &table->box.data[i];
        bool like_first = b->min[d] == table->box.data[0].min[d] && b->max[d] == table->box.data[0].max[d];
        along = like_first ? along : TI_ALONG_PARTITIONED;
        ti_vec_push(&spans, ((span){ b->min[d], b->max[d] }));
    }
    if (along == TI_ALONG_PARTITIONED) {
        ti_vec_sort(&spans, &other, by_min);
        for (size_t i = 1; i < spans.count; i++) {
            along = spans.data[i - 1].max > spans.data[i].min ? TI_ALONG_OTHER : along;
        }
    }
    ti_vec_fini(&spans);
    ti_vec_fini(&other);
    return along;
}

static bool same_boxes(const ti_chunk_table *table, int64_t c)
{
    size_t first = table->start[1], count = table->start[c + 1] - table->start[c];
    return count == first &&
           (count == 0 || memcmp(&table->box.data[table->start[c]], table->box.data, count * sizeof(ti_box)) == 0);
}

static void look_at_table(ti_holder *h)
{
    ti_chunk_table *table = h->table;
    bool single = true;
    h->observed_constant = h->observed_disjoint = true;
    for (int64_t c = 0; c < table->chunks; c++) {
        h->observed_constant = h->observed_constant && same_boxes(table, c);
        single = single && table->start[c + 1] - table->start[c] == 1;
    }
    for (int64_t c = 0; c < table->chunks && h->observed_disjoint; c++) {
        for (size_t i = table->start[c]; i < table->start[c + 1] && h->observed_disjoint; i++) {
            ti_vec_clear(&table->hits);
            ti_region_map_query(&table->index, &table->box.data[i], &table->hits);
            for (size_t k = 0; k < table->hits.count && h->observed_disjoint; k++) {
                h->observed_disjoint = table->hits.data[k].value == (uint64_t)c;
            }
        }
    }
    for (int d = 0; d < 3; d++) {
        h->along[d] = single ? along_of_table(table, d) : TI_ALONG_OTHER;
    }
}

void ti_holder_copy_table(const ti_holder *h, ti_box **box, size_t **start)
{
    const int64_t chunks = h->split->split.chunks;
    ti_boxes all = { 0 };
    *start = TI_NEW_ARRAY(size_t, (size_t)chunks + 1);
    for (int64_t c = 0; c < chunks; c++) {
        for (size_t i = 0; h->table && i < h->table->start[c + 1] - h->table->start[c]; i++) {
            ti_vec_push(&all, h->table->box.data[h->table->start[c] + i]);
        }
        if (!h->table) {
            add_chunk(h, c, &all);
        }
        (*start)[c + 1] = all.count;
    }
    *box = ti_alloc(all.count * sizeof(ti_box));
    for (size_t i = 0; i < all.count; i++) {
        (*box)[i] = all.data[i];
    }
    ti_vec_fini(&all);
}

/* Whether another dimension of the buffer follows the same dimension of items: such a diagonal is partitioned along
 * both, but leaves out most of what lies between. */
static bool is_on_diagonal(const ti_holder *h, int d)
{
    bool again = false;
    for (int k = 0; k < h->mapper.dims; k++) {
        const tacit_component *c = &h->mapper.c[k];
        again |= k != d && ti_component_follows(c) && c->dim == h->mapper.c[d].dim;
    }
    return again;
}

static ti_along along_of_component(const ti_holder *h, int d)
{
    const tacit_component *c = &h->mapper.c[d];
    if (d >= h->mapper.dims || !ti_component_follows(c) || h->split->split.parts[c->dim] == 1) {
        return TI_ALONG_CONSTANT;
    }
    bool partitioned = ti_mapper_is_partitioned(&h->mapper, &h->split->split, d) && !is_on_diagonal(h, d);
    return partitioned ? TI_ALONG_PARTITIONED : TI_ALONG_OTHER;
}

/* Rows or columns of the split's grid: what chunks touch follows some of its dimensions, and the others number the
 * chunks of one group, in even steps. */
static void find_groups(ti_holder *h)
{
    const ti_split *s = &h->split->split;
    bool followed[3] = { false, false, false };
    for (int d = 0; d < 3; d++) {
        const tacit_component *c = &h->mapper.c[d];
        if (h->along[d] == TI_ALONG_OTHER || (h->along[d] == TI_ALONG_PARTITIONED && c->lo + c->hi != 0)) {
            return;
        }
        if (h->along[d] == TI_ALONG_PARTITIONED) {
            followed[c->dim] = true;
        }
    }
    int64_t stride = 1, members = 1;
    bool ended = false;
    for (int k = 2; k >= 0; k--) {
        if (s->parts[k] == 1) {
            continue;
        }
        if (!followed[k] && ended) {
            return;
        }
        ended = ended || (followed[k] && members > 1);
        stride *= followed[k] && !ended ? s->parts[k] : 1;
        members *= followed[k] ? 1 : s->parts[k];
    }
    if (members > 1 && members < s->chunks) {
        TI_ASSERT(s->chunks % members == 0);
        h->members = (int)members;
        h->stride = (int)stride;
    }
}

static void derive_table(ti_holder_cache *cache, ti_holder *h)
{
    const ti_split *split = &h->split->split;
    h->table = build_table(h, cache->evaluated);
    ti_vec_clear(&h->image);
    for (size_t i = 0; i < h->table->box.count; i++) {
        ti_vec_push(&h->image, h->table->box.data[i]);
    }
    ti_boxes_normalize(&h->image);
    if (!h->spread) {
        h->constant = split->chunks == 1 || split->place == TI_PLACE_EVERYWHERE ||
                      (h->custom->properties & TACIT_MAPPER_CONSTANT);
        h->disjoint = true; /* overlapping writes are refused (api/check_overlap) */
        look_at_table(h);
    }
}

static void derive(ti_holder_cache *cache, ti_holder *h)
{
    const ti_split *split = &h->split->split;
    if (h->custom || (h->spread && h->spread->start)) {
        derive_table(cache, h);
        return;
    }
    ti_box range = ti_split_range(split), image[TI_MAPPER_BOXES];
    int boxes = ti_mapper_image(&h->mapper, &h->extent, &range, image);
    for (int i = 0; i < boxes; i++) {
        ti_vec_push(&h->image, image[i]);
    }
    for (size_t i = 0; h->clipped && i < h->image.count; i++) {
        h->image.data[i] = ti_box_intersect(&h->image.data[i], &h->within);
    }
    if (h->spread) { /* nothing is said of how images lie */
        return;
    }
    h->constant = ti_mapper_is_constant(&h->mapper, split, &h->extent);
    TI_ASSERT(boxes <= TI_MAPPER_BOXES && (boxes == 0 || ti_box_covers(&h->extent, &h->image.data[boxes - 1])));
    h->disjoint = ti_mapper_is_disjoint(&h->mapper, split);
    h->observed_constant = h->constant;
    h->observed_disjoint = h->disjoint;
    for (int d = 0; d < 3; d++) {
        h->along[d] = along_of_component(h, d);
    }
    if (split->place == TI_PLACE_SPLIT && split->parts[0] != split->chunks && !h->observed_constant &&
        !h->observed_disjoint && boxes == 1) {
        find_groups(h);
    }
}

/* What a holder is, as a value; `within` NULL: not clipped. */
static bool is_value(const ti_holder *h, const ti_mapper *m, const ti_split_ref *split, const ti_box *within,
                     const ti_spread *spread)
{
    return h->split == split && ti_mapper_equal(&h->mapper, m) && h->clipped == (within != NULL) &&
           (!within || ti_box_equal(&h->within, within)) && ti_spread_equal(h->spread, spread);
}

static ti_holder *get(ti_holder_cache *cache, const ti_access *access, const ti_mapper *m, ti_split_ref *split,
                      const ti_box *within, ti_spread *spread)
{
    uint64_t hash = ti_mapper_hash(m) ^ split->interned.hash ^ ti_spread_hash(spread);
    hash = within ? ti_hash_words(within, sizeof(*within), hash) : hash;
    ti_holder *h = (ti_holder *)ti_interner_first(&cache->values, hash);
    while (h && (h->interned.hash != hash || !is_value(h, m, split, within, spread))) {
        h = (ti_holder *)h->interned.next;
    }
    if (!h) {
        h = ti_interner_take(&cache->values, sizeof(*h));
        h->mapper = *m;
        h->custom = access->custom;
        h->split = split;
        split->interned.refs++;
        h->extent = access->buffer->extent;
        h->dims = access->buffer->dims;
        h->clipped = within != NULL;
        h->within = within ? *within : h->extent;
        h->spread = ti_spread_ref(spread);
        derive(cache, h);
        ti_interner_add(&cache->values, &h->interned, hash);
    }
    h->interned.last_use = ++cache->values.clock;
    return h;
}

ti_holder *ti_holder_get(ti_holder_cache *cache, const ti_access *access, uint32_t mapper, ti_split_ref *split)
{
    return get(cache, access, &access->mapper[mapper], split, NULL, NULL);
}

ti_holder *ti_holder_get_spread(ti_holder_cache *cache, const ti_access *access, uint32_t mapper, ti_split_ref *split,
                                ti_spread *spread)
{
    TI_ASSERT(!spread->start || spread->chunks == split->split.chunks);
    return get(cache, access, &access->mapper[mapper], split, NULL, spread);
}

ti_holder *ti_holder_get_wide(ti_holder_cache *cache, const ti_access *access, uint32_t mapper, ti_split_ref *split,
                              const ti_margin *margin, bool copies)
{
    const ti_mapper *m = &access->mapper[mapper];
    const ti_box *extent = &access->buffer->extent, range = ti_split_range(&split->split);
    ti_box all[TI_MAPPER_BOXES], beyond[TI_MAPPER_BOXES];
    ti_mapper wide = *m;
    ti_margin_widen(margin, &wide);
    bool clips = !copies && ti_mapper_image(m, extent, &range, all) == 1 &&
                 ti_mapper_image(&wide, extent, &range, beyond) == 1 && !ti_box_covers(&all[0], &beyond[0]);
    return get(cache, access, &wide, split, clips ? &all[0] : NULL, NULL);
}

void ti_holder_chunk(const ti_holder_cache *cache, const ti_holder *h, int64_t c, const ti_box *clip, ti_boxes *out)
{
    TI_ASSERT(c >= 0 && c < h->split->split.chunks);
    ++*cache->evaluated;
    if (h->table) {
        for (size_t i = h->table->start[c]; i < h->table->start[c + 1]; i++) {
            ti_boxes_push_common(&h->table->box.data[i], clip, out);
        }
        return;
    }
    if (h->spread) {
        ti_boxes all = { 0 };
        add_chunk(h, c, &all);
        for (size_t i = 0; i < all.count; i++) {
            ti_boxes_push_common(&all.data[i], clip, out);
        }
        ti_vec_fini(&all);
        return;
    }
    ti_box items = ti_split_chunk(&h->split->split, c), image[TI_MAPPER_BOXES];
    int boxes = ti_mapper_image(&h->mapper, &h->extent, &items, image);
    for (int i = 0; i < boxes; i++) {
        image[i] = h->clipped ? ti_box_intersect(&image[i], &h->within) : image[i];
        ti_boxes_push_common(&image[i], clip, out);
    }
}

void ti_holder_node(const ti_holder_cache *cache, const ti_holder *h, int q, const ti_box *clip, ti_boxes *out)
{
    int64_t first, count = ti_split_chunks_of(&h->split->split, q, &first);
    TI_ASSERT(count >= 0 && first >= 0 && first + count <= h->split->split.chunks);
    if (h->constant && !h->table) { /* one stands for all of them */
        for (size_t i = 0; count > 0 && i < h->image.count; i++) {
            ti_boxes_push_common(&h->image.data[i], clip, out);
        }
        return;
    }
    for (int64_t c = first; c < first + count; c++) {
        ti_holder_chunk(cache, h, c, clip, out);
    }
}

static int by_chunk(const void *a, const void *b)
{
    return (*(const int64_t *)a > *(const int64_t *)b) - (*(const int64_t *)a < *(const int64_t *)b);
}

void ti_chunks_settle(ti_chunk_list *list, ti_chunk_list *other)
{
    bool ascending = true;
    for (size_t i = 1; i < list->count && ascending; i++) {
        ascending = list->data[i - 1] <= list->data[i];
    }
    if (!ascending) {
        ti_vec_sort(list, other, by_chunk);
    }
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (kept == 0 || list->data[kept - 1] != list->data[i]) {
            list->data[kept++] = list->data[i];
        }
    }
    list->count = kept;
}

/* A chunk may have several boxes there. */
static void table_candidates(ti_chunk_table *table, const ti_box *box, ti_chunk_list *out)
{
    ti_vec_clear(&table->hits);
    ti_region_map_query(&table->index, box, &table->hits);
    for (size_t i = 0; i < table->hits.count; i++) {
        ti_vec_push(out, (int64_t)table->hits.data[i].value);
    }
    ti_chunks_settle(out, &table->other);
}

/* Parts from `first` to `last`, or, if first > last, from 0 to `last` and from `first` to the end. */
#define FOR_ARC(i, parts, first, last)                                                                                 \
    for (int64_t i = (first) > (last) ? 0 : (first), i##_end = (first) > (last) ? (parts) : (last) + 1; i < i##_end;   \
         i = i == (last) && i < (first) ? (first) : i + 1)

/* A mapper of at least what chunks touch, in `room` if it has to be made. */
static const ti_mapper *reach_of(const ti_holder *h, ti_mapper *room)
{
    if (TI_LIKELY(!h->spread)) {
        return &h->mapper;
    }
    *room = h->mapper;
    ti_margin_widen(&h->spread->margin, room);
    return room;
}

void ti_holder_candidates(const ti_holder *h, const ti_box *box, ti_chunk_list *out)
{
    ti_vec_clear(out);
    if (h->table) {
        table_candidates(h->table, box, out);
        return;
    }
    const ti_split *s = &h->split->split;
    ti_mapper room;
    int64_t first[3], last[3];
    if (!ti_mapper_inverse(reach_of(h, &room), s, &h->extent, box, first, last)) {
        return;
    }
    FOR_ARC(i, s->parts[0], first[0], last[0])
    {
        FOR_ARC(j, s->parts[1], first[1], last[1])
        {
            FOR_ARC(k, s->parts[2], first[2], last[2])
            {
                TI_ASSERT(out->count == 0 || out->data[out->count - 1] < (i * s->parts[1] + j) * s->parts[2] + k);
                ti_vec_push(out, (i * s->parts[1] + j) * s->parts[2] + k);
            }
        }
    }
}

bool ti_holder_candidate_nodes(const ti_holder *h, const ti_box *box, int *a, int *b)
{
    const ti_split *s = &h->split->split;
    if (h->table && ti_box_covers(box, &h->table->around)) { /* however many there are */
        *a = h->table->node_a;
        *b = h->table->node_b;
        return *a >= 0;
    }
    if (h->table) {
        ti_chunk_list *list = &h->table->list;
        ti_vec_clear(list);
        table_candidates(h->table, box, list);
        *a = list->count ? ti_split_node(s, list->data[0]) : 0;
        *b = list->count ? ti_split_node(s, list->data[list->count - 1]) : 0;
        return list->count > 0;
    }
    ti_mapper room;
    int64_t first[3], last[3];
    if (!ti_mapper_inverse(reach_of(h, &room), s, &h->extent, box, first, last)) {
        return false;
    }
    for (int d = 0; d < 3; d++) {
        if (first[d] > last[d]) { /* it goes around */
            first[d] = 0;
            last[d] = s->parts[d] - 1;
        }
    }
    *a = ti_split_node(s, (first[0] * s->parts[1] + first[1]) * s->parts[2] + first[2]);
    *b = ti_split_node(s, (last[0] * s->parts[1] + last[1]) * s->parts[2] + last[2]);
    return true;
}

bool ti_holder_covers(const ti_holder *a, const ti_holder *b)
{
    if (a == b) {
        return true;
    }
    if (a->split != b->split) {
        return false;
    }
    if (ti_holder_is_irregular(a) || ti_holder_is_irregular(b)) { /* a spread has the chunks themselves */
        return a->spread && !b->spread && !b->clipped && ti_mapper_equal(&a->mapper, &b->mapper);
    }
    return ti_mapper_covers(&a->mapper, &b->mapper) && (!a->clipped || ti_box_covers(&a->within, &b->within));
}
