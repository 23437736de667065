/* A random program through the public interface, on one node of a run, compared with the oracle at every fence.
 *
 * The same function serves many contexts in one process (model/) and one per process (mpi/). All nodes must call it
 * with equal programs. Tasks on every node wait for each other inside their kernels; tasks that name the same host
 * object must not overlap. A difference is noted, and the program goes on, so that the other nodes do not wait for
 * ever. The calling thread owns the context. */
#ifndef TEST_MODEL_RUN_H
#define TEST_MODEL_RUN_H

#include "oracle.h"

#include <stdatomic.h>

/* Lives until the context is finalized. */
typedef struct model_result {
    bool failed;
    uint64_t fences, collective_hosts;
    char why[400];  /* of the first difference or error */
    int objects;    /* contents of host objects that have not been ended */
    void *borrowed; /* initial contents of buffers, which stay until the end */
} model_result;

/* After tacit_finalize: whether all that belonged to the context has ended, too. */
bool model_end(model_result *result);

/* Kernels of tasks on every node call `meet`, which returns when those of all nodes have; NULL: they do not meet.
 * With `delays` other than 0 some kernels sleep first; which ones follows from it. */
typedef struct model_hall {
    void (*meet)(const tacit_launch *launch, size_t step, void *user);
    void *user;
    uint64_t delays;
    int slow; /* 1 + a node all of whose kernels take a millisecond; 0: none */
} model_hall;

void model_run(tacit_context *ctx, const gen_program *program, const oracle *truth, const model_hall *hall,
               model_result *out);

/* Settings of a run, drawn at random: every node must draw with the same generator. */
void model_config(gen_rng *r, tacit_config *out);
/* And TACIT_BALANCE, which lies in `text`, for the devices that it has. What is drawn from the generator afterwards is
 * as without this. */
enum { MODEL_BALANCE = 4000 };
void model_balance(const gen_rng *r, int nodes, char text[MODEL_BALANCE], tacit_config *out);
/* And others, drawn likewise. */
void model_more(const gen_rng *r, tacit_config *out);
/* And TACIT_TRACE and TACIT_GRAPH, drawn likewise: files in a folder, whose names lie in `paths`. */
enum { MODEL_PATH = 200 };
typedef struct model_paths {
    char trace[MODEL_PATH], graph[MODEL_PATH];
} model_paths;
void model_files(const gen_rng *r, const char *folder, model_paths *paths, tacit_config *out);
/* All files of the folder. */
void model_remove_files(const char *folder);

#endif
