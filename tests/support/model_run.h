/* A random program through the public interface, on one node of a run, compared with the oracle at every fence.
 *
 * The same function serves many contexts in one process (model/) and one per process (mpi/). All nodes must call it with equal
 * programs. A difference is noted, and the program goes on, so that the other nodes do not wait for ever. The calling thread owns the context. */
#ifndef TEST_MODEL_RUN_H
#define TEST_MODEL_RUN_H

#include "oracle.h"

typedef struct model_result {
    bool failed;
    uint64_t fences;
    char why[400]; /* of the first difference or error */
} model_result;

void model_run(tacit_context *ctx, const gen_program *program, const oracle *truth, model_result *out);

/* Settings of a run, drawn at random: every node must draw with the same generator. */
void model_config(gen_rng *r, tacit_config *out);

#endif
