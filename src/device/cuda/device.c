/* A CUDA device: streams of kernels and copies, and the events that tell of their end.
 *
 * A device has several streams for kernels, so that small ones run side by side, and one each for copies from the host,
 * to it, and among devices, so that these go on meanwhile. The executor starts only what is ready, so operations of
 * different streams need not wait for each other. Events are polled, the oldest one of each stream; a blocking call is
 * made in `stop` only. Executor role, but for creation and the end. */
#include "base/check.h"
#include "device/cuda/launch.h"
#include "device/cuda/staging.h"

#include <stdio.h>

enum { KERNEL_LANES = 4, FROM_HOST = KERNEL_LANES, TO_HOST, AMONG, LANES };
/* Kernels that wait in streams: those that run, and those whose start must not wait for a poll. */
enum { KERNELS_AHEAD = 2 * KERNEL_LANES };
/* Pinned memory of a device for each direction, allocated when it is first needed. */
enum { SLOTS = 4, SLOT_BYTES = 1 << 20 };

typedef struct operation {
    ti_cu_event event;
    uint64_t token;
    bool is_last;     /* the token is to be told */
    const char *task; /* NULL: a copy */
    int slot;         /* that it uses; -1: none */
    ti_block home;    /* where the contents of the slot go at the end, if base is not NULL */
} operation;

typedef struct lane {
    ti_cu_stream stream;
    TI_VEC(operation) operation;
    size_t first; /* that has not been seen to end */
    /* Of copies by way of pinned memory: */
    TI_VEC(ti_staged) staged;
    size_t next; /* of which a part has not been started */
    char *slot[SLOTS];
    bool is_taken[SLOTS];
} lane;

typedef struct device {
    ti_device base;
    ti_cuda_session *session;
    const ti_cuda_context *context;
    lane lane[LANES];
    TI_VEC(ti_cu_event) idle; /* events to be used again */
    char name[16];
} device;

/* ---- operations under way */

static size_t under_way(const lane *l)
{
    return l->operation.count - l->first;
}

static void fail(device *d, const char *task, const char *what, ti_cu_result code)
{
    ti_failure_set(d->session->failure, code == TI_CU_ERROR_OUT_OF_MEMORY ? TACIT_ERROR_MEMORY : TACIT_ERROR_KERNEL,
                   "%s%s%s on device %s %s: %s", task ? "task '" : "", task ? task : "a copy", task ? "'" : "", d->name,
                   what, ti_cuda_error_name(&d->session->cu, code));
}

/* Behind what the stream has been given: its event. `code` says whether that was possible. */
static void start(device *d, lane *l, ti_cu_result code, const operation *o)
{
    const ti_cuda_api *cu = &d->session->cu;
    operation started = *o;
    started.event = NULL;
    if (code == TI_CU_SUCCESS && d->idle.count) {
        started.event = d->idle.data[--d->idle.count];
    } else if (code == TI_CU_SUCCESS) {
        code = cu->event_create(&started.event, TI_CU_EVENT_DISABLE_TIMING);
    }
    code = code ? code : cu->event_record(started.event, l->stream);
    if (code != TI_CU_SUCCESS) {
        if (started.event) {
            cu->event_destroy(started.event);
        }
        fail(d, o->task, "cannot be started", code);
        return; /* never completes: nothing that needs it will run */
    }
    if (l->first == l->operation.count) {
        l->first = 0;
        ti_vec_clear(&l->operation);
    }
    ti_vec_push(&l->operation, started);
    d->base.silent++;
}

static void drop_first(device *d, lane *l)
{
    const operation *o = &l->operation.data[l->first++];
    ti_vec_push(&d->idle, o->event);
    if (o->slot >= 0) {
        l->is_taken[o->slot] = false;
    }
    d->base.silent--;
}

/* Whether the oldest operation of a lane has ended well. */
static bool has_ended(device *d, lane *l)
{
    const operation *o = &l->operation.data[l->first];
    ti_cu_result code = d->session->cu.event_query(o->event);
    if (code != TI_CU_SUCCESS && code != TI_CU_ERROR_NOT_READY) {
        fail(d, o->task, "has failed", code);
        drop_first(d, l);
    }
    return code == TI_CU_SUCCESS;
}

/* ---- copies */

static ti_cu_side side_of(device *d, const ti_block *b)
{
    const ti_cuda_memory *m = ti_cuda_memory_of(d->session, b->base);
    ti_cu_side side = { .type = m ? TI_CU_MEMORY_DEVICE : TI_CU_MEMORY_HOST,
                        .host = m ? NULL : b->base,
                        .device = m ? (ti_cu_address)(uintptr_t)b->base : 0,
                        .context = m ? m->context->handle : NULL,
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
    const ti_cuda_memory *there = ti_cuda_memory_of(d->session, to), *here = ti_cuda_memory_of(d->session, from);
    const ti_cu_address target = (ti_cu_address)(uintptr_t)to, source = (ti_cu_address)(uintptr_t)from;
    if (!here) {
        return cu->to_device(target, from, bytes, stream);
    }
    if (!there) {
        return cu->from_device(to, source, bytes, stream);
    }
    if (here->context == there->context) {
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
static int take_slot(device *d, lane *l)
{
    for (int i = 0; i < SLOTS; i++) {
        if (l->is_taken[i]) {
            continue;
        }
        void *memory = l->slot[i];
        ti_cu_result code = memory ? TI_CU_SUCCESS
                                   : d->session->cu.host_alloc(&memory, SLOT_BYTES, TI_CU_HOST_PORTABLE);
        if (code != TI_CU_SUCCESS) {
            fail(d, NULL, "cannot be started", code);
            return -1;
        }
        l->slot[i] = memory;
        l->is_taken[i] = true;
        return i;
    }
    return -1;
}

static void start_piece(device *d, lane *l, ti_staged *staged, int slot)
{
    ti_block to, from;
    ti_staged_next(staged, SLOT_BYTES, &to, &from);
    const ti_block tight = ti_staged_tight(&to, l->slot[slot]);
    operation o = { .token = staged->token, .is_last = ti_staged_at_end(staged), .slot = slot };
    ti_cu_result code;
    if (l == &d->lane[FROM_HOST]) {
        ti_layout_copy(&tight, &from);
        code = give(d, l->stream, &to, &tight);
    } else {
        code = give(d, l->stream, &tight, &from);
        o.home = to;
    }
    start(d, l, code, &o);
}

/* Start pieces while there are slots. */
static void feed(device *d, lane *l)
{
    while (l->next < l->staged.count && ti_failure_get(d->session->failure) == TACIT_OK) {
        int slot = take_slot(d, l);
        if (slot < 0) {
            return;
        }
        ti_staged *staged = &l->staged.data[l->next];
        start_piece(d, l, staged, slot);
        l->next += ti_staged_at_end(staged);
    }
    if (l->next == l->staged.count) {
        l->next = 0;
        ti_vec_clear(&l->staged);
    }
}

static void cuda_copy(ti_device *base, int unused, const ti_block *to, const ti_block *from, uint64_t token)
{
    device *d = (device *)base;
    ti_block t = *to, f = *from;
    (void)unused;
    ti_layout_match(&t, &f);
    const bool there = ti_cuda_memory_of(d->session, t.base), here = ti_cuda_memory_of(d->session, f.base);
    lane *l = &d->lane[here && there ? AMONG : here ? TO_HOST : FROM_HOST];
    operation o = { .token = token, .is_last = true, .slot = -1 };
    TI_ASSERT(here || there);
    ti_cu_result code = ti_cuda_enter(d->session, d->context);
    if (code != TI_CU_SUCCESS) {
        fail(d, NULL, "cannot be started", code);
        return;
    }
    if ((here && there) || ti_block_bytes(&t) == 0) {
        start(d, l, give(d, l->stream, &t, &f), &o);
    } else {
        ti_staged staged = { .to = t, .from = f, .token = token };
        ti_vec_push(&l->staged, staged);
        feed(d, l);
    }
    ti_cuda_exit(d->session);
}

/* ---- polling */

/* The contents of a slot go where they belong. */
static void bring_home(lane *l, const operation *o)
{
    if (o->home.base) {
        const ti_block tight = ti_staged_tight(&o->home, l->slot[o->slot]);
        ti_layout_copy(&o->home, &tight);
    }
}

static int poll_lane(device *d, lane *l, uint64_t *tokens, int max)
{
    int n = 0;
    while (n < max && under_way(l) && has_ended(d, l)) {
        const operation *o = &l->operation.data[l->first];
        bring_home(l, o);
        if (o->is_last) {
            tokens[n++] = o->token;
        }
        drop_first(d, l);
    }
    feed(d, l);
    return n;
}

static int cuda_poll(ti_device *base, uint64_t *tokens, int max)
{
    device *d = (device *)base;
    int n = 0;
    if (base->silent == 0) {
        return 0;
    }
    ti_cu_result code = ti_cuda_enter(d->session, d->context);
    if (code != TI_CU_SUCCESS) {
        fail(d, NULL, "has failed", code);
        return 0;
    }
    for (int i = 0; i < LANES; i++) {
        n += poll_lane(d, &d->lane[i], tokens + n, max - n);
    }
    ti_cuda_exit(d->session);
    return n;
}

/* ---- kernels */

/* The stream with the fewest kernels. */
static lane *kernel_lane(device *d)
{
    lane *best = &d->lane[0];
    for (int i = 1; i < KERNEL_LANES; i++) {
        best = under_way(&d->lane[i]) < under_way(best) ? &d->lane[i] : best;
    }
    return best;
}

static int cuda_room(ti_device *base)
{
    const device *d = (const device *)base;
    int running = 0;
    for (int i = 0; i < KERNEL_LANES; i++) {
        running += (int)under_way(&d->lane[i]);
    }
    return TI_MAX(0, KERNELS_AHEAD - running);
}

static void cuda_launch(ti_device *base, int unused, ti_device_kernel *job)
{
    device *d = (device *)base;
    lane *l = kernel_lane(d);
    const operation o = { .token = job->token, .is_last = true, .task = job->launch.name, .slot = -1 };
    ti_cu_result code = ti_cuda_enter(d->session, d->context);
    (void)unused;
    TI_ASSERT(!job->run);
    if (code != TI_CU_SUCCESS) {
        fail(d, job->launch.name, "cannot be started", code);
        return;
    }
    if (ti_cuda_give_kernel(d->session, d->context, l->stream, job, &code)) {
        start(d, l, code, &o);
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

/* The planner copies instead: nobody could move the contents but by commands. */
static tacit_status cuda_grow(ti_device *base, void *ptr, size_t bytes, size_t more, void **out)
{
    (void)base;
    (void)ptr;
    (void)bytes;
    (void)more;
    (void)out;
    return TACIT_ERROR_UNSUPPORTED;
}

/* ---- begin and end */

static void cuda_stop(ti_device *base)
{
    device *d = (device *)base;
    bool entered = ti_cuda_enter(d->session, d->context) == TI_CU_SUCCESS;
    for (int i = 0; i < LANES; i++) {
        lane *l = &d->lane[i];
        if (l->stream) {
            d->session->cu.stream_wait(l->stream);
        }
        ti_vec_clear(&l->staged);
        l->next = 0;
        while (under_way(l)) {
            drop_first(d, l);
        }
    }
    if (entered) {
        ti_cuda_exit(d->session);
    }
}

static void end_lane(device *d, lane *l)
{
    for (int i = 0; i < SLOTS; i++) {
        if (l->slot[i]) {
            d->session->cu.host_free(l->slot[i]);
        }
    }
    ti_vec_fini(&l->operation);
    ti_vec_fini(&l->staged);
    if (l->stream) {
        d->session->cu.stream_destroy(l->stream);
    }
}

static void cuda_destroy(ti_device *base)
{
    device *d = (device *)base;
    cuda_stop(base);
    bool entered = ti_cuda_enter(d->session, d->context) == TI_CU_SUCCESS;
    for (int i = 0; i < LANES; i++) {
        end_lane(d, &d->lane[i]);
    }
    for (size_t i = 0; i < d->idle.count; i++) {
        d->session->cu.event_destroy(d->idle.data[i]);
    }
    if (entered) {
        ti_cuda_exit(d->session);
    }
    ti_vec_fini(&d->idle);
    ti_cuda_session_leave(d->session);
    TI_DELETE(d);
}

static const ti_device_ops cuda_ops = {
    .name = "cuda",
    .destroy = cuda_destroy,
    .stop = cuda_stop,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .grow = cuda_grow,
    .copy = cuda_copy,
    .launch = cuda_launch,
    .poll = cuda_poll,
    .room = cuda_room,
};

/* NULL: the system does not grant the streams. */
static device *create(ti_cuda_session *session, int index, ti_strbuf *why)
{
    device *d = TI_NEW(device);
    d->base = (ti_device){ .ops = &cuda_ops, .workers = 1 };
    d->session = session;
    d->context = ti_cuda_context_of(session, index);
    session->users++;
    snprintf(d->name, sizeof(d->name), "cuda:%d", index);
    d->base.memory = d->context->memory;
    ti_cu_result code = ti_cuda_enter(session, d->context);
    if (code == TI_CU_SUCCESS) {
        for (int i = 0; i < LANES && code == TI_CU_SUCCESS; i++) {
            code = session->cu.stream_create(&d->lane[i].stream, TI_CU_STREAM_NON_BLOCKING);
        }
        ti_cuda_exit(session);
    }
    if (code != TI_CU_SUCCESS) {
        ti_strbuf_add(why, "device %s of TACIT_DEVICES cannot be used (%s)", d->name,
                      ti_cuda_error_name(&session->cu, code));
        cuda_destroy(&d->base);
        return NULL;
    }
    return d;
}

bool ti_cuda_create(const int *index, int count, const char *cache, ti_failure *failure, ti_device **out,
                    ti_strbuf *why)
{
    ti_cuda_session *session = ti_cuda_session_create(index, count, cache, failure, why);
    int made = 0;
    for (device *d; session && made < count && (d = create(session, index[made], why));) {
        out[made++] = &d->base;
    }
    if (session) {
        ti_cuda_session_leave(session);
    }
    for (int i = 0; made < count && i < made; i++) {
        cuda_destroy(out[i]);
        out[i] = NULL;
    }
    return made == count;
}
