/* The kernels of this folder with MPI by hand: rows dealt out to the ranks, borders that travel while the inner rows
 * are computed, and collectives where all need all. */
#include "kernels.h"
#include "peer.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

/* The rows of a matrix that this rank computes, of n. */
struct rows {
    size_t n, begin, end;
};

static struct rows rows_of(size_t n)
{
    return (struct rows){ n, share(n, (size_t)rank, (size_t)ranks), share(n, (size_t)rank + 1, (size_t)ranks) };
}

static bool again(struct peer *p)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return peer_again(p);
}

static void swap(struct part *a, struct part *b)
{
    struct part first = *a;
    *a = *b;
    *b = first;
}

/* This rank's rows, `halo` more on both sides, with the numbers that all programs begin with. */
static struct part started(struct rows r, size_t columns, size_t halo)
{
    const size_t first = r.begin > halo ? r.begin - halo : 0, end = r.end + halo < r.n ? r.end + halo : r.n;
    struct part a = { peer_alloc((end - first) * columns), first, 0, columns };
    start(first, end, columns, a);
    return a;
}

/* Counts and displacements of rows of this many numbers, for collectives. */
struct counts {
    int *count, *displacement;
};

static struct counts counts_of(size_t n, size_t numbers)
{
    struct counts c = { malloc((size_t)ranks * sizeof(int)), malloc((size_t)ranks * sizeof(int)) };
    for (int k = 0; k < ranks; k++) {
        const size_t begin = share(n, (size_t)k, (size_t)ranks), end = share(n, (size_t)k + 1, (size_t)ranks);
        c.count[k] = (int)((end - begin) * numbers);
        c.displacement[k] = (int)(begin * numbers);
    }
    return c;
}

static void counts_free(struct counts *c)
{
    free(c->count);
    free(c->displacement);
}

static void result(const struct peer *p, struct rows r, struct part a)
{
    struct counts c = counts_of(r.n, a.ld);
    double *all = rank == 0 ? peer_alloc(r.n * a.ld) : NULL;
    MPI_Gatherv(at(a, r.begin, 0), c.count[rank], MPI_DOUBLE, all, c.count, c.displacement, MPI_DOUBLE, 0,
                MPI_COMM_WORLD);
    if (rank == 0) {
        peer_result(p, all, r.n * a.ld);
    }
    counts_free(&c);
    free(all);
    free(a.data);
}

/* ---------------------------------------------------------------- borders
 *
 * Between begin_borders and end_borders the inner rows can be computed, which need no rows of others. */

struct borders {
    MPI_Request request[4];
    size_t inner, inner_end;
};

static struct borders begin_borders(struct part a, struct rows r, size_t halo)
{
    struct borders b = { .inner = rank > 0 ? r.begin + halo : r.begin,
                         .inner_end = rank + 1 < ranks ? r.end - halo : r.end };
    const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    const int numbers = (int)(halo * a.ld);
    double *above = rank > 0 ? at(a, r.begin - halo, 0) : a.data;
    double *below = rank + 1 < ranks ? at(a, r.end, 0) : a.data, *last = rank + 1 < ranks ? below - numbers : a.data;
    MPI_Irecv(above, numbers, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &b.request[0]);
    MPI_Irecv(below, numbers, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &b.request[1]);
    MPI_Isend(at(a, r.begin, 0), numbers, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &b.request[2]);
    MPI_Isend(last, numbers, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &b.request[3]);
    if (b.inner > b.inner_end) {
        b.inner = b.inner_end = r.end;
    }
    return b;
}

static void end_borders(struct borders *b)
{
    MPI_Waitall(4, b->request, MPI_STATUSES_IGNORE);
}

/* ---------------------------------------------------------------- grids */

static void run_rows(struct peer *p, struct rows r, size_t columns, size_t halo,
                     void (*step)(size_t, size_t, size_t, struct part, struct part))
{
    struct part old = started(r, columns, halo), new = started(r, columns, halo);
    while (again(p)) {
        for (int s = 0; s < p->steps; s++, swap(&old, &new)) {
            struct borders b = begin_borders(old, r, halo);
            step(p->n, b.inner, b.inner_end, old, new);
            end_borders(&b);
            step(p->n, r.begin, b.inner, old, new);
            step(p->n, b.inner_end, r.end, old, new);
        }
    }
    free(new.data);
    result(p, r, old);
}

static void run_steps(struct peer *p, void (*step)(size_t, size_t, size_t, struct part, struct part))
{
    run_rows(p, rows_of(p->n), p->n, 1, step);
}

static void run_stencil(struct peer *p)
{
    run_steps(p, stencil);
}

static void run_stencil2(struct peer *p)
{
    run_rows(p, rows_of(p->n), p->n, 2, stencil2);
}

static void run_points(struct peer *p)
{
    run_rows(p, rows_of(POINTS), 1, 1, points);
}

static void run_wave(struct peer *p)
{
    run_steps(p, wave);
}

static void run_jacobi(struct peer *p)
{
    const struct rows r = rows_of(p->n);
    struct part old = started(r, p->n, 1), new = started(r, p->n, 1), f = started(r, p->n, 0);
    while (again(p)) {
        for (int s = 0; s < p->steps; s++) {
            for (int t = 0; t < SWEEPS; t++, swap(&old, &new)) {
                struct borders b = begin_borders(old, r, 1);
                jacobi(p->n, b.inner, b.inner_end, old, f, new);
                end_borders(&b);
                jacobi(p->n, r.begin, b.inner, old, f, new);
                jacobi(p->n, b.inner_end, r.end, old, f, new);
            }
            struct borders b = begin_borders(old, r, 1);
            end_borders(&b);
            double largest = residual(p->n, r.begin, r.end, old, f);
            MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        }
    }
    free(f.data);
    free(new.data);
    result(p, r, old);
}

/* What rank k gets of this rank's rows: the columns that are its rows, transposed, as it has them in its own rows. */
static void pack(const struct rows *mine, struct part from, size_t begin, size_t end, double *to)
{
    const struct part block = { to, begin, mine->begin, mine->end - mine->begin };
    transpose((const size_t[]){ begin, end }, (const size_t[]){ mine->begin, mine->end }, from, block);
}

static void transpose_all(struct rows r, struct part from, struct part to, double *buffer[2], const struct counts c[2])
{
    const size_t own = r.end - r.begin;
    for (int k = 0; k < ranks; k++) {
        pack(&r, from, share(r.n, (size_t)k, (size_t)ranks), share(r.n, (size_t)k + 1, (size_t)ranks),
             buffer[0] + c[0].displacement[k]);
    }
    MPI_Alltoallv(buffer[0], c[0].count, c[0].displacement, MPI_DOUBLE, buffer[1], c[0].count, c[0].displacement,
                  MPI_DOUBLE, MPI_COMM_WORLD);
    for (int k = 0; k < ranks; k++) {
        const size_t width = (size_t)c[1].count[k];
        for (size_t i = 0; i < own; i++) {
            memcpy(at(to, r.begin + i, (size_t)c[1].displacement[k]),
                   buffer[1] + (size_t)c[0].displacement[k] + i * width, width * sizeof(double));
        }
    }
}

static void run_transpose(struct peer *p)
{
    const struct rows r = rows_of(p->n);
    struct part from = started(r, p->n, 0), to = started(r, p->n, 0);
    struct counts c[] = { counts_of(p->n, r.end - r.begin), counts_of(p->n, 1) };
    double *buffer[] = { peer_alloc(p->n * (r.end - r.begin)), peer_alloc(p->n * (r.end - r.begin)) };
    while (again(p)) {
        for (int s = 0; s < p->steps; s++, swap(&from, &to)) {
            transpose_all(r, from, to, buffer, c);
        }
    }
    for (int i = 0; i < 2; i++) {
        counts_free(&c[i]);
        free(buffer[i]);
    }
    free(to.data);
    result(p, r, from);
}

/* ---------------------------------------------------------------- bodies */

static void run_nbody(struct peer *p)
{
    const struct rows r = rows_of(p->n);
    struct part position = started(r, 3, p->n), velocity = started(r, 3, 0);
    struct counts c = counts_of(p->n, 3);
    while (again(p)) {
        for (int s = 0; s < p->steps; s++) {
            kick(p->n, r.begin, r.end, position, velocity);
            drift(r.begin, r.end, velocity, position);
            MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, position.data, c.count, c.displacement, MPI_DOUBLE,
                           MPI_COMM_WORLD);
        }
    }
    counts_free(&c);
    free(velocity.data);
    result(p, r, position);
}

/* ---------------------------------------------------------------- sparse matrices */

static struct sparse filled(struct sparse a, struct rows r)
{
    if (ranks > 1 && r.end - r.begin < a.band) {
        fprintf(stderr, "a rank has fewer rows than it must send\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    a.value = peer_alloc((r.end - r.begin) * a.width);
    a.column = (uint32_t *)peer_alloc(((r.end - r.begin) * a.width + 1) / 2);
    sparse_fill(&a, r.begin, r.end);
    return a;
}

static void sparse_free(struct sparse *a)
{
    free(a->value);
    free(a->column);
}

static void multiply_rows(const struct sparse *a, struct rows r, size_t begin, size_t end, struct part x, struct part y)
{
    struct sparse part = *a;
    part.value += (begin - r.begin) * a->width;
    part.column += (begin - r.begin) * a->width;
    multiply(&part, begin, end, x, y);
}

/* y = A x, where other ranks have a part of x. */
static void multiply_all(const struct sparse *a, struct rows r, struct part x, struct part y)
{
    struct borders b = begin_borders(x, r, a->band);
    multiply_rows(a, r, b.inner, b.inner_end, x, y);
    end_borders(&b);
    multiply_rows(a, r, r.begin, b.inner, x, y);
    multiply_rows(a, r, b.inner_end, r.end, x, y);
}

static void run_sparse(struct peer *p)
{
    const struct rows r = rows_of(p->n);
    struct sparse a = filled(band_matrix(p->n), r);
    struct part x = started(r, 1, a.band), y = started(r, 1, a.band);
    while (again(p)) {
        for (int s = 0; s < p->steps; s++, swap(&x, &y)) {
            multiply_all(&a, r, x, y);
        }
    }
    sparse_free(&a);
    free(y.data);
    result(p, r, x);
}

static double sum_of(double mine)
{
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return mine;
}

static void run_cg(struct peer *p)
{
    const struct rows rows = rows_of(p->n * p->n);
    const size_t range[] = { rows.begin, rows.end };
    struct sparse a = filled(laplace_matrix(p->n), rows);
    struct part v[] = { started(rows, 1, a.band), started(rows, 1, 0), started(rows, 1, 0), started(rows, 1, 0) };
    while (again(p)) {
        for (int s = 0; s < p->steps; s++) {
            double rr = sum_of(cg_begin(rows.begin, rows.end, v[2], v[3], v[0]));
            for (int i = 0; i < ITERATIONS; i++) {
                multiply_all(&a, rows, v[0], v[1]);
                double pq = sum_of(dot(rows.begin, rows.end, v[0], v[1])), old = rr;
                rr = sum_of(cg_advance(range, rr / pq, v));
                cg_turn(rows.begin, rows.end, rr / old, v[3], v[0]);
            }
        }
    }
    sparse_free(&a);
    free(v[0].data);
    free(v[1].data);
    free(v[3].data);
    result(p, rows, v[2]);
}

/* ---------------------------------------------------------------- sums into an array */

static void run_reduce(struct peer *p)
{
    double *sum = peer_alloc(p->n);
    while (again(p)) {
        for (int s = 0; s < p->steps; s++) {
            memset(sum, 0, p->n * sizeof *sum);
            accumulate(p->n, (size_t)rank, sum);
            MPI_Allreduce(MPI_IN_PLACE, sum, (int)p->n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) {
        peer_result(p, sum, p->n);
    }
    free(sum);
}

/* ---------------------------------------------------------------- the wavefront
 *
 * Every rank has a block of columns, and one more to the left, which its neighbour sends by `group` rows. */

static void sweep(const struct peer *p, struct part a, struct rows c, double *border)
{
    const size_t columns[] = { c.begin ? c.begin : 1, c.end };
    for (size_t i = 1; i < p->n; i += p->group) {
        const size_t rows[] = { i, i + p->group < p->n ? i + p->group : p->n };
        const int count = (int)(rows[1] - rows[0]);
        if (rank > 0) {
            MPI_Recv(border, count, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int k = 0; k < count; k++) {
                *at(a, i + (size_t)k, c.begin - 1) = border[k];
            }
        }
        wavefront(rows, columns, a, a, a);
        if (rank + 1 < ranks) {
            for (int k = 0; k < count; k++) {
                border[k] = *at(a, i + (size_t)k, c.end - 1);
            }
            MPI_Send(border, count, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
        }
    }
}

/* The first element depends on the last. */
static void turn_corner(const struct peer *p, struct part a)
{
    double corner = 0;
    if (rank == ranks - 1) {
        corner = -*at(a, p->n - 1, p->n - 1);
        if (ranks > 1) {
            MPI_Send(&corner, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) {
        if (ranks > 1) {
            MPI_Recv(&corner, 1, MPI_DOUBLE, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        *at(a, 0, 0) = corner;
    }
}

/* All columns on rank 0, to be compared: rank by rank. */
static void wavefront_result(const struct peer *p, struct part a, struct rows c)
{
    struct part all = { rank == 0 ? peer_alloc(p->n * p->n) : NULL, 0, 0, p->n };
    struct counts counts = counts_of(p->n, 1);
    for (size_t i = 0; i < p->n; i++) {
        MPI_Gatherv(at(a, i, c.begin), counts.count[rank], MPI_DOUBLE, rank == 0 ? at(all, i, 0) : NULL, counts.count,
                    counts.displacement, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        peer_result(p, all.data, p->n * p->n);
    }
    counts_free(&counts);
    free(all.data);
}

static void run_wavefront(struct peer *p)
{
    const struct rows c = rows_of(p->n);
    const size_t first = c.begin ? c.begin - 1 : 0;
    struct part a = { peer_alloc(p->n * (c.end - first)), 0, first, c.end - first };
    double *border = peer_alloc(p->group);
    wavefront_start((const size_t[]){ 0, p->n }, (const size_t[]){ first, c.end }, a);
    while (again(p)) {
        for (int s = 0; s < p->steps; s++) {
            sweep(p, a, c, border);
            turn_corner(p, a);
        }
    }
    wavefront_result(p, a, c);
    free(border);
    free(a.data);
}

int main(int argc, char **argv)
{
    static const struct peer_kernel kernels[] = PEER_KERNELS;
    struct peer p;
    const struct peer_kernel *kernel = peer_start(&p, kernels, argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    kernel->run(&p);
    MPI_Finalize();
    return 0;
}
