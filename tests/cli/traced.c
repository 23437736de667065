/* Programs whose traces are looked at. See trace_test.py.
 *
 *   traced names                     tasks and buffers with odd names
 *   traced fail NODE                 a ring of messages; NODE ends its process in the middle
 *   traced slow NODE                 the same; kernels of NODE take several times as long
 *   traced pause                     the same; the program does nothing for a while when tasks wait for memory
 *   traced patterns                  collectives of every pattern, each twice
 *   traced contexts COUNT            so many contexts; the first lives as long as the others; context k has a task
 *                                    called taskK
 *   traced relays                    placed tasks on all nodes read what node 0 has written, of a short buffer and of
 *                                    a long one in turn
 *   traced write PREFIX NODES TASKS [DROPPED]   records of a run that there never was: NODES clocks that drift apart */
#include "tacit/tacit.h"
#include "trace/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 4000, STEPS = 60 };

typedef struct arguments {
    int step, node;
    int fails; /* else it is slow */
    int pauses;
} arguments;

static void fill(const tacit_launch *launch)
{
    const tacit_view *v = &launch->view[0];
    for (size_t i = launch->chunk.min[0]; i < launch->chunk.max[0]; i++) {
        TACIT_AT1(double, *v, i) = (double)i;
    }
}

static void move(const tacit_launch *launch)
{
    const arguments *a = launch->args;
    if (launch->node == a->node && a->fails && a->step == STEPS / 2) {
        usleep(100000); /* the recorder has written what came before */
        _exit(9);
    }
    if (launch->node == a->node && !a->fails) {
        usleep(15000); /* longer than anything else, also where others want the cores; the other nodes can have them */
    }
    const tacit_view *from = &launch->view[0], *to = &launch->view[1];
    for (size_t i = launch->chunk.min[0]; i < launch->chunk.max[0]; i++) {
        TACIT_AT1(double, *to, i) = TACIT_GET1(double, *from, i ? i - 1 : i);
    }
}

static tacit_context *ctx; /* for errors */

static int check(tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "traced: %s: %s\n", tacit_status_name(status), tacit_last_error(ctx));
    }
    return status == TACIT_OK ? 0 : 1;
}

static int ring(const char *first, const char *second, const char *task, arguments a)
{
    tacit_buffer *buffer[2];
    int bad = check(tacit_init(NULL, &ctx));
    const char *names[] = { first, second };
    for (int i = 0; i < 2 && !bad; i++) {
        const tacit_buffer_desc desc = { .name = names[i], .range = tacit_range1(N), .elem_size = sizeof(double) };
        bad |= check(tacit_buffer_create(ctx, &desc, &buffer[i]));
    }
    const tacit_task start = { .name = "fill",
                               .range = tacit_range1(N),
                               .kernel.host = fill,
                               .access = { tacit_write(buffer[0], tacit_one_to_one()) } };
    bad = bad || check(tacit_submit(ctx, &start));
    if (a.pauses) { /* longer than a window of allocations stays open */
        usleep(100000);
    }
    for (a.step = 0; a.step < STEPS && !bad; a.step++) {
        const tacit_task step = { .name = task,
                                  .range = tacit_range1(N),
                                  .kernel.host = move,
                                  .args = &a,
                                  .args_size = sizeof(a),
                                  .access = { tacit_read(buffer[a.step % 2], tacit_neighborhood(1, 0, 0)),
                                              tacit_write(buffer[1 - a.step % 2], tacit_one_to_one()) } };
        bad = check(tacit_submit(ctx, &step));
    }
    return bad || check(tacit_finalize(ctx));
}

/* ---- collectives */

enum { ROWS = 24, COLUMNS = 60 };

static void touch(const tacit_launch *launch)
{
    for (int k = 0; k < launch->num_views; k++) {
        const tacit_view *v = &launch->view[k];
        for (size_t i = 0; v->mode == TACIT_REDUCE && i < COLUMNS; i++) {
            TACIT_AT1(double, *v, i) += 1;
        }
    }
}

static int submit(const char *name, size_t rows, size_t columns, tacit_access first, tacit_access second)
{
    const tacit_task task = { .name = name,
                              .range = columns ? tacit_range2(rows, columns) : tacit_range1(rows),
                              .place = rows == 1 ? tacit_place_node(0) : (tacit_place){ 0 },
                              .kernel.host = touch,
                              .access = { first, second } };
    return check(tacit_submit(ctx, &task));
}

/* What one task writes the next one reads in another way. */
static int patterns(void)
{
    const tacit_mapper own = tacit_one_to_one(), all = tacit_all();
    tacit_buffer *a, *b, *sum;
    int bad = check(tacit_init(NULL, &ctx));
    const tacit_buffer_desc two = { .name = "a", .range = tacit_range2(ROWS, COLUMNS), .elem_size = sizeof(double) };
    const tacit_buffer_desc turned = { .name = "b", .range = tacit_range2(COLUMNS, ROWS), .elem_size = sizeof(double) };
    const tacit_buffer_desc one = { .name = "sum", .range = tacit_range1(COLUMNS), .elem_size = sizeof(double) };
    bad = bad || check(tacit_buffer_create(ctx, &two, &a)) || check(tacit_buffer_create(ctx, &turned, &b)) ||
          check(tacit_buffer_create(ctx, &one, &sum));
    for (int k = 0; k < 2 && !bad; k++) {
        const tacit_access alone = tacit_write(a, all), parts = tacit_write(a, own);
        bad = submit("split", ROWS, COLUMNS, parts, (tacit_access){ 0 }) ||
              submit("all-gather", ROWS, 0, tacit_read(a, all), (tacit_access){ 0 }) ||
              submit("split", ROWS, COLUMNS, parts, (tacit_access){ 0 }) ||
              submit("gather", 1, 0, tacit_read(a, all), (tacit_access){ 0 }) ||
              submit("alone", 1, 0, alone, (tacit_access){ 0 }) ||
              submit("broadcast", ROWS, 0, tacit_read(a, all), (tacit_access){ 0 }) ||
              submit("alone", 1, 0, alone, (tacit_access){ 0 }) ||
              submit("scatter", ROWS, COLUMNS, tacit_read(a, own), (tacit_access){ 0 }) ||
              submit("split", ROWS, COLUMNS, parts, (tacit_access){ 0 }) ||
              submit("all-to-all", COLUMNS, ROWS, tacit_read(a, tacit_transposed(1, 0, 2)), tacit_write(b, own)) ||
              submit("add", ROWS, 0, tacit_reduce(sum, tacit_sum(TACIT_DOUBLE)), (tacit_access){ 0 }) ||
              submit("all-reduce", ROWS, 0, tacit_read(sum, all), (tacit_access){ 0 });
    }
    return bad || check(tacit_finalize(ctx));
}

/* ---- broadcasts: what node 0 has written while it slept goes to all others at once */

static void write_late(const tacit_launch *launch)
{
    usleep(2000); /* meanwhile the tasks that read are planned */
    memset(launch->view[0].data, launch->node, launch->view[0].box.max[0]);
}

static void look(const tacit_launch *launch)
{
    (void)launch;
}

static int relays(void)
{
    enum { ROUNDS = 20, SHORT = 1000, LONG = 300000 };
    tacit_buffer *buffer[2];
    int bad = check(tacit_init(NULL, &ctx));
    for (int i = 0; i < 2 && !bad; i++) {
        const tacit_buffer_desc desc = { .name = i ? "long" : "short",
                                         .range = tacit_range1(i ? LONG : SHORT),
                                         .elem_size = 1 };
        bad = check(tacit_buffer_create(ctx, &desc, &buffer[i]));
    }
    for (int k = 0; k < ROUNDS && !bad; k++) {
        tacit_task task = { .name = "write",
                            .range = tacit_range1(1),
                            .place = tacit_place_node(0),
                            .kernel.host = write_late,
                            .access = { tacit_write(buffer[k % 2], tacit_all()) } };
        bad = check(tacit_submit(ctx, &task));
        for (int q = 1; q < tacit_num_nodes(ctx) && !bad; q++) {
            task.name = "look";
            task.place = tacit_place_node(q);
            task.kernel.host = look;
            task.access[0] = tacit_read(buffer[k % 2], tacit_all());
            bad = check(tacit_submit(ctx, &task));
        }
    }
    return bad || check(tacit_finalize(ctx));
}

/* ---- records by hand */

static void add(ti_recorder *r, int ring, ti_trace_record record)
{
    ti_trace_add(ti_recorder_ring(r, ring), &record);
}

/* Node q's clock shows (1 + q ppm) times the time of node 0, and q seconds more. */
static uint64_t clock_of(int q, double time)
{
    return (uint64_t)(time * (1 + 1e-6 * q) + 1e9 * q);
}

enum { TASK_NS = 20000, BEGIN = 1000000000 };

static void write_task(ti_recorder *r, int q, int nodes, int k)
{
    double t = BEGIN + (double)k * TASK_NS;
    uint32_t id = (uint32_t)(3 * k), task = (uint32_t)k + 1;
    uint32_t name = ti_recorder_name(r, k % 10 ? "compute" : "collect </script> \"now\" \xc3\xa4");
    add(r, TI_TRACE_PROGRAM,
        (ti_trace_record){
            .start = clock_of(q, t), .end = clock_of(q, t + 300), .task = task, .name = name, .kind = TI_TRACE_TASK });
    add(r, TI_TRACE_PLANNER,
        (ti_trace_record){
            .start = clock_of(q, t + 400), .end = clock_of(q, t + 900), .task = task, .kind = TI_TRACE_COMMANDS });
    add(r, TI_TRACE_EXECUTOR,
        (ti_trace_record){ .start = clock_of(q, t + 1000),
                           .end = clock_of(q, t + 6000),
                           .value = 4096,
                           .task = task,
                           .id = id + 1,
                           .number = (uint32_t)k,
                           .name = 1,
                           .kind = TI_TRACE_RECEIVE,
                           .where = (uint32_t)((q + nodes - 1) % nodes) });
    add(r, TI_TRACE_EXECUTOR,
        (ti_trace_record){ .start = clock_of(q, t + 3000),
                           .end = clock_of(q, t + 5000),
                           .value = 4096,
                           .task = task,
                           .id = id + 2,
                           .number = (uint32_t)k,
                           .name = 1,
                           .kind = TI_TRACE_SEND,
                           .where = (uint32_t)((q + 1) % nodes) });
    add(r, TI_TRACE_EXECUTOR,
        (ti_trace_record){ .start = clock_of(q, t + 6100),
                           .end = clock_of(q, t + 18000),
                           .value = clock_of(q, t + 6000),
                           .task = task,
                           .id = id + 3,
                           .by = id + 1,
                           .kind = TI_TRACE_KERNEL });
    add(r, TI_TRACE_WORKER,
        (ti_trace_record){
            .start = clock_of(q, t + 6200), .end = clock_of(q, t + 17900), .id = id + 3, .kind = TI_TRACE_PART });
}

static void nobody(void *user)
{
    (void)user;
}

static int write_run(const char *prefix, int nodes, int tasks, int dropped)
{
    double end = BEGIN + (double)tasks * TASK_NS;
    for (int q = 0; q < nodes; q++) {
        ti_strbuf why = { 0 };
        ti_recorder *r = ti_recorder_create(&(ti_recorder_desc){ .prefix = prefix,
                                                                 .node = q,
                                                                 .nodes = nodes,
                                                                 .rings = TI_TRACE_WORKER + 1,
                                                                 .capacity = 1024,
                                                                 .start = clock_of(q, BEGIN) },
                                            &why);
        if (!r) {
            fprintf(stderr, "%s\n", why.text);
            return 1;
        }
        ti_recorder_buffer(r, 0, "halo <b>");
        for (int p = 0; p < nodes && q == 0; p++) {
            const ti_trace_clock clock[] = {
                { .time = BEGIN, .offset = (int64_t)(clock_of(p, BEGIN) - BEGIN), .error = 500, .node = (uint32_t)p },
                { .time = (uint64_t)end,
                  .offset = (int64_t)(clock_of(p, end) - (uint64_t)end),
                  .error = 500,
                  .node = (uint32_t)p },
            };
            ti_recorder_clocks(r, clock, 2);
        }
        for (int k = 0; k < tasks; k++) {
            write_task(r, q, nodes, k);
        }
        ti_trace_ring *ring = ti_recorder_ring(r, TI_TRACE_PROGRAM);
        ti_recorder_flush(r);
        ring->hurry = nobody; /* nobody empties it any more */
        for (int k = 0; k < dropped + (dropped ? 1024 : 0); k++) {
            add(r, TI_TRACE_PROGRAM,
                (ti_trace_record){ .start = clock_of(q, end), .end = clock_of(q, end), .kind = TI_TRACE_WAIT });
        }
        ti_recorder_destroy(r, NULL);
    }
    return 0;
}

static int use(const char *task)
{
    tacit_buffer *buffer;
    const tacit_buffer_desc desc = { .name = "x", .range = tacit_range1(N), .elem_size = sizeof(double) };
    const tacit_range range = desc.range;
    return check(tacit_buffer_create(ctx, &desc, &buffer)) ||
           check(tacit_submit(ctx, &(tacit_task){ .name = "fill",
                                                  .range = range,
                                                  .kernel.host = fill,
                                                  .access = { tacit_write(buffer, tacit_one_to_one()) } })) ||
           check(tacit_submit(ctx, &(tacit_task){ .name = task,
                                                  .range = range,
                                                  .kernel.host = touch,
                                                  .access = { tacit_read(buffer, tacit_all()) } })) ||
           check(tacit_wait(ctx));
}

/* Each with a task of its own, one after the other; the first ends last, since MPI ends with it. */
static int contexts(int count)
{
    tacit_context *first = NULL;
    int bad = 0;
    for (int k = 1; k <= count && !bad; k++) {
        char task[32];
        snprintf(task, sizeof(task), "task%d", k);
        bad = check(tacit_init(NULL, &ctx)) || use(task) || (first && check(tacit_finalize(ctx)));
        first = first ? first : ctx;
    }
    return bad || check(tacit_finalize(first));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "names") == 0) {
        return ring("b'1 \"<&>\"", "b2 </script><script>alert(1)</script>", "m\xc3\xb6ve \\ \x01 \xff \"</script>\"",
                    (arguments){ .node = -1 });
    }
    if (strcmp(what, "fail") == 0 && argc == 3) {
        return ring("even", "odd", "move", (arguments){ .node = atoi(argv[2]), .fails = 1 });
    }
    if (strcmp(what, "slow") == 0 && argc == 3) {
        return ring("even", "odd", "move", (arguments){ .node = atoi(argv[2]) });
    }
    if (strcmp(what, "pause") == 0) {
        return ring("even", "odd", "move", (arguments){ .node = -1, .pauses = 1 });
    }
    if (strcmp(what, "patterns") == 0) {
        return patterns();
    }
    if (strcmp(what, "contexts") == 0 && argc == 3) {
        return contexts(atoi(argv[2]));
    }
    if (strcmp(what, "relays") == 0) {
        return relays();
    }
    if (strcmp(what, "write") == 0 && argc >= 5) {
        return write_run(argv[2], atoi(argv[3]), atoi(argv[4]), argc > 5 ? atoi(argv[5]) : 0);
    }
    return 2;
}
