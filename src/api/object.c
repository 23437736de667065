/* Host objects (tacit/task.h): an order of host tasks, and contents that these share. Application thread, but for
 * tacit_host_object_contents: any thread.
 *
 * Objects live as long as the context. A destroyed one serves the next creation, so a stale handle is refused or stands
 * for another live object, and never for freed memory. One with contents is used again only when its tasks have been
 * executed: their kernels still ask for the contents. */
#include "api/context.h"
#include "api/shapes.h"
#include "base/check.h"

#include <string.h>

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

static tacit_status create(tacit_context *ctx, const char *who, const tacit_host_object_desc *desc,
                           tacit_host_object **out)
{
    TI_TRY(ti_context_begin(ctx, who));
    if (!out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "%s: out is NULL", who);
    }
    tacit_host_object *object = take_object(ctx);
    TI_ASSERT(!object->live && !object->desc.contents);
    object->live = true;
    object->desc = *desc;
    *out = object;
    return TACIT_OK;
}

tacit_status tacit_host_object_create(tacit_context *ctx, tacit_host_object **out)
{
    const tacit_host_object_desc none = { .contents = NULL };
    return create(ctx, "tacit_host_object_create", &none, out);
}

tacit_status tacit_host_object_create_sized(tacit_context *ctx, const tacit_host_object_desc *desc, size_t size,
                                            tacit_host_object **out)
{
    static const char who[] = "tacit_host_object_create_with";
    tacit_host_object_desc given = { .contents = NULL };
    TI_TRY(ti_check_context(ctx, who));
    if (!desc) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "%s: the description is NULL", who);
    }
    memcpy(&given, desc, size < sizeof(given) ? size : sizeof(given));
    return create(ctx, who, &given, out);
}

tacit_status ti_check_object(tacit_context *ctx, const char *who, const tacit_host_object *object)
{
    if (!ti_handle_is_live(TI_HANDLE_OBJECT, object) || object->context != ctx || !object->live) {
        return ti_context_error(ctx, TACIT_ERROR_STATE,
                                "%s: the object belongs to another context or is destroyed already", who);
    }
    return TACIT_OK;
}

/* ---- contents */

void *tacit_host_object_contents(const tacit_host_object *object)
{
    return ti_handle_is_live(TI_HANDLE_OBJECT, object) ? object->desc.contents : NULL;
}

/* ---- the end */

static void end_contents(tacit_host_object *object)
{
    tacit_host_object_desc desc = object->desc;
    object->desc = (tacit_host_object_desc){ .contents = NULL };
    if (desc.contents && desc.end) {
        desc.end(desc.contents);
    }
}

void ti_free_retired_objects(tacit_context *ctx, uint64_t executed)
{
    tacit_host_object **link = &ctx->retired_objects;
    for (tacit_host_object *object; (object = *link);) {
        if (object->destroyed_by >= executed) {
            link = &object->next;
            continue;
        }
        *link = object->next;
        end_contents(object);
        object->next = ctx->destroyed_objects;
        ctx->destroyed_objects = object;
    }
}

void ti_free_all_objects(tacit_context *ctx)
{
    for (size_t i = 0; i < ctx->objects.count; i++) {
        end_contents(ctx->objects.data[i]);
        ti_handle_free(TI_HANDLE_OBJECT, ctx->objects.data[i]);
    }
    ti_vec_fini(&ctx->objects);
}

tacit_status tacit_host_object_destroy(tacit_context *ctx, tacit_host_object *object)
{
    static const char who[] = "tacit_host_object_destroy";
    TI_TRY(ti_check_context(ctx, who));
    if (!object) {
        return TACIT_OK;
    }
    TI_TRY(ti_context_check_thread(ctx));
    TI_TRY(ti_check_object(ctx, who, object));
    object->live = false;
    ti_shapes_forget(ctx->shapes, NULL);
    object->destroyed_by = ti_task_graph_tasks(ti_runtime_task_graph(ctx->runtime));
    tacit_host_object **list = object->desc.contents ? &ctx->retired_objects : &ctx->destroyed_objects;
    object->next = *list;
    *list = object;
    return TACIT_OK;
}
