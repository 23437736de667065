/* tacit plan: what a program would cost on machines that are not there. See tool.h.
 *
 * The program is run dry (TACIT_DRY_RUN) for each number of nodes, as a few of its nodes: the first two, the one in
 * the middle and the last, between which the others lie: borders and insides of whatever is split. Each run writes a
 * report, from which the rows come. */
#include "report.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NODES = 100000000, SAMPLES = 4, SHOWN_TASKS = 8 };

static const char usage[] =
    "Usage: tacit plan [--nodes LIST] [--json] PROGRAM [--nodes LIST] [ARGUMENTS]\n"
    "\n"
    "Plans PROGRAM as it would run on other numbers of nodes, without running it: kernels are not called, fences\n"
    "give zeros, nothing is sent, and no memory is needed for buffers. For each number of nodes it is planned as the\n"
    "first two nodes, the one in the middle and the last. A program whose loop ends when a result is good needs an\n"
    "option that bounds it (`--steps`).\n"
    "\n"
    "  --nodes LIST   numbers of nodes, with commas (4,16,64,256,1024)\n"
    "  --json         the same as JSON\n"
    "  -h, --help     this text\n"
    "\n"
    "Columns, of the planned node that has most, fences left out:\n"
    "  us/task        time to plan a task, all stages, on this machine\n"
    "  messages       that it sends and receives\n"
    "  collect.       collectives that it takes part in\n"
    "  bytes          that it sends and receives by both\n"
    "  peers          how many other nodes it sends to or receives from\n"
    "  load           its items, relative to an equal share of all items: 1 is balanced\n"
    "  memory         of buffers, at most, in all memories\n"
    "  device         of these in the memory of one device, the one that has most, if TACIT_DEVICES names devices\n"
    "                 with memories\n"
    "Below, where several placed tasks read one version: of how many the planned node sends its own down a tree that\n"
    "all nodes have planned, to how many recipients and by how many messages one after the other, how many messages\n"
    "of others it sends on in such trees, and how many versions it leaves to the broadcasts that it finds while it\n"
    "runs, since they are long. Then the tasks that communicate most on the largest number of nodes; and memory of\n"
    "which less than half is touched, with the access to blame and the cure. The exit status is 0, or that of\n"
    "PROGRAM if it failed, which is said.\n";

typedef struct plan_options {
    tool_counts nodes;
    bool json;
    char **program;
    char *path;
} plan_options;

/* ---------------------------------------------------------------- one dry run */

/* `*how`: the exit status of the program. */
static int plan_once(const plan_options *o, const char *folder, long nodes, long node, tool_plan *out, int *how)
{
    char report[256], setting[64];
    int output = -1;
    snprintf(report, sizeof(report), "%s/report.json", folder);
    snprintf(setting, sizeof(setting), "%ld:%ld", nodes, node);
    setenv("TACIT_DRY_RUN", setting, 1);
    setenv("TACIT_DRY_RUN_REPORT", report, 1);
    unlink(report);
    if (isatty(2)) {
        dprintf(2, "\rplanning as node %ld of %ld ... ", node, nodes);
    }
    tool_hint_later();
    int status = tool_run_quietly(o->path, o->program, &output, how);
    if (isatty(2)) {
        dprintf(2, "\r\033[K");
    }
    bool there = status == TOOL_OK && !tool_caught() && tool_json_read_plan(report, out);
    if (there && out->tasks == 0) {
        tool_plan_fini(out);
        tool_show_output(output);
        status = tool_fail(TOOL_FAILURE, "%s submitted no tasks (see above)", o->program[0]);
    } else if (tool_caught()) {
        status = 128 + tool_caught();
    } else if (status == TOOL_OK && !there) {
        tool_show_output(output);
        status = tool_fail(
            TOOL_FAILURE,
            "%s wrote no report as node %ld of %ld: it is no program of tacit, or it ended without tacit_finalize "
            "(see above)",
            o->program[0], node, nodes);
    }
    unlink(report);
    close(output);
    return status;
}

/* ---------------------------------------------------------------- rows */

static void keep_larger(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

/* Of the planned nodes, what the one with most has. */
static void add_sample(tool_plan_row *row, const tool_plan *plan)
{
    double us = 1e-3 * (double)plan->planning_ns / (double)(plan->tasks ? plan->tasks : 1);
    double share = (double)plan->items_of_all / (double)row->nodes;
    double load = share > 0 ? (double)plan->items / share : 0;
    row->us_per_task = us > row->us_per_task ? us : row->us_per_task;
    row->load = load > row->load ? load : row->load;
    row->tasks = plan->tasks;
    keep_larger(&row->messages, plan->messages);
    keep_larger(&row->collectives, plan->collectives);
    keep_larger(&row->bytes, plan->bytes);
    keep_larger(&row->peers, plan->peers);
    keep_larger(&row->memory, plan->memory);
    keep_larger(&row->device_memory, plan->device_memory);
    keep_larger(&row->multicasts, plan->multicasts);
    keep_larger(&row->multicast_recipients, plan->multicast_recipients);
    keep_larger(&row->multicast_depth, plan->multicast_depth);
    keep_larger(&row->multicast_forwards, plan->multicast_forwards);
    keep_larger(&row->multicasts_left, plan->multicasts_left);
}

static bool is_alike(const tool_plan_idle *a, const tool_plan_idle *b)
{
    return a->access == b->access && strcmp(a->buffer, b->buffer) == 0 && strcmp(a->task, b->task) == 0;
}

/* Move what lies idle on a node to `all`, which keeps the largest of each access. */
static void add_idle(tool_plan *all, tool_plan *plan, long nodes)
{
    for (size_t i = 0; i < plan->idle.count; i++) {
        tool_plan_idle *found = &plan->idle.data[i];
        size_t k = 0;
        found->nodes = nodes;
        found->node = (long)plan->node;
        while (k < all->idle.count && !is_alike(&all->idle.data[k], found)) {
            k++;
        }
        if (k == all->idle.count) {
            ti_vec_push(&all->idle, *found);
            found->buffer = found->task = NULL;
        } else if (all->idle.data[k].bytes - all->idle.data[k].used_bytes < found->bytes - found->used_bytes) {
            const tool_plan_idle less = all->idle.data[k];
            all->idle.data[k] = *found;
            *found = less;
        }
    }
}

static int plan_row(const plan_options *o, const char *folder, tool_plan_row *row, tool_plan *most, tool_plan *idle)
{
    const long last = row->nodes - 1, samples[SAMPLES] = { 0, 1, row->nodes / 2, last };
    for (int i = 0; i < SAMPLES; i++) {
        bool again = false;
        for (int k = 0; k < i; k++) {
            again = again || samples[k] == samples[i];
        }
        if (again || samples[i] > last) {
            continue;
        }
        tool_plan plan = { 0 };
        tool_progress("tacit plan: %ld nodes, as node %ld", row->nodes, samples[i]);
        int how = 0, status = plan_once(o, folder, row->nodes, samples[i], &plan, &how);
        row->exit_status = row->exit_status ? row->exit_status : how;
        if (status != TOOL_OK) {
            return status;
        }
        add_sample(row, &plan);
        add_idle(idle, &plan, row->nodes);
        if (!most->names || plan.bytes > most->bytes) {
            tool_plan_fini(most);
            *most = plan;
        } else {
            tool_plan_fini(&plan);
        }
    }
    return TOOL_OK;
}

/* A number at least `width` wide, and its unit. */
static void print_size(double bytes, int width)
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    int i = 0;
    for (; bytes >= 10000 && i < 5; i++) {
        bytes /= 1024;
    }
    printf(" %*.*f %-*s", width, i && bytes < 100 ? 1 : 0, bytes, width ? 3 : 0, unit[i]);
}

/* If there is anything that several nodes read, but not all. */
static void print_multicasts(const tool_plan_row *row, size_t count, const tool_plan *most)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        any |= row[i].multicasts || row[i].multicasts_left;
    }
    if (!any) {
        return;
    }
    printf("\nMulticasts of that node (TACIT_MULTICAST; planned trees: %s):\n", most->multicast_tree);
    printf("%10s %9s %10s %9s %11s %17s\n", "nodes", "planned", "recipients", "depth", "sent on", "left to broadcast");
    for (size_t i = 0; i < count; i++) {
        printf("%10ld %9" PRIu64 " %10" PRIu64 " %9" PRIu64 " %11" PRIu64 " %17" PRIu64 "\n", row[i].nodes,
               row[i].multicasts, row[i].multicast_recipients, row[i].multicast_depth, row[i].multicast_forwards,
               row[i].multicasts_left);
    }
}

static void print_rows(const tool_plan_row *row, size_t count, const tool_plan *most)
{
    bool devices = false;
    for (size_t i = 0; i < count; i++) {
        devices |= row[i].device_memory > 0;
    }
    printf("%10s %9s %10s %9s %11s %8s %8s %11s%s\n", "nodes", "us/task", "messages", "collect.", "bytes", "peers",
           "load", "memory", devices ? "      device" : "");
    for (size_t i = 0; i < count; i++) {
        printf("%10ld %9.2f %10" PRIu64 " %9" PRIu64, row[i].nodes, row[i].us_per_task, row[i].messages,
               row[i].collectives);
        print_size((double)row[i].bytes, 7);
        printf(" %8" PRIu64 " %8.2f", row[i].peers, row[i].load);
        print_size((double)row[i].memory, 7);
        if (devices) {
            print_size((double)row[i].device_memory, 7);
        }
        printf("\n");
    }
    print_multicasts(row, count, most);
    printf("\nTasks that communicate most, on node %" PRIu64 " of %ld (%" PRIu64 " tasks):\n", most->node,
           row[count - 1].nodes, row[count - 1].tasks);
    for (size_t i = 0; i < most->names_count && i < SHOWN_TASKS && most->names[i].bytes > 0; i++) {
        printf("  %-24.24s %10" PRIu64 " messages", most->names[i].name, most->names[i].messages);
        print_size((double)most->names[i].bytes, 7);
        printf("\n");
    }
    if (!most->names_count || !most->names[0].bytes) {
        printf("  none: no task needs anything from another node\n");
    }
}

static void print_idle(const tool_plan *idle)
{
    for (size_t i = 0; i < idle->idle.count; i++) {
        const tool_plan_idle *w = &idle->idle.data[i];
        printf("\nWarning: node %ld of %ld keeps", w->node, w->nodes);
        print_size((double)w->bytes, 0);
        printf(" of buffer '%s' in one piece, and touches", w->buffer);
        print_size((double)w->used_bytes, 0);
        printf(" of it.\n");
        if (w->spans) {
            printf(
                "  Task '%s', access %d, declares boxes that lie apart, and its view spans them: use tacit_in_parts,\n"
                "  or an access for each box.\n",
                w->task, w->access);
        } else if (*w->task) {
            printf(
                "  Boxes of several accesses lie in it, that of task '%s', access %d, among them: let tasks cut the\n"
                "  buffer alike, or use a buffer for each way to cut it.\n",
                w->task, w->access);
        } else {
            printf("  No kernel touches it: read and write it where it is needed.\n");
        }
    }
}

/* Says so if the program failed: it may have stopped early. Returns its exit status. */
static int note_failure(const tool_plan_row *row, size_t count, const char *program)
{
    for (size_t i = 0; i < count; i++) {
        if (row[i].exit_status) {
            return tool_fail(row[i].exit_status,
                             "%s ended with status %d when it was planned on %ld nodes: this is the plan of what it "
                             "submitted until then; fences give zeros there, so leave out what checks results if "
                             "tacit_is_dry_run",
                             program, row[i].exit_status, row[i].nodes);
        }
    }
    return TOOL_OK;
}

static int run(const plan_options *o)
{
    char folder[] = "/tmp/tacit-plan-XXXXXX";
    tool_plan_row row[TOOL_MOST_COUNTS] = { 0 };
    tool_plan most = { 0 }, idle = { 0 };
    int status = TOOL_OK;
    tool_catch_signals();
    if (!mkdtemp(folder)) {
        return tool_fail(TOOL_FAILURE, "nothing can be written to /tmp: %s", strerror(errno));
    }
    for (size_t i = 0; i < o->nodes.count && status == TOOL_OK; i++) {
        tool_plan_fini(&most);
        row[i].nodes = o->nodes.number[i];
        status = plan_row(o, folder, &row[i], &most, &idle);
    }
    tool_progress_end();
    rmdir(folder);
    if (status == TOOL_OK && o->json) {
        status = tool_json_plans(row, o->nodes.count, &most, &idle);
    } else if (status == TOOL_OK) {
        print_rows(row, o->nodes.count, &most);
        print_idle(&idle);
    }
    if (status == TOOL_OK) {
        status = note_failure(row, o->nodes.count, o->program[0]);
    }
    tool_plan_fini(&most);
    tool_plan_fini(&idle);
    return status;
}

void tool_plan_fini(tool_plan *plan)
{
    for (size_t i = 0; i < plan->names_count; i++) {
        ti_strfree(plan->names[i].name);
    }
    for (size_t i = 0; i < plan->idle.count; i++) {
        ti_strfree(plan->idle.data[i].buffer);
        ti_strfree(plan->idle.data[i].task);
    }
    ti_vec_fini(&plan->idle);
    ti_strfree(plan->multicast);
    ti_strfree(plan->multicast_tree);
    ti_free(plan->names, plan->names_count * sizeof(*plan->names));
    *plan = (tool_plan){ 0 };
}

/* ---------------------------------------------------------------- options */

static const struct option options[] = {
    { "nodes", required_argument, NULL, 'n' },
    { "json", no_argument, NULL, 'j' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static int take_option(void *user, int c)
{
    plan_options *o = user;
    o->json |= c == 'j';
    return c == 'n' ? tool_parse_counts(&o->nodes, optarg, MOST_NODES, "--nodes") : c == 'j' ? TOOL_OK : TOOL_USAGE;
}

static int check_program(plan_options *o, int argc, char **argv)
{
    if (optind >= argc) {
        return tool_fail(TOOL_USAGE, "no program is given; see `tacit plan --help`");
    }
    int status = tool_take_late(options, argc, argv, take_option, o, &o->program);
    if (status != TOOL_OK) {
        return status;
    }
    o->path = tool_find(o->program[0]);
    if (!o->path) {
        return tool_cannot_run(o->program[0]);
    }
    return tool_json_is_there() ? TOOL_OK : TOOL_FAILURE; /* reports are read as JSON */
}

int tool_plan_command(int argc, char **argv)
{
    plan_options o = { .nodes = { { 4, 16, 64, 256, 1024 }, 5 } };
    char name[] = "tacit plan";
    argv[0] = name; /* for the messages of getopt */
    int status = TOOL_OK;
    for (int c; status == TOOL_OK && (c = getopt_long(argc, argv, "+n:h", options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(usage, stdout);
            return TOOL_OK;
        }
        status = c == '?' ? tool_wrong_option(argv, options) : take_option(&o, c);
    }
    status = status == TOOL_OK ? check_program(&o, argc, argv) : status;
    if (status == TOOL_OK) {
        status = run(&o);
    }
    ti_strfree(o.path);
    return status;
}
