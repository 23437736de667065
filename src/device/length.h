/* How long kernels took the last times, and into how many parts it pays to cut one.
 *
 * A part that another worker runs has to be handed over, which takes as long as a short kernel. So a kernel that
 * would give parts shorter than TI_PART_NS is cut into fewer. It is known by its function and the number of its items;
 * launches with the same two are taken to last about as long. Only some launches are measured, since reading the clock
 * costs, too. An estimate follows a shorter time at once, and a longer one slowly: that may be a thread that lost its
 * core.
 *
 * Where that is in doubt, half or twice as many parts are tried (trial.h), of one kernel at a time: after some hundred
 * launches, and then again, since cores that are far from each other today may be near tomorrow; more and more rarely
 * while nothing is gained.
 *
 * `ti_lengths_parts` is called by one thread at a time, `ti_lengths_note` by any. */
#ifndef TI_LENGTH_H
#define TI_LENGTH_H

#include "device/trial.h"

enum { TI_PART_NS = 1500, TI_LENGTHS = 64, TI_LENGTH_WAYS = TI_CACHE_LINE / 8 };

/* What trials have shown of a kernel. */
typedef struct ti_length_choice {
    uint32_t launches; /* since the last trial */
    uint8_t fruitless; /* trials, since the last that gained something */
    uint8_t trials;
    uint16_t parts; /* the better number, while the kernel takes half to twice `ns`; 0: as long as it takes */
    uint64_t ns;
} ti_length_choice;

typedef struct ti_lengths {
    _Alignas(TI_CACHE_LINE) _Atomic uint64_t known[TI_LENGTHS]; /* name and nanoseconds; 0: nothing */
    uint8_t launches[TI_LENGTHS];
    uint8_t given[TI_LENGTHS / TI_LENGTH_WAYS]; /* places of each line, so far */
    ti_length_choice choice[TI_LENGTHS];
    uint64_t tried;  /* hash of the kernel on trial; 0: none */
    uint32_t others; /* launches since its last one */
    _Alignas(TI_CACHE_LINE) ti_trial trial;
} ti_lengths;

typedef struct ti_length_name {
    uint64_t hash;
    size_t place;
    uint64_t ns;      /* as far as is known; 0: not */
    uint32_t mark;    /* of a trial, or 0 */
    bool is_measured; /* this launch is */
} ti_length_name;

/* How many parts, at most `most`, of a kernel with this function and so many items; and its name for `note`. */
int ti_lengths_parts(ti_lengths *lengths, uintptr_t function, uint64_t items, int most, ti_length_name *name);
/* How long it takes, as far as is known; 0: not. */
uint64_t ti_lengths_ns(const ti_lengths *lengths, uintptr_t function, uint64_t items);
/* It was not launched after all: by the thread that calls ti_lengths_parts, right after it. */
void ti_lengths_drop(ti_lengths *lengths, const ti_length_name *name);
/* All of its parts together have taken so many nanoseconds, and the last one has ended so late on the clock. */
void ti_lengths_note(ti_lengths *lengths, const ti_length_name *name, uint64_t ns, uint64_t now);

#endif
