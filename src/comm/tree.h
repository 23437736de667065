/* Trees of broadcasts by source routing: from a list of recipients, who sends to whom.
 *
 * A sender that has a list cuts it into one list per child. The first of each is the child, which does the same with
 * the others: so nobody but the root knows the whole tree, and nobody has to agree on it. Recipients that come early in
 * a list get the data early, so lists are sorted by urgency. Plain functions; any thread. */
#ifndef TI_TREE_H
#define TI_TREE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ti_tree {
    TI_TREE_FLAT,     /* the root sends to all */
    TI_TREE_BINOMIAL, /* whoever has the data sends it on in every step: the fewest steps */
    TI_TREE_BINARY,   /* nobody sends more than twice */
    TI_TREE_CHAIN,    /* nobody sends more than once */
    TI_TREE_KINDS,
    TI_TREE_BY_SIZE = TI_TREE_KINDS /* of each payload: ti_tree_by_size */
} ti_tree;

/* Which tree tacit_config.broadcast means. On one machine nobody's link is the narrowest: what a relay forwards could
 * as well have been sent by the root, and the relay would have to get a core first. */
ti_tree ti_tree_of_setting(int broadcast, bool one_machine);

/* The tree, with relays, that brings a payload of so many segments to `count` recipients in the shortest time, if links
 * are what limits it. */
ti_tree ti_tree_by_size(uint32_t count, uint64_t segments);

/* Payloads are cut into these by relays, and payloads of at most one are not. */
enum { TI_TREE_SEGMENT = 128 << 10 };
static inline uint64_t ti_tree_segments(uint64_t bytes, uint64_t segment)
{
    return bytes > segment ? (bytes + segment - 1) / segment : 1;
}

/* Whether a tree is to be taken that all nodes have planned, which needs neither offers nor copies, but whose nodes
 * forward whole payloads: unless the broadcast that its sender would find, by `tree` or TI_TREE_BY_SIZE, promises to
 * take less than half of its time. Of the latter, what is planned is TI_TREE_BINOMIAL. */
bool ti_tree_is_planned(ti_tree tree, uint32_t count, uint64_t segments);

/* How many messages bring a payload to the recipient that is farthest from the root. */
uint32_t ti_tree_depth(ti_tree tree, uint32_t count);

/* The number of children of who has a list of `count`. */
uint32_t ti_tree_children(ti_tree tree, uint32_t count);
/* Which child's list has the `i`-th of a list; the order within the lists stays. */
uint32_t ti_tree_child_of(ti_tree tree, uint32_t i);

#endif
