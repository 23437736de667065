#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <tacit/tacit.h>

struct size {
    size_t rows, columns;
};

/* 100 degrees along the upper edge, 0 elsewhere. */
static void start(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++)
            TACIT_AT2(double, k->view[0], i, j) = i == 0 ? 100 : 0;
}

/* Views: temperatures before, with neighbours; temperatures after. */
static void step(const tacit_launch *k)
{
    const tacit_view old = k->view[0], new = k->view[1];
    const struct size *size = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++)
            if (i == 0 || i == size->rows - 1 || j == 0 || j == size->columns - 1)
                TACIT_AT2(double, new, i, j) = TACIT_GET2(double, old, i, j);
            else
                TACIT_AT2(double, new, i, j) =
                    0.25 * (TACIT_GET2(double, old, i - 1, j) + TACIT_GET2(double, old, i + 1, j) +
                            TACIT_GET2(double, old, i, j - 1) + TACIT_GET2(double, old, i, j + 1));
}

/* Ends the program with what tacit has to say if a call fails. */
static void check(tacit_context *ctx, tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(ctx));
        exit(1);
    }
}

static tacit_buffer *create_plate(tacit_context *ctx, struct size size, const char *name)
{
    tacit_buffer *plate;
    const tacit_buffer_desc desc = {
        .name = name,
        .range = TACIT_RANGE(size.rows, size.columns),
        .elem_size = sizeof(double),
    };
    check(ctx, tacit_buffer_create(ctx, &desc, &plate));
    const tacit_task fill = {
        .name = "start",
        .range = desc.range,
        .kernel.host = start,
        .access = { tacit_write(plate, tacit_one_to_one()) },
        .hint.split = TACIT_SPLIT_2D,
    };
    check(ctx, tacit_submit(ctx, &fill));
    return plate;
}

static void submit_step(tacit_context *ctx, struct size size, tacit_buffer *now, tacit_buffer *next)
{
    const tacit_task task = {
        .name = "step",
        .range = TACIT_RANGE(size.rows, size.columns),
        .kernel.host = step,
        TACIT_ARGS(size),
        .access = { tacit_read(now, tacit_star(1, 1, 0)), tacit_write(next, tacit_one_to_one()) },
        .hint.split = TACIT_SPLIT_2D,
    };
    check(ctx, tacit_submit(ctx, &task));
}

/* Views: temperatures before and after a step; the largest change so far. */
static void change(const tacit_launch *k)
{
    double largest = TACIT_AT0(double, k->view[2]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++)
            largest = fmax(largest, fabs(TACIT_GET2(double, k->view[0], i, j) - TACIT_GET2(double, k->view[1], i, j)));
    TACIT_AT0(double, k->view[2]) = largest;
}

static double largest_change(tacit_context *ctx, struct size size, tacit_buffer *before, tacit_buffer *after,
                             tacit_buffer *result)
{
    double largest;
    const tacit_task task = {
        .name = "change",
        .range = TACIT_RANGE(size.rows, size.columns),
        .kernel.host = change,
        .access = { tacit_read(before, tacit_one_to_one()), tacit_read(after, tacit_one_to_one()),
                    tacit_reduce(result, tacit_max(TACIT_DOUBLE)) },
        .hint.split = TACIT_SPLIT_2D,
    };
    check(ctx, tacit_submit(ctx, &task));
    check(ctx, tacit_fence_read(ctx, result, TACIT_BOX_ALL, &largest));
    return largest;
}

static double temperature(tacit_context *ctx, tacit_buffer *plate, size_t i, size_t j)
{
    double t;
    check(ctx, tacit_fence_read(ctx, plate, tacit_box2(i, i + 1, j, j + 1), &t));
    return t;
}

int main(int argc, char **argv)
{
    tacit_context *ctx;
    struct size size = { argc > 2 ? strtoul(argv[1], NULL, 10) : 8, argc > 2 ? strtoul(argv[2], NULL, 10) : 12 };
    if (tacit_init(NULL, &ctx) != TACIT_OK)
        return fprintf(stderr, "%s\n", tacit_last_error(NULL)), 1;
    tacit_buffer *now = create_plate(ctx, size, "A"), *next = create_plate(ctx, size, "B");
    tacit_buffer *result;
    const tacit_buffer_desc one_number = { .name = "change", .elem_size = sizeof(double) };
    check(ctx, tacit_buffer_create(ctx, &one_number, &result));
    int steps = 0;
    do {
        for (int t = 0; t < 10; t++, steps++) {
            submit_step(ctx, size, now, next);
            tacit_buffer *newest = next;
            next = now;
            now = newest;
        }
    } while (largest_change(ctx, size, next, now, result) > 0.01);
    double t = temperature(ctx, now, size.rows / 8, size.columns / 2);
    if (tacit_node(ctx) == 0)
        printf("after %d steps, %.17g degrees\n", steps, t);
    return tacit_finalize(ctx) != TACIT_OK;
}
