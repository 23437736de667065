/* How long kernels took: see length.h.
 *
 * A hash of the kernel selects a cache line of places, one of which is the kernel's. Where all are taken, it gets the
 * one that was given away the longest time ago. What a worker notes of a kernel that has lost its place is dropped: the
 * kernel's name is part of the word that the worker would replace. */
#include "device/length.h"

#include "base/hash.h"

enum { NS_BITS = 40, EVERY = 8, SLOWLY = 8 };
#define MAX_NS (((uint64_t)1 << NS_BITS) - 1)

static uint64_t name_bits(uint64_t hash)
{
    return (hash | 1) << NS_BITS; /* never 0 */
}

/* Where the name is, or may be now. */
static size_t place_of(ti_lengths *lengths, uint64_t hash)
{
    const size_t line = (hash >> 32) % (TI_LENGTHS / TI_LENGTH_WAYS), first = line * TI_LENGTH_WAYS;
    for (size_t i = first; i < first + TI_LENGTH_WAYS; i++) {
        const uint64_t known = atomic_load_explicit(&lengths->known[i], memory_order_relaxed);
        if ((known & ~MAX_NS) == name_bits(hash)) {
            return i;
        }
    }
    const size_t place = first + lengths->given[line]++ % TI_LENGTH_WAYS;
    atomic_store_explicit(&lengths->known[place], name_bits(hash), memory_order_relaxed);
    lengths->launches[place] = 0;
    return place;
}

int ti_lengths_parts(ti_lengths *lengths, uintptr_t function, uint64_t items, int most, ti_length_name *name)
{
    name->hash = ti_hash_mix(ti_hash_mix(0, (uint64_t)function), items);
    name->place = place_of(lengths, name->hash);
    uint64_t ns = name->ns = atomic_load_explicit(&lengths->known[name->place], memory_order_relaxed) & MAX_NS;
    name->is_measured = ns == 0 || lengths->launches[name->place]++ % EVERY == 0;
    return ns == 0 ? most : (int)TI_MAX(TI_MIN(ns / TI_PART_NS, (uint64_t)most), (uint64_t)1);
}

void ti_lengths_drop(ti_lengths *lengths, const ti_length_name *name)
{
    if (name->ns > 0) {
        lengths->launches[name->place]--;
    }
}

void ti_lengths_note(ti_lengths *lengths, const ti_length_name *name, uint64_t ns)
{
    _Atomic uint64_t *place = &lengths->known[name->place];
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
