/* What the OpenCL devices of a node have in common: see session.h.
 *
 * The library stays loaded when the session ends: implementations keep threads and memory that a second load would not
 * find again. */
#include "device/opencl/session.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_PLATFORMS = 16, MAX_OF_PLATFORM = 64 };

bool ti_opencl_is_built(void)
{
    return true;
}

/* ---- the library */

static bool load(ti_opencl_api *cl, ti_strbuf *why)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *missing = NULL;
    if (!library) {
        ti_strbuf_add(why,
                      "TACIT_DEVICES names OpenCL devices, but there is no OpenCL here (%s); install its loader, "
                      "such as ocl-icd-libopencl1, and a driver",
                      dlerror());
        return false;
    }
#define FIND(function)                                                                                                 \
    {                                                                                                                  \
        void *symbol = dlsym(library, #function);                                                                      \
        memcpy(&cl->function, &symbol, sizeof(symbol)); /* C has no other way from an object pointer */                \
        missing = symbol ? missing : #function;                                                                        \
    }
    TI_OPENCL_FUNCTIONS(FIND)
#undef FIND
    if (missing) {
        ti_strbuf_add(why,
                      "TACIT_DEVICES names OpenCL devices, but libOpenCL.so.1 has no %s; install OpenCL 1.2 or later",
                      missing);
    }
    return !missing;
}

/* ---- devices */

typedef struct found {
    cl_platform_id platform;
    cl_device_id device;
} found;

/* Device `index` of all platforms; false if there are fewer, whose number is left in *count. */
static bool find_device(const ti_opencl_api *cl, int index, found *out, int *count)
{
    cl_platform_id platform[MAX_PLATFORMS];
    cl_uint platforms = 0;
    *count = 0;
    if (cl->clGetPlatformIDs(MAX_PLATFORMS, platform, &platforms) != CL_SUCCESS) {
        platforms = 0; /* with none there, the loader says that there is an error */
    }
    for (cl_uint p = 0; p < TI_MIN(platforms, (cl_uint)MAX_PLATFORMS); p++) {
        cl_device_id device[MAX_OF_PLATFORM];
        cl_uint devices = 0;
        if (cl->clGetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, MAX_OF_PLATFORM, device, &devices) != CL_SUCCESS) {
            continue;
        }
        devices = TI_MIN(devices, (cl_uint)MAX_OF_PLATFORM);
        if (index < *count + (int)devices) {
            *out = (found){ platform[p], device[index - *count] };
            return true;
        }
        *count += (int)devices;
    }
    return false;
}

bool ti_opencl_fact_of(int index, ti_opencl_fact *out)
{
    ti_opencl_api cl;
    ti_strbuf why = { 0 };
    found at;
    int count;
    bool there = load(&cl, &why) && find_device(&cl, index, &at, &count);
    *out = (ti_opencl_fact){ .memory = 0 };
    if (there) {
        cl_device_type type = 0;
        cl_ulong memory = 0;
        cl_uint units = 0;
        cl.clGetDeviceInfo(at.device, CL_DEVICE_NAME, sizeof(out->name) - 1, out->name, NULL);
        cl.clGetPlatformInfo(at.platform, CL_PLATFORM_NAME, sizeof(out->platform) - 1, out->platform, NULL);
        cl.clGetDeviceInfo(at.device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
        cl.clGetDeviceInfo(at.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL);
        cl.clGetDeviceInfo(at.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
        out->memory = memory;
        out->units = (int)units;
        out->is_gpu = type & CL_DEVICE_TYPE_GPU;
        cl_device_fp_config doubles = 0;
        cl.clGetDeviceInfo(at.device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(doubles), &doubles, NULL);
        out->has_doubles = doubles != 0;
    }
    ti_strbuf_fini(&why);
    return there;
}

/* Divide a device into parts of equally many units, which are left at the end of `made`. */
static bool divide(ti_opencl_session *s, cl_device_id whole, const ti_opencl_name *name, ti_strbuf *why)
{
    cl_device_id part[MAX_OF_PLATFORM];
    cl_uint units = 0, made = 0;
    s->cl.clGetDeviceInfo(whole, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
    const cl_device_partition_property how[] = { CL_DEVICE_PARTITION_EQUALLY, (intptr_t)units / name->parts, 0 };
    cl_int code = units < (cl_uint)name->parts ? CL_INVALID_DEVICE_PARTITION_COUNT
                                               : s->cl.clCreateSubDevices(whole, how, MAX_OF_PLATFORM, part, &made);
    for (cl_uint i = 0; code == CL_SUCCESS && i < made; i++) {
        if (i < (cl_uint)name->parts) {
            ti_vec_push(&s->made, part[i]);
        } else {
            s->cl.clReleaseDevice(part[i]);
        }
    }
    if (code != CL_SUCCESS || made < (cl_uint)name->parts) {
        ti_strbuf_add(why, "TACIT_DEVICES divides opencl:%d into %d parts, which is not possible (%u units, %s)",
                      name->index, name->parts, units, ti_opencl_error_name(code));
        return false;
    }
    return true;
}

static void add_once(ti_opencl_session *s, cl_device_id device)
{
    for (size_t i = 0; i < s->device.count; i++) {
        if (s->device.data[i] == device) {
            return;
        }
    }
    ti_vec_push(&s->device, device);
}

static bool find_all(ti_opencl_session *s, const ti_opencl_name *name, int count, cl_device_id *out, ti_strbuf *why)
{
    cl_platform_id platform = NULL;
    for (int i = 0; i < count; i++) {
        found at;
        int there;
        if (!find_device(&s->cl, name[i].index, &at, &there)) {
            ti_strbuf_add(why,
                          "TACIT_DEVICES names opencl:%d, but there are %d OpenCL devices here, counted from 0; "
                          "`tacit info` lists them",
                          name[i].index, there);
            return false;
        }
        if (platform && at.platform != platform) {
            ti_strbuf_add(why,
                          "TACIT_DEVICES names opencl:%d, whose driver is not that of opencl:%d; use devices of one "
                          "driver",
                          name[i].index, name[0].index);
            return false;
        }
        if (name[i].part == 0 && name[i].parts > 1 && !divide(s, at.device, &name[i], why)) {
            return false;
        }
        platform = at.platform;
        out[i] = name[i].parts == 1 ? at.device
                                    : s->made.data[s->made.count - (size_t)name[i].parts + (size_t)name[i].part];
        add_once(s, out[i]);
    }
    return true;
}

/* ---- the session */

static void destroy(ti_opencl_session *s)
{
    ti_opencl_kernels_fini(s);
    if (s->context) {
        s->cl.clReleaseContext(s->context);
    }
    for (size_t i = 0; i < s->made.count; i++) {
        s->cl.clReleaseDevice(s->made.data[i]);
    }
    ti_vec_fini(&s->device);
    ti_vec_fini(&s->made);
    ti_session_fini(&s->base);
    TI_DELETE(s);
}

ti_opencl_session *ti_opencl_session_create(const ti_opencl_name *name, int count, const char *cache,
                                            ti_failure *failure, cl_device_id *out, ti_strbuf *why)
{
    ti_opencl_session *s = TI_NEW(ti_opencl_session);
    cl_int code = CL_SUCCESS;
    ti_session_init(&s->base, cache, failure);
    bool good = load(&s->cl, why) && find_all(s, name, count, out, why);
    if (good) {
        s->context = s->cl.clCreateContext(NULL, (cl_uint)s->device.count, s->device.data, NULL, NULL, &code);
        if (!s->context) {
            ti_strbuf_add(why, "the OpenCL devices of TACIT_DEVICES cannot be used together (%s)",
                          ti_opencl_error_name(code));
        }
    }
    if (!s->context) {
        destroy(s);
        return NULL;
    }
    return s;
}

void ti_opencl_session_leave(ti_opencl_session *session)
{
    if (--session->base.users == 0) {
        destroy(session);
    }
}

/* ---- memory */

tacit_status ti_opencl_memory_create(ti_opencl_session *session, size_t bytes, void **out)
{
    ti_memory_piece m = { .bytes = bytes };
    cl_int code;
    m.address = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m.address == MAP_FAILED) {
        return TACIT_ERROR_MEMORY;
    }
    m.handle = session->cl.clCreateBuffer(session->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (!m.handle) {
        munmap(m.address, bytes);
        return TACIT_ERROR_MEMORY;
    }
    ti_memories_add(&session->base.memory, m);
    *out = m.address;
    return TACIT_OK;
}

void ti_opencl_memory_destroy(ti_opencl_session *session, void *address)
{
    ti_memory_piece m = ti_memories_take(&session->base.memory, address);
    session->cl.clReleaseMemObject(m.handle);
    munmap(m.address, m.bytes);
}
