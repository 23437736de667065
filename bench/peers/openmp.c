/* The kernels of this folder with OpenMP by hand: one parallel region for all steps of a round, rows dealt out once and
 * touched first by the thread that computes them, and a barrier between steps. */
#include "kernels.h"
#include "peer.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 8 }; /* numbers of a cache line and more: threads do not share one */

/* The rows of n that the calling thread computes. */
struct rows {
    size_t begin, end, me, of;
};

static struct rows rows_of(size_t n)
{
    const size_t me = (size_t)omp_get_thread_num(), of = (size_t)omp_get_num_threads();
    return (struct rows){ share(n, me, of), share(n, me + 1, of), me, of };
}

static size_t threads(void)
{
    return (size_t)omp_get_max_threads();
}

static void swap(struct part *a, struct part *b)
{
    struct part first = *a;
    *a = *b;
    *b = first;
}

static struct part part_of(size_t rows, size_t columns)
{
    return (struct part){ peer_alloc(rows * columns), 0, 0, columns };
}

/* The same numbers as in all programs. */
static struct part started(size_t rows, size_t columns)
{
    struct part a = part_of(rows, columns);
#pragma omp parallel
    {
        const struct rows r = rows_of(rows);
        start(r.begin, r.end, columns, a);
    }
    return a;
}

static void result(const struct peer *p, struct part a, size_t count)
{
    peer_result(p, a.data, count);
    free(a.data);
}

/* A number of each thread, for sums and largest values; all threads get the same result. Two of them are used in turns,
 * so that one barrier is enough. */
struct numbers {
    double *of_thread[2];
};

static struct numbers numbers_of(void)
{
    return (struct numbers){ { peer_alloc(threads() * LINE), peer_alloc(threads() * LINE) } };
}

static double sum_of(struct numbers *numbers, struct rows r, int turn, double mine)
{
    double *of_thread = numbers->of_thread[turn & 1], sum = 0;
    of_thread[r.me * LINE] = mine;
#pragma omp barrier
    for (size_t t = 0; t < r.of; t++) {
        sum += of_thread[t * LINE];
    }
    return sum;
}

static double largest_of(struct numbers *numbers, struct rows r, int turn, double mine)
{
    double *of_thread = numbers->of_thread[turn & 1], largest = 0;
    of_thread[r.me * LINE] = mine;
#pragma omp barrier
    for (size_t t = 0; t < r.of; t++) {
        largest = of_thread[t * LINE] > largest ? of_thread[t * LINE] : largest;
    }
    return largest;
}

static void numbers_free(struct numbers *numbers)
{
    free(numbers->of_thread[0]);
    free(numbers->of_thread[1]);
}

/* ---------------------------------------------------------------- grids */

/* Steps between two matrices, or vectors. */
static void run_rows(struct peer *p, size_t rows, size_t columns,
                     void (*step)(size_t, size_t, size_t, struct part, struct part))
{
    struct part old = started(rows, columns), new = started(rows, columns);
    while (peer_again(p)) {
#pragma omp parallel firstprivate(old, new)
        {
            const struct rows r = rows_of(rows);
            for (int s = 0; s < p->steps; s++, swap(&old, &new)) {
                step(p->n, r.begin, r.end, old, new);
#pragma omp barrier
            }
        }
        if (p->steps % 2) {
            swap(&old, &new);
        }
    }
    free(new.data);
    result(p, old, rows * columns);
}

static void run_steps(struct peer *p, void (*step)(size_t, size_t, size_t, struct part, struct part))
{
    run_rows(p, p->n, p->n, step);
}

static void run_stencil2(struct peer *p)
{
    run_steps(p, stencil2);
}

static void run_points(struct peer *p)
{
    run_rows(p, POINTS, 1, points);
}

static void run_stencil(struct peer *p)
{
    run_steps(p, stencil);
}

static void run_wave(struct peer *p)
{
    run_steps(p, wave);
}

static void transpose_rows(size_t n, size_t begin, size_t end, struct part from, struct part to)
{
    transpose((const size_t[]){ begin, end }, (const size_t[]){ 0, n }, from, to);
}

static void run_transpose(struct peer *p)
{
    run_steps(p, transpose_rows);
}

static void run_jacobi(struct peer *p)
{
    struct part old = started(p->n, p->n), new = started(p->n, p->n), f = started(p->n, p->n);
    struct numbers numbers = numbers_of();
    while (peer_again(p)) {
#pragma omp parallel firstprivate(old, new)
        {
            const struct rows r = rows_of(p->n);
            double found = 0;
            for (int s = 0; s < p->steps && found >= 0; s++) {
                for (int t = 0; t < SWEEPS; t++, swap(&old, &new)) {
                    jacobi(p->n, r.begin, r.end, old, f, new);
#pragma omp barrier
                }
                found = largest_of(&numbers, r, s, residual(p->n, r.begin, r.end, old, f));
            }
        }
    }
    numbers_free(&numbers);
    free(f.data);
    free(new.data);
    result(p, old, p->n * p->n);
}

/* ---------------------------------------------------------------- bodies */

static void run_nbody(struct peer *p)
{
    struct part position = started(p->n, 3), velocity = started(p->n, 3);
    while (peer_again(p)) {
#pragma omp parallel
        {
            const struct rows r = rows_of(p->n);
            for (int s = 0; s < p->steps; s++) {
                kick(p->n, r.begin, r.end, position, velocity);
#pragma omp barrier
                drift(r.begin, r.end, velocity, position);
#pragma omp barrier
            }
        }
    }
    free(velocity.data);
    result(p, position, 3 * p->n);
}

/* ---------------------------------------------------------------- sparse matrices */

/* The rows of a matrix, from `row` on. */
static struct sparse from_row(const struct sparse *a, size_t row)
{
    struct sparse part = *a;
    part.value += row * a->width;
    part.column += row * a->width;
    return part;
}

static struct sparse filled(struct sparse a)
{
    a.value = peer_alloc(a.n * a.width);
    a.column = (uint32_t *)peer_alloc((a.n * a.width + 1) / 2);
#pragma omp parallel
    {
        const struct rows r = rows_of(a.n);
        const struct sparse mine = from_row(&a, r.begin);
        sparse_fill(&mine, r.begin, r.end);
    }
    return a;
}

static void sparse_free(struct sparse *a)
{
    free(a->value);
    free(a->column);
}

static void run_sparse(struct peer *p)
{
    struct sparse a = filled(band_matrix(p->n));
    struct part x = started(p->n, 1), y = started(p->n, 1);
    while (peer_again(p)) {
#pragma omp parallel firstprivate(x, y)
        {
            const struct rows r = rows_of(p->n);
            const struct sparse mine = from_row(&a, r.begin);
            for (int s = 0; s < p->steps; s++, swap(&x, &y)) {
                multiply(&mine, r.begin, r.end, x, y);
#pragma omp barrier
            }
        }
        if (p->steps % 2) {
            swap(&x, &y);
        }
    }
    sparse_free(&a);
    free(y.data);
    result(p, x, p->n);
}

struct solver {
    struct sparse a;
    struct part p, q, x, r;
    struct numbers numbers;
};

/* One solution by one thread of all. */
static void solve(struct solver *s, struct rows rows)
{
    const struct sparse mine = from_row(&s->a, rows.begin);
    const size_t range[] = { rows.begin, rows.end };
    const struct part vectors[] = { s->p, s->q, s->x, s->r };
    double rr = sum_of(&s->numbers, rows, 0, cg_begin(rows.begin, rows.end, s->x, s->r, s->p));
    for (int i = 0; i < ITERATIONS; i++) {
        multiply(&mine, rows.begin, rows.end, s->p, s->q);
        double pq = sum_of(&s->numbers, rows, 1, dot(rows.begin, rows.end, s->p, s->q)), old = rr;
        rr = sum_of(&s->numbers, rows, 0, cg_advance(range, rr / pq, vectors));
        cg_turn(rows.begin, rows.end, rr / old, s->r, s->p);
#pragma omp barrier
    }
}

static void run_cg(struct peer *p)
{
    struct solver s = { .a = filled(laplace_matrix(p->n)), .numbers = numbers_of() };
    const size_t n = s.a.n;
    s.p = started(n, 1);
    s.q = started(n, 1);
    s.x = started(n, 1);
    s.r = started(n, 1);
    while (peer_again(p)) {
#pragma omp parallel
        for (int t = 0; t < p->steps; t++) {
            solve(&s, rows_of(n));
        }
    }
    numbers_free(&s.numbers);
    sparse_free(&s.a);
    free(s.p.data);
    free(s.q.data);
    free(s.r.data);
    result(p, s.x, n);
}

/* ---------------------------------------------------------------- sums into an array */

/* Each thread has an array of its own, which stays; all of them combine. */
static void run_reduce(struct peer *p)
{
    double *sum = peer_alloc(p->n), **own = malloc(threads() * sizeof *own);
    for (size_t t = 0; t < threads(); t++) {
        own[t] = peer_alloc(p->n);
    }
    while (peer_again(p)) {
#pragma omp parallel
        {
            const struct rows r = rows_of(p->n);
            for (int s = 0; s < p->steps; s++) {
                memset(own[r.me], 0, p->n * sizeof *sum);
                accumulate(p->n, r.me, own[r.me]);
#pragma omp barrier
                for (size_t j = r.begin; j < r.end; j++) {
                    double value = own[0][j];
                    for (size_t t = 1; t < r.of; t++) {
                        value += own[t][j];
                    }
                    sum[j] = value;
                }
#pragma omp barrier
            }
        }
    }
    for (size_t t = 0; t < threads(); t++) {
        free(own[t]);
    }
    free(own);
    result(p, (struct part){ .data = sum }, p->n);
}

/* ---------------------------------------------------------------- the wavefront
 *
 * Every thread has a block of columns, and says how many rows of it are done; its right neighbour waits for them. */

struct done {
    _Alignas(64) atomic_size_t rows;
};

static void sweep(const struct peer *p, struct part a, struct rows c, struct done *done, size_t before)
{
    const size_t columns[] = { c.begin ? c.begin : 1, c.end };
    for (size_t i = 1; i < p->n; i += p->group) {
        const size_t rows[] = { i, i + p->group < p->n ? i + p->group : p->n };
        while (c.me > 0 && atomic_load_explicit(&done[c.me - 1].rows, memory_order_acquire) < before + rows[1]) {
            __builtin_ia32_pause();
        }
        wavefront(rows, columns, a, a, a);
        atomic_store_explicit(&done[c.me].rows, before + rows[1], memory_order_release);
    }
}

static void run_wavefront(struct peer *p)
{
    struct part a = part_of(p->n, p->n);
    struct done *done = calloc(threads(), sizeof *done);
    size_t before = 0;
#pragma omp parallel
    {
        const struct rows c = rows_of(p->n);
        wavefront_start((const size_t[]){ 0, p->n }, (const size_t[]){ c.begin, c.end }, a);
    }
    while (peer_again(p)) {
#pragma omp parallel firstprivate(before)
        {
            const struct rows c = rows_of(p->n);
            for (int s = 0; s < p->steps; s++, before += p->n) {
                sweep(p, a, c, done, before);
#pragma omp barrier
                if (c.me == 0) {
                    *at(a, 0, 0) = -*at(a, p->n - 1, p->n - 1);
                }
            }
        }
        before += (size_t)p->steps * p->n;
    }
    free(done);
    result(p, a, p->n * p->n);
}

int main(int argc, char **argv)
{
    static const struct peer_kernel kernels[] = PEER_KERNELS;
    struct peer p;
    peer_start(&p, kernels, argc, argv)->run(&p);
    return 0;
}
