/* Replay of what tasks did to a buffer: see replay.h. */
#include "plan/version/replay.h"

#include "base/check.h"

#include <string.h>

enum { MAX_BYTES = 2 << 20 };
/* Unused recordings before recording backs off, how many are tried afterwards, and for how many tasks it backs off. */
enum { MAX_UNUSED = 128, AGAIN = 16, MIN_BACK_OFF = 64, MAX_BACK_OFF = 4096 };

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
    }
    for (size_t i = 0; i < r->step.count; i++) {
        ti_arena_fini(&r->step.data[i]->memory);
    }
    for (int i = 0; i < r->contents; i++) {
        for (size_t k = 0; k < r->content[i].count; k++) {
            ti_version_unref_holders(&r->content[i].data[k]);
        }
        ti_vec_clear(&r->content[i]);
    }
    r->steps = r->contents = r->at = r->base = r->latest = 0;
    ti_vec_clear(&r->lagging);
    r->bytes = 0;
    r->now = NULL;
    r->recording = NULL;
}

void ti_replay_fini(ti_replay *r)
{
    forget_all(r);
    for (int i = 0; r->content && i < TI_REPLAY_CONTENTS; i++) {
        ti_vec_fini(&r->content[i]);
    }
    for (size_t i = 0; i < r->step.count; i++) {
        TI_DELETE(r->step.data[i]);
    }
    ti_vec_fini(&r->step);
    ti_vec_fini(&r->lagging);
    ti_free(r->content, r->content ? TI_REPLAY_CONTENTS * sizeof(*r->content) : 0);
    *r = (ti_replay){ .steps = 0 };
}

/* ---- the map */

void ti_replay_settle(ti_replay *r, ti_version_map *map)
{
    TI_ASSERT(r->lagging.count == 0 || (r->at && r->base));
    for (size_t i = 0; i < r->lagging.count; i++) {
        const ti_replay_effect *e = &r->lagging.data[i]->effect;
        for (size_t k = 0; k < e->reads.count; k++) {
            ti_version_map_read(map, e->reads.data[k]);
        }
        for (size_t k = 0; k < e->writes.count; k++) {
            ti_version_map_write(map, e->writes.data[k]);
        }
        if (e->given.a < e->given.b) {
            ti_version_map_set(map, &map->extent, e->given.a, e->given.b);
        }
    }
    ti_vec_clear(&r->lagging);
    r->base = r->at;
}

static void advance(ti_replay *r, ti_version_map *map)
{
    TI_ASSERT(r->now->before == r->at && r->now->after > 0 && r->now->after <= r->contents);
    r->at = r->now->after;
    if (r->at == r->base) {
        ti_vec_clear(&r->lagging);
        return;
    }
    ti_vec_push(&r->lagging, r->now);
    if (r->lagging.count == TI_REPLAY_LAG) {
        ti_replay_settle(r, map);
    }
}

/* ---- contents */

static bool is_same_content(const ti_replay_content *c, const ti_versions *now)
{
    bool same = c->count == now->count;
    for (size_t i = 0; same && i < now->count; i++) {
        const ti_version *a = &c->data[i], *b = now->data[i];
        same = ti_version_has_writer_of(a, b) && a->copies == b->copies && ti_box_equal(&a->box, &b->box);
    }
    return same;
}

/* The number of what the map shows: a new one where it has none. 0: there is no room. */
static int number_content(ti_replay *r, ti_version_map *map)
{
    if (map->index.count > TI_REPLAY_ENTRIES) {
        return 0;
    }
    const ti_versions *now = ti_version_map_query(map, &map->extent);
    for (int i = 0; i < r->contents; i++) {
        if (is_same_content(&r->content[i], now)) {
            return i + 1;
        }
    }
    if (r->contents == TI_REPLAY_CONTENTS) {
        return 0;
    }
    if (!r->content) {
        r->content = TI_NEW_ARRAY(ti_replay_content, TI_REPLAY_CONTENTS);
    }
    ti_replay_content *c = &r->content[r->contents++];
    for (size_t i = 0; i < now->count; i++) {
        ti_version_ref_holders(now->data[i]);
        ti_vec_push(c, *now->data[i]);
    }
    return r->contents;
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

const ti_replay_step *ti_replay_find(const ti_replay *r, const ti_task *task, const ti_buffer_info *buffer)
{
    int i = r->latest;
    for (int k = 0; k < r->steps && r->at; k++) {
        i = i + 1 < r->steps ? i + 1 : 0;
        const ti_replay_step *s = r->step.data[i];
        if (s->before == r->at && s->serial == task->shape->serial && s->manner == r->manner &&
            has_forwards(s, task, buffer)) {
            return s;
        }
    }
    return NULL;
}

/* Recordings cost. Where they are of no use recording backs off, for longer every time. */
static bool is_worth_recording(ti_replay *r)
{
    if (r->back_off) {
        r->back_off--;
        return false;
    }
    if (r->unused++ < MAX_UNUSED) {
        return true;
    }
    r->length = TI_MIN(TI_MAX(2 * r->length, (uint32_t)MIN_BACK_OFF), (uint32_t)MAX_BACK_OFF);
    r->back_off = r->length;
    r->unused = MAX_UNUSED - AGAIN;
    forget_all(r);
    return false;
}

static void start_recording(ti_replay *r, ti_version_map *map)
{
    TI_ASSERT(r->lagging.count == 0);
    if (!is_worth_recording(r)) {
        return;
    }
    if (r->steps == TI_REPLAY_STEPS || r->contents == TI_REPLAY_CONTENTS) {
        forget_all(r);
    }
    if (!r->at) {
        r->at = r->base = number_content(r, map);
    }
    if (r->at) {
        if ((size_t)r->steps == r->step.count) {
            ti_vec_push(&r->step, TI_NEW(ti_replay_step));
        }
        r->recording = r->step.data[r->steps];
        r->recording->index = r->steps;
        r->recording->serial = 0;
        r->recording->manner = r->manner; /* now: the task may change it */
    }
}

bool ti_replay_begin(ti_replay *r, ti_version_map *map, const ti_discovery_cache *cache, const ti_task *task,
                     const ti_buffer_info *buffer, bool can)
{
    r->recording = NULL;
    if (r->forgotten != cache->forgotten) {
        ti_replay_settle(r, map);
        forget_all(r);
        r->forgotten = cache->forgotten;
    }
    if (can && !r->at && r->contents && !r->back_off) {
        r->at = r->base = number_content(r, map);
    }
    r->now = can ? ti_replay_find(r, task, buffer) : NULL;
    if (r->now) {
        r->latest = r->now->index;
        r->unused -= r->unused > 0;
        return true;
    }
    ti_replay_settle(r, map);
    if (can) {
        start_recording(r, map);
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
                  (e->reads.count + e->writes.count + e->collectives) * sizeof(void *);
    for (uint32_t i = 0; i < task->forwards; i++) {
        size += sizeof(ti_forward) + task->forward[i].boxes * sizeof(ti_box);
    }
    return size + (size_t)6 * 16; /* what alignment may take */
}

void ti_replay_record(ti_replay *r, const ti_task *task, const ti_buffer_info *buffer, const ti_replay_effect *effect)
{
    ti_replay_step *s = r->recording;
    size_t size = size_of(task, effect);
    TI_ASSERT(task->shape->serial && !s->serial && r->at);
    if (r->bytes + size > MAX_BYTES) {
        r->recording = NULL;
        r->unused = MAX_UNUSED;
        return;
    }
    r->bytes += size;
    ti_arena_fini(&s->memory); /* of a recording that came to nothing */
    ti_arena_reserve(&s->memory, size);
    s->serial = task->shape->serial;
    s->before = r->at;
    s->effect = *effect;
    s->effect.reads = keep_holders(&s->memory, effect->reads);
    s->effect.writes = keep_holders(&s->memory, effect->writes);
    s->effect.collective = ti_arena_copy(&s->memory, effect->collective,
                                         effect->collectives * sizeof(*effect->collective));
    s->effect.outgoing = keep_messages(&s->memory, &effect->outgoing);
    s->effect.incoming = keep_messages(&s->memory, &effect->incoming);
    keep_forwards(s, task, buffer);
}

void ti_replay_end(ti_replay *r, ti_version_map *map)
{
    if (r->now) {
        advance(r, map);
        return;
    }
    TI_ASSERT(r->lagging.count == 0);
    ti_replay_step *s = r->recording && r->recording->serial ? r->recording : NULL;
    r->at = r->base = s ? number_content(r, map) : 0;
    if (r->at) {
        s->after = r->at;
        r->steps++;
    } else if (s) {
        unref_all(s->effect.reads);
        unref_all(s->effect.writes);
    }
}
