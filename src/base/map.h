/* A hash map from 64-bit keys to 64-bit values: open addressing, linear probing, no tombstones.
 *
 * Iteration order depends on insertion history, so nothing that all nodes must agree on may iterate. One thread. */
#ifndef TI_MAP_H
#define TI_MAP_H

#include "base/alloc.h"

typedef struct ti_map {
    struct ti_map_slot {
        uint64_t key, value;
    } * slot;
    uint8_t *used;
    size_t count, capacity; /* a power of two */
} ti_map;

uint64_t *ti_map_find(const ti_map *map, uint64_t key); /* NULL if absent; valid until the next change */
uint64_t *ti_map_at(ti_map *map, uint64_t key);         /* inserts 0 if absent */
bool ti_map_remove(ti_map *map, uint64_t key, uint64_t *out_value);
void ti_map_fini(ti_map *map); /* a zeroed map is an empty one */

static inline uint64_t ti_hash64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    return x;
}
/* Hash of raw bytes; `size` is a multiple of 8. Equal on all machines of one byte order. */
static inline uint64_t ti_hash_words(const void *data, size_t size, uint64_t seed)
{
    const char *p = data;
    uint64_t h = seed ^ 0x27d4eb2f165667c5u;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t w;
        __builtin_memcpy(&w, p + i, 8);
        h = (h ^ w) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

#endif
