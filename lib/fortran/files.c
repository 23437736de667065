/* What the Fortran module tacit_io calls (tacit_io.F90): the options of tacit/io.h, with dimensions the other way round
 * and indices from 1. Application thread. */
#include "tacit/io.h"

#include <string.h>

#include "tacit/layer.h"

enum { MAX = TACIT_MAX_DIMS, ATTRIBUTES = 8, NAME = 64, TEXT = 128 };
enum { KIND_TEXT, KIND_INTEGER, KIND_REAL };

/* As the module has them. */
typedef struct attribute {
    char name[NAME], text[TEXT]; /* without a 0: too long */
    int64_t whole;
    double number;
    int kind;
} attribute;

typedef struct options {
    int type, colours, split, attributes;
    int64_t lower[MAX], upper[MAX], boxed; /* boxed: how many dimensions the box has; 0: none is given */
    double time, low, high;
    bool keep, sync, tolerant;
} options;

tacit_status tacit_fortran_move(tacit_context *ctx, tacit_buffer *buffer, const char *path, const options *o,
                                const char *dataset, const char *xdmf, const attribute *list, bool writing);
tacit_status tacit_fortran_look(tacit_context *ctx, const char *path, const char *dataset, bool *found, int *rank,
                                int *numbers, int64_t *shape, char *why);
tacit_status tacit_fortran_get_attribute(tacit_context *ctx, const char *path, const char *dataset, attribute *a,
                                         bool *found);

static const char *given(const char *text)
{
    return text[0] ? text : NULL;
}

/* The box of a buffer of these dimensions. */
static tacit_status box_of(tacit_context *ctx, tacit_buffer *buffer, const options *o, tacit_box *out)
{
    tacit_buffer_facts facts;
    const tacit_status status = tacit_buffer_get_facts(ctx, buffer, &facts);
    if (status) {
        return status;
    }
    const int rank = facts.range.dims;
    if (o->boxed != rank) {
        return tacit_refuse(ctx, TACIT_ERROR_DIMENSION, "lower and upper have %d dimensions, and buffer '%s' has %d",
                            (int)o->boxed, facts.name, rank);
    }
    *out = tacit_box3(0, 1, 0, 1, 0, 1);
    for (int d = 0; d < rank; d++) {
        const int64_t first = o->lower[rank - 1 - d], last = o->upper[rank - 1 - d];
        if (first < 1 || last < first) {
            return tacit_refuse(ctx, TACIT_ERROR_RANGE,
                                "dimension %d of lower and upper is %lld to %lld; indices begin with 1", rank - d,
                                (long long)first, (long long)last);
        }
        out->min[d] = (size_t)first - 1;
        out->max[d] = (size_t)last;
    }
    return TACIT_OK;
}

static tacit_status attributes_of(tacit_context *ctx, const attribute *list, int count, tacit_file_attribute *out)
{
    if (count > ATTRIBUTES) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT, "there are %d attributes; a dataset has at most %d", count,
                            ATTRIBUTES);
    }
    for (int i = 0; i < count; i++) {
        const attribute *a = &list[i];
        if (!memchr(a->name, 0, NAME) || !memchr(a->text, 0, TEXT)) {
            return tacit_refuse(ctx, TACIT_ERROR_RANGE,
                                "attribute %d is too long: names have at most %d bytes, texts %d", i + 1, NAME - 1,
                                TEXT - 1);
        }
        out[i] = (tacit_file_attribute){ a->name, 0, a->text };
        if (a->kind == KIND_INTEGER) {
            out[i].type = TACIT_INT64, out[i].value = &a->whole;
        } else if (a->kind == KIND_REAL) {
            out[i].type = TACIT_DOUBLE, out[i].value = &a->number;
        }
    }
    return TACIT_OK;
}

tacit_status tacit_fortran_move(tacit_context *ctx, tacit_buffer *buffer, const char *path, const options *o,
                                const char *dataset, const char *xdmf, const attribute *list, bool writing)
{
    tacit_file_attribute attributes[ATTRIBUTES];
    tacit_file_options all = { .type = (tacit_type)o->type,
                               .dataset = given(dataset),
                               .attributes = attributes,
                               .num_attributes = (size_t)o->attributes,
                               .xdmf = given(xdmf),
                               .time = o->time,
                               .low = o->low,
                               .high = o->high,
                               .colours = o->colours,
                               .sync = o->sync,
                               .tolerant = o->tolerant,
                               .keep = o->keep,
                               .hint.split = o->split };
    tacit_status status = attributes_of(ctx, list, o->attributes, attributes);
    if (!status && o->boxed) {
        status = box_of(ctx, buffer, o, &all.box);
    }
    if (status) {
        return status;
    }
    return writing ? tacit_buffer_write(ctx, buffer, path, &all) : tacit_buffer_read(ctx, buffer, path, &all);
}

tacit_status tacit_fortran_look(tacit_context *ctx, const char *path, const char *dataset, bool *found, int *rank,
                                int *numbers, int64_t *shape, char *why)
{
    const tacit_file_options options = { .dataset = given(dataset) };
    tacit_file_facts facts = { 0 };
    const tacit_status status = tacit_file_look(ctx, path, &options, &facts);
    *found = facts.found;
    *rank = facts.dims;
    *numbers = facts.type;
    memcpy(why, facts.why, sizeof(facts.why));
    for (int d = 0; d < TACIT_FILE_MAX_DIMS; d++) {
        shape[d] = d < facts.dims ? (int64_t)facts.size[facts.dims - 1 - d] : 1;
    }
    return status;
}

tacit_status tacit_fortran_get_attribute(tacit_context *ctx, const char *path, const char *dataset, attribute *a,
                                         bool *found)
{
    const tacit_file_options options = { .dataset = given(dataset) };
    const bool asks = *found;
    void *value = a->kind == KIND_INTEGER ? (void *)&a->whole : a->kind == KIND_REAL ? (void *)&a->number : a->text;
    const tacit_type type = a->kind == KIND_INTEGER ? TACIT_INT64 : a->kind == KIND_REAL ? TACIT_DOUBLE : 0;
    if (!memchr(a->name, 0, NAME)) {
        return tacit_refuse(ctx, TACIT_ERROR_RANGE, "the name of an attribute has at most %d bytes", NAME - 1);
    }
    return tacit_file_get_attribute(ctx, path, &options, a->name, type, value, asks ? found : NULL);
}
