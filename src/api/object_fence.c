/* Fences of host objects (tacit/task.h): a task on every node that names the object, and a signal when it has run.
 * Application thread. */
#include "api/context.h"

/* The kernel of a fence, after those of all tasks before it that name the object. */
static void pass(const tacit_launch *k)
{
    tacit_host_object *object = *(tacit_host_object *const *)k->args;
    ti_runtime_set_signal(k->context->runtime, &object->fenced);
}

/* One item for each node. */
static tacit_status submit_fence(tacit_context *ctx, tacit_host_object *object)
{
    const tacit_task fence = { .name = "host object fence",
                               .range = TACIT_RANGE((size_t)tacit_num_nodes(ctx)),
                               .on = TACIT_ON_HOST,
                               .kernel = { .host = pass },
                               .args = &object,
                               .args_size = sizeof(object),
                               .host_object = { object } };
    atomic_store_explicit(&object->fenced.set, 0, memory_order_relaxed);
    TI_TRY(tacit_submit(ctx, &fence));
    TI_TRY(tacit_flush(ctx)); /* ends what planners hold until they know what comes next; */
    return tacit_flush(ctx);  /* a window of allocations ends with the second one */
}

tacit_status tacit_host_object_fence(tacit_context *ctx, tacit_host_object *object, void **contents)
{
    static const char who[] = "tacit_host_object_fence";
    TI_TRY(ti_context_begin(ctx, who));
    if (!object) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "%s: the object is NULL", who);
    }
    TI_TRY(ti_check_object(ctx, who, object));
    TI_TRY(submit_fence(ctx, object));
    if (!ti_runtime_dry(ctx->runtime)) {
        ti_runtime_wait_signal(ctx->runtime, &object->fenced);
    }
    if (contents) {
        *contents = object->desc.contents;
    }
    return ti_context_enter(ctx);
}
