/* Sizes, statistics and output: see pairs.h. */
#include "pairs.h"

#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool pairs_parse_sizes(const char *list, pairs_sizes *out)
{
    out->count = 0;
    for (const char *at = list;;) {
        char *end;
        unsigned long long n = strtoull(at, &end, 10);
        if (end == at || *at == '-' || n == 0 || n > 1u << 30 || out->count == MOST_SIZES || (*end && *end != ',')) {
            return false;
        }
        out->bytes[out->count++] = (size_t)n;
        if (!*end) {
            return true;
        }
        at = end + 1;
    }
}

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

int pairs_print_json(json_t *head, json_t *results)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\n,")] = '\0';
    bool ok = json_object_set_new(head, "mpi", json_string(library)) == 0;
    ok = json_object_set_new(head, "results", results) == 0 && ok; /* takes them in any case */
    ok = json_dumpf(head, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0 && ok;
    putchar('\n');
    json_decref(head);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
