/* examples/nbody_bodies.c: where the bodies of nbody come from, and what their energy is; see nbody_bodies.h. */
#include "nbody_bodies.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

static const double GAUSS = 0.01720209895;

static struct bodies bodies_create(size_t count)
{
    return (struct bodies){ .count = count,
                            .G = 1.0,
                            .position = example_alloc(count, sizeof(struct vec3)),
                            .velocity = example_alloc(count, sizeof(struct vec3)),
                            .after = example_alloc(count, sizeof(struct vec3)),
                            .mass = example_alloc(count, sizeof(double)),
                            .name = example_alloc(count, 16) };
}

void bodies_destroy(struct bodies *b)
{
    free(b->position);
    free(b->velocity);
    free(b->after);
    free(b->mass);
    free(b->name);
}

/* Move the origin to the centre of mass, at rest. */
static void to_barycentre(struct bodies *b)
{
    struct vec3 r = { 0 }, v = { 0 };
    double mass = 0;
    for (size_t i = 0; i < b->count; i++) {
        double m = b->mass[i];
        mass += m;
        r = (struct vec3){ r.x + m * b->position[i].x, r.y + m * b->position[i].y, r.z + m * b->position[i].z };
        v = (struct vec3){ v.x + m * b->velocity[i].x, v.y + m * b->velocity[i].y, v.z + m * b->velocity[i].z };
    }
    r = (struct vec3){ r.x / mass, r.y / mass, r.z / mass };
    v = (struct vec3){ v.x / mass, v.y / mass, v.z / mass };
    for (size_t i = 0; i < b->count; i++) {
        b->position[i] = sub3(b->position[i], r);
        b->velocity[i] = sub3(b->velocity[i], v);
    }
}

/* ---------------------------------------------------------------- Plummer sphere */

/* Uniform in (0, 1): splitmix64, 53 bits. */
static double uniform(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return ((double)(x >> 11) + 0.5) * 0x1p-53;
}

static struct vec3 random_direction(uint64_t *state, double length)
{
    double z = 1.0 - 2.0 * uniform(state), angle = 2.0 * M_PI * uniform(state), r = sqrt(1.0 - z * z);
    return (struct vec3){ length * r * cos(angle), length * r * sin(angle), length * z };
}

/* The speed in units of the escape speed, by rejection from q^2 (1 - q^2)^(7/2), which stays below 0.1. */
static double random_speed(uint64_t *state)
{
    for (;;) {
        double q = uniform(state), y = 0.1 * uniform(state);
        if (y < q * q * pow(1.0 - q * q, 3.5))
            return q;
    }
}

/* The recipe of Aarseth, Henon and Wielen (Astronomy and Astrophysics 37, 183, 1974). The outermost thousandth of the
 * mass, which reaches to infinity, is left out. */
struct bodies bodies_plummer(size_t count, uint64_t seed)
{
    struct bodies b = bodies_create(count);
    const double scale = 3.0 * M_PI / 16.0; /* from the radius of the model to standard units */
    uint64_t state = seed;
    for (size_t i = 0; i < count; i++) {
        double r = 1.0 / sqrt(pow(0.999 * uniform(&state), -2.0 / 3.0) - 1.0);
        double escape = sqrt(2.0) * pow(1.0 + r * r, -0.25);
        b.position[i] = random_direction(&state, r * scale);
        b.velocity[i] = random_direction(&state, random_speed(&state) * escape / sqrt(scale));
        b.mass[i] = 1.0 / (double)count;
    }
    to_barycentre(&b);
    return b;
}

/* ---------------------------------------------------------------- planets */

/* One line of the file: a name and ten numbers. */
static bool parse_planet(char *line, struct bodies *b, size_t i)
{
    struct vec3 *r = &b->position[i], *v = &b->velocity[i], *a = &b->after[i];
    double *number[] = { &b->mass[i], &r->x, &r->y, &r->z, &v->x, &v->y, &v->z, &a->x, &a->y, &a->z };
    char *rest = line + strcspn(line, ",");
    snprintf(b->name[i], sizeof b->name[i], "%.*s", (int)(rest - line), line);
    for (size_t k = 0; k < sizeof number / sizeof number[0]; k++) {
        if (*rest != ',')
            return false;
        *number[k] = strtod(rest + 1, &rest);
    }
    b->mass[i] *= b->G;
    return *rest == '\n';
}

/* Read a file as tools/planets writes it. Returns the number of the first bad line, or 0. */
static size_t parse_planets(FILE *file, struct bodies *b, size_t capacity)
{
    char line[1024];
    bool titles = false;
    for (size_t number = 1; fgets(line, sizeof line, file); number++) {
        if (sscanf(line, "# interval_days: %lf", &b->interval) == 1 || line[0] == '#')
            continue;
        if (!titles)
            titles = true;
        else if (b->count == capacity || !parse_planet(line, b, b->count++))
            return number;
    }
    return b->count > 0 ? 0 : 1;
}

bool bodies_read(const char *path, bool speaks, struct bodies *out)
{
    enum { CAPACITY = 1000 };
    FILE *file = fopen(path, "r");
    if (!file) {
        if (speaks)
            fprintf(stderr, "cannot open %s\n", path);
        return false;
    }
    *out = bodies_create(CAPACITY);
    out->count = 0;
    out->G = GAUSS * GAUSS;
    size_t bad = parse_planets(file, out, CAPACITY);
    fclose(file);
    if (bad) {
        if (speaks)
            fprintf(stderr, "%s:%zu: not a name and ten numbers, as tools/planets writes them\n", path, bad);
        bodies_destroy(out);
        *out = (struct bodies){ 0 };
        return false;
    }
    to_barycentre(out);
    return true;
}

/* ---------------------------------------------------------------- energy */

double bodies_energy(const struct bodies *b, const struct vec3 *position, const struct vec3 *velocity,
                     double softening2)
{
    double kinetic = 0, potential = 0;
    for (size_t i = 0; i < b->count; i++) {
        struct vec3 v = velocity[i];
        double sum = 0;
        for (size_t j = 0; j < i; j++) {
            struct vec3 d = sub3(position[j], position[i]);
            sum += b->mass[j] / sqrt(d.x * d.x + d.y * d.y + d.z * d.z + softening2);
        }
        kinetic += 0.5 * b->mass[i] * (v.x * v.x + v.y * v.y + v.z * v.z);
        potential -= b->mass[i] * sum;
    }
    return (kinetic + potential) / b->G;
}
