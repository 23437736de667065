/* Handles: what is live, what is not any more, what never was; slots are used again, but not soon. */
#include "base/alloc.h"
#include "base/handle.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 5000, THREADS = 4 };

static void lives_until_it_is_freed(void **state)
{
    (void)state;
    char *a = ti_handle_new(TI_HANDLE_BUFFER), *b = ti_handle_new(TI_HANDLE_BUFFER);
    assert_ptr_not_equal(a, b);
    assert_int_equal((uintptr_t)a % 8, 0);
    for (int i = 0; i < TI_HANDLE_BYTES(TI_HANDLE_BUFFER); i++) {
        assert_int_equal(a[i], 0);
    }
    memset(a, 0xff, TI_HANDLE_BYTES(TI_HANDLE_BUFFER));
    assert_true(ti_handle_is_live(TI_HANDLE_BUFFER, a));
    assert_true(ti_handle_is_live(TI_HANDLE_BUFFER, b));
    assert_false(ti_handle_is_live(TI_HANDLE_TICKET, a)); /* of another kind */
    ti_handle_free(TI_HANDLE_BUFFER, a);
    assert_false(ti_handle_is_live(TI_HANDLE_BUFFER, a));
    assert_true(ti_handle_is_live(TI_HANDLE_BUFFER, b));
    ti_handle_free(TI_HANDLE_BUFFER, b);
}

/* An address that is used again stands for another object. */
static void objects_are_counted(void **state)
{
    (void)state;
    void *a = ti_handle_new(TI_HANDLE_TICKET), *b = ti_handle_new(TI_HANDLE_TICKET);
    uint64_t first = ti_handle_serial(TI_HANDLE_TICKET, a), last = ti_handle_serial(TI_HANDLE_TICKET, b);
    assert_true(first > 0);
    assert_int_equal(last, first + 1);
    ti_handle_free(TI_HANDLE_TICKET, b);
    assert_int_equal(ti_handle_serial(TI_HANDLE_TICKET, b), 0);
    for (void *again = NULL; again != b; ti_handle_free(TI_HANDLE_TICKET, again)) {
        again = ti_handle_new(TI_HANDLE_TICKET);
        assert_int_equal(ti_handle_serial(TI_HANDLE_TICKET, again), ++last);
    }
    assert_int_equal(ti_handle_serial(TI_HANDLE_TICKET, a), first);
    ti_handle_free(TI_HANDLE_TICKET, a);
}

static void garbage_is_no_handle(void **state)
{
    (void)state;
    char on_stack[64], *a = ti_handle_new(TI_HANDLE_BUFFER), *heap = malloc(1000);
    assert_false(ti_handle_is_live(TI_HANDLE_BUFFER, NULL));
    assert_false(ti_handle_is_live(TI_HANDLE_BUFFER, (void *)(uintptr_t)1));
    assert_false(ti_handle_is_live(TI_HANDLE_BUFFER, (void *)UINTPTR_MAX));
    assert_false(ti_handle_is_live(TI_HANDLE_BUFFER, on_stack));
    assert_false(ti_handle_is_live(TI_HANDLE_BUFFER, heap));
    for (ptrdiff_t i = 1; i < 512; i++) {
        assert_false(ti_handle_is_live(TI_HANDLE_BUFFER, a + i));
    }
    free(heap);
    ti_handle_free(TI_HANDLE_BUFFER, a);
}

/* A stale handle stays one while TI_HANDLE_REST others are freed; then memory is used again, so that it is bounded. */
static void slots_rest_before_they_are_used_again(void **state)
{
    (void)state;
    void *first = ti_handle_new(TI_HANDLE_OBJECT);
    ti_handle_free(TI_HANDLE_OBJECT, first);
    for (int i = 0; i < TI_HANDLE_REST; i++) {
        void *h = ti_handle_new(TI_HANDLE_OBJECT);
        assert_ptr_not_equal(h, first);
        assert_false(ti_handle_is_live(TI_HANDLE_OBJECT, first));
        ti_handle_free(TI_HANDLE_OBJECT, h);
    }
    uint64_t live = ti_alloc_live();
    bool used_again = false;
    for (int i = 0; i < MANY; i++) {
        void *h = ti_handle_new(TI_HANDLE_OBJECT);
        used_again |= h == first;
        ti_handle_free(TI_HANDLE_OBJECT, h);
    }
    assert_true(used_again);
    assert_int_equal(ti_alloc_live(), live);
}

static void many_at_once(void **state)
{
    (void)state;
    static void *handle[MANY];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            handle[i] = ti_handle_new(TI_HANDLE_TICKET);
            memcpy(handle[i], &i, sizeof(i));
        }
        for (int i = 0; i < MANY; i++) {
            assert_true(ti_handle_is_live(TI_HANDLE_TICKET, handle[i]));
            assert_memory_equal(handle[i], &i, sizeof(i));
        }
        for (int i = 0; i < MANY; i += 2) {
            ti_handle_free(TI_HANDLE_TICKET, handle[i]);
        }
        for (int i = 0; i < MANY; i++) {
            assert_int_equal(ti_handle_is_live(TI_HANDLE_TICKET, handle[i]), i % 2);
        }
        for (int i = 1; i < MANY; i += 2) {
            ti_handle_free(TI_HANDLE_TICKET, handle[i]);
        }
    }
}

static void *come_and_go(void *user)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t *mine = ti_handle_new(TI_HANDLE_CONTEXT), mark = i * THREADS + (uint64_t)(uintptr_t)user;
        *mine = mark;
        wrong += !ti_handle_is_live(TI_HANDLE_CONTEXT, mine) || *mine != mark;
        ti_handle_free(TI_HANDLE_CONTEXT, mine);
    }
    return (void *)(uintptr_t)wrong;
}

static void several_threads(void **state)
{
    (void)state;
    pthread_t id[THREADS];
    for (uintptr_t t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_create(&id[t], NULL, come_and_go, (void *)t), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        void *wrong;
        assert_int_equal(pthread_join(id[t], &wrong), 0);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives_until_it_is_freed),
        cmocka_unit_test(objects_are_counted),
        cmocka_unit_test(garbage_is_no_handle),
        cmocka_unit_test(slots_rest_before_they_are_used_again),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
