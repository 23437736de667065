/* examples/rsim_light.h: how light goes between triangles, in C that the host and the kernels for devices share, and
 * these kernels. Lengths are metres. */
#ifndef TACIT_EXAMPLES_RSIM_LIGHT_H
#define TACIT_EXAMPLES_RSIM_LIGHT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <tacit/tacit.h>

/* `couple`: one work-item finds the couplings of one triangle with all others. `spread`: one adds up what falls on one
 * triangle in a step. */
#define RSIM_KERNELS                                                                                                   \
    "TACIT_KERNEL couple(TACIT_VIEW(scene), TACIT_VIEW(couplings), TACIT_CHUNK(c), TACIT_VALUE(struct room, r))\n"     \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, c, 0) {\n"                                                                                      \
    "        const struct triangle self = TACIT_GET1(struct triangle, scene, i);\n"                                    \
    "        double sum = 0;\n"                                                                                        \
    "        for (ulong j = 0; j < r.triangles; j++) {\n"                                                              \
    "            const struct triangle other = TACIT_GET1(struct triangle, scene, j);\n"                               \
    "            double factor = i == j ? 0 : form_factor(self, other);\n"                                             \
    "            for (ulong k = 0; k < r.triangles && factor > 0; k++)\n"                                              \
    "                if (k != i && k != j && is_between(TACIT_GET1(struct triangle, scene, k), self, other))\n"        \
    "                    factor = 0;\n"                                                                                \
    "            TACIT_AT2(struct coupling, couplings, i, j) = coupling_of(factor, self, other, r.stride);\n"          \
    "            sum += factor;\n"                                                                                     \
    "        }\n"                                                                                                      \
    "        for (ulong j = 0; j < r.triangles && sum > 1; j++) {\n"                                                   \
    "            struct coupling one = TACIT_GET2(struct coupling, couplings, i, j);\n"                                \
    "            one.factor = (float)(one.factor / sum);\n"                                                            \
    "            TACIT_AT2(struct coupling, couplings, i, j) = one;\n"                                                 \
    "        }\n"                                                                                                      \
    "    }\n"                                                                                                          \
    "}\n"                                                                                                              \
    "TACIT_KERNEL spread(TACIT_VIEW(scene), TACIT_VIEW(couplings), TACIT_VIEW(before), TACIT_VIEW(now),\n"             \
    "                    TACIT_CHUNK(c), TACIT_VALUE(struct room, r))\n"                                               \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, c, 0) {\n"                                                                                      \
    "        double incident = 0;\n"                                                                                   \
    "        for (ulong j = 0; j < r.triangles; j++) {\n"                                                              \
    "            const struct coupling one = TACIT_GET2(struct coupling, couplings, i, j);\n"                          \
    "            if (one.factor > 0 && (ulong)one.delay <= r.step)\n"                                                  \
    "                incident += one.factor * TACIT_GET2(double, before, r.step - one.delay, j);\n"                    \
    "        }\n"                                                                                                      \
    "        const struct triangle self = TACIT_GET1(struct triangle, scene, i);\n"                                    \
    "        TACIT_AT2(double, now, r.step, i) = self.reflectance * incident;\n"                                       \
    "    }\n"                                                                                                          \
    "}\n"

TACIT_BOTH(
    rsim_source, RSIM_KERNELS,

    struct vec3 { double x, y, z; };

    /* The side that the corners turn around anticlockwise reflects, and so does the other. `reflectance` is of the
     * light that falls on it, 0 to 1; `emission` its radiosity in the first time step. */
    struct triangle {
        struct vec3 corner[3];
        struct vec3 centre, normal;
        double area, reflectance, emission;
    };

    /* What one triangle gets from another one: this part of its radiosity, as it was `delay` steps ago, 1 or more. */
    struct coupling {
        float factor;
        int32_t delay;
    };

    /* The arguments of the kernels. `rows`: how far back in time a step looks; `stride`: how far light goes in one. */
    struct room {
        uint64_t triangles, step, rows;
        double stride;
    };

    static inline struct vec3 sub(struct vec3 a, struct vec3 b) {
        a.x -= b.x;
        a.y -= b.y;
        a.z -= b.z;
        return a;
    }

    static inline struct vec3 cross_product(struct vec3 a, struct vec3 b) {
        struct vec3 c;
        c.x = a.y * b.z - a.z * b.y;
        c.y = a.z * b.x - a.x * b.z;
        c.z = a.x * b.y - a.y * b.x;
        return c;
    }

    static inline double dot_product(struct vec3 a, struct vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

    static inline double size_of_vector(struct vec3 a) { return sqrt(dot_product(a, a)); }

    /* Whether the triangle crosses the line from one centre to another between its ends (Moeller and Trumbore 1997). */
    static inline bool is_between(struct triangle t, struct triangle from, struct triangle to) {
        const struct vec3 way = sub(to.centre, from.centre);
        const struct vec3 e1 = sub(t.corner[1], t.corner[0]);
        const struct vec3 e2 = sub(t.corner[2], t.corner[0]);
        const struct vec3 p = cross_product(way, e2);
        const double det = dot_product(e1, p);
        if (fabs(det) < 1e-9)
            return false;
        const struct vec3 s = sub(from.centre, t.corner[0]);
        const struct vec3 q = cross_product(s, e1);
        const double u = dot_product(s, p) / det;
        const double v = dot_product(way, q) / det;
        const double at = dot_product(e2, q) / det;
        return u >= 0 && v >= 0 && u + v <= 1 && at > 1e-6 && at < 1 - 1e-6;
    }

    /* The part of the light leaving `to` that falls on a unit of `from`, per unit of radiosity, if nothing stands
     * between them: the disc formula, which is finite when they are close. */
    static inline double form_factor(struct triangle from, struct triangle to) {
        const struct vec3 way = sub(to.centre, from.centre);
        const double squared = dot_product(way, way);
        if (squared < 1e-12)
            return 0;
        const double cosines = fabs(dot_product(from.normal, way) * dot_product(to.normal, way)) / squared;
        if (cosines < 1e-12)
            return 0;
        return cosines * to.area / (3.14159265358979323846 * squared + to.area);
    }

    static inline struct coupling coupling_of(double factor, struct triangle from, struct triangle to, double stride) {
        const double steps = floor(size_of_vector(sub(from.centre, to.centre)) / stride + 0.5);
        struct coupling c;
        c.factor = (float)factor;
        c.delay = steps > 1.0 ? (int32_t)steps : 1;
        return c;
    });

#endif
