/* The instruction graph, collectives: one instruction reads what this node gives and writes what it gets, in the host's memory.
 *
 * A region that this node has and gets as a whole, in groups its group's part of it, lies in one allocation, so that a network library can work in
 * place. */
#include "plan/instruction/impl.h"

#include "base/check.h"

/* Calls `visit` with every box that must lie in one allocation: the region where all of it comes together here, else the parts. */
typedef void box_visitor(void *user, const ti_box *box);

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

static void visit_boxes(const ti_instruction_graph *graph, const ti_command *command, box_visitor *visit, void *user)
{
    const ti_collective *what = command->as.collective.what;
    if (is_whole_here(graph, what)) {
        for (uint32_t i = 0; i < what->regions; i++) {
            ti_box box;
            if (ti_collective_together(what, graph->system->node, i, &box)) {
                visit(user, &box);
            }
        }
        return;
    }
    for (uint32_t i = 0; i < command->as.collective.gives; i++) {
        visit(user, &command->as.collective.give[i]);
    }
    for (uint32_t i = 0; i < command->as.collective.gets; i++) {
        visit(user, &command->as.collective.get[i]);
    }
}

/* ---- needs */

typedef struct wanting {
    ti_instruction_graph *graph;
    const ti_command *command;
    int access; /* that needs the same anyway, or -1 */
} wanting;

static void want(void *user, const ti_box *box)
{
    const wanting *w = user;
    const ti_buffer_info *buffer = w->command->as.collective.buffer;
    ti_need need = { w->command->task, w->access };
    ti_buffer_memory_want(ti_instruction_memory(w->graph, buffer, TI_HOST_MEMORY), &w->graph->emit, need, buffer, box);
}

void ti_instruction_want_collective(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_task *task = command->task;
    wanting w = { graph, command, -1 };
    for (uint32_t i = task->shape->accesses; is_whole_here(graph, command->as.collective.what) && i-- > 0;) {
        bool reads = task->shape->access[i].buffer == command->as.collective.buffer &&
                     ti_access_needs_old(&task->shape->access[i]);
        w.access = reads ? (int)i : w.access;
    }
    visit_boxes(graph, command, want, &w);
}

/* ---- the instruction */

typedef struct placing {
    ti_buffer_memory *memory;
    ti_instruction_box *place;
    uint32_t count;
} placing;

static void count_box(void *user, const ti_box *box)
{
    (void)box;
    ++*(uint32_t *)user;
}

static void place_box(void *user, const ti_box *box)
{
    placing *p = user;
    p->place[p->count++] = (ti_instruction_box){ ti_buffer_memory_place(p->memory, box), *box };
}

void ti_instruction_compile_collective(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_buffer_info *buffer = command->as.collective.buffer;
    ti_buffer_memory *memory = ti_instruction_memory(graph, buffer, TI_HOST_MEMORY);
    const ti_box *give = command->as.collective.give, *get = command->as.collective.get;
    for (uint32_t i = 0; i < command->as.collective.gives; i++) {
        ti_instruction_make_fresh(graph, command->task, buffer, &give[i], TI_HOST_MEMORY);
    }
    ti_instruction *instruction = ti_emit_start(&graph->emit, TI_INSTRUCTION_COLLECTIVE, command->task);
    for (uint32_t i = 0; i < command->as.collective.gives; i++) {
        ti_tracker_read(&memory->tracker, &give[i], instruction->id, &graph->emit.deps);
    }
    for (uint32_t i = 0; i < command->as.collective.gets; i++) {
        ti_tracker_write(&memory->tracker, &get[i], instruction->id, &graph->emit.deps);
        ti_instruction_note_write(graph, buffer, &get[i], TI_HOST_MEMORY);
    }
    placing placed = { .memory = memory };
    uint32_t places = 0;
    visit_boxes(graph, command, count_box, &places);
    placed.place = TI_ARENA_ARRAY(ti_arena_ring_top(&graph->emit.arenas), ti_instruction_box, places);
    visit_boxes(graph, command, place_box, &placed);
    instruction->as.collective.what = command->as.collective.what;
    instruction->as.collective.sequence = command->as.collective.sequence;
    instruction->as.collective.place = placed.place;
    instruction->as.collective.places = places;
    instruction->as.collective.give = give;
    instruction->as.collective.gives = command->as.collective.gives;
    instruction->as.collective.get = get;
    instruction->as.collective.gets = command->as.collective.gets;
    instruction->as.collective.elem_size = buffer->elem_size;
    instruction->as.collective.buffer = buffer;
    ti_emit(&graph->emit, instruction);
}

/* ---- reductions */

uint64_t ti_instruction_compile_combining(ti_instruction_graph *graph, const ti_command *reduce, uint64_t staging,
                                          uint64_t after)
{
    const ti_collective *what = reduce->as.reduce.what;
    const ti_buffer_info *buffer = reduce->task->shape->access[reduce->as.reduce.access].buffer;
    ti_instruction *instruction = ti_emit_start(&graph->emit, TI_INSTRUCTION_COLLECTIVE, reduce->task);
    ti_instruction_box *place = TI_ARENA_NEW(ti_arena_ring_top(&graph->emit.arenas), ti_instruction_box);
    *place = (ti_instruction_box){ { .allocation = staging, .whole = buffer->extent }, buffer->extent };
    ti_deps_add(&graph->emit.deps, after);
    if (reduce->as.reduce.gets) {
        ti_buffer_memory *memory = ti_instruction_memory(graph, buffer, TI_HOST_MEMORY);
        place->place = ti_buffer_memory_place(memory, &buffer->extent);
        ti_tracker_write(&memory->tracker, &buffer->extent, instruction->id, &graph->emit.deps);
    }
    instruction->as.collective.what = what;
    instruction->as.collective.sequence = reduce->as.reduce.sequence;
    instruction->as.collective.place = place;
    instruction->as.collective.places = 1;
    instruction->as.collective.give = instruction->as.collective.get = what->region;
    instruction->as.collective.gives = 1;
    instruction->as.collective.gets = reduce->as.reduce.gets;
    instruction->as.collective.elem_size = buffer->elem_size;
    instruction->as.collective.buffer = buffer;
    ti_emit(&graph->emit, instruction);
    return instruction->id;
}
