/* Several nodes in one process: one context and one thread per node, on the in-process network. For tests.
 *
 * `cluster_run` runs the same program on every node and returns when all have finalized. Checks that fail on a node's
 * thread end the test program: cmocka's own checks work on the main thread only. */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "api/context.h"
#include "base/config.h"
#include "local_comm.h"
#include "timeline.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The call must succeed. */
#define REQUIRE_OK(ctx, call)                                                                                          \
    do {                                                                                                               \
        tacit_status status_ = (call);                                                                                 \
        if (status_ != TACIT_OK) {                                                                                     \
            fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call, tacit_status_name(status_),              \
                    tacit_last_error(ctx));                                                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

typedef void cluster_program(tacit_context *ctx, void *user);

typedef struct cluster {
    int nodes;
    const tacit_config *config; /* or NULL */
    const tacit_config *last;   /* of the last node, or NULL: as the others */
    size_t eager;               /* of the network: messages up to this size complete at once */
    size_t early;               /* bytes to one peer for which no receive is known; 0: 1 MiB */
    uint64_t shake;             /* seed for delays and reordering; 0: none */
    bool machines;              /* as if each node had one of its own */
    timeline *timeline;         /* one per node, or NULL */
    cluster_program *program;
    void *user; /* handed to the program on every node */
} cluster;

typedef struct cluster_member {
    const cluster *cluster;
    local_hub *hub;
    int node;
    pthread_t thread;
} cluster_member;

static inline tacit_config cluster_config(const tacit_config *given)
{
    tacit_config resolved;
    ti_strbuf why = { 0 };
    if (ti_config_resolve(given, &resolved, &why) != TACIT_OK) {
        fprintf(stderr, "%s\n", ti_strbuf_text(&why));
        abort();
    }
    ti_strbuf_fini(&why);
    return resolved;
}

static inline void *cluster_main(void *user)
{
    const cluster_member *self = user;
    const cluster *c = self->cluster;
    tacit_context *ctx;
    tacit_config config = cluster_config(c->last && self->node == c->nodes - 1 ? c->last : c->config);
    ti_comm *comm = local_comm_create(self->hub, self->node);
    comm->local_nodes = c->machines ? 1 : comm->local_nodes;
    comm->local_node = c->machines ? 0 : comm->local_node;
    REQUIRE(ti_context_create(&config, comm, &ctx) == TACIT_OK);
    if (c->timeline) {
        ti_runtime_tap(ctx->runtime, NULL, &c->timeline[self->node].tap);
    }
    c->program(ctx, c->user);
    REQUIRE(tacit_finalize(ctx) == TACIT_OK);
    return NULL;
}

static inline void cluster_run(const cluster *c)
{
    enum { MOST = 64 };
    cluster_member member[MOST];
    REQUIRE(c->nodes >= 1 && c->nodes <= MOST);
    local_hub *hub = local_hub_create(c->nodes, c->eager ? c->eager : 4096, c->early ? c->early : 1 << 20, c->shake);
    local_hub_set_threaded(hub);
    for (int i = 0; i < c->nodes; i++) {
        member[i] = (cluster_member){ .cluster = c, .hub = hub, .node = i };
        REQUIRE(pthread_create(&member[i].thread, NULL, cluster_main, &member[i]) == 0);
    }
    for (int i = 0; i < c->nodes; i++) {
        REQUIRE(pthread_join(member[i].thread, NULL) == 0);
    }
    local_hub_destroy(hub);
}

#endif
