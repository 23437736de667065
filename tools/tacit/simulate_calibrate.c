/* tacit simulate --calibrate: this machine as a file that --network and --machine read. See simulate.h.
 *
 * libexec/tacit-calibrate measures; planning and the start of kernels are taken from the records of a traced run. */
#include "simulate.h"
#include "timeline.h"

#include "base/clock.h"
#include "base/vec.h"
#include "sim/platform.h"
#include "trace/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PHASES = 4, NODES = 2, CLOCK_READS = 1000 };

typedef TI_VEC(double) numbers;

/* ---- phases */

static char *program_path(void)
{
    ti_strbuf path = { 0 };
    char *prefix = tool_prefix();
    ti_strbuf_add(&path, "%s/libexec/tacit-calibrate", prefix ? prefix : "");
    char *copy = ti_strdup(path.text);
    ti_strbuf_fini(&path);
    ti_strfree(prefix);
    return copy;
}

/* `nodes` 0: without a launcher. */
static int run_phase(char *path, int number, int nodes, const char *phase, const char *what, char *file)
{
    char name[16];
    int how = 0;
    snprintf(name, sizeof(name), "%s", phase);
    char *argv[] = { path, name, file, NULL };
    const tool_request request = { .nodes = nodes, .program = argv, .output_to_stderr = true };
    tool_progress("tacit simulate: %s (%d of %d)", what, number, PHASES);
    int status = tool_launch_and_wait(&request, &how);
    tool_progress_end();
    if (tool_caught()) {
        return 128 + tool_caught();
    }
    if (status == TOOL_OK && how) {
        return tool_fail(TOOL_FAILURE, "this machine was not measured: the program that does it ended with status %d",
                         how);
    }
    return status;
}

/* ---- what planning and starting take */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double lower_quartile(numbers *n)
{
    qsort(n->data, n->count, sizeof(double), by_size);
    return n->count ? n->data[n->count / 4] : 0;
}

/* What reading the clock adds to an interval. */
static double clock_ns(void)
{
    uint64_t start = ti_clock_ns();
    for (int i = 0; i < CLOCK_READS; i++) {
        (void)ti_clock_ns();
    }
    return (double)(ti_clock_ns() - start) / CLOCK_READS;
}

static const char steps[] = "step"; /* the tasks that the program submits in a loop */

/* Of all stages, and of kernels: from their start to their end, less the parts that workers run. */
static void collect(const timeline *t, numbers stage[3], numbers *start)
{
    for (int q = 0; q < t->nodes; q++) {
        const tl_node *node = &t->node[q];
        for (size_t i = 0; i < node->event.count; i++) {
            const tl_event *e = &node->event.data[i], *whose = timeline_instruction(node, e->id);
            if (strcmp(timeline_name(t, e->name), steps) != 0) {
                continue;
            }
            double ns = (double)(e->end - e->start);
            if (e->kind >= TI_TRACE_TASK && e->kind <= TI_TRACE_INSTRUCTIONS && e->kind != TI_TRACE_WAIT) {
                ti_vec_push(&stage[e->kind == TI_TRACE_TASK ? 0 : e->kind - TI_TRACE_COMMANDS + 1], ns);
            } else if (e->kind == TI_TRACE_PART && whose) {
                ti_vec_push(start, (double)(whose->end - whose->start) - ns);
            }
        }
    }
}

static int add_tasks(const char *prefix, ti_strbuf *out)
{
    static const char *const keys[] = { "task", "command", "instruction" };
    timeline t = { 0 };
    ti_strbuf why = { 0 };
    numbers stage[3] = { { 0 } }, start = { 0 };
    bool good = timeline_read(&t, prefix, &why);
    if (good) {
        collect(&t, stage, &start);
        double clock = clock_ns();
        for (int s = 0; s < 3; s++) {
            ti_strbuf_add(out, "%-17s = %.4g ns\n", keys[s], TI_MAX(lower_quartile(&stage[s]) - clock, 1));
            good &= stage[s].count > 0;
        }
        ti_strbuf_add(out, "%-17s = %.4g ns\n", "start", TI_MAX(lower_quartile(&start) - 3 * clock, 1));
        good &= start.count > 0;
        timeline_fini(&t);
    }
    for (int s = 0; s < 3; s++) {
        ti_vec_fini(&stage[s]);
    }
    ti_vec_fini(&start);
    int status = good ? TOOL_OK
                      : tool_fail(TOOL_FAILURE, "this machine was not measured: %s",
                                  why.length ? why.text : "the records of its run lack tasks");
    ti_strbuf_fini(&why);
    return status;
}

static void remove_records(const char *prefix)
{
    for (int q = 0; q < NODES; q++) {
        ti_strbuf path = { 0 };
        ti_recorder_path(prefix, q, &path);
        unlink(path.text);
        ti_strbuf_fini(&path);
    }
}

/* ---- the file */

static void add_file(const char *path, ti_strbuf *out)
{
    char line[256];
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        ti_strbuf_add(out, "%s", line);
    }
    if (file) {
        fclose(file);
    }
    unlink(path);
}

static void add_head(ti_strbuf *out)
{
    char host[256] = "this machine";
    gethostname(host, sizeof(host) - 1);
    ti_strbuf_add(out,
                  "# %s, as `tacit simulate --calibrate` has measured it: two processes on it, by %s.\n"
                  "# Lower quartiles of many short samples. The time of an item is a placeholder: see\n"
                  "# --kernel and --calibrate-kernels.\n",
                  host, TOOL_MPI_NAME);
}

/* All phases; `folder` is for files in between. */
static int measure(const char *folder, ti_strbuf *out)
{
    char file[128], prefix[128], *path = program_path();
    snprintf(file, sizeof(file), "%s/lines", folder);
    snprintf(prefix, sizeof(prefix), "%s/tasks", folder);
    add_head(out);
    int status = run_phase(path, 1, NODES, "messages", "measuring messages", file);
    if (status == TOOL_OK) {
        add_file(file, out);
        status = run_phase(path, 2, 0, "memory", "measuring copies", file);
    }
    if (status == TOOL_OK) {
        add_file(file, out);
        setenv("TACIT_TRACE", prefix, 1);
        status = run_phase(path, 3, NODES, "tasks", "measuring planning", NULL);
        unsetenv("TACIT_TRACE");
    }
    status = status == TOOL_OK ? add_tasks(prefix, out) : status;
    remove_records(prefix);
    if (status == TOOL_OK) {
        tool_progress("tacit simulate: measuring steps (%d of %d)", PHASES, PHASES);
        status = simulate_calibrate_handling(folder, path, out);
        tool_progress_end();
    }
    ti_strfree(path);
    return status;
}

/* Before minutes are spent on it. */
int simulate_check_output(const char *path)
{
    bool there = access(path, F_OK) == 0;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
        return tool_fail(TOOL_FAILURE, "%s cannot be written: %s", path, strerror(errno));
    }
    close(file);
    if (!there) {
        unlink(path);
    }
    return TOOL_OK;
}

int simulate_write(const ti_strbuf *text, const char *path)
{
    if (!ti_strbuf_write(text, path)) {
        return tool_fail(TOOL_FAILURE, "%s cannot be written: %s", path, strerror(errno));
    }
    return TOOL_OK;
}

/* What was measured must be what `tacit simulate` reads. */
static int check_lines(const char *path)
{
    ti_platform platform;
    ti_strbuf why = { 0 };
    ti_platform_init(&platform);
    bool good = ti_platform_read(&platform, path, &why) && ti_platform_is_complete(&platform, path, &why);
    int status = good ? TOOL_OK
                      : tool_fail(TOOL_FAILURE, "this machine was not measured well: %s", ti_strbuf_text(&why));
    ti_platform_fini(&platform);
    ti_strbuf_fini(&why);
    return status;
}

int simulate_calibrate(const char *path)
{
    static const char *const others[] = { "TACIT_DRY_RUN", "TACIT_SIMULATE", "TACIT_GRAPH", "TACIT_EXPLAIN" };
    char folder[64], whole[128];
    ti_strbuf out = { 0 };
    int status = path ? simulate_check_output(path) : TOOL_OK;
    if (status == TOOL_OK) {
        status = simulate_folder(folder, sizeof(folder));
    }
    if (status != TOOL_OK) {
        return status;
    }
    for (size_t i = 0; i < TI_COUNT(others); i++) {
        unsetenv(others[i]); /* they would change what is measured */
    }
    snprintf(whole, sizeof(whole), "%s/lines", folder);
    status = measure(folder, &out);
    status = status == TOOL_OK ? simulate_write(&out, whole) : status;
    status = status == TOOL_OK ? check_lines(whole) : status;
    if (status == TOOL_OK && path) {
        status = simulate_write(&out, path);
        puts(path);
    } else if (status == TOOL_OK) {
        fputs(out.text, stdout);
    }
    simulate_clean(folder);
    ti_strbuf_fini(&out);
    return status;
}
