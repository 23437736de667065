/* What it takes to carry out an instruction on a simulated node. */
#include "sim/impl.h"

#include "base/check.h"

static double bytes_of_boxes(const ti_instruction *i)
{
    double bytes = 0;
    for (uint32_t k = 0; k < i->as.transfer.boxes; k++) {
        bytes += (double)ti_box_volume(&i->as.transfer.box[k].box) * (double)i->as.transfer.elem_size;
    }
    return bytes;
}

/* A message is known by its origin and its number among those from there. */
static uint64_t key_of(int origin, uint64_t counter)
{
    return (uint64_t)origin << 40 | counter;
}

static double combine_ns(const ti_cluster *c, const ti_combination *what)
{
    uint32_t slots = what->pair ? what->pairs : what->slots;
    size_t elem = what->buffer ? what->buffer->elem_size : 8;
    return (double)slots * (double)what->elements * (double)elem * c->platform.combine_byte;
}

/* The thread that starts instructions does this itself. */
static void by_executor(ti_cluster *c, node *n, const ti_instruction *i, double ns)
{
    double end = ti_sim_use(c, &n->executor, ns);
    ti_sim_later(c, end, n->system.node, EVENT_DONE, i->id, TI_PATH_COPIES);
}

static void copy(ti_cluster *c, node *n, const ti_instruction *i)
{
    double bytes = (double)ti_box_volume(&i->as.copy.box) * (double)i->as.copy.elem_size;
    double ns = c->platform.copy + bytes * c->platform.copy_byte;
    if (n->system.memories > 1) { /* each device copies by itself */
        double end = ti_sim_use(c, &n->device[i->device].copies, ns);
        ti_sim_later(c, end, n->system.node, EVENT_DONE, i->id, TI_PATH_COPIES);
    } else {
        by_executor(c, n, i, ns);
    }
}

static double kernel_ns(ti_cluster *c, const ti_instruction *i)
{
    double item = ti_platform_item(&c->platform, i->task->shape->name, i->task->shape->cost);
    return c->platform.start + (double)ti_box_volume(&i->as.kernel.chunk) * item;
}

static void start(ti_cluster *c, node *n, const ti_instruction *i)
{
    int me = n->system.node;
    switch (i->kind) {
    case TI_INSTRUCTION_ALLOC:
    case TI_INSTRUCTION_FREE:
    case TI_INSTRUCTION_FENCE:
        ti_sim_complete(c, n, i->id);
        break;
    case TI_INSTRUCTION_EPOCH:
        if (i->as.epoch.barrier) {
            ti_sim_barrier(c, n, i);
        } else {
            ti_sim_complete(c, n, i->id);
        }
        break;
    case TI_INSTRUCTION_COPY:
        copy(c, n, i);
        break;
    case TI_INSTRUCTION_REDUCE:
        by_executor(c, n, i, combine_ns(c, &i->as.reduce));
        break;
    case TI_INSTRUCTION_SEND:
        ti_sim_send(c, me, i->as.transfer.peer, key_of(me, i->as.transfer.counter), bytes_of_boxes(i), i->id);
        break;
    case TI_INSTRUCTION_RECEIVE:
        n->waiting++;
        ti_sim_receive(c, me, key_of(i->as.transfer.peer, i->as.transfer.counter), i->id, false);
        break;
    case TI_INSTRUCTION_COLLECTIVE:
        if (i->as.collective.first) {
            ti_sim_use(c, &n->executor, combine_ns(c, i->as.collective.first));
        }
        ti_sim_collective(c, n, i);
        break;
    case TI_INSTRUCTION_COLLECTIVE_HOST: /* on a thread of its own */
        ti_sim_later(c, c->now + kernel_ns(c, i), me, EVENT_DONE, i->id,
                     ti_paths_slot(&c->paths, i->task->shape->name));
        break;
    case TI_INSTRUCTION_KERNEL:
    case TI_INSTRUCTION_HOST:
        TI_UNREACHABLE(); /* by the devices */
    }
}

/* ---- kernels */

/* Into how many parts the workers cut it. */
static int parts_of(const node *n, const ti_instruction *i)
{
    const ti_shape *s = i->task->shape;
    int64_t items = ti_box_volume(&i->as.kernel.chunk);
    if (i->kind == TI_INSTRUCTION_HOST || s->whole_chunk || s->one_device || items <= 1) {
        return 1;
    }
    int64_t most = i->as.kernel.runs ? (int64_t)i->as.kernel.runs : items;
    return (int)TI_MIN(most, (int64_t)n->system.workers);
}

static int take_running(node *n)
{
    for (size_t k = 0; k < n->running.count; k++) {
        if (!n->running.data[k].instruction) {
            return (int)k;
        }
    }
    ti_vec_push(&n->running, (running){ 0 });
    return (int)n->running.count - 1;
}

static bool take_kernel(ti_cluster *c, node *n, int d)
{
    const ti_engine_slot *slot = ti_engine_next_kernel(&n->engine, d);
    if (!slot) {
        return false;
    }
    const ti_instruction *i = slot->instruction;
    int parts = parts_of(n, i), index = take_running(n);
    double compute = kernel_ns(c, i) - c->platform.start;
    n->running.data[index] = (running){ .instruction = i->id,
                                        .to_start = parts,
                                        .to_end = parts,
                                        .part_ns = c->platform.start + compute / parts,
                                        .slot = ti_paths_slot(&c->paths, i->task->shape->name) };
    n->device[d].current = index;
    ti_sim_note_start(c, n, i);
    return true;
}

static void pump_device(ti_cluster *c, node *n, int d)
{
    device *dev = &n->device[d];
    while (dev->idle > 0 && (dev->current >= 0 || take_kernel(c, n, d))) {
        running *r = &n->running.data[dev->current];
        dev->idle--;
        n->busy++;
        uint64_t worker = (uint64_t)ti_sim_note_part(c, n, d);
        ti_sim_later(c, c->now + r->part_ns, n->system.node, EVENT_PART,
                     worker << TI_WORKER_SHIFT | (uint64_t)dev->current, r->slot);
        if (--r->to_start == 0) {
            dev->current = -1;
        }
    }
}

void ti_sim_pump(ti_cluster *c, node *n)
{
    n->may_start = false;
    for (const ti_engine_slot *slot; (slot = ti_engine_next(&n->engine));) {
        ti_sim_note_start(c, n, slot->instruction);
        start(c, n, slot->instruction);
    }
    for (int d = 0; d < n->system.devices; d++) {
        pump_device(c, n, d);
    }
}
