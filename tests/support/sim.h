/* Several planners in one process, fed with the same random program, and a model that checks every decision element
 * by element.
 *
 * The model knows for each node and element which task wrote the copy that lies there, and which copy is the newest.
 * For every task it checks that
 *   - what a node reads is the newest when its own kernel starts, and nobody sends what is not;
 *   - the sends of r to q are the receives of q from r: content, order and counter;
 *   - nothing travels that the receiver does not read, no message what it holds, and collectives little of that;
 *   - what a planned multicast brings to a node before its task comes is read there before it is written again, and
 *     who sends it on has received it before;
 *   - so nothing comes twice to an element of a node between two writes of it, by whatever messages and
 *     collectives;
 *   - all nodes have the same collectives in the same order, and what each gives to each other is what that one gets;
 *   - chunks are a partition of the range, with the right borders, or more where tasks may be in windows of pure tasks;
 *   - footprints are what plain arithmetic says, and pieces of a command write different elements;
 *   - reduction trees fit together; all nodes have equal maps; task dependencies order all conflicts.
 * Commands are kept, with the elements they touch, for des.h. One thread. */
#ifndef TEST_SIM_H
#define TEST_SIM_H

#include "base/arena.h"
#include "lower.h"
#include "plan/command/graph.h"
#include "plan/holder/holder.h"

#include <stdarg.h>

/* An element: buffers lie one after the other. */
typedef struct sim_elements {
    const uint32_t *data;
    size_t count;
} sim_elements;

typedef TI_VEC(uint32_t) sim_list;

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
    uint64_t counter;   /* of a pair of nodes, or the sequence of a collective */
    uint32_t part;      /* of a message with several */
    bool bundled;       /* there are several */
    ti_pattern pattern; /* collectives, to .get */
    int root;
    uint64_t serial;
    const sim_elements *give;     /* to each node */
    const sim_elements *get;      /* from each node */
    const ti_tree_place *tree;    /* reductions: one of these */
    const ti_block_place *blocks; /* or it is a collective, with a pattern */
    bool alone;                   /* without a chunk */
    int contributions;            /* all there are: nodes, or blocks */
} sim_command;

typedef struct sim_node {
    ti_system system;
    TI_VEC(const ti_command *) made; /* and not recorded yet, */
    TI_VEC(const ti_task *) planned; /* in this order */
    ti_task_graph *tasks;
    ti_command_graph *graph;
    TI_VEC(sim_command *) command; /* by id - 1 */
    uint32_t *hold;                /* stamp of each element here */
    uint32_t *came;                /* stamp of what came to each element last, from another node */
    uint32_t *early;               /* stamp of what came before the task that wants it, by a multicast; else 0 */
    uint64_t *sent, *received;     /* messages so far, by peer */
    uint64_t collectives;          /* so far */
} sim_node;

typedef struct sim_options {
    int64_t horizon_step, horizon_front;
    bool record;
    bool release; /* give memory of executed commands back as early as allowed */
    bool verbose;
    bool reproducible;
    int collectives;                     /* TI_COLLECTIVES_OFF ... */
    int multicast;                       /* TI_MULTICAST_NONE ... */
    int found_tree;                      /* a ti_tree, */
    uint64_t segment;                    /* and its segments: ti_system */
    int old_producers;                   /* the same */
    int latency_tasks, latency_horizons; /* the same */
    bool latency_staged;                 /* the same */
    int overlap;                         /* TI_CUTS_OFF ... */
    bool explain;                        /* node 0 wants to know what becomes of edges, which changes nothing */
    bool shapes;                         /* what comes again may be replayed */
    /* versions are compared and checked after every look-th step, and at the end: looking brings them up to date */
    int look;
} sim_options;

typedef struct sim_counts {
    uint64_t tasks, commands, messages, elements, again, horizons, most_entries, replayed;
    uint64_t collectives[TI_PATTERN_KINDS], in_groups[TI_PATTERN_KINDS];
    uint64_t multicasts, recipients, forwarded; /* planned; messages of nodes that pass on what they received */
    uint64_t left;                              /* not planned, since senders' broadcasts bring it sooner */
    uint64_t items, redundant;                  /* executed at all, and beyond those of the tasks */
    uint64_t overlapped;                        /* tasks of one node that were cut for messages of their own */
    uint64_t by_custom;                         /* of these, of tasks that read by custom mappers */
    uint64_t bundled, bundled_2d;               /* parts of messages, beyond the first of each; of 2D splits */
    uint64_t bundled_custom;                    /* ... of tasks that read by custom mappers */
    uint64_t by_collectives, hoisted; /* elements that collectives brought; that came before the task that wants them */
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

/* ---- among sim*.c: sets of elements */

/* What is added from now on is a new set. */
void sim_new_set(sim *s);
/* Append the elements that are not in the current set. */
void sim_add_box(sim *s, int buffer, const gen_box *box, sim_list *out);
bool sim_add_boxes(sim *s, int buffer, const ti_box *box, size_t count, sim_list *out);
/* Take the elements of the list, which is empty then. */
sim_elements sim_keep(sim *s, sim_list *list);
/* The newest contents of elements. */
const uint32_t *sim_stamps(sim *s, const sim_elements *elements);

/* ---- among sim*.c: commands */

int sim_buffer(const sim *s, const ti_buffer_info *info);
/* The commands of this step on a node: from here on, in order. */
size_t sim_first_command(const sim *s, const sim_node *n);
bool sim_record_combining(sim *s, sim_node *n, const ti_command *from, sim_command *to);
bool sim_record_collective(sim *s, sim_node *n, const ti_command *from, sim_command *to);
/* Of this step. */
bool sim_check_collectives(sim *s);

/* ---- among sim*.c: planned multicasts */

/* Whether a send of this step sends what an earlier command of it has received. */
bool sim_sends_on(const sim *s, const sim_node *n, const sim_command *send, uint32_t element);
/* What has come early is read, or written. */
void sim_read_early(const sim *s, sim_node *n);
bool sim_check_unread(sim *s);

/* Vertices (commands of one node, or tasks) whose bytes conflict are ordered by dependencies. */
bool sim_check_order(sim *s, sim_command *const *vertex, size_t count, const char *what);

/* The commands of a node as text, for the person who replays a failure. */
void sim_print(const sim *s, int node, FILE *out);

#endif
