/* The ready engine against a model that looks at everything each time.
 *
 * Random instructions with random dependencies are submitted, started and completed in random order. After every step
 * the model says which instructions may start: kernels must leave by priority, then by id; all others in the order in
 * which they became ready; a horizon or epoch only when everything before it is complete, and whatever comes after it
 * does not wait for it unless it says so. Now and then the oldest instruction that waits for a started one is started
 * before that has ended: they are a chain. Another model has accelerators, which start operations behind others. */
#include "random.h"

#include "exec/engine.h"

enum { MAX_DEPS = 6, MAX_INSTRUCTIONS = 20000 };

typedef struct entry {
    ti_instruction instruction;
    uint64_t dep[MAX_DEPS];
    bool submitted, issued, complete;
    bool followed;     /* one that waited for it was started early */
    uint64_t chain;    /* the first instruction of its chain; 0: it was not started */
    uint64_t ready_at; /* the event that made it ready; 0: not ready */
} entry;

typedef struct model {
    ti_engine engine;
    entry *entry; /* by id */
    uint64_t submitted, started, completed, events;
    uint64_t lowest; /* incomplete id, or the next one */
    rng random;
} model;

static void setup_model(model *m, uint64_t from)
{
    *m = (model){ .random = rng_from(from), .lowest = 1 };
    m->entry = calloc(MAX_INSTRUCTIONS + 2, sizeof(entry));
    ti_engine_init(&m->engine, 1);
    m->engine.collective_hosts_wait = from % 2;
}

static void teardown_model(model *m)
{
    ti_engine_fini(&m->engine);
    free(m->entry);
}

static bool leaves_by_priority(const entry *e)
{
    return e->instruction.kind == TI_INSTRUCTION_KERNEL || e->instruction.kind == TI_INSTRUCTION_HOST;
}

static uint64_t lowest_incomplete(model *m)
{
    while (m->lowest <= m->submitted && m->entry[m->lowest].complete) {
        m->lowest++;
    }
    return m->lowest;
}

static bool may_start(const model *m, uint64_t id, uint64_t watermark)
{
    const entry *e = &m->entry[id];
    if (!e->submitted || e->issued) {
        return false;
    }
    if (e->instruction.kind == TI_INSTRUCTION_EPOCH ||
        (e->instruction.kind == TI_INSTRUCTION_COLLECTIVE_HOST && m->engine.collective_hosts_wait)) {
        return watermark == id;
    }
    for (uint32_t i = 0; i < e->instruction.deps; i++) {
        if (!m->entry[e->dep[i]].complete) {
            return false;
        }
    }
    return true;
}

static bool is_valid(const ti_engine *e)
{
    bool valid = e->watermark <= e->next && e->next - e->watermark <= e->capacity;
    for (uint64_t id = e->watermark; id < e->next && valid; id++) {
        const ti_engine_slot *slot = ti_engine_slot_of(e, id);
        valid = slot->instruction->id == id && (!slot->issued || slot->pending == 0 || slot->is_behind) &&
                (!slot->complete || slot->issued);
    }
    for (int d = 0; d < e->devices; d++) {
        for (size_t i = 1; i < e->kernels[d].count && valid; i++) {
            valid = e->kernels[d].data[(i - 1) / 2] < e->kernels[d].data[i];
        }
    }
    return valid && (e->watermark == e->next || !ti_engine_slot_of(e, e->watermark)->complete);
}

/* Note what the last event made ready. Only instructions from the lowest incomplete one on can have changed. */
static void update(model *m)
{
    m->events++;
    uint64_t watermark = lowest_incomplete(m);
    for (uint64_t id = watermark; id <= m->submitted; id++) {
        if (!m->entry[id].ready_at && may_start(m, id, watermark)) {
            m->entry[id].ready_at = m->events;
        }
    }
    assert_int_equal(m->engine.watermark, watermark);
    assert_int_equal(ti_engine_incomplete(&m->engine), m->submitted + 1 - watermark);
    assert_true(is_valid(&m->engine));
}

static bool waits_for_all(const model *m, const entry *e)
{
    return e->instruction.kind == TI_INSTRUCTION_EPOCH ||
           (e->instruction.kind == TI_INSTRUCTION_COLLECTIVE_HOST && m->engine.collective_hosts_wait);
}

/* How often it names something that is not complete, and the last of these. */
static int count_waits(const model *m, const entry *e, uint64_t *last)
{
    int count = 0;
    *last = 0;
    for (uint32_t i = 0; i < e->instruction.deps && !waits_for_all(m, e); i++) {
        if (!m->entry[e->dep[i]].complete) {
            count++;
            *last = TI_MAX(*last, e->dep[i]);
        }
    }
    return count;
}

/* ---- chains */

static bool is_local_point(const entry *e)
{
    return e->instruction.kind == TI_INSTRUCTION_EPOCH && !e->instruction.as.epoch.barrier;
}

/* Whether it ends with the chain at the latest, as far as that was started. */
static bool ends_with(const model *m, uint64_t id, uint64_t chain)
{
    const entry *e = &m->entry[id];
    bool ends = e->complete || e->chain == chain || is_local_point(e);
    for (uint64_t before = m->lowest; ends && !e->complete && is_local_point(e) && before < id; before++) {
        const entry *b = &m->entry[before];
        ends = b->complete || b->chain == chain || is_local_point(b);
    }
    return ends;
}

static bool names(const entry *e, uint64_t id)
{
    bool does = false;
    for (uint32_t i = 0; i < e->instruction.deps; i++) {
        does |= e->dep[i] == id;
    }
    return does;
}

/* 0: there is none. */
static uint64_t find_follower(const model *m, uint64_t id)
{
    const entry *before = &m->entry[id];
    uint64_t next = id + 1;
    while (next <= m->submitted && (waits_for_all(m, &m->entry[next]) || !names(&m->entry[next], id))) {
        next++;
    }
    bool can = next <= m->submitted && before->issued && !before->complete && !before->followed;
    for (uint32_t i = 0; can && i < m->entry[next].instruction.deps; i++) {
        can = ends_with(m, m->entry[next].dep[i], before->chain);
    }
    return can && !m->entry[next].issued ? next : 0;
}

/* Whether one that is not of the chain may wait for this one at last. */
static bool find_others(const model *m, uint64_t id)
{
    bool any = false;
    const uint64_t chain = m->entry[id].chain;
    for (uint64_t next = id + 1; next <= m->submitted; next++) {
        const entry *e = &m->entry[next];
        bool waits = !waits_for_all(m, e) && names(e, id) && e->chain != chain;
        for (uint32_t i = 0; i < e->instruction.deps; i++) {
            const entry *other = &m->entry[e->dep[i]];
            waits = waits && !(e->dep[i] > id && other->chain == chain && !other->complete);
        }
        any |= waits;
    }
    return any;
}

/* Of a started instruction that is not complete, and what waits for that, and so on. */
static void start_early(model *m)
{
    uint64_t id = (uint64_t)rng_between(&m->random, (int64_t)m->lowest, (int64_t)TI_MAX(m->lowest, m->submitted));
    while (id && id <= m->submitted && m->entry[id].issued && !m->entry[id].complete) {
        ti_engine_slot *slot = ti_engine_slot_of(&m->engine, id);
        ti_engine_slot *next = ti_engine_follower(&m->engine, slot);
        uint64_t expected = find_follower(m, id);
        assert_int_equal(next ? next->instruction->id : 0, expected);
        if (next) {
            ti_engine_issue_after(slot, next);
            m->entry[id].followed = m->entry[expected].issued = true;
            m->entry[expected].chain = m->entry[id].chain;
            m->started++;
        }
        assert_int_equal(ti_engine_others_wait(&m->engine, slot), find_others(m, id));
        id = expected;
    }
}

/* An instruction of a chain may be seen to end before the one that it follows. */
static bool may_complete(const model *m, const entry *e)
{
    uint64_t last;
    return e->issued && !e->complete && (e->chain != e->instruction.id || count_waits(m, e, &last) == 0);
}

static void submit(model *m, ti_instruction_kind kind, int priority, const uint64_t *dep, uint32_t deps)
{
    uint64_t id = ++m->submitted;
    entry *e = &m->entry[id];
    assert_true(id <= MAX_INSTRUCTIONS && deps <= MAX_DEPS);
    for (uint32_t i = 0; i < deps; i++) {
        e->dep[i] = dep[i];
    }
    e->instruction = (ti_instruction){ .kind = kind, .id = id, .priority = priority, .dep = e->dep, .deps = deps };
    e->submitted = true;
    uint64_t last;
    count_waits(m, e, &last);
    const ti_engine_slot *found = ti_engine_submit(&m->engine, &e->instruction);
    assert_ptr_equal(found, last ? ti_engine_slot_of(&m->engine, last) : NULL);
    update(m);
}

static void submit_random(model *m, int64_t window)
{
    static const ti_instruction_kind kinds[] = {
        TI_INSTRUCTION_KERNEL, TI_INSTRUCTION_KERNEL,  TI_INSTRUCTION_HOST,  TI_INSTRUCTION_COPY,
        TI_INSTRUCTION_SEND,   TI_INSTRUCTION_RECEIVE, TI_INSTRUCTION_ALLOC, TI_INSTRUCTION_COLLECTIVE_HOST,
    };
    uint64_t dep[MAX_DEPS];
    uint32_t deps = 0;
    bool point = rng_between(&m->random, 0, 19) == 0;
    int64_t next = (int64_t)m->submitted + 1;
    for (int64_t wanted = rng_between(&m->random, 0, MAX_DEPS); !point && next > 1 && wanted > 0; wanted--) {
        dep[deps++] = (uint64_t)rng_between(&m->random, next > window ? next - window : 1,
                                            next - 1); /* may name one twice */
    }
    ti_instruction_kind kind = point ? TI_INSTRUCTION_EPOCH
                                     : kinds[rng_between(&m->random, 0, (int64_t)(sizeof(kinds) / sizeof(*kinds)) - 1)];
    submit(m, kind, (int)rng_between(&m->random, -1000, 1000) / (int)rng_between(&m->random, 1, 1000), dep, deps);
}

/* Start what the engine offers, and check that it is what it should be. */
static void start(model *m, bool kernels)
{
    ti_engine_slot *slot = kernels ? ti_engine_next_kernel(&m->engine, 0) : ti_engine_next(&m->engine);
    uint64_t best = 0, watermark = lowest_incomplete(m);
    for (uint64_t id = watermark; id <= m->submitted; id++) {
        const entry *e = &m->entry[id], *b = &m->entry[best];
        if (e->issued || !e->ready_at || leaves_by_priority(e) != kernels) {
            continue;
        }
        bool better = kernels ? e->instruction.priority > b->instruction.priority : e->ready_at < b->ready_at;
        best = !best || better ? id : best;
    }
    if (!best) {
        assert_null(slot);
        return;
    }
    assert_non_null(slot);
    entry *got = &m->entry[slot->instruction->id];
    assert_ptr_equal(slot->instruction, &got->instruction);
    assert_true(got->ready_at && !got->issued && leaves_by_priority(got) == kernels);
    if (kernels) {
        assert_int_equal(got->instruction.id, best);
    } else {
        assert_int_equal(got->ready_at, m->entry[best].ready_at);
    }
    assert_ptr_equal(ti_engine_slot_of(&m->engine, got->instruction.id), slot);
    got->issued = true;
    got->chain = got->instruction.id;
    m->started++;
    m->events++;
}

static void complete_random(model *m)
{
    uint64_t candidates = 0, chosen = 0;
    for (uint64_t id = lowest_incomplete(m); id <= m->submitted; id++) {
        if (may_complete(m, &m->entry[id]) && (uint64_t)rng_between(&m->random, 0, (int64_t)candidates++) == 0) {
            chosen = id;
        }
    }
    if (chosen) {
        ti_engine_complete(&m->engine, chosen);
        m->entry[chosen].complete = true;
        m->completed++;
        update(m);
    }
}

/* ---- random programs */

static uint64_t seed;

/* Returns how many slots the engine had in the end. */
static uint64_t run_random(uint64_t run, int64_t steps, int64_t window, int64_t eager)
{
    model m;
    setup_model(&m, seed + run);
    for (int64_t i = 0; i < steps; i++) {
        switch (rng_between(&m.random, 0, 4)) {
        case 0:
            for (int64_t n = rng_between(&m.random, 1, eager); n > 0; n--) {
                submit_random(&m, window);
            }
            break;
        case 1:
            start(&m, true);
            break;
        case 2:
            start(&m, false);
            break;
        case 3:
            start_early(&m);
            break;
        default:
            complete_random(&m);
            complete_random(&m);
        }
    }
    while (m.completed < m.submitted) {
        uint64_t before = m.completed;
        start(&m, rng_next(&m.random) % 2);
        start(&m, rng_next(&m.random) % 2);
        complete_random(&m);
        if (m.completed == before && m.started == m.completed) {
            start(&m, true);
            start(&m, false);
            assert_true(m.started > m.completed); /* something can always start */
        }
    }
    assert_int_equal(ti_engine_incomplete(&m.engine), 0);
    assert_null(ti_engine_next(&m.engine));
    assert_null(ti_engine_next_kernel(&m.engine, 0));
    uint64_t capacity = m.engine.capacity;
    teardown_model(&m);
    return capacity;
}

static void random_programs(void **state)
{
    (void)state;
    for (uint64_t run = 0; run < 60; run++) {
        run_random(run, 300, 1 + (int64_t)(run * 7 % 50), 1 + (int64_t)run % 4);
    }
}

/* More than the slots and edges that the engine begins with. */
static void large_programs(void **state)
{
    (void)state;
    assert_true(run_random(1000, 1400, 1500, 12) > 1024);
}

/* ---- cases that deserve a name */

static void chains_need_no_memory(void **state)
{
    (void)state;
    model m;
    setup_model(&m, 1);
    uint64_t slots = m.engine.capacity;
    for (uint64_t id = 1; id <= 15000; id++) {
        uint64_t dep[2] = { id > 1 ? id - 1 : 1, id > 5 ? id - 5 : 1 };
        submit(&m, id % 2 ? TI_INSTRUCTION_KERNEL : TI_INSTRUCTION_COPY, 0, dep, id > 1 ? 2 : 0);
        if (id > 3) {
            start(&m, m.entry[id - 3].instruction.kind == TI_INSTRUCTION_KERNEL);
            ti_engine_complete(&m.engine, id - 3);
            m.entry[id - 3].complete = true;
            m.completed++;
            update(&m);
        }
    }
    assert_int_equal(m.engine.capacity, slots);
    assert_true(m.engine.ready.capacity <= 4096 && m.engine.edges <= 1024);
    teardown_model(&m);
}

static void epochs_wait_for_everything_before_them(void **state)
{
    (void)state;
    model m;
    setup_model(&m, 2);
    const uint64_t first[] = { 1 };
    submit(&m, TI_INSTRUCTION_KERNEL, 0, first, 0);
    submit(&m, TI_INSTRUCTION_COPY, 0, first, 0);
    submit(&m, TI_INSTRUCTION_EPOCH, 0, first, 0);
    submit(&m, TI_INSTRUCTION_EPOCH, 0, first, 0);
    submit(&m, TI_INSTRUCTION_RECEIVE, 0, first, 0); /* does not wait for them */
    assert_int_equal(ti_engine_next(&m.engine)->instruction->id, 2);
    assert_int_equal(ti_engine_next(&m.engine)->instruction->id, 5);
    assert_null(ti_engine_next(&m.engine));
    ti_engine_complete(&m.engine, 5);
    ti_engine_complete(&m.engine, 2);
    assert_null(ti_engine_next(&m.engine));
    assert_int_equal(ti_engine_next_kernel(&m.engine, 0)->instruction->id, 1);
    ti_engine_complete(&m.engine, 1);
    assert_int_equal(ti_engine_next(&m.engine)->instruction->id, 3);
    assert_null(ti_engine_next(&m.engine));
    ti_engine_complete(&m.engine, 3);
    assert_int_equal(ti_engine_next(&m.engine)->instruction->id, 4);
    ti_engine_complete(&m.engine, 4);
    assert_int_equal(ti_engine_incomplete(&m.engine), 0);
    teardown_model(&m);
}

/* A kernel, one that follows it, a point, and a kernel that waits for both. What else is before the point, or a point
 * of all nodes, may end later. */
static void chains_pass_points_that_end_with_them(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        model m;
        setup_model(&m, 4);
        const bool has_other = way == 1, has_barrier = way == 2;
        const uint64_t first[] = { 1 }, both[] = { 3, 2 };
        submit(&m, TI_INSTRUCTION_KERNEL, 0, first, 0);
        if (has_other) {
            submit(&m, TI_INSTRUCTION_RECEIVE, 0, first, 0);
        } else {
            submit(&m, TI_INSTRUCTION_KERNEL, 0, first, 1);
        }
        submit(&m, TI_INSTRUCTION_EPOCH, 0, first, 0);
        m.entry[3].instruction.as.epoch.barrier = has_barrier;
        if (has_other) {
            submit(&m, TI_INSTRUCTION_KERNEL, 0, (const uint64_t[]){ 3, 1 }, 2);
        } else {
            submit(&m, TI_INSTRUCTION_KERNEL, 0, both, 2);
        }
        ti_engine_slot *slot = ti_engine_next_kernel(&m.engine, 0), *next = ti_engine_follower(&m.engine, slot);
        if (!has_other) {
            assert_int_equal(next->instruction->id, 2);
            ti_engine_issue_after(slot, next);
            slot = next;
            next = ti_engine_follower(&m.engine, slot);
        }
        assert_int_equal(next ? next->instruction->id : 0, way == 0 ? 4 : 0);
        teardown_model(&m);
    }
}

static void kernels_leave_by_priority(void **state)
{
    (void)state;
    model m;
    setup_model(&m, 3);
    const int priority[] = { 0, -1000, 1000, 0, 999, -1, 1 };
    const uint64_t order[] = { 3, 5, 7, 1, 4, 6, 2 };
    for (size_t i = 0; i < sizeof(priority) / sizeof(*priority); i++) {
        submit(&m, i % 2 ? TI_INSTRUCTION_HOST : TI_INSTRUCTION_KERNEL, priority[i], NULL, 0);
    }
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        assert_int_equal(ti_engine_next_kernel(&m.engine, 0)->instruction->id, order[i]);
    }
    assert_null(ti_engine_next_kernel(&m.engine, 0));
    teardown_model(&m);
}

/* ---- accelerators, which start operations behind others: devices 1 and 2, beside a host */

enum { HOSTS = 1, DEVICES = 3, ORDERED = 3000 };

typedef struct ordered {
    ti_instruction instruction;
    uint64_t dep[MAX_DEPS];
    bool issued, ended, complete, refused;
} ordered;

typedef struct order {
    ti_engine engine;
    ordered *entry; /* by id */
    uint64_t submitted, completed;
    uint64_t behind, early; /* started so; seen to end before what they were behind */
    rng random;
} order;

static uint32_t below(order *o, uint32_t n)
{
    return (uint32_t)rng_between(&o->random, 0, (int64_t)n - 1);
}

static bool is_of_accelerator(const ordered *e)
{
    return e->instruction.device >= HOSTS &&
           (e->instruction.kind == TI_INSTRUCTION_KERNEL || e->instruction.kind == TI_INSTRUCTION_COPY);
}

/* Whether it waits, for nothing but what was started on accelerators. */
static bool may_be_behind(const order *o, const ordered *e)
{
    bool waits = false;
    for (uint32_t i = 0; i < e->instruction.deps; i++) {
        const ordered *d = &o->entry[e->dep[i]];
        if (!d->complete && !(d->issued && is_of_accelerator(d))) {
            return false;
        }
        waits |= !d->complete;
    }
    return waits && !e->issued && is_of_accelerator(e);
}

static void submit_ordered(order *o)
{
    static const ti_instruction_kind kinds[] = { TI_INSTRUCTION_KERNEL, TI_INSTRUCTION_KERNEL, TI_INSTRUCTION_COPY,
                                                 TI_INSTRUCTION_SEND, TI_INSTRUCTION_EPOCH };
    const uint64_t id = ++o->submitted;
    ordered *e = &o->entry[id];
    e->instruction = (ti_instruction){ .id = id, .dep = e->dep, .kind = kinds[below(o, 50) ? below(o, 4) : 4] };
    e->instruction.device = (int)below(o, DEVICES);
    for (uint32_t i = below(o, 4); i > 0 && id > 1 && e->instruction.kind != TI_INSTRUCTION_EPOCH; i--) {
        const uint64_t dep = id - 1 - below(o, (uint32_t)TI_MIN(id - 1, (uint64_t)12));
        bool is_new = true;
        for (uint32_t k = 0; k < e->instruction.deps; k++) {
            is_new &= e->dep[k] != dep;
        }
        e->dep[e->instruction.deps] = dep;
        e->instruction.deps += is_new;
    }
    ti_engine_submit(&o->engine, &e->instruction);
}

static void start_ordered(order *o, const ti_engine_slot *slot)
{
    ordered *e = &o->entry[slot->instruction->id];
    assert_false(e->issued);
    for (uint32_t i = 0; i < e->instruction.deps; i++) {
        assert_true(o->entry[e->dep[i]].complete);
    }
    e->issued = true;
}

static bool offer_ordered(order *o, ti_engine_slot *slot, bool takes_all)
{
    if (!slot) {
        return false;
    }
    ordered *e = &o->entry[slot->instruction->id];
    assert_true(may_be_behind(o, e) && !e->refused);
    const bool takes = takes_all || below(o, 3);
    e->issued = takes;
    e->refused = !takes;
    o->behind += takes;
    ti_engine_issue_behind(&o->engine, slot, takes);
    return true;
}

/* All that may start. With `takes_all` nothing is left then that could be started behind others and was not refused. */
static void start_all_ordered(order *o, bool takes_all)
{
    for (bool more = true; more;) {
        more = false;
        for (ti_engine_slot *slot; (slot = ti_engine_next(&o->engine)); more = true) {
            start_ordered(o, slot);
        }
        for (int d = 0; d < DEVICES; d++) {
            for (ti_engine_slot *slot; (slot = ti_engine_next_kernel(&o->engine, d)); more = true) {
                start_ordered(o, slot);
            }
            more |= d >= HOSTS && offer_ordered(o, ti_engine_next_behind(&o->engine, d), takes_all);
        }
        more |= offer_ordered(o, ti_engine_next_copy_behind(&o->engine), takes_all);
    }
    for (uint64_t id = 1; id <= o->submitted; id++) {
        assert_false(!o->entry[id].refused && may_be_behind(o, &o->entry[id]));
    }
}

/* What has ended comes to be known in any order. */
static void end_some_ordered(order *o)
{
    for (uint64_t id = o->engine.watermark; id <= o->submitted; id++) {
        ordered *e = &o->entry[id];
        bool may = e->issued && !e->ended;
        for (uint32_t i = 0; i < e->instruction.deps; i++) {
            may &= o->entry[e->dep[i]].ended;
        }
        e->ended |= may && below(o, 2);
    }
    for (uint64_t id = o->submitted; id >= o->engine.watermark; id--) {
        ordered *e = &o->entry[id];
        if (e->ended && !e->complete && below(o, 2)) {
            for (uint32_t i = 0; i < e->instruction.deps && !e->complete; i++) {
                o->early += !o->entry[e->dep[i]].complete;
            }
            e->complete = true;
            o->completed++;
            ti_engine_complete(&o->engine, id);
        }
    }
}

static void accelerators_start_behind(void **state)
{
    (void)state;
    uint64_t behind = 0, early = 0;
    for (uint64_t run = 0; run < 20; run++) {
        order o = { .random = rng_from(seed + run) };
        o.entry = calloc(ORDERED + 1, sizeof(*o.entry));
        ti_engine_init(&o.engine, DEVICES);
        ti_engine_know_accelerators(&o.engine, HOSTS);
        while (o.completed < ORDERED) {
            for (uint32_t i = below(&o, 12); i > 0 && o.submitted < ORDERED; i--) {
                submit_ordered(&o);
            }
            start_all_ordered(&o, run % 2);
            end_some_ordered(&o);
        }
        assert_int_equal(ti_engine_incomplete(&o.engine), 0);
        behind += o.behind;
        early += o.early;
        ti_engine_fini(&o.engine);
        free(o.entry);
    }
    assert_true(behind > ORDERED && early > 0);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),
        cmocka_unit_test(large_programs),
        cmocka_unit_test(chains_need_no_memory),
        cmocka_unit_test(epochs_wait_for_everything_before_them),
        cmocka_unit_test(chains_pass_points_that_end_with_them),
        cmocka_unit_test(kernels_leave_by_priority),
        cmocka_unit_test(accelerators_start_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
