/* OpenCL and CUDA devices that run host kernels: see shadow.h.
 *
 * Copies to and from the device are commands of the device like any other. A launch waits for all that is under way
 * there, since it writes back whole boxes, of which the task may declare a part. */
#include "shadow.h"
#include "cuda/stub.h"
#include "device/cuda.h"
#include "device/opencl.h"

#include "base/check.h"
#include "base/vec.h"
#include "ir/reduction.h"
#include "ir/task.h"
#include "run/device_list.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct shadow {
    ti_device base;
    ti_device *inner;
    TI_VEC(uint64_t) seen;     /* tokens that nobody has been told of */
    TI_VEC(uint64_t) exchange; /* tokens of collectives under way */
    TI_VEC(struct behind {
        struct shadow *device;
        uint64_t token;
    })
    awaited;
} shadow;
typedef struct behind behind;

static _Atomic uint64_t kernels, reductions, exchanges;

const char *shadow_kind(void)
{
    ti_opencl_fact fact;
    if (cuda_devices() > 0) {
        return "cuda";
    }
    return ti_opencl_is_built() && ti_opencl_fact_of(0, &fact) ? "opencl" : NULL;
}

uint64_t shadow_kernels(void)
{
    return atomic_load(&kernels);
}

uint64_t shadow_reductions(void)
{
    return atomic_load(&reductions);
}

uint64_t shadow_exchanges(void)
{
    return atomic_load(&exchanges);
}

static void tell(shadow *s)
{
    s->base.silent = s->inner->silent + (int)s->seen.count;
}

/* Of copies that are made here. */
static const uint64_t OWN = UINT64_MAX, NOBODYS = UINT64_MAX - 1;

/* Of a collective, if it was one: it is no longer under way. */
static void note_end(shadow *s, uint64_t token)
{
    for (size_t i = 0; i < s->exchange.count; i++) {
        if (s->exchange.data[i] == token) {
            s->exchange.data[i] = s->exchange.data[--s->exchange.count];
            return;
        }
    }
}

/* Until no copy is under way; an operation that fails ends the run. Collectives may wait for what other nodes get of
 * this one. */
static void drain(shadow *s)
{
    uint64_t token;
    while (s->inner->silent > (int)s->exchange.count) {
        if (s->inner->ops->poll(s->inner, &token, 1) == 0) {
            sched_yield();
        } else if (token != OWN) {
            note_end(s, token);
            ti_vec_push(&s->seen, token);
        }
    }
}

static bool is_seen(const shadow *s, uint64_t token)
{
    for (size_t i = 0; i < s->seen.count; i++) {
        if (s->seen.data[i] == token) {
            return true;
        }
    }
    return false;
}

static size_t side(const tacit_view *v, int d)
{
    return v->box.max[d] - v->box.min[d];
}

static ti_block block_of(const tacit_view *v)
{
    const int last = v->dims - 1;
    ti_block b = { .base = v->data, .run = (v->dims ? side(v, last) : 1) * v->elem_size, .count = { 1, 1 } };
    b.count[1] = v->dims > 1 ? side(v, last - 1) : 1;
    b.stride[1] = v->dims > 1 ? v->stride[last - 1] : b.run;
    b.count[0] = v->dims > 2 ? side(v, 0) : 1;
    b.stride[0] = v->dims > 2 ? v->stride[0] : b.count[1] * b.stride[1];
    return b;
}

/* The same view of memory of its own, which holds the contents. */
static tacit_view copy_here(shadow *s, const tacit_view *v, const tacit_launch *launch)
{
    tacit_view here = *v;
    ti_block from = block_of(v);
    size_t bytes = ti_block_bytes(&from), step = v->elem_size;
    ti_block to = { .base = malloc(bytes), .run = bytes, .count = { 1, 1 }, .stride = { bytes, bytes } };
    TI_ASSERT(to.base);
    for (int d = v->dims - 1; d >= 0; d--) {
        here.stride[d] = step;
        step *= side(v, d);
    }
    here.ld = v->dims > 1 ? here.stride[v->dims - 2] / v->elem_size : 1;
    here.data = to.base;
    here.launch = launch;
    s->inner->ops->copy(s->inner, 0, &to, &from, OWN);
    return here;
}

/* What the kernel has changed. Views of one buffer may share elements, so the others stay as they are by now. */
static void copy_back(shadow *s, const tacit_view *v, const tacit_view *here, const char *before)
{
    ti_block to = block_of(v);
    const size_t bytes = ti_block_bytes(&to);
    const char *after = here->data;
    tacit_view now = copy_here(s, v, here->launch);
    char *contents = now.data;
    drain(s);
    for (size_t i = 0; i < bytes; i++) {
        contents[i] = after[i] == before[i] ? contents[i] : after[i];
    }
    ti_block from = block_of(&now);
    s->inner->ops->copy(s->inner, 0, &to, &from, OWN);
    drain(s);
    free(contents);
}

static char *remember(const tacit_view *here)
{
    ti_block block = block_of(here);
    char *before = malloc(ti_block_bytes(&block));
    TI_ASSERT(before);
    ti_layout_copy(&(ti_block){ before, ti_block_bytes(&block), { 1, 1 }, { 0 } }, &block);
    return before;
}

/* ---- reductions */

static size_t bytes_of_result(const tacit_view *v)
{
    return side(v, 0) * side(v, 1) * side(v, 2) * v->elem_size;
}

/* The partial results of all groups, each with the identity. */
static tacit_view identities(const ti_device_kernel *job, int access, const tacit_launch *launch)
{
    tacit_view here = job->launch.view[access];
    const size_t bytes = bytes_of_result(&here);
    here.data = malloc(bytes * job->groups);
    here.launch = launch;
    TI_ASSERT(here.data);
    for (uint32_t g = 0; g < job->groups; g++) {
        ti_reducer_fill_identity(&job->task->shape->access[access].reducer, (char *)here.data + g * bytes,
                                 bytes / here.elem_size);
    }
    return here;
}

static void copy_results(shadow *s, const tacit_view *v, const tacit_view *here, uint32_t groups)
{
    const size_t bytes = bytes_of_result(v) * groups;
    const ti_block to = { .base = v->data, .run = bytes, .count = { 1, 1 }, .stride = { bytes, bytes } };
    ti_block from = to;
    from.base = here->data;
    s->inner->ops->copy(s->inner, 0, &to, &from, OWN);
    drain(s);
}

/* Each group has a run of items, as TACIT_EACH gives it, or the first one has all. */
static void call_groups(const ti_device_kernel *job, tacit_launch *launch, tacit_view *here)
{
    const tacit_box all = launch->chunk;
    const uint32_t groups = job->whole || job->granule > 1 ? 1 : job->groups;
    for (uint32_t g = 0; g < groups; g++) {
        launch->chunk.min[0] = all.min[0] + (all.max[0] - all.min[0]) * g / groups;
        launch->chunk.max[0] = all.min[0] + (all.max[0] - all.min[0]) * (g + 1) / groups;
        if (launch->chunk.min[0] < launch->chunk.max[0]) {
            job->kernel->host(launch);
        }
        for (int i = 0; i < launch->num_views; i++) {
            const size_t bytes = here[i].mode == TACIT_REDUCE ? bytes_of_result(&here[i]) : 0;
            here[i].data = bytes ? (char *)here[i].data + bytes : here[i].data;
        }
    }
    for (int i = 0; i < launch->num_views; i++) {
        const size_t bytes = here[i].mode == TACIT_REDUCE ? bytes_of_result(&here[i]) : 0;
        here[i].data = bytes ? (char *)here[i].data - groups * bytes : here[i].data;
    }
    launch->chunk = all;
}

static void shadow_launch(ti_device *base, int lane, ti_device_kernel *job)
{
    shadow *s = (shadow *)base;
    tacit_launch launch = job->launch;
    tacit_view here[TACIT_MAX_ACCESSES + 1] = { { .name = NULL } };
    char *before[TACIT_MAX_ACCESSES] = { NULL };
    (void)lane;
    TI_ASSERT(job->kernel->host && !job->run);
    for (size_t i = 0; i < s->awaited.count; i++) {
        drain(s->awaited.data[i].device);
        tell(s->awaited.data[i].device);
    }
    ti_vec_clear(&s->awaited);
    drain(s);
    for (int i = 0; i < launch.num_views; i++) {
        here[i] = launch.view[i];
        if (here[i].mode == TACIT_REDUCE) {
            here[i] = identities(job, i, &launch);
        } else if (here[i].data) {
            here[i] = copy_here(s, &launch.view[i], &launch);
        }
    }
    drain(s);
    for (int i = 0; i < launch.num_views; i++) {
        const bool writes = here[i].mode != TACIT_READ && here[i].mode != TACIT_REDUCE;
        before[i] = here[i].data && writes ? remember(&here[i]) : NULL;
    }
    launch.view = here;
    launch.num_workers = 1;
    if (job->groups) {
        call_groups(job, &launch, here);
        atomic_fetch_add(&reductions, 1);
    } else {
        job->kernel->host(&launch);
    }
    for (int i = 0; i < launch.num_views; i++) {
        if (here[i].mode == TACIT_REDUCE) {
            copy_results(s, &job->launch.view[i], &here[i], job->groups);
        } else if (before[i]) {
            copy_back(s, &job->launch.view[i], &here[i], before[i]);
        }
    }
    for (int i = 0; i < launch.num_views; i++) {
        free(here[i].data);
        free(before[i]);
    }
    atomic_fetch_add(&kernels, 1);
    ti_vec_push(&s->seen, job->token);
    tell(s);
}

/* Kernels run at once here, so what they await has ended by then. */
static bool shadow_await(ti_device *base, ti_device *other, uint64_t token)
{
    shadow *s = (shadow *)base, *o = (shadow *)other;
    const bool has_run = is_seen(o, token);
    TI_ASSERT(other->ops == base->ops);
    if (!has_run && !s->inner->ops->await(s->inner, o->inner, token)) {
        s->awaited.count = 0;
        return false;
    }
    s->inner->ops->await(s->inner, s->inner, NOBODYS); /* until it is known whether a copy comes or a kernel */
    if (!has_run) {
        ti_vec_push(&s->awaited, ((behind){ o, token }));
    }
    return true;
}

static void shadow_copy(ti_device *base, int lane, const ti_block *to, const ti_block *from, uint64_t token)
{
    shadow *s = (shadow *)base;
    for (size_t i = 0; i < s->awaited.count; i++) {
        bool can = s->inner->ops->await(s->inner, s->awaited.data[i].device->inner, s->awaited.data[i].token);
        TI_ASSERT(can);
    }
    ti_vec_clear(&s->awaited);
    s->inner->ops->copy(s->inner, lane, to, from, token);
    tell(s);
}

static int shadow_poll(ti_device *base, uint64_t *tokens, int max)
{
    shadow *s = (shadow *)base;
    int n = 0;
    while (n < max && s->seen.count) {
        tokens[n++] = s->seen.data[--s->seen.count];
    }
    const int seen = n;
    n += s->inner->ops->poll(s->inner, tokens + n, max - n);
    for (int i = seen; i < n; i++) {
        note_end(s, tokens[i]);
    }
    tell(s);
    return n;
}

static void shadow_exchange(ti_device *base, const ti_device_exchange *x, uint64_t token)
{
    shadow *s = (shadow *)base;
    ti_vec_push(&s->exchange, token);
    atomic_fetch_add(&exchanges, 1);
    s->inner->ops->exchange(s->inner, x, token);
    tell(s);
}

static int shadow_room(ti_device *base)
{
    (void)base;
    return 1;
}

static tacit_status shadow_alloc(ti_device *base, size_t bytes, void **out)
{
    ti_device *inner = ((shadow *)base)->inner;
    return inner->ops->alloc(inner, bytes, out);
}

static void shadow_free(ti_device *base, void *ptr, size_t bytes)
{
    ti_device *inner = ((shadow *)base)->inner;
    inner->ops->free(inner, ptr, bytes);
}

static tacit_status shadow_grow(ti_device *base, void *ptr, size_t bytes, size_t more, void **out)
{
    ti_device *inner = ((shadow *)base)->inner;
    return inner->ops->grow(inner, ptr, bytes, more, out);
}

static void shadow_stop(ti_device *base)
{
    shadow *s = (shadow *)base;
    s->inner->ops->stop(s->inner);
    ti_vec_clear(&s->seen);
    ti_vec_clear(&s->exchange);
    tell(s);
}

static void shadow_destroy(ti_device *base)
{
    shadow *s = (shadow *)base;
    s->inner->ops->destroy(s->inner);
    ti_vec_fini(&s->seen);
    ti_vec_fini(&s->awaited);
    ti_vec_fini(&s->exchange);
    TI_DELETE(s);
}

static const ti_device_ops shadow_ops = {
    .name = "shadow",
    .destroy = shadow_destroy,
    .stop = shadow_stop,
    .alloc = shadow_alloc,
    .free = shadow_free,
    .grow = shadow_grow,
    .copy = shadow_copy,
    .launch = shadow_launch,
    .exchange = shadow_exchange,
    .poll = shadow_poll,
    .room = shadow_room,
    .await = shadow_await,
};

static bool put_before(ti_device **out, int count)
{
    for (int i = 0; i < count; i++) {
        shadow *s = TI_NEW(shadow);
        s->base = (ti_device){ .ops = &shadow_ops, .workers = 1 };
        s->inner = out[i];
        out[i] = &s->base;
    }
    return true;
}

bool __real_ti_opencl_create(const ti_opencl_name *name, int count, const char *cache, ti_failure *failure,
                             ti_device **out, ti_strbuf *why);
bool __wrap_ti_opencl_create(const ti_opencl_name *name, int count, const char *cache, ti_failure *failure,
                             ti_device **out, ti_strbuf *why);

bool __wrap_ti_opencl_create(const ti_opencl_name *name, int count, const char *cache, ti_failure *failure,
                             ti_device **out, ti_strbuf *why)
{
    return __real_ti_opencl_create(name, count, cache, failure, out, why) && put_before(out, count);
}

bool __real_ti_cuda_create(const int *index, int count, const char *cache, ti_failure *failure, ti_device **out,
                           ti_strbuf *why);
bool __wrap_ti_cuda_create(const int *index, int count, const char *cache, ti_failure *failure, ti_device **out,
                           ti_strbuf *why);

bool __wrap_ti_cuda_create(const int *index, int count, const char *cache, ti_failure *failure, ti_device **out,
                           ti_strbuf *why)
{
    const int devices = cuda_devices(); /* programs name four */
    int there[TI_MAX_DEVICES];
    for (int i = 0; i < count; i++) {
        there[i] = index[i] % devices;
    }
    return __real_ti_cuda_create(there, count, cache, failure, out, why) && put_before(out, count);
}

ti_pinner __real_ti_cuda_pinner(ti_device *device, bool at_once);
ti_pinner __wrap_ti_cuda_pinner(ti_device *device, bool at_once);

ti_pinner __wrap_ti_cuda_pinner(ti_device *device, bool at_once)
{
    return __real_ti_cuda_pinner(((shadow *)device)->inner, at_once);
}

bool __real_ti_cuda_connect(ti_device *device, int node, int nodes, const void *id, ti_strbuf *why);
bool __wrap_ti_cuda_connect(ti_device *device, int node, int nodes, const void *id, ti_strbuf *why);

bool __wrap_ti_cuda_connect(ti_device *device, int node, int nodes, const void *id, ti_strbuf *why)
{
    return __real_ti_cuda_connect(((shadow *)device)->inner, node, nodes, id, why);
}

void __real_ti_cuda_disconnect(ti_device *device);
void __wrap_ti_cuda_disconnect(ti_device *device);

void __wrap_ti_cuda_disconnect(ti_device *device)
{
    __real_ti_cuda_disconnect(((shadow *)device)->inner);
}

/* What does not fit on a device in spite of all that makes room is planned all the same: programs have any limit, and
 * these devices do not mind. */
struct ti_instruction_graph;
int __real_ti_instruction_choose_spills(struct ti_instruction_graph *graph);
int __wrap_ti_instruction_choose_spills(struct ti_instruction_graph *graph);

int __wrap_ti_instruction_choose_spills(struct ti_instruction_graph *graph)
{
    (void)__real_ti_instruction_choose_spills(graph);
    return 0;
}
