/* The tool's JSON in a build without jansson: a sentence. See report.h. */
#include "report.h"

bool tool_json_is_there(void)
{
    tool_fail(TOOL_FAILURE, "this tacit was built without jansson and cannot print JSON: install libjansson-dev, "
                            "configure and build again");
    return false;
}

int tool_json_info(const tool_facts *facts)
{
    (void)facts;
    return TOOL_FAILURE;
}

int tool_json_settings(void)
{
    return TOOL_FAILURE;
}

int tool_json_graphs(const tool_graph_file *files, size_t count, int exit_status)
{
    (void)files, (void)count, (void)exit_status;
    return TOOL_FAILURE;
}

int tool_json_benches(const tool_benchmark *entries, size_t count)
{
    (void)entries, (void)count;
    return TOOL_FAILURE;
}

int tool_json_plans(const tool_plan_row *row, size_t count, const tool_plan *most, const tool_plan *idle)
{
    (void)row, (void)count, (void)most, (void)idle;
    return TOOL_FAILURE;
}

bool tool_json_read_plan(const char *path, tool_plan *out)
{
    (void)path, (void)out;
    return false;
}

bool tool_json_read_simulation(const char *path, tool_simulation *out)
{
    (void)path, (void)out;
    return false;
}

int tool_json_simulations(const tool_simulation *row, size_t count)
{
    (void)row, (void)count;
    return TOOL_FAILURE;
}
