/* Statistics of interleaved pairs: see pairs.h. */
#include "pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(const double *values, int n, double *sorted)
{
    memcpy(sorted, values, (size_t)n * sizeof(double));
    qsort(sorted, (size_t)n, sizeof(double), compare);
}

double pairs_least(const double *values, int n)
{
    double sorted[MOST_PAIRS];
    sort(values, n, sorted);
    return sorted[0];
}

double pairs_median(const double *values, int n)
{
    double sorted[MOST_PAIRS];
    sort(values, n, sorted);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

void pairs_interval(const double *values, int n, double *low, double *high)
{
    double sorted[MOST_PAIRS];
    sort(values, n, sorted);
    int first = (int)floor((n - 1.96 * sqrt(n)) / 2) - 1;
    first = first < 0 ? 0 : first;
    *low = sorted[first];
    *high = sorted[n - 1 - first];
}

double pairs_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
