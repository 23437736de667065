/* Tests of reductions over MPI, run by a launcher on any number of nodes.
 *
 * Every operator on every type that it goes with, and operators of the program's that are not commutative, on elements
 * of 3 bytes to more than what is combined at once; to each node in turn and to all nodes, several under way at once,
 * each again from other memory; carried out by MPI, and as messages between pairs, of few elements and of so many that
 * they travel in parts and segments. The result is that of combining in the order of the nodes. Minima of numbers that
 * are none, and of both zeros, have the same bits on all nodes. */
#include "base/alloc.h"
#include "base/map.h"
#include "comm/exchange.h"
#include "effort.h"
#include "mpi_program.h"

#include <malloc.h>
#include <math.h>
#include <sched.h>

enum { MAX_TOKENS = 32, LONG_ELEMENT = 6000, TIMES = 2 };

/* ---- operators of the program's */

/* x -> a x + b: one after the other, so not commutative. */
typedef struct affine {
    uint64_t a, b;
} affine;

static void compose(void *into, const void *from, size_t n, const void *user)
{
    affine *f = into;
    const affine *g = from;
    (void)user;
    for (size_t i = 0; i < n; i++) {
        f[i] = (affine){ f[i].a * g[i].a, f[i].a * g[i].b + f[i].b };
    }
}

/* The last byte that is not 0, at each place; `user` is the size of an element. */
static void overwrite(void *into, const void *from, size_t n, const void *user)
{
    unsigned char *f = into;
    const unsigned char *g = from;
    for (size_t i = 0; i < n * *(const size_t *)user; i++) {
        f[i] = g[i] ? g[i] : f[i];
    }
}

static const affine identity = { 1, 0 };
static const unsigned char nothing[LONG_ELEMENT];
static const size_t element_sizes[] = { 3, 24, LONG_ELEMENT };
static const ti_user_op own_ops[] = {
    { .desc = { .combine = compose, .identity = &identity, .elem_size = sizeof(affine) } },
    { .desc = { .combine = overwrite, .identity = nothing, .elem_size = 3, .user = &element_sizes[0] } },
    { .desc = { .combine = overwrite, .identity = nothing, .elem_size = 24, .user = &element_sizes[1] } },
    { .desc = { .combine = overwrite, .identity = nothing, .elem_size = LONG_ELEMENT, .user = &element_sizes[2] } },
};

/* ---- one reduction */

typedef struct reduction {
    ti_collective what;
    ti_box region;
    size_t elem, bytes;
    char *value, *expected;
    ti_block block;
} reduction;

/* Small numbers, so that sums and products of floating numbers are exact. */
static void fill(const reduction *r, int node, int time, char *out)
{
    const ti_reducer *op = &r->what.reducer;
    size_t n = r->bytes / r->elem;
    for (size_t i = 0; i < n; i++) {
        uint64_t value = ti_hash64((uint64_t)(node * 1000003 + time * 7919) + i + r->what.serial * 31);
        if (op->user) {
            memset(out + i * r->elem, 0, r->elem);
            memcpy(out + i * r->elem, &value, TI_MIN(sizeof(value), r->elem));
            out[i * r->elem + value % r->elem] = (char)(node + 1);
        } else if (op->op.type == TACIT_DOUBLE) {
            ((double *)(void *)out)[i] = (double)(value % 3) + 1;
        } else if (op->op.type == TACIT_FLOAT) {
            ((float *)(void *)out)[i] = (float)(value % 3) + 1;
        } else {
            memcpy(out + i * r->elem, &value, r->elem);
        }
    }
}

static void reduction_create(reduction *r, int nodes, int root, uint64_t serial, ti_reducer reducer, int64_t elements)
{
    *r = (reduction){ .region = { .max = { elements, 1, 1 } } };
    r->what = (ti_collective){ .pattern = root < 0 ? TI_PATTERN_ALL_REDUCE : TI_PATTERN_REDUCE,
                               .nodes = nodes,
                               .root = root,
                               .serial = serial,
                               .reducer = reducer,
                               .region = &r->region,
                               .regions = 1 };
    r->elem = reducer.user ? reducer.user->desc.elem_size : ti_type_size(reducer.op.type);
    r->bytes = (size_t)elements * r->elem;
}

static ti_payload locate(void *user, const ti_boxes *boxes)
{
    reduction *r = user;
    (void)boxes;
    r->block = ti_block_of(r->value, r->bytes);
    return (ti_payload){ &r->block, 1, r->bytes };
}

/* Of how many reductions it was asked, and how many were complete at once. */
static uint64_t asked_at_once, at_once;

/* Now and then in one way or the other, whatever other nodes do. Returns how many tokens will come. */
static size_t begin(ti_comm *comm, const ti_exchange *x)
{
    if (ti_hash64(x->sequence * 31 + (uint64_t)comm->node) % 2) {
        comm->ops->collective(comm, x, x->sequence);
        return 1;
    }
    const int looks = (int)(x->sequence % 7) * 50 - 1;
    const bool is_done = comm->ops->collective_at_once(comm, x, x->sequence) ||
                         (looks >= 0 && comm->ops->collective_look(comm, looks));
    asked_at_once++;
    at_once += is_done;
    return !is_done;
}

static size_t start(ti_comm *comm, reduction *r, int time, uint64_t sequence)
{
    char *other = ti_alloc(r->bytes);
    r->value = ti_alloc(r->bytes);
    r->expected = ti_alloc(r->bytes);
    for (int q = 0; q < comm->num_nodes; q++) {
        fill(r, q, time, q ? other : r->expected);
        if (q) {
            ti_reducer_combine(&r->what.reducer, r->expected, other, r->bytes / r->elem);
        }
    }
    fill(r, comm->node, time, r->value);
    ti_free(other, r->bytes);
    ti_exchange x = { .what = &r->what,
                      .elem_size = r->elem,
                      .sequence = sequence,
                      .layout = 1,
                      .base = r->value,
                      .locate = locate,
                      .user = r,
                      .gives = true,
                      .gets = r->what.root < 0 || r->what.root == comm->node };
    return begin(comm, &x);
}

static void wait_for(ti_comm *comm, size_t count)
{
    uint64_t tokens[MAX_TOKENS];
    while (count) {
        int n = comm->ops->poll(comm, tokens, MAX_TOKENS);
        if (n < 0) {
            stop_job(__FILE__, __LINE__, "node %d: %s", comm->node, comm->stats.error);
        }
        count -= (size_t)n;
        sched_yield();
    }
}

static void check(const ti_comm *comm, reduction *r)
{
    bool gets = r->what.root < 0 || r->what.root == comm->node;
    if (gets && memcmp(r->value, r->expected, r->bytes) != 0) {
        stop_job(__FILE__, __LINE__, "node %d of %d: a wrong %s of %zu bytes to %d, operator %d on type %d", comm->node,
                 comm->num_nodes, ti_pattern_name(r->what.pattern), r->bytes, r->what.root,
                 (int)r->what.reducer.op.kind, (int)r->what.reducer.op.type);
    }
    ti_free(r->value, r->bytes);
    ti_free(r->expected, r->bytes);
}

/* ---- all of them */

static size_t list_reducers(ti_reducer *out)
{
    size_t n = 0;
    for (int type = TACIT_INT8; type <= TACIT_DOUBLE; type++) {
        for (int kind = TACIT_OP_SUM; kind <= TACIT_OP_XOR; kind++) {
            ti_reducer r = { .op = { .kind = kind, .type = type } };
            if (ti_op_is_valid(r.op)) {
                out[n++] = r;
            }
        }
    }
    for (size_t i = 0; i < TI_COUNT(own_ops); i++) {
        out[n++] = (ti_reducer){ .user = &own_ops[i] };
    }
    return n;
}

static void all_operators(ti_comm *comm, const ti_reducer *reducers, size_t count, int root, int64_t elements,
                          uint64_t *sequence, uint64_t *serial)
{
    reduction *all = ti_alloc(count * sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        reduction_create(&all[i], comm->num_nodes, root, ++*serial, reducers[i], elements);
    }
    for (int time = 0; time < TIMES; time++) {
        size_t left = 0;
        for (size_t i = 0; i < count; i++) {
            left += start(comm, &all[i], time, (*sequence)++);
        }
        wait_for(comm, left);
        for (size_t i = 0; i < count; i++) {
            check(comm, &all[i]);
        }
    }
    ti_free(all, count * sizeof(*all));
}

/* What MPI may decide as it likes must still be the same on all nodes. */
static void same_bits(ti_comm *comm, int kind, uint64_t *sequence, uint64_t *serial)
{
    static const double odd[] = { 0.0, -0.0, NAN, -NAN, 1.0 };
    reduction r;
    double mine[64];
    reduction_create(&r, comm->num_nodes, -1, ++*serial, (ti_reducer){ .op = { .kind = kind, .type = TACIT_DOUBLE } },
                     (int64_t)TI_COUNT(mine));
    wait_for(comm, start(comm, &r, 0, (*sequence)++));
    ti_free(r.value, r.bytes);
    ti_free(r.expected, r.bytes);
    for (size_t i = 0; i < TI_COUNT(mine); i++) {
        mine[i] = odd[ti_hash64(i * 97 + (uint64_t)comm->node) % TI_COUNT(odd)];
    }
    r.value = (char *)mine;
    ti_exchange x = { .what = &r.what,
                      .elem_size = r.elem,
                      .sequence = (*sequence)++,
                      .locate = locate,
                      .user = &r,
                      .gives = true,
                      .gets = true };
    wait_for(comm, begin(comm, &x));
    int64_t digest = (int64_t)(ti_hash_words(mine, sizeof(mine), 1) >> 16);
    REQUIRE(comm->ops->sum(comm, digest) == digest * comm->num_nodes);
}

/* Of 3 bytes to 16, and so many that they travel in parts, each in several segments. */
static void many_elements(ti_comm *comm, uint64_t *sequence, uint64_t *serial)
{
    static const int64_t sizes[] = { 99991, 524287 };
    const ti_reducer some[] = { { .op = { .kind = TACIT_OP_SUM, .type = TACIT_DOUBLE } },
                                { .op = { .kind = TACIT_OP_XOR, .type = TACIT_UINT8 } },
                                { .user = &own_ops[0] },
                                { .user = &own_ops[1] },
                                { .user = &own_ops[2] } };
    const size_t few = comm->num_nodes > EFFORT(4, 0) ? 1 : TI_COUNT(sizes); /* each node has the inputs of all */
    for (size_t s = 0; s < few; s++) {
        int root = (int)(s * 2 + 1) % comm->num_nodes;
        all_operators(comm, some, TI_COUNT(some), -1, sizes[s], sequence, serial);
        all_operators(comm, some, TI_COUNT(some), root, sizes[s], sequence, serial);
    }
}

/* By MPI, or as messages between pairs. Returns how many. */
static uint64_t all_reductions(int schedule)
{
    static const int64_t sizes[] = { 1, 5, 3000 };
    char why[256] = "";
    ti_reducer reducers[128];
    uint64_t sequence = 0, serial = 0;
    ti_comm *comm = ti_comm_mpi_create(&(ti_comm_settings){ .early_bytes = 1 << 20, .schedule = schedule }, why,
                                       sizeof(why));
    REQUIRE(comm != NULL);
    size_t count = list_reducers(reducers);
    REQUIRE(count > 60);
    for (size_t s = 0; s < TI_COUNT(sizes) && comm->num_nodes > 1; s++) {
        for (int root = -1; root < comm->num_nodes; root++) {
            if (s == 0 || root <= 0 || root == comm->num_nodes / 2) { /* every root is tried with one size */
                all_operators(comm, reducers, count, root, sizes[s], &sequence, &serial);
            }
        }
    }
    for (int kind = TACIT_OP_MIN; kind <= TACIT_OP_MAX && comm->num_nodes > 1; kind++) {
        same_bits(comm, kind, &sequence, &serial);
    }
    if (comm->num_nodes > 1) {
        many_elements(comm, &sequence, &serial);
    }
    int by_mpi = schedule == TACIT_COLLECTIVE_SCHEDULE_MPI;
    REQUIRE(comm->pending == 0);
    REQUIRE(comm->stats.carried[TI_PATTERN_REDUCE][by_mpi] + comm->stats.carried[TI_PATTERN_ALL_REDUCE][by_mpi] ==
            sequence);
    comm->ops->destroy(comm);
    return sequence;
}

int main(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* pages that come anew for each reduction are half of the time */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    char why[256] = "";
    ti_comm *first = ti_comm_mpi_create(
        &(ti_comm_settings){ .early_bytes = 1 << 20, .schedule = TACIT_COLLECTIVE_SCHEDULE_AUTO }, why, sizeof(why));
    REQUIRE(first != NULL);
    uint64_t live = ti_alloc_live(), reductions = all_reductions(TACIT_COLLECTIVE_SCHEDULE_MPI);
    reductions += all_reductions(TACIT_COLLECTIVE_SCHEDULE_DIRECT);
    if (ti_alloc_live() != live) {
        stop_job(__FILE__, __LINE__, "%lld bytes were not freed", (long long)(ti_alloc_live() - live));
    }
    const int64_t asked = first->ops->sum(first, (int64_t)asked_at_once),
                  done = first->ops->sum(first, (int64_t)at_once);
    REQUIRE(done > 0 || first->num_nodes == 1); /* at least those of a root's values */
    if (first->node == 0) {
        printf("reduce_mpi_test: passed, %llu reductions; of %lld that were to be, %lld were complete at once\n",
               (unsigned long long)reductions, (long long)asked, (long long)done);
    }
    first->ops->destroy(first);
    return EXIT_SUCCESS;
}
