/* How far two cores are from each other: how long a cache line takes that one has written until the other sees it. On
 * virtual machines it changes while programs run, and with it what it costs to hand work over. One thread; starts one
 * more for a millisecond. */
#ifndef BENCH_APART_H
#define BENCH_APART_H

/* Nanoseconds between the first two cores that this process may use; 0 if there is one only. */
double apart_ns(void);

#endif
