/* Schedules of collectives: what is sent is received, nobody sends what it does not have, and all get what they should.
 *
 * Parts are powers of two bytes, so the bytes of a message say which parts it has. */
#include "sim/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 24 };

static const struct {
    ti_pattern pattern;
    ti_algorithm algorithm;
} cases[] = {
    { TI_PATTERN_GATHER, TI_ALGORITHM_LINEAR },
    { TI_PATTERN_GATHER, TI_ALGORITHM_BINOMIAL },
    { TI_PATTERN_ALL_GATHER, TI_ALGORITHM_LINEAR },
    { TI_PATTERN_ALL_GATHER, TI_ALGORITHM_RING },
    { TI_PATTERN_ALL_GATHER, TI_ALGORITHM_BRUCK },
    { TI_PATTERN_ALL_GATHER, TI_ALGORITHM_DOUBLING },
    { TI_PATTERN_BROADCAST, TI_ALGORITHM_LINEAR },
    { TI_PATTERN_BROADCAST, TI_ALGORITHM_BINOMIAL },
    { TI_PATTERN_SCATTER, TI_ALGORITHM_LINEAR },
    { TI_PATTERN_SCATTER, TI_ALGORITHM_BINOMIAL },
    { TI_PATTERN_ALL_TO_ALL, TI_ALGORITHM_LINEAR },
    { TI_PATTERN_ALL_TO_ALL, TI_ALGORITHM_PAIRWISE },
    { TI_PATTERN_REDUCE, TI_ALGORITHM_LINEAR },
    { TI_PATTERN_REDUCE, TI_ALGORITHM_BINOMIAL },
    { TI_PATTERN_ALL_REDUCE, TI_ALGORITHM_BINOMIAL },
    { TI_PATTERN_ALL_REDUCE, TI_ALGORITHM_LINEAR },
    { TI_PATTERN_ALL_REDUCE, TI_ALGORITHM_DOUBLING },
    { TI_PATTERN_ALL_REDUCE, TI_ALGORITHM_RING },
    { TI_PATTERN_BROADCAST, TI_ALGORITHM_SCATTER_ALLGATHER },
};

static double between(const void *user, int from, int to)
{
    (void)user;
    return 1000 * from + to;
}

static void make(ti_schedule *s, int i, int ranks, int root)
{
    double part[MOST];
    for (int r = 0; r < ranks; r++) {
        part[r] = (double)(UINT64_C(1) << r);
    }
    ti_schedule_init(s, cases[i].pattern, cases[i].algorithm, ranks, root, part);
    s->between = between;
}

static const ti_schedule_op *find(const ti_schedule_ops *ops, int peer, bool send)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->data[i].peer == peer && ops->data[i].send == send) {
            return &ops->data[i];
        }
    }
    return NULL;
}

/* Every send has its receive in the same step, with as many bytes; there is one message at most from rank to rank. */
static void check_pairs(const ti_schedule *s)
{
    ti_schedule_ops mine = { 0 }, theirs = { 0 };
    for (int step = 0; step < ti_schedule_steps(s); step++) {
        for (int rank = 0; rank < s->ranks; rank++) {
            ti_schedule_step(s, rank, step, &mine);
            for (size_t i = 0; i < mine.count; i++) {
                const ti_schedule_op *op = &mine.data[i];
                assert_in_range(op->peer, 0, s->ranks - 1);
                assert_int_not_equal(op->peer, rank);
                assert_ptr_equal(find(&mine, op->peer, op->send), op);
                assert_true(op->bytes >= 0);
                ti_schedule_step(s, op->peer, step, &theirs);
                const ti_schedule_op *other = find(&theirs, rank, !op->send);
                assert_non_null(other);
                assert_true(other->bytes == op->bytes);
            }
        }
    }
    ti_vec_fini(&mine);
    ti_vec_fini(&theirs);
}

static uint64_t had[MOST], has[MOST];

/* What a message brings, in the terms of the pattern: parts by their bytes, or all that its sender has. */
static uint64_t brought(const ti_schedule *s, int from, int to, double bytes)
{
    bool by_parts = s->pattern == TI_PATTERN_GATHER || s->pattern == TI_PATTERN_ALL_GATHER ||
                    s->pattern == TI_PATTERN_SCATTER;
    (void)to;
    uint64_t parts = by_parts ? (uint64_t)bytes : had[from];
    assert_true((parts & ~had[from]) == 0);
    return parts;
}

static void run_steps(const ti_schedule *s)
{
    ti_schedule_ops ops = { 0 };
    for (int step = 0; step < ti_schedule_steps(s); step++) {
        for (int r = 0; r < s->ranks; r++) {
            had[r] = has[r];
        }
        for (int r = 0; r < s->ranks; r++) {
            ti_schedule_step(s, r, step, &ops);
            for (size_t i = 0; i < ops.count; i++) {
                if (!ops.data[i].send) {
                    uint64_t fresh = brought(s, ops.data[i].peer, r, ops.data[i].bytes);
                    if (ops.data[i].combines) {
                        assert_true((fresh & has[r]) == 0); /* nothing counts twice */
                    }
                    has[r] |= fresh;
                }
            }
        }
    }
    ti_vec_fini(&ops);
}

static void check_delivery(const ti_schedule *s)
{
    uint64_t all = (UINT64_C(1) << s->ranks) - 1;
    bool from_root = s->pattern == TI_PATTERN_SCATTER || s->pattern == TI_PATTERN_BROADCAST;
    for (int r = 0; r < s->ranks; r++) {
        has[r] = from_root ? (r == s->root ? all : 0) : UINT64_C(1) << r;
    }
    run_steps(s);
    for (int r = 0; r < s->ranks; r++) {
        bool at_root = s->pattern == TI_PATTERN_GATHER || s->pattern == TI_PATTERN_REDUCE;
        if (s->pattern == TI_PATTERN_SCATTER) {
            assert_true(has[r] >> r & 1);
        } else if (!at_root || r == s->root) {
            assert_true(has[r] == all);
        }
    }
}

static void all_get_what_they_should(void **state)
{
    (void)state;
    for (int i = 0; i < (int)TI_COUNT(cases); i++) {
        bool rooted = cases[i].pattern == TI_PATTERN_GATHER || cases[i].pattern == TI_PATTERN_BROADCAST ||
                      cases[i].pattern == TI_PATTERN_SCATTER || cases[i].pattern == TI_PATTERN_REDUCE;
        bool shares = cases[i].algorithm == TI_ALGORITHM_SCATTER_ALLGATHER ||
                      (cases[i].pattern == TI_PATTERN_ALL_REDUCE &&
                       (cases[i].algorithm == TI_ALGORITHM_RING || cases[i].algorithm == TI_ALGORITHM_LINEAR)) ||
                      cases[i].pattern == TI_PATTERN_ALL_TO_ALL;
        for (int ranks = 1; ranks <= MOST; ranks++) {
            for (int root = 0; root < (rooted ? ranks : 1); root++) {
                ti_schedule s;
                if (!ti_algorithm_fits(cases[i].algorithm, cases[i].pattern, ranks)) {
                    continue;
                }
                make(&s, i, ranks, root);
                check_pairs(&s);
                if (!shares) {
                    check_delivery(&s);
                }
                ti_schedule_fini(&s);
            }
        }
    }
}

/* Where bytes are shares, what every rank gets in all. */
static double received(const ti_schedule *s, int rank)
{
    ti_schedule_ops ops = { 0 };
    double bytes = 0;
    for (int step = 0; step < ti_schedule_steps(s); step++) {
        ti_schedule_step(s, rank, step, &ops);
        for (size_t i = 0; i < ops.count; i++) {
            bytes += ops.data[i].send ? 0 : ops.data[i].bytes;
        }
    }
    ti_vec_fini(&ops);
    return bytes;
}

static void shares_add_up(void **state)
{
    (void)state;
    for (int i = 0; i < (int)TI_COUNT(cases); i++) {
        for (int ranks = 2; ranks <= MOST; ranks++) {
            ti_schedule s;
            if (!ti_algorithm_fits(cases[i].algorithm, cases[i].pattern, ranks)) {
                continue;
            }
            make(&s, i, ranks, 0);
            for (int r = 0; r < ranks; r++) {
                double expected = -1, others = s.total / ranks * (ranks - 1);
                if (cases[i].pattern == TI_PATTERN_ALL_TO_ALL) {
                    expected = 500.0 * ranks * (ranks - 1) + r * ranks - 1001.0 * r;
                } else if (cases[i].pattern == TI_PATTERN_ALL_REDUCE && cases[i].algorithm == TI_ALGORITHM_RING) {
                    expected = 2 * others;
                } else if (cases[i].pattern == TI_PATTERN_ALL_REDUCE && cases[i].algorithm == TI_ALGORITHM_LINEAR) {
                    expected = ti_schedule_steps(&s) == 2 ? 2 * others : s.total * (ranks - 1);
                } else if (cases[i].pattern == TI_PATTERN_ALL_GATHER) {
                    expected = s.total - (double)(UINT64_C(1) << r);
                }
                if (expected >= 0) {
                    assert_true(received(&s, r) - expected < 1e-6 * s.total &&
                                expected - received(&s, r) < 1e-6 * s.total);
                }
            }
            ti_schedule_fini(&s);
        }
    }
}

/* What the non-blocking collectives of Open MPI 4.1.4 send, counted by its pml/monitoring. */
static void non_blocking_calls_send_what_was_seen(void **state)
{
    static const struct {
        ti_pattern pattern;
        int ranks, messages;
        double bytes;
    } seen[] = { { TI_PATTERN_ALL_GATHER, 8, 56, 8 },       { TI_PATTERN_ALL_GATHER, 8, 56, 100000 },
                 { TI_PATTERN_GATHER, 8, 7, 100000 },       { TI_PATTERN_ALL_TO_ALL, 8, 56, 100000 },
                 { TI_PATTERN_BROADCAST, 8, 7, 1000000 },   { TI_PATTERN_BROADCAST, 4, 3, 1000000 },
                 { TI_PATTERN_BROADCAST, 16, 15, 4000000 }, { TI_PATTERN_REDUCE, 8, 7, 8 },
                 { TI_PATTERN_ALL_REDUCE, 8, 14, 100000 } };
    (void)state;
    for (size_t i = 0; i < TI_COUNT(seen); i++) {
        double part[16];
        ti_schedule s;
        ti_schedule_ops ops = { 0 };
        int sends = 0, most = 0;
        for (int r = 0; r < seen[i].ranks; r++) {
            part[r] = seen[i].bytes;
        }
        ti_schedule_init(&s, seen[i].pattern, TI_ALGORITHM_NONBLOCKING, seen[i].ranks, 0, part);
        s.between = between;
        for (int r = 0; r < seen[i].ranks; r++) {
            int mine = 0;
            for (int step = 0; step < ti_schedule_steps(&s); step++) {
                ti_schedule_step(&s, r, step, &ops);
                for (size_t k = 0; k < ops.count; k++) {
                    mine += ops.data[k].send;
                }
            }
            sends += mine;
            most = r == 0 ? mine : most;
        }
        assert_int_equal(sends, seen[i].messages);
        if (seen[i].pattern == TI_PATTERN_BROADCAST) { /* of the root: a tree, but on up to four ranks */
            assert_int_equal(most, seen[i].ranks == 4 ? 3 : seen[i].ranks == 8 ? 3 : 4);
        }
        ti_schedule_fini(&s);
        ti_vec_fini(&ops);
    }
}

static void names_go_both_ways(void **state)
{
    (void)state;
    for (ti_algorithm a = TI_ALGORITHM_AUTO; a < TI_ALGORITHMS; a++) {
        assert_int_equal(ti_algorithm_of(ti_algorithm_name(a)), a);
    }
    assert_int_equal(ti_algorithm_of("rings"), TI_ALGORITHMS);
    assert_false(ti_algorithm_fits(TI_ALGORITHM_DOUBLING, TI_PATTERN_ALL_GATHER, 6));
    assert_true(ti_algorithm_fits(TI_ALGORITHM_DOUBLING, TI_PATTERN_ALL_REDUCE, 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_get_what_they_should), cmocka_unit_test(shares_add_up),
                                        cmocka_unit_test(non_blocking_calls_send_what_was_seen),
                                        cmocka_unit_test(names_go_both_ways) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
