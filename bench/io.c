/* Files: how fast tacit_buffer_write and tacit_buffer_read are, and the same by hand: MPI-IO with one collective call,
 * and pwrite and pread of each node's part.
 *
 * The ways take turns, round by round, since what else the machine does changes all of them; the ratios are medians of
 * those of one round. Everybody writes a new file and closes it; what it holds is in the memory of the system then, and
 * perhaps on its way to the disk. Reading finds it there: what is compared is what the ways add to that. */
#include "tacit/io.h"

#include "check.h"
#include "pairs.h"

#include <mpi.h>

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TACIT_RAW, TACIT_NPY, TACIT_HDF5, BY_MPI, BY_POSIX, WAYS, MOST_ROUNDS = 101 };
static const char *const names[WAYS] = { "tacit, raw", "tacit, NumPy", "tacit, HDF5", "MPI-IO by hand",
                                         "pwrite by hand" };
static const char *const suffixes[WAYS] = { "raw", "npy", "h5", "mpi", "posix" };

static const char usage[] =
    "Usage: tacit bench io [--bytes N] [--rounds N] [--folder DIRECTORY] [--json]\n"
    "\n"
    "Writes and reads a file of N bytes per node (67108864) in the directory (.), by tacit in each format, by\n"
    "MPI-IO and by pwrite, in turns, so many rounds (11), and prints MB/s and ratios to the faster one by hand.\n"
    "On several nodes: tacit run -n N tacit bench io\n";

static struct {
    size_t bytes;
    int rounds;
    const char *folder;
    bool json;
} o = { .bytes = 64 << 20, .rounds = 11, .folder = "." };
static int node, nodes;
static tacit_context *ctx;
static tacit_buffer *data;
static double *mine;
static double seconds[2][WAYS][MOST_ROUNDS];

static void check(tacit_status status, const char *call)
{
    bench_check("io", ctx, status, call);
}

static void fill(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(double, k->view[0], i) = (double)i;
    }
}

static void path_of(int way, char *out, size_t room)
{
    snprintf(out, room, "%s/tacit_bench_io.%s", o.folder, suffixes[way]);
}

static void by_tacit(bool reads, const char *path)
{
    const tacit_file_options file = { .type = TACIT_DOUBLE };
    check((reads ? tacit_buffer_read : tacit_buffer_write)(ctx, data, path, &file),
          reads ? "tacit_buffer_read" : "tacit_buffer_write");
    check(tacit_wait(ctx), "tacit_wait");
}

static void by_mpi(bool reads, const char *path)
{
    MPI_File file;
    const int mode = reads ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_WRONLY,
              count = (int)(o.bytes / sizeof(double));
    if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fprintf(stderr, "io: MPI cannot open %s\n", path);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    const MPI_Offset at = (MPI_Offset)node * (MPI_Offset)o.bytes;
    if (reads) {
        MPI_File_read_at_all(file, at, mine, count, MPI_DOUBLE, MPI_STATUS_IGNORE);
    } else {
        MPI_File_write_at_all(file, at, mine, count, MPI_DOUBLE, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

static void by_posix(bool reads, const char *path)
{
    int file = open(path, reads ? O_RDONLY : O_CREAT | O_WRONLY, 0666);
    size_t done = 0;
    while (file >= 0 && done < o.bytes) {
        const off_t at = (off_t)((size_t)node * o.bytes + done);
        const ssize_t moved = reads ? pread(file, (char *)mine + done, o.bytes - done, at)
                                    : pwrite(file, (const char *)mine + done, o.bytes - done, at);
        if (moved <= 0) {
            break;
        }
        done += (size_t)moved;
    }
    if (file < 0 || close(file) != 0 || done < o.bytes) {
        fprintf(stderr, "io: %s cannot be %s\n", path, reads ? "read" : "written");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

static double once(int way, bool reads)
{
    char path[1000];
    path_of(way, path, sizeof(path));
    if (!reads && node == 0) {
        unlink(path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = pairs_now();
    (way == BY_MPI ? by_mpi : way == BY_POSIX ? by_posix : by_tacit)(reads, path);
    double took = pairs_now() - begin, longest;
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

/* In a round, the ways begin with another one each time. */
static void measure(void)
{
    for (int r = -1; r < o.rounds; r++) { /* the first one warms up */
        for (int i = 0; i < WAYS; i++) {
            const int way = (i + r + 1) % WAYS;
            const double write = once(way, false), read = once(way, true);
            if (r >= 0) {
                seconds[0][way][r] = write;
                seconds[1][way][r] = read;
            }
        }
    }
}

/* The median of the rounds' ratios of bandwidth to that of the faster way by hand. */
static double ratio(int reads, int way)
{
    double list[MOST_ROUNDS];
    const bool mpi = pairs_median(seconds[reads][BY_MPI], o.rounds) < pairs_median(seconds[reads][BY_POSIX], o.rounds);
    for (int r = 0; r < o.rounds; r++) {
        list[r] = seconds[reads][mpi ? BY_MPI : BY_POSIX][r] / seconds[reads][way][r];
    }
    return pairs_median(list, o.rounds);
}

static int print(void)
{
    json_t *rows = json_array();
    const double megabytes = (double)o.bytes * nodes / 1e6;
    if (!o.json) {
        printf("%d node%s, %zu bytes each, %d rounds: median MB/s, and the ratio to the faster way by hand\n", nodes,
               nodes == 1 ? "" : "s", o.bytes, o.rounds);
        printf("%-16s %10s %7s %10s %7s\n", "", "write", "ratio", "read", "ratio");
    }
    for (int way = 0; way < WAYS; way++) {
        const double write = megabytes / pairs_median(seconds[0][way], o.rounds);
        const double read = megabytes / pairs_median(seconds[1][way], o.rounds);
        if (!o.json) {
            printf("%-16s %10.0f %7.2f %10.0f %7.2f\n", names[way], write, ratio(0, way), read, ratio(1, way));
        }
        json_array_append_new(rows, json_pack("{s:s, s:f, s:f, s:f, s:f}", "way", names[way], "write_mb_per_s", write,
                                              "write_ratio", ratio(0, way), "read_mb_per_s", read, "read_ratio",
                                              ratio(1, way)));
    }
    if (!o.json) {
        json_decref(rows);
        return EXIT_SUCCESS;
    }
    return pairs_print_json(json_pack("{s:s, s:i, s:I, s:i}", "benchmark", "io", "nodes", nodes, "bytes",
                                      (json_int_t)o.bytes, "rounds", o.rounds),
                            rows);
}

static int run(void)
{
    const size_t count = o.bytes / sizeof(double);
    const tacit_buffer_desc desc = { .name = "data",
                                     .range = TACIT_RANGE(count * (size_t)nodes),
                                     .elem_size = sizeof(double) };
    const tacit_task fill_it = {
        .name = "fill", .range = desc.range, .kernel.host = fill, .access = { tacit_write(NULL, tacit_one_to_one()) }
    };
    tacit_task task = fill_it;
    mine = aligned_alloc(4096, (o.bytes + 4095) / 4096 * 4096); /* as tacit's; copies to odd addresses are slower */
    check(tacit_init(NULL, &ctx), "tacit_init");
    check(tacit_buffer_create(ctx, &desc, &data), "tacit_buffer_create");
    task.access[0].buffer = data;
    check(tacit_submit(ctx, &task), "tacit_submit");
    check(tacit_wait(ctx), "tacit_wait");
    for (size_t i = 0; mine && i < count; i++) {
        mine[i] = (double)i;
    }
    if (!mine) {
        fprintf(stderr, "io: no memory for %zu bytes\n", o.bytes);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    measure();
    for (int way = 0; node == 0 && way < WAYS; way++) {
        char path[1000];
        path_of(way, path, sizeof(path));
        unlink(path);
    }
    free(mine);
    check(tacit_finalize(ctx), "tacit_finalize");
    return node == 0 ? print() : EXIT_SUCCESS;
}

/* A whole number within bounds, or -1. */
static long long number(const char *text, long long least, long long most)
{
    char *end;
    const long long n = strtoll(text, &end, 10);
    return end == text || *end || n < least || n > most ? -1 : n;
}

/* -1: go on. */
static int parse(int argc, char **argv)
{
    static const struct option list[] = { { "bytes", 1, NULL, 'b' },  { "rounds", 1, NULL, 'r' },
                                          { "folder", 1, NULL, 'f' }, { "json", 0, NULL, 'j' },
                                          { "help", 0, NULL, 'h' },   { NULL, 0, NULL, 0 } };
    for (int c; (c = getopt_long(argc, argv, "h", list, NULL)) != -1;) {
        const long long n = c == 'b'   ? number(optarg, 8, (long long)INT32_MAX * 8)
                            : c == 'r' ? number(optarg, 1, MOST_ROUNDS)
                                       : 0;
        if (c == 'h') {
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        }
        if (c == '?' || n < 0) {
            if (c != '?') {
                fprintf(stderr, "io: --%s wants a number, not '%s'\n", c == 'b' ? "bytes" : "rounds", optarg);
            }
            return EXIT_FAILURE;
        }
        o.bytes = c == 'b' ? (size_t)n / 8 * 8 : o.bytes;
        o.rounds = c == 'r' ? (int)n : o.rounds;
        o.folder = c == 'f' ? optarg : o.folder;
        o.json = o.json || c == 'j';
    }
    return -1;
}

int main(int argc, char **argv)
{
    int status = parse(argc, argv), level;
    if (status >= 0) {
        return status;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &node);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    status = run();
    MPI_Finalize();
    return status;
}
