/* The command graph, planned multicasts: see impl.h, and plan/command/multicast.h for the state. What several nodes
 * will read is sent to all of them when the first of them needs it.
 *
 * Placed tasks wait in a window (plan/version/multicast.h) that ends where all nodes see it end: after so many tasks,
 * and at whatever the program may wait for. Before the first reader of a version is planned, its owner sends it down a
 * tree over the nodes that will read it. From then on the versions say that these nodes have it. So their tasks find
 * that nothing is missing, and what such a node sends on is an ordinary message that depends on the one that brought
 * it. All nodes know the same versions, and derive the same tree from them.
 *
 * A task at the front of the window that reads only what its own node wrote need not wait there: the window is for
 * finding the readers of what travels. Scheduler thread. */
#include "plan/transfer/impl.h"

#include <string.h>

/* How many tasks wait, at most; each has memory of the task graph as long as it does. */
enum { MAX_WAITING = 4096 };

/* ---- the window */

void ti_command_multicast_init(ti_command_graph *graph)
{
    graph->multicast.trees = ti_command_is_distributed(graph) && graph->system->multicast >= TI_MULTICAST_TREES;
    graph->multicast.tree = (ti_tree)TI_MAX(graph->system->multicast - TI_MULTICAST_TREES, 0);
}

void ti_command_multicast_fini(ti_command_graph *graph)
{
    ti_multicast_window_fini(&graph->multicast.window);
    ti_vec_fini(&graph->multicast.starting);
    ti_vec_fini(&graph->multicast.lacking);
    ti_multicast_place_fini(&graph->multicast.place);
    ti_vec_fini(&graph->multicast.told);
    ti_vec_fini(&graph->multicast.from);
    ti_vec_fini(&graph->multicast.to);
    ti_vec_fini(&graph->multicast.holder);
    ti_vec_fini(&graph->multicast.words);
    ti_map_fini(&graph->multicast.known);
    ti_vec_fini(&graph->multicast.known_words);
}

bool ti_command_multicast_waits(ti_command_graph *graph, const ti_task *task)
{
    ti_multicast_window *w = &graph->multicast.window;
    bool waits = graph->multicast.trees && task->kind == TI_TASK_EXECUTE &&
                 (task->source || ti_multicast_window_count(w) > 0);
    if (waits) {
        ti_multicast_window_push(w, task);
    }
    return waits;
}

const ti_task *ti_command_multicast_next(ti_command_graph *graph, bool all)
{
    ti_multicast_window *w = &graph->multicast.window;
    if (ti_multicast_window_count(w) <= (all ? 0 : MAX_WAITING)) {
        return NULL;
    }
    return ti_multicast_window_pop(w, ti_command_arena(graph), &graph->multicast.starting);
}

/* ---- one multicast */

/* The entry that has all of the box, if one node has written it and those that have read it since are known by their
 * numbers; else NULL. */
static const ti_version *entry_of(ti_version_map *map, const ti_box *box)
{
    const ti_version *v = ti_version_map_find(map, 0, box);
    if (!v) {
        const ti_versions *hit = ti_version_map_query(map, box);
        v = hit->count == 1 ? hit->data[0] : NULL;
    }
    bool good = v && v->kind == TI_WRITER_NODES && v->b == v->a + 1 && ti_copies_readers(v->copies) == 0;
    return good ? v : NULL;
}

static void emit(ti_command_graph *graph, const ti_multicast *m, const ti_messages *from, const ti_messages *to,
                 size_t recipients)
{
    ti_multicast_counts *counts = &graph->multicast.counts;
    TI_ASSERT(!graph->multicast.emitting && from->count <= 1 && to->count <= recipients);
    graph->multicast.emitting = true;
    ti_command_emit_messages(graph, m->task, m->buffer, from, false);
    ti_command_emit_messages(graph, m->task, m->buffer, to, true);
    graph->multicast.emitting = false;
    if (from->count) {
        counts->forwards += to->count;
    } else if (to->count) { /* its owner */
        uint32_t depth = ti_tree_depth(graph->multicast.tree, (uint32_t)recipients);
        counts->multicasts++;
        counts->recipients += recipients;
        counts->depth = TI_MAX(counts->depth, depth);
    }
}

/* This node's messages: from its parent, to its children. */
static void find_messages(ti_command_graph *graph, const ti_multicast *m, int owner)
{
    ti_command_multicasts *c = &graph->multicast;
    int node = graph->system->node, who = TI_MULTICAST_ROOT;
    for (size_t i = 0; i < c->lacking.count && node != owner; i++) {
        who = c->lacking.data[i].node == node ? (int)i : who;
    }
    if (node != owner && who == TI_MULTICAST_ROOT) {
        return;
    }
    ti_multicast_place_find(&c->place, c->tree, (uint32_t)c->lacking.count, who);
    TI_ASSERT(c->place.parent == TI_MULTICAST_ROOT || (size_t)c->place.parent < c->lacking.count);
    TI_ASSERT(c->place.child.count <= c->lacking.count && c->from.count == 0 && c->to.count == 0);
    if (node != owner) {
        int parent = c->place.parent == TI_MULTICAST_ROOT ? owner : c->lacking.data[c->place.parent].node;
        ti_vec_push(&c->from, ((ti_message_piece){ parent, 0, *m->box }));
    }
    for (uint32_t i = 0; i < c->place.child.count; i++) {
        ti_vec_push(&c->to, ((ti_message_piece){ c->lacking.data[c->place.child.data[i]].node, i, *m->box }));
    }
}

/* Who reads, as a value: behind the mappers of earlier accesses to the same buffer. */
static ti_holder *holder_of(ti_command_graph *graph, const ti_multicast_reader *r)
{
    const ti_access *access = r->task->shape->access;
    const ti_buffer_info *buffer = access[r->access].buffer;
    uint32_t before = 0;
    for (uint32_t i = 0; i < r->access; i++) {
        before += access[i].buffer == buffer && ti_access_needs_old(&access[i]) ? access[i].mappers : 0;
    }
    const ti_holders reads = ti_command_use_of(graph, r->task, buffer)->reads;
    TI_ASSERT(before < reads.count);
    return reads.data[before];
}

/* The readers hold the box now, as they will be told again when their tasks are planned. */
static void hold(ti_command_graph *graph, const ti_multicast *m, ti_command_buffer *state)
{
    for (size_t i = 0; i < graph->multicast.lacking.count; i++) {
        const ti_multicast_reader *r = &graph->multicast.lacking.data[i];
        ti_version *v = ti_version_map_find(&state->versions, 0, m->box);
        if (v && r->task->shape->oversubscribe == 1) {
            ti_version_map_hold(&state->versions, v, r->node);
        } else {
            ti_version_map_read(&state->versions, holder_of(graph, r));
        }
    }
}

static void tell(ti_command_graph *graph, const ti_multicast *m, bool left)
{
    ti_command_multicasts *c = &graph->multicast;
    ti_arena *arena = ti_command_arena(graph);
    ti_command_told told = { .task = m->task->id, .buffer = m->buffer, .box = m->box, .left = left };
    told.recipients = (uint32_t)c->lacking.count;
    told.depth = left ? 0 : ti_tree_depth(c->tree, told.recipients);
    told.from.count = c->from.count;
    told.from.data = ti_arena_copy(arena, c->from.data, c->from.count * sizeof(*c->from.data));
    told.to.count = c->to.count;
    told.to.data = ti_arena_copy(arena, c->to.data, c->to.count * sizeof(*c->to.data));
    ti_vec_push(&c->told, told);
}

/* Whether a broadcast that the owner finds brings it sooner. All nodes decide alike: by its bytes and recipients. */
static bool is_left(const ti_command_graph *graph, const ti_multicast *m)
{
    const ti_system *system = graph->system;
    const ti_tree found = (ti_tree)system->found_tree;
    const uint64_t bytes = (uint64_t)ti_box_volume(m->box) * m->buffer->elem_size,
                   segment = system->segment ? system->segment : TI_TREE_SEGMENT;
    return found != TI_TREE_FLAT &&
           !ti_tree_is_planned(found, (uint32_t)graph->multicast.lacking.count, ti_tree_segments(bytes, segment));
}

static void count_left(ti_command_multicasts *c)
{
    c->counts.left += c->left > 0;
    c->counts.left_recipients += c->left;
}

/* Its tasks send it, each to its reader. */
static void leave(ti_command_graph *graph, const ti_multicast *m, int owner)
{
    ti_command_multicasts *c = &graph->multicast;
    c->left = owner == graph->system->node ? (uint32_t)c->lacking.count : 0;
    count_left(c);
    if (graph->system->explain) {
        tell(graph, m, true);
    }
    ti_vec_clear(&c->lacking);
}

/* The versions are up to date. Whether anything has been sent. */
static bool start(ti_command_graph *graph, const ti_multicast *m, ti_command_buffer *state)
{
    ti_command_multicasts *c = &graph->multicast;
    const ti_version *v = entry_of(&state->versions, m->box);
    ti_vec_clear(&c->lacking);
    ti_vec_clear(&c->from);
    ti_vec_clear(&c->to);
    c->left = 0;
    for (uint32_t i = 0; v && i < m->readers; i++) {
        if (ti_version_sender(v, m->reader[i].node) != TI_NOBODY) {
            ti_vec_push(&c->lacking, m->reader[i]);
        }
    }
    if (c->lacking.count < 2) {
        ti_vec_clear(&c->lacking);
        return false;
    }
    if (is_left(graph, m)) {
        leave(graph, m, v->a);
        return false;
    }
    find_messages(graph, m, v->a);
    emit(graph, m, &c->from, &c->to, c->lacking.count);
    if (graph->system->explain) {
        tell(graph, m, false);
    }
    hold(graph, m, state);
    return true;
}

/* ---- what repeats itself: a multicast is a step of its own (plan/version/replay.h), before that of its first task */

enum { MAX_KNOWN = 4096 };
static const uint64_t first_serial = (uint64_t)1 << 41; /* no shape has it, nor one with margins */
_Static_assert(TACIT_MAX_ACCESSES <= 1 << 8, "a byte says which access");

/* A number for the same reads of the same shapes, or 0: some come only once. */
static uint64_t serial_of(ti_command_graph *graph, const ti_multicast *m)
{
    ti_command_multicasts *c = &graph->multicast;
    ti_vec_clear(&c->words);
    ti_vec_push(&c->words, m->readers);
    for (uint32_t i = 0; i < m->readers; i++) {
        uint64_t serial = m->reader[i].task->shape->serial;
        if (!serial) {
            return 0;
        }
        ti_vec_push(&c->words, serial << 8 | m->reader[i].access);
    }
    size_t size = c->words.count * sizeof(uint64_t);
    uint64_t *first = ti_map_at(&c->known, ti_hash_words(c->words.data, size, 0));
    for (uint64_t at = *first; at; at = c->known_words.data[at]) { /* its next one; then its words */
        const uint64_t *word = &c->known_words.data[at + 1];
        if (word[0] == c->words.data[0] && memcmp(word, c->words.data, size) == 0) {
            return first_serial + c->forgotten + at;
        }
    }
    if (c->known.count > MAX_KNOWN) {
        c->forgotten += c->known_words.count;
        ti_vec_clear(&c->known_words);
        ti_map_fini(&c->known);
        return 0;
    }
    uint64_t at = TI_MAX(c->known_words.count, 1);
    ti_vec_reserve(&c->known_words, at + 1 + c->words.count);
    c->known_words.data[at] = *first;
    memcpy(&c->known_words.data[at + 1], c->words.data, size);
    c->known_words.count = at + 1 + c->words.count;
    *first = at;
    return first_serial + c->forgotten + at;
}

static void record(ti_command_graph *graph, const ti_task *step, const ti_multicast *m, ti_replay *replay)
{
    ti_command_multicasts *c = &graph->multicast;
    ti_vec_clear(&c->holder);
    for (size_t i = 0; i < c->lacking.count; i++) {
        ti_vec_push(&c->holder, holder_of(graph, &c->lacking.data[i]));
    }
    const ti_replay_effect effect = { .reads = { c->holder.data, c->holder.count },
                                      .outgoing = c->to,
                                      .incoming = c->from,
                                      .passes = true,
                                      .left = c->left };
    TI_ASSERT(c->lacking.count != 1 && (c->left == 0 || c->lacking.count == 0));
    ti_replay_record(replay, step, m->buffer, &effect);
}

static void start_or_repeat(ti_command_graph *graph, const ti_multicast *m)
{
    ti_command_buffer *state = ti_command_buffer_of(graph, m->buffer);
    ti_replay *replay = &state->replay;
    bool few = state->versions.index.count <= TI_REPLAY_ENTRIES && !graph->system->explain;
    const ti_shape shape = { .serial = few ? serial_of(graph, m) : 0 };
    const ti_task step = { .shape = &shape };
    if (!shape.serial) {
        ti_replay_settle(replay, &state->versions);
        if (start(graph, m, state)) {
            ti_replay_lose(replay);
        }
        return;
    }
    if (ti_replay_begin(replay, &state->versions, &state->collectives, &step, m->buffer, shape.serial)) {
        const ti_replay_effect *effect = &replay->now->effect;
        emit(graph, m, &effect->incoming, &effect->outgoing, effect->reads.count);
        graph->multicast.left = effect->left;
        count_left(&graph->multicast);
        graph->replayed++;
    } else {
        start(graph, m, state);
        if (replay->recording) {
            record(graph, &step, m, replay);
        }
    }
    ti_replay_end(replay, &state->versions);
}

void ti_command_multicast(ti_command_graph *graph, const ti_task *task)
{
    ti_multicasts *starting = &graph->multicast.starting;
    size_t kept = 0;
    ti_vec_clear(&graph->multicast.told);
    for (size_t i = 0; i < starting->count; i++) {
        if (starting->data[i].task == task) {
            start_or_repeat(graph, &starting->data[i]);
        } else {
            starting->data[kept++] = starting->data[i]; /* its task is held: window.c */
        }
    }
    starting->count = kept;
}
