/* Sends that are ready: those of one payload become one broadcast, and the urgent ones leave first.
 *
 * Two sends of the same boxes of the same allocations that are ready at the same time carry the same version: a write
 * in between would wait for the one, and the other for it. So the sender finds its broadcasts without being told who
 * reads what (paper: Denis et al. 2020, section 3.1). Executor role. */
#ifndef TI_OUTBOX_H
#define TI_OUTBOX_H

#include "base/vec.h"
#include "comm/comm.h"
#include "ir/instruction.h"

typedef struct ti_outbox_group {
    int priority; /* the highest of its sends */
    uint32_t first, count;
} ti_outbox_group;

typedef struct ti_outbox {
    TI_VEC(struct ti_outbox_send {
        uint64_t hash; /* of the payload */
        const ti_instruction *send;
    })
    send;
    TI_VEC(ti_outbox_group) group;
    TI_VEC(ti_recipient) recipient; /* scratch */
} ti_outbox;

void ti_outbox_add(ti_outbox *outbox, const ti_instruction *send);
/* Sort what was added into groups, the most urgent first. */
void ti_outbox_sort(ti_outbox *outbox);
static inline const ti_instruction *ti_outbox_first(const ti_outbox *outbox, const ti_outbox_group *group)
{
    return outbox->send.data[group->first].send;
}
/* Who gets what a group sends; valid until the next call. */
ti_recipient *ti_outbox_recipients(ti_outbox *outbox, const ti_outbox_group *group);
void ti_outbox_clear(ti_outbox *outbox);
void ti_outbox_fini(ti_outbox *outbox);

#endif
