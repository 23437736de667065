/* Trackers against a model that keeps the last writer and all readers of each element, with horizons applied in
 * between; and long loops, in which entries and records must stay few. */
#include "plan/command/peer_counters.h"
#include "plan/track/tracker.h"

#include "random.h"

#include <string.h>

static uint64_t seed;

enum { SIZE = 12, CELLS = SIZE * SIZE, MOST_READERS = 64, SPOTS = 6 };

typedef struct cell {
    uint64_t writer; /* 0: nobody */
    uint64_t reader[MOST_READERS];
    int readers;
} cell;

typedef struct model {
    cell cell[CELLS];
    uint64_t applied;
    uint64_t expected[CELLS * 4];
    size_t count;
    uint64_t allowed[CELLS]; /* writers that are waited for by way of their readers */
    size_t allowances;
    ti_tiles *tiles;
    struct {
        ti_box box;
        ti_tracker_found found;
    } spot[SPOTS];
    uint64_t found; /* spots whose entries were known */
} model;

static uint64_t as_of_now(const model *m, uint64_t id)
{
    return id && id < m->applied ? m->applied : id;
}

static void expect(model *m, uint64_t id, uint64_t self)
{
    id = as_of_now(m, id);
    for (size_t i = 0; i < m->count; i++) {
        if (m->expected[i] == id) {
            return;
        }
    }
    if (id && id != self) {
        m->expected[m->count++] = id;
    }
}

static void expect_all(model *m, const cell *c, uint64_t self)
{
    for (int i = 0; i < c->readers; i++) {
        expect(m, c->reader[i], self);
    }
    if (c->readers == 0) {
        expect(m, c->writer, self);
    } else if (c->writer) {
        m->allowed[m->allowances++ % CELLS] = as_of_now(m, c->writer);
    }
}

#define FOR_CELLS(m, box, c)                                                                                           \
    for (int64_t x_ = (box)->min[0]; x_ < (box)->max[0]; x_++)                                                         \
        for (int64_t y_ = (box)->min[1]; y_ < (box)->max[1]; y_++)                                                     \
            for (cell *c = &(m)->cell[x_ * SIZE + y_], *once_ = c; once_; once_ = NULL)

/* If nothing but the applied horizon has read an element, that horizon stands for its writer too: a new reader
 * follows both. */
static void fold(const model *m, cell *c)
{
    bool old = c->readers > 0;
    for (int i = 0; i < c->readers; i++) {
        old = old && c->reader[i] <= m->applied;
    }
    if (old) {
        c->writer = m->applied;
        c->readers = 0;
    }
}

static void model_read(model *m, const ti_box *box, uint64_t id)
{
    FOR_CELLS(m, box, c)
    {
        fold(m, c);
        expect(m, c->writer, id);
        if (c->writer && (c->readers == 0 || c->reader[c->readers - 1] != id)) {
            assert_true(c->readers < MOST_READERS);
            c->reader[c->readers++] = id;
        }
    }
}

static void model_write(model *m, const ti_box *box, uint64_t id)
{
    FOR_CELLS(m, box, c)
    {
        expect_all(m, c, id);
        *c = (cell){ .writer = id };
    }
}

/* Readers below the applied horizon are that horizon: keeps the model's lists short. */
static void model_apply(model *m, uint64_t horizon)
{
    m->applied = horizon;
    for (int i = 0; i < CELLS; i++) {
        cell *c = &m->cell[i];
        int kept = 0;
        c->writer = as_of_now(m, c->writer);
        for (int k = 0; k < c->readers; k++) {
            uint64_t id = as_of_now(m, c->reader[k]);
            if (kept == 0 || c->reader[kept - 1] != id) {
                c->reader[kept++] = id;
            }
        }
        c->readers = kept;
    }
}

static bool lists(const uint64_t *id, size_t count, uint64_t wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (id[i] == wanted) {
            return true;
        }
    }
    return false;
}

/* What is expected and nothing else, but perhaps writers that have readers, and the applied horizon where notes have
 * been forgotten. */
static void check_deps(const model *m, const ti_deps *deps)
{
    for (size_t i = 0; i < deps->ids.count; i++) {
        uint64_t id = deps->ids.data[i];
        assert_true(id == m->applied || lists(m->expected, m->count, id) ||
                    lists(m->allowed, TI_MIN(m->allowances, (size_t)CELLS), id));
        assert_false(lists(deps->ids.data, i, id));
    }
    for (size_t i = 0; i < m->count; i++) {
        assert_true(lists(deps->ids.data, deps->ids.count, m->expected[i]));
    }
}

static void check_written(model *m, ti_tracker *t, const ti_box *box)
{
    ti_box hole = { { 0 }, { 0 } };
    bool all = true;
    FOR_CELLS(m, box, c)
    {
        all = all && c->writer;
    }
    assert_int_equal(ti_tracker_is_written(t, box, &hole), all);
    if (!all) {
        assert_true(!ti_box_is_empty(&hole) && ti_box_covers(box, &hole));
        FOR_CELLS(m, &hole, c)
        {
            assert_int_equal(c->writer, 0);
        }
    }
}

/* Boxes that come again, and some that have numbers. */
static ti_box random_box(rng *r)
{
    enum { TILE = 4 };
    ti_box box = rng_box(r, 2, SIZE, 1, rng_between(r, 0, 2) ? 5 : SIZE);
    for (int d = 0; d < 2 && rng_between(r, 0, 3); d++) {
        box.min[d] = rng_between(r, 0, SIZE / TILE - 1) * TILE;
        box.max[d] = box.min[d] + TILE;
    }
    return box;
}

/* A box of few, whose entries are remembered. */
static void touch_spot(rng *r, model *m, ti_tracker *t, uint64_t id, ti_deps *deps)
{
    int64_t i = rng_between(r, 0, SPOTS - 1);
    if (ti_box_is_empty(&m->spot[i].box)) {
        m->spot[i].box = random_box(r);
    }
    const ti_box *box = &m->spot[i].box;
    m->found += m->spot[i].found.changes == t->changes + 1;
    if (rng_between(r, 0, 1)) {
        ti_tracker_read_found(t, box, &m->spot[i].found, id, deps);
        model_read(m, box, id);
    } else {
        ti_tracker_write_found(t, box, &m->spot[i].found, id, deps);
        model_write(m, box, id);
    }
}

static void one_operation(rng *r, model *m, ti_tracker *t, uint64_t id, ti_deps *deps)
{
    ti_box box = random_box(r), other = rng_box(r, 2, SIZE, 1, SIZE);
    uint32_t tile = rng_between(r, 0, 3) ? ti_tiles_number(&m->tiles, 2, &box) : 0;
    int64_t kind = rng_between(r, 0, 22);
    ti_deps_start(deps, id);
    m->count = m->allowances = 0;
    if (ti_tracker_knows_tile(t, tile)) {
        check_written(m, t, &box);
    }
    if (kind < 8 || (kind >= 17 && kind < 20)) {
        ti_tracker_read_tile(t, tile, &box, id, deps);
        model_read(m, &box, id);
    }
    if (kind >= 8 && kind < 18) {
        ti_tracker_write_tile(t, tile, &box, id, deps);
        model_write(m, &box, id);
    } else if (kind == 18) { /* read two boxes, then write one */
        ti_tracker_read(t, &other, id, deps);
        model_read(m, &other, id);
        ti_tracker_write(t, &other, id, deps);
        model_write(m, &other, id);
    } else if (kind == 19) {
        ti_tracker_uses(t, &other, deps);
        FOR_CELLS(m, &other, c)
        {
            expect_all(m, c, id);
        }
    } else if (kind >= 20) {
        touch_spot(r, m, t, id, deps);
    }
    check_deps(m, deps);
}

static ti_box_run random_run(rng *r)
{
    ti_box_run run = { .box = rng_box(r, 2, SIZE, 1, SIZE), .along = (int)rng_between(r, 0, 1), .count = 0 };
    run.border[0] = run.box.min[run.along];
    while (run.border[run.count] < run.box.max[run.along]) {
        int64_t end = run.border[run.count] + rng_between(r, 1, 3);
        run.border[++run.count] = TI_MIN(end, run.box.max[run.along]);
    }
    return run;
}

/* All ids of a run have the same dependencies. */
static void check_run(model *m, const ti_box_run *run, uint64_t id, bool write, const ti_deps *deps)
{
    for (uint32_t i = 0; i < run->count; i++) {
        ti_box box = ti_box_run_at(run, i);
        m->count = m->allowances = 0;
        (write ? model_write : model_read)(m, &box, id + i);
        check_deps(m, deps);
    }
}

/* A few ids from `id` on read the parts of a box. Returns how many. */
static uint64_t read_run(rng *r, model *m, ti_tracker *t, uint64_t id, ti_deps *deps)
{
    ti_box_run run = random_run(r);
    ti_deps_start(deps, id);
    if (!ti_tracker_read_run(t, &run, id, deps)) {
        return 0;
    }
    check_run(m, &run, id, false, deps);
    return run.count;
}

/* They write them, one by one if need be. Returns how many ids were used. */
static uint64_t write_run(const ti_box_run *run, model *m, ti_tracker *t, uint64_t id, ti_deps *deps, int *together)
{
    ti_deps_start(deps, id);
    if (ti_tracker_write_run(t, run, id, deps)) {
        check_run(m, run, id, true, deps);
        ++*together;
        return run->count;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        ti_box box = ti_box_run_at(run, i);
        ti_deps_start(deps, id + i);
        m->count = m->allowances = 0;
        ti_tracker_write(t, &box, id + i, deps);
        model_write(m, &box, id + i);
        check_deps(m, deps);
    }
    return run->count;
}

/* Messages bring what one reads at once, and then the next messages, while others look at parts of it. */
static void runs_written(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    int together = 0;
    for (int program = 0; program < 100; program++) {
        model m = { .applied = 0 };
        ti_era era = { .applied = 0 };
        ti_tracker t;
        ti_deps deps = { 0 };
        ti_box_run run = random_run(&r);
        uint64_t horizon = 0, id = 1;
        ti_tracker_init(&t, &era);
        for (int round = 0; round < 24; round++) {
            id += write_run(&run, &m, &t, id, &deps, &together);
            m.count = m.allowances = 0;
            ti_deps_start(&deps, id);
            ti_tracker_read(&t, &run.box, id, &deps);
            model_read(&m, &run.box, id++);
            check_deps(&m, &deps);
            if (rng_between(&r, 0, 5) == 0) {
                one_operation(&r, &m, &t, id++, &deps);
            }
            if (rng_between(&r, 0, 2) == 0) {
                if (horizon) {
                    ti_era_apply(&era, horizon);
                    model_apply(&m, horizon);
                }
                horizon = id++;
            }
            assert_true(ti_tracker_is_valid(&t));
        }
        ti_deps_fini(&deps);
        ti_tracker_fini(&t);
        ti_era_fini(&era);
        ti_tiles_destroy(m.tiles);
    }
    assert_true(together > 200);
}

static void against_model(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    uint64_t found = 0;
    for (int run = 0; run < 150; run++) {
        model m = { .applied = 0 };
        ti_era era = { .bound = (size_t)rng_between(&r, 0, 3) * (size_t)rng_between(&r, 1, 9),
                       .few = (size_t)rng_between(&r, 0, 3) * 3 };
        ti_tracker t, second;
        ti_deps deps = { 0 };
        uint64_t horizon = 0;
        ti_tracker_init(&t, &era);
        ti_tracker_init(&second, &era);
        for (uint64_t id = 1; id < 200; id++) {
            if (rng_between(&r, 0, 9) == 0) { /* a horizon: the one before it is applied */
                if (horizon) {
                    ti_era_apply(&era, horizon);
                    model_apply(&m, horizon);
                }
                horizon = id;
                continue;
            }
            for (uint64_t read = 1; read && rng_between(&r, 0, 3) == 0; id += read) {
                read = read_run(&r, &m, &t, id, &deps);
            }
            one_operation(&r, &m, &t, id, &deps);
            assert_true(ti_tracker_is_valid(&t));
            assert_int_equal(era.entries, t.map.count + second.map.count);
            ti_box look = rng_box(&r, 2, SIZE, 1, SIZE);
            check_written(&m, &t, &look);
        }
        found += m.found;
        ti_deps_fini(&deps);
        ti_tracker_fini(&t);
        ti_tracker_fini(&second);
        ti_era_fini(&era);
        ti_tiles_destroy(m.tiles);
    }
    assert_true(found > 20);
}

/* A tile is found by its number from the second time on, until it is cut or becomes a part of something else. */
static void tiles_by_number(void **state)
{
    (void)state;
    ti_tiles *tiles = NULL;
    ti_era era = { 0 };
    ti_tracker t;
    ti_deps deps = { 0 };
    const ti_box all = { { 0, 0, 0 }, { 12, 1, 1 } }, left = { { 0, 0, 0 }, { 4, 1, 1 } };
    const ti_box middle = { { 4, 0, 0 }, { 8, 1, 1 } }, across = { { 2, 0, 0 }, { 6, 1, 1 } };
    uint32_t a = ti_tiles_number(&tiles, 1, &left), b = ti_tiles_number(&tiles, 1, &middle);
    ti_tracker_init(&t, &era);
    ti_deps_start(&deps, 1);
    ti_tracker_write(&t, &all, 1, &deps);
    for (uint64_t id = 2; id < 6; id++) {
        ti_deps_start(&deps, id);
        ti_tracker_write_tile(&t, a, &left, id, &deps);
        ti_tracker_read_tile(&t, b, &middle, id, &deps);
        assert_int_equal(deps.ids.count, id == 2 ? 1 : 2);
        assert_int_equal(ti_tracker_knows_tile(&t, a), id > 2);
        assert_int_equal(ti_tracker_knows_tile(&t, b), id > 2);
    }
    assert_int_equal(t.map.count, 3);
    assert_false(ti_tracker_knows_tile(&t, 0));
    ti_deps_start(&deps, 6);
    ti_tracker_write(&t, &across, 6, &deps); /* after 5, which wrote the left and has read the middle as those before */
    assert_int_equal(deps.ids.count, 4);
    assert_false(ti_tracker_knows_tile(&t, a) || ti_tracker_knows_tile(&t, b));
    assert_true(ti_tracker_is_valid(&t));
    ti_deps_start(&deps, 7);
    ti_tracker_write_tile(&t, a, &left, 7, &deps);
    assert_int_equal(deps.ids.count, 2); /* 5 and 6 */
    ti_deps_start(&deps, 8);
    ti_tracker_write_tile(&t, a, &left, 8, &deps);
    assert_int_equal(deps.ids.count, 1);
    assert_true(ti_tracker_knows_tile(&t, a));
    ti_deps_fini(&deps);
    ti_tracker_fini(&t);
    ti_era_fini(&era);
    ti_tiles_destroy(tiles);
}

/* A horizon that came between two readers, with the writer before both: a writer waits for the first reader too. */
static void readers_on_both_sides(void **state)
{
    (void)state;
    ti_box box = { { 0, 0, 0 }, { 8, 1, 1 } };
    ti_era era = { 0 };
    ti_tracker t;
    ti_deps deps = { 0 };
    ti_tracker_init(&t, &era);
    ti_deps_start(&deps, 1);
    ti_tracker_write(&t, &box, 1, &deps);
    ti_tracker_read(&t, &box, 2, &deps);
    /* 3 is a horizon, not applied yet */
    ti_tracker_read(&t, &box, 4, &deps);
    ti_era_apply(&era, 3);
    ti_tracker_read(&t, &box, 6, &deps);
    ti_deps_start(&deps, 7);
    ti_tracker_write(&t, &box, 7, &deps);
    assert_int_equal(deps.ids.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(deps.ids.data[i] == 3 || deps.ids.data[i] == 4 || deps.ids.data[i] == 6);
    }
    ti_deps_fini(&deps);
    ti_tracker_fini(&t);
    ti_era_fini(&era);
}

/* A reader that waits for a writer that a horizon has passed, instead of the horizon: whoever writes then waits for the
 * horizon besides it, since readers before that have been forgotten. */
static void readers_before_a_horizon(void **state)
{
    (void)state;
    ti_box box = { { 0, 0, 0 }, { 8, 1, 1 } };
    for (int early = 0; early < 2; early++) {
        ti_era era = { 0 };
        ti_tracker t;
        ti_deps deps = { 0 };
        ti_tracker_init(&t, &era);
        ti_deps_start(&deps, 1);
        ti_tracker_write(&t, &box, 1, &deps);
        ti_tracker_read(&t, &box, 2, &deps);
        ti_era_apply(&era, 3);
        ti_deps_start(&deps, 4);
        ti_tracker_read(&t, &box, 4, &deps);
        assert_true(deps.ids.count == 1 && deps.ids.data[0] == 3);
        if (early) {
            ti_tracker_note_early(&t, 4);
        }
        ti_deps_start(&deps, 5);
        ti_tracker_write(&t, &box, 5, &deps);
        assert_int_equal(deps.ids.count, early ? 2 : 1);
        assert_true(deps.ids.data[0] + (early ? deps.ids.data[1] : 3) == 7);
        ti_deps_fini(&deps);
        ti_tracker_fini(&t);
        ti_era_fini(&era);
    }
}

typedef struct loop {
    ti_era era;
    ti_tracker tracker;
    ti_deps deps;
    uint64_t id, horizon;
    size_t most_entries, most_records;
} loop;

/* With a bound of `bound` entries; 0: the usual one. */
static void loop_init(loop *l, size_t bound)
{
    memset(l, 0, sizeof(*l));
    l->era.bound = bound;
    ti_tracker_init(&l->tracker, &l->era);
}

static void loop_fini(loop *l)
{
    ti_tracker_fini(&l->tracker);
    ti_era_fini(&l->era);
    ti_deps_fini(&l->deps);
}

static void loop_touch(loop *l, ti_box box, bool write)
{
    ti_deps_start(&l->deps, l->id);
    if (write) {
        ti_tracker_write(&l->tracker, &box, l->id, &l->deps);
    } else {
        ti_tracker_read(&l->tracker, &box, l->id, &l->deps);
    }
}

static void loop_next(loop *l, int every)
{
    if (++l->id % (uint64_t)every == 0) {
        ti_era_apply(&l->era, l->horizon);
        l->horizon = l->id++;
    }
    l->most_entries = TI_MAX(l->most_entries, l->tracker.map.count);
    l->most_records = TI_MAX(l->most_records, l->tracker.record.count);
}

static ti_box slab(int64_t a, int64_t b)
{
    return (ti_box){ { a, 0, 0 }, { b, 4, 1 } };
}

/* A buffer into which every step appends a slab, read as a whole: old slabs become one entry. */
static void growing(void **state)
{
    (void)state;
    loop l;
    loop_init(&l, 0);
    l.id = 1;
    for (int64_t i = 0; i < 20000; i++) {
        if (i > 0) {
            loop_touch(&l, slab(0, i), false);
        }
        loop_touch(&l, slab(i, i + 1), true);
        loop_next(&l, 10);
    }
    assert_true(l.most_entries < 60 && l.most_records < 200);
    loop_fini(&l);
}

/* Parts that were used by themselves since they were written stay apart when all is written; others become one entry
 * again. */
static void parts(void **state)
{
    (void)state;
    loop l;
    loop_init(&l, 0);
    l.id = 1;
    loop_touch(&l, slab(0, 100), true);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 10; i++) {
            loop_next(&l, 1000);
            loop_touch(&l, slab(i * 10, i * 10 + 10), false);
        }
        loop_next(&l, 1000);
        loop_touch(&l, slab(0, 100), false);
        loop_next(&l, 1000);
        loop_touch(&l, slab(0, 100), true);
        assert_int_equal(l.deps.ids.count, 11);
        assert_int_equal(l.tracker.map.count, 10);
    }
    loop_next(&l, 1000);
    loop_touch(&l, slab(0, 100), true);
    assert_int_equal(l.deps.ids.count, 1);
    assert_int_equal(l.tracker.map.count, 1);
    loop_fini(&l);
}

/* Windows that slide over a buffer, written in part and read in part; and tiles written in turn. */
static void sliding(void **state)
{
    (void)state;
    loop l;
    loop_init(&l, 60);
    l.id = 1;
    loop_touch(&l, slab(0, 1000), true);
    for (int64_t i = 0; i < 20000; i++) {
        loop_touch(&l, slab(i * 3 % 900, i * 3 % 900 + 64), true);
        loop_touch(&l, slab(i * 7 % 900, i * 7 % 900 + 30), false);
        loop_next(&l, 10);
    }
    assert_true(l.most_entries < 160 && l.most_records < 300);
    loop_fini(&l);
    loop_init(&l, 60);
    l.id = 1;
    for (int64_t i = 0; i < 20000; i++) {
        ti_box tile = { { i % 16 * 4, i / 16 % 16 * 4, 0 }, { i % 16 * 4 + 4, i / 16 % 16 * 4 + 4, 1 } };
        loop_touch(&l, tile, i % 3 != 0);
        loop_next(&l, 10);
    }
    assert_true(l.most_entries < 256 && l.most_records < 600);
    loop_fini(&l);
}

/* Single elements, one after the other or anywhere: few enough stay as they are, so that nothing is cut again; of
 * more, those below the horizon are merged as others are added. */
static void elements(void **state)
{
    (void)state;
    enum { WINDOW = 20, ROUNDS = 30000 };
    rng r = rng_from(seed);
    for (int jump = 0; jump < 2; jump++) {
        for (int64_t n = 100; n <= 1600; n *= 4) {
            loop l;
            loop_init(&l, 400);
            l.id = 1;
            loop_touch(&l, (ti_box){ { 0, 0, 0 }, { n, 1, 1 } }, true);
            for (int64_t i = 0; i < ROUNDS; i++) {
                int64_t at = jump ? rng_between(&r, 0, n - 1) : i % n;
                loop_touch(&l, (ti_box){ { at, 0, 0 }, { at + 1, 1, 1 } }, true);
                loop_next(&l, WINDOW);
                assert_int_equal(l.era.entries, l.tracker.map.count);
            }
            assert_true(n > 400 || l.tracker.map.count == (size_t)n);
            assert_true(l.most_entries <= 2 * 400);
            loop_fini(&l);
        }
    }
}

/* Entries that are cut and made whole again in every step, next to others that stay. */
static void cut_and_healed(void **state)
{
    (void)state;
    loop l;
    loop_init(&l, 0);
    l.id = 1;
    for (int64_t i = 0; i < 20; i++) {
        loop_touch(&l, slab(100 + 2 * i, 101 + 2 * i), true);
    }
    for (int64_t i = 0; i < 20000; i++) {
        loop_touch(&l, slab(0, 10), true);
        loop_touch(&l, slab(0, 5), false);
        loop_next(&l, 10);
    }
    assert_true(l.most_entries < 30 && l.most_records < 30);
    loop_fini(&l);
}

/* Long lists of dependencies have no repetitions, in any round, and keep the order in which they were added. */
static void many_dependencies(void **state)
{
    (void)state;
    ti_deps deps = { .self = 0 };
    rng r = rng_from(seed);
    for (uint64_t round = 0; round < 60; round++) {
        uint64_t n = (uint64_t)rng_between(&r, 0, round < 50 ? 100 : 3000), wanted = 0;
        ti_deps_start(&deps, 7);
        for (uint64_t i = 1; i <= n; i++) {
            ti_deps_add(&deps, i * 3);
            ti_deps_add(&deps, (uint64_t)rng_between(&r, 1, (int64_t)i) * 3);
            ti_deps_add(&deps, i % 2 ? 7 : 0);
        }
        assert_int_equal(deps.ids.count, n);
        for (size_t i = 0; i < deps.ids.count; i++) {
            wanted += 3;
            assert_int_equal(deps.ids.data[i], wanted);
        }
    }
    ti_deps_fini(&deps);
}

/* Runs of ascending ids, some of which come again, against a table of what was added. */
static void dependencies_in_runs(void **state)
{
    (void)state;
    enum { MOST = 4000 };
    static bool has[MOST];
    ti_deps deps = { .self = 0 };
    rng r = rng_from(seed + 1);
    for (int round = 0; round < 300; round++) {
        size_t count = 0;
        memset(has, 0, sizeof(has));
        ti_deps_start(&deps, MOST);
        for (int64_t run = rng_between(&r, 1, 5); run > 0; run--) {
            int64_t id = rng_between(&r, 1, MOST - 1), step = rng_between(&r, 1, 5);
            for (int64_t n = rng_between(&r, 1, 200); n > 0 && id < MOST; n--, id += step) {
                count += !has[id];
                has[id] = true;
                ti_deps_add(&deps, (uint64_t)id);
                assert_int_equal(deps.ids.count, count);
            }
        }
        for (size_t i = 0; i < count; i++) {
            assert_true(has[deps.ids.data[i]]);
            has[deps.ids.data[i]] = false; /* so that none is there twice */
        }
    }
    ti_deps_fini(&deps);
}

/* Many ids that read the same box at once are found by who writes it next, like those that read one by one. */
static void reading_again(void **state)
{
    (void)state;
    ti_era era = { 0 };
    ti_tracker t;
    ti_deps deps = { .self = 0 };
    ti_box left = { { 0, 0, 0 }, { 4, 1, 1 } }, all = { { 0, 0, 0 }, { 8, 1, 1 } },
           middle = { { 2, 0, 0 }, { 6, 1, 1 } };
    ti_tracker_init(&t, &era);
    ti_deps_start(&deps, 1);
    ti_tracker_write(&t, &left, 1, &deps);
    ti_deps_start(&deps, 2);
    ti_tracker_write(&t, &all, 2, &deps);
    ti_tracker_write(&t, &left, 3, &deps);
    ti_deps_start(&deps, 4);
    ti_tracker_read(&t, &middle, 4, &deps);
    assert_int_equal(deps.ids.count, 2);
    ti_tracker_read_again(&t, &middle, 5, 100);
    assert_true(ti_tracker_is_valid(&t));
    ti_deps_start(&deps, 105);
    ti_tracker_write(&t, &middle, 105, &deps);
    assert_int_equal(deps.ids.count, 101);
    for (size_t i = 0; i < deps.ids.count; i++) {
        assert_int_equal(deps.ids.data[i], 4 + i);
    }
    ti_deps_start(&deps, 106);
    ti_tracker_write(&t, &all, 106, &deps);
    assert_int_equal(deps.ids.count, 3); /* 2, 3 and 105 */
    ti_tracker_fini(&t);
    ti_era_fini(&era);
    ti_deps_fini(&deps);
}

/* A peer's messages are numbered 0, 1, ... while few peers are met and when they are many. */
static void peers_counted(void **state)
{
    (void)state;
    enum { NODES = 100 };
    uint64_t wanted[NODES] = { 0 };
    ti_peer_counters counters = { 0 };
    rng r = rng_from(seed + 2);
    for (int i = 0; i < 2000; i++) {
        int peer = (int)rng_between(&r, 0, i < 50 ? 5 : NODES - 1);
        assert_int_equal(ti_peer_count(&counters, peer, NODES), wanted[peer]++);
        assert_true(i >= 50 || !counters.many);
    }
    assert_non_null(counters.many);
    ti_peer_counters_fini(&counters);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_model),
        cmocka_unit_test(tiles_by_number),
        cmocka_unit_test(runs_written),
        cmocka_unit_test(readers_on_both_sides),
        cmocka_unit_test(readers_before_a_horizon),
        cmocka_unit_test(growing),
        cmocka_unit_test(parts),
        cmocka_unit_test(sliding),
        cmocka_unit_test(cut_and_healed),
        cmocka_unit_test(elements),
        cmocka_unit_test(many_dependencies),
        cmocka_unit_test(dependencies_in_runs),
        cmocka_unit_test(reading_again),
        cmocka_unit_test(peers_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
