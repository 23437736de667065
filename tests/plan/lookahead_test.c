/* Which tasks wait for which others before memory is allocated, what is allocated then, and what is refused: one
 * node's planners, called directly. Nothing is executed. */
#include "ir/signal.h"
#include "plan/command/graph.h"
#include "plan/instruction/graph.h"
#include "plan/task/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { BUFFERS = 8, N = 1000 };

typedef struct node {
    ti_system system;
    ti_task_graph *tasks;
    ti_command_graph *commands;
    ti_instruction_graph *graph;
    ti_buffer_info buffer[BUFFERS];
    int buffers;
    TI_VEC(ti_instruction) seen; /* copies, without what they point to */
    size_t newest;               /* of the latest call */
    uint64_t first_dep;          /* of the latest allocation; 0: none */
} node;

static const ti_system one = { .num_nodes = 1,
                               .local_nodes = 1,
                               .devices = 1,
                               .memories = 1,
                               .workers = 2,
                               .total_workers = 2,
                               .horizon_step = 4,
                               .horizon_front = 64,
                               .lookahead = 8 };

static void setup_node(node *n, ti_system system)
{
    memset(n, 0, sizeof(*n));
    n->system = system;
    n->tasks = ti_task_graph_create(&n->system);
    n->commands = ti_command_graph_create(&n->system);
    n->graph = ti_instruction_graph_create(&n->system);
}

static void teardown_node(node *n)
{
    ti_instruction_graph_destroy(n->graph);
    ti_command_graph_destroy(n->commands);
    ti_task_graph_destroy(n->tasks);
    ti_vec_fini(&n->seen);
}

static void see(node *n, ti_instruction_batch batch)
{
    n->newest = n->seen.count;
    for (size_t i = 0; i < batch.count; i++) {
        const ti_instruction *instruction = batch.instruction[i];
        if (instruction->kind == TI_INSTRUCTION_ALLOC) {
            n->first_dep = instruction->deps ? instruction->dep[0] : 0;
        }
        ti_vec_push(&n->seen, *instruction);
    }
}

/* The task, and a horizon if one follows. Returns how many instructions came out. */
static size_t submit(node *n, ti_task *task)
{
    const ti_task *made[TI_TASK_GRAPH_BATCH];
    size_t count = ti_task_graph_add(n->tasks, task, made), before = n->seen.count;
    for (size_t i = 0; i < count; i++) {
        see(n, ti_instruction_graph_add(n->graph, ti_command_graph_add(n->commands, &made[i], 1)));
    }
    n->newest = before;
    return n->seen.count - before;
}

static ti_task *new_task(node *n, ti_task_kind kind, const char *name)
{
    return ti_task_graph_new(n->tasks, kind, ti_task_graph_shape(n->tasks, name));
}

static int create(node *n, const char *name, int64_t size, bool init)
{
    int b = n->buffers++;
    n->buffer[b] = (ti_buffer_info){ .slot = (uint32_t)b,
                                     .dims = 1,
                                     .serial = (uint64_t)b + 1,
                                     .name = name,
                                     .extent = { { 0, 0, 0 }, { size, 1, 1 } },
                                     .elem_size = 1 };
    ti_task *task = new_task(n, TI_TASK_CREATE, name);
    task->as.create.buffer = &n->buffer[b];
    static char contents[1]; /* never read: nothing is executed */
    ti_local_piece *piece = TI_ARENA_NEW(ti_task_graph_arena(n->tasks), ti_local_piece);
    *piece = (ti_local_piece){ n->buffer[b].extent, n->buffer[b].extent };
    task->as.create.init = (ti_user_copy){ .memory = contents, .piece = piece, .pieces = init };
    submit(n, task);
    return b;
}

static void destroy(node *n, int buffer)
{
    ti_task *task = new_task(n, TI_TASK_DESTROY, "destroy");
    task->as.destroy = &n->buffer[buffer];
    submit(n, task);
}

static void fill_access(node *n, ti_arena *arena, ti_access *access, int buffer, int mode, tacit_mapper mapper)
{
    ti_mapper parts[TI_MAPPER_PARTS];
    *access = (ti_access){ .buffer = &n->buffer[buffer], .mode = mode };
    access->kind = (uint8_t)mapper.kind;
    access->mappers = (uint32_t)ti_mapper_expand(&mapper, 1, parts);
    access->mapper = ti_arena_copy(arena, parts, access->mappers * sizeof(ti_mapper));
}

/* A task of one item with two accesses to one buffer. */
static void use_two(node *n, const char *name, int buffer, int mode0, tacit_mapper mapper0, int mode1,
                    tacit_mapper mapper1)
{
    ti_arena *arena = ti_task_graph_arena(n->tasks);
    ti_shape *shape = ti_task_graph_shape(n->tasks, name);
    ti_access *access = TI_ARENA_ARRAY(arena, ti_access, 2);
    fill_access(n, arena, &access[0], buffer, mode0, mapper0);
    fill_access(n, arena, &access[1], buffer, mode1, mapper1);
    shape->range = (ti_box){ { 0, 0, 0 }, { 1, 1, 1 } };
    shape->access = access;
    shape->accesses = 2;
    ti_shape_fill_footprints(shape, arena);
    submit(n, ti_task_graph_new(n->tasks, TI_TASK_EXECUTE, shape));
}

/* A task of `items` with one access, or a fence. */
static size_t use(node *n, ti_task_kind kind, const char *name, int64_t items, int buffer, int mode,
                  tacit_mapper mapper)
{
    ti_arena *arena = ti_task_graph_arena(n->tasks);
    ti_shape *shape = ti_task_graph_shape(n->tasks, name);
    ti_task *task = ti_task_graph_new(n->tasks, kind, shape);
    ti_access *access = TI_ARENA_NEW(arena, ti_access);
    fill_access(n, arena, access, buffer, mode, mapper);
    if (mode == TACIT_REDUCE) {
        access->reducer.op = tacit_sum(TACIT_UINT8);
    }
    if (kind == TI_TASK_FENCE) {
        static ti_signal signal;
        static char result[1];
        ti_local_piece *piece = TI_ARENA_NEW(arena, ti_local_piece);
        ti_mapper_image(access->mapper, &access->buffer->extent, &shape->range, &piece->box);
        piece->whole = piece->box;
        task->as.fence = (ti_user_copy){ result, piece, 1, &signal };
    }
    shape->range = (ti_box){ { 0, 0, 0 }, { items, 1, 1 } };
    shape->access = access;
    shape->accesses = 1;
    ti_shape_fill_footprints(shape, arena);
    return submit(n, task);
}

static size_t run(node *n, const char *name, int64_t items, int buffer, int mode, tacit_mapper mapper)
{
    return use(n, TI_TASK_EXECUTE, name, items, buffer, mode, mapper);
}

static tacit_mapper part(size_t a, size_t b)
{
    return tacit_fixed(tacit_box1(a, b));
}

static size_t fence(node *n, int buffer, size_t a, size_t b)
{
    return use(n, TI_TASK_FENCE, "fence", 1, buffer, TACIT_READ, part(a, b));
}

static void epoch(node *n)
{
    submit(n, new_task(n, TI_TASK_EPOCH, "wait"));
}

static size_t count(const node *n, ti_instruction_kind kind)
{
    size_t found = 0;
    for (size_t i = 0; i < n->seen.count; i++) {
        found += n->seen.data[i].kind == kind;
    }
    return found;
}

static uint64_t reallocations(const node *n)
{
    return ti_instruction_graph_counts(n->graph).reallocations;
}

/* ---- windows */

static void what_fits_passes(void **state)
{
    (void)state;
    node n;
    setup_node(&n, one);
    int a = create(&n, "a", N, true);
    assert_false(ti_instruction_graph_is_waiting(n.graph));
    assert_int_equal(count(&n, TI_INSTRUCTION_ALLOC), 1);
    assert_int_equal(run(&n, "step", N, a, TACIT_UPDATE, tacit_one_to_one()), 1);
    assert_int_equal(run(&n, "step", 10, a, TACIT_READ, tacit_neighborhood(1, 0, 0)), 1);
    assert_false(ti_instruction_graph_is_waiting(n.graph));
    teardown_node(&n);
}

/* What one task writes and the next reads with neighbours is allocated once. */
static void a_window_allocates_once(void **state)
{
    (void)state;
    node n;
    setup_node(&n, one);
    int a = create(&n, "a", N, false);
    assert_int_equal(run(&n, "write", 100, a, TACIT_WRITE, tacit_one_to_one()), 0);
    assert_true(ti_instruction_graph_is_waiting(n.graph));
    assert_int_equal(run(&n, "read", 100, a, TACIT_READ, tacit_neighborhood(3, 0, 0)), 0);
    see(&n, ti_instruction_graph_close(n.graph));
    assert_false(ti_instruction_graph_is_waiting(n.graph));
    assert_int_equal(n.seen.count, 3);
    assert_int_equal(n.seen.data[0].kind, TI_INSTRUCTION_ALLOC);
    assert_int_equal(n.seen.data[0].as.memory.bytes, 103);
    assert_string_equal(n.seen.data[1].task->shape->name, "write");
    assert_string_equal(n.seen.data[2].task->shape->name, "read");
    assert_int_equal(reallocations(&n), 0);
    teardown_node(&n);
}

static void without_lookahead_it_grows(void **state)
{
    (void)state;
    node n;
    ti_system system = one;
    system.lookahead = 0;
    setup_node(&n, system);
    int a = create(&n, "a", N, false);
    assert_int_equal(run(&n, "write", 100, a, TACIT_WRITE, tacit_one_to_one()), 2);
    assert_int_equal(run(&n, "read", 100, a, TACIT_READ, tacit_neighborhood(3, 0, 0)), 2);
    assert_int_equal(reallocations(&n), 1);
    assert_int_equal(ti_instruction_graph_counts(n.graph).reallocated_bytes, 100);
    teardown_node(&n);
}

static void sync_points_close(void **state)
{
    (void)state;
    node n;
    setup_node(&n, one);
    int a = create(&n, "a", N, false), b = create(&n, "b", N, false);
    assert_int_equal(run(&n, "write", 100, a, TACIT_WRITE, tacit_one_to_one()), 0);
    assert_int_equal(fence(&n, a, 0, 120), 4);
    assert_int_equal(n.seen.data[0].as.memory.bytes, 120); /* what the fence needs was foreseen */
    assert_false(ti_instruction_graph_is_waiting(n.graph));
    assert_int_equal(run(&n, "write", 100, b, TACIT_WRITE, tacit_one_to_one()), 0);
    epoch(&n);
    assert_false(ti_instruction_graph_is_waiting(n.graph));
    assert_int_equal(count(&n, TI_INSTRUCTION_EPOCH), 1);
    teardown_node(&n);
}

/* A chain, with a horizon every four tasks: eight tasks after the last new need go with it. */
static void second_calm_horizon_closes(void **state)
{
    (void)state;
    node n;
    setup_node(&n, one);
    int a = create(&n, "a", N, false);
    uint64_t horizons = 0;
    run(&n, "write", 100, a, TACIT_WRITE, tacit_one_to_one());
    uint64_t before = ti_task_graph_horizons(n.tasks);
    while (ti_instruction_graph_is_waiting(n.graph)) {
        assert_true(horizons < 2);
        run(&n, "step", 100, a, TACIT_UPDATE, tacit_one_to_one());
        horizons = ti_task_graph_horizons(n.tasks) - before;
    }
    assert_int_equal(horizons, 2);
    assert_int_equal(count(&n, TI_INSTRUCTION_ALLOC), 1);
    teardown_node(&n);
}

/* If something new is needed again and again, the window spans as many horizons as may be under way, and no more. */
static void a_window_is_bounded(void **state)
{
    (void)state;
    for (int lookahead = 2; lookahead <= 8; lookahead += 3) {
        node n;
        ti_system system = one;
        system.lookahead = lookahead;
        setup_node(&n, system);
        int a = create(&n, "a", 1000000, false);
        run(&n, "write", 1, a, TACIT_WRITE, part(0, 1));
        uint64_t before = ti_task_graph_horizons(n.tasks);
        for (size_t i = 1; ti_instruction_graph_is_waiting(n.graph); i++) {
            run(&n, "grow", 1, a, TACIT_WRITE, part(0, i + 1));
        }
        assert_int_equal(ti_task_graph_horizons(n.tasks) - before, lookahead);
        assert_int_equal(reallocations(&n), 0);
        teardown_node(&n);
    }
}

/* Without horizons, commands do not pile up for ever. */
static void a_window_is_bounded_without_horizons(void **state)
{
    (void)state;
    node n;
    ti_system system = one;
    system.horizon_step = system.horizon_front = INT64_MAX / 2;
    setup_node(&n, system);
    int a = create(&n, "a", N, false);
    size_t held = 0;
    for (run(&n, "write", N, a, TACIT_WRITE, tacit_one_to_one()); ti_instruction_graph_is_waiting(n.graph); held++) {
        assert_true(held < 10000);
        run(&n, "read", N, a, TACIT_READ, tacit_one_to_one());
    }
    assert_true(held > 100);
    teardown_node(&n);
}

static void creation_passes_by(void **state)
{
    (void)state;
    node n;
    setup_node(&n, one);
    int a = create(&n, "a", N, false);
    run(&n, "write", 100, a, TACIT_WRITE, tacit_one_to_one());
    size_t before = n.seen.count;
    int b = create(&n, "b", 50, true);
    assert_int_equal(n.seen.count - before, 2); /* allocation and copy */
    assert_true(ti_instruction_graph_is_waiting(n.graph));
    assert_int_equal(run(&n, "later", 50, b, TACIT_UPDATE, tacit_one_to_one()), 0); /* in order */
    destroy(&n, a);
    see(&n, ti_instruction_graph_close(n.graph));
    assert_string_equal(n.seen.data[before + 2].task->shape->name, "write");
    assert_int_equal(n.seen.data[n.seen.count - 1].kind, TI_INSTRUCTION_FREE);
    teardown_node(&n);
}

/* Tiles that nobody needs together stay apart, whatever the order; one that meets two joins them. */
static void tiles_stay_apart(void **state)
{
    (void)state;
    node n;
    setup_node(&n, one);
    int a = create(&n, "a", N, false);
    for (size_t i = 0; i < 10; i++) {
        size_t at = i * 7 % 10;
        run(&n, "tile", 1, a, TACIT_WRITE, part(at * 10, at * 10 + 10));
    }
    run(&n, "two", 1, a, TACIT_UPDATE, part(35, 45));
    see(&n, ti_instruction_graph_close(n.graph));
    assert_int_equal(count(&n, TI_INSTRUCTION_ALLOC), 9);
    assert_int_equal(count(&n, TI_INSTRUCTION_COPY), 0);
    uint64_t bytes = 0, most = 0;
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(n.seen.data[i].kind, TI_INSTRUCTION_ALLOC);
        bytes += n.seen.data[i].as.memory.bytes;
        most = TI_MAX(most, n.seen.data[i].as.memory.bytes);
    }
    assert_int_equal(bytes, 100);
    assert_int_equal(most, 20);
    teardown_node(&n);
}

/* A buffer to which every step appends: all copies together are a small multiple of what there is in the end. */
static void growth_is_geometric(void **state)
{
    (void)state;
    for (int lookahead = 0; lookahead <= 8; lookahead += 8) {
        enum { STEPS = 3000, SLAB = 16 };
        node n;
        ti_system system = one;
        system.lookahead = lookahead;
        setup_node(&n, system);
        int a = create(&n, "a", (int64_t)STEPS * SLAB, false);
        for (size_t i = 0; i < STEPS; i++) {
            run(&n, "append", 1, a, TACIT_WRITE, part(i * SLAB, i * SLAB + SLAB));
            run(&n, "read", 1, a, TACIT_READ, part(0, i * SLAB + SLAB));
        }
        epoch(&n);
        ti_instruction_counts counts = ti_instruction_graph_counts(n.graph);
        assert_true(counts.reallocations >= 5 && counts.reallocations <= 60);
        assert_true(counts.reallocated_bytes <= 3u * STEPS * SLAB);
        teardown_node(&n);
    }
}

/* The same where a step reads what was there and writes a row that does not touch it, in whichever order the task
 * names them. */
static void growth_of_rows_is_geometric(void **state)
{
    (void)state;
    for (int order = 0; order < 4; order++) {
        enum { STEPS = 1000, ROW = 16 };
        node n;
        ti_system system = one;
        system.lookahead = order < 2 ? 0 : 8;
        setup_node(&n, system);
        int a = create(&n, "a", (int64_t)STEPS * ROW, false);
        run(&n, "first", 1, a, TACIT_WRITE, part(0, ROW));
        for (size_t i = 1; i < STEPS; i++) {
            const tacit_mapper rows = part(0, i * ROW), row = part(i * ROW, i * ROW + ROW);
            use_two(&n, "step", a, order % 2 ? TACIT_WRITE : TACIT_READ, order % 2 ? row : rows,
                    order % 2 ? TACIT_READ : TACIT_WRITE, order % 2 ? rows : row);
        }
        epoch(&n);
        ti_instruction_counts counts = ti_instruction_graph_counts(n.graph);
        assert_true(counts.reallocations >= 5 && counts.reallocations <= 60);
        assert_true(counts.reallocated_bytes <= 4u * STEPS * ROW);
        teardown_node(&n);
    }
}

/* ---- limits */

static void says(const char *text, const char *words)
{
    char copy[400];
    assert_true(strlen(words) < sizeof(copy));
    strcpy(copy, words);
    for (char *word = strtok(copy, "|"); word; word = strtok(NULL, "|")) {
        if (!strstr(text, word)) {
            fail_msg("'%s' is not in: %s", word, text);
        }
    }
}

static ti_system limited(uint64_t bytes)
{
    ti_system system = one;
    system.memory = bytes;
    system.machine = 1 << 20;
    return system;
}

static void exactly_the_need_fits(void **state)
{
    (void)state;
    for (uint64_t spare = 0; spare < 2; spare++) {
        node n;
        setup_node(&n, limited(340 - spare));
        int a = create(&n, "a", 100, true), b = create(&n, "b", N, false);
        run(&n, "write", 200, b, TACIT_WRITE, tacit_one_to_one());
        run(&n, "halo", 200, b, TACIT_READ, tacit_neighborhood(40, 0, 0));
        run(&n, "both", 100, a, TACIT_READ, tacit_one_to_one());
        size_t before = n.seen.count;
        epoch(&n);
        const ti_refusal *refusal = ti_instruction_graph_refusal(n.graph);
        if (spare == 0) {
            assert_null(refusal);
            assert_int_equal(n.seen.count - before, 5);
        } else {
            assert_int_equal(n.seen.count - before, 0);
            assert_non_null(refusal);
            says(
                refusal->sentence.text,
                "task 'halo' reads [0,240) of buffer 'b' by tacit_neighborhood|: 240 B;|needs 340 B|1 B more than 339 B|"
                "TACIT_MEMORY_LIMIT|1.00 MiB|more nodes");
            says(refusal->table.text, "buffer|extent|whole|[0,100)|[0,1000)|1000 B|240 B|100 B|all|340 B|339 B");
            assert_int_equal(run(&n, "more", 10, a, TACIT_READ, tacit_one_to_one()), 0);
        }
        teardown_node(&n);
    }
}

static void causes_have_cures(void **state)
{
    (void)state;
    node n;
    setup_node(&n, limited(500));
    int a = create(&n, "a", N, false);
    run(&n, "fill", 100, a, TACIT_WRITE, tacit_one_to_one());
    run(&n, "forces", 100, a, TACIT_READ, tacit_all());
    epoch(&n);
    says(ti_instruction_graph_refusal(n.graph)->sentence.text,
         "task 'forces' reads all of buffer 'a' by tacit_all|more nodes do not change that");
    teardown_node(&n);

    setup_node(&n, limited(500));
    create(&n, "initial", N, true);
    says(ti_instruction_graph_refusal(n.graph)->sentence.text, "'initial' is created with .init|write it in a task");
    assert_int_equal(n.seen.count, 0);
    teardown_node(&n);

    setup_node(&n, limited(500));
    a = create(&n, "a", N, false);
    run(&n, "fill", 100, a, TACIT_WRITE, tacit_one_to_one());
    fence(&n, a, 50, 600);
    says(ti_instruction_graph_refusal(n.graph)->sentence.text, "a fence needs [50,600) of buffer 'a'|read it in parts");
    teardown_node(&n);
}

/* 50 for the result, and 50 for each of two workers. */
static void partial_results_count(void **state)
{
    (void)state;
    for (uint64_t spare = 0; spare < 2; spare++) {
        node n;
        setup_node(&n, limited(150 - spare));
        int a = create(&n, "a", 50, false);
        for (int i = 0; i < 20; i++) {
            run(&n, "sum", 10, a, TACIT_REDUCE, tacit_all());
        }
        epoch(&n);
        const ti_refusal *refusal = ti_instruction_graph_refusal(n.graph);
        if (spare == 0) {
            assert_null(refusal);
            assert_true(n.first_dep > 0); /* one waits until the one before is freed */
        } else {
            assert_non_null(refusal);
            says(refusal->table.text, "(partial results)|100 B");
        }
        teardown_node(&n);
    }
}

static void results_count(void **state)
{
    (void)state;
    for (uint64_t spare = 0; spare < 2; spare++) {
        node n;
        setup_node(&n, limited(150 - spare));
        int a = create(&n, "a", 100, false);
        ti_instruction_graph_set_results(n.graph, 50);
        run(&n, "fill", 100, a, TACIT_WRITE, tacit_one_to_one());
        epoch(&n);
        assert_int_equal(ti_instruction_graph_refusal(n.graph) != NULL, spare == 1);
        teardown_node(&n);
    }
}

/* One buffer after the other, each as large as the limit: the next waits for the memory of the last, also inside a
 * window. */
static void memory_is_used_again(void **state)
{
    (void)state;
    for (int lookahead = 0; lookahead <= 8; lookahead += 8) {
        node n;
        ti_system system = limited(100);
        system.lookahead = lookahead;
        setup_node(&n, system);
        for (int i = 0; i < BUFFERS; i++) {
            int a = create(&n, "a", 100, i % 3 == 2);
            run(&n, "use", 100, a, i % 3 == 2 ? TACIT_UPDATE : TACIT_WRITE, tacit_one_to_one());
            destroy(&n, a);
        }
        epoch(&n);
        assert_null(ti_instruction_graph_refusal(n.graph));
        assert_int_equal(count(&n, TI_INSTRUCTION_ALLOC), BUFFERS);
        assert_int_equal(count(&n, TI_INSTRUCTION_FREE), BUFFERS);
        assert_true(n.first_dep > 0);
        teardown_node(&n);
    }
}

/* An allocation becomes the larger one: there never are both. */
static void growth_counts_once(void **state)
{
    (void)state;
    for (uint64_t spare = 0; spare < 2; spare++) {
        node n;
        setup_node(&n, limited(200 - spare));
        int a = create(&n, "a", N, false);
        run(&n, "first", 100, a, TACIT_WRITE, tacit_one_to_one());
        epoch(&n);
        run(&n, "second", 200, a, TACIT_WRITE, tacit_one_to_one());
        epoch(&n);
        const ti_refusal *refusal = ti_instruction_graph_refusal(n.graph);
        assert_int_equal(refusal != NULL, spare == 1);
        if (refusal) {
            assert_null(strstr(refusal->table.text, "(while buffers grow)"));
        }
        teardown_node(&n);
    }
}

/* Of several that join, only the largest becomes the new one; the others are there beside it for a moment. */
static void joining_counts_the_smaller_twice(void **state)
{
    (void)state;
    for (uint64_t spare = 0; spare < 2; spare++) {
        node n;
        setup_node(&n, limited(260 - spare));
        int a = create(&n, "a", N, false);
        run(&n, "first", 100, a, TACIT_WRITE, tacit_one_to_one());
        run(&n, "second", 1, a, TACIT_WRITE, tacit_fixed(tacit_box1(140, 200)));
        epoch(&n);
        run(&n, "both", 1, a, TACIT_READ, tacit_components(tacit_span(0, 200), tacit_full(), tacit_full()));
        epoch(&n);
        const ti_refusal *refusal = ti_instruction_graph_refusal(n.graph);
        assert_int_equal(refusal != NULL, spare == 1);
        if (refusal) {
            says(refusal->table.text, "(while buffers grow)|60 B");
        } else {
            assert_int_equal(reallocations(&n), 2);
            assert_int_equal(count(&n, TI_INSTRUCTION_COPY), 1);
            assert_int_equal(count(&n, TI_INSTRUCTION_FREE), 1);
        }
        teardown_node(&n);
    }
}

/* All memories of a node come out of the same machine. */
static void discrete_devices_count(void **state)
{
    (void)state;
    for (uint64_t spare = 0; spare < 2; spare++) {
        node n;
        ti_system system = limited(300 - spare);
        system.devices = 2;
        system.memories = 3;
        setup_node(&n, system);
        int a = create(&n, "a", 100, true);
        run(&n, "all", 100, a, TACIT_READ, tacit_all());
        epoch(&n);
        assert_int_equal(ti_instruction_graph_refusal(n.graph) != NULL, spare == 1);
        teardown_node(&n);
    }
}

/* ---- staging memory */

enum { LARGE = 1 << 20 };

/* The next reduction of the same size has what the one before has used, until horizons have passed by. */
static void staging_is_kept(void **state)
{
    (void)state;
    node n;
    setup_node(&n, one);
    int sum = create(&n, "sum", LARGE, false), other = create(&n, "other", 4, true);
    for (int i = 0; i < 40; i++) {
        run(&n, "reduce", 8, sum, TACIT_REDUCE, tacit_all());
    }
    assert_int_equal(count(&n, TI_INSTRUCTION_ALLOC), 3); /* the buffers, and one for all slots */
    assert_int_equal(count(&n, TI_INSTRUCTION_FREE), 0);
    for (int i = 0; i < 400; i++) {
        run(&n, "other", 4, other, TACIT_UPDATE, tacit_one_to_one());
    }
    assert_int_equal(count(&n, TI_INSTRUCTION_FREE), 1);
    teardown_node(&n);
}

/* A reduction now and then uses what the one before has used. */
static void staging_of_rare_reductions(void **state)
{
    (void)state;
    for (int apart = 8; apart <= 200; apart *= 5) {
        node n;
        setup_node(&n, one);
        int sum = create(&n, "sum", 1, false), other = create(&n, "other", 4, true);
        for (int i = 0; i < 40; i++) {
            for (int k = 0; k < apart; k++) {
                run(&n, "other", 4, other, TACIT_UPDATE, tacit_one_to_one());
            }
            run(&n, "reduce", 8, sum, TACIT_REDUCE, tacit_all());
        }
        assert_int_equal(count(&n, TI_INSTRUCTION_ALLOC), 2 + 1);
        assert_int_equal(count(&n, TI_INSTRUCTION_FREE), 0);
        teardown_node(&n);
    }
}

/* Each size by itself: of a small one as many as tasks of two horizons and more use. */
static void staging_of_two_sizes(void **state)
{
    (void)state;
    node n;
    setup_node(&n, one);
    int small = create(&n, "small", 8, false), large = create(&n, "large", LARGE, false);
    int other = create(&n, "other", 4, true);
    for (int i = 0; i < 40; i++) {
        run(&n, "reduce small", 8, small, TACIT_REDUCE, tacit_all());
        run(&n, "reduce large", 8, large, TACIT_REDUCE, tacit_all());
        run(&n, "reduce small", 8, small, TACIT_REDUCE, tacit_all());
    }
    assert_int_equal(count(&n, TI_INSTRUCTION_ALLOC), 3 + 8 + 1);
    assert_int_equal(count(&n, TI_INSTRUCTION_FREE), 0);
    for (int i = 0; i < 400; i++) {
        run(&n, "other", 4, other, TACIT_UPDATE, tacit_one_to_one());
    }
    assert_int_equal(count(&n, TI_INSTRUCTION_FREE), 1); /* the large one */
    for (int i = 0; i < 1200; i++) {
        run(&n, "other", 4, other, TACIT_UPDATE, tacit_one_to_one());
    }
    assert_int_equal(count(&n, TI_INSTRUCTION_FREE), 8 + 1);
    teardown_node(&n);
}

/* What is kept counts as free. */
static void staging_makes_room(void **state)
{
    (void)state;
    node n;
    setup_node(&n, limited(4 * LARGE));
    int sum = create(&n, "sum", LARGE, false), large = create(&n, "large", 3 * LARGE, false);
    run(&n, "reduce", 8, sum, TACIT_REDUCE, tacit_all());
    epoch(&n);
    assert_int_equal(count(&n, TI_INSTRUCTION_FREE), 0);
    run(&n, "large", 8, large, TACIT_WRITE, tacit_all());
    epoch(&n);
    assert_null(ti_instruction_graph_refusal(n.graph));
    assert_int_equal(count(&n, TI_INSTRUCTION_FREE), 1);
    for (size_t i = 0; i < n.seen.count; i++) {
        bool frees = n.seen.data[i].kind == TI_INSTRUCTION_FREE;
        assert_true(!frees || n.first_dep == n.seen.data[i].id);
    }
    teardown_node(&n);
}

/* One worker fills the buffer itself, if that is worth waiting for its readers. */
static void one_slot_is_the_buffer(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++) {
        node n;
        ti_system system = one;
        system.workers = 1;
        setup_node(&n, system);
        int sum = create(&n, "sum", large ? LARGE : 8, false);
        run(&n, "reduce", 8, sum, TACIT_REDUCE, tacit_all());
        run(&n, "read", 8, sum, TACIT_READ, tacit_all());
        epoch(&n);
        assert_int_equal(count(&n, TI_INSTRUCTION_REDUCE), large ? 0 : 1);
        assert_int_equal(count(&n, TI_INSTRUCTION_ALLOC), large ? 1 : 2);
        teardown_node(&n);
    }
}

static const ti_instruction *find(const node *n, ti_instruction_kind kind)
{
    for (size_t i = 0; i < n->seen.count; i++) {
        if (n->seen.data[i].kind == kind) {
            return &n->seen.data[i];
        }
    }
    return NULL;
}

/* Over several nodes small slots are combined by whoever starts the collective, large ones before, by all workers. */
static void small_slots_need_no_instruction(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++) {
        node n;
        ti_system system = one;
        system.num_nodes = 2;
        system.node = 1;
        system.total_workers = 4;
        system.collectives = TI_COLLECTIVES_LOOKAHEAD;
        setup_node(&n, system);
        int sum = create(&n, "sum", large ? LARGE : 8, false);
        run(&n, "reduce", 8, sum, TACIT_REDUCE, tacit_all());
        epoch(&n);
        const ti_instruction *kernel = find(&n, TI_INSTRUCTION_KERNEL), *both = find(&n, TI_INSTRUCTION_COLLECTIVE);
        assert_int_equal(count(&n, TI_INSTRUCTION_REDUCE), large);
        assert_true(kernel && both && (both->as.collective.first == NULL) == large);
        if (!large) {
            assert_int_equal(both->as.collective.first->slots, 2);
            assert_int_equal(both->as.collective.first->staging, kernel->as.kernel.view[0].place.allocation);
            assert_int_equal(both->dep[0], kernel->id);
        }
        teardown_node(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_passes),
        cmocka_unit_test(a_window_allocates_once),
        cmocka_unit_test(without_lookahead_it_grows),
        cmocka_unit_test(sync_points_close),
        cmocka_unit_test(second_calm_horizon_closes),
        cmocka_unit_test(a_window_is_bounded),
        cmocka_unit_test(a_window_is_bounded_without_horizons),
        cmocka_unit_test(creation_passes_by),
        cmocka_unit_test(tiles_stay_apart),
        cmocka_unit_test(growth_is_geometric),
        cmocka_unit_test(growth_of_rows_is_geometric),
        cmocka_unit_test(exactly_the_need_fits),
        cmocka_unit_test(causes_have_cures),
        cmocka_unit_test(partial_results_count),
        cmocka_unit_test(results_count),
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(growth_counts_once),
        cmocka_unit_test(joining_counts_the_smaller_twice),
        cmocka_unit_test(discrete_devices_count),
        cmocka_unit_test(staging_is_kept),
        cmocka_unit_test(staging_makes_room),
        cmocka_unit_test(one_slot_is_the_buffer),
        cmocka_unit_test(staging_of_rare_reductions),
        cmocka_unit_test(staging_of_two_sizes),
        cmocka_unit_test(small_slots_need_no_instruction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
