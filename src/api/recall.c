/* Tasks that have been submitted before: see recall.h.
 *
 * A small set-associative table by what tells the tasks of a loop apart: kernel and buffers. Each place has a description, and, once that has come
 * twice, the task: itself, its accesses, footprints, mappers, boxes and name in a row, with pointers that lead into the row. */
#include "api/recall.h"

#include "api/context.h"
#include "base/map.h"

#include <string.h>

enum { SETS = 8, WAYS = 4, MOST_NAME = 48, MOST_ROW = 16384, SELDOM = 8 };

typedef struct place {
    uint64_t key; /* 0: nothing here */
    tacit_task *like;
    char name[MOST_NAME];
    uint32_t accesses;
    ti_task *task; /* the row, or NULL */
    size_t size;   /* of the row; 0: there is none yet */
    size_t room;
    uint32_t misses; /* the key came, but not the description: since that came */
} place;

struct ti_recall {
    place table[SETS][WAYS];
    uint32_t turn[SETS]; /* whose place is taken next */
    place *asked;        /* the place that waits for its task, or NULL */
    uint64_t rows;       /* kept so far */
};

ti_recall *ti_recall_create(void)
{
    return TI_NEW(ti_recall);
}

static void each_place(ti_recall *recall, void (*visit)(place *p))
{
    for (int s = 0; s < SETS; s++) {
        for (int w = 0; w < WAYS; w++) {
            visit(&recall->table[s][w]);
        }
    }
}

static void free_place(place *p)
{
    ti_free(p->like, p->like ? sizeof(*p->like) : 0);
    ti_free(p->task, p->room);
}

static void clear_place(place *p)
{
    p->key = 0;
    p->size = 0;
}

void ti_recall_destroy(ti_recall *recall)
{
    each_place(recall, free_place);
    TI_DELETE(recall);
}

void ti_recall_clear(ti_recall *recall)
{
    each_place(recall, clear_place);
    recall->asked = NULL;
}

/* ---- descriptions */

static bool can_be_kept(const tacit_task *t)
{
    uintptr_t objects = (uintptr_t)t->hint.weights;
    for (int i = 0; i < TACIT_MAX_HOST_OBJECTS; i++) {
        objects |= (uintptr_t)t->host_object[i];
    }
    return !objects && t->on == TACIT_ON_DEVICES;
}

/* Counts the accesses. Never 0. */
static uint64_t key_of(const tacit_task *t, uint32_t *accesses)
{
    uint64_t key = (uint64_t)(uintptr_t)t->kernel.host ^ t->offset[0] << 20 ^ t->range.size[0];
    uint32_t n = 0;
    for (; n < TACIT_MAX_ACCESSES && t->access[n].mode != 0; n++) {
        key = key * 0x9e3779b97f4a7c15u + (uint64_t)(uintptr_t)t->access[n].buffer;
    }
    *accesses = n;
    return ti_hash64(key) | 1;
}

static uint64_t differ(uint64_t a, uint64_t b)
{
    return a ^ b;
}

#if UINTPTR_MAX > UINT32_MAX
/* Whoever adds a field has to say here whether it makes a description another one. */
_Static_assert(sizeof(tacit_task) == 2280 && sizeof(tacit_hints) == 64 && sizeof(tacit_kernel) == 32 &&
                   sizeof(tacit_place) == 8,
               "same_head() compares every field of a task but accesses, host objects, weights and bytes of arguments");
_Static_assert(sizeof(tacit_access) == 128 && sizeof(tacit_mapper) == 104,
               "same_access() compares every field of an access");
#endif

static bool same_head(const tacit_task *a, const tacit_task *b)
{
    uint64_t diff = differ((uint64_t)a->range.dims, (uint64_t)b->range.dims) | differ(a->args_size, b->args_size) |
                    differ((uint64_t)a->hash_args, (uint64_t)b->hash_args);
    for (int d = 0; d < TACIT_MAX_DIMS; d++) {
        diff |= differ(a->range.size[d], b->range.size[d]) | differ(a->offset[d], b->offset[d]) |
                differ(a->hint.granularity[d], b->hint.granularity[d]);
    }
    return diff == 0 && a->kernel.host == b->kernel.host && a->kernel.opencl.source == b->kernel.opencl.source &&
           a->kernel.opencl.entry == b->kernel.opencl.entry && a->kernel.cuda == b->kernel.cuda &&
           a->place.kind == b->place.kind && a->place.arg == b->place.arg && a->hint.split == b->hint.split &&
           a->hint.oversubscribe == b->hint.oversubscribe && a->hint.priority == b->hint.priority &&
           a->hint.whole_chunk == b->hint.whole_chunk && a->hint.pure == b->hint.pure &&
           a->hint.no_collectives == b->hint.no_collectives;
}

/* Field by field: what lies between them is not the program's. */
static bool same_component(const tacit_component *a, const tacit_component *b)
{
    uint64_t diff = differ((uint64_t)a->lo, (uint64_t)b->lo) | differ((uint64_t)a->hi, (uint64_t)b->hi) |
                    differ((uint32_t)a->mul, (uint32_t)b->mul) | differ((uint32_t)a->div, (uint32_t)b->div) |
                    differ(a->kind, b->kind) | differ(a->dim, b->dim);
    return diff == 0;
}

static bool same_access(const tacit_access *a, const tacit_access *b)
{
    if (a->buffer != b->buffer || a->mode != b->mode) {
        return false;
    }
    if (a->mode == TACIT_REDUCE) { /* it has no mapper */
        return a->op.kind == b->op.kind && a->op.type == b->op.type && a->include_old == b->include_old;
    }
    if (a->mapper.kind != b->mapper.kind || a->mapper.arg != b->mapper.arg) {
        return false;
    }
    for (int d = 0; d < b->buffer->info.dims; d++) {
        if (!same_component(&a->mapper.c[d], &b->mapper.c[d])) {
            return false;
        }
    }
    return true;
}

/* Accesses come first: they differ where anything does. */
static bool is_known(const place *p, const tacit_task *given)
{
    for (uint32_t i = 0; i < p->accesses; i++) {
        if (!same_access(&given->access[i], &p->like->access[i])) {
            return false;
        }
    }
    return same_head(given, p->like) && strncmp(given->name ? given->name : "", p->name, MOST_NAME) == 0;
}

/* ---- rows */

/* What led to `old` leads to the same place of the row that begins at `fresh`. */
#define MOVED(pointer, old, fresh) ((void *)((char *)(fresh) + ((const char *)(pointer) - (const char *)(old))))

/* A task and all that belongs to it were copied from `old` to `task`: correct the pointers that lead into the row. */
static void move_pointers(ti_task *task, const ti_task *old)
{
    ti_access *access = MOVED(task->access, old, task);
    ti_footprint *footprint = MOVED(task->footprint, old, task);
    for (uint32_t i = 0; i < task->accesses; i++) {
        if (access[i].mappers) {
            access[i].mapper = MOVED(access[i].mapper, old, task);
        }
        if (access[i].mode != TACIT_REDUCE) { /* otherwise it is the buffer's extent */
            footprint[i].box = MOVED(footprint[i].box, old, task);
        }
    }
    task->access = access;
    task->footprint = footprint;
    task->name = MOVED(task->name, old, task);
}

static void keep_description(place *p, const tacit_task *given, uint64_t key, uint32_t accesses)
{
    const size_t tail = offsetof(tacit_task, kernel);
    size_t length = given->name ? strlen(given->name) : 0;
    p->key = length < MOST_NAME ? key : 0;
    p->size = 0;
    p->accesses = accesses;
    if (!p->like) {
        p->like = TI_NEW(tacit_task);
    }
    memcpy(p->name, length ? given->name : "", TI_MIN(length + 1, (size_t)MOST_NAME));
    memcpy(p->like, given, offsetof(tacit_task, access));
    memcpy(p->like->access, given->access, accesses * sizeof(tacit_access));
    memcpy((char *)p->like + tail, (const char *)given + tail, sizeof(*given) - tail);
}

static ti_task *copy_row(const place *p, ti_task_graph *graph, const tacit_task *given)
{
    ti_arena *arena = ti_task_graph_arena(graph);
    ti_task *task = ti_arena_copy(arena, p->task, p->size);
    move_pointers(task, p->task);
    task->args = ti_arena_copy(arena, given->args, given->args_size);
    return task;
}

ti_task *ti_recall_task(ti_recall *recall, ti_task_graph *graph, const tacit_task *given)
{
    uint32_t accesses;
    recall->asked = NULL;
    if (!can_be_kept(given)) {
        return NULL;
    }
    uint64_t key = key_of(given, &accesses);
    size_t set = key >> 32 & (SETS - 1);
    place *p = recall->table[set], *end = p + WAYS;
    while (p < end && p->key != key) {
        p++;
    }
    if (p < end && p->accesses == accesses && is_known(p, given)) {
        p->misses = 0;
        recall->asked = p->size ? NULL : p;
        return p->size ? copy_row(p, graph, given) : NULL;
    }
    p = p < end ? p : &recall->table[set][recall->turn[set]++ % WAYS];
    /* What has come twice is not given up for one that differs. */
    if (p->key != key || p->misses++ % SELDOM == (p->size ? SELDOM - 1 : 0)) {
        keep_description(p, given, key, accesses);
    }
    return NULL;
}

/* ---- from a task to its row */

static size_t row_size(const ti_task *task)
{
    size_t size = sizeof(*task) + task->accesses * (sizeof(ti_access) + sizeof(ti_footprint)) + strlen(task->name) + 1;
    for (uint32_t i = 0; i < task->accesses; i++) {
        size += task->access[i].mappers * sizeof(ti_mapper);
        size += task->access[i].mode == TACIT_REDUCE ? 0 : task->footprint[i].boxes * sizeof(ti_box);
    }
    return size;
}

/* Copy to where the row ends so far. */
static void *append(char **end, const void *from, size_t size)
{
    void *to = *end;
    if (size) {
        memcpy(to, from, size);
    }
    *end += size;
    return to;
}

static void fill_row(ti_task *row, const ti_task *task)
{
    char *end = (char *)row;
    append(&end, task, sizeof(*task));
    ti_access *access = append(&end, task->access, task->accesses * sizeof(ti_access));
    ti_footprint *footprint = append(&end, task->footprint, task->accesses * sizeof(ti_footprint));
    for (uint32_t i = 0; i < task->accesses; i++) {
        access[i].mapper = append(&end, access[i].mapper, access[i].mappers * sizeof(ti_mapper));
        if (access[i].mode != TACIT_REDUCE) {
            footprint[i].box = append(&end, footprint[i].box, footprint[i].boxes * sizeof(ti_box));
        }
    }
    row->access = access;
    row->footprint = footprint;
    row->name = append(&end, task->name, strlen(task->name) + 1);
}

void ti_recall_keep(ti_recall *recall, const ti_task *task)
{
    place *p = recall->asked;
    bool custom = false;
    for (uint32_t i = 0; p && i < task->accesses; i++) {
        custom |= task->access[i].custom != NULL;
    }
    size_t size = p && !custom ? row_size(task) : 0;
    if (size == 0 || size > MOST_ROW || task->orders) {
        return;
    }
    if (p->room < size) {
        ti_free(p->task, p->room);
        p->room = size;
        p->task = ti_alloc(size);
    }
    fill_row(p->task, task);
    p->task->row = ++recall->rows;
    p->size = size;
}
