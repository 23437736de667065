/* Whether windows of pure tasks (TACIT_LATENCY) pay: explicit schemes on grids of one, two and three dimensions, over a
 * network that is late on purpose.
 *
 * Ways: tacit without windows, each step waiting for its messages (off) or with its borders only (overlap), with
 * windows of b tasks (halo, staged), with what it chooses itself (auto), and by hand with MPI and a halo of width b
 * (hand). They take turns, each run of tacit in a context of its own; all get the same bits, which are compared.
 * Messages of tacit are late by TACIT_COMM_DELAY, those by hand carry the time when they were sent and are looked at
 * that much later. (With --delay 0 the network is what it is: see --links of the tool.)
 *
 * Beside each time stands what the model of the paper predicts (Eijkhout: Task Graph Transformations for Latency
 * Tolerance, 2022): T(b) = a M / b + c M + (items + M b border) g, with the latency a and the time c of a step's border
 * on the wire, both measured between two nodes, and the time g of an item, measured on all nodes at once; the best
 * window is sqrt(a / (border g)). What is hidden is in it for `overlap` only, whose steps take a + c or what the inner
 * items take, whichever is longer, and the borders. */
#include "tacit/tacit.h"

#include "check.h"
#include "grids.h"
#include "links.h"
#include "pairs.h"
#include "peers/windows.h"

#include <jansson.h>
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 8, MOST_WAYS = 3 + 3 * MOST_VALUES, MOST_ROUNDS = 51, PINGS = 50 };

typedef struct values {
    int value[MOST_VALUES], count;
} values;

typedef struct way {
    enum { OFF, OVERLAP, HALO, STAGED, AUTO, HAND, STRATEGIES } strategy;
    int b;
} way;

static const char *const strategies[STRATEGIES] = { "off", "overlap", "halo", "staged", "auto", "hand" };

static const struct mode {
    const char *name;
    tacit_config config;
} modes[] = {
    { "default", { .workers = 0 } },
    { "inline", { .threads = TACIT_THREADS_INLINE } },
    { "shared", { .workers = 1, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED } },
    { "thread", { .workers = 1, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_THREAD } },
};
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

typedef struct options {
    bool json, program[GRID_KINDS], strategy[STRATEGIES];
    values b, delay; /* us */
    int rounds, steps, mode;
    double size;
} options;

typedef struct result {
    way way;
    double seconds[MOST_ROUNDS], predicted;
    uint64_t messages; /* of all nodes, in the last run */
} result;

/* Of the model; seconds. */
typedef struct costs {
    double latency, byte, item;
} costs;

static int node, nodes;

static void check(tacit_context *ctx, tacit_status status, const char *call)
{
    bench_check("latency", ctx, status, call);
}

/* ---- the program, as tasks */

static cells cells_of(tacit_view v)
{
    cells c = { .stride = { v.dims > 1 ? v.stride[0] / sizeof(double) : 1,
                            v.dims > 2 ? v.stride[1] / sizeof(double) : 1 } };
    size_t before = v.box.min[0] * c.stride[0];
    before += v.dims > 1 ? v.box.min[1] * c.stride[1] : 0;
    c.origin = (double *)((uintptr_t)v.data - (before + (v.dims > 2 ? v.box.min[2] : 0)) * sizeof(double)); // NOLINT
    return c;
}

static void start_kernel(const tacit_launch *k)
{
    grid_start(k->args, k->chunk.min[0], k->chunk.max[0], cells_of(k->view[0]));
}

static void step_kernel(const tacit_launch *k)
{
    grid_step(k->args, k->chunk.min[0], k->chunk.max[0], cells_of(k->view[0]), cells_of(k->view[1]));
}

static tacit_range range_of(const grid *g)
{
    return grid_dims(g) == 1   ? TACIT_RANGE(g->n[0])
           : grid_dims(g) == 2 ? TACIT_RANGE(g->n[0], g->n[1])
                               : TACIT_RANGE(g->n[0], g->n[1], g->n[2]);
}

static tacit_buffer *create_field(tacit_context *ctx, const grid *g, const char *name)
{
    const tacit_buffer_desc desc = { .name = name, .range = range_of(g), .elem_size = sizeof(double) };
    tacit_buffer *field;
    check(ctx, tacit_buffer_create(ctx, &desc, &field), "tacit_buffer_create");
    const tacit_task start = { .name = "start",
                               .range = desc.range,
                               .kernel = { .host = start_kernel },
                               TACIT_ARGS(*g),
                               .access = { tacit_write(field, tacit_one_to_one()) } };
    check(ctx, tacit_submit(ctx, &start), "tacit_submit");
    return field;
}

static void submit_steps(tacit_context *ctx, const grid *g, int steps, tacit_buffer *field[2])
{
    const size_t e[3] = { 1, g->kind > 0, g->kind > 1 };
    for (int s = 0; s < steps; s++) {
        tacit_task step = { .name = "step",
                            .range = range_of(g),
                            .kernel = { .host = step_kernel },
                            TACIT_ARGS(*g),
                            .access = { tacit_read(field[0], tacit_star(e[0], e[1], e[2])),
                                        tacit_write(field[1], tacit_one_to_one()) },
                            .hint = { .pure = true } };
        if (grid_updates(g))
            step.access[1] = tacit_update(field[1], tacit_one_to_one());
        check(ctx, tacit_submit(ctx, &step), "tacit_submit");
        tacit_buffer *newest = field[1];
        field[1] = field[0];
        field[0] = newest;
    }
}

static uint64_t messages_of(tacit_context *ctx)
{
    tacit_counters c;
    check(ctx, tacit_get_counters(ctx, &c), "tacit_get_counters");
    return c.messages_sent;
}

static double run_tacit(const options *o, const grid *g, int delay, int warm_up, result *r, double *field_out)
{
    tacit_config config = modes[o->mode].config;
    char latency[40];
    tacit_context *ctx;
    if (r->way.strategy == HALO || r->way.strategy == STAGED)
        snprintf(latency, sizeof latency, "%s:%d", strategies[r->way.strategy], r->way.b);
    else
        snprintf(latency, sizeof latency, "%s", r->way.strategy == AUTO ? "auto" : "off");
    config.latency = latency;
    config.overlap = r->way.strategy == OFF       ? TACIT_OVERLAP_OFF
                     : r->way.strategy == OVERLAP ? TACIT_OVERLAP_ON
                                                  : TACIT_OVERLAP_DEFAULT;
    config.comm_delay = delay;
    check(NULL, tacit_init(&config, &ctx), "tacit_init");
    tacit_buffer *field[2] = { create_field(ctx, g, "even"), create_field(ctx, g, "odd") };
    submit_steps(ctx, g, warm_up, field);
    check(ctx, tacit_wait(ctx), "tacit_wait");
    uint64_t before = messages_of(ctx), sent;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = pairs_now();
    submit_steps(ctx, g, o->steps, field);
    check(ctx, tacit_wait(ctx), "tacit_wait");
    double seconds = pairs_now() - start;
    sent = messages_of(ctx) - before;
    check(ctx, tacit_fence_read(ctx, field[0], TACIT_BOX_ALL, field_out), "tacit_fence_read");
    check(ctx, tacit_finalize(ctx), "tacit_finalize");
    MPI_Allreduce(&sent, &r->messages, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return seconds;
}

/* ---- the model */

static double ping(void *memory, int bytes)
{
    double least = INFINITY;
    for (int i = 0; i < PINGS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = pairs_now();
        if (node == 0) {
            MPI_Send(memory, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(memory, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (node == 1) {
            MPI_Recv(memory, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(memory, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
        least = fmin(least, 0.5 * (pairs_now() - start));
    }
    MPI_Bcast(&least, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return least;
}

/* Of the rows of one node, on all nodes at once, as in a run. */
static double time_of_item(const grid *g)
{
    const size_t rows = g->n[0] / (size_t)nodes, row = grid_row(g);
    double *memory = malloc(2 * rows * row * sizeof *memory), least = INFINITY;
    const cells at[2] = { { memory, { row, g->n[2] } }, { memory + rows * row, { row, g->n[2] } } };
    grid part = *g;
    part.n[0] = rows;
    grid_start(&part, 0, rows, at[0]);
    grid_start(&part, 0, rows, at[1]);
    for (int i = 0; i < 8; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = pairs_now();
        grid_step(&part, 0, rows, at[i % 2], at[1 - i % 2]);
        double seconds = pairs_now() - start;
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        least = fmin(least, seconds);
    }
    free(memory);
    return least / (double)(rows * row);
}

static costs measure_costs(const grid *g, int delay)
{
    enum { LARGE = 1 << 18 };
    void *memory = calloc(1, LARGE);
    costs c = { .latency = ping(memory, 8) };
    c.byte = fmax(ping(memory, LARGE) - c.latency, 0) / LARGE;
    c.latency += 1e-6 * delay;
    c.item = time_of_item(g);
    free(memory);
    return c;
}

static double predict(const options *o, const grid *g, const costs *c, way w)
{
    const int b = w.b;
    const double steps = o->steps, border = (double)grid_row(g), fields = grid_updates(g) ? 2 : 1;
    const double items = (double)grid_elements(g) / nodes, inner = fmax(items - 2 * border, 0);
    const double message = c->latency + c->byte * sizeof(double) * border;
    if (w.strategy == OVERLAP)
        return steps * (fmax(message, inner * c->item) + (items - inner) * c->item);
    return c->latency * steps / b + c->byte * sizeof(double) * border * steps * (b > 1 ? fields : 1) +
           steps * (items + (b > 1 ? b * border : 0)) * c->item;
}

/* ---- measuring */

static int list_ways(const options *o, way out[MOST_WAYS])
{
    int count = 0;
    out[count++] = (way){ OFF, 1 };
    if (o->strategy[OVERLAP])
        out[count++] = (way){ OVERLAP, 1 };
    for (int strategy = HALO; strategy <= STAGED; strategy++)
        for (int i = 0; i < o->b.count && o->strategy[strategy]; i++)
            if (o->b.value[i] > 1)
                out[count++] = (way){ strategy, o->b.value[i] };
    if (o->strategy[AUTO])
        out[count++] = (way){ AUTO, 0 };
    for (int i = 0; i < o->b.count && o->strategy[HAND]; i++)
        out[count++] = (way){ HAND, o->b.value[i] };
    return count;
}

/* The same number of steps before the clock starts in all ways, enough for auto to choose. */
static int warm_up_of(const options *o)
{
    return 2 * o->b.value[o->b.count - 1] > 32 ? 2 * o->b.value[o->b.count - 1] : 32;
}

static void measure(const options *o, const grid *g, int delay, result *r, int ways)
{
    size_t bytes = grid_elements(g) * sizeof(double);
    double *expected = calloc(1, bytes), *field = calloc(1, bytes);
    for (int round = 0; round < o->rounds; round++) {
        for (int w = 0; w < ways; w++) {
            double *to = round == 0 && w == 0 ? expected : field, seconds;
            int warm_up = warm_up_of(o);
            if (r[w].way.strategy == HAND)
                seconds = windows_run(g, o->steps, warm_up, r[w].way.b, 1e-6 * delay, to);
            else
                seconds = run_tacit(o, g, delay, warm_up, &r[w], to);
            MPI_Allreduce(&seconds, &r[w].seconds[round], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            if (node == 0 && memcmp(field, expected, bytes) != 0 && to == field) {
                fprintf(stderr, "latency: %s with %s:%d got other bits than without windows\n", grid_names[g->kind],
                        strategies[r[w].way.strategy], r[w].way.b);
                MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
            }
        }
    }
    free(expected);
    free(field);
}

/* ---- output */

/* How often as fast as another way: the median of what each round says. */
static double gain(const result *r, const result *other, int rounds)
{
    double ratio[MOST_ROUNDS];
    for (int i = 0; i < rounds; i++)
        ratio[i] = other->seconds[i] / r->seconds[i];
    return pairs_median(ratio, rounds);
}

/* By hand with as wide a halo; NULL: that was not measured, or is what `r` is. */
static const result *by_hand(const result *r, const result *all, int ways)
{
    const result *hand = NULL;
    for (int w = 0; w < ways && r->way.strategy != HAND; w++)
        if (all[w].way.strategy == HAND && all[w].way.b == r->way.b)
            hand = &all[w];
    return hand;
}

static void print_text(const options *o, const result *r, const result *off, const result *hand)
{
    char name[60];
    snprintf(name, sizeof name, r->way.b > 0 && r->way.strategy > OVERLAP ? "%s:%d" : "%s", strategies[r->way.strategy],
             r->way.b);
    printf("  %-9s median %9.3f ms  least %9.3f ms  %5.2f times off", name, 1e3 * pairs_median(r->seconds, o->rounds),
           1e3 * pairs_least(r->seconds, o->rounds), gain(r, off, o->rounds));
    if (hand)
        printf("  %4.2f of hand", gain(r, hand, o->rounds));
    if (r->predicted > 0)
        printf("  model %9.3f ms (%5.2f)", 1e3 * r->predicted, off->predicted / r->predicted);
    if (r->way.strategy != HAND)
        printf("  %llu messages", (unsigned long long)r->messages);
    printf("\n");
    fflush(stdout);
}

static json_t *to_json(const options *o, const grid *g, int delay, const result *r, const result *off)
{
    return json_pack("{s:s, s:i, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:I}", "program", grid_names[g->kind], "delay_us",
                     delay, "strategy", strategies[r->way.strategy], "b", r->way.b, "rounds", o->rounds, "median_ms",
                     1e3 * pairs_median(r->seconds, o->rounds), "least_ms", 1e3 * pairs_least(r->seconds, o->rounds),
                     "gain", gain(r, off, o->rounds), "predicted_ms", 1e3 * r->predicted, "messages",
                     (json_int_t)r->messages);
}

static grid grid_of(const options *o, int kind)
{
    static const double sides[GRID_KINDS][3] = { { 65536, 1, 1 }, { 512, 256, 1 }, { 128, 32, 32 } };
    grid g = { kind, { 1, 1, 1 } };
    for (int d = 0; d < 3; d++)
        g.n[d] = d == 0 ? (size_t)(sides[kind][d] * o->size) : (size_t)sides[kind][d];
    return g;
}

static void one_case(const options *o, int kind, int delay, json_t *list)
{
    static result r[MOST_WAYS];
    way all[MOST_WAYS];
    const grid g = grid_of(o, kind);
    const int ways = list_ways(o, all);
    const costs c = measure_costs(&g, delay);
    memset(r, 0, sizeof r);
    for (int w = 0; w < ways; w++) {
        r[w].way = all[w];
        r[w].predicted = all[w].b > 0 ? predict(o, &g, &c, all[w]) : 0;
    }
    measure(o, &g, delay, r, ways);
    double best = sqrt(c.latency / ((double)grid_row(&g) * c.item));
    if (node == 0 && !o->json)
        printf("%s, delay %d us: latency %.1f us, %.2f ns an item, best window by the model %.1f\n", grid_names[kind],
               delay, 1e6 * c.latency, 1e9 * c.item, best);
    for (int w = 0; w < ways && node == 0; w++) {
        if (!o->json)
            print_text(o, &r[w], &r[0], by_hand(&r[w], r, ways));
        json_t *entry = to_json(o, &g, delay, &r[w], &r[0]);
        if (by_hand(&r[w], r, ways))
            json_object_set_new(entry, "of_hand", json_real(gain(&r[w], by_hand(&r[w], r, ways), o->rounds)));
        json_object_set_new(entry, "model_best_b", json_real(best));
        json_object_set_new(entry, "latency_us", json_real(1e6 * c.latency));
        json_object_set_new(entry, "item_ns", json_real(1e9 * c.item));
        json_array_append_new(list, entry);
    }
}

static int run(const options *o)
{
    json_t *list = json_array();
    for (int k = 0; k < GRID_KINDS; k++)
        for (int d = 0; d < o->delay.count && o->program[k]; d++)
            one_case(o, k, o->delay.value[d], list);
    if (node == 0 && o->json)
        return pairs_print_json(json_pack("{s:s, s:i, s:s, s:i}", "benchmark", "latency", "nodes", nodes, "progress",
                                          modes[o->mode].name, "steps", o->steps),
                                list);
    json_decref(list);
    return EXIT_SUCCESS;
}

/* ---- the command line */

static void usage(FILE *out)
{
    fputs(
        "usage: tacit run -n N tacit bench latency [--program LIST] [--strategy LIST] [--b LIST] [--delay LIST]\n"
        "                 [--steps M] [--rounds R] [--size FACTOR] [--progress MODE] [--json]\n"
        "Whether windows of pure tasks pay on a network with a large latency.\n"
        "  --program LIST   of heat1d, wave2d, star3d (default: all)\n"
        "  --strategy LIST  of off, overlap (borders alone wait for messages), halo, staged, auto, hand (MPI by\n"
        "                   hand); off, where all waits, is always measured (default: all)\n"
        "  --b LIST         tasks of a window, up to 32 (default 2,4,8)\n"
        "  --delay LIST     microseconds by which messages are late (default 0,200,1000)\n"
        "  --steps M        steps that are timed (64)\n"
        "  --rounds R       how often each way has its turn (5)\n"
        "  --size FACTOR    of the first extent of the grids, 65536, 512x256 and 128x32x32 (1)\n"
        "  --progress MODE  how nodes run: default, inline, shared or thread (default: default)\n"
        "  --json           JSON on standard output\n"
        "On its own, `tacit bench latency --links US[:MBIT] [--nodes N] [--seconds S] ...` measures ranks in network\n"
        "namespaces whose links are so late and carry so many Mbit/s each way; it needs root and Open MPI, and ends\n"
        "after S seconds (120). All else is as above; --delay is 0 if it is not given.\n",
        out);
}

/* Names separated by commas, as true in `wanted`. */
static bool parse_names(const char *list, const char *const *names, int count, bool *wanted)
{
    memset(wanted, 0, (size_t)count * sizeof *wanted);
    for (const char *from = list;; from++) {
        size_t length = strcspn(from, ",");
        int i = 0;
        while (i < count && (strlen(names[i]) != length || strncmp(names[i], from, length) != 0))
            i++;
        if (i == count)
            return false;
        wanted[i] = true;
        from += length;
        if (!*from)
            return true;
    }
}

/* Increasing numbers. */
static bool parse_values(const char *list, int least, int most, values *out)
{
    out->count = 0;
    for (const char *from = list;; from++) {
        char *end;
        long value = strtol(from, &end, 10);
        if (end == from || value < least || value > most || out->count == MOST_VALUES)
            return false;
        out->value[out->count++] = (int)value;
        least = (int)value + 1;
        from = end;
        if (!*from)
            return true;
        if (*from != ',')
            return false;
    }
}

static bool parse_one(const char *text, int least, int most, int *out)
{
    values v;
    bool good = parse_values(text, least, most, &v) && v.count == 1;
    *out = v.value[0];
    return good;
}

static bool parse_value(const char *name, const char *value, void *to)
{
    options *o = to;
    if (strcmp(name, "--program") == 0)
        return parse_names(value, grid_names, GRID_KINDS, o->program);
    if (strcmp(name, "--strategy") == 0)
        return parse_names(value, strategies, STRATEGIES, o->strategy);
    if (strcmp(name, "--b") == 0)
        return parse_values(value, 1, 32, &o->b);
    if (strcmp(name, "--delay") == 0)
        return parse_values(value, 0, 100000, &o->delay);
    if (strcmp(name, "--steps") == 0)
        return parse_one(value, 1, 100000, &o->steps);
    if (strcmp(name, "--rounds") == 0)
        return parse_one(value, 1, MOST_ROUNDS, &o->rounds);
    if (strcmp(name, "--size") == 0) {
        o->size = atof(value);
        return o->size >= 0.01 && o->size <= 1000;
    }
    for (o->mode = 0; o->mode < MODES && strcmp(value, modes[o->mode].name) != 0;)
        o->mode++;
    return strcmp(name, "--progress") == 0 && o->mode < MODES;
}

/* With --links: what it and its companions say; they are taken out of the arguments. False: one means nothing. */
static bool take_links(int *argc, char **argv, links *l)
{
    static const char *const names[] = { "--links", "--nodes", "--seconds" };
    int kept = 1;
    *l = (links){ .nodes = 2, .limit = 120 };
    for (int i = 1; i < *argc; i++) {
        int which = 0, number = 0;
        while (which < 3 && strcmp(argv[i], names[which]) != 0)
            which++;
        if (which == 3) {
            argv[kept++] = argv[i];
            continue;
        }
        if (++i == *argc || (which > 0 && !parse_one(argv[i], 1, which == 1 ? LINKS_MOST_NODES : 600, &number)))
            return false;
        if (which == 0) {
            char *end;
            l->delay = 1e-6 * strtod(argv[i], &end);
            l->rate = *end == ':' ? 125000 * strtod(end + 1, &end) : 0;
            if (*end || !(l->delay > 0 && l->delay < 1) || l->rate < 0)
                return false;
        }
        l->nodes = which == 1 ? number : l->nodes;
        l->limit = which == 2 ? number : l->limit;
    }
    *argc = kept;
    argv[kept] = NULL;
    return l->delay > 0 && l->nodes >= 2;
}

/* This program again, on slow links. */
static int run_on_links(int argc, char **argv)
{
#ifdef OPEN_MPI
    links l;
    static char *const at_once[] = { "--delay", "0" };
    bool delays = false, good = take_links(&argc, argv, &l);
    char **all = calloc((size_t)argc + 3, sizeof *all);
    all[0] = realpath("/proc/self/exe", NULL);
    for (int i = 1; i < argc; i++) {
        all[i] = argv[i];
        delays |= strcmp(argv[i], "--delay") == 0;
    }
    for (int i = 0; i < 2 && !delays; i++)
        all[argc + i] = at_once[i];
    if (!good)
        usage(stderr);
    int status = good ? links_run(&l, all) : EXIT_FAILURE;
    free(all[0]);
    free(all);
    return status;
#else
    (void)argc, (void)argv, (void)take_links;
    fprintf(stderr, "latency: slow links are made for Open MPI's launcher only; use --delay\n");
    return EXIT_FAILURE;
#endif
}

static bool wants_links(int argc, char **argv)
{
    bool wants = false;
    for (int i = 1; i < argc; i++)
        wants |= strcmp(argv[i], "--links") == 0;
    return wants;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, options *o)
{
    *o = (options){ .rounds = 5, .steps = 64, .size = 1, .b = { { 2, 4, 8 }, 3 }, .delay = { { 0, 200, 1000 }, 3 } };
    memset(o->program, true, sizeof o->program);
    memset(o->strategy, true, sizeof o->strategy);
    return pairs_parse(argc, argv, usage, parse_value, o, &o->json);
}

/* A sentence, if the options cannot be measured here. */
static const char *refuse(const options *o, int level)
{
    if (level != MPI_THREAD_MULTIPLE)
        return "this MPI does not let several threads call it";
    if (nodes < 2)
        return "needs more nodes: tacit run -n 2 tacit bench latency";
    for (int k = 0; k < GRID_KINDS; k++) {
        const grid g = grid_of(o, k);
        if (o->program[k] && g.n[0] / (size_t)nodes < 2 * (size_t)o->b.value[o->b.count - 1])
            return "a node would have fewer rows than two windows; choose a smaller --b or a larger --size";
    }
    return NULL;
}

int main(int argc, char **argv)
{
    options o;
    if (argc > 1 && strcmp(argv[1], "--agent") == 0)
        return links_agent(argc, argv);
    if (wants_links(argc, argv))
        return run_on_links(argc, argv);
    int status = parse(argc, argv, &o), level;
    if (status >= 0)
        return status;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &node);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    const char *why = refuse(&o, level);
    if (why && node == 0)
        fprintf(stderr, "latency: %s\n", why);
    status = why ? EXIT_FAILURE : run(&o);
    MPI_Finalize();
    return status;
}
