/* A map from boxes to 64-bit values, with an index in space.
 *
 * The idea: an R-tree with small leaves. With few entries it is one leaf and a linear scan; with 100 000 tiles a
 * query for one tile visits a handful of tree nodes. The map stores what it is given: cutting and merging entries is
 * the business of its users, who know when values are equal.
 *
 * Searches cost most, so they are avoided where possible. The map remembers where it found something last, and each
 * leaf where the next thing was found: a loop over entries in order searches the tree once per leaf, and not at all the
 * second time. A tall tree has two hashes beside it. One leads from the corners of boxes that it was asked for to where
 * it found them, so that tiles in use are not searched for, however many there are. The other leads from a box that
 * consists of a few entries to these entries.
 *
 * Invariants: entries are disjoint unless `overlapping` is set, so what one entry covers is looked for nowhere else.
 * A query's result is ordered by minimum corner, whatever the shape of the tree, so nodes with equal contents see equal
 * lists. The tree's own: region_map_impl.h. Owned by one thread. */
#ifndef TI_REGION_MAP_H
#define TI_REGION_MAP_H

#include "base/vec.h"
#include "grid/box.h"

typedef struct ti_region_entry {
    ti_box box;
    uint64_t value;
} ti_region_entry;

typedef TI_VEC(ti_region_entry) ti_region_entries;

/* An entry where it lies: valid until the next insert or remove. The value may be changed. */
typedef struct ti_region_ref {
    const ti_box *box;
    uint64_t *value;
} ti_region_ref;

typedef TI_VEC(ti_region_ref) ti_region_refs;

typedef struct ti_region_node ti_region_node;
typedef struct ti_region_finger ti_region_finger;
typedef struct ti_region_group ti_region_group;

typedef struct ti_region_map {
    ti_region_node *root;      /* NULL if empty */
    uint32_t count;            /* entries */
    int32_t at;                /* the place of the entry that was found last in its leaf: */
    ti_region_node *finger;    /* from which loops go on; or NULL */
    int8_t height;             /* 0: the root is a leaf */
    bool overlapping;          /* set by users whose entries may overlap */
    uint16_t spares;           /* how many tree nodes wait for reuse: */
    uint32_t freed;            /* how many times one was given back for good */
    ti_region_node *spare;     /* between horizons the tree grows and shrinks again and again */
    ti_region_finger *fingers; /* where things were found, by the corner asked for; NULL until the tree has height */
    ti_region_group *groups;   /* where few were found together, by the box asked for; NULL until there are any */
    uint32_t max_fingers;      /* a power of two, which grows with the map */
    uint32_t max_groups;       /* likewise */
    ti_region_entries
        *orphans; /* scratch: entries that lose their leaves for a moment, and neighbours to join; or NULL */
} ti_region_map;

void ti_region_map_init(ti_region_map *map);
void ti_region_map_fini(ti_region_map *map);

/* `box` is not empty. */
void ti_region_map_insert(ti_region_map *map, const ti_box *box, uint64_t value);
/* The same, but joined with neighbours that have the same value, as long as there are any. */
void ti_region_map_insert_joined(ti_region_map *map, const ti_box *box, uint64_t value);
/* The entry with exactly this box: a pointer to its value (valid until the next insert or remove), or NULL. */
uint64_t *ti_region_map_find(ti_region_map *map, const ti_box *box);
/* The same, if the entry is where loops go on: the tree is not searched. */
uint64_t *ti_region_map_near(ti_region_map *map, const ti_box *box);
/* Remove one entry with exactly this box and this value. Returns whether there was one. */
bool ti_region_map_remove(ti_region_map *map, const ti_box *box, uint64_t value);
/* Replace the entry with exactly this box by `n` (1 to 7) others that together are its box. */
void ti_region_map_cut(ti_region_map *map, const ti_box *box, const ti_region_entry *piece, int n);
/* Remove all entries that `box` covers. Returns how many. */
size_t ti_region_map_remove_inside(ti_region_map *map, const ti_box *box);
/* The entries that `box` covers, of which it consists, become one entry. Returns how many they were. */
size_t ti_region_map_unite(ti_region_map *map, const ti_box *box, uint64_t value);
/* Append all entries that meet `box`, sorted by ti_box_compare (and by value among equal boxes), to `out`. */
void ti_region_map_query(ti_region_map *map, const ti_box *box, ti_region_entries *out);
/* The same without copies, in no particular order. `out` is cleared first. */
void ti_region_map_refer(ti_region_map *map, const ti_box *box, ti_region_refs *out);
/* The same where the caller remembers what was found: the map does not. */
void ti_region_map_refer_once(ti_region_map *map, const ti_box *box, ti_region_refs *out);
/* Append all entries that share a whole face with `box`, so that both together are a box: few, however many lie around.
 * Sorted. */
void ti_region_map_query_joining(const ti_region_map *map, const ti_box *box, ti_region_entries *out);
/* Append a few entries that lie together (at most TI_REGION_MAP_FEW), and move the cursor on to the next ones. Called
 * again and again, from a cursor of 0, it goes around the whole map, if that changes little meanwhile. */
enum { TI_REGION_MAP_FEW = 16 };
void ti_region_map_visit(const ti_region_map *map, uint64_t *cursor, ti_region_entries *out);
bool ti_region_map_is_valid(const ti_region_map *map);

#endif
