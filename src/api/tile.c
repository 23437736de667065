/* Placed tasks on tiles: see tile.h. */
#include "api/tile.h"

#include "base/check.h"

#include <string.h>

/* Whether all components are good ones; *all: they touch all of the buffer. */
static inline bool fill_box(const tacit_access *a, ti_footprint *out, unsigned *full, bool *all)
{
    const ti_buffer_info *info = a->buffer->info;
    int64_t less = 0;
    *full = 7;
    out->bounding = info->extent;
    for (int d = 0; d < info->dims; d++) {
        const tacit_component *c = &a->mapper.c[d];
        const int64_t lo = c->lo, hi = c->hi, n = info->extent.max[d];
        if (TI_LIKELY(c->kind == TACIT_COMPONENT_SPAN && lo >= 0 && lo < hi && hi <= n)) {
            out->bounding.min[d] = lo;
            out->bounding.max[d] = hi;
            *full &= ~(1u << d);
            less |= lo | (hi ^ n);
        } else if (c->kind != TACIT_COMPONENT_FULL && !ti_mapper_spans_all(c)) {
            return false;
        }
    }
    *all = less == 0;
    return true;
}

/* Whether the components are `dims` spans: the box that they make, which may be none. */
static inline __attribute__((always_inline)) bool box_of_spans(const tacit_component *c, int dims, ti_box *box)
{
    int others = 0;
    *box = (ti_box){ { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < dims; d++) {
        others |= c[d].kind ^ TACIT_COMPONENT_SPAN;
        box->min[d] = c[d].lo;
        box->max[d] = c[d].hi;
    }
    return others == 0;
}

/* Whether they make a box which has a number: then they are good ones. */
static inline __attribute__((always_inline)) bool find_spans(const tacit_component *c, const ti_tiles *tiles, int dims,
                                                             ti_footprint *out)
{
    if (TI_UNLIKELY(!box_of_spans(c, dims, &out->bounding))) {
        return false;
    }
    out->tile = ti_tiles_find(tiles, dims, &out->bounding);
    return out->tile > 0;
}

/* With constants: a box takes half of the instructions. */
static inline bool find_known(const tacit_component *c, const ti_tiles *tiles, int dims, ti_footprint *out)
{
    return dims == 2   ? find_spans(c, tiles, 2, out)
           : dims == 1 ? find_spans(c, tiles, 1, out)
                       : find_spans(c, tiles, 3, out);
}

/* Whether the last of these accesses touches the same tile as one before it. */
static inline bool comes_twice(const tacit_access *access, const ti_footprint *tile, uint32_t last)
{
    bool same = false;
    for (uint32_t i = 0; i < last; i++) {
        same |= tile[i].tile == tile[last].tile && access[i].buffer == access[last].buffer;
    }
    return same;
}

static TI_NOINLINE void note_follower(ti_touched *touched, uint32_t number, uint32_t follower)
{
    while (touched->follower.count <= number) {
        ti_vec_push(&touched->follower, 0);
    }
    touched->follower.data[number] = follower;
}

static inline uint32_t follower_of(const ti_touched *touched, uint32_t number)
{
    return number < touched->follower.count ? touched->follower.data[number] : 0;
}

static inline __attribute__((always_inline)) bool is_box(const ti_tiles *tiles, int dims, uint32_t number,
                                                         const ti_box *box)
{
    return number > 0 && number <= tiles->count && ti_tile_has_box(tiles, dims, number, box);
}

/* The number of a box that an access touches, or 0. It is nearly always that which came after the last one before, so
 * the next one is brought into the caches: of 100 000 tiles little is there. */
static inline __attribute__((always_inline)) uint32_t find_number(const ti_task_graph *graph,
                                                                  const ti_buffer_info *buffer, const ti_tiles *tiles,
                                                                  int dims, const ti_box *box, uint32_t access,
                                                                  ti_touched *touched)
{
    const uint32_t latest = touched->latest[access], guess = follower_of(touched, latest);
    uint32_t number = guess;
    if (is_box(tiles, dims, latest, box)) {
        return latest;
    }
    if (TI_UNLIKELY(!is_box(tiles, dims, guess, box))) {
        number = ti_tiles_find(tiles, dims, box);
        if (number && latest) {
            note_follower(touched, latest, number);
        }
    }
    TI_ASSERT(number <= tiles->count);
    touched->latest[access] = number;
    const uint32_t next = follower_of(touched, number);
    if (next > 0 && next <= tiles->count) {
        __builtin_prefetch(&tiles->corner.data[(size_t)2 * (size_t)dims * (next - 1)]);
        ti_task_graph_expect(graph, buffer, next);
    }
    return number;
}

/* Nearly always all accesses are of tiles that are known and apart. */
static inline __attribute__((always_inline)) bool fill_tiles(ti_task_graph *graph, const ti_shape *form, int dims,
                                                             const tacit_task *given, ti_touched *out)
{
    const ti_tiles *tiles = NULL;
    const ti_tracker *tracker = NULL;
    uint32_t numbers = 0;
    for (uint32_t i = 0; i < form->accesses; i++) {
        const ti_buffer_info *buffer = form->access[i].buffer;
        int64_t *corner = &out->corner[2 * (uint32_t)dims * i];
        ti_box box;
        if (form->turns >> i & 1) {
            tiles = *ti_task_graph_tiles(graph, buffer, &tracker);
        }
        if (TI_UNLIKELY(!tiles || !box_of_spans(given->access[i].mapper.c, dims, &box))) {
            return false;
        }
        const uint32_t number = find_number(graph, buffer, tiles, dims, &box, i, out);
        if (TI_UNLIKELY(!number || !ti_tracker_knows_tile(tracker, number))) {
            return false;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (TI_UNLIKELY(out->number[k] == number && form->access[k].buffer == buffer)) {
                return false;
            }
        }
        for (int d = 0; d < dims; d++) {
            corner[d] = box.min[d];
            corner[dims + d] = box.max[d];
        }
        out->number[i] = number;
        numbers |= number;
    }
    const uint64_t each = ~(uint64_t)0 / ((1 << TI_FULL_BITS) - 1); /* one bit for each access */
    out->full = (7u << dims & 7) * each;
    out->numbers = numbers;
    out->apart = out->of_form = true;
    return true;
}

bool ti_tile_fill_known(const tacit_context *ctx, const ti_shape *form, const tacit_task *given, ti_touched *out)
{
    ti_task_graph *graph = ti_runtime_task_graph_now(ctx->runtime);
    if (!form->may_be_brief) {
        return false;
    }
    TI_ASSERT(0 < form->tile_dims && form->tile_dims <= TACIT_MAX_DIMS && (form->turns & 1));
    return form->tile_dims == 2   ? fill_tiles(graph, form, 2, given, out)
           : form->tile_dims == 1 ? fill_tiles(graph, form, 1, given, out)
                                  : fill_tiles(graph, form, 3, given, out);
}

void ti_tile_spread(const ti_shape *form, ti_touched *touched)
{
    for (uint32_t i = 0; touched->of_form && i < form->accesses; i++) {
        touched->tile[i] = (ti_footprint){ .boxes = 1,
                                           .tile = touched->number[i],
                                           .bounding = ti_brief_box(touched->corner, form->tile_dims, i) };
    }
}

static inline bool is_constant(const tacit_access *a)
{
    return (a->mapper.kind == TACIT_MAPPER_FIXED || a->mapper.kind == TACIT_MAPPER_ALL) && a->mode != TACIT_REDUCE;
}

bool ti_tile_fill(const tacit_context *ctx, const tacit_task *given, uint32_t accesses, const tacit_buffer **usable,
                  ti_touched *out)
{
    const tacit_buffer *buffer = NULL;
    const ti_tracker *tracker = NULL;
    ti_tiles **tiles = NULL;
    uint32_t numbers = 0;
    uint64_t all_full = 0;
    bool apart = true;
    for (uint32_t i = 0; i < accesses; i++) {
        const tacit_access *a = &given->access[i];
        ti_footprint *touched = &out->tile[i];
        if (TI_UNLIKELY(!buffer || a->buffer != buffer)) {
            if (!a->buffer || (a->buffer != *usable && !ti_buffer_is_usable(ctx, a->buffer))) {
                return false;
            }
            *usable = buffer = a->buffer;
            tiles = ti_task_graph_tiles(ti_runtime_task_graph_now(ctx->runtime), buffer->info, &tracker);
        }
        const int dims = buffer->info->dims;
        unsigned full = 7u << dims & 7;
        bool all;
        if (!is_constant(a)) {
            return false;
        }
        if (TI_UNLIKELY(!*tiles || !find_known(a->mapper.c, *tiles, dims, touched))) {
            if (!fill_box(a, touched, &full, &all)) {
                return false;
            }
            touched->tile = all ? 0 : ti_tiles_number(tiles, dims, &touched->bounding);
        }
        touched->boxes = 1;
        all_full |= (uint64_t)full << TI_FULL_BITS * i;
        numbers |= touched->tile;
        apart &= ti_tracker_knows_tile(tracker, touched->tile) && !comes_twice(given->access, out->tile, i);
    }
    out->full = all_full;
    out->numbers = numbers;
    out->apart = apart;
    out->of_form = false;
    return true;
}

/* ---- shapes: behind one lie its footprints, then its accesses and mappers, as many of each. One of a task
 * that runs elsewhere uses the form's accesses */

_Static_assert(sizeof(ti_shape) % _Alignof(ti_footprint) == 0 && sizeof(ti_footprint) % _Alignof(ti_access) == 0 &&
                   sizeof(ti_access) % _Alignof(ti_mapper) == 0,
               "what lies behind a shape is aligned");

static size_t bytes_to_accesses(uint32_t accesses)
{
    return sizeof(ti_shape) + accesses * sizeof(ti_footprint);
}

static size_t bytes_of(uint32_t accesses)
{
    return bytes_to_accesses(accesses) + accesses * (sizeof(ti_access) + sizeof(ti_mapper));
}

ti_shape *ti_tile_form(const ti_shape *shape, ti_arena *arena)
{
    ti_shape *form = ti_arena_alloc_zero(arena, bytes_of(shape->accesses));
    ti_footprint *footprint = (ti_footprint *)(form + 1);
    ti_access *access = (ti_access *)(footprint + shape->accesses);
    _Static_assert(TACIT_MAX_ACCESSES <= 32, "a bit for each access");
    *form = *shape;
    form->may_be_brief = shape->accesses > 0 && shape->oversubscribe == 1 && !shape->pure && shape->orders == 0;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        access[i] = shape->access[i];
        access[i].mapper = NULL;
        form->tile_dims = access[0].buffer->dims;
        form->may_be_brief = form->may_be_brief && access[i].buffer->dims == form->tile_dims;
        form->reads |= (uint32_t)ti_access_reads(&access[i]) << i;
        form->writes |= (uint32_t)ti_access_writes(&access[i]) << i;
        form->turns |= (uint32_t)(i == 0 || access[i].buffer != access[i - 1].buffer) << i;
    }
    form->may_be_brief = form->may_be_brief && form->tile_dims > 0;
    form->name = ti_arena_copy(arena, shape->name, strlen(shape->name) + 1);
    form->devices = shape->devices ? ti_arena_copy(arena, shape->devices, sizeof(*shape->devices)) : NULL;
    form->access = access;
    form->order = NULL;
    form->submission = NULL;
    form->serial = 0;
    form->number = 0;
    return form;
}

/* Whether one writes what another touches. */
static bool clash(const ti_access *access, const tacit_task *given, const ti_footprint *tile, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!ti_access_writes(&access[i])) {
            continue;
        }
        for (uint32_t k = 0; k < count; k++) {
            if (k != i && ti_box_meets(&tile[i].bounding, &tile[k].bounding) &&
                given->access[i].buffer == given->access[k].buffer) {
                return true;
            }
        }
    }
    return false;
}

/* Whether nobody will look at mappers, and the accesses can be those of the form. */
static inline bool is_foreign(const ti_system *system, const ti_shape *form, const tacit_task *given,
                              const ti_touched *touched)
{
    bool foreign = given->place.arg != system->node && !form->pure && !system->explain && !system->record;
    const uint32_t buffers = touched->of_form ? 0 : form->accesses;
    for (uint32_t i = 0; i < buffers && foreign; i++) {
        foreign = given->access[i].buffer->info == form->access[i].buffer;
    }
    return foreign;
}

static inline void fill_footprints(ti_shape *shape, const ti_touched *touched)
{
    ti_footprint *footprint = (ti_footprint *)(shape + 1);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        footprint[i] = touched->tile[i];
        footprint[i].box = &footprint[i].bounding;
    }
    shape->footprint = footprint;
    shape->full = touched->full;
}

static inline ti_shape *foreign_shape(const ti_shape *form, ti_arena *arena)
{
    ti_shape *shape = ti_arena_alloc(arena, bytes_to_accesses(form->accesses));
    *shape = *form;
    shape->bare = true;
    return shape;
}

static TI_NOINLINE ti_shape *whole_shape(const ti_shape *form, const tacit_task *given, const ti_touched *touched,
                                         ti_arena *arena)
{
    ti_shape *shape = ti_arena_copy(arena, form, bytes_of(form->accesses));
    ti_access *access = (ti_access *)((char *)shape + bytes_to_accesses(form->accesses));
    ti_mapper *mapper = (ti_mapper *)(access + form->accesses);
    for (uint32_t i = 0; i < form->accesses; i++) {
        access[i].buffer = given->access[i].buffer->info;
        access[i].mapper = &mapper[i];
        ti_mapper_of_tile(&mapper[i], access[i].buffer->dims, &touched->tile[i].bounding,
                          (unsigned)(touched->full >> TI_FULL_BITS * i));
    }
    shape->access = access;
    return shape;
}

const ti_shape *ti_tile_shape(const tacit_context *ctx, const ti_shape *form, const tacit_task *given,
                              const ti_touched *touched, ti_arena *arena)
{
    const ti_system *system = ti_runtime_system(ctx->runtime);
    if ((uint32_t)given->place.arg >= (uint32_t)system->num_nodes ||
        (!touched->apart && clash(form->access, given, touched->tile, form->accesses))) {
        return NULL;
    }
    ti_shape *shape = is_foreign(system, form, given, touched) ? foreign_shape(form, arena)
                                                               : whole_shape(form, given, touched, arena);
    fill_footprints(shape, touched);
    shape->place = given->place.arg;
    return shape;
}
