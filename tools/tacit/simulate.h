/* What `tacit simulate` has been asked for, and one simulation. See tool.h. */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "report.h"

typedef struct simulate_options {
    tool_counts nodes;             /* count 0: none were given */
    const char *network, *machine; /* NULL: not given yet */
    const char *kernels;           /* a file that is read behind those two, or NULL */
    ti_strbuf lines;               /* of a file that is read behind all others */
    bool measures;                 /* kernels are */
    int calibrate_nodes;           /* by a run on so many; 0: not given */
    const char *measured_to;       /* and written to a file, or NULL */
    bool json, calibrates;
    const char *trace;  /* where the records of the last simulation go, or NULL */
    const char *replay; /* where those of a run lie that is followed, or NULL */
    bool replay_in_order;
    char **program;
    char *path;
    /* --heat1d; what is not given has count 0, or is NULL */
    long points, steps; /* 0: another program */
    tool_counts threads, windows;
    const char *latency, *item, *strategy;
} simulate_options;

/* A file, or the name of one that comes with tacit. NULL: neither; free with ti_strfree. */
char *simulate_platform(const char *name);
/* Say that there is none, and which name is nearest; TOOL_USAGE. `kind`: "network" or "machine". */
int simulate_no_platform(const char *kind, const char *name);
/* "10us" or "10 us" as nanoseconds; TOOL_USAGE after a sentence, which names the option. */
int simulate_parse_time(const char *option, const char *text, double *ns);
/* Simulate the program on so many nodes; temporary files lie in `folder`. TOOL_OK, or an exit status after a
 * sentence. */
int simulate_once(const simulate_options *o, const char *folder, long nodes, tool_simulation *out);
/* A sentence if some nodes had nothing to do, and one of each --kernel that no task is called like. */
void simulate_say_idle(const tool_simulation *r);
void simulate_say_unmet(const simulate_options *o, const tool_simulation *r);
/* The same, with records for --trace; and the report of these, after which they are gone. */
int simulate_traced(const simulate_options *o, const char *folder, long nodes, tool_simulation *out);
int simulate_report_trace(const simulate_options *o);
/* A folder for temporary files, which simulate_clean removes. */
int simulate_folder(char *folder, size_t size);
void simulate_clean(const char *folder);
void simulate_print_time(double ns);

/* For --replay and --durations: the recorded run says how many nodes there are. TOOL_OK, or TOOL_USAGE after a
 * sentence; and what is printed at the end. */
int simulate_prepare_replay(simulate_options *o);
void simulate_print_replay(const simulate_options *o, const tool_simulation *row);

/* Measures this machine, and writes a file that describes it; NULL: prints it. An exit status. */
int simulate_calibrate(const char *path);
/* Adds the line that says what an instruction takes besides; `out` has all others, `path` is the program that
 * measures. TOOL_OK, or an exit status after a sentence. */
int simulate_calibrate_handling(const char *folder, char *path, ti_strbuf *out);
/* Measures the program's kernels on this machine: adds lines for a file. TOOL_OK, or an exit status after a
 * sentence. */
int simulate_calibrate_kernels(const simulate_options *o, const char *folder, ti_strbuf *out);
/* TOOL_OK, or TOOL_FAILURE after a sentence; simulate_check_output: whether it can be written later. */
int simulate_write(const ti_strbuf *text, const char *path);
int simulate_check_output(const char *path);

/* The heat equation of `--heat1d`, once for each number of threads. */
int simulate_heat1d(simulate_options *o);

#endif
