/* What a context has for its files, and the description of an operation, which public calls make (plan.c). Application
 * thread. */
#ifndef IO_SESSION_H
#define IO_SESSION_H

#include "file.h"
#include "tacit/layer.h"

/* Buffers that all operations share: attached to the context, which destroys them. */
typedef struct io_session {
    tacit_buffer *order;      /* an io_state */
    tacit_buffer *result;     /* uint64_t: the first failure of the lowest node that has one, or UINT64_MAX */
    tacit_buffer *low, *high; /* double: of a picture */
} io_session;

/* The context's session; made by the first call. */
tacit_status io_session_get(tacit_context *ctx, io_session *out);

/* Check what the call `who` was given, and describe the operation. `facts`: of the buffer; NULL: there is none. */
tacit_status io_plan_make(tacit_context *ctx, const char *who, const char *path, const tacit_file_options *options,
                          const tacit_buffer_facts *facts, io_plan *out);

#endif
