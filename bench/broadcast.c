/* How long it takes to bring a payload from one node to all others: tacit's broadcasts by each tree, found by the
 * sender or planned by all, without broadcasts, and MPI's.
 *
 * tacit: a task on node 0 writes a buffer, and a task on each other node reads it; nobody says more than that. Timed is
 * from the end of the one kernel to the start of the last of the others. MPI: MPI_Bcast and MPI_Ibcast, from the call
 * on node 0 until all have returned. On one machine all nodes read one clock; else each counts from a barrier.
 *
 * The ways take turns, in blocks of samples, of which there are fewer if the time for all (--seconds) runs out, each of
 * tacit's in a context of its own, so that no threads of others run beside. With --compute all nodes but the first and
 * the last are in a kernel when the payload is written, and timed is when the last one has it: how long do relays hold
 * what they should forward? Kernels check what has come. */
#include "tacit/tacit.h"

#include "check.h"
#include "pairs.h"
#include "progress.h"

#include <jansson.h>
#include <mpi.h>

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 5, MOST_BLOCK = 15, LEAST_BLOCK = 3, SAMPLES = BLOCKS * MOST_BLOCK, WARM_UP = 2 };
static const double bytes_per_block = 128e6, head_start = 10e-3; /* of kernels that compute, in seconds */

/* First those of the sender, then planned ones; the last two are MPI's. */
static const struct way {
    const char *name;
    int multicast, broadcast;
} ways[] = {
    { "naive", TACIT_MULTICAST_OFF, TACIT_BROADCAST_FLAT },
    { "flat", TACIT_MULTICAST_DYNAMIC, TACIT_BROADCAST_FLAT },
    { "binomial", TACIT_MULTICAST_DYNAMIC, TACIT_BROADCAST_BINOMIAL },
    { "binary", TACIT_MULTICAST_DYNAMIC, TACIT_BROADCAST_BINARY },
    { "chain", TACIT_MULTICAST_DYNAMIC, TACIT_BROADCAST_CHAIN },
    { "planned-binomial", TACIT_MULTICAST_PLANNED, TACIT_BROADCAST_BINOMIAL },
    { "planned-binary", TACIT_MULTICAST_PLANNED, TACIT_BROADCAST_BINARY },
    { "planned-chain", TACIT_MULTICAST_PLANNED, TACIT_BROADCAST_CHAIN },
    { "auto", TACIT_MULTICAST_AUTO, TACIT_BROADCAST_AUTO },
    { "MPI_Bcast", 0, 0 },
    { "MPI_Ibcast", 0, 0 },
};
enum { MPI_BCAST = 9, MPI_IBCAST, WAYS = sizeof(ways) / sizeof(ways[0]) };

static const struct mode {
    const char *name;
    tacit_config config;
} modes[] = {
    { "default", { .workers = 0 } },
    { "inline", { .threads = TACIT_THREADS_INLINE } },
    { "shared", { .workers = 1, .progress = TACIT_PROGRESS_SHARED } },
    { "thread", { .workers = 1, .progress = TACIT_PROGRESS_THREAD } },
};
enum { SHARED = 2, MODES = sizeof(modes) / sizeof(modes[0]) };

typedef struct options {
    bool json;
    bool wanted[WAYS];
    int mode;
    double compute; /* seconds; 0: nobody computes */
    double seconds; /* for everything */
    pairs_sizes sizes;
} options;

typedef struct result {
    size_t bytes;
    int samples;
    double seconds[SAMPLES];
    uint64_t broadcasts, versions, late, relayed, multicasts, forwards; /* of all nodes, for all samples */
} result;

static int node, nodes;
static bool one_clock;

static void check(tacit_context *ctx, tacit_status status, const char *call)
{
    bench_check("broadcast", ctx, status, call);
}

/* ---- kernels: what they leave here is of this process */

static struct {
    double written, read;
} at;

typedef struct payload {
    unsigned char value;
    double wait; /* seconds, before it is written */
} payload;

static void pause_for(double seconds)
{
    for (double end = pairs_now() + seconds; pairs_now() < end;) {
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    }
}

static void write_it(const tacit_launch *launch)
{
    const payload *p = launch->args;
    unsigned char *data = launch->view[0].data;
    size_t bytes = launch->view[0].box.max[0];
    pause_for(p->wait);
    data[0] = data[bytes - 1] = p->value;
    at.written = pairs_now();
}

static void read_it(const tacit_launch *launch)
{
    const payload *p = launch->args;
    const unsigned char *data = launch->view[0].data;
    at.read = pairs_now();
    if (data[0] != p->value || data[launch->view[0].box.max[0] - 1] != p->value)
        tacit_kernel_fail(launch, "the payload is not what was written");
}

static void compute(const tacit_launch *launch)
{
    double seconds, *sum = launch->view[0].data;
    memcpy(&seconds, launch->args, sizeof seconds);
    for (double end = pairs_now() + seconds; pairs_now() < end;)
        *sum += 1;
}

/* ---- one sample: seconds, on all nodes alike */

static double last_end(double barrier, double start, double end)
{
    double mine[2] = { node == 0 ? start : -INFINITY, end }, all[2];
    for (int i = 0; i < 2 && !one_clock; i++)
        mine[i] -= barrier;
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all[1] - all[0];
}

typedef struct cluster {
    tacit_context *ctx;
    tacit_buffer *data, *sums;
} cluster;

static void submit_compute(const cluster *c, const options *o)
{
    for (int i = 1; i + 1 < nodes; i++) {
        const tacit_task compute_it = { .name = "compute",
                                        .kernel = { .host = compute },
                                        .args = &o->compute,
                                        .args_size = sizeof o->compute,
                                        .place = tacit_place_node(i),
                                        .access = {
                                            tacit_write(c->sums, tacit_fixed(tacit_box1((size_t)i, (size_t)i + 1))) } };
        check(c->ctx, tacit_submit(c->ctx, &compute_it), "tacit_submit");
    }
}

static double sample_tacit(const cluster *c, const options *o, unsigned char value)
{
    const payload p = { value, o->compute > 0 ? head_start : 0 };
    MPI_Barrier(MPI_COMM_WORLD);
    double barrier = pairs_now();
    if (o->compute > 0)
        submit_compute(c, o);
    tacit_task task = { .name = "write",
                        .kernel = { .host = write_it },
                        .args = &p,
                        .args_size = sizeof p,
                        .place = tacit_place_node(0),
                        .access = { tacit_write(c->data, tacit_all()) } };
    check(c->ctx, tacit_submit(c->ctx, &task), "tacit_submit");
    task.name = "read";
    task.kernel.host = read_it;
    task.access[0] = tacit_read(c->data, tacit_all());
    for (int i = 1; i < nodes; i++) {
        task.place = tacit_place_node(i);
        check(c->ctx, tacit_submit(c->ctx, &task), "tacit_submit");
    }
    check(c->ctx, tacit_wait(c->ctx), "tacit_wait");
    bool counts = node > 0 && (o->compute == 0 || node == nodes - 1);
    return last_end(barrier, at.written, counts ? at.read : -INFINITY);
}

static double sample_mpi(int way, void *data, size_t bytes)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double barrier = pairs_now(), start = barrier;
    if (way == MPI_BCAST) {
        MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    } else {
        MPI_Request request;
        int done = 0;
        MPI_Ibcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
        for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
            sched_yield();
    }
    return last_end(barrier, start, pairs_now());
}

/* ---- a block of samples of one way */

static int samples_of(const options *o, size_t bytes)
{
    double samples = bytes_per_block / ((double)bytes * nodes);
    if (o->compute > 0)
        return LEAST_BLOCK;
    return samples > MOST_BLOCK ? MOST_BLOCK : samples < LEAST_BLOCK ? LEAST_BLOCK : (int)samples;
}

static int ways_of(const options *o)
{
    int count = 0;
    for (int w = 0; w < WAYS; w++)
        count += o->wanted[w];
    return count;
}

/* Whether so many seconds have passed, by the clock of node 0. */
static bool is_over(double begin, double seconds)
{
    int over = pairs_now() - begin > seconds;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return over;
}

/* Which sample comes next after number i, of which negative ones warm up. If the block has taken its share of the time,
 * one that counts comes at once, or no more. */
static int next_sample(const options *o, double begin, int i, int samples)
{
    const double share = o->seconds / (double)(o->sizes.count * BLOCKS * ways_of(o));
    return !is_over(begin, share) ? i + 1 : i < 0 ? 0 : samples;
}

static void add_counters(const cluster *c, int sign, result *r)
{
    tacit_counters n;
    check(c->ctx, tacit_get_counters(c->ctx, &n), "tacit_get_counters");
    const uint64_t mine[6] = { n.broadcasts,    n.shared_versions, n.shared_versions_late,
                               n.relayed_bytes, n.multicasts,      n.multicast_forwards };
    uint64_t all[6];
    MPI_Allreduce(mine, all, 6, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    r->broadcasts += (uint64_t)sign * all[0];
    r->versions += (uint64_t)sign * all[1];
    r->late += (uint64_t)sign * all[2];
    r->relayed += (uint64_t)sign * all[3];
    r->multicasts += (uint64_t)sign * all[4];
    r->forwards += (uint64_t)sign * all[5];
}

static void block_of_tacit(const options *o, int way, size_t bytes, result *r)
{
    tacit_config config = modes[o->mode].config;
    const double begin = pairs_now();
    cluster c;
    config.multicast = ways[way].multicast;
    config.broadcast = ways[way].broadcast;
    config.relay_bytes = (size_t)1 << 30;
    check(NULL, tacit_init(&config, &c.ctx), "tacit_init");
    const tacit_buffer_desc data = { .name = "payload", .range = TACIT_RANGE(bytes), .elem_size = 1 };
    const tacit_buffer_desc sums = { .name = "sums", .range = TACIT_RANGE((size_t)nodes), .elem_size = 8 };
    check(c.ctx, tacit_buffer_create(c.ctx, &data, &c.data), "tacit_buffer_create");
    check(c.ctx, tacit_buffer_create(c.ctx, &sums, &c.sums), "tacit_buffer_create");
    const int samples = samples_of(o, bytes);
    for (int i = -WARM_UP; i < samples; i = next_sample(o, begin, i, samples)) {
        if (i == 0)
            add_counters(&c, -1, r);
        double seconds = sample_tacit(&c, o, (unsigned char)(i + 100));
        if (i >= 0)
            r->seconds[r->samples++] = seconds;
    }
    add_counters(&c, 1, r);
    check(c.ctx, tacit_finalize(c.ctx), "tacit_finalize");
}

static void block_of_mpi(const options *o, int way, size_t bytes, result *r)
{
    void *data = calloc(bytes, 1);
    const int samples = samples_of(o, bytes);
    const double begin = pairs_now();
    for (int i = -WARM_UP; i < samples; i = next_sample(o, begin, i, samples)) {
        double seconds = sample_mpi(way, data, bytes);
        if (i >= 0)
            r->seconds[r->samples++] = seconds;
    }
    free(data);
}

static void measure(const options *o, size_t bytes, result out[WAYS])
{
    const double begin = pairs_now(), seconds = o->seconds / o->sizes.count;
    memset(out, 0, WAYS * sizeof *out);
    for (int block = 0; block < BLOCKS && (block == 0 || !is_over(begin, seconds)); block++) {
        for (int w = 0; w < WAYS; w++) {
            out[w].bytes = bytes;
            if (o->wanted[w] && node == 0)
                tool_progress("tacit bench broadcast: %zu bytes, block %d of %d, %s", bytes, block + 1, (int)BLOCKS,
                              ways[w].name);
            if (o->wanted[w])
                (w < MPI_BCAST ? block_of_tacit : block_of_mpi)(o, w, bytes, &out[w]);
        }
    }
}

/* ---- output */

/* Of the shortest times, which others on the machine disturb least; 0: MPI_Bcast was not measured. */
static double over_bcast(const result *r, const result *bcast)
{
    return bcast->samples ? pairs_least(r->seconds, r->samples) / pairs_least(bcast->seconds, bcast->samples) : 0;
}

static void print_text(const result *r, int way, const result *bcast)
{
    double low, high;
    pairs_interval(r->seconds, r->samples, &low, &high);
    printf("%10zu B  %-16s least %10.1f us  median %10.1f us [%.1f, %.1f]", r->bytes, ways[way].name,
           1e6 * pairs_least(r->seconds, r->samples), 1e6 * pairs_median(r->seconds, r->samples), 1e6 * low,
           1e6 * high);
    if (bcast->samples)
        printf("  least over MPI_Bcast's %.2f", over_bcast(r, bcast));
    if (r->multicasts)
        printf("  %llu of %d planned, %llu messages sent on", (unsigned long long)r->multicasts, r->samples,
               (unsigned long long)r->forwards);
    else if (way < MPI_BCAST)
        printf("  %llu of %d found whole, %llu B forwarded", (unsigned long long)(r->versions - r->late), r->samples,
               (unsigned long long)r->relayed);
    printf("\n");
    fflush(stdout);
}

static json_t *to_json(const result *r, int way, const result *bcast)
{
    double low, high;
    pairs_interval(r->seconds, r->samples, &low, &high);
    return json_pack("{s:I, s:s, s:i, s:f, s:f, s:[f,f], s:f, s:I, s:I, s:I, s:I, s:I, s:I}", "bytes",
                     (json_int_t)r->bytes, "algorithm", ways[way].name, "samples", r->samples, "least_us",
                     1e6 * pairs_least(r->seconds, r->samples), "median_us", 1e6 * pairs_median(r->seconds, r->samples),
                     "median_us_95", 1e6 * low, 1e6 * high, "least_over_mpi_bcast", over_bcast(r, bcast), "broadcasts",
                     (json_int_t)r->broadcasts, "shared_versions", (json_int_t)r->versions, "shared_versions_late",
                     (json_int_t)r->late, "relayed_bytes", (json_int_t)r->relayed, "multicasts",
                     (json_int_t)r->multicasts, "multicast_forwards", (json_int_t)r->forwards);
}

static int run(const options *o)
{
    static result results[WAYS];
    json_t *list = json_array();
    for (int i = 0; i < o->sizes.count; i++) {
        measure(o, o->sizes.bytes[i], results);
        if (node == 0)
            tool_progress_end();
        for (int w = 0; w < WAYS && node == 0; w++) {
            if (o->wanted[w] && !o->json)
                print_text(&results[w], w, &results[MPI_BCAST]);
            if (o->wanted[w])
                json_array_append_new(list, to_json(&results[w], w, &results[MPI_BCAST]));
        }
    }
    if (node == 0 && o->json)
        return pairs_print_json(json_pack("{s:s, s:i, s:s, s:f, s:f}", "benchmark", "broadcast", "nodes", nodes,
                                          "progress", modes[o->mode].name, "compute_ms", 1e3 * o->compute, "seconds",
                                          o->seconds),
                                list);
    json_decref(list);
    return EXIT_SUCCESS;
}

/* ---- the command line */

static void usage(FILE *out)
{
    fputs(
        "usage: tacit run -n N tacit bench broadcast [--bytes LIST] [--algorithm LIST] [--seconds S] [--progress MODE] "
        "[--compute MS] [--json]\n"
        "How long it takes to bring a payload from node 0 to all others, by tacit's trees and by MPI.\n"
        "  --bytes LIST      bytes, separated by commas (default: 8 to 64 MiB, factors of 8 and of 4)\n"
        "  --algorithm LIST  of naive (a message to each), flat, binomial, binary, chain (trees that the sender\n"
        "                    finds), planned-binomial, planned-binary, planned-chain, auto, MPI_Bcast, MPI_Ibcast\n"
        "                    (default: all)\n"
        "  --seconds S       for everything (default: 240); each way has one sample of each size at least, whatever\n"
        "                    that takes\n"
        "  --progress MODE   how nodes run: default, inline, shared or thread (default: shared, with one worker)\n"
        "  --compute MS      all nodes but the first and the last are in a kernel of so many ms meanwhile, and the\n"
        "                    time is that of the last one (3 nodes or more)\n"
        "  --json            JSON on standard output\n",
        out);
}

static bool parse_ways(const char *list, bool wanted[WAYS])
{
    memset(wanted, 0, WAYS * sizeof *wanted);
    for (const char *from = list;; from++) {
        size_t length = strcspn(from, ",");
        int way = 0;
        while (way < WAYS && (strlen(ways[way].name) != length || strncmp(ways[way].name, from, length) != 0))
            way++;
        if (way == WAYS)
            return false;
        wanted[way] = true;
        from += length;
        if (!*from)
            return true;
    }
}

static bool parse_value(const char *name, const char *value, void *to)
{
    options *o = to;
    if (strcmp(name, "--bytes") == 0)
        return pairs_parse_sizes(value, &o->sizes);
    if (strcmp(name, "--algorithm") == 0)
        return parse_ways(value, o->wanted);
    if (strcmp(name, "--compute") == 0) {
        char *end;
        o->compute = strtod(value, &end) * 1e-3;
        return end != value && !*end && o->compute >= 2 * head_start && o->compute < 10;
    }
    if (strcmp(name, "--seconds") == 0) {
        char *end;
        o->seconds = strtod(value, &end);
        return end != value && !*end && o->seconds > 0 && o->seconds <= 1e6;
    }
    for (o->mode = 0; o->mode < MODES && strcmp(value, modes[o->mode].name) != 0;)
        o->mode++;
    return strcmp(name, "--progress") == 0 && o->mode < MODES;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, options *o)
{
    *o = (options){ .mode = SHARED, .seconds = 240 };
    memset(o->wanted, true, sizeof o->wanted);
    pairs_parse_sizes("8,64,512,4096,32768,262144,1048576,4194304,16777216,67108864", &o->sizes);
    return pairs_parse(argc, argv, usage, parse_value, o, &o->json);
}

static bool on_one_machine(void)
{
    MPI_Comm machine;
    int here;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &here);
    MPI_Comm_free(&machine);
    return here == nodes;
}

int main(int argc, char **argv)
{
    options o;
    int status = parse(argc, argv, &o), level;
    if (status >= 0)
        return status;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &node);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    if (nodes < (o.compute > 0 ? 3 : 2) || level != MPI_THREAD_MULTIPLE) {
        fprintf(stderr, level == MPI_THREAD_MULTIPLE
                            ? "broadcast: needs more nodes: tacit run -n 4 tacit bench broadcast\n"
                            : "broadcast: this MPI does not let several threads call it\n");
        MPI_Finalize();
        return EXIT_FAILURE;
    }
    one_clock = on_one_machine();
    if (o.compute > 0)
        o.wanted[MPI_BCAST] = o.wanted[MPI_IBCAST] = false;
    status = run(&o);
    MPI_Finalize();
    return status;
}
