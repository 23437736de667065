/* Collectives as messages between pairs: see exchange.h. */
#include "comm/exchange.h"

#include "base/check.h"

uint64_t ti_groups_open(ti_groups *groups, uint64_t token, uint32_t parts)
{
    if (!groups->free) {
        ti_vec_push(&groups->group, ((ti_group){ .next_free = 0 }));
        groups->free = (uint32_t)groups->group.count;
    }
    uint32_t index = groups->free - 1;
    ti_group *g = &groups->group.data[index];
    groups->free = g->next_free;
    g->token = token;
    g->left = parts;
    return TI_GROUP_TOKEN | index;
}

bool ti_groups_part_done(ti_groups *groups, uint64_t part, uint64_t *token)
{
    uint32_t index = (uint32_t)(part & ~TI_GROUP_TOKEN);
    ti_group *g = &groups->group.data[index];
    TI_ASSERT(g->left > 0);
    if (--g->left) {
        return false;
    }
    *token = g->token;
    g->next_free = groups->free;
    groups->free = index + 1;
    return true;
}

void ti_groups_fini(ti_groups *groups)
{
    ti_vec_fini(&groups->group);
}

/* ---- the direct schedule */

static bool find_message(ti_direct *direct, const ti_exchange *x, int r, int q)
{
    ti_vec_clear(&direct->boxes);
    ti_collective_message(x->what, r, q, &direct->boxes, &direct->scratch);
    return direct->boxes.count > 0;
}

/* Peers begin behind this node, so that not all send to node 0 first. */
static int peer_at(const ti_comm *comm, int i)
{
    return (comm->node + 1 + i) % comm->num_nodes;
}

static uint32_t count_parts(ti_direct *direct, const ti_comm *comm, const ti_exchange *x)
{
    uint32_t parts = 0;
    for (int i = 0; i + 1 < comm->num_nodes; i++) {
        int peer = peer_at(comm, i);
        parts += x->gives && find_message(direct, x, comm->node, peer);
        parts += x->gets && find_message(direct, x, peer, comm->node);
    }
    return parts;
}

bool ti_direct_start(ti_direct *direct, ti_comm *comm, ti_groups *groups, const ti_exchange *x, uint64_t token)
{
    uint32_t parts = count_parts(direct, comm, x);
    if (!parts) {
        return false;
    }
    uint64_t part = ti_groups_open(groups, token, parts);
    for (int i = 0; x->gets && i + 1 < comm->num_nodes; i++) {
        int peer = peer_at(comm, i);
        if (find_message(direct, x, peer, comm->node)) {
            ti_payload payload = x->locate(x->user, &direct->boxes);
            direct->receive(comm, peer, x, &payload, part);
        }
    }
    for (int i = 0; x->gives && i + 1 < comm->num_nodes; i++) {
        int peer = peer_at(comm, i);
        if (find_message(direct, x, comm->node, peer)) {
            ti_payload payload = x->locate(x->user, &direct->boxes);
            direct->send(comm, peer, x, &payload, part);
        }
    }
    return true;
}

void ti_direct_fini(ti_direct *direct)
{
    ti_vec_fini(&direct->boxes);
    ti_vec_fini(&direct->scratch);
}
