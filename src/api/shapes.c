/* The table of shapes: see shapes.h.
 *
 * A hash map, and a list by use. A description is a run of words: what it does not fit into is not kept. The first time
 * that a description comes, only its hash is noted, so that what never comes again costs no memory. Once the table is
 * full, a shape now and then takes the place of the one that has not been used for longest, if that is long. Loops
 * submit the same in the same order. So what came after the shape that was found last is compared first, word by word.
 * Only if it is another one is the description written down and hashed. Of two descriptions with equal hashes, one is
 * kept. */
#include "api/shapes.h"

#include "api/context.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "ir/submission.h"

enum {
    MAX_WORDS = 512,
    HEADER_WORDS = 23,
    ACCESS_WORDS = 3 + 4 * TACIT_MAX_DIMS,
    SEEN_SETS = 1024,
    SEEN_WAYS = 4,
    SELDOM = 16
};
static const size_t max_bytes = (size_t)64 << 20;

typedef struct description {
    uint64_t hash; /* 0: none */
    uint32_t words;
    uint64_t word[MAX_WORDS];
} description;

typedef struct entry {
    ti_shape *shape; /* in the arena, with all that it points to */
    uint64_t *word;  /* the description, too */
    uint64_t hash;   /* 0: it has left */
    uint32_t words, number;
    uint64_t last_task, last_use;
    size_t bytes;
    struct entry *next;          /* of those that have left */
    struct entry *newer, *older; /* by use */
    struct entry *follower;      /* what came after it the last time, or NULL; may have left since */
    ti_arena arena;
} entry;

struct ti_shapes {
    int num_nodes;
    ti_map entries; /* by hash */
    size_t bytes;
    entry *newest, *oldest;
    entry *left, *spare; /* some tasks have not been executed; to be used again */
    entry *made;         /* whose shape is being made, or NULL */
    uint64_t serial, uses, refused, before, executed;
    uint32_t numbers; /* given out so far */
    TI_VEC(uint32_t) free_numbers;
    description asked;                   /* last, and not found by following */
    uint64_t seen[SEEN_SETS][SEEN_WAYS]; /* hashes of what came lately, for the first time */
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
    bool compares;
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
        field(c, pair(a->mode, a->include_old));
        word(c, &a->op);
    } else {
        field(c, (uint64_t)a->mode);
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

/* Everything that makes a description another one: all fields but the bytes of arguments. Whoever adds a field to
 * tacit_task adds it here. The shapes_test changes every byte of a description and looks whether that is noticed. */
EITHER void fields(cursor *c, const tacit_task *t, uint32_t accesses, size_t name, size_t weights)
{
    field(c, pair(accesses, t->range.dims));
    field(c, address((const void *)(uintptr_t)t->kernel.host));
    field(c, address(t->kernel.opencl.source));
    field(c, address(t->kernel.opencl.entry));
    field(c, address((const void *)(uintptr_t)t->kernel.cuda));
    for (int i = 0; i < TACIT_MAX_DIMS; i++) {
        field(c, t->range.size[i]);
        field(c, t->offset[i]);
        field(c, t->hint.granularity[i]);
    }
    word(c, &t->place);
    field(c, pair(t->hint.split, t->hint.oversubscribe));
    field(c, pair(t->hint.priority, t->on));
    field(c, (uint64_t)(t->hint.whole_chunk | t->hint.pure << 1 | t->hint.no_collectives << 2 | t->hash_args << 3 |
                        (t->args != NULL) << 4));
    field(c, t->args_size);
    for (int i = 0; i < TACIT_MAX_HOST_OBJECTS; i++) {
        field(c, address(t->host_object[i]));
    }
    for (uint32_t i = 0; i < accesses && !c->differ; i++) {
        access_fields(c, &t->access[i]);
    }
    if (!c->differ) {
        bytes(c, t->name, name);
        bytes(c, t->hint.weights, weights);
    }
}

/* Number of accesses, length of the name, bytes of weights: false if there is no room for them. */
static bool measure(const tacit_task *t, int num_nodes, uint32_t *accesses, size_t *name, size_t *weights)
{
    *accesses = 0;
    while (*accesses < TACIT_MAX_ACCESSES && t->access[*accesses].mode != 0) {
        ++*accesses;
    }
    *name = t->name ? strlen(t->name) : 0;
    *weights = t->hint.weights ? (size_t)num_nodes * sizeof(uint32_t) : 0;
    return HEADER_WORDS + *accesses * ACCESS_WORDS + (*name + *weights) / 8 + 5 <= MAX_WORDS;
}

static uint64_t hash_of(description *d)
{
    uint64_t h = d->words;
    d->word[d->words] = 0;
    for (uint32_t i = 0; i < d->words; i += 2) {
        h += ti_hash_pair(&d->word[i], i);
    }
    return h | 1;
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
    bool kept = ti_map_remove(&s->entries, e->hash, NULL);
    TI_ASSERT(kept);
    (void)kept;
    unlink_by_use(s, e);
    e->hash = 0;
    e->next = s->left;
    s->left = e;
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
        ti_map_fini(&s->entries);
        ti_vec_fini(&s->free_numbers);
        TI_DELETE(s);
    }
}

/* The entry with this hash, or NULL. */
static entry *search(const ti_shapes *s, uint64_t hash)
{
    const uint64_t *at = ti_map_find(&s->entries, hash);
    return at ? (entry *)(uintptr_t)*at : NULL;
}

const ti_shape *ti_shapes_find(ti_shapes *s, const tacit_task *given, uint64_t task)
{
    description *d = &s->asked;
    uint32_t accesses;
    size_t name, weights;
    d->hash = 0;
    if (TI_UNLIKELY(!measure(given, s->num_nodes, &accesses, &name, &weights))) {
        return NULL;
    }
    s->uses++;
    entry *before = s->newest, *e = before ? before->follower : NULL;
    cursor c = { .compares = true, .differ = !e || !e->hash };
    if (!c.differ) {
        c.at = e->word;
        fields(&c, given, accesses, name, weights);
    }
    if (c.differ) {
        c = (cursor){ .at = d->word };
        fields(&c, given, accesses, name, weights);
        d->words = (uint32_t)(c.at - d->word);
        d->hash = hash_of(d);
        e = search(s, d->hash);
        bool same = e && e->words == d->words && memcmp(e->word, d->word, d->words * sizeof(uint64_t)) == 0;
        e = same ? e : NULL;
    }
    if (e) {
        note_use(s, e, task);
        before->follower = e;
    }
    return e ? e->shape : NULL;
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
 * a loop over more shapes than there is room for would otherwise replace each of them just before it comes again. */
static bool make_room(ti_shapes *s)
{
    if (s->entries.count < TI_SHAPES && s->bytes < max_bytes) {
        return true;
    }
    if (!s->oldest || s->uses - s->oldest->last_use < (uint64_t)2 * TI_SHAPES || s->refused++ % SELDOM) {
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
    const description *d = &s->asked;
    TI_ASSERT(!s->made);
    release(s, executed);
    if (!d->hash || search(s, d->hash) || !comes_again(s, d->hash) || !make_room(s)) {
        return NULL;
    }
    s->made = s->spare;
    s->spare = s->made ? s->made->next : NULL;
    s->made = s->made ? s->made : TI_NEW(entry);
    ti_arena_reserve(&s->made->arena, sizeof(ti_shape) + 4 * d->words * sizeof(uint64_t));
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

void ti_shapes_keep(ti_shapes *s, ti_shape *shape, uint64_t task)
{
    const description *d = &s->asked;
    entry *e = s->made;
    s->made = NULL;
    shape->serial = ++s->serial;
    shape->number = s->free_numbers.count ? s->free_numbers.data[--s->free_numbers.count] : s->numbers++;
    shape->submission = submission_of(s, shape, &e->arena);
    e->shape = shape;
    e->word = ti_arena_copy(&e->arena, d->word, d->words * sizeof(uint64_t));
    e->words = d->words;
    e->hash = d->hash;
    e->number = shape->number;
    e->last_task = task;
    e->last_use = s->uses;
    e->bytes = ti_arena_bytes(&e->arena) + sizeof(*e);
    s->bytes += e->bytes;
    *ti_map_at(&s->entries, e->hash) = (uintptr_t)e;
    if (s->newest) {
        s->newest->follower = e;
    }
    link_newest(s, e);
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

void ti_shapes_forget_buffer(ti_shapes *s, const ti_buffer_info *buffer)
{
    for (entry *e = s->newest, *older; e; e = older) {
        older = e->older;
        if (uses(e->shape, buffer)) {
            leave(s, e);
        }
    }
}

void ti_shapes_forget_objects(ti_shapes *s)
{
    for (entry *e = s->newest, *older; e; e = older) {
        older = e->older;
        if (e->shape->orders) {
            leave(s, e);
        }
    }
}

size_t ti_shapes_count(const ti_shapes *s)
{
    return s->entries.count;
}

size_t ti_shapes_bytes(const ti_shapes *s)
{
    return s->bytes;
}
