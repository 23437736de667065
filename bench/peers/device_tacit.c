/* What `tacit bench device` measures, by tacit: see device.h. Copies and what overlaps are given to the device itself,
 * below the planners; kernels that do nothing and programs are tasks. */
#include "device.h"

#include "device/cuda.h"
#include "device/host_memory.h"
#include "device/opencl.h"
#include "tacit/tacit.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "struct body { double x, y, z, m; };\n"
    "struct nbody { double dt, softening; ulong bodies; };\n"
    "struct wave { double c2; ulong side; };\n"
    "TACIT_KERNEL nothing(TACIT_VIEW(x), TACIT_CHUNK(c))\n"
    "{\n"
    "}\n"
    "TACIT_KERNEL spin(TACIT_VIEW(out), TACIT_CHUNK(c), TACIT_VALUE(uint, steps))\n"
    "{\n"
    "    TACIT_FOR (item, c, 0) {\n"
    "        double x = 0.5;\n"
    "        for (uint i = 0; i < steps; i++)\n"
    "            x = x * 0.999 + 0.25;\n"
    "        TACIT_AT1(double, out, item) = x;\n"
    "    }\n"
    "}\n"
    "TACIT_KERNEL kick(TACIT_VIEW(p), TACIT_VIEW(v), TACIT_CHUNK(c), TACIT_VALUE(struct nbody, n),\n"
    "                  TACIT_SCRATCH(struct body, tile))\n"
    "{\n"
    "    const ulong i = TACIT_INDEX(c, 0), own = TACIT_GROUP_ID(0), size = TACIT_GROUP_SIZE(0);\n"
    "    const struct body here = TACIT_GET1(struct body, p, i < c.max[0] ? i : c.min[0]);\n"
    "    double ax = 0, ay = 0, az = 0;\n"
    "    for (ulong first = 0; first < n.bodies; first += size) {\n"
    "        const ulong count = min(size, n.bodies - first);\n"
    "        TACIT_BARRIER();\n"
    "        if (own < count)\n"
    "            tile[own] = TACIT_GET1(struct body, p, first + own);\n"
    "        TACIT_BARRIER();\n"
    "        for (ulong l = 0; l < count; l++) {\n"
    "            const double dx = tile[l].x - here.x, dy = tile[l].y - here.y, dz = tile[l].z - here.z;\n"
    "            const double r2 = dx * dx + dy * dy + dz * dz + n.softening;\n"
    "            const double w = tile[l].m / (r2 * sqrt(r2));\n"
    "            ax += w * dx;\n"
    "            ay += w * dy;\n"
    "            az += w * dz;\n"
    "        }\n"
    "    }\n"
    "    if (i < c.max[0]) {\n"
    "        struct body a = TACIT_GET1(struct body, v, i);\n"
    "        a.x += n.dt * ax;\n"
    "        a.y += n.dt * ay;\n"
    "        a.z += n.dt * az;\n"
    "        TACIT_AT1(struct body, v, i) = a;\n"
    "    }\n"
    "}\n"
    "TACIT_KERNEL drift(TACIT_VIEW(v), TACIT_VIEW(p), TACIT_CHUNK(c), TACIT_VALUE(struct nbody, n))\n"
    "{\n"
    "    TACIT_FOR (i, c, 0) {\n"
    "        const struct body a = TACIT_GET1(struct body, v, i);\n"
    "        struct body b = TACIT_GET1(struct body, p, i);\n"
    "        b.x += n.dt * a.x;\n"
    "        b.y += n.dt * a.y;\n"
    "        b.z += n.dt * a.z;\n"
    "        TACIT_AT1(struct body, p, i) = b;\n"
    "    }\n"
    "}\n"
    "TACIT_KERNEL wave(TACIT_VIEW(now), TACIT_VIEW(last), TACIT_CHUNK(c), TACIT_VALUE(struct wave, w))\n"
    "{\n"
    "    TACIT_FOR (i, c, 0)\n"
    "        TACIT_FOR (j, c, 1) {\n"
    "            const bool wall = i == 0 || j == 0 || i == w.side - 1 || j == w.side - 1;\n"
    "            const double here = TACIT_GET2(double, now, i, j), before = TACIT_GET2(double, last, i, j);\n"
    "            TACIT_AT2(double, last, i, j) = wall ? 0.0\n"
    "                : 2.0 * here - before + w.c2 * ((TACIT_GET2(double, now, i - 1, j)\n"
    "                                                 + TACIT_GET2(double, now, i + 1, j))\n"
    "                                                + (TACIT_GET2(double, now, i, j - 1)\n"
    "                                                   + TACIT_GET2(double, now, i, j + 1)) - 4.0 * here);\n"
    "        }\n"
    "}\n";

typedef struct nbody_values {
    double dt, softening;
    uint64_t bodies;
} nbody_values;
typedef struct wave_values {
    double c2;
    uint64_t side;
} wave_values;

typedef struct way {
    peer_device base;
    ti_lot lot;
    ti_failure failure;
    ti_device *device; /* below the planners */
    uint64_t token;
    void *memory, *number;
    ti_device cores; /* whose memory is the host's */
    void *host;
    size_t bytes;
    tacit_context *ctx;
    tacit_buffer *counted;
    peer_program running;
    tacit_buffer *first, *second;
} way;

static void check(const way *w, tacit_status status, const char *call)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "tacit bench device: %s: %s: %s\n", call, tacit_status_name(status), tacit_last_error(w->ctx));
        exit(EXIT_FAILURE);
    }
}

/* ---- the device itself */

/* Until it has told of `count` operations. */
static void await(way *w, int count)
{
    enum { LOOKS = 64 };
    uint64_t token[4];
    for (int looks = 0; count > 0; looks++) {
        int n = w->device->ops->poll(w->device, token, 4);
        if (n == 0 && looks % LOOKS == LOOKS - 1) {
            sched_yield();
        }
        if (ti_failure_get(&w->failure) != TACIT_OK) {
            exit(EXIT_FAILURE); /* its sentence is printed */
        }
        count -= n;
    }
}

static tacit_kernel kernel_of(const char *entry)
{
    return (tacit_kernel){ .opencl = { .source = text, .entry = entry }, .cuda = { .source = text, .entry = entry } };
}

/* On one item; the steps, if there are any, are its argument. */
static void launch(way *w, const tacit_kernel *kernel, const uint32_t *steps)
{
    const tacit_view view = { .data = w->number,
                              .box = tacit_box1(0, 1),
                              .elem_size = sizeof(double),
                              .dims = 1,
                              .stride = { sizeof(double) },
                              .mode = TACIT_UPDATE,
                              .name = "number" };
    ti_device_kernel job = { .kernel = kernel,
                             .launch = { .chunk = tacit_box1(0, 1),
                                         .view = &view,
                                         .args = steps,
                                         .args_size = steps ? sizeof(*steps) : 0,
                                         .name = "bench",
                                         .num_views = 1,
                                         .dims = 1 },
                             .token = ++w->token };
    w->device->ops->launch(w->device, 0, &job);
}

void peer_tacit_launch(peer_device *tacit, int count)
{
    way *w = (way *)tacit;
    const tacit_kernel nothing = kernel_of("nothing");
    for (int i = 0; i < count; i++) {
        launch(w, &nothing, NULL);
        await(w, 1);
    }
}

static void start_copy(way *w, bool to_device, const peer_block *b)
{
    const ti_block host = { .base = w->host, .run = b->bytes, .count = { 1, b->rows }, .stride = { 0, b->pitch } };
    ti_block there = host;
    there.base = w->memory;
    w->device->ops->copy(w->device, 0, to_device ? &there : &host, to_device ? &host : &there, ++w->token);
}

static void copy(peer_device *d, bool to_device, const peer_block *block)
{
    way *w = (way *)d;
    start_copy(w, to_device, block);
    await(w, 1);
}

static void overlap(peer_device *d, const peer_block *block, bool has_copy, uint32_t steps)
{
    way *w = (way *)d;
    const tacit_kernel spin = kernel_of("spin");
    if (steps) {
        launch(w, &spin, &steps);
    }
    if (has_copy) {
        start_copy(w, true, block);
    }
    await(w, (steps > 0) + has_copy);
}

/* ---- tasks */

static void submit(const way *w, const tacit_task *task)
{
    check(w, tacit_submit(w->ctx, task), "tacit_submit");
}

static void wait_for_all(const way *w)
{
    check(w, tacit_wait(w->ctx), "tacit_wait");
}

static void chain(peer_device *d, int count)
{
    const way *w = (way *)d;
    const tacit_task nothing = { .name = "nothing",
                                 .range = tacit_range1(1),
                                 .kernel = kernel_of("nothing"),
                                 .access = { tacit_update(w->counted, tacit_one_to_one()) } };
    for (int i = 0; i < count; i++) {
        submit(w, &nothing);
    }
    wait_for_all(w);
}

static void empty(peer_device *d, int count)
{
    for (int i = 0; i < count; i++) {
        chain(d, 1);
    }
}

static tacit_buffer *filled(const way *w, const char *name, const void *contents)
{
    const size_t side = w->running.size;
    const tacit_buffer_desc desc = { .name = name,
                                     .range = w->running.is_nbody ? tacit_range1(side) : tacit_range2(side, side),
                                     .elem_size = w->running.is_nbody ? sizeof(peer_body) : sizeof(double),
                                     .init = contents };
    tacit_buffer *buffer;
    check(w, tacit_buffer_create(w->ctx, &desc, &buffer), "tacit_buffer_create");
    return buffer;
}

static void open_program(peer_device *d, const peer_program *program)
{
    way *w = (way *)d;
    w->running = *program;
    w->first = filled(w, "first", program->first);
    w->second = filled(w, "second", program->second);
}

static void set_group(tacit_kernel *k, size_t first, size_t second, size_t local_bytes)
{
    k->opencl.group[0] = k->cuda.group[0] = first;
    k->opencl.group[1] = k->cuda.group[1] = second;
    k->opencl.local_bytes = k->cuda.local_bytes = local_bytes;
}

static void nbody(const way *w)
{
    const nbody_values kick_by = { peer_kick, peer_softening, w->running.size };
    const nbody_values drift_by = { peer_drift, peer_softening, w->running.size };
    tacit_task kick = { .name = "kick",
                        .range = tacit_range1(w->running.size),
                        .kernel = kernel_of("kick"),
                        .args = &kick_by,
                        .args_size = sizeof(kick_by),
                        .access = { tacit_read(w->first, tacit_all()), tacit_update(w->second, tacit_one_to_one()) } };
    tacit_task drift = { .name = "drift",
                         .range = tacit_range1(w->running.size),
                         .kernel = kernel_of("drift"),
                         .args = &drift_by,
                         .args_size = sizeof(drift_by),
                         .access = { tacit_read(w->second, tacit_one_to_one()),
                                     tacit_update(w->first, tacit_one_to_one()) } };
    set_group(&kick.kernel, PEER_TILE, 0, PEER_TILE * sizeof(peer_body));
    set_group(&drift.kernel, PEER_TILE, 0, 0);
    submit(w, &kick);
    submit(w, &drift);
}

static void wave(way *w)
{
    const wave_values values = { peer_c2, w->running.size };
    tacit_buffer *newest = w->second;
    tacit_task advance = { .name = "wave",
                           .range = tacit_range2(w->running.size, w->running.size),
                           .kernel = kernel_of("wave"),
                           .args = &values,
                           .args_size = sizeof(values),
                           .access = { tacit_read(w->first, tacit_star(1, 1, 0)),
                                       tacit_update(w->second, tacit_one_to_one()) } };
    set_group(&advance.kernel, PEER_ROWS, PEER_COLUMNS, 0);
    submit(w, &advance);
    w->second = w->first;
    w->first = newest;
}

static void step(peer_device *d, int steps)
{
    way *w = (way *)d;
    for (int i = 0; i < steps; i++) {
        if (w->running.is_nbody) {
            nbody(w);
        } else {
            wave(w);
        }
    }
    wait_for_all(w);
}

static void close_program(peer_device *d, void *out)
{
    const way *w = (way *)d;
    check(w, tacit_fence_read(w->ctx, w->first, TACIT_BOX_ALL, out), "tacit_fence_read");
    check(w, tacit_buffer_destroy(w->ctx, w->first), "tacit_buffer_destroy");
    check(w, tacit_buffer_destroy(w->ctx, w->second), "tacit_buffer_destroy");
}

/* ---- begin and end */

static void close(peer_device *d)
{
    way *w = (way *)d;
    check(w, tacit_buffer_destroy(w->ctx, w->counted), "tacit_buffer_destroy");
    check(w, tacit_finalize(w->ctx), "tacit_finalize");
    w->device->ops->stop(w->device);
    w->device->ops->free(w->device, w->memory, w->bytes);
    w->device->ops->free(w->device, w->number, sizeof(double));
    ti_host_free(&w->cores, w->host, w->bytes);
    w->device->ops->destroy(w->device);
    free(w);
}

static bool create(way *w, const char *name)
{
    static const char cuda[] = "cuda:";
    const int index = atoi(strchr(name, ':') + 1);
    const ti_opencl_name opencl = { .index = index, .parts = 1 };
    ti_strbuf why = { 0 };
    bool made = strncmp(name, cuda, strlen(cuda)) == 0
                    ? ti_cuda_create(&index, 1, NULL, &w->failure, &w->device, &why)
                    : ti_opencl_create(&opencl, 1, NULL, &w->failure, &w->device, &why);
    if (!made) {
        fprintf(stderr, "tacit bench device: %s\n", ti_strbuf_text(&why));
    }
    ti_strbuf_fini(&why);
    return made;
}

peer_device *peer_tacit_open(const char *name, size_t bytes)
{
    way *w = calloc(1, sizeof(*w));
    const double zero = 0;
    w->base = (peer_device){ .close = close,
                             .empty = empty,
                             .chain = chain,
                             .copy = copy,
                             .overlap = overlap,
                             .open_program = open_program,
                             .step = step,
                             .close_program = close_program };
    w->failure.lot = &w->lot;
    w->bytes = bytes;
    if (!create(w, name)) {
        exit(EXIT_FAILURE);
    }
    if (strncmp(name, "cuda", 4) == 0) {
        w->cores.pinner = ti_cuda_pinner(w->device, true);
    }
    if (ti_host_alloc(&w->cores, bytes, &w->host) != TACIT_OK ||
        w->device->ops->alloc(w->device, bytes, &w->memory) != TACIT_OK ||
        w->device->ops->alloc(w->device, sizeof(double), &w->number) != TACIT_OK) {
        fprintf(stderr, "tacit bench device: %s has no memory for copies of %zu bytes; give --bytes\n", name, bytes);
        exit(EXIT_FAILURE);
    }
    memset(w->host, 0, bytes);
    check(w, tacit_init(&(tacit_config){ .devices = name }, &w->ctx), "tacit_init");
    const tacit_buffer_desc desc = {
        .name = "counted", .range = tacit_range1(1), .elem_size = sizeof(double), .init = &zero
    };
    check(w, tacit_buffer_create(w->ctx, &desc, &w->counted), "tacit_buffer_create");
    return &w->base;
}
