/* What the kernels of random programs compute: see meaning.h. */
#include "meaning.h"

#include "touches.h"

#include <string.h>

void meaning_init(meaning_source *s, const gen_program *program, size_t step)
{
    memset(s, 0, sizeof(*s));
    s->program = program;
    s->step = step;
    s->task = &program->task.data[program->step.data[step].index];
}

void meaning_fini(meaning_source *s)
{
    ti_vec_fini(&s->image);
}

static void spread(uint64_t h, size_t elem_size, unsigned char *out)
{
    for (size_t i = 0; i < elem_size; i++) {
        out[i] = (unsigned char)(gen_mix(h + i / 8) >> 8 * (i % 8));
    }
}

void meaning_initial(int buffer, size_t element, size_t elem_size, unsigned char *out)
{
    spread(gen_mix((uint64_t)buffer << 40 ^ element), elem_size, out);
}

void meaning_filled(size_t step, size_t elem_size, unsigned char *out)
{
    spread(gen_mix((uint64_t)step ^ 0xf111), elem_size, out);
}

/* ---- what is read */

static size_t elem_size_of(const meaning_source *s, int access)
{
    return s->program->buffer.data[s->task->access[access].buffer].elem_size;
}

static uint64_t hash_element(meaning_source *s, int access, const int64_t at[3], uint64_t h)
{
    const unsigned char *bytes = s->fetch(s, access, at);
    size_t size = elem_size_of(s, access);
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
        h = gen_mix(h ^ word);
    }
    return h;
}

/* All that `items` read by an access. */
static uint64_t hash_image(meaning_source *s, int access, const gen_box *items, uint64_t h)
{
    int64_t at[3];
    ti_vec_clear(&s->image);
    gen_image(s->program, &s->task->access[access], items, &s->image);
    for (size_t i = 0; i < s->image.count; i++) {
        GEN_FOR_EACH(at, &s->image.data[i])
        {
            h = hash_element(s, access, at, h);
        }
    }
    return h;
}

static uint64_t hash_reads(meaning_source *s, const gen_box *items, bool only_constant, uint64_t h)
{
    for (int i = 0; i < s->task->accesses; i++) {
        const gen_access *a = &s->task->access[i];
        if (a->mode != TACIT_READ) {
            continue;
        }
        if (gen_is_constant(a)) {
            s->constant[i] = s->known[i] ? s->constant[i] : hash_image(s, i, items, (uint64_t)i);
            s->known[i] = true;
            h = gen_mix(h ^ s->constant[i]);
        } else if (!only_constant) {
            h = hash_image(s, i, items, gen_mix(h ^ (uint64_t)i));
        }
    }
    return h;
}

/* ---- who writes an element: the first item that does, and the whole range in dimensions that the mapper does not
 * use */

static int64_t floor_quotient(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

static int64_t first_item(const tacit_component *c, int64_t x, int64_t begin, int64_t n)
{
    if (c->kind != TACIT_COMPONENT_DIM) {
        while (!touches(c, begin, begin + 1, n, x)) {
            begin++;
        }
        return begin;
    }
    int64_t i = floor_quotient((x + c->lo) * c->div, c->mul) - 2 * c->div;
    i = i < begin ? begin : i;
    while (-floor_quotient(-(i + 1) * c->mul, c->div) + c->hi <= x) {
        i++;
    }
    return i;
}

static int64_t custom_item(const gen_custom *c, int64_t x, int64_t n)
{
    switch ((gen_custom_kind)c->kind) {
    case GEN_CUSTOM_REVERSE:
        return n - 1 - x;
    case GEN_CUSTOM_STRIDE:
        return x / c->a;
    case GEN_CUSTOM_HALVES:
        return x % (n / 2);
    case GEN_CUSTOM_DIAGONAL:
    case GEN_CUSTOM_BAND:
    case GEN_CUSTOM_SHIFTS:
    case GEN_CUSTOM_FIXED:
    case GEN_CUSTOM_CHECKER:
    case GEN_CUSTOM_CROSS:
        break;
    }
    return x;
}

static gen_box writers_of(const meaning_source *s, const gen_access *a, const int64_t at[3])
{
    const gen_buffer *b = &s->program->buffer.data[a->buffer];
    gen_box items = gen_items(s->task);
    if (a->mapper.kind == TACIT_MAPPER_CUSTOM) {
        const gen_custom *c = &s->program->custom.data[a->mapper.arg];
        items.min[0] = custom_item(c, at[0], (int64_t)b->range.size[0]);
        items.max[0] = items.min[0] + 1;
        if (gen_custom_writes_2d(c)) {
            items.min[1] = at[1];
            items.max[1] = at[1] + 1;
        }
        return items;
    }
    for (int d = 0; d < b->range.dims; d++) {
        const tacit_component *c = &a->mapper.c[d];
        if (c->kind != TACIT_COMPONENT_FULL && c->kind != TACIT_COMPONENT_SPAN) {
            items.min[c->dim] = first_item(c, at[d], items.min[c->dim], (int64_t)b->range.size[d]);
            items.max[c->dim] = items.min[c->dim] + 1;
        }
    }
    return items;
}

void meaning_value(meaning_source *s, int access, const int64_t at[3], unsigned char out[MEANING_MOST_BYTES])
{
    const gen_access *a = &s->task->access[access];
    gen_box extent = gen_extent(&s->program->buffer.data[a->buffer]), items = writers_of(s, a, at);
    uint64_t h = gen_mix((uint64_t)s->step << 44 ^ (uint64_t)access << 36 ^ gen_element(&extent, at));
    if (a->mode == TACIT_UPDATE) {
        h = hash_element(s, access, at, h);
    }
    h = hash_reads(s, &items, a->mapper.kind == TACIT_MAPPER_REPLICATED, h);
    spread(h, elem_size_of(s, access), out);
}

/* ---- reductions */

static int width_of(int32_t type)
{
    static const int widths[] = { 0, 1, 2, 4, 8, 1, 2, 4, 8 };
    return widths[type];
}

static bool is_signed(int32_t type)
{
    return type <= TACIT_INT64;
}

/* The value of an element, with its sign. */
static int64_t load(int32_t type, const unsigned char *bytes)
{
    uint64_t value = 0;
    memcpy(&value, bytes, (size_t)width_of(type));
    int unused = 64 - 8 * width_of(type);
    return is_signed(type) ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static void store(int32_t type, uint64_t value, unsigned char *bytes)
{
    memcpy(bytes, &value, (size_t)width_of(type));
}

static bool is_less(int32_t type, int64_t a, int64_t b)
{
    return is_signed(type) ? a < b : (uint64_t)a < (uint64_t)b;
}

/* Sums of both halves, or the composition of x -> a x + b, first `into`, then `from`. */
static void combine_user(int which, unsigned char *into, const unsigned char *from)
{
    uint32_t x[2], y[2];
    memcpy(x, into, sizeof(x));
    memcpy(y, from, sizeof(y));
    uint32_t result[2] = { which ? x[0] * y[0] : x[0] + y[0], which ? x[1] * y[0] + y[1] : x[1] ^ y[1] };
    memcpy(into, result, sizeof(result));
}

void meaning_combine(tacit_op op, unsigned char *into, const unsigned char *from)
{
    if (op.kind == TACIT_OP_USER) {
        combine_user(op.type, into, from);
        return;
    }
    int64_t a = load(op.type, into), b = load(op.type, from);
    uint64_t x = (uint64_t)a, y = (uint64_t)b, result = x;
    switch (op.kind) {
    case TACIT_OP_SUM:
        result = x + y;
        break;
    case TACIT_OP_PRODUCT:
        result = x * y;
        break;
    case TACIT_OP_MIN:
        result = is_less(op.type, b, a) ? y : x;
        break;
    case TACIT_OP_MAX:
        result = is_less(op.type, a, b) ? y : x;
        break;
    case TACIT_OP_AND:
        result = x & y;
        break;
    case TACIT_OP_OR:
        result = x | y;
        break;
    case TACIT_OP_XOR:
        result = x ^ y;
        break;
    default:
        break;
    }
    store(op.type, result, into);
}

void meaning_identity(tacit_op op, unsigned char out[MEANING_MOST_BYTES])
{
    if (op.kind == TACIT_OP_USER) {
        memcpy(out, (uint32_t[]){ op.type != 0, 0 }, 2 * sizeof(uint32_t));
        return;
    }
    int bits = 8 * width_of(op.type);
    uint64_t ones = ~(uint64_t)0, most = is_signed(op.type) ? ones >> (65 - bits) : ones, value = 0;
    switch (op.kind) {
    case TACIT_OP_PRODUCT:
        value = 1;
        break;
    case TACIT_OP_MIN:
        value = most;
        break;
    case TACIT_OP_MAX:
        value = is_signed(op.type) ? (uint64_t)1 << (bits - 1) : 0;
        break;
    case TACIT_OP_AND:
        value = ones;
        break;
    default:
        break;
    }
    store(op.type, value, out);
}

void meaning_contribution(meaning_source *s, int access, const int64_t item[3], const int64_t at[3],
                          unsigned char out[MEANING_MOST_BYTES])
{
    const gen_access *a = &s->task->access[access];
    gen_box extent = gen_extent(&s->program->buffer.data[a->buffer]), items;
    uint64_t h = gen_mix((uint64_t)s->step << 44 ^ (uint64_t)access << 36 ^ gen_element(&extent, at));
    for (int d = 0; d < 3; d++) {
        items.min[d] = item[d];
        items.max[d] = item[d] + 1;
        h = gen_mix(h ^ (uint64_t)item[d]);
    }
    h = hash_reads(s, &items, false, h);
    /* Operators that lose bits get values that leave some. */
    switch (a->op.kind) {
    case TACIT_OP_PRODUCT:
        h |= 1;
        break;
    case TACIT_OP_AND:
        h = ~((uint64_t)1 << h % 64);
        break;
    case TACIT_OP_OR:
        h = (uint64_t)1 << h % 64;
        break;
    default:
        break;
    }
    store(a->op.kind == TACIT_OP_USER ? TACIT_UINT64 : a->op.type, h, out);
}
