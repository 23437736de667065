/* examples/cg.c: conjugate gradients: A x = b with a large sparse matrix A, symmetric and positive definite.
 *
 * What a piece of work touches need not be a box that follows from indices alone. Here it depends on the matrix: the
 * rows of a chunk have entries in some columns, and exactly those elements of a vector are read when the rows are
 * multiplied with it. *Custom range mappers* say such things, as C functions:
 *
 *   entries_of_rows   rows [a, b) touch entries [start[a], start[b]) of the matrix;
 *   columns_of_rows   rows [a, b) touch the columns in which they have entries.
 *
 * A custom mapper must be pure: it sees the chunk, the size of the buffer, and a copy of bytes that the program gave
 * when it created the mapper. It must answer the same on every node, as each node asks it about the chunks of others;
 * and what it says of a chunk must cover what it says of the parts of that chunk. From the answers tacit knows which
 * elements of the vector must travel between which nodes. A matrix whose entries lie near the diagonal makes each
 * node talk to its neighbours only; one with entries everywhere makes each node talk to all.
 *
 * Dot products are reductions. Their values stay in buffers, where the kernels that need them read them; the program
 * itself looks at the residual only now and then, by a fence. Steps that were submitted before anybody knew that the
 * solution was good enough do no harm: they see it too, and change nothing. Sums of floating-point numbers depend on
 * their order, and so on the number of nodes and of threads, in the last bits: results are compared within bounds.
 * With TACIT_REPRODUCIBLE=1 that order is fixed, and the report shows the same bits of the solution on any number of
 * nodes.
 *
 * Sums on GPUs (TACIT_DEVICES=opencl:0 or cuda:0) have an order that depends on the devices in the same way;
 * TACIT_REPRODUCIBLE=1 has them made on the host.
 *
 * With --overlap an iteration is five tasks instead of three, of which two need not wait: most rows of the product need
 * nothing of other nodes and are multiplied while the others' elements travel (a task that reduces, too, is not cut
 * like that), and x changes while the sum r.r is made. It pays where messages are slow for the work between them. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tacit/io.h>

#include "cg_kernels.h"
#include "cg_matrix.h"
#include "common.h"

struct cg_options {
    struct example_options common;
    struct matrix_source matrix;
    size_t max_iterations, check_every;
    double tolerance;
    bool exactly; /* max_iterations, whatever the residual */
    bool overlap; /* tasks that need not wait for messages are tasks of their own */
    const char *save;
};

/* ---------------------------------------------------------------- mappers */

/* The copied bytes are the numbers of the first entries of all rows. */
static void entries_of_rows(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const uint64_t *start = user;
    (void)range;
    tacit_region_add(out, tacit_box1(start[chunk->min[0]], start[chunk->max[0]]));
}

/* Where the matrix has entries, coarsely: rows and columns are divided into the same blocks, and bit j of row i says
 * that some row of block i has an entry in some column of block j. It needs little memory whatever the matrix is, it
 * is quick to ask, and the answer has few boxes. */
enum { BLOCKS = 512, WORD_BITS = 64, WORDS = BLOCKS / WORD_BITS };

struct pattern {
    size_t block; /* rows in a block */
    uint64_t touched[BLOCKS][WORDS];
};

static void make_pattern(const struct matrix *a, struct pattern *p)
{
    memset(p, 0, sizeof *p);
    p->block = (a->rows + BLOCKS - 1) / BLOCKS;
    for (size_t i = 0; i < a->rows; i++)
        for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
            size_t b = a->column[e] / p->block;
            p->touched[i / p->block][b / WORD_BITS] |= (uint64_t)1 << b % WORD_BITS;
        }
}

/* The copied bytes are the pattern. Bits of several blocks of rows are joined, so that the answer for a chunk covers
 * the answers for its parts. Each run of bits is one box; the last block may be shorter, and tacit clamps it. */
static void columns_of_rows(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const struct pattern *p = user;
    uint64_t joined[WORDS] = { 0 };
    (void)range;
    for (size_t i = chunk->min[0] / p->block; i * p->block < chunk->max[0]; i++)
        for (size_t w = 0; w < WORDS; w++)
            joined[w] |= p->touched[i][w];
    for (size_t b = 0, first = 0; b <= BLOCKS; b++) {
        bool touched = b < BLOCKS && joined[b / WORD_BITS] >> b % WORD_BITS & 1;
        if (!touched && first < b)
            tacit_region_add(out, tacit_box1(first * p->block, b * p->block));
        if (!touched)
            first = b + 1;
    }
}

/* ---------------------------------------------------------------- kernels: of the host; of devices: cg_kernels.h */

/* View: the known solution, to be written. */
static void fill(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT1(double, k->view[0], i) = matrix_vector(i);
}

/* Views: first entries of the rows and of the row after them; columns and values of the entries; the vector's elements
 * in those columns; the vector's elements in the rows; the product, to be written; the sum of the product times the
 * vector. */
static void multiply(const tacit_launch *k)
{
    const tacit_view start = k->view[0], column = k->view[1], value = k->view[2], p = k->view[3];
    double dot = TACIT_AT0(double, k->view[6]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        double sum = 0;
        for (uint64_t e = TACIT_GET1(uint64_t, start, i); e < TACIT_GET1(uint64_t, start, i + 1); e++)
            sum += TACIT_GET1(double, value, e) * TACIT_GET1(double, p, TACIT_GET1(uint32_t, column, e));
        TACIT_AT1(double, k->view[5], i) = sum;
        dot += sum * TACIT_GET1(double, k->view[4], i);
    }
    TACIT_AT0(double, k->view[6]) = dot;
}

/* Views: r; p and x, to be written; the sum r.r. */
static void begin_at_zero(const tacit_launch *k)
{
    double dot = TACIT_AT0(double, k->view[3]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        double r = TACIT_GET1(double, k->view[0], i);
        TACIT_AT1(double, k->view[1], i) = r;
        TACIT_AT1(double, k->view[2], i) = 0.0;
        dot += r * r;
    }
    TACIT_AT0(double, k->view[3]) = dot;
}

/* Views: p, q = A p, r.r, p.q; x and r, to be changed; the sum of the new r.r. */
static void advance(const tacit_launch *k)
{
    const struct goal *goal = k->args;
    const double step = step_length(TACIT_GET0(double, k->view[2]), TACIT_GET0(double, k->view[3]), goal->rr);
    double dot = TACIT_AT0(double, k->view[6]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(double, k->view[4], i) += step * TACIT_GET1(double, k->view[0], i);
        double r = TACIT_GET1(double, k->view[5], i) - step * TACIT_GET1(double, k->view[1], i);
        TACIT_AT1(double, k->view[5], i) = r;
        dot += r * r;
    }
    TACIT_AT0(double, k->view[6]) = dot;
}

/* The three that do what multiply and advance do, in parts. Views: first entries of the rows and of the row after them;
 * columns and values of the entries; the vector's elements in those columns; the product, to be written. */
static void product(const tacit_launch *k)
{
    const tacit_view start = k->view[0], column = k->view[1], value = k->view[2], p = k->view[3];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        double sum = 0;
        for (uint64_t e = TACIT_GET1(uint64_t, start, i); e < TACIT_GET1(uint64_t, start, i + 1); e++)
            sum += TACIT_GET1(double, value, e) * TACIT_GET1(double, p, TACIT_GET1(uint32_t, column, e));
        TACIT_AT1(double, k->view[4], i) = sum;
    }
}

/* Views: p, q; the sum p.q. */
static void dot(const tacit_launch *k)
{
    double dot = TACIT_AT0(double, k->view[2]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        dot += TACIT_GET1(double, k->view[1], i) * TACIT_GET1(double, k->view[0], i);
    TACIT_AT0(double, k->view[2]) = dot;
}

/* Views: q, r.r, p.q; r, to be changed; the sum of the new r.r. */
static void descend(const tacit_launch *k)
{
    const struct goal *goal = k->args;
    const double step = step_length(TACIT_GET0(double, k->view[1]), TACIT_GET0(double, k->view[2]), goal->rr);
    double dot = TACIT_AT0(double, k->view[4]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        double r = TACIT_GET1(double, k->view[3], i) - step * TACIT_GET1(double, k->view[0], i);
        TACIT_AT1(double, k->view[3], i) = r;
        dot += r * r;
    }
    TACIT_AT0(double, k->view[4]) = dot;
}

/* Views: p, the old r.r, p.q; x, to be changed. */
static void move(const tacit_launch *k)
{
    const struct goal *goal = k->args;
    const double step = step_length(TACIT_GET0(double, k->view[1]), TACIT_GET0(double, k->view[2]), goal->rr);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT1(double, k->view[3], i) += step * TACIT_GET1(double, k->view[0], i);
}

/* Views: r, the new r.r, the old r.r; p, to be changed. */
static void turn(const tacit_launch *k)
{
    const double share = share_of_old(TACIT_GET0(double, k->view[1]), TACIT_GET0(double, k->view[2]));
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT1(double, k->view[3], i) = TACIT_GET1(double, k->view[0], i) +
                                           share * TACIT_GET1(double, k->view[3], i);
}

/* ---------------------------------------------------------------- the program, as tasks */

/* The matrix, the vectors, and three dot products, as buffers; the two mappers, as handles; and how all ranges are
 * split: by whole blocks of the pattern, so that no chunk is told of columns that only its neighbour needs. */
struct system {
    tacit_buffer *start, *column, *value, *known, *x, *r, *p, *q, *rr, *rr_old, *pq;
    int entries_of_rows, columns_of_rows;
    tacit_range rows;
    tacit_hints hint;
    double row_cost; /* of a row of the product, in nanoseconds: about 1.5 for an entry */
};

struct outcome {
    double *x;
    double bb, rr, seconds; /* squared lengths of b and of the residual */
    struct example_traffic traffic;
    size_t iterations;
};

/* `init` has the contents on all nodes. Nothing of the matrix ever travels: each node takes the rows that it needs. */
static tacit_buffer *create(tacit_context *ctx, const char *name, tacit_range range, size_t elem_size, const void *init)
{
    const tacit_buffer_desc desc = {
        .name = name, .range = range, .elem_size = elem_size, .init = init, .init_borrow = true
    };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

/* A kernel for all devices; one with a sum. */
static tacit_kernel kernel_of(tacit_host_kernel *host, const char *entry)
{
    return example_kernel(host, cg_text, entry, 0);
}

static tacit_kernel summing(tacit_host_kernel *host, const char *entry)
{
    return example_kernel(host, cg_text, entry, EXAMPLE_GROUP * sizeof(double));
}

static tacit_buffer *create_vector(tacit_context *ctx, const char *name, size_t size)
{
    return create(ctx, name, TACIT_RANGE(size), sizeof(double), NULL);
}

static tacit_buffer *create_number(tacit_context *ctx, const char *name)
{
    return create(ctx, name, (tacit_range){ .dims = 0 }, sizeof(double), NULL);
}

static struct system create_system(tacit_context *ctx, const struct matrix *a)
{
    struct pattern *pattern = example_alloc(1, sizeof *pattern);
    make_pattern(a, pattern);
    struct system s = {
        .rows = TACIT_RANGE(a->rows),
        .hint.granularity = { pattern->block },
        .row_cost = 1.5 * (double)a->entries / (double)a->rows,
        .start = create(ctx, "start", TACIT_RANGE(a->rows + 1), sizeof *a->start, a->start),
        .column = create(ctx, "column", TACIT_RANGE(a->entries), sizeof *a->column, a->column),
        .value = create(ctx, "value", TACIT_RANGE(a->entries), sizeof *a->value, a->value),
        .known = create_vector(ctx, "known", a->rows),
        .x = create_vector(ctx, "x", a->rows),
        .r = create_vector(ctx, "r", a->rows),
        .p = create_vector(ctx, "p", a->rows),
        .q = create_vector(ctx, "q", a->rows),
        .rr = create_number(ctx, "rr"),
        .rr_old = create_number(ctx, "rr old"),
        .pq = create_number(ctx, "pq"),
    };
    CHECK(tacit_mapper_create(ctx, entries_of_rows, a->start, (a->rows + 1) * sizeof *a->start, 0, &s.entries_of_rows));
    CHECK(tacit_mapper_create(ctx, columns_of_rows, pattern, sizeof *pattern, 0, &s.columns_of_rows));
    free(pattern);
    return s;
}

/* to = A from, and pq = to . from. Row i needs its first entry and that of row i + 1, hence the halo of one above. */
static void submit_multiply(tacit_context *ctx, const struct system *s, tacit_buffer *from, tacit_buffer *to)
{
    const tacit_mapper row_and_next = tacit_components(tacit_dim_scaled(0, 1, 1, 0, 1), tacit_full(), tacit_full());
    const tacit_task multiply_it = {
        .name = "multiply",
        .range = s->rows,
        .kernel = summing(multiply, "multiply"),
        .access = { tacit_read(s->start, row_and_next), tacit_read(s->column, tacit_custom(s->entries_of_rows)),
                    tacit_read(s->value, tacit_custom(s->entries_of_rows)),
                    tacit_read(from, tacit_custom(s->columns_of_rows)), tacit_read(from, tacit_one_to_one()),
                    tacit_write(to, tacit_one_to_one()), tacit_reduce(s->pq, tacit_sum(TACIT_DOUBLE)) },
        .hint = s->hint,
    };
    CHECK(tacit_submit(ctx, &multiply_it));
}

/* b = A known, which is the first residual: x begins at zero. */
static void submit_begin(tacit_context *ctx, const struct system *s)
{
    const tacit_task fill_it = {
        .name = "fill",
        .range = s->rows,
        .kernel = { .host = fill },
        .access = { tacit_write(s->known, tacit_one_to_one()) },
        .hint = s->hint,
    };
    const tacit_task begin_it = {
        .name = "begin",
        .range = s->rows,
        .kernel = summing(begin_at_zero, "begin"),
        .access = { tacit_read(s->r, tacit_one_to_one()), tacit_write(s->p, tacit_one_to_one()),
                    tacit_write(s->x, tacit_one_to_one()), tacit_reduce(s->rr, tacit_sum(TACIT_DOUBLE)) },
        .hint = s->hint,
    };
    CHECK(tacit_submit(ctx, &fill_it));
    submit_multiply(ctx, s, s->known, s->r);
    CHECK(tacit_submit(ctx, &begin_it));
}

/* q = A p, and then pq = p . q */
static void submit_product(tacit_context *ctx, const struct system *s)
{
    const tacit_mapper row_and_next = tacit_components(tacit_dim_scaled(0, 1, 1, 0, 1), tacit_full(), tacit_full());
    const tacit_task product_it = {
        .name = "product",
        .range = s->rows,
        .kernel = kernel_of(product, "product"),
        .access = { tacit_read(s->start, row_and_next), tacit_read(s->column, tacit_custom(s->entries_of_rows)),
                    tacit_read(s->value, tacit_custom(s->entries_of_rows)),
                    tacit_read(s->p, tacit_custom(s->columns_of_rows)), tacit_write(s->q, tacit_one_to_one()) },
        .hint = s->hint,
        .cost = s->row_cost,
    };
    const tacit_task dot_it = {
        .name = "dot",
        .range = s->rows,
        .kernel = summing(dot, "dot_of"),
        .access = { tacit_read(s->p, tacit_one_to_one()), tacit_read(s->q, tacit_one_to_one()),
                    tacit_reduce(s->pq, tacit_sum(TACIT_DOUBLE)) },
        .hint = s->hint,
    };
    CHECK(tacit_submit(ctx, &product_it));
    CHECK(tacit_submit(ctx, &dot_it));
}

/* r and the new r.r, in the place of the older one; and x, while that sum is made. */
static void submit_parts(tacit_context *ctx, const struct system *s, const struct goal *args)
{
    const tacit_task descend_it = {
        .name = "descend",
        .range = s->rows,
        .kernel = summing(descend, "descend"),
        .args = args,
        .args_size = sizeof *args,
        .access = { tacit_read(s->q, tacit_one_to_one()), tacit_read(s->rr, tacit_all()),
                    tacit_read(s->pq, tacit_all()), tacit_update(s->r, tacit_one_to_one()),
                    tacit_reduce(s->rr_old, tacit_sum(TACIT_DOUBLE)) },
        .hint = s->hint,
    };
    const tacit_task move_it = {
        .name = "move",
        .range = s->rows,
        .kernel = kernel_of(move, "move"),
        .args = args,
        .args_size = sizeof *args,
        .access = { tacit_read(s->p, tacit_one_to_one()), tacit_read(s->rr, tacit_all()),
                    tacit_read(s->pq, tacit_all()), tacit_update(s->x, tacit_one_to_one()) },
        .hint = s->hint,
    };
    CHECK(tacit_submit(ctx, &descend_it));
    CHECK(tacit_submit(ctx, &move_it));
}

static void submit_advance(tacit_context *ctx, const struct system *s, const struct goal *args)
{
    const tacit_task advance_it = {
        .name = "advance",
        .range = s->rows,
        .kernel = summing(advance, "advance"),
        .args = args,
        .args_size = sizeof *args,
        .access = { tacit_read(s->p, tacit_one_to_one()), tacit_read(s->q, tacit_one_to_one()),
                    tacit_read(s->rr, tacit_all()), tacit_read(s->pq, tacit_all()),
                    tacit_update(s->x, tacit_one_to_one()), tacit_update(s->r, tacit_one_to_one()),
                    tacit_reduce(s->rr_old, tacit_sum(TACIT_DOUBLE)) },
        .hint = s->hint,
    };
    CHECK(tacit_submit(ctx, &advance_it));
}

/* One iteration: three tasks, or five, and no answer is waited for. */
static void submit_iteration(tacit_context *ctx, struct system *s, double goal, bool overlap)
{
    const struct goal args = { goal };
    if (overlap) {
        submit_product(ctx, s);
        submit_parts(ctx, s, &args);
    } else {
        submit_multiply(ctx, s, s->p, s->q);
        submit_advance(ctx, s, &args);
    }
    tacit_buffer *newest = s->rr_old;
    s->rr_old = s->rr;
    s->rr = newest;
    const tacit_task turn_it = {
        .name = "turn",
        .range = s->rows,
        .kernel = kernel_of(turn, "turn"),
        .access = { tacit_read(s->r, tacit_one_to_one()), tacit_read(s->rr, tacit_all()),
                    tacit_read(s->rr_old, tacit_all()), tacit_update(s->p, tacit_one_to_one()) },
        .hint = s->hint,
    };
    CHECK(tacit_submit(ctx, &turn_it));
}

static double squared(double x)
{
    return x * x;
}

static void solve(tacit_context *ctx, const struct cg_options *o, const struct matrix *a, struct outcome *out)
{
    struct system s = create_system(ctx, a);
    submit_begin(ctx, &s);
    CHECK(tacit_fence_read(ctx, s.rr, TACIT_BOX_ALL, &out->bb));
    const double goal = squared(o->tolerance) * out->bb;
    out->rr = out->bb;

    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    while ((o->exactly || out->rr > goal) && out->iterations < o->max_iterations) {
        for (size_t t = 0; t < o->check_every && out->iterations < o->max_iterations; t++, out->iterations++)
            submit_iteration(ctx, &s, goal, o->overlap);
        CHECK(tacit_fence_read(ctx, s.rr, TACIT_BOX_ALL, &out->rr));
        if (example_shows_progress(ctx, &o->common))
            fprintf(stderr, "\r  iteration %zu, residual %-12g", out->iterations, sqrt(out->rr / out->bb));
    }
    if (example_shows_progress(ctx, &o->common))
        fputc('\n', stderr);
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
    if (o->save) {
        const tacit_file_options file = { .type = TACIT_DOUBLE, .hint = s.hint };
        CHECK(tacit_buffer_write(ctx, s.x, o->save, &file));
    }
    CHECK(tacit_fence_read(ctx, s.x, TACIT_BOX_ALL, out->x));
}

/* ---------------------------------------------------------------- the same, sequentially */

/* y = A x */
static void sequential_multiply(const struct matrix *a, const double *x, double *y)
{
    for (size_t i = 0; i < a->rows; i++) {
        y[i] = 0;
        for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
            y[i] += a->value[e] * x[a->column[e]];
    }
}

static double sequential_dot(const double *x, const double *y, size_t size)
{
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += x[i] * y[i];
    return sum;
}

/* b = A known */
static double *right_hand_side(const struct matrix *a)
{
    double *known = example_alloc(a->rows, sizeof *known), *b = example_alloc(a->rows, sizeof *b);
    for (size_t i = 0; i < a->rows; i++)
        known[i] = matrix_vector(i);
    sequential_multiply(a, known, b);
    free(known);
    return b;
}

/* How far a vector is from the known solution, where it is farthest. */
static double largest_error(const double *x, size_t size)
{
    double error = 0;
    for (size_t i = 0; i < size; i++)
        error = x[i] == x[i] ? fmax(error, fabs(x[i] - matrix_vector(i))) : INFINITY;
    return error;
}

/* The error of a plain sequential program that stops at the same length of the residual. */
static double sequential_error(const struct matrix *a, const double *b, double goal, size_t iterations)
{
    const size_t n = a->rows;
    double *x = example_alloc(n, sizeof *x), *q = example_alloc(n, sizeof *q);
    double *r = example_alloc(n, sizeof *r), *p = example_alloc(n, sizeof *p);
    memcpy(r, b, n * sizeof *r);
    memcpy(p, b, n * sizeof *p);
    double rr = sequential_dot(r, r, n);
    for (size_t t = 0; t < iterations && rr > goal; t++) {
        sequential_multiply(a, p, q);
        double step = step_length(rr, sequential_dot(p, q, n), goal), rr_old = rr;
        for (size_t i = 0; i < n; i++) {
            x[i] += step * p[i];
            r[i] -= step * q[i];
        }
        rr = sequential_dot(r, r, n);
        for (size_t i = 0; i < n; i++)
            p[i] = r[i] + share_of_old(rr, rr_old) * p[i];
    }
    double error = largest_error(x, n);
    free(x);
    free(q);
    free(r);
    free(p);
    return error;
}

/* The length of b - A x, and what rounding alone may make of it: the length of |b| + |A| |x| times epsilon, once for
 * each time that something was added to x and r. */
static double true_residual(const struct matrix *a, const double *b, const struct outcome *out, double *rounding)
{
    double sum = 0, sizes = 0;
    for (size_t i = 0; i < a->rows; i++) {
        double left = b[i], size = fabs(b[i]);
        for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
            left -= a->value[e] * out->x[a->column[e]];
            size += fabs(a->value[e] * out->x[a->column[e]]);
        }
        sum += squared(left);
        sizes += squared(size);
    }
    *rounding = (double)(out->iterations + 10) * DBL_EPSILON * sqrt(sizes);
    return sqrt(sum);
}

/* Whether the residual is what the iteration believes it to be, and the solution about as good as the sequential one.
 */
static bool is_right(const struct cg_options *o, const struct matrix *a, const struct outcome *out)
{
    double *b = right_hand_side(a), rounding, residual = true_residual(a, b, out, &rounding);
    double bb = sequential_dot(b, b, a->rows), error = largest_error(out->x, a->rows);
    bool good = fabs(residual - sqrt(out->rr)) <= rounding && fabs(bb - out->bb) <= bb * (double)a->rows * DBL_EPSILON;
    good = good && error <= 10 * sequential_error(a, b, squared(o->tolerance) * bb, out->iterations) + DBL_EPSILON;
    free(b);
    return good;
}

/* ---------------------------------------------------------------- results, options and main */

static bool report(tacit_context *ctx, const struct cg_options *o, const struct matrix *a, const struct outcome *out)
{
    struct example_report r;
    double iterations = (double)(out->iterations ? out->iterations : 1);
    double residual = out->bb > 0 ? sqrt(out->rr / out->bb) : 0;
    char bits[20];
    snprintf(bits, sizeof bits, "%016llx", (unsigned long long)example_hash(out->x, a->rows * sizeof out->x[0]));
    bool good = !o->common.verify || is_right(o, a, out);

    example_report_begin(&r, ctx, &o->common, "cg: conjugate gradients");
    matrix_report(&r, &o->matrix, a);
    example_report_count(&r, "iterations", "iterations, at most", out->iterations);
    example_report_text(&r, "converged", "converged", residual <= o->tolerance ? "yes" : "no");
    example_report_real(&r, "residual", "residual, relative to b", residual, "");
    example_report_text(&r, "bits", "bits of the solution, as a hash", bits);
    example_report_real(&r, "error", "largest error", largest_error(out->x, a->rows), "");
    example_report_real(&r, "seconds_per_iteration", "time per iteration", out->seconds / iterations, "s");
    example_report_traffic(&r, &out->traffic, iterations, "iteration");
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    if (isnan(out->rr))
        fprintf(stderr, "the matrix is not positive definite, or its numbers are too large\n");
    return good && !isnan(out->rr);
}

enum { KEY_TOLERANCE = 1, KEY_MAX_ITERATIONS, KEY_STEPS, KEY_CHECK_EVERY, KEY_SAVE, KEY_OVERLAP };

static const struct argp_option option_list[] = {
    { "tolerance", KEY_TOLERANCE, "NUMBER", 0, "Stop when the residual is this part of the right-hand side (1e-8)", 2 },
    { "max-iterations", KEY_MAX_ITERATIONS, "NUMBER", 0, "Stop here at the latest (10000)", 2 },
    { "steps", KEY_STEPS, "NUMBER", 0, "Stop here and not before, whatever the residual", 2 },
    { "check-every", KEY_CHECK_EVERY, "NUMBER", 0, "Iterations between looks at the residual (10)", 2 },
    { "overlap", KEY_OVERLAP, NULL, 0, "Five tasks for an iteration, which overlap with messages and sums", 2 },
    { "save", KEY_SAVE, "FILE", 0, "Write the solution to this file (.npy, .h5 or .raw)", 3 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cg_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->matrix;
        return 0;
    case KEY_OVERLAP:
        o->overlap = true;
        return 0;
    case KEY_SAVE:
        o->save = arg;
        return 0;
    case KEY_TOLERANCE:
        return example_parse_real(state, "--tolerance", arg, 1e-15, 1, &o->tolerance);
    case KEY_MAX_ITERATIONS:
        return example_parse_size(state, "--max-iterations", arg, 1, 1000000000, &o->max_iterations);
    case KEY_STEPS:
        o->exactly = true;
        return example_parse_size(state, "--steps", arg, 1, 1000000000, &o->max_iterations);
    case KEY_CHECK_EVERY:
        return example_parse_size(state, "--check-every", arg, 1, 1000000000, &o->check_every);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool run(tacit_context *ctx, const struct cg_options *o, const struct matrix *a)
{
    struct outcome out = { .x = example_alloc(a->rows, sizeof(double)) };
    solve(ctx, o, a, &out);
    bool good = tacit_node(ctx) != 0 || report(ctx, o, a, &out);
    free(out.x);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp_child shared[] = { { &matrix_argp, 0, NULL, 0 }, { NULL, 0, NULL, 0 } };
    const struct argp argp = {
        option_list, parse, NULL, "Conjugate gradients on a sparse matrix.", shared, NULL, NULL
    };
    struct cg_options o = { .max_iterations = 10000, .check_every = 10, .tolerance = 1e-8 };
    struct matrix a = { 0 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help)
        good = matrix_of_source(ctx, &o.matrix, &a) && run(ctx, &o, &a);
    int status = example_end(ctx, error, good);
    matrix_destroy(&a);
    return status;
}
