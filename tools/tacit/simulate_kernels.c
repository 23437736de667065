/* tacit simulate --calibrate-kernels: what the items of a program's kernels take on this machine. See simulate.h.
 *
 * The program runs on one node, several times if that takes little time, and its records say how long each part of each
 * task took. Of every task the quickest run counts, since other programs make parts longer and never shorter; of tasks
 * with one name all items count. */
#include "simulate.h"
#include "timeline.h"

#include "base/clock.h"
#include "base/vec.h"
#include "trace/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RUNS = 5, MOST_LINE = 200 };
static const uint64_t budget_ns = UINT64_C(10000000000); /* no further run begins after that */

/* What all parts of a task took together. */
typedef struct task_cost {
    double ns, items;
    size_t name;
} task_cost;

typedef struct kernel_cost {
    char *name;
    double ns, items;
} kernel_cost;

typedef struct costs {
    ti_map task;                /* index of best, plus one, by task */
    TI_VEC(task_cost) best, now; /* of all runs; of this one */
    TI_VEC(kernel_cost) kernel;
} costs;

static void fini(costs *c)
{
    for (size_t i = 0; i < c->kernel.count; i++) {
        ti_strfree(c->kernel.data[i].name);
    }
    ti_vec_fini(&c->kernel);
    ti_vec_fini(&c->best);
    ti_vec_fini(&c->now);
    ti_map_fini(&c->task);
}

/* ---- one run */

static size_t kernel_of(costs *c, const char *name)
{
    size_t i = 0;
    while (i < c->kernel.count && strcmp(c->kernel.data[i].name, name) != 0) {
        i++;
    }
    if (i == c->kernel.count) {
        ti_vec_push(&c->kernel, ((kernel_cost){ .name = ti_strdup(name) }));
    }
    return i;
}

/* Where a task is in both lists. */
static size_t place_of(costs *c, uint32_t task, const char *name)
{
    uint64_t *at = ti_map_at(&c->task, task);
    if (*at == 0) {
        ti_vec_push(&c->best, (task_cost){ .name = kernel_of(c, name) });
        *at = c->best.count;
    }
    while (c->now.count < c->best.count) {
        ti_vec_push(&c->now, (task_cost){ .ns = 0 });
    }
    return (size_t)*at - 1;
}

static void read_parts(costs *c, const timeline *t)
{
    for (size_t i = 0; i < t->node[0].event.count; i++) {
        const tl_event *e = &t->node[0].event.data[i], *whose = timeline_instruction(&t->node[0], e->id);
        if (e->kind == TI_TRACE_PART && e->items > 0 && whose && tl_is_kernel(whose->kind)) {
            size_t place = place_of(c, e->task, timeline_name(t, e->name));
            c->now.data[place].ns += (double)(e->end - e->start);
            c->now.data[place].items += (double)e->items;
        }
    }
    for (size_t i = 0; i < c->now.count; i++) {
        task_cost *best = &c->best.data[i], *now = &c->now.data[i];
        if (now->items > 0 && (best->items <= 0 || now->ns / now->items < best->ns / best->items)) {
            best->ns = now->ns;
            best->items = now->items;
        }
    }
    ti_vec_clear(&c->now);
}

static int run_once(const simulate_options *o, const char *prefix, costs *c)
{
    int output = -1, how = 0;
    timeline t = { 0 };
    ti_strbuf why = { 0 }, path = { 0 };
    setenv("TACIT_TRACE", prefix, 1);
    int status = tool_run_quietly(o->path, o->program, &output, &how);
    unsetenv("TACIT_TRACE");
    if (status == TOOL_OK && tool_caught()) {
        status = 128 + tool_caught();
    } else if (status == TOOL_OK && how) {
        tool_show_output(output);
        status = tool_fail(TOOL_FAILURE, "%s ended with status %d, so its kernels were not measured", o->program[0], how);
    } else if (status == TOOL_OK && !timeline_read(&t, prefix, &why)) {
        status = tool_fail(TOOL_FAILURE, "%s recorded nothing: it is no program of tacit", o->program[0]);
    } else if (status == TOOL_OK) {
        read_parts(c, &t);
        timeline_fini(&t);
    }
    close(output);
    ti_recorder_path(prefix, 0, &path);
    unlink(path.text);
    ti_strbuf_fini(&path);
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

/* A line of a file must be able to say it. */
static bool can_be_said(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < MOST_LINE && !strpbrk(name, "=#\r\n") && !strchr(" \t", name[0]) &&
           !strchr(" \t", name[length - 1]);
}

static void add_lines(costs *c, const simulate_options *o, ti_strbuf *out)
{
    for (size_t i = 0; i < c->best.count; i++) {
        c->kernel.data[c->best.data[i].name].ns += c->best.data[i].ns;
        c->kernel.data[c->best.data[i].name].items += c->best.data[i].items;
    }
    ti_strbuf_add(out, "# Kernels of %s, as `tacit simulate --calibrate-kernels` has measured them on one node.\n",
                  strrchr(o->path, '/') ? strrchr(o->path, '/') + 1 : o->path);
    for (size_t i = 0; i < c->kernel.count; i++) {
        const kernel_cost *k = &c->kernel.data[i];
        if (!can_be_said(k->name)) {
            tool_fail(0, "the kernels of tasks called '%s' were measured, but no file can name them", k->name);
            continue;
        }
        ti_strbuf_add(out, "kernel %s = %.6g ns\n", k->name, k->ns / k->items);
    }
}

int simulate_calibrate_kernels(const simulate_options *o, const char *folder, ti_strbuf *out)
{
    static const char *const others[] = { "TACIT_DRY_RUN", "TACIT_SIMULATE", "TACIT_GRAPH", "TACIT_EXPLAIN" };
    char prefix[128];
    costs c = { .task = { 0 } };
    for (size_t i = 0; i < TI_COUNT(others); i++) {
        unsetenv(others[i]);
    }
    snprintf(prefix, sizeof(prefix), "%s/kernels", folder);
    int status = run_all(o, prefix, &c);
    if (status == TOOL_OK && c.best.count == 0) {
        status = tool_fail(TOOL_FAILURE, "%s runs no kernels; leave out --calibrate-kernels", o->program[0]);
    } else if (status == TOOL_OK) {
        add_lines(&c, o, out);
    }
    fini(&c);
    return status;
}
