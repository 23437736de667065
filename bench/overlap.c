/* Whether messages move while kernels compute, and what that costs the kernels (N-body and stencil, with another
 * computation beside).
 *
 * In a round of N-body all nodes write their parts of a buffer and then read all of it; of the stencil, their rows and
 * those next to them. These kernels do nothing, so that a round by itself is its transfers. A kernel that computes, one
 * per node, has no part in any of that, and by itself is what it computes. Submitted together, both should take as long
 * as the longer one. Each node has one worker, so no thread is free while the kernel runs.
 *
 * The ways to run a node take turns, in blocks of samples: the kernel, the transfers, and both, again and again.
 * The shortest samples count, which other programs on the machine disturb least; printed beside are medians of the
 * ratios of samples that follow each other. What other threads of this process have computed while the kernel ran is
 * counted in processor time, so other programs do not disturb it at all. */
#include "tacit/tacit.h"

#include "check.h"
#include "pairs.h"
#include "progress.h"

#include <jansson.h>
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 5, BLOCK = 11, SAMPLES = BLOCKS * BLOCK, WARM_UP = 3, TASKS = 2, CALIBRATIONS = 5 };

static const struct mode {
    const char *name;
    tacit_config config;
} modes[] = {
    { "default", { .workers = 1 } },
    { "shared", { .workers = 1, .progress = TACIT_PROGRESS_SHARED } },
    { "thread", { .workers = 1, .progress = TACIT_PROGRESS_THREAD } },
    { "TACIT_THREADS=0", { .threads = TACIT_THREADS_INLINE } }, /* nobody looks after messages during a kernel */
};
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

typedef enum what { KERNEL, TRANSFER, BOTH, WHATS } what;

typedef struct options {
    bool json, stencil, has_pattern;
    double compute; /* seconds */
    pairs_sizes sizes;
} options;

/* One way to run, and what it runs. */
typedef struct runner {
    tacit_context *ctx;
    tacit_buffer *data[TASKS], *count;
    tacit_task round[TASKS], kernel;
} runner;

typedef struct result {
    size_t bytes;
    double least[WHATS];
    double beside;            /* processor time of other threads while the kernel ran, over that of the kernel */
    double longer, low, high; /* both over the longer one: median and its interval */
} result;

static void check(tacit_context *ctx, tacit_status status, const char *call)
{
    bench_check("overlap", ctx, status, call);
}

/* ---- kernels */

static void nothing(const tacit_launch *launch)
{
    (void)launch;
}

/* Seconds of processor time while kernels ran: of their threads, of all. One worker: kernels follow each other. */
static struct {
    double kernel, process;
} spent;

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Steps that each need the one before, in registers. */
static double spin(size_t steps)
{
    double x = 0.5;
    for (size_t i = 0; i < steps; i++) {
        x = x * 0.999 + 0.25;
    }
    return x;
}

static void compute(const tacit_launch *launch)
{
    size_t steps;
    memcpy(&steps, launch->args, sizeof(steps));
    spent.process -= seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    spent.kernel -= seconds_of(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = launch->chunk.min[0]; i < launch->chunk.max[0]; i++) {
        TACIT_AT1(double, launch->view[0], i) = spin(steps);
    }
    spent.kernel += seconds_of(CLOCK_THREAD_CPUTIME_ID);
    spent.process += seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* So many take as long as is asked for; the same on all nodes. */
static size_t calibrate(double seconds)
{
    enum { STEPS = 1 << 20 };
    double least = 1e9, all;
    volatile double sink = 0;
    for (int i = 0; i < CALIBRATIONS; i++) {
        double start = pairs_now();
        sink += spin(STEPS);
        least = fmin(least, pairs_now() - start);
    }
    (void)sink;
    MPI_Allreduce(&least, &all, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    return (size_t)(seconds / all * STEPS) + 1;
}

/* ---- one way to run */

static tacit_task step(tacit_range range, tacit_access first, tacit_access second)
{
    return (tacit_task){ .name = "step", .range = range, .kernel = { .host = nothing }, .access = { first, second } };
}

/* `bytes` per node: all of it is sent by N-body, a row by the stencil. */
static void open_buffers(runner *r, const options *o, size_t bytes)
{
    size_t nodes = (size_t)tacit_num_nodes(r->ctx), elements = bytes / 8 ? bytes / 8 : 1;
    size_t side = nodes * (size_t)(sqrt((double)elements / (double)nodes) + 1);
    tacit_range range = o->stencil ? tacit_range2(side, side) : tacit_range1(elements * nodes);
    char *contents = calloc(o->stencil ? side * side : elements * nodes, 8);
    for (int i = 0; i < TASKS; i++) {
        tacit_buffer_desc desc = { .name = "data", .range = range, .elem_size = 8, .init = contents };
        check(r->ctx, tacit_buffer_create(r->ctx, &desc, &r->data[i]), "tacit_buffer_create");
    }
    free(contents);
    tacit_buffer_desc desc = { .name = "result", .range = tacit_range1(nodes), .elem_size = 8 };
    check(r->ctx, tacit_buffer_create(r->ctx, &desc, &r->count), "tacit_buffer_create");
    tacit_mapper read = o->stencil ? tacit_neighborhood(1, 1, 0) : tacit_all();
    for (int i = 0; i < TASKS; i++) {
        r->round[i] = step(range, tacit_read(r->data[i], read), tacit_write(r->data[1 - i], tacit_one_to_one()));
    }
    r->kernel = (tacit_task){ .name = "compute",
                              .range = tacit_range1(nodes),
                              .kernel = { .host = compute },
                              .access = { tacit_write(r->count, tacit_one_to_one()) } };
}

static void close_buffers(runner *r)
{
    check(r->ctx, tacit_buffer_destroy(r->ctx, r->data[0]), "tacit_buffer_destroy");
    check(r->ctx, tacit_buffer_destroy(r->ctx, r->data[1]), "tacit_buffer_destroy");
    check(r->ctx, tacit_buffer_destroy(r->ctx, r->count), "tacit_buffer_destroy");
}

/* Two steps: the first brings what the second one of the sample before has written. */
static double sample(runner *r, what w, const size_t *steps)
{
    r->kernel.args = steps;
    r->kernel.args_size = sizeof(*steps);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = pairs_now();
    for (int i = 0; i < TASKS; i++) {
        if (w != KERNEL) {
            check(r->ctx, tacit_submit(r->ctx, &r->round[i]), "tacit_submit");
        }
        if (w != TRANSFER) {
            check(r->ctx, tacit_submit(r->ctx, &r->kernel), "tacit_submit");
        }
    }
    check(r->ctx, tacit_wait(r->ctx), "tacit_wait");
    MPI_Barrier(MPI_COMM_WORLD);
    return pairs_now() - start;
}

/* ---- measuring */

typedef struct samples {
    double seconds[WHATS][SAMPLES], beside[SAMPLES];
    int count;
} samples;

/* A block of samples in a context of its own, so that threads of others have no part in what is counted. */
static void take_block(const struct mode *mode, const options *o, size_t bytes, size_t steps, samples *out)
{
    runner r = { 0 };
    check(NULL, tacit_init(&mode->config, &r.ctx), "tacit_init");
    open_buffers(&r, o, bytes);
    for (int i = -WARM_UP; i < BLOCK; i++) {
        double seconds[WHATS];
        for (int w = 0; w < WHATS; w++) {
            memset(&spent, 0, sizeof(spent));
            seconds[w] = sample(&r, (what)w, &steps);
        }
        if (i >= 0) {
            for (int w = 0; w < WHATS; w++) {
                out->seconds[w][out->count] = seconds[w];
            }
            out->beside[out->count++] = (spent.process - spent.kernel) / spent.kernel; /* of both, the last one */
        }
    }
    close_buffers(&r);
    check(r.ctx, tacit_finalize(r.ctx), "tacit_finalize");
}

static result sum_up(const samples *s, size_t bytes)
{
    result r = { .bytes = bytes, .beside = pairs_median(s->beside, SAMPLES) };
    double ratio[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        ratio[i] = s->seconds[BOTH][i] / fmax(s->seconds[KERNEL][i], s->seconds[TRANSFER][i]);
    }
    for (int w = 0; w < WHATS; w++) {
        r.least[w] = pairs_least(s->seconds[w], SAMPLES);
    }
    r.longer = pairs_median(ratio, SAMPLES);
    pairs_interval(ratio, SAMPLES, &r.low, &r.high);
    return r;
}

static void measure(const options *o, int node, size_t bytes, size_t steps, result out[MODES])
{
    static samples taken[MODES];
    memset(taken, 0, sizeof(taken));
    for (int i = 0; i < BLOCKS * MODES; i++) {
        if (node == 0) {
            tool_progress("tacit bench overlap: %zu bytes, %s, block %d of %d", bytes, modes[i % MODES].name,
                          i / MODES + 1, (int)BLOCKS);
        }
        take_block(&modes[i % MODES], o, bytes, steps, &taken[i % MODES]);
    }
    for (int m = 0; m < MODES; m++) {
        out[m] = sum_up(&taken[m], bytes);
    }
}

/* ---- output */

static double over_longer(const result *r)
{
    return r->least[BOTH] / fmax(r->least[KERNEL], r->least[TRANSFER]);
}

static double over_sum(const result *r)
{
    return r->least[BOTH] / (r->least[KERNEL] + r->least[TRANSFER]);
}

static void print_text(const result *r, const char *mode)
{
    printf("%10zu B  %-16s kernel %10.1f us  transfers %10.1f us  both %10.1f us: %.3f of the longer [median %.3f: "
           "%.3f, %.3f], %.3f of the sum; beside the kernel %.2f %% of its time\n",
           r->bytes, mode, 1e6 * r->least[KERNEL], 1e6 * r->least[TRANSFER], 1e6 * r->least[BOTH], over_longer(r),
           r->longer, r->low, r->high, over_sum(r), 100 * r->beside);
    fflush(stdout);
}

static json_t *to_json(const result *r, const char *mode)
{
    return json_pack("{s:I, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:[f,f], s:f}", "bytes_per_node", (json_int_t)r->bytes,
                     "mode", mode, "least_kernel_us", 1e6 * r->least[KERNEL], "least_transfers_us",
                     1e6 * r->least[TRANSFER], "least_both_us", 1e6 * r->least[BOTH], "least_over_longer",
                     over_longer(r), "least_over_sum", over_sum(r), "over_longer", r->longer, "over_longer_95", r->low,
                     r->high, "beside_kernel", r->beside);
}

static int run(const options *o)
{
    result results[MODES];
    json_t *list = json_array();
    int node = 0;
    size_t steps = calibrate(o->compute);
    MPI_Comm_rank(MPI_COMM_WORLD, &node);
    for (int i = 0; i < o->sizes.count; i++) {
        measure(o, node, o->sizes.bytes[i], steps, results);
        tool_progress_end();
        for (int m = 0; m < MODES; m++) {
            if (node == 0 && !o->json) {
                print_text(&results[m], modes[m].name);
            }
            json_array_append_new(list, to_json(&results[m], modes[m].name));
        }
    }
    if (node == 0 && o->json) {
        return pairs_print_json(
            json_pack("{s:s, s:s}", "benchmark", "overlap", "pattern", o->stencil ? "stencil" : "nbody"), list);
    }
    json_decref(list);
    return EXIT_SUCCESS;
}

/* ---- the command line */

static void usage(FILE *out)
{
    fputs("usage: tacit run -n N tacit bench overlap --pattern PATTERN [--bytes LIST] [--compute US] [--json]\n"
          "Transfers and a kernel that computes, each by itself and both together, in all ways to run a node.\n"
          "  --pattern      nbody or stencil\n"
          "  --bytes LIST   bytes per node, separated by commas (default 8,65536,1048576,4194304)\n"
          "  --compute US   what the kernel takes, in us (default 2000)\n"
          "  --json         JSON on standard output\n",
          out);
}

static bool parse_value(const char *name, const char *value, void *to)
{
    options *o = to;
    if (strcmp(name, "--bytes") == 0) {
        return pairs_parse_sizes(value, &o->sizes);
    }
    if (strcmp(name, "--compute") == 0) {
        char *end;
        o->compute = strtod(value, &end) * 1e-6;
        return end != value && !*end && o->compute > 0 && o->compute < 10;
    }
    o->stencil = strcmp(value, "stencil") == 0;
    o->has_pattern = o->stencil || strcmp(value, "nbody") == 0;
    return strcmp(name, "--pattern") == 0 && o->has_pattern;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, options *o)
{
    *o = (options){ .compute = 2e-3 };
    pairs_parse_sizes("8,65536,1048576,4194304", &o->sizes);
    int status = pairs_parse(argc, argv, usage, parse_value, o, &o->json);
    if (status < 0 && !o->has_pattern) {
        return pairs_refuse(usage, "--pattern is missing, nbody or stencil");
    }
    return status;
}

int main(int argc, char **argv)
{
    options o;
    int status = parse(argc, argv, &o), level, nodes;
    if (status >= 0) {
        return status;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    if (nodes < 2 || level != MPI_THREAD_MULTIPLE) {
        fprintf(stderr, nodes < 2 ? "overlap: needs two nodes or more: tacit run -n 2 tacit bench overlap\n"
                                  : "overlap: this MPI does not let several threads call it\n");
        MPI_Finalize();
        return EXIT_FAILURE;
    }
    status = run(&o);
    MPI_Finalize();
    return status;
}
