/* Collectives among devices: see collective_device.h. */
#include "exec/collective_device.h"

#include "base/check.h"

/* Blocks are found by their number until all are there: the list moves when it grows. */
static void add_share(ti_collective_device *self, int node, bool gives, const ti_payload *payload)
{
    for (uint32_t i = 0; i < payload->count; i++) {
        ti_vec_push(&self->block, payload->block[i]);
    }
    ti_vec_push(&self->share, ((ti_device_share){ node, gives, payload->count, NULL, payload->bytes }));
}

static ti_device_exchange finish(ti_collective_device *self, int kind)
{
    const ti_block *block = self->block.data;
    for (size_t i = 0; i < self->share.count; i++) {
        self->share.data[i].block = block;
        block += self->share.data[i].blocks;
    }
    return (ti_device_exchange){ kind, (uint32_t)self->share.count, self->share.data };
}

/* What every node gives to all others. */
static ti_device_exchange from_each_to_all(ti_collective_device *self, const ti_exchange *x, int node)
{
    const ti_collective *what = x->what;
    bool equal = true;
    for (int q = 0; q < what->nodes; q++) {
        ti_vec_clear(&self->boxes);
        ti_collective_given(what, q, &self->boxes);
        if (self->boxes.count) {
            const ti_payload payload = x->locate(x->user, &self->boxes);
            add_share(self, q, q == node, &payload);
        }
        equal = equal && self->boxes.count && self->share.data[q].bytes == self->share.data[0].bytes;
    }
    return finish(self, equal ? TI_DEVICE_ALL_GATHER : TI_DEVICE_BROADCASTS);
}

static ti_device_exchange by_messages(ti_collective_device *self, const ti_exchange *x, int node)
{
    ti_direct_plan *plan = ti_direct_plan_of(&self->messages, x, node);
    for (size_t i = 0; i < plan->message.count; i++) {
        const ti_payload payload = ti_direct_plan_payload(plan, i, x->base, &self->messages.block);
        add_share(self, plan->message.data[i].peer, i < plan->sends, &payload);
    }
    return finish(self, TI_DEVICE_MESSAGES);
}

ti_device_exchange ti_collective_device_shares(ti_collective_device *self, const ti_exchange *x, int node)
{
    const ti_collective *what = x->what;
    TI_ASSERT(!ti_pattern_combines(what->pattern));
    ti_vec_clear(&self->share);
    ti_vec_clear(&self->block);
    const bool to_all = what->pattern == TI_PATTERN_ALL_GATHER || what->pattern == TI_PATTERN_BROADCAST;
    return to_all && !what->members ? from_each_to_all(self, x, node) : by_messages(self, x, node);
}

void ti_collective_device_fini(ti_collective_device *self)
{
    ti_vec_fini(&self->share);
    ti_vec_fini(&self->block);
    ti_vec_fini(&self->boxes);
    ti_direct_fini(&self->messages);
}
