/* The attendant: it looks if nobody else does, and not where others nap who will look by themselves. */
#include "run/attendant.h"

#include "random.h"

enum { LEAST = 25 };

typedef struct scene {
    ti_attendant attendant;
    ti_lot timed, told;
    _Atomic int asked, looked;
} scene;

/* Something is under way all the time. */
static bool is_needed(void *user)
{
    scene *s = user;
    atomic_fetch_add(&s->asked, 1);
    ti_lot_wake(&s->told, 1);
    return true;
}

static bool look(void *user)
{
    scene *s = user;
    atomic_fetch_add(&s->looked, 1);
    ti_lot_wake(&s->told, 1);
    return false;
}

static uint64_t looks_of_others(void *user)
{
    (void)user;
    return 0;
}

static void wait_until(scene *s, const _Atomic int *count, int enough)
{
    for (;;) {
        uint32_t ticket = ti_lot_ticket(&s->told);
        if (atomic_load(count) >= enough) {
            return;
        }
        ti_lot_sleep(&s->told, ticket, 600ull * 1000 * 1000 * 1000);
    }
}

static void it_looks_where_nobody_naps(void **state)
{
    (void)state;
    static _Alignas(TI_CACHE_LINE) scene s;
    s = (scene){ .timed = { .napping = 1 } };
    const ti_attendant_desc desc = {
        .is_needed = is_needed, .looks = looks_of_others, .timed = &s.timed, .look = look, .user = &s
    };
    assert_true(ti_attendant_start(&s.attendant, &desc));
    wait_until(&s, &s.asked, LEAST);
    assert_int_equal(atomic_load(&s.looked), 0);
    atomic_store(&s.timed.napping, 0);
    wait_until(&s, &s.looked, LEAST);
    ti_attendant_fini(&s.attendant);
}

/* Also at the time that is known: who naps is there first. */
static void it_leaves_what_is_due_to_who_naps(void **state)
{
    (void)state;
    static _Alignas(TI_CACHE_LINE) scene s;
    s = (scene){ .timed = { .napping = 1, .nap_ns = 1000, .due = 1 } };
    const ti_attendant_desc desc = {
        .is_needed = is_needed, .looks = looks_of_others, .timed = &s.timed, .look = look, .user = &s
    };
    assert_true(ti_attendant_start(&s.attendant, &desc));
    wait_until(&s, &s.asked, LEAST);
    assert_int_equal(atomic_load(&s.looked), 0);
    atomic_store(&s.timed.napping, 0);
    ti_attendant_wake(&s.attendant);
    wait_until(&s, &s.looked, LEAST);
    ti_attendant_fini(&s.attendant);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(it_looks_where_nobody_naps),
                                        cmocka_unit_test(it_leaves_what_is_due_to_who_naps) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
