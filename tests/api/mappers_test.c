/* What range mappers and reductions mean, on one and several nodes: see programs.h. `mappers_test PROGRAM` runs one
 * program only. */
#include "programs.h"

/* ---------------------------------------------------------------- mappers */

/* What the items from `offset` on see of the next element. */
static void shifted(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT1(int, k->view[1], i) = TACIT_GET1(int, k->view[0], i + 1);
}

static void one_dimension(tacit_context *ctx, void *user)
{
    (void)user;
    int a[N], got[N];
    count_up(a, N);
    tacit_buffer *A = ints(ctx, "A", N, a), *B = ints(ctx, "B", N, NULL);
    SUBMIT(ctx, .name = "copy", .range = TACIT_RANGE(N), KERNEL(copy_checked),
           .access = { tacit_read(A, tacit_one_to_one()), tacit_write(B, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    REQUIRE(memcmp(a, got, sizeof(a)) == 0);
    SUBMIT(ctx, .name = "sum", .range = TACIT_RANGE(N), KERNEL(sum_all),
           .access = { tacit_read(A, tacit_all()), tacit_write(B, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    for (int i = 0; i < N; i++) {
        REQUIRE(got[i] == 3 * N * (N - 1) / 2 + N + i);
    }
    SUBMIT(ctx, .name = "some", .range = TACIT_RANGE(N), KERNEL(sum_all),
           .access = { tacit_read(A, tacit_fixed(tacit_box1(4, 6))), tacit_write(B, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    for (int i = 0; i < N; i++) {
        REQUIRE(got[i] == a[4] + a[5] + i);
    }
    SUBMIT(ctx, .name = "stencil", .range = TACIT_RANGE(N), KERNEL(three_point),
           .access = { tacit_read(A, tacit_neighborhood(1, 0, 0)), tacit_write(B, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "shift", .range = TACIT_RANGE(9), .offset = { 20 }, KERNEL(shifted),
           .access = { tacit_read(A, tacit_components(tacit_dim_scaled(0, 1, 1, -1, 1), tacit_full(), tacit_full())),
                       tacit_write(B, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    for (int i = 0; i < N; i++) {
        int stencil = (i ? a[i - 1] : 0) + 2 * a[i] + (i + 1 < N ? 3 * a[i + 1] : 0);
        REQUIRE(got[i] == (i >= 20 && i < 29 ? a[i + 1] : stencil));
    }
}

static void multiply(const tacit_launch *k)
{
    const tacit_view a = k->view[0], b = k->view[1];
    FOR_I(k) FOR_J(k)
    {
        int sum = 0;
        for (size_t m = 0; m < COLS; m++) {
            sum += TACIT_GET2(int, a, i, m) * TACIT_GET2(int, b, m, j);
        }
        TACIT_AT2(int, k->view[2], i, j) = sum;
    }
}

static void star_and_box(const tacit_launch *k)
{
    const tacit_view star = k->view[0], box = k->view[1];
    FOR_I(k) FOR_J(k)
    {
        int sum = 0;
        for (size_t d = 1; d <= 2; d++) {
            sum += i >= d ? TACIT_GET2(int, star, i - d, j) : 0;
            sum += i + d < ROWS ? TACIT_GET2(int, star, i + d, j) : 0;
        }
        sum += j >= 1 ? TACIT_GET2(int, star, i, j - 1) : 0;
        sum += j + 1 < COLS ? TACIT_GET2(int, star, i, j + 1) : 0;
        for (size_t p = i ? i - 1 : 0; p < TI_MIN(i + 2, (size_t)ROWS); p++) {
            for (size_t q = j ? j - 1 : 0; q < TI_MIN(j + 2, (size_t)COLS); q++) {
                sum += 100 * TACIT_GET2(int, box, p, q);
            }
        }
        TACIT_AT2(int, k->view[2], i, j) = sum;
    }
}

static int expected_star_and_box(const int *a, int i, int j)
{
    int sum = 0;
    for (int p = 0; p < ROWS; p++) {
        for (int q = 0; q < COLS; q++) {
            bool star = (q == j && p != i && abs(p - i) <= 2) || (p == i && abs(q - j) == 1),
                 box = abs(p - i) <= 1 && abs(q - j) <= 1;
            sum += star * a[p * COLS + q] + 100 * box * a[p * COLS + q];
        }
    }
    return sum;
}

static void transpose(const tacit_launch *k)
{
    FOR_I(k) FOR_J(k) TACIT_AT2(int, k->view[1], j, i) = TACIT_GET2(int, k->view[0], i, j);
}

/* From (plane, row, column) to (column, plane, row). */
static void rotate(const tacit_launch *k)
{
    FOR_I(k) FOR_J(k) FOR_L(k) TACIT_AT3(int, k->view[1], l, i, j) = TACIT_GET3(int, k->view[0], i, j, l);
}

static void several_dimensions(tacit_context *ctx, void *user)
{
    (void)user;
    int a[ROWS * COLS], got[MOST], cube[MOST];
    count_up(a, ROWS * COLS);
    count_up(cube, MOST);
    const tacit_range rows = TACIT_RANGE(ROWS, COLS);
    for (int split = TACIT_SPLIT_1D; split <= TACIT_SPLIT_2D; split++) {
        tacit_buffer *A = make(ctx, "A", rows, sizeof(int), a),
                     *T = make(ctx, "T", TACIT_RANGE(COLS, ROWS), sizeof(int), NULL);
        tacit_buffer *B = make(ctx, "B", rows, sizeof(int), NULL),
                     *P = make(ctx, "P", TACIT_RANGE(ROWS, ROWS), sizeof(int), NULL);
        SUBMIT(ctx, .name = "transpose", .range = rows, KERNEL(transpose), .hint = { .split = split },
               .access = { tacit_read(A, tacit_one_to_one()), tacit_write(T, tacit_transposed(1, 0, 0)) });
        SUBMIT(ctx, .name = "multiply", .range = TACIT_RANGE(ROWS, ROWS), KERNEL(multiply), .hint = { .split = split },
               .access = { tacit_read(A, tacit_slice(1)), tacit_read(T, tacit_slice(0)),
                           tacit_write(P, tacit_one_to_one()) });
        SUBMIT(ctx, .name = "stencils", .range = rows, KERNEL(star_and_box), .hint = { .split = split },
               .access = { tacit_read(A, tacit_star(2, 1, 0)), tacit_read(A, tacit_neighborhood(1, 1, 0)),
                           tacit_write(B, tacit_one_to_one()) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, P, TACIT_BOX_ALL, got));
        for (int i = 0; i < ROWS; i++) {
            for (int j = 0; j < ROWS; j++) {
                int sum = 0;
                for (int m = 0; m < COLS; m++) {
                    sum += a[i * COLS + m] * a[j * COLS + m];
                }
                REQUIRE(got[i * ROWS + j] == sum);
            }
        }
        REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
        for (int e = 0; e < ROWS * COLS; e++) {
            REQUIRE(got[e] == expected_star_and_box(a, e / COLS, e % COLS));
        }
        tacit_buffer *C = make(ctx, "C", TACIT_RANGE(PLANES, ROWS, COLS), sizeof(int), cube);
        tacit_buffer *R = make(ctx, "R", TACIT_RANGE(COLS, PLANES, ROWS), sizeof(int), NULL);
        SUBMIT(ctx, .name = "rotate", .range = TACIT_RANGE(PLANES, ROWS, COLS), KERNEL(rotate),
               .hint = { .split = split },
               .access = { tacit_read(C, tacit_one_to_one()), tacit_write(R, tacit_transposed(2, 0, 1)) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, R, TACIT_BOX_ALL, got));
        for (int e = 0; e < MOST; e++) {
            REQUIRE(got[e % COLS * PLANES * ROWS + e / COLS / ROWS * ROWS + e / COLS % ROWS] == cube[e]);
        }
    }
}

/* ---- neighbours on a torus */

typedef struct torus {
    int size[3], halo[3];
} torus;

/* A weighted sum of all neighbours, each of which counts as often as the halo goes around to it. */
static int neighbours(const torus *t, const int at[3], const void *from,
                      int (*get)(const void *from, int i, int j, int l))
{
    unsigned sum = 0;
    int d[3];
    for (d[0] = -t->halo[0]; d[0] <= t->halo[0]; d[0]++) {
        for (d[1] = -t->halo[1]; d[1] <= t->halo[1]; d[1]++) {
            for (d[2] = -t->halo[2]; d[2] <= t->halo[2]; d[2]++) {
                int x[3];
                for (int k = 0; k < 3; k++) {
                    x[k] = (at[k] + d[k] + 9 * t->size[k]) % t->size[k];
                }
                sum = 31 * sum + (unsigned)get(from, x[0], x[1], x[2]);
            }
        }
    }
    return (int)(sum >> 1);
}

static int get_view(const void *from, int i, int j, int l)
{
    const tacit_view v = *(const tacit_view *)from;
    if (v.parts) {
        return v.dims == 1   ? TACIT_PART_GET1(int, v, (size_t)i)
               : v.dims == 2 ? TACIT_PART_GET2(int, v, (size_t)i, (size_t)j)
                             : TACIT_PART_GET3(int, v, (size_t)i, (size_t)j, (size_t)l);
    }
    return v.dims == 1   ? TACIT_GET1(int, v, (size_t)i)
           : v.dims == 2 ? TACIT_GET2(int, v, (size_t)i, (size_t)j)
                         : TACIT_GET3(int, v, (size_t)i, (size_t)j, (size_t)l);
}

static int get_array(const void *from, int i, int j, int l)
{
    const struct grid {
        const torus *t;
        const int *a;
    } *g = from;
    return g->a[(i * g->t->size[1] + j) * g->t->size[2] + l];
}

static void around_torus(const tacit_launch *k)
{
    const torus *t = k->args;
    const tacit_view out = k->view[1];
    FOR_I(k) FOR_J(k) FOR_L(k)
    {
        int sum = neighbours(t, (int[]){ (int)i, (int)j, (int)l }, &k->view[0], get_view);
        if (out.dims == 1) {
            TACIT_AT1(int, out, i) = sum;
        } else if (out.dims == 2) {
            TACIT_AT2(int, out, i, j) = sum;
        } else {
            TACIT_AT3(int, out, i, j, l) = sum;
        }
    }
}

/* With TACIT_WRAP, as kernels are meant to. */
static void ring(const tacit_launch *k)
{
    const tacit_view in = k->view[0], out = k->view[1];
    FOR_I(k)
    {
        TACIT_AT1(int, out, i) = TACIT_GET1(int, in, TACIT_WRAP(i - 1, N)) -
                                 3 * TACIT_GET1(int, in, TACIT_WRAP(i + 1, N));
    }
}

static void periodic(tacit_context *ctx, void *user)
{
    static const torus tori[] = { { { N, 1, 1 }, { 1, 0, 0 } },           { { N, 1, 1 }, { 2 * N, 0, 0 } },
                                  { { 3, 1, 1 }, { 2, 0, 0 } },           { { ROWS, COLS, 1 }, { 1, 2, 0 } },
                                  { { ROWS, COLS, 1 }, { 0, 1, 0 } },     { { 2, COLS, 1 }, { 3, 1, 0 } },
                                  { { PLANES, ROWS, COLS }, { 1, 1, 1 } } };
    (void)user;
    int a[MOST], got[MOST];
    count_up(a, MOST);
    for (size_t i = 0; i < 4 * TI_COUNT(tori); i++) {
        const torus t = tori[i / 4];
        const size_t e[3] = { (size_t)t.halo[0], (size_t)t.halo[1], (size_t)t.halo[2] };
        const int dims = t.size[2] > 1 ? 3 : t.size[1] > 1 ? 2 : 1, split = i % 2 ? TACIT_SPLIT_2D : TACIT_SPLIT_1D;
        const tacit_range range = tacit_range_make(dims, (size_t)t.size[0], (size_t)t.size[1], (size_t)t.size[2]);
        tacit_buffer *A = make(ctx, "A", range, sizeof(int), a), *B = make(ctx, "B", range, sizeof(int), NULL);
        for (int turn = 0; turn < 3; turn++) { /* A, B, A, B */
            SUBMIT(ctx, .name = "around", .range = range, KERNEL(around_torus), TACIT_ARGS(t),
                   .hint = { .split = split },
                   .access = { i & 2 ? tacit_in_parts(tacit_read(turn % 2 ? B : A, tacit_periodic(e[0], e[1], e[2])))
                                     : tacit_read(turn % 2 ? B : A, tacit_periodic(e[0], e[1], e[2])),
                               tacit_write(turn % 2 ? A : B, tacit_one_to_one()) });
        }
        REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
        int now[MOST], next[MOST], cells = t.size[0] * t.size[1] * t.size[2];
        memcpy(now, a, sizeof(now));
        for (int turn = 0; turn < 3; turn++) {
            for (int x = 0; x < cells; x++) {
                const struct {
                    const torus *t;
                    const int *a;
                } from = { &t, now };
                int at[3] = { x / t.size[2] / t.size[1], x / t.size[2] % t.size[1], x % t.size[2] };
                next[x] = neighbours(&t, at, &from, get_array);
            }
            memcpy(now, next, sizeof(now));
        }
        REQUIRE(memcmp(got, now, (size_t)cells * sizeof(int)) == 0);
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, B));
    }
    /* Ranges that are a part of the ring, at its begin, its end and inside. */
    static const size_t part[][2] = { { 0, 9 }, { N - 9, 9 }, { 20, 7 }, { 0, 1 }, { N - 1, 1 } };
    tacit_buffer *A = ints(ctx, "A", N, a), *B = ints(ctx, "B", N, a);
    for (size_t i = 0; i < TI_COUNT(part); i++) {
        SUBMIT(ctx, .name = "ring", .range = TACIT_RANGE(part[i][1]), .offset = { part[i][0] }, KERNEL(ring),
               .access = { tacit_read(A, tacit_periodic(1, 0, 0)), tacit_write(B, tacit_one_to_one()) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
        for (size_t x = part[i][0]; x < part[i][0] + part[i][1]; x++) {
            REQUIRE(got[x] == a[(x + N - 1) % N] - 3 * a[(x + 1) % N]);
        }
    }
    /* Without a halo it is one to one, also in writing. */
    SUBMIT(ctx, .name = "same", .range = TACIT_RANGE(N), KERNEL(copy_checked),
           .access = { tacit_read(A, tacit_one_to_one()), tacit_write(B, tacit_periodic(0, 0, 0)) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    REQUIRE(memcmp(got, a, N * sizeof(int)) == 0);
}

static void row_sums(const tacit_launch *k)
{
    FOR_I(k)
    {
        int sum = 0;
        for (size_t j = 0; j < COLS; j++) {
            sum += TACIT_GET2(int, k->view[0], i, j);
        }
        TACIT_AT1(int, k->view[1], i) = sum;
    }
}

static void pair_up(const tacit_launch *k)
{
    FOR_I(k)
    TACIT_AT1(int, k->view[1], i) = TACIT_GET1(int, k->view[0], 2 * i) + 10 * TACIT_GET1(int, k->view[0], 2 * i + 1);
}

static void spread(const tacit_launch *k)
{
    FOR_I(k)
    {
        TACIT_AT1(int, k->view[1], 2 * i) = TACIT_GET1(int, k->view[0], i);
        TACIT_AT1(int, k->view[1], 2 * i + 1) = -TACIT_GET1(int, k->view[0], i);
    }
}

/* Two or three items to an element: they must be in one chunk and in one part. */
static void fold(const tacit_launch *k)
{
    const size_t div = *(const size_t *)k->args;
    FOR_I(k)
    {
        int *to = &TACIT_AT1(int, k->view[1], i / div);
        *to = (i % div ? *to : 0) + TACIT_GET1(int, k->view[0], i);
    }
}

static void fold_columns(const tacit_launch *k)
{
    FOR_I(k) FOR_J(k)
    {
        int *to = &TACIT_AT2(int, k->view[1], i, j / 2);
        *to = (j % 2 ? *to : 0) + TACIT_GET2(int, k->view[0], i, j);
    }
}

static void scales(tacit_context *ctx, void *user)
{
    (void)user;
    const tacit_component full = tacit_full();
    int a[2 * N], got[2 * N], grid[ROWS * COLS];
    count_up(a, 2 * N);
    count_up(grid, ROWS * COLS);
    tacit_buffer *wide = ints(ctx, "wide", 2 * N, a), *narrow = ints(ctx, "narrow", N, NULL),
                 *back = ints(ctx, "back", 2 * N, NULL);
    SUBMIT(ctx, .name = "pairs", .range = TACIT_RANGE(N), KERNEL(pair_up),
           .access = { tacit_read(wide, tacit_components(tacit_dim_scaled(0, 2, 1, 0, 0), full, full)),
                       tacit_write(narrow, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "spread", .range = TACIT_RANGE(N), KERNEL(spread),
           .access = { tacit_read(narrow, tacit_one_to_one()),
                       tacit_write(back, tacit_components(tacit_dim_scaled(0, 2, 1, 0, 0), full, full)) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, back, TACIT_BOX_ALL, got));
    for (int i = 0; i < 2 * N; i++) {
        int pair = a[i / 2 * 2] + 10 * a[i / 2 * 2 + 1];
        REQUIRE(got[i] == (i % 2 ? -pair : pair));
    }
    for (size_t div = 2; div <= 3; div++) {
        SUBMIT(ctx, .name = "fold", .range = TACIT_RANGE(N), KERNEL(fold), TACIT_ARGS(div),
               .hint = { .granularity = { 2 } },
               .access = { tacit_read(wide, tacit_one_to_one()),
                           tacit_write(narrow, tacit_components(tacit_dim_scaled(0, 1, (int)div, 0, 0), full, full)) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, narrow, tacit_box1(0, N / div), got));
        for (size_t i = 0; i < N / div; i++) {
            int sum = 0;
            for (size_t j = 0; j < div; j++) {
                sum += a[div * i + j];
            }
            REQUIRE(got[i] == sum);
        }
    }
    /* A granularity beyond all ranges, raised by two writes. */
    const size_t div = 3, most = (size_t)1 << 46;
    SUBMIT(ctx, .name = "coarse", .range = TACIT_RANGE(30), KERNEL(fold), TACIT_ARGS(div),
           .hint = { .granularity = { most } },
           .access = { tacit_read(wide, tacit_one_to_one()),
                       tacit_write(narrow, tacit_components(tacit_dim_scaled(0, 1, 3, 0, 0), full, full)),
                       tacit_write(back, tacit_components(tacit_dim_scaled(0, 16381, 16369, 0, 0), full, full)) });
    tacit_buffer *G = make(ctx, "G", TACIT_RANGE(ROWS, COLS), sizeof(int), grid), *sums = ints(ctx, "sums", ROWS, NULL);
    tacit_buffer *half = make(ctx, "half", TACIT_RANGE(ROWS, (COLS + 1) / 2), sizeof(int), NULL);
    SUBMIT(
        ctx, .name = "rows", .range = TACIT_RANGE(ROWS), KERNEL(row_sums),
        .access = { tacit_read(G, tacit_components(tacit_dim(0), full, full)), tacit_write(sums, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "columns", .range = TACIT_RANGE(ROWS, COLS), KERNEL(fold_columns),
           .access = { tacit_read(G, tacit_one_to_one()),
                       tacit_write(half, tacit_components(tacit_dim(0), tacit_dim_scaled(1, 1, 2, 0, 0), full)) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, sums, TACIT_BOX_ALL, got));
    for (int i = 0; i < ROWS; i++) {
        REQUIRE(got[i] == 3 * (COLS * COLS * i + COLS * (COLS - 1) / 2) + COLS);
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, half, TACIT_BOX_ALL, got));
    for (int e = 0; e < ROWS * ((COLS + 1) / 2); e++) {
        int i = e / ((COLS + 1) / 2), j = 2 * (e % ((COLS + 1) / 2));
        REQUIRE(got[e] == grid[i * COLS + j] + (j + 1 < COLS ? grid[i * COLS + j + 1] : 0));
    }
}

/* ---- what is cut at the border: two grids, and shifts */

enum { COARSE = 26, FINE = 2 * COARSE + 1 }; /* coarse point j lies on fine point 2j + 1 */

static void restrict_grid(const tacit_launch *k)
{
    const tacit_view in = k->view[0];
    FOR_I(k)
    {
        TACIT_AT1(int, k->view[1], i) = TACIT_GET1(int, in, 2 * i) + 2 * TACIT_GET1(int, in, 2 * i + 1) +
                                        TACIT_GET1(int, in, 2 * i + 2);
    }
}

static void prolong_grid(const tacit_launch *k)
{
    const tacit_view in = k->view[0];
    FOR_I(k)
    {
        size_t left = i % 2 ? i / 2 : i / 2 - 1;
        int sum = i > 0 ? TACIT_GET1(int, in, left) : 0;
        sum += i / 2 < COARSE ? 5 * TACIT_GET1(int, in, i / 2) : 0;
        TACIT_AT1(int, k->view[1], i) += sum;
    }
}

static void inject_grid(const tacit_launch *k)
{
    FOR_I(k)
    {
        TACIT_AT1(int, k->view[1], 2 * i + 1) = TACIT_GET1(int, k->view[0], i);
        TACIT_AT1(int, k->view[1], 2 * i + 2) = (int)i;
    }
}

/* Item i and its element i - by; there may be none for the call, or for some of its items. */
static void shift_by(const tacit_launch *k)
{
    const long long by = *(const long long *)k->args;
    const tacit_view own = k->view[0], far = k->view[1];
    FOR_I(k)
    {
        long long at = (long long)i - by;
        if (at < 0 || at >= N) {
            continue;
        }
        REQUIRE(far.data && (size_t)at >= far.box.min[0] && (size_t)at < far.box.max[0]);
        if (far.mode == TACIT_READ) {
            TACIT_AT1(int, own, i) = TACIT_GET1(int, far, (size_t)at);
        } else {
            TACIT_AT1(int, far, (size_t)at) = TACIT_GET1(int, own, i);
        }
    }
}

static void shifts(tacit_context *ctx, const int *a)
{
    static const long long by[] = { 1, -1, 4, -20, N - 1, 1 - N, N + 30 };
    int zeros[N] = { 0 }, got[N], back[N];
    for (size_t s = 0; s < TI_COUNT(by); s++) {
        tacit_buffer *A = ints(ctx, "A", N, a), *B = ints(ctx, "B", N, zeros), *C = ints(ctx, "C", N, zeros);
        const tacit_mapper m = tacit_components(tacit_dim_scaled(0, 1, 1, by[s], -by[s]), tacit_full(), tacit_full());
        SUBMIT(ctx, .name = "scatter", .range = TACIT_RANGE(N), KERNEL(shift_by), TACIT_ARGS(by[s]),
               .access = { tacit_read(A, tacit_one_to_one()), tacit_write(B, m) });
        SUBMIT(ctx, .name = "gather", .range = TACIT_RANGE(N), KERNEL(shift_by), TACIT_ARGS(by[s]),
               .access = { tacit_update(C, tacit_one_to_one()), tacit_read(A, m) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
        REQUIRE_OK(ctx, tacit_fence_read(ctx, C, TACIT_BOX_ALL, back));
        for (long long i = 0; i < N; i++) {
            REQUIRE(got[i] == (i + by[s] >= 0 && i + by[s] < N ? a[i + by[s]] : 0));
            REQUIRE(back[i] == (i - by[s] >= 0 && i - by[s] < N ? a[i - by[s]] : 0));
        }
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, B));
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, C));
    }
}

static void borders(tacit_context *ctx, void *user)
{
    const tacit_component full = tacit_full();
    int a[FINE], fine[FINE], coarse[COARSE];
    (void)user;
    count_up(a, FINE);
    tacit_buffer *F = ints(ctx, "fine", FINE, a), *C = ints(ctx, "coarse", COARSE, NULL);
    SUBMIT(ctx, .name = "restrict", .range = TACIT_RANGE(COARSE), KERNEL(restrict_grid),
           .access = { tacit_read(F, tacit_components(tacit_dim_scaled(0, 2, 1, 0, 1), full, full)),
                       tacit_write(C, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "prolong", .range = TACIT_RANGE(FINE), KERNEL(prolong_grid),
           .access = { tacit_read(C, tacit_components(tacit_dim_scaled(0, 1, 2, 1, 0), full, full)),
                       tacit_update(F, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, C, TACIT_BOX_ALL, coarse));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, F, TACIT_BOX_ALL, fine));
    for (int i = 0; i < FINE; i++) {
        REQUIRE(i >= COARSE || coarse[i] == a[2 * i] + 2 * a[2 * i + 1] + a[2 * i + 2]);
        int left = i % 2 ? i / 2 : i / 2 - 1;
        REQUIRE(fine[i] == a[i] + (left >= 0 ? coarse[left] : 0) + (i / 2 < COARSE ? 5 * coarse[i / 2] : 0));
    }
    SUBMIT(ctx, .name = "inject", .range = TACIT_RANGE(COARSE), KERNEL(inject_grid),
           .access = { tacit_read(C, tacit_one_to_one()),
                       tacit_write(F, tacit_components(tacit_dim_scaled(0, 2, 1, -1, 1), full, full)) });
    int before = fine[0];
    REQUIRE_OK(ctx, tacit_fence_read(ctx, F, TACIT_BOX_ALL, fine));
    REQUIRE(fine[0] == before);
    for (int i = 0; i < COARSE; i++) {
        REQUIRE(fine[2 * i + 1] == coarse[i] && fine[2 * i + 2] == i);
    }
    shifts(ctx, a);
}

/* One chunk has one row only, or one element for all: its columns must not be summed by several workers at once. */
static void add_columns(const tacit_launch *k)
{
    FOR_I(k) FOR_J(k) TACIT_AT1(int, k->view[0], i) += (int)j;
}

static void add_anywhere(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT1(int, k->view[0], (7 * i) % N) += (int)i;
}

static void prefix_sums(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT1(int, k->view[1], i) = (i ? TACIT_GET1(int, k->view[0], i - 1) : 0) + 1;
}

static void parts_that_meet(tacit_context *ctx, void *user)
{
    (void)user;
    enum { LONG = 5000 };
    int zeros[N] = { 0 }, got[N];
    for (size_t rows = 1; rows <= 4; rows++) {
        tacit_buffer *sums = ints(ctx, "sums", rows, zeros);
        SUBMIT(ctx, .name = "columns", .range = TACIT_RANGE(rows, LONG), KERNEL(add_columns),
               .access = { tacit_update(sums, tacit_components(tacit_dim(0), tacit_full(), tacit_full())) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, sums, TACIT_BOX_ALL, got));
        for (size_t i = 0; i < rows; i++) {
            REQUIRE(got[i] == LONG * (LONG - 1) / 2);
        }
    }
    tacit_buffer *A = ints(ctx, "A", N, zeros);
    SUBMIT(ctx, .name = "anywhere", .range = TACIT_RANGE(N), KERNEL(add_anywhere), .place = tacit_place_node(0),
           .access = { tacit_update(A, tacit_all()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got));
    for (int i = 0; i < N; i++) {
        REQUIRE(got[(7 * i) % N] == i);
    }
    tacit_buffer *B = ints(ctx, "B", N, zeros);
    SUBMIT(ctx, .name = "prefix", .range = TACIT_RANGE(N), KERNEL(prefix_sums),
           .place = tacit_place_node(tacit_num_nodes(ctx) - 1),
           .access = { tacit_read(B, tacit_all()), tacit_write(B, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    for (int i = 0; i < N; i++) {
        REQUIRE(got[i] == i + 1);
    }
}

static void tabulate(const tacit_launch *k)
{
    for (size_t i = 0; i < N; i++) {
        TACIT_AT1(int, k->view[0], i) = (int)(i * i);
    }
}

/* What every node computes alike needs no messages to be read. */
static void replicated_writes(tacit_context *ctx, void *user)
{
    (void)user;
    int got[N];
    tacit_counters before, after;
    tacit_buffer *table = ints(ctx, "table", N, NULL), *B = ints(ctx, "B", N, NULL);
    size_t items = (size_t)tacit_num_nodes(ctx);
    SUBMIT(ctx, .name = "table", .range = TACIT_RANGE(items), KERNEL(tabulate),
           .access = { tacit_write(table, tacit_replicated()) });
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &before));
    SUBMIT(ctx, .name = "look up", .range = TACIT_RANGE(N), KERNEL(look_up),
           .access = { tacit_read(table, tacit_all()), tacit_write(B, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &after));
    REQUIRE(after.messages_received == before.messages_received && after.messages_sent == before.messages_sent);
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    for (int i = 0; i < N; i++) {
        REQUIRE(got[i] == (N - 1 - i) * (N - 1 - i));
    }
    /* Fewer items than nodes: some nodes do not compute it, and get it from others. */
    SUBMIT(ctx, .name = "table", .range = TACIT_RANGE(2), KERNEL(tabulate),
           .access = { tacit_write(B, tacit_replicated()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    REQUIRE(got[N - 1] == (N - 1) * (N - 1));
}

/* ---------------------------------------------------------------- custom mappers */

typedef struct stride {
    size_t step;
} stride;

/* Item i touches element i and every step-th one. */
static void strided(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const stride *s = user;
    REQUIRE(range->dims == 1 && range->size[0] == N);
    tacit_region_add(out, tacit_box1(chunk->min[0], chunk->max[0]));
    for (size_t i = 0; i < N; i += s->step) {
        tacit_region_add(out, tacit_box1(i, i + 1));
    }
    tacit_region_add(out, tacit_box1(5, 5));                   /* empty: adds nothing */
    tacit_region_add(out, tacit_box1(N - 1, SIZE_MAX));        /* clamped */
    tacit_region_add(out, tacit_box1(SIZE_MAX - 5, SIZE_MAX)); /* outside: adds nothing */
}

static void mirrored(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)user;
    tacit_region_add(out, tacit_box1(range->size[0] - chunk->max[0], range->size[0] - chunk->min[0]));
}

static void ends(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)chunk;
    (void)user;
    tacit_region_add(out, tacit_box1(0, 1));
    tacit_region_add(out, tacit_box1(range->size[0] - 1, range->size[0]));
}

static void nowhere(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)chunk;
    (void)range;
    (void)user;
    (void)out;
}

static void use_custom(const tacit_launch *k)
{
    const size_t step = *(const size_t *)k->args;
    int sum = 0;
    for (size_t i = 0; i < N; i += step) {
        sum += TACIT_GET1(int, k->view[0], i);
    }
    sum += TACIT_GET1(int, k->view[0], N - 1);
    const int both = TACIT_GET1(int, k->view[2], 0) - TACIT_GET1(int, k->view[2], N - 1);
    REQUIRE(k->view[3].data == NULL && k->view[3].box.min[0] == k->view[3].box.max[0]);
    FOR_I(k) TACIT_AT1(int, k->view[1], N - 1 - i) = sum + TACIT_GET1(int, k->view[0], i) + both;
}

static void custom_mappers(tacit_context *ctx, void *user)
{
    (void)user;
    int a[N], got[N], handle[5];
    count_up(a, N);
    tacit_buffer *A = ints(ctx, "A", N, a), *B = ints(ctx, "B", N, NULL);
    stride s = { 7 };
    const size_t steps[2] = { 7, 10 };
    REQUIRE_OK(ctx, tacit_mapper_create(ctx, strided, &s, sizeof(s), 0, &handle[0]));
    s.step = 10; /* the bytes were copied */
    REQUIRE_OK(ctx, tacit_mapper_create(ctx, strided, &s, sizeof(s), 0, &handle[1]));
    REQUIRE_OK(ctx, tacit_mapper_create(ctx, mirrored, NULL, 0, 0, &handle[2]));
    REQUIRE_OK(ctx, tacit_mapper_create(ctx, ends, NULL, 0, TACIT_MAPPER_CONSTANT, &handle[3]));
    REQUIRE_OK(ctx, tacit_mapper_create(ctx, nowhere, NULL, 0, TACIT_MAPPER_CONSTANT, &handle[4]));
    s.step = 1;
    for (int round = 0; round < 4; round++) {
        const size_t step = steps[round % 2];
        SUBMIT(ctx, .name = "custom", .range = TACIT_RANGE(N), KERNEL(use_custom), TACIT_ARGS(step),
               .hint = { .oversubscribe = round },
               .access = { tacit_read(A, tacit_custom(handle[round % 2])), tacit_write(B, tacit_custom(handle[2])),
                           tacit_read(A, tacit_custom(handle[3])), tacit_read(A, tacit_custom(handle[4])) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
        int sum = a[N - 1];
        for (size_t i = 0; i < N; i += step) {
            sum += a[i];
        }
        for (int i = 0; i < N; i++) {
            REQUIRE(got[N - 1 - i] == sum + a[i] + a[0] - a[N - 1]);
        }
        memcpy(a, got, sizeof(a));
        tacit_buffer *swap = A;
        A = B;
        B = swap;
    }
}

/* How often a mapper is called, by any node: `calls` is counted where the user's bytes point. */
typedef struct counted {
    _Atomic int *calls;
} counted;

static void one_below(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    ++*((const counted *)user)->calls;
    tacit_region_add(out, tacit_box1(chunk->min[0] ? chunk->min[0] - 1 : 0, chunk->max[0] + 1));
    (void)range;
}

static void sum_neighbours(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT1(int, k->view[1], i) = TACIT_GET1(int, k->view[0], i ? i - 1 : 0);
}

/* Once per chunk: also where tasks differ in name, kernel arguments, priority, and what else they touch. */
static void asked_once(tacit_context *ctx, void *user)
{
    (void)user;
    char names[40][16];
    _Atomic int calls = 0;
    int a[N], handle, after_first = 0;
    count_up(a, N);
    const counted count = { &calls };
    tacit_buffer *A = ints(ctx, "A", N, a), *B = ints(ctx, "B", N, NULL), *C = ints(ctx, "C", N, NULL);
    REQUIRE_OK(ctx, tacit_mapper_create(ctx, one_below, &count, sizeof(count), 0, &handle));
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof(names[i]), "t%d", i);
        SUBMIT(ctx, .name = names[i], .range = TACIT_RANGE(N), KERNEL(sum_neighbours), TACIT_ARGS(i),
               .hint = { .priority = i % 7 },
               .access = { tacit_read(A, tacit_custom(handle)), tacit_write(i % 2 ? B : C, tacit_one_to_one()) });
        if (i < 2) {
            REQUIRE_OK(ctx, tacit_wait(ctx));
            after_first = calls;
        }
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
    enum { DEVICES = 4 }; /* of a node, at most: each has a part of its chunk */
    REQUIRE(calls == after_first && calls <= 1 + tacit_num_nodes(ctx) + DEVICES);
    int got[N];
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    for (int i = 0; i < N; i++) {
        REQUIRE(got[i] == a[i ? i - 1 : 0]);
    }
}

/* ---------------------------------------------------------------- reductions */

/* Each item contributes its index + 1, as the operator's type. The product is over the first few only. */
/* clang-format off */
#define EACH_TYPE(X)                                                                                                   \
    X(TACIT_INT8, int8_t)                                                                                              \
    X(TACIT_INT16, int16_t)                                                                                            \
    X(TACIT_INT32, int32_t)                                                                                            \
    X(TACIT_INT64, int64_t) X(TACIT_UINT8, uint8_t) X(TACIT_UINT16, uint16_t) X(TACIT_UINT32, uint32_t)                \
        X(TACIT_UINT64, uint64_t) X(TACIT_FLOAT, float) X(TACIT_DOUBLE, double)
/* clang-format on */

static int64_t contribution(int op, size_t i)
{
    switch (op) {
    case TACIT_OP_PRODUCT:
        return i == 3 || i == N - 1 ? 5 : 1;
    case TACIT_OP_MIN:
        return (int64_t)((i + 17) % N) + 2;
    case TACIT_OP_MAX:
        return (int64_t)((i + 17) % N);
    case TACIT_OP_AND:
        return 0x7e ^ (i == 9) << 3 ^ (i == N - 2) << 4;
    case TACIT_OP_OR:
    case TACIT_OP_XOR:
        return (int64_t)(i == 4) << 2 | (int64_t)(i == N - 5) << 5 | (int64_t)(i == 40) << 5;
    default:
        return i % 3 == 0;
    }
}

static int64_t expected_reduction(int op)
{
    int64_t value = contribution(op, 0);
    for (size_t i = 1; i < N; i++) {
        int64_t c = contribution(op, i);
        switch (op) {
        case TACIT_OP_SUM:
            value += c;
            break;
        case TACIT_OP_PRODUCT:
            value *= c;
            break;
        case TACIT_OP_MIN:
            value = TI_MIN(value, c);
            break;
        case TACIT_OP_MAX:
            value = TI_MAX(value, c);
            break;
        case TACIT_OP_AND:
            value &= c;
            break;
        case TACIT_OP_OR:
            value |= c;
            break;
        case TACIT_OP_XOR:
            value ^= c;
            break;
        default:
            REQUIRE(false);
        }
    }
    return value;
}

static int64_t combine_values(int op, int64_t a, int64_t b)
{
    switch (op) {
    case TACIT_OP_SUM:
        return a + b;
    case TACIT_OP_PRODUCT:
        return a * b;
    case TACIT_OP_MIN:
        return TI_MIN(a, b);
    case TACIT_OP_MAX:
        return TI_MAX(a, b);
    case TACIT_OP_AND:
        return a & b;
    case TACIT_OP_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void reduce_any(const tacit_launch *k)
{
    const tacit_op *op = k->args;
    REQUIRE(k->view[0].mode == TACIT_REDUCE && k->view[0].box.max[0] == 1);
    FOR_I(k)
    {
        int64_t c = contribution(op->kind, i);
        switch (op->type) {
#define BITS(TYPE, ctype)                                                                                              \
    case TYPE: {                                                                                                       \
        ctype *v = &TACIT_AT0(ctype, k->view[0]);                                                                      \
        if (op->kind >= TACIT_OP_AND) {                                                                                \
            *v = (ctype)combine_values(op->kind, (int64_t)*v, c);                                                      \
        } else if (op->kind == TACIT_OP_SUM) {                                                                         \
            *v = (ctype)(*v + (ctype)c);                                                                               \
        } else if (op->kind == TACIT_OP_PRODUCT) {                                                                     \
            *v = (ctype)(*v * (ctype)c);                                                                               \
        } else if (op->kind == TACIT_OP_MIN ? (ctype)c < *v : (ctype)c > *v) {                                         \
            *v = (ctype)c;                                                                                             \
        }                                                                                                              \
        break;                                                                                                         \
    }
            EACH_TYPE(BITS)
        default:
            REQUIRE(false);
        }
    }
}

static void reductions(tacit_context *ctx, void *user)
{
    (void)user;
    for (int type = TACIT_INT8; type <= TACIT_DOUBLE; type++) {
        for (int op = TACIT_OP_SUM; op <= TACIT_OP_XOR; op++) {
            if (type >= TACIT_FLOAT && op >= TACIT_OP_AND) {
                continue;
            }
            size_t size = 0;
            const tacit_op reduction = tacit_op_make(op, (tacit_type)type);
            union {
                int8_t i8;
                int16_t i16;
                int32_t i32;
                int64_t i64;
                uint8_t u8;
                uint16_t u16;
                uint32_t u32;
                uint64_t u64;
                float f;
                double d;
            } got;
            switch (type) {
#define SIZE(TYPE, ctype)                                                                                              \
    case TYPE:                                                                                                         \
        size = sizeof(ctype);                                                                                          \
        break;
                EACH_TYPE(SIZE)
            }
            tacit_buffer *R = make(ctx, "R", (tacit_range){ .dims = 0 }, size, NULL);
            for (int again = 0; again < 2; again++) { /* the old value is no part of it */
                SUBMIT(ctx, .name = "reduce", .range = TACIT_RANGE(N), KERNEL(reduce_any), TACIT_ARGS(reduction),
                       .access = { tacit_reduce(R, reduction) });
            }
            REQUIRE_OK(ctx, tacit_fence_read(ctx, R, TACIT_BOX_ALL, &got));
            int64_t value = 0;
            switch (type) {
            case TACIT_INT8:
                value = got.i8;
                break;
            case TACIT_INT16:
                value = got.i16;
                break;
            case TACIT_INT32:
                value = got.i32;
                break;
            case TACIT_INT64:
                value = got.i64;
                break;
            case TACIT_UINT8:
                value = got.u8;
                break;
            case TACIT_UINT16:
                value = got.u16;
                break;
            case TACIT_UINT32:
                value = got.u32;
                break;
            case TACIT_UINT64:
                value = (int64_t)got.u64;
                break;
            case TACIT_FLOAT:
                value = (int64_t)got.f;
                break;
            case TACIT_DOUBLE:
                value = (int64_t)got.d;
                break;
            }
            REQUIRE(value == expected_reduction(op));
            REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, R));
        }
    }
}

/* Two reductions beside a write, and one of an array of elements. */
static void statistics(const tacit_launch *k)
{
    FOR_I(k)
    {
        int value = TACIT_GET1(int, k->view[0], i);
        TACIT_AT0(int64_t, k->view[1]) += value;
        TACIT_AT0(double, k->view[2]) = TI_MAX(TACIT_AT0(double, k->view[2]), (double)value);
        TACIT_AT1(int, k->view[3], i) = value + 1;
        TACIT_AT1(uint32_t, k->view[4], i % 5) += 1;
    }
}

static void several_reductions(tacit_context *ctx, void *user)
{
    (void)user;
    enum { BINS = 5 };
    int a[N];
    count_up(a, N);
    tacit_buffer *A = ints(ctx, "A", N, a), *B = ints(ctx, "B", N, NULL),
                 *bins = make(ctx, "bins", TACIT_RANGE(BINS), sizeof(uint32_t), NULL);
    tacit_buffer *sum = make(ctx, "sum", (tacit_range){ .dims = 0 }, 8, NULL),
                 *top = make(ctx, "top", (tacit_range){ .dims = 0 }, 8, NULL);
    const size_t sizes[] = { N, 1, 2, 5, N };
    for (size_t round = 0; round < TI_COUNT(sizes); round++) {
        size_t n = sizes[round];
        int64_t total = 0;
        int64_t got_sum;
        double got_top;
        uint32_t got_bins[BINS];
        SUBMIT(ctx, .name = "statistics", .range = TACIT_RANGE(n), KERNEL(statistics),
               .hint = { .oversubscribe = round == 4 ? 3 : 1 },
               .access = { tacit_read(A, tacit_one_to_one()), tacit_reduce(sum, tacit_sum(TACIT_INT64)),
                           tacit_reduce(top, tacit_max(TACIT_DOUBLE)), tacit_write(B, tacit_one_to_one()),
                           tacit_reduce(bins, tacit_sum(TACIT_UINT32)) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, sum, TACIT_BOX_ALL, &got_sum));
        REQUIRE_OK(ctx, tacit_fence_read(ctx, top, TACIT_BOX_ALL, &got_top));
        REQUIRE_OK(ctx, tacit_fence_read(ctx, bins, TACIT_BOX_ALL, got_bins));
        for (size_t i = 0; i < n; i++) {
            total += a[i];
        }
        REQUIRE(got_sum == total && got_top == a[n - 1]);
        for (size_t i = 0; i < BINS; i++) {
            REQUIRE(got_bins[i] == (n + BINS - 1 - i) / BINS);
        }
    }
}

const program programs[] = {
    { "one_dimension", one_dimension, false },
    { "several_dimensions", several_dimensions, false },
    { "periodic", periodic, false },
    { "scales", scales, false },
    { "borders", borders, false },
    { "parts_that_meet", parts_that_meet, false },
    { "replicated_writes", replicated_writes, false },
    { "custom_mappers", custom_mappers, false },
    { "custom mappers are asked once", asked_once, false },
    { "reductions", reductions, false },
    { "several_reductions", several_reductions, false },
};
const size_t program_count = TI_COUNT(programs);

int main(int argc, char **argv)
{
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = { PROGRAM_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
