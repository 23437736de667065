/* Starting collectives in order: see collective_issue.h. */
#include "exec/collective_issue.h"

#include "base/check.h"

static const ti_instruction_box *place_of(const ti_instruction *i, const ti_box *box)
{
    for (uint32_t k = 0; k < i->as.collective.places; k++) {
        if (ti_box_covers(&i->as.collective.place[k].box, box)) {
            return &i->as.collective.place[k];
        }
    }
    TI_UNREACHABLE();
}

static ti_payload locate(void *user, const ti_boxes *boxes)
{
    ti_collective_issue *issue = user;
    ti_payload payload = { .count = (uint32_t)boxes->count };
    ti_vec_clear(&issue->blocks);
    for (size_t k = 0; k < boxes->count; k++) {
        const ti_place *place = &place_of(issue->current, &boxes->data[k])->place;
        char *base = ti_allocation_table_base(issue->table, place);
        ti_block block = ti_layout_block(base, &place->whole, &boxes->data[k], issue->current->as.collective.elem_size);
        ti_vec_push(&issue->blocks, block);
        payload.bytes += ti_block_bytes(&block);
    }
    payload.block = issue->blocks.data;
    return payload;
}

/* Where everything lies in one allocation, its shape decides where boxes lie relative to its base. */
static void find_layout(const ti_collective_issue *issue, const ti_instruction *i, ti_exchange *x)
{
    const ti_instruction_box *place = i->as.collective.place;
    for (uint32_t k = 1; k < i->as.collective.places; k++) {
        if (place[k].place.allocation != place[0].place.allocation) {
            return;
        }
    }
    if (i->as.collective.places) {
        x->layout = ti_hash_words(&place[0].place.whole, sizeof(ti_box), i->as.collective.elem_size) | 1;
        x->base = ti_allocation_table_base(issue->table, &place[0].place);
    } else {
        x->layout = 1;
    }
}

/* Counted as those of the network's library are. */
static void start_on_device(ti_collective_issue *issue, ti_device *device, const ti_exchange *x, uint64_t token)
{
    ti_comm_stats *stats = &issue->comm->stats;
    const ti_device_exchange shares = ti_collective_device_shares(&issue->shares, x, issue->comm->node);
    stats->collectives++;
    stats->collective_bytes_out += x->bytes_out;
    stats->collective_bytes_in += x->bytes_in;
    stats->carried[x->what->pattern][TI_BY_DEVICES]++;
    device->ops->exchange(device, &shares, token);
}

static ti_exchange exchange_of(ti_collective_issue *issue, const ti_instruction *i)
{
    size_t elem = i->as.collective.elem_size;
    ti_exchange x = {
        .what = i->as.collective.what,
        .elem_size = elem,
        .sequence = i->as.collective.sequence,
        .locate = locate,
        .user = issue,
        .gives = i->as.collective.gives > 0,
        .gets = i->as.collective.gets > 0,
        .bytes_out = (size_t)ti_boxes_volume(i->as.collective.give, i->as.collective.gives) * elem,
        .bytes_in = (size_t)ti_boxes_volume(i->as.collective.get, i->as.collective.gets) * elem,
    };
    find_layout(issue, i, &x);
    return x;
}

static void start(ti_collective_issue *issue, const ti_instruction *i)
{
    const ti_exchange x = exchange_of(issue, i);
    issue->current = i;
    if (i->device) {
        start_on_device(issue, issue->device[i->device], &x, i->id);
    } else {
        issue->comm->ops->collective(issue->comm, &x, i->id);
    }
}

void ti_collective_issue_ready(ti_collective_issue *issue, const ti_instruction *instruction)
{
    TI_ASSERT(instruction->as.collective.sequence >= issue->next); /* each number comes once */
    *ti_map_at(&issue->waiting, instruction->as.collective.sequence) = (uintptr_t)instruction;
    for (uint64_t i; ti_map_remove(&issue->waiting, issue->next, &i);) {
        issue->next++;
        start(issue, (const ti_instruction *)(uintptr_t)i);
    }
}

/* ---- again and again */

static ti_payload locate_kept(void *user, const ti_boxes *boxes)
{
    const ti_kept_reduction *kept = user;
    TI_ASSERT(boxes->count == 1 && ti_box_equal(&boxes->data[0], &kept->exchange.what->region[0]));
    return (ti_payload){ &kept->block, (uint32_t)boxes->count, ti_block_bytes(&kept->block) };
}

bool ti_collective_keep(ti_collective_issue *issue, const ti_instruction *i, ti_kept_reduction *out)
{
    const ti_collective *what = i->as.collective.what;
    if (!ti_pattern_combines(what->pattern) || what->regions != 1 || i->device) {
        return false;
    }
    issue->current = i;
    out->exchange = exchange_of(issue, i);
    out->block = locate(issue, &(ti_boxes){ .data = what->region, .count = 1 }).block[0];
    out->exchange.locate = locate_kept;
    return true;
}

ti_kept_end ti_collective_issue_kept(ti_collective_issue *issue, ti_kept_reduction *kept, uint64_t sequence,
                                     uint64_t token)
{
    ti_comm *comm = issue->comm;
    if (sequence != issue->next || issue->waiting.count > 0) {
        return TI_KEPT_NOTHING;
    }
    issue->next++;
    kept->exchange.sequence = sequence;
    kept->exchange.user = kept;
    if (comm->ops->collective_at_once) {
        return comm->ops->collective_at_once(comm, &kept->exchange, token) ? TI_KEPT_DONE : TI_KEPT_STARTED;
    }
    comm->ops->collective(comm, &kept->exchange, token);
    return TI_KEPT_STARTED;
}

void ti_collective_issue_fini(ti_collective_issue *issue)
{
    ti_map_fini(&issue->waiting);
    ti_vec_fini(&issue->blocks);
    ti_collective_device_fini(&issue->shares);
}
