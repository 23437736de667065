/* When to insert a horizon: see horizon.h. */
#include "plan/task/horizon.h"

#include "base/check.h"

enum { START = 256 };

void ti_horizon_init(ti_horizon *h, int64_t step, int64_t limit, uint64_t first_id)
{
    _Static_assert((START & (START - 1)) == 0, "ids are masked");
    TI_ASSERT(step > 0 && limit > 0);
    *h = (ti_horizon){ .step = step, .limit = limit, .oldest = first_id, .next = first_id, .capacity = START };
    h->length = (uint64_t)TI_MAX(limit, (int64_t)TI_HORIZON_LENGTH);
    h->vertex = TI_NEW_ARRAY(struct ti_horizon_vertex, START);
}

void ti_horizon_fini(ti_horizon *h)
{
    ti_free(h->vertex, h->capacity * sizeof(*h->vertex));
}

static struct ti_horizon_vertex *vertex_of(const ti_horizon *h, uint64_t id)
{
    return &h->vertex[id & (h->capacity - 1)];
}

static void grow(ti_horizon *h)
{
    struct ti_horizon_vertex *fresh = ti_alloc(2 * h->capacity * sizeof(*fresh));
    for (uint64_t id = h->oldest; id < h->next; id++) {
        fresh[id & (2 * h->capacity - 1)] = *vertex_of(h, id);
    }
    ti_free(h->vertex, h->capacity * sizeof(*fresh));
    h->vertex = fresh;
    h->capacity *= 2;
}

static void append(ti_horizon *h, uint64_t id, int64_t path)
{
    TI_ASSERT(id == h->next);
    if (h->next - h->oldest == h->capacity) {
        grow(h);
    }
    h->next++;
    *vertex_of(h, id) = (struct ti_horizon_vertex){ path, false };
    h->front++;
    h->longest = TI_MAX(h->longest, path);
}

void ti_horizon_note(ti_horizon *h, uint64_t id, const uint64_t *dep, size_t deps)
{
    int64_t path = h->applied_path; /* what depends on nothing depends on the applied horizon */
    for (size_t i = 0; i < deps; i++) {
        TI_ASSERT(dep[i] >= h->oldest && dep[i] < id);
        struct ti_horizon_vertex *v = vertex_of(h, dep[i]);
        path = TI_MAX(path, v->path);
        h->front -= !v->has_successor && dep[i] >= h->newest;
        v->has_successor = true;
    }
    TI_ASSERT(h->front >= 0);
    append(h, id, path + 1);
}

uint64_t ti_horizon_insert(ti_horizon *h, uint64_t id)
{
    TI_ASSERT(h->newest < id);
    uint64_t before = h->newest;
    h->front = 0;              /* all of it has a successor now; vertices below `newest` are never counted again */
    append(h, id, h->longest); /* it has no length of its own: in a chain every `step`-th task is followed by one */
    h->newest = id;
    h->newest_path = h->longest;
    return before;
}

void ti_horizon_apply(ti_horizon *h, uint64_t id)
{
    if (id >= h->oldest) {
        TI_ASSERT(id < h->next);
        h->oldest = id;
        h->applied_path = vertex_of(h, id)->path;
    }
}

void ti_horizon_each_front(const ti_horizon *h, void (*emit)(void *user, uint64_t id), void *user)
{
    int64_t front = 0;
    for (uint64_t i = TI_MAX(h->oldest, h->newest); i < h->next; i++) {
        if (!vertex_of(h, i)->has_successor) {
            emit(user, i);
            front++;
        }
    }
    TI_ASSERT(front == h->front);
}

int64_t ti_horizon_describe(const ti_horizon *h, ti_tracker_state *state)
{
    TI_ASSERT(h->applied_path <= h->newest_path && h->newest_path <= h->longest);
    const uint64_t ids[] = { h->oldest, h->next, h->newest };
    const int64_t others[] = { h->front, h->longest - h->applied_path, h->newest_path - h->applied_path };
    ti_tracker_state_add(state, others, sizeof(others));
    for (size_t i = 0; i < TI_COUNT(ids); i++) {
        ti_vec_push(&state->ids, ids[i]);
    }
    for (uint64_t id = h->oldest; id < h->next; id++) {
        const struct ti_horizon_vertex *v = vertex_of(h, id);
        ti_vec_push(&state->others, (uint64_t)(v->path - h->applied_path) << 1 | v->has_successor);
    }
    return h->applied_path;
}

void ti_horizon_shift(ti_horizon *h, uint64_t by, int64_t path)
{
    struct ti_horizon_vertex *fresh = ti_alloc(h->capacity * sizeof(*fresh));
    for (uint64_t id = h->oldest; id < h->next; id++) {
        struct ti_horizon_vertex *v = &fresh[(id + by) & (h->capacity - 1)];
        *v = *vertex_of(h, id);
        v->path += path;
    }
    ti_free(h->vertex, h->capacity * sizeof(*fresh));
    h->vertex = fresh;
    h->oldest += by;
    h->next += by;
    h->newest += by;
    h->newest_path += path;
    h->applied_path += path;
    h->longest += path;
}
