/* Which memories hold the newest contents, against a set of memories per element. */
#include "plan/memory/coherence.h"

#include "random.h"

#include <string.h>

enum { SIDE = 12, MEMORIES = 5 };

static uint64_t seed;
static uint64_t model[SIDE][SIDE];

static void change(const ti_box *b, int memory, bool write)
{
    for (int64_t i = b->min[0]; i < b->max[0]; i++) {
        for (int64_t j = b->min[1]; j < b->max[1]; j++) {
            uint64_t bit = (uint64_t)1 << memory;
            model[i][j] = write ? bit : model[i][j] ? model[i][j] | bit : 0;
        }
    }
}

/* What is lacking covers exactly the written elements without the memory, each once, with the right set. */
static void expect_lacking(ti_coherence *c, const ti_box *box, int memory)
{
    static int seen[SIDE][SIDE];
    ti_region_entries list = { 0 };
    ti_coherence_lacking(c, box, memory, &list);
    for (size_t k = 0; k < list.count; k++) {
        const ti_box *b = &list.data[k].box;
        assert_true(ti_box_covers(box, b));
        for (int64_t i = b->min[0]; i < b->max[0]; i++) {
            for (int64_t j = b->min[1]; j < b->max[1]; j++) {
                assert_true(model[i][j] == list.data[k].value);
                seen[i][j]++;
            }
        }
    }
    for (int64_t i = box->min[0]; i < box->max[0]; i++) {
        for (int64_t j = box->min[1]; j < box->max[1]; j++) {
            assert_int_equal(seen[i][j], model[i][j] && !(model[i][j] >> memory & 1));
            seen[i][j] = 0;
        }
    }
    ti_vec_fini(&list);
}

static void against_elements(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int round = 0; round < 30; round++) {
        ti_coherence c;
        ti_coherence_init(&c);
        memset(model, 0, sizeof(model));
        for (int step = 0; step < 200; step++) {
            ti_box box = rng_box(&r, 2, SIDE, 1, SIDE);
            int memory = (int)rng_between(&r, 0, MEMORIES - 1);
            bool write = rng_between(&r, 0, 1) == 0;
            if (write) {
                ti_coherence_write(&c, &box, memory);
            } else {
                ti_coherence_copy(&c, &box, memory);
            }
            change(&box, memory, write);
            assert_true(ti_coherence_is_valid(&c));
            box = rng_box(&r, 2, SIDE, 1, SIDE);
            expect_lacking(&c, &box, (int)rng_between(&r, 0, MEMORIES - 1));
        }
        ti_coherence_fini(&c);
    }
}

static void the_host_comes_first(void **state)
{
    (void)state;
    assert_int_equal(ti_coherence_source(0x5, 0), 0);
    assert_int_equal(ti_coherence_source(0x8, 0x7), 3);
    assert_int_equal(ti_coherence_source(0x15, 0x18), 4); /* near ones come first */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(against_elements), cmocka_unit_test(the_host_comes_first) };
    seed = test_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
