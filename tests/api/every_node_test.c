/* Tasks on every node: what they see and leave behind, their order, and that they may wait for each other.
 *
 * Many nodes in one process, so kernels meet without MPI: each adds itself to a counter of the task and goes on when
 * all nodes have. A kernel that waits for a node whose kernel cannot start would hang; an alarm ends the test then. */
#include "cluster.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ITEMS = 23, ROUNDS = 12, MAX_RENDEZVOUS = 4000, MOST_NODES = 8, MOST_SECONDS = 300 };

static const tacit_config modes[] = {
    { .threads = TACIT_THREADS_INLINE },
    { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1 },
    { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 3, .horizon_step = 1, .run_ahead = 1 },
    { .progress = TACIT_PROGRESS_THREAD, .workers = 1 },
    { .progress = TACIT_PROGRESS_THREAD, .workers = 2, .host_devices = "2:discrete" },
    { .threads = TACIT_THREADS_INLINE, .host_devices = "2:discrete", .horizon_step = 2 },
};

/* ---- kernels that wait for each other */

typedef struct hall {
    int nodes;
    _Atomic int present[MAX_RENDEZVOUS];
    _Atomic int
        next[MOST_NODES]; /* the number of each node's next collective host task: they are the same ones everywhere */
    uint64_t said[MOST_NODES];
} hall;

static void meet(hall *h, int node)
{
    int number = atomic_fetch_add(&h->next[node], 1);
    REQUIRE(number < MAX_RENDEZVOUS);
    atomic_fetch_add(&h->present[number], 1);
    while (atomic_load(&h->present[number]) < h->nodes) {
        sched_yield();
    }
}

/* The sum of what all nodes say. */
static uint64_t all_say(hall *h, int node, uint64_t value)
{
    uint64_t sum = 0;
    h->said[node] = value;
    meet(h, node);
    for (int i = 0; i < h->nodes; i++) {
        sum += h->said[i];
    }
    meet(h, node);
    return sum;
}

/* ---- the plain uses: all of a buffer is read on every node, a number that all agree on is written */

typedef struct agree_args {
    hall *h;
    uint64_t round;
} agree_args;

/* Views: the values of all nodes; the number, old and new. */
static void agree(const tacit_launch *k)
{
    const agree_args *a = k->args;
    uint64_t sum = 0;
    REQUIRE(k->chunk.min[0] == 3 && k->chunk.max[0] == 3 + ITEMS);
    REQUIRE(k->on == TACIT_ON_EVERY_NODE && k->worker < k->num_workers);
    for (size_t i = 0; i < ITEMS; i++) {
        sum += TACIT_GET1(uint64_t, k->view[0], i);
    }
    uint64_t old = TACIT_GET0(uint64_t, k->view[1]);
    TACIT_AT0(uint64_t, k->view[2]) = old + all_say(a->h, k->node, sum % 65536) / (uint64_t)k->num_nodes + a->round;
}

/* Views: the values, with neighbours; the number; new values. */
static void change(const tacit_launch *k)
{
    uint64_t number = TACIT_GET0(uint64_t, k->view[1]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        uint64_t left = i > 0 ? TACIT_GET1(uint64_t, k->view[0], i - 1) : 1;
        TACIT_AT1(uint64_t, k->view[2], i) = TACIT_GET1(uint64_t, k->view[0], i) * 3 + left + number;
    }
}

static void agreeing(tacit_context *ctx, void *user)
{
    uint64_t start[ITEMS], found[ITEMS], expected[2][ITEMS], number = 5, found_number;
    tacit_buffer *old, *fresh, *agreed;
    for (size_t i = 0; i < ITEMS; i++) {
        start[i] = expected[0][i] = i * i;
    }
    tacit_buffer_desc desc = { .name = "v", .range = TACIT_RANGE(ITEMS), .elem_size = 8, .init = start };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &old));
    desc.init = NULL;
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &fresh));
    desc = (tacit_buffer_desc){ .name = "n", .elem_size = 8, .init = &number };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &agreed));
    for (uint64_t r = 0; r < ROUNDS; r++) {
        agree_args args = { user, r };
        tacit_task task = { .name = "agree",
                            .range = TACIT_RANGE(ITEMS),
                            .offset = { 3 },
                            .kernel.host = agree,
                            TACIT_ARGS(args),
                            .on = TACIT_ON_EVERY_NODE,
                            .access = { tacit_read(old, r % 2 ? tacit_all()
                                                              : tacit_components(tacit_dim_scaled(0, 1, 1, 3, -3),
                                                                                 tacit_full(), tacit_full())),
                                        tacit_read(agreed, tacit_all()), tacit_write(agreed, tacit_replicated()) },
                            .hint = { .priority = 9, .oversubscribe = 3, .split = TACIT_SPLIT_2D } };
        REQUIRE_OK(ctx, tacit_submit(ctx, &task));
        tacit_task changing = { .name = "change",
                                .range = TACIT_RANGE(ITEMS),
                                .kernel.host = change,
                                .access = { tacit_read(old, tacit_neighborhood(1, 0, 0)),
                                            tacit_read(agreed, tacit_all()), tacit_write(fresh, tacit_one_to_one()) } };
        REQUIRE_OK(ctx, tacit_submit(ctx, &changing));
        tacit_buffer *newest = fresh;
        fresh = old;
        old = newest;

        uint64_t sum = 0, *from = expected[r % 2], *to = expected[(r + 1) % 2];
        for (size_t i = 0; i < ITEMS; i++) {
            sum += from[i];
        }
        number += sum % 65536 + r;
        for (size_t i = 0; i < ITEMS; i++) {
            to[i] = from[i] * 3 + (i > 0 ? from[i - 1] : 1) + number;
        }
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, old, TACIT_BOX_ALL, found));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, agreed, TACIT_BOX_ALL, &found_number));
    REQUIRE(memcmp(found, expected[ROUNDS % 2], sizeof(found)) == 0);
    REQUIRE(found_number == number);
}

/* ---- older work that a collective host task does not need on this node, but needs on another one */

static void prepare(const tacit_launch *k)
{
    const agree_args *a = k->args;
    for (uint64_t i = 0; i < 10 * (a->round % 4); i++) {
        sched_yield();
    }
    TACIT_AT0(uint64_t, k->view[0]) = a->round;
}

static void set(const tacit_launch *k)
{
    TACIT_AT0(uint64_t, k->view[1]) = TACIT_GET0(uint64_t, k->view[0]);
}

static void use(const tacit_launch *k)
{
    const agree_args *a = k->args;
    REQUIRE(TACIT_GET0(uint64_t, k->view[0]) == a->round && TACIT_GET0(uint64_t, k->view[1]) == a->round);
    TACIT_AT0(uint64_t, k->view[2]) = a->round;
}

static void replace(const tacit_launch *k)
{
    const agree_args *a = k->args;
    meet(a->h, k->node);
    TACIT_AT0(uint64_t, k->view[0]) = a->round + 1;
}

static tacit_buffer *create_number(tacit_context *ctx, const char *name, uint64_t value)
{
    tacit_buffer *buffer;
    tacit_buffer_desc desc = { .name = name, .elem_size = 8, .init = &value };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

/* The last node's kernel must wait for `use`, which reads what it overwrites; `use` waits for a value of node 0,
 * whose `set` is older than the task, but not needed by node 0's own, and waits for a value of the last node itself.
 * On node 0 the kernel is ready first and has priority: it must not keep the message from coming, `set` from
 * running, or its message from leaving. */
static void older_work(tacit_context *ctx, void *user)
{
    tacit_buffer *shared = create_number(ctx, "shared", 0), *value = create_number(ctx, "value", 0),
                 *result = create_number(ctx, "result", 0), *seed = create_number(ctx, "seed", 0);
    int last = tacit_num_nodes(ctx) - 1;
    for (uint64_t r = 0; r < 3 * ROUNDS; r++) {
        agree_args args = { user, r };
        tacit_task t[] = { { .name = "prepare", .kernel.host = prepare, .place = tacit_place_node(last) },
                           { .name = "set", .kernel.host = set, .place = tacit_place_node(0) },
                           { .name = "use", .kernel.host = use, .place = tacit_place_node(last) },
                           { .name = "replace", .kernel.host = replace, .on = TACIT_ON_EVERY_NODE } };
        t[1].hint.priority = -100;
        t[3].hint.priority = 100;
        t[0].access[0] = tacit_write(seed, tacit_all());
        t[1].access[0] = tacit_read(seed, tacit_all());
        t[1].access[1] = tacit_write(value, tacit_all());
        t[2].access[0] = tacit_read(value, tacit_all());
        t[2].access[1] = tacit_read(shared, tacit_all());
        t[2].access[2] = tacit_write(result, tacit_all());
        t[3].access[0] = tacit_write(shared, tacit_replicated());
        for (size_t i = 0; i < TI_COUNT(t); i++) {
            t[i].args = &args;
            t[i].args_size = sizeof(args);
            REQUIRE_OK(ctx, tacit_submit(ctx, &t[i]));
        }
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
}

/* ---- host objects besides, and side effects of each node */

typedef struct count_args {
    int *count; /* one per node */
    int expected;
} count_args;

static void count(const tacit_launch *k)
{
    const count_args *a = k->args;
    REQUIRE(a->count[k->node]++ == a->expected);
}

static void counting(tacit_context *ctx, void *user)
{
    static int counts[3][MOST_NODES];
    (void)user;
    int *mine = counts[0];
    tacit_host_object *object;
    mine[tacit_node(ctx)] = 0;
    REQUIRE_OK(ctx, tacit_host_object_create(ctx, &object));
    for (int i = 0; i < 50; i++) {
        count_args args = { mine, i };
        tacit_task t = { .name = "count", .kernel.host = count, TACIT_ARGS(args), .range = TACIT_RANGE(1) };
        t.on = i % 3 ? TACIT_ON_EVERY_NODE : TACIT_ON_HOST;
        t.range = TACIT_RANGE(i % 3 ? 2 : MOST_NODES * (size_t)tacit_num_nodes(ctx));
        t.host_object[2] = object;
        t.hint.priority = i % 5;
        REQUIRE_OK(ctx, tacit_submit(ctx, &t));
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE(mine[tacit_node(ctx)] == 50);
}

static void run_all(cluster_program *program)
{
    static const int nodes[] = { 1, 2, 4, 7 };
    for (size_t m = 0; m < TI_COUNT(modes); m++) {
        for (size_t n = 0; n < TI_COUNT(nodes); n++) {
            hall *h = calloc(1, sizeof(*h));
            h->nodes = nodes[n];
            cluster_run(&(cluster){ .nodes = nodes[n],
                                    .config = &modes[m],
                                    .eager = n % 2 ? 1 : 4096,
                                    .early = n % 2 ? 64 : 0,
                                    .shake = 3 * m + n,
                                    .program = program,
                                    .user = h });
            free(h);
        }
    }
}

static void all_see_the_same(void **state)
{
    (void)state;
    run_all(agreeing);
}

static void older_work_goes_on(void **state)
{
    (void)state;
    run_all(older_work);
}

static void with_host_objects(void **state)
{
    (void)state;
    run_all(counting);
}

/* ---- nodes that run in different ways meet too */

typedef struct mixed_node {
    ti_comm *comm;
    hall *h;
    const tacit_config *config;
    pthread_t thread;
} mixed_node;

static void *mixed_main(void *user)
{
    mixed_node *n = user;
    tacit_context *ctx;
    tacit_config config = cluster_config(n->config);
    config.horizon_front = 32; /* planning must be alike */
    config.horizon_step = 4;
    REQUIRE(ti_context_create(&config, n->comm, &ctx) == TACIT_OK);
    agreeing(ctx, n->h);
    older_work(ctx, n->h);
    REQUIRE(tacit_finalize(ctx) == TACIT_OK);
    return NULL;
}

static void mixed_modes(void **state)
{
    static hall h;
    mixed_node node[4];
    (void)state;
    local_hub *hub = local_hub_create(4, 16, 1 << 20, 5);
    h.nodes = 4;
    for (int i = 0; i < 4; i++) {
        node[i] = (mixed_node){ .comm = local_comm_create(hub, i), .h = &h, .config = &modes[i] };
        REQUIRE(pthread_create(&node[i].thread, NULL, mixed_main, &node[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        REQUIRE(pthread_join(node[i].thread, NULL) == 0);
    }
    local_hub_destroy(hub);
}

/* ---- what is refused, and what is not there */

static void nothing(const tacit_launch *k)
{
    (void)k;
}

#define assert_refused(call, expected, part)                                                                           \
    do {                                                                                                               \
        assert_int_equal(call, expected);                                                                              \
        if (!strstr(tacit_last_error(ctx), part)) {                                                                    \
            fail_msg("'%s' is not about '%s'", tacit_last_error(ctx), part);                                           \
        }                                                                                                              \
    } while (0)

static void wrong_uses(void **state)
{
    tacit_context *ctx;
    (void)state;
    assert_int_equal(tacit_init(NULL, &ctx), TACIT_OK);
    tacit_buffer *b = create_number(ctx, "b", 1);
    tacit_task t = { .name = "x", .kernel.host = nothing, .on = TACIT_ON_EVERY_NODE };
    t.place = tacit_place_node(0);
    assert_refused(tacit_submit(ctx, &t), TACIT_ERROR_ARGUMENT, "task 'x' is on every node and placed on one");
    t.place = (tacit_place){ 0 };
    const tacit_mapper mappers[] = { tacit_fixed(tacit_box1(0, 1)), tacit_one_to_one(), tacit_all() };
    for (int i = 0; i < 3; i++) {
        t.access[0] = tacit_write(b, mappers[i]);
        assert_refused(tacit_submit(ctx, &t), TACIT_ERROR_OVERLAP, "every node would write the same elements; if all");
    }
    t.access[0] = tacit_update(b, tacit_all());
    assert_refused(tacit_submit(ctx, &t), TACIT_ERROR_OVERLAP,
                   "use tacit_write with tacit_replicated() (and tacit_read");
    t.access[0] = tacit_reduce(b, tacit_sum(TACIT_UINT64));
    assert_refused(tacit_submit(ctx, &t), TACIT_ERROR_ARGUMENT, "every node would contribute all items");
    t.access[0] = tacit_write(b, tacit_replicated());
    t.access[1] = tacit_write(b, tacit_replicated());
    assert_refused(tacit_submit(ctx, &t), TACIT_ERROR_OVERLAP, "two writing accesses");
    t.access[1] = tacit_read(b, tacit_all());
    assert_int_equal(tacit_submit(ctx, &t), TACIT_OK);
    t.on = (tacit_on)(TACIT_ON_EVERY_NODE + 1);
    assert_refused(tacit_submit(ctx, &t), TACIT_ERROR_ARGUMENT, "there is no .on = 4; use TACIT_ON_DEVICES");
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* A run without MPI has no communicator, which is no failure in the right place. */
static void ask_for_communicator(const tacit_launch *k)
{
    char room[64];
    tacit_mpi_comm comm = { room, sizeof(room), TACIT_MPI_OTHER };
    REQUIRE(!tacit_launch_communicator_sized(k, &comm));
}

static void no_communicator(void **state)
{
    tacit_context *ctx;
    (void)state;
    assert_int_equal(tacit_init(NULL, &ctx), TACIT_OK);
    tacit_task t = { .name = "x", .kernel.host = ask_for_communicator, .on = TACIT_ON_EVERY_NODE };
    assert_int_equal(tacit_submit(ctx, &t), TACIT_OK);
    assert_int_equal(tacit_wait(ctx), TACIT_OK);
    t.on = TACIT_ON_ONE_NODE;
    assert_int_equal(tacit_submit(ctx, &t), TACIT_OK);
    assert_refused(tacit_wait(ctx), TACIT_ERROR_KERNEL,
                   "task 'x' on node 0: tacit_launch_communicator: only tasks on every node may wait for other nodes");
    assert_int_equal(tacit_finalize(ctx), TACIT_ERROR_KERNEL);
}

/* ---- the task graph shows their order */

static void edges_in_the_graph(void **state)
{
    char prefix[] = "/tmp/tacit-every-node-XXXXXX", path[100], text[20000];
    tacit_context *ctx;
    (void)state;
    assert_true(mkdtemp(prefix) != NULL);
    snprintf(path, sizeof(path), "%s/g", prefix);
    assert_int_equal(tacit_init(&(tacit_config){ .graph = path }, &ctx), TACIT_OK);
    tacit_task t = { .name = "x", .kernel.host = nothing };
    for (int i = 0; i < 4; i++) {
        t.on = i == 1 ? TACIT_ON_HOST : TACIT_ON_EVERY_NODE;
        assert_int_equal(tacit_submit(ctx, &t), TACIT_OK);
    }
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    const char *const stages[] = { "task", "command.0", "instruction.0" };
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/g.%s.dot", prefix, stages[i]);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        fclose(file);
        unlink(path);
        assert_non_null(strstr(text, "v1 -> v3;"));
        assert_non_null(strstr(text, "v3 -> v4;"));
        assert_null(strstr(text, "v1 -> v2;"));
        assert_true(i == 1 || strstr(text, "on every node"));
    }
    rmdir(prefix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_see_the_same),   cmocka_unit_test(older_work_goes_on), cmocka_unit_test(with_host_objects),
        cmocka_unit_test(mixed_modes),        cmocka_unit_test(wrong_uses),         cmocka_unit_test(no_communicator),
        cmocka_unit_test(edges_in_the_graph),
    };
    alarm(MOST_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
