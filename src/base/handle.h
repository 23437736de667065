/* Handles that can be checked: whether an address that the program gives stands for an object that exists, also if it
 * is garbage.
 *
 * Objects behind handles live in chunks of equal slots, per kind, which are never returned to the allocator: their
 * addresses may be looked at for ever. An address stands for an object if it is that of a slot, and the slot says that
 * it is live. Slots are used again, but only after TI_HANDLE_REST others have been freed later, oldest first: until
 * then a stale handle is known to be one. Memory is bounded by the most objects that existed at once. The pools belong
 * to the process, since one context may be given handles of another. Any thread; a lock per kind for new and free, none
 * for the check, which takes a few loads. */
#ifndef TI_HANDLE_H
#define TI_HANDLE_H

#include "base/macro.h"

#include <stdatomic.h>

typedef enum ti_handle_kind {
    TI_HANDLE_CONTEXT,
    TI_HANDLE_BUFFER,
    TI_HANDLE_TICKET,
    TI_HANDLE_OBJECT,
    TI_HANDLE_WEIGHTS,
    TI_HANDLE_GROUP,
    TI_HANDLE_PREPARED,
    TI_HANDLE_KINDS
} ti_handle_kind;

enum { TI_HANDLE_REST = 1024 };
/* Most bytes of an object; with the 8 of its serial number a power of two. There are few contexts, but there may be
 * very many buffers. */
#define TI_HANDLE_BYTES(kind) ((kind) == TI_HANDLE_CONTEXT ? 1016 : (kind) == TI_HANDLE_BUFFER ? 56 : 120)

void *ti_handle_new(ti_handle_kind kind); /* TI_HANDLE_BYTES(kind), zero-filled, aligned to 8 bytes */
void ti_handle_free(ti_handle_kind kind, void *object);
/* Which object of this kind `object`, which may be anything, is, counted from 1 in the order of their creation. 0: it
 * did not come from ti_handle_new of this kind, or was freed. */
uint64_t ti_handle_serial(ti_handle_kind kind, const void *object);

/* The live object that was made last, or NULL: nearly always the one that is asked for where there is one. */
extern _Atomic(const void *) ti_handle_newest[TI_HANDLE_KINDS];
static inline bool ti_handle_is_newest(ti_handle_kind kind, const void *object)
{
    return object && object == atomic_load_explicit(&ti_handle_newest[kind], memory_order_acquire);
}

bool ti_handle_is_live(ti_handle_kind kind, const void *object);

#define TI_HANDLE_NEW(type, kind)                                                                                      \
    (__extension__({                                                                                                   \
        _Static_assert(sizeof(type) <= TI_HANDLE_BYTES(kind) && _Alignof(type) <= 8, "fits a slot");                   \
        (type *)ti_handle_new(kind);                                                                                   \
    }))

#endif
