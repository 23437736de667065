/* Broadcasts through relays: trees, and random traffic over many nodes of one process.
 *
 * Random broadcasts and ordinary messages are under way together; receives are posted before, while and long after the
 * data comes; one node is polled a thousand times less often than the others; payloads are scattered differently on the
 * two sides. Every byte is checked, and that nothing is reported twice. The hub draws trees, sizes of segments and
 * limits of memory from the seed. The seed is printed, and taken from the first argument. */
#include "base/alloc.h"
#include "base/vec.h"
#include "comm/payload.h"
#include "comm/tree.h"
#include "effort.h"
#include "gen.h"
#include "local_comm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t test_seed = 1; /* set once, by main */

static size_t below(gen_rng *random, size_t limit)
{
    return (size_t)(gen_next(random) % limit);
}

/* ---- trees */

enum { MOST = 200 };

typedef struct visit {
    ti_tree tree;
    int arrived[MOST]; /* times */
    uint32_t step[MOST];
    uint32_t most_sent;
} visit;

/* The list's members are `first`, `first + stride` ... of nobody: so the list itself is carried. */
static void descend(visit *v, const uint32_t *list, uint32_t count, uint32_t step)
{
    uint32_t children = ti_tree_children(v->tree, count);
    v->most_sent = TI_MAX(v->most_sent, children);
    for (uint32_t c = 0; c < children; c++) {
        uint32_t mine[MOST], n = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (ti_tree_child_of(v->tree, i) == c) {
                mine[n++] = list[i];
            }
        }
        assert_true(n > 0);
        v->arrived[mine[0]]++;
        v->step[mine[0]] = step + c + 1; /* who has c children before it sends to them first */
        descend(v, mine + 1, n - 1, step + c + 1);
    }
}

static uint32_t steps_of(uint32_t count)
{
    uint32_t steps = 0;
    while (((uint32_t)1 << steps) < count + 1) {
        steps++;
    }
    return steps;
}

static void everybody_is_reached_once(void **state)
{
    (void)state;
    for (int kind = 0; kind < TI_TREE_KINDS; kind++) {
        for (uint32_t count = 0; count < MOST; count++) {
            visit v = { .tree = (ti_tree)kind };
            uint32_t list[MOST], last = 0;
            for (uint32_t i = 0; i < count; i++) {
                list[i] = i;
            }
            descend(&v, list, count, 0);
            for (uint32_t i = 0; i < count; i++) {
                assert_int_equal(v.arrived[i], 1);
                last = TI_MAX(last, v.step[i]);
                assert_true(!i || kind != TI_TREE_BINOMIAL || v.step[i] >= v.step[i - 1]); /* urgent ones are first */
            }
            assert_true(kind != TI_TREE_BINOMIAL || last == steps_of(count));
            assert_true(kind != TI_TREE_BINARY || v.most_sent <= 2);
            assert_true(kind != TI_TREE_CHAIN || v.most_sent <= 1);
            assert_true(kind != TI_TREE_FLAT || v.most_sent == count);
        }
    }
}

/* What is small goes by the fewest steps, what is long by the fewest copies on a link, and in between nothing is worse
 * for longer payloads: from binomial to binary to chain. */
static void size_chooses_the_tree(void **state)
{
    (void)state;
    for (uint32_t count = 2; count < MOST; count++) {
        ti_tree last = TI_TREE_BINOMIAL;
        assert_int_equal(ti_tree_by_size(count, 1), count < 3 ? TI_TREE_BINOMIAL : last);
        for (uint64_t segments = 1; segments <= 1 << 16; segments *= 2) {
            ti_tree tree = ti_tree_by_size(count, segments);
            assert_true(tree >= last && tree <= TI_TREE_CHAIN);
            last = tree;
        }
        assert_int_equal(last, TI_TREE_CHAIN);
    }
    assert_int_equal(ti_tree_by_size(127, 64), TI_TREE_BINARY);
    /* Short payloads are planned, long ones not, and the border is that of doc/broadcasts.md. */
    static const uint32_t readers[] = { 2, 3, 4, 7, 8, 15, 31, 63, 127 };
    static const uint64_t most[] = { UINT64_MAX, UINT64_MAX, 21, 39, 22, 43, 35, 21, 16 };
    for (size_t i = 0; i < TI_COUNT(readers); i++) {
        for (uint64_t segments = 1; segments < 1000; segments++) {
            assert_int_equal(ti_tree_is_planned(TI_TREE_BY_SIZE, readers[i], segments), segments <= most[i]);
            assert_true(ti_tree_is_planned(TI_TREE_BINOMIAL, readers[i], segments)); /* without offers */
            assert_int_equal(ti_tree_is_planned(TI_TREE_CHAIN, readers[i], segments),
                             readers[i] * (1 + segments) <= 2 * (3 * readers[i] + segments));
        }
    }
    assert_int_equal(ti_tree_segments(0, 8), 1);
    assert_int_equal(ti_tree_segments(8, 8), 1);
    assert_int_equal(ti_tree_segments(9, 8), 2);
    assert_int_equal(ti_tree_of_setting(TACIT_BROADCAST_AUTO, false), TI_TREE_BY_SIZE);
    assert_int_equal(ti_tree_of_setting(TACIT_BROADCAST_DEFAULT, true), TI_TREE_FLAT);
    assert_int_equal(ti_tree_of_setting(TACIT_BROADCAST_CHAIN, true), TI_TREE_CHAIN);
}

/* ---- traffic */

enum { MAX_NODES = 24, MAX_BLOCKS = 3 };

/* One message of a broadcast, or an ordinary one. */
typedef struct delivery {
    int origin, node;
    uint64_t counter, content;
    size_t bytes;
    bool posted, received, sent;
    size_t post_after; /* steps */
    char *memory;
    size_t size;
    ti_block block[MAX_BLOCKS];
    uint32_t blocks;
} delivery;

typedef struct outgoing {
    int root;
    size_t at; /* step */
    char *memory;
    size_t size;
    ti_block block[MAX_BLOCKS];
    uint32_t blocks;
    TI_VEC(size_t) delivery; /* indices */
    bool started;
} outgoing;

typedef struct traffic {
    int nodes, slow;
    gen_rng random;
    ti_comm *comm[MAX_NODES];
    uint64_t counter[MAX_NODES][MAX_NODES];
    TI_VEC(delivery) delivery;
    TI_VEC(outgoing) outgoing;
} traffic;

static char byte_of(uint64_t content, size_t i)
{
    return (char)(content * 31 + i * 7 + (i >> 8));
}

/* Runs with gaps between them; together `bytes`. */
static uint32_t lay_out(gen_rng *random, size_t bytes, char **memory, size_t *size, ti_block *block)
{
    uint32_t count = 0;
    size_t left = bytes, at = 0;
    *size = 3 * bytes + 64 * MAX_BLOCKS;
    *memory = ti_alloc_zero(*size);
    while (left) {
        ti_block b = { .run = left, .count = { 1, 1 } };
        if (count < MAX_BLOCKS - 1 && below(random, 2)) {
            b.run = 1 + below(random, left);
            size_t most = 1 + below(random, 4);
            b.count[1] = TI_MIN(left / b.run, most);
            b.stride[1] = b.run + below(random, b.run + 1);
        }
        b.stride[0] = b.stride[1] * b.count[1];
        b.base = *memory + at;
        at += b.count[1] > 1 ? b.stride[1] * b.count[1] : b.run;
        left -= ti_block_bytes(&b);
        block[count++] = b;
    }
    return count;
}

static ti_payload payload_of(const ti_block *block, uint32_t blocks)
{
    ti_payload payload = { block, blocks, 0 };
    for (uint32_t i = 0; i < blocks; i++) {
        payload.bytes += ti_block_bytes(&block[i]);
    }
    return payload;
}

static void make_broadcast(traffic *t, size_t steps)
{
    static const size_t sizes[] = { 1, 64, 1000, 5000, 40000 };
    outgoing o = { .root = (int)below(&t->random, (size_t)t->nodes), .at = below(&t->random, steps) };
    size_t bytes = 1 + below(&t->random, sizes[below(&t->random, TI_COUNT(sizes))]);
    uint64_t content = gen_next(&t->random);
    size_t share = below(&t->random, 4); /* of four nodes */
    o.blocks = lay_out(&t->random, bytes, &o.memory, &o.size, o.block);
    ti_payload payload = payload_of(o.block, o.blocks);
    char *flat = ti_alloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        flat[i] = byte_of(content, i);
    }
    ti_payload_unpack(&payload, flat);
    ti_free(flat, bytes);
    for (int node = 0; node < t->nodes; node++) {
        if (node == o.root || below(&t->random, 4) < share) {
            continue;
        }
        delivery d = { .origin = o.root, .node = node, .content = content, .bytes = bytes };
        d.counter = t->counter[o.root][node]++;
        d.post_after = below(&t->random, 2) ? below(&t->random, steps) : below(&t->random, 4 * steps);
        d.blocks = lay_out(&t->random, bytes, &d.memory, &d.size, d.block);
        ti_vec_push(&o.delivery, t->delivery.count);
        ti_vec_push(&t->delivery, d);
    }
    if (o.delivery.count) {
        ti_vec_push(&t->outgoing, o);
    } else {
        ti_free(o.memory, o.size);
    }
}

static void start(traffic *t, outgoing *o)
{
    ti_recipient list[MAX_NODES];
    ti_comm *comm = t->comm[o->root];
    ti_payload payload = payload_of(o->block, o->blocks);
    bool together = o->delivery.count > 1 || below(&t->random, 2);
    for (size_t i = 0; i < o->delivery.count; i++) {
        const delivery *d = &t->delivery.data[o->delivery.data[i]];
        list[i] = (ti_recipient){ d->counter, o->delivery.data[i], d->node, (int)below(&t->random, 3) };
        if (!together) {
            comm->ops->send(comm, d->node, d->counter, &payload, o->delivery.data[i]);
        }
    }
    if (together) {
        comm->ops->broadcast(comm, list, (uint32_t)o->delivery.count, &payload);
    }
    o->started = true;
}

static void check_bytes(const delivery *d)
{
    char *flat = ti_alloc(d->bytes);
    ti_payload payload = payload_of(d->block, d->blocks);
    ti_payload_pack(flat, &payload);
    for (size_t i = 0; i < d->bytes; i++) {
        assert_int_equal(flat[i], byte_of(d->content, i));
    }
    ti_free(flat, d->bytes);
}

/* Tokens: of a send the delivery's index, of a receive that and a mark. */
#define RECEIVED ((uint64_t)1 << 32)

static size_t poll(traffic *t, int node)
{
    uint64_t token[8];
    int n = t->comm[node]->ops->poll(t->comm[node], token, 8);
    assert_true(n >= 0);
    for (int i = 0; i < n; i++) {
        delivery *d = &t->delivery.data[token[i] & ~RECEIVED];
        bool *flag = token[i] & RECEIVED ? &d->received : &d->sent;
        assert_int_equal(token[i] & RECEIVED ? d->node : d->origin, node);
        assert_false(*flag);
        *flag = true;
        if (flag == &d->received) {
            check_bytes(d);
        }
    }
    return (size_t)n;
}

static void run_traffic(traffic *t)
{
    size_t left = 2 * t->delivery.count;
    for (size_t step = 0; left; step++) {
        for (size_t i = 0; i < t->outgoing.count; i++) {
            if (!t->outgoing.data[i].started && t->outgoing.data[i].at <= step) {
                start(t, &t->outgoing.data[i]);
            }
        }
        for (size_t i = 0; i < t->delivery.count; i++) {
            delivery *d = &t->delivery.data[i];
            if (!d->posted && d->post_after <= step) {
                ti_payload payload = payload_of(d->block, d->blocks);
                t->comm[d->node]->ops->receive(t->comm[d->node], d->origin, d->counter, &payload, i | RECEIVED);
                d->posted = true;
            }
        }
        for (int k = 0; k < t->nodes; k++) {
            int node = (int)below(&t->random, (size_t)t->nodes);
            left -= node != t->slow || step % 1000 == 0 ? poll(t, node) : 0;
        }
        left -= step % 1000 == 0 && t->slow >= 0 ? poll(t, t->slow) : 0;
        assert_true(step < 5000000);
    }
}

static ti_relay_stats one_run(uint64_t seed, int nodes, size_t broadcasts, uint64_t shake)
{
    ti_relay_stats sum = { 0 };
    traffic t = { .nodes = nodes, .random = { seed }, .slow = seed % 3 ? -1 : (int)(seed % (uint64_t)nodes) };
    local_hub *hub = local_hub_create(nodes, 256, 4096, shake);
    for (int n = 0; n < nodes; n++) {
        t.comm[n] = local_comm_create(hub, n);
        t.comm[n]->ops->open_relays(t.comm[n]);
    }
    for (size_t i = 0; i < broadcasts; i++) {
        make_broadcast(&t, 4 * broadcasts);
    }
    run_traffic(&t);
    for (int n = 0; n < nodes; n++) {
        assert_int_equal(t.comm[n]->pending, 0);
        sum.broadcasts += t.comm[n]->stats.relay.broadcasts;
        sum.refused += t.comm[n]->stats.relay.refused;
        sum.forwarded += t.comm[n]->stats.relay.forwarded;
        sum.carried += t.comm[n]->stats.relay.carried;
        t.comm[n]->ops->destroy(t.comm[n]);
    }
    for (size_t i = 0; i < t.delivery.count; i++) {
        ti_free(t.delivery.data[i].memory, t.delivery.data[i].size);
    }
    for (size_t i = 0; i < t.outgoing.count; i++) {
        ti_free(t.outgoing.data[i].memory, t.outgoing.data[i].size);
        ti_vec_fini(&t.outgoing.data[i].delivery);
    }
    ti_vec_fini(&t.delivery);
    ti_vec_fini(&t.outgoing);
    local_hub_destroy(hub);
    return sum;
}

static void random_traffic(void **state)
{
    (void)state;
    const uint64_t runs = EFFORT(200, 20), few = 5 * runs;
    ti_relay_stats sum = { 0 };
    for (uint64_t i = 0; i < runs; i++) {
        uint64_t seed = test_seed * 1000 + i;
        ti_relay_stats one = one_run(seed, 2 + (int)(seed % (MAX_NODES - 2)), 30, i % 4 ? seed : 0);
        sum.broadcasts += one.broadcasts;
        sum.refused += one.refused;
        sum.forwarded += one.forwarded;
        sum.carried += one.carried;
    }
    assert_true(sum.broadcasts > few && sum.refused > few / 10 && sum.forwarded > few && sum.carried > few);
}

int main(int argc, char **argv)
{
    test_seed = argc > 1 ? strtoull(argv[1], NULL, 0) : test_seed;
    printf("seed %llu\n", (unsigned long long)test_seed);
    const struct CMUnitTest tests[] = { cmocka_unit_test(everybody_is_reached_once),
                                        cmocka_unit_test(size_chooses_the_tree), cmocka_unit_test(random_traffic) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
