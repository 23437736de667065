/* What a run is watched for: see advice.h. */
#include "run/advice.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdatomic.h>
#include <unistd.h>

/* Of one worker, which alone writes it: nanoseconds in kernels; when the first began and the last ended. */
struct ti_advisor_desk {
    _Alignas(TI_CACHE_LINE) _Atomic uint64_t busy;
    _Atomic uint64_t first, last;
};

#define WANTED ((int64_t)1 << 48) /* more than there are workers in the world */

/* A dry run has no time; on a terminal somebody reads along. */
static bool wants(const tacit_config *config, const ti_comm *comm)
{
    bool hears = config->advice == TACIT_ADVICE_ON ||
                 (config->advice == TACIT_ADVICE_DEFAULT && isatty(STDERR_FILENO) == 1);
    return hears && comm->node == 0 && !config->dry_run;
}

int64_t ti_advisor_begin(ti_advisor *advisor, const tacit_config *config, ti_comm *comm, int64_t value)
{
    TI_ASSERT(0 <= value && value < WANTED / comm->num_nodes);
    int64_t sum = comm->ops->sum(comm, value + (wants(config, comm) ? WANTED : 0));
    advisor->on = sum >= WANTED;
    return sum % WANTED;
}

void ti_advisor_init(ti_advisor *advisor, const ti_system *system)
{
    if (advisor->on) {
        advisor->memory = system->node == 0 ? TI_NEW(ti_dry_memory) : NULL;
        advisor->desks = system->devices * system->workers;
        advisor->desk = ti_alloc_aligned(sizeof(*advisor->desk) * (size_t)advisor->desks);
        for (int i = 0; i < advisor->desks; i++) {
            atomic_store_explicit(&advisor->desk[i].busy, 0, memory_order_relaxed);
            atomic_store_explicit(&advisor->desk[i].first, UINT64_MAX, memory_order_relaxed);
            atomic_store_explicit(&advisor->desk[i].last, 0, memory_order_relaxed);
        }
    }
}

void ti_advisor_fini(ti_advisor *advisor)
{
    if (advisor->memory) {
        ti_dry_memory_fini(advisor->memory);
        TI_DELETE(advisor->memory);
    }
    ti_free(advisor->desk, sizeof(*advisor->desk) * (size_t)advisor->desks);
}

void ti_advisor_note_part(ti_advisor *advisor, const ti_host_part *part)
{
    TI_ASSERT(part->worker >= 0 && part->worker < advisor->desks);
    struct ti_advisor_desk *d = &advisor->desk[part->worker];
    uint64_t now = ti_clock_ns(), busy = atomic_load_explicit(&d->busy, memory_order_relaxed);
    atomic_store_explicit(&d->busy, busy + now - part->start, memory_order_relaxed);
    if (atomic_load_explicit(&d->first, memory_order_relaxed) == UINT64_MAX) {
        atomic_store_explicit(&d->first, part->start, memory_order_relaxed);
    }
    atomic_store_explicit(&d->last, now, memory_order_relaxed);
}

/* ---- at the end */

/* Nanoseconds of kernels of all workers, and from the first kernel to the last. */
static void look(const ti_advisor *advisor, int64_t *busy, int64_t *span)
{
    uint64_t first = UINT64_MAX, last = 0;
    *busy = 0;
    for (int i = 0; i < advisor->desks; i++) {
        const struct ti_advisor_desk *d = &advisor->desk[i];
        *busy += (int64_t)atomic_load_explicit(&d->busy, memory_order_relaxed);
        first = TI_MIN(first, atomic_load_explicit(&d->first, memory_order_relaxed));
        last = TI_MAX(last, atomic_load_explicit(&d->last, memory_order_relaxed));
    }
    *span = last > first ? (int64_t)(last - first) : 0;
}

/* The node that computes longer than the others, and most of the time, if there is just one; and by which factor.
 * `each`: of a worker of this node, in ns; `all`: of one of each node. */
static void find_late(ti_comm *comm, int64_t each, int64_t all, ti_advice_facts *facts)
{
    enum { TENTHS = 10, MOST = 10000 };
    int64_t others = comm->num_nodes > 1 ? (all - each) / (comm->num_nodes - 1) : 0;
    bool is_late = others > 0 && each / TI_ADVICE_LATE_PERCENT >= others / 100 && 2 * each >= (int64_t)facts->span;
    if (comm->ops->sum(comm, is_late) != 1) {
        return;
    }
    facts->late = (int)comm->ops->sum(comm, is_late ? comm->node : 0);
    int64_t tenths = is_late ? TI_MIN(TENTHS * each / others, MOST) : 0;
    facts->late_factor = (double)comm->ops->sum(comm, tenths) / TENTHS;
}

static void find_loose(ti_dry_memory *memory, ti_advice_facts *facts)
{
    ti_dry_memory_end(memory);
    const ti_dry_loose *most = ti_dry_memory_most(memory);
    if (most) {
        facts->loose_bytes = most->bytes;
        facts->loose_used = most->used_bytes;
        facts->loose_buffer = most->buffer;
        facts->loose_task = most->task;
        facts->loose_access = most->access;
    }
}

void ti_advisor_gather(const ti_advisor *advisor, ti_comm *comm, const ti_system *system, ti_advice_facts *facts)
{
    int64_t busy, span;
    if (advisor->memory) {
        find_loose(advisor->memory, facts);
    }
    TI_ASSERT(advisor->on && advisor->desks > 0);
    look(advisor, &busy, &span);
    int64_t workers = advisor->desks, each = busy / workers;
    int64_t watched = comm->ops->sum(comm, span > 0 && !system->accelerators);
    int64_t time = comm->ops->sum(comm, span * workers), all = comm->ops->sum(comm, busy);
    int64_t all_each = comm->ops->sum(comm, each);
    if (watched < comm->num_nodes || time <= 0) {
        return; /* kernels ran where nobody looked, or none did */
    }
    facts->span = (uint64_t)(time / system->total_workers);
    facts->idle = 1 - (double)all / (double)time;
    find_late(comm, each, all_each, facts);
}
