/* Trees of broadcasts: see tree.h.
 *
 * The sender has position 0, the i-th recipient position i + 1. Binomial: in step k all positions below 2^k have the
 * data and send to 2^k further on, so a child of the root is a power of two, and its subtree are the positions whose
 * lowest bit it is. Binary: as in a heap. */
#include "comm/tree.h"

#include "base/check.h"
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
ti_tree ti_tree_by_size(uint32_t count, uint64_t segments)
{
    enum { HOP = 2 };
    uint64_t steps = ti_tree_children(TI_TREE_BINOMIAL, count);
    uint64_t binomial = steps * (HOP + segments), binary = steps * (HOP + 2) + 2 * segments,
             chain = (uint64_t)count * (HOP + 1) + segments;
    return binomial <= binary && binomial <= chain ? TI_TREE_BINOMIAL
           : binary <= chain                       ? TI_TREE_BINARY
                                                   : TI_TREE_CHAIN;
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
