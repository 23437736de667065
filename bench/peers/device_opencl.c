/* What `tacit bench device` measures, by OpenCL as one writes it by hand: see device.h.
 *
 * Two in-order queues, one for kernels and one for copies; ends are waited for by clFinish. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "device.h"

#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "#ifdef cl_khr_fp64\n"
                           "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                           "#endif\n"
                           "#pragma OPENCL FP_CONTRACT OFF\n"
                           "#define MEMORY __global\n"
                           "#define ITEM(d) get_global_id(d)\n"
                           "#define TILE __local struct body tile[64]\n"
                           "#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)\n"
                           "struct body { double x, y, z, m; };\n" PEER_KERNELS("__kernel void");

/* All that is called of the library. */
#define FUNCTIONS(X)                                                                                                   \
    X(clGetPlatformIDs)                                                                                                \
    X(clGetDeviceIDs)                                                                                                  \
    X(clGetDeviceInfo)                                                                                                 \
    X(clCreateContext)                                                                                                 \
    X(clReleaseContext)                                                                                                \
    X(clCreateCommandQueue)                                                                                            \
    X(clReleaseCommandQueue)                                                                                           \
    X(clCreateBuffer)                                                                                                  \
    X(clReleaseMemObject)                                                                                              \
    X(clCreateProgramWithSource)                                                                                       \
    X(clBuildProgram)                                                                                                  \
    X(clReleaseProgram)                                                                                                \
    X(clCreateKernel)                                                                                                  \
    X(clReleaseKernel)                                                                                                 \
    X(clSetKernelArg)                                                                                                  \
    X(clEnqueueNDRangeKernel)                                                                                          \
    X(clEnqueueReadBuffer)                                                                                             \
    X(clEnqueueWriteBuffer)                                                                                            \
    X(clEnqueueReadBufferRect)                                                                                         \
    X(clEnqueueWriteBufferRect)                                                                                        \
    X(clFlush)                                                                                                         \
    X(clFinish)

#define MEMBER(function) __typeof__(&(function)) function;
static struct library {
    FUNCTIONS(MEMBER)
} cl;

enum { EMPTY, SPIN, KICK, DRIFT, WAVE, KERNELS };
static const char *const names[KERNELS] = { "empty", "spin", "kick", "drift", "wave" };

typedef struct opencl {
    peer_device base;
    cl_context context;
    cl_device_id device;
    cl_command_queue kernels, copies;
    cl_program program;
    cl_kernel kernel[KERNELS];
    cl_mem memory, number;
    char *host;
    size_t bytes;
    peer_program running;
    cl_mem first, second;
} opencl;

static void check(cl_int code, const char *call)
{
    if (code != CL_SUCCESS) {
        fprintf(stderr, "tacit bench device: OpenCL by hand: %s says %d\n", call, (int)code);
        exit(EXIT_FAILURE);
    }
}

static void finish(cl_command_queue queue)
{
    check(cl.clFinish(queue), "clFinish");
}

static void give(cl_kernel kernel, cl_uint index, size_t bytes, const void *value)
{
    check(cl.clSetKernelArg(kernel, index, bytes, value), "clSetKernelArg");
}

static void enqueue(opencl *o, int kernel, cl_uint dims, const size_t *global, const size_t *group)
{
    check(cl.clEnqueueNDRangeKernel(o->kernels, o->kernel[kernel], dims, NULL, global, group, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
}

/* ---- kernels that do nothing, and copies */

static void chain(peer_device *d, int count)
{
    opencl *o = (opencl *)d;
    static const size_t one = 1;
    for (int i = 0; i < count; i++) {
        enqueue(o, EMPTY, 1, &one, NULL);
    }
    finish(o->kernels);
}

static void empty(peer_device *d, int count)
{
    for (int i = 0; i < count; i++) {
        chain(d, 1);
    }
}

static void start_copy(opencl *o, bool to_device, const peer_block *b)
{
    const size_t zero[3] = { 0 }, region[3] = { b->bytes, b->rows, 1 };
    cl_int code;
    if (b->pitch == b->bytes && to_device) {
        code = cl.clEnqueueWriteBuffer(o->copies, o->memory, CL_FALSE, 0, b->rows * b->bytes, o->host, 0, NULL, NULL);
    } else if (b->pitch == b->bytes) {
        code = cl.clEnqueueReadBuffer(o->copies, o->memory, CL_FALSE, 0, b->rows * b->bytes, o->host, 0, NULL, NULL);
    } else if (to_device) {
        code = cl.clEnqueueWriteBufferRect(o->copies, o->memory, CL_FALSE, zero, zero, region, b->pitch, 0, b->pitch, 0,
                                           o->host, 0, NULL, NULL);
    } else {
        code = cl.clEnqueueReadBufferRect(o->copies, o->memory, CL_FALSE, zero, zero, region, b->pitch, 0, b->pitch, 0,
                                          o->host, 0, NULL, NULL);
    }
    check(code, "a copy");
    check(cl.clFlush(o->copies), "clFlush");
}

static void copy(peer_device *d, bool to_device, const peer_block *block)
{
    opencl *o = (opencl *)d;
    start_copy(o, to_device, block);
    finish(o->copies);
}

static void overlap(peer_device *d, const peer_block *block, bool has_copy, uint32_t steps)
{
    opencl *o = (opencl *)d;
    static const size_t one = 1;
    const cl_uint number = steps;
    if (steps) {
        give(o->kernel[SPIN], 0, sizeof(cl_mem), &o->number);
        give(o->kernel[SPIN], 1, sizeof(number), &number);
        enqueue(o, SPIN, 1, &one, NULL);
        check(cl.clFlush(o->kernels), "clFlush");
    }
    if (has_copy) {
        start_copy(o, true, block);
        finish(o->copies);
    }
    finish(o->kernels);
}

/* ---- programs */

static cl_mem reserve(opencl *o, size_t bytes)
{
    cl_int code;
    cl_mem memory = cl.clCreateBuffer(o->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    check(code, "clCreateBuffer");
    return memory;
}

static cl_mem filled(opencl *o, const void *contents)
{
    const size_t bytes = o->running.bytes;
    cl_mem memory = reserve(o, bytes);
    check(cl.clEnqueueWriteBuffer(o->kernels, memory, CL_TRUE, 0, bytes, contents, 0, NULL, NULL), "a copy");
    return memory;
}

static void open_program(peer_device *d, const peer_program *program)
{
    opencl *o = (opencl *)d;
    o->running = *program;
    o->first = filled(o, program->first);
    o->second = filled(o, program->second);
}

static void nbody(opencl *o)
{
    const size_t group = PEER_TILE, global = (o->running.size + group - 1) / group * group;
    const cl_uint bodies = o->running.size;
    const int both[] = { KICK, DRIFT };
    for (int i = 0; i < 2; i++) {
        cl_kernel k = o->kernel[both[i]];
        give(k, 0, sizeof(cl_mem), &o->first);
        give(k, 1, sizeof(cl_mem), &o->second);
        give(k, 2, sizeof(bodies), &bodies);
        give(k, 3, sizeof(double), both[i] == KICK ? &peer_kick : &peer_drift);
        if (both[i] == KICK) {
            give(k, 4, sizeof(double), &peer_softening);
        }
        enqueue(o, both[i], 1, &global, &group);
    }
}

static void wave(opencl *o)
{
    const size_t group[] = { PEER_COLUMNS, PEER_ROWS }, side = o->running.size;
    const size_t global[] = { (side + group[0] - 1) / group[0] * group[0],
                              (side + group[1] - 1) / group[1] * group[1] };
    const cl_uint cells = o->running.size;
    cl_mem newest = o->second;
    give(o->kernel[WAVE], 0, sizeof(cl_mem), &o->first);
    give(o->kernel[WAVE], 1, sizeof(cl_mem), &o->second);
    give(o->kernel[WAVE], 2, sizeof(cells), &cells);
    give(o->kernel[WAVE], 3, sizeof(double), &peer_c2);
    enqueue(o, WAVE, 2, global, group);
    o->second = o->first;
    o->first = newest;
}

static void step(peer_device *d, int steps)
{
    opencl *o = (opencl *)d;
    for (int i = 0; i < steps; i++) {
        if (o->running.is_nbody) {
            nbody(o);
        } else {
            wave(o);
        }
    }
    finish(o->kernels);
}

static void close_program(peer_device *d, void *out)
{
    opencl *o = (opencl *)d;
    check(cl.clEnqueueReadBuffer(o->kernels, o->first, CL_TRUE, 0, o->running.bytes, out, 0, NULL, NULL), "a copy");
    cl.clReleaseMemObject(o->first);
    cl.clReleaseMemObject(o->second);
}

/* ---- begin and end */

static void close(peer_device *d)
{
    opencl *o = (opencl *)d;
    for (int i = 0; i < KERNELS; i++) {
        cl.clReleaseKernel(o->kernel[i]);
    }
    cl.clReleaseProgram(o->program);
    cl.clReleaseMemObject(o->memory);
    cl.clReleaseMemObject(o->number);
    cl.clReleaseCommandQueue(o->kernels);
    cl.clReleaseCommandQueue(o->copies);
    cl.clReleaseContext(o->context);
    free(o->host);
    free(o);
}

static bool load(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    bool all = library;
#define FIND(function)                                                                                                 \
    {                                                                                                                  \
        void *symbol = library ? dlsym(library, #function) : NULL;                                                     \
        memcpy(&cl.function, &symbol, sizeof(symbol)); /* C has no other way from an object pointer */                 \
        all = all && symbol;                                                                                           \
    }
    FUNCTIONS(FIND)
    return all;
}

/* Counted over all platforms, as tacit counts. */
static cl_device_id find(int index)
{
    enum { MOST_PLATFORMS = 16, MOST_DEVICES = 64 };
    cl_platform_id platform[MOST_PLATFORMS];
    cl_uint platforms = 0;
    if (cl.clGetPlatformIDs(MOST_PLATFORMS, platform, &platforms) != CL_SUCCESS) {
        return NULL;
    }
    for (cl_uint p = 0; p < platforms && p < MOST_PLATFORMS; p++) {
        cl_device_id device[MOST_DEVICES];
        cl_uint devices = 0;
        if (cl.clGetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, device, &devices) != CL_SUCCESS) {
            continue;
        }
        if (index < (int)devices) {
            return device[index];
        }
        index -= (int)devices;
    }
    return NULL;
}

static void prepare(opencl *o)
{
    const char *source = text;
    cl_int code;
    o->context = cl.clCreateContext(NULL, 1, &o->device, NULL, NULL, &code);
    check(code, "clCreateContext");
    o->kernels = cl.clCreateCommandQueue(o->context, o->device, 0, &code);
    check(code, "clCreateCommandQueue");
    o->copies = cl.clCreateCommandQueue(o->context, o->device, 0, &code);
    check(code, "clCreateCommandQueue");
    o->program = cl.clCreateProgramWithSource(o->context, 1, &source, NULL, &code);
    check(code, "clCreateProgramWithSource");
    check(cl.clBuildProgram(o->program, 1, &o->device, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
    for (int i = 0; i < KERNELS; i++) {
        o->kernel[i] = cl.clCreateKernel(o->program, names[i], &code);
        check(code, "clCreateKernel");
    }
    o->memory = reserve(o, o->bytes);
    o->number = reserve(o, sizeof(double));
    give(o->kernel[EMPTY], 0, sizeof(cl_mem), &o->number);
}

peer_device *peer_opencl_open(int index, size_t bytes, char *model)
{
    cl_device_id device = load() ? find(index) : NULL;
    if (!device) {
        return NULL;
    }
    opencl *o = calloc(1, sizeof(*o));
    o->base = (peer_device){ .close = close,
                             .empty = empty,
                             .chain = chain,
                             .copy = copy,
                             .overlap = overlap,
                             .open_program = open_program,
                             .step = step,
                             .close_program = close_program };
    o->device = device;
    o->bytes = bytes;
    o->host = calloc(1, bytes);
    cl.clGetDeviceInfo(device, CL_DEVICE_NAME, 127, model, NULL);
    prepare(o);
    return &o->base;
}
