/* Host objects: tasks that name the same one run one after the other, in the order of their submission, on each node.
 *
 * Kernels append their number to a list of their object without any lock, and note if another kernel of the same object
 * runs at the same time. Tasks have no buffer in common, so that nothing else orders them. */
#include "cluster.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { OBJECTS = 3, TASKS = 120, MOST_NODES = 4 };

/* What one object stands for, on one node. */
typedef struct record {
    _Atomic int users;
    int entries, entry[4 * TASKS];
} record;

typedef struct task_args {
    record *files; /* of node 0; those of node n come n * OBJECTS further */
    int number;
    unsigned objects; /* one bit each */
} task_args;

static void append(const tacit_launch *k)
{
    const task_args *a = k->args;
    record *files = a->files + k->node * OBJECTS;
    for (int i = 0; i < OBJECTS; i++) {
        REQUIRE(!(a->objects >> i & 1) || atomic_fetch_add(&files[i].users, 1) == 0);
    }
    for (int i = 0; i < OBJECTS; i++) {
        if (a->objects >> i & 1) {
            int at = files[i].entries;
            for (int spin = 0; spin < a->number % 5; spin++) {
                sched_yield();
            }
            files[i].entry[at] = a->number;
            files[i].entries = at + 1;
        }
    }
    for (int i = 0; i < OBJECTS; i++) {
        REQUIRE(!(a->objects >> i & 1) || atomic_fetch_sub(&files[i].users, 1) == 1);
    }
}

static tacit_task appending(tacit_host_object *const object[OBJECTS], const task_args *args)
{
    static const tacit_on on[] = { TACIT_ON_HOST, TACIT_ON_ONE_NODE };
    tacit_task t = { .name = "append", .kernel.host = append, .args = args, .args_size = sizeof(*args) };
    int n = args->number;
    t.range = TACIT_RANGE(1 + (size_t)n % 9);
    t.on = on[n % 2];
    t.hint.oversubscribe = n % 3 + 1;
    t.hint.priority = n % 7; /* the last ones first, if they may */
    for (int i = 0; i < OBJECTS; i++) {
        t.host_object[i] = args->objects >> i & 1 ? object[i] : NULL;
    }
    return t;
}

static void program(tacit_context *ctx, void *user)
{
    tacit_host_object *object[OBJECTS];
    record *files = user, *mine = files + tacit_node(ctx) * OBJECTS;
    for (int i = 0; i < OBJECTS; i++) {
        REQUIRE_OK(ctx, tacit_host_object_create(ctx, &object[i]));
    }
    for (int n = 0; n < TASKS; n++) {
        task_args args = { files, n, (unsigned)(n * 5 + n / 7) % 7 + 1 };
        tacit_task t = appending(object, &args);
        if (t.on == TACIT_ON_ONE_NODE) {
            t.place = tacit_place_node(n / 2 % tacit_num_nodes(ctx));
        }
        REQUIRE_OK(ctx, tacit_submit(ctx, &t));
        if (n == TASKS / 2) {
            REQUIRE_OK(ctx, tacit_host_object_destroy(ctx, object[1]));
            REQUIRE_OK(ctx, tacit_host_object_create(ctx, &object[1]));
        }
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
    for (int i = 0; i < OBJECTS; i++) {
        REQUIRE(mine[i].entries > TASKS / 8);
        for (int k = 1; k < mine[i].entries; k++) {
            REQUIRE(mine[i].entry[k - 1] <= mine[i].entry[k]);
        }
    }
}

static void in_order(void **state)
{
    static const tacit_config modes[] = {
        { .threads = TACIT_THREADS_INLINE },
        { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1, .horizon_step = 1 },
        { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 4 },
        { .progress = TACIT_PROGRESS_THREAD, .workers = 3, .horizon_step = 2 },
    };
    (void)state;
    for (size_t m = 0; m < TI_COUNT(modes); m++) {
        for (int nodes = 1; nodes <= MOST_NODES; nodes += nodes) {
            record *files = calloc(MOST_NODES * OBJECTS, sizeof(*files));
            cluster_run(
                &(cluster){ .nodes = nodes, .config = &modes[m], .shake = m, .program = program, .user = files });
            free(files);
        }
    }
}

/* ---- contents */

enum { ROUNDS = 12 };

typedef struct tally {
    int sum; /* of the numbers of rounds; no lock */
    _Atomic int *ended;
} tally;

static void add_round(const tacit_launch *k)
{
    const struct tally_args {
        tacit_host_object *object;
        int round;
    } *a = k->args;
    tally *t = tacit_host_object_contents(a->object);
    int before = t->sum;
    for (int spin = 0; spin < a->round % 4; spin++) {
        sched_yield();
    }
    t->sum = before + a->round;
}

static void end_tally(void *contents)
{
    tally *t = contents;
    atomic_fetch_add(t->ended, 1);
    free(t);
}

static tacit_host_object *create_tally(tacit_context *ctx, _Atomic int *ended)
{
    tacit_host_object *object;
    tally *t = malloc(sizeof(*t));
    REQUIRE(t);
    *t = (tally){ .ended = ended };
    const tacit_host_object_desc desc = { .contents = t, .end = end_tally };
    REQUIRE_OK(ctx, tacit_host_object_create_with(ctx, &desc, &object));
    return object;
}

/* Once on every node, and once more on one of them. A new buffer opens a window of allocations. */
static void add_rounds(tacit_context *ctx, tacit_host_object *object, int round)
{
    tacit_buffer *b;
    const struct {
        tacit_host_object *object;
        int round;
    } args = { object, round };
    size_t nodes = (size_t)tacit_num_nodes(ctx);
    const tacit_buffer_desc desc = { .name = "b", .range = TACIT_RANGE(nodes), .elem_size = sizeof(int) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b));
    tacit_task t = { .name = "add",
                     .range = TACIT_RANGE(nodes),
                     .access = { tacit_write(b, tacit_one_to_one()) },
                     .on = TACIT_ON_HOST,
                     .kernel.host = add_round,
                     .args = &args,
                     .args_size = sizeof(args),
                     .host_object = { object } };
    REQUIRE_OK(ctx, tacit_submit(ctx, &t));
    t.range = TACIT_RANGE(1);
    t.on = TACIT_ON_ONE_NODE;
    t.place = tacit_place_node(round % (int)nodes);
    REQUIRE_OK(ctx, tacit_submit(ctx, &t));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, b));
}

static void counting(tacit_context *ctx, void *user)
{
    _Atomic int *ended = (_Atomic int *)user + tacit_node(ctx);
    tacit_host_object *object = create_tally(ctx, ended), *kept = create_tally(ctx, ended);
    tally *t;
    void *contents = NULL;
    int sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        add_rounds(ctx, object, round);
        sum += round + (round % tacit_num_nodes(ctx) == tacit_node(ctx) ? round : 0);
        if (round % 3 != 1) {
            REQUIRE_OK(ctx, tacit_host_object_fence(ctx, object, &contents));
            t = contents;
            REQUIRE(t == tacit_host_object_contents(object) && t->sum == sum);
            t->sum = sum; /* the program's turn */
        }
    }
    add_rounds(ctx, object, ROUNDS);
    add_rounds(ctx, kept, ROUNDS);
    REQUIRE_OK(ctx, tacit_host_object_destroy(ctx, object)); /* its tasks still run */
    object = create_tally(ctx, ended);
    add_rounds(ctx, object, 1);
    REQUIRE_OK(ctx, tacit_host_object_fence(ctx, object, NULL));
    REQUIRE(((const tally *)tacit_host_object_contents(object))->sum ==
            1 + (1 % tacit_num_nodes(ctx) == tacit_node(ctx)));
    REQUIRE(atomic_load(ended) == 0);
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE(atomic_load(ended) == 1);
}

static void contents_and_fences(void **state)
{
    static const tacit_config modes[] = {
        { .threads = TACIT_THREADS_INLINE },
        { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 3 },
        { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_THREAD, .workers = 2, .horizon_step = 2 },
        { .threads = TACIT_THREADS_INLINE, .lookahead = TACIT_LOOKAHEAD_FULL, .horizon_step = 1000 },
        { .threads = TACIT_THREADS_INLINE, .lookahead = TACIT_LOOKAHEAD_FULL, .run_ahead = 1 },
    };
    (void)state;
    for (size_t m = 0; m < TI_COUNT(modes); m++) {
        for (int nodes = 1; nodes <= MOST_NODES; nodes += 1 + (nodes == 2)) {
            _Atomic int ended[MOST_NODES] = { 0 };
            cluster_run(
                &(cluster){ .nodes = nodes, .config = &modes[m], .shake = m, .program = counting, .user = ended });
            for (int n = 0; n < nodes; n++) {
                assert_int_equal(atomic_load(&ended[n]), 3); /* two of them by tacit_finalize */
            }
        }
    }
}

/* ---- the task graph shows it */

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static void edges_in_the_graph(void **state)
{
    char prefix[] = "/tmp/tacit-host-object-XXXXXX", path[100], text[20000];
    tacit_context *ctx;
    tacit_host_object *a, *b;
    (void)state;
    assert_true(mkdtemp(prefix) != NULL);
    snprintf(path, sizeof(path), "%s/g", prefix);
    assert_int_equal(tacit_init(&(tacit_config){ .graph = path }, &ctx), TACIT_OK);
    tacit_host_object_create(ctx, &a);
    tacit_host_object_create(ctx, &b);
    tacit_task t = { .range = TACIT_RANGE(1), .kernel.host = nothing, .on = TACIT_ON_HOST };
    tacit_host_object *const uses[4][2] = { { a }, { b }, { a, b }, { b } };
    for (int i = 0; i < 4; i++) {
        memcpy(t.host_object, uses[i], sizeof(uses[i]));
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
        assert_non_null(strstr(text, "v2 -> v3;"));
        assert_non_null(strstr(text, "v3 -> v4;"));
        assert_null(strstr(text, "v1 -> v2;"));
        assert_null(strstr(text, "v2 -> v4;"));
        assert_true(i > 0 || strstr(text, "\\nhost object"));
    }
    rmdir(prefix);
}

/* ---- what is refused */

#define assert_refused(call, expected, part)                                                                           \
    do {                                                                                                               \
        assert_int_equal(call, expected);                                                                              \
        if (!strstr(tacit_last_error(ctx), part)) {                                                                    \
            fail_msg("'%s' is not about '%s'", tacit_last_error(ctx), part);                                           \
        }                                                                                                              \
    } while (0)

static void wrong_uses(void **state)
{
    tacit_context *ctx, *other;
    tacit_host_object *object, *foreign;
    tacit_task t = { .name = "x", .range = TACIT_RANGE(1), .kernel.host = nothing };
    (void)state;
    assert_int_equal(tacit_init(NULL, &ctx), TACIT_OK);
    assert_int_equal(tacit_init(NULL, &other), TACIT_OK);
    assert_int_equal(tacit_host_object_create(NULL, &object), TACIT_ERROR_ARGUMENT);
    assert_refused(tacit_host_object_create(ctx, NULL), TACIT_ERROR_ARGUMENT, "tacit_host_object_create: out is NULL");
    assert_int_equal(tacit_host_object_create(ctx, &object), TACIT_OK);
    assert_int_equal(tacit_host_object_create(other, &foreign), TACIT_OK);
    t.host_object[0] = object;
    assert_refused(tacit_submit(ctx, &t), TACIT_ERROR_ARGUMENT,
                   "task 'x' names a host object, but runs on devices; set .on = TACIT_ON_HOST");
    t.on = TACIT_ON_HOST;
    assert_int_equal(tacit_submit(ctx, &t), TACIT_OK);
    t.host_object[3] = foreign;
    assert_refused(tacit_submit(ctx, &t), TACIT_ERROR_STATE, "task 'x', host object 3: it is destroyed or belongs");
    t.host_object[3] = NULL;
    assert_refused(tacit_host_object_create_with(ctx, NULL, &object), TACIT_ERROR_ARGUMENT,
                   "tacit_host_object_create_with: the description is NULL");
    assert_refused(tacit_host_object_create_with(ctx, &(tacit_host_object_desc){ .contents = NULL }, NULL),
                   TACIT_ERROR_ARGUMENT, "tacit_host_object_create_with: out is NULL");
    assert_refused(tacit_host_object_fence(ctx, NULL, NULL), TACIT_ERROR_ARGUMENT,
                   "tacit_host_object_fence: the object is NULL");
    assert_refused(tacit_host_object_fence(ctx, foreign, NULL), TACIT_ERROR_STATE,
                   "tacit_host_object_fence: the object belongs to another context");
    assert_refused(tacit_host_object_destroy(ctx, foreign), TACIT_ERROR_STATE,
                   "tacit_host_object_destroy: the object belongs to another context");
    assert_int_equal(tacit_host_object_destroy(ctx, object), TACIT_OK);
    assert_int_equal(tacit_host_object_destroy(ctx, NULL), TACIT_OK);
    assert_int_equal(tacit_host_object_destroy(NULL, object), TACIT_ERROR_ARGUMENT);
    assert_refused(tacit_host_object_destroy(ctx, object), TACIT_ERROR_STATE, "is destroyed already");
    assert_refused(tacit_submit(ctx, &t), TACIT_ERROR_STATE, "host object 0");
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    assert_int_equal(tacit_finalize(other), TACIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(contents_and_fences),
        cmocka_unit_test(edges_in_the_graph),
        cmocka_unit_test(wrong_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
