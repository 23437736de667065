/* The executor: see executor.h. */
#include "base/check.h"
#include "base/clock.h"
#include "exec/combine.h"
#include "exec/combine_job.h"
#include "exec/impl.h"
#include "exec/trace.h"
#include "exec/wait.h"
#include "ir/signal.h"

#include <stdio.h>
#include <string.h>

enum { POLL_BATCH = 32, MAX_STEPS_WITHOUT = 4 };
/* From so many bytes on, slots are combined by the workers. */
enum { COMBINE_BYTES = 64 * 1024 };

ti_executor *ti_executor_create(const ti_executor_desc *desc)
{
    TI_ASSERT(desc->system && desc->comm && desc->progress && desc->system->devices > 0);
    ti_executor *ex = TI_NEW(ti_executor);
    ex->is = *desc;
    ex->kernels = (ti_kernel_setting){ desc->system, desc->context, desc->bounds };
    ti_engine_init(&ex->engine, desc->system->devices);
    ex->engine.collective_hosts_wait = desc->is_inline;
    ex->may_follow = !desc->trace && !desc->dry && !desc->memory && !desc->bounds && !desc->purity && !desc->is_inline;
    ex->has_order = desc->system->accelerators > 0 && !desc->dry && !desc->memory && !desc->busy;
    if (ex->has_order) {
        ti_engine_know_accelerators(&ex->engine, ti_system_hosts(desc->system));
    }
    ex->collectives = (ti_collective_issue){ .comm = desc->comm, .table = &ex->table, .device = desc->device };
    if (desc->trace) {
        ti_trace_open(desc->trace, &ex->engine, desc->comm);
        ti_trace_watch(desc->trace, desc->device + ti_system_hosts(desc->system), desc->system->accelerators);
    }
    return ex;
}

/* What a run that failed has left. */
static void free_memory(ti_executor *ex)
{
    for (size_t i = 0; i < ex->table.record.count; i++) {
        const ti_allocation_record *r = &ex->table.record.data[i];
        if (r->address) {
            ex->is.device[r->device]->ops->free(ex->is.device[r->device], r->address, r->bytes);
        }
    }
    ti_allocation_table_fini(&ex->table);
}

void ti_executor_destroy(ti_executor *ex)
{
    ti_host_threads_fini(&ex->host_threads);
    free_memory(ex);
    ti_jobs_fini(&ex->jobs);
    ti_vec_fini(&ex->blocks);
    ti_collective_issue_fini(&ex->collectives);
    ti_outbox_fini(&ex->outbox);
    ti_round_choices_fini(&ex->choices);
    ti_engine_fini(&ex->engine);
    TI_DELETE(ex);
}

void ti_executor_set_tap(ti_executor *ex, const ti_executor_tap *tap)
{
    ex->tap = tap;
}

uint64_t ti_executor_incomplete(const ti_executor *ex)
{
    return ti_engine_incomplete(&ex->engine);
}

static void complete(ti_executor *ex, uint64_t id)
{
    if (TI_UNLIKELY(ex->is.trace != NULL)) {
        ti_trace_instruction(ex->is.trace, &ex->engine, ex->is.comm->node, id, ti_clock_ns());
    }
    ti_engine_complete(&ex->engine, id);
}

void ti_executor_trace_unfinished(ti_executor *ex)
{
    if (ex->is.trace) {
        ti_trace_unfinished(ex->is.trace, &ex->engine);
    }
}

static void fail(ti_executor *ex, tacit_status status, const char *what, const ti_instruction *i)
{
    ti_failure_set(&ex->is.progress->failure, status, "task '%s': %s", i->task->shape->name, what);
}

/* ---- kernels */

/* On a thread of its own, so that no worker is taken: whatever this task waits for, workers and network go on, and so
 * do tasks of other groups. */
static void launch_collective_host(ti_executor *ex, const ti_instruction *i, ti_device_kernel *kernel)
{
    ti_device *thread = ti_host_threads_of(&ex->host_threads, kernel->launch.group, &ex->is.progress->lot,
                                           ex->is.cores);
    if (!thread) {
        ti_failure_set(&ex->is.progress->failure, TACIT_ERROR_UNSUPPORTED,
                       "task '%s': the system grants no thread for tasks on every node; raise its limit, or set "
                       "TACIT_WORKERS to fewer",
                       i->task->shape->name);
        return;
    }
    atomic_store_explicit(&ex->is.progress->unseen, true, memory_order_relaxed);
    thread->ops->launch(thread, 0, kernel);
}

/* How many items the kernel has, if TACIT_BALANCE measures it; else 0. */
static uint64_t measured_items(const ti_executor *ex, const ti_instruction *i)
{
    const bool counts = i->kind == TI_INSTRUCTION_KERNEL && ti_system_is_accelerator(ex->is.system, i->device) &&
                        i->task->shape->balanced && ti_shape_is_shared(i->task->shape, ex->is.system);
    return counts ? (uint64_t)ti_box_volume(&i->as.kernel.chunk) : 0;
}

static void launch_measured(ti_executor *ex, const ti_instruction *i, ti_device_kernel *kernel)
{
    const uint64_t before = ti_clock_ns();
    ti_executor_device(ex, i)->ops->launch(ti_executor_device(ex, i), 0, kernel);
    ti_busy_launched(ex->is.busy, i->device, measured_items(ex, i), before, ti_clock_ns());
}

static void issue_kernel(ti_executor *ex, ti_engine_slot *slot)
{
    const ti_instruction *i = slot->instruction;
    ti_job *j = ti_kernel_job(&ex->jobs, &ex->table, &ex->kernels, i);
    slot->job = j;
    if (i->kind == TI_INSTRUCTION_COLLECTIVE_HOST && !ex->is.is_inline) {
        launch_collective_host(ex, i, &j->kernel);
        return;
    }
    if (TI_UNLIKELY(ex->is.busy != NULL)) {
        launch_measured(ex, i, &j->kernel);
        return;
    }
    ti_device *device = ti_executor_device(ex, i);
    device->ops->launch(device, 0, &j->kernel);
}

static bool is_kernel(ti_instruction_kind kind)
{
    return kind == TI_INSTRUCTION_KERNEL || kind == TI_INSTRUCTION_HOST || kind == TI_INSTRUCTION_COLLECTIVE_HOST;
}

void ti_executor_submit(ti_executor *ex, const ti_instruction *instruction)
{
    ex->submitted_kernels += is_kernel(instruction->kind);
    if (TI_UNLIKELY(ex->is.trace != NULL)) {
        ex->engine.now = ti_clock_ns();
    }
    ti_engine_slot *last = ti_engine_submit(&ex->engine, instruction);
    if (last && ex->may_follow) {
        ti_chain_submit(ex, instruction, last);
    }
}

/* ---- memory */

static void count_bytes(ti_executor *ex, size_t add, size_t sub)
{
    TI_ASSERT(ex->buffer_bytes + add >= sub);
    ex->buffer_bytes += add - sub;
    atomic_store_explicit(&ex->is.progress->buffer_bytes, ex->buffer_bytes, memory_order_relaxed);
}

/* New memory; or, if the allocation grows, more memory for the old one, whose users have all completed. */
static tacit_status find_memory(ti_executor *ex, const ti_instruction *i, void **address)
{
    ti_device *device = ti_executor_device(ex, i);
    const uint64_t grown = i->as.memory.grown;
    if (!grown) {
        return device->ops->alloc(device, i->as.memory.bytes, address);
    }
    const ti_allocation_record r = ti_allocation_table_take(&ex->table, grown);
    TI_ASSERT(r.bytes == i->as.memory.grown_bytes);
    tacit_status status = device->ops->grow(device, r.address, r.bytes, i->as.memory.bytes, address);
    if (status == TACIT_OK) {
        ti_layout_widen(*address, &i->as.memory.grown_box, &i->as.memory.box, i->as.memory.buffer->elem_size);
    } else {
        ti_allocation_table_add(&ex->table, grown, &r);
    }
    return status;
}

static void issue_alloc(ti_executor *ex, const ti_instruction *i)
{
    void *address = NULL;
    tacit_status status = find_memory(ex, i, &address);
    if (status != TACIT_OK) {
        char what[TI_ALLOCATION_TEXT], name[TI_DEVICE_NAME];
        ti_allocation_table_refuse(&ex->table, i, ti_system_device_name(ex->is.system, i->device, name), what);
        fail(ex, status, what, i);
        return; /* never completes: nothing that needs it will run */
    }
    ti_allocation_table_add(&ex->table, i->as.memory.allocation,
                            &(ti_allocation_record){ address, i->as.memory.bytes, i->device, i->as.memory.buffer });
    count_bytes(ex, i->as.memory.bytes, i->as.memory.grown_bytes);
    complete(ex, i->id);
}

static void issue_free(ti_executor *ex, const ti_instruction *i)
{
    ti_allocation_record r = ti_allocation_table_take(&ex->table, i->as.memory.allocation);
    ti_executor_device(ex, i)->ops->free(ti_executor_device(ex, i), r.address, r.bytes);
    count_bytes(ex, 0, i->as.memory.bytes);
    complete(ex, i->id);
}

static void issue_copy(ti_executor *ex, const ti_instruction *i)
{
    char *from = ti_allocation_table_base(&ex->table, &i->as.copy.from);
    ti_block source = ti_layout_block(from, &i->as.copy.from.whole, &i->as.copy.box, i->as.copy.elem_size);
    char *to = ti_allocation_table_base(&ex->table, &i->as.copy.to);
    ti_block target = ti_layout_block(to, &i->as.copy.to.whole, &i->as.copy.box, i->as.copy.elem_size);
    ti_executor_device(ex, i)->ops->copy(ti_executor_device(ex, i), 0, &target, &source, i->id);
}

/* ---- messages, reductions, points */

static ti_payload payload_of(ti_executor *ex, const ti_instruction *i)
{
    ti_payload payload = { .count = i->as.transfer.boxes };
    ti_vec_clear(&ex->blocks);
    for (uint32_t k = 0; k < i->as.transfer.boxes; k++) {
        const ti_instruction_box *b = &i->as.transfer.box[k];
        char *base = ti_allocation_table_base(&ex->table, &b->place);
        ti_block block = ti_layout_block(base, &b->place.whole, &b->box, i->as.transfer.elem_size);
        ti_vec_push(&ex->blocks, block);
        payload.bytes += ti_block_bytes(&block);
    }
    TI_ASSERT(payload.count > 0 && payload.bytes > 0);
    payload.block = ex->blocks.data;
    return payload;
}

static void start_send(ti_executor *ex, const ti_instruction *i)
{
    ti_payload payload = payload_of(ex, i);
    ex->is.comm->ops->send(ex->is.comm, i->as.transfer.peer, i->as.transfer.counter, &payload, i->id);
}

static void issue_send(ti_executor *ex, const ti_instruction *i)
{
    if (ex->is.comm->listens || i->as.transfer.version) {
        ti_outbox_add(&ex->outbox, i);
    } else {
        start_send(ex, i);
    }
}

static void issue_receive(ti_executor *ex, const ti_instruction *i)
{
    ti_payload payload = payload_of(ex, i);
    ex->is.comm->ops->receive(ex->is.comm, i->as.transfer.peer, i->as.transfer.counter, &payload, i->id);
}

static void start_sends(ti_executor *ex)
{
    ti_outbox_sort(&ex->outbox);
    for (size_t g = 0; g < ex->outbox.group.count; g++) {
        const ti_outbox_group *group = &ex->outbox.group.data[g];
        if (ex->is.comm->listens && ti_outbox_is_broadcast(&ex->outbox, group)) {
            ti_payload payload = payload_of(ex, ti_outbox_first(&ex->outbox, group));
            ex->is.comm->ops->broadcast(ex->is.comm, ti_outbox_recipients(&ex->outbox, group), group->count, &payload);
            continue;
        }
        for (uint32_t i = 0; i < group->count; i++) {
            start_send(ex, ex->outbox.send.data[group->first + i]);
        }
    }
    ti_outbox_clear(&ex->outbox);
}

/* Large results are combined by the workers together, small ones here. */
static void issue_reduce(ti_executor *ex, ti_engine_slot *slot)
{
    const ti_instruction *i = slot->instruction;
    ti_device *device = ti_executor_device(ex, i);
    if (ti_combine_bytes(i) < COMBINE_BYTES || device->workers == 1) {
        char *slots, *to;
        ti_combine_find_slots(&ex->table, &i->as.reduce, &slots, &to);
        ti_combine_slots(&i->as.reduce, slots, to, 0, i->as.reduce.elements);
        complete(ex, i->id);
        return;
    }
    ti_job *j = ti_combine_job(&ex->jobs, &ex->table, i, false);
    slot->job = j;
    ex->running++;
    device->ops->launch(device, 0, &j->kernel);
}

static void issue_collective(ti_executor *ex, const ti_instruction *i)
{
    const ti_combination *first = i->as.collective.first;
    if (first) {
        char *slots, *to;
        ti_combine_find_slots(&ex->table, first, &slots, &to);
        ti_combine_slots(first, slots, to, 0, first->elements);
    }
    ti_collective_issue_ready(&ex->collectives, i);
}

static void issue_fence(ti_executor *ex, const ti_instruction *i)
{
    atomic_store_explicit(&i->as.fence.signal->set, 1, memory_order_release);
    ti_lot_wake_able(&ex->is.progress->lot, INT32_MAX, TI_CAN_WAIT);
    complete(ex, i->id);
}

static void finish_point(ti_executor *ex, const ti_instruction *i)
{
    ti_executor_progress *progress = ex->is.progress;
    TI_ASSERT(i->task->id >= atomic_load_explicit(&progress->task, memory_order_relaxed));
    uint64_t task = i->task->id;
    complete(ex, i->id);
    /* After these stores the instruction's arena may be recycled. */
    atomic_store_explicit(&progress->task, task, memory_order_release);
    atomic_fetch_add_explicit(&progress->points, 1, memory_order_release);
    ti_lot_wake_able(&progress->lot, INT32_MAX, TI_CAN_WAIT);
}

/* ---- the step */

static bool runs_on_device(ti_instruction_kind kind)
{
    return is_kernel(kind) || kind == TI_INSTRUCTION_COPY;
}

static void issue(ti_executor *ex, ti_engine_slot *slot)
{
    const ti_instruction *i = slot->instruction;
    ex->activity++;
    if (TI_UNLIKELY(ex->is.dry != NULL) && ti_dry_issue(ex->is.dry, i)) {
        complete(ex, i->id);
        return;
    }
    if (TI_UNLIKELY(ex->is.memory != NULL)) {
        ti_dry_memory_note(ex->is.memory, i);
    }
    ex->running += runs_on_device(i->kind);
    if (TI_UNLIKELY(ex->is.trace != NULL)) {
        ti_engine_time_of(&ex->engine, i->id)->start = ti_clock_ns();
    }
    if (TI_UNLIKELY(ex->tap != NULL)) {
        ex->tap->started(ex->tap->user, i);
    }
    switch (i->kind) {
    case TI_INSTRUCTION_ALLOC:
        issue_alloc(ex, i);
        break;
    case TI_INSTRUCTION_FREE:
        issue_free(ex, i);
        break;
    case TI_INSTRUCTION_COPY:
        issue_copy(ex, i);
        break;
    case TI_INSTRUCTION_KERNEL:
        issue_kernel(ex, slot);
        ti_chain_extend(ex, slot);
        break;
    case TI_INSTRUCTION_HOST:
    case TI_INSTRUCTION_COLLECTIVE_HOST:
        issue_kernel(ex, slot);
        break;
    case TI_INSTRUCTION_SEND:
        issue_send(ex, i);
        break;
    case TI_INSTRUCTION_RECEIVE:
        issue_receive(ex, i);
        break;
    case TI_INSTRUCTION_REDUCE:
        issue_reduce(ex, slot);
        break;
    case TI_INSTRUCTION_FENCE:
        issue_fence(ex, i);
        break;
    case TI_INSTRUCTION_EPOCH:
        if (i->as.epoch.barrier) {
            ex->is.comm->ops->barrier(ex->is.comm, i->id);
        } else {
            finish_point(ex, i);
        }
        break;
    case TI_INSTRUCTION_COLLECTIVE:
        issue_collective(ex, i);
        break;
    }
}

static void retire(ti_executor *ex, uint64_t id)
{
    if (TI_UNLIKELY(id & TI_ROUND_TOKEN)) {
        atomic_fetch_sub_explicit(&ex->is.progress->round_messages, 1, memory_order_release);
        ex->activity++;
        return;
    }
    ti_engine_slot *slot = ti_engine_slot_of(&ex->engine, id);
    bool ran = slot->job || runs_on_device(slot->instruction->kind);
    TI_ASSERT(slot->issued && !slot->complete && ex->running >= ran);
    ex->activity++;
    ex->running -= ran;
    ex->retired_kernels += is_kernel(slot->instruction->kind);
    if (TI_UNLIKELY(ex->tap != NULL)) {
        ex->tap->completed(ex->tap->user, slot->instruction);
    }
    ti_purity_note(ex->is.purity, &ex->table, slot->instruction);
    if (TI_UNLIKELY(ex->is.busy != NULL) && measured_items(ex, slot->instruction)) {
        ti_busy_ended(ex->is.busy, slot->instruction->device, ti_clock_ns());
    }
    if (slot->job) {
        ti_jobs_return(&ex->jobs, slot->job);
        slot->job = NULL;
    }
    if (slot->instruction->kind == TI_INSTRUCTION_EPOCH) {
        finish_point(ex, slot->instruction);
    } else {
        complete(ex, id);
    }
}

static inline bool poll_device(ti_executor *ex, ti_device *device)
{
    uint64_t done[POLL_BATCH];
    int n = device->ops->poll(device, done, POLL_BATCH);
    for (int i = 0; i < n; i++) {
        retire(ex, done[i]);
    }
    return n > 0;
}

static bool poll_hosts(ti_executor *ex)
{
    bool any = false;
    for (int d = 0; d < ti_system_hosts(ex->is.system); d++) {
        any |= poll_device(ex, ex->is.device[d]);
    }
    for (int g = 0; TI_UNLIKELY(g < ex->host_threads.count); g++) {
        any |= ex->host_threads.device[g] && poll_device(ex, ex->host_threads.device[g]);
    }
    return any;
}

/* Drivers take microseconds to answer, so accelerators are asked when there is nothing to start. */
static bool poll_accelerators(ti_executor *ex)
{
    bool any = false;
    for (int d = ti_system_hosts(ex->is.system); d < ex->is.system->devices; d++) {
        any |= poll_device(ex, ex->is.device[d]);
    }
    return any;
}

bool ti_executor_poll_network(ti_executor *ex)
{
    ti_comm *comm = ex->is.comm;
    comm->listens = comm->relays && atomic_load_explicit(&ex->is.progress->placed, memory_order_relaxed);
    if (!comm->pending && !comm->listens) {
        return false;
    }
    uint64_t done[POLL_BATCH];
    int n = comm->ops->poll(comm, done, POLL_BATCH);
    if (n < 0) {
        if (!comm->stats.length_mismatch || !ex->is.explains || !ex->is.explains(ex->is.user)) {
            ti_failure_set(&ex->is.progress->failure, TACIT_ERROR_NETWORK, "%s",
                           comm->stats.error ? comm->stats.error : "the network failed");
        }
        return false;
    }
    for (int i = 0; i < n; i++) {
        retire(ex, done[i]);
    }
    return n > 0;
}

/* All but kernels. A short copy has been made when it is issued, and a message may wait for it: it leaves before
 * kernels begin, since they may be what this thread does next. */
static bool issue_all_others(ti_executor *ex)
{
    bool any = false, copies = false;
    do {
        copies = false;
        while (ti_engine_has_next(&ex->engine)) {
            ti_engine_slot *slot = ti_engine_next(&ex->engine);
            copies |= slot->instruction->kind == TI_INSTRUCTION_COPY;
            issue(ex, slot);
            any = true;
        }
    } while (copies && poll_hosts(ex));
    return any;
}

static bool issue_all_ready(ti_executor *ex)
{
    bool any = issue_all_others(ex);
    for (int d = 0; d < ex->is.system->devices; d++) {
        ti_device *device = ex->is.device[d];
        int room = ti_engine_has_kernel(&ex->engine, d) ? device->ops->room(device) : 0;
        for (; room > 0 && ti_engine_has_kernel(&ex->engine, d); room--) {
            issue(ex, ti_engine_next_kernel(&ex->engine, d));
            any = true;
        }
    }
    return any;
}

/* ---- what accelerators start behind others by themselves, so that they do not wait for us in between */

static bool await_all(ti_executor *ex, const ti_instruction *i)
{
    ti_device *device = ti_executor_device(ex, i);
    bool can = true;
    for (uint32_t k = 0; k < i->deps && can; k++) {
        ti_engine_slot *slot = i->dep[k] >= ex->engine.watermark ? ti_engine_slot_of(&ex->engine, i->dep[k]) : NULL;
        can = !slot || slot->complete ||
              device->ops->await(device, ti_executor_device(ex, slot->instruction), i->dep[k]);
    }
    return can;
}

static void issue_behind(ti_executor *ex, ti_engine_slot *slot)
{
    const bool can = await_all(ex, slot->instruction);
    ti_engine_issue_behind(&ex->engine, slot, can);
    if (can) {
        issue(ex, slot);
    }
}

static bool issue_all_behind(ti_executor *ex)
{
    ti_engine_slot *next;
    bool any = false;
    for (int d = ti_system_hosts(ex->is.system); d < ex->is.system->devices; d++) {
        while ((next = ti_engine_next_behind(&ex->engine, d)) && ex->is.device[d]->ops->room(ex->is.device[d]) > 0) {
            issue_behind(ex, next);
            any = true;
        }
    }
    while ((next = ti_engine_next_copy_behind(&ex->engine))) {
        issue_behind(ex, next);
        any = true;
    }
    return any;
}

static bool issue_all(ti_executor *ex)
{
    bool any = issue_all_ready(ex), more = ex->has_order;
    while (more) {
        more = issue_all_behind(ex);
        any |= more;
    }
    return any;
}

/* Sends leave last, the urgent ones first, and with as many recipients as are known by now. */
static bool issue_ready(ti_executor *ex)
{
    bool any = issue_all(ex);
    if (ti_outbox_may_leave(&ex->outbox, atomic_load_explicit(&ex->is.progress->holding, memory_order_relaxed))) {
        if (ex->outbox.shares && ex->is.plan && ex->is.plan(ex->is.planner)) {
            issue_all(ex);
        }
        start_sends(ex);
    }
    return any;
}

/* How much is awaited that is asked for: others look there. How many kernels are left only a program asks that executes
 * by itself. */
void ti_executor_note_waits(ti_executor *ex)
{
    size_t waits = ex->is.comm->pending + ex->is.comm->listens +
                   ti_devices_silent(ex->is.device, ti_system_hosts(ex->is.system), ex->is.system->devices);
    if (TI_UNLIKELY(atomic_load_explicit(&ex->is.progress->awaits_all, memory_order_relaxed)) &&
        ti_engine_incomplete(&ex->engine) == 0) {
        ti_lot_wake_able(&ex->is.progress->lot, INT32_MAX, TI_CAN_WAIT);
    }
    if (atomic_load_explicit(&ex->is.progress->messages, memory_order_relaxed) != waits) {
        atomic_store_explicit(&ex->is.progress->messages, waits, memory_order_relaxed);
    }
    if (ex->is.is_inline) {
        atomic_store_explicit(&ex->is.progress->kernels, ex->submitted_kernels, memory_order_relaxed);
        atomic_store_explicit(&ex->is.progress->kernels_left, ex->submitted_kernels - ex->retired_kernels,
                              memory_order_relaxed);
    }
}

bool ti_executor_start(ti_executor *ex)
{
    bool any = poll_hosts(ex);
    ti_chain_go_on(ex);
    any |= issue_ready(ex);
    ti_executor_note_waits(ex);
    return any;
}

bool ti_executor_step(ti_executor *ex)
{
    /* What a completed kernel lets go is started before the network and accelerators are asked, but these are never
     * forgotten. */
    bool any = poll_hosts(ex);
    ti_chain_go_on(ex);
    any = any && issue_ready(ex);
    if (!any || ++ex->steps_without_network >= MAX_STEPS_WITHOUT) {
        ex->steps_without_network = 0;
        any |= ti_executor_poll_network(ex);
        any |= issue_ready(ex);
    }
    if (!any || ++ex->steps_without_accelerators >= MAX_STEPS_WITHOUT) {
        ex->steps_without_accelerators = 0;
        if (poll_accelerators(ex)) {
            issue_ready(ex);
            any = true;
        }
    }
    ti_executor_note_waits(ex);
    return any;
}

ti_outbox_counts ti_executor_outbox_counts(const ti_executor *ex)
{
    return ex->outbox.counts;
}

/* ---- what is waited for */

uint64_t ti_executor_activity(const ti_executor *ex)
{
    return ex->activity;
}

uint64_t ti_executor_followed(const ti_executor *ex)
{
    return ex->followed;
}

uint64_t ti_executor_running(const ti_executor *ex)
{
    return ex->running;
}

const char *ti_executor_long_kernel(ti_executor *ex, uint64_t now, uint64_t limit, uint64_t *ns)
{
    const char *name = ti_host_threads_long_kernel(&ex->host_threads, now, limit, ns);
    for (int d = 0; d < ti_system_hosts(ex->is.system) && !name; d++) {
        name = ti_device_host_long_kernel(ex->is.device[d], now, limit, ns);
    }
    return name;
}

void ti_executor_describe_waits(const ti_executor *ex, int max, ti_strbuf *out)
{
    const ti_engine *e = &ex->engine;
    for (uint64_t id = e->watermark; id < e->next && max > 0; id++) {
        const ti_engine_slot *slot = ti_engine_slot_of(e, id);
        if (slot->issued && !slot->complete) {
            max -= ti_wait_describe(slot->instruction, ex->collectives.next, out);
        }
    }
}
