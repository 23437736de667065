/* A = L L' in tiles by StarPU 1.3, as its manual would have it: handles of tiles, one task for each kernel, priorities,
 * and a performance model for the schedulers that want one. Compiled twice: for one process by tasks that are filled in
 * by hand, which is StarPU's fastest way to submit, and with PEER_STARPU_MPI for several by starpu_mpi_task_insert. */
#ifdef PEER_STARPU_MPI
#include <starpu_mpi.h>
#else
#include <starpu.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tiles.h"

static struct tiles t;
static starpu_data_handle_t *handle;
static double **memory; /* of the tiles of this process */
static int rank, ranks = 1;

/* ---- kernels */

static struct tile tile_of(void *buffer)
{
    return (struct tile){ (double *)STARPU_MATRIX_GET_PTR(buffer), (int)STARPU_MATRIX_GET_NX(buffer),
                          (int)STARPU_MATRIX_GET_LD(buffer) };
}

static void potrf(void *buffers[], void *unused)
{
    (void)unused;
    tile_potrf(tile_of(buffers[0]));
}

static void trsm(void *buffers[], void *unused)
{
    (void)unused;
    tile_trsm(tile_of(buffers[0]), tile_of(buffers[1]));
}

static void syrk(void *buffers[], void *unused)
{
    (void)unused;
    tile_syrk(tile_of(buffers[0]), tile_of(buffers[1]));
}

static void gemm(void *buffers[], void *unused)
{
    (void)unused;
    tile_gemm(tile_of(buffers[0]), tile_of(buffers[1]), tile_of(buffers[2]));
}

#define MODEL(kernel)                                                                                                  \
    static struct starpu_perfmodel kernel##_model = { .type = STARPU_HISTORY_BASED, .symbol = "tacit_peer_" #kernel }
MODEL(potrf);
MODEL(trsm);
MODEL(syrk);
MODEL(gemm);

static struct starpu_codelet potrf_codelet = {
    .cpu_funcs = { potrf }, .nbuffers = 1, .modes = { STARPU_RW }, .model = &potrf_model, .name = "potrf"
};
static struct starpu_codelet trsm_codelet = {
    .cpu_funcs = { trsm }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .model = &trsm_model, .name = "trsm"
};
static struct starpu_codelet syrk_codelet = {
    .cpu_funcs = { syrk }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .model = &syrk_model, .name = "syrk"
};
static struct starpu_codelet gemm_codelet = { .cpu_funcs = { gemm },
                                              .nbuffers = 3,
                                              .modes = { STARPU_RW, STARPU_R, STARPU_R },
                                              .model = &gemm_model,
                                              .name = "gemm" };

/* ---- tasks */

static void must(int status)
{
    if (status) {
        fprintf(stderr, "StarPU: %s\n", strerror(-status));
        exit(1);
    }
}

static starpu_data_handle_t *handle_of(size_t i, size_t j)
{
    return handle + i * t.count + j;
}

/* Schedulers without priorities have one only. */
static int priority(size_t k, size_t i, size_t j)
{
    const int wanted = tiles_priority(&t, k, i, j), most = starpu_sched_get_max_priority();
    return wanted < most ? wanted : most;
}

#ifdef PEER_STARPU_MPI
static void submit(struct starpu_codelet *codelet, int urgency, starpu_data_handle_t *h[3])
{
    if (codelet->nbuffers == 1) {
        must(starpu_mpi_task_insert(MPI_COMM_WORLD, codelet, STARPU_PRIORITY, urgency, STARPU_RW, *h[0], 0));
    } else if (codelet->nbuffers == 2) {
        must(starpu_mpi_task_insert(MPI_COMM_WORLD, codelet, STARPU_PRIORITY, urgency, STARPU_RW, *h[0], STARPU_R,
                                    *h[1], 0));
    } else {
        must(starpu_mpi_task_insert(MPI_COMM_WORLD, codelet, STARPU_PRIORITY, urgency, STARPU_RW, *h[0], STARPU_R,
                                    *h[1], STARPU_R, *h[2], 0));
    }
}

static void forget(size_t i, size_t j)
{
    starpu_mpi_cache_flush(MPI_COMM_WORLD, *handle_of(i, j));
}

static void wait_for_all(void)
{
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_mpi_barrier(MPI_COMM_WORLD);
}
#else
static void submit(struct starpu_codelet *codelet, int urgency, starpu_data_handle_t *h[3])
{
    struct starpu_task *task = starpu_task_create();
    task->cl = codelet;
    task->priority = urgency;
    for (int i = 0; i < codelet->nbuffers; i++) {
        task->handles[i] = *h[i];
    }
    must(starpu_task_submit(task));
}

static void forget(size_t i, size_t j)
{
    (void)i;
    (void)j;
}

static void wait_for_all(void)
{
    must(starpu_task_wait_for_all());
}
#endif

static void factorise(void)
{
    for (size_t k = 0; k < t.count; k++) {
        submit(&potrf_codelet, priority(k, k, k), (starpu_data_handle_t *[3]){ handle_of(k, k), NULL, NULL });
        for (size_t i = k + 1; i < t.count; i++) {
            submit(&trsm_codelet, priority(k, i, k),
                   (starpu_data_handle_t *[3]){ handle_of(i, k), handle_of(k, k), NULL });
        }
        for (size_t j = k + 1; j < t.count; j++) {
            submit(&syrk_codelet, priority(k, j, j),
                   (starpu_data_handle_t *[3]){ handle_of(j, j), handle_of(j, k), NULL });
            for (size_t i = j + 1; i < t.count; i++) {
                submit(&gemm_codelet, priority(k, i, j),
                       (starpu_data_handle_t *[3]){ handle_of(i, j), handle_of(i, k), handle_of(j, k) });
            }
        }
        for (size_t i = k; i < t.count; i++) { /* nobody needs them any more */
            forget(i, k);
        }
    }
}

/* ---- data */

static void create_tile(size_t i, size_t j)
{
    const bool mine = tiles_owner(&t, i, j) == rank;
    const uint32_t b = (uint32_t)t.tile;
    double *at = NULL;
    if (mine) {
        at = aligned_alloc(64, (t.tile * t.tile * sizeof(double) + 63) / 64 * 64);
        if (!at) {
            fprintf(stderr, "no memory\n");
            exit(1);
        }
    }
    memory[i * t.count + j] = at;
    starpu_matrix_data_register(handle_of(i, j), mine ? STARPU_MAIN_RAM : -1, (uintptr_t)at, b, b, b, sizeof(double));
#ifdef PEER_STARPU_MPI
    starpu_mpi_data_register(*handle_of(i, j), (starpu_mpi_tag_t)(i * t.count + j), tiles_owner(&t, i, j));
#endif
}

static void fill_tile(size_t i, size_t j)
{
    if (memory[i * t.count + j]) {
        must(starpu_data_acquire(*handle_of(i, j), STARPU_W));
        tile_fill((struct tile){ memory[i * t.count + j], (int)t.tile, (int)t.tile }, &t, i, j);
        starpu_data_release(*handle_of(i, j));
    }
}

/* A tile comes to the first process, into the matrix by rows. */
static void gather_tile(size_t i, size_t j, double *all)
{
#ifdef PEER_STARPU_MPI
    starpu_mpi_get_data_on_node(MPI_COMM_WORLD, *handle_of(i, j), 0);
#endif
    if (rank != 0) {
        return;
    }
    must(starpu_data_acquire(*handle_of(i, j), STARPU_R));
    const double *at = (const double *)starpu_matrix_get_local_ptr(*handle_of(i, j));
    const size_t ld = starpu_matrix_get_local_ld(*handle_of(i, j));
    for (size_t x = 0; x < t.tile; x++) {
        memcpy(all + (i * t.tile + x) * t.n + j * t.tile, at + x * ld, t.tile * sizeof(double));
    }
    starpu_data_release(*handle_of(i, j));
}

static void for_all_tiles(void (*act)(size_t i, size_t j))
{
    for (size_t i = 0; i < t.count; i++) {
        for (size_t j = 0; j <= i; j++) {
            act(i, j);
        }
    }
}

static void destroy_tile(size_t i, size_t j)
{
    starpu_data_unregister(*handle_of(i, j));
    free(memory[i * t.count + j]);
}

static void print_result(void)
{
    double *all = peer_alloc(t.n * t.n);
    for (size_t i = 0; i < t.count; i++) {
        for (size_t j = 0; j <= i; j++) {
            gather_tile(i, j, all);
        }
    }
    wait_for_all();
    if (rank == 0) {
        tiles_result(&t, all);
    }
    free(all);
}

int main(int argc, char **argv)
{
#ifdef PEER_STARPU_MPI
    must(starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, NULL));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#else
    must(starpu_init(NULL));
#endif
    tiles_start(&t, ranks, argc, argv);
    handle = calloc(t.count * t.count, sizeof(starpu_data_handle_t));
    memory = calloc(t.count * t.count, sizeof(double *));
    if (!handle || !memory) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    for_all_tiles(create_tile);
    while (tiles_again(&t)) {
        for_all_tiles(fill_tile);
        wait_for_all();
        tiles_begin(&t);
        factorise();
        wait_for_all();
        tiles_end(&t);
    }
    print_result();
    for_all_tiles(destroy_tile);
    free(memory);
    free(handle);
#ifdef PEER_STARPU_MPI
    starpu_mpi_shutdown();
#else
    starpu_shutdown();
#endif
    return 0;
}
