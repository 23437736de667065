/* Random programs through the whole library, on many nodes in one process, against the sequential oracle.
 *
 * model [--seed S] [--count N] [--nodes M] [--print]: each program runs with settings drawn from its seed: horizons,
 * run-ahead, workers and who plans and executes, and a network that is eager or not and shakes the order of
 * messages. A failure prints the line that repeats it. */
#include "api/context.h"
#include "base/config.h"
#include "cuda/stub.h"
#include "local_comm.h"
#include "model_run.h"
#include "shadow.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct arguments {
    uint64_t seed, count;
    int nodes; /* 0: by the seed */
    bool print;
} arguments;

static bool parse(int argc, char **argv, arguments *out)
{
    *out = (arguments){ .seed = 1, .count = 500 };
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

/* Where kernels of tasks on every node meet: how many are there, by step. */
typedef struct hall {
    int nodes;
    _Atomic int *present;
} hall;

static void meet(const tacit_launch *launch, size_t step, void *user)
{
    hall *h = user;
    (void)launch;
    atomic_fetch_add(&h->present[step], 1);
    while (atomic_load(&h->present[step]) < h->nodes) {
        sched_yield();
    }
}

typedef struct node {
    pthread_t thread;
    hall *hall;
    tacit_config config;
    ti_comm *comm;
    const gen_program *program;
    const oracle *truth;
    model_result result;
    tacit_counters counters;
} node;

static void fail(node *n, const char *what, const char *why)
{
    if (!n->result.failed) {
        snprintf(n->result.why, sizeof(n->result.why), "node %d: %s: %s", n->comm->node, what, why);
    }
    n->result.failed = true;
}

static void *run_node(void *user)
{
    node *n = user;
    tacit_context *ctx;
    tacit_config resolved;
    ti_strbuf why = { 0 };
    if (ti_config_resolve(&n->config, &resolved, &why) != TACIT_OK) {
        fprintf(stderr, "model: %s\n", ti_strbuf_text(&why));
        abort(); /* the others wait for this node */
    }
    ti_strbuf_fini(&why);
    if (ti_context_create(&resolved, n->comm, &ctx) != TACIT_OK) {
        fprintf(stderr, "model: %s\n", tacit_last_error(NULL));
        abort();
    }
    model_run(ctx, n->program, n->truth, &(model_hall){ .meet = meet, .user = n->hall }, &n->result);
    tacit_get_counters(ctx, &n->counters);
    tacit_status status = tacit_finalize(ctx);
    if (status != TACIT_OK) {
        fail(n, "tacit_finalize", tacit_status_name(status));
    }
    if (!model_end(&n->result)) {
        fail(n, "tacit_finalize", "a host object has not ended");
    }
    return NULL;
}

typedef struct totals {
    uint64_t nodes, tasks, fences, messages, horizons, collective_hosts, broadcasts, relayed, multicasts;
} totals;

/* For the files of a run. */
static char folder[] = "/tmp/tacit-model-XXXXXX";

static bool run_nodes(const gen_program *program, const oracle *truth, gen_rng *r, totals *sum)
{
    static const size_t eager[] = { 0, 16, 256, 1 << 20 }, early[] = { 0, 64, 4096, 1 << 20 };
    static const char *const lists[][2] = { { "opencl:0", "cuda:0" },
                                            { "opencl:0,opencl:0", "cuda:0,cuda:1" },
                                            { "opencl:0,opencl:0,opencl:0", "cuda:2,cuda:2,cuda:1" },
                                            { "opencl:0,opencl:0,opencl:0,opencl:0", "cuda:0,cuda:1,cuda:2,cuda:3" },
                                            { "host,opencl:0", "host,cuda:3" },
                                            { "opencl:0,host:2:discrete,opencl:0", "cuda:1,host:2:discrete,cuda:3" },
                                            { "opencl:0*3,opencl:0", "cuda:0*3,cuda:1" },
                                            { "opencl:0,opencl:0*7,opencl:0*2", "cuda:2,cuda:2*7,cuda:1*2" },
                                            { "host:2*2,opencl:0*5", "host*2,cuda:3*5,cuda:1" } };
    node *nodes = TI_NEW_ARRAY(node, (size_t)program->nodes);
    tacit_config config;
    char balance[MODEL_BALANCE];
    model_config(r, &config);
    const gen_rng at = *r;
    model_paths paths;
    model_more(r, &config);
    model_files(r, folder, &paths, &config);
    static const char *const limits[] = { NULL, NULL, "1", "100", "1k", "10k" };
    config.device_memory = limits[gen_between(r, 0, 5)];
    const char *kind = shadow_kind();
    const bool is_cuda = kind && strcmp(kind, "cuda") == 0;
    if (gen_chance(r, is_cuda ? 100 : 10)) { /* a run for them, or among others */
        const char *list = lists[gen_between(r, 0, 8)][is_cuda];
        config.devices = kind ? list : NULL;
    }
    model_balance(&at, program->nodes, balance, &config);
    gen_rng direct = { gen_mix(at.state ^ 0xd17e) };
    config.device_mpi = stub_find() && gen_chance(&direct, 50) /* else MPI would read memory of a GPU */
                            ? TACIT_DEVICE_MPI_ON
                            : TACIT_DEVICE_MPI_DEFAULT;
    /* NCCL wants a GPU for each node, but that of the tests. */
    config.nccl = stub_find() && gen_chance(&direct, 70) ? TACIT_NCCL_AUTO : TACIT_NCCL_OFF;
    size_t e = eager[gen_between(r, 0, 3)];
    local_hub *hub = local_hub_create(program->nodes, e, early[gen_between(r, 0, 3)],
                                      gen_chance(r, 70) ? gen_next(r) | 1 : 0);
    local_hub_set_threaded(hub);
    const bool machines = gen_chance(r, 30); /* each node has its own, so that all may plan trees and be relays */
    config.threads = machines ? TACIT_THREADS_ON : config.threads;
    bool good = true;
    hall h = { program->nodes, TI_NEW_ARRAY(_Atomic int, program->step.count) };
    for (int i = 0; i < program->nodes; i++) {
        nodes[i] = (node){
            .hall = &h, .config = config, .comm = local_comm_create(hub, i), .program = program, .truth = truth
        };
        nodes[i].comm->local_nodes = machines ? 1 : program->nodes;
        nodes[i].comm->local_node = machines ? 0 : i;
        nodes[i].config.workers = gen_chance(r, 50) ? config.workers : (int)gen_between(r, 1, 3);
    }
    for (int i = 0; i < program->nodes; i++) {
        if (pthread_create(&nodes[i].thread, NULL, run_node, &nodes[i]) != 0) {
            abort();
        }
    }
    for (int i = 0; i < program->nodes; i++) {
        pthread_join(nodes[i].thread, NULL);
        if (nodes[i].result.failed) {
            printf("%s\n", nodes[i].result.why);
            good = false;
        }
        sum->fences += nodes[i].result.fences;
        sum->messages += nodes[i].counters.messages_sent;
        sum->broadcasts += nodes[i].counters.broadcasts;
        sum->relayed += nodes[i].counters.relayed_bytes;
        sum->multicasts += nodes[i].counters.multicasts;
    }
    sum->collective_hosts += nodes[0].result.collective_hosts;
    sum->nodes += (uint64_t)program->nodes;
    sum->tasks += nodes[0].counters.tasks;
    sum->horizons += nodes[0].counters.horizons;
    local_hub_destroy(hub);
    model_remove_files(folder);
    ti_free(h.present, program->step.count * sizeof(*h.present));
    ti_free(nodes, (size_t)program->nodes * sizeof(node));
    return good;
}

static int nodes_for(gen_rng *r)
{
    static const int few[] = { 1, 2, 2, 3, 3, 4, 4, 5, 7 };
    return gen_chance(r, 3) ? (int)gen_between(r, 8, 16) : few[gen_between(r, 0, 8)];
}

static bool run_one(uint64_t seed, const arguments *args, totals *sum)
{
    gen_rng r = { gen_mix(seed ^ 0x30de1) };
    gen_options go = {
        .seed = seed, .nodes = nodes_for(&r), .steps = (int)gen_between(&r, 10, 45), .public_rules = true
    };
    go.nodes = args->nodes ? args->nodes : go.nodes;
    gen_program *program = gen_create(&go);
    oracle truth;
    if (args->print) {
        gen_print(program, stdout);
        fflush(stdout);
    }
    oracle_run(&truth, program);
    bool good = run_nodes(program, &truth, &r, sum);
    if (!good && !args->print) {
        gen_print(program, stdout);
    }
    oracle_fini(&truth);
    gen_destroy(program);
    return good;
}

/* The line that repeats the current program, also if it hangs or crashes. */
static char replay[120];

static void stopped(int number)
{
    rmdir(folder); /* if it is empty */
    static const char text[] = "model: nothing ends any more\n";
    ssize_t ignored = number == SIGALRM ? write(2, text, sizeof(text) - 1) : 0;
    ignored += write(2, replay, strlen(replay));
    (void)ignored;
    signal(SIGABRT, SIG_DFL);
    abort();
}

int main(int argc, char **argv)
{
    enum { MOST_SECONDS = 200 };
    arguments args;
    totals sum = { 0 };
    if (!parse(argc, argv, &args)) {
        fprintf(stderr, "usage: model [--seed S] [--count N] [--nodes M] [--print]\n");
        return 2;
    }
    if (!mkdtemp(folder)) {
        perror(folder);
        return 2;
    }
    signal(SIGALRM, stopped);
    signal(SIGABRT, stopped);
    printf("seeds %llu to %llu\n", (unsigned long long)args.seed, (unsigned long long)(args.seed + args.count - 1));
    fflush(stdout);
    for (uint64_t i = 0; i < args.count; i++) {
        int n = snprintf(replay, sizeof(replay), "replay: model --seed %llu --count 1",
                         (unsigned long long)(args.seed + i));
        snprintf(replay + n, sizeof(replay) - (size_t)n, args.nodes ? " --nodes %d\n" : "\n", args.nodes);
        alarm(MOST_SECONDS);
        if (!run_one(args.seed + i, &args, &sum)) {
            printf("%s", replay);
            rmdir(folder);
            return 1;
        }
    }
    rmdir(folder);
    printf(
        "%llu programs on %llu nodes, %llu tasks, %llu horizons, %llu messages, %llu fences compared, %llu collective host tasks, %llu broadcasts, %llu bytes relayed, %llu planned multicasts, %llu kernels on accelerators, %llu of them with reductions, %llu parts of collectives among these\n",
        (unsigned long long)args.count, (unsigned long long)sum.nodes, (unsigned long long)sum.tasks,
        (unsigned long long)sum.horizons, (unsigned long long)sum.messages, (unsigned long long)sum.fences,
        (unsigned long long)sum.collective_hosts, (unsigned long long)sum.broadcasts, (unsigned long long)sum.relayed,
        (unsigned long long)sum.multicasts, (unsigned long long)shadow_kernels(),
        (unsigned long long)shadow_reductions(), (unsigned long long)shadow_exchanges());
    if (args.count >= 500 && !args.nodes && (!sum.relayed || !sum.multicasts)) {
        fprintf(stderr, "model: nothing was relayed, or no multicast planned\n");
        return 1;
    }
    if (args.count >= 100 && shadow_kind() && !shadow_kernels()) {
        fprintf(stderr, "model: nothing ran on an accelerator\n");
        return 1;
    }
    if (args.count >= 500 && shadow_kind() && !shadow_reductions()) {
        fprintf(stderr, "model: no accelerator had a reduction\n");
        return 1;
    }
    if (args.count >= 500 && stub_find() && !shadow_exchanges()) {
        fprintf(stderr, "model: accelerators had no collective among themselves\n");
        return 1;
    }
    return 0;
}
