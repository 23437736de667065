/* Checks what public calls are given, and describes the operation. Application thread. */
#include "session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FORMATS = TACIT_FILE_PNG };
static const char key; /* of the session */

#define IO_TRY(call)                                                                                                   \
    do {                                                                                                               \
        const tacit_status io_status_ = (call);                                                                        \
        if (io_status_ != TACIT_OK) {                                                                                  \
            return io_status_;                                                                                         \
        }                                                                                                              \
    } while (0)

/* ---- the session */

static tacit_status create(tacit_context *ctx, const char *name, size_t size, tacit_buffer **out)
{
    const tacit_buffer_desc desc = { .name = name, .elem_size = size };
    return tacit_buffer_create(ctx, &desc, out);
}

tacit_status io_session_get(tacit_context *ctx, io_session *out)
{
    io_session *s = tacit_attached(ctx, &key);
    if (s) {
        *out = *s;
        return TACIT_OK;
    }
    static const io_state nothing;
    IO_TRY(create(ctx, "files", sizeof(io_state), &out->order));
    IO_TRY(create(ctx, "files' results", sizeof(uint64_t), &out->result));
    IO_TRY(create(ctx, "least of a picture", sizeof(double), &out->low));
    IO_TRY(create(ctx, "greatest of a picture", sizeof(double), &out->high));
    IO_TRY(tacit_fill(ctx, out->order, &nothing));
    s = malloc(sizeof(*s));
    if (!s) {
        return tacit_refuse(ctx, TACIT_ERROR_MEMORY, "files: no memory for %zu bytes", sizeof(*s));
    }
    *s = *out;
    const tacit_status status = tacit_attach(ctx, &key, s, free);
    if (status) {
        free(s);
    }
    return status;
}

/* ---- formats */

const io_format *io_format_of(int format)
{
    switch (format) {
    case TACIT_FILE_HDF5:
        return &io_hdf5;
    case TACIT_FILE_NPY:
        return &io_npy;
    case TACIT_FILE_RAW:
        return &io_raw;
    default:
        return NULL;
    }
}

static int format_by_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (!dot || strchr(dot, '/')) {
        return 0;
    }
    for (int f = TACIT_FILE_HDF5; f < FORMATS; f++) {
        for (const char *const *suffix = io_format_of(f)->suffix; *suffix; suffix++) {
            if (strcasecmp(dot, *suffix) == 0) {
                return f;
            }
        }
    }
    return strcasecmp(dot, ".png") == 0 ? TACIT_FILE_PNG : 0;
}

static tacit_status choose_format(tacit_context *ctx, const char *who, const tacit_file_options *o, io_plan *p)
{
    if (o->format < 0 || o->format > FORMATS) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT,
                            "%s: there is no format %d; use TACIT_FILE_HDF5, _NPY, _RAW or _PNG", who, o->format);
    }
    p->format = o->format ? o->format : format_by_name(p->path);
    if (!p->format) {
        return tacit_refuse(
            ctx, TACIT_ERROR_ARGUMENT,
            "%s: '%s' does not end with .h5, .hdf5, .npy, .raw, .bin or .png; name it so, or set .format", who,
            p->path);
    }
    if ((p->format == TACIT_FILE_HDF5 && !*io_hdf5_library) || (p->format == TACIT_FILE_PNG && !*io_png_library)) {
        return tacit_refuse(ctx, TACIT_ERROR_UNSUPPORTED,
                            "%s: '%s': this tacit was built without %s; install %s and build it again, or write .npy",
                            who, p->path, p->format == TACIT_FILE_PNG ? "libpng" : "HDF5",
                            p->format == TACIT_FILE_PNG ? "libpng-dev" : "libhdf5-dev");
    }
    if (p->reads && p->format == TACIT_FILE_PNG) {
        return tacit_refuse(ctx, TACIT_ERROR_UNSUPPORTED, "%s: '%s': pictures are written only; read .h5, .npy or .raw",
                            who, p->path);
    }
    return TACIT_OK;
}

/* ---- texts, the box, the array */

static tacit_status copy_text(tacit_context *ctx, const char *who, const char *what, const char *text, size_t room,
                              char *out)
{
    const size_t length = text ? strlen(text) : 0;
    if (length >= room) {
        return tacit_refuse(ctx, TACIT_ERROR_RANGE, "%s: %s has %zu bytes, but at most %zu are possible", who, what,
                            length, room - 1);
    }
    if (length) {
        memcpy(out, text, length);
    }
    return TACIT_OK;
}

static bool is_zero(const tacit_box *b)
{
    static const tacit_box zero;
    return memcmp(b, &zero, sizeof(zero)) == 0;
}

static tacit_status choose_box(tacit_context *ctx, const char *who, const tacit_file_options *o,
                               const tacit_buffer_facts *facts, io_plan *p)
{
    p->box = is_zero(&o->box) ? TACIT_BOX_ALL : o->box;
    for (int d = 0; d < TACIT_MAX_DIMS; d++) {
        const size_t size = facts->range.size[d];
        if (p->box.max[d] == SIZE_MAX && p->box.min[d] == 0) {
            p->box.max[d] = size;
        }
        if (p->box.min[d] >= p->box.max[d] || p->box.max[d] > size) {
            return tacit_refuse(
                ctx, TACIT_ERROR_RANGE,
                "%s: .box is [%zu, %zu) in dimension %d, where buffer '%s' has %zu elements; it must lie in "
                "the buffer and not be empty",
                who, p->box.min[d], p->box.max[d], d, facts->name, size);
        }
    }
    return TACIT_OK;
}

static tacit_status describe_array(tacit_context *ctx, const char *who, const tacit_file_options *o,
                                   const tacit_buffer_facts *facts, io_plan *p)
{
    io_array *a = &p->array;
    const size_t number = io_type_size(o->type);
    p->elem_size = facts->elem_size;
    if ((int)o->type != 0 && (!number || facts->elem_size % number != 0)) {
        return tacit_refuse(
            ctx, TACIT_ERROR_ARGUMENT,
            "%s: .type is %d, %s, of which an element of buffer '%s', %zu bytes, is no whole number; name the type "
            "of its numbers",
            who, (int)o->type, number ? io_type_name(o->type) : "which there is not", facts->name, facts->elem_size);
    }
    a->type = number ? (int)o->type : 0;
    a->type_size = number ? number : facts->elem_size;
    for (a->dims = 0; a->dims < facts->range.dims; a->dims++) {
        a->size[a->dims] = p->box.max[a->dims] - p->box.min[a->dims];
    }
    if (number && facts->elem_size > number) {
        a->size[a->dims++] = facts->elem_size / number;
    }
    if (p->format != TACIT_FILE_PNG) {
        return TACIT_OK;
    }
    if (facts->range.dims != 2 || !number || facts->elem_size != number) {
        return tacit_refuse(
            ctx, facts->range.dims != 2 ? TACIT_ERROR_DIMENSION : TACIT_ERROR_ARGUMENT,
            "%s: a picture needs a buffer of 2 dimensions with one number in each element, and .type; buffer '%s' "
            "has %d and elements of %zu bytes",
            who, facts->name, facts->range.dims, facts->elem_size);
    }
    return TACIT_OK;
}

static tacit_status copy_attribute(tacit_context *ctx, const char *who, const tacit_file_attribute *from,
                                   io_attribute *to)
{
    if (!from->name || !*from->name || !from->value || ((int)from->type != 0 && !io_type_size(from->type))) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT,
                            "%s: an attribute has no name, no value, or a type that there is not", who);
    }
    IO_TRY(copy_text(ctx, who, "the name of an attribute", from->name, IO_NAME, to->name));
    to->type = (int)from->type;
    if (!to->type) {
        return copy_text(ctx, who, "the text of an attribute", from->value, IO_TEXT, to->value.text);
    }
    memcpy(&to->value, from->value, io_type_size(to->type));
    return TACIT_OK;
}

static tacit_status copy_attributes(tacit_context *ctx, const char *who, const tacit_file_options *o, io_plan *p)
{
    if ((o->num_attributes || o->xdmf) && p->format != TACIT_FILE_HDF5) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT,
                            "%s: '%s': attributes and XDMF belong to HDF5 files; name it .h5", who, p->path);
    }
    if (o->num_attributes > IO_ATTRIBUTES || (o->num_attributes && !o->attributes)) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT, "%s: .num_attributes is %zu; give .attributes, at most %d", who,
                            o->num_attributes, IO_ATTRIBUTES);
    }
    for (size_t i = 0; i < o->num_attributes; i++) {
        IO_TRY(copy_attribute(ctx, who, &o->attributes[i], &p->attribute[i]));
    }
    p->num_attributes = (int)o->num_attributes;
    return copy_text(ctx, who, "the path of the series", o->xdmf, IO_PATH, p->xdmf);
}

tacit_status io_plan_make(tacit_context *ctx, const char *who, const char *path, const tacit_file_options *options,
                          const tacit_buffer_facts *facts, io_plan *p)
{
    static const tacit_file_options none;
    const tacit_file_options *o = options ? options : &none;
    if (!path || !*path) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT, "%s: the path is %s", who, path ? "empty" : "NULL");
    }
    IO_TRY(copy_text(ctx, who, "the path", path, IO_PATH, p->path));
    IO_TRY(choose_format(ctx, who, o, p));
    IO_TRY(copy_text(ctx, who, "the name of the dataset", o->dataset && *o->dataset ? o->dataset : "data", IO_DATASET,
                     p->dataset));
    p->sync = o->sync;
    p->tolerant = o->tolerant;
    if (!facts) {
        return TACIT_OK;
    }
    IO_TRY(choose_box(ctx, who, o, facts, p));
    IO_TRY(describe_array(ctx, who, o, facts, p));
    if (o->colours < TACIT_COLOURS_HEAT || o->colours > TACIT_COLOURS_SIGNED || isnan(o->low) || isnan(o->high)) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT,
                            "%s: .colours is %d, .low %g, .high %g; use TACIT_COLOURS_... and numbers", who, o->colours,
                            o->low, o->high);
    }
    if (o->keep && p->format != TACIT_FILE_HDF5) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT,
                            "%s: '%s': .keep is for HDF5 files, which have several datasets; name it .h5", who,
                            p->path);
    }
    p->keep = o->keep;
    p->time = o->time;
    p->colours = o->colours;
    p->has_range = o->low != 0 || o->high != 0;
    p->low = o->low;
    p->high = o->high;
    return copy_attributes(ctx, who, o, p);
}
