/* What a device holds makes room for what it is to hold: one node's planners, called directly, with devices of limited
 * memory. Nothing is executed.
 *
 * Random programs on one to three devices: at no allocation has a device more than its limit, even if nothing has been
 * freed but what the allocation waits for. And plans that are stated: what the host has, too, is freed without a copy,
 * what only the device has is copied home first and comes back, and what one task by itself cannot have is refused.
 * Usage: spill_test [SEED]. */
#include "ir/signal.h"
#include "plan/command/graph.h"
#include "plan/instruction/graph.h"
#include "plan/task/graph.h"
#include "unit/random.h"

#include <string.h>

enum { MOST_BUFFERS = 6, N = 1000, MOST_SEEN = 2000 };

static uint64_t seed;

/* An instruction that was planned: what it waits for, and what it allocates, or frees if negative. */
typedef struct seen {
    TI_VEC(uint64_t) dep;
    ti_instruction_kind kind;
    int device;
    int64_t bytes;
} seen;

typedef struct node {
    ti_system system;
    ti_task_graph *tasks;
    ti_command_graph *commands;
    ti_instruction_graph *graph;
    ti_buffer_info buffer[MOST_BUFFERS];
    int buffers;
    seen at[MOST_SEEN]; /* by id */
    uint64_t last;
} node;

/* Device 0 is the host, of which kernels are not asked here: all others have a memory of their own. */
static node *start_node(int devices, uint64_t limit, int lookahead)
{
    node *n = calloc(1, sizeof(*n));
    n->system = (ti_system){ .num_nodes = 1,
                             .local_nodes = 1,
                             .devices = devices + 1,
                             .sharing = 1,
                             .memories = devices + 1,
                             .workers = 1,
                             .total_workers = devices + 1,
                             .horizon_step = 4,
                             .horizon_front = 64,
                             .lookahead = lookahead };
    for (int m = 1; m <= devices; m++) {
        n->system.device_memory[m] = limit;
    }
    n->tasks = ti_task_graph_create(&n->system);
    n->commands = ti_command_graph_create(&n->system);
    n->graph = ti_instruction_graph_create(&n->system);
    return n;
}

static void end_node(node *n)
{
    ti_instruction_graph_destroy(n->graph);
    ti_command_graph_destroy(n->commands);
    ti_task_graph_destroy(n->tasks);
    for (size_t i = 0; i < MOST_SEEN; i++) {
        ti_vec_fini(&n->at[i].dep);
    }
    free(n);
}

/* Of all that it waits for: bytes that are freed on a device. */
static int64_t freed_before(const node *n, uint64_t id, int device, bool *met)
{
    const seen *s = &n->at[id];
    int64_t bytes = s->bytes < 0 && s->device == device ? -s->bytes : 0;
    met[id] = true;
    for (size_t i = 0; i < s->dep.count; i++) {
        bytes += met[s->dep.data[i]] ? 0 : freed_before(n, s->dep.data[i], device, met);
    }
    return bytes;
}

static void check_alloc(const node *n, uint64_t id)
{
    bool met[MOST_SEEN] = { false };
    const int device = n->at[id].device;
    int64_t all = 0;
    for (uint64_t i = 1; i <= id; i++) {
        all += n->at[i].device == device && n->at[i].bytes > 0 ? n->at[i].bytes : 0;
    }
    all -= freed_before(n, id, device, met);
    if (device > 0 && all > (int64_t)n->system.device_memory[device]) {
        fail_msg("seed %llu: device %d has %lld bytes at instruction %llu", (unsigned long long)seed, device,
                 (long long)all, (unsigned long long)id);
    }
}

static void see(node *n, ti_instruction_batch batch)
{
    for (size_t i = 0; i < batch.count; i++) {
        const ti_instruction *in = batch.instruction[i];
        assert_true(in->id == n->last + 1 && in->id < MOST_SEEN);
        seen *s = &n->at[++n->last];
        *s = (seen){ .kind = in->kind, .device = in->device };
        for (uint32_t k = 0; k < in->deps; k++) {
            ti_vec_push(&s->dep, in->dep[k]);
        }
        if (in->kind == TI_INSTRUCTION_ALLOC) {
            s->bytes = (int64_t)(in->as.memory.bytes - in->as.memory.grown_bytes);
            check_alloc(n, in->id);
        } else if (in->kind == TI_INSTRUCTION_FREE) {
            s->bytes = -(int64_t)in->as.memory.bytes;
        }
    }
}

static void submit(node *n, ti_task *task)
{
    const ti_task *made[TI_TASK_GRAPH_BATCH];
    size_t count = ti_task_graph_add(n->tasks, task, made);
    for (size_t i = 0; i < count; i++) {
        see(n, ti_instruction_graph_add(n->graph, ti_command_graph_add(n->commands, &made[i], 1)));
    }
}

static int create(node *n, const char *name)
{
    int b = n->buffers++;
    n->buffer[b] = (ti_buffer_info){ .slot = (uint32_t)b,
                                     .dims = 1,
                                     .serial = (uint64_t)b + 1,
                                     .name = name,
                                     .extent = { { 0, 0, 0 }, { N, 1, 1 } },
                                     .elem_size = 1 };
    ti_task *task = ti_task_graph_new(n->tasks, TI_TASK_CREATE, ti_task_graph_shape(n->tasks, name));
    task->as.create.buffer = &n->buffer[b];
    submit(n, task);
    return b;
}

static void fill_access(node *n, ti_arena *arena, ti_access *access, int buffer, int mode, tacit_mapper mapper)
{
    ti_mapper parts[TI_MAPPER_PARTS];
    *access = (ti_access){ .buffer = &n->buffer[buffer], .mode = mode };
    access->kind = (uint8_t)mapper.kind;
    access->mappers = (uint32_t)ti_mapper_expand(&mapper, 1, parts);
    access->mapper = ti_arena_copy(arena, parts, access->mappers * sizeof(ti_mapper));
}

/* Every device but the host writes its part of `to`, and reads `from` by a mapper, if that is not -1. */
static void run(node *n, const char *name, int to, int mode, int from, tacit_mapper mapper)
{
    ti_arena *arena = ti_task_graph_arena(n->tasks);
    ti_shape *shape = ti_task_graph_shape(n->tasks, name);
    ti_access *access = TI_ARENA_ARRAY(arena, ti_access, 2);
    fill_access(n, arena, &access[0], to, mode, tacit_one_to_one());
    if (from >= 0) {
        fill_access(n, arena, &access[1], from, TACIT_READ, mapper);
    }
    shape->range = (ti_box){ { 0, 0, 0 }, { N, 1, 1 } };
    shape->access = access;
    shape->accesses = 1 + (from >= 0);
    ti_shape_fill_footprints(shape, arena);
    submit(n, ti_task_graph_new(n->tasks, TI_TASK_EXECUTE, shape));
}

static void fence(node *n, int buffer)
{
    static ti_signal signal;
    static char result[1]; /* never written: nothing is executed */
    ti_arena *arena = ti_task_graph_arena(n->tasks);
    ti_shape *shape = ti_task_graph_shape(n->tasks, "fence");
    ti_task *task = ti_task_graph_new(n->tasks, TI_TASK_FENCE, shape);
    ti_access *access = TI_ARENA_NEW(arena, ti_access);
    fill_access(n, arena, access, buffer, TACIT_READ, tacit_all());
    ti_local_piece *piece = TI_ARENA_NEW(arena, ti_local_piece);
    piece->whole = piece->box = n->buffer[buffer].extent;
    task->as.fence = (ti_user_copy){ result, piece, 1, &signal };
    shape->range = (ti_box){ { 0, 0, 0 }, { 1, 1, 1 } };
    shape->access = access;
    shape->accesses = 1;
    ti_shape_fill_footprints(shape, arena);
    submit(n, task);
}

static void finish(node *n)
{
    see(n, ti_instruction_graph_close(n->graph));
}

static int count(const node *n, ti_instruction_kind kind)
{
    int found = 0;
    for (uint64_t i = 1; i <= n->last; i++) {
        found += n->at[i].kind == kind;
    }
    return found;
}

static void expect_counts(const node *n, int allocs, int copies, int frees)
{
    assert_null(ti_instruction_graph_refusal(n->graph));
    assert_int_equal(count(n, TI_INSTRUCTION_ALLOC), allocs);
    assert_int_equal(count(n, TI_INSTRUCTION_COPY), copies);
    assert_int_equal(count(n, TI_INSTRUCTION_FREE), frees);
}

/* ---- plans */

enum { PART = N / 2 }; /* of one device: the host computes the other half */

static void what_fits_stays(void **state)
{
    (void)state;
    node *n = start_node(1, (uint64_t)3 * PART, 8);
    int a = create(n, "a"), b = create(n, "b"), c = create(n, "c");
    for (int i = 0; i < 3; i++) {
        run(n, "a", a, TACIT_UPDATE, b, tacit_one_to_one());
        run(n, "b", b, TACIT_UPDATE, c, tacit_one_to_one());
        run(n, "c", c, TACIT_UPDATE, a, tacit_one_to_one());
    }
    finish(n);
    expect_counts(n, 6, 0, 0); /* of each buffer, on the device and on the host */
    end_node(n);
}

/* Two of three fit. What the first task has written is copied home when the third one comes, and back when it is
 * read. */
static void what_only_a_device_has_goes_home(void **state)
{
    (void)state;
    for (int lookahead = 0; lookahead <= 8; lookahead += 8) {
        node *n = start_node(1, (uint64_t)2 * PART, lookahead);
        int a = create(n, "a"), b = create(n, "b"), c = create(n, "c");
        run(n, "a", a, TACIT_WRITE, -1, tacit_all());
        run(n, "b", b, TACIT_WRITE, -1, tacit_all());
        finish(n);
        expect_counts(n, 4, 0, 0);
        run(n, "c", c, TACIT_WRITE, -1, tacit_all());
        finish(n);
        assert_int_equal(count(n, TI_INSTRUCTION_FREE) > 1, false); /* on the host an allocation may join another */
        assert_int_equal(count(n, TI_INSTRUCTION_COPY) >= 1, true);
        int copies = count(n, TI_INSTRUCTION_COPY);
        run(n, "again", c, TACIT_UPDATE, a, tacit_one_to_one());
        finish(n);
        assert_null(ti_instruction_graph_refusal(n->graph));
        assert_int_equal(count(n, TI_INSTRUCTION_COPY), copies + 2); /* b home, a back */
        end_node(n);
    }
}

static void what_is_clean_is_only_freed(void **state)
{
    (void)state;
    node *n = start_node(1, (uint64_t)2 * PART, 8);
    int a = create(n, "a"), b = create(n, "b"), c = create(n, "c");
    run(n, "a", a, TACIT_WRITE, -1, tacit_all());
    run(n, "b", b, TACIT_WRITE, -1, tacit_all());
    fence(n, a);
    finish(n);
    int copies = count(n, TI_INSTRUCTION_COPY), frees = count(n, TI_INSTRUCTION_FREE);
    run(n, "c", c, TACIT_WRITE, -1, tacit_all());
    finish(n);
    assert_null(ti_instruction_graph_refusal(n->graph));
    assert_int_equal(count(n, TI_INSTRUCTION_COPY), copies);
    assert_int_equal(count(n, TI_INSTRUCTION_FREE), frees + 1);
    end_node(n);
}

static void says(const char *text, const char *word)
{
    if (!strstr(text, word)) {
        fail_msg("'%s' is not in: %s", word, text);
    }
}

static void what_one_task_cannot_have_is_refused(void **state)
{
    (void)state;
    node *n = start_node(2, 600, 8); /* of two buffers 333 or 334 bytes each */
    int a = create(n, "first"), b = create(n, "second");
    run(n, "fill", a, TACIT_WRITE, -1, tacit_all());
    run(n, "both", b, TACIT_WRITE, a, tacit_one_to_one());
    finish(n);
    const ti_refusal *refusal = ti_instruction_graph_refusal(n->graph);
    assert_non_null(refusal);
    says(refusal->sentence.text, "task 'both' writes");
    says(refusal->sentence.text, "this device needs 66");
    says(refusal->sentence.text, "600 B (device 1; TACIT_DEVICE_MEMORY)");
    says(refusal->table.text, "memory of device 1");
    says(refusal->table.text, "first");
    says(refusal->table.text, "second");
    end_node(n);
}

/* ---- random programs */

static void run_random(uint64_t s)
{
    static const int modes[] = { TACIT_WRITE, TACIT_UPDATE };
    rng r = rng_from(s);
    int devices = (int)rng_between(&r, 1, 3), part = N / (devices + 1) + 1;
    /* A task needs two parts, of which one may have neighbours: that is enough. */
    uint64_t limit = (uint64_t)rng_between(&r, 2 * part + 18, (rng_between(&r, 0, 1) ? 3 : 9) * part);
    node *n = start_node(devices, limit, rng_between(&r, 0, 1) ? 8 : 0);
    for (int b = 0; b < MOST_BUFFERS; b++) {
        create(n, "buffer");
        run(n, "begin", b, TACIT_WRITE, -1, tacit_all());
    }
    for (int i = 0; i < 25; i++) {
        int to = (int)rng_between(&r, 0, MOST_BUFFERS - 1), from = (int)rng_between(&r, -1, MOST_BUFFERS - 1);
        size_t border = (size_t)rng_between(&r, 0, 9);
        if (rng_between(&r, 0, 9) == 0) {
            fence(n, to);
        } else {
            run(n, "step", to, modes[rng_between(&r, 0, 1)], from == to ? -1 : from,
                border ? tacit_neighborhood(border, 0, 0) : tacit_one_to_one());
        }
        if (rng_between(&r, 0, 5) == 0) {
            finish(n);
        }
    }
    finish(n);
    if (ti_instruction_graph_refusal(n->graph)) {
        fail_msg("seed %llu: %s", (unsigned long long)s, ti_instruction_graph_refusal(n->graph)->sentence.text);
    }
    end_node(n);
}

static void random_programs_keep_to_the_limit(void **state)
{
    (void)state;
    enum { PROGRAMS = 120 };
    for (uint64_t i = 0; i < PROGRAMS; i++) {
        run_random(seed * PROGRAMS + i);
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stays),
        cmocka_unit_test(what_only_a_device_has_goes_home),
        cmocka_unit_test(what_is_clean_is_only_freed),
        cmocka_unit_test(what_one_task_cannot_have_is_refused),
        cmocka_unit_test(random_programs_keep_to_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
