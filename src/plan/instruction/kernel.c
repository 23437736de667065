/* The instruction graph, kernels: see impl.h. Pieces of a node's chunk are placed on devices; their views, what they
 * read and write, their copies.
 *
 * Nodes are split first, devices within a node after: a node's piece is cut like a task, with one part per device,
 * along dimension 0 alone if these have weights that differ. Host tasks stay whole, and so do tasks of which every call
 * computes the same. Scheduler thread. */
#include "plan/instruction/impl.h"

#include "grid/split.h"

/* ---- pieces on devices */

typedef struct device_range {
    int first, count;
} device_range;

/* The devices that get the task: those that it has a kernel for; a host device that is to be idle only if no other can
 * run it. */
static device_range devices_for(const ti_system *system, const ti_shape *shape)
{
    int hosts = ti_system_hosts(system);
    bool accelerated = system->accelerator & shape->accelerated;
    int first = accelerated && (system->idle_host || !shape->host) ? hosts : 0;
    int end = accelerated ? system->devices : hosts;
    TI_ASSERT(0 <= first && first < end && end <= TI_MAX_MEMORIES);
    return (device_range){ first, end - first };
}

/* Kernels of accelerators see an access in one piece. */
static void join_parts(const ti_system *system, const ti_shape *shape, int device, ti_footprint *footprint)
{
    for (uint32_t i = 0; i < shape->accesses; i++) {
        footprint[i].together = ti_system_is_accelerator(system, device);
    }
}

/* Cut a piece over the devices that get the task. (In simulations, node 0 makes shapes of tasks that run elsewhere
 * without mappers: they are completed here.) */
static void cut_piece(ti_instruction_graph *graph, const ti_task *task, const ti_piece *whole)
{
    device_range range = devices_for(graph->system, task->shape);
    const uint32_t *weights = ti_system_weights(graph->system, range.first);
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    const ti_access *access = ti_shape_complete(task->shape, arena)->access;
    ti_split_request request = { .range = whole->chunk,
                                 .gran = { task->shape->gran[0], task->shape->gran[1], task->shape->gran[2] },
                                 .nodes = range.count,
                                 .place = -1,
                                 .oversubscribe = 1,
                                 .two_dimensional = task->shape->two_dimensional && !weights,
                                 .weights = weights };
    int64_t table[TI_MAX_MEMORIES + 1];
    if (task->shape->items && task->shape->border) {
        int64_t *border = TI_ARENA_ARRAY(arena, int64_t, (size_t)range.count + 1);
        ti_split_cut(&request, task->shape->items, border);
        request.border = border;
    }
    ti_split split = ti_split_make(&request, table);
    TI_ASSERT(split.chunks <= range.count);
    for (int64_t c = 0; c < split.chunks; c++) {
        ti_piece *piece = TI_ARENA_NEW(arena, ti_piece);
        ti_footprint *footprint = TI_ARENA_ARRAY(arena, ti_footprint, task->shape->accesses);
        piece->chunk = ti_split_chunk(&split, c);
        piece->footprint = footprint;
        for (uint32_t i = 0; i < task->shape->accesses; i++) {
            ti_footprint_fill(&footprint[i], &access[i], &piece->chunk, arena);
        }
        int device = range.first + (int)c;
        join_parts(graph->system, task->shape, device, footprint);
        ti_device_piece at = { piece, device, ti_system_memory(graph->system, device) };
        ti_vec_push(&graph->window.piece, at);
    }
}

static bool stays_whole(const ti_instruction_graph *graph, const ti_task *task)
{
    return task->shape->on_host || task->shape->whole_chunk || devices_for(graph->system, task->shape).count == 1;
}

/* The only device that executes a task, if it is an accelerator; else device 0. What placed tasks read may come by way
 * of other nodes, which forward it from the host's memory. */
static int only_accelerator(const ti_instruction_graph *graph, const ti_task *task)
{
    const int first = devices_for(graph->system, task->shape).first;
    const bool is_only = task->shape->place == TI_PLACE_SPLIT && !task->shape->on_host && stays_whole(graph, task);
    return is_only && ti_system_is_accelerator(graph->system, first) ? first : 0;
}

int ti_instruction_receiver(const ti_instruction_graph *graph, const ti_task *task)
{
    return graph->system->direct ? ti_system_memory(graph->system, only_accelerator(graph, task)) : TI_HOST_MEMORY;
}

int ti_instruction_collector(const ti_instruction_graph *graph, const ti_task *task)
{
    return graph->system->nccl ? only_accelerator(graph, task) : 0;
}

static bool has_access_in_parts(const ti_shape *shape)
{
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (shape->access[i].in_parts) {
            return true;
        }
    }
    return false;
}

/* A piece of a command for an accelerator: each of its accesses is seen in one piece. */
static const ti_piece *joined(ti_instruction_graph *graph, const ti_shape *shape, int device, const ti_piece *piece)
{
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    ti_piece *own = TI_ARENA_NEW(arena, ti_piece);
    ti_footprint *footprint = ti_arena_copy(arena, piece->footprint, shape->accesses * sizeof(*footprint));
    *own = *piece;
    own->footprint = footprint;
    join_parts(graph->system, shape, device, footprint);
    return own;
}

static ti_device_piece whole_piece(ti_instruction_graph *graph, const ti_task *task, const ti_piece *piece)
{
    if (task->shape->on_host) {
        return (ti_device_piece){ piece, 0, TI_HOST_MEMORY };
    }
    int device = devices_for(graph->system, task->shape).first;
    if (ti_system_is_accelerator(graph->system, device) && has_access_in_parts(task->shape)) {
        piece = joined(graph, task->shape, device, piece);
    }
    return (ti_device_piece){ piece, device, ti_system_memory(graph->system, device) };
}

void ti_instruction_place_pieces(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_task *task = command->task;
    for (uint32_t p = 0; p < command->as.execute.pieces; p++) {
        const ti_piece *piece = &command->as.execute.piece[p];
        if (stays_whole(graph, task)) {
            ti_vec_push(&graph->window.piece, whole_piece(graph, task, piece));
        } else {
            cut_piece(graph, task, piece);
        }
    }
}

/* Grow the box until it covers each box that the access sees and that meets it. Whether it has grown. */
static bool grow_over(const ti_access *access, const ti_footprint *touched, ti_box *box)
{
    bool grows = false;
    uint32_t count;
    const ti_box *seen = ti_footprint_seen(touched, access, &count);
    for (uint32_t k = 0; k < count; k++) {
        if (ti_box_meets(box, &seen[k]) && !ti_box_covers(box, &seen[k])) {
            *box = ti_box_bounding(box, &seen[k]);
            grows = true;
        }
    }
    return grows;
}

/* What must lie in one place for an access to see `box`: that, and what other accesses to the buffer see where they
 * meet it if one of them writes, since the kernel may see through one what it writes through the other. */
static ti_box needed(const ti_shape *shape, const ti_piece *piece, uint32_t index, ti_box box)
{
    const ti_buffer_info *buffer = shape->access[index].buffer;
    bool writes = false, grows = true;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        writes |= shape->access[i].buffer == buffer && ti_access_writes(&shape->access[i]);
    }
    while (writes && grows) {
        grows = false;
        for (uint32_t i = 0; i < shape->accesses; i++) {
            if (shape->access[i].buffer == buffer && shape->access[i].mode != TACIT_REDUCE) {
                grows |= grow_over(&shape->access[i], &piece->footprint[i], &box);
            }
        }
    }
    return box;
}

static void foresee(ti_instruction_graph *graph, const ti_task *task, const ti_piece *piece, int memory)
{
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        const ti_access *access = &task->shape->access[i];
        uint32_t count;
        const ti_box *seen = ti_footprint_seen(&piece->footprint[i], access, &count);
        for (uint32_t k = 0; access->mode != TACIT_REDUCE && k < count; k++) {
            const ti_box box = needed(task->shape, piece, i, seen[k]);
            ti_instruction_want(graph, (ti_need){ task, (int)i }, access->buffer, &box, memory);
        }
    }
}

void ti_instruction_foresee_pieces(ti_instruction_graph *graph, const ti_command *command, size_t first, size_t end)
{
    if (command->as.execute.whole) { /* first, so that what its parts want is there; they are in one memory */
        TI_ASSERT(first < end && end <= graph->window.piece.count);
        foresee(graph, command->task, command->as.execute.whole, graph->window.piece.data[first].memory);
    }
    for (size_t p = first; p < end; p++) {
        const ti_device_piece *at = &graph->window.piece.data[p];
        foresee(graph, command->task, at->piece, at->memory);
    }
}

/* ---- kernels */

/* Fill in the parts of a view. `place` has the place of each box of the footprint; NULL: buffers have one place. */
static TI_NOINLINE void fill_parts(ti_instruction_graph *graph, const ti_footprint *touched, const int *place,
                                   ti_instruction_view *view)
{
    ti_instruction_box *part = TI_ARENA_ARRAY(ti_arena_ring_top(&graph->emit.arenas), ti_instruction_box,
                                              touched->boxes);
    for (uint32_t k = 0; k < touched->boxes; k++) {
        const int in = place ? place[k] : TI_HOST_MEMORY;
        const ti_box *box = &touched->box[k];
        part[k] = (ti_instruction_box){ ti_instruction_place(graph, view->buffer, box, in), *box };
    }
    view->part = part;
    view->parts = touched->boxes;
}

static void fill_view(ti_instruction_graph *graph, const ti_command *command, const ti_device_piece *at, uint32_t piece,
                      uint32_t index, const int *place, ti_instruction_view *view)
{
    const ti_access *access = &command->task->shape->access[index];
    const ti_footprint *touched = &at->piece->footprint[index];
    *view = (ti_instruction_view){
        .buffer = access->buffer, .mode = access->mode, .reducer = access->reducer, .box = touched->bounding
    };
    if (access->mode == TACIT_REDUCE) {
        ti_instruction_stage_view(graph, command, index, at, piece, view);
    } else if (touched->boxes && TI_UNLIKELY(ti_footprint_in_parts(touched, access))) {
        fill_parts(graph, touched, place, view);
    } else if (touched->boxes) {
        view->place = ti_instruction_place(graph, access->buffer, &view->box, place ? place[0] : TI_HOST_MEMORY);
    }
}

/* The places of the boxes that an access touches. */
static const int *places_of(ti_instruction_graph *graph, const ti_shape *shape, const ti_device_piece *at,
                            uint32_t index)
{
    const ti_access *access = &shape->access[index];
    const ti_footprint *touched = &at->piece->footprint[index];
    int *place = TI_ARENA_ARRAY(ti_arena_ring_top(&graph->emit.arenas), int, touched->boxes);
    uint32_t count;
    const ti_box *seen = ti_footprint_seen(touched, access, &count);
    TI_ASSERT(count <= touched->boxes);
    for (uint32_t k = 0; k < touched->boxes; k++) {
        place[k] = at->memory;
        if (access->mode != TACIT_REDUCE && k < count) {
            const ti_box box = needed(shape, at->piece, index, seen[k]);
            place[k] = ti_instruction_place_in(graph, access->buffer, &box, at->memory);
        } else if (access->mode != TACIT_REDUCE) {
            place[k] = place[0];
        }
    }
    return place;
}

/* By access, the places of what the piece touches; what it reads is brought there. NULL: buffers have one place. */
static const int *const *freshen(ti_instruction_graph *graph, const ti_command *command, const ti_device_piece *at)
{
    const ti_shape *shape = command->task->shape;
    if (!graph->coherent) {
        return NULL;
    }
    const int **place = TI_ARENA_ARRAY(ti_arena_ring_top(&graph->emit.arenas), const int *, shape->accesses);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        place[i] = places_of(graph, shape, at, i);
    }
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *access = &shape->access[i];
        const ti_footprint *f = &at->piece->footprint[i];
        for (uint32_t k = 0; ti_access_reads(access) && k < f->boxes; k++) {
            ti_instruction_make_fresh(graph, command->task, access->buffer, &f->box[k], place[i][k]);
        }
    }
    return place;
}

/* The instruction touches what the piece touches: all its reads first. The trackers learn of it at once or later. */
static void track(ti_instruction_graph *graph, const ti_shape *shape, const ti_device_piece *at,
                  const int *const *place, bool later)
{
    for (int write = 0; write < 2; write++) {
        for (uint32_t i = 0; i < shape->accesses; i++) {
            const ti_access *access = &shape->access[i];
            const ti_footprint *touched = &at->piece->footprint[i];
            bool counts = write ? ti_access_writes(access) : access->mode == TACIT_READ;
            for (uint32_t k = 0; counts && k < touched->boxes; k++) {
                if (later) {
                    ti_follow_lag(graph, access->buffer, &touched->box[k], write == 1);
                    ti_instruction_note_touch(graph, graph->emit.deps.self, access->buffer, &touched->box[k],
                                              TI_HOST_MEMORY, write ? TI_TOUCH_WRITES : TI_TOUCH_READS);
                } else {
                    ti_instruction_touch(graph, access->buffer, &touched->box[k], place ? place[i][k] : TI_HOST_MEMORY,
                                         write == 1);
                }
            }
        }
    }
}

static ti_instruction_kind kind_of(const ti_task *task)
{
    return task->shape->place == TI_PLACE_EVERYWHERE ? TI_INSTRUCTION_COLLECTIVE_HOST
           : task->shape->on_host                    ? TI_INSTRUCTION_HOST
                                                     : TI_INSTRUCTION_KERNEL;
}

/* Whether the piece is one of those that should be executed before the rest, since others wait for them. */
static bool is_ahead(const ti_command *command, const ti_device_piece *at)
{
    bool ahead = false;
    for (uint32_t i = 0; i < command->as.execute.ahead; i++) {
        ahead |= ti_box_covers(&command->as.execute.piece[i].chunk, &at->piece->chunk);
    }
    return ahead;
}

typedef enum dependencies { TRACKED, OF_TASK, OF_TASK_AND_HORIZON } dependencies;

static void compile_piece(ti_instruction_graph *graph, const ti_command *command, const ti_device_piece *at,
                          uint32_t piece, dependencies found)
{
    const ti_task *task = command->task;
    const ti_shape *shape = task->shape;
    const int *const *place = freshen(graph, command, at);
    ti_instruction_view *view = TI_ARENA_ARRAY(ti_arena_ring_top(&graph->emit.arenas), ti_instruction_view,
                                               shape->accesses);
    ti_vec_clear(&graph->awaited);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        fill_view(graph, command, at, piece, i, place ? place[i] : NULL, &view[i]); /* may append allocations */
    }
    ti_instruction *instruction = ti_emit_start(&graph->emit, kind_of(task), task);
    instruction->device = at->device;
    instruction->priority += is_ahead(command, at);
    instruction->as.kernel.chunk = at->piece->chunk;
    instruction->as.kernel.view = view;
    instruction->as.kernel.views = shape->accesses;
    instruction->as.kernel.samples = command->as.execute.samples;
    instruction->as.kernel.slots = ti_instruction_piece_slots(graph, piece);
    if (shape->in_blocks) {
        TI_ASSERT(piece < graph->in_blocks.count);
        instruction->as.kernel.runs = graph->in_blocks.data[piece].runs;
        instruction->as.kernel.run_slot = graph->in_blocks.data[piece].run_slot;
    }
    if (graph->tiles.after) {
        ti_deps_push(&graph->emit.deps, graph->tiles.after);
    }
    if (found != TRACKED) {
        ti_instruction_follow(graph, task, found == OF_TASK_AND_HORIZON);
    }
    track(graph, shape, at, place, found != TRACKED);
    ti_instruction_touch_results(graph);
    ti_orders_follow(&graph->orders, task, instruction->id, graph->emit.era.applied, &graph->emit.deps);
    graph->newest_tracked.id = instruction->id;
    graph->newest_tracked.deps = (uint32_t)graph->emit.deps.ids.count;
    ti_deps_add_all(&graph->emit.deps, graph->awaited.data, graph->awaited.count);
    ti_emit(&graph->emit, instruction);
    ti_instruction_unstage(graph, command, at, piece, instruction);
}

/* The template of an execution, which is made now if it has none; NULL: it can have none. */
static inline ti_template *template_of(ti_instruction_graph *graph, const ti_command *command)
{
    bool known;
    if (!ti_template_may_be(graph, command)) {
        return NULL;
    }
    ti_template *t = ti_template_find(graph, command, &known);
    if (TI_LIKELY(known) || !stays_whole(graph, command->task)) {
        return t;
    }
    const ti_device_piece at = whole_piece(graph, command->task, command->as.execute.piece);
    return ti_template_make(graph, command, &at, kind_of(command->task));
}

void ti_instruction_compile_pieces(ti_instruction_graph *graph, const ti_command *command, size_t first, size_t end)
{
    ti_template *t = template_of(graph, command);
    if (t) {
        TI_ASSERT(end == first + 1);
        ti_instruction *instruction = ti_template_start(graph, t, command->task);
        ti_template_track(graph, t);
        ti_emit(&graph->emit, instruction);
        return;
    }
    for (size_t p = first; p < end; p++) {
        ti_device_piece at = graph->window.piece.data[p];
        compile_piece(graph, command, &at, (uint32_t)(p - first), TRACKED);
    }
}

uint64_t ti_instruction_compile_kernel(ti_instruction_graph *graph, const ti_command *command,
                                       const ti_device_piece *at, uint64_t after)
{
    ti_vec_clear(&graph->partial);
    ti_vec_clear(&graph->staged);
    TI_ASSERT(!graph->tiles.after && after < graph->emit.next_id);
    graph->tiles.after = after;
    compile_piece(graph, command, at, 0, TRACKED);
    graph->tiles.after = 0;
    return graph->emit.next_id - 1;
}

static TI_NOINLINE bool has_parts(const ti_access *access, const ti_footprint *touched, ti_buffer_memory *memory)
{
    const bool in_parts = ti_footprint_in_parts(touched, access);
    for (uint32_t k = 0; in_parts && k < touched->boxes; k++) {
        if (!ti_buffer_memory_find(memory, &touched->box[k])) {
            return false;
        }
    }
    return in_parts;
}

/* Whether all that an access sees is allocated, in the only place of its buffer. */
static inline bool has_all(ti_instruction_graph *graph, const ti_access *access, const ti_device_piece *at,
                           const ti_footprint *touched)
{
    const ti_buffer_state *state = ti_instruction_buffer(graph, access->buffer);
    ti_buffer_memory *memory = state->place.data[at->memory];
    return access->mode != TACIT_REDUCE && ti_instruction_is_simple(graph, state) &&
           (ti_buffer_memory_has(memory, &touched->bounding) || has_parts(access, touched, memory));
}

bool ti_instruction_place_at_once(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_shape *shape = command->task->shape;
    if (command->as.execute.pieces != 1 || !stays_whole(graph, command->task)) {
        return false;
    }
    const ti_device_piece at = whole_piece(graph, command->task, command->as.execute.piece);
    bool known = false;
    if (ti_template_may_be(graph, command) && ti_template_find(graph, command, &known)) {
        ti_vec_push(&graph->window.piece, at);
        return true;
    }
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (shape->access[i].mode != TACIT_REDUCE && !has_all(graph, &shape->access[i], &at, &at.piece->footprint[i])) {
            return false;
        }
    }
    ti_vec_push(&graph->window.piece, at);
    return true;
}

static void compile_known(ti_instruction_graph *graph, const ti_task *task, ti_template *t)
{
    bool horizon, follows = ti_instruction_can_follow(graph, task, t->changed, &horizon);
    (follows ? ti_follow_limit_lag : ti_follow_catch_up)(graph);
    ti_instruction *instruction = ti_template_start(graph, t, task);
    if (follows) {
        ti_instruction_follow(graph, task, horizon);
        ti_follow_lag_all(graph, t);
    } else {
        ti_template_track(graph, t);
    }
    ti_emit(&graph->emit, instruction);
    ti_follow_note(&graph->follow, task, instruction->id);
}

static uint64_t latest_change(ti_instruction_graph *graph, const ti_shape *shape)
{
    uint64_t changed = 0;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        changed = TI_MAX(changed, ti_instruction_memory(graph, shape->access[i].buffer, TI_HOST_MEMORY)->changed);
    }
    return changed;
}

bool ti_instruction_compile_at_once(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_task *task = command->task;
    ti_template *t = template_of(graph, command);
    if (t) {
        compile_known(graph, task, t);
        return true;
    }
    if (command->as.execute.pieces != 1 || !stays_whole(graph, task)) {
        return false;
    }
    ti_device_piece at = whole_piece(graph, task, command->as.execute.piece);
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        if (!has_all(graph, &task->shape->access[i], &at, &at.piece->footprint[i])) {
            return false;
        }
    }
    ti_vec_clear(&graph->partial);
    ti_vec_clear(&graph->staged);
    bool horizon;
    bool follows = ti_instruction_can_follow(graph, task, latest_change(graph, task->shape), &horizon);
    (follows ? ti_follow_limit_lag : ti_follow_catch_up)(graph);
    compile_piece(graph, command, &at, 0, !follows ? TRACKED : horizon ? OF_TASK_AND_HORIZON : OF_TASK);
    ti_follow_note(&graph->follow, task, graph->emit.next_id - 1);
    return true;
}
