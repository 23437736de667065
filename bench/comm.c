/* Programs that only communicate (paper 10.1007/s10766-024-00767-y, Table 3, and four in which lookahead finds more
 * than each task by itself), through tacit and written by hand with the collectives of MPI.
 *
 * Kernels do nothing, so that an iteration is what its transfers take, planning included. By hand, the same bytes go
 * from and to memory of the same size, by blocking calls. Three programs take turns in one run: by hand, through
 * tacit in the mode that is asked for, and through tacit in another one, with messages between pairs only if nothing
 * else is said. With devices that have memories of their own (--devices) contents are copied there and back, too; by
 * hand they are not. A sample is a number of iterations and a barrier, timed on node 0. Reported are medians of
 * samples, and the medians of the ratios and differences of samples that follow each other, with their 95 %
 * intervals. */
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

enum { PAIRS = 41, WARM_UP = 3, MOST_ITERATIONS = 2000, LEAST_ITERATIONS = 16, TASKS = 4 };
static const double bytes_per_sample = 64e6;
static const char *const modes[] = { "", "off", "discover", "lookahead" };

typedef struct program program;

typedef struct bench {
    MPI_Comm mpi;
    int node, nodes;
    tacit_context *ctx[2]; /* in the mode that is asked for; in the other one */
    char *data[2];         /* by hand: two buffers */
    char *columns;         /* by hand, all-to-all: what is got */
    int turn;              /* iterations so far */
    size_t elements;       /* of 8 bytes: of a node, or of its part of a row */
    size_t side;           /* of a square */
    MPI_Datatype column;   /* all-to-all: what one node sends to another */
} bench;

/* What its tasks are, and an iteration by hand. */
struct program {
    const char *name;
    bool square;
    int cycle, tasks_of_iteration; /* different tasks; how many of them make an iteration */
    void (*tasks)(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS]);
    void (*by_hand)(bench *b);
};

typedef struct options {
    bool json;
    const program *program;
    int mode, other, iterations;
    const char *devices; /* NULL: what TACIT_DEVICES says */
    pairs_sizes sizes;
} options;

typedef struct spread {
    double median, low, high;
} spread;

typedef struct result {
    size_t bytes;
    int iterations;
    double by_hand, tacit, other;   /* medians, seconds per iteration */
    double least[3];                /* the shortest of each: what other programs on the machine disturb least */
    spread rate;                    /* tacit's iterations per second over those by hand */
    spread more;                    /* seconds that tacit takes more */
    spread over_other;              /* seconds in the mode over those in the other one */
    double collectives[2], sent[2]; /* per iteration, on this node, in both modes */
} result;

static void check(tacit_context *ctx, tacit_status status, const char *call)
{
    bench_check("comm", ctx, status, call);
}

static void nothing(const tacit_launch *launch)
{
    (void)launch;
}

/* ---- the programs */

static tacit_range whole(const bench *b, bool square)
{
    return square ? tacit_range2(b->side, b->side) : tacit_range1(b->elements * (size_t)b->nodes);
}

static tacit_task task_of(const char *name, tacit_range range, tacit_access read, tacit_access write)
{
    return (tacit_task){ .name = name, .range = range, .kernel = { .host = nothing }, .access = { read, write } };
}

/* Two buffers in turns. */
static void swap_buffers(tacit_range range, tacit_mapper read, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    for (int i = 0; i < 2; i++) {
        task[i] = task_of("step", range, tacit_read(buffer[i], read), tacit_write(buffer[1 - i], tacit_one_to_one()));
    }
}

static void all_gather_tasks(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    swap_buffers(whole(b, false), tacit_all(), buffer, task);
}

static void all_to_all_tasks(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    swap_buffers(whole(b, true), tacit_transposed(1, 0, 2), buffer, task);
}

static void stencil_tasks(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    swap_buffers(whole(b, true), tacit_neighborhood(1, 1, 0), buffer, task);
}

static void gather_then(const bench *b, tacit_mapper read, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    task[0] = task_of("gather", tacit_range1(1), tacit_read(buffer[0], tacit_all()),
                      tacit_write(buffer[1], tacit_fixed(TACIT_BOX_ALL)));
    task[1] = task_of("spread", whole(b, false), tacit_read(buffer[1], read),
                      tacit_write(buffer[0], tacit_one_to_one()));
}

static void gather_scatter_tasks(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    gather_then(b, tacit_one_to_one(), buffer, task);
}

static void gather_broadcast_tasks(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    gather_then(b, tacit_all(), buffer, task);
}

static void nbody_tasks(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    task[0] = task_of("kick", whole(b, false), tacit_read(buffer[0], tacit_all()),
                      tacit_update(buffer[1], tacit_one_to_one()));
    task[1] = task_of("drift", whole(b, false), tacit_read(buffer[1], tacit_one_to_one()),
                      tacit_update(buffer[0], tacit_one_to_one()));
}

/* All nodes make their parts of what two tasks then read. */
static void make_then_read(const bench *b, tacit_buffer *a, tacit_range range, tacit_mapper first, tacit_mapper then,
                           tacit_task task[TASKS])
{
    task[0] = (tacit_task){ .name = "make", .range = whole(b, false), .kernel = { .host = nothing } };
    task[0].access[0] = tacit_update(a, tacit_one_to_one());
    task[1] = (tacit_task){
        .name = "look", .range = range, .kernel = { .host = nothing }, .access = { tacit_read(a, first) }
    };
    task[2] = (tacit_task){
        .name = "use", .range = whole(b, false), .kernel = { .host = nothing }, .access = { tacit_read(a, then) }
    };
}

static void gather_all_tasks(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    make_then_read(b, buffer[0], tacit_range1(1), tacit_all(), tacit_all(), task);
}

static void stencil_all_tasks(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    make_then_read(b, buffer[0], whole(b, false), tacit_neighborhood(1, 0, 0), tacit_all(), task);
}

static void parts_tasks(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    size_t n = b->elements * (size_t)b->nodes;
    make_then_read(b, buffer[0], whole(b, false), tacit_fixed(tacit_box1(0, n / 2)), tacit_fixed(tacit_box1(n / 2, n)),
                   task);
    task[0].range = tacit_range1(1); /* one node has all of it */
    task[0].access[0] = tacit_write(buffer[0], tacit_fixed(TACIT_BOX_ALL));
}

static void two_all_gathers_tasks(const bench *b, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    for (int i = 0; i < 2; i++) {
        task[i] = (tacit_task){ .name = "make", .range = whole(b, false), .kernel = { .host = nothing } };
        task[i].access[0] = tacit_update(buffer[i], tacit_one_to_one());
        task[2 + i] = (tacit_task){ .name = "use", .range = whole(b, false), .kernel = { .host = nothing } };
        task[2 + i].access[0] = tacit_read(buffer[i], tacit_all());
    }
}

/* ---- by hand */

static int count_of(const bench *b)
{
    return (int)b->elements;
}

static void all_gather(const bench *b, char *data)
{
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count_of(b), MPI_DOUBLE, b->mpi);
}

static void all_gather_in_turns(bench *b)
{
    all_gather(b, b->data[b->turn++ % 2]);
}

static void nbody(bench *b)
{
    all_gather(b, b->data[0]);
}

static double *part_of(const bench *b, char *data)
{
    return (double *)(void *)data + (size_t)b->node * b->elements;
}

static void gather(const bench *b)
{
    char *at = b->data[0];
    if (b->node == 0) {
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at, count_of(b), MPI_DOUBLE, 0, b->mpi);
    } else {
        MPI_Gather(part_of(b, at), count_of(b), MPI_DOUBLE, NULL, 0, MPI_DATATYPE_NULL, 0, b->mpi);
    }
}

static void gather_scatter(bench *b)
{
    char *at = b->data[1];
    gather(b);
    if (b->node == 0) {
        MPI_Scatter(at, count_of(b), MPI_DOUBLE, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, b->mpi);
    } else {
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, part_of(b, at), count_of(b), MPI_DOUBLE, 0, b->mpi);
    }
}

static void gather_broadcast(bench *b)
{
    gather(b);
    MPI_Bcast(b->data[1], count_of(b) * b->nodes, MPI_DOUBLE, 0, b->mpi);
}

static void broadcast(bench *b)
{
    MPI_Bcast(b->data[0], count_of(b) * b->nodes, MPI_DOUBLE, 0, b->mpi);
}

static void two_all_gathers(bench *b)
{
    all_gather(b, b->data[0]);
    all_gather(b, b->data[1]);
}

/* Rows in, columns out: from this node's rows to a strip of columns, which is contiguous. */
static void all_to_all(bench *b)
{
    int rows = (int)b->side / b->nodes;
    MPI_Alltoall(b->data[b->turn++ % 2], 1, b->column, b->columns, rows * rows, MPI_DOUBLE, b->mpi);
}

/* A row to and from each neighbour. This node's rows lie between those that it gets. */
static void stencil(bench *b)
{
    MPI_Request request[4];
    MPI_Status status[4]; /* MPICH's MPI_STATUSES_IGNORE makes compilers warn */
    int requests = 0, row = (int)b->side, rows = row / b->nodes;
    double *at = (double *)(void *)b->data[b->turn++ % 2];
    for (int side = 0; side < 2; side++) {
        int peer = side ? b->node + 1 : b->node - 1;
        if (peer >= 0 && peer < b->nodes) {
            MPI_Irecv(at + (side ? (size_t)(rows + 1) * b->side : 0), row, MPI_DOUBLE, peer, 0, b->mpi,
                      &request[requests++]);
            MPI_Isend(at + (side ? (size_t)rows * b->side : b->side), row, MPI_DOUBLE, peer, 0, b->mpi,
                      &request[requests++]);
        }
    }
    MPI_Waitall(requests, request, status);
}

static const program programs[] = {
    { "all-gather", false, 2, 1, all_gather_tasks, all_gather_in_turns },
    { "gather-scatter", false, 2, 2, gather_scatter_tasks, gather_scatter },
    { "gather-broadcast", false, 2, 2, gather_broadcast_tasks, gather_broadcast },
    { "all-to-all", true, 2, 1, all_to_all_tasks, all_to_all },
    { "nbody", false, 2, 2, nbody_tasks, nbody },
    { "stencil", true, 2, 1, stencil_tasks, stencil },
    { "gather-all", false, 3, 3, gather_all_tasks, nbody },
    { "stencil-all", false, 3, 3, stencil_all_tasks, nbody },
    { "parts", false, 3, 3, parts_tasks, broadcast },
    { "two-all-gathers", false, 4, 4, two_all_gathers_tasks, two_all_gathers },
};

/* ---- samples */

static double time_by_hand(bench *b, const program *p, int iterations)
{
    MPI_Barrier(b->mpi);
    double start = pairs_now();
    for (int i = 0; i < iterations; i++) {
        p->by_hand(b);
    }
    MPI_Barrier(b->mpi);
    return (pairs_now() - start) / iterations;
}

static double time_tacit(bench *b, tacit_context *ctx, tacit_task task[TASKS], const program *p, int iterations)
{
    int tasks = p->tasks_of_iteration * iterations;
    MPI_Barrier(b->mpi);
    double start = pairs_now();
    for (int i = 0; i < tasks; i++) {
        check(ctx, tacit_submit(ctx, &task[i % p->cycle]), "tacit_submit");
    }
    check(ctx, tacit_wait(ctx), "tacit_wait");
    MPI_Barrier(b->mpi);
    return (pairs_now() - start) / iterations;
}

static int iterations_for(const options *o, size_t bytes)
{
    double n = bytes_per_sample / (4.0 * (double)bytes);
    n = n > MOST_ITERATIONS ? MOST_ITERATIONS : n < LEAST_ITERATIONS ? LEAST_ITERATIONS : n;
    return (o->iterations ? o->iterations : (int)n) / 2 * 2; /* even: buffers are where they were */
}

/* ---- one size */

/* The sizes nearest to what is asked for. */
static size_t set_size(bench *b, const program *p, size_t bytes)
{
    size_t n = (size_t)b->nodes;
    b->elements = bytes / 8 ? bytes / 8 : 1;
    if (p->square) {
        double rows = sqrt((double)bytes / 8 * (double)n) / (double)n;
        b->side = n * (size_t)(rows < 1 ? 1 : rows + 0.5);
        b->elements = b->side * (b->side / n);
    }
    return b->elements * 8;
}

static void start_by_hand(bench *b, const program *p)
{
    size_t size = (p->square ? b->elements + 2 * b->side : b->elements * (size_t)b->nodes) * 8;
    int rows = p->square ? (int)b->side / b->nodes : 1;
    char **memory[] = { &b->data[0], &b->data[1], &b->columns };
    for (int i = 0; i < 3; i++) {
        *memory[i] = malloc(size);
        if (!*memory[i]) {
            fprintf(stderr, "comm: no memory for %zu bytes\n", size);
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
        memset(*memory[i], 1, size); /* not 0: that might leave pages without memory, which cost nothing to read */
    }
    MPI_Datatype strip;
    MPI_Type_vector(rows, rows, p->square ? (int)b->side : 1, MPI_DOUBLE, &strip);
    MPI_Type_create_resized(strip, 0, (MPI_Aint)rows * 8, &b->column);
    MPI_Type_commit(&b->column);
    MPI_Type_free(&strip);
}

static void start_tacit(bench *b, const program *p, int which, tacit_buffer *buffer[2], tacit_task task[TASKS])
{
    static const char *const names[] = { "A", "B" };
    tacit_range range = whole(b, p->square);
    char *contents = calloc(b->elements * (size_t)b->nodes, 8);
    for (int i = 0; i < 2; i++) {
        tacit_buffer_desc desc = { .name = names[i], .range = range, .elem_size = 8, .init = contents };
        check(b->ctx[which], tacit_buffer_create(b->ctx[which], &desc, &buffer[i]), "tacit_buffer_create");
    }
    free(contents);
    p->tasks(b, buffer, task);
}

static spread spread_of(const double *values)
{
    spread s = { .median = pairs_median(values, PAIRS) };
    pairs_interval(values, PAIRS, &s.low, &s.high);
    return s;
}

static tacit_counters counters_of(tacit_context *ctx)
{
    tacit_counters counters;
    check(ctx, tacit_get_counters(ctx, &counters), "tacit_get_counters");
    return counters;
}

/* Samples by hand, in the mode and in the other one, which begins with another one each time. */
static void take_samples(bench *b, const program *p, tacit_task task[2][TASKS], int iterations, double seconds[3])
{
    static int first;
    for (int i = 0; i < 3; i++) {
        int which = (first + i) % 3;
        seconds[which] = which ? time_tacit(b, b->ctx[which - 1], task[which - 1], p, iterations)
                               : time_by_hand(b, p, iterations);
    }
    first++;
}

static result measure(bench *b, const options *o, size_t bytes)
{
    const program *p = o->program;
    result r = { .bytes = set_size(b, p, bytes) };
    r.iterations = iterations_for(o, r.bytes);
    tacit_buffer *buffer[2][2];
    tacit_task task[2][TASKS];
    double seconds[3], by_hand[PAIRS], tacit[PAIRS], other[PAIRS], rate[PAIRS], more[PAIRS], over[PAIRS];
    start_by_hand(b, p);
    start_tacit(b, p, 0, buffer[0], task[0]);
    start_tacit(b, p, 1, buffer[1], task[1]);
    for (int i = 0; i < WARM_UP; i++) {
        take_samples(b, p, task, r.iterations, seconds);
    }
    tacit_counters before[2] = { counters_of(b->ctx[0]), counters_of(b->ctx[1]) };
    for (int i = 0; i < PAIRS; i++) {
        if (b->node == 0) {
            tool_progress("tacit bench comm: %zu bytes, sample %d of %d", r.bytes, i + 1, (int)PAIRS);
        }
        take_samples(b, p, task, r.iterations, seconds);
        by_hand[i] = seconds[0];
        tacit[i] = seconds[1];
        other[i] = seconds[2];
        rate[i] = by_hand[i] / tacit[i];
        more[i] = tacit[i] - by_hand[i];
        over[i] = tacit[i] / other[i];
    }
    for (int i = 0; i < 2; i++) {
        tacit_counters after = counters_of(b->ctx[i]);
        r.collectives[i] = (double)(after.collectives - before[i].collectives) / ((double)PAIRS * r.iterations);
        r.sent[i] = (double)(after.messages_sent - before[i].messages_sent) / ((double)PAIRS * r.iterations);
    }
    r.least[0] = pairs_least(by_hand, PAIRS);
    r.least[1] = pairs_least(tacit, PAIRS);
    r.least[2] = pairs_least(other, PAIRS);
    r.by_hand = pairs_median(by_hand, PAIRS);
    r.tacit = pairs_median(tacit, PAIRS);
    r.other = pairs_median(other, PAIRS);
    r.rate = spread_of(rate);
    r.more = spread_of(more);
    r.over_other = spread_of(over);
    for (int i = 0; i < 4; i++) {
        check(b->ctx[i / 2], tacit_buffer_destroy(b->ctx[i / 2], buffer[i / 2][i % 2]), "tacit_buffer_destroy");
    }
    MPI_Type_free(&b->column);
    free(b->data[0]);
    free(b->data[1]);
    free(b->columns);
    return r;
}

/* ---- output */

static void print_text(const options *o, const result *r)
{
    printf("%10zu B  by hand %10.2f us  tacit %10.2f us  rate %.3f [%.3f, %.3f]  %+.2f us [%+.2f, %+.2f]  over %s %.3f "
           "[%.3f, %.3f]  %.2f collectives %.2f messages (%s: %.2f, %.2f)  least %.2f %.2f %.2f us\n",
           r->bytes, 1e6 * r->by_hand, 1e6 * r->tacit, r->rate.median, r->rate.low, r->rate.high, 1e6 * r->more.median,
           1e6 * r->more.low, 1e6 * r->more.high, modes[o->other], r->over_other.median, r->over_other.low,
           r->over_other.high, r->collectives[0], r->sent[0], modes[o->other], r->collectives[1], r->sent[1],
           1e6 * r->least[0], 1e6 * r->least[1], 1e6 * r->least[2]);
    fflush(stdout);
}

static json_t *to_json(const result *r)
{
    return json_pack(
        "{s:I, s:i, s:i, s:f, s:f, s:f, s:f, s:[f,f], s:f, s:[f,f], s:f, s:[f,f], s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
        "bytes_per_node", (json_int_t)r->bytes, "pairs", (int)PAIRS, "iterations", r->iterations, "by_hand_per_s",
        1 / r->by_hand, "tacit_per_s", 1 / r->tacit, "other_per_s", 1 / r->other, "rate", r->rate.median, "rate_95",
        r->rate.low, r->rate.high, "more_us", 1e6 * r->more.median, "more_us_95", 1e6 * r->more.low, 1e6 * r->more.high,
        "time_over_other", r->over_other.median, "time_over_other_95", r->over_other.low, r->over_other.high,
        "collectives_per_iteration", r->collectives[0], "messages_per_iteration", r->sent[0],
        "other_collectives_per_iteration", r->collectives[1], "other_messages_per_iteration", r->sent[1],
        "least_by_hand_us", 1e6 * r->least[0], "least_tacit_us", 1e6 * r->least[1], "least_other_us",
        1e6 * r->least[2]);
}

static int print_json(const bench *b, const options *o, json_t *list)
{
    const char *schedule = getenv("TACIT_COLLECTIVE_SCHEDULE");
    json_t *head = json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:s}", "benchmark", "comm", "pattern", o->program->name,
                             "nodes", b->nodes, "collectives", modes[o->mode], "other", modes[o->other], "schedule",
                             schedule ? schedule : "auto", "devices", o->devices ? o->devices : "");
    return pairs_print_json(head, list);
}

/* ---- the command line */

static void usage(FILE *out)
{
    fputs("usage: tacit run -n N tacit bench comm --pattern PATTERN [--bytes LIST] [--collectives MODE] "
          "[--against MODE] [--devices LIST] [--iterations N] [--json]\n"
          "Iterations per second of programs that only communicate, through tacit and by hand with the collectives of\n"
          "MPI.\n"
          "  --pattern      all-gather, gather-scatter, gather-broadcast, all-to-all, nbody or stencil;\n"
          "                 gather-all, stencil-all, parts or two-all-gathers, which lookahead is for\n"
          "  --bytes LIST   bytes per node, separated by commas (default 8,1024,65536,1048576,4194304)\n"
          "  --collectives  off, discover or lookahead (default)\n"
          "  --against      the other mode in the same run: off (default: messages), discover or lookahead\n"
          "  --devices      as TACIT_DEVICES: with host:4:discrete each node has four devices, and contents are\n"
          "                 copied to and from their memories; by hand they are not\n"
          "  --iterations   in one sample (default: as many as make it long enough)\n"
          "  --json         JSON on standard output\n",
          out);
}

static bool parse_value(const char *name, const char *value, void *to)
{
    options *o = to;
    if (strcmp(name, "--bytes") == 0) {
        return pairs_parse_sizes(value, &o->sizes);
    }
    if (strcmp(name, "--iterations") == 0) {
        o->iterations = atoi(value);
        return o->iterations > 1;
    }
    if (strcmp(name, "--devices") == 0) {
        o->devices = value;
        return *value != '\0';
    }
    bool is_other = strcmp(name, "--against") == 0;
    for (int i = 1; (is_other || strcmp(name, "--collectives") == 0) && i < 4; i++) {
        if (strcmp(value, modes[i]) == 0) {
            *(is_other ? &o->other : &o->mode) = i;
            return true;
        }
    }
    for (size_t i = 0; strcmp(name, "--pattern") == 0 && i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (strcmp(value, programs[i].name) == 0) {
            o->program = &programs[i];
            return true;
        }
    }
    return false;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, options *o)
{
    o->mode = TACIT_COLLECTIVES_LOOKAHEAD;
    o->other = TACIT_COLLECTIVES_OFF;
    pairs_parse_sizes("8,1024,65536,1048576,4194304", &o->sizes);
    int status = pairs_parse(argc, argv, usage, parse_value, o, &o->json);
    if (status < 0 && !o->program) {
        return pairs_refuse(usage, "--pattern is missing, such as --pattern all-gather");
    }
    return status;
}

static int run(bench *b, const options *o)
{
    json_t *list = json_array();
    for (int i = 0; i < 2; i++) {
        tacit_config config = { .collectives = i ? o->other : o->mode, .devices = o->devices };
        check(NULL, tacit_init(&config, &b->ctx[i]), "tacit_init");
    }
    for (int i = 0; i < o->sizes.count; i++) {
        result r = measure(b, o, o->sizes.bytes[i]);
        tool_progress_end();
        if (b->node == 0 && !o->json) {
            print_text(o, &r);
        }
        json_array_append_new(list, to_json(&r));
    }
    check(b->ctx[0], tacit_finalize(b->ctx[0]), "tacit_finalize");
    check(b->ctx[1], tacit_finalize(b->ctx[1]), "tacit_finalize");
    if (b->node == 0 && o->json) {
        return print_json(b, o, list);
    }
    json_decref(list);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    options o = { 0 };
    int status = parse(argc, argv, &o), level;
    if (status >= 0) {
        return status;
    }
    bench b = { .turn = 0 };
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &b.nodes);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.node);
    if (b.nodes < 2 || level != MPI_THREAD_MULTIPLE) {
        fprintf(stderr, b.nodes < 2 ? "comm: needs two nodes or more: tacit run -n 2 tacit bench comm\n"
                                    : "comm: this MPI does not let several threads call it\n");
        MPI_Finalize();
        return EXIT_FAILURE;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &b.mpi);
    status = run(&b, &o);
    MPI_Comm_free(&b.mpi);
    MPI_Finalize();
    return status;
}
