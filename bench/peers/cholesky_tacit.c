/* A = L L' in tiles by tacit, on any number of nodes and workers: tasks on the tiles of one buffer, as in
 * examples/cholesky.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tacit/tacit.h"

#include "tiles.h"

static tacit_context *ctx;
static struct tiles t;
static tacit_buffer *matrix;

static void must(tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(ctx));
        exit(1);
    }
}

static struct tile tile_of(const tacit_launch *k, int access)
{
    return (struct tile){ k->view[access].data, (int)t.tile, (int)k->view[access].ld };
}

static void fill(const tacit_launch *k)
{
    const tacit_box box = k->view[0].box;
    tile_fill(tile_of(k, 0), &t, box.min[0] / t.tile, box.min[1] / t.tile);
}

static void potrf(const tacit_launch *k)
{
    tile_potrf(tile_of(k, 0));
}

static void trsm(const tacit_launch *k)
{
    tile_trsm(tile_of(k, 0), tile_of(k, 1));
}

static void syrk(const tacit_launch *k)
{
    tile_syrk(tile_of(k, 0), tile_of(k, 1));
}

static void gemm(const tacit_launch *k)
{
    tile_gemm(tile_of(k, 0), tile_of(k, 1), tile_of(k, 2));
}

static tacit_mapper at(size_t i, size_t j)
{
    return tacit_fixed(tacit_box2(i * t.tile, (i + 1) * t.tile, j * t.tile, (j + 1) * t.tile));
}

static void submit_update(size_t k, size_t i, size_t j)
{
    const tacit_task changes = {
        .name = i == j ? "syrk" : "gemm",
        .kernel.host = i == j ? syrk : gemm,
        .place = tacit_place_node(tiles_owner(&t, i, j)),
        .access = { tacit_update(matrix, at(i, j)), tacit_read(matrix, at(i, k)),
                    i == j ? (tacit_access){ .mode = 0 } : tacit_read(matrix, at(j, k)) },
        .hint.priority = tiles_priority(&t, k, i, j),
    };
    must(tacit_submit(ctx, &changes));
}

/* A tile of column k: the one on the diagonal, or one below it. */
static void submit_column(size_t k, size_t i)
{
    const tacit_task solves = {
        .name = i == k ? "potrf" : "trsm",
        .kernel.host = i == k ? potrf : trsm,
        .place = tacit_place_node(tiles_owner(&t, i, k)),
        .access = { tacit_update(matrix, at(i, k)),
                    i == k ? (tacit_access){ .mode = 0 } : tacit_read(matrix, at(k, k)) },
        .hint.priority = tiles_priority(&t, k, i, k),
    };
    must(tacit_submit(ctx, &solves));
}

static void submit_fill(size_t i, size_t j)
{
    const tacit_task fills = {
        .name = "fill",
        .kernel.host = fill,
        .place = tacit_place_node(tiles_owner(&t, i, j)),
        .access = { tacit_write(matrix, at(i, j)) },
    };
    must(tacit_submit(ctx, &fills));
}

static void factorise(void)
{
    for (size_t k = 0; k < t.count; k++) {
        for (size_t i = k; i < t.count; i++) {
            submit_column(k, i);
        }
        for (size_t j = k + 1; j < t.count; j++) {
            for (size_t i = j; i < t.count; i++) {
                submit_update(k, i, j);
            }
        }
    }
}

/* Until all nodes are done: an element that the last task writes comes to all of them. */
static void wait_for_all(size_t i)
{
    double last;
    must(tacit_wait(ctx));
    must(tacit_fence_read(ctx, matrix, tacit_box2(i, i + 1, i, i + 1), &last));
}

static void print_result(void)
{
    double *all = peer_alloc(t.n * t.n), *tile = peer_alloc(t.tile * t.tile);
    for (size_t i = 0; i < t.count; i++) {
        for (size_t j = 0; j <= i; j++) {
            const tacit_box box = tacit_box2(i * t.tile, (i + 1) * t.tile, j * t.tile, (j + 1) * t.tile);
            must(tacit_fence_read(ctx, matrix, box, tile));
            for (size_t x = 0; x < t.tile; x++) {
                memcpy(all + (box.min[0] + x) * t.n + box.min[1], tile + x * t.tile, t.tile * sizeof *tile);
            }
        }
    }
    if (tacit_node(ctx) == 0) {
        tiles_result(&t, all);
    }
    free(tile);
    free(all);
}

int main(int argc, char **argv)
{
    must(tacit_init(NULL, &ctx));
    tiles_start(&t, tacit_num_nodes(ctx), argc, argv);
    const tacit_buffer_desc desc = { .name = "A", .range = TACIT_RANGE(t.n, t.n), .elem_size = sizeof(double) };
    must(tacit_buffer_create(ctx, &desc, &matrix));
    while (tiles_again(&t)) {
        for (size_t i = 0; i < t.count; i++) {
            for (size_t j = 0; j <= i; j++) {
                submit_fill(i, j);
            }
        }
        wait_for_all(0);
        tiles_begin(&t);
        factorise();
        wait_for_all(t.n - 1);
        tiles_end(&t);
    }
    print_result();
    must(tacit_finalize(ctx));
    return 0;
}
