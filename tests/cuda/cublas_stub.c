/* cuBLAS for tests: calls of the host's BLAS, when the handle's stream comes to them: memory of the devices of
 * driver_stub.c is heap. */
#include "stream_stub.h"

#include <cblas.h>

enum { NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };

/* What each function needs of these. */
typedef struct call {
    CBLAS_SIDE side;
    CBLAS_UPLO half;
    CBLAS_TRANSPOSE transpose_a, transpose_b;
    CBLAS_DIAG diagonal;
    int m, n, k, lda, ldb, ldc;
    double alpha, beta;
    const double *a, *b;
    double *c;
} call;

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

static CBLAS_UPLO half_of(int is_upper)
{
    return is_upper ? CblasUpper : CblasLower;
}

int cublasCreate_v2(handle **out)
{
    *out = stub_handle();
    return *out ? 0 : NOT_INITIALIZED;
}

int cublasSetStream_v2(handle *h, void *stream)
{
    h->stream = stream;
    return stream ? 0 : INVALID_VALUE;
}

static int give(const handle *h, void (*run)(void *), call c)
{
    if (!h->stream) {
        return NOT_INITIALIZED;
    }
    return stub_give(h, run, &c, sizeof(c)) == 0 ? 0 : EXECUTION_FAILED;
}

static void gemm(void *user)
{
    const call *c = user;
    cblas_dgemm(CblasColMajor, c->transpose_a, c->transpose_b, c->m, c->n, c->k, c->alpha, c->a, c->lda, c->b, c->ldb,
                c->beta, c->c, c->ldc);
    free(user);
}

int cublasDgemm_v2(handle *h, int transpose_a, int transpose_b, int m, int n, int k, const double *alpha,
                   const double *a, int lda, const double *b, int ldb, const double *beta, double *c, int ldc)
{
    return give(h, gemm,
                (call){ .transpose_a = transposed(transpose_a),
                        .transpose_b = transposed(transpose_b),
                        .m = m,
                        .n = n,
                        .k = k,
                        .lda = lda,
                        .ldb = ldb,
                        .ldc = ldc,
                        .alpha = *alpha,
                        .beta = *beta,
                        .a = a,
                        .b = b,
                        .c = c });
}

static void syrk(void *user)
{
    const call *c = user;
    cblas_dsyrk(CblasColMajor, c->half, c->transpose_a, c->n, c->k, c->alpha, c->a, c->lda, c->beta, c->c, c->ldc);
    free(user);
}

int cublasDsyrk_v2(handle *h, int half, int transpose, int n, int k, const double *alpha, const double *a, int lda,
                   const double *beta, double *c, int ldc)
{
    return give(h, syrk,
                (call){ .half = half_of(half),
                        .transpose_a = transposed(transpose),
                        .n = n,
                        .k = k,
                        .lda = lda,
                        .ldc = ldc,
                        .alpha = *alpha,
                        .beta = *beta,
                        .a = a,
                        .c = c });
}

static void trsm(void *user)
{
    const call *c = user;
    cblas_dtrsm(CblasColMajor, c->side, c->half, c->transpose_a, c->diagonal, c->m, c->n, c->alpha, c->a, c->lda, c->c,
                c->ldc);
    free(user);
}

int cublasDtrsm_v2(handle *h, int side, int half, int transpose, int diagonal, int m, int n, const double *alpha,
                   const double *a, int lda, double *b, int ldb)
{
    return give(h, trsm,
                (call){ .side = side ? CblasRight : CblasLeft,
                        .half = half_of(half),
                        .transpose_a = transposed(transpose),
                        .diagonal = diagonal ? CblasUnit : CblasNonUnit,
                        .m = m,
                        .n = n,
                        .lda = lda,
                        .ldc = ldb,
                        .alpha = *alpha,
                        .a = a,
                        .c = b });
}
