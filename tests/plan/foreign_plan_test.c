/* Random programs of placed tasks on tiles, submitted on every node: most tasks of a node run elsewhere, and are
 * planned there by numbers of tiles alone, many of them as briefs. All nodes come to the same versions, whichever way
 * each of them takes, and what one sends another expects. Without briefs they plan the same. */
#include "planning.h"

#include "base/map.h"
#include "unit/random.h"

enum { MOST_NODES = 6, BLOCK = 150, BLOCKS = 6, SIDE = 4, MOST_TILES = 50, TILES_OF_TASK = 4, KINDS = 8 };

/* The program: the same on every node, so it is drawn anew on each. */
static struct program {
    uint64_t seed;
    int64_t tiles; /* along a side */
    int64_t near;  /* most accesses are of this many rows of tiles */
} program;

static uint64_t seed;

static void must(tacit_status status)
{
    assert_int_equal(status, TACIT_OK);
}

static void create(pattern_run *run)
{
    static const char contents[1]; /* never looked at */
    const size_t n = (size_t)program.tiles * SIDE;
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = { .name = i ? "B" : "A",
                                         .range = tacit_range2(n, n),
                                         .elem_size = sizeof(float),
                                         .init = contents,
                                         .init_borrow = true };
        must(tacit_buffer_create(run->ctx, &desc, &run->buffer[i]));
    }
}

static void kernel(const tacit_launch *launch)
{
    (void)launch;
}

static tacit_box tile_at(rng *r, int64_t *number)
{
    const int64_t i = rng_between(r, 0, rng_next(r) % 8 ? program.near - 1 : program.tiles - 1);
    const int64_t j = rng_between(r, 0, program.tiles - 1);
    *number = i * program.tiles + j;
    return tacit_box2((size_t)(i * SIDE), (size_t)((i + 1) * SIDE), (size_t)(j * SIDE), (size_t)((j + 1) * SIDE));
}

/* The modes of a kind of tasks, so that there are forms of them. */
static int mode_of(uint64_t kind, uint32_t access)
{
    static const int modes[KINDS][TILES_OF_TASK] = {
        { TACIT_UPDATE },
        { TACIT_UPDATE, TACIT_READ },
        { TACIT_UPDATE, TACIT_READ, TACIT_READ },
        { TACIT_WRITE, TACIT_READ },
        { TACIT_READ, TACIT_READ, TACIT_UPDATE },
        { TACIT_WRITE, TACIT_UPDATE, TACIT_READ, TACIT_READ },
        { TACIT_READ },
        { TACIT_WRITE },
    };
    return modes[kind][access];
}

/* Tiles that are written come once; others may come twice. */
static void fill_tiles(pattern_run *run, rng *r, tacit_task *t, uint64_t kind)
{
    int64_t number[TILES_OF_TASK];
    const bool both = rng_next(r) % 6 == 0; /* buffers */
    for (uint32_t i = 0; i < TILES_OF_TASK && mode_of(kind, i); i++) {
        const int mode = mode_of(kind, i);
        bool again = true;
        tacit_box box = { { 0 }, { 0 } };
        while (again) {
            again = false;
            box = tile_at(r, &number[i]);
            for (uint32_t k = 0; k < i; k++) {
                again |= number[k] == number[i] && (mode != TACIT_READ || mode_of(kind, k) != TACIT_READ);
            }
        }
        t->access[i] = tacit_access_make(run->buffer[both && i % 2], mode, tacit_fixed(box));
    }
}

/* Not on tiles: what cuts them, or reads many. */
static void fill_other(pattern_run *run, rng *r, tacit_task *t)
{
    const size_t n = (size_t)program.tiles * SIDE;
    const ti_box box = rng_box(r, 2, (int64_t)n, 1, 3 * SIDE);
    const tacit_mapper some =
        tacit_fixed(tacit_box2((size_t)box.min[0], (size_t)box.max[0], (size_t)box.min[1], (size_t)box.max[1]));
    switch (rng_next(r) % 4) {
    case 0: /* split */
        t->range = tacit_range2(n, n);
        t->place = (tacit_place){ 0 };
        t->access[0] = tacit_update(run->buffer[0], tacit_one_to_one());
        break;
    case 1:
        t->access[0] = tacit_read(run->buffer[0], tacit_all());
        t->access[1] = tacit_update(run->buffer[1], some);
        break;
    default:
        t->access[0] = tacit_access_make(run->buffer[0], rng_next(r) % 2 ? TACIT_READ : TACIT_UPDATE, some);
    }
}

static void submit(pattern_run *run)
{
    static const char *const names[KINDS] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    rng r = rng_from(program.seed * 1000003 + run->step);
    const uint64_t kind = rng_next(&r) % KINDS;
    tacit_task t = { .name = names[kind],
                     .range = tacit_range1(1),
                     .kernel = { .host = kernel },
                     .place = tacit_place_node((int)(rng_next(&r) % run->nodes)) };
    if (rng_next(&r) % 120 == 0) {
        fill_other(run, &r, &t);
    } else {
        fill_tiles(run, &r, &t, kind);
    }
    must(tacit_submit(run->ctx, &t));
}

static const pattern random_tiles = { .name = "random tiles", .cycle = 1, .create = create, .submit = submit };

/* ---- what nodes send to each other */

typedef struct books {
    int node;
    uint64_t sent[MOST_NODES], received[MOST_NODES]; /* sums of hashes, by who gets it */
    uint64_t messages;
} books;

static void note(void *user, const ti_command *c)
{
    books *b = user;
    const bool sends = c->kind == TI_COMMAND_SEND;
    if (!sends && c->kind != TI_COMMAND_RECEIVE) {
        return;
    }
    const int from = sends ? b->node : c->as.transfer.peer, to = sends ? c->as.transfer.peer : b->node;
    uint64_t h = ti_hash64((uint64_t)from << 32 | (uint32_t)to);
    h = ti_hash64(h ^ c->as.transfer.counter);
    h = ti_hash_words(c->as.transfer.box, c->as.transfer.boxes * sizeof(ti_box), ti_hash64(h ^ c->task->id));
    (sends ? b->sent : b->received)[to] += h;
    b->messages += sends;
}

/* All nodes that have been opened with these options plan the next tasks. */
static void plan_block(planning *p, books *b, int nodes)
{
    uint64_t ns[PLANNING_STAGES] = { 0 };
    for (b->node = 0; b->node < nodes; b->node++) {
        planning_block(&p[b->node], BLOCK, ns);
        planning_wait(&p[b->node]); /* nothing is held */
    }
}

/* Returns how many briefs there were. */
static uint64_t nodes_agree(uint64_t own_seed)
{
    static planning p[MOST_NODES], whole[MOST_NODES];
    uint64_t ns[PLANNING_STAGES] = { 0 }, briefs = 0;
    books b = { 0 }, of_whole = { 0 };
    rng r = rng_from(own_seed);
    const int nodes = (int)rng_between(&r, 2, MOST_NODES);
    program.seed = own_seed;
    program.tiles = rng_between(&r, 6, rng_next(&r) % 4 ? 14 : MOST_TILES);
    program.near = rng_between(&r, 1, 4);
    planning_options o = { .pattern = &random_tiles, .nodes = nodes, .tasks = (size_t)BLOCK * BLOCKS };
    o.collectives = (int)rng_between(&r, TACIT_COLLECTIVES_OFF, TACIT_COLLECTIVES_LOOKAHEAD);
    for (o.node = 0; o.node < nodes; o.node++) {
        o.whole = false;
        planning_open(&p[o.node], &o, ns);
        p[o.node].look = note;
        p[o.node].user = &b;
        o.whole = true;
        planning_open(&whole[o.node], &o, ns);
        whole[o.node].look = note;
        whole[o.node].user = &of_whole;
    }
    for (int block = 0; block < BLOCKS; block++) {
        plan_block(p, &b, nodes);
        plan_block(whole, &of_whole, nodes);
        for (int i = 0; i < nodes; i++) {
            if (ti_command_graph_digest(p[i].commands) != ti_command_graph_digest(p[0].commands) ||
                ti_command_graph_digest(p[i].commands) != ti_command_graph_digest(whole[i].commands) ||
                b.sent[i] != b.received[i] || b.sent[i] != of_whole.sent[i]) {
                fail_msg(
                    "seed %llu, block %d: node %d of %d has other versions than node 0 or without briefs, or other messages",
                    (unsigned long long)own_seed, block, i, nodes);
            }
        }
    }
    assert_true(b.messages > 0);
    for (int i = 0; i < nodes; i++) {
        assert_true(program.tiles > 10 || ti_command_graph_is_valid(p[i].commands));
        assert_int_equal(p[i].counts.commands, whole[i].counts.commands);
        assert_int_equal(whole[i].counts.briefs, 0);
        briefs += p[i].counts.briefs;
        planning_close(&p[i]);
        planning_close(&whole[i]);
    }
    return briefs;
}

static void all_nodes_agree(void **state)
{
    (void)state;
    enum { PROGRAMS = 8 };
    uint64_t briefs = 0;
    for (uint64_t i = 0; i < PROGRAMS; i++) {
        briefs += nodes_agree(seed + i);
    }
    assert_true(briefs > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_nodes_agree) };
    seed = test_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
