/* What has been sent of a buffer since it was written: so that sends of the same contents can be told from others.
 *
 * Sends of one box have the same version if nothing wrote there between them. The map has the boxes that have been
 * sent, each with the version of its contents; a write takes out what it covers, and what is not in the map when it is
 * sent is a version that has not been sent before. Versions ascend: a message of several boxes has that of its newest
 * part. Unlike the writers in trackers, versions do not change when a horizon passes them.
 *
 * A version also remembers what its first send waited for. A later one may wait for the same, where the tracker only
 * knows a horizon that has passed since: it would leave long after the first, and not together with it.
 *
 * At most TI_SENT_BOXES are kept of a buffer. If there are more, all are forgotten, and what is sent again looks new:
 * it travels by itself. Part of the instruction graph. Scheduler thread. */
#ifndef TI_SENT_H
#define TI_SENT_H

#include "grid/region.h"
#include "grid/region_map.h"

enum { TI_SENT_BOXES = 1 << 16 };

/* Contents of a box. */
typedef struct ti_sent_version {
    uint64_t number;     /* 0: not known */
    uint32_t again;      /* sends so far */
    uint64_t allocation; /* where the first send found it, */
    uint64_t after;      /* and the one instruction that it waited for; 0: none, or several */
} ti_sent_version;

/* A zeroed one is empty. */
typedef struct ti_sent {
    ti_region_map map; /* box -> index of its version */
    TI_VEC(ti_sent_version) version;
    TI_VEC(uint32_t) unused; /* versions */
    ti_region_entries met;   /* scratch */
    ti_boxes rest;
} ti_sent;

/* By the slots of buffers: NULL, or not there, until something is sent. */
typedef TI_VEC(ti_sent *) ti_sents;
static inline ti_sent *ti_sent_of(const ti_sents *sents, uint32_t slot)
{
    return slot < sents->count ? sents->data[slot] : NULL;
}
/* The same, which is there from now on. */
ti_sent *ti_sent_at(ti_sents *sents, uint32_t slot);
void ti_sent_drop(ti_sents *sents, uint32_t slot);

void ti_sent_fini(ti_sent *sent);
/* `box` is sent; `newest` is the newest version that there is, and grows. The result is as it was before this send, and
 * may be changed if it is new; it is valid until the next call. */
ti_sent_version *ti_sent_add(ti_sent *sent, const ti_box *box, uint64_t *newest);
void ti_sent_overwrite(ti_sent *sent, const ti_box *box);

/* `box` is written. NULL: nothing has been sent. */
static inline void ti_sent_write(ti_sent *sent, const ti_box *box)
{
    if (sent && sent->map.count) {
        ti_sent_overwrite(sent, box);
    }
}

#endif
