/* Inclusive prefix sum of N numbers: sums of blocks, their prefix on one node, then each block by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <tacit/tacit.h>

enum { N = 100000, BLOCK = 1000, BLOCKS = N / BLOCK };
static tacit_context *ctx;
static void check(tacit_status s)
{
    if (s)
        fprintf(stderr, "%s\n", tacit_last_error(ctx)), exit(1);
}
static tacit_buffer *create(const char *name, size_t n)
{
    tacit_buffer *b;
    const tacit_buffer_desc d = { .name = name, .range = TACIT_RANGE(n), .elem_size = sizeof(long) };
    check(tacit_buffer_create(ctx, &d, &b));
    return b;
}
static void fill(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0)
        TACIT_AT1(long, k->view[0], i) = (long)(i % 7);
}
static void block_sums(const tacit_launch *k)
{
    TACIT_FOR (b, k->chunk, 0) {
        long sum = 0;
        for (size_t i = b * BLOCK; i < (b + 1) * BLOCK; i++)
            sum += TACIT_GET1(long, k->view[0], i);
        TACIT_AT1(long, k->view[1], b) = sum;
    }
}
static void scan_sums(const tacit_launch *k)
{
    long sum = 0;
    for (size_t b = 0; b < BLOCKS; b++) {
        TACIT_AT1(long, k->view[1], b) = sum;
        sum += TACIT_GET1(long, k->view[0], b);
    }
}
static void scan_blocks(const tacit_launch *k)
{
    TACIT_FOR (b, k->chunk, 0) {
        long sum = TACIT_GET1(long, k->view[1], b);
        for (size_t i = b * BLOCK; i < (b + 1) * BLOCK; i++)
            TACIT_AT1(long, k->view[2], i) = sum += TACIT_GET1(long, k->view[0], i);
    }
}
int main(void)
{
    if (tacit_init(NULL, &ctx))
        return fprintf(stderr, "%s\n", tacit_last_error(NULL)), 1;
    tacit_buffer *x = create("x", N), *sums = create("sums", BLOCKS), *before = create("before", BLOCKS),
                 *y = create("y", N);
    const tacit_mapper block = tacit_components(tacit_dim_scaled(0, BLOCK, 1, 0, 0), tacit_full(), tacit_full());
    const tacit_task tasks[] = {
        { .name = "fill",
          .range = TACIT_RANGE(N),
          .kernel.host = fill,
          .access = { tacit_write(x, tacit_one_to_one()) } },
        { .name = "block sums",
          .range = TACIT_RANGE(BLOCKS),
          .kernel.host = block_sums,
          .access = { tacit_read(x, block), tacit_write(sums, tacit_one_to_one()) } },
        { .name = "scan sums",
          .on = TACIT_ON_ONE_NODE,
          .range = TACIT_RANGE(1),
          .kernel.host = scan_sums,
          .access = { tacit_read(sums, tacit_all()), tacit_write(before, tacit_all()) } },
        { .name = "scan blocks",
          .range = TACIT_RANGE(BLOCKS),
          .kernel.host = scan_blocks,
          .access = { tacit_read(x, block), tacit_read(before, tacit_one_to_one()), tacit_write(y, block) } },
    };
    for (int t = 0; t < 4; t++)
        check(tacit_submit(ctx, &tasks[t]));
    long last, some;
    check(tacit_fence_read(ctx, y, tacit_box1(N - 1, N), &last));
    check(tacit_fence_read(ctx, y, tacit_box1(12345, 12346), &some));
    if (tacit_node(ctx) == 0)
        printf("%ld %ld\n", some, last);
    return tacit_finalize(ctx) != TACIT_OK;
}
