/* tacit/layer.h: for libraries that stand on tacit, such as tacit/io.h and the bindings of other languages.
 *
 * Programs do not need it, and tacit.h does not include it. A layer is given a context and buffers by the
 * program, and must find out what they are; its errors are reported by tacit_last_error, as tacit's own are;
 * and it keeps something of its own for every context. Every function says its thread and nodes. */
#ifndef TACIT_LAYER_H
#define TACIT_LAYER_H

#include <tacit/box.h>
#include <tacit/buffer.h>

TACIT_C_BEGIN_

/* What a buffer is, as tacit_buffer_create heard it. */
typedef struct tacit_buffer_facts {
    tacit_range range;
    size_t elem_size; /* in bytes */
    const char *name; /* tacit's, until the buffer is destroyed */
} tacit_buffer_facts;

/* Ask what a buffer is.
 *
 *   out   gets the answer
 *
 *   errors  TACIT_ERROR_ARGUMENT  ctx, buffer or out is NULL
 *           TACIT_ERROR_STATE     the context or the buffer is none, destroyed, or of another context
 *   thread  the context's
 *   nodes   any */
TACIT_API tacit_status tacit_buffer_get_facts(tacit_context *ctx, tacit_buffer *buffer, tacit_buffer_facts *out);

/* Refuse a call of the layer as tacit refuses its own: tacit_last_error gives the sentence from now on.
 *
 *   format  and what follows, in the manner of printf: the call, what is wrong, and the cure
 *   returns status; TACIT_ERROR_ARGUMENT or TACIT_ERROR_STATE if the context is none
 *
 *   thread  the context's
 *   nodes   any */
TACIT_API tacit_status tacit_refuse(tacit_context *ctx, tacit_status status, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* Keep something with a context.
 *
 *   key    whose it is: an address in the layer, such as that of a constant. One value for each.
 *   value  what tacit_attached gives from now on; not NULL
 *   end    called with it when tacit_finalize has executed everything and before it returns, the last that
 *          was attached first; NULL: nothing. It must not call tacit.
 *
 *   errors  TACIT_ERROR_ARGUMENT  ctx, key or value is NULL
 *           TACIT_ERROR_STATE     something is attached by this key already; the context is none
 *   thread  the context's
 *   nodes   any */
TACIT_API tacit_status tacit_attach(tacit_context *ctx, const void *key, void *value, void (*end)(void *value));

/* What was attached by this key, or NULL; also if the context is none.
 *
 *   thread  the context's
 *   nodes   any */
TACIT_API void *tacit_attached(tacit_context *ctx, const void *key);

TACIT_C_END_
#endif
