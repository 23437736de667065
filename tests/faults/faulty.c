/* A program that goes wrong on node 1 in the way that its first argument names, for faults_test.sh.
 *
 *   kill | abort | segv | exit | return    node 1 ends without tacit_finalize
 *   late FILE                              node 1 does not submit its tasks before FILE exists
 *   two FILE                               node 0 waits in a context while it has work in another; node 1 comes when
 *                                          FILE exists
 *   busy FILE                              a kernel of node 0 does not end before FILE exists, on all its workers
 *   name | mapper | early | missing        the last node submits something else
 *   view | fail                            the kernels of all nodes use a view wrongly, or fail */
#undef NDEBUG
#undef TACIT_UNCHECKED
#include "tacit/tacit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != TACIT_OK) {                                                                                      \
            fprintf(stderr, "%s: %s\n", #call, tacit_last_error(ctx));                                                 \
            return EXIT_FAILURE;                                                                                       \
        }                                                                                                              \
    } while (0)

enum { SIZE = 64 };

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static void below(const tacit_launch *k)
{
    TACIT_AT1(double, k->view[0], k->chunk.min[0] - 1) = 1;
}

static void give_up(const tacit_launch *k)
{
    tacit_kernel_fail(k, "no luck");
}

/* Waits for the file, but not for ever. */
static void wait_for(const char *path)
{
    const struct timespec nap = { 0, 10 * 1000 * 1000 };
    for (int i = 0; i < 6000 && access(path, F_OK) != 0; i++) {
        nanosleep(&nap, NULL);
    }
}

static void stay(const tacit_launch *k)
{
    wait_for(*(const char *const *)k->args);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(double, k->view[0], i) = 1;
    }
}

/* Whether the node is to return from main. */
static int go_wrong(int argc, char **argv)
{
    if (strcmp(argv[1], "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(argv[1], "segv") == 0) {
        raise(SIGSEGV);
    } else if (strcmp(argv[1], "abort") == 0) {
        abort();
    } else if (strcmp(argv[1], "exit") == 0) {
        exit(EXIT_SUCCESS);
    } else if (strcmp(argv[1], "late") == 0 && argc > 2) {
        wait_for(argv[2]);
        return 0;
    }
    return 1;
}

/* Steps that need the neighbours' elements; the last node does one thing differently. */
static tacit_status diverge(tacit_context *ctx, tacit_buffer *u, const char *way)
{
    tacit_buffer *v;
    tacit_status status = tacit_buffer_create(
        ctx, &(tacit_buffer_desc){ .name = "V", .range = TACIT_RANGE(SIZE), .elem_size = sizeof(double) }, &v);
    for (int i = 0; i < 200 && status == TACIT_OK; i++) {
        int odd = i == 150 && tacit_node(ctx) == tacit_num_nodes(ctx) - 1;
        if (odd && strcmp(way, "early") == 0) {
            break;
        }
        tacit_task t = { .name = odd && strcmp(way, "name") == 0 ? "smoth" : "smooth",
                         .range = TACIT_RANGE(SIZE),
                         .kernel = { .host = nothing },
                         .access = { tacit_read(u, tacit_neighborhood(odd && strcmp(way, "mapper") == 0 ? 2 : 1, 0, 0)),
                                     tacit_write(v, tacit_one_to_one()) } };
        status = odd && strcmp(way, "missing") == 0 ? TACIT_OK : tacit_submit(ctx, &t);
        t.access[0].buffer = v;
        t.access[1].buffer = u;
        t.name = "back";
        status = status ? status : tacit_submit(ctx, &t);
    }
    return status;
}

static tacit_status be_busy(tacit_context *ctx, tacit_buffer *u, const char *file)
{
    return tacit_submit(ctx, &(tacit_task){ .name = "stay",
                                            .range = TACIT_RANGE(SIZE),
                                            .place = tacit_place_node(0),
                                            .kernel = { .host = stay },
                                            TACIT_ARGS(file),
                                            .access = { tacit_write(u, tacit_one_to_one()) } });
}

/* The other context has a task of node 0's that is not done: it reads what node 1 has not made yet. */
static tacit_status leave_work(tacit_context *ctx, tacit_context *other, const char *file)
{
    tacit_buffer *v;
    const tacit_buffer_desc desc = { .name = "V", .range = TACIT_RANGE(SIZE), .elem_size = sizeof(double) };
    if (tacit_node(ctx) == 1) {
        wait_for(file);
    }
    tacit_status status = tacit_buffer_create(other, &desc, &v);
    status = status ? status
                    : tacit_submit(other, &(tacit_task){ .name = "left",
                                                         .range = TACIT_RANGE(SIZE),
                                                         .kernel = { .host = nothing },
                                                         .access = { tacit_write(v, tacit_one_to_one()) } });
    return status;
}

int main(int argc, char **argv)
{
    tacit_context *ctx = NULL, *other = NULL;
    tacit_buffer *u;
    double zeros[SIZE] = { 0 }, out[SIZE];
    CHECK(tacit_init(NULL, &ctx));
    CHECK(tacit_buffer_create(
        ctx,
        &(tacit_buffer_desc){ .name = "U", .range = TACIT_RANGE(SIZE), .elem_size = sizeof(double), .init = zeros },
        &u));
    CHECK(tacit_submit(ctx, &(tacit_task){ .name = "step",
                                           .range = TACIT_RANGE(SIZE),
                                           .kernel = { .host = argc > 1 && !strcmp(argv[1], "view")   ? below
                                                               : argc > 1 && !strcmp(argv[1], "fail") ? give_up
                                                                                                      : nothing },
                                           .access = { tacit_update(u, tacit_one_to_one()) } }));
    if (argc > 1 && strstr("name mapper early missing", argv[1])) {
        CHECK(diverge(ctx, u, argv[1]));
    } else if (argc > 2 && strcmp(argv[1], "two") == 0) {
        CHECK(tacit_init(NULL, &other));
        CHECK(leave_work(ctx, other, argv[2]));
    } else if (argc > 2 && strcmp(argv[1], "busy") == 0) {
        CHECK(be_busy(ctx, u, argv[2]));
    } else if (argc > 1 && !strstr("view fail", argv[1]) && tacit_node(ctx) == 1 && go_wrong(argc, argv)) {
        return EXIT_SUCCESS;
    }
    CHECK(tacit_fence_read(ctx, u, TACIT_BOX_ALL, out));
    if (other) {
        CHECK(tacit_finalize(other));
    }
    CHECK(tacit_finalize(ctx));
    return EXIT_SUCCESS;
}
