/* The command graph, cycles: see impl.h, and plan/command/cycle.h for the state. What becomes of the tasks of a steady
 * loop is what became of them in the last round.
 *
 * The task graph says which tasks come again (ti_task::again). Planning looks at nothing else of such tasks than at
 * what is the same each time, and at what is known of buffers: the contents of their versions, which have numbers
 * (version/replay.h), who reads the results of their reductions, and how often it was of no use to hold tasks back for
 * them. So a round is recorded, and if all of that is the same before and after it, the next one becomes the same
 * commands, but for ids and for the numbers of messages and collectives, which are counted on. When another task comes,
 * buffers get what was known of them after the latest step at which no task was held. The tasks since then are planned
 * once more, for what they do to that knowledge, and not for their commands.
 *
 * There are no cycles of windows of pure tasks, of planned multicasts, of reductions in blocks, of buffers whose
 * contents have no number, while somebody wants explanations, nor where commands have dependencies. Scheduler thread.
 */
#include "plan/lookahead/impl.h"

#include <string.h>

enum { WORTH = 2 }; /* rounds that make up for recording */

void ti_command_cycle_init(ti_command_graph *graph)
{
    const ti_system *s = graph->system;
    graph->cycle.off = s->derive_always || s->record || s->explain || s->check_pure;
}

void ti_command_cycle_fini(ti_command_cycle *c)
{
    ti_vec_fini(&c->step);
    ti_vec_fini(&c->task);
    ti_vec_fini(&c->plan);
    ti_vec_fini(&c->command);
    ti_vec_fini(&c->box);
    ti_vec_fini(&c->tree);
    ti_vec_fini(&c->left);
    ti_vec_fini(&c->before);
    ti_vec_fini(&c->after);
    ti_loop_fini(&c->loop);
}

/* ---- what is known */

/* Whether no window is open but one for collectives: there are no cycles of others. */
static bool is_plain(const ti_command_graph *graph)
{
    return graph->pure.held.count == 0 && graph->multicast.starting.count == 0 &&
           ti_multicast_window_count(&graph->multicast.window) == 0;
}

/* Whether no task is held by a window for collectives. */
static bool rests(const ti_command_graph *graph)
{
    return graph->window.held.count == 0;
}

static uint64_t two(int high, int low)
{
    return (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
}

static void describe_buffer(ti_command_buffer *b, ti_command_words *out)
{
    const ti_reduced *r = &b->reduced;
    const uint64_t word[] = { two(ti_replay_number(&b->replay, &b->versions), b->fruitless),
                              b->replay.lives,
                              b->replay.forgotten,
                              b->replay.manner,
                              b->collectives.forgotten,
                              r->task != 0,
                              two(r->a, r->b),
                              two((int)r->seen.kind, r->seen.node),
                              two((int)r->usual.kind, r->usual.node) };
    for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
        ti_vec_push(out, word[i]);
    }
}

/* Write down what is known of all buffers; on one node nothing of it matters. False: some tasks are held. */
static bool describe(const ti_command_graph *graph, ti_command_words *out)
{
    ti_vec_clear(out);
    for (size_t i = 0; i < graph->buffer.count && ti_command_is_distributed(graph); i++) {
        ti_vec_push(out, graph->buffer.data[i] != NULL);
        if (graph->buffer.data[i]) {
            describe_buffer(graph->buffer.data[i], out);
        }
    }
    return rests(graph) && is_plain(graph);
}

static bool is_same(const ti_command_cycle *c)
{
    const size_t count = c->before.count;
    return count == c->after.count &&
           (count == 0 || memcmp(c->before.data, c->after.data, count * sizeof(uint64_t)) == 0);
}

/* ---- recording */

static void start_recording(ti_command_graph *graph, uint64_t number)
{
    ti_command_cycle *c = &graph->cycle;
    c->loop.phase = TI_LOOP_RECORDS;
    c->number = number;
    c->noted = 0;
    ti_vec_clear(&c->step);
    ti_vec_clear(&c->task);
    ti_vec_clear(&c->plan);
    ti_vec_clear(&c->command);
    ti_vec_clear(&c->box);
    ti_vec_clear(&c->tree);
    ti_vec_clear(&c->left);
    if (!describe(graph, &c->before)) {
        ti_loop_give_up(&c->loop, false);
    }
}

static void finish_recording(ti_command_graph *graph)
{
    ti_command_cycle *c = &graph->cycle;
    if (!describe(graph, &c->after) || !is_same(c)) {
        ti_loop_give_up(&c->loop, false);
        return;
    }
    TI_ASSERT(c->step.count == c->task.count && c->noted == c->task.count);
    c->loop.phase = TI_LOOP_REPEATS;
    c->rounds = 0;
    ti_vec_clear(&c->task);
    for (size_t i = 0; i < c->command.count; i++) {
        c->command.data[i].command.again = ++c->numbered;
    }
}

/* The place in the round of a task, which may have been held since it came. */
static uint32_t place_of(const ti_command_cycle *c, const ti_task *task)
{
    TI_ASSERT(c->task.count > 0);
    size_t at = c->task.count - 1;
    while (at > 0 && c->task.data[at] != task) {
        at--;
    }
    TI_ASSERT(c->task.data[at] == task);
    return (uint32_t)at;
}

/* Whether the pieces of a chunk are kept with its shape. */
static bool is_kept(const ti_command_shape *known, const ti_piece *piece)
{
    const ti_command_parts *parts = known->overlap.parts;
    bool kept = piece == known->piece;
    for (int i = 0; parts && i < parts->count; i++) {
        kept |= piece == parts->kept[i].piece;
    }
    return kept;
}

/* An execution of one piece that is the task's own is noted without it: it comes with the task. */
static bool record_execution(ti_command_graph *graph, ti_command *command)
{
    const ti_piece *piece = command->as.execute.piece;
    if (!ti_command_is_distributed(graph) && command->as.execute.pieces == 1 &&
        piece->footprint == command->task->shape->footprint) {
        command->as.execute.piece = NULL;
        return command->as.execute.window == 0;
    }
    return command->task->shape->serial && command->as.execute.window == 0 &&
           is_kept(ti_command_shape_of(graph, command->task), piece);
}

static bool record_command(ti_command_graph *graph, const ti_command *command)
{
    ti_command_cycle *c = &graph->cycle;
    ti_command_made made = { .command = *command, .task = place_of(c, command->task), .box = c->box.count };
    bool can = true;
    switch (command->kind) {
    case TI_COMMAND_EXECUTE:
        can = record_execution(graph, &made.command);
        break;
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        can = !command->as.transfer.bundle && !command->joined;
        for (uint32_t i = 0; i < command->as.transfer.boxes; i++) {
            ti_vec_push(&c->box, command->as.transfer.box[i]);
        }
        break;
    case TI_COMMAND_COLLECTIVE:
        made.what = (ti_collective *)(uintptr_t)command->as.collective.what;
        break;
    case TI_COMMAND_REDUCE:
        made.what = (ti_collective *)(uintptr_t)command->as.reduce.what;
        made.box = c->tree.count;
        can = !command->as.reduce.blocks;
        if (command->as.reduce.tree) {
            ti_vec_push(&c->tree, *command->as.reduce.tree);
        }
        break;
    case TI_COMMAND_EPOCH:
    case TI_COMMAND_FENCE:
        break;
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        TI_UNREACHABLE(); /* such tasks do not come again */
    }
    ti_vec_push(&c->command, made);
    return can;
}

/* Record what is known of a buffer now. False: its contents have no number. */
static bool record_buffer(ti_command_cycle *c, ti_command_buffer *b)
{
    const int at = ti_replay_number(&b->replay, &b->versions);
    ti_vec_push(&c->left, ((ti_command_left){ b, b->reduced, b->replay.manner, at, b->fruitless }));
    return at != 0;
}

/* Nothing is held: record what the tasks have left since that was last so. */
static bool record_buffers(ti_command_graph *graph)
{
    ti_command_cycle *c = &graph->cycle;
    bool can = true;
    for (; c->noted < c->task.count; c->noted++) {
        const ti_shape *shape = c->task.data[c->noted]->shape;
        for (uint32_t i = 0; i < shape->accesses && can && ti_command_is_distributed(graph); i++) {
            can = record_buffer(c, ti_command_buffer_of(graph, shape->access[i].buffer));
        }
    }
    return can;
}

void ti_command_cycle_note(ti_command_graph *graph, const ti_command_mark *before)
{
    ti_command_cycle *c = &graph->cycle;
    ti_command_step s = { .plan = c->plan.count, .command = c->command.count, .left = c->left.count };
    TI_ASSERT(c->task.count == c->step.count + 1 && c->step.count < TI_AGAIN_STEPS);
    bool can = is_plain(graph);
    for (size_t i = before->planned; i < graph->planned.count; i++) {
        ti_vec_push(&c->plan, place_of(c, graph->planned.data[i]));
    }
    for (size_t i = before->batch; i < graph->batch.count && can; i++) {
        can = record_command(graph, graph->batch.data[i]);
    }
    s.rests = rests(graph);
    can = can && (!s.rests || record_buffers(graph));
    s.plans = (uint32_t)(c->plan.count - s.plan);
    s.commands = (uint32_t)(c->command.count - s.command);
    s.lefts = (uint32_t)(c->left.count - s.left);
    s.replayed = (uint32_t)(graph->replayed - before->replayed);
    s.overlapped = (uint32_t)(graph->overlapped - before->overlapped);
    s.missed = (uint32_t)(graph->missed.times - before->missed);
    ti_vec_push(&c->step, s);
    if (!can) {
        ti_loop_give_up(&c->loop, false);
    }
}

ti_command_mark ti_command_here(const ti_command_graph *graph)
{
    return (ti_command_mark){ graph->batch.count, graph->planned.count, graph->replayed, graph->overlapped,
                              graph->missed.times };
}

/* ---- catching up */

static void give_back(const ti_command_left *left)
{
    ti_command_buffer *b = left->buffer;
    b->reduced = left->reduced;
    b->fruitless = left->fruitless;
    b->replay.manner = left->manner;
    ti_replay_jump(&b->replay, left->at);
}

/* Take back the numbers of messages that have been counted twice. */
static void count_back(ti_command_graph *graph, const ti_command *command)
{
    const ti_tree_place *tree = command->kind == TI_COMMAND_REDUCE ? command->as.reduce.tree : NULL;
    if (command->kind == TI_COMMAND_SEND || command->kind == TI_COMMAND_RECEIVE) {
        ti_command_count_message_back(graph, command->as.transfer.peer, command->kind == TI_COMMAND_SEND);
    }
    if (tree && tree->parent >= 0) {
        ti_command_count_message_back(graph, tree->parent, true);
    }
    for (int i = 0; tree && i < tree->children; i++) {
        ti_command_count_message_back(graph, tree->child[i], false);
    }
}

/* Tasks [from, to) of the round are planned again, for what they leave. */
static void plan_again(ti_command_graph *graph, size_t from, size_t to)
{
    const ti_command_cycle *c = &graph->cycle;
    const ti_command_mark here = ti_command_here(graph);
    const uint64_t id = graph->next_id, sequence = graph->collectives.sequence;
    for (size_t i = from; i < to; i++) {
        ti_command_pure_add(graph, c->task.data[i]);
    }
    for (size_t i = here.batch; i < graph->batch.count; i++) {
        count_back(graph, graph->batch.data[i]);
    }
    graph->batch.count = here.batch;
    graph->planned.count = here.planned;
    graph->replayed = here.replayed;
    graph->overlapped = here.overlapped;
    graph->missed.times = here.missed;
    graph->next_id = id;
    graph->collectives.sequence = sequence;
    TI_ASSERT(is_plain(graph) && graph->newest_point < id); /* none of these was a point */
}

/* Another task comes, or somebody looks. If that is too soon, it is no fault of this stage: the next round is recorded
 * again. */
static void end_early(ti_command_cycle *c)
{
    if (c->loop.phase == TI_LOOP_REPEATS && c->rounds >= WORTH) {
        ti_loop_give_up(&c->loop, true);
    }
    c->loop.phase = TI_LOOP_LOOKS;
}

static TI_NOINLINE void stop(ti_command_graph *graph)
{
    ti_command_cycle *c = &graph->cycle;
    const size_t at = c->task.count;
    size_t rested = at;
    TI_ASSERT(at < c->step.count);
    while (rested > 0 && !c->step.data[rested - 1].rests) {
        rested--;
    }
    end_early(c);
    for (size_t i = 0; i < (rested ? c->step.data[rested - 1].left + c->step.data[rested - 1].lefts : 0); i++) {
        give_back(&c->left.data[i]);
    }
    plan_again(graph, rested, at);
}

void ti_command_cycle_skip(ti_command_graph *graph)
{
    ti_command_cycle *c = &graph->cycle;
    if (c->loop.phase == TI_LOOP_REPEATS) {
        stop(graph);
    } else if (c->loop.phase == TI_LOOP_RECORDS) {
        end_early(c);
    }
}

/* ---- repeating */

static const ti_tree_place *count_on_tree(ti_command_graph *graph, const ti_tree_place *from)
{
    ti_tree_place *tree = ti_arena_copy(ti_command_arena(graph), from, sizeof(*tree));
    if (tree->parent >= 0) {
        tree->parent_counter = ti_command_count_message(graph, tree->parent, true);
    }
    for (int i = 0; i < tree->children; i++) {
        tree->child_counter[i] = ti_command_count_message(graph, tree->child[i], false);
    }
    return tree;
}

static inline void emit_again(ti_command_graph *graph, const ti_command_made *made)
{
    const ti_command_cycle *c = &graph->cycle;
    ti_arena *arena = ti_command_arena(graph);
    ti_command *command = ti_arena_copy(arena, &made->command, sizeof(*command));
    TI_ASSERT(made->task < c->task.count);
    const ti_task *task = command->task = c->task.data[made->task];
    command->id = graph->next_id++;
    switch (command->kind) {
    case TI_COMMAND_EXECUTE:
        if (!command->as.execute.piece) {
            ti_piece *piece = TI_ARENA_ARRAY(arena, ti_piece, 1);
            *piece = (ti_piece){ task->shape->range, task->shape->footprint };
            command->as.execute.piece = piece;
        }
        break;
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        command->as.transfer.box = ti_arena_copy(arena, c->box.data + made->box,
                                                 command->as.transfer.boxes * sizeof(ti_box));
        command->as.transfer.counter = ti_command_count_message(graph, command->as.transfer.peer,
                                                                command->kind == TI_COMMAND_SEND);
        break;
    case TI_COMMAND_COLLECTIVE:
        made->what->last_use = task->id;
        command->as.collective.sequence = graph->collectives.sequence++;
        break;
    case TI_COMMAND_REDUCE:
        if (made->what) {
            made->what->last_use = task->id;
            command->as.reduce.sequence = graph->collectives.sequence++;
        } else {
            command->as.reduce.tree = count_on_tree(graph, &c->tree.data[made->box]);
        }
        break;
    case TI_COMMAND_EPOCH:
        ti_vec_push(&graph->batch, command);
        ti_command_pass_point(graph, command);
        return;
    case TI_COMMAND_FENCE: /* what it copies to comes with its task */
        break;
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        TI_UNREACHABLE();
    }
    ti_vec_push(&graph->batch, command);
}

static inline void take(ti_command_graph *graph, const ti_task *task)
{
    ti_command_cycle *c = &graph->cycle;
    const ti_command_step *s = &c->step.data[c->task.count];
    TI_ASSERT(c->task.count < c->step.count);
    TI_ASSERT(s->plan + s->plans <= c->plan.count && s->command + s->commands <= c->command.count);
    ti_vec_push(&c->task, task);
    for (size_t i = s->plan; i < s->plan + s->plans; i++) {
        ti_vec_push(&graph->planned, c->task.data[c->plan.data[i]]);
    }
    for (size_t i = s->command; i < s->command + s->commands; i++) {
        emit_again(graph, &c->command.data[i]);
    }
    graph->replayed += s->replayed;
    graph->overlapped += s->overlapped;
    graph->missed.times += s->missed;
    c->repeated++;
    if (c->task.count == c->step.count) {
        ti_vec_clear(&c->task);
        c->rounds++;
    }
}

/* A round begins, which may be the one after a recorded one, or may be recorded. */
static void begin_round(ti_command_graph *graph, uint64_t number)
{
    ti_command_cycle *c = &graph->cycle;
    if (c->loop.phase == TI_LOOP_RECORDS && c->number == number) {
        finish_recording(graph);
    }
    if (ti_loop_begin_round(&c->loop) && c->loop.phase == TI_LOOP_LOOKS) {
        start_recording(graph, number);
    }
}

bool ti_command_graph_is_at_round(const ti_command_graph *graph, uint64_t number)
{
    const ti_command_cycle *c = &graph->cycle;
    return c->loop.phase == TI_LOOP_REPEATS && c->task.count == 0 && c->number == number;
}

bool ti_command_graph_comes_to_round(ti_command_graph *graph, uint64_t number)
{
    if (graph->cycle.loop.phase == TI_LOOP_RECORDS && graph->cycle.number == number) {
        finish_recording(graph);
    }
    return ti_command_graph_is_at_round(graph, number);
}

bool ti_command_graph_holds(const ti_command_graph *graph)
{
    const ti_command_cycle *c = &graph->cycle;
    if (c->loop.phase == TI_LOOP_REPEATS) {
        return c->task.count > 0 && !c->step.data[c->task.count - 1].rests;
    }
    return !rests(graph) || !is_plain(graph);
}

uint64_t ti_command_graph_next_message(const ti_command_graph *graph, int peer, bool is_send)
{
    return ti_peer_next(is_send ? &graph->sent : &graph->received, peer);
}

uint64_t ti_command_graph_next_collective(const ti_command_graph *graph)
{
    return graph->collectives.sequence;
}

/* Messages and collectives of so many rounds have had their numbers. */
static void count_on(ti_command_graph *graph, const ti_command_made *made, uint64_t rounds)
{
    const ti_command *command = &made->command;
    const bool has_tree = command->kind == TI_COMMAND_REDUCE && !made->what;
    const ti_tree_place *tree = has_tree ? &graph->cycle.tree.data[made->box] : NULL;
    if (command->kind == TI_COMMAND_SEND) {
        ti_peer_count_on(&graph->sent, command->as.transfer.peer, rounds);
    } else if (command->kind == TI_COMMAND_RECEIVE) {
        ti_peer_count_on(&graph->received, command->as.transfer.peer, rounds);
    } else if (made->what) {
        graph->collectives.sequence += rounds;
    }
    if (tree && tree->parent >= 0) {
        ti_peer_count_on(&graph->sent, tree->parent, rounds);
    }
    for (int i = 0; tree && i < tree->children; i++) {
        ti_peer_count_on(&graph->received, tree->child[i], rounds);
    }
}

void ti_command_graph_pass(ti_command_graph *graph, uint64_t tasks, uint64_t commands)
{
    ti_command_cycle *c = &graph->cycle;
    const uint64_t rounds = tasks / c->step.count;
    TI_ASSERT(c->loop.phase == TI_LOOP_REPEATS && c->task.count == 0 && tasks % c->step.count == 0);
    TI_ASSERT(commands == rounds * c->command.count);
    c->rounds += rounds;
    c->repeated += tasks;
    for (size_t i = 0; i < c->command.count && ti_command_is_distributed(graph); i++) {
        count_on(graph, &c->command.data[i], rounds);
    }
    for (size_t i = 0; i < c->step.count; i++) {
        graph->replayed += rounds * c->step.data[i].replayed;
        graph->overlapped += rounds * c->step.data[i].overlapped;
        graph->missed.times += rounds * c->step.data[i].missed;
    }
    graph->next_id += commands;
    graph->newest_point += commands;
    ti_era_apply(&graph->era, graph->era.applied + commands);
}

bool ti_command_cycle_take(ti_command_graph *graph, const ti_task *task)
{
    ti_command_cycle *c = &graph->cycle;
    const uint64_t again = task->kind == TI_TASK_BRIEF || c->off ? 0 : task->again;
    if (TI_LIKELY(c->loop.phase == TI_LOOP_REPEATS)) {
        if (TI_LIKELY(again == c->number + c->task.count)) {
            take(graph, task);
            return true;
        }
        stop(graph);
    }
    if (again && again % TI_AGAIN_STEPS == 0) {
        begin_round(graph, again);
        if (c->loop.phase == TI_LOOP_REPEATS) {
            take(graph, task);
            return true;
        }
    }
    if (c->loop.phase == TI_LOOP_RECORDS) {
        if (again == c->number + c->step.count) {
            ti_vec_push(&c->task, task);
        } else {
            end_early(c);
        }
    }
    return false;
}
