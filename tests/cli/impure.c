/* Steps of a stencil in windows, whose kernel is marked pure and is not, as the argument says: "node" (it knows the
 * node), "counter" (it counts its calls), "clock" (it reads the time), "rare" (one element, in one step); "pure": it
 * is. */
#include <tacit/tacit.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 4200, STEPS = 40 };

static _Atomic int calls;

typedef struct arguments {
    char kind[8];
    int step;
} arguments;

static double disturbance(const tacit_launch *k, size_t i)
{
    const arguments *a = k->args;
    struct timespec now;
    switch (a->kind[0]) {
    case 'n':
        return 1e-9 * k->node;
    case 'c':
        if (a->kind[1] == 'o') {
            return 1e-9 * atomic_load(&calls) + k->node;
        }
        clock_gettime(CLOCK_REALTIME, &now);
        return 1e-20 * (double)now.tv_nsec * (1 + k->node);
    case 'r':
        return a->step % 8 == 2 && i % 2 ? k->node : 0;
    default:
        return 0;
    }
}

static void smooth(const tacit_launch *k)
{
    atomic_fetch_add(&calls, 1);
    TACIT_FOR (i, k->chunk, 0) {
        double left = i > 0 ? TACIT_GET1(double, k->view[0], i - 1) : 1;
        double right = i + 1 < N ? TACIT_GET1(double, k->view[0], i + 1) : 1;
        TACIT_AT1(double, k->view[1], i) = 0.25 * left + 0.5 * TACIT_GET1(double, k->view[0], i) + 0.25 * right +
                                           disturbance(k, i);
    }
}

static void must(tacit_context *ctx, tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "impure ends: %s\n", tacit_last_error(ctx));
        exit(3);
    }
}

int main(int argc, char **argv)
{
    tacit_context *ctx;
    tacit_buffer *buffer[2];
    static double zeros[N];
    arguments a = { .step = 0 };
    snprintf(a.kind, sizeof(a.kind), "%s", argc > 1 ? argv[1] : "pure");
    must(NULL, tacit_init(NULL, &ctx));
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = {
            .name = i ? "odd" : "even", .range = TACIT_RANGE(N), .elem_size = sizeof(double), .init = zeros
        };
        must(ctx, tacit_buffer_create(ctx, &desc, &buffer[i]));
    }
    for (; a.step < STEPS; a.step++) {
        const tacit_task step = {
            .name = "smooth",
            .range = TACIT_RANGE(N),
            .kernel = { .host = smooth },
            .args = &a,
            .args_size = sizeof(a),
            .hint.pure = true,
            .access = { tacit_read(buffer[a.step % 2], tacit_neighborhood(1, 0, 0)),
                        tacit_write(buffer[(a.step + 1) % 2], tacit_one_to_one()) },
        };
        must(ctx, tacit_submit(ctx, &step));
    }
    must(ctx, tacit_wait(ctx));
    must(ctx, tacit_finalize(ctx));
    return 0;
}
