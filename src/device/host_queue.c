/* The queues of a host device's workers: see host_queue.h. */
#include "device/host_queue.h"

#include "base/alloc.h"
#include "base/check.h"
#include "device/host.h"

enum { FIRST_CAPACITY = 16 };
enum { PATIENCE = 64 }; /* looks, of 50 ns and more each */
/* What comes over from another core takes as long as that, and one entry of many at least a share of it. */
enum { WORTH_NS = 2 * TI_PART_NS, MANY = 15 };

/* What an entry of the job is expected to take. What is not known may be long. */
static uint32_t expected(const ti_host_job *j)
{
    const uint64_t ns = j->length.ns > 0 ? j->length.ns / (uint64_t)j->parts : WORTH_NS;
    return (uint32_t)TI_MIN(TI_MAX(ns, (uint64_t)WORTH_NS / MANY), (uint64_t)WORTH_NS);
}

/* Under the lock; it is read without. */
static void change(_Atomic uint32_t *at, uint32_t by)
{
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + by, memory_order_relaxed);
}

void ti_host_queue_init(ti_host_queue *q, int worker, int workers)
{
    TI_ASSERT(0 <= worker && worker < workers);
    q->sight = ti_alloc_zero((size_t)workers * sizeof(*q->sight));
    q->worker = worker;
    q->workers = workers;
}

static void free_slots(ti_host_ring *r)
{
    ti_free(r->slot, r->capacity * sizeof(ti_host_entry));
}

void ti_host_queue_fini(ti_host_queue *q)
{
    free_slots(&q->queued);
    free_slots(&q->gated);
    ti_free(q->sight, (size_t)q->workers * sizeof(*q->sight));
}

/* ---- rings: under the lock */

static ti_host_entry *oldest(ti_host_ring *r)
{
    return &r->slot[r->first & (r->capacity - 1)];
}

static void grow(ti_host_ring *r, uint32_t count)
{
    const uint32_t capacity = TI_MAX(2 * r->capacity, (uint32_t)FIRST_CAPACITY);
    ti_host_entry *grown = TI_NEW_ARRAY(ti_host_entry, capacity);
    for (uint32_t i = 0; i < count; i++) {
        grown[i] = r->slot[(r->first + i) & (r->capacity - 1)];
    }
    free_slots(r);
    r->slot = grown;
    r->first = 0;
    r->capacity = capacity;
}

static void put(ti_host_ring *r, ti_host_entry entry)
{
    const uint32_t count = atomic_load_explicit(&r->count, memory_order_relaxed);
    TI_ASSERT(count <= r->capacity && (r->capacity & (r->capacity - 1)) == 0);
    if (count == r->capacity) {
        grow(r, count);
    }
    r->slot[(r->first + count) & (r->capacity - 1)] = entry;
    atomic_store_explicit(&r->count, count + 1, memory_order_release);
}

static ti_host_entry get(ti_host_queue *q, ti_host_ring *r)
{
    const ti_host_entry entry = *oldest(r);
    r->first++;
    atomic_fetch_add_explicit(&q->taken, 1, memory_order_relaxed); /* what comes next is taken without the lock */
    atomic_store_explicit(&r->count, atomic_load_explicit(&r->count, memory_order_relaxed) - 1, memory_order_release);
    return entry;
}

static bool is_empty(const ti_host_ring *r)
{
    return atomic_load_explicit(&r->count, memory_order_relaxed) == 0;
}

static void note_gate(ti_host_queue *q)
{
    atomic_store_explicit(&q->gate, is_empty(&q->gated) ? NULL : oldest(&q->gated)->job, memory_order_release);
}

/* ---- what comes */

void ti_host_queue_push(ti_host_queue *q, ti_host_job *j, int part)
{
    const ti_host_entry entry = { j, part, expected(j) };
    TI_ASSERT(0 <= part && part < j->parts);
    ti_lock_take(&q->lock);
    change(&q->ns, entry.ns);
    put(&q->queued, entry);
    ti_lock_drop(&q->lock);
}

void ti_host_queue_push_gated(ti_host_queue *q, ti_host_job *j, int part)
{
    TI_ASSERT(0 <= part && part < j->parts && atomic_load_explicit(&j->before, memory_order_relaxed));
    ti_lock_take(&q->lock);
    put(&q->gated, (ti_host_entry){ j, part, 0 });
    note_gate(q);
    ti_lock_drop(&q->lock);
}

bool ti_host_queue_put_next(ti_host_queue *q, ti_host_job *j, int part)
{
    ti_host_job *none = NULL;
    if (ti_host_queue_is_empty(q) &&
        atomic_compare_exchange_strong_explicit(&q->next, &none, j, memory_order_release, memory_order_relaxed)) {
        return true;
    }
    ti_host_queue_push(q, j, part);
    return false;
}

int ti_host_queue_own_part(const ti_host_queue *q, int parts)
{
    const int part = (int)(((int64_t)q->worker * parts + q->workers - 1) / q->workers);
    return part < parts && (int)((int64_t)part * q->workers / parts) == q->worker ? part : parts;
}

/* ---- what goes */

/* Under the lock. */
static bool get_queued(ti_host_queue *q, ti_host_entry *out)
{
    const bool any = !is_empty(&q->queued);
    if (any) {
        *out = get(q, &q->queued);
        change(&q->ns, 0 - out->ns);
    }
    return any;
}

static bool get_gated(ti_host_queue *q, ti_host_entry *out)
{
    const bool any = !is_empty(&q->gated) && ti_host_job_is_open(oldest(&q->gated)->job);
    if (any) {
        *out = get(q, &q->gated);
        note_gate(q);
    }
    return any;
}

bool ti_host_queue_take(ti_host_queue *q, ti_host_entry *out)
{
    if (ti_host_queue_is_empty(q)) {
        return false;
    }
    ti_lock_take(&q->lock);
    const bool got = get_queued(q, out);
    ti_lock_drop(&q->lock);
    return got;
}

bool ti_host_queue_take_gated(ti_host_queue *q, ti_host_entry *out)
{
    if (!ti_host_queue_has_open(q)) {
        return false;
    }
    ti_lock_take(&q->lock);
    const bool got = get_gated(q, out);
    ti_lock_drop(&q->lock);
    return got;
}

bool ti_host_queue_take_next(ti_host_queue *q, ti_host_entry *out)
{
    ti_host_job *j = ti_host_queue_has_next(q) ? atomic_exchange_explicit(&q->next, NULL, memory_order_acquire) : NULL;
    if (!j) {
        return false;
    }
    atomic_fetch_add_explicit(&q->taken, 1, memory_order_relaxed);
    *out = (ti_host_entry){ .job = j, .part = j->parts == 1 ? 0 : ti_host_queue_own_part(q, j->parts) };
    return true;
}

/* ---- what is stolen */

/* Whether something has been there for a while. */
static bool lies_still(const ti_host_queue *q, const ti_host_queue *thief, uint32_t looks)
{
    ti_host_sight *seen = &thief->sight[q->worker];
    const uint32_t taken = atomic_load_explicit(&q->taken, memory_order_relaxed);
    seen->looks = taken == seen->taken ? seen->looks + looks : 0;
    seen->taken = taken;
    return seen->looks > PATIENCE;
}

/* Whether it takes longer than it takes to come over, or nobody will wake the thief for it. */
static bool is_worth(const ti_host_queue *q, uint32_t looks)
{
    return looks == TI_HOST_LOOKS_AT_REST || atomic_load_explicit(&q->ns, memory_order_relaxed) >= WORTH_NS;
}

static bool steal_queued(ti_host_queue *q, ti_host_queue *thief, ti_host_entry *out)
{
    if (ti_host_queue_is_empty(q)) {
        return false;
    }
    ti_lock_take(&q->lock);
    const bool got = !is_empty(&q->queued) &&
                     atomic_load_explicit(&oldest(&q->queued)->job->stealable, memory_order_acquire) &&
                     ti_host_queue_is_empty(thief) && get_queued(q, out);
    ti_lock_drop(&q->lock);
    return got;
}

bool ti_host_queue_steal(ti_host_queue *q, ti_host_queue *thief, uint32_t looks, ti_host_entry *out)
{
    if (!ti_host_queue_has_work(q)) {
        thief->sight[q->worker].looks = 0;
        return false;
    }
    const bool still = lies_still(q, thief, looks), rests = looks == TI_HOST_LOOKS_AT_REST;
    return ((still || is_worth(q, looks)) && steal_queued(q, thief, out)) ||
           (still && ti_host_queue_take_next(q, out)) || ((still || rests) && ti_host_queue_take_gated(q, out));
}

bool ti_host_queue_drop(ti_host_queue *q, ti_host_entry *out)
{
    const bool any = !is_empty(&q->gated);
    if (any) {
        *out = get(q, &q->gated);
        note_gate(q);
    }
    return any || ti_host_queue_take_next(q, out) || ti_host_queue_take(q, out);
}
