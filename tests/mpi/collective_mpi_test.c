/* Tests of collectives over MPI, run by a launcher on any number of nodes, with each schedule.
 *
 * Random collectives of all patterns, among all nodes and among rows or columns of a grid: slabs along any dimension,
 * even and uneven, in any order of nodes, several chunks per node, nodes without a part, blocks in two dimensions,
 * several regions. Every node keeps them in memory of a shape of its own, and several are under way at once. Each is
 * repeated with other contents elsewhere. All bytes are checked, also those around. With TI_TEST_HUGE=1, one of more
 * than 2 GiB. What was measured is agreed: nodes that take different ways would wait for ever. The seed is printed,
 * and taken from the first argument; the second is the number of rounds. */
#include "base/alloc.h"
#include "base/map.h"
#include "comm/exchange.h"
#include "grid/layout.h"
#include "mpi_program.h"

#include <sched.h>
#include <unistd.h>

enum { FLIGHT = 6, TIMES = 3, MAX_TOKENS = 32, GAP_BYTE = 0x5a, MAX_CHUNKS = 3 };

static long packed; /* transpositions of small pieces on this node */

int MPI_Ialltoall(const void *from, int count, MPI_Datatype type, void *to, int counts, MPI_Datatype types,
                  MPI_Comm mpi, MPI_Request *request)
{
    packed++;
    return PMPI_Ialltoall(from, count, type, to, counts, types, mpi, request);
}

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return ti_hash64(*state);
}

static int64_t below(uint64_t *state, int64_t limit)
{
    return (int64_t)(next_random(state) % (uint64_t)limit);
}

/* ---- collectives, the same on all nodes */

typedef struct problem {
    ti_collective what;
    size_t elem;
} problem;

/* Borders of n pieces of [a,b), some of them empty. */
static void random_borders(uint64_t *random, int64_t a, int64_t b, int n, int64_t *border)
{
    bool even = (b - a) / n > 0 && below(random, 2), covers = below(random, 3) > 0;
    for (int i = 0; i <= n; i++) {
        border[i] = even ? a + i * ((b - a) / n) : a + below(random, b - a + 1);
        for (int k = i; k > 0 && border[k] < border[k - 1]; k--) {
            int64_t swap = border[k];
            border[k] = border[k - 1];
            border[k - 1] = swap;
        }
    }
    if (!even && covers) {
        border[0] = a;
        border[n] = b;
    }
}

/* Pieces of dimension `d` in an order that may begin anywhere; or blocks: of every second piece only the lower half
 * in another dimension, of the others the upper one. */
static void random_parts(uint64_t *random, const ti_box *extent, int nodes, int d, ti_parts *out)
{
    int per_node = 1 + (int)below(random, MAX_CHUNKS), n = nodes * per_node, other = (d + 1) % 3;
    int shift = below(random, 4) ? 0 : (int)below(random, nodes) * per_node;
    bool blocks = below(random, 6) == 0, backwards = below(random, 5) == 0;
    int64_t *border = ti_alloc((size_t)(n + 1) * sizeof(*border)),
            middle = (extent->min[other] + extent->max[other]) / 2;
    ti_boxes boxes = { 0 };
    random_borders(random, extent->min[d], extent->max[d], n, border);
    *out = (ti_parts){ .kind = TI_PARTS_SPLIT,
                       .split = { .chunks = n, .per_node = per_node, .place = TI_PLACE_SPLIT, .nodes = nodes },
                       .extent = *extent,
                       .start = TI_NEW_ARRAY(size_t, (size_t)(n + 1)) };
    for (int c = 0; c < n; c++) {
        int piece = backwards ? n - 1 - c : (c + shift) % n;
        ti_box box = *extent;
        box.min[d] = border[piece];
        box.max[d] = border[piece + 1];
        if (blocks) {
            *(c % 2 ? &box.min[other] : &box.max[other]) = middle;
        }
        if (!ti_box_is_empty(&box)) {
            ti_vec_push(&boxes, box);
        }
        out->start[c + 1] = boxes.count;
    }
    out->box = ti_alloc(boxes.count * sizeof(ti_box));
    if (boxes.count) {
        memcpy(out->box, boxes.data, boxes.count * sizeof(ti_box));
    }
    ti_vec_fini(&boxes);
    ti_free(border, (size_t)(n + 1) * sizeof(*border));
}

static ti_box random_box(uint64_t *random)
{
    static const int64_t longest[] = { 1, 12, 40 };
    ti_box box;
    int64_t length = longest[below(random, 3)];
    for (int d = 0; d < 3; d++) {
        box.min[d] = below(random, 5);
        box.max[d] = box.min[d] + 1 + below(random, d == 2 && length == 1 ? 5000 : length);
    }
    return box;
}

/* A grid of rows and columns of nodes: now and then of fewer nodes than there are, or not the one that a split takes.
 */
static ti_split random_grid(uint64_t *random, int nodes, const ti_box *box, int d, int e)
{
    ti_split_request request = {
        .nodes = nodes, .place = TI_PLACE_SPLIT, .oversubscribe = 1, .two_dimensional = true, .gran = { 1, 1, 1 }
    };
    request.range = (ti_box){ { box->min[d], box->min[e], 0 }, { box->max[d], box->max[e], 1 } };
    if (below(random, 3) == 0) {
        request.grid[0] = 1 + below(random, nodes);
        request.grid[1] = 1 + below(random, nodes / request.grid[0]);
        request.grid[2] = 1;
    }
    return ti_split_make(&request, NULL);
}

/* Everybody wrote a block, and each group reads the row or column that its blocks are in, or what one of its members
 * has of it. */
static bool random_groups(uint64_t *random, int nodes, const ti_box *box, ti_collective *c)
{
    int d = (int)below(random, 3), e = (d + 1 + (int)below(random, 2)) % 3, follows = (int)below(random, 2);
    ti_split grid = random_grid(random, nodes, box, d, e);
    ti_mapper both = { .c = { tacit_full(), tacit_full(), tacit_full() }, .dims = 3, .custom = -1 }, one = both;
    int followed = follows ? e : d, other = follows ? d : e;
    if (grid.parts[0] == 1 || grid.parts[1] == 1) {
        return false;
    }
    both.c[d] = tacit_dim(0);
    both.c[e] = tacit_dim(1);
    one.c[followed] = tacit_dim(follows);
    c->from =
        (ti_parts){ .kind = TI_PARTS_SPLIT, .mapper = both, .split = grid, .extent = { .max = { 99, 99, 9999 } } };
    c->to = c->from;
    c->to.mapper = one;
    c->members = (int)grid.parts[!follows];
    c->stride = follows ? (int)grid.parts[1] : 1;
    c->pattern = below(random, 3) ? TI_PATTERN_ALL_GATHER : TI_PATTERN_BROADCAST;
    c->root = -1;
    c->region[0] = *box;
    if (c->pattern == TI_PATTERN_BROADCAST) {
        c->root = (int)below(random, c->members);
        c->region[0].min[other] = ti_split_border(&grid, !follows, c->root);
        c->region[0].max[other] = ti_split_border(&grid, !follows, c->root + 1);
    } else if (below(random, 2)) {
        c->region[0].max[other] -= below(random, box->max[other] - box->min[other]);
    }
    return true;
}

/* One slab for each node, all of the same length, in any order. */
static void even_parts(uint64_t *random, const ti_box *box, int nodes, int d, ti_parts *out)
{
    int64_t shift = below(random, nodes), length = (box->max[d] - box->min[d]) / nodes;
    *out = (ti_parts){ .kind = TI_PARTS_SPLIT,
                       .split = { .chunks = nodes, .per_node = 1, .place = TI_PLACE_SPLIT, .nodes = nodes },
                       .extent = *box,
                       .start = TI_NEW_ARRAY(size_t, (size_t)(nodes + 1)),
                       .box = ti_alloc((size_t)nodes * sizeof(ti_box)) };
    for (int q = 0; q < nodes; q++) {
        out->box[q] = *box;
        out->box[q].min[d] += (q + shift) % nodes * length;
        out->box[q].max[d] = out->box[q].min[d] + length;
        out->start[q + 1] = (size_t)q + 1;
    }
}

/* A transposition in which every node sends as much to each other one. */
static void even_transposition(uint64_t *random, ti_collective *c)
{
    int d = (int)below(random, 3), e = (d + 1 + (int)below(random, 2)) % 3;
    ti_box box = c->region[0];
    box.max[d] = box.min[d] + c->nodes * (1 + below(random, 4));
    box.max[e] = box.min[e] + c->nodes * (1 + below(random, 4));
    c->region[0] = box;
    even_parts(random, &box, c->nodes, d, &c->from);
    even_parts(random, &box, c->nodes, e, &c->to);
}

static void random_problem(uint64_t *random, int nodes, uint64_t serial, problem *out)
{
    static const size_t sizes[] = { 1, 4, 8, 12 };
    ti_collective *c = &out->what;
    ti_box box = random_box(random);
    int d = (int)below(random, 3);
    out->elem = sizes[below(random, 4)];
    *c = (ti_collective){ .pattern = TI_PATTERN_GATHER + (ti_pattern)below(random, 5),
                          .nodes = nodes,
                          .serial = serial };
    c->root = (int)below(random, nodes);
    ti_box lower = box, upper = box;
    lower.max[d] = upper.min[d] = (box.min[d] + box.max[d]) / 2;
    c->regions = below(random, 8) == 0 && !ti_box_is_empty(&lower) && !ti_box_is_empty(&upper) ? 2 : 1;
    c->region = TI_NEW_ARRAY(ti_box, c->regions);
    c->region[0] = c->regions == 2 ? lower : box;
    c->region[c->regions - 1] = c->regions == 2 ? upper : box;
    if (c->regions == 1 && below(random, 3) == 0 && random_groups(random, nodes, &box, c)) {
        return;
    }
    if (c->regions == 1 && c->pattern == TI_PATTERN_ALL_TO_ALL && below(random, 2)) {
        even_transposition(random, c);
        return;
    }
    c->from = c->to = (ti_parts){ .kind = TI_PARTS_NODE, .node = c->root };
    if (c->pattern == TI_PATTERN_ALL_GATHER || c->pattern == TI_PATTERN_BROADCAST) {
        c->to.kind = TI_PARTS_ALL;
    }
    if (c->pattern == TI_PATTERN_SCATTER || c->pattern == TI_PATTERN_ALL_TO_ALL) {
        random_parts(random, &box, nodes, (int)below(random, 3), &c->to);
    }
    if (c->pattern != TI_PATTERN_SCATTER && c->pattern != TI_PATTERN_BROADCAST) {
        random_parts(random, &box, nodes, (int)below(random, 3), &c->from);
    }
}

static void problem_fini(problem *p)
{
    ti_parts_fini(&p->what.from);
    ti_parts_fini(&p->what.to);
    ti_free(p->what.region, p->what.regions * sizeof(ti_box));
}

/* ---- one node's memory of it */

typedef struct memory {
    const problem *of;
    ti_box whole, inside; /* the allocation, and all regions */
    char *base, *second;  /* second: an allocation of the same shape, for every second box of what is given */
    size_t bytes;
    ti_boxes given, got, scratch;
    TI_VEC(ti_block) blocks;
    uint64_t key;
} memory;

static bool in_second(const memory *m, const ti_box *box)
{
    for (size_t i = 1; m->second && i < m->given.count; i += 2) {
        if (ti_box_covers(&m->given.data[i], box)) {
            return true;
        }
    }
    return false;
}

static ti_payload locate(void *user, const ti_boxes *boxes)
{
    memory *m = user;
    ti_payload payload = { 0 };
    ti_vec_clear(&m->blocks);
    for (size_t i = 0; i < boxes->count; i++) {
        const ti_box *box = &boxes->data[i];
        ti_block block = ti_layout_block(in_second(m, box) ? m->second : m->base, &m->whole, box, m->of->elem);
        ti_vec_push(&m->blocks, block);
        payload.bytes += ti_block_bytes(&block);
    }
    payload.block = m->blocks.data;
    payload.count = (uint32_t)m->blocks.count;
    return payload;
}

/* Fills the box with what its elements are, or counts what is not so, and makes it a gap again. */
static size_t touch(memory *m, const ti_box *box, bool fill)
{
    size_t wrong = 0;
    char *base = in_second(m, box) ? m->second : m->base;
    int64_t at[3];
    for (at[0] = box->min[0]; at[0] < box->max[0]; at[0]++) {
        for (at[1] = box->min[1]; at[1] < box->max[1]; at[1]++) {
            for (at[2] = box->min[2]; at[2] < box->max[2]; at[2]++) {
                char *e = base + ti_layout_offset(&m->whole, at, m->of->elem);
                uint64_t value = ti_hash64(m->key + (uint64_t)((at[0] * 1000 + at[1]) * 10000 + at[2]));
                for (size_t k = 0; k < m->of->elem; k++) {
                    char byte = (char)(value >> (8 * (k % 8)));
                    wrong += !fill && e[k] != byte;
                    e[k] = fill ? byte : (char)GAP_BYTE;
                }
            }
        }
    }
    return wrong;
}

static void memory_create(memory *m, const problem *p, uint64_t key, int node, uint64_t *mine)
{
    const ti_collective *c = &p->what;
    ti_boxes scratch = { 0 };
    *m = (memory){ .of = p, .key = key, .inside = c->region[0] };
    m->inside = c->regions == 2 ? ti_box_bounding(&c->region[0], &c->region[1]) : m->inside;
    m->whole = m->inside;
    for (int d = 0; d < 3; d++) {
        m->whole.min[d] -= below(mine, 3);
        m->whole.max[d] += below(mine, 3);
    }
    ti_collective_given(c, node, &m->given);
    for (int r = 0; r < c->nodes; r++) {
        if (r != node) {
            ti_collective_message(c, r, node, &m->got, &scratch);
        }
    }
    ti_vec_fini(&scratch);
    bool scattered = m->given.count > 1 && c->root != node && c->pattern == TI_PATTERN_GATHER && below(mine, 2);
    m->bytes = (size_t)ti_box_volume(&m->whole) * p->elem;
    m->base = ti_alloc(m->bytes);
    memset(m->base, GAP_BYTE, m->bytes);
    if (scattered) {
        m->second = ti_alloc(m->bytes);
        memset(m->second, GAP_BYTE, m->bytes);
    }
    for (size_t i = 0; i < m->given.count; i++) {
        touch(m, &m->given.data[i], true);
    }
}

/* Wrong bytes, of what was given, of what was got, and around. */
static size_t memory_wrong(memory *m)
{
    size_t wrong = 0;
    for (size_t i = 0; i < m->given.count; i++) {
        wrong += touch(m, &m->given.data[i], false);
    }
    for (size_t i = 0; i < m->got.count; i++) {
        wrong += touch(m, &m->got.data[i], false);
    }
    for (size_t i = 0; i < m->bytes; i++) {
        wrong += m->base[i] != (char)GAP_BYTE || (m->second && m->second[i] != (char)GAP_BYTE);
    }
    return wrong;
}

static void memory_fini(memory *m)
{
    ti_free(m->base, m->bytes);
    ti_free(m->second, m->second ? m->bytes : 0);
    ti_vec_fini(&m->given);
    ti_vec_fini(&m->got);
    ti_vec_fini(&m->scratch);
    ti_vec_fini(&m->blocks);
}

/* How many collectives MPI has carried out so far. */
static uint64_t by_network(const ti_comm *comm)
{
    uint64_t sum = 0;
    for (int p = 0; p < TI_PATTERN_KINDS; p++) {
        sum += comm->stats.carried[p][1];
    }
    return sum;
}

/* Whether it is among groups, and MPI carries it out. */
static bool start(ti_comm *comm, memory *m, uint64_t sequence, uint64_t token)
{
    uint64_t by_mpi = by_network(comm);
    uint64_t shape = ti_hash_words(&m->whole, sizeof(m->whole), m->of->elem) | 1;
    ti_exchange x = { .what = &m->of->what,
                      .elem_size = m->of->elem,
                      .sequence = sequence,
                      .layout = m->second ? 0 : shape,
                      .base = m->second ? NULL : m->base,
                      .locate = locate,
                      .user = m,
                      .gives = m->given.count > 0,
                      .gets = m->got.count > 0 };
    comm->ops->collective(comm, &x, token);
    return m->of->what.members && by_network(comm) > by_mpi;
}

/* ---- rounds */

static int poll_some(ti_comm *comm, uint64_t tokens[MAX_TOKENS])
{
    int n = comm->ops->poll(comm, tokens, MAX_TOKENS);
    if (n < 0) {
        stop_job(__FILE__, __LINE__, "node %d: %s", comm->node, comm->stats.error);
    }
    if (n == 0) {
        sched_yield();
    }
    return n;
}

/* A few collectives at once, each several times, so that what was made for one is used again. How many groups MPI
 * serves. */
static int round_of(ti_comm *comm, uint64_t seed, uint64_t *mine, uint64_t *sequence, uint64_t *serial)
{
    problem p[FLIGHT];
    memory m[FLIGHT * TIMES];
    uint64_t random = seed, tokens[MAX_TOKENS], layouts[FLIGHT];
    int problems = 1 + (int)below(&random, FLIGHT), count = problems * TIMES, done = 0, groups = 0;
    for (int i = 0; i < problems; i++) {
        random_problem(&random, comm->num_nodes, ++*serial, &p[i]);
        layouts[i] = next_random(mine);
    }
    for (int i = 0; i < count; i++) {
        uint64_t layout = i / problems == 2 ? next_random(mine) : layouts[i % problems];
        memory_create(&m[i], &p[i % problems], seed * 1000 + (uint64_t)i, comm->node, &layout);
    }
    for (int i = 0; i < count || done < count;) {
        if (i < count) {
            groups += start(comm, &m[i], (*sequence)++, (uint64_t)i);
            i++;
        }
        for (int64_t polls = below(mine, 4); polls >= 0 && (i == count || polls); polls--) {
            int n = poll_some(comm, tokens);
            for (int k = 0; k < n; k++, done++) {
                memory *at = &m[tokens[k]];
                size_t wrong = memory_wrong(at);
                if (wrong) {
                    stop_job(__FILE__, __LINE__, "node %d of %d: %zu wrong bytes in %s %d of round %llu", comm->node,
                             comm->num_nodes, wrong, ti_pattern_name(at->of->what.pattern), (int)tokens[k],
                             (unsigned long long)seed);
                }
            }
        }
    }
    REQUIRE(comm->pending == 0);
    for (int i = 0; i < count; i++) {
        memory_fini(&m[i]);
    }
    for (int i = 0; i < problems; i++) {
        problem_fini(&p[i]);
    }
    return groups;
}

/* More bytes than an int counts, of which each node but the first has a little. */
static void huge(ti_comm *comm, uint64_t *sequence, uint64_t serial)
{
    int64_t first = ((int64_t)2 << 30) + 8192, each = 4096, n = first + each * (comm->num_nodes - 1);
    problem p = {
        .what = { .pattern = TI_PATTERN_ALL_GATHER, .nodes = comm->num_nodes, .serial = serial, .regions = 1 },
        .elem = 1
    };
    size_t *starts = ti_alloc((size_t)(comm->num_nodes + 1) * sizeof(*starts));
    ti_box *box = ti_alloc((size_t)comm->num_nodes * sizeof(*box)), all = { .max = { n, 1, 1 } };
    for (int q = 0; q < comm->num_nodes; q++) {
        starts[q] = (size_t)q;
        box[q] = (ti_box){ .min = { q ? first + (q - 1) * each : 0, 0, 0 }, .max = { first + q * each, 1, 1 } };
    }
    starts[comm->num_nodes] = (size_t)comm->num_nodes;
    p.what.region = &all;
    p.what.from = (ti_parts){ .kind = TI_PARTS_SPLIT, .box = box, .start = starts };
    p.what.from.split = (ti_split){ .chunks = comm->num_nodes, .per_node = 1, .place = TI_PLACE_SPLIT };
    p.what.to.kind = TI_PARTS_ALL;
    memory m = { .of = &p, .whole = all, .bytes = (size_t)n, .base = malloc((size_t)n) };
    REQUIRE(m.base != NULL);
    memset(m.base, GAP_BYTE, m.bytes);
    ti_vec_push(&m.given, box[comm->node]);
    ti_vec_push(&m.got, all);
    for (int64_t i = box[comm->node].min[0]; i < box[comm->node].max[0]; i++) {
        m.base[i] = (char)(i * 7 + (i >> 20));
    }
    start(comm, &m, (*sequence)++, 0);
    uint64_t tokens[MAX_TOKENS];
    while (poll_some(comm, tokens) == 0) {
    }
    size_t wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        wrong += m.base[i] != (char)(i * 7 + (i >> 20));
    }
    REQUIRE(wrong == 0);
    free(m.base);
    m.base = NULL;
    m.bytes = 0;
    memory_fini(&m);
    ti_free(box, (size_t)comm->num_nodes * sizeof(*box));
    ti_free(starts, (size_t)(comm->num_nodes + 1) * sizeof(*starts));
}

static ti_comm *create(int schedule, bool no_near)
{
    char why[256] = "";
    ti_comm *comm = ti_comm_mpi_create(
        &(ti_comm_settings){ .early_bytes = 1 << 20, .schedule = schedule, .no_near = no_near }, why, sizeof(why));
    if (!comm) {
        fprintf(stderr, "%s\n", why);
        exit(EXIT_FAILURE);
    }
    return comm;
}

int main(int argc, char **argv)
{
    /* Auto leaves collectives of near nodes to messages, and so it comes twice. */
    enum { NEAR = 5 };
    static const int schedules[] = { TACIT_COLLECTIVE_SCHEDULE_MPI,     TACIT_COLLECTIVE_SCHEDULE_AUTO,
                                     TACIT_COLLECTIVE_SCHEDULE_MEASURE, TACIT_COLLECTIVE_SCHEDULE_DIRECT,
                                     TACIT_COLLECTIVE_SCHEDULE_PACKED,  [NEAR] = TACIT_COLLECTIVE_SCHEDULE_AUTO };
    ti_comm *comm = create(TACIT_COLLECTIVE_SCHEDULE_AUTO, false);
    int64_t given = argc > 1 ? strtoll(argv[1], NULL, 0) : (int64_t)getpid() * 7919 % 1000000;
    int rounds = argc > 2 ? atoi(argv[2]) : 60;
    uint64_t seed = (uint64_t)comm->ops->sum(comm, comm->node ? 0 : given), mine = seed + (uint64_t)comm->node * 977;
    if (comm->node == 0) {
        printf("collective_mpi_test: seed %llu, %d nodes, %s\n", (unsigned long long)seed, comm->num_nodes,
               ti_comm_mpi_library());
        fflush(stdout);
    }
    uint64_t auto_by_mpi = 0;
    for (size_t i = 0; i < TI_COUNT(schedules); i++) {
        uint64_t live = ti_alloc_live(), sequence = 0, serial = 0;
        int64_t grid[2];
        int groups = 0;
        ti_comm *under_test = create(schedules[i], i != NEAR);
        for (int k = 0; k < rounds; k++) {
            groups += round_of(under_test, seed + (uint64_t)k, &mine, &sequence, &serial);
        }
        if (getenv("TI_TEST_HUGE") &&
            (schedules[i] == TACIT_COLLECTIVE_SCHEDULE_MPI || schedules[i] == TACIT_COLLECTIVE_SCHEDULE_DIRECT)) {
            huge(under_test, &sequence, ++serial);
        }
        uint64_t by_mpi = by_network(under_test);
        REQUIRE(under_test->stats.collectives == sequence);
        bool none = by_mpi == 0, expected = comm->num_nodes > (schedules[i] == TACIT_COLLECTIVE_SCHEDULE_AUTO ? 2 : 1);
        const bool direct = schedules[i] == TACIT_COLLECTIVE_SCHEDULE_DIRECT || i == NEAR;
        REQUIRE(by_mpi < sequence); /* some are no slabs */
        if (i == NEAR) {
            REQUIRE(by_mpi < auto_by_mpi || auto_by_mpi == 0); /* long ones are left */
        } else if (schedules[i] != TACIT_COLLECTIVE_SCHEDULE_MEASURE) {
            REQUIRE(none == (direct || !expected));
        }
        auto_by_mpi = schedules[i] == TACIT_COLLECTIVE_SCHEDULE_AUTO ? by_mpi : auto_by_mpi;
        ti_split_grid(comm->num_nodes, grid);
        bool may = !direct && grid[1] > 1;
        bool must = may && schedules[i] != TACIT_COLLECTIVE_SCHEDULE_MEASURE && rounds >= 20 &&
                    (schedules[i] != TACIT_COLLECTIVE_SCHEDULE_AUTO || grid[0] > 2);
        REQUIRE(groups == 0 ? !must : may);
        bool packs = schedules[i] == TACIT_COLLECTIVE_SCHEDULE_PACKED && comm->num_nodes > 2;
        if (schedules[i] != TACIT_COLLECTIVE_SCHEDULE_MEASURE && rounds >= 20) {
            REQUIRE((packed > 0) == packs);
        }
        packed = 0;
        under_test->ops->destroy(under_test);
        if (ti_alloc_live() != live) {
            stop_job(__FILE__, __LINE__, "%lld bytes were not freed", (long long)(ti_alloc_live() - live));
        }
    }
    if (comm->node == 0) {
        printf("collective_mpi_test: passed\n");
    }
    comm->ops->destroy(comm);
    return EXIT_SUCCESS;
}
