/* What the programs of this folder have in common: reductions into an array, again and again, timed.
 *
 * Each item adds one number to every element of the array; there is one item per worker of all nodes (two). A program
 * prints the seconds of one reduction, in the fastest of some rounds: others may use the machine meanwhile. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 7 };

static inline double arrays_now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline size_t arrays_elements(int argc, char **argv)
{
    size_t bytes = argc > 1 ? (size_t)strtoull(argv[1], NULL, 0) : 1 << 20;
    return bytes / sizeof(double) ? bytes / sizeof(double) : 1;
}

/* Reductions in a round: a few hundredths of a second. */
static inline int arrays_repeats(size_t n)
{
    size_t repeats = ((size_t)1 << 24) / (n + 2048);
    return repeats < 4 ? 4 : repeats > 5000 ? 5000 : (int)repeats;
}

static inline void arrays_add(double *to, size_t n, size_t item)
{
    for (size_t j = 0; j < n; j++) {
        to[j] += (double)(j & 1023) * 0.5 + (double)item;
    }
}

/* Checks what `items` items have added, and prints the time. */
static inline int arrays_report(const double *sum, size_t n, size_t items, double seconds)
{
    for (size_t j = 0; j < n; j++) {
        double expected = (double)items * (double)(j & 1023) * 0.5 + (double)(items * (items - 1) / 2);
        if (sum[j] != expected) {
            fprintf(stderr, "element %zu is %g, not %g\n", j, sum[j], expected);
            return 1;
        }
    }
    printf("%.9f\n", seconds);
    return 0;
}

#endif
