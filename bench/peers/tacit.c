/* The kernels of this folder by tacit, on any number of nodes and workers, as the manual would have them. */
#include "kernels.h"
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>

#include "tacit/tacit.h"

static tacit_context *ctx;

static void must(tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(ctx));
        exit(1);
    }
}

static bool again(struct peer *p)
{
    must(tacit_wait(ctx));
    return peer_again(p);
}

static void result(const struct peer *p, tacit_buffer *buffer, size_t count)
{
    double *values = peer_alloc(count);
    must(tacit_fence_read(ctx, buffer, TACIT_BOX_ALL, values));
    if (tacit_node(ctx) == 0) {
        peer_result(p, values, count);
    }
    free(values);
}

static void swap(tacit_buffer **a, tacit_buffer **b)
{
    tacit_buffer *first = *a;
    *a = *b;
    *b = first;
}

static tacit_buffer *buffer_of(tacit_range range, size_t elem_size)
{
    const tacit_buffer_desc desc = { .range = range, .elem_size = elem_size };
    tacit_buffer *buffer;
    must(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

/* Vectors are matrices of one column. */
static struct part part_of(const tacit_launch *k, int i)
{
    const tacit_view v = k->view[i];
    return v.dims == 2 ? (struct part){ v.data, v.box.min[0], v.box.min[1], v.ld }
                       : (struct part){ v.data, v.box.min[0], 0, 1 };
}

/* Row i of a matrix for item i, and `halo` rows around it. */
static tacit_mapper rows_around(size_t halo)
{
    return tacit_components(tacit_halo(0, halo), tacit_full(), tacit_full());
}

static void do_start(const tacit_launch *k)
{
    const tacit_view *v = &k->view[0];
    start(k->chunk.min[0], k->chunk.max[0], v->dims == 2 ? v->extent[1] : 1, part_of(k, 0));
}

/* A matrix of doubles, or a vector, with the numbers that all programs begin with. */
static tacit_buffer *started(tacit_range range)
{
    tacit_buffer *buffer = buffer_of(range, sizeof(double));
    must(tacit_submit(ctx, &(tacit_task){ .name = "start",
                                          .range = TACIT_RANGE(range.size[0]),
                                          .kernel.host = do_start,
                                          .access = { tacit_write(buffer, rows_around(0)) } }));
    return buffer;
}

/* ---------------------------------------------------------------- grids */

static void do_stencil(const tacit_launch *k)
{
    stencil(k->view[0].extent[0], k->chunk.min[0], k->chunk.max[0], part_of(k, 0), part_of(k, 1));
}

static void do_stencil2(const tacit_launch *k)
{
    stencil2(k->view[0].extent[0], k->chunk.min[0], k->chunk.max[0], part_of(k, 0), part_of(k, 1));
}

static void do_points(const tacit_launch *k)
{
    points(*(const size_t *)k->args, k->chunk.min[0], k->chunk.max[0], part_of(k, 0), part_of(k, 1));
}

/* Steps between two matrices, or two vectors, whose rows read `halo` rows around them. */
static void run_steps(struct peer *p, tacit_range range, tacit_host_kernel *kernel, size_t halo)
{
    tacit_buffer *old = started(range), *new = started(range);
    while (again(p)) {
        for (int s = 0; s < p->steps; s++, swap(&old, &new)) {
            must(tacit_submit(ctx, &(tacit_task){ .name = "step",
                                                  .range = TACIT_RANGE(range.size[0]),
                                                  .kernel.host = kernel,
                                                  TACIT_ARGS(p->n),
                                                  .access = { tacit_read(old, rows_around(halo)),
                                                              tacit_write(new, rows_around(0)) } }));
        }
    }
    result(p, old, range.size[0] * (range.dims == 2 ? range.size[1] : 1));
}

static void run_stencil(struct peer *p)
{
    run_steps(p, TACIT_RANGE(p->n, p->n), do_stencil, 1);
}

static void run_stencil2(struct peer *p)
{
    run_steps(p, TACIT_RANGE(p->n, p->n), do_stencil2, 2);
}

static void run_points(struct peer *p)
{
    run_steps(p, TACIT_RANGE(POINTS), do_points, 1);
}

static void do_wave(const tacit_launch *k)
{
    wave(k->view[0].extent[0], k->chunk.min[0], k->chunk.max[0], part_of(k, 0), part_of(k, 1));
}

static void run_wave(struct peer *p)
{
    tacit_buffer *now = started(TACIT_RANGE(p->n, p->n)), *last = started(TACIT_RANGE(p->n, p->n));
    while (again(p)) {
        for (int s = 0; s < p->steps; s++, swap(&now, &last)) {
            must(tacit_submit(ctx, &(tacit_task){ .name = "wave",
                                                  .range = TACIT_RANGE(p->n),
                                                  .kernel.host = do_wave,
                                                  .access = { tacit_read(now, rows_around(1)),
                                                              tacit_update(last, rows_around(0)) } }));
        }
    }
    result(p, now, p->n * p->n);
}

static void do_jacobi(const tacit_launch *k)
{
    jacobi(k->view[0].extent[0], k->chunk.min[0], k->chunk.max[0], part_of(k, 0), part_of(k, 1), part_of(k, 2));
}

static void do_residual(const tacit_launch *k)
{
    double largest = residual(k->view[0].extent[0], k->chunk.min[0], k->chunk.max[0], part_of(k, 0), part_of(k, 1));
    double *sofar = &TACIT_AT0(double, k->view[2]);
    *sofar = largest > *sofar ? largest : *sofar;
}

static void run_jacobi(struct peer *p)
{
    tacit_buffer *old = started(TACIT_RANGE(p->n, p->n)), *new = started(TACIT_RANGE(p->n, p->n));
    tacit_buffer *f = started(TACIT_RANGE(p->n, p->n)), *left = buffer_of((tacit_range){ 0 }, sizeof(double));
    double found = 0;
    while (again(p)) {
        for (int s = 0; s < p->steps; s++) {
            for (int t = 0; t < SWEEPS; t++, swap(&old, &new)) {
                must(tacit_submit(
                    ctx, &(tacit_task){ .name = "sweep",
                                        .range = TACIT_RANGE(p->n),
                                        .kernel.host = do_jacobi,
                                        .access = { tacit_read(old, rows_around(1)), tacit_read(f, rows_around(0)),
                                                    tacit_write(new, rows_around(0)) } }));
            }
            must(tacit_submit(ctx,
                              &(tacit_task){ .name = "residual",
                                             .range = TACIT_RANGE(p->n),
                                             .kernel.host = do_residual,
                                             .access = { tacit_read(old, rows_around(1)), tacit_read(f, rows_around(0)),
                                                         tacit_reduce(left, tacit_max(TACIT_DOUBLE)) } }));
            must(tacit_fence_read(ctx, left, TACIT_BOX_ALL, &found));
        }
    }
    result(p, old, p->n * p->n);
}

static void do_transpose(const tacit_launch *k)
{
    transpose((const size_t[]){ k->chunk.min[0], k->chunk.max[0] }, (const size_t[]){ 0, k->view[1].extent[1] },
              part_of(k, 0), part_of(k, 1));
}

static void run_transpose(struct peer *p)
{
    tacit_buffer *from = started(TACIT_RANGE(p->n, p->n)), *to = started(TACIT_RANGE(p->n, p->n));
    const tacit_mapper column = tacit_components(tacit_full(), tacit_dim(0), tacit_full());
    while (again(p)) {
        for (int s = 0; s < p->steps; s++, swap(&from, &to)) {
            must(tacit_submit(
                ctx, &(tacit_task){ .name = "transpose",
                                    .range = TACIT_RANGE(p->n),
                                    .kernel.host = do_transpose,
                                    .access = { tacit_read(from, column), tacit_write(to, rows_around(0)) } }));
        }
    }
    result(p, from, p->n * p->n);
}

/* ---------------------------------------------------------------- bodies */

static void do_kick(const tacit_launch *k)
{
    kick(k->view[0].extent[0], k->chunk.min[0], k->chunk.max[0], part_of(k, 0), part_of(k, 1));
}

static void do_drift(const tacit_launch *k)
{
    drift(k->chunk.min[0], k->chunk.max[0], part_of(k, 0), part_of(k, 1));
}

static void run_nbody(struct peer *p)
{
    tacit_buffer *position = started(TACIT_RANGE(p->n, 3)), *velocity = started(TACIT_RANGE(p->n, 3));
    const tacit_task kick_them = {
        .name = "kick",
        .range = TACIT_RANGE(p->n),
        .kernel.host = do_kick,
        .access = { tacit_read(position, tacit_all()), tacit_update(velocity, rows_around(0)) },
    };
    const tacit_task drift_them = {
        .name = "drift",
        .range = TACIT_RANGE(p->n),
        .kernel.host = do_drift,
        .access = { tacit_read(velocity, rows_around(0)), tacit_update(position, rows_around(0)) },
    };
    while (again(p)) {
        for (int s = 0; s < p->steps; s++) {
            must(tacit_submit(ctx, &kick_them));
            must(tacit_submit(ctx, &drift_them));
        }
    }
    result(p, position, 3 * p->n);
}

/* ---------------------------------------------------------------- sparse matrices */

/* The shape of a matrix, which is the argument of its tasks, and its entries. */
struct matrix {
    struct sparse shape;
    tacit_buffer *value, *column;
};

static tacit_mapper entries(const struct matrix *m)
{
    return tacit_components(tacit_dim_scaled(0, (int)m->shape.width, 1, 0, 0), tacit_full(), tacit_full());
}

/* The matrix of a kernel, whose entries for the chunk are views i and i + 1. */
static struct sparse sparse_of(const tacit_launch *k, int i)
{
    struct sparse a = *(const struct sparse *)k->args;
    a.value = &TACIT_AT1(double, k->view[i], k->chunk.min[0] * a.width);
    a.column = &TACIT_AT1(uint32_t, k->view[i + 1], k->chunk.min[0] * a.width);
    return a;
}

static void do_fill(const tacit_launch *k)
{
    struct sparse a = sparse_of(k, 0);
    sparse_fill(&a, k->chunk.min[0], k->chunk.max[0]);
}

static struct matrix matrix_of(struct sparse shape)
{
    struct matrix m = { .shape = shape };
    m.value = buffer_of(TACIT_RANGE(shape.n * shape.width), sizeof(double));
    m.column = buffer_of(TACIT_RANGE(shape.n * shape.width), sizeof(uint32_t));
    must(tacit_submit(
        ctx, &(tacit_task){ .name = "fill",
                            .range = TACIT_RANGE(shape.n),
                            .kernel.host = do_fill,
                            TACIT_ARGS(m.shape),
                            .access = { tacit_write(m.value, entries(&m)), tacit_write(m.column, entries(&m)) } }));
    return m;
}

static void do_multiply(const tacit_launch *k)
{
    struct sparse a = *(const struct sparse *)k->args;
    a.value = (double *)&TACIT_GET1(double, k->view[0], k->chunk.min[0] * a.width);
    a.column = (uint32_t *)&TACIT_GET1(uint32_t, k->view[1], k->chunk.min[0] * a.width);
    multiply(&a, k->chunk.min[0], k->chunk.max[0], part_of(k, 2), part_of(k, 3));
}

static void run_sparse(struct peer *p)
{
    const struct matrix m = matrix_of(band_matrix(p->n));
    tacit_buffer *x = started(TACIT_RANGE(p->n)), *y = started(TACIT_RANGE(p->n));
    while (again(p)) {
        for (int s = 0; s < p->steps; s++, swap(&x, &y)) {
            must(tacit_submit(
                ctx, &(tacit_task){ .name = "multiply",
                                    .range = TACIT_RANGE(p->n),
                                    .kernel.host = do_multiply,
                                    TACIT_ARGS(m.shape),
                                    .access = { tacit_read(m.value, entries(&m)), tacit_read(m.column, entries(&m)),
                                                tacit_read(x, rows_around(m.shape.band)),
                                                tacit_write(y, rows_around(0)) } }));
        }
    }
    result(p, x, p->n);
}

/* Views: as multiply, and the sum of the product times the vector. */
static void do_multiply_dot(const tacit_launch *k)
{
    do_multiply(k);
    TACIT_AT0(double, k->view[4]) += dot(k->chunk.min[0], k->chunk.max[0], part_of(k, 2), part_of(k, 3));
}

static void do_begin(const tacit_launch *k)
{
    TACIT_AT0(double, k->view[3]) += cg_begin(k->chunk.min[0], k->chunk.max[0], part_of(k, 0), part_of(k, 1),
                                              part_of(k, 2));
}

/* Views: p, q, r.r, p.q; x and r; the new r.r. */
static void do_advance(const tacit_launch *k)
{
    const double step = TACIT_GET0(double, k->view[2]) / TACIT_GET0(double, k->view[3]);
    TACIT_AT0(double, k->view[6]) +=
        cg_advance((const size_t[]){ k->chunk.min[0], k->chunk.max[0] }, step,
                   (const struct part[]){ part_of(k, 0), part_of(k, 1), part_of(k, 4), part_of(k, 5) });
}

/* Views: r, the new r.r, the old r.r; p. */
static void do_turn(const tacit_launch *k)
{
    const double share_of_old = TACIT_GET0(double, k->view[1]) / TACIT_GET0(double, k->view[2]);
    cg_turn(k->chunk.min[0], k->chunk.max[0], share_of_old, part_of(k, 0), part_of(k, 3));
}

struct solver {
    struct matrix a;
    tacit_buffer *x, *r, *p, *q, *rr, *rr_old, *pq;
};

static void submit_begin(const struct solver *s)
{
    must(tacit_submit(ctx,
                      &(tacit_task){ .name = "begin",
                                     .range = TACIT_RANGE(s->a.shape.n),
                                     .kernel.host = do_begin,
                                     .access = { tacit_write(s->x, rows_around(0)), tacit_write(s->r, rows_around(0)),
                                                 tacit_write(s->p, rows_around(0)),
                                                 tacit_reduce(s->rr, tacit_sum(TACIT_DOUBLE)) } }));
}

static void submit_iteration(struct solver *s)
{
    const tacit_range rows = TACIT_RANGE(s->a.shape.n);
    const tacit_mapper own = rows_around(0);
    must(tacit_submit(
        ctx, &(tacit_task){ .name = "multiply",
                            .range = rows,
                            .kernel.host = do_multiply_dot,
                            TACIT_ARGS(s->a.shape),
                            .access = { tacit_read(s->a.value, entries(&s->a)), tacit_read(s->a.column, entries(&s->a)),
                                        tacit_read(s->p, rows_around(s->a.shape.band)), tacit_write(s->q, own),
                                        tacit_reduce(s->pq, tacit_sum(TACIT_DOUBLE)) } }));
    must(tacit_submit(
        ctx, &(tacit_task){ .name = "advance",
                            .range = rows,
                            .kernel.host = do_advance,
                            .access = { tacit_read(s->p, own), tacit_read(s->q, own), tacit_read(s->rr, tacit_all()),
                                        tacit_read(s->pq, tacit_all()), tacit_update(s->x, own),
                                        tacit_update(s->r, own), tacit_reduce(s->rr_old, tacit_sum(TACIT_DOUBLE)) } }));
    swap(&s->rr, &s->rr_old);
    must(tacit_submit(ctx, &(tacit_task){ .name = "turn",
                                          .range = rows,
                                          .kernel.host = do_turn,
                                          .access = { tacit_read(s->r, own), tacit_read(s->rr, tacit_all()),
                                                      tacit_read(s->rr_old, tacit_all()), tacit_update(s->p, own) } }));
}

static void run_cg(struct peer *p)
{
    struct solver s = { .a = matrix_of(laplace_matrix(p->n)) };
    tacit_buffer **vector[] = { &s.x, &s.r, &s.p, &s.q }, **number[] = { &s.rr, &s.rr_old, &s.pq };
    for (int i = 0; i < 4; i++) {
        *vector[i] = buffer_of(TACIT_RANGE(s.a.shape.n), sizeof(double));
    }
    for (int i = 0; i < 3; i++) {
        *number[i] = buffer_of((tacit_range){ 0 }, sizeof(double));
    }
    while (again(p)) {
        for (int t = 0; t < p->steps; t++) {
            submit_begin(&s);
            for (int i = 0; i < ITERATIONS; i++) {
                submit_iteration(&s);
            }
        }
    }
    result(p, s.x, s.a.shape.n);
}

/* ---------------------------------------------------------------- sums into an array */

static void do_accumulate(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        accumulate(k->view[0].extent[0], i, k->view[0].data);
    }
}

static void run_reduce(struct peer *p)
{
    tacit_buffer *sum = buffer_of(TACIT_RANGE(p->n), sizeof(double));
    const tacit_task task = { .name = "accumulate",
                              .range = TACIT_RANGE((size_t)(tacit_num_nodes(ctx) * tacit_workers(ctx))),
                              .kernel.host = do_accumulate,
                              .access = { tacit_reduce(sum, tacit_sum(TACIT_DOUBLE)) } };
    while (again(p)) {
        for (int s = 0; s < p->steps; s++) {
            must(tacit_submit(ctx, &task));
        }
    }
    result(p, sum, p->n);
}

/* ---------------------------------------------------------------- the wavefront
 *
 * Every worker of all nodes has a block of columns, and gets them by `group` rows in one task. */

static void do_wavefront(const tacit_launch *k)
{
    wavefront((const size_t[]){ k->chunk.min[0], k->chunk.max[0] },
              (const size_t[]){ k->chunk.min[1], k->chunk.max[1] }, part_of(k, 0), part_of(k, 1), part_of(k, 2));
}

static void do_wavefront_start(const tacit_launch *k)
{
    wavefront_start((const size_t[]){ k->chunk.min[0], k->chunk.max[0] },
                    (const size_t[]){ k->chunk.min[1], k->chunk.max[1] }, part_of(k, 0));
}

/* The next wavefront begins when this one is done: the first element depends on the last. */
static void do_corner(const tacit_launch *k)
{
    TACIT_AT2(double, k->view[1], 0, 0) = -TACIT_GET2(double, k->view[0], k->view[0].box.min[0], k->view[0].box.min[1]);
}

struct columns {
    size_t begin, end;
    tacit_place place;
};

static struct columns columns_of(const struct peer *p, size_t block, size_t blocks)
{
    int node = (int)(block * (size_t)tacit_num_nodes(ctx) / blocks);
    return (struct columns){ share(p->n, block, blocks), share(p->n, block + 1, blocks), tacit_place_node(node) };
}

/* Rows [begin, end) of a block. */
static tacit_prepared *rows_of_block(tacit_buffer *a, struct columns c, size_t begin, size_t end)
{
    const size_t left = c.begin ? c.begin : 1;
    tacit_prepared *rows;
    must(tacit_prepare(
        ctx,
        &(tacit_task){ .name = "wavefront",
                       .range = TACIT_RANGE(end - begin, c.end - left),
                       .offset = { begin, left },
                       .place = c.place,
                       .kernel.host = do_wavefront,
                       .hint.whole_chunk = true,
                       .access = { tacit_read(a, tacit_fixed(tacit_box2(begin - 1, begin, left - 1, c.end))),
                                   tacit_read(a, tacit_fixed(tacit_box2(begin, end, left - 1, left))),
                                   tacit_write(a, tacit_one_to_one()) } },
        &rows));
    return rows;
}

static tacit_prepared *corner(const struct peer *p, tacit_buffer *a)
{
    tacit_prepared *last;
    must(
        tacit_prepare(ctx,
                      &(tacit_task){ .name = "corner",
                                     .place = tacit_place_node(0),
                                     .kernel.host = do_corner,
                                     .access = { tacit_read(a, tacit_fixed(tacit_box2(p->n - 1, p->n, p->n - 1, p->n))),
                                                 tacit_write(a, tacit_fixed(tacit_box2(0, 1, 0, 1))) } },
                      &last));
    return last;
}

static void run_wavefront(struct peer *p)
{
    tacit_buffer *a = buffer_of(TACIT_RANGE(p->n, p->n), sizeof(double));
    const size_t blocks = (size_t)(tacit_num_nodes(ctx) * tacit_workers(ctx));
    for (size_t b = 0; b < blocks; b++) {
        const struct columns c = columns_of(p, b, blocks);
        must(tacit_submit(ctx, &(tacit_task){ .name = "start",
                                              .range = TACIT_RANGE(p->n, c.end - c.begin),
                                              .offset = { 0, c.begin },
                                              .place = c.place,
                                              .kernel.host = do_wavefront_start,
                                              .access = { tacit_write(a, tacit_one_to_one()) } }));
    }
    /* To describe the tasks of a sweep takes longer than they do. */
    tacit_prepared **task = malloc((p->n * blocks + 1) * sizeof(*task));
    size_t tasks = 0;
    for (size_t i = 1; i < p->n; i += p->group) {
        for (size_t b = 0; b < blocks; b++) {
            task[tasks++] = rows_of_block(a, columns_of(p, b, blocks), i, i + p->group < p->n ? i + p->group : p->n);
        }
    }
    task[tasks++] = corner(p, a);
    while (again(p)) {
        for (int s = 0; s < p->steps; s++) {
            for (size_t i = 0; i < tasks; i++) {
                must(tacit_start(ctx, task[i], NULL));
            }
        }
    }
    free(task);
    result(p, a, p->n * p->n);
}

int main(int argc, char **argv)
{
    static const struct peer_kernel kernels[] = PEER_KERNELS;
    struct peer p;
    const struct peer_kernel *kernel = peer_start(&p, kernels, argc, argv);
    must(tacit_init(NULL, &ctx));
    kernel->run(&p);
    must(tacit_finalize(ctx));
    return 0;
}
