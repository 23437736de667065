/* Versions of what is sent, against the contents of every element.
 *
 * Each write gives its elements contents of their own. Boxes are sent between, often the same again. Two sends of one
 * box that have the same version must have carried the same. Where nothing was written between two sends of a box, and
 * nothing that meets it was sent, the second must have the version of the first and count it. */
#include "plan/track/sent.h"

#include "random.h"

#include <string.h>

enum { SIDE = 8, BOXES = 12, STEPS = 400 };

static uint64_t seed;
static uint64_t contents[SIDE][SIDE], writes;

/* What the box holds, in short: writes never come back. */
static uint64_t sum_of(const ti_box *b)
{
    uint64_t sum = 0;
    for (int64_t i = b->min[0]; i < b->max[0]; i++) {
        for (int64_t j = b->min[1]; j < b->max[1]; j++) {
            sum = sum * 1000003 + contents[i][j];
        }
    }
    return sum;
}

static void write_box(ti_sent *sent, const ti_box *b)
{
    writes++;
    for (int64_t i = b->min[0]; i < b->max[0]; i++) {
        for (int64_t j = b->min[1]; j < b->max[1]; j++) {
            contents[i][j] = writes;
        }
    }
    ti_sent_write(sent, b);
}

typedef struct known {
    ti_box box;
    uint64_t number, sum;
    uint32_t sends;
    bool untouched; /* since it was sent: neither written nor sent with anything that meets it */
} known;

static void forget(known *list, const ti_box *b, int but)
{
    for (int k = 0; k < BOXES; k++) {
        list[k].untouched &= k == but || !ti_box_meets(&list[k].box, b);
    }
}

static void send_box(ti_sent *sent, known *list, int at, uint64_t *newest)
{
    known *k = &list[at];
    uint64_t before = *newest, sum = sum_of(&k->box);
    ti_sent_version *v = ti_sent_add(sent, &k->box, newest);
    assert_true(v->number > 0 && v->number <= *newest && *newest <= before + 1);
    if (v->number == k->number) {
        assert_true(sum == k->sum);
    }
    if (k->untouched) {
        assert_true(v->number == k->number && v->again == k->sends && v->after == 1000 + (uint64_t)at);
    }
    if (v->again == 0) {
        assert_true(v->number == *newest && v->number > before && v->after == 0);
    }
    v->after = 1000 + (uint64_t)at;
    v->again++;
    *k = (known){ k->box, v->number, sum, v->again, true };
    forget(list, &k->box, at);
}

static void against_elements(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int round = 0; round < 50; round++) {
        ti_sent sent = { 0 };
        known list[BOXES] = { 0 };
        uint64_t newest = 0;
        int met = 0;
        memset(contents, 0, sizeof(contents));
        for (int k = 0; k < BOXES; k++) {
            list[k].box = rng_box(&r, 2, SIDE, 1, SIDE / 2);
        }
        for (int step = 0; step < STEPS; step++) {
            if (rng_between(&r, 0, 3) == 0) {
                ti_box b = rng_between(&r, 0, 1) ? list[rng_between(&r, 0, BOXES - 1)].box
                                                 : rng_box(&r, 2, SIDE, 1, SIDE / 2);
                write_box(&sent, &b);
                forget(list, &b, -1);
            } else {
                int at = (int)rng_between(&r, 0, BOXES - 1);
                met += list[at].untouched;
                send_box(&sent, list, at, &newest);
            }
        }
        assert_true(met > 0 && sent.map.count <= SIDE * SIDE);
        assert_true(sent.version.count == sent.map.count + sent.unused.count);
        ti_sent_fini(&sent);
    }
}

/* Of very many boxes all are forgotten at some time, and memory stays bounded. */
static void bounded(void **state)
{
    (void)state;
    ti_sent sent = { 0 };
    uint64_t newest = 0;
    for (int64_t i = 0; i < 3 * TI_SENT_BOXES; i++) {
        const ti_box b = { { i, 0, 0 }, { i + 1, 1, 1 } };
        assert_true(ti_sent_add(&sent, &b, &newest)->again++ == 0);
        assert_true(sent.map.count <= TI_SENT_BOXES && sent.version.count <= TI_SENT_BOXES);
    }
    assert_true(newest == 3 * TI_SENT_BOXES);
    const ti_box first = { { 0, 0, 0 }, { 1, 1, 1 } };
    assert_true(ti_sent_add(&sent, &first, &newest)->again == 0 && newest == 3 * TI_SENT_BOXES + 1);
    ti_sent_fini(&sent);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(against_elements), cmocka_unit_test(bounded) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
