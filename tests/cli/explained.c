/* A program whose communication explain_test.py knows: buffers of one name, several reads, rows of a matrix. */
#include <tacit/tacit.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 960, ROWS = 12 };

static void kernel(const tacit_launch *launch)
{
    (void)launch;
}

static void must(tacit_context *ctx, tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "explained: %s\n", tacit_last_error(ctx));
        exit(1);
    }
}

static tacit_buffer *buffer(tacit_context *ctx, tacit_range range, const char *name)
{
    tacit_buffer *out;
    must(ctx, tacit_buffer_create(ctx, &(tacit_buffer_desc){ .name = name, .range = range, .elem_size = 8 }, &out));
    return out;
}

static void submit(tacit_context *ctx, tacit_task task)
{
    task.kernel.host = kernel;
    must(ctx, tacit_submit(ctx, &task));
}

int main(void)
{
    tacit_context *ctx;
    tacit_config config = { 0 };
    must(NULL, tacit_init(&config, &ctx));
    const tacit_range items = tacit_range1(N);
    const tacit_mapper first = tacit_fixed(tacit_box1(0, 400)), last = tacit_fixed(tacit_box1(600, N));
    tacit_buffer *one = buffer(ctx, items, "same"), *two = buffer(ctx, items, "same"), *v = buffer(ctx, items, "V");
    tacit_buffer *matrix = buffer(ctx, tacit_range2(ROWS, ROWS), "M");

    submit(ctx, (tacit_task){ .name = "write", .range = items, .access = { tacit_write(one, tacit_one_to_one()) } });
    submit(ctx, (tacit_task){ .name = "write", .range = items, .access = { tacit_write(two, tacit_one_to_one()) } });
    submit(ctx, (tacit_task){
                    .name = "two parts", .range = items, .access = { tacit_read(one, first), tacit_read(one, last) } });
    submit(ctx, (tacit_task){ .name = "part and halo",
                              .range = items,
                              .access = { tacit_read(two, first), tacit_read(two, tacit_neighborhood(1, 0, 0)) } });

    const tacit_range half = tacit_range1(N / 2);
    const tacit_mapper upper = tacit_components(tacit_dim_scaled(0, 1, 1, -N / 2, N / 2), tacit_full(), tacit_full());
    submit(ctx, (tacit_task){ .name = "alone",
                              .range = items,
                              .place = tacit_place_node(0),
                              .access = { tacit_write(v, tacit_one_to_one()) } });
    submit(ctx, (tacit_task){ .name = "halves",
                              .range = half,
                              .access = { tacit_read(v, tacit_one_to_one()), tacit_read(v, upper) } });

    submit(ctx, (tacit_task){ .name = "fill",
                              .range = tacit_range2(ROWS, ROWS),
                              .access = { tacit_write(matrix, tacit_one_to_one()) } });
    for (size_t i = 0; i < 4; i++) {
        const tacit_box row = tacit_box2(i, i + 1, 0, ROWS);
        submit(ctx, (tacit_task){
                        .name = "eliminate",
                        .range = tacit_range2(ROWS - 1 - i, ROWS),
                        .offset = { i + 1, 0 },
                        .access = { tacit_update(matrix, tacit_one_to_one()), tacit_read(matrix, tacit_fixed(row)) } });
    }
    must(ctx, tacit_finalize(ctx));
    return 0;
}
