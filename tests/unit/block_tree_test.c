/* The fixed tree over blocks: whatever the cuts, subtrees are put together into one and the same expression, which is
 * written out here by plain recursion; sender and receiver of a cut name the same subtrees; the bound on slots holds
 * for every run. */
#include "ir/block_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- an operator that is neither associative nor commutative: a hash of the expression */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0x94d049bb133111ebu) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 29;
}

/* The subtree over [first, first + length), clipped: the definition. */
static uint64_t expression(uint32_t first, uint32_t length, uint32_t blocks)
{
    if (length == 1) {
        return first + 1;
    }
    uint64_t left = expression(first, length / 2, blocks);
    return first + length / 2 < blocks ? mix(left, expression(first + length / 2, length / 2, blocks)) : left;
}

/* ---- a stack with values */

typedef struct values {
    ti_block_stack stack;
    uint64_t slot[TI_BLOCK_STACK];
    uint32_t most;
} values;

static void push(values *v, ti_block_span span, uint64_t value)
{
    uint32_t into, from, at = v->stack.count;
    ti_block_stack_push(&v->stack, span, at);
    v->slot[at] = value;
    v->most = TI_MAX(v->most, at + 1);
    while (ti_block_stack_fold(&v->stack, &into, &from)) {
        v->slot[into] = mix(v->slot[into], v->slot[from]);
    }
}

static values run(uint32_t first, uint32_t end, uint32_t blocks)
{
    values v = { .stack.blocks = blocks };
    for (uint32_t b = first; b < end; b++) {
        push(&v, (ti_block_span){ b, b + 1 }, b + 1);
    }
    return v;
}

static uint64_t state = 1;

static uint32_t pick(uint32_t least, uint32_t most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + (uint32_t)((state >> 33) % (most - least + 1));
}

/* ---- tests */

static void blocks_of_a_range(void **unused)
{
    (void)unused;
    assert_int_equal(ti_block_items(1, 1), 1);
    assert_int_equal(ti_block_items(256, 1), 1);
    assert_int_equal(ti_block_items(257, 1), 2);
    assert_int_equal(ti_block_items(1000000, 1), 3907);
    assert_int_equal(ti_block_items(1000000, 64), 3968);
    assert_int_equal(ti_block_items(10, 1 << 20), 1 << 20);
    for (int64_t n = 1; n < 3000; n++) {
        for (int64_t gran = 1; gran < 9; gran++) {
            int64_t items = ti_block_items(n, gran);
            assert_int_equal(items % gran, 0);
            assert_true((n + items - 1) / items <= TI_MAX_BLOCKS);
        }
    }
}

/* Every run leaves the subtrees that ti_block_subtrees names, in so many slots as ti_block_depth says at most. */
static void runs(void **unused)
{
    (void)unused;
    static const uint32_t sizes[] = { 1, 2, 3, 5, 8, 13, 64, 100, 171, 255, 256 };
    for (size_t i = 0; i < TI_COUNT(sizes); i++) {
        for (uint32_t first = 0; first < sizes[i]; first++) {
            for (uint32_t end = first + 1; end <= sizes[i]; end++) {
                ti_block_span left[TI_BLOCK_STACK];
                values v = run(first, end, sizes[i]);
                assert_true(v.most <= ti_block_depth(end - first));
                assert_int_equal(ti_block_subtrees((ti_block_span){ first, end }, sizes[i], left), v.stack.count);
                for (uint32_t k = 0; k < v.stack.count; k++) {
                    assert_memory_equal(&left[k], &v.stack.span[k], sizeof(left[k]));
                    assert_int_equal(v.stack.slot[k], k); /* results lie in the first slots */
                    assert_int_equal(v.slot[k], expression(left[k].first, TI_MAX_BLOCKS, left[k].end));
                }
            }
        }
    }
}

/* Cut anywhere, run by run, then all runs together. */
static void any_cuts(void **unused)
{
    (void)unused;
    for (int round = 0; round < 20000; round++) {
        uint32_t blocks = pick(1, TI_MAX_BLOCKS);
        values all = { .stack.blocks = blocks };
        for (uint32_t first = 0, end; first < blocks; first = end) {
            uint32_t most = first + 1 + pick(0, 60);
            end = pick(first + 1, TI_MIN(blocks, most));
            values part = run(first, end, blocks);
            for (uint32_t k = 0; k < part.stack.count; k++) {
                push(&all, part.stack.span[k], part.slot[k]);
            }
        }
        assert_int_equal(all.stack.count, 1);
        assert_int_equal(all.slot[0], expression(0, TI_MAX_BLOCKS, blocks));
    }
}

/* What remains of [first, end) after the results of others have come are right children, whose siblings begin before
 * `first`. */
static void what_is_sent(void **unused)
{
    (void)unused;
    for (uint32_t blocks = 1; blocks <= TI_MAX_BLOCKS; blocks += blocks < 40 ? 1 : 27) {
        for (uint32_t first = 0; first < blocks; first++) {
            for (uint32_t end = first + 1; end <= blocks; end++) {
                values v = run(first, end, blocks);
                for (uint32_t at = end; at < blocks && ti_block_sibling(at) >= first;) {
                    ti_block_span span = ti_block_subtree(at, blocks);
                    push(&v, span, expression(at, TI_MAX_BLOCKS, span.end));
                    at = span.end;
                }
                uint32_t at = first;
                for (uint32_t k = 0; k < v.stack.count && first > 0; k++) {
                    ti_block_span span = ti_block_subtree(at, blocks);
                    assert_memory_equal(&span, &v.stack.span[k], sizeof(span));
                    assert_true(ti_block_sibling(at) < first);
                    at = span.end;
                }
                assert_true(first > 0 || v.stack.count == 1);
                assert_true(at >= end || first == 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(blocks_of_a_range), cmocka_unit_test(runs),
                                        cmocka_unit_test(any_cuts), cmocka_unit_test(what_is_sent) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
