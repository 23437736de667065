/* Kernels in flight: see job.h. */
#include "exec/job.h"

#include "base/check.h"

enum { USUAL_VIEWS = TACIT_MAX_ACCESSES + 1 };

static size_t job_size(size_t views)
{
    return sizeof(ti_job) + views * sizeof(tacit_view);
}

void ti_jobs_fini(ti_jobs *js)
{
    for (size_t i = 0; i < js->all.count; i++) {
        ti_vec_fini(&js->all.data[i]->result);
        ti_vec_fini(&js->all.data[i]->split);
        ti_free(js->all.data[i], job_size(js->all.data[i]->capacity));
    }
    ti_vec_fini(&js->all);
}

/* ---- jobs */

ti_job *ti_jobs_take(ti_jobs *js, size_t views)
{
    ti_job **list = views > USUAL_VIEWS ? &js->many : &js->few;
    while (*list && (*list)->capacity < views) {
        list = &(*list)->next;
    }
    ti_job *j = *list;
    if (j) {
        *list = j->next;
        j->made = 0;
        return j;
    }
    size_t capacity = TI_MAX(views, (size_t)USUAL_VIEWS);
    j = ti_alloc_zero(job_size(capacity));
    j->capacity = j->used = capacity;
    ti_vec_push(&js->all, j);
    return j;
}

ti_job *ti_jobs_take_made(ti_jobs *js, uint64_t made)
{
    ti_job **list = &js->kept[made % TI_KEPT_JOBS], *j = *list;
    if (!made || !j || j->made != made) {
        return NULL;
    }
    *list = j->next;
    return j;
}

static void put(ti_job **list, ti_job *j)
{
    j->next = *list;
    *list = j;
}

static void set_free(ti_jobs *js, ti_job *j)
{
    put(j->capacity > USUAL_VIEWS ? &js->many : &js->few, j);
}

/* Those with another number at the same place are kept no longer: they have not been used since. */
void ti_jobs_return(ti_jobs *js, ti_job *j)
{
    if (!j->made) {
        set_free(js, j);
        return;
    }
    ti_job **list = &js->kept[j->made % TI_KEPT_JOBS];
    while (*list && (*list)->made != j->made) {
        ti_job *other = *list;
        *list = other->next;
        set_free(js, other);
    }
    put(list, j);
}

/* ---- views */

/* All but where its data is. `whole` is what lies around it in memory. */
static void describe_view(const ti_instruction_view *from, const ti_box *whole, const ti_box *box, tacit_view *view)
{
    size_t elem = from->buffer->elem_size;
    int dims = from->buffer->dims;
    size_t rows = (size_t)(whole->max[1] - whole->min[1]), columns = (size_t)(whole->max[2] - whole->min[2]);
    view->stride[0] = dims > 1 ? rows * columns * elem : elem;
    view->stride[1] = dims > 2 ? columns * elem : elem;
    view->stride[2] = elem;
    view->elem_size = elem;
    view->ld = dims > 1 ? view->stride[dims - 2] / elem : 1;
    view->dims = dims;
    view->mode = from->mode;
    view->name = from->buffer->name;
    for (int d = 0; d < TACIT_MAX_DIMS; d++) {
        view->extent[d] = (size_t)from->buffer->extent.max[d];
    }
    view->box = ti_box_to_public(box);
    view->data = NULL;
    view->part = NULL;
    view->parts = 0;
}

/* Where a part has its results. */
static char *results(ti_allocation_table *table, const ti_instruction *i, uint32_t v, uint32_t part)
{
    const ti_instruction_view *from = &i->as.kernel.view[v];
    const size_t slot_bytes = (size_t)ti_box_volume(&from->buffer->extent) * from->buffer->elem_size;
    const ti_place place = { .allocation = ti_instruction_allocation(i, v) };
    return ti_allocation_table_base(table, &place) + (from->first_slot + part) * slot_bytes;
}

static void fill_view(ti_allocation_table *table, const ti_instruction *i, uint32_t v, uint32_t part, tacit_view *view)
{
    const ti_instruction_view *from = &i->as.kernel.view[v];
    size_t elem = from->buffer->elem_size;
    const ti_box *whole = from->mode == TACIT_REDUCE ? &from->buffer->extent : &from->place.whole;
    describe_view(from, whole, &from->box, view);
    if (ti_box_is_empty(&from->box) || from->part) {
        return;
    }
    TI_ASSERT(ti_box_covers(whole, &from->box));
    if (from->mode == TACIT_REDUCE) {
        view->data = results(table, i, v, part);
    } else {
        view->data = ti_allocation_table_base(table, &from->place) + ti_layout_offset(whole, from->box.min, elem);
    }
}

/* What the views of accesses in parts are made of, access by access. */
static void fill_split(ti_job *j, ti_allocation_table *table, const ti_instruction *i)
{
    ti_vec_clear(&j->split);
    for (uint32_t v = 0; v < i->as.kernel.views; v++) {
        const ti_instruction_view *from = &i->as.kernel.view[v];
        for (uint32_t p = 0; p < from->parts; p++) {
            const ti_instruction_box *at = &from->part[p];
            tacit_view view = { .access = (int)v, .launch = &j->kernel.launch };
            describe_view(from, &at->place.whole, &at->box, &view);
            view.data = ti_allocation_table_base(table, &at->place) +
                        ti_layout_offset(&at->place.whole, at->box.min, from->buffer->elem_size);
            ti_vec_push(&j->split, view);
        }
    }
}

/* Workers read them here: the instruction is new each time, and would come from another core. */
static void fill_results(ti_job *j, const ti_instruction *i)
{
    ti_vec_clear(&j->result);
    for (uint32_t v = 0; v < i->as.kernel.views; v++) {
        const ti_instruction_view *from = &i->as.kernel.view[v];
        if (from->mode == TACIT_REDUCE) {
            const size_t elements = (size_t)ti_box_volume(&from->buffer->extent);
            ti_vec_push(&j->result, ((ti_job_result){ .view = v, .reducer = from->reducer, .elements = elements }));
        }
    }
}

void ti_job_fill_views(ti_job *j, ti_allocation_table *table, const ti_instruction *i, uint32_t parts)
{
    uint32_t stride = i->as.kernel.views + 1, split = 0;
    j->made = i->as.kernel.made;
    j->stride = stride;
    j->slots = i->as.kernel.slots;
    fill_split(j, table, i);
    fill_results(j, i);
    for (uint32_t k = 0; k < TI_MAX(parts * stride, j->used); k++) {
        uint32_t v = k % stride;
        if (k >= parts * stride || v == i->as.kernel.views) {
            j->view[k] = (tacit_view){ .name = NULL };
        } else {
            const ti_instruction_view *from = &i->as.kernel.view[v];
            fill_view(table, i, v, k / stride, &j->view[k]);
            split = v ? split : 0;
            j->view[k].part = from->parts ? &j->split.data[split] : NULL;
            j->view[k].parts = from->parts;
            split += from->parts;
        }
        j->view[k].access = (int)(k < parts * stride ? v : k);
        j->view[k].launch = &j->kernel.launch;
    }
    j->used = (size_t)parts * stride;
}

void ti_job_place_results(ti_job *j, ti_allocation_table *table, const ti_instruction *i)
{
    for (size_t r = 0; r < j->result.count; r++) {
        const uint32_t v = j->result.data[r].view;
        const bool is_empty = ti_box_is_empty(&i->as.kernel.view[v].box);
        for (uint32_t part = 0; part * j->stride < j->used; part++) {
            j->view[part * j->stride + v].data = is_empty ? NULL : results(table, i, v, part);
        }
    }
}
