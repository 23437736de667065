/* Replay of what tasks did to a buffer: see replay.h. */
#include "plan/version/replay.h"

#include "base/check.h"

#include <string.h>

enum { MAX_BYTES = 32 << 20, MAX_ALIKE = 8 };
/* Unused recordings before recording backs off, how many are tried afterwards, for how many tasks it backs off, and for
 * how many at least for each that was recorded. */
enum { MAX_UNUSED = 128, AGAIN = 16, MIN_BACK_OFF = 64, MAX_BACK_OFF = 4096, BACK_OFF_PER_STEP = 16 };

static void unref_all(ti_holders holders)
{
    for (size_t i = 0; i < holders.count; i++) {
        ti_holder_unref(holders.data[i]);
    }
}

/* What the map lags behind has to be settled before, or never. */
static void forget_all(ti_replay *r)
{
    for (int i = 0; i < r->steps; i++) {
        unref_all(r->step.data[i]->effect.reads);
        unref_all(r->step.data[i]->effect.writes);
        unref_all(r->step.data[i]->effect.copies);
    }
    for (size_t i = 0; i < r->step.count; i++) {
        ti_arena_fini(&r->step.data[i]->memory);
    }
    for (size_t i = 0; i < r->content.count; i++) {
        const ti_replay_content *c = &r->content.data[i];
        for (size_t k = 0; k < c->count; k++) {
            ti_version_state_drop(&c->entry[k]);
        }
        ti_free(c->entry, c->count * sizeof(*c->entry));
    }
    ti_vec_clear(&r->content);
    ti_vec_clear(&r->lagging);
    ti_map_fini(&r->by_task);
    ti_map_fini(&r->by_content);
    ti_map_fini(&r->tasks);
    r->steps = r->used = r->at = r->base = 0;
    r->far = false;
    r->bytes = 0;
    r->lives++;
    r->now = NULL;
    r->recording = NULL;
}

void ti_replay_fini(ti_replay *r)
{
    forget_all(r);
    for (size_t i = 0; i < r->step.count; i++) {
        TI_DELETE(r->step.data[i]);
    }
    ti_vec_fini(&r->step);
    ti_vec_fini(&r->content);
    ti_vec_fini(&r->lagging);
    *r = (ti_replay){ .steps = 0 };
}

/* ---- the map */

void ti_replay_catch_up(ti_replay *r, ti_version_map *map)
{
    TI_ASSERT((r->lagging.count == 0 && !r->far) || (r->at && r->base));
    if (r->far) {
        const ti_replay_content *c = &r->content.data[r->at - 1];
        ti_version_map_load(map, c->entry, c->count);
        ti_vec_clear(&r->lagging);
        r->far = false;
    }
    for (size_t i = 0; i < r->lagging.count; i++) {
        const ti_replay_effect *e = &r->lagging.data[i]->effect;
        for (size_t k = 0; k < e->reads.count; k++) {
            ti_version_map_read(map, e->reads.data[k]);
        }
        for (size_t k = 0; k < e->writes.count; k++) {
            ti_version_map_write_copied(map, e->writes.data[k], e->copies.count ? e->copies.data[k] : NULL);
        }
        if (e->given.a < e->given.b) {
            ti_version_map_set(map, &map->extent, e->given.a, e->given.b);
        }
    }
    ti_vec_clear(&r->lagging);
}

static void advance(ti_replay *r)
{
    TI_ASSERT(r->now->before == r->at && r->now->after > 0 && (size_t)r->now->after <= r->content.count);
    r->at = r->now->after;
    if (r->at == r->base) {
        ti_vec_clear(&r->lagging);
        r->far = false;
    } else if (r->lagging.count == TI_REPLAY_LAG) {
        r->far = true;
    } else {
        ti_vec_push(&r->lagging, r->now);
    }
}

/* ---- contents */

static uint64_t hash_of(const ti_versions *now)
{
    uint64_t hash = now->count;
    for (size_t i = 0; i < now->count; i++) {
        const ti_version *v = now->data[i];
        uint64_t writer = v->kind == TI_WRITER_SPLIT   ? v->writer->interned.hash
                          : v->kind == TI_WRITER_NODES ? (uint64_t)v->a << 32 ^ (uint64_t)v->b
                                                       : 0;
        hash = ti_hash_words(&v->box, sizeof(v->box), hash ^ writer);
        hash = v->copies ? ti_hash64(v->copies->interned.hash ^ hash) : hash;
    }
    return hash;
}

/* Of one hash, in which all of it is: what differs here has come to the same hash by accident, which no test brings
 * about. */
static bool is_same_content(const ti_replay_content *c, const ti_versions *now)
{
    bool same = c->count == now->count;
    for (size_t i = 0; same && i < now->count; i++) {
        same = ti_version_state_is_of(&c->entry[i], now->data[i]);
    }
    return same;
}

static bool has_room(const ti_replay *r)
{
    size_t tasks = TI_MIN(r->tasks.count, (size_t)TI_REPLAY_TASKS);
    return r->content.count < TI_REPLAY_CONTENTS + tasks && (size_t)r->steps < TI_REPLAY_STEPS + 2 * tasks &&
           r->bytes < MAX_BYTES;
}

/* The number of what the map shows: a new one where it has none. 0: there is no room. */
static int number_content(ti_replay *r, ti_version_map *map)
{
    if (map->index.count > TI_REPLAY_ENTRIES) {
        return 0;
    }
    const ti_versions *now = ti_version_map_query(map, &map->extent);
    uint64_t hash = hash_of(now);
    const uint64_t *first = ti_map_find(&r->by_content, hash);
    for (int i = first ? (int)*first : 0; i; i = r->content.data[i - 1].next) {
        if (is_same_content(&r->content.data[i - 1], now)) {
            return i;
        }
    }
    if (!has_room(r)) {
        return 0;
    }
    ti_replay_content c = { .count = now->count, .next = first ? (int)*first : 0 };
    c.entry = TI_NEW_ARRAY(ti_version_state, now->count);
    for (size_t i = 0; i < now->count; i++) {
        c.entry[i] = ti_version_state_take(now->data[i]);
    }
    r->bytes += (uint32_t)(now->count * sizeof(*c.entry));
    ti_vec_push(&r->content, c);
    *ti_map_at(&r->by_content, hash) = r->content.count;
    return (int)r->content.count;
}

int ti_replay_number(ti_replay *r, ti_version_map *map)
{
    if (!r->at) {
        TI_ASSERT(r->lagging.count == 0 && !r->far);
        r->at = r->base = number_content(r, map);
    }
    return r->at;
}

/* ---- steps */

static bool is_same_forward(const ti_forward *a, const ti_forward *b)
{
    return a->boxes == b->boxes && (a->producer == 0) == (b->producer == 0) && a->whole == b->whole &&
           memcmp(a->box, b->box, a->boxes * sizeof(ti_box)) == 0;
}

/* Whether the task's forwards on the buffer are those of the step. */
static bool has_forwards(const ti_replay_step *s, const ti_task *task, const ti_buffer_info *buffer)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < task->forwards; i++) {
        const ti_forward *f = &task->forward[i];
        if (f->buffer == buffer && (n == s->forwards || !is_same_forward(&s->forward[n++], f))) {
            return false;
        }
    }
    return n == s->forwards;
}

/* Serials are counted up, and there are few contents. */
static uint64_t key_of(int before, uint64_t serial)
{
    return serial << 16 ^ (uint64_t)before;
}

const ti_replay_step *ti_replay_find(const ti_replay *r, const ti_task *task, const ti_buffer_info *buffer,
                                     uint64_t serial)
{
    const uint64_t *first = r->at ? ti_map_find(&r->by_task, key_of(r->at, serial)) : NULL;
    for (uint64_t i = first ? *first : 0; i; i = (uint64_t)r->step.data[i - 1]->next) {
        const ti_replay_step *s = r->step.data[i - 1];
        TI_ASSERT(s->before == r->at && s->serial == serial);
        if (s->manner == r->manner && has_forwards(s, task, buffer)) {
            return s;
        }
    }
    return NULL;
}

/* So many recordings may be of no use. */
static int patience(const ti_replay *r)
{
    return MAX_UNUSED + (int)r->tasks.count;
}

/* Recordings cost. Where they are of no use recording backs off, for longer every time. That of a task that had not
 * been recorded before had no chance to be of use. */
static bool is_worth_recording(ti_replay *r, uint64_t serial)
{
    if (r->back_off) {
        r->back_off--;
        return false;
    }
    r->unused += ti_map_find(&r->tasks, serial) != NULL;
    if (r->unused <= patience(r)) {
        return true;
    }
    r->length = TI_MIN(TI_MAX(2 * r->length, (uint32_t)MIN_BACK_OFF), (uint32_t)MAX_BACK_OFF);
    r->back_off = TI_MAX(r->length, BACK_OFF_PER_STEP * (uint32_t)r->steps);
    r->unused = MAX_UNUSED - AGAIN;
    forget_all(r);
    return false;
}

static void start_recording(ti_replay *r, ti_version_map *map, uint64_t serial)
{
    TI_ASSERT(r->lagging.count == 0 && !r->far);
    if (map->index.count > TI_REPLAY_ENTRIES || !is_worth_recording(r, serial)) {
        return;
    }
    if (!has_room(r)) {
        r->unused += 2 * r->used < r->steps ? r->steps : 0;
        forget_all(r);
    }
    *ti_map_at(&r->tasks, serial) = 1;
    if (!r->at) {
        r->at = r->base = number_content(r, map);
    }
    const uint64_t *alike = ti_map_find(&r->by_task, key_of(r->at, serial));
    if (r->at && (!alike || r->step.data[*alike - 1]->alike < MAX_ALIKE)) {
        if ((size_t)r->steps == r->step.count) {
            ti_vec_push(&r->step, TI_NEW(ti_replay_step));
        }
        r->recording = r->step.data[r->steps];
        r->recording->serial = 0;
        r->recording->manner = r->manner; /* now: the task may change it */
    }
}

bool ti_replay_begin(ti_replay *r, ti_version_map *map, const ti_discovery_cache *cache, const ti_task *task,
                     const ti_buffer_info *buffer, uint64_t serial)
{
    r->recording = NULL;
    r->serial = serial;
    if (r->forgotten != cache->forgotten) {
        ti_replay_settle(r, map);
        forget_all(r);
        r->forgotten = cache->forgotten;
    }
    if (serial && !r->at && r->content.count && !r->back_off) {
        r->at = r->base = number_content(r, map);
    }
    r->now = serial ? ti_replay_find(r, task, buffer, serial) : NULL;
    if (r->now) {
        r->unused -= r->unused > 0;
        r->used++;
        return true;
    }
    ti_replay_settle(r, map);
    if (serial) {
        start_recording(r, map, serial);
    }
    return false;
}

/* ---- recordings */

static ti_holders keep_holders(ti_arena *arena, ti_holders from)
{
    for (size_t i = 0; i < from.count; i++) {
        ti_holder_ref(from.data[i]);
    }
    return (ti_holders){ ti_arena_copy(arena, from.data, from.count * sizeof(*from.data)), from.count };
}

static ti_messages keep_messages(ti_arena *arena, const ti_messages *from)
{
    return (ti_messages){ .data = ti_arena_copy(arena, from->data, from->count * sizeof(*from->data)),
                          .count = from->count };
}

static void keep_forwards(ti_replay_step *s, const ti_task *task, const ti_buffer_info *buffer)
{
    s->forwards = 0;
    s->forward = TI_ARENA_ARRAY(&s->memory, ti_forward, task->forwards);
    for (uint32_t i = 0; i < task->forwards; i++) {
        const ti_forward *f = &task->forward[i];
        if (f->buffer == buffer) {
            s->forward[s->forwards] = *f;
            s->forward[s->forwards++].box = ti_arena_copy(&s->memory, f->box, f->boxes * sizeof(ti_box));
        }
    }
}

/* About as much memory as the step needs. */
static size_t size_of(const ti_task *task, const ti_replay_effect *e)
{
    size_t size = (e->outgoing.count + e->incoming.count) * sizeof(ti_message_piece) +
                  (e->reads.count + e->writes.count + e->copies.count + e->collectives) * sizeof(void *);
    for (uint32_t i = 0; i < task->forwards; i++) {
        size += sizeof(ti_forward) + task->forward[i].boxes * sizeof(ti_box);
    }
    return size + (size_t)7 * 16; /* what alignment may take */
}

void ti_replay_record(ti_replay *r, const ti_task *task, const ti_buffer_info *buffer, const ti_replay_effect *effect)
{
    ti_replay_step *s = r->recording;
    size_t size = size_of(task, effect);
    TI_ASSERT(r->serial && !s->serial && r->at);
    if (r->bytes + size > MAX_BYTES) {
        r->recording = NULL;
        r->unused = patience(r) + 1;
        return;
    }
    r->bytes += (uint32_t)size;
    ti_arena_fini(&s->memory); /* of a recording that came to nothing */
    ti_arena_reserve(&s->memory, size);
    s->serial = r->serial;
    s->before = r->at;
    s->effect = *effect;
    s->effect.reads = keep_holders(&s->memory, effect->reads);
    s->effect.writes = keep_holders(&s->memory, effect->writes);
    s->effect.copies = keep_holders(&s->memory, effect->copies);
    s->effect.collective = ti_arena_copy(&s->memory, effect->collective,
                                         effect->collectives * sizeof(*effect->collective));
    s->effect.outgoing = keep_messages(&s->memory, &effect->outgoing);
    s->effect.incoming = keep_messages(&s->memory, &effect->incoming);
    keep_forwards(s, task, buffer);
}

/* What has been recorded can be found from now on. */
static void add_step(ti_replay *r, ti_replay_step *s)
{
    uint64_t *first = ti_map_at(&r->by_task, key_of(s->before, s->serial));
    s->next = (int)*first;
    s->alike = s->next ? r->step.data[s->next - 1]->alike + 1 : 0;
    *first = (uint64_t)++r->steps;
}

void ti_replay_end(ti_replay *r, ti_version_map *map)
{
    if (r->now) {
        advance(r);
        return;
    }
    TI_ASSERT(r->lagging.count == 0 && !r->far);
    ti_replay_step *s = r->recording && r->recording->serial ? r->recording : NULL;
    r->at = r->base = s ? number_content(r, map) : 0;
    if (r->at) {
        s->after = r->at;
        add_step(r, s);
    } else if (s) {
        unref_all(s->effect.reads);
        unref_all(s->effect.writes);
        unref_all(s->effect.copies);
    }
}
