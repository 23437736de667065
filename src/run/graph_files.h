/* The graphs that TACIT_GRAPH asks for: task graph, command graph and instruction graph, each collected by the stage
 * that makes it and written at the end. Each by one thread at a time. */
#ifndef TI_GRAPH_FILES_H
#define TI_GRAPH_FILES_H

#include "base/strbuf.h"
#include "trace/dot.h"

typedef struct ti_graph_files {
    const char *prefix; /* NULL: none are wanted */
    ti_dot task, command, instruction;
} ti_graph_files;

/* `tasks` says which ones, or is NULL. False and a sentence in `why` if it means nothing. */
bool ti_graph_files_open(ti_graph_files *files, const char *prefix, const char *tasks, ti_strbuf *why);
void ti_graph_files_fini(ti_graph_files *files);

/* Node 0 writes the task graph, which is the same everywhere. False and a sentence in `why` on failure. */
bool ti_graph_files_write(ti_graph_files *files, int node, int num_nodes, ti_strbuf *why);

#endif
