/* The programs whose planning is measured: see patterns.h. */
#include "patterns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_PER_NODE = 64, ITEMS_PER_NODE = 16, PLANES = 64, MANY_ROUNDS = 5, MANY_ITEMS = 256, TILE = 8 };

static void must(const pattern_run *run, tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "pattern %s: %s\n", run->pattern->name, tacit_last_error(run->ctx));
        exit(EXIT_FAILURE);
    }
}

static void nothing(const tacit_launch *launch)
{
    (void)launch;
}

static tacit_buffer *create(pattern_run *run, int index, tacit_range range, bool initialised)
{
    static const char contents[1]; /* never looked at */
    static const char *const names[PATTERN_BUFFERS] = { "A", "B", "C", "D" };
    const tacit_buffer_desc desc = {
        .name = names[index], .range = range, .elem_size = 8, .init = initialised ? contents : NULL, .init_borrow = true
    };
    must(run, tacit_buffer_create(run->ctx, &desc, &run->buffer[index]));
    return run->buffer[index];
}

/* Description number `index`, with up to three accesses (mode 0: none). */
static tacit_task *describe(pattern_run *run, int index, const char *name, tacit_range range, int split)
{
    tacit_task *t = &run->task[index];
    *t = (tacit_task){ .name = name, .range = range, .kernel = { .host = nothing }, .hint.split = split };
    return t;
}

/* ---- two buffers in turns: Table 3 */

static tacit_range line(const pattern_run *run)
{
    return tacit_range1(ROWS_PER_NODE * run->nodes);
}

static tacit_range square(const pattern_run *run)
{
    return tacit_range2(ROWS_PER_NODE * run->nodes, ROWS_PER_NODE * run->nodes);
}

/* Every task reads one of two buffers and writes the other. */
static void swap_buffers(pattern_run *run, tacit_range range, tacit_mapper read, int split)
{
    create(run, 0, range, true);
    create(run, 1, range, true);
    for (int i = 0; i < 2; i++) {
        tacit_task *t = describe(run, i, "step", range, split);
        t->access[0] = tacit_read(run->buffer[i], read);
        t->access[1] = tacit_write(run->buffer[1 - i], tacit_one_to_one());
        t->hint.pure = true; /* of interest with TACIT_LATENCY only */
    }
}

static void create_all_gather(pattern_run *run)
{
    swap_buffers(run, line(run), tacit_all(), TACIT_SPLIT_1D);
}

static void create_all_to_all(pattern_run *run)
{
    swap_buffers(run, square(run), tacit_transposed(1, 0, 2), TACIT_SPLIT_1D);
}

static void create_stencil(pattern_run *run)
{
    swap_buffers(run, square(run), tacit_neighborhood(1, 1, 0), TACIT_SPLIT_1D);
}

static void create_stencil_2d(pattern_run *run)
{
    swap_buffers(run, square(run), tacit_neighborhood(1, 1, 0), TACIT_SPLIT_2D);
}

static void create_stencil_periodic(pattern_run *run)
{
    swap_buffers(run, square(run), tacit_periodic(1, 1, 0), TACIT_SPLIT_1D);
}

/* One item reads everything and writes everything; then all nodes take their part of it, or all of it. */
static void gather_then(pattern_run *run, tacit_mapper read)
{
    tacit_range range = line(run);
    create(run, 0, range, true);
    create(run, 1, range, true);
    tacit_task *gather = describe(run, 0, "gather", tacit_range1(1), TACIT_SPLIT_1D);
    gather->access[0] = tacit_read(run->buffer[0], tacit_all());
    gather->access[1] = tacit_write(run->buffer[1], tacit_fixed(TACIT_BOX_ALL));
    tacit_task *spread = describe(run, 1, "spread", range, TACIT_SPLIT_1D);
    spread->access[0] = tacit_read(run->buffer[1], read);
    spread->access[1] = tacit_write(run->buffer[0], tacit_one_to_one());
}

static void create_gather_scatter(pattern_run *run)
{
    gather_then(run, tacit_one_to_one());
}

static void create_gather_broadcast(pattern_run *run)
{
    gather_then(run, tacit_all());
}

/* ---- what only lookahead finds: tasks of one step want the same data in different ways, the best of which comes
 * last */

/* Task 0 makes the contents of A anew, where they lie; the others read A and update a buffer of their own. */
static void make_then_read(pattern_run *run, int readers)
{
    create(run, 0, line(run), true);
    tacit_task *make = describe(run, 0, "make", line(run), TACIT_SPLIT_1D);
    make->access[0] = tacit_update(run->buffer[0], tacit_one_to_one());
    for (int i = 1; i <= readers; i++) {
        create(run, i, line(run), true);
    }
}

static void read_as(pattern_run *run, int task, const char *name, tacit_range range, tacit_mapper read)
{
    tacit_task *t = describe(run, task, name, range, TACIT_SPLIT_1D);
    t->access[0] = tacit_read(run->buffer[0], read);
    t->access[1] = tacit_update(run->buffer[task], tacit_one_to_one());
}

static void create_gather_all(pattern_run *run)
{
    make_then_read(run, 2);
    read_as(run, 1, "look", tacit_range1(1), tacit_all());
    read_as(run, 2, "use", line(run), tacit_all());
}

static void create_stencil_all(pattern_run *run)
{
    make_then_read(run, 2);
    read_as(run, 1, "smooth", line(run), tacit_neighborhood(1, 0, 0));
    read_as(run, 2, "use", line(run), tacit_all());
}

static void create_parts(pattern_run *run)
{
    size_t n = ROWS_PER_NODE * run->nodes;
    make_then_read(run, 2);
    run->task[0].range = tacit_range1(1); /* one node has all of it */
    run->task[0].access[0] = tacit_write(run->buffer[0], tacit_fixed(TACIT_BOX_ALL));
    read_as(run, 1, "use front", line(run), tacit_fixed(tacit_box1(0, n / 2)));
    read_as(run, 2, "use back", line(run), tacit_fixed(tacit_box1(n / 2, n)));
}

static void create_two_all_gathers(pattern_run *run)
{
    tacit_range range = line(run);
    for (int i = 0; i < 4; i++) {
        create(run, i, range, true);
    }
    for (int i = 0; i < 2; i++) {
        describe(run, i, "make", range, TACIT_SPLIT_1D)->access[0] = tacit_update(run->buffer[i], tacit_one_to_one());
        tacit_task *use = describe(run, 2 + i, "use", range, TACIT_SPLIT_1D);
        use->access[0] = tacit_read(run->buffer[i], tacit_all());
        use->access[1] = tacit_update(run->buffer[2 + i], tacit_one_to_one());
    }
}

/* ---- applications */

static void create_nbody(pattern_run *run)
{
    tacit_range range = line(run);
    tacit_buffer *positions = create(run, 0, range, true), *velocities = create(run, 1, range, true);
    tacit_task *kick = describe(run, 0, "kick", range, TACIT_SPLIT_1D);
    kick->access[0] = tacit_read(positions, tacit_all());
    kick->access[1] = tacit_update(velocities, tacit_one_to_one());
    tacit_task *drift = describe(run, 1, "drift", range, TACIT_SPLIT_1D);
    drift->access[0] = tacit_read(velocities, tacit_one_to_one());
    drift->access[1] = tacit_update(positions, tacit_one_to_one());
}

static void create_wave_sim(pattern_run *run)
{
    tacit_range range = square(run);
    create(run, 0, range, true);
    create(run, 1, range, true);
    for (int i = 0; i < 2; i++) {
        tacit_task *t = describe(run, i, "advance", range, TACIT_SPLIT_1D);
        t->access[0] = tacit_read(run->buffer[i], tacit_star(1, 1, 0));
        t->access[1] = tacit_update(run->buffer[1 - i], tacit_one_to_one());
    }
}

/* A residual is reduced in every step, and nobody looks at it. */
static void create_jacobi(pattern_run *run)
{
    tacit_range range = square(run);
    swap_buffers(run, range, tacit_star(1, 1, 0), TACIT_SPLIT_1D);
    create(run, 2, tacit_range1(1), false);
    for (int i = 0; i < 2; i++) {
        run->task[i].access[2] = tacit_reduce(run->buffer[2], tacit_sum(TACIT_DOUBLE));
    }
}

/* C = A B; then C takes the place of A, and the next time that of B: rows and columns travel in turns. */
static void create_matmul(pattern_run *run)
{
    tacit_range range = square(run);
    int at[3] = { 0, 1, 2 };
    for (int i = 0; i < 3; i++) {
        create(run, i, range, true);
    }
    for (int i = 0; i < 6; i++) {
        tacit_task *t = describe(run, i, "multiply", range, TACIT_SPLIT_2D);
        t->access[0] = tacit_read(run->buffer[at[0]], tacit_slice(1));
        t->access[1] = tacit_read(run->buffer[at[1]], tacit_slice(0));
        t->access[2] = tacit_write(run->buffer[at[2]], tacit_one_to_one());
        int product = at[2];
        at[2] = at[i % 2];
        at[i % 2] = product;
    }
}

/* C = A B, of matrices that are made anew each time: one travels in rows of the grid of nodes, the other one in
 * columns. */
static void create_matmul_2d(pattern_run *run)
{
    tacit_range range = square(run);
    for (int i = 0; i < 3; i++) {
        create(run, i, range, true);
    }
    for (int i = 0; i < 2; i++) {
        tacit_task *make = describe(run, i, "make", range, TACIT_SPLIT_2D);
        make->access[0] = tacit_update(run->buffer[i], tacit_one_to_one());
    }
    tacit_task *multiply = describe(run, 2, "multiply", range, TACIT_SPLIT_2D);
    multiply->access[0] = tacit_read(run->buffer[0], tacit_slice(1));
    multiply->access[1] = tacit_read(run->buffer[1], tacit_slice(0));
    multiply->access[2] = tacit_write(run->buffer[2], tacit_one_to_one());
}

/* ---- iteration t reads what all earlier ones wrote, and writes slab t */

static void create_growing(pattern_run *run, int dims)
{
    run->width = ITEMS_PER_NODE * run->nodes;
    size_t t = run->room, w = run->width;
    create(run, 0,
           dims == 1   ? tacit_range1(t * w)
           : dims == 2 ? tacit_range2(t, w)
                       : tacit_range3(t, w, PLANES),
           false);
    describe(run, 0, "append", dims == 3 ? tacit_range2(w, PLANES) : tacit_range1(w), TACIT_SPLIT_1D);
}

static void create_growing_1d(pattern_run *run)
{
    create_growing(run, 1);
}

static void create_growing_2d(pattern_run *run)
{
    create_growing(run, 2);
}

static void create_growing_3d(pattern_run *run)
{
    create_growing(run, 3);
}

static size_t iteration(const pattern_run *run)
{
    if (run->step >= run->room) {
        fprintf(stderr, "pattern %s: there is room for %zu iterations only\n", run->pattern->name, run->room);
        exit(EXIT_FAILURE);
    }
    return (size_t)run->step;
}

static void submit_growing_1d(pattern_run *run)
{
    tacit_task *t = &run->task[0];
    size_t at = iteration(run) * run->width;
    tacit_component own = tacit_dim_scaled(0, 1, 1, -(int64_t)at, (int64_t)at);
    t->access[0] = tacit_write(run->buffer[0], tacit_components(own, tacit_full(), tacit_full()));
    if (at) {
        t->access[1] = tacit_read(run->buffer[0], tacit_fixed(tacit_box1(0, at)));
    }
    must(run, tacit_submit(run->ctx, t));
}

/* Slabs are rows or planes. */
static void submit_growing(pattern_run *run)
{
    tacit_task *t = &run->task[0];
    size_t at = iteration(run);
    t->access[0] = tacit_write(run->buffer[0], tacit_components(tacit_span(at, at + 1), tacit_dim(0), tacit_dim(1)));
    if (at) {
        t->access[1] = tacit_read(run->buffer[0], tacit_components(tacit_span(0, at), tacit_full(), tacit_full()));
    }
    must(run, tacit_submit(run->ctx, t));
}

/* The room-response simulation: also each triangle's row of form factors. */
static void create_rsim(pattern_run *run)
{
    run->width = ITEMS_PER_NODE * run->nodes;
    create(run, 0, tacit_range2(run->room, run->width), false);
    create(run, 1, tacit_range2(run->width, run->width), true);
    describe(run, 0, "radiate", tacit_range1(run->width), TACIT_SPLIT_1D);
}

static void submit_rsim(pattern_run *run)
{
    run->task[0].access[2] = tacit_read(run->buffer[1], tacit_components(tacit_dim(0), tacit_full(), tacit_full()));
    if (run->step == 0) { /* the impulse */
        run->task[0].access[1] = run->task[0].access[2];
        run->task[0].access[2] = (tacit_access){ .mode = 0 };
    }
    submit_growing(run);
}

/* ---- many independent tasks, each with its own part of a buffer, again and again */

static void create_many(pattern_run *run)
{
    size_t items = ITEMS_PER_NODE * run->nodes;
    run->room = run->room / MANY_ROUNDS ? run->room / MANY_ROUNDS : 1;
    run->width = items > MANY_ITEMS ? items : MANY_ITEMS;
    create(run, 0, tacit_range1(run->room * run->width), true);
    describe(run, 0, "own part", tacit_range1(run->width), TACIT_SPLIT_1D);
}

static void submit_many(pattern_run *run)
{
    int64_t at = (int64_t)(run->step % run->room * run->width);
    tacit_component own = tacit_dim_scaled(0, 1, 1, -at, at);
    run->task[0].access[0] = tacit_update(run->buffer[0], tacit_components(own, tacit_full(), tacit_full()));
    must(run, tacit_submit(run->ctx, &run->task[0]));
}

/* ---- tiled Cholesky factorisation: every task on the node that owns the tile it writes, block-cyclic over a grid
 * of nodes */

static void create_cholesky(pattern_run *run)
{
    size_t tiles = 1; /* along a side */
    for (run->grid_p = 1, run->grid_q = run->nodes; run->grid_p * run->grid_p <= run->nodes; run->grid_p++) {
        run->grid_q = run->nodes % run->grid_p == 0 ? run->nodes / run->grid_p : run->grid_q;
    }
    run->grid_p = run->nodes / run->grid_q;
    while (run->tiles ? tiles * (tiles + 1) / 2 < run->tiles : tiles * (tiles + 1) * (tiles + 2) / 6 < run->room) {
        tiles++;
    }
    run->room = tiles > run->grid_q ? tiles : run->grid_q;
    create(run, 0, tacit_range2(run->room * TILE, run->room * TILE), true);
    describe(run, 0, "tile", tacit_range1(1), TACIT_SPLIT_1D);
    run->i = run->j = run->k = 0;
}

static tacit_mapper tile(size_t i, size_t j)
{
    return tacit_fixed(tacit_box2(i * TILE, (i + 1) * TILE, j * TILE, (j + 1) * TILE));
}

/* Column k: its diagonal tile (i = j = k), the tiles below (j = k), and what they change to the right of them (j >
 * k). */
static void advance_cholesky(pattern_run *run)
{
    size_t last = run->room - 1;
    if (run->i < last && run->j == run->k) {
        run->i++;
    } else if (run->k == last) {
        run->i = run->j = run->k = 0;
    } else if (run->j == run->k) {
        run->i = run->j = run->k + 1;
    } else if (run->j < run->i) {
        run->j++;
    } else if (run->i < last) {
        run->i++;
        run->j = run->k + 1;
    } else {
        run->k++;
        run->i = run->j = run->k;
    }
}

static void submit_cholesky(pattern_run *run)
{
    tacit_task *t = &run->task[0];
    size_t i = run->i, j = run->j, k = run->k, reads = 0;
    bool column = j == k;
    t->place = tacit_place_node((int)(i % run->grid_p * run->grid_q + j % run->grid_q));
    t->access[0] = tacit_update(run->buffer[0], tile(i, j));
    if (!(column && i == k)) {
        t->access[++reads] = tacit_read(run->buffer[0], column ? tile(k, k) : tile(i, k));
    }
    if (!column && i != j) {
        t->access[++reads] = tacit_read(run->buffer[0], tile(j, k));
    }
    t->access[reads + 1] = (tacit_access){ .mode = 0 };
    t->name = column ? (i == k ? "potrf" : "trsm") : (i == j ? "syrk" : "gemm");
    must(run, tacit_submit(run->ctx, t));
    advance_cholesky(run);
}

/* ---- points: two rows of one buffer in turns; each part of a row is a task, which reads three parts of the other
 * row */

enum { POINTS = 16 };

static size_t point_width(const pattern_run *run)
{
    return ITEMS_PER_NODE * run->nodes;
}

static void create_points(pattern_run *run)
{
    create(run, 0, tacit_range2(2, POINTS * point_width(run)), true);
    tacit_task *t = describe(run, 0, "point", tacit_range1(point_width(run)), TACIT_SPLIT_1D);
    t->access[1] = (tacit_access){ .mode = 0 };
}

static void submit_points(pattern_run *run)
{
    size_t row = run->step / POINTS % 2, p = run->step % POINTS, width = point_width(run);
    size_t first = p ? p - 1 : 0, end = p + 2 < POINTS ? p + 2 : POINTS;
    tacit_task *t = &run->task[0];
    const int64_t at = (int64_t)(p * width);
    const tacit_component own = tacit_dim_scaled(0, 1, 1, -at, at);
    t->access[0] = tacit_read(run->buffer[0], tacit_fixed(tacit_box2(1 - row, 2 - row, first * width, end * width)));
    t->access[1] = tacit_write(run->buffer[0], tacit_components(tacit_span(row, row + 1), own, tacit_full()));
    must(run, tacit_submit(run->ctx, t));
}

/* ---- tiles: two planes of one buffer in turns; every task makes a tile of one, on the node whose turn it is, of that
 * tile of the other plane and the four around it */

static void create_tiles(pattern_run *run)
{
    size_t columns = 1;
    run->room = run->tiles ? run->tiles : run->room;
    while (2 * columns * columns < run->room) {
        columns++;
    }
    size_t rows = (run->room + 2 * columns - 1) / (2 * columns);
    run->room = 2 * rows * columns;
    run->width = columns;
    create(run, 0, tacit_range3(2, rows * TILE, columns * TILE), true);
    describe(run, 0, "tile", tacit_range1(1), TACIT_SPLIT_1D);
}

static tacit_mapper tile_of_plane(size_t plane, size_t i, size_t j)
{
    return tacit_fixed(tacit_box3(plane, plane + 1, i * TILE, (i + 1) * TILE, j * TILE, (j + 1) * TILE));
}

static void submit_tiles(pattern_run *run)
{
    tacit_task *t = &run->task[0];
    size_t tiles = run->room / 2, plane = run->step / tiles % 2, at = run->step % tiles;
    size_t i = at / run->width, j = at % run->width, rows = tiles / run->width, reads = 0;
    t->place = tacit_place_node((int)(at % run->nodes));
    t->access[reads++] = tacit_write(run->buffer[0], tile_of_plane(1 - plane, i, j));
    t->access[reads++] = tacit_read(run->buffer[0], tile_of_plane(plane, i, j));
    for (int side = 0; side < 4; side++) {
        const size_t row = i + (side == 1) - (side == 0), column = j + (side == 3) - (side == 2);
        if (row < rows && column < run->width) { /* below zero is beyond the end, too */
            t->access[reads++] = tacit_read(run->buffer[0], tile_of_plane(plane, row, column));
        }
    }
    t->access[reads] = (tacit_access){ .mode = 0 };
    must(run, tacit_submit(run->ctx, t));
}

/* ---- a wavefront: a matrix in blocks of columns, one for each node, or two on one node. A row of a block is a task,
 * and needs the row above it and the last element of the block to the left. The next wavefront begins with the last
 * element of this one. */

static size_t blocks_of(const pattern_run *run)
{
    return run->nodes > 2 ? run->nodes : 2;
}

static void create_wavefront(pattern_run *run)
{
    const size_t blocks = blocks_of(run), rows = (run->room + blocks - 1) / blocks + 1;
    run->width = ROWS_PER_NODE;
    run->room = (rows - 1) * blocks + 1; /* tasks of a wavefront */
    create(run, 0, tacit_range2(rows, blocks * run->width), true);
    describe(run, 0, "row", tacit_range2(1, run->width), TACIT_SPLIT_1D);
    tacit_task *corner = describe(run, 1, "corner", tacit_range1(1), TACIT_SPLIT_1D);
    const size_t columns = blocks * run->width;
    corner->place = tacit_place_node(0);
    corner->access[0] = tacit_read(run->buffer[0], tacit_fixed(tacit_box2(rows - 1, rows, columns - 1, columns)));
    corner->access[1] = tacit_write(run->buffer[0], tacit_fixed(tacit_box2(0, 1, 0, 1)));
}

static void submit_wavefront(pattern_run *run)
{
    const size_t blocks = blocks_of(run), at = run->step % run->room, block = at % blocks, row = 1 + at / blocks;
    if (at == run->room - 1) {
        must(run, tacit_submit(run->ctx, &run->task[1]));
        return;
    }
    const size_t left = block ? block * run->width : 1, end = (block + 1) * run->width;
    tacit_task *t = &run->task[0];
    t->range = tacit_range2(1, end - left);
    t->offset[0] = row;
    t->offset[1] = left;
    t->place = tacit_place_node((int)(block % run->nodes));
    t->access[0] = tacit_read(run->buffer[0], tacit_fixed(tacit_box2(row - 1, row, left - 1, end)));
    t->access[1] = tacit_read(run->buffer[0], tacit_fixed(tacit_box2(row, row + 1, left - 1, left)));
    t->access[2] = tacit_write(run->buffer[0], tacit_one_to_one());
    must(run, tacit_submit(run->ctx, t));
}

/* ---- a sparse matrix whose row i touches columns i, i - 7 and i + 7: a custom mapper says so */

static void columns_of(const tacit_box *rows, const tacit_range *vector, const void *user, tacit_region *out)
{
    (void)user;
    for (size_t i = rows->min[0]; i < rows->max[0]; i++) {
        const size_t column[3] = { i, i < 7 ? 0 : i - 7, i + 7 < vector->size[0] ? i + 7 : i };
        for (int k = 0; k < 3; k++) {
            tacit_region_add(out, tacit_box1(column[k], column[k] + 1));
        }
    }
}

static void create_sparse(pattern_run *run)
{
    int handle;
    must(run, tacit_mapper_create(run->ctx, columns_of, NULL, 0, 0, &handle));
    swap_buffers(run, line(run), tacit_custom(handle), TACIT_SPLIT_1D);
}

/* ---- the list */

static const pattern patterns[] = {
    { "all-gather", "N items read all, write their own", 2, false, true, false, create_all_gather, NULL },
    { "gather-scatter", "one item reads and writes all; N items their own", 2, false, true, false,
      create_gather_scatter, NULL },
    { "gather-broadcast", "one item reads and writes all; N items read all", 2, false, true, false,
      create_gather_broadcast, NULL },
    { "all-to-all", "N x N items read transposed", 2, false, true, false, create_all_to_all, NULL },
    { "stencil", "N x N items read neighbours, split in one dimension", 2, false, false, false, create_stencil, NULL },
    { "stencil-2d", "the same, split in two dimensions", 2, false, false, false, create_stencil_2d, NULL },
    { "stencil-periodic", "N x N items read neighbours on a torus, split in one dimension", 2, false, false, false,
      create_stencil_periodic, NULL },
    { "gather-all", "one item reads all, then N items read all", 3, false, true, false, create_gather_all, NULL },
    { "stencil-all", "N items read neighbours, then all", 3, false, true, false, create_stencil_all, NULL },
    { "parts", "N items read one half of what one item wrote, then the other", 3, false, true, false, create_parts,
      NULL },
    { "two-all-gathers", "two buffers are read by all in one step", 4, false, true, false, create_two_all_gathers,
      NULL },
    { "nbody", "all positions change velocities, which change positions", 2, false, true, false, create_nbody, NULL },
    { "wave-sim", "a star of one buffer updates the other", 2, false, false, false, create_wave_sim, NULL },
    { "rsim", "a row per step from all earlier rows and form factors", 1, true, true, true, create_rsim, submit_rsim },
    { "generative-1d", "slab t of a line is made from all earlier ones", 1, true, true, true, create_growing_1d,
      submit_growing_1d },
    { "generative-2d", "the same with rows of a plane", 1, true, true, true, create_growing_2d, submit_growing },
    { "generative-3d", "the same with planes of a cuboid", 1, true, true, true, create_growing_3d, submit_growing },
    { "many-task", "independent tasks, five rounds", 1, false, false, true, create_many, submit_many },
    { "matmul", "matrix products, split in two dimensions", 6, false, true, false, create_matmul, NULL },
    { "matmul-2d", "two matrices are made, then their product, split in two dimensions", 3, false, true, false,
      create_matmul_2d, NULL },
    { "jacobi", "a stencil and the reduction of a residual", 2, false, false, false, create_jacobi, NULL },
    { "cholesky", "a tiled factorisation, tasks placed on the owners of tiles", 4, false, false, false, create_cholesky,
      submit_cholesky },
    { "points", "16 tasks per step on parts of two rows of one buffer", 1, false, true, true, create_points,
      submit_points },
    { "tiles", "tiles of two planes in turns, each from five, placed on the nodes in turn", 2, false, true, true,
      create_tiles, submit_tiles },
    { "wavefront", "single rows of a matrix in blocks of columns, each from the row above and the block to the left", 2,
      false, false, true, create_wavefront, submit_wavefront },
    { "sparse", "two vectors in turns, read by a custom mapper", 2, false, false, false, create_sparse, NULL },
};

const pattern *pattern_at(size_t index)
{
    return index < sizeof(patterns) / sizeof(patterns[0]) ? &patterns[index] : NULL;
}

const pattern *pattern_find(const char *name)
{
    const pattern *p;
    for (size_t i = 0; (p = pattern_at(i)); i++) {
        if (strcmp(p->name, name) == 0) {
            return p;
        }
    }
    return NULL;
}

void pattern_start(pattern_run *run, const pattern *p, tacit_context *ctx, size_t tasks, size_t tiles)
{
    memset(run, 0, sizeof(*run));
    run->pattern = p;
    run->ctx = ctx;
    run->nodes = (size_t)tacit_num_nodes(ctx);
    run->room = tasks;
    run->tiles = tiles;
    p->create(run);
}

void pattern_next(pattern_run *run)
{
    if (run->pattern->submit) {
        run->pattern->submit(run);
    } else {
        must(run, tacit_submit(run->ctx, &run->task[run->step % (uint64_t)run->pattern->cycle]));
    }
    run->step++;
}
