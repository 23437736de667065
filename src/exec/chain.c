/* Kernels that are started by who ends what they wait for: see impl.h.
 *
 * Only where nothing else is to be done in between: no message to be polled for, and no ready kernel that should be
 * sooner. A device takes only what it knows to be short. */
#include "exec/impl.h"

#include "base/check.h"
#include "exec/combine_job.h"

/* Results of up to so many bytes are combined in between, too. */
enum { BRIEF_BYTES = 1024 };
/* A chain that has become as short as this is made longer. */
enum { SHORT_CHAIN = 8 };

static bool may_be_followed(const ti_executor *ex, const ti_engine_slot *slot)
{
    const ti_instruction *i = slot->instruction;
    const bool can = i->kind == TI_INSTRUCTION_KERNEL || i->kind == TI_INSTRUCTION_REDUCE;
    if (!ex->may_follow || ex->tap || !slot->job || !can || ex->is.comm->pending || ex->is.comm->listens ||
        ti_engine_has_kernel(&ex->engine, i->device)) {
        return false;
    }
    ti_device *device = ti_executor_device(ex, i);
    return device->ops->may_be_followed && device->ops->may_be_followed(device, &((ti_job *)slot->job)->kernel);
}

static bool may_follow(const ti_instruction *i)
{
    return i->kind == TI_INSTRUCTION_KERNEL || (i->kind == TI_INSTRUCTION_REDUCE && ti_combine_bytes(i) <= BRIEF_BYTES);
}

static bool follow(ti_executor *ex, ti_engine_slot *slot, ti_engine_slot *next)
{
    const ti_instruction *i = next->instruction;
    ti_device *device = ti_executor_device(ex, i);
    if (!may_follow(i) || i->device != slot->instruction->device || !may_be_followed(ex, slot)) {
        return false;
    }
    ti_job *j = i->kind == TI_INSTRUCTION_REDUCE ? ti_combine_job(&ex->jobs, &ex->table, i, true)
                                                 : ti_kernel_job(&ex->jobs, &ex->table, &ex->kernels, i);
    if (!device->ops->follow(device, &((ti_job *)slot->job)->kernel, &j->kernel)) {
        ti_jobs_return(&ex->jobs, j);
        return false;
    }
    ti_engine_issue_after(slot, next);
    next->job = j;
    ex->tail = i->id;
    ex->activity++;
    ex->running++;
    ex->followed++;
    return true;
}

/* Whoever ends it is to look for what else waits for it. */
static void tell_if_others_wait(ti_executor *ex, const ti_engine_slot *slot)
{
    if (slot->followed && !slot->complete && ti_engine_others_wait(&ex->engine, slot)) {
        ti_device *device = ti_executor_device(ex, slot->instruction);
        device->ops->tell(device, &((ti_job *)slot->job)->kernel);
    }
}

/* What waits for two of the new ones may follow only later, when all of it is started: others wait only then. */
void ti_chain_extend(ti_executor *ex, ti_engine_slot *slot)
{
    const uint64_t first = slot->instruction->id;
    ti_engine_slot *next = ti_engine_follower(&ex->engine, slot);
    while (next && follow(ex, slot, next)) {
        slot = next;
        next = ti_engine_follower(&ex->engine, slot);
    }
    for (uint64_t id = first; id < slot->instruction->id; id++) {
        const ti_engine_slot *one = ti_engine_slot_of(&ex->engine, id);
        if (one->chain == slot->chain) {
            tell_if_others_wait(ex, one);
        }
    }
}

void ti_chain_go_on(ti_executor *ex)
{
    if (ex->tail >= ex->engine.watermark && ex->running <= SHORT_CHAIN) {
        ti_chain_extend(ex, ti_engine_slot_of(&ex->engine, ex->tail));
    }
}

void ti_chain_submit(ti_executor *ex, const ti_instruction *instruction, ti_engine_slot *last)
{
    ti_engine_slot *slot = ti_engine_slot_of(&ex->engine, instruction->id);
    if (ti_engine_follower(&ex->engine, last) == slot && follow(ex, last, slot)) {
        return;
    }
    for (uint32_t k = 0; k < instruction->deps; k++) {
        if (instruction->dep[k] >= ex->engine.watermark) {
            tell_if_others_wait(ex, ti_engine_slot_of(&ex->engine, instruction->dep[k]));
        }
    }
}
