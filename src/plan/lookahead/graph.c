/* Stage 2, the command graph, from outside: its creation and end, tasks that come in, questions. See
 * plan/command/graph.h. */
#include "plan/lookahead/impl.h"

#include "ir/brief.h"

ti_command_graph *ti_command_graph_create(const ti_system *system)
{
    TI_ASSERT(system->node >= 0 && system->node < system->num_nodes);
    ti_command_graph *graph = TI_NEW(ti_command_graph);
    graph->system = system;
    graph->next_id = 1;
    ti_arena_ring_init(&graph->arenas);
    ti_split_cache_init(&graph->splits, system->node);
    ti_transfer_init(&graph->transfer, system->node);
    ti_discovery_init(&graph->collectives, system->node, system->num_nodes);
    ti_command_multicast_init(graph);
    ti_command_cycle_init(graph);
    return graph;
}

void ti_command_graph_destroy(ti_command_graph *graph)
{
    for (size_t i = 0; i < graph->buffer.count; i++) {
        ti_command_close_buffer(graph, (uint32_t)i);
    }
    ti_vec_fini(&graph->buffer);
    ti_vec_fini(&graph->batch);
    ti_vec_fini(&graph->planned);
    ti_command_window_fini(&graph->window);
    ti_command_multicast_fini(graph);
    ti_command_pure_fini(&graph->pure);
    ti_command_cycle_fini(&graph->cycle);
    ti_vec_fini(&graph->parts);
    ti_vec_fini(&graph->pieces);
    ti_vec_fini(&graph->asked);
    ti_vec_fini(&graph->fates);
    ti_vec_fini(&graph->became.collective);
    ti_peer_counters_fini(&graph->sent);
    ti_peer_counters_fini(&graph->received);
    ti_deps_fini(&graph->deps);
    ti_transfer_fini(&graph->transfer);
    ti_discovery_fini(&graph->collectives);
    ti_command_shapes_fini(graph);
    ti_split_cache_fini(&graph->splits);
    ti_orders_fini(&graph->orders);
    ti_arena_ring_fini(&graph->arenas);
    ti_era_fini(&graph->era);
    TI_DELETE(graph);
}

static void add(ti_command_graph *graph, const ti_task *task)
{
    task = task->kind == TI_TASK_BRIEF ? ti_brief_task(task, ti_command_arena(graph)) : task;
    if (!ti_command_is_distributed(graph) && !graph->system->latency_tiles) { /* nothing ever waits */
        ti_command_plan(graph, task);
    } else if (ti_command_is_distributed(graph) && ti_command_passes_at_once(graph, task)) {
        ti_vec_push(&graph->planned, task);
    } else {
        ti_command_pure_add(graph, task);
    }
}

ti_command_batch ti_command_graph_add(ti_command_graph *graph, const ti_task *const *task, size_t count)
{
    ti_vec_clear(&graph->batch);
    ti_vec_clear(&graph->planned);
    for (size_t i = 0; i < count; i++) {
        if (ti_command_cycle_take(graph, task[i])) {
            continue;
        }
        const ti_command_mark before = ti_command_here(graph);
        if (task[i]->kind == TI_TASK_BRIEF && ti_command_brief_passes(graph, task[i])) {
            ti_vec_push(&graph->planned, task[i]);
        } else {
            add(graph, task[i]);
        }
        if (graph->cycle.loop.phase == TI_LOOP_RECORDS) {
            ti_command_cycle_note(graph, &before);
        }
    }
    return (ti_command_batch){ graph->batch.data, graph->batch.count, graph->planned.data, graph->planned.count };
}

ti_command_batch ti_command_graph_flush(ti_command_graph *graph)
{
    ti_vec_clear(&graph->batch);
    ti_vec_clear(&graph->planned);
    ti_command_cycle_skip(graph);
    ti_command_pure_flush(graph);
    TI_ASSERT(!ti_command_graph_holds(graph));
    return (ti_command_batch){ graph->batch.data, graph->batch.count, graph->planned.data, graph->planned.count };
}

void ti_command_graph_release(ti_command_graph *graph, uint64_t executed)
{
    TI_ASSERT(graph->executed <= executed);
    graph->executed = executed;
    ti_arena_ring_release(&graph->arenas, executed);
    ti_discovery_release(&graph->collectives, executed);
}

ti_command_counts ti_command_graph_counts(const ti_command_graph *graph)
{
    ti_command_counts counts = { graph->next_id - 1,
                                 graph->evaluated,
                                 0,
                                 ti_arena_ring_bytes(&graph->arenas),
                                 graph->cycle.repeated,
                                 graph->replayed,
                                 graph->multicast.counts,
                                 graph->pure.counts,
                                 graph->missed,
                                 graph->overlapped };
    for (size_t i = 0; i < graph->buffer.count; i++) {
        if (graph->buffer.data[i] && ti_command_is_distributed(graph)) {
            counts.entries += graph->buffer.data[i]->versions.index.count;
        }
    }
    return counts;
}

uint64_t ti_command_graph_sampled(const ti_command_graph *graph)
{
    return graph->pure.sampled;
}

/* The versions of a buffer, up to date; NULL if the slot is empty or there are none. */
static ti_version_map *settled_versions(ti_command_graph *graph, size_t slot)
{
    ti_command_buffer *state = graph->buffer.data[slot];
    if (!state || !ti_command_is_distributed(graph)) {
        return NULL;
    }
    ti_replay_settle(&state->replay, &state->versions);
    return &state->versions;
}

uint64_t ti_command_graph_digest(ti_command_graph *graph)
{
    ti_command_cycle_skip(graph);
    uint64_t digest = 0;
    for (size_t i = 0; i < graph->buffer.count; i++) {
        ti_version_map *map = settled_versions(graph, i);
        digest = map ? ti_hash64(digest ^ ti_version_map_digest(map)) : digest;
    }
    return digest;
}

bool ti_command_graph_is_valid(ti_command_graph *graph)
{
    ti_command_cycle_skip(graph);
    bool valid = true;
    for (size_t i = 0; i < graph->buffer.count; i++) {
        ti_version_map *map = settled_versions(graph, i);
        valid = valid && (!map || ti_version_map_is_valid(map));
    }
    return valid;
}
