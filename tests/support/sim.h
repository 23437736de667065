/* Several planners in one process, fed with the same random program, and a model that checks every decision element by element.
 *
 * The model knows for each node and element which task wrote the copy that lies there, and which copy is the newest. For every task it checks that
 *   - what a node reads is the newest when its own kernel starts, and nobody sends what is not;
 *   - the sends of r to q are the receives of q from r: content, order and counter;
 *   - nothing travels that the receiver holds or does not read, but where more readers came since than versions remember;
 *   - chunks are a partition of the range, with the right borders, and footprints are what plain arithmetic says;
 *   - reduction trees fit together; all nodes have equal maps; task dependencies order all conflicts.
 * Commands are kept, with the elements they touch, for des.h. One thread. */
#ifndef TEST_SIM_H
#define TEST_SIM_H

#include "base/arena.h"
#include "lower.h"
#include "plan/command_graph.h"
#include "plan/holder.h"

#include <stdarg.h>

/* An element: buffers lie one after the other. */
typedef struct sim_elements {
    const uint32_t *data;
    size_t count;
} sim_elements;

typedef struct sim_command {
    ti_command_kind kind;
    size_t step;  /* of the program */
    bool is_wait; /* an epoch of the program, not a horizon */
    uint64_t id;
    const uint64_t *dep;
    size_t deps;
    sim_elements read, write;
    const uint32_t *expected; /* stamps that `read` must have */
    int64_t items;            /* executed */
    uint32_t stamp;           /* that `write` gets; receive: as sent */
    int peer, buffer;
    uint64_t counter;
    const ti_tree_place *tree; /* reductions: one of these */
    const ti_block_place *blocks;
    int contributions; /* all there are: nodes, or blocks */
} sim_command;

typedef struct sim_node {
    ti_system system;
    ti_task_graph *tasks;
    ti_command_graph *graph;
    TI_VEC(sim_command *) command; /* by id - 1 */
    uint32_t *hold;                /* stamp of each element here */
    uint64_t *sent, *received;     /* messages so far, by peer */
} sim_node;

/* A read of a buffer as a value, to know when versions may have forgotten one. */
typedef struct sim_reader {
    int buffer;
    uint32_t stamp, before; /* the last task that read like this, and the one before it */
    ti_mapper mapper;
    ti_split split;
} sim_reader;

typedef struct sim_options {
    int64_t horizon_step, horizon_front;
    bool record;
    bool release; /* give memory of executed commands back as early as allowed */
    bool verbose;
    bool reproducible;
} sim_options;

typedef struct sim_counts {
    uint64_t tasks, commands, messages, elements, resends, horizons, most_entries;
} sim_counts;

typedef struct sim {
    const gen_program *program;
    sim_options options;
    lowering lowering;
    ti_arena arena;
    int nodes;
    sim_node *node;
    size_t elements, *base;            /* first element of each buffer */
    uint32_t *newest;                  /* stamp */
    uint32_t *mark, token;             /* scratch sets of elements */
    TI_VEC(sim_command *) task_vertex; /* the task graph, in the same form as commands */
    TI_VEC(uint64_t) points;           /* ids of horizons and epochs */
    TI_VEC(sim_reader) reader;
    size_t step;
    uint32_t stamp;
    sim_counts counts;
    bool failed;
    char why[400];
} sim;

void sim_init(sim *s, const gen_program *program, const sim_options *options);
void sim_fini(sim *s);
/* Plan the whole program. False if something is wrong; `why` says what. */
bool sim_run(sim *s);

/* Note the first failure. Returns false. */
bool sim_fail(sim *s, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));
#define SIM_CHECK(s, cond, ...)                                                                                        \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            return sim_fail((s), __VA_ARGS__);                                                                         \
        }                                                                                                              \
    } while (0)

/* Vertices (commands of one node, or tasks) whose bytes conflict are ordered by dependencies. */
bool sim_check_order(sim *s, sim_command *const *vertex, size_t count, const char *what);

/* The commands of a node as text, for the person who replays a failure. */
void sim_print(const sim *s, int node, FILE *out);

#endif
