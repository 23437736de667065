/* How long kernels took: see length.h.
 *
 * A place holds the last kernel whose hash led to it. What a worker notes of a kernel that has lost its place is
 * dropped: the name is in the word that it would replace. */
#include "device/length.h"

#include "base/hash.h"

enum { NS_BITS = 40, EVERY = 8, SLOWLY = 8 };
#define MAX_NS (((uint64_t)1 << NS_BITS) - 1)

static uint64_t name_bits(uint64_t hash)
{
    return (hash | 1) << NS_BITS; /* never 0 */
}

static size_t place_of(uint64_t hash)
{
    return (hash >> 32) % TI_LENGTHS;
}

int ti_lengths_parts(ti_lengths *lengths, uintptr_t function, uint64_t items, int most, ti_length_name *name)
{
    name->hash = ti_hash_mix(ti_hash_mix(0, (uint64_t)function), items);
    size_t place = place_of(name->hash);
    uint64_t known = atomic_load_explicit(&lengths->known[place], memory_order_relaxed);
    if ((known & ~MAX_NS) != name_bits(name->hash)) {
        known = name_bits(name->hash);
        atomic_store_explicit(&lengths->known[place], known, memory_order_relaxed);
        lengths->launches[place] = 0;
    }
    uint64_t ns = name->ns = known & MAX_NS;
    name->is_measured = ns == 0 || lengths->launches[place]++ % EVERY == 0;
    return ns == 0 ? most : (int)TI_MAX(TI_MIN(ns / TI_PART_NS, (uint64_t)most), (uint64_t)1);
}

void ti_lengths_drop(ti_lengths *lengths, const ti_length_name *name)
{
    if (name->ns > 0) {
        lengths->launches[place_of(name->hash)]--;
    }
}

void ti_lengths_note(ti_lengths *lengths, const ti_length_name *name, uint64_t ns)
{
    _Atomic uint64_t *place = &lengths->known[place_of(name->hash)];
    uint64_t known = atomic_load_explicit(place, memory_order_relaxed), before = known & MAX_NS;
    ns = TI_MAX(TI_MIN(ns, MAX_NS), (uint64_t)1);
    if (before > 0 && ns > before) {
        ns = before + TI_MAX((ns - before) / SLOWLY, (uint64_t)1);
    }
    if ((known & ~MAX_NS) == name_bits(name->hash)) {
        (void)atomic_compare_exchange_strong_explicit(place, &known, name_bits(name->hash) | ns, memory_order_relaxed,
                                                      memory_order_relaxed);
    }
}
