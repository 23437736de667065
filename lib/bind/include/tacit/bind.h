/* tacit/bind.h: what bindings of other languages call: functions behind the inline ones of the headers, and a table of
 * how the structs lie in memory, so that no binding guesses sizes and offsets. The library is tacit-bind.
 *
 * All of it is values; any thread, any node. Programs in C and C++ do not need it. */
#ifndef TACIT_BIND_H
#define TACIT_BIND_H

#include <tacit/tacit.h>

TACIT_C_BEGIN_

/* A field of a struct of tacit's headers, or the struct itself (`field` is empty). */
typedef struct tacit_bind_field {
    const char *type, *field;
    size_t offset, size; /* in bytes */
} tacit_bind_field;

/* Entry number `index` of the table, from 0; false: there are no more. */
TACIT_API bool tacit_bind_layout(size_t index, tacit_bind_field *out);

/* A constant of the headers, by its name; false: there is none of that name. */
TACIT_API bool tacit_bind_constant(const char *name, int64_t *out);

/* Components of mappers: tacit_full, tacit_span, tacit_dim_scaled, tacit_dim_periodic. */
TACIT_API void tacit_bind_full(tacit_component *out);
TACIT_API void tacit_bind_span(size_t a, size_t b, tacit_component *out);
TACIT_API void tacit_bind_dim(int k, int mul, int div, int64_t lo, int64_t hi, tacit_component *out);
TACIT_API void tacit_bind_dim_periodic(int k, size_t e, tacit_component *out);

/* Mappers, by the names of tacit/mapper.h. */
TACIT_API void tacit_bind_components(const tacit_component *c, tacit_mapper *out); /* 3 of them */
TACIT_API void tacit_bind_one_to_one(tacit_mapper *out);
TACIT_API void tacit_bind_all(tacit_mapper *out);
TACIT_API void tacit_bind_fixed(const tacit_box *box, tacit_mapper *out);
TACIT_API void tacit_bind_slice(int dim, tacit_mapper *out);
TACIT_API void tacit_bind_neighborhood(size_t e0, size_t e1, size_t e2, tacit_mapper *out);
TACIT_API void tacit_bind_star(size_t e0, size_t e1, size_t e2, tacit_mapper *out);
TACIT_API void tacit_bind_periodic(size_t e0, size_t e1, size_t e2, tacit_mapper *out);
TACIT_API void tacit_bind_transposed(int p0, int p1, int p2, tacit_mapper *out);
TACIT_API void tacit_bind_replicated(tacit_mapper *out);
TACIT_API void tacit_bind_custom(int handle, tacit_mapper *out);

/* Accesses. `mode` is TACIT_READ, TACIT_WRITE or TACIT_UPDATE; `kind` and `type` are those of an operator. */
TACIT_API void tacit_bind_access(tacit_buffer *buffer, int mode, const tacit_mapper *mapper, bool in_parts,
                                 tacit_access *out);
TACIT_API void tacit_bind_reduce(tacit_buffer *buffer, int kind, int type, bool include_old, tacit_access *out);

/* Calls whose last argument is the size of a struct of the headers, without it. */
TACIT_API tacit_status tacit_bind_init(tacit_context **out); /* the defaults and the environment */
TACIT_API tacit_status tacit_bind_buffer_create(tacit_context *ctx, const tacit_buffer_desc *desc, tacit_buffer **out);
TACIT_API tacit_status tacit_bind_submit(tacit_context *ctx, const tacit_task *task);

/* tacit_kernel_fail with a text that is one. */
TACIT_API void tacit_bind_fail(const tacit_launch *launch, const char *text);

TACIT_C_END_
#endif
