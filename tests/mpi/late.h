/* Operations that start late: the executor says when, and they start some time afterwards, each node's in an order of
 * its own.
 *
 * A communicator around the one over MPI, and host devices whose copies and kernels wait. Sends, receives, copies and
 * kernels overtake each other, as comm.h and device.h allow; collectives keep their order and are overtaken by
 * everything else. How long each waits follows from a seed and the node. The linker leads the library's calls that
 * create communicators and devices here (--wrap). One context at a time; executor role. */
#ifndef TEST_LATE_H
#define TEST_LATE_H

#include <stdint.h>

/* Of the contexts so far. */
typedef struct late_counts {
    uint64_t started;   /* operations */
    uint64_t late;      /* of them, those that waited */
    uint64_t overtaken; /* that started before one that had come earlier */
} late_counts;

/* For contexts from now on; 0: everything starts at once, and nothing is between the library and MPI. */
void late_set(uint64_t seed);
late_counts late_get(void);

#endif
