/* Programs of short steps by tacit, against the same kernels with OpenMP and MPI by hand (bench/peers): what a step
 * costs beside its kernel.
 *
 * tacit on one node with two workers takes turns with OpenMP with two threads, and tacit on two nodes with one worker
 * each with MPI with two ranks. Every turn starts both programs anew, since where threads and pages land differs from
 * start to start; a program says what a step takes in the fastest of its rounds. A ratio is that of the two programs of
 * one turn; its median and the interval are over all turns. `starts` is how far the median of the starts of tacit lies
 * above the best of them. Programs must get the same results. */
#include "pairs.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZES = 5, PAIRS = 31, LEAST_PAIRS = 3, PATH = 4096 };

static const struct program {
    const char *kernel;
    int size[SIZES];
    bool is_exact; /* equal bits; else sums of several threads, which rounding makes different */
} programs[] = {
    { "wave", { 16, 64, 128, 256, 512 }, true },     { "jacobi", { 16, 64, 128, 256, 512 }, true },
    { "stencil2", { 16, 64, 128, 256, 512 }, true }, { "cg", { 16, 32, 64, 100, 200 }, false },
    { "reduce", { 1, 8, 64, 128, 1024 }, true },     { "nbody", { 16, 64, 128, 256, 512 }, true },
    { "points", { 16, 64, 256, 1024, 4096 }, true },
};
enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

static const struct way {
    const char *name, *by_hand, *hand_name;
    int ranks, threads;
} ways[] = {
    { "1x2", "openmp", "OpenMP", 1, 2 },
    { "2r", "mpi", "MPI", 2, 1 },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

typedef struct options {
    bool json;
    int pairs, sizes;
    const char *only;
} options;

typedef struct run {
    double seconds, sum;
    char hash[32];
} run;

static char prefix[PATH];

static void stop(const char *what, const char *name)
{
    fprintf(stderr, "tacit bench steps: %s%s\n", what, name);
    exit(1);
}

/* PREFIX/libexec/tacit-bench-steps is this program. */
static void find_prefix(void)
{
    ssize_t n = readlink("/proc/self/exe", prefix, sizeof(prefix) - 1);
    for (int up = 0; up < 2; up++) {
        char *slash = n > 0 ? strrchr(prefix, '/') : NULL;
        if (!slash) {
            stop("this program does not know where it lies", "");
        }
        *slash = '\0';
    }
}

static void path_of(const char *peer, char path[PATH + 64])
{
    snprintf(path, PATH + 64, "%s/libexec/tacit-peer-%s", prefix, peer);
}

static bool is_there(const char *peer)
{
    char path[PATH + 64];
    path_of(peer, path);
    return access(path, X_OK) == 0;
}

static run start(const char *peer, const struct way *way, const struct program *program, int size)
{
    char path[PATH + 64], command[2 * PATH + 256], text[512] = "", number[16];
    path_of(peer, path);
    snprintf(number, sizeof(number), "%d", way->threads);
    setenv("TACIT_WORKERS", number, 1);
    setenv("OMP_NUM_THREADS", number, 1);
    setenv("OMP_PROC_BIND", "true", 1);
    if (way->ranks > 1) {
        snprintf(command, sizeof(command), "'%s/bin/tacit' run -n %d '%s' %s %d", prefix, way->ranks, path,
                 program->kernel, size);
    } else {
        snprintf(command, sizeof(command), "'%s' %s %d", path, program->kernel, size);
    }
    FILE *out = popen(command, "r"); /* NOLINT: the command is made of this program's own names and numbers */
    size_t n = out ? fread(text, 1, sizeof(text) - 1, out) : 0;
    if (!out || pclose(out) != 0 || n == 0) {
        stop("this command failed: ", command);
    }
    json_t *said = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
    run r = { json_number_value(json_object_get(said, "seconds")), json_number_value(json_object_get(said, "sum")),
              "" };
    const char *hash = json_string_value(json_object_get(said, "hash"));
    if (!hash || r.seconds <= 0) {
        stop("this command printed no result: ", command);
    }
    snprintf(r.hash, sizeof(r.hash), "%s", hash);
    json_decref(said);
    return r;
}

static void require_same(const struct program *program, const run *ours, const run *theirs)
{
    bool same = program->is_exact ? strcmp(ours->hash, theirs->hash) == 0
                                  : fabs(ours->sum - theirs->sum) <= 1e-9 * fabs(theirs->sum);
    if (!same) {
        stop("the programs get different results: ", program->kernel);
    }
}

/* A row: all turns of one program, size and way. */
static json_t *measure(const options *o, const struct way *way, const struct program *program, int size)
{
    double ours[MOST_PAIRS], theirs[MOST_PAIRS], ratio[MOST_PAIRS], low, high;
    for (int i = 0; i < o->pairs; i++) {
        run a = start("tacit", way, program, size), b = start(way->by_hand, way, program, size);
        require_same(program, &a, &b);
        ours[i] = 1e6 * a.seconds;
        theirs[i] = 1e6 * b.seconds;
        ratio[i] = a.seconds / b.seconds;
    }
    pairs_interval(ratio, o->pairs, &low, &high);
    double middle = pairs_median(ours, o->pairs), least = pairs_least(ours, o->pairs);
    return json_pack("{s:s, s:i, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:[f,f], s:f}", "kernel", program->kernel, "size",
                     size, "way", way->name, "by_hand", way->hand_name, "us", middle, "least_us", least, "by_hand_us",
                     pairs_median(theirs, o->pairs), "by_hand_least_us", pairs_least(theirs, o->pairs), "ratio",
                     pairs_median(ratio, o->pairs), "interval", low, high, "starts", middle / least);
}

static void print_row(const json_t *row)
{
    const json_t *interval = json_object_get(row, "interval");
    printf("%-10s %6d  %-4s %9.2f %-7s %8.2f %8.2f  %5.2f..%-6.2f %6.2f\n",
           json_string_value(json_object_get(row, "kernel")), (int)json_integer_value(json_object_get(row, "size")),
           json_string_value(json_object_get(row, "way")), json_number_value(json_object_get(row, "us")),
           json_string_value(json_object_get(row, "by_hand")), json_number_value(json_object_get(row, "by_hand_us")),
           json_number_value(json_object_get(row, "ratio")), json_number_value(json_array_get(interval, 0)),
           json_number_value(json_array_get(interval, 1)), json_number_value(json_object_get(row, "starts")));
    fflush(stdout);
}

static void measure_program(const options *o, const struct program *program, json_t *rows)
{
    for (int s = 0; s < o->sizes; s++) {
        for (int w = 0; w < WAYS; w++) {
            if (!is_there(ways[w].by_hand)) {
                continue;
            }
            tool_progress("steps: %s, size %d, %s", program->kernel, program->size[s], ways[w].name);
            json_t *row = measure(o, &ways[w], program, program->size[s]);
            tool_progress_end();
            if (!o->json) {
                print_row(row);
            }
            json_array_append_new(rows, row);
        }
    }
}

static int usage(FILE *out)
{
    fprintf(out, "usage: tacit bench steps [--only KERNEL] [--pairs N] [--sizes N] [--json]\n"
                 "\n"
                 "Short steps by tacit, against OpenMP and MPI by hand, in turns.\n"
                 "  --only KERNEL  one of:");
    for (int i = 0; i < PROGRAMS; i++) {
        fprintf(out, " %s", programs[i].kernel);
    }
    fprintf(out,
            "\n"
            "  --pairs N      turns, %d to %d (%d)\n"
            "  --sizes N      only the N smallest sizes of each, 1 to %d (%d)\n"
            "  --json         print one JSON object instead of a table\n",
            LEAST_PAIRS, MOST_PAIRS, PAIRS, SIZES, SIZES);
    return out == stdout ? 0 : 1;
}

/* A number of an option; 0 if it is none. */
static int number_of(const char *text, int least, int most)
{
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;
    return text && *text && *end == '\0' && n >= least && n <= most ? (int)n : 0;
}

static bool is_kernel(const char *name)
{
    bool found = false;
    for (int i = 0; i < PROGRAMS && name; i++) {
        found |= strcmp(name, programs[i].kernel) == 0;
    }
    return found;
}

static bool parse(options *o, int argc, char **argv)
{
    *o = (options){ .pairs = PAIRS, .sizes = SIZES };
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--json") == 0) {
            o->json = true;
            continue;
        }
        if (strcmp(argv[i], "--pairs") == 0) {
            o->pairs = number_of(value, LEAST_PAIRS, MOST_PAIRS);
        } else if (strcmp(argv[i], "--sizes") == 0) {
            o->sizes = number_of(value, 1, SIZES);
        } else if (strcmp(argv[i], "--only") == 0 && is_kernel(value)) {
            o->only = value;
        } else {
            return false;
        }
        i++;
    }
    return o->pairs > 0 && o->sizes > 0;
}

int main(int argc, char **argv)
{
    options o;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            return usage(stdout);
        }
    }
    if (!parse(&o, argc, argv)) {
        return usage(stderr);
    }
    find_prefix();
    json_t *rows = json_array();
    if (!o.json) {
        printf("%-10s %6s  %-4s %9s %-7s %8s %8s  %-13s %6s\n", "kernel", "size", "way", "tacit us", "by hand", "us",
               "ratio", "95 %", "starts");
    }
    for (int i = 0; i < PROGRAMS; i++) {
        if (!o.only || strcmp(o.only, programs[i].kernel) == 0) {
            measure_program(&o, &programs[i], rows);
        }
    }
    if (o.json) {
        json_t *head = json_pack("{s:s, s:i, s:i, s:o}", "benchmark", "steps", "pairs", o.pairs, "cores",
                                 (int)sysconf(_SC_NPROCESSORS_ONLN), "rows", rows);
        json_dumpf(head, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(head);
    } else {
        json_decref(rows);
    }
    return 0;
}
