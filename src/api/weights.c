/* Weights of items that tasks are split by (`.item_weights`, tacit/task.h), and the weights of nodes of TACIT_BALANCE.
 * Application thread.
 *
 * Equal weights are one object, so that a loop that makes them anew, and finds the same, submits the same description
 * again. Tasks use the table of sums (grid/weights.h) until they have been executed; so what is destroyed stays until
 * then. */
#include "api/context.h"
#include "api/shapes.h"

static tacit_weights *find_equal(const tacit_context *ctx, const ti_weights *values)
{
    for (tacit_weights *w = ctx->weights; w; w = w->next) {
        if (w->uses && ti_weights_equal(&w->values, values)) {
            return w;
        }
    }
    return NULL;
}

static tacit_status say_why(tacit_context *ctx, ti_weights_status status, size_t count)
{
    if (status == TI_WEIGHTS_TOO_MUCH) {
        return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                "tacit_weights_create: the sum of the weights is larger than 2^%d; divide them all by "
                                "the same number",
                                TI_WEIGHTS_BITS);
    }
    return ti_context_no_memory(ctx, "tacit_weights_create: no memory for the weights of %zu items; check count",
                                count);
}

static tacit_status check_count(tacit_context *ctx, size_t count)
{
    if (count == 0 || count > (size_t)1 << TI_MAX_ITEMS_BITS) {
        return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                "tacit_weights_create: count is %zu; give the weights of 1 to 2^%d items", count,
                                TI_MAX_ITEMS_BITS);
    }
    return TACIT_OK;
}

static tacit_weights *keep(tacit_context *ctx, ti_weights *values)
{
    tacit_weights *w = find_equal(ctx, values);
    if (w) {
        ti_weights_fini(values);
        return w;
    }
    w = TI_HANDLE_NEW(tacit_weights, TI_HANDLE_WEIGHTS);
    w->context = ctx;
    w->values = *values;
    w->next = ctx->weights;
    ctx->weights = w;
    return w;
}

tacit_status tacit_weights_create(tacit_context *ctx, size_t count, const uint64_t *weight, tacit_weights **out)
{
    TI_TRY(ti_context_begin(ctx, "tacit_weights_create"));
    if (!weight || !out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_weights_create: %s is NULL",
                                weight ? "out" : "weight");
    }
    TI_TRY(check_count(ctx, count));
    ti_free_retired_weights(ctx);
    ti_weights values;
    ti_weights_status status = ti_weights_init(&values, weight, count);
    if (status != TI_WEIGHTS_OK) {
        return say_why(ctx, status, count);
    }
    ti_runtime_note(ctx->runtime, TI_SUBMITTED_WEIGHTS, count, values.hash, 0);
    *out = keep(ctx, &values);
    (*out)->uses++;
    return TACIT_OK;
}

tacit_status ti_check_weights(tacit_context *ctx, const char *who, const tacit_weights *weights)
{
    if (ti_handle_is_live(TI_HANDLE_WEIGHTS, weights) && weights->context == ctx && weights->uses) {
        return TACIT_OK;
    }
    return ti_context_error(ctx, TACIT_ERROR_STATE,
                            "%s: the weights are destroyed, belong to another context, or are not what "
                            "tacit_weights_create gave",
                            who);
}

tacit_status tacit_weights_destroy(tacit_context *ctx, tacit_weights *weights)
{
    TI_TRY(ti_check_context(ctx, "tacit_weights_destroy"));
    if (!weights) {
        return TACIT_OK;
    }
    TI_TRY(ti_context_check_thread(ctx));
    TI_TRY(ti_check_weights(ctx, "tacit_weights_destroy", weights));
    if (--weights->uses == 0) {
        ti_shapes_forget_weights(ctx->shapes, &weights->values);
        weights->destroyed_by = ti_task_graph_tasks(ti_runtime_task_graph(ctx->runtime));
    }
    ti_free_retired_weights(ctx);
    return TACIT_OK;
}

const uint32_t *ti_shares_of_nodes(const tacit_context *ctx, ti_arena *arena)
{
    const uint32_t *weights = ti_balance_weights(ti_runtime_balance(ctx->runtime));
    return weights ? ti_arena_copy(arena, weights, (size_t)tacit_num_nodes(ctx) * sizeof(*weights)) : NULL;
}

static void free_where(tacit_context *ctx, bool all)
{
    uint64_t executed = all ? 0 : ti_runtime_executed(ctx->runtime);
    for (tacit_weights **at = &ctx->weights; *at;) {
        tacit_weights *w = *at;
        if (!all && (w->uses || w->destroyed_by >= executed)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        ti_weights_fini(&w->values);
        ti_handle_free(TI_HANDLE_WEIGHTS, w);
    }
}

void ti_free_retired_weights(tacit_context *ctx)
{
    free_where(ctx, false);
}

void ti_free_all_weights(tacit_context *ctx)
{
    free_where(ctx, true);
}
