/* Monte-Carlo pi: random numbers by item, so that the result is the same on any number of nodes */
#include <stdio.h>
#include <stdlib.h>
#include <tacit/tacit.h>

static uint64_t next(uint64_t *s)
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
struct args {
    size_t each;
};
static void throw(const tacit_launch *k)
{
    const struct args *a = k->args;
    long hits = 0;
    TACIT_FOR (i, k->chunk, 0) {
        uint64_t s = i * 1000003;
        for (size_t n = 0; n < a->each; n++) {
            const double x = (double)(next(&s) >> 11) * 0x1p-53, y = (double)(next(&s) >> 11) * 0x1p-53;
            hits += x * x + y * y < 1;
        }
    }
    TACIT_AT0(int64_t, k->view[0]) += hits;
}
int main(int argc, char **argv)
{
    tacit_context *ctx;
    tacit_buffer *hits;
    int64_t n;
    const struct args args = { argc > 1 ? strtoul(argv[1], NULL, 10) : 1000 };
    if (tacit_init(NULL, &ctx))
        return fprintf(stderr, "%s\n", tacit_last_error(NULL)), 1;
    if (tacit_buffer_create(ctx, &(tacit_buffer_desc){ .name = "hits", .elem_size = sizeof(n) }, &hits) ||
        tacit_submit(ctx, &(tacit_task){ .name = "throw",
                                         .range = TACIT_RANGE(1000),
                                         .kernel.host = throw,
                                         TACIT_ARGS(args),
                                         .access = { tacit_reduce(hits, tacit_sum(TACIT_INT64)) } }) ||
        tacit_fence_read(ctx, hits, TACIT_BOX_ALL, &n))
        return fprintf(stderr, "%s\n", tacit_last_error(ctx)), 1;
    if (tacit_node(ctx) == 0)
        printf("%.6f\n", 4.0 * (double)n / (1000.0 * (double)args.each));
    return tacit_finalize(ctx) != TACIT_OK;
}
