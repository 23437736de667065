/* The channel: order, capacity, and two threads that pass items: each arrives once, in order, with its contents. */
#include "base/ring.h"

#include "effort.h"
#include "random.h"

#include <pthread.h>
#include <sched.h>

enum { ITEMS = EFFORT(100000, 25000), CELLS = 2048 };

static void fills_and_empties(void **state)
{
    (void)state;
    ti_ring ring;
    int item[8];
    ti_ring_init(&ring, 8);
    assert_true(ti_ring_is_empty(&ring));
    assert_null(ti_ring_pop(&ring));
    for (int lap = 0; lap < 5; lap++) {
        for (int i = 0; i < 8; i++) {
            assert_true(ti_ring_space(&ring) > 0);
            assert_true(ti_ring_push(&ring, &item[i]));
        }
        assert_int_equal(ti_ring_space(&ring), 0);
        assert_false(ti_ring_push(&ring, &item[0]));
        for (int i = 0; i < 3; i++) {
            assert_ptr_equal(ti_ring_pop(&ring), &item[i]);
        }
        assert_int_equal(ti_ring_space(&ring), 3);
        for (int i = 3; i < 8; i++) {
            assert_ptr_equal(ti_ring_pop(&ring), &item[i]);
        }
        assert_null(ti_ring_pop(&ring));
        assert_true(ti_ring_is_empty(&ring));
    }
    ti_ring_fini(&ring);
    assert_int_equal(ti_alloc_live(), 0);
}

/* Cells are plain memory: only the ring orders the producer's writes before the consumer's reads, and the consumer's
 * reads before the cell is written again. */
typedef struct stream {
    ti_ring there, back;
    uint64_t cell[CELLS];
} stream;

static void *produce(void *arg)
{
    stream *s = arg;
    size_t fresh = 0;
    for (uint64_t i = 0; i < ITEMS; i++) {
        uint64_t *cell = fresh < CELLS ? &s->cell[fresh++] : NULL;
        while (!cell) {
            cell = ti_ring_pop(&s->back);
            if (!cell) {
                sched_yield();
            }
        }
        *cell = i * i;
        while (!ti_ring_push(&s->there, cell)) {
            sched_yield();
        }
    }
    return NULL;
}

static void two_threads(void **state)
{
    (void)state;
    for (size_t capacity = 1; capacity <= 4096; capacity *= 16) {
        stream *s = calloc(1, sizeof(*s) + 2 * TI_CACHE_LINE);
        stream *aligned = (stream *)TI_ALIGN_UP((uintptr_t)s, (uintptr_t)TI_CACHE_LINE);
        ti_ring_init(&aligned->there, capacity);
        ti_ring_init(&aligned->back, 4096);
        pthread_t producer;
        assert_int_equal(pthread_create(&producer, NULL, produce, aligned), 0);
        for (uint64_t i = 0; i < ITEMS;) {
            uint64_t *cell = ti_ring_pop(&aligned->there);
            if (!cell) {
                sched_yield();
                continue;
            }
            assert_int_equal(*cell, i * i);
            assert_true(ti_ring_push(&aligned->back, cell));
            i++;
        }
        assert_int_equal(pthread_join(producer, NULL), 0);
        assert_null(ti_ring_pop(&aligned->there));
        ti_ring_fini(&aligned->there);
        ti_ring_fini(&aligned->back);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(fills_and_empties), cmocka_unit_test(two_threads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
