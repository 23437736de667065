/* examples/tiles.c: what cholesky, lu and summa share: see tiles.h. */
#include "tiles.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- options */

enum { KEY_SIZE = 0x800, KEY_TILE, KEY_GRID, KEY_REPEAT, KEY_CUBLAS };

static const struct argp_option option_list[] = {
    { "size", KEY_SIZE, "NUMBER", 0, "Rows and columns of a matrix (512)", 1 },
    { "tile", KEY_TILE, "NUMBER", 0, "Rows and columns of a tile (64)", 1 },
    { "grid", KEY_GRID, "P,Q", 0, "Deal the tiles out to P x Q nodes (as square as can be)", 1 },
    { "repeat", KEY_REPEAT, "NUMBER", 0, "Compute so often; the time is that of the fastest (1)", 1 },
    { "cublas", KEY_CUBLAS, NULL, 0, "On CUDA devices, compute by cuBLAS, and factorise by cuSOLVER (cholesky)", 1 },
    { 0 },
};

/* "P,Q" */
static error_t parse_grid(struct argp_state *state, const char *text, int grid[2])
{
    char *end = NULL;
    errno = 0;
    long rows = strtol(text, &end, 10), columns = 0;
    if (end != text && *end == ',') {
        text = end + 1;
        columns = strtol(text, &end, 10);
    }
    if (errno || *end || end == text || rows < 1 || columns < 1 || rows > 1000000 || columns > 1000000) {
        argp_error(state, "--grid wants rows and columns of nodes, such as 2,3");
        return EINVAL;
    }
    grid[0] = (int)rows;
    grid[1] = (int)columns;
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tiles_options *o = state->input;
    switch (key) {
    case KEY_SIZE:
        return example_parse_size(state, "--size", arg, 1, 1000000, &o->size);
    case KEY_TILE:
        return example_parse_size(state, "--tile", arg, 1, 16384, &o->tile);
    case KEY_GRID:
        return parse_grid(state, arg, o->grid);
    case KEY_REPEAT:
        return example_parse_size(state, "--repeat", arg, 1, 1000000, &o->repeat);
    case KEY_CUBLAS:
        o->cublas = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tiles_argp = { option_list, parse, NULL, NULL, NULL, NULL, NULL };

static size_t tiles_in(size_t size, size_t tile)
{
    return (size + tile - 1) / tile;
}

/* Two factors of the number of nodes that are as equal as possible, the larger one for columns. */
static void choose_grid(int nodes, int grid[2])
{
    for (int rows = 1; rows <= nodes / rows; rows++) {
        if (nodes % rows == 0) {
            grid[0] = rows;
            grid[1] = nodes / rows;
        }
    }
}

bool tiles_check(tacit_context *ctx, struct tiles_options *o, enum tiles_part part)
{
    const int nodes = tacit_num_nodes(ctx);
    const size_t count = tiles_in(o->size, o->tile),
                 all = part == TILES_LOWER ? count * (count + 1) / 2 : count * count;
    FILE *out = tacit_node(ctx) == 0 ? stderr : NULL;
    if (o->tile > o->size) {
        if (out)
            fprintf(out, "a tile of %zu x %zu is larger than the matrix of %zu x %zu: choose a smaller --tile\n",
                    o->tile, o->tile, o->size, o->size);
        return false;
    }
    if ((size_t)nodes > all) {
        if (out)
            fprintf(out,
                    "%d nodes are more than the %zu tiles of the matrix: choose a smaller --tile, or fewer nodes\n",
                    nodes, all);
        return false;
    }
    if (o->grid[0] == 0)
        choose_grid(nodes, o->grid);
    if ((long long)o->grid[0] * o->grid[1] != nodes) {
        if (out)
            fprintf(out, "--grid %d,%d is for %lld nodes, but this run has %d\n", o->grid[0], o->grid[1],
                    (long long)o->grid[0] * o->grid[1], nodes);
        return false;
    }
    if ((size_t)o->grid[0] > count || (size_t)o->grid[1] > count) {
        if (out)
            fprintf(out,
                    "a grid of %d x %d nodes is larger than the matrix of %zu x %zu tiles: choose a smaller --tile, "
                    "or another --grid\n",
                    o->grid[0], o->grid[1], count, count);
        return false;
    }
    if (o->cublas && !tiles_load_cublas())
        fprintf(stderr, "node %d finds no libcublas.so, and has kernels of its own instead of it\n", tacit_node(ctx));
    return true;
}

/* ---------------------------------------------------------------- matrices */

struct tiled tiles_create(tacit_context *ctx, const struct tiles_options *o, const char *name)
{
    struct tiled a = { .size = o->size, .tile = o->tile, .count = tiles_in(o->size, o->tile) };
    const tacit_buffer_desc desc = {
        .name = name,
        .range = TACIT_RANGE(o->size, o->size),
        .elem_size = sizeof(double),
        .distribution = { .kind = TACIT_DISTRIBUTE_CYCLIC,
                          .grid = { o->grid[0], o->grid[1] },
                          .block = { o->tile, o->tile } },
    };
    CHECK(tacit_buffer_create(ctx, &desc, &a.buffer));
    CHECK(tacit_host_object_create(ctx, &a.terminal));
    return a;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static tacit_mapper tile_at(const struct tiled *a, size_t i, size_t j)
{
    return tacit_fixed(
        tacit_box2(i * a->tile, smaller((i + 1) * a->tile, a->size), j * a->tile, smaller((j + 1) * a->tile, a->size)));
}

tacit_access tiles_read(const struct tiled *a, size_t i, size_t j)
{
    return tacit_read(a->buffer, tile_at(a, i, j));
}

tacit_access tiles_write(const struct tiled *a, size_t i, size_t j)
{
    return tacit_write(a->buffer, tile_at(a, i, j));
}

tacit_access tiles_update(const struct tiled *a, size_t i, size_t j)
{
    return tacit_update(a->buffer, tile_at(a, i, j));
}

struct tile tile_of(const tacit_launch *k, int access)
{
    const tacit_view v = k->view[access];
    return (struct tile){
        .at = v.data,
        .rows = (int)(v.box.max[0] - v.box.min[0]),
        .columns = (int)(v.box.max[1] - v.box.min[1]),
        .ld = (int)v.ld,
    };
}

/* How many tiles row i has in this part. */
static size_t tiles_of_row(const struct tiled *a, enum tiles_part part, size_t i)
{
    return part == TILES_LOWER ? i + 1 : a->count;
}

struct fill_args {
    tiles_element *element;
    const void *user;
    bool lower;
};

/* View: a tile, to be written. */
static void fill(const tacit_launch *k)
{
    const struct fill_args *args = k->args;
    const tacit_view v = k->view[0];
    TACIT_FOR (i, v.box, 0)
        TACIT_FOR (j, v.box, 1)
            TACIT_AT2(double, v, i, j) = args->lower && j > i ? 0 : args->element(args->user, i, j);
}

void tiles_fill(tacit_context *ctx, const struct tiled *a, enum tiles_part part, tiles_element *element,
                const void *user)
{
    const struct fill_args args = { element, user, part == TILES_LOWER };
    for (size_t i = 0; i < a->count; i++) {
        for (size_t j = 0; j < tiles_of_row(a, part, i); j++) {
            const tacit_task fill_it = {
                .name = "fill",
                .kernel = { .host = fill },
                TACIT_ARGS(args),
                .place = tacit_place_owner(0),
                .access = { tiles_write(a, i, j) },
            };
            CHECK(tacit_submit(ctx, &fill_it));
        }
    }
}

struct gather_args {
    double *full;
    size_t size;
};

/* View: a tile. A host task may write what its own process knows; this one runs on node 0 only. */
static void gather(const tacit_launch *k)
{
    const struct gather_args *args = k->args;
    const tacit_view v = k->view[0];
    TACIT_FOR (i, v.box, 0)
        memcpy(args->full + i * args->size + v.box.min[1], &TACIT_GET2(double, v, i, v.box.min[1]),
               (v.box.max[1] - v.box.min[1]) * sizeof(double));
}

double *tiles_gather(tacit_context *ctx, const struct tiles_options *o, const struct tiled *a, enum tiles_part part)
{
    if (!o->common.verify)
        return NULL;
    double *full = tacit_node(ctx) == 0 ? example_alloc(a->size * a->size, sizeof *full) : NULL;
    const struct gather_args args = { full, a->size };
    for (size_t i = 0; i < a->count; i++) {
        for (size_t j = 0; j < tiles_of_row(a, part, i); j++) {
            const tacit_task gather_it = {
                .name = "gather",
                .on = TACIT_ON_ONE_NODE,
                .kernel = { .host = gather },
                TACIT_ARGS(args),
                .access = { tiles_read(a, i, j) },
            };
            CHECK(tacit_submit(ctx, &gather_it));
        }
    }
    CHECK(tacit_wait(ctx));
    return full;
}

/* ---------------------------------------------------------------- running */

/* What remains after work on tile (i, j) in step k is a path of about 3 count - k - i - j tasks. */
int tiles_priority(const struct tiled *a, size_t k, size_t i, size_t j)
{
    return 1000 - (int)((k + i + j) * 1000 / (3 * a->count));
}

struct progress {
    size_t step, steps;
    bool forced;
};

/* A host task may talk to the operating system. It runs on any node, so each node's own terminal counts. */
static void show_progress(const tacit_launch *k)
{
    const struct progress *p = k->args;
    if (p->forced || isatty(STDERR_FILENO))
        fprintf(stderr, "\r  step %zu of %zu%s", p->step, p->steps, p->step == p->steps ? "\n" : "");
}

/* Every node must submit the same tasks, so the decision to print is made in the kernel and not here. */
void tiles_progress(tacit_context *ctx, const struct tiles_options *o, const struct tiled *a, size_t k, size_t i,
                    size_t j)
{
    const struct progress p = { k + 1, a->count, o->common.progress };
    if (a->count > 100 && p.step % (a->count / 100) && p.step != p.steps)
        return;
    const tacit_task show_it = {
        .name = "progress",
        .on = TACIT_ON_ONE_NODE,
        .kernel = { .host = show_progress },
        TACIT_ARGS(p),
        .place = tacit_place_owner(0),
        .access = { tiles_read(a, i, j) },
        .host_object = { a->terminal }, /* lines of one node come in the order of steps */
    };
    CHECK(tacit_submit(ctx, &show_it));
}

/* Adding up what travelled makes every node wait for all others: that is how a repetition begins and ends. */
struct tiles_outcome tiles_measure(tacit_context *ctx, const struct tiles_options *o, const struct tiles_work *work)
{
    struct tiles_outcome best = { .seconds = INFINITY };
    for (size_t t = 0; t < o->repeat; t++) {
        work->prepare(ctx, work->user);
        example_traffic_since(ctx, example_traffic_here(ctx));
        struct example_traffic at_start = example_traffic_here(ctx);
        double begin = example_seconds();
        work->submit(ctx, work->user);
        best.traffic = example_traffic_since(ctx, at_start);
        best.seconds = fmin(best.seconds, example_seconds() - begin);
    }
    return best;
}

void tiles_report(struct example_report *r, const struct tiles_options *o, const struct tiles_outcome *out,
                  uint64_t tasks, double operations)
{
    char grid[32];
    snprintf(grid, sizeof grid, "%d x %d", o->grid[0], o->grid[1]);
    example_report_count(r, "size", "rows and columns", o->size);
    example_report_count(r, "tile", "rows and columns of a tile", o->tile);
    example_report_text(r, "grid", "nodes as a grid", grid);
    example_report_count(r, "tasks", "tasks", tasks);
    example_report_real(r, "seconds", "time", out->seconds, "s");
    example_report_real(r, "gflops", "speed", operations / out->seconds * 1e-9, "GFLOP/s");
    example_report_traffic(r, &out->traffic, 0, NULL);
    example_report_count(r, "broadcasts", "broadcasts", out->traffic.broadcasts);
    example_report_count(r, "recipients", "their recipients", out->traffic.recipients);
    example_report_count(r, "shared", "tiles for several nodes", out->traffic.shared);
    if (out->traffic.shared)
        example_report_real(r, "share_complete", "of which all messages left at once",
                            1 - (double)out->traffic.late / (double)out->traffic.shared, "");
}

void tiles_report_verified(struct example_report *r, const struct tiles_options *o, bool good)
{
    if (o->common.verify)
        example_report_text(r, "verified", "verified", good ? "yes" : "NO");
}

/* Options of tiles are all that the program has. */
static error_t parse_nothing(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

int tiles_main(int argc, char **argv, const char *what, bool (*run)(tacit_context *ctx, const struct tiles_options *o))
{
    const struct argp_child shared[] = { { &tiles_argp, 0, NULL, 0 }, { NULL, 0, NULL, 0 } };
    const struct argp argp = { NULL, parse_nothing, NULL, what, shared, NULL, NULL };
    struct tiles_options o = { .size = 512, .tile = 64, .repeat = 1 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help)
        good = tiles_check(ctx, &o, TILES_ALL) && run(ctx, &o);
    return example_end(ctx, error, good);
}

/* OpenBLAS and BLIS have calls of their own for that. Which BLAS a program gets is decided when it starts, so these may
 * or may not be there. Others look at OMP_NUM_THREADS. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern void bli_thread_set_num_threads(long threads) __attribute__((weak));

void tiles_one_blas_thread(void)
{
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
    if (bli_thread_set_num_threads)
        bli_thread_set_num_threads(1);
}

/* ---------------------------------------------------------------- dense matrices of one process */

double dense_norm(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t e = 0; e < n * n; e++)
        sum += (a[e] - (b ? b[e] : 0)) * (a[e] - (b ? b[e] : 0));
    return sqrt(sum);
}

double known_solution(size_t i)
{
    return (1 + (double)(i % 101) / 101) * (i % 2 ? -1 : 1);
}

double *dense_matrix(size_t n, enum tiles_part part, tiles_element *element, const void *user)
{
    double *a = example_alloc(n * n, sizeof *a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = part == TILES_LOWER && j > i ? element(user, j, i) : element(user, i, j);
    return a;
}

void dense_right_hand_side(size_t n, const double *a, double *b)
{
    for (size_t i = 0; i < n; i++) {
        b[i] = 0;
        for (size_t j = 0; j < n; j++)
            b[i] += a[i * n + j] * known_solution(j);
    }
}

double dense_residual(size_t n, const double *a, const double *x)
{
    double *b = example_alloc(n, sizeof *b), rest = 0, length = 0;
    dense_right_hand_side(n, a, b);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            b[i] -= a[i * n + j] * x[j];
        rest += b[i] * b[i];
        length += x[i] * x[i];
    }
    free(b);
    return sqrt(rest) / (dense_norm(n, a, NULL) * sqrt(length));
}

double tiles_random(uint64_t seed, size_t i, size_t j)
{
    uint64_t x = (seed << 60) + ((uint64_t)i << 30) + (uint64_t)j + 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-52 - 1.0;
}
