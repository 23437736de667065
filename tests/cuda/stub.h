/* A driver for CUDA without a GPU: a library libcuda.so.1 for tests, which records what it is called for.
 *
 * Memory of devices is heap. What streams are given waits, and is carried out in a random order of streams while events
 * are asked for, so that nothing has ended sooner than tacit knows. Kernels are machine code of this processor, which
 * the NVRTC beside it (nvrtc_stub.c) has made of CUDA C. Misuse ends the program: a foreign context, addresses beyond
 * an allocation, copies of memory that is not pinned, memory that is freed while it is used. Any thread. */
#ifndef STUB_H
#define STUB_H

#include <stdbool.h>
#include <stdint.h>

enum { STUB_DEVICES = 4, STUB_MEMORY = 256 << 20, STUB_CALL_TEXT = 96 };

typedef struct stub_control {
    /* Forget what was recorded, and errors to come. */
    void (*reset)(uint64_t seed);
    /* The nth call of a function from now fails (1 is the next one), and with `sticky` all of any after it, as when a
     * device is lost. */
    void (*disturb)(const char *function, long nth, int code, bool sticky);
    /* From now on, until reset, each kernel on this device, and each copy within it, takes so long by the clock. */
    void (*slow)(int device, uint64_t ns);
    long (*count)(const char *function); /* calls of it since reset */
    long (*calls)(void);                 /* of all */
    const char *(*call)(long index);     /* "cuMemAlloc_v2 4096", for instance */
    long (*crossings)(void);             /* copies between the host and a device */
    long (*live)(void);                  /* objects that nobody has freed */
} stub_control;

/* NULL: the driver is a real one, or there is none. */
const stub_control *stub_find(void);
/* How many CUDA devices there are: those of the driver of tests, or GPUs. */
int cuda_devices(void);

#endif
