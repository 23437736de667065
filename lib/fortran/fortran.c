/* What the Fortran module calls (tacit.F90): arrays by their descriptors, dimensions the other way round,
 * indices from 1.
 *
 * Fortran stores the first index next to each other, tacit the last: dimension d of an array of rank n is the
 * buffer's dimension n - d. Elements lie in memory as Fortran has them, and nothing is ever transposed. Calls:
 * application thread; what kernels call: any. */
#define _POSIX_C_SOURCE 200809L

#include <ISO_Fortran_binding.h>
#include <stdlib.h>
#include <string.h>

#include "tacit/bind.h"
#include "tacit/layer.h"

enum { MAX = TACIT_MAX_DIMS };

/* An access, as the module has it (tacit_access there). */
typedef struct access {
    tacit_buffer *buffer;
    int32_t mode;   /* TACIT_READ, ...; reductions: TACIT_REDUCE */
    int32_t mapper; /* TACIT_MAPPER_...; reductions: the operator */
    int64_t arg[2 * MAX];
} access;

/* Where and how a task runs, likewise. */
typedef struct how {
    int on, split, node, owner, priority; /* node, owner: -1: not given */
    bool pure, whole_chunk;
    const void *args;
    tacit_weights *item_weights;
    size_t args_size;
    const struct program *opencl, *cuda; /* NULL: none */
} how;

/* A kernel for accelerators. */
typedef struct program {
    char *source, *entry;
    int64_t group[MAX]; /* as Fortran has dimensions; zeros: the driver's choice */
} program;

tacit_status tacit_fortran_buffer_create(tacit_context *ctx, const char *name, int rank, const int64_t *shape,
                                         size_t elem_size, const CFI_cdesc_t *init, tacit_buffer **out);
tacit_status tacit_fortran_read(tacit_context *ctx, tacit_buffer *buffer, CFI_cdesc_t *array);
tacit_status tacit_fortran_submit(tacit_context *ctx, const char *name, int rank, const int64_t *shape,
                                  tacit_host_kernel *kernel, int accesses, const access *list, const how *h);
tacit_status tacit_fortran_fill(tacit_context *ctx, tacit_buffer *buffer, const CFI_cdesc_t *value);
tacit_status tacit_fortran_resize(tacit_context *ctx, tacit_buffer *buffer, int rank, const int64_t *shape);
tacit_status tacit_fortran_weights_create(tacit_context *ctx, int64_t count, const int64_t *weight,
                                          tacit_weights **out);
typedef void tacit_fortran_mapping(const int64_t *lower, const int64_t *upper, const int64_t *shape, void *data,
                                   void *answer);
tacit_status tacit_fortran_mapper_create(tacit_context *ctx, tacit_fortran_mapping *function, int rank, void *data,
                                         bool constant, int *handle);
void tacit_fortran_add_box(void *answer, const int64_t *lower, const int64_t *upper);
program *tacit_fortran_program_create(const char *source, const char *entry, int groups, const int64_t *group);
void tacit_fortran_program_destroy(program *p);
void tacit_fortran_chunk(const tacit_launch *k, int64_t *lower, int64_t *upper);
const void *tacit_fortran_args(const tacit_launch *k);
int tacit_fortran_launch_node(const tacit_launch *k);
void *tacit_fortran_view(const tacit_launch *k, int index, int64_t *shape, int64_t *lower, int64_t *count);
int tacit_fortran_view_elem_size(const tacit_launch *k, int index);

static tacit_range range_of(int rank, const int64_t *shape)
{
    tacit_range r = { { 1, 1, 1 }, rank };
    for (int d = 0; d < rank && rank <= MAX; d++) {
        r.size[d] = (size_t)shape[rank - 1 - d];
    }
    return r;
}

static bool has_shape(const CFI_cdesc_t *array, const tacit_range *range)
{
    bool same = array->rank == range->dims;
    for (int d = 0; same && d < range->dims; d++) {
        same = (size_t)array->dim[range->dims - 1 - d].extent == range->size[d];
    }
    return same;
}

tacit_status tacit_fortran_buffer_create(tacit_context *ctx, const char *name, int rank, const int64_t *shape,
                                         size_t elem_size, const CFI_cdesc_t *init, tacit_buffer **out)
{
    const tacit_buffer_desc desc = {
        .name = name, .range = range_of(rank, shape), .elem_size = elem_size, .init = init ? init->base_addr : NULL
    };
    if (init && (!has_shape(init, &desc.range) || init->elem_len != elem_size)) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT, "buffer '%s': init has another shape or type than the buffer",
                            name);
    }
    return tacit_buffer_create(ctx, &desc, out);
}

tacit_status tacit_fortran_read(tacit_context *ctx, tacit_buffer *buffer, CFI_cdesc_t *array)
{
    tacit_buffer_facts facts;
    const tacit_status status = tacit_buffer_get_facts(ctx, buffer, &facts);
    if (status) {
        return status;
    }
    if (array->elem_len != facts.elem_size || !has_shape(array, &facts.range)) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT,
                            "tacit_read: the array has another shape or type than buffer '%s'", facts.name);
    }
    return tacit_fence_read(ctx, buffer, TACIT_BOX_ALL, array->base_addr);
}

/* ---- accesses */

/* Extents for the dimensions of a buffer of this rank. */
static void turn(const int64_t *arg, int rank, size_t *out)
{
    for (int d = 0; d < MAX; d++) {
        out[d] = d < rank ? (size_t)arg[rank - 1 - d] : 0;
    }
}

static tacit_mapper mapper_of(const access *a, int rank)
{
    size_t e[MAX];
    int p[MAX] = { 0, 1, 2 };
    tacit_box box = tacit_box3(0, 1, 0, 1, 0, 1);
    turn(a->arg, rank, e);
    switch (a->mapper) {
    case TACIT_MAPPER_CUSTOM:
        return tacit_custom((int)a->arg[0]);
    case TACIT_MAPPER_ALL:
        return tacit_all();
    case TACIT_MAPPER_REPLICATED:
        return tacit_replicated();
    case TACIT_MAPPER_SLICE:
        return tacit_slice(rank - (int)a->arg[0]);
    case TACIT_MAPPER_NEIGHBORHOOD:
        return tacit_neighborhood(e[0], e[1], e[2]);
    case TACIT_MAPPER_STAR:
        return tacit_star(e[0], e[1], e[2]);
    case TACIT_MAPPER_PERIODIC:
        return tacit_periodic(e[0], e[1], e[2]);
    case TACIT_MAPPER_FIXED:
        for (int d = 0; d < rank; d++) { /* from 1, the last one included */
            box.min[d] = (size_t)(a->arg[rank - 1 - d] - 1);
            box.max[d] = (size_t)a->arg[MAX + rank - 1 - d];
        }
        return tacit_fixed(box);
    case TACIT_MAPPER_TRANSPOSED:
        for (int d = 0; d < rank; d++) {
            p[d] = rank - (int)a->arg[rank - 1 - d];
        }
        return tacit_transposed(p[0], p[1], p[2]);
    default:
        return tacit_one_to_one();
    }
}

static tacit_status access_of(tacit_context *ctx, const access *a, tacit_access *out)
{
    tacit_buffer_facts facts;
    const tacit_status status = tacit_buffer_get_facts(ctx, a->buffer, &facts);
    if (status) {
        return status;
    }
    if (a->mode == TACIT_REDUCE) {
        *out = tacit_reduce(a->buffer, tacit_op_make(a->mapper, (tacit_type)a->arg[0]));
    } else {
        *out = tacit_access_make(a->buffer, a->mode, mapper_of(a, facts.range.dims));
    }
    return TACIT_OK;
}

/* ---- tasks */

program *tacit_fortran_program_create(const char *source, const char *entry, int groups, const int64_t *group)
{
    program *p = calloc(1, sizeof(*p));
    if (p) {
        p->source = strdup(source);
        p->entry = strdup(entry);
        memcpy(p->group, group, (size_t)(groups < MAX ? groups : MAX) * sizeof(*group));
    }
    if (p && (!p->source || !p->entry)) {
        tacit_fortran_program_destroy(p);
        p = NULL;
    }
    return p;
}

void tacit_fortran_program_destroy(program *p)
{
    if (p) {
        free(p->source);
        free(p->entry);
        free(p);
    }
}

static void take_programs(const how *h, int rank, tacit_kernel *kernel)
{
    if (h->opencl) {
        kernel->opencl.source = h->opencl->source;
        kernel->opencl.entry = h->opencl->entry;
        turn(h->opencl->group, rank, kernel->opencl.group);
    }
    if (h->cuda) {
        kernel->cuda.source = h->cuda->source;
        kernel->cuda.entry = h->cuda->entry;
        turn(h->cuda->group, rank, kernel->cuda.group);
    }
}

static tacit_status check_submission(tacit_context *ctx, const char *name, int accesses, const how *h)
{
    if (accesses > TACIT_MAX_ACCESSES) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT, "task '%s': at most %d accesses", name, TACIT_MAX_ACCESSES);
    }
    if ((h->args != NULL) != (h->args_size > 0)) {
        return tacit_refuse(
            ctx, TACIT_ERROR_ARGUMENT,
            "task '%s': args and args_size belong together; give args=c_loc(x), args_size=storage_size(x) / 8", name);
    }
    if (h->node >= 0 && h->owner >= 0) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT, "task '%s': give node or owner, not both", name);
    }
    return TACIT_OK;
}

tacit_status tacit_fortran_submit(tacit_context *ctx, const char *name, int rank, const int64_t *shape,
                                  tacit_host_kernel *kernel, int accesses, const access *list, const how *h)
{
    const tacit_status wrong = check_submission(ctx, name, accesses, h);
    if (wrong) {
        return wrong;
    }
    tacit_task task = { .name = name,
                        .range = range_of(rank, shape),
                        .kernel.host = kernel,
                        .on = (tacit_on)h->on,
                        .args = h->args,
                        .args_size = h->args_size,
                        .hint = { .split = h->split,
                                  .item_weights = h->item_weights,
                                  .priority = h->priority,
                                  .pure = h->pure,
                                  .whole_chunk = h->whole_chunk } };
    take_programs(h, rank, &task.kernel);
    if (h->node >= 0) {
        task.place = tacit_place_node(h->node);
    } else if (h->owner >= 0) {
        task.place = tacit_place_owner(h->owner - 1);
    }
    for (int i = 0; i < accesses; i++) {
        const tacit_status status = access_of(ctx, &list[i], &task.access[i]);
        if (status) {
            return status;
        }
    }
    return tacit_submit(ctx, &task);
}

tacit_status tacit_fortran_fill(tacit_context *ctx, tacit_buffer *buffer, const CFI_cdesc_t *value)
{
    tacit_buffer_facts facts;
    const tacit_status status = tacit_buffer_get_facts(ctx, buffer, &facts);
    if (status) {
        return status;
    }
    if (value->rank != 0 || value->elem_len != facts.elem_size) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT,
                            "tacit_fill: the value is not one element of buffer '%s', which has %zu bytes", facts.name,
                            facts.elem_size);
    }
    return tacit_fill(ctx, buffer, value->base_addr);
}

tacit_status tacit_fortran_resize(tacit_context *ctx, tacit_buffer *buffer, int rank, const int64_t *shape)
{
    return tacit_buffer_resize(ctx, buffer, range_of(rank, shape));
}

tacit_status tacit_fortran_weights_create(tacit_context *ctx, int64_t count, const int64_t *weight, tacit_weights **out)
{
    for (int64_t i = 0; i < count; i++) {
        if (weight[i] < 0) {
            return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT,
                                "tacit_weights_create: weight %lld is %lld; weights are not negative", (long long)i + 1,
                                (long long)weight[i]);
        }
    }
    return tacit_weights_create(ctx, (size_t)count, (const uint64_t *)weight, out);
}

/* ---- custom mappers */

typedef struct mapping {
    tacit_fortran_mapping *function;
    void *data;
    int rank; /* of the tasks */
} mapping;

typedef struct answer {
    tacit_region *region;
    int rank; /* of the buffer */
} answer;

/* Indices of dimensions in Fortran's order, from 1, the last one included. */
static void turn_box(const tacit_box *box, int rank, int64_t *lower, int64_t *upper)
{
    for (int d = 0; d < MAX; d++) {
        lower[d] = d < rank ? (int64_t)box->min[rank - 1 - d] + 1 : 1;
        upper[d] = d < rank ? (int64_t)box->max[rank - 1 - d] : 1;
    }
}

static void map(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const mapping *m = user;
    int64_t lower[MAX], upper[MAX], shape[MAX];
    answer a = { out, range->dims };
    turn_box(chunk, m->rank, lower, upper);
    for (int d = 0; d < MAX; d++) {
        shape[d] = d < range->dims ? (int64_t)range->size[range->dims - 1 - d] : 1;
    }
    m->function(lower, upper, shape, m->data, &a);
}

tacit_status tacit_fortran_mapper_create(tacit_context *ctx, tacit_fortran_mapping *function, int rank, void *data,
                                         bool constant, int *handle)
{
    const mapping m = { function, data, rank };
    if (rank < 1 || rank > MAX) {
        return tacit_refuse(ctx, TACIT_ERROR_DIMENSION,
                            "tacit_mapper_create: rank is %d; give the number of dimensions of the tasks, 1 to %d",
                            rank, MAX);
    }
    return tacit_mapper_create(ctx, map, &m, sizeof(m), constant ? TACIT_MAPPER_CONSTANT : 0, handle);
}

void tacit_fortran_add_box(void *to, const int64_t *lower, const int64_t *upper)
{
    const answer *a = to;
    tacit_box box = tacit_box3(0, 1, 0, 1, 0, 1);
    for (int d = 0; d < a->rank; d++) {
        const int64_t first = lower[a->rank - 1 - d], last = upper[a->rank - 1 - d];
        box.min[d] = first > 1 ? (size_t)first - 1 : 0;
        box.max[d] = last > 0 ? (size_t)last : 0;
    }
    tacit_region_add(a->region, box);
}

/* ---- in kernels */

void tacit_fortran_chunk(const tacit_launch *k, int64_t *lower, int64_t *upper)
{
    turn_box(&k->chunk, k->dims, lower, upper);
}

const void *tacit_fortran_args(const tacit_launch *k)
{
    return k->args;
}

int tacit_fortran_launch_node(const tacit_launch *k)
{
    return k->node;
}

/* The memory that a view lies in, as an array of `shape`; its first `count` elements in each dimension are the view,
 * whose indices begin with `lower`. */
void *tacit_fortran_view(const tacit_launch *k, int index, int64_t *shape, int64_t *lower, int64_t *count)
{
    const tacit_view *v = &k->view[index - 1];
    for (int d = 0; d < MAX; d++) {
        const int own = v->dims - 1 - d; /* the buffer's */
        lower[d] = own >= 0 ? (int64_t)v->box.min[own] + 1 : 1;
        count[d] = own >= 0 ? (int64_t)(v->box.max[own] - v->box.min[own]) : 1;
        shape[d] = own >= 1 ? (int64_t)(v->stride[own - 1] / v->stride[own]) : count[d];
    }
    return v->data;
}

int tacit_fortran_view_elem_size(const tacit_launch *k, int index)
{
    return index >= 1 && index <= k->num_views ? (int)k->view[index - 1].elem_size : 0;
}
