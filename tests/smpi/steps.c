/* Steps that communicate, and compute for a given time, for smpi_test.py: run under SimGrid's SMPI, which simulates MPI
 * by another model than tacit's, and planned for tacit's own simulator.
 *
 * Usage: steps PATTERN ELEMENTS STEPS NANOSECONDS
 * ELEMENTS of 8 bytes per node; NANOSECONDS that a kernel takes for one of them. PATTERN: all (every node needs all),
 * neighbours (a quarter of what both have), round (one node after the other updates everything). Under SMPI rank 0
 * prints, as JSON, the simulated seconds, and messages and bytes of each pair of nodes. */
#include "tacit/tacit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef STEPS_SMPI
#include "base/park.h"
#include "comm/comm.h"
#include "tacit/mpi.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

typedef struct steps {
    size_t elements; /* of a node */
    long count;
    double item;
    tacit_context *ctx;
    tacit_buffer *buffer[2];
} steps;

static void check(tacit_context *ctx, tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "steps: %s\n", tacit_last_error(ctx));
        abort();
    }
}

/* ---- the patterns */

static void compute(const tacit_launch *k)
{
    double ns = *(const double *)k->args * (double)(k->chunk.max[0] - k->chunk.min[0]);
    (void)ns;
#ifdef STEPS_SMPI
    const struct timespec time = { .tv_nsec = (long)ns };
    nanosleep(&time, NULL); /* in simulated time */
#endif
}

static tacit_task task_of(const steps *s, tacit_access read, tacit_access write)
{
    return (tacit_task){ .name = "step",
                         .range = TACIT_RANGE(s->elements * (size_t)tacit_num_nodes(s->ctx)),
                         .kernel = { .host = compute },
                         .args = &s->item,
                         .args_size = sizeof(s->item),
                         .access = { read, write } };
}

static tacit_task all(const steps *s, long i)
{
    return task_of(s, tacit_read(s->buffer[i % 2], tacit_all()), tacit_write(s->buffer[1 - i % 2], tacit_one_to_one()));
}

static tacit_task neighbours(const steps *s, long i)
{
    return task_of(s, tacit_read(s->buffer[i % 2], tacit_neighborhood(s->elements / 4, 0, 0)),
                   tacit_write(s->buffer[1 - i % 2], tacit_one_to_one()));
}

static tacit_task one_by_one(const steps *s, long i)
{
    tacit_task task = task_of(s, tacit_update(s->buffer[0], tacit_all()), (tacit_access){ 0 });
    task.range = TACIT_RANGE(1);
    task.place = tacit_place_node((int)(i % tacit_num_nodes(s->ctx)));
    return task;
}

typedef tacit_task pattern(const steps *s, long i);

static pattern *find(const char *name)
{
    return strcmp(name, "all") == 0          ? all
           : strcmp(name, "neighbours") == 0 ? neighbours
           : strcmp(name, "round") == 0      ? one_by_one
                                             : NULL;
}

static void run(steps *s, pattern *next)
{
    const double zero = 0;
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = { .name = i ? "odd" : "even",
                                         .range = TACIT_RANGE(s->elements * (size_t)tacit_num_nodes(s->ctx)),
                                         .elem_size = sizeof(double) };
        check(s->ctx, tacit_buffer_create(s->ctx, &desc, &s->buffer[i]));
        check(s->ctx, tacit_fill(s->ctx, s->buffer[i], &zero));
    }
    for (long i = 0; i < s->count; i++) {
        const tacit_task task = next(s, i);
        check(s->ctx, tacit_submit(s->ctx, &task));
    }
    check(NULL, tacit_finalize(s->ctx));
}

/* ---- under SMPI: what each node sends to each other one is counted where the library hands it over */

#ifdef STEPS_SMPI
enum { MOST_NODES = 64 };
static struct {
    ti_comm_ops ops;
    const ti_comm_ops *real;
    long long messages[MOST_NODES], bytes[MOST_NODES];
} counted;

static void count_send(ti_comm *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    counted.messages[peer]++;
    counted.bytes[peer] += (long long)payload->bytes;
    counted.real->send(comm, peer, counter, payload, token);
}

tacit_status __real_ti_comm_mpi_adopt(const tacit_mpi_comm *given, const ti_comm_settings *settings, ti_comm **out,
                                      char *why, size_t why_size);
tacit_status __wrap_ti_comm_mpi_adopt(const tacit_mpi_comm *given, const ti_comm_settings *settings, ti_comm **out,
                                      char *why, size_t why_size);
tacit_status __wrap_ti_comm_mpi_adopt(const tacit_mpi_comm *given, const ti_comm_settings *settings, ti_comm **out,
                                      char *why, size_t why_size)
{
    tacit_status status = __real_ti_comm_mpi_adopt(given, settings, out, why, why_size);
    if (status == TACIT_OK) {
        counted.real = (*out)->ops;
        counted.ops = *counted.real;
        counted.ops.send = count_send;
        (*out)->ops = &counted.ops;
    }
    return status;
}

/* SMPI says no, whoever asks; there is one thread per rank. */
int __wrap_MPI_Is_thread_main(int *flag);
int __wrap_MPI_Is_thread_main(int *flag)
{
    *flag = 1;
    return MPI_SUCCESS;
}

/* SMPI lacks this; messages here are no longer than an int can say. */
int __wrap_MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *count);
int __wrap_MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *count)
{
    int bytes = 0, error = MPI_Get_count(status, MPI_BYTE, &bytes);
    (void)type;
    *count = bytes;
    return error;
}

/* SMPI gives each rank a number, but not at the end of the process, when the library asks whose end it is. */
int __wrap_smpi_getpid(void);
int __wrap_smpi_getpid(void)
{
    return (int)syscall(SYS_getpid);
}

/* Ranks take turns inside calls of MPI: to give up the core between them would only take time. */
void __wrap_ti_backoff(ti_waiter *waiter, ti_lot *lot, uint32_t ticket, bool polling);
void __wrap_ti_backoff(ti_waiter *waiter, ti_lot *lot, uint32_t ticket, bool polling)
{
    (void)waiter, (void)lot, (void)ticket, (void)polling;
}

static void print(double seconds)
{
    static long long all_messages[MOST_NODES * MOST_NODES], all_bytes[MOST_NODES * MOST_NODES];
    int nodes, node;
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    MPI_Comm_rank(MPI_COMM_WORLD, &node);
    MPI_Gather(counted.messages, nodes, MPI_LONG_LONG, all_messages, nodes, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    MPI_Gather(counted.bytes, nodes, MPI_LONG_LONG, all_bytes, nodes, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (node == 0) {
        printf("{ \"seconds\": %.12g, \"pairs\": [", seconds);
        for (int i = 0, first = 1; i < nodes * nodes; i++) {
            if (all_messages[i] > 0) {
                printf("%s[%d, %d, %lld, %lld]", first ? "" : ", ", i / nodes, i % nodes, all_messages[i],
                       all_bytes[i]);
                first = 0;
            }
        }
        printf("] }\n");
    }
}

static void begin(steps *s)
{
    check(NULL, tacit_init_mpi(MPI_COMM_WORLD, NULL, &s->ctx));
}
#else
static void begin(steps *s)
{
    check(NULL, tacit_init(NULL, &s->ctx));
}
#endif

int main(int argc, char **argv)
{
    pattern *next = argc == 5 ? find(argv[1]) : NULL;
    if (!next) {
        fprintf(stderr, "usage: steps all|neighbours|round ELEMENTS STEPS NANOSECONDS\n");
        return EXIT_FAILURE;
    }
    steps s = { .elements = (size_t)atol(argv[2]), .count = atol(argv[3]), .item = atof(argv[4]) };
#ifdef STEPS_SMPI
    MPI_Init(&argc, &argv);
#endif
    begin(&s);
#ifdef STEPS_SMPI
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
#endif
    run(&s, next);
#ifdef STEPS_SMPI
    print(MPI_Wtime() - start);
    MPI_Finalize();
#endif
    return EXIT_SUCCESS;
}
