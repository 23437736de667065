/* Windows in tiles: which kernels one node plans, in which order, what of it is known when a window comes again, and
 * what keeps a window from it. Nothing is executed. */
#include "lower.h"
#include "plan/command/graph.h"
#include "plan/instruction/graph.h"
#include "plan/task/graph.h"

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <limits.h>

enum { POINTS = 48, ELEMENT = 8 };

typedef struct run {
    ti_system system;
    lowering lowering;
    gen_program *program;
    ti_task_graph *tasks;
    ti_command_graph *commands;
    ti_instruction_graph *graph;
    uint64_t first; /* task of the window at hand */
    ti_strbuf text; /* its kernels: number of the task, and items */
} run;

/* Two buffers that change each other: by tasks 0 and 1 of the pool. */
static void start(run *r, uint64_t bytes, size_t wide)
{
    memset(r, 0, sizeof(*r));
    r->system = (ti_system){ .num_nodes = 1,
                             .local_nodes = 1,
                             .devices = 1,
                             .memories = 1,
                             .workers = 1,
                             .total_workers = 1,
                             .horizon_step = 1000,
                             .horizon_front = 1000,
                             .latency_tasks = 3,
                             .latency_horizons = INT_MAX,
                             .latency_tiles = true,
                             .tile_bytes = bytes };
    r->program = TI_NEW(gen_program);
    r->program->nodes = 1;
    for (int b = 0; b < 2; b++) {
        ti_vec_push(&r->program->buffer,
                    ((gen_buffer){ .range = tacit_range1(POINTS), .elem_size = ELEMENT, .initialised = true }));
        gen_task task = { .range = tacit_range1(POINTS), .accesses = 2, .place = -1, .pure = true };
        task.access[0] = (gen_access){ .buffer = b, .mode = TACIT_READ, .mapper = tacit_neighborhood(wide, 0, 0) };
        task.access[1] = (gen_access){ .buffer = 1 - b, .mode = TACIT_UPDATE, .mapper = tacit_one_to_one() };
        ti_vec_push(&r->program->task, task);
    }
    lower_init(&r->lowering, r->program);
    r->lowering.shapes = true;
    r->tasks = ti_task_graph_create(&r->system);
    r->commands = ti_command_graph_create(&r->system);
    r->graph = ti_instruction_graph_create(&r->system);
}

static void fini(run *r)
{
    ti_instruction_graph_destroy(r->graph);
    ti_command_graph_destroy(r->commands);
    ti_task_graph_destroy(r->tasks);
    lower_fini(&r->lowering);
    gen_destroy(r->program);
    ti_strbuf_fini(&r->text);
}

static void see(run *r, ti_instruction_batch batch)
{
    for (size_t i = 0; i < batch.count; i++) {
        const ti_instruction *k = batch.instruction[i];
        char text[TI_BOX_TEXT];
        if (k->kind != TI_INSTRUCTION_KERNEL) {
            continue;
        }
        r->first = r->first ? r->first : k->task->id;
        ti_strbuf_add(&r->text, "%s%d%s", r->text.length ? " " : "", (int)(k->task->id - r->first),
                      ti_box_format(&k->as.kernel.chunk, 1, text));
    }
}

static void take(run *r, gen_step_kind kind, int index)
{
    const gen_step step = { .kind = kind, .index = index };
    const ti_task *out[TI_TASK_GRAPH_BATCH];
    lower_begin(&r->lowering, &step);
    size_t count = ti_task_graph_add(r->tasks, lower_step(&r->lowering, &step, r->tasks), out);
    for (size_t t = 0; t < count; t++) {
        see(r, ti_instruction_graph_add(r->graph, ti_command_graph_add(r->commands, &out[t], 1)));
    }
    lower_end(&r->lowering, &step);
}

/* The next window of three. */
static void window(run *r, int *step)
{
    ti_strbuf_clear(&r->text);
    r->first = 0;
    for (int i = 0; i < 3; i++) {
        assert_string_equal(ti_strbuf_text(&r->text), "");
        take(r, GEN_TASK, (*step)++ % 2);
    }
}

static const char in_tiles[] = "0[0,12) 1[0,11) 2[0,10) 0[12,24) 1[11,23) 2[10,22) "
                               "0[24,36) 1[23,35) 2[22,34) 0[36,48) 1[35,48) 2[34,48)";

/* A tile moves back by one with every task; windows that come again are not cut again. */
static void tiles_move_back(void **state)
{
    (void)state;
    run r;
    int step = 0;
    start(&r, 2 * ELEMENT * 14, 1);
    take(&r, GEN_CREATE, 0);
    take(&r, GEN_CREATE, 1);
    for (int w = 0; w < 6; w++) {
        window(&r, &step);
        assert_string_equal(ti_strbuf_text(&r.text), in_tiles);
        ti_instruction_counts counts = ti_instruction_graph_counts(r.graph);
        assert_int_equal(counts.tiles, 4 * (w + 1));
        assert_int_equal(counts.tilings_replayed, w > 1 ? w - 1 : 0); /* odd ones begin with the other buffer */
    }
    fini(&r);
}

/* There are none if all fits, or if what moves is more than a tile has. */
static void no_tiles(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        size_t wide;
        const char *text;
    } runs[] = { { 2 * ELEMENT * POINTS, 1, "0[0,48) 1[0,48) 2[0,48)" },
                 { 2 * ELEMENT * 3, 2, "0[0,48) 1[0,48) 2[0,48)" },
                 { 2 * ELEMENT * 14, POINTS, "0[0,48) 1[0,48) 2[0,48)" } };
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        run r;
        int step = 0;
        start(&r, runs[i].bytes, runs[i].wide);
        take(&r, GEN_CREATE, 0);
        take(&r, GEN_CREATE, 1);
        window(&r, &step);
        assert_string_equal(ti_strbuf_text(&r.text), runs[i].text);
        assert_int_equal(ti_instruction_graph_counts(r.graph).tiles, 0);
        fini(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(tiles_move_back), cmocka_unit_test(no_tiles) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
