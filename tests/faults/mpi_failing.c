/* MPI that fails: the functions of MPI that tacit calls, in front of those of the library (its profiling interface).
 * They count their calls, and the one that the arguments name returns an error instead of doing anything.
 *
 *   mpi_failing                      every rank prints how often it calls each function
 *   mpi_failing FUNCTION N RANK [abort]
 *                                    the Nth call (from 1 on) of FUNCTION on RANK fails; MPI_Testsome/status: one of
 *                                    its messages does. With `abort`, MPI_Abort fails too
 *
 * The program sends messages of every kind: short, packed, with datatypes that are kept and that are not, long ones,
 * sync points; and every collective, reductions too. */
#include "tacit/tacit.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                                   \
    X(MPI_Abort, (MPI_Comm a, int b), (a, b))                                                                          \
    X(MPI_Allgather, (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, MPI_Comm g),               \
      (a, b, c, d, e, f, g))                                                                                           \
    X(MPI_Cancel, (MPI_Request * a), (a))                                                                              \
    X(MPI_Comm_dup, (MPI_Comm a, MPI_Comm * b), (a, b))                                                                \
    X(MPI_Comm_free, (MPI_Comm * a), (a))                                                                              \
    X(MPI_Comm_get_attr, (MPI_Comm a, int b, void *c, int *d), (a, b, c, d))                                           \
    X(MPI_Comm_rank, (MPI_Comm a, int *b), (a, b))                                                                     \
    X(MPI_Comm_set_errhandler, (MPI_Comm a, MPI_Errhandler b), (a, b))                                                 \
    X(MPI_Comm_size, (MPI_Comm a, int *b), (a, b))                                                                     \
    X(MPI_Comm_split, (MPI_Comm a, int b, int c, MPI_Comm *d), (a, b, c, d))                                           \
    X(MPI_Comm_split_type, (MPI_Comm a, int b, int c, MPI_Info d, MPI_Comm *e), (a, b, c, d, e))                       \
    X(MPI_Finalize, (void), ())                                                                                        \
    X(MPI_Finalized, (int *a), (a))                                                                                    \
    X(MPI_Get_count, (const MPI_Status *a, MPI_Datatype b, int *c), (a, b, c))                                         \
    X(MPI_Get_elements_x, (const MPI_Status *a, MPI_Datatype b, MPI_Count *c), (a, b, c))                              \
    X(MPI_Bcast, (void *a, int b, MPI_Datatype c, int d, MPI_Comm e), (a, b, c, d, e))                                 \
    X(MPI_Allreduce, (const void *a, void *b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f), (a, b, c, d, e, f))        \
    X(MPI_Iallreduce, (const void *a, void *b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f, MPI_Request *g),           \
      (a, b, c, d, e, f, g))                                                                                           \
    X(MPI_Iallgather,                                                                                                  \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, MPI_Comm g, MPI_Request *h),              \
      (a, b, c, d, e, f, g, h))                                                                                        \
    X(MPI_Iallgatherv,                                                                                                 \
      (const void *a, int b, MPI_Datatype c, void *d, const int *e, const int *f, MPI_Datatype g, MPI_Comm h,          \
       MPI_Request *i),                                                                                                \
      (a, b, c, d, e, f, g, h, i))                                                                                     \
    X(MPI_Ialltoall,                                                                                                   \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, MPI_Comm g, MPI_Request *h),              \
      (a, b, c, d, e, f, g, h))                                                                                        \
    X(MPI_Ialltoallw,                                                                                                  \
      (const void *a, const int *b, const int *c, const MPI_Datatype *d, void *e, const int *f, const int *g,          \
       const MPI_Datatype *h, MPI_Comm i, MPI_Request *j),                                                             \
      (a, b, c, d, e, f, g, h, i, j))                                                                                  \
    X(MPI_Ibarrier, (MPI_Comm a, MPI_Request * b), (a, b))                                                             \
    X(MPI_Ibcast, (void *a, int b, MPI_Datatype c, int d, MPI_Comm e, MPI_Request *f), (a, b, c, d, e, f))             \
    X(MPI_Igather,                                                                                                     \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, int g, MPI_Comm h, MPI_Request *i),       \
      (a, b, c, d, e, f, g, h, i))                                                                                     \
    X(MPI_Igatherv,                                                                                                    \
      (const void *a, int b, MPI_Datatype c, void *d, const int *e, const int *f, MPI_Datatype g, int h, MPI_Comm i,   \
       MPI_Request *j),                                                                                                \
      (a, b, c, d, e, f, g, h, i, j))                                                                                  \
    X(MPI_Init_thread, (int *a, char ***b, int c, int *d), (a, b, c, d))                                               \
    X(MPI_Initialized, (int *a), (a))                                                                                  \
    X(MPI_Ireduce, (const void *a, void *b, int c, MPI_Datatype d, MPI_Op e, int f, MPI_Comm g, MPI_Request *h),       \
      (a, b, c, d, e, f, g, h))                                                                                        \
    X(MPI_Irecv, (void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request *g), (a, b, c, d, e, f, g))    \
    X(MPI_Iscatter,                                                                                                    \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, int g, MPI_Comm h, MPI_Request *i),       \
      (a, b, c, d, e, f, g, h, i))                                                                                     \
    X(MPI_Iscatterv,                                                                                                   \
      (const void *a, const int *b, const int *c, MPI_Datatype d, void *e, int f, MPI_Datatype g, int h, MPI_Comm i,   \
       MPI_Request *j),                                                                                                \
      (a, b, c, d, e, f, g, h, i, j))                                                                                  \
    X(MPI_Isend, (const void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request *g),                     \
      (a, b, c, d, e, f, g))                                                                                           \
    X(MPI_Issend, (const void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request *g),                    \
      (a, b, c, d, e, f, g))                                                                                           \
    X(MPI_Op_create, (MPI_User_function * a, int b, MPI_Op *c), (a, b, c))                                             \
    X(MPI_Op_free, (MPI_Op * a), (a))                                                                                  \
    X(MPI_Query_thread, (int *a), (a))                                                                                 \
    X(MPI_Request_free, (MPI_Request * a), (a))                                                                        \
    X(MPI_Test, (MPI_Request * a, int *b, MPI_Status *c), (a, b, c))                                                   \
    X(MPI_Type_commit, (MPI_Datatype * a), (a))                                                                        \
    X(MPI_Type_contiguous, (int a, MPI_Datatype b, MPI_Datatype *c), (a, b, c))                                        \
    X(MPI_Type_create_hindexed, (int a, const int b[], const MPI_Aint c[], MPI_Datatype d, MPI_Datatype *e),           \
      (a, b, c, d, e))                                                                                                 \
    X(MPI_Type_create_hvector, (int a, int b, MPI_Aint c, MPI_Datatype d, MPI_Datatype *e), (a, b, c, d, e))           \
    X(MPI_Type_create_keyval, (MPI_Type_copy_attr_function * a, MPI_Type_delete_attr_function * b, int *c, void *d),   \
      (a, b, c, d))                                                                                                    \
    X(MPI_Type_get_attr, (MPI_Datatype a, int b, void *c, int *d), (a, b, c, d))                                       \
    X(MPI_Type_set_attr, (MPI_Datatype a, int b, void *c), (a, b, c))                                                  \
    X(MPI_Type_create_struct, (int a, const int b[], const MPI_Aint c[], const MPI_Datatype d[], MPI_Datatype *e),     \
      (a, b, c, d, e))                                                                                                 \
    X(MPI_Type_create_resized, (MPI_Datatype a, MPI_Aint b, MPI_Aint c, MPI_Datatype * d), (a, b, c, d))               \
    X(MPI_Type_free, (MPI_Datatype * a), (a))                                                                          \
    X(MPI_Wait, (MPI_Request * a, MPI_Status * b), (a, b))

enum {
#define INDEX(name, declared, passed) INDEX_##name,
    FUNCTIONS(INDEX) INDEX_MPI_Testsome,
    INDEX_status,
    COUNT
};

static const char *const names[] = {
#define NAME(name, declared, passed) #name,
    FUNCTIONS(NAME) "MPI_Testsome", "MPI_Testsome/status"
};

static long calls[COUNT], fails_at;
static int fails = -1, abort_fails;

static int is_to_fail(int index)
{
    if (index == INDEX_MPI_Abort && abort_fails) {
        return 1;
    }
    return ++calls[index] == fails_at && index == fails;
}

#define WRAP(name, declared, passed)                                                                                   \
    int name declared                                                                                                  \
    {                                                                                                                  \
        return is_to_fail(INDEX_##name) ? MPI_ERR_OTHER : P##name passed;                                              \
    }
FUNCTIONS(WRAP)

int MPI_Testsome(int n, MPI_Request *request, int *count, int *index, MPI_Status *status)
{
    if (is_to_fail(INDEX_MPI_Testsome)) {
        return MPI_ERR_OTHER;
    }
    int code = PMPI_Testsome(n, request, count, index, status);
    if (code || *count == MPI_UNDEFINED || *count == 0 || !is_to_fail(INDEX_status)) {
        return code;
    }
    for (int i = 0; i < *count; i++) {
        status[i].MPI_ERROR = i ? MPI_SUCCESS : MPI_ERR_OTHER;
    }
    return MPI_ERR_IN_STATUS;
}

/* ---- the program */

enum { N = 96, STEPS = 6, LONG = 1 << 17, MANY = 700 };

static tacit_context *ctx;

static void check(tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "program: %s\n", tacit_last_error(ctx));
        exit(EXIT_FAILURE);
    }
}

static void set(const tacit_launch *k)
{
    const tacit_view v = k->view[0];
    for (size_t i = v.box.min[0]; i < v.box.max[0]; i++) {
        for (size_t j = v.box.min[1]; j < v.box.max[1]; j++) {
            for (size_t l = v.box.min[2]; l < v.box.max[2]; l++) {
                *TACIT_PTR3_(double, v, i, j, l) = (double)(i * N + j);
            }
        }
    }
}

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static tacit_buffer *buffer(tacit_range range)
{
    tacit_buffer *b;
    check(tacit_buffer_create(ctx, &(tacit_buffer_desc){ .range = range, .elem_size = sizeof(double) }, &b));
    return b;
}

static void write_all(tacit_buffer *b, tacit_range range, int node)
{
    check(tacit_submit(ctx, &(tacit_task){ .name = "set",
                                           .range = range,
                                           .kernel = { .host = set },
                                           .place = tacit_place_node(node),
                                           .access = { tacit_write(b, tacit_one_to_one()) } }));
}

static void read_on(tacit_buffer *b, int node, tacit_mapper mapper)
{
    check(tacit_submit(ctx, &(tacit_task){ .name = "read",
                                           .range = TACIT_RANGE(1),
                                           .kernel = { .host = nothing },
                                           .place = tacit_place_node(node),
                                           .access = { tacit_read(b, mapper) } }));
}

/* Every second row, `user` pieces of each; or two rectangles. */
static void pieces(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    size_t n;
    (void)chunk, (void)range;
    memcpy(&n, user, sizeof(n));
    for (size_t i = 0; i < N; i += 2) {
        for (size_t k = 0; k < n; k++) {
            tacit_region_add(out, tacit_box2(i, i + 1, 8 * k, 8 * k + 4));
        }
    }
    if (n == 0) {
        tacit_region_add(out, tacit_box2(3, 30, 5, 20));
        tacit_region_add(out, tacit_box2(50, 80, 40, 70));
    }
}

/* Boxes that are not contiguous: two columns (packed), a third of all columns (a datatype), bars of three dimensions,
 * few and many runs. */
static void send_shapes(int from, int to)
{
    tacit_range square = TACIT_RANGE(N, N), cube = TACIT_RANGE(24, 24, 24);
    tacit_buffer *a = buffer(square), *c = buffer(cube), *few = buffer(square), *many = buffer(square);
    int rectangles, one_piece, ten_pieces;
    check(tacit_mapper_create(ctx, pieces, &(size_t){ 0 }, sizeof(size_t), 0, &rectangles));
    check(tacit_mapper_create(ctx, pieces, &(size_t){ 1 }, sizeof(size_t), 0, &one_piece));
    check(tacit_mapper_create(ctx, pieces, &(size_t){ 10 }, sizeof(size_t), 0, &ten_pieces));
    write_all(a, square, from);
    read_on(a, to, tacit_fixed(tacit_box2(0, 8, 0, 2)));
    read_on(a, to, tacit_fixed(tacit_box2(0, N, N / 3, 2 * N / 3)));
    read_on(a, to, tacit_custom(rectangles));
    write_all(c, cube, from);
    read_on(c, to, tacit_fixed(tacit_box3(0, 24, 3, 20, 5, 20)));
    write_all(few, square, from);
    read_on(few, to, tacit_custom(one_piece));
    write_all(many, square, from);
    read_on(many, to, tacit_custom(ten_pieces));
}

static void on_all(tacit_range range, tacit_access access, tacit_host_kernel *kernel)
{
    check(tacit_submit(
        ctx, &(tacit_task){ .name = "on_all", .range = range, .kernel = { .host = kernel }, .access = { access } }));
}

/* Each collective of MPI, with counts that agree and with others. */
static void exchange_all(size_t n, int root)
{
    tacit_range square = TACIT_RANGE(n, n);
    tacit_buffer *b = buffer(square);
    on_all(square, tacit_write(b, tacit_one_to_one()), set);
    on_all(square, tacit_read(b, tacit_all()), nothing); /* all-gather */
    on_all(square, tacit_write(b, tacit_one_to_one()), set);
    read_on(b, root, tacit_all()); /* gather */
    on_all(square, tacit_write(b, tacit_one_to_one()), set);
    on_all(square, tacit_read(b, tacit_transposed(1, 0, 2)), nothing); /* all-to-all */
    write_all(b, square, root);
    on_all(square, tacit_read(b, tacit_all()), nothing); /* broadcast */
    write_all(b, square, root);
    on_all(square, tacit_read(b, tacit_one_to_one()), nothing); /* scatter */
}

static void combine_all(int root)
{
    tacit_buffer *b = buffer(TACIT_RANGE(N));
    for (int s = 0; s < STEPS; s++) {
        tacit_op op = s % 2 ? tacit_sum(TACIT_DOUBLE) : tacit_max(TACIT_DOUBLE);
        on_all(TACIT_RANGE(N), tacit_reduce(b, op), nothing);
        if (s >= STEPS / 2) {
            read_on(b, root, tacit_all()); /* the next one is reduced to this node */
        }
    }
}

static void send_all(void)
{
    int last = tacit_num_nodes(ctx) - 1;
    tacit_range line = TACIT_RANGE(LONG), all = TACIT_RANGE(N, N);
    tacit_buffer *l = buffer(line), *u = buffer(all), *v = buffer(all), *w = buffer(TACIT_RANGE(MANY));
    static double got[N * N];
    send_shapes(0, last);
    send_shapes(last, 0);
    exchange_all(N, 0);
    exchange_all(N + 1, last);
    combine_all(last);
    write_all(l, line, 0);
    read_on(l, last, tacit_all());
    for (int s = 0; s < STEPS; s++) {
        write_all(u, all, s % 2 ? last : 0);
        check(tacit_submit(ctx, &(tacit_task){ .name = "halo",
                                               .range = all,
                                               .kernel = { .host = nothing },
                                               .hint = { .split = TACIT_SPLIT_2D },
                                               .access = { tacit_read(u, tacit_neighborhood(1, 1, 0)),
                                                           tacit_write(v, tacit_one_to_one()) } }));
    }
    write_all(w, TACIT_RANGE(MANY), 0);
    for (size_t i = 0; i < MANY; i++) {
        read_on(w, last, tacit_fixed(tacit_box1(i, i + 1)));
    }
    check(tacit_fence_read(ctx, u, TACIT_BOX_ALL, got));
    for (int i = 0; i < N * N; i++) {
        if (got[i] != i) {
            fprintf(stderr, "program: wrong results\n");
            exit(EXIT_FAILURE);
        }
    }
}

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    if (argc > 3 && rank && atoi(rank) == atoi(argv[3])) {
        for (int i = 0; i < COUNT; i++) {
            fails = strcmp(names[i], argv[1]) == 0 ? i : fails;
        }
        fails_at = atol(argv[2]);
        abort_fails = argc > 4;
    }
    check(tacit_init(&(tacit_config){ .collective_schedule = TACIT_COLLECTIVE_SCHEDULE_MPI }, &ctx));
    send_all();
    check(tacit_finalize(ctx));
    for (int i = 0; i < COUNT && argc == 1; i++) {
        printf("rank %s: %s %ld\n", rank ? rank : "-", names[i], calls[i]);
    }
    return EXIT_SUCCESS;
}
