/* Tiles by number: see tile.h. */
#include "grid/tile.h"

#include "base/check.h"

#include <string.h>

enum { FIRST_SLOTS = 32, FIRST_NOTES = 16 };
_Static_assert(TI_TILES < 1 << TI_TILE_BITS, "there are bits for all numbers");

static inline ti_box box_of(const ti_tiles *t, uint32_t number)
{
    const int64_t *from = &t->corner.data[(size_t)2 * (size_t)t->dims * (number - 1)];
    ti_box box = { { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < t->dims; d++) {
        box.min[d] = from[d];
        box.max[d] = from[t->dims + d];
    }
    return box;
}

static void put(const ti_tiles *t, uint32_t number)
{
    const ti_box box = box_of(t, number);
    uint64_t hash = ti_tile_hash(&box);
    uint32_t at = (uint32_t)(hash >> 32) & (t->slots - 1);
    while (t->slot[at]) {
        at = (at + 1) & (t->slots - 1);
    }
    t->slot[at] = ((uint32_t)hash & ~(((uint32_t)1 << TI_TILE_BITS) - 1)) | number;
}

static void grow(ti_tiles *t)
{
    ti_free(t->slot, t->slots * sizeof(*t->slot));
    t->slots = t->slots ? 2 * t->slots : FIRST_SLOTS;
    t->slot = TI_NEW_ARRAY(uint32_t, t->slots);
    for (uint32_t i = 1; i <= t->count; i++) {
        put(t, i);
    }
}

uint32_t ti_tiles_add(ti_tiles **tiles, int dims, const ti_box *box)
{
    ti_tiles *t = *tiles;
    if (!t) {
        t = *tiles = TI_NEW(ti_tiles);
        t->dims = dims;
    }
    TI_ASSERT(t->dims == dims && dims > 0 && !ti_box_is_empty(box));
    if (t->count == TI_TILES) {
        return 0;
    }
    if (2 * (t->count + 1) > t->slots) {
        grow(t);
    }
    for (int i = 0; i < 2 * dims; i++) {
        ti_vec_push(&t->corner, i < dims ? box->min[i] : box->max[i - dims]);
    }
    put(t, ++t->count);
    return t->count;
}

void ti_tiles_destroy(ti_tiles *t)
{
    if (t) {
        ti_free(t->slot, t->slots * sizeof(*t->slot));
        ti_vec_fini(&t->corner);
        TI_DELETE(t);
    }
}

static size_t size_of(const ti_tile_notes *notes)
{
    return notes ? sizeof(*notes) + notes->count * sizeof(notes->note[0]) : 0;
}

void ti_tile_note(ti_tile_notes **notes, uint32_t tile, uint64_t note)
{
    uint32_t old = *notes ? (*notes)->count : 0, count = TI_MAX(old, (uint32_t)FIRST_NOTES);
    if (tile == 0) {
        return;
    }
    while (count <= tile) {
        count *= 2;
    }
    if (count > old) {
        *notes = ti_realloc(*notes, size_of(*notes), sizeof(**notes) + count * sizeof((*notes)->note[0]));
        memset((*notes)->note + old, 0, (count - old) * sizeof((*notes)->note[0]));
        (*notes)->count = count;
    }
    (*notes)->note[tile] = note;
}

void ti_tile_notes_destroy(ti_tile_notes *notes)
{
    ti_free(notes, size_of(notes));
}
