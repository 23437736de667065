/* An OpenCL device, its table of operations: see opencl.h, and device.h for the rules. Queues of kernels and copies,
 * and the events that tell of their end.
 *
 * A device has two in-order queues for kernels, so that small ones run side by side where the driver can do that, and
 * one for copies in each direction, which go on meanwhile. Events are polled, the oldest one of each queue; a blocking
 * call is made in `stop` only, and for events that are complete: OpenCL says that what a command has written is visible
 * to the host after clWaitForEvents, and not before. Executor role, but for creation and the end. */
#include "base/check.h"
#include "device/opencl/session.h"

#include <stdio.h>

enum { KERNEL_LANES = 2, FROM_HOST = KERNEL_LANES, FROM_DEVICE, LANES };
/* Kernels that wait in queues: those that run, and those whose start must not wait for a poll. */
enum { KERNELS_AHEAD = 4 };

typedef struct device {
    ti_accelerator base;
    ti_opencl_session *session;
    cl_device_id id;
    cl_command_queue queue[LANES];
    uint64_t allocated, memory, largest; /* bytes: so far, all there are, of one allocation */
    size_t arguments;                    /* bytes that a kernel may be given */
    size_t local;                        /* and that a group may have */
} device;

/* ---- what the driver does with lanes */

static const char *error_name(const ti_accelerator *base, int code)
{
    (void)base;
    return ti_opencl_error_name(code);
}

/* CL_OUT_OF_RESOURCES is also what drivers say of kernels that touch what is not theirs. */
static bool is_shortage(int code)
{
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
}

static bool has_come(ti_accelerator *base, int lane, void *event, int *code)
{
    (void)lane;
    const ti_opencl_api *cl = &((device *)base)->session->cl;
    cl_event e = event;
    cl_int state = CL_QUEUED;
    *code = cl->clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL);
    *code = *code == CL_SUCCESS && state < 0 ? state : *code;
    *code = *code == CL_SUCCESS && state == CL_COMPLETE ? cl->clWaitForEvents(1, &e) : *code;
    return state == CL_COMPLETE;
}

/* The queue is in order, so what comes behind a marker waits as it does. */
static int wait_for(ti_accelerator *base, int lane, void *event)
{
    device *d = (device *)base;
    const cl_event e = event;
    return d->session->cl.clEnqueueMarkerWithWaitList(d->queue[lane], 1, &e, NULL);
}

static void flush(ti_accelerator *base, int lane)
{
    device *d = (device *)base;
    d->session->cl.clFlush(d->queue[lane]);
}

static void release(ti_accelerator *base, int lane, const ti_operation *o)
{
    (void)lane;
    ((device *)base)->session->cl.clReleaseEvent(o->event);
}

static void drain(ti_accelerator *base, int lane)
{
    device *d = (device *)base;
    if (d->queue[lane]) {
        d->session->cl.clFinish(d->queue[lane]);
    }
}

static const ti_driver_ops opencl_driver = {
    .error_name = error_name,
    .is_shortage = is_shortage,
    .has_come = has_come,
    .wait = wait_for,
    .flush = flush,
    .release = release,
    .drain = drain,
};

/* ---- memory */

static tacit_status opencl_alloc(ti_device *base, size_t bytes, void **out)
{
    device *d = (device *)base;
    bytes = TI_MAX(bytes, 1);
    if (bytes > d->largest || d->allocated + bytes > d->memory) {
        return TACIT_ERROR_MEMORY;
    }
    tacit_status status = ti_opencl_memory_create(d->session, bytes, out);
    d->allocated += status == TACIT_OK ? bytes : 0;
    return status;
}

static void opencl_free(ti_device *base, void *ptr, size_t bytes)
{
    device *d = (device *)base;
    if (ptr) {
        d->allocated -= TI_MAX(bytes, 1);
        ti_opencl_memory_destroy(d->session, ptr);
    }
}

static void opencl_copy(ti_device *base, int unused, const ti_block *to, const ti_block *from, uint64_t token)
{
    device *d = (device *)base;
    const ti_opencl_api *cl = &d->session->cl;
    ti_block t = *to, f = *from;
    (void)unused;
    ti_layout_match(&t, &f);
    const ti_memory_piece *there = ti_memories_find(&d->session->base.memory, t.base);
    const ti_memory_piece *here = ti_memories_find(&d->session->base.memory, f.base);
    const size_t region[3] = { t.run, t.count[1], t.count[0] }, zero[3] = { 0 };
    const size_t target[3] = { there ? ti_memory_offset(there, t.base) : 0 },
                 source[3] = { here ? ti_memory_offset(here, f.base) : 0 };
    const int lane = here ? FROM_DEVICE : FROM_HOST;
    ti_operation o = { .token = token, .given = ti_accelerator_now(&d->base) };
    cl_command_queue queue = d->queue[lane];
    cl_event event = NULL;
    cl_int code = ti_accelerator_wait_in(&d->base, lane);
    TI_ASSERT(here || there);
    if (code != CL_SUCCESS) {
        ti_accelerator_fail(&d->base, NULL, "cannot be started", code);
        return;
    }
    if (here && there) {
        code = cl->clEnqueueCopyBufferRect(queue, here->handle, there->handle, source, target, region, f.stride[1],
                                           f.stride[0], t.stride[1], t.stride[0], 0, NULL, &event);
    } else if (here) {
        code = cl->clEnqueueReadBufferRect(queue, here->handle, CL_FALSE, source, zero, region, f.stride[1],
                                           f.stride[0], t.stride[1], t.stride[0], t.base, 0, NULL, &event);
    } else {
        code = cl->clEnqueueWriteBufferRect(queue, there->handle, CL_FALSE, target, zero, region, t.stride[1],
                                            t.stride[0], f.stride[1], f.stride[0], f.base, 0, NULL, &event);
    }
    o.event = event;
    ti_accelerator_start(&d->base, lane, code, &o);
}

/* ---- kernels */

/* Parameters of a kernel, in order. */
typedef struct parameters {
    device *d;
    cl_kernel kernel;
    cl_uint count;
    cl_int code;
} parameters;

static void give(parameters *p, size_t bytes, const void *value)
{
    if (p->code == CL_SUCCESS) {
        p->code = p->d->session->cl.clSetKernelArg(p->kernel, p->count++, bytes, value);
    }
}

static void give_view(parameters *p, const tacit_view *v)
{
    const ti_memory_piece *m = v->data ? ti_memories_find(&p->d->session->base.memory, v->data) : NULL;
    TI_ASSERT(!v->data || m); /* an accelerator's kernel sees its own memory only */
    const ti_text_view view = ti_text_view_of(v, m ? (int64_t)ti_memory_offset(m, v->data) : 0);
    give(p, sizeof(cl_mem), m ? &m->handle : NULL);
    give(p, sizeof(view), &view);
}

static bool check_parameters(device *d, const ti_device_kernel *job, const ti_opencl_kernel *k)
{
    const tacit_launch *l = &job->launch;
    const bool scratch = job->kernel->opencl.local_bytes > 0;
    size_t bytes = (size_t)l->num_views * (sizeof(cl_mem) + sizeof(ti_text_view)) + sizeof(ti_text_items) +
                   l->args_size;
    cl_uint want = 2 * (cl_uint)l->num_views + 1 + (l->args_size > 0) + scratch;
    if (k->parameters != want) {
        ti_failure_set(d->session->base.failure, TACIT_ERROR_KERNEL,
                       "task '%.100s': its OpenCL kernel '%.100s' must have %d TACIT_VIEW, one for each access, then "
                       "TACIT_CHUNK%s%s",
                       l->name, k->entry, l->num_views, l->args_size ? ", then TACIT_VALUE for .args" : "",
                       scratch ? ", then TACIT_SCRATCH for .local_bytes" : "");
    } else if (bytes > d->arguments) {
        ti_failure_set(
            d->session->base.failure, TACIT_ERROR_KERNEL,
            "task '%.100s': %zu bytes of arguments are more than kernels of device %s may have (%zu with all "
            "views); put them into a buffer",
            l->name, l->args_size, d->base.name, d->arguments);
    } else {
        const ti_text_local local = { "OpenCL", k->entry, d->base.name, job->kernel->opencl.local_bytes, d->local };
        return ti_text_has_local(d->session->base.failure, l->name, &local);
    }
    return false;
}

static cl_int give_all(device *d, const ti_device_kernel *job, const ti_opencl_kernel *k)
{
    parameters p = { .d = d, .kernel = k->kernel };
    const ti_text_items items = ti_text_items_of(&job->launch.chunk);
    for (int i = 0; i < job->launch.num_views; i++) {
        give_view(&p, &job->launch.view[i]);
    }
    give(&p, sizeof(items), &items);
    if (job->launch.args_size > 0) {
        give(&p, job->launch.args_size, job->launch.args);
    }
    if (job->kernel->opencl.local_bytes > 0) {
        give(&p, job->kernel->opencl.local_bytes, NULL);
    }
    return p.code;
}

/* Groups are whole: a kernel must leave items out that lie beyond the chunk, as TACIT_FOR does. */
static cl_int enqueue(device *d, int lane, const ti_device_kernel *job, const ti_opencl_kernel *k, cl_event *event)
{
    size_t global[TACIT_MAX_DIMS], group[TACIT_MAX_DIMS];
    const size_t *given = job->kernel->opencl.group;
    if (job->groups) {
        group[0] = job->group_items;
        global[0] = job->groups * group[0];
        return d->session->cl.clEnqueueNDRangeKernel(d->queue[lane], k->kernel, 1, NULL, global, group, 0, NULL, event);
    }
    for (int i = 0; i < k->dims; i++) {
        int from = k->dims - 1 - i;
        group[i] = TI_MAX(given[from], (size_t)1);
        global[i] = (size_t)ti_ceil_div((int64_t)(job->launch.chunk.max[from] - job->launch.chunk.min[from]),
                                        (int64_t)group[i]) *
                    group[i];
    }
    return d->session->cl.clEnqueueNDRangeKernel(d->queue[lane], k->kernel, (cl_uint)k->dims, NULL, global,
                                                 given[0] ? group : NULL, 0, NULL, event);
}

/* The task's own function fills the queue; a marker behind that tells of the end. */
static cl_int call(device *d, int lane, const ti_device_kernel *job, cl_event *event)
{
    cl_mem memory[TACIT_MAX_ACCESSES] = { NULL };
    size_t offset[TACIT_MAX_ACCESSES] = { 0 };
    const struct tacit_opencl opencl = {
        .queue = d->queue[lane], .context = d->session->context, .device = d->id, .memory = memory, .offset = offset
    };
    for (int i = 0; i < job->launch.num_views; i++) {
        char *data = job->launch.view[i].data;
        const ti_memory_piece *m = data ? ti_memories_find(&d->session->base.memory, data) : NULL;
        memory[i] = m ? m->handle : NULL;
        offset[i] = m ? ti_memory_offset(m, data) : 0;
    }
    job->kernel->opencl.launch(&job->launch, &opencl);
    return d->session->cl.clEnqueueMarkerWithWaitList(opencl.queue, 0, NULL, event);
}

static void opencl_launch(ti_device *base, int unused, ti_device_kernel *job)
{
    device *d = (device *)base;
    const int lane = ti_accelerator_kernel_lane(&d->base);
    ti_operation o = { .token = job->token, .given = ti_accelerator_now(&d->base), .task = job->launch.name };
    cl_event event = NULL;
    cl_int code = ti_accelerator_wait_in(&d->base, lane);
    (void)unused;
    TI_ASSERT(!job->run);
    if (code != CL_SUCCESS) {
        ti_accelerator_fail(&d->base, job->launch.name, "cannot be started", code);
        return;
    }
    if (job->kernel->opencl.launch) {
        code = call(d, lane, job, &event);
    } else {
        const ti_opencl_kernel *k = ti_opencl_kernel_of(d->session, job);
        if (!k || !check_parameters(d, job, k)) {
            return;
        }
        code = give_all(d, job, k);
        code = code == CL_SUCCESS ? enqueue(d, lane, job, k, &event) : code;
    }
    if (code != CL_SUCCESS) {
        ti_accelerator_fail_kernel(&d->base, job->launch.name, job->kernel->opencl.group, code);
        return;
    }
    o.event = event;
    ti_accelerator_start(&d->base, lane, code, &o);
}

/* ---- begin and end */

static void opencl_destroy(ti_device *base)
{
    device *d = (device *)base;
    ti_accelerator_stop(base);
    for (int i = 0; i < LANES; i++) {
        if (d->queue[i]) {
            d->session->cl.clReleaseCommandQueue(d->queue[i]);
        }
    }
    ti_accelerator_fini(&d->base);
    ti_opencl_session_leave(d->session);
    TI_DELETE(d);
}

static const ti_device_ops opencl_ops = {
    .name = "opencl",
    .destroy = opencl_destroy,
    .stop = ti_accelerator_stop,
    .alloc = opencl_alloc,
    .free = opencl_free,
    .grow = ti_accelerator_grow,
    .copy = opencl_copy,
    .launch = opencl_launch,
    .poll = ti_accelerator_poll,
    .room = ti_accelerator_room,
    .await = ti_accelerator_await,
};

static void describe(device *d, cl_device_id id, const ti_opencl_name *name)
{
    const ti_opencl_api *cl = &d->session->cl;
    cl_ulong memory = UINT64_MAX, largest = UINT64_MAX, local = UINT64_MAX;
    size_t arguments = 1024; /* what OpenCL promises at least */
    cl->clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL);
    cl->clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(largest), &largest, NULL);
    cl->clGetDeviceInfo(id, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof(arguments), &arguments, NULL);
    cl->clGetDeviceInfo(id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(local), &local, NULL);
    d->local = (size_t)TI_MIN(local, (cl_ulong)SIZE_MAX);
    d->memory = d->base.base.memory = memory;
    d->largest = largest;
    d->arguments = arguments;
    ti_opencl_name_format(name, d->base.name);
}

typedef struct wanted {
    ti_opencl_session *session;
    const ti_opencl_name *name;
    cl_device_id *id;
    ti_strbuf *why;
} wanted;

/* NULL: the system does not grant the queues. */
static ti_device *create(void *user, int i)
{
    const wanted *w = user;
    device *d = TI_NEW(device);
    cl_int code = CL_SUCCESS;
    d->base = (ti_accelerator){ .base = { .ops = &opencl_ops, .workers = 1 },
                                .driver = &opencl_driver,
                                .failure = w->session->base.failure,
                                .kernel_lanes = KERNEL_LANES,
                                .lanes = LANES,
                                .ahead = KERNELS_AHEAD };
    d->session = w->session;
    d->id = w->id[i];
    w->session->base.users++;
    describe(d, d->id, &w->name[i]);
    for (int q = 0; q < LANES && code == CL_SUCCESS; q++) {
        d->queue[q] = w->session->cl.clCreateCommandQueue(w->session->context, d->id, 0, &code);
    }
    if (code != CL_SUCCESS) {
        ti_strbuf_add(w->why, "device %s of TACIT_DEVICES cannot be used (%s)", d->base.name,
                      ti_opencl_error_name(code));
        opencl_destroy(&d->base.base);
        return NULL;
    }
    return &d->base.base;
}

bool ti_opencl_create(const ti_opencl_name *name, int count, const char *cache, ti_failure *failure, ti_device **out,
                      ti_strbuf *why)
{
    cl_device_id *id = TI_NEW_ARRAY(cl_device_id, (size_t)count);
    wanted w = { ti_opencl_session_create(name, count, cache, failure, id, why), name, id, why };
    bool made = w.session && ti_accelerators_create(create, &w, count, out);
    if (w.session) {
        ti_opencl_session_leave(w.session);
    }
    ti_free(id, (size_t)count * sizeof(*id));
    return made;
}
