/* Measuring collectives: see measure.h.
 *
 * They are started like all others, and those of one pattern and size in each way in turn: MPI, messages, packed. Every
 * node has a row of a region of two dimensions; a transposition gives it an equal part of all rows. */
#include "comm/mpi/measure.h"

#include "base/check.h"
#include "base/clock.h"
#include "comm/exchange.h"
#include "comm/mpi/packed.h"

#include <sched.h>

enum { ROUNDS = 3, DIRECT = 0, BY_MPI = 1, PACKED = 2, WAYS = 3, MAX_BYTES = 32 << 20 };

/* Collectives of up to `max` bytes per node are measured with `bytes`. */
static const struct {
    size_t max, bytes;
} classes[TI_MPI_SIZES] = { { 8 << 10, 512 }, { 128 << 10, 32 << 10 }, { SIZE_MAX, 256 << 10 } };

typedef struct measuring {
    ti_comm *comm;
    ti_box region; /* a row of bytes for each node, now */
    char *memory;
    uint64_t sequence;
    ti_blocks blocks;
    ti_mpi_choice *tried, chosen;
} measuring;

int ti_mpi_size_class(size_t bytes)
{
    int i = 0;
    TI_ASSERT(classes[TI_MPI_SIZES - 1].max == SIZE_MAX);
    while (bytes > classes[i].max) {
        i++;
    }
    return i;
}

static ti_payload locate(void *user, const ti_boxes *boxes)
{
    measuring *m = user;
    ti_vec_clear(&m->blocks);
    for (size_t i = 0; i < boxes->count; i++) {
        ti_block block = ti_layout_block(m->memory, &m->region, &boxes->data[i], 1);
        ti_vec_push(&m->blocks, block);
    }
    return (ti_payload){ m->blocks.data, (uint32_t)boxes->count, (size_t)ti_boxes_volume(boxes->data, boxes->count) };
}

/* Equal parts of the region, one per node: rows or columns. */
static ti_parts parts_along(const measuring *m, int d)
{
    ti_mapper mapper = { .c = { tacit_full(), tacit_full(), tacit_full() }, .dims = 3, .custom = -1 };
    mapper.c[d] = tacit_dim(0);
    ti_split_request request = { .range = { .max = { m->region.max[d], 1, 1 } },
                                 .gran = { 1, 1, 1 },
                                 .nodes = m->comm->num_nodes,
                                 .place = TI_PLACE_SPLIT,
                                 .oversubscribe = 1 };
    return (ti_parts){
        .kind = TI_PARTS_SPLIT, .mapper = mapper, .split = ti_split_make(&request, NULL), .extent = m->region
    };
}

/* For what was started. Waits as everything does: by asking and giving up the core. */
static bool wait(ti_comm *comm)
{
    uint64_t token;
    int done;
    while ((done = comm->ops->poll(comm, &token, 1)) == 0) {
        sched_yield();
    }
    return done > 0;
}

/* How long it takes, summed over all nodes, which so all know the same. */
static bool measure_one(measuring *m, const ti_collective *what, int64_t *ns)
{
    ti_comm *comm = m->comm;
    ti_exchange x = { .what = what,
                      .elem_size = 1,
                      .sequence = m->sequence++,
                      .layout = 1,
                      .base = m->memory,
                      .locate = locate,
                      .user = m,
                      .gives = true,
                      .gets = true };
    comm->ops->barrier(comm, 0);
    if (!wait(comm)) {
        return false;
    }
    uint64_t start = ti_clock_ns();
    comm->ops->collective(comm, &x, 0);
    if (!wait(comm)) {
        return false;
    }
    *ns = comm->ops->sum(comm, (int64_t)(ti_clock_ns() - start));
    return !comm->stats.error;
}

static bool is_a_way(const measuring *m, ti_pattern pattern, int way)
{
    return way != PACKED || (pattern == TI_PATTERN_ALL_TO_ALL &&
                             ti_mpi_is_small(m->comm->num_nodes, (size_t)(m->region.max[1] / m->region.max[0])));
}

/* The fastest round of each way counts. Their numbers are none that the planners give. */
static bool measure_ways(measuring *m, ti_pattern pattern, int size)
{
    int64_t fastest[WAYS] = { INT64_MAX, INT64_MAX, INT64_MAX };
    ti_parts root = { .kind = TI_PARTS_NODE }, all = { .kind = TI_PARTS_ALL }, rows = parts_along(m, 0);
    bool one_gives = pattern == TI_PATTERN_BROADCAST || pattern == TI_PATTERN_SCATTER;
    ti_collective what = { .pattern = pattern,
                           .nodes = m->comm->num_nodes,
                           .from = one_gives ? root : rows,
                           .to = pattern == TI_PATTERN_GATHER       ? root
                                 : pattern == TI_PATTERN_SCATTER    ? rows
                                 : pattern == TI_PATTERN_ALL_TO_ALL ? parts_along(m, 1)
                                                                    : all,
                           .region = &m->region,
                           .regions = 1 };
    for (int i = 0; i < WAYS * ROUNDS; i++) {
        int way = i % WAYS;
        int64_t ns = 0;
        if (!is_a_way(m, pattern, way)) {
            continue;
        }
        for (int k = 0; k < TI_MPI_SIZES; k++) {
            m->tried->by_mpi[pattern][k] = way == BY_MPI;
            m->tried->packed[k] = way == PACKED;
        }
        what.serial = UINT64_MAX - (uint64_t)(((int)pattern * TI_MPI_SIZES + size) * WAYS + way);
        if (!measure_one(m, &what, &ns)) {
            return false;
        }
        fastest[way] = TI_MIN(fastest[way], ns);
    }
    m->chosen.by_mpi[pattern][size] = fastest[BY_MPI] < fastest[DIRECT];
    m->chosen.packed[size] = fastest[PACKED] < fastest[BY_MPI] && fastest[PACKED] < fastest[DIRECT];
    return true;
}

bool ti_mpi_measure(ti_comm *comm, ti_mpi_choice *choice)
{
    size_t n = (size_t)comm->num_nodes, max = TI_MIN(classes[TI_MPI_SIZES - 1].bytes, MAX_BYTES / n);
    measuring m = { .comm = comm, .memory = ti_alloc_zero(n * max), .tried = choice };
    bool good = true;
    for (int p = TI_PATTERN_GATHER; p < TI_PATTERN_REDUCE; p++) {
        for (int s = 0; s < TI_MPI_SIZES && good; s++) {
            size_t row = TI_MIN(classes[s].bytes, max);
            row -= row > n ? row % n : 0; /* equal parts of every row */
            m.region = (ti_box){ .max = { (int64_t)n, (int64_t)row, 1 } };
            good = measure_ways(&m, (ti_pattern)p, s);
        }
    }
    if (good) { /* after an error MPI may still use it */
        ti_free(m.memory, n * max);
    }
    ti_vec_fini(&m.blocks);
    *choice = m.chosen;
    comm->stats = (ti_comm_stats){ .error = comm->stats.error, .length_mismatch = comm->stats.length_mismatch };
    return good;
}
