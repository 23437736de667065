/* examples/same_input.h: whether all nodes have read the same file, found out by a small tacit program.
 *
 * Every node submits the same tasks, so no branch of a program may depend on what one node found on its own disk. What
 * nodes read is therefore compared first: afterwards either all go on, or all stop. Called by the program's thread. */
#ifndef TACIT_EXAMPLES_SAME_INPUT_H
#define TACIT_EXAMPLES_SAME_INPUT_H

#include "common.h"

/* What a node found: `read` is false if it could not read the file, otherwise `hash` stands for the contents. */
struct input_found {
    bool read;
    uint64_t hash;
};

/* Whether all nodes have read the same; the answer is the same on all. Otherwise node 0 says which node differs, except
 * if it could not read the file itself, and has said so already. All nodes. */
bool same_input(tacit_context *ctx, const char *path, struct input_found here);

#endif
