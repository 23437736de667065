/* Loading CUDA's driver, its compiler and NCCL: see driver.h.
 *
 * All stay loaded: the driver keeps threads and memory that a second load would not find again. */
#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <string.h>

#define FIND(member, symbol, parameters)                                                                               \
    {                                                                                                                  \
        void *found = dlsym(library, #symbol);                                                                         \
        memcpy(&api->member, &found, sizeof(found)); /* C has no other way from an object pointer */                   \
        missing = found ? missing : #symbol;                                                                           \
    }

static const char *find_driver(void *library, ti_cuda_api *api)
{
    const char *missing = NULL;
    TI_CUDA_FUNCTIONS(FIND)
    return missing;
}

static void find_new(void *library, ti_cuda_api *api)
{
    const char *missing = NULL;
    TI_CUDA_NEW_FUNCTIONS(FIND)
    (void)missing;
}

static const char *find_compiler(void *library, ti_nvrtc_api *api)
{
    const char *missing = NULL;
    TI_NVRTC_FUNCTIONS(FIND)
    return missing;
}

static const char *find_nccl(void *library, ti_nccl_api *api)
{
    const char *missing = NULL;
    TI_NCCL_FUNCTIONS(FIND)
    FIND(error_text, ncclGetErrorString, )
    return missing;
}

const char *ti_cuda_error_name(const ti_cuda_api *cu, ti_cu_result code)
{
    const char *name = NULL;
    return cu->error_name(code, &name) == TI_CU_SUCCESS && name ? name : "an unknown error";
}

bool ti_cuda_load(ti_cuda_api *cu, ti_strbuf *why)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        ti_strbuf_add(
            why, "TACIT_DEVICES names CUDA devices, but there is no CUDA driver here (%s); install NVIDIA's driver",
            dlerror());
        return false;
    }
    const char *missing = find_driver(library, cu);
    if (missing) {
        ti_strbuf_add(why,
                      "TACIT_DEVICES names CUDA devices, but libcuda.so.1 has no %s; install a driver for CUDA 11.1 or "
                      "later",
                      missing);
        return false;
    }
    find_new(library, cu);
    ti_cu_result code = cu->init(0);
    if (code != TI_CU_SUCCESS) {
        ti_strbuf_add(why, "TACIT_DEVICES names CUDA devices, but CUDA's driver cannot be used (%s)",
                      ti_cuda_error_name(cu, code));
        return false;
    }
    return true;
}

bool ti_nvrtc_load(ti_nvrtc_api *rtc, ti_strbuf *why)
{
    static const char *const names[] = { "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2" };
    void *library = NULL;
    for (size_t i = 0; i < TI_COUNT(names) && !library; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    const char *missing = library ? find_compiler(library, rtc) : NULL;
    if (!library || missing) {
        ti_strbuf_add(why, "%s%s", missing ? "it has no " : "", missing ? missing : dlerror());
        return false;
    }
    return true;
}

bool ti_nccl_load(ti_nccl_api *nccl, ti_strbuf *why)
{
    int version = 0;
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        ti_strbuf_add(why, "%s", dlerror());
        return false;
    }
    const char *missing = find_nccl(library, nccl);
    if (missing || nccl->version(&version) != TI_NCCL_SUCCESS || version < TI_NCCL_VERSION) {
        ti_strbuf_add(why, "libnccl.so.2 is older than 2.14");
        return false;
    }
    return true;
}
