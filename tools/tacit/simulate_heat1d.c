/* tacit simulate --heat1d: the setting of Eijkhout, Task Graph Transformations for Latency Tolerance, 2022, sections
 * 2.1 and 4. See simulate.h.
 *
 * Messages take a latency and their bytes, nothing else; kernels take a time per point, divided among the threads of a
 * node; planning is free. Windows of several steps are executed as TACIT_LATENCY does, with the strategy that is asked
 * for, as far as it has such windows; of longer ones only the formula is printed. Single steps overlap with their
 * messages as TACIT_OVERLAP says, of which the formula knows nothing. */
#include "simulate.h"

#include "sim/platform.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINT_BYTES = 8, MOST_WINDOW = 64 /* of TACIT_LATENCY */ };

typedef struct heat {
    double latency, byte_time, item;
    long nodes;
} heat;

static int read_network(const simulate_options *o, heat *h)
{
    ti_platform platform;
    ti_strbuf why = { 0 };
    char *path = simulate_platform(o->network);
    ti_platform_init(&platform);
    int status = TOOL_OK;
    if (!path) {
        status = simulate_no_platform("network", o->network);
    } else if (!ti_platform_read(&platform, path, &why)) {
        status = tool_fail(TOOL_FAILURE, "%s", ti_strbuf_text(&why));
    }
    h->byte_time = platform.byte_time;
    ti_platform_fini(&platform);
    ti_strbuf_fini(&why);
    ti_strfree(path);
    return status;
}

/* Section 2.1: latency M / b + transfer of M points + (M N / p + M b) updates. */
static double formula(const simulate_options *o, const heat *h, double threads, double window)
{
    double n = (double)o->points, m = (double)o->steps, beta = POINT_BYTES * h->byte_time;
    return h->latency * m / window + beta * m + (m * n / (double)h->nodes + m * window) * h->item / threads;
}

/* Whatever the files say besides, as that of a machine that was measured does: they are read before. */
static void set_lines(simulate_options *o, const heat *h, long threads)
{
    ti_strbuf_clear(&o->lines);
    ti_strbuf_add(&o->lines,
                  "latency = %.17g ns\nsend_overhead = 0 ns\nreceive_overhead = 0 ns\ngap = 0 ns\neager = 1 GiB\n"
                  "workers = %ld\nprogress = thread\nplanning = given\nhandling = 0 ns\n"
                  "item = %.17g ns\nkernel step = %.17g ns\ncopy = 0 ns\nstart = 0 ns\n"
                  "task = 0 ns\ncommand = 0 ns\ninstruction = 0 ns\n",
                  h->latency, threads, h->item, h->item);
}

/* The row of thread count t and window i is row[t * windows + i]. */
static bool is_simulated(const simulate_options *o, size_t window)
{
    return o->windows.number[window] <= MOST_WINDOW;
}

static void print_rows(const simulate_options *o, const heat *h, const tool_simulation *row)
{
    printf("The heat equation in one dimension: %ld points, %ld steps, %ld nodes; latency %g us, %g ns for a point to\n"
           "travel, %g ns to compute one on one thread. The points of a node are divided among its threads; "
           "windows: %s.\n\n",
           o->points, o->steps, h->nodes, 1e-3 * h->latency, POINT_BYTES * h->byte_time, h->item, o->strategy);
    printf("%8s  %-10s windows of\n%20s", "threads", "", "");
    for (size_t i = 0; i < o->windows.count; i++) {
        printf(" %11ld", o->windows.number[i]);
    }
    printf("  best window\n");
    for (size_t t = 0; t < o->threads.count; t++) {
        double threads = (double)o->threads.number[t];
        printf("%8ld  %-10s", o->threads.number[t], "simulated");
        for (size_t i = 0; i < o->windows.count; i++) {
            if (is_simulated(o, i)) {
                simulate_print_time(row[t * o->windows.count + i].ns);
            } else {
                printf(" %11s", "-");
            }
        }
        printf("\n%8s  %-10s", "", "formula");
        for (size_t i = 0; i < o->windows.count; i++) {
            simulate_print_time(formula(o, h, threads, (double)o->windows.number[i]));
        }
        printf(" %12.1f\n", h->item > 0 ? sqrt(h->latency * threads / h->item) : INFINITY);
    }
}

static void print_window(const simulate_options *o, const heat *h, size_t t, size_t i, const tool_simulation *row)
{
    printf("%s{ \"window\": %ld, \"formula_ns\": %.0f", i ? ", " : "", o->windows.number[i],
           formula(o, h, (double)o->threads.number[t], (double)o->windows.number[i]));
    if (is_simulated(o, i)) {
        printf(", \"ns\": %.0f, \"messages\": %" PRIu64, row->ns, row->messages);
    }
    printf(" }");
}

static int print_json(const simulate_options *o, const heat *h, const tool_simulation *row)
{
    printf("{\n  \"strategy\": \"%s\",\n  \"points\": %ld,\n  \"steps\": %ld,\n  \"nodes\": %ld,\n"
           "  \"latency_ns\": %.17g,\n  \"item_ns\": %.17g,\n  \"point_ns\": %.17g,\n  \"rows\": [",
           o->strategy, o->points, o->steps, h->nodes, h->latency, h->item, POINT_BYTES * h->byte_time);
    for (size_t t = 0; t < o->threads.count; t++) {
        printf("%s\n    { \"threads\": %ld, \"windows\": [", t ? "," : "", o->threads.number[t]);
        for (size_t i = 0; i < o->windows.count; i++) {
            print_window(o, h, t, i, &row[t * o->windows.count + i]);
        }
        printf("] }");
    }
    printf("\n  ]\n}\n");
    return TOOL_OK;
}

/* How many threads there are is said by --threads. */
static void set_window(const char *strategy, long window)
{
    char latency[32];
    snprintf(latency, sizeof(latency), "%s:%ld", strategy, window);
    unsetenv("TACIT_THREADS");
    setenv("TACIT_LATENCY", window > 1 ? latency : "off", 1);
}

static int run(simulate_options *o, const heat *h)
{
    char folder[64], points[32], steps[32], cost[32], name[] = "--heat1d",
                                                      *argv[] = { name, points, steps, cost, NULL };
    size_t windows = o->windows.count, count = o->threads.count * windows;
    tool_simulation *row = TI_NEW_ARRAY(tool_simulation, count);
    snprintf(points, sizeof(points), "%ld", o->points);
    snprintf(steps, sizeof(steps), "%ld", o->steps);
    snprintf(cost, sizeof(cost), "%.17g", h->item);
    o->program = argv;
    bool said = false; /* every time it would be the same */
    int status = simulate_folder(folder, sizeof(folder));
    for (size_t k = 0; k < count && status == TOOL_OK; k++) {
        if (is_simulated(o, k % windows)) {
            set_lines(o, h, o->threads.number[k / windows]);
            set_window(o->strategy, o->windows.number[k % windows]);
            status = simulate_once(o, folder, h->nodes, &row[k]);
        }
        if (status == TOOL_OK && row[k].path && !said) {
            simulate_say_idle(&row[k]);
            said = true;
        }
    }
    simulate_clean(folder);
    if (status == TOOL_OK && o->json) {
        status = print_json(o, h, row);
    } else if (status == TOOL_OK) {
        print_rows(o, h, row);
    }
    for (size_t k = 0; k < count; k++) {
        if (row[k].path) {
            tool_simulation_fini(&row[k]);
        }
    }
    ti_free(row, count * sizeof(*row));
    return status;
}

int simulate_heat1d(simulate_options *o)
{
    heat h = { .nodes = o->nodes.count ? o->nodes.number[0] : 4 };
    ti_strbuf path = { 0 };
    char *prefix = tool_prefix();
    int status = o->nodes.count > 1
                     ? tool_fail(TOOL_USAGE, "--heat1d simulates one number of nodes; give one to --nodes")
                     : simulate_parse_time("--latency", o->latency, &h.latency);
    status = status == TOOL_OK ? simulate_parse_time("--item", o->item, &h.item) : status;
    status = status == TOOL_OK ? read_network(o, &h) : status;
    if (status == TOOL_OK && !tool_json_is_there()) {
        status = TOOL_FAILURE; /* reports are read as JSON */
    }
    ti_strbuf_add(&path, "%s/libexec/tacit-heat1d", prefix ? prefix : "");
    ti_strfree(prefix);
    o->path = ti_strdup(ti_strbuf_text(&path));
    ti_strbuf_fini(&path);
    return status == TOOL_OK ? run(o, &h) : status;
}
