/* What tacit asks of CUDA's driver, and what becomes of errors there: by the driver of tests/cuda, without a GPU.
 *
 * Whatever call fails, once or from then on, the run ends with a status and a sentence, and nothing is left behind. */
#include "cluster.h"
#include "cuda/stub.h"
#include "device/cuda.h"
#include "device/cuda/driver.h"
#include "grid/layout.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { ITEMS = 64, STEPS = 3, LAUNCH_FAILED = 719 };

static const stub_control *stub;

/* The clock of tacit and of the driver: the machine's, or one that goes on when it is asked, whoever else works. */
static _Atomic long asked; /* 0: the machine's */

int clock_gettime(clockid_t clock, struct timespec *out)
{
    enum { STEP_NS = 10 * 1000 };
    if (atomic_load(&asked) == 0) {
        return (int)syscall(SYS_clock_gettime, clock, out);
    }
    long ns = STEP_NS * atomic_fetch_add(&asked, 1);
    *out = (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
    return 0;
}

/* Whether there are files of a driver on this machine. */
static _Atomic bool has_files;

int access(const char *path, int mode)
{
    return strcmp(path, "/dev/nvidiactl") == 0 && atomic_load(&has_files) ? 0 : (int)syscall(SYS_access, path, mode);
}

/* ---- a program whose kernels are functions, or text */

static void start(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int64_t, k->view[0], i) = (int64_t)i;
    }
}

/* Moves what the task reads by the driver's own call, in tacit's stream. */
static void shift(const tacit_launch *k, void *stream)
{
    ti_cu_result (*copy)(ti_cu_address, ti_cu_address, size_t, ti_cu_stream);
    void *found = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "cuMemcpyDtoDAsync_v2");
    memcpy(&copy, &found, sizeof(found));
    const tacit_view in = k->view[0], out = k->view[1];
    const char *from = (const char *)in.data + (k->chunk.min[0] - in.box.min[0]) * sizeof(int64_t);
    char *to = (char *)out.data + (k->chunk.min[0] - out.box.min[0]) * sizeof(int64_t);
    ti_cu_result code = copy((ti_cu_address)(uintptr_t)to, (ti_cu_address)(uintptr_t)from,
                             (k->chunk.max[0] - k->chunk.min[0]) * sizeof(int64_t), stream);
    if (code != TI_CU_SUCCESS) {
        tacit_kernel_fail(k, "its copy is not accepted (%d)", code);
    }
}

static const char copy_source[] = "TACIT_KERNEL same(TACIT_VIEW(x), TACIT_VIEW(y), TACIT_CHUNK(c)) {\n"
                                  "    TACIT_FOR (i, c, 0) TACIT_AT1(int64_t, y, i) = TACIT_GET1(int64_t, x, i);\n"
                                  "}\n";

typedef struct outcome {
    tacit_status status, end;
    char text[512];
    int64_t got[ITEMS];
} outcome;

/* Each item of a step reads its neighbours of the step before, or everything. */
static tacit_status submit_steps(tacit_context *ctx, bool is_text, tacit_buffer *const u[2], int steps, bool all)
{
    const tacit_kernel kernel = is_text ? (tacit_kernel){ .cuda = { .source = copy_source, .entry = "same" } }
                                        : (tacit_kernel){ .cuda = { .launch = shift } };
    tacit_status status = tacit_submit(ctx, &(tacit_task){ .name = "start",
                                                           .range = TACIT_RANGE(ITEMS),
                                                           .kernel = { .host = start },
                                                           .access = { tacit_write(u[0], tacit_one_to_one()) } });
    for (int s = 0; s < steps && status == TACIT_OK; s++) {
        status = tacit_submit(
            ctx, &(tacit_task){ .name = "same",
                                .range = TACIT_RANGE(ITEMS),
                                .kernel = kernel,
                                .access = { tacit_read(u[s % 2], all ? tacit_all() : tacit_neighborhood(1, 0, 0)),
                                            tacit_write(u[1 - s % 2], tacit_one_to_one()) } });
    }
    return status;
}

static tacit_status submit_all(tacit_context *ctx, bool is_text, tacit_buffer *const u[2])
{
    return submit_steps(ctx, is_text, u, STEPS, false);
}

static void run(const char *devices, bool is_text, outcome *out)
{
    const tacit_config config = { .devices = devices, .threads = TACIT_THREADS_INLINE, .watchdog = 20 };
    tacit_context *ctx = NULL;
    tacit_buffer *u[2];
    *out = (outcome){ .end = TACIT_OK };
    out->status = tacit_init(&config, &ctx);
    for (int i = 0; i < 2 && out->status == TACIT_OK; i++) {
        out->status = tacit_buffer_create(
            ctx, &(tacit_buffer_desc){ .name = "u", .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int64_t) }, &u[i]);
    }
    out->status = out->status ? out->status : submit_all(ctx, is_text, u);
    out->status = out->status ? out->status : tacit_fence_read(ctx, u[STEPS % 2], TACIT_BOX_ALL, out->got);
    snprintf(out->text, sizeof(out->text), "%s", tacit_last_error(ctx));
    if (ctx) {
        out->end = tacit_finalize(ctx);
    }
}

static void check_result(const outcome *o)
{
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(o->got[i], i);
    }
}

/* ---- errors */

static void fail_once(const char *devices, const char *function, long nth, int code, bool sticky, bool is_text)
{
    outcome o;
    stub->reset((uint64_t)nth);
    stub->disturb(function, nth, code, sticky);
    run(devices, is_text, &o);
    stub->reset(1);
    if (stub->live() != 0) {
        fail_msg("call %ld of %s (%d%s): %ld objects are left", nth, function, code, sticky ? ", sticky" : "",
                 stub->live());
    }
    if (o.status == TACIT_OK) {
        check_result(&o); /* it was a call that the result does not need */
        return;
    }
    const char *says = code == TI_CU_ERROR_OUT_OF_MEMORY ? "OUT_OF_MEMORY" : "LAUNCH_FAILED";
    bool is_own = strstr(o.text, "no memory for") || strstr(o.text, "is not accepted") ||
                  strstr(o.text, "must have 2 TACIT_VIEW") || strstr(o.text, "there are 0 CUDA devices");
    if (!strstr(o.text, says) && !is_own) {
        fail_msg("call %ld of %s (%d): '%s'", nth, function, code, o.text);
    }
}

#define NAME(member, symbol, parameters) #symbol,
static const char *const functions[] = { TI_CUDA_FUNCTIONS(NAME) TI_CUDA_NEW_FUNCTIONS(NAME) };

static bool is_of_kernels(const char *function)
{
    return strncmp(function, "cuModule", 8) == 0 || strncmp(function, "cuFunc", 6) == 0 ||
           strcmp(function, "cuLaunchKernel") == 0;
}

static void every_call_may_fail(void **state)
{
    (void)state;
    for (size_t f = 0; f < TI_COUNT(functions); f++) {
        const bool is_text = is_of_kernels(functions[f]);
        for (long nth = 1; nth <= (is_text ? 1 : 12); nth += 1 + nth / 2) {
            fail_once("cuda:0,cuda:1", functions[f], nth, TI_CU_ERROR_OUT_OF_MEMORY, false, is_text);
            fail_once("cuda:0,cuda:1,host", functions[f], nth, LAUNCH_FAILED, true, is_text);
        }
    }
}

/* That some of these runs have ended badly, and a good one well. */
static void what_matters_is_noticed(void **state)
{
    (void)state;
    static const struct {
        const char *function;
        int code;
        tacit_status status;
        const char *says;
    } row[] = {
        { "cuInit", LAUNCH_FAILED, TACIT_ERROR_UNSUPPORTED, "CUDA's driver cannot be used (CUDA_ERROR_LAUNCH_FAILED)" },
        { "cuDevicePrimaryCtxRetain", LAUNCH_FAILED, TACIT_ERROR_UNSUPPORTED, "the CUDA devices of TACIT_DEVICES" },
        { "cuStreamCreate", LAUNCH_FAILED, TACIT_ERROR_UNSUPPORTED, "device cuda:0 of TACIT_DEVICES cannot be used" },
        { "cuMemAlloc_v2", TI_CU_ERROR_OUT_OF_MEMORY, TACIT_ERROR_MEMORY, "of buffer 'u'" },
        { "cuMemHostAlloc", TI_CU_ERROR_OUT_OF_MEMORY, TACIT_ERROR_MEMORY, "a copy on device cuda:" },
        { "cuStreamQuery", LAUNCH_FAILED, TACIT_ERROR_KERNEL, "has failed: CUDA_ERROR_LAUNCH_FAILED" },
        { "cuEventQuery", LAUNCH_FAILED, TACIT_ERROR_KERNEL, "has failed: CUDA_ERROR_LAUNCH_FAILED" },
        { "cuEventRecord", LAUNCH_FAILED, TACIT_ERROR_KERNEL, "cannot be started: CUDA_ERROR_LAUNCH_FAILED" },
        { "cuStreamWaitEvent", LAUNCH_FAILED, TACIT_ERROR_KERNEL, "cannot be started: CUDA_ERROR_LAUNCH_FAILED" },
        { "cuMemcpyDtoDAsync_v2", LAUNCH_FAILED, TACIT_ERROR_KERNEL, "its copy is not accepted (719)" },
        { "none", LAUNCH_FAILED, TACIT_OK, "" },
    };
    for (size_t i = 0; i < TI_COUNT(row); i++) {
        outcome o;
        stub->reset(i);
        stub->disturb(row[i].function, 1, row[i].code, false);
        run("cuda:0,cuda:1", false, &o);
        if (o.status != row[i].status || !strstr(o.text, row[i].says)) {
            fail_msg("%s: %d, '%s'", row[i].function, o.status, o.text);
        }
        stub->reset(1);
        assert_int_equal(stub->live(), 0);
    }
}

/* Without a setting, where there are GPUs: all of them, but where kernels of the host are to be checked, or nothing
 * runs at all. */
static void gpus_are_the_default(void **state)
{
    static const tacit_config config[] = {
        { .workers = 1 }, { .workers = 1, .bounds_check = 1 }, { .workers = 1, .check_pure = 1 }, { .dry_run = "2" }
    };
    (void)state;
    for (int files = 0; files < 2; files++) {
        for (size_t i = 0; i < TI_COUNT(config); i++) {
            tacit_context *ctx;
            atomic_store(&has_files, files);
            stub->reset(3);
            assert_int_equal(tacit_init(&config[i], &ctx), TACIT_OK);
            assert_int_equal(ti_runtime_system(ctx->runtime)->accelerators, files && i == 0 ? cuda_devices() : 0);
            assert_int_equal(tacit_finalize(ctx), TACIT_OK);
        }
    }
    outcome o;
    run(NULL, true, &o);
    check_result(&o);
    atomic_store(&has_files, false);
    stub->reset(1);
    assert_int_equal(stub->live(), 0);
}

/* ---- errors on one of two nodes, which wait for each other's messages */

typedef struct member {
    pthread_t thread;
    local_hub *hub;
    int node;
    bool is_text;
    outcome o;
} member;

static void *run_member(void *user)
{
    static const char *const devices[] = { "cuda:0,cuda:1", "cuda:2,cuda:3,host" };
    member *m = user;
    const tacit_config given = { .devices = devices[m->node], .workers = 1, .watchdog = 20 };
    tacit_config config = cluster_config(&given);
    tacit_context *ctx = NULL;
    tacit_buffer *u[2];
    m->o = (outcome){ .status = ti_context_create(&config, local_comm_create(m->hub, m->node), &ctx) };
    for (int i = 0; i < 2 && m->o.status == TACIT_OK; i++) {
        const tacit_buffer_desc desc = { .name = "u", .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int64_t) };
        m->o.status = tacit_buffer_create(ctx, &desc, &u[i]);
    }
    m->o.status = m->o.status ? m->o.status : submit_all(ctx, m->is_text, u);
    m->o.status = m->o.status ? m->o.status : tacit_fence_read(ctx, u[STEPS % 2], TACIT_BOX_ALL, m->o.got);
    m->o.status = m->o.status ? m->o.status : tacit_barrier(ctx);
    snprintf(m->o.text, sizeof(m->o.text), "%s", tacit_last_error(ctx));
    if (ctx) {
        m->o.end = tacit_finalize(ctx);
    }
    return NULL;
}

static void fail_on_two(const char *function, long nth, int code, bool sticky, bool is_text)
{
    member m[2];
    stub->reset((uint64_t)nth);
    stub->disturb(function, nth, code, sticky);
    local_hub *hub = local_hub_create(2, 64, 1 << 20, 0);
    local_hub_set_threaded(hub);
    for (int i = 0; i < 2; i++) {
        m[i] = (member){ .hub = hub, .node = i, .is_text = is_text };
        REQUIRE(pthread_create(&m[i].thread, NULL, run_member, &m[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_join(m[i].thread, NULL) == 0);
    }
    local_hub_destroy(hub);
    stub->reset(1);
    if (stub->live() != 0 || (m[0].o.status == TACIT_OK) != (m[1].o.status == TACIT_OK)) {
        fail_msg("call %ld of %s (%d%s): %ld objects are left; %d '%s', %d '%s'", nth, function, code,
                 sticky ? ", sticky" : "", stub->live(), m[0].o.status, m[0].o.text, m[1].o.status, m[1].o.text);
    }
    for (int i = 0; i < 2; i++) {
        if (m[i].o.status == TACIT_OK) {
            check_result(&m[i].o);
        } else {
            assert_true(strlen(m[i].o.text) > 0);
        }
    }
}

static void both_nodes_end(void **state)
{
    (void)state;
    for (size_t f = 0; f < TI_COUNT(functions); f++) {
        const bool is_text = is_of_kernels(functions[f]);
        for (long nth = 1; nth <= (is_text ? 2 : 9); nth += 1 + nth) {
            fail_on_two(functions[f], nth, TI_CU_ERROR_OUT_OF_MEMORY, false, is_text);
            fail_on_two(functions[f], nth, LAUNCH_FAILED, true, is_text);
        }
    }
}

/* ---- messages of the memory of devices (TACIT_DEVICE_MPI) */

typedef struct talker {
    pthread_t thread;
    local_hub *hub;
    int node, steps, device_mpi;
    bool all;
    const char *devices[2];
} talker;

static void *run_talker(void *user)
{
    const talker *t = user;
    const tacit_config given = {
        .devices = t->devices[t->node], .workers = 1, .device_mpi = t->device_mpi, .nccl = TACIT_NCCL_OFF
    };
    tacit_config config = cluster_config(&given);
    tacit_context *ctx;
    tacit_buffer *u[2];
    int64_t got[ITEMS];
    REQUIRE(ti_context_create(&config, local_comm_create(t->hub, t->node), &ctx) == TACIT_OK);
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = { .name = "u", .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int64_t) };
        REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &u[i]));
    }
    REQUIRE_OK(ctx, submit_steps(ctx, false, u, t->steps, t->all));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, u[t->steps % 2], TACIT_BOX_ALL, got));
    REQUIRE_OK(ctx, tacit_finalize(ctx));
    for (int i = 0; i < ITEMS; i++) {
        REQUIRE(got[i] == i);
    }
    return NULL;
}

/* Copies between the host and devices of both nodes. */
static long copies_of(bool all, int steps, int device_mpi, const char *first, const char *second)
{
    talker t[2];
    stub->reset(9);
    local_hub *hub = local_hub_create(2, 64, 1 << 20, 0);
    local_hub_set_threaded(hub);
    for (int i = 0; i < 2; i++) {
        t[i] = (talker){
            .hub = hub, .node = i, .steps = steps, .device_mpi = device_mpi, .all = all, .devices = { first, second }
        };
        REQUIRE(pthread_create(&t[i].thread, NULL, run_talker, &t[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_join(t[i].thread, NULL) == 0);
    }
    local_hub_destroy(hub);
    const long copies = stub->crossings();
    stub->reset(1);
    assert_int_equal(stub->live(), 0);
    return copies;
}

/* Of 8 steps, in a program that has some more. */
static long copies_of_steps(bool all, int device_mpi, const char *first, const char *second)
{
    return copies_of(all, 20, device_mpi, first, second) - copies_of(all, 12, device_mpi, first, second);
}

static void messages_pass_the_host_by(void **state)
{
    (void)state;
    const int on = TACIT_DEVICE_MPI_ON, off = TACIT_DEVICE_MPI_OFF, by_itself = TACIT_DEVICE_MPI_AUTO;
    assert_int_equal(copies_of_steps(false, on, "cuda:0", "cuda:1"), 0);
    assert_int_equal(copies_of_steps(false, off, "cuda:0", "cuda:1"), 8 * 2 * 2); /* there and back, on two nodes */
    /* This network does not say so. */
    assert_int_equal(copies_of(false, 20, by_itself, "cuda:0", "cuda:1"),
                     copies_of(false, 20, off, "cuda:0", "cuda:1"));
    /* With two devices messages leave from one of them, and arrive at the host. */
    assert_int_equal(copies_of_steps(false, on, "cuda:0,cuda:1", "cuda:2,cuda:3"), 8 * 2);
}

/* A step's all-gather, in place. What comes to a host for two devices is there for both. */
static void collectives_pass_the_host_by(void **state)
{
    (void)state;
    const int on = TACIT_DEVICE_MPI_ON, off = TACIT_DEVICE_MPI_OFF;
    assert_int_equal(copies_of_steps(true, on, "cuda:0", "cuda:1"), 0);
    assert_int_equal(copies_of_steps(true, off, "cuda:0", "cuda:1"), 8 * 2 * 2);
    assert_int_equal(copies_of_steps(true, on, "cuda:0,cuda:1", "cuda:2,cuda:3"),
                     copies_of_steps(true, off, "cuda:0,cuda:1", "cuda:2,cuda:3"));
}

/* ---- devices of which one is slow (TACIT_BALANCE) */

enum { BALANCED_STEPS = 20 };

static size_t first_chunk[BALANCED_STEPS]; /* items of device 0 */

static void shift_and_note(const tacit_launch *k, void *stream)
{
    const int *step = k->args;
    if (k->chunk.min[0] == 0) {
        first_chunk[*step] = k->chunk.max[0];
    }
    shift(k, stream);
}

static void run_balanced(const char *setting, const char *devices, char *said, size_t room)
{
    const tacit_config config = { .devices = devices, .balance = setting, .threads = TACIT_THREADS_INLINE };
    tacit_context *ctx;
    tacit_buffer *u[2];
    int64_t got[ITEMS];
    assert_int_equal(tacit_init(&config, &ctx), TACIT_OK);
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = { .name = "u", .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int64_t) };
        REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &u[i]));
    }
    REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "start",
                                                     .range = TACIT_RANGE(ITEMS),
                                                     .kernel = { .host = start },
                                                     .access = { tacit_write(u[0], tacit_one_to_one()) } }));
    for (int s = 0; s < BALANCED_STEPS; s++) {
        REQUIRE_OK(ctx,
                   tacit_submit(ctx, &(tacit_task){ .name = "same",
                                                    .range = TACIT_RANGE(ITEMS),
                                                    .kernel = { .cuda = { .launch = shift_and_note } },
                                                    TACIT_ARGS(s),
                                                    .access = { tacit_read(u[s % 2], tacit_one_to_one()),
                                                                tacit_write(u[1 - s % 2], tacit_one_to_one()) } }));
        REQUIRE_OK(ctx, tacit_wait(ctx));
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, u[BALANCED_STEPS % 2], TACIT_BOX_ALL, got));
    snprintf(said, room, "%s", ti_strbuf_text(&ti_runtime_balance(ctx->runtime)->said));
    REQUIRE_OK(ctx, tacit_finalize(ctx));
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(got[i], i);
    }
}

/* Kernels of the first device take ten times as long. The first choice comes after 16 tasks, with "start". */
static void slow_devices_get_less(void **state)
{
    (void)state;
    size_t measured[BALANCED_STEPS];
    char said[200], again[200];
    stub->reset(3);
    stub->slow(0, 5000000);
    stub->slow(1, 500000);
    atomic_store(&asked, 1);
    run_balanced("auto", "cuda:0,cuda:1", said, sizeof(said));
    atomic_store(&asked, 0);
    for (int s = 0; s < BALANCED_STEPS; s++) {
        assert_true(s < 15 ? first_chunk[s] == ITEMS / 2 : first_chunk[s] < ITEMS / 4);
    }
    assert_memory_equal(said, "16:1000=", 8);
    memcpy(measured, first_chunk, sizeof(measured));
    stub->reset(4);
    run_balanced(said, "cuda:0,cuda:1", again, sizeof(again));
    assert_string_equal(said, again);
    assert_memory_equal(measured, first_chunk, sizeof(measured));
    run_balanced("1=3+1", "cuda:0,cuda:1*9", again, sizeof(again));
    assert_int_equal(first_chunk[0], ITEMS * 3 / 4);
    assert_int_equal(stub->live(), 0);
}

/* ---- without a list */

static bool was_called(const char *expected)
{
    for (long i = 0; i < stub->calls(); i++) {
        if (strcmp(stub->call(i), expected) == 0) {
            return true;
        }
    }
    return false;
}

/* All GPUs that there are, or none. */
static void all_gpus_are_found(void **state)
{
    (void)state;
    outcome o;
    stub->reset(1);
    run("auto", true, &o);
    assert_string_equal(o.text, "");
    assert_int_equal(o.status, TACIT_OK);
    check_result(&o);
    for (int d = 0; d < STUB_DEVICES; d++) {
        char call[STUB_CALL_TEXT];
        snprintf(call, sizeof(call), "cuDevicePrimaryCtxRetain %d", d);
        assert_true(was_called(call));
    }
    stub->reset(1);
    stub->disturb("cuDeviceGetCount", 1, LAUNCH_FAILED, false); /* and so there is no first one */
    run("auto", true, &o);
    assert_true(o.status != TACIT_OK); /* the program has no kernels for the host */
    assert_false(was_called("cuDevicePrimaryCtxRetain 0"));
    stub->reset(1);
    assert_int_equal(stub->live(), 0);
}

/* ---- calls, in order */

/* The calls since reset, but for those that come any number of times. */
static void expect_calls(const char *const *expected)
{
    for (long i = 0; i < stub->calls(); i++) {
        const char *call = stub->call(i);
        if (strncmp(call, "cuCtx", 5) == 0 || strncmp(call, "cuEvent", 7) == 0 || strcmp(call, "cuStreamQuery") == 0) {
            continue;
        }
        if (!*expected || strcmp(call, *expected) != 0) {
            fail_msg("call %ld is %s, not %s", i, call, *expected ? *expected : "none");
        }
        expected++;
    }
    assert_null(*expected);
}

static void await(ti_device *device, uint64_t token)
{
    uint64_t got = 0;
    while (device->ops->poll(device, &got, 1) == 0) {
    }
    assert_int_equal(got, token);
}

static void drop(ti_device *device[2], char *x, char *y, char *home)
{
    device[0]->ops->free(device[0], x, 4096);
    device[1]->ops->free(device[1], y, 4096);
    free(home);
    for (int d = 0; d < 2; d++) {
        device[d]->ops->destroy(device[d]);
    }
}

static void calls_are_few(void **state)
{
    (void)state;
    ti_failure failure = { .lot = NULL };
    ti_strbuf why = { 0 };
    ti_device *device[2];
    void *x, *y;
    stub->reset(5);
    assert_true(ti_cuda_create((int[]){ 0, 2 }, 2, "off", &failure, device, &why));
    assert_int_equal(device[0]->ops->alloc(device[0], 4096, &x), TACIT_OK);
    assert_int_equal(device[1]->ops->alloc(device[1], 4096, &y), TACIT_OK);
    char *home = calloc(1, 3 << 20);
    const ti_box cube = { { 0, 0, 0 }, { 8, 8, 8 } }, inner = { { 1, 2, 3 }, { 4, 6, 8 } };
    ti_block host = ti_layout_block(home, &cube, &inner, 8), here = ti_layout_block(x, &cube, &inner, 8),
             there = ti_layout_block(y, &cube, &inner, 8);
    stub->reset(5);
    device[0]->ops->copy(device[0], 0, &here, &host, 1);
    await(device[0], 1);
    device[1]->ops->copy(device[1], 0, &there, &here, 2);
    await(device[1], 2);
    device[1]->ops->copy(device[1], 0, &host, &there, 3);
    await(device[1], 3);
    expect_calls((const char *const[]){ "cuMemHostAlloc 1048576 1", "cuMemcpy3DAsync_v2 40 4 3",
                                        "cuMemcpy3DPeerAsync 40 4 3", "cuMemHostAlloc 1048576 1",
                                        "cuMemcpy3DAsync_v2 40 4 3", NULL });
    drop(device, x, y, home);
    assert_int_equal(stub->live(), 0);
}

/* 2.5 MiB there and back: three pieces each way. */
static void large_copies_go_in_pieces(void **state)
{
    (void)state;
    enum { BYTES = 5 << 19, MIB = 1 << 20 };
    ti_failure failure = { .lot = NULL };
    ti_strbuf why = { 0 };
    ti_device *device;
    void *x;
    assert_true(ti_cuda_create((int[]){ 1 }, 1, "off", &failure, &device, &why));
    assert_int_equal(device->ops->alloc(device, BYTES, &x), TACIT_OK);
    char *home = malloc(BYTES), *back = calloc(1, BYTES);
    for (int i = 0; i < BYTES; i++) {
        home[i] = (char)(i * 31 + i / 4099);
    }
    const ti_block at = { x, BYTES, { 1, 1 }, { BYTES, BYTES } }, from = { home, BYTES, { 1, 1 }, { BYTES, BYTES } },
                   to = { back, BYTES, { 1, 1 }, { BYTES, BYTES } };
    stub->reset(7);
    device->ops->copy(device, 0, &at, &from, 1);
    await(device, 1);
    device->ops->copy(device, 0, &to, &at, 2);
    await(device, 2);
    assert_memory_equal(home, back, BYTES);
    expect_calls((const char *const[]){
        "cuMemHostAlloc 1048576 1", "cuMemcpyHtoDAsync_v2 1048576", "cuMemHostAlloc 1048576 1",
        "cuMemcpyHtoDAsync_v2 1048576", "cuMemHostAlloc 1048576 1", "cuMemcpyHtoDAsync_v2 524288",
        "cuMemHostAlloc 1048576 1", "cuMemcpyDtoHAsync_v2 1048576", "cuMemHostAlloc 1048576 1",
        "cuMemcpyDtoHAsync_v2 1048576", "cuMemHostAlloc 1048576 1", "cuMemcpyDtoHAsync_v2 524288", NULL });
    device->ops->free(device, x, BYTES);
    device->ops->destroy(device);
    free(home);
    free(back);
    assert_int_equal(stub->live(), 0);
}

/* The same copies of memory that is pinned: one call each way. If pinning is not granted, they go in pieces. */
static void pinned_memory_is_copied_at_once(void **state)
{
    enum { BYTES = 5 << 19 };
    (void)state;
    for (int fails = 0; fails <= 1; fails++) {
        ti_failure failure = { .lot = NULL };
        ti_strbuf why = { 0 };
        ti_device *device;
        void *x;
        char *home = calloc(1, BYTES);
        assert_true(ti_cuda_create((int[]){ 1 }, 1, "off", &failure, &device, &why));
        assert_int_equal(device->ops->alloc(device, BYTES, &x), TACIT_OK);
        const ti_block at = { x, BYTES, { 1, 1 }, { BYTES, BYTES } },
                       from = { home, BYTES, { 1, 1 }, { BYTES, BYTES } }, row = { home + 4, 4, { 1, 3 }, { 0, 16 } },
                       there = { x, 4, { 1, 3 }, { 0, 4 } };
        const ti_pinner pinner = ti_cuda_pinner(device, true);
        stub->reset(7);
        stub->disturb("cuMemHostRegister_v2", fails, TI_CU_ERROR_OUT_OF_MEMORY, false);
        pinner.pin(pinner.user, home, BYTES);
        device->ops->copy(device, 0, &at, &from, 1);
        await(device, 1);
        device->ops->copy(device, 0, &row, &there, 2);
        await(device, 2);
        if (!fails) {
            expect_calls((const char *const[]){ "cuMemHostRegister_v2 2621440 1", "cuMemcpyHtoDAsync_v2 2621440",
                                                "cuMemcpy3DAsync_v2 4 3 1", NULL });
        } else {
            assert_true(was_called("cuMemHostAlloc 1048576 1"));
        }
        pinner.unpin(pinner.user, home);
        assert_int_equal(stub->count("cuMemHostUnregister"), !fails);
        device->ops->free(device, x, BYTES);
        device->ops->destroy(device);
        free(home);
        assert_int_equal(stub->live(), 0);
    }
}

/* What is behind other operations begins when they have ended, also those of other devices; what goes by way of the
 * host cannot be awaited. */
static void devices_wait_for_each_other(void **state)
{
    enum { BYTES = 4096 };
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        ti_failure failure = { .lot = NULL };
        ti_strbuf why = { 0 };
        ti_device *device[2];
        void *x, *y;
        stub->reset(seed);
        assert_true(ti_cuda_create((int[]){ 0, 2 }, 2, "off", &failure, device, &why));
        assert_int_equal(device[0]->ops->alloc(device[0], BYTES, &x), TACIT_OK);
        assert_int_equal(device[1]->ops->alloc(device[1], BYTES, &y), TACIT_OK);
        char *home = malloc(BYTES), *back = calloc(1, BYTES);
        memset(home, (int)seed, BYTES);
        const ti_block here = { x, BYTES, { 1, 1 }, { BYTES, BYTES } },
                       there = { y, BYTES, { 1, 1 }, { BYTES, BYTES } },
                       first = { home, BYTES, { 1, 1 }, { BYTES, BYTES } },
                       last = { back, BYTES, { 1, 1 }, { BYTES, BYTES } };
        const ti_pinner pinner = ti_cuda_pinner(device[0], false);
        pinner.pin(pinner.user, home, BYTES);
        assert_false(device[0]->ops->await(device[0], device[1], 1)); /* nothing has been started */
        device[0]->ops->copy(device[0], 0, &here, &first, 1);
        assert_true(device[1]->ops->await(device[1], device[0], 1));
        device[1]->ops->copy(device[1], 0, &there, &here, 2);
        assert_true(device[1]->ops->await(device[1], device[1], 2));
        device[1]->ops->copy(device[1], 0, &last, &there, 3);
        assert_false(device[1]->ops->await(device[1], device[1], 3)); /* a poll brings it home */
        assert_int_equal(stub->count("cuStreamWaitEvent"), 2);
        for (uint64_t seen = 0, token; seen != (1 << 1 | 1 << 2 | 1 << 3);) {
            for (int d = 0; d < 2; d++) {
                seen |= device[d]->ops->poll(device[d], &token, 1) ? (uint64_t)1 << token : 0;
            }
        }
        assert_memory_equal(home, back, BYTES);
        pinner.unpin(pinner.user, home);
        device[0]->ops->free(device[0], x, BYTES);
        device[1]->ops->free(device[1], y, BYTES);
        device[0]->ops->destroy(device[0]);
        device[1]->ops->destroy(device[1]);
        free(home);
        free(back);
        assert_int_equal(stub->live(), 0);
    }
}

/* A kernel that waits for another on the device is given to it before anybody has asked for the end of that one. */
static void kernels_are_given_ahead(void **state)
{
    outcome o;
    long launches = 0, queries = 0;
    (void)state;
    stub->reset(3);
    run("cuda:0", true, &o);
    assert_int_equal(o.status, TACIT_OK);
    check_result(&o);
    for (long i = 0; i < stub->calls(); i++) {
        launches += strncmp(stub->call(i), "cuLaunchKernel", 14) == 0;
        queries += launches > 0 && launches < STEPS && strstr(stub->call(i), "Query") != NULL;
    }
    assert_int_equal(launches, STEPS);
    assert_int_equal(queries, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_the_default),
        cmocka_unit_test(calls_are_few),
        cmocka_unit_test(large_copies_go_in_pieces),
        cmocka_unit_test(all_gpus_are_found),
        cmocka_unit_test(what_matters_is_noticed),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(slow_devices_get_less),
        cmocka_unit_test(both_nodes_end),
        cmocka_unit_test(messages_pass_the_host_by),
        cmocka_unit_test(collectives_pass_the_host_by),
        cmocka_unit_test(pinned_memory_is_copied_at_once),
        cmocka_unit_test(devices_wait_for_each_other),
        cmocka_unit_test(kernels_are_given_ahead),
    };
    stub = stub_find();
    if (!stub) {
        puts("this needs the driver of tests/cuda");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
