/* A program for trouble_test.py and simulate_test.py, odd in the way that its first argument names.
 *
 *   names                   its task and its buffer have names that are no UTF-8
 *   exit STATUS | host-exit STATUS   its kernel, or that of a host task, calls exit on the last node
 *   after STATUS            it exits with this status after everything has gone well
 *   fork                    its kernel forks, and the child calls exit
 *   host SECONDS            it does nothing for a while after a fence
 *   wide TASKS              so many tasks do not depend on each other */
#include "tacit/tacit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != TACIT_OK) {                                                                                      \
            fprintf(stderr, "%s: %s\n", #call, tacit_last_error(ctx));                                                 \
            return EXIT_FAILURE;                                                                                       \
        }                                                                                                              \
    } while (0)

enum { SIZE = 64 };

typedef struct odd {
    int leaves, forks, status;
} odd;

static void count(const tacit_launch *k)
{
    const odd *o = k->args;
    if (o->leaves && k->node == k->num_nodes - 1) {
        exit(o->status);
    }
    if (o->forks) {
        int how = 1;
        pid_t child = fork();
        if (child == 0) {
            exit(0);
        }
        if (waitpid(child, &how, 0) != child || how != 0) {
            tacit_kernel_fail(k, "the child ended with %d", how);
        }
    }
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int, k->view[0], i) += 1;
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    bool names = strcmp(way, "names") == 0;
    const odd args = { .leaves = strstr(way, "exit") != NULL,
                       .forks = strcmp(way, "fork") == 0,
                       .status = argc > 2 ? atoi(argv[2]) : 0 };
    tacit_context *ctx = NULL;
    tacit_buffer *b;
    static const int zeros[SIZE];
    CHECK(tacit_init(NULL, &ctx));
    const tacit_buffer_desc desc = {
        .name = names ? "b\xff\xe2\x82" : "b", .range = TACIT_RANGE(SIZE), .elem_size = sizeof(int), .init = zeros
    };
    CHECK(tacit_buffer_create(ctx, &desc, &b));
    bool wide = strcmp(way, "wide") == 0 && argc > 2;
    for (int i = 0; i < (wide ? atoi(argv[2]) : 3); i++) {
        const tacit_task task = { .name = names ? "t\xe4sk" : "task",
                                  .range = TACIT_RANGE(SIZE),
                                  .kernel = { .host = count },
                                  .on = strcmp(way, "host-exit") == 0 ? TACIT_ON_HOST : TACIT_ON_DEVICES,
                                  TACIT_ARGS(args),
                                  .access = { wide ? tacit_read(b, tacit_one_to_one())
                                                   : tacit_update(b, tacit_one_to_one()) } };
        CHECK(tacit_submit(ctx, &task));
    }
    if (strcmp(way, "host") == 0 && argc > 2) {
        int back[SIZE];
        CHECK(tacit_fence_read(ctx, b, TACIT_BOX_ALL, back));
        sleep((unsigned)atoi(argv[2]));
    }
    int status = strcmp(way, "after") == 0 ? args.status : EXIT_SUCCESS;
    return tacit_finalize(ctx) == TACIT_OK ? status : EXIT_FAILURE;
}
