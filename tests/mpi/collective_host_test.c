/* Tasks on every node whose kernels call collective operations of MPI, among tasks that exchange data.
 *
 * collective_host_test [single|funneled|serialized|multiple], started by a launcher on any number of nodes. With
 * MPI_THREAD_MULTIPLE everything is done inline, with one worker, with several and with threads for the roles; below
 * that, inline. A node that waits for one whose kernel cannot start would hang: an alarm ends the job then. */
#include "mpi_program.h"

#include <unistd.h>

enum { ITEMS = 41, ROUNDS = 8, LARGE = 256 * 1024, MAX_SECONDS = 300 };

/* ---- a loop whose step size is agreed on by MPI_Allreduce */

static void start(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int64_t, k->view[0], i) = (int64_t)(i * i % 17);
    }
}

/* Views: all values; what is agreed on. Each node has a number of its own to contribute. */
static void agree(const tacit_launch *k)
{
    const int64_t *round = k->args;
    int64_t mine = (k->node + 1) * *round, all = 0, sum = 0;
    MPI_Comm comm = tacit_launch_communicator(k);
    int rank, nodes;
    REQUIRE(comm != MPI_COMM_NULL);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nodes);
    REQUIRE(rank == k->node && nodes == k->num_nodes);
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, comm);
    for (size_t i = 0; i < ITEMS; i++) {
        sum += TACIT_GET1(int64_t, k->view[0], i);
    }
    TACIT_AT0(int64_t, k->view[1]) = (all + sum) % 1000;
}

/* Views: values, with neighbours; what was agreed on; new values. */
static void change(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        int64_t right = i + 1 < ITEMS ? TACIT_GET1(int64_t, k->view[0], i + 1) : 7;
        TACIT_AT1(int64_t, k->view[2],
                  i) = (TACIT_GET1(int64_t, k->view[0], i) + 2 * right + TACIT_GET0(int64_t, k->view[1])) % 1000003;
    }
}

static void expect(int64_t *value, int64_t nodes)
{
    for (int64_t i = 0; i < ITEMS; i++) {
        value[i] = i * i % 17;
    }
    for (int64_t r = 0; r < ROUNDS; r++) {
        int64_t sum = 0;
        for (int i = 0; i < ITEMS; i++) {
            sum += value[i];
        }
        int64_t agreed = (nodes * (nodes + 1) / 2 * r + sum) % 1000;
        for (int i = 0; i < ITEMS; i++) {
            value[i] = (value[i] + 2 * (i + 1 < ITEMS ? value[i + 1] : 7) + agreed) % 1000003;
        }
    }
}

typedef struct program {
    tacit_context *ctx;
    tacit_buffer *old, *fresh, *agreed;
} program;

static tacit_buffer *create(tacit_context *ctx, const char *name, tacit_range range, size_t elem_size)
{
    tacit_buffer *buffer;
    tacit_buffer_desc desc = { .name = name, .range = range, .elem_size = elem_size };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

static program begin(tacit_context *ctx)
{
    program p = { ctx, create(ctx, "old", TACIT_RANGE(ITEMS), sizeof(int64_t)),
                  create(ctx, "fresh", TACIT_RANGE(ITEMS), sizeof(int64_t)),
                  create(ctx, "agreed", (tacit_range){ .dims = 0 }, sizeof(int64_t)) };
    tacit_task t = { .name = "start",
                     .range = TACIT_RANGE(ITEMS),
                     .kernel.host = start,
                     .access = { tacit_write(p.old, tacit_one_to_one()) } };
    REQUIRE_OK(ctx, tacit_submit(ctx, &t));
    return p;
}

static void step(program *p, int64_t round)
{
    tacit_task task = { .name = "agree",
                        .on = TACIT_ON_EVERY_NODE,
                        .kernel.host = agree,
                        TACIT_ARGS(round),
                        .access = { tacit_read(p->old, tacit_all()), tacit_write(p->agreed, tacit_replicated()) } };
    tacit_task changing = { .name = "change",
                            .range = TACIT_RANGE(ITEMS),
                            .kernel.host = change,
                            .access = { tacit_read(p->old, tacit_neighborhood(1, 0, 0)),
                                        tacit_read(p->agreed, tacit_all()),
                                        tacit_write(p->fresh, tacit_one_to_one()) } };
    REQUIRE_OK(p->ctx, tacit_submit(p->ctx, &task));
    REQUIRE_OK(p->ctx, tacit_submit(p->ctx, &changing));
    tacit_buffer *newest = p->fresh;
    p->fresh = p->old;
    p->old = newest;
}

static void check(const program *p)
{
    int64_t found[ITEMS], expected[ITEMS];
    expect(expected, tacit_num_nodes(p->ctx));
    REQUIRE_OK(p->ctx, tacit_fence_read(p->ctx, p->old, TACIT_BOX_ALL, found));
    REQUIRE(memcmp(found, expected, sizeof(found)) == 0);
}

static void run_agreeing(tacit_context *ctx)
{
    program p = begin(ctx);
    for (int64_t r = 0; r < ROUNDS; r++) {
        step(&p, r);
    }
    check(&p);
}

/* ---- large messages for older tasks of other nodes, which a node that waits in MPI must not hold back */

typedef struct large {
    int64_t number[LARGE / sizeof(int64_t)];
} large;

/* The last view is written, from the first if there are two. */
static void pass_on(const tacit_launch *k)
{
    const int64_t *round = k->args;
    bool has_source = k->view[0].mode == TACIT_READ;
    const large *from = k->view[0].data;
    large *to = k->view[has_source ? 1 : 0].data;
    REQUIRE(!has_source || (from->number[0] == *round && from->number[LARGE / sizeof(int64_t) - 1] == *round));
    for (size_t i = 0; i < LARGE / sizeof(int64_t); i++) {
        to->number[i] = *round;
    }
}

/* Views: a large value, and the number that the task overwrites. */
static void look(const tacit_launch *k)
{
    const int64_t *round = k->args;
    const large *value = k->view[0].data;
    REQUIRE(value->number[1] == *round && TACIT_GET0(int64_t, k->view[1]) == *round);
    TACIT_AT0(int64_t, k->view[2]) = *round;
}

static void replace(const tacit_launch *k)
{
    const int64_t *round = k->args;
    int64_t next = k->node ? -1 : *round + 1;
    MPI_Comm comm = tacit_launch_communicator(k);
    MPI_Barrier(comm);
    MPI_Bcast(&next, 1, MPI_INT64_T, 0, comm);
    TACIT_AT0(int64_t, k->view[0]) = next;
}

static void submit_round(tacit_context *ctx, tacit_buffer *const b[4], int64_t round)
{
    int last = tacit_num_nodes(ctx) - 1;
    tacit_task t[4] = { { .name = "prepare", .kernel.host = pass_on, .place = tacit_place_node(last) },
                        { .name = "pass_on", .kernel.host = pass_on, .place = tacit_place_node(0) },
                        { .name = "look", .kernel.host = look, .place = tacit_place_node(last) },
                        { .name = "replace", .kernel.host = replace, .on = TACIT_ON_EVERY_NODE } };
    t[0].access[0] = tacit_write(b[0], tacit_all());
    t[1].access[0] = tacit_read(b[0], tacit_all());
    t[1].access[1] = tacit_write(b[1], tacit_all());
    t[2].access[0] = tacit_read(b[1], tacit_all());
    t[2].access[1] = tacit_read(b[2], tacit_all());
    t[2].access[2] = tacit_write(b[3], tacit_all());
    t[3].access[0] = tacit_write(b[2], tacit_replicated());
    t[1].hint.priority = -10;
    t[3].hint.priority = 10;
    for (int i = 0; i < 4; i++) {
        t[i].args = &round;
        t[i].args_size = sizeof(round);
        REQUIRE_OK(ctx, tacit_submit(ctx, &t[i]));
    }
}

static void run_older_work(tacit_context *ctx)
{
    const tacit_range one = { .dims = 0 };
    int64_t zero = 0;
    tacit_buffer *b[4] = { create(ctx, "seed", one, sizeof(large)), create(ctx, "value", one, sizeof(large)), NULL,
                           create(ctx, "result", one, sizeof(int64_t)) };
    tacit_buffer_desc desc = { .name = "shared", .elem_size = sizeof(zero), .init = &zero };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b[2]));
    for (int64_t r = 0; r < ROUNDS; r++) {
        submit_round(ctx, b, r);
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
}

/* ---- the communicator */

static void look_at_communicator(const tacit_launch *k)
{
    MPI_Comm *parent = *(MPI_Comm *const *)k->args, comm = tacit_launch_communicator(k);
    MPI_Errhandler here, there;
    int comparison;
    REQUIRE(comm == tacit_launch_communicator(k));
    MPI_Comm_compare(comm, *parent, &comparison);
    REQUIRE(comparison == MPI_CONGRUENT);
    MPI_Comm_get_errhandler(comm, &here);
    MPI_Comm_get_errhandler(*parent, &there);
    REQUIRE(here == there);
    MPI_Errhandler_free(&here);
    MPI_Errhandler_free(&there);
}

static void check_communicator(tacit_context *ctx, MPI_Comm *parent)
{
    tacit_task t = {
        .name = "look", .on = TACIT_ON_EVERY_NODE, .kernel.host = look_at_communicator, TACIT_ARGS(parent)
    };
    REQUIRE_OK(ctx, tacit_submit(ctx, &t));
    REQUIRE_OK(ctx, tacit_wait(ctx));
}

static void run_all(const tacit_config *config, MPI_Comm *comm)
{
    tacit_context *ctx;
    REQUIRE_OK(NULL, tacit_init_mpi(*comm, config, &ctx));
    check_communicator(ctx, comm);
    run_agreeing(ctx);
    run_older_work(ctx);
    run_agreeing(ctx);
    REQUIRE_OK(NULL, tacit_finalize(ctx));
}

/* Parts of the world with contexts of their own, whose error handlers are not MPI's default. */
static void on_parts(const tacit_config *config)
{
    MPI_Comm part;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
    for (int i = 0; i <= rank % 2; i++) {
        run_all(config, &part);
    }
    MPI_Comm_free(&part);
}

/* Collective host tasks of two contexts in the same processes. Where everything is inline, a node that waits in one
 * does not drive the other. */
static void at_the_same_time(const tacit_config *config, bool threads)
{
    tacit_context *all, *few;
    MPI_Comm part;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &part);
    REQUIRE_OK(NULL, tacit_init_mpi(MPI_COMM_WORLD, config, &all));
    REQUIRE_OK(NULL, tacit_init_mpi(part, config, &few));
    program a = begin(all), b = begin(few);
    for (int64_t r = 0; r < ROUNDS; r++) {
        step(&a, r);
        if (!threads) {
            REQUIRE_OK(all, tacit_wait(all));
        }
        step(&b, r);
        if (!threads) {
            REQUIRE_OK(few, tacit_wait(few));
        }
    }
    check(&b);
    REQUIRE_OK(few, tacit_wait(few));
    check(&a);
    REQUIRE_OK(NULL, tacit_finalize(all));
    REQUIRE_OK(NULL, tacit_finalize(few));
    MPI_Comm_free(&part);
}

int main(int argc, char **argv)
{
    static const tacit_config modes[] = {
        { 0 },
        { .threads = TACIT_THREADS_INLINE },
        { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1 },
        { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 2, .horizon_step = 1 },
        { .progress = TACIT_PROGRESS_THREAD, .workers = 1 },
    };
    int level = level_named(argc > 1 ? argv[1] : "multiple");
    MPI_Comm world = MPI_COMM_WORLD;
    alarm(MAX_SECONDS);
    MPI_Init_thread(&argc, &argv, level, &level);
    for (size_t m = 0; m < (level < MPI_THREAD_MULTIPLE ? 2 : sizeof(modes) / sizeof(modes[0])); m++) {
        run_all(&modes[m], &world);
        on_parts(&modes[m]);
        at_the_same_time(&modes[m], m >= 2);
    }
    MPI_Finalize();
    return 0;
}
