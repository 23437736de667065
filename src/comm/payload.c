/* Payloads as bytes: see payload.h. */
#include "comm/payload.h"

/* So many bytes one behind the other. */
static ti_block packed(char *at, size_t bytes)
{
    return (ti_block){ .base = at, .run = bytes, .count = { 1, 1 }, .stride = { bytes, bytes } };
}

void ti_payload_pack(char *to, const ti_payload *payload)
{
    for (uint32_t k = 0; k < payload->count; k++) {
        const ti_block *b = &payload->block[k], out = packed(to, ti_block_bytes(b));
        ti_layout_copy(&out, b);
        to += out.run;
    }
}

void ti_payload_unpack(const ti_payload *payload, const char *from)
{
    for (uint32_t k = 0; k < payload->count; k++) {
        const ti_block *b = &payload->block[k], in = packed((char *)from, ti_block_bytes(b));
        ti_layout_copy(b, &in);
        from += in.run;
    }
}

char *ti_payload_run(const ti_payload *payload)
{
    bool one = payload->count == 1 && payload->block[0].count[0] == 1 && payload->block[0].count[1] == 1;
    return one ? payload->block[0].base : NULL;
}
