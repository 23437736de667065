/* The three graphs as Graphviz text, printed from the vertices themselves as they pass by.
 *
 * A window of tasks can be chosen; edges from vertices before it are left out. One object per graph, owned by the
 * thread of that stage; NULL objects are never passed. */
#ifndef TI_DOT_H
#define TI_DOT_H

#include "base/strbuf.h"
#include "ir/instruction.h"

typedef struct ti_dot {
    ti_strbuf text;
    uint64_t first_task, end_task; /* [first, end) */
    uint64_t first_vertex;         /* that was drawn; 0: none yet */
} ti_dot;

/* Which tasks: `window` is "first:last" or NULL for all. Returns false if it is malformed. */
bool ti_dot_init(ti_dot *dot, const char *window);
void ti_dot_fini(ti_dot *dot);

void ti_dot_task(ti_dot *dot, const ti_task *task);
void ti_dot_command(ti_dot *dot, const ti_command *command);
void ti_dot_instruction(ti_dot *dot, const ti_instruction *instruction);

/* Write the graph to `path`. Returns false, with errno set, on failure. */
bool ti_dot_write(const ti_dot *dot, const char *path, const char *title);

#endif
