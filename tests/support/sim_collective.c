/* Collectives in the model of planners: see sim.h.
 *
 * Every node records what it gives to each other node and what it gets from each, in order, from its own copy of the
 * collective. Then the sides are compared: what q gets from r is what r gives to q, it is the newest, and q did not
 * have it. */
#include "sim.h"

#include <string.h>

static bool is_member(const ti_collective *what, int self, int peer)
{
    for (int i = 0; i < ti_collective_members(what, self); i++) {
        if (ti_collective_member(what, self, i) == peer) {
            return true;
        }
    }
    return false;
}

/* What travels between a node and each other one: something, within groups only. */
static bool record_side(sim *s, int self, const ti_collective *what, sim_command *to, bool give)
{
    ti_boxes boxes = { 0 }, scratch = { 0 };
    sim_list list = { 0 };
    sim_elements *side = TI_ARENA_ARRAY(&s->arena, sim_elements, (size_t)s->nodes);
    bool good = true;
    if (!give) {
        sim_new_set(s); /* nothing comes from two nodes */
    }
    for (int peer = 0; peer < s->nodes && good; peer++) {
        ti_vec_clear(&boxes);
        if (peer != self) {
            ti_collective_message(what, give ? self : peer, give ? peer : self, &boxes, &scratch);
        }
        if (give) {
            sim_new_set(s);
        }
        int64_t volume = 0;
        for (size_t i = 0; i < boxes.count; i++) {
            volume += ti_box_volume(&boxes.data[i]);
        }
        if (boxes.count && !is_member(what, self, peer)) {
            good = sim_fail(s, "node %d %s something beyond its group", self, give ? "gives" : "gets");
            break;
        }
        good = sim_add_boxes(s, to->buffer, boxes.data, boxes.count, &list);
        if (good && (int64_t)list.count != volume) {
            good = sim_fail(s, "node %d %s an element twice in a collective", self, give ? "gives" : "gets");
        }
        side[peer] = sim_keep(s, &list);
    }
    *(give ? &to->give : &to->get) = side;
    ti_vec_fini(&boxes);
    ti_vec_fini(&scratch);
    ti_vec_fini(&list);
    return good;
}

/* Whether the sum of `side` is the set `all`. */
static bool is_union(sim *s, const sim_elements *side, const sim_elements *all)
{
    size_t count = 0;
    sim_new_set(s);
    for (int peer = 0; peer < s->nodes; peer++) {
        for (size_t i = 0; i < side[peer].count; i++) {
            count += s->mark[side[peer].data[i]] != s->token;
            s->mark[side[peer].data[i]] = s->token;
        }
    }
    for (size_t i = 0; i < all->count; i++) {
        if (s->mark[all->data[i]] != s->token) {
            return false;
        }
    }
    return count == all->count;
}

bool sim_record_collective(sim *s, sim_node *n, const ti_command *from, sim_command *to)
{
    const ti_collective *what = from->as.collective.what;
    sim_list list = { 0 };
    int self = n->system.node;
    to->buffer = sim_buffer(s, from->as.collective.buffer);
    to->counter = from->as.collective.sequence;
    to->pattern = what->pattern;
    to->root = what->root;
    to->serial = what->serial;
    SIM_CHECK(s, s->options.collectives != TI_COLLECTIVES_OFF && s->nodes > 1, "a collective, but they are off");
    SIM_CHECK(s, to->counter == n->collectives++, "node %d: collective %llu comes out of sequence", self,
              (unsigned long long)to->counter);
    SIM_CHECK(s, what->nodes == s->nodes, "a collective of %d nodes", what->nodes);
    sim_new_set(s);
    bool good = sim_add_boxes(s, to->buffer, from->as.collective.give, from->as.collective.gives, &list);
    to->read = sim_keep(s, &list);
    to->expected = sim_stamps(s, &to->read);
    sim_new_set(s);
    good = good && sim_add_boxes(s, to->buffer, from->as.collective.get, from->as.collective.gets, &list);
    to->write = sim_keep(s, &list);
    ti_vec_fini(&list);
    good = good && record_side(s, self, what, to, true) && record_side(s, self, what, to, false);
    if (!good) {
        return false;
    }
    SIM_CHECK(s, is_union(s, to->get, &to->write), "node %d: what a collective brings is not what it gets", self);
    if (self == 0) {
        s->counts.collectives[what->pattern]++;
        s->counts.in_groups[what->pattern] += what->members > 0;
    }
    return true;
}

bool sim_record_combining(sim *s, sim_node *n, const ti_command *from, sim_command *to)
{
    const ti_collective *what = from->as.reduce.what;
    const ti_access *access = &from->task->shape->access[from->as.reduce.access];
    to->counter = from->as.reduce.sequence;
    to->pattern = what->pattern;
    to->root = what->root;
    to->serial = what->serial;
    to->alone = from->as.reduce.alone;
    SIM_CHECK(s, s->options.collectives != TI_COLLECTIVES_OFF && s->nodes > 1,
              "a reduction by a collective, but they are off");
    SIM_CHECK(s, to->counter == n->collectives++, "node %d: reduction %llu comes out of sequence", n->system.node,
              (unsigned long long)to->counter);
    SIM_CHECK(s,
              ti_pattern_combines(what->pattern) && what->nodes == s->nodes && what->regions == 1 &&
                  ti_box_equal(what->region, &access->buffer->extent) &&
                  memcmp(&what->reducer, &access->reducer, sizeof(ti_reducer)) == 0,
              "node %d: a reduction of something else", n->system.node);
    SIM_CHECK(s, from->as.reduce.gets == (what->pattern == TI_PATTERN_ALL_REDUCE || what->root == n->system.node),
              "node %d: the result goes elsewhere", n->system.node);
    if (n->system.node == 0) {
        s->counts.collectives[what->pattern]++;
    }
    return true;
}

/* The i-th collective of the step on a node. */
static const sim_command *nth_collective(const sim *s, const sim_node *n, size_t index)
{
    for (size_t i = sim_first_command(s, n); i < n->command.count; i++) {
        if (n->command.data[i]->kind == TI_COMMAND_COLLECTIVE && index-- == 0) {
            return n->command.data[i];
        }
    }
    return NULL;
}

/* `again` counts what node q holds already. */
static bool check_pair(sim *s, int r, int q, const sim_command *from, const sim_command *to, size_t *again)
{
    const sim_elements *given = &from->give[q], *got = &to->get[r];
    SIM_CHECK(s,
              given->count == got->count &&
                  (given->count == 0 || memcmp(given->data, got->data, got->count * sizeof(uint32_t)) == 0),
              "a collective of buffer %d: node %d and %d disagree about what travels", from->buffer, r, q);
    for (size_t i = 0; i < given->count; i++) {
        uint32_t e = given->data[i];
        SIM_CHECK(s, s->newest[e] && s->node[r].hold[e] == s->newest[e],
                  "a collective: node %d gives element %zu of buffer %d, which it does not hold", r,
                  e - s->base[from->buffer], from->buffer);
        *again += s->node[q].hold[e] == s->newest[e];
    }
    s->counts.elements += given->count;
    return true;
}

static bool check_one(sim *s, const sim_command *const *c)
{
    size_t moved = 0, again = 0;
    for (int r = 0; r < s->nodes; r++) {
        SIM_CHECK(s,
                  c[r]->buffer == c[0]->buffer && c[r]->counter == c[0]->counter && c[r]->pattern == c[0]->pattern &&
                      c[r]->root == c[0]->root && c[r]->serial == c[0]->serial,
                  "node 0 and %d have different collectives", r);
        for (int q = 0; q < s->nodes; q++) {
            if (!check_pair(s, r, q, c[r], c[q], &again)) {
                return false;
            }
            moved += c[r]->give[q].count;
        }
    }
    SIM_CHECK(s, moved > 0, "a collective that moves nothing");
    /* One that spares many messages may bring a little to nodes that have it. On many nodes planners ask some only. */
    SIM_CHECK(s, again <= moved / (s->nodes > 16 ? 2 : 8), "a collective of buffer %d: %zu of %zu elements come twice",
              c[0]->buffer, again, moved);
    s->counts.again += again;
    return true;
}

bool sim_check_collectives(sim *s)
{
    const sim_command **c = TI_ARENA_ARRAY(&s->arena, const sim_command *, (size_t)s->nodes);
    for (size_t i = 0;; i++) {
        int have = 0;
        for (int r = 0; r < s->nodes; r++) {
            c[r] = nth_collective(s, &s->node[r], i);
            have += c[r] != NULL;
        }
        SIM_CHECK(s, have == 0 || have == s->nodes, "%d of %d nodes take part in a collective", have, s->nodes);
        if (have == 0) {
            return true;
        }
        if (!check_one(s, c)) {
            return false;
        }
    }
}
