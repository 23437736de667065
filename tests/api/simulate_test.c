/* Simulated clusters: times of small programs are those of the LogGP formulas, runs are the same every time, and
 * programs come to their end whatever they do.
 *
 * `simulate_test [SEED [COUNT]]`: the random programs. */
#include "effort.h"
#include "model_run.h"
#include "tacit/tacit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Planning and kernels cost nothing here, unless a test says so. */
#define FREE "workers = 1\nitem = 0 ns\nstart = 0 ns\ncopy = 0 ns\ntask = 0 ns\ncommand = 0 ns\ninstruction = 0 ns\n"
static const double latency = 1000, send = 300, receive = 200, gap = 50, byte = 0.25;
#define NETWORK                                                                                                        \
    "latency = 1 us\nsend_overhead = 300 ns\nreceive_overhead = 0.2 us\ngap = 50 ns\nbandwidth = 4 GB/s\n"             \
    "eager = 1 MiB\n"

enum { REPORT_BYTES = 100000 };
/* Of all simulations, but where a test sets them. */
static tacit_config settings = { .broadcast = TACIT_BROADCAST_FLAT,
                                 .multicast = TACIT_MULTICAST_DYNAMIC,
                                 .early_bytes = 1ll << 40 };
static char platform[] = "simulate_test_platform_XXXXXX", report[] = "simulate_test_report_XXXXXX";
static char json[REPORT_BYTES];

static void write_platform(const char *text)
{
    FILE *file = fopen(platform, "w");
    assert_non_null(file);
    assert_int_not_equal(fputs(text, file), EOF);
    assert_int_equal(fclose(file), 0);
}

static void read_report(void)
{
    FILE *file = fopen(report, "r");
    assert_non_null(file);
    json[fread(json, 1, sizeof(json) - 1, file)] = '\0';
    fclose(file);
}

typedef void simulated(tacit_context *ctx, int nodes, size_t elements);

/* A program that is never run: its kernels must not be called. */
static void never(const tacit_launch *k)
{
    (void)k;
    abort();
}

static double number(const char *key)
{
    char pattern[64];
    snprintf(pattern, sizeof(pattern), "\"%s\": ", key);
    const char *at = strstr(json, pattern);
    assert_non_null(at);
    return strtod(at + strlen(pattern), NULL);
}

/* Nanoseconds. */
static double simulate(simulated *run, int nodes, size_t elements, int collectives)
{
    char dry[32];
    tacit_context *ctx;
    snprintf(dry, sizeof(dry), "%d", nodes);
    tacit_config config = settings;
    config.dry_run = dry;
    config.simulate = platform;
    config.simulate_report = report;
    config.collectives = collectives;
    if (tacit_init(&config, &ctx) != TACIT_OK) {
        fail_msg("%s", tacit_last_error(NULL));
    }
    run(ctx, nodes, elements);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    read_report();
    return number("ns");
}

static tacit_buffer *new_buffer(tacit_context *ctx, const char *name, size_t elements)
{
    tacit_buffer *b;
    const tacit_buffer_desc desc = { .name = name, .range = TACIT_RANGE(elements), .elem_size = 1 };
    assert_int_equal(tacit_buffer_create(ctx, &desc, &b), TACIT_OK);
    return b;
}

static void submit(tacit_context *ctx, const char *name, size_t items, tacit_access a, tacit_access b)
{
    const tacit_task task = {
        .name = name, .range = TACIT_RANGE(items), .kernel = { .host = never }, .access = { a, b }
    };
    assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
}

static void assert_ns(double found, double expected)
{
    if (fabs(found - expected) > 1) { /* the report has whole nanoseconds */
        fail_msg("%.0f ns, but the formula says %.0f", found, expected);
    }
}

/* One message of k bytes, from call to call. */
static double message(double k)
{
    return send + latency + (k - 1) * byte + receive;
}

static int log2_up(int n)
{
    int steps = 0;
    while (1 << steps < n) {
        steps++;
    }
    return steps;
}

/* tacit_finalize meets on all nodes: steps of messages of one byte at least. */
static double the_end(int nodes)
{
    return log2_up(nodes) * (send + latency + receive);
}

/* ---- messages: a chain of placed tasks, a hot spot, a torus */

enum { STEPS = 37 };

static void write_all(tacit_context *ctx, tacit_buffer *b, int nodes, size_t elements)
{
    submit(ctx, "fill", (size_t)nodes * elements, tacit_write(b, tacit_one_to_one()), (tacit_access){ 0 });
}

/* Every step updates all of the buffer on the next node. */
static void chain(tacit_context *ctx, int nodes, size_t elements)
{
    tacit_buffer *b = new_buffer(ctx, "token", elements);
    for (int i = 0; i <= STEPS; i++) {
        const tacit_task task = { .name = "hold",
                                  .range = TACIT_RANGE(1),
                                  .place = tacit_place_node(i % nodes),
                                  .kernel = { .host = never },
                                  .access = { i ? tacit_update(b, tacit_all()) : tacit_write(b, tacit_all()) } };
        assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
    }
}

static void hot_spot(tacit_context *ctx, int nodes, size_t elements)
{
    tacit_buffer *b = new_buffer(ctx, "parts", (size_t)nodes * elements), *sum = new_buffer(ctx, "sum", 1);
    write_all(ctx, b, nodes, elements);
    const tacit_task task = { .name = "add",
                              .range = TACIT_RANGE(1),
                              .place = tacit_place_node(0),
                              .kernel = { .host = never },
                              .access = { tacit_read(b, tacit_all()), tacit_write(sum, tacit_one_to_one()) } };
    assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
}

/* Every node needs `elements` bytes of both neighbours, and has ten times as many. */
static void torus(tacit_context *ctx, int nodes, size_t elements)
{
    size_t n = 10 * (size_t)nodes * elements;
    tacit_buffer *b[2] = { new_buffer(ctx, "even", n), new_buffer(ctx, "odd", n) };
    submit(ctx, "fill", n, tacit_write(b[0], tacit_one_to_one()), (tacit_access){ 0 });
    for (int i = 0; i < STEPS; i++) {
        submit(ctx, "step", n, tacit_read(b[i % 2], tacit_periodic(elements, 0, 0)),
               tacit_write(b[1 - i % 2], tacit_one_to_one()));
    }
}

static void messages_take_their_time(void **state)
{
    (void)state;
    for (int nodes = 2; nodes <= 11; nodes += 3) {
        for (size_t k = 1; k < 100000; k = 7 * k + 3) {
            double hold = fmax(gap, (double)k * byte);
            write_platform(NETWORK FREE);
            assert_ns(simulate(chain, nodes, k, TACIT_COLLECTIVES_OFF), STEPS * message((double)k) + the_end(nodes));
            if (hold >= receive) {
                assert_ns(simulate(hot_spot, nodes, k, TACIT_COLLECTIVES_OFF),
                          message((double)k) + (nodes - 2) * hold + the_end(nodes));
            }
        }
    }
}

/* The receiver is asked, and answers. */
static void long_messages_ask_first(void **state)
{
    (void)state;
    write_platform(NETWORK FREE "eager = 99 B\n");
    assert_ns(simulate(chain, 5, 99, TACIT_COLLECTIVES_OFF), STEPS * message(99) + the_end(5));
    assert_ns(simulate(chain, 5, 100, TACIT_COLLECTIVES_OFF),
              STEPS * (message(100) + 2 * (send + latency)) + the_end(5));
    write_platform(NETWORK FREE "eager = 99 B\nrendezvous = 2.5 us\n");
    assert_ns(simulate(chain, 5, 99, TACIT_COLLECTIVES_OFF), STEPS * message(99) + the_end(5));
    assert_ns(simulate(chain, 5, 100, TACIT_COLLECTIVES_OFF),
              STEPS * (message(100) + 2 * (send + latency) + 2500) + the_end(5));
}

/* Kernels on three workers, and one message each way on two nodes, with both borders. On more, each node sends two, one
 * after the other, and receives two, which may come at the same time. */
static void a_stencil_waits_for_its_neighbours(void **state)
{
    (void)state;
    for (int nodes = 2; nodes <= 13; nodes++) {
        for (size_t k = 1; k <= 1000; k *= 10) {
            double items = 10 * (double)k, parts = fmin(items, 3);
            double step = message(nodes == 2 ? 2.0 * (double)k : (double)k) + 40 + items / parts * 2;
            write_platform(NETWORK FREE "workers = 3\nstart = 40 ns\nkernel step = 2 ns\n");
            double ns = simulate(torus, nodes, k, TACIT_COLLECTIVES_OFF) - 40 - the_end(nodes);
            if (nodes == 2) {
                assert_ns(ns, STEPS * step);
                assert_true(number("messages") == 2 * STEPS + 2);
            } else {
                assert_true(ns > STEPS * (step + send - 1) && ns < STEPS * (step + send + receive + 1));
                assert_true(number("messages") == 2.0 * nodes * STEPS + (double)nodes * log2_up(nodes));
            }
        }
    }
}

/* Two ports: messages from one node pass at once, where the cores are quick enough. */
static void ports_work_side_by_side(void **state)
{
    (void)state;
    double k = 40000, hold = k * byte;
    write_platform(NETWORK FREE);
    assert_ns(simulate(hot_spot, 5, 40000, TACIT_COLLECTIVES_OFF), message(k) + 3 * hold + the_end(5));
    write_platform(NETWORK FREE "ports = 2\n");
    assert_ns(simulate(hot_spot, 5, 40000, TACIT_COLLECTIVES_OFF), message(k) + hold + receive + the_end(5));
    write_platform(NETWORK FREE "ports = 2\nstripe = 40000 B\n");
    assert_ns(simulate(hot_spot, 5, 40000, TACIT_COLLECTIVES_OFF), message(k) + hold + receive + the_end(5));
    write_platform(NETWORK FREE "ports = 2\nstripe = 39999 B\n"); /* as one port that is twice as fast */
    assert_ns(simulate(hot_spot, 5, 40000, TACIT_COLLECTIVES_OFF), message(k / 2) + 3 * hold / 2 + the_end(5));
}

/* Every node of the lower half sends to one of the upper half, or to its neighbour. */
static int away;
static void pairs(tacit_context *ctx, int nodes, size_t elements)
{
    tacit_buffer *b = new_buffer(ctx, "parts", (size_t)nodes * elements);
    for (int i = 0; i < nodes; i++) {
        bool gives = i < nodes / 2;
        size_t from = (size_t)(gives ? i : i - nodes / 2), at = from * elements;
        const tacit_mapper part = tacit_fixed(tacit_box1(at, at + elements));
        const tacit_task task = { .name = "either",
                                  .range = TACIT_RANGE(1),
                                  .place = tacit_place_node(gives ? i : ((int)from + away) % nodes),
                                  .kernel = { .host = never },
                                  .access = { gives ? tacit_write(b, part) : tacit_read(b, part) } };
        assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
    }
}

/* A network whose middle has half of what its ports have: messages through it follow each other, others do not. */
static void the_middle_may_be_full(void **state)
{
    (void)state;
    const double k = 40000;
    for (int nodes = 2; nodes <= 16; nodes += 2) {
        away = nodes / 2;
        write_platform(NETWORK FREE "gap = 0 ns\n");
        assert_ns(simulate(pairs, nodes, 40000, 0), message(k) + the_end(nodes));
        write_platform(NETWORK FREE "gap = 0 ns\nbisection = 8 GB/s\n");
        assert_ns(simulate(pairs, nodes, 40000, 0), message(k) + (away - 1) * k * byte / 2 + the_end(nodes));
        write_platform(NETWORK FREE "gap = 0 ns\nbisection = 4 GB/s\n");
        assert_ns(simulate(pairs, nodes, 40000, 0), message(k) + (away - 1) * k * byte + the_end(nodes));
        away = nodes - 1; /* all but the first stay in their half */
        assert_ns(simulate(pairs, nodes, 40000, 0), message(k) + the_end(nodes));
    }
}

/* ---- collectives, by their algorithms */

static void all_gather(tacit_context *ctx, int nodes, size_t elements)
{
    tacit_buffer *b = new_buffer(ctx, "parts", (size_t)nodes * elements), *sum = new_buffer(ctx, "sum", (size_t)nodes);
    write_all(ctx, b, nodes, elements);
    submit(ctx, "add", (size_t)nodes, tacit_read(b, tacit_all()), tacit_write(sum, tacit_one_to_one()));
}

static void broadcast(tacit_context *ctx, int nodes, size_t elements)
{
    tacit_buffer *b = new_buffer(ctx, "given", elements), *sum = new_buffer(ctx, "sum", (size_t)nodes);
    const tacit_task task = { .name = "give",
                              .range = TACIT_RANGE(1),
                              .place = tacit_place_node(0),
                              .kernel = { .host = never },
                              .access = { tacit_write(b, tacit_all()) } };
    assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
    submit(ctx, "use", (size_t)nodes, tacit_read(b, tacit_all()), tacit_write(sum, tacit_one_to_one()));
}

static double all_gather_ns(const char *algorithm, int nodes, double k)
{
    double sum = 0;
    if (strcmp(algorithm, "ring") == 0) {
        return (nodes - 1) * message(k);
    }
    for (int distance = 1; distance < nodes; distance *= 2) {
        sum += message(k * fmin(distance, nodes - distance)); /* the same for both, where there is recursive doubling */
    }
    return sum;
}

static void set_algorithm(const char *name)
{
    char text[1000];
    snprintf(text, sizeof(text), NETWORK FREE "algorithm = %s\n", name);
    write_platform(text);
}

static void all_gathers_take_the_time_of_their_algorithm(void **state)
{
    static const char *const algorithms[] = { "ring", "bruck", "recursive-doubling" };
    (void)state;
    for (size_t a = 0; a < 3; a++) {
        set_algorithm(algorithms[a]);
        for (int nodes = 2; nodes <= 19; nodes++) {
            if (a == 2 && (nodes & (nodes - 1)) != 0) {
                continue; /* that algorithm does not fit */
            }
            for (size_t k = 900; k <= 2700; k += 600) { /* parts that are longer than overheads */
                assert_ns(simulate(all_gather, nodes, k, 0),
                          all_gather_ns(algorithms[a], nodes, (double)k) + the_end(nodes));
                assert_true(number("collectives") == nodes);
            }
        }
    }
}

/* Each part of a ring goes through both ports. */
static void a_ring_may_take_two_ports(void **state)
{
    (void)state;
    write_platform(NETWORK FREE "algorithm = ring\nports = 2\nstripe = 1000 B\n");
    for (int nodes = 2; nodes <= 19; nodes++) {
        assert_ns(simulate(all_gather, nodes, 1000, 0), (nodes - 1) * message(1000) + the_end(nodes));
        assert_ns(simulate(all_gather, nodes, 4000, 0), (nodes - 1) * message(2000) + the_end(nodes));
    }
}

static void a_binomial_broadcast_takes_its_time(void **state)
{
    (void)state;
    set_algorithm("binomial");
    for (int nodes = 2; nodes <= 32; nodes *= 2) {
        for (size_t k = 1; k <= 1000000; k *= 10) {
            assert_ns(simulate(broadcast, nodes, k, 0), log2_up(nodes) * message((double)k) + the_end(nodes));
            assert_true(number("collectives") == nodes);
        }
    }
    set_algorithm("linear");
    assert_ns(simulate(broadcast, 9, 4000, 0), message(4000) + 7 * 4000 * byte + the_end(9));
}

/* ---- broadcasts, by their trees */

/* Node 0 writes, and all others read, by placed tasks: so it is no collective. */
static void placed_broadcast(tacit_context *ctx, int nodes, size_t elements)
{
    tacit_buffer *b = new_buffer(ctx, "given", elements);
    for (int q = 0; q < nodes; q++) {
        const tacit_task task = { .name = q ? "use" : "give",
                                  .range = TACIT_RANGE(1),
                                  .place = tacit_place_node(q),
                                  .kernel = { .host = never },
                                  .access = { q ? tacit_read(b, tacit_all()) : tacit_write(b, tacit_all()) } };
        assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
    }
}

#define KERNELS "start = 1 us\n" /* so that all is planned when node 0 has written */
enum { SEGMENT = 128 << 10, FRAME = 48, STOP = 16, KERNEL = 1000 };

static double simulate_tree(int broadcast, int nodes, size_t k)
{
    settings.broadcast = broadcast;
    double ns = simulate(placed_broadcast, nodes, k, 0) - 2 * KERNEL;
    settings.broadcast = TACIT_BROADCAST_FLAT;
    assert_true(number("messages") == nodes - 1 + (double)nodes * log2_up(nodes));
    assert_true(number("broadcasts") == (broadcast != TACIT_BROADCAST_FLAT && nodes > 2));
    assert_true(number("broadcast_refused") == 0 && number("collectives") == 0);
    return ns;
}

static void a_flat_broadcast_is_a_message_to_each(void **state)
{
    (void)state;
    write_platform(NETWORK FREE KERNELS);
    for (int nodes = 2; nodes <= 12; nodes++) {
        for (size_t k = 10000; k <= 1 << 20; k *= 5) {
            assert_ns(simulate_tree(TACIT_BROADCAST_FLAT, nodes, k),
                      message((double)k) + (nodes - 2) * (double)k * byte + the_end(nodes));
            assert_true(number("relayed_bytes") == 0);
        }
    }
}

/* Frames and segments meet on cores. Where they cost these nothing, there are formulas. */
#define QUICK_CORES "send_overhead = 0 ns\nreceive_overhead = 0 ns\ngap = 0 ns\ncopy_bandwidth = 1000000 GB/s\n"
static double leap(double k)
{
    return latency + (k - 1) * byte;
}

static double frame(int recipients)
{
    return FRAME + STOP * recipients;
}

/* Once the root and its child have agreed, the first segment takes a leap to each node, and the others follow it
 * closely. */
static void a_chain_is_a_pipeline(void **state)
{
    (void)state;
    write_platform(NETWORK FREE KERNELS QUICK_CORES);
    for (int nodes = 3; nodes <= 20; nodes++) {
        for (int i = 1; i <= 24; i++) {
            double k = i < 12 ? 10000 * i : (i - 11) * SEGMENT, first = fmin(k, SEGMENT);
            assert_ns(simulate_tree(TACIT_BROADCAST_CHAIN, nodes, (size_t)k),
                      leap(frame(nodes - 1)) + leap(frame(0)) + (nodes - 1) * leap(first) + (k - first) * byte +
                          log2_up(nodes) * latency);
            assert_true(number("broadcast_recipients") == nodes - 1);
            assert_true(number("relayed_bytes") == k * (nodes - 2));
        }
    }
}

/* Short offers, to children with few of their own, are answered first where cores take no time, so the child with most
 * gets the payload last. From there on the longest way is by those who have most children. */
static void a_binomial_broadcast_doubles_in_each_step(void **state)
{
    (void)state;
    write_platform(NETWORK FREE KERNELS QUICK_CORES);
    for (int steps = 2; steps <= 6; steps++) {
        int nodes = 1 << steps;
        for (double k = 20000; k <= SEGMENT; k += 7777) {
            assert_ns(simulate_tree(TACIT_BROADCAST_BINOMIAL, nodes, (size_t)k),
                      leap(frame(1)) + leap(frame(0)) + (steps - 1) * k * byte + steps * leap(k) + steps * latency);
            assert_true(number("relayed_bytes") == k * (nodes - 1 - steps));
        }
    }
}

/* 8 MB to 99 nodes: a message to each takes time by their number, trees by its logarithm, and the tree of a broadcast
 * that is found while the program runs is as quick as that of a collective. */
static void trees_are_logarithmic(void **state)
{
    (void)state;
    write_platform(NETWORK FREE KERNELS "eager = 16 KiB\n");
    double flat[2], found[2];
    for (int i = 0; i < 2; i++) {
        flat[i] = simulate_tree(TACIT_BROADCAST_FLAT, i ? 97 : 25, 8000000);
        found[i] = simulate_tree(TACIT_BROADCAST_BINOMIAL, i ? 97 : 25, 8000000);
    }
    write_platform(NETWORK FREE KERNELS "eager = 16 KiB\nalgorithm = binomial\n");
    double collective = simulate(broadcast, 97, 8000000, 0) - 2 * KERNEL;
    assert_true(number("collectives") == 97);
    assert_true(flat[1] > 3.9 * flat[0] && found[1] < 1.5 * found[0]);
    assert_true(found[1] < 1.1 * collective && collective < 1.1 * found[1]);
}

/* ---- the program and its planners */

static void planning(tacit_context *ctx, int nodes, size_t elements)
{
    tacit_buffer *b = new_buffer(ctx, "own", (size_t)nodes * elements);
    write_all(ctx, b, nodes, elements);
    for (int i = 1; i < STEPS; i++) {
        submit(ctx, "step", (size_t)nodes * elements, tacit_update(b, tacit_one_to_one()), (tacit_access){ 0 });
    }
}

static void costs(tacit_context *ctx, int nodes, size_t elements)
{
    tacit_buffer *b = new_buffer(ctx, "own", (size_t)nodes * elements);
    for (int i = 0; i < 2; i++) {
        const tacit_task task = { .name = i ? "named" : "costly",
                                  .range = TACIT_RANGE((size_t)nodes * elements),
                                  .kernel = { .host = never },
                                  .access = { i ? tacit_update(b, tacit_one_to_one())
                                                : tacit_write(b, tacit_one_to_one()) },
                                  .cost = 2.5 };
        assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
    }
}

/* A file knows better than the program, and the program better than what a file says of all kernels. */
static void kernels_cost_what_the_program_says(void **state)
{
    (void)state;
    write_platform(NETWORK FREE "item = 7 ns\nkernel named = 3 ns\n");
    assert_ns(simulate(costs, 3, 1000, 0), 2500 + 3000 + the_end(3));
    write_platform(NETWORK FREE "item = 7 ns\n");
    assert_ns(simulate(costs, 3, 1000, 0), 2500 + 2500 + the_end(3));
}

/* The longest stage is what counts: here the program itself, then the planner, then the kernels. */
static void the_longest_stage_counts(void **state)
{
    (void)state;
    write_platform(NETWORK FREE "task = 10 us\ncommand = 1 us\ninstruction = 1 us\n");
    double first = simulate(planning, 4, 1, 0);
    assert_true(first > STEPS * 10000 && first < (STEPS + 20) * 10000 + 10000);
    write_platform(NETWORK FREE "task = 1 us\ncommand = 10 us\ninstruction = 20 us\n");
    double second = simulate(planning, 4, 1, 0);
    assert_true(second > STEPS * 30000 && second < (STEPS + 20) * 30000);
    write_platform(NETWORK FREE "start = 1 ms\n");
    assert_ns(simulate(planning, 4, 1, 0), STEPS * 1e6 + the_end(4));
}

static void waits(tacit_context *ctx, int nodes, size_t elements)
{
    tacit_buffer *b = new_buffer(ctx, "own", (size_t)nodes * elements);
    double value[64];
    write_all(ctx, b, nodes, elements);
    for (int i = 0; i < 5; i++) {
        submit(ctx, "step", (size_t)nodes * elements, tacit_update(b, tacit_one_to_one()), (tacit_access){ 0 });
        if (i % 2) {
            assert_int_equal(tacit_wait(ctx), TACIT_OK);
        } else {
            memset(value, 1, sizeof(value));
            assert_int_equal(tacit_fence_read(ctx, b, tacit_box1(0, elements), value), TACIT_OK);
            assert_int_equal(((char *)value)[elements - 1], 0); /* no value, but zeros */
        }
    }
}

/* A program that waits does not submit the next task before: its kernels follow each other with the time to plan. */
static void programs_wait(void **state)
{
    (void)state;
    write_platform(NETWORK FREE "start = 10 us\ntask = 100 us\n");
    for (int nodes = 1; nodes <= 9; nodes += 4) {
        double ns = simulate(waits, nodes, 3, TACIT_COLLECTIVES_OFF);
        assert_true(ns > 5 * 110000 && ns < 25 * 110000);
        assert_true(number("planning") > 0.9);
    }
}

/* Pure steps, of which the first ones come before a wait that chooses. */
static void pure_steps(tacit_context *ctx, int nodes, size_t elements)
{
    enum { FIRST = 16, REST = 64 };
    tacit_buffer *b[2] = { new_buffer(ctx, "even", (size_t)nodes * elements),
                           new_buffer(ctx, "odd", (size_t)nodes * elements) };
    write_all(ctx, b[0], nodes, elements);
    for (int i = 0; i < FIRST + REST; i++) {
        const tacit_task task = { .name = "step",
                                  .range = TACIT_RANGE((size_t)nodes * elements),
                                  .kernel = { .host = never },
                                  .hint.pure = true,
                                  .access = { tacit_read(b[i % 2], tacit_neighborhood(1, 0, 0)),
                                              tacit_write(b[1 - i % 2], tacit_one_to_one()) } };
        assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
        if (i + 1 == FIRST) {
            assert_int_equal(tacit_wait(ctx), TACIT_OK);
        }
    }
}

enum { PURE_NODES = 5 };

static double messages_of_pure_steps(const char *setting)
{
    settings.latency = setting;
    simulate(pure_steps, PURE_NODES, 100, TACIT_COLLECTIVES_OFF);
    settings.latency = NULL;
    return number("messages");
}

/* Simulated nodes plan windows from where a live run has chosen them. */
static void choices_are_repeated(void **state)
{
    (void)state;
    write_platform(NETWORK FREE);
    const double off = messages_of_pure_steps(NULL), halo = messages_of_pure_steps("halo:4");
    assert_true(halo < 0.3 * off);
    const double meeting = PURE_NODES * log2_up(PURE_NODES), chosen = messages_of_pure_steps("auto:4") - meeting;
    assert_true(messages_of_pure_steps("auto") == off && messages_of_pure_steps("auto:off") == off + meeting);
    assert_true(chosen > halo + 0.1 * off && chosen < 0.5 * off); /* a fifth of all steps came before */
}

static void runs_are_the_same_every_time(void **state)
{
    static char before[REPORT_BYTES];
    (void)state;
    write_platform(NETWORK FREE "task = 0.3 us\ncommand = 0.2 us\ninstruction = 0.2 us\nstart = 1 us\n");
    for (int i = 0; i < 3; i++) {
        simulate(torus, 17, 50, 0);
        assert_true(i == 0 || strcmp(json, before) == 0);
        memcpy(before, json, sizeof(json));
    }
}

/* ---- who looks after messages, and the limit on early bytes */

static void submit_on(tacit_context *ctx, int node, const char *name, tacit_access a, tacit_access b)
{
    const tacit_task task = { .name = name,
                              .range = TACIT_RANGE(1),
                              .place = tacit_place_node(node),
                              .kernel = { .host = never },
                              .access = { a, b } };
    assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
}

/* Node 1 writes what node 0 reads for a long time, and then goes into a kernel at once. */
static void leave_and_compute(tacit_context *ctx, int nodes, size_t elements)
{
    (void)nodes;
    tacit_buffer *given = new_buffer(ctx, "given", elements), *own = new_buffer(ctx, "own", 1);
    submit_on(ctx, 1, "give", tacit_write(given, tacit_all()), (tacit_access){ 0 });
    submit_on(ctx, 1, "compute", tacit_write(own, tacit_all()), (tacit_access){ 0 });
    submit_on(ctx, 0, "take", tacit_read(given, tacit_all()), (tacit_access){ 0 });
}

/* The sender of a long message is asked for it at `asked` after its kernel began: when it answers. */
static double looks_at(double asked)
{
    double look = 0, nap = 50000;
    while (look <= asked) {
        look += nap;
        nap = fmin(2 * nap, 1e6);
    }
    return look;
}

#define COMPUTE "eager = 100 B\nkernel give = 1 us\nkernel compute = 10 ms\nkernel take = 20 ms\n"

static double simulate_progress(const char *progress, double wait)
{
    char text[1000];
    snprintf(text, sizeof(text), NETWORK FREE COMPUTE "latency = %.0f ns\nprogress = %s\n", wait, progress);
    write_platform(text);
    return simulate(leave_and_compute, 2, 1000, 0) - 1000 - 20e6 - (send + wait + receive);
}

static void messages_wait_for_threads_in_kernels(void **state)
{
    (void)state;
    for (double wait = 1000; wait < 3e6; wait = 2 * wait + 333) {
        double asks = 2 * (send + wait), rest = send + wait + 999 * byte + receive;
        assert_ns(simulate_progress("thread", wait), asks + rest);
        assert_ns(simulate_progress("shared", wait), looks_at(asks) + rest);
        assert_ns(simulate_progress("inline", wait), looks_at(asks) + rest);
        settings.threads = TACIT_THREADS_INLINE; /* no attendant, whatever the file says */
        assert_ns(simulate_progress("shared", wait), 10e6 + send + rest);
        settings.threads = 0;
        settings.progress = TACIT_PROGRESS_SHARED; /* counts more than the file, too */
        assert_ns(simulate_progress("thread", wait), looks_at(asks) + rest);
        settings.progress = 0;
    }
}

/* A second worker is there for messages, unless it is in a kernel itself. */
static void idle_workers_look_after_messages(void **state)
{
    (void)state;
    write_platform(NETWORK FREE COMPUTE "progress = shared\nworkers = 2\n");
    assert_ns(simulate(leave_and_compute, 2, 1000, 0), 1000 + 2 * (send + latency) + message(1000) + 20e6 + the_end(2));
}

/* Inline, one thread does everything: nothing happens at the same time. */
static void inline_times_add_up(void **state)
{
    (void)state;
    settings.horizon_step = 1000000;
    write_platform(NETWORK FREE "task = 3 us\ncommand = 5 us\ninstruction = 7 us\nstart = 11 us\nprogress = inline\n");
    double one = simulate(planning, 3, 1, 0);
    write_platform(NETWORK FREE "task = 3 us\ncommand = 5 us\ninstruction = 7 us\nstart = 13 us\nprogress = inline\n");
    assert_ns(simulate(planning, 3, 1, 0), one + STEPS * 2000);
    write_platform(NETWORK FREE "task = 3 us\ncommand = 6 us\ninstruction = 7 us\nstart = 11 us\nprogress = inline\n");
    double tasks = (simulate(planning, 3, 1, 0) - one) / 1000;
    assert_true(tasks == (int)tasks && tasks > STEPS &&
                tasks < STEPS + 6); /* with those that the program does not see */
    assert_true(fabs(one - STEPS * 11000 - tasks * 15000 - the_end(3)) < 100);
    write_platform(NETWORK FREE "task = 3 us\ncommand = 5 us\ninstruction = 7 us\nstart = 11 us\nprogress = inline\n"
                                "handling = 2 us\n");
    double handled = (simulate(planning, 3, 1, 0) - one) / 2000; /* instructions */
    assert_true(handled == (int)handled && handled >= STEPS && handled < STEPS + 6);
    settings.horizon_step = 0;
}

static int parts;

/* Node 0 writes one part every GIVE nanoseconds, and node 1 reads them all. */
static void give_parts(tacit_context *ctx, int nodes, size_t elements)
{
    tacit_buffer *b = new_buffer(ctx, "given", (size_t)parts * elements);
    for (int i = 0; i < nodes * parts; i++) {
        size_t at = (size_t)(i % parts) * elements;
        tacit_mapper part = tacit_fixed(tacit_box1(at, at + elements));
        submit_on(ctx, i / parts, i < parts ? "give" : "take", i < parts ? tacit_write(b, part) : tacit_read(b, part),
                  (tacit_access){ 0 });
    }
}

enum { GIVE = 10 };

/* Without the end. */
static double simulate_parts(int64_t limit)
{
    settings.early_bytes = limit;
    double ns = simulate(give_parts, 2, 1000, 0) - GIVE - latency;
    settings.early_bytes = 1ll << 40;
    return ns;
}

/* With a limit of four messages the third is a sync point, and so is every third from there on. The second behind it
 * waits until it is gone: two latencies, for it asks, and its own bytes. */
static void early_bytes_are_limited(void **state)
{
    (void)state;
    const double k = 1000, all = leap(k);
    write_platform(NETWORK FREE "kernel give = 10 ns\n" QUICK_CORES);
    for (int rounds = 0; rounds < 40; rounds++) {
        parts = 2 + 3 * rounds;
        double ns = simulate_parts(4000);
        assert_ns(ns, rounds ? 2 * GIVE + rounds * (2 * latency + k * byte) + all : k * byte + all);
        assert_true((number("held_back") > 0) == (rounds > 0));
        assert_ns(simulate_parts(1ll << 40), (parts - 1) * k * byte + all);
        assert_true(number("held_back") == 0);
    }
    assert_ns(simulate_parts(2000),
              2 * latency + (parts - 1) * k * byte + all); /* each asks first, and is not counted */
    assert_true(number("held_back") == 0);
}

/* ---- random programs, with every setting: they come to their end, and have the same times again */

static uint64_t first_seed = 1, seeds = EFFORT(150, 40);

static void simulate_program(const gen_program *program, const oracle *truth, const tacit_config *config, uint64_t seed)
{
    tacit_context *ctx;
    model_result result = { 0 };
    assert_int_equal(tacit_init(config, &ctx), TACIT_OK);
    model_run(ctx, program, truth, NULL, &result);
    if (tacit_finalize(ctx) != TACIT_OK) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, tacit_last_error(NULL));
    }
    assert_true(model_end(&result));
    read_report();
}

static void random_program(uint64_t seed)
{
    static const char *const platforms[] = {
        NETWORK FREE,
        NETWORK FREE "start = 3 us\nitem = 10 ns\nworkers = 5\neager = 40 B\n",
        NETWORK FREE "task = 1 us\ncommand = 0.3 us\ncopy = 50 ns\nports = 3\nstripe = 64 B\nalgorithm = linear\n",
        NETWORK FREE "item = 1 us\nworkers = 2\nalgorithm = ring\nlatency = 0 ns\ninstruction = 7 us\n",
        NETWORK FREE
        "item = 100 ns\nworkers = 2\nprogress = shared\neager = 100 B\ninstruction = 1 us\nhandling = 90 ns\n",
        NETWORK FREE "item = 3 us\nprogress = inline\ntask = 1 us\nbisection = 1 GB/s\neager = 30 B\n"
                     "handling = 0.7 us\n"
    };
    static const int nodes[] = { 2, 3, 1, 5, 8, 13, 4, 31 };
    static char before[REPORT_BYTES];
    gen_rng r = { gen_mix(seed ^ 0x51a) };
    gen_options options = { .seed = seed, .nodes = nodes[seed % 8], .steps = 30, .public_rules = true };
    gen_program *program = gen_create(&options);
    oracle truth;
    tacit_config config;
    char dry[16];
    snprintf(dry, sizeof(dry), "%d", options.nodes);
    oracle_run(&truth, program);
    char balance[MODEL_BALANCE];
    model_config(&r, &config);
    model_balance(&r, options.nodes, balance, &config);
    config.dry_run = dry;
    config.simulate = platform;
    config.simulate_report = report;
    write_platform(platforms[seed / 8 % (sizeof(platforms) / sizeof(*platforms))]);
    simulate_program(program, &truth, &config, seed);
    memcpy(before, json, sizeof(json));
    simulate_program(program, &truth, &config, seed);
    if (strcmp(json, before) != 0) {
        fail_msg("seed %llu: not the same twice", (unsigned long long)seed);
    }
    oracle_fini(&truth);
    gen_destroy(program);
}

static void random_programs_come_to_their_end(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        random_program(seed);
    }
}

static void failing(const char *text, const char *said)
{
    tacit_context *ctx;
    const tacit_config config = { .dry_run = "4", .simulate = platform };
    write_platform(text);
    assert_int_equal(tacit_init(&config, &ctx), TACIT_ERROR_CONFIG);
    if (!strstr(tacit_last_error(NULL), said)) {
        fail_msg("'%s' is not in '%s'", said, tacit_last_error(NULL));
    }
}

static void files_that_are_wrong_are_named(void **state)
{
    (void)state;
    failing(FREE, "no line says latency, which the file of the network must (read were simulate_test_platform_");
    failing(NETWORK, "no line says workers, which the file of the machine must (read were simulate_test_platform_");
    failing(NETWORK, "); add 'workers = ...' with no unit");
    failing(NETWORK FREE "latency = -1 us\n", ":14: latency is '-1 us', but must be a number that is not negative");
    failing(NETWORK FREE "latencey = 1 us\n", "there is no key 'latencey'; did you mean latency?");
    failing(NETWORK FREE "gap = 1\n", "gap is '1', but must be");
    failing(NETWORK FREE "bandwidth = 0 GB/s\n", "bandwidth is '0 GB/s'");
    failing(NETWORK FREE "workers = 2.5\n", "workers is '2.5', but must be");
    failing(NETWORK FREE "workers = inf\n", "workers is 'inf', but must be");
    failing(NETWORK FREE "kernel = 5 ns\n", "there is no key 'kernel'");
    failing(NETWORK FREE "kernel a = 5 B\n", "the time per item of kernel a is '5 B'");
    failing(NETWORK FREE "algorithm = star\n", "algorithm is 'star', but must be auto, linear, binomial");
    failing(NETWORK FREE "progress = none\n", "progress is 'none', but must be thread, shared or inline");
    failing(NETWORK FREE "bisection = 0 GB/s\n", "bisection is '0 GB/s'");
    failing(NETWORK FREE "nonsense\n", "'nonsense' is not 'key = value'");
    const tacit_config live = { .simulate = platform }, many = { .dry_run = "5000", .simulate = platform },
                       missing = { .dry_run = "4", .simulate = "no/such/file" };
    tacit_context *ctx;
    write_platform(NETWORK FREE);
    assert_int_equal(tacit_init(&live, &ctx), TACIT_ERROR_CONFIG);
    assert_non_null(strstr(tacit_last_error(NULL), "TACIT_DRY_RUN is not"));
    assert_int_equal(tacit_init(&many, &ctx), TACIT_ERROR_CONFIG);
    assert_non_null(strstr(tacit_last_error(NULL), "at most 4096 nodes can be simulated, not 5000"));
    assert_int_equal(tacit_init(&missing, &ctx), TACIT_ERROR_CONFIG);
    assert_non_null(strstr(tacit_last_error(NULL), "cannot read 'no/such/file': No such file"));
}

static int setup(void **state)
{
    (void)state;
    int file = mkstemp(platform), other = mkstemp(report);
    return file < 0 || other < 0 || close(file) || close(other);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(platform) || unlink(report);
}

int main(int argc, char **argv)
{
    first_seed = argc > 1 ? strtoull(argv[1], NULL, 0) : first_seed;
    seeds = argc > 2 ? strtoull(argv[2], NULL, 0) : seeds;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_take_their_time),
        cmocka_unit_test(long_messages_ask_first),
        cmocka_unit_test(a_stencil_waits_for_its_neighbours),
        cmocka_unit_test(ports_work_side_by_side),
        cmocka_unit_test(the_middle_may_be_full),
        cmocka_unit_test(all_gathers_take_the_time_of_their_algorithm),
        cmocka_unit_test(a_ring_may_take_two_ports),
        cmocka_unit_test(a_binomial_broadcast_takes_its_time),
        cmocka_unit_test(a_flat_broadcast_is_a_message_to_each),
        cmocka_unit_test(a_chain_is_a_pipeline),
        cmocka_unit_test(a_binomial_broadcast_doubles_in_each_step),
        cmocka_unit_test(trees_are_logarithmic),
        cmocka_unit_test(kernels_cost_what_the_program_says),
        cmocka_unit_test(the_longest_stage_counts),
        cmocka_unit_test(programs_wait),
        cmocka_unit_test(choices_are_repeated),
        cmocka_unit_test(runs_are_the_same_every_time),
        cmocka_unit_test(messages_wait_for_threads_in_kernels),
        cmocka_unit_test(idle_workers_look_after_messages),
        cmocka_unit_test(inline_times_add_up),
        cmocka_unit_test(early_bytes_are_limited),
        cmocka_unit_test(random_programs_come_to_their_end),
        cmocka_unit_test(files_that_are_wrong_are_named),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
