/* Payloads of messages (comm.h) packed into one run of bytes, and unpacked. Pure functions; any thread. */
#ifndef TI_PAYLOAD_H
#define TI_PAYLOAD_H

#include "comm/comm.h"

void ti_payload_pack(char *to, const ti_payload *payload);
void ti_payload_unpack(const ti_payload *payload, const char *from);
/* Where a payload that is one run of bytes lies; NULL: it is not. */
char *ti_payload_run(const ti_payload *payload);

#endif
