/* A CUDA device, its table of operations: see cuda.h, and device.h for the rules. Streams of kernels and copies, and
 * the events that tell of their end.
 *
 * A device has several streams for kernels, so that small ones run side by side, and one each for copies from the host,
 * to it, and among devices, so that these go on meanwhile, and for collectives (nccl.h). Events are polled, the oldest
 * one of each stream; a blocking call is made in `stop` only. Executor role, but for creation and the end. */
#include "base/check.h"
#include "device/cuda/copy.h"
#include "device/cuda/launch.h"
#include "device/cuda/nccl.h"
#include "device/cuda/staging.h"

#include <stdio.h>
#include <string.h>

enum { KERNEL_LANES = 4, FROM_HOST = KERNEL_LANES, TO_HOST, AMONG, NETWORK, LANES };
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
    ti_cuda_nccl *nccl;       /* NULL: devices of other nodes are out of reach */
} device;

/* ---- copies */

static ti_cu_result give(const device *d, int lane, const ti_block *to, const ti_block *from)
{
    return ti_cuda_give_copy(d->session, d->context, d->stream[lane].handle, to, from);
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
        code = code ? code : give(d, lane, &to, &tight);
    } else {
        code = code ? code : give(d, lane, &tight, &from);
        o.home = to;
    }
    ti_accelerator_start(&d->base, lane, code, &o);
}

/* Start pieces while there are slots. */
static void feed(ti_accelerator *base, int lane)
{
    device *d = (device *)base;
    stream_state *s = &d->stream[lane];
    if (lane == NETWORK && d->nccl) {
        ti_cuda_nccl_turn(d->nccl);
    }
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
    const bool there = ti_cuda_memory_of(d->session, t.base), here = ti_cuda_memory_of(d->session, f.base);
    const int lane = here && there ? AMONG : here ? TO_HOST : FROM_HOST;
    const ti_operation o = { .token = token, .given = ti_accelerator_now(&d->base), .slot = -1 };
    TI_ASSERT(here || there);
    if (!enter_behind(d, lane, NULL)) {
        return;
    }
    if ((here && there) || ti_block_bytes(&t) == 0 || ti_cuda_is_pinned(d->session, here ? &t : &f)) {
        ti_accelerator_start(&d->base, lane, give(d, lane, &t, &f), &o);
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
        if (code != TI_CU_SUCCESS) {
            ti_accelerator_fail_kernel(&d->base, job->launch.name, job->kernel->cuda.group, (int)code);
        } else {
            ti_accelerator_start(&d->base, lane, code, &o);
        }
    }
    ti_cuda_exit(d->session);
}

/* ---- collectives */

static void cuda_exchange(ti_device *base, const ti_device_exchange *x, uint64_t token)
{
    device *d = (device *)base;
    TI_ASSERT(d->nccl);
    ti_cu_result code = ti_cuda_enter(d->session, d->context);
    if (code == TI_CU_SUCCESS) {
        ti_cuda_nccl_exchange(d->nccl, x, token);
        ti_cuda_exit(d->session);
    } else {
        ti_accelerator_fail(&d->base, NULL, "cannot be started", code);
    }
}

bool ti_cuda_may_connect(ti_strbuf *why)
{
    ti_nccl_api nccl;
    return ti_nccl_load(&nccl, why);
}

bool ti_cuda_make_id(void *id, ti_strbuf *why)
{
    ti_nccl_api nccl;
    ti_nccl_id made;
    const int code = ti_nccl_load(&nccl, why) ? nccl.make_id(&made) : TI_NCCL_SUCCESS;
    if (code != TI_NCCL_SUCCESS) {
        ti_strbuf_add(why, "%s", nccl.error_text(code));
    }
    TI_ASSERT(sizeof(made) == TI_CUDA_ID_BYTES);
    memcpy(id, &made, sizeof(made));
    return code == TI_NCCL_SUCCESS;
}

bool ti_cuda_connect(ti_device *base, int node, int nodes, const void *id, ti_strbuf *why)
{
    device *d = (device *)base;
    const ti_cuda_nccl_desc desc = { &d->base, d->session, d->context, d->stream[NETWORK].handle, NETWORK };
    if (ti_cuda_enter(d->session, d->context) == TI_CU_SUCCESS) {
        d->nccl = ti_cuda_nccl_create(&desc, node, nodes, id, why);
        ti_cuda_exit(d->session);
    }
    return d->nccl != NULL;
}

void ti_cuda_disconnect(ti_device *base)
{
    device *d = (device *)base;
    bool entered = d->nccl && ti_cuda_enter(d->session, d->context) == TI_CU_SUCCESS;
    if (d->nccl) {
        ti_cuda_nccl_destroy(d->nccl);
        d->nccl = NULL;
    }
    if (entered) {
        ti_cuda_exit(d->session);
    }
}

/* A collective may wait for nodes that have ended. */
static void cuda_stop(ti_device *base)
{
    device *d = (device *)base;
    bool entered = d->nccl && ti_cuda_enter(d->session, d->context) == TI_CU_SUCCESS;
    if (d->nccl) {
        ti_cuda_nccl_abort(d->nccl);
    }
    if (entered) {
        ti_cuda_exit(d->session);
    }
    ti_accelerator_stop(base);
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
    cuda_stop(base);
    ti_cuda_disconnect(base);
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
    .stop = cuda_stop,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .grow = ti_accelerator_grow,
    .copy = cuda_copy,
    .launch = cuda_launch,
    .exchange = cuda_exchange,
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
    ti_cuda_name_format(index, d->base.name);
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

static void pin_later(void *user, void *memory, size_t bytes)
{
    ti_cuda_may_pin(user, memory, bytes);
}

static void pin(void *user, void *memory, size_t bytes)
{
    pin_later(user, memory, bytes);
    ti_cuda_pin(user, memory);
}

static void unpin(void *user, void *memory)
{
    ti_cuda_unpin(user, memory);
}

ti_pinner ti_cuda_pinner(ti_device *base, bool at_once)
{
    return (ti_pinner){ .user = ((device *)base)->session, .pin = at_once ? pin : pin_later, .unpin = unpin };
}
