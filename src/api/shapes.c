/* The table of shapes: see shapes.h.
 *
 * A hash map, and a list by use. A description is a run of words: what it does not fit into is not kept. Its hash
 * covers what nearly always tells descriptions apart, and costs little; those with equal hashes are in one chain.
 * The first time that a description comes, only its hash is noted, so that what never comes again costs no memory.
 * Once the table is full, a shape now and then takes the place of the one that has not been used for longest, if
 * that is long. Loops submit the same in the same order. So what came after the shape that was found last is
 * compared first.
 *
 * Forms are kept beside that, since a program of many tiles submits the same with other tiles, and seldom the same. A
 * form's description is one without nodes, buffers and boxes. */
#include "api/shapes.h"

#include "api/context.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "ir/submission.h"

enum {
    MAX_WORDS = 512,
    HEADER_WORDS = 24,
    ACCESS_WORDS = 3 + 4 * TACIT_MAX_DIMS,
    SEEN_SETS = 1024,
    SEEN_WAYS = 4,
    SELDOM = 16,
    FORM_WAYS = 4,
    FORM_SETS = TI_FORMS / FORM_WAYS
};
static const size_t max_bytes = (size_t)64 << 20;

/* What a description's words depend on. */
typedef struct measures {
    uint64_t hash; /* 0: it is not kept */
    uint32_t accesses;
    size_t name, weights; /* bytes */
    bool has_form;        /* there may be a form of it */
} measures;

typedef struct form {
    ti_shape *shape; /* in the arena; NULL: nothing is here */
    uint64_t *word;
    uint64_t hash, last_task;
    ti_arena arena;
} form;

typedef struct entry {
    ti_shape *shape; /* in the arena, with all that it points to */
    uint64_t *word;  /* the description, too */
    uint64_t hash;   /* 0: it has left */
    uint32_t number;
    uint64_t last_task, last_use;
    size_t bytes;
    struct entry *next;          /* of its chain, or of those that have left */
    struct entry *newer, *older; /* by use */
    struct entry *follower;      /* what came after it the last time, or NULL; may have left since */
    ti_arena arena;
} entry;

struct ti_shapes {
    int num_nodes;
    ti_map chains; /* by hash: the first one */
    size_t count, bytes;
    entry *newest, *oldest;
    entry *left, *spare; /* some tasks have not been executed; to be used again */
    entry *made;         /* whose shape is being made, or NULL */
    uint64_t serial, uses, refused, before, executed;
    uint32_t numbers; /* given out so far */
    TI_VEC(uint32_t) free_numbers;
    measures asked;                      /* last */
    uint64_t seen[SEEN_SETS][SEEN_WAYS]; /* hashes of what came lately, for the first time */
    form *latest;                        /* found or kept, or NULL */
    bool by_form;                        /* found for the latest description */
    form forms[FORM_SETS][FORM_WAYS];
};

/* ---- descriptions */

static inline uint64_t pair(int64_t a, int64_t b)
{
    return (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
}

static inline uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

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
    field(c, address(a->buffer));
    if (a->mode == TACIT_REDUCE) {
        field(c, pair(a->mode, a->include_old | a->in_parts << 1));
        word(c, &a->op);
    } else {
        field(c, pair(a->mode, a->in_parts));
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
    field(c, pair(a->mode, a->in_parts | a->mapper.kind << 1));
}

/* Everything that makes a description another one: all fields but the bytes of arguments. Whoever adds a field to
 * tacit_task adds it here. The shapes_test changes every byte of a description and looks whether that is noticed. */
static size_t words_of(const measures *m)
{
    return HEADER_WORDS + m->accesses * ACCESS_WORDS + (m->name + m->weights) / 8 + 4;
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

EITHER void fields(cursor *c, const tacit_task *t, const measures *m)
{
    field(c, pair(m->accesses, t->range.dims));
    field(c, address((const void *)(uintptr_t)t->kernel.host));
    field(c, address(t->kernel.opencl.source));
    field(c, address(t->kernel.opencl.entry));
    field(c, address((const void *)(uintptr_t)t->kernel.cuda));
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
    field(c, pair(t->hint.split, t->hint.oversubscribe));
    field(c, pair(t->hint.priority, t->on));
    field(c, (uint64_t)(t->hint.whole_chunk | t->hint.pure << 1 | t->hint.no_collectives << 2 | t->hash_args << 3 |
                        (t->args != NULL) << 4));
    field(c, t->args_size);
    word(c, &t->cost);
    for (int i = 0; i < TACIT_MAX_HOST_OBJECTS; i++) {
        field(c, address(t->host_object[i]));
    }
    for (uint32_t i = 0; i < m->accesses && !c->differ; i++) {
        (c->of_form ? tile_fields : access_fields)(c, &t->access[i]);
    }
    if (!c->differ) {
        bytes(c, t->name, m->name);
        bytes(c, t->hint.weights, m->weights);
    }
}

static bool is_as_described(const tacit_task *t, const measures *m, const entry *e)
{
    cursor c = { .at = e->word, .compares = true };
    fields(&c, t, m);
    return !c.differ;
}

static bool has_form(const tacit_task *t, const measures *m, const form *f)
{
    cursor c = { .at = f->word, .compares = true, .of_form = true };
    fields(&c, t, m);
    return !c.differ;
}

static uint64_t *write_down(const tacit_task *t, const measures *m, bool of_form, ti_arena *arena)
{
    cursor c = { .at = TI_ARENA_ARRAY(arena, uint64_t, words_of(m)), .of_form = of_form };
    uint64_t *word = c.at;
    fields(&c, t, m);
    TI_ASSERT(c.at <= word + words_of(m));
    return word;
}

/* Of places, reductions have the buffer only. */
static uint64_t hash_of(const tacit_task *t, const measures *m)
{
    uint64_t h = ti_hash_fold(address((const void *)(uintptr_t)t->kernel.host), TI_HASH_KEY + m->accesses) +
                 ti_hash_fold(pair(t->place.arg, t->hint.priority) ^ TI_HASH_KEY, name_word(t->name, m->name)),
             key = TI_HASH_KEY;
    for (int d = 0; d < TACIT_MAX_DIMS; d++, key += TI_HASH_KEY) {
        h += ti_hash_fold(t->range.size[d] ^ key, t->offset[d] ^ ~key);
    }
    for (uint32_t i = 0; i < m->accesses; i++, key += TI_HASH_KEY) {
        const tacit_access *a = &t->access[i];
        h += ti_hash_fold(address(a->buffer) ^ key, pair(a->mode, a->mapper.arg) ^ ~key);
        for (int d = 0; d < TACIT_MAX_DIMS && a->mode != TACIT_REDUCE && a->mapper.kind != TACIT_MAPPER_CUSTOM; d++) {
            const tacit_component *c = &a->mapper.c[d];
            key += TI_HASH_KEY;
            h += ti_hash_fold((uint64_t)c->lo ^ key, (uint64_t)c->hi ^ ~key);
        }
    }
    return h | 1;
}

/* Accesses whose tiles make no difference but that they are others. */
static inline bool is_of_tile(const tacit_access *a)
{
    bool constant = a->mapper.kind == TACIT_MAPPER_FIXED || a->mapper.kind == TACIT_MAPPER_ALL;
    for (int d = 0; d < TACIT_MAX_DIMS && constant; d++) {
        constant = a->mapper.c[d].kind == TACIT_COMPONENT_SPAN || a->mapper.c[d].kind == TACIT_COMPONENT_FULL;
    }
    return constant && a->mode != TACIT_REDUCE;
}

static measures measure(const tacit_task *t, int num_nodes)
{
    measures m = { .name = t->name ? strlen(t->name) : 0,
                   .weights = t->hint.weights ? (size_t)num_nodes * sizeof(uint32_t) : 0,
                   .has_form = t->place.kind == TACIT_PLACE_NODE && !t->hint.weights };
    while (m.accesses <= TACIT_MAX_ACCESSES && t->access[m.accesses].mode != 0) {
        m.has_form = m.has_form && is_of_tile(&t->access[m.accesses]);
        m.accesses++;
    }
    for (int i = 0; i < TACIT_MAX_HOST_OBJECTS; i++) {
        m.has_form = m.has_form && !t->host_object[i];
    }
    m.has_form = m.has_form && m.accesses <= TACIT_MAX_ACCESSES && words_of(&m) <= MAX_WORDS;
    return m;
}

/* ---- the table */

static void unlink_by_use(ti_shapes *s, entry *e)
{
    *(e->newer ? &e->newer->older : &s->newest) = e->older;
    *(e->older ? &e->older->newer : &s->oldest) = e->newer;
}

static void link_newest(ti_shapes *s, entry *e)
{
    e->newer = NULL;
    e->older = s->newest;
    *(s->newest ? &s->newest->newer : &s->oldest) = e;
    s->newest = e;
}

static void note_use(ti_shapes *s, entry *e, uint64_t task)
{
    e->last_task = task;
    e->last_use = s->uses;
    if (s->newest != e) {
        unlink_by_use(s, e);
        link_newest(s, e);
    }
}

/* Its tasks may still need it. */
static void leave(ti_shapes *s, entry *e)
{
    uint64_t *first = ti_map_find(&s->chains, e->hash);
    entry *before = first ? (entry *)(uintptr_t)*first : NULL;
    TI_ASSERT(before);
    if (before != e) {
        while (before->next != e) {
            before = before->next;
        }
        before->next = e->next;
    } else if (e->next) {
        *first = (uintptr_t)e->next;
    } else {
        ti_map_remove(&s->chains, e->hash, NULL);
    }
    unlink_by_use(s, e);
    e->hash = 0;
    e->next = s->left;
    s->left = e;
    s->count--;
}

ti_shapes *ti_shapes_create(int num_nodes)
{
    ti_shapes *s = TI_NEW(ti_shapes);
    s->num_nodes = num_nodes;
    return s;
}

static void free_list(entry *e)
{
    for (entry *next; e; e = next) {
        next = e->next;
        ti_arena_fini(&e->arena);
        TI_DELETE(e);
    }
}

void ti_shapes_destroy(ti_shapes *s)
{
    if (s) {
        while (s->newest) {
            leave(s, s->newest);
        }
        free_list(s->left);
        free_list(s->spare);
        for (int i = 0; i < FORM_SETS * FORM_WAYS; i++) {
            ti_arena_fini(&s->forms[i / FORM_WAYS][i % FORM_WAYS].arena);
        }
        ti_map_fini(&s->chains);
        ti_vec_fini(&s->free_numbers);
        TI_DELETE(s);
    }
}

static entry *first_of_chain(const ti_shapes *s, uint64_t hash)
{
    const uint64_t *at = ti_map_find(&s->chains, hash);
    return at ? (entry *)(uintptr_t)*at : NULL;
}

const ti_shape *ti_shapes_find(ti_shapes *s, const tacit_task *given, uint64_t task)
{
    entry *before = s->newest, *e = before ? before->follower : NULL;
    measures *m = &s->asked;
    *m = measure(given, s->num_nodes);
    s->uses++;
    if (!e || !e->hash || (m->has_form && s->by_form) || !is_as_described(given, m, e)) {
        m->hash = words_of(m) <= MAX_WORDS ? hash_of(given, m) : 0;
        e = m->hash ? first_of_chain(s, m->hash) : NULL;
        while (e && !is_as_described(given, m, e)) {
            e = e->next;
        }
    }
    if (!e) {
        return NULL;
    }
    s->by_form = false;
    note_use(s, e, task);
    before->follower = e;
    return e->shape;
}

/* ---- making a shape */

/* Entries themselves are not freed: others may still name them as followers. */
static void give_back(ti_shapes *s, entry *e)
{
    ti_arena_fini(&e->arena);
    e->next = s->spare;
    s->spare = e;
}

/* Free what has left, if its tasks came before the point before the one that was executed last. */
static void release(ti_shapes *s, uint64_t executed)
{
    if (executed == s->executed) {
        return;
    }
    s->before = s->executed;
    s->executed = executed;
    for (entry **at = &s->left; *at;) {
        entry *e = *at;
        if (e->last_task >= s->before) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        s->bytes -= e->bytes;
        ti_vec_push(&s->free_numbers, e->number);
        give_back(s, e);
    }
}

/* Whether there is room for one more shape, or one has not been used for long. Then only one in SELDOM takes its place:
 * a loop over more shapes than there is room for would otherwise replace each of them just before it comes again. What
 * may have a form takes no place. */
static bool make_room(ti_shapes *s)
{
    if (s->count < TI_SHAPES && s->bytes < max_bytes) {
        return true;
    }
    if (!s->oldest || s->asked.has_form || s->uses - s->oldest->last_use < (uint64_t)2 * TI_SHAPES ||
        s->refused++ % SELDOM) {
        return false;
    }
    leave(s, s->oldest);
    return true;
}

/* Whether the description has come before, not long ago. Notes that it has, in place of any other. If they were
 * taken in turn, a loop over one more than there is room for would never find anything. */
static bool comes_again(ti_shapes *s, uint64_t hash)
{
    uint64_t *way = s->seen[(hash >> 20) % SEEN_SETS];
    for (int i = 0; i < SEEN_WAYS; i++) {
        if (way[i] == hash) {
            return true;
        }
    }
    way[ti_hash64(s->uses) % SEEN_WAYS] = hash;
    return false;
}

ti_arena *ti_shapes_begin(ti_shapes *s, uint64_t executed)
{
    const measures *m = &s->asked;
    TI_ASSERT(!s->made);
    release(s, executed);
    if (!m->hash || !comes_again(s, m->hash) || !make_room(s)) {
        return NULL;
    }
    s->made = s->spare;
    s->spare = s->made ? s->made->next : NULL;
    s->made = s->made ? s->made : TI_NEW(entry);
    ti_arena_reserve(&s->made->arena, sizeof(ti_shape) + 4 * words_of(m) * sizeof(uint64_t));
    return &s->made->arena;
}

void ti_shapes_abandon(ti_shapes *s)
{
    if (s->made) {
        give_back(s, s->made);
        s->made = NULL;
    }
}

/* What nodes compare is the same for all tasks of a shape, unless arguments count. */
static const ti_submission *submission_of(const ti_shapes *s, const ti_shape *shape, ti_arena *arena)
{
    ti_submission what;
    if (s->num_nodes == 1 || shape->hash_args) {
        return NULL;
    }
    ti_submission_of_shape(shape, s->num_nodes, &what);
    return ti_arena_copy(arena, &what, ti_submission_size(&what));
}

void ti_shapes_keep(ti_shapes *s, const tacit_task *given, ti_shape *shape, uint64_t task)
{
    entry *e = s->made;
    s->made = NULL;
    shape->serial = ++s->serial;
    shape->number = s->free_numbers.count ? s->free_numbers.data[--s->free_numbers.count] : s->numbers++;
    shape->submission = submission_of(s, shape, &e->arena);
    e->shape = shape;
    e->word = write_down(given, &s->asked, false, &e->arena);
    e->hash = s->asked.hash;
    e->number = shape->number;
    e->last_task = task;
    e->last_use = s->uses;
    e->bytes = ti_arena_bytes(&e->arena) + sizeof(*e);
    s->bytes += e->bytes;
    s->count++;
    uint64_t *first = ti_map_at(&s->chains, e->hash);
    e->next = (entry *)(uintptr_t)*first;
    *first = (uintptr_t)e;
    if (s->newest) {
        s->newest->follower = e;
    }
    link_newest(s, e);
}

/* ---- forms */

static uint64_t form_hash(const tacit_task *t, const measures *m)
{
    uint64_t h = ti_hash_fold(address((const void *)(uintptr_t)t->kernel.host), TI_HASH_KEY + m->accesses) +
                 ti_hash_fold((uint64_t)(uint32_t)t->hint.priority ^ TI_HASH_KEY, name_word(t->name, m->name));
    for (int d = 0; d < TACIT_MAX_DIMS; d++) {
        h += ti_hash_fold(t->range.size[d] ^ TI_HASH_KEY, t->offset[d] + (uint64_t)d);
    }
    return h | 1;
}

static form *form_among(form *way, const tacit_task *t, const measures *m, uint64_t hash)
{
    for (int i = 0; i < FORM_WAYS; i++) {
        if (way[i].shape && way[i].hash == hash && has_form(t, m, &way[i])) {
            return &way[i];
        }
    }
    return NULL;
}

const ti_shape *ti_shapes_find_form(ti_shapes *s, const tacit_task *given, uint64_t task)
{
    const measures *m = &s->asked;
    if (!m->has_form) {
        return NULL;
    }
    form *f = s->latest;
    if (!f || !has_form(given, m, f)) {
        uint64_t hash = form_hash(given, m);
        f = form_among(s->forms[(hash >> 20) % FORM_SETS], given, m, hash);
    }
    if (!f) {
        return NULL;
    }
    f->last_task = task;
    s->latest = f;
    s->by_form = true;
    return f->shape;
}

/* A place for one more: an empty one, or that of a form whose tasks have been executed and that has not come for
 * longest. */
static form *place_for_form(ti_shapes *s, uint64_t hash)
{
    form *way = s->forms[(hash >> 20) % FORM_SETS], *best = NULL;
    for (int i = 0; i < FORM_WAYS; i++) {
        if (!way[i].shape) {
            return &way[i];
        }
        if (way[i].last_task < s->before && (!best || way[i].last_task < best->last_task)) {
            best = &way[i];
        }
    }
    return best;
}

void ti_shapes_keep_form(ti_shapes *s, const tacit_task *given, const ti_shape *shape, uint64_t task)
{
    const measures *m = &s->asked;
    uint64_t hash = m->has_form ? form_hash(given, m) : 0;
    form *f = hash && comes_again(s, hash) ? place_for_form(s, hash) : NULL;
    if (!f || form_among(s->forms[(hash >> 20) % FORM_SETS], given, m, hash)) {
        return;
    }
    ti_arena_fini(&f->arena);
    *f = (form){ .hash = hash, .last_task = task };
    ti_arena_reserve(&f->arena, sizeof(ti_shape) + m->accesses * sizeof(ti_access) + m->name +
                                    words_of(m) * sizeof(uint64_t) + 64);
    f->word = write_down(given, m, true, &f->arena);
    f->shape = ti_arena_copy(&f->arena, shape, sizeof(*shape));
    f->shape->name = ti_arena_copy(&f->arena, shape->name, strlen(shape->name) + 1);
    f->shape->access = ti_arena_copy(&f->arena, shape->access, shape->accesses * sizeof(ti_access));
    f->shape->footprint = NULL;
    f->shape->order = NULL;
    f->shape->submission = NULL;
    f->shape->serial = 0;
    f->shape->number = 0;
    s->latest = f;
}

/* ---- what leaves */

static bool uses(const ti_shape *shape, const ti_buffer_info *buffer)
{
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (shape->access[i].buffer == buffer) {
            return true;
        }
    }
    return false;
}

void ti_shapes_forget(ti_shapes *s, const ti_buffer_info *buffer)
{
    for (entry *e = s->newest, *older; e; e = older) {
        older = e->older;
        if (buffer ? uses(e->shape, buffer) : e->shape->orders > 0) {
            leave(s, e);
        }
    }
}

void ti_shapes_forget_function(ti_shapes *s, const ti_custom_mapper *mapper, const ti_user_op *op)
{
    for (entry *e = s->newest, *older; e; e = older) {
        bool uses = false;
        older = e->older;
        for (uint32_t i = 0; i < e->shape->accesses; i++) {
            const ti_access *a = &e->shape->access[i];
            uses = uses || (mapper && a->custom == mapper) || (op && a->reducer.user == op);
        }
        if (uses) {
            leave(s, e);
        }
    }
}

size_t ti_shapes_count(const ti_shapes *s)
{
    return s->count;
}

size_t ti_shapes_bytes(const ti_shapes *s)
{
    return s->bytes;
}
