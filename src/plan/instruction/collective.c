/* The instruction graph, collectives: see impl.h. One instruction reads what this node gives and writes what it gets,
 * in the host's memory, or in that of the only device that executes the task, where the network or the devices of other
 * nodes reach it. Partial results are combined in the host's.
 *
 * A region that this node has and gets as a whole, in groups its group's part of it, lies in one allocation, so that a
 * network library can work in place. Scheduler thread. */
#include "plan/instruction/impl.h"

static bool is_whole_here(const ti_instruction_graph *graph, const ti_collective *what)
{
    switch (what->pattern) {
    case TI_PATTERN_ALL_GATHER:
    case TI_PATTERN_BROADCAST:
        return true;
    case TI_PATTERN_GATHER:
    case TI_PATTERN_SCATTER:
        return what->root == graph->system->node;
    case TI_PATTERN_ALL_TO_ALL:
    case TI_PATTERN_REDUCE:
    case TI_PATTERN_ALL_REDUCE:
    case TI_PATTERN_NONE:
    case TI_PATTERN_KINDS:
        return false;
    }
    TI_UNREACHABLE();
}

/* Every box that must lie in one allocation: the region where all of it comes together here, else the parts. */
static const ti_boxes *contiguous_boxes(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_collective *what = command->as.collective.what;
    ti_boxes *boxes = &graph->boxes;
    ti_vec_clear(boxes);
    if (is_whole_here(graph, what)) {
        for (uint32_t i = 0; i < what->regions; i++) {
            ti_box box;
            if (ti_collective_together(what, graph->system->node, i, &box)) {
                ti_vec_push(boxes, box);
            }
        }
        return boxes;
    }
    for (uint32_t i = 0; i < command->as.collective.gives; i++) {
        ti_vec_push(boxes, command->as.collective.give[i]);
    }
    for (uint32_t i = 0; i < command->as.collective.gets; i++) {
        ti_vec_push(boxes, command->as.collective.get[i]);
    }
    return boxes;
}

/* The memory that it is carried out in; *device: by which device, 0 for the network. */
static int memory_of(const ti_instruction_graph *graph, const ti_task *task, int *device)
{
    *device = ti_instruction_collector(graph, task);
    TI_ASSERT(0 <= *device && *device < graph->system->devices);
    return *device ? ti_system_memory(graph->system, *device) : ti_instruction_receiver(graph, task);
}

void ti_instruction_want_collective(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_task *task = command->task;
    const ti_buffer_info *buffer = command->as.collective.buffer;
    int access = -1; /* that needs the same anyway */
    for (uint32_t i = task->shape->accesses; is_whole_here(graph, command->as.collective.what) && i-- > 0;) {
        bool reads = task->shape->access[i].buffer == buffer && ti_access_needs_old(&task->shape->access[i]);
        access = reads ? (int)i : access;
    }
    const ti_boxes *boxes = contiguous_boxes(graph, command);
    int device;
    const int memory = memory_of(graph, task, &device);
    for (size_t i = 0; i < boxes->count; i++) {
        ti_instruction_want(graph, (ti_need){ task, access }, buffer, &boxes->data[i], memory);
    }
}

static ti_instruction *start_collective(ti_instruction_graph *graph, const ti_task *task, const ti_collective *what,
                                        const ti_buffer_info *buffer, const ti_instruction_box *place)
{
    ti_instruction *instruction = ti_emit_start(&graph->emit, TI_INSTRUCTION_COLLECTIVE, task);
    instruction->as.collective.what = what;
    instruction->as.collective.place = place;
    instruction->as.collective.elem_size = buffer->elem_size;
    instruction->as.collective.buffer = buffer;
    return instruction;
}

/* The place of a part: that of the box that has it. */
static int place_of(const ti_boxes *boxes, const int *in, const ti_box *part)
{
    size_t i = 0;
    while (i + 1 < boxes->count && !ti_box_covers(&boxes->data[i], part)) {
        i++;
    }
    TI_ASSERT(ti_box_covers(&boxes->data[i], part));
    return in[i];
}

void ti_instruction_compile_collective(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_buffer_info *buffer = command->as.collective.buffer;
    const ti_box *give = command->as.collective.give, *get = command->as.collective.get;
    const ti_boxes *boxes = contiguous_boxes(graph, command);
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    ti_instruction_box *place = TI_ARENA_ARRAY(arena, ti_instruction_box, boxes->count);
    int *in = TI_ARENA_ARRAY(arena, int, boxes->count);
    int device;
    const int memory = memory_of(graph, command->task, &device);
    for (size_t i = 0; i < boxes->count; i++) {
        in[i] = ti_instruction_place_in(graph, buffer, &boxes->data[i], memory);
        place[i] = (ti_instruction_box){ ti_instruction_place(graph, buffer, &boxes->data[i], in[i]), boxes->data[i] };
    }
    for (uint32_t i = 0; i < command->as.collective.gives; i++) {
        ti_instruction_make_fresh(graph, command->task, buffer, &give[i], place_of(boxes, in, &give[i]));
    }
    ti_instruction *instruction = start_collective(graph, command->task, command->as.collective.what, buffer, place);
    instruction->device = device;
    instruction->as.collective.sequence = command->as.collective.sequence;
    instruction->as.collective.places = (uint32_t)boxes->count;
    instruction->as.collective.give = give;
    instruction->as.collective.gives = command->as.collective.gives;
    instruction->as.collective.get = get;
    instruction->as.collective.gets = command->as.collective.gets;
    for (uint32_t i = 0; i < command->as.collective.gives; i++) {
        ti_instruction_touch(graph, buffer, &give[i], place_of(boxes, in, &give[i]), false);
    }
    for (uint32_t i = 0; i < command->as.collective.gets; i++) {
        ti_instruction_touch(graph, buffer, &get[i], place_of(boxes, in, &get[i]), true);
    }
    ti_emit(&graph->emit, instruction);
}

uint64_t ti_instruction_compile_combining(ti_instruction_graph *graph, const ti_command *reduce, uint64_t staging,
                                          const ti_combination *first, const uint64_t *after, size_t afters)
{
    const ti_collective *what = reduce->as.reduce.what;
    const ti_buffer_info *buffer = reduce->task->shape->access[reduce->as.reduce.access].buffer;
    ti_instruction_box *place = TI_ARENA_NEW(ti_arena_ring_top(&graph->emit.arenas), ti_instruction_box);
    *place = (ti_instruction_box){ { .allocation = staging, .whole = buffer->extent }, buffer->extent };
    TI_ASSERT(afters > 0 && what->region && (reduce->as.reduce.gets || staging));
    ti_instruction *instruction = start_collective(graph, reduce->task, what, buffer, place);
    instruction->as.collective.first = first;
    ti_deps_add_all(&graph->emit.deps, after, afters);
    if (reduce->as.reduce.gets) {
        int in = ti_instruction_place_in(graph, buffer, &buffer->extent, TI_HOST_MEMORY);
        place->place = ti_instruction_place(graph, buffer, &buffer->extent, in);
        ti_instruction_touch(graph, buffer, &buffer->extent, in, true);
    }
    instruction->as.collective.sequence = reduce->as.reduce.sequence;
    instruction->as.collective.places = 1;
    instruction->as.collective.give = instruction->as.collective.get = what->region;
    instruction->as.collective.gives = 1;
    instruction->as.collective.gets = reduce->as.reduce.gets;
    ti_emit(&graph->emit, instruction);
    return instruction->id;
}
