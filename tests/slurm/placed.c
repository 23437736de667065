/* The program of slurm_test.py. Every node prints one line: which node it is, where Slurm has put it, how many cores
 * its process may use and which, how many workers it has, and how many of its threads are bound to a core each.
 *
 *     placed             a task that needs its neighbours, whose result is checked, then the line
 *     placed --for-ever  the same task again and again after the line, until somebody ends the job
 *     placed --touch N   after the line, memory is used until there are N MiB of it */
#include <tacit/tacit.h>

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ITEMS = 1000 };

static void fill(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(double, k->view[0], i) = (double)i;
    }
}

static void add_next(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(double, k->view[1], i) = TACIT_GET1(double, k->view[0], i) + TACIT_GET1(double, k->view[0], i + 1);
    }
}

static void fail(tacit_context *ctx, const char *what)
{
    fprintf(stderr, "placed: %s: %s\n", what, tacit_last_error(ctx));
    exit(EXIT_FAILURE);
}

static void submit(tacit_context *ctx, tacit_buffer *a, tacit_buffer *b)
{
    tacit_task filling = { .name = "fill", .range = TACIT_RANGE(ITEMS + 1), .kernel = { .host = fill } };
    tacit_task adding = { .name = "add", .range = TACIT_RANGE(ITEMS), .kernel = { .host = add_next } };
    filling.access[0] = tacit_write(a, tacit_one_to_one());
    adding.access[0] = tacit_read(a, tacit_neighborhood(1, 0, 0));
    adding.access[1] = tacit_write(b, tacit_one_to_one());
    if (tacit_submit(ctx, &filling) || tacit_submit(ctx, &adding)) {
        fail(ctx, "a task is refused");
    }
}

static void compute(tacit_context *ctx, tacit_buffer *a, tacit_buffer *b)
{
    static double result[ITEMS];
    submit(ctx, a, b);
    if (tacit_fence_read(ctx, b, TACIT_BOX_ALL, result)) {
        fail(ctx, "the fence fails");
    }
    for (size_t i = 0; i < ITEMS; i++) {
        if (result[i] != (double)(2 * i + 1)) {
            fprintf(stderr, "placed: element %zu is %g\n", i, result[i]);
            exit(EXIT_FAILURE);
        }
    }
}

/* Threads of this process that may run on one core only. */
static int bound_threads(void)
{
    DIR *threads = opendir("/proc/self/task");
    int count = 0;
    for (const struct dirent *d; threads && (d = readdir(threads));) {
        cpu_set_t set;
        int id = atoi(d->d_name);
        count += id > 0 && sched_getaffinity(id, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1;
    }
    if (threads) {
        closedir(threads);
    }
    return count;
}

static void print_place(const tacit_context *ctx, const cpu_set_t *set)
{
    const char *host = getenv("SLURMD_NODENAME"), *step = getenv("SLURM_STEP_ID");
    char list[4096] = "";
    for (int core = 0, at = 0; core < CPU_SETSIZE && at < (int)sizeof(list) - 8; core++) {
        at += CPU_ISSET(core, set) ? snprintf(list + at, 8, "%s%d", at ? "," : "", core) : 0;
    }
    printf("node %d of %d on %s step %s cores %d (%s) workers %d bound %d pid %d\n", tacit_node(ctx),
           tacit_num_nodes(ctx), host ? host : "-", step ? step : "-", CPU_COUNT(set), list, tacit_workers(ctx),
           bound_threads(), (int)getpid());
    fflush(stdout);
}

static void touch(size_t mib)
{
    enum { MIB = 1 << 20, PAUSE = 20000 /* us; a limit is looked at now and then only */ };
    for (size_t i = 0; i < mib; i++) {
        char *piece = malloc(MIB);
        if (!piece) {
            exit(EXIT_FAILURE);
        }
        memset(piece, 1, MIB);
        usleep(PAUSE);
    }
}

int main(int argc, char **argv)
{
    cpu_set_t set;
    tacit_context *ctx;
    tacit_buffer *a, *b;
    const tacit_buffer_desc of_a = { .name = "a", .range = TACIT_RANGE(ITEMS + 1), .elem_size = sizeof(double) };
    const tacit_buffer_desc of_b = { .name = "b", .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(double) };
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set); /* before tacit binds this thread */
    if (tacit_init(NULL, &ctx)) {
        fail(NULL, "tacit does not start");
    }
    if (tacit_buffer_create(ctx, &of_a, &a) || tacit_buffer_create(ctx, &of_b, &b)) {
        fail(ctx, "a buffer is refused");
    }
    compute(ctx, a, b);
    print_place(ctx, &set);
    while (argc > 1 && strcmp(argv[1], "--for-ever") == 0) {
        compute(ctx, a, b);
        usleep(1000);
    }
    if (argc > 2 && strcmp(argv[1], "--touch") == 0) {
        touch((size_t)atoi(argv[2]));
    }
    return tacit_finalize(ctx) == TACIT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
