/* What simulated accelerators are given early, behind others: see behind.h. */
#include "sim/behind.h"

#include <string.h>

static uint64_t bits_of(double time)
{
    uint64_t bits;
    memcpy(&bits, &time, sizeof(bits));
    return bits;
}

double ti_sim_given_at(const ti_cluster *c, node *n, uint64_t instruction)
{
    uint64_t bits;
    double at = c->now;
    if (n->behind.given.count && ti_map_remove(&n->behind.given, instruction, &bits)) {
        memcpy(&at, &bits, sizeof(at));
    }
    return at;
}

static void give(const ti_cluster *c, node *n, ti_engine_slot *slot)
{
    *ti_map_at(&n->behind.given, slot->instruction->id) = bits_of(c->now);
    ti_engine_issue_behind(&n->engine, slot, true);
}

void ti_sim_give_behind(const ti_cluster *c, node *n)
{
    ti_engine_slot *slot;
    for (int d = ti_system_hosts(&n->system); d < n->system.devices; d++) {
        while ((slot = ti_engine_next_behind(&n->engine, d))) {
            give(c, n, slot);
        }
    }
    while ((slot = ti_engine_next_copy_behind(&n->engine))) {
        give(c, n, slot);
    }
}

void ti_sim_begin_given(node *n, const ti_engine_slot *ended)
{
    for (uint32_t at = ended->successor; at != TI_ENGINE_NONE; at = n->engine.edge[at].next) {
        const ti_engine_slot *slot = ti_engine_slot_of(&n->engine, n->engine.edge[at].to);
        if (slot->is_behind && slot->pending == 1) {
            const ti_instruction *i = slot->instruction;
            ti_begun *to = i->kind == TI_INSTRUCTION_COPY ? &n->behind.copies : &n->device[i->device].begun;
            ti_vec_push(&to->instruction, i->id);
        }
    }
}

const ti_instruction *ti_sim_next_begun(const node *n, ti_begun *from)
{
    if (from->head == from->instruction.count) {
        from->head = from->instruction.count = 0;
        return NULL;
    }
    return ti_engine_slot_of(&n->engine, from->instruction.data[from->head++])->instruction;
}
