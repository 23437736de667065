/* Ready sends: see outbox.h. */
#include "exec/outbox.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const ti_instruction *send)
{
    uint64_t hash = send->as.transfer.boxes;
    for (uint32_t i = 0; i < send->as.transfer.boxes; i++) {
        const ti_instruction_box *b = &send->as.transfer.box[i];
        hash = ti_hash_words(&b->box, sizeof(b->box), ti_hash64(hash ^ b->place.allocation));
    }
    return hash;
}

static bool is_same(const ti_instruction *a, const ti_instruction *b)
{
    bool same = a->as.transfer.boxes == b->as.transfer.boxes && a->as.transfer.buffer == b->as.transfer.buffer;
    for (uint32_t i = 0; i < a->as.transfer.boxes && same; i++) {
        const ti_instruction_box *x = &a->as.transfer.box[i], *y = &b->as.transfer.box[i];
        same = x->place.allocation == y->place.allocation && x->place.user == y->place.user &&
               memcmp(&x->box, &y->box, sizeof(x->box)) == 0;
    }
    return same;
}

void ti_outbox_add(ti_outbox *o, const ti_instruction *send)
{
    ti_vec_push(&o->send, ((struct ti_outbox_send){ hash_of(send), send }));
}

static int by_payload(const void *a, const void *b)
{
    const struct ti_outbox_send *x = a, *y = b;
    if (x->hash != y->hash) {
        return x->hash < y->hash ? -1 : 1;
    }
    return x->send->id < y->send->id ? -1 : 1;
}

static int by_urgency(const void *a, const void *b)
{
    const ti_outbox_group *x = a, *y = b;
    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    return x->first < y->first ? -1 : 1;
}

/* Groups of equal priority leave in the order of their payloads' hashes: any order would do. */
void ti_outbox_sort(ti_outbox *o)
{
    qsort(o->send.data, o->send.count, sizeof(*o->send.data), by_payload);
    ti_vec_clear(&o->group);
    for (uint32_t i = 0; i < o->send.count; i++) {
        const ti_instruction *send = o->send.data[i].send;
        ti_outbox_group *last = o->group.count ? &o->group.data[o->group.count - 1] : NULL;
        if (last && o->send.data[last->first].hash == o->send.data[i].hash && is_same(ti_outbox_first(o, last), send)) {
            last->count++;
            last->priority = send->priority > last->priority ? send->priority : last->priority;
        } else {
            ti_vec_push(&o->group, ((ti_outbox_group){ .priority = send->priority, .first = i, .count = 1 }));
        }
    }
    qsort(o->group.data, o->group.count, sizeof(*o->group.data), by_urgency);
}

ti_recipient *ti_outbox_recipients(ti_outbox *o, const ti_outbox_group *group)
{
    ti_vec_clear(&o->recipient);
    for (uint32_t i = 0; i < group->count; i++) {
        const ti_instruction *send = o->send.data[group->first + i].send;
        ti_vec_push(&o->recipient, ((ti_recipient){ .counter = send->as.transfer.counter,
                                                    .token = send->id,
                                                    .node = send->as.transfer.peer,
                                                    .priority = send->priority }));
    }
    return o->recipient.data;
}

void ti_outbox_clear(ti_outbox *o)
{
    ti_vec_clear(&o->send);
}

void ti_outbox_fini(ti_outbox *o)
{
    ti_vec_fini(&o->send);
    ti_vec_fini(&o->group);
    ti_vec_fini(&o->recipient);
}
