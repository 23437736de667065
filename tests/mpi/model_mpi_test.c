/* Random programs over MPI, against the sequential oracle: every node generates the same programs and looks at its
 * own fences.
 *
 * model_mpi_test [--seed S] [--count N] [--slow 1], started by a launcher on any number of nodes. A failure prints the
 * line that repeats it. The test initialises MPI itself, so that contexts can follow each other in one process. In half
 * of the programs kernels take longer than they must, in two of three what the executor starts starts late (late.h),
 * and in one of ten (--slow: in all) each kernel of one node takes a thousand times as long. */
#include "late.h"
#include "model_run.h"

#include "tacit/mpi.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SECONDS = 300 };

static void meet(const tacit_launch *launch, size_t step, void *user)
{
    unsigned long long here = step, lowest = 0;
    (void)user;
    MPI_Allreduce(&here, &lowest, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, tacit_launch_communicator(launch));
    if (lowest != here) {
        tacit_kernel_fail(launch, "step %llu meets step %llu", here, lowest);
    }
}

/* What this node forwarded for others, and the multicasts that it was the root of. */
typedef struct forwarded {
    unsigned long long relayed_bytes, multicasts, multicast_forwards, messages_local;
} forwarded;

/* For the files of a run; node 0 makes it and takes it away. */
static char folder[] = "/tmp/tacit-model-XXXXXX";

static bool run_one(uint64_t seed, int nodes, bool always_slow, model_result *out, forwarded *sum)
{
    gen_rng r = { gen_mix(seed ^ 0x30de1) };
    gen_options options = { .seed = seed, .nodes = nodes, .steps = (int)gen_between(&r, 10, 45), .public_rules = true };
    gen_program *program = gen_create(&options);
    tacit_config config;
    tacit_context *ctx;
    oracle truth;
    char balance[MODEL_BALANCE];
    model_config(&r, &config);
    model_balance(&r, nodes, balance, &config);
    model_paths paths;
    model_more(&r, &config);
    model_files(&r, folder, &paths, &config);
    bool sleeps = gen_chance(&r, 50);
    late_set(gen_chance(&r, 67) ? seed : 0);
    int slow = always_slow || gen_chance(&r, 10) ? (int)gen_between(&r, 1, nodes) : 0;
    oracle_run(&truth, program);
    tacit_status status = tacit_init(&config, &ctx);
    if (status != TACIT_OK) {
        fprintf(stderr, "model_mpi_test: tacit_init: %s: %s\n", tacit_status_name(status), tacit_last_error(NULL));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    model_run(ctx, program, &truth, &(model_hall){ meet, NULL, sleeps ? seed : 0, slow }, out);
    tacit_counters counters;
    if (tacit_get_counters(ctx, &counters) == TACIT_OK) {
        sum->relayed_bytes += counters.relayed_bytes;
        sum->multicasts += counters.multicasts;
        sum->multicast_forwards += counters.multicast_forwards;
        sum->messages_local += counters.messages_local;
    }
    status = tacit_finalize(ctx);
    if (status != TACIT_OK && !out->failed) {
        out->failed = true;
        snprintf(out->why, sizeof(out->why), "tacit_finalize: %s", tacit_status_name(status));
    }
    if (!model_end(out) && !out->failed) {
        out->failed = true;
        snprintf(out->why, sizeof(out->why), "tacit_finalize: a host object has not ended");
    }
    oracle_fini(&truth);
    gen_destroy(program);
    return !out->failed;
}

/* Whether all nodes have come through; prints what the failing ones say. */
static bool all_good(uint64_t seed, int node, int nodes, const model_result *result)
{
    int failed = result->failed, any = 0;
    if (failed) {
        printf("node %d: %s\nreplay: tacit run -n %d model_mpi_test --seed %llu --count 1\n", node, result->why, nodes,
               (unsigned long long)seed);
        fflush(stdout);
    }
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return !any;
}

/* Many nodes on few cores take long; waiting ranks of MPICH poll, and take ten times as long as those of Open MPI. */
static uint64_t default_count(int nodes)
{
#ifdef OPEN_MPI
    return nodes > 4 ? 50 : 100;
#else
    return nodes > 4 ? 25 : 100;
#endif
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, count = 0, fences = 0, collective_hosts = 0;
    forwarded sum = { 0 };
    int node, nodes, level;
    bool always_slow = false;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], NULL, 0);
        seed = strcmp(argv[i], "--seed") == 0 ? value : seed;
        count = strcmp(argv[i], "--count") == 0 ? value : count;
        always_slow = strcmp(argv[i], "--slow") == 0 ? value != 0 : always_slow;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &node);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    count = count ? count : default_count(nodes);
    if (node == 0) {
        printf("seeds %llu to %llu on %d nodes\n", (unsigned long long)seed, (unsigned long long)(seed + count - 1),
               nodes);
        fflush(stdout);
    }
    bool good = true;
    if (node == 0 && !mkdtemp(folder)) {
        perror(folder);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Bcast(folder, sizeof(folder), MPI_CHAR, 0, MPI_COMM_WORLD);
    for (uint64_t i = 0; i < count && good; i++) {
        model_result result = { 0 };
        alarm(MOST_SECONDS); /* a hang ends the job */
        run_one(seed + i, nodes, always_slow, &result, &sum);
        fences += result.fences;
        collective_hosts += result.collective_hosts;
        good = all_good(seed + i, node, nodes, &result);
        if (node == 0) {
            model_remove_files(folder);
        }
    }
    rmdir(folder); /* the first one does it */
    late_counts counts = late_get();
    MPI_Allreduce(MPI_IN_PLACE, &sum, sizeof(sum) / sizeof(sum.multicasts), MPI_UNSIGNED_LONG_LONG, MPI_SUM,
                  MPI_COMM_WORLD);
    if (node == 0) {
        printf(
            "%llu fences compared on each node, %llu collective host tasks; %llu of %llu operations started late, %llu overtook others; %llu bytes relayed, %llu planned multicasts with %llu forwards\n",
            (unsigned long long)fences, (unsigned long long)collective_hosts, (unsigned long long)counts.late,
            (unsigned long long)counts.started, (unsigned long long)counts.overtaken, sum.relayed_bytes, sum.multicasts,
            sum.multicast_forwards);
    }
    if (count >= 20 && !counts.late) {
        fprintf(stderr, "model_mpi_test: nothing started late\n");
        good = false;
    }
    if (count >= 100 && nodes >= 8 && (!sum.relayed_bytes || !sum.multicast_forwards)) {
        fprintf(stderr, "model_mpi_test: nothing was relayed, or sent on in a planned multicast\n");
        good = false;
    }
    if (count >= 20 && (nodes > 1) != (sum.messages_local > 0)) {
        fprintf(stderr, "model_mpi_test: %llu messages went without MPI\n", sum.messages_local);
        good = false;
    }
    MPI_Finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
