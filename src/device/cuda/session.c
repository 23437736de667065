/* What the CUDA devices of a node have in common: see session.h. */
#include "device/cuda/session.h"

#include "base/check.h"

#include <string.h>

/* ---- devices */

bool ti_cuda_fact_of(int index, ti_cuda_fact *out)
{
    ti_cuda_api cu;
    ti_strbuf why = { 0 };
    int count = 0;
    ti_cu_device device;
    bool there = ti_cuda_load(&cu, &why) && cu.count(&count) == TI_CU_SUCCESS && index < count &&
                 cu.get(&device, index) == TI_CU_SUCCESS;
    *out = (ti_cuda_fact){ .memory = 0 };
    if (there) {
        size_t memory = 0;
        cu.name(out->name, sizeof(out->name) - 1, device);
        cu.total(&memory, device);
        cu.attribute(&out->units, TI_CU_MULTIPROCESSOR_COUNT, device);
        cu.attribute(&out->major, TI_CU_CAPABILITY_MAJOR, device);
        cu.attribute(&out->minor, TI_CU_CAPABILITY_MINOR, device);
        int khz = 0, bits = 0;
        cu.attribute(&khz, TI_CU_MEMORY_CLOCK_RATE, device);
        cu.attribute(&bits, TI_CU_GLOBAL_MEMORY_BUS_WIDTH, device);
        out->memory = memory;
        out->bandwidth = 2.0 * 1e3 * khz * bits / 8; /* two words in each tick */
    }
    ti_strbuf_fini(&why);
    return there;
}

static ti_cu_result describe(const ti_cuda_api *cu, ti_cuda_context *c)
{
    enum { DRIVERS_SHARE = 16 };
    size_t memory = 0;
    int pitch = 0;
    ti_cu_result code = cu->get(&c->device, c->index);
    code = code ? code : cu->name(c->name, sizeof(c->name) - 1, c->device);
    code = code ? code : cu->attribute(&c->major, TI_CU_CAPABILITY_MAJOR, c->device);
    code = code ? code : cu->attribute(&c->minor, TI_CU_CAPABILITY_MINOR, c->device);
    code = code ? code : cu->attribute(&pitch, TI_CU_MAX_PITCH, c->device);
    code = code ? code : cu->total(&memory, c->device);
    c->memory = memory - memory / DRIVERS_SHARE;
    c->pitch = (size_t)pitch;
    return code ? code : cu->retain(&c->handle, c->device);
}

const ti_cuda_context *ti_cuda_context_of(const ti_cuda_session *session, int index)
{
    for (int i = 0; i < session->contexts; i++) {
        if (session->context[i].index == index) {
            return &session->context[i];
        }
    }
    return NULL;
}

static bool find_all(ti_cuda_session *s, const int *index, int count, ti_strbuf *why)
{
    int there = 0;
    ti_cu_result code = s->cu.count(&there);
    code = code ? code : s->cu.version(&s->version);
    for (int i = 0; i < count && code == TI_CU_SUCCESS; i++) {
        if (index[i] >= there) {
            ti_strbuf_add(why,
                          "TACIT_DEVICES names cuda:%d, but there are %d CUDA devices here, counted from 0; `tacit "
                          "info` lists them",
                          index[i], there);
            return false;
        }
        if (!ti_cuda_context_of(s, index[i])) {
            ti_cuda_context *c = &s->context[s->contexts];
            *c = (ti_cuda_context){ .index = index[i] };
            code = describe(&s->cu, c);
            s->contexts += code == TI_CU_SUCCESS;
        }
    }
    if (code != TI_CU_SUCCESS) {
        ti_strbuf_add(why, "the CUDA devices of TACIT_DEVICES cannot be used (%s)", ti_cuda_error_name(&s->cu, code));
    }
    return code == TI_CU_SUCCESS;
}

/* Where a GPU can reach the memory of another, copies between them need no detour. They work without, too. */
static void connect(ti_cuda_session *s)
{
    for (int i = 0; i < s->contexts; i++) {
        for (int k = 0; k < s->contexts; k++) {
            int can = 0;
            if (i != k && s->cu.can_access(&can, s->context[i].device, s->context[k].device) == TI_CU_SUCCESS && can &&
                ti_cuda_enter(s, &s->context[i]) == TI_CU_SUCCESS) {
                s->cu.enable_peer(s->context[k].handle, 0);
                ti_cuda_exit(s);
            }
        }
    }
}

/* ---- the session */

static void destroy(ti_cuda_session *s)
{
    ti_cuda_kernels_fini(s);
    for (int i = 0; i < s->contexts; i++) {
        s->cu.release(s->context[i].device);
    }
    TI_ASSERT(s->pinned.count == 0 && s->may_pin.count == 0);
    ti_vec_fini(&s->pinned);
    ti_vec_fini(&s->may_pin);
    ti_free(s->context, (size_t)s->capacity * sizeof(*s->context));
    ti_session_fini(&s->base);
    TI_DELETE(s);
}

ti_cuda_session *ti_cuda_session_create(const int *index, int count, const char *cache, ti_failure *failure,
                                        ti_strbuf *why)
{
    ti_cuda_session *s = TI_NEW(ti_cuda_session);
    ti_session_init(&s->base, cache, failure);
    s->capacity = count;
    s->context = TI_NEW_ARRAY(ti_cuda_context, (size_t)count);
    if (!ti_cuda_load(&s->cu, why) || !find_all(s, index, count, why)) {
        destroy(s);
        return NULL;
    }
    connect(s);
    return s;
}

void ti_cuda_session_leave(ti_cuda_session *session)
{
    if (--session->base.users == 0) {
        destroy(session);
    }
}

/* ---- memory */

tacit_status ti_cuda_memory_create(ti_cuda_session *session, const ti_cuda_context *context, size_t bytes, void **out)
{
    ti_cu_address address = 0;
    if (session->cu.alloc(&address, bytes) != TI_CU_SUCCESS) {
        return TACIT_ERROR_MEMORY;
    }
    *out = (void *)(uintptr_t)address;
    ti_memories_add(&session->base.memory,
                    (ti_memory_piece){ .address = *out, .bytes = bytes, .handle = context->handle });
    return TACIT_OK;
}

void ti_cuda_memory_destroy(ti_cuda_session *session, void *address)
{
    ti_memory_piece m = ti_memories_take(&session->base.memory, address);
    session->cu.free((ti_cu_address)(uintptr_t)m.address);
}

void ti_cuda_may_pin(ti_cuda_session *session, void *memory, size_t bytes)
{
    ti_memories_add(&session->may_pin, (ti_memory_piece){ .address = memory, .bytes = bytes });
}

static bool take_from(ti_memories *memories, void *memory)
{
    const ti_memory_piece *m = ti_memories_find(memories, memory);
    const bool is_there = m && m->address == memory;
    if (is_there) {
        ti_memories_take(memories, memory);
    }
    return is_there;
}

void ti_cuda_unpin(ti_cuda_session *session, void *memory)
{
    if (take_from(&session->may_pin, memory) || !take_from(&session->pinned, memory)) {
        return;
    }
    bool entered = ti_cuda_enter(session, session->context) == TI_CU_SUCCESS; /* not if the device is lost */
    session->cu.host_unregister(memory);
    if (entered) {
        ti_cuda_exit(session);
    }
}

/* What is not granted is not asked for again. */
void ti_cuda_pin(ti_cuda_session *session, const void *memory)
{
    const ti_memory_piece *m = ti_memories_find(&session->may_pin, memory);
    if (m && ti_cuda_enter(session, session->context) == TI_CU_SUCCESS) {
        const ti_memory_piece piece = ti_memories_take(&session->may_pin, m->address);
        if (session->cu.host_register(piece.address, piece.bytes, TI_CU_HOST_PORTABLE) == TI_CU_SUCCESS) {
            ti_memories_add(&session->pinned, piece);
        }
        ti_cuda_exit(session);
    }
}

bool ti_cuda_is_pinned(ti_cuda_session *session, const ti_block *block)
{
    ti_cuda_pin(session, block->base);
    const ti_memory_piece *m = ti_memories_find(&session->pinned, block->base);
    const size_t reach = (block->count[0] - 1) * block->stride[0] + (block->count[1] - 1) * block->stride[1] +
                         block->run;
    return m && ti_memory_offset(m, block->base) + reach <= m->bytes;
}
