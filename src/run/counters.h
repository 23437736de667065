/* What tacit_get_counters says, gathered from the modules that count. Each function is called with the role of the
 * module that it asks. */
#ifndef TI_COUNTERS_H
#define TI_COUNTERS_H

#include "comm/comm.h"
#include "exec/outbox.h"
#include "plan/command/graph.h"
#include "plan/instruction/graph.h"
#include "plan/task/graph.h"
#include "trace/advice.h"

/* First; the others add to it. */
void ti_counters_of_tasks(const ti_task_graph *tasks, tacit_counters *out);
void ti_counters_of_plans(const ti_command_graph *commands, const ti_instruction_graph *instructions,
                          tacit_counters *out);
void ti_counters_of_network(const ti_comm_stats *network, ti_outbox_counts sends, tacit_counters *out);

/* What of it there may be to say at the end. */
void ti_counters_of_advice(const ti_command_graph *command_graph, const ti_instruction_graph *instruction_graph,
                           ti_advice_facts *out);

#endif
