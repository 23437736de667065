/* Hash map: see map.h. Removal shifts the cluster back, so probing never meets tombstones. */
#include "base/map.h"

#include "base/check.h"

enum { MAP_START = 16 };

static size_t probe(const ti_map *map, uint64_t key)
{
    size_t i = ti_hash64(key) & (map->capacity - 1);
    while (map->used[i] && map->slot[i].key != key) {
        i = (i + 1) & (map->capacity - 1);
    }
    return i;
}

uint64_t *ti_map_find(const ti_map *map, uint64_t key)
{
    if (!map->count) {
        return NULL;
    }
    size_t i = probe(map, key);
    return map->used[i] ? &map->slot[i].value : NULL;
}

static void rehash(ti_map *map, size_t capacity)
{
    TI_ASSERT((capacity & (capacity - 1)) == 0 && capacity > map->count);
    ti_map old = *map;
    map->capacity = capacity;
    map->slot = ti_alloc(capacity * sizeof(*map->slot));
    map->used = ti_alloc_zero(capacity);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.used[i]) {
            size_t to = probe(map, old.slot[i].key);
            map->used[to] = 1;
            map->slot[to] = old.slot[i];
        }
    }
    ti_free(old.slot, old.capacity * sizeof(*old.slot));
    ti_free(old.used, old.capacity);
}

uint64_t *ti_map_at(ti_map *map, uint64_t key)
{
    if (2 * (map->count + 1) > map->capacity) {
        rehash(map, map->capacity ? 2 * map->capacity : MAP_START);
    }
    size_t i = probe(map, key);
    if (!map->used[i]) {
        map->used[i] = 1;
        map->slot[i].key = key;
        map->slot[i].value = 0;
        map->count++;
    }
    return &map->slot[i].value;
}

bool ti_map_remove(ti_map *map, uint64_t key, uint64_t *out_value)
{
    if (!map->count) {
        return false;
    }
    size_t i = probe(map, key), mask = map->capacity - 1;
    if (!map->used[i]) {
        return false;
    }
    if (out_value) {
        *out_value = map->slot[i].value;
    }
    map->count--;
    for (size_t j = (i + 1) & mask; map->used[j]; j = (j + 1) & mask) {
        size_t home = ti_hash64(map->slot[j].key) & mask;
        if (((j - home) & mask) >= ((j - i) & mask)) {
            map->slot[i] = map->slot[j];
            i = j;
        }
    }
    map->used[i] = 0;
    return true;
}

void ti_map_fini(ti_map *map)
{
    ti_free(map->slot, map->capacity * sizeof(*map->slot));
    ti_free(map->used, map->capacity);
    *map = (ti_map){ 0 };
}
