/* tacit simulate: how long a program would take on clusters that are not there. See tool.h.
 *
 * The program is run dry once for each number of nodes; the library executes the plans of all nodes on a simulated
 * cluster (TACIT_SIMULATE) and writes a report, from which a row comes. */
#include "simulate.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SIMULATED = 4096, MOST_POINTS = 1000000000, MOST_THREADS = 4096, SHOWN_PATHS = 8 };

static const char usage[] =
    "Usage: tacit simulate [OPTIONS] PROGRAM [OPTIONS] [ARGUMENTS]\n"
    "\n"
    "Plans PROGRAM for all nodes of a cluster and executes the plans on a simulated one: kernels are not called,\n"
    "fences give zeros, and time passes as the files of the network and the machine say. A program whose loop ends\n"
    "when a result is good needs an option that bounds it (`--steps`). The same program gives the same figures every\n"
    "time.\n"
    "\n"
    "  --nodes LIST         numbers of nodes, with commas (1,4,16,64); at most 4096\n"
    "  --network NAME|FILE  of the network (hdr); NAME: one of those below\n"
    "  --machine NAME|FILE  of each node (cores-16)\n"
    "  --kernel TASK=TIME   time per item of the kernels of tasks with this name, on one worker, such as\n"
    "                       stencil=2.5ns; may be repeated\n"
    "  --calibrate-kernels[=FILE]  first run PROGRAM on one node of this machine and measure the time per item of\n"
    "                       its kernels, by name of task; to FILE, too, if it is given\n"
    "  --calibrate-nodes N  run it on N nodes that share this machine for that, as `tacit run -n N` does (1)\n"
    "  --kernels FILE       such a file, of an earlier run; --kernel counts more\n"
    "  --trace PREFIX       of the last number of nodes also what `tacit trace` writes of a run: PREFIX.html, a page\n"
    "                       for the browser, and PREFIX.json for ui.perfetto.dev; doc/tracing.md says how to read\n"
    "                       them\n"
    "  --replay PREFIX      of a run that `tacit trace --keep --output PREFIX` has recorded: everything takes as\n"
    "                       long, starts and ends in the same order as then. A sentence if the plans are others;\n"
    "                       PROGRAM must get the same arguments\n"
    "  --durations PREFIX   of such a run only what kernels, copies and planning took; --network says what messages\n"
    "                       take, and the simulator what comes first\n"
    "  --json               the same as JSON\n"
    "  --heat1d N,M         no PROGRAM, but M steps of the heat equation on N points, on one number of nodes, with\n"
    "                       --threads LIST for each node, --latency TIME of messages without overheads, --item TIME\n"
    "                       for one point on one thread, and --window LIST: steps in one exchange, simulated up to\n"
    "                       64, and by the paper's formula; --strategy halo|staged\n"
    "  --calibrate [FILE]   no PROGRAM, but measure this machine, by two processes on it, and write a file (or print\n"
    "                       it) for --network and --machine\n"
    "  -h, --help           this text\n"
    "\n"
    "Networks: hdr, edr-2, qdr, omni-path, ethernet-100, ethernet-10, loopback. Machines: cores-16, cores-32,\n"
    "v100-4. doc/simulation.md says what is in such files, and how to describe your own cluster.\n"
    "\n"
    "Columns: simulated time; speed-up and efficiency against the first row; what all workers do, in percent of\n"
    "their time: kernels, waiting for messages, for plans, because the program must not run further ahead, or with\n"
    "nothing to do; messages and bytes of all nodes. Below, of the last number of nodes: broadcasts\n"
    "(doc/broadcasts.md), and the critical path by task. If PROGRAM fails, there is no table, and the exit status\n"
    "is that of PROGRAM.\n";

/* ---------------------------------------------------------------- rows */

static void print_rows(const tool_simulation *row, size_t count)
{
    printf("%8s %11s %9s %6s  %8s %9s %9s %6s %6s %10s %12s\n", "nodes", "time", "speed-up", "eff.", "kernels %",
           "messages", "planning", "ahead", "idle", "messages", "bytes");
    for (size_t i = 0; i < count; i++) {
        const tool_simulation *r = &row[i];
        double speed = r->ns > 0 ? row[0].ns / r->ns : 0, more = (double)r->nodes / (double)row[0].nodes;
        printf("%8ld", r->nodes);
        simulate_print_time(r->ns);
        printf(" %9.2f %6.2f ", speed, speed / more);
        printf(" %8.1f %9.1f %9.1f %6.1f %6.1f %10" PRIu64 " %12" PRIu64 "\n", 100 * r->use[0], 100 * r->use[1],
               100 * r->use[2], 100 * r->use[3], 100 * r->use[4], r->messages, r->bytes);
    }
    const tool_simulation *last = &row[count - 1];
    if (last->broadcasts > 0) {
        printf("\nBroadcasts on %ld nodes: %" PRIu64 " of %.1f recipients on average; relays forwarded %" PRIu64
               " bytes, %" PRIu64 " recipients got an ordinary message\n",
               last->nodes, last->broadcasts, (double)last->recipients / (double)last->broadcasts, last->relayed_bytes,
               last->refused);
    }
    printf("\nCritical path on %ld nodes (kernels on a node take %.1f to %.1f %% of the time):\n", last->nodes,
           100 * last->least_busy, 100 * last->most_busy);
    for (size_t i = 0; i < last->paths && i < SHOWN_PATHS; i++) {
        printf("  %-24.24s", last->path[i].name);
        simulate_print_time(last->path[i].ns);
        printf(" %6.1f %%\n", last->ns > 0 ? 100 * last->path[i].ns / last->ns : 0);
    }
}

/* What --kernel says counts more. */
static int measure_kernels(simulate_options *o, const char *folder)
{
    ti_strbuf measured = { 0 };
    int status = o->measured_to ? simulate_check_output(o->measured_to) : TOOL_OK;
    status = status == TOOL_OK ? simulate_calibrate_kernels(o, folder, &measured) : status;
    if (status == TOOL_OK && o->measured_to) {
        status = simulate_write(&measured, o->measured_to);
    }
    ti_strbuf_add(&measured, "%s", ti_strbuf_text(&o->lines));
    ti_strbuf_fini(&o->lines);
    o->lines = measured;
    return status;
}

static int run(simulate_options *o)
{
    char folder[64];
    tool_simulation row[TOOL_MOST_COUNTS] = { 0 };
    int status = simulate_folder(folder, sizeof(folder));
    status = status == TOOL_OK && o->measures ? measure_kernels(o, folder) : status;
    for (size_t i = 0; i < o->nodes.count && status == TOOL_OK; i++) {
        bool traced = o->trace && i + 1 == o->nodes.count;
        status = traced ? simulate_traced(o, folder, o->nodes.number[i], &row[i])
                        : simulate_once(o, folder, o->nodes.number[i], &row[i]);
        if (status == TOOL_OK) {
            simulate_say_idle(&row[i]);
        }
        if (status == TOOL_OK && i == 0) {
            simulate_say_unmet(o, &row[i]);
        }
    }
    simulate_clean(folder);
    if (status == TOOL_OK && o->json) {
        status = tool_json_simulations(row, o->nodes.count);
    } else if (status == TOOL_OK) {
        print_rows(row, o->nodes.count);
        if (o->replay) {
            simulate_print_replay(o, row);
        }
    }
    if (status == TOOL_OK && o->trace) {
        status = simulate_report_trace(o);
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
    double ns = 0;
    if (!equals || equals == text || strchr(text, '\n')) {
        return tool_fail(TOOL_USAGE, "--kernel is '%s', but must be TASK=TIME, such as stencil=2.5ns", text);
    }
    char option[64];
    snprintf(option, sizeof(option), "--kernel %.*s", (int)(equals - text), text);
    int status = simulate_parse_time(option, equals + 1, &ns);
    ti_strbuf_add(&o->lines, "kernel %.*s = %.17g ns\n", (int)(equals - text), text, ns);
    return status;
}

static const struct option options[] = {
    { "nodes", required_argument, NULL, 'n' },
    { "network", required_argument, NULL, 'w' },
    { "machine", required_argument, NULL, 'm' },
    { "kernel", required_argument, NULL, 'k' },
    { "heat1d", required_argument, NULL, 'e' },
    { "threads", required_argument, NULL, 't' },
    { "latency", required_argument, NULL, 'l' },
    { "item", required_argument, NULL, 'i' },
    { "window", required_argument, NULL, 'b' },
    { "strategy", required_argument, NULL, 'S' },
    { "trace", required_argument, NULL, 'T' },
    { "replay", required_argument, NULL, 'R' },
    { "durations", required_argument, NULL, 'D' },
    { "json", no_argument, NULL, 'j' },
    { "calibrate", no_argument, NULL, 'c' },
    { "calibrate-kernels", optional_argument, NULL, 'r' },
    { "calibrate-nodes", required_argument, NULL, 'N' },
    { "kernels", required_argument, NULL, 's' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

/* "N,M" */
static int parse_heat(simulate_options *o, const char *text)
{
    tool_counts both;
    if (tool_parse_counts(&both, text, MOST_POINTS, "--heat1d") != TOOL_OK) {
        return TOOL_USAGE;
    }
    if (both.count != 2) {
        return tool_fail(TOOL_USAGE, "--heat1d is '%s', but must be POINTS,STEPS, such as 100000,64", text);
    }
    o->points = both.number[0];
    o->steps = both.number[1];
    return TOOL_OK;
}

static int take_option(void *user, int c)
{
    simulate_options *o = user;
    switch (c) {
    case 'e':
        return parse_heat(o, optarg);
    case 't':
        return tool_parse_counts(&o->threads, optarg, MOST_THREADS, "--threads");
    case 'b':
        return tool_parse_counts(&o->windows, optarg, MOST_POINTS, "--window");
    case 'l':
        o->latency = optarg;
        return TOOL_OK;
    case 'S':
        o->strategy = optarg;
        return strcmp(optarg, "halo") == 0 || strcmp(optarg, "staged") == 0
                   ? TOOL_OK
                   : tool_fail(TOOL_USAGE, "--strategy is '%s', but must be halo or staged", optarg);
    case 'i':
        o->item = optarg;
        return TOOL_OK;
    case 'n':
        return tool_parse_counts(&o->nodes, optarg, MOST_SIMULATED, "--nodes");
    case 'w':
        o->network = optarg;
        return TOOL_OK;
    case 'm':
        o->machine = optarg;
        return TOOL_OK;
    case 'k':
        return add_kernel(o, optarg);
    case 'r':
        o->measures = true;
        o->measured_to = optarg;
        return TOOL_OK;
    case 'N':
        return tool_parse_nodes(optarg, &o->calibrate_nodes);
    case 's':
        o->kernels = optarg;
        return TOOL_OK;
    case 'c':
        o->calibrates = true;
        return TOOL_OK;
    case 'T':
        o->trace = optarg;
        return TOOL_OK;
    case 'R':
    case 'D':
        o->replay = optarg;
        o->replay_in_order = c == 'R';
        return TOOL_OK;
    case 'j':
        o->json = true;
        return TOOL_OK;
    default:
        return TOOL_USAGE;
    }
}

static int check_program(simulate_options *o, int argc, char **argv)
{
    if (optind >= argc) {
        return tool_fail(TOOL_USAGE, "no program is given; see `tacit simulate --help`");
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

/* Which option of some was given, or NULL: those of --heat1d, and those that say how long kernels of a program take. */
static const char *given_of_heat(const simulate_options *o)
{
    return o->threads.count   ? "--threads"
           : o->windows.count ? "--window"
           : o->latency       ? "--latency"
           : o->item          ? "--item"
           : o->strategy      ? "--strategy"
                              : NULL;
}

static const char *given_of_kernels(const simulate_options *o)
{
    return o->lines.length      ? "--kernel"
           : o->kernels         ? "--kernels"
           : o->measures        ? "--calibrate-kernels"
           : o->calibrate_nodes ? "--calibrate-nodes"
                                : NULL;
}

static int calibrate(const simulate_options *o, int count, char **file)
{
    const char *more = o->points          ? "--heat1d"
                       : o->nodes.count   ? "--nodes"
                       : o->network       ? "--network"
                       : o->machine       ? "--machine"
                       : o->trace         ? "--trace"
                       : o->replay        ? "--replay and --durations"
                       : o->json          ? "--json"
                       : given_of_heat(o) ? given_of_heat(o)
                                          : given_of_kernels(o);
    if (more) {
        return tool_fail(TOOL_USAGE, "--calibrate measures this machine and takes no other option; leave out %s", more);
    }
    return count > 1 ? tool_fail(TOOL_USAGE, "--calibrate takes one file and no program; leave out '%s'", file[1])
                     : simulate_calibrate(count ? file[0] : NULL);
}

static void use_defaults(simulate_options *o)
{
    o->network = o->network ? o->network : "hdr";
    o->machine = o->machine ? o->machine : "cores-16";
}

static void use_heat_defaults(simulate_options *o)
{
    use_defaults(o);
    o->threads = o->threads.count ? o->threads : (tool_counts){ { 1, 4, 16, 64 }, 4 };
    o->windows = o->windows.count ? o->windows : (tool_counts){ { 1, 2, 4, 8, 16 }, 5 };
    o->latency = o->latency ? o->latency : "1us";
    o->item = o->item ? o->item : "1ns";
    o->strategy = o->strategy ? o->strategy : "halo";
}

static int heat(simulate_options *o, int argc, char **argv)
{
    const char *kernels = given_of_kernels(o);
    if (o->replay) {
        return tool_fail(TOOL_USAGE, "--heat1d follows no recorded run; leave out --replay and --durations");
    }
    if (kernels) {
        return tool_fail(TOOL_USAGE, "--heat1d takes the time of a point from --item; leave out %s", kernels);
    }
    if (optind < argc) {
        return tool_fail(TOOL_USAGE, "--heat1d needs no program; leave out '%s'", argv[optind]);
    }
    use_heat_defaults(o);
    return o->trace ? tool_fail(TOOL_USAGE, "--heat1d writes no trace; leave out --trace") : simulate_heat1d(o);
}

static int simulate(simulate_options *o, int argc, char **argv)
{
    int status = check_program(o, argc, argv);
    const char *more = given_of_heat(o);
    if (status == TOOL_OK && more) {
        return tool_fail(TOOL_USAGE,
                         "%s is for --heat1d; of a program the files for --network and --machine say such things, or "
                         "TACIT_LATENCY; leave it out",
                         more);
    }
    if (status == TOOL_OK && o->calibrate_nodes && !o->measures) {
        return tool_fail(TOOL_USAGE, "--calibrate-nodes is for --calibrate-kernels, which is not given; leave it out");
    }
    status = status == TOOL_OK && o->replay ? simulate_prepare_replay(o) : status;
    o->calibrate_nodes = o->calibrate_nodes ? o->calibrate_nodes : 1;
    use_defaults(o);
    o->nodes = o->nodes.count ? o->nodes : (tool_counts){ { 1, 4, 16, 64 }, 4 };
    return status == TOOL_OK ? run(o) : status;
}

int tool_simulate(int argc, char **argv)
{
    simulate_options o = { .json = false };
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
    if (status == TOOL_OK) {
        status = o.calibrates ? calibrate(&o, argc - optind, argv + optind)
                 : o.points   ? heat(&o, argc, argv)
                              : simulate(&o, argc, argv);
    }
    ti_strbuf_fini(&o.lines);
    ti_strfree(o.path);
    return status;
}
