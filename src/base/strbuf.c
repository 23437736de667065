/* A growing string: see strbuf.h. */
#include "base/strbuf.h"

#include "base/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void ti_strbuf_reserve(ti_strbuf *buf, size_t capacity)
{
    if (capacity > buf->capacity) {
        buf->text = ti_realloc(buf->text, buf->capacity, capacity);
        buf->text[buf->length] = '\0';
        buf->capacity = capacity;
    }
}

void ti_strbuf_vadd(ti_strbuf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int need = vsnprintf(NULL, 0, format, args);
    if (need > 0) {
        size_t size = buf->length + (size_t)need + 1;
        if (size > buf->capacity) {
            ti_strbuf_reserve(buf, TI_MAX(size, 2 * buf->capacity));
        }
        vsnprintf(buf->text + buf->length, buf->capacity - buf->length, format, again);
        buf->length += (size_t)need;
        TI_ASSERT(buf->length < buf->capacity && buf->text[buf->length] == '\0');
    }
    va_end(again);
}

void ti_strbuf_add(ti_strbuf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ti_strbuf_vadd(buf, format, args);
    va_end(args);
}

/* How many bytes the character has that begins here; 0: it is none. Neither longer than need be, nor half of a pair of
 * UTF-16, nor above U+10FFFF. */
static int character(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    int length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool wrong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf0 && c[1] < 0x90) ||
                 (c[0] == 0xf4 && c[1] >= 0x90);
    return wrong ? 0 : length;
}

void ti_strbuf_add_utf8(ti_strbuf *buf, const char *text)
{
    for (int length; *text; text += TI_MAX(length, 1)) {
        length = character(text);
        ti_strbuf_add(buf, "%.*s", length ? length : 3, length ? text : "\xef\xbf\xbd");
    }
}

void ti_strbuf_add_json(ti_strbuf *buf, const char *text)
{
    ti_strbuf clean = { 0 };
    ti_strbuf_add_utf8(&clean, text);
    ti_strbuf_add(buf, "\"");
    for (const unsigned char *c = (const unsigned char *)ti_strbuf_text(&clean); *c; c++) {
        if (*c == '"' || *c == '\\' || *c < ' ') {
            ti_strbuf_add(buf, "\\u%04x", *c);
        } else {
            ti_strbuf_add(buf, "%c", *c);
        }
    }
    ti_strbuf_add(buf, "\"");
    ti_strbuf_fini(&clean);
}

bool ti_strbuf_write(const ti_strbuf *buf, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        return false;
    }
    bool good = fwrite(ti_strbuf_text(buf), 1, buf->length, file) == buf->length && fflush(file) == 0;
    int error = errno;
    if (fclose(file) != 0 && good) {
        return false;
    }
    errno = error;
    return good;
}

void ti_strbuf_fini(ti_strbuf *buf)
{
    ti_free(buf->text, buf->capacity);
    *buf = (ti_strbuf){ 0 };
}

size_t ti_edit_distance(const char *a, const char *b)
{
    size_t before[TI_EDIT_MAX + 1], na = strnlen(a, TI_EDIT_MAX), nb = strnlen(b, TI_EDIT_MAX);
    for (size_t j = 0; j <= nb; j++) {
        before[j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t corner = before[0];
        before[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t keep = corner + (a[i - 1] != b[j - 1]);
            corner = before[j];
            before[j] = TI_MIN(keep, TI_MIN(before[j], before[j - 1]) + 1);
        }
    }
    return before[nb];
}

const char *ti_bytes_format(uint64_t bytes, char text[TI_BYTES_TEXT])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < TI_COUNT(units)) {
        value /= 1024;
        unit++;
    }
    snprintf(text, TI_BYTES_TEXT, "%.*f %s", unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2, value, units[unit]);
    return text;
}

void ti_strbuf_add_json_entry(ti_strbuf *buf, const char *key, const char *text)
{
    ti_strbuf_add(buf, ", \"%s\": ", key);
    if (text) {
        ti_strbuf_add_json(buf, text);
    } else {
        ti_strbuf_add(buf, "null");
    }
}
