/* Collective discovery: see discovery.h. */
#include "plan/version/discovery.h"

#include "base/check.h"

#include <string.h>

enum { MAX_KNOWN = 32, MAX_BOXES = 16, MAX_SPARES = 64 };
/* A collective is made although some nodes have parts of it already, if these are no more than one in SHARE_THERE. At
 * most MAX_ASKED nodes are asked for that. */
enum { SHARE_THERE = 8, MAX_ASKED = 16 };

void ti_discovery_init(ti_discovery *planner, int node, int nodes)
{
    *planner = (ti_discovery){ .node = node, .nodes = nodes };
}

/* Keep the memory of a collective that is not used any more, so that programs which make new ones all the time allocate
 * nothing. */
static void recycle(ti_discovery *planner, ti_collective *c)
{
    if (planner->spares == MAX_SPARES) {
        ti_collective_destroy(c);
        return;
    }
    ti_parts_fini(&c->from);
    ti_parts_fini(&c->to);
    c->next = planner->spare;
    planner->spare = c;
    planner->spares++;
}

static ti_collective *new_collective(ti_discovery *planner)
{
    ti_collective *c = planner->spare;
    if (!c) {
        return TI_NEW(ti_collective);
    }
    planner->spare = c->next;
    planner->spares--;
    *c = (ti_collective){ .boxes = c->boxes, .room = c->room };
    return c;
}

void ti_discovery_release(ti_discovery *planner, uint64_t executed)
{
    for (ti_collective **at = &planner->retired; *at;) {
        ti_collective *c = *at;
        if (c->last_use < executed) {
            *at = c->next;
            recycle(planner, c);
        } else {
            at = &c->next;
        }
    }
}

void ti_discovery_fini(ti_discovery *planner)
{
    ti_discovery_release(planner, UINT64_MAX);
    while (planner->spare) {
        ti_collective_destroy(new_collective(planner));
    }
    ti_vec_fini(&planner->region);
    ti_vec_fini(&planner->scratch);
    ti_vec_fini(&planner->got);
    ti_vec_fini(&planner->given);
    ti_demand_fini(&planner->demand);
}

/* ---- what is known */

static void forget(ti_discovery_cache *cache, size_t index, ti_discovery *planner)
{
    ti_discovery_known *k = &cache->known.data[index];
    if (k->from) {
        ti_holder_unref(k->from);
    }
    if (k->to) {
        ti_holder_unref(k->to);
    }
    TI_ASSERT(k->collective && k->collective->serial);
    k->collective->next = planner->retired;
    planner->retired = k->collective;
    *k = cache->known.data[--cache->known.count];
    cache->forgotten++;
}

void ti_discovery_cache_fini(ti_discovery_cache *cache, ti_discovery *planner)
{
    while (cache->known.count) {
        forget(cache, cache->known.count - 1, planner);
    }
    ti_vec_fini(&cache->known);
    *cache = (ti_discovery_cache){ .clock = 0 };
}

/* What a collective is, before it is made. */
typedef struct draft {
    ti_pattern pattern;
    int source; /* a node that has all, or -1 and: */
    int givers;
    int root;
    ti_holder *from, *to; /* NULL: one node, or all nodes */
    ti_holder *writer;    /* of the region, also where one node has all of it; NULL: no access alone */
    bool grouped;         /* within the groups of `to` */
    ti_reducer reducer;
} draft;

static bool is_same(const ti_discovery *planner, const ti_discovery_known *k, const draft *d)
{
    const ti_collective *c = k->collective;
    return c->pattern == d->pattern && c->root == d->root && k->from == d->from && k->to == d->to &&
           memcmp(&c->reducer, &d->reducer, sizeof(ti_reducer)) == 0 && c->regions == planner->region.count &&
           memcmp(c->region, planner->region.data, c->regions * sizeof(ti_box)) == 0;
}

static void fill_parts(ti_parts *parts, const ti_holder *h, int node)
{
    if (!h) {
        parts->kind = node < 0 ? TI_PARTS_ALL : TI_PARTS_NODE;
        parts->node = node;
        return;
    }
    parts->kind = TI_PARTS_SPLIT;
    parts->mapper = h->mapper;
    parts->split = h->split->split;
    parts->extent = h->extent;
    if (parts->split.table) {
        size_t size = (size_t)(parts->split.parts[0] + 1) * sizeof(int64_t);
        parts->split.table = memcpy(ti_alloc(size), h->split->split.table, size);
    }
    if (ti_holder_is_irregular(h)) {
        ti_holder_copy_table(h, &parts->box, &parts->start);
    }
}

static ti_box *keep_boxes(const ti_boxes *boxes, uint32_t *count, ti_box **end)
{
    ti_box *at = *end;
    *count = (uint32_t)boxes->count;
    *end += boxes->count;
    return boxes->count ? memcpy(at, boxes->data, boxes->count * sizeof(ti_box)) : NULL;
}

/* The region, and what of it this node gives and gets, which is asked for each time that the collective is carried
 * out. */
static void keep_region(ti_discovery *planner, ti_collective *c)
{
    c->region = planner->region.data;
    c->regions = (uint32_t)planner->region.count;
    ti_vec_clear(&planner->given);
    ti_collective_got(c, planner->node, &planner->got, &planner->scratch);
    ti_collective_given(c, planner->node, &planner->given);
    size_t need = planner->region.count + planner->got.count + planner->given.count;
    if (c->room < need) {
        ti_free(c->boxes, c->room * sizeof(ti_box));
        c->room = TI_MAX(need, 4);
        c->boxes = TI_NEW_ARRAY(ti_box, c->room);
    }
    TI_ASSERT(c->room >= need);
    ti_box *end = c->boxes;
    c->region = keep_boxes(&planner->region, &c->regions, &end);
    c->get = keep_boxes(&planner->got, &c->gets, &end);
    c->give = keep_boxes(&planner->given, &c->gives, &end);
}

static ti_collective *make(ti_discovery *planner, const draft *d)
{
    ti_collective *c = new_collective(planner);
    TI_ASSERT(d->pattern != TI_PATTERN_NONE && d->root < planner->nodes && planner->region.count > 0);
    c->pattern = d->pattern;
    c->nodes = planner->nodes;
    c->root = d->root;
    c->serial = ++planner->next_serial;
    fill_parts(&c->from, d->from, d->source);
    c->reducer = d->reducer;
    fill_parts(&c->to, d->to, d->pattern == TI_PATTERN_GATHER || d->pattern == TI_PATTERN_REDUCE ? d->root : -1);
    c->members = d->grouped ? d->to->members : 0;
    c->stride = d->grouped ? d->to->stride : 0;
    keep_region(planner, c);
    return c;
}

static ti_collective *find(ti_discovery *planner, ti_discovery_cache *cache, const draft *d)
{
    size_t oldest = 0;
    cache->clock++;
    for (size_t i = 0; i < cache->known.count; i++) {
        ti_discovery_known *k = &cache->known.data[i];
        if (is_same(planner, k, d)) {
            k->last_use = cache->clock;
            return k->collective;
        }
        oldest = k->last_use < cache->known.data[oldest].last_use ? i : oldest;
    }
    if (cache->known.count == MAX_KNOWN) {
        forget(cache, oldest, planner);
    }
    const ti_discovery_known fresh = { .collective = make(planner, d),
                                       .from = d->from ? ti_holder_ref(d->from) : NULL,
                                       .to = d->to ? ti_holder_ref(d->to) : NULL,
                                       .last_use = cache->clock };
    ti_vec_push(&cache->known, fresh);
    return fresh.collective;
}

/* ---- the producer's side */

static bool have_one_grid(const ti_holder *a, const ti_holder *b)
{
    const ti_split *s = &a->split->split, *t = &b->split->split;
    return s->place == TI_PLACE_SPLIT && t->place == TI_PLACE_SPLIT && s->per_node == t->per_node &&
           memcmp(s->parts, t->parts, sizeof(s->parts)) == 0;
}

/* Whether the parts of two accesses lie between the same borders along dimension d of the buffer, on nodes of the same
 * place in one grid. */
static bool are_cut_alike(const ti_holder *w, const ti_holder *r, int d)
{
    const ti_split *a = &w->split->split, *b = &r->split->split;
    const tacit_component *x = &w->mapper.c[d], *y = &r->mapper.c[d];
    int k = x->dim;
    return w->along[d] == TI_ALONG_PARTITIONED && r->along[d] == TI_ALONG_PARTITIONED && !ti_holder_is_irregular(w) &&
           !ti_holder_is_irregular(r) && x->kind == y->kind && (a == b || (!a->table && !b->table)) && k == y->dim &&
           x->mul == y->mul && x->div == y->div && x->lo == y->lo && x->hi == y->hi && a->lo[k] == b->lo[k] &&
           a->hi[k] == b->hi[k] && a->gran[k] == b->gran[k];
}

/* ---- what nodes have already */

static int64_t volume_in(const ti_boxes *region, const ti_holder *read)
{
    int64_t volume = 0;
    for (size_t k = 0; k < region->count; k++) {
        for (size_t b = 0; b < read->image.count; b++) {
            ti_box part = ti_box_intersect(&read->image.data[b], &region->data[k]);
            volume += ti_box_volume(&part);
        }
    }
    return volume;
}

/* The nodes that read the region, as an interval. */
static void find_getters(const ti_discovery *planner, const ti_discovery_question *q, int *a, int *b)
{
    *a = q->reads.count ? planner->nodes : 0;
    *b = 0;
    for (size_t i = 0; i < q->reads.count; i++) {
        if (volume_in(&planner->region, q->reads.data[i])) {
            *a = TI_MIN(*a, q->reads.data[i]->split->node_a);
            *b = TI_MAX(*b, q->reads.data[i]->split->node_b);
        }
    }
}

/* Without reads the question is whether all nodes have it. */
static bool nothing_moves(const ti_discovery *planner, const ti_version *v, const ti_discovery_question *q)
{
    if (q->reads.count) {
        return ti_version_is_free(v, q->reads);
    }
    return v->kind == TI_WRITER_UNDEFINED || (v->kind == TI_WRITER_NODES && v->a == 0 && v->b == planner->nodes);
}

/* How many elements of the region a node lacks of an entry. */
static int64_t volume_lacked(ti_discovery *planner, const ti_discovery_question *q, const ti_version *v, int node)
{
    int64_t volume = 0;
    ti_version_wants(q->map, v, q->reads, node, &planner->scratch, &planner->demand);
    for (size_t i = 0; i < planner->scratch.count; i++) {
        for (size_t k = 0; k < planner->region.count; k++) {
            ti_box part = ti_box_intersect(&planner->scratch.data[i], &planner->region.data[k]);
            volume += ti_box_volume(&part);
        }
    }
    return volume;
}

/* Whether few elements would travel twice if the whole region did: compares what nodes lack now with what they would
 * lack if nobody had read before. If there are many nodes, only some are asked. */
static bool is_mostly_lacking(ti_discovery *planner, const ti_discovery_question *q)
{
    const ti_versions *hit = ti_version_map_query_any(q->map, &planner->region);
    int64_t all = 0, lacking = 0;
    int a, b;
    find_getters(planner, q, &a, &b);
    int asked = TI_MIN(b - a, (int)MAX_ASKED);
    for (int i = 0; i < asked; i++) {
        int node = a + (int)((int64_t)i * (b - a) / asked);
        for (size_t k = 0; k < hit->count; k++) {
            ti_version unread = *hit->data[k];
            unread.copies = NULL;
            all += volume_lacked(planner, q, &unread, node);
            lacking += volume_lacked(planner, q, hit->data[k], node);
        }
    }
    TI_ASSERT(lacking <= all);
    planner->again = lacking < all;
    return lacking > 0 && all - lacking <= all / SHARE_THERE;
}

/* Take out of the region what has been read of the entry, since it must not travel twice: other nodes may have it
 * already. Messages bring what is lacking of that. */
static void leave_out_copies(ti_discovery *planner, const ti_version *v)
{
    if (v->copies && v->copies->nodes.count) {
        ti_boxes_subtract(&planner->region, &v->box);
    }
    for (size_t i = 0; i < ti_copies_readers(v->copies); i++) {
        const ti_boxes *image = &v->copies->reader.data[i]->image;
        for (size_t k = 0; k < image->count; k++) {
            ti_box common = ti_box_intersect(&image->data[k], &v->box);
            if (!ti_box_is_empty(&common)) {
                ti_boxes_subtract(&planner->region, &common);
            }
        }
    }
}

/* The nodes that touch the region, as an interval [*a, *b] that encloses them. */
static void find_nodes(const ti_discovery *planner, const ti_holder *holder, int *a, int *b)
{
    *a = planner->nodes;
    *b = -1;
    for (size_t i = 0; i < planner->region.count; i++) {
        int first, last;
        if (ti_holder_candidate_nodes(holder, &planner->region.data[i], &first, &last)) {
            *a = TI_MIN(*a, first);
            *b = TI_MAX(*b, last);
        }
    }
}

/* Who gives the region that an access has written: one node, or those that the writer names. */
static void find_givers(const ti_discovery *planner, draft *d)
{
    int a, b;
    find_nodes(planner, d->writer, &a, &b);
    TI_ASSERT(0 <= a && a <= b && b < planner->nodes);
    d->givers = b + 1 - a;
    d->source = d->givers == 1 ? a : -1;
    d->from = d->givers == 1 ? NULL : d->writer;
}

/* Find the source of the region, which must be the same for all of its entries. The region loses what need not move,
 * and unless `again`, what any node but the source has. TI_VERDICT_COLLECTIVE if anything is left that its source can
 * give. */
static ti_verdict find_source(ti_discovery *planner, const ti_discovery_question *q, bool again, draft *out)
{
    const ti_versions *hit = ti_version_map_query_any(q->map, &planner->region);
    const ti_version *first = NULL;
    bool came = false;
    for (size_t i = 0; i < hit->count; i++) {
        const ti_version *v = hit->data[i];
        if (nothing_moves(planner, v, q)) {
            came |= v->copies || v->kind == TI_WRITER_NODES;
            ti_boxes_subtract(&planner->region, &v->box);
            continue;
        }
        if (first && !ti_version_has_writer_of(first, v)) {
            return TI_VERDICT_MIXED;
        }
        first = first ? first : v;
        planner->copied |= v->copies != NULL;
        if (!again) {
            leave_out_copies(planner, v);
        }
    }
    if (!first || !planner->region.count || planner->region.count > MAX_BOXES) {
        return first ? TI_VERDICT_MOVED : came ? TI_VERDICT_CAME : TI_VERDICT_FREE;
    }
    *out = (draft){ .source = -1, .root = -1 };
    if (first->kind == TI_WRITER_NODES) {
        out->source = first->a;
        out->givers = first->b - first->a;
        return out->givers == 1 ? TI_VERDICT_COLLECTIVE : TI_VERDICT_REPLICATED;
    }
    out->writer = first->writer;
    find_givers(planner, out);
    return first->writer->disjoint ? TI_VERDICT_COLLECTIVE : TI_VERDICT_OVERLAP;
}

/* ---- the consumer's side */

static void swap_with_scratch(ti_discovery *planner)
{
    ti_boxes region = planner->region;
    planner->region = planner->scratch;
    planner->scratch = region;
}

/* What the read has in common with the region, each element once. */
static void add_common(ti_discovery *planner, const ti_holder *read, ti_boxes *out)
{
    for (size_t k = 0; k < planner->region.count; k++) {
        for (size_t b = 0; b < read->image.count; b++) {
            ti_box common = ti_box_intersect(&read->image.data[b], &planner->region.data[k]);
            if (!ti_box_is_empty(&common)) {
                ti_boxes_add_missing(out, &common, &planner->got);
            }
        }
    }
}

/* The region becomes what every node reads: where constant reads meet it. False: nothing is read by all, and the region
 * stays as it is. If there are too many pieces, some are left to messages. */
static bool keep_what_all_read(ti_discovery *planner, const ti_discovery_question *q)
{
    int used = 0;
    ti_vec_clear(&planner->scratch);
    for (size_t i = 0; i < q->reads.count; i++) {
        const ti_split_ref *split = q->reads.data[i]->split;
        if (!q->reads.data[i]->observed_constant || split->node_b - split->node_a < planner->nodes) {
            continue;
        }
        size_t before = planner->scratch.count;
        add_common(planner, q->reads.data[i], &planner->scratch);
        if (before && planner->scratch.count > MAX_BOXES) {
            planner->scratch.count = before;
        }
        used += planner->scratch.count > before;
    }
    if (used > 1) {
        ti_boxes_normalize(&planner->scratch);
    }
    if (used) {
        swap_with_scratch(planner);
    }
    return used > 0;
}

/* The only read that meets the region, or NULL. */
static ti_holder *only_read(const ti_discovery *planner, const ti_discovery_question *q)
{
    ti_holder *only = NULL;
    for (size_t i = 0; i < q->reads.count; i++) {
        if (volume_in(&planner->region, q->reads.data[i])) {
            if (only) {
                return NULL;
            }
            only = q->reads.data[i];
        }
    }
    return only;
}

static bool is_whole_image(const ti_holder *h, const ti_discovery *planner)
{
    return h->image.count == 1 && planner->region.count == 1 &&
           ti_box_equal(&h->image.data[0], &planner->region.data[0]);
}

/* The non-trivial transposition: along every dimension of the buffer, parts are all or a partition by nodes, and there
 * is one dimension that the producer divides and the consumer does not, and one the other way round. */
static bool is_transposition(const ti_discovery *planner, const ti_holder *w, const ti_holder *r)
{
    bool given_up = false, taken_up = false;
    if (!is_whole_image(w, planner) || !is_whole_image(r, planner)) {
        return false;
    }
    for (int d = 0; d < 3; d++) {
        ti_along a = w->along[d], b = r->along[d];
        if (a == TI_ALONG_OTHER || b == TI_ALONG_OTHER) {
            return false;
        }
        given_up |= a == TI_ALONG_PARTITIONED && b == TI_ALONG_CONSTANT;
        taken_up |= a == TI_ALONG_CONSTANT && b == TI_ALONG_PARTITIONED;
    }
    return given_up && taken_up;
}

/* Whether every node reads what it wrote: the parts lie between the same borders along each dimension in which there
 * are any. */
static bool divide_alike(const ti_holder *w, const ti_holder *r)
{
    bool alike = !ti_holder_is_irregular(w) && !ti_holder_is_irregular(r) && have_one_grid(w, r);
    for (int d = 0; d < 3 && alike; d++) {
        bool constant = w->along[d] == TI_ALONG_CONSTANT && r->along[d] == TI_ALONG_CONSTANT;
        alike = constant || are_cut_alike(w, r, d);
    }
    return alike;
}

/* ---- groups: the consumer reads rows or columns of its grid */

/* Which member of each group has all that the group reads, or -1: the parts of the writer that the region lies in. */
static int find_giver(const ti_discovery *planner, const ti_holder *w, const ti_holder *read)
{
    int giver = -1, a, b;
    for (size_t i = 0; i < planner->region.count; i++) {
        if (!ti_holder_candidate_nodes(w, &planner->region.data[i], &a, &b)) {
            return -1;
        }
        int rank = a / read->stride % read->members;
        if (b / read->stride % read->members != rank || (i && rank != giver)) {
            return -1;
        }
        giver = rank;
    }
    return giver;
}

/* Decide for groups of nodes. No group reads what another one wrote, if the parts of the producer lie between the same
 * borders as those of the consumer, along all dimensions of the buffer in which the latter differ. Then the other
 * dimensions of the grid say which member of a group has written what. */
static ti_verdict decide_groups(const ti_discovery *planner, ti_holder *read, draft *d)
{
    ti_holder *w = d->writer;
    TI_ASSERT(read->members > 1 && read->stride > 0);
    if (read->split->split.per_node > 1) {
        return TI_VERDICT_GROUP_CHUNKS;
    }
    if (!w || !have_one_grid(w, read)) {
        return TI_VERDICT_GROUP_GRID;
    }
    for (int k = 0; k < 3; k++) {
        if (read->along[k] == TI_ALONG_PARTITIONED && !are_cut_alike(w, read, k)) {
            return TI_VERDICT_GROUP_BORDERS;
        }
    }
    d->from = w;
    d->to = read;
    d->grouped = true;
    d->root = find_giver(planner, w, read);
    d->pattern = d->root < 0 ? TI_PATTERN_ALL_GATHER : TI_PATTERN_BROADCAST;
    return TI_VERDICT_COLLECTIVE;
}

static ti_verdict decide_gather(const ti_discovery *planner, int root, draft *d)
{
    if (!d->from) {
        return TI_VERDICT_ONE_TO_ONE;
    }
    if (d->givers < planner->nodes) {
        return TI_VERDICT_FEW_GIVE;
    }
    d->pattern = TI_PATTERN_GATHER;
    d->root = root;
    return TI_VERDICT_COLLECTIVE;
}

/* Decide for one read by which nodes get the region in parts. */
static ti_verdict decide_read(const ti_discovery *planner, ti_holder *read, draft *d)
{
    if (read->members) {
        return decide_groups(planner, read, d);
    }
    int a, b;
    find_nodes(planner, read, &a, &b);
    bool all_get = b + 1 - a == planner->nodes;
    d->to = read;
    if (!d->from) {
        if (!all_get) {
            return a < b ? TI_VERDICT_FEW_GET : a == d->source ? TI_VERDICT_FREE : TI_VERDICT_ONE_TO_ONE;
        }
        d->pattern = TI_PATTERN_SCATTER;
        d->root = d->source;
        return TI_VERDICT_COLLECTIVE;
    }
    if (divide_alike(d->from, read)) {
        return TI_VERDICT_FREE;
    }
    if (d->givers < planner->nodes || !all_get || !is_transposition(planner, d->from, read)) {
        return TI_VERDICT_PARTITION;
    }
    d->pattern = TI_PATTERN_ALL_TO_ALL;
    return TI_VERDICT_COLLECTIVE;
}

/* Whether only this read wants something of the boxes. */
static bool reads_alone(const ti_discovery_question *q, const ti_holder *read, const ti_boxes *box)
{
    for (size_t i = 0; i < q->reads.count; i++) {
        if (q->reads.data[i] != read && volume_in(box, q->reads.data[i])) {
            return false;
        }
    }
    return box->count > 0 && box->count <= MAX_BOXES;
}

/* Of several reads, the first that fits a pattern in a part of the region that is its own. */
static ti_verdict decide_first_read(ti_discovery *planner, const ti_discovery_question *q, draft *d)
{
    for (size_t i = 0; i < q->reads.count; i++) {
        draft one = *d;
        ti_vec_clear(&planner->scratch);
        add_common(planner, q->reads.data[i], &planner->scratch);
        if (!reads_alone(q, q->reads.data[i], &planner->scratch)) {
            continue;
        }
        swap_with_scratch(planner);
        if (one.writer) {
            find_givers(planner, &one);
        }
        if (decide_read(planner, q->reads.data[i], &one) == TI_VERDICT_COLLECTIVE) {
            *d = one;
            return TI_VERDICT_COLLECTIVE;
        }
        swap_with_scratch(planner);
    }
    return TI_VERDICT_SEVERAL_READS;
}

static ti_verdict decide_parts(ti_discovery *planner, const ti_discovery_question *q, draft *d)
{
    ti_holder *read = only_read(planner, q);
    for (size_t i = 0; i < q->reads.count; i++) {
        bool fits = q->reads.data[i]->observed_disjoint || q->reads.data[i]->members;
        if (!fits && volume_in(&planner->region, q->reads.data[i])) {
            return TI_VERDICT_NEITHER;
        }
    }
    return read ? decide_read(planner, read, d) : decide_first_read(planner, q, d);
}

static void make_broadcast(draft *d)
{
    d->pattern = d->from ? TI_PATTERN_ALL_GATHER : TI_PATTERN_BROADCAST;
    d->root = d->from ? -1 : d->source;
}

static ti_verdict decide_pattern(ti_discovery *planner, const ti_discovery_question *q, draft *d)
{
    int a, b;
    find_getters(planner, q, &a, &b);
    if (b - a == 1) {
        return decide_gather(planner, a, d);
    }
    if (b - a < planner->nodes) {
        ti_holder *read = only_read(planner, q);
        return read && read->members ? decide_groups(planner, read, d) : TI_VERDICT_FEW_GET;
    }
    if (keep_what_all_read(planner, q)) {
        if (d->writer) {
            find_givers(planner, d); /* of a part, it may be one */
        }
        make_broadcast(d);
        return TI_VERDICT_COLLECTIVE;
    }
    return decide_parts(planner, q, d);
}

/* Whether no pattern fits the reads, whatever the versions say: decided without looking at those. */
static bool is_hopeless(const ti_discovery *planner, const ti_discovery_question *q)
{
    int a = planner->nodes, b = 0;
    bool hope = q->reads.count == 0;
    for (size_t i = 0; i < q->reads.count; i++) {
        const ti_holder *read = q->reads.data[i];
        a = TI_MIN(a, read->split->node_a);
        b = TI_MAX(b, read->split->node_b);
        hope |= read->observed_constant || read->observed_disjoint || read->members;
    }
    return !hope && b - a == planner->nodes;
}

static void set_region(ti_discovery *planner, const ti_box *box, size_t boxes)
{
    ti_vec_clear(&planner->region);
    for (size_t k = 0; k < boxes; k++) {
        ti_vec_push(&planner->region, box[k]);
    }
}

/* Decide what the forward becomes. `again`: with it, what others have read already travels once more. */
static ti_verdict draw_up(ti_discovery *planner, const ti_discovery_question *q, bool again, draft *d)
{
    set_region(planner, q->box, q->boxes);
    ti_verdict verdict = find_source(planner, q, again, d);
    if (verdict == TI_VERDICT_COLLECTIVE && q->reads.count) {
        return decide_pattern(planner, q, d);
    }
    if (verdict == TI_VERDICT_COLLECTIVE) {
        make_broadcast(d);
    }
    return verdict;
}

ti_verdict ti_discovery_decide(ti_discovery *planner, ti_discovery_cache *cache, const ti_discovery_question *q,
                               ti_collective **out)
{
    draft d;
    *out = NULL;
    planner->again = planner->copied = false;
    if (is_hopeless(planner, q)) {
        return TI_VERDICT_NEITHER;
    }
    ti_verdict verdict = draw_up(planner, q, true, &d);
    if (planner->copied && (verdict != TI_VERDICT_COLLECTIVE || !is_mostly_lacking(planner, q))) {
        planner->again = false;
        verdict = draw_up(planner, q, false, &d);
    }
    if (verdict == TI_VERDICT_COLLECTIVE) {
        *out = find(planner, cache, &d);
        (*out)->last_use = q->task;
        TI_ASSERT((*out)->regions > 0 && (*out)->nodes == planner->nodes);
    }
    return verdict;
}

const ti_collective *ti_discovery_reduction(ti_discovery *planner, ti_discovery_cache *cache,
                                            const ti_buffer_info *buffer, int root, const ti_reducer *reducer,
                                            uint64_t task)
{
    draft d = {
        .pattern = root < 0 ? TI_PATTERN_ALL_REDUCE : TI_PATTERN_REDUCE, .source = -1, .root = root, .reducer = *reducer
    };
    set_region(planner, &buffer->extent, 1);
    ti_collective *what = find(planner, cache, &d);
    what->last_use = task;
    return what;
}

const ti_boxes *ti_discovery_wanted_by_all(ti_discovery *planner, const ti_discovery_question *q)
{
    set_region(planner, q->box, q->boxes);
    if (!keep_what_all_read(planner, q)) {
        ti_vec_clear(&planner->region);
    }
    return &planner->region;
}
