/* examples/sort.c: a distributed sort whose sizes nobody knows before the data are there, and without padding.
 *
 * Keys come in batches. A batch has as many as pass a test, which each piece of it counts first; then the buffer of
 * keys is made longer by exactly that (tacit_buffer_resize), and the pieces write behind each other and behind what is
 * there.
 *
 * Then a bucket sort. Each piece of the keys is grouped by buckets, and says how many keys it has for each. All nodes
 * get these counts by a fence: from them follow where a bucket begins in the result, and where its keys lie in each
 * piece, which two custom mappers say. Keys travel once, to the node that sorts their bucket.
 *
 * The keys are not evenly spread: most are small, and the first buckets have far more than the last. Buckets are
 * therefore split over nodes by weight (.hint.item_weights): each node gets a run of buckets with about equally many
 * keys. `--equal` gives each node equally many buckets instead. The result is the same on any number of nodes.
 *
 * The kernels are there for OpenCL and CUDA devices, too (sort_kernels.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "sort_kernels.h"

struct sort_options {
    struct example_options common;
    size_t items, batches, buckets, seed;
    bool equal;
};

enum { PIECES_PER_NODE = 8, MOST_BUCKETS = 1 << 14 };

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* ---------------------------------------------------------------- mappers */

/* Item i touches the elements [start[i], start[i + 1]). */
static void map_runs(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const uint64_t *start = user;
    (void)range;
    tacit_region_add(out, tacit_box1(start[chunk->min[0]], start[chunk->max[0]]));
}

/* The same, and the element before. */
static void map_runs_and_last(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const uint64_t *start = user;
    uint64_t first = start[chunk->min[0]];
    (void)range;
    tacit_region_add(out, tacit_box1(first ? first - 1 : 0, start[chunk->max[0]]));
}

/* Where the keys of buckets lie in the pieces. Bucket b of piece p: [at[p * (buckets + 1) + b], at[... + b + 1]). */
struct places {
    size_t pieces, buckets;
    uint64_t at[];
};

static uint64_t place_of(const struct places *p, size_t piece, size_t bucket)
{
    return p->at[piece * (p->buckets + 1) + bucket];
}

/* Buckets of a chunk lie side by side in every piece. */
static void map_places(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const struct places *p = user;
    (void)range;
    for (size_t i = 0; i < p->pieces; i++)
        tacit_region_add(out, tacit_box1(place_of(p, i, chunk->min[0]), place_of(p, i, chunk->max[0])));
}

/* ---------------------------------------------------------------- kernels */

/* View: how many each piece keeps, to be written. */
static void count_kept(const tacit_launch *k)
{
    const struct draw_args *a = k->args;
    TACIT_FOR (p, k->chunk, 0) {
        uint64_t kept = 0, key;
        for (size_t i = share(a->items, a->pieces, p); i < share(a->items, a->pieces, p + 1); i++)
            kept += is_kept(a->seed, a->first + i, &key);
        TACIT_AT1(uint64_t, k->view[0], p) = kept;
    }
}

/* Views: where the pieces' keys begin; their places in the keys, to be written. */
static void draw(const tacit_launch *k)
{
    const struct draw_args *a = k->args;
    TACIT_FOR (p, k->chunk, 0) {
        uint64_t at = TACIT_GET1(uint64_t, k->view[0], p), key;
        for (size_t i = share(a->items, a->pieces, p); i < share(a->items, a->pieces, p + 1); i++)
            if (is_kept(a->seed, a->first + i, &key))
                TACIT_AT1(uint64_t, k->view[1], at++) = key;
    }
}

/* Views: the pieces' keys; the same grouped by buckets, and how many keys each bucket of a piece has, to be written.
 * Until the end the counts say where the keys of a bucket end, and then where they begin. */
static void group(const tacit_launch *k)
{
    const struct group_args *a = k->args;
    TACIT_FOR (p, k->chunk, 0) {
        const size_t first = share(a->keys, a->pieces, p), end = share(a->keys, a->pieces, p + 1);
        uint64_t *count = &TACIT_AT2(uint64_t, k->view[2], p, 0);
        memset(count, 0, a->buckets * sizeof *count);
        for (size_t i = first; i < end; i++)
            count[bucket_of(TACIT_GET1(uint64_t, k->view[0], i), a->buckets)]++;
        for (size_t b = 0, at = first; b < a->buckets; b++)
            count[b] = at += count[b];
        for (size_t i = end; i > first; i--) {
            const uint64_t key = TACIT_GET1(uint64_t, k->view[0], i - 1);
            TACIT_AT1(uint64_t, k->view[1], --count[bucket_of(key, a->buckets)]) = key;
        }
        for (size_t b = 0; b < a->buckets; b++)
            count[b] = (b + 1 < a->buckets ? count[b + 1] : end) - count[b];
    }
}

/* Views: the chunk's buckets in all pieces, in parts; where they lie there; where buckets begin in the result; the same
 * one after the other, to be written. */
static void sort_buckets(const tacit_launch *k)
{
    const struct group_args *a = k->args;
    const tacit_view places = k->view[1], start = k->view[2];
    TACIT_FOR (b, k->chunk, 0) {
        const size_t n = TACIT_GET1(uint64_t, start, b + 1) - TACIT_GET1(uint64_t, start, b);
        uint64_t *out = n ? &TACIT_AT1(uint64_t, k->view[3], TACIT_GET1(uint64_t, start, b)) : NULL, *to = out;
        for (size_t p = 0; p < a->pieces; p++) {
            const size_t first = TACIT_GET2(uint64_t, places, p, b),
                         here = TACIT_GET2(uint64_t, places, p, b + 1) - first;
            const tacit_view *part = here ? tacit_part_of(&k->view[0], first, 0, 0) : NULL;
            if (part) {
                memcpy(to, &TACIT_GET1(uint64_t, *part, first), here * sizeof *to);
                to += here;
            }
        }
        if (n)
            qsort(out, n, sizeof *out, by_value);
    }
}

/* Views: the chunk's keys and the one before; where buckets begin; two sums: of pairs in the wrong order, and of the
 * keys, scrambled. */
static void check(const tacit_launch *k)
{
    const size_t first = TACIT_GET1(uint64_t, k->view[1], k->chunk.min[0]),
                 end = TACIT_GET1(uint64_t, k->view[1], k->chunk.max[0]);
    uint64_t wrong = 0, sum = 0;
    for (size_t i = first; i < end; i++) {
        const uint64_t key = TACIT_GET1(uint64_t, k->view[0], i);
        wrong += i > 0 && TACIT_GET1(uint64_t, k->view[0], i - 1) > key;
        sum += random_bits(key);
    }
    TACIT_AT1(uint64_t, k->view[2], 0) += wrong;
    TACIT_AT1(uint64_t, k->view[2], 1) += sum;
}

/* ---------------------------------------------------------------- the program, as tasks */

struct outcome {
    size_t keys, fullest;
    uint64_t check[2];
    uint64_t *sorted; /* with --verify */
    double seconds;
    struct example_traffic traffic;
};

static tacit_buffer *create(tacit_context *ctx, const char *name, tacit_range range)
{
    const tacit_buffer_desc desc = { .name = name, .range = range, .elem_size = sizeof(uint64_t) };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

/* What the program knows on all nodes, for kernels. It is read when it is needed, and lives as long. */
static tacit_buffer *create_known(tacit_context *ctx, const char *name, tacit_range range, const uint64_t *value)
{
    const tacit_buffer_desc desc = { .name = name, .range = range, .elem_size = sizeof *value, .init = value };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

static tacit_kernel kernel_of(tacit_host_kernel *host, const char *entry)
{
    return example_kernel(host, sort_text, entry, 0);
}

static tacit_mapper create_mapper(tacit_context *ctx, tacit_mapper_fn *map, const void *user, size_t size)
{
    int handle;
    CHECK(tacit_mapper_create(ctx, map, user, size, 0, &handle));
    return tacit_custom(handle);
}

/* Sums of what comes before: count + 1 of them, from `from` on. */
static uint64_t *running_sums(const uint64_t *value, size_t count, uint64_t from)
{
    uint64_t *sum = example_alloc(count + 1, sizeof *sum);
    sum[0] = from;
    for (size_t i = 0; i < count; i++)
        sum[i + 1] = sum[i] + value[i];
    return sum;
}

/* A dry run has no counts: as many as are likely, evenly spread. */
static void guess_counts(const tacit_context *ctx, size_t n, size_t parts, uint64_t *count)
{
    for (size_t i = 0; i < parts && tacit_is_dry_run(ctx); i++)
        count[i] = share(n, parts, i + 1) - share(n, parts, i);
}

/* Keys that pass are written behind those that are there. Returns how many there are then. */
static size_t append_batch(tacit_context *ctx, const struct sort_options *o, size_t batch, size_t pieces,
                           tacit_buffer *kept, tacit_buffer *keys, size_t before)
{
    struct draw_args args = { .seed = o->seed, .first = batch * o->items, .items = o->items, .pieces = pieces };
    uint64_t *count = example_alloc(pieces, sizeof *count);
    const tacit_task counting = { .name = "count",
                                  .range = TACIT_RANGE(pieces),
                                  .kernel = kernel_of(count_kept, "count_kept"),
                                  TACIT_ARGS(args),
                                  .access = { tacit_write(kept, tacit_one_to_one()) } };
    CHECK(tacit_submit(ctx, &counting));
    CHECK(tacit_fence_read(ctx, kept, TACIT_BOX_ALL, count));
    guess_counts(ctx, o->items / 5 + 1, pieces, count);
    uint64_t *start = running_sums(count, pieces, before);
    const size_t all = start[pieces];
    if (all > before) {
        const tacit_mapper runs = create_mapper(ctx, map_runs, start, (pieces + 1) * sizeof *start);
        tacit_buffer *starts = create_known(ctx, "starts", TACIT_RANGE(pieces + 1), start);
        const tacit_task drawing = { .name = "draw",
                                     .range = TACIT_RANGE(pieces),
                                     .kernel = kernel_of(draw, "draw"),
                                     TACIT_ARGS(args),
                                     .access = { tacit_read(starts, tacit_all()), tacit_write(keys, runs) } };
        CHECK(tacit_buffer_resize(ctx, keys, TACIT_RANGE(all)));
        CHECK(tacit_submit(ctx, &drawing));
        CHECK(tacit_mapper_destroy(ctx, runs.arg));
        CHECK(tacit_buffer_destroy(ctx, starts));
    }
    free(start);
    free(count);
    return all;
}

static tacit_buffer *create_keys(tacit_context *ctx, const struct sort_options *o, size_t pieces, size_t *n)
{
    tacit_buffer *kept = create(ctx, "kept", TACIT_RANGE(pieces)), *keys = create(ctx, "keys", TACIT_RANGE(1));
    *n = 0;
    for (size_t batch = 0; batch < o->batches; batch++)
        *n = append_batch(ctx, o, batch, pieces, kept, keys, *n);
    CHECK(tacit_buffer_destroy(ctx, kept));
    return keys;
}

/* Group the pieces of the keys. `count` gets the number of keys of each bucket of each piece. */
static tacit_buffer *group_keys(tacit_context *ctx, const struct group_args *args, tacit_buffer *keys, uint64_t *count)
{
    tacit_buffer *grouped = create(ctx, "grouped", TACIT_RANGE(args->keys)),
                 *counts = create(ctx, "counts", TACIT_RANGE(args->pieces, args->buckets));
    uint64_t *start = example_alloc(args->pieces + 1, sizeof *start);
    for (size_t p = 0; p <= args->pieces; p++)
        start[p] = share(args->keys, args->pieces, p);
    const tacit_mapper runs = create_mapper(ctx, map_runs, start, (args->pieces + 1) * sizeof *start);
    const tacit_task grouping = {
        .name = "group",
        .range = TACIT_RANGE(args->pieces),
        .kernel = kernel_of(group, "group"),
        .args = args,
        .args_size = sizeof *args,
        .access = { tacit_read(keys, runs), tacit_write(grouped, runs),
                    tacit_write(counts, tacit_components(tacit_dim(0), tacit_full(), tacit_full())) },
    };
    CHECK(tacit_submit(ctx, &grouping));
    CHECK(tacit_mapper_destroy(ctx, runs.arg));
    CHECK(tacit_fence_read(ctx, counts, TACIT_BOX_ALL, count));
    for (size_t p = 0; p < args->pieces; p++)
        guess_counts(ctx, start[p + 1] - start[p], args->buckets, count + p * args->buckets);
    CHECK(tacit_buffer_destroy(ctx, counts));
    free(start);
    return grouped;
}

/* What the counts say: where the keys of each bucket are. */
static struct places *find_places(const struct group_args *a, const uint64_t *count, size_t *size)
{
    *size = sizeof(struct places) + a->pieces * (a->buckets + 1) * sizeof(uint64_t);
    struct places *places = example_alloc(1, *size);
    places->pieces = a->pieces;
    places->buckets = a->buckets;
    for (size_t p = 0; p < a->pieces; p++) {
        uint64_t *at = places->at + p * (a->buckets + 1);
        at[0] = share(a->keys, a->pieces, p);
        for (size_t b = 0; b < a->buckets; b++)
            at[b + 1] = at[b] + count[p * a->buckets + b];
    }
    return places;
}

/* Keys of each bucket, in all pieces together. */
static uint64_t *sizes_of_buckets(const struct group_args *a, const uint64_t *count, size_t *fullest)
{
    uint64_t *size = example_alloc(a->buckets, sizeof *size);
    *fullest = 0;
    for (size_t b = 0; b < a->buckets; b++) {
        for (size_t p = 0; p < a->pieces; p++)
            size[b] += count[p * a->buckets + b];
        *fullest = size[b] > *fullest ? size[b] : *fullest;
    }
    return size;
}

/* Sort the buckets, and look whether the result is sorted. */
static void sort_keys(tacit_context *ctx, const struct sort_options *o, const struct group_args *a,
                      tacit_buffer *grouped, const uint64_t *count, struct outcome *out)
{
    static const uint64_t zero;
    size_t bytes;
    struct places *places = find_places(a, count, &bytes);
    uint64_t *size = sizes_of_buckets(a, count, &out->fullest), *start = running_sums(size, a->buckets, 0);
    const size_t start_bytes = (a->buckets + 1) * sizeof *start;
    tacit_buffer *sorted = create(ctx, "sorted", TACIT_RANGE(a->keys)), *sums = create(ctx, "sums", TACIT_RANGE(2));
    tacit_weights *by_size;
    CHECK(tacit_weights_create(ctx, a->buckets, size, &by_size));
    CHECK(tacit_fill(ctx, sums, &zero));
    tacit_buffer *known[] = { create_known(ctx, "places", TACIT_RANGE(a->pieces, a->buckets + 1), places->at),
                              create_known(ctx, "starts", TACIT_RANGE(a->buckets + 1), start) };
    const tacit_hints hint = { .item_weights = o->equal ? NULL : by_size };
    const tacit_task sorting = {
        .name = "sort",
        .range = TACIT_RANGE(a->buckets),
        .kernel = kernel_of(sort_buckets, "sort_buckets"),
        .args = a,
        .args_size = sizeof *a,
        .hint = hint,
        .access = { tacit_in_parts(tacit_read(grouped, create_mapper(ctx, map_places, places, bytes))),
                    tacit_read(known[0], tacit_all()), tacit_read(known[1], tacit_all()),
                    tacit_write(sorted, create_mapper(ctx, map_runs, start, start_bytes)) },
    };
    const tacit_task checking = {
        .name = "check",
        .range = TACIT_RANGE(a->buckets),
        .kernel = kernel_of(check, "check"),
        .hint = hint,
        .access = { tacit_read(sorted, create_mapper(ctx, map_runs_and_last, start, start_bytes)),
                    tacit_read(known[1], tacit_all()), tacit_reduce(sums, tacit_sum(TACIT_UINT64)) },
    };
    CHECK(tacit_submit(ctx, &sorting));
    CHECK(tacit_submit(ctx, &checking));
    CHECK(tacit_weights_destroy(ctx, by_size));
    CHECK(tacit_fence_read(ctx, sums, TACIT_BOX_ALL, out->check));
    if (o->common.verify) {
        out->sorted = example_alloc(a->keys, sizeof *out->sorted);
        CHECK(tacit_fence_read(ctx, sorted, TACIT_BOX_ALL, out->sorted));
    }
    free(places);
    free(size);
    free(start);
}

/* False: there are no keys. */
static bool compute(tacit_context *ctx, const struct sort_options *o, struct outcome *out)
{
    const size_t pieces = PIECES_PER_NODE * (size_t)tacit_num_nodes(ctx);
    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    tacit_buffer *keys = create_keys(ctx, o, pieces, &out->keys);
    if (out->keys == 0)
        return false;
    const struct group_args args = { out->keys, pieces, o->buckets };
    uint64_t *count = example_alloc(pieces * o->buckets, sizeof *count);
    tacit_buffer *grouped = group_keys(ctx, &args, keys, count);
    CHECK(tacit_buffer_destroy(ctx, keys));
    sort_keys(ctx, o, &args, grouped, count, out);
    free(count);
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
    return true;
}

/* ---------------------------------------------------------------- the same, sequentially */

/* Whether a plain sequential program gets the same. */
static bool is_right(const struct sort_options *o, const struct outcome *out)
{
    uint64_t *key = example_alloc(out->keys, sizeof *key), one;
    size_t n = 0;
    for (size_t i = 0; i < o->items * o->batches; i++)
        if (is_kept(o->seed, i, &one)) {
            if (n < out->keys)
                key[n] = one;
            n++;
        }
    bool good = n == out->keys;
    qsort(key, out->keys, sizeof *key, by_value);
    good = good && memcmp(key, out->sorted, out->keys * sizeof *key) == 0;
    free(key);
    return good;
}

/* ---------------------------------------------------------------- results, options and main */

static bool report(tacit_context *ctx, const struct sort_options *o, const struct outcome *out)
{
    struct example_report r;
    char sum[17];
    bool good = out->check[0] == 0 && (!o->common.verify || is_right(o, out));
    example_report_begin(&r, ctx, &o->common, "sort: keys whose number nobody knows before");
    example_report_count(&r, "candidates", "candidates", o->items * o->batches);
    example_report_count(&r, "batches", "batches", o->batches);
    example_report_count(&r, "keys", "keys that were kept", out->keys);
    example_report_count(&r, "buckets", "buckets", o->buckets);
    example_report_text(&r, "split", "buckets are split", o->equal ? "by number" : "by their keys");
    example_report_count(&r, "fullest_bucket", "keys of the fullest bucket", out->fullest);
    example_report_real(&r, "seconds", "time to draw and sort", out->seconds, "s");
    example_report_real(&r, "keys_per_second", "keys per second", (double)out->keys / out->seconds, "");
    example_report_traffic(&r, &out->traffic, 0, NULL);
    example_report_count(&r, "wrong_pairs", "pairs in the wrong order", out->check[0]);
    snprintf(sum, sizeof sum, "%016" PRIx64, out->check[1]);
    example_report_text(&r, "checksum", "checksum of the keys", sum);
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

enum { KEY_ITEMS = 1, KEY_BATCHES, KEY_BUCKETS, KEY_SEED, KEY_EQUAL };

static const struct argp_option option_list[] = {
    { "items", KEY_ITEMS, "NUMBER", 0, "Candidates of a batch, of which one in five is kept (5000000)", 1 },
    { "batches", KEY_BATCHES, "NUMBER", 0, "Batches (4)", 1 },
    { "seed", KEY_SEED, "NUMBER", 0, "Seed of the random candidates (1)", 1 },
    { "buckets", KEY_BUCKETS, "NUMBER", 0, "Number of buckets (1024)", 2 },
    { "equal", KEY_EQUAL, NULL, 0, "Split buckets by their number, not by their keys", 2 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sort_options *o = state->input;
    switch (key) {
    case KEY_ITEMS:
        return example_parse_size(state, "--items", arg, 1, (size_t)1 << 36, &o->items);
    case KEY_BATCHES:
        return example_parse_size(state, "--batches", arg, 1, 1000, &o->batches);
    case KEY_BUCKETS:
        return example_parse_size(state, "--buckets", arg, 1, MOST_BUCKETS, &o->buckets);
    case KEY_SEED:
        return example_parse_size(state, "--seed", arg, 0, 1 << 20, &o->seed);
    case KEY_EQUAL:
        o->equal = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool run(tacit_context *ctx, const struct sort_options *o)
{
    struct outcome out = { 0 };
    bool good = compute(ctx, o, &out);
    if (!good && tacit_node(ctx) == 0)
        fprintf(stderr, "none of the %zu candidates was kept; use more, or another seed\n", o->items * o->batches);
    good = good && (tacit_node(ctx) != 0 || report(ctx, o, &out));
    free(out.sorted);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp argp = { option_list, parse, NULL, "A distributed sort without padding.", NULL, NULL, NULL };
    struct sort_options o = { .items = 5000000, .batches = 4, .buckets = 1024, .seed = 1 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help)
        good = run(ctx, &o);
    return example_end(ctx, error, good);
}
