/* Collectives of simulated nodes: each node takes the steps of a schedule (sim/schedule.h) by messages. */
#include "sim/impl.h"

#include "base/check.h"
#include "grid/region.h"

enum { KEEP = 512, STEP_BITS = 12, NODE_BITS = 20 };
#define OF_BARRIER ((uint64_t)1 << 62)

/* ---- schedules */

static int ranks_of(const ti_collective *what, int q)
{
    return ti_collective_members(what, q);
}

static double bytes_of_rank(const ti_collective *what, int q, double elem)
{
    ti_boxes boxes = { 0 }, scratch = { 0 };
    if (what->pattern == TI_PATTERN_SCATTER) {
        ti_collective_got(what, q, &boxes, &scratch);
    } else {
        ti_collective_given(what, q, &boxes);
    }
    double bytes = (double)ti_boxes_volume(boxes.data, boxes.count) * elem;
    ti_vec_fini(&boxes);
    ti_vec_fini(&scratch);
    return bytes;
}

static double pair_bytes(const void *user, int from, int to)
{
    const known_schedule *k = user;
    return k->between[(size_t)from * (size_t)k->schedule.ranks + (size_t)to];
}

static void fill_pairs(known_schedule *k, const ti_collective *what, double elem)
{
    ti_boxes boxes = { 0 }, scratch = { 0 };
    int ranks = k->schedule.ranks;
    k->between = TI_NEW_ARRAY(double, (size_t)ranks *(size_t)ranks);
    for (int r = 0; r < ranks; r++) {
        for (int q = 0; q < ranks; q++) {
            ti_vec_clear(&boxes);
            if (q != r) {
                ti_collective_message(what, ti_collective_member(what, k->first, r),
                                      ti_collective_member(what, k->first, q), &boxes, &scratch);
            }
            k->between[(size_t)r * (size_t)ranks + (size_t)q] = (double)ti_boxes_volume(boxes.data, boxes.count) * elem;
        }
    }
    ti_vec_fini(&boxes);
    ti_vec_fini(&scratch);
    k->schedule.between = pair_bytes;
    k->schedule.user = k;
}

static void fill_schedule(const ti_cluster *c, known_schedule *k, const ti_collective *what, int q, double elem)
{
    int ranks = what ? ranks_of(what, q) : c->nodes;
    ti_pattern pattern = what ? what->pattern : TI_PATTERN_NONE;
    double *part = TI_NEW_ARRAY(double, (size_t)ranks);
    bool one = pattern == TI_PATTERN_BROADCAST || ti_pattern_combines(pattern);
    if (what && one) {
        part[0] = (double)ti_boxes_volume(what->region, what->regions) * elem;
    }
    for (int r = 0; what && !one && r < ranks; r++) {
        part[r] = bytes_of_rank(what, ti_collective_member(what, q, r), elem);
    }
    ti_algorithm wanted = what && ti_algorithm_fits(c->platform.algorithm, pattern, ranks) ? c->platform.algorithm
                                                                                           : TI_ALGORITHM_AUTO;
    bool rooted = what && what->root >= 0 && pattern != TI_PATTERN_ALL_GATHER && pattern != TI_PATTERN_ALL_TO_ALL &&
                  pattern != TI_PATTERN_ALL_REDUCE;
    ti_schedule_init(&k->schedule, pattern, wanted, ranks, rooted ? what->root : 0, part);
    ti_free(part, (size_t)ranks * sizeof(double));
    if (pattern == TI_PATTERN_ALL_TO_ALL) {
        fill_pairs(k, what, elem);
    }
}

static known_schedule *find_schedule(ti_cluster *c, const ti_collective *what, int q, double elem)
{
    uint64_t serial = what ? what->serial : 0;
    int first = what ? ti_collective_member(what, q, 0) : 0;
    uint64_t *at = ti_map_at(&c->schedules, ti_hash64(serial) + (uint64_t)first);
    known_schedule *k = (known_schedule *)(uintptr_t)*at;
    while (k && (k->serial != serial || k->first != first)) {
        k = k->next;
    }
    if (!k) {
        k = TI_NEW(known_schedule);
        k->serial = serial;
        k->first = first;
        k->next = (known_schedule *)(uintptr_t)*at;
        *at = (uintptr_t)k;
        c->known++;
        fill_schedule(c, k, what, q, elem);
    }
    k->users++;
    return k;
}

static void free_schedule(known_schedule *k)
{
    if (k->between) {
        ti_free(k->between, (size_t)k->schedule.ranks * (size_t)k->schedule.ranks * sizeof(double));
    }
    ti_schedule_fini(&k->schedule);
    TI_DELETE(k);
}

/* Programs whose collectives never come again keep a few only. */
static void leave_schedule(ti_cluster *c, known_schedule *k)
{
    if (--k->users > 0 || c->known <= KEEP) {
        return;
    }
    uint64_t key = ti_hash64(k->serial) + (uint64_t)k->first, *at = ti_map_find(&c->schedules, key);
    known_schedule *first = (known_schedule *)(uintptr_t)*at, **link = &first;
    while (*link != k) {
        link = &(*link)->next;
    }
    *link = k->next;
    *at = (uintptr_t)first;
    if (!first) {
        ti_map_remove(&c->schedules, key, NULL);
    }
    c->known--;
    free_schedule(k);
}

void ti_sim_free_schedules(ti_cluster *c)
{
    for (size_t i = 0; i < c->schedules.capacity; i++) {
        known_schedule *k = c->schedules.used[i] ? (known_schedule *)(uintptr_t)c->schedules.slot[i].value : NULL;
        while (k) {
            known_schedule *next = k->next;
            free_schedule(k);
            k = next;
        }
    }
    ti_map_fini(&c->schedules);
}

/* ---- steps */

static uint64_t key_of(const share *s, int from)
{
    return TI_OF_COLLECTIVE | s->sequence << (STEP_BITS + NODE_BITS) | (uint64_t)s->step << NODE_BITS | (uint64_t)from;
}

static int node_of(const share *s, int rank)
{
    return s->first_node + rank * s->stride;
}

static void end_share(ti_cluster *c, node *n, share *s)
{
    uint64_t instruction = s->instruction;
    s->instruction = 0;
    n->waiting--;
    leave_schedule(c, s->known);
    ti_sim_complete(c, n, instruction);
}

static void advance(ti_cluster *c, node *n, size_t index)
{
    share *s = &n->share.data[index];
    int me = n->system.node;
    while (s->pending == 0 && s->step < ti_schedule_steps(&s->known->schedule)) {
        ti_schedule_step(&s->known->schedule, s->rank, s->step, &c->ops);
        s->pending = (int)c->ops.count;
        for (size_t i = 0; i < c->ops.count; i++) {
            const ti_schedule_op *op = &c->ops.data[i];
            int peer = node_of(s, op->peer);
            if (op->send) {
                ti_sim_send(c, me, peer, key_of(s, me), op->bytes, TI_OF_COLLECTIVE | index);
            } else {
                ti_sim_receive(c, me, key_of(s, peer), TI_OF_COLLECTIVE | index, op->combines);
            }
        }
        s->step++;
    }
    if (s->pending == 0) {
        end_share(c, n, s);
    }
}

void ti_sim_part_done(ti_cluster *c, node *n, uint64_t token)
{
    share *s = &n->share.data[token];
    TI_ASSERT(s->pending > 0);
    if (--s->pending == 0) {
        advance(c, n, (size_t)token);
    }
}

static void begin(ti_cluster *c, node *n, const share *fresh)
{
    size_t index = 0;
    while (index < n->share.count && n->share.data[index].instruction) {
        index++;
    }
    if (index == n->share.count) {
        ti_vec_push(&n->share, *fresh);
    }
    n->share.data[index] = *fresh;
    n->waiting++;
    advance(c, n, index);
}

static void start(ti_cluster *c, node *n, const ti_instruction *i)
{
    const ti_collective *what = i->as.collective.what;
    int me = n->system.node;
    c->result.collectives++;
    if (ti_collective_members(what, me) <= 1) {
        ti_sim_complete(c, n, i->id);
        return;
    }
    begin(c, n,
          &(share){ .instruction = i->id,
                    .known = find_schedule(c, what, me, (double)i->as.collective.elem_size),
                    .rank = ti_collective_rank(what, me),
                    .sequence = i->as.collective.sequence,
                    .first_node = ti_collective_member(what, me, 0),
                    .stride = what->members ? what->stride : 1 });
}

void ti_sim_collective(ti_cluster *c, node *n, const ti_instruction *instruction)
{
    ti_vec_push(&n->collectives, instruction);
    for (size_t k = 0; k < n->collectives.count; k++) {
        const ti_instruction *i = n->collectives.data[k];
        if (i->as.collective.sequence == n->next_collective) {
            n->collectives.data[k] = n->collectives.data[--n->collectives.count];
            n->next_collective++;
            start(c, n, i);
            k = SIZE_MAX; /* from the beginning */
        }
    }
}

void ti_sim_barrier(ti_cluster *c, node *n, const ti_instruction *instruction)
{
    if (c->nodes == 1) {
        ti_sim_complete(c, n, instruction->id);
        return;
    }
    begin(c, n,
          &(share){ .instruction = instruction->id,
                    .known = find_schedule(c, NULL, n->system.node, 0),
                    .rank = n->system.node,
                    .sequence = OF_BARRIER >> (STEP_BITS + NODE_BITS) | n->next_barrier++,
                    .stride = 1 });
}
