/* The round of a steady loop that is kept, so that it can be carried out: see round.h. Scheduler role. */
#include "run/round.h"

#include "base/check.h"

/* A round has so many tasks and horizons at most, and so many passes of the tasks' loop. */
enum { MAX_STEPS = TI_AGAIN_STEPS, MAX_PASSES = 16 };

static void clear(ti_round *r)
{
    ti_vec_clear(&r->dep);
    ti_vec_clear(&r->results);
    ti_vec_clear(&r->box);
    ti_vec_clear(&r->combination);
    ti_vec_clear(&r->step);
    ti_vec_clear(&r->part);
    ti_vec_clear(&r->instruction);
    r->commands = r->points = 0;
}

void ti_round_fini(ti_round *r)
{
    ti_vec_fini(&r->dep);
    ti_vec_fini(&r->results);
    ti_vec_fini(&r->box);
    ti_vec_fini(&r->combination);
    ti_vec_fini(&r->step);
    ti_vec_fini(&r->part);
    ti_vec_fini(&r->instruction);
    ti_vec_fini(&r->counts);
    ti_round_ops_fini(&r->ops);
}

/* What it points to lies in memory that will be used for others. */
static void keep_boxes(ti_round *r, const ti_instruction_box *box, uint32_t boxes)
{
    for (uint32_t k = 0; k < boxes; k++) {
        ti_vec_push(&r->box, box[k]);
    }
}

static void keep_all(ti_round *r, const ti_instruction *i)
{
    for (uint32_t k = 0; i->kind == TI_INSTRUCTION_KERNEL && i->as.kernel.results && k < i->as.kernel.views; k++) {
        ti_vec_push(&r->results, i->as.kernel.view[k].mode == TACIT_REDUCE ? i->as.kernel.results[k] : 0);
    }
    if (i->kind == TI_INSTRUCTION_SEND || i->kind == TI_INSTRUCTION_RECEIVE) {
        keep_boxes(r, i->as.transfer.box, i->as.transfer.boxes);
    } else if (i->kind == TI_INSTRUCTION_COLLECTIVE) {
        keep_boxes(r, i->as.collective.place, i->as.collective.places);
        if (i->as.collective.first) {
            ti_vec_push(&r->combination, *i->as.collective.first);
        }
    }
}

/* Whether a message waits for anything of its own task: then others might wait for it while it does. */
static bool waits_within(const ti_instruction *i, uint64_t first)
{
    bool waits = false;
    for (uint32_t k = 0; k < i->deps && (i->kind == TI_INSTRUCTION_SEND || i->kind == TI_INSTRUCTION_RECEIVE); k++) {
        waits |= i->dep[k] >= first;
    }
    return waits;
}

static bool keep_instruction(ti_round *r, const ti_instruction *i, uint64_t first)
{
    ti_instruction copy = *i;
    const bool can = ti_round_can(i) && !waits_within(i, first);
    copy.dep = NULL;
    copy.task = NULL;
    for (uint32_t k = 0; k < i->deps; k++) {
        ti_vec_push(&r->dep, i->id - i->dep[k]);
    }
    keep_all(r, i);
    ti_vec_push(&r->instruction, copy);
    return can;
}

static bool may_be_step(const ti_task *task)
{
    return task->kind == TI_TASK_EXECUTE || task->kind == TI_TASK_HORIZON ||
           (task->kind == TI_TASK_FENCE && task->as.fence.pieces == 1 && task->as.fence.signal) ||
           (task->kind == TI_TASK_EPOCH && !task->as.barrier);
}

static bool keep_task(ti_round *r, const ti_task *task, const ti_round_planned *planned)
{
    const ti_instruction_batch batch = planned->batch;
    static const ti_shape wait = { .name = "wait" };
    const bool is_point = task->kind == TI_TASK_HORIZON || task->kind == TI_TASK_EPOCH;
    ti_round_step s = { .kind = task->kind,
                        .serial = is_point ? 0 : task->shape->serial,
                        .hashes = !is_point && task->shape->hash_args,
                        .first = (uint32_t)r->instruction.count,
                        .count = (uint32_t)batch.count };
    ti_round_part p = { .task = { .kind = task->kind, .shape = is_point ? &wait : task->shape } };
    bool can = r->step.count < MAX_STEPS && may_be_step(task) && !planned->holds;
    if (can && task->kind == TI_TASK_FENCE) {
        p.piece = task->as.fence.piece[0];
    }
    for (size_t i = 0; i < batch.count && can; i++) {
        can = batch.instruction[i]->task == task && /* else that has been held back, and has other arguments */
              keep_instruction(r, batch.instruction[i], batch.instruction[0]->id);
        s.talks |= ti_round_talks(batch.instruction[i]);
    }
    r->commands += planned->commands;
    r->points += is_point;
    ti_vec_push(&r->step, s);
    ti_vec_push(&r->part, p);
    return can;
}

/* With the task began another pass of the same tasks. A round of the instruction graph may take several of these: then
 * that goes on. */
static bool is_pass(ti_round *r, const ti_task *task)
{
    const bool is_same = (r->records || ti_round_kept(r)) && r->number == task->again;
    return is_same && ++r->begun < (r->records ? (uint32_t)MAX_PASSES : r->passes);
}

static void complete(ti_round *r)
{
    r->passes = r->records ? r->begun + 1 : r->passes;
    r->begun = 0;
    r->records = false;
    ti_round_keep(r, r->number);
}

static void begin(ti_round *r, const ti_task *task, uint64_t cycle)
{
    ti_round_keep(r, 0);
    clear(r);
    r->number = task->again;
    r->first = task->id;
    r->cycle = cycle;
    r->begun = 0;
    r->records = true;
}

void ti_round_note(ti_round *r, const ti_task *task, uint64_t cycle, const ti_round_planned *planned)
{
    if (cycle && (r->records || ti_round_kept(r)) && r->number == task->again && r->cycle == cycle) {
        complete(r);
        return;
    }
    if (cycle && !is_pass(r, task)) {
        begin(r, task, cycle);
    }
    r->records = r->records && keep_task(r, task, planned);
}

void ti_round_interrupt(ti_round *r)
{
    r->records = false;
    ti_round_keep(r, 0);
}
