/* Ready sends: see outbox.h. */
#include "exec/outbox.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const ti_instruction *a, const ti_instruction *b)
{
    bool same = a->as.transfer.version && a->as.transfer.version == b->as.transfer.version &&
                a->as.transfer.planned == b->as.transfer.planned && a->as.transfer.boxes == b->as.transfer.boxes &&
                a->as.transfer.buffer == b->as.transfer.buffer;
    for (uint32_t i = 0; i < a->as.transfer.boxes && same; i++) {
        const ti_instruction_box *x = &a->as.transfer.box[i], *y = &b->as.transfer.box[i];
        same = x->place.allocation == y->place.allocation && x->place.user == y->place.user &&
               memcmp(&x->box, &y->box, sizeof(x->box)) == 0;
    }
    return same;
}

void ti_outbox_add(ti_outbox *o, const ti_instruction *send)
{
    ti_vec_push(&o->send, send);
    o->shares |= send->as.transfer.version != 0;
}

/* Those of one version may differ in their boxes. */
static int by_contents(const void *a, const void *b)
{
    const ti_instruction *x = *(const ti_instruction *const *)a, *y = *(const ti_instruction *const *)b;
    if (x->as.transfer.version != y->as.transfer.version) {
        return x->as.transfer.version < y->as.transfer.version ? -1 : 1;
    }
    if (x->as.transfer.planned != y->as.transfer.planned) {
        return x->as.transfer.planned ? -1 : 1;
    }
    int boxes = ti_box_compare(&x->as.transfer.box[0].box, &y->as.transfer.box[0].box);
    return boxes ? boxes : (x->id > y->id) - (x->id < y->id);
}

static int by_urgency(const void *a, const void *b)
{
    const ti_outbox_group *x = a, *y = b;
    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    return (x->id > y->id) - (x->id < y->id);
}

/* The second send of a version says that it is a shared one. Of a group that leaves first, one is the very first; all
 * others are late, of which those of one version count once. */
static void count_group(ti_outbox *o, const ti_outbox_group *group)
{
    bool late = true;
    for (uint32_t i = 0; i < group->count; i++) {
        const ti_instruction *send = o->send.data[group->first + i];
        o->counts.shared += send->as.transfer.again == 1;
        late = late && send->as.transfer.again > 0;
    }
    if (late) {
        uint64_t version = o->send.data[group->first]->as.transfer.version;
        uint64_t *known = &o->known_late[version % TI_COUNT(o->known_late)];
        o->counts.late += *known != version;
        *known = version;
    }
}

void ti_outbox_sort(ti_outbox *o)
{
    qsort(o->send.data, o->send.count, sizeof(const ti_instruction *), by_contents);
    ti_vec_clear(&o->group);
    for (uint32_t i = 0; i < o->send.count; i++) {
        const ti_instruction *send = o->send.data[i];
        ti_outbox_group *last = o->group.count ? &o->group.data[o->group.count - 1] : NULL;
        if (last && is_same(ti_outbox_first(o, last), send)) {
            last->count++;
            last->priority = send->priority > last->priority ? send->priority : last->priority;
        } else {
            ti_vec_push(&o->group,
                        ((ti_outbox_group){ .priority = send->priority, .first = i, .count = 1, .id = send->id }));
        }
    }
    for (size_t g = 0; g < o->group.count; g++) {
        count_group(o, &o->group.data[g]);
    }
    qsort(o->group.data, o->group.count, sizeof(*o->group.data), by_urgency);
}

ti_recipient *ti_outbox_recipients(ti_outbox *o, const ti_outbox_group *group)
{
    ti_vec_clear(&o->recipient);
    for (uint32_t i = 0; i < group->count; i++) {
        const ti_instruction *send = o->send.data[group->first + i];
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
    o->shares = false;
}

void ti_outbox_fini(ti_outbox *o)
{
    ti_vec_fini(&o->send);
    ti_vec_fini(&o->group);
    ti_vec_fini(&o->recipient);
}
