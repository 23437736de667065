/* The kernel that combines partial results: see combine_job.h. */
#include "exec/combine_job.h"

#include "exec/combine.h"

static void run(ti_device_kernel *kernel, int part, int parts, tacit_launch *launch)
{
    (void)part;
    (void)parts;
    const ti_instruction *i = kernel->user;
    ti_combine_slots(&i->as.reduce, launch->view[0].data, launch->view[1].data, launch->chunk.min[0],
                     launch->chunk.max[0]);
}

void ti_combine_find_slots(ti_allocation_table *table, const ti_combination *c, char **slots, char **to)
{
    *slots = ti_allocation_table_base(table, &(ti_place){ .allocation = c->staging });
    *to = c->is_root ? ti_allocation_table_base(table, &c->to) : NULL;
}

size_t ti_combine_bytes(const ti_instruction *reduce)
{
    return reduce->as.reduce.elements * reduce->as.reduce.buffer->elem_size;
}

ti_job *ti_combine_job(ti_jobs *jobs, ti_allocation_table *table, const ti_instruction *reduce, bool brief)
{
    ti_job *j = ti_jobs_take(jobs, 2);
    const size_t elements = reduce->as.reduce.elements;
    char *slots, *to;
    ti_combine_find_slots(table, &reduce->as.reduce, &slots, &to);
    j->view[0].data = slots;
    j->view[1].data = to;
    j->kernel = (ti_device_kernel){ .launch = { .chunk = tacit_box1(0, elements), .view = j->view, .dims = 1 },
                                    .granule = (int64_t)ti_combine_step(reduce->as.reduce.buffer->elem_size),
                                    .token = reduce->id,
                                    .run = run,
                                    .user = (void *)(uintptr_t)reduce,
                                    .brief = brief };
    return j;
}
