/* The instruction graph, staging: see staging.h, and impl.h for what kernels need. Slots for the partial results of a
 * reduction.
 *
 * A reduction of this node has one staging allocation in host memory: own_slots slots, one for each part of each
 * piece's kernel (an accelerator's: for each of its groups), then one for each child. A piece on a device with a memory
 * of its own fills slots there, which are copied into the host's. Tasks in blocks have other slots: blocks.c. Where
 * there is one large slot, whose contents become the result on this node, the kernel fills the buffer itself. Scheduler
 * thread. */
#include "plan/instruction/staging.h"

/* Parts of the kernels for pieces [first, end) of the window, at most: a device cuts a chunk along the slowest
 * dimension with several items. */
static uint32_t most_parts(ti_instruction_graph *graph, const ti_task *task, size_t first, size_t end)
{
    const ti_shape *shape = task->shape;
    int64_t most = 0;
    if (graph->parts.task == task->id && graph->parts.first == first && graph->parts.end == end) {
        return graph->parts.most;
    }
    for (size_t p = first; p < end; p++) {
        const ti_box *chunk = &graph->window.piece.data[p].piece->chunk;
        int d = 0;
        while (d + 1 < shape->dims && chunk->max[d] - chunk->min[d] == 1) {
            d++;
        }
        int64_t parts = ti_ceil_div(chunk->max[d] - chunk->min[d], d == 0 ? TI_MAX(shape->gran[0], 1) : 1);
        most = TI_MAX(most, shape->whole_chunk ? 1 : TI_MIN(parts, (int64_t)graph->system->workers));
    }
    TI_ASSERT(first == end || most > 0);
    graph->parts.task = task->id;
    graph->parts.first = first;
    graph->parts.end = end;
    graph->parts.most = (uint32_t)most;
    return (uint32_t)most;
}

/* Slots of one piece, where parts of host kernels have `parts`: of an accelerator's groups, each
 * has some items, or rows of them. */
static uint32_t slots_at(const ti_instruction_graph *graph, const ti_shape *shape, const ti_device_piece *at,
                         uint32_t parts)
{
    const int64_t length = at->piece->chunk.max[0] - at->piece->chunk.min[0];
    if (TI_LIKELY(!ti_system_is_accelerator(graph->system, at->device))) {
        return parts;
    }
    return (uint32_t)TI_MIN(shape->dims > 1 ? length : ti_ceil_div(length, (int64_t)shape->group_items),
                            (int64_t)shape->most_groups);
}

static ti_slot_range slots_of(const ti_instruction_graph *graph, const ti_staging *s, uint32_t piece)
{
    const ti_device_piece *at = &graph->window.piece.data[s->first];
    if (!s->piece_slots) {
        TI_ASSERT(piece < graph->in_blocks.count);
        return graph->in_blocks.data[piece].slots;
    }
    if (TI_LIKELY(graph->system->accelerators == 0)) {
        return (ti_slot_range){ piece * s->piece_slots, s->piece_slots };
    }
    ti_slot_range range = { 0, slots_at(graph, s->task->shape, &at[piece], s->piece_slots) };
    for (uint32_t p = 0; p < piece; p++) {
        range.first += slots_at(graph, s->task->shape, &at[p], s->piece_slots);
    }
    TI_ASSERT(range.first + range.count <= s->own_slots);
    return range;
}

uint32_t ti_instruction_piece_slots(const ti_instruction_graph *graph, uint32_t piece)
{
    const bool any = graph->staged.count && graph->staged.data[0].piece_slots;
    return any ? slots_of(graph, &graph->staged.data[0], piece).count : 0;
}

/* Slots for what other nodes send. */
static uint32_t foreign_slots(const ti_command *reduce)
{
    uint32_t slots = 0;
    if (reduce->as.reduce.what) {
        return reduce->as.reduce.alone; /* for the identity */
    }
    if (reduce->as.reduce.tree) {
        return (uint32_t)reduce->as.reduce.tree->children;
    }
    for (int i = 0; i < reduce->as.reduce.blocks->receives; i++) {
        slots += reduce->as.reduce.blocks->receive[i].spans;
    }
    return slots;
}

static bool is_in_place(ti_instruction_graph *graph, const ti_command *reduce, size_t first, size_t end)
{
    const ti_shape *shape = reduce->task->shape;
    const ti_buffer_info *buffer = shape->access[reduce->as.reduce.access].buffer;
    return ti_bytes_of(buffer, &buffer->extent) >= TI_LARGE_SLOT && !shape->in_blocks && end == first + 1 &&
           most_parts(graph, reduce->task, first, end) == 1 &&
           graph->window.piece.data[first].memory == TI_HOST_MEMORY && foreign_slots(reduce) == 0 &&
           ti_command_is_root(reduce) && !reduce->as.reduce.takes_old;
}

/* What does not fit into an integer fits into no memory either, and is refused where it is allocated. */
static size_t bytes_of(const ti_staging *s, uint32_t slots)
{
    int64_t bytes;
    return __builtin_mul_overflow(s->slot_bytes, slots, &bytes) ? (size_t)INT64_MAX : (size_t)bytes;
}

uint64_t ti_instruction_staging_bytes(ti_instruction_graph *graph, const ti_command *reduce, size_t first, size_t end)
{
    const ti_task *task = reduce->task;
    const ti_buffer_info *buffer = task->shape->access[reduce->as.reduce.access].buffer;
    if (is_in_place(graph, reduce, first, end)) {
        return 0;
    }
    uint64_t slots = foreign_slots(reduce), bytes, parts = most_parts(graph, task, first, end);
    for (size_t p = first; p < end; p++) {
        const ti_device_piece *at = &graph->window.piece.data[p];
        uint64_t own = task->shape->in_blocks ? ti_instruction_block_slots(graph, task, &at->piece->chunk)
                                              : slots_at(graph, task->shape, at, (uint32_t)parts);
        slots += at->memory == TI_HOST_MEMORY ? own : 2 * own; /* there and here */
    }
    return __builtin_mul_overflow(slots, ti_bytes_of(buffer, &buffer->extent), &bytes) ? UINT64_MAX / 4 : bytes;
}

void ti_instruction_stage(ti_instruction_graph *graph, const ti_command *reduce, size_t first, size_t end)
{
    const ti_task *task = reduce->task;
    const ti_access *access = &task->shape->access[reduce->as.reduce.access];
    ti_staging s = {
        .task = task,
        .access = reduce->as.reduce.access,
        .first = first,
        .elements = (size_t)ti_box_volume(&access->buffer->extent),
    };
    if (task->shape->in_blocks) {
        s.own_slots = ti_instruction_cut_blocks(graph, task, first, end);
    } else {
        s.piece_slots = most_parts(graph, task, first, end);
        for (size_t p = first; p < end; p++) {
            s.own_slots += slots_at(graph, task->shape, &graph->window.piece.data[p], s.piece_slots);
        }
    }
    s.slots = s.own_slots + foreign_slots(reduce);
    s.slot_bytes = s.elements * access->buffer->elem_size;
    s.in_place = is_in_place(graph, reduce, first, end);
    if (!s.in_place) {
        s.allocation = ti_instruction_take_staging(graph, task, 0, bytes_of(&s, s.slots), &s.after, &s.afters);
    }
    TI_ASSERT(s.slots > 0 && s.elements > 0 && (!s.in_place || s.slots == 1));
    ti_vec_push(&graph->staged, s);
}

const ti_staging *ti_instruction_staging_of(ti_instruction_graph *graph, const ti_task *task, uint32_t access)
{
    for (size_t i = 0; i < graph->staged.count; i++) {
        if (graph->staged.data[i].task == task && graph->staged.data[i].access == access) {
            return &graph->staged.data[i];
        }
    }
    TI_UNREACHABLE();
}

/* Elements [first, first + count) x elements of a staging allocation. */
static ti_box slot_box(const ti_staging *s, uint32_t first, uint32_t count)
{
    TI_ASSERT(first + (uint64_t)count <= s->slots);
    int64_t n = (int64_t)s->elements;
    return (ti_box){ { first * n, 0, 0 }, { (first + (int64_t)count) * n, 1, 1 } };
}

void ti_instruction_stage_view(ti_instruction_graph *graph, const ti_command *execute, uint32_t access,
                               const ti_device_piece *at, uint32_t piece, ti_instruction_view *view)
{
    const ti_staging *s = ti_instruction_staging_of(graph, execute->task, access);
    ti_slot_range slots = slots_of(graph, s, piece);
    const uint64_t *after = s->after;
    size_t afters = s->afters;
    if (s->in_place) {
        const ti_box *all = &view->buffer->extent;
        int place = ti_instruction_place_in(graph, view->buffer, all, TI_HOST_MEMORY);
        view->place = ti_instruction_place(graph, view->buffer, all, place);
        return;
    }
    if (at->memory == TI_HOST_MEMORY) {
        view->place.allocation = s->allocation;
        view->first_slot = slots.first;
    } else {
        view->place.allocation = ti_instruction_take_staging(graph, execute->task, at->device, bytes_of(s, slots.count),
                                                             &after, &afters);
    }
    for (size_t i = 0; i < afters; i++) {
        ti_vec_push(&graph->awaited, after[i]);
    }
}

void ti_instruction_touch_results(ti_instruction_graph *graph)
{
    for (size_t i = 0; i < graph->staged.count; i++) {
        const ti_staging *s = &graph->staged.data[i];
        const ti_buffer_info *buffer = s->task->shape->access[s->access].buffer;
        if (s->in_place) {
            int place = ti_instruction_place_in(graph, buffer, &buffer->extent, TI_HOST_MEMORY);
            ti_instruction_touch(graph, buffer, &buffer->extent, place, true);
        }
    }
}

/* ---- slots of devices with a memory of their own */

/* `count` slots from `first` on, which are among the slots of a piece on a device. Returns the copy's id. */
static uint64_t copy_slots(ti_instruction_graph *graph, const ti_instruction_view *view, const ti_staging *s,
                           ti_slot_range piece, ti_slot_range slots, const ti_instruction *kernel)
{
    ti_instruction *copy = ti_emit_start(&graph->emit, TI_INSTRUCTION_COPY, s->task);
    copy->device = kernel->device;
    copy->as.copy.box = slot_box(s, slots.first, slots.count);
    copy->as.copy.from = (ti_place){ .allocation = view->place.allocation,
                                     .whole = slot_box(s, piece.first, piece.count) };
    copy->as.copy.to = (ti_place){ .allocation = s->allocation, .whole = slot_box(s, 0, s->own_slots) };
    copy->as.copy.elem_size = view->buffer->elem_size;
    ti_deps_add(&graph->emit.deps, kernel->id);
    ti_deps_add_all(&graph->emit.deps, s->after, s->afters);
    ti_emit(&graph->emit, copy);
    return copy->id;
}

/* Copy what a piece's kernel has made to the host's slots, and free the device's: of a task in blocks, what its parts
 * leave. */
static void fetch_slots(ti_instruction_graph *graph, const ti_instruction_view *view, const ti_staging *s,
                        uint32_t piece, const ti_instruction *kernel)
{
    ti_slot_range all = slots_of(graph, s, piece);
    size_t before = graph->partial.count;
    for (uint32_t r = 0; r < TI_MAX(kernel->as.kernel.runs, 1); r++) {
        ti_slot_range left = kernel->as.kernel.runs ? ti_instruction_run_slots(graph, s->task, piece, r) : all;
        TI_ASSERT(all.first <= left.first && left.first + left.count <= all.first + all.count);
        ti_vec_push(&graph->partial, copy_slots(graph, view, s, all, left, kernel));
    }
    ti_instruction_give_staging(graph, s->task, kernel->device, bytes_of(s, all.count), view->place.allocation,
                                &graph->partial.data[before], graph->partial.count - before);
}

void ti_instruction_unstage(ti_instruction_graph *graph, const ti_command *execute, const ti_device_piece *at,
                            uint32_t piece, const ti_instruction *kernel)
{
    ti_vec_push(&graph->partial, kernel->id);
    for (uint32_t i = 0; i < kernel->as.kernel.views && at->memory != TI_HOST_MEMORY; i++) {
        const ti_instruction_view *view = &kernel->as.kernel.view[i];
        if (view->mode == TACIT_REDUCE) {
            fetch_slots(graph, view, ti_instruction_staging_of(graph, execute->task, i), piece, kernel);
        }
    }
}

/* ---- what all reductions have in common */

uint64_t ti_instruction_exchange_slots(ti_instruction_graph *graph, const ti_staging *s,
                                       const ti_block_message *message, bool send, const uint32_t *slot, uint64_t after)
{
    TI_ASSERT(message->spans > 0 && (send ? after > 0 : after == 0));
    ti_instruction *instruction = ti_emit_start(&graph->emit, send ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE,
                                                s->task);
    ti_place place = { .allocation = s->allocation, .whole = slot_box(s, 0, s->slots) };
    ti_instruction_box *box = TI_ARENA_ARRAY(ti_arena_ring_top(&graph->emit.arenas), ti_instruction_box,
                                             message->spans);
    for (uint32_t i = 0; i < message->spans; i++) {
        box[i] = (ti_instruction_box){ place, slot_box(s, slot[i], 1) };
    }
    instruction->as.transfer.peer = message->peer;
    instruction->as.transfer.counter = message->counter;
    instruction->as.transfer.box = box;
    instruction->as.transfer.boxes = message->spans;
    instruction->as.transfer.elem_size = s->slot_bytes / s->elements;
    instruction->as.transfer.buffer = s->task->shape->access[s->access].buffer;
    if (after) {
        ti_deps_add(&graph->emit.deps, after);
    } else {
        ti_deps_add_all(&graph->emit.deps, s->after, s->afters);
    }
    ti_emit(&graph->emit, instruction);
    return instruction->id;
}

int ti_instruction_result_place(ti_instruction_graph *graph, const ti_staging *s, bool to_buffer, bool takes_old)
{
    const ti_buffer_info *buffer = s->task->shape->access[s->access].buffer;
    if (!to_buffer) {
        return -1;
    }
    int place = ti_instruction_place_in(graph, buffer, &buffer->extent, TI_HOST_MEMORY);
    if (takes_old) {
        ti_instruction_make_fresh(graph, s->task, buffer, &buffer->extent, place);
    }
    return place;
}

void ti_instruction_combine(ti_instruction_graph *graph, const ti_staging *s, int place, bool takes_old,
                            ti_combination *out)
{
    const ti_access *access = &s->task->shape->access[s->access];
    out->staging = s->allocation;
    out->elements = s->elements;
    out->reducer = access->reducer;
    out->include_old = place >= 0 && takes_old;
    out->box = access->buffer->extent;
    out->buffer = access->buffer;
    out->is_root = place >= 0;
    if (out->is_root) {
        out->to = ti_instruction_place(graph, access->buffer, &access->buffer->extent, place);
    }
}

ti_instruction *ti_instruction_start_reduce(ti_instruction_graph *graph, const ti_staging *s, bool to_buffer,
                                            bool takes_old)
{
    int place = ti_instruction_result_place(graph, s, to_buffer, takes_old);
    ti_instruction *instruction = ti_emit_start(&graph->emit, TI_INSTRUCTION_REDUCE, s->task);
    ti_instruction_combine(graph, s, place, takes_old, &instruction->as.reduce);
    if (to_buffer) {
        ti_instruction_touch(graph, instruction->as.reduce.buffer, &instruction->as.reduce.box, place, true);
    }
    return instruction;
}

void ti_instruction_free_staging(ti_instruction_graph *graph, const ti_staging *s, const uint64_t *after, int count)
{
    ti_instruction_give_staging(graph, s->task, 0, bytes_of(s, s->slots), s->allocation, after, (size_t)count);
}
