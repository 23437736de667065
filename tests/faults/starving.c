/* What tacit does when memory runs out: at its nth allocation, for every n until the program gets through.
 *
 * A small program with everything that allocates (buffers of all kinds, tasks, fences, reductions, a mapper and an
 * operator of its own) runs in a child process per n. The linker leads tacit's calls of malloc and its like, of mmap
 * and of pthread_create to the functions below (--wrap), which count them and fail one, or that one and all after it.
 * Every child ends in one of these ways, soon, or the test fails:
 *   right    all results are right: n was not reached, or tacit could do without
 *   status   a call returned a status with a sentence, all nodes of the run heard of it, and nothing leaks (under a
 *            sanitizer)
 *   abort    the process printed a sentence and aborted: memory for tacit's own bookkeeping
 *
 *   starving                              all nodes in one process: several modes and numbers of nodes, each with
 *                                         every tenth n or fewer
 *   starving --every                      the same with every n
 *   starving NODES MODE [STRIDE]          one of them
 *   starving --mpi N RANK [all]           the program over MPI, once; rank RANK runs out of memory at its Nth
 *                                         allocation */
#include "api/context.h"
#include "base/config.h"
#include "effort.h"
#include "local_comm.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- supply */

/* Of the process; calls below `fail_at` succeed. Everything is counted, also what tests and programs allocate before
 * tacit starts. */
static struct {
    _Atomic long calls, refused;
    long fail_at; /* negative: none */
    bool for_good;
} supply = { .fail_at = -1 };

static bool is_refused(void)
{
    long n = atomic_fetch_add(&supply.calls, 1);
    bool refused = supply.fail_at >= 0 && (n == supply.fail_at || (supply.for_good && n > supply.fail_at));
    supply.refused += refused;
    return refused;
}

/* The names are those that the linker's --wrap asks for. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __real_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *), void *user);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *), void *user);

void *__wrap_malloc(size_t size)
{
    return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return is_refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
    return is_refused() ? NULL : __real_realloc(ptr, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return is_refused() ? NULL : __real_aligned_alloc(alignment, size);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    return is_refused() ? MAP_FAILED : __real_mmap(at, size, protection, flags, file, offset);
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *), void *user)
{
    return is_refused() ? EAGAIN : __real_pthread_create(id, attributes, run, user);
}

/* ---------------------------------------------------------------- the program */

enum { N = 600, ROWS = 12, COLS = 10, BIG = 1 << 20, STEPS = 12 };

static int initial[N];

static void add_one(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int, k->view[0], i) += 1;
    }
}

static void add_neighbours(const tacit_launch *k)
{
    const tacit_view in = k->view[0];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int, k->view[1], i) = (i ? TACIT_GET1(int, in, i - 1) : 0) +
                                        (i + 1 < N ? TACIT_GET1(int, in, i + 1) : 0);
    }
}

static void sum_up(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT0(int64_t, k->view[1]) += TACIT_GET1(int, k->view[0], i);
    }
}

static void largest(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        int *most = &TACIT_AT0(int, k->view[1]), x = TACIT_GET1(int, k->view[0], i);
        *most = x > *most ? x : *most;
    }
}

static void twice(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int, k->view[1], i) = 2 * TACIT_GET1(int, k->view[0], i);
    }
}

static void fill_grid(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++) {
            TACIT_AT2(double, k->view[0], i, j) = (double)(i * COLS + j);
        }
    }
}

static void transpose(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++) {
            TACIT_AT2(double, k->view[1], i, j) = TACIT_GET2(double, k->view[0], j, i);
        }
    }
}

static void fill_big(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int, k->view[0], i) = (int)i;
    }
}

static void same(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)range, (void)user;
    tacit_region_add(out, *chunk);
}

static void take_larger(void *into, const void *from, size_t n, const void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        int x;
        memcpy(&x, (const char *)from + i * sizeof(x), sizeof(x));
        int *most = (int *)into + i;
        *most = x > *most ? x : *most;
    }
}

/* What became of one node. */
typedef struct outcome {
    tacit_status status;
    char sentence[600];
    bool wrong; /* results that were read are not right */
} outcome;

static bool holds(outcome *o, tacit_context *ctx, tacit_status status)
{
    if (status != TACIT_OK && o->status == TACIT_OK) {
        o->status = status;
        snprintf(o->sentence, sizeof(o->sentence), "%s", tacit_last_error(ctx));
    }
    return status == TACIT_OK;
}

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        if (!holds(o, ctx, (call))) {                                                                                  \
            return false;                                                                                              \
        }                                                                                                              \
    } while (0)
#define SUBMIT(...) TRY(tacit_submit(ctx, &(tacit_task){ __VA_ARGS__ }))
#define KERNEL(f) .kernel = { .host = (f) }

static bool create(tacit_context *ctx, outcome *o, const char *name, tacit_range range, size_t elem, const void *init,
                   tacit_buffer **out)
{
    TRY(tacit_buffer_create(ctx, &(tacit_buffer_desc){ .name = name, .range = range, .elem_size = elem, .init = init },
                            out));
    return true;
}

typedef struct lines {
    tacit_buffer *a, *b, *sum, *most;
} lines;

static bool read_lines(tacit_context *ctx, outcome *o, const lines *l, tacit_fence_ticket *ticket)
{
    int got_a[N], got_b[N], got_most;
    int64_t got_sum, all = 0;
    const void *got_c;
    TRY(tacit_fence_read(ctx, l->a, TACIT_BOX_ALL, got_a));
    TRY(tacit_fence_read(ctx, l->b, tacit_box1(1, N - 1), got_b));
    TRY(tacit_fence_read(ctx, l->sum, TACIT_BOX_ALL, &got_sum));
    TRY(tacit_fence_read(ctx, l->most, TACIT_BOX_ALL, &got_most));
    TRY(tacit_fence_get(ticket, &got_c));
    for (int i = 0; i < N; i++) {
        int x = (i ? i - 1 + STEPS : 0) + (i + 1 < N ? i + 1 + STEPS : 0);
        all += x;
        o->wrong |= got_a[i] != i + STEPS || ((const int *)got_c)[i] != 2 * x || (i && i + 1 < N && got_b[i - 1] != x);
    }
    o->wrong |= got_sum != all || got_most != 2 * (2 * (N - 2) + 2 * STEPS);
    return true;
}

static bool compute_lines(tacit_context *ctx, outcome *o)
{
    tacit_buffer *a, *b, *c, *sum, *most;
    int mapper, last = tacit_num_nodes(ctx) - 1, least = INT32_MIN, user[4] = { 0 };
    tacit_op larger;
    TRY(tacit_mapper_create(ctx, same, user, sizeof(user), 0, &mapper));
    TRY(tacit_op_create(ctx,
                        &(tacit_op_desc){ .combine = take_larger,
                                          .identity = &least,
                                          .elem_size = sizeof(int),
                                          .user = user,
                                          .user_size = sizeof(user),
                                          .commutative = true },
                        &larger));
    if (!create(ctx, o, "A", TACIT_RANGE(N), sizeof(int), initial, &a) ||
        !create(ctx, o, "B", TACIT_RANGE(N), sizeof(int), NULL, &b) ||
        !create(ctx, o, "C", TACIT_RANGE(N), sizeof(int), NULL, &c) ||
        !create(ctx, o, "sum", (tacit_range){ .dims = 0 }, sizeof(int64_t), NULL, &sum) ||
        !create(ctx, o, "most", (tacit_range){ .dims = 0 }, sizeof(int), NULL, &most)) {
        return false;
    }
    for (int s = 0; s < STEPS; s++) {
        SUBMIT(.name = "add", .range = TACIT_RANGE(N), KERNEL(add_one),
               .access = { tacit_update(a, tacit_one_to_one()) });
        SUBMIT(.name = "neighbours", .range = TACIT_RANGE(N), KERNEL(add_neighbours),
               .hint = { .oversubscribe = 1 + s % 2 },
               .access = { tacit_read(a, tacit_neighborhood(1, 0, 0)), tacit_write(b, tacit_custom(mapper)) });
        SUBMIT(.name = "sum", .range = TACIT_RANGE(N), KERNEL(sum_up),
               .access = { tacit_read(b, tacit_one_to_one()), tacit_reduce(sum, tacit_sum(TACIT_INT64)) });
        SUBMIT(.name = "twice", .range = TACIT_RANGE(N), KERNEL(twice), .place = tacit_place_node(last),
               .on = TACIT_ON_HOST, .access = { tacit_read(b, tacit_all()), tacit_write(c, tacit_one_to_one()) });
    }
    SUBMIT(.name = "most", .range = TACIT_RANGE(N), KERNEL(largest), TACIT_ARGS(user),
           .access = { tacit_read(c, tacit_one_to_one()), tacit_reduce(most, larger) });
    tacit_fence_ticket *ticket;
    TRY(tacit_fence(ctx, c, TACIT_BOX_ALL, &ticket));
    bool good = read_lines(ctx, o, &(lines){ a, b, sum, most }, ticket);
    tacit_fence_release(ticket);
    TRY(good ? tacit_buffer_destroy(ctx, a) : TACIT_OK);
    return good;
}

static bool compute_grids(tacit_context *ctx, outcome *o)
{
    tacit_buffer *g, *t, *big;
    double got[COLS * ROWS];
    int some[8];
    if (!create(ctx, o, "grid", TACIT_RANGE(ROWS, COLS), sizeof(double), NULL, &g) ||
        !create(ctx, o, "turned", TACIT_RANGE(COLS, ROWS), sizeof(double), NULL, &t) ||
        !create(ctx, o, "big", TACIT_RANGE(BIG), sizeof(int), NULL, &big)) {
        return false;
    }
    SUBMIT(.name = "fill", .range = TACIT_RANGE(ROWS, COLS), KERNEL(fill_grid), .hint = { .split = TACIT_SPLIT_2D },
           .access = { tacit_write(g, tacit_one_to_one()) });
    SUBMIT(.name = "transpose", .range = TACIT_RANGE(COLS, ROWS), KERNEL(transpose),
           .access = { tacit_read(g, tacit_transposed(1, 0, 0)), tacit_write(t, tacit_one_to_one()) });
    SUBMIT(.name = "big", .range = TACIT_RANGE(BIG), KERNEL(fill_big),
           .access = { tacit_write(big, tacit_one_to_one()) });
    TRY(tacit_wait(ctx));
    TRY(tacit_fence_read(ctx, t, TACIT_BOX_ALL, got));
    TRY(tacit_fence_read(ctx, big, tacit_box1(BIG / 2 - 4, BIG / 2 + 4), some));
    for (int i = 0; i < COLS * ROWS; i++) {
        o->wrong |= got[i] != (double)(i % ROWS * COLS + i / ROWS);
    }
    for (int i = 0; i < 8; i++) {
        o->wrong |= some[i] != BIG / 2 - 4 + i;
    }
    return true;
}

static void run_program(tacit_context *ctx, outcome *o)
{
    if (compute_lines(ctx, o)) {
        compute_grids(ctx, o);
    }
    tacit_status status = tacit_finalize(ctx);
    if (status != TACIT_OK && o->status == TACIT_OK) {
        o->status = status;
        snprintf(o->sentence, sizeof(o->sentence), "no memory: tacit_finalize returned the first error of the run");
    }
}

/* ---------------------------------------------------------------- all nodes in one process */

enum { MOST_NODES = 8, DEADLINE_S = 200 };

typedef struct setting {
    const char *name;
    tacit_config config;
} setting;

static const setting settings[] = {
    { "inline", { .threads = TACIT_THREADS_INLINE } },
    { "shared", { .workers = 2, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED } },
    { "thread", { .workers = 2, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_THREAD } },
    { "devices", { .workers = 2, .threads = TACIT_THREADS_INLINE, .host_devices = "2:discrete" } },
    { "checked", { .workers = 2, .threads = TACIT_THREADS_INLINE, .reproducible = 1, .bounds_check = 1 } },
};

typedef struct node {
    const tacit_config *config;
    ti_comm *comm;
    pthread_t thread;
    outcome outcome;
} node;

static void *node_main(void *user)
{
    node *n = user;
    tacit_context *ctx;
    tacit_status status = ti_context_create(n->config, n->comm, &ctx);
    if (holds(&n->outcome, NULL, status)) {
        run_program(ctx, &n->outcome);
    }
    return NULL;
}

enum { RIGHT = 0, STATUS = 10, DID_WITHOUT = 11, WRONG = 12 };

static bool is_known(const char *sentence)
{
    static const char *const known[] = { "no memory", "cannot be started", " ended the job: " };
    for (size_t i = 0; i < TI_COUNT(known); i++) {
        if (strstr(sentence, known[i])) {
            return true;
        }
    }
    return false;
}

/* If one node has an error, all have one, with a sentence. */
static int judge(const node *nodes, int count)
{
    int errors = 0;
    for (int i = 0; i < count; i++) {
        const outcome *o = &nodes[i].outcome;
        errors += o->status != TACIT_OK;
        if (o->wrong || (o->status != TACIT_OK && !is_known(o->sentence))) {
            fprintf(stderr, "node %d: %s: %s%s\n", i, tacit_status_name(o->status), o->sentence,
                    o->wrong ? " (wrong results)" : "");
            return WRONG;
        }
    }
    if (errors != 0 && errors != count) {
        fprintf(stderr, "%d of %d nodes have an error\n", errors, count);
        return WRONG;
    }
    return errors ? STATUS : supply.refused ? DID_WITHOUT : RIGHT;
}

/* The child: the whole run, with memory that runs out at the nth allocation. */
static int run_nodes(const setting *s, int count, long fail_at, bool for_good)
{
    node nodes[MOST_NODES] = { 0 };
    tacit_config config;
    ti_strbuf why = { 0 };
    if (ti_config_resolve(&s->config, &config, &why) != TACIT_OK) {
        return WRONG;
    }
    local_hub *hub = count > 1 ? local_hub_create(count, 1024, 1 << 20, 0) : NULL;
    for (int i = 0; i < count; i++) {
        nodes[i].config = &config;
        nodes[i].comm = hub ? local_comm_create(hub, i) : ti_comm_self_create();
    }
    supply.calls = 0;
    supply.for_good = for_good;
    supply.fail_at = fail_at;
    for (int i = 1; i < count; i++) {
        __real_pthread_create(&nodes[i].thread, NULL, node_main, &nodes[i]);
    }
    node_main(&nodes[0]);
    for (int i = 1; i < count; i++) {
        pthread_join(nodes[i].thread, NULL);
    }
    supply.fail_at = -1;
    if (hub) {
        local_hub_destroy(hub);
    }
    return judge(nodes, count);
}

/* ---------------------------------------------------------------- the parent */

typedef struct tally {
    long right, statuses, did_without, aborts;
} tally;

typedef struct child {
    pid_t id;
    int output; /* what it says */
    char text[4096];
    size_t length;
} child;

static void start(child *c, const setting *s, int nodes, long fail_at, bool for_good)
{
    int ends[2];
    if (pipe(ends) != 0 || (c->id = fork()) < 0) {
        perror("starving");
        exit(EXIT_FAILURE);
    }
    if (c->id == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        exit(run_nodes(s, nodes, fail_at, for_good));
    }
    close(ends[1]);
    c->output = ends[0];
    c->length = 0;
}

/* Its wait status, or -1 if it had to be killed. */
static int finish(child *c)
{
    struct timespec begin, now;
    bool open = true, late = false;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (open && !late) {
        struct pollfd wait = { .fd = c->output, .events = POLLIN };
        if (poll(&wait, 1, 1000) > 0) {
            char skipped[512];
            size_t room = sizeof(c->text) - 1 - c->length;
            ssize_t n = read(c->output, room ? c->text + c->length : skipped, room ? room : sizeof(skipped));
            open = n > 0;
            c->length += room && n > 0 ? (size_t)n : 0;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        late = now.tv_sec - begin.tv_sec > DEADLINE_S;
    }
    c->text[c->length] = '\0';
    close(c->output);
    if (late) {
        kill(c->id, SIGKILL);
    }
    waitpid(c->id, &status, 0);
    return late ? -1 : status;
}

/* Counts how the child ended; false if it may not end like this. */
static bool count(tally *t, const child *c, int status)
{
    if (status != -1 && WIFSIGNALED(status)) {
        bool clean = WTERMSIG(status) == SIGABRT && strncmp(c->text, "tacit", 5) == 0 && is_known(c->text);
        t->aborts += clean;
        return clean;
    }
    int code = status == -1 || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
    t->right += code == RIGHT;
    t->statuses += code == STATUS;
    t->did_without += code == DID_WITHOUT;
    return code == RIGHT || code == STATUS || code == DID_WITHOUT;
}

/* All n, in steps of `stride`, until the program gets through. True if all is well. */
static bool starve(const setting *s, int nodes, bool for_good, long stride, tally *total)
{
    tally t = { 0 };
    long n = 0;
    for (; !t.right; n += stride) {
        static child c;
        start(&c, s, nodes, n, for_good);
        int status = finish(&c);
        if (!count(&t, &c, status)) {
            printf("FAILED: %s, %d nodes, allocation %ld%s: %s, wait status %#x\n%s\n", s->name, nodes, n,
                   for_good ? " and all after it" : "", status == -1 ? "does not end" : "ended badly", (unsigned)status,
                   c.text);
            fflush(stdout);
            return false;
        }
    }
    printf("%s, %d nodes, %s: %ld runs: %ld aborts with a sentence, %ld statuses, %ld did without\n", s->name, nodes,
           for_good ? "from the nth on" : "the nth", (n + stride - 1) / stride, t.aborts, t.statuses, t.did_without);
    fflush(stdout);
    total->aborts += t.aborts;
    total->statuses += t.statuses;
    return true;
}

static bool starve_both(const setting *s, int nodes, long stride, tally totals[2])
{
    bool once = starve(s, nodes, false, stride, &totals[0]), for_good = starve(s, nodes, true, stride, &totals[1]);
    return once && for_good;
}

static const setting *setting_of(const char *name)
{
    for (size_t i = 0; i < TI_COUNT(settings); i++) {
        if (strcmp(settings[i].name, name) == 0) {
            return &settings[i];
        }
    }
    fprintf(stderr, "starving: there is no mode %s\n", name);
    exit(EXIT_FAILURE);
}

/* What takes long takes larger steps, unless every n is asked for. */
static bool starve_all(bool every, tally totals[2])
{
    static const struct {
        const char *mode;
        int nodes, stride;
    } runs[] = { { "inline", 1, 4 },  { "shared", 1, 9 },     { "thread", 1, 9 },
                 { "devices", 1, 7 }, { "checked", 1, 5003 }, { "inline", 2, 13 },
                 { "shared", 2, 31 }, { "inline", 3, 29 },    { "devices", 3, 47 } };
    const int slow = EFFORT(5, 13);
    bool good = true;
    for (size_t i = 0; i < TI_COUNT(runs); i++) {
        good &= starve_both(setting_of(runs[i].mode), runs[i].nodes, every ? 1 : runs[i].stride * slow, totals);
    }
    return good;
}

/* ---------------------------------------------------------------- over MPI */

static int run_over_mpi(long fail_at, int rank, bool for_good)
{
    node n = { 0 };
    tacit_context *ctx;
    const char *launched = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    supply.for_good = for_good;
    supply.fail_at = launched && atoi(launched) == rank ? fail_at : -1;
    if (holds(&n.outcome, NULL, tacit_init(NULL, &ctx))) {
        run_program(ctx, &n.outcome);
    }
    long calls = supply.calls;
    if (n.outcome.status != TACIT_OK) {
        fprintf(stderr, "%s: %s\n", tacit_status_name(n.outcome.status), n.outcome.sentence);
        return STATUS;
    }
    printf("rank %s: %ld allocations\n", launched, calls);
    return n.outcome.wrong ? WRONG : RIGHT;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < N; i++) {
        initial[i] = i;
    }
    if (argc > 3 && strcmp(argv[1], "--mpi") == 0) {
        return run_over_mpi(atol(argv[2]), atoi(argv[3]), argc > 4);
    }
    tally totals[2] = { { 0 } };
    bool every = argc > 1 && strcmp(argv[1], "--every") == 0, good = true;
    if (argc > 2) {
        good = starve_both(setting_of(argv[2]), atoi(argv[1]), argc > 3 ? atol(argv[3]) : 1, totals);
    } else {
        good = starve_all(every, totals);
    }
    /* Where nothing is to be had any more, what comes after a status mostly aborts: few n in thousands end with one. */
    if (argc <= 2 && good &&
        (!totals[0].aborts || !totals[0].statuses || !totals[1].aborts || (every && !totals[1].statuses))) {
        printf("FAILED: aborts and statuses must both happen\n");
        good = false;
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
