/* Symbolic versions: who wrote each part of a buffer last and who holds a copy, for all nodes at once, identical on all
 * nodes.
 *
 * The idea: instead of one owner per element, an entry names the *access* that wrote it (a mapper over a split) and
 * those that read it since. Which node owns or holds an index follows by evaluating mappers on a few chunks, or by
 * inverting them, whatever the number of nodes. An entry is {box, writer, copies}: writer is `undefined`, a holder
 * (node q owns what the mapper covers for its chunks), or `nodes [a,b)`, all of which hold the box. Copies say who else
 * holds it, because it has read it (plan/holder/copies.h).
 *
 * Invariants: entries are disjoint and cover the buffer; while there have not been more than TI_VERSION_MANY, no two
 * entries that join to a box have equal writers and equal copies; content depends on tasks, number of nodes and
 * configuration only. doc/internals.md has the rules R1 to R12 by number. Scheduler thread. */
#ifndef TI_VERSION_H
#define TI_VERSION_H

#include "grid/tile.h"
#include "plan/holder/copies.h"

typedef enum ti_writer_kind { TI_WRITER_UNDEFINED, TI_WRITER_SPLIT, TI_WRITER_NODES } ti_writer_kind;

/* In a map of more than TI_VERSION_MANY entries, what is used by itself stays an entry; up to TI_VERSION_APART what one
 * node writes becomes one. */
enum { TI_VERSION_MANY = 64, TI_VERSION_APART = 1 << 17 };
/* A tile is read by one node after the other, and each would make a new value of its copies. So few nodes are listed
 * with the entry first. */
enum { TI_VERSION_BESIDE = 6, TI_VERSION_JOINING = 12 };

/* What tasks on tiles look at comes first, side by side, with the first nodes that have joined. */
typedef struct ti_version {
    ti_writer_kind kind;
    uint32_t tile;     /* that is its box; 0: none, or not known */
    int a, b;          /* nodes [a,b) */
    ti_copies *copies; /* referenced */
    bool dirty;        /* waits to be merged */
    uint8_t besides;
    uint8_t joined;     /* nodes that hold it, too, and are not in `copies` yet */
    uint64_t beside_at; /* the change of the map after which `beside` was looked for; 0: never, or `join` lies there */
    union {
        int32_t
            join[TI_VERSION_JOINING]; /* those nodes; whoever asks for more than one gets them in `copies` (gather) */
        struct ti_version *beside[TI_VERSION_BESIDE]; /* entries with a whole face of this one, by minimum corner */
    };
    ti_holder *writer; /* split */
    ti_box box;
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
    ti_region_map index;  /* box to ti_version */
    ti_tile_notes *tiles; /* the entry of a tile: if it still has its box */
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
/* The same; besides, the nodes of `copy` have computed themselves what it covers of that. NULL: none has. */
void ti_version_map_write_copied(ti_version_map *map, ti_holder *writer, ti_holder *copy);
/* All nodes [0,nodes) hold `box` from now on; its contents stay. */
void ti_version_map_share(ti_version_map *map, const ti_box *box, int nodes);
/* Nodes [a,b), and nobody else, hold new contents of `box`. */
void ti_version_map_set(ti_version_map *map, const ti_box *box, int a, int b);

/* The `count` entries from `state` on take the place of all that there are; they are what this map had before. */
void ti_version_map_load(ti_version_map *map, const ti_version_state *state, size_t count);

/* What tiles need, whose boxes are entries: the entry that is exactly `box`, whose number is `tile` or 0; or NULL.
 * Valid until the next change. */
ti_version *ti_version_map_find(ti_version_map *map, uint32_t tile, const ti_box *box);
/* The same for the three functions below, which need not know of all copies: faster. */
ti_version *ti_version_map_search(ti_version_map *map, uint32_t tile, const ti_box *box);
static inline ti_version *ti_version_map_tile(ti_version_map *map, uint32_t tile, const ti_box *box)
{
    ti_version *v = (ti_version *)(uintptr_t)ti_tile_note_of(map->tiles, tile);
    return TI_LIKELY(v && v->tile == tile) ? v : ti_version_map_search(map, tile, box);
}
/* Whether an entry that is used by itself stays apart from its neighbours, as tiles should, which would be cut again
 * (R3). Contents of smaller maps are compared as wholes (replay.h), and cheap to merge. */
static inline bool ti_version_map_stays_apart(const ti_version_map *map)
{
    return map->index.count > TI_VERSION_MANY;
}
/* Node q reads all of the entry: the same as ti_version_map_read. */
void ti_version_map_hold(ti_version_map *map, ti_version *v, int q);
/* One more that has joined. */
static inline void ti_version_list(ti_version *v, int q)
{
    v->beside_at = 0;
    v->join[v->joined++] = q;
}
/* The same if q does not hold it. Of a tile that one node wrote nothing is cut or merged. */
static inline void ti_version_map_join(ti_version_map *map, ti_version *v, int q)
{
    if (TI_LIKELY(ti_version_map_stays_apart(map) && v->kind == TI_WRITER_NODES && v->joined < TI_VERSION_JOINING)) {
        ti_version_list(v, q);
    } else {
        ti_version_map_hold(map, v, q);
    }
}
/* Node q writes all of the entry: the same as ti_version_map_set. */
void ti_version_map_write_entry(ti_version_map *map, ti_version *v, int q);
static inline void ti_version_map_own(ti_version_map *map, ti_version *v, int q)
{
    if (TI_UNLIKELY(!ti_version_map_stays_apart(map) || v->kind != TI_WRITER_NODES)) {
        ti_version_map_write_entry(map, v, q);
        return;
    }
    ti_copies_unref(v->copies);
    v->copies = NULL;
    v->joined = 0;
    v->a = q;
    v->b = q + 1;
}
static inline bool ti_version_has_joined(const ti_version *v, int q)
{
    for (int i = 0; i < v->joined; i++) {
        if (v->join[i] == q) {
            return true;
        }
    }
    return false;
}
static inline bool ti_version_holds(const ti_version *v, int q)
{
    return (v->kind == TI_WRITER_NODES && v->a <= q && q < v->b) || ti_version_has_joined(v, q) ||
           ti_copies_have_node(v->copies, q);
}
/* Of nodes that have written it: the one that sends it to a node that lacks it. */
static inline int ti_version_writer_for(const ti_version *v, int q)
{
    return TI_LIKELY(v->b == v->a + 1) ? v->a : v->a + q % (v->b - v->a);
}
/* Who sends the entry to node q, which reads all of it. TI_NOBODY: q lacks nothing. TI_UNDECIDED: it takes a holder to
 * tell. */
enum { TI_NOBODY = -1, TI_UNDECIDED = -2 };
static inline int ti_version_sender(const ti_version *v, int q)
{
    if (v->kind == TI_WRITER_UNDEFINED || ti_version_holds(v, q)) {
        return TI_NOBODY;
    }
    if (v->kind == TI_WRITER_SPLIT || ti_copies_readers(v->copies)) {
        return TI_UNDECIDED;
    }
    return ti_version_writer_for(v, q);
}

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
