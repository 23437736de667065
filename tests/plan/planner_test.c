/* Random programs through N planners in one process, against a model of every element, and executed in random order.
 *
 * planner_test [--seed S] [--count N] [--nodes M] [--print]: a failure prints the line that repeats it. */
#include "comm/tree.h"
#include "des.h"
#include "effort.h"
#include "gen_manual.h"

#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    uint64_t seed, count;
    int nodes; /* 0: by the seed */
    bool print;
} arguments;

static bool parse(int argc, char **argv, arguments *out)
{
    *out = (arguments){ .seed = 1, .count = EFFORT(2500, 300) };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--print") == 0) {
            out->print = true;
        } else if (i + 1 == argc) {
            return false;
        } else if (strcmp(argv[i], "--seed") == 0) {
            out->seed = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--count") == 0) {
            out->count = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--nodes") == 0) {
            out->nodes = atoi(argv[++i]);
        } else {
            return false;
        }
    }
    return out->nodes >= 0;
}

/* Mostly few nodes, odd numbers among them; sometimes many. */
static int nodes_for(gen_rng *r)
{
    static const int few[] = { 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16 };
    return gen_chance(r, 4) ? (int)gen_between(r, 17, 64) : few[gen_between(r, 0, 10)];
}

enum { MODES = TI_COLLECTIVES_LOOKAHEAD + 1, ENOUGH = 500 };

/* What came from other nodes, by mode. */
typedef struct arrivals {
    uint64_t elements, again, by_collectives, hoisted, replayed;
} arrivals;

static void add_arrivals(const sim *s, arrivals *to)
{
    to->elements += s->counts.elements;
    to->by_collectives += s->counts.by_collectives;
    to->hoisted += s->counts.hoisted;
    to->again += s->counts.again;
    to->replayed += s->counts.replayed;
}

/* That nothing comes twice means something only where something comes. */
static bool print_arrivals(const arrivals by_mode[MODES], uint64_t programs)
{
    static const char *const names[] = { "off", "discover", "lookahead" };
    bool good = true;
    for (int i = TI_COLLECTIVES_OFF; i < MODES; i++) {
        const arrivals *a = &by_mode[i];
        printf(
            "%s: %llu elements came, %llu of them twice; %llu by collectives, %llu before their task; %llu replays\n",
            names[i - TI_COLLECTIVES_OFF], (unsigned long long)a->elements, (unsigned long long)a->again,
            (unsigned long long)a->by_collectives, (unsigned long long)a->hoisted, (unsigned long long)a->replayed);
        good = good && a->elements && a->replayed && (a->by_collectives > 0) == (i > TI_COLLECTIVES_OFF) &&
               (a->hoisted > 0) == (i == TI_COLLECTIVES_LOOKAHEAD);
    }
    return good || programs < ENOUGH;
}

static bool run_one(uint64_t seed, const arguments *args, sim_counts *total, arrivals by_mode[MODES])
{
    static const int64_t steps[] = { 1, 2, 4, 4, 4, INT64_MAX }, fronts[] = { 4, 16, 64, 1000 };
    gen_rng r = { gen_mix(seed) };
    gen_options go = { .seed = seed, .nodes = nodes_for(&r), .steps = (int)gen_between(&r, 10, 45) };
    sim_options so = { .horizon_step = steps[gen_between(&r, 0, 5)], .horizon_front = fronts[gen_between(&r, 0, 3)] };
    so.record = gen_chance(&r, 90);
    so.release = gen_chance(&r, 50);
    so.reproducible = gen_chance(&r, 40);
    so.explain = gen_chance(&r, 30);
    so.shapes = gen_chance(&r, 80);
    so.look = (int)gen_between(&r, 1, 20);
    so.collectives = (int)gen_between(&r, TI_COLLECTIVES_OFF, TI_COLLECTIVES_LOOKAHEAD);
    so.old_producers = (int)gen_between(&r, 0, 2);
    so.multicast = (int)GEN_DRAW(&r, gen_multicasts);
    so.found_tree = gen_chance(&r, 50) ? (int)gen_between(&r, TI_TREE_FLAT, TI_TREE_BY_SIZE) : TI_TREE_FLAT;
    so.segment = (uint64_t)8 << gen_between(&r, 0, 4);
    so.latency_tasks = gen_chance(&r, 60) ? (int)gen_between(&r, 2, 8) : 0;
    so.latency_horizons = (int)gen_between(&r, 1, 5);
    so.latency_staged = gen_chance(&r, 50);
    so.overlap = (int)gen_between(&r, TI_CUTS_OFF, TI_CUTS_ON);
    go.nodes = args->nodes ? args->nodes : go.nodes;
    gen_program *program = gen_create(&go);
    if (args->print) {
        gen_print(program, stdout);
    }
    sim s;
    sim_init(&s, program, &so);
    bool good = sim_run(&s) && (!so.record || des_run(&s, seed));
    if (!good) {
        gen_print(program, stdout);
        for (int i = 0; args->print && i < program->nodes; i++) {
            sim_print(&s, i, stdout);
        }
        printf("%s\nreplay: planner_test --seed %llu --count 1", s.why, (unsigned long long)seed);
        printf(args->nodes ? " --nodes %d\n" : "\n", args->nodes);
    }
    add_arrivals(&s, &by_mode[so.collectives]);
    total->multicasts += s.counts.multicasts;
    total->recipients += s.counts.recipients;
    total->forwarded += s.counts.forwarded;
    total->left += s.counts.left;
    total->tasks += s.counts.tasks;
    total->commands += s.counts.commands;
    total->messages += s.counts.messages;
    total->elements += s.counts.elements;
    total->horizons += s.counts.horizons;
    total->items += s.counts.items;
    total->redundant += s.counts.redundant;
    total->by_custom += s.counts.by_custom;
    total->bundled += s.counts.bundled;
    total->overlapped += s.counts.overlapped;
    total->bundled_2d += s.counts.bundled_2d;
    total->bundled_custom += s.counts.bundled_custom;
    for (int i = 0; i < TI_PATTERN_KINDS; i++) {
        total->collectives[i] += s.counts.collectives[i];
        total->in_groups[i] += s.counts.in_groups[i];
    }
    total->most_entries = TI_MAX(total->most_entries, s.counts.most_entries);
    sim_fini(&s);
    gen_destroy(program);
    return good;
}

int main(int argc, char **argv)
{
    arguments args;
    sim_counts total = { 0 };
    arrivals by_mode[MODES] = { { 0 } };
    if (!parse(argc, argv, &args)) {
        fprintf(stderr, "usage: planner_test [--seed S] [--count N] [--nodes M] [--print]\n");
        return 2;
    }
    printf("seeds %llu to %llu\n", (unsigned long long)args.seed, (unsigned long long)(args.seed + args.count - 1));
    fflush(stdout);
    for (uint64_t i = 0; i < args.count; i++) {
        if (!run_one(args.seed + i, &args, &total, by_mode)) {
            return 1;
        }
    }
    printf(
        "%llu programs, %llu tasks, %llu horizons, %llu commands, %llu messages, %llu elements sent, at most %llu entries\n",
        (unsigned long long)args.count, (unsigned long long)total.tasks, (unsigned long long)total.horizons,
        (unsigned long long)total.commands, (unsigned long long)total.messages, (unsigned long long)total.elements,
        (unsigned long long)total.most_entries);
    for (int i = TI_PATTERN_NONE + 1; i < TI_PATTERN_KINDS; i++) {
        printf("%s%s %llu (%llu in groups)", i == TI_PATTERN_NONE + 1 ? "collectives: " : ", ",
               ti_pattern_name((ti_pattern)i), (unsigned long long)total.collectives[i],
               (unsigned long long)total.in_groups[i]);
    }
    printf("\n%llu planned multicasts to %llu nodes, %llu messages were sent on; %llu were left to their senders\n",
           (unsigned long long)total.multicasts, (unsigned long long)total.recipients,
           (unsigned long long)total.forwarded, (unsigned long long)total.left);
    printf(
        "%llu items, %llu of them redundant, %llu of tasks with custom mappers; %llu messages saved by stages, %llu of "
        "splits in two dimensions and %llu of custom mappers; %llu chunks cut for their messages\n",
        (unsigned long long)total.items, (unsigned long long)total.redundant, (unsigned long long)total.by_custom,
        (unsigned long long)total.bundled, (unsigned long long)total.bundled_2d,
        (unsigned long long)total.bundled_custom, (unsigned long long)total.overlapped);
    bool many = args.count >= ENOUGH && !args.nodes;
    if (many && !total.overlapped) {
        printf("no chunks that are cut: programs do not make them any more\n");
        return 1;
    }
    if (many && (!total.by_custom || total.bundled == total.bundled_2d || !total.bundled_2d || !total.bundled_custom)) {
        printf("no windows of pure tasks: programs do not make them any more\n");
        return 1;
    }
    if (many && (!total.in_groups[TI_PATTERN_ALL_GATHER] || !total.in_groups[TI_PATTERN_BROADCAST])) {
        printf("no collectives in groups: programs do not make them any more\n");
        return 1;
    }
    if (args.count >= ENOUGH && !args.nodes && (!total.multicasts || !total.forwarded || !total.left)) {
        printf("no planned multicasts: programs do not make them any more\n");
        return 1;
    }
    if (!print_arrivals(by_mode, args.nodes ? 0 : args.count)) {
        printf("a mode was not tried\n");
        return 1;
    }
    return 0;
}
