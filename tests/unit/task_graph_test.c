/* The task graph: dependencies stated literally, horizons, the check for reads of what nobody has written, memory. */
#include "plan/task/graph.h"

#include "lower.h"

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

/* One graph over buffers 0 (initialised) and 1 (not), each of 100 elements. */
typedef struct fixture {
    gen_program *program;
    lowering lowering;
    ti_system system;
    ti_task_graph *graph;
    const ti_task *out[TI_TASK_GRAPH_BATCH];
    size_t count;
} fixture;

static const ti_task *add(fixture *f, gen_step step)
{
    lower_begin(&f->lowering, &step);
    f->count = ti_task_graph_add(f->graph, lower_step(&f->lowering, &step, f->graph), f->out);
    lower_end(&f->lowering, &step);
    return f->out[0];
}

static void init(fixture *f, int64_t horizon_step, int64_t horizon_front)
{
    memset(f, 0, sizeof(*f));
    f->program = TI_NEW(gen_program);
    f->program->nodes = 1;
    f->system = (ti_system){
        .num_nodes = 1, .workers = 1, .total_workers = 1, .horizon_step = horizon_step, .horizon_front = horizon_front
    };
    for (int i = 0; i < 2; i++) {
        ti_vec_push(&f->program->buffer,
                    ((gen_buffer){ .range = tacit_range1(100), .elem_size = 1, .initialised = i == 0 }));
    }
    ti_vec_push(&f->program->task, (gen_task){ 0 });
    lower_init(&f->lowering, f->program);
    f->graph = ti_task_graph_create(&f->system);
    assert_int_equal(add(f, (gen_step){ .kind = GEN_CREATE, .index = 0 })->id, 1);
    assert_int_equal(add(f, (gen_step){ .kind = GEN_CREATE, .index = 1 })->id, 2);
}

static void fini(fixture *f)
{
    ti_task_graph_destroy(f->graph);
    lower_fini(&f->lowering);
    gen_destroy(f->program);
}

/* A task of one item that touches one box of one buffer. */
static gen_task touch(int buffer, int mode, size_t a, size_t b)
{
    return (gen_task){ .range = tacit_range1(1),
                       .place = -1,
                       .accesses = 1,
                       .access = { { .buffer = buffer, .mode = mode, .mapper = tacit_fixed(tacit_box1(a, b)) } } };
}

static const ti_task *submit(fixture *f, gen_task task)
{
    f->program->task.data[0] = task;
    return add(f, (gen_step){ .kind = GEN_TASK, .index = 0 });
}

/* Whether the task depends on exactly these; the list ends with 0. */
static void expect_deps(const ti_task *task, const uint64_t *ids)
{
    size_t count = 0;
    for (; ids[count]; count++) {
        bool found = false;
        for (uint32_t i = 0; i < task->deps; i++) {
            found = found || task->dep[i] == ids[count];
        }
        assert_true(found);
    }
    assert_int_equal(task->deps, count);
}
#define DEPS(task, ...) expect_deps((task), (const uint64_t[]){ __VA_ARGS__, 0 })

static void dependencies(void **state)
{
    (void)state;
    fixture f;
    init(&f, INT64_MAX, INT64_MAX);
    DEPS(submit(&f, touch(0, TACIT_READ, 0, 100)), 1);         /* 3: after the initial contents */
    DEPS(submit(&f, touch(0, TACIT_WRITE, 0, 50)), 3);         /* 4: after the reader */
    DEPS(submit(&f, touch(0, TACIT_READ, 10, 20)), 4);         /* 5 */
    DEPS(submit(&f, touch(0, TACIT_READ, 40, 60)), 4, 1);      /* 6: half of it was never written */
    DEPS(submit(&f, touch(0, TACIT_UPDATE, 15, 45)), 4, 5, 6); /* 7 */
    DEPS(submit(&f, touch(0, TACIT_WRITE, 90, 95)), 3);        /* 8: the other end */
    DEPS(submit(&f, touch(0, TACIT_WRITE, 90, 95)), 8);        /* 9 */
    const ti_task *first = submit(&f, touch(1, TACIT_WRITE, 0, 10));
    assert_int_equal(first->id, 10);
    assert_int_equal(first->deps, 0); /* nobody has touched it */
    fini(&f);
}

/* A task that reads and writes one buffer does not wait for itself, and is waited for once. */
static void read_and_write(void **state)
{
    (void)state;
    fixture f;
    init(&f, INT64_MAX, INT64_MAX);
    gen_task both = touch(0, TACIT_READ, 0, 60);
    both.access[1] = (gen_access){ 0, TACIT_WRITE, tacit_fixed(tacit_box1(60, 100)), { 0, 0 }, false, false };
    both.accesses = 2;
    DEPS(submit(&f, both), 1);    /* 3 */
    DEPS(submit(&f, both), 1, 3); /* 4 */
    DEPS(submit(&f, touch(0, TACIT_UPDATE, 0, 100)), 3, 4);
    fini(&f);
}

static void reductions_write(void **state)
{
    (void)state;
    fixture f;
    init(&f, INT64_MAX, INT64_MAX);
    gen_task sum = { .range = tacit_range1(5), .place = -1, .accesses = 1 };
    sum.access[0] = (gen_access){ 1, TACIT_REDUCE, tacit_all(), tacit_sum(TACIT_INT8), false, false };
    assert_int_equal(submit(&f, sum)->deps, 0);        /* 3: old contents do not matter */
    DEPS(submit(&f, touch(1, TACIT_READ, 0, 100)), 3); /* 4 */
    DEPS(submit(&f, sum), 4);
    fini(&f);
}

static void empty_ranges(void **state)
{
    (void)state;
    fixture f;
    init(&f, INT64_MAX, INT64_MAX);
    gen_task nothing = touch(0, TACIT_WRITE, 0, 100);
    nothing.range.size[0] = 0;
    assert_int_equal(submit(&f, nothing)->deps, 0);
    DEPS(submit(&f, touch(0, TACIT_READ, 0, 100)), 1);
    fini(&f);
}

static void check(fixture *f, gen_task task, tacit_status expected, const char *sentence)
{
    ti_strbuf why = { 0 };
    f->program->task.data[0] = task;
    ti_task *lowered = lower_step(&f->lowering, &(gen_step){ .kind = GEN_TASK, .index = 0 }, f->graph);
    assert_int_equal(ti_task_graph_check(f->graph, lowered->shape, &why), expected);
    if (sentence) {
        assert_non_null(strstr(ti_strbuf_text(&why), sentence));
        assert_non_null(strstr(ti_strbuf_text(&why), "task 'task'"));
    }
    ti_strbuf_fini(&why);
}

/* Writes that leave a hole between them, which is found until it is filled; and writes in any order that leave none. */
static void holes_between_writes(void **state)
{
    (void)state;
    fixture f;
    init(&f, INT64_MAX, INT64_MAX);
    submit(&f, touch(1, TACIT_WRITE, 0, 4));
    submit(&f, touch(1, TACIT_WRITE, 8, 10));
    check(&f, touch(1, TACIT_READ, 0, 10), TACIT_ERROR_UNINITIALIZED, "[4,8)");
    submit(&f, touch(1, TACIT_WRITE, 6, 8));
    check(&f, touch(1, TACIT_READ, 6, 10), TACIT_OK, NULL);
    check(&f, touch(1, TACIT_READ, 0, 10), TACIT_ERROR_UNINITIALIZED, "[4,6)");
    submit(&f, touch(1, TACIT_WRITE, 3, 7));
    check(&f, touch(1, TACIT_READ, 0, 10), TACIT_OK, NULL);
    check(&f, touch(1, TACIT_READ, 1, 9), TACIT_OK, NULL);
    submit(&f, touch(1, TACIT_WRITE, 10, 99));
    check(&f, touch(1, TACIT_READ, 0, 99), TACIT_OK, NULL);
    check(&f, touch(1, TACIT_READ, 0, 100), TACIT_ERROR_UNINITIALIZED, "[99,100)");
    submit(&f, touch(1, TACIT_WRITE, 99, 100));
    check(&f, touch(1, TACIT_UPDATE, 0, 100), TACIT_OK, NULL);
    fini(&f);
}

static void uninitialised_reads(void **state)
{
    (void)state;
    fixture f;
    init(&f, INT64_MAX, INT64_MAX);
    check(&f, touch(0, TACIT_READ, 0, 100), TACIT_OK, NULL);
    check(&f, touch(1, TACIT_WRITE, 0, 100), TACIT_OK, NULL);
    check(&f, touch(1, TACIT_READ, 5, 10), TACIT_ERROR_UNINITIALIZED, "[5,10)");
    check(&f, touch(1, TACIT_UPDATE, 5, 10), TACIT_ERROR_UNINITIALIZED, "tacit_write");
    submit(&f, touch(1, TACIT_WRITE, 0, 8));
    check(&f, touch(1, TACIT_READ, 5, 10), TACIT_ERROR_UNINITIALIZED, "[8,10)");
    submit(&f, touch(1, TACIT_WRITE, 8, 10));
    check(&f, touch(1, TACIT_READ, 5, 10), TACIT_OK, NULL);
    add(&f, (gen_step){ .kind = GEN_WAIT });
    check(&f, touch(1, TACIT_READ, 0, 10), TACIT_OK, NULL);
    check(&f, touch(1, TACIT_READ, 0, 11), TACIT_ERROR_UNINITIALIZED, "[10,11)");
    fini(&f);
}

static void horizons(void **state)
{
    (void)state;
    fixture f;
    init(&f, 4, INT64_MAX);
    for (uint64_t i = 3; i < 6; i++) { /* the creation is the first of the path */
        assert_int_equal(submit(&f, touch(0, TACIT_UPDATE, 0, 100))->id, i);
        assert_int_equal(f.count, i == 5 ? 2 : 1);
    }
    assert_int_equal(f.out[1]->kind, TI_TASK_HORIZON);
    assert_int_equal(f.out[1]->id, 6);
    DEPS(submit(&f, touch(0, TACIT_UPDATE, 0, 100)), 5); /* not applied yet */
    submit(&f, touch(0, TACIT_READ, 0, 100));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(f.count, 1);
        submit(&f, touch(0, TACIT_UPDATE, 0, 100));
    }
    assert_int_equal(f.count, 2); /* four tasks after the first one, which adds nothing to the path */
    uint64_t second = f.out[1]->id;
    DEPS(submit(&f, touch(0, TACIT_UPDATE, 0, 100)), second - 1);
    submit(&f, touch(1, TACIT_WRITE, 0, 100)); /* of buffer 1 nothing is known */
    assert_int_equal(f.out[0]->deps, 0);
    assert_int_equal(ti_task_graph_horizons(f.graph), 2);
    fini(&f);
}

/* After a wait everything depends on it, or on nothing. */
static void waits(void **state)
{
    (void)state;
    fixture f;
    init(&f, INT64_MAX, INT64_MAX);
    submit(&f, touch(0, TACIT_UPDATE, 0, 50));
    uint64_t wait = add(&f, (gen_step){ .kind = GEN_WAIT })->id;
    DEPS(submit(&f, touch(0, TACIT_READ, 0, 100)), wait);
    DEPS(submit(&f, touch(0, TACIT_WRITE, 90, 100)), wait + 1);
    fini(&f);
}

static void front(void **state)
{
    (void)state;
    fixture f;
    init(&f, INT64_MAX, 8);
    size_t tasks = 0;
    do {
        submit(&f, touch(1, TACIT_WRITE, tasks, tasks + 1));
        tasks++;
    } while (f.count == 1);
    assert_int_equal(tasks, 7); /* and two creations */
    fini(&f);
}

static void destruction(void **state)
{
    (void)state;
    fixture f;
    init(&f, INT64_MAX, INT64_MAX);
    submit(&f, touch(0, TACIT_READ, 0, 50));   /* 3 */
    submit(&f, touch(0, TACIT_WRITE, 80, 90)); /* 4 */
    DEPS(add(&f, (gen_step){ .kind = GEN_DESTROY, .index = 0 }), 1, 3, 4);
    uint32_t slot = f.lowering.info[0].slot;
    add(&f, (gen_step){ .kind = GEN_WAIT }); /* the slot is free from now on */
    const ti_task *again = add(&f, (gen_step){ .kind = GEN_CREATE, .index = 0 });
    assert_int_equal(f.lowering.info[0].slot, slot);
    assert_int_equal(again->deps, 0);
    DEPS(submit(&f, touch(0, TACIT_READ, 0, 50)), again->id);
    fini(&f);
}

/* Memory and entries after a while, when loops of any length have been looked for, and after ten times as long; ids
 * stay without gaps. */
static void long_run(void **state)
{
    (void)state;
    uint64_t before = ti_alloc_live(), early = 0, next = 3;
    fixture f;
    init(&f, 4, 64);
    for (size_t i = 0; i < 900000; i++) {
        const ti_task *t = submit(&f, touch(0, i % 3 ? TACIT_UPDATE : TACIT_READ, i * 7 % 90, i * 7 % 90 + 10));
        assert_int_equal(t->id, next);
        next += f.count;
        if (f.count == 2) {
            ti_task_graph_release(f.graph, f.out[1]->id);
        }
        assert_true(ti_task_graph_entries(f.graph) < 60);
        early = i == 90000 ? ti_alloc_live() : early;
    }
    assert_int_equal(ti_task_graph_tasks(f.graph), next - 1);
    assert_true(ti_alloc_live() <= early + early / 8);
    fini(&f);
    assert_int_equal(ti_alloc_live(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependencies),
        cmocka_unit_test(read_and_write),
        cmocka_unit_test(reductions_write),
        cmocka_unit_test(empty_ranges),
        cmocka_unit_test(uninitialised_reads),
        cmocka_unit_test(holes_between_writes),
        cmocka_unit_test(horizons),
        cmocka_unit_test(waits),
        cmocka_unit_test(front),
        cmocka_unit_test(destruction),
        cmocka_unit_test(long_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
