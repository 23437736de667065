/* Built-in reduction operators: see reduction.h. One function per type and use, generated from two lists. */
#include "ir/reduction.h"

#include "base/check.h"

#include <math.h>
#include <string.h>

/* type constant, C type, smallest value, largest value, "unsigned enough" type in which sums wrap without overflow */
#define INTEGER_TYPES(X)                                                                                               \
    X(TACIT_INT8, int8_t, INT8_MIN, INT8_MAX, uint32_t)                                                                \
    X(TACIT_INT16, int16_t, INT16_MIN, INT16_MAX, uint32_t)                                                            \
    X(TACIT_INT32, int32_t, INT32_MIN, INT32_MAX, uint32_t)                                                            \
    X(TACIT_INT64, int64_t, INT64_MIN, INT64_MAX, uint64_t)                                                            \
    X(TACIT_UINT8, uint8_t, 0, UINT8_MAX, uint32_t)                                                                    \
    X(TACIT_UINT16, uint16_t, 0, UINT16_MAX, uint32_t)                                                                 \
    X(TACIT_UINT32, uint32_t, 0, UINT32_MAX, uint32_t)                                                                 \
    X(TACIT_UINT64, uint64_t, 0, UINT64_MAX, uint64_t)
#define FLOATING_TYPES(X)                                                                                              \
    X(TACIT_FLOAT, float, -INFINITY, INFINITY, float)                                                                  \
    X(TACIT_DOUBLE, double, -INFINITY, INFINITY, double)

typedef enum op_kind { SUM = TACIT_OP_SUM, PRODUCT, MIN, MAX, AND, OR, XOR } op_kind;

#define DEFINE_COMMON(TYPE, ctype, least, most, wide)                                                                  \
    static void identity_##ctype(op_kind kind, void *at, size_t n)                                                     \
    {                                                                                                                  \
        ctype *a = at, value = 0;                                                                                      \
        switch (kind) {                                                                                                \
        case SUM:                                                                                                      \
        case OR:                                                                                                       \
        case XOR:                                                                                                      \
            value = 0;                                                                                                 \
            break;                                                                                                     \
        case PRODUCT:                                                                                                  \
            value = 1;                                                                                                 \
            break;                                                                                                     \
        case MIN:                                                                                                      \
            value = most;                                                                                              \
            break;                                                                                                     \
        case MAX:                                                                                                      \
            value = least;                                                                                             \
            break;                                                                                                     \
        case AND:                                                                                                      \
            value = (ctype) ~(uint64_t)0;                                                                              \
            break;                                                                                                     \
        }                                                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                 \
            a[i] = value;                                                                                              \
    }
#define DEFINE_COMBINE(TYPE, ctype, least, most, wide, BITS)                                                           \
    static void combine_##ctype(op_kind kind, void *into, const void *from, size_t n)                                  \
    {                                                                                                                  \
        ctype *a = into;                                                                                               \
        const ctype *b = from;                                                                                         \
        switch (kind) {                                                                                                \
        case SUM:                                                                                                      \
            for (size_t i = 0; i < n; i++)                                                                             \
                a[i] = (ctype)((wide)a[i] + (wide)b[i]);                                                               \
            break;                                                                                                     \
        case PRODUCT:                                                                                                  \
            for (size_t i = 0; i < n; i++)                                                                             \
                a[i] = (ctype)((wide)a[i] * (wide)b[i]);                                                               \
            break;                                                                                                     \
        case MIN:                                                                                                      \
            for (size_t i = 0; i < n; i++)                                                                             \
                a[i] = TI_MIN(a[i], b[i]);                                                                             \
            break;                                                                                                     \
        case MAX:                                                                                                      \
            for (size_t i = 0; i < n; i++)                                                                             \
                a[i] = TI_MAX(a[i], b[i]);                                                                             \
            break;                                                                                                     \
            BITS                                                                                                       \
        }                                                                                                              \
    }
#define BIT_CASES(ctype)                                                                                               \
    case AND:                                                                                                          \
        for (size_t i = 0; i < n; i++)                                                                                 \
            a[i] = (ctype)(a[i] & b[i]);                                                                               \
        break;                                                                                                         \
    case OR:                                                                                                           \
        for (size_t i = 0; i < n; i++)                                                                                 \
            a[i] = (ctype)(a[i] | b[i]);                                                                               \
        break;                                                                                                         \
    case XOR:                                                                                                          \
        for (size_t i = 0; i < n; i++)                                                                                 \
            a[i] = (ctype)(a[i] ^ b[i]);                                                                               \
        break;
#define NO_BIT_CASES                                                                                                   \
    case AND:                                                                                                          \
    case OR:                                                                                                           \
    case XOR:                                                                                                          \
        TI_UNREACHABLE();
#define DEFINE_INTEGER(TYPE, ctype, least, most, wide)                                                                 \
    DEFINE_COMMON(TYPE, ctype, least, most, wide)                                                                      \
    DEFINE_COMBINE(TYPE, ctype, least, most, wide, BIT_CASES(ctype))
#define DEFINE_FLOATING(TYPE, ctype, least, most, wide)                                                                \
    DEFINE_COMMON(TYPE, ctype, least, most, wide)                                                                      \
    DEFINE_COMBINE(TYPE, ctype, least, most, wide, NO_BIT_CASES)

/* clang-format off */
INTEGER_TYPES(DEFINE_INTEGER)
FLOATING_TYPES(DEFINE_FLOATING)
/* clang-format on */

typedef struct type_row {
    size_t size;
    const char *name;
    void (*identity)(op_kind kind, void *at, size_t n);
    void (*combine)(op_kind kind, void *into, const void *from, size_t n);
    bool has_bits;
} type_row;

static const type_row rows[] = {
#define INTEGER_ROW(TYPE, ctype, least, most, wide)                                                                    \
    [TYPE] = { sizeof(ctype), #ctype, identity_##ctype, combine_##ctype, true },
#define FLOATING_ROW(TYPE, ctype, least, most, wide)                                                                   \
    [TYPE] = { sizeof(ctype), #ctype, identity_##ctype, combine_##ctype, false },
    INTEGER_TYPES(INTEGER_ROW) FLOATING_TYPES(FLOATING_ROW)
};

static const type_row *row_of(int type)
{
    return type > 0 && type < (int)TI_COUNT(rows) && rows[type].size ? &rows[type] : NULL;
}

size_t ti_type_size(int type)
{
    const type_row *row = row_of(type);
    return row ? row->size : 0;
}

const char *ti_type_name(int type)
{
    const type_row *row = row_of(type);
    return row ? row->name : "no type";
}

const char *ti_op_name(int kind)
{
    static const char *const names[] = { "", "sum", "product", "min", "max", "and", "or", "xor" };
    return kind >= SUM && kind <= XOR ? names[kind] : NULL;
}

bool ti_op_is_valid(tacit_op op)
{
    const type_row *row = row_of(op.type);
    return row && ti_op_name(op.kind) && (row->has_bits || op.kind <= MAX);
}

void ti_reducer_fill_identity(const ti_reducer *r, void *at, size_t n)
{
    if (!r->user) {
        TI_ASSERT(ti_op_is_valid(r->op));
        rows[r->op.type].identity((op_kind)r->op.kind, at, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy((char *)at + i * r->user->desc.elem_size, r->user->desc.identity, r->user->desc.elem_size);
    }
}

void ti_reducer_combine(const ti_reducer *r, void *into, const void *from, size_t n)
{
    if (r->user) {
        r->user->desc.combine(into, from, n, r->user->desc.user);
        return;
    }
    TI_ASSERT(ti_op_is_valid(r->op));
    rows[r->op.type].combine((op_kind)r->op.kind, into, from, n);
}
