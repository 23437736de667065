/* Kernels in CUDA C: see program.h and session.h. They are compiled when a task first needs them, once for each GPU,
 * and kept; also on disk, for later runs (device/kernel_cache.h). Texts are known by their addresses: tacit_kernel
 * promises that they stay as they are. */
#include "device/cuda/program.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

static bool can_compile(ti_cuda_session *s, const ti_device_kernel *job)
{
    ti_strbuf why = { 0 };
    s->compiles = s->compiles || ti_nvrtc_load(&s->rtc, &why);
    if (!s->compiles) {
        ti_failure_set(s->base.failure, TACIT_ERROR_UNSUPPORTED,
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
    ti_failure_set(s->base.failure, TACIT_ERROR_KERNEL,
                   "task '%.60s': its CUDA kernel '%.60s' does not compile: %.300s", job->launch.name,
                   job->kernel->cuda.entry, ti_text_important_line(log));
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

/* What NVRTC is given for a kernel. */
typedef struct question {
    ti_strbuf text;
    char arch[32], dims[32];
} question;

static void ask(question *q, const ti_cuda_context *context, const ti_device_kernel *job, int dims)
{
    *q = (question){ .text = { 0 } };
    snprintf(q->arch, sizeof(q->arch), "--gpu-architecture=sm_%d%d", context->major, context->minor);
    snprintf(q->dims, sizeof(q->dims), "-DTACIT_DIMS=%d", dims);
    ti_strbuf_add(&q->text, "%s%s", ti_cuda_prelude, ti_text_views);
    ti_text_add_mark(job->launch.name, &q->text);
    ti_strbuf_add(&q->text, "%s", job->kernel->cuda.source);
}

static bool compile(ti_cuda_session *s, const question *q, const ti_device_kernel *job, ti_strbuf *out)
{
    /* Not contracted, as on the host and in OpenCL: the same bits. Functions of the task need no __device__. */
    const char *const options[] = { q->arch, q->dims, "--fmad=false", "--device-as-default-execution-space",
                                    "--std=c++17" };
    ti_nvrtc_program program = NULL;
    bool good = s->rtc.create(&program, q->text.text, "tacit", 0, NULL, NULL) == 0;
    s->base.cache.compiled += good;
    if (!good) {
        ti_failure_set(s->base.failure, TACIT_ERROR_MEMORY, "task '%.60s': CUDA's compiler takes no program",
                       job->launch.name);
    } else if (s->rtc.compile(program, TI_COUNT(options), options) != 0 || !take_binary(s, program, out)) {
        say_why(s, program, job);
        good = false;
    }
    if (program) {
        s->rtc.destroy(&program);
    }
    return good;
}

bool ti_cuda_compile(ti_cuda_session *session, const ti_cuda_context *context, const ti_device_kernel *job, int dims,
                     ti_strbuf *out)
{
    question q;
    if (!can_compile(session, job)) {
        return false;
    }
    ask(&q, context, job, dims);
    bool good = compile(session, &q, job, out);
    ti_strbuf_fini(&q.text);
    return good;
}

/* ---- loading */

static void add_key(ti_cuda_session *s, const ti_cuda_context *context, const question *q, ti_strbuf *out)
{
    int major = 0, minor = 0;
    s->rtc.version(&major, &minor);
    ti_strbuf_add(out, "CUDA %s %s\n%s\ndriver %d, NVRTC %d.%d\n%s", q->arch, q->dims, context->name, s->version, major,
                  minor, q->text.text);
}

static ti_cu_result take(ti_cuda_session *s, ti_cuda_kernel *k, const ti_strbuf *binary)
{
    ti_cu_result code = s->cu.module_load(&k->module, binary->text);
    code = code ? code : s->cu.function(&k->function, k->module, k->entry);
    if (code != TI_CU_SUCCESS && k->module) {
        s->cu.module_unload(k->module);
        k->module = NULL;
    }
    return code;
}

static void say_refusal(ti_cuda_session *s, const ti_device_kernel *job, const ti_cuda_kernel *k, ti_cu_result code)
{
    if (code == TI_CU_ERROR_NOT_FOUND) {
        ti_failure_set(s->base.failure, TACIT_ERROR_KERNEL,
                       "task '%s': its CUDA source has no kernel '%s' (%s); .entry must be the name of a TACIT_KERNEL",
                       job->launch.name, k->entry, ti_cuda_error_name(&s->cu, code));
    } else {
        ti_failure_set(s->base.failure, code == TI_CU_ERROR_OUT_OF_MEMORY ? TACIT_ERROR_MEMORY : TACIT_ERROR_KERNEL,
                       "task '%s': device cuda:%d does not take its kernel '%s' (%s)", job->launch.name,
                       k->context->index, k->entry, ti_cuda_error_name(&s->cu, code));
    }
}

/* Code that was kept and that the driver does not take is compiled again. */
static bool load(ti_cuda_session *s, const ti_device_kernel *job, ti_cuda_kernel *k)
{
    question q;
    ti_strbuf key = { 0 }, binary = { 0 };
    if (!can_compile(s, job)) {
        return false;
    }
    ask(&q, k->context, job, k->dims);
    add_key(s, k->context, &q, &key);
    bool good = ti_kernel_cache_find(&s->base.cache, &key, &binary) && take(s, k, &binary) == TI_CU_SUCCESS;
    s->base.cache.found += good;
    if (!good) {
        ti_strbuf_fini(&binary);
        good = compile(s, &q, job, &binary);
        ti_cu_result code = good ? take(s, k, &binary) : TI_CU_SUCCESS;
        if (good && code != TI_CU_SUCCESS) {
            say_refusal(s, job, k, code);
            good = false;
        } else if (good) {
            ti_kernel_cache_keep(&s->base.cache, &key, &binary);
        }
    }
    ti_strbuf_fini(&q.text);
    ti_strbuf_fini(&key);
    ti_strbuf_fini(&binary);
    return good;
}

ti_cuda_kernel *ti_cuda_kernel_of(ti_cuda_session *session, const ti_cuda_context *context, const ti_device_kernel *job)
{
    ti_cuda_kernel k = { .source = job->kernel->cuda.source,
                         .entry = job->kernel->cuda.entry,
                         .dims = TI_MAX(job->launch.dims, 1),
                         .context = context,
                         .list = { .views = -1 } };
    for (size_t i = 0; i < session->kernel.count; i++) {
        ti_cuda_kernel *known = &session->kernel.data[i];
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
