/* The instruction graph, executions that follow their tasks, on one node with one device and one memory: see follow.h.
 *
 * On such a system an execution of one piece touches just what its task touches. So the task graph has already found
 * what the execution waits for: where the task depends on other tasks, the execution depends on their instructions. It
 * follows its task if each of those tasks is known to be done when one instruction is. Then the trackers of memories
 * need not be asked. That is what makes planning on one node cheap.
 *
 * Tasks know nothing of allocations, nor of copies to larger ones. Say that such an instruction may be all that has
 * happened to the data since the tasks that this one depends on, or that the task writes what nobody has written. Then
 * the instruction has to lie before the applied horizon, and the execution waits for that horizon too. If it lies after
 * the horizon, the execution does not follow its task, but asks the trackers.
 *
 * The trackers are not told of an execution that follows. What they have not been told is a list, the lag. They catch
 * up before anything that asks them is compiled, and when the lag is long. What the applied horizon has passed leaves
 * the lag without being told: all that comes later waits for the horizon instead. Trackers do not know that, so from
 * the first time on when a horizon meets a lag, every instruction that asks them waits for the applied horizon too. */
#include "plan/instruction/impl.h"

#include <string.h>

enum { MAX_DONE = 4096, MAX_LAG = 4096 };

void ti_follow_init(ti_follow *f, const ti_system *system)
{
    if (system->num_nodes == 1 && system->devices == 1 && system->memories == 1) {
        f->done = TI_NEW_ARRAY(ti_followed, MAX_DONE);
    }
}

void ti_follow_fini(ti_follow *f)
{
    ti_free(f->done, f->done ? MAX_DONE * sizeof(*f->done) : 0);
    ti_vec_fini(&f->lag);
}

void ti_follow_note(ti_follow *f, const ti_task *task, uint64_t instruction)
{
    TI_ASSERT(task->id > 0 && instruction > 0);
    if (f->done) {
        f->done[task->id % MAX_DONE] = (ti_followed){ task->id, instruction };
    }
}

/* Whether all that the task depends on is one instruction each, of which the first is `*first`; 0 if there are none. */
static bool knows_dependencies(const ti_follow *f, const ti_task *task, uint64_t *first)
{
    *first = task->deps ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < task->deps; i++) {
        const ti_followed *done = &f->done[task->dep[i] % MAX_DONE];
        if (done->task != task->dep[i]) {
            return false;
        }
        *first = TI_MIN(*first, done->instruction);
    }
    return true;
}

bool ti_instruction_can_follow(ti_instruction_graph *graph, const ti_task *task, uint64_t changed, bool *horizon)
{
    const ti_follow *f = &graph->follow;
    uint64_t first;
    *horizon = task->writes_new;
    if (!f->done || task->shape->orders || !knows_dependencies(f, task, &first)) {
        return false;
    }
    *horizon |= first <= changed;
    return !*horizon || changed < graph->emit.era.applied;
}

void ti_instruction_follow(ti_instruction_graph *graph, const ti_task *task, bool horizon)
{
    TI_ASSERT(!horizon || graph->emit.era.applied > 0);
    if (horizon) {
        ti_deps_push(&graph->emit.deps, graph->emit.era.applied);
    }
    for (uint32_t i = 0; i < task->deps; i++) {
        const ti_followed *done = &graph->follow.done[task->dep[i] % MAX_DONE];
        TI_ASSERT(done->task == task->dep[i] && done->instruction < graph->emit.deps.self);
        ti_deps_push(&graph->emit.deps, done->instruction);
    }
}

void ti_follow_lag(ti_instruction_graph *graph, const ti_buffer_info *buffer, const ti_box *box, bool write)
{
    ti_buffer_memory *memory = ti_instruction_memory(graph, buffer, TI_HOST_MEMORY);
    TI_ASSERT(graph->follow.done && !ti_box_is_empty(box));
    ti_vec_push(&graph->follow.lag, ((ti_lagging){ memory, *box, graph->emit.deps.self, NULL, write }));
}

void ti_follow_lag_all(ti_instruction_graph *graph, const ti_template *all)
{
    ti_follow *f = &graph->follow;
    TI_ASSERT(f->done);
    ti_vec_reserve(&f->lag, f->lag.count + 1);
    ti_lagging *l = &f->lag.data[f->lag.count++]; /* the rest is not looked at */
    l->instruction = graph->emit.deps.self;
    l->all = all;
}

static void catch_up_all(const ti_template *all, uint64_t instruction, ti_deps *deps)
{
    for (uint32_t i = 0; i < all->touches; i++) {
        const ti_template_touch *t = &all->touch[i];
        (t->write ? ti_tracker_write : ti_tracker_read)(&t->memory->tracker, &t->box, instruction, deps);
    }
}

void ti_follow_catch_up(ti_instruction_graph *graph)
{
    ti_follow *f = &graph->follow;
    ti_deps *deps = &graph->emit.deps;
    for (size_t i = f->first; i < f->lag.count; i++) {
        const ti_lagging *l = &f->lag.data[i];
        TI_ASSERT(i == f->first || l->instruction >= l[-1].instruction);
        ti_deps_start(deps, l->instruction);
        if (l->all) {
            catch_up_all(l->all, l->instruction, deps);
            continue;
        }
        (l->write ? ti_tracker_write : ti_tracker_read)(&l->memory->tracker, &l->box, l->instruction, deps);
    }
    ti_vec_clear(&f->lag);
    f->first = 0;
    graph->emit.follows_horizon = f->met_horizon;
}

void ti_follow_limit_lag(ti_instruction_graph *graph)
{
    if (graph->follow.lag.count >= MAX_LAG) {
        ti_follow_catch_up(graph);
    }
    graph->emit.follows_horizon = false;
}

void ti_follow_horizon(ti_follow *f, uint64_t applied)
{
    TI_ASSERT(f->first <= f->lag.count);
    f->met_horizon |= f->first < f->lag.count;
    while (f->first < f->lag.count && f->lag.data[f->first].instruction < applied) {
        f->first++;
    }
    if (f->first > 0 && 2 * f->first >= f->lag.count) { /* what is moved is less than what has gone */
        memmove(f->lag.data, f->lag.data + f->first, (f->lag.count - f->first) * sizeof(ti_lagging));
        f->lag.count -= f->first;
        f->first = 0;
    }
}
