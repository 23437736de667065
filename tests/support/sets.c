/* The sets of a window: see sets.h. */
#include "sets.h"

#include "base/check.h"
#include "plan/tolerance/items.h"

/* ---- regions */

static void add(ti_boxes *to, const ti_boxes *from)
{
    for (size_t i = 0; i < from->count; i++) {
        ti_vec_push(to, from->data[i]);
    }
}

static void take_away(ti_boxes *from, const ti_boxes *what)
{
    for (size_t i = 0; i < what->count; i++) {
        ti_boxes_subtract(from, &what->data[i]);
    }
}

/* Append what two regions have in common. */
static void add_common(ti_boxes *to, const ti_boxes *a, const ti_boxes *b)
{
    for (size_t i = 0; i < a->count; i++) {
        for (size_t k = 0; k < b->count; k++) {
            ti_boxes_push_common(&a->data[i], &b->data[k], to);
        }
    }
}

/* ---- who wrote what a task reads */

enum { BEFORE = -1 }; /* no task of the window */

/* What task `level` writes of a buffer for these items. */
static void add_written(const ti_windowed *task, const ti_buffer_info *buffer, const ti_boxes *items, ti_boxes *out)
{
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        const ti_access *a = &task->shape->access[i];
        for (size_t k = 0; a->buffer == buffer && ti_access_writes(a) && k < items->count; k++) {
            ti_access_image(a, &items->data[k], out);
        }
    }
}

/* Of `wanted`, elements of a buffer that task `reader` reads, those that the writer wrote last. Replaces `out`. */
static void find_written_by(const ti_windowed *task, size_t reader, int writer, const ti_buffer_info *buffer,
                            const ti_boxes *wanted, ti_boxes *out)
{
    ti_boxes written = { 0 };
    ti_vec_clear(out);
    if (writer == BEFORE) {
        add(out, wanted);
    } else {
        const ti_boxes all = { .data = (ti_box *)(uintptr_t)&task[writer].shape->range, .count = 1 };
        add_written(&task[writer], buffer, &all, &written);
        ti_boxes_normalize(&written);
        add_common(out, wanted, &written);
    }
    for (size_t t = (size_t)(writer + 1); t < reader; t++) {
        const ti_boxes all = { .data = (ti_box *)(uintptr_t)&task[t].shape->range, .count = 1 };
        ti_vec_clear(&written);
        add_written(&task[t], buffer, &all, &written);
        take_away(out, &written);
    }
    ti_boxes_normalize(out);
    ti_vec_fini(&written);
}

/* ---- backwards: what own items come of */

static before_sets *before_of(const window_sets *s, int node, const ti_buffer_info *buffer)
{
    before_sets *b = s->node[node].before;
    while (b->buffer != buffer) {
        b++;
    }
    return b;
}

/* The items of a task that made `wanted`. */
static void add_makers(const ti_windowed *task, const ti_buffer_info *buffer, const ti_boxes *wanted, ti_boxes *items)
{
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        const ti_access *a = &task->shape->access[i];
        for (size_t k = 0; a->buffer == buffer && ti_access_writes(a) && k < wanted->count; k++) {
            ti_items_touching(task->shape, a, task->split->gran, &task->shape->range, &wanted->data[k], items);
        }
    }
    ti_items_take_rows(task->split, &task->shape->range, items);
}

/* What one access of task `reader` needs on the node. */
static void need_access(const window_sets *s, int node, size_t reader, const ti_access *access)
{
    const ti_boxes *items = &s->node[node].level[reader].l5;
    ti_boxes image = { 0 }, part = { 0 };
    for (size_t i = 0; i < items->count; i++) {
        ti_access_image(access, &items->data[i], &image);
    }
    ti_boxes_normalize(&image);
    for (int writer = BEFORE; writer < (int)reader; writer++) {
        find_written_by(s->task, reader, writer, access->buffer, &image, &part);
        if (writer == BEFORE) {
            add(&before_of(s, node, access->buffer)->l5, &part);
        } else {
            add_makers(&s->task[writer], access->buffer, &part, &s->node[node].level[writer].l5);
        }
    }
    ti_vec_fini(&image);
    ti_vec_fini(&part);
}

static void find_l5(const window_sets *s, int node)
{
    for (size_t t = s->tasks; t > 0; t--) {
        level_sets *level = &s->node[node].level[t - 1];
        const ti_shape *shape = s->task[t - 1].shape;
        add(&level->l5, &level->own);
        ti_boxes_normalize(&level->l5);
        for (uint32_t i = 0; i < shape->accesses; i++) {
            if (ti_access_reads(&shape->access[i])) {
                need_access(s, node, t - 1, &shape->access[i]);
            }
        }
    }
    for (size_t b = 0; b < s->buffers; b++) {
        before_sets *before = &s->node[node].before[b];
        ti_boxes_normalize(&before->l5);
        add(&before->lacks, &before->l5);
        take_away(&before->lacks, &before->l0);
        ti_boxes_normalize(&before->lacks);
    }
}

/* ---- forwards: what needs nothing from others */

/* Take those own items of task `reader` out of its l4 that read by the access what the node does not have. */
static void block_access(const window_sets *s, int node, size_t reader, const ti_access *access)
{
    level_sets *level = &s->node[node].level[reader];
    const ti_windowed *task = &s->task[reader];
    ti_boxes image = { 0 }, part = { 0 }, there = { 0 }, blocked = { 0 };
    for (size_t i = 0; i < level->own.count; i++) {
        ti_access_image(access, &level->own.data[i], &image);
    }
    ti_boxes_normalize(&image);
    for (int writer = BEFORE; writer < (int)reader; writer++) {
        find_written_by(s->task, reader, writer, access->buffer, &image, &part);
        ti_vec_clear(&there);
        if (writer == BEFORE) {
            add(&there, &before_of(s, node, access->buffer)->l0);
        } else {
            add_written(&s->task[writer], access->buffer, &s->node[node].level[writer].l4, &there);
        }
        take_away(&part, &there);
        for (size_t i = 0; i < part.count; i++) {
            for (size_t k = 0; k < level->own.count; k++) {
                ti_items_touching(task->shape, access, task->split->gran, &level->own.data[k], &part.data[i], &blocked);
            }
        }
    }
    ti_items_take_rows(task->split, &task->shape->range, &blocked);
    take_away(&level->l4, &blocked);
    ti_vec_fini(&image);
    ti_vec_fini(&part);
    ti_vec_fini(&there);
    ti_vec_fini(&blocked);
}

static void find_l4(const window_sets *s, int node)
{
    for (size_t t = 0; t < s->tasks; t++) {
        level_sets *level = &s->node[node].level[t];
        const ti_shape *shape = s->task[t].shape;
        add(&level->l4, &level->own);
        for (uint32_t i = 0; i < shape->accesses; i++) {
            if (ti_access_reads(&shape->access[i])) {
                block_access(s, node, t, &shape->access[i]);
            }
        }
        ti_boxes_normalize(&level->l4);
    }
}

/* ---- between nodes */

static void find_l1(const window_sets *s, int node, size_t t)
{
    level_sets *level = &s->node[node].level[t];
    for (int q = 0; q < s->nodes; q++) {
        if (q != node) {
            add_common(&level->l1, &level->l4, &s->node[q].level[t].l5);
        }
    }
    ti_boxes_normalize(&level->l1);
    add(&level->l2, &level->l4);
    take_away(&level->l2, &level->l1);
    ti_boxes_normalize(&level->l2);
}

static void find_l3(const window_sets *s, int node, size_t t)
{
    level_sets *level = &s->node[node].level[t];
    add(&level->l3, &level->l5);
    take_away(&level->l3, &level->l4);
    for (int q = 0; q < s->nodes; q++) {
        if (q != node) {
            take_away(&level->l3, &s->node[q].level[t].l1);
        }
    }
    ti_boxes_normalize(&level->l3);
}

void window_sets_sent(const window_sets *s, size_t level, int from, int to, ti_boxes *out)
{
    TI_ASSERT(level < s->tasks && from != to);
    add_common(out, &s->node[from].level[level].l1, &s->node[to].level[level].l5);
}

/* ---- all of it */

/* Buffers that tasks read or write, each once; `list` NULL: how many. */
static size_t list_buffers(const ti_windowed *task, size_t tasks, before_sets *list)
{
    TI_VEC(const ti_buffer_info *) seen = { 0 };
    for (size_t t = 0; t < tasks; t++) {
        for (uint32_t i = 0; i < task[t].shape->accesses; i++) {
            const ti_buffer_info *buffer = task[t].shape->access[i].buffer;
            bool known = false;
            for (size_t k = 0; k < seen.count; k++) {
                known |= seen.data[k] == buffer;
            }
            if (!known) {
                ti_vec_push(&seen, buffer);
            }
        }
    }
    size_t count = seen.count;
    for (size_t k = 0; list && k < count; k++) {
        list[k].buffer = seen.data[k];
    }
    ti_vec_fini(&seen);
    return count;
}

static void fill_node(window_sets *s, int node, held_fn *held, void *user)
{
    node_sets *n = &s->node[node];
    n->level = TI_NEW_ARRAY(level_sets, s->tasks);
    n->before = TI_NEW_ARRAY(before_sets, s->buffers);
    list_buffers(s->task, s->tasks, n->before);
    for (size_t b = 0; b < s->buffers; b++) {
        held(user, node, n->before[b].buffer, &n->before[b].l0);
        ti_boxes_normalize(&n->before[b].l0);
    }
    for (size_t t = 0; t < s->tasks; t++) {
        int64_t first, count = ti_split_chunks_of(s->task[t].split, node, &first);
        for (int64_t c = first; c < first + count; c++) {
            ti_vec_push(&n->level[t].own, ti_split_chunk(s->task[t].split, c));
        }
        ti_boxes_normalize(&n->level[t].own);
    }
}

window_sets *window_sets_create(const ti_windowed *task, size_t tasks, int nodes, held_fn *held, void *user)
{
    window_sets *s = TI_NEW(window_sets);
    *s = (window_sets){ task, tasks, list_buffers(task, tasks, NULL), nodes, NULL };
    s->node = TI_NEW_ARRAY(node_sets, (size_t)nodes);
    for (int p = 0; p < nodes; p++) {
        fill_node(s, p, held, user);
        find_l4(s, p);
        find_l5(s, p);
    }
    for (size_t t = 0; t < tasks; t++) {
        for (int p = 0; p < nodes; p++) {
            find_l1(s, p, t);
        }
        for (int p = 0; p < nodes; p++) {
            find_l3(s, p, t);
        }
    }
    return s;
}

static void fini_node(window_sets *s, node_sets *n)
{
    for (size_t t = 0; t < s->tasks; t++) {
        ti_boxes *all[] = { &n->level[t].own, &n->level[t].l4, &n->level[t].l5,
                            &n->level[t].l1,  &n->level[t].l2, &n->level[t].l3 };
        for (size_t i = 0; i < TI_COUNT(all); i++) {
            ti_vec_fini(all[i]);
        }
    }
    for (size_t b = 0; b < s->buffers; b++) {
        ti_vec_fini(&n->before[b].l0);
        ti_vec_fini(&n->before[b].l5);
        ti_vec_fini(&n->before[b].lacks);
    }
    ti_free(n->level, s->tasks * sizeof(*n->level));
    ti_free(n->before, s->buffers * sizeof(*n->before));
}

void window_sets_destroy(window_sets *s)
{
    for (int p = 0; p < s->nodes; p++) {
        fini_node(s, &s->node[p]);
    }
    ti_free(s->node, (size_t)s->nodes * sizeof(*s->node));
    TI_DELETE(s);
}
