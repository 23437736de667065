/* Random programs as plain data: the input of the planner tests and of the model test.
 *
 * A program is a list of steps over buffers and a pool of tasks, in the terms of the public header, so that it can
 * be given to the planners (lower.h), to the library (model/), and to the oracle (oracle.h). All of it follows from
 * a seed and the number of nodes, with a generator of random numbers of its own. Programs are legal: what they read
 * was written, writes of different chunks do not overlap, and no result depends on how a task is split. What is
 * generated, and how often: gen_manual.h. Images of mappers are computed here by plain arithmetic a second time,
 * independent of src/. One thread. */
#ifndef TEST_GEN_H
#define TEST_GEN_H

#include "base/vec.h"
#include "tacit/tacit.h"

#include <stdio.h>

/* ---- random numbers */

typedef struct gen_rng {
    uint64_t state;
} gen_rng;

uint64_t gen_mix(uint64_t x);
uint64_t gen_next(gen_rng *r);
int64_t gen_between(gen_rng *r, int64_t least, int64_t most); /* both included */
bool gen_chance(gen_rng *r, int percent);

/* ---- programs */

typedef struct gen_box {
    int64_t min[3], max[3];
} gen_box;

typedef TI_VEC(gen_box) gen_boxes;

/* The custom mappers that programs use; all are unions over the items of a chunk. */
typedef enum gen_custom_kind {
    GEN_CUSTOM_SHIFTS,   /* item i: elements i + a and i + b of dimension 0 */
    GEN_CUSTOM_REVERSE,  /* item i: element n - 1 - i */
    GEN_CUSTOM_STRIDE,   /* item i: element a * i + b mod a */
    GEN_CUSTOM_HALVES,   /* item i below n / 2: elements i and i + n / 2 */
    GEN_CUSTOM_DIAGONAL, /* item i: element (i, i, i) */
    GEN_CUSTOM_BAND,     /* item i: elements i - 7 i mod (a + 1), i and i + 5 i mod (b + 1): a sparse matrix */
    GEN_CUSTOM_FIXED,    /* every item: two slabs; declared constant */
    GEN_CUSTOM_CHECKER,  /* item (i, j) with i + j + a even: element (i, j), and nothing for the others */
    GEN_CUSTOM_CROSS     /* item (i, j): elements (i + a, j - b) and (j, i) */
} gen_custom_kind;

typedef struct gen_custom {
    int64_t kind, a, b;
} gen_custom;

typedef struct gen_buffer {
    tacit_range range;
    size_t elem_size;
    bool initialised;
    bool local_init; /* public programs: every node gives its own part */
    int32_t type;    /* of reductions into it; 0: none */
    tacit_distribution distribution;
} gen_buffer;

typedef struct gen_access {
    int buffer, mode;
    tacit_mapper mapper; /* custom: `arg` is the index in `custom` */
    tacit_op op; /* user operators: `type` is 0 for a sum, 1 for affine maps under composition, which do not commute */
    bool include_old;
    bool in_parts;
} gen_access;

enum { GEN_ACCESSES = TACIT_MAX_ACCESSES, GEN_OBJECTS = 3, GEN_GROUPS = 2 };

typedef struct gen_task {
    const char *name; /* NULL: nobody looks at it */
    tacit_range range;
    size_t offset[3];
    gen_access access[GEN_ACCESSES];
    int accesses;
    int on, place;   /* place: node, or -1 */
    bool with_owner; /* public programs: placed with the owner of what access 0 names */
    int split, oversubscribe, priority, window;
    size_t granularity[3];
    bool whole_chunk, no_collectives, pure;
    double cost;
    int group;         /* of collective host tasks; 0: none */
    unsigned objects;  /* host objects that it names, one bit each */
    uint32_t *weights; /* one per node, or NULL */
    uint64_t *items;   /* weights of `item_count` items, or NULL */
    size_t item_count;
} gen_task;

typedef enum gen_step_kind {
    GEN_CREATE,
    GEN_DESTROY,
    GEN_TASK,
    GEN_FENCE,
    GEN_WAIT,
    GEN_FLUSH,
    GEN_FILL,  /* public programs: all elements of a buffer get the same value */
    GEN_RESIZE /* public programs: buffer `old` becomes `index`, which differs in its extent, and has what both have */
} gen_step_kind;

/* A node waits for itself, for all, or to be tuned with all. */
enum { GEN_ALONE, GEN_BARRIER, GEN_RETUNE };

typedef struct gen_step {
    gen_step_kind kind;
    int index;     /* of the buffer, or of the task in the pool; of a wait: how, see below */
    int old;       /* resize: of the buffer that goes */
    gen_box box;   /* fence */
    bool blocking; /* fence: tacit_fence_read */
    bool local;    /* fence of all of the buffer: tacit_fence_local */
} gen_step;

typedef struct gen_program {
    uint64_t seed;
    int nodes;
    TI_VEC(gen_buffer) buffer;
    TI_VEC(gen_custom) custom;
    TI_VEC(gen_task) task;
    TI_VEC(gen_step) step;
} gen_program;

/* What kind of program. */
typedef struct gen_options {
    uint64_t seed;
    int nodes, steps;
    bool public_rules; /* what tacit_submit accepts, which is less than what planners can do */
} gen_options;

gen_program *gen_create(const gen_options *options);
void gen_destroy(gen_program *program);
void gen_print(const gen_program *program, FILE *out);
void gen_print_task(const gen_program *program, const gen_task *task, FILE *out);

/* ---- what follows from a program */

gen_box gen_extent(const gen_buffer *buffer);
int64_t gen_volume(const gen_box *box);
gen_box gen_items(const gen_task *task); /* the iteration range, maybe empty */
/* The box of one part of `items`; what an access touches of its buffer, clamped; boxes may overlap. Replaces
 * nothing: appends. */
void gen_image(const gen_program *program, const gen_access *access, const gen_box *items, gen_boxes *out);
void gen_custom_image(const gen_custom *custom, const gen_box *items, const gen_box *extent, gen_boxes *out);
/* The same for the library; `user` is a gen_custom. */
tacit_mapper_fn gen_custom_mapper;

static inline bool gen_reads(const gen_access *a)
{
    return a->mode == TACIT_READ || a->mode == TACIT_UPDATE;
}
static inline bool gen_writes(const gen_access *a)
{
    return a->mode == TACIT_WRITE || a->mode == TACIT_UPDATE;
}
static inline bool gen_changes(const gen_access *a)
{
    return a->mode != TACIT_READ;
}
/* Whether the old contents matter to the result. */
static inline bool gen_needs_old(const gen_access *a)
{
    return gen_reads(a) || (a->mode == TACIT_REDUCE && a->include_old);
}
/* Whether every node runs all of it. */
static inline bool gen_is_everywhere(const gen_task *t)
{
    return t->on == TACIT_ON_EVERY_NODE;
}
/* Whether the task runs on one node: which. */
bool gen_is_placed(const gen_task *task, int *node);
/* Whether every chunk touches the same by this access, to be seen from the mapper alone. */
bool gen_is_constant(const gen_access *access);
/* Chunk borders lie on these multiples: the task's granularity, raised by the divisors of its write mappers. */
void gen_granularity(const gen_task *task, int64_t out[3]);

/* The node that owns an element by the buffer's distribution. A node's local array holds its elements in row-major
 * order. */
int gen_owner(const gen_buffer *buffer, int nodes, const int64_t at[3]);

/* Whether the custom mapper may write in a task that is split along dimension 1, too. */
static inline bool gen_custom_writes_2d(const gen_custom *custom)
{
    return custom->kind == GEN_CUSTOM_CHECKER;
}

/* Row-major number of an element in its buffer. */
static inline size_t gen_element(const gen_box *extent, const int64_t at[3])
{
    return (size_t)((at[0] * extent->max[1] + at[1]) * extent->max[2] + at[2]);
}

#define GEN_FOR_EACH(at, box)                                                                                          \
    for ((at)[0] = (box)->min[0]; (at)[0] < (box)->max[0]; (at)[0]++)                                                  \
        for ((at)[1] = (box)->min[1]; (at)[1] < (box)->max[1]; (at)[1]++)                                              \
            for ((at)[2] = (box)->min[2]; (at)[2] < (box)->max[2]; (at)[2]++)

#endif
