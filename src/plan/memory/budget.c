/* The memory of this node as it is planned: see budget.h. */
#include "plan/memory/budget.h"

#include <string.h>

void ti_budget_fini(ti_budget *b)
{
    ti_vec_fini(&b->frees);
}

void ti_budget_take(ti_budget *b, uint64_t bytes, ti_deps *deps)
{
    b->live += bytes;
    uint64_t most = b->live + b->results + b->leaving + b->kept; /* if none of the frees has happened */
    for (size_t i = b->first_free; b->limit && most > b->limit && i < b->frees.count; i++) {
        ti_deps_add(deps, b->frees.data[i].id);
        most -= b->frees.data[i].bytes;
    }
}

void ti_budget_give(ti_budget *b, uint64_t bytes, uint64_t id, uint64_t task)
{
    TI_ASSERT(b->live >= bytes);
    b->live -= bytes;
    if (b->limit) {
        b->leaving += bytes;
        ti_planned_free entry = { id, task, bytes };
        ti_vec_push(&b->frees, entry);
    }
}

void ti_budget_keep(ti_budget *b, uint64_t bytes)
{
    TI_ASSERT(b->live >= bytes);
    b->live -= bytes;
    b->kept += bytes;
}

void ti_budget_use(ti_budget *b, uint64_t bytes)
{
    TI_ASSERT(b->kept >= bytes);
    b->kept -= bytes;
    b->live += bytes;
}

void ti_budget_release(ti_budget *b, uint64_t executed)
{
    while (b->first_free < b->frees.count && b->frees.data[b->first_free].task < executed) {
        TI_ASSERT(b->leaving >= b->frees.data[b->first_free].bytes);
        b->leaving -= b->frees.data[b->first_free++].bytes;
    }
    size_t left = b->frees.count - b->first_free;
    if (b->first_free > left) {
        memmove(b->frees.data, b->frees.data + b->first_free, left * sizeof(*b->frees.data));
        b->frees.count = left;
        b->first_free = 0;
    }
}
