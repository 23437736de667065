/* The command graph, lookahead: see impl.h. Tasks are held whose transfers may become something better once it is known
 * what comes next.
 *
 * A forward that nothing can improve is decided when its task comes: all of what the producer wrote goes to all nodes,
 * or nothing moves. Any other is *open*: a later task may want the same on all nodes, and then one all-gather or
 * broadcast, done at once, serves both. The task of an open forward is held, and so are tasks that depend on held ones,
 * or whose forwards have the producer of an open one; everything else is planned as it comes. The window closes at
 * horizons, epochs and fences, and as soon as a task wants everything of an open forward's producer. Then the held
 * tasks are planned in order. Before a task with a forward is planned, what it and the later ones want on all nodes
 * from that producer, the *anticipated reads*, is brought by one collective.
 *
 * Where two windows in a row gained nothing for a buffer, its forwards are not held open any more, until it turns out
 * that a collective wants a part that messages have brought before: so loops in which there is nothing to find run as
 * without lookahead. All of this depends on the sequence of tasks alone, so all nodes do the same. Paper: what Knorr et
 * al., doi 10.1007/s10766-024-00767-y, leave open in section 5.1. Scheduler thread. */
#include "plan/lookahead/impl.h"

enum { MAX_FRUITLESS = 2, MAX_HELD = 1024 };

void ti_command_window_fini(ti_command_window *w)
{
    ti_vec_fini(&w->held);
    ti_vec_fini(&w->open);
    ti_vec_fini(&w->anticipated);
    ti_vec_fini(&w->boxes);
    ti_vec_fini(&w->rest);
}

/* ---- a task comes */

/* Whether a task with this id is held; held tasks ascend. */
static bool is_held(const ti_command_window *w, uint64_t id)
{
    size_t low = 0, high = w->held.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (w->held.data[middle]->id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < w->held.count && w->held.data[low]->id == id;
}

/* A horizon that comes after the tasks of its window of pure tasks (pure.c), but stands for those before it. */
static bool is_postponed(const ti_command_graph *graph, uint64_t id)
{
    const ti_command_pure *p = &graph->pure;
    for (size_t i = 0; p->horizons && i < p->held.count; i++) {
        if (p->held.data[i]->id == id) {
            return p->held.data[i]->kind == TI_TASK_HORIZON;
        }
    }
    return false;
}

static bool follows_held(const ti_command_graph *graph, const ti_task *task)
{
    const ti_command_window *w = &graph->window;
    for (uint32_t i = 0; i < task->deps && w->held.count; i++) {
        const uint64_t id = task->dep[i];
        if (id >= w->held.data[0]->id && (is_held(w, id) || is_postponed(graph, id))) {
            return true;
        }
    }
    return false;
}

static bool is_open(const ti_command_window *w, const ti_forward *f)
{
    for (size_t i = 0; i < w->open.count; i++) {
        if (w->open.data[i].producer == f->producer && w->open.data[i].buffer == f->buffer) {
            return true;
        }
    }
    return false;
}

/* What a forward's reader wants on all nodes, if it wants anything of the kind; kept until the window closes. */
static void note_anticipated(ti_command_graph *graph, const ti_forward *f, const ti_boxes *boxes)
{
    ti_anticipated read = { .task = graph->window.held.count,
                            .buffer = f->buffer,
                            .producer = f->producer,
                            .box = ti_arena_copy(ti_arena_ring_top(&graph->arenas), boxes->data,
                                                 boxes->count * sizeof(ti_box)),
                            .boxes = (uint32_t)boxes->count };
    const ti_command_window *w = &graph->window;
    TI_ASSERT(w->anticipated.count == 0 || w->anticipated.data[w->anticipated.count - 1].task <= read.task);
    if (boxes->count) {
        ti_vec_push(&graph->window.anticipated, read);
    }
}

typedef struct arrival {
    bool meets;  /* has a forward for the producer of an open one */
    bool waits;  /* has a forward that is open */
    bool closes; /* wants all there is of a producer whose forward is open: nothing better can come */
} arrival;

/* Look at one forward of a task that is about to be held, or would be if one of its forwards is open. */
static void look_at_forward(ti_command_graph *graph, const ti_task *task, const ti_command_use *use,
                            const ti_forward *f, arrival *out)
{
    ti_discovery_question question = ti_command_question(task, use, f);
    const ti_boxes *wanted = ti_discovery_wanted_by_all(&graph->collectives, &question);
    bool all = ti_command_is_all(f, wanted), meets = is_open(&graph->window, f);
    note_anticipated(graph, f, wanted);
    out->meets |= meets;
    if (all) {
        out->closes |= meets;
        return;
    }
    ti_collective *what;
    ti_command_buffer *buffer = use->state;
    if (buffer->fruitless >= MAX_FRUITLESS) {
        return;
    }
    ti_replay_settle(&buffer->replay, &buffer->versions);
    ti_verdict verdict = ti_discovery_decide(&graph->collectives, &buffer->collectives, &question, &what);
    if (verdict == TI_VERDICT_FREE || verdict == TI_VERDICT_CAME) {
        return;
    }
    out->waits = true;
    ti_vec_push(&graph->window.open, ((ti_open_forward){ f->buffer, f->producer }));
}

static arrival look_at(ti_command_graph *graph, const ti_task *task)
{
    arrival out = { false, false, false };
    for (uint32_t i = 0; i < task->forwards; i++) {
        const ti_command_use *use = ti_command_use_of(graph, task, task->forward[i].buffer);
        ti_command_divide(graph, use, &task->forward[i]);
        for (size_t k = 0; k < graph->parts.count; k++) {
            if (!graph->parts.data[k].stays) {
                look_at_forward(graph, task, use, &graph->parts.data[k].forward, &out);
            }
        }
    }
    return out;
}

/* ---- the window closes */

/* The window counts as fruitless for every buffer that it was held open for, until something is brought sooner
 * (ti_command_window_hoist). */
static void count_as_fruitless(ti_command_graph *graph)
{
    ti_command_window *w = &graph->window;
    for (size_t i = 0; i < w->open.count; i++) {
        ti_command_buffer *buffer = ti_command_buffer_of(graph, w->open.data[i].buffer);
        bool again = false; /* counted for an earlier one */
        for (size_t k = 0; k < i && !again; k++) {
            again = w->open.data[k].buffer == w->open.data[i].buffer;
        }
        buffer->fruitless += again ? 0 : 1;
    }
}

static void close_window(ti_command_graph *graph)
{
    ti_command_window *w = &graph->window;
    TI_ASSERT(w->held.count > 0);
    TI_ASSERT(w->anticipated.count == 0 || w->anticipated.data[w->anticipated.count - 1].task < w->held.count);
    count_as_fruitless(graph);
    for (w->at = 0; w->at < w->held.count; w->at++) {
        ti_command_plan(graph, w->held.data[w->at]);
    }
    ti_vec_clear(&w->held);
    ti_vec_clear(&w->open);
    ti_vec_clear(&w->anticipated);
}

/* ---- */

/* Whether nothing is held and none of the task's forwards would be: the usual case of loops in which there is nothing
 * to find. */
static bool passes_by(ti_command_graph *graph, const ti_task *task)
{
    for (uint32_t i = 0; i < task->forwards && graph->window.held.count == 0; i++) {
        const ti_buffer_info *buffer = task->forward[i].buffer;
        if (ti_command_buffer_of(graph, buffer)->fruitless < MAX_FRUITLESS &&
            !ti_command_replay_passes(graph, task, buffer)) {
            return false;
        }
    }
    return graph->window.held.count == 0;
}

static bool closes_always(const ti_task *task)
{
    return task->kind == TI_TASK_EPOCH || task->kind == TI_TASK_HORIZON || task->kind == TI_TASK_FENCE;
}

static void add_while_looking_ahead(ti_command_graph *graph, const ti_task *task)
{
    ti_command_window *w = &graph->window;
    arrival a = { false, false, false };
    TI_ASSERT(w->held.count > 0 || (w->open.count == 0 && w->anticipated.count == 0));
    /* A held task may name a buffer of which it touches nothing, so the end of a buffer waits for all. */
    bool ends = task->kind == TI_TASK_DESTROY && w->held.count > 0;
    bool follows = ends || follows_held(graph, task);
    if (task->forwards && !ti_box_is_empty(&task->shape->range)) {
        size_t before = w->anticipated.count;
        a = look_at(graph, task);
        follows |= a.meets;
        if (!follows && !a.waits) {
            w->anticipated.count = before;
        }
    }
    if (!follows && !a.waits && (!closes_always(task) || w->held.count == 0)) {
        ti_command_plan(graph, task);
        return;
    }
    TI_ASSERT(w->held.count < MAX_HELD && (w->held.count == 0 || w->held.data[w->held.count - 1]->id < task->id));
    ti_vec_push(&w->held, task);
    if (a.closes || closes_always(task) || w->held.count == MAX_HELD) {
        close_window(graph);
    }
}

static void look_ahead(ti_command_graph *graph, const ti_task *task)
{
    bool looks = graph->system->collectives == TI_COLLECTIVES_LOOKAHEAD && graph->system->num_nodes > 1;
    if (!looks || task->kind == TI_TASK_CREATE || passes_by(graph, task)) {
        ti_command_plan(graph, task);
    } else {
        add_while_looking_ahead(graph, task);
    }
}

void ti_command_window_flush(ti_command_graph *graph)
{
    const ti_task *next;
    while ((next = ti_command_multicast_next(graph, true))) {
        look_ahead(graph, next);
    }
    if (graph->window.held.count) {
        close_window(graph);
    }
    TI_ASSERT(graph->window.held.count == 0 && ti_multicast_window_count(&graph->multicast.window) == 0);
}

/* Placed tasks wait before that: multicast.c. A new buffer depends on nothing, and somebody may wait for its initial
 * contents. */
void ti_command_window_add(ti_command_graph *graph, const ti_task *task)
{
    bool waits = ti_command_multicast_waits(graph, task), all = !waits && task->kind != TI_TASK_CREATE;
    const ti_task *next;
    while ((next = ti_command_multicast_next(graph, all))) {
        look_ahead(graph, next);
    }
    if (!waits) {
        look_ahead(graph, task);
    }
}
