/* Sentences: see report.h. */
#include "device/bounds/report.h"

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

/* "access 0 (tacit_read, [16,32)x[0,512))", or several of them if they share the copy. */
static void add_accesses(ti_strbuf *out, const ti_bounds_subject *is, uint32_t copy)
{
    int found = 0;
    for (uint32_t a = 0; a < is->task->shape->accesses; a++) {
        const ti_region *image = &is->image[a];
        char text[TI_BOX_TEXT], boxes[40] = "";
        ti_box bounding = ti_region_bounding(image);
        if (is->copy_of[a] != copy) {
            continue;
        }
        if (image->boxes.count > 1) {
            snprintf(boxes, sizeof(boxes), "%zu boxes in ", image->boxes.count);
        }
        ti_strbuf_add(
            out, "%saccess %u (%s, %s%s)", found++ ? " and " : "", a, mode_name(is->task->shape->access[a].mode), boxes,
            image->boxes.count ? box_text(&bounding, is->task->shape->access[a].buffer->dims, text) : "nothing");
    }
}

/* The texts that go into every sentence about an element. */
typedef struct words {
    char element[TI_BOUNDS_TEXT], items[TI_BOX_TEXT];
    ti_strbuf accesses;
} words;

static const char *find_words(const ti_bounds_subject *is, const ti_bounds_element *e, words *out)
{
    out->accesses = (ti_strbuf){ 0 };
    add_accesses(&out->accesses, is, e->copy);
    ti_bounds_element_text(is, e, out->element);
    ti_box_format(&is->items, is->task->shape->dims, out->items);
    return ti_strbuf_text(&out->accesses);
}

static bool is_declared(const ti_bounds_subject *is, const ti_bounds_element *e)
{
    int64_t i[3];
    ti_guarded_unfold(&is->copy[e->copy], e->at, i);
    const ti_box at = { { i[0], i[1], i[2] }, { i[0] + 1, i[1] + 1, i[2] + 1 } };
    for (uint32_t a = 0; a < is->task->shape->accesses; a++) {
        if (is->copy_of[a] == e->copy && ti_region_meets(&is->image[a], &at)) {
            return true;
        }
    }
    return false;
}

void ti_bounds_report_touch(const ti_bounds_subject *is, const ti_bounds_element *e, ti_touch touch)
{
    words w;
    const char *accesses = find_words(is, e, &w);
    ti_failure_set(
        is->failure, TACIT_ERROR_KERNEL,
        is_declared(is, e)
            ? "task '%s' on node %d %s %s, which is only read by its %s, for the items %s; declare tacit_update or "
              "tacit_write, or correct the kernel"
            : "task '%s' on node %d %s %s, outside of its %s, for the items %s; widen the mapper, or correct the "
              "kernel",
        is->task->shape->name, is->node, ti_touch_verb(touch), w.element, accesses, w.items);
    ti_strbuf_fini(&w.accesses);
}

void ti_bounds_report_contents(const ti_bounds_subject *is, const ti_bounds_element *e, bool unwritten)
{
    words w;
    const char *accesses = find_words(is, e, &w);
    ti_failure_set(
        is->failure, TACIT_ERROR_KERNEL,
        unwritten ? "task '%s' on node %d did not write %s, which belongs to its %s, for the items %s; write every "
                    "element, or declare tacit_update"
                  : "task '%s' on node %d reads the old contents of %s, which are undefined in its %s, for the items "
                    "%s; declare tacit_update, or write before reading",
        is->task->shape->name, is->node, w.element, accesses, w.items);
    ti_strbuf_fini(&w.accesses);
}

void ti_bounds_report_mapper(const ti_bounds_subject *is, uint32_t access)
{
    char text[TI_BOX_TEXT];
    ti_failure_set(
        is->failure, TACIT_ERROR_MAPPER,
        "task '%s' on node %d, access %u to buffer '%s': the custom mapper names more for the items %s than for the "
        "chunk that they are part of; it must name for many items what it names for each of them",
        is->task->shape->name, is->node, access, is->task->shape->access[access].buffer->name,
        ti_box_format(&is->items, is->task->shape->dims, text));
}

void ti_bounds_report_memory(const ti_bounds_subject *is, const char *buffer)
{
    ti_failure_set(
        is->failure, TACIT_ERROR_MEMORY,
        "task '%s' on node %d cannot be checked: there is no memory for a copy of what it touches of %s; use smaller "
        "buffers or fewer workers, or unset TACIT_BOUNDS_CHECK",
        is->task->shape->name, is->node, buffer);
}
