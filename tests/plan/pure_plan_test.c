/* Windows of pure tasks: what every node sends, receives and executes when one closes, stated literally. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ir/custom.h"
#include "plan_expect.h"

static void start(plan *p, int nodes, int tasks, tacit_range range, size_t buffers)
{
    const plan_setup setup = {
        .nodes = nodes, .only = -1, .collectives = TI_COLLECTIVES_OFF, .horizon_step = 1000, .latency_tasks = tasks
    };
    gen_buffer buffer[3];
    for (size_t i = 0; i < buffers; i++) {
        buffer[i] = plan_buffer(range, false);
    }
    plan_start(p, &setup, buffer, buffers);
}

/* Write all of a buffer, so that every node has its part; such a task is no part of windows. */
static void fill(plan *p, int buffer, int split)
{
    plan_task(p, (gen_task){ .range = p->program->buffer.data[buffer].range,
                             .split = split,
                             .access = { plan_write(buffer, tacit_one_to_one()) } });
}

static gen_task step(tacit_range range, int from, int to, tacit_mapper neighbours)
{
    return (gen_task){ .range = range,
                       .pure = true,
                       .access = { plan_read(from, neighbours), plan_write(to, tacit_one_to_one()) } };
}

static void all_agree(const plan *p)
{
    uint64_t digest = ti_command_graph_digest(p->node[0].graph);
    for (int i = 0; i < p->count; i++) {
        assert_true(ti_command_graph_is_valid(p->node[i].graph));
        assert_true(ti_command_graph_digest(p->node[i].graph) == digest);
    }
}

static void expect_nothing(const plan *p)
{
    for (int i = 0; i < p->count; i++) {
        expect(p, i, "");
    }
}

/* Four steps: one message for each neighbour, of four elements, and chunks that are larger by three, two and one. */
static void heat(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(32);
    start(&p, 4, 4, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < 3; i++) {
        plan_task(&p, step(range, i % 2, 1 - i % 2, tacit_neighborhood(1, 0, 0)));
        expect_nothing(&p);
    }
    plan_task(&p, step(range, 1, 0, tacit_neighborhood(1, 0, 0)));
    expect(&p, 0, "send 1 A [4,8); receive 1 A [8,12); execute [0,11); execute [0,10); execute [0,9); execute [0,8)");
    expect(&p, 1,
           "send 0 A [8,12); send 2 A [12,16); receive 0 A [4,8); receive 2 A [16,20); "
           "execute [5,19); execute [6,18); execute [7,17); execute [8,16)");
    all_agree(&p);
    plan_fini(&p);
}

/* The least of what the setting and the hints of its tasks say closes a window; a task that would be one too many for
 * itself begins the next. */
static void hints_close_windows(void **state)
{
    (void)state;
    static const int windows[] = { 0, 0, 3, 0, 0, 2, 0, 0 };
    plan p;
    const tacit_range range = tacit_range1(32);
    start(&p, 4, 4, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < 8; i++) {
        gen_task t = step(range, i % 2, 1 - i % 2, tacit_neighborhood(1, 0, 0));
        t.window = windows[i];
        plan_task(&p, t);
        if (i == 2) { /* its own hint: three */
            expect(&p, 0, "send 1 A [5,8); receive 1 A [8,11); execute [0,10); execute [0,9); execute [0,8)");
        } else if (i == 5) { /* two are held, and it is in no window of three */
            expect(&p, 0, "send 1 B [6,8); receive 1 B [8,10); execute [7,9)+[0,7); execute [6,8)+[0,6)");
        } else if (i == 6) {
            expect(&p, 0, "send 1 B [6,8); receive 1 B [8,10); execute [7,9)+[0,7); execute [6,8)+[0,6)");
        } else {
            expect_nothing(&p);
        }
    }
    plan_fini(&p);
}

/* Chunks that are long enough: what needs no message in any of the steps is a piece of its own. */
static void cut_in_pieces(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(400);
    start(&p, 4, 4, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < 4; i++) {
        plan_task(&p, step(range, i % 2, 1 - i % 2, tacit_neighborhood(1, 0, 0)));
    }
    expect(&p, 1,
           "send 0 A [100,104); send 2 A [196,200); receive 0 A [96,100); receive 2 A [200,204); "
           "execute [97,101)+[199,203)+[101,199); execute [98,102)+[198,202)+[102,198); "
           "execute [99,103)+[197,201)+[103,197); execute [100,104)+[196,200)+[104,196)");
    all_agree(&p);
    plan_fini(&p);
}

static void start_staged(plan *p, int tasks, tacit_range range, size_t buffers)
{
    const plan_setup setup = { .nodes = 4,
                               .only = -1,
                               .collectives = TI_COLLECTIVES_OFF,
                               .horizon_step = 1000,
                               .latency_tasks = tasks,
                               .latency_staged = true };
    gen_buffer buffer[3];
    for (size_t i = 0; i < buffers; i++) {
        buffer[i] = plan_buffer(range, false);
    }
    plan_start(p, &setup, buffer, buffers);
}

/* Four steps in stages: the message has two elements of the first step and two of the second, and fewer items are
 * executed by two nodes. */
static void heat_in_stages(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(400);
    start_staged(&p, 4, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < 4; i++) {
        plan_task(&p, step(range, i % 2, 1 - i % 2, tacit_neighborhood(1, 0, 0)));
    }
    expect(&p, 1,
           "send 0 A [100,102); send 2 A [198,200); receive 0 A [98,100); receive 2 A [200,202); "
           "execute [101,103)+[197,199)+[99,101)+[199,201)+[103,197); "
           "send 0 B [101,103); send 2 B [197,199); receive 0 B [97,99); receive 2 B [201,203); "
           "execute [98,102)+[198,202)+[102,198); execute [99,103)+[197,201)+[103,197); "
           "execute [100,104)+[196,200)+[104,196)");
    all_agree(&p);
    plan_fini(&p);
}

/* Chunks in two dimensions are enlarged at the corners, too: so there is a message from the diagonal neighbour. */
static void star_in_two_dimensions(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range2(16, 16);
    start(&p, 4, 2, range, 2);
    fill(&p, 0, TACIT_SPLIT_2D);
    for (int i = 0; i < 2; i++) {
        gen_task t = step(range, i, 1 - i, tacit_star(1, 1, 0));
        t.split = TACIT_SPLIT_2D;
        plan_task(&p, t);
    }
    expect(&p, 0,
           "send 1 A [0,8)x[7,8)+[0,8)x[6,7); send 2 A [6,8)x[0,8); send 3 A [6,8)x[7,8)+[7,8)x[6,7); "
           "receive 1 A [0,8)x[8,9)+[0,8)x[9,10); receive 2 A [8,10)x[0,8); receive 3 A [8,10)x[8,9)+[8,9)x[9,10); "
           "execute [0,9)x[0,9); execute [0,8)x[0,8)");
    all_agree(&p);
    plan_fini(&p);
}

/* tmp = f(u); u += tmp, twice: the copies of u are changed in place, too, and need no message. */
static void in_place(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(32);
    start(&p, 4, 4, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < 2; i++) {
        plan_task(&p, step(range, 0, 1, tacit_neighborhood(1, 0, 0)));
        plan_task(&p, (gen_task){ .range = range,
                                  .pure = true,
                                  .access = { plan_update(0, tacit_one_to_one()), plan_read(1, tacit_one_to_one()) } });
    }
    expect(&p, 1,
           "send 0 A [8,10); send 2 A [14,16); receive 0 A [6,8); receive 2 A [16,18); "
           "execute [7,17); execute [7,17); execute [8,16); execute [8,16)");
    all_agree(&p);
    plan_fini(&p);
}

static void euler(plan *p, tacit_range range, int steps)
{
    for (int i = 0; i < steps; i++) {
        plan_task(p, step(range, 0, 1, tacit_neighborhood(1, 0, 0)));
        plan_task(p, (gen_task){ .range = range,
                                 .pure = true,
                                 .access = { plan_update(0, tacit_one_to_one()), plan_read(1, tacit_one_to_one()) } });
    }
}

/* The same in stages, three times. What is still read may not be overwritten without messages: so each task has one
 * more item at each border that waits than the one before. What is sent of u is packed before it changes again. */
static void in_place_in_stages(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(400);
    start_staged(&p, 6, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    euler(&p, range, 3);
    expect(&p, 1,
           "send 0 A [100,102); send 2 A [198,200); receive 0 A [98,100); receive 2 A [200,202); "
           "execute [101,104)+[196,199)+[99,101)+[199,201)+[104,196); "
           "send 0 B [101,102); send 2 B [198,199); receive 0 B [98,99); receive 2 B [201,202); "
           "execute [102,103)+[197,198)+[98,102)+[198,202)+[103,197); execute [99,103)+[197,201)+[103,197); "
           "execute [99,104)+[196,201)+[104,196); execute [100,105)+[195,200)+[105,195); "
           "execute [100,106)+[194,200)+[106,194)");
    all_agree(&p);
    plan_fini(&p);
}

/* In two dimensions: what two neighbours cannot compute because of each other, a node executes itself, and receives the
 * rest of the first step in the same message. */
static void stages_in_two_dimensions(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range2(40, 40);
    start_staged(&p, 3, range, 2);
    fill(&p, 0, TACIT_SPLIT_2D);
    for (int i = 0; i < 3; i++) {
        gen_task t = step(range, i % 2, 1 - i % 2, tacit_neighborhood(1, 1, 0));
        t.split = TACIT_SPLIT_2D;
        plan_task(&p, t);
    }
    expect(&p, 0,
           "send 1 A [0,18)x[18,20)+[18,20)x[17,20); send 2 A [17,18)x[18,20)+[18,20)x[0,20); "
           "send 3 A [17,18)x[18,20)+[18,20)x[17,20); receive 1 A [0,18)x[20,22)+[18,20)x[20,23); "
           "receive 2 A [20,22)x[0,20)+[22,23)x[18,20); receive 3 A [20,22)x[20,23)+[22,23)x[20,22); "
           "execute [18,19)x[0,19)+[0,18)x[18,19)+[0,19)x[19,21)+[19,21)x[0,22)+[21,22)x[19,21)+[0,18)x[0,18); "
           "send 1 B [0,19)x[18,19); send 2 B [18,19)x[0,19); send 3 B [18,19)x[18,19); "
           "receive 1 B [0,19)x[21,22); receive 2 B [21,22)x[0,19); receive 3 B [21,22)x[21,22); "
           "execute [18,21)x[0,21)+[0,18)x[18,21)+[0,18)x[0,18); "
           "execute [17,20)x[0,20)+[0,17)x[17,20)+[0,17)x[0,17)");
    all_agree(&p);
    plan_fini(&p);
}

/* Not in stages: chunks that are too short, that may not be cut, and a buffer that lies elsewhere. Then there are the
 * margins of strategy `halo`. */
static void not_in_stages(void **state)
{
    (void)state;
    plan p;
    tacit_range range = tacit_range1(32);
    start_staged(&p, 8, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < 8; i++) {
        plan_task(&p, step(range, i % 2, 1 - i % 2, tacit_neighborhood(1, 0, 0)));
    }
    expect(&p, 1,
           "send 0 A [8,16); send 2 A [8,16); receive 0 A [0,8); receive 2 A [16,24); execute [1,23); execute [2,22); "
           "execute [3,21); execute [4,20); execute [5,19); execute [6,18); execute [7,17); execute [8,16)");
    all_agree(&p);
    plan_fini(&p);
    range = tacit_range1(400);
    start_staged(&p, 2, range, 2);
    plan_task(&p, (gen_task){ .range = tacit_range1(200), .access = { plan_write(0, tacit_one_to_one()) } });
    plan_task(&p, (gen_task){
                      .range = tacit_range1(200), .offset = { 200 }, .access = { plan_write(0, tacit_one_to_one()) } });
    for (int i = 0; i < 2; i++) {
        plan_task(&p, step(range, i, 1 - i, tacit_neighborhood(1, 0, 0)));
    }
    expect(&p, 1,
           "send 0 A [50,100); send 2 A [250,300); send 3 A [298,300); receive 0 A [200,202); receive 2 A [100,150); "
           "receive 3 A [150,200); execute [99,201); execute [100,200)");
    plan_fini(&p);
}

/* Rows of a sparse matrix: the first of eight touches the second before it as well, the last the next two. */
static void coupled(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)range;
    if (user) { /* these bytes count calls */
        ++**(int *const *)user;
    }
    for (size_t i = chunk->min[0]; i < chunk->max[0]; i++) {
        size_t below = i % 8 == 0 && i > 0 ? 2 : 0, above = i % 8 == 7 ? 2 : 0;
        tacit_region_add(out, tacit_box1(i - below, i - below + 1));
        tacit_region_add(out, tacit_box1(i, i + 1 + above));
    }
}

static void everything(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)chunk;
    (void)user;
    tacit_region_add(out, tacit_box1(0, range->size[0]));
}

static void start_custom(plan *p, const ti_custom_mapper *mappers, size_t count, bool staged)
{
    const gen_buffer buffer[] = { plan_buffer(tacit_range1(32), false), plan_buffer(tacit_range1(32), false) };
    const plan_setup setup = { .nodes = 4,
                               .only = -1,
                               .collectives = TI_COLLECTIVES_OFF,
                               .horizon_step = 1000,
                               .latency_tasks = 2,
                               .latency_staged = staged,
                               .custom = mappers,
                               .customs = count };
    plan_start(p, &setup, buffer, 2);
}

/* A custom mapper says which rows nodes need of each other: those and no others are executed by several nodes. */
static void sparse_rows(void **state)
{
    (void)state;
    const ti_custom_mapper mapper[] = { { .fn = coupled }, { .fn = everything, .handle = 1 } };
    plan p;
    const tacit_range range = tacit_range1(32);
    start_custom(&p, mapper, TI_COUNT(mapper), false);
    fill(&p, 0, TACIT_SPLIT_1D);
    plan_task(&p, step(range, 0, 1, tacit_custom(0)));
    expect_nothing(&p);
    plan_task(&p, step(range, 1, 0, tacit_custom(0)));
    expect(&p, 0, "send 1 A [6,7); receive 1 A [8,10); execute [0,10); execute [0,8)");
    expect(&p, 1,
           "send 0 A [8,10); send 2 A [14,15); receive 0 A [6,7); receive 2 A [16,18); "
           "execute [6,7)+[8,18); execute [8,16)");
    all_agree(&p);
    plan_fini(&p);
    start_custom(&p, mapper, TI_COUNT(mapper), false); /* a dense matrix: nobody computes all of it alone */
    fill(&p, 0, TACIT_SPLIT_1D);
    plan_task(&p, step(range, 0, 1, tacit_custom(0)));
    plan_task(&p, step(range, 1, 0, tacit_custom(1)));
    expect(&p, 1,
           "send 0 A [8,10); send 2 A [14,15); receive 0 A [6,7); receive 2 A [16,18); "
           "execute [8,9)+[15,16)+[9,15)");
    all_agree(&p);
    plan_fini(&p);
}

/* In stages: node 0 computes row 6 before its message leaves, and nobody else does; rows 7 and 8, which need each
 * other's node, are computed by both. */
static void sparse_rows_in_stages(void **state)
{
    (void)state;
    const ti_custom_mapper mapper[] = { { .fn = coupled } };
    plan p;
    const tacit_range range = tacit_range1(32);
    start_custom(&p, mapper, TI_COUNT(mapper), true);
    fill(&p, 0, TACIT_SPLIT_1D);
    plan_task(&p, step(range, 0, 1, tacit_custom(0)));
    expect_nothing(&p);
    plan_task(&p, step(range, 1, 0, tacit_custom(0)));
    expect(&p, 0,
           "send 1 A [6,7); receive 1 A [8,10); execute [6,7)+[7,9)+[0,6); "
           "send 1 B [6,7); receive 1 B [9,10); execute [6,8)+[0,6)");
    all_agree(&p);
    plan_fini(&p);
}

/* Around the end: what a node needs of the other end lies there, and so do items that it executes for itself. */
static void ring(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(32);
    start(&p, 4, 4, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < 4; i++) {
        plan_task(&p, step(range, i % 2, 1 - i % 2, tacit_periodic(1, 0, 0)));
    }
    expect(&p, 0,
           "send 1 A [4,8); send 3 A [0,4); receive 1 A [8,12); receive 3 A [28,32); execute [0,11)+[29,32); "
           "execute [0,10)+[30,32); execute [0,9)+[31,32); execute [0,8)");
    expect(&p, 1,
           "send 0 A [8,12); send 2 A [12,16); receive 0 A [4,8); receive 2 A [16,20); "
           "execute [5,19); execute [6,18); execute [7,17); execute [8,16)");
    all_agree(&p);
    plan_fini(&p);
}

/* The same in stages. */
static void ring_in_stages(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(400);
    start_staged(&p, 4, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < 4; i++) {
        plan_task(&p, step(range, i % 2, 1 - i % 2, tacit_periodic(1, 0, 0)));
    }
    expect(&p, 0,
           "send 1 A [98,100); send 3 A [0,2); receive 1 A [100,102); receive 3 A [398,400); "
           "execute [1,3)+[97,99)+[0,1)+[99,101)+[399,400)+[3,97); "
           "send 1 B [97,99); send 3 B [1,3); receive 1 B [101,103); receive 3 B [397,399); "
           "execute [0,2)+[98,102)+[398,400)+[2,98); execute [0,3)+[97,101)+[399,400)+[3,97); "
           "execute [0,4)+[96,100)+[4,96)");
    expect(&p, 1,
           "send 0 A [100,102); send 2 A [198,200); receive 0 A [98,100); receive 2 A [200,202); "
           "execute [101,103)+[197,199)+[99,101)+[199,201)+[103,197); "
           "send 0 B [101,103); send 2 B [197,199); receive 0 B [97,99); receive 2 B [201,203); "
           "execute [98,102)+[198,202)+[102,198); execute [99,103)+[197,201)+[103,197); "
           "execute [100,104)+[196,200)+[104,196)");
    all_agree(&p);
    plan_fini(&p);
}

/* A task that reads a field around its items, and by a custom mapper a table that all nodes have: a margin would not
 * say what of the table its items there read. In stages what several nodes execute comes of their own items all the
 * same. */
static void table_in_stages(void **state)
{
    (void)state;
    const ti_custom_mapper mapper[] = { { .fn = everything } };
    plan p;
    const tacit_range range = tacit_range1(400);
    const gen_buffer buffer[] = { plan_buffer(range, false), plan_buffer(range, false), plan_buffer(range, true) };
    const plan_setup setup = { .nodes = 4,
                               .only = -1,
                               .collectives = TI_COLLECTIVES_OFF,
                               .horizon_step = 1000,
                               .latency_tasks = 2,
                               .latency_staged = true,
                               .custom = mapper,
                               .customs = 1 };
    plan_start(&p, &setup, buffer, 3);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < 2; i++) {
        gen_task t = step(range, i, 1 - i, tacit_neighborhood(1, 0, 0));
        t.access[2] = plan_read(2, tacit_custom(0));
        plan_task(&p, t);
    }
    expect(&p, 1,
           "send 0 A [100,102); send 2 A [198,200); receive 0 A [98,100); receive 2 A [200,202); "
           "execute [99,101)+[199,201)+[101,199); execute [100,102)+[198,200)+[102,198)");
    all_agree(&p);
    plan_fini(&p);
}

/* Items of a row write one element together, and half of the border rows wait for messages: whole rows do. */
static void whole_rows(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range2(400, 8), half = tacit_range2(400, 4);
    const gen_buffer buffer[] = { plan_buffer(range, false), plan_buffer(range, false),
                                  plan_buffer(tacit_range1(400), false) };
    const plan_setup setup = {
        .nodes = 4, .only = -1, .collectives = TI_COLLECTIVES_OFF, .horizon_step = 1000, .latency_tasks = 2
    };
    plan_start(&p, &setup, buffer, 3);
    fill(&p, 0, TACIT_SPLIT_1D);
    fill(&p, 1, TACIT_SPLIT_1D);
    plan_task(&p, step(half, 0, 1, tacit_neighborhood(1, 0, 0)));
    plan_task(&p,
              (gen_task){ .range = range,
                          .pure = true,
                          .access = { plan_read(1, tacit_one_to_one()),
                                      plan_write(2, tacit_components(tacit_dim(0), tacit_full(), tacit_full())) } });
    expect(&p, 1,
           "send 0 A [100,101)x[0,4); send 2 A [199,200)x[0,4); receive 0 A [99,100)x[0,4); "
           "receive 2 A [200,201)x[0,4); execute [100,101)x[0,4)+[199,200)x[0,4)+[101,199)x[0,4); "
           "execute [100,101)x[0,8)+[199,200)x[0,8)+[101,199)x[0,8)");
    all_agree(&p);
    plan_fini(&p);
}

/* Items [1,31): the first and the last element stay what they were, and come by no message that nobody needs. */
static void inner_items(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(32);
    start(&p, 4, 2, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    fill(&p, 1, TACIT_SPLIT_1D);
    for (int i = 0; i < 2; i++) {
        gen_task t = step(tacit_range1(30), i, 1 - i, tacit_neighborhood(1, 0, 0));
        t.offset[0] = 1;
        plan_task(&p, t);
    }
    expect(&p, 0, "send 1 A [7,8); receive 1 A [8,11); execute [1,10); execute [1,9)");
    all_agree(&p);
    plan_fini(&p);
}

/* A coarse buffer and a fine one: margins are multiples of what both need. */
static void up_and_down(void **state)
{
    (void)state;
    plan p;
    const plan_setup setup = { .nodes = 4, .only = -1, .collectives = TI_COLLECTIVES_OFF, .latency_tasks = 2 };
    const gen_buffer buffer[] = { plan_buffer(tacit_range1(64), false), plan_buffer(tacit_range1(32), false) };
    tacit_component fine = tacit_dim_scaled(0, 2, 1, 1, 1);
    plan_start(&p, &setup, buffer, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    plan_task(&p, step(tacit_range1(32), 0, 1, tacit_components(fine, tacit_full(), tacit_full())));
    plan_task(&p, (gen_task){ .range = tacit_range1(64),
                              .pure = true,
                              .granularity = { 2 },
                              .access = { plan_read(1, tacit_components(tacit_dim_scaled(0, 1, 2, 1, 1), tacit_full(),
                                                                        tacit_full())),
                                          plan_write(0, tacit_one_to_one()) } });
    expect(&p, 1,
           "send 0 A [16,19); send 2 A [29,32); receive 0 A [13,16); receive 2 A [32,35); "
           "execute [7,17); execute [16,32)");
    all_agree(&p);
    plan_fini(&p);
}

/* What closes a window: a task that is not pure, one that reads all, one that is split otherwise, a fence. */
static void closed_early(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(32);
    start(&p, 4, 8, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    plan_task(&p, step(range, 0, 1, tacit_neighborhood(1, 0, 0)));
    expect_nothing(&p);
    fill(&p, 0, TACIT_SPLIT_1D);
    expect(&p, 0, "send 1 A [7,8); receive 1 A [8,9); execute [7,8)+[0,7); execute [0,8)");
    plan_task(&p, step(range, 0, 1, tacit_neighborhood(1, 0, 0)));
    plan_task(&p, step(range, 1, 0, tacit_all()));
    expect(&p, 0, "send 1 A [7,8); receive 1 A [8,9); execute [7,8)+[0,7)");
    gen_task coarse = step(range, 0, 1, tacit_neighborhood(1, 0, 0));
    coarse.granularity[0] = 11;
    plan_task(&p, coarse);
    expect(&p, 0,
           "send 1 B [0,8); send 2 B [0,8); send 3 B [0,8); receive 1 B [8,16); receive 2 B [16,24); "
           "receive 3 B [24,32); execute [0,8)");
    plan_fence(&p, 1, (gen_box){ { 0, 0, 0 }, { 1, 1, 1 } });
    expect(&p, 3, "send 2 A [24,32); receive 0 B [0,1); fence [0,1)");
    all_agree(&p);
    plan_fini(&p);
}

/* A margin that is longer than a chunk would be more redundant work than work. */
static void too_wide(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(16);
    start(&p, 4, 8, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < 3; i++) {
        plan_task(&p, step(range, i % 2, 1 - i % 2, tacit_neighborhood(2, 0, 0)));
        expect_nothing(&p);
    }
    plan_task(&p, step(range, 1, 0, tacit_neighborhood(2, 0, 0)));
    expect(&p, 0,
           "send 1 A [0,4); send 2 A [2,4); receive 1 A [4,8); receive 2 A [8,10); "
           "execute [0,8); execute [0,6); execute [0,4)");
    all_agree(&p);
    plan_fini(&p);
}

/* Windows that come again are replayed, and need no chunk to be looked at. */
static void again(void **state)
{
    (void)state;
    plan p;
    const tacit_range range = tacit_range1(64);
    start(&p, 4, 4, range, 2);
    fill(&p, 0, TACIT_SPLIT_1D);
    uint64_t messages = 0, replayed = 0;
    for (int i = 0; i < 64; i++) {
        p.shape = 1 + (uint64_t)(i % 2);
        plan_task(&p, step(range, i % 2, 1 - i % 2, tacit_neighborhood(1, 0, 0)));
        messages += p.node[1].messages;
        assert_true(i < 48 || p.node[1].evaluated == 0);
        replayed += i == 47 ? p.node[1].replayed : 0;
    }
    assert_int_equal(messages, 16 * 4);
    assert_int_equal(p.node[1].replayed, replayed + (uint64_t)2 * 16);
    all_agree(&p);
    plan_fini(&p);
}

/* The same of custom mappers, which are asked nothing new, and of windows in stages, along one dimension and two. */
static void again_whatever_it_was(void **state)
{
    enum { STEPS = 96, ROUND = 4, KNOWN = 80 };
    (void)state;
    int calls = 0, *counter = &calls, at_known = 0;
    const ti_custom_mapper mapper = { .fn = coupled, .user = &counter, .answers = ti_custom_answers_create() };
    const tacit_mapper box = tacit_neighborhood(1, 1, 0);
    const struct {
        bool staged;
        int split;
        tacit_range range;
        tacit_mapper mapper;
    } kind[] = { { false, TACIT_SPLIT_1D, tacit_range1(64), tacit_custom(0) },
                 { true, TACIT_SPLIT_1D, tacit_range1(64), tacit_custom(0) },
                 { false, TACIT_SPLIT_1D, tacit_range1(64), tacit_periodic(1, 0, 0) },
                 { true, TACIT_SPLIT_1D, tacit_range1(64), tacit_periodic(1, 0, 0) },
                 { true, TACIT_SPLIT_1D, tacit_range2(64, 5), box },
                 { true, TACIT_SPLIT_2D, tacit_range2(48, 48), box } };
    for (size_t k = 0; k < TI_COUNT(kind); k++) {
        plan p;
        const gen_buffer buffer[] = { plan_buffer(kind[k].range, false), plan_buffer(kind[k].range, false) };
        const plan_setup setup = { .nodes = 4,
                                   .only = -1,
                                   .collectives = TI_COLLECTIVES_OFF,
                                   .horizon_step = 1000,
                                   .latency_tasks = ROUND,
                                   .latency_staged = kind[k].staged,
                                   .custom = &mapper,
                                   .customs = 1 };
        plan_start(&p, &setup, buffer, 2);
        fill(&p, 0, kind[k].split);
        uint64_t replayed = 0;
        for (int i = 0; i < STEPS; i++) {
            p.shape = 1 + (uint64_t)(i % 2);
            gen_task t = step(kind[k].range, i % 2, 1 - i % 2, kind[k].mapper);
            t.split = kind[k].split;
            plan_task(&p, t);
            assert_true(i < KNOWN || p.node[1].evaluated == 0);
            replayed = i + 1 == KNOWN ? p.node[1].replayed : replayed;
            at_known = i + 1 == KNOWN ? calls : at_known;
        }
        assert_true(calls == at_known && calls > 0 && calls < 200);
        assert_int_equal(p.node[1].replayed - replayed, 2 * (STEPS - KNOWN));
        all_agree(&p);
        plan_fini(&p);
    }
    ti_custom_answers_destroy(mapper.answers);
}

/* ---- what the report says */

enum { REPORTED_NODE = 1, REPORTED_WINDOW = 2, REPEATED = 4 };

static int count_receives(const char *text)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, "receive ")); at++) {
        count++;
    }
    return count;
}

/* Pairs of steps that are a window, of which the first also reads a part of C that one node has written. Lookahead
 * holds that one, in case that others read more of it, and all that follows, again and again: C is written anew.
 * `at_end`: nothing else makes the lookahead's window close before the program ends. Returns what the node receives. */
static int run_reported(int tasks, bool staged, int collectives, bool at_end, int64_t *saved)
{
    const tacit_range range = tacit_range1(64);
    const plan_setup setup = { .nodes = 4,
                               .only = REPORTED_NODE,
                               .collectives = collectives,
                               .horizon_step = 1000,
                               .latency_tasks = tasks,
                               .latency_staged = staged };
    const gen_buffer buffer[] = { plan_buffer(range, false), plan_buffer(range, false), plan_buffer(range, false) };
    int receives = 0;
    plan p;
    plan_start(&p, &setup, buffer, 3);
    fill(&p, 0, TACIT_SPLIT_1D);
    for (int i = 0; i < REPEATED * REPORTED_WINDOW; i++) {
        gen_task t = step(range, i % 2, 1 - i % 2, tacit_neighborhood(1, 0, 0));
        if (i % REPORTED_WINDOW == 0 && (i == 0 || !at_end)) {
            fill(&p, 2, TACIT_SPLIT_1D);
            receives += count_receives(plan_text(&p, 0));
        }
        if (i % REPORTED_WINDOW == 0) {
            t.access[2] = plan_read(2, tacit_fixed(tacit_box1(0, 3)));
        }
        plan_task(&p, t);
        receives += count_receives(plan_text(&p, 0));
    }
    plan_fence(&p, 1, (gen_box){ { 0, 0, 0 }, { 1, 1, 1 } });
    receives += count_receives(plan_text(&p, 0));
    ti_strbuf report = { 0 };
    ti_explain_text(p.explain, &p.node[0].system, &report);
    *saved = 0;
    for (const char *at = report.text; (at = strstr(at, " messages less to receive")); at++) {
        const char *number = at;
        while (number[-1] != ' ') {
            number--;
        }
        *saved += atoll(number);
    }
    ti_strbuf_fini(&report);
    plan_fini(&p);
    return receives;
}

/* The messages that windows have saved are those that are received without them, and are not with them; whenever
 * lookahead lets their tasks go. */
static void saved_messages_are_counted(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        const int collectives = kind & 1 ? TI_COLLECTIVES_LOOKAHEAD : TI_COLLECTIVES_OFF;
        int64_t saved, none;
        const int with = run_reported(REPORTED_WINDOW, kind & 2, collectives, kind & 4, &saved);
        const int without = run_reported(0, false, collectives, kind & 4, &none);
        assert_true(with < without);
        assert_int_equal(saved, without - with);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_messages_are_counted),
        cmocka_unit_test(hints_close_windows),
        cmocka_unit_test(cut_in_pieces),
        cmocka_unit_test(heat_in_stages),
        cmocka_unit_test(in_place_in_stages),
        cmocka_unit_test(stages_in_two_dimensions),
        cmocka_unit_test(not_in_stages),
        cmocka_unit_test(sparse_rows),
        cmocka_unit_test(sparse_rows_in_stages),
        cmocka_unit_test(ring),
        cmocka_unit_test(ring_in_stages),
        cmocka_unit_test(table_in_stages),
        cmocka_unit_test(whole_rows),
        cmocka_unit_test(heat),
        cmocka_unit_test(star_in_two_dimensions),
        cmocka_unit_test(in_place),
        cmocka_unit_test(inner_items),
        cmocka_unit_test(up_and_down),
        cmocka_unit_test(closed_early),
        cmocka_unit_test(too_wide),
        cmocka_unit_test(again),
        cmocka_unit_test(again_whatever_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
