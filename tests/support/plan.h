/* Planners of a cluster, or of one node of it, for tests that state plans literally.
 *
 * Tasks are given in the terms of gen.h; what a node does for the latest one comes as text, such as
 *   "send 1 A [3,4); receive 1 A [4,5); execute [0,4)"
 *   "all-gather A [0,16) give [0,4) get [4,16); execute [0,4)"
 * Buffers are called A, B, ... in the order of the list. All nodes, or just one, are planned; nothing is executed.
 * One thread. */
#ifndef TEST_PLAN_H
#define TEST_PLAN_H

#include "base/strbuf.h"
#include "lower.h"
#include "plan/command/graph.h"
#include "trace/explain.h"

typedef struct plan_node {
    ti_system system;
    ti_task_graph *tasks;
    ti_command_graph *graph;
    ti_strbuf text;              /* of the latest task */
    uint64_t evaluated;          /* chunks, for the latest task */
    uint64_t replayed;           /* so far */
    uint64_t messages, elements; /* of the latest task, both ways */
} plan_node;

typedef struct plan {
    gen_program *program;
    lowering lowering;
    plan_node *node; /* those that are planned */
    int count;
    ti_explain *explain; /* of the first planned node */
    uint64_t
        shape; /* the serial of the next task's shape; 0: nothing is replayed, and never on the first planned node */
} plan;

typedef struct plan_setup {
    int nodes, only;                /* the node to plan, or -1 for all */
    int collectives;                /* TI_COLLECTIVES_OFF ... */
    int multicast;                  /* TI_MULTICAST_NONE ... */
    int64_t horizon_step;           /* 0: 4 */
    int old_producers;              /* as in ti_system */
    bool latency_staged;            /* the same */
    int overlap;                    /* TI_CUTS_OFF ... */
    int latency_tasks;              /* the same; windows hold any number of horizons */
    const ti_custom_mapper *custom; /* what tacit_custom(0), tacit_custom(1), ... mean */
    size_t customs;
} plan_setup;

void plan_start(plan *p, const plan_setup *setup, const gen_buffer *buffer, size_t buffers);
/* The same without collectives and custom mappers. The buffers are created. */
void plan_init(plan *p, int nodes, int only, const gen_buffer *buffer, size_t buffers);
void plan_fini(plan *p);

static inline gen_buffer plan_buffer(tacit_range range, bool initialised)
{
    return (gen_buffer){ .range = range, .elem_size = 8, .initialised = initialised };
}

/* Split over all nodes, or placed on one. The access list ends with a zero mode. */
void plan_task(plan *p, gen_task task);
void plan_placed(plan *p, int node, gen_task task);
void plan_fence(plan *p, int buffer, gen_box box);

static inline gen_access plan_read(int buffer, tacit_mapper mapper)
{
    return (gen_access){ .buffer = buffer, .mode = TACIT_READ, .mapper = mapper };
}
static inline gen_access plan_write(int buffer, tacit_mapper mapper)
{
    return (gen_access){ .buffer = buffer, .mode = TACIT_WRITE, .mapper = mapper };
}
static inline gen_access plan_update(int buffer, tacit_mapper mapper)
{
    return (gen_access){ .buffer = buffer, .mode = TACIT_UPDATE, .mapper = mapper };
}

/* What the i-th planned node does for the latest task. */
const char *plan_text(const plan *p, int i);
/* What became of what the latest task of this name reads of `buffer` ("A"), as the first planned node sees it: the
 * latest row of the report, or NULL. */
const ti_explain_edge *plan_edge(const plan *p, const char *consumer, const char *buffer);
/* Entries of all version maps of the first planned node. */
uint64_t plan_entries(const plan *p);

#endif
