/* tacit trace: run a program with TACIT_TRACE set, and make a report of what it recorded. See tool.h. */
#include "timeline.h"
#include "tool.h"

#include "base/alloc.h"
#include "trace/recorder.h"

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "Usage: tacit trace [-n NODES] [--output PREFIX] [--keep] [--no-explain] PROGRAM [ARGUMENTS]\n"
    "       tacit trace --report PREFIX\n"
    "\n"
    "Runs PROGRAM, and says where its time went: to PREFIX.html, a page for the browser that needs nothing else, and\n"
    "to PREFIX.json, the same events for ui.perfetto.dev. A table and the first piece of advice are printed.\n"
    "\n"
    "  -n, --nodes NODES    how many nodes (one, without a launcher)\n"
    "  --launcher NAME      openmpi, mpich or srun, as for `tacit run`\n"
    "  --output PREFIX      where to write (the name of PROGRAM, in the current directory)\n"
    "  --keep               keep the records as well, PREFIX.NODE.tacit-trace\n"
    "  --no-explain         leave out how data comes from task to task, for which node 0 plans a little longer\n"
    "  --report PREFIX      run nothing: make the report of records that are there, such as those of a program that\n"
    "                       was started with TACIT_TRACE=PREFIX\n"
    "  -h, --help           this text\n"
    "\n"
    "doc/tracing.md says how to read the report. The exit status is that of the program, or 1 if there is no report.\n";

typedef struct trace_options {
    tool_request request;
    const char *output, *report;
    bool keep, no_explain;
} trace_options;

/* ---- the report */

static char *read_text(const char *path)
{
    ti_strbuf text = { 0 };
    char chunk[4096];
    FILE *file = fopen(path, "r");
    for (size_t n; file && (n = fread(chunk, 1, sizeof(chunk) - 1, file)) > 0;) {
        chunk[n] = '\0';
        ti_strbuf_add(&text, "%s", chunk);
    }
    if (file) {
        fclose(file);
    }
    char *copy = ti_strdup(ti_strbuf_text(&text));
    ti_strbuf_fini(&text);
    return copy;
}

static void say_what_is_missing(const timeline *t)
{
    int missing = 0, cut = 0;
    for (int q = 0; q < t->nodes; q++) {
        missing += !t->node[q].there;
        cut += t->node[q].there && !t->node[q].complete;
    }
    if (missing) {
        tool_fail(
            0,
            "the records of %d of %d nodes are not there; if they ran on other machines, choose a PREFIX that all "
            "machines share",
            missing, t->nodes);
    }
    if (cut) {
        tool_fail(0, "the records of %d of %d nodes end in the middle: the run failed; the report shows what there is",
                  cut, t->nodes);
    }
    if (t->dropped) {
        tool_fail(0, "%llu records were dropped, since they came faster than they could be written",
                  (unsigned long long)t->dropped);
    }
}

static void print_summary(const timeline *t, const char *prefix, const char *command, uint64_t merged)
{
    ti_strbuf text = { 0 };
    ti_strbuf_add(&text, "%s: %d node%s, %.3g s, %llu records\n", command, t->nodes, t->nodes == 1 ? "" : "s",
                  (double)t->end / 1e9, (unsigned long long)t->records);
    timeline_summary(t, &text);
    ti_strbuf_add(&text, "  first: ");
    timeline_advice(t, &text);
    ti_strbuf_add(&text, "\n%s.html\n%s.json", prefix, prefix);
    if (merged) {
        ti_strbuf_add(&text, " (%llu short spans are drawn together with their neighbours)",
                      (unsigned long long)merged);
    }
    ti_strbuf_add(&text, "\n");
    fputs(text.text, stdout);
    ti_strbuf_fini(&text);
}

static int write_report(timeline *t, const char *prefix, const char *table, uint64_t *merged)
{
    ti_strbuf path = { 0 };
    char *explain = read_text(table);
    timeline_share(t);
    timeline_matrix(t);
    timeline_path(t);
    ti_strbuf_clear(&path);
    ti_strbuf_add(&path, "%s.json", prefix);
    bool good = timeline_write_json(t, path.text, merged);
    if (good) {
        ti_strbuf_clear(&path);
        ti_strbuf_add(&path, "%s.html", prefix);
        good = timeline_write_page(t, path.text, explain);
    }
    int status = good ? TOOL_OK : tool_fail(TOOL_FAILURE, "%s cannot be written: %s", path.text, strerror(errno));
    ti_strfree(explain);
    ti_strbuf_fini(&path);
    return status;
}

/* `table`: the file with the explain table, if there is one. */
static int report(const char *prefix, const char *table, const char *command)
{
    timeline t = { 0 };
    ti_strbuf why = { 0 };
    tool_progress("tacit trace: reading the records");
    if (!timeline_read(&t, prefix, &why)) {
        tool_progress_end();
        tool_fail(0, "%s", ti_strbuf_text(&why));
        ti_strbuf_fini(&why);
        return TOOL_FAILURE;
    }
    ti_strbuf_fini(&why);
    tool_progress_end();
    say_what_is_missing(&t);
    tool_progress("tacit trace: %llu records, writing the report", (unsigned long long)t.records);
    uint64_t merged = 0;
    int status = write_report(&t, prefix, table, &merged);
    tool_progress_end();
    if (status == TOOL_OK && command) {
        print_summary(&t, prefix, command, merged);
    }
    timeline_fini(&t);
    return status;
}

static bool has_records(const char *prefix)
{
    ti_strbuf path = { 0 };
    ti_recorder_path(prefix, 0, &path);
    bool there = access(path.text, R_OK) == 0;
    ti_strbuf_fini(&path);
    return there;
}

/* A program may have several contexts; each has a report. */
int tool_trace_report(const char *prefix, const char *command)
{
    ti_strbuf explain = { 0 };
    int status = TOOL_OK;
    ti_strbuf_add(&explain, "%s.explain", prefix);
    for (unsigned i = 1; i <= TI_RECORDER_CONTEXTS && status == TOOL_OK; i++) {
        ti_strbuf mine = { 0 }, table = { 0 }, name = { 0 };
        ti_recorder_context(prefix, i, &mine);
        ti_recorder_context(explain.text, i, &table);
        if (command && i > 1) {
            ti_strbuf_add(&name, "\n%s, context %u", command, i);
        }
        if (i == 1 || has_records(mine.text)) {
            status = report(mine.text, table.text, i > 1 && command ? name.text : command);
        }
        ti_strbuf_fini(&mine);
        ti_strbuf_fini(&table);
        ti_strbuf_fini(&name);
    }
    ti_strbuf_fini(&explain);
    return status;
}

/* ---- the run */

/* Of one context; the next node that is not there ends them. */
static void remove_records(const char *prefix)
{
    ti_strbuf path = { 0 };
    int q = 0;
    do {
        ti_strbuf_clear(&path);
        ti_recorder_path(prefix, q++, &path);
    } while (unlink(path.text) == 0);
    ti_strbuf_fini(&path);
}

/* Files of an earlier run must not be taken for this one's. */
void tool_trace_remove(const char *prefix)
{
    ti_strbuf explain = { 0 };
    ti_strbuf_add(&explain, "%s.explain", prefix);
    for (unsigned i = 1; i <= TI_RECORDER_CONTEXTS; i++) {
        ti_strbuf path = { 0 };
        ti_recorder_context(prefix, i, &path);
        remove_records(path.text);
        ti_strbuf_clear(&path);
        ti_recorder_context(explain.text, i, &path);
        unlink(path.text);
        ti_strbuf_fini(&path);
    }
    ti_strbuf_fini(&explain);
}

int tool_trace_prefix(const char *output, char prefix[PATH_MAX])
{
    char here[PATH_MAX];
    if (output[0] == '/') {
        snprintf(prefix, PATH_MAX, "%s", output);
        return TOOL_OK;
    }
    if (!getcwd(here, sizeof(here)) || snprintf(prefix, PATH_MAX, "%s/%s", here, output) >= PATH_MAX) {
        return tool_fail(TOOL_FAILURE, "the current directory cannot be used: %s", strerror(errno));
    }
    return TOOL_OK;
}

/* How many records there are so far. */
static void say_how_far(void *user)
{
    static time_t since;
    const char *prefix = user;
    ti_strbuf path = { 0 };
    struct stat s;
    long long bytes = 0;
    since = since ? since : time(NULL);
    for (int q = 0; q == 0 || stat(path.text, &s) == 0; q++) {
        bytes += q ? (long long)s.st_size : 0;
        ti_strbuf_clear(&path);
        ti_recorder_path(prefix, q, &path);
    }
    ti_strbuf_fini(&path);
    tool_progress("tacit trace: %lld s, %lld records", (long long)(time(NULL) - since),
                  bytes / (long long)sizeof(ti_trace_record));
}

static int run(const trace_options *o)
{
    char prefix[PATH_MAX], explain[PATH_MAX + 16];
    int how = 0, status = tool_trace_prefix(o->output ? o->output : basename(o->request.program[0]), prefix);
    if (status != TOOL_OK) {
        return status;
    }
    tool_catch_signals();
    tool_trace_remove(prefix);
    snprintf(explain, sizeof(explain), "%s.explain", prefix);
    setenv("TACIT_TRACE", prefix, 1);
    if (!o->no_explain) {
        setenv("TACIT_EXPLAIN", explain, 0);
    }
    tool_tick(say_how_far, prefix);
    status = tool_launch_and_wait(&o->request, &how);
    if (status == TOOL_OK && !has_records(prefix)) {
        status = how ? how
                     : tool_fail(TOOL_FAILURE,
                                 "%s recorded nothing: it is no program of tacit, or it ended before tacit_init",
                                 o->request.program[0]);
    } else if (status == TOOL_OK) {
        if (how) {
            tool_fail(0, "%s ended with status %d", o->request.program[0], how);
        }
        status = tool_trace_report(prefix, "tacit trace");
        status = how ? how : status;
    }
    if (!o->keep) {
        tool_trace_remove(prefix);
    }
    return status;
}

int tool_trace(int argc, char **argv)
{
    static const struct option options[] = {
        { "nodes", required_argument, NULL, 'n' },  { "launcher", required_argument, NULL, 'l' },
        { "output", required_argument, NULL, 'o' }, { "keep", no_argument, NULL, 'k' },
        { "report", required_argument, NULL, 'r' }, { "help", no_argument, NULL, 'h' },
        { "no-explain", no_argument, NULL, 'x' },   { NULL, 0, NULL, 0 },
    };
    trace_options o = { .keep = false };
    char name[] = "tacit trace";
    argv[0] = name; /* for the messages of getopt */
    for (int c; (c = getopt_long(argc, argv, "+n:h", options, NULL)) != -1;) {
        if (c == 'n' && tool_parse_nodes(optarg, &o.request.nodes) != TOOL_OK) {
            return TOOL_USAGE;
        } else if (c == 'h') {
            fputs(usage, stdout);
            return TOOL_OK;
        } else if (c == '?') {
            return tool_wrong_option(argv, options);
        }
        o.request.launcher = c == 'l' ? optarg : o.request.launcher;
        o.output = c == 'o' ? optarg : o.output;
        o.report = c == 'r' ? optarg : o.report;
        o.keep |= c == 'k';
        o.no_explain |= c == 'x';
    }
    o.request.program = argv + optind;
    if (o.report) {
        return *o.request.program ? tool_fail(TOOL_USAGE, "--report runs nothing, so it takes no program")
                                  : tool_trace_report(o.report, "tacit trace");
    }
    return *o.request.program ? run(&o) : tool_fail(TOOL_USAGE, "no program is given; see `tacit trace --help`");
}
