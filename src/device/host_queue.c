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
    q->slot = TI_NEW_ARRAY(ti_host_entry, FIRST_CAPACITY);
    q->capacity = FIRST_CAPACITY;
    q->worker = worker;
    q->workers = workers;
}

void ti_host_queue_fini(ti_host_queue *q)
{
    ti_free(q->slot, q->capacity * sizeof(ti_host_entry));
}

void ti_host_queue_push(ti_host_queue *q, ti_host_job *j, int part)
{
    TI_ASSERT(0 <= part && part < j->parts);
    ti_lock_take(&q->lock);
    uint32_t count = atomic_load_explicit(&q->count, memory_order_relaxed);
    TI_ASSERT(count <= q->capacity && (q->capacity & (q->capacity - 1)) == 0);
    if (count == q->capacity) {
        ti_host_entry *grown = TI_NEW_ARRAY(ti_host_entry, q->capacity * 2);
        for (uint32_t i = 0; i < count; i++) {
            grown[i] = q->slot[(q->first + i) & (q->capacity - 1)];
        }
        ti_free(q->slot, q->capacity * sizeof(ti_host_entry));
        q->slot = grown;
        q->first = 0;
        q->capacity *= 2;
    }
    const ti_host_entry entry = { j, part, expected(j) };
    q->slot[(q->first + count) & (q->capacity - 1)] = entry;
    change(&q->ns, entry.ns);
    atomic_store_explicit(&q->count, count + 1, memory_order_release);
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

int ti_host_queue_own_part(const ti_host_queue *q, const ti_host_job *j)
{
    int part = (int)(((int64_t)q->worker * j->parts + q->workers - 1) / q->workers);
    return part < j->parts && (int)((int64_t)part * q->workers / j->parts) == q->worker ? part : j->parts;
}

/* Whether a thief may take what is queued: it takes longer than it takes to come over, or has been there for a while,
 * or nobody will wake the thief for it. */
static bool is_due(ti_host_queue *q, ti_host_queue *thief, uint32_t looks)
{
    if (looks == TI_HOST_LOOKS_AT_REST || atomic_load_explicit(&q->ns, memory_order_relaxed) >= WORTH_NS) {
        return true;
    }
    const uint32_t taken = atomic_load_explicit(&q->taken, memory_order_relaxed);
    thief->still = taken == thief->seen ? thief->still + looks : 0;
    thief->seen = taken;
    return thief->still > PATIENCE;
}

bool ti_host_queue_take(ti_host_queue *q, ti_host_queue *thief, uint32_t looks, ti_host_entry *out)
{
    if (ti_host_queue_is_empty(q) || (thief && !is_due(q, thief, looks))) {
        return false;
    }
    ti_lock_take(&q->lock);
    uint32_t count = atomic_load_explicit(&q->count, memory_order_relaxed);
    bool got = count > 0;
    if (got && thief) {
        const ti_host_job *oldest = q->slot[q->first].job;
        got = atomic_load_explicit(&oldest->stealable, memory_order_acquire) && ti_host_queue_is_empty(thief);
    }
    if (got) {
        *out = q->slot[q->first];
        q->first = (q->first + 1) & (q->capacity - 1);
        change(&q->ns, 0 - out->ns);
        change(&q->taken, 1);
        atomic_store_explicit(&q->count, count - 1, memory_order_release);
    }
    ti_lock_drop(&q->lock);
    return got;
}

bool ti_host_queue_take_next(ti_host_queue *q, ti_host_entry *out)
{
    ti_host_job *j = ti_host_queue_has_next(q) ? atomic_exchange_explicit(&q->next, NULL, memory_order_acquire) : NULL;
    if (!j) {
        return false;
    }
    *out = (ti_host_entry){ .job = j, .part = j->parts == 1 ? 0 : ti_host_queue_own_part(q, j) };
    return true;
}

bool ti_host_queue_steal_next(ti_host_queue *q, ti_host_queue *thief, uint32_t looks, ti_host_entry *out)
{
    const ti_host_job *j = atomic_load_explicit(&q->next, memory_order_relaxed);
    thief->looks = j && j == thief->eyed ? thief->looks + looks : 0;
    thief->eyed = j;
    return thief->looks > PATIENCE && ti_host_queue_take_next(q, out);
}
