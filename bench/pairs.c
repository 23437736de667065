/* Sizes and statistics: see pairs.h. */
#include "pairs.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
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

/* Whether this is the only process, or the first of those that a launcher has started. */
static bool is_first(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    rank = rank ? rank : getenv("PMI_RANK");
    return !rank || strcmp(rank, "0") == 0;
}

int pairs_refuse(void (*usage)(FILE *out), const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (is_first()) {
        fprintf(stderr, "%s: ", program_invocation_short_name);
        vfprintf(stderr, format, args);
        fputs("\n\n", stderr);
        usage(stderr);
    }
    va_end(args);
    return EXIT_FAILURE;
}

int pairs_parse(int argc, char **argv, void (*usage)(FILE *out),
                bool (*take)(const char *name, const char *value, void *options), void *options, bool *json)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            usage(stdout);
            return EXIT_SUCCESS;
        }
        if (strcmp(argv[i], "--json") == 0) {
            *json = true;
        } else if (i + 1 == argc) {
            return pairs_refuse(usage, "%s is no option, or lacks a value", argv[i]);
        } else if (!take(argv[i], argv[i + 1], options)) {
            return pairs_refuse(usage, "%s %s is no option with its value", argv[i], argv[i + 1]);
        } else {
            i++;
        }
    }
    return -1;
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
