/* The ready engine: see engine.h. */
#include "exec/engine.h"

#include "base/check.h"

#include <string.h>

enum { SLOTS = 1024, EDGES = 1024, ID_BITS = 48, PRIORITY_ZERO = 1 << 14 };

void ti_engine_init(ti_engine *e, int devices)
{
    memset(e, 0, sizeof(*e));
    e->devices = devices;
    e->kernels = TI_NEW_ARRAY(ti_engine_heap, (size_t)devices);
    e->watermark = e->next = 1;
    e->capacity = SLOTS;
    e->slot = TI_NEW_ARRAY(ti_engine_slot, SLOTS);
    e->free_edge = TI_ENGINE_NONE;
    e->first_accelerator = devices;
}

void ti_engine_know_accelerators(ti_engine *e, int first)
{
    TI_ASSERT(e->next == 1 && !e->behind);
    e->first_accelerator = first;
    e->behind = TI_NEW_ARRAY(ti_engine_line, (size_t)e->devices + 1);
}

void ti_engine_fini(ti_engine *e)
{
    ti_free(e->slot, e->capacity * sizeof(*e->slot));
    ti_free(e->time, e->capacity * sizeof(*e->time));
    ti_free(e->edge, e->edges * sizeof(*e->edge));
    ti_vec_fini(&e->ready);
    for (int d = 0; d < e->devices; d++) {
        ti_vec_fini(&e->kernels[d]);
    }
    ti_free(e->kernels, (size_t)e->devices * sizeof(*e->kernels));
    for (int d = 0; e->behind && d <= e->devices; d++) {
        ti_vec_fini(&e->behind[d].id);
    }
    ti_free(e->behind, ((size_t)e->devices + 1) * sizeof(*e->behind));
}

void ti_engine_keep_times(ti_engine *e)
{
    TI_ASSERT(!e->time && e->next == 1);
    e->time = TI_NEW_ARRAY(ti_engine_time, e->capacity);
}

static void grow_times(ti_engine *e)
{
    ti_engine_time *fresh = TI_NEW_ARRAY(ti_engine_time, 2 * e->capacity);
    for (uint64_t id = e->watermark; id < e->next; id++) {
        fresh[id & (2 * e->capacity - 1)] = *ti_engine_time_of(e, id);
    }
    ti_free(e->time, e->capacity * sizeof(*fresh));
    e->time = fresh;
}

static void grow_slots(ti_engine *e)
{
    ti_engine_slot *fresh = TI_NEW_ARRAY(ti_engine_slot, 2 * e->capacity);
    for (uint64_t id = e->watermark; id < e->next; id++) {
        fresh[id & (2 * e->capacity - 1)] = *ti_engine_slot_of(e, id);
    }
    if (e->time) {
        grow_times(e);
    }
    ti_free(e->slot, e->capacity * sizeof(*fresh));
    e->slot = fresh;
    e->capacity *= 2;
}

static void grow_edges(ti_engine *e)
{
    uint32_t fresh = e->edges ? 2 * e->edges : EDGES;
    e->edge = ti_realloc(e->edge, e->edges * sizeof(*e->edge), fresh * sizeof(*e->edge));
    for (uint32_t i = fresh; i-- > e->edges;) {
        e->edge[i].next = e->free_edge;
        e->free_edge = i;
    }
    e->edges = fresh;
}

static void add_edge(ti_engine *e, ti_engine_slot *from, uint64_t to)
{
    if (e->free_edge == TI_ENGINE_NONE) {
        grow_edges(e);
    }
    uint32_t index = e->free_edge;
    TI_ASSERT(index < e->edges);
    e->free_edge = e->edge[index].next;
    e->edge[index].to = to;
    e->edge[index].next = from->successor;
    from->successor = index;
}

/* ---- ready kernels: a binary heap of (inverted priority, id) packed in one word */

static void push_kernel(ti_engine *e, const ti_instruction *instruction)
{
    TI_ASSERT(instruction->device >= 0 && instruction->device < e->devices);
    TI_ASSERT(instruction->priority < PRIORITY_ZERO && instruction->priority >= -PRIORITY_ZERO);
    uint64_t key = (uint64_t)(PRIORITY_ZERO - instruction->priority) << ID_BITS | instruction->id;
    ti_engine_heap *ready = &e->kernels[instruction->device];
    ti_vec_push(ready, key);
    uint64_t *heap = ready->data;
    size_t at = ready->count - 1;
    while (at > 0 && heap[(at - 1) / 2] > key) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = key;
}

static uint64_t pop_kernel(ti_engine_heap *ready)
{
    TI_ASSERT(ready->count > 0);
    uint64_t *heap = ready->data, top = heap[0], last = heap[--ready->count];
    size_t n = ready->count, at = 0;
    for (size_t child = 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= last) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top & (((uint64_t)1 << ID_BITS) - 1);
}

static void note_ready(ti_engine *e, uint64_t id)
{
    if (TI_UNLIKELY(e->time != NULL)) {
        *ti_engine_time_of(e, id) = (ti_engine_time){ .ready = e->now, .by = e->completing };
    }
}

/* What was started before this, by itself. */
static void note_begun(ti_engine *e, uint64_t id)
{
    note_ready(e, id);
    if (TI_UNLIKELY(e->time != NULL)) {
        ti_engine_time_of(e, id)->start = e->now;
    }
}

static void make_ready(ti_engine *e, const ti_instruction *instruction)
{
    note_ready(e, instruction->id);
    if (instruction->kind == TI_INSTRUCTION_KERNEL || instruction->kind == TI_INSTRUCTION_HOST) {
        push_kernel(e, instruction);
    } else {
        ti_vec_push(&e->ready, instruction->id);
    }
}

static void start(ti_engine_slot *slot)
{
    slot->issued = true;
    slot->chain = (uint32_t)slot->instruction->id;
}

/* ---- what accelerators start behind others */

static bool runs_in_order(const ti_engine *e, const ti_instruction *i)
{
    return e->behind && i->device >= e->first_accelerator &&
           (i->kind == TI_INSTRUCTION_KERNEL || i->kind == TI_INSTRUCTION_COPY);
}

static bool is_started(const ti_engine *e, const ti_engine_slot *slot)
{
    return slot->issued && runs_in_order(e, slot->instruction);
}

/* After its count of what was not started went down. */
static void offer(ti_engine *e, const ti_engine_slot *slot, bool is_fewer)
{
    if (is_fewer && slot->unstarted == 0 && slot->pending > 0 && !slot->issued && runs_in_order(e, slot->instruction)) {
        const bool is_copy = slot->instruction->kind == TI_INSTRUCTION_COPY;
        ti_vec_push(&e->behind[is_copy ? e->devices : slot->instruction->device].id, slot->instruction->id);
    }
}

/* After the instruction was issued. */
static void offer_successors(ti_engine *e, const ti_engine_slot *slot)
{
    if (!runs_in_order(e, slot->instruction)) {
        return;
    }
    for (uint32_t at = slot->successor; at != TI_ENGINE_NONE; at = e->edge[at].next) {
        ti_engine_slot *successor = ti_engine_slot_of(e, e->edge[at].to);
        TI_ASSERT(successor->unstarted > 0);
        successor->unstarted--;
        offer(e, successor, true);
    }
}

static ti_engine_slot *first_behind(ti_engine *e, ti_engine_line *line)
{
    for (; line->head < line->id.count; line->head++) {
        const uint64_t id = line->id.data[line->head];
        ti_engine_slot *slot = id >= e->watermark ? ti_engine_slot_of(e, id) : NULL;
        if (slot && !slot->issued && slot->pending > 0) { /* else it is ready, or was */
            return slot;
        }
    }
    line->head = line->id.count = 0;
    return NULL;
}

ti_engine_slot *ti_engine_next_behind(ti_engine *e, int device)
{
    return e->behind ? first_behind(e, &e->behind[device]) : NULL;
}

ti_engine_slot *ti_engine_next_copy_behind(ti_engine *e)
{
    return e->behind ? first_behind(e, &e->behind[e->devices]) : NULL;
}

void ti_engine_issue_behind(ti_engine *e, ti_engine_slot *slot, bool is_started)
{
    const ti_instruction *i = slot->instruction;
    e->behind[i->kind == TI_INSTRUCTION_COPY ? e->devices : i->device].head++;
    if (is_started) {
        slot->is_behind = true;
        start(slot);
        note_ready(e, i->id);
        offer_successors(e, slot);
    }
}

/* ---- what comes, and what ends */

/* What waits for all before it and is at the watermark has nothing incomplete before it. */
static void release_waiting(ti_engine *e)
{
    if (e->watermark < e->next) {
        ti_engine_slot *slot = ti_engine_slot_of(e, e->watermark);
        if (slot->waits && !slot->issued) {
            start(slot);
            note_ready(e, e->watermark);
            ti_vec_push(&e->ready, e->watermark);
        }
    }
}

ti_engine_slot *ti_engine_submit(ti_engine *e, const ti_instruction *instruction)
{
    TI_ASSERT(instruction->id == e->next);
    if (e->next - e->watermark == e->capacity) {
        grow_slots(e);
    }
    ti_engine_slot *slot = ti_engine_slot_of(e, instruction->id);
    *slot = (ti_engine_slot){ .instruction = instruction, .successor = TI_ENGINE_NONE };
    e->next++;
    slot->waits = instruction->kind == TI_INSTRUCTION_EPOCH ||
                  (instruction->kind == TI_INSTRUCTION_COLLECTIVE_HOST && e->collective_hosts_wait);
    if (slot->waits) {
        release_waiting(e);
        return NULL;
    }
    ti_engine_slot *last = NULL;
    for (uint32_t i = 0; i < instruction->deps; i++) {
        uint64_t id = instruction->dep[i];
        TI_ASSERT(id < instruction->id);
        if (id >= e->watermark && !ti_engine_slot_of(e, id)->complete) {
            ti_engine_slot *before = ti_engine_slot_of(e, id);
            add_edge(e, before, instruction->id);
            slot->pending++;
            slot->unstarted += !is_started(e, before);
            last = last && last->instruction->id > id ? last : before;
        }
    }
    if (slot->pending == 0) {
        make_ready(e, instruction);
    } else {
        offer(e, slot, true);
    }
    return last;
}

void ti_engine_complete(ti_engine *e, uint64_t id)
{
    ti_engine_slot *slot = ti_engine_slot_of(e, id);
    TI_ASSERT(id >= e->watermark && id < e->next && slot->issued && !slot->complete);
    TI_ASSERT(slot->pending == 0 || slot->is_behind);
    const bool was_started = runs_in_order(e, slot->instruction);
    slot->complete = true;
    e->completing = id;
    while (slot->successor != TI_ENGINE_NONE) {
        uint32_t index = slot->successor;
        ti_engine_slot *successor = ti_engine_slot_of(e, e->edge[index].to);
        slot->successor = e->edge[index].next;
        e->edge[index].next = e->free_edge;
        e->free_edge = index;
        TI_ASSERT(successor->pending > 0 && !successor->waits);
        successor->unstarted -= !was_started;
        if (--successor->pending > 0) {
            offer(e, successor, !was_started);
        } else if (!successor->issued) {
            make_ready(e, successor->instruction);
        } else {
            note_begun(e, successor->instruction->id);
        }
    }
    while (e->watermark < e->next && ti_engine_slot_of(e, e->watermark)->complete) {
        e->watermark++;
    }
    release_waiting(e);
    e->completing = 0;
}

ti_engine_slot *ti_engine_next(ti_engine *e)
{
    if (!ti_engine_has_next(e)) {
        return NULL;
    }
    if (e->ready_head > 1024 && 2 * e->ready_head > e->ready.count) {
        e->ready.count -= e->ready_head;
        memmove(e->ready.data, e->ready.data + e->ready_head, e->ready.count * sizeof(uint64_t));
        e->ready_head = 0;
    }
    ti_engine_slot *slot = ti_engine_slot_of(e, e->ready.data[e->ready_head++]);
    if (!ti_engine_has_next(e)) {
        e->ready_head = e->ready.count = 0;
    }
    TI_ASSERT(!slot->complete && slot->pending == 0);
    start(slot);
    offer_successors(e, slot);
    return slot;
}

ti_engine_slot *ti_engine_next_kernel(ti_engine *e, int device)
{
    if (!ti_engine_has_kernel(e, device)) {
        return NULL;
    }
    ti_engine_slot *slot = ti_engine_slot_of(e, pop_kernel(&e->kernels[device]));
    TI_ASSERT(!slot->issued && slot->pending == 0);
    start(slot);
    offer_successors(e, slot);
    return slot;
}

/* ---- chains */

static bool is_in_chain(const ti_engine_slot *slot, uint32_t chain)
{
    return slot->issued && slot->chain == chain;
}

/* A point of which the others nodes need not hear. */
static bool is_local_point(const ti_engine_slot *slot)
{
    return slot->instruction->kind == TI_INSTRUCTION_EPOCH && !slot->instruction->as.epoch.barrier;
}

/* Whether all before this point that is incomplete is in the chain, but for other points. */
static bool is_chain_until(const ti_engine *e, const ti_engine_slot *point, uint32_t chain)
{
    bool is = is_local_point(point);
    for (uint64_t id = e->watermark; is && id < point->instruction->id; id++) {
        const ti_engine_slot *slot = ti_engine_slot_of(e, id);
        is = slot->complete || is_in_chain(slot, chain) || is_local_point(slot);
    }
    return is;
}

static bool waits_for_chain(const ti_engine *e, const ti_instruction *i, uint32_t chain)
{
    bool all = true;
    for (uint32_t k = 0; k < i->deps && all; k++) {
        const ti_engine_slot *slot = i->dep[k] >= e->watermark ? ti_engine_slot_of(e, i->dep[k]) : NULL;
        all = !slot || slot->complete || is_in_chain(slot, chain) || (slot->waits && is_chain_until(e, slot, chain));
    }
    return all;
}

ti_engine_slot *ti_engine_follower(const ti_engine *e, const ti_engine_slot *slot)
{
    uint64_t oldest = UINT64_MAX;
    if (!slot->issued || slot->complete || slot->followed) {
        return NULL;
    }
    for (uint32_t at = slot->successor; at != TI_ENGINE_NONE; at = e->edge[at].next) {
        oldest = TI_MIN(oldest, e->edge[at].to);
    }
    ti_engine_slot *next = oldest < UINT64_MAX ? ti_engine_slot_of(e, oldest) : NULL;
    return next && !next->issued && waits_for_chain(e, next->instruction, slot->chain) ? next : NULL;
}

/* It waits for something later in the chain, which has not ended before the slot. */
static bool waits_longer(const ti_engine *e, const ti_instruction *i, const ti_engine_slot *slot)
{
    bool does = false;
    for (uint32_t k = 0; k < i->deps && !does; k++) {
        const ti_engine_slot *other = ti_engine_slot_of(e, i->dep[k]);
        does = i->dep[k] > slot->instruction->id && is_in_chain(other, slot->chain) && !other->complete;
    }
    return does;
}

bool ti_engine_others_wait(const ti_engine *e, const ti_engine_slot *slot)
{
    bool do_others = false;
    for (uint32_t at = slot->successor; at != TI_ENGINE_NONE && !do_others; at = e->edge[at].next) {
        const ti_engine_slot *next = ti_engine_slot_of(e, e->edge[at].to);
        do_others = !is_in_chain(next, slot->chain) && !waits_longer(e, next->instruction, slot);
    }
    return do_others;
}
