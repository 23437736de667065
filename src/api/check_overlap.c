/* Overlapping writes of custom mappers: see check_overlap.h. */
#include "api/check_overlap.h"

#include "grid/region_map.h"
#include "ir/custom.h"

#include <stdio.h>
#include <string.h>

/* Parts of the finer cut: prime along one dimension, odd along two, so that its borders are no multiples of what
 * programs like. */
enum { FINE = 61, FINE_0 = 9, FINE_1 = 7 };

/* Two chunks that would write `box`. */
typedef struct clash {
    ti_box items[2], box;
    int node[2];
} clash;

static void note_chunk(const ti_split *split, int64_t c, int side, clash *out)
{
    out->items[side] = ti_split_chunk(split, c);
    out->node[side] = ti_split_node(split, c);
}

/* The first of `boxes` that meets what was written, or NULL; then *hit is what it meets. */
static const ti_box *find_overlap(ti_region_map *written, const ti_boxes *boxes, ti_region_entry *hit)
{
    ti_region_entries hits = { 0 };
    const ti_box *found = NULL;
    for (size_t i = 0; i < boxes->count && !found; i++) {
        ti_region_map_query(written, &boxes->data[i], &hits);
        found = hits.count ? &boxes->data[i] : NULL;
    }
    if (found) {
        *hit = hits.data[0];
    }
    ti_vec_fini(&hits);
    return found;
}

static bool find_clash(const ti_access *access, const ti_split *split, clash *out)
{
    ti_region_map written;
    ti_region_entry hit;
    ti_boxes boxes = { 0 };
    const ti_box *found = NULL;
    ti_region_map_init(&written);
    written.overlapping = true;
    for (int64_t c = 0; c < split->chunks && !found; c++) {
        ti_box items = ti_split_chunk(split, c);
        ti_vec_clear(&boxes);
        ti_custom_image(access->custom, &items, &access->buffer->extent, access->buffer->dims, &boxes);
        found = find_overlap(&written, &boxes, &hit);
        for (size_t i = 0; i < boxes.count && !found; i++) {
            ti_region_map_insert(&written, &boxes.data[i], (uint64_t)c);
        }
        if (found) {
            out->box = ti_box_intersect(found, &hit.box);
            note_chunk(split, (int64_t)hit.value, 0, out);
            note_chunk(split, c, 1, out);
        }
    }
    ti_region_map_fini(&written);
    ti_vec_fini(&boxes);
    return found != NULL;
}

bool ti_accesses_meet(const ti_access *a, const ti_access *b, const ti_box *range, ti_box *where)
{
    ti_region_map touched;
    ti_region_entry hit;
    ti_boxes boxes = { 0 };
    const ti_box *found = NULL;
    if (!ti_box_is_empty(range)) {
        ti_region_map_init(&touched);
        touched.overlapping = true;
        ti_access_image(a, range, &boxes);
        for (size_t i = 0; i < boxes.count; i++) {
            ti_region_map_insert(&touched, &boxes.data[i], 0);
        }
        ti_vec_clear(&boxes);
        ti_access_image(b, range, &boxes);
        found = find_overlap(&touched, &boxes, &hit);
        *where = found ? ti_box_intersect(found, &hit.box) : *where;
        ti_region_map_fini(&touched);
        ti_vec_fini(&boxes);
    }
    return found != NULL;
}

static ti_split_request request_of(const ti_shape *shape)
{
    return (ti_split_request){ .range = shape->range,
                               .gran = { shape->gran[0], shape->gran[1], shape->gran[2] },
                               .place = shape->place,
                               .two_dimensional = shape->two_dimensional };
}

/* The chunks that nodes get. */
static bool nodes_clash(const ti_shape *shape, const ti_access *access, int nodes, clash *out)
{
    TI_VEC(int64_t) table = { 0 };
    ti_split_request request = request_of(shape);
    request.nodes = nodes;
    request.oversubscribe = shape->oversubscribe;
    request.weights = shape->weights;
    request.border = shape->border;
    memcpy(request.grid, shape->grid, sizeof(request.grid));
    ti_vec_reserve(&table, (size_t)nodes * (size_t)shape->oversubscribe + 1);
    ti_split split = ti_split_make(&request, table.data);
    bool found = find_clash(access, &split, out);
    ti_vec_fini(&table);
    return found;
}

/* Parts of the range that more nodes or more workers might get. */
static bool parts_clash(const ti_shape *shape, const ti_access *access, clash *out)
{
    ti_split_request request = request_of(shape);
    request.nodes = FINE;
    request.oversubscribe = 1;
    if (shape->two_dimensional) {
        request.nodes = FINE_0 * FINE_1;
        request.grid[0] = FINE_0;
        request.grid[1] = FINE_1;
        request.grid[2] = 1;
    }
    ti_split split = ti_split_make(&request, NULL);
    return find_clash(access, &split, out);
}

static tacit_status refuse(tacit_context *ctx, const ti_shape *shape, uint32_t index, const clash *c, bool nodes)
{
    const ti_buffer_info *buffer = shape->access[index].buffer;
    int dims = TI_MAX(shape->dims, 1);
    char first[TI_BOX_TEXT], second[TI_BOX_TEXT], box[TI_BOX_TEXT],
        who[80] = "which more workers or nodes would compute";
    if (nodes) {
        snprintf(who, sizeof(who), "of nodes %d and %d", c->node[0], c->node[1]);
    }
    return ti_context_error(
        ctx, TACIT_ERROR_OVERLAP,
        "task '%s', access %u to buffer '%s': its custom mapper lets the items %s and the items %s, %s, both write "
        "%s; let different items write different elements, or set .granularity to what must stay together, use "
        "tacit_replicated() if all compute the same, or place the task",
        shape->name, index, buffer->name, ti_box_format(&c->items[0], dims, first),
        ti_box_format(&c->items[1], dims, second), who, ti_box_format(&c->box, TI_MAX(buffer->dims, 1), box));
}

static tacit_status check_access(tacit_context *ctx, const ti_shape *shape, uint32_t index)
{
    const ti_access *access = &shape->access[index];
    clash c;
    if (nodes_clash(shape, access, tacit_num_nodes(ctx), &c)) {
        return refuse(ctx, shape, index, &c, true);
    }
    return parts_clash(shape, access, &c) ? refuse(ctx, shape, index, &c, false) : TACIT_OK;
}

tacit_status ti_check_overlap(tacit_context *ctx, const ti_shape *shape)
{
    for (uint32_t i = 0; i < shape->accesses && shape->place == TI_PLACE_SPLIT; i++) {
        if (TI_UNLIKELY(shape->access[i].custom != NULL) && ti_access_writes(&shape->access[i])) {
            TI_TRY(check_access(ctx, shape, i));
        }
    }
    return TACIT_OK;
}
