/* examples/tiles_cublas.c: the kernels of cholesky, lu and summa by cuBLAS, for CUDA devices: see tiles.h.
 *
 * The library is loaded when --cublas asks for it, so that the same program runs where there is none. BLAS counts by
 * columns and tiles lie by rows: what is a tile by rows is its transpose by columns, and so every call is that of the
 * transposed equation. A handle belongs to the device that is current when it is made, as a stream does: each stream
 * has its own. The functions that start work are called by one thread at a time. */
#include "tiles.h"

#include <dlfcn.h>
#include <string.h>

enum { NO_TRANSPOSE, TRANSPOSE };
enum { LEFT, RIGHT };
enum { LOWER, UPPER };
enum { NON_UNIT, UNIT };

typedef struct cublasContext *handle;

static struct {
    int (*create)(handle *out);
    int (*set_stream)(handle h, void *stream);
    int (*dgemm)(handle h, int transpose_a, int transpose_b, int m, int n, int k, const double *alpha, const double *a,
                 int lda, const double *b, int ldb, const double *beta, double *c, int ldc);
    int (*dsyrk)(handle h, int half, int transpose, int n, int k, const double *alpha, const double *a, int lda,
                 const double *beta, double *c, int ldc);
    int (*dtrsm)(handle h, int side, int half, int transpose, int diagonal, int m, int n, const double *alpha,
                 const double *a, int lda, double *b, int ldb);
} cublas;

static const double one = 1.0, minus_one = -1.0, zero = 0.0;

/* ---------------------------------------------------------------- handles */

enum { MOST_STREAMS = 256 };

static struct {
    void *stream;
    handle handle;
} known[MOST_STREAMS];

/* NULL: cuBLAS has none, and the run fails. */
static handle handle_of(const tacit_launch *k, void *stream)
{
    for (int i = 0; i < MOST_STREAMS; i++) {
        if (known[i].handle && known[i].stream == stream)
            return known[i].handle;
        if (!known[i].handle && cublas.create(&known[i].handle) == 0 &&
            cublas.set_stream(known[i].handle, stream) == 0) {
            known[i].stream = stream;
            return known[i].handle;
        }
    }
    tacit_kernel_fail(k, "cuBLAS cannot be used on this device");
    return NULL;
}

static void check(const tacit_launch *k, int code)
{
    if (code)
        tacit_kernel_fail(k, "cuBLAS cannot start it (status %d)", code);
}

/* ---------------------------------------------------------------- kernels, by the names of those in text */

/* A := beta A + alpha B C, or B C' */
static void multiply(const tacit_launch *k, void *stream, int transpose_c, const double *alpha, const double *beta)
{
    const struct tile a = tile_of(k, 0), b = tile_of(k, 1), c = tile_of(k, 2);
    handle h = handle_of(k, stream);
    if (h)
        check(k, cublas.dgemm(h, transpose_c, NO_TRANSPOSE, a.columns, a.rows, b.columns, alpha, c.at, c.ld, b.at, b.ld,
                              beta, a.at, a.ld));
}

static void add(const tacit_launch *k, void *stream)
{
    const struct tile_step *step = k->args;
    multiply(k, stream, NO_TRANSPOSE, &one, step->k ? &one : &zero);
}

static void take(const tacit_launch *k, void *stream)
{
    multiply(k, stream, NO_TRANSPOSE, &minus_one, &one);
}

static void take_transposed(const tacit_launch *k, void *stream)
{
    multiply(k, stream, TRANSPOSE, &minus_one, &one);
}

static void take_square(const tacit_launch *k, void *stream)
{
    const struct tile a = tile_of(k, 0), b = tile_of(k, 1);
    handle h = handle_of(k, stream);
    if (h)
        check(k, cublas.dsyrk(h, UPPER, TRANSPOSE, a.rows, b.columns, &minus_one, b.at, b.ld, &one, a.at, a.ld));
}

static void solve(const tacit_launch *k, void *stream, int side, int half, int transpose, int diagonal)
{
    const struct tile a = tile_of(k, 0), d = tile_of(k, 1);
    handle h = handle_of(k, stream);
    if (h)
        check(k, cublas.dtrsm(h, side, half, transpose, diagonal, a.columns, a.rows, &one, d.at, d.ld, a.at, a.ld));
}

static void solve_transposed(const tacit_launch *k, void *stream)
{
    solve(k, stream, LEFT, UPPER, TRANSPOSE, NON_UNIT);
}

static void solve_below(const tacit_launch *k, void *stream)
{
    solve(k, stream, LEFT, LOWER, NO_TRANSPOSE, NON_UNIT);
}

static void solve_right(const tacit_launch *k, void *stream)
{
    solve(k, stream, RIGHT, UPPER, NO_TRANSPOSE, UNIT);
}

static const struct {
    const char *entry;
    tacit_cuda_launch *launch;
} kernels[] = {
    { "add", add },
    { "take", take },
    { "take_transposed", take_transposed },
    { "take_square", take_square },
    { "solve_transposed", solve_transposed },
    { "solve_below", solve_below },
    { "solve_right", solve_right },
};

tacit_cuda_launch *tiles_cublas_kernel(const char *entry)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0] && cublas.create; i++)
        if (strcmp(kernels[i].entry, entry) == 0)
            return kernels[i].launch;
    return NULL;
}

/* ---------------------------------------------------------------- loading */

bool tiles_find(void *library, const char *name, void *function, size_t size)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, size); /* C has no other way from an object pointer */
    return found != NULL;
}

bool tiles_load_cublas(void)
{
    static const char *const names[] = { "libcublas.so", "libcublas.so.13", "libcublas.so.12", "libcublas.so.11" };
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library && tiles_find(library, "cublasSetStream_v2", &cublas.set_stream, sizeof cublas.set_stream) &&
           tiles_find(library, "cublasDgemm_v2", &cublas.dgemm, sizeof cublas.dgemm) &&
           tiles_find(library, "cublasDsyrk_v2", &cublas.dsyrk, sizeof cublas.dsyrk) &&
           tiles_find(library, "cublasDtrsm_v2", &cublas.dtrsm, sizeof cublas.dtrsm) &&
           tiles_find(library, "cublasCreate_v2", &cublas.create, sizeof cublas.create);
}
