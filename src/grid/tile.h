/* Tiles: boxes of a buffer that placed tasks name again and again, by number.
 *
 * The idea: a program of tiles names the same boxes all the time, and every map of every stage would have to look for
 * them. So the box is looked up once, when a task is submitted, and gets a number. Each stage keeps beside its map what
 * it found for a number. That is a hint: whoever follows it makes sure that it is of this box, since entries are cut
 * and merged, and looks in the map if it is not. A number stands for its box as long as the buffer lives. 0 is none: a
 * box that has no number is looked for in the map.
 *
 * Bounds: a buffer has at most TI_TILES numbers, of 24 to 56 bytes each, and as much again while they grow; 8 more in
 * each map that has used it. Owned by one thread each. */
#ifndef TI_GRID_TILE_H
#define TI_GRID_TILE_H

#include "base/alloc.h"
#include "base/vec.h"
#include "grid/box.h"

enum { TI_TILES = 1 << 18 };

/* ---- from boxes to numbers */

/* A hash with open addressing, which nothing ever leaves. A slot has the number of a tile and some bits of the hash, so
 * that others are seldom looked at. */
enum { TI_TILE_BITS = 19 };
typedef struct ti_tiles {
    uint32_t *slot; /* by the hash of the box; 0: a free place */
    uint32_t slots; /* a power of two, at least twice the boxes */
    uint32_t count;
    int dims;
    TI_VEC(int64_t) corner; /* of number n: minima from 2 * dims * (n - 1) on, then maxima */
} ti_tiles;

/* Of any corners, also of those of no box. */
static inline uint64_t ti_tile_hash(const ti_box *box)
{
    const uint64_t max = (uint64_t)box->max[0] + ((uint64_t)box->max[1] << 20) + (uint64_t)box->max[1] +
                         ((uint64_t)box->max[2] << 40);
    uint64_t h = (uint64_t)box->min[0] * 0xc2b2ae3d27d4eb4fu + (uint64_t)box->min[1] * 0x165667b19e3779f9u +
                 (uint64_t)box->min[2] * 0xa0761d6478bd642fu + max;
    return (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
}
/* `dims` of the tiles: where it is a constant, compilers make a few comparisons of it. */
static inline bool ti_tile_has_box(const ti_tiles *t, int dims, uint32_t number, const ti_box *box)
{
    const int64_t *min = &t->corner.data[(size_t)2 * (size_t)dims * (number - 1)], *max = min + dims;
    int64_t differ = 0;
    for (int d = 0; d < dims; d++) {
        differ |= (min[d] ^ box->min[d]) | (max[d] ^ box->max[d]);
    }
    return differ == 0;
}
/* The number of a box, or 0: it has none. */
static inline uint32_t ti_tiles_find(const ti_tiles *t, int dims, const ti_box *box)
{
    const uint32_t numbers = ((uint32_t)1 << TI_TILE_BITS) - 1, last = t->slots - 1;
    const uint64_t hash = ti_tile_hash(box);
    uint32_t slot;
    for (uint32_t at = (uint32_t)(hash >> 32); (slot = t->slot[at & last]); at++) {
        if (((slot ^ (uint32_t)hash) & ~numbers) == 0 && ti_tile_has_box(t, dims, slot & numbers, box)) {
            return slot & numbers;
        }
    }
    return 0;
}
uint32_t ti_tiles_add(ti_tiles **tiles, int dims, const ti_box *box);

/* The number of a box of so many dimensions, which is given now if it has none and there is one left. *tiles is NULL or
 * made by this, for boxes of as many dimensions. */
static inline uint32_t ti_tiles_number(ti_tiles **tiles, int dims, const ti_box *box)
{
    const uint32_t number = *tiles ? ti_tiles_find(*tiles, dims, box) : 0;
    return TI_LIKELY(number > 0) ? number : ti_tiles_add(tiles, dims, box);
}
void ti_tiles_destroy(ti_tiles *tiles);

/* ---- what a stage knows of a tile: an address or another number */

typedef struct ti_tile_notes {
    uint32_t count;
    uint64_t note[]; /* by number; 0: nothing */
} ti_tile_notes;

static inline uint64_t ti_tile_note_of(const ti_tile_notes *notes, uint32_t tile)
{
    return notes && tile < notes->count ? notes->note[tile] : 0;
}
/* *notes is NULL or made by this; for tile 0 nothing is noted. */
void ti_tile_note(ti_tile_notes **notes, uint32_t tile, uint64_t note);
void ti_tile_notes_destroy(ti_tile_notes *notes);

#endif
