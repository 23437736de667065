/* Which worker runs which kernel of a round: rounds whose best way is known, and random ones.
 *
 * Usage: round_spread_test [SEED]. */
#include "exec/round_spread.h"

#include "random.h"

#include <string.h>

enum { MOST = 4096, MAX_VIEWS = 3, MAX_DEPS = 4, ELEM = 8 };

static uint64_t seed;

static const ti_buffer_info buffer = { .elem_size = ELEM, .dims = 1 };

/* A round that is written down. */
typedef struct round {
    size_t count;
    ti_instruction instruction[MOST];
    ti_instruction_view view[MOST][MAX_VIEWS];
    uint64_t dep[MOST][MAX_DEPS];
    uint64_t ns[MOST];
    int pieces[MOST];
    bool moves[MOST];
} round_of;

static size_t add(round_of *r, ti_instruction_kind kind, uint64_t ns, int pieces, bool moves)
{
    const size_t at = r->count++;
    ti_instruction *i = &r->instruction[at];
    assert_true(at < MOST);
    memset(i, 0, sizeof(*i));
    *i = (ti_instruction){ .kind = kind, .dep = r->dep[at] };
    i->as.kernel.view = r->view[at];
    r->ns[at] = ns;
    r->pieces[at] = pieces;
    r->moves[at] = moves;
    return at;
}

static void touch(round_of *r, size_t at, uint64_t allocation, int64_t min, int64_t max, int mode)
{
    ti_instruction *i = &r->instruction[at];
    assert_true(i->as.kernel.views < MAX_VIEWS);
    r->view[at][i->as.kernel.views++] = (ti_instruction_view){
        .place.allocation = allocation, .box = { { min, 0, 0 }, { max, 1, 1 } }, .buffer = &buffer, .mode = mode
    };
}

/* `of` may come later: then it is the one of the round before. */
static void need(round_of *r, size_t at, size_t of, size_t count)
{
    assert_true(r->instruction[at].deps < MAX_DEPS);
    r->dep[at][r->instruction[at].deps++] = of < at ? at - of : at + count - of;
}

static bool spread(ti_spread *s, const round_of *r, int workers, int self)
{
    ti_spread_clear(s);
    for (size_t k = 0; k < r->count; k++) {
        ti_spread_add(s, r->instruction, r->count, r->ns[k], r->pieces[k], r->moves[k]);
    }
    return ti_spread_find(s, workers, self);
}

static int worker_of(const ti_spread *s, size_t at)
{
    return s->step.data[at].worker;
}

/* ---- rounds whose best way is known */

/* A sweep over rows, each in blocks from the left to the right, that begins when the one before has ended; `from`: the
 * round begins there. */
static void make_sweep(round_of *r, size_t rows, size_t blocks, size_t from, uint64_t ns)
{
    enum { WIDTH = 100 };
    const size_t count = rows * blocks;
    r->count = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t task = (k + from) % count, row = task / blocks, block = task % blocks;
        const size_t at = add(r, TI_INSTRUCTION_KERNEL, ns, 1, true);
        const int64_t first = (int64_t)(block * WIDTH);
        touch(r, at, 1 + row, first, first + WIDTH, TACIT_WRITE);
        touch(r, at, row, first, first + WIDTH, TACIT_READ); /* above the first row is what nobody writes */
        if (row > 0) {
            need(r, at, (at + count - blocks) % count, count);
        } else if (block == 0) {
            touch(r, at, rows, (int64_t)(blocks * WIDTH) - 1, (int64_t)(blocks * WIDTH), TACIT_READ);
            need(r, at, (at + count - 1) % count, count);
        }
        if (block > 0) {
            touch(r, at, 1 + row, first - 1, first, TACIT_READ);
            need(r, at, (at + count - 1) % count, count);
        }
    }
}

/* Each worker has a block of columns, who submits the first, wherever the round begins. */
static void sweeps_go_by_columns(void **state)
{
    static round_of r;
    ti_spread s;
    (void)state;
    memset(&s, 0, sizeof(s));
    for (size_t workers = 2; workers <= 4; workers++) {
        for (size_t from = 0; from < 2 * workers; from++) {
            make_sweep(&r, 60, workers, from, 2000);
            assert_true(spread(&s, &r, (int)workers, 0));
            for (size_t k = workers; k < r.count; k++) {
                assert_int_equal(worker_of(&s, k), worker_of(&s, k % workers));
            }
            assert_int_equal(worker_of(&s, (workers - from % workers) % workers), 0);
            assert_int_equal(s.idle, 0);
            assert_true(s.spread < s.alone * 3 / 5 && s.spread >= s.ideal && s.alone >= 60 * workers * 2000);
        }
    }
    ti_spread_fini(&s);
}

/* One after the other: more workers are of no use. */
static void chains_stay(void **state)
{
    static round_of r;
    ti_spread s;
    (void)state;
    memset(&s, 0, sizeof(s));
    r.count = 0;
    for (size_t k = 0; k < 100; k++) {
        const size_t at = add(&r, TI_INSTRUCTION_KERNEL, 300, 1, true);
        touch(&r, at, 1, 0, 100, TACIT_UPDATE);
        need(&r, at, (k + 99) % 100, 100);
    }
    assert_true(!spread(&s, &r, 2, 0) || s.spread + 100 > s.alone - 100 * 80); /* it may run beside submission */
    assert_int_equal(s.ideal, 100 * 300);
    ti_spread_fini(&s);
}

/* Many buffers, each updated by a task of its own, again and again. */
static void buffers_keep_their_workers(void **state)
{
    enum { BUFFERS = 12, TIMES = 20, COUNT = BUFFERS * TIMES };
    static round_of r;
    ti_spread s;
    (void)state;
    memset(&s, 0, sizeof(s));
    for (int workers = 2; workers <= 6; workers++) {
        int of[6] = { 0 };
        r.count = 0;
        for (size_t k = 0; k < COUNT; k++) {
            const size_t at = add(&r, TI_INSTRUCTION_KERNEL, 4000, 1, true);
            touch(&r, at, 1 + k % BUFFERS, 0, 100, TACIT_UPDATE);
            need(&r, at, (k + COUNT - BUFFERS) % COUNT, COUNT);
        }
        assert_true(spread(&s, &r, workers, workers - 1));
        for (size_t k = 0; k < COUNT; k++) {
            assert_int_equal(worker_of(&s, k), worker_of(&s, k % BUFFERS));
            of[worker_of(&s, k)]++;
        }
        for (int w = 0; w < workers; w++) {
            assert_in_range(of[w], TIMES * (BUFFERS / workers - 1), TIMES * ((BUFFERS + workers - 1) / workers + 1));
        }
        assert_true(s.spread < s.alone * 2 / (uint64_t)workers);
    }
    ti_spread_fini(&s);
}

/* Some buffers are far fewer than workers: the others are idle. */
static void workers_may_be_idle(void **state)
{
    static round_of r;
    ti_spread s;
    (void)state;
    memset(&s, 0, sizeof(s));
    r.count = 0;
    for (size_t k = 0; k < 40; k++) {
        const size_t at = add(&r, TI_INSTRUCTION_KERNEL, 9000, 1, true);
        touch(&r, at, 1 + k % 2, 0, 100, TACIT_UPDATE);
        need(&r, at, (k + 38) % 40, 40);
    }
    assert_true(spread(&s, &r, 8, 0));
    assert_int_equal(s.idle, worker_of(&s, 0) && worker_of(&s, 1) ? 5 : 6); /* who submits may do nothing else */
    assert_true(spread(&s, &r, 8, -1));
    assert_int_equal(s.idle, 6);
    ti_spread_fini(&s);
}

/* What was found before kernels were known to be long does not stay. */
static void lengths_count(void **state)
{
    static round_of r;
    ti_spread s;
    (void)state;
    memset(&s, 0, sizeof(s));
    make_sweep(&r, 60, 2, 0, 10);
    spread(&s, &r, 2, 0);
    for (size_t k = 0; k < r.count; k++) {
        r.ns[k] = 2000;
    }
    assert_true(spread(&s, &r, 2, 0));
    assert_int_equal(worker_of(&s, 0), 0);
    assert_int_equal(worker_of(&s, 1), 1);
    assert_true(s.spread < s.alone * 3 / 5);
    ti_spread_fini(&s);
}

/* ---- random rounds */

static void make_random(round_of *r, rng *random, int workers)
{
    const size_t count = (size_t)rng_between(random, 1, 200);
    r->count = 0;
    for (size_t k = 0; k < count; k++) {
        const int way = (int)rng_between(random, 0, 9);
        const bool is_kernel = way < 8, is_one = way < 6;
        const size_t at = add(r,
                              is_kernel  ? TI_INSTRUCTION_KERNEL
                              : way == 8 ? TI_INSTRUCTION_EPOCH
                                         : TI_INSTRUCTION_FENCE,
                              is_kernel ? (uint64_t)rng_between(random, 1, 5000) : 0,
                              is_one      ? 1
                              : is_kernel ? workers
                                          : 0,
                              is_one && way < 5);
        for (int64_t v = rng_between(random, 0, is_kernel ? MAX_VIEWS : 0); v > 0; v--) {
            const int64_t min = rng_between(random, 0, 50);
            touch(r, at, (uint64_t)rng_between(random, 1, 6), min, min + rng_between(random, 0, 50),
                  rng_between(random, 0, 1) ? TACIT_READ : TACIT_UPDATE);
        }
        for (int64_t d = rng_between(random, 0, MAX_DEPS); d > 0; d--) {
            r->dep[at][r->instruction[at].deps++] = (uint64_t)rng_between(random, 1, (int64_t)(3 * count));
        }
    }
}

/* All that may move has a worker, nothing else has; the same round is spread alike if kernels take a little longer. */
static void random_rounds(void **state)
{
    static round_of r;
    rng random = rng_from(seed);
    ti_spread s;
    (void)state;
    memset(&s, 0, sizeof(s));
    for (int n = 0; n < 3000; n++) {
        const int workers = (int)rng_between(&random, 2, 9), self = (int)rng_between(&random, -1, workers - 1);
        bool gets[9] = { false };
        int idle = 0, found[200];
        make_random(&r, &random, workers);
        const bool differ = spread(&s, &r, workers, self);
        for (size_t k = 0; k < r.count; k++) {
            found[k] = worker_of(&s, k);
            assert_int_equal(found[k] >= 0, r.moves[k]);
            assert_true(found[k] < workers);
            if (found[k] >= 0) {
                gets[found[k]] = true;
            }
        }
        for (int w = 0; w < workers; w++) {
            idle += w != self && !gets[w];
        }
        assert_int_equal(s.idle, idle);
        assert_int_equal(differ, idle < workers - (self >= 0));
        assert_true(s.alone >= s.ideal);
        for (size_t k = 0; k < r.count; k++) {
            r.ns[k] += r.ns[k] / 8;
        }
        assert_int_equal(spread(&s, &r, workers, self), differ);
        for (size_t k = 0; k < r.count; k++) {
            assert_int_equal(worker_of(&s, k), found[k]);
        }
    }
    ti_spread_fini(&s);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(sweeps_go_by_columns),
                                        cmocka_unit_test(chains_stay),
                                        cmocka_unit_test(buffers_keep_their_workers),
                                        cmocka_unit_test(workers_may_be_idle),
                                        cmocka_unit_test(lengths_count),
                                        cmocka_unit_test(random_rounds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
