/* Programs on OpenCL and CUDA devices: with one, two, four and parts of one, beside host devices or alone, on several
 * nodes, in all modes, they compute what they compute on the host. What cannot run there runs on the host; what cannot
 * run at all is refused; what fails says so.
 *
 * Tasks that have a kernel for devices only show that it is devices that compute. Where there are none, the test says
 * so. With the driver of tests/cuda, devices are CUDA's, else OpenCL's. */
#include "cluster.h"
#include "cuda/stub.h"
#include "device/cuda.h"
#include "device/opencl.h"
#include "effort.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 47, COLUMNS = 31, STEPS = 12, DIGITS = 10 };

static bool there, is_cuda;
static uint64_t memory; /* of device 0 */

/* A list of OpenCL devices, or the same of CUDA devices. Of static memory. */
static const char *list_of(const char *opencl)
{
    static char text[200];
    size_t length = 0;
    if (!is_cuda) {
        return opencl;
    }
    for (const char *c = opencl; *c; c++) {
        bool here = strncmp(c, "opencl", 6) == 0;
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%.*s", here ? "cuda" : "", !here, c);
        c += here ? 5 : 0;
    }
    return text;
}

static tacit_kernel on_devices(const char *text, const char *entry, size_t rows, size_t columns)
{
    return (tacit_kernel){ .opencl = { .source = text, .entry = entry, .group = { rows, columns } },
                           .cuda = { .source = text, .entry = entry, .group = { rows, columns } } };
}

/* ---- a program of all that there is */

typedef struct weights {
    int64_t side, middle;
} weights;

static void start(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            TACIT_AT2(int64_t, k->view[0], i, j) = (int64_t)(i * 1000 + j * j);
        }
    }
}

static void smooth(const tacit_launch *k)
{
    const weights *w = k->args;
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            int64_t sum = w->middle * TACIT_GET2(int64_t, k->view[0], i, j);
            sum += i > 0 ? w->side * TACIT_GET2(int64_t, k->view[0], i - 1, j) : 0;
            sum += i + 1 < ROWS ? w->side * TACIT_GET2(int64_t, k->view[0], i + 1, j) : 0;
            sum += j > 0 ? TACIT_GET2(int64_t, k->view[0], i, j - 1) : 0;
            sum += j + 1 < COLUMNS ? TACIT_GET2(int64_t, k->view[0], i, j + 1) : 0;
            TACIT_AT2(int64_t, k->view[1], i, j) = sum % 1000003;
        }
    }
}

static void row_sums(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        int64_t sum = 0;
        for (size_t j = 0; j < COLUMNS; j++) {
            sum += TACIT_GET2(int64_t, k->view[0], i, j);
        }
        TACIT_AT1(int64_t, k->view[1], i) = sum;
    }
}

/* Two reductions of one task. */
static void add_up(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        const int64_t here = TACIT_GET1(int64_t, k->view[0], i);
        TACIT_AT0(int64_t, k->view[1]) += here;
        TACIT_AT1(int64_t, k->view[2], here % DIGITS)++;
    }
}

/* Of a range of two dimensions. */
static void find_largest(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            const int64_t here = TACIT_GET2(int64_t, k->view[0], i, j), most = TACIT_AT0(int64_t, k->view[1]);
            TACIT_AT0(int64_t, k->view[1]) = here > most ? here : most;
        }
    }
}

/* Neighbours on a torus, in parts. */
static void around(const tacit_launch *k)
{
    const tacit_view u = k->view[0];
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            TACIT_AT2(int64_t, k->view[1], i,
                      j) = TACIT_PART_GET2(int64_t, u, TACIT_WRAP(i - 1, ROWS), TACIT_WRAP(j + 1, COLUMNS)) -
                           2 * TACIT_PART_GET2(int64_t, u, TACIT_WRAP(i + 1, ROWS), TACIT_WRAP(j - 1, COLUMNS));
        }
    }
}

/* Row t is the sum of all rows before it: what a device holds grows. */
static void append(const tacit_launch *k)
{
    const size_t t = *(const size_t *)k->args;
    TACIT_FOR (j, k->chunk, 0) {
        int64_t sum = 0;
        for (size_t s = 0; s < t; s++) {
            sum += TACIT_GET2(int64_t, k->view[0], s, j);
        }
        TACIT_AT2(int64_t, k->view[1], t, j) = sum % 1000003 + (int64_t)t;
    }
}

static const char source[] =
    "struct weights { int64_t side, middle; };\n"
    "TACIT_KERNEL begin(TACIT_VIEW(u), TACIT_CHUNK(c)) {\n"
    "    TACIT_FOR (i, c, 0) TACIT_FOR (j, c, 1) TACIT_AT2(int64_t, u, i, j) = i * 1000 + j * j;\n"
    "}\n"
    "TACIT_KERNEL smooth(TACIT_VIEW(u), TACIT_VIEW(v), TACIT_CHUNK(c), TACIT_VALUE(struct weights, w)) {\n"
    "    TACIT_FOR (i, c, 0) TACIT_FOR (j, c, 1) {\n"
    "        int64_t sum = w.middle * TACIT_GET2(int64_t, u, i, j);\n"
    "        sum += i > 0 ? w.side * TACIT_GET2(int64_t, u, i - 1, j) : 0;\n"
    "        sum += i + 1 < 47 ? w.side * TACIT_GET2(int64_t, u, i + 1, j) : 0;\n"
    "        sum += j > 0 ? TACIT_GET2(int64_t, u, i, j - 1) : 0;\n"
    "        sum += j + 1 < 31 ? TACIT_GET2(int64_t, u, i, j + 1) : 0;\n"
    "        TACIT_AT2(int64_t, v, i, j) = sum % 1000003;\n"
    "    }\n"
    "}\n"
    "TACIT_KERNEL row_sums(TACIT_VIEW(u), TACIT_VIEW(sums), TACIT_CHUNK(c)) {\n"
    "    TACIT_FOR (i, c, 0) {\n"
    "        int64_t sum = 0;\n"
    "        for (size_t j = 0; j < 31; j++) sum += TACIT_GET2(int64_t, u, i, j);\n"
    "        TACIT_AT1(int64_t, sums, i) = sum;\n"
    "    }\n"
    "}\n"
    "TACIT_KERNEL add_up(TACIT_VIEW(sums), TACIT_VIEW(total), TACIT_VIEW(digits), TACIT_CHUNK(c),\n"
    "                    TACIT_SCRATCH(int64_t, s)) {\n"
    "    TACIT_GLOBAL uint64_t *digit = TACIT_RESULT(uint64_t, digits);\n"
    "    int64_t sum = 0;\n"
    "    TACIT_GROUP_EACH (d, 10) digit[d] = 0;\n"
    "    TACIT_BARRIER();\n"
    "    TACIT_EACH (i, c, 0) {\n"
    "        sum += TACIT_GET1(int64_t, sums, i);\n"
    "        TACIT_ADD(&digit[TACIT_GET1(int64_t, sums, i) % 10], 1);\n"
    "    }\n"
    "    TACIT_GROUP_SUM(s, sum);\n"
    "    if (TACIT_GROUP_ID(0) == 0) *TACIT_RESULT(int64_t, total) = s[0];\n"
    "}\n"
    "TACIT_KERNEL find_largest(TACIT_VIEW(u), TACIT_VIEW(largest), TACIT_CHUNK(c)) {\n" /* a group has one item */
    "    int64_t most = -1000;\n"
    "    TACIT_EACH (i, c, 0) TACIT_EACH (j, c, 1)\n"
    "        most = TACIT_GET2(int64_t, u, i, j) > most ? TACIT_GET2(int64_t, u, i, j) : most;\n"
    "    *TACIT_RESULT(int64_t, largest) = most;\n"
    "}\n"
    "TACIT_KERNEL around(TACIT_VIEW(u), TACIT_VIEW(v), TACIT_CHUNK(c)) {\n"
    "    TACIT_FOR (i, c, 0) TACIT_FOR (j, c, 1)\n"
    "        TACIT_AT2(int64_t, v, i, j) = TACIT_GET2(int64_t, u, TACIT_WRAP(i - 1, 47), TACIT_WRAP(j + 1, 31)) -\n"
    "                                      2 * TACIT_GET2(int64_t, u, TACIT_WRAP(i + 1, 47), TACIT_WRAP(j - 1, 31));\n"
    "}\n"
    "TACIT_KERNEL append(TACIT_VIEW(earlier), TACIT_VIEW(row), TACIT_CHUNK(c), TACIT_VALUE(ulong, t)) {\n"
    "    TACIT_FOR (j, c, 0) {\n"
    "        int64_t sum = 0;\n"
    "        for (ulong s = 0; s < t; s++) sum += TACIT_GET2(int64_t, earlier, s, j);\n"
    "        TACIT_AT2(int64_t, row, t, j) = sum % 1000003 + t;\n"
    "    }\n"
    "}\n";

typedef struct outcome {
    int64_t cells[ROWS * COLUMNS], rows[ROWS * COLUMNS], sums[ROWS], total, digits[DIGITS], largest,
        around[ROWS * COLUMNS];
} outcome;

/* What every node needs besides. `only`: tasks have no host kernel where they have another. */
typedef struct program {
    bool only;
    outcome got[3];
} program;

static tacit_buffer *create(tacit_context *ctx, const char *name, tacit_range range)
{
    tacit_buffer *b;
    REQUIRE_OK(ctx, tacit_buffer_create(
                        ctx, &(tacit_buffer_desc){ .name = name, .range = range, .elem_size = sizeof(int64_t) }, &b));
    return b;
}

static tacit_kernel either(const program *p, int number, tacit_host_kernel *host, const char *entry)
{
    /* Every third kernel is for one kind of device only, in turn. */
    tacit_kernel k = on_devices(source, entry, 2, 4); /* drivers compile for each size of a group */
    k.host = host;
    if (number % 3 == 1) {
        k = (tacit_kernel){ .host = host };
    } else if (number % 3 == 2 && p->only) {
        k.host = NULL;
    }
    return k;
}

static void smooth_often(tacit_context *ctx, const program *p, tacit_buffer *const u[2])
{
    const weights w = { 3, 5 };
    for (int s = 0; s < STEPS; s++) {
        const tacit_task t = { .name = "smooth",
                               .range = TACIT_RANGE(ROWS, COLUMNS),
                               .kernel = either(p, s, smooth, "smooth"),
                               TACIT_ARGS(w),
                               .hint = { .split = s < STEPS / 2 ? TACIT_SPLIT_1D : TACIT_SPLIT_2D },
                               .access = { tacit_read(u[s % 2], tacit_star(1, 1, 0)),
                                           tacit_write(u[1 - s % 2], tacit_one_to_one()) } };
        REQUIRE_OK(ctx, tacit_submit(ctx, &t));
    }
}

static void append_rows(tacit_context *ctx, const program *p, tacit_buffer *rows)
{
    for (size_t t = 1; t < ROWS; t++) {
        const tacit_component row = tacit_span(t, t + 1), before = tacit_span(0, t);
        REQUIRE_OK(ctx,
                   tacit_submit(
                       ctx, &(tacit_task){
                                .name = "append",
                                .range = TACIT_RANGE(COLUMNS),
                                .kernel = either(p, t % 2 ? 0 : 2, append, "append"),
                                TACIT_ARGS(t),
                                .access = { tacit_read(rows, tacit_components(before, tacit_dim(0), tacit_full())),
                                            tacit_write(rows, tacit_components(row, tacit_dim(0), tacit_full())) } }));
    }
}

/* Groups of `items`, with as many numbers as they have items. */
static tacit_kernel in_groups(const program *p, tacit_host_kernel *host, const char *entry, size_t items)
{
    tacit_kernel k = either(p, 2, host, entry);
    k.opencl.group[0] = k.cuda.group[0] = items;
    k.opencl.group[1] = k.cuda.group[1] = 1;
    k.opencl.local_bytes = k.cuda.local_bytes = items > 1 ? items * sizeof(int64_t) : 0;
    return k;
}

static void reduce(tacit_context *ctx, const program *p, tacit_buffer *sums, tacit_buffer *cells, outcome *o)
{
    tacit_buffer *total = create(ctx, "total", (tacit_range){ .dims = 0 }),
                 *largest = create(ctx, "largest", (tacit_range){ .dims = 0 }),
                 *digits = create(ctx, "digits", TACIT_RANGE(DIGITS));
    REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "add up",
                                                     .range = TACIT_RANGE(ROWS),
                                                     .kernel = in_groups(p, add_up, "add_up", 3),
                                                     .access = { tacit_read(sums, tacit_one_to_one()),
                                                                 tacit_reduce(total, tacit_sum(TACIT_INT64)),
                                                                 tacit_reduce(digits, tacit_sum(TACIT_INT64)) } }));
    REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "largest",
                                                     .range = TACIT_RANGE(ROWS, COLUMNS),
                                                     .kernel = in_groups(p, find_largest, "find_largest", 1),
                                                     .access = { tacit_read(cells, tacit_one_to_one()),
                                                                 tacit_reduce(largest, tacit_max(TACIT_INT64)) } }));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, total, TACIT_BOX_ALL, &o->total));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, digits, TACIT_BOX_ALL, o->digits));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, largest, TACIT_BOX_ALL, &o->largest));
}

static void run(tacit_context *ctx, void *user)
{
    program *p = user;
    outcome *o = &p->got[tacit_node(ctx)];
    static const int64_t first[ROWS * COLUMNS] = { 1, 2, 3 };
    tacit_buffer *u[2] = { create(ctx, "u", TACIT_RANGE(ROWS, COLUMNS)), create(ctx, "v", TACIT_RANGE(ROWS, COLUMNS)) };
    tacit_buffer *sums = create(ctx, "sums", TACIT_RANGE(ROWS)), *rows;
    REQUIRE_OK(ctx, tacit_buffer_create(ctx,
                                        &(tacit_buffer_desc){ .name = "rows",
                                                              .range = TACIT_RANGE(ROWS, COLUMNS),
                                                              .elem_size = sizeof(int64_t),
                                                              .init = first },
                                        &rows));
    REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "start",
                                                     .range = TACIT_RANGE(ROWS, COLUMNS),
                                                     .kernel = either(p, 2, start, "begin"),
                                                     .access = { tacit_write(u[0], tacit_one_to_one()) } }));
    smooth_often(ctx, p, u);
    append_rows(ctx, p, rows);
    REQUIRE_OK(
        ctx, tacit_submit(ctx, &(tacit_task){ .name = "row sums",
                                              .range = TACIT_RANGE(ROWS),
                                              .kernel = either(p, 2, row_sums, "row_sums"),
                                              .access = { tacit_read(u[0], tacit_components(tacit_dim(0), tacit_full(),
                                                                                            tacit_full())),
                                                          tacit_write(sums, tacit_one_to_one()) } }));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, sums, TACIT_BOX_ALL, o->sums));
    reduce(ctx, p, sums, u[0], o);
    REQUIRE_OK(ctx,
               tacit_submit(ctx, &(tacit_task){ .name = "around",
                                                .range = TACIT_RANGE(ROWS, COLUMNS),
                                                .kernel = either(p, 2, around, "around"),
                                                .access = { tacit_in_parts(tacit_read(u[0], tacit_periodic(1, 1, 0))),
                                                            tacit_write(u[1], tacit_one_to_one()) } }));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, u[1], TACIT_BOX_ALL, o->around));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, u[0], TACIT_BOX_ALL, o->cells));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, rows, TACIT_BOX_ALL, o->rows));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, u[1]));
}

static const char *const devices[] = {
    "opencl:0",
    "opencl:0,opencl:0",
    "opencl:0,opencl:0,opencl:0,opencl:0",
    "host,opencl:0",
    "opencl:0,host:2",
    "opencl:0,opencl:0,host:2:discrete",
    "opencl:0*3,opencl:0",
    "host*2,opencl:0*5,opencl:0",
};

static const tacit_config modes[] = {
    { .threads = TACIT_THREADS_INLINE },
    { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 2 },
    { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_THREAD, .workers = 2 },
};

static void programs_compute_the_same(void **state)
{
    (void)state;
    program *expected = calloc(1, sizeof(*expected)), *p = malloc(sizeof(*p));
    cluster_run(&(cluster){ .nodes = 1, .config = &modes[0], .program = run, .user = expected });
    for (size_t d = 0; d < TI_COUNT(devices) && there; d++) {
        for (int nodes = 1 + (int)d % EFFORT(1, 3); nodes <= 3; nodes += EFFORT(1, 3)) {
            tacit_config config = modes[(d + (size_t)nodes) % TI_COUNT(modes)];
            config.devices = list_of(devices[d]);
            config.watchdog = 10;
            *p = (program){ .only = true };
            cluster_run(&(cluster){ .nodes = nodes, .config = &config, .eager = 64, .program = run, .user = p });
            for (int n = 0; n < nodes; n++) {
                if (memcmp(&p->got[n], &expected->got[0], sizeof(outcome)) != 0) {
                    fail_msg("%s: node %d of %d has got something else", devices[d], n, nodes);
                }
            }
        }
    }
    free(expected);
    free(p);
}

/* ---- what cannot be, and what fails */

static tacit_context *begin(const char *list)
{
    tacit_context *ctx;
    const tacit_config config = { .devices = list };
    REQUIRE_OK(NULL, tacit_init(&config, &ctx));
    return ctx;
}

static void refused(tacit_context *ctx, const tacit_task *t, tacit_status status, const char *says)
{
    assert_int_equal(tacit_submit(ctx, t), status);
    if (!strstr(tacit_last_error(ctx), says)) {
        fail_msg("'%s' does not say '%s'", tacit_last_error(ctx), says);
    }
}

static void no_launch(const tacit_launch *k, const struct tacit_opencl *opencl)
{
    (void)opencl;
    tacit_kernel_fail(k, "it was called");
}

static void no_cuda_launch(const tacit_launch *k, void *stream)
{
    (void)stream;
    tacit_kernel_fail(k, "it was called");
}

/* Blocks are the host's. */
static void reproducible_reductions_are_the_hosts(void **state)
{
    (void)state;
    const tacit_config config = { .devices = list_of("opencl:0"), .reproducible = true };
    tacit_context *ctx;
    if (!there) {
        return;
    }
    REQUIRE_OK(NULL, tacit_init(&config, &ctx));
    tacit_buffer *sums = create(ctx, "sums", TACIT_RANGE(ROWS)), *total = create(ctx, "total", (tacit_range){ 0 });
    refused(ctx,
            &(tacit_task){
                .name = "add up",
                .range = TACIT_RANGE(ROWS),
                .kernel = on_devices(source, "add_up", 3, 0),
                .access = { tacit_read(sums, tacit_one_to_one()), tacit_reduce(total, tacit_sum(TACIT_INT64)) } },
            TACIT_ERROR_UNSUPPORTED, "which reductions need with TACIT_REPRODUCIBLE");
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void what_cannot_run_is_refused(void **state)
{
    (void)state;
    for (int has = 0; has <= there; has++) {
        tacit_context *ctx = begin(has ? list_of("opencl:0") : "host");
        tacit_buffer *u = create(ctx, "u", TACIT_RANGE(ROWS, COLUMNS)),
                     *total = create(ctx, "total", (tacit_range){ .dims = 0 });
        const tacit_task good = { .name = "good",
                                  .range = TACIT_RANGE(ROWS, COLUMNS),
                                  .kernel = on_devices(source, "begin", 0, 0),
                                  .access = { tacit_write(u, tacit_one_to_one()) } };
        tacit_task t = good;
        if (has) {
            assert_int_equal(tacit_submit(ctx, &t), TACIT_OK);
        } else {
            refused(ctx, &t, TACIT_ERROR_UNSUPPORTED,
                    "task 'good' has no host kernel, and TACIT_DEVICES names no device");
        }
        t.on = TACIT_ON_ONE_NODE;
        refused(ctx, &t, TACIT_ERROR_UNSUPPORTED, "host tasks need one");
        t = good;
        t.kernel.host = start;
        t.kernel.opencl.entry = NULL;
        refused(ctx, &t, TACIT_ERROR_ARGUMENT, "has an OpenCL source, but no .entry");
        t.kernel.opencl.source = t.kernel.cuda.entry = NULL;
        refused(ctx, &t, TACIT_ERROR_ARGUMENT, "has a CUDA source, but no .entry");
        t = good;
        t.access[1] = tacit_reduce(total, tacit_sum(TACIT_INT64));
        t.kernel.opencl.launch = no_launch;
        t.kernel.cuda.launch = no_cuda_launch;
        if (has) {
            refused(ctx, &t, TACIT_ERROR_UNSUPPORTED, "which reductions need where .launch");
        }
        assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    }
}

static void kernels_that_fail_end_the_run(void **state)
{
    (void)state;
    static const struct {
        const char *entry, *says;
        size_t group;
    } wrong[] = { { "nothing", "has no kernel 'nothing'", 0 },
                  { "row_sums", "must have 1 TACIT_VIEW", 0 },
                  { "begin", "cannot be started with .group = { 1073741824, 0, 0 }: C", (size_t)1 << 30 } };
    static const char text[] = "TACIT_KERNEL wrong(TACIT_VIEW(u), TACIT_CHUNK(c)) {\n    no_such_thing = 1;\n}\n";
    for (size_t i = 0; i <= TI_COUNT(wrong) && there; i++) {
        const bool compiles = i < TI_COUNT(wrong);
        tacit_context *ctx = begin(list_of("opencl:0,opencl:0"));
        tacit_buffer *u = create(ctx, "u", TACIT_RANGE(ROWS, COLUMNS));
        int64_t out[ROWS * COLUMNS];
        for (int ahead = 0; ahead < 3; ahead++) { /* others are under way */
            REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .range = TACIT_RANGE(ROWS, COLUMNS),
                                                             .kernel = on_devices(source, "begin", 0, 0),
                                                             .access = { tacit_write(u, tacit_one_to_one()) } }));
        }
        tacit_task t = { .name = "bad",
                         .range = TACIT_RANGE(ROWS, COLUMNS),
                         .kernel = on_devices(compiles ? source : text, compiles ? wrong[i].entry : "wrong", 0, 0),
                         .access = { tacit_update(u, tacit_one_to_one()) } };
        t.kernel.opencl.group[0] = t.kernel.cuda.group[0] = compiles ? wrong[i].group : 0;
        (void)tacit_submit(ctx, &t);
        assert_int_equal(tacit_fence_read(ctx, u, TACIT_BOX_ALL, out), TACIT_ERROR_KERNEL);
        const char *says = compiles  ? wrong[i].says
                           : is_cuda ? "task 'bad': its CUDA kernel 'wrong' does not compile: "
                                     : "task 'bad': its OpenCL kernel 'wrong' does not compile: ";
        if (!strstr(tacit_last_error(ctx), says) || !strstr(tacit_last_error(ctx), "task 'bad'")) {
            fail_msg("'%s' does not say '%s'", tacit_last_error(ctx), says);
        }
        assert_int_equal(tacit_finalize(ctx), TACIT_ERROR_KERNEL);
    }
}

/* A group shares little memory, and some drivers end the process if it is too much. */
static void local_memory_ends(void **state)
{
    (void)state;
    static const char text[] = "TACIT_KERNEL tile(TACIT_VIEW(u), TACIT_CHUNK(c), TACIT_SCRATCH(double, s)) {\n}\n";
    static const size_t bytes[] = { 1000, (size_t)1 << 30, (size_t)1 << 32 };
    for (size_t i = 0; i < TI_COUNT(bytes) && there; i++) {
        tacit_context *ctx = begin(list_of("opencl:0"));
        tacit_buffer *u = create(ctx, "u", TACIT_RANGE(ROWS, COLUMNS));
        tacit_task t = { .name = "tiled",
                         .range = TACIT_RANGE(ROWS, COLUMNS),
                         .kernel = on_devices(text, "tile", 0, 0),
                         .access = { tacit_write(u, tacit_one_to_one()) } };
        t.kernel.opencl.local_bytes = t.kernel.cuda.local_bytes = bytes[i];
        (void)tacit_submit(ctx, &t);
        assert_int_equal(tacit_wait(ctx), i ? TACIT_ERROR_KERNEL : TACIT_OK);
        if (i && !strstr(tacit_last_error(ctx), "task 'tiled': .local_bytes of its ")) {
            fail_msg("'%s' does not name .local_bytes", tacit_last_error(ctx));
        }
        (void)tacit_finalize(ctx);
    }
}

/* More than the device has is refused when it is planned, and the run ends. */
static void memory_of_a_device_ends(void **state)
{
    (void)state;
    const size_t items = (size_t)memory / 8 + 1;
    const tacit_config config = { .devices = list_of("opencl:0"), .memory_limit = "64T" };
    tacit_context *ctx;
    tacit_buffer *u;
    if (!there) {
        return;
    }
    REQUIRE_OK(NULL, tacit_init(&config, &ctx));
    REQUIRE_OK(ctx, tacit_buffer_create(
                        ctx, &(tacit_buffer_desc){ .name = "large", .range = TACIT_RANGE(items), .elem_size = 8 }, &u));
    REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "fill",
                                                     .range = TACIT_RANGE(items),
                                                     .kernel = on_devices(source, "begin", 0, 0),
                                                     .access = { tacit_write(u, tacit_one_to_one()) } }));
    assert_int_equal(tacit_wait(ctx), TACIT_ERROR_MEMORY);
    assert_non_null(strstr(tacit_last_error(ctx), "task 'fill' writes all of buffer 'large'"));
    char limit[240];
    snprintf(limit, sizeof(limit), "(device %s; TACIT_DEVICE_MEMORY)", list_of("opencl:0"));
    assert_non_null(strstr(tacit_last_error(ctx), limit));
    assert_int_equal(tacit_finalize(ctx), TACIT_ERROR_MEMORY);
}

static void devices_that_are_not_there(void **state)
{
    (void)state;
    const tacit_config config = { .devices = list_of("opencl:77") };
    tacit_context *ctx;
    assert_int_equal(tacit_init(&config, &ctx), TACIT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(tacit_last_error(NULL), is_cuda ? "CUDA" : "OpenCL"));
    /* A plan can be made for them. */
    const tacit_config dry = { .devices = list_of("opencl:77,opencl:78"), .dry_run = "4" };
    REQUIRE_OK(NULL, tacit_init(&dry, &ctx));
    program *p = calloc(1, sizeof(*p));
    p->only = true;
    run(ctx, p);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    free(p);
}

/* ---- kernels that are functions */

#if __has_include(<CL/cl.h>)
#include "tacit/opencl.h"

enum { ITEMS = 200 };

/* Moves what the task reads by OpenCL's own call, in tacit's queue. */
static void move(const tacit_launch *k, const struct tacit_opencl *opencl)
{
    __typeof__(&clEnqueueCopyBuffer) copy;
    void *found = dlsym(dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), "clEnqueueCopyBuffer");
    memcpy(&copy, &found, sizeof(found));
    const tacit_view in = k->view[0], out = k->view[1];
    const bool *fails = k->args;
    const size_t from = opencl->offset[0] + (k->chunk.min[0] - in.box.min[0]) * sizeof(int64_t);
    const size_t to = opencl->offset[1] + (k->chunk.min[0] - out.box.min[0]) * sizeof(int64_t);
    cl_int code = copy(opencl->queue, opencl->memory[0], *fails ? NULL : opencl->memory[1], from, to,
                       (k->chunk.max[0] - k->chunk.min[0]) * sizeof(int64_t), 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        tacit_kernel_fail(k, "its copy is not accepted (%d)", code);
    }
}

static void functions_fill_the_queue(void **state)
{
    (void)state;
    for (int fails = 0; fails <= 1 && there && !is_cuda; fails++) {
        tacit_context *ctx = begin("opencl:0,opencl:0");
        int64_t first[ITEMS], got[ITEMS] = { 0 };
        const bool last_fails = fails;
        tacit_buffer *u[2] = { NULL, create(ctx, "v", TACIT_RANGE(ITEMS)) };
        for (int i = 0; i < ITEMS; i++) {
            first[i] = i * 7 - 3;
        }
        REQUIRE_OK(ctx, tacit_buffer_create(
                            ctx,
                            &(tacit_buffer_desc){
                                .name = "u", .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int64_t), .init = first },
                            &u[0]));
        for (int t = 0; t < 3; t++) {
            const bool now = last_fails && t == 2;
            tacit_task task = { .name = "move",
                                .range = TACIT_RANGE(ITEMS),
                                .kernel = { .opencl = { .launch = move } },
                                TACIT_ARGS(now),
                                .access = { tacit_read(u[t % 2], tacit_neighborhood(2, 0, 0)),
                                            tacit_write(u[1 - t % 2], tacit_one_to_one()) } };
            (void)tacit_submit(ctx, &task);
        }
        assert_int_equal(tacit_fence_read(ctx, u[1], TACIT_BOX_ALL, got), fails ? TACIT_ERROR_KERNEL : TACIT_OK);
        if (fails) {
            assert_non_null(strstr(tacit_last_error(ctx), "its copy is not accepted"));
        } else {
            assert_memory_equal(got, first, sizeof(got));
        }
        assert_int_equal(tacit_finalize(ctx), fails ? TACIT_ERROR_KERNEL : TACIT_OK);
    }
}
#else
static void functions_fill_the_queue(void **state)
{
    (void)state;
    puts("there are no headers of OpenCL here");
}
#endif

int main(void)
{
    ti_opencl_fact fact;
    ti_cuda_fact gpu;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_compute_the_same),     cmocka_unit_test(what_cannot_run_is_refused),
        cmocka_unit_test(kernels_that_fail_end_the_run), cmocka_unit_test(local_memory_ends),
        cmocka_unit_test(memory_of_a_device_ends),       cmocka_unit_test(devices_that_are_not_there),
        cmocka_unit_test(functions_fill_the_queue),      cmocka_unit_test(reproducible_reductions_are_the_hosts),
    };
    is_cuda = cuda_devices() > 0;
    there = is_cuda ? ti_cuda_fact_of(0, &gpu) : ti_opencl_is_built() && ti_opencl_fact_of(0, &fact);
    memory = !there ? 0 : is_cuda ? gpu.memory : fact.memory;
    if (!there) {
        puts("there are no devices here: programs run on the host only");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
