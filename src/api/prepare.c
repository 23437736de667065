/* Prepared tasks (tacit/task.h): a description that is kept, and where its shape is. So the description is looked at
 * only when that shape is not known, or no more. Application thread. */
#include "api/context.h"
#include "api/description.h"
#include "api/shapes.h"
#include "base/alloc.h"
#include "base/check.h"

#include <string.h>

/* What is kept of a description lies in one piece of memory: the accesses that there are, and all before them; what
 * comes after the accesses; arguments, weights and the name. */
enum { HEAD = offsetof(tacit_task, access), TAIL = offsetof(tacit_task, kernel) };
enum { TAIL_BYTES = sizeof(tacit_task) - TAIL };

struct tacit_prepared {
    tacit_context *context;
    uint64_t serial; /* of the handle */
    ti_shapes_place place;
    const void *args; /* those of the description */
    char *memory;
    size_t bytes, head_bytes;
    tacit_prepared *next; /* of the context's */
    tacit_prepared **link;
};

/* ---- a description in memory */

static char *put(char **at, const void *what, size_t bytes)
{
    char *begin = *at;
    if (bytes) {
        memcpy(begin, what, bytes);
    }
    *at = begin + TI_ALIGN_UP(bytes, _Alignof(max_align_t));
    return begin;
}

static void keep(tacit_prepared *p, const tacit_task *given, int nodes)
{
    const ti_measures m = ti_description_measure(given, nodes);
    tacit_task t = *given;
    p->head_bytes = HEAD + m.accesses * sizeof(tacit_access);
    p->bytes = p->head_bytes + TAIL_BYTES + t.args_size + m.weights + m.name + 1 + 5 * _Alignof(max_align_t);
    p->memory = ti_alloc(p->bytes);
    char *at = p->memory + TI_ALIGN_UP(p->head_bytes, _Alignof(max_align_t)) +
               TI_ALIGN_UP((size_t)TAIL_BYTES, _Alignof(max_align_t));
    p->args = t.args = t.args ? put(&at, t.args, t.args_size) : NULL;
    t.hint.weights = t.hint.weights ? (const uint32_t *)(void *)put(&at, t.hint.weights, m.weights) : NULL;
    t.name = t.name ? put(&at, t.name, m.name + 1) : NULL;
    TI_ASSERT(at <= p->memory + p->bytes);
    at = p->memory;
    put(&at, &t, p->head_bytes);
    put(&at, (const char *)&t + TAIL, TAIL_BYTES);
}

static tacit_task description(const tacit_prepared *p)
{
    tacit_task t;
    memcpy(&t, p->memory, p->head_bytes);
    memset((char *)&t + p->head_bytes, 0, TAIL - p->head_bytes);
    memcpy((char *)&t + TAIL, p->memory + TI_ALIGN_UP(p->head_bytes, _Alignof(max_align_t)), TAIL_BYTES);
    return t;
}

/* ---- calls */

tacit_status tacit_prepare_sized(tacit_context *ctx, const tacit_task *task, size_t size, tacit_prepared **out)
{
    TI_TRY(ti_context_begin(ctx, "tacit_prepare"));
    if (!task || !out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_prepare: %s is NULL", task ? "out" : "the task");
    }
    tacit_task given;
    memset(&given, 0, sizeof(given));
    memcpy(&given, task, TI_MIN(size, sizeof(given)));
    TI_TRY(ti_submit_check(ctx, &given));
    tacit_prepared *p = TI_HANDLE_NEW(tacit_prepared, TI_HANDLE_PREPARED);
    keep(p, &given, tacit_num_nodes(ctx));
    p->context = ctx;
    p->serial = ti_handle_serial(TI_HANDLE_PREPARED, p);
    p->next = ctx->prepared;
    p->link = &ctx->prepared;
    if (p->next) {
        p->next->link = &p->next;
    }
    *p->link = *out = p;
    return TACIT_OK;
}

static bool is_usable(const tacit_context *ctx, const tacit_prepared *p)
{
    return ti_handle_serial(TI_HANDLE_PREPARED, p) != 0 && p->context == ctx;
}

static tacit_status refuse(tacit_context *ctx, const char *who, const tacit_prepared *p)
{
    if (!p) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "%s: the prepared task is NULL; make it with tacit_prepare",
                                who);
    }
    return ti_context_error(ctx, TACIT_ERROR_STATE,
                            "%s: the prepared task is destroyed, belongs to another context, or is not what "
                            "tacit_prepare gave",
                            who);
}

static TI_NOINLINE tacit_status start_anew(tacit_context *ctx, tacit_prepared *p, const void *args)
{
    tacit_task task = description(p);
    const ti_shape *shape;
    task.args = args;
    TI_TRY(ti_submit(ctx, &task, true, &shape));
    p->place = ti_shapes_place_of(ctx->shapes, shape);
    return TACIT_OK;
}

tacit_status tacit_start(tacit_context *ctx, tacit_prepared *prepared, const void *args)
{
    TI_TRY(ti_context_begin(ctx, "tacit_start"));
    if (TI_UNLIKELY(!is_usable(ctx, prepared))) {
        return refuse(ctx, "tacit_start", prepared);
    }
    ti_passes_started(&ctx->passes, prepared->serial);
    const uint64_t task = ti_runtime_tasks(ctx->runtime) + 1;
    const ti_shape *shape = ti_shapes_at(ctx->shapes, &prepared->place, task);
    args = args ? args : prepared->args;
    if (TI_UNLIKELY(!shape)) {
        return start_anew(ctx, prepared, args);
    }
    ti_submit_again(ctx, shape, args);
    return TACIT_OK;
}

/* ---- the end */

static void end(tacit_prepared *p)
{
    *p->link = p->next;
    if (p->next) {
        p->next->link = p->link;
    }
    ti_free(p->memory, p->bytes);
    ti_handle_free(TI_HANDLE_PREPARED, p);
}

tacit_status tacit_prepared_destroy(tacit_context *ctx, tacit_prepared *prepared)
{
    TI_TRY(ti_check_context(ctx, "tacit_prepared_destroy"));
    if (!prepared) {
        return TACIT_OK;
    }
    TI_TRY(ti_context_check_thread(ctx));
    if (!is_usable(ctx, prepared)) {
        return refuse(ctx, "tacit_prepared_destroy", prepared);
    }
    end(prepared);
    return TACIT_OK;
}

void ti_free_all_prepared(tacit_context *ctx)
{
    while (ctx->prepared) {
        end(ctx->prepared);
    }
}
