/* What commands of the tool have found out, as data: printed as text by the command, or as JSON by json.c. */
#ifndef REPORT_H
#define REPORT_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "tool.h"

/* tacit info */
typedef struct tool_facts {
    char *library;              /* path of libtacit, or NULL */
    ti_strbuf library_problem;  /* why it cannot be loaded; empty if it can */
    char *mpi_library;          /* what the MPI library says it is, or NULL */
    ti_strbuf settings_problem; /* which setting is wrong; empty if all are right */
    int cores;                  /* that this process may use */
    int devices;                /* host devices of a node that has this machine for itself; 0: wrong settings */
    int accelerators;           /* and those of other kinds, that TACIT_DEVICES names */
    const char *accelerator;    /* OpenCL or CUDA */
    int workers;                /* of each */
    bool discrete;              /* each has a memory of its own */
    ti_strbuf bound;            /* what its threads are bound to */
} tool_facts;

/* One name with its value. */
typedef struct tool_feature {
    const char *name, *value;
} tool_feature;

/* The features of this build, in order; false behind the last. */
bool tool_feature_at(size_t index, tool_feature *out);

/* tacit graph: one graph of one node. */
typedef struct tool_graph_file {
    const char *graph; /* task, command or instruction */
    int node;          /* -1: the same on every node */
    size_t vertices;
    char *dot, *svg; /* paths, owned; svg NULL: not drawn */
} tool_graph_file;

/* tacit plan: what one node of a dry run reports. Sent and received count together. */
typedef struct tool_plan_name {
    char *name; /* of tasks */
    uint64_t messages, bytes;
} tool_plan_name;
/* An allocation of which less than half is touched. */
typedef struct tool_plan_idle {
    char *buffer, *task; /* task: of the access to blame; empty if there is none */
    int access;
    bool spans; /* its view spans boxes that lie apart */
    uint64_t bytes, used_bytes;
    long nodes, node; /* of the run that it was found in */
} tool_plan_idle;
typedef struct tool_plan {
    uint64_t node, tasks, planning_ns, messages, collectives, bytes, peers, memory, items, items_of_all;
    uint64_t device_memory; /* of one device, that which has most */
    uint64_t multicasts, multicast_recipients, multicast_depth, multicast_forwards, multicasts_left;
    char *multicast, *multicast_tree; /* who finds what several nodes read, and planned trees: TACIT_MULTICAST */
    tool_plan_name *names;            /* most bytes first */
    size_t names_count;
    TI_VEC(tool_plan_idle) idle;
} tool_plan;
void tool_plan_fini(tool_plan *plan);

/* And what a number of nodes costs the planned node that has most. */
typedef struct tool_plan_row {
    long nodes;
    double us_per_task, load;
    uint64_t tasks, messages, collectives, bytes, peers, memory, device_memory;
    int exit_status; /* of the first dry run that failed, or 0 */
    uint64_t multicasts, multicast_recipients, multicast_depth, multicast_forwards, multicasts_left;
} tool_plan_row;

/* tacit simulate: of one number of nodes. */
typedef struct tool_path_share {
    char *name; /* of tasks, or in parentheses */
    double ns;
} tool_path_share;
typedef struct tool_simulation {
    long nodes;
    long idle_nodes; /* that run no kernel */
    double ns, least_busy, most_busy;
    double use[5]; /* kernels, messages, planning, ahead, idle: shares of 1 */
    uint64_t tasks, messages, bytes, collectives;
    uint64_t broadcasts, recipients, refused, relayed_bytes;
    tool_path_share *path; /* longest first */
    size_t paths;
    char **unmet_kernel; /* of which a file says how long they take, and that never ran */
    size_t unmet;
    struct {
        double ns;
        uint64_t instructions, events, moved;
    } replay; /* instructions 0: no recorded run was followed */
} tool_simulation;
void tool_simulation_fini(tool_simulation *simulation);

/* tacit bench --list */
typedef struct tool_benchmark {
    const char *name, *help;
    int nodes; /* that it is started on */
    bool built;
} tool_benchmark;

/* Whether this build can print JSON; if not, after saying so. */
bool tool_json_is_there(void);
/* Each prints one JSON object or array and returns the exit status. */
int tool_json_info(const tool_facts *facts);
int tool_json_settings(void);
int tool_json_graphs(const tool_graph_file *files, size_t count, int exit_status);
int tool_json_plans(const tool_plan_row *row, size_t count, const tool_plan *most, const tool_plan *idle);
/* The report of a dry run. False if it is not there or not one. */
bool tool_json_read_plan(const char *path, tool_plan *out);
/* The report of a simulation. False if it is not there or not one. */
bool tool_json_read_simulation(const char *path, tool_simulation *out);
int tool_json_simulations(const tool_simulation *row, size_t count);
int tool_json_benches(const tool_benchmark *entries, size_t count);

#endif
