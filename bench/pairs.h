/* Statistics of interleaved pairs: medians, and the interval in which they lie with 95 % probability. One thread. */
#ifndef BENCH_PAIRS_H
#define BENCH_PAIRS_H

enum { MOST_PAIRS = 201 };

double pairs_least(const double *values, int n);
double pairs_median(const double *values, int n);
/* By order statistics (normal approximation to the binomial). */
void pairs_interval(const double *values, int n, double *low, double *high);
/* Seconds, monotonic. */
double pairs_now(void);

#endif
