/* Copies of CUDA devices: see copy.h. */
#include "device/cuda/copy.h"

static ti_cu_side side_of(const ti_cuda_session *session, const ti_block *b)
{
    const ti_memory_piece *m = ti_cuda_memory_of(session, b->base);
    ti_cu_side side = { .type = m ? TI_CU_MEMORY_DEVICE : TI_CU_MEMORY_HOST,
                        .host = m ? NULL : b->base,
                        .device = m ? (ti_cu_address)(uintptr_t)b->base : 0,
                        .context = m ? m->handle : NULL,
                        .pitch = b->count[1] > 1 ? b->stride[1] : b->run,
                        .height = b->count[1] };
    if (b->count[0] > 1) {
        side.height = b->stride[0] / side.pitch;
    }
    return side;
}

/* Whether one call can express the block: planes are a whole number of rows apart. */
static bool is_pitched(const ti_cuda_context *context, const ti_block *b)
{
    const size_t pitch = b->count[1] > 1 ? b->stride[1] : b->run;
    return pitch >= b->run && pitch <= context->pitch &&
           (b->count[0] == 1 || (b->stride[0] % pitch == 0 && b->stride[0] / pitch >= b->count[1]));
}

static ti_cu_result copy_pitched(const ti_cuda_session *session, ti_cu_stream stream, const ti_block *to,
                                 const ti_block *from)
{
    const ti_cuda_api *cu = &session->cu;
    ti_cu_copy c = { .from = side_of(session, from),
                     .to = side_of(session, to),
                     .width = to->run,
                     .height = to->count[1],
                     .depth = to->count[0] };
    if (c.from.context && c.to.context && c.from.context != c.to.context) {
        return cu->copy_peer(&c, stream);
    }
    c.from.context = c.to.context = NULL;
    return cu->copy(&c, stream);
}

static ti_cu_result copy_run(const ti_cuda_session *session, const ti_cuda_context *context, ti_cu_stream stream,
                             char *to, char *from, size_t bytes)
{
    const ti_cuda_api *cu = &session->cu;
    const ti_memory_piece *there = ti_cuda_memory_of(session, to), *here = ti_cuda_memory_of(session, from);
    const ti_cu_address target = (ti_cu_address)(uintptr_t)to, source = (ti_cu_address)(uintptr_t)from;
    if (!here) {
        return cu->to_device(target, from, bytes, stream);
    }
    if (!there) {
        return cu->from_device(to, source, bytes, stream);
    }
    if (here->handle == there->handle) {
        return cu->within(target, source, bytes, stream);
    }
    /* Among devices there are boxes only, whose rows are no longer than a pitch. */
    ti_cu_result code = TI_CU_SUCCESS;
    for (size_t at = 0; at < bytes && code == TI_CU_SUCCESS; at += context->pitch) {
        const size_t n = TI_MIN(bytes - at, context->pitch);
        const ti_block t = { to + at, n, { 1, 1 }, { n, n } }, f = { from + at, n, { 1, 1 }, { n, n } };
        code = copy_pitched(session, stream, &t, &f);
    }
    return code;
}

ti_cu_result ti_cuda_give_copy(const ti_cuda_session *session, const ti_cuda_context *context, ti_cu_stream stream,
                               const ti_block *to, const ti_block *from)
{
    ti_cu_result code = TI_CU_SUCCESS;
    if (to->count[0] * to->count[1] > 1 && is_pitched(context, to) && is_pitched(context, from)) {
        return copy_pitched(session, stream, to, from);
    }
    ti_block t = *to, f = *from;
    t.count[0] = f.count[0] = 1;
    for (size_t i = 0; i < to->count[0] && code == TI_CU_SUCCESS; i++) {
        t.base = to->base + i * to->stride[0];
        f.base = from->base + i * from->stride[0];
        if (to->count[0] > 1 && to->count[1] > 1 && is_pitched(context, &t) && is_pitched(context, &f)) {
            code = copy_pitched(session, stream, &t, &f);
            continue;
        }
        for (size_t k = 0; k < to->count[1] && code == TI_CU_SUCCESS; k++) {
            code = copy_run(session, context, stream, t.base + k * t.stride[1], f.base + k * f.stride[1], to->run);
        }
    }
    return code;
}
