/* y = A x: A and x from matrix.h5 (datasets "A" and "x"), y to y.npy */
#include <stdio.h>
#include <stdlib.h>
#include <tacit/io.h>

static tacit_context *ctx;
static void check(tacit_status s)
{
    if (s)
        fprintf(stderr, "%s\n", tacit_last_error(ctx)), exit(1);
}
static void multiply(const tacit_launch *k)
{
    const tacit_view a = k->view[0], x = k->view[1], y = k->view[2];
    TACIT_FOR (i, k->chunk, 0) {
        double sum = 0;
        TACIT_FOR (j, x.box, 0)
            sum += TACIT_GET2(double, a, i, j) * TACIT_GET1(double, x, j);
        TACIT_AT1(double, y, i) = sum;
    }
}
int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "matrix.h5";
    if (tacit_init(NULL, &ctx))
        return fprintf(stderr, "%s\n", tacit_last_error(NULL)), 1;
    const tacit_file_options of_a = { .type = TACIT_DOUBLE, .dataset = "A" },
                             of_x = { .type = TACIT_DOUBLE, .dataset = "x" };
    tacit_file_facts facts;
    check(tacit_file_look(ctx, path, &of_a, &facts));
    if (!facts.found || facts.dims != 2)
        return fprintf(stderr, "%s: %s\n", path, facts.found ? "no matrix" : facts.why), 1;
    const size_t m = facts.size[0], n = facts.size[1];
    tacit_buffer *a, *x, *y;
    check(
        tacit_buffer_create(ctx, &(tacit_buffer_desc){ .name = "A", .range = TACIT_RANGE(m, n), .elem_size = 8 }, &a));
    check(tacit_buffer_create(ctx, &(tacit_buffer_desc){ .name = "x", .range = TACIT_RANGE(n), .elem_size = 8 }, &x));
    check(tacit_buffer_create(ctx, &(tacit_buffer_desc){ .name = "y", .range = TACIT_RANGE(m), .elem_size = 8 }, &y));
    check(tacit_buffer_read(ctx, a, path, &of_a));
    check(tacit_buffer_read(ctx, x, path, &of_x));
    check(tacit_submit(
        ctx, &(tacit_task){ .name = "multiply",
                            .range = TACIT_RANGE(m),
                            .kernel.host = multiply,
                            .access = { tacit_read(a, tacit_components(tacit_dim(0), tacit_full(), tacit_full())),
                                        tacit_read(x, tacit_all()), tacit_write(y, tacit_one_to_one()) } }));
    check(tacit_buffer_write(ctx, y, "y.npy", &(tacit_file_options){ .type = TACIT_DOUBLE }));
    check(tacit_finalize(ctx));
    return 0;
}
