/* A growing string. Owned by one thread. */
#ifndef TI_STRBUF_H
#define TI_STRBUF_H

#include "base/alloc.h"

#include <stdarg.h>

typedef struct ti_strbuf {
    char *text; /* NUL-terminated once something was added, else NULL */
    size_t length, capacity;
} ti_strbuf;

void ti_strbuf_add(ti_strbuf *buf, const char *format, ...) TI_PRINTF(2, 3);
void ti_strbuf_vadd(ti_strbuf *buf, const char *format, va_list args) TI_PRINTF(2, 0);
/* Text in UTF-8: every byte that is none becomes U+FFFD. */
void ti_strbuf_add_utf8(ti_strbuf *buf, const char *text);
/* Likewise, as a string of JSON, with its quotes. */
void ti_strbuf_add_json(ti_strbuf *buf, const char *text);
/* An entry of an object that is not the first: `, "key": "text"`, or null for NULL. */
void ti_strbuf_add_json_entry(ti_strbuf *buf, const char *key, const char *text);
void ti_strbuf_reserve(ti_strbuf *buf, size_t capacity); /* so that adding up to this needs no memory */
static inline const char *ti_strbuf_text(const ti_strbuf *buf)
{
    return buf->text ? buf->text : "";
}
static inline void ti_strbuf_clear(ti_strbuf *buf)
{
    buf->length = 0;
    if (buf->text) {
        buf->text[0] = '\0';
    }
}
/* Make it the contents of a file. False, with errno set, if not every byte got there: of full disks one may hear at the
 * end only. */
bool ti_strbuf_write(const ti_strbuf *buf, const char *path);
void ti_strbuf_fini(ti_strbuf *buf);

/* Number of single-character changes between two texts, for "did you mean". Of longer texts it looks at the first
 * characters. */
enum { TI_EDIT_MAX = 100 };
size_t ti_edit_distance(const char *a, const char *b);

/* Writes a number of bytes for people, such as "512 B" or "10.2 GiB", with three digits or more. Returns `text`. */
enum { TI_BYTES_TEXT = 32 };
const char *ti_bytes_format(uint64_t bytes, char text[TI_BYTES_TEXT]);

#endif
