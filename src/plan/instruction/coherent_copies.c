/* The instruction graph, coherence: see impl.h, and plan/memory/coherence.h for what is known. Contents move to a place
 * when an instruction there needs them, not before.
 *
 * What a place lacks is copied within its memory if that has it, else from the host, in as few pieces as possible:
 * after an all-gather or broadcast every device gets all that came at once, whoever it came from. Scheduler thread. */
#include "plan/instruction/impl.h"

static void emit_copy(ti_instruction_graph *graph, const ti_task *task, ti_buffer_state *state, const ti_box *box,
                      int from, int to)
{
    TI_ASSERT(from != to);
    ti_instruction *copy = ti_emit_start(&graph->emit, TI_INSTRUCTION_COPY, task);
    ti_buffer_memory *source = state->place.data[from], *target = state->place.data[to];
    /* Whoever has a memory of its own copies, and an accelerator if there is one: it knows both sides. */
    copy->device = (target->memory && (target->foreign || !source->foreign) ? target : source)->device;
    copy->as.copy.from = ti_buffer_memory_place(source, box);
    copy->as.copy.to = ti_buffer_memory_place(target, box);
    copy->as.copy.box = *box;
    copy->as.copy.elem_size = state->info->elem_size;
    ti_tracker_read(&source->tracker, box, copy->id, &graph->emit.deps);
    ti_tracker_write(&target->tracker, box, copy->id, &graph->emit.deps);
    ti_instruction_note_touch(graph, copy->id, state->info, box, from, TI_TOUCH_READS);
    ti_instruction_note_touch(graph, copy->id, state->info, box, to, TI_TOUCH_COPIES);
    ti_emit(&graph->emit, copy);
}

/* What is copied to make room for something else may come to several allocations, which lie side by side. */
static void copy_to_allocations(ti_instruction_graph *graph, const ti_task *task, ti_buffer_state *state,
                                const ti_box *box, int from, int to)
{
    ti_buffer_memory *target = state->place.data[to];
    if (TI_LIKELY(ti_buffer_memory_has(target, box)) || ti_buffer_memory_find(target, box)) {
        emit_copy(graph, task, state, box, from, to);
        return;
    }
    ti_region_entries parts = { 0 };
    int64_t covered = 0;
    ti_region_map_query(&target->allocated, box, &parts);
    for (size_t i = 0; i < parts.count; i++) {
        ti_box part = ti_box_intersect(&parts.data[i].box, box);
        emit_copy(graph, task, state, &part, from, to);
        covered += ti_box_volume(&part);
    }
    TI_ASSERT(covered == ti_box_volume(box));
    ti_vec_fini(&parts);
}

/* The source may hold the box in several allocations: copy what each of them has. */
static void copy_from_allocations(ti_instruction_graph *graph, const ti_task *task, ti_buffer_state *state,
                                  const ti_box *box, int from, int to)
{
    ti_region_entries parts = { 0 };
    int64_t copied = 0;
    ti_region_map_query(&state->place.data[from]->allocated, box, &parts);
    for (size_t i = 0; i < parts.count; i++) {
        ti_box part = ti_box_intersect(&parts.data[i].box, box);
        copy_to_allocations(graph, task, state, &part, from, to);
        copied += ti_box_volume(&part);
    }
    TI_ASSERT(copied == ti_box_volume(box));
    ti_vec_fini(&parts);
}

/* The set of places in a memory. */
static uint64_t places_of(const ti_buffer_state *state, int memory)
{
    uint64_t set = 0;
    _Static_assert(TI_MAX_PLACES <= 64, "a bit for each place");
    for (size_t i = 0; i < state->place.count; i++) {
        set |= (uint64_t)(state->place.data[i]->memory == memory) << i;
    }
    return set;
}

void ti_instruction_make_fresh(ti_instruction_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                               const ti_box *box, int place)
{
    ti_buffer_state *state = ti_instruction_buffer(graph, buffer);
    if (state->place.count == 1) {
        return;
    }
    TI_ASSERT(0 <= place && (size_t)place < state->place.count);
    uint64_t near = places_of(state, state->place.data[place]->memory);
    ti_vec_clear(&graph->lacking);
    ti_coherence_lacking(state->coherence, box, place, &graph->lacking);
    for (size_t i = 0, next; i < graph->lacking.count; i = next) {
        int source = ti_coherence_source(graph->lacking.data[i].value, near);
        ti_box all = graph->lacking.data[i].box;
        for (next = i + 1; next < graph->lacking.count; next++) {
            const ti_region_entry *e = &graph->lacking.data[next];
            ti_box joined;
            if (ti_coherence_source(e->value, near) != source || !ti_box_join(&all, &e->box, &joined)) {
                break;
            }
            all = joined;
        }
        copy_from_allocations(graph, task, state, &all, source, place);
        for (size_t k = i; k < next; k++) {
            ti_coherence_copy(state->coherence, &graph->lacking.data[k].box, place);
        }
    }
}
