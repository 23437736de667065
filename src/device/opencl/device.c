/* An OpenCL device: queues of kernels and copies, and the events that tell of their end.
 *
 * A device has two in-order queues for kernels, so that small ones run side by side where the driver can do that, and
 * one for copies in each direction, which go on meanwhile. The executor starts only what is ready, so operations of
 * different queues need not wait for each other. Events are polled, the oldest one of each queue; a blocking call is
 * made in `stop` only, and for events that are complete: OpenCL says that what a command has written is visible to
 * others after clWaitForEvents, and not before. Executor role, but for creation and the end. */
#include "base/check.h"
#include "device/opencl/session.h"

#include <stdio.h>

enum { KERNEL_LANES = 2, FROM_HOST = KERNEL_LANES, FROM_DEVICE, LANES };
/* Kernels that wait in queues: those that run, and those whose start must not wait for a poll. */
enum { KERNELS_AHEAD = 4 };

typedef struct operation {
    cl_event event;
    uint64_t token;
    const char *task; /* NULL: a copy */
} operation;

typedef struct lane {
    cl_command_queue queue;
    TI_VEC(operation) operation;
    size_t first; /* that has not been seen to end */
} lane;

typedef struct device {
    ti_device base;
    ti_opencl_session *session;
    cl_device_id id;
    lane lane[LANES];
    char name[32];
    uint64_t allocated, memory, largest; /* bytes: so far, all there are, of one allocation */
    size_t arguments;                    /* bytes that a kernel may be given */
} device;

/* ---- operations under way */

static size_t under_way(const lane *l)
{
    return l->operation.count - l->first;
}

/* CL_OUT_OF_RESOURCES is also what drivers say of kernels that touch what is not theirs. */
static bool is_shortage(cl_int code)
{
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
}

static void fail(device *d, const char *task, const char *what, cl_int code)
{
    ti_failure_set(d->session->failure, is_shortage(code) ? TACIT_ERROR_MEMORY : TACIT_ERROR_KERNEL,
                   "%s%s%s on device %s %s: %s", task ? "task '" : "", task ? task : "a copy", task ? "'" : "", d->name,
                   what, ti_opencl_error_name(code));
}

static void start(device *d, int index, cl_int code, const operation *o)
{
    lane *l = &d->lane[index];
    if (code != CL_SUCCESS) {
        fail(d, o->task, "cannot be started", code);
        return; /* never completes: nothing that needs it will run */
    }
    if (l->first == l->operation.count) {
        l->first = 0;
        ti_vec_clear(&l->operation);
    }
    ti_vec_push(&l->operation, *o);
    d->base.silent++;
    d->session->cl.clFlush(l->queue);
}

static void drop_first(device *d, lane *l)
{
    d->session->cl.clReleaseEvent(l->operation.data[l->first++].event);
    d->base.silent--;
}

/* Whether the oldest operation of a lane has ended well. */
static bool has_ended(device *d, lane *l)
{
    const ti_opencl_api *cl = &d->session->cl;
    operation *o = &l->operation.data[l->first];
    cl_int state = CL_QUEUED;
    cl_int code = cl->clGetEventInfo(o->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL);
    code = code == CL_SUCCESS && state < 0 ? state : code;
    code = code == CL_SUCCESS && state == CL_COMPLETE ? cl->clWaitForEvents(1, &o->event) : code;
    if (code != CL_SUCCESS) {
        fail(d, o->task, "has failed", code);
        drop_first(d, l);
        return false;
    }
    return state == CL_COMPLETE;
}

static int opencl_poll(ti_device *base, uint64_t *tokens, int max)
{
    device *d = (device *)base;
    int n = 0;
    for (int i = 0; i < LANES; i++) {
        lane *l = &d->lane[i];
        while (n < max && under_way(l) && has_ended(d, l)) {
            tokens[n++] = l->operation.data[l->first].token;
            drop_first(d, l);
        }
    }
    return n;
}

static int opencl_room(ti_device *base)
{
    const device *d = (const device *)base;
    int running = 0;
    for (int i = 0; i < KERNEL_LANES; i++) {
        running += (int)under_way(&d->lane[i]);
    }
    return TI_MAX(0, KERNELS_AHEAD - running);
}

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

/* The planner copies instead: nobody could move the contents but by commands. */
static tacit_status opencl_grow(ti_device *base, void *ptr, size_t bytes, size_t more, void **out)
{
    (void)base;
    (void)ptr;
    (void)bytes;
    (void)more;
    (void)out;
    return TACIT_ERROR_UNSUPPORTED;
}

static size_t offset_in(const ti_opencl_memory *m, const char *address)
{
    return (size_t)(address - m->address);
}

static void opencl_copy(ti_device *base, int unused, const ti_block *to, const ti_block *from, uint64_t token)
{
    device *d = (device *)base;
    const ti_opencl_api *cl = &d->session->cl;
    ti_block t = *to, f = *from;
    (void)unused;
    ti_layout_match(&t, &f);
    const ti_opencl_memory *there = ti_opencl_memory_of(d->session, t.base);
    const ti_opencl_memory *here = ti_opencl_memory_of(d->session, f.base);
    const size_t region[3] = { t.run, t.count[1], t.count[0] }, zero[3] = { 0 };
    const size_t target[3] = { there ? offset_in(there, t.base) : 0 },
                 source[3] = { here ? offset_in(here, f.base) : 0 };
    const int index = here ? FROM_DEVICE : FROM_HOST;
    cl_command_queue queue = d->lane[index].queue;
    operation o = { .token = token };
    cl_int code;
    TI_ASSERT(here || there);
    if (here && there) {
        code = cl->clEnqueueCopyBufferRect(queue, here->mem, there->mem, source, target, region, f.stride[1],
                                           f.stride[0], t.stride[1], t.stride[0], 0, NULL, &o.event);
    } else if (here) {
        code = cl->clEnqueueReadBufferRect(queue, here->mem, CL_FALSE, source, zero, region, f.stride[1], f.stride[0],
                                           t.stride[1], t.stride[0], t.base, 0, NULL, &o.event);
    } else {
        code = cl->clEnqueueWriteBufferRect(queue, there->mem, CL_FALSE, target, zero, region, t.stride[1], t.stride[0],
                                            f.stride[1], f.stride[0], f.base, 0, NULL, &o.event);
    }
    start(d, index, code, &o);
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
    const ti_opencl_memory *m = v->data ? ti_opencl_memory_of(p->d->session, v->data) : NULL;
    TI_ASSERT(!v->data || m); /* an accelerator's kernel sees its own memory only */
    const ti_text_view view = ti_text_view_of(v, m ? (int64_t)offset_in(m, v->data) : 0);
    give(p, sizeof(cl_mem), m ? &m->mem : NULL);
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
        ti_failure_set(d->session->failure, TACIT_ERROR_KERNEL,
                       "task '%.100s': its OpenCL kernel '%.100s' must have %d TACIT_VIEW, one for each access, then "
                       "TACIT_CHUNK%s%s",
                       l->name, k->entry, l->num_views, l->args_size ? ", then TACIT_VALUE for .args" : "",
                       scratch ? ", then TACIT_SCRATCH for .local_bytes" : "");
    } else if (bytes > d->arguments) {
        ti_failure_set(
            d->session->failure, TACIT_ERROR_KERNEL,
            "task '%.100s': %zu bytes of arguments are more than kernels of device %s may have (%zu with all "
            "views); put them into a buffer",
            l->name, l->args_size, d->name, d->arguments);
    } else {
        return true;
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
static cl_int enqueue(device *d, int index, const ti_device_kernel *job, const ti_opencl_kernel *k, cl_event *event)
{
    size_t global[TACIT_MAX_DIMS], group[TACIT_MAX_DIMS];
    const size_t *given = job->kernel->opencl.group;
    for (int i = 0; i < k->dims; i++) {
        int from = k->dims - 1 - i;
        group[i] = TI_MAX(given[from], (size_t)1);
        global[i] = (size_t)ti_ceil_div((int64_t)(job->launch.chunk.max[from] - job->launch.chunk.min[from]),
                                        (int64_t)group[i]) *
                    group[i];
    }
    return d->session->cl.clEnqueueNDRangeKernel(d->lane[index].queue, k->kernel, (cl_uint)k->dims, NULL, global,
                                                 given[0] ? group : NULL, 0, NULL, event);
}

/* The task's own function fills the queue; a marker behind that tells of the end. */
static cl_int call(device *d, int index, const ti_device_kernel *job, cl_event *event)
{
    cl_mem memory[TACIT_MAX_ACCESSES] = { NULL };
    size_t offset[TACIT_MAX_ACCESSES] = { 0 };
    const struct tacit_opencl opencl = { .queue = d->lane[index].queue,
                                         .context = d->session->context,
                                         .device = d->id,
                                         .memory = memory,
                                         .offset = offset };
    for (int i = 0; i < job->launch.num_views; i++) {
        char *data = job->launch.view[i].data;
        const ti_opencl_memory *m = data ? ti_opencl_memory_of(d->session, data) : NULL;
        memory[i] = m ? m->mem : NULL;
        offset[i] = m ? offset_in(m, data) : 0;
    }
    job->kernel->opencl.launch(&job->launch, &opencl);
    return d->session->cl.clEnqueueMarkerWithWaitList(opencl.queue, 0, NULL, event);
}

/* The queue with the fewest kernels. */
static int kernel_lane(const device *d)
{
    int best = 0;
    for (int i = 1; i < KERNEL_LANES; i++) {
        best = under_way(&d->lane[i]) < under_way(&d->lane[best]) ? i : best;
    }
    return best;
}

static void opencl_launch(ti_device *base, int unused, ti_device_kernel *job)
{
    device *d = (device *)base;
    (void)unused;
    operation o = { .token = job->token, .task = job->launch.name };
    const int index = kernel_lane(d);
    TI_ASSERT(!job->run);
    if (job->kernel->opencl.launch) {
        cl_int done = call(d, index, job, &o.event);
        start(d, index, done, &o);
        return;
    }
    const ti_opencl_kernel *k = ti_opencl_kernel_of(d->session, job);
    if (!k || !check_parameters(d, job, k)) {
        return;
    }
    cl_int code = give_all(d, job, k);
    code = code == CL_SUCCESS ? enqueue(d, index, job, k, &o.event) : code;
    start(d, index, code, &o);
}

/* ---- begin and end */

static void opencl_stop(ti_device *base)
{
    device *d = (device *)base;
    for (int i = 0; i < LANES; i++) {
        lane *l = &d->lane[i];
        if (l->queue) {
            d->session->cl.clFinish(l->queue);
        }
        while (under_way(l)) {
            drop_first(d, l);
        }
    }
}

static void opencl_destroy(ti_device *base)
{
    device *d = (device *)base;
    opencl_stop(base);
    for (int i = 0; i < LANES; i++) {
        ti_vec_fini(&d->lane[i].operation);
        if (d->lane[i].queue) {
            d->session->cl.clReleaseCommandQueue(d->lane[i].queue);
        }
    }
    ti_opencl_session_leave(d->session);
    TI_DELETE(d);
}

static const ti_device_ops opencl_ops = {
    .name = "opencl",
    .destroy = opencl_destroy,
    .stop = opencl_stop,
    .alloc = opencl_alloc,
    .free = opencl_free,
    .grow = opencl_grow,
    .copy = opencl_copy,
    .launch = opencl_launch,
    .poll = opencl_poll,
    .room = opencl_room,
};

static void describe(device *d, cl_device_id id, const ti_opencl_name *name)
{
    const ti_opencl_api *cl = &d->session->cl;
    cl_ulong memory = UINT64_MAX, largest = UINT64_MAX;
    size_t arguments = 1024; /* what OpenCL promises at least */
    cl->clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL);
    cl->clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(largest), &largest, NULL);
    cl->clGetDeviceInfo(id, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof(arguments), &arguments, NULL);
    d->memory = d->base.memory = memory;
    d->largest = largest;
    d->arguments = arguments;
    if (name->parts > 1) {
        snprintf(d->name, sizeof(d->name), "opencl:%d/%d, part %d", name->index, name->parts, name->part);
    } else {
        snprintf(d->name, sizeof(d->name), "opencl:%d", name->index);
    }
}

/* NULL: the system does not grant the queues. */
static device *create(ti_opencl_session *session, cl_device_id id, const ti_opencl_name *name, ti_strbuf *why)
{
    device *d = TI_NEW(device);
    cl_int code = CL_SUCCESS;
    d->base = (ti_device){ .ops = &opencl_ops, .workers = 1 };
    d->session = session;
    d->id = id;
    session->users++;
    describe(d, id, name);
    for (int i = 0; i < LANES && code == CL_SUCCESS; i++) {
        d->lane[i].queue = session->cl.clCreateCommandQueue(session->context, id, 0, &code);
    }
    if (code != CL_SUCCESS) {
        ti_strbuf_add(why, "device %s of TACIT_DEVICES cannot be used (%s)", d->name, ti_opencl_error_name(code));
        opencl_destroy(&d->base);
        return NULL;
    }
    return d;
}

bool ti_opencl_create(const ti_opencl_name *name, int count, const char *cache, ti_failure *failure, ti_device **out,
                      ti_strbuf *why)
{
    cl_device_id *id = TI_NEW_ARRAY(cl_device_id, (size_t)count);
    ti_opencl_session *session = ti_opencl_session_create(name, count, cache, failure, id, why);
    int made = 0;
    for (device *d; session && made < count && (d = create(session, id[made], &name[made], why));) {
        out[made++] = &d->base;
    }
    if (session) {
        ti_opencl_session_leave(session);
    }
    for (int i = 0; made < count && i < made; i++) {
        opencl_destroy(out[i]);
        out[i] = NULL;
    }
    ti_free(id, (size_t)count * sizeof(*id));
    return made == count;
}
