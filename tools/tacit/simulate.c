/* tacit simulate: how long a program would take on clusters that are not there. See tool.h.
 *
 * The program is run dry once for each number of nodes; the library executes the plans of all nodes on a simulated
 * cluster (TACIT_SIMULATE) and writes a report, from which a row comes. */
#include "report.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SIMULATED = 4096, SHOWN_PATHS = 8 };

static const char usage[] =
    "Usage: tacit simulate [OPTIONS] PROGRAM [OPTIONS] [ARGUMENTS]\n"
    "\n"
    "Plans PROGRAM for all nodes of a cluster and executes the plans on a simulated one: kernels are not called, fences give zeros,\n"
    "and time passes as the files of the network and the machine say. A program whose loop ends when a result is good needs an\n"
    "option that bounds it (`--steps`). The same program gives the same figures every time.\n"
    "\n"
    "  --nodes LIST         numbers of nodes, with commas (1,4,16,64); at most 4096\n"
    "  --network NAME|FILE  of the network (hdr); NAME: one of those below\n"
    "  --machine NAME|FILE  of each node (cores-16)\n"
    "  --kernel TASK=TIME   time per item of the kernels of tasks with this name, on one worker, such as stencil=2.5ns; may be repeated\n"
    "  --json               the same as JSON\n"
    "  -h, --help           this text\n"
    "\n"
    "Networks: hdr, edr-2, qdr, omni-path, ethernet-100, ethernet-10. Machines: cores-16, cores-32. doc/simulation.md says what is in\n"
    "such files, and how to describe your own cluster.\n"
    "\n"
    "Columns: simulated time; speed-up and efficiency against the first row; what all workers do, in percent of their time: kernels,\n"
    "waiting for messages, for plans, because the program must not run further ahead, or with nothing to do; messages and bytes of all\n"
    "nodes. Below: the critical path of the largest number of nodes, by task.\n";

typedef struct simulate_options {
    tool_counts nodes;
    const char *network, *machine;
    ti_strbuf kernels; /* as lines of a file */
    bool json;
    char **program;
    char *path;
} simulate_options;

/* ---------------------------------------------------------------- one simulation */

/* A file, or the name of one that comes with tacit. NULL: neither; free with ti_strfree. */
static char *platform_path(const char *name)
{
    ti_strbuf text = { 0 };
    char *prefix = strchr(name, '/') || access(name, R_OK) == 0 ? NULL : tool_prefix(), *path;
    if (prefix) {
        ti_strbuf_add(&text, "%s/share/tacit/platforms/%s.txt", prefix, name);
    }
    path = prefix && access(ti_strbuf_text(&text), R_OK) == 0 ? ti_strdup(text.text)
           : access(name, R_OK) == 0                          ? ti_strdup(name)
                                                              : NULL;
    ti_strbuf_fini(&text);
    ti_strfree(prefix);
    return path;
}

static int set_platform(const simulate_options *o, const char *folder)
{
    const char *names[] = { o->network, o->machine };
    ti_strbuf files = { 0 }, kernels = { 0 };
    int status = TOOL_OK;
    for (int i = 0; i < 2 && status == TOOL_OK; i++) {
        char *path = platform_path(names[i]);
        if (!path) {
            status = tool_fail(
                TOOL_USAGE, "there is no %s '%s': it is neither a file nor one of the names in `tacit simulate --help`",
                i ? "machine" : "network", names[i]);
        } else {
            ti_strbuf_add(&files, "%s:", path);
        }
        ti_strfree(path);
    }
    ti_strbuf_add(&kernels, "%s/kernels", folder);
    if (status == TOOL_OK && !ti_strbuf_write(&o->kernels, kernels.text)) {
        status = tool_fail(TOOL_FAILURE, "cannot write %s: %s", kernels.text, strerror(errno));
    }
    ti_strbuf_add(&files, "%s", kernels.text);
    setenv("TACIT_SIMULATE", files.text, 1);
    ti_strbuf_fini(&files);
    ti_strbuf_fini(&kernels);
    return status;
}

static int simulate_once(const simulate_options *o, const char *folder, long nodes, tool_simulation *out)
{
    char report[256], setting[64];
    int output = -1, how = 0;
    snprintf(report, sizeof(report), "%s/report.json", folder);
    snprintf(setting, sizeof(setting), "%ld", nodes);
    setenv("TACIT_DRY_RUN", setting, 1);
    setenv("TACIT_SIMULATE_REPORT", report, 1);
    unlink(report);
    tool_progress("tacit simulate: %ld nodes", nodes);
    tool_hint_later();
    int status = tool_run_quietly(o->path, o->program, &output, &how);
    tool_progress_end();
    bool there = status == TOOL_OK && !tool_caught() && tool_json_read_simulation(report, out);
    if (tool_caught()) {
        status = 128 + tool_caught();
    } else if (status == TOOL_OK && !there) {
        tool_show_output(output);
        status = tool_fail(TOOL_FAILURE, "%s was not simulated on %ld nodes (see above)", o->program[0], nodes);
    }
    unlink(report);
    close(output);
    return status;
}

/* ---------------------------------------------------------------- rows */

static void print_time(double ns)
{
    static const char *const unit[] = { "ns", "us", "ms", "s" };
    int i = 0;
    for (; ns >= 1000 && i < 3; i++) {
        ns /= 1000;
    }
    printf(" %8.*f %-2s", ns < 10 ? 3 : ns < 100 ? 2 : 1, ns, unit[i]);
}

static void print_rows(const tool_simulation *row, size_t count)
{
    printf("%8s %11s %9s %6s  %8s %9s %9s %6s %6s %10s %12s\n", "nodes", "time", "speed-up", "eff.", "kernels %",
           "messages", "planning", "ahead", "idle", "messages", "bytes");
    for (size_t i = 0; i < count; i++) {
        const tool_simulation *r = &row[i];
        double speed = r->ns > 0 ? row[0].ns / r->ns : 0, more = (double)r->nodes / (double)row[0].nodes;
        printf("%8ld", r->nodes);
        print_time(r->ns);
        printf(" %9.2f %6.2f ", speed, speed / more);
        printf(" %8.1f %9.1f %9.1f %6.1f %6.1f %10" PRIu64 " %12" PRIu64 "\n", 100 * r->use[0], 100 * r->use[1],
               100 * r->use[2], 100 * r->use[3], 100 * r->use[4], r->messages, r->bytes);
    }
    const tool_simulation *last = &row[count - 1];
    printf("\nCritical path on %ld nodes (kernels on a node take %.1f to %.1f %% of the time):\n", last->nodes,
           100 * last->least_busy, 100 * last->most_busy);
    for (size_t i = 0; i < last->paths && i < SHOWN_PATHS; i++) {
        printf("  %-24.24s", last->path[i].name);
        print_time(last->path[i].ns);
        printf(" %6.1f %%\n", last->ns > 0 ? 100 * last->path[i].ns / last->ns : 0);
    }
}

void tool_simulation_fini(tool_simulation *s)
{
    for (size_t i = 0; i < s->paths; i++) {
        ti_strfree(s->path[i].name);
    }
    ti_free(s->path, (s->paths ? s->paths : 1) * sizeof(*s->path));
    *s = (tool_simulation){ 0 };
}

static int run(const simulate_options *o)
{
    char folder[] = "/tmp/tacit-simulate-XXXXXX", kernels[64];
    tool_simulation row[TOOL_MOST_COUNTS] = { 0 };
    tool_catch_signals();
    if (!mkdtemp(folder)) {
        return tool_fail(TOOL_FAILURE, "nothing can be written to /tmp: %s", strerror(errno));
    }
    int status = set_platform(o, folder);
    for (size_t i = 0; i < o->nodes.count && status == TOOL_OK; i++) {
        status = simulate_once(o, folder, o->nodes.number[i], &row[i]);
    }
    snprintf(kernels, sizeof(kernels), "%s/kernels", folder);
    unlink(kernels);
    rmdir(folder);
    if (status == TOOL_OK && o->json) {
        status = tool_json_simulations(row, o->nodes.count);
    } else if (status == TOOL_OK) {
        print_rows(row, o->nodes.count);
    }
    for (size_t i = 0; i < o->nodes.count; i++) {
        if (row[i].path) {
            tool_simulation_fini(&row[i]);
        }
    }
    return status;
}

/* ---------------------------------------------------------------- options */

/* "NAME=2.5ns" as a line "kernel NAME = 2.5 ns". */
static int add_kernel(simulate_options *o, const char *text)
{
    const char *equals = strrchr(text, '=');
    size_t digits = equals ? strspn(equals + 1, "0123456789.eE+-") : 0;
    if (!equals || equals == text || digits == 0 || strchr(text, '\n')) {
        return tool_fail(TOOL_USAGE, "--kernel is '%s', but must be TASK=TIME, such as stencil=2.5ns", text);
    }
    ti_strbuf_add(&o->kernels, "kernel %.*s = %.*s %s\n", (int)(equals - text), text, (int)digits, equals + 1,
                  equals + 1 + digits);
    return TOOL_OK;
}

static const struct option options[] = {
    { "nodes", required_argument, NULL, 'n' },
    { "network", required_argument, NULL, 'w' },
    { "machine", required_argument, NULL, 'm' },
    { "kernel", required_argument, NULL, 'k' },
    { "json", no_argument, NULL, 'j' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static int take_option(simulate_options *o, int c)
{
    switch (c) {
    case 'n':
        return tool_parse_counts(&o->nodes, optarg, MOST_SIMULATED);
    case 'w':
        o->network = optarg;
        return TOOL_OK;
    case 'm':
        o->machine = optarg;
        return TOOL_OK;
    case 'k':
        return add_kernel(o, optarg);
    case 'j':
        o->json = true;
        return TOOL_OK;
    default:
        return TOOL_USAGE;
    }
}

/* Whether the word is one of these options in full: shorter forms may be meant for the program. */
static bool is_option(const char *word)
{
    for (const struct option *at = options; at->name; at++) {
        size_t length = strlen(at->name);
        if (at->val != 'h' && strncmp(word, "--", 2) == 0 && strncmp(word + 2, at->name, length) == 0 &&
            (word[2 + length] == '\0' || word[2 + length] == '=')) {
            return true;
        }
    }
    return false;
}

/* Options may also follow the program, before its own arguments: up to the first that is not one of these. */
static int take_late_options(simulate_options *o, int argc, char **argv, int program)
{
    int status = TOOL_OK;
    optind = program + 1;
    while (status == TOOL_OK && optind < argc && is_option(argv[optind])) {
        int c = getopt_long(argc, argv, "+", options, NULL);
        status = c == '?' ? tool_wrong_option(argv, options) : take_option(o, c);
    }
    argv[optind - 1] = argv[program];
    o->program = argv + optind - 1;
    return status;
}

static int check_program(simulate_options *o, int argc, char **argv)
{
    int program = optind;
    if (program >= argc) {
        return tool_fail(TOOL_USAGE, "no program is given; see `tacit simulate --help`");
    }
    int status = take_late_options(o, argc, argv, program);
    if (status != TOOL_OK) {
        return status;
    }
    o->path = tool_find(o->program[0]);
    if (!o->path) {
        return tool_fail(TOOL_NOT_FOUND, "the program %s was not found; give its path", o->program[0]);
    }
    return tool_json_is_there() ? TOOL_OK : TOOL_FAILURE; /* reports are read as JSON */
}

int tool_simulate(int argc, char **argv)
{
    simulate_options o = { .nodes = { { 1, 4, 16, 64 }, 4 }, .network = "hdr", .machine = "cores-16" };
    char name[] = "tacit simulate";
    argv[0] = name; /* for the messages of getopt */
    int status = TOOL_OK;
    for (int c; status == TOOL_OK && (c = getopt_long(argc, argv, "+h", options, NULL)) != -1;) {
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
    ti_strbuf_fini(&o.kernels);
    ti_strfree(o.path);
    return status;
}
