/* A model of who holds which tile: see needed.h. */
#include "needed.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "grid/region_map.h"

#include <string.h>

typedef struct tile {
    int owner;      /* -1: nobody wrote it, and all nodes hold what it was created with */
    uint64_t *held; /* one bit per node */
} tile;

typedef TI_VEC(int) numbers;

struct needed {
    int nodes;
    bool fits; /* so far */
    uint64_t tasks, messages;
    TI_VEC(ti_region_map *) index; /* by slot of the buffer: box to place in `tile`; or NULL */
    TI_VEC(tile) tile;
    ti_region_entries found;
    numbers from; /* owners that the task at hand gets messages from */
};

static size_t words(const needed *l)
{
    return ((size_t)l->nodes + 63) / 64;
}

needed *needed_create(int nodes)
{
    needed *l = TI_NEW(needed);
    l->nodes = nodes;
    l->fits = true;
    return l;
}

static void forget_buffer(needed *l, const ti_buffer_info *buffer)
{
    if (buffer->slot < l->index.count && l->index.data[buffer->slot]) {
        ti_region_map_fini(l->index.data[buffer->slot]);
        TI_DELETE(l->index.data[buffer->slot]);
        l->index.data[buffer->slot] = NULL;
    }
}

void needed_destroy(needed *l)
{
    for (size_t i = 0; i < l->index.count; i++) {
        forget_buffer(l, &(ti_buffer_info){ .slot = (uint32_t)i });
    }
    for (size_t i = 0; i < l->tile.count; i++) {
        ti_free(l->tile.data[i].held, words(l) * sizeof(uint64_t));
    }
    ti_vec_fini(&l->index);
    ti_vec_fini(&l->tile);
    ti_vec_fini(&l->found);
    ti_vec_fini(&l->from);
    TI_DELETE(l);
}

static ti_region_map *index_of(needed *l, const ti_buffer_info *buffer)
{
    while (l->index.count <= buffer->slot) {
        ti_vec_push(&l->index, NULL);
    }
    if (!l->index.data[buffer->slot]) {
        l->index.data[buffer->slot] = TI_NEW(ti_region_map);
        ti_region_map_init(l->index.data[buffer->slot]);
    }
    return l->index.data[buffer->slot];
}

/* The tile with this box, which is made if nothing meets it. NULL: something else does. */
static tile *tile_at(needed *l, const ti_buffer_info *buffer, const ti_box *box)
{
    ti_region_map *index = index_of(l, buffer);
    const uint64_t *known = ti_region_map_find(index, box);
    if (known) {
        return &l->tile.data[*known];
    }
    l->found.count = 0;
    ti_region_map_query(index, box, &l->found);
    if (l->found.count > 0) {
        return NULL;
    }
    tile t = { .owner = -1, .held = TI_NEW_ARRAY(uint64_t, words(l)) };
    memset(t.held, 0xff, words(l) * sizeof(uint64_t));
    ti_region_map_insert(index, box, l->tile.count);
    ti_vec_push(&l->tile, t);
    return &l->tile.data[l->tile.count - 1];
}

static void bring(needed *l, tile *t, int node)
{
    if (t->held[node / 64] >> node % 64 & 1) {
        return;
    }
    t->held[node / 64] |= UINT64_C(1) << node % 64;
    for (size_t i = 0; i < l->from.count; i++) {
        if (l->from.data[i] == t->owner) {
            return;
        }
    }
    ti_vec_push(&l->from, t->owner);
    l->messages++;
}

static void leave_with(needed *l, tile *t, int node)
{
    memset(t->held, 0, words(l) * sizeof(uint64_t));
    t->held[node / 64] = UINT64_C(1) << node % 64;
    t->owner = node;
}

/* One access, once for what it reads and once for what it writes. */
static bool touch(needed *l, const ti_access *a, const ti_footprint *f, int node, bool writing)
{
    for (uint32_t i = 0; i < f->boxes; i++) {
        tile *t = tile_at(l, a->buffer, &f->box[i]);
        if (!t || a->mode == TACIT_REDUCE) {
            return false;
        }
        if (writing && ti_access_writes(a)) {
            leave_with(l, t, node);
        } else if (!writing && ti_access_reads(a)) {
            bring(l, t, node);
        }
    }
    return true;
}

void needed_see(needed *l, const ti_task *task)
{
    const ti_shape *s = task->shape;
    if (task->kind == TI_TASK_DESTROY) {
        forget_buffer(l, task->as.destroy);
    }
    if (task->kind != TI_TASK_EXECUTE || !l->fits) {
        return;
    }
    l->tasks++;
    l->fits = s->place >= 0;
    ti_vec_clear(&l->from);
    for (int writing = 0; writing < 2; writing++) {
        for (uint32_t i = 0; i < s->accesses && l->fits; i++) {
            l->fits = touch(l, &s->access[i], &s->footprint[i], s->place, writing);
        }
    }
}

bool needed_messages(const needed *l, uint64_t *messages)
{
    *messages = l->messages;
    return l->fits && l->tasks > 0;
}
