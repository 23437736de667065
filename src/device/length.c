/* How long kernels took: see length.h.
 *
 * A hash of the kernel selects a cache line of places, one of which is the kernel's. Where all are taken, it gets the
 * one that was given away the longest time ago. What a worker notes of a kernel that has lost its place is dropped: the
 * kernel's name is part of the word that the worker would replace. */
#include "device/length.h"

#include "base/hash.h"

enum { NS_BITS = 40, EVERY = 8, SLOWLY = 8 };
/* Parts outside of these are not in doubt. Launches between trials, doubled so many times at most; launches of others
 * after which the kernel on trial will not come again. */
enum { SHORTEST_NS = 400, LONGEST_NS = 12 * 1000, FIRST_LAUNCHES = 256, MAX_DOUBLINGS = 8, MAX_OTHERS = 4096 };
#define MAX_NS (((uint64_t)1 << NS_BITS) - 1)

static uint64_t name_bits(uint64_t hash)
{
    return hash << NS_BITS; /* hashes are odd, so it is never 0 */
}

static uint64_t hash_of(uintptr_t function, uint64_t items)
{
    return ti_hash_mix(ti_hash_mix(0, (uint64_t)function), items) | 1; /* never 0 */
}

static size_t line_of(uint64_t hash)
{
    return (hash >> 32) % (TI_LENGTHS / TI_LENGTH_WAYS);
}

/* Where the name is, or may be now. */
static size_t place_of(ti_lengths *lengths, uint64_t hash)
{
    const size_t line = line_of(hash), first = line * TI_LENGTH_WAYS;
    for (size_t i = first; i < first + TI_LENGTH_WAYS; i++) {
        const uint64_t known = atomic_load_explicit(&lengths->known[i], memory_order_relaxed);
        if ((known & ~MAX_NS) == name_bits(hash)) {
            return i;
        }
    }
    const size_t place = first + lengths->given[line]++ % TI_LENGTH_WAYS;
    atomic_store_explicit(&lengths->known[place], name_bits(hash), memory_order_relaxed);
    lengths->launches[place] = 0;
    lengths->choice[place] = (ti_length_choice){ .parts = 0 };
    return place;
}

/* ---- trials */

static int usual_parts(const ti_length_choice *c, uint64_t ns, int most)
{
    if (c->parts > 0 && ns / 2 <= c->ns && c->ns <= 2 * ns) {
        return TI_MIN((int)c->parts, most);
    }
    return (int)TI_MAX(TI_MIN(ns / TI_PART_NS, (uint64_t)most), (uint64_t)1);
}

/* Twice as many parts or half of them, in turns where both may be better; 0: neither. */
static int other_parts(const ti_length_choice *c, uint64_t ns, int parts, int most)
{
    const int more = TI_MIN(2 * parts, most), fewer = (parts + 1) / 2;
    const bool may_more = more > parts && ns / (uint64_t)more >= SHORTEST_NS,
               may_fewer = fewer < parts && ns / (uint64_t)fewer <= LONGEST_NS;
    return may_more && (!may_fewer || c->trials % 2) ? more : may_fewer ? fewer : 0;
}

static void end_trial(ti_lengths *lengths, ti_length_choice *c, uint64_t ns)
{
    const int better = ti_trial_better(&lengths->trial);
    const bool gains = better != lengths->trial.parts[0];
    lengths->tried = 0;
    c->launches = 0;
    c->trials++;
    c->fruitless = gains ? 0 : (uint8_t)TI_MIN(c->fruitless + 1, MAX_DOUBLINGS);
    if (gains) {
        c->parts = (uint16_t)better;
        c->ns = ns;
    }
}

/* Whether the kernel is on trial, or is now. */
static bool is_tried(ti_lengths *lengths, const ti_length_name *name, int parts, int most)
{
    ti_length_choice *c = &lengths->choice[name->place];
    if (lengths->tried == name->hash) {
        lengths->others = 0;
        return true;
    }
    c->launches += c->launches < UINT32_MAX;
    if (lengths->tried && ++lengths->others < MAX_OTHERS) {
        return false;
    }
    lengths->tried = 0;
    const bool is_due = c->launches >= (uint32_t)FIRST_LAUNCHES << c->fruitless;
    const int other = is_due ? other_parts(c, name->ns, parts, most) : 0;
    if (other > 0) {
        ti_trial_begin(&lengths->trial, parts, other);
        lengths->tried = name->hash;
        lengths->others = 0;
    }
    return other > 0;
}

static int try_parts(ti_lengths *lengths, ti_length_name *name, int parts, int most)
{
    if (most == 1 || !is_tried(lengths, name, parts, most)) {
        return parts;
    }
    if (ti_trial_has_ended(&lengths->trial)) {
        end_trial(lengths, &lengths->choice[name->place], name->ns);
        return usual_parts(&lengths->choice[name->place], name->ns, most);
    }
    parts = ti_trial_next(&lengths->trial, &name->mark);
    name->is_measured |= name->mark != 0;
    return TI_MIN(parts, most);
}

/* ---- estimates */

int ti_lengths_parts(ti_lengths *lengths, uintptr_t function, uint64_t items, int most, ti_length_name *name)
{
    name->hash = hash_of(function, items);
    name->place = place_of(lengths, name->hash);
    uint64_t ns = name->ns = atomic_load_explicit(&lengths->known[name->place], memory_order_relaxed) & MAX_NS;
    name->is_measured = ns == 0 || lengths->launches[name->place]++ % EVERY == 0;
    name->mark = 0;
    return ns == 0 ? most : try_parts(lengths, name, usual_parts(&lengths->choice[name->place], ns, most), most);
}

uint64_t ti_lengths_ns(const ti_lengths *lengths, uintptr_t function, uint64_t items)
{
    const uint64_t hash = hash_of(function, items);
    const size_t first = line_of(hash) * TI_LENGTH_WAYS;
    for (size_t i = first; i < first + TI_LENGTH_WAYS; i++) {
        const uint64_t known = atomic_load_explicit(&lengths->known[i], memory_order_relaxed);
        if ((known & ~MAX_NS) == name_bits(hash)) {
            return known & MAX_NS;
        }
    }
    return 0;
}

void ti_lengths_drop(ti_lengths *lengths, const ti_length_name *name)
{
    if (name->ns > 0) {
        lengths->launches[name->place]--;
        ti_trial_drop(&lengths->trial, name->mark);
    }
}

void ti_lengths_note(ti_lengths *lengths, const ti_length_name *name, uint64_t ns, uint64_t now)
{
    if (name->mark) {
        ti_trial_note(&lengths->trial, name->mark, now);
    }
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
