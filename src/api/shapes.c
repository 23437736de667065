/* The table of shapes: see shapes.h.
 *
 * A hash map, and a list by use. A description is written down as a run of words (description.h), of MAX_WORDS at most:
 * longer ones are not kept. The hash covers those words that nearly always tell descriptions apart, and costs little;
 * descriptions with equal hashes are in one chain. The first time that a description comes, only its hash is noted, so
 * that descriptions that never come again cost no memory. Once the table is full, a new shape now and then takes the
 * place of the one that has not been used for longest, if that is long. Loops submit the same in the same order: so
 * what came after the shape that was found last is compared first.
 *
 * Forms are kept beside that: a program of many tiles submits the same task with other tiles, and seldom with the same
 * ones. A form's description is one without nodes, buffers and boxes. */
#include "api/shapes.h"

#include "api/context.h"
#include "api/description.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "ir/submission.h"

enum {
    MAX_WORDS = 512,
    SEEN_SETS = 1024,
    MAX_SEEN_SETS = 32768,
    MAX_DISPLACED_SHARE = 8,
    SEEN_WAYS = 4,
    NOW_AND_THEN = 4,
    SELDOM = 16,
    FOLLOWERS = 2,
    MAX_WHOLE = 4096, /* have their descriptions twice: 3 MB of three accesses each */
    FORM_WAYS = 4,
    FORM_SETS = TI_FORMS / FORM_WAYS,
    ORDERED = TI_SHAPES / 2
};
static const size_t max_bytes = (size_t)64 << 20;
_Static_assert(FORM_SETS *FORM_WAYS == TI_FORMS, "each form has a place");
_Static_assert((SEEN_SETS & (SEEN_SETS - 1)) == 0, "hashes are masked, and sets doubled");

typedef struct form {
    ti_shape *shape; /* in the arena; NULL: nothing is here */
    uint64_t *word;
    const ti_form_bytes *bytes;
    uint64_t hash, last_task;
    uint64_t serial; /* no two forms share it */
    uint64_t losses; /* of the table, when the buffers of `shape` were those of these handles, and usable */
    const tacit_buffer *buffer[TACIT_MAX_ACCESSES];
    ti_arena arena;
} form;

typedef struct ti_shapes_entry {
    _Alignas(TI_CACHE_LINE) uint64_t hash;       /* 0: it has left */
    ti_task_bytes *whole;                        /* the description as it lies there, or NULL */
    ti_shape *shape;                             /* in the arena, with all that it points to */
    struct ti_shapes_entry *follower[FOLLOWERS]; /* what came after it lately, or NULL; may have left since */
    uint64_t last_task, last_use;                /* so far in one cache line */
    uint64_t *word;                              /* the description, too */
    uint64_t form;                               /* its serial; 0: it has none */
    uint32_t number;
    size_t bytes;
    struct ti_shapes_entry *next;          /* of its chain, or of those that have left */
    struct ti_shapes_entry *newer, *older; /* by use */
    ti_arena arena;
} entry;

struct ti_shapes {
    const tacit_context *ctx;
    int node, num_nodes;
    ti_map chains; /* by hash: the first one */
    size_t count, bytes;
    entry *newest, *oldest;
    entry *latest_use; /* what was found or kept last; the newest if the order by use matters, which it does in a table
                        * that may soon be full */
    entry *left, *spare; /* some tasks have not been executed; to be used again */
    entry *made;         /* whose shape is being made, or NULL */
    uint64_t serial, uses, refused, before, executed;
    uint32_t numbers; /* given out so far */
    TI_VEC(uint32_t) free_numbers;
    ti_measures asked;           /* last */
    form *form;                  /* of that, or NULL: it is not known */
    uint64_t (*seen)[SEEN_WAYS]; /* hashes of what came lately, for the first time */
    size_t seen_sets, displaced; /* how many had no room since it grew */
    ti_touched touched;          /* by what was asked for last */
    const tacit_buffer *usable;  /* one that was found so, and has not been destroyed since, or NULL */
    uint64_t losses;             /* grows whenever a buffer is destroyed; not 0 */
    form *latest;                /* found or kept, or NULL */
    uint64_t form_serial;
    form forms[FORM_SETS][FORM_WAYS];
};

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
    s->latest_use = e;
    if (TI_UNLIKELY(s->count > ORDERED || s->bytes > max_bytes / 2) && s->newest != e) {
        unlink_by_use(s, e);
        link_newest(s, e);
    }
}

/* A loop that swaps buffers has the same tasks in turns. */
static void note_follower(entry *before, entry *e)
{
    if (before && before->follower[0] != e) {
        for (int i = FOLLOWERS - 1; i > 0; i--) {
            before->follower[i] = before->follower[i - 1];
        }
        before->follower[0] = e;
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
            TI_ASSERT(before);
        }
        before->next = e->next;
    } else if (e->next) {
        *first = (uintptr_t)e->next;
    } else {
        ti_map_remove(&s->chains, e->hash, NULL);
    }
    unlink_by_use(s, e);
    s->latest_use = s->latest_use == e ? NULL : s->latest_use;
    e->hash = 0;
    e->next = s->left;
    s->left = e;
    s->count--;
}

/* While there may be tasks that use it, submitted or repeated. */
static void forget(ti_shapes *s, entry *e)
{
    ti_runtime_forget_round(s->ctx->runtime);
    leave(s, e);
}

ti_shapes *ti_shapes_create(const tacit_context *ctx)
{
    ti_shapes *s = TI_NEW(ti_shapes);
    s->ctx = ctx;
    s->node = ti_runtime_system(ctx->runtime)->node;
    s->num_nodes = ti_runtime_system(ctx->runtime)->num_nodes;
    s->losses = 1;
    s->seen_sets = SEEN_SETS;
    s->seen = ti_alloc_zero(SEEN_SETS * sizeof(*s->seen));
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
        ti_free(s->seen, s->seen_sets * sizeof(*s->seen));
        ti_vec_fini(&s->free_numbers);
        ti_vec_fini(&s->touched.follower);
        TI_DELETE(s);
    }
}

/* ---- finding a form */

static form *form_among(form *way, const tacit_task *t, const ti_measures *m, uint64_t hash)
{
    for (int i = 0; i < FORM_WAYS; i++) {
        if (way[i].shape && way[i].hash == hash && ti_description_is(t, m, way[i].word, true)) {
            return &way[i];
        }
    }
    return NULL;
}

/* The form if it is known. */
static form *find_form(ti_shapes *s, const tacit_task *t)
{
    ti_measures *m = &s->asked;
    if (s->latest && ti_description_is(t, m, s->latest->word, true)) {
        return s->latest;
    }
    m->form_hash = ti_description_form_hash(t, m);
    return form_among(s->forms[(m->form_hash >> 20) % FORM_SETS], t, m, m->form_hash);
}

/* Whether a description of this form has its buffers, all of which are usable. */
static inline bool has_buffers(const ti_shapes *s, const form *f, const tacit_task *t)
{
    const ti_shape *shape = f->shape;
    if (f->losses != s->losses) {
        return false;
    }
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (t->access[i].buffer != f->buffer[i]) {
            return false;
        }
    }
    for (uint32_t turns = shape->turns; turns; turns &= turns - 1) {
        const int i = __builtin_ctz(turns);
        if (f->buffer[i]->info != shape->access[i].buffer) {
            return false;
        }
    }
    return true;
}

/* The same for the next time, of usable buffers, if they are all those of the form. */
static void note_buffers(const ti_shapes *s, form *f, const tacit_task *t)
{
    f->losses = s->losses;
    for (uint32_t i = 0; i < f->shape->accesses; i++) {
        f->buffer[i] = t->access[i].buffer;
        f->losses = t->access[i].buffer->info == f->shape->access[i].buffer ? f->losses : 0;
    }
}

static bool fill_tiles(ti_shapes *s, form *f, const tacit_task *t)
{
    if (TI_LIKELY(has_buffers(s, f, t) && ti_tile_fill_known(s->ctx, f->shape, t, &s->touched))) {
        return true;
    }
    const bool good = ti_tile_fill(s->ctx, t, s->asked.accesses, &s->usable, &s->touched);
    if (good) {
        note_buffers(s, f, t);
    }
    return good;
}

/* Of what is asked for: what it depends on, the form, and the tiles. Programs of tiles ask for the same form again and
 * again. */
static void ask(ti_shapes *s, const tacit_task *t, uint64_t task)
{
    ti_measures *m = &s->asked;
    form *f = s->latest;
    s->form = NULL;
    if (TI_LIKELY(f && ti_form_bytes_are(t, f->bytes))) {
        *m = f->bytes->of;
    } else {
        *m = ti_description_measure(t, s->num_nodes);
        f = m->has_form ? find_form(s, t) : NULL;
    }
    m->has_form = f ? fill_tiles(s, f, t)
                    : m->has_form && ti_description_words(m) <= MAX_WORDS &&
                          ti_tile_fill(s->ctx, t, m->accesses, &s->usable, &s->touched);
    if (f && m->has_form) {
        s->form = s->latest = f;
        m->form_hash = f->hash;
        f->last_task = task;
    }
}

/* ---- finding a shape */

static entry *first_of_chain(const ti_shapes *s, uint64_t hash)
{
    const uint64_t *at = ti_map_find(&s->chains, hash);
    return at ? (entry *)(uintptr_t)*at : NULL;
}

static entry *find_by_words(ti_shapes *s, const tacit_task *given)
{
    ti_measures *m = &s->asked;
    entry *e = s->latest_use ? s->latest_use->follower[0] : NULL;
    if (!e || !e->hash || !ti_description_is(given, m, e->word, false)) {
        m->hash = ti_description_words(m) <= MAX_WORDS ? ti_description_hash(given, m) : 0;
        e = m->hash ? first_of_chain(s, m->hash) : NULL;
        while (e && !ti_description_is(given, m, e->word, false)) {
            e = e->next;
        }
    }
    return e;
}

/* Of the form that is known: whether node, buffers and boxes are the same, too. */
static bool has_tiles(const ti_shapes *s, const tacit_task *given, const entry *e)
{
    const ti_shape *shape = e->shape;
    bool same = e->form == s->form->serial && shape->place == given->place.arg;
    for (uint32_t i = 0; i < shape->accesses && same; i++) {
        same = shape->access[i].buffer == given->access[i].buffer->info &&
               ti_box_equal(&shape->footprint[i].bounding, &s->touched.tile[i].bounding);
    }
    return same;
}

/* Whether there are more tiles than shapes of tasks on them, so that few tasks would be found. */
static inline bool has_many_tiles(const ti_shapes *s)
{
    _Static_assert((TI_TILE_SHAPES & (TI_TILE_SHAPES - 1)) == 0, "the highest bits tell");
    return s->touched.numbers >= TI_TILE_SHAPES;
}

/* Forms tell most of a description, and numbers of tiles the rest. A task that runs elsewhere is soon made of its form,
 * and nothing is known of its shape that would be of use: one of many is not looked for. */
static entry *find_by_form(ti_shapes *s, const tacit_task *given)
{
    ti_measures *m = &s->asked;
    if (s->form && given->place.arg != s->node && has_many_tiles(s)) {
        m->hash = 0;
        return NULL;
    }
    if (s->form) {
        ti_tile_spread(s->form->shape, &s->touched);
    }
    m->hash = ti_hash_fold((uint64_t)given->place.arg ^ TI_HASH_KEY, m->form_hash);
    for (uint32_t i = 0; i < m->accesses; i++) { /* in turn: sums are alike where those of numbers are */
        m->hash = ti_hash_fold(m->hash ^ s->touched.tile[i].tile, ti_address(given->access[i].buffer) ^ TI_HASH_KEY);
    }
    m->hash |= 1;
    entry *e = first_of_chain(s, m->hash);
    while (e && !(s->form && e->form ? has_tiles(s, given, e) : ti_description_is(given, m, e->word, false))) {
        e = e->next;
    }
    return e;
}

const ti_shape *ti_shapes_find(ti_shapes *s, const tacit_task *given, uint64_t task)
{
    entry *before = s->latest_use;
    s->uses++;
    for (int i = 0; i < FOLLOWERS && before && before->follower[i]; i++) {
        entry *next = before->follower[i];
        if (next->hash && next->whole && ti_task_bytes_may_be(given, next->whole) &&
            ti_task_bytes_are(given, next->whole)) { /* as the last time */
            note_use(s, next, task);
            return next->shape;
        }
    }
    ask(s, given, task);
    entry *e = s->asked.has_form ? find_by_form(s, given) : find_by_words(s, given);
    if (!e) {
        return NULL;
    }
    note_use(s, e, task);
    note_follower(before, e);
    return e->shape;
}

ti_shapes_place ti_shapes_place_of(const ti_shapes *s, const ti_shape *shape)
{
    entry *e = s->latest_use;
    return shape && e && e->shape == shape ? (ti_shapes_place){ e, shape->serial } : (ti_shapes_place){ NULL, 0 };
}

/* An entry that has left may serve another shape. */
const ti_shape *ti_shapes_at(ti_shapes *s, const ti_shapes_place *place, uint64_t task)
{
    entry *e = place->entry;
    if (!e || !e->hash || e->shape->serial != place->serial) {
        return NULL;
    }
    s->uses++;
    note_use(s, e, task);
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
    TI_ASSERT(s->executed < executed);
    s->before = s->executed;
    s->executed = executed;
    for (entry **at = &s->left; *at;) {
        entry *e = *at;
        if (e->last_task >= s->before) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        TI_ASSERT(e->bytes <= s->bytes && e->number < s->numbers);
        s->bytes -= e->bytes;
        ti_vec_push(&s->free_numbers, e->number);
        give_back(s, e);
    }
}

/* Whether there is room for one more shape, or one has not been used for long. Then only one in SELDOM takes its place:
 * a loop over more shapes than there is room for would otherwise replace each of them just before it comes again. What
 * may have a form takes no place. Of what `returns` it is known that it will come again. */
static bool is_full(const ti_shapes *s, bool returns)
{
    return s->count >= (s->asked.has_form && !returns ? TI_TILE_SHAPES : TI_SHAPES) || s->bytes >= max_bytes;
}

static bool make_room(ti_shapes *s, bool returns)
{
    if (!is_full(s, returns)) {
        return true;
    }
    if (!s->oldest || s->asked.has_form || s->uses - s->oldest->last_use < (uint64_t)2 * TI_SHAPES ||
        s->refused++ % SELDOM) {
        return false;
    }
    forget(s, s->oldest);
    return true;
}

/* Where a hash is noted: in one of a few places. Sums of products that differ in little have bits in common, so they
 * are mixed first. */
static inline uint64_t *ways_of(const ti_shapes *s, uint64_t hash)
{
    return s->seen[ti_hash64(hash) & (s->seen_sets - 1)]; /* a power of two */
}

static void grow_seen(ti_shapes *s)
{
    uint64_t(*old)[SEEN_WAYS] = s->seen;
    const size_t sets = s->seen_sets;
    s->seen_sets = 2 * sets;
    s->seen = ti_alloc_zero(s->seen_sets * sizeof(*s->seen));
    for (size_t i = 0; i < sets * SEEN_WAYS; i++) {
        const uint64_t hash = old[i / SEEN_WAYS][i % SEEN_WAYS];
        if (hash) {
            ways_of(s, hash)[i % SEEN_WAYS] = hash;
        }
    }
    ti_free(old, sets * sizeof(*old));
    s->displaced = 0;
}

/* Whether the description has come before, not long ago. Notes that it has, if there is room; there is more once it has
 * been missed a few times, up to 1 MiB. Else now and then in place of any other: what is noted should still be there
 * when it comes again, and makes room then. If all took the place of others, or in turn, a loop over more than there is
 * room for would not find them. */
static bool comes_again(ti_shapes *s, uint64_t hash)
{
    uint64_t *way = ways_of(s, hash);
    bool known = false;
    for (int i = 0; i < SEEN_WAYS; i++) {
        known |= way[i] == hash;
    }
    if (known) {
        return true;
    }
    const size_t random = s->uses * TI_HASH_KEY >> 60;
    const bool takes = random % NOW_AND_THEN == 0;
    size_t at = random / NOW_AND_THEN;
    _Static_assert(SEEN_WAYS == 4 && NOW_AND_THEN == 4, "four bits tell one of them, and whether");
    for (size_t i = 0; i < SEEN_WAYS && way[at]; i++) {
        at = way[i] ? at : i;
    }
    s->displaced += way[at] != 0;
    way[at] = way[at] && !takes ? way[at] : hash;
    if (s->displaced > s->seen_sets / MAX_DISPLACED_SHARE && s->seen_sets < MAX_SEEN_SETS) {
        grow_seen(s);
    }
    return false;
}

/* What is kept makes room for others that have come once. */
static void forget_seen(const ti_shapes *s, uint64_t hash)
{
    uint64_t *way = ways_of(s, hash);
    for (int i = 0; i < SEEN_WAYS; i++) {
        way[i] = way[i] == hash ? 0 : way[i];
    }
}

ti_arena *ti_shapes_begin(ti_shapes *s, uint64_t executed, bool returns)
{
    const ti_measures *m = &s->asked;
    TI_ASSERT(!s->made);
    release(s, executed);
    if (!m->hash || (m->has_form && is_full(s, returns)) || !(returns || comes_again(s, m->hash)) ||
        !make_room(s, returns)) {
        return NULL;
    }
    forget_seen(s, m->hash);
    s->made = s->spare;
    s->spare = s->made ? s->made->next : NULL;
    s->made = s->made ? s->made : TI_NEW(entry);
    ti_arena_reserve(&s->made->arena, sizeof(ti_shape) + 4 * ti_description_words(m) * sizeof(uint64_t) +
                                          (s->count < MAX_WHOLE ? ti_task_bytes_size(m) : 0));
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
    TI_ASSERT(e->hash == 0 && s->asked.hash != 0 && shape->serial == 0);
    shape->serial = ++s->serial;
    shape->number = s->free_numbers.count ? s->free_numbers.data[--s->free_numbers.count] : s->numbers++;
    shape->submission = submission_of(s, shape, &e->arena);
    e->shape = shape;
    e->word = ti_description_write(given, &s->asked, false, &e->arena);
    e->whole = s->count < MAX_WHOLE ? ti_task_bytes_take(given, &s->asked, &e->arena) : NULL;
    e->hash = s->asked.hash;
    e->form = s->form ? s->form->serial : 0;
    e->number = shape->number;
    e->last_task = task;
    e->last_use = s->uses;
    e->bytes = ti_arena_bytes(&e->arena) + sizeof(*e);
    s->bytes += e->bytes;
    s->count++;
    uint64_t *first = ti_map_at(&s->chains, e->hash);
    e->next = (entry *)(uintptr_t)*first;
    *first = (uintptr_t)e;
    note_follower(s->latest_use, e);
    s->latest_use = e;
    link_newest(s, e);
}

/* ---- keeping a form */

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
    ti_measures *m = &s->asked;
    if (!m->has_form || s->form || !comes_again(s, m->form_hash)) {
        return;
    }
    form *f = place_for_form(s, m->form_hash);
    if (!f) {
        return;
    }
    ti_arena_fini(&f->arena);
    *f = (form){ .hash = m->form_hash, .last_task = task, .serial = ++s->form_serial };
    ti_arena_reserve(&f->arena, 4 * ti_description_words(m) * sizeof(uint64_t));
    f->word = ti_description_write(given, m, true, &f->arena);
    f->shape = ti_tile_form(shape, &f->arena);
    f->bytes = ti_form_bytes_take(given, m, &f->arena);
    s->form = s->latest = f;
}

bool ti_shapes_passes(const ti_shapes *s)
{
    return s->form && !s->asked.hash;
}

const ti_shape *ti_shapes_form(ti_shapes *s, ti_touched **touched)
{
    *touched = &s->touched;
    return s->form ? s->form->shape : NULL;
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
    s->usable = NULL;
    s->losses++;
    for (entry *e = s->newest, *older; e; e = older) {
        older = e->older;
        if (buffer ? uses(e->shape, buffer) : e->shape->orders > 0) {
            forget(s, e);
        }
    }
}

void ti_shapes_forget_weights(ti_shapes *s, const ti_weights *weights)
{
    for (entry *e = s->newest, *older; e; e = older) {
        older = e->older;
        if (e->shape->items == weights) {
            forget(s, e);
        }
    }
}

void ti_shapes_forget_balanced(ti_shapes *s)
{
    for (entry *e = s->newest, *older; e; e = older) {
        older = e->older;
        if (e->shape->balanced) {
            forget(s, e);
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
            forget(s, e);
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
