/* Distributions in the API (tacit/buffer.h): their checks, and how tasks and buffers name them. Application thread. */
#ifndef TI_API_OWNERS_H
#define TI_API_OWNERS_H

#include "api/context.h"

/* Whether nodes can own a buffer of `extent` like this. `who` names it in the sentence. NULL is the default. */
tacit_status ti_check_distribution(tacit_context *ctx, const char *who, const tacit_distribution *given, int dims,
                                   const ti_box *extent);

/* Make `shape` one of which every node's chunks touch exactly its own part of the buffer, with one access of this
 * mode. */
void ti_distribution_shape(tacit_context *ctx, ti_shape *shape, ti_arena *arena, tacit_buffer *buffer, int mode);
/* The tasks of the buffer have been executed, and there will be no more. */
void ti_release_owners(tacit_context *ctx, tacit_buffer *buffer);
void ti_free_all_owners(tacit_context *ctx); /* the runtime is gone */

/* What a copy between this node's local array `memory` and the buffer consists of. */
ti_user_copy ti_distribution_copy(const tacit_context *ctx, ti_arena *arena, const tacit_buffer *buffer,
                                  const void *memory);

/* The node that owns the first element that an access of a task names. */
int ti_distribution_place(const tacit_buffer *buffer, const ti_access *access, const ti_box *items);

#endif
