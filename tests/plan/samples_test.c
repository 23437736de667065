/* Samples of windows: random splits and margins. Every node draws them by itself; all of them together have, of every
 * sample, one owner and as many copies as that counts, each on a node that executes the item, and of the same
 * element. */
#include "../unit/random.h"
#include "base/check.h"
#include "plan/tolerance/samples.h"

#include <string.h>

enum { CASES = 400, MOST_NODES = 12, FACTOR = 2 };

typedef struct world {
    rng r;
    int dims, nodes;
    ti_arena arena;
    ti_buffer_info same, fine;
    ti_split split;
    int64_t table[MOST_NODES + 1];
    ti_margin margin;
    ti_spread *spread; /* of this margin, less what is far inside of other chunks; or NULL */
    ti_shape *shape;
    ti_sample_list list[MOST_NODES];
} world;

static void draw_split(world *w)
{
    uint32_t weights[MOST_NODES];
    ti_split_request request = { .range = { { 0, 0, 0 }, { 1, 1, 1 } }, .gran = { 1, 1, 1 }, .nodes = w->nodes };
    for (int d = 0; d < w->dims; d++) {
        request.range.min[d] = rng_between(&w->r, 0, 3);
        request.range.max[d] = request.range.min[d] + rng_between(&w->r, 1, d ? 20 : 60);
        request.gran[d] = rng_between(&w->r, 1, 2);
    }
    for (int i = 0; i < w->nodes; i++) {
        weights[i] = (uint32_t)rng_between(&w->r, 1, 3);
    }
    request.place = TI_PLACE_SPLIT;
    request.oversubscribe = 1;
    request.two_dimensional = w->dims > 1 && rng_between(&w->r, 0, 1);
    request.weights = !request.two_dimensional && rng_between(&w->r, 0, 2) == 0 ? weights : NULL;
    w->split = ti_split_make(&request, w->table);
    w->shape->range = request.range;
}

/* Up to the shortest part, as windows have them. */
static void draw_margin(world *w)
{
    memset(&w->margin, 0, sizeof(w->margin));
    for (int d = 0; d < 3; d++) {
        int64_t shortest = INT64_MAX;
        for (int64_t p = 0; p < w->split.parts[d]; p++) {
            shortest = TI_MIN(shortest, ti_split_border(&w->split, d, p + 1) - ti_split_border(&w->split, d, p));
        }
        w->margin.lo[d] = w->split.parts[d] > 1 ? rng_between(&w->r, 0, shortest) : 0;
        w->margin.hi[d] = w->split.parts[d] > 1 ? rng_between(&w->r, 0, shortest) : 0;
    }
}

/* As stages have it, or as a list. */
static void draw_spread(world *w)
{
    ti_boxes *items = TI_NEW_ARRAY(ti_boxes, (size_t)w->split.chunks);
    ti_margin depth;
    for (int d = 0; d < 3; d++) {
        depth.lo[d] = rng_between(&w->r, 0, 3);
        depth.hi[d] = rng_between(&w->r, 0, 3);
    }
    w->spread = ti_spread_around(&w->margin, &depth);
    for (int64_t c = 0; c < w->split.chunks; c++) {
        ti_spread_items(w->spread, &w->split, c, &items[c]);
    }
    if (rng_between(&w->r, 0, 1)) {
        ti_spread_unref(w->spread);
        w->spread = ti_spread_list(items, w->split.chunks);
    }
    for (int64_t c = 0; c < w->split.chunks; c++) {
        ti_vec_fini(&items[c]);
    }
    ti_free(items, (size_t)w->split.chunks * sizeof(*items));
}

static ti_buffer_info buffer_of(const world *w, int64_t factor)
{
    ti_buffer_info info = { .dims = w->dims, .elem_size = 8, .extent = w->shape->range };
    for (int d = 0; d < 3; d++) {
        info.extent.min[d] = 0;
        info.extent.max[d] = d < w->dims ? factor * info.extent.max[d] : 1;
    }
    return info;
}

static void make_access(world *w, ti_access *access, const ti_buffer_info *buffer, int factor)
{
    ti_mapper *mapper = TI_ARENA_NEW(&w->arena, ti_mapper);
    *mapper = (ti_mapper){ .dims = w->dims, .custom = -1 };
    for (int d = 0; d < w->dims; d++) {
        mapper->c[d] = tacit_dim_scaled(d, (size_t)factor, 1, 0, 0);
    }
    *access = (ti_access){ .buffer = buffer, .mapper = mapper, .mappers = 1, .mode = TACIT_WRITE };
}

static void draw(world *w)
{
    w->dims = (int)rng_between(&w->r, 1, 3);
    w->nodes = (int)rng_between(&w->r, 1, MOST_NODES);
    w->shape = ti_shape_new(&w->arena, "task");
    w->shape->dims = w->dims;
    draw_split(w);
    draw_margin(w);
    if (rng_between(&w->r, 0, 1)) {
        draw_spread(w);
    }
    w->same = buffer_of(w, 1);
    w->fine = buffer_of(w, FACTOR);
    ti_access *access = TI_ARENA_ARRAY(&w->arena, ti_access, 3);
    make_access(w, &access[0], &w->same, 1);
    access[0].mode = TACIT_READ;
    make_access(w, &access[1], &w->same, 1);
    make_access(w, &access[2], &w->fine, FACTOR);
    w->shape->access = access;
    w->shape->accesses = 3;
}

static bool executes(const world *w, int64_t chunk, const ti_sample *s)
{
    ti_box box = ti_split_chunk(&w->split, chunk), item;
    box = ti_margin_enlarge(&w->margin, &box, &w->shape->range);
    for (int d = 0; d < 3; d++) {
        item.min[d] = s->item[d];
        item.max[d] = s->item[d] + 1;
    }
    bool all = ti_box_covers(&box, &item), any = false;
    ti_boxes items = { 0 };
    if (w->spread) {
        ti_spread_items(w->spread, &w->split, chunk, &items);
    }
    for (size_t i = 0; i < items.count; i++) {
        any |= ti_box_covers(&items.data[i], &item);
    }
    ti_vec_fini(&items);
    return all && (any || !w->spread);
}

static bool writes(const ti_sample *s, int dims)
{
    bool all = true;
    for (int d = 0; d < 3; d++) {
        int64_t factor = d < dims && s->access == 2 ? FACTOR : 1;
        all &= s->element[d] / factor == s->item[d];
    }
    return all && s->access > 0;
}

/* Count those who have the sample. */
static void expect_complete(const world *w, const ti_sample *s)
{
    int owners = 0, copies = 0, others = 0, nodes = 0;
    for (int64_t c = 0; c < w->split.chunks; c++) {
        nodes += executes(w, c, s);
        for (size_t i = 0; i < w->list[c].count; i++) {
            const ti_sample *t = &w->list[c].data[i];
            if (t->key != s->key) {
                continue;
            }
            assert_true(executes(w, c, t) && writes(t, w->dims));
            assert_memory_equal(t->element, s->element, sizeof(s->element));
            assert_int_equal(t->access, s->access);
            owners += t->others > 0;
            copies += t->others < 0;
            others += t->others > 0 ? t->others : 0;
        }
    }
    assert_int_equal(owners, 1);
    assert_int_equal(copies, others);
    assert_int_equal(copies, nodes - 1);
}

static uint64_t run_case(uint64_t seed, uint64_t number)
{
    world w = { .r = rng_from(seed) };
    uint64_t samples = 0;
    draw(&w);
    const ti_windowed task = { w.shape, &w.split };
    for (int64_t c = 0; c < w.split.chunks && !ti_margin_is_none(&w.margin); c++) {
        if (w.spread) {
            ti_window_sample_spread(&task, w.spread, c, number, &w.list[c]);
        } else {
            ti_window_sample(&task, &w.margin, c, number, &w.list[c]);
        }
    }
    for (int64_t c = 0; c < w.split.chunks; c++) {
        for (size_t i = 0; i < w.list[c].count; i++) {
            expect_complete(&w, &w.list[c].data[i]);
        }
        samples += w.list[c].count;
    }
    bool shares = w.split.chunks > 1 && !ti_margin_is_none(&w.margin);
    assert_true(!shares || w.spread || samples > 0);
    ti_spread_unref(w.spread);
    for (int c = 0; c < MOST_NODES; c++) {
        ti_vec_fini(&w.list[c]);
    }
    ti_arena_fini(&w.arena);
    return samples;
}

static uint64_t seed;

static void owners_and_copies(void **state)
{
    (void)state;
    uint64_t samples = 0;
    for (uint64_t i = 0; i < CASES; i++) {
        samples += run_case(seed + i, i + 1);
    }
    assert_true(samples > CASES);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(owners_and_copies) };
    seed = test_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
