/* Sentences: see bounds_report.h. Any worker. */
#include "device/bounds_report.h"

#include "base/strbuf.h"

#include <stdio.h>

static const char *mode_name(int mode)
{
    static const char *const names[] = { "", "tacit_read", "tacit_write", "tacit_update", "tacit_reduce" };
    return mode >= TACIT_READ && mode <= TACIT_REDUCE ? names[mode] : "";
}

const char *ti_bounds_element_text(const ti_bounds_subject *is, const ti_bounds_element *e, char text[TI_BOUNDS_TEXT])
{
    const ti_guarded *copy = &is->copy[e->copy];
    int used = snprintf(text, TI_BOUNDS_TEXT - 80, "%s", copy->name), first = 3 - ti_guarded_buffer_dims(copy);
    int64_t at[3];
    ti_guarded_unfold(copy, e->at, at);
    first -= first == 3 && at[2] != 0; /* beside a buffer without dimensions */
    used = TI_MIN(used, TI_BOUNDS_TEXT - 81);
    for (int d = first; d < 3; d++) {
        used += snprintf(text + used, (size_t)(TI_BOUNDS_TEXT - used), "%s%lld%s", d == first ? "[" : ",",
                         (long long)at[d], d == 2 ? "]" : "");
    }
    return text;
}

/* Back to the order of the buffer's dimensions. */
static const char *box_text(const ti_box *box, int dims, char text[TI_BOX_TEXT])
{
    ti_box b = *box;
    for (int d = 0; d < dims; d++) {
        b.min[d] = box->min[d + 3 - dims];
        b.max[d] = box->max[d + 3 - dims];
    }
    return ti_box_format(&b, dims, text);
}

/* "access 0 (tacit_read, [16,32)x[0,512))" */
static void add_access(ti_strbuf *out, const ti_bounds_subject *is, uint32_t a)
{
    const ti_region *image = &is->image[a];
    int dims = is->task->access[a].buffer->dims;
    char text[TI_BOX_TEXT];
    ti_box bounding = ti_region_bounding(image);
    ti_strbuf_add(out, "access %u (%s, ", a, mode_name(is->task->access[a].mode));
    if (image->boxes.count > 1) {
        ti_strbuf_add(out, "%zu boxes in ", image->boxes.count);
    }
    ti_strbuf_add(out, "%s)", image->boxes.count ? box_text(&bounding, dims, text) : "nothing");
}

/* All accesses of a copy, and the items: "its access 0 (...) does not declare for the items [16,32)x[0,512)". */
static void add_accesses(ti_strbuf *out, const ti_bounds_subject *is, uint32_t copy, const char *one,
                         const char *several)
{
    int found = 0;
    char text[TI_BOX_TEXT];
    for (uint32_t a = 0; a < is->task->accesses; a++) {
        if (is->copy_of[a] == copy) {
            ti_strbuf_add(out, found++ ? " and " : "its ");
            add_access(out, is, a);
        }
    }
    ti_strbuf_add(out, " %s for the items %s", found > 1 ? several : one,
                  ti_box_format(&is->items, is->task->dims, text));
}

static void report(const ti_bounds_subject *is, tacit_status status, ti_strbuf *what)
{
    ti_failure_set(is->failure, status, "task '%s' on node %d %s", is->task->name, is->node, ti_strbuf_text(what));
    ti_lot_wake(is->lot, INT32_MAX);
    ti_strbuf_fini(what);
}

static bool is_declared(const ti_bounds_subject *is, const ti_bounds_element *e)
{
    int64_t i[3];
    ti_guarded_unfold(&is->copy[e->copy], e->at, i);
    const ti_box at = { { i[0], i[1], i[2] }, { i[0] + 1, i[1] + 1, i[2] + 1 } };
    for (uint32_t a = 0; a < is->task->accesses; a++) {
        if (is->copy_of[a] == e->copy && ti_region_meets(&is->image[a], &at)) {
            return true;
        }
    }
    return false;
}

void ti_bounds_report_touch(const ti_bounds_subject *is, const ti_bounds_element *e, ti_touch touch)
{
    ti_strbuf what = { 0 };
    char text[TI_BOUNDS_TEXT];
    bool declared = is_declared(is, e);
    ti_strbuf_add(&what, "%s %s, which ", ti_touch_verb(touch), ti_bounds_element_text(is, e, text));
    add_accesses(&what, is, e->copy, declared ? "only reads" : "does not declare",
                 declared ? "only read" : "do not declare");
    ti_strbuf_add(&what, declared ? "; declare tacit_update or tacit_write, or correct the kernel"
                                  : "; widen the mapper, or correct the kernel");
    report(is, TACIT_ERROR_KERNEL, &what);
}

void ti_bounds_report_read(const ti_bounds_subject *is, const ti_bounds_element *e, bool writable)
{
    ti_strbuf what = { 0 };
    char text[TI_BOUNDS_TEXT];
    ti_strbuf_add(&what, "reads %s, %s ", ti_bounds_element_text(is, e, text),
                  writable ? "whose old contents" : "which");
    add_accesses(&what, is, e->copy, writable ? "leaves undefined" : "does not declare",
                 writable ? "leave undefined" : "do not declare");
    ti_strbuf_add(&what, writable ? "; declare tacit_update, or write before reading"
                                  : "; widen the mapper, or correct the kernel");
    report(is, TACIT_ERROR_KERNEL, &what);
}

void ti_bounds_report_unwritten(const ti_bounds_subject *is, const ti_bounds_element *e)
{
    ti_strbuf what = { 0 };
    char text[TI_BOUNDS_TEXT];
    ti_strbuf_add(&what, "did not write %s, which ", ti_bounds_element_text(is, e, text));
    add_accesses(&what, is, e->copy, "declares", "declare");
    ti_strbuf_add(&what, "; write every element, or declare tacit_update");
    report(is, TACIT_ERROR_KERNEL, &what);
}

void ti_bounds_report_mapper(const ti_bounds_subject *is, uint32_t access)
{
    ti_strbuf what = { 0 };
    char text[TI_BOX_TEXT];
    ti_strbuf_add(&what, "has a custom mapper, of its ");
    add_access(&what, is, access);
    ti_strbuf_add(
        &what,
        " of buffer '%s', that names more for the items %s than for the chunk that they are part of; a mapper must "
        "name for many items what it names for each of them",
        is->task->access[access].buffer->name, ti_box_format(&is->items, is->task->dims, text));
    report(is, TACIT_ERROR_MAPPER, &what);
}

void ti_bounds_report_memory(const ti_bounds_subject *is, uint32_t copy)
{
    ti_strbuf what = { 0 };
    ti_strbuf_add(
        &what,
        "cannot be checked: there is no memory for a copy of what it touches of buffer '%s'; use smaller buffers or "
        "fewer workers, or unset TACIT_BOUNDS_CHECK",
        is->copy[copy].name);
    report(is, TACIT_ERROR_MEMORY, &what);
}
