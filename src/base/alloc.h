/* The only caller of malloc for what tacit needs for itself; user data (buffer contents) is allocated by devices.
 *
 * Counts live and peak bytes of the process. Metadata allocation never fails upward: without memory the process ends
 * with a message. Any thread. */
#ifndef TI_ALLOC_H
#define TI_ALLOC_H

#include "base/macro.h"

void *ti_alloc(size_t size);         /* uninitialised, 16-byte aligned */
void *ti_try_alloc(size_t size);     /* the same for a size that the user chose: NULL if there is none */
void *ti_alloc_zero(size_t size);    /* zero-filled, 16-byte aligned */
void *ti_alloc_aligned(size_t size); /* zero-filled, aligned to a cache line; freed by ti_free */
void *ti_realloc(void *ptr, size_t old_size, size_t size); /* contents kept up to the smaller size */
void ti_free(void *ptr, size_t size);                      /* `size` as allocated; NULL allowed */
char *ti_strdup(const char *text);
void ti_strfree(char *text);

/* Memory for user data, of a size that the user chose: not counted, and NULL if there is none. */
void *ti_user_alloc(size_t size);
void ti_user_free(void *ptr);

uint64_t ti_alloc_live(void); /* bytes */
uint64_t ti_alloc_peak(void);
uint64_t ti_alloc_calls(void); /* calls of malloc and realloc so far */

#define TI_NEW(type) ((type *)(_Alignof(type) > 16 ? ti_alloc_aligned(sizeof(type)) : ti_alloc_zero(sizeof(type))))
#define TI_NEW_ARRAY(type, n) ((type *)ti_alloc_zero(sizeof(type) * (n)))
#define TI_DELETE(ptr) ti_free((ptr), sizeof(*(ptr)))

#endif
