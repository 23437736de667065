/* plan: what planning costs, for one node of many and one of the patterns (patterns.h). Nothing is executed
 * (planning.h).
 *
 * The steady state: after a warm-up, `repeat` passes of `tasks` tasks; times are medians over the passes. Generative
 * patterns have no steady state that lasts: every pass plans them from the start, and the time per task is that of
 * the second half. Each stage runs over blocks of tasks, with one reading of the clock between stages. Horizons are
 * timed one by one in passes of their own. --node all plans every node in turn, and compares what nodes send with
 * what others receive. */
#include "counter.h"
#include "needed.h"
#include "planning.h"
#include "progress.h"

#include "base/clock.h"
#include "base/map.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_NODES = 1 << 22,
    MOST_ALL = 4096,
    MOST_TASKS = 100000000,
    MOST_TILES = 4000000,
    MOST_REPEATS = 1000,
    ALL_NODES = -1,
    BLOCK = 64,
    BLOCK_COMMANDS = 4096,
    MANY_ITERATION = 16,
    ITERATION_BLOCKS = 20,
    NONE_STEP = 1000000,
    NONE_FRONT = 100000000
};

static const char *const collectives[] = { "as the environment says", "off", "discover", "lookahead" };
static const char *const stages[PLANNING_STAGES] = { "task", "command", "instruction" };

typedef struct options {
    planning_options plan;
    int repeat;
    bool json;
} options;

/* Figures of one pass, in nanoseconds per task. */
typedef struct pass {
    double stage[PLANNING_STAGES], sum, horizon;
    double foreign; /* of blocks that do not concern the node; 0: there are none */
} pass;

typedef TI_VEC(double) values;

typedef struct result {
    pass *passes;       /* one per repeat */
    double first_use;   /* ns */
    planning_counts of; /* one pass */
    uint64_t entries_peak, arena_peak;
    values horizon;                       /* ns of each */
    values by_iteration;                  /* median ns */
    values by_block;                      /* instructions per task; none without a counter */
    int per_iteration;                    /* tasks */
    uint64_t nodes, messages, mismatches; /* --node all */
    uint64_t needed;                      /* messages that are needed */
    bool counted;                         /* that is known */
    ti_multicast_counts multicast;        /* --node all */
} result;

/* ---- statistics */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. 0 if there are no values. */
static double quantile(double *value, size_t n, double q)
{
    if (n == 0) {
        return 0;
    }
    qsort(value, n, sizeof(double), by_value);
    size_t at = (size_t)(q * (double)n);
    return value[at < n ? at : n - 1];
}

/* A quantile over the passes of the number that lies at `offset` in each. */
static double quantile_of(const options *o, const result *r, size_t offset, double share)
{
    values all = { 0 };
    for (int i = 0; i < o->repeat; i++) {
        ti_vec_push(&all, *(const double *)(const void *)((const char *)&r->passes[i] + offset));
    }
    double found = quantile(all.data, all.count, share);
    ti_vec_fini(&all);
    return found;
}

static double median_of(const options *o, const result *r, size_t offset)
{
    return quantile_of(o, r, offset, 0.5);
}

static planning_counts since(const planning *p, const planning_counts *before)
{
    const planning_counts *now = &p->counts;
    return (planning_counts){ now->tasks - before->tasks,           now->horizons - before->horizons,
                              now->commands - before->commands,     now->instructions - before->instructions,
                              now->messages - before->messages,     now->collectives - before->collectives,
                              now->executions - before->executions, now->chunks_evaluated - before->chunks_evaluated,
                              now->sent_bytes - before->sent_bytes, now->received_bytes - before->received_bytes,
                              now->briefs - before->briefs };
}

static void note_peaks(result *r, const planning *p)
{
    r->entries_peak = TI_MAX(r->entries_peak, p->entries_peak);
    r->arena_peak = TI_MAX(r->arena_peak, p->arena_peak);
}

static void fill_pass(pass *out, const uint64_t ns[PLANNING_STAGES], size_t tasks)
{
    out->sum = 0;
    for (int s = 0; s < PLANNING_STAGES; s++) {
        out->stage[s] = (double)ns[s] / (double)tasks;
        out->sum += out->stage[s];
    }
}

/* ---- patterns that repeat themselves */

/* Buffers, and the first task of every kind: caches and tables are filled. */
static double open_and_use(planning *p, const options *o)
{
    uint64_t ns[PLANNING_STAGES] = { 0 };
    planning_open(p, &o->plan, ns);
    planning_block(p, (size_t)o->plan.pattern->cycle, ns);
    return (double)(ns[0] + ns[1] + ns[2]);
}

static TI_NOINLINE void plan_tasks(planning *p, size_t tasks, size_t block, uint64_t ns[PLANNING_STAGES])
{
    for (size_t done = 0; done < tasks; done += block) {
        planning_block(p, TI_MIN(block, tasks - done), ns);
    }
}

static size_t warm_up(planning *p, const options *o)
{
    enum { FEW = 256, LEAST = 16 };
    uint64_t ns[PLANNING_STAGES] = { 0 };
    planning_counts before = p->counts;
    plan_tasks(p, LEAST, 1, ns);
    size_t commands = (size_t)(since(p, &before).commands / LEAST), block = BLOCK_COMMANDS / TI_MAX(commands, 1);
    block = TI_MAX(TI_MIN(block, BLOCK), 1);
    /* The first use of a tile cuts it out of others, the second looks for it: then it is found at once. */
    size_t tiles = TI_MAX(2 * p->run.tiles, o->plan.pattern->iterates ? p->run.room : 0);
    plan_tasks(p, tiles ? tiles : block == BLOCK ? FEW : LEAST, block, ns);
    return block;
}

/* Apart from the warm-up, for tools that count instructions. */
static TI_NOINLINE void plan_pass(planning *p, size_t tasks, size_t block, uint64_t ns[PLANNING_STAGES])
{
    plan_tasks(p, tasks, block, ns);
}

static double time_horizons(planning *p, size_t tasks, values *each)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < tasks; i++) {
        uint64_t ns = planning_horizon(p);
        if (ns) {
            ti_vec_push(each, (double)ns);
            sum += (double)ns;
            count++;
        }
    }
    return count ? sum / (double)count : 0;
}

static void measure_steady(const options *o, result *r)
{
    planning p;
    r->first_use = open_and_use(&p, o);
    size_t block = warm_up(&p, o);
    p.large = true;
    for (int i = 0; i < o->repeat; i++) {
        uint64_t ns[PLANNING_STAGES] = { 0 };
        planning_counts before = p.counts;
        tool_progress("tacit bench plan: pass %d of %d", i + 1, o->repeat);
        p.foreign_ns = p.foreign_tasks = 0;
        plan_pass(&p, o->plan.tasks, block, ns);
        r->of = since(&p, &before);
        fill_pass(&r->passes[i], ns, o->plan.tasks);
        r->passes[i].foreign = p.foreign_tasks ? (double)p.foreign_ns / (double)p.foreign_tasks : 0;
    }
    p.large = false;
    for (int i = 0; i < o->repeat; i++) {
        r->passes[i].horizon = time_horizons(&p, o->plan.tasks, &r->horizon);
    }
    note_peaks(r, &p);
    planning_close(&p);
}

/* ---- cost by iteration */

typedef struct iterations {
    size_t count, blocks;
    double *ns; /* [iteration * repeat + pass] */
    instruction_counter counter;
    double *instructions; /* [block * repeat + pass], per task */
} iterations;

/* Iterations before block `b`. Blocks are as long as each other, but for the last one. */
static size_t border(const iterations *it, size_t b)
{
    return b == it->blocks ? it->count : b * (it->count / it->blocks);
}

static void plan_iteration(const result *r, iterations *it, planning *p, size_t at)
{
    uint64_t one[PLANNING_STAGES] = { 0 }, sum = 0;
    planning_block(p, (size_t)r->per_iteration, one);
    for (int s = 0; s < PLANNING_STAGES; s++) {
        sum += one[s];
    }
    sum -= TI_MIN(sum, PLANNING_STAGES * planning_clock_ns(p));
    it->ns[at] = (double)sum;
}

/* A function of its own, so that tools that count instructions can tell the blocks apart. */
static TI_NOINLINE void plan_iteration_block(const options *o, const result *r, iterations *it, planning *p, size_t b,
                                             size_t number)
{
    size_t repeat = (size_t)o->repeat, first = border(it, b), end = border(it, b + 1);
    uint64_t before = counter_read(&it->counter);
    for (size_t i = first; i < end; i++) {
        plan_iteration(r, it, p, i * repeat + number);
    }
    double tasks = (double)((end - first) * (size_t)r->per_iteration);
    it->instructions[b * repeat + number] = (double)(counter_read(&it->counter) - before) / tasks;
}

/* From the start, iteration by iteration. */
static void iterate(const options *o, const result *r, iterations *it, size_t number)
{
    planning p;
    uint64_t ns[PLANNING_STAGES] = { 0 };
    planning_open(&p, &o->plan, ns);
    p.large = o->plan.nodes > 1; /* iterations with messages take long enough for the thread's clock */
    for (size_t b = 0; b < it->blocks; b++) {
        plan_iteration_block(o, r, it, &p, b, number);
    }
    planning_close(&p);
}

static void note_medians(values *out, double *value, size_t count, size_t repeat)
{
    for (size_t i = 0; i < count; i++) {
        ti_vec_push(out, quantile(value + i * repeat, repeat, 0.5));
    }
}

static void measure_iterations(const options *o, result *r)
{
    size_t repeat = (size_t)o->repeat;
    r->per_iteration = o->plan.pattern->grows ? 1 : MANY_ITERATION;
    iterations it = { .count = o->plan.tasks / (size_t)r->per_iteration, .counter = counter_open() };
    it.blocks = TI_MIN(it.count, (size_t)ITERATION_BLOCKS);
    it.ns = TI_NEW_ARRAY(double, it.count *repeat);
    it.instructions = TI_NEW_ARRAY(double, it.blocks *repeat);
    for (size_t i = 0; i < repeat; i++) {
        iterate(o, r, &it, i);
    }
    note_medians(&r->by_iteration, it.ns, it.count, repeat);
    note_medians(&r->by_block, it.instructions, counter_works(&it.counter) ? it.blocks : 0, repeat);
    counter_close(&it.counter);
    ti_free(it.ns, it.count * repeat * sizeof(double));
    ti_free(it.instructions, it.blocks * repeat * sizeof(double));
}

/* All iterations, in blocks; the figures are those of the second half. */
static void grow(const options *o, result *r, pass *out)
{
    planning p;
    uint64_t ns[PLANNING_STAGES] = { 0 };
    size_t half = o->plan.tasks / 2, left = o->plan.tasks - half;
    r->first_use = open_and_use(&p, o);
    p.large = true;
    plan_tasks(&p, half - TI_MIN(half, (size_t)o->plan.pattern->cycle), o->plan.nodes > 1 ? 1 : BLOCK, ns);
    memset(ns, 0, sizeof(ns));
    planning_counts before = p.counts;
    plan_tasks(&p, left, o->plan.nodes > 1 ? 1 : BLOCK, ns);
    r->of = since(&p, &before);
    fill_pass(out, ns, left);
    note_peaks(r, &p);
    planning_close(&p);
}

static void measure_growing(const options *o, result *r)
{
    measure_iterations(o, r);
    for (int i = 0; i < o->repeat; i++) {
        planning p;
        uint64_t ns[PLANNING_STAGES] = { 0 };
        tool_progress("tacit bench plan: pass %d of %d", i + 1, o->repeat);
        grow(o, r, &r->passes[i]);
        planning_open(&p, &o->plan, ns);
        r->passes[i].horizon = time_horizons(&p, o->plan.tasks, &r->horizon);
        planning_close(&p);
    }
}

/* ---- all nodes */

/* Sums of hashes over all messages to a node, by what is sent and by what is received: equal sums, equal messages. */
typedef struct books {
    int node;
    uint64_t *sent, *received; /* by destination */
    uint64_t *collective;      /* by node: all those that it takes part in, in order */
    uint64_t messages;
    needed *needed;
} books;

static void count_needed(void *user, const ti_task *task)
{
    needed_see(((books *)user)->needed, task);
}

static uint64_t message_hash(const ti_command *c, int origin, int destination, uint64_t counter)
{
    uint64_t h = ti_hash64(((uint64_t)origin << 32 | (uint32_t)destination) + 1);
    h = ti_hash64(h + counter);
    h = ti_hash64(h + c->task->id);
    if (c->kind != TI_COMMAND_REDUCE) {
        h = ti_hash64(h + c->as.transfer.buffer->serial);
        h = ti_hash_words(c->as.transfer.box, c->as.transfer.boxes * sizeof(ti_box), h);
    }
    return ti_hash64(h) | 1;
}

static void book_collective(books *b, const ti_command *c, const ti_collective *what, uint64_t sequence)
{
    uint64_t h = ti_hash64(sequence + 1);
    h = ti_hash64(h + ((uint64_t)what->pattern << 32 | (uint32_t)what->root));
    h = ti_hash64(h + c->task->id);
    h = ti_hash_words(what->region, what->regions * sizeof(ti_box), h);
    b->collective[b->node] = ti_hash64(b->collective[b->node] + h);
}

static void book_reduction(books *b, const ti_command *c)
{
    const ti_tree_place *tree = c->as.reduce.tree;
    if (c->as.reduce.what) {
        book_collective(b, c, c->as.reduce.what, c->as.reduce.sequence);
        return;
    }
    if (tree->parent >= 0) {
        b->sent[tree->parent] += message_hash(c, b->node, tree->parent, tree->parent_counter);
        b->messages++;
    }
    for (int i = 0; i < tree->children; i++) {
        b->received[b->node] += message_hash(c, tree->child[i], b->node, tree->child_counter[i]);
    }
}

static void book(void *user, const ti_command *c)
{
    books *b = user;
    int peer = c->as.transfer.peer;
    if (c->kind == TI_COMMAND_SEND) {
        b->sent[peer] += message_hash(c, b->node, peer, c->as.transfer.counter);
        b->messages++;
    } else if (c->kind == TI_COMMAND_RECEIVE) {
        b->received[b->node] += message_hash(c, peer, b->node, c->as.transfer.counter);
    } else if (c->kind == TI_COMMAND_REDUCE) {
        book_reduction(b, c);
    } else if (c->kind == TI_COMMAND_COLLECTIVE) {
        book_collective(b, c, c->as.collective.what, c->as.collective.sequence);
    }
}

static void add_counts(planning_counts *sum, const planning_counts *one)
{
    sum->tasks += one->tasks;
    sum->horizons += one->horizons;
    sum->commands += one->commands;
    sum->instructions += one->instructions;
    sum->messages += one->messages;
    sum->collectives += one->collectives;
    sum->executions += one->executions;
    sum->chunks_evaluated += one->chunks_evaluated;
    sum->sent_bytes += one->sent_bytes;
    sum->received_bytes += one->received_bytes;
    sum->briefs += one->briefs;
}

static void note_multicasts(result *r, const ti_command_graph *commands)
{
    const ti_multicast_counts one = ti_command_graph_counts(commands).multicast;
    r->multicast.multicasts += one.multicasts;
    r->multicast.recipients += one.recipients;
    r->multicast.forwards += one.forwards;
    r->multicast.depth = TI_MAX(r->multicast.depth, one.depth);
}

/* Every node's plan of the first tasks. Figures are means over the nodes. */
static void measure_all(const options *o, result *r)
{
    size_t nodes = (size_t)o->plan.nodes;
    books b = { 0, TI_NEW_ARRAY(uint64_t, nodes), TI_NEW_ARRAY(uint64_t, nodes), TI_NEW_ARRAY(uint64_t, nodes),
                0, needed_create((int)nodes) };
    uint64_t idle = 0, ns[PLANNING_STAGES] = { 0 };
    for (b.node = 0; b.node < o->plan.nodes; b.node++) {
        planning p;
        options one = *o;
        tool_progress("tacit bench plan: node %d of %d", b.node, o->plan.nodes);
        uint64_t first[PLANNING_STAGES] = { 0 };
        one.plan.node = b.node;
        planning_open(&p, &one.plan, first);
        p.look = book;
        p.see = b.node == 0 ? count_needed : NULL;
        p.user = &b;
        r->first_use += (double)(first[0] + first[1] + first[2]) / (double)nodes;
        plan_tasks(&p, o->plan.tasks, 1, ns);
        planning_wait(&p);
        note_multicasts(r, p.commands);
        add_counts(&r->of, &p.counts);
        idle += p.counts.executions == 0;
        note_peaks(r, &p);
        planning_close(&p);
    }
    for (size_t i = 0; i < nodes; i++) {
        r->mismatches += b.sent[i] != b.received[i];
        if (b.sent[i] != b.received[i]) {
            fprintf(stderr, "plan: node %zu expects other messages than the others send to it\n", i);
        }
    }
    for (size_t i = 1; i < nodes; i++) {
        r->mismatches += b.collective[i] != b.collective[0];
        if (b.collective[i] != b.collective[0]) {
            fprintf(stderr, "plan: node %zu takes part in other collectives than node 0\n", i);
        }
    }
    fill_pass(&r->passes[0], ns, o->plan.tasks * nodes);
    r->nodes = nodes - idle;
    r->messages = b.messages;
    r->counted = needed_messages(b.needed, &r->needed);
    needed_destroy(b.needed);
    ti_free(b.sent, nodes * sizeof(uint64_t));
    ti_free(b.received, nodes * sizeof(uint64_t));
    ti_free(b.collective, nodes * sizeof(uint64_t));
}

/* ---- reports */

static json_t *list_json(const values *v, double scale)
{
    json_t *list = json_array();
    for (size_t i = 0; i < v->count; i++) {
        json_array_append_new(list, json_real(scale * v->data[i]));
    }
    return list;
}

static json_t *stages_json(const options *o, const result *r)
{
    json_t *out = json_object();
    for (int s = 0; s < PLANNING_STAGES; s++) {
        double ns = median_of(o, r, offsetof(pass, stage) + (size_t)s * sizeof(double));
        json_object_set_new(out, stages[s], json_real(1e-3 * ns));
    }
    return out;
}

static void set_real(json_t *root, const char *key, double value)
{
    json_object_set_new(root, key, json_real(value));
}

static void set_count(json_t *root, const char *key, uint64_t value)
{
    json_object_set_new(root, key, json_integer((json_int_t)value));
}

static void add_figures(json_t *root, const options *o, result *r)
{
    double tasks = (double)r->of.tasks;
    set_real(root, "us_per_task", 1e-3 * median_of(o, r, offsetof(pass, sum)));
    set_real(root, "us_per_task_least", 1e-3 * quantile_of(o, r, offsetof(pass, sum), 0));
    set_real(root, "us_per_task_most", 1e-3 * quantile_of(o, r, offsetof(pass, sum), 1));
    json_object_set_new(root, "us_per_task_by_stage", stages_json(o, r));
    set_real(root, "us_per_foreign_task", 1e-3 * median_of(o, r, offsetof(pass, foreign)));
    set_real(root, "us_first_use", 1e-3 * r->first_use);
    set_real(root, "briefs_per_task", (double)r->of.briefs / tasks);
    set_real(root, "commands_per_task", (double)r->of.commands / tasks);
    set_real(root, "messages_per_task", (double)r->of.messages / tasks);
    set_real(root, "collectives_per_task", (double)r->of.collectives / tasks);
    set_real(root, "sent_bytes_per_task", (double)r->of.sent_bytes / tasks);
    set_real(root, "received_bytes_per_task", (double)r->of.received_bytes / tasks);
    set_real(root, "instructions_per_task", (double)r->of.instructions / tasks);
    set_real(root, "chunks_evaluated_per_task", (double)r->of.chunks_evaluated / tasks);
    set_count(root, "horizons", r->of.horizons);
    set_real(root, "us_per_horizon", 1e-3 * median_of(o, r, offsetof(pass, horizon)));
    set_real(root, "us_per_horizon_p999", 1e-3 * quantile(r->horizon.data, r->horizon.count, 0.999));
    set_count(root, "tracking_entries_peak", r->entries_peak);
    set_count(root, "arena_bytes_peak", r->arena_peak);
}

static json_t *report(const options *o, result *r)
{
    const planning_options *p = &o->plan;
    json_t *root = json_pack("{s:s, s:i}", "pattern", p->pattern->name, "nodes", p->nodes);
    json_object_set_new(root, "node", p->node == ALL_NODES ? json_string("all") : json_integer(p->node));
    json_object_set_new(root, "devices", json_integer(p->host_devices ? atoi(p->host_devices) : 1));
    set_count(root, "tasks", p->tasks);
    json_object_set_new(root, "repeat", json_integer(o->repeat));
    json_object_set_new(root, "collectives", json_string(collectives[o->plan.collectives]));
    json_object_set_new(root, "latency", json_string(o->plan.latency ? o->plan.latency : "as the environment says"));
    add_figures(root, o, r);
    if (r->by_iteration.count) {
        json_object_set_new(root, "tasks_per_iteration", json_integer(r->per_iteration));
        json_object_set_new(root, "us_by_iteration", list_json(&r->by_iteration, 1e-3));
        json_object_set_new(root, "instructions_by_block",
                            r->by_block.count ? list_json(&r->by_block, 1) : json_null());
    }
    if (p->node == ALL_NODES) {
        set_count(root, "nodes_with_work", r->nodes);
        set_count(root, "messages_checked", r->messages);
        if (r->counted) {
            set_count(root, "messages_needed", r->needed);
        }
        set_count(root, "nodes_that_disagree", r->mismatches);
        set_count(root, "multicasts", r->multicast.multicasts);
        set_count(root, "multicast_recipients", r->multicast.recipients);
        set_count(root, "multicast_forwards", r->multicast.forwards);
        set_count(root, "multicast_depth", r->multicast.depth);
    }
    return root;
}

static void print(const json_t *root, const char *prefix)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        if (json_is_object(value)) {
            print(value, "  ");
        } else if (json_is_real(value)) {
            printf("%s%-28s %.4g\n", prefix, key, json_real_value(value));
        } else if (json_is_integer(value)) {
            printf("%s%-28s %lld\n", prefix, key, (long long)json_integer_value(value));
        } else if (json_is_string(value)) {
            printf("%s%-28s %s\n", prefix, key, json_string_value(value));
        }
    }
}

/* ---- the program */

static void usage(FILE *to)
{
    fputs(
        "usage: plan --pattern P --nodes M [--node K | --node inner | --node all] [--devices D] [--tasks T]\n"
        "            [--tiles N] [--collectives off|discover|lookahead] [--latency SETTING]\n"
        "            [--overlap off|on|auto]\n"
        "            [--horizon-step S] [--horizon-front F] [--repeat R] [--json]\n"
        "Plans a pattern as node K (0) of M, executes nothing, and tells what that costs.\n"
        "  --node K            inner: a node in the middle, with an odd number; all: each in turn (M up to 4096),\n"
        "                      and what they send and receive is compared; figures are means of the first tasks\n"
        "                      then. Patterns of tiles on single nodes also say how many messages they need:\n"
        "                      messages_needed\n"
        "  --devices D         of the node; D:discrete: with memories of their own\n"
        "  --tasks T           per repeat (depends on the pattern); generative patterns: iterations\n"
        "  --tiles N           of patterns of tiles on single nodes, at least; else as many as the tasks make use of\n"
        "  --collectives       as TACIT_COLLECTIVES (lookahead); on stands for lookahead\n"
        "  --latency SETTING   as TACIT_LATENCY, such as halo:8: all-gather, all-to-all and stencils have pure tasks\n"
        "  --overlap           as TACIT_OVERLAP, but for the default: off, since how many items a pattern has means\n"
        "                      nothing\n"
        "  --horizon-step S    TACIT_HORIZON_STEP, or none\n"
        "  --horizon-front F   TACIT_HORIZON_FRONT, or none\n"
        "  --repeat R          passes, of which medians are taken (11)\n"
        "Patterns:\n",
        to);
    const pattern *p;
    for (size_t i = 0; (p = pattern_at(i)); i++) {
        fprintf(to, "  %-18s  %s\n", p->name, p->help);
    }
}

static bool parse_number(const char *text, long least, long most, long *out)
{
    char *end;
    *out = strtol(text, &end, 10);
    return end != text && *end == '\0' && *out >= least && *out <= most;
}

static bool parse_int(const char *text, int least, int most, int *out)
{
    long n;
    bool good = parse_number(text, least, most, &n);
    *out = good ? (int)n : 0;
    return good;
}

/* Resolved once the number of nodes is known. */
static bool parse_node(const char *text, planning_options *plan)
{
    if (strcmp(text, "all") == 0) {
        plan->node = ALL_NODES;
        return plan->nodes <= MOST_ALL;
    }
    if (strcmp(text, "inner") == 0) {
        int side = 1;
        while ((side + 1) * (side + 1) <= plan->nodes) {
            side++;
        }
        plan->node = TI_MAX(plan->nodes / 2 + side / 2 - 1, 0);
        return true;
    }
    return parse_int(text, 0, plan->nodes - 1, &plan->node);
}

static int overlap_of(const char *word)
{
    static const char *const words[] = {
        [TACIT_OVERLAP_AUTO] = "auto", [TACIT_OVERLAP_ON] = "on", [TACIT_OVERLAP_OFF] = "off"
    };
    int overlap = TACIT_OVERLAP_OFF;
    while (overlap != TACIT_OVERLAP_DEFAULT && strcmp(words[overlap], word) != 0) {
        overlap--;
    }
    return overlap;
}

static bool parse_value(const char *name, const char *value, options *o, const char **node)
{
    long tasks = 0;
    if (strcmp(name, "--pattern") == 0) {
        o->plan.pattern = pattern_find(value);
        return o->plan.pattern != NULL;
    }
    if (strcmp(name, "--nodes") == 0) {
        return parse_int(value, 1, MOST_NODES, &o->plan.nodes);
    }
    if (strcmp(name, "--node") == 0) {
        *node = value;
        return true;
    }
    if (strcmp(name, "--devices") == 0) {
        o->plan.host_devices = value;
        return true;
    }
    if (strcmp(name, "--tasks") == 0) {
        bool good = parse_number(value, 1, MOST_TASKS, &tasks);
        o->plan.tasks = (size_t)tasks;
        return good;
    }
    if (strcmp(name, "--tiles") == 0) {
        bool good = parse_number(value, 1, MOST_TILES, &tasks);
        o->plan.tiles = (size_t)tasks;
        return good;
    }
    if (strcmp(name, "--collectives") == 0) {
        o->plan.collectives = strcmp(value, "on") == 0 ? TACIT_COLLECTIVES_LOOKAHEAD : 0;
        for (int i = TACIT_COLLECTIVES_OFF; i <= TACIT_COLLECTIVES_LOOKAHEAD; i++) {
            o->plan.collectives = strcmp(value, collectives[i]) == 0 ? i : o->plan.collectives;
        }
        return o->plan.collectives > 0;
    }
    if (strcmp(name, "--latency") == 0) {
        o->plan.latency = value;
        return true;
    }
    if (strcmp(name, "--overlap") == 0) {
        o->plan.overlap = overlap_of(value);
        return o->plan.overlap != TACIT_OVERLAP_DEFAULT;
    }
    if (strcmp(name, "--horizon-step") == 0) {
        o->plan.horizon_step = NONE_STEP;
        return strcmp(value, "none") == 0 || parse_int(value, 1, NONE_STEP, &o->plan.horizon_step);
    }
    if (strcmp(name, "--horizon-front") == 0) {
        o->plan.horizon_front = NONE_FRONT;
        return strcmp(value, "none") == 0 || parse_int(value, 1, NONE_FRONT, &o->plan.horizon_front);
    }
    return strcmp(name, "--repeat") == 0 && parse_int(value, 1, MOST_REPEATS, &o->repeat);
}

static size_t default_tasks(const planning_options *p)
{
    enum { FEW = 32, SOME = 512, USUAL = 10000, MANY = 75000, PEERS = 1 << 19, ALL = 12 };
    size_t by_peers = PEERS / (size_t)p->nodes;
    if (p->node == ALL_NODES) {
        return ALL;
    }
    if (p->pattern->grows) {
        return TI_MIN(TI_MAX(by_peers, SOME), USUAL);
    }
    if (p->pattern->all_peers && p->collectives != TACIT_COLLECTIVES_LOOKAHEAD) {
        return TI_MIN(TI_MAX(by_peers, FEW), USUAL);
    }
    return p->pattern->iterates ? MANY : USUAL;
}

static bool parse(int argc, char **argv, options *o)
{
    const char *node = "0";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            o->json = true;
        } else if (i + 1 == argc || !parse_value(argv[i], argv[i + 1], o, &node)) {
            fprintf(stderr, "plan: what is %s %s?\n", argv[i], i + 1 < argc ? argv[i + 1] : "");
            return false;
        } else {
            i++;
        }
    }
    if (!o->plan.pattern || !o->plan.nodes || !parse_node(node, &o->plan)) {
        fprintf(stderr, "plan: a pattern, a number of nodes and a node among them are needed\n");
        return false;
    }
    o->plan.tasks = o->plan.tasks ? o->plan.tasks : default_tasks(&o->plan);
    o->repeat = o->plan.node == ALL_NODES ? 1 : o->repeat;
    return true;
}

int main(int argc, char **argv)
{
    options o = { .repeat = 11 };
    result r = { 0 };
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    if (!parse(argc, argv, &o)) {
        usage(stderr);
        return EXIT_FAILURE;
    }
    r.passes = TI_NEW_ARRAY(pass, (size_t)o.repeat);
    if (o.plan.node == ALL_NODES) {
        measure_all(&o, &r);
    } else if (o.plan.pattern->grows) {
        measure_growing(&o, &r);
    } else {
        measure_steady(&o, &r);
        if (o.plan.pattern->iterates) {
            measure_iterations(&o, &r);
        }
    }
    tool_progress_end();
    json_t *root = report(&o, &r);
    if (o.json) {
        json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        printf("\n");
    } else {
        print(root, "");
    }
    json_decref(root);
    ti_free(r.passes, (size_t)o.repeat * sizeof(pass));
    ti_vec_fini(&r.horizon);
    ti_vec_fini(&r.by_iteration);
    ti_vec_fini(&r.by_block);
    return r.mismatches ? EXIT_FAILURE : EXIT_SUCCESS;
}
