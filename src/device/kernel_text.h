/* Kernels as text: what OpenCL C and CUDA C have in common. Any thread; pure. */
#ifndef TI_KERNEL_TEXT_H
#define TI_KERNEL_TEXT_H

#include "base/failure.h"
#include "base/strbuf.h"
#include "device/device.h"

/* What a kernel is given of a view, beside its memory, and of the items: see kernel_text.c. */
typedef struct ti_text_view {
    int64_t origin;    /* bytes from the begin of the memory to where element 0 would be */
    int64_t stride[2]; /* bytes */
} ti_text_view;
typedef struct ti_text_items {
    uint64_t min[TACIT_MAX_DIMS], max[TACIT_MAX_DIMS];
} ti_text_items;

/* The macros of views and items, behind those that a language has of its own. */
extern const char *const ti_text_views;

/* Of a view whose first element lies `offset` bytes behind what the kernel gets as its memory. */
ti_text_view ti_text_view_of(const tacit_view *v, int64_t offset);
ti_text_items ti_text_items_of(const tacit_box *chunk);

/* Whether a group may have so much local memory on the device; if not, the run has failed. */
typedef struct ti_text_local {
    const char *language, *entry, *device;
    size_t wanted, most; /* bytes */
} ti_text_local;
bool ti_text_has_local(ti_failure *failure, const char *task, const ti_text_local *local);

/* Makes the compiler name the task in its messages, and count lines from the first of the task's source. */
void ti_text_add_mark(const char *task, ti_strbuf *out);
/* The first line that tells of an error, else the first; it becomes a string of its own. */
const char *ti_text_important_line(char *log);

#endif
