/* Tests of the communicators of one node and of many nodes in one process.
 *
 * Literal cases for the rules of comm.h (matching by counter, eager and late messages, the early limit, barriers), and
 * random traffic: every ordered pair of nodes exchanges messages whose bytes follow from their identity, scattered
 * over different blocks on the two sides, sent and received in different orders; the receiver checks every byte and
 * that nothing else was written. The seed is printed, and taken from the first argument. */
#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "local_comm.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { GAP_BYTE = 0xee, MAX_BLOCKS = 6, MAX_NODES = 64 };

static uint64_t test_seed = 1; /* set once, by main */

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static size_t below(uint64_t *state, size_t limit)
{
    return (size_t)(next_random(state) % limit);
}

/* ---- scattered memory */

typedef struct scatter {
    char *memory;
    size_t size;
    ti_block block[MAX_BLOCKS];
    ti_payload payload;
} scatter;

/* The next block takes a part of `left` bytes; the last one takes all of it as one run. */
static ti_block random_block(uint64_t *random, size_t left, bool last)
{
    ti_block b = { .run = left, .count = { 1, 1 } };
    if (!last) {
        b.run = 1 + below(random, TI_MIN(left, (size_t)48));
        b.count[1] = 1 + below(random, TI_MIN(left / b.run, (size_t)6));
        b.count[0] = 1 + below(random, TI_MIN(left / (b.run * b.count[1]), (size_t)4));
    }
    b.stride[1] = b.run + below(random, 9);
    b.stride[0] = b.count[1] * b.stride[1] + below(random, 9);
    return b;
}

static void scatter_create(scatter *s, size_t bytes, uint64_t *random)
{
    *s = (scatter){ .size = 16 };
    size_t left = bytes, at[MAX_BLOCKS];
    uint32_t count = 0;
    while (left) {
        ti_block b = random_block(random, left, count + 1 == MAX_BLOCKS);
        at[count] = s->size;
        s->size += b.count[0] * b.stride[0] + 16;
        left -= ti_block_bytes(&b);
        s->block[count++] = b;
    }
    s->memory = ti_alloc(s->size);
    memset(s->memory, GAP_BYTE, s->size);
    for (uint32_t i = 0; i < count; i++) {
        s->block[i].base = s->memory + at[i];
    }
    /* Payloads need not ascend in memory. */
    for (uint32_t i = count; i > 1; i--) {
        size_t j = below(random, i);
        ti_block swap = s->block[i - 1];
        s->block[i - 1] = s->block[j];
        s->block[j] = swap;
    }
    s->payload = (ti_payload){ .block = s->block, .count = count, .bytes = bytes };
}

static void scatter_destroy(scatter *s)
{
    ti_free(s->memory, s->size);
}

static char byte_of(uint64_t key, size_t i)
{
    return (char)(ti_hash64(key * 1000003u + i) >> 13);
}

/* The run that starts at byte `at` of the stream: fills it, or counts wrong bytes and puts gap bytes back. */
static size_t touch_run(char *run, size_t bytes, uint64_t key, size_t at, bool fill)
{
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++) {
        char expected = byte_of(key, at + i);
        wrong += !fill && run[i] != expected;
        run[i] = fill ? expected : (char)GAP_BYTE;
    }
    return wrong;
}

static size_t touch(scatter *s, uint64_t key, bool fill)
{
    size_t at = 0, wrong = 0;
    for (uint32_t k = 0; k < s->payload.count; k++) {
        const ti_block *b = &s->block[k];
        for (size_t n = 0; n < b->count[0] * b->count[1]; n++) {
            char *run = b->base + n / b->count[1] * b->stride[0] + n % b->count[1] * b->stride[1];
            wrong += touch_run(run, b->run, key, at, fill);
            at += b->run;
        }
    }
    return wrong;
}

/* Wrong bytes, inside the blocks and outside. */
static size_t scatter_wrong(scatter *s, uint64_t key)
{
    size_t wrong = touch(s, key, false);
    for (size_t i = 0; i < s->size; i++) {
        wrong += s->memory[i] != (char)GAP_BYTE;
    }
    return wrong;
}

/* ---- random traffic of one node */

typedef struct exchange {
    scatter at;
    int peer;
    bool is_send;
    uint64_t counter, key;
} exchange;

typedef struct traffic {
    ti_comm *comm;
    TI_VEC(exchange) todo; /* the tokens are indices into it, plus one */
    size_t started, finished, wrong;
    uint64_t random;
} traffic;

static uint64_t identity(int origin, int destination, uint64_t counter)
{
    return ti_hash64(((uint64_t)origin * MAX_NODES + (uint64_t)destination) * 4096u + counter + test_seed * 77777u);
}

/* From nothing to a few thousand bytes, known to both sides. */
static size_t bytes_of(uint64_t key)
{
    static const size_t limits[] = { 2, 40, 300, 5000 };
    return (size_t)((key >> 8) % limits[key & 3]);
}

static void traffic_add(traffic *t, int peer, bool is_send, uint64_t counter)
{
    exchange x = { .peer = peer, .is_send = is_send, .counter = counter };
    int me = t->comm->node;
    x.key = is_send ? identity(me, peer, counter) : identity(peer, me, counter);
    scatter_create(&x.at, bytes_of(x.key), &t->random);
    if (is_send) {
        touch(&x.at, x.key, true);
    }
    ti_vec_push(&t->todo, x);
}

static void traffic_init(traffic *t, ti_comm *comm, int messages)
{
    *t = (traffic){ .comm = comm, .random = test_seed * 31u + (uint64_t)comm->node };
    for (int peer = 0; peer < comm->num_nodes; peer++) {
        for (int i = 0; i < messages; i++) {
            traffic_add(t, peer, true, (uint64_t)i);
            traffic_add(t, peer, false, (uint64_t)i);
        }
    }
    for (size_t i = t->todo.count; i > 1; i--) {
        size_t j = below(&t->random, i);
        exchange swap = t->todo.data[i - 1];
        t->todo.data[i - 1] = t->todo.data[j];
        t->todo.data[j] = swap;
    }
}

static void traffic_start_some(traffic *t)
{
    for (size_t n = below(&t->random, 12); n && t->started < t->todo.count; n--) {
        exchange *x = &t->todo.data[t->started++];
        /* Moving structs has left the payload's block pointer behind; a copy that dies right after the call also
         * shows that the communicator keeps its own. */
        ti_block blocks[MAX_BLOCKS];
        memcpy(blocks, x->at.block, sizeof(blocks));
        ti_payload payload = { blocks, x->at.payload.count, x->at.payload.bytes };
        if (x->is_send) {
            t->comm->ops->send(t->comm, x->peer, x->counter, &payload, t->started);
        } else {
            t->comm->ops->receive(t->comm, x->peer, x->counter, &payload, t->started);
        }
        memset(blocks, 0xff, sizeof(blocks));
    }
}

/* One step; false once everything is done. */
static bool traffic_step(traffic *t)
{
    uint64_t tokens[7];
    traffic_start_some(t);
    int n = t->comm->ops->poll(t->comm, tokens, (int)TI_COUNT(tokens));
    for (int i = 0; i < n; i++) {
        exchange *x = &t->todo.data[tokens[i] - 1];
        if (x->is_send) {
            memset(x->at.memory, 0, x->at.size); /* memory may be used again */
        } else {
            t->wrong += scatter_wrong(&x->at, x->key);
        }
        t->finished++;
    }
    return t->finished < t->todo.count;
}

static void traffic_fini(traffic *t)
{
    for (size_t i = 0; i < t->todo.count; i++) {
        scatter_destroy(&t->todo.data[i].at);
    }
    ti_vec_fini(&t->todo);
}

static void check_traffic(const traffic *t, int messages)
{
    uint64_t expected = (uint64_t)messages * (uint64_t)t->comm->num_nodes;
    assert_int_equal(t->wrong, 0);
    assert_int_equal(t->comm->pending, 0);
    assert_int_equal(t->comm->stats.messages_sent, expected);
    assert_int_equal(t->comm->stats.messages_received, expected);
    assert_null(t->comm->stats.error);
}

/* All nodes polled in turn by this thread. Returns the total of sends held back. */
static uint64_t run_round_robin(int nodes, int messages, size_t eager, size_t early, uint64_t shake)
{
    local_hub *hub = local_hub_create(nodes, eager, early, shake);
    traffic t[MAX_NODES];
    for (int n = 0; n < nodes; n++) {
        traffic_init(&t[n], local_comm_create(hub, n), messages);
    }
    for (bool busy = true; busy;) {
        busy = false;
        for (int n = 0; n < nodes; n++) {
            busy |= traffic_step(&t[n]);
        }
    }
    uint64_t held_back = 0, sent = 0, received = 0;
    for (int n = 0; n < nodes; n++) {
        check_traffic(&t[n], messages);
        assert_true(t[n].comm->stats.early_bytes_peak <= early);
        held_back += t[n].comm->stats.held_back;
        sent += t[n].comm->stats.bytes_sent;
        received += t[n].comm->stats.bytes_received;
        traffic_fini(&t[n]);
        t[n].comm->ops->destroy(t[n].comm);
    }
    assert_int_equal(sent, received);
    local_hub_destroy(hub);
    return held_back;
}

/* ---- literal cases */

static ti_payload payload_of(ti_block *block, void *data, size_t bytes)
{
    *block = (ti_block){ .base = data, .run = bytes, .count = { 1, 1 } };
    return (ti_payload){ block, 1, bytes };
}

static void send_bytes(ti_comm *comm, int peer, uint64_t counter, void *data, size_t bytes, uint64_t token)
{
    ti_block block;
    ti_payload payload = payload_of(&block, data, bytes);
    comm->ops->send(comm, peer, counter, &payload, token);
}

static void receive_bytes(ti_comm *comm, int origin, uint64_t counter, void *data, size_t bytes, uint64_t token)
{
    ti_block block;
    ti_payload payload = payload_of(&block, data, bytes);
    comm->ops->receive(comm, origin, counter, &payload, token);
}

static int poll_all(ti_comm *comm, uint64_t tokens[16])
{
    return comm->ops->poll(comm, tokens, 16);
}

typedef struct pair {
    local_hub *hub;
    ti_comm *a, *b;
} pair;

static pair pair_create(size_t eager, size_t early)
{
    local_hub *hub = local_hub_create(2, eager, early, 0);
    return (pair){ hub, local_comm_create(hub, 0), local_comm_create(hub, 1) };
}

static void pair_destroy(pair *p)
{
    p->a->ops->destroy(p->a);
    p->b->ops->destroy(p->b);
    local_hub_destroy(p->hub);
}

static void self_passes_barriers_in_order(void **state)
{
    (void)state;
    uint64_t tokens[16];
    ti_comm *comm = ti_comm_self_create();
    assert_int_equal(comm->node, 0);
    assert_int_equal(comm->num_nodes, 1);
    assert_int_equal(comm->local_nodes, 1);
    assert_int_equal(poll_all(comm, tokens), 0);
    comm->ops->barrier(comm, 5);
    comm->ops->barrier(comm, 6);
    comm->ops->barrier(comm, 7);
    assert_int_equal(comm->pending, 3);
    assert_int_equal(comm->ops->poll(comm, tokens, 2), 2);
    assert_int_equal(tokens[0], 5);
    assert_int_equal(tokens[1], 6);
    assert_int_equal(comm->pending, 1);
    assert_int_equal(poll_all(comm, tokens), 1);
    assert_int_equal(tokens[0], 7);
    assert_int_equal(comm->pending, 0);
    comm->ops->destroy(comm);
}

/* Runs `body` in a child; returns the child's wait status. */
static int status_of(void (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        (void)!freopen("/dev/null", "w", stderr);
        body();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

static void send_to_oneself(void)
{
    char byte = 0;
    send_bytes(ti_comm_self_create(), 0, 0, &byte, 1, 1);
}

static void send_one_identity_twice(void)
{
    uint64_t tokens[16];
    char byte = 0;
    pair p = pair_create(64, 1024);
    send_bytes(p.a, 1, 4, &byte, 1, 1);
    send_bytes(p.a, 1, 4, &byte, 1, 2);
    poll_all(p.b, tokens);
}

/* The receiver hears of it in every poll; the sender does not. */
static void another_size_is_an_error(void **state)
{
    (void)state;
    for (size_t sent = 1; sent < 200; sent += 100) { /* eager and late */
        uint64_t live = ti_alloc_live(), tokens[16];
        char bytes[256] = { 0 };
        pair p = pair_create(64, 1024);
        send_bytes(p.a, 1, 4, bytes, sent, 1);
        receive_bytes(p.b, 0, 4, bytes, 2, 2);
        assert_int_equal(p.b->ops->poll(p.b, tokens, 16), -1);
        assert_true(p.b->stats.length_mismatch);
        assert_non_null(strstr(p.b->stats.error, "bytes where 2 were expected"));
        assert_int_equal(p.b->ops->poll(p.b, tokens, 16), -1);
        assert_false(p.a->stats.length_mismatch);
        pair_destroy(&p);
        assert_int_equal(ti_alloc_live(), live);
    }
}

/* In order, whole, not counted as messages, and not without limit. */
static void notes_go_beside_messages(void **state)
{
    (void)state;
    uint64_t live = ti_alloc_live();
    pair p = pair_create(64, 1024);
    char text[TI_NOTE_BYTES], got[TI_NOTE_BYTES];
    int origin = -1, sent = 0;
    assert_true(p.a->ops->note_open(p.a) && p.b->ops->note_open(p.b));
    assert_int_equal(p.b->ops->note_poll(p.b, &origin, got), 0);
    memset(text, 'x', sizeof(text));
    for (text[0] = 'a'; p.a->ops->note_send(p.a, 1, text, TI_NOTE_BYTES - (size_t)sent); text[0]++) {
        assert_true(++sent < 100);
    }
    assert_true(sent > 1);
    for (int i = 0; i < sent; i++) {
        text[0] = (char)('a' + i);
        assert_int_equal(p.b->ops->note_poll(p.b, &origin, got), TI_NOTE_BYTES - i);
        assert_int_equal(origin, 0);
        assert_memory_equal(text, got, TI_NOTE_BYTES - (size_t)i);
    }
    assert_int_equal(p.b->ops->note_poll(p.b, &origin, got), 0);
    assert_true(p.b->ops->note_send(p.b, 0, text, 1)); /* is not read any more */
    assert_int_equal(p.a->pending + p.b->pending + p.a->stats.messages_sent + p.b->stats.messages_received, 0);
    p.a->ops->abort(p.a, "enough");
    assert_int_equal(p.b->ops->note_poll(p.b, &origin, got), -1);
    pair_destroy(&p);
    assert_int_equal(ti_alloc_live(), live);
}

/* Nodes that share a process go on, and both hear why the job has ended. */
static void abort_is_heard_by_all(void **state)
{
    (void)state;
    uint64_t tokens[16];
    pair p = pair_create(64, 1024);
    p.a->ops->abort(p.a, "enough of this");
    p.b->ops->abort(p.b, "a second reason, which comes too late");
    assert_int_equal(p.a->ops->poll(p.a, tokens, 16), -1);
    assert_int_equal(p.b->ops->poll(p.b, tokens, 16), -1);
    assert_string_equal(p.b->stats.error, "node 0 ended the job: enough of this");
    pair_destroy(&p);
}

static void misuse_ends_the_process(void **state)
{
    (void)state;
    assert_true(WIFSIGNALED(status_of(send_to_oneself)));
    assert_true(WIFSIGNALED(status_of(send_one_identity_twice)));
}

static void matches_by_counter_in_any_order(void **state)
{
    (void)state;
    enum { MESSAGES = 10 };
    uint64_t live = ti_alloc_live(), tokens[16];
    pair p = pair_create(4, 1024);
    int64_t from[MESSAGES], to[MESSAGES] = { 0 };
    for (uint64_t i = 0; i < MESSAGES; i++) {
        from[i] = 100 + (int64_t)i;
        send_bytes(p.a, 1, i, &from[i], i % 2 ? 4 : 8, i); /* eager and late ones in turn */
    }
    for (uint64_t i = MESSAGES; i-- > 0;) {
        receive_bytes(p.b, 0, i, &to[i], i % 2 ? 4 : 8, i);
    }
    assert_int_equal(poll_all(p.a, tokens), MESSAGES / 2);
    assert_int_equal(poll_all(p.b, tokens), MESSAGES);
    assert_int_equal(poll_all(p.a, tokens), MESSAGES / 2);
    assert_int_equal(poll_all(p.a, tokens) + poll_all(p.b, tokens), 0);
    assert_memory_equal(from, to, sizeof(to));
    pair_destroy(&p);
    assert_int_equal(ti_alloc_live(), live);
}

static void receive_may_come_first(void **state)
{
    (void)state;
    uint64_t tokens[16];
    pair p = pair_create(4, 1024);
    int64_t from = 42, to = 0;
    receive_bytes(p.b, 0, 1u << 31, &to, 8, 9);
    assert_int_equal(poll_all(p.b, tokens), 0);
    send_bytes(p.a, 1, 1u << 31, &from, 8, 3);
    assert_int_equal(poll_all(p.a, tokens), 0);
    assert_int_equal(poll_all(p.b, tokens), 1);
    assert_int_equal(tokens[0], 9);
    assert_int_equal(to, 42);
    assert_int_equal(poll_all(p.a, tokens), 1);
    assert_int_equal(tokens[0], 3);
    pair_destroy(&p);
}

/* An eager message is a copy made at once; a late one is read when its receive is there. */
static void eager_completes_at_once_and_late_does_not(void **state)
{
    (void)state;
    uint64_t tokens[16];
    pair p = pair_create(8, 1024);
    int64_t eager = 1, late[2] = { 2, 3 }, got = 0, got_late[2] = { 0 };
    send_bytes(p.a, 1, 0, &eager, 8, 10);
    send_bytes(p.a, 1, 1, late, 16, 11);
    assert_int_equal(poll_all(p.a, tokens), 1);
    assert_int_equal(tokens[0], 10);
    eager = 77;
    late[1] = 33;
    receive_bytes(p.b, 0, 0, &got, 8, 20);
    receive_bytes(p.b, 0, 1, got_late, 16, 21);
    assert_int_equal(poll_all(p.b, tokens), 2);
    assert_int_equal(got, 1);
    assert_int_equal(got_late[0], 2);
    assert_int_equal(got_late[1], 33);
    assert_int_equal(poll_all(p.a, tokens), 1);
    assert_int_equal(tokens[0], 11);
    pair_destroy(&p);
}

static void early_bytes_are_limited(void **state)
{
    (void)state;
    uint64_t tokens[16];
    char from[4][100], to[4][100];
    pair p = pair_create(100, 250);
    for (int i = 0; i < 3; i++) {
        memset(from[i], 'a' + i, 100);
        send_bytes(p.a, 1, (uint64_t)i, from[i], 100, (uint64_t)i);
    }
    assert_int_equal(poll_all(p.a, tokens), 2);
    assert_int_equal(p.a->stats.held_back, 1);
    assert_int_equal(p.a->stats.early_bytes_peak, 200);
    for (int i = 0; i < 3; i++) {
        receive_bytes(p.b, 0, (uint64_t)i, to[i], 100, (uint64_t)i);
    }
    assert_int_equal(poll_all(p.b, tokens), 3);
    assert_memory_equal(from, to, 300);
    assert_int_equal(poll_all(p.a, tokens), 1);
    send_bytes(p.a, 1, 3, from[0], 100, 3); /* there is room again */
    assert_int_equal(poll_all(p.a, tokens), 1);
    assert_int_equal(p.a->stats.held_back, 1);
    pair_destroy(&p);
}

static void blocks_of_the_two_sides_may_differ(void **state)
{
    (void)state;
    uint64_t tokens[16];
    char from[12] = "abcdefghijkl", to[40];
    memset(to, '.', sizeof(to));
    pair p = pair_create(1024, 1024);
    ti_block out[2] = { { from + 6, 6, { 1, 1 }, { 0, 0 } }, { from, 3, { 2, 1 }, { 3, 0 } } };
    ti_block in[2] = { { to, 2, { 2, 2 }, { 10, 4 } }, { to + 30, 4, { 1, 1 }, { 0, 0 } } };
    p.a->ops->send(p.a, 1, 0, &(ti_payload){ out, 2, 12 }, 1);
    p.b->ops->receive(p.b, 0, 0, &(ti_payload){ in, 2, 12 }, 2);
    assert_int_equal(poll_all(p.b, tokens), 1);
    assert_memory_equal(to, "gh..ij....kl..ab..............cdef......", 40);
    pair_destroy(&p);
}

static void barrier_waits_for_the_last(void **state)
{
    (void)state;
    uint64_t tokens[16];
    local_hub *hub = local_hub_create(3, 0, 0, 0);
    ti_comm *node[3];
    for (int i = 0; i < 3; i++) {
        node[i] = local_comm_create(hub, i);
    }
    node[0]->ops->barrier(node[0], 1);
    node[0]->ops->barrier(node[0], 2);
    node[1]->ops->barrier(node[1], 3);
    assert_int_equal(poll_all(node[0], tokens) + poll_all(node[1], tokens) + poll_all(node[2], tokens), 0);
    node[2]->ops->barrier(node[2], 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(poll_all(node[i], tokens), 1);
        assert_int_equal(tokens[0], i == 0 ? 1 : i + 2);
    }
    assert_int_equal(node[0]->pending, 1);
    node[1]->ops->barrier(node[1], 5);
    assert_int_equal(poll_all(node[0], tokens), 0);
    node[2]->ops->barrier(node[2], 6);
    assert_int_equal(poll_all(node[0], tokens), 1);
    assert_int_equal(tokens[0], 2);
    for (int i = 0; i < 3; i++) {
        node[i]->ops->destroy(node[i]);
    }
    local_hub_destroy(hub);
}

/* Counts the neighbouring tokens that are reported in another order than they were sent in. */
static int inversions(uint64_t shake)
{
    local_hub *hub = local_hub_create(2, 0, 0, shake);
    ti_comm *a = local_comm_create(hub, 0), *b = local_comm_create(hub, 1);
    char from[64], to[64];
    for (uint64_t i = 0; i < 64; i++) {
        receive_bytes(b, 0, i, &to[i], 1, i);
        send_bytes(a, 1, i, &from[i], 1, i);
    }
    uint64_t tokens[16], last = 0;
    int out_of_order = 0;
    while (b->pending) {
        int n = poll_all(b, tokens);
        for (int i = 0; i < n; i++) {
            out_of_order += tokens[i] < last;
            last = tokens[i];
        }
    }
    a->ops->destroy(a);
    b->ops->destroy(b);
    local_hub_destroy(hub);
    return out_of_order;
}

static void shaking_changes_the_order_and_repeats(void **state)
{
    (void)state;
    assert_int_equal(inversions(0), 0);
    assert_true(inversions(test_seed + 1) > 8);
    assert_int_equal(inversions(test_seed + 1), inversions(test_seed + 1));
}

static void leftovers_are_freed(void **state)
{
    (void)state;
    uint64_t live = ti_alloc_live(), tokens[16];
    char data[64] = { 0 };
    pair p = pair_create(16, 1024);
    send_bytes(p.a, 1, 0, data, 8, 1);
    send_bytes(p.a, 1, 1, data, 64, 2);
    poll_all(p.b, tokens);
    send_bytes(p.a, 1, 2, data, 8, 3);
    receive_bytes(p.b, 0, 7, data, 8, 4);
    receive_bytes(p.b, 0, 1, data, 64, 5);
    p.b->ops->barrier(p.b, 6);
    pair_destroy(&p);
    assert_int_equal(ti_alloc_live(), live);
}

/* ---- random traffic */

static void random_traffic_of_few_nodes(void **state)
{
    (void)state;
    uint64_t live = ti_alloc_live();
    for (uint64_t round = 0; round < 12; round++) {
        uint64_t random = test_seed + round;
        int nodes = 1 + (int)below(&random, 6);
        size_t eager = below(&random, 2) ? 0 : below(&random, 4000), early = 1 + below(&random, 20000);
        run_round_robin(nodes, 20, eager, early, round % 3 ? random : 0);
    }
    assert_int_equal(ti_alloc_live(), live);
}

/* So tight that of 1280 messages some have to wait, whatever the seed. */
static void random_traffic_within_a_tight_limit(void **state)
{
    (void)state;
    assert_true(run_round_robin(8, 20, 5000, 64, test_seed) > 0);
}

static void random_traffic_of_64_nodes(void **state)
{
    (void)state;
    run_round_robin(64, 2, 512, 4096, 0);
    run_round_robin(64, 2, 512, 4096, test_seed);
}

static void *thread_main(void *arg)
{
    traffic *t = arg;
    ti_comm *comm = t->comm;
    while (traffic_step(t)) {
        sched_yield();
    }
    uint64_t token = 0;
    for (uint64_t i = 1; i <= 50; i++) {
        comm->ops->barrier(comm, i);
        while (comm->ops->poll(comm, &token, 1) == 0) {
            sched_yield();
        }
        t->wrong += token != i;
    }
    return NULL;
}

static void threads(uint64_t shake)
{
    enum { NODES = 4, MESSAGES = 150 };
    local_hub *hub = local_hub_create(NODES, 600, 6000, shake);
    traffic t[NODES];
    pthread_t thread[NODES];
    for (int n = 0; n < NODES; n++) {
        traffic_init(&t[n], local_comm_create(hub, n), MESSAGES);
    }
    for (int n = 0; n < NODES; n++) {
        assert_int_equal(pthread_create(&thread[n], NULL, thread_main, &t[n]), 0);
    }
    for (int n = 0; n < NODES; n++) {
        pthread_join(thread[n], NULL);
    }
    for (int n = 0; n < NODES; n++) {
        check_traffic(&t[n], MESSAGES);
        traffic_fini(&t[n]);
        t[n].comm->ops->destroy(t[n].comm);
    }
    local_hub_destroy(hub);
}

static void random_traffic_of_threads(void **state)
{
    (void)state;
    threads(0);
    threads(test_seed);
}

int main(int argc, char **argv)
{
    test_seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)getpid() * 2654435761u % 1000000u + 1;
    printf("comm_test: seed %llu\n", (unsigned long long)test_seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_passes_barriers_in_order),
        cmocka_unit_test(misuse_ends_the_process),
        cmocka_unit_test(another_size_is_an_error),
        cmocka_unit_test(notes_go_beside_messages),
        cmocka_unit_test(abort_is_heard_by_all),
        cmocka_unit_test(matches_by_counter_in_any_order),
        cmocka_unit_test(receive_may_come_first),
        cmocka_unit_test(eager_completes_at_once_and_late_does_not),
        cmocka_unit_test(early_bytes_are_limited),
        cmocka_unit_test(blocks_of_the_two_sides_may_differ),
        cmocka_unit_test(barrier_waits_for_the_last),
        cmocka_unit_test(shaking_changes_the_order_and_repeats),
        cmocka_unit_test(leftovers_are_freed),
        cmocka_unit_test(random_traffic_of_few_nodes),
        cmocka_unit_test(random_traffic_within_a_tight_limit),
        cmocka_unit_test(random_traffic_of_64_nodes),
        cmocka_unit_test(random_traffic_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
