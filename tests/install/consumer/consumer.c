/* A program outside the tree, in C11: squares on all nodes, their neighbours' sum, and a reduction. */
#include <tacit/tacit.h>

#include <stdio.h>

enum { ITEMS = 100 };

static void square(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT1(int64_t, k->view[0], i) = (int64_t)(i * i);
}

static void add_neighbours(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        int64_t left = i > 0 ? TACIT_GET1(int64_t, k->view[0], i - 1) : 0;
        int64_t right = i + 1 < ITEMS ? TACIT_GET1(int64_t, k->view[0], i + 1) : 0;
        TACIT_AT0(int64_t, k->view[1]) += left + right;
    }
}

static int run(tacit_context *ctx)
{
    int64_t sum = 0;
    tacit_buffer *squares, *total;
    const tacit_buffer_desc of_squares = { .name = "squares",
                                           .range = TACIT_RANGE(ITEMS),
                                           .elem_size = sizeof(int64_t) };
    const tacit_buffer_desc of_total = { .name = "total", .elem_size = sizeof(int64_t) };
    if (tacit_buffer_create(ctx, &of_squares, &squares) || tacit_buffer_create(ctx, &of_total, &total))
        return 1;
    const tacit_task squaring = { .name = "square",
                                  .range = TACIT_RANGE(ITEMS),
                                  .kernel.host = square,
                                  .access = { tacit_write(squares, tacit_one_to_one()) } };
    const tacit_task adding = { .name = "add_neighbours",
                                .range = TACIT_RANGE(ITEMS),
                                .kernel.host = add_neighbours,
                                .access = { tacit_read(squares, tacit_neighborhood(1, 0, 0)),
                                            tacit_reduce(total, tacit_sum(TACIT_INT64)) } };
    if (tacit_submit(ctx, &squaring) || tacit_submit(ctx, &adding) || tacit_fence_read(ctx, total, TACIT_BOX_ALL, &sum))
        return 1;
    if (tacit_node(ctx) == 0)
        printf("sum %lld on %d nodes\n", (long long)sum, tacit_num_nodes(ctx));
    return 0;
}

int main(void)
{
    tacit_context *ctx;
    if (tacit_init(NULL, &ctx) != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(NULL));
        return 1;
    }
    int failed = run(ctx);
    if (failed)
        fprintf(stderr, "%s\n", tacit_last_error(ctx));
    return tacit_finalize(ctx) != TACIT_OK || failed;
}
