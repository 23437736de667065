/* Groups of collective host tasks: those of different groups run at the same time, those of one group, or of none, in
 * the order of their submission, and each group has a communicator of its own.
 *
 * That two tasks overlap is seen by events: the first one does not end before the second has begun, on any node. It
 * gives up after a while, in which case an alarm or a check says so. That two do not overlap: when the first one
 * ends, the second has not begun. */
#include "mpi_program.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { GROUPS = 3, ROUNDS = 6, MAX_SECONDS = 200, PATIENCE = 60 /* seconds */ };

typedef struct events {
    atomic_int begun[GROUPS + 1], ended[GROUPS + 1]; /* by group of the program's */
} events;

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

/* ---- overlap */

typedef struct waiting {
    events *seen;
    int self, other; /* waits until the other has begun on this node; -1: for none, and it must not have */
    int forbidden;
} waiting;

static void begin_and_wait(const tacit_launch *k)
{
    const waiting *w = k->args;
    MPI_Comm comm = tacit_launch_communicator(k);
    atomic_fetch_add(&w->seen->begun[w->self], 1);
    for (time_t start = time(NULL); w->other >= 0 && !atomic_load(&w->seen->begun[w->other]);) {
        if (time(NULL) - start > PATIENCE) {
            stop_job(__FILE__, __LINE__, "node %d: task '%s' has not overlapped with the other one", k->node, k->name);
        }
        pause_briefly();
    }
    if (w->forbidden >= 0) {
        pause_briefly();
        REQUIRE(atomic_load(&w->seen->begun[w->forbidden]) == 0);
    }
    MPI_Barrier(comm); /* the other nodes are in the same task */
    atomic_fetch_add(&w->seen->ended[w->self], 1);
}

static void submit(tacit_context *ctx, const char *name, tacit_collective_group *group, const waiting *w,
                   tacit_host_object *object)
{
    const tacit_task task = { .name = name,
                              .on = TACIT_ON_EVERY_NODE,
                              .kernel.host = begin_and_wait,
                              .args = w,
                              .args_size = sizeof(*w),
                              .group = group,
                              .host_object = { object } };
    REQUIRE_OK(ctx, tacit_submit(ctx, &task));
}

/* The first task waits for the second, which waits for the third. With threads only. */
static void overlap(tacit_context *ctx, tacit_collective_group *const group[GROUPS])
{
    events seen = { 0 };
    submit(ctx, "first", group[0], &(waiting){ &seen, 0, 1, -1 }, NULL);
    submit(ctx, "second", group[1], &(waiting){ &seen, 1, 2, -1 }, NULL);
    submit(ctx, "none", NULL, &(waiting){ &seen, 2, -1, -1 }, NULL);
    REQUIRE_OK(ctx, tacit_wait(ctx));
    for (int i = 0; i < GROUPS; i++) {
        REQUIRE(atomic_load(&seen.ended[i]) == 1);
    }
}

/* Tasks of one group, without any, or with a host object in common do not. */
static void no_overlap(tacit_context *ctx, tacit_collective_group *const group[GROUPS])
{
    tacit_host_object *object;
    REQUIRE_OK(ctx, tacit_host_object_create(ctx, &object));
    tacit_collective_group *const pairs[][2] = { { NULL, NULL }, { group[1], group[1] }, { group[0], group[2] } };
    for (int i = 0; i < 3; i++) {
        events seen = { 0 };
        tacit_host_object *shared = i == 2 ? object : NULL;
        submit(ctx, "first", pairs[i][0], &(waiting){ &seen, 0, -1, 1 }, shared);
        submit(ctx, "second", pairs[i][1], &(waiting){ &seen, 1, -1, -1 }, shared);
        REQUIRE_OK(ctx, tacit_wait(ctx));
        REQUIRE(atomic_load(&seen.ended[0]) == 1 && atomic_load(&seen.ended[1]) == 1);
    }
    REQUIRE_OK(ctx, tacit_host_object_destroy(ctx, object));
}

/* ---- collective operations of several groups, in whatever order nodes come to them */

typedef struct number {
    int64_t *last; /* of the group, on this node */
    int64_t round;
    int group;
} number;

/* Views: what the group's tasks before have found; the same with what this one finds. */
static void add_up(const tacit_launch *k)
{
    const number *n = k->args;
    MPI_Comm comm = tacit_launch_communicator(k);
    int64_t mine = (k->node + 1) * (n->round + 10 * n->group), all = 0;
    REQUIRE(*n->last == n->round - 1);
    *n->last = n->round;
    if ((k->node + n->round + n->group) % 3 == 0) {
        pause_briefly(); /* nodes come to the groups in different orders */
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, comm);
    TACIT_AT0(int64_t, k->view[1]) = TACIT_GET0(int64_t, k->view[0]) + all;
}

static void many(tacit_context *ctx, tacit_collective_group *const group[GROUPS])
{
    const int64_t zero = 0, nodes = tacit_num_nodes(ctx), sum = nodes * (nodes + 1) / 2;
    const tacit_buffer_desc desc = { .name = "sum", .elem_size = sizeof(zero), .init = &zero };
    int64_t last[GROUPS];
    tacit_buffer *sums[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        last[g] = -1;
        REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &sums[g]));
    }
    for (int64_t round = 0; round < ROUNDS; round++) {
        for (int g = 0; g < GROUPS; g++) {
            const number n = { &last[g], round, g };
            const tacit_task task = { .name = "add_up",
                                      .on = TACIT_ON_EVERY_NODE,
                                      .kernel.host = add_up,
                                      TACIT_ARGS(n),
                                      .group = group[g],
                                      .access = { tacit_read(sums[g], tacit_all()),
                                                  tacit_write(sums[g], tacit_replicated()) } };
            REQUIRE_OK(ctx, tacit_submit(ctx, &task));
        }
    }
    for (int g = 0; g < GROUPS; g++) {
        int64_t found, expected = sum * (ROUNDS * (ROUNDS - 1) / 2 + 10 * g * ROUNDS);
        REQUIRE_OK(ctx, tacit_fence_read(ctx, sums[g], TACIT_BOX_ALL, &found));
        REQUIRE(found == expected);
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, sums[g]));
    }
}

/* ---- communicators */

static void keep_communicator(const tacit_launch *k)
{
    MPI_Comm *out = *(MPI_Comm *const *)k->args;
    *out = tacit_launch_communicator(k);
    REQUIRE(*out != MPI_COMM_NULL);
}

static void communicators(tacit_context *ctx, tacit_collective_group *const group[GROUPS])
{
    MPI_Comm comm[GROUPS + 1];
    for (int g = 0; g <= GROUPS; g++) {
        MPI_Comm *out = &comm[g];
        const tacit_task task = { .name = "keep",
                                  .on = TACIT_ON_EVERY_NODE,
                                  .kernel.host = keep_communicator,
                                  TACIT_ARGS(out),
                                  .group = g < GROUPS ? group[g] : NULL };
        REQUIRE_OK(ctx, tacit_submit(ctx, &task));
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
    for (int g = 0; g <= GROUPS; g++) {
        for (int h = 0; h <= g; h++) {
            int comparison;
            MPI_Comm_compare(comm[g], comm[h], &comparison);
            REQUIRE(comparison == (g == h ? MPI_IDENT : MPI_CONGRUENT));
        }
    }
}

/* ---- what is refused, and how many there may be */

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static void refusals(tacit_context *ctx, tacit_collective_group *live)
{
    tacit_collective_group *group[TACIT_MAX_COLLECTIVE_GROUPS + 1], *gone;
    tacit_task task = { .name = "wrong", .kernel.host = nothing, .group = live };
    REQUIRE_REFUSED(ctx, tacit_submit(ctx, &task), TACIT_ERROR_ARGUMENT, "task 'wrong': .group is for collective host");
    task.on = TACIT_ON_ONE_NODE;
    REQUIRE_REFUSED(ctx, tacit_submit(ctx, &task), TACIT_ERROR_ARGUMENT, "set .on = TACIT_ON_EVERY_NODE");
    task.on = TACIT_ON_EVERY_NODE;
    task.group = (tacit_collective_group *)(void *)&task;
    REQUIRE_REFUSED(ctx, tacit_submit(ctx, &task), TACIT_ERROR_STATE, "task 'wrong': its group is destroyed or");
    REQUIRE_REFUSED(ctx, tacit_collective_group_create(ctx, NULL), TACIT_ERROR_ARGUMENT, "out is NULL");
    for (int i = GROUPS; i < TACIT_MAX_COLLECTIVE_GROUPS; i++) {
        REQUIRE_OK(ctx, tacit_collective_group_create(ctx, &group[i]));
    }
    REQUIRE_REFUSED(ctx, tacit_collective_group_create(ctx, &gone), TACIT_ERROR_RANGE, "there are 16 groups already");
    task.group = group[GROUPS];
    for (int i = 0; i < 3; i++) { /* so that its description is known */
        REQUIRE_OK(ctx, tacit_submit(ctx, &task));
    }
    REQUIRE_OK(ctx, tacit_collective_group_destroy(ctx, group[GROUPS]));
    REQUIRE_OK(ctx, tacit_collective_group_destroy(ctx, NULL));
    REQUIRE_REFUSED(ctx, tacit_submit(ctx, &task), TACIT_ERROR_STATE, "its group is destroyed or");
    REQUIRE_REFUSED(ctx, tacit_collective_group_destroy(ctx, group[GROUPS]), TACIT_ERROR_STATE, "destroyed already");
    REQUIRE_OK(ctx, tacit_collective_group_create(ctx, &group[GROUPS])); /* the same number again */
    task.group = group[GROUPS];
    REQUIRE_OK(ctx, tacit_submit(ctx, &task));
    for (int i = GROUPS; i < TACIT_MAX_COLLECTIVE_GROUPS; i++) {
        REQUIRE_OK(ctx, tacit_collective_group_destroy(ctx, group[i]));
    }
}

static void run_all(const tacit_config *config)
{
    tacit_context *ctx;
    tacit_collective_group *group[GROUPS];
    REQUIRE_OK(NULL, tacit_init_mpi(MPI_COMM_WORLD, config, &ctx));
    for (int g = 0; g < GROUPS; g++) {
        REQUIRE_OK(ctx, tacit_collective_group_create(ctx, &group[g]));
    }
    no_overlap(ctx, group);
    many(ctx, group);
    if (config->threads != TACIT_THREADS_INLINE) {
        overlap(ctx, group);
    }
    communicators(ctx, group);
    if (config->workers < 2) {
        refusals(ctx, group[0]); /* which makes many */
    }
    many(ctx, group);
    REQUIRE_OK(NULL, tacit_finalize(ctx)); /* which ends groups, too */
}

int main(int argc, char **argv)
{
    static const tacit_config modes[] = {
        { .threads = TACIT_THREADS_INLINE },
        { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 2 },
        { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 2, .comm_delay = 20 },
        { .progress = TACIT_PROGRESS_THREAD, .workers = 2 },
    };
    int level = MPI_THREAD_MULTIPLE;
    alarm(MAX_SECONDS);
    MPI_Init_thread(&argc, &argv, level, &level);
    REQUIRE(level == MPI_THREAD_MULTIPLE);
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
        run_all(&modes[m]);
    }
    MPI_Finalize();
    return 0;
}
