/* Collectives of simulated nodes: each node takes the steps of a schedule (sim/schedule.h) by messages. See impl.h. */
#include "sim/network.h"

#include "base/check.h"
#include "grid/region.h"

enum { KEEP = 512, MIN_RANKS = 4 };
enum { NODE_BITS = 12, STEP_BITS = NODE_BITS + 1 }; /* a ring there and back again has nearly 2 steps for each node */
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
        k->stride = what && what->members ? what->stride : 1;
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
    if (k->meeting.share) {
        ti_free(k->meeting.share, (size_t)k->schedule.ranks * sizeof(uint32_t));
        ti_free(k->meeting.chain, (size_t)k->schedule.ranks * sizeof(ti_chain));
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
    TI_ASSERT(from < 1 << NODE_BITS && s->step < 1 << STEP_BITS);
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

static void take_step(ti_cluster *c, const node *n, size_t index)
{
    share *s = &n->share.data[index];
    int me = n->system.node;
    ti_schedule_step(&s->known->schedule, s->rank, s->step, &c->ops);
    s->pending = (int)c->ops.count;
    for (size_t i = 0; i < c->ops.count; i++) {
        const ti_schedule_op *op = &c->ops.data[i];
        int peer = node_of(s, op->peer);
        if (op->send) {
            ti_sim_count(c, me, peer, op->bytes, false);
            ti_sim_send(c, me, peer, key_of(s, me), op->bytes, TI_OF_COLLECTIVE | index);
        } else {
            ti_sim_receive(c, me, key_of(s, peer), TI_OF_COLLECTIVE | index, op->combines);
        }
    }
    s->step++;
}

/* ---- steps of all ranks at once */

/* Whether the rank waits for all others that begin the same step now. */
static bool join(ti_cluster *c, const share *s, size_t index)
{
    known_schedule *k = s->known;
    int ranks = k->schedule.ranks, first = k->meeting.count;
    bool alone = c->progress == TI_PROGRESS_THREAD && c->platform.bisection_byte == 0;
    if (!alone || ranks < MIN_RANKS || !k->serial ||
        ti_schedule_steps(&k->schedule) < ranks - 1) { /* few steps: not worth it */
        return false;
    }
    if (!first && k->meeting.sequence != s->sequence) {
        k->meeting.sequence = s->sequence;
        k->meeting.apart = false;
    }
    if (k->meeting.sequence != s->sequence || k->meeting.apart || (first && k->meeting.step != s->step)) {
        return false;
    }
    if (!k->meeting.share) {
        k->meeting.share = TI_NEW_ARRAY(uint32_t, (size_t)ranks);
        k->meeting.chain = TI_NEW_ARRAY(ti_chain, (size_t)ranks);
    }
    k->meeting.share[s->rank] = (uint32_t)index + 1;
    k->meeting.chain[s->rank] = ti_paths_extend(&c->paths, c->chain, c->chain.slot, 0);
    k->meeting.step = s->step;
    if (k->meeting.count++ == 0) {
        ti_sim_later(c, c->now, node_of(s, s->rank), EVENT_MEET, (uintptr_t)k, c->chain.slot);
    }
    return true;
}

/* When each rank is through, and which one led to that. False: events must do it. */
static bool step_together(ti_cluster *c, known_schedule *k, const share *first)
{
    size_t ranks = (size_t)k->schedule.ranks;
    double *end = TI_NEW_ARRAY(double, ranks);
    int *origin = TI_NEW_ARRAY(int, ranks);
    int before = first->step, next = ti_sim_step_together(c, first, end, origin);
    for (int r = 0; r < (int)ranks && next > before; r++) {
        node *n = &c->node[node_of(first, r)];
        size_t index = k->meeting.share[r] - 1;
        n->share.data[index].step = next;
        n->share.data[index].pending = 1;
        c->chain = k->meeting.chain[origin[r]];
        ti_sim_later(c, end[r], n->system.node, EVENT_STEPPED, TI_OF_COLLECTIVE | index, TI_PATH_MESSAGES);
    }
    ti_free(end, ranks * sizeof(double));
    ti_free(origin, ranks * sizeof(int));
    return next > before;
}

static void step_apart(ti_cluster *c, node *n, size_t index)
{
    share *s = &n->share.data[index];
    take_step(c, n, index);
    if (s->pending == 0) { /* it has nothing to do in this one */
        s->pending = 1;
        ti_sim_later(c, c->now, n->system.node, EVENT_STEPPED, TI_OF_COLLECTIVE | index, c->chain.slot);
    }
}

void ti_sim_meet(ti_cluster *c, uint64_t meeting)
{
    known_schedule *k = (known_schedule *)(uintptr_t)meeting;
    ti_chain chain = c->chain;
    int any = 0;
    while (!k->meeting.share[any]) {
        any++;
    }
    share of_any = { .first_node = k->first, .stride = k->stride };
    const share *first = &c->node[node_of(&of_any, any)].share.data[k->meeting.share[any] - 1];
    bool all = k->meeting.count == k->schedule.ranks, stepped = all && step_together(c, k, first);
    k->meeting.apart = !all;
    k->meeting.count = 0;
    for (int r = 0; r < k->schedule.ranks; r++) {
        if (k->meeting.share[r]) {
            c->chain = k->meeting.chain[r];
            if (!stepped) {
                step_apart(c, &c->node[node_of(&of_any, r)], k->meeting.share[r] - 1);
            }
            ti_paths_drop(&c->paths, k->meeting.chain[r]);
            k->meeting.share[r] = 0;
        }
    }
    c->chain = chain;
}

static void advance(ti_cluster *c, node *n, size_t index)
{
    share *s = &n->share.data[index];
    while (s->pending == 0 && s->step < ti_schedule_steps(&s->known->schedule)) {
        if (join(c, s, index)) {
            return;
        }
        take_step(c, n, index);
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
