/* Planned multicasts: see multicast.h. */
#include "plan/version/multicast.h"

#include "base/check.h"

#include <string.h>

struct ti_multicast_group {
    uint64_t source;
    const ti_buffer_info *buffer;
    ti_box box;
    ti_multicast_readers reader; /* by their tasks */
    uint32_t told;               /* of these, in a multicast or on their own */
    uint32_t waiting;            /* reads in the window */
    ti_multicast_group *next;    /* of the same hash; free */
};

static void free_chain(ti_multicast_group *g)
{
    while (g) {
        ti_multicast_group *next = g->next;
        ti_vec_fini(&g->reader);
        TI_DELETE(g);
        g = next;
    }
}

void ti_multicast_window_fini(ti_multicast_window *w)
{
    for (size_t i = 0; i < w->groups.capacity; i++) {
        if (w->groups.used[i]) {
            free_chain((ti_multicast_group *)(uintptr_t)w->groups.slot[i].value);
        }
    }
    free_chain(w->free);
    ti_map_fini(&w->groups);
    ti_vec_fini(&w->task);
    ti_vec_fini(&w->read);
    ti_vec_fini(&w->sorted);
    *w = (ti_multicast_window){ .first_task = 0 };
}

/* ---- groups */

static uint64_t key_of(uint64_t source, const ti_buffer_info *buffer, const ti_box *box)
{
    return ti_hash_words(box->min, sizeof(box->min), source << 16 ^ buffer->slot);
}

static ti_multicast_group *new_group(ti_multicast_window *w)
{
    ti_multicast_group *g = w->free ? w->free : TI_NEW(ti_multicast_group);
    w->free = g->next;
    return g;
}

static ti_multicast_group *group_of(ti_multicast_window *w, uint64_t source, const ti_buffer_info *buffer,
                                    const ti_box *box)
{
    uint64_t *first = ti_map_at(&w->groups, key_of(source, buffer, box));
    ti_multicast_group *chain = (ti_multicast_group *)(uintptr_t)*first;
    for (ti_multicast_group *g = chain; g; g = g->next) {
        if (g->source == source && g->buffer == buffer && ti_box_equal(&g->box, box)) {
            return g;
        }
    }
    ti_multicast_group *g = new_group(w);
    g->source = source;
    g->buffer = buffer;
    g->box = *box;
    g->told = g->waiting = 0;
    ti_vec_clear(&g->reader);
    g->next = chain;
    *first = (uint64_t)(uintptr_t)g;
    return g;
}

/* No task in the window reads it. */
static void drop_group(ti_multicast_window *w, ti_multicast_group *g)
{
    uint64_t key = key_of(g->source, g->buffer, &g->box), value = 0;
    uint64_t *first = ti_map_find(&w->groups, key);
    ti_multicast_group *chain = (ti_multicast_group *)(uintptr_t)*first;
    if (chain != g) {
        while (chain->next != g) {
            chain = chain->next;
        }
        chain->next = g->next;
    } else if (g->next) {
        *first = (uint64_t)(uintptr_t)g->next;
    } else {
        ti_map_remove(&w->groups, key, &value);
    }
    g->next = w->free;
    w->free = g;
}

/* Tasks of one node often follow each other, so the latest readers are looked at first. */
static bool reads_already(const ti_multicast_group *g, int node)
{
    for (size_t i = g->reader.count; i > 0; i--) {
        if (g->reader.data[i - 1].node == node) {
            return true;
        }
    }
    return false;
}

/* ---- tasks come and go */

void ti_multicast_window_push(ti_multicast_window *w, const ti_task *task)
{
    ti_vec_push(&w->task, task);
    for (uint32_t i = 0; task->source && i < task->shape->accesses; i++) {
        if (task->source[i]) {
            ti_multicast_group *g = group_of(w, task->source[i], task->shape->access[i].buffer,
                                             &task->shape->footprint[i].box[0]);
            g->waiting++;
            if (!reads_already(g, task->shape->place)) {
                ti_vec_push(&g->reader, ((ti_multicast_reader){ task, i, task->shape->place }));
            }
            ti_vec_push(&w->read, g);
        }
    }
}

/* Insertion keeps the order of those with equal priority, and most have. */
static void sort_by_priority(ti_multicast_readers *r)
{
    for (size_t i = 1; i < r->count; i++) {
        ti_multicast_reader one = r->data[i];
        size_t k = i;
        for (; k > 0 && r->data[k - 1].task->shape->priority < one.task->shape->priority; k--) {
            r->data[k] = r->data[k - 1];
        }
        r->data[k] = one;
    }
}

static void tell(ti_multicast_window *w, ti_multicast_group *g, const ti_task *task, ti_arena *arena,
                 ti_multicasts *out)
{
    uint32_t count = (uint32_t)g->reader.count - g->told;
    ti_vec_clear(&w->sorted);
    for (uint32_t i = 0; i < count; i++) {
        ti_vec_push(&w->sorted, g->reader.data[g->told + i]);
    }
    sort_by_priority(&w->sorted);
    ti_vec_push(out, ((ti_multicast){ .task = task,
                                      .buffer = g->buffer,
                                      .box = ti_arena_copy(arena, &g->box, sizeof(g->box)),
                                      .reader = ti_arena_copy(arena, w->sorted.data, count * sizeof(*w->sorted.data)),
                                      .readers = count }));
}

static void read_leaves(ti_multicast_window *w, ti_multicast_group *g, const ti_task *task, ti_arena *arena,
                        ti_multicasts *out)
{
    size_t new = g->reader.count - g->told;
    if (new > 0 && g->reader.data[g->told].task == task) {
        if (new > 1) {
            tell(w, g, task, arena, out);
        }
        g->told = (uint32_t)g->reader.count;
    }
    if (--g->waiting == 0) {
        drop_group(w, g);
    }
}

/* What has left makes room once it is more than half. */
#define FORGET(list, first)                                                                                            \
    do {                                                                                                               \
        if (2 * (first) >= (list)->count) {                                                                            \
            (list)->count -= (first);                                                                                  \
            memmove((list)->data, (list)->data + (first), (list)->count * sizeof(*(list)->data));                      \
            (first) = 0;                                                                                               \
        }                                                                                                              \
    } while (0)

const ti_task *ti_multicast_window_pop(ti_multicast_window *w, ti_arena *arena, ti_multicasts *out)
{
    TI_ASSERT(ti_multicast_window_count(w) > 0);
    const ti_task *task = w->task.data[w->first_task++];
    for (uint32_t i = 0; task->source && i < task->shape->accesses; i++) {
        if (task->source[i]) {
            read_leaves(w, w->read.data[w->first_read++], task, arena, out);
        }
    }
    FORGET(&w->task, w->first_task);
    FORGET(&w->read, w->first_read);
    return task;
}

/* ---- trees */

/* Keep of the list what the child gets that its i-th entry belongs to; the child comes first. */
static void keep_list(ti_multicast_place *place, ti_tree tree, uint32_t i)
{
    uint32_t child = ti_tree_child_of(tree, i), kept = 0;
    for (uint32_t k = 0; k < place->list.count; k++) {
        if (ti_tree_child_of(tree, k) == child) {
            place->list.data[kept++] = place->list.data[k];
        }
    }
    place->list.count = kept;
}

static uint32_t index_in(const ti_multicast_place *place, uint32_t who)
{
    uint32_t i = 0;
    while (place->list.data[i] != who) {
        i++;
    }
    return i;
}

static void drop_first(ti_multicast_place *place)
{
    place->list.count--;
    memmove(place->list.data, place->list.data + 1, place->list.count * sizeof(*place->list.data));
}

void ti_multicast_place_find(ti_multicast_place *place, ti_tree tree, uint32_t recipients, int who)
{
    int sender = TI_MULTICAST_ROOT;
    ti_vec_clear(&place->child);
    ti_vec_clear(&place->list);
    for (uint32_t i = 0; i < recipients; i++) {
        ti_vec_push(&place->list, i);
    }
    place->parent = TI_MULTICAST_ROOT;
    while (sender != who) { /* from the root down to `who`: the list is the sender's */
        place->parent = sender;
        keep_list(place, tree, index_in(place, (uint32_t)who));
        sender = (int)place->list.data[0];
        drop_first(place);
    }
    uint32_t children = ti_tree_children(tree, (uint32_t)place->list.count);
    for (uint32_t i = 0; place->child.count < children; i++) {
        if (ti_tree_child_of(tree, i) == place->child.count) {
            ti_vec_push(&place->child, place->list.data[i]);
        }
    }
}

void ti_multicast_place_fini(ti_multicast_place *place)
{
    ti_vec_fini(&place->child);
    ti_vec_fini(&place->list);
}
