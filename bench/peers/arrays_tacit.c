/* Reductions into an array, by tacit: arrays_tacit BYTES [ITEMS]; on several nodes too. */
#include "arrays.h"
#include "tacit/tacit.h"

static void add(const tacit_launch *k)
{
    const tacit_view *v = &k->view[0];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        arrays_add(v->data, v->box.max[0], i);
    }
}

static void must(tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(NULL));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    size_t n = arrays_elements(argc, argv), items = argc > 2 ? (size_t)atoi(argv[2]) : 2;
    int repeats = arrays_repeats(n), code = 0;
    double fastest = 1e9, *found = malloc(n * sizeof(double));
    tacit_context *ctx;
    tacit_buffer *sum;
    must(tacit_init(NULL, &ctx));
    tacit_buffer_desc desc = { .name = "sum", .range = TACIT_RANGE(n), .elem_size = sizeof(double) };
    must(tacit_buffer_create(ctx, &desc, &sum));
    for (int round = -1; round < ROUNDS; round++) {
        double start = arrays_now();
        for (int r = 0; r < repeats; r++) {
            must(tacit_submit(ctx, &(tacit_task){ .name = "add",
                                                  .range = TACIT_RANGE(items),
                                                  .kernel.host = add,
                                                  .access = { tacit_reduce(sum, tacit_sum(TACIT_DOUBLE)) } }));
        }
        must(tacit_wait(ctx));
        double seconds = (arrays_now() - start) / repeats;
        fastest = round >= 0 && seconds < fastest ? seconds : fastest;
    }
    must(tacit_fence_read(ctx, sum, TACIT_BOX_ALL, found));
    if (tacit_node(ctx) == 0) {
        code = arrays_report(found, n, items, fastest);
    }
    must(tacit_finalize(ctx));
    free(found);
    return code;
}
