/* The numbers that elements are made of, and whether a file has those that a program wants. Any thread. */
#include "file.h"

#include <string.h>

static const struct {
    const char *name;
    char kind;
    size_t size;
} types[] = {
    [TACIT_INT8] = { "int8_t", 'i', 1 },     [TACIT_INT16] = { "int16_t", 'i', 2 },
    [TACIT_INT32] = { "int32_t", 'i', 4 },   [TACIT_INT64] = { "int64_t", 'i', 8 },
    [TACIT_UINT8] = { "uint8_t", 'u', 1 },   [TACIT_UINT16] = { "uint16_t", 'u', 2 },
    [TACIT_UINT32] = { "uint32_t", 'u', 4 }, [TACIT_UINT64] = { "uint64_t", 'u', 8 },
    [TACIT_FLOAT] = { "float", 'f', 4 },     [TACIT_DOUBLE] = { "double", 'f', 8 },
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

size_t io_type_size(int type)
{
    return type > 0 && type < TYPES ? types[type].size : 0;
}

const char *io_type_name(int type)
{
    return io_type_size(type) ? types[type].name : "bytes";
}

char io_type_kind(int type)
{
    return io_type_size(type) ? types[type].kind : 'V';
}

int io_type_of(char kind, size_t size)
{
    for (int t = 1; t < TYPES; t++) {
        if (types[t].kind == kind && types[t].size == size) {
            return t;
        }
    }
    return 0;
}

#define VALUE(type)                                                                                                    \
    {                                                                                                                  \
        type x;                                                                                                        \
        memcpy(&x, number, sizeof(x));                                                                                 \
        return (double)x;                                                                                              \
    }

double io_type_value(int type, const void *number)
{
    switch (type) {
    case TACIT_INT8:
        VALUE(int8_t)
    case TACIT_INT16:
        VALUE(int16_t)
    case TACIT_INT32:
        VALUE(int32_t)
    case TACIT_INT64:
        VALUE(int64_t)
    case TACIT_UINT8:
        VALUE(uint8_t)
    case TACIT_UINT16:
        VALUE(uint16_t)
    case TACIT_UINT32:
        VALUE(uint32_t)
    case TACIT_UINT64:
        VALUE(uint64_t)
    case TACIT_FLOAT:
        VALUE(float)
    default:
        VALUE(double)
    }
}

void io_array_text(const io_array *a, char *out, size_t n)
{
    size_t at = 0;
    out[0] = 0;
    for (int d = 0; d < a->dims && at < n; d++) {
        at += (size_t)snprintf(out + at, n - at, "%s%zu", d ? " x " : "", a->size[d]);
    }
    if (at < n && a->type) {
        snprintf(out + at, n - at, "%s%s", a->dims ? " of " : "one ", io_type_name(a->type));
    } else if (at < n) {
        snprintf(out + at, n - at, "%s%zu bytes", a->dims ? " of " : "one element of ", a->type_size);
    }
}

bool io_say(io_state *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, sizeof(s->why), format, args);
    va_end(args);
    s->failed = 1;
    return false;
}

bool io_fits(const io_plan *plan, const tacit_file_facts *facts, io_state *s)
{
    const io_array *want = &plan->array;
    io_array has = { .dims = facts->dims, .type = facts->type, .type_size = facts->type_size };
    memcpy(has.size, facts->size, sizeof(has.size));
    bool fits = has.dims == want->dims && has.type == want->type && has.type_size == want->type_size;
    for (int d = 0; fits && d < has.dims; d++) {
        fits = has.size[d] == want->size[d];
    }
    if (fits) {
        return true;
    }
    char text[2][96];
    io_array_text(&has, text[0], sizeof(text[0]));
    io_array_text(want, text[1], sizeof(text[1]));
    return io_say(s, "it has %s, but the buffer's box is %s; create the buffer by what tacit_file_look says", text[0],
                  text[1]);
}
