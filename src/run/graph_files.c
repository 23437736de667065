/* Graphs as files: see graph_files.h. */
#include "run/graph_files.h"

#include <errno.h>
#include <string.h>

bool ti_graph_files_open(ti_graph_files *files, const char *prefix, const char *tasks, ti_strbuf *why)
{
    files->prefix = prefix;
    if (ti_dot_init(&files->task, tasks) && ti_dot_init(&files->command, tasks) &&
        ti_dot_init(&files->instruction, tasks)) {
        return true;
    }
    ti_strbuf_add(why, "TACIT_GRAPH_TASKS is '%s', but must be first:last, such as 10:20", tasks);
    return false;
}

void ti_graph_files_fini(ti_graph_files *files)
{
    ti_dot_fini(&files->task);
    ti_dot_fini(&files->command);
    ti_dot_fini(&files->instruction);
}

bool ti_graph_files_write(ti_graph_files *files, int node, int num_nodes, ti_strbuf *why)
{
    static const char *const names[] = { "task", "command", "instruction" };
    ti_dot *const dots[] = { &files->task, &files->command, &files->instruction };
    bool ok = true;
    for (int i = node == 0 ? 0 : 1; files->prefix && ok && i < 3; i++) {
        ti_strbuf path = { 0 }, title = { 0 };
        ti_strbuf_add(&path, i ? "%s.%s.%d.dot" : "%s.%s.dot", files->prefix, names[i], node);
        ti_strbuf_add(&title, i ? "%s graph, node %d of %d" : "%s graph", names[i], node, num_nodes);
        ok = ti_dot_write(dots[i], path.text, title.text);
        if (!ok) {
            ti_strbuf_add(why, "cannot write '%s': %s; set TACIT_GRAPH to a path in a folder that exists and has room",
                          path.text, strerror(errno));
        }
        ti_strbuf_fini(&path);
        ti_strbuf_fini(&title);
    }
    return ok;
}
