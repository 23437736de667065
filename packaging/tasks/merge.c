/* Merge two sorted arrays of different lengths whose contents nobody knows before: how many of each value range there are is counted first,
 * then the result gets its size and tasks over ranges of values are weighed by what they have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tacit/tacit.h>

enum { NA = 30000, NB = 17001, BUCKETS = 64, TOP = 1 << 20 };
static tacit_context *ctx;
static void check(tacit_status s)
{
    if (s)
        fprintf(stderr, "%s\n", tacit_last_error(ctx)), exit(1);
}
static tacit_buffer *create(const char *name, tacit_range r, size_t size)
{
    tacit_buffer *b;
    check(tacit_buffer_create(ctx, &(tacit_buffer_desc){ .name = name, .range = r, .elem_size = size }, &b));
    return b;
}
static uint32_t value(double x)
{
    return (uint32_t)(x * x * (TOP - 1));
}
static void fill_a(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0)
        TACIT_AT1(uint32_t, k->view[0], i) = value((double)i / NA);
}
static void fill_b(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0)
        TACIT_AT1(uint32_t, k->view[0], i) = value(0.3 + 0.5 * (double)i / NB);
}
static void count(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0)
        TACIT_AT1(uint64_t, k->view[1], TACIT_GET1(uint32_t, k->view[0], i) / (TOP / BUCKETS)) += 1;
}
struct table {
    uint64_t a[BUCKETS + 1], b[BUCKETS + 1];
};
static void part_of(const tacit_box *buckets, const tacit_range *range, const void *user, tacit_region *out)
{
    const uint64_t *begin = user;
    (void)range;
    tacit_region_add(out, tacit_box1(begin[buckets->min[0]], begin[buckets->max[0]]));
}
static void merge(const tacit_launch *k)
{
    const struct table *t = *(const struct table *const *)k->args;
    TACIT_FOR (bucket, k->chunk, 0) {
        size_t i = t->a[bucket], j = t->b[bucket], o = i + j;
        const size_t ei = t->a[bucket + 1], ej = t->b[bucket + 1];
        while (i < ei || j < ej) {
            const int first = j == ej ||
                              (i < ei && TACIT_GET1(uint32_t, k->view[0], i) <= TACIT_GET1(uint32_t, k->view[1], j));
            TACIT_AT1(uint32_t, k->view[2], o) = first ? TACIT_GET1(uint32_t, k->view[0], i)
                                                       : TACIT_GET1(uint32_t, k->view[1], j);
            first ? i++ : j++, o++;
        }
    }
}
int main(void)
{
    static uint64_t ca[BUCKETS], cb[BUCKETS], weight[BUCKETS];
    static struct table t;
    const struct table *const pointer = &t;
    if (tacit_init(NULL, &ctx))
        return fprintf(stderr, "%s\n", tacit_last_error(NULL)), 1;
    tacit_buffer *a = create("a", TACIT_RANGE(NA), 4), *b = create("b", TACIT_RANGE(NB), 4),
                 *out = create("out", TACIT_RANGE(1), 4);
    tacit_buffer *in_a = create("in a", TACIT_RANGE(BUCKETS), 8), *in_b = create("in b", TACIT_RANGE(BUCKETS), 8);
    check(tacit_submit(ctx, &(tacit_task){ .name = "a",
                                           .range = TACIT_RANGE(NA),
                                           .kernel.host = fill_a,
                                           .access = { tacit_write(a, tacit_one_to_one()) } }));
    check(tacit_submit(ctx, &(tacit_task){ .name = "b",
                                           .range = TACIT_RANGE(NB),
                                           .kernel.host = fill_b,
                                           .access = { tacit_write(b, tacit_one_to_one()) } }));
    check(tacit_submit(ctx, &(tacit_task){ .name = "count a",
                                           .range = TACIT_RANGE(NA),
                                           .kernel.host = count,
                                           .access = { tacit_read(a, tacit_one_to_one()),
                                                       tacit_reduce(in_a, tacit_sum(TACIT_UINT64)) } }));
    check(tacit_submit(ctx, &(tacit_task){ .name = "count b",
                                           .range = TACIT_RANGE(NB),
                                           .kernel.host = count,
                                           .access = { tacit_read(b, tacit_one_to_one()),
                                                       tacit_reduce(in_b, tacit_sum(TACIT_UINT64)) } }));
    check(tacit_fence_read(ctx, in_a, TACIT_BOX_ALL, ca));
    check(tacit_fence_read(ctx, in_b, TACIT_BOX_ALL, cb));
    uint64_t both[BUCKETS + 1] = { 0 };
    for (int i = 0; i < BUCKETS; i++) {
        t.a[i + 1] = t.a[i] + ca[i], t.b[i + 1] = t.b[i] + cb[i], weight[i] = ca[i] + cb[i];
        both[i + 1] = t.a[i + 1] + t.b[i + 1];
    }
    int of_a, of_b, of_out;
    tacit_weights *w;
    check(tacit_buffer_resize(ctx, out, TACIT_RANGE(both[BUCKETS])));
    check(tacit_weights_create(ctx, BUCKETS, weight, &w));
    check(tacit_mapper_create(ctx, part_of, t.a, sizeof(t.a), 0, &of_a));
    check(tacit_mapper_create(ctx, part_of, t.b, sizeof(t.b), 0, &of_b));
    check(tacit_mapper_create(ctx, part_of, both, sizeof(both), 0, &of_out));
    check(tacit_submit(ctx,
                       &(tacit_task){ .name = "merge",
                                      .range = TACIT_RANGE(BUCKETS),
                                      .kernel.host = merge,
                                      TACIT_ARGS(pointer),
                                      .access = { tacit_read(a, tacit_custom(of_a)), tacit_read(b, tacit_custom(of_b)),
                                                  tacit_write(out, tacit_custom(of_out)) },
                                      .hint.item_weights = w }));
    uint32_t *all = malloc(both[BUCKETS] * sizeof(*all));
    check(tacit_fence_read(ctx, out, TACIT_BOX_ALL, all));
    int sorted = 1;
    uint64_t sum = 0;
    for (size_t i = 0; i < both[BUCKETS]; i++)
        sorted &= i == 0 || all[i - 1] <= all[i], sum += all[i];
    if (tacit_node(ctx) == 0)
        printf("%zu values, %s, sum %llu\n", (size_t)both[BUCKETS], sorted ? "sorted" : "NOT SORTED",
               (unsigned long long)sum);
    free(all);
    return tacit_finalize(ctx) != TACIT_OK;
}
