/* Windows of pure tasks in the report of TACIT_EXPLAIN: which there were, what they cost and saved, and what closed
 * them. Windows of equal tasks that the same has closed are one row. Scheduler thread; the report when it has ended. */
#ifndef TI_EXPLAIN_WINDOW_H
#define TI_EXPLAIN_WINDOW_H

#include "base/strbuf.h"
#include "base/vec.h"

/* One window. Texts are copied, but for `why` and `stages`, which are constant. */
typedef struct ti_explain_window {
    const char *first, *last; /* names of its tasks */
    int tasks;
    const char *why, *closer; /* what closed it; the name of the task that came then, or NULL */
    const char *stages;       /* why it is not staged, though that was asked for, or NULL; constant */
    uint64_t items;           /* of this node's chunks */
    uint64_t redundant;       /* items beyond them that this node executes */
    int64_t saved;            /* messages that this node receives less than without windows */
} ti_explain_window;

typedef struct ti_explain_windows {
    TI_VEC(struct ti_explain_window_row {
        ti_explain_window window; /* counts: of all together */
        uint64_t times;
    })
    row;
    uint64_t others;       /* windows for which there was no row */
    TI_VEC(char *) choice; /* of TACIT_LATENCY=auto: sentences */
} ti_explain_windows;

void ti_explain_windows_fini(ti_explain_windows *w);
void ti_explain_windows_note(ti_explain_windows *w, const ti_explain_window *window);
void ti_explain_windows_choice(ti_explain_windows *w, const char *sentence); /* copied */
/* Append a table for people, or a list for programs. */
void ti_explain_windows_text(const ti_explain_windows *w, ti_strbuf *out);
void ti_explain_windows_json(const ti_explain_windows *w, ti_strbuf *out);
void ti_explain_windows_choices_json(const ti_explain_windows *w, ti_strbuf *out);

#endif
