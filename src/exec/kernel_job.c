/* The job of a kernel: see kernel_job.h. */
#include "exec/kernel_job.h"

#include "base/check.h"
#include "device/bounds/check.h"
#include "exec/block_run.h"
#include "ir/reduction.h"

/* Each part of a task with reductions has views of its own. Nobody has touched its slots, nor those that are left if
 * there are fewer parts. */
static void run_part(ti_device_kernel *kernel, int part, int parts, tacit_launch *launch)
{
    const ti_job *j = (const ti_job *)kernel; /* its first member */
    TI_ASSERT((uint32_t)parts <= j->slots);
    for (uint32_t s = (uint32_t)part; s < j->slots; s += (uint32_t)parts) {
        for (size_t r = 0; r < j->result.count; r++) {
            const ti_job_result *result = &j->result.data[r];
            ti_reducer_fill_identity(&result->reducer, launch->view[s * j->stride + result->view].data,
                                     result->elements);
        }
    }
    launch->view += (size_t)part * j->stride;
    ti_kernel_call(kernel, launch);
}

/* Slots get their identities where they are filled. */
static void prepare_reduction(const ti_instruction *i, ti_job *j)
{
    j->kernel.run = run_part;
    if (i->task->shape->in_blocks) {
        j->kernel.run = ti_block_run;
        j->kernel.whole = i->as.kernel.runs == 1;
    }
}

static bool has_reduction(const ti_instruction *i)
{
    for (uint32_t v = 0; v < i->as.kernel.views; v++) {
        if (i->as.kernel.view[v].mode == TACIT_REDUCE) {
            return true;
        }
    }
    return false;
}

/* Whether parts of items along dimension `d` write different elements. Accesses of tasks that are split over nodes
 * were checked along the dimensions of the split; along others, and in tasks on one node, a kernel may sum into one
 * element. */
static bool writes_apart(const ti_task *task, const ti_access *access, int d)
{
    if (access->custom) {
        return d == 0 && task->shape->place < 0;
    }
    for (int b = 0; b < access->buffer->dims; b++) {
        if (ti_component_follows(&access->mapper->c[b]) && access->mapper->c[b].dim == d) {
            return true;
        }
    }
    return false;
}

/* On one node a task may read any part of a buffer that it writes. */
static bool reads_elsewhere(const ti_task *task, uint32_t written)
{
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        if (i != written && task->shape->place >= 0 &&
            task->shape->access[i].buffer == task->shape->access[written].buffer) {
            return true;
        }
    }
    return false;
}

/* Whether the device may cut the chunk among its workers, which it does along the slowest dimension with several
 * items. */
static bool may_cut(const ti_task *task, const ti_box *chunk)
{
    int d = 0;
    while (d + 1 < task->shape->dims && chunk->max[d] - chunk->min[d] == 1) {
        d++;
    }
    bool may = d == 0 || task->shape->gran[d] == 1; /* the device knows the granularity of dimension 0 */
    for (uint32_t i = 0; i < task->shape->accesses && may; i++) {
        may = !ti_access_writes(&task->shape->access[i]) ||
              (writes_apart(task, &task->shape->access[i], d) && !reads_elsewhere(task, i));
    }
    return may;
}

static ti_job *make_job(ti_jobs *jobs, ti_allocation_table *table, const ti_kernel_setting *is, const ti_instruction *i)
{
    const ti_task *task = i->task;
    const bool reduces = has_reduction(i), on_host = !ti_system_is_accelerator(is->system, i->device);
    /* Parts that have views of their own. */
    uint32_t parts = reduces && on_host ? TI_MAX(i->as.kernel.slots, 1) : 1;
    ti_job *j = ti_jobs_take(jobs, (size_t)parts * (i->as.kernel.views + 1));
    ti_job_fill_views(j, table, i, parts);
    j->kernel = (ti_device_kernel){
        .host = task->shape->host,
        .kernel = task->shape->devices,
        .launch = { .chunk = ti_box_to_public(&i->as.kernel.chunk),
                    .view = j->view,
                    .args_size = task->shape->args_size,
                    .node = is->system->node,
                    .num_nodes = is->system->num_nodes,
                    .name = task->shape->name,
                    .context = is->context,
                    .on = task->shape->on,
                    .num_views = (int)i->as.kernel.views,
                    .group = task->shape->group,
                    .dims = task->shape->dims },
        .whole = task->shape->whole_chunk || (is->system->workers > 1 && !may_cut(task, &i->as.kernel.chunk)),
        .granule = task->shape->gran[0],
        .bounds = is->bounds,
        .groups = reduces && !on_host ? i->as.kernel.slots : 0,
        .group_items = task->shape->group_items,
    };
    if (reduces && on_host) {
        prepare_reduction(i, j);
    }
    return j;
}

/* Kernels of equal numbers are of one shape, and differ in nothing but their task, and where partial results are. */
ti_job *ti_kernel_job(ti_jobs *jobs, ti_allocation_table *table, const ti_kernel_setting *is, const ti_instruction *i)
{
    ti_job *j = ti_jobs_take_made(jobs, i->as.kernel.made);
    if (!j) {
        j = make_job(jobs, table, is, i);
    } else if (j->kernel.run || j->kernel.groups) {
        ti_job_place_results(j, table, i);
    }
    j->kernel.launch.args = i->task->args;
    j->kernel.token = i->id;
    j->kernel.user = (void *)(uintptr_t)i;
    j->kernel.task = i->task;
    return j;
}
