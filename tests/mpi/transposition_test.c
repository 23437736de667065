/* Transpositions of a matrix whose rows lie in several allocations of a node, in every schedule. What MPI is given to
 * send from and receive into must be no address that has a meaning of its own. Run by a launcher on any number of
 * nodes. */
#include "mpi_program.h"

enum { N = 24, SCHEDULES = TACIT_COLLECTIVE_SCHEDULE_PACKED + 1 };

static long pairs; /* transpositions by MPI_Ialltoallw on this node */

int MPI_Ialltoallw(const void *from, const int counts[], const int at[], const MPI_Datatype types[], void *to,
                   const int to_counts[], const int to_at[], const MPI_Datatype to_types[], MPI_Comm mpi,
                   MPI_Request *request)
{
    pairs++;
    REQUIRE(from != MPI_IN_PLACE && from != MPI_BOTTOM);
    REQUIRE(to != MPI_IN_PLACE && to != MPI_BOTTOM && to != from);
    return PMPI_Ialltoallw(from, counts, at, types, to, to_counts, to_at, to_types, mpi, request);
}

static void number(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = 0; j < N; j++) {
            TACIT_AT2(int64_t, k->view[0], i, j) = (int64_t)(i * N + j);
        }
    }
}

static void add_column(const tacit_launch *k)
{
    for (size_t j = k->chunk.min[0]; j < k->chunk.max[0]; j++) {
        for (size_t i = 0; i < N; i++) {
            TACIT_AT2(int64_t, k->view[0], i, j) += (int64_t)j;
        }
    }
}

static void submit(tacit_context *ctx, const char *name, void (*kernel)(const tacit_launch *), tacit_access access)
{
    REQUIRE_OK(ctx, tacit_submit(
                        ctx, &(tacit_task){
                                 .name = name, .range = TACIT_RANGE(N), .kernel.host = kernel, .access = { access } }));
}

/* What a node gives and what it gets lie apart, and nothing that needs them together is known yet. */
static void transpose(int schedule, const char *devices)
{
    const tacit_config config = { .workers = 2, .host_devices = devices, .collective_schedule = schedule };
    static int64_t found[N][N];
    tacit_context *ctx;
    tacit_buffer *m;
    REQUIRE_OK(NULL, tacit_init(&config, &ctx));
    tacit_buffer_desc desc = { .name = "m", .range = TACIT_RANGE(N, N), .elem_size = sizeof(int64_t) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &m));
    submit(ctx, "rows", number, tacit_write(m, tacit_components(tacit_dim(0), tacit_full(), tacit_full())));
    REQUIRE_OK(ctx, tacit_wait(ctx));
    submit(ctx, "columns", add_column, tacit_update(m, tacit_components(tacit_full(), tacit_dim(0), tacit_full())));
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, m, tacit_box2(0, N, 0, N), found));
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            REQUIRE(found[i][j] == (int64_t)(i * N + j + j));
        }
    }
    REQUIRE_OK(ctx, tacit_finalize(ctx));
}

int main(int argc, char **argv)
{
    static const char *const devices[] = { "1", "2", "2:discrete" };
    int level, nodes;
    REQUIRE(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
    REQUIRE(MPI_Comm_size(MPI_COMM_WORLD, &nodes) == MPI_SUCCESS);
    for (int schedule = 0; schedule < SCHEDULES; schedule++) {
        for (size_t d = 0; d < sizeof(devices) / sizeof(devices[0]); d++) {
            long before = pairs;
            transpose(schedule, devices[d]);
            REQUIRE(schedule != TACIT_COLLECTIVE_SCHEDULE_MPI || nodes == 1 || pairs > before);
        }
    }
    REQUIRE(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
