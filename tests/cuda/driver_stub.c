/* CUDA's driver for tests: see stub.h. */
#define _GNU_SOURCE
#include "base/macro.h"
#include "device/cuda/driver.h"
#include "stream_stub.h"
#include "stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { INVALID_VALUE = 1, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, INVALID_IMAGE = 200 };
enum { MOST_CALLS = 1 << 14, MOST_STREAMS = 1024, MOST_RANGES = 1 << 14, MOST_PARAMETERS = 40, MOST_NESTED = 16 };

struct CUctx_st {
    int device, users;
};

struct CUevent_st {
    int recorded, come; /* so many times */
    ti_cu_context context;
};

struct CUmod_st {
    void *library;
    ti_cu_context context;
};

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

struct CUfunc_st {
    ti_cu_module module;
    struct CUfunc_st *next;
    void (*call)(void **);
    unsigned long (*size)(unsigned long);
};

typedef struct operation {
    enum { COPY, KERNEL, EVENT, WAIT, CALL, TRY } kind;
    bool is_within; /* a copy that takes as long as a kernel */
    struct operation *next;
    char *to;
    const char *from;
    size_t width, height, depth, to_pitch, from_pitch, to_plane, from_plane;
    ti_cu_function function;
    dim3 grid, block;
    void *parameter[MOST_PARAMETERS];
    ti_cu_event event;
    int time; /* which one of the event is waited for */
    void (*call)(void *);
    bool (*try)(void *); /* the stream waits until this has returned true */
    void *user;
} operation;

struct CUstream_st {
    ti_cu_context context;
    operation *first, **last;
    uint64_t busy; /* until then */
};

typedef struct range {
    char *address;
    size_t bytes;
    ti_cu_context context; /* NULL: pinned memory of the host */
    bool is_foreign;       /* memory of the program */
} range;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st contexts[STUB_DEVICES];
static ti_cu_stream streams[MOST_STREAMS];
static range ranges[MOST_RANGES];
static int num_streams, num_ranges;
static size_t used[STUB_DEVICES];
static uint64_t kernel_ns[STUB_DEVICES];
static struct {
    char name[48];
    long calls;
} counted[64];
static long live, calls, crossings, until_failure;
static int failure_code;
static char failing[64];
static bool failure_sticks, failed;
static uint64_t state = 1;
static char (*record)[STUB_CALL_TEXT];
static ti_cu_function functions;
static _Thread_local ti_cu_context stack[MOST_NESTED];
static _Thread_local int depth;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void misuse(const char *what)
{
    fprintf(stderr, "cuda stub: %s (call %ld, %s)\n", what, calls, calls ? record[(calls - 1) % MOST_CALLS] : "none");
    abort();
}

static void count_call(const char *name, size_t length)
{
    size_t i = 0;
    while (i + 1 < TI_COUNT(counted) && counted[i].name[0] &&
           (strncmp(counted[i].name, name, length) != 0 || counted[i].name[length])) {
        i++;
    }
    snprintf(counted[i].name, sizeof(counted[i].name), "%.*s", (int)length, name);
    counted[i].calls++;
}

/* Every function begins with this: the call is recorded, and may have to fail. */
static ti_cu_result called(const char *format, ...) __attribute__((format(printf, 1, 2)));
static ti_cu_result called(const char *format, ...)
{
    va_list args;
    pthread_mutex_lock(&mutex);
    if (!record) {
        record = calloc(MOST_CALLS, sizeof(*record));
    }
    va_start(args, format);
    const char *text = record[calls % MOST_CALLS];
    vsnprintf(record[calls++ % MOST_CALLS], STUB_CALL_TEXT, format, args);
    va_end(args);
    const size_t length = strcspn(text, " ");
    count_call(text, length);
    if (failed && failure_sticks) {
        return failure_code;
    }
    if (until_failure > 0 && strlen(failing) == length && strncmp(text, failing, length) == 0 && --until_failure == 0) {
        failed = true;
        return failure_code;
    }
    return TI_CU_SUCCESS;
}

static ti_cu_result done(ti_cu_result code)
{
    pthread_mutex_unlock(&mutex);
    return code;
}

static ti_cu_context current(void)
{
    if (depth == 0) {
        misuse("no context is current");
    }
    return stack[depth - 1];
}

/* ---- control */

static void control_reset(uint64_t seed)
{
    pthread_mutex_lock(&mutex);
    calls = crossings = until_failure = 0;
    failed = false;
    memset(kernel_ns, 0, sizeof(kernel_ns));
    memset(counted, 0, sizeof(counted));
    state = seed | 1;
    pthread_mutex_unlock(&mutex);
}

static void control_disturb(const char *function, long nth, int code, bool sticky)
{
    pthread_mutex_lock(&mutex);
    snprintf(failing, sizeof(failing), "%s", function);
    until_failure = nth;
    failure_code = code;
    failure_sticks = sticky;
    failed = false;
    pthread_mutex_unlock(&mutex);
}

static void control_slow(int device, uint64_t ns)
{
    pthread_mutex_lock(&mutex);
    kernel_ns[device] = ns;
    pthread_mutex_unlock(&mutex);
}

static long control_count(const char *function)
{
    long calls_of_it = 0;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < TI_COUNT(counted); i++) {
        calls_of_it += strcmp(counted[i].name, function) == 0 ? counted[i].calls : 0;
    }
    pthread_mutex_unlock(&mutex);
    return calls_of_it;
}

static long control_calls(void)
{
    return calls;
}

static const char *control_call(long index)
{
    return record[index % MOST_CALLS];
}

static long control_crossings(void)
{
    return crossings;
}

static long control_live(void)
{
    return live;
}

extern const stub_control stub_control_table;
const stub_control stub_control_table = { .reset = control_reset,
                                          .disturb = control_disturb,
                                          .slow = control_slow,
                                          .count = control_count,
                                          .calls = control_calls,
                                          .call = control_call,
                                          .crossings = control_crossings,
                                          .live = control_live };

/* ---- kernels */

enum { STACK = 128 << 10, MOST_THREADS = 1024 };

static struct {
    ucontext_t home, thread[MOST_THREADS];
    char *stack[MOST_THREADS];
    bool ended[MOST_THREADS];
    int now;
    operation *o;
} block;

static void barrier(void)
{
    swapcontext(&block.thread[block.now], &block.home);
}

static void run_thread(void)
{
    block.o->function->call(block.o->parameter);
    block.ended[block.now] = true;
    swapcontext(&block.thread[block.now], &block.home);
}

static dim3 place_in(dim3 size, unsigned i)
{
    return (dim3){ i % size.x, i / size.x % size.y, i / size.x / size.y };
}

/* All threads of a block, each up to the next barrier, in turn. */
static void run_block(operation *o, dim3 *thread)
{
    const unsigned threads = o->block.x * o->block.y * o->block.z;
    unsigned left = threads;
    block.o = o;
    for (unsigned i = 0; i < threads; i++) {
        block.ended[i] = false;
        block.stack[i] = block.stack[i] ? block.stack[i] : malloc(STACK);
        getcontext(&block.thread[i]);
        block.thread[i].uc_stack.ss_sp = block.stack[i];
        block.thread[i].uc_stack.ss_size = STACK;
        block.thread[i].uc_link = NULL;
        makecontext(&block.thread[i], run_thread, 0);
    }
    while (left > 0) {
        for (unsigned i = 0; i < threads; i++) {
            if (!block.ended[i]) {
                block.now = (int)i;
                *thread = place_in(o->block, i);
                swapcontext(&block.home, &block.thread[i]);
                left -= block.ended[i];
            }
        }
    }
}

static void run_kernel(operation *o)
{
    void *library = o->function->module->library;
    dim3 *thread = dlsym(library, "threadIdx"), *group = dlsym(library, "blockIdx");
    *(dim3 *)dlsym(library, "blockDim") = o->block;
    *(dim3 *)dlsym(library, "gridDim") = o->grid;
    void (**hook)(void) = dlsym(library, "stub_barrier");
    bool waits = dlsym(library, "stub_waits") != NULL;
    *hook = barrier;
    const unsigned groups = o->grid.x * o->grid.y * o->grid.z, threads = o->block.x * o->block.y * o->block.z;
    for (unsigned g = 0; g < groups; g++) {
        *group = place_in(o->grid, g);
        if (waits) {
            run_block(o, thread);
            continue;
        }
        for (unsigned i = 0; i < threads; i++) {
            *thread = place_in(o->block, i);
            o->function->call(o->parameter);
        }
    }
}

/* ---- streams */

static void run_copy(const operation *o)
{
    for (size_t i = 0; i < o->depth; i++) {
        for (size_t k = 0; k < o->height; k++) {
            memmove(o->to + i * o->to_plane + k * o->to_pitch, o->from + i * o->from_plane + k * o->from_pitch,
                    o->width);
        }
    }
}

static uint64_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void take_time(ti_cu_stream s)
{
    if (kernel_ns[s->context->device]) {
        s->busy = clock_now() + kernel_ns[s->context->device];
    }
}

static void run_first(ti_cu_stream s)
{
    operation *o = s->first;
    s->first = o->next;
    s->last = s->first ? s->last : &s->first;
    if (o->kind == COPY) {
        run_copy(o);
        if (o->is_within) {
            take_time(s);
        }
    } else if (o->kind == EVENT) {
        o->event->come++;
    } else if (o->kind == CALL) {
        o->call(o->user);
    } else if (o->kind == KERNEL) {
        run_kernel(o);
        take_time(s);
        for (int i = 0; i < MOST_PARAMETERS; i++) {
            free(o->parameter[i]);
        }
    }
    free(o);
}

static void add_operation(ti_cu_stream s, const operation *o)
{
    operation *copy = malloc(sizeof(*copy));
    *copy = *o;
    copy->next = NULL;
    if (s->context != current()) {
        misuse("the stream is of another context");
    }
    *s->last = copy;
    s->last = &copy->next;
}

static bool is_blocked(ti_cu_stream s)
{
    const operation *o = s->first;
    return o && ((o->kind == WAIT && o->event && o->event->come < o->time) || (o->kind == TRY && !o->try(o->user)));
}

/* Some stream goes on, or none. */
static void advance(void)
{
    ti_cu_stream s = num_streams ? streams[draw() % (uint64_t)num_streams] : NULL;
    if (s && s->first && !is_blocked(s) && (!s->busy || clock_now() >= s->busy)) {
        s->busy = 0;
        run_first(s);
    }
}

static void finish(ti_cu_stream s)
{
    while (s->first) {
        for (int i = 0; i < num_streams && is_blocked(s); i++) {
            if (streams[i]->first && !is_blocked(streams[i])) {
                run_first(streams[i]);
            }
        }
        if (!is_blocked(s)) {
            run_first(s);
        }
    }
}

/* ---- memory */

static range *range_of(const char *address, size_t bytes)
{
    for (int i = 0; i < num_ranges; i++) {
        if (address >= ranges[i].address && address + bytes <= ranges[i].address + ranges[i].bytes) {
            return &ranges[i];
        }
    }
    misuse("an address is beyond any allocation, or not pinned");
    return NULL;
}

static ti_cu_result add_range(void *address, size_t bytes, ti_cu_context context)
{
    if (num_ranges == MOST_RANGES) {
        misuse("too many allocations");
    }
    ranges[num_ranges++] = (range){ .address = address, .bytes = bytes, .context = context };
    live++;
    return TI_CU_SUCCESS;
}

/* Whether the copy touches the memory. */
static bool touches(const operation *o, const range *r)
{
    return o->kind == COPY && ((o->to >= r->address && o->to < r->address + r->bytes) ||
                               (o->from >= r->address && o->from < r->address + r->bytes));
}

static void drop_range(char *address, bool on_device)
{
    for (int i = 0; i < num_ranges; i++) {
        if (ranges[i].address == address && (ranges[i].context != NULL) == on_device) {
            for (int k = 0; k < num_streams; k++) {
                for (const operation *o = streams[k]->first; o; o = o->next) {
                    if (touches(o, &ranges[i])) {
                        misuse("memory is freed that a copy will touch");
                    }
                }
            }
            if (on_device) {
                used[ranges[i].context->device] -= ranges[i].bytes;
            }
            if (!ranges[i].is_foreign) {
                free(address);
            }
            ranges[i] = ranges[--num_ranges];
            live--;
            return;
        }
    }
    misuse("what is freed is no allocation");
}

#define DECLARE(member, symbol, parameters) ti_cu_result symbol parameters;
TI_CUDA_FUNCTIONS(DECLARE)
TI_CUDA_NEW_FUNCTIONS(DECLARE)

/* ---- the driver: devices and contexts */

ti_cu_result cuInit(unsigned flags)
{
    return done(called("cuInit %u", flags));
}

ti_cu_result cuDriverGetVersion(int *out)
{
    *out = 12040;
    return done(called("cuDriverGetVersion"));
}

ti_cu_result cuDeviceGetCount(int *out)
{
    *out = STUB_DEVICES;
    return done(called("cuDeviceGetCount"));
}

ti_cu_result cuDeviceGet(ti_cu_device *out, int index)
{
    *out = index;
    return done(called("cuDeviceGet %d", index));
}

ti_cu_result cuDeviceGetName(char *out, int bytes, ti_cu_device device)
{
    snprintf(out, (size_t)bytes, "Stub %d", device);
    return done(called("cuDeviceGetName %d", device));
}

ti_cu_result cuDeviceTotalMem_v2(size_t *out, ti_cu_device device)
{
    *out = STUB_MEMORY;
    return done(called("cuDeviceTotalMem_v2 %d", device));
}

ti_cu_result cuDeviceGetAttribute(int *out, int attribute, ti_cu_device device)
{
    *out = attribute == TI_CU_CAPABILITY_MAJOR          ? 9
           : attribute == TI_CU_CAPABILITY_MINOR        ? 0
           : attribute == TI_CU_MULTIPROCESSOR_COUNT    ? 7
           : attribute == TI_CU_MEMORY_CLOCK_RATE       ? 1000000
           : attribute == TI_CU_GLOBAL_MEMORY_BUS_WIDTH ? 4096
           : attribute == TI_CU_MAX_PITCH               ? 4096
           : attribute == TI_CU_MAX_SHARED_BYTES        ? 232448
                                                        : 0;
    return done(called("cuDeviceGetAttribute %d %d", attribute, device));
}

ti_cu_result cuDeviceCanAccessPeer(int *out, ti_cu_device from, ti_cu_device to)
{
    *out = from / 2 == to / 2;
    return done(called("cuDeviceCanAccessPeer %d %d", from, to));
}

ti_cu_result cuDevicePrimaryCtxRetain(ti_cu_context *out, ti_cu_device device)
{
    ti_cu_result code = called("cuDevicePrimaryCtxRetain %d", device);
    if (code == TI_CU_SUCCESS) {
        contexts[device].device = device;
        contexts[device].users++;
        live++;
        *out = &contexts[device];
    }
    return done(code);
}

ti_cu_result cuDevicePrimaryCtxRelease_v2(ti_cu_device device)
{
    ti_cu_result code = called("cuDevicePrimaryCtxRelease_v2 %d", device);
    if (contexts[device].users-- <= 0) {
        misuse("a context is released too often");
    }
    live--;
    return done(code);
}

ti_cu_result cuCtxPushCurrent_v2(ti_cu_context context)
{
    ti_cu_result code = called("cuCtxPushCurrent_v2 %d", context->device);
    if (depth == MOST_NESTED) {
        misuse("contexts are pushed and not popped");
    }
    if (code == TI_CU_SUCCESS) {
        stack[depth++] = context;
    }
    return done(code);
}

ti_cu_result cuCtxPopCurrent_v2(ti_cu_context *out)
{
    ti_cu_result code = called("cuCtxPopCurrent_v2");
    *out = current();
    depth--;
    return done(code);
}

ti_cu_result cuCtxEnablePeerAccess(ti_cu_context context, unsigned flags)
{
    return done(called("cuCtxEnablePeerAccess %d %u", context->device, flags));
}

/* ---- streams and events */

ti_cu_result cuStreamCreate(ti_cu_stream *out, unsigned flags)
{
    ti_cu_result code = called("cuStreamCreate %u", flags);
    if (code == TI_CU_SUCCESS) {
        *out = calloc(1, sizeof(**out));
        (*out)->context = current();
        (*out)->last = &(*out)->first;
        streams[num_streams++] = *out;
        live++;
    }
    return done(code);
}

ti_cu_result cuStreamDestroy_v2(ti_cu_stream stream)
{
    ti_cu_result code = called("cuStreamDestroy_v2");
    finish(stream);
    for (int i = 0; i < num_streams; i++) {
        if (streams[i] == stream) {
            streams[i] = streams[--num_streams];
        }
    }
    free(stream);
    live--;
    return done(code);
}

ti_cu_result cuStreamSynchronize(ti_cu_stream stream)
{
    ti_cu_result code = called("cuStreamSynchronize");
    finish(stream);
    return done(code);
}

ti_cu_result cuStreamQuery(ti_cu_stream stream)
{
    ti_cu_result code = called("cuStreamQuery");
    if (code == TI_CU_SUCCESS) {
        advance();
        code = stream->first ? TI_CU_ERROR_NOT_READY : TI_CU_SUCCESS;
    }
    return done(code);
}

ti_cu_result cuLaunchHostFunc(ti_cu_stream stream, void (*function)(void *), void *user);
ti_cu_result cuLaunchHostFunc(ti_cu_stream stream, void (*function)(void *), void *user)
{
    ti_cu_result code = called("cuLaunchHostFunc");
    if (code == TI_CU_SUCCESS) {
        add_operation(stream, &(operation){ .kind = CALL, .call = function, .user = user });
    }
    return done(code);
}

void stub_give_try(ti_cu_stream stream, bool (*try)(void *), void *user)
{
    pthread_mutex_lock(&mutex);
    add_operation(stream, &(operation){ .kind = TRY, .try = try, .user = user });
    pthread_mutex_unlock(&mutex);
}

int stub_call(const char *name)
{
    return done(called("%s", name));
}

void stub_check_memory(const void *address, size_t bytes)
{
    pthread_mutex_lock(&mutex);
    if (range_of(address, bytes)->context != current()) {
        misuse("memory of another device is given to NCCL");
    }
    pthread_mutex_unlock(&mutex);
}

ti_cu_result cuStreamWaitEvent(ti_cu_stream stream, ti_cu_event event, unsigned flags)
{
    ti_cu_result code = called("cuStreamWaitEvent %u", flags);
    if (code == TI_CU_SUCCESS && event->come < event->recorded) {
        add_operation(stream, &(operation){ .kind = WAIT, .event = event, .time = event->recorded });
    }
    return done(code);
}

ti_cu_result cuEventCreate(ti_cu_event *out, unsigned flags)
{
    ti_cu_result code = called("cuEventCreate %u", flags);
    if (code == TI_CU_SUCCESS) {
        *out = calloc(1, sizeof(**out));
        (*out)->context = current();
        live++;
    }
    return done(code);
}

ti_cu_result cuEventDestroy_v2(ti_cu_event event)
{
    ti_cu_result code = called("cuEventDestroy_v2");
    if (event->come < event->recorded) {
        misuse("an event is destroyed that is under way");
    }
    for (int i = 0; i < num_streams; i++) {
        for (operation *o = streams[i]->first; o; o = o->next) {
            o->event = o->kind == WAIT && o->event == event ? NULL : o->event;
        }
    }
    free(event);
    live--;
    return done(code);
}

ti_cu_result cuEventRecord(ti_cu_event event, ti_cu_stream stream)
{
    ti_cu_result code = called("cuEventRecord");
    if (code == TI_CU_SUCCESS) {
        if (event->context != stream->context || event->come < event->recorded) {
            misuse("the event is of another context, or under way");
        }
        event->recorded++;
        add_operation(stream, &(operation){ .kind = EVENT, .event = event });
    }
    return done(code);
}

ti_cu_result cuEventQuery(ti_cu_event event)
{
    ti_cu_result code = called("cuEventQuery");
    if (code == TI_CU_SUCCESS) {
        advance();
        code = event->come < event->recorded ? TI_CU_ERROR_NOT_READY : TI_CU_SUCCESS;
    }
    return done(code);
}

/* ---- memory and copies */

ti_cu_result cuMemAlloc_v2(ti_cu_address *out, size_t bytes)
{
    ti_cu_result code = called("cuMemAlloc_v2 %zu", bytes);
    if (code == TI_CU_SUCCESS) {
        ti_cu_context context = current();
        if (bytes > STUB_MEMORY - used[context->device]) {
            return done(TI_CU_ERROR_OUT_OF_MEMORY);
        }
        char *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
        used[context->device] += bytes;
        *out = (ti_cu_address)(uintptr_t)memory;
        add_range(memory, bytes, context);
    }
    return done(code);
}

ti_cu_result cuMemFree_v2(ti_cu_address address)
{
    ti_cu_result code = called("cuMemFree_v2");
    drop_range((char *)(uintptr_t)address, true);
    return done(code);
}

ti_cu_result cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    ti_cu_result code = called("cuMemHostAlloc %zu %u", bytes, flags);
    if (code == TI_CU_SUCCESS) {
        *out = malloc(bytes);
        add_range(*out, bytes, NULL);
    }
    return done(code);
}

ti_cu_result cuMemFreeHost(void *address)
{
    ti_cu_result code = called("cuMemFreeHost");
    drop_range(address, false);
    return done(code);
}

ti_cu_result cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    ti_cu_result code = called("cuMemHostRegister_v2 %zu %u", bytes, flags);
    current();
    if (code == TI_CU_SUCCESS) {
        add_range(address, bytes, NULL);
        ranges[num_ranges - 1].is_foreign = true;
    }
    return done(code);
}

ti_cu_result cuMemHostUnregister(void *address)
{
    ti_cu_result code = called("cuMemHostUnregister");
    drop_range(address, false);
    return done(code);
}

static void copy_run(ti_cu_stream stream, char *to, const char *from, size_t bytes, bool is_to_host, bool is_from_host)
{
    const bool is_within = !is_to_host && !is_from_host;
    crossings += !is_within;
    if ((range_of(to, bytes)->context == NULL) != is_to_host ||
        (range_of(from, bytes)->context == NULL) != is_from_host) {
        misuse("a copy has its memories confused");
    }
    add_operation(
        stream,
        &(operation){
            .kind = COPY, .is_within = is_within, .to = to, .from = from, .width = bytes, .height = 1, .depth = 1 });
}

ti_cu_result cuMemcpyHtoDAsync_v2(ti_cu_address to, const void *from, size_t bytes, ti_cu_stream stream)
{
    ti_cu_result code = called("cuMemcpyHtoDAsync_v2 %zu", bytes);
    if (code == TI_CU_SUCCESS) {
        copy_run(stream, (char *)(uintptr_t)to, from, bytes, false, true);
    }
    return done(code);
}

ti_cu_result cuMemcpyDtoHAsync_v2(void *to, ti_cu_address from, size_t bytes, ti_cu_stream stream)
{
    ti_cu_result code = called("cuMemcpyDtoHAsync_v2 %zu", bytes);
    if (code == TI_CU_SUCCESS) {
        copy_run(stream, to, (char *)(uintptr_t)from, bytes, true, false);
    }
    return done(code);
}

ti_cu_result cuMemcpyDtoDAsync_v2(ti_cu_address to, ti_cu_address from, size_t bytes, ti_cu_stream stream)
{
    ti_cu_result code = called("cuMemcpyDtoDAsync_v2 %zu", bytes);
    if (code == TI_CU_SUCCESS) {
        copy_run(stream, (char *)(uintptr_t)to, (char *)(uintptr_t)from, bytes, false, false);
    }
    return done(code);
}

/* The begin of one side of a copy, whose last byte must be there, too. */
static char *side(const ti_cu_side *s, const ti_cu_copy *c, bool is_peer)
{
    char *base = s->type == TI_CU_MEMORY_HOST ? (char *)(uintptr_t)s->host : (char *)(uintptr_t)s->device;
    const size_t bytes = ((c->depth - 1) * s->height + c->height - 1) * s->pitch + c->width;
    const range *r = range_of(base, bytes);
    if ((r->context == NULL) != (s->type == TI_CU_MEMORY_HOST) || (is_peer && r->context != s->context) ||
        (!is_peer && (s->context || (r->context && r->context != current())))) {
        misuse("a copy has its memories confused");
    }
    if (s->x || s->y || s->z || s->lod || s->array || s->pitch < c->width || s->pitch > 4096 || s->height < c->height) {
        misuse("a copy is not a box of its memory");
    }
    return base;
}

static void copy_box(const ti_cu_copy *c, ti_cu_stream stream, bool is_peer)
{
    char *from = side(&c->from, c, is_peer), *to = side(&c->to, c, is_peer);
    crossings += c->from.type == TI_CU_MEMORY_HOST || c->to.type == TI_CU_MEMORY_HOST;
    add_operation(stream, &(operation){ .kind = COPY,
                                        .to = to,
                                        .from = from,
                                        .width = c->width,
                                        .height = c->height,
                                        .depth = c->depth,
                                        .to_pitch = c->to.pitch,
                                        .from_pitch = c->from.pitch,
                                        .to_plane = c->to.pitch * c->to.height,
                                        .from_plane = c->from.pitch * c->from.height });
}

ti_cu_result cuMemcpy3DAsync_v2(const ti_cu_copy *c, ti_cu_stream stream)
{
    ti_cu_result code = called("cuMemcpy3DAsync_v2 %zu %zu %zu", c->width, c->height, c->depth);
    if (code == TI_CU_SUCCESS) {
        copy_box(c, stream, false);
    }
    return done(code);
}

ti_cu_result cuMemcpy3DPeerAsync(const ti_cu_copy *c, ti_cu_stream stream)
{
    ti_cu_result code = called("cuMemcpy3DPeerAsync %zu %zu %zu", c->width, c->height, c->depth);
    if (code == TI_CU_SUCCESS) {
        copy_box(c, stream, true);
    }
    return done(code);
}

/* ---- modules and kernels */

ti_cu_result cuModuleLoadData(ti_cu_module *out, const void *image)
{
    ti_cu_result code = called("cuModuleLoadData");
    if (code == TI_CU_SUCCESS) {
        size_t bytes;
        char path[] = "/tmp/cuda_stub_XXXXXX"; /* another name for each: libraries are known by theirs */
        memcpy(&bytes, image, sizeof(bytes));
        int file = mkstemp(path);
        bool good = write(file, (const char *)image + sizeof(bytes), bytes) == (ssize_t)bytes;
        void *library = good ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        close(file);
        unlink(path);
        if (!library) {
            return done(INVALID_IMAGE);
        }
        *out = malloc(sizeof(**out));
        **out = (struct CUmod_st){ library, current() };
        live++;
    }
    return done(code);
}

ti_cu_result cuModuleUnload(ti_cu_module module)
{
    ti_cu_result code = called("cuModuleUnload");
    for (ti_cu_function *f = &functions; *f;) {
        ti_cu_function next = (*f)->next;
        if ((*f)->module == module) {
            free(*f);
            *f = next;
        } else {
            f = &(*f)->next;
        }
    }
    dlclose(module->library);
    free(module);
    live--;
    return done(code);
}

ti_cu_result cuModuleGetFunction(ti_cu_function *out, ti_cu_module module, const char *name)
{
    ti_cu_result code = called("cuModuleGetFunction %s", name);
    char symbol[256];
    if (code == TI_CU_SUCCESS) {
        snprintf(symbol, sizeof(symbol), "stub_call_%s", name);
        void *call = dlsym(module->library, symbol);
        snprintf(symbol, sizeof(symbol), "stub_size_%s", name);
        void *size = dlsym(module->library, symbol);
        if (!call || !size) {
            return done(TI_CU_ERROR_NOT_FOUND);
        }
        *out = calloc(1, sizeof(**out));
        (*out)->module = module;
        memcpy(&(*out)->call, &call, sizeof(call));
        memcpy(&(*out)->size, &size, sizeof(size));
        (*out)->next = functions;
        functions = *out;
    }
    return done(code);
}

ti_cu_result cuFuncSetAttribute(ti_cu_function function, int attribute, int value)
{
    (void)function;
    return done(called("cuFuncSetAttribute %d %d", attribute, value));
}

ti_cu_result cuFuncGetParamInfo(ti_cu_function function, size_t index, size_t *offset, size_t *bytes)
{
    ti_cu_result code = called("cuFuncGetParamInfo %zu", index);
    *offset = 0;
    *bytes = function->size(index);
    return done(code ? code : *bytes ? TI_CU_SUCCESS : INVALID_VALUE);
}

ti_cu_result cuLaunchKernel(ti_cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                            unsigned bz, unsigned shared, ti_cu_stream stream, void **parameters, void **extra)
{
    ti_cu_result code = called("cuLaunchKernel %u %u %u of %u %u %u, %u", gx, gy, gz, bx, by, bz, shared);
    operation o = { .kind = KERNEL, .function = f, .grid = { gx, gy, gz }, .block = { bx, by, bz } };
    if (code == TI_CU_SUCCESS && ((uint64_t)bx * by * bz > MOST_THREADS || gy > 65535 || gz > 65535)) {
        code = INVALID_VALUE;
    }
    if (code == TI_CU_SUCCESS) {
        if (f->module->context != current() || extra) {
            misuse("the kernel is of another context");
        }
        for (unsigned long i = 0, bytes; (bytes = f->size(i)) > 0; i++) {
            o.parameter[i] = malloc(bytes);
            memcpy(o.parameter[i], parameters[i], bytes);
        }
        add_operation(stream, &o);
    }
    return done(code);
}

ti_cu_result cuGetErrorName(ti_cu_result code, const char **out)
{
    *out = code == INVALID_VALUE               ? "CUDA_ERROR_INVALID_VALUE"
           : code == TI_CU_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
           : code == INVALID_IMAGE             ? "CUDA_ERROR_INVALID_IMAGE"
           : code == TI_CU_ERROR_NOT_FOUND     ? "CUDA_ERROR_NOT_FOUND"
           : code == 719                       ? "CUDA_ERROR_LAUNCH_FAILED"
                                               : NULL;
    return TI_CU_SUCCESS;
}
