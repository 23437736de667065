/* Replay of what tasks did to a buffer: see replay.h. */
#include "plan/version/replay.h"

#include "base/check.h"

#include <string.h>

enum { MOST_ENTRIES = 64, MOST_SPENT = 48, AGAIN = 16, SHORTEST_PAUSE = 64, LONGEST_PAUSE = 4096 };
static const size_t most_bytes = (size_t)2 << 20;

/* ---- holders that are kept */

static void unref_holders(const ti_replay_step *s)
{
    for (uint32_t i = 0; i < s->reads + s->writes; i++) {
        ti_holder_unref(s->holder[i]);
    }
}

static void for_holders(const ti_version *v, void (*visit)(ti_holder *h))
{
    if (v->kind == TI_WRITER_SPLIT) {
        visit(v->writer);
    }
    for (int i = 0; i < v->readers; i++) {
        visit(v->reader[i]);
    }
}

static void ref_holder(ti_holder *h)
{
    ti_holder_ref(h);
}

static void forget_content(ti_replay_content *c)
{
    for (size_t i = 0; i < c->entry.count; i++) {
        for_holders(&c->entry.data[i], ti_holder_unref);
    }
    ti_vec_clear(&c->entry);
}

/* Memory stays for the next steps; what is behind has to be settled before, or never. */
static void forget_all(ti_replay *r)
{
    for (int i = 0; i < r->steps; i++) {
        unref_holders(&r->step[i]);
    }
    for (int i = 0; i < r->contents; i++) {
        forget_content(&r->content[i]);
    }
    r->steps = r->contents = r->at = r->base = r->latest = r->behinds = 0;
    r->now = NULL;
    r->lesson = NULL;
}

static void free_memory(ti_replay *r)
{
    for (int i = 0; r->step && i < TI_REPLAY_STEPS; i++) {
        ti_free(r->step[i].memory, r->step[i].size);
        r->step[i].memory = NULL;
        r->step[i].size = 0;
    }
    r->bytes = 0;
}

void ti_replay_fini(ti_replay *r)
{
    forget_all(r);
    free_memory(r);
    for (int i = 0; r->content && i < TI_REPLAY_CONTENTS; i++) {
        ti_vec_fini(&r->content[i].entry);
    }
    ti_free(r->step, r->step ? TI_REPLAY_STEPS * sizeof(*r->step) : 0);
    ti_free(r->content, r->content ? TI_REPLAY_CONTENTS * sizeof(*r->content) : 0);
    *r = (ti_replay){ .step = NULL };
}

/* ---- the map */

static void apply(const ti_replay_step *s, ti_version_map *map)
{
    for (uint32_t i = 0; i < s->reads; i++) {
        ti_version_map_read(map, s->holder[i]);
    }
    for (uint32_t i = s->reads; i < s->reads + s->writes; i++) {
        ti_version_map_write(map, s->holder[i]);
    }
}

void ti_replay_settle(ti_replay *r, ti_version_map *map)
{
    for (int i = 0; i < r->behinds; i++) {
        apply(r->behind[i], map);
    }
    r->behinds = 0;
    r->base = r->at;
}

static void advance(ti_replay *r, ti_version_map *map)
{
    r->at = r->now->after;
    if (r->at == r->base) {
        r->behinds = 0;
        return;
    }
    r->behind[r->behinds++] = r->now;
    if (r->behinds == TI_REPLAY_BEHIND) {
        ti_replay_settle(r, map);
    }
}

/* ---- contents */

static bool is_same_version(const ti_version *a, const ti_version *b)
{
    bool writer = a->kind == TI_WRITER_SPLIT ? a->writer == b->writer
                                             : a->kind != TI_WRITER_NODES || (a->a == b->a && a->b == b->b);
    return a->kind == b->kind && writer && a->readers == b->readers && ti_box_equal(&a->box, &b->box) &&
           memcmp(a->reader, b->reader, (size_t)a->readers * sizeof(a->reader[0])) == 0;
}

/* Tells nearly all contents apart; addresses do, since nothing but time depends on it. */
static uint64_t hash_content(const ti_versions *now)
{
    uint64_t h = now->count;
    for (size_t i = 0; i < now->count; i++) {
        const ti_version *v = now->data[i];
        uint64_t writer = v->kind == TI_WRITER_SPLIT   ? (uint64_t)(uintptr_t)v->writer
                          : v->kind == TI_WRITER_NODES ? (uint64_t)v->a << 32 ^ (uint64_t)v->b
                                                       : 0;
        h = (h ^ writer ^ (uint64_t)v->box.min[0] << 8 ^ (uint64_t)v->readers) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static bool is_same_content(const ti_replay_content *c, const ti_versions *now)
{
    bool same = c->entry.count == now->count;
    for (size_t i = 0; same && i < now->count; i++) {
        same = is_same_version(&c->entry.data[i], now->data[i]);
    }
    return same;
}

/* The number of what the map shows: a new one where it has none. 0: there is no room. */
static int number_content(ti_replay *r, ti_version_map *map)
{
    if (map->index.count > MOST_ENTRIES) {
        return 0;
    }
    const ti_versions *now = ti_version_map_query(map, &map->extent);
    uint64_t hash = hash_content(now);
    for (int i = 0; i < r->contents; i++) {
        if (r->content[i].hash == hash && is_same_content(&r->content[i], now)) {
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
    c->hash = hash;
    for (size_t i = 0; i < now->count; i++) {
        for_holders(now->data[i], ref_holder);
        ti_vec_push(&c->entry, *now->data[i]);
    }
    return r->contents;
}

/* ---- steps */

static uint32_t signature_of(const ti_forward *f)
{
    return f->boxes << 2 | (uint32_t)(f->producer == 0) << 1 | f->whole;
}

/* Whether the task's forwards on the buffer are those of the step. */
static bool has_forwards(const ti_replay_step *s, const ti_task *task, const ti_buffer_info *buffer)
{
    const ti_box *box = s->box;
    uint32_t n = 0;
    for (uint32_t i = 0; i < task->forwards; i++) {
        const ti_forward *f = &task->forward[i];
        if (f->buffer != buffer) {
            continue;
        }
        if (n == s->forwards || s->boxes[n++] != signature_of(f)) {
            return false;
        }
        for (uint32_t k = 0; k < f->boxes; k++) {
            if (!ti_box_equal(box++, &f->box[k])) {
                return false;
            }
        }
    }
    return n == s->forwards;
}

const ti_replay_step *ti_replay_find(const ti_replay *r, const ti_task *task, const ti_buffer_info *buffer)
{
    int i = r->latest;
    for (int k = 0; k < r->steps && r->at; k++) {
        i = i + 1 < r->steps ? i + 1 : 0;
        const ti_replay_step *s = &r->step[i];
        if (s->before == r->at && s->row == task->shape->serial && has_forwards(s, task, buffer)) {
            return s;
        }
    }
    return NULL;
}

/* Lessons cost; where they are of no use there is a pause, longer every time. */
static bool is_worth_a_lesson(ti_replay *r)
{
    if (r->pause) {
        r->pause--;
        return false;
    }
    if (r->spent++ < MOST_SPENT) {
        return true;
    }
    r->length = TI_MIN(TI_MAX(2 * r->length, (uint32_t)SHORTEST_PAUSE), (uint32_t)LONGEST_PAUSE);
    r->pause = r->length;
    r->spent = MOST_SPENT - AGAIN;
    forget_all(r);
    free_memory(r);
    return false;
}

/* Where the map is not known by its number, it is not behind. */
static void start_lesson(ti_replay *r, ti_version_map *map)
{
    if (!is_worth_a_lesson(r)) {
        return;
    }
    if (r->steps == TI_REPLAY_STEPS || r->contents == TI_REPLAY_CONTENTS) {
        forget_all(r);
    }
    if (!r->at) {
        r->at = r->base = number_content(r, map);
    }
    if (!r->step) {
        r->step = TI_NEW_ARRAY(ti_replay_step, TI_REPLAY_STEPS);
    }
    if (r->at) {
        r->lesson = &r->step[r->steps];
        r->lesson->row = 0; /* nothing has been learnt yet */
    }
}

bool ti_replay_begin(ti_replay *r, ti_version_map *map, const ti_discovery_cache *cache, const ti_task *task,
                     const ti_buffer_info *buffer, bool can)
{
    r->lesson = NULL;
    if (r->forgotten != cache->forgotten) {
        ti_replay_settle(r, map);
        forget_all(r);
        r->forgotten = cache->forgotten;
    }
    if (can && !r->at && r->contents && !r->pause) {
        r->at = r->base = number_content(r, map);
    }
    r->now = can ? ti_replay_find(r, task, buffer) : NULL;
    if (r->now) {
        r->latest = (int)(r->now - r->step);
        r->spent -= r->spent > 0;
        return true;
    }
    ti_replay_settle(r, map);
    if (can) {
        start_lesson(r, map);
    }
    return false;
}

void ti_replay_end(ti_replay *r, ti_version_map *map)
{
    if (r->now) {
        advance(r, map);
        return;
    }
    r->at = r->lesson && r->lesson->row ? number_content(r, map) : 0;
    r->base = r->at;
    if (r->at) {
        r->lesson->after = r->at;
        r->steps++;
    } else if (r->lesson && r->lesson->row) {
        unref_holders(r->lesson);
    }
}

/* ---- lessons */

static size_t count_holders(const ti_task *task, const ti_buffer_info *buffer)
{
    size_t n = 0;
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        const ti_access *a = &task->shape->access[i];
        n += a->buffer == buffer ? (size_t)a->mappers * (ti_access_reads(a) + ti_access_writes(a)) : 0;
    }
    return n;
}

static void keep_holders(ti_replay_step *s, const ti_replay_lesson *l)
{
    uint32_t n = 0;
    for (int writes = 0; writes < 2; writes++) {
        size_t first = 0;
        for (uint32_t i = 0; i < l->task->shape->accesses; first += l->task->shape->access[i++].mappers) {
            const ti_access *a = &l->task->shape->access[i];
            bool counts = a->buffer == l->buffer && (writes ? ti_access_writes(a) : ti_access_reads(a));
            for (uint32_t m = 0; counts && m < a->mappers; m++) {
                s->holder[n++] = ti_holder_ref(l->holder[first + m]);
            }
        }
        s->reads = writes ? s->reads : n;
    }
    s->writes = n - s->reads;
}

static void keep_forwards(ti_replay_step *s, const ti_replay_lesson *l)
{
    ti_box *box = s->box;
    s->forwards = 0;
    for (uint32_t i = 0; i < l->task->forwards; i++) {
        const ti_forward *f = &l->task->forward[i];
        if (f->buffer == l->buffer) {
            s->boxes[s->forwards++] = signature_of(f);
            memcpy(box, f->box, f->boxes * sizeof(*box));
            box += f->boxes;
        }
    }
}

static void *take(char **at, size_t size)
{
    char *here = *at;
    *at += (size + 15) & ~(size_t)15;
    return here;
}

static void *keep(char **at, const void *from, size_t size)
{
    void *to = take(at, size);
    return size ? memcpy(to, from, size) : to;
}

static void keep_messages(ti_messages *out, const ti_messages *from, char **at)
{
    *out = (ti_messages){ .data = keep(at, from->data, from->count * sizeof(*from->data)), .count = from->count };
}

static size_t size_of(const ti_replay_lesson *l, size_t *forward_boxes)
{
    *forward_boxes = 0;
    for (uint32_t i = 0; i < l->task->forwards; i++) {
        *forward_boxes += l->task->forward[i].buffer == l->buffer ? l->task->forward[i].boxes : 0;
    }
    return *forward_boxes * sizeof(ti_box) + l->task->forwards * sizeof(uint32_t) +
           count_holders(l->task, l->buffer) * sizeof(ti_holder *) + l->collectives * sizeof(ti_collective *) +
           (l->outgoing->count + l->incoming->count) * sizeof(ti_message_piece) + (size_t)6 * 16;
}

void ti_replay_learn(ti_replay *r, const ti_replay_lesson *l)
{
    ti_replay_step *s = r->lesson;
    size_t forward_boxes, size = size_of(l, &forward_boxes);
    if (s->size < size) {
        if (r->bytes - s->size + size > most_bytes) {
            r->lesson = NULL;
            r->spent = MOST_SPENT;
            return;
        }
        ti_free(s->memory, s->size);
        s->memory = ti_alloc(size);
        r->bytes += size - s->size;
        s->size = size;
    }
    char *at = s->memory;
    s->box = take(&at, forward_boxes * sizeof(ti_box));
    s->boxes = take(&at, l->task->forwards * sizeof(uint32_t));
    s->holder = take(&at, count_holders(l->task, l->buffer) * sizeof(ti_holder *));
    s->collective = keep(&at, l->collective, l->collectives * sizeof(ti_collective *));
    keep_messages(&s->outgoing, l->outgoing, &at);
    keep_messages(&s->incoming, l->incoming, &at);
    keep_holders(s, l);
    keep_forwards(s, l);
    s->collectives = l->collectives;
    s->before = r->at;
    s->row = l->task->shape->serial;
    s->moved = l->moved;
    s->passes = l->passes;
}
