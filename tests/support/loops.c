/* Loops at the end of random programs: see loops.h. */
#include "loops.h"

/* Tasks of most loops. */
enum { SHORT = 4 };

/* Whether all buffers of a task are there in the end, and it is one of those that loops are made of. */
static bool may_come_again(const bool *there, const gen_task *task)
{
    bool may = !task->group && !task->objects;
    for (int i = 0; i < task->accesses; i++) {
        may = may && there[task->access[i].buffer];
    }
    return may;
}

/* All nodes may meet. */
static gen_step pause_step(gen_rng *rng, int percent_meet)
{
    return gen_chance(rng, 40)
               ? (gen_step){ .kind = GEN_FLUSH }
               : (gen_step){ .kind = GEN_WAIT, .index = gen_chance(rng, percent_meet) ? GEN_BARRIER : GEN_ALONE };
}

/* Something else is done between two rounds, or in the middle of one, and then it goes on. */
static void interrupt(gen_program *program, gen_rng *rng, int task)
{
    gen_step s = pause_step(rng, 40);
    if (gen_chance(rng, 50)) {
        s = (gen_step){ .kind = GEN_TASK, .index = task };
    }
    ti_vec_push(&program->step, s);
}

/* What loops are made of: tasks and fences of the program, whose buffers are there in the end. */
typedef struct supply {
    TI_VEC(int) task;
    TI_VEC(gen_step) fence;
} supply;

static void collect(const gen_program *program, supply *pool)
{
    bool *there = ti_alloc_zero(program->buffer.count * sizeof(*there));
    for (size_t i = 0; i < program->step.count; i++) {
        const gen_step *s = &program->step.data[i];
        if (s->kind == GEN_CREATE || s->kind == GEN_DESTROY) {
            there[s->index] = s->kind == GEN_CREATE;
        }
    }
    for (size_t i = 0; i < program->step.count; i++) {
        const gen_step *s = &program->step.data[i];
        if (s->kind == GEN_TASK && may_come_again(there, &program->task.data[s->index])) {
            ti_vec_push(&pool->task, s->index);
        } else if (s->kind == GEN_FENCE && there[s->index]) {
            ti_vec_push(&pool->fence, *s);
        }
    }
    ti_free(there, program->buffer.count * sizeof(*there));
}

static int any_task(const supply *pool, gen_rng *rng)
{
    return pool->task.data[gen_between(rng, 0, (int64_t)pool->task.count - 1)];
}

/* A pass: tasks, and perhaps fences and pauses. */
static void draw_pass(const supply *pool, gen_rng *rng, int length, gen_step *step)
{
    const bool fenced = pool->fence.count && gen_chance(rng, 40), paused = gen_chance(rng, 40);
    for (int i = 0; i < length; i++) {
        step[i] = (gen_step){ .kind = GEN_TASK, .index = any_task(pool, rng) };
        if (fenced && gen_chance(rng, i ? 30 : 10)) {
            step[i] = pool->fence.data[gen_between(rng, 0, (int64_t)pool->fence.count - 1)];
        } else if (paused && gen_chance(rng, i ? 30 : 10)) {
            step[i] = pause_step(rng, 10);
        }
    }
}

/* What a program has done, its last steps again and again: a loop, something else, and another loop. */
void loops_append(gen_program *program, gen_rng *rng, int longest)
{
    const bool interrupted = gen_chance(rng, 40);
    supply pool = { 0 };
    collect(program, &pool);
    for (int loop = 0; loop < 3 && pool.task.count; loop++) {
        const bool is_long = longest > SHORT && gen_chance(rng, 30);
        gen_step pass[LOOPS_LONGEST];
        const int length = (int)gen_between(rng, 1, is_long ? longest : SHORT);
        const int times = (int)(is_long ? gen_between(rng, 4, 16) : gen_between(rng, 10, 60));
        draw_pass(&pool, rng, length, pass);
        const int steps = times * length - (int)gen_between(rng, 0, length - 1);
        for (int i = 0; i < steps; i++) {
            ti_vec_push(&program->step, pass[i % length]);
            if (interrupted && gen_chance(rng, 3)) {
                interrupt(program, rng, any_task(&pool, rng));
            }
        }
        const int other = any_task(&pool, rng);
        if (gen_chance(rng, 70)) {
            ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = other }));
        }
    }
    ti_vec_fini(&pool.task);
    ti_vec_fini(&pool.fence);
}
