/* examples/rsim_scene.c: see rsim_scene.h. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rsim_scene.h"

static struct vec3 along(struct vec3 a, double t, struct vec3 b)
{
    return (struct vec3){ a.x + t * b.x, a.y + t * b.y, a.z + t * b.z };
}

double scene_form_factor(const struct triangle *all, size_t count, size_t from, size_t to)
{
    double factor = from == to ? 0 : form_factor(all[from], all[to]);
    for (size_t i = 0; i < count && factor > 0; i++)
        if (i != from && i != to && is_between(all[i], all[from], all[to]))
            factor = 0;
    return factor;
}

/* ---------------------------------------------------------------- building */

static void add(struct scene *s, struct vec3 a, struct vec3 b, struct vec3 c, double reflectance, double emission)
{
    struct vec3 n = cross_product(sub(b, a), sub(c, a));
    double twice = size_of_vector(n);
    if (twice < 1e-12) /* a line or a point catches no light */
        return;
    if ((s->count & (s->count - 1)) == 0) {
        struct triangle *grown = example_alloc(s->count ? 2 * s->count : 1, sizeof *grown);
        if (s->count)
            memcpy(grown, s->triangle, s->count * sizeof *grown);
        free(s->triangle);
        s->triangle = grown;
    }
    s->triangle[s->count++] = (struct triangle){
        .corner = { a, b, c },
        .centre = { (a.x + b.x + c.x) / 3, (a.y + b.y + c.y) / 3, (a.z + b.z + c.z) / 3 },
        .normal = { n.x / twice, n.y / twice, n.z / twice },
        .area = twice / 2,
        .reflectance = reflectance,
        .emission = emission,
    };
}

/* A parallelogram with a corner and two sides, cut into m x m parts of two triangles. */
static void add_side(struct scene *s, struct vec3 corner, struct vec3 u, struct vec3 v, size_t m, double reflectance)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            double step = 1.0 / (double)m;
            struct vec3 a = along(along(corner, (double)i * step, u), (double)j * step, v);
            struct vec3 b = along(a, step, u), d = along(a, step, v), c = along(b, step, v);
            add(s, a, b, c, reflectance, 0);
            add(s, a, c, d, reflectance, 0);
        }
}

static void add_box(struct scene *s, struct vec3 min, struct vec3 max, size_t m, double reflectance)
{
    struct vec3 x = { max.x - min.x, 0, 0 }, y = { 0, max.y - min.y, 0 }, z = { 0, 0, max.z - min.z };
    add_side(s, min, y, x, m, reflectance);
    add_side(s, along(min, 1, z), x, y, m, reflectance);
    add_side(s, min, x, z, m, reflectance);
    add_side(s, along(min, 1, y), z, x, m, reflectance);
    add_side(s, min, z, y, m, reflectance);
    add_side(s, along(min, 1, x), y, z, m, reflectance);
}

static double reach_of(const struct scene *s)
{
    struct vec3 low = s->triangle[0].corner[0], high = low;
    for (size_t i = 0; i < s->count; i++)
        for (int k = 0; k < 3; k++) {
            struct vec3 p = s->triangle[i].corner[k];
            low = (struct vec3){ fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z) };
            high = (struct vec3){ fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z) };
        }
    return size_of_vector(sub(high, low));
}

struct scene scene_room(size_t detail)
{
    struct scene s = { 0 };
    const double lamp = 100;
    add_box(&s, (struct vec3){ 0, 0, 0 }, (struct vec3){ 6, 4, 2.6 }, 3 * detail, 0.7);           /* the walls */
    add_box(&s, (struct vec3){ 2.2, 1.4, 0.70 }, (struct vec3){ 3.8, 2.4, 0.76 }, detail, 0.4);   /* a table top */
    add_box(&s, (struct vec3){ 2.9, 1.8, 0.05 }, (struct vec3){ 3.1, 2.0, 0.70 }, 1, 0.4);        /* on one leg */
    add_box(&s, (struct vec3){ 0.05, 0.3, 0.05 }, (struct vec3){ 0.6, 1.9, 2.0 }, detail, 0.5);   /* a wardrobe */
    add_box(&s, (struct vec3){ 4.2, 3.05, 0.05 }, (struct vec3){ 5.8, 3.9, 0.45 }, detail, 0.3);  /* a sofa */
    add_box(&s, (struct vec3){ 4.2, 3.65, 0.45 }, (struct vec3){ 5.8, 3.95, 0.95 }, detail, 0.3); /* and its back */
    add(&s, (struct vec3){ 2.9, 1.9, 2.5 }, (struct vec3){ 2.9, 2.1, 2.5 }, (struct vec3){ 3.1, 1.9, 2.5 }, 0, lamp);
    add(&s, (struct vec3){ 3.1, 2.1, 2.5 }, (struct vec3){ 3.1, 1.9, 2.5 }, (struct vec3){ 2.9, 2.1, 2.5 }, 0, lamp);
    s.reach = reach_of(&s);
    return s;
}

void scene_destroy(struct scene *scene)
{
    free(scene->triangle);
    *scene = (struct scene){ 0 };
}

/* ---------------------------------------------------------------- Wavefront OBJ */

struct reader {
    struct vec3 *vertex;
    size_t vertices, room, line, most;
    struct scene *out;
    const char *wrong; /* what is wrong with the line, or NULL */
};

static void read_vertex(struct reader *r, const char *text)
{
    struct vec3 v;
    if (sscanf(text, "%lf %lf %lf", &v.x, &v.y, &v.z) != 3 || !isfinite(v.x + v.y + v.z)) {
        r->wrong = "a vertex needs three numbers";
        return;
    }
    if (r->vertices == r->room) {
        size_t room = r->room ? 2 * r->room : 64;
        struct vec3 *grown = example_alloc(room, sizeof *grown);
        if (r->vertices)
            memcpy(grown, r->vertex, r->vertices * sizeof *grown);
        free(r->vertex);
        r->vertex = grown;
        r->room = room;
    }
    r->vertex[r->vertices++] = v;
}

/* A corner is "v", "v/vt", "v//vn" or "v/vt/vn"; negative numbers count from the last vertex. */
static bool read_corner(struct reader *r, const char *word, struct vec3 *out)
{
    char *end;
    long index = strtol(word, &end, 10);
    long at = index < 0 ? (long)r->vertices + index : index - 1;
    if (end == word || (*end && *end != '/') || index == 0 || at < 0 || (size_t)at >= r->vertices) {
        r->wrong = "a face names a vertex that is not there";
        return false;
    }
    *out = r->vertex[at];
    return true;
}

static void read_face(struct reader *r, char *text)
{
    struct vec3 first = { 0 }, last = { 0 }, corner;
    size_t corners = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\r\n", &rest); word; word = strtok_r(NULL, " \t\r\n", &rest)) {
        if (!read_corner(r, word, &corner))
            return;
        if (corners == 0)
            first = corner;
        else if (corners > 1)
            add(r->out, first, last, corner, 0.6, 0);
        last = corner;
        corners++;
    }
    if (corners < 3)
        r->wrong = "a face needs at least three corners";
    else if (r->out->count > r->most)
        r->wrong = "there are too many triangles";
}

static void read_line(struct reader *r, char *line)
{
    r->line++;
    if (strncmp(line, "v ", 2) == 0 || strncmp(line, "v\t", 2) == 0)
        read_vertex(r, line + 2);
    else if (strncmp(line, "f ", 2) == 0 || strncmp(line, "f\t", 2) == 0)
        read_face(r, line + 2);
}

/* The lamp of a scene that does not say what shines. */
static void light_highest(struct scene *s)
{
    size_t highest = 0;
    for (size_t i = 1; i < s->count; i++)
        if (s->triangle[i].centre.z > s->triangle[highest].centre.z)
            highest = i;
    s->triangle[highest].emission = 100;
}

bool scene_read_obj(const char *path, size_t most, bool speaks, struct scene *out)
{
    FILE *in = fopen(path, "r");
    struct reader r = { .most = most, .out = out };
    char *line = NULL;
    size_t room = 0;
    *out = (struct scene){ 0 };
    if (!in) {
        if (speaks)
            fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
        return false;
    }
    while (!r.wrong && getline(&line, &room, in) >= 0)
        read_line(&r, line);
    if (!r.wrong && out->count < 2)
        r.wrong = "a scene needs two triangles";
    fclose(in);
    free(line);
    free(r.vertex);
    if (r.wrong) {
        if (speaks)
            fprintf(stderr, "cannot use %s: line %zu: %s (at most %zu triangles)\n", path, r.line, r.wrong, most);
        scene_destroy(out);
        return false;
    }
    light_highest(out);
    out->reach = reach_of(out);
    return true;
}
