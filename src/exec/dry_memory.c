/* What allocations are used for: see dry_memory.h. */
#include "exec/dry_memory.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

/* Less than a page is not worth a word; nor are more than so many complaints. */
enum { MIN_BYTES = 4096, MAX_LOOSE = 100, LOOSE_FACTOR = 2, MAX_KNOWN = 1 << 16 };

static void forget(ti_dry_allocation *a)
{
    ti_region_fini(&a->used);
    ti_strfree(a->loose.buffer);
    ti_strfree(a->loose.task);
    a->loose.buffer = a->loose.task = NULL;
}

void ti_dry_memory_fini(ti_dry_memory *m)
{
    for (size_t i = 0; i < m->allocation.count; i++) {
        forget(&m->allocation.data[i]);
    }
    for (size_t i = 0; i < m->loose.count; i++) {
        ti_strfree(m->loose.data[i].buffer);
        ti_strfree(m->loose.data[i].task);
    }
    ti_vec_fini(&m->allocation);
    ti_vec_fini(&m->unused);
    ti_vec_fini(&m->loose);
    ti_vec_fini(&m->image);
    ti_map_fini(&m->index);
    ti_map_fini(&m->known);
}

/* The allocation that a place is in, while it may be loose. */
static ti_dry_allocation *find(ti_dry_memory *m, const ti_place *place)
{
    const uint64_t *index = place->allocation ? ti_map_find(&m->index, place->allocation) : NULL;
    ti_dry_allocation *a = index ? &m->allocation.data[*index - 1] : NULL;
    return a && !a->tight ? a : NULL;
}

static void use(ti_dry_allocation *a, const ti_box *box)
{
    ti_box common = ti_box_intersect(box, &a->box);
    ti_region_add(&a->used, &common);
}

/* After some boxes have been used. */
static void look(ti_dry_allocation *a)
{
    ti_region_settle(&a->used);
    a->tight = ti_region_volume(&a->used) >= (ti_box_volume(&a->box) + LOOSE_FACTOR - 1) / LOOSE_FACTOR;
    if (a->tight) {
        ti_region_fini(&a->used);
        a->used = (ti_region){ .settled = 0 };
    }
}

static void use_place(ti_dry_memory *m, const ti_place *place, const ti_box *box)
{
    ti_dry_allocation *a = find(m, place);
    if (a) {
        use(a, box);
        look(a);
    }
}

/* ---- kernels */

/* Whoever has most idle elements is to blame; of those who have none, whoever has most. */
static void blame(ti_dry_allocation *a, const ti_task *task, uint32_t access, int64_t idle, int64_t seen)
{
    if (a->loose.task && (idle < a->idle || (idle == a->idle && seen <= a->seen))) {
        return;
    }
    ti_strfree(a->loose.task);
    a->loose.task = ti_strdup(task->shape->name);
    a->loose.access = (int)access;
    a->idle = idle;
    a->seen = seen;
}

static int64_t volume_of(const ti_boxes *image)
{
    ti_region all = { .settled = 0 };
    for (size_t b = 0; b < image->count; b++) {
        ti_region_add(&all, &image->data[b]);
    }
    ti_region_settle(&all);
    int64_t volume = ti_region_volume(&all);
    ti_region_fini(&all);
    return volume;
}

/* A task of a loop touches what it touched the last time. */
static bool is_known(ti_dry_memory *m, const ti_instruction *i, uint32_t v)
{
    const ti_shape *shape = i->task->shape;
    const ti_place *first = i->as.kernel.view[v].parts ? &i->as.kernel.view[v].part[0].place
                                                       : &i->as.kernel.view[v].place;
    if (!shape->serial || !find(m, first)) {
        return false;
    }
    if (m->knowns > MAX_KNOWN) {
        ti_map_fini(&m->known);
        m->known = (ti_map){ 0 };
        m->knowns = 0;
    }
    uint64_t key = ti_hash_bytes(&i->as.kernel.chunk, sizeof(i->as.kernel.chunk));
    key = ti_hash_mix(ti_hash_mix(ti_hash_mix(key, shape->serial), v), first->allocation);
    uint64_t *known = ti_map_at(&m->known, key);
    bool before = *known != 0;
    m->knowns += !before;
    *known = 1;
    return before;
}

static void note_view(ti_dry_memory *m, const ti_instruction *i, uint32_t v)
{
    const ti_instruction_view *view = &i->as.kernel.view[v];
    if (is_known(m, i, v)) {
        return;
    }
    for (uint32_t p = 0; p < view->parts; p++) {
        ti_dry_allocation *a = find(m, &view->part[p].place);
        if (a) {
            blame(a, i->task, v, 0, ti_box_volume(&view->part[p].box));
            use_place(m, &view->part[p].place, &view->part[p].box);
        }
    }
    ti_dry_allocation *a = view->parts || view->mode == TACIT_REDUCE ? NULL : find(m, &view->place);
    if (!a) {
        return;
    }
    ti_vec_clear(&m->image);
    ti_access_image(&i->task->shape->access[v], &i->as.kernel.chunk, &m->image);
    int64_t seen = ti_box_volume(&view->box);
    blame(a, i->task, v, seen - volume_of(&m->image), seen);
    for (size_t b = 0; b < m->image.count; b++) {
        use(a, &m->image.data[b]);
    }
    look(a);
}

/* ---- allocations */

/* What an allocation that grows was used for, the larger one is used for. */
static void inherit(ti_dry_allocation *to, const ti_dry_allocation *from, const ti_box *box)
{
    for (size_t b = 0; b < from->used.boxes.count; b++) {
        use(to, &from->used.boxes.data[b]);
    }
    if (from->tight) {
        use(to, box);
    }
    look(to);
}

static void begin(ti_dry_memory *m, const ti_instruction *i)
{
    if (!i->as.memory.buffer || i->as.memory.bytes < MIN_BYTES) {
        return; /* partial results are all used */
    }
    ti_dry_allocation fresh = { .box = i->as.memory.box, .elem_size = i->as.memory.buffer->elem_size };
    fresh.loose.buffer = ti_strdup(i->as.memory.buffer->name);
    size_t at = m->allocation.count;
    if (m->unused.count) {
        at = m->unused.data[--m->unused.count];
        m->allocation.data[at] = fresh;
    } else {
        ti_vec_push(&m->allocation, fresh);
    }
    *ti_map_at(&m->index, i->as.memory.allocation) = at + 1;
    uint64_t grown;
    if (i->as.memory.grown && ti_map_remove(&m->index, i->as.memory.grown, &grown)) {
        inherit(&m->allocation.data[at], &m->allocation.data[grown - 1], &i->as.memory.grown_box);
        forget(&m->allocation.data[grown - 1]);
        m->allocation.data[grown - 1] = (ti_dry_allocation){ .tight = true };
        ti_vec_push(&m->unused, (size_t)grown - 1);
    }
}

static bool is_alike(const ti_dry_loose *a, const ti_dry_loose *b)
{
    return a->access == b->access && strcmp(a->buffer, b->buffer) == 0 && !a->task == !b->task &&
           (!a->task || strcmp(a->task, b->task) == 0);
}

/* Of the same access only the largest is kept. */
static void complain(ti_dry_memory *m, ti_dry_allocation *a)
{
    a->loose.spans = a->idle > 0;
    a->loose.bytes = (uint64_t)ti_box_volume(&a->box) * a->elem_size;
    a->loose.used_bytes = (uint64_t)ti_region_volume(&a->used) * a->elem_size;
    size_t i = 0;
    while (i < m->loose.count && !is_alike(&m->loose.data[i], &a->loose)) {
        i++;
    }
    if (i == m->loose.count && i < MAX_LOOSE) {
        ti_vec_push(&m->loose, a->loose);
        a->loose.buffer = a->loose.task = NULL;
    } else if (i < m->loose.count && m->loose.data[i].bytes < a->loose.bytes) {
        ti_dry_loose smaller = m->loose.data[i];
        m->loose.data[i] = a->loose;
        a->loose = smaller;
    }
}

static void end(ti_dry_memory *m, size_t at)
{
    ti_dry_allocation *a = &m->allocation.data[at];
    if (!a->tight && !a->replaced) {
        complain(m, a);
    }
    forget(a);
    *a = (ti_dry_allocation){ .tight = true };
}

static void note_copy(ti_dry_memory *m, const ti_instruction *i)
{
    const ti_place *from = &i->as.copy.from, *to = &i->as.copy.to;
    ti_dry_allocation *source = find(m, from), *target = find(m, to);
    if (source && to->allocation && ti_box_equal(&source->box, &i->as.copy.box)) {
        source->replaced = true;
        if (target) {
            inherit(target, source, &i->as.copy.box);
        }
        return;
    }
    use_place(m, from, &i->as.copy.box);
    use_place(m, to, &i->as.copy.box);
}

static void note_free(ti_dry_memory *m, const ti_instruction *i)
{
    uint64_t at;
    if (ti_map_remove(&m->index, i->as.memory.allocation, &at)) {
        end(m, (size_t)at - 1);
        ti_vec_push(&m->unused, (size_t)at - 1);
    }
}

void ti_dry_memory_end(ti_dry_memory *m)
{
    for (size_t i = 0; i < m->allocation.count; i++) {
        end(m, i);
    }
}

const ti_dry_loose *ti_dry_memory_most(const ti_dry_memory *m)
{
    const ti_dry_loose *most = NULL;
    for (size_t i = 0; i < m->loose.count; i++) {
        const ti_dry_loose *l = &m->loose.data[i];
        most = !most || l->bytes - l->used_bytes > most->bytes - most->used_bytes ? l : most;
    }
    return most;
}

void ti_dry_memory_note(ti_dry_memory *m, const ti_instruction *i)
{
    switch (i->kind) {
    case TI_INSTRUCTION_ALLOC:
        begin(m, i);
        break;
    case TI_INSTRUCTION_FREE:
        note_free(m, i);
        break;
    case TI_INSTRUCTION_COPY:
        note_copy(m, i);
        break;
    case TI_INSTRUCTION_KERNEL:
    case TI_INSTRUCTION_HOST:
    case TI_INSTRUCTION_COLLECTIVE_HOST:
        for (uint32_t v = 0; v < i->as.kernel.views; v++) {
            note_view(m, i, v);
        }
        break;
    case TI_INSTRUCTION_SEND:
    case TI_INSTRUCTION_RECEIVE:
        for (uint32_t k = 0; k < i->as.transfer.boxes; k++) {
            use_place(m, &i->as.transfer.box[k].place, &i->as.transfer.box[k].box);
        }
        break;
    case TI_INSTRUCTION_COLLECTIVE:
        for (uint32_t k = 0; k < i->as.collective.places; k++) {
            use_place(m, &i->as.collective.place[k].place, &i->as.collective.place[k].box);
        }
        break;
    case TI_INSTRUCTION_REDUCE:
        use_place(m, &i->as.reduce.to, &i->as.reduce.box);
        break;
    case TI_INSTRUCTION_FENCE:
    case TI_INSTRUCTION_EPOCH:
        break;
    }
}
