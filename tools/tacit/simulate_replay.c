/* tacit simulate --replay and --durations: a recorded run, executed by the simulator. See simulate.h.
 *
 * The library compares and executes (src/sim/replay.c); a line of the file that describes the cluster says which
 * trace. */
#include "simulate.h"

#include "trace/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What the recorded run says already. */
static const char *superfluous(const simulate_options *o)
{
    return o->nodes.count                     ? "--nodes"
           : o->machine                       ? "--machine"
           : o->measures                      ? "--calibrate-kernels"
           : o->kernels                       ? "--kernels"
           : o->lines.length                  ? "--kernel"
           : o->replay_in_order && o->network ? "--network"
                                              : NULL;
}

int simulate_prepare_replay(simulate_options *o)
{
    char prefix[PATH_MAX];
    ti_trace_header header;
    ti_strbuf why = { 0 };
    const char *option = o->replay_in_order ? "--replay" : "--durations", *more = superfluous(o);
    if (more) {
        return tool_fail(TOOL_USAGE, "%s takes that from the recorded run; leave out %s", option, more);
    }
    int status = tool_trace_prefix(o->replay, prefix);
    if (status == TOOL_OK && strpbrk(prefix, "#\n")) {
        status = tool_fail(TOOL_USAGE, "%s cannot use '%s', since it has a # or a new line; rename the files", option,
                           prefix);
    } else if (status == TOOL_OK && !ti_trace_read(prefix, 0, &header, NULL, NULL, &why)) {
        status = tool_fail(TOOL_USAGE, "%s; record a run by `tacit trace --keep --output PREFIX`",
                           ti_strbuf_text(&why));
    } else if (status == TOOL_OK) {
        o->nodes = (tool_counts){ { header.nodes }, 1 };
        ti_strbuf_add(&o->lines, "%s = %s\n", option + strlen("--"), prefix);
    }
    ti_strbuf_fini(&why);
    return status;
}

void simulate_print_replay(const simulate_options *o, const tool_simulation *row)
{
    printf("\nThe same %" PRIu64 " instructions as recorded, ", row->replay.instructions);
    if (o->replay_in_order) {
        printf("started and ended in the recorded order.\n");
    } else {
        printf("%" PRIu64 " of their %" PRIu64 " starts and ends in another order than recorded.\n", row->replay.moved,
               row->replay.events);
    }
    printf("  recorded ");
    simulate_print_time(row->replay.ns);
    printf("\n  simulated");
    simulate_print_time(row->ns);
    printf("  (%.2f of it)\n", row->replay.ns > 0 ? row->ns / row->replay.ns : 0);
}
