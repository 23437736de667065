/* examples/torus.c: Conway's game of life on a torus, where the last row and the first are neighbours, and so are the
 * columns.
 *
 * A generation reads every cell with its eight neighbours (`tacit_periodic(1, 1, 0)`) from one buffer and writes the
 * next one to the other. Nothing else says that the world goes around: the first node and the last exchange rows as
 * all others do with theirs. The kernel names neighbours with TACIT_WRAP. What it reads is in parts (tacit_in_parts):
 * the nodes at the ends keep their rows and a strip of the other end, and not the world between.
 *
 * The same generation is there for GPUs (TACIT_DEVICES=opencl:0 or cuda:0), which see the world in one piece. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

struct torus_options {
    struct example_options common;
    size_t rows, columns, steps;
    int split;
};

/* ---------------------------------------------------------------- the rules, used by kernels and by --verify */

/* The kernel for OpenCL and CUDA devices. One work-item computes one cell. */
#define LIVE                                                                                                           \
    "TACIT_KERNEL live(TACIT_VIEW(now), TACIT_VIEW(next), TACIT_CHUNK(chunk), TACIT_VALUE(struct world, w))\n"         \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, chunk, 0)\n"                                                                                    \
    "        TACIT_FOR (j, chunk, 1) {\n"                                                                              \
    "            const uint8_t alive = TACIT_GET2(uint8_t, now, i, j);\n"                                              \
    "            unsigned sum = 0;\n"                                                                                  \
    "            for (int p = -1; p <= 1; p++)\n"                                                                      \
    "                for (int q = -1; q <= 1; q++)\n"                                                                  \
    "                    sum += TACIT_GET2(uint8_t, now, TACIT_WRAP(i + p, w.rows), TACIT_WRAP(j + q, w.columns));\n"  \
    "            TACIT_AT2(uint8_t, next, i, j) = next_state(alive, sum - alive);\n"                                   \
    "        }\n"                                                                                                      \
    "}\n"

TACIT_BOTH(
    torus_source, LIVE,
    /* The arguments of the kernels. */
    struct world { uint64_t rows, columns; };

    static uint8_t next_state(uint8_t alive, unsigned neighbours) {
        return neighbours == 3 || (alive && neighbours == 2);
    });

/* One cell in three is alive at first, by a hash of its place. */
static uint8_t first_state(size_t i, size_t j)
{
    uint64_t h = (i * 0x9e3779b97f4a7c15u ^ j) * 0xbf58476d1ce4e5b9u;
    return (h ^ h >> 31) % 3 == 0;
}

/* ---------------------------------------------------------------- kernels */

/* View: the chunk's cells of a buffer, to be written. */
static void start(const tacit_launch *k)
{
    const tacit_view cells = k->view[0];
    TACIT_FOR (i, k->chunk, 0)
        TACIT_FOR (j, k->chunk, 1)
            TACIT_AT2(uint8_t, cells, i, j) = first_state(i, j);
}

/* The living cells of three rows in the columns next to j and in j itself, which may lie around the end. */
static unsigned count_around(const tacit_view *now, const size_t near[3], size_t j, size_t columns)
{
    const size_t left = TACIT_WRAP(j - 1, columns), right = TACIT_WRAP(j + 1, columns);
    unsigned sum = 0;
    for (int n = 0; n < 3; n++)
        sum += TACIT_PART_GET2(uint8_t, *now, near[n], left) + TACIT_PART_GET2(uint8_t, *now, near[n], j) +
               TACIT_PART_GET2(uint8_t, *now, near[n], right);
    return sum;
}

/* Views: the cells of the chunk and their neighbours, in parts; the same cells a generation later. The chunk's columns
 * of a row lie in one part, so all cells but the first and the last of a row have their neighbours there. */
static void live(const tacit_launch *k)
{
    const struct world *w = k->args;
    const tacit_view now = k->view[0], next = k->view[1];
    const size_t rows = w->rows, first = k->chunk.min[1], last = k->chunk.max[1] - 1;
    TACIT_FOR (i, k->chunk, 0) {
        const size_t near[3] = { TACIT_WRAP(i - 1, rows), i, TACIT_WRAP(i + 1, rows) };
        tacit_view row[3];
        for (int n = 0; n < 3; n++)
            row[n] = *tacit_part_of(&now, near[n], first, 0);
        TACIT_FOR (j, k->chunk, 1) {
            unsigned sum = 0;
            for (int n = 0; n < 3 && j > first && j < last; n++)
                sum += TACIT_GET2(uint8_t, row[n], near[n], j - 1) + TACIT_GET2(uint8_t, row[n], near[n], j) +
                       TACIT_GET2(uint8_t, row[n], near[n], j + 1);
            if (j == first || j == last)
                sum = count_around(&now, near, j, w->columns);
            uint8_t alive = TACIT_GET2(uint8_t, row[1], i, j);
            TACIT_AT2(uint8_t, next, i, j) = next_state(alive, sum - alive);
        }
    }
}

/* ---------------------------------------------------------------- the program, as tasks */

struct outcome {
    uint8_t *cells;
    double seconds;
    struct example_traffic traffic;
};

static tacit_buffer *create_cells(tacit_context *ctx, const struct world *w, const char *name)
{
    const tacit_buffer_desc desc = { .name = name, .range = TACIT_RANGE(w->rows, w->columns), .elem_size = 1 };
    tacit_buffer *cells;
    CHECK(tacit_buffer_create(ctx, &desc, &cells));
    return cells;
}

static void simulate(tacit_context *ctx, const struct torus_options *o, const struct world *w, struct outcome *out)
{
    tacit_buffer *now = create_cells(ctx, w, "even"), *next = create_cells(ctx, w, "odd");
    const tacit_task start_it = {
        .name = "start",
        .range = TACIT_RANGE(w->rows, w->columns),
        .kernel = { .host = start },
        .access = { tacit_write(now, tacit_one_to_one()) },
        .hint.split = o->split,
    };
    CHECK(tacit_submit(ctx, &start_it));
    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    for (size_t t = 1; t <= o->steps; t++) {
        const tacit_task live_it = {
            .name = "live",
            .range = TACIT_RANGE(w->rows, w->columns),
            .kernel = { .host = live,
                        .opencl = { .source = torus_source, .entry = "live", .group = { 4, 16 } },
                        .cuda = { .source = torus_source, .entry = "live", .group = { 4, 32 } } },
            TACIT_ARGS(*w),
            .access = { tacit_in_parts(tacit_read(now, tacit_periodic(1, 1, 0))),
                        tacit_write(next, tacit_one_to_one()) },
            .hint.split = o->split,
        };
        CHECK(tacit_submit(ctx, &live_it));
        tacit_buffer *newest = next;
        next = now;
        now = newest;
        example_progress(ctx, &o->common, now, t, o->steps);
    }
    CHECK(tacit_wait(ctx));
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
    CHECK(tacit_fence_read(ctx, now, TACIT_BOX_ALL, out->cells));
}

/* ---------------------------------------------------------------- the same, sequentially */

static void sequential_step(const struct world *w, const uint8_t *now, uint8_t *next)
{
    const size_t m = w->rows, n = w->columns;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            unsigned sum = 0;
            for (size_t p = 0; p < 3; p++)
                for (size_t q = 0; q < 3; q++)
                    sum += now[(i + m + p - 1) % m * n + (j + n + q - 1) % n];
            next[i * n + j] = next_state(now[i * n + j], sum - now[i * n + j]);
        }
}

/* Whether a plain sequential program gets the same cells. */
static bool is_right(const struct torus_options *o, const struct world *w, const struct outcome *out)
{
    const size_t count = w->rows * w->columns;
    uint8_t *now = example_alloc(count, 1), *next = example_alloc(count, 1);
    for (size_t i = 0; i < count; i++)
        now[i] = first_state(i / w->columns, i % w->columns);
    for (size_t t = 0; t < o->steps; t++) {
        sequential_step(w, now, next);
        uint8_t *newest = next;
        next = now;
        now = newest;
    }
    bool good = memcmp(now, out->cells, count) == 0;
    free(now);
    free(next);
    return good;
}

/* ---------------------------------------------------------------- results, options and main */

static bool report(tacit_context *ctx, const struct torus_options *o, const struct world *w, const struct outcome *out)
{
    struct example_report r;
    const size_t count = w->rows * w->columns;
    double steps = (double)o->steps;
    uint64_t alive = 0;
    bool good = !o->common.verify || is_right(o, w, out);
    for (size_t i = 0; i < count; i++)
        alive += out->cells[i];

    example_report_begin(&r, ctx, &o->common, "torus: the game of life");
    example_report_count(&r, "rows", "rows", w->rows);
    example_report_count(&r, "columns", "columns", w->columns);
    example_report_count(&r, "steps", "generations", o->steps);
    example_report_text(&r, "split", "split", o->split == TACIT_SPLIT_2D ? "2d" : "1d");
    example_report_real(&r, "cells_per_second", "cells per second", (double)count * steps / out->seconds, "");
    example_report_traffic(&r, &out->traffic, steps, "generation");
    example_report_count(&r, "alive", "cells alive in the end", alive);
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

enum { KEY_ROWS = 1, KEY_COLUMNS, KEY_STEPS, KEY_SPLIT };

static const struct argp_option option_list[] = {
    { "rows", KEY_ROWS, "NUMBER", 0, "Rows of the world (512)", 1 },
    { "cols", KEY_COLUMNS, "NUMBER", 0, "Columns of the world (512)", 1 },
    { "steps", KEY_STEPS, "NUMBER", 0, "Number of generations (200)", 1 },
    { "split", KEY_SPLIT, "1d|2d", 0, "Split the world over the nodes by rows (default), or by rows and columns", 1 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct torus_options *o = state->input;
    switch (key) {
    case KEY_ROWS:
        return example_parse_size(state, "--rows", arg, 1, 1000000, &o->rows);
    case KEY_COLUMNS:
        return example_parse_size(state, "--cols", arg, 1, 1000000, &o->columns);
    case KEY_STEPS:
        return example_parse_size(state, "--steps", arg, 1, 1000000000, &o->steps);
    case KEY_SPLIT:
        return example_parse_split(state, "--split", arg, &o->split);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool run(tacit_context *ctx, const struct torus_options *o)
{
    const struct world w = { o->rows, o->columns };
    struct outcome out = { .cells = example_alloc(o->rows * o->columns, 1) };
    simulate(ctx, o, &w, &out);
    bool good = tacit_node(ctx) != 0 || report(ctx, o, &w, &out);
    free(out.cells);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp argp = { option_list, parse, NULL, "The game of life on a torus.", NULL, NULL, NULL };
    struct torus_options o = { .rows = 512, .columns = 512, .steps = 200 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help)
        good = run(ctx, &o);
    return example_end(ctx, error, good);
}
