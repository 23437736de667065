/* What planned multicasts bring before the task that wants it: see sim.h. */
#include "sim.h"

bool sim_sends_on(const sim *s, const sim_node *n, const sim_command *send, uint32_t element)
{
    for (size_t i = sim_first_command(s, n); i < n->command.count && n->command.data[i] != send; i++) {
        const sim_command *c = n->command.data[i];
        for (size_t k = 0; c->kind == TI_COMMAND_RECEIVE && c->buffer == send->buffer && k < c->write.count; k++) {
            if (c->write.data[k] == element) {
                return true;
            }
        }
    }
    return false;
}

void sim_read_early(const sim *s, sim_node *n)
{
    for (size_t i = sim_first_command(s, n); s->options.multicast && i < n->command.count; i++) {
        const sim_command *c = n->command.data[i];
        for (size_t k = 0; c->kind != TI_COMMAND_SEND && k < c->read.count; k++) {
            n->early[c->read.data[k]] = 0;
        }
    }
}

bool sim_check_unread(sim *s)
{
    for (int r = 0; r < s->nodes; r++) {
        const sim_node *writer = &s->node[r];
        for (size_t i = sim_first_command(s, writer); i < writer->command.count; i++) {
            const sim_command *c = writer->command.data[i];
            bool writes = c->kind == TI_COMMAND_EXECUTE || c->kind == TI_COMMAND_REDUCE ||
                          c->kind == TI_COMMAND_DESTROY;
            for (size_t k = 0; writes && k < c->write.count; k++) {
                uint32_t e = c->write.data[k];
                for (int q = 0; q < s->nodes; q++) {
                    SIM_CHECK(s, !s->node[q].early[e],
                              "element %u came to node %d by a multicast, which did not read it", e, q);
                }
            }
        }
    }
    return true;
}
