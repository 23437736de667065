/* Copies as values: sets of nodes against an array of flags, and readers, of which the oldest is forgotten at last. */
#include "plan/holder/copies.h"

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

#include "random.h"

enum { NODES = 70, SETS = 40 };

static bool model_have(const bool *in, int a, int b, ti_node_range more)
{
    bool all = true;
    for (int i = a; i < b; i++) {
        all = all && (in[i] || (more.a <= i && i < more.b));
    }
    return all;
}

static void check_set(rng *r, const ti_copies *c, const bool *in)
{
    int members = 0, intervals = 0;
    for (int i = 0; i < NODES; i++) {
        members += in[i];
        intervals += in[i] && (i == 0 || !in[i - 1]);
        assert_int_equal(ti_copies_have(c, (ti_node_range){ i, i + 1 }, (ti_node_range){ 0, 0 }), in[i]);
    }
    assert_int_equal(c ? c->nodes.count : 0, intervals);
    assert_int_equal(ti_copies_count(c, (ti_node_range){ 0, NODES }), members);
    for (int k = 0; k < 20; k++) {
        int a = (int)rng_between(r, 0, NODES - 1), b = (int)rng_between(r, a + 1, NODES);
        int x = (int)rng_between(r, 0, NODES - 1), y = (int)rng_between(r, x, NODES);
        ti_node_range more = { x, y };
        assert_int_equal(ti_copies_have(c, (ti_node_range){ a, b }, more), model_have(in, a, b, more));
    }
}

/* Several sets at once; those that are equal are one. */
static void sets_of_nodes(void **state)
{
    (void)state;
    static bool in[SETS][NODES];
    ti_copies *set[SETS] = { NULL };
    ti_copies_cache cache;
    ti_copies_cache_init(&cache);
    rng r = rng_from(7);
    for (int step = 0; step < 6000; step++) {
        int s = (int)rng_between(&r, 0, SETS - 1), a = (int)rng_between(&r, 0, NODES - 1);
        int b = rng_between(&r, 0, 3) ? a + 1 : (int)rng_between(&r, a + 1, NODES);
        bool add = rng_between(&r, 0, 2) > 0;
        ti_node_range range = { a, b };
        ti_copies *next = (add ? ti_copies_add_nodes : ti_copies_drop_nodes)(&cache, set[s], range);
        ti_copies_ref(next);
        ti_copies_unref(set[s]);
        set[s] = next;
        memset(&in[s][a], add, (size_t)(b - a));
        check_set(&r, set[s], in[s]);
        for (int k = 0; k < SETS; k++) {
            assert_int_equal(set[k] == set[s], memcmp(in[k], in[s], sizeof(in[s])) == 0);
        }
    }
    for (int s = 0; s < SETS; s++) {
        ti_copies_unref(set[s]);
    }
    ti_copies_cache_fini(&cache);
}

/* Many nodes at once make the same value as one after the other, whatever the order, and if some come twice. */
static void lists_of_nodes(void **state)
{
    enum { MOST = 14 };
    (void)state;
    ti_copies_cache cache;
    ti_copies_cache_init(&cache);
    rng r = rng_from(11);
    for (int round = 0; round < 400; round++) {
        ti_copies *one = NULL, *all = NULL;
        for (int step = 0; step < 6; step++) {
            int32_t node[MOST];
            size_t count = (size_t)rng_between(&r, 1, MOST);
            for (size_t i = 0; i < count; i++) {
                node[i] = (int32_t)rng_between(&r, 0, NODES - 1);
                ti_copies *next = ti_copies_add_nodes(&cache, one, (ti_node_range){ node[i], node[i] + 1 });
                ti_copies_ref(next);
                ti_copies_unref(one);
                one = next;
            }
            ti_copies *next = ti_copies_add_each(&cache, all, node, count);
            ti_copies_ref(next);
            ti_copies_unref(all);
            all = next;
            assert_ptr_equal(one, all);
        }
        ti_copies_unref(one);
        ti_copies_unref(all);
    }
    ti_copies_cache_fini(&cache);
}

/* ---- readers */

typedef struct world {
    ti_buffer_info buffer;
    ti_split_cache splits;
    ti_holder_cache holders;
    ti_copies_cache copies;
    uint64_t evaluated;
} world;

static void world_init(world *w)
{
    *w = (world){ .buffer = { .dims = 1, .extent = { { 0, 0, 0 }, { 4096, 1, 1 } }, .name = "b", .elem_size = 1 } };
    ti_split_cache_init(&w->splits, 0);
    ti_holder_cache_init(&w->holders, &w->evaluated);
    ti_copies_cache_init(&w->copies);
}

static void world_fini(world *w)
{
    ti_copies_cache_fini(&w->copies);
    ti_holder_cache_fini(&w->holders);
    ti_split_cache_fini(&w->splits);
}

/* What nodes read that see `lo` below and `hi` above; place -1: all of them. */
static ti_holder *reader(world *w, int64_t lo, int64_t hi, int place)
{
    ti_split_request request = {
        .range = w->buffer.extent, .gran = { 1, 1, 1 }, .nodes = 16, .place = place, .oversubscribe = 1
    };
    tacit_mapper from = tacit_components(tacit_dim_scaled(0, 1, 1, lo, hi), tacit_full(), tacit_full());
    ti_mapper mapper[TI_MAPPER_PARTS];
    ti_mapper_expand(&from, 1, mapper);
    ti_access access = { .buffer = &w->buffer, .mapper = mapper, .mappers = 1 };
    return ti_holder_ref(ti_holder_get(&w->holders, &access, 0, ti_split_cache_get(&w->splits, &request)));
}

static ti_copies *replace(ti_copies *old, ti_copies *fresh)
{
    ti_copies_ref(fresh);
    ti_copies_unref(old);
    return fresh;
}

static void the_oldest_reader_is_forgotten(void **state)
{
    (void)state;
    world w;
    world_init(&w);
    ti_copies *c = NULL;
    for (int i = 0; i <= TI_COPIES_READERS; i++) { /* none covers another */
        c = replace(c, ti_copies_add_reader(&w.copies, c, reader(&w, i, TI_COPIES_READERS - i, -1)));
        assert_int_equal(w.copies.forgotten, i == TI_COPIES_READERS);
    }
    assert_int_equal(ti_copies_readers(c), TI_COPIES_READERS);
    assert_int_equal(c->reader.data[0]->mapper.c[0].lo, 1);
    /* One that covers all of them, and then one that it covers. */
    c = replace(c, ti_copies_add_reader(&w.copies, c, reader(&w, 40, 40, -1)));
    assert_int_equal(ti_copies_readers(c), 1);
    assert_ptr_equal(ti_copies_add_reader(&w.copies, c, reader(&w, 3, 3, -1)), c);
    /* Nodes of which all hold everything need no reader; and dropped nodes take theirs along. */
    c = replace(c, ti_copies_add_reader(&w.copies, c, reader(&w, -100, 200, 5)));
    assert_int_equal(ti_copies_readers(c), 2);
    c = replace(c, ti_copies_add_nodes(&w.copies, c, (ti_node_range){ 5, 6 }));
    assert_int_equal(ti_copies_readers(c), 1);
    assert_null(ti_copies_drop_nodes(&w.copies, c, (ti_node_range){ 0, 16 }));
    c = replace(c, NULL);
    world_fini(&w);
}

static void cuts_drop_readers_that_miss_the_rest(void **state)
{
    (void)state;
    world w;
    world_init(&w);
    ti_copies *c = NULL;
    c = replace(c, ti_copies_add_nodes(&w.copies, c, (ti_node_range){ 2, 4 }));
    c = replace(c, ti_copies_add_reader(&w.copies, c, reader(&w, -4000, 4096, -1))); /* [4000,4096) */
    const ti_box low = { { 0, 0, 0 }, { 4000, 1, 1 } }, high = { { 3999, 0, 0 }, { 4096, 1, 1 } };
    assert_ptr_equal(ti_copies_cut(&w.copies, c, &high), c);
    ti_copies *rest = ti_copies_cut(&w.copies, c, &low);
    assert_int_equal(ti_copies_readers(rest), 0);
    assert_int_equal(ti_copies_count(rest, (ti_node_range){ 0, 16 }), 2);
    c = replace(c, NULL);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_of_nodes),
        cmocka_unit_test(lists_of_nodes),
        cmocka_unit_test(the_oldest_reader_is_forgotten),
        cmocka_unit_test(cuts_drop_readers_that_miss_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
