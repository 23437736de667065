/* The command graph, placed tasks that run on other nodes: see impl.h. Most of them concern this node in nothing.
 *
 * Programs of tiles read and write boxes that are entries of the versions. Who sends such a box to the task's node
 * shows at once. If nobody does, or another node, this node has nothing to do but to note who holds what from now on.
 * It needs no split and no holders for that, which is what planning a task costs otherwise. Whatever is not that simple
 * is left to plan/lookahead/plan.c, which does the same to the versions: nodes may take either way. Scheduler thread.
 */
#include "plan/transfer/impl.h"

#include "ir/brief.h"

/* Whether replay could do a task of this shape, whose steps then want to know of it. */
static inline bool is_replayed(const ti_shape *shape, const ti_command_buffer *state)
{
    return shape->serial && state->versions.index.count <= TI_REPLAY_ENTRIES;
}

/* What an access touches; `changes` of the map when it was found. */
typedef struct found_entry {
    ti_command_buffer *state;
    ti_version *entry; /* NULL also if it reads nothing */
    uint64_t changes;
} found_entry;

/* Whether the access touches one box, or nothing. */
static inline bool is_simple(const ti_access *access, const ti_footprint *touched)
{
    return touched->tile ||
           (access->mode != TACIT_REDUCE && !access->custom && access->mappers == 1 && touched->boxes <= 1);
}

/* The buffer, with its versions up to date, also if it is written only; or NULL: something special is known of it. */
static inline ti_command_buffer *plain_buffer(const ti_command_graph *graph, const ti_shape *shape,
                                              const ti_buffer_info *buffer)
{
    TI_ASSERT(buffer->slot < graph->buffer.count);
    ti_command_buffer *state = graph->buffer.data[buffer->slot];
    if (state->reduced.task || is_replayed(shape, state)) {
        return NULL;
    }
    ti_replay_settle(&state->replay, &state->versions);
    return state;
}

/* Find what the access touches. Of what it reads: who sends it to the task's node; TI_NOBODY: it has it. */
static inline int find_sender(const ti_command_graph *graph, const ti_task *task, uint32_t index, found_entry *found)
{
    const ti_access *access = &task->shape->access[index];
    const ti_footprint *touched = &task->shape->footprint[index];
    bool again = index > 0 && access->buffer == access[-1].buffer;
    ti_command_buffer *state = again ? found[-1].state : plain_buffer(graph, task->shape, access->buffer);
    found->state = state;
    found->entry = NULL;
    if (!state || !is_simple(access, touched)) {
        return TI_UNDECIDED;
    }
    if (!ti_access_reads(access) || touched->boxes == 0) {
        return TI_NOBODY;
    }
    TI_ASSERT(touched->boxes == 1);
    found->entry = ti_version_map_tile(&state->versions, touched->tile, touched->box);
    found->changes = state->versions.changes;
    return found->entry ? ti_version_sender(found->entry, task->shape->place) : TI_UNDECIDED;
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

/* What has been found may have been merged, or cut, since. */
static inline bool is_known(const found_entry *found)
{
    return found->entry && found->changes == found->state->versions.changes;
}

static TI_NOINLINE void note_read_anew(ti_command_graph *graph, const ti_task *task, uint32_t index,
                                       const found_entry *found)
{
    ti_version_map *map = &found->state->versions;
    const ti_footprint *touched = &task->shape->footprint[index];
    ti_version *v = ti_version_map_tile(map, touched->tile, &touched->box[0]);
    if (v) {
        ti_version_map_hold(map, v, task->shape->place);
    } else {
        const ti_command_use *use = ti_command_use_of(graph, task, task->shape->access[index].buffer);
        const uint32_t before = reads_before(task->shape, index);
        TI_ASSERT(before < use->reads.count);
        ti_version_map_read(map, use->reads.data[before]);
    }
}

static inline void note_write(const ti_task *task, uint32_t index, const found_entry *found)
{
    ti_version_map *map = &found->state->versions;
    int node = task->shape->place;
    if (is_known(found)) {
        ti_version_map_own(map, found->entry, node);
    } else if (task->shape->footprint[index].boxes > 0) {
        ti_version_map_set(map, &task->shape->footprint[index].box[0], node, node + 1);
    }
}

/* What is overwritten where nothing is merged need not be read first. */
static inline bool is_overwritten(const ti_access *access, const ti_version_map *map)
{
    return access->mode == TACIT_UPDATE && ti_version_map_stays_apart(map);
}

bool ti_command_passes_by(ti_command_graph *graph, const ti_task *task)
{
    const ti_shape *shape = task->shape;
    const int node = shape->place;
    if (task->kind != TI_TASK_EXECUTE || node < 0 || node == graph->system->node || shape->oversubscribe > 1 ||
        task->forwards || graph->system->explain) {
        return false;
    }
    found_entry found[TACIT_MAX_ACCESSES];
    uint32_t joins = 0, writes = 0; /* bits: accesses */
    _Static_assert(TACIT_MAX_ACCESSES <= 32, "a bit for each access");
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const int sender = find_sender(graph, task, i, &found[i]);
        if (sender == TI_UNDECIDED || sender == graph->system->node) {
            return false;
        }
        const ti_access *access = &shape->access[i];
        joins |= (uint32_t)(sender != TI_NOBODY && !is_overwritten(access, &found[i].state->versions)) << i;
        writes |= (uint32_t)ti_access_writes(access) << i;
    }
    for (; joins; joins &= joins - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(joins);
        if (TI_LIKELY(is_known(&found[i]))) {
            ti_version_map_join(&found[i].state->versions, found[i].entry, node);
        } else {
            note_read_anew(graph, task, i, &found[i]);
        }
    }
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (i == 0 || found[i].state != found[i - 1].state) {
            ti_replay_lose(&found[i].state->replay);
        }
    }
    for (; writes; writes &= writes - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(writes);
        note_write(task, i, &found[i]);
    }
    return true;
}

/* Whether nothing waits that this task might have to wait for, too. */
static inline bool may_pass(const ti_command_graph *graph)
{
    return !graph->multicast.trees && graph->pure.held.count == 0 && graph->window.held.count == 0;
}

bool ti_command_passes_at_once(ti_command_graph *graph, const ti_task *task)
{
    const ti_shape *shape = task->shape;
    if (!may_pass(graph) || task->kind != TI_TASK_EXECUTE || shape->place < 0 || ti_box_is_empty(&shape->range)) {
        return false;
    }
    graph->looked_at = task->id;
    return ti_command_passes_by(graph, task);
}

/* ---- briefs */

/* A tile that nodes have written, if nobody holds parts of it only; or NULL. */
static inline ti_version *tile_of_nodes(const ti_version_map *map, uint32_t tile)
{
    ti_version *v = (ti_version *)(uintptr_t)ti_tile_note_of(map->tiles, tile);
    return v && v->tile == tile && v->kind == TI_WRITER_NODES && !ti_copies_readers(v->copies) ? v : NULL;
}

/* Find the versions of what a brief touches, up to date. Bits: accesses whose tiles its node has to get from others
 * before it reads them. False: it is not that simple, or this node sends one of them. */
static inline bool find_tiles(ti_command_graph *graph, const ti_task *brief, ti_version **entry, uint32_t *lacks)
{
    const ti_shape *form = brief->shape;
    const ti_brief *b = ti_brief_of(brief);
    const ti_version_map *map = NULL;
    *lacks = 0;
    for (uint32_t i = 0; i < form->accesses; i++) {
        if (form->turns >> i & 1) {
            ti_command_buffer *state = plain_buffer(graph, form, form->access[i].buffer);
            if (!state || !ti_version_map_stays_apart(&state->versions)) {
                return false;
            }
            map = &state->versions;
        }
        ti_version *v = entry[i] = tile_of_nodes(map, b->tile[i]);
        if (!v) {
            return false;
        }
        if ((form->reads >> i & 1) && !ti_version_holds(v, b->place)) {
            if (ti_version_writer_for(v, b->place) == graph->system->node) {
                return false;
            }
            *lacks |= (uint32_t)1 << i;
        }
    }
    return true;
}

bool ti_command_brief_passes(ti_command_graph *graph, const ti_task *brief)
{
    const ti_shape *form = brief->shape;
    const int node = ti_brief_of(brief)->place;
    ti_version *entry[TACIT_MAX_ACCESSES];
    uint32_t lacks;
    TI_ASSERT(node != graph->system->node);
    TI_ASSERT(form->may_be_brief && (form->accesses == 0 || (form->turns & 1)));
    if (!may_pass(graph) || !find_tiles(graph, brief, entry, &lacks)) {
        return false;
    }
    for (uint32_t turns = form->turns; turns; turns &= turns - 1) {
        ti_replay_lose(&graph->buffer.data[form->access[__builtin_ctz(turns)].buffer->slot]->replay);
    }
    for (lacks &= ~form->writes; lacks; lacks &= lacks - 1) { /* what is overwritten need not be read first */
        const int i = __builtin_ctz(lacks);
        TI_ASSERT(form->reads >> i & 1);
        ti_version_map_join(&graph->buffer.data[form->access[i].buffer->slot]->versions, entry[i], node);
    }
    for (uint32_t writes = form->writes; writes; writes &= writes - 1) {
        const int i = __builtin_ctz(writes);
        ti_version_map_own(&graph->buffer.data[form->access[i].buffer->slot]->versions, entry[i], node);
    }
    return true;
}

void ti_command_graph_expect(const ti_command_graph *graph, const ti_task *task)
{
    const ti_brief *b = ti_brief_of(task);
    for (uint32_t i = 0; task->kind == TI_TASK_BRIEF && i < task->shape->accesses; i++) {
        const uint32_t slot = task->shape->access[i].buffer->slot;
        const ti_command_buffer *state = slot < graph->buffer.count ? graph->buffer.data[slot] : NULL;
        if (state) {
            __builtin_prefetch((const void *)(uintptr_t)ti_tile_note_of(state->versions.tiles, b->tile[i]), 1);
        }
    }
}
