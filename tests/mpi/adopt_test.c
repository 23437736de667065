/* tacit inside an MPI program: tacit_init_mpi at all thread levels, on the world, on parts of it, several contexts.
 *
 * adopt_test [single|funneled|serialized|multiple], started by a launcher on any number of nodes. Every scenario runs
 * the same small program, whose result is known in closed form; the messages that the test itself has under way on the
 * communicators that it hands over must arrive untouched. A failure ends the job on all nodes. */
#include "mpi_program.h"

#include <pthread.h>
#include <unistd.h>

enum { ITEMS = 37, STEPS = 6, MOST_SECONDS = 300 };

/* ---- a program: every step adds to each element those of its neighbours */

typedef struct program {
    tacit_context *ctx;
    tacit_buffer *old, *fresh;
    int64_t scale;
} program;

static void start(const tacit_launch *k)
{
    const int64_t *scale = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int64_t, k->view[0], i) = *scale * (int64_t)(i * i + 1);
    }
}

static void spread(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        int64_t left = i > 0 ? TACIT_GET1(int64_t, k->view[0], i - 1) : 0;
        int64_t right = i + 1 < ITEMS ? TACIT_GET1(int64_t, k->view[0], i + 1) : 0;
        TACIT_AT1(int64_t, k->view[1], i) = TACIT_GET1(int64_t, k->view[0], i) + left + right;
    }
}

static program begin(tacit_context *ctx, int64_t scale)
{
    program p = { .ctx = ctx, .scale = scale };
    tacit_buffer_desc desc = { .name = "old", .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int64_t) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &p.old));
    desc.name = "fresh";
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &p.fresh));
    REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "start",
                                                     .range = TACIT_RANGE(ITEMS),
                                                     .kernel.host = start,
                                                     TACIT_ARGS(scale),
                                                     .access = { tacit_write(p.old, tacit_one_to_one()) } }));
    return p;
}

static void step(program *p)
{
    REQUIRE_OK(p->ctx, tacit_submit(p->ctx, &(tacit_task){ .name = "spread",
                                                           .range = TACIT_RANGE(ITEMS),
                                                           .kernel.host = spread,
                                                           .access = { tacit_read(p->old, tacit_neighborhood(1, 0, 0)),
                                                                       tacit_write(p->fresh, tacit_one_to_one()) } }));
    tacit_buffer *newest = p->fresh;
    p->fresh = p->old;
    p->old = newest;
}

static void check(const program *p, int steps)
{
    int64_t found[ITEMS], value[2][ITEMS + 2] = { { 0 } };
    for (size_t i = 0; i < ITEMS; i++) {
        value[0][i + 1] = p->scale * (int64_t)(i * i + 1);
    }
    for (int s = 0; s < steps; s++) {
        for (size_t i = 1; i <= ITEMS; i++) {
            value[(s + 1) % 2][i] = value[s % 2][i - 1] + value[s % 2][i] + value[s % 2][i + 1];
        }
    }
    REQUIRE_OK(p->ctx, tacit_fence_read(p->ctx, p->old, TACIT_BOX_ALL, found));
    REQUIRE(memcmp(found, &value[steps % 2][1], sizeof(found)) == 0);
}

static void run(tacit_context *ctx, int64_t scale)
{
    program p = begin(ctx, scale);
    for (int i = 0; i < STEPS; i++) {
        step(&p);
    }
    check(&p, STEPS);
}

/* ---- the messages of the test itself: from every rank to the next, under way while tacit works */

typedef struct ring {
    MPI_Comm comm;
    MPI_Request receive;
    int rank, nodes, got;
} ring;

/* Any tag of any source: a message of tacit's on the same communicator would end here. */
static void ring_begin(ring *r, MPI_Comm comm)
{
    *r = (ring){ .comm = comm, .got = -1 };
    MPI_Comm_rank(comm, &r->rank);
    MPI_Comm_size(comm, &r->nodes);
    MPI_Irecv(&r->got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r->receive);
}

static void ring_end(ring *r)
{
    MPI_Request send;
    MPI_Isend(&r->rank, 1, MPI_INT, (r->rank + 1) % r->nodes, 5, r->comm, &send);
    MPI_Wait(&r->receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    REQUIRE(r->got == (r->rank + r->nodes - 1) % r->nodes);
}

/* MPI works, and the error handler of the world is the caller's. */
static void check_mpi(MPI_Comm comm)
{
    int rank, nodes, sum = 0;
    MPI_Errhandler handler;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nodes);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    REQUIRE(sum == nodes * (nodes - 1) / 2);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    REQUIRE(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

/* ---- scenarios */

static void on_world(void)
{
    tacit_context *ctx;
    int rank, nodes;
    ring r;
    ring_begin(&r, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(NULL, tacit_init_mpi(MPI_COMM_WORLD, NULL, &ctx));
        REQUIRE(tacit_node(ctx) == rank && tacit_num_nodes(ctx) == nodes);
        run(ctx, i + 1);
        REQUIRE_OK(NULL, tacit_finalize(ctx));
        check_mpi(MPI_COMM_WORLD);
    }
    ring_end(&r);
}

/* Ranks of a part are renumbered, and the parts have different programs. */
static void on_parts(void)
{
    tacit_context *ctx;
    MPI_Comm part;
    int rank, nodes;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    int colour = rank % 2 ? 1 : 0;
    MPI_Comm_split(MPI_COMM_WORLD, colour, -rank, &part);
    ring r;
    ring_begin(&r, part);
    REQUIRE_OK(NULL, tacit_init_mpi(part, NULL, &ctx));
    REQUIRE(tacit_num_nodes(ctx) == (nodes + (colour ? 0 : 1)) / 2);
    REQUIRE(tacit_node(ctx) == (nodes - 1 - rank) / 2);
    for (int i = 0; i < 2 + 3 * colour; i++) {
        run(ctx, 10 * colour + i);
    }
    REQUIRE_OK(NULL, tacit_finalize(ctx));
    ring_end(&r);
    MPI_Comm_free(&part);
}

/* One context on the world and one on a part, in the same processes, and their tasks interleaved. */
static void at_the_same_time(void)
{
    tacit_context *all, *few;
    MPI_Comm part;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &part);
    REQUIRE_OK(NULL, tacit_init_mpi(MPI_COMM_WORLD, NULL, &all));
    REQUIRE_OK(NULL, tacit_init_mpi(part, NULL, &few));
    MPI_Comm_free(&part); /* its duplicate lives */
    program a = begin(all, 3), b = begin(few, 100 + rank / 2);
    for (int i = 0; i < STEPS; i++) {
        step(&a);
        step(&b);
    }
    /* Others may need what this node still has to send for one context before it waits in the other. */
    REQUIRE_OK(all, tacit_wait(all));
    check(&b, STEPS);
    REQUIRE_OK(few, tacit_wait(few));
    check(&a, STEPS);
    REQUIRE_OK(NULL, tacit_finalize(all));
    step(&b);
    check(&b, STEPS + 1);
    REQUIRE_OK(NULL, tacit_finalize(few));
}

/* ---- what is refused */

static void refused_outside_of_mpi(const char *part)
{
    tacit_context *ctx = (tacit_context *)(void *)&ctx;
    REQUIRE_REFUSED(NULL, tacit_init_mpi(MPI_COMM_WORLD, NULL, &ctx), TACIT_ERROR_STATE, part);
    REQUIRE(ctx == NULL);
    REQUIRE(strstr(tacit_last_error(NULL), "between MPI_Init_thread and MPI_Finalize"));
}

static void refused_communicators(void)
{
    tacit_context *ctx;
    MPI_Comm part, between;
    int rank, nodes;
    REQUIRE_REFUSED(NULL, tacit_init_mpi(MPI_COMM_WORLD, NULL, NULL), TACIT_ERROR_ARGUMENT,
                    "tacit_init_mpi: out is NULL");
    REQUIRE_REFUSED(NULL, tacit_init_mpi(MPI_COMM_NULL, NULL, &ctx), TACIT_ERROR_ARGUMENT,
                    "the communicator is MPI_COMM_NULL");
    MPI_Comm world = MPI_COMM_WORLD;
    tacit_mpi_comm other = tacit_mpi_comm_of_(&world);
    other.library = other.library == TACIT_MPI_MPICH ? TACIT_MPI_OPEN_MPI : TACIT_MPI_MPICH;
    REQUIRE_REFUSED(NULL, tacit_init_mpi_sized(&other, NULL, sizeof(tacit_config), &ctx), TACIT_ERROR_UNSUPPORTED,
                    other.library == TACIT_MPI_MPICH ? "is compiled with MPICH, but tacit was built with Open MPI"
                                                     : "is compiled with Open MPI, but tacit was built with MPICH");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    if (nodes > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
        MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, (rank + 1) % 2, 9, &between);
        REQUIRE_REFUSED(NULL, tacit_init_mpi(between, NULL, &ctx), TACIT_ERROR_ARGUMENT, "MPI_Intercomm_merge");
        MPI_Comm_free(&between);
        MPI_Comm_free(&part);
    }
}

/* Settings that ask for threads: refused below MPI_THREAD_MULTIPLE, with the level's name. */
static void settings(int level)
{
    const tacit_config wanted[] = { { .progress = TACIT_PROGRESS_THREAD },
                                    { .progress = TACIT_PROGRESS_SHARED, .workers = 2 },
                                    { .threads = TACIT_THREADS_ON } };
    const char *name[] = { "TACIT_PROGRESS=thread needs", "TACIT_PROGRESS=shared needs", "TACIT_THREADS=1 needs" };
    for (int i = 0; i < 3; i++) {
        tacit_context *ctx;
        if (level < MPI_THREAD_MULTIPLE) {
            REQUIRE_REFUSED(NULL, tacit_init_mpi(MPI_COMM_WORLD, &wanted[i], &ctx), TACIT_ERROR_CONFIG, name[i]);
            REQUIRE(strstr(tacit_last_error(NULL), level_name(level)));
            REQUIRE(strstr(tacit_last_error(NULL), "call MPI_Init_thread with MPI_THREAD_MULTIPLE"));
            REQUIRE(ctx == NULL);
        } else {
            REQUIRE_OK(NULL, tacit_init_mpi(MPI_COMM_WORLD, &wanted[i], &ctx));
            run(ctx, 2);
            REQUIRE_OK(NULL, tacit_finalize(ctx));
        }
    }
}

static void *on_other_thread(void *user)
{
    program *p = user;
    const char *part = "only the thread that created this context may use it, since MPI was initialised with";
    tacit_context *ctx;
    REQUIRE_REFUSED(p->ctx, tacit_wait(p->ctx), TACIT_ERROR_STATE, part);
    REQUIRE_REFUSED(p->ctx, tacit_submit(p->ctx, &(tacit_task){ .name = "x" }), TACIT_ERROR_STATE, part);
    REQUIRE_REFUSED(p->ctx, tacit_fence_read(p->ctx, p->old, TACIT_BOX_ALL, &ctx), TACIT_ERROR_STATE, part);
    REQUIRE_REFUSED(p->ctx, tacit_buffer_destroy(p->ctx, p->old), TACIT_ERROR_STATE, part);
    REQUIRE_REFUSED(p->ctx, tacit_finalize(p->ctx), TACIT_ERROR_STATE, part);
    REQUIRE_REFUSED(NULL, tacit_init_mpi(MPI_COMM_WORLD, NULL, &ctx), TACIT_ERROR_STATE,
                    "so only the thread that did it may call tacit");
    return NULL;
}

/* A context that was made here, used there, and finalized here. */
static void *use(void *user)
{
    program *p = user;
    step(p);
    check(p, 1);
    return NULL;
}

static void threads(int level)
{
    tacit_context *ctx;
    pthread_t thread;
    REQUIRE_OK(NULL, tacit_init_mpi(MPI_COMM_WORLD, NULL, &ctx));
    program p = begin(ctx, 1);
    bool one_thread = level < MPI_THREAD_SERIALIZED;
    REQUIRE(pthread_create(&thread, NULL, one_thread ? on_other_thread : use, &p) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    step(&p);
    check(&p, one_thread ? 1 : 2);
    REQUIRE_OK(NULL, tacit_finalize(ctx));
}

int main(int argc, char **argv)
{
    int level = level_named(argc > 1 ? argv[1] : "multiple"), provided;
    alarm(MOST_SECONDS);
    refused_outside_of_mpi("MPI is not initialised");
    MPI_Init_thread(&argc, &argv, level, &provided);
    if (provided < level) {
        printf("skipped: this MPI provides %s only\n", level_name(provided));
    }
    level = provided; /* some libraries give more than was asked for */
    refused_communicators();
    settings(level);
    on_world();
    on_parts();
    at_the_same_time();
    threads(level);
    check_mpi(MPI_COMM_WORLD);
    MPI_Finalize();
    refused_outside_of_mpi("MPI is finalized");
    return 0;
}
