/* Random programs: see gen.h.
 *
 * A pool of tasks is drawn first; steps then repeat tasks of the pool, alone and in loops. For each step the
 * elements that were written so far decide whether the task may run; if it reads more, a task that writes the buffer
 * comes first. */
#include "gen_maker.h"

#include "grid/split.h"

#include <string.h>

static size_t volume_of(const gen_buffer *buffer)
{
    gen_box extent = gen_extent(buffer);
    return (size_t)gen_volume(&extent);
}

/* ---- buffers */

static void mark_written(maker *m, int buffer, const gen_box *box)
{
    gen_box extent = gen_extent(&m->program->buffer.data[buffer]);
    int64_t at[3];
    GEN_FOR_EACH(at, box)
    {
        m->written.data[buffer][gen_element(&extent, at)] = 1;
    }
}

static bool is_written(const maker *m, int buffer, const gen_box *box)
{
    gen_box extent = gen_extent(&m->program->buffer.data[buffer]);
    int64_t at[3];
    GEN_FOR_EACH(at, box)
    {
        if (!m->written.data[buffer][gen_element(&extent, at)]) {
            return false;
        }
    }
    return true;
}

static void random_distribution(maker *m, gen_buffer *b)
{
    tacit_distribution *d = &b->distribution;
    b->local_init = b->initialised && m->options->public_rules && chance(m, GEN_PERCENT_INIT_LOCAL);
    if (!m->options->public_rules || chance(m, GEN_PERCENT_DEFAULT)) {
        return;
    }
    d->kind = chance(m, GEN_PERCENT_CYCLIC) ? TACIT_DISTRIBUTE_CYCLIC : TACIT_DISTRIBUTE_BLOCK;
    int left = m->options->nodes;
    for (int k = 0; k < b->range.dims; k++) {
        d->block[k] = (size_t)gen_between(rng_of(m), 0, 4);
        int64_t blocks = ((int64_t)b->range.size[k] - 1) / TI_MAX((int64_t)d->block[k], 1) + 1;
        int most = d->kind == TACIT_DISTRIBUTE_BLOCK && k > 0 ? (int)TI_MIN(blocks, left) : left;
        d->grid[k] = (int)gen_between(rng_of(m), 1, most);
        left /= d->grid[k];
    }
}

static void choose_type(maker *m, gen_buffer *buffer)
{
    static const size_t sizes[] = { 0, 1, 2, 4, 8, 1, 2, 4, 8 };
    buffer->type = (int32_t)gen_between(rng_of(m), TACIT_INT8, TACIT_UINT64);
    buffer->elem_size = sizes[buffer->type];
    buffer->range.dims = gen_chance(rng_of(m), GEN_PERCENT_REDUCED_ONE) ? 0 : 1;
    buffer->range.size[0] = buffer->range.dims ? (size_t)gen_between(rng_of(m), 1, 4) : 1;
}

/* Add a buffer to the program (not yet a step). */
static int add_buffer(maker *m)
{
    gen_buffer b = { .initialised = chance(m, GEN_PERCENT_INIT) };
    b.elem_size = (size_t)GEN_DRAW(rng_of(m), gen_elem_sizes);
    b.range = tacit_range_make((int)GEN_DRAW(rng_of(m), gen_buffer_dims), 1, 1, 1);
    for (int d = 0; d < b.range.dims; d++) {
        b.range.size[d] = (size_t)gen_between(rng_of(m), 1, largest(m, b.range.dims));
    }
    if (chance(m, GEN_PERCENT_REDUCED)) {
        choose_type(m, &b);
    }
    random_distribution(m, &b);
    ti_vec_push(&m->program->buffer, b);
    ti_vec_push(&m->written, TI_NEW_ARRAY(uint8_t, volume_of(&b)));
    ti_vec_push(&m->alive, 0);
    return (int)m->program->buffer.count - 1;
}

static void create_buffer(maker *m, int buffer)
{
    ti_vec_push(&m->program->step, ((gen_step){ .kind = GEN_CREATE, .index = buffer }));
    m->alive.data[buffer] = 1;
    if (m->program->buffer.data[buffer].initialised) {
        gen_box extent = gen_extent(&m->program->buffer.data[buffer]);
        mark_written(m, buffer, &extent);
    }
}

int gen_pick_alive(maker *m)
{
    int64_t n = gen_between(rng_of(m), 0, count_alive(m) - 1);
    for (size_t i = 0;; i++) {
        if (m->alive.data[i] && n-- == 0) {
            return (int)i;
        }
    }
}

/* ---- transfers in which all nodes take part */

/* A buffer of two dimensions, long enough for every node to have a part along each. */
static int add_square(maker *m)
{
    gen_buffer b = { .initialised = chance(m, GEN_PERCENT_SQUARE_INIT), .elem_size = 8 };
    b.range = tacit_range2((size_t)m->options->nodes + (size_t)gen_between(rng_of(m), 0, 5),
                           (size_t)m->options->nodes + (size_t)gen_between(rng_of(m), 0, 5));
    ti_vec_push(&m->program->buffer, b);
    ti_vec_push(&m->written, TI_NEW_ARRAY(uint8_t, volume_of(&b)));
    ti_vec_push(&m->alive, 0);
    return (int)m->program->buffer.count - 1;
}

static void add_whole_task(maker *m, int buffer, int mode, tacit_mapper mapper, int place)
{
    const gen_buffer *b = &m->program->buffer.data[buffer];
    gen_task t = { .range = b->range, .place = place, .accesses = 1 };
    if (mapper.kind == TACIT_MAPPER_TRANSPOSED) {
        t.range = tacit_range2(b->range.size[1], b->range.size[0]);
    }
    t.split = TACIT_SPLIT_1D;
    t.whole_chunk = chance(m, GEN_PERCENT_WHOLE_CHUNK);
    t.oversubscribe = chance(m, GEN_PERCENT_PATTERN_TWICE) ? 2 : 1;
    t.access[0] = (gen_access){ .buffer = buffer, .mode = mode, .mapper = mapper };
    ti_vec_push(&m->program->task, t);
}

/* Ways to write and to read one buffer, which make patterns with each other. Returns how many tasks it adds. */
static int add_pattern(maker *m)
{
    bool square = m->options->nodes <= 16 && count_alive(m) < GEN_BUFFERS_ALIVE && chance(m, GEN_PERCENT_SQUARE);
    int buffer = square ? add_square(m) : gen_pick_alive(m),
        node = (int)gen_between(rng_of(m), 0, m->options->nodes - 1);
    if (square) {
        create_buffer(m, buffer);
    }
    int dims = m->program->buffer.data[buffer].range.dims;
    add_whole_task(m, buffer, TACIT_WRITE, tacit_one_to_one(), -1);
    add_whole_task(m, buffer, dims == 2 ? TACIT_UPDATE : TACIT_READ,
                   dims == 2 ? tacit_transposed(1, 0, 2) : tacit_one_to_one(), -1);
    const bool all = dims == 0 || gen_chance(rng_of(m), GEN_PERCENT_PATTERN_ALL);
    add_whole_task(m, buffer, TACIT_READ, all ? tacit_all() : tacit_slice(0), -1);
    add_whole_task(m, buffer, TACIT_WRITE, tacit_one_to_one(), node);
    add_whole_task(m, buffer, TACIT_READ, tacit_one_to_one(), -1);
    add_whole_task(m, buffer, TACIT_READ, tacit_all(), gen_chance(rng_of(m), GEN_PERCENT_PATTERN_BACK) ? node : 0);
    return 6;
}

/* Tasks in two dimensions that read what others wrote by rows and by columns of their chunks, or of a part of them,
 * some with other borders or several chunks per node. Returns how many tasks it adds. */
static int add_grid_pattern(maker *m)
{
    gen_rng *r = rng_of(m);
    bool square = count_alive(m) < GEN_BUFFERS_ALIVE && m->options->nodes <= 16;
    int buffer = square ? add_square(m) : gen_pick_alive(m);
    if (square) {
        create_buffer(m, buffer);
    }
    const tacit_range range = m->program->buffer.data[buffer].range;
    if (range.dims != 2) {
        return 0;
    }
    tacit_component i = tacit_dim(0), j = tacit_dim(1), all = tacit_full();
    tacit_component some_i = gen_random_span(m, range.size[0]), some_j = gen_random_span(m, range.size[1]);
    const tacit_mapper read[] = { tacit_slice(1), tacit_slice(0), tacit_components(i, some_j, all),
                                  tacit_components(some_i, j, all) };
    size_t granularity = (size_t)gen_between(r, 0, 2);
    for (int k = 0; k < 6; k++) {
        gen_task t = { .range = range, .place = -1, .accesses = 1, .split = TACIT_SPLIT_2D };
        t.access[0] = (gen_access){ .buffer = buffer, .mode = k < 2 ? TACIT_WRITE : TACIT_READ };
        t.access[0].mapper = k < 2 ? tacit_one_to_one() : read[k - 2];
        t.granularity[0] = chance(m, GEN_PERCENT_GRID_BORDERS) ? granularity + 1 : granularity;
        t.oversubscribe = chance(m, GEN_PERCENT_GRID_TWICE) ? 2 : 1;
        if (k >= 2 &&
            chance(m,
                   GEN_PERCENT_GRID_OTHER_SIZE)) { /* the task's other length makes no difference to what it follows */
            int other = k % 2 ? 0 : 1;
            t.range.size[other] = (size_t)gen_between(r, 1, (int64_t)range.size[other]);
        }
        int d = (int)gen_between(r, 0, 1);
        if (k >= 2 && t.range.size[d] > 1 && chance(m, GEN_PERCENT_GRID_OFFSET)) {
            t.offset[d] = 1;
            t.range.size[d]--;
        }
        ti_vec_push(&m->program->task, t);
    }
    return 6;
}

/* ---- stencils */

/* A buffer like another one: one that is there, or a new one. -1: there is no room. */
static int find_twin(maker *m, int buffer)
{
    const tacit_range range = m->program->buffer.data[buffer].range;
    for (size_t i = 0; i < m->alive.count; i++) {
        const tacit_range *other = &m->program->buffer.data[i].range;
        if (m->alive.data[i] && (int)i != buffer && other->dims == range.dims &&
            memcmp(other->size, range.size, sizeof(range.size)) == 0) {
            return (int)i;
        }
    }
    if (count_alive(m) >= GEN_BUFFERS_ALIVE) {
        return -1;
    }
    ti_vec_push(&m->program->buffer,
                ((gen_buffer){ .initialised = chance(m, GEN_PERCENT_STENCIL_INIT), .elem_size = 8, .range = range }));
    int twin = (int)m->program->buffer.count - 1;
    ti_vec_push(&m->written, TI_NEW_ARRAY(uint8_t, volume_of(&m->program->buffer.data[twin])));
    ti_vec_push(&m->alive, 0);
    create_buffer(m, twin);
    return twin;
}

/* Rows that a sparse matrix couples: near each other, most of the time. */
static tacit_mapper random_band(maker *m)
{
    const int64_t far = GEN_DRAW(rng_of(m), gen_band_widths);
    const gen_custom band = { GEN_CUSTOM_BAND, gen_between(rng_of(m), 0, far), gen_between(rng_of(m), 0, far) };
    ti_vec_push(&m->program->custom, band);
    return tacit_custom((int)m->program->custom.count - 1);
}

static tacit_mapper random_stencil(maker *m)
{
    size_t e[3];
    if (chance(m, GEN_PERCENT_STENCIL_BAND)) {
        return random_band(m);
    }
    for (int d = 0; d < 3; d++) {
        e[d] = (size_t)GEN_DRAW(rng_of(m), gen_stencil_halos);
    }
    return chance(m, GEN_PERCENT_STENCIL_RING)   ? tacit_periodic(e[0], e[1], e[2])
           : chance(m, GEN_PERCENT_STENCIL_STAR) ? tacit_star(e[0], e[1], e[2])
                                                 : tacit_neighborhood(e[0], e[1], e[2]);
}

/* Tasks that change one of two buffers by the other. Returns how many it adds. */
static int add_stencils(maker *m)
{
    int buffer = gen_pick_alive(m), twin = find_twin(m, buffer), count = 0;
    const tacit_range range = m->program->buffer.data[buffer].range;
    int split = chance(m, GEN_PERCENT_STENCIL_2D) ? TACIT_SPLIT_2D : TACIT_SPLIT_1D;
    for (int64_t k = gen_between(rng_of(m), 1, GEN_STENCIL_TASKS); k > 0 && twin >= 0 && range.dims > 0; k--) {
        bool back = count % 2 == 1, in_place = chance(m, GEN_PERCENT_STENCIL_IN_PLACE);
        gen_task t = { .range = range, .place = -1, .accesses = 2, .split = split, .pure = true };
        t.access[0] = (gen_access){ .buffer = back ? twin : buffer, .mode = TACIT_READ, .mapper = random_stencil(m) };
        t.access[1] = (gen_access){ .buffer = back ? buffer : twin,
                                    .mode = in_place ? TACIT_UPDATE : TACIT_WRITE,
                                    .mapper = tacit_one_to_one() };
        t.window = chance(m, GEN_PERCENT_WINDOW) ? (int)gen_between(rng_of(m), 1, 6) : 0;
        int d = (int)gen_between(rng_of(m), 0, range.dims - 1);
        if (range.size[d] > 4 && chance(m, GEN_PERCENT_STENCIL_INNER)) {
            t.offset[d] = 1;
            t.range.size[d] -= 2;
        }
        if (chance(m, GEN_PERCENT_STENCIL_ODD)) {
            t.granularity[d] = (size_t)GEN_DRAW(rng_of(m), gen_granularity_sizes);
            t.oversubscribe = (int)GEN_DRAW(rng_of(m), gen_oversubscribe_counts);
        }
        ti_vec_push(&m->program->task, t);
        count++;
    }
    return count;
}

/* ---- steps */

static void push_task(maker *m, int index)
{
    const gen_task *t = &m->program->task.data[index];
    gen_box items = gen_items(t);
    ti_vec_push(&m->program->step, ((gen_step){ .kind = GEN_TASK, .index = index }));
    for (int i = 0; i < t->accesses && gen_volume(&items) > 0; i++) {
        if (!gen_changes(&t->access[i])) {
            continue;
        }
        ti_vec_clear(&m->boxes);
        gen_image(m->program, &t->access[i], &items, &m->boxes);
        for (size_t k = 0; k < m->boxes.count; k++) {
            mark_written(m, t->access[i].buffer, &m->boxes.data[k]);
        }
    }
}

/* A buffer that the task reads before it was written; -1: none; -2: a buffer does not exist. */
static int lacking(maker *m, const gen_task *t)
{
    gen_box items = gen_items(t);
    for (int i = 0; i < t->accesses; i++) {
        if (!m->alive.data[t->access[i].buffer]) {
            return -2;
        }
    }
    for (int i = 0; i < t->accesses && gen_volume(&items) > 0; i++) {
        if (!gen_needs_old(&t->access[i])) {
            continue;
        }
        ti_vec_clear(&m->boxes);
        gen_image(m->program, &t->access[i], &items, &m->boxes);
        for (size_t k = 0; k < m->boxes.count; k++) {
            if (!is_written(m, t->access[i].buffer, &m->boxes.data[k])) {
                return t->access[i].buffer;
            }
        }
    }
    return -1;
}

static void submit(maker *m, int index)
{
    for (;;) {
        int buffer = lacking(m, &m->program->task.data[index]);
        if (buffer == -2) {
            return;
        }
        if (buffer == -1) {
            push_task(m, index);
            return;
        }
        push_task(m, gen_add_writer(m, buffer));
    }
}

/* A random box of a buffer, all of it written. */
static void push_fence(maker *m, int buffer)
{
    const gen_buffer *b = &m->program->buffer.data[buffer];
    gen_box box = gen_extent(b);
    bool local = m->options->public_rules && chance(m, GEN_PERCENT_FENCE_LOCAL);
    for (int d = 0; d < b->range.dims && !local && chance(m, GEN_PERCENT_FENCE_PART); d++) {
        box.min[d] = gen_between(rng_of(m), 0, box.max[d] - 1);
        box.max[d] = gen_between(rng_of(m), box.min[d] + 1, box.max[d]);
    }
    if (!is_written(m, buffer, &box)) {
        push_task(m, gen_add_writer(m, buffer));
    }
    ti_vec_push(&m->program->step, ((gen_step){ .kind = GEN_FENCE,
                                                .index = buffer,
                                                .box = box,
                                                .blocking = chance(m, GEN_PERCENT_BLOCKING),
                                                .local = local }));
}

/* The program waits, in most cases for its node alone, or gives everything on. */
static gen_step pause_step(maker *m, bool waits)
{
    const int64_t how = gen_between(&m->more, 0, 3);
    return (gen_step){ .kind = waits ? GEN_WAIT : GEN_FLUSH, .index = waits ? (int)TI_MAX(how - 1, 0) : 0 };
}

/* Perhaps with a pause in each pass. */
static void push_loop(maker *m)
{
    int body[4], length = (int)gen_between(rng_of(m), 1, 4);
    const bool pauses = gen_chance(&m->more, GEN_PERCENT_LOOP_PAUSES);
    const gen_step pause = pause_step(m, gen_chance(&m->more, GEN_PERCENT_LOOP_WAITS));
    int rounds = (int)gen_between(rng_of(m), 2, chance(m, GEN_PERCENT_LONG_LOOP) ? 60 : 8);
    for (int i = 0; i < length; i++) {
        body[i] = (int)gen_between(rng_of(m), 0, (int64_t)m->program->task.count - 1);
    }
    for (int i = 0; i < rounds * length; i++) {
        submit(m, body[i % length]);
        if (pauses && i % length == 0) {
            ti_vec_push(&m->program->step, pause);
        }
    }
}

static void push_patterns(maker *m)
{
    int count = chance(m, GEN_PERCENT_GRID) ? add_grid_pattern(m) : add_pattern(m);
    int last = (int)m->program->task.count - 1;
    for (int64_t i = count ? gen_between(rng_of(m), 4, 12) : 0; i > 0; i--) {
        submit(m, last - (int)gen_between(rng_of(m), 0, count - 1));
    }
}

static int add_placed_task(maker *m, int buffer, int mode, tacit_mapper box)
{
    gen_task t = { .range = tacit_range1(1),
                   .accesses = 1,
                   .place = (int)gen_between(rng_of(m), 0, m->options->nodes - 1) };
    t.priority = (int)gen_between(rng_of(m), -1, 1);
    t.access[0] = (gen_access){ .buffer = buffer, .mode = mode, .mapper = box };
    ti_vec_push(&m->program->task, t);
    return (int)m->program->task.count - 1;
}

static tacit_mapper random_box(maker *m, int buffer)
{
    return gen_random_fixed(m, &m->program->buffer.data[buffer]);
}

static void push_panel(maker *m)
{
    int buffer = gen_pick_alive(m), writer[GEN_PANEL_TILES], reader[GEN_PANEL_READERS];
    int64_t writers = gen_between(rng_of(m), 1, GEN_PANEL_TILES),
            readers = gen_between(rng_of(m), 2, GEN_PANEL_READERS);
    for (int64_t i = 0; i < writers; i++) {
        writer[i] = add_placed_task(m, buffer, TACIT_WRITE, random_box(m, buffer));
    }
    for (int64_t i = 0; i < readers; i++) {
        const gen_task *t = &m->program->task.data[writer[gen_between(rng_of(m), 0, writers - 1)]];
        reader[i] = add_placed_task(m, buffer, TACIT_READ,
                                    chance(m, GEN_PERCENT_PANEL_PART) ? random_box(m, buffer) : t->access[0].mapper);
    }
    for (int64_t rounds = gen_between(rng_of(m), 1, 4); rounds > 0; rounds--) {
        for (int64_t i = 0; i < writers; i++) {
            submit(m, writer[i]);
        }
        for (int64_t i = 0; i < readers; i++) {
            submit(m, reader[i]);
        }
    }
}

/* Long chunks have parts that need nothing of other nodes, for several tasks. -1: there is no room. */
static int add_long_buffer(maker *m, tacit_range range, int alive)
{
    if (count_alive(m) >= alive) {
        return -1;
    }
    ti_vec_push(&m->program->buffer, ((gen_buffer){ .initialised = chance(m, GEN_PERCENT_STENCIL_INIT),
                                                    .elem_size = (size_t)GEN_DRAW(rng_of(m), gen_elem_sizes),
                                                    .range = range }));
    ti_vec_push(&m->written, TI_NEW_ARRAY(uint8_t, volume_of(&m->program->buffer.data[m->alive.count])));
    ti_vec_push(&m->alive, 0);
    create_buffer(m, (int)m->alive.count - 1);
    return (int)m->alive.count - 1;
}

/* Chunks that are long along the first dimension, or `along_both`. */
static tacit_range long_range(maker *m, bool along_both)
{
    int64_t items = gen_between(rng_of(m), 4, GEN_STENCIL_CHUNK) * m->options->nodes, grid[2];
    tacit_range range = tacit_range1((size_t)TI_MIN(items, (int64_t)GEN_STENCIL_ITEMS));
    if (along_both) {
        size_t side = (size_t)gen_between(rng_of(m), 6, GEN_STENCIL_SIDE);
        ti_split_grid(m->options->nodes, grid);
        return tacit_range2(side * (size_t)grid[0], side * (size_t)grid[1]);
    }
    return chance(m, GEN_PERCENT_STENCIL_ROWS) ? tacit_range2(range.size[0], (size_t)gen_between(rng_of(m), 1, 3))
                                               : range;
}

static tacit_mapper long_stencil(maker *m, int dims, bool along_both)
{
    int64_t lo = gen_between(rng_of(m), 0, 2),
            hi = chance(m, GEN_PERCENT_STENCIL_EVEN) ? lo : gen_between(rng_of(m), 0, 2);
    if (!along_both && chance(m, GEN_PERCENT_STENCIL_BAND)) {
        return random_band(m);
    }
    if (along_both && chance(m, GEN_PERCENT_STENCIL_CORNERS)) {
        return tacit_neighborhood((size_t)lo, (size_t)hi, 0);
    }
    return lo != hi || chance(m, GEN_PERCENT_STENCIL_LINE)
               ? tacit_components(tacit_dim_scaled(0, 1, 1, lo, hi), tacit_dim(1), tacit_full())
               : tacit_star((size_t)lo, dims > 1, 0);
}

/* There and back, by writing or in place, as drawn: `v = f(u); u = g(v)`, `tmp = f(u); u += tmp`, two fields that
 * change each other. */
static int add_long_stencils(maker *m)
{
    bool along_both = m->options->nodes <= GEN_STENCIL_NODES && chance(m, GEN_PERCENT_STENCIL_BOTH);
    const tacit_range range = long_range(m, along_both);
    int u = add_long_buffer(m, range, GEN_BUFFERS_ALIVE);
    int v = u < 0 ? -1 : add_long_buffer(m, range, GEN_BUFFERS_ALIVE), count = 0;
    for (; v >= 0 && count < 2; count++) {
        gen_task t = { .range = range, .place = -1, .accesses = 2, .pure = true };
        t.split = along_both ? TACIT_SPLIT_2D : TACIT_SPLIT_1D;
        t.access[0] = (gen_access){ .buffer = count ? v : u,
                                    .mode = TACIT_READ,
                                    .mapper = long_stencil(m, range.dims, along_both) };
        t.access[1] = (gen_access){ .buffer = count ? u : v,
                                    .mode = chance(m, GEN_PERCENT_STENCIL_UPDATE) ? TACIT_UPDATE : TACIT_WRITE,
                                    .mapper = tacit_one_to_one() };
        ti_vec_push(&m->program->task, t);
    }
    return count;
}

/* What tasks of a group have in common. */
typedef struct group {
    int64_t lo, hi; /* halos of most reads */
    bool ring, inner, weighted;
    uint64_t weights;
} group;

static group random_group(maker *m)
{
    gen_rng *r = &m->more;
    return (group){ .lo = gen_between(r, 0, 2),
                    .hi = gen_between(r, 0, 2),
                    .ring = gen_chance(r, GEN_PERCENT_GROUP_RING),
                    .inner = gen_chance(r, GEN_PERCENT_GROUP_INNER),
                    .weighted = gen_chance(r, GEN_PERCENT_GROUP_WEIGHTS),
                    .weights = gen_next(r) };
}

static tacit_mapper group_stencil(maker *m, const group *g)
{
    if (g->ring) {
        return tacit_periodic((size_t)g->lo, 0, 0);
    }
    return gen_chance(&m->more, GEN_PERCENT_STENCIL_BAND)
               ? random_band(m)
               : tacit_components(tacit_dim_scaled(0, 1, 1, g->lo, g->hi), tacit_full(), tacit_full());
}

/* A task of the group whose items are those of `buffer`, which it changes: it has its first read as well. */
static gen_task group_task(maker *m, const group *g, int buffer, int from, tacit_mapper reads)
{
    gen_task t = { .range = m->program->buffer.data[buffer].range, .place = -1, .accesses = 2, .pure = true };
    t.access[0] = (gen_access){ .buffer = from, .mode = TACIT_READ, .mapper = reads };
    t.access[1] = (gen_access){ .buffer = buffer,
                                .mode = gen_chance(&m->more, GEN_PERCENT_GROUP_UPDATE) ? TACIT_UPDATE : TACIT_WRITE,
                                .mapper = tacit_one_to_one() };
    t.whole_chunk = gen_chance(&m->more, GEN_PERCENT_GROUP_WHOLE);
    t.window = gen_chance(&m->more, GEN_PERCENT_WINDOW) ? (int)gen_between(&m->more, 1, 6) : 0;
    t.split = gen_chance(&m->more, GEN_PERCENT_GROUP_2D) ? TACIT_SPLIT_2D : TACIT_SPLIT_1D;
    if (g->inner && t.range.size[0] > 4) {
        t.offset[0] = 2;
        t.range.size[0] -= 4;
    }
    if (g->weighted && t.split == TACIT_SPLIT_1D) {
        gen_rng same = { g->weights };
        t.weights = TI_NEW_ARRAY(uint32_t, (size_t)m->options->nodes);
        for (int i = 0; i < m->options->nodes; i++) {
            t.weights[i] = (uint32_t)gen_between(&same, 1, 3);
        }
    }
    return t;
}

/* Three buffers by turns: each comes of the two others. */
static int add_rotation(maker *m)
{
    const group g = random_group(m);
    const tacit_range range = long_range(m, false);
    int b[3];
    for (int i = 0; i < 3; i++) {
        b[i] = add_long_buffer(m, tacit_range1(range.size[0]), GEN_BUFFERS_GROUP);
        if (b[i] < 0) {
            return 0;
        }
    }
    for (int i = 0; i < 3; i++) {
        gen_task t = group_task(m, &g, b[(i + 2) % 3], b[i], group_stencil(m, &g));
        t.access[t.accesses++] = (gen_access){ .buffer = b[(i + 1) % 3],
                                               .mode = TACIT_READ,
                                               .mapper = gen_chance(&m->more, GEN_PERCENT_GROUP_OWN)
                                                             ? tacit_one_to_one()
                                                             : group_stencil(m, &g) };
        ti_vec_push(&m->program->task, t);
    }
    return 3;
}

/* Two fine buffers and a coarse one: smoothed, restricted, and interpolated. */
static int add_levels(maker *m)
{
    const group g = random_group(m);
    const size_t coarse_items = long_range(m, false).size[0];
    int coarse = add_long_buffer(m, tacit_range1(coarse_items), GEN_BUFFERS_GROUP);
    int u = coarse < 0 ? -1 : add_long_buffer(m, tacit_range1(2 * coarse_items), GEN_BUFFERS_GROUP);
    int v = u < 0 ? -1 : add_long_buffer(m, tacit_range1(2 * coarse_items), GEN_BUFFERS_GROUP);
    if (v < 0) {
        return 0;
    }
    const tacit_mapper down = tacit_components(tacit_dim_scaled(0, 2, 1, g.lo, g.hi), tacit_full(), tacit_full());
    const tacit_mapper up = tacit_components(tacit_dim_scaled(0, 1, 2, g.lo, g.hi), tacit_full(), tacit_full());
    ti_vec_push(&m->program->task, group_task(m, &g, v, u, group_stencil(m, &g)));
    ti_vec_push(&m->program->task, group_task(m, &g, coarse, v, down));
    ti_vec_push(&m->program->task, group_task(m, &g, u, coarse, up));
    m->program->task.data[m->program->task.count - 1].granularity[0] = gen_chance(&m->more, GEN_PERCENT_GROUP_PAIRS)
                                                                           ? 2
                                                                           : 0;
    return 3;
}

static int add_some_stencils(maker *m)
{
    if (gen_chance(&m->more, GEN_PERCENT_STENCIL_GROUP)) {
        return gen_chance(&m->more, GEN_PERCENT_GROUP_LEVELS) ? add_levels(m) : add_rotation(m);
    }
    return chance(m, GEN_PERCENT_STENCIL_LONG) ? add_long_stencils(m) : add_stencils(m);
}

static void push_stencils(maker *m)
{
    int count = add_some_stencils(m);
    int first = (int)m->program->task.count - count;
    for (int64_t k = gen_between(rng_of(m), 2, GEN_STENCIL_ROUNDS); k > 0; k--) {
        for (int i = 0; i < count; i++) {
            submit(m, first + i);
        }
    }
}

static void push_new_buffer(maker *m)
{
    create_buffer(m, add_buffer(m));
    gen_add_task(m);
    gen_add_task(m);
}

static void push_destruction(maker *m)
{
    int buffer = gen_pick_alive(m);
    ti_vec_push(&m->program->step, ((gen_step){ .kind = GEN_DESTROY, .index = buffer }));
    m->alive.data[buffer] = 0;
}

/* Nothing that does not fit the distribution: along later dimensions a block distribution needs enough blocks. */
static gen_buffer random_resized(maker *m, int buffer)
{
    gen_buffer b = m->program->buffer.data[buffer];
    bool keeps = b.distribution.kind == TACIT_DISTRIBUTE_BLOCK;
    for (int d = 0; d < (keeps ? 1 : b.range.dims); d++) {
        b.range.size[d] = (size_t)gen_between(rng_of(m), 1, b.type ? 4 : largest(m, b.range.dims));
    }
    b.initialised = b.local_init = false;
    return b;
}

static void keep_written(maker *m, int old, int buffer)
{
    gen_box was = gen_extent(&m->program->buffer.data[old]), extent = gen_extent(&m->program->buffer.data[buffer]);
    int64_t at[3];
    GEN_FOR_EACH(at, &extent)
    {
        bool stays = at[0] < was.max[0] && at[1] < was.max[1] && at[2] < was.max[2];
        m->written.data[buffer][gen_element(&extent, at)] = stays ? m->written.data[old][gen_element(&was, at)] : 0;
    }
}

static void push_resize(maker *m)
{
    int old = gen_pick_alive(m), buffer = (int)m->program->buffer.count;
    if (m->program->buffer.data[old].range.dims == 0) {
        return;
    }
    gen_buffer b = random_resized(m, old);
    ti_vec_push(&m->program->buffer, b);
    ti_vec_push(&m->written, TI_NEW_ARRAY(uint8_t, volume_of(&b)));
    ti_vec_push(&m->alive, 1);
    keep_written(m, old, buffer);
    m->alive.data[old] = 0;
    ti_vec_push(&m->program->step, ((gen_step){ .kind = GEN_RESIZE, .index = buffer, .old = old }));
    gen_add_task(m);
    gen_add_task(m);
}

static void push_fill(maker *m)
{
    int buffer = (int)gen_between(&m->more, 0, (int64_t)m->alive.count - 1);
    if (m->alive.data[buffer]) {
        gen_box extent = gen_extent(&m->program->buffer.data[buffer]);
        ti_vec_push(&m->program->step, ((gen_step){ .kind = GEN_FILL, .index = buffer }));
        mark_written(m, buffer, &extent);
    }
}

static void push_step(maker *m)
{
    int64_t what = GEN_DRAW(rng_of(m), gen_steps);
    if (m->options->public_rules && gen_chance(&m->more, GEN_PERCENT_FILL)) {
        push_fill(m);
    }
    if (chance(m, GEN_PERCENT_PATTERN)) {
        push_patterns(m);
    } else if (chance(m, m->tiles ? GEN_PERCENT_PANEL_TILES : GEN_PERCENT_PANEL)) {
        push_panel(m);
    } else if (m->pure && chance(m, GEN_PERCENT_STENCILS)) {
        push_stencils(m);
    } else if (what == GEN_STEP_PAUSE) {
        ti_vec_push(&m->program->step, pause_step(m, chance(m, GEN_PERCENT_WAIT)));
    } else if (what == GEN_STEP_FENCE) {
        push_fence(m, gen_pick_alive(m));
    } else if (what == GEN_STEP_NEW_BUFFER && count_alive(m) < GEN_BUFFERS_ALIVE) {
        push_new_buffer(m);
    } else if ((what == GEN_STEP_NEW_BUFFER || what == GEN_STEP_DESTROY) && count_alive(m) > 1) {
        push_destruction(m);
    } else if (what == GEN_STEP_RESIZE && m->options->public_rules) {
        push_resize(m);
    } else if (what == GEN_STEP_NEW_TASK) {
        gen_add_task(m);
    } else if (what == GEN_STEP_LOOP) {
        push_loop(m);
    } else {
        submit(m, (int)gen_between(rng_of(m), 0, (int64_t)m->program->task.count - 1));
    }
}

/* The largest box that is all written, grown from the first written element; false if there is none. */
static bool written_box(const maker *m, int buffer, gen_box *out)
{
    gen_box extent = gen_extent(&m->program->buffer.data[buffer]);
    bool any = false;
    int64_t at[3];
    GEN_FOR_EACH(at, &extent)
    {
        if (!any && m->written.data[buffer][gen_element(&extent, at)]) {
            *out = (gen_box){ { at[0], at[1], at[2] }, { at[0] + 1, at[1] + 1, at[2] + 1 } };
            any = true;
        }
    }
    for (int d = 0; any && d < 3; d++) {
        while (out->max[d] < extent.max[d]) {
            out->max[d]++;
            if (!is_written(m, buffer, out)) {
                out->max[d]--;
                break;
            }
        }
    }
    return any;
}

/* At the end everything is looked at. */
static void push_last_fences(maker *m)
{
    for (size_t i = 0; i < m->alive.count; i++) {
        gen_box box;
        if (m->alive.data[i] && written_box(m, (int)i, &box)) {
            ti_vec_push(&m->program->step,
                        ((gen_step){ .kind = GEN_FENCE, .index = (int)i, .box = box, .blocking = true }));
        }
    }
}

static void fini(maker *m)
{
    for (size_t i = 0; i < m->written.count; i++) {
        ti_free(m->written.data[i], volume_of(&m->program->buffer.data[i]));
    }
    ti_vec_fini(&m->written);
    ti_vec_fini(&m->alive);
    ti_vec_fini(&m->boxes);
}

gen_program *gen_create(const gen_options *options)
{
    maker m = { .rng = { gen_mix(options->seed ^ (uint64_t)options->nodes << 48) },
                .more = { gen_mix(options->seed ^ 0x302e) },
                .options = options,
                .program = TI_NEW(gen_program) };
    m.program->seed = options->seed;
    m.program->nodes = options->nodes;
    m.tiles = gen_chance(&m.rng, GEN_PERCENT_TILES);
    m.pure = gen_chance(&m.rng, GEN_PERCENT_PROMISE);
    int64_t buffers = gen_between(&m.rng, GEN_BUFFERS_LEAST, GEN_BUFFERS_MOST),
            tasks = gen_between(&m.rng, GEN_TASKS_LEAST, m.tiles ? GEN_TASKS_MOST_TILES : GEN_TASKS_MOST);
    for (int64_t i = 0; i < buffers; i++) {
        create_buffer(&m, add_buffer(&m));
    }
    for (int64_t i = 0; i < tasks; i++) {
        gen_add_task(&m);
    }
    while (m.program->step.count < (size_t)options->steps) {
        push_step(&m);
    }
    push_last_fences(&m);
    fini(&m);
    return m.program;
}

void gen_destroy(gen_program *program)
{
    for (size_t i = 0; i < program->task.count; i++) {
        const gen_task *t = &program->task.data[i];
        ti_free(t->weights, (size_t)program->nodes * sizeof(uint32_t));
        ti_free(t->items, t->item_count * sizeof(uint64_t));
    }
    ti_vec_fini(&program->buffer);
    ti_vec_fini(&program->custom);
    ti_vec_fini(&program->task);
    ti_vec_fini(&program->step);
    TI_DELETE(program);
}
