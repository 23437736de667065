/* The ready engine: which instructions may start now. A pure state machine; it starts nothing itself.
 *
 * Instructions come in order of their ids, without gaps. One is ready when all it depends on is complete; a horizon
 * or epoch is ready when everything before it is complete, which a watermark (the lowest id that is not) decides
 * without edges. Inline, where one thread does everything, the same holds for a collective host task. Ids below the
 * watermark are complete, so dependencies on them cost nothing and nothing is kept for them. Ready kernels leave by
 * device, by priority, then by id; everything else (messages, copies, allocations) first in, first out.
 *
 * Accelerators can start an operation behind others by themselves. So a kernel or copy there may be started, too, when
 * all that it depends on is complete or has been started on such a device: it is behind these. Executor role. */
#ifndef TI_ENGINE_H
#define TI_ENGINE_H

#include "base/vec.h"
#include "ir/instruction.h"

typedef struct ti_engine_slot {
    const ti_instruction *instruction;
    void *job;          /* the executor's, while the instruction runs */
    uint32_t pending;   /* incomplete dependencies */
    uint32_t unstarted; /* those of them that were not started on an accelerator; counted for such devices only */
    uint32_t successor; /* first edge, or TI_ENGINE_NONE */
    uint32_t chain;     /* of started ones, each of which follows the one before: the low bits of the first one's id */
    bool complete, issued;
    bool waits;     /* for all before it */
    bool followed;  /* one that waited for it was issued before it ended */
    bool is_behind; /* issued before what it depends on has ended; it may be seen to end before that */
} ti_engine_slot;

#define TI_ENGINE_NONE UINT32_MAX

/* When an instruction was ready, because which one ended (0: none), and when it was started; only of traced runs. */
typedef struct ti_engine_time {
    uint64_t ready, start;
    uint64_t by;
} ti_engine_time;

typedef TI_VEC(uint64_t) ti_engine_heap;

/* What may be started behind others, first in, first out; entries before head are gone. */
typedef struct ti_engine_line {
    TI_VEC(uint64_t) id;
    size_t head;
} ti_engine_line;

typedef struct ti_engine {
    ti_engine_slot *slot; /* of the ids [watermark, next), at id & (capacity - 1) */
    uint64_t watermark, next, capacity;
    struct ti_engine_edge {
        uint64_t to;
        uint32_t next;
    } * edge;
    uint32_t edges, free_edge;
    TI_VEC(uint64_t) ready; /* a queue: entries before ready_head are gone */
    size_t ready_head;
    ti_engine_heap *kernels; /* ready ones of each device: a heap of keys, smaller is sooner */
    ti_engine_line *behind;  /* kernels of each device, then all copies */
    int devices, first_accelerator;
    bool collective_hosts_wait; /* collective host tasks wait for all before them; set after init */
    ti_engine_time *time;       /* of each slot, or NULL */
    uint64_t now, completing;   /* for these: set by the executor; the instruction that makes others ready */
} ti_engine;

void ti_engine_init(ti_engine *engine, int devices);
void ti_engine_fini(ti_engine *engine);
/* The devices from `first` on are accelerators. Before the first instruction. */
void ti_engine_know_accelerators(ti_engine *engine, int first);

/* Note times from now on, before the first instruction. */
void ti_engine_keep_times(ti_engine *engine);
static inline ti_engine_time *ti_engine_time_of(const ti_engine *engine, uint64_t id)
{
    return &engine->time[id & (engine->capacity - 1)];
}

/* Returns the last of the incomplete instructions that it waits for, or NULL. */
ti_engine_slot *ti_engine_submit(ti_engine *engine, const ti_instruction *instruction);
/* The next so many instructions have been carried out without the engine, which has no other. */
static inline void ti_engine_pass(ti_engine *engine, uint64_t instructions)
{
    engine->watermark = engine->next += instructions;
}
/* An instruction that was issued before what it waits for ended may complete before that. */
void ti_engine_complete(ti_engine *engine, uint64_t id);

/* Chains: each instruction is started when the one before ends, by who carries that out. So it may wait for all of
 * the chain, and for points before which nothing else is incomplete.
 *
 * What may follow `slot`, the last one of a chain: the oldest that waits for it. NULL: nothing, or it is no such. */
ti_engine_slot *ti_engine_follower(const ti_engine *engine, const ti_engine_slot *slot);
/* `next` follows `slot`, and counts as started from now on. */
static inline void ti_engine_issue_after(ti_engine_slot *slot, ti_engine_slot *next)
{
    slot->followed = next->issued = next->is_behind = true;
    next->chain = slot->chain;
}
/* Whether the end of `slot` may be what an instruction has waited for at last that does not follow it. */
bool ti_engine_others_wait(const ti_engine *engine, const ti_engine_slot *slot);

/* The next kernel of an accelerator, or the next copy, that may be started behind what it depends on; NULL if there is
 * none. Then say whether it was; if not, it will be ready when all of that is complete. */
ti_engine_slot *ti_engine_next_behind(ti_engine *engine, int device);
ti_engine_slot *ti_engine_next_copy_behind(ti_engine *engine);
void ti_engine_issue_behind(ti_engine *engine, ti_engine_slot *slot, bool is_started);

/* The next instruction that may start, which counts as started then; NULL if there is none. */
ti_engine_slot *ti_engine_next(ti_engine *engine);
ti_engine_slot *ti_engine_next_kernel(ti_engine *engine, int device);
/* Whether there is one: a look that costs little. */
static inline bool ti_engine_has_next(const ti_engine *engine)
{
    return engine->ready_head < engine->ready.count;
}
static inline bool ti_engine_has_kernel(const ti_engine *engine, int device)
{
    return engine->kernels[device].count > 0;
}
static inline ti_engine_slot *ti_engine_slot_of(const ti_engine *engine, uint64_t id)
{
    return &engine->slot[id & (engine->capacity - 1)];
}
static inline uint64_t ti_engine_incomplete(const ti_engine *engine)
{
    return engine->next - engine->watermark;
}

#endif
