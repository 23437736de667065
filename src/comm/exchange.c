/* Collectives as messages between pairs: see exchange.h. */
#include "comm/exchange.h"

#include "base/check.h"

/* A group of `parts` parts: the token that each of them has. */
static uint64_t open_group(ti_groups *groups, uint64_t token, uint32_t parts)
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

static void add_message(ti_direct_plan *plan, const ti_exchange *x, int r, int q, int peer, ti_boxes boxes[2])
{
    ti_vec_clear(&boxes[0]);
    ti_collective_message(x->what, r, q, &boxes[0], &boxes[1]);
    if (!boxes[0].count) {
        return;
    }
    ti_payload payload = x->locate(x->user, &boxes[0]);
    TI_ASSERT(payload.count > 0 && payload.bytes > 0 && r != q);
    struct ti_direct_message message = { peer, payload.count, plan->block.count, payload.bytes };
    ti_vec_push(&plan->message, message);
    for (uint32_t i = 0; i < payload.count; i++) {
        ti_block block = payload.block[i];
        block.base = (char *)((intptr_t)block.base - (intptr_t)x->base);
        ti_vec_push(&plan->block, block);
    }
}

/* Peers are the other members of this node's group, and begin behind it, so that not all send to the first one first.
 * What is sent comes first: a long message that waits here is fetched while its receive is being posted, and until then
 * the other node would wait for what this one has to send. */
void ti_direct_plan_make(ti_direct_plan *plan, const ti_exchange *x, int node, ti_boxes boxes[2])
{
    int members = ti_collective_members(x->what, node), rank = ti_collective_rank(x->what, node);
    TI_ASSERT(rank >= 0 && (rank < members || members == 0));
    plan->serial = x->layout ? x->what->serial : 0;
    plan->layout = x->layout;
    ti_vec_clear(&plan->message);
    ti_vec_clear(&plan->block);
    for (int i = 1; x->gives && i < members; i++) {
        int peer = ti_collective_member(x->what, node, (rank + i) % members);
        add_message(plan, x, node, peer, peer, boxes);
    }
    plan->sends = plan->message.count;
    for (int i = 1; x->gets && i < members; i++) {
        int peer = ti_collective_member(x->what, node, (rank + i) % members);
        add_message(plan, x, peer, node, peer, boxes);
    }
}

ti_payload ti_direct_plan_payload(const ti_direct_plan *plan, size_t i, const char *base, ti_blocks *blocks)
{
    const struct ti_direct_message *message = &plan->message.data[i];
    TI_ASSERT(i < plan->message.count && message->first + message->blocks <= plan->block.count);
    ti_vec_clear(blocks);
    for (uint32_t k = 0; k < message->blocks; k++) {
        ti_block block = plan->block.data[message->first + k];
        block.base = (char *)((intptr_t)block.base + (intptr_t)base);
        ti_vec_push(blocks, block);
    }
    return (ti_payload){ blocks->data, message->blocks, message->bytes };
}

void ti_direct_plan_fini(ti_direct_plan *plan)
{
    ti_vec_fini(&plan->message);
    ti_vec_fini(&plan->block);
}

ti_direct_plan *ti_direct_plan_of(ti_direct *direct, const ti_exchange *x, int node)
{
    ti_direct_plan *oldest = &direct->plan[0];
    for (int i = 0; i < TI_DIRECT_PLANS; i++) {
        ti_direct_plan *plan = &direct->plan[i];
        if (plan->serial == x->what->serial && plan->layout == x->layout && x->layout) {
            plan->last_use = ++direct->clock;
            return plan;
        }
        oldest = plan->last_use < oldest->last_use ? plan : oldest;
    }
    ti_direct_plan_make(oldest, x, node, direct->boxes);
    oldest->last_use = ++direct->clock;
    return oldest;
}

bool ti_direct_start(ti_direct *direct, ti_comm *comm, ti_groups *groups, const ti_exchange *x, uint64_t token)
{
    ti_direct_plan *plan = ti_direct_plan_of(direct, x, comm->node);
    TI_ASSERT(plan->sends <= plan->message.count);
    if (!plan->message.count) {
        return false;
    }
    uint64_t part = open_group(groups, token, (uint32_t)plan->message.count);
    for (size_t i = 0; i < plan->message.count; i++) {
        ti_payload payload = ti_direct_plan_payload(plan, i, x->base, &direct->block);
        (i < plan->sends ? direct->send : direct->receive)(comm, plan->message.data[i].peer, x, &payload, part);
    }
    return true;
}

void ti_direct_fini(ti_direct *direct)
{
    for (int i = 0; i < TI_DIRECT_PLANS; i++) {
        ti_direct_plan_fini(&direct->plan[i]);
    }
    ti_vec_fini(&direct->boxes[0]);
    ti_vec_fini(&direct->boxes[1]);
    ti_vec_fini(&direct->block);
}
