/* What random programs are made of: all weights and sizes, in plain words. gen.c, gen_task.c and gen_mapper.c draw
 * from it; kinds of mappers have their weights in src/grid/mapper_kinds.h. All chances are here; numbers that are drawn
 * evenly from a short interval stand where they are drawn. */
#ifndef TEST_GEN_MANUAL_H
#define TEST_GEN_MANUAL_H

#include "gen.h"

/* One of several: weight, value. */
typedef struct gen_row {
    int weight;
    int64_t value;
} gen_row;

int64_t gen_draw(gen_rng *r, const gen_row *row, size_t rows);
#define GEN_DRAW(r, table) gen_draw((r), (table), sizeof(table) / sizeof((table)[0]))

/* ---- a program: a few buffers, a pool of tasks, then steps, in the end a fence for each buffer */

enum {
    GEN_BUFFERS_LEAST = 1,        /* buffers at the begin */
    GEN_BUFFERS_MOST = 3,         /* at the begin */
    GEN_BUFFERS_ALIVE = 4,        /* at any time */
    GEN_TASKS_LEAST = 3,          /* in the pool at the begin */
    GEN_TASKS_MOST = 10,          /* ... */
    GEN_TASKS_MOST_TILES = 16,    /* ... of a program of tiles */
    GEN_PERCENT_TILES = 20,       /* programs of tiles: most tasks are placed, and most accesses name a fixed box */
    GEN_PERCENT_LOOP_PAUSES = 25, /* loops whose passes have a pause each: */
    GEN_PERCENT_LOOP_WAITS = 70,  /* ... a wait, else a flush */
    GEN_PERCENT_LONG_LOOP = 10,   /* loops of up to 60 rounds, so that nothing of them is derived any more */
    GEN_PERCENT_WAIT = 50,        /* steps that are pauses: a wait, else a flush; one wait in four is a barrier, one a
                                   * retune */
    GEN_PERCENT_PATTERN = 5,      /* steps that are several tasks which make a collective pattern, */
    GEN_PERCENT_GRID = 40,        /* ... of these: among rows and columns of nodes */
    GEN_PERCENT_PROMISE = 50,     /* programs whose tasks are marked pure, but for some, */
    GEN_PERCENT_STENCILS = 20,    /* ... of these: steps that are rounds of stencils */
    GEN_PERCENT_FILL = 3,         /* steps of public programs that fill a buffer with one value, */
    GEN_PERCENT_PANEL = 5,        /* ... others that are several placed tasks, which read what one of them wrote; */
    GEN_PERCENT_PANEL_TILES = 20, /* ... in programs of tiles */
};

enum {
    GEN_STEP_PAUSE,
    GEN_STEP_FENCE,
    GEN_STEP_NEW_BUFFER,
    GEN_STEP_DESTROY,
    GEN_STEP_RESIZE,
    GEN_STEP_NEW_TASK,
    GEN_STEP_LOOP,
    GEN_STEP_TASK
};
static const gen_row gen_steps[] = {
    { 66, GEN_STEP_TASK },      /* submit a task of the pool */
    { 12, GEN_STEP_LOOP },      /* 2 to 8 rounds, or more, of 1 to 4 tasks of the pool */
    { 8, GEN_STEP_FENCE },      /* a random box, or each node's own part; half of them wait at once */
    { 5, GEN_STEP_NEW_TASK },   /* one more task in the pool */
    { 4, GEN_STEP_PAUSE },      /* wait or flush */
    { 3, GEN_STEP_NEW_BUFFER }, /* and two tasks more in the pool */
    { 2, GEN_STEP_DESTROY },    /* a buffer, unless it is the last */
    { 4, GEN_STEP_RESIZE },     /* public programs: another extent, and two tasks more in the pool */
};

/* How planners work: the trees of planned multicasts (ti_system::multicast). */
static const gen_row gen_multicasts[] = { { 4, 0 }, { 1, 2 }, { 4, 3 }, { 2, 4 }, { 2, 5 } };

/* ---- buffers */

static const gen_row gen_buffer_dims[] = { { 3, 1 }, { 3, 2 }, { 1, 3 }, { 1, 0 } };
static const gen_row gen_elem_sizes[] = { { 8, 8 }, { 2, 4 }, { 2, 1 }, { 1, 3 }, { 2, 12 }, { 2, 16 }, { 1, 24 } };

/* The largest extent by number of dimensions: small, but more than a few chunks; and for more than 16 nodes. */
static const int64_t gen_largest_few[] = { 1, 40, 12, 6 }, gen_largest_many[] = { 1, 150, 24, 9 };

enum {
    GEN_PERCENT_INIT = 55,        /* buffers that begin with contents, */
    GEN_PERCENT_INIT_LOCAL = 40,  /* ... of these: each node gives its own part */
    GEN_PERCENT_REDUCED = 20,     /* buffers of 1 to 4 integers, which tasks may reduce into, */
    GEN_PERCENT_REDUCED_ONE = 50, /* ... of these: of no dimension */
    GEN_PERCENT_DEFAULT = 40,     /* buffers with the default distribution; of the others */
    GEN_PERCENT_CYCLIC = 60,      /* ... are block-cyclic, else in blocks */
};

/* ---- tasks */

static const gen_row gen_range_dims[] = { { 3, 1 }, { 4, 2 }, { 2, 3 }, { 1, 0 } };
/* 1000: more than all items. */
static const gen_row gen_granularity_sizes[] = { { 12, 0 }, { 4, 1 }, { 4, 2 }, { 4, 3 }, { 4, 4 }, { 1, 1000 } };
static const gen_row gen_oversubscribe_counts[] = { { 3, 0 }, { 1, 1 }, { 1, 2 }, { 1, 3 } };
static const gen_row gen_splits[] = { { 35, TACIT_SPLIT_2D }, { 33, TACIT_SPLIT_1D }, { 32, TACIT_SPLIT_DEFAULT } };
static const gen_row gen_modes[] = { { 2, TACIT_READ }, { 1, TACIT_WRITE }, { 1, TACIT_UPDATE } };

enum { GEN_ON_NODE, GEN_ON_ONE_NODE, GEN_ON_DEVICES, GEN_ON_HOST, GEN_ON_EVERY_NODE, GEN_ON_ONE_HOST };
static const gen_row gen_places[] = {
    { 56, GEN_ON_DEVICES },   /* split over all nodes and their devices */
    { 14, GEN_ON_HOST },      /* split over all nodes, a host task */
    { 12, GEN_ON_NODE },      /* placed on a node; in programs of tiles, see GEN_PERCENT_PLACED_TILES */
    { 8, GEN_ON_ONE_NODE },   /* a host task on one node, which is named */
    { 6, GEN_ON_EVERY_NODE }, /* a host task on every node */
    { 4, GEN_ON_ONE_HOST },   /* a host task on one node, which is not named */
};

enum {
    GEN_PERCENT_OTHER_RANGE = 35,   /* tasks with a range of their own, else that of a buffer */
    GEN_PERCENT_OFFSET = 25,        /* dimensions in which the range begins at 0 to 5 */
    GEN_PERCENT_EMPTY = 3,          /* ranges without items */
    GEN_PERCENT_PLACED_TILES = 75,  /* tasks of programs of tiles that are placed */
    GEN_PERCENT_FEW_NODES = 40,     /* ... of these: on one of three nodes, else on any */
    GEN_PERCENT_WITH_OWNER = 40,    /* placed tasks: with the owner of what they access first */
    GEN_PERCENT_WEIGHTS = 20,       /* tasks split in one dimension: nodes get shares from 0 to 5 */
    GEN_PERCENT_ITEMS = 20,         /* the same: items have weights, */
    GEN_PERCENT_ITEMS_NONE = 10,    /* ... of these: all 0; */
    GEN_PERCENT_ITEM_ZERO = 30,     /* ... items that have 0, */
    GEN_PERCENT_ITEM_HEAVY = 10,    /* ... or up to 1000, else 1 to 9 */
    GEN_PERCENT_WHOLE_CHUNK = 25,   /* one call of the kernel for each chunk */
    GEN_PERCENT_NO_COLLECTIVES = 8, /* by hint */
    GEN_PERCENT_PURE = 90,          /* in programs with pure tasks */
    GEN_PERCENT_WINDOW = 10,        /* of those: with the hint window */
    GEN_PERCENT_OBJECTS = 40,       /* host tasks that name host objects */
    GEN_PERCENT_MANY_ACCESSES = 10, /* tasks with up to GEN_ACCESSES accesses, else up to 4 */
    GEN_PERCENT_TWIN = 10,          /* accesses that write what the one before reads */
    GEN_PERCENT_REDUCTION = 60,     /* accesses to a buffer of integers that reduce, */
    GEN_PERCENT_INCLUDE_OLD = 30,   /* ... of these: into the old contents; */
    GEN_PERCENT_USER_OP = 40,       /* ... by an operator of the program's own, where elements have 8 bytes */
    GEN_PERCENT_IN_PARTS = 30,      /* accesses in parts, but for reductions */
    GEN_PERCENT_COSTLY = 10,        /* tasks whose items take 0.1 ms, as they say */
};

/* ---- mappers: their arguments */

/* Halos of neighborhoods, stars and tori: around a dimension of n elements, from none to more than all. */
enum { GEN_HALO_NONE, GEN_HALO_ONE, GEN_HALO_TWO, GEN_HALO_HALF, GEN_HALO_ALL, GEN_HALO_MORE };
static const gen_row gen_halos[] = {
    { 4, GEN_HALO_NONE }, /* 0 */
    { 6, GEN_HALO_ONE },  /* 1 */
    { 3, GEN_HALO_TWO },  /* 2 */
    { 1, GEN_HALO_HALF }, /* n / 2 */
    { 1, GEN_HALO_ALL },  /* n - 1 or n */
    { 1, GEN_HALO_MORE }, /* up to 2 n + 2 */
};

enum { GEN_FULL, GEN_SPAN, GEN_DIM, GEN_DIM_PERIODIC };
static const gen_row gen_components[] = {
    { 15, GEN_FULL }, /* all of the dimension */
    { 15,
      GEN_SPAN }, /* an interval, half of them on a grid of quarters, so that parts of different tasks are neighbours */
    { 60, GEN_DIM }, /* a dimension of the task, scaled, with a halo above, below or on both sides, or shifted */
    { 10, GEN_DIM_PERIODIC }, /* a dimension of the task on a ring */
};
/* 302: 3/2. */
static const gen_row gen_scales[] = {
    { 4, 101 }, { 1, 201 }, { 1, 102 }, { 1, 302 }, { 1, 203 }, { 1, 301 }, { 1, 105 }
};
static const gen_row gen_component_halos[] = { { 2, 0 }, { 1, 1 }, { 1, 2 }, { 1, 9 } };

enum {
    GEN_PERCENT_SAME_DIM = 60,    /* dimension d of the buffer follows dimension d of the task, else any */
    GEN_PERCENT_ON_QUARTERS = 50, /* intervals that begin and end on a grid of quarters; all, in programs of tiles */
    GEN_PERCENT_FIXED_TILES = 70, /* accesses of programs of tiles that name a fixed box */
    GEN_PERCENT_SHRINK = 10,      /* halos below that take one element away above */
    GEN_PERCENT_CUSTOM_2D = 30,   /* custom mappers that look at two dimensions of the range */
};

/* ---- fences */

enum {
    GEN_PERCENT_FENCE_LOCAL = 30, /* of each node's own part */
    GEN_PERCENT_FENCE_PART = 40,  /* dimensions of which a fence reads a part only */
    GEN_PERCENT_BLOCKING = 50,    /* fences that wait at once */
};

/* ---- rounds of stencils */

static const gen_row gen_stencil_halos[] = { { 2, 0 }, { 6, 1 }, { 2, 2 } };
static const gen_row gen_band_widths[] = { { 6, 1 }, { 3, 2 }, { 1, 12 } };
enum {
    GEN_STENCIL_TASKS = 4,            /* in a round, at most */
    GEN_STENCIL_ROUNDS = 6,           /* at most */
    GEN_PERCENT_STENCIL_LONG = 40,    /* rounds on two new buffers with long chunks, whose tasks are all alike */
    GEN_STENCIL_CHUNK = 20,           /* items of such a chunk, at most */
    GEN_STENCIL_ITEMS = 600,          /* and of all of them */
    GEN_PERCENT_STENCIL_INIT = 50,    /* ... buffers with contents; as are those that stencils change in turns */
    GEN_PERCENT_STENCIL_ROWS = 30,    /* ... of two dimensions, 1 to 3 across */
    GEN_PERCENT_STENCIL_EVEN = 70,    /* ... halos as wide above as below, of 0 to 2 */
    GEN_PERCENT_STENCIL_LINE = 50,    /* ... of these: along dimension 0 alone, else a star */
    GEN_PERCENT_STENCIL_UPDATE = 50,  /* ... tasks that update what they write */
    GEN_PERCENT_STENCIL_BOTH = 40,    /* of these: split in two dimensions, on so many nodes at most; */
    GEN_PERCENT_STENCIL_CORNERS = 50, /* ... reads in boxes */
    GEN_STENCIL_NODES = 16,
    GEN_STENCIL_SIDE = 12,             /* ... items of a chunk along each, at most */
    GEN_PERCENT_STENCIL_STAR = 40,     /* reads along the axes, else in boxes */
    GEN_PERCENT_STENCIL_RING = 10,     /* reads around the ends */
    GEN_PERCENT_STENCIL_BAND = 20,     /* reads of rows that a custom mapper names */
    GEN_PERCENT_STENCIL_IN_PLACE = 30, /* tasks that change a buffer by another one */
    GEN_PERCENT_STENCIL_INNER = 20,    /* tasks without the first and the last items of a dimension */
    GEN_PERCENT_STENCIL_2D = 40,       /* rounds that are split in two dimensions */
    GEN_PERCENT_STENCIL_ODD = 15,      /* tasks with hints of their own */
    GEN_PERCENT_STENCIL_GROUP = 30,    /* rounds on three new buffers: by turns, or a coarse one and two fine ones; */
    GEN_PERCENT_GROUP_LEVELS = 50,     /* ... of these */
    GEN_BUFFERS_GROUP = 7,             /* ... buffers alive with them, at most */
    GEN_PERCENT_GROUP_RING = 40,       /* ... reads around the ends */
    GEN_PERCENT_GROUP_INNER = 20,      /* ... rounds without the first and the last items */
    GEN_PERCENT_GROUP_WEIGHTS = 15,    /* ... rounds with weights of nodes */
    GEN_PERCENT_GROUP_WHOLE = 5,       /* ... tasks with one call for each chunk */
    GEN_PERCENT_GROUP_UPDATE = 30,     /* ... tasks that update what they write */
    GEN_PERCENT_GROUP_2D = 10,         /* ... tasks with the hint to be split in two dimensions */
    GEN_PERCENT_GROUP_OWN = 50,        /* ... reads of the third buffer that are of the item's own element */
    GEN_PERCENT_GROUP_PAIRS = 50,      /* ... the finest task: items in pairs */
};

/* ---- patterns in which all nodes take part */

enum {
    GEN_PERCENT_SQUARE = 60,          /* on a new buffer in which every node has a part along both dimensions */
    GEN_PERCENT_SQUARE_INIT = 30,     /* ... with contents */
    GEN_PERCENT_PATTERN_ALL = 50,     /* tasks of it that read all, else all along one dimension */
    GEN_PERCENT_PATTERN_BACK = 50,    /* ... its last task is on the node that wrote before, else on the first */
    GEN_PERCENT_PATTERN_TWICE = 20,   /* tasks with two chunks per node; */
    GEN_PERCENT_GRID_TWICE = 10,      /* ... among rows and columns */
    GEN_PERCENT_GRID_BORDERS = 15,    /* tasks that cut at other borders */
    GEN_PERCENT_GRID_OTHER_SIZE = 30, /* tasks of another length across */
    GEN_PERCENT_GRID_OFFSET = 15,     /* tasks that begin at 1 */
};

/* ---- panels: a placed task writes a tile, which others read on their nodes, in 1 to 4 rounds */

enum {
    GEN_PANEL_TILES = 3,        /* tiles of one buffer, at most, which may overlap */
    GEN_PANEL_READERS = 12,     /* tasks that read, at most */
    GEN_PERCENT_PANEL_PART = 15 /* that read another box, which may be a part of a tile */
};

#endif
