/* Sorting is stable, whatever the order before and the size of elements. */
#include "base/sort.h"

#include "random.h"

typedef struct item {
    int key, number;
    char more[20];
} item;

typedef TI_VEC(item) items;

static int by_key(const void *a, const void *b)
{
    return ((const item *)a)->key - ((const item *)b)->key;
}

static void check(size_t n, int keys, bool reversed)
{
    items list = { 0 }, scratch = { 0 };
    rng r = rng_from(n);
    for (size_t i = 0; i < n; i++) {
        int key = reversed ? (int)(n - i) / 3 : (int)rng_between(&r, 1, keys);
        ti_vec_push(&list, ((item){ .key = key, .number = (int)i, .more = "and more" }));
    }
    ti_vec_sort(&list, &scratch, by_key);
    for (size_t i = 1; i < n; i++) {
        const item *x = &list.data[i - 1], *y = &list.data[i];
        assert_true(x->key < y->key || (x->key == y->key && x->number < y->number));
        assert_string_equal(y->more, "and more");
    }
    ti_vec_fini(&list);
    ti_vec_fini(&scratch);
}

static void sorts(void **state)
{
    (void)state;
    for (size_t n = 0; n < 70; n++) {
        check(n, 5, false);
        check(n, 1, false);
        check(n, 1000000, false);
        check(n, 0, true);
    }
    check(10000, 1000, false);
    check(10000, 0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sorts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
