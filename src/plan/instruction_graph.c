/* Stage 3, the instruction graph: see instruction_graph.h. */
#include "plan/instruction_graph.h"

#include "base/check.h"
#include "plan/memory.h"

#include <string.h>

/* Partial results of a reduction: slots of one value each, first those of the pieces' parts, then those of children. */
typedef struct staging {
    const ti_task *task;
    uint32_t access;
    uint64_t allocation, alloc_id;
    uint32_t own_slots;
    size_t elements, slot_bytes;
} staging;

typedef struct buffer_state {
    const ti_buffer_info *info;
    ti_buffer_memory memory[]; /* one per memory of the system */
} buffer_state;

struct ti_instruction_graph {
    const ti_system *system;
    ti_emitter emit;
    uint64_t newest_point; /* last horizon or epoch */
    TI_VEC(buffer_state *) buffer; /* by slot */
    TI_VEC(staging) staged; /* of the reductions in progress in this batch */
    TI_VEC(uint64_t) kernels; /* that the next reductions combine */
};

ti_instruction_graph *ti_instruction_graph_create(const ti_system *system)
{
    ti_instruction_graph *graph = TI_NEW(ti_instruction_graph);
    graph->system = system;
    graph->emit.next_id = 1;
    ti_arena_ring_init(&graph->emit.arenas);
    return graph;
}

static size_t state_size(const ti_instruction_graph *graph)
{
    return sizeof(buffer_state) + (size_t)graph->system->memories * sizeof(ti_buffer_memory);
}

static void close_buffer(ti_instruction_graph *graph, uint32_t slot)
{
    buffer_state *state = graph->buffer.data[slot];
    if (state) {
        for (int m = 0; m < graph->system->memories; m++) {
            ti_buffer_memory_fini(&state->memory[m]);
        }
        ti_free(state, state_size(graph));
        graph->buffer.data[slot] = NULL;
    }
}

void ti_instruction_graph_destroy(ti_instruction_graph *graph)
{
    for (size_t i = 0; i < graph->buffer.count; i++) {
        close_buffer(graph, (uint32_t)i);
    }
    ti_vec_fini(&graph->buffer);
    ti_vec_fini(&graph->staged);
    ti_vec_fini(&graph->kernels);
    ti_vec_fini(&graph->emit.batch);
    ti_vec_fini(&graph->emit.scratch);
    ti_deps_fini(&graph->emit.deps);
    ti_era_fini(&graph->emit.era);
    ti_arena_ring_fini(&graph->emit.arenas);
    TI_DELETE(graph);
}

static ti_buffer_memory *memory_of(ti_instruction_graph *graph, const ti_buffer_info *buffer, int memory)
{
    TI_ASSERT(buffer->slot < graph->buffer.count && graph->buffer.data[buffer->slot]);
    return &graph->buffer.data[buffer->slot]->memory[memory];
}

static ti_arena *arena_of(ti_instruction_graph *graph)
{
    return ti_arena_ring_top(&graph->emit.arenas);
}

/* ---- footprints: allocations for the whole batch are made before its first instruction */

static void ensure(ti_instruction_graph *graph, const ti_task *task, const ti_buffer_info *buffer, const ti_box *box)
{
    ti_buffer_memory_ensure(memory_of(graph, buffer, TI_HOST_MEMORY), &graph->emit, task, buffer, box);
}

static void foresee_execute(ti_instruction_graph *graph, const ti_command *command)
{
    for (uint32_t p = 0; p < command->as.execute.pieces; p++) {
        for (uint32_t i = 0; i < command->task->accesses; i++) {
            if (command->task->access[i].mode != TACIT_REDUCE) {
                ensure(graph, command->task, command->task->access[i].buffer, &command->as.execute.piece[p].footprint[i].bounding);
            }
        }
    }
}

static void foresee(ti_instruction_graph *graph, const ti_command *command)
{
    switch (command->kind) {
    case TI_COMMAND_EXECUTE:
        foresee_execute(graph, command);
        break;
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        for (uint32_t i = 0; i < command->as.transfer.boxes; i++) {
            ensure(graph, command->task, command->as.transfer.buffer, &command->as.transfer.box[i]);
        }
        break;
    case TI_COMMAND_REDUCE:
        if (command->as.reduce.tree->parent < 0) {
            const ti_buffer_info *buffer = command->task->access[command->as.reduce.access].buffer;
            ensure(graph, command->task, buffer, &buffer->extent);
        }
        break;
    case TI_COMMAND_FENCE:
        ensure(graph, command->task, command->task->access[0].buffer, &command->as.fence);
        break;
    case TI_COMMAND_COLLECTIVE:
    case TI_COMMAND_EPOCH:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        break;
    }
}

/* ---- messages */

static void compile_transfer(ti_instruction_graph *graph, const ti_command *command)
{
    bool send = command->kind == TI_COMMAND_SEND;
    const ti_buffer_info *buffer = command->as.transfer.buffer;
    ti_buffer_memory *memory = memory_of(graph, buffer, TI_HOST_MEMORY);
    ti_instruction *instruction = ti_emit_start(&graph->emit, send ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE, command->task);
    ti_instruction_box *box = TI_ARENA_ARRAY(arena_of(graph), ti_instruction_box, command->as.transfer.boxes);
    for (uint32_t i = 0; i < command->as.transfer.boxes; i++) {
        const ti_box *part = &command->as.transfer.box[i];
        box[i] = (ti_instruction_box){ ti_buffer_memory_place(memory, part), *part };
        if (send) {
            ti_tracker_read(&memory->tracker, part, instruction->id, &graph->emit.deps);
        } else {
            ti_tracker_write(&memory->tracker, part, instruction->id, &graph->emit.deps);
        }
    }
    instruction->as.transfer.peer = command->as.transfer.peer;
    instruction->as.transfer.counter = command->as.transfer.counter;
    instruction->as.transfer.box = box;
    instruction->as.transfer.boxes = command->as.transfer.boxes;
    instruction->as.transfer.elem_size = buffer->elem_size;
    instruction->as.transfer.buffer = buffer;
    ti_emit(&graph->emit, instruction);
}

/* ---- kernels */

static staging *staging_of(ti_instruction_graph *graph, const ti_task *task, uint32_t access)
{
    for (size_t i = 0; i < graph->staged.count; i++) {
        if (graph->staged.data[i].task == task && graph->staged.data[i].access == access) {
            return &graph->staged.data[i];
        }
    }
    TI_UNREACHABLE();
}

static void fill_view(ti_instruction_graph *graph, const ti_command *command, uint32_t piece, uint32_t index, ti_instruction_view *view)
{
    const ti_access *access = &command->task->access[index];
    const ti_footprint *footprint = &command->as.execute.piece[piece].footprint[index];
    view->buffer = access->buffer;
    view->mode = access->mode;
    view->op = access->op;
    view->box = footprint->bounding;
    view->first_slot = 0;
    if (access->mode == TACIT_REDUCE) {
        const staging *s = staging_of(graph, command->task, index);
        view->place = (ti_place){ .allocation = s->allocation };
        view->first_slot = piece * (uint32_t)graph->system->workers;
        ti_deps_add(&graph->emit.deps, s->alloc_id);
    } else if (ti_box_is_empty(&view->box)) {
        view->place = (ti_place){ 0 };
    } else {
        view->place = ti_buffer_memory_place(memory_of(graph, access->buffer, TI_HOST_MEMORY), &view->box);
    }
}

static void track_footprints(ti_instruction_graph *graph, const ti_command *command, uint32_t piece, uint64_t id)
{
    for (int writes = 0; writes < 2; writes++) {
        for (uint32_t i = 0; i < command->task->accesses; i++) {
            const ti_access *access = &command->task->access[i];
            const ti_footprint *f = &command->as.execute.piece[piece].footprint[i];
            ti_tracker *tracker = &memory_of(graph, access->buffer, TI_HOST_MEMORY)->tracker;
            for (uint32_t k = 0; !writes && ti_access_reads(access) && k < f->boxes; k++) {
                ti_tracker_read(tracker, &f->box[k], id, &graph->emit.deps);
            }
            for (uint32_t k = 0; writes && ti_access_writes(access) && k < f->boxes; k++) {
                ti_tracker_write(tracker, &f->box[k], id, &graph->emit.deps);
            }
        }
    }
}

static void compile_piece(ti_instruction_graph *graph, const ti_command *command, uint32_t piece)
{
    const ti_task *task = command->task;
    ti_instruction *instruction = ti_emit_start(&graph->emit, task->on_host ? TI_INSTRUCTION_HOST : TI_INSTRUCTION_KERNEL, task);
    ti_instruction_view *view = TI_ARENA_ARRAY(arena_of(graph), ti_instruction_view, task->accesses);
    for (uint32_t i = 0; i < task->accesses; i++) {
        fill_view(graph, command, piece, i, &view[i]);
    }
    instruction->as.kernel.chunk = command->as.execute.piece[piece].chunk;
    instruction->as.kernel.view = view;
    instruction->as.kernel.views = task->accesses;
    track_footprints(graph, command, piece, instruction->id);
    ti_emit(&graph->emit, instruction);
    ti_vec_push(&graph->kernels, instruction->id);
}

/* ---- reductions */

/* Staging for one reduced access: a slot for every part of every piece, and one for every child in the tree. */
static void stage_reduction(ti_instruction_graph *graph, const ti_command *execute, const ti_command *reduce)
{
    const ti_access *access = &reduce->task->access[reduce->as.reduce.access];
    staging s = {
        .task = reduce->task,
        .access = reduce->as.reduce.access,
        .own_slots = execute->as.execute.pieces * (uint32_t)graph->system->workers,
        .elements = (size_t)ti_box_volume(&access->buffer->extent),
    };
    s.slot_bytes = s.elements * access->buffer->elem_size;
    size_t slots = s.own_slots + (size_t)reduce->as.reduce.tree->children;
    s.alloc_id = ti_emit_staging(&graph->emit, reduce->task, slots * s.slot_bytes, &s.allocation);
    ti_vec_push(&graph->staged, s);
}

static uint64_t emit_slot_message(ti_instruction_graph *graph, const ti_command *command, const staging *s, uint32_t slot, int child, uint64_t after)
{
    const ti_tree_place *tree = command->as.reduce.tree;
    bool send = child < 0;
    ti_instruction *instruction = ti_emit_start(&graph->emit, send ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE, command->task);
    ti_instruction_box *box = TI_ARENA_NEW(arena_of(graph), ti_instruction_box);
    int64_t n = (int64_t)s->elements;
    box->box = (ti_box){ { slot * n, 0, 0 }, { (slot + 1) * n, 1, 1 } };
    box->place = (ti_place){ .allocation = s->allocation, .whole = { { 0, 0, 0 }, { (slot + 1) * n, 1, 1 } } };
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

static void compile_reduce(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_tree_place *tree = command->as.reduce.tree;
    const ti_access *access = &command->task->access[command->as.reduce.access];
    staging s = *staging_of(graph, command->task, command->as.reduce.access);
    uint64_t received[TI_TREE_CHILDREN];
    for (int i = 0; i < tree->children; i++) {
        received[i] = emit_slot_message(graph, command, &s, s.own_slots + (uint32_t)i, i, s.alloc_id);
    }
    ti_instruction *instruction = ti_emit_start(&graph->emit, TI_INSTRUCTION_REDUCE, command->task);
    instruction->as.reduce.staging = s.allocation;
    instruction->as.reduce.slots = s.own_slots + (uint32_t)tree->children;
    instruction->as.reduce.elements = s.elements;
    instruction->as.reduce.op = access->op;
    instruction->as.reduce.box = access->buffer->extent;
    instruction->as.reduce.buffer = access->buffer;
    instruction->as.reduce.is_root = tree->parent < 0;
    for (int i = 0; i < tree->children; i++) {
        ti_deps_add(&graph->emit.deps, received[i]);
    }
    for (size_t i = 0; i < graph->kernels.count; i++) {
        ti_deps_add(&graph->emit.deps, graph->kernels.data[i]);
    }
    if (tree->parent < 0) {
        ti_buffer_memory *memory = memory_of(graph, access->buffer, TI_HOST_MEMORY);
        instruction->as.reduce.to = ti_buffer_memory_place(memory, &access->buffer->extent);
        ti_tracker_write(&memory->tracker, &access->buffer->extent, instruction->id, &graph->emit.deps);
    }
    ti_emit(&graph->emit, instruction);
    uint64_t last = tree->parent < 0 ? instruction->id : emit_slot_message(graph, command, &s, 0, -1, instruction->id);
    ti_instruction *release = ti_emit_start(&graph->emit, TI_INSTRUCTION_FREE, command->task);
    release->as.memory.allocation = s.allocation;
    release->as.memory.bytes = instruction->as.reduce.slots * s.slot_bytes;
    ti_deps_add(&graph->emit.deps, last);
    ti_emit(&graph->emit, release);
}

static void compile_execute(ti_instruction_graph *graph, const ti_command *const *command, size_t left)
{
    ti_vec_clear(&graph->kernels);
    ti_vec_clear(&graph->staged);
    for (size_t i = 1; i < left && command[i]->kind == TI_COMMAND_REDUCE; i++) {
        stage_reduction(graph, command[0], command[i]);
    }
    for (uint32_t p = 0; p < command[0]->as.execute.pieces; p++) {
        compile_piece(graph, command[0], p);
    }
}

/* ---- fences, buffers, epochs */

static void emit_signal(ti_instruction_graph *graph, const ti_task *task, struct ti_signal *signal, uint64_t after)
{
    ti_instruction *instruction = ti_emit_start(&graph->emit, TI_INSTRUCTION_FENCE, task);
    instruction->as.fence.signal = signal;
    ti_deps_add(&graph->emit.deps, after);
    ti_emit(&graph->emit, instruction);
}

static void compile_fence(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_buffer_info *buffer = command->task->access[0].buffer;
    ti_buffer_memory *memory = memory_of(graph, buffer, TI_HOST_MEMORY);
    const ti_box *box = &command->as.fence;
    ti_instruction *copy = ti_emit_start(&graph->emit, TI_INSTRUCTION_COPY, command->task);
    copy->as.copy.from = ti_buffer_memory_place(memory, box);
    copy->as.copy.to = (ti_place){ .user = command->task->as.fence.memory, .whole = *box };
    copy->as.copy.box = *box;
    copy->as.copy.elem_size = buffer->elem_size;
    ti_tracker_read(&memory->tracker, box, copy->id, &graph->emit.deps);
    ti_emit(&graph->emit, copy);
    emit_signal(graph, command->task, command->task->as.fence.signal, copy->id);
}

static void compile_create(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_task *task = command->task;
    const ti_buffer_info *info = task->as.create.buffer;
    while (graph->buffer.count <= info->slot) {
        ti_vec_push(&graph->buffer, NULL);
    }
    TI_ASSERT(!graph->buffer.data[info->slot]);
    buffer_state *state = ti_alloc_zero(state_size(graph));
    graph->buffer.data[info->slot] = state;
    state->info = info;
    for (int m = 0; m < graph->system->memories; m++) {
        ti_buffer_memory_init(&state->memory[m], &graph->emit);
    }
    if (!task->as.create.init) {
        return;
    }
    ti_buffer_memory *memory = &state->memory[TI_HOST_MEMORY];
    ti_buffer_memory_ensure(memory, &graph->emit, task, info, &info->extent);
    ti_instruction *copy = ti_emit_start(&graph->emit, TI_INSTRUCTION_COPY, task);
    copy->as.copy.from = (ti_place){ .user = (void *)(uintptr_t)task->as.create.init, .whole = info->extent };
    copy->as.copy.to = ti_buffer_memory_place(memory, &info->extent);
    copy->as.copy.box = info->extent;
    copy->as.copy.elem_size = info->elem_size;
    ti_tracker_write(&memory->tracker, &info->extent, copy->id, &graph->emit.deps);
    ti_emit(&graph->emit, copy);
    if (task->as.create.signal) {
        emit_signal(graph, task, task->as.create.signal, copy->id);
    }
}

static void compile_destroy(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_buffer_info *info = command->task->as.destroy;
    for (int m = 0; m < graph->system->memories; m++) {
        ti_buffer_memory_release(memory_of(graph, info, m), &graph->emit, command->task, info);
    }
    close_buffer(graph, info->slot);
}

static void compile_point(ti_instruction_graph *graph, const ti_command *command)
{
    ti_instruction *instruction = ti_emit_start(&graph->emit, TI_INSTRUCTION_EPOCH, command->task);
    bool is_horizon = command->task->kind == TI_TASK_HORIZON;
    instruction->as.epoch.is_horizon = is_horizon;
    instruction->as.epoch.barrier = !is_horizon && command->task->as.barrier;
    ti_emit(&graph->emit, instruction);
    ti_era_apply(&graph->emit.era, is_horizon ? graph->newest_point : instruction->id);
    graph->newest_point = instruction->id;
    ti_arena_ring_advance(&graph->emit.arenas, command->task->id);
}

static void compile(ti_instruction_graph *graph, const ti_command *const *command, size_t left)
{
    switch (command[0]->kind) {
    case TI_COMMAND_EXECUTE:
        compile_execute(graph, command, left);
        break;
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        compile_transfer(graph, command[0]);
        break;
    case TI_COMMAND_REDUCE:
        compile_reduce(graph, command[0]);
        break;
    case TI_COMMAND_FENCE:
        compile_fence(graph, command[0]);
        break;
    case TI_COMMAND_EPOCH:
        compile_point(graph, command[0]);
        break;
    case TI_COMMAND_CREATE:
        compile_create(graph, command[0]);
        break;
    case TI_COMMAND_DESTROY:
        compile_destroy(graph, command[0]);
        break;
    case TI_COMMAND_COLLECTIVE:
        TI_UNREACHABLE(); /* no planner emits one yet */
    }
}

/* Commands up to the next one after which other buffers exist. */
static size_t segment(ti_command_batch commands, size_t from)
{
    size_t to = from;
    while (to < commands.count && commands.command[to]->kind != TI_COMMAND_CREATE && commands.command[to]->kind != TI_COMMAND_DESTROY) {
        to++;
    }
    return TI_MIN(to + 1, commands.count);
}

ti_instruction_batch ti_instruction_graph_add(ti_instruction_graph *graph, ti_command_batch commands)
{
    ti_vec_clear(&graph->emit.batch);
    for (size_t from = 0; from < commands.count;) {
        size_t to = segment(commands, from);
        for (size_t i = from; i < to; i++) {
            foresee(graph, commands.command[i]);
        }
        for (size_t i = from; i < to; i++) {
            compile(graph, &commands.command[i], commands.count - i);
        }
        from = to;
    }
    return (ti_instruction_batch){ graph->emit.batch.data, graph->emit.batch.count };
}

void ti_instruction_graph_release(ti_instruction_graph *graph, uint64_t executed)
{
    ti_arena_ring_release(&graph->emit.arenas, executed);
}

ti_instruction_counts ti_instruction_graph_counts(const ti_instruction_graph *graph)
{
    ti_instruction_counts counts = { graph->emit.next_id - 1, graph->emit.reallocations, 0 };
    for (size_t i = 0; i < graph->buffer.count; i++) {
        for (int m = 0; graph->buffer.data[i] && m < graph->system->memories; m++) {
            counts.entries += graph->buffer.data[i]->memory[m].tracker.map.count;
        }
    }
    return counts;
}
