/* cuBLAS for tests: calls of the host's BLAS, at once: memory of the devices of driver_stub.c is heap, and tacit starts
 * only what is ready. A handle remembers its stream, without which nothing is computed. */
#include <cblas.h>
#include <stdlib.h>

typedef struct handle {
    void *stream;
} handle;

enum { NOT_INITIALIZED = 1, INVALID_VALUE = 7 };

int cublasCreate_v2(handle **out);
int cublasSetStream_v2(handle *h, void *stream);
int cublasDgemm_v2(handle *h, int transpose_a, int transpose_b, int m, int n, int k, const double *alpha,
                   const double *a, int lda, const double *b, int ldb, const double *beta, double *c, int ldc);
int cublasDsyrk_v2(handle *h, int half, int transpose, int n, int k, const double *alpha, const double *a, int lda,
                   const double *beta, double *c, int ldc);
int cublasDtrsm_v2(handle *h, int side, int half, int transpose, int diagonal, int m, int n, const double *alpha,
                   const double *a, int lda, double *b, int ldb);

static CBLAS_TRANSPOSE transposed(int is)
{
    return is ? CblasTrans : CblasNoTrans;
}

int cublasCreate_v2(handle **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? 0 : NOT_INITIALIZED;
}

int cublasSetStream_v2(handle *h, void *stream)
{
    h->stream = stream;
    return stream ? 0 : INVALID_VALUE;
}

int cublasDgemm_v2(handle *h, int transpose_a, int transpose_b, int m, int n, int k, const double *alpha,
                   const double *a, int lda, const double *b, int ldb, const double *beta, double *c, int ldc)
{
    if (!h->stream) {
        return NOT_INITIALIZED;
    }
    cblas_dgemm(CblasColMajor, transposed(transpose_a), transposed(transpose_b), m, n, k, *alpha, a, lda, b, ldb, *beta,
                c, ldc);
    return 0;
}

int cublasDsyrk_v2(handle *h, int half, int transpose, int n, int k, const double *alpha, const double *a, int lda,
                   const double *beta, double *c, int ldc)
{
    if (!h->stream) {
        return NOT_INITIALIZED;
    }
    cblas_dsyrk(CblasColMajor, half ? CblasUpper : CblasLower, transposed(transpose), n, k, *alpha, a, lda, *beta, c,
                ldc);
    return 0;
}

int cublasDtrsm_v2(handle *h, int side, int half, int transpose, int diagonal, int m, int n, const double *alpha,
                   const double *a, int lda, double *b, int ldb)
{
    if (!h->stream) {
        return NOT_INITIALIZED;
    }
    cblas_dtrsm(CblasColMajor, side ? CblasRight : CblasLeft, half ? CblasUpper : CblasLower, transposed(transpose),
                diagonal ? CblasUnit : CblasNonUnit, m, n, *alpha, a, lda, b, ldb);
    return 0;
}
