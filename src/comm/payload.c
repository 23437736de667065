/* Payloads as bytes: see payload.h. */
#include "comm/payload.h"

#include "base/macro.h"

#include <string.h>

/* Columns of a matrix are runs of one element. */
static inline void copy_run(char *to, const char *from, size_t bytes)
{
    if (bytes == 8) {
        memcpy(to, from, 8);
    } else if (bytes == 4) {
        memcpy(to, from, 4);
    } else {
        memcpy(to, from, bytes);
    }
}

void ti_payload_pack(char *to, const ti_payload *payload)
{
    for (uint32_t k = 0; k < payload->count; k++) {
        const ti_block *b = &payload->block[k];
        for (size_t i = 0; i < b->count[0]; i++) {
            for (size_t j = 0; j < b->count[1]; j++, to += b->run) {
                copy_run(to, b->base + i * b->stride[0] + j * b->stride[1], b->run);
            }
        }
    }
}

void ti_payload_unpack(const ti_payload *payload, const char *from)
{
    for (uint32_t k = 0; k < payload->count; k++) {
        const ti_block *b = &payload->block[k];
        for (size_t i = 0; i < b->count[0]; i++) {
            for (size_t j = 0; j < b->count[1]; j++, from += b->run) {
                copy_run(b->base + i * b->stride[0] + j * b->stride[1], from, b->run);
            }
        }
    }
}

char *ti_payload_run(const ti_payload *payload)
{
    bool one = payload->count == 1 && payload->block[0].count[0] == 1 && payload->block[0].count[1] == 1;
    return one ? payload->block[0].base : NULL;
}
