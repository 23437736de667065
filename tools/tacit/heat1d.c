/* The program behind `tacit simulate --heat1d`: M steps of an explicit scheme for the heat equation on N points, each
 * from its neighbours. It is planned only: its kernel does nothing.
 *
 * Usage: tacit-heat1d N M [NS], with what a point takes */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <tacit/tacit.h>

static void never(const tacit_launch *launch)
{
    tacit_kernel_fail(launch, "this program is planned only; see `tacit simulate --help`");
}

static tacit_status steps(tacit_context *ctx, size_t points, long count, double cost)
{
    tacit_buffer *u[2];
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = { .name = i ? "odd" : "even",
                                         .range = TACIT_RANGE(points),
                                         .elem_size = sizeof(double) };
        tacit_status status = tacit_buffer_create(ctx, &desc, &u[i]);
        if (status != TACIT_OK) {
            return status;
        }
    }
    const double zero = 0;
    tacit_status status = tacit_fill(ctx, u[0], &zero);
    for (long i = 0; i < count && status == TACIT_OK; i++) {
        status = tacit_submit(ctx, &(tacit_task){ .name = "step",
                                                  .range = TACIT_RANGE(points),
                                                  .kernel = { .host = never },
                                                  .hint.pure = true,
                                                  .cost = cost,
                                                  .access = { tacit_read(u[i % 2], tacit_neighborhood(1, 0, 0)),
                                                              tacit_write(u[1 - i % 2], tacit_one_to_one()) } });
    }
    return status;
}

int main(int argc, char **argv)
{
    tacit_context *ctx;
    bool good = argc == 3 || argc == 4;
    long points = good ? atol(argv[1]) : 0, count = good ? atol(argv[2]) : 0;
    double cost = argc == 4 ? atof(argv[3]) : 0;
    if (points < 1 || count < 1 || cost < 0) {
        fprintf(stderr, "usage: tacit-heat1d POINTS STEPS [NANOSECONDS]\n");
        return EXIT_FAILURE;
    }
    if (tacit_init(NULL, &ctx) != TACIT_OK || steps(ctx, (size_t)points, count, cost) != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(NULL));
        return EXIT_FAILURE;
    }
    return tacit_finalize(ctx) == TACIT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
