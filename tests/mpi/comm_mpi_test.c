/* Tests of the communicator over MPI; run by a launcher on any number of nodes.
 *
 * A flood of small messages to a receiver that posts late, one receive after the other. Random traffic between all
 * pairs: strided payloads of several blocks whose bytes follow from their identity, in other shapes and another order
 * on the two sides: once through memory that nodes of one machine share, once by MPI alone, and once where one of them
 * may have none. Datatypes that leave the cache while they are in use, and of more than 2 GiB. Notes of a node that
 * does not poll. A message of the wrong length. With TI_TEST_HUGE=1, a message of more than 2 GiB. `comm_mpi_test
 * --forget` must end the job with a failure: the last node returns from main while the others wait. The seed is
 * printed, and taken from the first argument. A failure ends the job on all nodes. */
#include "base/alloc.h"
#include "comm/mpi/type.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOST_TOKEN (UINT64_MAX >> 3) /* of what callers may give */
enum { EARLY_BYTES = 64 * 1024, GAP_BYTE = 0xee, MAX_BLOCKS = 6, MAX_TOKENS = 32 };

/* ---- helpers */

#define REQUIRE(comm, cond)                                                                                            \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fprintf(stderr, "%s:%d: node %d: not true: %s\n", __FILE__, __LINE__, (comm)->node, #cond);                \
            (comm)->ops->abort((comm), "a test failed");                                                               \
        }                                                                                                              \
    } while (0)

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static size_t below(uint64_t *state, size_t limit)
{
    return (size_t)(next_random(state) % limit);
}

static int poll_some(ti_comm *comm, uint64_t tokens[MAX_TOKENS])
{
    int n = comm->ops->poll(comm, tokens, MAX_TOKENS);
    if (n < 0) {
        fprintf(stderr, "node %d: %s\n", comm->node, comm->stats.error);
    }
    REQUIRE(comm, n >= 0);
    if (n == 0) {
        sched_yield();
    }
    return n;
}

static void wait_all(ti_comm *comm)
{
    uint64_t tokens[MAX_TOKENS];
    while (comm->pending) {
        poll_some(comm, tokens);
    }
}

static void barrier(ti_comm *comm)
{
    comm->ops->barrier(comm, 99);
    wait_all(comm);
}

static void send_bytes(ti_comm *comm, int peer, uint64_t counter, void *data, size_t bytes)
{
    ti_block block = { .base = data, .run = bytes, .count = { 1, 1 } };
    comm->ops->send(comm, peer, counter, &(ti_payload){ &block, 1, bytes }, counter);
    memset(&block, 0xff, sizeof(block));
}

static uint64_t messages_at_once;

static bool send_at_once(ti_comm *comm, int peer, uint64_t counter, void *data, size_t bytes)
{
    ti_block block = { .base = data, .run = bytes, .count = { 1, 1 } };
    bool done = comm->ops->send_at_once(comm, peer, counter, &(ti_payload){ &block, 1, bytes });
    memset(data, done ? 0xff : ((char *)data)[0], bytes); /* memory may be used again */
    messages_at_once += done;
    return done;
}

static bool receive_at_once(ti_comm *comm, int origin, uint64_t counter, void *data, size_t bytes)
{
    ti_block block = { .base = data, .run = bytes, .count = { 1, 1 } };
    return comm->ops->receive_at_once(comm, origin, counter, &(ti_payload){ &block, 1, bytes }, (int)(counter % 20));
}

static void receive_bytes(ti_comm *comm, int origin, uint64_t counter, void *data, size_t bytes)
{
    ti_block block = { .base = data, .run = bytes, .count = { 1, 1 } };
    comm->ops->receive(comm, origin, counter, &(ti_payload){ &block, 1, bytes }, counter);
    memset(&block, 0xff, sizeof(block));
}

/* ---- scattered memory */

typedef struct scatter {
    char *memory;
    size_t size, bytes;
    uint32_t count;
    ti_block block[MAX_BLOCKS];
} scatter;

/* A part of `left` bytes in rows of rows; all of it as one run if it is the last. */
static ti_block random_block(uint64_t *random, size_t left, bool last)
{
    ti_block b = { .run = left, .count = { 1, 1 } };
    if (!last) {
        size_t longest = (size_t)1 << below(random, 14);
        b.run = 1 + below(random, TI_MIN(left, longest));
        b.count[1] = 1 + below(random, TI_MIN(left / b.run, (size_t)30));
        b.count[0] = 1 + below(random, TI_MIN(left / (b.run * b.count[1]), (size_t)10));
    }
    b.stride[1] = b.run + below(random, 9);
    b.stride[0] = b.count[1] * b.stride[1] + below(random, 9);
    return b;
}

/* Every second block starts at the end of the memory, so that addresses do not ascend. */
static void scatter_create(scatter *s, size_t bytes, uint64_t *random)
{
    *s = (scatter){ .size = 16, .bytes = bytes };
    size_t left = bytes, at[MAX_BLOCKS];
    while (left) {
        ti_block b = random_block(random, left, s->count + 1 == MAX_BLOCKS);
        at[s->count] = s->size;
        s->size += b.count[0] * b.stride[0] + 16;
        left -= ti_block_bytes(&b);
        s->block[s->count++] = b;
    }
    s->memory = ti_alloc(s->size);
    memset(s->memory, GAP_BYTE, s->size);
    for (uint32_t i = 0; i < s->count; i++) {
        s->block[i].base = s->memory + at[i];
    }
    for (uint32_t i = 0; i + 1 < s->count; i += 2) {
        ti_block swap = s->block[i];
        s->block[i] = s->block[s->count - 1 - i / 2];
        s->block[s->count - 1 - i / 2] = swap;
    }
}

/* Fills one run, or counts wrong bytes in it and puts gap bytes back. */
static size_t touch_run(char *run, size_t bytes, uint64_t key, size_t at, bool fill)
{
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++) {
        char expected = (char)(ti_hash64(key * 1000003u + at + i) >> 13);
        wrong += !fill && run[i] != expected;
        run[i] = fill ? expected : (char)GAP_BYTE;
    }
    return wrong;
}

static size_t touch(const scatter *s, uint64_t key, bool fill)
{
    size_t at = 0, wrong = 0;
    for (uint32_t k = 0; k < s->count; k++) {
        const ti_block *b = &s->block[k];
        for (size_t n = 0; n < b->count[0] * b->count[1]; n++, at += b->run) {
            char *run = b->base + n / b->count[1] * b->stride[0] + n % b->count[1] * b->stride[1];
            wrong += touch_run(run, b->run, key, at, fill);
        }
    }
    return wrong;
}

/* Wrong bytes, inside the blocks and outside. */
static size_t scatter_wrong(const scatter *s, uint64_t key)
{
    size_t wrong = touch(s, key, false);
    for (size_t i = 0; i < s->size; i++) {
        wrong += s->memory[i] != (char)GAP_BYTE;
    }
    return wrong;
}

/* ---- random traffic */

typedef struct exchange {
    scatter at;
    int peer;
    bool is_send;
    uint64_t counter, key;
} exchange;

typedef TI_VEC(exchange) exchange_list;

static void add_exchange(ti_comm *comm, exchange_list *list, exchange x, uint64_t seed, uint64_t *random)
{
    static const size_t limits[] = { 2, 100, 9000, 90000 };
    uint64_t origin = (uint64_t)(x.is_send ? comm->node : x.peer), to = (uint64_t)(x.is_send ? x.peer : comm->node);
    x.key = ti_hash64(seed * 77777u + (origin * 1024 + to) * 4096 + x.counter);
    scatter_create(&x.at, (size_t)((x.key >> 8) % limits[x.key & 3]), random);
    if (x.is_send) {
        touch(&x.at, x.key, true);
    }
    ti_vec_push(list, x);
}

/* Sends and receives of all pairs, in any order. */
static void make_exchanges(ti_comm *comm, exchange_list *list, int messages, uint64_t seed)
{
    uint64_t random = seed + (uint64_t)comm->node * 1000;
    for (int peer = 0; peer < comm->num_nodes; peer++) {
        for (uint64_t i = 0; i < (uint64_t)messages; i++) {
            add_exchange(comm, list, (exchange){ .peer = peer, .is_send = true, .counter = i }, seed, &random);
            add_exchange(comm, list, (exchange){ .peer = peer, .is_send = false, .counter = i }, seed, &random);
        }
    }
    for (size_t i = list->count; i > 1; i--) {
        size_t j = below(&random, i);
        exchange swap = list->data[i - 1];
        list->data[i - 1] = list->data[j];
        list->data[j] = swap;
    }
}

/* Every other one at once, if that is possible. Returns whether it is complete. */
static bool start_exchange(ti_comm *comm, const exchange *x, uint64_t token)
{
    ti_block blocks[MAX_BLOCKS]; /* dies after the call: the communicator keeps its own */
    memcpy(blocks, x->at.block, sizeof(blocks));
    ti_payload payload = { blocks, x->at.count, x->at.bytes };
    const ti_comm_ops *ops = comm->ops;
    const uint64_t pending = comm->pending;
    bool done = x->key % 2 && (x->is_send ? ops->send_at_once(comm, x->peer, x->counter, &payload)
                                          : ops->receive_at_once(comm, x->peer, x->counter, &payload, x->key % 8));
    REQUIRE(comm, !done || comm->pending == pending);
    messages_at_once += done;
    if (!done) {
        (x->is_send ? ops->send : ops->receive)(comm, x->peer, x->counter, &payload, token);
    }
    memset(blocks, 0xff, sizeof(blocks));
    return done;
}

/* Returns wrong bytes. */
static size_t end_exchange(exchange *x)
{
    if (!x->is_send) {
        return scatter_wrong(&x->at, x->key);
    }
    memset(x->at.memory, 0, x->at.size); /* memory may be used again */
    return 0;
}

static void random_traffic(ti_comm *comm, uint64_t seed)
{
    exchange_list list = { 0 };
    uint64_t sent = comm->stats.messages_sent, received = comm->stats.messages_received;
    uint64_t tokens[MAX_TOKENS], random = seed;
    int messages = 60;
    make_exchanges(comm, &list, messages, seed);
    size_t started = 0, finished = 0, wrong = 0;
    while (finished < list.count) {
        for (size_t n = below(&random, 40); n && started < list.count; n--, started++) {
            if (start_exchange(comm, &list.data[started], started)) {
                wrong += end_exchange(&list.data[started]);
                finished++;
            }
        }
        int n = poll_some(comm, tokens);
        for (int i = 0; i < n; i++, finished++) {
            wrong += end_exchange(&list.data[tokens[i]]);
        }
    }
    REQUIRE(comm, wrong == 0);
    REQUIRE(comm, comm->pending == 0);
    REQUIRE(comm, comm->stats.messages_sent - sent == (uint64_t)(messages * comm->num_nodes));
    REQUIRE(comm, comm->stats.messages_received - received == (uint64_t)(messages * comm->num_nodes));
    for (size_t i = 0; i < list.count; i++) {
        ti_free(list.data[i].at.memory, list.data[i].at.size);
    }
    ti_vec_fini(&list);
    barrier(comm);
}

/* ---- the early limit */

enum { FLOOD = 20000, FLOOD_BYTES = 64, FLOOD_WINDOW = 64 };

/* Shuffled a little, and the first `late` messages come last: the limit may never hold back a message that an earlier
 * receive waits for. */
static void flood_send(ti_comm *comm, int peer, char (*data)[FLOOD_BYTES], uint64_t base, uint64_t late, uint64_t seed)
{
    uint64_t order[FLOOD_WINDOW];
    for (uint64_t first = 0; first < FLOOD; first += FLOOD_WINDOW) {
        size_t n = (size_t)TI_MIN((uint64_t)FLOOD_WINDOW, FLOOD - first);
        for (size_t i = 0; i < n; i++) {
            size_t j = below(&seed, i + 1);
            order[i] = order[j];
            order[j] = (first + i + late) % FLOOD;
        }
        for (size_t i = 0; i < n; i++) {
            memset(data[order[i]], (int)(order[i] % 251), FLOOD_BYTES);
            if (order[i] % 2 || !send_at_once(comm, peer, base + order[i], data[order[i]], FLOOD_BYTES)) {
                send_bytes(comm, peer, base + order[i], data[order[i]], FLOOD_BYTES);
            }
        }
    }
}

static void flood_receive(ti_comm *comm, int origin, uint64_t base)
{
    char got[FLOOD_BYTES], expected[FLOOD_BYTES];
    for (uint64_t i = 0; i < FLOOD; i++) {
        if (i % 3 || !receive_at_once(comm, origin, base + i, got, FLOOD_BYTES)) {
            receive_bytes(comm, origin, base + i, got, FLOOD_BYTES);
            wait_all(comm);
        }
        memset(expected, (int)(i % 251), FLOOD_BYTES);
        REQUIRE(comm, !memcmp(got, expected, FLOOD_BYTES));
    }
}

/* Even nodes send everything before the odd ones post the first receive. */
static void flood(ti_comm *comm, uint64_t base, uint64_t late, uint64_t seed)
{
    int peer = comm->node ^ 1;
    bool sends = comm->node % 2 == 0 && peer < comm->num_nodes;
    char(*data)[FLOOD_BYTES] = ti_alloc((size_t)FLOOD * FLOOD_BYTES);
    uint64_t held_back = comm->stats.held_back, tokens[MAX_TOKENS];
    if (sends) {
        flood_send(comm, peer, data, base, late, seed);
        REQUIRE(comm, comm->stats.held_back > held_back);
    }
    comm->ops->barrier(comm, MOST_TOKEN);
    bool passed = false;
    while (!passed) {
        int n = poll_some(comm, tokens);
        for (int i = 0; i < n; i++) {
            passed |= tokens[i] == MOST_TOKEN;
        }
    }
    if (comm->node % 2) {
        flood_receive(comm, peer, base);
    }
    wait_all(comm);
    /* What lies below a sync point may exceed the limit: at most a window, and what comes late. */
    REQUIRE(comm, comm->stats.early_bytes_peak <= EARLY_BYTES + (FLOOD_WINDOW + late) * FLOOD_BYTES);
    REQUIRE(comm, !sends || comm->stats.early_bytes_peak > EARLY_BYTES / 2);
    ti_free(data, (size_t)FLOOD * FLOOD_BYTES);
    barrier(comm);
}

/* ---- datatypes */

/* More shapes than the cache holds, all in flight at once: a row of 33 runs, `gap` bytes apart. */
static void many_shapes(ti_comm *comm, uint64_t counter)
{
    enum { SHAPES = 2 * TI_MPI_TYPES, RUN = 600, RUNS = 33, WIDEST = RUN + SHAPES };
    int to = (comm->node + 1) % comm->num_nodes, from = (comm->node + comm->num_nodes - 1) % comm->num_nodes;
    size_t size = (size_t)SHAPES * RUNS * WIDEST;
    char *out = ti_alloc(size), *in = ti_alloc_zero(size);
    for (size_t i = 0; i < size; i++) {
        out[i] = (char)ti_hash64(i);
    }
    for (uint64_t i = 0; i < SHAPES; i++) {
        ti_block b = { .base = in + i * RUNS * WIDEST, .run = RUN, .count = { 1, RUNS }, .stride = { 0, RUN + i } };
        comm->ops->receive(comm, from, counter + i, &(ti_payload){ &b, 1, RUN * RUNS }, i);
        b.base = out + i * RUNS * WIDEST;
        comm->ops->send(comm, to, counter + i, &(ti_payload){ &b, 1, RUN * RUNS }, i);
    }
    wait_all(comm);
    size_t wrong = 0;
    for (size_t i = 0; i < size; i++) {
        size_t shape = i / (RUNS * WIDEST), at = i % (RUNS * WIDEST), stride = RUN + shape;
        bool inside = at < RUNS * stride && at % stride < RUN;
        wrong += in[i] != (inside ? out[i] : 0);
    }
    REQUIRE(comm, wrong == 0);
    ti_free(out, size);
    ti_free(in, size);
    barrier(comm);
}

static void shape_of(ti_block blocks[2], char *memory, size_t i)
{
    blocks[0] = (ti_block){ .base = memory + 5000, .run = 8, .count = { 2, 3 }, .stride = { 100 + i, 16 } };
    blocks[1] = (ti_block){ .base = memory, .run = 8, .count = { 1, 1 }, .stride = { i, i } };
}

/* The cache builds each shape once while it holds it, whatever the address, and holds the shapes used last. */
static void cache_keeps_what_was_used_last(ti_comm *comm)
{
    enum { SHAPES = TI_MPI_TYPES + 10 };
    char *memory = ti_alloc(16384);
    MPI_Datatype type, first = MPI_DATATYPE_NULL;
    ti_mpi_types types;
    const char *call = NULL;
    ti_block blocks[2];
    ti_payload payload = { blocks, 2, 56 };
    ti_mpi_types_init(&types);
    for (size_t i = 0; i < SHAPES; i++) {
        shape_of(blocks, memory, i);
        REQUIRE(comm, !ti_mpi_types_get(&types, &payload, &type, &call) && types.built == i + 1);
        first = i ? first : type;
        shape_of(blocks, memory + 64, 0);
        REQUIRE(comm, !ti_mpi_types_get(&types, &payload, &type, &call) && types.built == i + 1 && type == first);
    }
    REQUIRE(comm, types.count == TI_MPI_TYPES && types.by_hash.count == TI_MPI_TYPES);
    for (size_t i = 11; i < SHAPES; i++) {
        shape_of(blocks, memory, i);
        REQUIRE(comm, !ti_mpi_types_get(&types, &payload, &type, &call) && types.built == SHAPES);
    }
    shape_of(blocks, memory, 1);
    REQUIRE(comm, !ti_mpi_types_get(&types, &payload, &type, &call) && types.built == SHAPES + 1);
    MPI_Count size = 0;
    REQUIRE(comm, !MPI_Type_size_x(type, &size) && size == 56);
    ti_mpi_types_fini(&types, true);
    ti_free(memory, 16384);
}

/* ---- other cases */

static void barriers_wait(ti_comm *comm)
{
    uint64_t tokens[MAX_TOKENS];
    for (uint64_t i = 0; i < 100; i++) {
        comm->ops->barrier(comm, i);
        int n;
        while ((n = poll_some(comm, tokens)) == 0) {
        }
        REQUIRE(comm, n == 1 && tokens[0] == i && comm->pending == 0);
    }
}

static ti_comm *another_comm(bool no_near, int near_groups)
{
    char why[256] = "";
    const ti_comm_settings settings = { .early_bytes = EARLY_BYTES, .no_near = no_near, .near_groups = near_groups };
    ti_comm *comm = ti_comm_mpi_create(&settings, why, sizeof(why));
    if (!comm) {
        fprintf(stderr, "%s\n", why);
        exit(EXIT_FAILURE);
    }
    return comm;
}

static void all_traffic(ti_comm *comm, uint64_t seed)
{
    flood(comm, 100000, 0, seed); /* first: random orders send far more below their sync points */
    flood(comm, 150000, 1500, seed);
    random_traffic(comm, seed);
    random_traffic(comm, seed + 1);
    many_shapes(comm, 200000);
}

/* Some nodes are near, others are reached by MPI, as if these were on other machines. */
static void near_and_far_nodes(uint64_t seed)
{
    for (int groups = 2; groups <= 3; groups++) {
        ti_comm *comm = another_comm(false, groups);
        all_traffic(comm, seed);
        REQUIRE(comm, (comm->stats.messages_near > 0) ==
                          (comm->local_node >= groups || comm->local_node + groups < comm->local_nodes));
        comm->ops->destroy(comm);
    }
}

/* One node says that it wants none, or may have no memory that others could open: then nobody of its machine has. */
static void one_node_decides_for_its_machine(uint64_t seed, bool by_limit, bool last)
{
    int node = 0, nodes = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &node);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    const bool it = node == (last ? nodes - 1 : 0);
    struct rlimit before, less;
    getrlimit(RLIMIT_FSIZE, &before);
    less = before;
    less.rlim_cur = 1000;
    if (it && by_limit) {
        setrlimit(RLIMIT_FSIZE, &less);
    }
    ti_comm *comm = another_comm(it && !by_limit, 0);
    setrlimit(RLIMIT_FSIZE, &before);
    if (by_limit == last) { /* half of them: it takes a while */
        all_traffic(comm, seed);
    }
    barrier(comm);
    REQUIRE(comm, comm->local_nodes < comm->num_nodes || comm->stats.messages_near == 0);
    comm->ops->destroy(comm);
}

/* Both too long and too short, on a communicator of its own, which is of no use afterwards. The send comes first,
 * because Open MPI does not notice a message that is too long if the receive was there before. */
static void wrong_length_is_an_error(size_t sent, size_t expected, int distance, bool no_near)
{
    char data[256] = { 0 };
    ti_comm *comm = another_comm(no_near, 0);
    uint64_t token;
    int n = 0;
    send_bytes(comm, (comm->node + distance) % comm->num_nodes, 5, data + 128, sent);
    receive_bytes(comm, (comm->node + comm->num_nodes - distance) % comm->num_nodes, 5, data, expected);
    for (int i = 0; i < 1000000 && n >= 0; i++) {
        n = comm->ops->poll(comm, &token, 1);
    }
    REQUIRE(comm, n == -1 && comm->stats.error != NULL);
    REQUIRE(comm, strstr(comm->stats.error, "node ") != NULL);
    REQUIRE(comm, comm->ops->poll(comm, &token, 1) == -1);
    comm->ops->destroy(comm);
}

/* Datatypes of more bytes or rows than an int can count, in round numbers too; nothing is sent. */
static void huge_types(ti_comm *comm)
{
    static const size_t lengths[] = { INT_MAX, (size_t)1 << 31, ((size_t)1 << 31) + 1, (size_t)3 << 30,
                                      (size_t)5 << 32 };
    char here = 0;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (int in_rows = 0; in_rows < 2; in_rows++) {
            ti_block b = { .base = &here, .run = in_rows ? 3 : lengths[i], .count = { 1, 1 } };
            if (in_rows) {
                b.count[1] = lengths[i];
                b.stride[1] = 4;
            }
            const size_t bytes = ti_block_bytes(&b), last = in_rows ? 4 * (lengths[i] - 1) + 3 : lengths[i];
            MPI_Datatype type;
            MPI_Count found;
            MPI_Aint least, extent;
            const char *call = NULL;
            REQUIRE(comm, ti_mpi_type_create(&(ti_payload){ &b, 1, bytes }, &type, &call) == MPI_SUCCESS);
            MPI_Type_size_x(type, &found);
            MPI_Type_get_true_extent(type, &least, &extent);
            REQUIRE(comm, found == (MPI_Count)bytes && least == 0 && extent == (MPI_Aint)last);
            MPI_Type_free(&type);
        }
    }
}

static void huge_message(ti_comm *comm, uint64_t counter)
{
    size_t bytes = ((size_t)2 << 30) + 12345;
    int last = comm->num_nodes - 1;
    char *data = NULL;
    if (comm->node == 0 || comm->node == last) {
        data = malloc(bytes * (last ? 1 : 2));
        REQUIRE(comm, data != NULL);
    }
    char *in = last ? data : data + bytes;
    if (comm->node == 0) {
        for (size_t i = 0; i < bytes; i++) {
            data[i] = (char)(i * 7 + (i >> 20));
        }
        send_bytes(comm, last, counter, data, bytes);
    }
    if (comm->node == last) {
        receive_bytes(comm, 0, counter, in, bytes);
    }
    wait_all(comm);
    size_t wrong = 0;
    for (size_t i = 0; comm->node == last && i < bytes; i++) {
        wrong += in[i] != (char)(i * 7 + (i >> 20));
    }
    REQUIRE(comm, wrong == 0);
    free(data);
    barrier(comm);
}

/* Changes the environment, so it comes last. */
static bool launch_is_seen_in_the_environment(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_RANK",     "PMI_SIZE",      "PMIX_RANK",
                                         "MPI_LOCALNRANKS",      "SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEPID" };
    for (size_t i = 0; i < TI_COUNT(names); i++) {
        unsetenv(names[i]);
    }
    bool right = !ti_comm_mpi_is_launched();
    setenv("SLURM_PROCID", "0", 1); /* a batch script, then an interactive shell, then a step */
    right &= !ti_comm_mpi_is_launched();
    setenv("SLURM_STEP_ID", "4294967290", 1);
    right &= !ti_comm_mpi_is_launched();
    setenv("SLURM_STEP_ID", "3", 1);
    right &= ti_comm_mpi_is_launched();
    unsetenv("SLURM_STEP_ID");
    setenv("PMI_RANK", "0", 1);
    return right && ti_comm_mpi_is_launched();
}

static uint64_t agree_on_seed(ti_comm *comm, int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)getpid() * 2654435761u % 1000000u + 1;
    for (int peer = 1; comm->node == 0 && peer < comm->num_nodes; peer++) {
        send_bytes(comm, peer, 1u << 20, &seed, sizeof(seed));
    }
    if (comm->node) {
        receive_bytes(comm, 0, 1u << 20, &seed, sizeof(seed));
    }
    wait_all(comm);
    if (comm->node == 0) {
        printf("comm_mpi_test: seed %llu, %d nodes, %s\n", (unsigned long long)seed, comm->num_nodes,
               ti_comm_mpi_library());
        fflush(stdout);
    }
    return seed;
}

static int forget(ti_comm *comm)
{
    if (comm->node != comm->num_nodes - 1) {
        barrier(comm); /* never passes: the last node does not come */
    }
    return 0;
}

/* A node that has notes to send, more than there are places for, and does not poll: they leave as they are received. */
static void notes_leave_without_polls(ti_comm *comm)
{
    enum { NOTES = 40 };
    char text[TI_NOTE_BYTES] = { 0 };
    int origin = -1, last = comm->num_nodes - 1;
    REQUIRE(comm, comm->ops->note_open(comm));
    if (comm->node == last) {
        for (int i = 0; i < NOTES && last > 0; i++) {
            text[0] = (char)i;
            while (!comm->ops->note_send(comm, 0, text, sizeof(text))) {
                sched_yield();
            }
        }
    }
    for (int i = 0; i < NOTES && comm->node == 0 && last > 0; i++) {
        int bytes;
        while ((bytes = comm->ops->note_poll(comm, &origin, text)) == 0) {
            sched_yield();
        }
        REQUIRE(comm, bytes == (int)sizeof(text) && text[0] == i && origin == last);
    }
    while (comm->node == last && comm->ops->note_poll(comm, &origin, text) == 0 && comm->notes_pending) {
        sched_yield();
    }
    barrier(comm);
}

int main(int argc, char **argv)
{
    char why[256] = "";
    bool launched = ti_comm_mpi_is_launched(); /* the environment as it was before MPI saw it */
    uint64_t live = ti_alloc_live();
    ti_comm *comm = ti_comm_mpi_create(&(ti_comm_settings){ .early_bytes = EARLY_BYTES }, why, sizeof(why));
    if (!comm) {
        fprintf(stderr, "%s\n", why);
        return EXIT_FAILURE;
    }
    if (argc > 1 && !strcmp(argv[1], "--forget")) {
        return forget(comm);
    }
    REQUIRE(comm, launched || comm->num_nodes == 1);
    REQUIRE(comm, comm->node >= 0 && comm->node < comm->num_nodes);
    REQUIRE(comm, comm->local_nodes >= 1 && comm->local_nodes <= comm->num_nodes);
    REQUIRE(comm, comm->local_node >= 0 && comm->local_node < comm->local_nodes);
    uint64_t seed = agree_on_seed(comm, argc, argv);
    barriers_wait(comm);
    all_traffic(comm, seed);
    REQUIRE(comm, (comm->stats.messages_near > 0) == (comm->local_nodes > 1));
    REQUIRE(comm, (messages_at_once > 0) == (comm->local_nodes > 1));
    near_and_far_nodes(seed);
    for (int i = 0; i < 4; i++) {
        one_node_decides_for_its_machine(seed, i % 2, i / 2);
    }
    cache_keeps_what_was_used_last(comm);
    huge_types(comm);
    notes_leave_without_polls(comm);
    for (int distance = 0; distance < TI_MIN(comm->num_nodes, 3); distance++) {
        for (int no_near = 0; no_near < 2; no_near++) {
            wrong_length_is_an_error(64, 32, distance, no_near);
            wrong_length_is_an_error(32, 64, distance, no_near);
        }
    }
    if (getenv("TI_TEST_HUGE")) {
        huge_message(comm, 300000);
    }
    barrier(comm);
    int node = comm->node;
    comm->ops->destroy(comm);
    if (ti_alloc_live() != live) {
        fprintf(stderr, "node %d: %llu bytes were not freed\n", node, (unsigned long long)(ti_alloc_live() - live));
        return EXIT_FAILURE;
    }
    if (ti_comm_mpi_create(&(ti_comm_settings){ .early_bytes = EARLY_BYTES }, why, sizeof(why)) ||
        !strstr(why, "finalized")) {
        fprintf(stderr, "node %d: MPI cannot start twice, but did: %s\n", node, why);
        return EXIT_FAILURE;
    }
    if (!launch_is_seen_in_the_environment()) {
        fprintf(stderr, "node %d: a launcher was seen where there is none, or the other way round\n", node);
        return EXIT_FAILURE;
    }
    if (node == 0) {
        printf("comm_mpi_test: passed\n");
    }
    return EXIT_SUCCESS;
}
