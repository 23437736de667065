/* Events and threads' time of a simulated node, which all parts of the simulator use. See impl.h. */
#include "sim/impl.h"

#include "base/check.h"

void ti_sim_later(ti_cluster *c, double time, int at, event_kind kind, uint64_t what, int slot)
{
    TI_ASSERT(time >= c->now);
    ti_event event = { .time = time, .kind = (int)kind, .node = at, .what = what };
    event.chain = ti_paths_extend(&c->paths, c->chain, slot, time - c->now);
    ti_events_push(&c->events, &event);
}

double ti_sim_use(const ti_cluster *c, double *free_at, double ns)
{
    *free_at = TI_MAX(*free_at, c->now) + ns;
    return *free_at;
}
