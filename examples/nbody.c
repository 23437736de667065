/* examples/nbody.c: gravity, directly summed: every body attracts every other one. Double precision, leapfrog.
 *
 * Read `simulate` first: it is the whole parallel program. A step is two tasks. `kick` changes the velocity of each
 * body by the pull of all bodies: its access list says that a chunk of the range reads *all* positions and updates
 * *its own* velocities. `drift` moves each body: it reads and updates only its own. From that tacit knows that after
 * each drift every node needs the positions of all others, and sends them.
 *
 * The final positions are the same, bit for bit, on any number of nodes and threads and on any device, because the pull
 * on a body is always summed in the same order: in some parts, of which part k of 8 has the bodies k, k + 8, and so on.
 * So a GPU can have a thread for each part, and is busy with few bodies, too. That also needs a compiler that does not
 * fuse or reorder what the source says: no -ffast-math, and no contraction of a * b + c, which GCC leaves alone in ISO
 * C mode and clang does when told so here. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "nbody_bodies.h"
#include "png_image.h"

static const double AU_KM = 149597870.7;

/* The kernels for OpenCL and CUDA devices. The work-items of a group share a tile of positions and masses, as arrays of
 * coordinates. Each of a body's sums its part of the pull; then these are added up in order. */
#define KERNELS                                                                                                        \
    "struct vec3 { double x, y, z; };\n"                                                                               \
    "TACIT_KERNEL kick(TACIT_VIEW(P), TACIT_VIEW(M), TACIT_VIEW(V), TACIT_CHUNK(c), TACIT_VALUE(struct step, s),\n"    \
    "                  TACIT_SCRATCH(double, x))\n"                                                                    \
    "{\n"                                                                                                              \
    "    const ulong i = TACIT_INDEX(c, 0);\n"                                                                         \
    "    const uint part = TACIT_GROUP_ID(1), parts = TACIT_GROUP_SIZE(1);\n"                                          \
    "    const uint size = TACIT_GROUP_SIZE(0) * parts, own = TACIT_GROUP_ID(0) * parts + part;\n"                     \
    "    TACIT_SHARED double *y = x + size, *z = y + size, *m = z + size;\n"                                           \
    "    const struct vec3 here = TACIT_GET1(struct vec3, P, i < c.max[0] ? i : c.min[0]);\n"                          \
    "    double ax = 0, ay = 0, az = 0;\n"                                                                             \
    "    for (ulong first = 0; first < s.bodies; first += size) {\n"                                                   \
    "        const uint count = s.bodies - first < size ? (uint)(s.bodies - first) : size;\n"                          \
    "        TACIT_BARRIER();\n"                                                                                       \
    "        if (own < count) {\n"                                                                                     \
    "            const struct vec3 there = TACIT_GET1(struct vec3, P, first + own);\n"                                 \
    "            x[own] = there.x;\n"                                                                                  \
    "            y[own] = there.y;\n"                                                                                  \
    "            z[own] = there.z;\n"                                                                                  \
    "            m[own] = TACIT_GET1(double, M, first + own);\n"                                                       \
    "        }\n"                                                                                                      \
    "        TACIT_BARRIER();\n"                                                                                       \
    "        for (uint l = part; l < count; l += parts) {\n"                                                           \
    "            const double dx = x[l] - here.x, dy = y[l] - here.y, dz = z[l] - here.z;\n"                           \
    "            const double r2 = dx * dx + dy * dy + dz * dz + s.softening2;\n"                                      \
    "            const double w = m[l] / (r2 * sqrt(r2));\n"                                                           \
    "            ax += w * dx;\n"                                                                                      \
    "            ay += w * dy;\n"                                                                                      \
    "            az += w * dz;\n"                                                                                      \
    "        }\n"                                                                                                      \
    "    }\n"                                                                                                          \
    "    TACIT_BARRIER();\n"                                                                                           \
    "    x[own] = ax;\n"                                                                                               \
    "    y[own] = ay;\n"                                                                                               \
    "    z[own] = az;\n"                                                                                               \
    "    TACIT_BARRIER();\n"                                                                                           \
    "    if (i < c.max[0] && part == 0) {\n"                                                                           \
    "        struct vec3 v = TACIT_GET1(struct vec3, V, i);\n"                                                         \
    "        for (uint l = own + 1; l < own + parts; l++) {\n"                                                         \
    "            ax += x[l];\n"                                                                                        \
    "            ay += y[l];\n"                                                                                        \
    "            az += z[l];\n"                                                                                        \
    "        }\n"                                                                                                      \
    "        v.x += s.kick * ax;\n"                                                                                    \
    "        v.y += s.kick * ay;\n"                                                                                    \
    "        v.z += s.kick * az;\n"                                                                                    \
    "        TACIT_AT1(struct vec3, V, i) = v;\n"                                                                      \
    "    }\n"                                                                                                          \
    "}\n"                                                                                                              \
    "TACIT_KERNEL drift(TACIT_VIEW(V), TACIT_VIEW(P), TACIT_CHUNK(c), TACIT_VALUE(struct step, s))\n"                  \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, c, 0) {\n"                                                                                      \
    "        const struct vec3 v = TACIT_GET1(struct vec3, V, i);\n"                                                   \
    "        struct vec3 p = TACIT_GET1(struct vec3, P, i);\n"                                                         \
    "        p.x += s.drift * v.x;\n"                                                                                  \
    "        p.y += s.drift * v.y;\n"                                                                                  \
    "        p.z += s.drift * v.z;\n"                                                                                  \
    "        TACIT_AT1(struct vec3, P, i) = p;\n"                                                                      \
    "    }\n"                                                                                                          \
    "}\n"

/* Parts of a sum, a power of two: so many that some thousand bodies make a GPU busy, and one for hundreds of thousands,
 * which do anyway. It is a matter of how many bodies there are in all: so results do not depend on nodes. */
enum { MOST_PARTS = 32, FEW_BODIES = 1 << 18, PARTS_OF_FEW = 8 };
/* Work-items of a group: of one part for each body, of several, and of drifts. */
enum { GROUP = 64, GROUP_OF_PARTS = 256 };

TACIT_BOTH(
    nbody_source, KERNELS,
    /* The arguments of the kernels. Times are those of this kick and this drift. */
    struct step {
        double kick, drift, softening2;
        uint64_t bodies, parts;
    };);

/* ---------------------------------------------------------------- the physics, as kernels */

/* Bodies that are computed at once, so that the compiler can use vector registers: one lane per body. */
enum { LANES = 8 };

/* The sums of all parts, three for each lane. */
struct sums {
    double x[LANES], y[LANES], z[LANES];
};

/* The pull of one part of the bodies on LANES of them. All lanes do the same arithmetic in the same order of j. */
static void attract_part(const struct vec3 *position, const double *mass, const struct step *s, size_t part,
                         const struct sums *here, struct sums *restrict out)
{
    struct sums a = { 0 };
    for (size_t j = part; j < s->bodies; j += s->parts) {
#pragma GCC unroll 1 /* leaves the loop over the lanes to the vectoriser */
        for (size_t l = 0; l < LANES; l++) {
            double dx = position[j].x - here->x[l], dy = position[j].y - here->y[l], dz = position[j].z - here->z[l];
            double r2 = dx * dx + dy * dy + dz * dz + s->softening2;
            double w = mass[j] / (r2 * sqrt(r2));
            a.x[l] += w * dx;
            a.y[l] += w * dy;
            a.z[l] += w * dz;
        }
    }
    *out = a;
}

/* The pull of all bodies on `count` <= LANES of them. */
static void attract(const struct vec3 *position, const double *mass, const struct step *s, const struct vec3 *at,
                    size_t count, struct vec3 *restrict pull)
{
    struct sums here, sum[MOST_PARTS];
    for (size_t l = 0; l < LANES; l++) {
        const struct vec3 *p = &at[l < count ? l : count - 1];
        here.x[l] = p->x, here.y[l] = p->y, here.z[l] = p->z;
    }
    for (size_t part = 0; part < s->parts; part++)
        attract_part(position, mass, s, part, &here, &sum[part]);
    for (size_t part = 1; part < s->parts; part++)
        for (size_t l = 0; l < LANES; l++) {
            sum[0].x[l] += sum[part].x[l];
            sum[0].y[l] += sum[part].y[l];
            sum[0].z[l] += sum[part].z[l];
        }
    for (size_t l = 0; l < count; l++)
        pull[l] = (struct vec3){ sum[0].x[l], sum[0].y[l], sum[0].z[l] };
}

/* Change the velocities of a chunk of the bodies. Views: all positions, all masses, the chunk's velocities. Parts of a
 * sum are not worth a thread here: who has the first one makes all of them. */
static void kick(const tacit_launch *k)
{
    const struct step *s = k->args;
    const struct vec3 *position = &TACIT_GET1(struct vec3, k->view[0], 0);
    const double *mass = &TACIT_GET1(double, k->view[1], 0);
    size_t end = k->chunk.min[1] == 0 ? k->chunk.max[0] : 0;
    for (size_t i = k->chunk.min[0]; i < end; i += LANES) {
        size_t count = end - i < LANES ? end - i : LANES;
        struct vec3 pull[LANES];
        attract(position, mass, s, position + i, count, pull);
        for (size_t l = 0; l < count; l++) {
            struct vec3 *v = &TACIT_AT1(struct vec3, k->view[2], i + l);
            v->x += s->kick * pull[l].x;
            v->y += s->kick * pull[l].y;
            v->z += s->kick * pull[l].z;
        }
    }
}

/* Move a chunk of the bodies. Views: the chunk's velocities, the chunk's positions. */
static void drift(const tacit_launch *k)
{
    const struct step *s = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        const struct vec3 *v = &TACIT_GET1(struct vec3, k->view[0], i);
        struct vec3 *p = &TACIT_AT1(struct vec3, k->view[1], i);
        p->x += s->drift * v->x;
        p->y += s->drift * v->y;
        p->z += s->drift * v->z;
    }
}

/* ---------------------------------------------------------------- the program, as tasks */

struct nbody_options {
    struct example_options common;
    const char *planets, *output, *png;
    size_t bodies, steps, seed, parts; /* no parts: by the number of bodies */
    double dt, softening;              /* not given: 0 and -1 */
    bool no_energy;
};

struct outcome {
    struct vec3 *position, *velocity;
    double seconds;
    struct example_traffic traffic;
};

/* A body's pull on itself must be 0, not 0 / 0: a softening that no sum of different bodies can see does that. */
static double softening2_of(const struct nbody_options *o)
{
    return o->softening * o->softening + 1e-200;
}

static size_t parts_of(const struct nbody_options *o, size_t bodies)
{
    return o->parts ? o->parts : bodies < FEW_BODIES ? PARTS_OF_FEW : 1;
}

/* A buffer with one element per body, which holds `init` at the start. */
static tacit_buffer *create(tacit_context *ctx, const char *name, size_t n, size_t elem_size, const void *init)
{
    const tacit_buffer_desc desc = {
        .name = name,
        .range = TACIT_RANGE(n),
        .elem_size = elem_size,
        .init = init,
    };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

/* Leapfrog: half a kick, then drifts with whole kicks between them, and half a kick at the end. */
static void simulate(tacit_context *ctx, const struct nbody_options *o, const struct bodies *b, struct outcome *out)
{
    const size_t n = b->count;
    tacit_buffer *P = create(ctx, "P", n, sizeof(struct vec3), b->position);
    tacit_buffer *V = create(ctx, "V", n, sizeof(struct vec3), b->velocity);
    tacit_buffer *M = create(ctx, "M", n, sizeof(double), b->mass);

    /* What a task points to is copied when it is submitted, so one description serves for all steps. */
    struct step step = { .drift = o->dt, .softening2 = softening2_of(o), .bodies = n, .parts = parts_of(o, n) };
    const size_t group = step.parts == 1 ? GROUP : GROUP_OF_PARTS, tile = group * 4 * sizeof(double);
    const tacit_task kick_them = {
        .name = "kick",
        .range = TACIT_RANGE(n, step.parts), /* split over nodes and devices along the bodies */
        .kernel = { .host = kick,
                    .opencl = { .source = nbody_source,
                                .entry = "kick",
                                .group = { group / step.parts, step.parts },
                                .local_bytes = tile },
                    .cuda = { .source = nbody_source,
                              .entry = "kick",
                              .group = { group / step.parts, step.parts },
                              .local_bytes = tile } },
        TACIT_ARGS(step),
        .access = { tacit_read(P, tacit_all()), tacit_read(M, tacit_all()),
                    tacit_update(V, tacit_components(tacit_dim(0), tacit_full(), tacit_full())) },
    };
    const tacit_task drift_them = {
        .name = "drift",
        .range = TACIT_RANGE(n),
        .kernel = { .host = drift,
                    .opencl = { .source = nbody_source, .entry = "drift", .group = { GROUP } },
                    .cuda = { .source = nbody_source, .entry = "drift", .group = { GROUP } } },
        TACIT_ARGS(step),
        .access = { tacit_read(V, tacit_one_to_one()), tacit_update(P, tacit_one_to_one()) },
    };

    struct example_traffic at_start = example_traffic_here(ctx);
    double start = example_seconds();
    for (size_t t = 0; t < o->steps; t++) {
        step.kick = t == 0 ? 0.5 * o->dt : o->dt;
        CHECK(tacit_submit(ctx, &kick_them));
        CHECK(tacit_submit(ctx, &drift_them));
        example_progress(ctx, &o->common, P, t + 1, o->steps);
    }
    step.kick = 0.5 * o->dt;
    CHECK(tacit_submit(ctx, &kick_them));
    CHECK(tacit_wait(ctx));
    out->seconds = example_seconds() - start;
    out->traffic = example_traffic_since(ctx, at_start);

    CHECK(tacit_fence_read(ctx, P, TACIT_BOX_ALL, out->position));
    CHECK(tacit_fence_read(ctx, V, TACIT_BOX_ALL, out->velocity));
}

/* ---------------------------------------------------------------- the same, sequentially */

static struct vec3 sequential_pull(const struct bodies *b, const struct vec3 *position, size_t i, double softening2,
                                   size_t parts)
{
    struct vec3 a[MOST_PARTS] = { 0 };
    for (size_t j = 0; j < b->count; j++) {
        struct vec3 d = sub3(position[j], position[i]);
        double r2 = d.x * d.x + d.y * d.y + d.z * d.z + softening2;
        double w = b->mass[j] / (r2 * sqrt(r2));
        a[j % parts].x += w * d.x;
        a[j % parts].y += w * d.y;
        a[j % parts].z += w * d.z;
    }
    for (size_t k = 1; k < parts; k++)
        a[0] = (struct vec3){ a[0].x + a[k].x, a[0].y + a[k].y, a[0].z + a[k].z };
    return a[0];
}

static void sequential_kick(const struct bodies *b, const struct vec3 *position, struct vec3 *velocity, double dt,
                            double softening2, size_t parts)
{
    for (size_t i = 0; i < b->count; i++) {
        struct vec3 a = sequential_pull(b, position, i, softening2, parts);
        velocity[i].x += dt * a.x;
        velocity[i].y += dt * a.y;
        velocity[i].z += dt * a.z;
    }
}

/* Whether a plain sequential program gets the same bits. */
static bool is_right(const struct nbody_options *o, const struct bodies *b, const struct outcome *out)
{
    const size_t bytes = b->count * sizeof(struct vec3);
    struct vec3 *p = example_alloc(b->count, sizeof *p), *v = example_alloc(b->count, sizeof *v);
    double softening2 = softening2_of(o);
    memcpy(p, b->position, bytes);
    memcpy(v, b->velocity, bytes);
    for (size_t t = 0; t < o->steps; t++) {
        sequential_kick(b, p, v, t == 0 ? 0.5 * o->dt : o->dt, softening2, parts_of(o, b->count));
        for (size_t i = 0; i < b->count; i++) {
            p[i].x += o->dt * v[i].x;
            p[i].y += o->dt * v[i].y;
            p[i].z += o->dt * v[i].z;
        }
    }
    sequential_kick(b, p, v, 0.5 * o->dt, softening2, parts_of(o, b->count));
    bool good = memcmp(p, out->position, bytes) == 0 && memcmp(v, out->velocity, bytes) == 0;
    free(p);
    free(v);
    return good;
}

/* ---------------------------------------------------------------- results, on node 0 */

static bool write_positions(const char *path, const struct vec3 *position, size_t n)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
        return false;
    }
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%.17g %.17g %.17g\n", position[i].x, position[i].y, position[i].z);
    bool good = fflush(file) == 0 && !ferror(file); /* a full disk is noticed here at the latest */
    good = fclose(file) == 0 && good;
    if (!good)
        fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
    return good;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The distance from the origin that has `fraction` of the bodies within. */
static double radius_of(const struct vec3 *position, size_t n, double fraction)
{
    double *r = example_alloc(n, sizeof *r);
    for (size_t i = 0; i < n; i++)
        r[i] = length3(position[i]);
    qsort(r, n, sizeof *r, compare_doubles);
    double radius = r[(size_t)(fraction * (double)(n - 1))];
    free(r);
    return radius;
}

/* Add a round, soft spot of light. */
static void add_spot(double *light, int size, double x, double y, double radius)
{
    int reach = (int)(3 * radius) + 1;
    for (int row = (int)y - reach; row <= (int)y + reach; row++)
        for (int column = (int)x - reach; column <= (int)x + reach; column++) {
            double dx = column - x, dy = row - y;
            if (row >= 0 && row < size && column >= 0 && column < size)
                light[row * size + column] += exp(-(dx * dx + dy * dy) / (radius * radius));
        }
}

/* The bodies as seen from above the plane of x and y. Planets are drawn with the square root of their distance. */
static bool write_picture(const char *path, const struct bodies *b, const struct vec3 *position)
{
    enum { SIZE = 800 };
    bool planets = b->interval > 0;
    double width = radius_of(position, b->count, planets ? 1.0 : 0.97) * 1.05;
    double *light = example_alloc((size_t)SIZE * SIZE, sizeof *light);
    for (size_t i = 0; i < b->count; i++) {
        double r = length3(position[i]) / width, stretch = planets && r > 0 ? 1.0 / sqrt(r) : 1.0;
        double x = stretch * position[i].x / width, y = stretch * position[i].y / width;
        add_spot(light, SIZE, 0.5 * SIZE * (1.0 + x), 0.5 * SIZE * (1.0 - y), planets ? 5.0 : 1.2);
    }
    struct picture picture = picture_create(SIZE, SIZE);
    for (size_t i = 0; i < (size_t)SIZE * SIZE; i++)
        picture_set_glow(&picture, i % SIZE, i / SIZE, 1.0 - exp(-light[i] * (planets ? 1.0 : 0.45)));
    bool good = picture_write(&picture, path);
    picture_destroy(&picture);
    free(light);
    return good;
}

/* How far the planets are from where the ephemerides see them, relative to the Sun (body 0). */
static void report_ephemerides(struct example_report *r, const struct bodies *b, const struct vec3 *position)
{
    size_t worst = 0;
    double most = 0;
    for (size_t i = 1; i < b->count; i++) {
        double error = length3(sub3(sub3(position[i], position[0]), b->after[i]));
        if (error > most)
            most = error, worst = i;
    }
    example_report_text(r, "worst_body", "largest position error of", b->name[worst]);
    example_report_real(r, "position_error_au", "  at the end", most, "AU");
    example_report_real(r, "position_error_km", "  or", most * AU_KM, "km");
    example_report_real(r, "position_error_arcsec", "  or, seen from the Sun,",
                        worst ? most / length3(b->after[worst]) * 180 * 3600 / M_PI : 0, "arcsec");
}

static void report_physics(struct example_report *r, const struct nbody_options *o, const struct bodies *b,
                           const struct outcome *out)
{
    if (!o->no_energy) {
        double start = bodies_energy(b, b->position, b->velocity, o->softening * o->softening);
        double end = bodies_energy(b, out->position, out->velocity, o->softening * o->softening);
        example_report_real(r, "energy", "energy at the start", start, "");
        example_report_real(r, "energy_error", "relative energy error", fabs((end - start) / start), "");
    }
    if (b->interval > 0 && fabs((double)o->steps * o->dt - b->interval) < 1e-9)
        report_ephemerides(r, b, out->position);
}

static bool report(tacit_context *ctx, const struct nbody_options *o, const struct bodies *b, const struct outcome *out)
{
    struct example_report r;
    char hash[17];
    double pairs = (double)b->count * (double)(b->count - 1) * (double)(o->steps + 1);
    double steps = (double)(o->steps ? o->steps : 1);
    bool good = !o->common.verify || is_right(o, b, out);

    example_report_begin(&r, ctx, &o->common, o->planets ? "nbody: the Sun and its planets" : "nbody: Plummer sphere");
    example_report_count(&r, "bodies", "bodies", b->count);
    example_report_count(&r, "steps", "steps", o->steps);
    example_report_real(&r, "dt", "length of a step", o->dt, o->planets ? "days" : "");
    example_report_real(&r, "softening", "softening", o->softening, "");
    if (!o->planets)
        example_report_count(&r, "seed", "seed", o->seed);
    example_report_real(&r, "seconds_per_step", "time per step", out->seconds / steps, "s");
    example_report_real(&r, "interactions_per_second", "interactions per second", pairs / out->seconds, "");
    example_report_traffic(&r, &out->traffic, steps, "step");
    report_physics(&r, o, b, out);
    snprintf(hash, sizeof hash, "%016" PRIx64, example_hash(out->position, b->count * sizeof(struct vec3)));
    example_report_text(&r, "positions_hash", "hash of the final positions", hash);
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

static bool show(tacit_context *ctx, const struct nbody_options *o, const struct bodies *b, const struct outcome *out)
{
    if (tacit_node(ctx) != 0)
        return true;
    bool good = report(ctx, o, b, out);
    good = (!o->output || write_positions(o->output, out->position, b->count)) && good;
    return (!o->png || write_picture(o->png, b, out->position)) && good;
}

/* ---------------------------------------------------------------- options and main */

enum {
    KEY_PLUMMER = 1,
    KEY_PLANETS,
    KEY_STEPS,
    KEY_DT,
    KEY_SEED,
    KEY_SOFTENING,
    KEY_PARTS,
    KEY_OUTPUT,
    KEY_PNG,
    KEY_NO_ENERGY
};

static const struct argp_option option_list[] = {
    { "plummer", KEY_PLUMMER, "N", 0, "A Plummer sphere of N bodies (default, 1024), in units G = M = 1, E = -1/4", 1 },
    { "bodies", KEY_PLUMMER, NULL, OPTION_ALIAS, NULL, 1 },
    { "planets", KEY_PLANETS, "FILE", 0, "The bodies of a file from tools/planets, in AU, days and solar masses", 1 },
    { "seed", KEY_SEED, "NUMBER", 0, "Seed of the Plummer sphere (1)", 1 },
    { "steps", KEY_STEPS, "NUMBER", 0, "Number of steps (100; planets: to the file's second date)", 2 },
    { "dt", KEY_DT, "TIME", 0, "Length of a step (1/256; planets: 1/32 day)", 2 },
    { "softening", KEY_SOFTENING, "LENGTH", 0, "Softening of the force (0.01; planets: 0)", 2 },
    { "parts", KEY_PARTS, "NUMBER", 0,
      "Sum each pull in so many parts, a power of two up to 32 (8, or 1 from 262144 bodies on); a GPU computes them "
      "at once",
      2 },
    { "no-energy", KEY_NO_ENERGY, NULL, 0,
      "Leave the energies out, which one core sums over all pairs: with a million bodies that takes half an hour", 3 },
    { "output", KEY_OUTPUT, "FILE", 0, "Write the final positions as text, with all digits", 3 },
    { "png", KEY_PNG, "FILE", 0, "Write a picture of the final positions", 3 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct nbody_options *o = state->input;
    error_t error;
    switch (key) {
    case KEY_PLUMMER:
        return example_parse_size(state, "--plummer", arg, 2, 100000000, &o->bodies);
    case KEY_STEPS:
        return example_parse_size(state, "--steps", arg, 1, 1000000000, &o->steps);
    case KEY_SEED:
        return example_parse_size(state, "--seed", arg, 0, SIZE_MAX, &o->seed);
    case KEY_DT:
        return example_parse_real(state, "--dt", arg, 1e-12, 1e12, &o->dt);
    case KEY_SOFTENING:
        return example_parse_real(state, "--softening", arg, 0, 1e12, &o->softening);
    case KEY_PARTS:
        error = example_parse_size(state, "--parts", arg, 1, MOST_PARTS, &o->parts);
        if (!error && (o->parts & (o->parts - 1)) != 0)
            argp_error(state, "--parts wants a power of two up to %d, not '%s'", MOST_PARTS, arg), error = EINVAL;
        return error;
    case KEY_PLANETS:
        o->planets = arg;
        return 0;
    case KEY_NO_ENERGY:
        o->no_energy = true;
        return 0;
    case KEY_OUTPUT:
        o->output = arg;
        return 0;
    case KEY_PNG:
        o->png = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Get the bodies, and give options that were not given the values that suit them. */
static bool make_bodies(const tacit_context *ctx, struct nbody_options *o, struct bodies *b)
{
    if (o->planets && !bodies_read(o->planets, tacit_node(ctx) == 0, b))
        return false;
    if (!o->planets)
        *b = bodies_plummer(o->bodies, o->seed);
    if (o->dt == 0)
        o->dt = o->planets ? 1.0 / 32 : 1.0 / 256;
    if (o->softening < 0)
        o->softening = o->planets ? 0.0 : 0.01;
    if (o->steps == 0)
        o->steps = b->interval > 0 ? (size_t)(b->interval / o->dt + 0.5) : 100;
    return true;
}

static bool run(tacit_context *ctx, const struct nbody_options *o, const struct bodies *b)
{
    struct outcome out = { .position = example_alloc(b->count, sizeof(struct vec3)),
                           .velocity = example_alloc(b->count, sizeof(struct vec3)) };
    simulate(ctx, o, b, &out);
    bool good = show(ctx, o, b, &out);
    free(out.position);
    free(out.velocity);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp argp = { option_list, parse, NULL, "Gravity between N bodies, summed directly, by leapfrog.",
                               NULL,        NULL,  NULL };
    struct nbody_options o = { .bodies = 1024, .seed = 1, .softening = -1 };
    struct bodies bodies = { 0 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help && !make_bodies(ctx, &o, &bodies))
        error = EXIT_FAILURE;
    if (bodies.count > 0)
        good = run(ctx, &o, &bodies);
    bodies_destroy(&bodies);
    return example_end(ctx, error, good);
}
