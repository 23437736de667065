/* Tiles of windows in the report of TACIT_EXPLAIN: how large they were, or why there were none. Equal ones are one row.
 * Scheduler thread; the report when it has ended. */
#ifndef TI_EXPLAIN_TILE_H
#define TI_EXPLAIN_TILE_H

#include "base/strbuf.h"
#include "base/vec.h"

/* Tasks of a window that follow each other. Names are copied; `why` is constant. */
typedef struct ti_explain_tiles {
    const char *first, *last; /* names */
    int tasks, dims;
    const char *why;   /* there are no tiles, or NULL: */
    int64_t extent[3]; /* of a tile, in items of the first task */
    uint64_t tiles;
    uint64_t bytes; /* that all tasks touch */
} ti_explain_tiles;

typedef struct ti_explain_tilings {
    TI_VEC(struct ti_explain_tiles_row {
        ti_explain_tiles tiles;
        uint64_t times;
    })
    row;
    uint64_t others; /* for which there was no row */
} ti_explain_tilings;

void ti_explain_tilings_fini(ti_explain_tilings *t);
void ti_explain_tilings_note(ti_explain_tilings *t, const ti_explain_tiles *tiles);
/* Append a table for people, or a list for programs. */
void ti_explain_tilings_text(const ti_explain_tilings *t, ti_strbuf *out);
void ti_explain_tilings_json(const ti_explain_tilings *t, ti_strbuf *out);

#endif
