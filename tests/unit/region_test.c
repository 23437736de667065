/* Regions against bitmaps: random operations in 1D, 2D and 3D, with every invariant of the normal form checked here a
 * second time, by other means than in the library. */
#include "grid/region.h"

#include "random.h"
#include "region_ops.h"

#include <string.h>

enum { MOST_CELLS = 512 };

static uint64_t seed;

/* A small cube of cells as a plain bitmap. */
typedef struct picture {
    int dims;
    int64_t size;
    bool cell[MOST_CELLS];
} picture;

typedef struct subject {
    ti_region region;
    picture picture;
} subject;

static int64_t extent(const picture *p, int d)
{
    return d < p->dims ? p->size : 1;
}

static bool *cell_at(picture *p, int64_t x, int64_t y, int64_t z)
{
    return &p->cell[(x * extent(p, 1) + y) * extent(p, 2) + z];
}

static bool box_has(const ti_box *b, int64_t x, int64_t y, int64_t z)
{
    return b->min[0] <= x && x < b->max[0] && b->min[1] <= y && y < b->max[1] && b->min[2] <= z && z < b->max[2];
}

typedef enum change { ADD, REMOVE, CLIP } change;

static void paint(picture *p, change what, const ti_box *b)
{
    for (int64_t x = 0; x < extent(p, 0); x++) {
        for (int64_t y = 0; y < extent(p, 1); y++) {
            for (int64_t z = 0; z < extent(p, 2); z++) {
                bool *c = cell_at(p, x, y, z), in = box_has(b, x, y, z);
                *c = what == ADD ? *c || in : what == REMOVE ? *c && !in : *c && in;
            }
        }
    }
}

static void check_normal_form(const ti_region *r)
{
    for (size_t i = 0; i < r->boxes.count; i++) {
        const ti_box *a = &r->boxes.data[i];
        assert_false(ti_box_is_empty(a));
        for (size_t j = i + 1; j < r->boxes.count; j++) {
            ti_box joined;
            assert_true(ti_box_compare(a, &r->boxes.data[j]) < 0);
            assert_false(ti_box_meets(a, &r->boxes.data[j]));
            assert_false(ti_box_join(a, &r->boxes.data[j], &joined));
        }
    }
    assert_int_equal(r->settled, r->boxes.count);
    assert_true(ti_boxes_are_normal(&r->boxes));
}

static void check_cells(const ti_region *r, picture *p)
{
    picture drawn = { .dims = p->dims, .size = p->size };
    int64_t volume = 0;
    for (size_t i = 0; i < r->boxes.count; i++) {
        paint(&drawn, ADD, &r->boxes.data[i]);
    }
    assert_memory_equal(drawn.cell, p->cell, sizeof(p->cell));
    for (size_t i = 0; i < MOST_CELLS; i++) {
        volume += p->cell[i];
    }
    assert_int_equal(ti_region_volume(r), volume);
}

/* The form depends on the set alone: built from single cells in another order it is the same. */
static void check_canonical(const ti_region *r, picture *p, rng *random)
{
    ti_boxes cells = { 0 };
    ti_region again = { 0 };
    for (int64_t x = 0; x < extent(p, 0); x++) {
        for (int64_t y = 0; y < extent(p, 1); y++) {
            for (int64_t z = 0; z < extent(p, 2); z++) {
                if (*cell_at(p, x, y, z)) {
                    ti_box b = { { x, y, z }, { x + 1, y + 1, z + 1 } };
                    ti_vec_push(&cells, b);
                }
            }
        }
    }
    for (size_t i = cells.count; i > 1; i--) {
        size_t j = (size_t)rng_between(random, 0, (int64_t)i - 1);
        ti_box b = cells.data[i - 1];
        cells.data[i - 1] = cells.data[j];
        cells.data[j] = b;
    }
    if (rng_between(random, 0, 1)) {
        region_add_all(&again, cells.data, cells.count);
    } else {
        for (size_t i = 0; i < cells.count; i++) {
            ti_region_add(&again, &cells.data[i]);
            if (rng_between(random, 0, 1)) {
                ti_region_settle(&again);
            }
        }
        ti_region_settle(&again);
    }
    assert_true(region_equal(r, &again));
    ti_region_fini(&again);
    ti_vec_fini(&cells);
}

static void check_questions(const ti_region *r, picture *p, const ti_box *b)
{
    bool meets = false, covers = true;
    for (int64_t x = b->min[0]; x < b->max[0]; x++) {
        for (int64_t y = b->min[1]; y < b->max[1]; y++) {
            for (int64_t z = b->min[2]; z < b->max[2]; z++) {
                meets |= *cell_at(p, x, y, z);
                covers &= *cell_at(p, x, y, z);
            }
        }
    }
    assert_int_equal(ti_region_meets(r, b), meets);
    assert_int_equal(region_covers(r, b), covers);
}

static void check_bounding(const ti_region *r)
{
    ti_box all = ti_region_bounding(r);
    assert_int_equal(ti_box_is_empty(&all), ti_region_is_empty(r));
    for (int d = 0; d < 3 && !ti_region_is_empty(r); d++) {
        bool low = false, high = false;
        for (size_t i = 0; i < r->boxes.count; i++) {
            assert_true(ti_box_covers(&all, &r->boxes.data[i]));
            low |= r->boxes.data[i].min[d] == all.min[d];
            high |= r->boxes.data[i].max[d] == all.max[d];
        }
        assert_true(low && high);
    }
}

static void check(subject *s, rng *random)
{
    ti_box b = rng_box(random, s->picture.dims, s->picture.size, 1, s->picture.size);
    check_questions(&s->region, &s->picture, &b); /* the same, settled or not */
    check_bounding(&s->region);
    ti_region_settle(&s->region);
    check_normal_form(&s->region);
    check_cells(&s->region, &s->picture);
    check_bounding(&s->region);
    b = rng_box(random, s->picture.dims, s->picture.size, 1, s->picture.size);
    check_questions(&s->region, &s->picture, &b);
    if (rng_between(random, 0, 3) == 0) {
        check_canonical(&s->region, &s->picture, random);
    }
}

static void change_box(subject *s, rng *random, int64_t most)
{
    ti_box b = rng_box(random, s->picture.dims, s->picture.size, rng_between(random, 0, 7) ? 1 : 0, most);
    change what = (change)rng_between(random, 0, 8);
    if (what >= CLIP && rng_between(random, 0, 3)) {
        what = ADD;
    }
    if (what == ADD) {
        ti_region_add(&s->region, &b);
    } else if (what == REMOVE) {
        region_remove(&s->region, &b);
    } else {
        what = CLIP;
        ti_region_clip(&s->region, &b);
    }
    paint(&s->picture, what, &b);
}

static void add_list(subject *s, rng *random, int64_t most)
{
    ti_boxes list = { 0 };
    for (int64_t n = rng_between(random, 0, 20); n > 0; n--) {
        ti_box b = rng_box(random, s->picture.dims, s->picture.size, 0, most);
        paint(&s->picture, ADD, &b);
        ti_vec_push(&list, b);
    }
    region_add_all(&s->region, list.data, list.count);
    ti_vec_fini(&list);
}

static void combine(subject *to, const subject *from, int64_t what)
{
    if (to == from) {
        return;
    }
    if (what == 0) {
        region_union(&to->region, &from->region);
    } else if (what == 1) {
        region_subtract(&to->region, &from->region);
    } else {
        region_intersect(&to->region, &from->region);
    }
    for (size_t i = 0; i < MOST_CELLS; i++) {
        bool *a = &to->picture.cell[i], b = from->picture.cell[i];
        *a = what == 0 ? *a || b : what == 1 ? *a && !b : *a && b;
    }
}

static void run_random(int dims, int64_t size, int rounds, uint64_t salt)
{
    enum { SUBJECTS = 4 };
    rng random = rng_from(seed + salt);
    subject *s = calloc(SUBJECTS, sizeof(*s));
    for (int i = 0; i < SUBJECTS; i++) {
        s[i].picture.dims = dims;
        s[i].picture.size = size;
    }
    for (int round = 0; round < rounds; round++) {
        subject *one = &s[rng_between(&random, 0, SUBJECTS - 1)], *two = &s[rng_between(&random, 0, SUBJECTS - 1)];
        int64_t most = rng_between(&random, 0, 3) ? TI_MAX(size / 3, 2) : size;
        switch (rng_between(&random, 0, 9)) {
        case 0:
            combine(one, two, rng_between(&random, 0, 2));
            break;
        case 1:
            add_list(one, &random, most);
            break;
        case 2:
            if (one != two) {
                region_copy(&one->region, &two->region);
                one->picture = two->picture;
            }
            break;
        default:
            change_box(one, &random, most);
            break;
        }
        check(one, &random);
        bool same = memcmp(one->picture.cell, two->picture.cell, sizeof(one->picture.cell)) == 0;
        assert_int_equal(region_equal(&one->region, &two->region), same);
    }
    for (int i = 0; i < SUBJECTS; i++) {
        ti_region_fini(&s[i].region);
    }
    free(s);
}

static void random_1d(void **state)
{
    (void)state;
    run_random(1, 60, 3000, 1);
}

static void random_2d(void **state)
{
    (void)state;
    run_random(2, 9, 3000, 2);
    run_random(2, 20, 2000, 3);
}

static void random_3d(void **state)
{
    (void)state;
    run_random(3, 4, 2000, 4);
    run_random(3, 7, 3000, 5);
}

/* Sparse sets, where most boxes touch nothing and stay out of the sweep: against the union of one box at a time. */
static void sparse_and_large(void **state)
{
    (void)state;
    rng random = rng_from(seed + 6);
    for (int round = 0; round < 60; round++) {
        int dims = (int)rng_between(&random, 1, 3);
        int64_t size = rng_between(&random, 20, 400), most = rng_between(&random, 1, 20);
        ti_region at_once = { 0 }, one_by_one = { 0 }, rest = { 0 }, shared = { 0 };
        ti_boxes list = { 0 };
        for (int64_t n = rng_between(&random, 10, 150); n > 0; n--) {
            ti_box b = rng_box(&random, dims, size, 1, most);
            ti_vec_push(&list, b);
            ti_region_add(&one_by_one, &b);
            ti_region_settle(&one_by_one);
        }
        region_add_all(&at_once, list.data, list.count);
        check_normal_form(&at_once);
        assert_true(region_equal(&at_once, &one_by_one));
        region_copy(&rest, &at_once);
        for (size_t i = 0; i < list.count / 2; i++) {
            region_remove(&rest, &list.data[i]);
            ti_region_add(&shared, &list.data[i]);
        }
        ti_region_settle(&shared);
        region_subtract(&at_once, &shared);
        assert_true(region_equal(&at_once, &rest));
        region_intersect(&shared, &one_by_one);
        region_union(&at_once, &shared);
        assert_true(region_equal(&at_once, &one_by_one));
        ti_region_fini(&at_once);
        ti_region_fini(&one_by_one);
        ti_region_fini(&rest);
        ti_region_fini(&shared);
        ti_vec_fini(&list);
    }
}

/* Tiles in order, in disorder, and with a hole in them. */
static void tiles_merge(void **state)
{
    (void)state;
    rng random = rng_from(seed + 7);
    ti_boxes tiles = { 0 };
    for (int64_t x = 0; x < 30; x++) {
        for (int64_t y = 0; y < 20; y++) {
            ti_box b = { { 5 * x, 7 * y, 0 }, { 5 * x + 5, 7 * y + 7, 1 } };
            ti_vec_push(&tiles, b);
        }
    }
    ti_box whole = { { 0, 0, 0 }, { 150, 140, 1 } };
    for (int round = 0; round < 4; round++) {
        ti_region r = { 0 };
        region_add_all(&r, tiles.data, tiles.count);
        assert_int_equal(r.boxes.count, 1);
        assert_true(ti_box_equal(&r.boxes.data[0], &whole));
        size_t missing = (size_t)rng_between(&random, 0, (int64_t)tiles.count - 1);
        region_clear(&r);
        region_add_all(&r, tiles.data, missing);
        region_add_all(&r, tiles.data + missing + 1, tiles.count - missing - 1);
        check_normal_form(&r);
        assert_int_equal(ti_region_volume(&r), 150 * 140 - 35);
        ti_region_fini(&r);
        for (size_t i = tiles.count; i > 1; i--) {
            size_t j = (size_t)rng_between(&random, 0, (int64_t)i - 1);
            ti_box b = tiles.data[i - 1];
            tiles.data[i - 1] = tiles.data[j];
            tiles.data[j] = b;
        }
    }
    ti_vec_fini(&tiles);
}

/* Coordinates so far apart that corners do not fit into one sort key. */
static void far_apart(void **state)
{
    (void)state;
    const int64_t far = INT64_MAX / 4;
    ti_region r = { 0 };
    ti_boxes list = { 0 };
    for (int64_t i = 0; i < 40; i++) {
        int64_t x = (i * 7919 % 40 - 20) * (far / 20), y = (i % 3 - 1) * far, z = (i % 2) * far;
        ti_box b = { { x, y, z }, { x + 2, y + 2, z + 2 } };
        ti_vec_push(&list, b);
    }
    region_add_all(&r, list.data, list.count);
    assert_int_equal(r.boxes.count, 40);
    check_normal_form(&r);
    ti_vec_fini(&list);
    ti_region_fini(&r);
}

static void literal_shapes(void **state)
{
    (void)state;
    ti_box wide = { { 2, 0, 0 }, { 4, 9, 1 } }, tall = { { 0, 3, 0 }, { 9, 5, 1 } },
           none = { { 0, 3, 0 }, { 9, 3, 1 } };
    ti_region r = { 0 };
    ti_region_add(&r, &tall);
    ti_region_add(&r, &wide);
    assert_int_equal(r.boxes.count, 2);
    ti_region_settle(&r);
    assert_int_equal(r.boxes.count, 3);
    assert_true(ti_box_equal(&r.boxes.data[1], &wide));
    region_remove(&r, &wide);
    assert_int_equal(r.boxes.count, 2);
    ti_region_add(&r, &wide);
    ti_region_clip(&r, &tall);
    assert_int_equal(r.boxes.count, 1);
    assert_true(ti_box_equal(&r.boxes.data[0], &tall));
    ti_region_add(&r, &r.boxes.data[0]);
    ti_region_add(&r, &none);
    assert_int_equal(r.boxes.count, 2);
    ti_region_settle(&r);
    assert_int_equal(r.boxes.count, 1);
    ti_region_clip(&r, &none);
    assert_true(ti_region_is_empty(&r));
    ti_box all = ti_region_bounding(&r);
    assert_true(ti_box_is_empty(&all));
    assert_int_equal(ti_region_volume(&r), 0);
    ti_region_fini(&r);
}

/* Broken normal forms are recognised. */
static void invalid_regions(void **state)
{
    (void)state;
    ti_box b[] = { { { 0, 0, 0 }, { 4, 4, 1 } },
                   { { 4, 0, 0 }, { 8, 4, 1 } },
                   { { 2, 2, 0 }, { 3, 9, 1 } },
                   { { 9, 9, 0 }, { 9, 10, 1 } } };
    ti_boxes joinable = { b, 2, 2 };
    assert_false(ti_boxes_are_normal(&joinable));
    ti_box meeting[] = { b[0], b[2] };
    assert_false(ti_boxes_are_normal(&(ti_boxes){ meeting, 2, 2 }));
    ti_box in_a_row[] = { { { 0, 0, 0 }, { 4, 4, 2 } }, { { 2, 1, 2 }, { 3, 2, 4 } } };
    assert_false(ti_boxes_are_normal(&(ti_boxes){ in_a_row, 2, 2 }));
    ti_box in_a_slab[] = { { { 0, 0, 0 }, { 4, 2, 3 } }, { { 2, 2, 0 }, { 6, 4, 3 } } };
    assert_false(ti_boxes_are_normal(&(ti_boxes){ in_a_slab, 2, 2 }));
    ti_box empty[] = { b[0], b[3] };
    assert_false(ti_boxes_are_normal(&(ti_boxes){ empty, 2, 2 }));
    ti_box disordered[] = { { { 5, 0, 0 }, { 6, 1, 1 } }, { { 0, 0, 0 }, { 1, 1, 1 } } };
    assert_false(ti_boxes_are_normal(&(ti_boxes){ disordered, 2, 2 }));
    assert_true(ti_boxes_are_normal(&(ti_boxes){ disordered, 1, 2 }));
}

static void list_subtract(void **state)
{
    (void)state;
    rng random = rng_from(seed + 8);
    for (int round = 0; round < 300; round++) {
        ti_boxes list = { 0 }, expected = { 0 };
        ti_box hole = rng_box(&random, 3, 10, 0, 8);
        for (int64_t n = rng_between(&random, 0, 8); n > 0; n--) {
            ti_box b = rng_box(&random, 3, 10, 1, 8), pieces[6];
            ti_vec_push(&list, b);
            int count = ti_box_is_empty(&hole) ? (pieces[0] = b, 1) : ti_box_subtract(&b, &hole, pieces);
            for (int i = 0; i < count; i++) {
                ti_vec_push(&expected, pieces[i]);
            }
        }
        ti_boxes_subtract(&list, &hole);
        assert_int_equal(list.count, expected.count);
        for (size_t i = 0; i < list.count; i++) {
            assert_true(ti_box_equal(&list.data[i], &expected.data[i]));
        }
        ti_vec_fini(&list);
        ti_vec_fini(&expected);
    }
}

/* Once the vectors have grown, small operations allocate nothing. */
static void steady_state(void **state)
{
    (void)state;
    ti_region r = { 0 }, other = { 0 };
    uint64_t calls = 0;
    for (int round = 0; round < 100; round++) {
        rng random = rng_from(seed + 9);
        region_clear(&r);
        region_clear(&other);
        for (int i = 0; i < 40; i++) {
            ti_box b = rng_box(&random, 2, 60, 1, 9), c = rng_box(&random, 2, 60, 1, 9);
            ti_region_add(&r, &b);
            ti_region_add(&other, &c);
        }
        ti_region_settle(&r);
        region_union(&other, &r);
        region_subtract(&r, &other);
        if (round == 1) {
            calls = ti_alloc_calls();
        }
    }
    assert_int_equal(ti_alloc_calls(), calls);
    ti_region_fini(&r);
    ti_region_fini(&other);
    assert_int_equal(ti_alloc_live(), 0);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal_shapes), cmocka_unit_test(invalid_regions), cmocka_unit_test(random_1d),
        cmocka_unit_test(random_2d),      cmocka_unit_test(random_3d),       cmocka_unit_test(sparse_and_large),
        cmocka_unit_test(tiles_merge),    cmocka_unit_test(far_apart),       cmocka_unit_test(list_subtract),
        cmocka_unit_test(steady_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
