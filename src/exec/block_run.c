/* Kernels in blocks: see block_run.h. */
#include "exec/block_run.h"

#include "base/check.h"
#include "device/bounds/check.h"
#include "ir/instruction.h"

/* What one part works with. */
typedef struct runner {
    const ti_instruction *instruction;
    tacit_view view[TACIT_MAX_ACCESSES + 1];
    char *slots[TACIT_MAX_ACCESSES]; /* of reductions: this part's first slot */
} runner;

static size_t slot_bytes(const ti_instruction_view *v)
{
    return (size_t)ti_box_volume(&v->buffer->extent) * v->buffer->elem_size;
}

static void init(runner *r, const ti_instruction *i, uint32_t part, const tacit_view *view)
{
    TI_ASSERT(i->as.kernel.views <= TACIT_MAX_ACCESSES && part < i->as.kernel.runs);
    r->instruction = i;
    r->view[i->as.kernel.views] = view[i->as.kernel.views];
    for (uint32_t v = 0; v < i->as.kernel.views; v++) {
        const ti_instruction_view *from = &i->as.kernel.view[v];
        r->view[v] = view[v];
        if (from->mode == TACIT_REDUCE) {
            r->slots[v] = (char *)view[v].data + i->as.kernel.run_slot[part] * slot_bytes(from);
        }
    }
}

/* Show the kernel fresh results in a slot. */
static void use_slot(runner *r, uint32_t slot)
{
    for (uint32_t v = 0; v < r->instruction->as.kernel.views; v++) {
        const ti_instruction_view *from = &r->instruction->as.kernel.view[v];
        if (from->mode == TACIT_REDUCE) {
            r->view[v].data = r->slots[v] + slot * slot_bytes(from);
            ti_reducer_fill_identity(&from->reducer, r->view[v].data, (size_t)ti_box_volume(&from->buffer->extent));
        }
    }
}

static void combine(runner *r, uint32_t into, uint32_t from)
{
    for (uint32_t v = 0; v < r->instruction->as.kernel.views; v++) {
        const ti_instruction_view *view = &r->instruction->as.kernel.view[v];
        if (view->mode == TACIT_REDUCE) {
            size_t bytes = slot_bytes(view);
            ti_reducer_combine(&view->reducer, r->slots[v] + into * bytes, r->slots[v] + from * bytes,
                               (size_t)ti_box_volume(&view->buffer->extent));
        }
    }
}

static uint32_t blocks_before(const ti_task *task, size_t item)
{
    int64_t items = (int64_t)item - task->shape->range.min[0];
    TI_ASSERT(items >= 0 && task->shape->gran[0] > 0);
    return (uint32_t)(items / task->shape->gran[0] + (items % task->shape->gran[0] != 0));
}

void ti_block_run(ti_device_kernel *kernel, int part, int parts, tacit_launch *launch)
{
    const ti_instruction *i = kernel->user;
    const ti_task *task = i->task;
    const tacit_box run = launch->chunk;
    runner r;
    ti_block_stack stack = { .blocks = blocks_before(task, (size_t)task->shape->range.max[0]) };
    TI_ASSERT((uint32_t)parts == i->as.kernel.runs);
    (void)parts;
    init(&r, i, (uint32_t)part, launch->view);
    launch->view = r.view;
    for (uint32_t b = blocks_before(task, run.min[0]), end = blocks_before(task, run.max[0]); b < end; b++) {
        uint32_t into, from;
        size_t begin = (size_t)(task->shape->range.min[0] + b * task->shape->gran[0]);
        launch->chunk.min[0] = begin;
        launch->chunk.max[0] = TI_MIN(begin + (size_t)task->shape->gran[0], run.max[0]);
        TI_ASSERT(launch->chunk.min[0] < launch->chunk.max[0]);
        ti_block_stack_push(&stack, (ti_block_span){ b, b + 1 }, stack.count);
        use_slot(&r, stack.count - 1);
        ti_kernel_call(kernel, launch);
        while (ti_block_stack_fold(&stack, &into, &from)) {
            combine(&r, into, from);
        }
    }
}
