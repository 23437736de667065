/* The sets of windows: random task graphs, against their definitions, granule by granule and element by element; and
 * what the paper's theorem says of them.
 *
 * Windows have 1 to 5 tasks on 1 to 6 nodes, over buffers of 1 to 3 dimensions: boxes, stars, rings, whole buffers and
 * a custom mapper that is as irregular as a sparse matrix, or near its diagonal; several inputs and outputs, coarse and
 * fine grids, tasks without the outermost items, and updates in place. The model knows neither regions nor inverses. */
#include "../unit/random.h"
#include "base/check.h"
#include "effort.h"
#include "plan/tolerance/alone.h"
#include "plan/tolerance/closure.h"
#include "plan/tolerance/items.h"
#include "plan/tolerance/stages.h"
#include "plan/tolerance/tiles.h"
#include "sets.h"

#include <string.h>

enum { TIMES = EFFORT(3, 1) };

enum { MOST_TASKS = 5, MOST_NODES = 6, FINE = 3, COARSE = 2, BUFFERS = FINE + COARSE, MOST_ELEMENTS = 400 };

typedef struct world {
    rng r;
    int dims, nodes, custom_at;
    bool two_dimensional;
    ti_arena arena;
    ti_buffer_info buffer[BUFFERS];
    ti_custom_mapper custom;
    ti_split split[MOST_TASKS];
    ti_windowed task[MOST_TASKS];
    size_t tasks;
    bool held[MOST_NODES][BUFFERS][MOST_ELEMENTS];
} world;

/* Item i of dimension 0 touches rows i, 7 i + 3 and i * i, modulo their number. */
static void sparse(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)user;
    for (size_t i = chunk->min[0]; i < chunk->max[0]; i++) {
        const size_t row[] = { i, 7 * i + 3, i * i };
        for (int k = 0; k < 3; k++) {
            tacit_box box = { { row[k] % range->size[0], 0, 0 }, { 0, 0, 0 } };
            for (int d = 0; d < 3; d++) {
                box.max[d] = d == 0 ? box.min[0] + 1 : d < range->dims ? range->size[d] : 1;
            }
            tacit_region_add(out, box);
        }
    }
}

/* Item i touches rows i - i mod 3 to i + i mod 2, and all of them, as it does their columns. */
static void banded(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)user;
    for (size_t i = chunk->min[0]; i < chunk->max[0]; i++) {
        tacit_box box = { { i >= i % 3 ? i - i % 3 : i, 0, 0 }, { i + 1 + i % 2, 1, 1 } };
        for (int d = 1; d < range->dims; d++) {
            box.max[d] = range->size[d];
        }
        tacit_region_add(out, box);
    }
}

/* ---- random windows */

static tacit_mapper random_read(world *w)
{
    size_t e[3] = { (size_t)rng_between(&w->r, 0, 2), (size_t)rng_between(&w->r, 0, 2),
                    (size_t)rng_between(&w->r, 0, 1) };
    switch (rng_between(&w->r, 0, 11)) {
    case 0:
        return tacit_all();
    case 1:
        return tacit_periodic(e[0], e[1], e[2]);
    case 2:
        return tacit_slice((int)rng_between(&w->r, 0, w->dims - 1));
    case 3:
        return tacit_custom(0);
    case 4:
    case 5:
    case 6:
        return tacit_star(e[0], e[1], e[2]);
    case 7:
        return tacit_one_to_one();
    default:
        return tacit_neighborhood(e[0], e[1], e[2]);
    }
}

/* Along every dimension the same scale and halos. */
static tacit_mapper scaled(const world *w, int mul, int div, int64_t lo, int64_t hi)
{
    tacit_component c[3];
    for (int d = 0; d < 3; d++) {
        c[d] = d < w->dims ? tacit_dim_scaled(d, mul, div, lo, hi) : tacit_full();
    }
    return tacit_components(c[0], c[1], c[2]);
}

static void set_access(world *w, ti_access *to, int buffer, int mode, tacit_mapper mapper)
{
    ti_mapper *part = TI_ARENA_ARRAY(&w->arena, ti_mapper, TI_MAPPER_PARTS);
    memset(to, 0, sizeof(*to));
    to->buffer = &w->buffer[buffer];
    to->mode = mode;
    to->mappers = (uint32_t)ti_mapper_expand(&mapper, w->dims, part);
    to->mapper = part;
    to->custom = mapper.kind == TACIT_MAPPER_CUSTOM ? &w->custom : NULL;
}

static int fine(world *w)
{
    return (int)rng_between(&w->r, 0, FINE - 1);
}
static int coarse(world *w)
{
    return FINE + (int)rng_between(&w->r, 0, COARSE - 1);
}

/* A task of one of four kinds: how many accesses. */
static uint32_t random_accesses(world *w, ti_shape *shape, ti_access *a)
{
    int to = fine(w), from = (to + (int)rng_between(&w->r, 1, FINE - 1)) % FINE;
    int64_t lo = rng_between(&w->r, 0, 1), hi = rng_between(&w->r, 0, 2);
    shape->range = w->buffer[0].extent;
    switch (rng_between(&w->r, 0, 6)) {
    case 0: /* down */
        shape->range = w->buffer[FINE].extent;
        set_access(w, &a[0], from, TACIT_READ, scaled(w, 2, 1, lo, hi));
        set_access(w, &a[1], coarse(w), TACIT_WRITE, tacit_one_to_one());
        return 2;
    case 1: /* up */
        set_access(w, &a[0], coarse(w), TACIT_READ, scaled(w, 1, 2, lo, hi));
        set_access(w, &a[1], to, TACIT_WRITE, tacit_one_to_one());
        return 2;
    case 2: /* two items make one element */
        set_access(w, &a[0], from, TACIT_READ, random_read(w));
        set_access(w, &a[1], coarse(w), TACIT_WRITE, scaled(w, 1, 2, 0, 0));
        for (int d = 0; d < w->dims; d++) {
            shape->gran[d] = 2;
        }
        return 2;
    case 3: /* in place */
        set_access(w, &a[0], from, TACIT_READ, random_read(w));
        set_access(w, &a[1], to, TACIT_UPDATE, tacit_one_to_one());
        return 2;
    default: /* of two, or to two */
        set_access(w, &a[0], from, TACIT_READ, random_read(w));
        set_access(w, &a[1], to, TACIT_WRITE, tacit_one_to_one());
        set_access(w, &a[2], FINE - to - from, rng_between(&w->r, 0, 1) ? TACIT_READ : TACIT_UPDATE,
                   tacit_one_to_one());
        return (uint32_t)rng_between(&w->r, 2, 3);
    }
}

static void random_task(world *w, size_t t)
{
    ti_shape *shape = ti_shape_new(&w->arena, "task");
    ti_access *access = TI_ARENA_ARRAY(&w->arena, ti_access, 3);
    shape->dims = w->dims;
    shape->pure = true;
    shape->accesses = random_accesses(w, shape, access);
    shape->access = access;
    int d = (int)rng_between(&w->r, 0, w->dims - 1);
    if (shape->gran[d] == 1 && shape->range.max[d] > 4 && rng_between(&w->r, 0, 3) == 0) { /* inner items */
        shape->range.min[d]++;
        shape->range.max[d]--;
    }
    if (rng_between(&w->r, 0, 4) == 0) {
        shape->gran[d] *= 2;
    }
    ti_shape_fill_footprints(shape, &w->arena);
    const ti_split_request request = { .range = shape->range,
                                       .gran = { shape->gran[0], shape->gran[1], shape->gran[2] },
                                       .nodes = w->nodes,
                                       .place = TI_PLACE_SPLIT,
                                       .oversubscribe = 1,
                                       .two_dimensional = w->two_dimensional };
    w->split[t] = ti_split_make(&request, NULL);
    w->task[t] = (ti_windowed){ shape, &w->split[t] };
}

/* `longer`: chunks that are longer than what tasks read around items. */
static void create(world *w, uint64_t seed, bool longer)
{
    static const int64_t any[] = { 0, 12, 4, 2 }, some[] = { 0, 60, 7, 3 }; /* coarse elements along each dimension */
    const int64_t *most = longer ? some : any;
    memset(w, 0, sizeof(*w));
    w->r = rng_from(seed);
    w->dims = longer && rng_between(&w->r, 0, 2) ? 1 : (int)rng_between(&w->r, 1, 3);
    w->nodes = (int)rng_between(&w->r, 1, MOST_NODES);
    w->two_dimensional = rng_between(&w->r, 0, 1);
    w->tasks = (size_t)rng_between(&w->r, 1, MOST_TASKS);
    w->custom = (ti_custom_mapper){ .fn = longer ? banded : sparse };
    ti_box half = { { 0, 0, 0 }, { 1, 1, 1 } }, whole = half;
    for (int d = 0; d < w->dims; d++) {
        half.max[d] = rng_between(&w->r, 1, most[w->dims]);
        whole.max[d] = 2 * half.max[d];
    }
    for (int b = 0; b < BUFFERS; b++) {
        w->buffer[b] =
            (ti_buffer_info){ .slot = (uint32_t)b, .dims = w->dims, .extent = b < FINE ? whole : half, .elem_size = 8 };
    }
    for (size_t t = 0; t < w->tasks; t++) {
        random_task(w, t);
    }
}

/* ---- sets as bits: items are numbered by their place in `extent` of a fine buffer, and elements in their buffer's */

static size_t number(const ti_box *extent, const int64_t at[3])
{
    return (size_t)((at[0] * extent->max[1] + at[1]) * extent->max[2] + at[2]);
}

#define FOR_EACH(at, box)                                                                                              \
    for (at[0] = (box)->min[0]; at[0] < (box)->max[0]; at[0]++)                                                        \
        for (at[1] = (box)->min[1]; at[1] < (box)->max[1]; at[1]++)                                                    \
            for (at[2] = (box)->min[2]; at[2] < (box)->max[2]; at[2]++)

typedef bool bits[MOST_ELEMENTS];

static void set_bits(const ti_box *extent, const ti_boxes *boxes, bits out)
{
    int64_t at[3];
    memset(out, 0, sizeof(bits));
    for (size_t i = 0; i < boxes->count; i++) {
        FOR_EACH(at, &boxes->data[i])
        {
            out[number(extent, at)] = true;
        }
    }
}

/* The granule that an item lies in: a whole row of them along what the task is not split in. */
static ti_box granule_of(const world *w, size_t t, const int64_t at[3])
{
    const ti_split *s = &w->split[t];
    ti_box out;
    for (int d = 0; d < 3; d++) {
        out.min[d] = s->lo[d] + (at[d] - s->lo[d]) / s->gran[d] * s->gran[d];
        out.max[d] = TI_MIN(out.min[d] + s->gran[d], s->hi[d]);
        if (s->parts[d] == 1 && (d > 0 || s->chunks > 1)) {
            out.min[d] = s->lo[d];
            out.max[d] = s->hi[d];
        }
    }
    return out;
}

/* What each granule touches, by access; kept for the item that is its first. */
typedef struct model {
    bits item[MOST_NODES][MOST_TASKS][6];       /* own, l4, l5, l1, l2, l3 */
    bits before[MOST_NODES][BUFFERS][2];        /* l5, lacks */
    bits touches[MOST_TASKS][3][MOST_ELEMENTS]; /* of the granule of each item */
    bits written[MOST_TASKS][BUFFERS];
} model;

enum { OWN, L4, L5, L1, L2, L3 };

static model m;

static const ti_box *items_extent(const world *w)
{
    return &w->buffer[0].extent;
}

static void look_at_task(const world *w, size_t t)
{
    const ti_shape *shape = w->task[t].shape;
    int64_t at[3], node_at[3];
    FOR_EACH(at, &shape->range)
    {
        ti_box granule = granule_of(w, t, at);
        size_t item = number(items_extent(w), at);
        for (uint32_t i = 0; i < shape->accesses; i++) {
            ti_boxes image = { 0 };
            int b = (int)(shape->access[i].buffer - w->buffer);
            ti_access_image(&shape->access[i], &granule, &image);
            set_bits(&w->buffer[b].extent, &image, m.touches[t][i][item]);
            for (size_t e = 0; ti_access_writes(&shape->access[i]) && e < MOST_ELEMENTS; e++) {
                m.written[t][b][e] |= m.touches[t][i][item][e];
            }
            ti_vec_fini(&image);
        }
    }
    for (int64_t c = 0; c < w->split[t].chunks; c++) {
        ti_box chunk = ti_split_chunk(&w->split[t], c);
        FOR_EACH(node_at, &chunk)
        {
            m.item[ti_split_node(&w->split[t], c)][t][OWN][number(items_extent(w), node_at)] = true;
        }
    }
}

/* The task that wrote an element last before task t; -1: none of the window. */
static int writer_of(size_t t, int b, size_t e)
{
    int writer = (int)t - 1;
    while (writer >= 0 && !m.written[writer][b][e]) {
        writer--;
    }
    return writer;
}

/* Whether an item of task t writes the element, and the set has it; `set` NULL: marks it. */
static bool makers(const world *w, size_t t, int b, size_t e, const bool *set, bool *mark)
{
    const ti_shape *shape = w->task[t].shape;
    bool any = false;
    for (size_t item = 0; item < MOST_ELEMENTS; item++) {
        for (uint32_t i = 0; i < shape->accesses; i++) {
            bool makes = ti_access_writes(&shape->access[i]) && shape->access[i].buffer == &w->buffer[b] &&
                         m.touches[t][i][item][e];
            any |= makes && (!set || set[item]);
            if (makes && mark) {
                mark[item] = true;
            }
        }
    }
    return any;
}

/* What item reads: calls for every element and its writer. */
typedef bool each_read(const world *w, int node, size_t t, int b, size_t e, int writer);

static bool for_reads(const world *w, int node, size_t t, size_t item, each_read *each)
{
    const ti_shape *shape = w->task[t].shape;
    bool all = true;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        int b = (int)(shape->access[i].buffer - w->buffer);
        for (size_t e = 0; ti_access_reads(&shape->access[i]) && e < MOST_ELEMENTS; e++) {
            all = all && (!m.touches[t][i][item][e] || each(w, node, t, b, e, writer_of(t, b, e)));
        }
    }
    return all;
}

static bool is_there(const world *w, int node, size_t t, int b, size_t e, int writer)
{
    (void)t;
    return writer < 0 ? w->held[node][b][e] : makers(w, (size_t)writer, b, e, m.item[node][writer][L4], NULL);
}

static bool need(const world *w, int node, size_t t, int b, size_t e, int writer)
{
    (void)t;
    if (writer < 0) {
        m.before[node][b][0][e] = true;
        m.before[node][b][1][e] = !w->held[node][b][e];
    } else {
        makers(w, (size_t)writer, b, e, NULL, m.item[node][writer][L5]);
    }
    return true;
}

static void model_node(const world *w, int p)
{
    for (size_t t = 0; t < w->tasks; t++) {
        for (size_t i = 0; i < MOST_ELEMENTS; i++) {
            m.item[p][t][L4][i] = m.item[p][t][OWN][i] && for_reads(w, p, t, i, is_there);
            m.item[p][t][L5][i] = m.item[p][t][OWN][i];
        }
    }
    for (size_t t = w->tasks; t > 0; t--) {
        for (size_t i = 0; i < MOST_ELEMENTS; i++) {
            if (m.item[p][t - 1][L5][i]) {
                for_reads(w, p, t - 1, i, need);
            }
        }
    }
}

static void model_all(const world *w)
{
    memset(&m, 0, sizeof(m));
    for (size_t t = 0; t < w->tasks; t++) {
        look_at_task(w, t);
    }
    for (int p = 0; p < w->nodes; p++) {
        model_node(w, p);
    }
    for (size_t t = 0; t < w->tasks; t++) {
        for (size_t i = 0; i < MOST_ELEMENTS; i++) {
            for (int p = 0; p < w->nodes; p++) {
                for (int q = 0; q < w->nodes; q++) {
                    m.item[p][t][L1][i] |= q != p && m.item[p][t][L4][i] && m.item[q][t][L5][i];
                }
                m.item[p][t][L2][i] = m.item[p][t][L4][i] && !m.item[p][t][L1][i];
            }
            for (int p = 0; p < w->nodes; p++) {
                bool comes = false;
                for (int q = 0; q < w->nodes; q++) {
                    comes |= q != p && m.item[q][t][L1][i];
                }
                m.item[p][t][L3][i] = m.item[p][t][L5][i] && !m.item[p][t][L4][i] && !comes;
            }
        }
    }
}

/* ---- who holds what before the window: slabs of equal length, and a little more */

static void held(void *user, int node, const ti_buffer_info *buffer, ti_boxes *out)
{
    world *w = user;
    int64_t n = buffer->extent.max[0], more = (int64_t)((node + buffer->slot) % 2);
    ti_box box = buffer->extent;
    box.min[0] = TI_MAX(ti_split_share(n, w->nodes, node) - more, 0);
    box.max[0] = TI_MIN(ti_split_share(n, w->nodes, node + 1) + more, n);
    if (!ti_box_is_empty(&box)) {
        ti_vec_push(out, box);
    }
    int64_t at[3];
    FOR_EACH(at, &box)
    {
        w->held[node][buffer->slot][number(&buffer->extent, at)] = true;
    }
}

/* ---- comparison */

static bool same(const ti_box *extent, const ti_boxes *found, const bool *expected)
{
    bits here;
    set_bits(extent, found, here);
    return ti_boxes_are_normal(found) && memcmp(here, expected, sizeof(bits)) == 0;
}

static uint64_t current;

static void expect_that(bool good, const char *what, size_t t, int node)
{
    if (!good) {
        fail_msg("%s of task %zu on node %d: tolerance_test %llu", what, t, node, (unsigned long long)current);
    }
}

static void compare_sets(const world *w, const window_sets *s)
{
    for (int p = 0; p < w->nodes; p++) {
        for (size_t t = 0; t < w->tasks; t++) {
            const level_sets *l = &s->node[p].level[t];
            const ti_box *extent = items_extent(w);
            expect_that(same(extent, &l->own, m.item[p][t][OWN]), "own", t, p);
            expect_that(same(extent, &l->l4, m.item[p][t][L4]), "l4", t, p);
            expect_that(same(extent, &l->l5, m.item[p][t][L5]), "l5", t, p);
            expect_that(same(extent, &l->l1, m.item[p][t][L1]), "l1", t, p);
            expect_that(same(extent, &l->l2, m.item[p][t][L2]), "l2", t, p);
            expect_that(same(extent, &l->l3, m.item[p][t][L3]), "l3", t, p);
        }
        for (size_t i = 0; i < s->buffers; i++) {
            const before_sets *b = &s->node[p].before[i];
            expect_that(same(&b->buffer->extent, &b->l5, m.before[p][b->buffer->slot][0]), "needs before", i, p);
            expect_that(same(&b->buffer->extent, &b->lacks, m.before[p][b->buffer->slot][1]), "lacks before", i, p);
        }
    }
}

/* What the node has when it comes to what it executes last: what came, and what it executed. */
static bits has[MOST_TASKS];

static bool was_there(const world *w, int node, size_t t, int b, size_t e, int writer)
{
    (void)t;
    return writer < 0 ? w->held[node][b][e] || m.before[node][b][1][e]
                      : makers(w, (size_t)writer, b, e, has[writer], NULL);
}

/* The theorem, by what the library found: l1, l2 and l3 cover what is own; l1 and l2 need no message; l3 needs only
 * what has been sent; nothing is sent twice, nor what the receiver executes. */
static void check_theorem(const world *w, const window_sets *s)
{
    for (int p = 0; p < w->nodes; p++) {
        for (size_t t = 0; t < w->tasks; t++) {
            bits l1, l2, l3, came = { false };
            set_bits(items_extent(w), &s->node[p].level[t].l1, l1);
            set_bits(items_extent(w), &s->node[p].level[t].l2, l2);
            set_bits(items_extent(w), &s->node[p].level[t].l3, l3);
            for (int q = 0; q < w->nodes; q++) {
                ti_boxes sent = { 0 };
                bits one;
                if (q != p) {
                    window_sets_sent(s, t, q, p, &sent);
                }
                set_bits(items_extent(w), &sent, one);
                for (size_t i = 0; i < MOST_ELEMENTS; i++) {
                    expect_that(!one[i] || (!came[i] && !l1[i] && !l2[i] && !l3[i]), "what is sent", t, p);
                    came[i] |= one[i];
                }
                ti_vec_fini(&sent);
            }
            for (size_t i = 0; i < MOST_ELEMENTS; i++) {
                expect_that(!m.item[p][t][OWN][i] || l1[i] || l2[i] || l3[i], "cover", t, p);
                expect_that(!(l1[i] || l2[i]) || for_reads(w, p, t, i, is_there), "l1 and l2", t, p);
                has[t][i] = l1[i] || l2[i] || l3[i] || came[i];
            }
            for (size_t i = 0; i < MOST_ELEMENTS; i++) {
                expect_that(!l3[i] || for_reads(w, p, t, i, was_there), "l3", t, p);
            }
        }
    }
}

/* Margins cover l5 of every node, which has nothing that is farther from its chunk than they reach. */
static bool check_margins(const world *w, const window_sets *s)
{
    ti_margin margin[MOST_TASKS];
    for (size_t t = 0; t < w->tasks; t++) {
        if (ti_window_admits(w->task[t].shape) != TI_WINDOW_FITS) {
            return false;
        }
    }
    if (ti_window_margins(w->task, w->tasks, margin) != TI_WINDOW_FITS) {
        return false;
    }
    bool wide = false;
    for (size_t t = 0; t < w->tasks; t++) {
        wide |= !ti_margin_is_none(&margin[t]);
        for (int p = 0; p < w->nodes; p++) {
            const level_sets *l = &s->node[p].level[t];
            for (size_t i = 0; i < l->l5.count && l->own.count; i++) {
                ti_box own = ti_boxes_bounding(l->own.data, l->own.count);
                ti_box enlarged = ti_margin_enlarge(&margin[t], &own, &w->task[t].shape->range);
                expect_that(ti_box_covers(&enlarged, &l->l5.data[i]), "margin", t, p);
            }
        }
    }
    return wide;
}

/* Whether the node has items of its own of every task: others are left out of windows. */
static bool takes_part(const world *w, const window_sets *s, int p)
{
    bool all = true;
    for (size_t t = 0; t < w->tasks; t++) {
        all &= s->node[p].level[t].own.count > 0;
    }
    return all;
}

static bool reads_by_custom(const world *w)
{
    bool any = false;
    for (size_t t = 0; t < w->tasks; t++) {
        for (uint32_t i = 0; i < w->task[t].shape->accesses; i++) {
            any |= w->task[t].shape->access[i].custom != NULL;
        }
    }
    return any;
}

/* What planners find with custom mappers, and with any others, is l5. Returns whether there were custom mappers, and
 * nodes that execute more than their chunks. */
static bool check_closure(const world *w, const window_sets *s)
{
    ti_spread *spread[MOST_TASKS];
    bool more = false;
    for (size_t t = 0; t < w->tasks; t++) {
        if (ti_window_admits(w->task[t].shape) != TI_WINDOW_FITS) {
            return false;
        }
    }
    ti_window_verdict verdict = ti_window_closure(w->task, w->tasks, spread);
    for (size_t t = 0; t < w->tasks; t++) {
        for (int p = 0; p < w->nodes && verdict == TI_WINDOW_FITS; p++) {
            ti_boxes items = { 0 };
            if (takes_part(w, s, p) && spread[t]) {
                ti_spread_items(spread[t], &w->split[t], p, &items);
                expect_that(same(items_extent(w), &items, m.item[p][t][L5]), "closure", t, p);
            } else if (takes_part(w, s, p)) {
                expect_that(memcmp(m.item[p][t][OWN], m.item[p][t][L5], sizeof(bits)) == 0, "no closure", t, p);
            }
            ti_vec_fini(&items);
        }
        more |= spread[t] != NULL;
        ti_spread_unref(spread[t]);
    }
    return more && reads_by_custom(w);
}

static uint64_t seed;

static void random_windows(void **state)
{
    enum { COUNT = 500 * TIMES, FEW = COUNT / 50, CLOSURES = COUNT / 300 };
    (void)state;
    static world w;
    int wide = 0, closed = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        current = seed + i;
        create(&w, current, false);
        window_sets *s = window_sets_create(w.task, w.tasks, w.nodes, held, &w);
        model_all(&w);
        compare_sets(&w, s);
        check_theorem(&w, s);
        wide += check_margins(&w, s);
        closed += check_closure(&w, s);
        window_sets_destroy(s);
        ti_arena_fini(&w.arena);
    }
    printf("%d windows, %d of them with margins, %d with more than chunks by custom mappers\n", COUNT, wide, closed);
    assert_true(wide >= FEW && closed >= CLOSURES);
}

/* ---- stages */

/* Split along one dimension, or along several: then all of them are long. Returns how many parts there are along each;
 * zeros: as many as nodes, along the first. */
static const int64_t *random_extent(world *w, int64_t max[3])
{
    static const int64_t along_one[3], grids[][3] = { { 2, 2, 0 }, { 2, 3, 0 }, { 3, 2, 0 }, { 2, 2, 2 }, { 1, 2, 2 } };
    w->dims = (int)rng_between(&w->r, 1, 2);
    w->nodes = (int)rng_between(&w->r, 1, MOST_NODES);
    max[0] = rng_between(&w->r, 20, MOST_ELEMENTS);
    max[1] = max[2] = 1;
    if (rng_between(&w->r, 0, 2)) {
        max[1] = w->dims == 2 ? rng_between(&w->r, 1, 5) : 1;
        return along_one;
    }
    const int64_t *grid = grids[rng_between(&w->r, 0, (int64_t)TI_COUNT(grids) - 1)];
    w->dims = grid[2] ? 3 : 2;
    w->nodes = (int)(grid[0] * grid[1] * TI_MAX(grid[2], 1));
    for (int d = 0; d < w->dims; d++) {
        max[d] = rng_between(&w->r, 6, w->dims == 2 ? 24 : 12) * TI_MAX(grid[d], 1);
    }
    return grid;
}

/* Tasks that are all alike, with long chunks; half of them change a buffer in place. */
static void create_long(world *w, uint64_t from)
{
    memset(w, 0, sizeof(*w));
    w->r = rng_from(from);
    w->tasks = (size_t)rng_between(&w->r, 1, MOST_TASKS);
    ti_box extent = { { 0, 0, 0 }, { 1, 1, 1 } };
    const int64_t *grid = random_extent(w, extent.max);
    for (int b = 0; b < BUFFERS; b++) {
        w->buffer[b] = (ti_buffer_info){ .slot = (uint32_t)b, .dims = w->dims, .extent = extent, .elem_size = 8 };
    }
    int64_t gran = rng_between(&w->r, 0, 4) == 0 ? 3 : 1;
    for (size_t t = 0; t < w->tasks; t++) {
        ti_shape *shape = ti_shape_new(&w->arena, "task");
        ti_access *access = TI_ARENA_ARRAY(&w->arena, ti_access, 3);
        int to = fine(w), read = (to + (int)rng_between(&w->r, 1, FINE - 1)) % FINE;
        shape->dims = w->dims;
        shape->pure = true;
        shape->range = extent;
        shape->gran[0] = gran;
        int64_t lo = rng_between(&w->r, 0, 2), hi = rng_between(&w->r, 0, 2);
        bool boxes = w->dims == 1 || (grid[0] && rng_between(&w->r, 0, 1));
        set_access(w, &access[0], read, TACIT_READ,
                   boxes ? scaled(w, 1, 1, lo, hi) : tacit_star((size_t)lo, (size_t)hi, w->dims == 3));
        set_access(w, &access[1], to, rng_between(&w->r, 0, 1) ? TACIT_UPDATE : TACIT_WRITE, tacit_one_to_one());
        set_access(w, &access[2], FINE - to - read, TACIT_READ, tacit_one_to_one());
        shape->accesses = (uint32_t)rng_between(&w->r, 2, 3);
        shape->access = access;
        ti_shape_fill_footprints(shape, &w->arena);
        const ti_split_request request = { .range = shape->range,
                                           .gran = { gran, 1, 1 },
                                           .nodes = w->nodes,
                                           .place = TI_PLACE_SPLIT,
                                           .oversubscribe = 1,
                                           .grid = { grid[0], grid[1], grid[0] ? TI_MAX(grid[2], 1) : 0 } };
        w->split[t] = ti_split_make(&request, NULL);
        w->task[t] = (ti_windowed){ shape, &w->split[t] };
    }
}

#define ALONG(d)                                                                                                       \
    {                                                                                                                  \
        .kind = TACIT_COMPONENT_DIM, .dim = (d), .mul = 1, .div = 1                                                    \
    }
static const ti_mapper identity[] = { { .dims = 1, .custom = -1, .c = { ALONG(0) } },
                                      { .dims = 2, .custom = -1, .c = { ALONG(0), ALONG(1) } },
                                      { .dims = 3, .custom = -1, .c = { ALONG(0), ALONG(1), ALONG(2) } } };

/* Before the window each node has the elements of its own items. */
static bool lies(void *user, const ti_windowed *reader, const ti_access *access, const ti_box *box, ti_lyings *out)
{
    world *w = user;
    (void)reader;
    (void)access;
    (void)box;
    ti_vec_push(out, ((ti_lying){ &identity[w->dims - 1], &w->split[0] }));
    return true;
}

static void held_as_chunks(void *user, int node, const ti_buffer_info *buffer, ti_boxes *out)
{
    world *w = user;
    (void)buffer;
    int64_t first, count = ti_split_chunks_of(&w->split[0], node, &first);
    for (int64_t c = first; c < first + count; c++) {
        ti_vec_push(out, ti_split_chunk(&w->split[0], c));
    }
}

/* What the node executes of a task without messages, and after them. */
static void split_work(const world *w, const ti_stage *stage, size_t t, int p, ti_boxes *early, ti_boxes *late)
{
    int64_t first, count = ti_split_chunks_of(&w->split[t], p, &first);
    for (int64_t c = first; c < first + count; c++) {
        ti_box chunk = ti_split_chunk(&w->split[t], c), inner = ti_stage_early(&stage[t], &w->split[t], &chunk);
        if (stage[t].around) {
            ti_spread *spread = ti_spread_around(&stage[t].margin, &stage[t].depth);
            ti_spread_items(spread, &w->split[t], c, late);
            ti_spread_unref(spread);
        } else {
            ti_vec_push(late, ti_margin_enlarge(&stage[t].margin, &chunk, &w->task[t].shape->range));
        }
        if (!ti_box_is_empty(&inner)) {
            ti_vec_push(early, inner);
            ti_boxes_subtract(late, &inner);
        }
    }
}

static void touched(const ti_shape *shape, const ti_boxes *items, const ti_buffer_info *buffer, bool writes,
                    ti_boxes *out)
{
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *a = &shape->access[i];
        for (size_t k = 0; a->buffer == buffer && (!writes || ti_access_writes(a)) && k < items->count; k++) {
            ti_access_image(a, &items->data[k], out);
        }
    }
}

/* What is early overwrites nothing that is touched late by an earlier task. */
static void check_overwritten(const world *w, const ti_stage *stage, size_t t, int p, const ti_boxes *early)
{
    for (size_t e = 0; e < t; e++) {
        ti_boxes none = { 0 }, late = { 0 };
        split_work(w, stage, e, p, &none, &late);
        for (int b = 0; b < FINE; b++) {
            ti_boxes written = { 0 }, used = { 0 };
            touched(w->task[t].shape, early, &w->buffer[b], true, &written);
            touched(w->task[e].shape, &late, &w->buffer[b], false, &used);
            for (size_t i = 0; i < used.count; i++) {
                expect_that(!ti_boxes_meet(&written, &used.data[i]), "overwrites what is late", t, p);
            }
            ti_vec_fini(&written);
            ti_vec_fini(&used);
        }
        ti_vec_fini(&none);
        ti_vec_fini(&late);
    }
}

/* The items of task `writer` that made what these items of task t read. */
static void add_makers(const world *w, size_t t, size_t writer, const ti_boxes *items, ti_boxes *out)
{
    const ti_shape *reader = w->task[t].shape, *made = w->task[writer].shape;
    for (uint32_t i = 0; i < reader->accesses; i++) {
        const ti_access *from = &reader->access[i];
        ti_boxes read = { 0 };
        for (size_t k = 0; ti_access_reads(from) && k < items->count; k++) {
            ti_access_image(from, &items->data[k], &read);
        }
        for (size_t b = writer + 1; b < t; b++) { /* each task writes all of the one buffer that it writes */
            const ti_access *to = &w->task[b].shape->access[1];
            read.count = to->buffer == from->buffer ? 0 : read.count;
        }
        for (size_t k = 0; made->access[1].buffer == from->buffer && k < read.count; k++) {
            ti_items_touching(made, &made->access[1], w->split[writer].gran, &made->range, &read.data[k], out);
        }
        ti_vec_fini(&read);
    }
}

/* Nobody executes late what another node can compute alone, and sends. */
static void check_apart(const world *w, const ti_stage *stage, size_t t, int p, const ti_boxes *late)
{
    for (int q = 0; q < w->nodes; q++) {
        ti_boxes early = { 0 }, unused = { 0 };
        split_work(w, stage, t, q, &early, &unused);
        for (size_t i = 0; i < early.count && q != p; i++) {
            expect_that(!ti_boxes_meet(late, &early.data[i]), "late items that others have early", t, p);
        }
        ti_vec_fini(&early);
        ti_vec_fini(&unused);
    }
}

/* Whatever a node executes late, needed or not, comes of what it executes, or others do early. */
static void check_late(const world *w, const ti_stage *stage, size_t t, int p, const ti_boxes *late)
{
    for (size_t writer = 0; writer < t; writer++) {
        ti_boxes made = { 0 }, early = { 0 }, here = { 0 }, unused = { 0 };
        add_makers(w, t, writer, late, &made);
        for (int q = 0; q < w->nodes; q++) {
            split_work(w, stage, writer, q, &early, q == p ? &here : &unused);
        }
        for (size_t i = 0; i < early.count; i++) {
            ti_boxes_subtract(&made, &early.data[i]);
        }
        for (size_t i = 0; i < here.count; i++) {
            ti_boxes_subtract(&made, &here.data[i]);
        }
        expect_that(made.count == 0, "what late items come of", t, p);
        ti_vec_fini(&made);
        ti_vec_fini(&early);
        ti_vec_fini(&here);
        ti_vec_fini(&unused);
    }
}

/* The theorem, for what is planned: early items are in l4; what a node needs it executes, or others do early, so that
 * it can come in the one message. Returns whether anything comes of a task. */
static bool check_stages(const world *w, const ti_stage *stage, const window_sets *s)
{
    bool comes = false;
    for (size_t t = 0; t < w->tasks; t++) {
        ti_boxes all = { 0 };
        for (int p = 0; p < w->nodes; p++) {
            ti_boxes early = { 0 }, late = { 0 };
            split_work(w, stage, t, p, &early, &late);
            check_overwritten(w, stage, t, p, &early);
            check_late(w, stage, t, p, &late);
            check_apart(w, stage, t, p, &late);
            for (size_t i = 0; i < early.count; i++) {
                ti_vec_push(&all, early.data[i]);
            }
            for (size_t i = 0; i < s->node[p].level[t].l4.count; i++) {
                ti_boxes_subtract(&early, &s->node[p].level[t].l4.data[i]);
            }
            expect_that(early.count == 0, "early", t, p);
            ti_vec_fini(&early);
            ti_vec_fini(&late);
        }
        for (int p = 0; p < w->nodes; p++) {
            ti_boxes left = { 0 }, early = { 0 }, late = { 0 };
            split_work(w, stage, t, p, &early, &late);
            for (size_t i = 0; i < s->node[p].level[t].l5.count; i++) {
                ti_vec_push(&left, s->node[p].level[t].l5.data[i]);
            }
            for (size_t i = 0; i < late.count; i++) {
                ti_boxes_subtract(&left, &late.data[i]);
            }
            for (size_t i = 0; i < early.count; i++) {
                ti_boxes_subtract(&left, &early.data[i]);
            }
            comes |= left.count > 0;
            for (size_t i = 0; i < all.count; i++) {
                ti_boxes_subtract(&left, &all.data[i]);
            }
            expect_that(left.count == 0, "what comes", t, p);
            ti_vec_fini(&left);
            ti_vec_fini(&early);
            ti_vec_fini(&late);
        }
        ti_vec_fini(&all);
    }
    return comes;
}

static void random_stages(void **state)
{
    enum { COUNT = 333 * TIMES, FEW = COUNT / 20 };
    (void)state;
    static world w;
    int staged = 0, come = 0, around = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        ti_margin margin[MOST_TASKS];
        ti_stage stage[MOST_TASKS];
        current = seed + i;
        create_long(&w, current);
        if (ti_window_margins(w.task, w.tasks, margin) == TI_WINDOW_FITS &&
            ti_window_stages(w.task, w.tasks, margin, lies, &w, stage) == TI_STAGE_FITS) {
            window_sets *s = window_sets_create(w.task, w.tasks, w.nodes, held_as_chunks, &w);
            staged++;
            bool comes = check_stages(&w, stage, s);
            come += comes;
            around += comes && stage[0].around;
            window_sets_destroy(s);
        }
        ti_arena_fini(&w.arena);
    }
    printf("%d windows, %d of them in stages, of which %d send what they compute, %d along several dimensions\n", COUNT,
           staged, come, around);
    assert_true(staged >= FEW && come >= FEW && around >= COUNT / 200);
}

/* ---- stages without depths, by what the model knows of granules and elements */

static ti_split slabs[BUFFERS]; /* of every buffer, before the window */

static void held_as_slabs(void *user, int node, const ti_buffer_info *buffer, ti_boxes *out)
{
    world *w = user;
    int64_t first, at[3], count = ti_split_chunks_of(&slabs[buffer->slot], node, &first);
    for (int64_t c = first; c < first + count; c++) {
        const ti_box box = ti_split_chunk(&slabs[buffer->slot], c);
        ti_vec_push(out, box);
        FOR_EACH(at, &box)
        {
            w->held[node][buffer->slot][number(&buffer->extent, at)] = true;
        }
    }
}

static void make_slabs(const world *w)
{
    for (int b = 0; b < BUFFERS; b++) {
        const ti_split_request request = { .range = w->buffer[b].extent,
                                           .gran = { 1, 1, 1 },
                                           .nodes = w->nodes,
                                           .place = TI_PLACE_SPLIT,
                                           .oversubscribe = 1 };
        slabs[b] = ti_split_make(&request, NULL);
    }
}

/* All that tasks read and no earlier one has written. */
static void find_before(const world *w, ti_befores *out)
{
    for (size_t t = 0; t < w->tasks; t++) {
        const ti_shape *shape = w->task[t].shape;
        for (uint32_t i = 0; i < shape->accesses; i++) {
            const ti_access *a = &shape->access[i];
            ti_boxes left = { 0 };
            for (uint32_t f = 0; ti_access_reads(a) && f < shape->footprint[i].boxes; f++) {
                ti_vec_push(&left, shape->footprint[i].box[f]);
            }
            ti_boxes_normalize(&left);
            for (size_t e = 0; e < t; e++) {
                const ti_boxes all = { .data = (ti_box *)(uintptr_t)&w->task[e].shape->range, .count = 1 };
                ti_boxes written = { 0 };
                touched(w->task[e].shape, &all, a->buffer, true, &written);
                for (size_t k = 0; k < written.count; k++) {
                    ti_boxes_subtract(&left, &written.data[k]);
                }
                ti_vec_fini(&written);
            }
            for (size_t k = 0; k < left.count; k++) {
                ti_vec_push(out, ((ti_before){ t, i, left.data[k], &identity[w->dims - 1], &slabs[a->buffer->slot] }));
            }
            ti_vec_fini(&left);
        }
    }
}

static bits early_at[MOST_NODES][MOST_TASKS], done_at[MOST_NODES][MOST_TASKS];

static bool is_early_there(const world *w, int node, size_t t, int b, size_t e, int writer)
{
    (void)t;
    return writer < 0 ? w->held[node][b][e] : makers(w, (size_t)writer, b, e, early_at[node][writer], NULL);
}

/* The node makes it itself, or another one does so early, and sends it. */
static bool is_done_there(const world *w, int node, size_t t, int b, size_t e, int writer)
{
    (void)t;
    bool there = writer < 0 || makers(w, (size_t)writer, b, e, done_at[node][writer], NULL);
    for (int q = 0; q < w->nodes && !there; q++) {
        there = makers(w, (size_t)writer, b, e, early_at[q][writer], NULL);
    }
    return there;
}

/* Whether an early item of task t writes what a late one of task `before` touches. */
static bool overwrites_late(const world *w, int p, size_t t, size_t before, size_t item)
{
    const ti_shape *shape = w->task[t].shape, *other = w->task[before].shape;
    bool any = false;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        for (uint32_t k = 0; k < other->accesses; k++) {
            if (!ti_access_writes(&shape->access[i]) || shape->access[i].buffer != other->access[k].buffer) {
                continue;
            }
            for (size_t e = 0; e < MOST_ELEMENTS; e++) {
                for (size_t o = 0; m.touches[t][i][item][e] && o < MOST_ELEMENTS; o++) {
                    any |= done_at[p][before][o] && !early_at[p][before][o] && m.touches[before][k][o][e];
                }
            }
        }
    }
    return any;
}

static void check_alone_item(const world *w, int p, size_t t, size_t i)
{
    const bool own = m.item[p][t][OWN][i], early = early_at[p][t][i], done = done_at[p][t][i];
    expect_that(!own || done, "own items", t, p);
    expect_that(!early || own, "early items are own", t, p);
    expect_that(!early || for_reads(w, p, t, i, is_early_there), "what early items come of", t, p);
    expect_that(!done || for_reads(w, p, t, i, is_done_there), "what items come of", t, p);
    expect_that(!done || m.item[p][t][L5][i], "items that nobody needs", t, p);
    for (size_t e = 0; e < t && early; e++) {
        expect_that(!overwrites_late(w, p, t, e, i), "overwrites what is late", t, p);
    }
    for (int q = 0; q < w->nodes && done && !own; q++) {
        expect_that(!early_at[q][t][i], "late items that others have early", t, p);
    }
}

/* Whether nodes leave items to others. */
static bool check_alone(const world *w)
{
    bool left = false;
    for (int p = 0; p < w->nodes; p++) {
        for (size_t t = 0; t < w->tasks; t++) {
            for (size_t i = 0; i < MOST_ELEMENTS; i++) {
                check_alone_item(w, p, t, i);
                left |= m.item[p][t][L5][i] && !done_at[p][t][i];
            }
        }
    }
    return left;
}

static ti_stage_verdict find_alone(const world *w, ti_spread **halo, const ti_befores *before, int p)
{
    ti_alone alone[MOST_TASKS];
    ti_stage_verdict verdict = ti_window_alone(w->task, w->tasks, halo, before, p, alone);
    for (size_t t = 0; t < w->tasks; t++) {
        ti_boxes items = { 0 };
        if (alone[t].spread) {
            ti_spread_items(alone[t].spread, &w->split[t], p, &items);
        } else {
            ti_vec_push(&items, ti_split_chunk(&w->split[t], p));
        }
        set_bits(items_extent(w), &items, done_at[p][t]);
        set_bits(items_extent(w), &alone[t].early, early_at[p][t]);
        for (size_t i = 0; i < alone[t].ahead.count; i++) {
            ti_boxes rest = { 0 };
            ti_vec_push(&rest, alone[t].ahead.data[i]);
            for (size_t k = 0; k < alone[t].early.count; k++) {
                ti_boxes_subtract(&rest, &alone[t].early.data[k]);
            }
            expect_that(rest.count == 0, "ahead, and not early", t, p);
            ti_vec_fini(&rest);
        }
        ti_vec_fini(&items);
    }
    ti_window_alone_drop(alone, w->tasks);
    return verdict;
}

static bool may_be_alone(const world *w)
{
    bool may = true;
    for (size_t t = 0; t < w->tasks; t++) {
        may &= ti_window_admits(w->task[t].shape) == TI_WINDOW_FITS && w->split[t].chunks == w->nodes;
    }
    return may;
}

static void random_lists(void **state)
{
    enum { COUNT = 200 * TIMES };
    (void)state;
    static world w;
    int staged = 0, left = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        ti_spread *halo[MOST_TASKS] = { NULL };
        ti_befores before = { 0 };
        current = seed + i;
        create(&w, current, true);
        make_slabs(&w);
        if (may_be_alone(&w) && ti_window_closure(w.task, w.tasks, halo) == TI_WINDOW_FITS) {
            window_sets *s = window_sets_create(w.task, w.tasks, w.nodes, held_as_slabs, &w);
            ti_stage_verdict verdict = TI_STAGE_FITS;
            find_before(&w, &before);
            for (int p = 0; p < w.nodes; p++) {
                ti_stage_verdict one = find_alone(&w, halo, &before, p);
                expect_that(p == 0 || one == verdict, "verdicts", 0, p);
                verdict = one;
            }
            if (verdict == TI_STAGE_FITS) {
                model_all(&w);
                staged++;
                left += check_alone(&w);
            }
            window_sets_destroy(s);
        }
        for (size_t t = 0; t < w.tasks; t++) {
            ti_spread_unref(halo[t]);
        }
        ti_vec_fini(&before);
        ti_arena_fini(&w.arena);
    }
    printf("%d windows, %d of them in stages without depths, of which %d leave items to others\n", COUNT, staged, left);
    assert_true(staged >= COUNT / 50 && left >= COUNT / 200);
}

/* ---- tiles: each item once, and whatever touches the same, one of them writing, in the order of the tasks */

enum { MAX_PIECES = 1024 };

/* Pieces on three devices at most: what nodes would have. */
static void tile_pieces(const world *w, const ti_shape **shape, ti_tile_piece *piece, ti_tile_request *out)
{
    for (size_t t = 0; t < w->tasks; t++) {
        shape[t] = w->task[t].shape;
        for (int64_t c = 0; c < w->split[t].chunks; c++) {
            assert_true(out->pieces < MAX_PIECES);
            piece[out->pieces++] = (ti_tile_piece){ .task = (uint32_t)t,
                                                    .device = ti_split_node(&w->split[t], c) % 3,
                                                    .items = ti_split_chunk(&w->split[t], c) };
        }
    }
    out->shape = shape;
    out->piece = piece;
    out->tasks = (uint32_t)w->tasks;
}

/* Whether the items touch the same, and one of them writes it; of one task: whether both write it. */
static bool conflict(const ti_shape *a, const ti_box *mine, const ti_shape *b, const ti_box *other)
{
    bool any = false;
    for (uint32_t i = 0; i < a->accesses; i++) {
        for (uint32_t k = 0; k < b->accesses; k++) {
            ti_boxes x = { 0 }, y = { 0 };
            const int writers = ti_access_writes(&a->access[i]) + ti_access_writes(&b->access[k]);
            if (a->access[i].buffer != b->access[k].buffer || writers < (a == b ? 2 : 1)) {
                continue;
            }
            ti_access_image(&a->access[i], mine, &x);
            ti_access_image(&b->access[k], other, &y);
            for (size_t n = 0; n < x.count; n++) {
                any |= ti_boxes_meet(&y, &x.data[n]);
            }
            ti_vec_fini(&x);
            ti_vec_fini(&y);
        }
    }
    return any;
}

static void check_tiles(const ti_tile_request *r, const ti_tile_order *order)
{
    ti_boxes left = { 0 };
    for (uint32_t p = 0; p < r->pieces; p++) {
        ti_vec_clear(&left);
        ti_vec_push(&left, r->piece[p].items);
        int64_t items = ti_box_volume(&r->piece[p].items);
        for (size_t i = 0; i < order->kernel.count; i++) {
            const ti_tile_kernel *k = &order->kernel.data[i];
            if (k->piece == p) {
                items -= ti_box_volume(&k->items);
                ti_boxes_subtract(&left, &k->items);
            }
        }
        expect_that(items == 0 && left.count == 0, "items in tiles", r->piece[p].task, r->piece[p].device);
    }
    for (size_t i = 0; i < order->kernel.count; i++) {
        const ti_tile_kernel *k = &order->kernel.data[i];
        const uint32_t late = r->piece[k->piece].task;
        expect_that(k->after < (int32_t)i, "after what comes later", late, r->piece[k->piece].device);
        for (size_t j = i + 1; j < order->kernel.count; j++) {
            const ti_tile_kernel *next = &order->kernel.data[j];
            const uint32_t early = r->piece[next->piece].task;
            expect_that(early > late || !conflict(r->shape[early], &next->items, r->shape[late], &k->items), "too soon",
                        late, r->piece[k->piece].device);
        }
    }
    ti_vec_fini(&left);
}

/* An item touches a whole row: such tasks may not be cut along rows. */
static void write_rows(world *w, size_t t)
{
    const ti_shape *shape = w->task[t].shape;
    ti_access *access = (ti_access *)(uintptr_t)&shape->access[1];
    const int buffer = (int)(access->buffer - w->buffer);
    const ti_split *split = &w->split[t];
    if (w->dims == 2 && split->parts[1] == 1 && access->mapper[0].c[0].mul == access->mapper[0].c[0].div &&
        rng_between(&w->r, 0, 7) == 0) {
        set_access(w, access, buffer, TACIT_UPDATE, tacit_components(tacit_dim(0), tacit_full(), tacit_full()));
    }
}

static void random_tiles(void **state)
{
    enum { COUNT = 1000 * TIMES };
    (void)state;
    static world w;
    int verdicts[TI_TILES_VERDICTS] = { 0 };
    size_t waits = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        const ti_shape *shape[MOST_TASKS];
        static ti_tile_piece piece[MAX_PIECES];
        ti_tile_order order = { .tiles = 0 };
        current = seed + i;
        if (i % 2) {
            create_long(&w, current);
        } else {
            create(&w, current, false);
        }
        ti_tile_request r = { .bytes = (uint64_t)rng_between(&w.r, 1, 2000), .ahead = (int)rng_between(&w.r, 1, 2) };
        bool admits = true;
        tile_pieces(&w, shape, piece, &r);
        for (size_t t = 0; t < w.tasks; t++) {
            ((ti_shape *)(uintptr_t)shape[t])->two_dimensional = i / 2 % 2;
            write_rows(&w, t);
            admits &= ti_tile_order_admits(shape[t]);
        }
        const ti_tile_verdict verdict = admits ? ti_tile_order_make(&r, &order) : TI_TILES_FIXED;
        verdicts[verdict]++;
        if (verdict == TI_TILES_MADE) {
            check_tiles(&r, &order);
            for (size_t k = 0; k < order.kernel.count; k++) {
                waits += order.kernel.data[k].after >= 0;
            }
        }
        ti_tile_order_fini(&order);
        ti_arena_fini(&w.arena);
    }
    printf("%d windows, %d in tiles, %zu kernels wait for other tiles\n", COUNT, verdicts[TI_TILES_MADE], waits);
    assert_true(verdicts[TI_TILES_MADE] > COUNT / 30 && verdicts[TI_TILES_SKEW] && verdicts[TI_TILES_SMALL] &&
                verdicts[TI_TILES_FIXED] && waits > COUNT / 30);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_windows), cmocka_unit_test(random_stages),
                                        cmocka_unit_test(random_lists), cmocka_unit_test(random_tiles) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
