/* Last writers and readers: see tracker.h.
 *
 * Most entries have a writer and no reader; their map value is the writer's id. Only entries with readers have a record,
 * and the value is the record's index with the mark bit. */
#include "plan/tracker.h"

#include "base/check.h"
#include "base/sort.h"
#include "grid/region.h"

#include <string.h>

#define MARK ((uint64_t)1 << 63)
enum { FEW_ENTRIES = 8 };
#define NO_RECORD UINT32_MAX

void ti_deps_add(ti_deps *deps, uint64_t id)
{
    if (id == 0 || id == deps->self) {
        return;
    }
    for (size_t i = deps->ids.count; i-- > 0;) {
        if (deps->ids.data[i] == id) {
            return;
        }
    }
    ti_vec_push(&deps->ids, id);
}

void ti_deps_fini(ti_deps *deps)
{
    ti_vec_fini(&deps->ids);
}

void ti_era_fini(ti_era *era)
{
    ti_vec_fini(&era->dirty);
}

void ti_tracker_init(ti_tracker *t, ti_era *era)
{
    memset(t, 0, sizeof(*t));
    t->era = era;
    ti_region_map_init(&t->map);
    t->free_record = NO_RECORD;
}

void ti_tracker_fini(ti_tracker *t)
{
    for (size_t i = 0; i < t->era->dirty.count; i++) {
        if (t->era->dirty.data[i] == t) {
            t->era->dirty.data[i] = t->era->dirty.data[--t->era->dirty.count];
            break;
        }
    }
    for (uint32_t i = 0; i < t->records; i++) {
        ti_vec_fini(&t->record[i].readers);
    }
    ti_free(t->record, t->records * sizeof(*t->record));
    ti_region_map_fini(&t->map);
    ti_vec_fini(&t->young);
    ti_vec_fini(&t->scratch);
    ti_vec_fini(&t->rest);
    ti_vec_fini(&t->touching);
}

/* ---- values */

static uint64_t as_of_now(const ti_tracker *t, uint64_t id)
{
    return id && id < t->era->applied ? t->era->applied : id;
}

static uint64_t new_record(ti_tracker *t, uint64_t writer)
{
    if (t->free_record == NO_RECORD) {
        uint32_t fresh = t->records ? 2 * t->records : 4;
        t->record = ti_realloc(t->record, t->records * sizeof(*t->record), fresh * sizeof(*t->record));
        memset(t->record + t->records, 0, (fresh - t->records) * sizeof(*t->record));
        for (uint32_t i = fresh; i-- > t->records;) {
            t->record[i].next_free = t->free_record;
            t->free_record = i;
        }
        t->records = fresh;
    }
    uint32_t index = t->free_record;
    t->free_record = t->record[index].next_free;
    t->record[index].writer = writer;
    t->record[index].readers.count = 0;
    return MARK | index;
}

static struct ti_tracker_record *record_of(const ti_tracker *t, uint64_t value)
{
    return &t->record[value & ~MARK];
}

static void drop_value(ti_tracker *t, uint64_t value)
{
    if (value & MARK) {
        record_of(t, value)->next_free = t->free_record;
        t->free_record = (uint32_t)(value & ~MARK);
    }
}

static uint64_t copy_value(ti_tracker *t, uint64_t value)
{
    if (!(value & MARK)) {
        return value;
    }
    uint64_t copy = new_record(t, record_of(t, value)->writer);
    const ti_tracker_readers *from = &record_of(t, value)->readers;
    for (size_t i = 0; i < from->count; i++) {
        ti_vec_push(&record_of(t, copy)->readers, from->data[i]);
    }
    return copy;
}

/* Rewrite what lies below the applied horizon: such readers stand for the horizon. They may go only with all other readers: one that came
 * between the horizon and its application depends on the writer by its own name, and does not follow the horizon. */
static uint64_t normalise(ti_tracker *t, uint64_t value)
{
    if (!(value & MARK)) {
        return as_of_now(t, value);
    }
    struct ti_tracker_record *r = record_of(t, value);
    r->writer = as_of_now(t, r->writer);
    size_t kept = 0;
    bool below = false;
    for (size_t i = 0; i < r->readers.count; i++) {
        if (r->readers.data[i] > t->era->applied) {
            r->readers.data[kept++] = r->readers.data[i];
        } else {
            below = true;
        }
    }
    if (below && kept > 0) {
        memmove(r->readers.data + 1, r->readers.data, kept * sizeof(uint64_t));
        r->readers.data[0] = t->era->applied;
        kept++;
    }
    r->readers.count = kept;
    if (kept == 0) {
        uint64_t writer = r->writer;
        drop_value(t, value);
        return writer;
    }
    return value;
}

static bool same_value(const ti_tracker *t, uint64_t a, uint64_t b)
{
    if (!(a & MARK) || !(b & MARK)) {
        return a == b;
    }
    const struct ti_tracker_record *ra = record_of(t, a), *rb = record_of(t, b);
    return ra->writer == rb->writer && ra->readers.count == rb->readers.count &&
           memcmp(ra->readers.data, rb->readers.data, ra->readers.count * sizeof(uint64_t)) == 0;
}

static void depend_on_writer(const ti_tracker *t, uint64_t value, ti_deps *deps)
{
    ti_deps_add(deps, as_of_now(t, value & MARK ? record_of(t, value)->writer : value));
}

static void depend_on_all(const ti_tracker *t, uint64_t value, ti_deps *deps)
{
    if (!(value & MARK)) {
        ti_deps_add(deps, as_of_now(t, value));
        return;
    }
    const struct ti_tracker_record *r = record_of(t, value);
    if (r->readers.count == 0) {
        ti_deps_add(deps, as_of_now(t, r->writer));
    }
    for (size_t i = 0; i < r->readers.count; i++) {
        ti_deps_add(deps, as_of_now(t, r->readers.data[i]));
    }
}

static uint64_t with_reader(ti_tracker *t, uint64_t value, uint64_t id)
{
    value = normalise(t, value);
    if (!(value & MARK)) {
        value = new_record(t, value);
    }
    struct ti_tracker_record *r = record_of(t, value);
    if (r->readers.count == 0 || r->readers.data[r->readers.count - 1] != id) {
        ti_vec_push(&r->readers, id);
    }
    return value;
}

/* ---- entries */

static void insert(ti_tracker *t, const ti_box *box, uint64_t value)
{
    ti_region_map_insert(&t->map, box, value);
    if (t->map.count > FEW_ENTRIES) {
        if (t->young.count == 0) {
            ti_vec_push(&t->era->dirty, t);
        }
        ti_vec_push(&t->young, ((ti_region_entry){ *box, 0 }));
    }
}

/* Cut `entry` along `box`: the pieces outside stay in the map. The entry itself leaves it; its value belongs to the caller. */
static void take_out(ti_tracker *t, const ti_region_entry *entry, const ti_box *box)
{
    ti_region_map_remove(&t->map, &entry->box, entry->value);
    ti_box piece[6];
    int n = ti_box_covers(box, &entry->box) ? 0 : ti_box_subtract(&entry->box, box, piece);
    for (int i = 0; i < n; i++) {
        insert(t, &piece[i], copy_value(t, entry->value));
    }
}

static void find(ti_tracker *t, const ti_box *box)
{
    ti_vec_clear(&t->scratch);
    ti_region_map_query(&t->map, box, &t->scratch);
}

/* Merge the entry at `box` with neighbours of equal value, as long as there are any. Returns the box that it has then. */
static ti_box merge_around(ti_tracker *t, ti_box box, uint64_t value)
{
    for (bool again = true; again;) {
        again = false;
        ti_vec_clear(&t->touching);
        ti_region_map_query_touching(&t->map, &box, &t->touching);
        for (size_t i = 0; i < t->touching.count && !again; i++) {
            ti_region_entry *e = &t->touching.data[i];
            ti_box joined;
            if (!ti_box_join(&e->box, &box, &joined)) {
                continue;
            }
            uint64_t other = normalise(t, e->value);
            if (other != e->value) {
                *ti_region_map_find(&t->map, &e->box) = other;
            }
            if (same_value(t, other, value)) {
                ti_region_map_remove(&t->map, &e->box, other);
                ti_region_map_remove(&t->map, &box, value);
                drop_value(t, other);
                ti_region_map_insert(&t->map, &joined, value);
                box = joined;
                again = true;
            }
        }
    }
    return box;
}

void ti_tracker_read(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps)
{
    find(t, box);
    for (size_t i = 0; i < t->scratch.count; i++) {
        ti_region_entry e = t->scratch.data[i];
        depend_on_writer(t, e.value, deps);
        if (ti_box_covers(box, &e.box)) {
            uint64_t *value = ti_region_map_find(&t->map, &e.box);
            *value = with_reader(t, e.value, id);
        } else {
            take_out(t, &e, box);
            ti_box common = ti_box_intersect(&e.box, box);
            insert(t, &common, with_reader(t, e.value, id));
        }
    }
}

void ti_tracker_write(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps)
{
    find(t, box);
    if (t->scratch.count == 1 && ti_box_equal(&t->scratch.data[0].box, box)) {
        depend_on_all(t, t->scratch.data[0].value, deps);
        drop_value(t, t->scratch.data[0].value);
        *ti_region_map_find(&t->map, box) = id;
        return;
    }
    for (size_t i = 0; i < t->scratch.count; i++) {
        ti_region_entry e = t->scratch.data[i];
        depend_on_all(t, e.value, deps);
        take_out(t, &e, box);
        drop_value(t, e.value);
    }
    insert(t, box, id);
}

void ti_tracker_uses(ti_tracker *t, const ti_box *box, ti_deps *deps)
{
    find(t, box);
    for (size_t i = 0; i < t->scratch.count; i++) {
        depend_on_all(t, t->scratch.data[i].value, deps);
    }
}

bool ti_tracker_is_written(ti_tracker *t, const ti_box *box, ti_box *hole)
{
    find(t, box);
    if (t->scratch.count == 1 && ti_box_covers(&t->scratch.data[0].box, box)) {
        return true;
    }
    ti_vec_clear(&t->rest);
    ti_vec_push(&t->rest, *box);
    for (size_t i = 0; i < t->scratch.count; i++) {
        ti_boxes_subtract(&t->rest, &t->scratch.data[i].box);
    }
    if (t->rest.count > 0) {
        *hole = t->rest.data[0];
    }
    return t->rest.count == 0;
}

void ti_tracker_written(ti_tracker *t, const ti_box *box, ti_region_entries *out)
{
    size_t first = out->count;
    ti_region_map_query(&t->map, box, out);
    for (size_t i = first; i < out->count; i++) {
        out->data[i].box = ti_box_intersect(&out->data[i].box, box);
    }
}

void ti_tracker_forget(ti_tracker *t, const ti_box *box)
{
    find(t, box);
    for (size_t i = 0; i < t->scratch.count; i++) {
        ti_region_entry e = t->scratch.data[i];
        take_out(t, &e, box);
        drop_value(t, e.value);
    }
}

static uint64_t writer_of(const ti_tracker *t, uint64_t value)
{
    return value & MARK ? record_of(t, value)->writer : value;
}

static int by_corner(const void *a, const void *b)
{
    const ti_region_entry *x = a, *y = b;
    return ti_box_compare(&x->box, &y->box);
}

/* An entry that was cut and made again is in the list several times. */
static void drop_copies(ti_region_entries *list, ti_region_entries *scratch)
{
    size_t kept = TI_MIN(list->count, 1);
    if (list->count > 1) {
        ti_vec_sort(list, scratch, by_corner);
    }
    for (size_t i = 1; i < list->count; i++) {
        if (!ti_box_equal(&list->data[i].box, &list->data[kept - 1].box)) {
            list->data[kept++] = list->data[i];
        }
    }
    list->count = kept;
}

/* Merge the young entries whose writers lie below the horizon now. Those with younger readers or writers stay young: they may become equal to
 * their neighbours later. */
static void sweep(ti_tracker *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->young.count; i++) {
        ti_region_entry e = t->young.data[i];
        uint64_t *value = ti_region_map_find(&t->map, &e.box);
        if (!value) {
            continue; /* overwritten, cut or merged since */
        }
        *value = normalise(t, *value);
        uint64_t now = *value;
        if (writer_of(t, now) <= t->era->applied) {
            e.box = merge_around(t, e.box, now);
        }
        if (now > t->era->applied) {
            t->young.data[kept++] = e;
        }
    }
    t->young.count = kept;
    drop_copies(&t->young, &t->scratch);
}

void ti_era_apply(ti_era *era, uint64_t horizon)
{
    TI_ASSERT(horizon >= era->applied);
    era->applied = horizon;
    size_t kept = 0;
    for (size_t i = 0; i < era->dirty.count; i++) {
        ti_tracker *t = era->dirty.data[i];
        sweep(t);
        if (t->young.count > 0) {
            era->dirty.data[kept++] = t;
        }
    }
    era->dirty.count = kept;
}

bool ti_tracker_is_valid(const ti_tracker *t)
{
    ti_region_entries all = { 0 };
    ti_box everything = { { INT64_MIN / 2, INT64_MIN / 2, INT64_MIN / 2 },
                          { INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2 } };
    ti_region_map_query(&t->map, &everything, &all);
    bool valid = all.count == t->map.count && ti_region_map_is_valid(&t->map);
    for (size_t i = 0; i < all.count && valid; i++) {
        if (all.data[i].value & MARK) {
            const struct ti_tracker_record *r = record_of(t, all.data[i].value);
            valid = r->readers.count > 0;
            for (size_t k = 1; k < r->readers.count; k++) {
                valid = valid && r->readers.data[k - 1] < r->readers.data[k];
            }
        }
        for (size_t j = i + 1; j < all.count; j++) {
            valid = valid && !ti_box_meets(&all.data[i].box, &all.data[j].box);
        }
    }
    ti_vec_fini(&all);
    return valid;
}
