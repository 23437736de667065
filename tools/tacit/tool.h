/* The command-line tool: what its files share.
 *
 * main.c chooses the command; run.c and bench.c parse theirs and end in tool_launch, which replaces this process by the program or by
 * an MPI launcher, so that signals and the exit status need no forwarding. One thread. */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>

/* Exit statuses, those of a shell where it has one. */
enum { TOOL_OK = 0, TOOL_FAILURE = 1, TOOL_USAGE = 2, TOOL_NOT_EXECUTABLE = 126, TOOL_NOT_FOUND = 127 };

/* Which MPI a program is linked with, or a launcher belongs to. */
typedef enum tool_mpi { TOOL_MPI_UNKNOWN, TOOL_MPI_OPENMPI, TOOL_MPI_MPICH, TOOL_MPI_NONE } tool_mpi;

typedef struct tool_request {
    int nodes;            /* 0: one node, no launcher */
    const char *launcher; /* openmpi, mpich or srun; NULL: the one that fits */
    bool dry;             /* print the command instead of running it */
    char **program;       /* the program and its arguments, NULL-terminated */
} tool_request;

int tool_run(int argc, char **argv);
int tool_bench(int argc, char **argv);

/* Replaces this process; returns an exit status if that failed or `dry` is set. */
int tool_launch(const tool_request *request);

/* The path of an executable: as given if it has a slash, else searched in PATH. NULL if there is none; free with ti_strfree. */
char *tool_find(const char *name);
/* The MPI library that an executable loads, as far as the dynamic linker tells. */
tool_mpi tool_mpi_of(const char *path);
/* The MPI that a launcher called mpirun or mpiexec belongs to, from what it says about itself. */
tool_mpi tool_mpi_of_launcher(const char *path);
/* Whether one process may read another's memory, which Open MPI uses for long messages where it can. */
bool tool_can_read_processes(void);

void tool_print_settings(void);
/* "tacit: " and a sentence on stderr; returns `status`. */
int tool_fail(int status, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

#endif
