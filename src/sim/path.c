/* Critical paths: see path.h. */
#include "sim/path.h"

#include <string.h>

static uint32_t take(ti_paths *paths)
{
    if (paths->free.count > 0) {
        return paths->free.data[--paths->free.count];
    }
    ti_vec_push(&paths->path, (ti_path){ 0 });
    return (uint32_t)paths->path.count;
}

static ti_path *path_of(const ti_paths *paths, uint32_t index)
{
    return &paths->path.data[index - 1];
}

void ti_paths_sum(const ti_paths *paths, ti_chain chain, double ns[TI_PATH_SLOTS])
{
    memset(ns, 0, TI_PATH_SLOTS * sizeof(*ns));
    if (chain.path) {
        memcpy(ns, path_of(paths, chain.path)->ns, TI_PATH_SLOTS * sizeof(*ns));
    }
    ns[chain.slot] += chain.ns;
}

ti_chain ti_paths_extend(ti_paths *paths, ti_chain from, int slot, double ns)
{
    if (from.slot == slot || from.ns == 0) {
        if (from.path) {
            path_of(paths, from.path)->chains++;
        }
        return (ti_chain){ from.path, slot, from.ns + ns };
    }
    uint32_t fresh = take(paths);
    ti_paths_sum(paths, from, path_of(paths, fresh)->ns);
    path_of(paths, fresh)->chains = 1;
    return (ti_chain){ fresh, slot, ns };
}

void ti_paths_drop(ti_paths *paths, ti_chain chain)
{
    if (chain.path && --path_of(paths, chain.path)->chains == 0) {
        ti_vec_push(&paths->free, chain.path);
    }
}

int ti_paths_slot(ti_paths *paths, const char *name)
{
    size_t count = paths->name.count, most = TI_PATH_SLOTS - TI_PATH_NAMES;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(paths->name.data[i], name) == 0) {
            return TI_PATH_NAMES + (int)i;
        }
    }
    if (count < most) {
        ti_vec_push(&paths->name, ti_strdup(count + 1 < most ? name : "(others)"));
        count++;
    }
    return TI_PATH_NAMES + (int)count - 1;
}

void ti_paths_fini(ti_paths *paths)
{
    for (size_t i = 0; i < paths->name.count; i++) {
        ti_strfree(paths->name.data[i]);
    }
    ti_vec_fini(&paths->name);
    ti_vec_fini(&paths->path);
    ti_vec_fini(&paths->free);
}
