/* What benchmarks of messages have in common: their sizes, the statistics of interleaved pairs, and the JSON that
 * they print. One thread.
 *
 * Medians, and the intervals in which they lie with 95 % probability. */
#ifndef BENCH_PAIRS_H
#define BENCH_PAIRS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { MOST_PAIRS = 201, MOST_SIZES = 32 };

typedef struct pairs_sizes {
    size_t bytes[MOST_SIZES];
    int count;
} pairs_sizes;

/* Numbers of bytes from 1 to 1 GiB, separated by commas. False if the list is something else. */
bool pairs_parse_sizes(const char *list, pairs_sizes *out);

/* Say on one node what is wrong with the command line, and how it is used. Returns an exit status. */
int pairs_refuse(void (*usage)(FILE *out), const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The command line: --help, --json, and names with values, which `take` takes into `options`, or says false. Returns
 * an exit status, or -1 to go on. */
int pairs_parse(int argc, char **argv, void (*usage)(FILE *out),
                bool (*take)(const char *name, const char *value, void *options), void *options, bool *json);

double pairs_least(const double *values, int n);
double pairs_median(const double *values, int n);
/* By order statistics (normal approximation to the binomial). */
void pairs_interval(const double *values, int n, double *low, double *high);
/* Seconds, monotonic. */
double pairs_now(void);

/* On standard output: what the head says, which MPI it was, and the results. Takes both. Returns an exit status. In
 * pairs_json.c, for programs with MPI. */
int pairs_print_json(json_t *head, json_t *results);

#endif
