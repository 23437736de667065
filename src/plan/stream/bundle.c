/* The instruction graph, bundles: see impl.h. Messages of several parts, each of which is a transfer of a task in a
 * window of stages (plan/command/bundle.c).
 *
 * A part lies in an allocation of its own from when it is packed until it has been sent, or from when the message is
 * received until it has been unpacked. Within one window no two parts use the same allocation: the second would wait
 * for the first, and nothing that is sent may wait for what has arrived in the same window. So allocations are given
 * back when the next batch of commands comes (plan/instruction/keep.c), and then the next window has them.
 *
 * Windows that repeat are steps of cycles (cycle_step.c). Then copies and messages are those that were recorded, in
 * other allocations; all else here is the same. Scheduler thread. */
#include "plan/instruction/staging.h"
#include "plan/stream/impl.h"

typedef struct bundle_slot {
    uint64_t allocation;
    size_t bytes;
    const uint64_t *after; /* what its users wait for */
    size_t afters;
} bundle_slot;

typedef struct ti_open_bundle {
    const ti_bundle *bundle;
    uint64_t counter;
    int peer;
    bool send;
    uint32_t done;            /* parts that have been packed, or unpacked */
    uint64_t received;        /* the instruction that receives all of them */
    TI_VEC(bundle_slot) slot; /* of the parts' boxes */
    TI_VEC(uint64_t) ready;   /* who packs */
} ti_open_bundle;

static void allocate(ti_instruction_graph *graph, const ti_task *task, ti_open_bundle *b, const ti_bundle_part *part)
{
    for (uint32_t i = 0; i < part->boxes; i++) {
        bundle_slot slot = { .bytes = ti_bytes_of(part->buffer, &part->box[i]) };
        slot.allocation = ti_instruction_take_staging(graph, task, TI_FOR_BUNDLES, slot.bytes, &slot.after,
                                                      &slot.afters);
        ti_vec_push(&b->slot, slot);
    }
}

static void give_later(ti_instruction_graph *graph, const bundle_slot *slot, uint64_t after)
{
    ti_vec_push(&graph->unbundled, ((ti_unbundled){ slot->allocation, slot->bytes, after }));
}

void ti_instruction_give_unbundled(ti_instruction_graph *graph)
{
    for (size_t i = 0; i < graph->unbundled.count; i++) {
        const ti_unbundled *u = &graph->unbundled.data[i];
        TI_ASSERT(0 < u->after && u->after < graph->emit.next_id);
        ti_instruction_give_staging(graph, NULL, TI_FOR_BUNDLES, u->bytes, u->allocation, &u->after, 1);
    }
    ti_vec_clear(&graph->unbundled);
}

/* ---- the message */

/* The box as bytes. */
static ti_box scaled(const ti_box *box, size_t elem_size)
{
    ti_box out = *box;
    out.min[2] *= (int64_t)elem_size;
    out.max[2] *= (int64_t)elem_size;
    return out;
}

/* Elements of different sizes travel as bytes. */
static size_t common_size(const ti_bundle *bundle)
{
    size_t size = bundle->part[0].buffer->elem_size;
    for (uint32_t i = 1; i < bundle->parts; i++) {
        size = bundle->part[i].buffer->elem_size == size ? size : 1;
    }
    return size;
}

static ti_instruction *start_message(ti_instruction_graph *graph, const ti_task *task, const ti_open_bundle *b)
{
    size_t size = common_size(b->bundle), n = 0;
    ti_instruction *message = ti_emit_start(&graph->emit, b->send ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE, task);
    ti_instruction_box *box = TI_ARENA_ARRAY(ti_arena_ring_top(&graph->emit.arenas), ti_instruction_box, b->slot.count);
    for (uint32_t p = 0; p < b->bundle->parts; p++) {
        const ti_bundle_part *part = &b->bundle->part[p];
        for (uint32_t i = 0; i < part->boxes; i++, n++) {
            box[n].box = scaled(&part->box[i], part->buffer->elem_size / size);
            box[n].place = (ti_place){ .whole = box[n].box };
        }
    }
    TI_ASSERT(n == b->slot.count);
    message->as.transfer.peer = b->peer;
    message->as.transfer.boxes = (uint32_t)n;
    message->as.transfer.box = box;
    message->as.transfer.elem_size = size;
    message->as.transfer.buffer = b->bundle->part[0].buffer;
    return message;
}

/* The instruction that was recorded, to which dependencies may be added until it is emitted. */
static ti_instruction *start_step(ti_instruction_graph *graph, const ti_cycle_step *s, const ti_task *task)
{
    const ti_cycle *c = &graph->cycle;
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    ti_instruction *i = ti_arena_copy(arena, &s->instruction, sizeof(*i));
    if (s->boxes) {
        i->as.transfer.box = ti_arena_copy(arena, &c->box.data[s->box], s->boxes * sizeof(ti_instruction_box));
    }
    ti_emit_begin(&graph->emit, i, task);
    for (uint32_t k = 0; k < s->deps; k++) {
        ti_deps_add(&graph->emit.deps, c->dep.data[s->dep + k] + c->shift);
    }
    TI_ASSERT(i->id == s->instruction.id + c->shift);
    return i;
}

/* Derived, or the one of the step. Its boxes are its own. */
static uint64_t emit_message(ti_instruction_graph *graph, const ti_task *task, const ti_open_bundle *b,
                             const ti_cycle_step *step)
{
    ti_instruction *message = step ? start_step(graph, step, task) : start_message(graph, task, b);
    ti_instruction_box *box = (ti_instruction_box *)(uintptr_t)message->as.transfer.box;
    TI_ASSERT(message->as.transfer.boxes == b->slot.count && message->as.transfer.peer == b->peer);
    TI_ASSERT(b->ready.count == (b->send ? b->slot.count : 0));
    message->as.transfer.counter = b->counter;
    for (size_t n = 0; n < b->slot.count; n++) {
        box[n].place.allocation = b->slot.data[n].allocation;
        if (!b->send) {
            ti_deps_add_all(&graph->emit.deps, b->slot.data[n].after, b->slot.data[n].afters);
        }
    }
    ti_deps_add_all(&graph->emit.deps, b->ready.data, b->ready.count);
    ti_emit(&graph->emit, message);
    return message->id;
}

static void send(ti_instruction_graph *graph, const ti_task *task, const ti_open_bundle *b, const ti_cycle_step *step)
{
    const uint64_t message = emit_message(graph, task, b, step);
    for (size_t n = 0; n < b->slot.count; n++) {
        give_later(graph, &b->slot.data[n], message);
    }
}

static void receive(ti_instruction_graph *graph, const ti_task *task, ti_open_bundle *b, const ti_cycle_step *step)
{
    for (uint32_t p = 0; p < b->bundle->parts; p++) {
        allocate(graph, task, b, &b->bundle->part[p]);
    }
    b->received = emit_message(graph, task, b, step);
}

/* ---- parts */

static ti_instruction *start_copy(ti_instruction_graph *graph, const ti_command *c, const ti_box *box)
{
    const ti_buffer_info *buffer = c->as.transfer.buffer;
    bool out = c->kind == TI_COMMAND_SEND;
    int in = ti_instruction_place_in(graph, buffer, box, TI_HOST_MEMORY);
    if (out) {
        ti_instruction_make_fresh(graph, c->task, buffer, box, in);
    }
    ti_instruction *copy = ti_emit_start(&graph->emit, TI_INSTRUCTION_COPY, c->task);
    ti_place inside = ti_instruction_place(graph, buffer, box, in);
    ti_place outside = { .whole = *box };
    copy->as.copy.from = out ? inside : outside;
    copy->as.copy.to = out ? outside : inside;
    copy->as.copy.box = *box;
    copy->as.copy.elem_size = buffer->elem_size;
    ti_instruction_touch(graph, buffer, box, in, !out);
    return copy;
}

/* Copy one box between the buffer's host memory and the slot. Returns the copy's id. */
static uint64_t copy_box(ti_instruction_graph *graph, const ti_command *c, const ti_box *box, const bundle_slot *slot,
                         uint64_t received, const ti_cycle_step *step)
{
    ti_instruction *copy = step ? start_step(graph, step, c->task) : start_copy(graph, c, box);
    ti_deps *deps = &graph->emit.deps;
    TI_ASSERT(slot->bytes == ti_bytes_of(c->as.transfer.buffer, box) && received < copy->id);
    (received ? &copy->as.copy.from : &copy->as.copy.to)->allocation = slot->allocation;
    if (received) {
        ti_deps_add(deps, received);
    }
    const size_t before = deps->ids.count;
    if (!received) {
        ti_deps_add_all(deps, slot->after, slot->afters);
    }
    copy->as.copy.apart = (uint32_t)(deps->ids.count - before);
    ti_emit(&graph->emit, copy);
    return copy->id;
}

static ti_open_bundle *open_bundle(ti_instruction_graph *graph, const ti_command *c)
{
    for (size_t i = 0; i < graph->bundle.count; i++) {
        const ti_open_bundle *known = graph->bundle.data[i];
        if (known->bundle == c->as.transfer.bundle) {
            TI_ASSERT(known->counter == c->as.transfer.counter && known->peer == c->as.transfer.peer);
            TI_ASSERT(known->send == (c->kind == TI_COMMAND_SEND));
            return graph->bundle.data[i];
        }
    }
    ti_open_bundle *b = TI_NEW(ti_open_bundle);
    b->bundle = c->as.transfer.bundle;
    b->counter = c->as.transfer.counter;
    b->peer = c->as.transfer.peer;
    b->send = c->kind == TI_COMMAND_SEND;
    ti_vec_push(&graph->bundle, b);
    return b;
}

static void close_bundle(ti_open_bundle *b)
{
    ti_vec_fini(&b->slot);
    ti_vec_fini(&b->ready);
    TI_DELETE(b);
}

void ti_instruction_bundles_fini(ti_instruction_graph *graph)
{
    for (size_t i = 0; i < graph->bundle.count; i++) {
        close_bundle(graph->bundle.data[i]);
    }
    ti_vec_fini(&graph->bundle);
    ti_vec_fini(&graph->unbundled);
}

/* The index of the part's first box. */
static size_t first_box(const ti_bundle *bundle, uint32_t part)
{
    size_t first = 0;
    for (uint32_t p = 0; p < part; p++) {
        first += bundle->part[p].boxes;
    }
    return first;
}

static void drop_bundle(ti_instruction_graph *graph, ti_open_bundle *b)
{
    size_t at = 0;
    while (graph->bundle.data[at] != b) {
        TI_ASSERT(at + 1 < graph->bundle.count);
        at++;
    }
    graph->bundle.data[at] = graph->bundle.data[--graph->bundle.count];
    close_bundle(b);
}

/* Steps NULL: derive. */
static void compile(ti_instruction_graph *graph, const ti_command *c, const ti_cycle_step *step)
{
    ti_open_bundle *b = open_bundle(graph, c);
    const ti_bundle_part *part = &b->bundle->part[c->as.transfer.part];
    size_t first = first_box(b->bundle, c->as.transfer.part);
    TI_ASSERT(b->done == c->as.transfer.part && part->buffer == c->as.transfer.buffer);
    if (b->send) {
        allocate(graph, c->task, b, part);
    } else if (b->done == 0) {
        receive(graph, c->task, b, step);
        step += step != NULL;
    }
    TI_ASSERT(part->boxes == c->as.transfer.boxes && first + part->boxes <= b->slot.count);
    for (uint32_t i = 0; i < part->boxes; i++) {
        const bundle_slot *slot = &b->slot.data[first + i];
        uint64_t copy = copy_box(graph, c, &part->box[i], slot, b->received, step);
        step += step != NULL;
        if (b->send) {
            ti_vec_push(&b->ready, copy);
        } else {
            give_later(graph, slot, copy);
        }
    }
    if (++b->done < b->bundle->parts) {
        return;
    }
    if (b->send) {
        send(graph, c->task, b, step);
    }
    drop_bundle(graph, b);
}

void ti_instruction_compile_part(ti_instruction_graph *graph, const ti_command *c)
{
    compile(graph, c, NULL);
}

/* ---- in cycles */

size_t ti_instruction_part_instructions(const ti_command *c)
{
    const uint32_t last = c->kind == TI_COMMAND_SEND ? c->as.transfer.bundle->parts - 1 : 0;
    return c->as.transfer.boxes + (c->as.transfer.part == last);
}

/* Whether the boxes are those of the message. */
static bool is_same_message(const ti_bundle *bundle, const ti_instruction_box *box, uint32_t boxes)
{
    const size_t size = common_size(bundle);
    size_t n = 0;
    bool same = true;
    for (uint32_t p = 0; same && p < bundle->parts; p++) {
        const ti_bundle_part *part = &bundle->part[p];
        for (uint32_t i = 0; same && i < part->boxes; i++, n++) {
            const ti_box its = scaled(&part->box[i], part->buffer->elem_size / size);
            same = n < boxes && ti_box_equal(&its, &box[n].box);
        }
    }
    return same && n == boxes;
}

bool ti_instruction_part_is_same(const ti_instruction_graph *graph, const ti_command *c, const ti_cycle_step *step)
{
    const ti_bundle *bundle = c->as.transfer.bundle;
    const bool send = c->kind == TI_COMMAND_SEND, first = c->as.transfer.part == 0;
    if (!bundle || bundle->parts != step->parts || c->as.transfer.part != step->part ||
        ti_instruction_part_instructions(c) != step->steps || c->as.transfer.peer != step->peer) {
        return false;
    }
    if (!send && first &&
        !is_same_message(bundle, &graph->cycle.box.data[step->box], step->instruction.as.transfer.boxes)) {
        return false;
    }
    const ti_cycle_step *copy = step + (!send && first);
    bool same = true;
    for (uint32_t i = 0; same && i < c->as.transfer.boxes; i++) {
        same = ti_box_equal(&c->as.transfer.box[i], &copy[i].instruction.as.copy.box) &&
               graph->cycle.touch.data[copy[i].touch].slot == c->as.transfer.buffer->slot;
    }
    return same;
}

/* Of the boxes in front of number `n` of the bundle, from part `part` on, those of so many bytes. */
static uint32_t count_before(const ti_bundle *bundle, uint32_t part, uint32_t n, size_t bytes)
{
    uint32_t count = 0;
    for (uint32_t i = 0, p = part; i < n; p++) {
        for (uint32_t k = 0; k < bundle->part[p].boxes && i < n; k++, i++) {
            count += ti_bytes_of(bundle->part[p].buffer, &bundle->part[p].box[k]) == bytes;
        }
    }
    return count;
}

bool ti_instruction_part_has_memory(const ti_instruction_graph *graph, const ti_command *c)
{
    const ti_bundle *bundle = c->as.transfer.bundle;
    const bool send = c->kind == TI_COMMAND_SEND;
    const uint32_t part = c->as.transfer.part;
    const uint32_t end = send ? part + 1 : part == 0 ? bundle->parts : 0;
    bool has = true;
    for (uint32_t p = part, n = 0; has && p < end; p++) {
        for (uint32_t i = 0; has && i < bundle->part[p].boxes; i++, n++) {
            const size_t bytes = ti_bytes_of(bundle->part[p].buffer, &bundle->part[p].box[i]);
            has = ti_instruction_has_staging(graph, TI_FOR_BUNDLES, bytes, count_before(bundle, part, n, bytes));
        }
    }
    return has;
}

void ti_instruction_repeat_part(ti_instruction_graph *graph, const ti_command *c, const ti_cycle_step *step)
{
    compile(graph, c, step);
}
