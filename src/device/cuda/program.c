/* Kernels in CUDA C: see program.h and session.h. They are compiled when a task first needs them, once for each GPU,
 * and kept. Texts are known by their addresses: tacit_kernel promises that they stay as they are. */
#include "device/cuda/program.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

static bool can_compile(ti_cuda_session *s, const ti_device_kernel *job)
{
    ti_strbuf why = { 0 };
    s->compiles = s->compiles || ti_nvrtc_load(&s->rtc, &why);
    if (!s->compiles) {
        ti_failure_set(s->failure, TACIT_ERROR_UNSUPPORTED,
                       "task '%.60s': its CUDA kernel is text, and CUDA's compiler cannot be loaded (%.300s); install "
                       "libnvrtc, or give .cuda.launch",
                       job->launch.name, why.text);
    }
    ti_strbuf_fini(&why);
    return s->compiles;
}

static void say_why(ti_cuda_session *s, ti_nvrtc_program program, const ti_device_kernel *job)
{
    size_t length = 0;
    s->rtc.log_size(program, &length);
    char *log = ti_alloc_zero(length + 1);
    s->rtc.log(program, log);
    ti_log_text(TI_LOG_ERROR, log);
    ti_failure_set(s->failure, TACIT_ERROR_KERNEL, "task '%.60s': its CUDA kernel '%.60s' does not compile: %.300s",
                   job->launch.name, job->kernel->cuda.entry, ti_text_important_line(log));
    ti_free(log, length + 1);
}

static bool take_binary(ti_cuda_session *s, ti_nvrtc_program program, ti_strbuf *out)
{
    size_t length = 0;
    if (s->rtc.binary_size(program, &length) != 0 || length == 0) {
        return false;
    }
    ti_strbuf_reserve(out, length + 1);
    out->length = length;
    return s->rtc.binary(program, out->text) == 0;
}

bool ti_cuda_compile(ti_cuda_session *session, const ti_cuda_context *context, const ti_device_kernel *job, int dims,
                     ti_strbuf *out)
{
    /* Not contracted, as on the host and in OpenCL: the same bits. Functions of the task need no __device__. */
    char arch[32], dimensions[32];
    const char *const options[] = { arch, dimensions, "--fmad=false", "--device-as-default-execution-space",
                                    "--std=c++17" };
    ti_nvrtc_program program = NULL;
    ti_strbuf text = { 0 };
    if (!can_compile(session, job)) {
        return false;
    }
    snprintf(arch, sizeof(arch), "--gpu-architecture=sm_%d%d", context->major, context->minor);
    snprintf(dimensions, sizeof(dimensions), "-DTACIT_DIMS=%d", dims);
    ti_strbuf_add(&text, "%s%s", ti_cuda_prelude, ti_text_views);
    ti_text_add_mark(job->launch.name, &text);
    ti_strbuf_add(&text, "%s", job->kernel->cuda.source);
    bool good = session->rtc.create(&program, text.text, "tacit", 0, NULL, NULL) == 0;
    if (!good) {
        ti_failure_set(session->failure, TACIT_ERROR_MEMORY, "task '%.60s': CUDA's compiler takes no program",
                       job->launch.name);
    } else if (session->rtc.compile(program, TI_COUNT(options), options) != 0 || !take_binary(session, program, out)) {
        say_why(session, program, job);
        good = false;
    }
    if (program) {
        session->rtc.destroy(&program);
    }
    ti_strbuf_fini(&text);
    return good;
}

static bool load(ti_cuda_session *s, const ti_device_kernel *job, ti_cuda_kernel *k)
{
    ti_strbuf binary = { 0 };
    ti_cu_result code = TI_CU_SUCCESS;
    bool compiled = ti_cuda_compile(s, k->context, job, k->dims, &binary);
    if (compiled) {
        code = s->cu.module_load(&k->module, binary.text);
        code = code ? code : s->cu.function(&k->function, k->module, k->entry);
    }
    ti_strbuf_fini(&binary);
    if (code == TI_CU_ERROR_NOT_FOUND) {
        ti_failure_set(s->failure, TACIT_ERROR_KERNEL,
                       "task '%s': its CUDA source has no kernel '%s' (%s); .entry must be the name of a TACIT_KERNEL",
                       job->launch.name, k->entry, ti_cuda_error_name(&s->cu, code));
    } else if (code != TI_CU_SUCCESS) {
        ti_failure_set(s->failure, code == TI_CU_ERROR_OUT_OF_MEMORY ? TACIT_ERROR_MEMORY : TACIT_ERROR_KERNEL,
                       "task '%s': device cuda:%d does not take its kernel '%s' (%s)", job->launch.name,
                       k->context->index, k->entry, ti_cuda_error_name(&s->cu, code));
    }
    if (code != TI_CU_SUCCESS && k->module) {
        s->cu.module_unload(k->module);
    }
    return compiled && code == TI_CU_SUCCESS;
}

const ti_cuda_kernel *ti_cuda_kernel_of(ti_cuda_session *session, const ti_cuda_context *context,
                                        const ti_device_kernel *job)
{
    ti_cuda_kernel k = { .source = job->kernel->cuda.source,
                         .entry = job->kernel->cuda.entry,
                         .dims = TI_MAX(job->dims, 1),
                         .context = context };
    for (size_t i = 0; i < session->kernel.count; i++) {
        const ti_cuda_kernel *known = &session->kernel.data[i];
        if (known->source == k.source && known->entry == k.entry && known->dims == k.dims &&
            known->context == context) {
            return known;
        }
    }
    if (!load(session, job, &k)) {
        return NULL;
    }
    ti_vec_push(&session->kernel, k);
    return &session->kernel.data[session->kernel.count - 1];
}

void ti_cuda_kernels_fini(ti_cuda_session *session)
{
    for (size_t i = 0; i < session->kernel.count; i++) {
        const ti_cuda_kernel *k = &session->kernel.data[i];
        bool entered = ti_cuda_enter(session, k->context) == TI_CU_SUCCESS; /* not if the device is lost */
        session->cu.module_unload(k->module);
        if (entered) {
            ti_cuda_exit(session);
        }
    }
    ti_vec_fini(&session->kernel);
}
