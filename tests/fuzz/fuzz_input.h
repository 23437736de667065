/* What fuzz targets read their numbers from: the bytes of one input, zeros after its end. One thread. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include "base/macro.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct fuzz_input {
    const uint8_t *at, *end;
} fuzz_input;

/* libFuzzer's entry. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Contexts look at the machine, which takes long: give them a synthetic one. */
static inline void fuzz_small_machine(void)
{
    setenv("HWLOC_SYNTHETIC", "core:2 pu:1", 1);
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
}

/* Must hold, whatever the input. */
#define FUZZ_REQUIRE(condition)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline uint8_t fuzz_byte(fuzz_input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* In [least, most], where most - least < 256. */
static inline int64_t fuzz_between(fuzz_input *in, int64_t least, int64_t most)
{
    return least + fuzz_byte(in) % (most - least + 1);
}

static inline uint64_t fuzz_word(fuzz_input *in)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) {
        word = word << 8 | fuzz_byte(in);
    }
    return word;
}

/* Mostly small, often next to where arithmetic overflows, and sometimes anything. */
static inline uint64_t fuzz_number(fuzz_input *in)
{
    uint8_t kind = fuzz_byte(in);
    if (kind < 160) {
        return kind % 20;
    }
    if (kind < 176) {
        return fuzz_word(in);
    }
    uint64_t edge = (uint64_t)1 << (fuzz_byte(in) % 64);
    return edge + (uint64_t)(int64_t)(kind % 5 - 2);
}

#endif
