/* What the report of TACIT_EXPLAIN says of tasks that receive something: whether their chunks are executed in parts, of
 * which only some wait for it. Equal tasks with equal outcomes are one row. Scheduler thread; the report when it has
 * ended. */
#ifndef TI_EXPLAIN_OVERLAP_H
#define TI_EXPLAIN_OVERLAP_H

#include "base/strbuf.h"
#include "base/vec.h"

/* One task on this node. */
typedef struct ti_explain_overlap {
    const char *task;        /* its name; copied */
    const char *why;         /* it is not cut; NULL: it is; constant */
    uint64_t items, at_once; /* of the chunk; of these, that do not wait */
    int parts;
} ti_explain_overlap;

typedef struct ti_explain_overlaps {
    TI_VEC(struct ti_explain_overlap_row {
        ti_explain_overlap sum; /* parts: at most; items: of all together */
        uint64_t times;
    })
    row;
    uint64_t others; /* for which there was no row */
} ti_explain_overlaps;

void ti_explain_overlaps_fini(ti_explain_overlaps *o);
void ti_explain_overlaps_note(ti_explain_overlaps *o, const ti_explain_overlap *what);
/* Append a table for people, or a list for programs. */
void ti_explain_overlaps_text(const ti_explain_overlaps *o, ti_strbuf *out);
void ti_explain_overlaps_json(const ti_explain_overlaps *o, ti_strbuf *out);

#endif
