/* examples/nbody_bodies.h: where the bodies of nbody come from, and what their energy is. Nothing here knows tacit.
 *
 * Units. Plummer sphere: standard N-body units, G = 1, total mass 1, and the sphere is scaled so that its energy is
 * -1/4 in the limit of many bodies. Planets: AU, days and solar masses, G = k^2 with Gauss' k.
 * Every node runs this code with the same arguments and gets the same bytes. */
#ifndef TACIT_EXAMPLES_NBODY_BODIES_H
#define TACIT_EXAMPLES_NBODY_BODIES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vec3 {
    double x, y, z;
};

struct bodies {
    size_t count;
    struct vec3 *position, *velocity;
    double *mass; /* times G, so that no formula needs G */
    double G;
    /* Planets only: names, and where they are relative to body 0 after `interval`. */
    struct vec3 *after;
    char (*name)[16];
    double interval;
};

static inline struct vec3 sub3(struct vec3 a, struct vec3 b)
{
    return (struct vec3){ a.x - b.x, a.y - b.y, a.z - b.z };
}

static inline double length3(struct vec3 a)
{
    return sqrt(a.x * a.x + a.y * a.y + a.z * a.z);
}

/* A Plummer sphere of bodies of the same mass, at rest in the origin. */
struct bodies bodies_plummer(size_t count, uint64_t seed);

/* The bodies of a file as tools/planets writes it. The file's origin is the Sun; here it is the barycentre.
 * Returns false, with a message if `speaks`, if the file cannot be read. */
bool bodies_read(const char *path, bool speaks, struct bodies *out);

void bodies_destroy(struct bodies *b);

/* Kinetic and potential energy of all bodies at other positions and velocities, softened like the force. */
double bodies_energy(const struct bodies *b, const struct vec3 *position, const struct vec3 *velocity,
                     double softening2);

#endif
