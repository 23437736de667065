/* Short messages between nodes of one machine: the mailbox, with one thread and with two; nodes in one process that
 * send each other random messages in random orders; and the memory that processes share. The seed is printed, and taken
 * from the first argument. */
#include "comm/near.h"

#include "base/shared.h"
#include "random.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST = TI_MAILBOX_BYTES / 8 }; /* a mailbox has room for it */

static uint64_t seed;

static char byte_of(uint64_t message, size_t i)
{
    return (char)(message * 131 + i * 7 + (i >> 8));
}

static void fill(char *to, uint64_t message, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = byte_of(message, i);
    }
}

static bool is_right(const char *data, uint64_t message, size_t bytes)
{
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++) {
        wrong += data[i] != byte_of(message, i);
    }
    return wrong == 0;
}

/* ---- mailboxes */

/* All lengths from nothing to the longest, short ones more often. */
static size_t random_bytes(rng *r)
{
    static const int64_t most[] = { 0, 8, 40, 41, 200, 1000, 5000, LONGEST };
    return (size_t)rng_between(r, 0, most[rng_between(r, 0, TI_COUNT(most) - 1)]);
}

static bool post(ti_mailbox *box, uint64_t message, size_t bytes)
{
    ti_mailbox_draft draft;
    memset(&draft, 0x77, sizeof(draft));
    ti_mailbox_message *m = ti_mailbox_room(box, bytes, &draft);
    if (m) {
        fill(m->data, message, bytes);
        m->counter = message;
        m->route = (uint16_t)(message % 3);
        m->asks = false;
        ti_mailbox_post(box, m);
    }
    return m != NULL;
}

static bool take(ti_mailbox *box, uint64_t message, size_t bytes)
{
    const ti_mailbox_message *m = ti_mailbox_look(box);
    if (!m) {
        return false;
    }
    assert_int_equal(m->counter, message);
    assert_int_equal(m->route, message % 3);
    assert_int_equal(m->bytes, bytes);
    assert_true(is_right(m->data, message, bytes));
    ti_mailbox_take(box, m);
    return true;
}

static void messages_come_in_their_order(void **unused)
{
    (void)unused;
    enum { MESSAGES = 10000 };
    ti_mailbox_memory *memory = TI_NEW(ti_mailbox_memory);
    ti_mailbox writer = ti_mailbox_on(memory), reader = ti_mailbox_on(memory);
    rng in = rng_from(seed), out = in, how = rng_from(seed + 1);
    size_t bytes = random_bytes(&in), expected = random_bytes(&out);
    uint64_t sent = 0, taken = 0, full = 0;
    while (taken < MESSAGES) {
        for (int64_t n = rng_between(&how, 0, 30); n-- && sent < MESSAGES;) {
            if (!post(&writer, sent, bytes)) {
                full++;
                break;
            }
            sent++;
            bytes = random_bytes(&in);
        }
        for (int64_t n = rng_between(&how, 0, 30); n-- && taken < sent;) {
            assert_true(take(&reader, taken++, expected));
            expected = random_bytes(&out);
        }
        assert_true(taken < sent || !ti_mailbox_look(&reader));
    }
    assert_true(full > 0);
    TI_DELETE(memory);
}

/* As many as fit, then none, until those at the beginning have been taken. What does not fill up uses little. */
static void mailboxes_fill_up(void **unused)
{
    (void)unused;
    for (size_t bytes = 0; bytes <= LONGEST; bytes += bytes < 64 ? 24 : 11000) {
        const size_t length = ti_mailbox_length(bytes);
        ti_mailbox_memory *memory = TI_NEW(ti_mailbox_memory);
        ti_mailbox writer = ti_mailbox_on(memory), reader = ti_mailbox_on(memory);
        uint64_t sent = 0, taken = 0;
        while (post(&writer, sent, bytes)) {
            sent++;
        }
        assert_true((sent + 1) * length + TI_CACHE_LINE > TI_MAILBOX_BYTES);
        while (!post(&writer, sent, bytes)) {
            assert_true(taken * length < length + TI_CACHE_LINE + TI_MAILBOX_STEP);
            assert_true(take(&reader, taken++, bytes));
        }
        assert_true(taken > 0);
        sent++;
        while (taken < sent) {
            assert_true(take(&reader, taken++, bytes));
        }
        char *unused_part = memory->ring + TI_MAX(TI_MAILBOX_LAP, TI_MAILBOX_STEP + length) + 2 * length;
        const size_t left = (size_t)(memory->ring + TI_MAILBOX_BYTES - unused_part);
        for (int lap = 0; lap < 3; lap++) { /* the second begins at the beginning, if the first does not */
            memset(unused_part, lap == 2 ? 0x11 : unused_part[0], lap == 2 ? left : 0);
            for (size_t sum = 0; sum < 2 * TI_MAILBOX_BYTES; sum += length) {
                assert_true(post(&writer, sent++, bytes));
                assert_true(take(&reader, taken++, bytes));
            }
        }
        for (size_t i = 0; i < left; i++) {
            assert_int_equal(unused_part[i], 0x11);
        }
        TI_DELETE(memory);
    }
}

enum { RACED = 30000 };

static void *write_all(void *box)
{
    rng r = rng_from(seed + 2);
    for (uint64_t i = 0; i < RACED; i++) {
        const size_t bytes = random_bytes(&r) % 300;
        while (!post(box, i, bytes)) {
            sched_yield();
        }
    }
    return NULL;
}

static void a_thread_reads_what_another_writes(void **unused)
{
    (void)unused;
    ti_mailbox_memory *memory = TI_NEW(ti_mailbox_memory);
    ti_mailbox writer = ti_mailbox_on(memory), reader = ti_mailbox_on(memory);
    pthread_t thread;
    rng r = rng_from(seed + 2);
    assert_int_equal(pthread_create(&thread, NULL, write_all, &writer), 0);
    for (uint64_t i = 0; i < RACED; i++) {
        const size_t bytes = random_bytes(&r) % 300;
        while (!take(&reader, i, bytes)) {
            sched_yield();
        }
    }
    pthread_join(thread, NULL);
    assert_false(ti_mailbox_look(&reader));
    TI_DELETE(memory);
}

/* ---- nodes */

enum { NODES = 4, FIRST_NODE = 3 /* so numbers are no indices */, APART = 2 };

typedef struct machine {
    ti_near near[NODES];
    ti_parcel_pool pool[NODES];
    uint64_t received[NODES];
    ti_mailbox_memory *memory; /* [to][from] */
} machine;

/* With a gap behind the second: nodes of one machine need not be consecutive. */
static int number_of(int i)
{
    return FIRST_NODE + i + (i > 1 ? APART : 0);
}

static machine *machine_create(void)
{
    machine *m = TI_NEW(machine);
    m->memory = ti_alloc_aligned(NODES * NODES * sizeof(ti_mailbox_memory));
    for (int i = 0; i < NODES; i++) {
        m->near[i].limit = LONGEST;
        m->near[i].parcels = &m->pool[i];
        m->near[i].messages = &m->received[i];
        for (int k = 0; k < NODES; k++) {
            if (k != i) {
                ti_vec_push(&m->near[i].peer, ((ti_near_peer){ .node = number_of(k),
                                                               .in = ti_mailbox_on(&m->memory[i * NODES + k]),
                                                               .out = ti_mailbox_on(&m->memory[k * NODES + i]) }));
            }
        }
    }
    return m;
}

static void machine_destroy(machine *m)
{
    for (int i = 0; i < NODES; i++) {
        ti_near_fini(&m->near[i]);
        ti_parcel_pool_fini(&m->pool[i]);
    }
    ti_free(m->memory, NODES * NODES * sizeof(ti_mailbox_memory));
    TI_DELETE(m);
}

static ti_payload one_run(char *at, size_t bytes, ti_block *block)
{
    *block = (ti_block){ .base = at, .run = bytes, .count = { 1, 1 } };
    return (ti_payload){ block, 1, bytes };
}

static void nodes_are_found_by_their_numbers(void **unused)
{
    (void)unused;
    machine *m = machine_create();
    const ti_near nobody = { 0 };
    for (int i = 0; i < NODES; i++) {
        for (int node = -1; node < FIRST_NODE + NODES + APART + 3; node++) {
            const ti_near_peer *found = ti_near_find(&m->near[i], node);
            bool is_there = false;
            for (int k = 0; k < NODES; k++) {
                is_there |= k != i && number_of(k) == node;
            }
            assert_int_equal(found != NULL, is_there);
            assert_true(!found || found->node == node);
            assert_null(ti_near_find(&nobody, node));
        }
    }
    machine_destroy(m);
}

typedef struct traffic {
    int from, to, route;
    uint64_t counter;
    size_t bytes;
    bool point, sent, posted, is_sent, is_passed, is_received, in_columns, hurries /* at once, if that is possible */;
    char *out, *in;
} traffic;

enum { MESSAGES = 2000, STRIDE = 24, RUN = 8 };

/* In columns: as many runs of 8 bytes as fit, and the rest. */
static ti_payload payload_of(const traffic *t, char *at, ti_block block[2])
{
    if (!t->in_columns || t->bytes < RUN) {
        return one_run(at, t->bytes, block);
    }
    const size_t runs = t->bytes / RUN, rest = t->bytes % RUN;
    block[0] = (ti_block){ .base = at, .run = RUN, .count = { 1, runs }, .stride = { 0, STRIDE } };
    block[1] = (ti_block){ .base = at + runs * STRIDE, .run = rest, .count = { 1, 1 } };
    return (ti_payload){ block, rest ? 2 : 1, t->bytes };
}

static size_t place_of(const traffic *t, size_t i)
{
    return t->in_columns && t->bytes >= RUN ? i / RUN * STRIDE + i % RUN : i;
}

static traffic random_traffic(rng *r, uint64_t counter)
{
    traffic t = { .from = (int)rng_between(r, 0, NODES - 1), .counter = counter, .bytes = random_bytes(r) };
    t.to = (t.from + (int)rng_between(r, 1, NODES - 1)) % NODES;
    t.route = (int)rng_between(r, 0, TI_NEAR_ROUTES - 1);
    t.in_columns = rng_between(r, 0, 2) == 0;
    t.hurries = rng_between(r, 0, 1);
    t.out = ti_alloc_zero(t.bytes * 3 + STRIDE);
    t.in = ti_alloc_zero(t.bytes * 3 + STRIDE);
    for (size_t i = 0; i < t.bytes; i++) {
        t.out[place_of(&t, i)] = byte_of(counter, i);
    }
    return t;
}

static void send(machine *m, traffic *t, uint64_t token)
{
    ti_block block[2];
    ti_near *near = &m->near[t->from];
    ti_near_peer *peer = ti_near_find(near, number_of(t->to));
    const ti_payload payload = payload_of(t, t->out, block);
    t->point = t->counter % 5 == 0 && peer->points == peer->passed;
    const ti_near_message what = { t->route, t->counter, token, t->bytes };
    t->sent = true;
    t->is_sent = t->hurries && !t->point && ti_near_send_at_once(near, peer, &what, &payload);
    if (!t->is_sent) {
        t->is_sent = ti_near_send(near, peer, &what, t->point, &payload);
        assert_true(!t->is_sent || t->point || !t->hurries); /* it found no room before */
    }
    memset(t->out, 0x55, t->bytes * 3 + STRIDE); /* it has been copied */
    memset(block, 0xff, sizeof(block));
}

static void receive(machine *m, traffic *t, uint64_t token, bool gives_blocks)
{
    ti_block block[2];
    ti_near *near = &m->near[t->to];
    ti_near_peer *peer = ti_near_find(near, number_of(t->from));
    const ti_payload payload = payload_of(t, t->in, block);
    const ti_near_message what = { t->route, t->counter, token, t->bytes };
    t->posted = true;
    int looks = (int)(t->counter % 3);
    t->is_received = t->hurries && ti_near_receive_at_once(near, peer, &what, &payload, &looks);
    if (!t->is_received) {
        ti_parcel *blocks = gives_blocks ? ti_parcel_create(near->parcels, &payload, true, false) : NULL;
        ti_near_receive(near, peer, &what, &payload, blocks);
    }
    memset(block, 0xff, sizeof(block));
}

/* The one that is not passed yet. */
static traffic *point_of(traffic *all, int node, int number)
{
    traffic *found = NULL;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        traffic *t = &all[i];
        if (t->sent && t->point && !t->is_passed && t->from == node && number_of(t->to) == number) {
            assert_null(found);
            found = t;
        }
    }
    assert_non_null(found);
    return found;
}

static void poll(machine *m, int node, traffic *all)
{
    ti_near *near = &m->near[node];
    ti_near_poll(near);
    for (size_t i = 0; i < near->ended.count; i++) {
        const ti_near_event *e = &near->ended.data[i];
        traffic *t = e->end == TI_NEAR_POINT ? point_of(all, node, e->node) : &all[e->token];
        if (e->end == TI_NEAR_RECEIVED) {
            assert_true(t->to == node && t->posted && t->sent && !t->is_received && e->node == number_of(t->from));
            assert_true(e->bytes == t->bytes && e->expected == t->bytes && e->route == t->route);
            t->is_received = true;
        } else if (e->end == TI_NEAR_POINT) {
            assert_true(t->is_sent && (t->is_received || t->posted));
            t->is_passed = true;
        } else {
            assert_true(t->from == node && t->sent && !t->is_sent);
            t->is_sent = true;
        }
    }
    ti_vec_clear(&near->ended);
}

static void check_arrived(const traffic *t)
{
    size_t wrong = 0;
    for (size_t i = 0; i < t->bytes; i++) {
        wrong += t->in[place_of(t, i)] != byte_of(t->counter, i);
    }
    assert_int_equal(wrong, 0);
    for (size_t i = 0; t->in_columns && t->bytes >= RUN && i + STRIDE <= t->bytes / RUN * STRIDE; i += STRIDE) {
        for (size_t k = RUN; k < STRIDE; k++) {
            wrong += t->in[i + k] != 0;
        }
    }
    assert_int_equal(wrong, 0);
}

/* Every message is sent and every receive is there at some time, in any order, far apart or not. */
static void all_messages_meet_their_receives(void **unused)
{
    (void)unused;
    enum { ROUNDS = 4 };
    const uint64_t live = ti_alloc_live();
    for (uint64_t round = 0; round < ROUNDS; round++) {
        rng r = rng_from(seed + 100 + round);
        machine *m = machine_create();
        traffic *all = TI_NEW_ARRAY(traffic, MESSAGES);
        for (uint64_t i = 0; i < MESSAGES; i++) {
            all[i] = random_traffic(&r, i);
        }
        const int64_t apart = rng_between(&r, 1, round % 2 ? 40 : MESSAGES); /* steps from their places */
        const int64_t silent = round % 2 ? 0 : 2 * MESSAGES; /* steps in which nobody polls: mailboxes fill up */
        uint64_t left = 1, held = 0, at_once = 0;
        for (int64_t step = 0; left; step++) {
            for (int what = 0; what < 2; what++) {
                const int64_t i = step - rng_between(&r, 0, apart);
                traffic *t = i >= 0 && i < MESSAGES ? &all[i] : &all[rng_between(&r, 0, MESSAGES - 1)];
                if (what == 0 && !t->sent) {
                    send(m, t, (uint64_t)(t - all));
                    held += !t->is_sent;
                } else if (what == 1 && !t->posted) {
                    receive(m, t, (uint64_t)(t - all), rng_between(&r, 0, 1));
                    at_once += t->is_received;
                }
            }
            if (step >= silent) {
                poll(m, (int)rng_between(&r, 0, NODES - 1), all);
            }
            if (step > 3 * MESSAGES) { /* the rest */
                left = 0;
                for (uint64_t i = 0; i < MESSAGES; i++) {
                    if (!all[i].sent) {
                        send(m, &all[i], i);
                    }
                    if (!all[i].posted) {
                        receive(m, &all[i], i, false);
                    }
                    left += !all[i].is_sent || !all[i].is_received || all[i].point != all[i].is_passed;
                }
                assert_true(step < 20 * MESSAGES);
            }
        }
        uint64_t received = 0;
        for (int n = 0; n < NODES; n++) {
            received += m->received[n];
        }
        assert_int_equal(received, MESSAGES);
        assert_true(!silent || held > 0);
        assert_true(at_once > 0);
        for (uint64_t i = 0; i < MESSAGES; i++) {
            check_arrived(&all[i]);
            ti_free(all[i].out, all[i].bytes * 3 + STRIDE);
            ti_free(all[i].in, all[i].bytes * 3 + STRIDE);
        }
        ti_free(all, MESSAGES * sizeof(*all));
        machine_destroy(m);
        assert_int_equal(ti_alloc_live(), live);
    }
}

static void send_value(machine *m, uint64_t counter, uint64_t value, size_t bytes)
{
    ti_block block;
    const ti_payload payload = one_run((char *)&value, bytes, &block);
    assert_true(ti_near_send(&m->near[0], ti_near_find(&m->near[0], number_of(1)),
                             &(ti_near_message){ 1, counter, counter, bytes }, false, &payload));
}

static void receive_value(machine *m, uint64_t counter, uint64_t *value, uint64_t token)
{
    ti_block block;
    const ti_payload payload = one_run((char *)value, sizeof(*value), &block);
    ti_near_receive(&m->near[1], ti_near_find(&m->near[1], number_of(0)),
                    &(ti_near_message){ 1, counter, token, sizeof(*value) }, &payload, NULL);
}

static bool receive_at_once(machine *m, const ti_near_message *what, const ti_payload *payload, int *looks)
{
    return ti_near_receive_at_once(&m->near[1], ti_near_find(&m->near[1], number_of(0)), what, payload, looks);
}

/* A message that is the next one in its mailbox, and no other, until a poll has taken them out; what was said to be
 * impossible changes nothing. */
static void only_the_next_message_is_received_at_once(void **unused)
{
    (void)unused;
    machine *m = machine_create();
    uint64_t value = 0, other = 0;
    int looks = 3;
    ti_block block, short_block;
    const ti_payload payload = one_run((char *)&value, sizeof(value), &block);
    const ti_payload short_payload = one_run((char *)&other, 4, &short_block);
    assert_false(receive_at_once(m, &(ti_near_message){ 1, 5, 0, sizeof(value) }, &payload, &looks));
    assert_int_equal(looks, 0);
    send_value(m, 5, 500, sizeof(value));
    for (uint64_t counter = 6; counter <= 9; counter++) {
        send_value(m, counter, 100 * counter, sizeof(value));
    }
    looks = 3;
    assert_false(receive_at_once(m, &(ti_near_message){ 1, 6, 0, sizeof(value) }, &payload, &looks));
    assert_false(receive_at_once(m, &(ti_near_message){ 0, 5, 0, sizeof(value) }, &payload, &looks));
    assert_false(receive_at_once(m, &(ti_near_message){ 1, 5, 0, 4 }, &short_payload, &looks));
    assert_true(value == 0 && other == 0 && m->received[1] == 0);
    assert_true(receive_at_once(m, &(ti_near_message){ 1, 5, 0, sizeof(value) }, &payload, &looks));
    assert_true(value == 500 && looks == 3);
    receive_value(m, 6, &other, 0);
    ti_near_poll(&m->near[1]);
    assert_int_equal(other, 600);
    assert_int_equal(m->received[1], 2);
    assert_true(receive_at_once(m, &(ti_near_message){ 1, 8, 0, sizeof(value) }, &payload, &looks));
    assert_int_equal(value, 800);
    assert_false(receive_at_once(m, &(ti_near_message){ 1, 7, 0, 4 }, &short_payload, &looks));
    assert_true(receive_at_once(m, &(ti_near_message){ 1, 7, 0, sizeof(value) }, &payload, &looks));
    assert_int_equal(value, 700);
    assert_true(receive_at_once(m, &(ti_near_message){ 1, 9, 0, sizeof(value) }, &payload, &looks));
    assert_true(value == 900 && looks == 3 && m->received[1] == 5);
    assert_int_equal(m->near[1].ended.count, 1);
    machine_destroy(m);
}

/* Of several with one counter: whichever side is first. */
static void equal_counters_meet_in_order(void **unused)
{
    (void)unused;
    enum { EACH = 5 };
    for (int sent_first = 0; sent_first <= EACH; sent_first++) {
        machine *m = machine_create();
        uint64_t value[2 * EACH] = { 0 };
        for (int i = 0; i < sent_first; i++) {
            send_value(m, 7, 100 + (uint64_t)i, sizeof(uint64_t));
            send_value(m, 4, 200 + (uint64_t)i, sizeof(uint64_t));
        }
        ti_near_poll(&m->near[1]);
        ti_near_poll(&m->near[1]);
        ti_near_poll(&m->near[1]);
        for (int i = 0; i < EACH; i++) {
            receive_value(m, 7, &value[i], 0);
            receive_value(m, 4, &value[EACH + i], 0);
        }
        for (int i = sent_first; i < EACH; i++) {
            send_value(m, 7, 100 + (uint64_t)i, sizeof(uint64_t));
            send_value(m, 4, 200 + (uint64_t)i, sizeof(uint64_t));
        }
        ti_near_poll(&m->near[1]);
        assert_int_equal(m->near[1].ended.count, 2 * EACH);
        for (int i = 0; i < EACH; i++) {
            assert_int_equal(value[i], 100 + i);
            assert_int_equal(value[EACH + i], 200 + i);
        }
        machine_destroy(m);
    }
}

/* The event has both lengths, and nothing is written. */
static void wrong_lengths_are_told(void **unused)
{
    (void)unused;
    for (int sent_first = 0; sent_first < 2; sent_first++) {
        for (size_t bytes = 0; bytes < sizeof(uint64_t); bytes += 4) {
            machine *m = machine_create();
            uint64_t value = 5;
            if (sent_first) {
                send_value(m, 1, 77, bytes);
                ti_near_poll(&m->near[1]);
                ti_near_poll(&m->near[1]);
                ti_near_poll(&m->near[1]);
            }
            receive_value(m, 1, &value, 3);
            if (!sent_first) {
                send_value(m, 1, 77, bytes);
                ti_near_poll(&m->near[1]);
            }
            assert_int_equal(m->near[1].ended.count, 1);
            const ti_near_event e = m->near[1].ended.data[0];
            assert_true(e.bytes == bytes && e.expected == sizeof(value) && e.token == 3 && e.node == number_of(0));
            assert_int_equal(value, 5);
            machine_destroy(m);
        }
    }
}

/* A receive that is taken back gives its blocks, and a message that comes then waits for the next receive. */
static void receives_are_taken_back(void **unused)
{
    (void)unused;
    machine *m = machine_create();
    ti_near_peer *peer = ti_near_find(&m->near[1], number_of(0));
    uint64_t value = 0, token = 0;
    ti_block block;
    ti_parcel *blocks = NULL;
    const ti_payload payload = one_run((char *)&value, sizeof(value), &block);
    for (uint64_t counter = 3; counter < 6; counter++) {
        ti_near_receive(&m->near[1], peer, &(ti_near_message){ 1, counter, 10 * counter, sizeof(value) }, &payload,
                        ti_parcel_create(&m->pool[1], &payload, true, false));
    }
    assert_false(ti_near_withdraw(peer, 1, 2, &token, &blocks));
    assert_false(ti_near_withdraw(peer, 0, 4, &token, &blocks));
    assert_true(ti_near_withdraw(peer, 1, 4, &token, &blocks));
    assert_true(token == 40 && blocks->payload.bytes == sizeof(value) && blocks->block[0].base == (char *)&value);
    assert_false(ti_near_withdraw(peer, 1, 4, &token, &blocks));
    ti_parcel_destroy(&m->pool[1], blocks);
    send_value(m, 4, 44, sizeof(value));
    ti_near_poll(&m->near[1]);
    assert_int_equal(m->near[1].ended.count, 0);
    receive_value(m, 4, &value, 1);
    assert_int_equal(m->near[1].ended.count, 1);
    assert_int_equal(value, 44);
    machine_destroy(m); /* with two receives that wait */
}

/* ---- shared memory */

static void memory_is_shared_by_name(void **unused)
{
    (void)unused;
    enum { BYTES = 100000, AT = 5000 };
    ti_shared_name name;
    ti_shared mine = ti_shared_create(BYTES, &name);
    assert_non_null(mine.at);
    for (size_t i = TI_SHARED_HEAD; i < BYTES; i++) {
        assert_int_equal(mine.at[i], 0);
    }
    const pid_t child = fork();
    if (child == 0) {
        ti_shared theirs = ti_shared_attach(&name);
        bool good = theirs.at && theirs.size == BYTES && theirs.at != mine.at && theirs.file < 0;
        if (good) {
            theirs.at[AT] = 77;
        }
        ti_shared_fini(&theirs);
        _exit(good ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(mine.at[AT], 77);
    ti_shared_fini(&mine);
    assert_null(mine.at);
}

static void other_memory_is_not_taken_for_it(void **unused)
{
    (void)unused;
    enum { BYTES = 8192 };
    ti_shared_name right;
    ti_shared mine = ti_shared_create(BYTES, &right);
    assert_non_null(mine.at);
    for (int what = 0; what < 5; what++) {
        ti_shared_name name = right;
        name.mark += what == 0;
        name.size += what == 1 ? 1 : 0;
        name.file = what == 2 ? 1000000 : name.file;
        name.process = what == 3 ? -5 : name.process;
        name.size = what == 4 ? 0 : name.size;
        ti_shared none = ti_shared_attach(&name);
        assert_null(none.at);
        assert_true(none.file < 0);
        ti_shared_fini(&none);
    }
    ti_shared again = ti_shared_attach(&right);
    assert_non_null(again.at);
    ti_shared_fini(&again);
    ti_shared_close_file(&mine);
    again = ti_shared_attach(&right); /* the mapping stays, the name is gone */
    assert_null(again.at);
    mine.at[BYTES - 1] = 3;
    ti_shared_fini(&mine);
}

/* Where files may not be that long, which would be a signal, and where no file may be opened. */
static void there_may_be_no_memory(void **unused)
{
    (void)unused;
    const struct {
        int what;
        rlim_t most;
    } limits[] = { { RLIMIT_FSIZE, 1000 }, { RLIMIT_NOFILE, 0 } };
    for (size_t i = 0; i < TI_COUNT(limits); i++) {
        struct rlimit before, less;
        assert_int_equal(getrlimit(limits[i].what, &before), 0);
        less = before;
        less.rlim_cur = limits[i].most;
        assert_int_equal(setrlimit(limits[i].what, &less), 0);
        ti_shared_name name = { .size = 1 };
        ti_shared none = ti_shared_create(8192, &name);
        assert_int_equal(setrlimit(limits[i].what, &before), 0);
        assert_null(none.at);
        assert_true(none.file < 0 && name.size == 0);
        ti_shared_fini(&none);
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_in_their_order),
        cmocka_unit_test(mailboxes_fill_up),
        cmocka_unit_test(a_thread_reads_what_another_writes),
        cmocka_unit_test(nodes_are_found_by_their_numbers),
        cmocka_unit_test(all_messages_meet_their_receives),
        cmocka_unit_test(only_the_next_message_is_received_at_once),
        cmocka_unit_test(equal_counters_meet_in_order),
        cmocka_unit_test(wrong_lengths_are_told),
        cmocka_unit_test(receives_are_taken_back),
        cmocka_unit_test(memory_is_shared_by_name),
        cmocka_unit_test(other_memory_is_not_taken_for_it),
        cmocka_unit_test(there_may_be_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
