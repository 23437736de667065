/* Windows of pure tasks in programs as users write them: stars in three dimensions, grids of several levels, three
 * buffers by turns, worlds that go around their ends, sparse rows, tasks without the outermost items, with granularity
 * and weights, buffers that get another extent, loops that end inside of a window. On 2 to 7 nodes, with everything
 * that may be switched on beside windows, each has the same bits as on one node without. */
#include "cluster.h"
#include "effort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8192, POINTS = 168, ROWS = 84, COLS = 12, STEPS = 13, MOST_NODES = 7 };

/* ---- one kernel: what an item's neighbourhoods have in each view but the last, into the last */

typedef struct pattern {
    enum { STAR, BOX, RING } kind;
    int dims, reads;
    bool in_place;
    int64_t n[3], halo[3]; /* extent of what is read */
    int64_t mul, div;      /* item i reads around element i * mul / div */
} pattern;

static double value_at(const pattern *p, const tacit_view v, const int64_t index[3])
{
    size_t at[3] = { 0, 0, 0 };
    for (int d = 0; d < p->dims; d++) {
        int64_t i = p->kind == RING ? (index[d] + p->n[d]) % p->n[d] : index[d];
        if (i < 0 || i >= p->n[d]) {
            return 0.25;
        }
        at[d] = (size_t)i;
    }
    return p->dims == 1   ? TACIT_GET1(double, v, at[0])
           : p->dims == 2 ? TACIT_GET2(double, v, at[0], at[1])
                          : TACIT_GET3(double, v, at[0], at[1], at[2]);
}

static double around(const pattern *p, const tacit_view v, const int64_t item[3])
{
    double sum = 0, weight = 0.5;
    int64_t o[3];
    for (o[0] = -p->halo[0]; o[0] <= p->halo[0]; o[0]++) {
        for (o[1] = -p->halo[1]; o[1] <= p->halo[1]; o[1]++) {
            for (o[2] = -p->halo[2]; o[2] <= p->halo[2]; o[2]++) {
                const int away = (o[0] != 0) + (o[1] != 0) + (o[2] != 0);
                if (p->kind == STAR && away > 1) {
                    continue;
                }
                const int64_t at[3] = { item[0] * p->mul / p->div + o[0], item[1] + o[1], item[2] + o[2] };
                sum += weight * value_at(p, v, at);
                weight = 0.11 + 0.7 * weight;
            }
        }
    }
    return sum;
}

static double *element(int dims, const tacit_view v, const int64_t item[3])
{
    const size_t at[3] = { (size_t)item[0], (size_t)item[1], (size_t)item[2] };
    return dims == 1   ? &TACIT_AT1(double, v, at[0])
           : dims == 2 ? &TACIT_AT2(double, v, at[0], at[1])
                       : &TACIT_AT3(double, v, at[0], at[1], at[2]);
}

static void apply(const tacit_launch *k)
{
    const pattern *p = k->args;
    int64_t i[3];
    for (i[0] = (int64_t)k->chunk.min[0]; i[0] < (int64_t)k->chunk.max[0]; i[0]++) {
        for (i[1] = (int64_t)k->chunk.min[1]; i[1] < (int64_t)k->chunk.max[1]; i[1]++) {
            for (i[2] = (int64_t)k->chunk.min[2]; i[2] < (int64_t)k->chunk.max[2]; i[2]++) {
                double *to = element(p->dims, k->view[p->reads], i), sum = p->in_place ? 0.3 * *to : 0.01;
                for (int r = 0; r < p->reads; r++) {
                    sum += around(p, k->view[r], i) / (3 + r);
                }
                *to = 0.5 * sum / (1 + sum * sum) + 0.001 * sum;
            }
        }
    }
}

/* ---- programs */

typedef struct world {
    tacit_context *ctx;
    double *out; /* of node 0: what the program has computed */
    size_t count;
} world;

static tacit_buffer *create(const world *w, tacit_range range)
{
    static const double start[MOST];
    tacit_buffer *b;
    const tacit_buffer_desc desc = { .range = range, .elem_size = sizeof(double), .init = start };
    REQUIRE_OK(w->ctx, tacit_buffer_create(w->ctx, &desc, &b));
    return b;
}

static void set_all(const tacit_launch *k)
{
    const pattern *p = k->args;
    int64_t i[3];
    for (i[0] = (int64_t)k->chunk.min[0]; i[0] < (int64_t)k->chunk.max[0]; i[0]++) {
        for (i[1] = (int64_t)k->chunk.min[1]; i[1] < (int64_t)k->chunk.max[1]; i[1]++) {
            for (i[2] = (int64_t)k->chunk.min[2]; i[2] < (int64_t)k->chunk.max[2]; i[2]++) {
                *element(p->dims, k->view[0], i) = 1.0 / (double)(3 + (i[0] * 7 + i[1] * 5 + i[2] * 3) % 11);
            }
        }
    }
}

static void fill(const world *w, tacit_buffer *b, tacit_range range, int split)
{
    const pattern p = { .dims = range.dims };
    const tacit_task t = { .range = range,
                           .kernel = { .host = set_all },
                           TACIT_ARGS(p),
                           .hint.split = split,
                           .access = { tacit_write(b, tacit_one_to_one()) } };
    REQUIRE_OK(w->ctx, tacit_submit(w->ctx, &t));
}

static void keep(world *w, tacit_buffer *b, size_t elements)
{
    double *to = malloc(elements * sizeof(double));
    REQUIRE_OK(w->ctx, tacit_fence_read(w->ctx, b, TACIT_BOX_ALL, to));
    if (tacit_node(w->ctx) == 0) {
        REQUIRE(w->count + elements <= MOST);
        memcpy(w->out + w->count, to, elements * sizeof(double));
        w->count += elements;
    }
    free(to);
}

static tacit_task step(const pattern *p, tacit_range range, tacit_access read, tacit_buffer *to)
{
    return (tacit_task){ .name = "step",
                         .range = range,
                         .kernel = { .host = apply },
                         .args = p,
                         .args_size = sizeof(*p),
                         .hint.pure = true,
                         .access = { read, p->in_place ? tacit_update(to, tacit_one_to_one())
                                                       : tacit_write(to, tacit_one_to_one()) } };
}

static void submit(const world *w, const tacit_task *t)
{
    REQUIRE_OK(w->ctx, tacit_submit(w->ctx, t));
}

/* A star in three dimensions, split along one or two. */
static void star(world *w, int split)
{
    enum { X = 42, Y = 14, Z = 5 };
    const tacit_range range = tacit_range3(X, Y, Z);
    const pattern p = { STAR, 3, 1, false, { X, Y, Z }, { 1, 1, 1 }, 1, 1 };
    tacit_buffer *b[2] = { create(w, range), create(w, range) };
    fill(w, b[0], range, split);
    for (int s = 0; s < STEPS; s++) {
        tacit_task t = step(&p, range, tacit_read(b[s % 2], tacit_star(1, 1, 1)), b[1 - s % 2]);
        t.hint.split = split;
        submit(w, &t);
    }
    keep(w, b[STEPS % 2], (size_t)X * Y * Z);
}

static void star_1d(world *w)
{
    star(w, TACIT_SPLIT_1D);
}

static void star_2d(world *w)
{
    star(w, TACIT_SPLIT_2D);
}

static tacit_mapper scaled(int mul, int div, int64_t halo)
{
    return tacit_components(tacit_dim_scaled(0, (size_t)mul, (size_t)div, halo, halo), tacit_full(), tacit_full());
}

/* Smoothed on a fine grid, restricted, smoothed on the coarse one, and brought back. */
static void levels(world *w)
{
    enum { FINE = 2 * POINTS };
    const tacit_range fine = TACIT_RANGE(FINE), coarse = TACIT_RANGE(POINTS);
    const pattern smooth = { BOX, 1, 1, false, { FINE }, { 1 }, 1, 1 },
                  down = { BOX, 1, 1, false, { FINE }, { 1 }, 2, 1 };
    const pattern relax = { BOX, 1, 1, false, { POINTS }, { 1 }, 1, 1 },
                  up = { BOX, 1, 1, true, { POINTS }, { 1 }, 1, 2 };
    tacit_buffer *u = create(w, fine), *v = create(w, fine), *c = create(w, coarse), *d = create(w, coarse);
    fill(w, u, fine, TACIT_SPLIT_1D);
    for (int s = 0; s < STEPS; s++) {
        tacit_task t[] = { step(&smooth, fine, tacit_read(u, tacit_neighborhood(1, 0, 0)), v),
                           step(&down, coarse, tacit_read(v, scaled(2, 1, 1)), c),
                           step(&relax, coarse, tacit_read(c, tacit_neighborhood(1, 0, 0)), d),
                           step(&up, fine, tacit_read(d, scaled(1, 2, 1)), u) };
        t[0].hint.granularity[0] = t[3].hint.granularity[0] = 2;
        for (size_t i = 0; i < TI_COUNT(t); i++) {
            submit(w, &t[i]);
        }
    }
    keep(w, u, FINE);
    keep(w, d, POINTS);
}

/* Three buffers by turns: the next comes of the last two. */
static void rotation(world *w)
{
    const tacit_range range = TACIT_RANGE(POINTS);
    const pattern p = { BOX, 1, 2, false, { POINTS }, { 2 }, 1, 1 };
    tacit_buffer *b[3] = { create(w, range), create(w, range), create(w, range) };
    fill(w, b[0], range, TACIT_SPLIT_1D);
    fill(w, b[1], range, TACIT_SPLIT_1D);
    for (int s = 0; s < STEPS; s++) {
        tacit_task t = step(&p, range, tacit_read(b[s % 3], tacit_neighborhood(2, 0, 0)), b[(s + 2) % 3]);
        t.access[2] = t.access[1];
        t.access[1] = tacit_read(b[(s + 1) % 3], tacit_neighborhood(2, 0, 0));
        submit(w, &t);
    }
    keep(w, b[(STEPS + 1) % 3], POINTS);
}

/* A ring, and a torus that is split along both dimensions. */
static void ring(world *w)
{
    const tacit_range range = TACIT_RANGE(POINTS);
    const pattern p = { RING, 1, 1, true, { POINTS }, { 1 }, 1, 1 };
    tacit_buffer *b[2] = { create(w, range), create(w, range) };
    fill(w, b[0], range, TACIT_SPLIT_1D);
    for (int s = 0; s < STEPS; s++) {
        const tacit_task t = step(&p, range, tacit_read(b[s % 2], tacit_periodic(1, 0, 0)), b[1 - s % 2]);
        submit(w, &t);
    }
    keep(w, b[STEPS % 2], POINTS);
}

static void torus(world *w)
{
    enum { SIDE = 36 };
    const tacit_range range = TACIT_RANGE(SIDE, SIDE);
    const pattern p = { RING, 2, 1, false, { SIDE, SIDE }, { 1, 1 }, 1, 1 };
    tacit_buffer *b[2] = { create(w, range), create(w, range) };
    fill(w, b[0], range, TACIT_SPLIT_2D);
    for (int s = 0; s < STEPS; s++) {
        tacit_task t = step(&p, range, tacit_read(b[s % 2], tacit_periodic(1, 1, 0)), b[1 - s % 2]);
        t.hint.split = TACIT_SPLIT_2D;
        submit(w, &t);
    }
    keep(w, b[STEPS % 2], (size_t)SIDE * SIDE);
}

/* The ring, by a custom mapper. */
static void neighbours(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const size_t n = range->size[0];
    (void)user;
    for (size_t i = chunk->min[0]; i < chunk->max[0]; i++) {
        for (size_t o = 0; o < 3; o++) {
            const size_t at = (i + n + o - 1) % n;
            tacit_region_add(out, tacit_box1(at, at + 1));
        }
    }
}

static void custom_ring(world *w)
{
    const tacit_range range = TACIT_RANGE(POINTS);
    const pattern p = { RING, 1, 1, true, { POINTS }, { 1 }, 1, 1 };
    tacit_buffer *b[2] = { create(w, range), create(w, range) };
    int handle;
    REQUIRE_OK(w->ctx, tacit_mapper_create(w->ctx, neighbours, NULL, 0, 0, &handle));
    fill(w, b[0], range, TACIT_SPLIT_1D);
    for (int s = 0; s < STEPS; s++) {
        const tacit_task t = step(&p, range, tacit_read(b[s % 2], tacit_custom(handle)), b[1 - s % 2]);
        submit(w, &t);
    }
    keep(w, b[STEPS % 2], POINTS);
}

/* Neighbours of a field, and of a table that all nodes have a part of, which a custom mapper names. */
static void table(world *w)
{
    const tacit_range range = TACIT_RANGE(POINTS);
    const pattern p = { RING, 1, 2, true, { POINTS }, { 1 }, 1, 1 };
    tacit_buffer *b[2] = { create(w, range), create(w, range) }, *constant = create(w, range);
    int handle;
    REQUIRE_OK(w->ctx, tacit_mapper_create(w->ctx, neighbours, NULL, 0, 0, &handle));
    fill(w, b[0], range, TACIT_SPLIT_1D);
    for (int s = 0; s < STEPS; s++) {
        tacit_task t = step(&p, TACIT_RANGE(POINTS - 2), tacit_read(b[s % 2], tacit_neighborhood(1, 0, 0)),
                            b[1 - s % 2]);
        t.offset[0] = 1;
        t.access[2] = t.access[1];
        t.access[1] = tacit_read(constant, tacit_custom(handle));
        submit(w, &t);
    }
    keep(w, b[STEPS % 2], POINTS);
}

/* Items without the outermost, coarse borders, and nodes with different shares, in turns. */
static void hints(world *w)
{
    const tacit_range range = TACIT_RANGE(POINTS);
    const pattern p = { BOX, 1, 1, true, { POINTS }, { 1 }, 1, 1 };
    tacit_buffer *b[2] = { create(w, range), create(w, range) };
    uint32_t weights[MOST_NODES];
    for (int i = 0; i < MOST_NODES; i++) {
        weights[i] = (uint32_t)(2 + i % 2);
    }
    fill(w, b[0], range, TACIT_SPLIT_1D);
    for (int s = 0; s < 3 * STEPS; s++) {
        tacit_task t = step(&p, range, tacit_read(b[s % 2], tacit_neighborhood(1, 0, 0)), b[1 - s % 2]);
        if (s >= STEPS && s < 2 * STEPS) {
            t.range = TACIT_RANGE(POINTS - 4);
            t.offset[0] = 2;
            t.hint.granularity[0] = 3;
        }
        t.hint.weights = s >= 2 * STEPS ? weights : NULL;
        t.hint.window = s % 7 == 0 ? 1 + s % 3 : 0;
        submit(w, &t);
    }
    keep(w, b[STEPS % 2], POINTS);
}

/* A grid that grows and shrinks between, and inside of, windows. */
static void resized(world *w)
{
    static const int sizes[] = { 60, POINTS, 90, 24 };
    tacit_buffer *b[2] = { create(w, TACIT_RANGE(60)), create(w, TACIT_RANGE(60)) };
    for (size_t r = 0; r < TI_COUNT(sizes); r++) {
        const tacit_range range = TACIT_RANGE((size_t)sizes[r]);
        const pattern p = { BOX, 1, 1, false, { sizes[r] }, { 1 }, 1, 1 };
        REQUIRE_OK(w->ctx, tacit_buffer_resize(w->ctx, b[0], range));
        REQUIRE_OK(w->ctx, tacit_buffer_resize(w->ctx, b[1], range));
        fill(w, b[1], range, TACIT_SPLIT_1D);
        if (r % 2 == 0) {
            fill(w, b[0], range, TACIT_SPLIT_1D);
        } else {
            REQUIRE_OK(w->ctx, tacit_fill(w->ctx, b[0], &(double){ 0.75 }));
        }
        for (int s = 0; s < STEPS - (int)r; s++) {
            const tacit_task t = step(&p, range, tacit_read(b[s % 2], tacit_neighborhood(1, 0, 0)), b[1 - s % 2]);
            submit(w, &t);
        }
        keep(w, b[(STEPS - r) % 2], (size_t)sizes[r]);
    }
}

/* Sums of rows: items of a row make one element together, and some items of border rows wait for messages. */
static void add_row(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        double sum = 0;
        TACIT_FOR (j, k->chunk, 1) {
            TACIT_AT2(double, k->view[1], i, j) = 0.9 * TACIT_GET2(double, k->view[0], i, j) + 1e-3 * (double)j;
            sum += TACIT_GET2(double, k->view[0], i, j);
        }
        TACIT_AT1(double, k->view[2], i) = sum;
    }
}

static void spread_sum(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        double sum = TACIT_GET1(double, k->view[1], i);
        sum += i > 0 ? TACIT_GET1(double, k->view[1], i - 1) : 0;
        sum += i + 1 < ROWS ? TACIT_GET1(double, k->view[1], i + 1) : 0;
        TACIT_FOR (j, k->chunk, 1) {
            TACIT_AT2(double, k->view[2], i, j) = 0.1 * sum / (1 + sum * sum) +
                                                  0.2 * TACIT_GET2(double, k->view[0], i, j);
        }
    }
}

/* The first columns of the rows around. */
static void corners(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)user;
    for (size_t i = chunk->min[0]; i < chunk->max[0]; i++) {
        for (size_t j = chunk->min[1]; j < chunk->max[1]; j++) {
            tacit_region_add(out, tacit_box2(i, i + 1, j, j + 1));
            if (j < 3) {
                const size_t end = i + 1 < range->size[0] ? i + 2 : i + 1;
                tacit_region_add(out, tacit_box2(i > 0 ? i - 1 : 0, end, j, j + 1));
            }
        }
    }
}

static void mix_corners(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            double sum = 0.5 * TACIT_GET2(double, k->view[0], i, j);
            if (j < 3) {
                sum += i > 0 ? 0.1 * TACIT_GET2(double, k->view[0], i - 1, j) : 0;
                sum += i + 1 < ROWS ? 0.2 * TACIT_GET2(double, k->view[0], i + 1, j) : 0;
            }
            TACIT_AT2(double, k->view[1], i, j) = sum;
        }
    }
}

static void rows(world *w)
{
    const tacit_range range = TACIT_RANGE(ROWS, COLS), half = TACIT_RANGE(ROWS, COLS / 2);
    const pattern p = { BOX, 2, 1, true, { ROWS, COLS }, { 1, 0 }, 1, 1 };
    tacit_buffer *a = create(w, range), *b = create(w, range), *c = create(w, range), *s = create(w, TACIT_RANGE(ROWS));
    int handle;
    const tacit_mapper row = tacit_components(tacit_dim(0), tacit_full(), tacit_full());
    REQUIRE_OK(w->ctx, tacit_mapper_create(w->ctx, corners, NULL, 0, 0, &handle));
    fill(w, a, range, TACIT_SPLIT_1D);
    fill(w, b, range, TACIT_SPLIT_1D);
    for (int n = 0; n < STEPS; n++) {
        const tacit_task some = step(&p, half, tacit_read(b, tacit_neighborhood(1, 0, 0)), a);
        const tacit_task sums = { .range = range,
                                  .kernel = { .host = add_row },
                                  .hint.pure = true,
                                  .access = { tacit_read(a, tacit_one_to_one()), tacit_write(c, tacit_one_to_one()),
                                              tacit_write(s, row) } };
        const tacit_task mix = { .range = range,
                                 .kernel = { .host = mix_corners },
                                 .hint.pure = true,
                                 .access = { tacit_read(c, tacit_custom(handle)),
                                             tacit_write(b, tacit_one_to_one()) } };
        const tacit_task back = {
            .range = range,
            .kernel = { .host = spread_sum },
            .hint.pure = true,
            .access = { tacit_read(b, tacit_one_to_one()),
                        tacit_read(s, tacit_components(tacit_dim_scaled(0, 1, 1, 1, 1), tacit_full(), tacit_full())),
                        tacit_write(a, tacit_one_to_one()) }
        };
        submit(w, &some);
        submit(w, &sums);
        submit(w, &mix);
        submit(w, &back);
    }
    keep(w, a, (size_t)ROWS * COLS);
    keep(w, s, ROWS);
}

/* The loop ends inside of a window, and so does the program: the last tasks are executed all the same. */
static void unfinished(world *w)
{
    const tacit_range range = TACIT_RANGE(POINTS);
    const pattern p = { BOX, 1, 1, false, { POINTS }, { 1 }, 1, 1 };
    tacit_buffer *b[2] = { create(w, range), create(w, range) };
    fill(w, b[0], range, TACIT_SPLIT_1D);
    for (int s = 0; s < 3; s++) {
        const tacit_task t = step(&p, range, tacit_read(b[s % 2], tacit_neighborhood(1, 0, 0)), b[1 - s % 2]);
        submit(w, &t);
    }
    keep(w, b[1], POINTS);
    for (int s = 1; s < 3; s++) {
        const tacit_task t = step(&p, range, tacit_read(b[s % 2], tacit_neighborhood(1, 0, 0)), b[1 - s % 2]);
        submit(w, &t);
    }
    REQUIRE_OK(w->ctx, tacit_buffer_destroy(w->ctx, b[0]));
}

/* ---- runs */

typedef void program_fn(world *w);

static const struct {
    const char *name;
    program_fn *fn;
} programs[] = { { "star_1d", star_1d },         { "star_2d", star_2d }, { "levels", levels },
                 { "rotation", rotation },       { "ring", ring },       { "torus", torus },
                 { "custom_ring", custom_ring }, { "table", table },     { "hints", hints },
                 { "resized", resized },         { "rows", rows },       { "unfinished", unfinished } };

static const tacit_config settings[] = {
    { .latency = "halo:2", .threads = TACIT_THREADS_INLINE, .horizon_step = 1 },
    { .latency = "halo:3", .threads = TACIT_THREADS_INLINE, .overlap = TACIT_OVERLAP_ON },
    { .latency = "halo:8", .threads = TACIT_THREADS_INLINE, .horizon_step = 1, .run_ahead = 1 },
    { .latency = "halo:64", .threads = TACIT_THREADS_INLINE, .latency_tile = "300", .check_pure = 1 },
    { .latency = "staged:2", .threads = TACIT_THREADS_INLINE, .horizon_step = 1 },
    { .latency = "staged:4", .threads = TACIT_THREADS_INLINE, .check_pure = 1, .host_devices = "2" },
    { .latency = "staged:5", .threads = TACIT_THREADS_INLINE, .latency_tile = "300", .reproducible = 1 },
    { .latency = "staged:16", .threads = TACIT_THREADS_ON, .workers = 2, .devices = "host:2:discrete" },
    { .latency = "auto:8", .threads = TACIT_THREADS_INLINE, .multicast = TACIT_MULTICAST_PLANNED, .comm_delay = 3 },
    { .latency = "staged",
      .threads = TACIT_THREADS_ON,
      .workers = 2,
      .multicast = TACIT_MULTICAST_PLANNED,
      .check_pure = 1,
      .reproducible = 1,
      .latency_tile = "auto",
      .devices = "host:2",
      .balance = "auto",
      .horizon_step = 1,
      .overlap = TACIT_OVERLAP_ON },
};

typedef struct result {
    program_fn *fn;
    double data[MOST];
    size_t count;
} result;

static void run_program(tacit_context *ctx, void *user)
{
    result *r = user;
    world w = { .ctx = ctx, .out = r->data };
    r->fn(&w);
    if (tacit_node(ctx) == 0) {
        r->count = w.count;
    }
}

static void run(program_fn *fn, int nodes, const tacit_config *config, uint64_t shake, result *out)
{
    *out = (result){ .fn = fn };
    const cluster c = { .nodes = nodes,
                        .config = config,
                        .eager = shake ? 1 : 0,
                        .shake = shake,
                        .machines = config && config->multicast == TACIT_MULTICAST_PLANNED,
                        .program = run_program,
                        .user = out };
    cluster_run(&c);
}

/* With sanitizers each program runs with each setting on one number of nodes, and with the next setting on another. */
enum { ONE_EACH = EFFORT(0, 1) };

static void same_bits(void **state)
{
    static const int nodes[] = { 2, 3, 5, 6, 7 };
    static result alone, other;
    (void)state;
    for (size_t p = 0; p < TI_COUNT(programs); p++) {
        run(programs[p].fn, 1, &(tacit_config){ .threads = TACIT_THREADS_INLINE }, 0, &alone);
        assert_true(alone.count > 0);
        for (size_t s = 0; s < TI_COUNT(settings); s++) {
            /* threads take turns where cores are few */
            const bool one = ONE_EACH || settings[s].threads == TACIT_THREADS_ON;
            for (size_t n = one ? (p + s) % TI_COUNT(nodes) : 0; n < TI_COUNT(nodes); n += one ? TI_COUNT(nodes) : 1) {
                run(programs[p].fn, nodes[n], &settings[s], 1 + 13 * s + n, &other);
                if (other.count != alone.count || memcmp(other.data, alone.data, alone.count * sizeof(double)) != 0) {
                    fail_msg("%s on %d nodes has other bits with %s (setting %zu)", programs[p].name, nodes[n],
                             settings[s].latency, s);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(same_bits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
