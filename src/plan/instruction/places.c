/* The instruction graph, places: see impl.h. Where in a memory a box of a buffer lies.
 *
 * Every memory has one place for a buffer, a set of disjoint allocations. What is needed in one piece joins what it
 * meets, up to their bounding box. That is right for halos and for parts that grow. It is wrong for footprints that
 * overlap only a little: rows and columns of one matrix would become all of it. So where the bounding box is much
 * larger than what is used of it, the memory gets another place, whose allocations may overlap those of the first.
 * Places are kept coherent like memories: the overlap is copied when an instruction reads what is newer in another
 * place (coherent_copies.c). The first places have the numbers of their memories. Nearly all buffers have no others,
 * and then nothing is looked for. Scheduler thread. */
#include "plan/instruction/impl.h"

/* A box joins what it meets if at most half as much again is allocated; a memory has so many places. */
enum { NUM_JOINED = 3, DEN_JOINED = 2, MAX_PER_MEMORY = 6 };

void ti_instruction_add_place(ti_instruction_graph *graph, ti_buffer_state *state, int memory)
{
    ti_buffer_memory *place = TI_NEW(ti_buffer_memory);
    ti_buffer_memory_init(place, graph->system, memory, &graph->emit);
    TI_ASSERT(state->place.count < TI_MAX_PLACES);
    TI_ASSERT(state->place.count >= (size_t)graph->system->memories || state->place.count == (size_t)memory);
    ti_vec_push(&state->place, place);
    if (state->place.count == 2) {
        state->coherence = TI_NEW(ti_coherence);
        ti_coherence_init(state->coherence);
    }
}

/* From now on it is known which place has what: so far the only place has all there is. */
static void begin_coherence(ti_instruction_graph *graph, ti_buffer_state *state)
{
    graph->coherent = true;
    ti_vec_clear(&graph->lacking);
    ti_region_map_query(&state->place.data[0]->allocated, &state->info->extent, &graph->lacking);
    for (size_t i = 0; i < graph->lacking.count; i++) {
        ti_coherence_write(state->coherence, &graph->lacking.data[i].box, 0);
    }
}

static bool is_worth_joining(ti_growth g)
{
    return g.whole / NUM_JOINED <= g.used / DEN_JOINED || g.whole * DEN_JOINED <= g.used * NUM_JOINED;
}

/* A place of the memory that has the box, or will have; NULL if there is none. */
static ti_buffer_memory *find_provider(ti_buffer_state *state, const ti_box *box, int memory)
{
    for (size_t i = 0; i < state->place.count; i++) {
        if (state->place.data[i]->memory == memory && ti_buffer_memory_provides(state->place.data[i], box)) {
            return state->place.data[i];
        }
    }
    return NULL;
}

/* The place of a memory that is to have the box, which none has yet. */
static ti_buffer_memory *choose(ti_instruction_graph *graph, ti_buffer_state *state, const ti_box *box, int memory)
{
    ti_buffer_memory *least = NULL;
    int64_t volume = INT64_MAX;
    int places = 0;
    for (size_t i = 0; i < state->place.count; i++) {
        ti_buffer_memory *place = state->place.data[i];
        if (place->memory != memory) {
            continue;
        }
        ti_growth growth = ti_buffer_memory_growth(place, &graph->emit, box);
        if (is_worth_joining(growth)) {
            return place;
        }
        least = growth.whole < volume ? place : least;
        volume = TI_MIN(growth.whole, volume);
        places++;
    }
    TI_ASSERT(0 < places && places <= MAX_PER_MEMORY);
    if (places == MAX_PER_MEMORY || state->place.count == TI_MAX_PLACES) {
        return least;
    }
    ti_instruction_add_place(graph, state, memory);
    if (state->place.count == 2) {
        begin_coherence(graph, state);
    }
    return state->place.data[state->place.count - 1];
}

static void mark(ti_instruction_graph *graph, const ti_buffer_memory *place, const ti_box *box)
{
    if (TI_UNLIKELY(graph->emit.is_marking)) {
        ti_vec_push(&graph->emit.marks, ((ti_mark){ place, *box }));
    }
}

void ti_instruction_want(ti_instruction_graph *graph, ti_need need, const ti_buffer_info *buffer, const ti_box *box,
                         int memory)
{
    ti_buffer_state *state = ti_instruction_buffer(graph, buffer);
    if (ti_box_is_empty(box) || ti_buffer_memory_has(state->place.data[memory], box)) {
        mark(graph, state->place.data[memory], box);
        return;
    }
    ti_buffer_memory *place = find_provider(state, box, memory);
    place = place ? place : choose(graph, state, box, memory);
    mark(graph, place, box);
    const ti_box wanted = ti_buffer_memory_want(place, &graph->emit, need, buffer, box);
    for (size_t i = 0; !ti_instruction_is_simple(graph, state) && i < state->place.count; i++) {
        if (state->place.data[i] != place && state->place.data[i]->memory == memory) {
            /* such as what messages bring of it */
            ti_buffer_memory_yield(state->place.data[i], &graph->emit, &wanted);
        }
    }
}

void ti_instruction_record_touch(ti_instruction_graph *graph, const ti_cycle_touch *touch)
{
    const ti_cycle *c = &graph->cycle;
    TI_ASSERT(c->touch.count == 0 || c->touch.data[c->touch.count - 1].id <= touch->id);
    ti_vec_push(&graph->cycle.touch, *touch);
}

int ti_instruction_place_in(ti_instruction_graph *graph, const ti_buffer_info *buffer, const ti_box *box, int memory)
{
    ti_buffer_state *state = ti_instruction_buffer(graph, buffer);
    int found = -1;
    if (ti_instruction_is_simple(graph, state) || ti_box_is_empty(box)) {
        return memory;
    }
    for (size_t i = 0; i < state->place.count; i++) {
        ti_buffer_memory *place = state->place.data[i];
        if (place->memory != memory || !ti_buffer_memory_find(place, box)) {
            continue;
        }
        ti_vec_clear(&graph->lacking);
        ti_coherence_lacking(state->coherence, box, (int)i, &graph->lacking);
        if (!graph->lacking.count) {
            return (int)i;
        }
        found = found < 0 ? (int)i : found;
    }
    TI_ASSERT(found >= 0);
    return found;
}
