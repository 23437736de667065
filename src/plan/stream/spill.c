/* The instruction graph, spilling: see impl.h. Where a device's own memory is short, allocations there are freed that
 * no command of the window needs, the oldest first. What the host's memory lacks of their contents is copied there
 * before.
 *
 * window.c lets only one task wait then, so that tasks each of which fits follow each other. What was freed comes back
 * when a task needs it, by the same copies as any contents that lie elsewhere. If that is not enough, what would grow
 * is freed as well, and in the end everything: what the task needs of it comes back without the rest. An allocation on
 * a device depends on the frees before it whose room it needs (plan/memory/budget.h). Where all fits, nothing here is
 * called. Scheduler thread. */
#include "plan/stream/impl.h"

#include <stdlib.h>

/* ---- what is short */

static bool is_short(ti_instruction_graph *graph, int memory)
{
    TI_ASSERT(TI_HOST_MEMORY < memory && memory < graph->system->memories);
    ti_budget *own = &graph->emit.own[memory];
    own->limit = graph->system->device_memory[memory]; /* known when there are devices, which is before any task */
    return own->limit && ti_wants_peak_in(&graph->emit, memory) > own->limit;
}

bool ti_instruction_is_device_short(ti_instruction_graph *graph)
{
    for (int m = 1; m < graph->system->memories; m++) {
        if (is_short(graph, m)) {
            return true;
        }
    }
    return false;
}

/* ---- what may go */

/* All that the commands of the window need: noting that again changes nothing else. */
static void mark_needs(ti_instruction_graph *graph)
{
    const ti_window *w = &graph->window;
    const size_t wants = graph->emit.wants.count;
    TI_ASSERT(!graph->emit.is_marking && w->command.count == w->first_piece.count);
    ti_vec_clear(&graph->emit.marks);
    graph->emit.is_marking = true;
    for (size_t i = 0; i < w->command.count; i++) {
        size_t end = i + 1 < w->command.count ? w->first_piece.data[i + 1] : w->piece.count;
        ti_instruction_note_command(graph, w->command.data[i], w->first_piece.data[i], end);
    }
    graph->emit.is_marking = false;
    TI_ASSERT(graph->emit.wants.count == wants);
}

/* Whether the box is of an allocation that something wanted replaces by a larger one. */
static bool grows(const ti_instruction_graph *graph, const ti_buffer_memory *place, const ti_box *box)
{
    for (size_t i = 0; i < graph->emit.wants.count; i++) {
        const ti_want *want = &graph->emit.wants.data[i];
        if (want->grows && want->memory == place && ti_box_meets(&want->box, box)) {
            return true;
        }
    }
    return false;
}

static bool is_needed(const ti_instruction_graph *graph, const ti_buffer_memory *place, const ti_box *box)
{
    const ti_emitter *e = &graph->emit;
    for (size_t i = 0; i < e->marks.count; i++) {
        if (e->marks.data[i].place == place && ti_box_meets(&e->marks.data[i].box, box)) {
            return true;
        }
    }
    for (size_t i = 0; i < e->wants.count; i++) {
        if (e->wants.data[i].memory == place && ti_box_meets(&e->wants.data[i].box, box)) {
            return true;
        }
    }
    return false;
}

static bool may_go(const ti_instruction_graph *graph, const ti_buffer_memory *place, const ti_box *box, ti_spill what)
{
    return what == TI_SPILL_ALL ||
           (what == TI_SPILL_GROWING ? grows(graph, place, box) : !is_needed(graph, place, box));
}

static void collect_of(ti_instruction_graph *graph, ti_buffer_state *state, int place, ti_spill what, ti_spills *out)
{
    ti_buffer_memory *at = state->place.data[place];
    ti_region_entries all = { 0 };
    ti_region_map_query(&at->allocated, &state->info->extent, &all);
    for (size_t i = 0; i < all.count; i++) {
        if (may_go(graph, at, &all.data[i].box, what)) {
            ti_vec_push(out, ((ti_spilled){ state->info->slot, place, all.data[i] }));
        }
    }
    ti_vec_fini(&all);
}

static int by_age(const void *a, const void *b)
{
    const ti_spilled *x = a, *y = b;
    return (x->at.value > y->at.value) - (x->at.value < y->at.value);
}

static void collect(ti_instruction_graph *graph, int memory, ti_spill what, ti_spills *out)
{
    for (size_t i = 0; i < graph->buffer.count; i++) {
        ti_buffer_state *state = graph->buffer.data[i];
        for (size_t p = 0; state && p < state->place.count; p++) {
            if (state->place.data[p]->memory == memory) {
                collect_of(graph, state, (int)p, what, out);
            }
        }
    }
    if (out->count) {
        qsort(out->data, out->count, sizeof(ti_spilled), by_age);
    }
}

/* ---- what is lost by that */

/* The parts of an allocation that nobody has in the host's memory. */
static void find_lacking(ti_instruction_graph *graph, const ti_spilled *s, ti_boxes *out)
{
    ti_buffer_state *state = graph->buffer.data[s->slot];
    uint64_t host = 0;
    for (size_t p = 0; p < state->place.count; p++) {
        host |= (uint64_t)(state->place.data[p]->memory == TI_HOST_MEMORY) << p;
    }
    ti_vec_clear(out);
    ti_vec_clear(&graph->lacking);
    ti_coherence_lacking(state->coherence, &s->at.box, TI_HOST_MEMORY, &graph->lacking);
    for (size_t i = 0; i < graph->lacking.count; i++) {
        if (!(graph->lacking.data[i].value & host)) {
            ti_vec_push(out, graph->lacking.data[i].box);
        }
    }
}

static void choose(ti_instruction_graph *graph, const ti_spilled *s)
{
    ti_vec_push(&graph->emit.spills, *s);
    ti_buffer_state *state = graph->buffer.data[s->slot];
    TI_ASSERT(state->place.data[s->place]->memory != TI_HOST_MEMORY && graph->window.command.count > 0);
    const ti_need need = { graph->window.command.data[0]->task, -1 };
    find_lacking(graph, s, &graph->boxes);
    for (size_t i = 0; i < graph->boxes.count; i++) {
        ti_buffer_memory_want(state->place.data[TI_HOST_MEMORY], &graph->emit, need, state->info,
                              &graph->boxes.data[i]);
    }
}

/* Whether there is room then. */
static bool choose_in(ti_instruction_graph *graph, int memory)
{
    ti_spills list = { 0 };
    uint64_t peak = ti_wants_peak_in(&graph->emit, memory), limit = graph->emit.own[memory].limit;
    collect(graph, memory, TI_SPILL_UNNEEDED, &list);
    for (size_t i = 0; i < list.count && peak > limit; i++) {
        const uint64_t bytes = ti_bytes_of(graph->buffer.data[list.data[i].slot]->info, &list.data[i].at.box);
        TI_ASSERT(bytes <= peak);
        peak -= bytes;
        choose(graph, &list.data[i]);
    }
    ti_vec_fini(&list);
    return peak <= limit;
}

int ti_instruction_choose_spills(ti_instruction_graph *graph)
{
    int failed = TI_HOST_MEMORY;
    ti_vec_clear(&graph->emit.spills);
    mark_needs(graph);
    for (int m = graph->system->memories - 1; m > 0; m--) {
        failed = is_short(graph, m) && !choose_in(graph, m) ? m : failed;
    }
    return failed;
}

void ti_instruction_choose_more(ti_instruction_graph *graph, ti_spill what)
{
    ti_vec_clear(&graph->emit.spills);
    for (int m = 1; m < graph->system->memories; m++) {
        ti_spills list = { 0 };
        if (is_short(graph, m)) {
            collect(graph, m, what, &list);
        }
        for (size_t i = 0; i < list.count; i++) {
            choose(graph, &list.data[i]);
        }
        ti_vec_fini(&list);
    }
}

void ti_instruction_spill(ti_instruction_graph *graph)
{
    ti_emitter *e = &graph->emit;
    if (TI_LIKELY(e->spills.count == 0)) {
        return;
    }
    const ti_task *task = graph->window.command.data[0]->task;
    ti_boxes lacking = { 0 };
    ti_follow_catch_up(graph);
    ti_wants_allocate_on_host(e);
    for (size_t i = 0; i < e->spills.count; i++) {
        const ti_spilled s = e->spills.data[i];
        ti_buffer_state *state = graph->buffer.data[s.slot];
        find_lacking(graph, &s, &lacking);
        for (size_t k = 0; k < lacking.count; k++) {
            ti_instruction_make_fresh(graph, task, state->info, &lacking.data[k], TI_HOST_MEMORY);
        }
        ti_coherence_forget(state->coherence, &s.at.box, s.place);
        ti_buffer_memory_evict(state->place.data[s.place], e, task, state->info, &s.at);
        e->spilled += ti_bytes_of(state->info, &s.at.box);
    }
    ti_vec_clear(&e->spills);
    ti_vec_fini(&lacking);
}
