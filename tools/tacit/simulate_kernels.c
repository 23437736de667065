/* tacit simulate --calibrate-kernels: what the items of a program's kernels take on this machine. See simulate.h.
 *
 * The program runs, several times if that takes little time, and its records say how long each part of each task took.
 * Of tasks with one name all items count, and the median of the runs: other programs disturb now this run, now that,
 * while what the machine itself does to a kernel now and then happens in all of them. It runs on one node, or on
 * several that share this machine (--calibrate-nodes): then they share its caches and memory, too, as they will where
 * they are simulated. */
#include "simulate.h"
#include "timeline.h"

#include "base/clock.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RUNS = 5, MOST_LINE = 200 };
static const uint64_t budget_ns = UINT64_C(10000000000); /* no further run begins after that */

/* The kernels of tasks with one name: what all their parts took together, in each run. */
typedef struct kernel_cost {
    char *name;
    double ns[MOST_RUNS], items; /* of one run: all have the same */
} kernel_cost;

typedef struct costs {
    int runs;
    TI_VEC(kernel_cost) kernel;
} costs;

static void fini(costs *c)
{
    for (size_t i = 0; i < c->kernel.count; i++) {
        ti_strfree(c->kernel.data[i].name);
    }
    ti_vec_fini(&c->kernel);
}

/* ---- one run */

static kernel_cost *kernel_of(costs *c, const char *name)
{
    size_t i = 0;
    while (i < c->kernel.count && strcmp(c->kernel.data[i].name, name) != 0) {
        i++;
    }
    if (i == c->kernel.count) {
        ti_vec_push(&c->kernel, ((kernel_cost){ .name = ti_strdup(name) }));
    }
    return &c->kernel.data[i];
}

static void read_parts(costs *c, const timeline *t, const tl_node *node)
{
    for (size_t i = 0; i < node->event.count; i++) {
        const tl_event *e = &node->event.data[i], *whose = timeline_instruction(node, e->id);
        if (e->kind == TI_TRACE_PART && e->items > 0 && whose && tl_is_kernel(whose->kind)) {
            kernel_cost *kernel = kernel_of(c, timeline_name(t, e->name));
            kernel->ns[c->runs] += (double)(e->end - e->start);
            kernel->items += c->runs == 0 ? (double)e->items : 0;
        }
    }
}

/* The program, on so many nodes: `tacit run` chooses their launcher. */
static int run_program(const simulate_options *o, int *output, int *how)
{
    char self[] = "/proc/self/exe", run[] = "run", nodes[] = "-n", number[16];
    TI_VEC(char *) argv = { 0 };
    if (o->calibrate_nodes == 1) {
        return tool_run_quietly(o->path, o->program, output, how);
    }
    snprintf(number, sizeof(number), "%d", o->calibrate_nodes);
    ti_vec_push(&argv, self);
    ti_vec_push(&argv, run);
    ti_vec_push(&argv, nodes);
    ti_vec_push(&argv, number);
    for (char **word = o->program; *word; word++) {
        ti_vec_push(&argv, *word);
    }
    ti_vec_push(&argv, NULL);
    int status = tool_run_quietly(self, argv.data, output, how);
    ti_vec_fini(&argv);
    return status;
}

static int run_once(const simulate_options *o, const char *prefix, costs *c)
{
    int output = -1, how = 0;
    timeline t = { 0 };
    ti_strbuf why = { 0 };
    setenv("TACIT_TRACE", prefix, 1);
    int status = run_program(o, &output, &how);
    unsetenv("TACIT_TRACE");
    if (status == TOOL_OK && tool_caught()) {
        status = 128 + tool_caught();
    } else if (status == TOOL_OK && how) {
        tool_show_output(output);
        status = tool_fail(TOOL_FAILURE, "%s ended with status %d, so its kernels were not measured", o->program[0],
                           how);
    } else if (status == TOOL_OK && !timeline_read(&t, prefix, &why)) {
        status = tool_fail(TOOL_FAILURE, "%s recorded nothing: it is no program of tacit", o->program[0]);
    } else if (status == TOOL_OK) {
        for (int q = 0; q < t.nodes; q++) {
            read_parts(c, &t, &t.node[q]);
        }
        c->runs++;
        timeline_fini(&t);
    }
    close(output);
    tool_trace_remove(prefix);
    ti_strbuf_fini(&why);
    return status;
}

/* ---- all runs */

static int run_all(const simulate_options *o, const char *prefix, costs *c)
{
    int status = TOOL_OK;
    uint64_t start = ti_clock_ns();
    for (int i = 0; i < MOST_RUNS && status == TOOL_OK && (i == 0 || ti_clock_ns() - start < budget_ns); i++) {
        tool_progress("tacit simulate: measuring the kernels of %s, run %d", o->program[0], i + 1);
        status = run_once(o, prefix, c);
        tool_progress_end();
    }
    return status;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A line of a file must be able to say it. */
static bool can_be_said(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < MOST_LINE && !strpbrk(name, "=#\r\n") && !strchr(" \t", name[0]) &&
           !strchr(" \t", name[length - 1]);
}

static void add_lines(costs *c, const simulate_options *o, ti_strbuf *out)
{
    ti_strbuf_add(out, "# Kernels of %s, as `tacit simulate --calibrate-kernels` has measured them on %d node%s.\n",
                  strrchr(o->path, '/') ? strrchr(o->path, '/') + 1 : o->path, o->calibrate_nodes,
                  o->calibrate_nodes == 1 ? "" : "s");
    for (size_t i = 0; i < c->kernel.count; i++) {
        kernel_cost *k = &c->kernel.data[i];
        if (!can_be_said(k->name)) {
            tool_fail(0, "the kernels of tasks called '%s' were measured, but no file can name them", k->name);
            continue;
        }
        if (k->items == 0) { /* not in every run: nothing is known that could be relied on */
            continue;
        }
        qsort(k->ns, (size_t)c->runs, sizeof(double), by_size);
        ti_strbuf_add(out, "kernel %s = %.6g ns\n", k->name, k->ns[(c->runs - 1) / 2] / k->items);
    }
}

int simulate_calibrate_kernels(const simulate_options *o, const char *folder, ti_strbuf *out)
{
    static const char *const others[] = { "TACIT_DRY_RUN", "TACIT_SIMULATE", "TACIT_GRAPH", "TACIT_EXPLAIN" };
    char prefix[128];
    costs c = { .runs = 0 };
    for (size_t i = 0; i < TI_COUNT(others); i++) {
        unsetenv(others[i]);
    }
    snprintf(prefix, sizeof(prefix), "%s/kernels", folder);
    int status = run_all(o, prefix, &c);
    if (status == TOOL_OK && c.kernel.count == 0) {
        status = tool_fail(TOOL_FAILURE, "%s runs no kernels; leave out --calibrate-kernels", o->program[0]);
    } else if (status == TOOL_OK) {
        add_lines(&c, o, out);
    }
    fini(&c);
    return status;
}
