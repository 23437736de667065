/* examples/rsim_scene.h: triangles of a scene, and how much light goes from one to another.
 *
 * Lengths are metres. Everything here is a pure function of the scene: every node computes the same. */
#ifndef TACIT_EXAMPLES_RSIM_SCENE_H
#define TACIT_EXAMPLES_RSIM_SCENE_H

#include <stddef.h>

#include "rsim_light.h"

struct scene {
    struct triangle *triangle;
    size_t count;
    double reach; /* no two points of the scene are farther apart */
};

/* A small furnished room with a lamp at the ceiling; walls and furniture are cut finer with more detail (1, 2, ...). */
struct scene scene_room(size_t detail);

/* A Wavefront OBJ file: its vertices and faces; faces with more corners become fans. The triangle whose centre is
 * highest is the lamp. Returns false, and if `speaks` after a message, if the file cannot be read, is malformed or
 * has more than `most` triangles. */
bool scene_read_obj(const char *path, size_t most, bool speaks, struct scene *out);

void scene_destroy(struct scene *scene);

/* The part of the light leaving triangle `to` that falls on a unit of `from`, per unit of radiosity, if nothing
 * stands between their centres; 0 otherwise. */
double scene_form_factor(const struct triangle *all, size_t count, size_t from, size_t to);

#endif
