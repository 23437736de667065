/* The command graph, anticipated reads: see impl.h. What held tasks will want on all nodes comes at once, before the
 * first of them. Only while a window closes: see plan/lookahead/window.c. Scheduler thread. */
#include "plan/transfer/impl.h"

/* The union of what the task at hand and later ones want of a producer. Whether later ones want anything. */
static bool join_anticipated(ti_command_window *w, const ti_forward *f)
{
    bool later = false;
    ti_vec_clear(&w->boxes);
    for (size_t i = 0; i < w->anticipated.count; i++) {
        const ti_anticipated *read = &w->anticipated.data[i];
        if (read->task < w->at || read->producer != f->producer || read->buffer != f->buffer) {
            continue;
        }
        TI_ASSERT(read->boxes > 0 && read->task < w->held.count);
        later |= read->task > w->at;
        for (uint32_t b = 0; b < read->boxes; b++) {
            ti_boxes_add_missing(&w->boxes, &read->box[b], &w->rest);
        }
    }
    return later;
}

/* Whether it is the held task that is being planned: others pass by while tasks are held. */
static bool is_at_hand(const ti_command_window *w, const ti_task *task)
{
    return w->at < w->held.count && w->held.data[w->at] == task;
}

const ti_collective *ti_command_window_hoist(ti_command_graph *graph, const ti_task *task, const ti_forward *f)
{
    ti_command_window *w = &graph->window;
    if (!is_at_hand(w, task) || !join_anticipated(w, f)) {
        return NULL;
    }
    ti_command_buffer *buffer = ti_command_buffer_of(graph, f->buffer);
    ti_discovery_question question = {
        .map = &buffer->versions, .box = w->boxes.data, .boxes = (uint32_t)w->boxes.count, .task = task->id
    };
    ti_collective *what;
    if (ti_discovery_decide(&graph->collectives, &buffer->collectives, &question, &what) != TI_VERDICT_COLLECTIVE) {
        return NULL;
    }
    ti_command_emit_collective(graph, task, f->buffer, what);
    for (uint32_t i = 0; i < what->regions; i++) {
        ti_version_map_share(&buffer->versions, &what->region[i], graph->system->num_nodes);
    }
    buffer->fruitless = 0;
    return what;
}
