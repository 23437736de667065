/* The command graph, placed tasks that run elsewhere: most of them concern this node in nothing.
 *
 * Programs of tiles read and write boxes that are entries of the versions. Who sends such a box to the task's node
 * shows at once. If nobody does, or another node, this node has nothing to do but to note who holds what from now on.
 * It needs no split and no holders for that, which is what planning a task costs otherwise. Whatever is not that simple
 * is left to plan.c, which does the same to the versions: nodes may take either way. */
#include "plan/command/impl.h"

/* Whether replay could do this task, whose steps then want to know of it. */
static bool is_replayed(const ti_task *task, const ti_command_buffer *state)
{
    return task->shape->serial && state->versions.index.count <= TI_REPLAY_ENTRIES;
}

/* What an access touches; `changes` of the map when it was found. */
typedef struct found_entry {
    ti_command_buffer *state;
    ti_version *entry; /* NULL also if it reads nothing */
    uint64_t changes;
    bool held; /* the node of the task has it */
} found_entry;

/* Whether the access touches one box, or nothing, and the node of the task lacks nothing of it that this one sends. */
static inline bool is_foreign(const ti_command_graph *graph, const ti_task *task, uint32_t index, found_entry *found)
{
    const ti_access *access = &task->shape->access[index];
    const ti_footprint *touched = &task->shape->footprint[index];
    ti_command_buffer *state = graph->buffer.data[access->buffer->slot];
    *found = (found_entry){ .state = state };
    if (access->mode == TACIT_REDUCE || access->custom || access->mappers > 1 || touched->boxes > 1 ||
        state->reduced.task || is_replayed(task, state)) {
        return false;
    }
    ti_replay_settle(&state->replay, &state->versions); /* also for writes */
    if (!ti_access_reads(access) || touched->boxes == 0) {
        return true;
    }
    found->entry = ti_version_map_find(&state->versions, &touched->box[0]);
    found->changes = state->versions.changes;
    int sender = found->entry ? ti_version_sender(found->entry, task->shape->place) : TI_UNDECIDED;
    found->held = sender == TI_NOBODY;
    return sender != TI_UNDECIDED && sender != graph->system->node;
}

/* Of the accesses before this one, those that read the same buffer. */
static uint32_t reads_before(const ti_shape *shape, uint32_t index)
{
    uint32_t reads = 0;
    for (uint32_t i = 0; i < index; i++) {
        reads += shape->access[i].buffer == shape->access[index].buffer && ti_access_reads(&shape->access[i]);
    }
    return reads;
}

static inline void note_read(ti_command_graph *graph, const ti_task *task, uint32_t index, const found_entry *found)
{
    ti_version_map *map = &found->state->versions;
    bool is_known = found->changes == map->changes; /* else it may have been merged, or cut */
    if (found->held && is_known) {
        return;
    }
    ti_version *v = is_known ? found->entry : ti_version_map_find(map, &task->shape->footprint[index].box[0]);
    if (v) {
        ti_version_map_hold(map, v, task->shape->place);
    } else {
        const ti_command_use *use = ti_command_use_of(graph, task, task->shape->access[index].buffer);
        ti_version_map_read(map, use->reads.data[reads_before(task->shape, index)]);
    }
}

static inline void note_write(const ti_task *task, uint32_t index, const found_entry *found)
{
    ti_version_map *map = &found->state->versions;
    int node = task->shape->place;
    if (found->entry && found->changes == map->changes) {
        ti_version_map_own(map, found->entry, node);
    } else {
        ti_version_map_set(map, &task->shape->footprint[index].box[0], node, node + 1);
    }
}

bool ti_command_passes_by(ti_command_graph *graph, const ti_task *task)
{
    const ti_shape *shape = task->shape;
    if (task->kind != TI_TASK_EXECUTE || shape->place < 0 || shape->place == graph->system->node ||
        shape->oversubscribe > 1 || task->forwards || graph->system->explain) {
        return false;
    }
    found_entry found[TACIT_MAX_ACCESSES];
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (!is_foreign(graph, task, i, &found[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (ti_access_reads(&shape->access[i]) && shape->footprint[i].boxes > 0) {
            note_read(graph, task, i, &found[i]);
        }
    }
    for (uint32_t i = 0; i < shape->accesses; i++) {
        ti_replay_lose(&found[i].state->replay);
        if (ti_access_writes(&shape->access[i]) && shape->footprint[i].boxes > 0) {
            note_write(task, i, &found[i]);
        }
    }
    return true;
}
