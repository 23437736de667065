/* The sentences of the bounds check: what was touched, by which access, and the cure. Each becomes the failure of the
 * run. Any worker. */
#ifndef TI_BOUNDS_REPORT_H
#define TI_BOUNDS_REPORT_H

#include "device/bounds/fault.h"
#include "device/bounds/subject.h"

typedef struct ti_bounds_element {
    uint32_t copy;
    int64_t at[3]; /* as the copy counts */
} ti_bounds_element;

/* Writes "U[17,512]". Returns `text`. */
enum { TI_BOUNDS_TEXT = 256 };
const char *ti_bounds_element_text(const ti_bounds_subject *is, const ti_bounds_element *e, char text[TI_BOUNDS_TEXT]);

/* The kernel touches the element, which is not declared, or only read. */
void ti_bounds_report_touch(const ti_bounds_subject *is, const ti_bounds_element *e, ti_touch touch);
/* The kernel has not written the element; or the outputs depend on what was in it before. */
void ti_bounds_report_contents(const ti_bounds_subject *is, const ti_bounds_element *e, bool unwritten);
void ti_bounds_report_mapper(const ti_bounds_subject *is, uint32_t access);
void ti_bounds_report_memory(const ti_bounds_subject *is, const char *buffer);

#endif
