/* Programs that submit different things on different nodes are found, and the first difference is named, on every
 * node.
 *
 * Each program submits a loop of steps on NODES nodes; one node does one thing differently. Every way to differ runs
 * in every thread mode. Correct programs, long and short ones, are not accused of anything. */
#include "cluster.h"
#include "comm/comm.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 3, N = 96, STEPS = 120, TURN = 77 };

typedef enum way {
    WAY_NONE,
    WAY_NAME,
    WAY_LONG_NAME,
    WAY_RANGE,
    WAY_OFFSET,
    WAY_MAPPER,
    WAY_MODE,
    WAY_BUFFER,
    WAY_ORDER,
    WAY_FEWER_ACCESSES,
    WAY_ARGS_SIZE,
    WAY_ARGS_HASHED,
    WAY_ARGS_NOT_HASHED,
    WAY_SPLIT,
    WAY_WEIGHTS,
    WAY_PLACE,
    WAY_ON,
    WAY_OPERATOR,
    WAY_EXTRA_TASK,
    WAY_MISSING_TASK,
    WAY_LEAVES_EARLY,
    WAY_LAST_IS_MISSING,
    WAY_BUFFER_SIZE,
    WAY_ELEMENT_SIZE,
    WAY_INIT,
    WAY_OWNERS,
    WAY_OWNERS_DIFFER,
    WAY_DESTROYED,
    WAY_FENCE_BOX,
    WAY_FENCE_FOR_WAIT,
    WAY_EXTRA_FENCE,
    WAY_EXTRA_WAIT,
    WAY_MAPPER_CREATED,
    WAY_USER_OPERATOR,
    WAY_ITEM_WEIGHTS,
    WAY_ITEM_WEIGHTS_DIFFER,
    WAY_RESIZED,
    WAY_RESIZED_DIFFERS,
    WAY_PRIORITY,
    WAYS
} way;

/* What the sentence must say, separated by |, where ODD is the last node, which does it differently, and EVEN the one
 * before; NULL: nothing is wrong. */
static const char *const expected[WAYS] = {
    [WAY_NAME] =
        "node ODD submitted task|'smoth' over [0,96) where node EVEN submitted task|'smooth' over [0,96)|differ in the "
        "name|all nodes must submit the same tasks in the same order",
    [WAY_LONG_NAME] = "'a name of more than four...' over|differ in the name",
    [WAY_RANGE] = "'smooth' over [0,95)|'smooth' over [0,96)|differ in the range",
    [WAY_OFFSET] = "'smooth' over [1,96)|'smooth' over [0,96)|differ in the range",
    [WAY_MAPPER] = "differ in the mapper of access 0 (buffer 'A')",
    [WAY_MODE] = "differ in the mode of access 1 (buffer 'B', |write|update",
    [WAY_BUFFER] = "differ in the buffer of access 0 ('C' and 'A')",
    [WAY_ORDER] = "the buffer of access 0 ('B' and 'A')|the buffer of access 1 ('A' and 'B')",
    [WAY_FEWER_ACCESSES] = "the number of accesses (1 and 2)",
    [WAY_ARGS_SIZE] = "the size of the arguments (1 and 4 bytes)",
    [WAY_ARGS_HASHED] = "differ in the bytes of the arguments",
    [WAY_SPLIT] = "differ in the hints for the split",
    [WAY_WEIGHTS] = "differ in the hints for the split",
    [WAY_PLACE] = "differ in the placement",
    [WAY_ON] = "differ in where they run (.on)",
    [WAY_OPERATOR] = "'sum' over|differ in the operator of access 1 (buffer 'S')",
    [WAY_EXTRA_TASK] = "'extra' over [0,96) where node EVEN submitted task|'smooth'",
    [WAY_MISSING_TASK] = "'sum' over [0,96) where node EVEN submitted task|'smooth'",
    [WAY_LEAVES_EARLY] = "node ODD called tacit_finalize where node EVEN submitted task|'smooth' over [0,96)",
    [WAY_LAST_IS_MISSING] = "node ODD called tacit_finalize where node EVEN submitted task|'last' over",
    [WAY_BUFFER_SIZE] =
        "node ODD created buffer 'C' [0,97) where node EVEN created buffer 'C' [0,96)|differ in the size",
    [WAY_ELEMENT_SIZE] = "created buffer 'C'|the size of an element (8 and 4 bytes)",
    [WAY_INIT] = "created buffer 'C'|whether there is .init",
    [WAY_OWNERS] = "node ODD chose the distribution of buffer number 3 where node EVEN created buffer 'C'",
    [WAY_OWNERS_DIFFER] = "chose the distribution of buffer number 3|differ in the distribution",
    [WAY_DESTROYED] = "node ODD destroyed buffer 'C' [0,96) where node EVEN submitted task|'smooth'",
    [WAY_FENCE_BOX] =
        "node ODD read buffer 'A' [0,5) by a fence where node EVEN read buffer 'A' [0,4) by a fence|the box",
    [WAY_FENCE_FOR_WAIT] = "node ODD called tacit_wait where node EVEN read buffer 'A' [0,4) by a fence",
    [WAY_EXTRA_FENCE] = "node ODD read buffer 'A' [0,1) by a fence where node EVEN submitted task",
    [WAY_EXTRA_WAIT] = "node ODD called tacit_wait where node EVEN submitted task|'smooth'",
    [WAY_MAPPER_CREATED] = "node ODD created the mapper 0 where node EVEN submitted task",
    [WAY_USER_OPERATOR] = "created the operator 0|the properties",
    [WAY_ITEM_WEIGHTS] = "differ in the hints for the split",
    [WAY_ITEM_WEIGHTS_DIFFER] =
        "created weights of 96 items where node EVEN created weights of 96 items; they differ in the weights",
    [WAY_RESIZED] = "node ODD resized buffer 'C' [0,7) where node EVEN submitted task|'smooth'",
    [WAY_RESIZED_DIFFERS] =
        "node ODD resized buffer 'C' [0,7) where node EVEN resized buffer 'C' [0,8)|differ in the size",
};

typedef struct variant {
    way way;
    int steps;
    int late;            /* which node begins when all others have submitted everything; -1: none */
    atomic_int *waiting; /* the others that have not */
    bool hangs;          /* each step needs neighbours, so that nodes wait for each other's messages */
} variant;

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static void image(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)range, (void)user;
    tacit_region_add(out, *chunk);
}

static void combine(void *into, const void *from, size_t n, const void *user)
{
    (void)into, (void)from, (void)n, (void)user;
}

typedef struct state {
    tacit_context *ctx;
    const variant *variant;
    bool odd; /* this node is the one that does it differently */
    tacit_buffer *a, *b, *c, *s;
    tacit_weights *items;
} state;

/* Whether this is the node that does it differently, and this the way. */
static bool is(const state *st, way w)
{
    return st->odd && st->variant->way == w;
}

static tacit_status setup(state *st)
{
    static const int zeros[N + 1];
    tacit_status status = TACIT_OK;
    tacit_buffer_desc desc = { .name = "A", .range = TACIT_RANGE(N), .elem_size = sizeof(int), .init = zeros };
    status = status ? status : tacit_buffer_create(st->ctx, &desc, &st->a);
    desc.name = "B";
    status = status ? status : tacit_buffer_create(st->ctx, &desc, &st->b);
    desc.name = "C";
    desc.range = TACIT_RANGE(is(st, WAY_BUFFER_SIZE) ? N + 1 : N);
    desc.elem_size = is(st, WAY_ELEMENT_SIZE) ? 8 : 4;
    desc.distribution.block[0] = is(st, WAY_OWNERS) || st->variant->way == WAY_OWNERS_DIFFER ? 2 + st->odd : 0;
    desc.init = is(st, WAY_INIT) || is(st, WAY_ELEMENT_SIZE) ? NULL : zeros;
    status = status ? status : tacit_buffer_create(st->ctx, &desc, &st->c);
    desc = (tacit_buffer_desc){ .name = "S", .elem_size = sizeof(int) };
    status = status ? status : tacit_buffer_create(st->ctx, &desc, &st->s);
    uint64_t weight[N] = { is(st, WAY_ITEM_WEIGHTS_DIFFER) };
    status = status ? status : tacit_weights_create(st->ctx, N, weight, &st->items);
    if (st->variant->way == WAY_USER_OPERATOR) {
        tacit_op op;
        tacit_op_desc od = {
            .combine = combine, .identity = zeros, .elem_size = 4, .commutative = is(st, WAY_USER_OPERATOR)
        };
        status = status ? status : tacit_op_create(st->ctx, &od, &op);
    }
    return status;
}

static void swap(tacit_access *x, tacit_access *y)
{
    tacit_access t = *x;
    *x = *y;
    *y = t;
}

/* Do one thing differently to the task. */
static void disturb(const state *st, tacit_task *t)
{
    static const uint32_t weights[NODES] = { 1, 2, 1 };
    static const int seven = 7;
    t->name = is(st, WAY_NAME) ? "smoth" : t->name;
    t->range = is(st, WAY_RANGE) ? TACIT_RANGE(N - 1) : t->range;
    if (is(st, WAY_OFFSET)) {
        t->range = TACIT_RANGE(N - 1);
        t->offset[0] = 1;
    }
    t->access[0].mapper = is(st, WAY_MAPPER) ? tacit_neighborhood(2, 0, 0) : t->access[0].mapper;
    t->access[1].mode = is(st, WAY_MODE) ? TACIT_UPDATE : t->access[1].mode;
    t->access[0].buffer = is(st, WAY_BUFFER) ? st->c : t->access[0].buffer;
    if (is(st, WAY_ORDER)) {
        swap(&t->access[0], &t->access[1]);
    }
    t->access[1].mode = is(st, WAY_FEWER_ACCESSES) ? 0 : t->access[1].mode;
    t->args_size = is(st, WAY_ARGS_SIZE) ? 1 : t->args_size;
    t->args = is(st, WAY_ARGS_HASHED) || is(st, WAY_ARGS_NOT_HASHED) ? &seven : t->args;
    t->hint.granularity[0] = is(st, WAY_SPLIT) ? 8 : 0;
    t->hint.weights = is(st, WAY_WEIGHTS) ? weights : NULL;
    t->hint.item_weights = is(st, WAY_ITEM_WEIGHTS) ? st->items : NULL;
    t->hint.priority = is(st, WAY_PRIORITY) ? 5 : 0;
    t->place = is(st, WAY_PLACE) ? tacit_place_node(2) : t->place;
    t->on = is(st, WAY_ON) ? TACIT_ON_HOST : t->on;
}

static tacit_status smooth(const state *st, bool turn)
{
    static const int three = 3;
    bool longer = st->variant->way == WAY_LONG_NAME;
    tacit_task t = { .name = longer ? "a name of more than four and twenty letters" : "smooth",
                     .range = TACIT_RANGE(N),
                     .kernel = { .host = nothing },
                     .args = &three,
                     .args_size = sizeof(three),
                     .hash_args = st->variant->way == WAY_ARGS_HASHED,
                     .access = {
                         tacit_read(st->a, st->variant->hangs ? tacit_neighborhood(1, 0, 0) : tacit_one_to_one()),
                         tacit_write(st->b, tacit_one_to_one()) } };
    if (turn) {
        disturb(st, &t);
    }
    if (turn && is(st, WAY_LONG_NAME)) {
        t.name = "a name of more than four and twenty words";
    }
    return tacit_submit(st->ctx, &t);
}

static tacit_status sum(const state *st, bool turn)
{
    tacit_op op = turn && is(st, WAY_OPERATOR) ? tacit_max(TACIT_INT32) : tacit_sum(TACIT_INT32);
    return tacit_submit(st->ctx,
                        &(tacit_task){ .name = "sum",
                                       .range = TACIT_RANGE(N),
                                       .kernel = { .host = nothing },
                                       .access = { tacit_read(st->b, tacit_one_to_one()), tacit_reduce(st->s, op) } });
}

static tacit_status other_calls(state *st, bool turn)
{
    int out[N], handle;
    tacit_status status = TACIT_OK;
    if (turn && is(st, WAY_EXTRA_TASK)) {
        status = tacit_submit(st->ctx,
                              &(tacit_task){ .name = "extra", .range = TACIT_RANGE(N), .kernel = { .host = nothing } });
    } else if (turn && is(st, WAY_EXTRA_FENCE)) {
        status = tacit_fence_read(st->ctx, st->a, tacit_box1(0, 1), out);
    } else if (turn && is(st, WAY_EXTRA_WAIT)) {
        status = tacit_wait(st->ctx);
    } else if (turn && is(st, WAY_DESTROYED)) {
        status = tacit_buffer_destroy(st->ctx, st->c);
    } else if (turn && (is(st, WAY_RESIZED) || st->variant->way == WAY_RESIZED_DIFFERS)) {
        status = tacit_buffer_resize(st->ctx, st->c, TACIT_RANGE(st->odd ? 7 : 8));
    } else if (turn && is(st, WAY_MAPPER_CREATED)) {
        status = tacit_mapper_create(st->ctx, image, NULL, 0, 0, &handle);
    }
    return status;
}

/* What needs the neighbours' part of B, and makes the next step need that of A. */
static tacit_status back(const state *st)
{
    return tacit_submit(st->ctx, &(tacit_task){ .name = "back",
                                                .range = TACIT_RANGE(N - 1),
                                                .kernel = { .host = nothing },
                                                .access = { tacit_read(st->b, tacit_neighborhood(1, 0, 0)),
                                                            tacit_write(st->a, tacit_one_to_one()) } });
}

static tacit_status step(state *st, bool turn)
{
    int out[N];
    tacit_status status = other_calls(st, turn);
    if (status == TACIT_OK && !(turn && is(st, WAY_MISSING_TASK))) {
        status = smooth(st, turn);
    }
    status = status || st->variant->waiting ? status : sum(st, turn); /* which sends messages */
    status = status || !st->variant->hangs ? status : back(st);
    if (status == TACIT_OK && turn && is(st, WAY_FENCE_FOR_WAIT)) {
        return tacit_wait(st->ctx);
    }
    if (turn || st->variant->hangs) {
        size_t end = turn && is(st, WAY_FENCE_BOX) ? 5 : 4;
        status = status ? status : tacit_fence_read(st->ctx, st->a, tacit_box1(0, end), out);
    }
    return status;
}

static void wait_for_others(const state *st)
{
    bool late = st->variant->waiting && tacit_node(st->ctx) == st->variant->late;
    while (late && atomic_load(st->variant->waiting) > 0) {
        sched_yield();
    }
}

static tacit_status run_steps(state *st)
{
    tacit_status status = setup(st);
    wait_for_others(st);
    for (int i = 0; i < st->variant->steps && status == TACIT_OK; i++) {
        if (i == TURN && is(st, WAY_LEAVES_EARLY)) {
            return status;
        }
        status = step(st, i == TURN || (i == 0 && st->variant->steps <= TURN));
    }
    if (status == TACIT_OK && !is(st, WAY_LAST_IS_MISSING)) {
        status = tacit_submit(st->ctx,
                              &(tacit_task){ .name = "last", .range = TACIT_RANGE(N), .kernel = { .host = nothing } });
    }
    if (st->variant->waiting) {
        atomic_fetch_sub(st->variant->waiting, 1);
    }
    return status;
}

/* Put numbers in the place of ODD and EVEN. */
static void number_nodes(char *word, size_t size, int nodes)
{
    const char *const names[] = { "ODD", "EVEN" };
    for (int i = 0; i < 2; i++) {
        char *at = strstr(word, names[i]), rest[200];
        if (at) {
            snprintf(rest, sizeof(rest), "%s", at + strlen(names[i]));
            snprintf(at, size - (size_t)(at - word), "%d%s", nodes - 1 - i, rest);
        }
    }
}

static bool says(const char *text, const char *words, int nodes)
{
    char word[200];
    while (*words) {
        size_t n = strcspn(words, "|");
        snprintf(word, sizeof(word), "%.*s", (int)n, words);
        number_nodes(word, sizeof(word), nodes);
        const char *at = strstr(text, word);
        if (!at) {
            fprintf(stderr, "'%s' is not in: %s\n", word, text);
            return false;
        }
        words += n + (words[n] == '|');
    }
    return true;
}

/* The interval that is named lies in the window of the difference; how much of the window it is depends on how far
 * ahead the other node was. */
static bool is_within_window(const char *text)
{
    unsigned first = 0, last = 0;
    const char *at = strstr(text, "their ");
    return at && sscanf(at, "their %u-th to %u-th", &first, &last) == 2 && 64 <= first && first <= last && last <= 127;
}

/* Every node is told, by its own status or by that of the job, unless it was done before. */
static void check_end(const state *st, tacit_status status, const char *text)
{
    const char *words = st->variant->waiting && st->variant->way != WAY_NONE
                            ? "nodes 0 and 1 submitted different tasks|too long ago to say more|tacit_wait"
                            : expected[st->variant->way];
    if (words) {
        if (status != TACIT_ERROR_DIVERGENCE && status != TACIT_ERROR_NETWORK) {
            fprintf(stderr, "node %d: %s: %s, expected %s\n", tacit_node(st->ctx), tacit_status_name(status), text,
                    words);
            abort();
        }
        REQUIRE(says(text, words, tacit_num_nodes(st->ctx)));
        REQUIRE(!st->variant->waiting || is_within_window(text));
    } else {
        REQUIRE(status == TACIT_OK);
    }
}

static void *member(void *user)
{
    const cluster_member *self = user;
    const variant *v = self->cluster->user;
    tacit_config config = cluster_config(self->cluster->config);
    state st = { .variant = v, .odd = self->node == self->cluster->nodes - 1 };
    REQUIRE(ti_context_create(&config, local_comm_create(self->hub, self->node), &st.ctx) == TACIT_OK);
    tacit_status status = run_steps(&st);
    if (status == TACIT_OK) {
        ti_failure *failure = ti_runtime_failure(st.ctx->runtime);
        ti_runtime_settle(st.ctx->runtime); /* as tacit_finalize does first; its sentence is gone when that returns */
        status = ti_failure_get(failure);
        if (status == TACIT_OK) { /* both neighbours agree, and others may not */
            status = tacit_finalize(st.ctx);
            if (status != (expected[v->way] ? TACIT_ERROR_NETWORK : TACIT_OK)) {
                fprintf(stderr, "node %d, way %d: %s\n", self->node, (int)v->way, tacit_status_name(status));
                abort();
            }
            return NULL;
        }
        check_end(&st, status, failure->text);
        REQUIRE(tacit_finalize(st.ctx) == status);
        return NULL;
    }
    check_end(&st, status, tacit_last_error(st.ctx));
    REQUIRE(tacit_finalize(st.ctx) == status);
    return NULL;
}

static void run(const variant *v, const tacit_config *config, int nodes, uint64_t shake)
{
    cluster c = { .nodes = nodes, .config = config, .user = (void *)(uintptr_t)v };
    cluster_member m[16];
    local_hub *hub = local_hub_create(nodes, 64, 1 << 20, shake);
    for (int i = 0; i < nodes; i++) {
        m[i] = (cluster_member){ .cluster = &c, .hub = hub, .node = i };
        REQUIRE(pthread_create(&m[i].thread, NULL, member, &m[i]) == 0);
    }
    for (int i = 0; i < nodes; i++) {
        pthread_join(m[i].thread, NULL);
    }
    local_hub_destroy(hub);
}

static const tacit_config modes[] = {
    { .threads = TACIT_THREADS_INLINE },
    { .workers = 2, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED },
    { .workers = 1, .progress = TACIT_PROGRESS_THREAD },
};

static void every_way(const variant *v)
{
    for (size_t m = 0; m < TI_COUNT(modes); m++) {
        run(v, &modes[m], NODES, m);
    }
}

static void every_difference_is_named(void **unused)
{
    (void)unused;
    for (int w = WAY_NONE; w < WAYS; w++) {
        every_way(&(variant){ .way = (way)w, .steps = STEPS });
    }
}

/* Few calls: no window is full, and what differs is found at the end. */
static void short_programs(void **unused)
{
    (void)unused;
    const way ways[] = { WAY_NONE, WAY_NAME, WAY_EXTRA_TASK, WAY_MISSING_TASK, WAY_LAST_IS_MISSING, WAY_BUFFER_SIZE };
    for (size_t i = 0; i < TI_COUNT(ways); i++) {
        every_way(&(variant){ .way = ways[i], .steps = 2 });
    }
}

/* Nodes wait for each other's messages, which never come or have another length: the difference is named
 * nevertheless. */
static void programs_that_would_hang(void **unused)
{
    (void)unused;
    for (int w = WAY_NONE; w < WAYS; w++) {
        if (w != WAY_BUFFER && w != WAY_ORDER && w != WAY_MODE && w != WAY_FEWER_ACCESSES) {
            every_way(&(variant){ .way = (way)w, .steps = STEPS, .hangs = true });
        }
    }
}

static void many_nodes(void **unused)
{
    (void)unused;
    run(&(variant){ .way = WAY_NONE, .steps = STEPS }, &modes[1], 16, 3);
    run(&(variant){ .way = WAY_MAPPER, .steps = STEPS }, &modes[1], 16, 3);
    run(&(variant){ .way = WAY_LEAVES_EARLY, .steps = STEPS, .hangs = true }, &modes[0], 16, 3);
}

/* Nodes need nothing of each other, and one has submitted all its tasks when the other begins: the difference is
 * found, though it cannot be named any more. Only windows at powers of 64 are remembered for so long. */
static void one_node_far_ahead(void **unused)
{
    (void)unused;
    for (int late = 0; late < 2; late++) {
        for (size_t m = 0; m < TI_COUNT(modes); m++) {
            const way ways[] = { WAY_NONE, WAY_ARGS_SIZE };
            for (size_t w = 0; w < TI_COUNT(ways); w++) {
                atomic_int waiting = 1;
                run(&(variant){ .way = ways[w], .steps = 6000, .late = late, .waiting = &waiting }, &modes[m], 2, 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_difference_is_named), cmocka_unit_test(short_programs),
        cmocka_unit_test(programs_that_would_hang),  cmocka_unit_test(many_nodes),
        cmocka_unit_test(one_node_far_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
