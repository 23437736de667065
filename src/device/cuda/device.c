/* A CUDA device: streams of kernels and copies, and the events that tell of their end.
 *
 * A device has several streams for kernels, so that small ones run side by side, and one each for copies from the host,
 * to it, and among devices, so that these go on meanwhile. Events are polled, the oldest one of each stream; a blocking
 * call is made in `stop` only. Executor role, but for creation and the end. */
#include "base/check.h"
#include "device/cuda/launch.h"
#include "device/cuda/staging.h"

#include <stdio.h>

enum { KERNEL_LANES = 4, FROM_HOST = KERNEL_LANES, TO_HOST, AMONG, LANES };
/* Kernels that wait in streams: those that run, and those whose start must not wait for a poll. */
enum { KERNELS_AHEAD = 2 * KERNEL_LANES };
/* Pinned memory of a device for each direction, allocated when it is first needed: for copies of memory that is not. */
enum { SLOTS = 4, SLOT_BYTES = 1 << 20 };

/* A lane's stream, and its copies by way of pinned memory. */
typedef struct stream_state {
    ti_cu_stream handle;
    TI_VEC(ti_staged) staged;
    size_t next; /* of which a part has not been started */
    char *slot[SLOTS];
    bool is_taken[SLOTS];
} stream_state;

typedef struct device {
    ti_accelerator base;
    ti_cuda_session *session;
    const ti_cuda_context *context;
    stream_state stream[LANES];
    TI_VEC(ti_cu_event) idle; /* events to be used again */
} device;

static const ti_memory_piece *memory_of(const device *d, const void *address)
{
    return ti_memories_find(&d->session->base.memory, address);
}

/* ---- copies */

static ti_cu_side side_of(device *d, const ti_block *b)
{
    const ti_memory_piece *m = memory_of(d, b->base);
    ti_cu_side side = { .type = m ? TI_CU_MEMORY_DEVICE : TI_CU_MEMORY_HOST,
                        .host = m ? NULL : b->base,
                        .device = m ? (ti_cu_address)(uintptr_t)b->base : 0,
                        .context = m ? m->handle : NULL,
                        .pitch = b->count[1] > 1 ? b->stride[1] : b->run,
                        .height = b->count[1] };
    if (b->count[0] > 1) {
        side.height = b->stride[0] / side.pitch;
    }
    return side;
}

/* Whether one call can express the block: planes are a whole number of rows apart. */
static bool is_pitched(const device *d, const ti_block *b)
{
    const size_t pitch = b->count[1] > 1 ? b->stride[1] : b->run;
    return pitch >= b->run && pitch <= d->context->pitch &&
           (b->count[0] == 1 || (b->stride[0] % pitch == 0 && b->stride[0] / pitch >= b->count[1]));
}

static ti_cu_result copy_pitched(device *d, ti_cu_stream stream, const ti_block *to, const ti_block *from)
{
    const ti_cuda_api *cu = &d->session->cu;
    ti_cu_copy c = {
        .from = side_of(d, from), .to = side_of(d, to), .width = to->run, .height = to->count[1], .depth = to->count[0]
    };
    if (c.from.context && c.to.context && c.from.context != c.to.context) {
        return cu->copy_peer(&c, stream);
    }
    c.from.context = c.to.context = NULL;
    return cu->copy(&c, stream);
}

static ti_cu_result copy_run(device *d, ti_cu_stream stream, char *to, char *from, size_t bytes)
{
    const ti_cuda_api *cu = &d->session->cu;
    const ti_memory_piece *there = memory_of(d, to), *here = memory_of(d, from);
    const ti_cu_address target = (ti_cu_address)(uintptr_t)to, source = (ti_cu_address)(uintptr_t)from;
    if (!here) {
        return cu->to_device(target, from, bytes, stream);
    }
    if (!there) {
        return cu->from_device(to, source, bytes, stream);
    }
    if (here->handle == there->handle) {
        return cu->within(target, source, bytes, stream);
    }
    /* Among devices there are boxes only, whose rows are no longer than a pitch. */
    ti_cu_result code = TI_CU_SUCCESS;
    for (size_t at = 0; at < bytes && code == TI_CU_SUCCESS; at += d->context->pitch) {
        const size_t n = TI_MIN(bytes - at, d->context->pitch);
        const ti_block t = { to + at, n, { 1, 1 }, { n, n } }, f = { from + at, n, { 1, 1 }, { n, n } };
        code = copy_pitched(d, stream, &t, &f);
    }
    return code;
}

/* Give a copy to a stream, in as few calls as can be. Runs and counts of both blocks are equal. */
static ti_cu_result give(device *d, ti_cu_stream stream, const ti_block *to, const ti_block *from)
{
    ti_cu_result code = TI_CU_SUCCESS;
    if (to->count[0] * to->count[1] > 1 && is_pitched(d, to) && is_pitched(d, from)) {
        return copy_pitched(d, stream, to, from);
    }
    ti_block t = *to, f = *from;
    t.count[0] = f.count[0] = 1;
    for (size_t i = 0; i < to->count[0] && code == TI_CU_SUCCESS; i++) {
        t.base = to->base + i * to->stride[0];
        f.base = from->base + i * from->stride[0];
        if (to->count[0] > 1 && to->count[1] > 1 && is_pitched(d, &t) && is_pitched(d, &f)) {
            code = copy_pitched(d, stream, &t, &f);
            continue;
        }
        for (size_t k = 0; k < to->count[1] && code == TI_CU_SUCCESS; k++) {
            code = copy_run(d, stream, t.base + k * t.stride[1], f.base + k * f.stride[1], to->run);
        }
    }
    return code;
}

/* A slot that nobody uses; -1 if all are taken, or the run has failed as there is no memory for one. */
static int take_slot(device *d, stream_state *s)
{
    for (int i = 0; i < SLOTS; i++) {
        if (s->is_taken[i]) {
            continue;
        }
        void *memory = s->slot[i];
        ti_cu_result code = memory ? TI_CU_SUCCESS
                                   : d->session->cu.host_alloc(&memory, SLOT_BYTES, TI_CU_HOST_PORTABLE);
        if (code != TI_CU_SUCCESS) {
            ti_accelerator_fail(&d->base, NULL, "cannot be started", code);
            return -1;
        }
        s->slot[i] = memory;
        s->is_taken[i] = true;
        return i;
    }
    return -1;
}

static void start_piece(device *d, int lane, ti_staged *staged, int slot)
{
    const stream_state *s = &d->stream[lane];
    ti_block to, from;
    ti_cu_result code = ti_accelerator_wait_in(&d->base, lane);
    ti_staged_next(staged, SLOT_BYTES, &to, &from);
    const ti_block tight = ti_staged_tight(&to, s->slot[slot]);
    ti_operation o = { .given = ti_accelerator_now(&d->base),
                       .token = staged->token,
                       .is_part = !ti_staged_at_end(staged),
                       .slot = slot };
    if (lane == FROM_HOST) {
        ti_layout_copy(&tight, &from);
        code = code ? code : give(d, s->handle, &to, &tight);
    } else {
        code = code ? code : give(d, s->handle, &tight, &from);
        o.home = to;
    }
    ti_accelerator_start(&d->base, lane, code, &o);
}

/* Start pieces while there are slots. */
static void feed(ti_accelerator *base, int lane)
{
    device *d = (device *)base;
    stream_state *s = &d->stream[lane];
    while (s->next < s->staged.count && ti_failure_get(base->failure) == TACIT_OK) {
        int slot = take_slot(d, s);
        if (slot < 0) {
            return;
        }
        ti_staged *staged = &s->staged.data[s->next];
        start_piece(d, lane, staged, slot);
        s->next += ti_staged_at_end(staged);
    }
    if (s->next == s->staged.count) {
        s->next = 0;
        ti_vec_clear(&s->staged);
    }
}

/* Before what is given to a lane: false if the run has failed. */
static bool enter_behind(device *d, int lane, const char *task)
{
    ti_cu_result code = ti_cuda_enter(d->session, d->context);
    if (code == TI_CU_SUCCESS) {
        code = ti_accelerator_wait_in(&d->base, lane);
        if (code == TI_CU_SUCCESS) {
            return true;
        }
        ti_cuda_exit(d->session);
    }
    ti_accelerator_fail(&d->base, task, "cannot be started", code);
    return false;
}

static void cuda_copy(ti_device *base, int unused, const ti_block *to, const ti_block *from, uint64_t token)
{
    device *d = (device *)base;
    ti_block t = *to, f = *from;
    (void)unused;
    ti_layout_match(&t, &f);
    const bool there = memory_of(d, t.base), here = memory_of(d, f.base);
    const int lane = here && there ? AMONG : here ? TO_HOST : FROM_HOST;
    const ti_operation o = { .token = token, .given = ti_accelerator_now(&d->base), .slot = -1 };
    TI_ASSERT(here || there);
    if (!enter_behind(d, lane, NULL)) {
        return;
    }
    if ((here && there) || ti_block_bytes(&t) == 0 || ti_cuda_is_pinned(d->session, here ? &t : &f)) {
        ti_accelerator_start(&d->base, lane, give(d, d->stream[lane].handle, &t, &f), &o);
    } else {
        ti_staged staged = { .to = t, .from = f, .token = token };
        ti_vec_push(&d->stream[lane].staged, staged);
        feed(&d->base, lane);
    }
    ti_cuda_exit(d->session);
}

/* ---- what the driver does with lanes */

static const char *error_name(const ti_accelerator *base, int code)
{
    return ti_cuda_error_name(&((const device *)base)->session->cu, code);
}

static bool is_shortage(int code)
{
    return code == TI_CU_ERROR_OUT_OF_MEMORY;
}

static int enter(ti_accelerator *base)
{
    const device *d = (const device *)base;
    return ti_cuda_enter(d->session, d->context);
}

static void leave(ti_accelerator *base)
{
    ti_cuda_exit(((const device *)base)->session);
}

/* Nothing is behind the last operation of a stream, so the stream itself is asked: an event takes longer. */
static int mark(ti_accelerator *base, int lane, void **out)
{
    device *d = (device *)base;
    const ti_cuda_api *cu = &d->session->cu;
    ti_cu_event event = d->idle.count ? d->idle.data[--d->idle.count] : NULL;
    ti_cu_result code = event ? TI_CU_SUCCESS : cu->event_create(&event, TI_CU_EVENT_DISABLE_TIMING);
    if (code == TI_CU_SUCCESS) {
        code = cu->event_record(event, d->stream[lane].handle);
        *out = event;
    }
    return code;
}

static bool has_come(ti_accelerator *base, int lane, void *event, int *code)
{
    const device *d = (device *)base;
    const ti_cuda_api *cu = &d->session->cu;
    *code = event ? cu->event_query(event) : cu->stream_query(d->stream[lane].handle);
    bool come = *code != TI_CU_ERROR_NOT_READY;
    *code = come ? *code : TI_CU_SUCCESS;
    return come;
}

static int wait_for(ti_accelerator *base, int lane, void *event)
{
    device *d = (device *)base;
    return d->session->cu.stream_wait_event(d->stream[lane].handle, event, 0);
}

/* The contents of a slot go where they belong. */
static void bring_home(ti_accelerator *base, int lane, const ti_operation *o)
{
    if (o->home.base) {
        const ti_block tight = ti_staged_tight(&o->home, ((device *)base)->stream[lane].slot[o->slot]);
        ti_layout_copy(&o->home, &tight);
    }
}

static void release(ti_accelerator *base, int lane, const ti_operation *o)
{
    device *d = (device *)base;
    if (o->event) {
        ti_vec_push(&d->idle, (ti_cu_event)o->event);
    }
    if (o->slot >= 0) {
        d->stream[lane].is_taken[o->slot] = false;
    }
}

static void drain(ti_accelerator *base, int lane)
{
    device *d = (device *)base;
    stream_state *s = &d->stream[lane];
    if (s->handle) {
        d->session->cu.stream_wait(s->handle);
    }
    ti_vec_clear(&s->staged);
    s->next = 0;
}

static const ti_driver_ops cuda_driver = {
    .error_name = error_name,
    .is_shortage = is_shortage,
    .enter = enter,
    .leave = leave,
    .mark = mark,
    .has_come = has_come,
    .wait = wait_for,
    .ended = bring_home,
    .release = release,
    .feed = feed,
    .drain = drain,
};

/* ---- kernels */

static void cuda_launch(ti_device *base, int unused, ti_device_kernel *job)
{
    device *d = (device *)base;
    const int lane = ti_accelerator_kernel_lane(&d->base);
    const ti_operation o = {
        .given = ti_accelerator_now(&d->base), .token = job->token, .task = job->launch.name, .slot = -1
    };
    ti_cu_result code;
    (void)unused;
    TI_ASSERT(!job->run);
    if (!enter_behind(d, lane, job->launch.name)) {
        return;
    }
    if (ti_cuda_give_kernel(d->session, d->context, d->stream[lane].handle, job, &code)) {
        ti_accelerator_start(&d->base, lane, code, &o);
    }
    ti_cuda_exit(d->session);
}

/* ---- memory */

static tacit_status cuda_alloc(ti_device *base, size_t bytes, void **out)
{
    device *d = (device *)base;
    tacit_status status = TACIT_ERROR_MEMORY;
    if (ti_cuda_enter(d->session, d->context) == TI_CU_SUCCESS) {
        status = ti_cuda_memory_create(d->session, d->context, TI_MAX(bytes, 1), out);
        ti_cuda_exit(d->session);
    }
    return status;
}

static void cuda_free(ti_device *base, void *ptr, size_t bytes)
{
    device *d = (device *)base;
    (void)bytes;
    if (ptr) {
        bool entered = ti_cuda_enter(d->session, d->context) == TI_CU_SUCCESS;
        ti_cuda_memory_destroy(d->session, ptr);
        if (entered) {
            ti_cuda_exit(d->session);
        }
    }
}

/* ---- begin and end */

static void end_stream(device *d, stream_state *s)
{
    for (int i = 0; i < SLOTS; i++) {
        if (s->slot[i]) {
            d->session->cu.host_free(s->slot[i]);
        }
    }
    ti_vec_fini(&s->staged);
    if (s->handle) {
        d->session->cu.stream_destroy(s->handle);
    }
}

static void cuda_destroy(ti_device *base)
{
    device *d = (device *)base;
    ti_accelerator_stop(base);
    bool entered = ti_cuda_enter(d->session, d->context) == TI_CU_SUCCESS;
    for (int i = 0; i < LANES; i++) {
        end_stream(d, &d->stream[i]);
    }
    for (size_t i = 0; i < d->idle.count; i++) {
        d->session->cu.event_destroy(d->idle.data[i]);
    }
    if (entered) {
        ti_cuda_exit(d->session);
    }
    ti_vec_fini(&d->idle);
    ti_accelerator_fini(&d->base);
    ti_cuda_session_leave(d->session);
    TI_DELETE(d);
}

static const ti_device_ops cuda_ops = {
    .name = "cuda",
    .destroy = cuda_destroy,
    .stop = ti_accelerator_stop,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .grow = ti_accelerator_grow,
    .copy = cuda_copy,
    .launch = cuda_launch,
    .poll = ti_accelerator_poll,
    .room = ti_accelerator_room,
    .await = ti_accelerator_await,
};

typedef struct wanted {
    ti_cuda_session *session;
    const int *index;
    ti_strbuf *why;
} wanted;

static device *describe(ti_cuda_session *session, int index)
{
    device *d = TI_NEW(device);
    d->base = (ti_accelerator){ .base = { .ops = &cuda_ops, .workers = 1 },
                                .driver = &cuda_driver,
                                .failure = session->base.failure,
                                .kernel_lanes = KERNEL_LANES,
                                .lanes = LANES,
                                .ahead = KERNELS_AHEAD };
    d->session = session;
    d->context = ti_cuda_context_of(session, index);
    session->base.users++;
    snprintf(d->base.name, sizeof(d->base.name), "cuda:%d", index);
    d->base.base.memory = d->context->memory;
    return d;
}

/* NULL: the system does not grant the streams. */
static ti_device *create(void *user, int i)
{
    const wanted *w = user;
    device *d = describe(w->session, w->index[i]);
    ti_cu_result code = ti_cuda_enter(w->session, d->context);
    if (code == TI_CU_SUCCESS) {
        for (int k = 0; k < LANES && code == TI_CU_SUCCESS; k++) {
            code = w->session->cu.stream_create(&d->stream[k].handle, TI_CU_STREAM_NON_BLOCKING);
        }
        ti_cuda_exit(w->session);
    }
    if (code != TI_CU_SUCCESS) {
        ti_strbuf_add(w->why, "device %s of TACIT_DEVICES cannot be used (%s)", d->base.name,
                      ti_cuda_error_name(&w->session->cu, code));
        cuda_destroy(&d->base.base);
        return NULL;
    }
    return &d->base.base;
}

bool ti_cuda_create(const int *index, int count, const char *cache, ti_failure *failure, ti_device **out,
                    ti_strbuf *why)
{
    wanted w = { ti_cuda_session_create(index, count, cache, failure, why), index, why };
    bool made = w.session && ti_accelerators_create(create, &w, count, out);
    if (w.session) {
        ti_cuda_session_leave(w.session);
    }
    return made;
}

/* ---- the host's memory */

static void pin(void *user, void *memory, size_t bytes)
{
    ti_cuda_pin(user, memory, bytes);
}

static void unpin(void *user, void *memory)
{
    ti_cuda_unpin(user, memory);
}

ti_pinner ti_cuda_pinner(ti_device *base)
{
    return (ti_pinner){ .user = ((device *)base)->session, .pin = pin, .unpin = unpin };
}
