/* A program that only gathers: every node writes its part of a buffer, and needs all of it. compare.py, beside this
 * file, runs it on this machine and simulates it.
 *
 * Usage: tacit-simulated-gather BYTES STEPS SAMPLES
 * BYTES of each node. Prints the seconds of a step as JSON: the lower quartile of so many samples of STEPS steps, since
 * other programs on the machine make samples longer and never shorter. */
#include "tacit/tacit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_SAMPLES = 1000 };

static void nothing(const tacit_launch *launch)
{
    (void)launch;
}

static void check(tacit_context *ctx, tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "gather: %s\n", tacit_last_error(ctx));
        exit(EXIT_FAILURE);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sample(tacit_context *ctx, tacit_buffer *buffer[2], size_t elements, long steps)
{
    double start = now();
    for (long i = 0; i < steps; i++) {
        const tacit_task step = { .name = "gather",
                                  .range = TACIT_RANGE(elements),
                                  .kernel = { .host = nothing },
                                  .access = { tacit_read(buffer[i % 2], tacit_all()),
                                              tacit_write(buffer[1 - i % 2], tacit_one_to_one()) } };
        check(ctx, tacit_submit(ctx, &step));
    }
    check(ctx, tacit_wait(ctx));
    return (now() - start) / (double)steps;
}

int main(int argc, char **argv)
{
    tacit_context *ctx;
    tacit_buffer *buffer[2];
    double taken[MOST_SAMPLES];
    long bytes = argc == 4 ? atol(argv[1]) : 0, steps = argc == 4 ? atol(argv[2]) : 0, samples = atol(argv[argc - 1]);
    if (bytes < 8 || steps < 2 || samples < 1 || samples > MOST_SAMPLES) {
        fprintf(stderr, "usage: tacit-simulated-gather BYTES STEPS SAMPLES\n");
        return EXIT_FAILURE;
    }
    check(NULL, tacit_init(NULL, &ctx));
    size_t elements = (size_t)bytes / sizeof(double) * (size_t)tacit_num_nodes(ctx);
    const double zero = 0;
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = { .name = i ? "odd" : "even",
                                         .range = TACIT_RANGE(elements),
                                         .elem_size = sizeof(double) };
        check(ctx, tacit_buffer_create(ctx, &desc, &buffer[i]));
        check(ctx, tacit_fill(ctx, buffer[i], &zero));
    }
    check(ctx, tacit_wait(ctx));
    for (long i = 0; i < samples; i++) {
        taken[i] = sample(ctx, buffer, elements, steps);
    }
    qsort(taken, (size_t)samples, sizeof(*taken), by_size);
    if (tacit_node(ctx) == 0) {
        printf("{ \"seconds_per_step\": %.9g }\n", taken[samples / 4]);
    }
    check(NULL, tacit_finalize(ctx));
    return EXIT_SUCCESS;
}
