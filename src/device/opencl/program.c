/* Kernels in OpenCL C, compiled: once for all devices of the session, when a task first needs them, and kept.
 *
 * Texts are known by their addresses: tacit_kernel promises that they stay as they are. */
#include "device/opencl/session.h"

#include "base/log.h"

#include <stdio.h>

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
        ti_failure_set(s->failure, TACIT_ERROR_KERNEL,
                       "task '%.60s': its OpenCL kernel '%.60s' does not compile: %.300s", job->launch.name,
                       job->kernel->opencl.entry, ti_text_important_line(log));
        ti_free(log, length + 1);
        return;
    }
}

static cl_program compile(ti_opencl_session *s, const ti_device_kernel *job, int dims)
{
    char options[64];
    ti_strbuf mark = { 0 };
    cl_int code;
    ti_text_add_mark(job->launch.name, &mark);
    const char *text[] = { ti_opencl_prelude, ti_text_views, mark.text, job->kernel->opencl.source };
    snprintf(options, sizeof(options), "-cl-std=CL1.2 -D TACIT_DIMS=%d", dims);
    cl_program program = s->cl.clCreateProgramWithSource(s->context, TI_COUNT(text), text, NULL, &code);
    ti_strbuf_fini(&mark);
    if (!program) {
        ti_failure_set(s->failure, TACIT_ERROR_MEMORY, "task '%s': OpenCL takes no program (%s)", job->launch.name,
                       ti_opencl_error_name(code));
        return NULL;
    }
    code = s->cl.clBuildProgram(program, (cl_uint)s->device.count, s->device.data, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        say_why(s, program, job);
        s->cl.clReleaseProgram(program);
        return NULL;
    }
    return program;
}

const ti_opencl_kernel *ti_opencl_kernel_of(ti_opencl_session *session, const ti_device_kernel *job)
{
    const char *source = job->kernel->opencl.source, *entry = job->kernel->opencl.entry;
    int dims = TI_MAX(job->dims, 1);
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
            session->failure, TACIT_ERROR_KERNEL,
            "task '%s': its OpenCL source has no kernel '%s' (%s); .entry must be the name of a TACIT_KERNEL",
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
