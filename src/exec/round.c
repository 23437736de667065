/* Rounds that are carried out in order: see round.h. */
#include "exec/round.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "device/parts.h"
#include "exec/combine.h"
#include "exec/combine_job.h"
#include "exec/impl.h"
#include "ir/signal.h"

#include <string.h>

/* Larger results are combined by all workers; larger copies are made by them. Longer messages are worth it that
 * something else is done meanwhile. */
enum { MAX_COMBINED = 4096, MAX_COPIED = 64 * 1024, MAX_SENT = 16 * 1024 };

/* That it sends or receives. */
static size_t bytes_of(const ti_instruction *i)
{
    size_t bytes = 0;
    if (i->kind == TI_INSTRUCTION_COLLECTIVE) {
        return i->as.collective.elem_size * (size_t)(ti_boxes_volume(i->as.collective.give, i->as.collective.gives) +
                                                     ti_boxes_volume(i->as.collective.get, i->as.collective.gets));
    }
    for (uint32_t k = 0; k < i->as.transfer.boxes; k++) {
        bytes += (size_t)ti_box_volume(&i->as.transfer.box[k].box) * i->as.transfer.elem_size;
    }
    return bytes;
}

bool ti_round_can(const ti_instruction *i)
{
    switch (i->kind) {
    case TI_INSTRUCTION_KERNEL:
        return i->device == 0 && !i->as.kernel.samples && !i->as.kernel.runs;
    case TI_INSTRUCTION_REDUCE:
        return i->device == 0 && ti_combine_bytes(i) <= MAX_COMBINED;
    case TI_INSTRUCTION_COPY:
        return i->device == 0 && !i->as.copy.to.allocation && i->as.copy.from.allocation &&
               (size_t)ti_box_volume(&i->as.copy.box) * i->as.copy.elem_size <= MAX_COPIED;
    case TI_INSTRUCTION_FENCE:
        return true;
    case TI_INSTRUCTION_EPOCH:
        return !i->as.epoch.barrier;
    case TI_INSTRUCTION_SEND:
    case TI_INSTRUCTION_RECEIVE:
        return !i->as.transfer.version && !i->as.transfer.planned && bytes_of(i) <= MAX_SENT;
    case TI_INSTRUCTION_COLLECTIVE:
        return i->device == 0 && bytes_of(i) <= MAX_SENT &&
               (!i->as.collective.first || (!i->as.collective.first->pairs && !i->as.collective.first->is_identity));
    case TI_INSTRUCTION_ALLOC:
    case TI_INSTRUCTION_FREE:
    case TI_INSTRUCTION_HOST:
    case TI_INSTRUCTION_COLLECTIVE_HOST:
        return false;
    }
    TI_UNREACHABLE();
}

/* ---- what is prepared */

/* Whether a kernel may be carried out so: it is known to be short. One that cannot be cut for all workers is shorter
 * still, or `has_long`, since others could run beside it. */
static bool choose(ti_executor *ex, ti_round_ops *ops, ti_round_op *op, bool always, bool *has_long)
{
    enum { SHORT_NS = 50 * 1000, WHOLE_NS = 600, WORTH_NS = 400, LONGER = 8 };
    ti_device *device = ex->is.device[0];
    const ti_device_kernel *k = &op->job->kernel;
    const bool may_cut = device->workers > 1 && ti_parts_most(k, device->workers) == device->workers;
    const uint64_t ns = device->workers > 1 ? ti_device_host_ns(device, k) : 1;
    ops->long_ns += device->workers > 1 ? TI_MIN(LONGER * ns, (uint64_t)(2 * SHORT_NS)) : 0;
    const uint64_t name = ti_hash_mix((uint64_t)(uintptr_t)k->host, ti_parts_items(k, &k->launch.chunk));
    op->choice = ti_round_choices_add(&ex->choices, name, may_cut && (ns == 0 || ns >= WORTH_NS), may_cut);
    const bool is_cut = ti_round_choices_cuts(&ex->choices, op->choice);
    op->ns = ns;
    op->pieces = is_cut ? device->workers : 1;
    op->may_move = !is_cut && !k->run && k->host;
    *has_long |= !may_cut && ns >= WHOLE_NS && !always;
    return k->host && (always || (ns > 0 && ns < SHORT_NS));
}

/* Which worker runs what, if any but the caller should. Long kernels that cannot be cut need others beside them, nearly
 * as much as there may be, since the engine would find that, too, but for what it takes for each. */
static bool spread(ti_executor *ex, ti_round_ops *ops, const ti_instruction *instruction, bool always, bool has_long)
{
    enum { ENGINE_NS = 300 };
    const int workers = ex->is.device[0]->workers;
    uint64_t name = 0;
    ops->spreads = SIZE_MAX;
    ti_spread_clear(&ops->spread);
    for (size_t k = 0; k < ops->op.count; k++) {
        const ti_round_op *op = &ops->op.data[k];
        ti_spread_add(&ops->spread, instruction, ops->op.count, op->ns, op->pieces, op->may_move);
        name = op->job ? ti_hash_mix(name, ex->choices.choice.data[op->choice].kernel) : name;
    }
    const ti_spread *s = &ops->spread;
    if (workers < 2 || !ti_spread_find(&ops->spread, workers, ops->self)) {
        return !has_long;
    }
    if (always || s->spread < s->alone) {
        const bool is_much = s->spread < s->alone - s->alone / 4;
        ops->spreads = ti_round_choices_add(&ex->choices, name, always || is_much || has_long, true);
    }
    return !has_long || (s->spread < s->alone && s->spread < s->ideal + s->ideal / 4 + ops->op.count * ENGINE_NS);
}

/* Twice, since the kernel may be under way still when it comes again. */
static size_t room_for_args(ti_round_ops *ops, size_t bytes)
{
    const size_t first = ops->args.count;
    for (size_t i = 0; i < 2 * TI_ALIGN_UP(bytes, sizeof(ti_round_bytes)) / sizeof(ti_round_bytes); i++) {
        ti_vec_push(&ops->args, (ti_round_bytes){ "" });
    }
    return first;
}

static void prepare_collective(ti_executor *ex, ti_round_ops *ops, ti_round_op *op)
{
    const ti_instruction *i = op->instruction;
    ti_kept_reduction kept;
    if (i->as.collective.first) {
        ti_combine_find_slots(&ex->table, i->as.collective.first, &op->slots, &op->to);
    }
    if (ti_collective_keep(&ex->collectives, i, &kept)) {
        ti_vec_push(&ops->kept, kept);
        op->block = ops->kept.count;
    }
}

static bool prepare(ti_executor *ex, ti_round_ops *ops, ti_round_op *op, bool always, bool *has_long)
{
    const ti_instruction *i = op->instruction;
    if (i->kind == TI_INSTRUCTION_KERNEL) {
        op->job = ti_kernel_job(&ex->jobs, &ex->table, &ex->kernels, i);
        op->bytes = i->task->shape->args_size;
        op->args = room_for_args(ops, op->bytes);
        op->part[0].worker = op->part[1].worker = TI_HOST_NOBODY;
        return choose(ex, ops, op, always, has_long);
    }
    if (i->kind == TI_INSTRUCTION_REDUCE) {
        ti_combine_find_slots(&ex->table, &i->as.reduce, &op->slots, &op->to);
    }
    if (i->kind == TI_INSTRUCTION_SEND || i->kind == TI_INSTRUCTION_RECEIVE) {
        op->block = ops->block.count;
        for (uint32_t k = 0; k < i->as.transfer.boxes; k++) {
            const ti_instruction_box *b = &i->as.transfer.box[k];
            char *base = ti_allocation_table_base(&ex->table, &b->place);
            ti_vec_push(&ops->block, ti_layout_block(base, &b->place.whole, &b->box, i->as.transfer.elem_size));
        }
        op->bytes = bytes_of(i);
    }
    if (i->kind == TI_INSTRUCTION_COLLECTIVE) {
        prepare_collective(ex, ops, op);
    }
    if (i->kind == TI_INSTRUCTION_COPY) {
        char *from = ti_allocation_table_base(&ex->table, &i->as.copy.from);
        op->from = ti_layout_block(from, &i->as.copy.from.whole, &i->as.copy.box, i->as.copy.elem_size);
    }
    return true;
}

static void drop(ti_executor *ex, ti_round_ops *ops)
{
    for (size_t k = 0; k < ops->op.count; k++) {
        if (ops->op.data[k].job) {
            ti_jobs_return(&ex->jobs, ops->op.data[k].job);
        }
    }
    ti_vec_clear(&ops->op);
    ti_vec_clear(&ops->args);
    ti_vec_clear(&ops->block);
    ti_vec_clear(&ops->kept);
}

void ti_round_ops_fini(ti_round_ops *ops)
{
    ti_vec_fini(&ops->op);
    ti_vec_fini(&ops->args);
    ti_vec_fini(&ops->block);
    ti_vec_fini(&ops->kept);
    ti_vec_fini(&ops->open);
    ti_spread_fini(&ops->spread);
}

bool ti_executor_begin_round(ti_executor *ex, ti_round_ops *ops, ti_instruction *instruction, size_t count, int self,
                             bool always)
{
    const ti_executor_desc *is = &ex->is;
    bool can = ti_engine_incomplete(&ex->engine) == 0 && ex->is.comm->pending == 0 && !ex->is.comm->listens &&
               !ex->tap && !is->trace && !is->dry && !is->bounds && !is->busy && !is->purity;
    TI_ASSERT(ops->op.count == 0 && ops->args.count == 0 && ops->open.count == 0);
    bool has_long = false;
    ops->self = self;
    ops->long_ns = 0;
    ti_round_choices_clear(&ex->choices);
    for (size_t k = 0; k < count && can; k++) {
        ti_vec_push(&ops->op, ((ti_round_op){ .instruction = &instruction[k], .kind = instruction[k].kind }));
        can = prepare(ex, ops, &ops->op.data[k], always, &has_long);
    }
    if (can && spread(ex, ops, instruction, always, has_long)) {
        ops->fork = ti_device_host_fork(ex->is.device[0]);
        ti_host_fork_begin(ops->fork, self, ops->spread.idle);
        ti_round_choices_begin(&ex->choices);
        ex->running++;
        return true;
    }
    drop(ex, ops);
    return false;
}

/* ---- messages */

void ti_round_number(ti_round_ops *ops, size_t at, uint64_t number, uint64_t stride)
{
    ops->op.data[at].number = number;
    ops->op.data[at].stride = stride;
}

static void note_message(const ti_executor *ex)
{
    atomic_fetch_add_explicit(&ex->is.progress->round_messages, 1, memory_order_relaxed);
}

/* One that comes again may be complete at once. It is noted when it has been started: who polls holds the same role. */
static void start_collective(ti_executor *ex, ti_round_ops *ops, ti_round_op *op, uint64_t token)
{
    ti_instruction *i = op->instruction;
    const ti_combination *first = i->as.collective.first;
    if (first) {
        ti_combine_slots(first, op->slots, op->to, 0, first->elements);
    }
    ti_kept_end end = TI_KEPT_NOTHING;
    if (op->block) {
        end = ti_collective_issue_kept(&ex->collectives, &ops->kept.data[op->block - 1], op->number, token);
    }
    if (end == TI_KEPT_NOTHING) {
        i->id = token;
        i->as.collective.sequence = op->number;
        ti_collective_issue_ready(&ex->collectives, i);
    }
    if (end != TI_KEPT_DONE) {
        note_message(ex);
    }
    if (end == TI_KEPT_NOTHING) {
        (void)ti_executor_poll_network(ex);
    }
}

static ti_payload payload_of(const ti_round_ops *ops, const ti_round_op *op)
{
    return (ti_payload){ &ops->block.data[op->block], op->instruction->as.transfer.boxes, op->bytes };
}

static void send(ti_executor *ex, ti_round_ops *ops, const ti_round_op *op, uint64_t token)
{
    ti_comm *comm = ex->is.comm;
    const int peer = op->instruction->as.transfer.peer;
    const ti_payload payload = payload_of(ops, op);
    if (!comm->ops->send_at_once || !comm->ops->send_at_once(comm, peer, op->number, &payload)) {
        note_message(ex);
        comm->ops->send(comm, peer, op->number, &payload, token);
        (void)ti_executor_poll_network(ex);
    }
}

static bool receive_at_once(ti_executor *ex, const ti_round_ops *ops, const ti_round_op *op, uint64_t number, int looks)
{
    ti_comm *comm = ex->is.comm;
    const ti_payload payload = payload_of(ops, op);
    return comm->ops->receive_at_once &&
           comm->ops->receive_at_once(comm, op->instruction->as.transfer.peer, number, &payload, looks);
}

/* What has not come yet is awaited for a moment, before it is received as all else is: see look_for_messages. */
static void receive(ti_executor *ex, ti_round_ops *ops, const ti_round_op *op)
{
    if (!receive_at_once(ex, ops, op, op->number, 0)) {
        note_message(ex);
        ti_vec_push(&ops->open, ((ti_round_open){ (size_t)(op - ops->op.data), op->number }));
    }
}

void ti_executor_round_talk(ti_executor *ex, ti_round_ops *ops, size_t at)
{
    ti_round_op *op = &ops->op.data[at];
    const uint64_t token = TI_ROUND_TOKEN | at;
    if (op->kind == TI_INSTRUCTION_COLLECTIVE) {
        start_collective(ex, ops, op, token);
    } else if (op->kind == TI_INSTRUCTION_SEND) {
        send(ex, ops, op, token);
    } else {
        receive(ex, ops, op);
    }
    op->number += op->stride;
}

static void note_end(const ti_executor *ex)
{
    atomic_fetch_sub_explicit(&ex->is.progress->round_messages, 1, memory_order_relaxed);
}

static void start_receives(ti_executor *ex, ti_round_ops *ops, size_t first)
{
    ti_comm *comm = ex->is.comm;
    for (size_t k = first; k < ops->open.count; k++) {
        const ti_round_open *o = &ops->open.data[k];
        const ti_round_op *op = &ops->op.data[o->at];
        const ti_payload payload = payload_of(ops, op);
        comm->ops->receive(comm, op->instruction->as.transfer.peer, o->number, &payload, TI_ROUND_TOKEN | o->at);
    }
    ti_vec_clear(&ops->open);
}

/* What others send in a moment is received at once, where they need not wait for this core. Of a reduction: until there
 * is a poll, which then sees to it. */
static void look_for_messages(ti_executor *ex, ti_round_ops *ops)
{
    enum { LOOKS = 16 };
    ti_comm *comm = ex->is.comm;
    const int looks = ex->is.progress->lot.spins > TI_SPINS_CROWDED ? LOOKS : 0;
    size_t k = 0;
    if (comm->ops->collective_look && comm->ops->collective_look(comm, looks)) {
        note_end(ex);
    }
    for (; k < ops->open.count; k++) {
        const ti_round_open *o = &ops->open.data[k];
        if (!receive_at_once(ex, ops, &ops->op.data[o->at], o->number, looks)) {
            break;
        }
        note_end(ex);
    }
    start_receives(ex, ops, k);
}

bool ti_executor_round_poll(ti_executor *ex, ti_round_ops *ops, int looks)
{
    const _Atomic uint64_t *left = &ex->is.progress->round_messages;
    if (atomic_load_explicit(left, memory_order_relaxed) > 0) {
        look_for_messages(ex, ops);
    }
    while (atomic_load_explicit(left, memory_order_relaxed) > 0 && looks-- > 0) {
        if (!ti_executor_poll_network(ex)) {
            ti_cpu_relax();
        }
    }
    return atomic_load_explicit(left, memory_order_relaxed) == 0;
}

void ti_executor_round_leave(ti_executor *ex, ti_round_ops *ops)
{
    start_receives(ex, ops, 0);
    ti_executor_note_waits(ex);
}

/* ---- what is carried out */

/* To one worker, when all that it needs has ended. */
static ti_host_wait hand(ti_host_fork *fork, ti_round_ops *ops, const ti_spread_step *s, const ti_round_op *op,
                         const void *args)
{
    if (s->names_point) {
        ti_host_fork_need_point(fork, s->worker);
    }
    for (uint32_t n = s->need; n < s->need + s->needs; n++) {
        const ti_round_op *of = &ops->op.data[ops->spread.need.data[n].of];
        ti_host_fork_need(fork, s->worker, &of->part[of->turn]);
    }
    return ti_host_fork_hand(fork, s->worker, &op->job->kernel, args, op->bytes);
}

/* In turns: the one before may be under way. */
static const void *keep_args(ti_host_fork *fork, const ti_round_ops *ops, const ti_round_op *op, const void *args)
{
    const size_t room = TI_ALIGN_UP(op->bytes, sizeof(ti_round_bytes));
    char *copy = ops->args.data[op->args].bytes + (op->turn ? room : 0);
    ti_host_fork_await(fork, &op->part[op->turn]);
    return memcpy(copy, args, op->bytes);
}

static void run_kernel(ti_executor *ex, ti_round_ops *ops, ti_round_op *op, const void *args)
{
    ti_device_kernel *k = &op->job->kernel;
    ti_host_fork *fork = ops->fork;
    const ti_spread_step *s = &ops->spread.step.data[op - ops->op.data];
    const size_t bytes = op->bytes;
    op->turn = !op->turn;
    const void *copy = bytes ? keep_args(fork, ops, op, args) : NULL;
    if (ti_round_choices_cuts(&ex->choices, op->choice)) {
        op->part[op->turn] = ti_host_fork_share(fork, k, copy, bytes);
    } else if (s->worker >= 0 && ops->spreads != SIZE_MAX && ti_round_choices_cuts(&ex->choices, ops->spreads)) {
        op->part[op->turn] = hand(fork, ops, s, op, copy);
    } else {
        op->part[op->turn].worker = TI_HOST_NOBODY;
        ti_host_fork_run(fork, k, copy);
    }
}

static TI_NOINLINE void carry_out(ti_executor *ex, const ti_round_op *op, void *memory, ti_signal *signal)
{
    const ti_instruction *i = op->instruction;
    if (op->kind == TI_INSTRUCTION_REDUCE) {
        ti_executor_rest_round(ex);
        ti_combine_slots(&i->as.reduce, op->slots, op->to, 0, i->as.reduce.elements);
    } else if (op->kind == TI_INSTRUCTION_COPY) {
        const ti_block to = ti_layout_block(memory, &i->as.copy.to.whole, &i->as.copy.box, i->as.copy.elem_size);
        ti_executor_rest_round(ex);
        ti_layout_copy(&to, &op->from);
    } else if (op->kind == TI_INSTRUCTION_FENCE) {
        ti_executor_rest_round(ex);
        atomic_store_explicit(&signal->set, 1, memory_order_release);
    }
}

void ti_executor_round_op(ti_executor *ex, ti_round_ops *ops, size_t at, const void *args, void *memory,
                          ti_signal *signal)
{
    ti_round_op *op = &ops->op.data[at];
    TI_ASSERT(at < ops->op.count);
    if (at == 0 && ti_round_choices_is_due(&ex->choices)) {
        ti_round_choices_next(&ex->choices, ti_clock_ns());
    }
    if (op->kind == TI_INSTRUCTION_KERNEL) {
        run_kernel(ex, ops, op, args);
    } else {
        carry_out(ex, op, memory, signal);
    }
}

void ti_executor_round_horizon(ti_executor *ex)
{
    ti_host_fork_note_point(ti_device_host_fork(ex->is.device[0]));
}

void ti_executor_rest_round(ti_executor *ex)
{
    ti_host_fork_meet(ti_device_host_fork(ex->is.device[0]));
}

void ti_executor_end_round(ti_executor *ex, ti_round_ops *ops)
{
    ti_executor_rest_round(ex);
    drop(ex, ops);
    ex->running--;
    ex->activity++;
}

/* ---- what has been carried out */

void ti_executor_pass_all(ti_executor *ex, uint64_t instructions, uint64_t points)
{
    TI_ASSERT(ti_engine_incomplete(&ex->engine) == 0);
    ti_engine_pass(&ex->engine, instructions);
    atomic_fetch_add_explicit(&ex->is.progress->points, points, memory_order_release);
}

void ti_executor_pass(ti_executor *ex, const ti_instruction *i)
{
    if (i->kind == TI_INSTRUCTION_ALLOC || i->kind == TI_INSTRUCTION_FREE) {
        ti_executor_submit(ex, i);
        ti_executor_start(ex);
        return;
    }
    ti_engine_pass(&ex->engine, 1);
    if (i->kind == TI_INSTRUCTION_EPOCH) {
        atomic_store_explicit(&ex->is.progress->task, i->task->id, memory_order_release);
        atomic_fetch_add_explicit(&ex->is.progress->points, 1, memory_order_release);
    }
}
