/* Trees of broadcasts: see tree.h.
 *
 * The sender has position 0, the i-th recipient position i + 1. Binomial: in step k all positions below 2^k have the
 * data and send to 2^k further on, so a child of the root is a power of two, and its subtree are the positions whose
 * lowest bit it is. Binary: as in a heap. */
#include "comm/tree.h"

#include "base/check.h"
#include "base/macro.h"
#include "tacit/config.h"

ti_tree ti_tree_of_setting(int broadcast, bool one_machine)
{
    switch (broadcast) {
    case TACIT_BROADCAST_FLAT:
        return TI_TREE_FLAT;
    case TACIT_BROADCAST_BINOMIAL:
        return TI_TREE_BINOMIAL;
    case TACIT_BROADCAST_BINARY:
        return TI_TREE_BINARY;
    case TACIT_BROADCAST_CHAIN:
        return TI_TREE_CHAIN;
    default:
        return one_machine ? TI_TREE_FLAT : TI_TREE_BY_SIZE;
    }
}

/* Segments are the unit of time: one takes one on a link. Offer, answer and what it takes to notice them delay each hop
 * by HOP of them: 30 us against 16 us for a segment of 128 KiB, measured between nodes that share memory. All children
 * of a node get their segments in turns, so each hop adds as many as the node has children, and the last segment leaves
 * the root when it has sent all of them to each. */
static uint64_t found_cost(ti_tree tree, uint32_t count, uint64_t segments)
{
    enum { HOP = 2 };
    const uint64_t steps = ti_tree_children(TI_TREE_BINOMIAL, count);
    switch (tree) {
    case TI_TREE_FLAT:
        return HOP + count * segments;
    case TI_TREE_BINOMIAL:
        return steps * (HOP + segments);
    case TI_TREE_BINARY:
        return steps * (HOP + 2) + 2 * segments;
    case TI_TREE_CHAIN:
        return (uint64_t)count * (HOP + 1) + segments;
    case TI_TREE_KINDS:
        break;
    }
    TI_UNREACHABLE();
}

ti_tree ti_tree_by_size(uint32_t count, uint64_t segments)
{
    ti_tree best = TI_TREE_BINOMIAL;
    for (ti_tree tree = TI_TREE_BINARY; tree <= TI_TREE_CHAIN; tree++) {
        best = found_cost(tree, count, segments) < found_cost(best, count, segments) ? tree : best;
    }
    return best;
}

/* In the same units. A hop delays by what it takes to notice a message, half of what an offer and its answer take, and
 * all of the payload is there before the first of it is sent on. */
static uint64_t planned_cost(ti_tree tree, uint32_t count, uint64_t segments)
{
    enum { HOP = 1 };
    switch (tree) {
    case TI_TREE_FLAT:
        return HOP + count * segments;
    case TI_TREE_BINOMIAL:
        return ti_tree_children(tree, count) * (HOP + segments);
    case TI_TREE_BINARY:
        return ti_tree_depth(tree, count) * (HOP + TI_MIN(count, 2u) * segments);
    case TI_TREE_CHAIN:
        return count * (HOP + segments);
    case TI_TREE_KINDS:
        break;
    }
    TI_UNREACHABLE();
}

/* These are the costs of one broadcast in a network that is idle. Where several meet, as in a factorisation, relays wait
 * at each hop, and copy what they forward: a broadcast that is found must promise more than that. Simulated Cholesky
 * factorisations are faster with planned trees of 128 KiB to 8 MiB where this says that they are up to twice as slow
 * (doc/broadcasts.md). */
bool ti_tree_is_planned(ti_tree tree, uint32_t count, uint64_t segments)
{
    enum { WORTH = 2 };
    const ti_tree planned = tree == TI_TREE_BY_SIZE ? TI_TREE_BINOMIAL : tree,
                  found = tree == TI_TREE_BY_SIZE ? ti_tree_by_size(count, segments) : tree;
    return planned_cost(planned, count, segments) <= WORTH * found_cost(found, count, segments);
}

uint32_t ti_tree_depth(ti_tree tree, uint32_t count)
{
    switch (tree) {
    case TI_TREE_FLAT:
        return count > 0;
    case TI_TREE_BINOMIAL: /* as many as a position has bits set, at most */
    case TI_TREE_BINARY:
        return count ? 31 - (uint32_t)__builtin_clz(count + 1) : 0;
    case TI_TREE_CHAIN:
        return count;
    case TI_TREE_KINDS:
        break;
    }
    TI_UNREACHABLE();
}

uint32_t ti_tree_children(ti_tree tree, uint32_t count)
{
    switch (tree) {
    case TI_TREE_FLAT:
        return count;
    case TI_TREE_BINOMIAL:
        return count ? 32 - (uint32_t)__builtin_clz(count) : 0;
    case TI_TREE_BINARY:
        return count < 2 ? count : 2;
    case TI_TREE_CHAIN:
        return count ? 1 : 0;
    case TI_TREE_KINDS:
        break;
    }
    TI_UNREACHABLE();
}

uint32_t ti_tree_child_of(ti_tree tree, uint32_t i)
{
    uint32_t position = i + 1;
    switch (tree) {
    case TI_TREE_FLAT:
        return i;
    case TI_TREE_BINOMIAL:
        return (uint32_t)__builtin_ctz(position);
    case TI_TREE_BINARY:
        while (position > 2) {
            position = (position - 1) / 2;
        }
        return position - 1;
    case TI_TREE_CHAIN:
        return 0;
    case TI_TREE_KINDS:
        break;
    }
    TI_UNREACHABLE();
}
