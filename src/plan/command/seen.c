/* The command graph, for the report only: windows of pure tasks that have closed, until all of their tasks have been
 * planned. See pure.h.
 *
 * It counts how many messages the tasks receive, and how many they would receive without windows. Lookahead may hold
 * tasks of a window, and collectives may bring what they read, so both are counted when a task is planned
 * (plan/lookahead/tell.c finds what would come without windows). Scheduler thread. */
#include "plan/command/impl.h"

struct ti_command_seen *ti_command_seen_of(ti_command_graph *graph, const ti_task *task)
{
    ti_command_pure *p = &graph->pure;
    for (size_t i = 0; i < p->seen.count; i++) {
        if (p->seen.data[i].first <= task->id && task->id <= p->seen.data[i].last) {
            return &p->seen.data[i];
        }
    }
    return NULL;
}

static bool is_covered(const ti_command_graph *graph, const ti_box *box)
{
    ti_boxes left = { 0 };
    ti_vec_push(&left, *box);
    for (size_t i = 0; i < graph->transfer.covered.count; i++) {
        ti_boxes_subtract(&left, &graph->transfer.covered.data[i]);
    }
    const bool none = left.count == 0;
    ti_vec_fini(&left);
    return none;
}

/* Pieces of one peer follow each other, and are one message. */
void ti_command_look_at_rest(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer)
{
    ti_command_pure *p = &graph->pure;
    struct ti_command_seen *seen = ti_command_seen_of(graph, task);
    int counted = -1;
    for (size_t i = 0; seen && i < p->seen_piece.count; i++) {
        const struct ti_command_seen_piece *at = &p->seen_piece.data[i];
        if (at->buffer == buffer && at->piece.peer != counted && !is_covered(graph, &at->piece.box)) {
            seen->window.saved++;
            counted = at->piece.peer;
        }
    }
}

void ti_command_look_at_message(ti_command_graph *graph, const ti_task *task)
{
    struct ti_command_seen *seen = ti_command_seen_of(graph, task);
    if (seen) {
        seen->window.saved--;
    }
}

void ti_command_tell_windows(ti_command_graph *graph)
{
    ti_command_pure *p = &graph->pure;
    size_t n = 0;
    TI_ASSERT(graph->system->explain || p->seen.count == 0);
    while (n < p->seen.count && p->seen.data[n].left == 0) {
        ti_explain_note_window(graph->system->explain, &p->seen.data[n++].window);
    }
    for (size_t i = n; i < p->seen.count; i++) {
        p->seen.data[i - n] = p->seen.data[i];
    }
    p->seen.count -= n;
}
