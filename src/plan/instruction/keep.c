/* The instruction graph, staging memory that is kept: what a reduction has used is used again by the next one of its
 * size on the same device, since large memory is costly to get, and to touch for the first time.
 *
 * Users depend on the last users before them, which belong to earlier tasks. So that small reductions which do not
 * depend on each other overlap, memory is used again only when there is enough of it for several. What horizons pass by
 * is freed, and everything where memory is short: the limit counts what is kept as free. */
#include "plan/instruction/staging.h"

enum { MOST_HORIZONS = 8, MOST_SPARE = 16, SPARE_BYTES = 1 << 20 };

/* As many small ones overlap. Kernels that fill large ones have all workers, and more memory would not stay in caches.
 */
static size_t spare_of(size_t bytes)
{
    return TI_MAX(TI_MIN(SPARE_BYTES / TI_MAX(bytes, (size_t)1), (size_t)MOST_SPARE), (size_t)1);
}

/* Which one is to be used again, or the count: none. */
static size_t find(const ti_instruction_graph *graph, int device, size_t bytes)
{
    size_t found = graph->kept.count, count = 0;
    for (size_t i = graph->kept.count; i-- > 0;) {
        if (graph->kept.data[i].bytes == bytes && graph->kept.data[i].device == device) {
            found = i;
            count++;
        }
    }
    const ti_budget *b = &graph->emit.budget;
    bool is_short = !ti_budget_allows(b, b->kept + bytes);
    return count >= spare_of(bytes) || is_short ? found : graph->kept.count;
}

static void remove_kept(ti_instruction_graph *graph, size_t i)
{
    ti_budget_use(&graph->emit.budget, graph->kept.data[i].bytes);
    for (; i + 1 < graph->kept.count; i++) {
        graph->kept.data[i] = graph->kept.data[i + 1];
    }
    graph->kept.count--;
}

static void free_kept(ti_instruction_graph *graph, const ti_task *task, size_t i)
{
    const ti_kept k = graph->kept.data[i];
    remove_kept(graph, i);
    ti_emit_unstaging(&graph->emit, task, k.device, k.bytes, k.allocation, k.after, k.afters);
}

uint64_t ti_instruction_take_staging(ti_instruction_graph *graph, const ti_task *task, int device, size_t bytes,
                                     const uint64_t **after, size_t *afters)
{
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    size_t i = find(graph, device, bytes);
    uint64_t allocation;
    if (i == graph->kept.count) {
        ti_instruction_make_room(graph, task, bytes);
        uint64_t id = ti_emit_staging(&graph->emit, task, device, bytes, &allocation);
        *after = ti_arena_copy(arena, &id, sizeof(id));
        *afters = 1;
        return allocation;
    }
    const ti_kept *k = &graph->kept.data[i];
    allocation = k->allocation;
    *after = ti_arena_copy(arena, k->after, k->afters * sizeof(uint64_t));
    *afters = k->afters;
    remove_kept(graph, i);
    return allocation;
}

void ti_instruction_give_staging(ti_instruction_graph *graph, const ti_task *task, int device, size_t bytes,
                                 uint64_t allocation, const uint64_t *after, size_t count)
{
    if (count > TI_KEPT_USERS) {
        ti_emit_unstaging(&graph->emit, task, device, bytes, allocation, after, count);
        return;
    }
    ti_kept k = { .allocation = allocation, .device = device, .bytes = bytes, .afters = count };
    TI_ASSERT(count > 0);
    for (size_t i = 0; i < count; i++) {
        k.after[i] = after[i];
    }
    ti_vec_push(&graph->kept, k);
    ti_budget_keep(&graph->emit.budget, bytes);
}

void ti_instruction_age_staging(ti_instruction_graph *graph, const ti_task *task)
{
    for (size_t i = graph->kept.count; i-- > 0;) {
        if (++graph->kept.data[i].horizons > MOST_HORIZONS) {
            free_kept(graph, task, i);
        }
    }
}

void ti_instruction_make_room(ti_instruction_graph *graph, const ti_task *task, uint64_t more)
{
    const ti_budget *b = &graph->emit.budget;
    while (graph->kept.count && !ti_budget_allows(b, b->kept + graph->emit.wanted_bytes + more)) {
        free_kept(graph, task, 0);
    }
}
