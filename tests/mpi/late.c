/* Operations that start late: see late.h. */
#include "late.h"

#include "base/check.h"
#include "comm/delay.h"
#include "device/host.h"
#include "exec/collective_issue.h"
#include "gen.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef enum late_kind { SEND, BROADCAST, RECEIVE, COLLECTIVE, BARRIER, COPY, LAUNCH } late_kind;

/* What the operation was started with. */
typedef struct late_op {
    late_kind kind;
    int peer, lane;
    int64_t due;
    uint64_t number; /* in the order in which they came */
    uint64_t counter, token;
    ti_payload payload; /* its blocks are on the heap */
    ti_recipient *list; /* on the heap */
    uint32_t listed;
    ti_exchange exchange;
    const ti_instruction *instruction; /* that the exchange is about */
    ti_device *device;
    ti_block to, from;
    ti_device_kernel *job;
} late_op;

typedef struct late_comm {
    ti_comm comm;
    ti_comm *inner;
    uint64_t seed;
    TI_VEC(late_op) held;
} late_comm;

static struct {
    uint64_t seed;
    late_comm *comm; /* of the context that is being created, or lives */
    const ti_device_ops *host;
    ti_device_ops device;
    late_counts counts;
} late;

void late_set(uint64_t seed)
{
    late.seed = seed;
}

late_counts late_get(void)
{
    return late.counts;
}

/* ---- holding and letting go */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Nanoseconds: mostly none, or about what a message takes, and now and then much more. */
static int64_t delay(const late_comm *self, uint64_t number)
{
    uint64_t draw = gen_mix(self->seed ^ (uint64_t)self->comm.node << 48 ^ number);
    int64_t most = draw % 8 < 3 ? 0 : draw % 8 < 6 ? 50000 : 1000000;
    return most ? (int64_t)(draw / 8 % (uint64_t)most) : 0;
}

/* What others look at. Operations that wait make somebody poll. */
static void tell(late_comm *self)
{
    self->comm.pending = self->inner->pending + self->held.count;
    self->comm.notes_pending = self->inner->notes_pending;
    self->comm.stats = self->inner->stats;
    self->comm.due = self->inner->due;
}

/* The blocks of a payload are on the heap while it waits. */
static void start(late_comm *self, const late_op *o)
{
    const ti_comm_ops *ops = self->inner->ops;
    switch (o->kind) {
    case SEND:
        ops->send(self->inner, o->peer, o->counter, &o->payload, o->token);
        break;
    case BROADCAST:
        ops->broadcast(self->inner, o->list, o->listed, &o->payload);
        free(o->list);
        break;
    case RECEIVE:
        ops->receive(self->inner, o->peer, o->counter, &o->payload, o->token);
        break;
    case COLLECTIVE: {
        /* The exchange asks where boxes lie, and is answered for the instruction at hand. */
        ti_collective_issue *issue = o->exchange.user;
        const ti_instruction *current = issue->current;
        issue->current = o->instruction;
        ops->collective(self->inner, &o->exchange, o->token);
        issue->current = current;
        break;
    }
    case BARRIER:
        ops->barrier(self->inner, o->token);
        break;
    case COPY:
        late.host->copy(o->device, o->lane, &o->to, &o->from, o->token);
        break;
    case LAUNCH:
        late.host->launch(o->device, o->lane, o->job);
        break;
    }
}

static bool must_wait(const late_comm *self, const late_op *o)
{
    for (size_t i = 0; i < self->held.count; i++) {
        const late_op *other = &self->held.data[i];
        if (o->kind == COLLECTIVE && other->kind == COLLECTIVE && other->number < o->number) {
            return true;
        }
    }
    return false;
}

static void count_overtaken(const late_comm *self, const late_op *o)
{
    for (size_t i = 0; i < self->held.count; i++) {
        if (self->held.data[i].number < o->number) {
            late.counts.overtaken++;
            return;
        }
    }
}

/* The youngest first, so that they overtake. */
static void start_due(late_comm *self)
{
    int64_t t = now();
    for (size_t i = self->held.count; i-- > 0;) {
        late_op o = self->held.data[i];
        if (o.due > t || must_wait(self, &o)) {
            continue;
        }
        memmove(&self->held.data[i], &self->held.data[i + 1], (--self->held.count - i) * sizeof(o));
        count_overtaken(self, &o);
        start(self, &o);
        free((void *)(uintptr_t)o.payload.block);
    }
}

static void add(late_comm *self, late_op o)
{
    o.number = ++late.counts.started;
    int64_t wait = delay(self, o.number);
    if (!wait && !must_wait(self, &o)) {
        count_overtaken(self, &o);
        start(self, &o);
        tell(self);
        return;
    }
    late.counts.late++;
    o.due = now() + wait;
    size_t bytes = o.payload.count * sizeof(ti_block);
    if (bytes) {
        ti_block *copy = malloc(bytes);
        TI_ASSERT(copy);
        memcpy(copy, o.payload.block, bytes);
        o.payload.block = copy;
    } else {
        o.payload.block = NULL;
    }
    ti_vec_push(&self->held, o);
    tell(self);
}

/* ---- the communicator */

static late_comm *of(ti_comm *comm)
{
    return (late_comm *)comm;
}

static void late_send(ti_comm *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    add(of(comm), (late_op){ .kind = SEND, .peer = peer, .counter = counter, .payload = *payload, .token = token });
}

static void late_broadcast(ti_comm *comm, ti_recipient *list, uint32_t count, const ti_payload *payload)
{
    ti_recipient *copy = malloc(count * sizeof(*copy));
    TI_ASSERT(copy);
    memcpy(copy, list, count * sizeof(*copy));
    add(of(comm), (late_op){ .kind = BROADCAST, .payload = *payload, .list = copy, .listed = count });
}

static void late_open_relays(ti_comm *comm)
{
    ti_comm *inner = of(comm)->inner;
    inner->ops->open_relays(inner);
    comm->relays = inner->relays;
}

static void late_receive(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    add(of(comm),
        (late_op){ .kind = RECEIVE, .peer = origin, .counter = counter, .payload = *payload, .token = token });
}

static void late_collective(ti_comm *comm, const ti_exchange *x, uint64_t token)
{
    const ti_collective_issue *issue = x->user;
    add(of(comm), (late_op){ .kind = COLLECTIVE, .exchange = *x, .instruction = issue->current, .token = token });
}

static void late_barrier(ti_comm *comm, uint64_t token)
{
    add(of(comm), (late_op){ .kind = BARRIER, .token = token });
}

static int64_t late_sum(ti_comm *comm, int64_t value)
{
    int64_t all = of(comm)->inner->ops->sum(of(comm)->inner, value);
    tell(of(comm));
    return all;
}

static int late_poll(ti_comm *comm, uint64_t *tokens, int max)
{
    late_comm *self = of(comm);
    self->inner->listens = comm->listens;
    self->inner->attended = comm->attended;
    self->inner->tap = comm->tap;
    start_due(self);
    int n = self->inner->pending || self->inner->relays ? self->inner->ops->poll(self->inner, tokens, max) : 0;
    tell(self);
    return n;
}

static const void *late_communicator(const ti_comm *comm, const tacit_mpi_comm *like, int group)
{
    const ti_comm *inner = ((const late_comm *)comm)->inner;
    return inner->ops->communicator(inner, like, group);
}

static bool late_open_group(ti_comm *comm, int group)
{
    ti_comm *inner = ((late_comm *)comm)->inner;
    bool good = inner->ops->open_group(inner, group);
    comm->stats.error = inner->stats.error;
    return good;
}

static void late_abort(ti_comm *comm, const char *why)
{
    of(comm)->inner->ops->abort(of(comm)->inner, why);
}

static bool late_note_open(ti_comm *comm)
{
    bool good = of(comm)->inner->ops->note_open(of(comm)->inner);
    tell(of(comm));
    return good;
}

static bool late_note_send(ti_comm *comm, int peer, const void *note, size_t bytes)
{
    bool sent = of(comm)->inner->ops->note_send(of(comm)->inner, peer, note, bytes);
    tell(of(comm));
    return sent;
}

static int late_note_poll(ti_comm *comm, int *origin, void *note)
{
    int bytes = of(comm)->inner->ops->note_poll(of(comm)->inner, origin, note);
    tell(of(comm));
    return bytes;
}

static void late_destroy(ti_comm *comm)
{
    late_comm *self = of(comm);
    for (size_t i = 0; i < self->held.count; i++) { /* after a failure */
        free((void *)(uintptr_t)self->held.data[i].payload.block);
        free(self->held.data[i].list);
    }
    ti_vec_fini(&self->held);
    self->inner->stats.error = comm->stats.error; /* the runtime may have one of its own */
    self->inner->ops->destroy(self->inner);
    late.comm = NULL;
    TI_DELETE(self);
}

static const ti_comm_ops late_ops = {
    .name = "mpi, late",
    .destroy = late_destroy,
    .send = late_send,
    .broadcast = late_broadcast,
    .open_relays = late_open_relays,
    .receive = late_receive,
    .collective = late_collective,
    .barrier = late_barrier,
    .sum = late_sum,
    .poll = late_poll,
    .communicator = late_communicator,
    .open_group = late_open_group,
    .abort = late_abort,
    .note_open = late_note_open,
    .note_send = late_note_send,
    .note_poll = late_note_poll,
};

ti_comm *__real_ti_comm_mpi_create(const ti_comm_settings *settings, char *why, size_t why_size);
ti_comm *__wrap_ti_comm_mpi_create(const ti_comm_settings *settings, char *why, size_t why_size);
ti_comm *__wrap_ti_comm_mpi_create(const ti_comm_settings *settings, char *why, size_t why_size)
{
    static const int groups[] = { 0, 2, 3 };
    ti_comm_settings own = *settings;
    own.near_groups = groups[gen_mix(late.seed) % TI_COUNT(groups)]; /* as if some nodes were on other machines */
    ti_comm *inner = __real_ti_comm_mpi_create(&own, why, why_size);
    if (!inner || !late.seed) {
        return inner;
    }
    late_comm *self = TI_NEW(late_comm);
    self->comm = *inner;
    self->comm.ops = &late_ops;
    self->inner = inner;
    self->seed = late.seed;
    late.comm = self;
    return &self->comm;
}

/* Outside, where it is seen what is held: device operations, too. */
ti_comm *__real_ti_comm_delay_create(ti_comm *inner, uint64_t delay_ns, ti_delay_clock clock);
ti_comm *__wrap_ti_comm_delay_create(ti_comm *inner, uint64_t delay_ns, ti_delay_clock clock);
ti_comm *__wrap_ti_comm_delay_create(ti_comm *inner, uint64_t delay_ns, ti_delay_clock clock)
{
    late_comm *self = late.comm;
    if (!self || inner != &self->comm) {
        return __real_ti_comm_delay_create(inner, delay_ns, clock);
    }
    self->inner = __real_ti_comm_delay_create(self->inner, delay_ns, clock);
    self->comm.nap_ns = self->inner->nap_ns;
    self->comm.delay_ns = self->inner->delay_ns;
    return inner;
}

/* ---- devices */

static void late_copy(ti_device *device, int lane, const ti_block *to, const ti_block *from, uint64_t token)
{
    add(late.comm, (late_op){ .kind = COPY, .device = device, .lane = lane, .to = *to, .from = *from, .token = token });
}

static void late_launch(ti_device *device, int lane, ti_device_kernel *job)
{
    add(late.comm, (late_op){ .kind = LAUNCH, .device = device, .lane = lane, .job = job });
}

ti_device *__real_ti_device_host_create(const ti_host_desc *desc);
ti_device *__wrap_ti_device_host_create(const ti_host_desc *desc);
ti_device *__wrap_ti_device_host_create(const ti_host_desc *desc)
{
    ti_device *device = __real_ti_device_host_create(desc);
    if (device && late.comm) {
        late.host = device->ops;
        late.device = *device->ops;
        late.device.copy = late_copy;
        late.device.launch = late_launch;
        device->ops = &late.device;
    }
    return device;
}
