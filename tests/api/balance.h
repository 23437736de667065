/* A program for tests of TACIT_BALANCE: steps of a stencil, among other tasks, on nodes of which one is slow. It notes
 * which node computes which rows, and its results are compared with those of a loop, bit by bit. */
#ifndef BALANCE_H
#define BALANCE_H

#include "tacit/tacit.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { BALANCE_ROWS = 42, BALANCE_STEPS = 24, BALANCE_MOST_NODES = 8 };

/* What the tasks of one node have done. Items of a step are noted by the node that computes them. */
typedef struct balance_notes {
    int slow;                                      /* a node, or -1 */
    bool waits, retunes;                           /* after each step; after half of them */
    unsigned char items[BALANCE_STEPS];            /* of this node */
    unsigned char own_items[2], host_items, plain; /* tasks with weights of their own; on the host; in two dimensions */
    double result[BALANCE_ROWS];
} balance_notes;

typedef struct balance_args {
    balance_notes *notes;
    int step;
} balance_args;

/* A slow node needs twenty times as long: it sleeps, so that it does so on a busy machine, too. */
static inline void balance_take_time(bool slow)
{
    struct timespec rest = { .tv_nsec = slow ? 2000000 : 100000 };
    nanosleep(&rest, NULL);
}

static inline void balance_start(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(double, k->view[0], i) = (double)(i * i % 19) / 7;
    }
}

static inline void balance_step(const tacit_launch *k)
{
    const balance_args *args = k->args;
    TACIT_FOR (i, k->chunk, 0) {
        double left = i > 0 ? TACIT_GET1(double, k->view[0], i - 1) : 1.0 / 3;
        double right = i + 1 < BALANCE_ROWS ? TACIT_GET1(double, k->view[0], i + 1) : 0.7;
        TACIT_AT1(double, k->view[1], i) = (left + 1.1 * TACIT_GET1(double, k->view[0], i) + right) / 3.1;
        balance_take_time(k->node == args->notes->slow);
        __atomic_fetch_add(&args->notes->items[args->step], 1, __ATOMIC_RELAXED);
    }
}

/* Other tasks only count their items. */
static inline void balance_count(const tacit_launch *k)
{
    unsigned char *const *count = k->args;
    unsigned items = 1;
    for (int d = 0; d < TACIT_MAX_DIMS; d++) {
        items *= (unsigned)(k->chunk.max[d] - k->chunk.min[d]);
    }
    __atomic_fetch_add(*count, (unsigned char)items, __ATOMIC_RELAXED);
}

static inline tacit_status balance_submit_other(tacit_context *ctx, tacit_task task, unsigned char *count)
{
    task.kernel.host = balance_count;
    task.args = &count;
    task.args_size = sizeof(count);
    return tacit_submit(ctx, &task);
}

/* At the end, with the weights that hold then. */
static inline tacit_status balance_submit_others(tacit_context *ctx, balance_notes *notes)
{
    uint32_t alike[BALANCE_MOST_NODES], one[BALANCE_MOST_NODES] = { 1000000 };
    for (int i = 0; i < BALANCE_MOST_NODES; i++) {
        alike[i] = 5;
    }
    const tacit_range rows = TACIT_RANGE(BALANCE_ROWS);
    const tacit_task tasks[] = {
        { .name = "alike", .range = rows, .hint.weights = alike },
        { .name = "first", .range = rows, .hint.weights = one },
        { .name = "host", .range = rows, .on = TACIT_ON_HOST },
        { .name = "plain", .range = TACIT_RANGE(BALANCE_ROWS, 2), .hint.split = TACIT_SPLIT_2D },
    };
    unsigned char *const count[] = { &notes->own_items[0], &notes->own_items[1], &notes->host_items, &notes->plain };
    tacit_status status = TACIT_OK;
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]) && status == TACIT_OK; i++) {
        status = balance_submit_other(ctx, tasks[i], count[i]);
    }
    return status;
}

static inline tacit_status balance_submit_step(tacit_context *ctx, tacit_buffer *const u[2], balance_notes *notes,
                                               int step)
{
    const balance_args args = { notes, step };
    const tacit_task task = { .name = "step",
                              .range = TACIT_RANGE(BALANCE_ROWS),
                              .kernel.host = balance_step,
                              TACIT_ARGS(args),
                              .access = { tacit_read(u[step % 2], tacit_neighborhood(1, 0, 0)),
                                          tacit_write(u[1 - step % 2], tacit_one_to_one()) } };
    tacit_status status = tacit_submit(ctx, &task);
    if (status == TACIT_OK && notes->waits) {
        status = tacit_wait(ctx);
    }
    return status == TACIT_OK && notes->retunes && step + 1 == BALANCE_STEPS / 2 ? tacit_retune(ctx) : status;
}

/* The whole program; the first status that is not TACIT_OK. */
static inline tacit_status balance_program(tacit_context *ctx, balance_notes *notes)
{
    const tacit_buffer_desc desc = { .name = "u", .range = TACIT_RANGE(BALANCE_ROWS), .elem_size = sizeof(double) };
    tacit_buffer *u[2];
    tacit_status status = tacit_buffer_create(ctx, &desc, &u[0]);
    if (status != TACIT_OK || (status = tacit_buffer_create(ctx, &desc, &u[1])) != TACIT_OK) {
        return status;
    }
    const tacit_task start = { .name = "start",
                               .range = TACIT_RANGE(BALANCE_ROWS),
                               .kernel.host = balance_start,
                               .access = { tacit_write(u[0], tacit_one_to_one()) } };
    status = tacit_submit(ctx, &start);
    for (int step = 0; step < BALANCE_STEPS && status == TACIT_OK; step++) {
        status = balance_submit_step(ctx, u, notes, step);
    }
    status = status == TACIT_OK ? balance_submit_others(ctx, notes) : status;
    status = status == TACIT_OK ? tacit_fence_read(ctx, u[BALANCE_STEPS % 2], TACIT_BOX_ALL, notes->result) : status;
    return status == TACIT_OK ? tacit_wait(ctx) : status;
}

static inline bool balance_is_right(const balance_notes *notes)
{
    double u[2][BALANCE_ROWS];
    for (int i = 0; i < BALANCE_ROWS; i++) {
        u[0][i] = (double)(i * i % 19) / 7;
    }
    for (int step = 0; step < BALANCE_STEPS; step++) {
        const double *old = u[step % 2];
        for (int i = 0; i < BALANCE_ROWS; i++) {
            double left = i > 0 ? old[i - 1] : 1.0 / 3, right = i + 1 < BALANCE_ROWS ? old[i + 1] : 0.7;
            u[1 - step % 2][i] = (left + 1.1 * old[i] + right) / 3.1;
        }
    }
    return memcmp(u[BALANCE_STEPS % 2], notes->result, sizeof(notes->result)) == 0;
}

#endif
