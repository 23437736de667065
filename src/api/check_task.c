/* Checks of a task's description: see check_task.h. The rules for write mappers are in doc/model.md. */
#include "api/check_task.h"

#include "api/check_overlap.h"
#include "ir/reduction.h"

#include <stdio.h>

/* Where a check is: for its sentence. */
typedef struct place {
    tacit_context *ctx;
    const tacit_task *task;
    const tacit_access *access;
    uint32_t index;
    const char *name; /* of the task */
    bool mixes;       /* it reads what other items of it write */
} place;

enum { MAX_PRIORITY = 1000, MAX_WINDOW = 64 };
enum { MAX_SCALE = 1 << 14, MAX_ARGS = 1 << 24, MAX_VOLUME_BITS = 62, MAX_REDUCED_BITS = 34 };

static tacit_status refuse(const place *p, tacit_status status, const char *format, ...) TI_PRINTF(3, 4);

static tacit_status refuse(const place *p, tacit_status status, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return ti_context_error(p->ctx, status, "task '%s', access %u to buffer '%s': %s", p->name, p->index,
                            p->access->buffer->info->name, text);
}

/* ---- mappers */

/* The rules that only some kinds have. */
static tacit_status check_rules(const place *p, const ti_mapper_kind *kind)
{
    int arg = p->access->mapper.arg, dims = p->access->buffer->info->dims;
    if ((kind->rules & TI_ARG_IS_DIM) && (arg < 0 || arg >= dims)) {
        return refuse(p, TACIT_ERROR_DIMENSION, "%s(%d) of a buffer with %d dimensions", kind->name, arg, dims);
    }
    if ((kind->rules & TI_ARG_IS_HANDLE) && (arg < 0 || (size_t)arg >= p->ctx->mappers.count)) {
        return refuse(p, TACIT_ERROR_MAPPER, "there is no custom mapper %d; use the handle from tacit_mapper_create",
                      arg);
    }
    if ((kind->rules & TI_WRITES_ALIKE) && p->access->mode != TACIT_WRITE) {
        return refuse(p, TACIT_ERROR_MAPPER, "%s() is for tacit_write; read with tacit_all()", kind->name);
    }
    if ((kind->rules & TI_PLACED_WRITES) && ti_mode_writes(p->access->mode) && !ti_task_is_placed(p->task)) {
        return refuse(
            p, TACIT_ERROR_MAPPER,
            "every node would write the whole buffer; use tacit_replicated() if all compute the same, or place the "
            "task");
    }
    return TACIT_OK;
}

static tacit_status check_kind(const place *p)
{
    const ti_mapper_kind *kind = ti_mapper_kind_of(p->access->mapper.kind);
    int dims = p->access->buffer->info->dims, task_dims = p->task->range.dims;
    if (!kind) {
        return refuse(p, TACIT_ERROR_MAPPER, "there is no mapper of kind %d; use the tacit_* functions to make one",
                      p->access->mapper.kind);
    }
    if ((kind->rules & TI_EQUAL_DIMS) && dims != task_dims) {
        return refuse(p, TACIT_ERROR_DIMENSION,
                      "the mapper needs equal dimensions, but the task has %d and the buffer %d; use tacit_components",
                      task_dims, dims);
    }
    return kind->rules & ~(unsigned)TI_EQUAL_DIMS ? check_rules(p, kind) : TACIT_OK;
}

/* A negative halo shifts or shrinks. Where halos are sizes it comes from one that does not fit. */
static bool has_huge_halo(const tacit_mapper *m, const tacit_component *c)
{
    int64_t limit = (int64_t)1 << TI_MAX_ITEMS_BITS;
    bool may_shift = !ti_mapper_has_rule(m, TI_HALO_IS_SIZE) && (ti_component_rules(c) & TI_SHIFTS);
    int64_t least = may_shift ? -limit : 0;
    return c->lo < least || c->lo > limit || c->hi < least || c->hi > limit;
}

/* One item, one element, with no halo or one that is not huge, in a range that fits: what nearly all components are. */
static bool is_plain(const place *p, const tacit_component *c, int64_t n)
{
    const tacit_task *t = p->task;
    return ti_component_follows(c) && c->dim < t->range.dims && c->mul == 1 && c->div == 1 &&
           (uint64_t)c->lo <= (uint64_t)1 << TI_MAX_ITEMS_BITS && (uint64_t)c->hi <= (uint64_t)1 << TI_MAX_ITEMS_BITS &&
           t->offset[c->dim] + t->range.size[c->dim] <= (size_t)n;
}

/* What the range maps to must lie in the buffer, without the halo or shift, which is clamped, or with it. Where halos
 * are no sizes it may also leave the buffer, if every item touches some of it. */
static tacit_status check_reach(const place *p, const tacit_component *c, int64_t n, int d)
{
    int64_t a = (int64_t)p->task->offset[c->dim], b = a + (int64_t)p->task->range.size[c->dim];
    int64_t lo = a * c->mul / c->div, hi = ti_ceil_div(b * c->mul, c->div);
    bool is_inside = (lo >= 0 && hi <= n) || (lo - c->lo >= 0 && hi + c->hi <= n) || lo - c->lo >= hi + c->hi;
    bool shifts = !ti_mapper_has_rule(&p->access->mapper, TI_HALO_IS_SIZE) && (ti_component_rules(c) & TI_SHIFTS);
    if (is_inside ||
        (shifts && ti_ceil_div((a + 1) * c->mul, c->div) + c->hi > 0 && (b - 1) * c->mul / c->div - c->lo < n)) {
        return TACIT_OK;
    }
    bool shifted = c->lo + c->hi <= 0;
    return refuse(p, TACIT_ERROR_RANGE,
                  "the task's range maps to [%lld,%lld) in dimension %d, but the buffer is [0,%lld) there; only what "
                  "halos and shifts add is cut at its borders: make the range or the scale smaller, or the buffer "
                  "larger",
                  (long long)(lo - shifted * c->lo), (long long)(hi + shifted * c->hi), d, (long long)n);
}

/* The part of the buffer that a component names must lie in it; only halos and shifts may leave it, and are clamped. */
static tacit_status check_component(const place *p, int d)
{
    const tacit_component *c = &p->access->mapper.c[d];
    int64_t n = p->access->buffer->info->extent.max[d];
    if (is_plain(p, c, n) || c->kind == TACIT_COMPONENT_FULL || ti_mapper_spans_all(c)) {
        return TACIT_OK;
    }
    if (c->kind == TACIT_COMPONENT_SPAN) {
        if (c->lo < 0 || c->hi > n || c->lo > c->hi) {
            return refuse(p, TACIT_ERROR_RANGE, "the span [%lld,%lld) leaves dimension %d, which is [0,%lld)",
                          (long long)c->lo, (long long)c->hi, d, (long long)n);
        }
        return TACIT_OK;
    }
    if (!ti_component_follows(c)) {
        return refuse(
            p, TACIT_ERROR_MAPPER,
            "the component of dimension %d has kind %d; make one for every dimension of the buffer with tacit_full, "
            "tacit_span or tacit_dim",
            d, c->kind);
    }
    if (c->dim >= p->task->range.dims) {
        return refuse(p, TACIT_ERROR_DIMENSION,
                      "dimension %d of the buffer follows dimension %d of the task, which has %d", d, c->dim,
                      p->task->range.dims);
    }
    if (c->mul < 1 || c->div < 1 || c->mul > MAX_SCALE || c->div > MAX_SCALE) {
        return refuse(p, TACIT_ERROR_MAPPER, "the scale %d/%d in dimension %d; both must be 1 to %d", c->mul, c->div, d,
                      MAX_SCALE);
    }
    if (has_huge_halo(&p->access->mapper, c)) {
        return refuse(p, TACIT_ERROR_RANGE, "the halo in dimension %d is larger than 2^%d", d, TI_MAX_ITEMS_BITS);
    }
    return check_reach(p, c, n, d);
}

/* Every node does all of the range, so nodes would write the same elements, or contribute the same several times. */
static tacit_status check_everywhere(const place *p)
{
    if (p->access->mode == TACIT_REDUCE) {
        return refuse(p, TACIT_ERROR_ARGUMENT,
                      "every node would contribute all items, so the result would depend on their number; reduce in a "
                      "task that is split, or inside the kernel with MPI");
    }
    if (ti_mode_writes(p->access->mode) &&
        (p->access->mode != TACIT_WRITE || p->access->mapper.kind != TACIT_MAPPER_REPLICATED)) {
        return refuse(p, TACIT_ERROR_OVERLAP,
                      "every node would write the same elements; if all compute the same, use tacit_write with "
                      "tacit_replicated() (and tacit_read, if old contents matter), else a task that is split");
    }
    return TACIT_OK;
}

unsigned ti_unmapped_dims(const tacit_task *task, const tacit_access *access)
{
    bool used[3] = { false, false, false };
    unsigned unmapped = 0;
    for (int d = 0; d < access->buffer->info->dims; d++) {
        if (ti_component_follows(&access->mapper.c[d])) {
            used[access->mapper.c[d].dim] = true;
        }
    }
    for (int k = 0; k < task->range.dims; k++) {
        unmapped |= (unsigned)(!used[k] && task->range.size[k] > 1) << k;
    }
    return unmapped;
}

/* Several chunks must not write the same element, whatever the number of nodes. */
static tacit_status check_write(const place *p)
{
    const tacit_mapper *m = &p->access->mapper;
    bool used[3] = { false, false, false };
    if (ti_mapper_has_rule(m, TI_WRITES_ALIKE | TI_ARG_IS_HANDLE)) {
        return TACIT_OK;
    }
    for (int d = 0; d < p->access->buffer->info->dims; d++) {
        const tacit_component *c = &m->c[d];
        if (!ti_component_follows(c)) {
            continue;
        }
        if (used[c->dim]) {
            return refuse(p, TACIT_ERROR_MAPPER, "a write mapper uses dimension %d of the task twice; use each once",
                          c->dim);
        }
        if (c->lo + c->hi != 0) {
            return refuse(
                p, TACIT_ERROR_MAPPER,
                "chunks would write overlapping elements (halo of %lld and %lld in dimension %d); write without a halo",
                (long long)c->lo, (long long)c->hi, d);
        }
        if (c->div > 1 && (int64_t)p->task->offset[c->dim] * c->mul % c->div != 0) {
            return refuse(p, TACIT_ERROR_MAPPER,
                          "the range begins at %zu, which the scale %d/%d does not map to a whole element",
                          p->task->offset[c->dim], c->mul, c->div);
        }
        used[c->dim] = true;
    }
    int split_dims = ti_task_is_placed(p->task) ? 0 : p->task->hint.split == TACIT_SPLIT_2D ? 2 : 1;
    const unsigned shared = ti_unmapped_dims(p->task, p->access) & ((1u << split_dims) - 1);
    if (shared) {
        return refuse(
            p, TACIT_ERROR_OVERLAP,
            "the task is split along dimension %d, which the write mapper does not use, so nodes would write the same "
            "elements; map it, place the task on a node, or use tacit_replicated()",
            __builtin_ctz(shared));
    }
    return TACIT_OK;
}

static tacit_status check_user_op(const place *p)
{
    int handle = p->access->op.type;
    size_t elem = p->access->buffer->info->elem_size;
    if (handle < 0 || (size_t)handle >= p->ctx->ops.count) {
        return refuse(p, TACIT_ERROR_ARGUMENT, "there is no operator %d; use what tacit_op_create gave", handle);
    }
    if (p->ctx->ops.data[handle]->desc.elem_size != elem) {
        return refuse(p, TACIT_ERROR_ARGUMENT, "the operator is on %zu bytes, but an element has %zu",
                      p->ctx->ops.data[handle]->desc.elem_size, elem);
    }
    if (!p->ctx->ops.data[handle]->desc.commutative && p->task->hint.split == TACIT_SPLIT_2D) {
        return refuse(p, TACIT_ERROR_ARGUMENT,
                      "the operator is not commutative, which a 2D split cannot respect; use TACIT_SPLIT_1D");
    }
    return TACIT_OK;
}

static tacit_status check_reduction(const place *p)
{
    const ti_buffer_info *info = p->access->buffer->info;
    if (p->access->in_parts) {
        return refuse(p, TACIT_ERROR_ARGUMENT,
                      "a reduction has no parts: its view is a private copy of the whole buffer; leave tacit_in_parts "
                      "away");
    }
    if (ti_box_volume(&info->extent) > (int64_t)1 << MAX_REDUCED_BITS) {
        return refuse(
            p, TACIT_ERROR_RANGE,
            "a reduction into more than 2^%d elements, of which every worker needs its own; reduce into fewer",
            MAX_REDUCED_BITS);
    }
    if (p->access->op.kind == TACIT_OP_USER) {
        return check_user_op(p);
    }
    if (!ti_op_is_valid(p->access->op)) {
        return refuse(p, TACIT_ERROR_ARGUMENT, "the operator does not exist for type %s; see tacit_sum, tacit_min, ...",
                      ti_type_name(p->access->op.type));
    }
    if (ti_type_size(p->access->op.type) != info->elem_size) {
        return refuse(p, TACIT_ERROR_ARGUMENT, "the operator is on %s (%zu bytes), but an element has %zu bytes",
                      ti_type_name(p->access->op.type), ti_type_size(p->access->op.type), info->elem_size);
    }
    return TACIT_OK;
}

static tacit_status check_access(const place *p)
{
    if (p->access->mode < TACIT_READ || p->access->mode > TACIT_REDUCE) {
        return refuse(p, TACIT_ERROR_ARGUMENT,
                      "there is no access mode %d; use tacit_read, tacit_write, tacit_update or tacit_reduce",
                      p->access->mode);
    }
    if (p->task->on == TACIT_ON_EVERY_NODE) {
        TI_TRY(check_everywhere(p));
    }
    if (p->access->mode == TACIT_REDUCE) {
        return check_reduction(p);
    }
    TI_TRY(check_kind(p));
    bool custom = ti_mapper_has_rule(&p->access->mapper, TI_ARG_IS_HANDLE);
    for (int d = 0; !custom && d < p->access->buffer->info->dims; d++) {
        TI_TRY(check_component(p, d));
    }
    return ti_mode_writes(p->access->mode) ? check_write(p) : TACIT_OK;
}

/* ---- pairs of accesses */

/* Whether two mappers of a buffer with `dims` dimensions are the same function. */
static bool is_same_mapper(const tacit_mapper *a, const tacit_mapper *b, int dims)
{
    ti_mapper x[TI_MAPPER_PARTS], y[TI_MAPPER_PARTS]; /* a custom mapper is its handle */
    return ti_mapper_expand(a, dims, x) == 1 && ti_mapper_expand(b, dims, y) == 1 && ti_mapper_equal(x, y);
}

/* Whether what two accesses touch is apart along one dimension of the buffer, which is quick to see. */
static bool bounds_are_apart(const ti_box *range, const tacit_access *a, const tacit_access *b)
{
    for (int d = 0; d < a->buffer->info->dims; d++) {
        int64_t n = a->buffer->info->extent.max[d], lo[2], hi[2];
        const tacit_component *c[2] = { &a->mapper.c[d], &b->mapper.c[d] };
        for (int i = 0; i < 2; i++) {
            int k = ti_component_follows(c[i]) ? c[i]->dim : 0;
            ti_component_bounds(c[i], n, range->min[k], range->max[k], &lo[i], &hi[i]);
            hi[i] = ti_mapper_spans_all(c[i]) ? n : hi[i];
        }
        if (TI_MAX(lo[0], lo[1]) >= TI_MIN(hi[0], hi[1])) {
            return true;
        }
    }
    return false;
}

/* The same, for tiles. */
static inline bool tiles_are_apart(const tacit_access *a, const tacit_access *b)
{
    for (int d = 0; d < a->buffer->info->dims; d++) {
        const tacit_component *x = &a->mapper.c[d], *y = &b->mapper.c[d];
        if (x->kind != TACIT_COMPONENT_SPAN || y->kind != TACIT_COMPONENT_SPAN || x->hi < 0 || y->hi < 0) {
            return false;
        }
        if (TI_MAX(x->lo, y->lo) >= TI_MIN(x->hi, y->hi)) {
            return true;
        }
    }
    return false;
}

/* For what it touches; `part` has the mappers. */
static ti_access access_of(const place *p, const tacit_access *a, ti_mapper part[TI_MAPPER_PARTS])
{
    bool custom = ti_mapper_has_rule(&a->mapper, TI_ARG_IS_HANDLE);
    return (ti_access){ .buffer = a->buffer->info,
                        .mode = a->mode,
                        .mapper = part,
                        .mappers = (uint32_t)ti_mapper_expand(&a->mapper, a->buffer->info->dims, part),
                        .custom = custom ? p->ctx->mappers.data[a->mapper.arg] : NULL };
}

/* Whether the access and another one to its buffer touch some of the same elements, such as *where. What the whole
 * range touches is what its items touch, so nothing of this depends on the split. */
static bool meets(const place *p, const tacit_access *other, ti_box *where)
{
    ti_box range = ti_task_range(p->task);
    ti_mapper part[2][TI_MAPPER_PARTS];
    const ti_access a = access_of(p, p->access, part[0]), b = access_of(p, other, part[1]);
    return ti_accesses_meet(&a, &b, &range, where);
}

/* Two accesses of one task to one buffer, one of which writes: results would depend on the split unless both touch the
 * same elements, once, or different ones. What is replicated is written by every call of the kernel, so a later call
 * would read what an earlier one wrote. */
static tacit_status check_pair(place *p, uint32_t index)
{
    const tacit_access *a = p->access, *other = &p->task->access[index];
    bool is_reader = a->mode == TACIT_READ, reduces = a->mode == TACIT_REDUCE || other->mode == TACIT_REDUCE;
    const tacit_access *w = is_reader ? other : a;
    if (w->mode == TACIT_READ || (!reduces && tiles_are_apart(a, other))) {
        return TACIT_OK;
    }
    ti_box where = a->buffer->info->extent, range = ti_task_range(p->task);
    if (!reduces && bounds_are_apart(&range, a, other)) {
        return TACIT_OK;
    }
    if (!is_reader && other->mode != TACIT_READ) {
        if (!reduces && !meets(p, other, &where)) {
            return TACIT_OK;
        }
        return refuse(p, TACIT_ERROR_OVERLAP, "the task has two writing accesses to this buffer; merge them into one");
    }
    bool equal = is_same_mapper(&a->mapper, &other->mapper, a->buffer->info->dims);
    if (!reduces && ((equal && !ti_mapper_has_rule(&w->mapper, TI_WRITES_ALIKE)) || !meets(p, other, &where))) {
        return TACIT_OK;
    }
    p->mixes |= !equal;
    if (!reduces && (ti_task_is_placed(p->task) || p->task->on == TACIT_ON_EVERY_NODE)) {
        return TACIT_OK;
    }
    char text[TI_BOX_TEXT];
    return refuse(p, TACIT_ERROR_OVERLAP,
                  "access %u reads %s, which access %u may write for other items, so results would depend on the "
                  "split; let them touch different elements, read with the mapper that writes, or write to a second "
                  "buffer and swap",
                  is_reader ? p->index : index, ti_box_format(&where, TI_MAX(a->buffer->info->dims, 1), text),
                  is_reader ? index : p->index);
}

/* ---- the task */

static tacit_status check_range(tacit_context *ctx, const tacit_task *t, const char *name, bool *is_empty)
{
    if (t->range.dims < 0 || t->range.dims > TACIT_MAX_DIMS) {
        return ti_context_error(ctx, TACIT_ERROR_DIMENSION, "task '%s' has %d dimensions; use 0 to 3", name,
                                t->range.dims);
    }
    size_t items = 1;
    bool overflow = false;
    for (int d = 0; d < t->range.dims; d++) {
        size_t limit = (size_t)1 << TI_MAX_ITEMS_BITS;
        overflow |= __builtin_mul_overflow(items, t->range.size[d], &items);
        if (t->range.size[d] > limit || t->offset[d] > limit || t->hint.granularity[d] > limit) {
            return ti_context_error(
                ctx, TACIT_ERROR_RANGE,
                "task '%s' has more than 2^%d items in dimension %d; check its range, offset and granularity", name,
                TI_MAX_ITEMS_BITS, d);
        }
    }
    if (overflow || items > (size_t)1 << MAX_VOLUME_BITS) {
        return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                "task '%s' has more than 2^%d items in all; check the sizes of its range", name,
                                MAX_VOLUME_BITS);
    }
    *is_empty = items == 0;
    return TACIT_OK;
}

static tacit_status check_where(tacit_context *ctx, const tacit_task *t, const char *name)
{
    int nodes = ti_runtime_system(ctx->runtime)->num_nodes;
    if (t->place.kind == TACIT_PLACE_NODE && (t->place.arg < 0 || t->place.arg >= nodes)) {
        return ti_context_error(ctx, TACIT_ERROR_RANGE, "task '%s' is placed on node %d, but the run has nodes 0 to %d",
                                name, t->place.arg, nodes - 1);
    }
    if (t->place.kind < TACIT_PLACE_SPLIT || t->place.kind > TACIT_PLACE_OWNER) {
        return ti_context_error(
            ctx, TACIT_ERROR_ARGUMENT,
            "task '%s': there is no placement of kind %d; use tacit_place_node or tacit_place_owner", name,
            t->place.kind);
    }
    if (t->on < TACIT_ON_DEVICES || t->on > TACIT_ON_EVERY_NODE) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s': there is no .on = %d; use TACIT_ON_DEVICES, TACIT_ON_HOST, "
                                "TACIT_ON_ONE_NODE or TACIT_ON_EVERY_NODE",
                                name, (int)t->on);
    }
    if (t->on == TACIT_ON_EVERY_NODE && t->place.kind != TACIT_PLACE_SPLIT) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s' is on every node and placed on one; take .place out, or use "
                                "TACIT_ON_ONE_NODE",
                                name);
    }
    return TACIT_OK;
}

static bool has_opencl(const tacit_task *t)
{
    return t->kernel.opencl.launch || t->kernel.opencl.source;
}

static bool has_cuda(const tacit_task *t)
{
    return t->kernel.cuda.launch || t->kernel.cuda.source;
}

static bool has_reduction(const tacit_task *t)
{
    for (int i = 0; i < TACIT_MAX_ACCESSES && t->access[i].mode != 0; i++) {
        if (t->access[i].mode == TACIT_REDUCE) {
            return true;
        }
    }
    return false;
}

/* Why the kernels that a task has besides `host` cannot run here. NULL: they can. */
static const char *why_not_elsewhere(const tacit_context *ctx, const tacit_task *t)
{
    if (t->on != TACIT_ON_DEVICES) {
        return ", and host tasks need one";
    }
    const int kind = ti_runtime_system(ctx->runtime)->accelerator;
    const bool is_function = kind == TI_CUDA ? t->kernel.cuda.launch != NULL : t->kernel.opencl.launch != NULL;
    if (has_reduction(t) && (ctx->reproducible || is_function)) {
        return ctx->reproducible ? ", which reductions need with TACIT_REPRODUCIBLE"
                                 : ", which reductions need where .launch is the device's";
    }
    return (kind == TI_OPENCL && has_opencl(t)) || (kind == TI_CUDA && has_cuda(t))
               ? NULL
               : ", and TACIT_DEVICES names no device of this node that it has a kernel for";
}

static tacit_status check_kernel(tacit_context *ctx, const tacit_task *t, const char *name)
{
    const bool other = has_opencl(t) || has_cuda(t);
    const char *why = t->kernel.host ? NULL : !other ? "" : why_not_elsewhere(ctx, t);
    if (why) {
        return ti_context_error(ctx, other ? TACIT_ERROR_UNSUPPORTED : TACIT_ERROR_ARGUMENT,
                                "task '%s' has no host kernel%s; set .kernel = { .host = FUNCTION }", name, why);
    }
    if (t->kernel.opencl.source && !t->kernel.opencl.entry && !t->kernel.opencl.launch) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s' has an OpenCL source, but no .entry; name the kernel in it", name);
    }
    if (t->kernel.cuda.source && !t->kernel.cuda.entry && !t->kernel.cuda.launch) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s' has a CUDA source, but no .entry; name the kernel in it", name);
    }
    return TACIT_OK;
}

/* Items have weights along dimension 0 only. */
static tacit_status check_item_weights(tacit_context *ctx, const tacit_task *t, const char *name)
{
    const tacit_hints *h = &t->hint;
    char who[200];
    snprintf(who, sizeof(who), "task '%.150s', hint .item_weights", name);
    TI_TRY(ti_check_weights(ctx, who, h->item_weights));
    if (h->split == TACIT_SPLIT_2D) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "%s: a 2D split cuts two dimensions, and weights are for items along one; use "
                                "TACIT_SPLIT_1D",
                                who);
    }
    size_t end = t->range.dims > 0 ? t->offset[0] + t->range.size[0] : 0;
    if (end > (size_t)h->item_weights->values.count) {
        return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                "%s: there are %lld weights, but the items along dimension 0 are [%zu,%zu); give a "
                                "weight for each, counted from item 0",
                                who, (long long)h->item_weights->values.count, t->offset[0], end);
    }
    return TACIT_OK;
}

static tacit_status check_hints(tacit_context *ctx, const tacit_task *t, const char *name)
{
    const tacit_hints *h = &t->hint;
    if (h->split < TACIT_SPLIT_DEFAULT || h->split > TACIT_SPLIT_2D || h->oversubscribe < 0 ||
        h->oversubscribe > 1024) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s': hint .split must be TACIT_SPLIT_1D or 2D, .oversubscribe 0 to 1024", name);
    }
    if (h->priority < -MAX_PRIORITY || h->priority > MAX_PRIORITY) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "task '%s': hint .priority is %d; use -%d to %d", name,
                                h->priority, MAX_PRIORITY, MAX_PRIORITY);
    }
    if (h->window < 0 || h->window > MAX_WINDOW) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "task '%s': hint .window is %d; use 0 to %d tasks", name,
                                h->window, MAX_WINDOW);
    }
    if (TI_UNLIKELY(!(t->cost >= 0) || t->cost > 1e18)) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s': .cost is %g ns per item; give a number from 0 to 1e18", name, t->cost);
    }
    if (h->weights && h->split == TACIT_SPLIT_2D) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "task '%s': hint .weights needs a 1D split", name);
    }
    if (TI_UNLIKELY(h->item_weights != NULL)) {
        TI_TRY(check_item_weights(ctx, t, name));
    }
    if (t->args_size && !t->args) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s': .args is NULL, but .args_size is %zu; use TACIT_ARGS(x)", name,
                                t->args_size);
    }
    if (t->args_size > MAX_ARGS) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s': .args_size is %zu bytes, but may be at most %d; put so much into a buffer",
                                name, t->args_size, MAX_ARGS);
    }
    return TACIT_OK;
}

/* One comparison for the many tasks that name none. */
static bool names_objects(const tacit_task *t)
{
    uintptr_t any = 0;
    for (int i = 0; i < TACIT_MAX_HOST_OBJECTS; i++) {
        any |= (uintptr_t)t->host_object[i];
    }
    return any != 0;
}

static tacit_status check_objects(tacit_context *ctx, const tacit_task *t, const char *name)
{
    if (t->on == TACIT_ON_DEVICES) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s' names a host object, but runs on devices; set .on = TACIT_ON_HOST, "
                                "TACIT_ON_ONE_NODE or TACIT_ON_EVERY_NODE",
                                name);
    }
    for (int i = 0; i < TACIT_MAX_HOST_OBJECTS; i++) {
        const tacit_host_object *object = t->host_object[i];
        if (!object) {
            continue;
        }
        if (!ti_handle_is_live(TI_HANDLE_OBJECT, object) || object->context != ctx || !object->live) {
            return ti_context_error(ctx, TACIT_ERROR_STATE,
                                    "task '%s', host object %d: it is destroyed or belongs to another context", name,
                                    i);
        }
    }
    return TACIT_OK;
}

static tacit_status check_group(tacit_context *ctx, const tacit_task *t, const char *name)
{
    const tacit_collective_group *group = t->group;
    if (t->on != TACIT_ON_EVERY_NODE) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s': .group is for collective host tasks; set .on = TACIT_ON_EVERY_NODE, or no "
                                "group",
                                name);
    }
    if (!ti_handle_is_live(TI_HANDLE_GROUP, group) || group->context != ctx || !group->live) {
        return ti_context_error(ctx, TACIT_ERROR_STATE,
                                "task '%s': its group is destroyed or belongs to another context", name);
    }
    return TACIT_OK;
}

static tacit_status check_buffer(const place *p)
{
    if (TI_LIKELY(ti_buffer_is_usable(p->ctx, p->access->buffer))) {
        return TACIT_OK;
    }
    char who[200];
    snprintf(who, sizeof(who), "task '%.150s', access %u", p->name, p->index);
    return ti_check_buffer(p->ctx, who, p->access->buffer);
}

tacit_status ti_check_task(tacit_context *ctx, const tacit_task *t, ti_checked *out)
{
    place p = { .ctx = ctx, .task = t, .name = t->name ? t->name : "(no name)" };
    TI_TRY(check_range(ctx, t, p.name, &out->is_empty));
    TI_TRY(check_where(ctx, t, p.name));
    TI_TRY(check_kernel(ctx, t, p.name));
    TI_TRY(check_hints(ctx, t, p.name));
    if (TI_UNLIKELY(names_objects(t))) {
        TI_TRY(check_objects(ctx, t, p.name));
    }
    if (TI_UNLIKELY(t->group != NULL)) {
        TI_TRY(check_group(ctx, t, p.name));
    }
    for (p.index = 0; p.index < TACIT_MAX_ACCESSES && t->access[p.index].mode != 0; p.index++) {
        p.access = &t->access[p.index];
        TI_TRY(check_buffer(&p));
        TI_TRY(check_access(&p));
        for (uint32_t i = 0; i < p.index; i++) {
            if (t->access[i].buffer == p.access->buffer) {
                TI_TRY(check_pair(&p, i));
            }
        }
    }
    if (p.index == TACIT_MAX_ACCESSES && t->access[p.index].mode != 0) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s' has more than %d accesses; merge some, or submit two tasks", p.name,
                                TACIT_MAX_ACCESSES);
    }
    out->accesses = p.index;
    out->mixes = p.mixes;
    if (t->place.kind == TACIT_PLACE_OWNER && (t->place.arg < 0 || (uint32_t)t->place.arg >= p.index)) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "task '%s' is placed on the owner of access %d, but it has %u accesses, counted from 0",
                                p.name, t->place.arg, p.index);
    }
    return TACIT_OK;
}

tacit_status ti_check_box(tacit_context *ctx, const char *who, const tacit_buffer *buffer, tacit_box box, ti_box *out)
{
    const ti_buffer_info *info = buffer->info;
    *out = ti_box_from(&box);
    for (int d = 0; d < 3; d++) {
        bool all = box.min[d] == 0 && box.max[d] == SIZE_MAX;
        out->max[d] = all ? info->extent.max[d] : out->max[d];
    }
    if (ti_box_is_empty(out) || !ti_box_covers(&info->extent, out)) {
        char text[TI_BOX_TEXT], whole[TI_BOX_TEXT];
        return ti_context_error(
            ctx, TACIT_ERROR_RANGE,
            "%s: the box %s is empty or leaves buffer '%s', which is %s; use TACIT_BOX_ALL for all of it", who,
            ti_box_format(out, TI_MAX(info->dims, 1), text), info->name,
            ti_box_format(&info->extent, TI_MAX(info->dims, 1), whole));
    }
    return TACIT_OK;
}
