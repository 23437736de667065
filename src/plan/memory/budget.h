/* The memory of this node as it is planned: how much is in use after all instructions planned so far, and whether more
 * may be.
 *
 * Counted are allocations of buffers in all memories, partial results, and what fences keep for the application. A
 * free that has been planned may not have happened yet. So where memory is short, an allocation depends on the frees
 * before it whose room it needs. Frees depend on earlier instructions only, so this is never a circle. Scheduler
 * thread. */
#ifndef TI_BUDGET_H
#define TI_BUDGET_H

#include "plan/track/tracker.h"

typedef struct ti_planned_free {
    uint64_t id, task; /* of the instruction, and of the task that it belongs to */
    uint64_t bytes;
} ti_planned_free;

typedef struct ti_budget {
    uint64_t limit;   /* bytes; 0: none, and nothing below is kept but `live` */
    uint64_t live;    /* allocated and not freed, in the order of planning */
    uint64_t kept;    /* besides: allocated, used by nobody, freed when memory is short */
    uint64_t results; /* kept for the application by fences */
    uint64_t leaving; /* of planned frees that may not have been executed */
    TI_VEC(ti_planned_free) frees;
    size_t first_free; /* entries before it are gone */
} ti_budget;

void ti_budget_fini(ti_budget *budget);

/* Whether `bytes` more may be in use. */
static inline bool ti_budget_allows(const ti_budget *b, uint64_t bytes)
{
    return b->limit == 0 || b->live + b->results + bytes <= b->limit;
}
/* An instruction allocates: adds the frees that it must wait for to `deps`. */
void ti_budget_take(ti_budget *budget, uint64_t bytes, ti_deps *deps);
/* Instruction `id` of `task` frees. */
void ti_budget_give(ti_budget *budget, uint64_t bytes, uint64_t id, uint64_t task);
/* Of what is in use, `bytes` are kept from now on, or what was kept is used again. */
void ti_budget_keep(ti_budget *budget, uint64_t bytes);
void ti_budget_use(ti_budget *budget, uint64_t bytes);
/* Everything of tasks before `executed` is done. */
void ti_budget_release(ti_budget *budget, uint64_t executed);

#endif
