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

/* What an access reads; `changes` of the map when it was found. */
typedef struct found_entry {
    ti_version *entry; /* NULL also if it reads nothing */
    uint64_t changes;
    bool held; /* the node of the task has it */
} found_entry;

/* Whether the access touches one box, or nothing, and the node of the task lacks nothing of it that this one sends. */
static bool is_foreign(ti_command_graph *graph, const ti_task *task, uint32_t index, found_entry *found)
{
    const ti_access *access = &task->shape->access[index];
    const ti_footprint *touched = &task->shape->footprint[index];
    ti_command_buffer *state = ti_command_buffer_of(graph, access->buffer);
    *found = (found_entry){ .entry = NULL };
    if (access->mode == TACIT_REDUCE || access->custom || access->mappers > 1 || touched->boxes > 1 ||
        state->reduced.task || is_replayed(task, state)) {
        return false;
    }
    ti_replay_settle(&state->replay, &state->versions); /* also for writes */
    if (!ti_access_reads(access) || touched->boxes == 0) {
        return true;
    }
    ti_version *v = ti_version_map_find(&state->versions, &touched->box[0]);
    int sender = v ? ti_version_sender(v, task->shape->place) : TI_UNDECIDED;
    *found = (found_entry){ v, state->versions.changes, sender == TI_NOBODY };
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

/* The entry of an access. What came before may have merged the one that was found with others, or cut it. */
static inline ti_version *entry_of(ti_version_map *map, const ti_footprint *touched, const found_entry *found)
{
    return found->entry && found->changes == map->changes ? found->entry : ti_version_map_find(map, &touched->box[0]);
}

static void note_read(ti_command_graph *graph, const ti_task *task, uint32_t index, const found_entry *found)
{
    const ti_buffer_info *buffer = task->shape->access[index].buffer;
    ti_version_map *map = &ti_command_buffer_of(graph, buffer)->versions;
    if (found->held && found->changes == map->changes) {
        return;
    }
    ti_version *v = entry_of(map, &task->shape->footprint[index], found);
    if (v) {
        ti_version_map_hold(map, v, task->shape->place);
    } else {
        ti_version_map_read(map, ti_command_use_of(graph, task, buffer)->reads.data[reads_before(task->shape, index)]);
    }
}

static void note_write(ti_command_graph *graph, const ti_task *task, uint32_t index, const found_entry *found)
{
    const ti_footprint *touched = &task->shape->footprint[index];
    ti_command_buffer *state = ti_command_buffer_of(graph, task->shape->access[index].buffer);
    if (found->entry && found->changes == state->versions.changes) {
        ti_version_map_own(&state->versions, found->entry, task->shape->place);
    } else {
        ti_version_map_set(&state->versions, &touched->box[0], task->shape->place, task->shape->place + 1);
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
    for (int writes = 0; writes < 2; writes++) {
        for (uint32_t i = 0; i < shape->accesses; i++) {
            const ti_access *access = &shape->access[i];
            if (shape->footprint[i].boxes == 0 || !(writes ? ti_access_writes(access) : ti_access_reads(access))) {
                continue;
            }
            ti_replay_lose(&ti_command_buffer_of(graph, access->buffer)->replay);
            (writes ? note_write : note_read)(graph, task, i, &found[i]);
        }
    }
    return true;
}
