/* tacit graph: run a program with TACIT_GRAPH set, and make pictures of what it drew. See tool.h.
 *
 * The program writes into a temporary folder inside the output folder, which every node can reach if the output
 * folder can; what is wanted is moved from there, the rest goes with it. Vertices are counted so that dot is not
 * started on a graph that it cannot lay out in reasonable time, which grows with their square. */
#include "report.h"

#include "base/vec.h"
#include "trace/dot.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { DRAWN_AT_MOST = 2000 /* vertices */ };

static const char usage[] =
    "Usage: tacit graph [-n NODES] [--tasks FIRST:LAST] [--node K | --all] [--output DIR] [--json] "
    "PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs PROGRAM and writes the graphs that tacit made of it: the tasks, which are the same on all nodes, and the\n"
    "commands and instructions of one node, as DOT and, if Graphviz is installed, as SVG.\n"
    "\n"
    "  -n, --nodes NODES    how many nodes (one, without a launcher)\n"
    "  --launcher NAME      openmpi, mpich or srun, as for `tacit run`\n"
    "  --tasks FIRST:LAST   only the tasks with these numbers, LAST not included; they stand in the vertices (T7).\n"
    "                       Some are tacit's own: buffers that are created, horizons, fences\n"
    "  --node K             the commands and instructions of node K (0)\n"
    "  --all                those of all nodes\n"
    "  --output DIR         where to write PROGRAM.task.dot and so on (the current directory); made if it is not\n"
    "                       there\n"
    "  --json               what was written, as JSON; the program's output goes to stderr then\n"
    "  -h, --help           this text\n"
    "\n"
    "The exit status is that of the program, or that of `tacit run` if it cannot be run, or 1 if there is no graph.\n";

typedef struct graph_options {
    tool_request request;
    const char *tasks, *output;
    int node; /* -1: all */
    bool json;
} graph_options;

typedef struct graph_files {
    TI_VEC(tool_graph_file) list;
    const char *folder;       /* as it was given */
    char temporary[PATH_MAX]; /* inside it; absolute, since the program may go elsewhere */
    const char *name;         /* of the program */
    char *dot;                /* the program dot, or NULL */
} graph_files;

static int nodes_of(const graph_options *o)
{
    return o->request.nodes > 0 ? o->request.nodes : 1;
}

/* ---------------------------------------------------------------- the folders */

static int open_folders(graph_files *files, const char *output)
{
    char absolute[PATH_MAX];
    files->folder = output;
    if (mkdir(output, 0777) != 0 && errno != EEXIST) {
        return tool_fail(TOOL_FAILURE, "the directory %s cannot be made: %s", output, strerror(errno));
    }
    if (!realpath(output, absolute)) {
        return tool_fail(TOOL_FAILURE, "the directory %s cannot be used: %s", output, strerror(errno));
    }
    if (snprintf(files->temporary, PATH_MAX, "%s/tacit-graph-XXXXXX", absolute) >= PATH_MAX ||
        !mkdtemp(files->temporary)) {
        return tool_fail(TOOL_FAILURE, "nothing can be written to %s: %s; choose another directory with --output",
                         output, strerror(errno));
    }
    return TOOL_OK;
}

static void remove_temporary(const graph_files *files)
{
    DIR *directory = opendir(files->temporary);
    struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        unlinkat(dirfd(directory), entry->d_name, 0); /* fails for . and .. */
    }
    if (directory) {
        closedir(directory);
    }
    rmdir(files->temporary);
}

/* FOLDER/NAME.GRAPH[.NODE].EXTENSION; free with ti_strfree. */
static char *path_in(const char *folder, const char *name, const tool_graph_file *file, const char *extension)
{
    ti_strbuf path = { 0 };
    ti_strbuf_add(&path, "%s/%s.%s", folder, name, file->graph);
    if (file->node >= 0) {
        ti_strbuf_add(&path, ".%d", file->node);
    }
    ti_strbuf_add(&path, ".%s", extension);
    char *copy = ti_strdup(path.text);
    ti_strbuf_fini(&path);
    return copy;
}

/* ---------------------------------------------------------------- one graph */

/* Lines that begin a vertex: `  v1 [shape=...`; edges are `  v1 -> v2;`. */
static bool count_vertices(const char *path, size_t *out)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    *out = 0;
    if (!file) {
        return false;
    }
    while (getline(&line, &capacity, file) > 0) {
        int end = 0;
        *out += sscanf(line, " v%*u [shape%n", &end) == 0 && end > 0;
    }
    free(line);
    fclose(file);
    return true;
}

/* `dot -Tsvg -o SVG DOT` */
static bool run_dot(char *dot, char *svg, char *source)
{
    char name[] = "dot", format[] = "-Tsvg", output[] = "-o";
    char *argv[] = { name, format, output, svg, source, NULL };
    pid_t child;
    int how = 0;
    if (posix_spawn(&child, dot, NULL, NULL, argv, environ) != 0) {
        return false;
    }
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

/* An SVG of an earlier run must not stand beside a new DOT file. */
static void draw(const graph_files *files, tool_graph_file *file)
{
    char *svg = path_in(files->folder, files->name, file, "svg");
    unlink(svg);
    if (files->dot && file->vertices <= DRAWN_AT_MOST) {
        if (run_dot(files->dot, svg, file->dot)) {
            file->svg = svg;
            return;
        }
        unlink(svg);
        tool_fail(0, "%s could not draw %s; the DOT file is kept", files->dot, file->dot);
    } else if (files->dot) {
        tool_fail(
            0,
            "%s has %zu vertices and is not drawn, since dot would take very long over more than %d; choose a part "
            "with --tasks",
            file->dot, file->vertices, DRAWN_AT_MOST);
    }
    ti_strfree(svg);
}

/* Moves a graph that the program has written to its place. False if it is not there. */
static bool take(graph_files *files, const char *graph, int node)
{
    tool_graph_file file = { .graph = graph, .node = node };
    char *source = path_in(files->temporary, files->name, &file, "dot");
    char *target = path_in(files->folder, files->name, &file, "dot");
    bool there = count_vertices(source, &file.vertices) && rename(source, target) == 0;
    ti_strfree(source);
    if (!there) {
        ti_strfree(target);
        return false;
    }
    file.dot = target;
    draw(files, &file);
    ti_vec_push(&files->list, file);
    return true;
}

/* ---------------------------------------------------------------- all of them */

/* Whether the task graph is there and has a vertex in the window; says so if not. */
static bool has_tasks(const graph_files *files, const graph_options *o, int exit_status)
{
    size_t vertices = 0;
    const tool_graph_file task = { .graph = "task", .node = -1 };
    char *path = path_in(files->temporary, files->name, &task, "dot");
    bool there = count_vertices(path, &vertices);
    ti_strfree(path);
    if (!there && exit_status != 0) {
        tool_fail(
            0,
            "%s ended with status %d before it wrote its graphs, which tacit_finalize does: see what it says above, "
            "or run it with `tacit run`",
            files->name, exit_status);
    } else if (!there) {
        tool_fail(0, "%s wrote no graphs: it is no program of tacit, or it ended without tacit_finalize", files->name);
    } else if (vertices == 0 && o->tasks) {
        tool_fail(0, "no task of %s has a number in %s; leave out --tasks to see which numbers there are", files->name,
                  o->tasks);
    } else if (vertices == 0) {
        tool_fail(0, "%s submitted no tasks", files->name);
    }
    return vertices > 0;
}

static bool take_all(graph_files *files, const graph_options *o)
{
    int first = o->node < 0 ? 0 : o->node, end = o->node < 0 ? nodes_of(o) : o->node + 1;
    bool complete = take(files, "task", -1);
    for (int node = first; node < end; node++) {
        if (!take(files, "command", node) || !take(files, "instruction", node)) {
            tool_fail(
                0,
                "the graphs of node %d are not in %s; if it ran on another machine, choose a directory with --output "
                "that all machines share",
                node, files->folder);
            complete = false;
        }
    }
    return complete;
}

static void print_files(const graph_files *files)
{
    for (size_t i = 0; i < files->list.count; i++) {
        const tool_graph_file *f = &files->list.data[i];
        printf("%s (%zu %s)%s%s\n", f->dot, f->vertices, f->vertices == 1 ? "vertex" : "vertices", f->svg ? "\n" : "",
               f->svg ? f->svg : "");
    }
}

static int collect(graph_files *files, const graph_options *o, int exit_status)
{
    if (!has_tasks(files, o, exit_status)) {
        return exit_status ? exit_status : TOOL_FAILURE;
    }
    files->dot = tool_find("dot");
    if (!files->dot) {
        tool_fail(0, "Graphviz's dot was not found, so there are DOT files only: install graphviz to get pictures");
    }
    int status = take_all(files, o) ? TOOL_OK : TOOL_FAILURE;
    ti_strfree(files->dot);
    if (exit_status) {
        tool_fail(0, "%s ended with status %d, so its graphs may not be complete", files->name, exit_status);
    }
    if (o->json) {
        int printed = tool_json_graphs(files->list.data, files->list.count, exit_status);
        status = status == TOOL_OK ? printed : status;
    } else {
        print_files(files);
    }
    return exit_status ? exit_status : status;
}

static int run(const graph_options *o)
{
    graph_files files = { .name = basename(o->request.program[0]) };
    ti_strbuf prefix = { 0 };
    tool_catch_signals();
    int exit_status = 0, status = open_folders(&files, o->output);
    if (status != TOOL_OK) {
        return status;
    }
    ti_strbuf_add(&prefix, "%s/%s", files.temporary, files.name);
    setenv("TACIT_GRAPH", prefix.text, 1);
    if (o->tasks) {
        setenv("TACIT_GRAPH_TASKS", o->tasks, 1);
    }
    status = tool_launch_and_wait(&o->request, &exit_status);
    if (status == TOOL_OK) {
        status = collect(&files, o, exit_status);
    }
    for (size_t i = 0; i < files.list.count; i++) {
        ti_strfree(files.list.data[i].dot);
        ti_strfree(files.list.data[i].svg);
    }
    ti_vec_fini(&files.list);
    ti_strbuf_fini(&prefix);
    remove_temporary(&files);
    return status;
}

/* ---------------------------------------------------------------- options */

static bool parse_node(const char *text, int *out)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    *out = (int)n;
    return !errno && end != text && !*end && n >= 0 && n < 1 << 24;
}

/* What one option says; an exit status other than TOOL_OK if it is wrong. */
static int take_option(graph_options *o, int c)
{
    ti_dot window;
    switch (c) {
    case 'n':
        return tool_parse_nodes(optarg, &o->request.nodes);
    case 'l':
        o->request.launcher = optarg;
        return TOOL_OK;
    case 't':
        o->tasks = optarg;
        return ti_dot_init(&window, optarg)
                   ? TOOL_OK
                   : tool_fail(TOOL_USAGE,
                               "--tasks is '%s', but must be FIRST:LAST, such as 10:20, with FIRST below LAST", optarg);
    case 'k':
        return parse_node(optarg, &o->node)
                   ? TOOL_OK
                   : tool_fail(TOOL_USAGE, "--node is '%s', but must be the number of a node, from 0 on", optarg);
    case 'a':
        o->node = -1;
        return TOOL_OK;
    case 'o':
        o->output = optarg;
        return TOOL_OK;
    case 'j':
        o->json = o->request.output_to_stderr = true;
        return TOOL_OK;
    default:
        return TOOL_USAGE;
    }
}

static int check_options(const graph_options *o)
{
    if (!*o->request.program) {
        return tool_fail(TOOL_USAGE, "no program is given; see `tacit graph --help`");
    }
    if (o->node >= nodes_of(o)) {
        return tool_fail(
            TOOL_USAGE, "there is no node %d in a run of %d: nodes are numbered from 0, and -n says how many there are",
            o->node, nodes_of(o));
    }
    return o->json && !tool_json_is_there() ? TOOL_FAILURE : TOOL_OK;
}

int tool_graph(int argc, char **argv)
{
    static const struct option options[] = {
        { "nodes", required_argument, NULL, 'n' },
        { "launcher", required_argument, NULL, 'l' },
        { "tasks", required_argument, NULL, 't' },
        { "node", required_argument, NULL, 'k' },
        { "all", no_argument, NULL, 'a' },
        { "output", required_argument, NULL, 'o' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    graph_options o = { .output = "." };
    char name[] = "tacit graph";
    argv[0] = name; /* for the messages of getopt */
    for (int c; (c = getopt_long(argc, argv, "+n:h", options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(usage, stdout);
            return TOOL_OK;
        }
        int status = c == '?' ? tool_wrong_option(argv, options) : take_option(&o, c);
        if (status != TOOL_OK) {
            return status;
        }
    }
    o.request.program = argv + optind;
    int status = check_options(&o);
    return status == TOOL_OK ? run(&o) : status;
}
