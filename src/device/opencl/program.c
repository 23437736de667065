/* Kernels in OpenCL C, compiled: see session.h. A program is compiled once for all devices of the session, when a task
 * first needs it, and kept; also on disk, for later runs (device/kernel_cache.h).
 *
 * Texts are known by their addresses: tacit_kernel promises that they stay as they are. Executor role. */
#include "device/opencl/session.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

static void say_why(ti_opencl_session *s, cl_program program, const ti_device_kernel *job)
{
    for (size_t d = 0; d < s->device.count; d++) {
        cl_build_status status = CL_BUILD_NONE;
        size_t length = 0;
        s->cl.clGetProgramBuildInfo(program, s->device.data[d], CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL);
        s->cl.clGetProgramBuildInfo(program, s->device.data[d], CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
        if (status != CL_BUILD_ERROR && d + 1 < s->device.count) {
            continue;
        }
        char *log = ti_alloc_zero(length + 1);
        s->cl.clGetProgramBuildInfo(program, s->device.data[d], CL_PROGRAM_BUILD_LOG, length, log, NULL);
        ti_log_text(TI_LOG_ERROR, log);
        ti_failure_set(s->base.failure, TACIT_ERROR_KERNEL,
                       "task '%.60s': its OpenCL kernel '%.60s' does not compile: %.300s", job->launch.name,
                       job->kernel->opencl.entry, ti_text_important_line(log));
        ti_free(log, length + 1);
        return;
    }
}

/* ---- kept programs: for each device, in the session's order, the bytes of its code; then the code of all */

static void add_fact(ti_opencl_session *s, cl_device_id device, cl_device_info what, ti_strbuf *out)
{
    char text[256] = "";
    s->cl.clGetDeviceInfo(device, what, sizeof(text) - 1, text, NULL);
    ti_strbuf_add(out, "%s\n", text);
}

static void add_key(ti_opencl_session *s, const char *options, const char *text, ti_strbuf *out)
{
    ti_strbuf_add(out, "OpenCL %s\n", options);
    for (size_t d = 0; d < s->device.count; d++) {
        add_fact(s, s->device.data[d], CL_DEVICE_NAME, out);
        add_fact(s, s->device.data[d], CL_DEVICE_VERSION, out);
        add_fact(s, s->device.data[d], CL_DRIVER_VERSION, out);
    }
    ti_strbuf_add(out, "%s", text);
}

/* The parts of `code` as OpenCL takes them. False if they are not as many bytes as there are. */
static bool find_parts(const ti_strbuf *code, size_t count, size_t *length, const unsigned char **part)
{
    size_t at = count * sizeof(*length);
    if (code->length < at) {
        return false;
    }
    memcpy(length, code->text, at);
    for (size_t d = 0; d < count; d++) {
        part[d] = (const unsigned char *)code->text + at;
        if (length[d] == 0 || length[d] > code->length - at) {
            return false;
        }
        at += length[d];
    }
    return at == code->length;
}

/* NULL: there is none, or the driver does not want it any more. */
static cl_program take_kept(ti_opencl_session *s, const ti_strbuf *key, const char *options)
{
    const size_t count = s->device.count;
    size_t *length = TI_NEW_ARRAY(size_t, count);
    const unsigned char **part = TI_NEW_ARRAY(const unsigned char *, count);
    ti_strbuf code = { 0 };
    cl_program program = NULL;
    cl_int error = CL_SUCCESS;
    if (ti_kernel_cache_find(&s->base.cache, key, &code) && find_parts(&code, count, length, part)) {
        program = s->cl.clCreateProgramWithBinary(s->context, (cl_uint)count, s->device.data, length, part, NULL,
                                                  &error);
    }
    if (program && s->cl.clBuildProgram(program, (cl_uint)count, s->device.data, options, NULL, NULL) != CL_SUCCESS) {
        s->cl.clReleaseProgram(program);
        program = NULL;
    }
    ti_strbuf_fini(&code);
    ti_free(length, count * sizeof(*length));
    ti_free(part, count * sizeof(*part));
    return program;
}

/* Whether the program is for the session's devices in their order, and how long its parts are. */
static bool are_parts_known(ti_opencl_session *s, cl_program program, size_t *length)
{
    const size_t count = s->device.count;
    size_t bytes = 0;
    cl_device_id *device = TI_NEW_ARRAY(cl_device_id, count);
    bool good = s->cl.clGetProgramInfo(program, CL_PROGRAM_DEVICES, 0, NULL, &bytes) == CL_SUCCESS &&
                bytes == count * sizeof(*device) &&
                s->cl.clGetProgramInfo(program, CL_PROGRAM_DEVICES, bytes, device, NULL) == CL_SUCCESS &&
                memcmp(device, s->device.data, bytes) == 0 &&
                s->cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(*length), length, NULL) ==
                    CL_SUCCESS;
    ti_free(device, count * sizeof(*device));
    return good;
}

static void keep(ti_opencl_session *s, const ti_strbuf *key, cl_program program)
{
    const size_t count = s->device.count;
    size_t *length = TI_NEW_ARRAY(size_t, count), all = count * sizeof(*length);
    unsigned char **part = TI_NEW_ARRAY(unsigned char *, count);
    ti_strbuf code = { 0 };
    bool good = s->base.cache.folder && are_parts_known(s, program, length);
    for (size_t d = 0; d < count && good; d++) {
        good = length[d] > 0;
        all += length[d];
    }
    if (good) {
        ti_strbuf_reserve(&code, all + 1);
        memcpy(code.text, length, count * sizeof(*length));
        code.length = all;
        size_t at = count * sizeof(*length);
        for (size_t d = 0; d < count; at += length[d++]) {
            part[d] = (unsigned char *)code.text + at;
        }
        if (s->cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(*part), part, NULL) == CL_SUCCESS) {
            ti_kernel_cache_keep(&s->base.cache, key, &code);
        }
    }
    ti_strbuf_fini(&code);
    ti_free(length, count * sizeof(*length));
    ti_free(part, count * sizeof(*part));
}

/* ---- compiling */

static cl_program from_source(ti_opencl_session *s, const ti_device_kernel *job, const char *text, const char *options)
{
    cl_int code;
    cl_program program = s->cl.clCreateProgramWithSource(s->context, 1, &text, NULL, &code);
    if (!program) {
        ti_failure_set(s->base.failure, TACIT_ERROR_MEMORY, "task '%s': OpenCL takes no program (%s)", job->launch.name,
                       ti_opencl_error_name(code));
        return NULL;
    }
    s->base.cache.compiled++;
    code = s->cl.clBuildProgram(program, (cl_uint)s->device.count, s->device.data, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        say_why(s, program, job);
        s->cl.clReleaseProgram(program);
        return NULL;
    }
    return program;
}

static cl_program compile(ti_opencl_session *s, const ti_device_kernel *job, int dims)
{
    char options[64];
    ti_strbuf text = { 0 }, key = { 0 };
    ti_strbuf_add(&text, "%s%s", ti_opencl_prelude, ti_text_views);
    ti_text_add_mark(job->launch.name, &text);
    ti_strbuf_add(&text, "%s", job->kernel->opencl.source);
    snprintf(options, sizeof(options), "-cl-std=CL1.2 -D TACIT_DIMS=%d", dims);
    add_key(s, options, text.text, &key);
    cl_program program = take_kept(s, &key, options);
    if (program) {
        s->base.cache.found++;
    } else {
        program = from_source(s, job, text.text, options);
        if (program) {
            keep(s, &key, program);
        }
    }
    ti_strbuf_fini(&text);
    ti_strbuf_fini(&key);
    return program;
}

const ti_opencl_kernel *ti_opencl_kernel_of(ti_opencl_session *session, const ti_device_kernel *job)
{
    const char *source = job->kernel->opencl.source, *entry = job->kernel->opencl.entry;
    int dims = TI_MAX(job->launch.dims, 1);
    for (size_t i = 0; i < session->kernel.count; i++) {
        const ti_opencl_kernel *k = &session->kernel.data[i];
        if (k->source == source && k->entry == entry && k->dims == dims) {
            return k;
        }
    }
    ti_opencl_kernel k = { .source = source, .entry = entry, .dims = dims };
    k.program = compile(session, job, dims);
    if (!k.program) {
        return NULL;
    }
    cl_int code;
    k.kernel = session->cl.clCreateKernel(k.program, entry, &code);
    if (!k.kernel) {
        ti_failure_set(
            session->base.failure, TACIT_ERROR_KERNEL,
            "task '%s': its OpenCL source has no kernel '%s' (%s); .entry must be the name of a TACIT_KERNEL, and not "
            "that of a function of OpenCL C, such as step",
            job->launch.name, entry, ti_opencl_error_name(code));
        session->cl.clReleaseProgram(k.program);
        return NULL;
    }
    session->cl.clGetKernelInfo(k.kernel, CL_KERNEL_NUM_ARGS, sizeof(k.parameters), &k.parameters, NULL);
    ti_vec_push(&session->kernel, k);
    return &session->kernel.data[session->kernel.count - 1];
}

void ti_opencl_kernels_fini(ti_opencl_session *session)
{
    for (size_t i = 0; i < session->kernel.count; i++) {
        session->cl.clReleaseKernel(session->kernel.data[i].kernel);
        session->cl.clReleaseProgram(session->kernel.data[i].program);
    }
    ti_vec_fini(&session->kernel);
}
