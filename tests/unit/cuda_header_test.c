/* What tacit declares of CUDA is what CUDA's headers declare, and what it gives NVRTC compiles. Both are looked for
 * when this is built, or run; where there are none, the test says so. */
#include "device/cuda/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if __has_include(<cuda.h>)
#include "tacit/cuda.h"

#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours " is not " #theirs)
SAME(TI_CU_SUCCESS, CUDA_SUCCESS);
SAME(TI_CU_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(TI_CU_ERROR_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME(TI_CU_ERROR_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(TI_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(TI_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(TI_CU_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME(TI_CU_MEMORY_HOST, CU_MEMORYTYPE_HOST);
SAME(TI_CU_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);
SAME(TI_CU_MAX_PITCH, CU_DEVICE_ATTRIBUTE_MAX_PITCH);
SAME(TI_CU_MAX_SHARED_BYTES, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(TI_CU_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(TI_CU_MEMORY_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(TI_CU_GLOBAL_MEMORY_BUS_WIDTH, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(TI_CU_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(TI_CU_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(TI_CU_MAX_DYNAMIC_SHARED_BYTES, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

SAME(sizeof(ti_cu_address), sizeof(CUdeviceptr));
SAME(sizeof(ti_cu_device), sizeof(CUdevice));
SAME(sizeof(ti_cu_copy), sizeof(CUDA_MEMCPY3D));
SAME(sizeof(ti_cu_copy), sizeof(CUDA_MEMCPY3D_PEER));
#define AT(ours, theirs)                                                                                               \
    SAME(offsetof(ti_cu_copy, ours), offsetof(CUDA_MEMCPY3D, theirs));                                                 \
    SAME(offsetof(ti_cu_copy, ours), offsetof(CUDA_MEMCPY3D_PEER, theirs))
AT(from.x, srcXInBytes);
AT(from.y, srcY);
AT(from.z, srcZ);
AT(from.lod, srcLOD);
AT(from.type, srcMemoryType);
AT(from.host, srcHost);
AT(from.device, srcDevice);
AT(from.array, srcArray);
AT(from.pitch, srcPitch);
AT(from.height, srcHeight);
AT(to.x, dstXInBytes);
AT(to.type, dstMemoryType);
AT(to.host, dstHost);
AT(to.device, dstDevice);
AT(to.pitch, dstPitch);
AT(to.height, dstHeight);
AT(width, WidthInBytes);
AT(height, Height);
AT(depth, Depth);
SAME(offsetof(ti_cu_copy, from.context), offsetof(CUDA_MEMCPY3D_PEER, srcContext));
SAME(offsetof(ti_cu_copy, to.context), offsetof(CUDA_MEMCPY3D_PEER, dstContext));

static const char looked[] = "compared with cuda.h";

static void types_are_those_of_the_header(void **state)
{
    (void)state;
    char element, stream;
    const tacit_view v = { .data = &element };
    assert_true(tacit_cuda_address(&v) == (CUdeviceptr)(uintptr_t)&element);
    assert_true(tacit_cuda_stream(&stream) == (CUstream)(void *)&stream);
}
#else
static const char looked[] = "there is no cuda.h here: nothing was compared";

static void types_are_those_of_the_header(void **state)
{
    (void)state;
}
#endif

static void declarations_are_those_of_the_header(void **state)
{
    (void)state;
    puts(looked);
}

/* All macros, in one, two and three dimensions, with functions and structs that have no mark of CUDA's. */
static const char source[] =
    "struct pair { double a; int64_t b; };\n"
    "static double twice(double x) { return x + x; }\n"
    "TACIT_KERNEL all(TACIT_VIEW(x), TACIT_VIEW(y), TACIT_CHUNK(c), TACIT_VALUE(struct pair, p),\n"
    "                 TACIT_SCRATCH(double, s)) {\n"
    "    const ulong i = TACIT_INDEX(c, 0), here = TACIT_GROUP_ID(0), size = TACIT_GROUP_SIZE(0);\n"
    "    TACIT_SHARED double *shared = s;\n"
    "    s[here] = i < c.max[0] ? TACIT_GET1(double, x, i) : TACIT_GET0(double, x);\n"
    "    TACIT_BARRIER();\n"
    "    const struct pair q = p;\n"
    "    TACIT_FOR (k, c, 0)\n"
    "        TACIT_AT1(double, y, TACIT_WRAP(k, size)) = twice(shared[(here + 1) % size]) + sqrt(q.a) + (double)q.b;\n"
    "    TACIT_AT3(double, y, 1, 2, 3) = TACIT_GET3(double, x, 1, 2, 3) + TACIT_GET2(float, x, 1, 2);\n"
    "    TACIT_AT2(uint8_t, y, 1, 2) = 1;\n"
    "    TACIT_AT0(uint16_t, y) = 1;\n"
    "}\n"
    "TACIT_KERNEL sums(TACIT_VIEW(x), TACIT_VIEW(sum), TACIT_VIEW(count), TACIT_CHUNK(c), TACIT_SCRATCH(double, s)) {\n"
    "    TACIT_GLOBAL uint64_t *n = TACIT_RESULT(uint64_t, count);\n"
    "    double mine = 0;\n"
    "    TACIT_GROUP_EACH (b, 10) n[b] = 0;\n"
    "    TACIT_BARRIER();\n"
    "    TACIT_EACH (i, c, 0) {\n"
    "        mine += TACIT_GET1(double, x, i);\n"
    "        TACIT_ADD(&n[i % 10], 1);\n"
    "    }\n"
    "    TACIT_GROUP_SUM(s, mine);\n"
    "    if (TACIT_GROUP_ID(0) == 0) *TACIT_RESULT(double, sum) = s[0];\n"
    "}\n";

/* The first of `compute capability` that NVRTC of all versions in use knows. */
static bool compile(ti_cuda_session *session, const char *text, int dims, size_t *bytes)
{
    const ti_cuda_context context = { .major = 7, .minor = 5 };
    const tacit_kernel kernel = { .cuda = { .source = text, .entry = "all" } };
    const ti_device_kernel job = { .kernel = &kernel, .launch = { .name = "a \"task\"", .dims = dims } };
    ti_strbuf binary = { 0 };
    bool good = ti_cuda_compile(session, &context, &job, dims, &binary);
    *bytes = binary.length;
    ti_strbuf_fini(&binary);
    return good;
}

static void what_nvrtc_is_given_compiles(void **state)
{
    (void)state;
    ti_lot lot = { 0 };
    ti_failure failure = { .lot = &lot };
    ti_cuda_session session = { .base.failure = &failure };
    ti_strbuf why = { 0 };
    size_t bytes;
    if (!ti_nvrtc_load(&session.rtc, &why)) {
        printf("there is no NVRTC here: nothing was compiled (%s)\n", ti_strbuf_text(&why));
        ti_strbuf_fini(&why);
        return;
    }
    for (int dims = 1; dims <= 3; dims++) {
        if (!compile(&session, source, dims, &bytes)) {
            fail_msg("%s", failure.text);
        }
        assert_true(bytes > 500);
    }
    assert_false(compile(&session, "TACIT_KERNEL all(TACIT_CHUNK(c)) {\n  x = 1;\n}", 1, &bytes));
    assert_non_null(strstr(failure.text, "its CUDA kernel 'all' does not compile: task a _task_(2): error"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations_are_those_of_the_header),
        cmocka_unit_test(types_are_those_of_the_header),
        cmocka_unit_test(what_nvrtc_is_given_compiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
