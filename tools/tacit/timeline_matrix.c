/* Bytes from node to node in collectives: see timeline.h.
 *
 * A record says how much of a collective's bytes a node gives and gets, and a second one who takes part. What a node
 * gets is divided among the others of its group in proportion to what they give. So gathers, all-gathers, broadcasts
 * and scatters are counted as their patterns say, all-to-alls as well where all nodes give alike; of a reduction, whose
 * values meet on the way, each of the others counts for the same share of the result. What a node gets is the sum of
 * its column, and that of its counters. How an algorithm passes bytes on is not in it. */
#include "timeline.h"

/* Of one node in a collective. */
static uint64_t given(const tl_node *node, const tl_event *members)
{
    const tl_event *whole = timeline_instruction(node, members->id);
    return whole && whole->bytes >= members->bytes ? whole->bytes - members->bytes : 0;
}

/* The records of collectives of a node, by their numbers. */
static ti_map index_members(const tl_node *node)
{
    ti_map at = { 0 };
    for (size_t i = 0; i < node->event.count; i++) {
        if (node->event.data[i].kind == TI_TRACE_MEMBERS) {
            *ti_map_at(&at, node->event.data[i].number) = i + 1;
        }
    }
    return at;
}

/* What the members of a group give and get, in their order. */
typedef struct shares {
    TI_VEC(uint32_t) node;
    TI_VEC(uint64_t) gives;
    TI_VEC(uint64_t) gets;
    uint64_t sum;
} shares;

static void collect(const timeline *t, const ti_map *at, const tl_event *first, shares *s)
{
    ti_vec_clear(&s->node);
    ti_vec_clear(&s->gives);
    ti_vec_clear(&s->gets);
    s->sum = 0;
    for (uint64_t k = 0; k < first->items && first->by + k * first->where < (uint64_t)t->nodes; k++) {
        uint32_t q = first->by + (uint32_t)k * first->where;
        uint64_t *found = ti_map_find(&at[q], first->number);
        const tl_event *e = found ? &t->node[q].event.data[*found - 1] : NULL;
        if (e) {
            ti_vec_push(&s->node, q);
            ti_vec_push(&s->gives, given(&t->node[q], e));
            ti_vec_push(&s->gets, e->bytes);
            s->sum += s->gives.data[s->gives.count - 1];
        }
    }
}

static void add_group(timeline *t, const shares *s)
{
    for (size_t to = 0; to < s->node.count; to++) {
        uint64_t others = s->sum - s->gives.data[to];
        double part = others ? (double)s->gets.data[to] / (double)others : 0;
        for (size_t from = 0; from < s->node.count && part > 0; from++) {
            t->collected[(size_t)s->node.data[from] * (size_t)t->nodes + s->node.data[to]] +=
                from != to ? (uint64_t)(part * (double)s->gives.data[from] + 0.5) : 0;
        }
    }
}

void timeline_matrix(timeline *t)
{
    shares s = { .sum = 0 };
    if (t->nodes > TL_MATRIX) {
        return;
    }
    t->collected = TI_NEW_ARRAY(uint64_t, (size_t)t->nodes * (size_t)t->nodes);
    ti_map *at = TI_NEW_ARRAY(ti_map, (size_t)t->nodes);
    for (int q = 0; q < t->nodes; q++) {
        at[q] = index_members(&t->node[q]);
    }
    for (int q = 0; q < t->nodes; q++) {
        for (size_t i = 0; i < t->node[q].event.count; i++) {
            const tl_event *e = &t->node[q].event.data[i];
            if (e->kind == TI_TRACE_MEMBERS && e->by == (uint32_t)q) { /* the first of its group */
                collect(t, at, e, &s);
                add_group(t, &s);
            }
        }
    }
    for (int q = 0; q < t->nodes; q++) {
        ti_map_fini(&at[q]);
    }
    ti_free(at, (size_t)t->nodes * sizeof(ti_map));
    ti_vec_fini(&s.node);
    ti_vec_fini(&s.gives);
    ti_vec_fini(&s.gets);
}
