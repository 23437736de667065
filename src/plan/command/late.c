/* The command graph, late data: see pure.h. While a window of pure tasks is planned, this is a list of the parts of
 * this node's buffers that wait for messages: what messages of the window bring, and what is written by items that read
 * something late. Tasks that overlap with their own messages (overlap.c) use it, too. Scheduler thread. */
#include "plan/command/impl.h"

#include <string.h>

void ti_command_note_late(ti_command_graph *graph, const ti_buffer_info *buffer, const ti_box *box, uint32_t count)
{
    for (uint32_t i = 0; graph->pure.cuts && i < count; i++) {
        TI_ASSERT(!ti_box_is_empty(&box[i]));
        ti_vec_push(&graph->pure.late, ((struct ti_command_late){ buffer, box[i] }));
    }
}

void ti_command_take_late(ti_command_graph *graph, const ti_buffer_info *buffer, const ti_boxes *without, ti_boxes *out)
{
    ti_command_pure *p = &graph->pure;
    size_t kept = 0;
    for (size_t i = 0; i < p->late.count; i++) {
        if (p->late.data[i].buffer == buffer) {
            ti_vec_push(out, p->late.data[i].box);
        } else {
            p->late.data[kept++] = p->late.data[i];
        }
    }
    p->late.count = kept;
    for (size_t i = 0; i < without->count; i++) {
        ti_boxes_subtract(out, &without->data[i]);
    }
}

const ti_command_cut_in *ti_command_find_cut(const ti_command_graph *graph, const ti_command_parts *parts)
{
    const ti_command_pure *p = &graph->pure;
    TI_ASSERT(0 <= parts->count && parts->count <= TI_CUTS_KEPT);
    for (int i = 0; i < parts->count; i++) {
        const ti_command_cut_in *k = &parts->kept[i];
        if (k->lates == p->late.count &&
            (!k->lates || memcmp(k->late, p->late.data, k->lates * sizeof(*k->late)) == 0)) {
            return k;
        }
    }
    return NULL;
}
