/* Functions behind inline ones, and the layout of structs: see tacit/bind.h. */
#include "tacit/bind.h"

#include <string.h>

#include "tacit/io.h" /* the layout of its structs; no call of that library */

#define FIELD(type, field)                                                                                             \
    {                                                                                                                  \
#type, #field, offsetof(type, field), sizeof(((type *)0)->field)                                               \
    }
#define WHOLE(type)                                                                                                    \
    {                                                                                                                  \
#type, "", 0, sizeof(type)                                                                                     \
    }

static const tacit_bind_field layout[] = {
    WHOLE(tacit_range),
    FIELD(tacit_range, size),
    FIELD(tacit_range, dims),
    WHOLE(tacit_box),
    FIELD(tacit_box, min),
    FIELD(tacit_box, max),
    WHOLE(tacit_component),
    WHOLE(tacit_mapper),
    WHOLE(tacit_access),
    WHOLE(tacit_distribution),
    FIELD(tacit_distribution, kind),
    FIELD(tacit_distribution, grid),
    FIELD(tacit_distribution, block),
    WHOLE(tacit_buffer_desc),
    FIELD(tacit_buffer_desc, name),
    FIELD(tacit_buffer_desc, range),
    FIELD(tacit_buffer_desc, elem_size),
    FIELD(tacit_buffer_desc, init),
    FIELD(tacit_buffer_desc, init_borrow),
    FIELD(tacit_buffer_desc, distribution),
    FIELD(tacit_buffer_desc, init_local),
    WHOLE(tacit_place),
    FIELD(tacit_place, kind),
    FIELD(tacit_place, arg),
    WHOLE(tacit_hints),
    FIELD(tacit_hints, split),
    FIELD(tacit_hints, granularity),
    FIELD(tacit_hints, oversubscribe),
    FIELD(tacit_hints, priority),
    FIELD(tacit_hints, whole_chunk),
    FIELD(tacit_hints, pure),
    FIELD(tacit_hints, weights),
    FIELD(tacit_hints, item_weights),
    FIELD(tacit_hints, no_collectives),
    WHOLE(tacit_kernel),
    FIELD(tacit_kernel, host),
    FIELD(tacit_kernel, opencl.source),
    FIELD(tacit_kernel, opencl.entry),
    FIELD(tacit_kernel, opencl.group),
    FIELD(tacit_kernel, opencl.local_bytes),
    FIELD(tacit_kernel, cuda.source),
    FIELD(tacit_kernel, cuda.entry),
    FIELD(tacit_kernel, cuda.group),
    FIELD(tacit_kernel, cuda.local_bytes),
    WHOLE(tacit_task),
    FIELD(tacit_task, name),
    FIELD(tacit_task, range),
    FIELD(tacit_task, offset),
    FIELD(tacit_task, access),
    FIELD(tacit_task, kernel),
    FIELD(tacit_task, args),
    FIELD(tacit_task, args_size),
    FIELD(tacit_task, on),
    FIELD(tacit_task, place),
    FIELD(tacit_task, hint),
    FIELD(tacit_task, host_object),
    FIELD(tacit_task, hash_args),
    FIELD(tacit_task, cost),
    FIELD(tacit_task, group),
    WHOLE(tacit_view),
    FIELD(tacit_view, data),
    FIELD(tacit_view, box),
    FIELD(tacit_view, stride),
    FIELD(tacit_view, elem_size),
    FIELD(tacit_view, ld),
    FIELD(tacit_view, dims),
    FIELD(tacit_view, mode),
    FIELD(tacit_view, name),
    FIELD(tacit_view, extent),
    WHOLE(tacit_launch),
    FIELD(tacit_launch, chunk),
    FIELD(tacit_launch, view),
    FIELD(tacit_launch, args),
    FIELD(tacit_launch, args_size),
    FIELD(tacit_launch, node),
    FIELD(tacit_launch, num_nodes),
    FIELD(tacit_launch, worker),
    FIELD(tacit_launch, num_workers),
    FIELD(tacit_launch, name),
    FIELD(tacit_launch, context),
    FIELD(tacit_launch, on),
    FIELD(tacit_launch, num_views),
    FIELD(tacit_launch, group),
    WHOLE(tacit_file_attribute),
    FIELD(tacit_file_attribute, name),
    FIELD(tacit_file_attribute, type),
    FIELD(tacit_file_attribute, value),
    WHOLE(tacit_file_options),
    FIELD(tacit_file_options, format),
    FIELD(tacit_file_options, type),
    FIELD(tacit_file_options, box),
    FIELD(tacit_file_options, dataset),
    FIELD(tacit_file_options, attributes),
    FIELD(tacit_file_options, num_attributes),
    FIELD(tacit_file_options, xdmf),
    FIELD(tacit_file_options, time),
    FIELD(tacit_file_options, low),
    FIELD(tacit_file_options, high),
    FIELD(tacit_file_options, colours),
    FIELD(tacit_file_options, sync),
    FIELD(tacit_file_options, tolerant),
    FIELD(tacit_file_options, hint),
    FIELD(tacit_file_options, keep),
    WHOLE(tacit_file_facts),
    FIELD(tacit_file_facts, found),
    FIELD(tacit_file_facts, format),
    FIELD(tacit_file_facts, dims),
    FIELD(tacit_file_facts, size),
    FIELD(tacit_file_facts, type),
    FIELD(tacit_file_facts, type_size),
    FIELD(tacit_file_facts, why),
};

#define CONSTANT(name)                                                                                                 \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
static const struct {
    const char *name;
    int64_t value;
} constants[] = {
#define STATUS(name, value, text) { #name, value },
    TACIT_STATUS_LIST(STATUS)
#undef STATUS
        CONSTANT(TACIT_MAX_ACCESSES),
    CONSTANT(TACIT_MAX_HOST_OBJECTS),
    CONSTANT(TACIT_MAX_DIMS),
    CONSTANT(TACIT_READ),
    CONSTANT(TACIT_WRITE),
    CONSTANT(TACIT_UPDATE),
    CONSTANT(TACIT_REDUCE),
    CONSTANT(TACIT_ON_DEVICES),
    CONSTANT(TACIT_ON_HOST),
    CONSTANT(TACIT_ON_ONE_NODE),
    CONSTANT(TACIT_ON_EVERY_NODE),
    CONSTANT(TACIT_PLACE_SPLIT),
    CONSTANT(TACIT_PLACE_NODE),
    CONSTANT(TACIT_PLACE_OWNER),
    CONSTANT(TACIT_SPLIT_DEFAULT),
    CONSTANT(TACIT_SPLIT_1D),
    CONSTANT(TACIT_SPLIT_2D),
    CONSTANT(TACIT_INT8),
    CONSTANT(TACIT_INT16),
    CONSTANT(TACIT_INT32),
    CONSTANT(TACIT_INT64),
    CONSTANT(TACIT_UINT8),
    CONSTANT(TACIT_UINT16),
    CONSTANT(TACIT_UINT32),
    CONSTANT(TACIT_UINT64),
    CONSTANT(TACIT_FLOAT),
    CONSTANT(TACIT_DOUBLE),
    CONSTANT(TACIT_MAPPER_ONE_TO_ONE),
    CONSTANT(TACIT_MAPPER_ALL),
    CONSTANT(TACIT_MAPPER_FIXED),
    CONSTANT(TACIT_MAPPER_SLICE),
    CONSTANT(TACIT_MAPPER_NEIGHBORHOOD),
    CONSTANT(TACIT_MAPPER_STAR),
    CONSTANT(TACIT_MAPPER_TRANSPOSED),
    CONSTANT(TACIT_MAPPER_REPLICATED),
    CONSTANT(TACIT_MAPPER_PERIODIC),
    CONSTANT(TACIT_MAPPER_CUSTOM),
    CONSTANT(TACIT_OP_SUM),
    CONSTANT(TACIT_OP_PRODUCT),
    CONSTANT(TACIT_OP_MIN),
    CONSTANT(TACIT_OP_MAX),
    CONSTANT(TACIT_OP_AND),
    CONSTANT(TACIT_OP_OR),
    CONSTANT(TACIT_OP_XOR),
    CONSTANT(TACIT_FILE_HDF5),
    CONSTANT(TACIT_FILE_NPY),
    CONSTANT(TACIT_FILE_RAW),
    CONSTANT(TACIT_FILE_PNG),
    CONSTANT(TACIT_COLOURS_HEAT),
    CONSTANT(TACIT_COLOURS_GREY),
    CONSTANT(TACIT_COLOURS_SIGNED),
};

bool tacit_bind_layout(size_t index, tacit_bind_field *out)
{
    if (index >= sizeof(layout) / sizeof(layout[0])) {
        return false;
    }
    *out = layout[index];
    return true;
}

bool tacit_bind_constant(const char *name, int64_t *out)
{
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        if (strcmp(constants[i].name, name) == 0) {
            *out = constants[i].value;
            return true;
        }
    }
    return false;
}

void tacit_bind_full(tacit_component *out)
{
    *out = tacit_full();
}

void tacit_bind_span(size_t a, size_t b, tacit_component *out)
{
    *out = tacit_span(a, b);
}

void tacit_bind_dim(int k, int mul, int div, int64_t lo, int64_t hi, tacit_component *out)
{
    *out = tacit_dim_scaled(k, mul, div, lo, hi);
}

void tacit_bind_dim_periodic(int k, size_t e, tacit_component *out)
{
    *out = tacit_dim_periodic(k, e);
}

void tacit_bind_components(const tacit_component *c, tacit_mapper *out)
{
    *out = tacit_components(c[0], c[1], c[2]);
}

void tacit_bind_one_to_one(tacit_mapper *out)
{
    *out = tacit_one_to_one();
}

void tacit_bind_all(tacit_mapper *out)
{
    *out = tacit_all();
}

void tacit_bind_fixed(const tacit_box *box, tacit_mapper *out)
{
    *out = tacit_fixed(*box);
}

void tacit_bind_slice(int dim, tacit_mapper *out)
{
    *out = tacit_slice(dim);
}

void tacit_bind_neighborhood(size_t e0, size_t e1, size_t e2, tacit_mapper *out)
{
    *out = tacit_neighborhood(e0, e1, e2);
}

void tacit_bind_star(size_t e0, size_t e1, size_t e2, tacit_mapper *out)
{
    *out = tacit_star(e0, e1, e2);
}

void tacit_bind_periodic(size_t e0, size_t e1, size_t e2, tacit_mapper *out)
{
    *out = tacit_periodic(e0, e1, e2);
}

void tacit_bind_transposed(int p0, int p1, int p2, tacit_mapper *out)
{
    *out = tacit_transposed(p0, p1, p2);
}

void tacit_bind_replicated(tacit_mapper *out)
{
    *out = tacit_replicated();
}

void tacit_bind_custom(int handle, tacit_mapper *out)
{
    *out = tacit_custom(handle);
}

void tacit_bind_access(tacit_buffer *buffer, int mode, const tacit_mapper *mapper, bool in_parts, tacit_access *out)
{
    *out = tacit_access_make(buffer, mode, *mapper);
    out->in_parts = in_parts;
}

void tacit_bind_reduce(tacit_buffer *buffer, int kind, int type, bool include_old, tacit_access *out)
{
    *out = tacit_reduce(buffer, tacit_op_make(kind, (tacit_type)type));
    out->include_old = include_old;
}

tacit_status tacit_bind_init(tacit_context **out)
{
    return tacit_init(NULL, out);
}

tacit_status tacit_bind_buffer_create(tacit_context *ctx, const tacit_buffer_desc *desc, tacit_buffer **out)
{
    return tacit_buffer_create(ctx, desc, out);
}

tacit_status tacit_bind_submit(tacit_context *ctx, const tacit_task *task)
{
    return tacit_submit(ctx, task);
}

void tacit_bind_fail(const tacit_launch *launch, const char *text)
{
    tacit_kernel_fail(launch, "%s", text);
}
