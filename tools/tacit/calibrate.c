/* The program behind `tacit simulate --calibrate`: measures what src/sim/platform.h asks of a machine.
 *
 * Usage: tacit-calibrate PHASE [FILE], one of
 *   messages FILE   on two nodes: the network, as the executor uses it
 *   memory FILE     on one: copies, combining, workers
 *   tasks           on two: a stencil whose kernels do nothing, whose records (TACIT_TRACE) say what planning and
 *                   starting take
 *   steps FILE N    on two, without records: what a step of this stencil takes, of N; FILE gets the nanoseconds
 * FILE gets lines "key = value unit". Every figure is the lower quartile of many short samples, since other programs on
 * the machine make samples longer and never shorter. Node 0 decides how many, within a second or so for each figure. */
#include "base/clock.h"
#include "base/config.h"
#include "base/strbuf.h"
#include "comm/comm.h"
#include "device/host.h"
#include "ir/reduction.h"
#include "run/choose.h"
#include "tacit/tacit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 101, FEW_SAMPLES = 31, MOST_TRIPS = 200, STREAM = 64, MOST_TOKENS = 32 };
enum { SHORT = 8, MEDIUM = 256 * 1024, LONG = 1024 * 1024, MOST_EAGER = LONG, EAGER_STEP = 64, ASKING = 8 * 1024 };
enum { SETTLE_NS = 200 * 1000, EAGER_NS = 3 * 1000 * 1000, EAGER_POLLS = 1000, BUDGET_NS = 1000 * 1000 * 1000 };
enum { COPY_BYTES = 8 << 20, SMALL_COPY = 64, SMALL_COPIES = 256, TASKS = 1500, ITEMS = 4096 };

typedef struct pair {
    ti_comm *comm;
    int peer;
    uint64_t sent, received; /* counters of messages */
    char *out, *in;
    ti_lot lot;
} pair;

static void stop(const char *why)
{
    fprintf(stderr, "tacit-calibrate: %s\n", why);
    exit(EXIT_FAILURE);
}

/* ---- samples */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double lower_quartile(double *sample, int count)
{
    qsort(sample, (size_t)count, sizeof(*sample), by_size);
    return sample[count / 4];
}

/* ---- messages */

/* Until no more than so many operations are left, as threads wait in a run. */
static void wait_for(pair *p, uint64_t left)
{
    uint64_t tokens[MOST_TOKENS];
    for (ti_waiter waiter = { .can = TI_CAN_ANYTHING }; p->comm->pending > left;) {
        int n = p->comm->ops->poll(p->comm, tokens, MOST_TOKENS);
        if (n < 0) {
            p->comm->ops->abort(p->comm, p->comm->stats.error);
        } else if (n == 0) {
            ti_backoff(&waiter, &p->lot, ti_lot_ticket(&p->lot), true);
        } else {
            waiter.round = 0;
        }
    }
}

static void wait_all(pair *p)
{
    wait_for(p, 0);
}

static void send(pair *p, size_t bytes)
{
    ti_block block = { .base = p->out, .run = bytes, .count = { 1, 1 } };
    p->comm->ops->send(p->comm, p->peer, p->sent++, &(ti_payload){ &block, 1, bytes }, 1);
}

static void receive(pair *p, size_t bytes)
{
    ti_block block = { .base = p->in, .run = bytes, .count = { 1, 1 } };
    p->comm->ops->receive(p->comm, p->peer, p->received++, &(ti_payload){ &block, 1, bytes }, 2);
}

/* Both nodes go on at about the same time. */
static void meet(pair *p)
{
    receive(p, 1);
    send(p, 1);
    wait_all(p);
}

/* What node 0 says. */
static int64_t agree(const pair *p, int64_t value)
{
    return p->comm->ops->sum(p->comm, p->comm->node == 0 ? value : 0);
}

static void rest(uint64_t ns)
{
    nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

/* Half a round trip. */
static double ping_pong(pair *p, size_t bytes, int trips)
{
    meet(p);
    uint64_t start = ti_clock_ns();
    for (int i = 0; i < 2 * trips; i++) {
        if (i % 2 == p->comm->node) {
            send(p, bytes);
        } else {
            receive(p, bytes);
        }
        wait_all(p);
    }
    return (double)(ti_clock_ns() - start) / (2.0 * trips);
}

/* Both nodes send and receive at once, as in most programs: the time of one exchange. */
static double exchange(pair *p, size_t bytes, int rounds)
{
    meet(p);
    uint64_t start = ti_clock_ns();
    for (int i = 0; i < rounds; i++) {
        receive(p, bytes);
        send(p, bytes);
        wait_all(p);
    }
    return (double)(ti_clock_ns() - start) / rounds;
}

typedef double sampled(pair *p, size_t bytes, int rounds);

/* So many rounds that a sample lasts long, compared with the clock, and all of them not too long. */
static int rounds_for(pair *p, sampled *what, size_t bytes, int samples)
{
    what(p, bytes, 2); /* memory is touched, connections are made */
    double once = what(p, bytes, 2);
    int64_t most = (int64_t)(BUDGET_NS / (double)samples / (once > 1 ? once : 1));
    return (int)agree(p, TI_MAX(1, TI_MIN(most, MOST_TRIPS)));
}

static double quartile_of(pair *p, sampled *what, size_t bytes)
{
    double sample[SAMPLES];
    int rounds = rounds_for(p, what, bytes, SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        sample[i] = what(p, bytes, rounds);
    }
    return lower_quartile(sample, SAMPLES);
}

/* A flood of short messages from node 0 to node 1. What the calls take on each side, per message, and the time from one
 * message to the next; each node knows its own side. */
typedef struct overheads {
    double send, receive, gap;
} overheads;

static double flood_out(pair *p)
{
    uint64_t start = ti_clock_ns();
    for (int i = 0; i < STREAM; i++) {
        send(p, SHORT);
    }
    double ns = (double)(ti_clock_ns() - start) / STREAM;
    wait_all(p);
    return ns;
}

/* What comes, when all of it is there: the receiver's share. */
static double take_late(pair *p)
{
    rest(SETTLE_NS);
    uint64_t start = ti_clock_ns();
    wait_all(p);
    return (double)(ti_clock_ns() - start) / STREAM;
}

/* What comes, as it comes: from one message to the next. */
static double take_at_once(pair *p)
{
    wait_for(p, STREAM - 1);
    uint64_t start = ti_clock_ns(), left = p->comm->pending;
    wait_all(p);
    return left ? (double)(ti_clock_ns() - start) / (double)left : 0;
}

static double flood(pair *p, bool late, double *posting)
{
    *posting = 0;
    if (p->comm->node == 1) {
        uint64_t start = ti_clock_ns();
        for (int i = 0; i < STREAM; i++) {
            receive(p, SHORT);
        }
        *posting = (double)(ti_clock_ns() - start) / STREAM;
        send(p, 1);
        wait_for(p, STREAM);
        return late ? take_late(p) : take_at_once(p);
    }
    receive(p, 1);
    wait_all(p);
    return flood_out(p);
}

static overheads measure_overheads(pair *p)
{
    double out[SAMPLES], in[SAMPLES], gap[SAMPLES], posting;
    for (int i = 0; i < SAMPLES; i++) {
        out[i] = flood(p, false, &posting);
        gap[i] = out[i];
        in[i] = flood(p, true, &posting) + posting;
    }
    bool sends = p->comm->node == 0;
    int64_t mine = (int64_t)(1000 * lower_quartile(sends ? out : in, SAMPLES));
    int64_t apart = sends ? 0 : (int64_t)(1000 * lower_quartile(gap, SAMPLES));
    return (overheads){ .send = (double)p->comm->ops->sum(p->comm, sends ? mine : 0) / 1000,
                        .receive = (double)p->comm->ops->sum(p->comm, sends ? 0 : mine) / 1000,
                        .gap = (double)p->comm->ops->sum(p->comm, apart) / 1000 };
}

/* Whether a message is gone before its receiver has asked for it. */
static bool is_eager(pair *p, size_t bytes)
{
    bool gone = false;
    if (p->comm->node == 0) {
        uint64_t start = ti_clock_ns(), token;
        send(p, bytes);
        for (int i = 0; p->comm->pending && (i < EAGER_POLLS || ti_clock_ns() - start < EAGER_NS); i++) {
            sched_yield();
            p->comm->ops->poll(p->comm, &token, 1);
        }
        gone = !p->comm->pending;
        send(p, 1);
        wait_all(p);
    } else {
        uint64_t first = p->received++;
        receive(p, 1); /* of the second message */
        wait_all(p);
        uint64_t second = p->received;
        p->received = first;
        receive(p, bytes);
        wait_all(p);
        p->received = second;
    }
    return agree(p, gone);
}

/* The longest such message, to some bytes. */
static size_t find_eager(pair *p)
{
    size_t low = 0, high = MOST_EAGER;
    if (is_eager(p, high)) {
        return high;
    }
    while (high - low > EAGER_STEP) {
        size_t middle = (low + high) / 2;
        if (is_eager(p, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Of messages that ask first; 0: none do. */
static size_t asking_length(size_t eager)
{
    return eager < MOST_EAGER / 2 ? 2 * eager + ASKING : 0;
}

/* Samples of both lengths take turns, so that what disturbs one disturbs the other. `asking`: an exchange of messages
 * of this length, which ask first; 0: none do. */
static double measure_byte(pair *p, size_t asking, double *asking_ns)
{
    double few[FEW_SAMPLES], many[FEW_SAMPLES], first[FEW_SAMPLES];
    int rounds = rounds_for(p, exchange, LONG, 2 * FEW_SAMPLES);
    for (int i = 0; i < FEW_SAMPLES; i++) {
        first[i] = asking ? exchange(p, asking, rounds) : 0;
        few[i] = exchange(p, MEDIUM, rounds);
        many[i] = exchange(p, LONG, rounds);
    }
    double less = lower_quartile(few, FEW_SAMPLES), more = lower_quartile(many, FEW_SAMPLES);
    *asking_ns = lower_quartile(first, FEW_SAMPLES);
    return more > less ? (more - less) / (LONG - MEDIUM) : more / LONG;
}

static void add_time(ti_strbuf *out, const char *key, double ns)
{
    ti_strbuf_add(out, "%-17s = %.4g ns\n", key, ns > 0 ? ns : 0);
}

static void add_rate(ti_strbuf *out, const char *key, double byte_ns)
{
    ti_strbuf_add(out, "%-17s = %.4g GB/s\n", key, 1 / byte_ns);
}

/* What all these figures say of this network. */
static void add_network(ti_strbuf *out, double trip, overheads o, size_t eager, double byte_ns, double asking_trip)
{
    /* Calls overlap with the way of a message where memory is shared: a trip is not longer than it was. */
    double part = TI_MIN(trip / (o.send + o.receive), 1), send = part * o.send, receive = part * o.receive;
    double latency = trip - send - receive;
    add_time(out, "latency", latency);
    add_time(out, "send_overhead", send);
    add_time(out, "receive_overhead", receive);
    add_time(out, "gap", o.gap);
    add_rate(out, "bandwidth", byte_ns);
    ti_strbuf_add(out, "%-17s = %zu B\n", "eager", eager);
    if (asking_length(eager) > 0) {
        add_time(out, "rendezvous",
                 asking_trip - (trip + 2 * (latency + send) + (double)asking_length(eager) * byte_ns));
    }
}

static void write_lines(ti_strbuf *out, const char *path)
{
    if (!ti_strbuf_write(out, path)) {
        stop(strerror(errno));
    }
    ti_strbuf_fini(out);
}

static void messages(const char *path)
{
    char why[512];
    ti_strbuf out = { 0 };
    pair p = { .comm = ti_comm_mpi_create(&(ti_comm_settings){ .early_bytes = (size_t)1 << 40 }, why, sizeof(why)) };
    if (!p.comm) {
        stop(why);
    }
    if (p.comm->num_nodes != 2) {
        fprintf(stderr, "messages are measured on two nodes, not on %d\n", p.comm->num_nodes);
        p.comm->ops->abort(p.comm, "");
    }
    p.peer = 1 - p.comm->node;
    p.lot.spins = ti_host_cores() < TI_MAX(p.comm->sharing, 1) ? TI_SPINS_CROWDED : TI_SPINS_ROOMY;
    p.out = ti_alloc_zero(LONG);
    p.in = ti_alloc_zero(LONG);
    double trip = quartile_of(&p, ping_pong, SHORT);
    overheads o = measure_overheads(&p);
    size_t eager = find_eager(&p);
    double asking_trip, byte_ns = measure_byte(&p, asking_length(eager), &asking_trip);
    if (p.comm->node == 0) {
        add_network(&out, trip, o, eager, byte_ns, asking_trip);
        write_lines(&out, path);
    }
    ti_free(p.out, LONG);
    ti_free(p.in, LONG);
    p.comm->ops->destroy(p.comm);
}

/* ---- memory */

static double copy_ns(ti_device *device, char *to, const char *from, size_t bytes, int copies)
{
    uint64_t start = ti_clock_ns(), token;
    for (int i = 0; i < copies; i++) {
        ti_block source = { .base = (char *)(uintptr_t)from, .run = bytes, .count = { 1, 1 } };
        ti_block target = { .base = to, .run = bytes, .count = { 1, 1 } };
        device->ops->copy(device, 0, &target, &source, 1);
        while (device->ops->poll(device, &token, 1) == 0) {
            ti_device_host_work(device, 0, 1);
        }
    }
    return (double)(ti_clock_ns() - start) / copies;
}

static double combine_ns(char *into, const char *from, size_t bytes)
{
    const ti_reducer sum = { .op = tacit_sum(TACIT_DOUBLE) };
    uint64_t start = ti_clock_ns();
    ti_reducer_combine(&sum, into, from, bytes / sizeof(double));
    return (double)(ti_clock_ns() - start);
}

/* Of a node that has this machine for itself. */
static int workers(void)
{
    const tacit_config given = { .workers = 0 };
    tacit_config config;
    ti_choice choice;
    ti_strbuf why = { 0 };
    ti_comm *comm = ti_comm_self_create();
    if (ti_config_resolve(&given, &config, &why) != TACIT_OK || !ti_choose(&config, comm, false, &choice, &why)) {
        stop(ti_strbuf_text(&why));
    }
    comm->ops->destroy(comm);
    ti_strbuf_fini(&why);
    return choice.workers;
}

static void memory(const char *path)
{
    double small[SAMPLES], large[FEW_SAMPLES], sum[FEW_SAMPLES];
    ti_lot lot = { 0 };
    ti_strbuf out = { 0 };
    ti_device *device = ti_device_host_create(&(ti_host_desc){ .workers = 1, .lot = &lot });
    char *from = ti_alloc_zero(COPY_BYTES), *to = ti_alloc_zero(COPY_BYTES);
    for (int i = 0; i < SAMPLES; i++) {
        small[i] = copy_ns(device, to, from, SMALL_COPY, SMALL_COPIES);
    }
    for (int i = 0; i < FEW_SAMPLES; i++) {
        large[i] = copy_ns(device, to, from, COPY_BYTES, 1);
        sum[i] = combine_ns(to, from, COPY_BYTES);
    }
    double once = lower_quartile(small, SAMPLES), all = lower_quartile(large, FEW_SAMPLES);
    ti_strbuf_add(&out, "%-17s = %d\n", "workers", workers());
    add_time(&out, "copy", once);
    add_rate(&out, "copy_bandwidth", (all - once) / COPY_BYTES);
    add_rate(&out, "combine_bandwidth", lower_quartile(sum, FEW_SAMPLES) / COPY_BYTES);
    write_lines(&out, path);
    ti_free(from, COPY_BYTES);
    ti_free(to, COPY_BYTES);
    device->ops->destroy(device);
}

/* ---- tasks */

static void nothing(const tacit_launch *launch)
{
    (void)launch;
}

static void check(tacit_context *ctx, tacit_status status)
{
    if (status != TACIT_OK) {
        stop(tacit_last_error(ctx));
    }
}

static void open_stencil(tacit_context **ctx_of, tacit_buffer *u[2])
{
    const double zero = 0;
    check(NULL, tacit_init(&(tacit_config){ .rounds = TACIT_ROUNDS_OFF }, ctx_of)); /* each task is planned */
    tacit_context *ctx = *ctx_of;
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = { .name = i ? "odd" : "even",
                                         .range = TACIT_RANGE(ITEMS),
                                         .elem_size = sizeof(double) };
        check(ctx, tacit_buffer_create(ctx, &desc, &u[i]));
        check(ctx, tacit_fill(ctx, u[i], &zero));
    }
}

static void submit_steps(tacit_context *ctx, tacit_buffer *u[2], long count)
{
    for (long i = 0; i < count; i++) {
        const tacit_task step = { .name = "step",
                                  .range = TACIT_RANGE(ITEMS),
                                  .kernel = { .host = nothing },
                                  .access = { tacit_read(u[i % 2], tacit_neighborhood(1, 0, 0)),
                                              tacit_write(u[1 - i % 2], tacit_one_to_one()) } };
        check(ctx, tacit_submit(ctx, &step));
    }
}

static void tasks(void)
{
    tacit_context *ctx;
    tacit_buffer *u[2];
    open_stencil(&ctx, u);
    submit_steps(ctx, u, TASKS);
    check(NULL, tacit_finalize(ctx));
}

/* ---- steps */

static double nanoseconds_of_steps(tacit_context *ctx, tacit_buffer *u[2], long count)
{
    uint64_t start = ti_clock_ns();
    submit_steps(ctx, u, count);
    check(ctx, tacit_wait(ctx));
    return (double)(ti_clock_ns() - start);
}

/* Simulated there is one sample, and nothing to write. */
static void steps(const char *path, long count)
{
    tacit_context *ctx;
    tacit_buffer *u[2];
    ti_strbuf out = { 0 };
    double sample[FEW_SAMPLES];
    open_stencil(&ctx, u);
    check(ctx, tacit_wait(ctx));
    int samples = tacit_is_dry_run(ctx) ? 1 : FEW_SAMPLES;
    for (int i = 0; i < samples; i++) {
        sample[i] = nanoseconds_of_steps(ctx, u, count) / (double)count;
    }
    if (samples > 1 && tacit_node(ctx) == 0) {
        ti_strbuf_add(&out, "%.6g\n", lower_quartile(sample, samples));
        write_lines(&out, path);
    }
    check(NULL, tacit_finalize(ctx));
}

int main(int argc, char **argv)
{
    const char *phase = argc > 1 ? argv[1] : "";
    if (argc == 3 && strcmp(phase, "messages") == 0) {
        messages(argv[2]);
    } else if (argc == 3 && strcmp(phase, "memory") == 0) {
        memory(argv[2]);
    } else if (argc == 2 && strcmp(phase, "tasks") == 0) {
        tasks();
    } else if (argc == 4 && strcmp(phase, "steps") == 0 && atol(argv[3]) > 0) {
        steps(argv[2], atol(argv[3]));
    } else {
        fprintf(stderr, "usage: tacit-calibrate messages|memory FILE, tacit-calibrate tasks, or tacit-calibrate steps "
                        "FILE COUNT\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
