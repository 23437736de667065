/* examples/rsim.c: how an impulse of light fills a room: the radiosity of its surfaces over time.
 *
 * The scene is a set of triangles. What falls on a triangle in a time step was sent by all triangles that it sees, each
 * at an earlier time: light takes as many steps as the distance is long. So the main buffer R has one row for each time
 * step and one column for each triangle; step t writes row t, and reads the rows before it. Every node computes some of
 * the triangles, and needs what all others computed before. This is the pattern of a program whose data grows with
 * every step ("generative"). RSim has it (Thoman, Wippler, Hranitzky, Gschwandtner, Fahringer: Multi-GPU Room Response
 * Simulation with Hardware Raytracing, Concurrency and Computation 34(4), 2022), of which Thoman and Salzmann show the
 * scaling ("Balancing Tracking Granularity and Parallelism in Many-Task Systems: The Horizons Approach", 2024, figure
 * 11); here it is in its direct form.
 *
 * Both the couplings and the steps have kernels for OpenCL and CUDA devices as well (rsim_light.h).
 *
 * A first task finds for each pair of triangles whether they see each other, how much light goes from one to the
 * other, and how late. That is most of the work for short runs. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "png_image.h"
#include "rsim_light.h"
#include "rsim_scene.h"
#include "same_input.h"

enum { MAX_STEPS = 100000, MAX_TRIANGLES = 20000, MAX_DETAIL = 20 };

struct rsim_options {
    struct example_options common;
    size_t steps, detail;
    double stride; /* metres that light goes in one time step */
    const char *obj, *image;
    bool read_all;
};

/* ---------------------------------------------------------------- the physics, used by kernels and by --verify */

/* The couplings of triangle i with all others. A triangle cannot get more than all light there is: the sum is at most
 * 1. */
static void couple(const struct room *r, const struct triangle *all, size_t i, struct coupling *row)
{
    double sum = 0;
    for (size_t j = 0; j < r->triangles; j++) {
        double factor = scene_form_factor(all, r->triangles, i, j);
        row[j] = coupling_of(factor, all[i], all[j], r->stride);
        sum += factor;
    }
    for (size_t j = 0; j < r->triangles && sum > 1; j++)
        row[j].factor = (float)(row[j].factor / sum);
}

/* The radiosity of a triangle at a step: `past` is the row before it, and `width` the distance of rows. */
static double radiosity(const struct room *r, const struct triangle *self, const struct coupling *row,
                        const double *past, size_t width)
{
    double incident = 0;
    for (size_t j = 0; j < r->triangles; j++)
        if (row[j].factor > 0 && (size_t)row[j].delay <= r->step)
            incident += row[j].factor * *(past + j - (size_t)(row[j].delay - 1) * width);
    return self->reflectance * incident;
}

/* ---------------------------------------------------------------- kernels */

/* Views: all triangles; the rows of the chunk's couplings. */
static void couple_all(const tacit_launch *k)
{
    const struct room *r = k->args;
    const struct triangle *all = &TACIT_GET1(struct triangle, k->view[0], 0);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        couple(r, all, i, &TACIT_AT2(struct coupling, k->view[1], i, 0));
}

/* Views: the chunk's triangles; row 0 of the radiosity. */
static void emit(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT2(double, k->view[1], 0, i) = TACIT_GET1(struct triangle, k->view[0], i).emission;
}

/* Views: the chunk's triangles; their couplings; the rows before this step; the chunk's part of its row. */
static void spread(const tacit_launch *k)
{
    const struct room *r = k->args;
    const double *past = &TACIT_GET2(double, k->view[2], r->step - 1, 0);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT2(double, k->view[3], r->step, i) = radiosity(r, &TACIT_GET1(struct triangle, k->view[0], i),
                                                              &TACIT_GET2(struct coupling, k->view[1], i, 0), past,
                                                              k->view[2].ld);
}

/* ---------------------------------------------------------------- the program, as tasks */

struct outcome {
    double *value; /* steps x triangles */
    double seconds;
    struct example_traffic traffic;
};

struct buffers {
    tacit_buffer *scene, *couplings, *radiosity;
};

static struct buffers create_buffers(tacit_context *ctx, const struct rsim_options *o, const struct scene *s)
{
    struct buffers b;
    const tacit_buffer_desc scene = {
        .name = "scene", .range = TACIT_RANGE(s->count), .elem_size = sizeof(struct triangle), .init = s->triangle
    };
    const tacit_buffer_desc couplings = { .name = "couplings",
                                          .range = TACIT_RANGE(s->count, s->count),
                                          .elem_size = sizeof(struct coupling) };
    const tacit_buffer_desc radiosity = { .name = "radiosity",
                                          .range = TACIT_RANGE(o->steps, s->count),
                                          .elem_size = sizeof(double) };
    CHECK(tacit_buffer_create(ctx, &scene, &b.scene));
    CHECK(tacit_buffer_create(ctx, &couplings, &b.couplings));
    CHECK(tacit_buffer_create(ctx, &radiosity, &b.radiosity));
    return b;
}

/* The couplings, and the impulse as the first row. */
static void submit_start(tacit_context *ctx, const struct buffers *b, const struct room *r)
{
    CHECK(tacit_submit(
        ctx, &(tacit_task){ .name = "couple",
                            .range = TACIT_RANGE(r->triangles),
                            .kernel = { .host = couple_all,
                                        .opencl = { .source = rsim_source, .entry = "couple", .group = { 16 } },
                                        .cuda = { .source = rsim_source, .entry = "couple", .group = { 32 } } },
                            TACIT_ARGS(*r),
                            .access = { tacit_read(b->scene, tacit_all()),
                                        tacit_write(b->couplings,
                                                    tacit_components(tacit_dim(0), tacit_full(), tacit_full())) } }));
    CHECK(tacit_submit(
        ctx, &(tacit_task){ .name = "emit",
                            .range = TACIT_RANGE(r->triangles),
                            .kernel = { .host = emit },
                            .access = { tacit_read(b->scene, tacit_one_to_one()),
                                        tacit_write(b->radiosity, tacit_components(tacit_span(0, 1), tacit_dim(0),
                                                                                   tacit_full())) } }));
}

/* Compute row t from the rows before it, at most `rows` of them. */
static void submit_step(tacit_context *ctx, const struct buffers *b, const struct room *r)
{
    const size_t t = r->step, first = t > r->rows ? t - r->rows : 0;
    CHECK(tacit_submit(
        ctx,
        &(tacit_task){
            .name = "spread",
            .range = TACIT_RANGE(r->triangles),
            .kernel = { .host = spread,
                        .opencl = { .source = rsim_source, .entry = "spread", .group = { 16 } },
                        .cuda = { .source = rsim_source, .entry = "spread", .group = { 64 } } },
            TACIT_ARGS(*r),
            .access = {
                tacit_read(b->scene, tacit_one_to_one()),
                tacit_read(b->couplings, tacit_components(tacit_dim(0), tacit_full(), tacit_full())),
                tacit_read(b->radiosity, tacit_components(tacit_span(first, t), tacit_full(), tacit_full())),
                tacit_write(b->radiosity, tacit_components(tacit_span(t, t + 1), tacit_dim(0), tacit_full())) } }));
}

static void compute(tacit_context *ctx, const struct rsim_options *o, const struct scene *s, struct room *r,
                    struct outcome *out)
{
    const struct buffers b = create_buffers(ctx, o, s);
    submit_start(ctx, &b, r);
    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    for (r->step = 1; r->step < o->steps; r->step++) {
        submit_step(ctx, &b, r);
        if (r->step % 64 == 0)
            example_progress(ctx, &o->common, b.scene, r->step, o->steps);
    }
    CHECK(tacit_wait(ctx));
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
    CHECK(tacit_fence_read(ctx, b.radiosity, TACIT_BOX_ALL, out->value));
}

/* ---------------------------------------------------------------- the same, sequentially */

/* Whether a plain sequential program gets the same bits. */
static bool is_right(const struct rsim_options *o, const struct scene *s, struct room *r, const struct outcome *out)
{
    const size_t n = s->count;
    struct coupling *couplings = example_alloc(n * n, sizeof *couplings);
    double *value = example_alloc(o->steps * n, sizeof *value);
    for (size_t i = 0; i < n; i++) {
        couple(r, s->triangle, i, couplings + i * n);
        value[i] = s->triangle[i].emission;
    }
    for (r->step = 1; r->step < o->steps; r->step++)
        for (size_t i = 0; i < n; i++)
            value[r->step * n + i] = radiosity(r, &s->triangle[i], couplings + i * n, value + (r->step - 1) * n, n);
    bool good = memcmp(value, out->value, o->steps * n * sizeof *value) == 0;
    free(couplings);
    free(value);
    return good;
}

/* ---------------------------------------------------------------- results */

struct arrival {
    size_t triangle, first; /* the first step in which light arrives */
};

static int by_arrival(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

/* Time to the right, a row of pixels for each triangle, sorted by when light arrives first; brightness is the
 * logarithm of radiosity. */
static bool write_image(const struct rsim_options *o, size_t n, const double *value)
{
    struct arrival *order = example_alloc(n, sizeof *order);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        order[i] = (struct arrival){ i, 0 };
        while (order[i].first < o->steps && !(value[order[i].first * n + i] > 0))
            order[i].first++;
        for (size_t t = 1; t < o->steps; t++)
            most = fmax(most, value[t * n + i]);
    }
    qsort(order, n, sizeof *order, by_arrival);
    struct picture picture = picture_create(o->steps, n);
    for (size_t y = 0; y < n; y++)
        for (size_t t = 0; t < o->steps; t++) {
            double v = value[t * n + order[y].triangle];
            picture_set_glow(&picture, t, y, v > 0 && most > 0 ? 1 + log10(v / most) / 6 : 0);
        }
    bool good = picture_write(&picture, o->image);
    picture_destroy(&picture);
    free(order);
    return good;
}

/* The step after which half of all light that ever falls on the scene has fallen. */
static size_t half_time(const struct rsim_options *o, const struct scene *s, const double *value)
{
    double total = 0, sum = 0;
    for (size_t e = s->count; e < o->steps * s->count; e++)
        total += value[e] * s->triangle[e % s->count].area;
    for (size_t e = s->count; e < o->steps * s->count; e++) {
        sum += value[e] * s->triangle[e % s->count].area;
        if (2 * sum >= total)
            return e / s->count;
    }
    return 0;
}

static bool report(tacit_context *ctx, const struct rsim_options *o, const struct scene *s, struct room *r,
                   const struct outcome *out)
{
    struct example_report e;
    char hash[17];
    bool good = (!o->common.verify || is_right(o, s, r, out)) && (!o->image || write_image(o, s->count, out->value));

    example_report_begin(&e, ctx, &o->common, "rsim: an impulse of light fills a room");
    example_report_text(&e, "scene", "scene", o->obj ? o->obj : "generated room");
    example_report_count(&e, "triangles", "triangles", s->count);
    example_report_count(&e, "steps", "time steps", o->steps);
    example_report_count(&e, "rows", "longest way of light, steps", (uint64_t)(s->reach / o->stride) + 1);
    example_report_count(&e, "half_step", "half of the light is there at", half_time(o, s, out->value));
    example_report_real(&e, "seconds", "time for all steps", out->seconds, "s");
    example_report_real(&e, "steps_per_second", "steps per second", (double)(o->steps - 1) / out->seconds, "");
    example_report_traffic(&e, &out->traffic, 0, NULL);
    snprintf(hash, sizeof hash, "%016" PRIx64, example_hash(out->value, o->steps * s->count * sizeof(double)));
    example_report_text(&e, "values_hash", "hash of the result", hash);
    example_report_verified(&e, &o->common, good);
    example_report_end(&e);
    return good;
}

/* ---------------------------------------------------------------- options and main */

enum { KEY_STEPS = 1, KEY_DETAIL, KEY_STRIDE, KEY_OBJ, KEY_IMAGE, KEY_READ_ALL };

static const struct argp_option option_list[] = {
    { "steps", KEY_STEPS, "NUMBER", 0, "Time steps (1000)", 1 },
    { "detail", KEY_DETAIL, "NUMBER", 0, "How finely the generated room is cut, 1 to 20 (2)", 1 },
    { "obj", KEY_OBJ, "FILE", 0,
      "Simulate the scene of this Wavefront OBJ file, in metres; all nodes must be able to read it", 1 },
    { "stride", KEY_STRIDE, "METRES", 0, "How far light goes in one step (0.1)", 1 },
    { "image", KEY_IMAGE, "FILE", 0, "Write the response over time as a PNG file", 2 },
    { "read-all", KEY_READ_ALL, NULL, 0,
      "Declare that a step reads all rows before it, not only those that light can come from", 2 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct rsim_options *o = state->input;
    switch (key) {
    case KEY_STEPS:
        return example_parse_size(state, "--steps", arg, 2, MAX_STEPS, &o->steps);
    case KEY_DETAIL:
        return example_parse_size(state, "--detail", arg, 1, MAX_DETAIL, &o->detail);
    case KEY_STRIDE:
        return example_parse_real(state, "--stride", arg, 1e-3, 1e3, &o->stride);
    case KEY_OBJ:
        o->obj = arg;
        return 0;
    case KEY_IMAGE:
        o->image = arg;
        return 0;
    case KEY_READ_ALL:
        o->read_all = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The scene, the same on all nodes; false if any node could not read it. */
static bool get_scene(tacit_context *ctx, const struct rsim_options *o, struct scene *out)
{
    if (!o->obj) {
        *out = scene_room(o->detail);
        return true;
    }
    bool read = scene_read_obj(o->obj, MAX_TRIANGLES, tacit_node(ctx) == 0, out);
    const struct input_found found = { read,
                                       read ? example_hash(out->triangle, out->count * sizeof *out->triangle) : 0 };
    return same_input(ctx, o->obj, found);
}

static bool run(tacit_context *ctx, const struct rsim_options *o)
{
    struct scene s = { 0 };
    bool good = get_scene(ctx, o, &s);
    if (good) {
        struct room r = { .triangles = s.count, .stride = o->stride };
        r.rows = o->read_all ? o->steps : (size_t)(s.reach / o->stride) + 1;
        struct outcome out = { .value = example_alloc(o->steps * s.count, sizeof(double)) };
        compute(ctx, o, &s, &r, &out);
        good = tacit_node(ctx) != 0 || report(ctx, o, &s, &r, &out);
        free(out.value);
    }
    scene_destroy(&s);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp argp = { option_list, parse, NULL, "An impulse of light fills a room.", NULL, NULL, NULL };
    struct rsim_options o = { .steps = 1000, .detail = 2, .stride = 0.1 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help)
        good = run(ctx, &o);
    return example_end(ctx, error, good);
}
