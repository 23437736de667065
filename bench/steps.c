/* Programs of short steps by tacit, against the same kernels with OpenMP and MPI by hand (bench/peers): what a step
 * costs beside its kernel.
 *
 * tacit on one node with two workers takes turns with OpenMP with two threads, and tacit on two nodes with one worker
 * each with MPI with two ranks. Every turn starts both programs anew, since where threads and pages land differs from
 * start to start; a program says what a step takes in the fastest of its rounds. A ratio is that of the two programs of
 * one turn; its median and the interval are over all turns. `starts` is how far the median of the starts of tacit lies
 * above the best of them. `apart` is how long a cache line takes from core to core (apart.h), before each turn.
 * Programs must get the same results.
 *
 * All rows together take a given time: each has an equal share of what is left when it begins, and at least one turn
 * while there is time at all. A row is printed when it is measured, and when the program is interrupted, so is that of
 * the turns so far. */
#include "apart.h"
#include "pairs.h"
#include "progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZES = 5, PAIRS = 31, LEAST_PAIRS = 3, PATH = 4096, SECONDS = 170, MOST_SECONDS = 86400, SURE_PAIRS = 6 };

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
    int pairs, sizes, seconds;
    const char *only;
} options;

/* What is to be measured, and what has been. */
typedef struct bench {
    options o;
    double begin;
    int rows, begun; /* rows to measure, and of these begun */
    json_t *measured;
} bench;

/* The turns of a row. */
typedef struct turns {
    double ours[MOST_PAIRS], theirs[MOST_PAIRS], ratio[MOST_PAIRS], apart[MOST_PAIRS];
    int count;
} turns;

typedef struct run {
    double seconds, sum;
    char hash[32];
} run;

static char prefix[PATH];
static volatile sig_atomic_t caught; /* a signal that ends the measurement, or 0 */

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

static void catch_signal(int number)
{
    caught = number;
}

/* System calls are interrupted: who waits for a program's output goes on. */
static void catch_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaction(signals[i], &(struct sigaction){ .sa_handler = catch_signal }, NULL);
    }
}

static void command_of(const char *peer, const struct way *way, const struct program *program, int size, size_t room,
                       char *command)
{
    char path[PATH + 64];
    path_of(peer, path);
    if (way->ranks > 1) {
        snprintf(command, room, "'%s/bin/tacit' run -n %d '%s' %s %d", prefix, way->ranks, path, program->kernel, size);
    } else {
        snprintf(command, room, "'%s' %s %d", path, program->kernel, size);
    }
}

/* What a program said about its run. */
static run result_of(const char *text, const char *command)
{
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

/* False if this program was interrupted meanwhile. */
static bool start(const char *peer, const struct way *way, const struct program *program, int size, run *out)
{
    char command[2 * PATH + 256], text[512] = "", number[16];
    command_of(peer, way, program, size, sizeof(command), command);
    snprintf(number, sizeof(number), "%d", way->threads);
    setenv("TACIT_WORKERS", number, 1);
    setenv("OMP_NUM_THREADS", number, 1);
    setenv("OMP_PROC_BIND", "true", 1);
    FILE *from = caught ? NULL : popen(command, "r"); /* NOLINT: the command is made of this program's own names */
    size_t n = from ? fread(text, 1, sizeof(text) - 1, from) : 0;
    bool good = from && pclose(from) == 0 && n > 0;
    if (caught) {
        return false;
    }
    if (!good) {
        stop("this command failed: ", command);
    }
    *out = result_of(text, command);
    return true;
}

static void require_same(const struct program *program, const run *ours, const run *theirs)
{
    bool same = program->is_exact ? strcmp(ours->hash, theirs->hash) == 0
                                  : fabs(ours->sum - theirs->sum) <= 1e-9 * fabs(theirs->sum);
    if (!same) {
        stop("the programs get different results: ", program->kernel);
    }
}

static void show(const bench *b, const struct way *way, const struct program *program, int size, const turns *t)
{
    tool_progress("steps: %s, size %d, %s (row %d of %d), turn %d, %.0f of %d s", program->kernel, size, way->name,
                  b->begun, b->rows, t->count + 1, pairs_now() - b->begin, b->o.seconds);
}

/* Whether a row that began then may have one more turn, if they take as long as those so far. */
static bool has_time(const bench *b, double begin, const turns *t)
{
    double now = pairs_now(), end = b->begin + b->o.seconds;
    double share = (end - begin) / (b->rows - b->begun + 1);
    return t->count == 0 ? now < end : (now - begin) * (t->count + 1) / t->count <= share;
}

static void take_turns(const bench *b, const struct way *way, const struct program *program, int size, turns *t)
{
    double begin = pairs_now();
    run ours, theirs;
    while (t->count < b->o.pairs && has_time(b, begin, t)) {
        show(b, way, program, size, t);
        t->apart[t->count] = apart_ns();
        if (!start("tacit", way, program, size, &ours) || !start(way->by_hand, way, program, size, &theirs)) {
            break;
        }
        require_same(program, &ours, &theirs);
        t->ours[t->count] = 1e6 * ours.seconds;
        t->theirs[t->count] = 1e6 * theirs.seconds;
        t->ratio[t->count++] = ours.seconds / theirs.seconds;
    }
    tool_progress_end();
}

/* Of a few turns the interval is all of them. */
static json_t *row_of(const struct way *way, const struct program *program, int size, const turns *t)
{
    const int n = t->count;
    double low = pairs_least(t->ratio, n), high = low, least = pairs_least(t->ours, n);
    for (int i = 0; i < n; i++) {
        high = fmax(high, t->ratio[i]);
    }
    if (n >= SURE_PAIRS) {
        pairs_interval(t->ratio, n, &low, &high);
    }
    return json_pack("{s:s, s:i, s:s, s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:[f,f], s:f, s:f}", "kernel", program->kernel,
                     "size", size, "way", way->name, "by_hand", way->hand_name, "pairs", n, "us",
                     pairs_median(t->ours, n), "least_us", least, "by_hand_us", pairs_median(t->theirs, n),
                     "by_hand_least_us", pairs_least(t->theirs, n), "ratio", pairs_median(t->ratio, n), "interval", low,
                     high, "starts", pairs_median(t->ours, n) / least, "apart_ns", pairs_median(t->apart, n));
}

static void print_row(const json_t *row)
{
    const json_t *interval = json_object_get(row, "interval");
    printf("%-10s %6d  %-4s %9.2f %-7s %8.2f %8.2f  %5.2f..%-6.2f %6.2f %8.0f %6d\n",
           json_string_value(json_object_get(row, "kernel")), (int)json_integer_value(json_object_get(row, "size")),
           json_string_value(json_object_get(row, "way")), json_number_value(json_object_get(row, "us")),
           json_string_value(json_object_get(row, "by_hand")), json_number_value(json_object_get(row, "by_hand_us")),
           json_number_value(json_object_get(row, "ratio")), json_number_value(json_array_get(interval, 0)),
           json_number_value(json_array_get(interval, 1)), json_number_value(json_object_get(row, "starts")),
           json_number_value(json_object_get(row, "apart_ns")), (int)json_integer_value(json_object_get(row, "pairs")));
    fflush(stdout);
}

/* A row, if there was time for a turn. */
static void measure(bench *b, const struct way *way, const struct program *program, int size)
{
    turns t = { .count = 0 };
    b->begun++;
    take_turns(b, way, program, size, &t);
    if (t.count == 0) {
        return;
    }
    json_t *row = row_of(way, program, size, &t);
    if (!b->o.json) {
        print_row(row);
    }
    json_array_append_new(b->measured, row);
}

/* Calls `each` for all rows, until this program is interrupted. */
static void for_all_rows(bench *b, void (*each)(bench *b, const struct way *way, const struct program *p, int size))
{
    for (int i = 0; i < PROGRAMS; i++) {
        const struct program *program = &programs[i];
        for (int s = 0; s < b->o.sizes && (!b->o.only || strcmp(b->o.only, program->kernel) == 0); s++) {
            for (int w = 0; w < WAYS && !caught; w++) {
                if (is_there(ways[w].by_hand)) {
                    each(b, &ways[w], program, program->size[s]);
                }
            }
        }
    }
}

static void count(bench *b, const struct way *way, const struct program *program, int size)
{
    (void)way;
    (void)program;
    (void)size;
    b->rows++;
}

static int usage(FILE *out)
{
    fprintf(out, "usage: tacit bench steps [--only KERNEL] [--pairs N] [--sizes N] [--seconds N] [--json]\n"
                 "\n"
                 "Short steps by tacit, against OpenMP and MPI by hand, in turns.\n"
                 "  --only KERNEL  one of:");
    for (int i = 0; i < PROGRAMS; i++) {
        fprintf(out, " %s", programs[i].kernel);
    }
    fprintf(
        out,
        "\n"
        "  --pairs N      turns of a row at most, %d to %d (%d)\n"
        "  --sizes N      only the N smallest sizes of each, 1 to %d (%d)\n"
        "  --seconds N    all rows together take so long, 1 to %d (%d); a row says how many pairs it has, and with\n"
        "                 fewer than %d of them its interval is from the least to the most\n"
        "  --json         print one JSON object instead of a table\n"
        "Ctrl-C ends it with what has been measured so far.\n",
        LEAST_PAIRS, MOST_PAIRS, PAIRS, SIZES, SIZES, MOST_SECONDS, SECONDS, SURE_PAIRS);
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
    *o = (options){ .pairs = PAIRS, .sizes = SIZES, .seconds = SECONDS };
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
        } else if (strcmp(argv[i], "--seconds") == 0) {
            o->seconds = number_of(value, 1, MOST_SECONDS);
        } else if (strcmp(argv[i], "--only") == 0 && is_kernel(value)) {
            o->only = value;
        } else {
            return false;
        }
        i++;
    }
    return o->pairs > 0 && o->sizes > 0 && o->seconds > 0;
}

static void finish(const bench *b)
{
    const int left = b->rows - (int)json_array_size(b->measured);
    if (b->o.json) {
        json_t *head = json_pack("{s:s, s:i, s:i, s:i, s:i, s:b, s:O}", "benchmark", "steps", "pairs", b->o.pairs,
                                 "seconds", b->o.seconds, "cores", (int)sysconf(_SC_NPROCESSORS_ONLN), "rows_left",
                                 left, "interrupted", caught != 0, "rows", b->measured);
        json_dumpf(head, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(head);
    } else if (left > 0) {
        printf("%d of %d rows were not measured%s\n", left, b->rows,
               caught ? "" : ": there was no time left (--seconds)");
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bench b = { .rows = 0 };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            return usage(stdout);
        }
    }
    if (!parse(&b.o, argc, argv)) {
        return usage(stderr);
    }
    find_prefix();
    catch_signals();
    b.begin = pairs_now();
    b.measured = json_array();
    for_all_rows(&b, count);
    if (!b.o.json) {
        printf("%-10s %6s  %-4s %9s %-7s %8s %8s  %-13s %6s %8s %6s\n", "kernel", "size", "way", "tacit us", "by hand",
               "us", "ratio", "95 %", "starts", "apart ns", "pairs");
        fflush(stdout);
    }
    for_all_rows(&b, measure);
    finish(&b);
    json_decref(b.measured);
    return caught ? 128 + caught : 0;
}
