/* Groups of collective host tasks (tacit/task.h): each has an order of its own, a thread of its own on each node, and a
 * communicator. Application thread.
 *
 * A group is a number from 1 on, the lowest that is free; 0 stands for tasks without one. What belongs to a number
 * stays when the group is destroyed, and serves the next group that gets it, whose tasks follow those of the first. */
#include "api/context.h"
#include "api/shapes.h"
#include "base/check.h"

static tacit_collective_group *take_group(tacit_context *ctx)
{
    for (size_t i = 0; i < ctx->groups.count; i++) {
        TI_ASSERT(ctx->groups.data[i]->number == (int)i + 1);
        if (!ctx->groups.data[i]->live) {
            return ctx->groups.data[i];
        }
    }
    if (ctx->groups.count == TACIT_MAX_COLLECTIVE_GROUPS) {
        return NULL;
    }
    tacit_collective_group *group = TI_HANDLE_NEW(tacit_collective_group, TI_HANDLE_GROUP);
    group->context = ctx;
    ti_vec_push(&ctx->groups, group);
    group->number = (int)ctx->groups.count;
    return group;
}

tacit_status tacit_collective_group_create(tacit_context *ctx, tacit_collective_group **out)
{
    TI_TRY(ti_context_begin(ctx, "tacit_collective_group_create"));
    if (!out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_collective_group_create: out is NULL");
    }
    const size_t before = ctx->groups.count;
    tacit_collective_group *group = take_group(ctx);
    if (!group) {
        return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                "tacit_collective_group_create: there are %d groups already, and each has a thread "
                                "and a communicator; destroy one, or give several tasks the same",
                                TACIT_MAX_COLLECTIVE_GROUPS);
    }
    if (ctx->groups.count > before) { /* no node has its communicator yet */
        TI_TRY(tacit_barrier(ctx));
        ti_runtime_open_group(ctx->runtime, group->number);
        TI_TRY(ti_context_enter(ctx));
    }
    group->live = true;
    *out = group;
    return TACIT_OK;
}

tacit_status tacit_collective_group_destroy(tacit_context *ctx, tacit_collective_group *group)
{
    TI_TRY(ti_check_context(ctx, "tacit_collective_group_destroy"));
    if (!group) {
        return TACIT_OK;
    }
    TI_TRY(ti_context_check_thread(ctx));
    if (!ti_handle_is_live(TI_HANDLE_GROUP, group) || group->context != ctx || !group->live) {
        return ti_context_error(ctx, TACIT_ERROR_STATE,
                                "tacit_collective_group_destroy: the group belongs to another context or is destroyed "
                                "already");
    }
    group->live = false;
    ti_shapes_forget(ctx->shapes, NULL);
    return TACIT_OK;
}
