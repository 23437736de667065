/* tacit explain: what became of the edges between a program's tasks, and why. See tool.h.
 *
 * The program is run with TACIT_EXPLAIN, dry unless nodes are asked for with -n, so that a run on many nodes is
 * explained on one. The library writes the report, as a table or as JSON; here it is only fetched. */
#include "tool.h"

#include "base/alloc.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NODES = 100000000 };

static const char usage[] =
    "Usage: tacit explain [--nodes NODES[:NODE] | -n NODES] [--json] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Says how what one task of PROGRAM wrote comes to the nodes where another one reads it: for every pair of tasks\n"
    "and buffer whether nothing moves, messages, or which collective; how often, how much, and if it is no\n"
    "collective, why not and what can be done. Nothing is executed: PROGRAM is planned as one node of many (see\n"
    "`tacit help plan`), unless -n is given.\n"
    "\n"
    "  --nodes NODES[:NODE]  how many nodes, and which of them looks (4:0)\n"
    "  -n NODES              run it on so many nodes instead, as `tacit run` does; node 0 looks\n"
    "  --json                the same as JSON\n"
    "  -h, --help            this text\n"
    "\n"
    "Columns:\n"
    "  became                free: nothing moves on any node; nothing here: nothing that this node sends or receives\n"
    "  times                 how many tasks had this edge\n"
    "  sent, received        bytes of this node, of all of them together\n"
    "  region                of the first one\n"
    "doc/collectives.md says more about every reason. The exit status is that of the program.\n";

typedef struct explain_options {
    tool_request request;
    const char *nodes; /* of the dry run */
    bool json;
} explain_options;

static int parse_nodes(const char *text, explain_options *o)
{
    char *end;
    long nodes = strtol(text, &end, 10), node = 0;
    if (end != text && *end == ':') {
        const char *second = end + 1;
        node = strtol(second, &end, 10);
        end = end == second ? (char *)(uintptr_t)text : end;
    }
    if (end == text || *end || nodes < 1 || nodes > MOST_NODES || node < 0 || node >= nodes) {
        return tool_fail(TOOL_USAGE, "--nodes is '%s', but must be NODES or NODES:NODE, such as 64:3", text);
    }
    o->nodes = text;
    return TOOL_OK;
}

/* Shows a file; false if there is none. */
static bool show(const char *path, FILE *to)
{
    char text[4096];
    FILE *file = fopen(path, "r");
    if (!file) {
        return false;
    }
    for (size_t n; (n = fread(text, 1, sizeof(text), file)) > 0;) {
        fwrite(text, 1, n, to);
    }
    fclose(file);
    return true;
}

static int explain(explain_options *o, const char *path)
{
    char folder[] = "/tmp/tacit-explain-XXXXXX", report[64];
    int output = -1, how = 0;
    tool_catch_signals();
    if (!mkdtemp(folder)) {
        return tool_fail(TOOL_FAILURE, "nothing can be written to /tmp: %s", strerror(errno));
    }
    snprintf(report, sizeof(report), "%s/report%s", folder, o->json ? ".json" : "");
    setenv("TACIT_EXPLAIN", report, 1);
    bool live = o->request.nodes > 0;
    if (!live) {
        setenv("TACIT_DRY_RUN", o->nodes, 1);
    }
    int status = live ? tool_launch_and_wait(&o->request, &how)
                      : tool_run_quietly(path, o->request.program, &output, &how);
    bool there = status == TOOL_OK && show(report, stdout);
    if (!live && (how != 0 || !there)) { /* a program that fails says why */
        tool_show_output(output);
    }
    if (status == TOOL_OK && !there && !tool_caught()) {
        status =
            tool_fail(TOOL_FAILURE,
                      "%s wrote no report: it is no program of tacit, or it ended without tacit_finalize (see above)",
                      o->request.program[0]);
    }
    unlink(report);
    rmdir(folder);
    close(output);
    return status == TOOL_OK ? how : status;
}

int tool_explain(int argc, char **argv)
{
    static const struct option options[] = {
        { "nodes", required_argument, NULL, 'N' },
        { "json", no_argument, NULL, 'j' },
        { "launcher", required_argument, NULL, 'l' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    explain_options o = { .nodes = "4" };
    char name[] = "tacit explain";
    argv[0] = name; /* for the messages of getopt */
    int status = TOOL_OK;
    for (int c; status == TOOL_OK && (c = getopt_long(argc, argv, "+n:h", options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(usage, stdout);
            return TOOL_OK;
        }
        o.json |= c == 'j';
        o.request.launcher = c == 'l' ? optarg : o.request.launcher;
        status = c == 'N'               ? parse_nodes(optarg, &o)
                 : c == 'n'             ? tool_parse_nodes(optarg, &o.request.nodes)
                 : c == 'j' || c == 'l' ? TOOL_OK
                                        : tool_wrong_option(argv, options);
    }
    o.request.program = argv + optind;
    o.request.output_to_stderr = true;
    if (status == TOOL_OK && !*o.request.program) {
        status = tool_fail(TOOL_USAGE, "no program is given; see `tacit explain --help`");
    }
    char *path = status == TOOL_OK ? tool_find(o.request.program[0]) : NULL;
    if (status == TOOL_OK && !path) {
        status = tool_cannot_run(o.request.program[0]);
    }
    if (status == TOOL_OK) {
        status = explain(&o, path);
    }
    ti_strfree(path);
    return status;
}
