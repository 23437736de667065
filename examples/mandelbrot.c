/* examples/mandelbrot.c: the Mandelbrot set, of which some rows take ten times longer than others.
 *
 * Rows are split over the nodes in equal shares, so that the node whose rows lie in the set has most of the work, and
 * the others wait for it. The program draws several frames, closer and closer, and calls tacit_retune after each: there
 * TACIT_BALANCE=auto gives nodes shares by how fast they got their rows done, and the next frame is split by these.
 * Which node has computed which row is kept in a buffer: that changes, and the picture never does.
 *
 *     tacit run -n 4 mandelbrot                          equal shares
 *     TACIT_BALANCE=auto tacit run -n 4 mandelbrot       measured ones
 *     TACIT_BALANCE=3,2,1,1 tacit run -n 4 mandelbrot    these
 *
 * Workers of one node need none of this: they take parts of its chunk as they come. Devices of a node do, and get
 * shares of the node's rows in the same way: TACIT_DEVICES=opencl:0,host TACIT_BALANCE=auto mandelbrot. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <tacit/io.h>

#include "common.h"

struct mandelbrot_options {
    struct example_options common;
    size_t rows, columns, iterations, frames;
    const char *image;
};

/* ---------------------------------------------------------------- the set, used by kernels and by --verify */

/* The kernel for OpenCL and CUDA devices: a work-item draws a row. */
#define DRAW                                                                                                           \
    "TACIT_KERNEL draw(TACIT_VIEW(counts), TACIT_CHUNK(c), TACIT_VALUE(struct view_of_set, s))\n"                      \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, c, 0)\n"                                                                                        \
    "        for (ulong j = 0; j < s.columns; j++)\n"                                                                  \
    "            TACIT_AT2(uint32_t, counts, i, j) = iterations_of(s, i, j);\n"                                        \
    "}\n"

TACIT_BOTH(
    draw_text, DRAW,
    /* The arguments of the kernels: points, at most so many iterations, and how much of the plane. */
    struct view_of_set {
        uint64_t rows, columns, iterations;
        double width;
    };

    /* How many iterations of z -> z z + c stay within the circle of radius 2, for a c above the real axis: the nearer a
     * row is to the last one, the longer it takes. */
    static uint32_t iterations_of(struct view_of_set s, uint64_t i, uint64_t j) {
        const double x0 = -0.75 + s.width * ((double)j / (double)s.columns - 0.5);
        const double y0 = 0.3 * s.width * (double)(s.rows - 1 - i) / (double)s.rows;
        double x = 0, y = 0;
        uint32_t n = 0;
        while (n < s.iterations && x * x + y * y <= 4) {
            const double next = x * x - y * y + x0;
            y = 2 * x * y + y0;
            x = next;
            n++;
        }
        return n;
    });

/* ---------------------------------------------------------------- kernels */

/* View: iterations. */
static void draw(const tacit_launch *l)
{
    const struct view_of_set *s = l->args;
    TACIT_FOR (i, l->chunk, 0)
        for (size_t j = 0; j < s->columns; j++)
            TACIT_AT2(uint32_t, l->view[0], i, j) = iterations_of(*s, i, j);
}

/* View: which node has which row, and so has drawn it, since both tasks are split alike. */
static void sign(const tacit_launch *l)
{
    TACIT_FOR (i, l->chunk, 0)
        TACIT_AT1(int32_t, l->view[0], i) = l->node;
}

/* ---------------------------------------------------------------- the program, as tasks */

struct outcome {
    uint32_t *counts;      /* of the last frame */
    int32_t *first, *last; /* which node had which row in the first frame and in the last */
    double first_seconds, last_seconds;
};

static tacit_buffer *create(tacit_context *ctx, const char *name, tacit_range range, size_t size)
{
    const tacit_buffer_desc desc = { .name = name, .range = range, .elem_size = size };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

static struct view_of_set view_of(const struct mandelbrot_options *o, size_t frame)
{
    return (struct view_of_set){ o->rows, o->columns, o->iterations, 3.0 / (1.0 + 0.02 * (double)frame) };
}

/* All nodes wait for the frame, and say how fast their rows were: the next frame is split by that (TACIT_BALANCE). */
static double draw_frame(tacit_context *ctx, const struct mandelbrot_options *o, size_t frame, tacit_buffer *counts,
                         tacit_buffer *owner)
{
    const struct view_of_set s = view_of(o, frame);
    const tacit_task draw_it = {
        .name = "draw",
        .range = TACIT_RANGE(o->rows),
        .kernel = example_kernel(draw, draw_text, "draw", 0),
        TACIT_ARGS(s),
        .access = { tacit_write(counts, tacit_components(tacit_dim(0), tacit_full(), tacit_full())) },
    };
    const tacit_task sign_it = {
        .name = "sign",
        .range = TACIT_RANGE(o->rows),
        .kernel = { .host = sign },
        .access = { tacit_write(owner, tacit_one_to_one()) },
    };
    const double begin = example_seconds();
    CHECK(tacit_submit(ctx, &sign_it));
    CHECK(tacit_submit(ctx, &draw_it));
    CHECK(tacit_retune(ctx));
    return example_seconds() - begin;
}

static void draw_all(tacit_context *ctx, const struct mandelbrot_options *o, struct outcome *out)
{
    tacit_buffer *counts = create(ctx, "iterations", tacit_range2(o->rows, o->columns), sizeof(uint32_t));
    tacit_buffer *owner = create(ctx, "node of row", tacit_range1(o->rows), sizeof(int32_t));
    for (size_t frame = 0; frame < o->frames; frame++) {
        out->last_seconds = draw_frame(ctx, o, frame, counts, owner);
        if (frame == 0) {
            out->first_seconds = out->last_seconds;
            CHECK(tacit_fence_read(ctx, owner, TACIT_BOX_ALL, out->first));
        }
    }
    CHECK(tacit_fence_read(ctx, owner, TACIT_BOX_ALL, out->last));
    CHECK(tacit_fence_read(ctx, counts, TACIT_BOX_ALL, out->counts));
    if (o->image) /* a picture has the colours of these values; other formats have the numbers */
        CHECK(tacit_buffer_write(ctx, counts, o->image,
                                 &(tacit_file_options){ .type = TACIT_UINT32, .low = 0, .high = 60 }));
}

/* ---------------------------------------------------------------- the same, sequentially */

static bool is_right(const struct mandelbrot_options *o, const struct outcome *out)
{
    const struct view_of_set s = view_of(o, o->frames - 1);
    for (size_t i = 0; i < o->rows; i++)
        for (size_t j = 0; j < o->columns; j++)
            if (out->counts[i * o->columns + j] != iterations_of(s, i, j))
                return false;
    return true;
}

/* ---------------------------------------------------------------- results, options and main */

/* How many rows each node had: "104,96,100,100". */
static void report_rows(struct example_report *r, const char *key, const char *label, const int32_t *owner, size_t rows,
                        int nodes)
{
    enum { WIDEST = 8 };
    const size_t room = (size_t)nodes * WIDEST + 1;
    char *text = example_alloc(room, 1);
    size_t at = 0;
    for (int node = 0; node < nodes; node++) {
        size_t count = 0;
        for (size_t i = 0; i < rows; i++)
            count += owner[i] == node;
        at += (size_t)snprintf(text + at, room - at, "%s%zu", node ? "," : "", count);
    }
    example_report_text(r, key, label, text);
    free(text);
}

static bool report(tacit_context *ctx, const struct mandelbrot_options *o, const struct outcome *out)
{
    struct example_report r;
    char hash[17];
    const int nodes = tacit_num_nodes(ctx);
    const bool good = !o->common.verify || is_right(o, out);

    example_report_begin(&r, ctx, &o->common, "mandelbrot: rows that take longer than others");
    example_report_count(&r, "rows", "rows", o->rows);
    example_report_count(&r, "columns", "columns", o->columns);
    example_report_count(&r, "frames", "frames", o->frames);
    report_rows(&r, "first_rows", "rows of the nodes in the first frame", out->first, o->rows, nodes);
    report_rows(&r, "last_rows", "rows of the nodes in the last frame", out->last, o->rows, nodes);
    example_report_real(&r, "first_seconds", "time of the first frame", out->first_seconds, "s");
    example_report_real(&r, "last_seconds", "time of the last frame", out->last_seconds, "s");
    snprintf(hash, sizeof hash, "%016" PRIx64, example_hash(out->counts, o->rows * o->columns * sizeof(uint32_t)));
    example_report_text(&r, "picture_hash", "hash of the picture", hash);
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

enum { KEY_ROWS = 1, KEY_COLUMNS, KEY_ITERATIONS, KEY_FRAMES, KEY_IMAGE };

static const struct argp_option option_list[] = {
    { "rows", KEY_ROWS, "NUMBER", 0, "Rows of the picture (288)", 1 },
    { "cols", KEY_COLUMNS, "NUMBER", 0, "Columns of the picture (960)", 1 },
    { "iterations", KEY_ITERATIONS, "NUMBER", 0, "Most iterations of a point (2000)", 1 },
    { "frames", KEY_FRAMES, "NUMBER", 0, "Pictures, each a little closer; nodes get new shares after each (10)", 1 },
    { "image", KEY_IMAGE, "FILE", 0, "Write the last frame to this file (.png, .npy, .h5 or .raw)", 2 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct mandelbrot_options *o = state->input;
    switch (key) {
    case KEY_ROWS:
        return example_parse_size(state, "--rows", arg, 1, 100000, &o->rows);
    case KEY_COLUMNS:
        return example_parse_size(state, "--cols", arg, 1, 100000, &o->columns);
    case KEY_ITERATIONS:
        return example_parse_size(state, "--iterations", arg, 1, 1000000000, &o->iterations);
    case KEY_FRAMES:
        return example_parse_size(state, "--frames", arg, 1, 1000000, &o->frames);
    case KEY_IMAGE:
        o->image = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void release(struct outcome *out)
{
    free(out->counts);
    free(out->first);
    free(out->last);
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        option_list, parse, NULL, "The Mandelbrot set, on nodes that get shares by how fast they are.", NULL, NULL, NULL
    };
    struct mandelbrot_options o = { .rows = 288, .columns = 960, .iterations = 2000, .frames = 10 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help) {
        struct outcome out = {
            .counts = example_alloc(o.rows * o.columns, sizeof(uint32_t)),
            .first = example_alloc(o.rows, sizeof(int32_t)),
            .last = example_alloc(o.rows, sizeof(int32_t)),
        };
        draw_all(ctx, &o, &out);
        good = tacit_node(ctx) != 0 || report(ctx, &o, &out);
        release(&out);
    }
    return example_end(ctx, error, good);
}
