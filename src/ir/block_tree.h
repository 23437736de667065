/* The fixed tree of reductions whose bits must not depend on the machine (tacit_config.reproducible).
 *
 * The range is cut along dimension 0 into blocks of equal length, at most TI_MAX_BLOCKS, by its length and the
 * task's granularity alone. Over the blocks stands a complete binary tree, clipped at the last block: the subtree
 * that begins at block s, s > 0, is the largest one whose length divides s; it is a right child, and its sibling
 * begins at s - that length. Whoever has blocks [a,b), whatever a and b, can combine exactly those neighbours that
 * are siblings, and what remains are subtrees: at most one per bit of a and of b. So each result is the same
 * expression over blocks, however they were dealt to workers, devices and nodes. Pure functions and a plain value.
 * Any thread. */
#ifndef TI_BLOCK_TREE_H
#define TI_BLOCK_TREE_H

#include "base/macro.h"

enum { TI_MAX_BLOCKS = 256, TI_BLOCK_BITS = 8, TI_BLOCK_STACK = 2 * TI_BLOCK_BITS + 2 };

/* The partial result of blocks [first, end): a subtree. */
typedef struct ti_block_span {
    uint32_t first, end;
} ti_block_span;

/* Items in a block: a multiple of `gran`, so that `length` items, at least 1, make at most TI_MAX_BLOCKS blocks. */
int64_t ti_block_items(int64_t length, int64_t gran);

/* The largest subtree that begins at block `first` > 0; its left sibling ends there. */
ti_block_span ti_block_subtree(uint32_t first, uint32_t blocks);
/* Where the left sibling of that subtree begins: whoever has this block combines the two. */
uint32_t ti_block_sibling(uint32_t first);
/* The subtrees that make up `span`, of any borders, as few as possible, ascending; returns their number. */
uint32_t ti_block_subtrees(ti_block_span span, uint32_t blocks, ti_block_span out[TI_BLOCK_STACK]);
/* Slots that a run of `count` blocks needs at most while it is combined from left to right. */
uint32_t ti_block_depth(uint32_t count);

/* Subtrees from left to right without a gap, none of which is the sibling of the next. */
typedef struct ti_block_stack {
    uint32_t blocks; /* of the whole range */
    uint32_t count;
    ti_block_span span[TI_BLOCK_STACK];
    uint32_t slot[TI_BLOCK_STACK]; /* where each partial result lies */
} ti_block_stack;

/* Add the subtree that follows; then fold until that says no. */
void ti_block_stack_push(ti_block_stack *stack, ti_block_span span, uint32_t slot);
/* If the two newest are siblings, they become one, and slot `from` must be combined into slot `into`. */
bool ti_block_stack_fold(ti_block_stack *stack, uint32_t *into, uint32_t *from);

#endif
