/* Sends that are ready: those of one payload become one broadcast, and the urgent ones leave first.
 *
 * The planner numbers the contents that sends carry (plan/track/sent.h). Those of one number and the same boxes that
 * have not left yet leave together. So the sender finds its broadcasts without being told who reads what (paper: Denis
 * et al. 2020, section 3.1). A send that is planned too late for that leaves by itself. The contents that had such a
 * send are counted; that takes little memory, since each send knows how many came before it. Executor role. */
#ifndef TI_OUTBOX_H
#define TI_OUTBOX_H

#include "base/vec.h"
#include "comm/comm.h"
#include "ir/instruction.h"

typedef struct ti_outbox_group {
    int priority; /* the highest of its sends */
    uint32_t first, count;
    uint64_t id; /* of its first send */
} ti_outbox_group;

typedef struct ti_outbox_counts {
    uint64_t shared; /* contents that several nodes got by messages of their own */
    uint64_t late;   /* of these: a message left after the first */
} ti_outbox_counts;

/* Versions that are late again and again are told apart from so many others. */
enum { TI_OUTBOX_LATE = 1024 };

typedef struct ti_outbox {
    TI_VEC(const ti_instruction *) send;
    bool shares; /* some of them may leave with others */
    TI_VEC(ti_outbox_group) group;
    TI_VEC(ti_recipient) recipient; /* scratch */
    ti_outbox_counts counts;
    uint64_t known_late[TI_OUTBOX_LATE]; /* versions that have been counted as late */
} ti_outbox;

void ti_outbox_add(ti_outbox *outbox, const ti_instruction *send);
/* Whether there is something that need not wait for more of the same contents, which come if `more`. */
static inline bool ti_outbox_may_leave(const ti_outbox *outbox, bool more)
{
    return outbox->send.count > 0 && !(more && outbox->shares);
}
/* Sort what was added into groups, the most urgent first. */
void ti_outbox_sort(ti_outbox *outbox);
static inline const ti_instruction *ti_outbox_first(const ti_outbox *outbox, const ti_outbox_group *group)
{
    return outbox->send.data[group->first];
}
/* Whether its sends leave as one broadcast, where there are relays. */
static inline bool ti_outbox_is_broadcast(const ti_outbox *outbox, const ti_outbox_group *group)
{
    return group->count > 1 && !ti_outbox_first(outbox, group)->as.transfer.planned;
}
/* Who gets what a group sends; valid until the next call. */
ti_recipient *ti_outbox_recipients(ti_outbox *outbox, const ti_outbox_group *group);
void ti_outbox_clear(ti_outbox *outbox);
void ti_outbox_fini(ti_outbox *outbox);

#endif
