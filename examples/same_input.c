/* examples/same_input.c: whether all nodes have read the same file; see same_input.h. */
#include "same_input.h"

#include <stdlib.h>

/* The argument is a pointer, which means something in this process only: each node tells what it found itself. */
struct found_here {
    const struct input_found *found;
};

/* View: one element for each node. A host task may look at what its own process knows. */
static void tell(const tacit_launch *k)
{
    const struct found_here *here = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT1(struct input_found, k->view[0], i) = *here->found;
}

static bool complain(const tacit_context *ctx, const char *path, size_t node, bool read)
{
    if (tacit_node(ctx) == 0 && !read)
        fprintf(stderr, "node %zu cannot read %s; it must be there on all nodes\n", node, path);
    else if (tacit_node(ctx) == 0)
        fprintf(stderr, "node %zu has another %s than node 0; it must be the same on all nodes\n", node, path);
    return false;
}

/* A buffer has one element for each node, written by a host task that is split over the nodes; a fence brings the
 * whole buffer to every node, and all of them decide by the same elements. */
bool same_input(tacit_context *ctx, const char *path, struct input_found here)
{
    const size_t nodes = (size_t)tacit_num_nodes(ctx);
    const struct found_here args = { &here };
    const tacit_buffer_desc desc = { .name = "input", .range = TACIT_RANGE(nodes), .elem_size = sizeof here };
    struct input_found *all = example_alloc(nodes, sizeof *all);
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    const tacit_task tell_it = {
        .name = "tell input",
        .range = TACIT_RANGE(nodes),
        .on = TACIT_ON_HOST,
        .kernel = { .host = tell },
        TACIT_ARGS(args),
        .access = { tacit_write(buffer, tacit_one_to_one()) },
    };
    CHECK(tacit_submit(ctx, &tell_it));
    CHECK(tacit_fence_read(ctx, buffer, TACIT_BOX_ALL, all));
    CHECK(tacit_buffer_destroy(ctx, buffer));

    if (tacit_is_dry_run(ctx)) /* which knows of no other nodes */
        all[0] = here;
    bool good = all[0].read;
    for (size_t i = 1; i < nodes && good && !tacit_is_dry_run(ctx); i++)
        if (!all[i].read || all[i].hash != all[0].hash)
            good = complain(ctx, path, i, all[i].read);
    free(all);
    return good;
}
