/* Tests of late delivery (comm/delay.h) over the network in one process, with a clock that the test sets: what is
 * reported when, in which order, and that bytes are those of the time of sending. */
#include "comm/delay.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/park.h"
#include "local_comm.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>

#include <cmocka.h>

enum { NODES = 4, DELAY = 1000, MOST = 16, BIG = TI_DELAY_COPIED + 8 };

typedef struct net {
    local_hub *hub;
    ti_comm *comm[NODES];
    uint64_t time;
} net;

static uint64_t time_of(void *user)
{
    return ((const net *)user)->time;
}

/* Nodes on one machine, whose clock is the same for all, or on several. */
static void open_net(net *n, size_t eager, bool one_machine)
{
    *n = (net){ .hub = local_hub_create(NODES, eager, 1 << 20, 0), .time = 5000 };
    for (int i = 0; i < NODES; i++) {
        ti_comm *inner = local_comm_create(n->hub, i);
        n->comm[i] = ti_comm_delay_create(inner, DELAY, (ti_delay_clock){ time_of, n });
        assert_int_equal(n->comm[i]->num_nodes, NODES);
        assert_true(n->comm[i]->nap_ns > 0);
        n->comm[i]->attended = true;
        n->comm[i]->local_nodes = one_machine ? NODES : 1;
    }
}

static void close_net(net *n)
{
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(n->comm[i]->pending, 0);
        n->comm[i]->ops->destroy(n->comm[i]);
    }
    local_hub_destroy(n->hub);
}

/* Everybody polls until nothing more comes at this time. Returns how many tokens node `node` got, the first of them in
 * *token. */
static int settle(net *n, int node, uint64_t *token)
{
    int got = 0;
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < NODES; i++) {
            uint64_t tokens[MOST];
            int count = n->comm[i]->ops->poll(n->comm[i], tokens, MOST);
            assert_true(count >= 0);
            if (i == node && count) {
                *token = got ? *token : tokens[0];
                got += count;
            }
        }
    }
    return got;
}

static ti_payload whole(ti_block *block, void *memory, size_t bytes)
{
    *block = (ti_block){ .base = memory, .run = bytes, .count = { 1, 1 } };
    return (ti_payload){ block, 1, bytes };
}

static void messages_are_late(void **state)
{
    (void)state;
    net n;
    open_net(&n, 64, false);
    ti_block out, in;
    uint64_t sent = 42, got = 0, token = 0;
    ti_payload from = whole(&out, &sent, sizeof(sent)), to = whole(&in, &got, sizeof(got));
    n.comm[1]->ops->receive(n.comm[1], 0, 0, &to, 7);
    n.comm[0]->ops->send(n.comm[0], 1, 0, &from, 3);
    assert_int_equal(n.comm[0]->due, n.time + DELAY);
    assert_int_equal(n.comm[0]->stats.messages_sent, 1);
    assert_int_equal(settle(&n, 0, &token), 1); /* complete: it is copied */
    assert_int_equal(token, 3);
    sent = 0; /* the copy goes */
    n.time += DELAY - 1;
    assert_int_equal(settle(&n, 1, &token), 0);
    assert_true(n.comm[0]->pending > 0); /* or nobody would poll */
    n.time++;
    assert_int_equal(settle(&n, 1, &token), 1);
    assert_int_equal(token, 7);
    assert_int_equal(got, 42);
    assert_int_equal(n.comm[0]->due, 0);
    assert_int_equal(n.comm[0]->stats.messages_sent, 1);
    assert_int_equal(n.comm[1]->stats.bytes_received, sizeof(got));
    close_net(&n);
}

/* One that is sent later comes later, whoever asks first. */
static void send_in_order(bool one_machine)
{
    net n;
    open_net(&n, 64, one_machine);
    ti_block out, in[2];
    uint64_t sent = 1, got[2] = { 0 }, token = 0;
    ti_payload from = whole(&out, &sent, sizeof(sent));
    n.comm[0]->ops->send(n.comm[0], 2, 0, &from, 1);
    n.time += DELAY / 2;
    sent = 2;
    n.comm[0]->ops->send(n.comm[0], 2, 1, &from, 2);
    for (int i = 1; i >= 0; i--) {
        ti_payload to = whole(&in[i], &got[i], sizeof(got[i]));
        n.comm[2]->ops->receive(n.comm[2], 0, (uint64_t)i, &to, 10 + (uint64_t)i);
    }
    n.time += DELAY / 2;
    assert_int_equal(settle(&n, 2, &token), 1);
    assert_int_equal(token, 10);
    n.time += DELAY / 2;
    assert_int_equal(settle(&n, 2, &token), 1);
    assert_int_equal(token, 11);
    assert_int_equal(got[0], 1);
    assert_int_equal(got[1], 2);
    close_net(&n);
}

static void in_the_order_of_sending(void **state)
{
    (void)state;
    send_in_order(false);
    send_in_order(true);
}

/* What is too large for a copy is complete when it has gone. */
static void large_messages_keep_their_sender(void **state)
{
    (void)state;
    net n;
    open_net(&n, 64, true);
    ti_block out, in;
    char *sent = ti_alloc(BIG), *got = ti_alloc(BIG);
    uint64_t token = 0;
    memset(sent, 5, BIG);
    ti_payload from = whole(&out, sent, BIG), to = whole(&in, got, BIG);
    n.comm[3]->ops->send(n.comm[3], 0, 0, &from, 1);
    n.comm[0]->ops->receive(n.comm[0], 3, 0, &to, 2);
    assert_int_equal(settle(&n, 3, &token), 0);
    n.time += DELAY;
    assert_int_equal(settle(&n, 0, &token), 1);
    assert_int_equal(n.comm[3]->pending, 0);
    assert_memory_equal(sent, got, BIG);
    ti_free(sent, BIG);
    ti_free(got, BIG);
    close_net(&n);
}

/* A number on its way, and where it comes to. */
typedef struct parcel {
    ti_block out, in;
    uint64_t sent, got;
} parcel;

/* Node 0 sends node 1, which waits for it, the number 42, and does not promise to come back to it. */
static void leave_alone(net *n, parcel *p)
{
    *p = (parcel){ .sent = 42 };
    ti_payload from = whole(&p->out, &p->sent, sizeof(p->sent)), to = whole(&p->in, &p->got, sizeof(p->got));
    n->comm[0]->attended = false;
    n->comm[1]->ops->receive(n->comm[1], 0, 0, &to, 7);
    n->comm[0]->ops->send(n->comm[0], 1, 0, &from, 3);
}

/* So is any, if nobody might come back to send it. */
static void unattended(void **state)
{
    (void)state;
    net n;
    uint64_t token = 0;
    parcel p;
    open_net(&n, 64, false);
    leave_alone(&n, &p);
    assert_int_equal(settle(&n, 0, &token), 0);
    n.time += DELAY;
    assert_int_equal(settle(&n, 0, &token), 1);
    assert_int_equal(token, 3);
    assert_int_equal(p.got, 42);
    close_net(&n);
}

/* On one machine messages say when they were sent. They leave at once, whoever polls, and are late for the receiver. */
static void stamped_messages_are_late(void **state)
{
    (void)state;
    net n;
    uint64_t token = 0;
    parcel p;
    open_net(&n, 64, true);
    leave_alone(&n, &p);
    assert_int_equal(n.comm[0]->due, 0);
    assert_int_equal(settle(&n, 0, &token), 1);
    assert_int_equal(token, 3);
    n.time += DELAY - 1;
    assert_int_equal(settle(&n, 1, &token), 0);
    assert_int_equal(n.comm[1]->due, n.time + 1);
    assert_true(n.comm[1]->pending > 0); /* or nobody would poll */
    n.time++;
    assert_int_equal(settle(&n, 1, &token), 1);
    assert_int_equal(token, 7);
    assert_int_equal(p.got, 42);
    assert_int_equal(n.comm[1]->due, 0);
    assert_int_equal(n.comm[0]->stats.bytes_sent, sizeof(p.sent));
    assert_int_equal(n.comm[1]->stats.bytes_received, sizeof(p.got));
    close_net(&n);
}

enum { SOME = 3 };

/* Node 0 sends node 2 some numbers, one after another, and then node 2 asks for the last one first. Returns how many
 * have come. */
static int send_and_ask(net *n, uint64_t count, uint64_t apart, uint64_t *got)
{
    ti_block out, in[SOME];
    uint64_t sent, token = 0;
    ti_payload from = whole(&out, &sent, sizeof(sent));
    int come = 0;
    for (uint64_t i = 0; i < count; i++, n->time += apart) {
        sent = i + 1;
        n->comm[0]->ops->send(n->comm[0], 2, i, &from, i);
        settle(n, -1, &token);
    }
    for (uint64_t i = count; i-- > 0;) {
        ti_payload to = whole(&in[i], &got[i], sizeof(got[i]));
        n->comm[2]->ops->receive(n->comm[2], 0, i, &to, 10 + i);
        come += settle(n, 2, &token);
    }
    return come;
}

/* What has been under way for long when somebody asks for it is there at once, and before what was sent later. */
static void stamped_messages_have_been_late(void **state)
{
    (void)state;
    net n;
    uint64_t got[SOME] = { 0 }, token = 0;
    open_net(&n, 64, true);
    assert_int_equal(send_and_ask(&n, SOME, DELAY / 2, got), SOME - 1);
    assert_true(n.comm[2]->pending > 0);
    assert_int_equal(n.comm[2]->due, n.time + DELAY / 2);
    n.time += DELAY / 2;
    assert_int_equal(settle(&n, 2, &token), 1);
    assert_int_equal(token, 12);
    assert_true(got[0] == 1 && got[1] == 2 && got[2] == 3);
    close_net(&n);
}

/* Two that are still late, where the newer one is asked for first. */
static void stamped_messages_wait_in_order(void **state)
{
    (void)state;
    net n;
    uint64_t got[SOME] = { 0 }, token = 0;
    open_net(&n, 64, true);
    assert_int_equal(send_and_ask(&n, 2, DELAY / 4, got), 0);
    assert_int_equal(n.comm[2]->due, n.time + DELAY / 2);
    n.time += DELAY / 2;
    assert_int_equal(settle(&n, 2, &token), 1);
    assert_int_equal(token, 10);
    n.time += DELAY / 4;
    assert_int_equal(settle(&n, 2, &token), 1);
    assert_int_equal(token, 11);
    assert_true(got[0] == 1 && got[1] == 2);
    close_net(&n);
}

static void barriers_end_late(void **state)
{
    (void)state;
    net n;
    open_net(&n, 64, true);
    uint64_t token = 0;
    for (int i = 0; i < NODES; i++) {
        n.comm[i]->ops->barrier(n.comm[i], 9);
    }
    assert_int_equal(settle(&n, 2, &token), 0);
    n.time += DELAY;
    assert_int_equal(settle(&n, 2, &token), 1);
    assert_int_equal(token, 9);
    close_net(&n);
}

/* A chain of three hops through relays: the offer, and what it carries, takes a delay for each. */
static void relays_are_late(void **state)
{
    (void)state;
    net n;
    open_net(&n, 64, true);
    ti_block out, in[NODES];
    uint64_t sent = 77, got[NODES] = { 0 }, token = 0;
    ti_payload from = whole(&out, &sent, sizeof(sent));
    ti_recipient list[NODES];
    for (int i = 0; i < NODES; i++) {
        n.comm[i]->ops->open_relays(n.comm[i]);
        assert_true(n.comm[i]->relays);
        n.comm[i]->listens = true;
    }
    for (int i = 1; i < NODES; i++) {
        ti_payload to = whole(&in[i], &got[i], sizeof(got[i]));
        n.comm[i]->ops->receive(n.comm[i], 0, 0, &to, (uint64_t)i);
        list[i - 1] = (ti_recipient){ .node = i, .token = 100 + (uint64_t)i };
    }
    n.comm[0]->ops->broadcast(n.comm[0], list, NODES - 1, &from);
    assert_int_equal(settle(&n, 1, &token), 0);
    int came_after[NODES] = { 0 };
    for (int hop = 1; n.comm[0]->pending && hop < 20; hop++) {
        n.time += DELAY;
        settle(&n, -1, &token);
        for (int i = 1; i < NODES; i++) {
            came_after[i] = !came_after[i] && got[i] == 77 ? hop : came_after[i];
        }
    }
    /* A binomial tree of three recipients has a node at depth 2. */
    int deepest = 0;
    for (int i = 1; i < NODES; i++) {
        assert_true(came_after[i] >= 1);
        deepest = TI_MAX(deepest, came_after[i]);
    }
    assert_int_equal(deepest, 2);
    assert_int_equal(n.comm[0]->pending, 0);
    for (int i = 0; i < NODES; i++) {
        n.time += 4 * DELAY;
        settle(&n, -1, &token);
    }
    close_net(&n);
}

/* Who waits sleeps until the time that is known, and not longer than a nap. */
static void sleeping_until_due(void **state)
{
    (void)state;
    assert_int_equal(ti_until_due(0, 5000), 5000);
    uint64_t at = ti_clock_ns();
    assert_int_equal(ti_until_due(at + 3600000000000u, 5000), 5000);
    assert_true(ti_until_due(at, 5000) <= 1000);
    uint64_t some = ti_until_due(at + 3600000000000u, UINT64_MAX);
    assert_true(some > 0 && some <= 3600000000000u);
    ti_sleep_exactly();
    assert_int_equal(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_late),
        cmocka_unit_test(in_the_order_of_sending),
        cmocka_unit_test(large_messages_keep_their_sender),
        cmocka_unit_test(unattended),
        cmocka_unit_test(stamped_messages_are_late),
        cmocka_unit_test(stamped_messages_have_been_late),
        cmocka_unit_test(stamped_messages_wait_in_order),
        cmocka_unit_test(barriers_end_late),
        cmocka_unit_test(relays_are_late),
        cmocka_unit_test(sleeping_until_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
