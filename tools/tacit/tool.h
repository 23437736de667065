/* The command-line tool: what its files share.
 *
 * main.c chooses the command, and one file per command parses its options. `run` and `bench` end in tool_launch,
 * which replaces this process by the program where no launcher is needed; launchers, and programs whose results the
 * tool shows, are waited for. What can be printed as JSON is printed by json.c, or refused by
 * json_none.c in a build without jansson. One thread. */
#ifndef TOOL_H
#define TOOL_H

#include "progress.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit statuses, those of a shell where it has one. */
enum { TOOL_OK = 0, TOOL_FAILURE = 1, TOOL_USAGE = 2, TOOL_NOT_EXECUTABLE = 126, TOOL_NOT_FOUND = 127 };

/* Which MPI a program is linked with, or a launcher belongs to. */
typedef enum tool_mpi { TOOL_MPI_UNKNOWN, TOOL_MPI_OPENMPI, TOOL_MPI_MPICH, TOOL_MPI_NONE } tool_mpi;

typedef struct tool_request {
    int nodes;             /* 0: one node, no launcher */
    const char *launcher;  /* openmpi, mpich or srun; NULL: the one that fits */
    bool dry;              /* print the command instead of running it */
    bool output_to_stderr; /* tool_launch_and_wait: stdout is for the tool's own results */
    char **program;        /* the program and its arguments, NULL-terminated */
} tool_request;

/* A launcher, installed or not. */
typedef struct tool_launcher {
    const char *name;    /* for --launcher */
    const char *library; /* whose it is */
    char *path;          /* NULL: not found; free with ti_strfree */
} tool_launcher;

/* The commands: argv[0] is the command's name. Each returns the exit status. */
int tool_run(int argc, char **argv);
int tool_bench(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_graph(int argc, char **argv);
int tool_plan_command(int argc, char **argv);
int tool_simulate(int argc, char **argv);
int tool_explain(int argc, char **argv);
int tool_trace(int argc, char **argv);
/* PREFIX.html and PREFIX.json of the records that lie at a prefix, and unless `command` is NULL what it prints. */
int tool_trace_report(const char *prefix, const char *command);
/* Files of an earlier run, which must not be taken for this one's. */
void tool_trace_remove(const char *prefix);
/* An absolute path, since the program may go elsewhere. */
int tool_trace_prefix(const char *output, char prefix[PATH_MAX]);
int tool_settings(int argc, char **argv); /* tacit help settings */

/* Replaces this process by the program, or waits for its launcher and passes signals on to it: an exit status. */
int tool_launch(const tool_request *request);
/* Says why tool_find has not found `name`: an exit status. */
int tool_cannot_run(const char *name);
/* Runs the program. TOOL_OK and its exit status (128 + the signal that ended it) if it could be started, else an exit
 * status. */
int tool_launch_and_wait(const tool_request *request, int *exit_status);
/* Notes signals that would end the tool from now on; returns the one that came, or 0. */
void tool_catch_signals(void);
int tool_caught(void);
/* Says after 10 s, once, unless this is called again or the tool ends before, what may keep a dry run from ending. */
void tool_hint_later(void);
/* While processes are waited for on a terminal, `tick` is called about twice a second; NULL: no more. */
void tool_tick(void (*tick)(void *user), void *user);
/* Passes on to what is waited for, besides those, the other signals that a program may want. */
void tool_pass_signals(void);
/* Waits for a process, and passes signals on to it: its exit status, as above. If it is the launcher of `nodes` > 0
 * nodes, it is killed once all of them have ended on this machine and it does not notice. */
int tool_wait(int child, int nodes);
/* Runs a program, and keeps what it says in memory: `output` is a file descriptor. Returns what tool_launch_and_wait
 * does. */
int tool_run_quietly(const char *path, char **argv, int *output, int *exit_status);
/* Shows the end of that on stderr, unless a signal has come. Whether there was anything. */
bool tool_show_output(int output);
/* For a job of Open MPI's launcher: makes a folder for its temporary files, of which the environment tells it. False if
 * it uses another one. `end` removes it with all that is left in it. */
bool tool_session_begin(char folder[PATH_MAX]);
void tool_session_end(const char *folder);
/* The launchers that the tool knows, in order; false behind the last. */
bool tool_launcher_at(size_t index, tool_launcher *out);

/* The path of an executable: as given if it has a slash, else searched in PATH. NULL if there is none; free with
 * ti_strfree. */
char *tool_find(const char *name);
/* PREFIX of PREFIX/bin/tacit, installed or in the build directory; NULL if it cannot be known; free with ti_strfree. */
char *tool_prefix(void);
/* The MPI library that an executable loads, as far as the dynamic linker tells. */
tool_mpi tool_mpi_of(const char *path);
/* The MPI that a launcher called mpirun or mpiexec belongs to, from what it says about itself. */
tool_mpi tool_mpi_of_launcher(const char *path);
/* Whether one process may read another's memory, which Open MPI uses for long messages where it can. */
bool tool_can_read_processes(void);

/* Numbers with commas between them, from 1 to `most`; `option` for the sentence. TOOL_OK, or TOOL_USAGE after it. */
enum { TOOL_MOST_COUNTS = 32 };
typedef struct tool_counts {
    long number[TOOL_MOST_COUNTS];
    size_t count;
} tool_counts;
int tool_parse_counts(tool_counts *out, const char *list, long most, const char *option);
/* A number of nodes, from 1 on. TOOL_OK, or TOOL_USAGE after a sentence. */
int tool_parse_nodes(const char *text, int *out);
/* Options of the tool may also follow the program, argv[optind], before its own arguments: up to the first word that
 * is none of these in full (shorter forms may be meant for the program). Each goes to `take`, with optarg set, until
 * that is not TOOL_OK; `out` is where the program is then, its arguments behind it. */
struct option;
int tool_take_late(const struct option *options, int argc, char **argv, int (*take)(void *user, int option), void *user,
                   char ***out);
void tool_print_settings(void);
/* The name that a word was meant to be: of list elements 0, 1 ... until NULL; NULL if it is near to none. */
typedef const char *tool_name_at(const void *list, size_t index);
const char *tool_nearest(const char *word, tool_name_at *at, const void *list);
/* After getopt_long has refused an option: which one was meant, and where the help is. Returns TOOL_USAGE. */
struct option;
int tool_wrong_option(char **argv, const struct option *options);
/* "tacit: " and a sentence on stderr; returns `status`. */
int tool_fail(int status, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

#endif
