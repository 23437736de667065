/* Descriptions of tasks as words: see description.h. */
#include "api/description.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

enum { HEADER_WORDS = 25, OTHERS = offsetof(tacit_kernel, opencl), ACCESS_WORDS = 3 + 4 * TACIT_MAX_DIMS };

/* A description that is written, or compared with one that is there: the list of fields is the same. Compilers make two
 * functions of it. */
#define EITHER static inline __attribute__((always_inline))
typedef struct cursor {
    uint64_t *at;
    bool compares, of_form;
    uint64_t differ; /* not 0: something does */
} cursor;

EITHER void field(cursor *c, uint64_t value)
{
    if (c->compares) {
        c->differ |= *c->at ^ value;
    } else {
        *c->at = value;
    }
    c->at++;
}

/* 8 bytes as they lie. */
EITHER void word(cursor *c, const void *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof(value));
    field(c, value);
}

/* `size` bytes with their number. */
EITHER void bytes(cursor *c, const void *data, size_t size)
{
    field(c, size);
    if (c->differ || size == 0) {
        return;
    }
    if (c->compares) {
        c->differ = memcmp(c->at, data, size) != 0;
    } else {
        c->at[(size - 1) / 8] = 0;
        memcpy(c->at, data, size);
    }
    c->at += (size + 7) / 8;
}

/* Reductions have no mapper, custom mappers no components, and only reductions have an operator. */
EITHER void access_fields(cursor *c, const tacit_access *a)
{
    uint64_t *end = c->at + ACCESS_WORDS;
    field(c, ti_address(a->buffer));
    if (a->mode == TACIT_REDUCE) {
        field(c, ti_pair(a->mode, a->include_old | a->in_parts << 1));
        word(c, &a->op);
    } else {
        field(c, ti_pair(a->mode, a->in_parts));
        word(c, &a->mapper.kind); /* and arg */
        for (int d = 0; d < TACIT_MAX_DIMS && a->mapper.kind != TACIT_MAPPER_CUSTOM; d++) {
            const tacit_component *k = &a->mapper.c[d];
            word(c, &k->lo);
            word(c, &k->hi);
            word(c, &k->mul); /* and div */
            field(c, (uint64_t)(k->kind | k->dim << 8));
        }
    }
    while (!c->compares && c->at < end) {
        *c->at++ = 0;
    }
    c->at = end;
}

/* Of a form: whatever tile it is of whatever buffer. */
EITHER void tile_fields(cursor *c, const tacit_access *a)
{
    field(c, ti_pair(a->mode, a->in_parts | a->mapper.kind << 1));
}

/* Everything that makes a description another one: all fields but the bytes of arguments. Whoever adds a field to
 * tacit_task adds it here. The shapes_test changes every byte of a description and looks whether that is noticed. */
size_t ti_description_words(const ti_measures *m)
{
    return HEADER_WORDS + m->others / 8 + m->accesses * ACCESS_WORDS + (m->name + m->weights) / 8 + 4;
}

/* Its begin and its end. */
static uint64_t name_word(const char *name, size_t length)
{
    uint64_t w[2] = { 0 };
    size_t part = TI_MIN(length, sizeof(w[0]));
    if (length) {
        memcpy(&w[0], name, part);
        memcpy(&w[1], name + length - part, part);
    }
    return w[0] ^ (w[1] << 1) ^ length << 56;
}

EITHER void fields(cursor *c, const tacit_task *t, const ti_measures *m)
{
    field(c, ti_pair(m->accesses, t->range.dims));
    field(c, ti_address((const void *)(uintptr_t)t->kernel.host));
    for (int i = 0; i < TACIT_MAX_DIMS; i++) {
        field(c, t->range.size[i]);
        field(c, t->offset[i]);
        field(c, t->hint.granularity[i]);
    }
    if (c->of_form) {
        field(c, (uint64_t)t->place.kind);
    } else {
        word(c, &t->place);
    }
    field(c, ti_pair(t->hint.split, t->hint.oversubscribe));
    field(c, ti_pair(t->hint.priority, t->on));
    field(c, (uint64_t)t->hint.window);
    field(c, ti_address(t->hint.item_weights));
    field(c, (uint64_t)(t->hint.whole_chunk | t->hint.pure << 1 | t->hint.no_collectives << 2 | t->hash_args << 3 |
                        (t->args != NULL) << 4));
    bytes(c, (const char *)&t->kernel + OTHERS, m->others);
    field(c, t->args_size);
    word(c, &t->cost);
    field(c, ti_address(t->group));
    for (int i = 0; i < TACIT_MAX_HOST_OBJECTS; i++) {
        field(c, ti_address(t->host_object[i]));
    }
    for (uint32_t i = 0; i < m->accesses && !c->differ; i++) {
        (c->of_form ? tile_fields : access_fields)(c, &t->access[i]);
    }
    if (!c->differ) {
        bytes(c, t->name, m->name);
        bytes(c, t->hint.weights, m->weights);
    }
}

bool ti_description_is(const tacit_task *t, const ti_measures *m, uint64_t *word, bool of_form)
{
    cursor c = { .at = word, .compares = true, .of_form = of_form };
    if (of_form) {
        c.of_form = true; /* two functions */
        fields(&c, t, m);
    } else {
        c.of_form = false;
        fields(&c, t, m);
    }
    return !c.differ;
}

enum { MIDDLE = sizeof(((ti_form_bytes *)0)->middle) };
_Static_assert(offsetof(tacit_task, place.arg) - offsetof(tacit_task, args_size) == MIDDLE, "these follow each other");

static uint64_t tile_word(const tacit_access *a)
{
    uint64_t word;
    cursor c = { .at = &word, .of_form = true };
    tile_fields(&c, a);
    return word;
}

const ti_form_bytes *ti_form_bytes_take(const tacit_task *t, const ti_measures *m, ti_arena *arena)
{
    ti_form_bytes *out = TI_ARENA_NEW(arena, ti_form_bytes);
    out->range = t->range;
    memcpy(out->offset, t->offset, sizeof(out->offset));
    out->kernel = t->kernel;
    memcpy(&out->middle, &t->args_size, sizeof(out->middle));
    memcpy(out->rest, &t->hint, sizeof(out->rest));
    for (uint32_t i = 0; i < m->accesses; i++) {
        out->access[i] = tile_word(&t->access[i]);
    }
    out->of = *m;
    out->name = m->name ? ti_arena_copy(arena, t->name, m->name + 1) : "";
    out->args = t->args != NULL;
    return out;
}

uint64_t *ti_description_write(const tacit_task *t, const ti_measures *m, bool of_form, ti_arena *arena)
{
    cursor c = { .at = TI_ARENA_ARRAY(arena, uint64_t, ti_description_words(m)), .of_form = of_form };
    uint64_t *word = c.at;
    fields(&c, t, m);
    TI_ASSERT(c.at <= word + ti_description_words(m));
    return word;
}

/* Of places, reductions have the buffer only. */
uint64_t ti_description_hash(const tacit_task *t, const ti_measures *m)
{
    uint64_t h = ti_hash_fold(ti_address((const void *)(uintptr_t)t->kernel.host), TI_HASH_KEY + m->accesses) +
                 ti_hash_fold(ti_pair(t->place.arg, t->hint.priority) ^ TI_HASH_KEY, name_word(t->name, m->name)),
             key = TI_HASH_KEY;
    for (int d = 0; d < TACIT_MAX_DIMS; d++, key += TI_HASH_KEY) {
        h += ti_hash_fold(t->range.size[d] ^ key, t->offset[d] ^ ~key);
    }
    for (uint32_t i = 0; i < m->accesses; i++, key += TI_HASH_KEY) {
        const tacit_access *a = &t->access[i];
        h += ti_hash_fold(ti_address(a->buffer) ^ key, ti_pair(a->mode, a->mapper.arg) ^ ~key);
        for (int d = 0; d < TACIT_MAX_DIMS && a->mode != TACIT_REDUCE && a->mapper.kind != TACIT_MAPPER_CUSTOM; d++) {
            const tacit_component *c = &a->mapper.c[d];
            key += TI_HASH_KEY;
            h += ti_hash_fold((uint64_t)c->lo ^ key, (uint64_t)c->hi ^ ~key);
        }
    }
    return h | 1;
}

bool ti_description_has_others(const tacit_task *t)
{
    static const tacit_kernel none;
    return memcmp((const char *)&t->kernel + OTHERS, (const char *)&none + OTHERS, sizeof(none) - OTHERS) != 0;
}

ti_measures ti_description_measure(const tacit_task *t, int num_nodes)
{
    ti_measures m = { .name = t->name ? strlen(t->name) : 0,
                      .others = ti_description_has_others(t) ? sizeof(tacit_kernel) - OTHERS : 0,
                      .weights = t->hint.weights ? (size_t)num_nodes * sizeof(uint32_t) : 0 };
    while (m.accesses <= TACIT_MAX_ACCESSES && t->access[m.accesses].mode != 0) {
        m.accesses++;
    }
    m.has_form = t->place.kind == TACIT_PLACE_NODE && !t->hint.weights && !t->hint.item_weights &&
                 m.accesses <= TACIT_MAX_ACCESSES;
    for (int i = 0; i < TACIT_MAX_HOST_OBJECTS; i++) {
        m.has_form = m.has_form && !t->host_object[i];
    }
    return m;
}

uint64_t ti_description_form_hash(const tacit_task *t, const ti_measures *m)
{
    uint64_t h = ti_hash_fold(ti_address((const void *)(uintptr_t)t->kernel.host), TI_HASH_KEY + m->accesses) +
                 ti_hash_fold((uint64_t)(uint32_t)t->hint.priority ^ TI_HASH_KEY, name_word(t->name, m->name));
    for (int d = 0; d < TACIT_MAX_DIMS; d++) {
        h += ti_hash_fold(t->range.size[d] ^ TI_HASH_KEY, t->offset[d] + (uint64_t)d);
    }
    return h | 1;
}

/* ---- bytes of forms */

/* Whatever follows the last access is looked at, too: there is one more that is none. */
bool ti_form_bytes_are(const tacit_task *t, const ti_form_bytes *b)
{
    uint64_t differ = ((t->args != NULL) ^ b->args) | (uint64_t)t->access[b->of.accesses].mode;
    for (uint32_t i = 0; i < b->of.accesses; i++) {
        differ |= tile_word(&t->access[i]) ^ b->access[i];
    }
    return !differ && strcmp(t->name ? t->name : "", b->name) == 0 &&
           memcmp(&t->range, &b->range, sizeof(b->range) + sizeof(b->offset)) == 0 &&
           memcmp(&t->kernel, &b->kernel, sizeof(b->kernel)) == 0 &&
           memcmp(&t->args_size, &b->middle, sizeof(b->middle)) == 0 && memcmp(&t->hint, b->rest, sizeof(b->rest)) == 0;
}

/* ---- bytes of descriptions */

enum { ARGS = offsetof(tacit_task, args) - offsetof(tacit_task, kernel) };

static size_t head_bytes(uint32_t accesses)
{
    return offsetof(tacit_task, access) - offsetof(tacit_task, range) + accesses * sizeof(tacit_access);
}

size_t ti_task_bytes_size(const ti_measures *m)
{
    return sizeof(ti_task_bytes) + head_bytes(m->accesses) + m->name + 1;
}

ti_task_bytes *ti_task_bytes_take(const tacit_task *t, const ti_measures *m, ti_arena *arena)
{
    if (m->weights || m->accesses > TACIT_MAX_ACCESSES) {
        return NULL;
    }
    ti_task_bytes *out = ti_arena_alloc(arena, ti_task_bytes_size(m));
    out->head_bytes = head_bytes(m->accesses);
    memcpy(out->tail, &t->kernel, sizeof(out->tail));
    memcpy(out->head, &t->range, out->head_bytes);
    char *name = &out->head[out->head_bytes];
    memcpy(name, m->name ? t->name : "", m->name + 1);
    out->name = name;
    out->accesses = m->accesses;
    out->low = t->access[0].mapper.c[0].lo;
    return out;
}

static bool has_args(const ti_task_bytes *b)
{
    const void *args;
    memcpy(&args, &b->tail[ARGS], sizeof(args));
    return args != NULL;
}

/* One more access is none. */
bool ti_task_bytes_are(const tacit_task *t, ti_task_bytes *b)
{
    if (memcmp(&t->range, b->head, b->head_bytes) != 0 || t->access[b->accesses].mode != 0 ||
        (t->args != NULL) != has_args(b)) {
        return false;
    }
    memcpy(&b->tail[ARGS], &t->args, sizeof(t->args));
    return memcmp(&t->kernel, b->tail, sizeof(b->tail)) == 0 && strcmp(t->name ? t->name : "", b->name) == 0;
}
