/* examples/tiles_cusolver.c: the factorisation of a tile by cuSOLVER, for CUDA devices: see tiles.h.
 *
 * Whether a tile has a factor is known on the device when the kernel has ended, and so it is an element of a buffer
 * like any other result. The library is loaded when --cublas asks for it, as cuBLAS is (tiles_cublas.c): a handle for
 * each stream, with memory to work in, which stays until the process ends. One thread at a time. */
#include "tiles.h"

#include <dlfcn.h>
#include <string.h>

enum { UPPER = 1 }; /* by columns; the lower half by rows */
enum { MOST_STREAMS = 256 };

typedef struct cusolverDnContext *handle;

static struct {
    int (*create)(handle *out);
    int (*set_stream)(handle h, void *stream);
    int (*work_size)(handle h, int half, int n, double *a, int lda, int *elements);
    int (*dpotrf)(handle h, int half, int n, double *a, int lda, double *work, int elements, int *info);
    int (*alloc)(unsigned long long *address, size_t bytes); /* of the driver */
} cusolver;

static struct worker {
    void *stream;
    handle handle;
    double *work;
    int elements;
} known[MOST_STREAMS];

static struct worker *worker_of(void *stream)
{
    for (int i = 0; i < MOST_STREAMS; i++) {
        if (known[i].handle && known[i].stream == stream)
            return &known[i];
        if (!known[i].handle && cusolver.create(&known[i].handle) == 0 &&
            cusolver.set_stream(known[i].handle, stream) == 0) {
            known[i].stream = stream;
            return &known[i];
        }
    }
    return NULL;
}

/* Tiles at the end are smaller than the first one, which has come to some stream at the latest by then. What is too
 * small is left: the stream may be using it. */
static bool has_work_for(struct worker *w, const struct tile *a)
{
    unsigned long long address = 0;
    int elements = 0;
    if (cusolver.work_size(w->handle, UPPER, a->rows, a->at, a->ld, &elements))
        return false;
    if (elements > w->elements) {
        if (cusolver.alloc(&address, (size_t)elements * sizeof(double)))
            return false;
        w->work = (double *)(uintptr_t)address;
        w->elements = elements;
    }
    return true;
}

/* Views: the tile, and the element that says whether it has a factor. */
static void factorise(const tacit_launch *k, void *stream)
{
    const struct tile a = tile_of(k, 0);
    struct worker *w = worker_of(stream);
    if (!w || !has_work_for(w, &a))
        tacit_kernel_fail(k, "cuSOLVER cannot be used on this device");
    else if (cusolver.dpotrf(w->handle, UPPER, a.rows, a.at, a.ld, w->work, w->elements, k->view[1].data))
        tacit_kernel_fail(k, "cuSOLVER cannot start it");
}

tacit_cuda_launch *tiles_cusolver_potrf(void)
{
    return cusolver.create ? factorise : NULL;
}

static void *open_any(const char *const *names, size_t count)
{
    void *library = NULL;
    for (size_t i = 0; i < count && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

bool tiles_load_cusolver(void)
{
    static const char *const names[] = { "libcusolver.so", "libcusolver.so.12", "libcusolver.so.11" };
    static const char *const driver_names[] = { "libcuda.so.1" };
    void *library = open_any(names, sizeof names / sizeof names[0]), *driver = open_any(driver_names, 1);
    return library && driver && tiles_find(driver, "cuMemAlloc_v2", &cusolver.alloc, sizeof cusolver.alloc) &&
           tiles_find(library, "cusolverDnSetStream", &cusolver.set_stream, sizeof cusolver.set_stream) &&
           tiles_find(library, "cusolverDnDpotrf_bufferSize", &cusolver.work_size, sizeof cusolver.work_size) &&
           tiles_find(library, "cusolverDnDpotrf", &cusolver.dpotrf, sizeof cusolver.dpotrf) &&
           tiles_find(library, "cusolverDnCreate", &cusolver.create, sizeof cusolver.create);
}
