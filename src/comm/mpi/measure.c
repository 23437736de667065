/* Measuring collectives: see measure.h. */
#include "comm/mpi/measure.h"

#include "base/check.h"
#include "base/clock.h"
#include "comm/mpi/packed.h"

#include <float.h>
#include <sched.h>
#include <string.h>

enum { ROUNDS = 3, WAYS = 3, DIRECT = 0, BY_MPI = 1, PACKED = 2, MAX_BYTES = 32 << 20 };

/* Collectives of up to `max` bytes per node are measured with `bytes`. */
static const struct {
    size_t max, bytes;
} classes[TI_MPI_SIZES] = { { 8 << 10, 512 }, { 128 << 10, 32 << 10 }, { SIZE_MAX, 256 << 10 } };

typedef struct measuring {
    MPI_Comm mpi;
    int node, nodes;
    const char *call;
    char *memory;         /* of all nodes; and as much again */
    int bytes;            /* per node, now */
    MPI_Request *request; /* two per node */
    int requests;
    int *count, *at; /* all-to-all */
    MPI_Datatype *type;
} measuring;

#define CALL(m, function, ...) ((m)->call = #function, function(__VA_ARGS__))

int ti_mpi_size_class(size_t bytes)
{
    int i = 0;
    TI_ASSERT(classes[TI_MPI_SIZES - 1].max == SIZE_MAX);
    while (bytes > classes[i].max) {
        i++;
    }
    return i;
}

/* Waits as everything does: by asking and giving up the core. */
static int wait_all(measuring *m)
{
    int code = MPI_SUCCESS;
    TI_ASSERT(m->requests <= 2 * m->nodes + 1);
    for (int i = 0; i < m->requests && !code; i++) {
        int done = 0;
        while (!done && !code) {
            code = CALL(m, MPI_Test, &m->request[i], &done, MPI_STATUS_IGNORE);
            if (!done) {
                sched_yield();
            }
        }
    }
    m->requests = 0;
    return code;
}

static int start_mpi(measuring *m, ti_pattern pattern)
{
    char *mine = m->memory + (size_t)m->node * (size_t)m->bytes;
    MPI_Request *r = &m->request[m->requests++];
    int n = m->bytes;
    bool root = m->node == 0;
    switch (pattern) {
    case TI_PATTERN_ALL_GATHER:
        return CALL(m, MPI_Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, m->memory, n, MPI_BYTE, m->mpi, r);
    case TI_PATTERN_GATHER:
        return CALL(m, MPI_Igather, root ? MPI_IN_PLACE : mine, n, MPI_BYTE, m->memory, n, MPI_BYTE, 0, m->mpi, r);
    case TI_PATTERN_SCATTER:
        return CALL(m, MPI_Iscatter, m->memory, n, MPI_BYTE, root ? MPI_IN_PLACE : mine, n, MPI_BYTE, 0, m->mpi, r);
    case TI_PATTERN_BROADCAST:
        return CALL(m, MPI_Ibcast, m->memory, n * m->nodes, MPI_BYTE, 0, m->mpi, r);
    case TI_PATTERN_ALL_TO_ALL:
        for (int q = 0; q < m->nodes; q++) {
            m->type[q] = MPI_BYTE;
            m->count[q] = q == m->node ? 0 : n / m->nodes;
            m->at[q] = q * (n / m->nodes);
        }
        return CALL(m, MPI_Ialltoallw, m->memory, m->count, m->at, m->type, m->memory + (size_t)n * (size_t)m->nodes,
                    m->count, m->at, m->type, m->mpi, r);
    case TI_PATTERN_REDUCE:
    case TI_PATTERN_ALL_REDUCE:
    case TI_PATTERN_NONE:
    case TI_PATTERN_KINDS:
        break;
    }
    TI_UNREACHABLE();
}

/* Bytes from node r to node q. */
static int bytes_between(const measuring *m, ti_pattern pattern, int r, int q)
{
    switch (pattern) {
    case TI_PATTERN_ALL_GATHER:
        return m->bytes;
    case TI_PATTERN_GATHER:
        return q == 0 ? m->bytes : 0;
    case TI_PATTERN_SCATTER:
        return r == 0 ? m->bytes : 0;
    case TI_PATTERN_BROADCAST:
        return r == 0 ? m->bytes * m->nodes : 0;
    case TI_PATTERN_ALL_TO_ALL:
        return m->bytes / m->nodes;
    case TI_PATTERN_REDUCE:
    case TI_PATTERN_ALL_REDUCE:
    case TI_PATTERN_NONE:
    case TI_PATTERN_KINDS:
        break;
    }
    TI_UNREACHABLE();
}

/* What is sent is read from the first half of the memory, what is got goes to the second. */
static int start_direct(measuring *m, ti_pattern pattern)
{
    char *second = m->memory + (size_t)m->bytes * (size_t)m->nodes;
    int code = MPI_SUCCESS;
    for (int i = 1; i < m->nodes && !code; i++) {
        int peer = (m->node + i) % m->nodes, n = bytes_between(m, pattern, peer, m->node);
        char *at = second + (pattern == TI_PATTERN_BROADCAST ? 0 : (size_t)peer * (size_t)n);
        if (n) {
            code = CALL(m, MPI_Irecv, at, n, MPI_BYTE, peer, 0, m->mpi, &m->request[m->requests++]);
        }
    }
    for (int i = 1; i < m->nodes && !code; i++) {
        int peer = (m->node + i) % m->nodes, n = bytes_between(m, pattern, m->node, peer);
        if (n) {
            code = CALL(m, MPI_Isend, m->memory, n, MPI_BYTE, peer, 0, m->mpi, &m->request[m->requests++]);
        }
    }
    return code;
}

/* From the first part of the first half to the second part, and so in the second half when all has come. */
static void pack(measuring *m, bool got)
{
    size_t n = (size_t)m->bytes;
    char *packed = m->memory + n + (got ? n * (size_t)m->nodes : 0);
    memcpy(got ? packed - n : packed, got ? packed : packed - n, n);
}

static int start_packed(measuring *m)
{
    int n = m->bytes / m->nodes;
    char *packed = m->memory + m->bytes;
    pack(m, false);
    return CALL(m, MPI_Ialltoall, packed, n, MPI_BYTE, packed + (size_t)m->bytes * (size_t)m->nodes, n, MPI_BYTE,
                m->mpi, &m->request[m->requests++]);
}

static int measure_one(measuring *m, ti_pattern pattern, int way, double *seconds)
{
    int code = CALL(m, MPI_Ibarrier, m->mpi, &m->request[m->requests++]);
    code = code ? code : wait_all(m);
    uint64_t start = ti_clock_ns();
    if (!code) {
        code = way == PACKED ? start_packed(m) : way == BY_MPI ? start_mpi(m, pattern) : start_direct(m, pattern);
    }
    code = code ? code : wait_all(m);
    if (way == PACKED) {
        pack(m, true);
    }
    *seconds = 1e-9 * (double)(ti_clock_ns() - start);
    return code;
}

typedef double table[TI_PATTERN_KINDS][TI_MPI_SIZES][WAYS][ROUNDS];

static bool is_a_way(const measuring *m, ti_pattern pattern, int way)
{
    return way != PACKED ||
           (pattern == TI_PATTERN_ALL_TO_ALL && ti_mpi_is_small(m->nodes, (size_t)(m->bytes / m->nodes)));
}

static int measure_all(measuring *m, table *mine)
{
    int code = MPI_SUCCESS;
    for (int p = TI_PATTERN_GATHER; p < TI_PATTERN_REDUCE; p++) {
        for (int s = 0; s < TI_MPI_SIZES; s++) {
            size_t max = MAX_BYTES / (size_t)m->nodes;
            m->bytes = (int)TI_MIN(classes[s].bytes, max);
            for (int i = 0; i < WAYS * ROUNDS && !code; i++) {
                double *seconds = &(*mine)[p][s][i % WAYS][i / WAYS];
                *seconds = DBL_MAX;
                code = is_a_way(m, (ti_pattern)p, i % WAYS) ? measure_one(m, (ti_pattern)p, i % WAYS, seconds) : code;
            }
        }
    }
    return code;
}

/* A round takes as long as on the slowest node; of the rounds, the fastest counts. */
static double time_of(const double rounds[ROUNDS])
{
    double fastest = rounds[0];
    for (int i = 1; i < ROUNDS; i++) {
        fastest = TI_MIN(fastest, rounds[i]);
    }
    return fastest;
}

static int decide(measuring *m, const table *mine, ti_mpi_choice *out)
{
    table all = { 0 };
    int code = CALL(m, MPI_Iallreduce, mine, &all, (int)(sizeof(table) / sizeof(double)), MPI_DOUBLE, MPI_MAX, m->mpi,
                    &m->request[m->requests++]);
    code = code ? code : wait_all(m);
    for (int p = TI_PATTERN_GATHER; p < TI_PATTERN_REDUCE; p++) {
        for (int s = 0; s < TI_MPI_SIZES; s++) {
            out->by_mpi[p][s] = !code && time_of(all[p][s][BY_MPI]) < time_of(all[p][s][DIRECT]);
        }
    }
    for (int s = 0; s < TI_MPI_SIZES; s++) {
        double(*t)[ROUNDS] = all[TI_PATTERN_ALL_TO_ALL][s], packed = time_of(t[PACKED]);
        out->packed[s] = !code && packed < time_of(t[BY_MPI]) && packed < time_of(t[DIRECT]);
    }
    return code;
}

int ti_mpi_measure(MPI_Comm mpi, int node, int nodes, ti_mpi_choice *out, const char **call)
{
    size_t n = (size_t)nodes, max = TI_MIN(classes[TI_MPI_SIZES - 1].bytes, MAX_BYTES / n), size = 2 * n * max;
    measuring m = { .mpi = mpi, .node = node, .nodes = nodes };
    table mine = { 0 };
    m.memory = ti_alloc_zero(size);
    m.request = ti_alloc((2 * n + 1) * sizeof(MPI_Request));
    m.count = ti_alloc(n * sizeof(int));
    m.at = ti_alloc(n * sizeof(int));
    m.type = ti_alloc(n * sizeof(MPI_Datatype));
    int code = measure_all(&m, &mine);
    code = code ? code : decide(&m, &mine, out);
    *call = m.call;
    if (!code) { /* after an error MPI may still use it */
        ti_free(m.memory, size);
        ti_free(m.request, (2 * n + 1) * sizeof(MPI_Request));
        ti_free(m.count, n * sizeof(int));
        ti_free(m.at, n * sizeof(int));
        ti_free(m.type, n * sizeof(MPI_Datatype));
    }
    return code;
}
