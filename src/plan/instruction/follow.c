/* The instruction graph, executions that follow their tasks: on one node with one device and one memory.
 *
 * There an execution of one piece touches just what its task touches, so the task graph has found already what it waits for: its dependencies are the
 * instructions of the tasks that its task depends on, if each of those is known and is one. Of allocations, and of copies to larger ones, tasks know nothing: where those may be all that has
 * happened to what is touched since, they have to lie before the applied horizon, and that is waited for. The trackers of memories are left *behind*, and told before anything else is compiled, but for what the horizon has passed: from the time
 * on when a horizon has come before they were told, all else waits for the applied horizon too. */
#include "plan/instruction/impl.h"

#include <string.h>

enum { DONE = 4096, MOST_BEHIND = 4096 };

void ti_follow_init(ti_follow *f, const ti_system *system)
{
    if (system->num_nodes == 1 && system->devices == 1 && system->memories == 1) {
        f->done = TI_NEW_ARRAY(ti_followed, DONE);
    }
}

void ti_follow_fini(ti_follow *f)
{
    ti_free(f->done, f->done ? DONE * sizeof(*f->done) : 0);
    ti_vec_fini(&f->behind);
}

void ti_follow_note(ti_follow *f, const ti_task *task, uint64_t instruction)
{
    if (f->done) {
        f->done[task->id % DONE] = (ti_followed){ task->id, instruction };
    }
}

/* Whether all that the task depends on is one instruction each, of which the first is `*first`; 0 if there are none. */
static bool knows_dependencies(const ti_follow *f, const ti_task *task, uint64_t *first)
{
    *first = task->deps ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < task->deps; i++) {
        const ti_followed *done = &f->done[task->dep[i] % DONE];
        if (done->task != task->dep[i]) {
            return false;
        }
        *first = TI_MIN(*first, done->instruction);
    }
    return true;
}

bool ti_instruction_can_follow(ti_instruction_graph *graph, const ti_task *task, bool *horizon)
{
    const ti_follow *f = &graph->follow;
    uint64_t first, changed = 0;
    *horizon = task->writes_new;
    if (!f->done || task->shape->orders || !knows_dependencies(f, task, &first)) {
        return false;
    }
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        const ti_buffer_memory *memory = ti_instruction_memory(graph, task->shape->access[i].buffer, TI_HOST_MEMORY);
        changed = TI_MAX(changed, memory->changed);
    }
    *horizon |= first <= changed;
    return !*horizon || changed < graph->emit.era.applied;
}

void ti_instruction_follow(ti_instruction_graph *graph, const ti_command *command, uint64_t id, bool horizon)
{
    ti_follow *f = &graph->follow;
    const ti_task *task = command->task;
    if (horizon) {
        ti_deps_push(&graph->emit.deps, graph->emit.era.applied);
    }
    for (uint32_t i = 0; i < task->deps; i++) {
        ti_deps_push(&graph->emit.deps, f->done[task->dep[i] % DONE].instruction);
    }
    for (int writes = 0; writes < 2; writes++) {
        for (uint32_t i = 0; i < task->shape->accesses; i++) {
            const ti_footprint *touched = &command->as.execute.piece->footprint[i];
            bool counts = writes ? ti_access_writes(&task->shape->access[i])
                                 : task->shape->access[i].mode == TACIT_READ;
            for (uint32_t k = 0; counts && k < touched->boxes; k++) {
                ti_buffer_memory *memory = ti_instruction_memory(graph, task->shape->access[i].buffer, TI_HOST_MEMORY);
                ti_vec_push(&f->behind, ((ti_behind){ memory, touched->box[k], id, writes == 1 }));
            }
        }
    }
}

void ti_instruction_settle(ti_instruction_graph *graph)
{
    ti_follow *f = &graph->follow;
    for (size_t i = f->first; i < f->behind.count; i++) {
        const ti_behind *b = &f->behind.data[i];
        ti_deps_start(&graph->emit.deps, b->instruction);
        if (b->write) {
            ti_tracker_write(&b->memory->tracker, &b->box, b->instruction, &graph->emit.deps);
        } else {
            ti_tracker_read(&b->memory->tracker, &b->box, b->instruction, &graph->emit.deps);
        }
    }
    ti_vec_clear(&f->behind);
    f->first = 0;
    graph->emit.follows_horizon = f->late;
}

void ti_instruction_keep_near(ti_instruction_graph *graph)
{
    if (graph->follow.behind.count >= MOST_BEHIND) {
        ti_instruction_settle(graph);
    }
    graph->emit.follows_horizon = false;
}

void ti_follow_horizon(ti_follow *f, uint64_t applied)
{
    f->late |= f->first < f->behind.count;
    while (f->first < f->behind.count && f->behind.data[f->first].instruction < applied) {
        f->first++;
    }
    if (f->first > 0 && 2 * f->first >= f->behind.count) { /* what is moved is less than what has gone */
        memmove(f->behind.data, f->behind.data + f->first, (f->behind.count - f->first) * sizeof(ti_behind));
        f->behind.count -= f->first;
        f->first = 0;
    }
}
