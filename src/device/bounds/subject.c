/* What is checked of a call: see subject.h. */
#include "device/bounds/subject.h"

#include "device/bounds/report.h"

enum { MAX_FOLDED = 4 }; /* components of a vector or pixel */

/* ---- what is declared */

/* From the order of the buffer's dimensions to the right-aligned one of copies. */
static ti_box align_right(const ti_box *box, int dims)
{
    ti_box out = { { 0, 0, 0 }, { 1, 1, 1 } };
    int shift = dims ? 3 - dims : 0;
    for (int d = 0; d + shift < 3; d++) {
        out.min[d + shift] = box->min[d];
        out.max[d + shift] = box->max[d];
    }
    return out;
}

static ti_box view_box(const tacit_view *v)
{
    ti_box box = ti_box_from(&v->box);
    return align_right(&box, v->dims);
}

static void find_image(ti_bounds_subject *is, uint32_t a)
{
    const ti_access *access = &is->task->shape->access[a];
    ti_boxes boxes = { 0 };
    ti_access_image(access, &is->items, &boxes);
    for (size_t b = 0; b < boxes.count; b++) {
        ti_box box = align_right(&boxes.data[b], access->buffer->dims);
        ti_region_add(&is->image[a], &box);
    }
    ti_region_settle(&is->image[a]);
    ti_vec_fini(&boxes);
}

/* Whether a kernel may see through one access what it writes through the other. */
static bool share(const ti_bounds_subject *is, uint32_t a, uint32_t b)
{
    const ti_access *x = &is->task->shape->access[a], *y = &is->task->shape->access[b];
    if (x->buffer != y->buffer || !(ti_access_writes(x) || ti_access_writes(y)) || x->mode == TACIT_REDUCE ||
        y->mode == TACIT_REDUCE) {
        return false;
    }
    for (size_t i = 0; i < is->image[a].boxes.count; i++) {
        if (ti_region_meets(&is->image[b], &is->image[a].boxes.data[i])) {
            return true;
        }
    }
    return false;
}

/* Gives every access the number of its copy: those that share, also by way of others, have the same. */
static void group_accesses(ti_bounds_subject *is)
{
    uint32_t *of = is->copy_of, n = is->task->shape->accesses;
    for (uint32_t a = 0; a < n; a++) {
        of[a] = a;
        for (uint32_t b = 0; b < a; b++) {
            uint32_t keep = TI_MIN(of[a], of[b]), gone = TI_MAX(of[a], of[b]);
            bool join = keep != gone && share(is, a, b);
            for (uint32_t c = 0; join && c <= a; c++) {
                of[c] = of[c] == gone ? keep : of[c];
            }
        }
    }
    for (uint32_t a = 0; a < n; a++) { /* without gaps */
        of[a] = of[a] == a ? is->copies++ : of[of[a]];
    }
}

/* Whether the last dimension is short, declared in full, and packed: the elements of one point, which kernels touch as
 * one. */
static bool is_foldable(const ti_bounds_subject *is, uint32_t a, const tacit_view *real)
{
    const ti_buffer_info *buffer = is->task->shape->access[a].buffer;
    const ti_region *image = &is->image[a];
    ti_box extent = align_right(&buffer->extent, buffer->dims), box = view_box(real);
    size_t points = (size_t)extent.max[2];
    if (real->parts || buffer->dims < 2 || points > MAX_FOLDED ||
        real->stride[buffer->dims - 2] != points * buffer->elem_size || box.min[2] != 0 ||
        box.max[2] != extent.max[2]) {
        return false;
    }
    for (size_t b = 0; b < image->boxes.count; b++) {
        if (image->boxes.data[b].min[2] != 0 || image->boxes.data[b].max[2] != extent.max[2]) {
            return false;
        }
    }
    return true;
}

static void choose_folds(ti_bounds_subject *is, const tacit_view *real)
{
    for (uint32_t a = 0; a < is->task->shape->accesses; a++) {
        is->copy[is->copy_of[a]].fold = (int64_t)real[a].box.max[TI_MAX(real[a].dims - 1, 0)];
    }
    for (uint32_t a = 0; a < is->task->shape->accesses; a++) {
        if (!is_foldable(is, a, &real[a])) {
            is->copy[is->copy_of[a]].fold = 0;
        }
    }
}

/* From right-aligned to the box that the copy has for it. */
static ti_box folded(const ti_guarded *copy, const ti_box *box)
{
    int64_t f = copy->fold;
    return f ? (ti_box){ { 0, box->min[0], box->min[1] * f }, { 1, box->max[0], box->max[1] * f } } : *box;
}

static void start_copy(ti_guarded *copy, const ti_buffer_info *buffer, const tacit_view *real)
{
    ti_box box = view_box(real);
    copy->name = buffer->name;
    copy->dims = buffer->dims - (copy->fold > 0);
    copy->elem_size = buffer->elem_size;
    copy->reach = folded(copy, &box);
}

/* A view in one piece, or one of the parts of another. */
static void add_source(ti_guarded *copy, const tacit_view *real)
{
    ti_box box = view_box(real);
    ti_guarded_source source = { .box = folded(copy, &box), .data = real->data };
    for (int d = 0; d < copy->dims; d++) {
        source.stride[3 - copy->dims + d] = real->stride[d];
    }
    source.stride[2] = copy->elem_size;
    ti_vec_push(&copy->sources, source);
}

static void fill_copy(ti_bounds_subject *is, uint32_t a, const tacit_view *real)
{
    const ti_access *access = &is->task->shape->access[a];
    ti_guarded *copy = &is->copy[is->copy_of[a]];
    if (copy->elem_size == 0) {
        start_copy(copy, access->buffer, real);
        copy->slack = is->task->shape->on_host;
    } else {
        ti_box box = view_box(real), more = folded(copy, &box);
        copy->reach = ti_box_bounding(&copy->reach, &more);
    }
    for (size_t p = 0; p < TI_MAX(real->parts, (size_t)1); p++) {
        add_source(copy, real->parts ? &real->part[p] : real);
    }
    for (size_t b = 0; b < is->image[a].boxes.count; b++) {
        ti_box box = folded(copy, &is->image[a].boxes.data[b]);
        if (access->mode != TACIT_WRITE) {
            ti_region_add(&copy->contents, &box);
        }
        if (access->mode != TACIT_READ) {
            ti_region_add(&copy->writable, &box);
        }
    }
    ti_region_settle(&copy->contents);
    ti_region_settle(&copy->writable);
}

/* A mapper that names more for a part of the items than for all of them would make the view too small. */
static bool stays_in_view(const ti_bounds_subject *is, uint32_t a, const tacit_view *real)
{
    ti_boxes beyond = { 0 };
    for (size_t b = 0; b < is->image[a].boxes.count; b++) {
        ti_vec_push(&beyond, is->image[a].boxes.data[b]);
    }
    for (size_t p = 0; p < TI_MAX(real->parts, (size_t)1); p++) {
        ti_box box = view_box(real->parts ? &real->part[p] : real);
        ti_boxes_subtract(&beyond, &box);
    }
    bool stays = beyond.count == 0;
    ti_vec_fini(&beyond);
    if (!stays) {
        ti_bounds_report_mapper(is, a);
    }
    return stays;
}

/* The kernel gets views and parts of its own. Parts are not pointed at before all are there. */
static void copy_views(ti_bounds_subject *is, const tacit_view *real)
{
    uint32_t accesses = is->task->shape->accesses;
    size_t first = 0;
    for (uint32_t a = 0; a < accesses; a++) {
        is->view[a] = real[a];
        for (size_t p = 0; p < real[a].parts; p++) {
            ti_vec_push(&is->parts, real[a].part[p]);
        }
    }
    for (uint32_t a = 0; a < accesses; first += real[a++].parts) {
        is->view[a].part = real[a].parts ? &is->parts.data[first] : NULL;
    }
    is->view[accesses] = real[accesses];
}

bool ti_bounds_subject_init(ti_bounds_subject *is, const tacit_launch *launch)
{
    is->items = ti_box_from(&launch->chunk);
    for (uint32_t a = 0; a < is->task->shape->accesses; a++) {
        find_image(is, a);
        if (!stays_in_view(is, a, &launch->view[a])) {
            return false;
        }
    }
    group_accesses(is);
    choose_folds(is, launch->view);
    for (uint32_t a = 0; a < is->task->shape->accesses; a++) {
        fill_copy(is, a, &launch->view[a]);
    }
    copy_views(is, launch->view);
    return true;
}

static void point_view(const ti_guarded *copy, tacit_view *v)
{
    ti_box box = view_box(v), first = folded(copy, &box);
    v->data = ti_guarded_address(copy, first.min);
    for (int d = 0; d < copy->dims; d++) {
        v->stride[d] = copy->stride[3 - copy->dims + d];
    }
    if (copy->fold) {
        v->stride[copy->dims - 1] = (size_t)copy->fold * copy->elem_size;
    }
    v->ld = v->dims > 1 ? v->stride[v->dims - 2] / v->elem_size : 1;
}

void ti_bounds_subject_point_views(ti_bounds_subject *is)
{
    size_t part = 0;
    for (uint32_t a = 0; a < is->task->shape->accesses; a++) {
        const ti_guarded *copy = &is->copy[is->copy_of[a]];
        if (is->view[a].parts == 0) {
            point_view(copy, &is->view[a]);
        }
        for (size_t end = part + is->view[a].parts; part < end; part++) {
            point_view(copy, &is->parts.data[part]);
        }
    }
}

void ti_bounds_subject_fini(ti_bounds_subject *is)
{
    for (uint32_t a = 0; a < is->task->shape->accesses; a++) {
        ti_region_fini(&is->image[a]);
        ti_guarded_fini(&is->copy[a]);
    }
    ti_vec_fini(&is->parts);
}
