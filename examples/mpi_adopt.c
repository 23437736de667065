/* examples/mpi_adopt.c: an MPI program that hands one of its loops to tacit and goes on with MPI.
 *
 * Heat spreads on a plate. The program is one of those that exist: it initialises MPI, each process has a block of
 * rows with a halo row above and below, and every step exchanges the halos by hand. Only the loop in the middle is
 * given away: each process lends its own rows to a buffer (`.init_local`), submits the steps as tasks, and takes its
 * own rows back (tacit_fence_local). No process ever has the whole plate.
 *
 * The program and tacit deal out rows by the same rule here (the first processes get one more if they do not divide),
 * so nothing moves when the rows change hands. --verify takes all steps with MPI alone and compares bit for bit. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tacit/mpi.h>

#include "common.h"

struct adopt_options {
    struct example_options common;
    size_t rows, columns, before, steps, after;
};

/* The plate: what all processes know, and the arguments of the kernel. It begins the text for OpenCL and CUDA devices,
 * whose kernel stands here before it. */
TACIT_BOTH(
    on_devices,
    "TACIT_KERNEL warm(TACIT_VIEW(old), TACIT_VIEW(new_), TACIT_CHUNK(c), TACIT_VALUE(struct plate, p))\n"
    "{\n"
    "    TACIT_FOR (i, c, 0)\n"
    "        TACIT_FOR (j, c, 1) {\n"
    "            double here = TACIT_GET2(double, old, i, j);\n"
    "            if (i > 0 && j > 0 && i < p.rows - 1 && j < p.columns - 1)\n"
    "                here = warmer(p.rate, here,\n"
    "                              TACIT_GET2(double, old, i - 1, j), TACIT_GET2(double, old, i + 1, j),\n"
    "                              TACIT_GET2(double, old, i, j - 1), TACIT_GET2(double, old, i, j + 1));\n"
    "            TACIT_AT2(double, new_, i, j) = here;\n"
    "        }\n"
    "}\n",
    struct plate {
        uint64_t rows;
        uint64_t columns;
        double rate;
    };
    static double warmer(double rate, double here, double up, double down, double left, double right) {
        return here + rate * (((up + down) + (left + right)) - 4.0 * here);
    });

/* One process's rows. `old` and `new` have a halo row before the first and after the last row of their own. */
struct block {
    MPI_Comm comm;
    int rank, processes;
    size_t first, rows; /* of the plate, halos not included */
    double *old, *new;
};

/* ---------------------------------------------------------------- the numerics, used by both loops */

static double start_value(const struct plate *p, size_t i, size_t j)
{
    const double y = (double)i / (double)(p->rows - 1), x = (double)j / (double)(p->columns - 1);
    return i == 0 ? 100.0 * x : j == 0 ? 20.0 * y : sin(5.0 * x) * cos(3.0 * y);
}

/* The rim keeps its temperature. */
static bool is_rim(const struct plate *p, size_t i, size_t j)
{
    return i == 0 || j == 0 || i == p->rows - 1 || j == p->columns - 1;
}

static double warmed(const struct plate *p, double here, double up, double down, double left, double right)
{
    return warmer(p->rate, here, up, down, left, right);
}

/* ---------------------------------------------------------------- the loop with MPI */

/* Row i of the block; -1 and `rows` are the halos. */
static double *row(const struct plate *p, double *values, ptrdiff_t i)
{
    return values + (size_t)(i + 1) * p->columns;
}

static void exchange_halos(const struct plate *p, const struct block *b)
{
    const int above = b->rank > 0 ? b->rank - 1 : MPI_PROC_NULL;
    const int below = b->rank + 1 < b->processes ? b->rank + 1 : MPI_PROC_NULL;
    const int n = (int)p->columns;
    const ptrdiff_t last = (ptrdiff_t)b->rows - 1;
    MPI_Sendrecv(row(p, b->old, 0), n, MPI_DOUBLE, above, 0, row(p, b->old, last + 1), n, MPI_DOUBLE, below, 0, b->comm,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(p, b->old, last), n, MPI_DOUBLE, below, 1, row(p, b->old, -1), n, MPI_DOUBLE, above, 1, b->comm,
                 MPI_STATUS_IGNORE);
}

static void steps_with_mpi(const struct plate *p, struct block *b, size_t steps)
{
    for (size_t t = 0; t < steps; t++) {
        exchange_halos(p, b);
        for (size_t i = 0; i < b->rows; i++) {
            const double *old = row(p, b->old, (ptrdiff_t)i);
            double *new = row(p, b->new, (ptrdiff_t)i);
            for (size_t j = 0; j < p->columns; j++)
                new[j] = is_rim(p, b->first + i, j)
                             ? old[j]
                             : warmed(p, old[j], *(old + j - p->columns), old[j + p->columns], old[j - 1], old[j + 1]);
        }
        double *newest = b->new;
        b->new = b->old;
        b->old = newest;
    }
}

/* ---------------------------------------------------------------- the loop with tacit */

/* Views: old values with neighbours; new values. */
static void warm(const tacit_launch *k)
{
    const struct plate *p = k->args;
    const tacit_view old = k->view[0], new = k->view[1];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++)
            TACIT_AT2(double, new, i, j) =
                is_rim(p, i, j) ? TACIT_GET2(double, old, i, j)
                                : warmed(p, TACIT_GET2(double, old, i, j), TACIT_GET2(double, old, i - 1, j),
                                         TACIT_GET2(double, old, i + 1, j), TACIT_GET2(double, old, i, j - 1),
                                         TACIT_GET2(double, old, i, j + 1));
}

/* The program's own rows must be those that tacit takes from and gives to this process. */
static void check_rows(tacit_context *ctx, const struct plate *p, const struct block *b)
{
    tacit_range local;
    tacit_box box;
    CHECK(tacit_distribution_local(ctx, NULL, TACIT_RANGE(p->rows, p->columns), tacit_node(ctx), &box, &local));
    if (box.min[0] != b->first || local.size[0] != b->rows) {
        fprintf(stderr, "process %d has rows %zu to %zu, but would get %zu to %zu from tacit\n", b->rank, b->first,
                b->first + b->rows, box.min[0], box.max[0]);
        MPI_Abort(b->comm, EXIT_FAILURE);
    }
}

static void steps_with_tacit(const struct plate *p, const struct block *b, size_t steps)
{
    tacit_context *ctx = NULL;
    tacit_buffer *old, *new;
    CHECK(tacit_init_mpi(b->comm, NULL, &ctx));
    check_rows(ctx, p, b);

    tacit_buffer_desc desc = {
        .name = "old",
        .range = TACIT_RANGE(p->rows, p->columns),
        .elem_size = sizeof(double),
        .init_local = row(p, b->old, 0),
    };
    CHECK(tacit_buffer_create(ctx, &desc, &old));
    desc.name = "new";
    desc.init_local = NULL;
    CHECK(tacit_buffer_create(ctx, &desc, &new));
    for (size_t t = 0; t < steps; t++) {
        const tacit_task warm_it = {
            .name = "warm",
            .range = desc.range,
            .kernel = { .host = warm,
                        .opencl = { .source = on_devices, .entry = "warm" },
                        .cuda = { .source = on_devices, .entry = "warm" } },
            TACIT_ARGS(*p),
            .access = { tacit_read(old, tacit_star(1, 1, 0)), tacit_write(new, tacit_one_to_one()) },
        };
        CHECK(tacit_submit(ctx, &warm_it));
        tacit_buffer *newest = new;
        new = old;
        old = newest;
    }
    CHECK(tacit_fence_local(ctx, old, row(p, b->old, 0)));
    /* Also waits until the others have what they need from this process: only then it may wait in MPI. */
    CHECK(tacit_finalize(ctx));
}

/* ---------------------------------------------------------------- the program */

/* `rest` of the processes have one row more than the others. */
static struct block create_block(const struct plate *p, MPI_Comm comm)
{
    struct block b = { .comm = comm };
    MPI_Comm_rank(comm, &b.rank);
    MPI_Comm_size(comm, &b.processes);
    const size_t rank = (size_t)b.rank, share = p->rows / (size_t)b.processes, rest = p->rows % (size_t)b.processes;
    b.rows = share + (rank < rest);
    b.first = rank * share + (rank < rest ? rank : rest);
    b.old = example_alloc((b.rows + 2) * p->columns, sizeof *b.old);
    b.new = example_alloc((b.rows + 2) * p->columns, sizeof *b.new);
    for (size_t i = 0; i < b.rows; i++)
        for (size_t j = 0; j < p->columns; j++)
            row(p, b.old, (ptrdiff_t)i)[j] = start_value(p, b.first + i, j);
    return b;
}

static void free_block(struct block *b)
{
    free(b->old);
    free(b->new);
}

/* Whether all processes have the same bits when tacit takes no part. */
static bool is_right(const struct plate *p, const struct block *found, size_t steps)
{
    struct block b = create_block(p, found->comm);
    steps_with_mpi(p, &b, steps);
    int good = memcmp(row(p, b.old, 0), row(p, found->old, 0), b.rows * p->columns * sizeof *b.old) == 0, all;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, b.comm);
    free_block(&b);
    return all;
}

static double sum_over_all(const struct plate *p, const struct block *b)
{
    double mine = 0, sum = 0;
    for (size_t i = 0; i < b->rows * p->columns; i++)
        mine += row(p, b->old, 0)[i];
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, b->comm);
    return sum;
}

static bool run(const struct adopt_options *o, MPI_Comm comm)
{
    const struct plate p = { o->rows, o->columns, 0.2 };
    struct block b = create_block(&p, comm);
    struct example_report r;
    steps_with_mpi(&p, &b, o->before);
    const double begin = example_seconds();
    steps_with_tacit(&p, &b, o->steps);
    const double seconds = example_seconds() - begin;
    steps_with_mpi(&p, &b, o->after);
    const bool good = !o->common.verify || is_right(&p, &b, o->before + o->steps + o->after);
    const double mean = sum_over_all(&p, &b) / (double)(p.rows * p.columns);

    example_report_begin(&r, NULL, &o->common, "mpi_adopt: heat on a plate, partly by tacit");
    example_report_count(&r, "processes", "processes", (uint64_t)b.processes);
    example_report_count(&r, "rows", "rows", p.rows);
    example_report_count(&r, "columns", "columns", p.columns);
    example_report_count(&r, "steps_with_mpi", "steps with MPI", o->before + o->after);
    example_report_count(&r, "steps_with_tacit", "steps with tacit", o->steps);
    example_report_real(&r, "seconds", "time with tacit, start to end", seconds, "s");
    example_report_real(&r, "mean", "mean temperature", mean, "");
    if (o->common.verify)
        example_report_text(&r, "verified", "same as MPI alone", good ? "yes" : "NO");
    example_report_end(&r);
    free_block(&b);
    return good;
}

enum { KEY_ROWS = 1, KEY_COLUMNS, KEY_BEFORE, KEY_STEPS, KEY_AFTER };

static const struct argp_option option_list[] = {
    { "rows", KEY_ROWS, "NUMBER", 0, "Rows of the plate, at least one per process (65)", 1 },
    { "cols", KEY_COLUMNS, "NUMBER", 0, "Columns of the plate (65)", 1 },
    { "before", KEY_BEFORE, "NUMBER", 0, "Steps with MPI before (50)", 1 },
    { "steps", KEY_STEPS, "NUMBER", 0, "Steps with tacit (100)", 1 },
    { "after", KEY_AFTER, "NUMBER", 0, "Steps with MPI afterwards (50)", 1 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct adopt_options *o = state->input;
    switch (key) {
    case KEY_ROWS:
        return example_parse_size(state, "--rows", arg, 3, 1000000, &o->rows);
    case KEY_COLUMNS:
        return example_parse_size(state, "--cols", arg, 3, 1000000, &o->columns);
    case KEY_BEFORE:
        return example_parse_size(state, "--before", arg, 0, 1000000000, &o->before);
    case KEY_STEPS:
        return example_parse_size(state, "--steps", arg, 0, 1000000000, &o->steps);
    case KEY_AFTER:
        return example_parse_size(state, "--after", arg, 0, 1000000000, &o->after);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    const struct argp argp = { option_list, parse, NULL, "Heat on a plate: an MPI program that hands a loop to tacit.",
                               NULL,        NULL,  NULL };
    struct adopt_options o = { .rows = 65, .columns = 65, .before = 50, .steps = 100, .after = 50 };
    int level, rank, processes;
    bool good = true;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    o.common.speaks = rank == 0;
    int error = example_parse(NULL, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help && o.rows < (size_t)processes) {
        if (rank == 0)
            fprintf(stderr, "%d processes need a row each, but there are %zu: --rows\n", processes, o.rows);
        error = EXIT_FAILURE;
    }
    if (!error && !o.common.help)
        good = run(&o, MPI_COMM_WORLD);
    MPI_Finalize();
    return error || !good ? EXIT_FAILURE : EXIT_SUCCESS;
}
