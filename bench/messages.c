/* Latency and bandwidth between two nodes, through tacit and in plain MPI.
 *
 * tacit: one buffer is updated by empty tasks, on node 0 and node 1 in turn, so its contents travel once per task.
 * MPI: the same bytes go back and forth by MPI_Isend and MPI_Irecv, polled by MPI_Test with a yield after each. Both
 * are timed on node 0 as half a round trip, in interleaved pairs, in the same run. Reported are medians, and the
 * median of the pairs' ratios with its 95 % interval by order statistics. The counters of tacit show that each round
 * trip did send one message each way. */
#include "tacit/tacit.h"

#include "pairs.h"
#include "progress.h"

#include <jansson.h>
#include <mpi.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 41, WARM_UP = 3, MOST_TRIPS = 1000, LEAST_TRIPS = 10 };
static const double bytes_per_sample = 32e6; /* larger messages make fewer trips */

typedef struct options {
    bool json;
    pairs_sizes sizes;
} options;

typedef struct result {
    size_t bytes;
    int trips;
    double tacit, mpi;       /* medians, seconds per half round trip */
    double ratio, low, high; /* tacit / mpi */
    double messages;         /* sent by node 0 per round trip */
} result;

typedef struct bench {
    tacit_context *ctx;
    MPI_Comm mpi;
    int node;
    char *data;
} bench;

static void check(const bench *b, tacit_status status, const char *what)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "messages: %s: %s: %s\n", what, tacit_status_name(status), tacit_last_error(b->ctx));
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

/* ---- what is measured */

static void nothing(const tacit_launch *launch)
{
    (void)launch;
}

static double time_tacit(const bench *b, tacit_buffer *buffer, int trips)
{
    tacit_task task = { .name = "touch",
                        .kernel = { .host = nothing },
                        .access = { tacit_update(buffer, tacit_all()) } };
    MPI_Barrier(b->mpi);
    double start = pairs_now();
    for (int i = 0; i < 2 * trips; i++) {
        task.place = tacit_place_node((i + 1) % 2); /* the contents are on node 0 when it starts, and when it ends */
        check(b, tacit_submit(b->ctx, &task), "tacit_submit");
    }
    check(b, tacit_wait(b->ctx), "tacit_wait");
    return (pairs_now() - start) / (2.0 * trips);
}

static void complete(MPI_Request *request)
{
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    while (!done) {
        sched_yield();
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
}

static void transfer(const bench *b, bool send, size_t bytes)
{
    MPI_Request request;
    if (send) {
        MPI_Isend(b->data, (int)bytes, MPI_BYTE, 1 - b->node, 0, b->mpi, &request);
    } else {
        MPI_Irecv(b->data, (int)bytes, MPI_BYTE, 1 - b->node, 0, b->mpi, &request);
    }
    complete(&request);
}

static double time_mpi(const bench *b, size_t bytes, int trips)
{
    MPI_Barrier(b->mpi);
    double start = pairs_now();
    for (int i = 0; i < trips; i++) {
        transfer(b, b->node == 0, bytes);
        transfer(b, b->node == 1, bytes);
    }
    return (pairs_now() - start) / (2.0 * trips);
}

/* ---- one size */

static uint64_t messages_sent(const bench *b)
{
    tacit_counters counters;
    check(b, tacit_get_counters(b->ctx, &counters), "tacit_get_counters");
    return counters.messages_sent;
}

static int trips_for(size_t bytes)
{
    double trips = bytes_per_sample / (2.0 * (double)bytes);
    return trips > MOST_TRIPS ? MOST_TRIPS : trips < LEAST_TRIPS ? LEAST_TRIPS : (int)trips;
}

static result measure(const bench *b, size_t bytes)
{
    result r = { .bytes = bytes, .trips = trips_for(bytes) };
    double tacit[PAIRS], mpi[PAIRS], ratio[PAIRS];
    tacit_buffer *buffer;
    tacit_buffer_desc desc = { .name = "message", .range = TACIT_RANGE(bytes), .elem_size = 1, .init = b->data };
    check(b, tacit_buffer_create(b->ctx, &desc, &buffer), "tacit_buffer_create");
    for (int i = 0; i < WARM_UP; i++) {
        time_tacit(b, buffer, r.trips);
        time_mpi(b, bytes, r.trips);
    }
    uint64_t sent = messages_sent(b);
    for (int i = 0; i < PAIRS; i++) {
        bool tacit_first = i % 2 == 0;
        if (b->node == 0) {
            tool_progress("tacit bench messages: %zu bytes, pair %d of %d", bytes, i + 1, (int)PAIRS);
        }
        tacit[i] = tacit_first ? time_tacit(b, buffer, r.trips) : 0;
        mpi[i] = time_mpi(b, bytes, r.trips);
        tacit[i] = tacit_first ? tacit[i] : time_tacit(b, buffer, r.trips);
        ratio[i] = tacit[i] / mpi[i];
    }
    r.messages = (double)(messages_sent(b) - sent) / ((double)PAIRS * r.trips);
    check(b, tacit_buffer_destroy(b->ctx, buffer), "tacit_buffer_destroy");
    r.tacit = pairs_median(tacit, PAIRS);
    r.mpi = pairs_median(mpi, PAIRS);
    r.ratio = pairs_median(ratio, PAIRS);
    pairs_interval(ratio, PAIRS, &r.low, &r.high);
    return r;
}

/* ---- output */

static void print_text(const result *r)
{
    printf("%10zu B  tacit %10.2f us %8.1f MB/s   mpi %10.2f us %8.1f MB/s   ratio %.3f [%.3f, %.3f]   %.2f messages\n",
           r->bytes, 1e6 * r->tacit, 1e-6 * (double)r->bytes / r->tacit, 1e6 * r->mpi, 1e-6 * (double)r->bytes / r->mpi,
           r->ratio, r->low, r->high, r->messages);
    fflush(stdout);
}

static json_t *to_json(const result *r)
{
    return json_pack("{s:I, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:[f,f], s:f}", "bytes", (json_int_t)r->bytes, "pairs",
                     (int)PAIRS, "round_trips", r->trips, "tacit_us", 1e6 * r->tacit, "mpi_us", 1e6 * r->mpi,
                     "tacit_bytes_per_s", (double)r->bytes / r->tacit, "mpi_bytes_per_s", (double)r->bytes / r->mpi,
                     "ratio", r->ratio, "ratio_95", r->low, r->high, "messages_per_round_trip", r->messages);
}

/* ---- the command line */

static void usage(FILE *out)
{
    fputs("usage: mpirun -n 2 messages [--json] [--bytes LIST] [--help]\n"
          "Latency (half a round trip) and bandwidth between two nodes, through tacit and in plain MPI.\n"
          "  --bytes LIST  message sizes, separated by commas (default 8,64,1024,8192,65536,1048576,8388608)\n"
          "  --json        JSON on standard output\n",
          out);
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, options *o)
{
    pairs_parse_sizes("8,64,1024,8192,65536,1048576,8388608", &o->sizes);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) {
            o->json = true;
        } else if (!strcmp(argv[i], "--help")) {
            usage(stdout);
            return EXIT_SUCCESS;
        } else if (strcmp(argv[i], "--bytes") || i + 1 == argc || !pairs_parse_sizes(argv[++i], &o->sizes)) {
            usage(stderr);
            return EXIT_FAILURE;
        }
    }
    return -1;
}

static int run(bench *b, const options *o)
{
    json_t *list = json_array();
    size_t largest = 0;
    for (int i = 0; i < o->sizes.count; i++) {
        largest = o->sizes.bytes[i] > largest ? o->sizes.bytes[i] : largest;
    }
    b->data = calloc(1, largest);
    if (!b->data) {
        fprintf(stderr, "messages: no memory for %zu bytes\n", largest);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    check(b, tacit_init(NULL, &b->ctx), "tacit_init");
    for (int i = 0; i < o->sizes.count; i++) {
        result r = measure(b, o->sizes.bytes[i]);
        tool_progress_end();
        if (b->node == 0 && !o->json) {
            print_text(&r);
        }
        json_array_append_new(list, to_json(&r));
    }
    check(b, tacit_finalize(b->ctx), "tacit_finalize");
    free(b->data);
    if (b->node == 0 && o->json) {
        return pairs_print_json(json_pack("{s:s}", "benchmark", "messages"), list);
    }
    json_decref(list);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    options o = { 0 };
    int status = parse(argc, argv, &o);
    if (status >= 0) {
        return status;
    }
    int level, nodes;
    bench b = { .ctx = NULL };
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.node);
    if (nodes != 2 || level != MPI_THREAD_MULTIPLE) {
        fprintf(stderr, nodes != 2 ? "messages: needs two nodes: mpirun -n 2 messages\n"
                                   : "messages: this MPI does not let several threads call it\n");
        MPI_Finalize();
        return EXIT_FAILURE;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &b.mpi);
    status = run(&b, &o);
    MPI_Comm_free(&b.mpi);
    MPI_Finalize();
    return status;
}
