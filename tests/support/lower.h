/* From random programs to the tasks that planners take, as the public calls of src/api do it.
 *
 * One lowering belongs to one program and holds what lives longer than a task: buffer descriptions with their slots,
 * and custom mappers. It may serve several task graphs, if every step is begun once for all of them. One thread. */
#ifndef TEST_LOWER_H
#define TEST_LOWER_H

#include "gen.h"
#include "ir/task.h"
#include "plan/task/graph.h"

typedef struct lowering {
    const gen_program *program;
    ti_buffer_info *info; /* by buffer */
    ti_custom_mapper *custom;
    TI_VEC(uint32_t) free_slots, retired_slots; /* of buffers that are gone; those that may be in use yet */
    uint32_t slots;
    bool reproducible; /* as tacit_config.reproducible */
    bool shapes;       /* tasks of the pool are known when they come again, as from tacit_submit (ti_shape.serial) */
    bool accelerators; /* half of the tasks without reductions have kernels for them */
    uint64_t serial;   /* of the shape of the next task; 0: as above */
    TI_VEC(ti_weights *) weights; /* of items: all that were made */
    TI_VEC(ti_shape *) fences;    /* of those that are known; their serials follow those of tasks */
    TI_VEC(ti_shape *) known;     /* by serial; they live as long as the lowering */
    ti_arena memory;              /* where they lie */
} lowering;

void lower_init(lowering *l, const gen_program *program);
void lower_fini(lowering *l);

/* Before a step is lowered, and after: slots of buffers are taken and given back. */
void lower_begin(lowering *l, const gen_step *step);
void lower_end(lowering *l, const gen_step *step);
/* The step as a task of `graph`. */
ti_task *lower_step(lowering *l, const gen_step *step, ti_task_graph *graph);

ti_box lower_box(const gen_box *box);

#endif
