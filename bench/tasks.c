/* tasks: what a task costs. Planning by stage, and empty tasks from submission to the end.
 *
 * Planning: the stages are called directly, as in a dry run: nothing is executed, and what a horizon covers counts as
 * executed when the next block is planned. One task updates a buffer; or reads one (with neighbours) and writes
 * another, in turns; or reads a third one too. The command stage is timed alone, and together with the instruction
 * stage on a second pair of graphs; the difference is the latter's.
 *
 * Empty tasks: one access of update on one element. In a chain all update the same buffer; independent ones update 1
 * 024 buffers of one element in turn; `elements` are 1 024 elements of one buffer. OpenMP tasks with `depend` and,
 * where it was found, StarPU run the same number of empty functions with the same dependencies in the same process,
 * each right after tacit, in pairs. Reported are medians per task, of the submission alone and of everything, and the
 * median of the pairs' ratios with its 95 % interval by order statistics. */
#include "progress.h"

#include "base/clock.h"
#include "plan/command/graph.h"
#include "plan/instruction/graph.h"
#include "plan/task/graph.h"
#include "tacit/tacit.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef TACIT_BENCH_STARPU
#include <starpu.h>
#endif

enum { PAIRS = 31, WARM_UP = 3, PLACES = 1024, MOST_LISTED = 16 };
enum { BLOCK = 256, BLOCKS = 40, REPEATS = 31, CHUNK = 64 };

typedef struct options {
    bool json, planning, running;
    int tasks;
    int workers[MOST_LISTED], worker_counts;
    int nodes[MOST_LISTED], node_counts;
} options;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median, and the bounds of its 95 % interval: the order statistics around it. Sorts. */
typedef struct spread {
    double median, low, high;
} spread;

static spread spread_of(double *value, int n)
{
    double half = 0.98 * sqrt((double)n);
    int low = (int)floor(n / 2.0 - half), high = (int)ceil(n / 2.0 + half);
    qsort(value, (size_t)n, sizeof(double), by_value);
    return (spread){ value[n / 2], value[low < 0 ? 0 : low], value[high > n - 1 ? n - 1 : high] };
}

/* ---------------------------------------------------------------- planning */

/* The three stages of one node. `graph` is NULL where commands are timed alone. */
typedef struct planner {
    ti_system system;
    ti_task_graph *tasks;
    ti_command_graph *commands[2];
    ti_instruction_graph *graph;
    ti_buffer_info buffer[3];
    ti_mapper each, near, all;
    uint64_t planned_point, released_point; /* ids of horizons */
    uint64_t commands_made, instructions_made;
} planner;

typedef struct planning_result {
    int accesses, nodes;
    spread task, command, instruction, sum;
    double commands, instructions; /* per task */
} planning_result;

static void plan_first(planner *p, const ti_task *task)
{
    ti_command_batch batch = ti_command_graph_add(p->commands[1], &task, 1);
    p->commands_made += batch.count;
    p->instructions_made += ti_instruction_graph_add(p->graph, batch).count;
}

static void note_point(planner *p, const ti_task *task)
{
    if (task->kind == TI_TASK_HORIZON) {
        p->planned_point = task->id;
    }
}

static void create_buffers(planner *p, int64_t items)
{
    static char contents[1]; /* never read: nothing is executed */
    for (uint32_t i = 0; i < 3; i++) {
        const ti_task *made[TI_TASK_GRAPH_BATCH];
        p->buffer[i] = (ti_buffer_info){ .slot = i,
                                         .dims = 1,
                                         .serial = i + 1,
                                         .name = "buffer",
                                         .extent = { { 0, 0, 0 }, { items, 1, 1 } },
                                         .elem_size = 8 };
        ti_task *task = ti_task_graph_new(p->tasks, TI_TASK_CREATE, ti_task_graph_shape(p->tasks, "buffer"));
        task->as.create.buffer = &p->buffer[i];
        task->as.create.init.memory = contents;
        size_t count = ti_task_graph_add(p->tasks, task, made);
        for (size_t k = 0; k < count; k++) {
            const ti_task *one = made[k];
            ti_command_graph_add(p->commands[0], &one, 1);
            plan_first(p, one);
            note_point(p, one);
        }
    }
}

static void setup_planner(planner *p, int nodes)
{
    memset(p, 0, sizeof(*p));
    p->system = (ti_system){ .node = nodes / 2,
                             .num_nodes = nodes,
                             .devices = 1,
                             .memories = 1,
                             .workers = 2,
                             .total_workers = 2 * nodes,
                             .horizon_step = 4,
                             .horizon_front = 64,
                             .lookahead = 8 };
    p->tasks = ti_task_graph_create(&p->system);
    p->commands[0] = ti_command_graph_create(&p->system);
    p->commands[1] = ti_command_graph_create(&p->system);
    p->graph = ti_instruction_graph_create(&p->system);
    const tacit_mapper each = tacit_one_to_one(), near = tacit_neighborhood(1, 0, 0),
                       all = tacit_fixed(tacit_box1(0, 1));
    ti_mapper part[TI_MAPPER_PARTS];
    ti_mapper_expand(&each, 1, part);
    p->each = part[0];
    ti_mapper_expand(&near, 1, part);
    p->near = part[0];
    ti_mapper_expand(&all, 1, part);
    p->all = part[0];
    create_buffers(p, (int64_t)nodes * CHUNK);
}

static void teardown_planner(planner *p)
{
    ti_instruction_graph_destroy(p->graph);
    ti_command_graph_destroy(p->commands[0]);
    ti_command_graph_destroy(p->commands[1]);
    ti_task_graph_destroy(p->tasks);
}

static void fill_access(ti_access *access, const ti_buffer_info *buffer, const ti_mapper *mapper, int mode)
{
    *access = (ti_access){ .buffer = buffer, .mapper = mapper, .mappers = 1, .mode = mode };
}

static ti_shape *make_shape(planner *p, int accesses, int step)
{
    ti_arena *arena = ti_task_graph_arena(p->tasks);
    ti_shape *shape = ti_task_graph_shape(p->tasks, "task");
    ti_access *access = TI_ARENA_ARRAY(arena, ti_access, (size_t)accesses);
    ti_mapper *mapper =
        ti_arena_alloc(arena, (size_t)accesses * sizeof(ti_mapper)); /* each has its copies, as in tacit_submit */
    mapper[0] = accesses == 1 ? p->each : p->near;
    fill_access(&access[0], &p->buffer[accesses == 1 ? 0 : step % 2], &mapper[0],
                accesses == 1 ? TACIT_UPDATE : TACIT_READ);
    if (accesses > 1) {
        mapper[1] = p->each;
        fill_access(&access[1], &p->buffer[1 - step % 2], &mapper[1], TACIT_WRITE);
    }
    if (accesses > 2) {
        mapper[2] = p->all;
        fill_access(&access[2], &p->buffer[2], &mapper[2], TACIT_READ);
    }
    shape->range = p->buffer[0].extent;
    shape->access = access;
    shape->accesses = (uint32_t)accesses;
    ti_shape_fill_footprints(shape, arena);
    return shape;
}

static size_t plan_tasks(planner *p, int accesses, const ti_task **out)
{
    size_t count = 0;
    ti_strbuf why = { 0 };
    for (int i = 0; i < BLOCK; i++) {
        const ti_shape *shape = make_shape(p, accesses, i);
        if (ti_task_graph_check(p->tasks, shape, &why) != TACIT_OK) {
            fprintf(stderr, "tasks: %s\n", ti_strbuf_text(&why));
            exit(EXIT_FAILURE);
        }
        count += ti_task_graph_add(p->tasks, ti_task_graph_new(p->tasks, TI_TASK_EXECUTE, shape), &out[count]);
    }
    return count;
}

/* Plan a block of tasks. Adds up nanoseconds. */
static void plan_block(planner *p, int accesses, uint64_t ns[3])
{
    const ti_task *made[BLOCK * TI_TASK_GRAPH_BATCH];
    uint64_t at[4];
    ti_task_graph_release(p->tasks, p->released_point);
    for (int i = 0; i < 2; i++) {
        ti_command_graph_release(p->commands[i], p->released_point);
    }
    ti_instruction_graph_release(p->graph, p->released_point);
    at[0] = ti_clock_ns();
    size_t count = plan_tasks(p, accesses, made);
    at[1] = ti_clock_ns();
    for (size_t i = 0; i < count; i++) {
        ti_command_graph_add(p->commands[0], &made[i], 1);
    }
    at[2] = ti_clock_ns();
    for (size_t i = 0; i < count; i++) {
        plan_first(p, made[i]);
    }
    p->instructions_made += ti_instruction_graph_close(p->graph).count; /* the block counts as executed next time */
    at[3] = ti_clock_ns();
    for (size_t i = 0; i < count; i++) {
        note_point(p, made[i]);
    }
    p->released_point = p->planned_point;
    for (int i = 0; i < 3; i++) {
        ns[i] += at[i + 1] - at[i];
    }
}

static planning_result measure_planning(int accesses, int nodes)
{
    planner p;
    double task[REPEATS], command[REPEATS], instruction[REPEATS], sum[REPEATS];
    const double tasks = (double)BLOCK * BLOCKS;
    setup_planner(&p, nodes);
    for (int r = -WARM_UP; r < REPEATS; r++) {
        uint64_t ns[3] = { 0, 0, 0 };
        p.commands_made = p.instructions_made = 0;
        for (int b = 0; b < BLOCKS; b++) {
            plan_block(&p, accesses, ns);
        }
        if (r >= 0) {
            task[r] = (double)ns[0] / tasks;
            command[r] = (double)ns[1] / tasks;
            instruction[r] = ((double)ns[2] - (double)ns[1]) / tasks;
            sum[r] = (double)(ns[0] + ns[2]) / tasks;
        }
    }
    planning_result result = { accesses,
                               nodes,
                               spread_of(task, REPEATS),
                               spread_of(command, REPEATS),
                               spread_of(instruction, REPEATS),
                               spread_of(sum, REPEATS),
                               (double)p.commands_made / tasks,
                               (double)p.instructions_made / tasks };
    teardown_planner(&p);
    return result;
}

/* ---------------------------------------------------------------- empty tasks */

typedef enum pattern { CHAIN, INDEPENDENT, ELEMENTS, PATTERNS } pattern;

static const char *const pattern_names[] = { "chain", "independent", "elements" };

/* Seconds per task. */
typedef struct timing {
    double submit, total;
} timing;

typedef struct bench {
    tacit_context *ctx;
    tacit_buffer *place[PLACES], *line;
    int tasks, workers;
#ifdef TACIT_BENCH_STARPU
    starpu_data_handle_t handle[PLACES];
#endif
    double value[PLACES];
} bench;

static double now(void)
{
    return 1e-9 * (double)ti_clock_ns();
}

/* Threads of the one that was measured last stop spinning. */
static void settle(void)
{
    const struct timespec pause = { 0, 10 * 1000 * 1000 };
    nanosleep(&pause, NULL);
}

static void must(const bench *b, tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "tasks: %s: %s\n", tacit_status_name(status), tacit_last_error(b->ctx));
        exit(EXIT_FAILURE);
    }
}

static void empty_kernel(const tacit_launch *launch)
{
    (void)launch;
}

static void setup_tacit(bench *b)
{
    const tacit_config config = { .workers = b->workers, .threads = TACIT_THREADS_ON };
    must(b, tacit_init(&config, &b->ctx));
    for (int i = 0; i < PLACES; i++) {
        const tacit_buffer_desc one = {
            .name = "place", .range = TACIT_RANGE(1), .elem_size = sizeof(double), .init = &b->value[i]
        };
        must(b, tacit_buffer_create(b->ctx, &one, &b->place[i]));
    }
    const tacit_buffer_desc line = {
        .name = "line", .range = TACIT_RANGE(PLACES), .elem_size = sizeof(double), .init = b->value
    };
    must(b, tacit_buffer_create(b->ctx, &line, &b->line));
}

static timing time_tacit(bench *b, pattern what)
{
    tacit_task task = { .name = "empty", .range = TACIT_RANGE(1), .kernel = { .host = empty_kernel } };
    double start = now();
    for (int i = 0; i < b->tasks; i++) {
        size_t at = (size_t)i % PLACES;
        if (what == ELEMENTS) {
            task.access[0] = tacit_update(b->line, tacit_fixed(tacit_box1(at, at + 1)));
        } else {
            task.access[0] = tacit_update(b->place[what == CHAIN ? 0 : at], tacit_one_to_one());
        }
        must(b, tacit_submit(b->ctx, &task));
    }
    double submitted = now();
    must(b, tacit_wait(b->ctx));
    return (timing){ (submitted - start) / b->tasks, (now() - start) / b->tasks };
}

static void empty_function(const double *value)
{
    __asm__ volatile("" : : "r"(value));
}

#ifdef _OPENMP
static const bool has_openmp = true;

static timing time_openmp(bench *b, pattern what)
{
    double start = 0, submitted = 0, done = 0;
#pragma omp parallel num_threads(b->workers)
#pragma omp single
    {
        start = now();
        for (int i = 0; i < b->tasks; i++) {
            double *value = &b->value[what == CHAIN ? 0 : i % PLACES];
#pragma omp task firstprivate(value) depend(inout : value[0])
            empty_function(value);
        }
        submitted = now();
#pragma omp taskwait
        done = now();
    }
    return (timing){ (submitted - start) / b->tasks, (done - start) / b->tasks };
}
#else
static const bool has_openmp = false;

static timing time_openmp(bench *b, pattern what)
{
    (void)b;
    (void)what;
    empty_function(NULL);
    return (timing){ 0, 0 };
}
#endif

#ifdef TACIT_BENCH_STARPU
static const bool has_starpu = true;

static void starpu_empty(void *buffers[], void *args)
{
    (void)buffers;
    (void)args;
}

static void setup_starpu(bench *b)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = b->workers;
    conf.ncuda = conf.nopencl = 0;
    setenv("STARPU_SILENT", "1", 0);
    if (starpu_init(&conf) != 0) {
        fprintf(stderr, "tasks: StarPU does not start\n");
        exit(EXIT_FAILURE);
    }
    for (int i = 0; i < PLACES; i++) {
        starpu_variable_data_register(&b->handle[i], STARPU_MAIN_RAM, (uintptr_t)&b->value[i], sizeof(double));
    }
    starpu_pause();
}

static void teardown_starpu(bench *b)
{
    starpu_resume();
    for (int i = 0; i < PLACES; i++) {
        starpu_data_unregister(b->handle[i]);
    }
    starpu_shutdown();
}

static timing time_starpu(bench *b, pattern what)
{
    static struct starpu_codelet codelet = {
        .cpu_funcs = { starpu_empty }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "empty"
    };
    starpu_resume();
    settle();
    double start = now();
    for (int i = 0; i < b->tasks; i++) {
        if (starpu_task_insert(&codelet, STARPU_RW, b->handle[what == CHAIN ? 0 : i % PLACES], 0) != 0) {
            exit(EXIT_FAILURE);
        }
    }
    double submitted = now();
    starpu_task_wait_for_all();
    double done = now();
    starpu_pause();
    return (timing){ (submitted - start) / b->tasks, (done - start) / b->tasks };
}
#else
static const bool has_starpu = false;

static void setup_starpu(bench *b)
{
    (void)b;
}

static void teardown_starpu(bench *b)
{
    (void)b;
}

static timing time_starpu(bench *b, pattern what)
{
    (void)b;
    (void)what;
    return (timing){ 0, 0 };
}
#endif

enum { TACIT, OPENMP, STARPU, SYSTEMS };

static const char *const system_names[] = { "tacit", "openmp", "starpu" };

typedef struct running_result {
    pattern what;
    int workers, tasks;
    spread submit[SYSTEMS], total[SYSTEMS]; /* seconds per task */
    spread ratio[SYSTEMS];                  /* tacit's total over that one's, by pairs */
} running_result;

static bool is_there(int system)
{
    return system == TACIT || (system == OPENMP ? has_openmp : has_starpu);
}

static timing time_system(bench *b, int system, pattern what)
{
    settle();
    return system == TACIT ? time_tacit(b, what) : system == OPENMP ? time_openmp(b, what) : time_starpu(b, what);
}

static running_result measure_running(bench *b, pattern what)
{
    running_result result = { .what = what, .workers = b->workers, .tasks = b->tasks };
    double submit[SYSTEMS][PAIRS], total[SYSTEMS][PAIRS], ratio[SYSTEMS][PAIRS];
    for (int pair = -WARM_UP; pair < PAIRS; pair++) {
        timing t[SYSTEMS] = { { 0, 0 } };
        for (int s = 0; s < SYSTEMS; s++) {
            t[s] = is_there(s) ? time_system(b, s, what) : (timing){ 0, 0 };
        }
        for (int s = 0; pair >= 0 && s < SYSTEMS; s++) {
            submit[s][pair] = t[s].submit;
            total[s][pair] = t[s].total;
            ratio[s][pair] = is_there(s) ? t[TACIT].total / t[s].total : 0;
        }
    }
    for (int s = 0; s < SYSTEMS; s++) {
        result.submit[s] = spread_of(submit[s], PAIRS);
        result.total[s] = spread_of(total[s], PAIRS);
        result.ratio[s] = spread_of(ratio[s], PAIRS);
    }
    return result;
}

/* ---------------------------------------------------------------- reports */

static json_t *spread_json(const spread *s, double unit)
{
    return json_pack("{s:f, s:f, s:f}", "median", s->median * unit, "low", s->low * unit, "high", s->high * unit);
}

static json_t *planning_json(const planning_result *r)
{
    return json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:f, s:f}", "accesses", r->accesses, "nodes", r->nodes, "task_ns",
                     spread_json(&r->task, 1), "command_ns", spread_json(&r->command, 1), "instruction_ns",
                     spread_json(&r->instruction, 1), "sum_ns", spread_json(&r->sum, 1), "commands_per_task",
                     r->commands, "instructions_per_task", r->instructions);
}

static json_t *running_json(const running_result *r)
{
    json_t *o = json_pack("{s:s, s:i, s:i, s:i}", "pattern", pattern_names[r->what], "workers", r->workers, "tasks",
                          r->tasks, "pairs", PAIRS);
    for (int s = 0; s < SYSTEMS; s++) {
        if (is_there(s)) {
            json_t *system = json_pack("{s:o, s:o}", "submit_us", spread_json(&r->submit[s], 1e6), "total_us",
                                       spread_json(&r->total[s], 1e6));
            if (s != TACIT) {
                json_object_set_new(system, "tacit_over_this", spread_json(&r->ratio[s], 1));
            }
            json_object_set_new(o, system_names[s], system);
        }
    }
    return o;
}

static void planning_title(void)
{
    printf("planning, ns per task (median of %d; 95 %% interval of the sum)\n", REPEATS);
    printf("%9s %6s %8s %8s %12s %8s %19s %9s %13s\n", "accesses", "nodes", "task", "command", "instruction", "sum",
           "interval", "commands", "instructions");
}

static void planning_row(const planning_result *r)
{
    printf("%9d %6d %8.0f %8.0f %12.0f %8.0f [%8.0f,%8.0f] %9.2f %13.2f\n", r->accesses, r->nodes, r->task.median,
           r->command.median, r->instruction.median, r->sum.median, r->sum.low, r->sum.high, r->commands,
           r->instructions);
    fflush(stdout);
}

static void running_title(const options *o)
{
    printf("\nempty tasks, us per task (median of %d pairs of %d tasks): submission / total, "
           "ratio of totals [95 %% interval]\n",
           PAIRS, o->tasks);
    printf("%-12s %7s %15s %15s %22s", "pattern", "workers", "tacit", "OpenMP", "tacit / OpenMP");
    if (has_starpu) {
        printf(" %15s %22s", "StarPU", "tacit / StarPU");
    }
    printf("\n");
}

static void running_row(const running_result *r)
{
    printf("%-12s %7d", pattern_names[r->what], r->workers);
    for (int s = 0; s < SYSTEMS; s++) {
        if (is_there(s)) {
            printf("  %6.3f /%6.3f", 1e6 * r->submit[s].median, 1e6 * r->total[s].median);
        }
        if (is_there(s) && s != TACIT) {
            printf("  %6.2f [%5.2f,%5.2f]", r->ratio[s].median, r->ratio[s].low, r->ratio[s].high);
        }
    }
    printf("\n");
    fflush(stdout);
}

/* ---------------------------------------------------------------- the program */

static void usage(FILE *to)
{
    fprintf(to,
            "usage: tasks [--json] [--tasks N] [--workers LIST] [--nodes LIST] [--planning | --running]\n"
            "Measures planning by stage, and empty tasks against OpenMP tasks%s.\n"
            "  --tasks N       empty tasks per measurement (20000)\n"
            "  --workers LIST  worker threads for the empty tasks (1,2)\n"
            "  --nodes LIST    numbers of nodes to plan for (1,16,1024); empty tasks always run on one\n"
            "  --planning      only that\n"
            "  --running       only the empty tasks\n",
            has_starpu ? " and StarPU" : "");
}

/* "1,2,8": positive numbers. */
static bool parse_list(const char *text, int *list, int *count)
{
    for (*count = 0; *count < MOST_LISTED;) {
        char *end;
        long n = strtol(text, &end, 10);
        if (end == text || n < 1 || n > 1 << 20) {
            return false;
        }
        list[(*count)++] = (int)n;
        if (*end == '\0') {
            return true;
        }
        if (*end != ',') {
            return false;
        }
        text = end + 1;
    }
    return false;
}

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        int count;
        if (strcmp(argv[i], "--json") == 0) {
            o->json = true;
        } else if (strcmp(argv[i], "--planning") == 0) {
            o->running = false;
        } else if (strcmp(argv[i], "--running") == 0) {
            o->planning = false;
        } else if (strcmp(argv[i], "--tasks") == 0 && parse_list(value, &o->tasks, &count) && count == 1) {
            i++;
        } else if (strcmp(argv[i], "--workers") == 0 && parse_list(value, o->workers, &o->worker_counts)) {
            i++;
        } else if (strcmp(argv[i], "--nodes") == 0 && parse_list(value, o->nodes, &o->node_counts)) {
            i++;
        } else {
            return false;
        }
    }
    return true;
}

static json_t *run_planning(const options *o)
{
    json_t *list = json_array();
    if (!o->json) {
        planning_title();
    }
    for (int n = 0; n < o->node_counts; n++) {
        for (int accesses = 1; accesses <= 3; accesses++) {
            tool_progress("tacit bench tasks: planning on %d nodes, accesses %d of 3", o->nodes[n], accesses);
            planning_result r = measure_planning(accesses, o->nodes[n]);
            tool_progress_end();
            json_array_append_new(list, planning_json(&r));
            if (!o->json) {
                planning_row(&r);
            }
        }
    }
    return list;
}

static json_t *run_tasks(const options *o)
{
    json_t *list = json_array();
    if (!o->json) {
        running_title(o);
    }
    for (int w = 0; w < o->worker_counts; w++) {
        static bench b;
        b = (bench){ .tasks = o->tasks, .workers = o->workers[w] };
        setup_starpu(&b);
        setup_tacit(&b);
        for (int what = 0; what < PATTERNS; what++) {
            tool_progress("tacit bench tasks: %s, %d workers", pattern_names[what], b.workers);
            running_result r = measure_running(&b, (pattern)what);
            tool_progress_end();
            json_array_append_new(list, running_json(&r));
            if (!o->json) {
                running_row(&r);
            }
        }
        must(&b, tacit_finalize(b.ctx));
        teardown_starpu(&b);
    }
    return list;
}

int main(int argc, char **argv)
{
    options o = { .planning = true,
                  .running = true,
                  .tasks = 20000,
                  .workers = { 1, 2 },
                  .worker_counts = 2,
                  .nodes = { 1, 16, 1024 },
                  .node_counts = 3 };
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    if (!parse(argc, argv, &o)) {
        usage(stderr);
        return EXIT_FAILURE;
    }
    json_t *root = json_pack("{s:s}", "benchmark", "tasks");
    if (o.planning) {
        json_object_set_new(root, "planning", run_planning(&o));
    }
    if (o.running) {
        json_object_set_new(root, "running", run_tasks(&o));
    }
    if (o.json) {
        json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        printf("\n");
    }
    json_decref(root);
    return EXIT_SUCCESS;
}
