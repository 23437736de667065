/* Collectives in the memory of CUDA devices, by NCCL: with the stand-ins of tests/cuda, without a GPU.
 *
 * Every pattern, of even and uneven parts, in one and two dimensions and in groups, on up to seven nodes, gives what
 * it should, and in loops nothing is copied by way of the host. Whatever call of NCCL fails, all nodes end with a
 * status and a sentence. */
#include "cluster.h"
#include "cuda/stub.h"
#include "effort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_NODES = 7, STEPS = 10, INTERNAL_ERROR = 3 };

static const stub_control *stub;

/* ---- programs: two buffers, of which each step reads one and writes the other */

/* What an item (i, j) reads of the step before. */
typedef enum reads { ITS_OWN, ITS_ROW, ITS_COLUMN, ALL, MIRRORED } reads;

/* An element is made of all that its item reads, in order. */
static const char source[] =
    "struct shape { int64_t height, width, reads; };\n"
    "TACIT_KERNEL fill(TACIT_VIEW(x), TACIT_CHUNK(c), TACIT_VALUE(struct shape, s)) {\n"
    "    TACIT_FOR (i, c, 0) TACIT_FOR (j, c, 1) TACIT_AT2(int64_t, x, i, j) = (int64_t)(i * s.width + j + 1);\n"
    "}\n"
    "TACIT_KERNEL mix(TACIT_VIEW(x), TACIT_VIEW(y), TACIT_CHUNK(c), TACIT_VALUE(struct shape, s)) {\n"
    "    TACIT_FOR (i, c, 0) TACIT_FOR (j, c, 1) {\n"
    "        const bool rows = s.reads == 2 || s.reads == 3, columns = s.reads == 1 || s.reads == 3;\n"
    "        const int64_t row = s.reads == 4 ? (int64_t)j : (int64_t)i, column = s.reads == 4 ? (int64_t)i "
    ": (int64_t)j;\n"
    "        int64_t sum = (int64_t)i * 7 + (int64_t)j;\n"
    "        for (int64_t k = rows ? 0 : row; k < (rows ? s.height : row + 1); k++)\n"
    "            for (int64_t l = columns ? 0 : column; l < (columns ? s.width : column + 1); l++)\n"
    "                sum = sum * 3 % 1000003 + TACIT_GET2(int64_t, x, k, l);\n"
    "        TACIT_AT2(int64_t, y, i, j) = sum % 1000003;\n"
    "    }\n"
    "}\n";

typedef struct shape {
    int64_t height, width, reads;
} shape;

/* The same here. */
static void mix(const shape *s, const int64_t *x, int64_t *y)
{
    const bool rows = s->reads == ITS_COLUMN || s->reads == ALL, columns = s->reads == ITS_ROW || s->reads == ALL;
    for (int64_t at = 0; at < s->height * s->width; at++) {
        const int64_t i = at / s->width, j = at % s->width;
        const int64_t row = s->reads == MIRRORED ? j : i, column = s->reads == MIRRORED ? i : j;
        int64_t sum = i * 7 + j;
        for (int64_t k = rows ? 0 : row; k < (rows ? s->height : row + 1); k++) {
            for (int64_t l = columns ? 0 : column; l < (columns ? s->width : column + 1); l++) {
                sum = sum * 3 % 1000003 + x[k * s->width + l];
            }
        }
        y[at] = sum % 1000003;
    }
}

typedef struct program {
    const char *name;
    size_t height, width;
    reads reads[2]; /* of steps in turn */
    bool alone[2];  /* the step is one chunk, of the first node */
    bool in_two;    /* steps are split along both dimensions */
    int nodes;
    const char *call; /* that NCCL gets in each step, or every other one */
    int steps;
} program;

static tacit_mapper mapper_of(reads r)
{
    return r == ITS_OWN      ? tacit_one_to_one()
           : r == ITS_ROW    ? tacit_slice(1)
           : r == ITS_COLUMN ? tacit_slice(0)
           : r == MIRRORED   ? tacit_transposed(1, 0, 2)
                             : tacit_all();
}

static tacit_task step_of(const program *p, int s, tacit_buffer *const u[2])
{
    const bool first = s == 0;
    static _Thread_local shape own;
    own = (shape){ (int64_t)p->height, (int64_t)p->width, first ? 0 : (int64_t)p->reads[(s - 1) % 2] };
    tacit_task task = { .name = first ? "fill" : "mix",
                        .range = TACIT_RANGE(p->height, p->width),
                        .kernel = { .cuda = { .source = source, .entry = first ? "fill" : "mix" } },
                        TACIT_ARGS(own) };
    if (first) {
        task.access[0] = tacit_write(u[0], tacit_one_to_one());
    } else {
        task.access[0] = tacit_read(u[(s - 1) % 2], mapper_of(p->reads[(s - 1) % 2]));
        task.access[1] = tacit_write(u[s % 2], tacit_one_to_one());
    }
    task.hint.split = p->in_two ? TACIT_SPLIT_2D : 0;
    task.hint.granularity[0] = !first && p->alone[(s - 1) % 2] ? p->height : 1;
    return task;
}

static void submit_step(tacit_context *ctx, const program *p, int s, tacit_buffer *const u[2])
{
    const tacit_task task = step_of(p, s, u);
    REQUIRE_OK(ctx, tacit_submit(ctx, &task));
}

static void run_program(tacit_context *ctx, void *user)
{
    const program *p = user;
    const size_t cells = p->height * p->width;
    int64_t *expected[2] = { calloc(cells, sizeof(int64_t)), calloc(cells, sizeof(int64_t)) };
    int64_t *got = calloc(cells, sizeof(int64_t));
    tacit_buffer *u[2];
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = { .name = i ? "v" : "u",
                                         .range = TACIT_RANGE(p->height, p->width),
                                         .elem_size = sizeof(int64_t) };
        REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &u[i]));
    }
    for (size_t at = 0; at < cells; at++) {
        expected[0][at] = (int64_t)at + 1;
    }
    for (int s = 0; s <= p->steps; s++) {
        submit_step(ctx, p, s, u);
        if (s > 0) {
            const shape own = { (int64_t)p->height, (int64_t)p->width, (int64_t)p->reads[(s - 1) % 2] };
            mix(&own, expected[(s - 1) % 2], expected[s % 2]);
        }
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, u[p->steps % 2], TACIT_BOX_ALL, got));
    for (size_t at = 0; at < cells; at++) {
        if (got[at] != expected[p->steps % 2][at]) {
            fprintf(stderr, "%s on %d nodes, element %zu: %lld, not %lld\n", p->name, p->nodes, at, (long long)got[at],
                    (long long)expected[p->steps % 2][at]);
            abort();
        }
    }
    free(expected[0]);
    free(expected[1]);
    free(got);
}

typedef struct counts {
    long calls, all_calls, crossings;
} counts;

static const char *const functions[] = { "ncclAllGather", "ncclBroadcast", "ncclSend", "ncclRecv" };

static counts count(const program *p, int steps, int nccl)
{
    program own = *p;
    own.steps = steps;
    const tacit_config config = { .devices = "cuda:0", .workers = 1, .nccl = nccl, .watchdog = 20 };
    const cluster c = { .nodes = p->nodes, .config = &config, .program = run_program, .user = &own, .machines = true };
    stub->reset((uint64_t)steps);
    cluster_run(&c);
    counts got = { .calls = stub->count(p->call), .crossings = stub->crossings() };
    for (size_t i = 0; i < TI_COUNT(functions); i++) {
        got.all_calls += stub->count(functions[i]);
    }
    stub->reset(1);
    assert_int_equal(stub->live(), 0);
    return got;
}

/* Loops go on without the host, and NCCL is asked for what the pattern is; a grid of a prime number of nodes has rows
 * only. */
static void every_pattern_stays_on_devices(void **state)
{
    static const program programs[] = {
        { "all-gather", 28, 5, { ALL, ALL }, .call = "ncclAllGather" },
        { "all-gather of a column", 84, 1, { ALL, ITS_COLUMN }, .call = "ncclAllGather" },
        { "all-gather of uneven parts", 19, 3, { ALL, ALL }, .call = "ncclBroadcast" },
        { "broadcast", 21, 4, { ALL, ALL }, { true, false }, .call = "ncclBroadcast" },
        { "gather", 21, 4, { ALL, ALL }, { true, false }, .call = "ncclRecv" },
        { "scatter", 24, 4, { ITS_OWN, ITS_OWN }, { true, false }, .call = "ncclSend" },
        { "transposition", 30, 30, { MIRRORED, MIRRORED }, .call = "ncclSend" },
        { "rows and columns of a grid", 24, 24, { ITS_ROW, ITS_COLUMN }, .in_two = true, .call = "ncclSend" },
    };
    (void)state;
    for (size_t i = 0; i < TI_COUNT(programs); i++) {
        for (int nodes = 2 + (int)i % EFFORT(1, 3); nodes <= MOST_NODES; nodes += EFFORT(1, 3)) {
            program p = programs[i];
            p.nodes = nodes;
            p.call = p.in_two && nodes != 4 && nodes != 6 ? "ncclAllGather" : p.call;
            p.call = p.in_two && nodes > 3 && 24 % nodes ? "ncclBroadcast" : p.call;
            const bool is_uneven = p.call == functions[0] && p.height % (size_t)nodes;
            const counts few = count(&p, STEPS, TACIT_NCCL_ON), more = count(&p, 2 * STEPS, TACIT_NCCL_ON);
            const counts host = count(&p, STEPS, TACIT_NCCL_OFF);
            if (more.all_calls <= few.all_calls || (!is_uneven && more.calls <= few.calls) || host.all_calls ||
                more.crossings != few.crossings || host.crossings < few.crossings + STEPS / 2) {
                fail_msg(
                    "%s on %d nodes: %ld, %ld and %ld calls of %s, %ld, %ld and %ld of any, %ld, %ld and %ld copies "
                    "from or to the host",
                    p.name, nodes, few.calls, more.calls, host.calls, p.call, few.all_calls, more.all_calls,
                    host.all_calls, few.crossings, more.crossings, host.crossings);
            }
        }
    }
}

/* Parts that lie apart in memory are packed, those of several tasks in turn, small and large ones. */
static void packing_grows(tacit_context *ctx, void *user)
{
    static const size_t sides[] = { 12, 60, 24, 84 };
    (void)user;
    for (size_t i = 0; i < TI_COUNT(sides); i++) {
        program p = { "growing", sides[i], sides[i], { MIRRORED, MIRRORED }, .nodes = 3, .steps = 6 };
        run_program(ctx, &p);
    }
    tacit_buffer *u[4][2];
    for (int s = 0; s <= 8; s++) {
        for (size_t i = 0; i < TI_COUNT(sides); i++) {
            const program p = { "in turn", sides[i], sides[i], { MIRRORED, MIRRORED }, .nodes = 3 };
            const tacit_buffer_desc desc = { .range = TACIT_RANGE(sides[i], sides[i]), .elem_size = sizeof(int64_t) };
            for (int k = 0; k < 2 && s == 0; k++) {
                REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &u[i][k]));
            }
            submit_step(ctx, &p, s, u[i]);
        }
    }
    for (size_t i = 0; i < TI_COUNT(sides); i++) {
        const size_t cells = sides[i] * sides[i];
        int64_t *x[2] = { calloc(cells, sizeof(int64_t)), calloc(cells, sizeof(int64_t)) };
        int64_t *got = calloc(cells, sizeof(int64_t));
        const shape own = { (int64_t)sides[i], (int64_t)sides[i], MIRRORED };
        for (size_t at = 0; at < cells; at++) {
            x[0][at] = (int64_t)at + 1;
        }
        for (int s = 1; s <= 8; s++) {
            mix(&own, x[(s - 1) % 2], x[s % 2]);
        }
        REQUIRE_OK(ctx, tacit_fence_read(ctx, u[i][0], TACIT_BOX_ALL, got));
        REQUIRE(memcmp(got, x[0], cells * sizeof(int64_t)) == 0);
        free(x[0]);
        free(x[1]);
        free(got);
    }
}

static void contents_are_packed(void **state)
{
    (void)state;
    const tacit_config config = { .devices = "cuda:1", .workers = 1, .nccl = TACIT_NCCL_ON, .watchdog = 20 };
    const cluster c = { .nodes = 3, .config = &config, .program = packing_grows, .machines = true };
    stub->reset(3);
    cluster_run(&c);
    assert_true(stub->count("ncclSend") > 0);
    stub->reset(1);
    assert_int_equal(stub->live(), 0);
}

/* ---- where it cannot be, and where it fails */

typedef struct member {
    pthread_t thread;
    local_hub *hub;
    int node, nccl;
    const char *devices;
    const program *program;
    tacit_status status, end;
    char text[512];
} member;

static void *run_member(void *user)
{
    member *m = user;
    const tacit_config given = { .devices = m->devices, .workers = 1, .nccl = m->nccl, .watchdog = 20 };
    tacit_config config = cluster_config(&given);
    tacit_context *ctx = NULL;
    tacit_buffer *u[2];
    const program *p = m->program;
    int64_t got[32 * 32];
    m->status = ti_context_create(&config, local_comm_create(m->hub, m->node), &ctx);
    for (int i = 0; i < 2 && m->status == TACIT_OK; i++) {
        const tacit_buffer_desc desc = { .range = TACIT_RANGE(p->height, p->width), .elem_size = sizeof(int64_t) };
        m->status = tacit_buffer_create(ctx, &desc, &u[i]);
    }
    for (int s = 0; s <= STEPS && m->status == TACIT_OK; s++) {
        tacit_task task = step_of(p, s, u);
        m->status = tacit_submit(ctx, &task);
    }
    m->status = m->status ? m->status : tacit_fence_read(ctx, u[STEPS % 2], TACIT_BOX_ALL, got);
    m->status = m->status ? m->status : tacit_barrier(ctx);
    snprintf(m->text, sizeof(m->text), "%s", tacit_last_error(ctx));
    m->end = ctx ? tacit_finalize(ctx) : TACIT_OK;
    return NULL;
}

static void run_two(member m[2], const program *p, int nccl, const char *first, const char *second)
{
    local_hub *hub = local_hub_create(2, 64, 1 << 20, 0);
    local_hub_set_threaded(hub);
    for (int i = 0; i < 2; i++) {
        m[i] = (member){ .hub = hub, .node = i, .nccl = nccl, .devices = i ? second : first, .program = p };
        REQUIRE(pthread_create(&m[i].thread, NULL, run_member, &m[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_join(m[i].thread, NULL) == 0);
    }
    local_hub_destroy(hub);
}

static const program gathers = { "all-gather", 12, 4, { ALL, ALL }, .nodes = 2 };

/* All nodes need one device of their own, and nothing beside. Who asks for NCCL hears why there is none; who does not
 * gets collectives by MPI. */
static void it_needs_one_device_on_each_node(void **state)
{
    static const struct {
        const char *devices[2], *says[2];
    } row[] = {
        { { "cuda:0", "cuda:1,cuda:2" }, { "another node cannot", "a node has to have one CUDA device" } },
        { { "cuda:0,host", "cuda:1" }, { "a node has to have one CUDA device", "another node cannot" } },
    };
    (void)state;
    member m[2];
    for (size_t i = 0; i < TI_COUNT(row); i++) {
        stub->reset(i);
        run_two(m, &gathers, TACIT_NCCL_ON, row[i].devices[0], row[i].devices[1]);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(m[k].status, TACIT_ERROR_UNSUPPORTED);
            assert_non_null(strstr(m[k].text, "TACIT_NCCL=on, but NCCL cannot be used"));
            assert_non_null(strstr(m[k].text, row[i].says[k]));
        }
        run_two(m, &gathers, TACIT_NCCL_AUTO, row[i].devices[0], row[i].devices[1]);
        assert_int_equal(m[0].status | m[1].status | m[0].end | m[1].end, TACIT_OK);
        assert_int_equal(stub->count("ncclAllGather"), 0);
        stub->reset(1);
        assert_int_equal(stub->live(), 0);
    }
}

/* The nth call of a function fails on one of two nodes. */
static void fail_on_two(const program *p, const char *function, long nth, int nccl)
{
    member m[2];
    stub->reset((uint64_t)nth);
    stub->disturb(function, nth, INTERNAL_ERROR, false);
    run_two(m, p, nccl, "cuda:0", "cuda:1");
    stub->reset(1);
    if (stub->live() != 0 || (m[0].status == TACIT_OK) != (m[1].status == TACIT_OK)) {
        fail_msg("call %ld of %s: %ld objects are left; %d '%s', %d '%s'", nth, function, stub->live(), m[0].status,
                 m[0].text, m[1].status, m[1].text);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(m[i].status == TACIT_OK || strlen(m[i].text) > 0);
    }
}

static void every_call_may_fail(void **state)
{
    static const program messages = { "messages", 12, 12, { MIRRORED, MIRRORED }, .nodes = 2 };
    static const char *const calls[] = { "ncclGetUniqueId", "ncclCommInitRankConfig", "ncclCommGetAsyncError",
                                         "ncclGroupEnd",    "ncclAllGather",          "ncclSend",
                                         "ncclRecv",        "ncclCommFinalize",       "cuMemAlloc_v2",
                                         "cuStreamQuery" };
    (void)state;
    for (size_t f = 0; f < TI_COUNT(calls); f++) {
        for (long nth = 1; nth <= 40; nth += 1 + nth / 2) {
            fail_on_two(&gathers, calls[f], nth, TACIT_NCCL_AUTO);
            fail_on_two(&messages, calls[f], nth, TACIT_NCCL_ON);
        }
    }
}

/* That some of these runs have ended badly, and for which reason. */
static void what_matters_is_noticed(void **state)
{
    static const struct {
        const char *function;
        int nccl;
        tacit_status status;
        const char *says;
    } row[] = {
        { "ncclGetUniqueId", TACIT_NCCL_ON, TACIT_ERROR_UNSUPPORTED, "NCCL cannot be used: " },
        { "ncclCommInitRankConfig", TACIT_NCCL_ON, TACIT_ERROR_UNSUPPORTED, "NCCL cannot be used: " },
        { "ncclCommInitRankConfig", TACIT_NCCL_AUTO, TACIT_OK, "" },
        { "ncclAllGather", TACIT_NCCL_AUTO, TACIT_ERROR_NETWORK, "a collective on device cuda:" },
        { "ncclGroupEnd", TACIT_NCCL_AUTO, TACIT_ERROR_NETWORK, "NCCL says: internal error" },
        { "none", TACIT_NCCL_ON, TACIT_OK, "" },
    };
    (void)state;
    member m[2];
    for (size_t i = 0; i < TI_COUNT(row); i++) {
        stub->reset(i);
        stub->disturb(row[i].function, 1, INTERNAL_ERROR, false);
        run_two(m, &gathers, row[i].nccl, "cuda:0", "cuda:1");
        const member *it = m[0].status == row[i].status && strstr(m[0].text, row[i].says) ? &m[0] : &m[1];
        if (it->status != row[i].status || !strstr(it->text, row[i].says)) {
            fail_msg("%s: %d, '%s', %d, '%s'", row[i].function, m[0].status, m[0].text, m[1].status, m[1].text);
        }
        stub->reset(1);
        assert_int_equal(stub->live(), 0);
    }
}

/* Of compiled kernels: compiling takes longer than all the rest. */
static char cache[] = "/tmp/tacit-nccl-XXXXXX";

static int setup(void **state)
{
    (void)state;
    stub = stub_find();
    if (!stub || !mkdtemp(cache)) {
        return -1;
    }
    setenv("TACIT_KERNEL_CACHE", cache, 1);
    return 0;
}

static int teardown(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", cache);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_stays_on_devices),   cmocka_unit_test(contents_are_packed),
        cmocka_unit_test(it_needs_one_device_on_each_node), cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(what_matters_is_noticed),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
