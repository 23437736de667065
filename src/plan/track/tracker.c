/* Last writers and readers: see tracker.h, and impl.h for how they are kept. */
#include "plan/track/impl.h"

#include <string.h>

/* A read that touches MANY_OLD old entries merges them; a read of more than MAX_UNNOTED entries is noted beside the
 * map, unless the era says otherwise (`few`). SELDOM: see new_parts. */
enum { MANY_OLD = 4, MAX_UNNOTED = 4, SELDOM = 16 };
#define NO_RECORD UINT32_MAX

void ti_tracker_init(ti_tracker *t, ti_era *era)
{
    memset(t, 0, sizeof(*t));
    t->era = era;
    ti_region_map_init(&t->map);
    t->free_record = NO_RECORD;
}

void ti_era_fini(ti_era *era)
{
    ti_vec_fini(&era->met);
    ti_vec_fini(&era->scratch);
    ti_vec_fini(&era->joining);
}

void ti_tracker_fini(ti_tracker *t)
{
    t->era->entries -= t->map.count;
    for (size_t i = 0; i < t->record.count; i++) {
        ti_vec_fini(&t->record.data[i].readers);
    }
    ti_vec_fini(&t->record);
    ti_region_map_fini(&t->map);
    ti_tile_notes_destroy(t->tiles);
    if (t->parts) {
        ti_vec_fini(&t->parts->of);
        ti_vec_fini(&t->parts->unused);
        TI_DELETE(t->parts);
    }
    for (size_t i = 0; i < t->notes_made; i++) {
        ti_vec_fini(&t->notes.data[i].border);
    }
    ti_vec_fini(&t->notes);
    if (t->look) {
        ti_vec_fini(&t->look->waiting);
        TI_DELETE(t->look);
    }
}

/* ---- values */

static uint64_t new_record(ti_tracker *t, uint64_t writer)
{
    if (t->free_record == NO_RECORD) {
        t->free_record = (uint32_t)t->record.count;
        ti_vec_push(&t->record, ((struct ti_tracker_record){ .next_free = NO_RECORD }));
    }
    TI_ASSERT(!(writer & TI_TRACKER_MARK) && t->free_record < t->record.count);
    uint32_t index = t->free_record;
    struct ti_tracker_record *r = &t->record.data[index];
    t->free_record = r->next_free;
    r->writer = writer;
    r->readers.count = 0;
    r->tile = 0;
    return TI_TRACKER_MARK | index;
}

/* From now on the entry with this value is not found by a tile's number, if it was. */
static void leave_tile(const ti_tracker *t, uint64_t value)
{
    if (value & TI_TRACKER_MARK) {
        ti_tracker_record_of(t, value)->tile = 0;
    }
}

static void drop_value(ti_tracker *t, uint64_t value)
{
    if (value & TI_TRACKER_MARK) {
        leave_tile(t, value);
        ti_tracker_record_of(t, value)->next_free = t->free_record;
        t->free_record = (uint32_t)(value & ~TI_TRACKER_MARK);
    }
}

static uint64_t copy_value(ti_tracker *t, uint64_t value)
{
    if (!(value & TI_TRACKER_MARK)) {
        return value;
    }
    uint64_t copy = new_record(t, ti_tracker_record_of(t, value)->writer);
    const ti_tracker_readers *from = &ti_tracker_record_of(t, value)->readers;
    for (size_t i = 0; i < from->count; i++) {
        ti_vec_push(&ti_tracker_record_of(t, copy)->readers, from->data[i]);
    }
    return copy;
}

/* Rewrite what lies below the applied horizon. Readers below it are replaced by the horizon. If there are no other
 * readers, they are dropped: the writer reads as the horizon, too. If there are, the horizon has to stay, since a
 * reader that was planned between the horizon and its application depends on the writer by its own name, and does not
 * follow the horizon. Such newer readers may also be in notes: so where there are notes, what is dropped counts as
 * forgotten. Readers ascend. */
static void normalise_record(ti_tracker *t, struct ti_tracker_record *r)
{
    r->writer = ti_tracker_now(t, r->writer);
    size_t below = 0, count = r->readers.count;
    while (below < count && r->readers.data[below] <= t->era->applied) {
        below++;
    }
    if (below > 0 && below == count) {
        t->forgotten = t->notes.count > 0 ? t->newest : t->forgotten;
        r->readers.count = 0;
        return;
    }
    if (below > 0) {
        r->readers.data[below - 1] = t->era->applied;
    }
    if (below > 1) {
        r->readers.count -= below - 1;
        memmove(r->readers.data, r->readers.data + below - 1, r->readers.count * sizeof(uint64_t));
    }
}

uint64_t ti_tracker_normalise(ti_tracker *t, uint64_t value)
{
    if (!(value & TI_TRACKER_MARK)) {
        return ti_tracker_now(t, value);
    }
    struct ti_tracker_record *r = ti_tracker_record_of(t, value);
    normalise_record(t, r);
    if (r->readers.count > 0) {
        return value;
    }
    drop_value(t, value);
    return r->writer;
}

static bool same_value(const ti_tracker *t, uint64_t a, uint64_t b)
{
    if (!(a & TI_TRACKER_MARK) && !(b & TI_TRACKER_MARK)) {
        return a == b;
    }
    if (!(a & b & TI_TRACKER_MARK)) {
        const struct ti_tracker_record *r = ti_tracker_record_of(t, a & TI_TRACKER_MARK ? a : b);
        return r->readers.count == 0 && r->writer == (a & TI_TRACKER_MARK ? b : a);
    }
    const struct ti_tracker_record *ra = ti_tracker_record_of(t, a), *rb = ti_tracker_record_of(t, b);
    size_t n = ra->readers.count;
    return ra->writer == rb->writer && n == rb->readers.count &&
           (n == 0 || memcmp(ra->readers.data, rb->readers.data, n * sizeof(uint64_t)) == 0);
}

static TI_NOINLINE void add_reader(ti_tracker *t, struct ti_tracker_record *r, uint64_t id)
{
    normalise_record(t, r);
    if (r->readers.count == 0 || r->readers.data[r->readers.count - 1] != id) {
        ti_vec_push(&r->readers, id);
    }
}

static TI_NOINLINE uint64_t with_reader(ti_tracker *t, uint64_t value, uint64_t id)
{
    value = value & TI_TRACKER_MARK ? value : new_record(t, ti_tracker_now(t, value));
    add_reader(t, ti_tracker_record_of(t, value), id);
    return value;
}

/* ---- entries */

static void insert(ti_tracker *t, const ti_box *box, uint64_t value)
{
    t->changes++;
    ti_region_map_insert(&t->map, box, value);
    t->era->entries++;
}

static void remove_entry(ti_tracker *t, const ti_box *box, uint64_t value)
{
    t->changes++;
    t->era->entries -= ti_region_map_remove(&t->map, box, value);
}

/* Cut `entry` along `box`, which it meets but does not lie in: the pieces outside keep its value, the one inside gets
 * `inside`. */
static void cut(ti_tracker *t, const ti_region_entry *entry, const ti_box *box, uint64_t inside)
{
    ti_box outside[6];
    ti_region_entry piece[7];
    int n = ti_box_subtract(&entry->box, box, outside);
    TI_ASSERT(n > 0 && n <= 6 && ti_box_meets(&entry->box, box));
    leave_tile(t, entry->value);
    for (int i = 0; i < n; i++) {
        piece[i] = (ti_region_entry){ outside[i], i ? copy_value(t, entry->value) : entry->value };
    }
    piece[n] = (ti_region_entry){ ti_box_intersect(&entry->box, box), inside };
    t->changes++;
    ti_region_map_cut(&t->map, &entry->box, piece, n + 1);
    t->era->entries += (size_t)n;
}

/* Merge the entry at `box` with neighbours of equal value, as long as there are any. */
static void merge_around(ti_tracker *t, ti_box box, uint64_t value)
{
    for (bool again = true; again;) {
        again = false;
        ti_vec_clear(&t->era->joining);
        ti_region_map_query_joining(&t->map, &box, &t->era->joining);
        for (size_t i = 0; i < t->era->joining.count && !again; i++) {
            ti_region_entry *e = &t->era->joining.data[i];
            ti_box joined;
            if (!ti_box_join(&e->box, &box, &joined)) {
                continue;
            }
            uint64_t other = ti_tracker_normalise(t, e->value);
            if (other != e->value) {
                *ti_region_map_find(&t->map, &e->box) = other;
            }
            if (same_value(t, other, value)) {
                remove_entry(t, &e->box, other);
                remove_entry(t, &box, value);
                drop_value(t, other);
                leave_tile(t, value);
                insert(t, &joined, value);
                box = joined;
                again = true;
            }
        }
    }
}

/* Merge a listed entry with its neighbours if its writer lies below the horizon. Other entries differ from their
 * neighbours. */
static void merge_old(ti_tracker *t, const ti_region_entry *e)
{
    if (ti_tracker_writer_of(t, e->value) > t->era->applied) {
        return;
    }
    uint64_t *value = ti_region_map_find(&t->map, &e->box);
    if (value) { /* still there */
        *value = ti_tracker_normalise(t, *value);
        if (ti_tracker_writer_of(t, *value) <= t->era->applied) {
            merge_around(t, e->box, *value);
        }
    }
}

/* Make one entry of `n`, which together are the box of `run`; its value is the first one's. */
static void join_run(ti_tracker *t, const ti_region_entry *entry, size_t n, const ti_region_entry *run)
{
    for (size_t i = 1; i < n; i++) {
        drop_value(t, entry[i].value);
    }
    leave_tile(t, run->value);
    t->changes++;
    t->era->entries -= ti_region_map_unite(&t->map, &run->box, run->value) - 1;
}

/* Called where entries were added. If there are more than the bound, look at a few entries, more than were added, so
 * that in time all are looked at. Old ones among them are merged. */
static void limit(ti_tracker *t)
{
    enum { LOOKS = 4 };
    if (TI_LIKELY(t->era->entries <= (t->era->bound ? t->era->bound : TI_ERA_ENTRIES))) {
        return;
    }
    t->look = t->look ? t->look : TI_NEW(struct ti_tracker_look);
    ti_region_entries *waiting = &t->look->waiting;
    if (waiting->count == 0) {
        ti_region_map_visit(&t->map, &t->look->cursor, waiting);
    }
    for (int i = 0; i < LOOKS && waiting->count > 0; i++) {
        merge_old(t, &waiting->data[--waiting->count]);
    }
}

/* Merge the old entries in the scratch list: first those that follow each other, then, if many are left, each with
 * what is around it. */
static void merge_listed(ti_tracker *t)
{
    size_t kept = 0;
    for (size_t i = 0, next; i < t->era->scratch.count; i = next) {
        ti_region_entry run = t->era->scratch.data[i];
        next = i + 1;
        while (next < t->era->scratch.count && same_value(t, t->era->scratch.data[next].value, run.value) &&
               ti_box_join(&run.box, &t->era->scratch.data[next].box, &run.box)) {
            next++;
        }
        if (next > i + 1) {
            join_run(t, &t->era->scratch.data[i], next - i, &run);
        }
        t->era->scratch.data[kept++] = run;
    }
    for (size_t i = 0; i < kept && kept >= MANY_OLD; i++) {
        merge_old(t, &t->era->scratch.data[i]);
    }
}

/* Put the old entries among those that were met into the scratch list. If entries have been cut since, they are looked
 * up again. */
static void list_old(ti_tracker *t, const ti_box *box)
{
    if (t->era->scratch.count > 0) {
        ti_region_map_refer(&t->map, box, &t->era->met);
    }
    ti_vec_clear(&t->era->scratch);
    for (size_t i = 0; i < t->era->met.count; i++) {
        if (ti_tracker_writer_of(t, *t->era->met.data[i].value) <= t->era->applied) {
            *t->era->met.data[i].value = ti_tracker_normalise(t, *t->era->met.data[i].value);
            ti_vec_push(&t->era->scratch, ((ti_region_entry){ *t->era->met.data[i].box, *t->era->met.data[i].value }));
        }
    }
}

/* `id` reads an entry: a dependency, and a reader if `box` covers it. Whether its writer lies below the horizon. */
static inline bool read_entry(ti_tracker *t, const ti_region_ref *e, const ti_box *box, uint64_t id, ti_deps *deps)
{
    struct ti_tracker_record *r = *e->value & TI_TRACKER_MARK ? ti_tracker_record_of(t, *e->value) : NULL;
    uint64_t writer = ti_tracker_now(t, r ? r->writer : *e->value);
    ti_deps_push(deps, writer);
    if (TI_UNLIKELY(!ti_box_covers(box, e->box))) {
        ti_vec_push(&t->era->scratch, ((ti_region_entry){ *e->box, *e->value }));
    } else if (r && ti_tracker_takes(t, r, id)) {
        r->writer = writer;
        TI_ASSERT((r->readers.count == 0 || r->readers.data[r->readers.count - 1] < id) && writer < id);
        r->readers.data[r->readers.count++] = id;
    } else if (!r && t->free_record != NO_RECORD && t->record.data[t->free_record].readers.capacity) {
        *e->value = new_record(t, writer);
        r = ti_tracker_record_of(t, *e->value);
        r->readers.data[0] = id;
        r->readers.count = 1;
    } else {
        *e->value = with_reader(t, *e->value, id);
    }
    return writer <= t->era->applied;
}

/* `id` reads what was met, many entries. Returns how many writers lie below the horizon. */
static size_t read_many(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps)
{
    size_t old = 0;
    for (size_t i = 0; i < t->era->met.count; i++) {
        uint64_t writer = ti_tracker_now(t, ti_tracker_writer_of(t, *t->era->met.data[i].value));
        ti_deps_push(deps, writer);
        old += writer <= t->era->applied;
    }
    ti_tracker_note_read(t, box, id);
    return old;
}

/* `id` reads what was met, few entries. */
static size_t read_few(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps)
{
    size_t old = 0;
    ti_vec_clear(&t->era->scratch); /* entries that have to be cut, once nobody looks at the map any more */
    for (size_t i = 0; i < t->era->met.count; i++) {
        old += read_entry(t, &t->era->met.data[i], box, id, deps);
    }
    for (size_t i = 0; i < t->era->scratch.count; i++) {
        cut(t, &t->era->scratch.data[i], box, with_reader(t, copy_value(t, t->era->scratch.data[i].value), id));
    }
    return old;
}

/* Whether what was met is just one entry, which is the box. */
static inline bool is_one_entry(const ti_tracker *t, const ti_box *box)
{
    return t->era->met.count == 1 && ti_box_equal(t->era->met.data[0].box, box);
}

/* The tile has become one entry: the places of its parts are not needed any more. */
static TI_NOINLINE void drop_parts(ti_tracker *t, uint32_t tile, uint64_t note)
{
    uint32_t index = (uint32_t)(note & ~TI_TRACKER_PARTS);
    if (t->parts->of.data[index].tile == tile) {
        t->parts->of.data[index].tile = 0;
        ti_vec_push(&t->parts->unused, index);
    }
}

/* From now on the entry that was met is found by this number. */
static void found_tile(ti_tracker *t, uint32_t tile)
{
    uint64_t *value = t->era->met.data[0].value;
    if (tile) {
        uint64_t note = ti_tile_note_of(t->tiles, tile);
        if (TI_UNLIKELY(note & TI_TRACKER_PARTS)) {
            drop_parts(t, tile, note);
        }
        *value = *value & TI_TRACKER_MARK ? *value : new_record(t, *value);
        ti_tracker_record_of(t, *value)->tile = tile;
        ti_tile_note(&t->tiles, tile, (*value & ~TI_TRACKER_MARK) + 1);
    }
}

/* Where the entries of a tile lie that consists of several, as far as is known; NULL: there is no place for that. */
static inline ti_tracker_found *parts_of(const ti_tracker *t, uint32_t tile)
{
    uint64_t note = ti_tile_note_of(t->tiles, tile);
    struct ti_tracker_part *p = note & TI_TRACKER_PARTS ? &t->parts->of.data[note & ~TI_TRACKER_PARTS] : NULL;
    return p && p->tile == tile ? &p->found : NULL;
}

/* Room for the parts of a tile, or NULL. When there is none left, one request in SELDOM takes another tile's room: so a
 * loop over more tiles than there is room for still finds most of those that have it. */
static TI_NOINLINE ti_tracker_found *new_parts(ti_tracker *t, uint32_t tile)
{
    struct ti_tracker_parts *parts = t->parts = t->parts ? t->parts : TI_NEW(struct ti_tracker_parts);
    size_t index = parts->of.count;
    if (parts->unused.count > 0) {
        index = parts->unused.data[--parts->unused.count];
    } else if (index < TI_TRACKER_MAX_PARTS) {
        ti_vec_push(&parts->of, (struct ti_tracker_part){ .tile = tile });
    } else if (++parts->refused % SELDOM) {
        return NULL;
    } else {
        index = parts->refused / SELDOM % TI_TRACKER_MAX_PARTS;
    }
    parts->of.data[index] = (struct ti_tracker_part){ .tile = tile };
    ti_tile_note(&t->tiles, tile, TI_TRACKER_PARTS | index);
    return &parts->of.data[index].found;
}

/* Find the entries in `box`. Those of a tile that consists of several are kept by its number, as long as the map does
 * not change. */
static inline void meet(ti_tracker *t, uint32_t tile, const ti_box *box, ti_tracker_found *found)
{
    ti_region_refs *met = &t->era->met;
    found = tile ? parts_of(t, tile) : found;
    if (found && found->changes == t->changes + 1) {
        ti_vec_reserve(met, (size_t)TI_TRACKER_FOUND);
        memcpy(met->data, found->entry, found->count * sizeof(*met->data));
        met->count = found->count;
        return;
    }
    (tile ? ti_region_map_refer_once : ti_region_map_refer)(&t->map, box, met);
    if (tile && !found && met->count > 1 && met->count <= TI_TRACKER_FOUND) {
        found = new_parts(t, tile);
    }
    if (found && met->count > 0 && met->count <= TI_TRACKER_FOUND) {
        found->changes = t->changes + 1;
        found->count = met->count;
        memcpy(found->entry, met->data, met->count * sizeof(*met->data));
    }
}

/* What is not found by its number. */
static inline void read_box(ti_tracker *t, uint32_t tile, const ti_box *box, ti_tracker_found *found, uint64_t id,
                            ti_deps *deps)
{
    size_t before = t->map.count;
    meet(t, tile, box, found);
    if (TI_LIKELY(is_one_entry(t, box))) {
        read_entry(t, &t->era->met.data[0], box, id, deps);
        found_tile(t, tile);
        return;
    }
    bool many = t->era->met.count > (t->era->few ? t->era->few : MAX_UNNOTED) && t->notes.count < TI_MAX_NOTES;
    size_t old = many ? read_many(t, box, id, deps) : read_few(t, box, id, deps);
    if (old >= MANY_OLD) {
        list_old(t, box);
        merge_listed(t);
    } else if (t->map.count > before) {
        limit(t);
    }
}

/* The reader waits for an older writer and does not follow the horizon. A writer that waits for this reader alone would
 * miss the readers that the horizon stands for: so they count as forgotten since. */
void ti_tracker_note_early(ti_tracker *t, uint64_t id)
{
    TI_ASSERT(id == t->newest && id > t->era->applied);
    t->forgotten = id;
}

void ti_tracker_read_any(ti_tracker *t, uint32_t tile, const ti_box *box, uint64_t id, ti_deps *deps)
{
    struct ti_tracker_record *r = ti_tracker_tile(t, tile);
    ti_tracker_forget_passed(t);
    t->newest = id;
    if (!r) {
        read_box(t, tile, box, NULL, id, deps);
        return;
    }
    ti_deps_push(deps, r->writer = ti_tracker_now(t, r->writer));
    if (TI_LIKELY(ti_tracker_takes(t, r, id))) {
        r->readers.data[r->readers.count++] = id;
    } else {
        add_reader(t, r, id);
    }
}

void ti_tracker_read(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps)
{
    ti_tracker_forget_passed(t);
    t->newest = id;
    read_box(t, 0, box, NULL, id, deps);
}

void ti_tracker_read_found(ti_tracker *t, const ti_box *box, ti_tracker_found *found, uint64_t id, ti_deps *deps)
{
    ti_tracker_forget_passed(t);
    t->newest = id;
    read_box(t, 0, box, found, id, deps);
}

/* What is read again was noted, or is few entries which have the reader. */
void ti_tracker_read_again(ti_tracker *t, const ti_box *box, uint64_t first, size_t count)
{
    ti_tracker_note *note = t->notes.count ? &t->notes.data[t->notes.count - 1] : NULL;
    t->newest = first + count - 1;
    if (note && note->last == first - 1) {
        TI_ASSERT(ti_box_equal(&note->box, box) && note->border.count == 0);
        note->last = t->newest_noted = t->newest;
        return;
    }
    ti_region_map_refer(&t->map, box, &t->era->met);
    for (size_t i = 0; i < t->era->met.count; i++) {
        TI_ASSERT((*t->era->met.data[i].value & TI_TRACKER_MARK) && ti_box_covers(box, t->era->met.data[i].box));
        ti_tracker_readers *readers = &ti_tracker_record_of(t, *t->era->met.data[i].value)->readers;
        TI_ASSERT(readers->data[readers->count - 1] == first - 1);
        ti_vec_reserve(readers, readers->count + count);
        for (size_t k = 0; k < count; k++) {
            readers->data[readers->count++] = first + k;
        }
    }
}

/* Cut what was met at the border of `box`, where the parts inside get the value `inside`; drop the values of all
 * others. */
static void cut_border(ti_tracker *t, const ti_box *box, uint64_t inside)
{
    ti_vec_clear(&t->era->scratch);
    for (size_t i = 0; i < t->era->met.count; i++) {
        const ti_region_ref *e = &t->era->met.data[i];
        if (ti_box_covers(box, e->box)) {
            drop_value(t, *e->value);
        } else {
            ti_vec_push(&t->era->scratch, ((ti_region_entry){ *e->box, *e->value }));
        }
    }
    for (size_t i = 0; i < t->era->scratch.count; i++) {
        cut(t, &t->era->scratch.data[i], box, inside);
    }
}

/* Whether two of the entries that were met have not been told apart since they were written. With many, only those
 * that follow each other are compared. */
static bool have_equals(const ti_tracker *t)
{
    enum { MAX_COMPARED = 16 };
    for (size_t i = 1; i < t->era->met.count; i++) {
        for (size_t k = i; k-- > (t->era->met.count <= MAX_COMPARED ? 0 : i - 1);) {
            if (same_value(t, *t->era->met.data[i].value, *t->era->met.data[k].value)) {
                return true;
            }
        }
    }
    return false;
}

/* Write a box that consists of entries, all of which were used by themselves: they stay apart, since loops will use
 * them like that again. */
static bool write_parts(ti_tracker *t, const ti_box *box, uint64_t id)
{
    int64_t volume = 0;
    for (size_t i = 0; i < t->era->met.count; i++) {
        volume += ti_box_volume(t->era->met.data[i].box);
        if (!ti_box_covers(box, t->era->met.data[i].box)) {
            return false;
        }
    }
    if (volume != ti_box_volume(box) || have_equals(t)) {
        return false;
    }
    for (size_t i = 0; i < t->era->met.count; i++) {
        drop_value(t, *t->era->met.data[i].value);
        *t->era->met.data[i].value = id;
    }
    return true;
}

static inline void depend_on_users(const ti_tracker *t, const ti_region_ref *e, const ti_box *box, ti_deps *deps)
{
    if (TI_LIKELY(t->notes.count == 0 && t->forgotten <= t->era->applied)) {
        ti_tracker_depend_on_entry(t, *e->value, deps);
    } else {
        ti_tracker_depend_on_noted(t, e, box, deps);
    }
}

/* Meet the entries in `box`, and depend on their users. */
static inline void meet_users(ti_tracker *t, uint32_t tile, const ti_box *box, ti_tracker_found *found, ti_deps *deps)
{
    meet(t, tile, box, found);
    for (size_t i = 0; i < t->era->met.count; i++) {
        depend_on_users(t, &t->era->met.data[i], box, deps);
    }
}

/* What is not found by its number. */
static inline void write_box(ti_tracker *t, uint32_t tile, const ti_box *box, ti_tracker_found *found, uint64_t id,
                             ti_deps *deps)
{
    size_t before = t->map.count;
    meet_users(t, tile, box, found, deps);
    ti_tracker_drop_notes_in(t, box);
    if (TI_LIKELY(is_one_entry(t, box))) {
        drop_value(t, *t->era->met.data[0].value);
        *t->era->met.data[0].value = id;
        found_tile(t, tile);
        return;
    }
    if (t->era->met.count > 1 && write_parts(t, box, id)) {
        return;
    }
    bool within = t->era->met.count == 1 && ti_box_covers(t->era->met.data[0].box, box);
    cut_border(t, box, id);
    if (!within) { /* otherwise the part inside is the box */
        t->changes++;
        t->era->entries -= t->era->met.count ? ti_region_map_remove_inside(&t->map, box) : 0;
        insert(t, box, id);
    }
    if (t->map.count > before) {
        limit(t);
    }
}

void ti_tracker_write_any(ti_tracker *t, uint32_t tile, const ti_box *box, uint64_t id, ti_deps *deps)
{
    struct ti_tracker_record *r = ti_tracker_tile(t, tile);
    ti_tracker_forget_passed(t);
    if (!r) {
        write_box(t, tile, box, NULL, id, deps);
        return;
    }
    uint64_t value = TI_TRACKER_MARK | (uint64_t)(r - t->record.data);
    depend_on_users(t, &(ti_region_ref){ box, &value }, box, deps);
    ti_tracker_drop_notes_in(t, box);
    r->writer = id;
    r->readers.count = 0;
}

void ti_tracker_write(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps)
{
    ti_tracker_forget_passed(t);
    write_box(t, 0, box, NULL, id, deps);
}

void ti_tracker_write_found(ti_tracker *t, const ti_box *box, ti_tracker_found *found, uint64_t id, ti_deps *deps)
{
    ti_tracker_forget_passed(t);
    write_box(t, 0, box, found, id, deps);
}

void ti_tracker_uses(ti_tracker *t, const ti_box *box, ti_deps *deps)
{
    ti_tracker_forget_passed(t);
    meet_users(t, 0, box, NULL, deps);
}

bool ti_tracker_is_written(ti_tracker *t, const ti_box *box, ti_box *hole)
{
    ti_vec_clear(&t->era->scratch);
    ti_region_map_query(&t->map, box, &t->era->scratch);
    if (t->era->scratch.count == 1 && ti_box_covers(&t->era->scratch.data[0].box, box)) {
        return true;
    }
    ti_boxes rest = { 0 };
    ti_vec_push(&rest, *box);
    for (size_t i = 0; i < t->era->scratch.count; i++) {
        ti_boxes_subtract(&rest, &t->era->scratch.data[i].box);
    }
    bool all = rest.count == 0;
    if (!all) {
        *hole = rest.data[0];
    }
    ti_vec_fini(&rest);
    return all;
}

bool ti_tracker_is_valid(ti_tracker *t)
{
    ti_region_entries all = { 0 };
    ti_box everything = { { INT64_MIN / 2, INT64_MIN / 2, INT64_MIN / 2 },
                          { INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2 } };
    ti_region_map_query(&t->map, &everything, &all);
    bool valid = all.count == t->map.count && ti_region_map_is_valid(&t->map);
    for (size_t i = 0; i < all.count && valid; i++) {
        if (all.data[i].value & TI_TRACKER_MARK) {
            const struct ti_tracker_record *r = ti_tracker_record_of(t, all.data[i].value);
            valid = !r->tile || ti_tile_note_of(t->tiles, r->tile) == (all.data[i].value & ~TI_TRACKER_MARK) + 1;
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
