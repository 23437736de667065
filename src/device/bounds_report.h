/* The sentences of the bounds check: what was touched, by which access, and the cure. Each becomes the failure of the run. */
#ifndef TI_BOUNDS_REPORT_H
#define TI_BOUNDS_REPORT_H

#include "base/failure.h"
#include "device/fault.h"
#include "ir/task.h"

/* One call of a kernel: what its accesses declare for these items, and the copies that they were given. */
typedef struct ti_bounds_subject {
    const ti_task *task;
    int node;
    ti_failure *failure;
    ti_lot *lot;
    ti_box items;
    ti_region image[TACIT_MAX_ACCESSES]; /* right-aligned, not folded */
    uint32_t copy_of[TACIT_MAX_ACCESSES];
    ti_guarded copy[TACIT_MAX_ACCESSES];
    uint32_t copies;
} ti_bounds_subject;

typedef struct ti_bounds_element {
    uint32_t copy;
    int64_t at[3]; /* as the copy counts */
} ti_bounds_element;

/* Writes "U[17,512]". Returns `text`. */
enum { TI_BOUNDS_TEXT = 256 };
const char *ti_bounds_element_text(const ti_bounds_subject *is, const ti_bounds_element *e, char text[TI_BOUNDS_TEXT]);

/* The kernel touches the element, which is not declared or only read. */
void ti_bounds_report_touch(const ti_bounds_subject *is, const ti_bounds_element *e, ti_touch touch);
/* The outputs depend on the element, which is not declared, or whose old contents are not (`writable`). */
void ti_bounds_report_read(const ti_bounds_subject *is, const ti_bounds_element *e, bool writable);
void ti_bounds_report_unwritten(const ti_bounds_subject *is, const ti_bounds_element *e);
void ti_bounds_report_mapper(const ti_bounds_subject *is, uint32_t access);
void ti_bounds_report_memory(const ti_bounds_subject *is, uint32_t copy);

#endif
