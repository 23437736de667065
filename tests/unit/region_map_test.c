/* Region maps against a plain list: random inserts, removals, replacements and queries, with disjoint and with
 * overlapping entries, and the tree's invariants after the steps. */
#include "grid/region_map.h"

#include "effort.h"
#include "random.h"

#include <string.h>

static uint64_t seed;

static int by_box(const void *a, const void *b)
{
    const ti_region_entry *x = a, *y = b;
    int order = ti_box_compare(&x->box, &y->box);
    return order ? order : (x->value > y->value) - (x->value < y->value);
}

/* Meets, or shares a whole face: said in another way than in the library. */
static bool is_candidate(const ti_box *a, const ti_box *b, bool joining)
{
    int inside = 0, whole = 0, near = 0;
    for (int d = 0; d < 3; d++) {
        int64_t shared = TI_MIN(a->max[d], b->max[d]) - TI_MAX(a->min[d], b->min[d]);
        inside += shared > 0;
        near += shared == 0;
        whole += shared > 0 && shared == a->max[d] - a->min[d] && shared == b->max[d] - b->min[d];
    }
    return joining ? whole == 2 && near == 1 : inside == 3;
}

static void check_query(ti_region_map *map, const ti_region_entries *list, const ti_box *box, bool joining)
{
    ti_region_entries expected = { 0 }, got = { 0 };
    ti_region_entry first = { { { 7, 7, 7 }, { 8, 8, 8 } }, 77 };
    ti_vec_push(&got, first);
    for (size_t i = 0; i < list->count; i++) {
        if (is_candidate(&list->data[i].box, box, joining)) {
            ti_vec_push(&expected, list->data[i]);
        }
    }
    if (joining) {
        ti_region_map_query_joining(map, box, &got);
    } else {
        ti_region_map_query(map, box, &got);
    }
    assert_int_equal(got.count, expected.count + 1);
    assert_memory_equal(&got.data[0], &first, sizeof(first));
    if (expected.count) {
        qsort(expected.data, expected.count, sizeof(ti_region_entry), by_box);
        assert_memory_equal(got.data + 1, expected.data, expected.count * sizeof(ti_region_entry));
    }
    ti_vec_fini(&expected);
    ti_vec_fini(&got);
}

/* The same by references, which come in any order. */
static void check_refer(ti_region_map *map, const ti_region_entries *list, const ti_box *box)
{
    ti_region_entries expected = { 0 }, got = { 0 };
    ti_region_refs refs = { 0 };
    for (size_t i = 0; i < list->count; i++) {
        if (is_candidate(&list->data[i].box, box, false)) {
            ti_vec_push(&expected, list->data[i]);
        }
    }
    ti_region_map_refer(map, box, &refs);
    for (size_t i = 0; i < refs.count; i++) {
        ti_vec_push(&got, ((ti_region_entry){ *refs.data[i].box, *refs.data[i].value }));
    }
    assert_int_equal(got.count, expected.count);
    if (expected.count) {
        qsort(expected.data, expected.count, sizeof(ti_region_entry), by_box);
        qsort(got.data, got.count, sizeof(ti_region_entry), by_box);
        assert_memory_equal(got.data, expected.data, expected.count * sizeof(ti_region_entry));
    }
    ti_vec_fini(&expected);
    ti_vec_fini(&got);
    ti_vec_fini(&refs);
}

static void check_absent(ti_region_map *map, const ti_region_entries *list, const ti_box *box)
{
    for (size_t i = 0; i < list->count; i++) {
        if (ti_box_equal(&list->data[i].box, box)) {
            return;
        }
    }
    assert_null(ti_region_map_find(map, box));
    assert_false(ti_region_map_remove(map, box, 1));
}

typedef struct plan {
    int dims;
    int64_t size, most;
    bool overlapping;
    size_t limit;
    int steps;
} plan;

static void add_one(ti_region_map *map, ti_region_entries *list, const ti_box *box, uint64_t value)
{
    ti_region_entry e = { *box, value };
    ti_region_map_insert(map, box, value);
    ti_vec_push(list, e);
}

static void remove_one(ti_region_map *map, ti_region_entries *list, size_t at)
{
    ti_region_entry e = list->data[at];
    assert_false(ti_region_map_remove(map, &e.box, e.value + 1000000007));
    assert_true(ti_region_map_remove(map, &e.box, e.value));
    list->data[at] = list->data[--list->count];
}

/* What a version map does with a write: cut what the box meets, and put the box in. */
static void overwrite(ti_region_map *map, ti_region_entries *list, const ti_box *box, uint64_t value)
{
    for (size_t i = list->count; i > 0; i--) {
        ti_region_entry e = list->data[i - 1];
        if (ti_box_meets(&e.box, box)) {
            ti_box pieces[6];
            int n = ti_box_subtract(&e.box, box, pieces);
            remove_one(map, list, i - 1);
            for (int k = 0; k < n; k++) {
                add_one(map, list, &pieces[k], e.value);
            }
        }
    }
    add_one(map, list, box, value);
}

/* The same as trackers do it: entries at the border are cut where they lie, what is inside goes at once. */
static void overwrite_at_once(ti_region_map *map, ti_region_entries *list, const ti_box *box, uint64_t value)
{
    size_t inside = 0;
    for (size_t i = list->count; i > 0; i--) {
        ti_region_entry e = list->data[i - 1], piece[7];
        ti_box outside[6];
        if (!ti_box_meets(&e.box, box)) {
            continue;
        }
        inside++;
        list->data[i - 1] = list->data[--list->count];
        if (!ti_box_covers(box, &e.box)) {
            int n = ti_box_subtract(&e.box, box, outside);
            for (int k = 0; k < n; k++) {
                piece[k] = (ti_region_entry){ outside[k], e.value };
                ti_vec_push(list, piece[k]);
            }
            piece[n] = (ti_region_entry){ ti_box_intersect(&e.box, box), value };
            ti_region_map_cut(map, &e.box, piece, n + 1);
            assert_true(ti_region_map_is_valid(map));
        }
    }
    assert_int_equal(ti_region_map_remove_inside(map, box), inside);
    assert_int_equal(ti_region_map_remove_inside(map, box), 0);
    assert_true(ti_region_map_is_valid(map));
    add_one(map, list, box, value);
}

static void replace_one(ti_region_map *map, ti_region_entries *list, size_t at, uint64_t value)
{
    uint64_t *found = ti_region_map_find(map, &list->data[at].box);
    assert_non_null(found);
    for (size_t i = 0; i < list->count; i++) {
        if (list->data[i].value == *found && ti_box_equal(&list->data[i].box, &list->data[at].box)) {
            list->data[i].value = *found = value;
            return;
        }
    }
    fail();
}

static void run_plan(const plan *p, uint64_t salt)
{
    rng random = rng_from(seed + salt);
    ti_region_map map;
    ti_region_entries list = { 0 };
    bool shrinking = false;
    enum { ASKED = 12 };
    ti_box asked[ASKED];
    ti_region_map_init(&map);
    map.overlapping = p->overlapping;
    for (int i = 0; i < ASKED; i++) {
        asked[i] = rng_box(&random, p->dims, p->size, 1, p->most);
    }
    for (int step = 0; step < p->steps; step++) {
        ti_box box = rng_box(&random, p->dims, p->size, 1, p->most);
        shrinking = list.count >= p->limit ? true : list.count == 0 ? false : shrinking;
        int64_t dice = rng_between(&random, 0, 9);
        if (list.count && (shrinking ? dice < 7 : dice < 2)) {
            remove_one(&map, &list, (size_t)rng_between(&random, 0, (int64_t)list.count - 1));
        } else if (list.count && dice == 9) {
            replace_one(&map, &list, (size_t)rng_between(&random, 0, (int64_t)list.count - 1), (uint64_t)step);
        } else if (p->overlapping) {
            add_one(&map, &list, &box, (uint64_t)step);
        } else {
            (step % 2 ? overwrite : overwrite_at_once)(&map, &list, &box, (uint64_t)step);
        }
        assert_int_equal(map.count, list.count);
        if (step % 16 == 0 || list.count < 20) {
            assert_true(ti_region_map_is_valid(&map));
            box = rng_box(&random, p->dims, p->size, 0, rng_between(&random, 0, 5) ? 2 * p->most : p->size);
            check_query(&map, &list, &box, false);
            if (!ti_box_is_empty(&box)) {
                check_query(&map, &list, &box, true);
            }
            check_absent(&map, &list, &box);
        }
        if (list.count) { /* what is asked for next is often the same, or what follows it */
            ti_box known = list.data[rng_between(&random, 0, (int64_t)list.count - 1)].box;
            known.max[0] = rng_between(&random, known.min[0] + 1, known.max[0]);
            check_query(&map, &list, &known, false);
        }
        /* Boxes that are asked for again and again, of a few entries each, which are others by then. */
        check_refer(&map, &list, &asked[rng_between(&random, 0, ASKED - 1)]);
        check_query(&map, &list, &asked[rng_between(&random, 0, ASKED - 1)], false);
    }
    ti_region_map_fini(&map);
    ti_vec_fini(&list);
    assert_int_equal(ti_alloc_live(), 0);
}

static void disjoint_entries(void **state)
{
    (void)state;
    run_plan(&(plan){ .dims = 1, .size = 300, .most = 20, .limit = 60, .steps = 3000 }, 1);
    run_plan(&(plan){ .dims = 2, .size = 60, .most = 12, .limit = 150, .steps = 3000 }, 2);
    run_plan(&(plan){ .dims = 2, .size = 300, .most = 4, .limit = 1500, .steps = 4000 }, 3);
    run_plan(&(plan){ .dims = 3, .size = 20, .most = 8, .limit = 400, .steps = EFFORT(3000, 1500) }, 4);
    run_plan(&(plan){ .dims = 2, .size = 8, .most = 8, .limit = 16, .steps = 3000 }, 5);
}

static void overlapping_entries(void **state)
{
    (void)state;
    run_plan(&(plan){ .dims = 1, .size = 40, .most = 20, .overlapping = true, .limit = 100, .steps = 3000 }, 11);
    run_plan(&(plan){ .dims = 2, .size = 60, .most = 30, .overlapping = true, .limit = 400, .steps = 3000 }, 12);
    run_plan(
        &(plan){ .dims = 3, .size = 20, .most = 10, .overlapping = true, .limit = 2000, .steps = EFFORT(5000, 2000) },
        13);
}

/* A grid of tiles, inserted in order or not: every tile is found, the query of a tile returns it alone. */
static void many_tiles(void **state)
{
    (void)state;
    enum { SIDE = 100, TILE = 8 };
    rng random = rng_from(seed + 21);
    for (int round = 0; round < 2; round++) {
        ti_region_map map;
        ti_region_entries list = { 0 };
        ti_region_map_init(&map);
        for (uint64_t i = 0; i < SIDE * SIDE; i++) {
            ti_region_entry e = { { { 0 }, { 0, 0, 1 } }, i };
            e.box.min[0] = (int64_t)(i / SIDE) * TILE, e.box.max[0] = e.box.min[0] + TILE;
            e.box.min[1] = (int64_t)(i % SIDE) * TILE, e.box.max[1] = e.box.min[1] + TILE;
            ti_vec_push(&list, e);
        }
        for (size_t i = list.count; round && i > 1; i--) {
            size_t j = (size_t)rng_between(&random, 0, (int64_t)i - 1);
            ti_region_entry e = list.data[i - 1];
            list.data[i - 1] = list.data[j];
            list.data[j] = e;
        }
        for (size_t i = 0; i < list.count; i++) {
            ti_region_map_insert(&map, &list.data[i].box, list.data[i].value);
        }
        assert_true(ti_region_map_is_valid(&map));
        ti_region_entries got = { 0 };
        for (size_t i = 0; i < list.count; i++) {
            uint64_t *value = ti_region_map_find(&map, &list.data[i].box);
            assert_non_null(value);
            assert_int_equal(*value, list.data[i].value);
            ti_vec_clear(&got);
            ti_region_map_query(&map, &list.data[i].box, &got);
            assert_int_equal(got.count, 1);
        }
        ti_box some = { { 100, 200, 0 }, { 300, 420, 1 } }, all = { { 0, 0, 0 }, { SIDE * TILE, SIDE * TILE, 1 } };
        check_query(&map, &list, &some, false);
        check_query(&map, &list, &some, true);
        check_query(&map, &list, &all, true);
        while (list.count > 10) {
            remove_one(&map, &list, (size_t)rng_between(&random, 0, (int64_t)list.count - 1));
            if (list.count % 512 == 0) {
                assert_true(ti_region_map_is_valid(&map));
            }
        }
        check_query(&map, &list, &all, false);
        assert_int_equal(map.height, 0);
        ti_vec_fini(&got);
        ti_vec_fini(&list);
        assert_true(ti_alloc_live() < 70000); /* spare nodes; all tiles took ten times that */
        ti_region_map_fini(&map);
        assert_int_equal(ti_alloc_live(), 0);
    }
}

/* Equal contents give equal answers, whatever was inserted and removed on the way. */
static void order_is_independent_of_history(void **state)
{
    (void)state;
    rng random = rng_from(seed + 31);
    ti_region_map a, b;
    ti_region_map_init(&a);
    ti_region_map_init(&b);
    ti_region_entries list = { 0 }, from_a = { 0 }, from_b = { 0 };
    for (uint64_t i = 0; i < 400; i++) {
        ti_region_entry e = { rng_box(&random, 2, 50, 1, 20), i % 50 };
        ti_vec_push(&list, e);
        ti_region_map_insert(&a, &e.box, e.value);
    }
    for (size_t i = list.count; i > 0; i--) {
        ti_box other = rng_box(&random, 2, 50, 1, 20);
        ti_region_map_insert(&b, &list.data[i - 1].box, list.data[i - 1].value);
        ti_region_map_insert(&b, &other, 1);
        assert_true(ti_region_map_remove(&b, &other, 1));
    }
    ti_box all = { { 0, 0, 0 }, { 50, 50, 1 } };
    ti_region_map_query(&a, &all, &from_a);
    ti_region_map_query(&b, &all, &from_b);
    assert_int_equal(from_a.count, list.count);
    assert_int_equal(from_b.count, list.count);
    assert_memory_equal(from_a.data, from_b.data, list.count * sizeof(ti_region_entry));
    ti_region_map_fini(&a);
    ti_region_map_fini(&b);
    ti_vec_fini(&list);
    ti_vec_fini(&from_a);
    ti_vec_fini(&from_b);
}

/* A map that keeps its size allocates nothing, not even one that becomes empty now and then. */
static void steady_state(void **state)
{
    (void)state;
    ti_region_map map;
    ti_region_map_init(&map);
    uint64_t calls = 0;
    for (int64_t i = 0; i < 1000; i++) {
        ti_box box = { { i, 0, 0 }, { i + 1, 1, 1 } };
        ti_region_map_insert(&map, &box, 1);
        assert_true(ti_region_map_remove(&map, &box, 1));
        calls = i == 0 ? ti_alloc_calls() : calls;
    }
    assert_int_equal(ti_alloc_calls(), calls);
    assert_int_equal(map.count, 0);
    assert_null(map.root);
    ti_region_map_fini(&map);
}

/* Going around the map meets every entry, a few at a time, also from a cursor of a larger map. */
static void visits(void **state)
{
    (void)state;
    ti_region_map map;
    uint64_t cursor = 0;
    ti_region_map_init(&map);
    ti_region_entries few = { 0 };
    ti_region_map_visit(&map, &cursor, &few);
    assert_int_equal(few.count, 0);
    for (int64_t n = 1; n <= 5000; n = n * 3 + 1) {
        for (int64_t i = (int64_t)map.count; i < n; i++) {
            ti_region_map_insert(&map, &(ti_box){ { i, 0, 0 }, { i + 1, 1, 1 } }, (uint64_t)i);
        }
        static int met[5000];
        memset(met, 0, sizeof(met));
        int64_t seen = 0;
        for (int rounds = 0; rounds < 5000 && seen < n; rounds++) {
            ti_vec_clear(&few);
            ti_region_map_visit(&map, &cursor, &few);
            assert_in_range(few.count, 1, TI_REGION_MAP_FEW);
            for (size_t i = 0; i < few.count; i++) {
                seen += !met[few.data[i].value]++;
            }
        }
        assert_int_equal(seen, n);
    }
    const int64_t last = (int64_t)map.count;
    for (int64_t i = 5; i < last; i++) {
        assert_true(ti_region_map_remove(&map, &(ti_box){ { i, 0, 0 }, { i + 1, 1, 1 } }, (uint64_t)i));
    }
    ti_vec_clear(&few);
    ti_region_map_visit(&map, &cursor, &few);
    assert_in_range(few.count, 1, 5);
    ti_vec_fini(&few);
    ti_region_map_fini(&map);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disjoint_entries), cmocka_unit_test(overlapping_entries),
        cmocka_unit_test(many_tiles),       cmocka_unit_test(order_is_independent_of_history),
        cmocka_unit_test(steady_state),     cmocka_unit_test(visits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
