/* Which tasks overlap with their own messages: see overlap.h. */
#include "plan/tolerance/overlap.h"

#include "base/check.h"

/* Two more launches take a node 2 to 5 us, and hide at least as much as a message between two processes of a machine
 * takes. So what takes MIN_NS can lose a tenth at the most. An item of which nobody says what it takes is taken to be
 * one of a simple stencil. */
static const double least_ns = 50e3, item_ns = 1;

/* Whether different items write different elements. Of custom mappers that is asked. */
static bool writes_alone(const ti_access *a)
{
    bool follows[3] = { a->custom != NULL, false, false }, alone = true;
    for (uint32_t m = 0; !a->custom && m < a->mappers; m++) {
        for (int d = 0; d < a->mapper[m].dims; d++) {
            alone &= !ti_component_is_irregular(&a->mapper[m].c[d]);
            follows[a->mapper[m].c[d].dim] |= ti_component_follows(&a->mapper[m].c[d]);
        }
    }
    return alone && (follows[0] || follows[1] || follows[2]);
}

/* Whether items touch less of a buffer than the smallest box around what they touch: two dimensions follow one. */
static bool is_diagonal(const ti_access *a)
{
    bool diagonal = false;
    for (uint32_t m = 0; !a->custom && m < a->mappers; m++) {
        bool follows[3] = { false, false, false };
        for (int d = 0; d < a->mapper[m].dims; d++) {
            const tacit_component *c = &a->mapper[m].c[d];
            diagonal |= ti_component_follows(c) && follows[c->dim];
            follows[c->dim] |= ti_component_follows(c);
        }
    }
    return diagonal;
}

static ti_overlap look_at_accesses(const ti_shape *shape)
{
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *a = &shape->access[i];
        if (a->mode == TACIT_REDUCE) {
            return TI_OVERLAP_REDUCES;
        }
        if ((ti_access_writes(a) && !writes_alone(a)) || is_diagonal(a)) {
            return TI_OVERLAP_WRITES;
        }
    }
    return TI_OVERLAP_FITS;
}

/* Pieces are cut for devices one by one, so several memories would each have a part of every border. What launches cost
 * on the only accelerator that runs kernels is not known: it has to be asked for. */
static bool has_one_place(const ti_system *system)
{
    bool one = system->idle_host && ti_system_hosts(system) == 1 && system->accelerators == 1;
    return system->memories == 1 || (one && system->overlap == TI_CUTS_ON);
}

/* All nodes decide the same, whatever their shares and workers are. */
static bool takes_long(const ti_system *system, const ti_shape *shape)
{
    double workers = (double)TI_MAX(system->total_workers, system->num_nodes);
    return (double)ti_box_volume(&shape->range) * (shape->cost > 0 ? shape->cost : item_ns) >= least_ns * workers;
}

ti_overlap ti_overlap_admits(const ti_system *system, const ti_shape *shape)
{
    if (system->overlap == TI_CUTS_OFF) {
        return TI_OVERLAP_OFF;
    }
    if (shape->place != TI_PLACE_SPLIT || shape->oversubscribe > 1) {
        return TI_OVERLAP_CHUNKS;
    }
    if (shape->whole_chunk || shape->on_host || shape->orders) {
        return TI_OVERLAP_WHOLE;
    }
    ti_overlap verdict = look_at_accesses(shape);
    if (verdict != TI_OVERLAP_FITS) {
        return verdict;
    }
    if (!has_one_place(system)) {
        return TI_OVERLAP_MEMORIES;
    }
    return system->overlap == TI_CUTS_ON || takes_long(system, shape) ? TI_OVERLAP_FITS : TI_OVERLAP_LITTLE;
}

bool ti_overlap_is_enough(const ti_system *system, int64_t at_once, int64_t items)
{
    TI_ASSERT(0 <= at_once && at_once <= items);
    return system->overlap == TI_CUTS_ON ? at_once > 0 : 4 * at_once >= 3 * items;
}
