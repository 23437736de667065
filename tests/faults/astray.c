/* Kernels that touch what their accesses do not declare, for bounds_test.sh: astray KIND, run with
 * TACIT_BOUNDS_CHECK=1.
 *
 * Compiled as programs are for production: optimised, vectorised, without checks in views, and with plain pointers,
 * which no macro could check. Each kernel is right but for one element. `astray --list` prints the kinds, each with a
 * word of what must be said. */
#include "tacit/tacit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        tacit_status status_ = (call);                                                                                 \
        if (status_ != TACIT_OK) {                                                                                     \
            fprintf(stderr, "%s: %s: %s\n", #call, tacit_status_name(status_), tacit_last_error(ctx));                 \
            tacit_finalize(ctx);                                                                                       \
            return EXIT_FAILURE;                                                                                       \
        }                                                                                                              \
    } while (0)

enum { ROWS = 40, COLS = 24, PLANES = 12, MANY = 8400, FEW = 5 };

static tacit_context *ctx;

/* ---- how kernels touch elements: addresses only */

static double *at1(const tacit_view *v, size_t i)
{
    return (double *)v->data + (ptrdiff_t)(i - v->box.min[0]);
}
static double *at2(const tacit_view *v, size_t i, size_t j)
{
    return (double *)(void *)((char *)v->data + (ptrdiff_t)(i - v->box.min[0]) * (ptrdiff_t)v->stride[0]) +
           (ptrdiff_t)(j - v->box.min[1]);
}
static double *at3(const tacit_view *v, size_t i, size_t j, size_t k)
{
    return (double *)(void *)((char *)v->data + (ptrdiff_t)(i - v->box.min[0]) * (ptrdiff_t)v->stride[0] +
                              (ptrdiff_t)(j - v->box.min[1]) * (ptrdiff_t)v->stride[1]) +
           (ptrdiff_t)(k - v->box.min[2]);
}

/* ---- kernels; view 0 is read, view 1 is written */

/* How far the loops of a kernel go astray, below and above, in each dimension: items [min - below, max + above). */
struct slip {
    int below[3], above[3];
    int only_row;    /* in dimension 0 of 2D kernels: -1, or the row in which it happens */
    bool in_writing; /* else in reading */
};

static void copy1(const tacit_launch *k)
{
    const struct slip *s = k->args;
    double *restrict to = at1(&k->view[1], k->chunk.min[0]);
    const double *restrict from = at1(&k->view[0], k->chunk.min[0]);
    ptrdiff_t n = (ptrdiff_t)(k->chunk.max[0] - k->chunk.min[0]);
    if (s->in_writing) {
        for (ptrdiff_t i = -s->below[0]; i < n + s->above[0]; i++) {
            to[i] = 1.0;
        }
        return;
    }
    /* A sum over neighbours, as in a stencil, that reads too far. */
    for (ptrdiff_t i = 0; i < n; i++) {
        to[i] = from[i - s->below[0]] + from[i + s->above[0]];
    }
}

static void copy2(const tacit_launch *k)
{
    const struct slip *s = k->args;
    size_t wide = k->chunk.max[1] - k->chunk.min[1];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        bool here = s->only_row < 0 || (size_t)s->only_row == i;
        ptrdiff_t b0 = here ? s->below[0] : 0, a0 = here ? s->above[0] : 0, b1 = here ? s->below[1] : 0,
                  a1 = here ? s->above[1] : 0;
        double *restrict to = at2(&k->view[1], i, k->chunk.min[1]);
        const double *restrict up = at2(&k->view[0], i - (size_t)b0, k->chunk.min[1]);
        const double *restrict down = at2(&k->view[0], i + (size_t)a0, k->chunk.min[1]);
        for (ptrdiff_t j = 0; j < (ptrdiff_t)wide; j++) {
            to[j] = s->in_writing ? 1.0 : up[j] + down[j] + up[j - b1] + down[j + a1];
        }
        if (s->in_writing && here) {
            at2(&k->view[1], i - (size_t)b0, k->chunk.min[1])[-b1] = 1.0;
            at2(&k->view[1], i + (size_t)a0, k->chunk.max[1] - 1)[a1] = 1.0;
        }
    }
}

static void copy3(const tacit_launch *k)
{
    const struct slip *s = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++) {
            for (size_t l = k->chunk.min[2]; l < k->chunk.max[2]; l++) {
                size_t lo[3] = { i - (size_t)s->below[0], j - (size_t)s->below[1], l - (size_t)s->below[2] };
                size_t hi[3] = { i + (size_t)s->above[0], j + (size_t)s->above[1], l + (size_t)s->above[2] };
                if (s->in_writing) {
                    *at3(&k->view[1], i, j, l) = *at3(&k->view[1], lo[0], lo[1], lo[2]) = *at3(&k->view[1], hi[0],
                                                                                               hi[1], hi[2]) = 1.0;
                } else {
                    *at3(&k->view[1], i, j, l) = *at3(&k->view[0], lo[0], lo[1], lo[2]) +
                                                 *at3(&k->view[0], hi[0], hi[1], hi[2]);
                }
            }
        }
    }
}

/* Reads a corner, which a star does not declare. */
static void corner(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++) {
            *at2(&k->view[1], i, j) = *at2(&k->view[0], i, j - 1) + *at2(&k->view[0], i - 1, j - 1);
        }
    }
}

/* The same from the part of the ring where item 0 is. */
static void ring_in_parts(const tacit_launch *k)
{
    const struct slip *slip = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        const size_t below = TACIT_WRAP(i - 1, ROWS * COLS);
        const tacit_view *own = tacit_part_of(&k->view[0], i, 0, 0), *part = tacit_part_of(&k->view[0], below, 0, 0);
        *at1(&k->view[1], i) = *at1(part, below) + (i == 0 && slip->above[0] ? *at1(own, 20) : 0.0);
    }
}

/* Reads between the two ends of a ring, which its view spans. */
static void ring(const tacit_launch *k)
{
    const struct slip *slip = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        const size_t below = TACIT_WRAP(i - 1, ROWS * COLS);
        *at1(&k->view[1], i) = *at1(&k->view[0], below) + (i == 0 && slip->above[0] ? *at1(&k->view[0], 20) : 0.0);
    }
}

/* Reads one column too many in one row of very many, for which there are no guards. */
static void deep_in_many(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++) {
            *at2(&k->view[1], i, j) = *at2(&k->view[0], i, j + (i == MANY / 3 && j + 1 == k->chunk.max[1]));
        }
    }
}
static void write_deep_in_many(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++) {
            *at2(&k->view[1], i, j) = *at2(&k->view[1], i, j + (i == MANY / 3 && j + 1 == k->chunk.max[1])) = 3.0;
        }
    }
}

/* Even if it changes nothing. */
static void write_to_read_only(const tacit_launch *k)
{
    volatile double *element = at2(&k->view[0], k->chunk.min[0], 5);
    copy2(k);
    *element = *element;
}
static void leave_out(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = 0; j < COLS; j++) {
            if (i != 7 || j != 3) {
                *at2(&k->view[1], i, j) = 2.0;
            }
        }
    }
}
static void add_to_old(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = 0; j < COLS; j++) {
            *at2(&k->view[1], i, j) = i == 7 && j == 3 ? *at2(&k->view[1], i, j) + 1.0 : 1.0;
        }
    }
}
static void beside_reduction(const tacit_launch *k)
{
    *at1(&k->view[1], 0) += 1.0;
    at1(&k->view[1], 0)[1] += 1.0;
}
/* Only every second element is declared; the ones between are holes. */
static void between(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        *at1(&k->view[1], i) = *at1(&k->view[0], 2 * i + (i == 9));
    }
}
static void every_second(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)user;
    for (size_t i = chunk->min[0]; i < chunk->max[0]; i++) {
        if (2 * i < range->size[0]) {
            tacit_region_add(out, tacit_box1(2 * i, 2 * i + 1));
        }
    }
}

/* Names for few items what it does not name for many. */
static void fickle(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)user;
    bool all = chunk->max[0] - chunk->min[0] == range->size[0];
    tacit_region_add(out, all ? tacit_box1(10, range->size[0] - 10) : tacit_box1(chunk->min[0], chunk->max[0]));
}

/* Points of three components, packed: as a whole, one too many. */
static void components(const tacit_launch *k)
{
    const struct slip *s = k->args;
    size_t points = k->chunk.max[0] - k->chunk.min[0];
    memcpy(at2(&k->view[1], k->chunk.min[0], 0), at2(&k->view[0], k->chunk.min[0], 0),
           3 * (points + (size_t)s->above[0]) * sizeof(double));
}

/* Reads through one access what it has written through the other. */
static void seidel(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0] + 1; i < k->chunk.max[0]; i++) {
        *at1(&k->view[1], i) = *at1(&k->view[0], i - 1) + 1.0;
    }
}

/* Another number each time. */
static void unsteady(const tacit_launch *k)
{
    static _Atomic int calls;
    copy1(k);
    *at1(&k->view[1], k->chunk.min[0]) = ++calls;
}

static void *read_one(void *at)
{
    return *(volatile double *)at > 0.0 ? at : NULL;
}
/* A thread of the kernel's own goes astray. */
static void other_thread(const tacit_launch *k)
{
    pthread_t thread;
    copy1(k);
    if (pthread_create(&thread, NULL, read_one, at1(&k->view[0], k->chunk.max[0])) == 0) {
        pthread_join(thread, NULL);
    }
}
static void crash(const tacit_launch *k)
{
    copy1(k);
    *(volatile int *)(uintptr_t)(k->chunk.min[0] + 8) = 1;
}

/* ---- programs */

enum shape { LINE, GRID, SPACE, TALL, STAR, RING, RING_IN_PARTS, REDUCTION, HOLES, FICKLE, POINTS, SHARED };

struct kind {
    const char *name, *says; /* a basic regular expression, from behind "on node N" */
    enum shape shape;
    tacit_host_kernel *kernel;
    struct slip slip;
    tacit_on on;
};

#define SLIP(...)                                                                                                      \
    {                                                                                                                  \
        .only_row = -1, __VA_ARGS__                                                                                    \
    }

static const struct kind kinds[] = {
    { "read_below_1d", "reads U\\[[0-9-]*\\], outside of its access 0 (tacit_read", LINE, copy1, SLIP(.below = { 1 }),
      0 },
    { "read_above_1d", "reads U\\[[0-9]*\\], outside of its access 0 (tacit_read", LINE, copy1, SLIP(.above = { 1 }),
      0 },
    { "write_below_1d", "writes V\\[[0-9-]*\\], outside of its access 1 (tacit_write", LINE, copy1,
      SLIP(.below = { 1 }, .in_writing = true), 0 },
    { "write_above_1d", "writes V\\[[0-9]*\\], outside of its access 1 (tacit_write", LINE, copy1,
      SLIP(.above = { 1 }, .in_writing = true), 0 },
    { "read_below_rows", "reads U\\[[0-9-]*,[0-9]*\\], outside of its access [01]", GRID, copy2, SLIP(.below = { 1 }),
      0 },
    { "read_above_rows", "reads U\\[[0-9]*,[0-9]*\\], outside of its access [01]", GRID, copy2, SLIP(.above = { 1 }),
      0 },
    { "write_below_rows", "writes V\\[[0-9-]*,0\\], outside of its access [01]", GRID, copy2,
      SLIP(.below = { 1 }, .in_writing = true), 0 },
    { "write_above_rows", "writes V\\[[0-9]*,23\\], outside of its access [01]", GRID, copy2,
      SLIP(.above = { 1 }, .in_writing = true), 0 },
    { "read_below_columns_first",
      "reads U\\[0,-1\\], outside of its access [01]",
      GRID,
      copy2,
      { .below = { 0, 1 }, .only_row = 0 },
      0 },
    { "read_below_columns_middle",
      "reads U\\[17,-1\\], outside of its access [01]",
      GRID,
      copy2,
      { .below = { 0, 1 }, .only_row = 17 },
      0 },
    { "read_below_columns_last",
      "reads U\\[39,-1\\], outside of its access [01]",
      GRID,
      copy2,
      { .below = { 0, 1 }, .only_row = 39 },
      0 },
    { "read_above_columns_first",
      "reads U\\[0,24\\], outside of its access [01]",
      GRID,
      copy2,
      { .above = { 0, 1 }, .only_row = 0 },
      0 },
    { "read_above_columns_middle",
      "reads U\\[17,24\\], outside of its access [01]",
      GRID,
      copy2,
      { .above = { 0, 1 }, .only_row = 17 },
      0 },
    { "read_above_columns_last",
      "reads U\\[39,24\\], outside of its access [01]",
      GRID,
      copy2,
      { .above = { 0, 1 }, .only_row = 39 },
      0 },
    { "write_below_columns_first",
      "writes V\\[0,-1\\], outside of its access [01]",
      GRID,
      copy2,
      { .below = { 0, 1 }, .only_row = 0, .in_writing = true },
      0 },
    { "write_below_columns_middle",
      "writes V\\[17,-1\\], outside of its access [01]",
      GRID,
      copy2,
      { .below = { 0, 1 }, .only_row = 17, .in_writing = true },
      0 },
    { "write_below_columns_last",
      "writes V\\[39,-1\\], outside of its access [01]",
      GRID,
      copy2,
      { .below = { 0, 1 }, .only_row = 39, .in_writing = true },
      0 },
    { "write_above_columns_first",
      "writes V\\[0,24\\], outside of its access [01]",
      GRID,
      copy2,
      { .above = { 0, 1 }, .only_row = 0, .in_writing = true },
      0 },
    { "write_above_columns_middle",
      "writes V\\[17,24\\], outside of its access [01]",
      GRID,
      copy2,
      { .above = { 0, 1 }, .only_row = 17, .in_writing = true },
      0 },
    { "write_above_columns_last",
      "writes V\\[39,24\\], outside of its access [01]",
      GRID,
      copy2,
      { .above = { 0, 1 }, .only_row = 39, .in_writing = true },
      0 },
    { "read_below_planes", "reads U\\[[0-9-]*,0,0\\], outside of its access [01]", SPACE, copy3, SLIP(.below = { 1 }),
      0 },
    { "read_above_planes", "reads U\\[[0-9]*,0,0\\], outside of its access [01]", SPACE, copy3, SLIP(.above = { 1 }),
      0 },
    { "read_below_middle", "reads U\\[[0-9]*,-1,0\\], outside of its access [01]", SPACE, copy3,
      SLIP(.below = { 0, 1 }), 0 },
    { "read_above_middle", "reads U\\[[0-9]*,40,0\\], outside of its access [01]", SPACE, copy3,
      SLIP(.above = { 0, 1 }), 0 },
    { "read_below_inner", "reads U\\[[0-9]*,[0-9]*,-1\\], outside of its access [01]", SPACE, copy3,
      SLIP(.below = { 0, 0, 1 }), 0 },
    { "read_above_inner", "reads U\\[[0-9]*,[0-9]*,24\\], outside of its access [01]", SPACE, copy3,
      SLIP(.above = { 0, 0, 1 }), 0 },
    { "write_below_planes", "writes V\\[[0-9-]*,0,0\\], outside of its access [01]", SPACE, copy3,
      SLIP(.below = { 1 }, .in_writing = true), 0 },
    { "write_above_planes", "writes V\\[[0-9]*,0,0\\], outside of its access [01]", SPACE, copy3,
      SLIP(.above = { 1 }, .in_writing = true), 0 },
    { "write_below_middle", "writes V\\[[0-9]*,-1,0\\], outside of its access [01]", SPACE, copy3,
      SLIP(.below = { 0, 1 }, .in_writing = true), 0 },
    { "write_above_middle", "writes V\\[[0-9]*,40,0\\], outside of its access [01]", SPACE, copy3,
      SLIP(.above = { 0, 1 }, .in_writing = true), 0 },
    { "write_below_inner", "writes V\\[[0-9]*,[0-9]*,-1\\], outside of its access [01]", SPACE, copy3,
      SLIP(.below = { 0, 0, 1 }, .in_writing = true), 0 },
    { "write_above_inner", "writes V\\[[0-9]*,[0-9]*,24\\], outside of its access [01]", SPACE, copy3,
      SLIP(.above = { 0, 0, 1 }, .in_writing = true), 0 },
    { "write_to_read_only", "writes U\\[[0-9]*,5\\], which is only read by its access 0 (tacit_read, .*tacit_update",
      GRID, write_to_read_only, SLIP(0), 0 },
    { "corner", "reads U\\[[0-9]*,[0-9]*\\], outside of its access 0 (tacit_read, [23] boxes in .*widen the mapper",
      STAR, corner, SLIP(0), 0 },
    { "ring", "reads U\\[20\\], outside of its access 0 (tacit_read, 2 boxes in", RING, ring, SLIP(.above = { 1 }), 0 },
    { "fine_ring", "", RING, ring, SLIP(0), 0 },
    { "ring_in_parts", "reads U\\[20\\], outside of its access 0 (tacit_read, 2 boxes in", RING_IN_PARTS, ring_in_parts,
      SLIP(.above = { 1 }), 0 },
    { "fine_ring_in_parts", "", RING_IN_PARTS, ring_in_parts, SLIP(0), 0 },
    { "holes", "reads U\\[19\\], outside of its access 0 (tacit_read, [0-9]* boxes in", HOLES, between, SLIP(0), 0 },
    { "not_written", "did not write V\\[7,3\\], which belongs to its access 1 (tacit_write", GRID, leave_out, SLIP(0),
      0 },
    { "old_contents", "reads the old contents of V\\[7,3\\], which are undefined in its access 1 (tacit_write,", GRID,
      add_to_old, SLIP(0), 0 },
    { "beside_reduction", "\\(reads\\|writes\\) V\\[1\\], outside of its access 1 (tacit_reduce, \\[0,1))", REDUCTION,
      beside_reduction, SLIP(0), 0 },
    { "many_rows_read", "reads U\\[2800,5\\], outside of its access [01]", TALL, deep_in_many, SLIP(0), 0 },
    { "many_rows_write", "writes V\\[2800,5\\], outside of its access [01]", TALL, write_deep_in_many, SLIP(0), 0 },
    { "host_read_above", "reads U\\[[0-9]*\\], outside of its access 0", LINE, copy1, SLIP(.above = { 1 }),
      TACIT_ON_HOST },
    { "host_write_below", "writes V\\[[0-9-]*\\], outside of its access 1", LINE, copy1,
      SLIP(.below = { 1 }, .in_writing = true), TACIT_ON_HOST },
    { "host_not_written", "did not write V\\[7,3\\], which belongs to its access 1", GRID, leave_out, SLIP(0),
      TACIT_ON_ONE_NODE },
    { "thread", "in a thread that its kernel has started, reads U\\[[0-9]*\\], outside of its accesses", LINE,
      other_thread, SLIP(0), 0 },
    { "crash", "crashes, at an address outside of its views", LINE, crash, SLIP(0), 0 },
    { "components", "\\(reads\\|writes\\) [UV]\\[[0-9]*,0\\], outside of its access", POINTS, components,
      SLIP(.above = { 1 }), 0 },
    { "unsteady", "writes other bits to V\\[[0-9]*\\] each time that it runs", LINE, unsteady, SLIP(0), 0 },
    { "fickle", "access 0 to buffer 'U': the custom mapper names more for the items", FICKLE, copy1, SLIP(0), 0 },
    { "fine", "", GRID, copy2, SLIP(0), 0 },
    { "fine_components", "", POINTS, components, SLIP(0), 0 },
    { "fine_shared", "", SHARED, seidel, SLIP(0), 0 },
};

static tacit_range range_of(enum shape shape)
{
    switch (shape) {
    case LINE:
    case HOLES:
    case RING:
    case RING_IN_PARTS:
    case FICKLE:
    case SHARED:
        return TACIT_RANGE(ROWS * COLS);
    case REDUCTION:
        return TACIT_RANGE(1);
    case SPACE:
        return TACIT_RANGE(PLANES, ROWS, COLS);
    case TALL:
        return TACIT_RANGE(MANY, FEW);
    case POINTS:
        return TACIT_RANGE(ROWS, 3);
    case GRID:
    case STAR:
        break;
    }
    return TACIT_RANGE(ROWS, COLS);
}

static int run(const struct kind *kind)
{
    tacit_buffer *u, *v;
    tacit_range range = range_of(kind->shape), items = range;
    size_t count = range.size[0] * range.size[1] * range.size[2];
    double *values = malloc(count * sizeof(double));
    int custom = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] = kind->shape == SHARED ? 0.0 : (double)i;
    }
    items = kind->shape == REDUCTION ? TACIT_RANGE(ROWS) : kind->shape == HOLES ? TACIT_RANGE(ROWS * COLS / 2) : range;
    CHECK(tacit_init(&(tacit_config){ .workers = 2, .threads = TACIT_THREADS_ON }, &ctx));
    tacit_buffer_desc desc = { .name = "U", .range = range, .elem_size = sizeof(double), .init = values };
    CHECK(tacit_buffer_create(ctx, &desc, &u));
    desc.name = "V";
    CHECK(tacit_buffer_create(ctx, &desc, &v));
    CHECK(tacit_mapper_create(ctx, kind->shape == FICKLE ? fickle : every_second, NULL, 0, 0, &custom));
    tacit_task task = { .name = kind->name,
                        .range = items,
                        .kernel = { .host = kind->kernel },
                        TACIT_ARGS(kind->slip),
                        .access = { tacit_read(u, tacit_one_to_one()), tacit_write(v, tacit_one_to_one()) },
                        .on = kind->on };
    if (kind->shape == STAR) {
        task.access[0] = tacit_read(u, tacit_star(1, 1, 0));
        task.range = TACIT_RANGE(ROWS - 2, COLS - 2);
        task.offset[0] = task.offset[1] = 1;
    } else if (kind->shape == RING) {
        task.access[0] = tacit_read(u, tacit_periodic(1, 0, 0));
        task.range = TACIT_RANGE(10);
    } else if (kind->shape == RING_IN_PARTS) {
        task.access[0] = tacit_in_parts(tacit_read(u, tacit_periodic(1, 0, 0)));
        task.range = TACIT_RANGE(10);
    } else if (kind->shape == HOLES || kind->shape == FICKLE) {
        task.access[0] = tacit_read(u, tacit_custom(custom));
    } else if (kind->shape == REDUCTION) {
        task.access[0] = tacit_read(u, tacit_all());
        task.access[1] = tacit_reduce(v, tacit_sum(TACIT_DOUBLE));
    }
    if (kind->shape == SHARED) {
        task.access[0] = tacit_read(v, tacit_all());
        task.access[1] = tacit_update(v, tacit_one_to_one());
        task.place = tacit_place_node(0);
    }
    CHECK(tacit_submit(ctx, &task));
    CHECK(tacit_fence_read(ctx, v, TACIT_BOX_ALL, values));
    CHECK(tacit_finalize(ctx));
    for (size_t i = 0; kind->shape == SHARED && i < count; i++) {
        if (values[i] != (double)i) {
            fprintf(stderr, "V[%zu] is %g\n", i, values[i]);
            return EXIT_FAILURE;
        }
    }
    free(values);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (argc == 2 && strcmp(argv[1], "--list") == 0) {
            printf("%s %s\n", kinds[i].name, kinds[i].says);
        } else if (argc == 2 && strcmp(argv[1], kinds[i].name) == 0) {
            return run(&kinds[i]);
        }
    }
    return argc == 2 && strcmp(argv[1], "--list") == 0 ? EXIT_SUCCESS : 2;
}
