/* Memory of host devices: see host_memory.h. */
#include "device/host_memory.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* From here on memory comes from the system untouched, so that the worker that uses a page first gets it nearby. */
enum { MAP_BYTES = 1024 * 1024 };
/* What accelerators copy by themselves has its own pages. Less is copied by hand sooner. */
enum { PIN_BYTES = 64 * 1024 };
enum { HUGE_PAGE = 2 << 20 };

static bool is_mapped(const ti_device *device, size_t bytes)
{
    return bytes >= (device->pinner.pin ? PIN_BYTES : MAP_BYTES);
}

static void pin(const ti_device *device, void *memory, size_t bytes)
{
    if (device->pinner.pin && memory) {
        device->pinner.pin(device->pinner.user, memory, bytes);
    }
}

static void unpin(const ti_device *device, void *memory)
{
    if (device->pinner.unpin && memory) {
        device->pinner.unpin(device->pinner.user, memory);
    }
}

tacit_status ti_host_alloc(ti_device *device, size_t bytes, void **out)
{
    if (bytes > PTRDIFF_MAX - MAP_BYTES) {
        return TACIT_ERROR_MEMORY;
    }
    if (!is_mapped(device, bytes)) {
        *out = aligned_alloc(TI_CACHE_LINE, TI_ALIGN_UP(TI_MAX(bytes, 1), TI_CACHE_LINE));
        return *out ? TACIT_OK : TACIT_ERROR_MEMORY;
    }
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *out = mapped == MAP_FAILED ? NULL : mapped;
#ifdef MADV_HUGEPAGE
    if (*out && bytes >= HUGE_PAGE) { /* MPI libraries pin each page that another process copies from */
        (void)madvise(mapped, bytes, MADV_HUGEPAGE);
    }
#endif
    pin(device, *out, bytes);
    return *out ? TACIT_OK : TACIT_ERROR_MEMORY;
}

void ti_host_free(ti_device *device, void *ptr, size_t bytes)
{
    if (!is_mapped(device, bytes)) {
        free(ptr);
    } else if (ptr) {
        unpin(device, ptr);
        munmap(ptr, bytes);
    }
}

/* Pages move without being copied, where the system can do that. */
tacit_status ti_host_grow(ti_device *device, void *ptr, size_t bytes, size_t more, void **out)
{
    TI_ASSERT(more >= bytes);
#ifdef MREMAP_MAYMOVE
    if (is_mapped(device, bytes) && more <= PTRDIFF_MAX - MAP_BYTES) {
        unpin(device, ptr);
        void *moved = mremap(ptr, bytes, more, MREMAP_MAYMOVE);
        *out = moved == MAP_FAILED ? NULL : moved;
#ifdef MADV_HUGEPAGE
        if (*out && more >= HUGE_PAGE) {
            (void)madvise(moved, more, MADV_HUGEPAGE);
        }
#endif
        pin(device, *out ? *out : ptr, *out ? more : bytes);
        return *out ? TACIT_OK : TACIT_ERROR_MEMORY;
    }
#endif
    tacit_status status = ti_host_alloc(device, more, out);
    if (status == TACIT_OK) {
        memcpy(*out, ptr, bytes);
        ti_host_free(device, ptr, bytes);
    }
    return status;
}
