/* What a node waits for, in words: sentences for the watchdog (run/watchdog.h) about instructions that have been
 * started. Executor role. */
#ifndef TI_WAIT_H
#define TI_WAIT_H

#include "base/strbuf.h"
#include "ir/instruction.h"

/* Append a line about an instruction that has been started, if it is one that other nodes take part in; whether it is.
 * Collectives from number `next` on wait for those before them. */
bool ti_wait_describe(const ti_instruction *instruction, uint64_t next, ti_strbuf *out);

#endif
