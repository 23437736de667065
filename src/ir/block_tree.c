/* The fixed tree over blocks: see block_tree.h. */
#include "ir/block_tree.h"

#include "base/check.h"

int64_t ti_block_items(int64_t length, int64_t gran)
{
    return gran * ti_ceil_div(ti_ceil_div(length, gran), TI_MAX_BLOCKS);
}

/* The largest power of two that divides n > 0. */
static uint32_t lowest_bit(uint32_t n)
{
    TI_ASSERT(n > 0);
    return n & (0 - n);
}

ti_block_span ti_block_subtree(uint32_t first, uint32_t blocks)
{
    return (ti_block_span){ first, TI_MIN(first + lowest_bit(first), blocks) };
}

uint32_t ti_block_sibling(uint32_t first)
{
    return first - lowest_bit(first);
}

uint32_t ti_block_subtrees(ti_block_span span, uint32_t blocks, ti_block_span out[TI_BLOCK_STACK])
{
    uint32_t count = 0;
    for (uint32_t at = span.first; at < span.end; at = out[count++].end) {
        uint32_t length = at > 0 ? lowest_bit(at) : TI_MAX_BLOCKS;
        while (TI_MIN(at + length, blocks) > span.end) {
            length /= 2;
        }
        TI_ASSERT(count < TI_BLOCK_STACK);
        out[count] = (ti_block_span){ at, TI_MIN(at + length, blocks) };
    }
    return count;
}

uint32_t ti_block_depth(uint32_t count)
{
    uint32_t bits = 0;
    while ((count + 1) >> (bits + 1)) {
        bits++;
    }
    return TI_MIN(count, 2 * bits); /* one per bit of both borders, and the newest block; see the unit test */
}

void ti_block_stack_push(ti_block_stack *stack, ti_block_span span, uint32_t slot)
{
    TI_ASSERT(stack->count < TI_BLOCK_STACK && span.first < span.end && span.end <= stack->blocks);
    TI_ASSERT(stack->count == 0 || stack->span[stack->count - 1].end == span.first);
    stack->span[stack->count] = span;
    stack->slot[stack->count++] = slot;
}

/* Only the last subtree may be clipped, so one that is followed by another has its full length, a power of two. */
static bool are_siblings(ti_block_span left, ti_block_span right, uint32_t blocks)
{
    uint32_t length = left.end - left.first;
    return left.first % (2 * length) == 0 && right.end == TI_MIN(left.end + length, blocks);
}

bool ti_block_stack_fold(ti_block_stack *stack, uint32_t *into, uint32_t *from)
{
    if (stack->count < 2) {
        return false;
    }
    ti_block_span *left = &stack->span[stack->count - 2], *right = left + 1;
    if (!are_siblings(*left, *right, stack->blocks)) {
        return false;
    }
    *into = stack->slot[stack->count - 2];
    *from = stack->slot[--stack->count];
    left->end = right->end;
    return true;
}
