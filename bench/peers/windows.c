/* Halos of any width by hand: see windows.h.
 *
 * A rank keeps its rows and `width` more on each side that has a neighbour. Step s of a window gives rows that are
 * right up to width - s beyond its own. Those that depend on nothing of the neighbours are computed while messages
 * travel; what borders need of them is overwritten by no later step: step s + 2 replaces values of step s that lie s +
 * 2 rows and more inside. */
#include "windows.h"

#include "kernels.h"

#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct side {
    int rank; /* or MPI_PROC_NULL */
    double *out, *in;
} side;

typedef struct field {
    double *memory;
    cells at;
} field;

typedef struct rank {
    const grid *g;
    int width, ranks, own;
    size_t begin, end, row; /* its rows, and the numbers of one */
    size_t first, last;     /* that are in memory */
    double delay, sent;
    field field[2]; /* the newer one first */
    side side[2];
    MPI_Request request[4];
} rank;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_until(double time)
{
    const struct timespec t = { (time_t)time, (long)(1e9 * (time - (double)(time_t)time)) };
    while (now() < time)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Rows of the newer field that travel, and of the older one if it counts: its last step in the window needs no more. */
static size_t rows_of(const rank *r, int which, int steps)
{
    return which == 0 ? (size_t)steps : grid_updates(r->g) ? (size_t)steps - 1 : 0;
}

static size_t message_numbers(const rank *r, int steps)
{
    return (rows_of(r, 0, steps) + rows_of(r, 1, steps)) * r->row + 1; /* and when it was sent */
}

/* The rows next to a border: those of this rank, or beyond it. */
static double *border(const rank *r, int which, int to, bool beyond, size_t rows)
{
    size_t at = to == 0 ? (beyond ? r->begin - rows : r->begin) : (beyond ? r->end : r->end - rows);
    return r->field[which].at.origin + at * r->row;
}

static void begin_messages(rank *r, int steps)
{
    int numbers = (int)message_numbers(r, steps);
    for (int s = 0; s < 2; s++) {
        double *out = r->side[s].out;
        MPI_Irecv(r->side[s].in, numbers, MPI_DOUBLE, r->side[s].rank, 0, MPI_COMM_WORLD, &r->request[s]);
        for (int f = 0; f < 2 && r->side[s].rank != MPI_PROC_NULL; f++) {
            size_t rows = rows_of(r, f, steps);
            memcpy(out, border(r, f, s, false, rows), rows * r->row * sizeof(double));
            out += rows * r->row;
        }
        *out = r->sent = now();
        MPI_Isend(r->side[s].out, numbers, MPI_DOUBLE, r->side[s].rank, 0, MPI_COMM_WORLD, &r->request[2 + s]);
    }
}

/* Neighbours send at about the time of this rank: it sleeps until that is due, and does not take the core from others
 * afterwards. */
static void end_messages(rank *r, int steps)
{
    MPI_Status status[4]; /* MPICH's MPI_STATUSES_IGNORE makes compilers warn */
    int done = 0;
    if (r->delay > 0)
        sleep_until(r->sent + r->delay);
    for (MPI_Testall(4, r->request, &done, status); !done; MPI_Testall(4, r->request, &done, status))
        sched_yield();
    for (int s = 0; s < 2; s++) {
        const double *in = r->side[s].in;
        if (r->side[s].rank == MPI_PROC_NULL)
            continue;
        if (r->delay > 0)
            sleep_until(in[message_numbers(r, steps) - 1] + r->delay);
        for (int f = 0; f < 2; f++) {
            size_t rows = rows_of(r, f, steps);
            memcpy(border(r, f, s, true, rows), in, rows * r->row * sizeof(double));
            in += rows * r->row;
        }
    }
}

/* Rows [from, to), as far as there are any. */
static void step(const rank *r, int number, size_t from, size_t to)
{
    if (from < to)
        grid_step(r->g, from, to, r->field[number % 2].at, r->field[1 - number % 2].at);
}

static void window(rank *r, int steps)
{
    bool up = r->side[0].rank != MPI_PROC_NULL, down = r->side[1].rank != MPI_PROC_NULL;
    begin_messages(r, steps);
    for (int s = 0; s < steps; s++) {
        size_t inside = (size_t)s + 1;
        step(r, s, up ? r->begin + inside : r->begin, down ? r->end - inside : r->end);
    }
    end_messages(r, steps);
    for (int s = 0; s < steps; s++) {
        size_t inside = (size_t)s + 1, outside = (size_t)(steps - 1 - s);
        if (up)
            step(r, s, r->begin - outside, r->begin + inside);
        if (down)
            step(r, s, r->end - inside, r->end + outside);
    }
    if (steps % 2) {
        field newer = r->field[1];
        r->field[1] = r->field[0];
        r->field[0] = newer;
    }
}

static void run_steps(rank *r, int steps)
{
    for (; steps > 0; steps -= r->width)
        window(r, steps < r->width ? steps : r->width);
}

static void open_rank(rank *r, const grid *g, int width, double delay)
{
    *r = (rank){ .g = g, .width = width, .row = grid_row(g), .delay = delay };
    MPI_Comm_rank(MPI_COMM_WORLD, &r->own);
    MPI_Comm_size(MPI_COMM_WORLD, &r->ranks);
    r->begin = share(g->n[0], (size_t)r->own, (size_t)r->ranks);
    r->end = share(g->n[0], (size_t)r->own + 1, (size_t)r->ranks);
    r->side[0].rank = r->own > 0 ? r->own - 1 : MPI_PROC_NULL;
    r->side[1].rank = r->own + 1 < r->ranks ? r->own + 1 : MPI_PROC_NULL;
    r->first = r->own > 0 ? r->begin - (size_t)width : r->begin;
    r->last = r->own + 1 < r->ranks ? r->end + (size_t)width : r->end;
    for (int f = 0; f < 2; f++) {
        size_t bytes = (r->last - r->first) * r->row * sizeof(double);
        r->field[f].memory = malloc(bytes);
        /* Where row 0 would be; computed as a number, since nothing is there. */
        uintptr_t zero = (uintptr_t)r->field[f].memory - r->first * r->row * sizeof(double);
        r->field[f].at = (cells){ (double *)zero, { r->row, g->n[2] } }; // NOLINT
        grid_start(g, r->first, r->last, r->field[f].at);
        r->side[f].out = calloc(message_numbers(r, width), sizeof(double));
        r->side[f].in = calloc(message_numbers(r, width), sizeof(double));
    }
}

static void gather(const rank *r, double *result)
{
    int *counts = calloc(2 * (size_t)r->ranks, sizeof *counts), *places = counts + r->ranks;
    for (int k = 0; k < r->ranks; k++) {
        size_t begin = share(r->g->n[0], (size_t)k, (size_t)r->ranks);
        places[k] = (int)(begin * r->row);
        counts[k] = (int)(share(r->g->n[0], (size_t)k + 1, (size_t)r->ranks) * r->row) - places[k];
    }
    MPI_Gatherv(r->field[0].at.origin + r->begin * r->row, counts[r->own], MPI_DOUBLE, result, counts, places,
                MPI_DOUBLE, 0, MPI_COMM_WORLD);
    free(counts);
}

double windows_run(const grid *g, int steps, int warm_up, int width, double delay, double *result)
{
    rank r;
    open_rank(&r, g, width, delay);
    run_steps(&r, warm_up);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now();
    run_steps(&r, steps);
    double seconds = now() - start;
    gather(&r, result);
    for (int f = 0; f < 2; f++) {
        free(r.field[f].memory);
        free(r.side[f].in);
        free(r.side[f].out);
    }
    return seconds;
}
