/* Instructions as records of a traced run: see trace.h. */
#include "exec/trace.h"

#include "base/clock.h"
#include "device/device.h"

static uint64_t transfer_bytes(const ti_instruction *i)
{
    uint64_t elements = 0;
    for (uint32_t k = 0; k < i->as.transfer.boxes; k++) {
        elements += (uint64_t)ti_box_volume(&i->as.transfer.box[k].box);
    }
    return elements * i->as.transfer.elem_size;
}

/* What this node gives and gets. */
static uint64_t collective_bytes(const ti_instruction *i)
{
    return (uint64_t)(ti_boxes_volume(i->as.collective.give, i->as.collective.gives) +
                      ti_boxes_volume(i->as.collective.get, i->as.collective.gets)) *
           i->as.collective.elem_size;
}

static uint32_t buffer_of(const ti_buffer_info *buffer)
{
    return buffer ? (uint32_t)buffer->serial + 1 : 0;
}

static void fill_transfer(const ti_instruction *i, ti_trace_record *r)
{
    r->kind = i->kind == TI_INSTRUCTION_SEND ? TI_TRACE_SEND : TI_TRACE_RECEIVE;
    r->value = transfer_bytes(i);
    r->number = (uint32_t)i->as.transfer.counter;
    r->where = (uint32_t)i->as.transfer.peer;
    r->name = buffer_of(i->as.transfer.buffer);
}

void ti_trace_describe(const ti_instruction *i, ti_trace_record *r)
{
    switch (i->kind) {
    case TI_INSTRUCTION_ALLOC:
    case TI_INSTRUCTION_FREE:
        r->kind = i->kind == TI_INSTRUCTION_ALLOC ? TI_TRACE_ALLOC : TI_TRACE_FREE;
        r->value = i->as.memory.bytes;
        r->name = buffer_of(i->as.memory.buffer);
        break;
    case TI_INSTRUCTION_COPY:
        r->kind = TI_TRACE_COPY;
        r->value = (uint64_t)ti_box_volume(&i->as.copy.box) * i->as.copy.elem_size;
        break;
    case TI_INSTRUCTION_KERNEL:
        r->kind = TI_TRACE_KERNEL;
        break;
    case TI_INSTRUCTION_HOST:
        r->kind = TI_TRACE_HOST;
        break;
    case TI_INSTRUCTION_COLLECTIVE_HOST:
        r->kind = TI_TRACE_COLLECTIVE_HOST;
        break;
    case TI_INSTRUCTION_SEND:
    case TI_INSTRUCTION_RECEIVE:
        fill_transfer(i, r);
        break;
    case TI_INSTRUCTION_COLLECTIVE:
        r->kind = TI_TRACE_COLLECTIVE;
        r->value = collective_bytes(i);
        r->number = (uint32_t)i->as.collective.sequence;
        r->where = (uint32_t)i->as.collective.what->pattern;
        r->name = buffer_of(i->as.collective.buffer);
        break;
    case TI_INSTRUCTION_REDUCE:
        r->kind = TI_TRACE_REDUCE;
        r->value = i->as.reduce.elements * i->as.reduce.buffer->elem_size;
        r->name = buffer_of(i->as.reduce.buffer);
        break;
    case TI_INSTRUCTION_FENCE:
        r->kind = TI_TRACE_FENCE;
        break;
    case TI_INSTRUCTION_EPOCH:
        r->kind = i->as.epoch.is_horizon ? TI_TRACE_HORIZON : TI_TRACE_EPOCH;
        break;
    }
}

static bool is_kernel(const ti_instruction *i)
{
    return i->kind >= TI_INSTRUCTION_KERNEL && i->kind <= TI_INSTRUCTION_COLLECTIVE_HOST;
}

static ti_trace_record make(const ti_engine *engine, uint64_t id, uint64_t end)
{
    const ti_instruction *i = ti_engine_slot_of(engine, id)->instruction;
    const ti_engine_time *time = ti_engine_time_of(engine, id);
    ti_trace_record r = {
        .start = time->start, .end = end, .task = (uint32_t)i->task->id, .id = (uint32_t)id, .by = (uint32_t)time->by
    };
    ti_trace_describe(i, &r);
    r.value = is_kernel(i) ? time->ready : r.value;
    return r;
}

/* Who takes part in a collective, and how much of its bytes this node gets. */
static void add_members(ti_trace_ring *ring, const ti_instruction *i, const ti_trace_record *collective, int node)
{
    const ti_collective *what = i->as.collective.what;
    ti_trace_record r = *collective;
    r.kind = TI_TRACE_MEMBERS;
    r.value = (uint64_t)ti_boxes_volume(i->as.collective.get, i->as.collective.gets) * i->as.collective.elem_size;
    r.by = (uint32_t)ti_collective_member(what, node, 0);
    r.name = (uint32_t)ti_collective_members(what, node);
    r.where = what->members ? (uint32_t)what->stride : 1;
    ti_trace_add(ring, &r);
}

void ti_trace_instruction(ti_trace_ring *ring, ti_engine *engine, int node, uint64_t id, uint64_t now)
{
    const ti_instruction *i = ti_engine_slot_of(engine, id)->instruction;
    ti_trace_record r = make(engine, id, now);
    engine->now = now;
    ti_trace_add(ring, &r);
    if (i->kind == TI_INSTRUCTION_COLLECTIVE) {
        add_members(ring, i, &r, node);
    }
}

void ti_trace_relayed(ti_trace_ring *ring, const ti_relayed *what)
{
    ti_trace_add(ring, &(ti_trace_record){ .start = what->start,
                                           .end = what->end,
                                           .value = what->bytes,
                                           .by = (uint32_t)what->origin,
                                           .number = (uint32_t)what->counter,
                                           .kind = TI_TRACE_RELAY,
                                           .where = (uint32_t)what->to });
}

static uint64_t clock_of(void *user)
{
    (void)user;
    return ti_clock_ns();
}

static void note_relayed(void *user, const ti_relayed *what)
{
    ti_trace_relayed(user, what);
}

void ti_trace_open(ti_trace_ring *ring, ti_engine *engine, ti_comm *comm)
{
    ti_engine_keep_times(engine);
    comm->tap = (ti_relay_tap){ ring, clock_of, note_relayed };
}

static void note_lane(void *user, int device, const ti_lane_use *use)
{
    ti_trace_add(user, &(ti_trace_record){ .start = use->start,
                                           .end = use->end,
                                           .id = (uint32_t)use->token,
                                           .number = (uint32_t)use->lane,
                                           .kind = use->is_kernel ? TI_TRACE_LANE_KERNEL : TI_TRACE_LANE_COPY,
                                           .where = (uint32_t)device });
}

void ti_trace_watch(ti_trace_ring *ring, ti_device *const *device, int count)
{
    for (int d = 0; d < count; d++) {
        device[d]->tap = (ti_lane_tap){ .user = ring, .device = d, .now = clock_of, .used = note_lane };
    }
}

void ti_trace_unfinished(ti_trace_ring *ring, const ti_engine *engine)
{
    uint64_t now = ti_clock_ns();
    for (uint64_t id = engine->watermark; id < engine->next; id++) {
        const ti_engine_slot *slot = ti_engine_slot_of(engine, id);
        if (slot->issued && !slot->complete && ti_engine_time_of(engine, id)->start) {
            ti_trace_record r = make(engine, id, now);
            r.kind |= TI_TRACE_UNFINISHED;
            ti_trace_add(ring, &r);
        }
    }
}
