/* Tasks that receive something, in the report: see explain_overlap.h. */
#include "trace/explain_overlap.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_ROWS = 256 };

typedef struct ti_explain_overlap_row row;

void ti_explain_overlaps_fini(ti_explain_overlaps *o)
{
    for (size_t i = 0; i < o->row.count; i++) {
        ti_strfree((char *)(uintptr_t)o->row.data[i].sum.task);
    }
    ti_vec_fini(&o->row);
}

static row *row_of(ti_explain_overlaps *o, const ti_explain_overlap *what)
{
    for (size_t i = 0; i < o->row.count; i++) {
        if (o->row.data[i].sum.why == what->why && strcmp(o->row.data[i].sum.task, what->task) == 0) {
            return &o->row.data[i];
        }
    }
    if (o->row.count == MAX_ROWS) {
        return NULL;
    }
    ti_vec_push(&o->row, ((row){ .sum = { .task = ti_strdup(what->task), .why = what->why } }));
    return &o->row.data[o->row.count - 1];
}

void ti_explain_overlaps_note(ti_explain_overlaps *o, const ti_explain_overlap *what)
{
    row *r = row_of(o, what);
    if (!r) {
        o->others++;
        return;
    }
    r->times++;
    r->sum.items += what->items;
    r->sum.at_once += what->at_once;
    r->sum.parts = TI_MAX(r->sum.parts, what->parts);
}

void ti_explain_overlaps_text(const ti_explain_overlaps *o, ti_strbuf *out)
{
    if (!o->row.count) {
        return;
    }
    ti_strbuf_add(out, "What of tasks waits for their messages (TACIT_OVERLAP), as this node sees them:\n");
    for (size_t i = 0; i < o->row.count; i++) {
        const row *r = &o->row.data[i];
        ti_strbuf_add(out, "  %" PRIu64 " x '%s': ", r->times, r->sum.task);
        if (r->sum.why) {
            ti_strbuf_add(out, "all of it: %s\n", r->sum.why);
        } else {
            ti_strbuf_add(out, "cut into up to %d parts, %.2f %% of the items do not wait\n", r->sum.parts,
                          100.0 * (double)r->sum.at_once / (double)r->sum.items);
        }
    }
    if (o->others) {
        ti_strbuf_add(out, "  and %" PRIu64 " other tasks\n", o->others);
    }
}

void ti_explain_overlaps_json(const ti_explain_overlaps *o, ti_strbuf *out)
{
    ti_strbuf_add(out, "[");
    for (size_t i = 0; i < o->row.count; i++) {
        const row *r = &o->row.data[i];
        ti_strbuf_add(out, "%s\n    {\"times\": %" PRIu64 ", \"task\": ", i ? "," : "", r->times);
        ti_strbuf_add_json(out, r->sum.task);
        ti_strbuf_add(out, ", \"parts\": %d, \"items\": %" PRIu64 ", \"items_at_once\": %" PRIu64, r->sum.parts,
                      r->sum.items, r->sum.at_once);
        ti_strbuf_add_json_entry(out, "why_not", r->sum.why);
        ti_strbuf_add(out, "}");
    }
    ti_strbuf_add(out, "%s]", o->row.count ? "\n  " : "");
}
