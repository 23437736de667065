/* Symbolic versions: who wrote each part of a buffer last and who holds a copy, for all nodes at once, identical on all
 * nodes.
 *
 * The idea: instead of one owner per element, an entry names the *access* that wrote it (a mapper over a split) and
 * those that read it since. Which node owns or holds an index follows by evaluating mappers on a few chunks, or by
 * inverting them, whatever the number of nodes. An entry is {box, writer, copies}: writer is `undefined`, a holder
 * (node q owns what the mapper covers for its chunks), or `nodes [a,b)`, all of which hold the box. Copies say who else
 * holds it, because it has read it (plan/version/copies.h).
 *
 * Invariants: entries are disjoint and cover the buffer; while there have not been more than TI_VERSION_MANY, no two
 * entries that join to a box have equal writers and equal copies; content depends on tasks, number of nodes and
 * configuration only. doc/internals.md has the rules R1 to R12 by number. Scheduler thread. */
#ifndef TI_VERSION_H
#define TI_VERSION_H

#include "plan/version/copies.h"

typedef enum ti_writer_kind { TI_WRITER_UNDEFINED, TI_WRITER_SPLIT, TI_WRITER_NODES } ti_writer_kind;

/* In a map of more than TI_VERSION_MANY entries, what is used by itself stays an entry; up to TI_VERSION_APART what one
 * node writes becomes one. */
enum { TI_VERSION_MANY = 64, TI_VERSION_APART = 1 << 17 };

typedef struct ti_version {
    ti_box box;
    ti_writer_kind kind;
    int a, b;          /* nodes [a,b) */
    ti_holder *writer; /* split */
    ti_copies *copies; /* referenced */
    bool dirty;        /* waits to be merged */
    uint8_t besides;
    uint64_t beside_at;           /* the change of the map after which `beside` was looked for */
    struct ti_version *beside[6]; /* entries that share a whole face with this one, by minimum corner */
    struct ti_version *next_free;
} ti_version;

typedef TI_VEC(ti_version *) ti_versions;

/* What an entry says, kept elsewhere; it refers to the holders too. */
typedef struct ti_version_state {
    ti_box box;
    ti_writer_kind kind;
    int a, b;
    ti_holder *writer;
    ti_copies *copies;
} ti_version_state;

ti_version_state ti_version_state_take(const ti_version *v);
void ti_version_state_drop(const ti_version_state *s);
bool ti_version_state_is_of(const ti_version_state *s, const ti_version *v);

/* The nodes that hold an entry as its writers. */
static inline ti_node_range ti_version_owners(const ti_version *v)
{
    ti_node_range none = { 0, 0 }, all = { v->a, v->b };
    return v->kind == TI_WRITER_NODES ? all : none;
}

/* Whether two entries were written by the same. */
static inline bool ti_version_has_writer_of(const ti_version *x, const ti_version *y)
{
    return x->kind == y->kind && (x->kind != TI_WRITER_SPLIT || x->writer == y->writer) &&
           (x->kind != TI_WRITER_NODES || (x->a == y->a && x->b == y->b));
}

typedef struct ti_version_map {
    ti_box extent;
    int nodes;
    ti_region_map index; /* box to ti_version */
    ti_holder_cache holders;
    ti_copies_cache copies;
    uint64_t *evaluated;
    uint64_t changes; /* of the boxes of entries; not 0 */
    size_t most;      /* entries that there have been */
    ti_version *free;
    ti_versions dirty, hit;
    ti_region_entries found, other;
} ti_version_map;

/* `initialised`: all of `nodes` nodes hold the initial contents. `evaluated` counts mapper evaluations on chunks. */
void ti_version_map_init(ti_version_map *map, const ti_box *extent, int nodes, bool initialised, uint64_t *evaluated);
void ti_version_map_fini(ti_version_map *map);

/* The nodes of `reader` hold what it covers from now on. */
void ti_version_map_read(ti_version_map *map, ti_holder *reader);
/* The chunks of `writer` wrote what it covers; a constant writer leaves it with all nodes that have chunks. */
void ti_version_map_write(ti_version_map *map, ti_holder *writer);
/* All nodes [0,nodes) hold `box` from now on; its contents stay. */
void ti_version_map_share(ti_version_map *map, const ti_box *box, int nodes);
/* Nodes [a,b), and nobody else, hold new contents of `box`. */
void ti_version_map_set(ti_version_map *map, const ti_box *box, int a, int b);

/* The `count` entries from `state` on take the place of all that there are; they are what this map had before. */
void ti_version_map_load(ti_version_map *map, const ti_version_state *state, size_t count);

/* What tiles need, whose boxes are entries: the entry that is exactly `box`, or NULL; valid until the next change. */
ti_version *ti_version_map_find(ti_version_map *map, const ti_box *box);
/* Node q reads all of the entry: the same as ti_version_map_read. */
void ti_version_map_hold(ti_version_map *map, ti_version *v, int q);
/* Node q writes all of the entry: the same as ti_version_map_set. */
void ti_version_map_own(ti_version_map *map, ti_version *v, int q);
/* Who sends the entry to node q, which reads all of it. TI_NOBODY: q lacks nothing. TI_UNDECIDED: it takes a holder to
 * tell. */
enum { TI_NOBODY = -1, TI_UNDECIDED = -2 };
int ti_version_sender(const ti_version *v, int q);

/* The entries that meet `box`, by minimum corner; valid until the next change or query. */
const ti_versions *ti_version_map_query(ti_version_map *map, const ti_box *box);
/* The same for entries that meet any of the boxes, of which there is at least one. */
const ti_versions *ti_version_map_query_any(ti_version_map *map, const ti_boxes *boxes);

/* Whether node q lacks nothing of this entry by any of the reads, decided without evaluating a chunk. */
bool ti_version_is_free(const ti_version *v, ti_holders reads);

/* What one node reads of a part of an entry, and what of that it holds already. */
typedef struct ti_demand {
    ti_boxes image, held, rest;
    bool apart;        /* images do not overlap */
    uint64_t compared; /* pairs of boxes so far, for tests: custom mappers may have very many boxes */
} ti_demand;
/* Of node q for a task with these reads, in `clip`, which lies in the entry's box. As holder counts who read, and with
 * ti_demand_hold_own who wrote. */
void ti_demand_make(const ti_version_map *map, const ti_version *v, ti_holders reads, int q, const ti_box *clip,
                    ti_demand *demand);
void ti_demand_hold_own(const ti_version_map *map, const ti_version *v, int q, const ti_box *clip, ti_demand *demand);
/* What the node lacks of `clip`: the one function that sender and receiver both call, for the same clips. Replaces
 * `out`. */
void ti_demand_lacks(ti_demand *demand, const ti_box *clip, ti_boxes *out);
void ti_demand_fini(ti_demand *demand);

/* What node q lacks of the whole entry. Replaces `demand`, with what q wrote itself, and `out`. */
void ti_version_wants(const ti_version_map *map, const ti_version *v, ti_holders reads, int q, ti_boxes *out,
                      ti_demand *demand);
/* What chunk c of the writer owns of an entry. Replaces `out`. */
void ti_version_owned(const ti_version_map *map, const ti_version *v, int64_t c, ti_boxes *out);

/* A digest of the content, equal on all nodes. */
uint64_t ti_version_map_digest(ti_version_map *map);
bool ti_version_map_is_valid(ti_version_map *map);

#endif
