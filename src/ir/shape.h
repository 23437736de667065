/* A shape: everything that two submissions of a loop have in common, which is all but their arguments. Immutable: any
 * thread.
 *
 * A task is a shape, an id and arguments. Descriptions that come again are interned (api/shapes.h): equal ones point to
 * one shape, which has a serial that no other shape ever has, and a number, by which each stage keeps a table of what
 * it knows of the shape. A number is given to another shape only when every task of the first has been executed. A
 * stage that finds another serial in its table has to forget that entry. A description that comes once has a shape of
 * its own, with serial 0, beside the task. */
#ifndef TI_SHAPE_H
#define TI_SHAPE_H

#include "base/arena.h"
#include "grid/mapper.h"
#include "grid/region.h"
#include "grid/split.h"
#include "ir/reduction.h"
#include "ir/system.h"
#include "tacit/tacit.h"

/* A buffer as all stages know it. Lives until the horizon after its destruction has been executed. */
typedef struct ti_buffer_info {
    uint32_t slot; /* index for tables; reused after the buffer is gone */
    int dims;
    uint64_t serial; /* creation number, for messages and names */
    const char *name;
    ti_box extent;
    size_t elem_size;
} ti_buffer_info;

/* A registered custom mapper. Lives as long as the context, since holders know it by its address; once it is destroyed
 * and no task is left that uses it, `user` and `answers` are NULL. */
typedef struct ti_custom_mapper {
    tacit_mapper_fn *fn;
    void *user;
    size_t user_size;
    unsigned properties;
    int handle;
    bool destroyed;                    /* by the program */
    struct ti_custom_answers *answers; /* what it has said (ir/custom.h), or NULL: it is always asked */
} ti_custom_mapper;

typedef struct ti_access {
    const ti_buffer_info *buffer;
    const ti_mapper *mapper;        /* 1 to TI_MAPPER_PARTS, whose union counts; see `bare` of ti_shape */
    const ti_custom_mapper *custom; /* NULL: component mappers */
    uint32_t mappers;
    int32_t mode;       /* TACIT_READ ... */
    bool include_old;   /* reductions: the first node that has chunks reads the old contents */
    bool in_parts;      /* every box of its image has a view of its own */
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
    uint32_t tile;   /* of a placed task, by one component mapper: the number of its only box (grid/tile.h); or 0 */
    bool together;   /* the kernel sees one piece, also of an access in parts: an accelerator's */
    ti_box bounding; /* empty if the piece touches nothing */
} ti_footprint;

/* Whether a kernel sees every box by itself. */
static inline bool ti_footprint_in_parts(const ti_footprint *f, const ti_access *access)
{
    return access->in_parts && !f->together;
}

/* What must lie in one piece of memory each: the parts, or the bounding box. */
static inline const ti_box *ti_footprint_seen(const ti_footprint *f, const ti_access *access, uint32_t *count)
{
    const bool in_parts = ti_footprint_in_parts(f, access);
    *count = in_parts ? f->boxes : !ti_box_is_empty(&f->bounding);
    return in_parts ? f->box : &f->bounding;
}

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

typedef struct ti_shape {
    uint64_t serial; /* 0: comes once, as far as is known */
    uint32_t number; /* of an interned one: its place in tables */
    tacit_on on;
    bool whole_chunk; /* chunks are not cut further, for devices and workers */
    bool on_host;     /* not on devices */
    bool two_dimensional;
    bool in_blocks; /* gran[0] is the length of a block, one call of the kernel combines each: ir/block_tree.h */
    bool is_fence;  /* of a box, whose tasks are of kind TI_TASK_FENCE */
    bool hash_args; /* nodes compare the bytes of the arguments */
    bool no_collectives;
    bool pure;
    bool balanced; /* its weights, or that there are none, are what TACIT_BALANCE says now */
    int window;    /* tasks that a window with this one has at most; 0: as many as others */
    double cost;   /* nanoseconds per item; 0: not given */
    int priority;
    int group; /* of collective host tasks; 0: none */
    int place; /* a node, TI_PLACE_SPLIT or TI_PLACE_EVERYWHERE */
    int oversubscribe;
    int dims;
    const char *name;
    ti_box range; /* may be empty */
    int64_t gran[3];
    int64_t grid[3]; /* parts per dimension; zeros: the split chooses */
    const uint32_t *weights;
    const ti_weights *items; /* of the items along dimension 0, or NULL; lives as long as the tasks of the shape */
    const int64_t *border;   /* that they make, in dimension 0: ti_split_cut; or NULL */
    int64_t borders;
    const ti_access *access;
    const ti_footprint *footprint; /* of the whole range, one per access */
    uint32_t accesses;
    uint32_t orders;
    const uint32_t *order; /* slots: on each node, tasks that share one run one after the other */
    size_t args_size;
    tacit_host_kernel *host;     /* kernel for workers, or NULL */
    const tacit_kernel *devices; /* all kernels, if there are others, or NULL: few tasks have any */
    int accelerated;             /* kinds of accelerators that there is a kernel for: TI_OPENCL | TI_CUDA */
    uint32_t group_items;        /* of a task with reductions there: items of a group; and how many groups */
    uint32_t most_groups;        /* a device has at most, each with a partial result of its own */
    bool bare;                   /* accesses have no mapper: see ti_shape_complete */
    /* Of a form (api/tile.h): if tasks of it run elsewhere and touch tiles, briefs say all of them (ir/brief.h). */
    bool may_be_brief;
    int tile_dims;                 /* then, of all its buffers */
    uint32_t reads, writes, turns; /* bits: the accesses that do; and those to another buffer than the one before */
    uint64_t full;                 /* if bare: TI_FULL_BITS for each access */
    const struct ti_submission *submission; /* of all its tasks but for their ids, or NULL: not known */
} ti_shape;

/* A shape of its own, with one dimension, and no range and accesses yet. `name` lives as long as it. */
static inline ti_shape *ti_shape_new(ti_arena *arena, const char *name)
{
    ti_shape *shape = TI_ARENA_NEW(arena, ti_shape);
    shape->name = name;
    shape->place = TI_PLACE_SPLIT;
    shape->oversubscribe = 1;
    shape->dims = 1;
    shape->gran[0] = shape->gran[1] = shape->gran[2] = 1;
    return shape;
}

/* Whether each of the devices that share a node's work gets a part of such a task. */
static inline bool ti_shape_is_shared(const ti_shape *shape, const ti_system *system)
{
    const bool accelerated = system->accelerator & shape->accelerated;
    return !shape->on_host && !shape->whole_chunk &&
           (system->accelerators == 0 || (accelerated && (system->idle_host || shape->host)));
}

/* Set the footprints, which the accesses and the range make; they go into the arena. */
void ti_shape_fill_footprints(ti_shape *shape, ti_arena *arena);

/* Most tasks on tiles run on other nodes, and nobody looks at their mappers. They have none: the mapper of an access is
 * that of its footprint's only box, and of all of a dimension d, whatever it is, if bit d of its bits of `full` says
 * so. */
enum { TI_FULL_BITS = 4 };
_Static_assert(TACIT_MAX_ACCESSES <= 64 / TI_FULL_BITS, "a word has the bits of all accesses");
void ti_mapper_of_tile(ti_mapper *out, int dims, const ti_box *box, unsigned full);
/* The same shape with mappers: itself, or a copy in the arena, which uses its footprints. */
const ti_shape *ti_shape_complete(const ti_shape *shape, ti_arena *arena);
/* One mapper of an access, in `room` if it has to be made. */
static inline const ti_mapper *ti_shape_mapper(const ti_shape *shape, uint32_t access, uint32_t mapper, ti_mapper *room)
{
    if (!shape->bare) {
        return &shape->access[access].mapper[mapper];
    }
    ti_mapper_of_tile(room, shape->access[access].buffer->dims, shape->footprint[access].box,
                      (unsigned)(shape->full >> TI_FULL_BITS * access));
    return room;
}

/* Whether this access needs old contents of its buffer and none before it does: all reads of a buffer are planned at
 * its first. */
static inline bool ti_shape_is_first_read(const ti_shape *shape, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (shape->access[i].buffer == shape->access[index].buffer && ti_access_needs_old(&shape->access[i])) {
            return false;
        }
    }
    return ti_access_needs_old(&shape->access[index]);
}

#endif
