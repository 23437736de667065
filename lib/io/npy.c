/* NumPy's .npy: a header, whose text is a Python dictionary, and the elements behind it. Node 0's host task.
 *
 * Written is version 1.0, read are 1.0 to 3.0. Of the dictionary only what NumPy itself writes is understood. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 6, PREFIX = 10, ALIGNMENT = 64, MOST = 65536 };
static const char magic[MAGIC + 1] = "\x93NUMPY";
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { OWN_ORDER = '<', OTHER_ORDER = '>' };
#else
enum { OWN_ORDER = '>', OTHER_ORDER = '<' };
#endif

/* The header of an array; returns its length, a multiple of 64. */
static size_t write_header(const io_array *a, char *out, size_t room)
{
    const bool opaque = !a->type;
    size_t at = PREFIX;
    at += (size_t)snprintf(out + at, room - at, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                           opaque || a->type_size == 1 ? '|' : OWN_ORDER, io_type_kind(a->type), a->type_size);
    for (int d = 0; d < a->dims; d++) {
        at += (size_t)snprintf(out + at, room - at, d ? " %zu," : "%zu,", a->size[d]);
    }
    at += (size_t)snprintf(out + at, room - at, "), }");
    const size_t length = (at + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(out + at, ' ', length - at);
    out[length - 1] = '\n';
    memcpy(out, magic, MAGIC);
    out[MAGIC] = 1;
    out[MAGIC + 1] = 0;
    out[MAGIC + 2] = (char)((length - PREFIX) & 0xff);
    out[MAGIC + 3] = (char)((length - PREFIX) >> 8);
    return length;
}

static bool make(const io_plan *plan, const char *path, io_state *s)
{
    char header[4 * ALIGNMENT];
    const size_t length = write_header(&plan->array, header, sizeof(header));
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        return io_say(s, "%s cannot be created: %s", path, strerror(errno));
    }
    s->direct = true;
    s->offset = length;
    bool good = io_reserve(file, length, io_bytes(plan)) && pwrite(file, header, length, 0) == (ssize_t)length;
    int error = errno;
    close(file);
    return good || io_say(s, "there is no room for %" PRIu64 " bytes: %s", length + io_bytes(plan), strerror(error));
}

/* ---- reading */

static const char *value_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (!at) {
        return NULL;
    }
    at += strlen(key);
    while (*at == ' ' || *at == ':') {
        at++;
    }
    return at;
}

static bool read_shape(const char *text, io_state *s)
{
    const char *at = value_of(text, "'shape'");
    if (!at || *at++ != '(') {
        return io_say(s, "its header has no shape");
    }
    for (s->facts.dims = 0; *at != ')';) {
        char *end;
        errno = 0;
        const unsigned long long size = strtoull(at, &end, 10);
        if (end == at || errno || size > (unsigned long long)1 << 62) {
            return io_say(s, "the shape in its header makes no sense");
        }
        if (s->facts.dims == TACIT_FILE_MAX_DIMS) {
            return io_say(s, "it has more than %d dimensions", TACIT_FILE_MAX_DIMS);
        }
        s->facts.size[s->facts.dims++] = (size_t)size;
        at = end + strspn(end, ", ");
    }
    return true;
}

static bool read_type(const char *text, io_state *s)
{
    const char *at = value_of(text, "'descr'");
    if (!at || *at != '\'') {
        return io_say(s, "its elements are structs, or its header makes no sense; save plain numbers");
    }
    const char order = at[1], kind = at[2];
    char *end;
    const size_t size = strtoul(at + 3, &end, 10);
    s->facts.type = io_type_of(kind == 'b' ? 'u' : kind, size);
    s->facts.type_size = size;
    if (*end != '\'' || size == 0 || (!s->facts.type && kind != 'V')) {
        return io_say(s, "its elements are '%.*s', which are no numbers that tacit knows", (int)strcspn(at + 1, "'"),
                      at + 1);
    }
    if (order == OTHER_ORDER && size > 1) {
        return io_say(s, "its numbers have another byte order ('%.*s'); in NumPy: a.astype(a.dtype.newbyteorder('='))",
                      (int)strcspn(at + 1, "'"), at + 1);
    }
    at = value_of(text, "'fortran_order'");
    if (!at || strncmp(at, "False", 5) != 0) {
        return io_say(s, "its elements are stored by columns; in NumPy: numpy.ascontiguousarray(a)");
    }
    return true;
}

/* Reads the header's text into `text`, which has room for MOST. Its length with all that is before it, or 0. */
static size_t read_text(int file, char *text, io_state *s)
{
    unsigned char prefix[PREFIX + 2];
    if (pread(file, prefix, sizeof(prefix), 0) != (ssize_t)sizeof(prefix) || memcmp(prefix, magic, MAGIC) != 0) {
        io_say(s, "it is no .npy file: it does not begin like one");
        return 0;
    }
    const bool old = prefix[MAGIC] == 1;
    const size_t begin = old ? PREFIX : PREFIX + 2;
    const size_t length = (size_t)prefix[8] | (size_t)prefix[9] << 8 |
                          (old ? 0 : (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24);
    if (prefix[MAGIC] < 1 || prefix[MAGIC] > 3 || length >= MOST ||
        pread(file, text, length, (off_t)begin) != (ssize_t)length) {
        io_say(s, "its header is cut off, or of a version that tacit does not know");
        return 0;
    }
    text[length] = 0;
    return begin + length;
}

static bool look(const io_plan *plan, io_state *s)
{
    struct stat is;
    int file = open(plan->path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &is) != 0) {
        return io_say(s, "it cannot be opened: %s", strerror(errno));
    }
    char *text = malloc(MOST);
    s->direct = true;
    s->offset = text ? read_text(file, text, s) : 0;
    bool good = s->offset && read_shape(text, s) && read_type(text, s);
    free(text);
    close(file);
    uint64_t bytes = s->facts.type_size;
    for (int d = 0; good && d < s->facts.dims; d++) {
        good = !__builtin_mul_overflow(bytes, s->facts.size[d], &bytes);
    }
    if (good && (uint64_t)is.st_size < s->offset + bytes) {
        good = io_say(s, "it is cut off: it has %" PRIu64 " bytes, but its header says %" PRIu64, (uint64_t)is.st_size,
                      s->offset + bytes);
    }
    return good || (!s->failed && io_say(s, "the sizes in its header are too large"));
}

const io_format io_npy = { .name = "NumPy", .suffix = { ".npy" }, .make = make, .look = look };
