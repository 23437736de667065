/* Whether all nodes submit the same: see agreement.h. */
#include "run/agreement.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/park.h"
#include "base/vec.h"

#include <stdio.h>
#include <string.h>

enum {
    WINDOW = 64,    /* submissions from one note to the next */
    HISTORY = 1024, /* submissions that are kept */
    LEVELS = 3,     /* sums at multiples of WINDOW, WINDOW^2 ... */
    MARKS = 512,    /* kept per level */
    PENDING = 16,   /* sums of the neighbour that are ahead of this node */
    NAMES = 256,    /* of buffers, for messages */
    LATER = 64,     /* tasks that are noted later */
    BUFFER_NAME = 32,
    MAX_NOTES = 16, /* received in one step */
    MAX_OUT = 8,
    TURNS_BUSY = 64, /* of which one may make a step */
    TURNS_QUIET = 4,
    TURN_NS = 20 * 1000, /* at least between two steps, */
    BUSY_NS = 100 * 1000 /* and while there is something to do */
};
#define EXPLAIN_NS 30000000000u /* for the cause of a difference */

typedef enum note_kind { NOTE_TELL, NOTE_ASK, NOTE_DONE } note_kind;
enum { LEFT, RIGHT };
enum { FLAG_IDLE = 1, FLAG_FINAL = 2, FLAG_SEARCH = 4, FLAG_SUM = 8, FLAG_WHAT = 16 };

typedef struct note {
    uint32_t kind, flags; /* FLAG_SUM: `sum` is known, FLAG_WHAT: `what` is */
    uint64_t index;       /* the submission that it is about */
    uint64_t count;       /* of the sender's submissions */
    uint64_t sum;
    ti_submission what;
} note;
_Static_assert(sizeof(note) <= TI_NOTE_BYTES, "a note holds a submission");

typedef struct outgoing {
    int peer;
    note note;
} outgoing;

/* A task that is noted later. */
typedef struct later {
    const ti_task *as;
    uint64_t id;
} later;

typedef struct record {
    uint64_t sum; /* of all submissions up to this one */
    ti_submission what;
} record;

struct ti_agreement {
    ti_comm *comm;
    int left, right; /* nodes, or -1 */

    /* What was submitted: under the lock. Submissions are counted from 1. */
    _Alignas(TI_CACHE_LINE) ti_lock lock;
    bool frozen;
    uint64_t count, sum;
    record *ring;               /* of submission i at i % HISTORY */
    uint64_t (*marks)[MARKS];   /* per level, of submission i at i / WINDOW^(level + 1) % MARKS */
    char (*names)[BUFFER_NAME]; /* of buffer i at i % NAMES */
    uint32_t newest_buffer;
    _Atomic uint64_t window; /* the last multiple of WINDOW */
    _Atomic bool idle, final;
    later later[LATER];           /* by number % LATER */
    _Atomic uint64_t first_later; /* that is not noted */
    _Atomic uint64_t laters;      /* without the lock, the application thread */

    /* What has been exchanged: executor role. */
    _Alignas(TI_CACHE_LINE) uint64_t told; /* to the right */
    uint64_t told_idle, asked_idle;        /* counts at which the neighbours were told and asked because of waiting */
    bool told_final, asked_final, broken;
    bool said_done[2], heard_done[2]; /* of and to the left and the right one */
    uint64_t wanted;                  /* index that the right neighbour waits to be told; 0: none */
    uint64_t agreed;                  /* with the left one */
    struct {
        uint64_t count; /* of submissions, as they said last; 0: nothing yet */
        ti_submission last;
    } heard[2]; /* of the left and the right one */
    bool left_is_final;
    uint32_t turns;
    uint64_t last_turn, mismatch_since; /* times */
    TI_VEC(note) ahead;                 /* of the left one, by index */
    TI_VEC(outgoing) out;
    struct {
        bool active, vague;         /* vague: sums in between are not known any more */
        uint64_t agreed, low, high; /* sums agree at `agreed`, differ at high, and agree or are not known at low */
        note at_high;
    } search;
    _Atomic bool settled, busy;
};

/* ---- submissions: application thread */

static record *next_record(ti_agreement *a)
{
    return &a->ring[(a->count + 1) % HISTORY];
}

/* The next record is filled in already. Under the lock. */
static void append(ti_agreement *a)
{
    record *r = next_record(a);
    TI_ASSERT(!a->frozen);
    a->sum = r->sum = ti_hash64(a->sum * 0x9e3779b97f4a7c15u + r->what.hash);
    a->count++;
    uint64_t stride = WINDOW;
    for (int level = 0; level < LEVELS && TI_UNLIKELY(a->count % stride == 0); level++, stride *= WINDOW) {
        a->marks[level][a->count / stride % MARKS] = a->sum;
        atomic_store_explicit(&a->window, a->count, memory_order_release);
    }
}

/* Under the lock. */
static void append_task(ti_agreement *a, const ti_task *task)
{
    if (!a->frozen) {
        ti_submission_of_task(task, a->comm->num_nodes, &next_record(a)->what);
        append(a);
    }
}

static void append_later(ti_agreement *a)
{
    const uint64_t end = atomic_load_explicit(&a->laters, memory_order_acquire);
    uint64_t at = atomic_load_explicit(&a->first_later, memory_order_relaxed);
    for (; at < end; at++) {
        ti_task task = *a->later[at % LATER].as;
        task.id = a->later[at % LATER].id;
        append_task(a, &task);
    }
    atomic_store_explicit(&a->first_later, at, memory_order_release);
}

static void take_lock(ti_agreement *a)
{
    ti_lock_take(&a->lock);
    append_later(a);
}

void ti_agreement_note(ti_agreement *a, const ti_task *task)
{
    take_lock(a);
    append_task(a, task);
    if (task->kind == TI_TASK_CREATE && !a->frozen) {
        const ti_buffer_info *buffer = task->as.create.buffer;
        a->newest_buffer = (uint32_t)buffer->serial;
        snprintf(a->names[buffer->serial % NAMES], BUFFER_NAME, "%s", buffer->name);
    }
    ti_lock_drop(&a->lock);
}

void ti_agreement_note_later(ti_agreement *a, const ti_task *as, uint64_t id)
{
    const uint64_t number = atomic_load_explicit(&a->laters, memory_order_relaxed);
    if (number - atomic_load_explicit(&a->first_later, memory_order_acquire) == LATER) {
        ti_agreement_catch_up(a);
    }
    a->later[number % LATER] = (later){ as, id };
    atomic_store_explicit(&a->laters, number + 1, memory_order_release);
}

void ti_agreement_catch_up(ti_agreement *a)
{
    take_lock(a);
    ti_lock_drop(&a->lock);
}

void ti_agreement_note_call(ti_agreement *a, ti_submission_kind kind, uint64_t number, uint64_t bytes,
                            unsigned properties)
{
    take_lock(a);
    if (!a->frozen) {
        ti_submission_of_call(kind, number, bytes, properties, &next_record(a)->what);
        append(a);
    }
    ti_lock_drop(&a->lock);
}

static void freeze(ti_agreement *a)
{
    take_lock(a);
    a->frozen = true;
    ti_lock_drop(&a->lock);
}

void ti_agreement_idle(ti_agreement *a, bool idle)
{
    atomic_store_explicit(&a->idle, idle, memory_order_release);
}

void ti_agreement_finish(ti_agreement *a)
{
    ti_agreement_note_call(a, TI_SUBMITTED_FINALIZE, 0, 0, 0);
    freeze(a);
    atomic_store_explicit(&a->busy, true, memory_order_release);
    atomic_store_explicit(&a->final, true, memory_order_release);
}

bool ti_agreement_is_settled(const ti_agreement *a)
{
    return atomic_load_explicit(&a->settled, memory_order_acquire);
}

bool ti_agreement_is_busy(const ti_agreement *a)
{
    return atomic_load_explicit(&a->busy, memory_order_relaxed);
}

/* ---- life */

ti_agreement *ti_agreement_create(ti_comm *comm, const tacit_config *config)
{
    bool wanted = config->divergence != TACIT_DIVERGENCE_OFF;
    if (comm->num_nodes == 1 || !comm->ops->note_open || comm->ops->sum(comm, wanted) < comm->num_nodes ||
        !comm->ops->note_open(comm)) {
        return NULL;
    }
    ti_agreement *a = TI_NEW(ti_agreement);
    a->comm = comm;
    a->left = comm->node - 1;
    a->right = comm->node + 1 < comm->num_nodes ? comm->node + 1 : -1;
    a->ring = TI_NEW_ARRAY(record, HISTORY);
    a->marks = ti_alloc_zero(LEVELS * sizeof(*a->marks));
    a->names = ti_alloc_zero(NAMES * sizeof(*a->names));
    ti_agreement_note_call(a, TI_SUBMITTED_SETTINGS, (uint64_t)config->horizon_step, (uint64_t)config->horizon_front,
                           (unsigned)config->reproducible | (unsigned)config->collectives << 1 |
                               (unsigned)config->collective_schedule << 3);
    return a;
}

void ti_agreement_destroy(ti_agreement *a)
{
    if (a) {
        ti_vec_fini(&a->ahead);
        ti_vec_fini(&a->out);
        ti_free(a->ring, HISTORY * sizeof(record));
        ti_free(a->marks, LEVELS * sizeof(*a->marks));
        ti_free(a->names, NAMES * sizeof(*a->names));
        TI_DELETE(a);
    }
}

/* ---- looking things up, under the lock */

static const record *record_of(const ti_agreement *a, uint64_t index)
{
    bool known = index >= 1 && index <= a->count && index + HISTORY > a->count;
    return known ? &a->ring[index % HISTORY] : NULL;
}

static bool sum_at(const ti_agreement *a, uint64_t index, uint64_t *sum)
{
    const record *r = record_of(a, index);
    *sum = r ? r->sum : 0;
    if (r || index == 0) {
        return true; /* before the first one sums are zero */
    }
    uint64_t stride = WINDOW;
    for (int level = 0; level < LEVELS && index % stride == 0 && index <= a->count; level++, stride *= WINDOW) {
        if (index / stride + MARKS > a->count / stride) {
            *sum = a->marks[level][index / stride % MARKS];
            return true;
        }
    }
    return false;
}

static uint64_t own_count(ti_agreement *a)
{
    ti_lock_take(&a->lock);
    uint64_t count = a->count;
    ti_lock_drop(&a->lock);
    return count;
}

/* ---- sending */

/* Nothing follows DONE, so that what is on the way when a node leaves has been received. */
static void put_out(ti_agreement *a, int side, note_kind kind, uint64_t index, uint32_t flags)
{
    outgoing o;
    if (a->said_done[side]) {
        return;
    }
    memset(&o, 0, sizeof(o));
    o.peer = side == LEFT ? a->left : a->right;
    a->said_done[side] = kind == NOTE_DONE;
    o.note.kind = (uint32_t)kind;
    o.note.index = index;
    ti_lock_take(&a->lock);
    o.note.count = a->count;
    const record *r = record_of(a, index);
    if (r) {
        o.note.what = r->what;
        flags |= FLAG_WHAT;
    }
    flags |= sum_at(a, index, &o.note.sum) ? FLAG_SUM : 0;
    ti_lock_drop(&a->lock);
    o.note.flags = flags;
    ti_vec_push(&a->out, o);
}

static void send_out(ti_agreement *a)
{
    size_t sent = 0;
    while (sent < a->out.count &&
           a->comm->ops->note_send(a->comm, a->out.data[sent].peer, &a->out.data[sent].note, sizeof(note))) {
        sent++;
    }
    if (sent) {
        a->out.count -= sent;
        memmove(a->out.data, a->out.data + sent, a->out.count * sizeof(outgoing));
    }
}

/* Of the numbers in (told, newest], the one that is a multiple of the largest power of two: those a node remembers
 * longest. */
static uint64_t roundest_in(uint64_t told, uint64_t newest)
{
    TI_ASSERT(told < newest);
    uint64_t differ = told ^ newest;
    uint64_t highest = (uint64_t)1 << (63 - __builtin_clzll(differ));
    return newest & ~(highest - 1);
}

static void tell_right(ti_agreement *a, bool idle, bool final)
{
    uint64_t newest = atomic_load_explicit(&a->window, memory_order_acquire);
    if (newest > a->told && a->out.count == 0 && !final) {
        a->told = roundest_in(a->told, newest);
        put_out(a, RIGHT, NOTE_TELL, a->told, 0);
    }
    if (!idle && !final && !a->wanted) {
        return;
    }
    uint64_t count = own_count(a);
    if (a->wanted && a->wanted <= count) {
        put_out(a, RIGHT, NOTE_TELL, a->wanted, 0);
        a->wanted = 0;
    }
    if (final && !a->told_final) {
        a->told_final = true;
        put_out(a, RIGHT, NOTE_TELL, count, FLAG_FINAL);
    } else if (idle && !final && a->told_idle != count && a->out.count == 0) {
        a->told_idle = count;
        put_out(a, RIGHT, NOTE_TELL, count, FLAG_IDLE);
    }
}

static void ask_left(ti_agreement *a, bool idle, bool final)
{
    if (!idle && !final) {
        return;
    }
    uint64_t count = own_count(a);
    bool ask = final ? !a->asked_final : a->asked_idle != count && a->out.count == 0;
    if (ask && a->agreed < count && !a->search.active) {
        a->asked_idle = count;
        a->asked_final = final;
        put_out(a, LEFT, NOTE_ASK, count, final ? 0 : FLAG_IDLE);
    }
    if (final && a->left_is_final && a->agreed == count) {
        put_out(a, LEFT, NOTE_DONE, count, 0);
    }
}

/* ---- the search for the first difference, which the right one of two nodes does */

static const char *name_of(void *user, uint32_t number)
{
    const ti_agreement *a = user;
    bool known = number && number <= a->newest_buffer && number + NAMES > a->newest_buffer;
    return known ? a->names[number % NAMES] : NULL;
}

static void say_difference(ti_agreement *a, const ti_submission *mine, ti_strbuf *why)
{
    const ti_submission *theirs = &a->search.at_high.what;
    ti_strbuf did[2] = { { 0 }, { 0 } }, difference = { 0 };
    ti_submission_describe(mine, &did[0]);
    ti_submission_describe(theirs, &did[1]);
    ti_submission_difference(mine, theirs, name_of, a, &difference);
    ti_strbuf_add(
        why, "node %d %s where node %d %s%s%s: all nodes must %s", a->comm->node, ti_strbuf_text(&did[0]), a->left,
        ti_strbuf_text(&did[1]), difference.length ? "; they differ in " : "", ti_strbuf_text(&difference),
        mine->kind == TI_SUBMITTED_SETTINGS ? "have the same settings" : "submit the same tasks in the same order");
    ti_strbuf_fini(&did[0]);
    ti_strbuf_fini(&did[1]);
    ti_strbuf_fini(&difference);
}

static void finish_search(ti_agreement *a, ti_strbuf *why)
{
    ti_lock_take(&a->lock);
    const record *mine = record_of(a, a->search.high);
    if (a->search.vague || !mine || !(a->search.at_high.flags & FLAG_WHAT)) {
        ti_strbuf_add(
            why,
            "nodes %d and %d submitted different tasks: their %llu-th to %llu-th calls differ somewhere, which is too "
            "long ago to say more. All nodes must submit the same tasks in the same order (a tacit_wait now and then "
            "makes them compare sooner)",
            a->left, a->comm->node, (unsigned long long)a->search.agreed, (unsigned long long)a->search.high - 1);
    } else {
        say_difference(a, &mine->what, why);
    }
    ti_lock_drop(&a->lock);
    a->broken = true;
}

/* Ask for a sum in between, or say what differs if there is none. */
static void go_on_searching(ti_agreement *a, ti_strbuf *why)
{
    uint64_t low = a->search.low, high = a->search.high;
    TI_ASSERT(low < high && a->search.agreed <= low);
    if (low + 1 >= high) {
        finish_search(a, why);
    } else {
        put_out(a, LEFT, NOTE_ASK, roundest_in(low, high - 1), FLAG_SEARCH);
    }
}

static void start_search(ti_agreement *a, const note *n, ti_strbuf *why)
{
    freeze(a);
    a->search.active = true;
    a->search.agreed = a->search.low = a->agreed;
    a->search.high = n->index;
    a->search.at_high = *n;
    atomic_store_explicit(&a->busy, true, memory_order_relaxed);
    go_on_searching(a, why);
}

static void take_answer(ti_agreement *a, const note *n, ti_strbuf *why)
{
    uint64_t own;
    if (n->index != roundest_in(a->search.low, a->search.high - 1)) {
        return; /* told for another reason */
    }
    ti_lock_take(&a->lock);
    bool known = sum_at(a, n->index, &own) && (n->flags & FLAG_SUM);
    ti_lock_drop(&a->lock);
    a->search.vague |= !known;
    if (!known || own == n->sum) {
        a->search.low = n->index;
        a->search.agreed = known ? n->index : a->search.agreed;
    } else {
        a->search.high = n->index;
        a->search.at_high = *n;
    }
    go_on_searching(a, why);
}

/* ---- receiving */

/* Compare with the left neighbour's sum, if this node is there already. Returns whether the note is dealt with. */
static bool compare(ti_agreement *a, const note *n, ti_strbuf *why)
{
    uint64_t own;
    ti_lock_take(&a->lock);
    bool there = n->index <= a->count, known = sum_at(a, n->index, &own) && (n->flags & FLAG_SUM);
    ti_lock_drop(&a->lock);
    if (!there) {
        return false;
    }
    if (known && n->index > a->agreed) {
        if (own == n->sum) {
            a->agreed = n->index;
        } else {
            start_search(a, n, why);
        }
    }
    return true;
}

/* Ascending by index; if there are too many, the last place is for the newest. */
static void keep_for_later(ti_agreement *a, const note *n)
{
    if (a->ahead.count == PENDING) {
        a->ahead.count--;
    }
    size_t at = a->ahead.count;
    ti_vec_push(&a->ahead, *n);
    for (; at > 0 && a->ahead.data[at - 1].index > n->index; at--) {
        a->ahead.data[at] = a->ahead.data[at - 1];
    }
    a->ahead.data[at] = *n;
    TI_ASSERT(a->ahead.count <= PENDING);
}

static void compare_kept(ti_agreement *a, ti_strbuf *why)
{
    size_t done = 0;
    while (done < a->ahead.count && !a->search.active && compare(a, &a->ahead.data[done], why)) {
        done++;
    }
    if (done) {
        a->ahead.count -= done;
        memmove(a->ahead.data, a->ahead.data + done, a->ahead.count * sizeof(note));
    }
}

static void hear(ti_agreement *a, int side, const note *n)
{
    a->heard[side].count = n->count;
    memset(&a->heard[side].last, 0, sizeof(ti_submission));
    if (n->index == n->count && (n->flags & FLAG_WHAT)) {
        a->heard[side].last = n->what;
    }
}

static void be_told(ti_agreement *a, const note *n, ti_strbuf *why)
{
    hear(a, LEFT, n);
    a->left_is_final |= (n->flags & FLAG_FINAL) != 0;
    if (a->search.active) {
        take_answer(a, n, why);
    } else if (!compare(a, n, why)) {
        keep_for_later(a, n);
        if (n->flags & FLAG_IDLE) { /* it waits, perhaps for this node: say where that is */
            put_out(a, LEFT, NOTE_ASK, own_count(a), 0);
        }
    }
}

static void be_asked(ti_agreement *a, const note *n)
{
    hear(a, RIGHT, n);
    uint64_t count = own_count(a);
    if (n->flags & FLAG_SEARCH) {
        freeze(a);
    }
    if (n->index <= count) {
        put_out(a, RIGHT, NOTE_TELL, n->index, 0);
        return;
    }
    a->wanted = n->index;
    if (n->flags & FLAG_IDLE) {
        put_out(a, RIGHT, NOTE_TELL, count, 0);
    }
}

static void take_note(ti_agreement *a, int side, const note *n, ti_strbuf *why)
{
    switch ((note_kind)n->kind) {
    case NOTE_TELL:
        be_told(a, n, why);
        break;
    case NOTE_ASK:
        be_asked(a, n);
        break;
    case NOTE_DONE:
        a->heard_done[side] = true;
        if (side == RIGHT) { /* it agrees; an answer to it may be under way, so it waits for the same word */
            put_out(a, RIGHT, NOTE_DONE, 0, 0);
        }
        break;
    }
}

static bool receive(ti_agreement *a, ti_strbuf *why)
{
    _Alignas(note) char room[TI_NOTE_BYTES];
    for (int i = 0, origin; i < MAX_NOTES && a->out.count < MAX_OUT; i++) {
        int bytes = a->comm->ops->note_poll(a->comm, &origin, room);
        if (bytes < 0) {
            return false;
        }
        if (bytes == 0) {
            break;
        }
        TI_ASSERT(bytes == (int)sizeof(note));
        if (!a->broken) {
            take_note(a, origin == a->left ? LEFT : RIGHT, (const note *)(const void *)room, why);
        }
    }
    return true;
}

/* False if the network has failed. */
static bool step(ti_agreement *a, ti_strbuf *why)
{
    bool idle = atomic_load_explicit(&a->idle, memory_order_acquire);
    bool final = atomic_load_explicit(&a->final, memory_order_acquire);
    ti_agreement_catch_up(a);
    if (!receive(a, why)) {
        return false;
    }
    if (a->left >= 0 && !a->broken) {
        compare_kept(a, why);
        ask_left(a, idle, final);
    }
    if (a->right >= 0) {
        tell_right(a, idle, final);
    }
    send_out(a);
    if (final && (a->left < 0 || a->heard_done[LEFT]) && (a->right < 0 || a->heard_done[RIGHT]) && a->out.count == 0 &&
        a->comm->notes_pending == 0) {
        atomic_store_explicit(&a->settled, true, memory_order_release);
    }
    return true;
}

void ti_agreement_turn(ti_agreement *a, bool busy, ti_failure *failure)
{
    if (++a->turns % (busy ? TURNS_BUSY : TURNS_QUIET) != 0) {
        return;
    }
    uint64_t now = ti_clock_ns();
    if (now - a->last_turn < (uint64_t)(busy ? BUSY_NS : TURN_NS)) {
        return;
    }
    a->last_turn = now;
    ti_strbuf why = { 0 };
    if (!step(a, &why)) {
        const char *error = a->comm->stats.error;
        ti_failure_set(failure, TACIT_ERROR_NETWORK, "%s", error ? error : "the network failed");
    } else if (why.length) {
        ti_failure_set(failure, TACIT_ERROR_DIVERGENCE, "%s", why.text);
    }
    ti_strbuf_fini(&why);
    if (ti_agreement_is_settled(a)) {
        ti_lot_wake(failure->lot, INT32_MAX);
    }
}

bool ti_agreement_explains(void *agreement)
{
    ti_agreement *a = agreement;
    uint64_t now = ti_clock_ns();
    if (!a) {
        return false;
    }
    a->mismatch_since = a->mismatch_since ? a->mismatch_since : now;
    ti_agreement_idle(a, true);
    return now - a->mismatch_since < EXPLAIN_NS;
}

/* ---- the watchdog */

static void describe_one(const ti_agreement *a, int side, uint64_t own, ti_strbuf *out)
{
    uint64_t count = a->heard[side].count;
    int node = side == LEFT ? a->left : a->right;
    if (node >= 0 && atomic_load_explicit(&a->final, memory_order_relaxed) && !a->heard_done[side]) {
        ti_strbuf_add(out, "\n  node %d, to finish together with it (tacit_finalize)", node);
    }
    if (count == 0 || count == own) {
        return;
    }
    ti_strbuf_add(out, "\n  node %d has made %llu calls that submit something, this node %llu", node,
                  (unsigned long long)count - 1, (unsigned long long)own - 1);
    if (a->heard[side].last.hash) {
        ti_strbuf_add(out, "; its last one: it ");
        ti_submission_describe(&a->heard[side].last, out);
    }
}

void ti_agreement_describe(ti_agreement *a, ti_strbuf *out)
{
    uint64_t own = own_count(a);
    describe_one(a, LEFT, own, out);
    describe_one(a, RIGHT, own, out);
}
