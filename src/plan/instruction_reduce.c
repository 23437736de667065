/* The instruction graph, reductions: slots for partial results, their combination, and messages along the tree of nodes.
 *
 * A reduction of this node has one staging allocation in host memory: own_slots slots, `workers` for each piece, then one for each child. A piece on a
 * device with a memory of its own fills slots there, which are copied into the host's. */
#include "plan/instruction_impl.h"

#include "base/check.h"

void ti_instruction_stage(ti_instruction_graph *graph, const ti_command *reduce, size_t pieces)
{
    const ti_access *access = &reduce->task->access[reduce->as.reduce.access];
    ti_staging s = {
        .task = reduce->task,
        .access = reduce->as.reduce.access,
        .own_slots = (uint32_t)pieces * (uint32_t)graph->system->workers,
        .elements = (size_t)ti_box_volume(&access->buffer->extent),
    };
    s.slot_bytes = s.elements * access->buffer->elem_size;
    size_t slots = s.own_slots + (size_t)reduce->as.reduce.tree->children;
    s.alloc_id = ti_emit_staging(&graph->emit, reduce->task, 0, slots * s.slot_bytes, &s.allocation);
    ti_vec_push(&graph->staged, s);
}

static const ti_staging *staging_of(ti_instruction_graph *graph, const ti_task *task, uint32_t access)
{
    for (size_t i = 0; i < graph->staged.count; i++) {
        if (graph->staged.data[i].task == task && graph->staged.data[i].access == access) {
            return &graph->staged.data[i];
        }
    }
    TI_UNREACHABLE();
}

/* Elements [slot, slot + slots) x elements of a staging allocation. */
static ti_box slot_box(const ti_staging *s, int64_t slot, int64_t slots)
{
    int64_t n = (int64_t)s->elements;
    return (ti_box){ { slot * n, 0, 0 }, { (slot + slots) * n, 1, 1 } };
}

void ti_instruction_stage_view(ti_instruction_graph *graph, const ti_command *execute, uint32_t access,
                               const ti_device_piece *at, uint32_t piece, ti_instruction_view *view)
{
    const ti_staging *s = staging_of(graph, execute->task, access);
    uint32_t workers = (uint32_t)graph->system->workers;
    if (at->memory == TI_HOST_MEMORY) {
        view->place.allocation = s->allocation;
        view->first_slot = piece * workers;
        view->after = s->alloc_id;
        return;
    }
    view->after = ti_emit_staging(&graph->emit, execute->task, at->device, workers * s->slot_bytes,
                                  &view->place.allocation);
}

/* Copy a device's slots to the host's, and free the device's. Returns the copy's id. */
static uint64_t fetch_slots(ti_instruction_graph *graph, const ti_instruction_view *view, const ti_staging *s,
                            const ti_device_piece *at, uint32_t piece, const ti_instruction *kernel)
{
    uint32_t workers = (uint32_t)graph->system->workers;
    ti_instruction *copy = ti_emit_start(&graph->emit, TI_INSTRUCTION_COPY, s->task);
    copy->device = at->device;
    copy->as.copy.box = slot_box(s, (int64_t)piece * workers, workers);
    copy->as.copy.from = (ti_place){ .allocation = view->place.allocation, .whole = copy->as.copy.box };
    copy->as.copy.to = (ti_place){ .allocation = s->allocation, .whole = slot_box(s, 0, s->own_slots) };
    copy->as.copy.elem_size = view->buffer->elem_size;
    ti_deps_add(&graph->emit.deps, kernel->id);
    ti_deps_add(&graph->emit.deps, s->alloc_id);
    ti_emit(&graph->emit, copy);
    ti_instruction *release = ti_emit_start(&graph->emit, TI_INSTRUCTION_FREE, s->task);
    release->device = at->device;
    release->as.memory.allocation = view->place.allocation;
    release->as.memory.bytes = workers * s->slot_bytes;
    ti_deps_add(&graph->emit.deps, copy->id);
    ti_emit(&graph->emit, release);
    return copy->id;
}

void ti_instruction_unstage(ti_instruction_graph *graph, const ti_command *execute, const ti_device_piece *at,
                            uint32_t piece, const ti_instruction *kernel)
{
    ti_vec_push(&graph->partial, kernel->id);
    for (uint32_t i = 0; i < kernel->as.kernel.views && at->memory != TI_HOST_MEMORY; i++) {
        const ti_instruction_view *view = &kernel->as.kernel.view[i];
        if (view->mode == TACIT_REDUCE) {
            uint64_t copy = fetch_slots(graph, view, staging_of(graph, execute->task, i), at, piece, kernel);
            ti_vec_push(&graph->partial, copy);
        }
    }
}

static uint64_t emit_slot_message(ti_instruction_graph *graph, const ti_command *command, const ti_staging *s,
                                  uint32_t slot, int child, uint64_t after)
{
    const ti_tree_place *tree = command->as.reduce.tree;
    bool send = child < 0;
    ti_instruction *instruction = ti_emit_start(&graph->emit, send ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE,
                                                command->task);
    ti_instruction_box *box = TI_ARENA_NEW(ti_arena_ring_top(&graph->emit.arenas), ti_instruction_box);
    box->box = slot_box(s, slot, 1);
    box->place = (ti_place){ .allocation = s->allocation, .whole = slot_box(s, 0, slot + 1) };
    instruction->as.transfer.peer = send ? tree->parent : tree->child[child];
    instruction->as.transfer.counter = send ? tree->parent_counter : tree->child_counter[child];
    instruction->as.transfer.box = box;
    instruction->as.transfer.boxes = 1;
    instruction->as.transfer.elem_size = s->slot_bytes / s->elements;
    instruction->as.transfer.buffer = command->task->access[s->access].buffer;
    ti_deps_add(&graph->emit.deps, after);
    ti_emit(&graph->emit, instruction);
    return instruction->id;
}

static void fill_reduce(ti_instruction *instruction, const ti_command *command, const ti_staging *s)
{
    const ti_access *access = &command->task->access[s->access];
    instruction->as.reduce.staging = s->allocation;
    instruction->as.reduce.slots = s->own_slots + (uint32_t)command->as.reduce.tree->children;
    instruction->as.reduce.elements = s->elements;
    instruction->as.reduce.reducer = access->reducer;
    instruction->as.reduce.include_old = access->include_old;
    instruction->as.reduce.box = access->buffer->extent;
    instruction->as.reduce.buffer = access->buffer;
    instruction->as.reduce.is_root = command->as.reduce.tree->parent < 0;
}

/* The root writes the buffer in host memory. */
static void write_result(ti_instruction_graph *graph, ti_instruction *instruction)
{
    const ti_buffer_info *buffer = instruction->as.reduce.buffer;
    ti_buffer_memory *memory = ti_instruction_memory(graph, buffer, TI_HOST_MEMORY);
    instruction->as.reduce.to = ti_buffer_memory_place(memory, &buffer->extent);
    ti_tracker_write(&memory->tracker, &buffer->extent, instruction->id, &graph->emit.deps);
    ti_instruction_note_write(graph, buffer, &buffer->extent, TI_HOST_MEMORY);
}

void ti_instruction_compile_reduce(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_tree_place *tree = command->as.reduce.tree;
    const ti_staging s = *staging_of(graph, command->task, command->as.reduce.access);
    uint64_t received[TI_TREE_CHILDREN];
    for (int i = 0; i < tree->children; i++) {
        received[i] = emit_slot_message(graph, command, &s, s.own_slots + (uint32_t)i, i, s.alloc_id);
    }
    if (tree->parent < 0 && command->task->access[s.access].include_old) {
        const ti_buffer_info *buffer = command->task->access[s.access].buffer;
        ti_instruction_make_fresh(graph, command->task, buffer, &buffer->extent, TI_HOST_MEMORY);
    }
    ti_instruction *instruction = ti_emit_start(&graph->emit, TI_INSTRUCTION_REDUCE, command->task);
    fill_reduce(instruction, command, &s);
    for (int i = 0; i < tree->children; i++) {
        ti_deps_add(&graph->emit.deps, received[i]);
    }
    for (size_t i = 0; i < graph->partial.count; i++) {
        ti_deps_add(&graph->emit.deps, graph->partial.data[i]);
    }
    if (tree->parent < 0) {
        write_result(graph, instruction);
    }
    ti_emit(&graph->emit, instruction);
    uint64_t last = tree->parent < 0 ? instruction->id : emit_slot_message(graph, command, &s, 0, -1, instruction->id);
    ti_instruction *release = ti_emit_start(&graph->emit, TI_INSTRUCTION_FREE, command->task);
    release->as.memory.allocation = s.allocation;
    release->as.memory.bytes = instruction->as.reduce.slots * s.slot_bytes;
    ti_deps_add(&graph->emit.deps, last);
    ti_emit(&graph->emit, release);
}
