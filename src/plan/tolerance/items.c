/* From elements back to items: see items.h. */
#include "plan/tolerance/items.h"

#include "base/check.h"

/* The granules around [*a,*b) along one dimension. */
static void round_out(const ti_shape *shape, const int64_t gran[3], int d, int64_t *a, int64_t *b)
{
    int64_t lo = shape->range.min[d];
    *a = lo + ti_floor_div(*a - lo, gran[d]) * gran[d];
    *b = lo + ti_ceil_div(*b - lo, gran[d]) * gran[d];
}

/* What is asked, and what has been found. */
typedef struct search {
    const ti_shape *shape;
    const int64_t *gran;
    const ti_mapper *mapper;
    const ti_box *extent, *box;
    ti_boxes *out;
} search;

/* Narrow `items` along the dimension that the component follows to those that touch [x,y). */
static void narrow(const search *s, const tacit_component *c, int64_t x, int64_t y, ti_box *items)
{
    int k = c->dim;
    TI_ASSERT(c->mul > 0 && c->div > 0 && x < y);
    int64_t a = ti_floor_div((x - c->hi) * c->div, c->mul), b = ti_ceil_div((y + c->lo) * c->div, c->mul);
    round_out(s->shape, s->gran, k, &a, &b);
    items->min[k] = TI_MAX(items->min[k], a);
    items->max[k] = TI_MIN(items->max[k], b);
}

/* Dimension `d` of the buffer and those that follow. */
static void search_along(const search *s, int d, ti_box items)
{
    if (ti_box_is_empty(&items)) {
        return;
    }
    if (d == s->mapper->dims) {
        ti_vec_push(s->out, items);
        return;
    }
    const tacit_component *c = &s->mapper->c[d];
    int64_t x = s->box->min[d], y = s->box->max[d], n = s->extent->max[d];
    if (!ti_component_follows(c)) {
        bool meets = c->kind == TACIT_COMPONENT_FULL || (c->lo < y && c->hi > x);
        if (meets) {
            search_along(s, d + 1, items);
        }
        return;
    }
    if (ti_component_is_irregular(c) && c->kind != TACIT_COMPONENT_PERIODIC) {
        search_along(s, d + 1, items); /* any of them may */
        return;
    }
    TI_ASSERT(n > 0);
    /* Around the ends of a ring the same elements have other indices, too. */
    int64_t around = c->kind == TACIT_COMPONENT_PERIODIC
                         ? 2 + (c->lo + c->hi + ti_ceil_div(s->shape->range.max[c->dim] * c->mul, c->div)) / n
                         : 0;
    for (int64_t turn = -around; turn <= around; turn++) {
        ti_box part = items;
        narrow(s, c, x + turn * n, y + turn * n, &part);
        search_along(s, d + 1, part);
    }
}

/* The longest dimension of `items`, in granules, is cut in two halves. False if there is one granule only. */
static bool halve(const int64_t gran[3], const ti_box *items, ti_box half[2])
{
    int64_t most = 1;
    int along = -1;
    for (int d = 0; d < 3; d++) {
        int64_t granules = ti_ceil_div(items->max[d] - items->min[d], gran[d]);
        along = granules > most ? d : along;
        most = TI_MAX(granules, most);
    }
    if (along < 0) {
        return false;
    }
    half[0] = half[1] = *items;
    half[0].max[along] = half[1].min[along] = items->min[along] + most / 2 * gran[along];
    TI_ASSERT(!ti_box_is_empty(&half[0]) && !ti_box_is_empty(&half[1]));
    return true;
}

/* A custom mapper has no inverse: boxes of items whose image meets the box are divided until each is one granule. */
static void divide(const ti_access *access, const int64_t gran[3], const ti_box *items, const ti_box *box,
                   ti_boxes *out)
{
    ti_boxes image = { 0 };
    ti_box half[2];
    ti_access_image(access, items, &image);
    bool meets = ti_boxes_meet(&image, box);
    ti_vec_fini(&image);
    if (meets && halve(gran, items, half)) {
        divide(access, gran, &half[0], box, out);
        divide(access, gran, &half[1], box, out);
    } else if (meets) {
        ti_vec_push(out, *items);
    }
}

void ti_items_touching(const ti_shape *shape, const ti_access *access, const int64_t gran[3], const ti_box *items,
                       const ti_box *box, ti_boxes *out)
{
    TI_ASSERT(gran[0] > 0 && gran[1] > 0 && gran[2] > 0 && !ti_box_is_empty(box));
    if (ti_box_is_empty(items)) {
        return;
    }
    if (access->custom) {
        divide(access, gran, items, box, out);
        return;
    }
    for (uint32_t m = 0; m < access->mappers; m++) {
        const search s = { shape, gran, &access->mapper[m], &access->buffer->extent, box, out };
        search_along(&s, 0, *items);
    }
}

void ti_items_take_rows(const ti_split *split, const ti_box *all, ti_boxes *items)
{
    for (int d = 0; d < 3; d++) {
        bool whole = split->parts[d] == 1 && (d > 0 || split->chunks > 1);
        for (size_t i = 0; i < items->count && whole; i++) {
            if (!ti_box_is_empty(&items->data[i])) {
                TI_ASSERT(all->min[d] <= items->data[i].min[d] && items->data[i].max[d] <= all->max[d]);
                items->data[i].min[d] = all->min[d];
                items->data[i].max[d] = all->max[d];
            }
        }
    }
}

bool ti_items_are_diagonal(const ti_shape *shape)
{
    bool diagonal = false;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        for (uint32_t m = 0; m < shape->access[i].mappers; m++) {
            bool follows[3] = { false, false, false };
            for (int d = 0; d < shape->access[i].mapper[m].dims; d++) {
                const tacit_component *c = &shape->access[i].mapper[m].c[d];
                diagonal |= ti_component_follows(c) && follows[c->dim];
                follows[c->dim] |= ti_component_follows(c);
            }
        }
    }
    return diagonal;
}
