/* Random numbers for tests: a seed is printed at the start and can be given as the first argument. */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include "grid/box.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>

typedef struct rng {
    uint64_t state;
} rng;

/* The seed of this run: argv[1], or the time. Prints it. */
static inline uint64_t test_seed(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

static inline rng rng_from(uint64_t seed)
{
    return (rng){ seed * 2 + 1 };
}

static inline uint64_t rng_next(rng *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    uint64_t x = r->state;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* In [least, most]. */
static inline int64_t rng_between(rng *r, int64_t least, int64_t most)
{
    return least + (int64_t)(rng_next(r) % (uint64_t)(most - least + 1));
}

/* A box with sides from `least` to `most` in the first `dims` dimensions, inside [0, size). */
static inline ti_box rng_box(rng *r, int dims, int64_t size, int64_t least, int64_t most)
{
    ti_box b = { { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < dims; d++) {
        int64_t side = rng_between(r, least, most < size ? most : size);
        b.min[d] = rng_between(r, 0, size - side);
        b.max[d] = b.min[d] + side;
    }
    return b;
}

#endif
