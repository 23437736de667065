/* examples/jacobi.c: Poisson's equation -u_xx - u_yy = f on the unit square, by Jacobi's iteration.
 *
 * The program does not know how many steps it will take: every so often a task reduces the residual of all nodes to
 * one number, a fence brings the number into the program, and the program decides whether to go on. All nodes get the
 * same number and so decide alike. The largest residual is exact in any order of combination; therefore the number of
 * iterations and all values are the same on any number of nodes (a sum would depend on the order, in its last bits).
 *
 * The right-hand side is chosen such that the solution is known: u = sin(pi x) sin(pi y) + x y. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

struct jacobi_options {
    struct example_options common;
    size_t rows, columns, max_iterations, check_every;
    double tolerance;
    bool exactly; /* max_iterations, whatever the residual */
    int split;
};

/* ---------------------------------------------------------------- the numerics, used by kernels and by --verify */

/* The kernel for OpenCL and CUDA devices. One work-item computes one point. */
#define SWEEP                                                                                                          \
    "TACIT_KERNEL sweep(TACIT_VIEW(old), TACIT_VIEW(f), TACIT_VIEW(next), TACIT_CHUNK(chunk),\n"                       \
    "                   TACIT_VALUE(struct grid, g))\n"                                                                \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, chunk, 0)\n"                                                                                    \
    "        TACIT_FOR (j, chunk, 1)\n"                                                                                \
    "            TACIT_AT2(double, next, i, j) = is_wall(&g, i, j) ? TACIT_GET2(double, old, i, j)\n"                  \
    "                : relaxed(&g, TACIT_GET2(double, f, i, j), TACIT_GET2(double, old, i - 1, j),\n"                  \
    "                          TACIT_GET2(double, old, i + 1, j), TACIT_GET2(double, old, i, j - 1),\n"                \
    "                          TACIT_GET2(double, old, i, j + 1));\n"                                                  \
    "}\n"

TACIT_BOTH(
    jacobi_source, SWEEP,
    /* The arguments of the kernels: points of the grid, walls included, and 1 / distance^2 in both directions. */
    struct grid {
        uint64_t rows, columns;
        double x2, y2;
    };

    static bool is_wall(const struct grid *g, size_t i, size_t j) {
        return i == 0 || j == 0 || i == g->rows - 1 || j == g->columns - 1;
    }

    /* The value that satisfies the equation at one point if its neighbours keep theirs. */
    static double relaxed(const struct grid *g, double f, double up, double down, double left, double right) {
        return (f + g->x2 * (left + right) + g->y2 * (up + down)) / (2.0 * g->x2 + 2.0 * g->y2);
    });

static double waves(const struct grid *g, size_t i, size_t j)
{
    return sin(M_PI * (double)j / (double)(g->columns - 1)) * sin(M_PI * (double)i / (double)(g->rows - 1));
}

static double solution(const struct grid *g, size_t i, size_t j)
{
    return waves(g, i, j) + (double)i / (double)(g->rows - 1) * ((double)j / (double)(g->columns - 1));
}

static double right_hand_side(const struct grid *g, size_t i, size_t j)
{
    return 2.0 * M_PI * M_PI * waves(g, i, j);
}

/* Zero inside; on the walls the solution, which no iteration changes. */
static double start_value(const struct grid *g, size_t i, size_t j)
{
    return is_wall(g, i, j) ? solution(g, i, j) : 0.0;
}

/* How far a point is from satisfying the equation. */
static double residual_at(const struct grid *g, double f, double here, double up, double down, double left,
                          double right)
{
    return fabs(f + g->x2 * (left - 2.0 * here + right) + g->y2 * (up - 2.0 * here + down));
}

/* ---------------------------------------------------------------- kernels */

/* View: the chunk's values, to be written. */
static void start(const tacit_launch *k)
{
    const struct grid *g = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++)
            TACIT_AT2(double, k->view[0], i, j) = start_value(g, i, j);
}

/* View: the chunk's values of the right-hand side, to be written. */
static void load(const tacit_launch *k)
{
    const struct grid *g = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++)
            TACIT_AT2(double, k->view[0], i, j) = right_hand_side(g, i, j);
}

/* Views: old values with neighbours; right-hand side; new values. A write covers every element of the chunk, so the
 * walls are copied; inside, no row asks where walls are, and the loop vectorises. */
static void sweep(const tacit_launch *k)
{
    const struct grid g = *(const struct grid *)k->args;
    const tacit_view old = k->view[0], f = k->view[1], new = k->view[2];
    const size_t first = k->chunk.min[1], end = k->chunk.max[1];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        const bool wall = i == 0 || i == g.rows - 1;
        const size_t left = wall ? end : first + (first == 0), right = wall ? end : end - (end == g.columns);
        for (size_t j = first; j < left; j++)
            TACIT_AT2(double, new, i, j) = TACIT_GET2(double, old, i, j);
        for (size_t j = left; j < right; j++)
            TACIT_AT2(double, new, i, j) = relaxed(&g, TACIT_GET2(double, f, i, j), TACIT_GET2(double, old, i - 1, j),
                                                   TACIT_GET2(double, old, i + 1, j), TACIT_GET2(double, old, i, j - 1),
                                                   TACIT_GET2(double, old, i, j + 1));
        for (size_t j = right; j < end; j++)
            TACIT_AT2(double, new, i, j) = TACIT_GET2(double, old, i, j);
    }
}

/* Views: values with neighbours; right-hand side; the largest residual, private to this call until tacit combines. */
static void residual(const tacit_launch *k)
{
    const struct grid *g = k->args;
    const tacit_view u = k->view[0], f = k->view[1];
    double largest = TACIT_AT0(double, k->view[2]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++)
            if (!is_wall(g, i, j))
                largest = fmax(largest, residual_at(g, TACIT_GET2(double, f, i, j), TACIT_GET2(double, u, i, j),
                                                    TACIT_GET2(double, u, i - 1, j), TACIT_GET2(double, u, i + 1, j),
                                                    TACIT_GET2(double, u, i, j - 1), TACIT_GET2(double, u, i, j + 1)));
    TACIT_AT0(double, k->view[2]) = largest;
}

/* ---------------------------------------------------------------- the program, as tasks */

struct outcome {
    double *value;
    double goal, residual, seconds;
    struct example_traffic traffic;
    size_t iterations;
};

/* Old and new values, the right-hand side, and the largest residual. */
struct buffers {
    tacit_buffer *old, *new, *F, *R;
};

/* Create a buffer of the size of the grid, filled by a task. */
static tacit_buffer *create_filled(tacit_context *ctx, const struct jacobi_options *o, const struct grid *g,
                                   const char *name, tacit_host_kernel *fill)
{
    const tacit_buffer_desc desc = {
        .name = name,
        .range = TACIT_RANGE(g->rows, g->columns),
        .elem_size = sizeof(double),
    };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    const tacit_task fill_it = {
        .name = "fill",
        .range = desc.range,
        .kernel = { .host = fill },
        TACIT_ARGS(*g),
        .access = { tacit_write(buffer, tacit_one_to_one()) },
        .hint.split = o->split,
    };
    CHECK(tacit_submit(ctx, &fill_it));
    return buffer;
}

/* One iteration: `new` becomes what `old` relaxes to. */
static void submit_sweep(tacit_context *ctx, const struct jacobi_options *o, const struct grid *g,
                         const struct buffers *b)
{
    const tacit_task sweep_it = {
        .name = "sweep",
        .range = TACIT_RANGE(g->rows, g->columns),
        .kernel = { .host = sweep,
                    .opencl = { .source = jacobi_source, .entry = "sweep", .group = { 4, 16 } },
                    .cuda = { .source = jacobi_source, .entry = "sweep", .group = { 4, 32 } } },
        TACIT_ARGS(*g),
        .access = { tacit_read(b->old, tacit_star(1, 1, 0)), tacit_read(b->F, tacit_one_to_one()),
                    tacit_write(b->new, tacit_one_to_one()) },
        .hint.split = o->split,
    };
    CHECK(tacit_submit(ctx, &sweep_it));
}

/* Reduce the residual of `old` to one number, and wait for it. */
static double largest_residual(tacit_context *ctx, const struct jacobi_options *o, const struct grid *g,
                               const struct buffers *b)
{
    const tacit_task reduce_it = {
        .name = "residual",
        .range = TACIT_RANGE(g->rows, g->columns),
        .kernel = { .host = residual },
        TACIT_ARGS(*g),
        .access = { tacit_read(b->old, tacit_star(1, 1, 0)), tacit_read(b->F, tacit_one_to_one()),
                    tacit_reduce(b->R, tacit_max(TACIT_DOUBLE)) },
        .hint.split = o->split,
    };
    double largest;
    CHECK(tacit_submit(ctx, &reduce_it));
    CHECK(tacit_fence_read(ctx, b->R, TACIT_BOX_ALL, &largest));
    return largest;
}

static bool goes_on(const struct jacobi_options *o, size_t iterations, double residual, double goal)
{
    return (o->exactly || residual > goal) && iterations < o->max_iterations;
}

static void solve(tacit_context *ctx, const struct jacobi_options *o, const struct grid *g, struct outcome *out)
{
    struct buffers b = {
        .old = create_filled(ctx, o, g, "U", start),
        .new = create_filled(ctx, o, g, "W", start),
        .F = create_filled(ctx, o, g, "F", load),
    };
    const tacit_buffer_desc one_number = { .name = "R", .elem_size = sizeof(double) };
    CHECK(tacit_buffer_create(ctx, &one_number, &b.R));

    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    do {
        for (size_t t = 0; t < o->check_every && out->iterations < o->max_iterations; t++, out->iterations++) {
            submit_sweep(ctx, o, g, &b);
            tacit_buffer *newest = b.new;
            b.new = b.old;
            b.old = newest;
        }
        out->residual = largest_residual(ctx, o, g, &b);
        if (example_shows_progress(ctx, &o->common))
            fprintf(stderr, "\r  iteration %zu, residual %-12g", out->iterations, out->residual);
    } while (goes_on(o, out->iterations, out->residual, out->goal));
    if (example_shows_progress(ctx, &o->common))
        fputc('\n', stderr);
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
    CHECK(tacit_fence_read(ctx, b.old, TACIT_BOX_ALL, out->value));
}

/* ---------------------------------------------------------------- the same, sequentially */

static void sequential_sweep(const struct grid *g, const double *f, const double *old, double *new)
{
    const size_t w = g->columns;
    for (size_t i = 1; i + 1 < g->rows; i++)
        for (size_t j = 1; j + 1 < w; j++) {
            const double *u = old + i * w + j;
            new[i * w + j] = relaxed(g, f[i * w + j], u[-(ptrdiff_t)w], u[w], u[-1], u[1]);
        }
}

static double sequential_residual(const struct grid *g, const double *f, const double *value)
{
    const size_t w = g->columns;
    double largest = 0;
    for (size_t i = 1; i + 1 < g->rows; i++)
        for (size_t j = 1; j + 1 < w; j++) {
            const double *u = value + i * w + j;
            largest = fmax(largest, residual_at(g, f[i * w + j], u[0], u[-(ptrdiff_t)w], u[w], u[-1], u[1]));
        }
    return largest;
}

/* Whether a plain sequential program stops at the same iteration, with the same bits. */
static bool is_right(const struct jacobi_options *o, const struct grid *g, const struct outcome *out)
{
    const size_t points = g->rows * g->columns;
    double *old = example_alloc(points, sizeof *old), *new = example_alloc(points, sizeof *new);
    double *f = example_alloc(points, sizeof *f), left;
    size_t iterations = 0;
    for (size_t i = 0; i < points; i++) {
        old[i] = new[i] = start_value(g, i / g->columns, i % g->columns);
        f[i] = right_hand_side(g, i / g->columns, i % g->columns);
    }
    do {
        for (size_t t = 0; t < o->check_every && iterations < o->max_iterations; t++, iterations++) {
            sequential_sweep(g, f, old, new);
            double *newest = new;
            new = old;
            old = newest;
        }
        left = sequential_residual(g, f, old);
    } while (goes_on(o, iterations, left, out->goal));
    bool good = iterations == out->iterations && left == out->residual &&
                memcmp(old, out->value, points * sizeof *old) == 0;
    free(old);
    free(new);
    free(f);
    return good;
}

/* ---------------------------------------------------------------- results, options and main */

static double largest_error(const struct grid *g, const double *value)
{
    double error = 0;
    for (size_t i = 0; i < g->rows; i++)
        for (size_t j = 0; j < g->columns; j++)
            error = fmax(error, fabs(value[i * g->columns + j] - solution(g, i, j)));
    return error;
}

static bool report(tacit_context *ctx, const struct jacobi_options *o, const struct grid *g, const struct outcome *out)
{
    struct example_report r;
    char hash[17];
    double iterations = (double)(out->iterations ? out->iterations : 1);
    bool good = !o->common.verify || is_right(o, g, out);

    example_report_begin(&r, ctx, &o->common, "jacobi: Poisson's equation on the unit square");
    example_report_count(&r, "rows", "rows", g->rows);
    example_report_count(&r, "columns", "columns", g->columns);
    example_report_text(&r, "split", "split", o->split == TACIT_SPLIT_2D ? "2d" : "1d");
    example_report_count(&r, "iterations", "iterations", out->iterations);
    example_report_text(&r, "converged", "converged", out->residual <= out->goal ? "yes" : "no");
    example_report_real(&r, "residual", "largest residual", out->residual, "");
    example_report_real(&r, "error", "largest error", largest_error(g, out->value), "");
    example_report_real(&r, "seconds_per_iteration", "time per iteration", out->seconds / iterations, "s");
    example_report_traffic(&r, &out->traffic, iterations, "iteration");
    snprintf(hash, sizeof hash, "%016" PRIx64, example_hash(out->value, g->rows * g->columns * sizeof(double)));
    example_report_text(&r, "values_hash", "hash of the values", hash);
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

enum { KEY_ROWS = 1, KEY_COLUMNS, KEY_TOLERANCE, KEY_MAX_ITERATIONS, KEY_STEPS, KEY_CHECK_EVERY, KEY_SPLIT };

static const struct argp_option option_list[] = {
    { "rows", KEY_ROWS, "NUMBER", 0, "Rows of points, walls included (65)", 1 },
    { "cols", KEY_COLUMNS, "NUMBER", 0, "Columns of points, walls included (65)", 1 },
    { "tolerance", KEY_TOLERANCE, "NUMBER", 0, "Stop when the largest residual is this part of the largest f (1e-4)",
      1 },
    { "max-iterations", KEY_MAX_ITERATIONS, "NUMBER", 0, "Stop here at the latest (100000)", 1 },
    { "steps", KEY_STEPS, "NUMBER", 0, "Stop here and not before, whatever the residual", 1 },
    { "check-every", KEY_CHECK_EVERY, "NUMBER", 0, "Iterations between looks at the residual (100)", 1 },
    { "split", KEY_SPLIT, "1d|2d", 0, "Split the grid over the nodes by rows (default), or by rows and columns", 1 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct jacobi_options *o = state->input;
    switch (key) {
    case KEY_ROWS:
        return example_parse_size(state, "--rows", arg, 3, 1000000, &o->rows);
    case KEY_COLUMNS:
        return example_parse_size(state, "--cols", arg, 3, 1000000, &o->columns);
    case KEY_TOLERANCE:
        return example_parse_real(state, "--tolerance", arg, 0, 1e3, &o->tolerance);
    case KEY_MAX_ITERATIONS:
        return example_parse_size(state, "--max-iterations", arg, 1, 1000000000, &o->max_iterations);
    case KEY_STEPS:
        o->exactly = true;
        return example_parse_size(state, "--steps", arg, 1, 1000000000, &o->max_iterations);
    case KEY_CHECK_EVERY:
        return example_parse_size(state, "--check-every", arg, 1, 1000000000, &o->check_every);
    case KEY_SPLIT:
        return example_parse_split(state, "--split", arg, &o->split);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool run(tacit_context *ctx, const struct jacobi_options *o)
{
    const double width = (double)(o->columns - 1), height = (double)(o->rows - 1);
    const struct grid g = { o->rows, o->columns, width * width, height * height };
    struct outcome out = { .goal = o->tolerance * 2.0 * M_PI * M_PI,
                           .value = example_alloc(o->rows * o->columns, sizeof(double)) };
    solve(ctx, o, &g, &out);
    bool good = tacit_node(ctx) != 0 || report(ctx, o, &g, &out);
    free(out.value);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        option_list, parse, NULL, "Poisson's equation on the unit square, by Jacobi's iteration.", NULL, NULL, NULL
    };
    struct jacobi_options o = {
        .rows = 65, .columns = 65, .max_iterations = 100000, .check_every = 100, .tolerance = 1e-4
    };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help)
        good = run(ctx, &o);
    return example_end(ctx, error, good);
}
