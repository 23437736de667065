/* tacit bench: find a benchmark program beside the tool, and start it on as many nodes as it needs. See tool.h. */
#include "report.h"

#include "base/vec.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct bench {
    const char *name;
    int nodes; /* 0: one, without a launcher */
    const char *help;
} benches[] = {
    { "tasks", 0, "planning a task by stage; empty tasks, independent and in a chain, against OpenMP tasks" },
    { "messages", 2, "latency and bandwidth of a transfer between two nodes, against plain MPI" },
    { "comm", 2,
      "programs that only communicate: collectives, messages, and MPI by hand (on N nodes: tacit run -n N tacit "
      "bench comm)" },
    { "overlap", 2,
      "whether messages move while kernels compute, and at what price (N-body, stencil; all ways to run)" },
    { "broadcast", 2,
      "a payload from one node to all others: broadcasts by each tree, and MPI's (on N nodes: tacit run -n N ...)" },
    { "io", 2,
      "files by tacit/io.h, and the same by MPI-IO and by pwrite (on N nodes: tacit run -n N tacit bench io)" },
    { "latency", 2,
      "windows of pure tasks on a network that is late, against none and against MPI by hand (on N nodes: tacit run "
      "-n N ...)" },
    { "steps", 0, "programs of short steps, against OpenMP and MPI by hand, on two workers and on two nodes" },
    { "device", 0,
      "a device by tacit and by OpenCL or CUDA by hand: launches, copies, overlap, steps of N-body and of waves" },
    { "plan", 0, "planning of a pattern as one node of up to millions: time by stage, messages, horizons, memory" },
    { "regions", 0, "operations of regions and version maps" },
};

static const char usage[] =
    "Usage: tacit bench NAME [ARGUMENTS]\n"
    "       tacit bench --list [--json]\n"
    "\n"
    "Runs the benchmark NAME, on two nodes if it is about messages. Under a launcher it takes the nodes that are\n"
    "there: `tacit run -n 4 tacit bench comm`. ARGUMENTS are the benchmark's own; `tacit bench NAME --help` has them.\n"
    "\n"
    "  --list       the names, and what each of them measures\n"
    "  --json       the list, or what was measured, as JSON\n"
    "  -h, --help   this text\n"
    "\n"
    "The exit status is that of the benchmark, or 126 or 127 if it cannot be run or was not built.\n";

/* PREFIX/libexec/tacit-bench-NAME for PREFIX/bin/tacit; NULL if that cannot be known; free with ti_strfree. */
static char *bench_path(const char *name)
{
    char *prefix = tool_prefix(), *path = NULL;
    ti_strbuf text = { 0 };
    if (prefix) {
        ti_strbuf_add(&text, "%s/libexec/tacit-bench-%s", prefix, name);
        path = ti_strdup(text.text);
    }
    ti_strbuf_fini(&text);
    ti_strfree(prefix);
    return path;
}

static bool is_launched(void)
{
    static const char *const signs[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK" };
    for (size_t i = 0; i < TI_COUNT(signs); i++) {
        if (getenv(signs[i])) {
            return true;
        }
    }
    return false;
}

static int list(bool json)
{
    tool_benchmark entries[TI_COUNT(benches)];
    if (json && !tool_json_is_there()) {
        return TOOL_FAILURE;
    }
    for (size_t i = 0; i < TI_COUNT(benches); i++) {
        const struct bench *b = &benches[i];
        char *path = bench_path(b->name);
        entries[i] = (tool_benchmark){ b->name, b->help, TI_MAX(b->nodes, 1), path && access(path, X_OK) == 0 };
        ti_strfree(path);
        if (!json) {
            printf("%-10s %s%s\n", b->name, b->help, entries[i].built ? "" : " (not built)");
        }
    }
    return json ? tool_json_benches(entries, TI_COUNT(benches)) : TOOL_OK;
}

/* It only says how it is used, or starts its nodes itself. */
static bool needs_no_launcher(char **arguments)
{
    for (; *arguments; arguments++) {
        if (strcmp(*arguments, "--help") == 0 || strcmp(*arguments, "--links") == 0) {
            return true;
        }
    }
    return false;
}

static int start(const struct bench *bench, char **arguments)
{
    char *path = bench_path(bench->name);
    TI_VEC(char *) program = { 0 };
    if (!path) {
        return tool_fail(TOOL_FAILURE, "this program does not know where it lies (/proc is not there)");
    }
    if (access(path, X_OK) != 0) {
        tool_fail(0, "%s is not there: configure with -DTACIT_BUILD_BENCH=ON and build", path);
        ti_strfree(path);
        return TOOL_NOT_FOUND;
    }
    ti_vec_push(&program, path);
    for (char **a = arguments; *a; a++) {
        ti_vec_push(&program, *a);
    }
    ti_vec_push(&program, NULL);
    tool_request request = { .program = program.data };
    request.nodes = is_launched() || needs_no_launcher(arguments) ? 0 : bench->nodes;
    tool_progress_pass_on();
    int status = tool_launch(&request);
    ti_vec_fini(&program);
    ti_strfree(path);
    return status;
}

static const char *bench_at(const void *list, size_t index)
{
    (void)list;
    return index < TI_COUNT(benches) ? benches[index].name : NULL;
}

static int start_by_name(char **arguments, bool json)
{
    static char json_word[] = "--json";
    const char *name = arguments[0];
    for (size_t i = 0; i < TI_COUNT(benches); i++) {
        if (strcmp(name, benches[i].name) == 0) {
            arguments[0] = json_word; /* which stood before the name, and is the benchmark's */
            return start(&benches[i], arguments + (json ? 0 : 1));
        }
    }
    const char *nearest = tool_nearest(name, bench_at, NULL);
    return nearest ? tool_fail(TOOL_USAGE, "there is no benchmark '%s'; did you mean '%s'?", name, nearest)
                   : tool_fail(TOOL_USAGE, "there is no benchmark '%s'; see `tacit bench --list`", name);
}

int tool_bench(int argc, char **argv)
{
    static const struct option options[] = { { "list", no_argument, NULL, 'l' },
                                             { "json", no_argument, NULL, 'j' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    char name[] = "tacit bench";
    bool listed = false, json = false;
    argv[0] = name; /* for the messages of getopt */
    for (int c; (c = getopt_long(argc, argv, "+h", options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(usage, stdout);
            return TOOL_OK;
        }
        if (c != 'l' && c != 'j') {
            return tool_wrong_option(argv, options);
        }
        listed |= c == 'l';
        json |= c == 'j';
    }
    if (listed) {
        return list(json);
    }
    if (optind == argc) {
        fputs(usage, stderr);
        return TOOL_USAGE;
    }
    return start_by_name(argv + optind, json);
}
