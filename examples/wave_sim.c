/* examples/wave_sim.c: a drop falls into a basin. The wave equation in two dimensions, by the five-point star.
 *
 * Two buffers hold the height of the water at two moments. A step reads the newer one with the neighbours of every
 * cell (`tacit_star(1, 1, 0)`) and replaces the older one; then the two change roles. Writing one to one and reading
 * a star is all that tacit must know: on several nodes, the nodes exchange the rows (and, split in two dimensions,
 * columns) along their borders. No task may read its neighbours from the buffer that it writes.
 *
 * The same step is there for GPUs: TACIT_DEVICES=opencl:0 or cuda:0 runs it there, and copies what messages, frames and
 * the result need.
 *
 * Frames are written while the simulation goes on (tacit/io.h): each node chooses the colours of its part, one writes
 * the PNG file, and the next steps wait for it no longer than the data make them. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tacit/io.h>

#include "common.h"

struct wave_options {
    struct example_options common;
    size_t rows, columns, steps, frames;
    const char *output;
    int split;
};

/* ---------------------------------------------------------------- the numerics, used by kernels and by --verify */

/* The kernel for OpenCL and CUDA devices. One work-item computes one cell. */
#define ADVANCE                                                                                                        \
    "TACIT_KERNEL advance(TACIT_VIEW(now), TACIT_VIEW(last), TACIT_CHUNK(chunk), TACIT_VALUE(struct basin, b))\n"      \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, chunk, 0)\n"                                                                                    \
    "        TACIT_FOR (j, chunk, 1) {\n"                                                                              \
    "            const bool wall = i == 0 || j == 0 || i == b.rows - 1 || j == b.columns - 1;\n"                       \
    "            const double last_height = TACIT_GET2(double, last, i, j);\n"                                         \
    "            TACIT_AT2(double, last, i, j) = wall ? 0.0\n"                                                         \
    "                : next_height(b.c2, last_height, TACIT_GET2(double, now, i, j),\n"                                \
    "                              TACIT_GET2(double, now, i - 1, j), TACIT_GET2(double, now, i + 1, j),\n"            \
    "                              TACIT_GET2(double, now, i, j - 1), TACIT_GET2(double, now, i, j + 1));\n"           \
    "        }\n"                                                                                                      \
    "}\n"

TACIT_BOTH(
    wave_source, ADVANCE,
    /* The arguments of the kernels: the size of the basin, and (speed * dt / dx)^2. */
    struct basin {
        uint64_t rows, columns;
        double c2;
    };

    /* The next height of a cell from its last one, its own and those of its neighbours. */
    static double next_height(double c2, double last, double here, double up, double down, double left, double right) {
        return 2.0 * here - last + c2 * ((up + down) + (left + right) - 4.0 * here);
    });

/* The water at rest, with a bump off the middle. Walls keep the height 0. */
static double start_height(const struct basin *b, size_t i, size_t j)
{
    double size = (double)(b->rows < b->columns ? b->rows : b->columns);
    double y = ((double)i - 0.4 * (double)b->rows) / size, x = ((double)j - 0.35 * (double)b->columns) / size;
    if (i == 0 || j == 0 || i == b->rows - 1 || j == b->columns - 1)
        return 0.0;
    return exp(-400.0 * (x * x + y * y));
}

/* ---------------------------------------------------------------- kernels */

/* View: the chunk's cells of one buffer, to be written. */
static void start(const tacit_launch *k)
{
    const struct basin *b = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++)
            TACIT_AT2(double, k->view[0], i, j) = start_height(b, i, j);
}

/* Views: the newer heights of the chunk and its neighbours; the older heights of the chunk, which become the next
 * ones. Walls are cells of some chunk too, and get their 0 here. Inside a row, elements are neighbours in memory. */
static void advance(const tacit_launch *k)
{
    const struct basin *b = k->args;
    const tacit_view now = k->view[0], last = k->view[1];
    const size_t first = k->chunk.min[1], count = k->chunk.max[1] - first;
    const size_t left = first == 0, right = first + count == b->columns;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        double *restrict cell = &TACIT_AT2(double, last, i, first);
        if (i == 0 || i == b->rows - 1) {
            memset(cell, 0, count * sizeof *cell);
            continue;
        }
        const double *here = &TACIT_GET2(double, now, i, first);
        const double *up = &TACIT_GET2(double, now, i - 1, first), *down = &TACIT_GET2(double, now, i + 1, first);
        for (size_t j = left; j < count - right; j++)
            cell[j] = next_height(b->c2, cell[j], here[j], up[j], down[j], here[j - 1], here[j + 1]);
        cell[0] = left ? 0.0 : cell[0];
        cell[count - 1] = right ? 0.0 : cell[count - 1];
    }
}

/* ---------------------------------------------------------------- the program, as tasks */

struct outcome {
    double *height;
    double seconds;
    struct example_traffic traffic;
};

/* A picture, from blue over white to red. Nobody waits for it: later steps go on while it is written. */
static void submit_frame(tacit_context *ctx, const struct wave_options *o, tacit_buffer *height, size_t number)
{
    const tacit_file_options picture = {
        .type = TACIT_DOUBLE, .low = -0.25, .high = 0.25, .colours = TACIT_COLOURS_SIGNED, .hint.split = o->split
    };
    char path[1000];
    snprintf(path, sizeof path, "%s/frame_%04zu.png", o->output, number);
    CHECK(tacit_buffer_write(ctx, height, path, &picture));
}

/* Create one of the two buffers, filled by a task. */
static tacit_buffer *create_water(tacit_context *ctx, const struct wave_options *o, const struct basin *b,
                                  const char *name)
{
    const tacit_buffer_desc desc = {
        .name = name,
        .range = TACIT_RANGE(b->rows, b->columns),
        .elem_size = sizeof(double),
    };
    tacit_buffer *water;
    CHECK(tacit_buffer_create(ctx, &desc, &water));
    const tacit_task fill_it = {
        .name = "start",
        .range = desc.range,
        .kernel = { .host = start },
        TACIT_ARGS(*b),
        .access = { tacit_write(water, tacit_one_to_one()) },
        .hint.split = o->split,
    };
    CHECK(tacit_submit(ctx, &fill_it));
    return water;
}

static void simulate(tacit_context *ctx, const struct wave_options *o, const struct basin *b, struct outcome *out)
{
    tacit_buffer *now = create_water(ctx, o, b, "even"), *last = create_water(ctx, o, b, "odd");
    size_t frame = 0;
    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    for (size_t t = 1; t <= o->steps; t++) {
        const tacit_task advance_it = {
            .name = "advance",
            .range = TACIT_RANGE(b->rows, b->columns),
            .kernel = { .host = advance,
                        .opencl = { .source = wave_source, .entry = "advance", .group = { 4, 16 } },
                        .cuda = { .source = wave_source, .entry = "advance", .group = { 4, 32 } } },
            TACIT_ARGS(*b),
            .access = { tacit_read(now, tacit_star(1, 1, 0)), tacit_update(last, tacit_one_to_one()) },
            .hint = { .split = o->split, .pure = true },
        };
        CHECK(tacit_submit(ctx, &advance_it));
        tacit_buffer *newest = last;
        last = now;
        now = newest;
        if (t * o->frames / o->steps > frame)
            submit_frame(ctx, o, now, frame++);
        example_progress(ctx, &o->common, now, t, o->steps);
    }
    CHECK(tacit_wait(ctx));
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
    CHECK(tacit_fence_read(ctx, now, TACIT_BOX_ALL, out->height));
}

/* ---------------------------------------------------------------- the same, sequentially */

static void sequential_step(const struct basin *b, const double *now, double *last)
{
    const size_t w = b->columns;
    for (size_t i = 1; i + 1 < b->rows; i++)
        for (size_t j = 1; j + 1 < w; j++) {
            const double *here = now + i * w + j;
            double *cell = last + i * w + j;
            *cell = next_height(b->c2, *cell, here[0], here[-(ptrdiff_t)w], here[w], here[-1], here[1]);
        }
}

/* Whether a plain sequential program gets the same bits. */
static bool is_right(const struct wave_options *o, const struct basin *b, const struct outcome *out)
{
    const size_t cells = b->rows * b->columns;
    double *now = example_alloc(cells, sizeof *now), *last = example_alloc(cells, sizeof *last);
    for (size_t i = 0; i < cells; i++)
        now[i] = last[i] = start_height(b, i / b->columns, i % b->columns);
    for (size_t t = 0; t < o->steps; t++) {
        sequential_step(b, now, last);
        double *newest = last;
        last = now;
        now = newest;
    }
    bool good = memcmp(now, out->height, cells * sizeof *now) == 0;
    free(now);
    free(last);
    return good;
}

/* ---------------------------------------------------------------- results, options and main */

static bool report(tacit_context *ctx, const struct wave_options *o, const struct basin *b, const struct outcome *out)
{
    struct example_report r;
    char hash[17];
    double cells = (double)b->rows * (double)b->columns, steps = (double)o->steps;
    bool good = !o->common.verify || is_right(o, b, out);

    example_report_begin(&r, ctx, &o->common, "wave_sim: a drop in a basin");
    example_report_count(&r, "rows", "rows", b->rows);
    example_report_count(&r, "columns", "columns", b->columns);
    example_report_count(&r, "steps", "steps", o->steps);
    example_report_text(&r, "split", "split", o->split == TACIT_SPLIT_2D ? "2d" : "1d");
    example_report_count(&r, "frames", "frames written", o->frames);
    example_report_real(&r, "seconds_per_step", "time per step", out->seconds / steps, "s");
    example_report_real(&r, "cells_per_second", "cells per second", cells * steps / out->seconds, "");
    example_report_traffic(&r, &out->traffic, steps, "step");
    snprintf(hash, sizeof hash, "%016" PRIx64, example_hash(out->height, b->rows * b->columns * sizeof(double)));
    example_report_text(&r, "height_hash", "hash of the final heights", hash);
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

enum { KEY_ROWS = 1, KEY_COLUMNS, KEY_STEPS, KEY_FRAMES, KEY_OUTPUT, KEY_SPLIT };

static const struct argp_option option_list[] = {
    { "rows", KEY_ROWS, "NUMBER", 0, "Rows of the basin (512)", 1 },
    { "cols", KEY_COLUMNS, "NUMBER", 0, "Columns of the basin (512)", 1 },
    { "steps", KEY_STEPS, "NUMBER", 0, "Number of steps (500)", 1 },
    { "split", KEY_SPLIT, "1d|2d", 0, "Split the basin over the nodes by rows (default), or by rows and columns", 1 },
    { "frames", KEY_FRAMES, "NUMBER", 0, "Pictures to write, evenly spread over the steps (0; with --output 10)", 2 },
    { "output", KEY_OUTPUT, "DIRECTORY", 0, "Where to write them, created if need be (wave_sim_frames)", 2 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct wave_options *o = state->input;
    switch (key) {
    case KEY_ROWS:
        return example_parse_size(state, "--rows", arg, 3, 1000000, &o->rows);
    case KEY_COLUMNS:
        return example_parse_size(state, "--cols", arg, 3, 1000000, &o->columns);
    case KEY_STEPS:
        return example_parse_size(state, "--steps", arg, 1, 1000000000, &o->steps);
    case KEY_FRAMES:
        return example_parse_size(state, "--frames", arg, 0, 10000, &o->frames);
    case KEY_OUTPUT:
        o->output = arg;
        o->frames = o->frames ? o->frames : 10;
        return 0;
    case KEY_SPLIT:
        return example_parse_split(state, "--split", arg, &o->split);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The directory for the frames, made by the node that will write them. A node must not stop where others go on, so a
 * failure only counts at the end. */
static bool make_directory(const tacit_context *ctx, const struct wave_options *o)
{
    if (tacit_node(ctx) != 0 || o->frames == 0 || mkdir(o->output, 0777) == 0 || errno == EEXIST)
        return true;
    fprintf(stderr, "cannot create the directory %s: %s\n", o->output, strerror(errno));
    return false;
}

static bool run(tacit_context *ctx, const struct wave_options *o)
{
    const struct basin b = { o->rows, o->columns, 0.25 };
    struct outcome out = { .height = example_alloc(o->rows * o->columns, sizeof(double)) };
    simulate(ctx, o, &b, &out);
    bool good = tacit_node(ctx) != 0 || report(ctx, o, &b, &out);
    free(out.height);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp argp = { option_list, parse, NULL, "Waves in a basin: the wave equation on a grid.",
                               NULL,        NULL,  NULL };
    struct wave_options o = { .rows = 512, .columns = 512, .steps = 500, .output = "wave_sim_frames" };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help) {
        good = make_directory(ctx, &o);
        good = run(ctx, &o) && good;
    }
    return example_end(ctx, error, good);
}
