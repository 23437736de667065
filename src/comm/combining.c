/* Reductions as messages between pairs: see combining.h. */
#include "comm/combining.h"

#include "base/check.h"

#include <string.h>

/* What is under way in a lane at most: one is combined while the next ones arrive. */
enum { LANE_DEPTH = 2 };
enum { DEPTH_BITS = 1, LANE_BITS = 2, PEER_BITS = 24 };
enum { LINE = 64 };
_Static_assert(LANE_DEPTH == 1 << DEPTH_BITS, "tokens tell what is under way apart");

/* What this node has with each other one. */
typedef enum lane_kind {
    VALUES_OUT,  /* of the peer's part, to the peer */
    VALUES_IN,   /* of this node's part, from the peer, into slots */
    RESULTS_OUT, /* of this node's part */
    RESULTS_IN,  /* of the peer's part */
    LANES
} lane_kind;

typedef struct lane {
    size_t segments;
    size_t started, done; /* all before have been; behind `done` those of `over` have */
    uint32_t over;        /* bit i % LANE_DEPTH */
} lane;

struct ti_combining_operation {
    uint64_t token, sequence;
    uint32_t number;
    bool under_way, is_ready;
    bool whole; /* everybody who wants the result combines all of it */
    bool
        single; /* the same, in one segment: nothing has to wait for anything but for the messages, no lanes are used */
    uint32_t left; /* of those */
    int next;      /* while it is open: whose values are received next, so many nodes behind this one */
    ti_reducer reducer;
    int nodes, node, root; /* root < 0: all nodes get the result */
    char *at;
    size_t elements, elem_size;
    size_t step;               /* elements of a segment */
    size_t segments, combined; /* of this node's part */
    lane *lane;                /* [peer * LANES + kind] */
    size_t lanes;              /* how many there is room for */
    char *slot;                /* [segment % LANE_DEPTH][node] */
    size_t slot_bytes, room;
};

/* ---- parts and segments */

static bool gets(const ti_combining_operation *o, int node)
{
    return o->root < 0 || o->root == node;
}

/* The elements that `node` combines begin here; they end where those of the next node begin. */
static size_t part_begin(const ti_combining_operation *o, int node)
{
    size_t each = o->elements / (size_t)o->nodes, rest = o->elements % (size_t)o->nodes;
    return o->whole ? 0 : each * (size_t)node + TI_MIN(rest, (size_t)node);
}

static size_t part_length(const ti_combining_operation *o, int node)
{
    size_t each = o->elements / (size_t)o->nodes, rest = o->elements % (size_t)o->nodes;
    return o->whole ? (gets(o, node) ? o->elements : 0) : each + ((size_t)node < rest);
}

static size_t count_segments(const ti_combining_operation *o, int node)
{
    return (part_length(o, node) + o->step - 1) / o->step;
}

/* Of the i-th segment of a node's part. */
static size_t length_of(const ti_combining_operation *o, int node, size_t i)
{
    return TI_MIN(o->step, part_length(o, node) - i * o->step);
}

static char *address_of(const ti_combining_operation *o, int node, size_t i)
{
    return o->at + (part_begin(o, node) + i * o->step) * o->elem_size;
}

static char *slot_of(const ti_combining_operation *o, int node, size_t i)
{
    return o->slot + ((i % LANE_DEPTH) * (size_t)o->nodes + (size_t)node) * o->slot_bytes;
}

/* ---- lanes */

static lane *lane_of(const ti_combining_operation *o, int peer, lane_kind kind)
{
    return &o->lane[(size_t)peer * LANES + (size_t)kind];
}

static uint64_t token_of(const ti_combining_operation *o, int peer, lane_kind kind, size_t i)
{
    uint64_t who = ((uint64_t)o->number << PEER_BITS | (uint64_t)peer) << LANE_BITS | (uint64_t)kind;
    return TI_COMBINING_TOKEN | who << DEPTH_BITS | i % LANE_DEPTH;
}

/* Starts what may be started: segments before `end`. */
static void start_lane(ti_combining *all, ti_combining_operation *o, int peer, lane_kind kind, size_t end)
{
    lane *l = lane_of(o, peer, kind);
    int owner = kind == VALUES_OUT || kind == RESULTS_IN ? peer : o->node;
    bool sends = kind == VALUES_OUT || kind == RESULTS_OUT;
    TI_ASSERT(l->done <= l->started && l->started <= l->segments);
    for (end = TI_MIN(end, l->segments); l->started < end && l->started - l->done < LANE_DEPTH;) {
        size_t i = l->started++;
        ti_combining_message m = { .peer = peer,
                                   .sequence = o->sequence,
                                   .phase = kind == RESULTS_OUT || kind == RESULTS_IN,
                                   .index = i,
                                   .at = kind == VALUES_IN ? slot_of(o, peer, i) : address_of(o, owner, i),
                                   .bytes = length_of(o, owner, i) * o->elem_size,
                                   .token = token_of(o, peer, kind, i) };
        (sends ? all->send : all->receive)(all->comm, &m);
    }
}

static void make_ready(ti_combining *all, ti_combining_operation *o)
{
    if (!o->is_ready) {
        o->is_ready = true;
        ti_vec_push(&all->ready, o->number);
    }
}

void ti_combining_message_done(ti_combining *all, uint64_t token)
{
    size_t i = token & (LANE_DEPTH - 1);
    uint64_t who = (token & ~TI_COMBINING_TOKEN) >> DEPTH_BITS;
    uint64_t number = who >> LANE_BITS >> PEER_BITS;
    TI_ASSERT((token & TI_COMBINING_TOKEN) && number < all->operation.count);
    ti_combining_operation *o = all->operation.data[number];
    if (o->single) {
        TI_ASSERT(o->left > 0);
        if (--o->left == 0) {
            make_ready(all, o);
        }
        return;
    }
    lane *l = lane_of(o, (int)(who >> LANE_BITS & ((1u << PEER_BITS) - 1)), (lane_kind)(who & (LANES - 1)));
    TI_ASSERT(l->done < l->started && !(l->over >> i & 1));
    l->over |= 1u << i;
    while (l->over >> (l->done % LANE_DEPTH) & 1) {
        l->over &= ~(1u << (l->done++ % LANE_DEPTH));
    }
    make_ready(all, o);
}

/* ---- combining */

/* Whether all values of the next segment are here, and nobody is sent what will be overwritten. */
static bool may_combine(const ti_combining_operation *o)
{
    size_t next = o->combined;
    for (int q = 0; q < o->nodes && next < o->segments; q++) {
        const lane *out = lane_of(o, q, VALUES_OUT), *in = lane_of(o, q, VALUES_IN);
        if (q != o->node && (in->done <= next || (o->whole && out->done < TI_MIN(next + 1, out->segments)))) {
            return false;
        }
    }
    return next < o->segments;
}

static void combine_next(ti_combining_operation *o)
{
    size_t i = o->combined++, n = length_of(o, o->node, i);
    char *own = address_of(o, o->node, i), *into = o->node ? slot_of(o, 0, i) : own;
    for (int q = 1; q < o->nodes; q++) {
        ti_reducer_combine(&o->reducer, into, q == o->node ? own : slot_of(o, q, i), n);
    }
    if (into != own) {
        memcpy(own, into, n * o->elem_size);
    }
}

/* ---- operations */

static bool is_complete(const ti_combining_operation *o)
{
    for (size_t k = 0; k < (size_t)o->nodes * LANES; k++) {
        if (o->lane[k].done < o->lane[k].segments) {
            return false;
        }
    }
    return o->combined == o->segments;
}

/* Values first: others wait for them. What is received into a place has been sent from there before. */
static void advance(ti_combining *all, ti_combining_operation *o)
{
    for (bool more = true; more;) {
        for (int i = 1; i < o->nodes; i++) {
            int q = (o->node + i) % o->nodes;
            start_lane(all, o, q, VALUES_OUT, SIZE_MAX);
            start_lane(all, o, q, VALUES_IN, o->combined + LANE_DEPTH);
        }
        more = may_combine(o);
        if (more) {
            combine_next(o);
        }
        for (int i = 1; i < o->nodes; i++) {
            int q = (o->node + i) % o->nodes;
            start_lane(all, o, q, RESULTS_OUT, o->combined);
            start_lane(all, o, q, RESULTS_IN, lane_of(o, q, VALUES_OUT)->done);
        }
    }
}

/* ---- small values: a message to and from each other node, as far as they want the result */

static ti_combining_message small_message(const ti_combining_operation *o, int peer, lane_kind kind)
{
    return (ti_combining_message){ .peer = peer,
                                   .sequence = o->sequence,
                                   .at = kind == VALUES_IN ? slot_of(o, peer, 0) : o->at,
                                   .bytes = o->elements * o->elem_size,
                                   .token = token_of(o, peer, kind, 0) };
}

static int peer_behind(const ti_combining_operation *o, int i)
{
    return o->node + i < o->nodes ? o->node + i : o->node + i - o->nodes;
}

static void send_values(ti_combining *all, ti_combining_operation *o)
{
    for (int i = 1; i < o->nodes; i++) {
        const int q = peer_behind(o, i);
        const ti_combining_message m = small_message(o, q, VALUES_OUT);
        if (!gets(o, q)) {
            continue;
        }
        if (all->send_at_once(all->comm, &m)) {
            o->left--;
        } else {
            all->send(all->comm, &m);
        }
    }
}

static void start_single(ti_combining *all, ti_combining_operation *o)
{
    const bool wants = gets(o, o->node);
    const uint32_t others = (uint32_t)o->nodes - 1;
    o->left = (wants ? others : 0) + (o->root < 0 ? others : !wants);
    o->next = wants ? 1 : o->nodes;
    send_values(all, o);
    all->open = o;
}

void ti_combining_close(ti_combining *all)
{
    ti_combining_operation *o = all->open;
    for (; o && o->next < o->nodes; o->next++) {
        const ti_combining_message m = small_message(o, peer_behind(o, o->next), VALUES_IN);
        all->receive(all->comm, &m);
    }
    all->open = NULL;
}

/* Whether all that is missing has come. */
static bool receive_values(ti_combining *all, ti_combining_operation *o, int looks)
{
    for (; o->next < o->nodes; o->next++) {
        const ti_combining_message m = small_message(o, peer_behind(o, o->next), VALUES_IN);
        if (!all->receive_at_once(all->comm, &m, &looks)) {
            return false;
        }
        o->left--;
    }
    return true;
}

/* All of its messages are done, which nothing else makes ready. */
static void finish_single(ti_combining_operation *o)
{
    TI_ASSERT(o->left == 0);
    if (gets(o, o->node)) {
        combine_next(o);
    }
}

static void give_back(ti_combining *all, ti_combining_operation *o)
{
    o->under_way = false;
    ti_vec_push(&all->unused, o->number);
}

bool ti_combining_look(ti_combining *all, int looks)
{
    ti_combining_operation *o = all->open;
    if (!o || !receive_values(all, o, looks)) {
        return false;
    }
    all->open = NULL;
    if (o->left > 0 || o->is_ready) {
        return false;
    }
    finish_single(o);
    give_back(all, o);
    return true;
}

static ti_combining_operation *take(ti_combining *all)
{
    if (all->unused.count) {
        return all->operation.data[all->unused.data[--all->unused.count]];
    }
    ti_combining_operation *o = TI_NEW(ti_combining_operation);
    o->number = (uint32_t)all->operation.count;
    ti_vec_push(&all->operation, o);
    return o;
}

static void open_lanes(ti_combining_operation *o)
{
    size_t lanes = (size_t)o->nodes * LANES;
    if (o->lanes < lanes) {
        ti_free(o->lane, o->lanes * sizeof(lane));
        o->lane = ti_alloc(lanes * sizeof(lane));
        o->lanes = lanes;
    }
    memset(o->lane, 0, lanes * sizeof(lane));
    for (int q = 0; q < o->nodes; q++) {
        if (q == o->node) {
            continue;
        }
        lane_of(o, q, VALUES_OUT)->segments = count_segments(o, q);
        lane_of(o, q, VALUES_IN)->segments = o->segments;
        lane_of(o, q, RESULTS_OUT)->segments = !o->whole && gets(o, q) ? o->segments : 0;
        lane_of(o, q, RESULTS_IN)->segments = !o->whole && gets(o, o->node) ? count_segments(o, q) : 0;
    }
}

/* Memory of slots is kept for the next one. */
static void open_slots(ti_combining_operation *o)
{
    size_t longest = o->segments ? length_of(o, o->node, 0) * o->elem_size : 0;
    o->slot_bytes = (longest + LINE - 1) / LINE * LINE;
    size_t room = o->slot_bytes * (size_t)o->nodes * TI_MIN(o->segments, (size_t)LANE_DEPTH);
    if (o->room < room) {
        ti_free(o->slot, o->room);
        o->slot = ti_alloc(room);
        o->room = room;
    }
}

bool ti_combining_start(ti_combining *all, const ti_exchange *x, uint64_t token)
{
    const ti_collective *what = x->what;
    ti_boxes region = { .data = what->region, .count = 1 };
    ti_payload payload = x->locate(x->user, &region);
    TI_ASSERT(ti_pattern_combines(what->pattern) && what->regions == 1 && !what->members && what->nodes > 1);
    TI_ASSERT(payload.count == 1 && payload.block[0].count[0] == 1 && payload.block[0].count[1] == 1);
    TI_ASSERT(what->nodes <= 1 << PEER_BITS);
    ti_combining_close(all);
    ti_combining_operation *o = take(all);
    o->under_way = true;
    o->token = token;
    o->sequence = x->sequence;
    o->reducer = what->reducer;
    o->nodes = what->nodes;
    o->node = all->node;
    o->root = what->pattern == TI_PATTERN_REDUCE ? what->root : -1;
    o->at = payload.block[0].base;
    o->elem_size = x->elem_size;
    o->elements = payload.bytes / x->elem_size;
    o->step = TI_MAX(all->segment / x->elem_size, (size_t)1);
    o->whole = payload.bytes <= all->whole / (size_t)(o->nodes - 1);
    o->segments = count_segments(o, o->node);
    o->combined = 0;
    o->single = o->whole && o->elements > 0 && o->elements <= o->step;
    open_slots(o);
    if (!o->single) {
        open_lanes(o);
        make_ready(all, o);
        return false;
    }
    start_single(all, o);
    return ti_combining_look(all, 0);
}

bool ti_combining_advance(ti_combining *all, uint64_t *token)
{
    while (all->ready.count) {
        ti_combining_operation *o = all->operation.data[all->ready.data[--all->ready.count]];
        o->is_ready = false;
        if (o->single) {
            finish_single(o);
        } else {
            advance(all, o);
        }
        if (!o->is_ready && (o->single || is_complete(o))) {
            *token = o->token;
            give_back(all, o);
            return true;
        }
    }
    return false;
}

void ti_combining_fini(ti_combining *all, bool with_pending)
{
    for (size_t i = 0; i < all->operation.count; i++) {
        ti_combining_operation *o = all->operation.data[i];
        if (with_pending || !o->under_way) {
            ti_free(o->slot, o->room);
            ti_free(o->lane, o->lanes * sizeof(lane));
            TI_DELETE(o);
        }
    }
    ti_vec_fini(&all->operation);
    ti_vec_fini(&all->unused);
    ti_vec_fini(&all->ready);
}
