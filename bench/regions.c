/* regions: how long operations of the region algebra and of region maps take.
 *
 * Each case is warmed up, then timed 41 times; a repetition runs the operation often enough for the clock (about 50
 * us). Shown is the median of the repetitions per operation, in nanoseconds. Operations that change a region work on a
 * copy, and the copying is counted. Inputs are random with a fixed seed. One thread. */
#include "progress.h"

#include "base/clock.h"
#include "grid/region.h"
#include "grid/region_map.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 41, WARM_UP = 5, MOST_ROUNDS = 8192, WANTED_NS = 50 * 1000 };

/* What a case works on. `run` executes the operation once and may depend on how often it ran before. */
typedef struct bench {
    ti_boxes list, other_list;
    ti_region a, b, result;
    ti_region_map map;
    ti_region_entries found;
    size_t turn;
    uint64_t random;
} bench;

typedef struct test_case {
    const char *name;
    void (*prepare)(bench *b, int64_t n);
    void (*run)(bench *b);
    int64_t n;
    const char *help;
} test_case;

static uint64_t next_random(bench *b)
{
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    return b->random >> 33;
}

static ti_box random_box(bench *b, int dims, int64_t size, int64_t most)
{
    ti_box box = { { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < dims; d++) {
        int64_t side = 1 + (int64_t)(next_random(b) % (uint64_t)most);
        box.min[d] = (int64_t)(next_random(b) % (uint64_t)(size - side + 1));
        box.max[d] = box.min[d] + side;
    }
    return box;
}

static void random_list(bench *b, ti_boxes *list, int dims, int64_t size, int64_t most, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        ti_box box = random_box(b, dims, size, most);
        ti_vec_push(list, box);
    }
}

/* ---------------------------------------------------------------- regions */

/* What was settled for `a` is so for its copy. */
static void copy_region(bench *b)
{
    ti_vec_clear(&b->result.boxes);
    ti_vec_reserve(&b->result.boxes, b->a.boxes.count);
    memcpy(b->result.boxes.data, b->a.boxes.data, b->a.boxes.count * sizeof(ti_box));
    b->result.boxes.count = b->result.settled = b->a.boxes.count;
}

static void add_all(ti_region *region, const ti_boxes *list)
{
    for (size_t i = 0; i < list->count; i++) {
        ti_region_add(region, &list->data[i]);
    }
    ti_region_settle(region);
}

static void two_regions(bench *b, int dims, int64_t size, int64_t most, int64_t n)
{
    random_list(b, &b->list, dims, size, most, n);
    random_list(b, &b->other_list, dims, size, most, n);
    add_all(&b->a, &b->list);
    add_all(&b->b, &b->other_list);
}

static void prepare_pair_2d(bench *b, int64_t n)
{
    two_regions(b, 2, 50, 1, n);
}

static void prepare_dense_pair_2d(bench *b, int64_t n)
{
    two_regions(b, 2, 200, 20, n);
}

static void prepare_dense_pair_3d(bench *b, int64_t n)
{
    two_regions(b, 3, 200, 20, n);
}

static void run_union(bench *b)
{
    copy_region(b);
    add_all(&b->result, &b->b.boxes);
}

static void run_clip(bench *b)
{
    const ti_box half = { { 50, 50, 0 }, { 150, 150, 150 } };
    copy_region(b);
    ti_region_clip(&b->result, &half);
}

static void run_subtract(bench *b)
{
    copy_region(b);
    for (size_t i = 0; i < b->b.boxes.count; i++) {
        ti_boxes_subtract(&b->result.boxes, &b->b.boxes.data[i]);
    }
    b->result.settled = b->result.boxes.count;
}

static void prepare_points_2d(bench *b, int64_t n)
{
    random_list(b, &b->list, 2, 50, 1, n);
}

static void prepare_boxes_2d(bench *b, int64_t n)
{
    random_list(b, &b->list, 2, 200, 20, n);
}

static void prepare_boxes_3d(bench *b, int64_t n)
{
    random_list(b, &b->list, 3, 200, 20, n);
}

static void run_normalize(bench *b)
{
    ti_vec_clear(&b->result.boxes);
    b->result.settled = 0;
    add_all(&b->result, &b->list);
}

/* n tiles that make up one square, by rows. */
static void prepare_tiles(bench *b, int64_t n)
{
    int64_t side = 1;
    while (side * side < n) {
        side++;
    }
    for (int64_t i = 0; i < side * side; i++) {
        int64_t x = i / side * 5, y = i % side * 5;
        ti_box box = { { x, y, 0 }, { x + 5, y + 5, 1 } };
        ti_vec_push(&b->list, box);
    }
}

static void shuffle(bench *b, ti_boxes *list)
{
    for (size_t i = list->count; i > 1; i--) {
        size_t j = next_random(b) % i;
        ti_box box = list->data[i - 1];
        list->data[i - 1] = list->data[j];
        list->data[j] = box;
    }
}

static void prepare_shuffled_tiles(bench *b, int64_t n)
{
    prepare_tiles(b, n);
    shuffle(b, &b->list);
}

/* A chunk with its halo, as stencils ask for: what is read, without what is mine. */
static void prepare_chunk(bench *b, int64_t n)
{
    (void)n;
    ti_box mine = { { 100, 0, 0 }, { 200, 1000, 1 } };
    ti_vec_push(&b->list, mine);
}

static void run_halo_box(bench *b)
{
    const ti_box *mine = &b->list.data[0];
    ti_box read = { { mine->min[0] - 1, 0, 0 }, { mine->max[0] + 1, 1000, 1 } };
    ti_vec_clear(&b->result.boxes);
    ti_vec_push(&b->result.boxes, read);
    ti_boxes_subtract(&b->result.boxes, mine);
}

static void run_star(bench *b)
{
    ti_box tall = { { 99, 300, 0 }, { 201, 600, 1 } }, wide = { { 100, 299, 0 }, { 200, 601, 1 } };
    ti_vec_clear(&b->result.boxes);
    ti_vec_push(&b->result.boxes, tall);
    ti_vec_push(&b->result.boxes, wide);
    ti_boxes_normalize(&b->result.boxes);
}

static void run_star_halo(bench *b)
{
    ti_box mine = { { 100, 300, 0 }, { 200, 600, 1 } };
    run_star(b);
    ti_boxes_subtract(&b->result.boxes, &mine);
}

/* ---------------------------------------------------------------- region maps */

static void prepare_map(bench *b, int64_t n)
{
    prepare_tiles(b, n);
    b->list.count = (size_t)n;
    for (size_t i = 0; i < b->list.count; i++) {
        ti_region_map_insert(&b->map, &b->list.data[i], i);
    }
    shuffle(b, &b->list);
}

static const ti_box *next_tile(bench *b)
{
    b->turn = b->turn + 1 < b->list.count ? b->turn + 1 : 0;
    return &b->list.data[b->turn];
}

static void run_map_query(bench *b)
{
    ti_vec_clear(&b->found);
    ti_region_map_query(&b->map, next_tile(b), &b->found);
}

static void run_map_joining(bench *b)
{
    ti_vec_clear(&b->found);
    ti_region_map_query_joining(&b->map, next_tile(b), &b->found);
}

static void run_map_replace(bench *b)
{
    *ti_region_map_find(&b->map, next_tile(b)) += 1;
}

/* One tile out and in again, at constant size. */
static void run_map_reinsert(bench *b)
{
    const ti_box *tile = next_tile(b);
    uint64_t value = *ti_region_map_find(&b->map, tile);
    ti_region_map_remove(&b->map, tile, value);
    ti_region_map_insert(&b->map, tile, value);
}

/* Fill an empty map; reported per tile. */
static void run_map_fill(bench *b)
{
    if (b->map.count == b->list.count) {
        ti_region_map_fini(&b->map);
    }
    ti_region_map_insert(&b->map, next_tile(b), 1);
}

#define MAP_CASES(what, run, help)                                                                                     \
    { what "_1", prepare_map, run, 1, help ", 1 entry" }, { what "_10", prepare_map, run, 10, help ", 10 entries" },   \
        { what "_1000", prepare_map, run, 1000, help ", 1 000 entries" },                                              \
    {                                                                                                                  \
        what "_100000", prepare_map, run, 100000, help ", 100 000 entries"                                             \
    }

static const test_case cases[] = {
    { "halo_box", prepare_chunk, run_halo_box, 1, "a box without the box inside it" },
    { "star", prepare_chunk, run_star, 1, "union of two boxes that cross" },
    { "star_halo", prepare_chunk, run_star_halo, 1, "the same, without the chunk inside" },
    { "union_2d_50", prepare_pair_2d, run_union, 50, "union of two random 2D regions of 50 boxes" },
    { "subtract_2d_50", prepare_pair_2d, run_subtract, 50, "difference of the same, as a list" },
    { "union_2d_100_dense", prepare_dense_pair_2d, run_union, 100, "union of two dense 2D regions from 100 boxes" },
    { "subtract_2d_100_dense", prepare_dense_pair_2d, run_subtract, 100, "difference of the same, as a list" },
    { "clip_2d_100_dense", prepare_dense_pair_2d, run_clip, 100, "one of them within a box" },
    { "union_3d_100", prepare_dense_pair_3d, run_union, 100, "union of two 3D regions from 100 boxes" },
    { "subtract_3d_100", prepare_dense_pair_3d, run_subtract, 100, "difference of the same, as a list" },
    { "normalize_2d_50", prepare_points_2d, run_normalize, 50, "normalising 50 random 2D boxes" },
    { "normalize_2d_200_dense", prepare_boxes_2d, run_normalize, 200, "normalising 200 random 2D boxes, dense" },
    { "normalize_3d_200", prepare_boxes_3d, run_normalize, 200, "normalising 200 random 3D boxes" },
    { "normalize_tiles_1000", prepare_tiles, run_normalize, 1000, "normalising 1 000 mergeable tiles, in order" },
    { "normalize_tiles_1000_shuffled", prepare_shuffled_tiles, run_normalize, 1000, "the same, in random order" },
    MAP_CASES("map_query", run_map_query, "query of one tile"),
    MAP_CASES("map_joining", run_map_joining, "query of what makes a box with a tile"),
    MAP_CASES("map_replace", run_map_replace, "find a tile and replace its value"),
    MAP_CASES("map_reinsert", run_map_reinsert, "remove a tile and insert it again"),
    MAP_CASES("map_insert", run_map_fill, "insert in random order, from empty"),
};

/* ---------------------------------------------------------------- measuring */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_rounds(bench *b, const test_case *c, size_t rounds)
{
    uint64_t start = ti_clock_ns();
    for (size_t i = 0; i < rounds; i++) {
        c->run(b);
    }
    return (double)(ti_clock_ns() - start) / (double)rounds;
}

static size_t choose_rounds(bench *b, const test_case *c)
{
    /* A fill goes on for a whole map, so that cheap and dear insertions are weighed alike. */
    if (c->run == run_map_fill) {
        return (size_t)c->n * (c->n < 1000 ? 1000 / (size_t)c->n : 1);
    }
    size_t rounds = 1;
    while (rounds < MOST_ROUNDS && time_rounds(b, c, rounds) * (double)rounds < WANTED_NS) {
        rounds *= 2;
    }
    return rounds;
}

typedef struct outcome {
    double median, least, most;
    size_t rounds, boxes;
} outcome;

static outcome measure(const test_case *c)
{
    bench b = { .random = 42 };
    double ns[REPETITIONS];
    ti_region_map_init(&b.map);
    c->prepare(&b, c->n);
    outcome o = { .rounds = choose_rounds(&b, c) };
    for (int i = 0; i < WARM_UP && c->n < 100000; i++) {
        time_rounds(&b, c, o.rounds);
    }
    for (int i = 0; i < REPETITIONS; i++) {
        ns[i] = time_rounds(&b, c, o.rounds);
    }
    qsort(ns, REPETITIONS, sizeof(double), by_value);
    o.median = ns[REPETITIONS / 2];
    o.least = ns[0];
    o.most = ns[REPETITIONS - 1];
    o.boxes = b.result.boxes.count;
    ti_vec_fini(&b.list);
    ti_vec_fini(&b.other_list);
    ti_vec_fini(&b.found);
    ti_region_fini(&b.a);
    ti_region_fini(&b.b);
    ti_region_fini(&b.result);
    ti_region_map_fini(&b.map);
    return o;
}

static json_t *as_json(const test_case *c, const outcome *o)
{
    return json_pack("{s:s, s:s, s:I, s:f, s:f, s:f, s:i, s:I, s:I}", "name", c->name, "what", c->help, "n",
                     (json_int_t)c->n, "median_ns", o->median, "min_ns", o->least, "max_ns", o->most, "repetitions",
                     REPETITIONS, "operations_per_repetition", (json_int_t)o->rounds, "boxes_of_result",
                     (json_int_t)o->boxes);
}

static void usage(FILE *to)
{
    fprintf(to,
            "usage: regions [--json] [--help]\n"
            "Measures operations on regions and region maps: the median of %d repetitions, in ns per operation.\n",
            REPETITIONS);
}

int main(int argc, char **argv)
{
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else {
            bool help = strcmp(argv[i], "--help") == 0;
            usage(help ? stdout : stderr);
            return help ? 0 : 2;
        }
    }
    json_t *results = json_array();
    if (!json) {
        printf("%-32s %12s %12s  %s\n", "case", "median ns", "min ns", "what");
    }
    for (size_t i = 0; i < TI_COUNT(cases); i++) {
        tool_progress("tacit bench regions: %s, %zu of %zu", cases[i].name, i + 1, TI_COUNT(cases));
        outcome o = measure(&cases[i]);
        tool_progress_end();
        if (json) {
            json_array_append_new(results, as_json(&cases[i], &o));
        } else {
            printf("%-32s %12.1f %12.1f  %s\n", cases[i].name, o.median, o.least, cases[i].help);
            fflush(stdout);
        }
    }
    if (json) {
        json_t *report = json_pack("{s:s, s:s, s:O}", "benchmark", "regions", "unit", "ns per operation", "results",
                                   results);
        json_dumpf(report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        printf("\n");
        json_decref(report);
    }
    json_decref(results);
    return 0;
}
