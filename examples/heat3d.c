/* examples/heat3d.c: heat in a cube of metal: a long run that writes what it has now and then, and goes on from there.
 *
 * Two buffers take turns, as in wave_sim. What is new are files (tacit/io.h):
 *
 *   --save FILE      every --save-every steps, and at the end, the temperatures are written to an HDF5 file, with the
 *                    number of the step beside them as an attribute. Writing is a task like any other: it follows the
 *                    step that it shows, each node writes its own part, and later steps do not wait for it. The old
 *                    file is there until the new one is complete, so a run that is killed has one to go on from.
 *   --restart FILE   begins with the temperatures and at the step of such a file, on any number of nodes: a node reads
 *                    the part that it will compute. Without the file it begins at the beginning, so the same command
 *                    line starts a run, and continues it.
 *   --series NAME    writes NAME_000010.h5 and so on, and NAME.xdmf, which ParaView opens as a film.
 *
 * A step has kernels for OpenCL and CUDA devices as well; what is written comes from there.
 *
 * The arithmetic of a cell is the same wherever it is done: a run in two parts has the same bits as one in one part. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <tacit/io.h>

#include "common.h"

struct heat_options {
    struct example_options common;
    size_t size, save_every, stop_at;
    const char *save, *restart, *series;
};

/* ---------------------------------------------------------------- the physics, used by kernels and by --verify */

/* The kernel for OpenCL and CUDA devices. One work-item computes one cell. */
#define WARM                                                                                                           \
    "TACIT_KERNEL warm(TACIT_VIEW(t), TACIT_VIEW(next), TACIT_CHUNK(chunk), TACIT_VALUE(struct cube, c))\n"            \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, chunk, 0)\n"                                                                                    \
    "        TACIT_FOR (j, chunk, 1)\n"                                                                                \
    "            TACIT_FOR (k, chunk, 2) {\n"                                                                          \
    "                const ulong n = c.size;\n"                                                                        \
    "                const double here = TACIT_GET3(double, t, i, j, k);\n"                                            \
    "                double value = here;\n"                                                                           \
    "                if (i > 0 && j > 0 && k > 0 && i + 1 < n && j + 1 < n && k + 1 < n)\n"                            \
    "                    value = next_heat(here, TACIT_GET3(double, t, i - 1, j, k) +\n"                               \
    "                                            TACIT_GET3(double, t, i + 1, j, k) +\n"                               \
    "                                            TACIT_GET3(double, t, i, j - 1, k) +\n"                               \
    "                                            TACIT_GET3(double, t, i, j + 1, k) +\n"                               \
    "                                            TACIT_GET3(double, t, i, j, k - 1) +\n"                               \
    "                                            TACIT_GET3(double, t, i, j, k + 1));\n"                               \
    "                TACIT_AT3(double, next, i, j, k) = value;\n"                                                      \
    "            }\n"                                                                                                  \
    "}\n"

TACIT_BOTH(
    heat_source, WARM,
    /* The arguments of the kernels: cells of a side. */
    struct cube { uint64_t size; };

    static double next_heat(double here, double sum_of_six) { return here + 0.125 * (sum_of_six - 6.0 * here); });

/* A hot ball off the centre; the walls are cold and stay so. */
static double start_heat(size_t n, size_t i, size_t j, size_t k)
{
    const double x = (double)i / (double)n - 0.4, y = (double)j / (double)n - 0.5, z = (double)k / (double)n - 0.6;
    const bool wall = i == 0 || j == 0 || k == 0 || i + 1 == n || j + 1 == n || k + 1 == n;
    return !wall && x * x + y * y + z * z < 0.04 ? 100.0 : 0.0;
}

/* ---------------------------------------------------------------- kernels */

/* View: the temperatures, to be written. */
static void start(const tacit_launch *l)
{
    const struct cube *c = l->args;
    const tacit_view t = l->view[0];
    TACIT_FOR (i, l->chunk, 0)
        TACIT_FOR (j, l->chunk, 1)
            TACIT_FOR (k, l->chunk, 2)
                TACIT_AT3(double, t, i, j, k) = start_heat(c->size, i, j, k);
}

/* Views: the temperatures, with neighbours; the next ones, to be written. */
static void step(const tacit_launch *l)
{
    const uint64_t n = ((const struct cube *)l->args)->size;
    const tacit_view t = l->view[0], next = l->view[1];
    TACIT_FOR (i, l->chunk, 0)
        TACIT_FOR (j, l->chunk, 1)
            TACIT_FOR (k, l->chunk, 2) {
                const double here = TACIT_GET3(double, t, i, j, k);
                if (i == 0 || j == 0 || k == 0 || i + 1 == n || j + 1 == n || k + 1 == n) {
                    TACIT_AT3(double, next, i, j, k) = here;
                    continue;
                }
                const double sum = TACIT_GET3(double, t, i - 1, j, k) + TACIT_GET3(double, t, i + 1, j, k) +
                                   TACIT_GET3(double, t, i, j - 1, k) + TACIT_GET3(double, t, i, j + 1, k) +
                                   TACIT_GET3(double, t, i, j, k - 1) + TACIT_GET3(double, t, i, j, k + 1);
                TACIT_AT3(double, next, i, j, k) = next_heat(here, sum);
            }
}

/* ---------------------------------------------------------------- the program, as tasks */

struct outcome {
    double *heat;
    size_t first_step;
    double seconds;
    struct example_traffic traffic;
};

static tacit_buffer *create(tacit_context *ctx, const char *name, size_t n)
{
    const tacit_buffer_desc desc = { .name = name, .range = TACIT_RANGE(n, n, n), .elem_size = sizeof(double) };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

/* The file to go on from, if it is there and fits; all nodes decide alike. Returns its step. */
static size_t load(tacit_context *ctx, const struct heat_options *o, tacit_buffer *heat)
{
    const tacit_file_options file = { .type = TACIT_DOUBLE };
    tacit_file_facts facts;
    uint64_t at = 0;
    CHECK(tacit_file_look(ctx, o->restart, &file, &facts));
    if (!facts.found)
        return 0;
    CHECK(tacit_file_get_attribute(ctx, o->restart, &file, "step", TACIT_UINT64, &at, NULL));
    CHECK(tacit_buffer_read(ctx, heat, o->restart, &file));
    return (size_t)at;
}

static void submit_start(tacit_context *ctx, const struct cube *c, tacit_buffer *heat)
{
    const tacit_task start_it = {
        .name = "start",
        .range = TACIT_RANGE(c->size, c->size, c->size),
        .kernel = { .host = start },
        TACIT_ARGS(*c),
        .access = { tacit_write(heat, tacit_one_to_one()) },
    };
    CHECK(tacit_submit(ctx, &start_it));
}

/* What is to be written after this step. None of it is waited for. */
static void submit_files(tacit_context *ctx, const struct heat_options *o, tacit_buffer *heat, size_t at)
{
    const uint64_t number = at;
    const tacit_file_attribute list[] = { { "step", TACIT_UINT64, &number } };
    tacit_file_options file = { .type = TACIT_DOUBLE, .attributes = list, .num_attributes = 1 };
    if (at % o->save_every != 0 && at != o->stop_at)
        return;
    if (o->save)
        CHECK(tacit_buffer_write(ctx, heat, o->save, &file));
    if (o->series) {
        char name[1000], xdmf[1000];
        snprintf(name, sizeof name, "%s_%06zu.h5", o->series, at);
        snprintf(xdmf, sizeof xdmf, "%s.xdmf", o->series);
        file.xdmf = xdmf;
        file.time = (double)at;
        CHECK(tacit_buffer_write(ctx, heat, name, &file));
    }
}

static void simulate(tacit_context *ctx, const struct heat_options *o, struct outcome *out)
{
    const struct cube c = { o->size };
    tacit_buffer *heat = create(ctx, "even", o->size), *next = create(ctx, "odd", o->size);
    out->first_step = o->restart ? load(ctx, o, heat) : 0;
    if (out->first_step == 0)
        submit_start(ctx, &c, heat);
    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    for (size_t t = out->first_step + 1; t <= o->stop_at; t++) {
        const tacit_task step_it = {
            .name = "step",
            .range = TACIT_RANGE(o->size, o->size, o->size),
            .kernel = { .host = step,
                        .opencl = { .source = heat_source, .entry = "warm", .group = { 2, 4, 8 } },
                        .cuda = { .source = heat_source, .entry = "warm", .group = { 2, 4, 32 } } },
            TACIT_ARGS(c),
            .access = { tacit_read(heat, tacit_star(1, 1, 1)), tacit_write(next, tacit_one_to_one()) },
            .hint.pure = true,
        };
        CHECK(tacit_submit(ctx, &step_it));
        tacit_buffer *newest = next;
        next = heat;
        heat = newest;
        submit_files(ctx, o, heat, t);
        example_progress(ctx, &o->common, heat, t, o->stop_at);
    }
    CHECK(tacit_wait(ctx));
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
    CHECK(tacit_fence_read(ctx, heat, TACIT_BOX_ALL, out->heat));
}

/* ---------------------------------------------------------------- the same, sequentially */

/* Whether a plain sequential program, from the beginning to the last step, gets the same bits. */
static bool is_right(const struct heat_options *o, const struct outcome *out)
{
    const size_t n = o->size, plane = n * n, cells = n * plane;
    double *heat = example_alloc(cells, sizeof *heat), *next = example_alloc(cells, sizeof *next);
    for (size_t c = 0; c < cells; c++)
        heat[c] = next[c] = start_heat(n, c / plane, c / n % n, c % n);
    for (size_t t = 0; t < o->stop_at; t++) {
        for (size_t i = 1; i + 1 < n; i++)
            for (size_t j = 1; j + 1 < n; j++)
                for (size_t k = 1; k + 1 < n; k++) {
                    const double *h = heat + i * plane + j * n + k;
                    next[h - heat] =
                        next_heat(*h, h[-(ptrdiff_t)plane] + h[plane] + h[-(ptrdiff_t)n] + h[n] + h[-1] + h[1]);
                }
        double *newest = next;
        next = heat;
        heat = newest;
    }
    bool good = memcmp(heat, out->heat, cells * sizeof *heat) == 0;
    free(heat);
    free(next);
    return good;
}

/* ---------------------------------------------------------------- results, options and main */

static bool report(tacit_context *ctx, const struct heat_options *o, const struct outcome *out)
{
    struct example_report r;
    char hash[17];
    const double cells = (double)o->size * (double)o->size * (double)o->size;
    const double steps = out->first_step < o->stop_at ? (double)(o->stop_at - out->first_step) : 1;
    bool good = !o->common.verify || is_right(o, out);

    example_report_begin(&r, ctx, &o->common, "heat3d: heat in a cube");
    example_report_count(&r, "size", "cells along a side", o->size);
    example_report_count(&r, "first_step", "begins after step", out->first_step);
    example_report_count(&r, "last_step", "ends with step", o->stop_at);
    example_report_real(&r, "seconds_per_step", "time per step", out->seconds / steps, "s");
    example_report_real(&r, "cells_per_second", "cells per second", cells * steps / out->seconds, "");
    example_report_traffic(&r, &out->traffic, steps, "step");
    snprintf(hash, sizeof hash, "%016" PRIx64, example_hash(out->heat, (size_t)cells * sizeof(double)));
    example_report_text(&r, "heat_hash", "hash of the temperatures", hash);
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

enum { KEY_SIZE = 1, KEY_STEPS, KEY_SAVE, KEY_SAVE_EVERY, KEY_RESTART, KEY_SERIES };

static const struct argp_option option_list[] = {
    { "size", KEY_SIZE, "NUMBER", 0, "Cells along a side of the cube (64)", 1 },
    { "steps", KEY_STEPS, "NUMBER", 0, "The number of the last step (100)", 1 },
    { "save", KEY_SAVE, "FILE", 0, "Write the temperatures to this HDF5 file (.h5)", 2 },
    { "save-every", KEY_SAVE_EVERY, "NUMBER", 0, "Steps between two files (10)", 2 },
    { "restart", KEY_RESTART, "FILE", 0, "Go on from this file, if it is there", 2 },
    { "series", KEY_SERIES, "NAME", 0, "Write a series NAME_000010.h5 ... with NAME.xdmf for ParaView", 2 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct heat_options *o = state->input;
    switch (key) {
    case KEY_SIZE:
        return example_parse_size(state, "--size", arg, 3, 4096, &o->size);
    case KEY_STEPS:
        return example_parse_size(state, "--steps", arg, 1, 1000000000, &o->stop_at);
    case KEY_SAVE:
        o->save = arg;
        return 0;
    case KEY_SAVE_EVERY:
        return example_parse_size(state, "--save-every", arg, 1, 1000000000, &o->save_every);
    case KEY_RESTART:
        o->restart = arg;
        return 0;
    case KEY_SERIES:
        o->series = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        option_list, parse, NULL, "Heat in a cube, with files to go on from.", NULL, NULL, NULL
    };
    struct heat_options o = { .size = 64, .stop_at = 100, .save_every = 10 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help) {
        struct outcome out = { .heat = example_alloc(o.size * o.size * o.size, sizeof(double)) };
        simulate(ctx, &o, &out);
        good = tacit_node(ctx) != 0 || report(ctx, &o, &out);
        free(out.heat);
    }
    return example_end(ctx, error, good);
}
