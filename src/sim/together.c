/* Steps of a collective that all its ranks take at once, without an event for each message: see impl.h.
 *
 * In a step of a ring, and of others like it, every rank sends one message and gets one. Where all ranks begin a step
 * at the same time and nothing else happens in the whole cluster before they are through with it, the times of all its
 * messages follow from each other, in the order of sim/wire.c: so they are computed for one step after the other, until
 * something else happens. What would be in another order than computed here is left to events. */
#include "sim/impl.h"

#include <math.h>
#include <string.h>

/* One rank: when its threads and ports are free; when it began the step, and is through with it. */
typedef struct rank {
    double executor, entered; /* entered: when the last message for it came out of the network */
    double begin, end;
    int origin; /* the rank that its chain of events goes back to */
    int to;
    bool combines;                /* what it gets */
    double bytes;                 /* that it sends */
    double asked, answered, sent; /* of the message that it sends: when it may enter the network, and is gone */
    double heard, arrived;        /* of the one that it gets */
} rank;

typedef struct state {
    rank *rank;
    double *out, *in; /* ports of all ranks */
    int ranks, ports;
} state;

static state make(int ranks, int ports)
{
    size_t all = (size_t)ranks * (size_t)ports;
    return (state){ TI_NEW_ARRAY(rank, (size_t)ranks), TI_NEW_ARRAY(double, all), TI_NEW_ARRAY(double, all), ranks,
                    ports };
}

static void fini(state *s)
{
    size_t all = (size_t)s->ranks * (size_t)s->ports;
    ti_free(s->rank, (size_t)s->ranks * sizeof(rank));
    ti_free(s->out, all * sizeof(double));
    ti_free(s->in, all * sizeof(double));
}

static void copy(state *to, const state *from)
{
    size_t all = (size_t)to->ranks * (size_t)to->ports;
    memcpy(to->rank, from->rank, (size_t)to->ranks * sizeof(rank));
    memcpy(to->out, from->out, all * sizeof(double));
    memcpy(to->in, from->in, all * sizeof(double));
}

static double *soonest(double *port, double ports)
{
    double *best = port;
    for (int i = 1; i < (int)ports; i++) {
        best = port[i] < *best ? &port[i] : best;
    }
    return best;
}

static bool takes_all_ports(const ti_platform *p, double bytes)
{
    return p->stripe > 0 && bytes > p->stripe;
}

double ti_sim_port_bytes(const ti_platform *p, double bytes)
{
    return takes_all_ports(p, bytes) ? bytes / p->ports : bytes;
}

double ti_sim_pass(const ti_platform *p, double *ports, double time, double bytes)
{
    double *port = soonest(ports, p->ports), begin = TI_MAX(time, *port);
    double busy = TI_MAX(p->gap, ti_sim_port_bytes(p, bytes) * p->byte_time);
    if (takes_all_ports(p, bytes)) {
        for (int i = 0; i < (int)p->ports; i++) {
            begin = TI_MAX(begin, ports[i]);
        }
        for (int i = 0; i < (int)p->ports; i++) {
            ports[i] = begin + busy;
        }
    } else {
        *port = begin + busy;
    }
    return begin;
}

static double use(double *free_at, double time, double ns)
{
    *free_at = TI_MAX(*free_at, time) + ns;
    return *free_at;
}

/* Which messages there are; false: not one from and one to each rank. */
static bool find_messages(ti_cluster *c, const ti_schedule *schedule, state *s, int at)
{
    for (int r = 0; r < s->ranks; r++) {
        ti_schedule_step(schedule, r, at, &c->ops);
        const ti_schedule_op *op = c->ops.data;
        if (c->ops.count != 2 || !op[0].send || op[1].send) {
            return false;
        }
        s->rank[r].to = op[0].peer;
        s->rank[r].bytes = op[0].bytes;
        s->rank[r].combines = op[1].combines;
    }
    return true;
}

static void send(const ti_platform *p, state *s)
{
    for (int r = 0; r < s->ranks; r++) {
        s->rank[r].heard = 0;
        s->rank[r].asked = use(&s->rank[r].executor, s->rank[r].begin, p->send_overhead);
    }
}

/* Long messages: the receiver answers, then the sender sends. */
static bool answer(const ti_platform *p, state *s)
{
    for (int r = 0; r < s->ranks; r++) {
        rank *from = &s->rank[r], *to = &s->rank[from->to];
        if (from->bytes > p->eager) {
            to->heard = from->asked + p->latency;
            from->answered = use(&to->executor, TI_MAX(to->heard, to->begin), p->send_overhead + p->rendezvous) +
                             p->latency;
        }
    }
    for (int r = 0; r < s->ranks; r++) {
        rank *from = &s->rank[r];
        if (from->bytes > p->eager) {
            if (TI_MAX(from->heard, from->begin) >= from->answered) { /* it answers later than it is answered */
                return false;
            }
            from->asked = use(&from->executor, from->answered, p->send_overhead);
        }
    }
    return true;
}

static bool travel(const ti_platform *p, state *s)
{
    for (int r = 0; r < s->ranks; r++) {
        rank *from = &s->rank[r], *to = &s->rank[from->to];
        double begin = ti_sim_pass(p, &s->out[r * s->ports], from->asked, from->bytes), enters = begin + p->latency;
        double bytes = ti_sim_port_bytes(p, from->bytes);
        from->sent = begin + bytes * p->byte_time;
        if (enters < to->entered) { /* before one of the step before */
            return false;
        }
        to->entered = enters;
        begin = ti_sim_pass(p, &s->in[from->to * s->ports], enters, from->bytes);
        to->arrived = begin + TI_MAX(bytes - 1, 0) * p->byte_time;
        to->heard = from->bytes > p->eager ? to->heard : to->arrived;
    }
    return true;
}

/* `before`: the ranks as they were, of which origins count. */
static bool receive(const ti_platform *p, state *s, const state *before)
{
    for (int r = 0; r < s->ranks; r++) {
        const rank *from = &s->rank[r];
        rank *to = &s->rank[from->to];
        double time = TI_MAX(to->arrived, to->begin);
        if (to->bytes > p->eager && time < to->answered) { /* it takes in before it sends */
            return false;
        }
        double ns = p->receive_overhead + (to->combines ? from->bytes * p->combine_byte : 0);
        double received = use(&to->executor, time, ns);
        bool follows = received >= to->sent && to->heard >= to->begin; /* it waited for the other */
        to->origin = before->rank[follows ? r : from->to].origin;
        to->end = TI_MAX(received, to->sent);
    }
    return true;
}

static double last_end(const state *s)
{
    double last = 0;
    for (int r = 0; r < s->ranks; r++) {
        last = TI_MAX(last, s->rank[r].end);
    }
    return last;
}

static void count_messages(ti_cluster *c, const state *s)
{
    for (int r = 0; r < s->ranks; r++) {
        c->result.messages++;
        c->result.bytes += (uint64_t)s->rank[r].bytes;
    }
}

/* All ranks take the steps from `at` on that they can take; returns the next one. */
static int take(ti_cluster *c, const ti_schedule *schedule, state *s, int at)
{
    const ti_platform *p = &c->platform;
    int steps = ti_schedule_steps(schedule);
    double until = ti_events_next(&c->events);
    state next = make(s->ranks, s->ports);
    for (; at < steps && find_messages(c, schedule, s, at); at++) {
        copy(&next, s);
        send(p, &next);
        if (!answer(p, &next) || !travel(p, &next) || !receive(p, &next, s) || last_end(&next) >= until) {
            break;
        }
        state taken = next;
        next = *s;
        *s = taken;
        count_messages(c, s);
        for (int r = 0; r < s->ranks; r++) {
            s->rank[r].begin = s->rank[r].end;
        }
    }
    fini(&next);
    return at;
}

static node *node_of(const ti_cluster *c, const share *first, int r)
{
    return &c->node[first->first_node + r * first->stride];
}

int ti_sim_step_together(ti_cluster *c, const share *first, double *end, int *origin)
{
    int ranks = first->known->schedule.ranks, ports = (int)c->platform.ports;
    size_t room = (size_t)ports * sizeof(double);
    state s = make(ranks, ports);
    for (int r = 0; r < ranks; r++) {
        const node *n = node_of(c, first, r);
        s.rank[r] = (rank){ .executor = n->executor, .begin = c->now, .end = c->now, .origin = r };
        memcpy(&s.out[r * ports], n->out, room);
        memcpy(&s.in[r * ports], n->in, room);
    }
    int at = take(c, &first->known->schedule, &s, first->step);
    for (int r = 0; r < ranks && at > first->step; r++) {
        node *n = node_of(c, first, r);
        n->executor = s.rank[r].executor;
        memcpy(n->out, &s.out[r * ports], room);
        memcpy(n->in, &s.in[r * ports], room);
        end[r] = s.rank[r].end;
        origin[r] = s.rank[r].origin;
    }
    fini(&s);
    return at;
}
