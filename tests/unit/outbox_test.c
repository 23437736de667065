/* Sends that are ready: which leave together, in which order, and what is counted. */
#include "exec/outbox.h"

#include "random.h"

#include <string.h>

enum { VERSIONS = 40, MOST = 6 };

static uint64_t seed;

static const ti_buffer_info buffer;

static ti_instruction send_of(uint64_t id, uint64_t version, uint32_t again, const ti_instruction_box *box)
{
    return (ti_instruction){ .kind = TI_INSTRUCTION_SEND,
                             .id = id,
                             .as.transfer = { .peer = (int)again + 1,
                                              .boxes = 1,
                                              .counter = id,
                                              .box = box,
                                              .buffer = &buffer,
                                              .version = version,
                                              .again = again } };
}

static const ti_instruction_box tile[2] = { { { .allocation = 1 }, { { 0, 0, 0 }, { 4, 1, 1 } } },
                                            { { .allocation = 1 }, { { 4, 0, 0 }, { 8, 1, 1 } } } };

/* Contents that are known to be the same, whose boxes and allocations are, leave together; nothing else does. */
static void groups(void **state)
{
    (void)state;
    const ti_instruction_box moved = { { .allocation = 2 }, tile[0].box };
    ti_instruction send[] = { send_of(1, 7, 0, &tile[0]), send_of(2, 0, 0, &tile[0]), send_of(3, 0, 0, &tile[0]),
                              send_of(4, 7, 1, &tile[0]), send_of(5, 7, 2, &tile[1]), send_of(6, 8, 0, &tile[0]),
                              send_of(7, 7, 3, &moved) };
    send[3].priority = 5;
    send[5].priority = 3;
    ti_outbox o = { 0 };
    for (size_t i = 0; i < TI_COUNT(send); i++) {
        ti_outbox_add(&o, &send[i]);
    }
    assert_true(o.shares);
    ti_outbox_sort(&o);
    assert_int_equal(o.group.count, 6);
    const ti_outbox_group *g = o.group.data;
    assert_true(g[0].count == 2 && g[0].priority == 5 && ti_outbox_first(&o, &g[0])->id == 1);
    const ti_recipient *r = ti_outbox_recipients(&o, &g[0]);
    assert_true(r[0].token == 1 && r[0].node == 1 && r[0].priority == 0 && r[1].token == 4 && r[1].priority == 5);
    const uint64_t others[] = { 6, 2, 3, 5, 7 };
    for (size_t i = 0; i < TI_COUNT(others); i++) {
        assert_true(g[i + 1].count == 1 && ti_outbox_first(&o, &g[i + 1])->id == others[i]);
    }
    ti_outbox_clear(&o);
    assert_true(!o.shares);
    ti_outbox_fini(&o);
}

/* Those of a planned tree leave each by itself, and apart from others of the same contents. */
static void planned(void **state)
{
    (void)state;
    ti_instruction send[] = { send_of(1, 7, 0, &tile[0]), send_of(2, 7, 1, &tile[0]), send_of(3, 7, 2, &tile[0]),
                              send_of(4, 7, 3, &tile[0]) };
    send[1].as.transfer.planned = send[3].as.transfer.planned = true;
    ti_outbox o = { 0 };
    for (size_t i = 0; i < TI_COUNT(send); i++) {
        ti_outbox_add(&o, &send[i]);
    }
    ti_outbox_sort(&o);
    assert_int_equal(o.group.count, 2);
    for (size_t g = 0; g < 2; g++) {
        const ti_outbox_group *group = &o.group.data[g];
        const bool is_planned = ti_outbox_first(&o, group)->id == 2;
        assert_true(group->count == 2 && ti_outbox_is_broadcast(&o, group) == !is_planned);
        assert_int_equal(o.send.data[group->first + 1]->id, is_planned ? 4 : 3);
    }
    ti_outbox_fini(&o);
}

/* The sends of random versions become ready a few at a time: the counts say how many versions have several recipients,
 * and how many of these did not leave at once. */
static void counts(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int round = 0; round < 200; round++) {
        ti_instruction send[VERSIONS * MOST];
        uint64_t turn[VERSIONS * MOST] = { 0 }, id = 0, shared = 0, late = 0, turns = (uint64_t)rng_between(&r, 1, 6);
        for (uint64_t v = 1; v <= VERSIONS; v++) {
            uint64_t sends = (uint64_t)rng_between(&r, 1, MOST), first = 0;
            bool apart = false;
            for (uint32_t k = 0; k < sends; k++) {
                turn[id] = rng_between(&r, 0, 4) ? 0 : (uint64_t)rng_between(&r, 0, (int64_t)turns - 1);
                first = k ? first : turn[id];
                apart = apart || turn[id] != first;
                send[id] = send_of(id + 1, v, k, &tile[0]);
                id++;
            }
            shared += sends > 1;
            late += apart;
        }
        ti_outbox o = { 0 };
        for (uint64_t t = 0; t < turns; t++) {
            for (uint64_t i = 0; i < id; i++) {
                if (turn[i] == t) {
                    ti_outbox_add(&o, &send[i]);
                }
            }
            ti_outbox_sort(&o);
            ti_outbox_clear(&o);
        }
        assert_true(o.counts.shared == shared && o.counts.late == late);
        ti_outbox_fini(&o);
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(groups), cmocka_unit_test(planned), cmocka_unit_test(counts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
