/* Messages between simulated nodes, by LogGP: see network.h, and platform.h for the numbers.
 *
 * A short message enters the network at once. A long one first asks its receiver, who answers when it has posted the
 * receive and its executor is free. On the other side a message also occupies a port, so that many senders to one node
 * wait for each other. What only asks or answers, such as frames of relays, waits for no port: networks send packets of
 * several messages in turns, and so few bytes fit in between. */
#include "sim/network.h"

#include "base/check.h"

static uint32_t take_wire(ti_cluster *c)
{
    if (c->free_wires.count > 0) {
        return c->free_wires.data[--c->free_wires.count];
    }
    ti_vec_push(&c->wires, (wire){ 0 });
    return (uint32_t)c->wires.count - 1;
}

/* The message that has this key at its receiver, from whichever side it is heard of first. */
static uint32_t wire_of(ti_cluster *c, int to, uint64_t key)
{
    uint64_t *known = ti_map_at(&c->node[to].expected, key);
    if (*known == 0) {
        uint32_t fresh = take_wire(c);
        c->wires.data[fresh] = (wire){ .to = to, .key = key };
        *known = fresh + 1;
        c->held++;
        c->result.held_peak = TI_MAX(c->result.held_peak, c->held);
    }
    return (uint32_t)*known - 1;
}

/* Nobody will ask for it by its key any more. */
static void forget_if_met(ti_cluster *c, const wire *w)
{
    if (w->begun && w->posted) {
        ti_map_remove(&c->node[w->to].expected, w->key, NULL);
    }
}

static void free_if_over(ti_cluster *c, uint32_t index)
{
    const wire *w = &c->wires.data[index];
    if (w->sent && w->received) {
        ti_vec_push(&c->free_wires, index);
        c->held--;
    }
}

static void enter(ti_cluster *c, uint32_t index, double time)
{
    const wire *w = &c->wires.data[index];
    double begin = ti_sim_pass(&c->platform, c->node[w->from].out, time, w->bytes);
    double bytes = ti_sim_port_bytes(&c->platform, w->bytes);
    ti_sim_later(c, begin + bytes * c->platform.byte_time, w->from, EVENT_SENT, index, TI_PATH_MESSAGES);
    ti_sim_later(c, begin + c->platform.latency, w->to, EVENT_ENTERS, index, TI_PATH_MESSAGES);
}

/* A frame of a relay. */
static void slip_in(ti_cluster *c, uint32_t index, double time)
{
    const wire *w = &c->wires.data[index];
    double bytes = TI_MAX(w->bytes - 1, 0) * c->platform.byte_time;
    ti_sim_later(c, time, w->from, EVENT_SENT, index, TI_PATH_MESSAGES);
    ti_sim_later(c, time + c->platform.latency + bytes, w->to, EVENT_ARRIVED, index, TI_PATH_MESSAGES);
}

static void answer(ti_cluster *c, uint32_t index)
{
    const wire *w = &c->wires.data[index];
    double ready = ti_sim_use_executor(c, &c->node[w->to], c->platform.send_overhead + c->platform.rendezvous);
    ti_sim_later(c, ready + c->platform.latency, w->from, EVENT_ANSWERS, index, TI_PATH_MESSAGES);
}

static void take_in(ti_cluster *c, uint32_t index)
{
    const wire *w = &c->wires.data[index];
    double ns = c->platform.receive_overhead + (w->combines ? w->bytes * c->platform.combine_byte : 0);
    double end = ti_sim_use_executor(c, &c->node[w->to], ns);
    ti_sim_later(c, end, w->to, EVENT_RECEIVED, index, TI_PATH_MESSAGES);
}

void ti_sim_count(ti_cluster *c, int from, int to, double bytes, bool paired)
{
    c->result.messages++;
    c->result.bytes += (uint64_t)bytes;
    if (c->pairs && paired) {
        ti_cluster_pair *pair = &c->pairs[(size_t)from * (size_t)c->nodes + (size_t)to];
        pair->messages++;
        pair->bytes += (uint64_t)bytes;
    }
}

static uint32_t begin(ti_cluster *c, int from, int to, uint64_t key, double bytes, uint64_t sender)
{
    uint32_t index = wire_of(c, to, key);
    wire *w = &c->wires.data[index];
    w->from = from;
    w->bytes = bytes;
    w->sender = sender;
    w->begun = true;
    forget_if_met(c, w);
    ti_sim_call_attendant(c, &c->node[from]);
    return index;
}

static void ask(ti_cluster *c, uint32_t index, double time)
{
    ti_sim_later(c, time + c->platform.latency, c->wires.data[index].to, EVENT_ASKS, index, TI_PATH_MESSAGES);
}

void ti_sim_send_asking(ti_cluster *c, int from, int to, uint64_t key, double bytes, uint64_t sender)
{
    uint32_t index = begin(c, from, to, key, bytes, sender);
    ask(c, index, ti_sim_use_executor(c, &c->node[from], c->platform.send_overhead));
}

void ti_sim_send(ti_cluster *c, int from, int to, uint64_t key, double bytes, uint64_t sender)
{
    uint32_t index = begin(c, from, to, key, bytes, sender);
    double ready = ti_sim_use_executor(c, &c->node[from], c->platform.send_overhead);
    if ((key & (TI_OF_FRAME | TI_OF_COLLECTIVE)) == TI_OF_FRAME) {
        slip_in(c, index, ready);
    } else if (bytes <= c->platform.eager) {
        enter(c, index, ready);
    } else {
        ask(c, index, ready);
    }
}

void ti_sim_receive(ti_cluster *c, int to, uint64_t key, uint64_t receiver, bool combines)
{
    uint32_t index = wire_of(c, to, key);
    wire *w = &c->wires.data[index];
    w->posted = true;
    w->receiver = receiver;
    w->combines = combines;
    forget_if_met(c, w);
    ti_sim_call_attendant(c, &c->node[to]);
    if (w->arrived) {
        take_in(c, index);
    } else if (w->asked) {
        answer(c, index);
    }
}

bool ti_sim_withdraw(ti_cluster *c, int to, uint64_t key, uint64_t *receiver)
{
    uint64_t known;
    if (!ti_map_remove(&c->node[to].expected, key, &known)) {
        return false;
    }
    uint32_t index = (uint32_t)known - 1;
    TI_ASSERT(c->wires.data[index].posted && !c->wires.data[index].begun);
    *receiver = c->wires.data[index].receiver;
    ti_vec_push(&c->free_wires, index);
    c->held--;
    return true;
}

static uint64_t sent(ti_cluster *c, uint32_t index)
{
    uint64_t sender = c->wires.data[index].sender;
    c->wires.data[index].sent = true;
    free_if_over(c, index);
    return sender;
}

static uint64_t received(ti_cluster *c, uint32_t index)
{
    wire *w = &c->wires.data[index];
    uint64_t receiver = w->receiver;
    w->received = true;
    free_if_over(c, index);
    return receiver;
}

/* Between the halves of the nodes all messages of one direction follow each other. Returns when this one is through. */
static double cross(ti_cluster *c, wire *w)
{
    bool from = w->from >= c->nodes / 2, to = w->to >= c->nodes / 2;
    if (from == to || w->crossed || c->platform.bisection_byte == 0) {
        return c->now;
    }
    w->crossed = true;
    double begin = TI_MAX(c->now, c->middle[from]);
    c->middle[from] = begin + w->bytes * c->platform.bisection_byte;
    return begin;
}

static void come_in(ti_cluster *c, uint32_t index)
{
    wire *w = &c->wires.data[index];
    double crossed = cross(c, w);
    if (crossed > c->now) {
        ti_sim_later(c, crossed, w->to, EVENT_ENTERS, index, TI_PATH_MESSAGES);
        return;
    }
    double begin = ti_sim_pass(&c->platform, c->node[w->to].in, c->now, w->bytes);
    double bytes = TI_MAX(ti_sim_port_bytes(&c->platform, w->bytes) - 1, 0);
    ti_sim_later(c, begin + bytes * c->platform.byte_time, w->to, EVENT_ARRIVED, index, TI_PATH_MESSAGES);
}

uint64_t ti_sim_wire_event(ti_cluster *c, const ti_event *event)
{
    uint32_t index = (uint32_t)event->what;
    wire *w = &c->wires.data[index];
    switch ((event_kind)event->kind) {
    case EVENT_SENT:
        return sent(c, index);
    case EVENT_ENTERS:
        come_in(c, index);
        break;
    case EVENT_ASKS:
        w->asked = true;
        if (w->posted) {
            answer(c, index);
        }
        break;
    case EVENT_ANSWERS:
        enter(c, index, ti_sim_use_executor(c, &c->node[w->from], c->platform.send_overhead));
        break;
    case EVENT_ARRIVED:
        w->arrived = true;
        if (w->posted) {
            take_in(c, index);
        }
        break;
    case EVENT_RECEIVED:
        return received(c, index);
    case EVENT_APPLICATION:
    case EVENT_PLANNED:
    case EVENT_PART:
    case EVENT_DONE:
    case EVENT_MEET:
    case EVENT_STEPPED:
    case EVENT_LOOK:
        TI_UNREACHABLE();
    }
    return 0;
}
