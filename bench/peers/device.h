/* What `tacit bench device` measures, as one table: tacit fills it once, and the bare interface of a device by hand,
 * for OpenCL and for CUDA's driver. One thread. What fails says so and ends the process.
 *
 * All kernels are without contraction of products and sums, and in double precision, so that results of both are the
 * same bits. */
#ifndef PEER_DEVICE_H
#define PEER_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of `bytes`, `pitch` bytes from one to the next, on both sides. */
typedef struct peer_block {
    size_t rows, bytes, pitch;
} peer_block;

typedef struct peer_body {
    double x, y, z, m;
} peer_body;

/* N-body in tiles of shared memory: `first` has the bodies, `second` the velocities. Waves on a square of cells:
 * `first` has the heights now, `second` the ones before. */
typedef struct peer_program {
    bool is_nbody;
    uint32_t size; /* bodies; cells of a side */
    const void *first, *second;
    size_t bytes; /* of each */
} peer_program;

enum { PEER_TILE = 64, PEER_ROWS = 4, PEER_COLUMNS = 16 }; /* work-groups: of N-body; of waves */
static const double peer_kick = 1e-3, peer_drift = 1e-3, peer_softening = 1e-2, peer_c2 = 0.25;

typedef struct peer_device peer_device;
struct peer_device {
    void (*close)(peer_device *d);
    /* A kernel of one item that does nothing, `count` times: each begins when the program knows that the one before
     * has ended. */
    void (*empty)(peer_device *d, int count);
    /* The same, but all are given at once, and each waits for the one before. */
    void (*chain)(peer_device *d, int count);
    /* Between a block of the host's memory and one of the device's, both of as many bytes as were asked for. Copies and
     * what overlaps are tacit's devices by themselves, without tasks. */
    void (*copy)(peer_device *d, bool to_device, const peer_block *block);
    /* A kernel of `steps` additions on one item, a copy to the device, or both at once, to the end of both. */
    void (*overlap)(peer_device *d, const peer_block *block, bool has_copy, uint32_t steps);
    /* A program is opened, makes steps, and leaves its bodies, or its heights, in `out`. */
    void (*open_program)(peer_device *d, const peer_program *program);
    void (*step)(peer_device *d, int steps);
    void (*close_program)(peer_device *d, void *out);
};

/* Device `index` as the interface counts, with blocks of `bytes`; NULL: there is none. `model` has 128 bytes. */
peer_device *peer_opencl_open(int index, size_t bytes, char *model);
peer_device *peer_cuda_open(int index, size_t bytes, char *model);
/* `name` is an entry of TACIT_DEVICES. */
peer_device *peer_tacit_open(const char *name, size_t bytes);
/* As `empty`, but straight to the device, without a task. */
void peer_tacit_launch(peer_device *tacit, int count);

/* The kernels by hand. `kernel` is what a language has before the name of one. */
#define PEER_KERNELS(kernel)                                                                                           \
    kernel " empty(MEMORY double *x)\n"                                                                                \
           "{\n"                                                                                                       \
           "}\n" kernel " spin(MEMORY double *out, const unsigned steps)\n"                                            \
           "{\n"                                                                                                       \
           "    double x = 0.5;\n"                                                                                     \
           "    for (unsigned i = 0; i < steps; i++)\n"                                                                \
           "        x = x * 0.999 + 0.25;\n"                                                                           \
           "    out[ITEM(0)] = x;\n"                                                                                   \
           "}\n" kernel " kick(MEMORY const struct body *p, MEMORY struct body *v, const unsigned bodies,\n"           \
           "    const double dt, const double softening)\n"                                                            \
           "{\n"                                                                                                       \
           "    TILE;\n"                                                                                               \
           "    const unsigned i = ITEM(0), own = i % 64;\n"                                                           \
           "    const struct body here = p[i < bodies ? i : 0];\n"                                                     \
           "    double ax = 0, ay = 0, az = 0;\n"                                                                      \
           "    for (unsigned first = 0; first < bodies; first += 64) {\n"                                             \
           "        const unsigned count = bodies - first < 64 ? bodies - first : 64;\n"                               \
           "        BARRIER;\n"                                                                                        \
           "        if (own < count)\n"                                                                                \
           "            tile[own] = p[first + own];\n"                                                                 \
           "        BARRIER;\n"                                                                                        \
           "        for (unsigned l = 0; l < count; l++) {\n"                                                          \
           "            const double dx = tile[l].x - here.x, dy = tile[l].y - here.y, dz = tile[l].z - here.z;\n"     \
           "            const double r2 = dx * dx + dy * dy + dz * dz + softening;\n"                                  \
           "            const double w = tile[l].m / (r2 * sqrt(r2));\n"                                               \
           "            ax += w * dx;\n"                                                                               \
           "            ay += w * dy;\n"                                                                               \
           "            az += w * dz;\n"                                                                               \
           "        }\n"                                                                                               \
           "    }\n"                                                                                                   \
           "    if (i < bodies) {\n"                                                                                   \
           "        v[i].x += dt * ax;\n"                                                                              \
           "        v[i].y += dt * ay;\n"                                                                              \
           "        v[i].z += dt * az;\n"                                                                              \
           "    }\n"                                                                                                   \
           "}\n" kernel " drift(MEMORY struct body *p, MEMORY const struct body *v, const unsigned bodies,\n"          \
           "    const double dt)\n"                                                                                    \
           "{\n"                                                                                                       \
           "    const unsigned i = ITEM(0);\n"                                                                         \
           "    if (i < bodies) {\n"                                                                                   \
           "        p[i].x += dt * v[i].x;\n"                                                                          \
           "        p[i].y += dt * v[i].y;\n"                                                                          \
           "        p[i].z += dt * v[i].z;\n"                                                                          \
           "    }\n"                                                                                                   \
           "}\n" kernel " wave(MEMORY const double *now, MEMORY double *last, const unsigned side,\n"                  \
           "    const double c2)\n"                                                                                    \
           "{\n"                                                                                                       \
           "    const unsigned i = ITEM(1), j = ITEM(0);\n"                                                            \
           "    if (i < side && j < side) {\n"                                                                         \
           "        const size_t at = (size_t)i * side + j;\n"                                                         \
           "        const bool wall = i == 0 || j == 0 || i == side - 1 || j == side - 1;\n"                           \
           "        last[at] = wall ? 0.0\n"                                                                           \
           "            : 2.0 * now[at] - last[at] + c2 * ((now[at - side] + now[at + side])\n"                        \
           "                + (now[at - 1] + now[at + 1]) - 4.0 * now[at]);\n"                                         \
           "    }\n"                                                                                                   \
           "}\n"

#endif
