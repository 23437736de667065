/* Copies: see copies.h. */
#include "plan/holder/copies.h"

#include "base/map.h"

#include <string.h>

static void drop_copies(ti_interned *interned, bool keep_memory)
{
    ti_copies *c = (ti_copies *)interned;
    for (size_t i = 0; i < c->reader.count; i++) {
        ti_holder_unref(c->reader.data[i]);
    }
    ti_vec_clear(&c->nodes);
    ti_vec_clear(&c->reader);
    c->interned = (ti_interned){ .refs = 0 };
    if (!keep_memory) {
        ti_vec_fini(&c->nodes);
        ti_vec_fini(&c->reader);
        TI_DELETE(c);
    }
}

/* Steps are remembered as long as both values are there. */
static void forget_steps(ti_interner *values, uint64_t since)
{
    ti_copies_cache *cache = (ti_copies_cache *)values;
    _Static_assert(offsetof(ti_copies_cache, values) == 0, "one is the beginning of the other");
    for (size_t i = 0; i < cache->steps; i++) {
        const struct ti_copies_step *s = &cache->step[i];
        if (s->after && ((s->before && ti_interner_drops(&s->before->interned, since)) ||
                         ti_interner_drops(&s->after->interned, since))) {
            cache->step[i].after = NULL;
        }
    }
}

/* The sets that a tile goes through until all who read it have done so serve again. */
void ti_copies_cache_init(ti_copies_cache *cache)
{
    static const ti_interner_kind kind = { .drop = drop_copies, .trimming = forget_steps, .per_referred = 8 };
    *cache = (ti_copies_cache){ .values.kind = &kind };
}

void ti_copies_cache_fini(ti_copies_cache *cache)
{
    ti_interner_fini(&cache->values);
    ti_free(cache->step, cache->steps * sizeof(*cache->step));
    ti_vec_fini(&cache->draft.nodes);
    ti_vec_fini(&cache->draft.reader);
}

/* ---- values */

static bool is_same(const void *a, const void *b, size_t size)
{
    return size == 0 || memcmp(a, b, size) == 0;
}

static bool is_equal(const ti_copies *a, const ti_copies *b)
{
    return a->nodes.count == b->nodes.count && a->reader.count == b->reader.count &&
           is_same(a->nodes.data, b->nodes.data, a->nodes.count * sizeof(*a->nodes.data)) &&
           is_same(a->reader.data, b->reader.data, a->reader.count * sizeof(*a->reader.data));
}

static uint64_t hash_of(const ti_copies *c)
{
    uint64_t hash = ti_hash_words(c->nodes.data, c->nodes.count * sizeof(*c->nodes.data), c->reader.count);
    for (size_t i = 0; i < c->reader.count; i++) {
        hash = ti_hash64(hash ^ c->reader.data[i]->interned.hash);
    }
    return hash;
}

/* The value that the draft describes. */
static ti_copies *intern(ti_copies_cache *cache)
{
    const ti_copies *draft = &cache->draft;
    if (!draft->nodes.count && !draft->reader.count) {
        return NULL;
    }
    uint64_t hash = hash_of(draft);
    ti_copies *c = (ti_copies *)ti_interner_first(&cache->values, hash);
    while (c && (c->interned.hash != hash || !is_equal(c, draft))) {
        c = (ti_copies *)c->interned.next;
    }
    if (!c) {
        c = ti_interner_take(&cache->values, sizeof(*c));
        ti_vec_reserve(&c->nodes, draft->nodes.count);
        for (size_t i = 0; i < draft->nodes.count; i++) {
            TI_ASSERT(draft->nodes.data[i].a < draft->nodes.data[i].b);
            TI_ASSERT(i == 0 || draft->nodes.data[i - 1].b < draft->nodes.data[i].a);
            c->nodes.data[i] = draft->nodes.data[i];
        }
        c->nodes.count = draft->nodes.count;
        for (size_t i = 0; i < draft->reader.count; i++) {
            ti_vec_push(&c->reader, ti_holder_ref(draft->reader.data[i]));
        }
        ti_interner_add(&cache->values, &c->interned, hash);
    }
    c->interned.last_use = ++cache->values.clock;
    return c;
}

/* ---- sets of nodes */

/* The intervals of `c` outside `range`, and if `with` the range itself, joined with what it meets or touches. */
static void draft_nodes(ti_copies_cache *cache, const ti_copies *c, ti_node_range range, bool with)
{
    ti_vec_clear(&cache->draft.nodes);
    bool put = !with;
    for (size_t i = 0; c && i < c->nodes.count; i++) {
        ti_node_range n = c->nodes.data[i];
        if (with && n.a <= range.b && range.a <= n.b) {
            range = (ti_node_range){ TI_MIN(n.a, range.a), TI_MAX(n.b, range.b) };
            continue;
        }
        if (!put && n.a > range.b) {
            ti_vec_push(&cache->draft.nodes, range);
            put = true;
        }
        if (n.b <= range.a || n.a >= range.b) {
            ti_vec_push(&cache->draft.nodes, n);
            continue;
        }
        if (n.a < range.a) {
            ti_vec_push(&cache->draft.nodes, ((ti_node_range){ n.a, range.a }));
        }
        if (n.b > range.b) {
            ti_vec_push(&cache->draft.nodes, ((ti_node_range){ range.b, n.b }));
        }
    }
    if (!put) {
        ti_vec_push(&cache->draft.nodes, range);
    }
}

/* The first interval that ends behind a node. */
static size_t find_interval(const ti_copies *c, int node)
{
    size_t low = 0, high = c ? c->nodes.count : 0;
    while (low < high) {
        size_t mid = (low + high) / 2;
        low = c->nodes.data[mid].b > node ? low : mid + 1;
        high = c->nodes.data[mid].b > node ? mid : high;
    }
    return low;
}

bool ti_copies_have(const ti_copies *c, ti_node_range range, ti_node_range more)
{
    TI_ASSERT(range.a < range.b);
    for (size_t i = find_interval(c, range.a); range.a < range.b; i++) {
        if (more.a <= range.a && range.a < more.b) {
            range.a = more.b;
        }
        if (!c || i == c->nodes.count) {
            break;
        }
        if (c->nodes.data[i].a <= range.a && range.a < c->nodes.data[i].b) {
            range.a = c->nodes.data[i].b;
        }
    }
    return range.a >= range.b;
}

int ti_copies_count(const ti_copies *c, ti_node_range range)
{
    int count = 0;
    for (size_t i = 0; c && i < c->nodes.count; i++) {
        count += TI_MAX(TI_MIN(c->nodes.data[i].b, range.b) - TI_MAX(c->nodes.data[i].a, range.a), 0);
    }
    return count;
}

/* ---- what becomes of a value */

static ti_node_range nodes_of(const ti_holder *h)
{
    return (ti_node_range){ h->split->node_a, h->split->node_b };
}

/* The value with the nodes of the draft, and with those readers that have others. */
static ti_copies *intern_sum(ti_copies_cache *cache, const ti_copies *c)
{
    ti_vec_clear(&cache->draft.reader);
    for (size_t i = 0; i < ti_copies_readers(c); i++) {
        if (!ti_copies_have(&cache->draft, nodes_of(c->reader.data[i]), (ti_node_range){ 0, 0 })) {
            ti_vec_push(&cache->draft.reader, c->reader.data[i]);
        }
    }
    return intern(cache);
}

static ti_copies *make_sum(ti_copies_cache *cache, const ti_copies *c, ti_node_range range)
{
    draft_nodes(cache, c, range, true);
    return intern_sum(cache, c);
}

/* Where the step from `c` by `range` is kept. There are more places than values. */
static struct ti_copies_step *step_of(ti_copies_cache *cache, const ti_copies *c, ti_node_range range)
{
    enum { LEAST = 64, PER_VALUE = 2 };
    if (cache->steps < PER_VALUE * cache->values.count || !cache->step) {
        ti_free(cache->step, cache->steps * sizeof(*cache->step));
        cache->steps = TI_MAX(cache->steps, (size_t)LEAST);
        while (cache->steps < PER_VALUE * cache->values.count) {
            cache->steps *= 2;
        }
        cache->step = TI_NEW_ARRAY(struct ti_copies_step, cache->steps);
    }
    uint64_t words[2] = { (uint64_t)(uintptr_t)c, (uint64_t)(uint32_t)range.a << 32 | (uint32_t)range.b };
    return &cache->step[ti_hash64(ti_hash64(words[0]) ^ words[1]) & (cache->steps - 1)];
}

/* Tiles are read by the same nodes again and again. */
ti_copies *ti_copies_add_nodes(ti_copies_cache *cache, const ti_copies *c, ti_node_range range)
{
    struct ti_copies_step *step = step_of(cache, c, range);
    if (!step->after || step->before != c || step->range.a != range.a || step->range.b != range.b) {
        ti_copies *after = make_sum(cache, c, range);
        *step_of(cache, c, range) = (struct ti_copies_step){ c, after, range };
        after->interned.last_use = ++cache->values.clock;
        return after;
    }
    step->after->interned.last_use = ++cache->values.clock;
    return step->after;
}

/* Both come in ascending order: extend the last interval of the draft, or begin another. */
static inline void draft_next(ti_copies_cache *cache, ti_node_range next)
{
    ti_node_range *last = cache->draft.nodes.count ? &cache->draft.nodes.data[cache->draft.nodes.count - 1] : NULL;
    if (last && next.a <= last->b) {
        last->b = TI_MAX(last->b, next.b);
    } else {
        ti_vec_push(&cache->draft.nodes, next);
    }
}

ti_copies *ti_copies_add_each(ti_copies_cache *cache, const ti_copies *c, int32_t *node, size_t count)
{
    TI_ASSERT(count > 0);
    for (size_t i = 1; i < count; i++) {
        int32_t one = node[i];
        size_t k = i;
        for (; k > 0 && node[k - 1] > one; k--) {
            node[k] = node[k - 1];
        }
        node[k] = one;
    }
    ti_vec_clear(&cache->draft.nodes);
    for (size_t i = 0, k = 0, old = c ? c->nodes.count : 0; i < old || k < count;) {
        if (k == count || (i < old && c->nodes.data[i].a <= node[k])) {
            draft_next(cache, c->nodes.data[i++]);
        } else {
            draft_next(cache, (ti_node_range){ node[k], node[k] + 1 });
            k++;
        }
    }
    return intern_sum(cache, c);
}

ti_copies *ti_copies_add_reader(ti_copies_cache *cache, ti_copies *c, ti_holder *reader)
{
    draft_nodes(cache, c, (ti_node_range){ 0, 0 }, false);
    ti_vec_clear(&cache->draft.reader);
    for (size_t i = 0; i < ti_copies_readers(c); i++) {
        if (ti_holder_covers(c->reader.data[i], reader)) {
            return c;
        }
        if (!ti_holder_covers(reader, c->reader.data[i])) {
            ti_vec_push(&cache->draft.reader, c->reader.data[i]);
        }
    }
    if (cache->draft.reader.count == TI_COPIES_READERS) {
        memmove(cache->draft.reader.data, cache->draft.reader.data + 1,
                (TI_COPIES_READERS - 1) * sizeof(*cache->draft.reader.data));
        cache->draft.reader.count--;
        cache->forgotten++;
    }
    ti_vec_push(&cache->draft.reader, reader);
    return intern(cache);
}

ti_copies *ti_copies_drop_nodes(ti_copies_cache *cache, const ti_copies *c, ti_node_range range)
{
    draft_nodes(cache, c, range, false);
    ti_vec_clear(&cache->draft.reader);
    for (size_t i = 0; i < ti_copies_readers(c); i++) {
        ti_node_range nodes = nodes_of(c->reader.data[i]);
        if (nodes.a < range.a || nodes.b > range.b) {
            ti_vec_push(&cache->draft.reader, c->reader.data[i]);
        }
    }
    return intern(cache);
}

ti_copies *ti_copies_cut(ti_copies_cache *cache, ti_copies *c, const ti_box *box)
{
    size_t kept = 0;
    draft_nodes(cache, c, (ti_node_range){ 0, 0 }, false);
    ti_vec_clear(&cache->draft.reader);
    for (size_t i = 0; i < ti_copies_readers(c); i++) {
        if (ti_boxes_meet(&c->reader.data[i]->image, box)) {
            ti_vec_push(&cache->draft.reader, c->reader.data[i]);
            kept++;
        }
    }
    return kept == ti_copies_readers(c) ? c : intern(cache);
}
