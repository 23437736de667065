/* tacit: the command line. Chooses the command, which does the rest. See tool.h. */
#include "tool.h"

#include "base/strbuf.h"
#include "tacit/tacit.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "Usage: tacit run [-n NODES] PROGRAM [ARGUMENTS]     start a program, on one node or on several\n"
    "       tacit graph [-n NODES] PROGRAM [ARGUMENTS]   run it, and draw what tacit made of it\n"
    "       tacit plan [--nodes LIST] PROGRAM [ARGS]     what it would cost on other numbers of nodes\n"
    "       tacit simulate [--nodes LIST] PROGRAM [ARGS] how long it would take on a cluster that is not there\n"
    "       tacit explain [--nodes N] PROGRAM [ARGS]     how data comes from task to task, and why not better\n"
    "       tacit trace [-n NODES] PROGRAM [ARGUMENTS]   where the time of a run goes, as a page for the browser\n"
    "       tacit info                                   what this tacit is, and what it finds on this machine\n"
    "       tacit bench NAME [ARGUMENTS]                 measure tacit on this machine (tacit bench --list)\n"
    "       tacit help [COMMAND | settings]              explain a command, or the TACIT_* variables\n"
    "       tacit --version\n"
    "\n"
    "Every command has --help.\n";

/* Commands, and topics of `tacit help`. */
static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = { { "run", tool_run },           { "graph", tool_graph },     { "plan", tool_plan_command },
                 { "simulate", tool_simulate }, { "explain", tool_explain }, { "trace", tool_trace },
                 { "info", tool_info },         { "bench", tool_bench } };

int tool_fail(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("tacit: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return status;
}

/* ---------------------------------------------------------------- words that are nearly right */

/* Not farther than one mistake, and one more for every three letters. */
const char *tool_nearest(const char *word, tool_name_at *at, const void *list)
{
    const char *name, *nearest = NULL;
    size_t least = strlen(word) / 3 + 2;
    for (size_t i = 0; (name = at(list, i)); i++) {
        size_t distance = ti_edit_distance(word, name);
        if (distance < least) {
            least = distance;
            nearest = name;
        }
    }
    return nearest;
}

static const char *option_at(const void *list, size_t index)
{
    return ((const struct option *)list)[index].name;
}

int tool_wrong_option(char **argv, const struct option *options)
{
    const char *word = argv[optind - 1], *nearest = NULL;
    if (strncmp(word, "--", 2) == 0) {
        char name[TI_EDIT_MAX + 1];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
        nearest = tool_nearest(name, option_at, options);
        nearest = nearest && strcmp(nearest, name) == 0 ? NULL : nearest; /* it lacks its argument */
    }
    return nearest ? tool_fail(TOOL_USAGE, "did you mean '--%s'? See `%s --help`", nearest, argv[0])
                   : tool_fail(TOOL_USAGE, "see `%s --help`", argv[0]);
}

/* ---------------------------------------------------------------- commands */

static const char *command_at(const void *list, size_t index)
{
    static const char *const others[] = { "help", "settings" }; /* the last is a topic */
    size_t count = sizeof(commands) / sizeof(commands[0]);
    return index < count ? commands[index].name : index < count + (list ? 2 : 1) ? others[index - count] : NULL;
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int no_help(const char *topic)
{
    const char *nearest = tool_nearest(topic, command_at, commands);
    if (nearest) {
        return tool_fail(TOOL_USAGE, "there is no help about '%s'; did you mean '%s'?", topic, nearest);
    }
    ti_strbuf known = { 0 };
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        ti_strbuf_add(&known, "%s%s", i ? ", " : "", commands[i].name);
    }
    tool_fail(0, "there is no help about '%s'; there is about %s and settings", topic, known.text);
    ti_strbuf_fini(&known);
    return TOOL_USAGE;
}

static int help(int argc, char **argv)
{
    const char *topic = argc > 1 ? argv[1] : "";
    char option[] = "--help", *ask[] = { argv[0], option, NULL };
    const struct command *command = find_command(topic);
    if (command) {
        return command->run(2, ask);
    }
    if (strcmp(topic, "settings") == 0) {
        return tool_settings(argc - 1, argv + 1);
    }
    if (*topic && strcmp(topic, "--help") != 0) {
        return no_help(topic);
    }
    fputs(usage, stdout);
    return TOOL_OK;
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct command *command = find_command(name);
    if (command) {
        return command->run(argc - 1, argv + 1);
    }
    if (strcmp(name, "help") == 0) {
        return help(argc - 1, argv + 1);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        fputs(usage, stdout);
        return TOOL_OK;
    }
    if (strcmp(name, "--version") == 0) {
        printf("tacit %d.%d.%d (MPI: %s)\n", TACIT_VERSION_MAJOR, TACIT_VERSION_MINOR, TACIT_VERSION_PATCH,
               TOOL_MPI_NAME);
        return TOOL_OK;
    }
    if (*name) {
        const char *nearest = tool_nearest(name, command_at, NULL);
        if (nearest) {
            return tool_fail(TOOL_USAGE, "there is no command '%s'; did you mean '%s'?", name, nearest);
        }
        tool_fail(TOOL_USAGE, "there is no command '%s'", name);
    }
    fputs(usage, stderr);
    return TOOL_USAGE;
}

/* What was printed must have got there: a full disk is noticed at the end. A signal that came ends the tool now, if it
 * has ended what the tool did. */
int main(int argc, char **argv)
{
    int status = run(argc, argv);
    bool good = fflush(stdout) == 0 && !ferror(stdout);
    if (tool_caught() && status != TOOL_OK) {
        signal(tool_caught(), SIG_DFL);
        raise(tool_caught());
    }
    return good || status != TOOL_OK
               ? status
               : tool_fail(TOOL_FAILURE, "the standard output cannot be written: %s", strerror(errno));
}
