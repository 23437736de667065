/* Payloads as bytes: see payload.h. */
#include "comm/payload.h"

void ti_payload_pack(char *to, const ti_payload *payload)
{
    for (uint32_t k = 0; k < payload->count; k++) {
        const ti_block *b = &payload->block[k], out = ti_block_of(to, ti_block_bytes(b));
        ti_layout_copy(&out, b);
        to += out.run;
    }
}

void ti_payload_unpack(const ti_payload *payload, const char *from)
{
    for (uint32_t k = 0; k < payload->count; k++) {
        const ti_block *b = &payload->block[k], in = ti_block_of((char *)from, ti_block_bytes(b));
        ti_layout_copy(b, &in);
        from += in.run;
    }
}

char *ti_payload_run(const ti_payload *payload)
{
    bool one = payload->count == 1 && payload->block[0].count[0] == 1 && payload->block[0].count[1] == 1;
    return one ? payload->block[0].base : NULL;
}
