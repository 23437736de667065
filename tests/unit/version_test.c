/* Version maps against an array of stamps per node: what each node lacks, who owns it, and that no copy is claimed that
 * is not there.
 *
 * Reads and writes go straight to one map, with mappers and splits at random, writers that overlap among them. A
 * second map gets the same changes and no questions, and must stay equal. Also: how many entries the growing
 * programs leave behind, stated as bounds. */
#include "plan/version/transfer.h"

#include "gen.h"
#include "random.h"
#include "touches.h"

#include <string.h>

static uint64_t seed;

enum { MOST_NODES = 9, MOST_CELLS = 24 * 24, MOST_HOLDERS = 24 };

/* What is read or written, by value, and resolved in both maps. */
typedef struct subject {
    ti_split_request request;
    ti_mapper mapper;
    ti_access access;
    ti_holder *holder[2];
} subject;

typedef struct world {
    rng r;
    int nodes, dims;
    ti_box extent;
    ti_buffer_info buffer;
    ti_split_cache splits[2];
    ti_version_map map[2];
    uint64_t evaluated;
    uint32_t stamp;
    uint32_t newest[MOST_CELLS], hold[MOST_NODES][MOST_CELLS];
    int count;
    subject subject[MOST_HOLDERS];
    ti_custom_mapper custom;
    gen_custom how;
} world;

#define FOR_CELLS(w, box, i)                                                                                           \
    for (int64_t x_ = (box)->min[0]; x_ < (box)->max[0]; x_++)                                                         \
        for (int64_t y_ = (box)->min[1]; y_ < (box)->max[1]; y_++)                                                     \
            for (int64_t i = x_ * (w)->extent.max[1] + y_, once_ = 1; once_; once_ = 0)

/* ---- what is read and written */

static tacit_component random_component(rng *r, const ti_box *extent, int d, int task_dims)
{
    static const int64_t halos[] = { 0, 0, 0, 1, 2, 9 };
    int64_t n = extent->max[d], kind = rng_between(r, 0, 9);
    if (kind < 1) {
        return tacit_full();
    }
    if (kind < 2) {
        int64_t a = rng_between(r, 0, n - 1);
        return tacit_span((size_t)a, (size_t)rng_between(r, a + 1, n));
    }
    int k = kind < 8 ? TI_MIN(d, task_dims - 1) : (int)rng_between(r, 0, task_dims - 1);
    if (kind == 2 || kind == 3) {
        return tacit_dim_periodic(k, (size_t)halos[rng_between(r, 0, 5)]);
    }
    int64_t lo = halos[rng_between(r, 0, 5)], hi = rng_between(r, 0, 1) ? lo : -lo;
    return tacit_dim_scaled(k, rng_between(r, 0, 9) ? 1 : 2, rng_between(r, 0, 9) ? 1 : 2, lo, hi);
}

static void resolve(world *w, subject *s)
{
    s->access = (ti_access){
        .buffer = &w->buffer, .mapper = &s->mapper, .mappers = 1, .custom = s->mapper.custom < 0 ? NULL : &w->custom
    };
    for (int m = 0; m < 2; m++) {
        ti_split_ref *split = ti_split_cache_get(&w->splits[m], &s->request);
        s->holder[m] = ti_holder_ref(ti_holder_get(&w->map[m].holders, &s->access, 0, split));
    }
}

static void add_subject(world *w)
{
    subject *s = &w->subject[w->count++];
    rng *r = &w->r;
    int task_dims = (int)rng_between(r, 1, 2);
    *s = (subject){ .request = {
                        .range = w->extent, .gran = { 1, 1, 1 }, .nodes = w->nodes, .place = -1, .oversubscribe = 1 } };
    s->request.range.max[1] = task_dims > 1 ? TI_MAX(w->extent.max[1], 4) : 1;
    s->request.two_dimensional = rng_between(r, 0, 1);
    s->request.oversubscribe = (int)rng_between(r, 1, 2);
    s->request.gran[0] = rng_between(r, 1, 3);
    if (rng_between(r, 0, 3) == 0) {
        s->request.place = rng_between(r, 0, 3) ? (int)rng_between(r, 0, w->nodes - 1) : TI_PLACE_EVERYWHERE;
    }
    tacit_component c[3];
    for (int d = 0; d < 3; d++) {
        c[d] = random_component(r, &w->extent, d, task_dims);
    }
    ti_mapper out[TI_MAPPER_PARTS];
    tacit_mapper from = rng_between(r, 0, 9) ? tacit_components(c[0], c[1], c[2]) : tacit_custom(0);
    ti_mapper_expand(&from, w->dims, out);
    s->mapper = out[0];
    resolve(w, s);
}

/* `large`: two dimensions, many cells, several nodes. */
static void world_init(world *w, uint64_t from, bool large)
{
    memset(w, 0, sizeof(*w));
    w->r = rng_from(from);
    w->nodes = (int)rng_between(&w->r, large ? 2 : 1, MOST_NODES);
    w->dims = large ? 2 : (int)rng_between(&w->r, 1, 2);
    int64_t side = rng_between(&w->r, 0, 4) ? 9 : 24;
    w->extent = (ti_box){ { 0, 0, 0 },
                          { w->dims == 1 ? rng_between(&w->r, 1, 40) : rng_between(&w->r, 1, side), 1, 1 } };
    w->extent.max[1] = w->dims == 1 ? 1 : rng_between(&w->r, 1, side);
    if (large) {
        w->extent.max[0] = w->extent.max[1] = 24;
    }
    w->buffer = (ti_buffer_info){ .dims = w->dims, .extent = w->extent, .name = "b", .elem_size = 1 };
    w->how = (gen_custom){ GEN_CUSTOM_SHIFTS, rng_between(&w->r, 0, 3), rng_between(&w->r, 3, 9) };
    w->custom = (ti_custom_mapper){ .fn = gen_custom_mapper, .user = &w->how, .user_size = sizeof(w->how) };
    bool initialised = rng_between(&w->r, 0, 1);
    for (int m = 0; m < 2; m++) {
        ti_split_cache_init(&w->splits[m], m % w->nodes);
        ti_version_map_init(&w->map[m], &w->extent, w->nodes, initialised, &w->evaluated);
    }
    w->stamp = 1;
    for (int i = 0; i < MOST_CELLS && initialised; i++) {
        w->newest[i] = 1;
        for (int q = 0; q < w->nodes; q++) {
            w->hold[q][i] = 1;
        }
    }
    for (int i = (int)rng_between(&w->r, 4, MOST_HOLDERS); i > 0; i--) {
        add_subject(w);
    }
}

static void world_fini(world *w)
{
    for (int m = 0; m < 2; m++) {
        ti_version_map_fini(&w->map[m]);
        ti_split_cache_fini(&w->splits[m]);
    }
}

/* ---- the model */

/* The elements that `items` touch, one by one, as boxes of one element. */
static void touched_by(const subject *s, const ti_box *items, ti_boxes *out)
{
    const ti_box *extent = &s->access.buffer->extent;
    bool at[2][40];
    for (int d = 0; d < 2; d++) {
        const tacit_component *c = &s->mapper.c[d];
        for (int64_t x = 0; x < extent->max[d]; x++) {
            at[d][x] = d >= s->mapper.dims || touches(c, items->min[c->dim], items->max[c->dim], extent->max[d], x);
        }
    }
    for (int64_t x = 0; x < extent->max[0]; x++) {
        for (int64_t y = 0; y < extent->max[1]; y++) {
            if (at[0][x] && at[1][y]) {
                ti_vec_push(out, ((ti_box){ { x, y, 0 }, { x + 1, y + 1, 1 } }));
            }
        }
    }
}

/* The parts that node q touches, by the meaning of the mapper. */
static void touched(const subject *s, int q, ti_boxes *out)
{
    const ti_split *split = &s->holder[0]->split->split;
    int64_t first, count = ti_split_chunks_of(split, q, &first);
    ti_vec_clear(out);
    for (int64_t c = first; c < first + count; c++) {
        ti_box items = ti_split_chunk(split, c);
        if (s->access.custom) {
            ti_access_image(&s->access, &items, out);
        } else {
            touched_by(s, &items, out);
        }
    }
}

static void check_equal(const ti_boxes *a, const ti_boxes *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(ti_box_equal(&a->data[i], &b->data[i]));
    }
}

/* The owner of a chunk, who looks at what it owns, cuts the same pieces as node q, who looked at the whole entry. */
static void check_both_sides(world *w, const ti_version *v, ti_holders reads, int q, ti_demand *receiver)
{
    ti_boxes owned = { 0 }, received = { 0 }, sent = { 0 };
    ti_demand sender = { 0 };
    const ti_split *split = &v->writer->split->split;
    for (int64_t c = 0; c < split->chunks; c++) {
        ti_version_owned(&w->map[0], v, c, &owned);
        for (size_t k = 0; k < owned.count && ti_split_node(split, c) != q; k++) {
            ti_demand_lacks(receiver, &owned.data[k], &received);
            ti_demand_make(&w->map[0], v, reads, q, &owned.data[k], &sender);
            if (!v->writer->disjoint) {
                ti_demand_hold_own(&w->map[0], v, q, &owned.data[k], &sender);
            }
            ti_demand_lacks(&sender, &owned.data[k], &sent);
            check_equal(&received, &sent);
        }
    }
    ti_vec_fini(&owned);
    ti_vec_fini(&received);
    ti_vec_fini(&sent);
    ti_demand_fini(&sender);
}

/* What `wants` says of one entry and node is what the node reads and does not hold. */
static void check_wants(world *w, const ti_version *v, subject *const *reads, size_t count, int q)
{
    ti_holder *holders[3];
    ti_boxes out = { 0 }, image = { 0 };
    ti_demand demand = { 0 };
    bool wanted[MOST_CELLS] = { false }, read[MOST_CELLS] = { false };
    for (size_t i = 0; i < count; i++) {
        holders[i] = reads[i]->holder[0];
        touched(reads[i], q, &image);
        for (size_t k = 0; k < image.count; k++) {
            FOR_CELLS(w, &image.data[k], cell)
            {
                read[cell] = true;
            }
        }
    }
    ti_version_wants(&w->map[0], v, (ti_holders){ holders, count }, q, &out, &demand);
    assert_true(out.count == 0 || !ti_version_is_free(v, (ti_holders){ holders, count }));
    if (v->kind == TI_WRITER_SPLIT) {
        check_both_sides(w, v, (ti_holders){ holders, count }, q, &demand);
    }
    for (size_t k = 0; k < out.count; k++) {
        assert_true(ti_box_covers(&v->box, &out.data[k]));
        FOR_CELLS(w, &out.data[k], cell)
        {
            assert_false(wanted[cell]);
            wanted[cell] = true;
        }
    }
    FOR_CELLS(w, &v->box, cell)
    {
        bool lacks = read[cell] && w->newest[cell] && w->hold[q][cell] != w->newest[cell];
        assert_true(wanted[cell] || !lacks);
        assert_true(!wanted[cell] || lacks);
    }
    ti_vec_fini(&out);
    ti_demand_fini(&demand);
    ti_vec_fini(&image);
}

/* Everything in an entry has one owner, who holds the newest contents. */
static void check_owners(world *w, const ti_version *v)
{
    int owners[MOST_CELLS] = { 0 };
    ti_boxes owned = { 0 };
    if (v->kind == TI_WRITER_SPLIT) {
        const ti_split *split = &v->writer->split->split;
        for (int64_t c = 0; c < split->chunks; c++) {
            ti_version_owned(&w->map[0], v, c, &owned);
            for (size_t k = 0; k < owned.count; k++) {
                FOR_CELLS(w, &owned.data[k], cell)
                {
                    owners[cell]++;
                    assert_int_equal(w->hold[ti_split_node(split, c)][cell], w->newest[cell]);
                }
            }
        }
    }
    FOR_CELLS(w, &v->box, cell)
    {
        assert_int_equal(v->kind == TI_WRITER_UNDEFINED, w->newest[cell] == 0);
        assert_int_equal(owners[cell], v->kind == TI_WRITER_SPLIT);
        for (int q = v->a; v->kind == TI_WRITER_NODES && q < v->b; q++) {
            assert_int_equal(w->hold[q][cell], w->newest[cell]);
        }
    }
    ti_vec_fini(&owned);
}

static void read_some(world *w)
{
    subject *reads[3];
    size_t count = (size_t)rng_between(&w->r, 1, 3);
    ti_boxes image = { 0 };
    ti_versions all = { 0 };
    for (size_t i = 0; i < count; i++) {
        reads[i] = &w->subject[rng_between(&w->r, 0, w->count - 1)];
    }
    const ti_versions *hit = ti_version_map_query(&w->map[0], &w->extent);
    for (size_t i = 0; i < hit->count; i++) {
        ti_vec_push(&all, hit->data[i]);
    }
    for (size_t i = 0; i < all.count; i++) {
        check_owners(w, all.data[i]);
        for (int q = 0; q < w->nodes; q++) {
            check_wants(w, all.data[i], reads, count, q);
        }
    }
    ti_vec_fini(&all);
    for (size_t i = 0; i < count; i++) {
        for (int m = 0; m < 2; m++) {
            ti_version_map_read(&w->map[m], reads[i]->holder[m]);
        }
        for (int q = 0; q < w->nodes; q++) {
            touched(reads[i], q, &image);
            for (size_t k = 0; k < image.count; k++) {
                FOR_CELLS(w, &image.data[k], cell)
                {
                    w->hold[q][cell] = w->newest[cell];
                }
            }
        }
    }
    ti_vec_fini(&image);
}

static void mark(world *w, int q, const ti_box *box)
{
    FOR_CELLS(w, box, cell)
    {
        w->newest[cell] = w->hold[q][cell] = w->stamp;
    }
}

static void write_some(world *w)
{
    const subject *s = &w->subject[rng_between(&w->r, 0, w->count - 1)];
    ti_boxes image = { 0 };
    const tacit_component *c = s->mapper.c;
    bool diagonal = w->dims > 1 && ti_component_follows(&c[0]) && ti_component_follows(&c[1]) && c[0].dim == c[1].dim;
    if (s->mapper.custom >= 0 || diagonal) {
        return; /* not a writer: their chunks together cover the image of the whole range */
    }
    for (int q = 0; q < w->nodes; q++) {
        touched(s, q, &image);
        for (size_t k = 0; k < image.count; k++) {
            mark(w, q, &image.data[k]);
        }
    }
    for (int m = 0; m < 2; m++) {
        ti_version_map_write(&w->map[m], s->holder[m]);
    }
    ti_vec_fini(&image);
}

static void set_some(world *w, int64_t most)
{
    ti_box box = w->extent;
    for (int d = 0; d < w->dims; d++) {
        box.min[d] = rng_between(&w->r, 0, w->extent.max[d] - 1);
        box.max[d] = rng_between(&w->r, box.min[d] + 1, TI_MIN(box.min[d] + most, w->extent.max[d]));
    }
    int a = (int)rng_between(&w->r, 0, w->nodes - 1), b = (int)rng_between(&w->r, a + 1, w->nodes);
    for (int q = a; q < b; q++) {
        mark(w, q, &box);
    }
    for (int m = 0; m < 2; m++) {
        ti_version_map_set(&w->map[m], &box, a, b);
    }
}

/* A map with many entries: squares of 2 x 2 elements, held by node 0 and by node 1 in turn. */
static void checkerboard(world *w)
{
    for (int64_t i = 0; i < w->extent.max[0]; i += 2) {
        for (int64_t j = 0; j < w->extent.max[1]; j += 2) {
            ti_box box = w->extent;
            int node = (int)((i + j) / 2 % 2);
            box.min[0] = i;
            box.max[0] = TI_MIN(i + 2, w->extent.max[0]);
            box.min[1] = j;
            box.max[1] = TI_MIN(j + 2, w->extent.max[1]);
            w->stamp++;
            mark(w, node, &box);
            for (int m = 0; m < 2; m++) {
                ti_version_map_set(&w->map[m], &box, node, node + 1);
            }
        }
    }
}

static void against_stamps(void **state)
{
    (void)state;
    static world w;
    size_t most = 0;
    for (uint64_t run = 0; run < 300; run++) {
        world_init(&w, seed + run, run % 50 == 0);
        if (run % 50 == 0) {
            checkerboard(&w);
        }
        for (int i = 0; i < 60; i++) {
            int64_t kind = rng_between(&w.r, 0, 9);
            w.stamp++;
            if (kind < 6) {
                read_some(&w);
            } else if (kind < 9) {
                write_some(&w);
            } else {
                set_some(&w, 40);
            }
            assert_true(ti_version_map_is_valid(&w.map[0]));
            assert_int_equal(ti_version_map_digest(&w.map[0]), ti_version_map_digest(&w.map[1]));
            most = TI_MAX(most, w.map[0].index.count);
        }
        world_fini(&w);
    }
    assert_true(most > TI_VERSION_MANY); /* both ways to promote were taken */
}

/* ---- growth: the programs that leave many entries behind where nothing cleans up */

typedef struct growth {
    ti_split_cache splits;
    ti_version_map map;
    ti_buffer_info buffer;
    uint64_t evaluated;
    int nodes;
    size_t most, most_holders;
} growth;

static void growth_init(growth *g, int64_t n0, int64_t n1, int nodes)
{
    memset(g, 0, sizeof(*g));
    g->nodes = nodes;
    g->buffer = (ti_buffer_info){ .dims = 2, .extent = { { 0, 0, 0 }, { n0, n1, 1 } }, .name = "b", .elem_size = 1 };
    ti_split_cache_init(&g->splits, 0);
    ti_version_map_init(&g->map, &g->buffer.extent, nodes, true, &g->evaluated);
}

static void growth_fini(growth *g)
{
    ti_version_map_fini(&g->map);
    ti_split_cache_fini(&g->splits);
}

static void touch(growth *g, bool write, ti_box range, int place, tacit_component c0, tacit_component c1)
{
    ti_mapper mapper[TI_MAPPER_PARTS];
    tacit_mapper from = tacit_components(c0, c1, tacit_full());
    ti_mapper_expand(&from, 2, mapper);
    ti_split_request request = {
        .range = range, .gran = { 1, 1, 1 }, .nodes = g->nodes, .place = place, .oversubscribe = 1
    };
    ti_access access = { .buffer = &g->buffer, .mapper = mapper, .mappers = 1 };
    ti_split_ref *split = ti_split_cache_get(&g->splits, &request);
    ti_holder *holder = ti_holder_get(&g->map.holders, &access, 0, split);
    if (write) {
        ti_version_map_write(&g->map, holder);
    } else {
        ti_version_map_read(&g->map, holder);
    }
    g->most = TI_MAX(g->most, g->map.index.count);
    g->most_holders = TI_MAX(g->most_holders, g->map.holders.values.count + g->splits.values.count);
}

static ti_box line(int64_t n)
{
    return (ti_box){ { 0, 0, 0 }, { n, 1, 1 } };
}

static tacit_component shifted(int64_t by)
{
    return tacit_dim_scaled(0, 1, 1, -by, by);
}

/* A window that slides over a buffer and is written: slivers of earlier windows become pieces of one node and join. */
static void sliding_window(void **state)
{
    (void)state;
    for (int nodes = 4; nodes <= 16; nodes *= 4) {
        growth g;
        growth_init(&g, 1000, 1, nodes);
        for (int t = 0; t < 600; t++) {
            touch(&g, true, line(64), -1, shifted(t * 3 % (1000 - 64)), tacit_full());
        }
        assert_true(g.most <= (size_t)nodes + 6);
        growth_fini(&g);
    }
}

/* A buffer into which every step appends a slab that all nodes read afterwards: one entry. */
static void appended_slabs(void **state)
{
    (void)state;
    for (int nodes = 4; nodes <= 16; nodes *= 4) {
        growth g;
        int64_t n = nodes / 2 + 1;
        growth_init(&g, 600 * n, 1, nodes);
        for (int t = 0; t < 600; t++) {
            touch(&g, true, line(n), -1, shifted(t * n), tacit_full());
            touch(&g, false, line(n), -1, tacit_span(0, (size_t)((t + 1) * n)), tacit_full());
        }
        assert_true(g.most <= 4);
        growth_fini(&g);
    }
}

/* Tiles placed in turn: one entry per tile at most. A shrinking update: bounded by the size of the matrix. */
static void tiles_and_shrinking(void **state)
{
    (void)state;
    growth g;
    growth_init(&g, 256, 256, 16);
    for (int t = 0; t < 1200; t++) {
        int64_t i = t % 16, j = t / 16 % 16;
        touch(&g, true, line(1), (int)(i % 4 * 4 + j % 4), tacit_span((size_t)(16 * i), (size_t)(16 * i + 16)),
              tacit_span((size_t)(16 * j), (size_t)(16 * j + 16)));
    }
    assert_true(g.most <= 256);
    growth_fini(&g);
    growth_init(&g, 128, 128, 4);
    for (int t = 0; t < 600; t++) {
        int64_t k = t % 128;
        ti_box range = { { k, 0, 0 }, { 128, 1, 1 } };
        touch(&g, true, range, -1, tacit_dim(0), tacit_span((size_t)k, 128));
        touch(&g, false, range, -1, tacit_span((size_t)k, (size_t)k + 1), tacit_span((size_t)k, 128));
    }
    assert_true(g.most <= 256);
    growth_fini(&g);
}

/* Holders and splits that nobody needs any more go, also if new ones come in a regular beat. */
static void caches(void **state)
{
    (void)state;
    for (int beat = 0; beat < 4; beat++) {
        growth g;
        growth_init(&g, 64, 1, 4);
        for (int t = 0; t < 5000; t++) {
            ti_box range = { { 0, 0, 0 }, { 64 + t, 1, 1 } };
            touch(&g, true, range, -1, tacit_dim(0), tacit_full());
            for (int i = 0; i < beat; i++) {
                touch(&g, true, line(64 + i), -1, tacit_dim(0), tacit_full());
            }
        }
        assert_true(g.most_holders < 400);
        growth_fini(&g);
    }
}

/* ---- custom mappers with very many boxes: what a block-cyclic distribution is */

enum { CYCLIC_NODES = 4 };

/* Item i is the block i / nodes-th of node i % nodes, as items of a node follow each other. */
static void cyclic_mapper(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    size_t per_node = *(const size_t *)user;
    (void)range;
    for (size_t i = chunk->min[0]; i < chunk->max[0]; i++) {
        size_t block = i % per_node * CYCLIC_NODES + i / per_node;
        tacit_region_add(out, tacit_box1(2 * block, 2 * block + 2));
    }
}

/* Pairs of boxes that are compared, and chunks that are evaluated, while all nodes' cyclic parts are fetched by each
 * node (or, the other way round, each node fetches its cyclic part of what nodes wrote in blocks). */
static uint64_t fetch_cyclic(size_t per_node, int node, bool to_cyclic, size_t *pieces)
{
    int64_t blocks = (int64_t)per_node * CYCLIC_NODES, evaluated_before;
    uint64_t evaluated = 0;
    ti_buffer_info buffer = { .dims = 1, .extent = { { 0, 0, 0 }, { 2 * blocks, 1, 1 } }, .name = "b", .elem_size = 1 };
    ti_custom_mapper custom = { .fn = cyclic_mapper, .user = &per_node, .user_size = sizeof(per_node) };
    ti_mapper mapper[3], other[3];
    const tacit_mapper cyclic = tacit_custom(0), plain = to_cyclic ? tacit_one_to_one() : tacit_all();
    ti_mapper_expand(&cyclic, 1, mapper);
    ti_mapper_expand(&plain, 1, other);
    ti_access access = { .buffer = &buffer, .mapper = mapper, .mappers = 1, .custom = &custom };
    ti_access whole = { .buffer = &buffer, .mapper = other, .mappers = 1 };
    ti_split_request request = { .range = { { 0, 0, 0 }, { blocks, 1, 1 } },
                                 .gran = { 1, 1, 1 },
                                 .nodes = CYCLIC_NODES,
                                 .place = -1,
                                 .oversubscribe = (int)per_node };
    ti_split_request even = {
        .range = buffer.extent, .gran = { 1, 1, 1 }, .nodes = CYCLIC_NODES, .place = -1, .oversubscribe = 1
    };
    ti_split_cache splits;
    ti_version_map map;
    ti_transfer_planner planner;
    ti_split_cache_init(&splits, node);
    ti_version_map_init(&map, &buffer.extent, CYCLIC_NODES, false, &evaluated);
    ti_transfer_init(&planner, node);
    ti_holder *parts = ti_holder_ref(ti_holder_get(&map.holders, &access, 0, ti_split_cache_get(&splits, &request)));
    ti_holder *all = ti_holder_ref(ti_holder_get(&map.holders, &whole, 0, ti_split_cache_get(&splits, &even)));
    evaluated_before = (int64_t)evaluated;
    ti_version_map_write(&map, to_cyclic ? all : parts);
    ti_transfer_plan(&planner, &map, (ti_holders){ to_cyclic ? &parts : &all, 1 });
    uint64_t steps = planner.demand.compared + evaluated - (uint64_t)evaluated_before;
    *pieces = planner.incoming.count + planner.outgoing.count;
    ti_transfer_fini(&planner);
    ti_version_map_fini(&map);
    ti_split_cache_fini(&splits);
    return steps;
}

static void many_blocks(void **state)
{
    (void)state;
    enum { FEW = 500, MANY = 8000 };
    for (int to_cyclic = 0; to_cyclic < 2; to_cyclic++) {
        size_t few_pieces, many_pieces;
        uint64_t few = fetch_cyclic(FEW, 1, to_cyclic, &few_pieces);
        uint64_t many = fetch_cyclic(MANY, 1, to_cyclic, &many_pieces);
        assert_true(few_pieces >= FEW && many_pieces == few_pieces * MANY / FEW);
        assert_true(many <= few * MANY / FEW + 100);
    }
    assert_int_equal(ti_alloc_live(), 0);
}

/* Candidates come in ascending order and once, whatever the order of boxes. */
static void candidates_ascend(void **state)
{
    (void)state;
    size_t per_node = 100;
    uint64_t evaluated = 0;
    ti_buffer_info buffer = { .dims = 1, .extent = { { 0, 0, 0 }, { 800, 1, 1 } }, .name = "b", .elem_size = 1 };
    ti_custom_mapper custom = { .fn = cyclic_mapper, .user = &per_node, .user_size = sizeof(per_node) };
    ti_mapper mapper[3];
    const tacit_mapper cyclic = tacit_custom(0);
    ti_mapper_expand(&cyclic, 1, mapper);
    ti_access access = { .buffer = &buffer, .mapper = mapper, .mappers = 1, .custom = &custom };
    for (int oversubscribe = 1; oversubscribe <= 100; oversubscribe *= 10) {
        ti_split_request request = { .range = { { 0, 0, 0 }, { 400, 1, 1 } },
                                     .gran = { 1, 1, 1 },
                                     .nodes = CYCLIC_NODES,
                                     .place = -1,
                                     .oversubscribe = oversubscribe };
        ti_split_cache splits;
        ti_holder_cache holders;
        ti_chunk_list list = { 0 };
        ti_split_cache_init(&splits, 0);
        ti_holder_cache_init(&holders, &evaluated);
        ti_holder *h = ti_holder_get(&holders, &access, 0, ti_split_cache_get(&splits, &request));
        ti_holder_candidates(h, &buffer.extent, &list);
        assert_int_equal(list.count, (size_t)(CYCLIC_NODES * oversubscribe));
        for (size_t i = 0; i < list.count; i++) {
            assert_int_equal(list.data[i], i);
        }
        ti_vec_fini(&list);
        ti_holder_cache_fini(&holders);
        ti_split_cache_fini(&splits);
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_stamps),      cmocka_unit_test(sliding_window), cmocka_unit_test(appended_slabs),
        cmocka_unit_test(tiles_and_shrinking), cmocka_unit_test(caches),         cmocka_unit_test(many_blocks),
        cmocka_unit_test(candidates_ascend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
