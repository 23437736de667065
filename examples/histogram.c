/* examples/histogram.c: how often each value occurs in much data, by one reduction of an array.
 *
 * Every node counts the items that it has into counts of its own, and all counts are added up: that is a reduction, as
 * in jacobi, but of a buffer with one element for each bin. The kernel sees a private view of the whole buffer, filled
 * with zeros; it counts there without any regard to others, and tacit adds up the views of all threads and all nodes.
 *
 * The counts are whole numbers, and sums of whole numbers depend on no order: the result is the same on any number of
 * nodes and threads.
 *
 * On GPUs (TACIT_DEVICES=opencl:0 or cuda:0) every group of work-items has counts of its own.
 *
 * The data are random numbers, or the bytes of a file (tacit/io.h): each node reads the part that it will count, at the
 * same time as the others, and no data travel at all. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tacit/io.h>
#include <unistd.h>

#include "common.h"
#include "same_input.h"

struct histogram_options {
    struct example_options common;
    size_t items, bins, seed;
    const char *file, *save;
    bool show;
};

/* ---------------------------------------------------------------- the data, used by kernels and by --verify */

/* The kernels for OpenCL and CUDA devices. Each group of work-items counts into bins of its own. */
#define COUNT                                                                                                          \
    "TACIT_KERNEL draw(TACIT_VIEW(item), TACIT_CHUNK(chunk), TACIT_VALUE(struct source, s))\n"                         \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, chunk, 0)\n"                                                                                    \
    "        TACIT_AT1(uint16_t, item, i) = random_item(s.seed, i);\n"                                                 \
    "}\n"                                                                                                              \
    "TACIT_KERNEL from_bytes(TACIT_VIEW(byte), TACIT_VIEW(item), TACIT_CHUNK(chunk))\n"                                \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, chunk, 0)\n"                                                                                    \
    "        TACIT_AT1(uint16_t, item, i) = item_of_byte(TACIT_GET1(uint8_t, byte, i));\n"                             \
    "}\n"                                                                                                              \
    "TACIT_KERNEL count(TACIT_VIEW(item), TACIT_VIEW(bins), TACIT_CHUNK(chunk), TACIT_VALUE(struct count_args, a))\n"  \
    "{\n"                                                                                                              \
    "    TACIT_GLOBAL uint64_t *bin = TACIT_RESULT(uint64_t, bins);\n"                                                 \
    "    TACIT_GROUP_EACH (b, a.bins)\n"                                                                               \
    "        bin[b] = 0;\n"                                                                                            \
    "    TACIT_BARRIER();\n"                                                                                           \
    "    TACIT_EACH (i, chunk, 0)\n"                                                                                   \
    "        TACIT_ADD(&bin[bin_of(TACIT_GET1(uint16_t, item, i), a.bins)], 1);\n"                                     \
    "}\n"

TACIT_BOTH(
    histogram_source, COUNT,
    /* Items are whole numbers below this, spread evenly over the bins. */
    enum { LEVELS = 1 << 16 };

    /* The arguments of the kernels. */
    struct source { uint64_t seed; }; struct count_args { uint64_t bins; };

    /* Random item number i: the mean of four random numbers, so that the middle is more frequent than the ends. The
     * bits come from splitmix64, which gives the i-th number without those before it: any node can start anywhere. */
    static uint16_t random_item(uint64_t seed, uint64_t i) {
        uint64_t x = (seed + i) * 0x9e3779b97f4a7c15;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        x ^= x >> 31;
        return (uint16_t)(((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48)) / 4);
    }

    /* A byte of a file as an item. */
    static uint16_t item_of_byte(uint8_t byte) { return (uint16_t)(byte * (LEVELS / 256)); }

    static uint64_t bin_of(uint16_t item, uint64_t bins) { return item * bins / LEVELS; });

/* ---------------------------------------------------------------- kernels */

/* View: the chunk's items, to be written. */
static void draw(const tacit_launch *k)
{
    const struct source *s = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT1(uint16_t, k->view[0], i) = random_item(s->seed, i);
}

/* Views: the chunk's bytes; its items, to be written. */
static void convert(const tacit_launch *k)
{
    const tacit_view byte = k->view[0], item = k->view[1];
    TACIT_FOR (i, k->chunk, 0)
        TACIT_AT1(uint16_t, item, i) = item_of_byte(TACIT_GET1(unsigned char, byte, i));
}

/* Views: the chunk's items; all bins, private to this call until tacit adds them up, and 0 at first. */
static void count(const tacit_launch *k)
{
    const size_t bins = ((const struct count_args *)k->args)->bins;
    const uint16_t *item = &TACIT_GET1(uint16_t, k->view[0], k->chunk.min[0]);
    uint64_t *bin = &TACIT_AT1(uint64_t, k->view[1], 0);
    for (size_t i = 0; i < k->chunk.max[0] - k->chunk.min[0]; i++)
        bin[bin_of(item[i], bins)]++;
}

/* ---------------------------------------------------------------- the program, as tasks */

struct outcome {
    uint64_t *count;
    double seconds;
    struct example_traffic traffic;
};

/* The bytes of the file, each on the node that will count it. */
static tacit_buffer *create_bytes(tacit_context *ctx, const struct histogram_options *o)
{
    const tacit_buffer_desc desc = { .name = "bytes", .range = TACIT_RANGE(o->items), .elem_size = 1 };
    const tacit_file_options file = { .format = TACIT_FILE_RAW };
    tacit_buffer *bytes;
    CHECK(tacit_buffer_create(ctx, &desc, &bytes));
    CHECK(tacit_buffer_read(ctx, bytes, o->file, &file));
    return bytes;
}

/* The items, made where they will be counted. */
static tacit_buffer *create_items(tacit_context *ctx, const struct histogram_options *o)
{
    const struct source source = { o->seed };
    const tacit_buffer_desc desc = { .name = "items", .range = TACIT_RANGE(o->items), .elem_size = sizeof(uint16_t) };
    tacit_buffer *bytes = o->file ? create_bytes(ctx, o) : NULL, *items;
    CHECK(tacit_buffer_create(ctx, &desc, &items));
    const tacit_access write = tacit_write(items, tacit_one_to_one());
    const tacit_task draw_them = {
        .name = "draw",
        .range = desc.range,
        .kernel = example_kernel(draw, histogram_source, "draw", 0),
        TACIT_ARGS(source),
        .access = { write },
    };
    const tacit_task convert_them = { .name = "convert",
                                      .range = desc.range,
                                      .kernel = example_kernel(convert, histogram_source, "from_bytes", 0),
                                      .access = { tacit_read(bytes, tacit_one_to_one()), write } };
    CHECK(tacit_submit(ctx, o->file ? &convert_them : &draw_them));
    CHECK(tacit_buffer_destroy(ctx, bytes));
    return items;
}

static void compute(tacit_context *ctx, const struct histogram_options *o, struct outcome *out)
{
    const struct count_args args = { o->bins };
    const tacit_buffer_desc desc = { .name = "bins", .range = TACIT_RANGE(o->bins), .elem_size = sizeof(uint64_t) };
    tacit_buffer *items = create_items(ctx, o), *bins;
    CHECK(tacit_buffer_create(ctx, &desc, &bins));
    const tacit_task count_them = {
        .name = "count",
        .range = TACIT_RANGE(o->items),
        .kernel = example_kernel(count, histogram_source, "count", 0),
        TACIT_ARGS(args),
        .access = { tacit_read(items, tacit_one_to_one()), tacit_reduce(bins, tacit_sum(TACIT_UINT64)) },
    };

    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    CHECK(tacit_submit(ctx, &count_them));
    if (o->save) {
        const tacit_file_options counts = { .type = TACIT_UINT64 };
        CHECK(tacit_buffer_write(ctx, bins, o->save, &counts));
    }
    CHECK(tacit_fence_read(ctx, bins, TACIT_BOX_ALL, out->count));
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
}

/* ---------------------------------------------------------------- the same, sequentially */

static bool sequential_count(const struct histogram_options *o, uint64_t *bin)
{
    FILE *file = o->file ? fopen(o->file, "rb") : NULL;
    bool good = !o->file || file;
    for (size_t i = 0; i < o->items && good; i++) {
        int byte = file ? getc(file) : 0;
        good = byte != EOF;
        if (good)
            bin[bin_of(file ? item_of_byte((unsigned char)byte) : random_item(o->seed, i), o->bins)]++;
    }
    if (file)
        fclose(file);
    return good;
}

/* Whether a plain sequential program counts the same. */
static bool is_right(const struct histogram_options *o, const struct outcome *out)
{
    uint64_t *bin = example_alloc(o->bins, sizeof *bin), sum = 0;
    bool good = sequential_count(o, bin) && memcmp(bin, out->count, o->bins * sizeof *bin) == 0;
    for (size_t b = 0; b < o->bins; b++)
        sum += out->count[b];
    free(bin);
    return good && sum == o->items;
}

/* ---------------------------------------------------------------- results, options and main */

/* What a picture shows: as many bins per line as make at most 32 lines. */
static void show(const struct histogram_options *o, const uint64_t *count)
{
    enum { LINES = 32, WIDTH = 64 };
    static const char bar[] = "################################################################";
    uint64_t line[LINES] = { 0 }, most = 1;
    size_t per_line = (o->bins + LINES - 1) / LINES;
    for (size_t b = 0; b < o->bins; b++)
        line[b / per_line] += count[b];
    for (size_t i = 0; i < LINES; i++)
        most = line[i] > most ? line[i] : most;
    for (size_t i = 0; i * per_line < o->bins; i++)
        printf("%8zu %12" PRIu64 " %.*s\n", i * per_line, line[i], (int)((double)line[i] / (double)most * WIDTH), bar);
}

/* How many bits an item says, on average, if only its bin counts (Shannon's entropy). */
static double entropy(const struct histogram_options *o, const uint64_t *count)
{
    double bits = 0;
    for (size_t b = 0; b < o->bins; b++) {
        double share = (double)count[b] / (double)o->items;
        bits -= count[b] ? share * log2(share) : 0.0;
    }
    return bits;
}

static bool report(tacit_context *ctx, const struct histogram_options *o, const struct outcome *out)
{
    struct example_report r;
    char hash[17];
    size_t most = 0;
    bool good = !o->common.verify || is_right(o, out);
    for (size_t b = 1; b < o->bins; b++)
        most = out->count[b] > out->count[most] ? b : most;

    if (o->show && !o->common.json)
        show(o, out->count);
    example_report_begin(&r, ctx, &o->common, "histogram: how often each value occurs");
    example_report_text(&r, "data", "data", o->file ? "bytes of a file" : "random");
    example_report_count(&r, "items", "items", o->items);
    example_report_count(&r, "bins", "bins", o->bins);
    if (!o->file)
        example_report_count(&r, "seed", "seed", o->seed);
    example_report_count(&r, "fullest_bin", "fullest bin", most);
    example_report_count(&r, "fullest_count", "items in it", out->count[most]);
    example_report_real(&r, "entropy", "entropy of an item", entropy(o, out->count), "bit");
    example_report_real(&r, "seconds", "time to count", out->seconds, "s");
    example_report_real(&r, "items_per_second", "items per second", (double)o->items / out->seconds, "");
    example_report_traffic(&r, &out->traffic, 0, NULL);
    snprintf(hash, sizeof hash, "%016" PRIx64, example_hash(out->count, o->bins * sizeof *out->count));
    example_report_text(&r, "counts_hash", "hash of the counts", hash);
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

enum { KEY_ITEMS = 1, KEY_BINS, KEY_SEED, KEY_FILE, KEY_SAVE, KEY_SHOW };

static const struct argp_option option_list[] = {
    { "items", KEY_ITEMS, "NUMBER", 0, "Random items to count (10000000)", 1 },
    { "seed", KEY_SEED, "NUMBER", 0, "Seed of the random items (1)", 1 },
    { "file", KEY_FILE, "FILE", 0, "Count the bytes of this file instead; all nodes must be able to read it", 1 },
    { "bins", KEY_BINS, "NUMBER", 0, "Number of bins (256)", 2 },
    { "save", KEY_SAVE, "FILE", 0, "Write the counts to this file (.npy, .h5 or .raw)", 2 },
    { "show", KEY_SHOW, NULL, 0, "Draw the histogram as text", 2 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct histogram_options *o = state->input;
    switch (key) {
    case KEY_ITEMS:
        return example_parse_size(state, "--items", arg, 1, (size_t)1 << 40, &o->items);
    case KEY_BINS:
        return example_parse_size(state, "--bins", arg, 1, LEVELS, &o->bins);
    case KEY_SEED:
        return example_parse_size(state, "--seed", arg, 0, SIZE_MAX, &o->seed);
    case KEY_FILE:
        o->file = arg;
        return 0;
    case KEY_SAVE:
        o->save = arg;
        return 0;
    case KEY_SHOW:
        o->show = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The number of items is the size of the file. All nodes must find the same, or they would submit different tasks. */
static bool measure_file(tacit_context *ctx, struct histogram_options *o)
{
    struct stat found = { 0 };
    const char *problem = NULL;
    if (stat(o->file, &found) != 0 || access(o->file, R_OK) != 0)
        problem = strerror(errno);
    else if (!S_ISREG(found.st_mode))
        problem = "it is not a regular file";
    else if (found.st_size == 0)
        problem = "it is empty";
    if (problem && tacit_node(ctx) == 0)
        fprintf(stderr, "cannot count %s: %s\n", o->file, problem);
    o->items = (size_t)found.st_size;
    return same_input(ctx, o->file, (struct input_found){ !problem, (uint64_t)found.st_size });
}

static bool run(tacit_context *ctx, const struct histogram_options *o)
{
    struct outcome out = { .count = example_alloc(o->bins, sizeof(uint64_t)) };
    compute(ctx, o, &out);
    bool good = tacit_node(ctx) != 0 || report(ctx, o, &out);
    free(out.count);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp argp = { option_list, parse, NULL, "A histogram of random numbers, or of the bytes of a file.",
                               NULL,        NULL,  NULL };
    struct histogram_options o = { .items = 10000000, .bins = 256, .seed = 1 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help)
        good = (!o.file || measure_file(ctx, &o)) && run(ctx, &o);
    return example_end(ctx, error, good);
}
