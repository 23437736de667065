/* Copies between a GPU and pageable memory of the host, in pieces that fit a slot of pinned memory.
 *
 * The driver copies pageable memory while the caller waits. Pinned memory it copies by itself; so contents go by way of
 * slots, of which there are a few for each direction. The slots are the device's (device.c). Pure; any thread. */
#ifndef TI_CUDA_STAGING_H
#define TI_CUDA_STAGING_H

#include "grid/layout.h"

/* A copy of which a part has been started. Both blocks have equal runs and counts (ti_layout_match). */
typedef struct ti_staged {
    ti_block to, from;
    size_t plane, row, byte; /* where the next piece begins */
    uint64_t token;
} ti_staged;

/* The next piece, of at most `most` bytes: a part of a row, some rows or some planes. False: there is none any more. */
bool ti_staged_next(ti_staged *staged, size_t most, ti_block *to, ti_block *from);
bool ti_staged_at_end(const ti_staged *staged);
/* What a piece looks like in a slot: the same, without gaps. */
ti_block ti_staged_tight(const ti_block *piece, char *slot);

#endif
