/* What `tacit bench device` measures, by CUDA's driver as one writes it by hand: see device.h.
 *
 * Two streams, one for kernels and one for copies; the host's memory is pinned, as the driver wants it for copies that
 * go on by themselves; NVRTC compiles the kernels. The declarations of both libraries are those of tacit, which loads
 * them: no toolkit is needed. */
#include "device.h"

#include "device/cuda/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name of shared memory is the one that the driver of the tests has. */
static const char text[] = "#define MEMORY\n"
                           "#define ITEM(d) ((d) == 0 ? blockIdx.x * blockDim.x + threadIdx.x \\\n"
                           "                          : blockIdx.y * blockDim.y + threadIdx.y)\n"
                           "extern __shared__ __align__(16) char tacit_shared_[];\n"
                           "#define TILE struct body *const tile = (struct body *)tacit_shared_\n"
                           "#define BARRIER __syncthreads()\n"
                           "struct body { double x, y, z, m; };\n" PEER_KERNELS("extern \"C\" __global__ void");

enum { EMPTY, SPIN, KICK, DRIFT, WAVE, KERNELS };
static const char *const names[KERNELS] = { "empty", "spin", "kick", "drift", "wave" };

typedef struct cuda {
    peer_device base;
    ti_cuda_api cu;
    ti_cu_device device;
    ti_cu_context context;
    ti_cu_stream kernels, copies;
    ti_cu_module module;
    ti_cu_function kernel[KERNELS];
    ti_cu_address memory, number;
    char *host;
    size_t bytes;
    peer_program running;
    ti_cu_address first, second;
} cuda;

static void check(const cuda *c, ti_cu_result code, const char *call)
{
    if (code != TI_CU_SUCCESS) {
        fprintf(stderr, "tacit bench device: CUDA by hand: %s says %s\n", call, ti_cuda_error_name(&c->cu, code));
        exit(EXIT_FAILURE);
    }
}

/* All calls are made in the context. */
static cuda *enter(peer_device *d)
{
    cuda *c = (cuda *)d;
    check(c, c->cu.push(c->context), "cuCtxPushCurrent");
    return c;
}

static void leave(const cuda *c)
{
    ti_cu_context old;
    check(c, c->cu.pop(&old), "cuCtxPopCurrent");
}

static void finish(const cuda *c, ti_cu_stream stream)
{
    check(c, c->cu.stream_wait(stream), "cuStreamSynchronize");
}

static void launch(cuda *c, int kernel, const unsigned grid[2], const unsigned group[2], void **parameters)
{
    const unsigned shared = kernel == KICK ? PEER_TILE * sizeof(peer_body) : 0;
    check(c,
          c->cu.launch(c->kernel[kernel], grid[0], grid[1], 1, group[0], group[1], 1, shared, c->kernels, parameters,
                       NULL),
          "cuLaunchKernel");
}

static const unsigned one[2] = { 1, 1 };

/* ---- kernels that do nothing, and copies */

static void chain(peer_device *d, int count)
{
    cuda *c = enter(d);
    void *parameters[] = { &c->number };
    for (int i = 0; i < count; i++) {
        launch(c, EMPTY, one, one, parameters);
    }
    finish(c, c->kernels);
    leave(c);
}

static void empty(peer_device *d, int count)
{
    for (int i = 0; i < count; i++) {
        chain(d, 1);
    }
}

static void start_copy(cuda *c, bool to_device, const peer_block *b)
{
    ti_cu_side host = { .type = TI_CU_MEMORY_HOST, .host = c->host, .pitch = b->pitch, .height = b->rows };
    ti_cu_side there = { .type = TI_CU_MEMORY_DEVICE, .device = c->memory, .pitch = b->pitch, .height = b->rows };
    const ti_cu_copy rows = { .from = to_device ? host : there,
                              .to = to_device ? there : host,
                              .width = b->bytes,
                              .height = b->rows,
                              .depth = 1 };
    ti_cu_result code;
    if (b->pitch != b->bytes) {
        code = c->cu.copy(&rows, c->copies);
    } else if (to_device) {
        code = c->cu.to_device(c->memory, c->host, b->rows * b->bytes, c->copies);
    } else {
        code = c->cu.from_device(c->host, c->memory, b->rows * b->bytes, c->copies);
    }
    check(c, code, "a copy");
}

static void copy(peer_device *d, bool to_device, const peer_block *block)
{
    cuda *c = enter(d);
    start_copy(c, to_device, block);
    finish(c, c->copies);
    leave(c);
}

static void overlap(peer_device *d, const peer_block *block, bool has_copy, uint32_t steps)
{
    cuda *c = enter(d);
    void *parameters[] = { &c->number, &steps };
    if (steps) {
        launch(c, SPIN, one, one, parameters);
    }
    if (has_copy) {
        start_copy(c, true, block);
        finish(c, c->copies);
    }
    finish(c, c->kernels);
    leave(c);
}

/* ---- programs */

static ti_cu_address reserve(cuda *c, size_t bytes)
{
    ti_cu_address address = 0;
    check(c, c->cu.alloc(&address, bytes), "cuMemAlloc");
    return address;
}

static char *pinned(cuda *c, size_t bytes)
{
    void *memory = NULL;
    check(c, c->cu.host_alloc(&memory, bytes, TI_CU_HOST_PORTABLE), "cuMemHostAlloc");
    return memory;
}

static ti_cu_address filled(cuda *c, const void *contents)
{
    ti_cu_address address = reserve(c, c->running.bytes);
    char *host = pinned(c, c->running.bytes);
    memcpy(host, contents, c->running.bytes);
    check(c, c->cu.to_device(address, host, c->running.bytes, c->kernels), "a copy");
    finish(c, c->kernels);
    check(c, c->cu.host_free(host), "cuMemFreeHost");
    return address;
}

static void open_program(peer_device *d, const peer_program *program)
{
    cuda *c = enter(d);
    c->running = *program;
    c->first = filled(c, program->first);
    c->second = filled(c, program->second);
    leave(c);
}

static void nbody(cuda *c)
{
    const unsigned group[2] = { PEER_TILE, 1 }, grid[2] = { (c->running.size + PEER_TILE - 1) / PEER_TILE, 1 };
    unsigned bodies = c->running.size;
    double kick_by = peer_kick, drift_by = peer_drift, softening = peer_softening;
    void *kick[] = { &c->first, &c->second, &bodies, &kick_by, &softening };
    void *drift[] = { &c->first, &c->second, &bodies, &drift_by };
    launch(c, KICK, grid, group, kick);
    launch(c, DRIFT, grid, group, drift);
}

static void wave(cuda *c)
{
    const unsigned group[2] = { PEER_COLUMNS, PEER_ROWS };
    const unsigned grid[2] = { (c->running.size + group[0] - 1) / group[0],
                               (c->running.size + group[1] - 1) / group[1] };
    unsigned side = c->running.size;
    double c2 = peer_c2;
    ti_cu_address newest = c->second;
    void *parameters[] = { &c->first, &c->second, &side, &c2 };
    launch(c, WAVE, grid, group, parameters);
    c->second = c->first;
    c->first = newest;
}

static void step(peer_device *d, int steps)
{
    cuda *c = enter(d);
    for (int i = 0; i < steps; i++) {
        if (c->running.is_nbody) {
            nbody(c);
        } else {
            wave(c);
        }
    }
    finish(c, c->kernels);
    leave(c);
}

static void close_program(peer_device *d, void *out)
{
    cuda *c = enter(d);
    char *host = pinned(c, c->running.bytes);
    check(c, c->cu.from_device(host, c->first, c->running.bytes, c->kernels), "a copy");
    finish(c, c->kernels);
    memcpy(out, host, c->running.bytes);
    check(c, c->cu.host_free(host), "cuMemFreeHost");
    check(c, c->cu.free(c->first), "cuMemFree");
    check(c, c->cu.free(c->second), "cuMemFree");
    leave(c);
}

/* ---- begin and end */

static void close(peer_device *d)
{
    cuda *c = enter(d);
    check(c, c->cu.module_unload(c->module), "cuModuleUnload");
    check(c, c->cu.free(c->memory), "cuMemFree");
    check(c, c->cu.free(c->number), "cuMemFree");
    check(c, c->cu.host_free(c->host), "cuMemFreeHost");
    check(c, c->cu.stream_destroy(c->kernels), "cuStreamDestroy");
    check(c, c->cu.stream_destroy(c->copies), "cuStreamDestroy");
    leave(c);
    check(c, c->cu.release(c->device), "cuDevicePrimaryCtxRelease");
    free(c);
}

static void compile(cuda *c)
{
    ti_nvrtc_api rtc;
    ti_nvrtc_program program;
    ti_strbuf why = { 0 };
    char arch[64];
    int major = 0, minor = 0;
    size_t bytes = 0;
    c->cu.attribute(&major, TI_CU_CAPABILITY_MAJOR, c->device);
    c->cu.attribute(&minor, TI_CU_CAPABILITY_MINOR, c->device);
    snprintf(arch, sizeof(arch), "--gpu-architecture=sm_%d%d", major, minor);
    const char *const options[] = { arch, "--fmad=false", "--std=c++17" };
    if (!ti_nvrtc_load(&rtc, &why) || rtc.create(&program, text, "peer", 0, NULL, NULL) != 0 ||
        rtc.compile(program, 3, options) != 0 || rtc.binary_size(program, &bytes) != 0) {
        fprintf(stderr, "tacit bench device: NVRTC does not compile the kernels by hand %s\n", ti_strbuf_text(&why));
        exit(EXIT_FAILURE);
    }
    char *binary = malloc(bytes);
    rtc.binary(program, binary);
    check(c, c->cu.module_load(&c->module, binary), "cuModuleLoadData");
    for (int i = 0; i < KERNELS; i++) {
        check(c, c->cu.function(&c->kernel[i], c->module, names[i]), "cuModuleGetFunction");
    }
    rtc.destroy(&program);
    free(binary);
    ti_strbuf_fini(&why);
}

static void prepare(cuda *c)
{
    enter(&c->base);
    check(c, c->cu.stream_create(&c->kernels, TI_CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    check(c, c->cu.stream_create(&c->copies, TI_CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    compile(c);
    c->memory = reserve(c, c->bytes);
    c->number = reserve(c, sizeof(double));
    c->host = pinned(c, c->bytes);
    memset(c->host, 0, c->bytes);
    leave(c);
}

peer_device *peer_cuda_open(int index, size_t bytes, char *model)
{
    cuda *c = calloc(1, sizeof(*c));
    ti_strbuf why = { 0 };
    int count = 0;
    bool there = ti_cuda_load(&c->cu, &why) && c->cu.count(&count) == TI_CU_SUCCESS && index < count &&
                 c->cu.get(&c->device, index) == TI_CU_SUCCESS;
    ti_strbuf_fini(&why);
    if (!there) {
        free(c);
        return NULL;
    }
    c->base = (peer_device){ .close = close,
                             .empty = empty,
                             .chain = chain,
                             .copy = copy,
                             .overlap = overlap,
                             .open_program = open_program,
                             .step = step,
                             .close_program = close_program };
    c->bytes = bytes;
    c->cu.name(model, 127, c->device);
    check(c, c->cu.retain(&c->context, c->device), "cuDevicePrimaryCtxRetain");
    prepare(c);
    return &c->base;
}
