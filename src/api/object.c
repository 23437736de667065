/* Host objects: an order of host tasks. Application thread.
 *
 * Handles live as long as the context and are used again after their destruction, so a stale one is found out or
 * harmless. */
#include "api/context.h"
#include "api/shapes.h"

static tacit_host_object *take_object(tacit_context *ctx)
{
    tacit_host_object *object = ctx->destroyed_objects;
    if (object) {
        ctx->destroyed_objects = object->next;
        return object;
    }
    object = TI_HANDLE_NEW(tacit_host_object, TI_HANDLE_OBJECT);
    object->context = ctx;
    object->order = TI_ORDER_OF_OBJECTS + (uint32_t)ctx->objects.count;
    ti_vec_push(&ctx->objects, object);
    return object;
}

tacit_status tacit_host_object_create(tacit_context *ctx, tacit_host_object **out)
{
    TI_TRY(ti_check_context(ctx, "tacit_host_object_create"));
    TI_TRY(ti_context_enter(ctx));
    if (!out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_host_object_create: out is NULL");
    }
    tacit_host_object *object = take_object(ctx);
    object->live = true;
    *out = object;
    return TACIT_OK;
}

tacit_status tacit_host_object_destroy(tacit_context *ctx, tacit_host_object *object)
{
    TI_TRY(ti_check_context(ctx, "tacit_host_object_destroy"));
    if (!object) {
        return TACIT_OK;
    }
    TI_TRY(ti_context_check_thread(ctx));
    if (!ti_handle_is_live(TI_HANDLE_OBJECT, object) || object->context != ctx || !object->live) {
        return ti_context_error(
            ctx, TACIT_ERROR_STATE,
            "tacit_host_object_destroy: the object belongs to another context or is destroyed already");
    }
    object->live = false;
    ti_shapes_forget(ctx->shapes, NULL);
    object->next = ctx->destroyed_objects;
    ctx->destroyed_objects = object;
    return TACIT_OK;
}
