/* A task: one submission, the same on every node. Plain data, immutable once the task graph has returned it.
 *
 * Lives in the task graph's arena until the horizon after it has been executed. */
#ifndef TI_TASK_H
#define TI_TASK_H

#include "base/arena.h"
#include "grid/distribution.h"
#include "grid/mapper.h"
#include "grid/region.h"
#include "ir/collective.h"
#include "ir/reduction.h"
#include "tacit/tacit.h"

typedef enum ti_task_kind {
    TI_TASK_EXECUTE, /* run a kernel over a range */
    TI_TASK_FENCE,   /* bring a box to the user's memory on every node */
    TI_TASK_EPOCH,   /* a point where the program waits */
    TI_TASK_HORIZON, /* an epoch that the runtime inserts */
    TI_TASK_CREATE,  /* a buffer comes into being */
    TI_TASK_DESTROY  /* and goes */
} ti_task_kind;

/* A buffer as all stages know it. Lives until the horizon after its destruction has been executed. */
typedef struct ti_buffer_info {
    uint32_t slot; /* index for tables; reused after the buffer is gone */
    int dims;
    uint64_t serial; /* creation number, for messages and names */
    const char *name;
    ti_box extent;
    size_t elem_size;
} ti_buffer_info;

/* A registered custom mapper. Lives as long as the context. */
typedef struct ti_custom_mapper {
    tacit_mapper_fn *fn;
    void *user;
    size_t user_size;
    unsigned properties;
    int handle;
} ti_custom_mapper;

typedef struct ti_access {
    const ti_buffer_info *buffer;
    const ti_mapper *mapper;        /* 1 to TI_MAPPER_PARTS, whose union counts */
    const ti_custom_mapper *custom; /* NULL: component mappers */
    uint32_t mappers;
    int32_t mode;       /* TACIT_READ ... */
    bool include_old;   /* reductions: the first node that has chunks reads the old contents */
    uint8_t kind;       /* TACIT_MAPPER_ALL ..., as the program wrote it, for messages; 0: it is not the program's */
    ti_reducer reducer; /* reductions */
} ti_access;

/* Append what `items` touch of the access's buffer, one image per component mapper, or that of the custom mapper; a
 * reduction touches all of it. */
void ti_access_image(const ti_access *access, const ti_box *items, ti_boxes *out);

/* What one piece of a task touches of one access: the exact boxes, and their bounding box, which the kernel sees. */
typedef struct ti_footprint {
    const ti_box *box;
    uint32_t boxes;
    ti_box bounding; /* empty if the piece touches nothing */
} ti_footprint;

/* What `items` touch of the access; the boxes go into the arena. */
void ti_footprint_fill(ti_footprint *out, const ti_access *access, const ti_box *items, ti_arena *arena);

static inline bool ti_access_reads(const ti_access *a)
{
    return a->mode == TACIT_READ || a->mode == TACIT_UPDATE;
}
/* Whether the old contents of the buffer matter to anybody. */
static inline bool ti_access_needs_old(const ti_access *a)
{
    return ti_access_reads(a) || (a->mode == TACIT_REDUCE && a->include_old);
}
static inline bool ti_access_writes(const ti_access *a)
{
    return a->mode == TACIT_WRITE || a->mode == TACIT_UPDATE;
}

/* Memory of the program's: where this node's parts of a buffer come from or go to, and what is set when they have been copied (or NULL). */
typedef struct ti_user_copy {
    void *memory; /* NULL: none */
    const ti_local_piece *piece;
    size_t pieces;
    struct ti_signal *signal;
} ti_user_copy;

/* Tasks on every node may wait for each other's counterparts, so they follow each other in the same order on all nodes. */
enum { TI_ORDER_OF_MEETINGS = 0, TI_ORDER_OF_OBJECTS = 1 };

/* A forward: a vertex of the task graph between a producer and a consumer, where a collective may take place. It is kept with its consumer. The
 * region is what the consumer reads of what the producer wrote and nobody has overwritten. See plan/task/forward.h. */
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

typedef struct ti_task {
    ti_task_kind kind;
    tacit_on on;
    bool whole_chunk;
    bool on_host;    /* not on devices */
    bool one_device; /* chunks are not cut further: every call computes the same */
    bool two_dimensional;
    bool in_blocks; /* gran[0] is the length of a block, one call of the kernel combines each: ir/block_tree.h */
    bool hash_args; /* nodes compare the bytes of the arguments */
    bool no_collectives;
    int priority;
    int place; /* a node, TI_PLACE_SPLIT or TI_PLACE_EVERYWHERE */
    int oversubscribe;
    int dims;
    uint64_t id;  /* ascending */
    uint64_t row; /* equal for tasks that differ in nothing but arguments; 0: not known */
    const char *name;
    ti_box range; /* may be empty */
    int64_t gran[3];
    int64_t grid[3]; /* parts per dimension; zeros: the split chooses */
    const uint32_t *weights;
    const ti_access *access;
    const ti_footprint *footprint; /* of the whole range, one per access; from the task graph */
    uint32_t accesses;
    uint32_t orders;
    const uint32_t *order; /* slots: on each node, tasks that share one run one after the other */
    uint32_t deps;
    uint32_t forwards;
    const uint64_t *dep; /* ids of earlier tasks: the task graph */
    const ti_forward *forward;
    const ti_edge *edge;
    uint32_t edges;
    const void *args;
    size_t args_size;
    tacit_kernel kernel;
    union {
        struct {
            const ti_buffer_info *buffer;
            ti_user_copy init; /* all of the contents, or with an access this node's part of what it says */
        } create;
        const ti_buffer_info *destroy;
        ti_user_copy fence;
        bool barrier; /* epoch: all nodes meet */
    } as;
} ti_task;

/* Whether this access needs old contents of its buffer and none before it does: all reads of a buffer are planned at its first. */
static inline bool ti_task_is_first_read(const ti_task *task, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (task->access[i].buffer == task->access[index].buffer && ti_access_needs_old(&task->access[i])) {
            return false;
        }
    }
    return ti_access_needs_old(&task->access[index]);
}

#endif
