/* Who looks after messages while kernels run: see network.h.
 *
 * With a thread for messages they move at once. Where threads are shared, or there is one only, whatever this node has
 * to do for messages (answer a request, send the data, notice what has arrived or left) waits while all its workers are
 * in kernels: until one of them is through, or the attendant looks (run/attendant.c). Whoever looks finds all that
 * waits. What that takes is the executor's time, or the attendant's; inline, the executor's is that of all other work
 * of the node. */
#include "sim/network.h"

#include "base/check.h"

/* As in run/attendant.c, for a look that takes next to nothing: each nap is twice as long as the one before. */
enum { FIRST_NAP_NS = 50 * 1000, LAST_NAP_NS = 1000 * 1000, NAPS_UNTIL_SLEEP = 20 };

double ti_sim_use_executor(const ti_cluster *c, node *n, double ns)
{
    if (n->looks) {
        return ti_sim_use(c, &n->attendant, ns);
    }
    double end = ti_sim_use(c, &n->executor, ns);
    ti_sim_keep_thread(c, n, end);
    return end;
}

void ti_sim_keep_thread(const ti_cluster *c, node *n, double until)
{
    if (c->progress == TI_PROGRESS_INLINE) {
        n->application = n->planner = n->executor = TI_MAX(until, n->executor);
    }
}

bool ti_sim_is_away(const ti_cluster *c, const node *n)
{
    return c->progress != TI_PROGRESS_THREAD && !n->looks && n->busy == ti_system_workers(&n->system);
}

/* It sleeps when there has been no message for long enough. */
void ti_sim_call_attendant(const ti_cluster *c, node *n)
{
    if (c->attended) {
        bool needed = n->waiting > 0 || n->listens;
        if (!needed && c->now - n->used > (double)NAPS_UNTIL_SLEEP * LAST_NAP_NS) {
            n->awake = c->now;
        }
        n->used = c->now;
    }
}

static double next_look(const ti_cluster *c, const node *n)
{
    double time = n->awake, nap = FIRST_NAP_NS;
    for (; time <= c->now && nap < LAST_NAP_NS; nap = TI_MIN(2 * nap, LAST_NAP_NS)) {
        time += nap;
    }
    if (time <= c->now) {
        time += nap * (double)((uint64_t)((c->now - time) / nap) + 1);
    }
    return time;
}

bool ti_sim_put_off(ti_cluster *c, const ti_event *event)
{
    node *n = &c->node[event->node];
    bool waits = event->kind >= EVENT_SENT && event->kind != EVENT_ENTERS && event->kind != EVENT_RECEIVED;
    if (!waits || !ti_sim_is_away(c, n)) {
        return false;
    }
    ti_vec_push(&n->put_off, *event);
    if (c->attended && !n->will_look) {
        n->will_look = true;
        ti_sim_later(c, next_look(c, n), n->system.node, EVENT_LOOK, 0, TI_PATH_MESSAGES);
    }
    return true;
}
