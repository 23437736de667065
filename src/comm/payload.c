/* Payloads as bytes: see payload.h. */
#include "comm/payload.h"

#include <string.h>

void ti_payload_pack(char *to, const ti_payload *payload)
{
    for (uint32_t k = 0; k < payload->count; k++) {
        const ti_block *b = &payload->block[k];
        for (size_t i = 0; i < b->count[0]; i++) {
            for (size_t j = 0; j < b->count[1]; j++, to += b->run) {
                memcpy(to, b->base + i * b->stride[0] + j * b->stride[1], b->run);
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
                memcpy(b->base + i * b->stride[0] + j * b->stride[1], from, b->run);
            }
        }
    }
}

char *ti_payload_run(const ti_payload *payload)
{
    bool one = payload->count == 1 && payload->block[0].count[0] == 1 && payload->block[0].count[1] == 1;
    return one ? payload->block[0].base : NULL;
}
