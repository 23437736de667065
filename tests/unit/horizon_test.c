/* Horizons: paths and fronts of random graphs against a model that keeps everything; the two triggers, stated
 * literally. */
#include "plan/task/horizon.h"

#include "random.h"

#include <string.h>

static uint64_t seed;

enum { IDS = 400 };
#define NEVER INT64_MAX

/* A graph with all its edges. Everything below `applied` stands for it. */
typedef struct model {
    int64_t path[IDS];
    bool follower[IDS];
    uint64_t newest, next, applied;
} model;

static void model_note(model *m, const uint64_t *dep, size_t deps)
{
    int64_t path = m->applied ? m->path[m->applied] : 0;
    for (size_t i = 0; i < deps; i++) {
        path = TI_MAX(path, m->path[dep[i]]);
        m->follower[dep[i]] = true;
    }
    m->path[m->next++] = path + 1;
}

static int64_t front_of(const model *m)
{
    int64_t front = 0;
    for (uint64_t i = TI_MAX(m->newest, 1u); i < m->next; i++) {
        front += !m->follower[i];
    }
    return front;
}

static int64_t longest_of(const model *m)
{
    int64_t longest = 0;
    for (uint64_t i = 1; i < m->next; i++) {
        longest = TI_MAX(longest, m->path[i]);
    }
    return longest;
}

static void model_insert(model *m)
{
    for (uint64_t i = 1; i < m->next; i++) {
        m->follower[i] = true;
    }
    m->path[m->next] = longest_of(m);
    m->newest = m->next++;
}

static void count_id(void *user, uint64_t id)
{
    int64_t *sum = user;
    sum[0]++;
    sum[1] += (int64_t)id;
}

static void check_front(const model *m, const ti_horizon *h)
{
    int64_t found[2] = { 0, 0 }, ids = 0;
    ti_horizon_each_front(h, count_id, found);
    for (uint64_t i = TI_MAX(m->newest, 1u); i < m->next; i++) {
        ids += m->follower[i] ? 0 : (int64_t)i;
    }
    assert_int_equal(h->front, front_of(m));
    assert_int_equal(found[0], front_of(m));
    assert_int_equal(found[1], ids);
}

static void random_graphs(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int run = 0; run < 200; run++) {
        model m = { .next = 1 };
        ti_horizon h;
        int64_t step = rng_between(&r, 1, 6), limit = rng_between(&r, 1, 20);
        uint64_t oldest = 1;
        ti_horizon_init(&h, step, limit, 1);
        while (m.next < IDS - 1) {
            uint64_t dep[4];
            size_t deps = 0;
            for (int64_t i = rng_between(&r, 0, 4); i > 0 && m.next > oldest; i--) {
                uint64_t id = (uint64_t)rng_between(&r, (int64_t)oldest, (int64_t)m.next - 1);
                bool known = false;
                for (size_t k = 0; k < deps; k++) {
                    known = known || dep[k] == id;
                }
                if (!known) {
                    dep[deps++] = id;
                }
            }
            ti_horizon_note(&h, m.next, dep, deps);
            model_note(&m, dep, deps);
            check_front(&m, &h);
            bool due = longest_of(&m) - (m.newest ? m.path[m.newest] : 0) >= step || front_of(&m) > limit;
            assert_int_equal(ti_horizon_is_due(&h), due);
            if (due) {
                uint64_t before = m.newest;
                assert_int_equal(ti_horizon_insert(&h, m.next), before);
                model_insert(&m);
                if (before) {
                    ti_horizon_apply(&h, before);
                    oldest = m.applied = before;
                }
                check_front(&m, &h);
            }
        }
        ti_horizon_fini(&h);
    }
}

/* A chain: a horizon after `step` tasks, and again when the path has grown by `step` beyond it. */
static void depth(void **state)
{
    (void)state;
    ti_horizon h;
    ti_horizon_init(&h, 4, NEVER, 1);
    uint64_t last = 0;
    for (uint64_t id = 1; id <= 4; id++) {
        assert_false(ti_horizon_is_due(&h));
        ti_horizon_note(&h, id, &last, last ? 1 : 0);
        last = id;
    }
    assert_true(ti_horizon_is_due(&h));
    assert_int_equal(ti_horizon_insert(&h, 5), 0);
    assert_false(ti_horizon_is_due(&h));
    last = 5;
    for (uint64_t id = 6; id <= 9; id++) {
        assert_false(ti_horizon_is_due(&h));
        ti_horizon_note(&h, id, &last, 1);
        last = id;
    }
    assert_true(ti_horizon_is_due(&h));
    assert_int_equal(ti_horizon_insert(&h, 10), 5);
    ti_horizon_fini(&h);
}

/* A chain that begins late, of a new buffer, say: its path continues that of the applied horizon, however long the
 * one before was. */
static void late_chains(void **state)
{
    (void)state;
    ti_horizon h;
    ti_horizon_init(&h, 4, NEVER, 1);
    uint64_t id = 1, horizons = 0;
    for (int chain = 0; chain < 3; chain++) {
        uint64_t last = 0, before = horizons;
        for (int i = 0; i < 1000; i++) {
            ti_horizon_note(&h, id, &last, last ? 1 : 0);
            last = id++;
            if (ti_horizon_is_due(&h)) {
                uint64_t previous = ti_horizon_insert(&h, id++);
                ti_horizon_apply(&h, previous);
                last = TI_MAX(last, previous);
                horizons++;
            }
        }
        assert_in_range(horizons - before, 249, 251);
    }
    ti_horizon_fini(&h);
}

/* A chain whose tasks depend on each other and not on the horizon between them, which is not applied yet: a horizon
 * after every `step` tasks. */
static void chain_across_horizons(void **state)
{
    (void)state;
    for (int64_t step = 1; step <= 16; step++) {
        ti_horizon h;
        ti_horizon_init(&h, step, NEVER, 1);
        uint64_t id = 1, last = 0;
        for (int64_t i = 1; i <= 40 * step; i++) {
            ti_horizon_note(&h, id, &last, last ? 1 : 0);
            last = id++;
            assert_int_equal(ti_horizon_is_due(&h), i % step == 0);
            if (ti_horizon_is_due(&h)) {
                uint64_t before = ti_horizon_insert(&h, id++);
                ti_horizon_apply(&h, before);
                last = TI_MAX(last, before);
            }
        }
        ti_horizon_fini(&h);
    }
}

/* Independent tasks: a horizon when there are more of them than the limit. */
static void breadth(void **state)
{
    (void)state;
    ti_horizon h;
    ti_horizon_init(&h, NEVER, 8, 1);
    for (uint64_t id = 1; id <= 8; id++) {
        ti_horizon_note(&h, id, NULL, 0);
        assert_false(ti_horizon_is_due(&h));
    }
    ti_horizon_note(&h, 9, NULL, 0);
    assert_true(ti_horizon_is_due(&h));
    ti_horizon_insert(&h, 10);
    assert_false(ti_horizon_is_due(&h));
    ti_horizon_fini(&h);
}

/* A chain with steps that never come: a horizon all the same, so that what is kept of tasks goes at some time; later
 * with a wider front. */
static void length(void **state)
{
    (void)state;
    for (int64_t limit = 8; limit <= 8000; limit *= 1000) {
        ti_horizon h;
        ti_horizon_init(&h, NEVER, limit, 1);
        uint64_t last = 0, id = 1, horizons = 0;
        for (int64_t i = 0; i < 80000; i++) {
            ti_horizon_note(&h, id, &last, last ? 1 : 0);
            last = id++;
            if (ti_horizon_is_due(&h)) {
                uint64_t before = ti_horizon_insert(&h, id++);
                ti_horizon_apply(&h, before);
                last = TI_MAX(last, before);
                horizons++;
            }
        }
        assert_int_equal(horizons, 80000 / TI_MAX(limit, (int64_t)TI_HORIZON_LENGTH));
        ti_horizon_fini(&h);
    }
}

/* A long run with horizons keeps a bounded number of vertices. */
static void long_run(void **state)
{
    (void)state;
    ti_horizon h;
    ti_horizon_init(&h, 4, 64, 1);
    uint64_t last = 0, id = 1;
    for (int i = 0; i < 200000; i++) {
        ti_horizon_note(&h, id, &last, last ? 1 : 0);
        last = id++;
        if (ti_horizon_is_due(&h)) {
            uint64_t before = ti_horizon_insert(&h, id);
            last = id++;
            if (before) {
                ti_horizon_apply(&h, before);
            }
        }
    }
    assert_int_equal(h.capacity, 256);
    ti_horizon_fini(&h);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs), cmocka_unit_test(depth),
        cmocka_unit_test(late_chains),   cmocka_unit_test(chain_across_horizons),
        cmocka_unit_test(breadth),       cmocka_unit_test(length),
        cmocka_unit_test(long_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
