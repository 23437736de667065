/* Conway's game of life on a torus; a picture now and then */
#include <stdio.h>
#include <stdlib.h>
#include <tacit/io.h>

enum { ROWS = 60, COLS = 80, STEPS = 100 };
static tacit_context *ctx;
static void check(tacit_status s)
{
    if (s)
        fprintf(stderr, "%s\n", tacit_last_error(ctx)), exit(1);
}
static void start(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0)
        TACIT_FOR (j, k->chunk, 1)
            TACIT_AT2(uint8_t, k->view[0], i, j) = (i * 31 + j * 17 + i * j) % 5 < 2;
}
static void step(const tacit_launch *k)
{
    long alive = 0;
    TACIT_FOR (i, k->chunk, 0)
        TACIT_FOR (j, k->chunk, 1) {
            int around = 0;
            for (int a = -1; a <= 1; a++)
                for (int b = -1; b <= 1; b++)
                    around += (a || b) &&
                              TACIT_GET2(uint8_t, k->view[0], TACIT_WRAP(i + a, ROWS), TACIT_WRAP(j + b, COLS));
            const uint8_t here = TACIT_GET2(uint8_t, k->view[0], i, j);
            alive += TACIT_AT2(uint8_t, k->view[1], i, j) = around == 3 || (here && around == 2);
        }
    TACIT_AT0(long, k->view[2]) += alive;
}
int main(void)
{
    tacit_buffer *u, *v, *alive;
    long n;
    if (tacit_init(NULL, &ctx))
        return fprintf(stderr, "%s\n", tacit_last_error(NULL)), 1;
    check(tacit_buffer_create(
        ctx, &(tacit_buffer_desc){ .name = "u", .range = TACIT_RANGE(ROWS, COLS), .elem_size = 1 }, &u));
    check(tacit_buffer_create(
        ctx, &(tacit_buffer_desc){ .name = "v", .range = TACIT_RANGE(ROWS, COLS), .elem_size = 1 }, &v));
    check(tacit_buffer_create(ctx, &(tacit_buffer_desc){ .name = "alive", .elem_size = sizeof(long) }, &alive));
    check(tacit_submit(ctx, &(tacit_task){ .name = "start",
                                           .range = TACIT_RANGE(ROWS, COLS),
                                           .kernel.host = start,
                                           .access = { tacit_write(u, tacit_one_to_one()) } }));
    for (int t = 0; t < STEPS; t++) {
        check(tacit_submit(
            ctx, &(tacit_task){ .name = "step",
                                .range = TACIT_RANGE(ROWS, COLS),
                                .kernel.host = step,
                                .access = { tacit_read(u, tacit_periodic(1, 1, 0)), tacit_write(v, tacit_one_to_one()),
                                            tacit_reduce(alive, tacit_sum(TACIT_INT64)) } }));
        tacit_buffer *w = u;
        u = v, v = w;
        if (t % 25 == 24) {
            char path[32];
            snprintf(path, sizeof(path), "life%03d.png", t + 1);
            check(tacit_buffer_write(ctx, u, path,
                                     &(tacit_file_options){ .type = TACIT_UINT8, .colours = TACIT_COLOURS_GREY }));
        }
    }
    check(tacit_fence_read(ctx, alive, TACIT_BOX_ALL, &n));
    if (tacit_node(ctx) == 0)
        printf("%ld alive\n", n);
    return tacit_finalize(ctx) != TACIT_OK;
}
