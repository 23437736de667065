/* What `tacit simulate` has been asked for, and one simulation. See tool.h. */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "report.h"

typedef struct simulate_options {
    tool_counts nodes; /* count 0: none were given */
    const char *network, *machine;
    ti_strbuf lines; /* of a file that is read behind those two */
    bool json;
    const char *trace; /* where the records of the last simulation go, or NULL */
    char **program;
    char *path;
    /* --heat1d */
    long points, steps; /* 0: another program */
    tool_counts threads, windows;
    const char *latency, *item;
} simulate_options;

/* A file, or the name of one that comes with tacit. NULL: neither; free with ti_strfree. */
char *simulate_platform(const char *name);
/* Simulate the program on so many nodes; temporary files lie in `folder`. TOOL_OK, or an exit status after a
 * sentence. */
int simulate_once(const simulate_options *o, const char *folder, long nodes, tool_simulation *out);
/* The same, with records for --trace; and the report of these, after which they are gone. */
int simulate_traced(const simulate_options *o, const char *folder, long nodes, tool_simulation *out);
int simulate_report_trace(const simulate_options *o);
/* A folder for temporary files, which simulate_clean removes. */
int simulate_folder(char *folder, size_t size);
void simulate_clean(const char *folder);
void simulate_print_time(double ns);

/* The heat equation of `--heat1d`, once for each number of threads. */
int simulate_heat1d(simulate_options *o);

#endif
