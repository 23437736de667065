/* What has been sent since it was written: see sent.h. */
#include "plan/track/sent.h"

#include "base/check.h"

ti_sent *ti_sent_at(ti_sents *sents, uint32_t slot)
{
    while (sents->count <= slot) {
        ti_vec_push(sents, NULL);
    }
    if (!sents->data[slot]) {
        sents->data[slot] = TI_NEW(ti_sent);
    }
    return sents->data[slot];
}

void ti_sent_drop(ti_sents *sents, uint32_t slot)
{
    ti_sent *sent = ti_sent_of(sents, slot);
    if (sent) {
        ti_sent_fini(sent);
        TI_DELETE(sent);
        sents->data[slot] = NULL;
    }
}

void ti_sent_fini(ti_sent *sent)
{
    ti_region_map_fini(&sent->map);
    ti_vec_fini(&sent->version);
    ti_vec_fini(&sent->unused);
    ti_vec_fini(&sent->met);
    ti_vec_fini(&sent->rest);
}

static void insert(ti_sent *sent, const ti_box *box, const ti_sent_version *version)
{
    if (!sent->unused.count) {
        ti_vec_push(&sent->unused, (uint32_t)sent->version.count);
        ti_vec_push(&sent->version, ((ti_sent_version){ 0 }));
    }
    uint32_t index = sent->unused.data[--sent->unused.count];
    sent->version.data[index] = *version;
    ti_region_map_insert(&sent->map, box, index);
}

static void remove_entry(ti_sent *sent, const ti_box *box, uint64_t index)
{
    ti_region_map_remove(&sent->map, box, index);
    ti_vec_push(&sent->unused, (uint32_t)index);
}

/* The newest of the versions in `box`, or none. `rest` is what of it has not been sent. */
static ti_sent_version meet(ti_sent *sent, const ti_box *box)
{
    ti_sent_version newest = { 0 };
    ti_vec_clear(&sent->met);
    ti_region_map_query(&sent->map, box, &sent->met);
    ti_vec_clear(&sent->rest);
    ti_vec_push(&sent->rest, *box);
    for (size_t i = 0; i < sent->met.count; i++) {
        const ti_sent_version *v = &sent->version.data[sent->met.data[i].value];
        newest.number = TI_MAX(newest.number, v->number);
        newest.again = TI_MAX(newest.again, v->again);
        ti_boxes_subtract(&sent->rest, &sent->met.data[i].box);
    }
    return newest;
}

/* A box that is not one that has been sent becomes one, with the versions of its parts, the newest of which counts from
 * now on: for other boxes that have the same parts, too, which then look new. */
static void make_entry(ti_sent *sent, const ti_box *box, uint64_t *newest)
{
    ti_sent_version version = meet(sent, box);
    if (sent->rest.count) {
        version.number = ++*newest;
    }
    ti_sent_overwrite(sent, box);
    insert(sent, box, &version);
}

ti_sent_version *ti_sent_add(ti_sent *sent, const ti_box *box, uint64_t *newest)
{
    uint64_t *exact = ti_region_map_find(&sent->map, box);
    if (!exact && sent->map.count >= TI_SENT_BOXES) {
        ti_sent_fini(sent);
        *sent = (ti_sent){ 0 };
    }
    if (!exact) {
        make_entry(sent, box, newest);
        exact = ti_region_map_find(&sent->map, box);
    }
    return &sent->version.data[*exact];
}

void ti_sent_overwrite(ti_sent *sent, const ti_box *box)
{
    const uint64_t *exact = ti_region_map_find(&sent->map, box);
    if (exact) {
        remove_entry(sent, box, *exact);
        return;
    }
    ti_region_entries *met = &sent->met;
    ti_vec_clear(met);
    ti_region_map_query(&sent->map, box, met);
    for (size_t i = 0; i < met->count; i++) {
        ti_box piece[6];
        int pieces = ti_box_covers(box, &met->data[i].box) ? 0 : ti_box_subtract(&met->data[i].box, box, piece);
        ti_sent_version version = sent->version.data[met->data[i].value];
        remove_entry(sent, &met->data[i].box, met->data[i].value);
        for (int k = 0; k < pieces; k++) {
            insert(sent, &piece[k], &version);
        }
    }
}
