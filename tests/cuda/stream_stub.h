/* What the stand-ins for CUDA's libraries share: a handle remembers its stream, and calls are carried out when the
 * stream comes to them (cuLaunchHostFunc of driver_stub.c). */
#ifndef STREAM_STUB_H
#define STREAM_STUB_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of driver_stub.c, for NCCL's stand-in, which is linked to it. What a stream is given waits in it until `try` returns
 * true; a call of this name may have to fail; and a misuse ends the program. */
struct CUstream_st;
void stub_give_try(struct CUstream_st *stream, bool (*try)(void *), void *user);
int stub_call(const char *name);
void stub_check_memory(const void *address, size_t bytes);

typedef struct handle {
    void *stream;
    int (*give)(void *stream, void (*call)(void *), void *user);
} handle;

/* NULL: the driver is not that of the tests. */
static inline handle *stub_handle(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *found = driver ? dlsym(driver, "cuLaunchHostFunc") : NULL;
    handle *h = found ? calloc(1, sizeof(*h)) : NULL;
    if (h) {
        memcpy(&h->give, &found, sizeof(found));
    }
    return h;
}

/* `run` gets a copy of `call`, which it frees. */
static inline int stub_give(const handle *h, void (*run)(void *), const void *call, size_t bytes)
{
    void *kept = malloc(bytes);
    memcpy(kept, call, bytes);
    return h->give(h->stream, run, kept);
}

#endif
