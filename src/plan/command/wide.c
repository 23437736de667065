/* The command graph, tasks whose chunks are larger than their split says, by margins or spreads: see pure.h. Here is by
 * how much, from when tasks leave their window until they are planned; where what follows from a shape with larger
 * chunks is kept (shape.c); and which samples of them nodes compare (TACIT_CHECK_PURE).
 *
 * A loop of windows has one entry for every shape and enlargement. An entry's pieces are in commands, so its place is
 * free when its latest task has been executed. Scheduler thread. */
#include "plan/command/impl.h"
#include "plan/tolerance/samples.h"

#include <string.h>

enum { MAX_WIDE = 256 };

const ti_widening *ti_command_widening_of(const ti_command_graph *graph, const ti_task *task)
{
    for (size_t i = 0; i < graph->pure.given.count; i++) {
        if (graph->pure.given.data[i].task == task->id) {
            return &graph->pure.given.data[i].wide;
        }
    }
    return NULL;
}

void ti_command_widen(ti_command_graph *graph, const ti_task *task, const ti_margin *margin, ti_spread *spread)
{
    if (spread || !ti_margin_is_none(margin)) {
        const size_t count = graph->pure.given.count;
        TI_ASSERT(count == 0 || graph->pure.given.data[count - 1].task < task->id);
        const ti_widening wide = { *margin, ti_spread_ref(spread) };
        ti_vec_push(&graph->pure.given, ((struct ti_command_widened){ task->id, wide }));
        graph->single_task = 0; /* it knows the task without */
    }
}

static void drop_before(ti_command_pure *p, uint64_t task)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->given.count; i++) {
        if (p->given.data[i].task < task) {
            ti_spread_unref(p->given.data[i].wide.spread);
        } else {
            p->given.data[kept++] = p->given.data[i];
        }
    }
    p->given.count = kept;
}

/* Those that lookahead holds are not planned yet. */
void ti_command_drop_widenings(ti_command_graph *graph)
{
    drop_before(&graph->pure, graph->window.held.count ? graph->window.held.data[0]->id : UINT64_MAX);
}

void ti_command_widenings_fini(ti_command_pure *pure)
{
    drop_before(pure, UINT64_MAX);
    ti_vec_fini(&pure->given);
}

ti_command_shape *ti_command_wide_of(ti_command_graph *graph, const ti_task *task, const ti_widening *wide)
{
    ti_command_pure *pure = &graph->pure;
    ti_command_shape *place = NULL;
    if (!task->shape->serial) {
        return NULL;
    }
    for (size_t i = 0; i < pure->wide.count; i++) {
        ti_command_shape *known = pure->wide.data[i];
        if (known->serial && known->of == task->shape->serial && ti_margin_equal(&known->wide.margin, &wide->margin) &&
            ti_spread_equal(known->wide.spread, wide->spread)) {
            return known;
        }
        place = known->last <= graph->executed && (!place || known->last < place->last) ? known : place;
    }
    TI_ASSERT(pure->wide.count <= MAX_WIDE && (!place || place->last <= graph->executed));
    if (pure->wide.count < MAX_WIDE) {
        ti_vec_push(&pure->wide, TI_NEW(ti_command_shape));
        return pure->wide.data[pure->wide.count - 1];
    }
    if (place) {
        place->serial = 0;
    }
    return place;
}

const ti_samples *ti_command_samples_of(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known)
{
    const ti_split_ref *split = known->split;
    const ti_windowed windowed = { task->shape, &split->split };
    if (task->kind != TI_TASK_EXECUTE || ti_widening_is_none(&known->wide) || split->split.per_node != 1) {
        return NULL;
    }
    TI_ASSERT(split->own_count <= 1 && (!known->wide.spread || ti_margin_is_none(&known->wide.margin)));
    const uint64_t number = ++graph->pure.sampled;
    ti_sample_list list = { 0 };
    ti_samples *samples = NULL;
    if (split->own_count && known->wide.spread) {
        ti_window_sample_spread(&windowed, known->wide.spread, split->own_first, number, &list);
    } else if (split->own_count) {
        ti_window_sample(&windowed, &known->wide.margin, split->own_first, number, &list);
    }
    if (list.count) {
        ti_arena *arena = ti_command_arena(graph);
        ti_sample *copy = TI_ARENA_ARRAY(arena, ti_sample, list.count);
        memcpy(copy, list.data, list.count * sizeof(*copy));
        samples = TI_ARENA_NEW(arena, ti_samples);
        *samples = (ti_samples){ number, copy, (uint32_t)list.count };
    }
    ti_vec_fini(&list);
    return samples;
}
