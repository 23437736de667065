/* Kernels on streams: see launch.h.
 *
 * A function of the task (.cuda.launch) starts what it wants to. A kernel in CUDA C gets parameters in the order that
 * doc/devices.md gives; drivers from 12.4 on tell how many it has and how large they are, which is compared. */
#include "device/cuda/launch.h"

#include "base/check.h"
#include "device/kernel_text.h"

#include <limits.h>

/* What a driver takes in one launch, in its second and third dimension; in the first it is more than tasks have. */
enum { MAX_GROUPS = 65535 };
/* Beyond it a kernel must ask for shared memory. */
enum { SHARED_UNASKED = 48 * 1024 };
/* A pointer and a view each, items, arguments, scratch memory. */
enum { MAX_PARAMETERS = 2 * TACIT_MAX_ACCESSES + 3 };

typedef struct parameters {
    void *at[MAX_PARAMETERS];
    size_t bytes[MAX_PARAMETERS];
    size_t count;
    void *data[TACIT_MAX_ACCESSES];
    ti_text_view view[TACIT_MAX_ACCESSES];
    ti_text_items items;
    char none;
} parameters;

static void add(parameters *p, void *at, size_t bytes)
{
    TI_ASSERT(p->count < MAX_PARAMETERS);
    p->at[p->count] = at;
    p->bytes[p->count++] = bytes;
}

static void collect(parameters *p, const ti_device_kernel *job)
{
    const tacit_launch *l = &job->launch;
    p->count = 0;
    for (int i = 0; i < l->num_views; i++) {
        p->data[i] = l->view[i].data;
        p->view[i] = ti_text_view_of(&l->view[i], 0);
        add(p, &p->data[i], sizeof(p->data[i]));
        add(p, &p->view[i], sizeof(p->view[i]));
    }
    p->items = ti_text_items_of(&l->chunk);
    add(p, &p->items, sizeof(p->items));
    if (l->args_size > 0) {
        add(p, (void *)(uintptr_t)l->args, l->args_size); /* only read */
    }
    if (job->kernel->cuda.local_bytes > 0) {
        add(p, &p->none, sizeof(p->none));
    }
}

static bool has_parameters(const ti_cuda_session *s, const ti_cuda_kernel *k, const parameters *p)
{
    size_t offset, bytes;
    for (size_t i = 0; i < p->count; i++) {
        if (s->cu.parameter(k->function, i, &offset, &bytes) != TI_CU_SUCCESS || bytes != p->bytes[i]) {
            return false;
        }
    }
    return s->cu.parameter(k->function, p->count, &offset, &bytes) != TI_CU_SUCCESS;
}

/* Beyond what every device has, the driver is asked. */
static bool has_local(const ti_cuda_session *s, const ti_cuda_kernel *k, const ti_device_kernel *job)
{
    char device[TI_DEVICE_NAME];
    int most = 0;
    const size_t wanted = job->kernel->cuda.local_bytes;
    if (wanted <= SHARED_UNASKED ||
        s->cu.attribute(&most, TI_CU_MAX_SHARED_BYTES, k->context->device) != TI_CU_SUCCESS) {
        most = INT_MAX;
    }
    ti_cuda_name_format(k->context->index, device);
    const ti_text_local local = { "CUDA", k->entry, device, wanted, (size_t)most };
    return ti_text_has_local(s->base.failure, job->launch.name, &local);
}

/* Groups where the task does not say: rows of 32 neighbours. Device's dimension i is the range's dims - 1 - i. */
static void choose_group(const size_t given[TACIT_MAX_DIMS], int dims, unsigned group[TACIT_MAX_DIMS])
{
    static const unsigned usual[][TACIT_MAX_DIMS] = { { 256, 1, 1 }, { 32, 8, 1 }, { 32, 4, 2 } };
    for (int i = 0; i < TACIT_MAX_DIMS; i++) {
        group[i] = i >= dims ? 1 : given[0] ? (unsigned)TI_MAX(given[dims - 1 - i], (size_t)1) : usual[dims - 1][i];
    }
}

static ti_cu_result launch(ti_cuda_session *s, const ti_cuda_kernel *k, ti_cu_stream stream, parameters *p,
                           const unsigned group[TACIT_MAX_DIMS], size_t shared)
{
    unsigned grid[TACIT_MAX_DIMS] = { 1, 1, 1 };
    for (int i = 0; i < k->dims; i++) {
        const int from = k->dims - 1 - i;
        grid[i] = (unsigned)ti_ceil_div((int64_t)(p->items.max[from] - p->items.min[from]), group[i]);
    }
    return s->cu.launch(k->function, grid[0], grid[1], grid[2], group[0], group[1], group[2], (unsigned)shared, stream,
                        p->at, NULL);
}

/* Groups are whole: a kernel must leave items out that lie beyond the chunk, as TACIT_FOR does. A range with more
 * groups than one launch may have becomes several, one behind the other. */
static ti_cu_result enqueue(ti_cuda_session *s, const ti_cuda_kernel *k, ti_cu_stream stream, parameters *p,
                            const ti_device_kernel *job)
{
    const ti_text_items all = p->items;
    const size_t shared = job->kernel->cuda.local_bytes;
    unsigned group[TACIT_MAX_DIMS];
    uint64_t step[2]; /* of the range's dimensions 0 and 1; the last one is not cut */
    ti_cu_result code = TI_CU_SUCCESS;
    choose_group(job->kernel->cuda.group, k->dims, group);
    for (int i = 0; i < 2; i++) {
        step[i] = i < k->dims - 1 ? (uint64_t)MAX_GROUPS * group[k->dims - 1 - i] : UINT64_MAX / 2;
    }
    if (shared > SHARED_UNASKED) {
        code = s->cu.function_set(k->function, TI_CU_MAX_DYNAMIC_SHARED_BYTES, (int)shared);
    }
    if (job->groups && code == TI_CU_SUCCESS) {
        return s->cu.launch(k->function, job->groups, 1, 1, job->group_items, 1, 1, (unsigned)shared, stream, p->at,
                            NULL);
    }
    for (uint64_t i = all.min[0]; i < all.max[0]; i += step[0]) {
        for (uint64_t j = all.min[1]; j < all.max[1]; j += step[1]) {
            p->items = all;
            p->items.min[0] = i;
            p->items.min[1] = j;
            p->items.max[0] = TI_MIN(all.max[0], i + step[0]);
            p->items.max[1] = TI_MIN(all.max[1], j + step[1]);
            code = code ? code : launch(s, k, stream, p, group, shared);
        }
    }
    return code;
}

static void refuse(ti_cuda_session *s, const ti_device_kernel *job, const ti_cuda_kernel *k)
{
    const tacit_launch *l = &job->launch;
    ti_failure_set(s->base.failure, TACIT_ERROR_KERNEL,
                   "task '%.100s': its CUDA kernel '%.100s' must have %d TACIT_VIEW, one for each access, then "
                   "TACIT_CHUNK%s%s",
                   l->name, k->entry, l->num_views, l->args_size ? ", then TACIT_VALUE for .args" : "",
                   job->kernel->cuda.local_bytes ? ", then TACIT_SCRATCH for .local_bytes" : "");
}

/* The names of parameters mean nothing to a driver, so a kernel whose list is another one would read what it is not
 * given. The driver is asked for one parameter at a time, so what it says is kept. If it does not fit, the run has
 * failed. */
static bool fits(ti_cuda_session *s, ti_cuda_kernel *k, const parameters *p, const ti_device_kernel *job)
{
    const ti_cuda_list list = { job->launch.num_views, job->launch.args_size, job->kernel->cuda.local_bytes };
    if (k->list.views == list.views && k->list.args_size == list.args_size && k->list.local_bytes == list.local_bytes) {
        return true;
    }
    if (s->cu.parameter && !has_parameters(s, k, p)) {
        refuse(s, job, k);
        return false;
    }
    if (!has_local(s, k, job)) {
        return false;
    }
    k->list = list;
    return true;
}

bool ti_cuda_give_kernel(ti_cuda_session *session, const ti_cuda_context *context, ti_cu_stream stream,
                         const ti_device_kernel *job, ti_cu_result *code)
{
    parameters p;
    *code = TI_CU_SUCCESS;
    if (job->kernel->cuda.launch) {
        job->kernel->cuda.launch(&job->launch, stream);
        return true;
    }
    ti_cuda_kernel *k = ti_cuda_kernel_of(session, context, job);
    if (!k) {
        return false;
    }
    collect(&p, job);
    if (!fits(session, k, &p, job)) {
        return false;
    }
    *code = enqueue(session, k, stream, &p, job);
    return true;
}
