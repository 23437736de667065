/* examples/convolution.c: a picture is blurred by a Gaussian, first along its rows, then along its columns.
 *
 * The picture is a buffer of three dimensions, rows, columns and colours, whose elements are numbers of type float.
 * An item of the first pass reads the elements up to `radius` columns away, an item of the second those up to
 * `radius` rows away. The mapper `tacit_neighborhood` says so, and tacit sends the borders of each node's part to its
 * neighbours: rows before the second pass, and, split in two dimensions, columns before the first. A radius larger
 * than a node's part needs no special case.
 *
 * Both passes have kernels for OpenCL and CUDA devices as well.
 *
 * The input is read by every node; the result is written by a host task, on one node. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "png_image.h"
#include "same_input.h"

enum { COLOURS = 3, MAX_RADIUS = 128, MAX_SIDE = 1000000 };

struct convolution_options {
    struct example_options common;
    size_t rows, columns, radius;
    const char *input, *output;
    int split;
};

/* The kernels for OpenCL and CUDA devices. A work-item computes one colour of a pixel, in the order of the weights. */
#define BLUR(entry, row, column)                                                                                       \
    "TACIT_KERNEL " entry "(TACIT_VIEW(from), TACIT_VIEW(bell), TACIT_VIEW(to), TACIT_CHUNK(k),\n"                     \
    "                       TACIT_VALUE(struct blur, b))\n"                                                            \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, k, 0)\n"                                                                                        \
    "        TACIT_FOR (j, k, 1)\n"                                                                                    \
    "            TACIT_FOR (c, k, 2) {\n"                                                                              \
    "                float sum = 0;\n"                                                                                 \
    "                for (ulong t = 0; t <= 2 * b.radius; t++)\n"                                                      \
    "                    sum += TACIT_GET1(float, bell, t) * TACIT_GET3(float, from, " row ", " column ", c);\n"       \
    "                TACIT_AT3(float, to, i, j, c) = sum;\n"                                                           \
    "            }\n"                                                                                                  \
    "}\n"

/* ---------------------------------------------------------------- the numerics, used by kernels and by --verify */

TACIT_BOTH(
    blur_source,
    BLUR("blur_rows", "i", "neighbour(j, t, b.radius, b.columns)")
        BLUR("blur_columns", "neighbour(i, t, b.radius, b.rows)", "j"),
    /* The arguments of the kernels: the size of the picture, and how far away elements count. */
    struct blur { uint64_t rows, columns, radius; };

    /* The index `t - radius` away from `at`, or the last one before the border: beyond it the picture keeps its border
     * colour. */
    static uint64_t neighbour(uint64_t at, uint64_t t, uint64_t radius, uint64_t size) {
        uint64_t shifted = at + t;
        return shifted < radius ? 0 : shifted - radius < size ? shifted - radius : size - 1;
    });

/* The weights of the elements up to `radius` away. The bell ends at twice its width; the weights add up to 1. */
static void make_bell(size_t radius, float bell[2 * MAX_RADIUS + 1])
{
    double sum = 0, width = radius > 0 ? (double)radius / 2.0 : 1.0, weight[2 * MAX_RADIUS + 1];
    for (size_t t = 0; t <= 2 * radius; t++) {
        double distance = ((double)t - (double)radius) / width;
        weight[t] = exp(-0.5 * distance * distance);
        sum += weight[t];
    }
    for (size_t t = 0; t <= 2 * radius; t++)
        bell[t] = (float)(weight[t] / sum);
}

/* A picture to play with: rings of colour, and a few sharp edges. */
static float generated(const struct blur *b, size_t i, size_t j, size_t colour)
{
    double y = (double)i / (double)b->rows - 0.5, x = (double)j / (double)b->columns - 0.5;
    double ring = sin(60.0 * sqrt(x * x + y * y) + 2.0 * (double)colour), edge = (i / 32 + j / 32) % 2 ? 1.0 : 0.5;
    return (float)(floor(127.5 * (1.0 + ring)) * edge);
}

/* ---------------------------------------------------------------- kernels */

/* View: the chunk's elements, to be written. */
static void generate(const tacit_launch *k)
{
    const struct blur *b = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++)
            for (size_t c = k->chunk.min[2]; c < k->chunk.max[2]; c++)
                TACIT_AT3(float, k->view[0], i, j, c) = generated(b, i, j, c);
}

/* sum[x] += weight * value[x]. All loops of both passes end here, and this one runs over contiguous elements. */
static void add_weighted(float *restrict sum, const float *restrict value, float weight, size_t count)
{
    for (size_t x = 0; x < count; x++)
        sum[x] += weight * value[x];
}

/* Pixels that are blurred at once, along a row. */
enum { SPAN = 256 };

/* Views: elements, with neighbours in the same row; weights; blurred elements. The pixels that a span of a row needs
 * are copied side by side, with the border repeated where they end; then each weight is one pass over contiguous
 * numbers. */
static void blur_rows(const tacit_launch *k)
{
    const struct blur *b = k->args;
    const float *bell = &TACIT_GET1(float, k->view[1], 0);
    float value[(SPAN + 2 * MAX_RADIUS) * COLOURS];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t first = k->chunk.min[1]; first < k->chunk.max[1]; first += SPAN) {
            size_t width = k->chunk.max[1] - first < SPAN ? k->chunk.max[1] - first : SPAN;
            float *sum = &TACIT_AT3(float, k->view[2], i, first, 0);
            for (size_t x = 0; x < width + 2 * b->radius; x++) {
                size_t j = neighbour(first, x, b->radius, b->columns);
                memcpy(value + COLOURS * x, &TACIT_GET3(float, k->view[0], i, j, 0), COLOURS * sizeof *value);
            }
            memset(sum, 0, COLOURS * width * sizeof *sum);
            for (size_t t = 0; t <= 2 * b->radius; t++)
                add_weighted(sum, value + COLOURS * t, bell[t], COLOURS * width);
        }
}

/* Views: elements, with neighbours in the same column; weights; blurred elements. Whole rows are added up. */
static void blur_columns(const tacit_launch *k)
{
    const struct blur *b = k->args;
    const float *bell = &TACIT_GET1(float, k->view[1], 0);
    const size_t first = k->chunk.min[1], count = COLOURS * (k->chunk.max[1] - first);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        float *sum = &TACIT_AT3(float, k->view[2], i, first, 0);
        memset(sum, 0, count * sizeof *sum);
        for (size_t t = 0; t <= 2 * b->radius; t++) {
            size_t row = neighbour(i, t, b->radius, b->rows);
            add_weighted(sum, &TACIT_GET3(float, k->view[0], row, first, 0), bell[t], count);
        }
    }
}

static uint8_t level(float value)
{
    return (uint8_t)(fminf(fmaxf(value, 0.0f), 255.0f) + 0.5f);
}

struct write_args {
    const char *path; /* pointers mean something in this process only, which is where the task runs */
    bool *failed;
};

/* View: the whole picture. Runs on one node. */
static void write_picture(const tacit_launch *k)
{
    const struct write_args *args = k->args;
    const tacit_box box = k->view[0].box;
    struct picture picture = picture_create(box.max[1], box.max[0]);
    for (size_t i = 0; i < box.max[0]; i++)
        for (size_t j = 0; j < box.max[1]; j++)
            for (size_t c = 0; c < COLOURS; c++)
                picture.rgb[(i * box.max[1] + j) * COLOURS + c] = level(TACIT_GET3(float, k->view[0], i, j, c));
    if (!picture_write(&picture, args->path))
        *args->failed = true;
    picture_destroy(&picture);
}

/* ---------------------------------------------------------------- the program, as tasks */

struct outcome {
    float *value;
    double seconds;
    struct example_traffic traffic;
    bool failed;
};

static tacit_buffer *create_picture(tacit_context *ctx, const struct blur *b, const char *name, const float *init)
{
    const tacit_buffer_desc desc = {
        .name = name,
        .range = TACIT_RANGE(b->rows, b->columns, COLOURS),
        .elem_size = sizeof(float),
        .init = init,
    };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

/* One task over all elements writes `to`. */
static tacit_task pass(const struct convolution_options *o, const struct blur *b, tacit_host_kernel *kernel)
{
    return (tacit_task){ .name = "generate",
                         .range = TACIT_RANGE(b->rows, b->columns, COLOURS),
                         .kernel = { .host = kernel },
                         TACIT_ARGS(*b),
                         .hint.split = o->split };
}

/* `entry` is the kernel of devices. Reads `from`, with the neighbours that `halo` says, and the weights. */
static void submit_blur(tacit_context *ctx, tacit_task blur, const char *entry, const tacit_access access[3])
{
    blur.name = "blur";
    blur.kernel.opencl.source = blur.kernel.cuda.source = blur_source;
    blur.kernel.opencl.entry = blur.kernel.cuda.entry = entry;
    for (int d = 0; d < 3; d++)
        blur.kernel.opencl.group[d] = blur.kernel.cuda.group[d] = (const size_t[]){ 2, 16, COLOURS }[d];
    memcpy(blur.access, access, 3 * sizeof *access);
    CHECK(tacit_submit(ctx, &blur));
}

/* The picture travels to one node and is written there, when its elements are ready; nobody else waits. */
static void submit_write(tacit_context *ctx, const char *path, tacit_buffer *picture, bool *failed)
{
    const struct write_args args = { path, failed };
    const tacit_task write_it = {
        .name = "write",
        .on = TACIT_ON_ONE_NODE,
        .kernel = { .host = write_picture },
        TACIT_ARGS(args),
        .access = { tacit_read(picture, tacit_all()) },
    };
    CHECK(tacit_submit(ctx, &write_it));
}

static tacit_buffer *create_bell(tacit_context *ctx, const struct blur *b)
{
    float bell[2 * MAX_RADIUS + 1];
    make_bell(b->radius, bell);
    const tacit_buffer_desc desc = {
        .name = "bell", .range = TACIT_RANGE(2 * b->radius + 1), .elem_size = sizeof(float), .init = bell
    };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

/* Along the rows, then along the columns. */
static void submit_passes(tacit_context *ctx, const struct convolution_options *o, const struct blur *b,
                          tacit_buffer *picture, tacit_buffer *blurred)
{
    tacit_buffer *half = create_picture(ctx, b, "half", NULL), *bell = create_bell(ctx, b);
    const tacit_access rows[] = { tacit_read(picture, tacit_neighborhood(0, b->radius, 0)),
                                  tacit_read(bell, tacit_all()), tacit_write(half, tacit_one_to_one()) };
    const tacit_access columns[] = { tacit_read(half, tacit_neighborhood(b->radius, 0, 0)),
                                     tacit_read(bell, tacit_all()), tacit_write(blurred, tacit_one_to_one()) };
    submit_blur(ctx, pass(o, b, blur_rows), "blur_rows", rows);
    submit_blur(ctx, pass(o, b, blur_columns), "blur_columns", columns);
}

/* `init` has the elements of the input, or is NULL for a generated picture. */
static void compute(tacit_context *ctx, const struct convolution_options *o, const struct blur *b, const float *init,
                    struct outcome *out)
{
    tacit_buffer *picture = create_picture(ctx, b, "picture", init), *blurred = create_picture(ctx, b, "blurred", NULL);
    if (!init) {
        tacit_task draw = pass(o, b, generate);
        draw.access[0] = tacit_write(picture, tacit_one_to_one());
        CHECK(tacit_submit(ctx, &draw));
    }

    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    submit_passes(ctx, o, b, picture, blurred);
    CHECK(tacit_wait(ctx));
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
    if (o->output)
        submit_write(ctx, o->output, blurred, &out->failed);
    CHECK(tacit_fence_read(ctx, blurred, TACIT_BOX_ALL, out->value));
    CHECK(tacit_wait(ctx));
}

/* ---------------------------------------------------------------- the same, sequentially */

/* One pass, element by element: along the columns if `down`, otherwise along the rows. */
static void sequential_pass(const struct blur *b, const float *bell, bool down, const float *from, float *to)
{
    for (size_t i = 0; i < b->rows; i++)
        for (size_t j = 0; j < b->columns; j++)
            for (size_t c = 0; c < COLOURS; c++) {
                float sum = 0;
                for (size_t t = 0; t <= 2 * b->radius; t++) {
                    size_t y = down ? neighbour(i, t, b->radius, b->rows) : i;
                    size_t x = down ? j : neighbour(j, t, b->radius, b->columns);
                    sum += bell[t] * from[(y * b->columns + x) * COLOURS + c];
                }
                to[(i * b->columns + j) * COLOURS + c] = sum;
            }
}

/* Whether a plain sequential program gets the same bits. */
static bool is_right(const struct blur *b, const float *init, const struct outcome *out)
{
    const size_t elements = b->rows * b->columns * COLOURS;
    float *first = example_alloc(elements, sizeof *first), *second = example_alloc(elements, sizeof *second);
    for (size_t e = 0; e < elements; e++)
        first[e] = init ? init[e] : generated(b, e / COLOURS / b->columns, e / COLOURS % b->columns, e % COLOURS);
    float bell[2 * MAX_RADIUS + 1];
    make_bell(b->radius, bell);
    sequential_pass(b, bell, false, first, second);
    sequential_pass(b, bell, true, second, first);
    bool good = memcmp(first, out->value, elements * sizeof *first) == 0;
    free(first);
    free(second);
    return good;
}

/* ---------------------------------------------------------------- pictures */

/* Read a PNG file of any kind as bytes of red, green and blue; what is transparent gets a white ground. Returns NULL
 * after a message, if this node `speaks`. */
static uint8_t *read_picture(const char *path, bool speaks, size_t *rows, size_t *columns)
{
    const png_color white = { 255, 255, 255 };
    png_image image = { .version = PNG_IMAGE_VERSION };
    uint8_t *rgb = NULL;
    if (png_image_begin_read_from_file(&image, path)) {
        image.format = PNG_FORMAT_RGB;
        rgb = example_alloc((size_t)image.width * image.height, COLOURS);
        if (!png_image_finish_read(&image, &white, rgb, 0, NULL)) {
            free(rgb);
            rgb = NULL;
        }
    }
    if (!rgb && speaks)
        fprintf(stderr, "cannot read %s: %s\n", path, image.message);
    *rows = image.height;
    *columns = image.width;
    png_image_free(&image);
    return rgb;
}

/* Read the input on every node. Returns its elements, or NULL on all nodes if any could not read it. */
static float *read_input(tacit_context *ctx, struct convolution_options *o)
{
    uint8_t *rgb = read_picture(o->input, tacit_node(ctx) == 0, &o->rows, &o->columns);
    const size_t elements = rgb ? o->rows * o->columns * COLOURS : 0;
    const struct input_found found = { rgb != NULL, (example_hash(rgb, elements) ^ o->rows) * 31 ^ o->columns };
    float *value = NULL;
    if (same_input(ctx, o->input, found)) {
        value = example_alloc(elements, sizeof *value);
        for (size_t e = 0; e < elements; e++)
            value[e] = (float)rgb[e];
    }
    free(rgb);
    return value;
}

/* Whether the file that the host task wrote shows the elements that the fence brought. */
static bool is_written(const struct convolution_options *o, const float *value)
{
    size_t rows = 0, columns = 0;
    uint8_t *rgb = read_picture(o->output, true, &rows, &columns);
    bool good = rgb && rows == o->rows && columns == o->columns;
    for (size_t e = 0; good && e < rows * columns * COLOURS; e++)
        good = rgb[e] == level(value[e]);
    free(rgb);
    return good;
}

/* ---------------------------------------------------------------- results, options and main */

static bool report(tacit_context *ctx, const struct convolution_options *o, const struct blur *b, const float *init,
                   const struct outcome *out)
{
    struct example_report r;
    char hash[17];
    double pixels = (double)b->rows * (double)b->columns;
    bool good = !o->common.verify || (is_right(b, init, out) && (!o->output || is_written(o, out->value)));

    example_report_begin(&r, ctx, &o->common, "convolution: a picture is blurred");
    example_report_text(&r, "picture", "picture", init ? "from a file" : "generated");
    example_report_count(&r, "rows", "rows", b->rows);
    example_report_count(&r, "columns", "columns", b->columns);
    example_report_count(&r, "radius", "radius", b->radius);
    example_report_text(&r, "split", "split", o->split == TACIT_SPLIT_2D ? "2d" : "1d");
    example_report_real(&r, "seconds", "time for both passes", out->seconds, "s");
    example_report_real(&r, "pixels_per_second", "pixels per second", pixels / out->seconds, "");
    example_report_traffic(&r, &out->traffic, 0, NULL);
    snprintf(hash, sizeof hash, "%016" PRIx64,
             example_hash(out->value, b->rows * b->columns * COLOURS * sizeof *out->value));
    example_report_text(&r, "values_hash", "hash of the result", hash);
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

enum { KEY_INPUT = 1, KEY_GENERATE, KEY_OUTPUT, KEY_RADIUS, KEY_SPLIT };

static const struct argp_option option_list[] = {
    { "input", KEY_INPUT, "FILE", 0, "Blur this PNG file; all nodes must be able to read it", 1 },
    { "generate", KEY_GENERATE, "ROWSxCOLS", 0, "Blur a generated picture of this size (default, 480x640)", 1 },
    { "output", KEY_OUTPUT, "FILE", 0, "Write the result as a PNG file", 1 },
    { "radius", KEY_RADIUS, "NUMBER", 0, "Pixels up to this distance count, at most 128 (8)", 2 },
    { "split", KEY_SPLIT, "1d|2d", 0, "Split the picture over the nodes by rows (default), or by rows and columns", 2 },
    { 0 },
};

static error_t parse_size(struct argp_state *state, char *text, struct convolution_options *o)
{
    char *cross = strchr(text, 'x');
    if (!cross) {
        argp_error(state, "--generate wants rows and columns, such as 480x640, not '%s'", text);
        return EINVAL;
    }
    char rows[32] = { 0 };
    snprintf(rows, sizeof rows, "%.*s", (int)(cross - text), text);
    error_t error = example_parse_size(state, "--generate", rows, 1, MAX_SIDE, &o->rows);
    return error ? error : example_parse_size(state, "--generate", cross + 1, 1, MAX_SIDE, &o->columns);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct convolution_options *o = state->input;
    switch (key) {
    case KEY_INPUT:
        o->input = arg;
        return 0;
    case KEY_GENERATE:
        return parse_size(state, arg, o);
    case KEY_OUTPUT:
        o->output = arg;
        return 0;
    case KEY_RADIUS:
        return example_parse_size(state, "--radius", arg, 0, MAX_RADIUS, &o->radius);
    case KEY_SPLIT:
        return example_parse_split(state, "--split", arg, &o->split);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool run(tacit_context *ctx, struct convolution_options *o)
{
    float *init = o->input ? read_input(ctx, o) : NULL;
    if (o->input && !init)
        return false;
    const struct blur b = { o->rows, o->columns, o->radius };
    struct outcome out = { .value = example_alloc(o->rows * o->columns * COLOURS, sizeof(float)) };
    compute(ctx, o, &b, init, &out);
    bool good = (tacit_node(ctx) != 0 || report(ctx, o, &b, init, &out)) && !out.failed;
    free(out.value);
    free(init);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp argp = { option_list, parse, NULL, "A picture is blurred by a Gaussian.", NULL, NULL, NULL };
    struct convolution_options o = { .rows = 480, .columns = 640, .radius = 8 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help)
        good = run(ctx, &o);
    return example_end(ctx, error, good);
}
