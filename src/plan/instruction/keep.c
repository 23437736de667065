/* The instruction graph, staging memory that is kept: see keep.h, and staging.h for the calls. What a reduction has
 * used is used again by the next one of its size on the same device, since large memory is costly to get, and to touch
 * for the first time.
 *
 * A reduction that uses it again waits for the last users before it, which belong to earlier tasks. So that small
 * reductions which do not depend on each other overlap, memory is used again only when there is enough of it for
 * several, or when its last users came some horizons before, so that waiting for them costs nothing. Parts of messages
 * (plan/stream/bundle.c) have host memory of their own, whose last users belong to an earlier window: there one is
 * enough. What has not been used for many horizons is freed, and where memory is short, everything: what is kept counts
 * as free against the limit. */
#include "plan/instruction/staging.h"

enum { MAX_HORIZONS = 8, MAX_SPARE = 16, SPARE_BYTES = 1 << 20 };
/* What is smaller is kept for longer, since it costs little; what was last used before so many horizons is idle. */
enum { SMALL_BYTES = 1 << 16, MAX_HORIZONS_SMALL = 256, IDLE_HORIZONS = 2 };

static int max_horizons(const ti_kept *k)
{
    return k->bytes < SMALL_BYTES ? MAX_HORIZONS_SMALL : MAX_HORIZONS;
}

/* As many small ones overlap. Kernels that fill large ones have all workers, and more memory would not stay in caches.
 */
static uint32_t spare_of(int device, size_t bytes)
{
    return device == TI_FOR_BUNDLES
               ? 1
               : (uint32_t)TI_MAX(TI_MIN(SPARE_BYTES / TI_MAX(bytes, (size_t)1), (size_t)MAX_SPARE), (size_t)1);
}

/* Those of one size on one device: the index, or the count. */
static size_t find_kind(const ti_keeper *keeper, int device, size_t bytes)
{
    const ti_kept_kind *kind = keeper->kinds.data;
    size_t i = 0;
    while (i < keeper->kinds.count && (kind[i].bytes != bytes || kind[i].device != device)) {
        i++;
    }
    return i;
}

/* Whether more of a kind than so many others are idle. */
static bool has_idle(const ti_keeper *keeper, const ti_kept_kind *kind, uint32_t others)
{
    const ti_kept *k = keeper->kept.data;
    for (size_t i = keeper->first; i < keeper->kept.count && k[i].horizons >= IDLE_HORIZONS; i++) {
        if (k[i].bytes == kind->bytes && k[i].device == kind->device && others-- == 0) {
            return true;
        }
    }
    return false;
}

/* Whether one of a kind is to be used again, after so many others. */
static bool has_enough(const ti_instruction_graph *graph, size_t kind, uint32_t others)
{
    if (kind == graph->keeper.kinds.count) {
        return false;
    }
    const ti_kept_kind *k = &graph->keeper.kinds.data[kind];
    const ti_budget *b = &graph->emit.budget;
    return k->kept >= k->spare + others || has_idle(&graph->keeper, k, others) ||
           (!others && !ti_budget_allows(b, b->kept + k->bytes));
}

static void remove_kept(ti_instruction_graph *graph, size_t i)
{
    ti_keeper *keeper = &graph->keeper;
    ti_kept *kept = keeper->kept.data;
    size_t kind = find_kind(keeper, kept[i].device, kept[i].bytes);
    TI_ASSERT(keeper->first <= i && i < keeper->kept.count && kind < keeper->kinds.count);
    if (--keeper->kinds.data[kind].kept == 0) {
        keeper->kinds.data[kind] = keeper->kinds.data[--keeper->kinds.count];
    }
    ti_budget_use(&graph->emit.budget, kept[i].bytes);
    for (; i > keeper->first; i--) {
        kept[i] = kept[i - 1];
    }
    keeper->first++;
    size_t left = keeper->kept.count - keeper->first;
    if (keeper->first > left) { /* what is moved is less than what has gone */
        for (size_t k = 0; k < left; k++) {
            kept[k] = kept[keeper->first + k];
        }
        keeper->kept.count = left;
        keeper->first = 0;
    }
}

static void free_kept(ti_instruction_graph *graph, const ti_task *task, size_t i)
{
    const ti_kept k = graph->keeper.kept.data[i];
    remove_kept(graph, i);
    ti_emit_unstaging(&graph->emit, task, TI_MAX(k.device, 0), k.bytes, k.allocation, k.after, k.afters);
}

static uint64_t allocate(ti_instruction_graph *graph, const ti_task *task, int device, size_t bytes,
                         const uint64_t **after, size_t *afters)
{
    uint64_t allocation;
    ti_instruction_make_room(graph, task, bytes);
    uint64_t id = ti_emit_staging(&graph->emit, task, TI_MAX(device, 0), bytes, &allocation);
    *after = ti_arena_copy(ti_arena_ring_top(&graph->emit.arenas), &id, sizeof(id));
    *afters = 1;
    return allocation;
}

uint64_t ti_instruction_take_staging(ti_instruction_graph *graph, const ti_task *task, int device, size_t bytes,
                                     const uint64_t **after, size_t *afters)
{
    if (!has_enough(graph, find_kind(&graph->keeper, device, bytes), 0)) {
        return allocate(graph, task, device, bytes, after, afters);
    }
    size_t i = graph->keeper.first; /* the one used longest ago */
    while (graph->keeper.kept.data[i].bytes != bytes || graph->keeper.kept.data[i].device != device) {
        i++;
        TI_ASSERT(i < graph->keeper.kept.count); /* its kind says that there is one */
    }
    const ti_kept *k = &graph->keeper.kept.data[i];
    uint64_t allocation = k->allocation;
    *after = ti_arena_copy(ti_arena_ring_top(&graph->emit.arenas), k->after, k->afters * sizeof(uint64_t));
    *afters = k->afters;
    remove_kept(graph, i);
    return allocation;
}

void ti_instruction_give_staging(ti_instruction_graph *graph, const ti_task *task, int device, size_t bytes,
                                 uint64_t allocation, const uint64_t *after, size_t count)
{
    if (count > TI_KEPT_USERS) {
        ti_emit_unstaging(&graph->emit, task, TI_MAX(device, 0), bytes, allocation, after, count);
        return;
    }
    ti_keeper *keeper = &graph->keeper;
    size_t kind = find_kind(keeper, device, bytes);
    if (kind == keeper->kinds.count) {
        ti_vec_push(&keeper->kinds, ((ti_kept_kind){ bytes, device, 0, spare_of(device, bytes) }));
    }
    keeper->kinds.data[kind].kept++;
    TI_ASSERT(count > 0);
    ti_vec_reserve(&keeper->kept, keeper->kept.count + 1);
    ti_kept *k = &keeper->kept.data[keeper->kept.count++];
    k->allocation = allocation;
    k->device = device;
    k->horizons = 0;
    k->bytes = bytes;
    k->afters = count;
    for (size_t i = 0; i < count; i++) {
        k->after[i] = after[i];
    }
    TI_ASSERT(keeper->kinds.data[kind].kept <= keeper->kept.count - keeper->first);
    ti_budget_keep(&graph->emit.budget, bytes);
}

bool ti_instruction_has_staging(const ti_instruction_graph *graph, int device, size_t bytes, uint32_t others)
{
    const size_t kind = find_kind(&graph->keeper, device, bytes);
    return has_enough(graph, kind, others);
}

bool ti_instruction_frees_staging(const ti_instruction_graph *graph)
{
    const ti_keeper *keeper = &graph->keeper;
    bool frees = false;
    for (size_t i = keeper->first; i < keeper->kept.count && !frees; i++) {
        frees = keeper->kept.data[i].horizons >= max_horizons(&keeper->kept.data[i]);
    }
    return frees;
}

void ti_instruction_age_staging(ti_instruction_graph *graph, const ti_task *task)
{
    ti_keeper *keeper = &graph->keeper;
    for (size_t i = keeper->first; i < keeper->kept.count; i++) {
        keeper->kept.data[i].horizons++;
        TI_ASSERT(i == keeper->first || keeper->kept.data[i].horizons <= keeper->kept.data[i - 1].horizons);
    }
    for (size_t left = keeper->kept.count - keeper->first; left > 0; left--) {
        const size_t i = keeper->kept.count - left; /* what is removed, and moved, lies before it */
        if (keeper->kept.data[i].horizons > max_horizons(&keeper->kept.data[i])) {
            free_kept(graph, task, i);
        }
    }
}

void ti_instruction_make_room(ti_instruction_graph *graph, const ti_task *task, uint64_t more)
{
    const ti_budget *b = &graph->emit.budget;
    while (b->kept && !ti_budget_allows(b, b->kept + graph->emit.wanted_bytes + more)) {
        TI_ASSERT(graph->keeper.first < graph->keeper.kept.count);
        free_kept(graph, task, graph->keeper.first);
    }
}
