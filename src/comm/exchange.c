/* Collectives as messages between pairs: see exchange.h. */
#include "comm/exchange.h"

#include "base/check.h"

uint64_t ti_groups_open(ti_groups *groups, uint64_t token, uint32_t parts)
{
    TI_ASSERT(parts > 0 && !(token & TI_GROUP_TOKEN));
    if (!groups->free) {
        ti_vec_push(&groups->group, ((ti_group){ .next_free = 0 }));
        groups->free = (uint32_t)groups->group.count;
    }
    uint32_t index = groups->free - 1;
    TI_ASSERT(index < groups->group.count);
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
    TI_ASSERT((part & TI_GROUP_TOKEN) && index < groups->group.count);
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

/* Peers are the other members of this node's group, and begin behind it, so that not all send to the first one
 * first. */
static int peer_at(const ti_comm *comm, const ti_collective *what, int members, int i)
{
    int rank = ti_collective_rank(what, comm->node);
    TI_ASSERT(rank >= 0 && rank < members && i + 1 < members);
    return ti_collective_member(what, comm->node, (rank + 1 + i) % members);
}

static void add_message(ti_direct *direct, const ti_exchange *x, int r, int q, int peer, ti_direct_plan *plan)
{
    ti_vec_clear(&direct->boxes);
    ti_collective_message(x->what, r, q, &direct->boxes, &direct->scratch);
    if (!direct->boxes.count) {
        return;
    }
    ti_payload payload = x->locate(x->user, &direct->boxes);
    TI_ASSERT(payload.count > 0 && payload.bytes > 0 && r != q);
    struct ti_direct_message message = { peer, payload.count, payload.bytes };
    ti_vec_push(&plan->message, message);
    for (uint32_t i = 0; i < payload.count; i++) {
        ti_block block = payload.block[i];
        block.base = (char *)((intptr_t)block.base - (intptr_t)x->base);
        ti_vec_push(&plan->block, block);
    }
}

/* What is sent comes first: a long message that waits here is fetched while its receive is being posted, and until then
 * the other node would wait for what this one has to send. */
static void make_plan(ti_direct *direct, const ti_comm *comm, const ti_exchange *x, ti_direct_plan *plan)
{
    int members = ti_collective_members(x->what, comm->node);
    plan->serial = x->layout ? x->what->serial : 0;
    plan->layout = x->layout;
    ti_vec_clear(&plan->message);
    ti_vec_clear(&plan->block);
    for (int i = 0; x->gives && i + 1 < members; i++) {
        int peer = peer_at(comm, x->what, members, i);
        add_message(direct, x, comm->node, peer, peer, plan);
    }
    plan->sends = plan->message.count;
    for (int i = 0; x->gets && i + 1 < members; i++) {
        int peer = peer_at(comm, x->what, members, i);
        add_message(direct, x, peer, comm->node, peer, plan);
    }
}

static ti_direct_plan *plan_of(ti_direct *direct, const ti_comm *comm, const ti_exchange *x)
{
    ti_direct_plan *oldest = &direct->plan[0];
    for (int i = 0; i < TI_DIRECT_PLANS; i++) {
        ti_direct_plan *plan = &direct->plan[i];
        if (plan->serial == x->what->serial && plan->layout == x->layout && x->layout) {
            return plan;
        }
        oldest = plan->last_use < oldest->last_use ? plan : oldest;
    }
    make_plan(direct, comm, x, oldest);
    return oldest;
}

/* The payload of a message of which plan->block[first] is the first block. */
static ti_payload payload_at(ti_direct *direct, const ti_exchange *x, const ti_direct_plan *plan,
                             const struct ti_direct_message *message, size_t first)
{
    TI_ASSERT(first + message->blocks <= plan->block.count);
    ti_vec_clear(&direct->block);
    for (uint32_t i = 0; i < message->blocks; i++) {
        ti_block block = plan->block.data[first + i];
        block.base = (char *)((intptr_t)block.base + (intptr_t)x->base);
        ti_vec_push(&direct->block, block);
    }
    return (ti_payload){ direct->block.data, message->blocks, message->bytes };
}

bool ti_direct_start(ti_direct *direct, ti_comm *comm, ti_groups *groups, const ti_exchange *x, uint64_t token)
{
    ti_direct_plan *plan = plan_of(direct, comm, x);
    plan->last_use = ++direct->clock;
    if (!plan->message.count) {
        return false;
    }
    uint64_t part = ti_groups_open(groups, token, (uint32_t)plan->message.count);
    size_t block = 0;
    for (size_t i = 0; i < plan->message.count; i++) {
        const struct ti_direct_message *message = &plan->message.data[i];
        ti_payload payload = payload_at(direct, x, plan, message, block);
        block += message->blocks;
        (i < plan->sends ? direct->send : direct->receive)(comm, message->peer, x, &payload, part);
    }
    TI_ASSERT(block == plan->block.count && plan->sends <= plan->message.count);
    return true;
}

void ti_direct_fini(ti_direct *direct)
{
    for (int i = 0; i < TI_DIRECT_PLANS; i++) {
        ti_vec_fini(&direct->plan[i].message);
        ti_vec_fini(&direct->plan[i].block);
    }
    ti_vec_fini(&direct->boxes);
    ti_vec_fini(&direct->scratch);
    ti_vec_fini(&direct->block);
}
