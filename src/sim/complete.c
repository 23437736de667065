/* The end of an instruction on a simulated node; and its application thread, which may have waited for that. See
 * impl.h. */
#include "sim/behind.h"
#include "sim/network.h"

static bool may_go_on(const ti_cluster *c, const node *n)
{
    return n->is_ahead ? ti_ahead_is_near(&n->ahead, n->executed[TI_CLUSTER_POINTS], c->run_ahead)
                       : n->executed[n->waits_for] >= n->until;
}

void ti_sim_go_on(ti_cluster *c, node *n)
{
    bool was_blocked = n->blocked;
    n->blocked = !may_go_on(c, n);
    ti_sim_note_wait(c, n, was_blocked);
    if (!n->blocked) {
        ti_sim_later(c, TI_MAX(n->application, c->now), n->system.node, EVENT_APPLICATION, 0, TI_PATH_PLANNING);
    }
}

static void done(node *n, const ti_instruction *i, bool in_order)
{
    if (i->kind == TI_INSTRUCTION_EPOCH) {
        n->executed[TI_CLUSTER_POINTS]++;
        n->point = i->task->id;
    }
    n->executed[TI_CLUSTER_VALUES] += i->kind == TI_INSTRUCTION_FENCE;
    n->waiting -= i->kind == TI_INSTRUCTION_RECEIVE || (in_order && i->kind == TI_INSTRUCTION_COLLECTIVE);
    n->may_start = true;
}

/* What a recorded run took for it is between its records already. */
static void handle(const ti_cluster *c, node *n)
{
    if (c->platform.handling > 0 && !c->replay) {
        ti_sim_use_executor(c, n, c->platform.handling);
    }
}

void ti_sim_complete(ti_cluster *c, node *n, uint64_t instruction)
{
    const ti_instruction *i = ti_engine_slot_of(&n->engine, instruction)->instruction;
    if (!ti_sim_replay_ended(c, n, i)) {
        return;
    }
    ti_sim_note_end(c, n, i);
    done(n, i, ti_sim_replay_has_order(c));
    ti_sim_begin_given(n, ti_engine_slot_of(&n->engine, instruction));
    ti_engine_complete(&n->engine, instruction);
    handle(c, n);
    c->held--;
    c->result.instructions++;
    ti_chain before = c->last;
    c->last = ti_paths_extend(&c->paths, c->chain, c->chain.slot, 0);
    ti_paths_drop(&c->paths, before);
    c->result.ns = c->now;
    if (n->blocked && may_go_on(c, n)) {
        ti_sim_go_on(c, n);
    }
}
