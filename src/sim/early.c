/* The limit on early bytes of a simulated node: see network.h, and comm/early.h for the rule. A live run does the same
 * in comm/mpi/comm.c. */
#include "sim/network.h"

#include "base/check.h"

#include <string.h>

static early_peer *peer_of(const ti_cluster *c, node *n, int to)
{
    uint64_t *at = ti_map_at(&n->peer, (uint64_t)to);
    if (*at == 0) {
        ti_vec_push(&n->peers, ((early_peer){ .node = to, .early.limit = c->early_bytes }));
        *at = n->peers.count;
    }
    return &n->peers.data[*at - 1];
}

static void send_counted(ti_cluster *c, const node *n, early_peer *p, const early_message *m)
{
    int me = n->system.node;
    uint64_t key = ti_sim_key(me, m->counter);
    if (ti_early_count(&p->early, m->counter, (uint64_t)m->bytes)) {
        p->point = m->token;
        ti_sim_send_asking(c, me, p->node, key, m->bytes, TI_OF_POINT | (uint64_t)(p - n->peers.data));
    } else {
        ti_sim_send(c, me, p->node, key, m->bytes, m->token);
    }
}

/* By counters. */
static void hold(early_peer *p, const early_message *m)
{
    ti_vec_push(&p->held, *m);
    size_t at = p->held.count - 1;
    for (; at > 0 && p->held.data[at - 1].counter > m->counter; at--) {
        p->held.data[at] = p->held.data[at - 1];
    }
    p->held.data[at] = *m;
}

void ti_sim_send_early(ti_cluster *c, node *n, int to, uint64_t counter, double bytes, uint64_t token)
{
    const early_message m = { counter, token, bytes };
    if (!ti_early_is_counted(c->early_bytes, (uint64_t)bytes)) {
        ti_sim_send_asking(c, n->system.node, to, ti_sim_key(n->system.node, counter), bytes, token);
        return;
    }
    early_peer *p = peer_of(c, n, to);
    if (ti_early_must_wait(&p->early, counter, (uint64_t)bytes, p->held.count > 0)) {
        hold(p, &m);
        c->result.held_back++;
    } else {
        send_counted(c, n, p, &m);
    }
}

void ti_sim_point_passed(ti_cluster *c, node *n, size_t peer)
{
    early_peer *p = &n->peers.data[peer];
    size_t gone = 0;
    uint64_t point = p->point;
    TI_ASSERT(p->early.syncing);
    ti_early_passed(&p->early);
    while (gone < p->held.count && ti_early_may_go(&p->early, (uint64_t)p->held.data[gone].bytes)) {
        send_counted(c, n, p, &p->held.data[gone++]);
    }
    if (gone > 0) {
        p->held.count -= gone;
        memmove(p->held.data, p->held.data + gone, p->held.count * sizeof(*p->held.data));
    }
    ti_sim_complete(c, n, point);
}

void ti_sim_fini_early(node *n)
{
    for (size_t i = 0; i < n->peers.count; i++) {
        ti_vec_fini(&n->peers.data[i].held);
    }
    ti_vec_fini(&n->peers);
    ti_map_fini(&n->peer);
}
