/* A task: one submission, the same on every node. Plain data, immutable once the task graph has returned it: any
 * thread.
 *
 * Lives in the task graph's arena until the horizon after it has been executed. */
#ifndef TI_TASK_H
#define TI_TASK_H

#include "grid/distribution.h"
#include "ir/collective.h"
#include "ir/shape.h"

typedef enum ti_task_kind {
    TI_TASK_EXECUTE, /* run a kernel over a range */
    TI_TASK_FENCE,   /* bring a box to the user's memory on every node */
    TI_TASK_EPOCH,   /* a point where the program waits */
    TI_TASK_HORIZON, /* an epoch that the runtime inserts */
    TI_TASK_CREATE,  /* a buffer comes into being */
    TI_TASK_DESTROY, /* and goes */
    TI_TASK_BRIEF    /* a task on tiles that runs on another node: see brief.h */
} ti_task_kind;

/* Memory of the program's: where this node's parts of a buffer come from or go to, and what is set when they have
 * been copied (or NULL). */
typedef struct ti_user_copy {
    void *memory; /* NULL: none */
    const ti_local_piece *piece;
    size_t pieces;
    struct ti_signal *signal;
} ti_user_copy;

/* Tasks on every node may wait for each other's counterparts, so they follow each other in the same order on all
 * nodes. */
enum {
    TI_ORDER_OF_COLLECTIVE_HOST = 0, /* and those of its groups, by their numbers */
    TI_ORDER_OF_OBJECTS = TI_ORDER_OF_COLLECTIVE_HOST + TACIT_MAX_COLLECTIVE_GROUPS + 1
};

/* A forward: a vertex of the task graph between a producer and a consumer, where a collective may take place. It is
 * kept with its consumer. The region is what the consumer reads of what the producer wrote and nobody has
 * overwritten. See plan/task/forward.h. */
typedef struct ti_forward {
    const ti_buffer_info *buffer;
    uint64_t producer; /* a task; 0: several, all before the latest horizon */
    const ti_box *box; /* disjoint */
    uint32_t boxes;
    bool whole; /* all that is left of what the producer wrote */
} ti_forward;

/* What a task reads of what another one wrote, moved or not; only if somebody wants to know (ti_system::explain). */
typedef struct ti_edge {
    const ti_buffer_info *buffer;
    const char *producer, *consumer, *name; /* of the buffer; kept by the report */
    const ti_box *box;                      /* disjoint */
    uint32_t boxes;
    int forward; /* index, or -1 and: */
    ti_verdict verdict;
    bool merged; /* its forward is of other producers too; without one, the verdict is a guess */
} ti_edge;

/* Tasks with the same `again` are alike but for their ids, those of what they depend on, and their arguments: ids have
 * grown by as much as those of the tasks around them. The next step of a round has the next number, and the first one a
 * multiple of this. */
enum { TI_AGAIN_STEPS = 1 << 16 };

/* Forwards between placed tasks: the source of a read is the task that wrote all of its one box, if that ran on another
 * node; else 0. Only if multicasts are planned (ti_system::multicast). */
typedef struct ti_task {
    ti_task_kind kind;
    uint32_t deps;
    uint64_t id; /* ascending */
    const ti_shape *shape;
    const uint64_t *dep; /* ids of earlier tasks: the task graph */
    const void *args;
    /* A brief has nothing from here on. */
    uint64_t again; /* a step of a cycle of the task graph, or 0: see above */
    uint32_t forwards;
    uint32_t edges;
    bool writes_new; /* maybe: elements that nobody wrote before */
    const ti_forward *forward;
    const ti_edge *edge;
    const uint64_t *source; /* of each access, or NULL: see above */
    union {
        struct {
            const ti_buffer_info *buffer;
            ti_user_copy init; /* all of the contents, or with an access this node's part of what it says */
            bool resizes;      /* another one, which goes soon */
        } create;
        const ti_buffer_info *destroy;
        ti_user_copy fence;
        bool barrier; /* epoch: all nodes meet */
    } as;
} ti_task;

#endif
