/* cuSOLVER for tests: the host's LAPACK, when the handle's stream comes to it: memory of the devices of driver_stub.c
 * is heap. */
#include "stream_stub.h"

extern void dpotrf_(const char *half, const int *n, double *a, const int *lda, int *info, size_t length);

enum { NOT_INITIALIZED = 1, INVALID_VALUE = 3, EXECUTION_FAILED = 6, WORK_ELEMENTS = 64 };

typedef struct call {
    char half;
    int n, lda;
    double *a, *work;
    int *info;
} call;

int cusolverDnCreate(handle **out);
int cusolverDnSetStream(handle *h, void *stream);
int cusolverDnDpotrf_bufferSize(handle *h, int half, int n, double *a, int lda, int *elements);
int cusolverDnDpotrf(handle *h, int half, int n, double *a, int lda, double *work, int elements, int *info);

int cusolverDnCreate(handle **out)
{
    *out = stub_handle();
    return *out ? 0 : NOT_INITIALIZED;
}

int cusolverDnSetStream(handle *h, void *stream)
{
    h->stream = stream;
    return stream ? 0 : INVALID_VALUE;
}

int cusolverDnDpotrf_bufferSize(handle *h, int half, int n, double *a, int lda, int *elements)
{
    (void)h;
    (void)half;
    (void)a;
    *elements = WORK_ELEMENTS;
    return n > 0 && lda >= n ? 0 : INVALID_VALUE;
}

static void potrf(void *user)
{
    const call *c = user;
    for (int i = 0; i < WORK_ELEMENTS; i++) {
        c->work[i] = -1;
    }
    dpotrf_(&c->half, &c->n, c->a, &c->lda, c->info, 1);
    free(user);
}

int cusolverDnDpotrf(handle *h, int half, int n, double *a, int lda, double *work, int elements, int *info)
{
    if (!h->stream) {
        return NOT_INITIALIZED;
    }
    if (elements < WORK_ELEMENTS) {
        return INVALID_VALUE;
    }
    const call c = { half ? 'U' : 'L', n, lda, a, work, info };
    return stub_give(h, potrf, &c, sizeof(c)) == 0 ? 0 : EXECUTION_FAILED;
}
