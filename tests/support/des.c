/* Random execution of recorded commands: see des.h. */
#include "des.h"

#include "base/map.h"

#include <string.h>

enum { NOTHING = UINT32_MAX }; /* what a receive target holds before its message has come */

typedef struct event {
    sim_command *command;
    int node;
    size_t waits; /* dependencies, or for a reduction children, that are not there */
    TI_VEC(struct event *) followers;
    bool done;
} event;

/* One collective, which node after node joins, in the same order on all nodes. */
typedef struct meeting {
    int joined;
    event **event;    /* by node */
    uint32_t **value; /* what each node gave, as it was when it joined */
} meeting;

/* Something under way that may end now: a message, or a node's part of a collective. */
typedef struct flight {
    struct message *message;
    meeting *meeting; /* or this, and: */
    int node;
} flight;

/* One message: the two sides meet by (origin, destination, counter). */
typedef struct message {
    int from, to;
    uint64_t counter;
    event *send, *receive;
    uint32_t *value;   /* of an eager message, copied when it was sent */
    int contributions; /* of a reduction */
    struct message *next;
} message;

typedef struct des {
    sim *s;
    gen_rng rng;
    ti_arena arena;
    event **event;  /* by node */
    size_t *prefix; /* by node: commands up to here are done */
    TI_VEC(event *) ready, epochs;
    TI_VEC(flight) flight;
    TI_VEC(meeting *) meetings; /* by sequence */
    uint64_t *next;             /* by node: the sequence of the collective that it joins next */
    TI_VEC(event *) early;      /* collectives that are ready, but others come first on their nodes */
    ti_map messages;            /* hash of the name to a chain */
    uint32_t **memory;          /* by node */
    size_t done, total;
} des;

static message *message_of(des *d, int from, int to, uint64_t counter)
{
    uint64_t key = gen_mix((uint64_t)from << 40 ^ (uint64_t)to << 20 ^ counter);
    uint64_t *head = ti_map_at(&d->messages, key);
    for (message *m = (message *)(uintptr_t)*head; m; m = m->next) {
        if (m->from == from && m->to == to && m->counter == counter) {
            return m;
        }
    }
    message *m = TI_ARENA_NEW(&d->arena, message);
    *m = (message){ .from = from, .to = to, .counter = counter, .next = (message *)(uintptr_t)*head };
    *head = (uint64_t)(uintptr_t)m;
    return m;
}

/* ---- set up */

static void init_event(des *d, int r, size_t i)
{
    sim_command *c = d->s->node[r].command.data[i];
    event *e = &d->event[r][i];
    e->command = c;
    e->node = r;
    if (c->kind == TI_COMMAND_EPOCH) {
        ti_vec_push(&d->epochs, e);
        return;
    }
    e->waits = c->deps;
    for (size_t k = 0; k < c->deps; k++) {
        ti_vec_push(&d->event[r][c->dep[k] - 1].followers, e);
    }
    if (!e->waits) {
        ti_vec_push(&d->ready, e);
    }
}

static void init(des *d, sim *s, uint64_t seed)
{
    *d = (des){ .s = s, .rng = { gen_mix(seed ^ 0xde5) } };
    d->event = TI_NEW_ARRAY(event *, (size_t)s->nodes);
    d->memory = TI_NEW_ARRAY(uint32_t *, (size_t)s->nodes);
    d->prefix = TI_NEW_ARRAY(size_t, (size_t)s->nodes);
    d->next = TI_NEW_ARRAY(uint64_t, (size_t)s->nodes);
    for (int r = 0; r < s->nodes; r++) {
        size_t count = s->node[r].command.count;
        d->event[r] = TI_NEW_ARRAY(event, count);
        d->memory[r] = TI_NEW_ARRAY(uint32_t, s->elements);
        d->total += count;
        for (size_t i = 0; i < count; i++) {
            init_event(d, r, i);
        }
    }
}

static void fini(des *d)
{
    for (int r = 0; r < d->s->nodes; r++) {
        size_t count = d->s->node[r].command.count;
        for (size_t i = 0; i < count; i++) {
            ti_vec_fini(&d->event[r][i].followers);
        }
        ti_free(d->event[r], count * sizeof(event));
        ti_free(d->memory[r], d->s->elements * sizeof(uint32_t));
    }
    ti_free(d->event, (size_t)d->s->nodes * sizeof(*d->event));
    ti_free(d->memory, (size_t)d->s->nodes * sizeof(*d->memory));
    ti_free(d->prefix, (size_t)d->s->nodes * sizeof(*d->prefix));
    ti_free(d->next, (size_t)d->s->nodes * sizeof(*d->next));
    ti_vec_fini(&d->meetings);
    ti_vec_fini(&d->early);
    ti_vec_fini(&d->ready);
    ti_vec_fini(&d->epochs);
    ti_vec_fini(&d->flight);
    ti_map_fini(&d->messages);
    ti_arena_fini(&d->arena);
}

/* ---- progress */

static void finish(des *d, event *e);

/* An epoch ends when everything before it on its node has. */
static void finish_epochs(des *d, int r)
{
    size_t count = d->s->node[r].command.count;
    while (d->prefix[r] < count && d->event[r][d->prefix[r]].done) {
        d->prefix[r]++;
        if (d->prefix[r] < count && d->event[r][d->prefix[r]].command->kind == TI_COMMAND_EPOCH &&
            !d->event[r][d->prefix[r]].done) {
            finish(d, &d->event[r][d->prefix[r]]);
        }
    }
}

static void finish(des *d, event *e)
{
    e->done = true;
    d->done++;
    for (size_t i = 0; i < e->followers.count; i++) {
        event *f = e->followers.data[i];
        if (--f->waits == 0) {
            ti_vec_push(&d->ready, f);
        }
    }
    if (e == &d->event[e->node][d->prefix[e->node]]) {
        finish_epochs(d, e->node);
    }
}

static bool check_values(des *d, const event *e)
{
    const sim_command *c = e->command;
    for (size_t i = 0; i < c->read.count; i++) {
        uint32_t value = d->memory[e->node][c->read.data[i]];
        d->s->step = c->step;
        SIM_CHECK(d->s, value == c->expected[i],
                  "execution: command %llu of node %d reads element %u: %u instead of %u", (unsigned long long)c->id,
                  e->node, c->read.data[i], value, c->expected[i]);
    }
    return true;
}

static void store(des *d, const event *e, uint32_t value)
{
    for (size_t i = 0; i < e->command->write.count; i++) {
        d->memory[e->node][e->command->write.data[i]] = value;
    }
}

/* ---- messages */

/* Parts of a message are packed, and travel by themselves here: commands know nothing of the pieces of an execution,
 * so only the runtime (tests/model) can tell whether two nodes wait for each other's whole messages. */
static uint64_t name_of(const sim_command *c)
{
    return c->counter | (uint64_t)c->part << 48;
}

static bool start_send(des *d, event *e)
{
    const sim_command *c = e->command;
    message *m = message_of(d, e->node, c->peer, name_of(c));
    m->send = e;
    if (!check_values(d, e)) {
        return false;
    }
    if (c->bundled || gen_chance(&d->rng, 50)) {
        m->value = TI_ARENA_ARRAY(&d->arena, uint32_t, c->read.count);
        for (size_t i = 0; i < c->read.count; i++) {
            m->value[i] = d->memory[e->node][c->read.data[i]];
        }
        finish(d, e);
    }
    if (m->receive) {
        ti_vec_push(&d->flight, ((flight){ .message = m }));
    }
    return true;
}

static void start_receive(des *d, event *e)
{
    message *m = message_of(d, e->command->peer, e->node, name_of(e->command));
    m->receive = e;
    store(d, e, NOTHING);
    if (m->send) {
        ti_vec_push(&d->flight, ((flight){ .message = m }));
    }
}

static bool deliver(des *d, message *m)
{
    const sim_command *from = m->send->command, *to = m->receive->command;
    d->s->step = from->step;
    SIM_CHECK(d->s,
              from->kind == TI_COMMAND_SEND && to->kind == TI_COMMAND_RECEIVE && from->step == to->step &&
                  from->read.count == to->write.count,
              "execution: a message from %d reaches the wrong receive of %d", m->from, m->to);
    if (!m->value && !check_values(d, m->send)) {
        return false; /* memory is read until the message has arrived */
    }
    for (size_t i = 0; i < to->write.count; i++) {
        d->memory[m->to][to->write.data[i]] = m->value ? m->value[i] : d->memory[m->from][from->read.data[i]];
    }
    if (!m->value) {
        finish(d, m->send);
    }
    finish(d, m->receive);
    return true;
}

/* ---- collectives: all nodes have joined before any is through, and then they end one by one */

static meeting *meeting_of(des *d, uint64_t sequence)
{
    while (d->meetings.count <= sequence) {
        meeting *m = TI_ARENA_NEW(&d->arena, meeting);
        m->event = TI_ARENA_ARRAY(&d->arena, event *, (size_t)d->s->nodes);
        m->value = TI_ARENA_ARRAY(&d->arena, uint32_t *, (size_t)d->s->nodes);
        ti_vec_push(&d->meetings, m);
    }
    return d->meetings.data[sequence];
}

/* Now, if it is the node's turn, or else when the one before it has been joined. */
static bool join(des *d, event *e)
{
    const sim_command *c = e->command;
    if (d->next[e->node] != c->counter) {
        ti_vec_push(&d->early, e);
        return true;
    }
    meeting *m = meeting_of(d, c->counter);
    m->event[e->node] = e;
    d->next[e->node]++;
    if (!check_values(d, e)) {
        return false;
    }
    store(d, e, NOTHING);
    m->value[e->node] = ti_arena_copy(&d->arena, d->memory[e->node], d->s->elements * sizeof(uint32_t));
    if (++m->joined == d->s->nodes) {
        for (int r = 0; r < d->s->nodes; r++) {
            ti_vec_push(&d->flight, ((flight){ .meeting = m, .node = r }));
        }
    }
    for (size_t i = 0; i < d->early.count; i++) {
        if (d->early.data[i]->node == e->node && d->early.data[i]->command->counter == d->next[e->node]) {
            ti_vec_push(&d->ready, d->early.data[i]);
            d->early.data[i] = d->early.data[--d->early.count];
            break;
        }
    }
    return true;
}

/* A node's part ends. Until then what it gives stays as it is. */
static bool leave(des *d, meeting *m, int node)
{
    event *e = m->event[node];
    if (e->command->kind == TI_COMMAND_REDUCE) {
        store(d, e, e->command->stamp);
        finish(d, e);
        return true;
    }
    if (!check_values(d, e)) {
        return false;
    }
    for (int r = 0; r < d->s->nodes; r++) {
        const sim_elements *got = &e->command->get[r];
        for (size_t i = 0; i < got->count; i++) {
            d->memory[node][got->data[i]] = m->value[r][got->data[i]];
        }
    }
    finish(d, e);
    return true;
}

/* ---- reductions: partial results are counted */

typedef struct partials {
    int own, count, peer[TI_TREE_CHILDREN];
    int parts[TI_TREE_CHILDREN]; /* of blocks: how many */
    uint64_t counter[TI_TREE_CHILDREN];
} partials;

static void add_partial(partials *to, int peer, uint64_t counter, int parts)
{
    to->peer[to->count] = peer;
    to->parts[to->count] = parts;
    to->counter[to->count++] = counter;
}

static void add_blocks(partials *to, const ti_block_message *from, int messages)
{
    for (int i = 0; i < messages; i++) {
        int parts = 0;
        for (uint32_t k = 0; k < from[i].spans; k++) {
            parts += (int)(from[i].span[k].end - from[i].span[k].first);
        }
        add_partial(to, from[i].peer, from[i].counter, parts);
    }
}

/* What a reduction receives and what it sends. */
static void partials_of(const sim_command *c, partials *in, partials *out)
{
    memset(in, 0, sizeof(*in));
    memset(out, 0, sizeof(*out));
    if (!c->tree) {
        in->own = (int)(c->blocks->own.end - c->blocks->own.first);
        add_blocks(in, c->blocks->receive, c->blocks->receives);
        add_blocks(out, c->blocks->send, c->blocks->sends);
        return;
    }
    in->own = 1;
    for (int i = 0; i < c->tree->children; i++) {
        add_partial(in, c->tree->child[i], c->tree->child_counter[i], 0);
    }
    if (c->tree->parent >= 0) {
        add_partial(out, c->tree->parent, c->tree->parent_counter, 0);
    }
}

static bool finish_reduction(des *d, event *e);

static bool wake_receivers(des *d, const event *e, const partials *out)
{
    for (int i = 0; i < out->count; i++) {
        event *receive = message_of(d, e->node, out->peer[i], out->counter[i])->receive;
        if (receive && --receive->waits == 0 && !finish_reduction(d, receive)) {
            return false;
        }
    }
    return true;
}

static bool finish_reduction(des *d, event *e)
{
    partials in, out;
    partials_of(e->command, &in, &out);
    int contributions = in.own, leaving = 0;
    for (int i = 0; i < in.count; i++) {
        contributions += message_of(d, in.peer[i], e->node, in.counter[i])->contributions;
    }
    d->s->step = e->command->step;
    if (out.count == 0) {
        SIM_CHECK(d->s, contributions == e->command->contributions, "execution: a reduction of %d parts instead of %d",
                  contributions, e->command->contributions);
        if (!check_values(d, e)) {
            return false;
        }
        store(d, e, e->command->stamp);
        finish(d, e);
        return true;
    }
    for (int i = 0; i < out.count; i++) {
        message *m = message_of(d, e->node, out.peer[i], out.counter[i]);
        m->contributions = e->command->tree ? contributions : out.parts[i];
        m->send = e;
        leaving += m->contributions;
    }
    SIM_CHECK(d->s, leaving == contributions, "execution: node %d passes %d of %d parts on", e->node, leaving,
              contributions);
    finish(d, e);
    return wake_receivers(d, e, &out);
}

static bool start_reduction(des *d, event *e)
{
    const sim_command *c = e->command;
    for (size_t i = (size_t)c->id - 1; i-- > 0 && d->s->node[e->node].command.data[i]->step == c->step;) {
        d->s->step = c->step;
        SIM_CHECK(d->s, d->s->node[e->node].command.data[i]->kind != TI_COMMAND_EXECUTE || d->event[e->node][i].done,
                  "execution: node %d combines partial results before they are there", e->node);
    }
    if (ti_pattern_combines(c->pattern)) {
        return join(d, e);
    }
    e->waits = 0;
    partials in, out;
    partials_of(c, &in, &out);
    for (int i = 0; i < in.count; i++) {
        message *m = message_of(d, in.peer[i], e->node, in.counter[i]);
        m->receive = e;
        e->waits += !m->send;
    }
    return e->waits || finish_reduction(d, e);
}

static bool start(des *d, event *e)
{
    switch (e->command->kind) {
    case TI_COMMAND_SEND:
        return start_send(d, e);
    case TI_COMMAND_RECEIVE:
        start_receive(d, e);
        return true;
    case TI_COMMAND_REDUCE:
        return start_reduction(d, e);
    case TI_COMMAND_EXECUTE:
    case TI_COMMAND_FENCE:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        break;
    case TI_COMMAND_COLLECTIVE:
        return join(d, e);
    case TI_COMMAND_EPOCH:
        return sim_fail(d->s, "execution: a command of kind %d", (int)e->command->kind);
    }
    if (!check_values(d, e)) {
        return false;
    }
    store(d, e, e->command->stamp);
    finish(d, e);
    return true;
}

static event *take_ready(des *d)
{
    size_t i = (size_t)gen_between(&d->rng, 0, (int64_t)d->ready.count - 1);
    event *taken = d->ready.data[i];
    d->ready.data[i] = d->ready.data[--d->ready.count];
    return taken;
}

static flight take_flight(des *d)
{
    size_t i = (size_t)gen_between(&d->rng, 0, (int64_t)d->flight.count - 1);
    flight taken = d->flight.data[i];
    d->flight.data[i] = d->flight.data[--d->flight.count];
    return taken;
}

static bool step(des *d)
{
    if (d->flight.count && (!d->ready.count || gen_chance(&d->rng, 40))) {
        flight f = take_flight(d);
        return f.meeting ? leave(d, f.meeting, f.node) : deliver(d, f.message);
    }
    return start(d, take_ready(d));
}

static bool run(des *d)
{
    for (int r = 0; r < d->s->nodes; r++) {
        if (d->s->node[r].command.count && d->event[r][0].command->kind == TI_COMMAND_EPOCH) {
            finish(d, &d->event[r][0]);
        }
    }
    while (d->ready.count || d->flight.count) {
        if (!step(d)) {
            return false;
        }
    }
    SIM_CHECK(d->s, d->done == d->total, "execution: %zu of %zu commands wait for ever", d->total - d->done, d->total);
    return true;
}

bool des_run(sim *s, uint64_t seed)
{
    des d;
    init(&d, s, seed);
    bool good = run(&d);
    fini(&d);
    for (int r = 0; r < s->nodes && good; r++) {
        good = sim_check_order(s, s->node[r].command.data, s->node[r].command.count, "commands");
    }
    return good;
}
