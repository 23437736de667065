/* Collectives as values: see collective.h. */
#include "ir/collective.h"

#include "base/alloc.h"
#include "base/check.h"

const char *ti_pattern_name(ti_pattern pattern)
{
    static const char *const names[TI_PATTERN_KINDS] = { [TI_PATTERN_NONE] = "none",
                                                         [TI_PATTERN_GATHER] = "gather",
                                                         [TI_PATTERN_ALL_GATHER] = "all-gather",
                                                         [TI_PATTERN_BROADCAST] = "broadcast",
                                                         [TI_PATTERN_SCATTER] = "scatter",
                                                         [TI_PATTERN_ALL_TO_ALL] = "all-to-all",
                                                         [TI_PATTERN_REDUCE] = "reduce",
                                                         [TI_PATTERN_ALL_REDUCE] = "all-reduce" };
    return names[pattern];
}

/* ---- parts */

static void chunk_part(const ti_parts *parts, int64_t c, const ti_box *clip, ti_boxes *out)
{
    if (parts->start) {
        for (size_t i = parts->start[c]; i < parts->start[c + 1]; i++) {
            ti_boxes_push_common(&parts->box[i], clip, out);
        }
        return;
    }
    ti_box items = ti_split_chunk(&parts->split, c), image[TI_MAPPER_BOXES];
    int boxes = ti_mapper_image(&parts->mapper, &parts->extent, &items, image);
    for (int i = 0; i < boxes; i++) {
        ti_boxes_push_common(&image[i], clip, out);
    }
}

void ti_parts_of(const ti_parts *parts, int node, const ti_box *clip, ti_boxes *out)
{
    if (parts->kind != TI_PARTS_SPLIT) {
        if (parts->kind == TI_PARTS_ALL || parts->node == node) {
            ti_vec_push(out, *clip);
        }
        return;
    }
    int64_t first, count = ti_split_chunks_of(&parts->split, node, &first);
    for (int64_t c = first; c < first + count; c++) {
        chunk_part(parts, c, clip, out);
    }
}

void ti_parts_fini(ti_parts *parts)
{
    if (parts->split.table) {
        ti_free((void *)(uintptr_t)parts->split.table, (size_t)(parts->split.parts[0] + 1) * sizeof(int64_t));
    }
    if (parts->start) {
        ti_free(parts->box, parts->start[parts->split.chunks] * sizeof(ti_box));
        ti_free(parts->start, (size_t)(parts->split.chunks + 1) * sizeof(size_t));
    }
}

/* ---- groups */

int ti_collective_groups(const ti_collective *c)
{
    return c->members ? (int)(c->to.split.chunks / c->members) : 1;
}

bool ti_collective_together(const ti_collective *c, int q, uint32_t index, ti_box *out)
{
    *out = c->region[index];
    if (!c->members) {
        return true;
    }
    if (q >= c->to.split.chunks) {
        return false;
    }
    ti_box items = ti_split_chunk(&c->to.split, q), image[TI_MAPPER_BOXES]; /* groups have one chunk per node */
    int boxes = ti_mapper_image(&c->to.mapper, &c->to.extent, &items, image);
    TI_ASSERT(boxes <= 1); /* find_groups in plan/holder/holder.c sees to it */
    if (!boxes) {
        return false;
    }
    *out = ti_box_intersect(&image[0], out);
    return !ti_box_is_empty(out);
}

/* ---- messages */

void ti_collective_given(const ti_collective *c, int r, ti_boxes *out)
{
    for (uint32_t i = 0; i < c->regions; i++) {
        ti_parts_of(&c->from, r, &c->region[i], out);
    }
}

void ti_collective_message(const ti_collective *c, int r, int q, ti_boxes *out, ti_boxes *scratch)
{
    if (ti_pattern_combines(c->pattern) || (c->from.kind == TI_PARTS_NODE && c->from.node != r)) {
        return;
    }
    if (c->to.kind == TI_PARTS_NODE && c->to.node != q) {
        return;
    }
    if (c->to.kind != TI_PARTS_SPLIT) {
        ti_collective_given(c, r, out);
        return;
    }
    ti_vec_clear(scratch);
    ti_collective_given(c, r, scratch);
    for (size_t i = 0; i < scratch->count; i++) {
        ti_parts_of(&c->to, q, &scratch->data[i], out);
    }
}

void ti_collective_got(const ti_collective *c, int q, ti_boxes *out, ti_boxes *scratch)
{
    ti_vec_clear(out);
    for (uint32_t i = 0; i < c->regions; i++) {
        ti_parts_of(&c->to, q, &c->region[i], out);
    }
    ti_vec_clear(scratch);
    if (ti_pattern_combines(c->pattern)) {
        return;
    }
    ti_collective_given(c, q, scratch);
    for (size_t i = 0; i < scratch->count && out->count; i++) {
        ti_boxes_subtract(out, &scratch->data[i]);
    }
}

void ti_collective_destroy(ti_collective *c)
{
    ti_parts_fini(&c->from);
    ti_parts_fini(&c->to);
    ti_free(c->boxes, c->room * sizeof(ti_box));
    TI_DELETE(c);
}
