/* Loops whose tasks are not looked at again (plan/task/cycle.h, plan/lookahead/cycle.c) become the forwards and the
 * commands that they become if each task is, with the same numbers of messages and collectives, and leave the same
 * versions. Nothing is executed, but graphs forget what would have been. */
#include "comm/tree.h"
#include "effort.h"
#include "loops.h"
#include "lower.h"
#include "plan/command/graph.h"
#include "plan/task/graph.h"

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { AHEAD = 12 };

/* All that is compared, in words. */
typedef TI_VEC(uint64_t) run_log;

typedef struct settings {
    int node, collectives, multicast;
    int64_t horizon_step, horizon_front;
    bool derive; /* each task */
} settings;

typedef struct run {
    ti_system system;
    lowering lowering;
    ti_task_graph *tasks;
    ti_command_graph *commands;
    uint64_t horizon[AHEAD]; /* the latest; the oldest of these has been executed */
    uint64_t horizons;
    TI_VEC(struct under_way {
        const ti_command *command;
        ti_box box;
    })
    under_way; /* collectives that have not been executed, and the first box of each */
    run_log *log;
} run;

static void log_boxes(run *r, const ti_box *box, uint32_t boxes)
{
    for (uint32_t i = 0; i < boxes; i++) {
        const int64_t *at = box[i].min, *end = box[i].max;
        ti_vec_push(r->log, (uint64_t)(at[0] << 16 ^ at[1] << 8 ^ at[2] ^ end[0] << 40 ^ end[1] << 32 ^ end[2] << 24));
    }
}

static void log_forwards(run *r, const ti_task *task)
{
    for (uint32_t i = 0; i < task->forwards; i++) {
        const ti_forward *f = &task->forward[i];
        ti_vec_push(r->log, f->producer << 33 | (uint64_t)f->whole << 32 | f->buffer->slot);
        log_boxes(r, f->box, f->boxes);
    }
}

static void log_reduction(run *r, const ti_command *c)
{
    const ti_tree_place *tree = c->as.reduce.tree;
    if (c->as.reduce.what) {
        ti_vec_push(r->log, c->as.reduce.sequence << 1 | c->as.reduce.gets);
        ti_vec_push(r->log, (uint64_t)c->as.reduce.what->pattern);
    }
    if (tree) {
        ti_vec_push(r->log, tree->parent < 0 ? 0 : tree->parent_counter);
    }
    for (int i = 0; tree && i < tree->children; i++) {
        ti_vec_push(r->log, tree->child_counter[i]);
    }
}

static void log_command(run *r, const ti_command *c)
{
    ti_vec_push(r->log, (uint64_t)c->kind << 56 | c->id);
    ti_vec_push(r->log, c->task->id);
    switch (c->kind) {
    case TI_COMMAND_EXECUTE:
        for (uint32_t i = 0; i < c->as.execute.pieces; i++) {
            log_boxes(r, &c->as.execute.piece[i].chunk, 1);
        }
        break;
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        ti_vec_push(r->log, (uint64_t)c->as.transfer.peer << 32 | c->as.transfer.counter);
        log_boxes(r, c->as.transfer.box, c->as.transfer.boxes);
        break;
    case TI_COMMAND_COLLECTIVE:
        ti_vec_push(r->log, c->as.collective.sequence);
        log_boxes(r, c->as.collective.what->region, c->as.collective.what->regions);
        log_boxes(r, c->as.collective.get, c->as.collective.gets);
        ti_vec_push(&r->under_way, ((struct under_way){ c, c->as.collective.what->region[0] }));
        break;
    case TI_COMMAND_REDUCE:
        log_reduction(r, c);
        break;
    case TI_COMMAND_FENCE:
    case TI_COMMAND_EPOCH:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        break;
    }
}

/* Tasks before `executed` have been: what the collectives of others say is still there. */
static void release(run *r, uint64_t executed)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->under_way.count; i++) {
        const struct under_way *w = &r->under_way.data[i];
        if (w->command->task->id >= executed) {
            assert_memory_equal(&w->box, w->command->as.collective.what->region, sizeof(w->box));
            r->under_way.data[kept++] = *w;
        }
    }
    r->under_way.count = kept;
    ti_command_graph_release(r->commands, executed);
    ti_task_graph_release(r->tasks, executed);
}

static void add_task(run *r, const ti_task *task)
{
    log_forwards(r, task);
    ti_command_batch batch = ti_command_graph_add(r->commands, &task, 1);
    for (size_t i = 0; i < batch.tasks; i++) {
        ti_vec_push(r->log, batch.task[i]->id);
    }
    for (size_t i = 0; i < batch.count; i++) {
        log_command(r, batch.command[i]);
    }
    if (task->kind == TI_TASK_HORIZON) {
        uint64_t *oldest = &r->horizon[r->horizons++ % AHEAD];
        release(r, *oldest);
        *oldest = task->id;
    }
}

static void take_step(run *r, const gen_step *step)
{
    const ti_task *out[TI_TASK_GRAPH_BATCH];
    lower_begin(&r->lowering, step);
    const size_t count = ti_task_graph_add(r->tasks, lower_step(&r->lowering, step, r->tasks), out);
    for (size_t i = 0; i < count; i++) {
        add_task(r, out[i]);
    }
    lower_end(&r->lowering, step);
}

/* How many tasks were repeated by the command graph. */
static uint64_t run_program(const gen_program *program, const settings *s, run_log *log)
{
    run r = { .system = { .node = s->node,
                          .num_nodes = program->nodes,
                          .local_nodes = 1,
                          .devices = 1,
                          .memories = 1,
                          .workers = 2,
                          .total_workers = 2,
                          .horizon_step = s->horizon_step,
                          .horizon_front = s->horizon_front,
                          .collectives = s->collectives,
                          .multicast = s->multicast,
                          .derive_always = s->derive },
              .log = log };
    lower_init(&r.lowering, program);
    r.lowering.shapes = !s->derive;
    r.tasks = ti_task_graph_create(&r.system);
    r.commands = ti_command_graph_create(&r.system);
    ti_vec_clear(log);
    for (size_t i = 0; i < program->step.count; i++) {
        take_step(&r, &program->step.data[i]);
    }
    const uint64_t repeated = ti_command_graph_counts(r.commands).repeated;
    ti_vec_push(log, ti_command_graph_digest(r.commands));
    assert_true(ti_command_graph_is_valid(r.commands));
    ti_command_graph_destroy(r.commands);
    ti_task_graph_destroy(r.tasks);
    lower_fini(&r.lowering);
    ti_vec_fini(&r.under_way);
    return repeated;
}

/* On a node, with all that comes again and with all that is derived. How many tasks were repeated. */
static uint64_t compare_at(const gen_program *program, gen_rng *rng, int64_t horizon_step)
{
    run_log log = { 0 }, derived = { 0 };
    settings s = { .node = (int)gen_between(rng, 0, program->nodes - 1),
                   .collectives = gen_chance(rng, 70) ? TI_COLLECTIVES_LOOKAHEAD : TI_COLLECTIVES_OFF,
                   .multicast = gen_chance(rng, 40) ? TI_MULTICAST_TREES + TI_TREE_BINOMIAL : TI_MULTICAST_NONE,
                   .horizon_step = horizon_step,
                   .horizon_front = gen_chance(rng, 30) ? 4 : 64 };
    const uint64_t repeated = run_program(program, &s, &log);
    s.derive = true;
    assert_int_equal(run_program(program, &s, &derived), 0);
    for (size_t i = 0; i < log.count && i < derived.count; i++) {
        if (log.data[i] != derived.data[i]) {
            fail_msg("seed %llu, node %d of %d: word %zu of %zu is %llx, if derived %llx",
                     (unsigned long long)program->seed, s.node, program->nodes, i, log.count,
                     (unsigned long long)log.data[i], (unsigned long long)derived.data[i]);
        }
    }
    assert_int_equal(log.count, derived.count);
    ti_vec_fini(&log);
    ti_vec_fini(&derived);
    return repeated;
}

static uint64_t compare(const gen_program *program, gen_rng *rng)
{
    static const int64_t steps[] = { 1, 2, 4, 4, 4, 7 };
    return compare_at(program, rng, steps[gen_between(rng, 0, 5)]);
}

static void random_loops(void **state)
{
    (void)state;
    uint64_t repeated[2] = { 0 };
    for (uint64_t seed = 1; seed <= EFFORT(2000, 200); seed++) {
        gen_rng rng = { gen_mix(seed ^ 0x100b5) };
        gen_program *program = gen_create(&(gen_options){ .seed = seed, .nodes = 1 + (int)(seed % 7), .steps = 20 });
        loops_append(program, &rng, LOOPS_LONGEST);
        repeated[program->nodes > 1] += compare(program, &rng);
        gen_destroy(program);
    }
    printf("%llu and %llu tasks repeated\n", (unsigned long long)repeated[0], (unsigned long long)repeated[1]);
    assert_true(repeated[0] > EFFORT(10000, 1000) && repeated[1] > EFFORT(50000, 5000));
}

/* ---- reductions */

enum { DATA, OTHER, SUM, BUFFERS };

static void add_buffer(gen_program *program, size_t size, bool initialised)
{
    ti_vec_push(&program->step, ((gen_step){ .kind = GEN_CREATE, .index = (int)program->buffer.count }));
    ti_vec_push(&program->buffer,
                ((gen_buffer){ .range = tacit_range1(size), .elem_size = 8, .initialised = initialised }));
}

static void add_task_of(gen_program *program, gen_task task)
{
    ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = (int)program->task.count }));
    ti_vec_push(&program->task, task);
}

static gen_access access_of(int buffer, int mode, tacit_mapper mapper)
{
    return (gen_access){ .buffer = buffer, .mode = mode, .mapper = mapper };
}

/* Sums that are read by all nodes, by some, by one, or not at all; and what else moves between nodes. */
static gen_program *sums_program(uint64_t seed, gen_rng *rng)
{
    gen_program *program = TI_NEW(gen_program);
    const int64_t size = gen_between(rng, 20, 60);
    program->seed = seed;
    program->nodes = (int)gen_between(rng, 2, 7);
    for (int b = 0; b < BUFFERS; b++) {
        add_buffer(program, b == SUM ? 1 : (size_t)size, true);
    }
    const tacit_mapper own = tacit_one_to_one(), all = tacit_all();
    const gen_access sum = { .buffer = SUM,
                             .mode = TACIT_REDUCE,
                             .mapper = tacit_all(),
                             .op = tacit_sum(TACIT_INT64),
                             .include_old = gen_chance(rng, 30) };
    const gen_task plain = { .range = tacit_range1((size_t)size), .accesses = 2, .place = -1 };
    gen_task t = plain;
    t.access[0] = access_of(DATA, TACIT_READ, own);
    t.access[1] = sum;
    t.no_collectives = gen_chance(rng, 15);
    add_task_of(program, t);
    t = plain;
    t.access[0] = access_of(SUM, TACIT_READ, all);
    t.access[1] = access_of(DATA, TACIT_UPDATE, own);
    add_task_of(program, t);
    t.place = (int)gen_between(rng, 0, program->nodes - 1);
    t.access[1] = access_of(OTHER, TACIT_UPDATE, own);
    add_task_of(program, t);
    t = plain;
    t.range = tacit_range1((size_t)gen_between(rng, 1, program->nodes - 1));
    t.access[0] = access_of(SUM, TACIT_READ, all);
    t.access[1] = access_of(OTHER, TACIT_WRITE, own);
    add_task_of(program, t);
    t = plain;
    t.access[0] = access_of(DATA, TACIT_READ, tacit_neighborhood((size_t)gen_between(rng, 1, 3), 0, 0));
    t.access[1] = access_of(OTHER, TACIT_WRITE, own);
    add_task_of(program, t);
    t.access[0] = access_of(OTHER, TACIT_READ, gen_chance(rng, 50) ? all : own);
    t.access[1] = access_of(DATA, TACIT_WRITE, own);
    add_task_of(program, t);
    loops_append(program, rng, LOOPS_LONGEST);
    loops_append(program, rng, LOOPS_LONGEST);
    return program;
}

/* How many tasks were repeated, of how many steps. */
static uint64_t compare_all(gen_program *(*make)(uint64_t seed, gen_rng *rng), uint64_t seeds, uint64_t *steps)
{
    uint64_t repeated = 0;
    *steps = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        gen_rng rng = { gen_mix(seed ^ 0x5035) };
        gen_program *program = make(seed, &rng);
        repeated += compare(program, &rng);
        *steps += program->step.count;
        gen_destroy(program);
    }
    printf("%llu of %llu tasks repeated\n", (unsigned long long)repeated, (unsigned long long)*steps);
    return repeated;
}

static void sums(void **state)
{
    (void)state;
    uint64_t steps;
    assert_true(compare_all(sums_program, EFFORT(1000, 125), &steps) > EFFORT(50000, 6250));
}

/* ---- loops that end while tasks are held */

/* What one item wrote is read in parts, for which tasks are held; what is between them goes ahead, with messages. */
static gen_program *held_program(uint64_t seed, gen_rng *rng)
{
    enum { PARTS, LEFT, RIGHT, TO, KINDS = 6, LOOPS = 4 };
    gen_program *program = TI_NEW(gen_program);
    const size_t size = (size_t)gen_between(rng, 8, 40), half = size / 2;
    program->seed = seed;
    program->nodes = (int)gen_between(rng, 2, 6);
    for (int b = 0; b <= TO; b++) {
        add_buffer(program, size, true);
    }
    const tacit_mapper own = tacit_one_to_one(), near = tacit_neighborhood(1, 0, 0);
    gen_task t = { .range = tacit_range1(1), .accesses = 1, .place = -1 };
    t.access[0] = access_of(PARTS, TACIT_WRITE, tacit_all());
    add_task_of(program, t);
    t.range = tacit_range1(size);
    t.accesses = 2;
    t.access[1] = access_of(TO, TACIT_UPDATE, own);
    t.access[0] = access_of(PARTS, TACIT_READ, tacit_fixed(tacit_box1(0, half)));
    add_task_of(program, t);
    t.access[0] = access_of(PARTS, TACIT_READ, tacit_fixed(tacit_box1(half, size)));
    add_task_of(program, t);
    t.access[0] = access_of(LEFT, TACIT_READ, near);
    t.access[1] = access_of(RIGHT, TACIT_WRITE, own);
    add_task_of(program, t);
    t.access[0] = access_of(RIGHT, TACIT_READ, near);
    t.access[1] = access_of(LEFT, TACIT_WRITE, own);
    add_task_of(program, t);
    t.access[0] = access_of(LEFT, TACIT_READ, tacit_all());
    add_task_of(program, t);
    for (int loop = 0; loop < LOOPS; loop++) {
        int body[8], length = (int)gen_between(rng, 3, 8);
        for (int i = 0; i < length; i++) {
            body[i] = (int)gen_between(rng, 0, KINDS - 1 - gen_chance(rng, 80));
        }
        const int64_t steps = gen_between(rng, 6, 40) * length + gen_between(rng, 0, length - 1);
        for (int64_t i = 0; i < steps; i++) {
            ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = body[i % length] }));
        }
    }
    return program;
}

static void held_tasks(void **state)
{
    (void)state;
    uint64_t steps;
    assert_true(compare_all(held_program, 1000, &steps) > 50000);
}

/* ---- loops that are wider than the limit on the front (plan/task/anchor.h) */

/* Passes over many buffers, in which few tasks wait for each other; some tasks are on one node. */
static gen_program *wide_program(uint64_t seed, gen_rng *rng)
{
    enum { LOOPS = 2 };
    gen_program *program = TI_NEW(gen_program);
    const int buffers = (int)gen_between(rng, 40, 200);
    const bool is_near = gen_chance(rng, 40), is_placed = gen_chance(rng, 30);
    program->seed = seed;
    program->nodes = (int)gen_between(rng, 1, 5);
    for (int b = 0; b < buffers; b++) {
        add_buffer(program, 10, true);
    }
    for (int b = 0; b < buffers; b++) {
        gen_task t = { .range = tacit_range1(10), .accesses = 1, .place = -1 };
        t.access[0] = access_of(b, TACIT_UPDATE, tacit_one_to_one());
        if (is_near && b % 3 == 0) {
            t.access[t.accesses++] = access_of((b + 1) % buffers, TACIT_READ, tacit_neighborhood(1, 0, 0));
        }
        t.place = is_placed && gen_chance(rng, 20) ? (int)gen_between(rng, 0, program->nodes - 1) : -1;
        add_task_of(program, t);
    }
    for (int loop = 0; loop < LOOPS; loop++) {
        const int first = (int)gen_between(rng, 0, buffers / 2), last = (int)gen_between(rng, first, buffers - 1);
        const int64_t steps = gen_between(rng, 10, 30) * (last + 1 - first) + gen_between(rng, 0, last - first);
        for (int64_t i = 0; i < steps; i++) {
            const int task = first + (int)(i % (last + 1 - first));
            ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = task }));
        }
    }
    return program;
}

static void wide_loops(void **state)
{
    (void)state;
    uint64_t steps;
    const uint64_t repeated = compare_all(wide_program, 150, &steps);
    assert_true(4 * repeated > steps);
}

/* ---- rounds of more segments than are looked for at first */

enum { FIRST_SEGMENTS = 256 }; /* as plan/track/loop.c has them */

/* One row of a matrix, from the row above and the columns to the left, by the node that has these columns. */
static gen_task wavefront_task(size_t row, size_t begin, size_t end, int node)
{
    const size_t left = begin ? begin - 1 : begin;
    gen_task t = { .range = tacit_range1(1), .accesses = 3, .place = node };
    t.access[0] = access_of(0, TACIT_READ, tacit_fixed(tacit_box2(row - 1, row, left, end)));
    t.access[1] = access_of(0, TACIT_READ, tacit_fixed(tacit_box2(row, row + 1, left, left + 1)));
    t.access[2] = access_of(0, begin ? TACIT_WRITE : TACIT_UPDATE, tacit_fixed(tacit_box2(row, row + 1, begin, end)));
    t.accesses = begin ? 3 : 2;
    t.access[1] = begin ? t.access[1] : t.access[2];
    return t;
}

/* A wavefront: one row after the other, by blocks of columns, and then a few others, which may be a short loop of their
 * own. Each row waits for the one before, so there are as many segments as rows, or a half or a third of that. */
static gen_program *long_program(uint64_t seed, gen_rng *rng, int64_t horizon_step)
{
    enum { COLUMNS = 24, OTHERS = 4, MATRIX = 0, VECTOR = 1 };
    gen_program *program = TI_NEW(gen_program);
    const int rows = (int)(horizon_step * gen_between(rng, FIRST_SEGMENTS + 20, 2 * FIRST_SEGMENTS));
    const int others = (int)gen_between(rng, 0, 30), times = (int)gen_between(rng, 14, 20);
    const bool is_loop = gen_chance(rng, 50);
    const tacit_mapper own = tacit_one_to_one(), near = tacit_neighborhood(1, 0, 0);
    program->seed = seed;
    program->nodes = (int)gen_between(rng, 2, 4);
    add_buffer(program, (size_t)rows + 1, true);
    program->buffer.data[MATRIX].range = tacit_range2((size_t)rows + 1, COLUMNS);
    add_buffer(program, COLUMNS, true);
    for (int i = 0; i < rows * program->nodes; i++) {
        const size_t node = (size_t)(i % program->nodes), nodes = (size_t)program->nodes;
        ti_vec_push(&program->task, wavefront_task((size_t)i / nodes + 1, COLUMNS * node / nodes,
                                                   COLUMNS * (node + 1) / nodes, (int)node));
    }
    const int row_tasks = (int)program->task.count;
    gen_task t = { .range = tacit_range1(COLUMNS), .accesses = 2, .place = -1 };
    t.access[0] = access_of(MATRIX, TACIT_READ, tacit_components(tacit_span(0, 1), tacit_dim(0), tacit_full()));
    t.access[1] = access_of(VECTOR, TACIT_UPDATE, own);
    ti_vec_push(&program->task, t);
    t.accesses = 1;
    t.access[0] = access_of(VECTOR, TACIT_UPDATE, own);
    ti_vec_push(&program->task, t);
    t.accesses = 2;
    t.access[1] = access_of(VECTOR, TACIT_READ, near);
    t.place = (int)gen_between(rng, 0, program->nodes - 1);
    t.access[0] = access_of(MATRIX, TACIT_UPDATE, tacit_fixed(tacit_box2(0, 1, 0, COLUMNS)));
    ti_vec_push(&program->task, t);
    t.accesses = 1;
    t.access[0] = access_of(VECTOR, TACIT_READ, gen_chance(rng, 50) ? tacit_all() : near);
    ti_vec_push(&program->task, t);
    int *body = TI_NEW_ARRAY(int, (size_t)(row_tasks + others));
    for (int i = 0; i < row_tasks + others; i++) {
        body[i] = i < row_tasks ? i : row_tasks + (is_loop ? i % 2 : (int)gen_between(rng, 0, OTHERS - 1));
    }
    for (int i = 0; i < times * (row_tasks + others); i++) {
        ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = body[i % (row_tasks + others)] }));
    }
    ti_free(body, (size_t)(row_tasks + others) * sizeof(*body));
    return program;
}

static void long_rounds(void **state)
{
    (void)state;
    uint64_t repeated = 0, steps = 0;
    for (uint64_t seed = 1; seed <= EFFORT(30, 6); seed++) {
        gen_rng rng = { gen_mix(seed ^ 0x10a6) };
        const int64_t horizon_step = gen_between(&rng, 1, 2);
        gen_program *program = long_program(seed, &rng, horizon_step);
        repeated += compare_at(program, &rng, horizon_step);
        steps += program->step.count;
        gen_destroy(program);
    }
    printf("%llu of %llu tasks repeated\n", (unsigned long long)repeated, (unsigned long long)steps);
    assert_true(5 * repeated > steps);
}

/* ---- more collectives in a round than are kept of a buffer, and not more */

static void many_collectives(void **state)
{
    (void)state;
    enum { FEW = 15, MANY = 47, ROUNDS = 40 }; /* horizons come every 4 tasks */
    uint64_t repeated[2] = { 0 };
    for (int many = 0; many < 2; many++) {
        gen_program *program = TI_NEW(gen_program);
        gen_rng rng = { gen_mix(1) };
        program->nodes = 3;
        for (int b = 0; b < 2; b++) {
            add_buffer(program, MANY, false);
        }
        gen_task t = { .range = tacit_range1(MANY), .accesses = 1, .place = -1 };
        t.access[0] = access_of(0, TACIT_WRITE, tacit_one_to_one());
        add_task_of(program, t);
        for (size_t i = 0; i < (many ? MANY : FEW); i++) {
            t.accesses = 2;
            t.access[0] = access_of(0, TACIT_READ, tacit_fixed(tacit_box1(i, i + 1)));
            t.access[1] = access_of(1, TACIT_UPDATE, tacit_one_to_one());
            add_task_of(program, t);
        }
        const size_t steps = program->task.count;
        for (int round = 0; round < ROUNDS; round++) {
            for (size_t i = 0; i < steps; i++) {
                ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = (int)i }));
            }
        }
        ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = 0 }));
        for (size_t i = FEW; i < MANY && !many; i++) { /* they drive the others out */
            t.access[0] = access_of(0, TACIT_READ, tacit_fixed(tacit_box1(i, i + 1)));
            add_task_of(program, t);
        }
        for (int i = 0; i < 4; i++) {
            repeated[many] += compare(program, &rng);
        }
        gen_destroy(program);
    }
    printf("%llu and %llu tasks repeated\n", (unsigned long long)repeated[0], (unsigned long long)repeated[1]);
    assert_true(repeated[0] > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_loops), cmocka_unit_test(sums),        cmocka_unit_test(held_tasks),
        cmocka_unit_test(wide_loops),   cmocka_unit_test(long_rounds), cmocka_unit_test(many_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
