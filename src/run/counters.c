/* Counters: see counters.h. */
#include "run/counters.h"

#include "base/alloc.h"
#include "trace/explain.h"

void ti_counters_of_tasks(const ti_task_graph *tasks, tacit_counters *out)
{
    *out = (tacit_counters){
        .tasks = ti_task_graph_tasks(tasks),
        .horizons = ti_task_graph_horizons(tasks),
        .allocated_bytes = ti_alloc_live(),
        .allocated_peak = ti_alloc_peak(),
        .tracking_entries = ti_task_graph_all_entries(tasks),
    };
}

void ti_counters_of_plans(const ti_command_graph *command_graph, const ti_instruction_graph *instruction_graph,
                          tacit_counters *out)
{
    ti_command_counts commands = ti_command_graph_counts(command_graph);
    ti_instruction_counts instructions = ti_instruction_graph_counts(instruction_graph);
    out->commands = commands.commands;
    out->instructions = instructions.instructions;
    out->chunks_evaluated = commands.chunks_evaluated;
    out->reallocations = instructions.reallocations;
    out->reallocated_bytes = instructions.reallocated_bytes;
    out->multicasts = commands.multicast.multicasts;
    out->multicast_recipients = commands.multicast.recipients;
    out->multicast_depth = commands.multicast.depth;
    out->multicast_forwards = commands.multicast.forwards;
    out->tracking_entries += commands.entries + instructions.entries;
}

void ti_counters_of_network(const ti_comm_stats *network, ti_outbox_counts sends, tacit_counters *out)
{
    out->messages_sent = network->messages_sent;
    out->bytes_sent = network->bytes_sent;
    out->messages_received = network->messages_received;
    out->bytes_received = network->bytes_received;
    out->early_bytes_peak = network->early_bytes_peak;
    out->messages_local = network->messages_near;
    out->collectives = network->collectives;
    out->collective_bytes_sent = network->collective_bytes_out;
    out->collective_bytes_received = network->collective_bytes_in;
    out->broadcasts = network->relay.broadcasts;
    out->broadcast_recipients = network->relay.recipients;
    out->broadcast_refused = network->relay.refused;
    out->relayed_bytes = network->relay.forwarded_bytes;
    out->shared_versions = sends.shared;
    out->shared_versions_late = sends.late;
}

void ti_counters_of_advice(const ti_command_graph *command_graph, const ti_instruction_graph *instruction_graph,
                           ti_advice_facts *out)
{
    ti_command_counts commands = ti_command_graph_counts(command_graph);
    out->growths = ti_instruction_graph_counts(instruction_graph).growths;
    out->uncollected = commands.missed.times;
    out->uncollected_why = ti_verdict_name(commands.missed.first);
    out->windows = commands.window.windows;
    out->early = commands.window.early;
    out->early_why = commands.window.why;
    out->early_by_task = commands.window.by_task;
}
