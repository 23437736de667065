/* How ready instructions start on a simulated node, in which order, and how long they take: see impl.h. Their ends are
 * in complete.c. */
#include "sim/network.h"

#include "base/check.h"
#include "sim/behind.h"

static double combine_ns(const ti_cluster *c, const ti_combination *what)
{
    uint32_t slots = what->pair ? what->pairs : what->slots;
    size_t elem = what->buffer ? what->buffer->elem_size : 8;
    return (double)slots * (double)what->elements * (double)elem * c->platform.combine_byte;
}

/* The thread that starts instructions does this itself. */
static void by_executor(ti_cluster *c, node *n, const ti_instruction *i, double ns)
{
    double end = ti_sim_use_executor(c, n, ns);
    ti_sim_later(c, end, n->system.node, EVENT_DONE, i->id, TI_PATH_COPIES);
}

/* ---- copies, and where memory is */

static void note_memory(node *n, const ti_instruction *i)
{
    if (n->system.accelerators == 0) {
        return;
    }
    if (i->kind == TI_INSTRUCTION_FREE || i->as.memory.grown) {
        ti_map_remove(&n->memory, i->kind == TI_INSTRUCTION_FREE ? i->as.memory.allocation : i->as.memory.grown, NULL);
    }
    if (i->kind == TI_INSTRUCTION_ALLOC) {
        *ti_map_at(&n->memory, i->as.memory.allocation) = (uint64_t)i->device + 1;
    }
}

/* What has no allocation is the program's, in the host's memory; host devices have theirs there, too. */
static bool is_of_host(const node *n, const ti_place *place)
{
    const uint64_t *at = place->allocation ? ti_map_find(&n->memory, place->allocation) : NULL;
    return !at || !ti_sim_is_accelerator(n, (int)*at - 1);
}

/* ---- copies between memories */

/* An accelerator has a lane for each way. */
static void copy_by_lane(ti_cluster *c, node *n, const ti_instruction *i, double bytes)
{
    const ti_platform *p = &c->platform;
    const double byte[COPY_WAYS] = { p->to_device, p->from_device, p->among_devices };
    copy_way way = is_of_host(n, &i->as.copy.from) ? TO_DEVICE
                   : is_of_host(n, &i->as.copy.to) ? FROM_DEVICE
                                                   : AMONG_DEVICES;
    double *lane = &n->device[i->device].copies[way], begin = TI_MAX(*lane, c->now);
    const double at = ti_sim_given_at(c, n, i->id);
    double started = at < c->now ? TI_MAX(begin, at + p->device_copy) : begin + p->device_copy;
    double end = ti_sim_use(c, lane, started - begin + bytes * byte[way]);
    ti_sim_note_copy(n, i, way, begin, end);
    ti_sim_later(c, end, n->system.node, EVENT_DONE, i->id, TI_PATH_COPIES);
}

static void copy(ti_cluster *c, node *n, const ti_instruction *i)
{
    double bytes = (double)ti_box_volume(&i->as.copy.box) * (double)i->as.copy.elem_size;
    double ns = c->platform.copy + bytes * c->platform.copy_byte;
    if (ti_sim_is_accelerator(n, i->device)) {
        copy_by_lane(c, n, i, bytes);
    } else if (n->system.memories > 1) { /* each device copies by itself */
        double end = ti_sim_use(c, n->device[i->device].copies, ns);
        ti_sim_later(c, end, n->system.node, EVENT_DONE, i->id, TI_PATH_COPIES);
    } else {
        by_executor(c, n, i, ns);
    }
}

/* On one worker, or on all of an accelerator. */
static double kernel_ns(const ti_cluster *c, const node *n, const ti_instruction *i)
{
    double items = (double)ti_box_volume(&i->as.kernel.chunk);
    if (ti_sim_is_accelerator(n, i->device)) {
        const ti_shape *s = i->task->shape;
        return c->platform.launch + items * ti_platform_device_item(&c->platform, s->name, s->cost);
    }
    double item = ti_platform_item(&c->platform, i->task->shape->name, i->task->shape->cost);
    return c->platform.start + items * item;
}

static void note_start(const ti_cluster *c, node *n, const ti_instruction *i)
{
    ti_sim_note_start(c, n, i);
    ti_sim_replay_started(c, n, i);
}

static void start(ti_cluster *c, node *n, const ti_instruction *i)
{
    int me = n->system.node;
    if (c->replay && ti_sim_replay_start(c, n, i)) {
        return;
    }
    switch (i->kind) {
    case TI_INSTRUCTION_ALLOC:
    case TI_INSTRUCTION_FREE:
        note_memory(n, i);
        ti_sim_complete(c, n, i->id);
        break;
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
        ti_sim_start_send(c, n, i);
        break;
    case TI_INSTRUCTION_RECEIVE:
        ti_sim_start_receive(c, n, i);
        break;
    case TI_INSTRUCTION_COLLECTIVE:
        if (i->as.collective.first) {
            ti_sim_use_executor(c, n, combine_ns(c, i->as.collective.first));
        }
        ti_sim_collective(c, n, i);
        break;
    case TI_INSTRUCTION_COLLECTIVE_HOST: /* on a thread of its own */
        ti_sim_later(c, c->now + kernel_ns(c, n, i), me, EVENT_DONE, i->id,
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
    if (i->kind == TI_INSTRUCTION_HOST || s->whole_chunk || items <= 1 || ti_sim_is_accelerator(n, i->device)) {
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

/* Its parts are started next. */
static void begin_kernel(ti_cluster *c, node *n, const ti_instruction *i)
{
    int parts = c->replay ? ti_sim_replay_parts(c, n, i) : parts_of(n, i), index = take_running(n);
    double start = ti_sim_is_accelerator(n, i->device) ? c->platform.launch : c->platform.start;
    double compute = kernel_ns(c, n, i) - start;
    n->running.data[index] = (running){ .instruction = i->id,
                                        .parts = parts,
                                        .to_start = parts,
                                        .to_end = parts,
                                        .part_ns = start + compute / parts,
                                        .slot = ti_paths_slot(&c->paths, i->task->shape->name) };
    n->device[i->device].current = index;
    n->has_run = true;
    note_start(c, n, i);
}

/* When a part ends that begins now. */
static double part_end(const ti_cluster *c, node *n, int d, const running *r)
{
    device *dev = &n->device[d];
    const bool is_accelerator = ti_sim_is_accelerator(n, d);
    if (!c->replay && is_accelerator) { /* launches of several lanes overlap, what they compute does not */
        double launched = ti_sim_given_at(c, n, r->instruction) + c->platform.launch;
        double begin = TI_MAX(dev->computes, TI_MAX(c->now, launched));
        dev->computes = begin + r->part_ns - c->platform.launch;
        return dev->computes;
    }
    if (!c->replay) {
        return c->now + r->part_ns;
    }
    double ns = ti_sim_replay_part(c, n, r->instruction, r->parts - r->to_start);
    return ti_sim_replay_is_alone(c, n) && !is_accelerator ? ti_sim_use(c, &n->executor, ns) : c->now + ns;
}

static void start_parts(ti_cluster *c, node *n, device *dev, int d)
{
    while (dev->idle > 0 && dev->current >= 0) {
        running *r = &n->running.data[dev->current];
        dev->idle--;
        n->busy += !ti_sim_is_accelerator(n, d);
        double end = part_end(c, n, d, r);
        if (!ti_sim_is_accelerator(n, d)) {
            ti_sim_keep_thread(c, n, end);
        }
        uint64_t worker = (uint64_t)ti_sim_note_part(c, n, d);
        ti_sim_later(c, end, n->system.node, EVENT_PART, worker << TI_WORKER_SHIFT | (uint64_t)dev->current, r->slot);
        if (--r->to_start == 0) {
            dev->current = -1;
        }
    }
}

static void pump_device(ti_cluster *c, node *n, int d)
{
    device *dev = &n->device[d];
    start_parts(c, n, dev, d);
    while (dev->idle > 0) {
        const ti_instruction *i = ti_sim_next_begun(n, &dev->begun);
        const ti_engine_slot *slot = i ? NULL : ti_engine_next_kernel(&n->engine, d);
        if (!i && !slot) {
            return;
        }
        begin_kernel(c, n, i ? i : slot->instruction);
        start_parts(c, n, dev, d);
    }
}

/* What comes next in recorded order waits for its dependencies, kernels also for a worker; what comes later waits for
 * it. */
static void pump_in_order(ti_cluster *c, node *n)
{
    for (int d = 0; d < n->system.devices; d++) {
        start_parts(c, n, &n->device[d], d);
    }
    for (;;) {
        uint64_t over = ti_sim_replay_due(c, n);
        const ti_instruction *i = over ? NULL : ti_sim_replay_next(c, n);
        device *dev = i ? &n->device[i->device] : NULL;
        if (over) {
            ti_sim_complete(c, n, over);
        } else if (!i) {
            return;
        } else if (i->kind != TI_INSTRUCTION_KERNEL && i->kind != TI_INSTRUCTION_HOST) {
            note_start(c, n, i);
            start(c, n, i);
        } else if (dev->idle > 0) {
            begin_kernel(c, n, i);
            start_parts(c, n, dev, i->device);
        } else {
            return;
        }
    }
}

/* Inline, kernels wait until the thread is through with the rest. */
static bool is_busy(ti_cluster *c, node *n)
{
    if (c->progress != TI_PROGRESS_INLINE || n->executor <= c->now) {
        return false;
    }
    if (n->starts != n->executor) {
        n->starts = n->executor;
        ti_sim_later(c, n->starts, n->system.node, EVENT_PLANNED, 0, c->chain.slot);
    }
    return true;
}

void ti_sim_pump(ti_cluster *c, node *n)
{
    const bool in_order = ti_sim_replay_has_order(c);
    if (ti_sim_is_away(c, n)) {
        return;
    }
    n->may_start = false;
    if (in_order) {
        pump_in_order(c, n);
    }
    for (const ti_engine_slot *slot; !in_order && (slot = ti_engine_next(&n->engine));) {
        note_start(c, n, slot->instruction);
        start(c, n, slot->instruction);
    }
    for (const ti_instruction *i; (i = ti_sim_next_begun(n, &n->behind.copies));) {
        note_start(c, n, i);
        start(c, n, i);
    }
    if (n->outbox.send.count > 0) {
        ti_sim_empty_outbox(c, n);
    }
    for (int d = 0; d < n->system.devices && !in_order && !is_busy(c, n); d++) {
        pump_device(c, n, d);
    }
    if (n->system.accelerators && !c->replay) {
        ti_sim_give_behind(c, n);
    }
}
