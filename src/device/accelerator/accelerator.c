/* What devices with a driver have in common: see accelerator.h. */
#include "device/accelerator/accelerator.h"

#include "base/check.h"

/* ---- sessions, and devices of one */

void ti_session_init(ti_session *session, const char *cache, ti_failure *failure)
{
    *session = (ti_session){ .failure = failure, .users = 1 };
    ti_kernel_cache_init(&session->cache, cache);
}

void ti_session_fini(ti_session *session)
{
    TI_ASSERT(session->memory.count == 0);
    ti_vec_fini(&session->memory);
    ti_kernel_cache_fini(&session->cache);
}

bool ti_accelerators_create(ti_device *(*create)(void *user, int i), void *user, int count, ti_device **out)
{
    int made = 0;
    while (made < count && (out[made] = create(user, made))) {
        made++;
    }
    for (int i = 0; made < count && i < made; i++) {
        out[i]->ops->destroy(out[i]);
        out[i] = NULL;
    }
    return made == count;
}

/* ---- operations under way */

static size_t under_way(const ti_lane *l)
{
    return l->operation.count - l->first;
}

static int enter(ti_accelerator *a)
{
    return a->driver->enter ? a->driver->enter(a) : 0;
}

static void leave(ti_accelerator *a)
{
    if (a->driver->leave) {
        a->driver->leave(a);
    }
}

void ti_accelerator_fail(ti_accelerator *device, const char *task, const char *what, int code)
{
    ti_failure_set(device->failure, device->driver->is_shortage(code) ? TACIT_ERROR_MEMORY : TACIT_ERROR_KERNEL,
                   "%s%s%s on device %s %s: %s", task ? "task '" : "", task ? task : "a copy", task ? "'" : "",
                   device->name, what, device->driver->error_name(device, code));
}

void ti_accelerator_fail_kernel(ti_accelerator *device, const char *task, const size_t group[TACIT_MAX_DIMS], int code)
{
    char how[120] = "cannot be started";
    if (group[0] > 0) {
        snprintf(how, sizeof(how), "cannot be started with .group = { %zu, %zu, %zu }", group[0], group[1], group[2]);
    }
    ti_accelerator_fail(device, task, how, code);
}

void ti_accelerator_start(ti_accelerator *device, int lane, int code, const ti_operation *operation)
{
    TI_ASSERT(0 <= lane && lane < device->lanes);
    ti_lane *l = &device->lane[lane];
    if (code != 0) {
        ti_accelerator_fail(device, operation->task, "cannot be started", code);
        return;
    }
    if (l->first == l->operation.count) {
        l->first = 0;
        ti_vec_clear(&l->operation);
    }
    ti_vec_push(&l->operation, *operation);
    l->operation.data[l->operation.count - 1].behind = device->behind;
    device->behind = NULL;
    device->base.silent++;
    if (device->driver->flush) {
        device->driver->flush(device, lane);
    }
}

/* Lanes are in order: an operation begins when the one before has ended. All parts of one are told as one. */
static void tell(ti_accelerator *a, int lane, const ti_operation *o)
{
    const ti_lane_tap *tap = &a->base.tap;
    ti_lane *l = &a->lane[lane];
    ti_lane_use use = { .token = o->token, .lane = lane, .is_kernel = o->task != NULL, .end = tap->now(tap->user) };
    const uint64_t others = o->behind ? TI_MIN(o->behind->ended, use.end) : 0;
    use.start = l->begun ? l->begun : TI_MAX(TI_MAX(o->given, l->ended), others);
    l->ended = use.end;
    l->begun = o->is_part ? use.start : 0;
    if (!o->is_part) {
        tap->used(tap->user, tap->device, &use);
    }
}

static void drop_first(ti_accelerator *a, int lane)
{
    ti_lane *l = &a->lane[lane];
    TI_ASSERT(under_way(l) > 0 && a->base.silent > 0);
    a->driver->release(a, lane, &l->operation.data[l->first++]);
    a->base.silent--;
}

/* Whether the oldest operation of a lane has ended well. */
static bool has_ended(ti_accelerator *a, int lane)
{
    const ti_operation *o = &a->lane[lane].operation.data[a->lane[lane].first];
    int code = 0;
    bool come = a->driver->has_come(a, lane, o->event, &code);
    if (code != 0) {
        ti_accelerator_fail(a, o->task, "has failed", code);
        drop_first(a, lane);
    }
    return come && code == 0;
}

/* Then all before it have, too, and need not be asked for one by one, which takes a microsecond each. */
static bool has_newest_ended(ti_accelerator *a, int lane)
{
    const ti_lane *l = &a->lane[lane];
    int code = 0;
    return a->driver->has_come(a, lane, l->operation.data[l->operation.count - 1].event, &code) && code == 0;
}

static int poll_lane(ti_accelerator *a, int lane, uint64_t *tokens, int max)
{
    ti_lane *l = &a->lane[lane];
    int n = 0;
    bool asked = a->base.tap.used != NULL, all = false; /* a trace wants to know when each one has ended */
    while (n < max && under_way(l) && (all || has_ended(a, lane))) {
        if (!asked && under_way(l) > 2) {
            asked = true;
            all = has_newest_ended(a, lane);
        }
        const ti_operation *o = &l->operation.data[l->first];
        if (a->base.tap.used) {
            tell(a, lane, o);
        }
        if (a->driver->ended) {
            a->driver->ended(a, lane, o);
        }
        if (!o->is_part) {
            tokens[n++] = o->token;
        }
        drop_first(a, lane);
    }
    if (a->driver->feed) {
        a->driver->feed(a, lane);
    }
    return n;
}

/* ---- for ti_device_ops */

int ti_accelerator_poll(ti_device *device, uint64_t *tokens, int max)
{
    ti_accelerator *a = (ti_accelerator *)device;
    int n = 0;
    if (device->silent == 0) {
        return 0;
    }
    int code = enter(a);
    if (code != 0) {
        ti_accelerator_fail(a, NULL, "has failed", code);
        return 0;
    }
    for (int i = 0; i < a->lanes; i++) {
        n += poll_lane(a, i, tokens + n, max - n);
    }
    leave(a);
    return n;
}

int ti_accelerator_room(ti_device *device)
{
    const ti_accelerator *a = (const ti_accelerator *)device;
    int running = 0;
    for (int i = 0; i < a->kernel_lanes; i++) {
        running += (int)under_way(&a->lane[i]);
    }
    return TI_MAX(0, a->ahead - running);
}

static int mark_last(ti_accelerator *a, int lane)
{
    ti_lane *l = &a->lane[lane];
    ti_operation *last = under_way(l) ? &l->operation.data[l->operation.count - 1] : NULL;
    return last && !last->event ? a->driver->mark(a, lane, &last->event) : 0;
}

/* The operation that completes a token, if it has been started; contents that go by way of the host are where they
 * belong only when somebody has polled. */
static ti_operation *find(const ti_lane *l, uint64_t token)
{
    for (size_t i = l->operation.count; i-- > l->first;) {
        ti_operation *o = &l->operation.data[i];
        if (o->token == token && !o->is_part) {
            return o->home.base ? NULL : o;
        }
    }
    return NULL;
}

bool ti_accelerator_await(ti_device *device, ti_device *other, uint64_t token)
{
    ti_accelerator *a = (ti_accelerator *)device;
    ti_accelerator *b = (ti_accelerator *)other;
    for (int i = 0; i < b->lanes && other->ops == device->ops; i++) {
        if (find(&b->lane[i], token)) {
            ti_vec_push(&a->awaited, ((ti_awaited){ b, i, token }));
            return true;
        }
    }
    ti_vec_clear(&a->awaited);
    return false;
}

/* An event of the other's operation, which may be the last one of its lane. */
static int event_of(const ti_awaited *awaited, void **out)
{
    ti_accelerator *b = awaited->device;
    const ti_operation *o = find(&b->lane[awaited->lane], awaited->token);
    int code = 0;
    if (!o->event) {
        code = enter(b);
        if (code == 0) {
            code = mark_last(b, awaited->lane);
            leave(b);
        }
    }
    *out = o->event;
    return code;
}

int ti_accelerator_wait_in(ti_accelerator *device, int lane)
{
    int code = mark_last(device, lane);
    for (size_t i = 0; i < device->awaited.count && code == 0; i++) {
        const ti_awaited *a = &device->awaited.data[i];
        void *event;
        if (a->device != device || a->lane != lane) {
            code = event_of(a, &event);
            code = code ? code : device->driver->wait(device, lane, event);
            device->behind = &a->device->lane[a->lane];
        }
    }
    ti_vec_clear(&device->awaited);
    return code;
}

int ti_accelerator_kernel_lane(const ti_accelerator *device)
{
    int best = 0;
    TI_ASSERT(0 < device->kernel_lanes && device->kernel_lanes <= device->lanes && device->lanes <= TI_MAX_LANES);
    for (size_t i = device->awaited.count; i-- > 0;) {
        const ti_awaited *a = &device->awaited.data[i];
        if (a->device == device && a->lane < device->kernel_lanes) {
            return a->lane;
        }
    }
    for (int i = 1; i < device->kernel_lanes; i++) {
        best = under_way(&device->lane[i]) < under_way(&device->lane[best]) ? i : best;
    }
    return best;
}

void ti_accelerator_stop(ti_device *device)
{
    ti_accelerator *a = (ti_accelerator *)device;
    bool entered = enter(a) == 0; /* not if the device is lost */
    for (int i = 0; i < a->lanes; i++) {
        a->driver->drain(a, i);
        while (under_way(&a->lane[i])) {
            drop_first(a, i);
        }
    }
    if (entered) {
        leave(a);
    }
}

tacit_status ti_accelerator_grow(ti_device *device, void *ptr, size_t bytes, size_t more, void **out)
{
    (void)device;
    (void)ptr;
    (void)bytes;
    (void)more;
    (void)out;
    return TACIT_ERROR_UNSUPPORTED;
}

void ti_accelerator_fini(ti_accelerator *device)
{
    for (int i = 0; i < TI_MAX_LANES; i++) {
        ti_vec_fini(&device->lane[i].operation);
    }
    ti_vec_fini(&device->awaited);
}
