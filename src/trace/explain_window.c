/* Windows of pure tasks in the report: see explain_window.h. */
#include "trace/explain_window.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_ROWS = 256 };

typedef struct ti_explain_window_row row;

void ti_explain_windows_fini(ti_explain_windows *w)
{
    for (size_t i = 0; i < w->row.count; i++) {
        const ti_explain_window *window = &w->row.data[i].window;
        ti_strfree((char *)(uintptr_t)window->first);
        ti_strfree((char *)(uintptr_t)window->last);
        ti_strfree((char *)(uintptr_t)window->closer);
    }
    for (size_t i = 0; i < w->choice.count; i++) {
        ti_strfree(w->choice.data[i]);
    }
    ti_vec_fini(&w->choice);
    ti_vec_fini(&w->row);
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_like(const ti_explain_window *a, const ti_explain_window *b)
{
    return a->tasks == b->tasks && a->why == b->why && a->stages == b->stages && is_same_text(a->first, b->first) &&
           is_same_text(a->last, b->last) && is_same_text(a->closer, b->closer);
}

static row *row_of(ti_explain_windows *w, const ti_explain_window *window)
{
    for (size_t i = 0; i < w->row.count; i++) {
        if (is_like(&w->row.data[i].window, window)) {
            return &w->row.data[i];
        }
    }
    if (w->row.count == MAX_ROWS) {
        return NULL;
    }
    row new = { .window = { .tasks = window->tasks, .why = window->why, .stages = window->stages } };
    new.window.first = ti_strdup(window->first);
    new.window.last = ti_strdup(window->last);
    new.window.closer = window->closer ? ti_strdup(window->closer) : NULL;
    ti_vec_push(&w->row, new);
    return &w->row.data[w->row.count - 1];
}

void ti_explain_windows_note(ti_explain_windows *w, const ti_explain_window *window)
{
    row *r = row_of(w, window);
    if (!r) {
        w->others++;
        return;
    }
    r->times++;
    r->window.items += window->items;
    r->window.redundant += window->redundant;
    r->window.saved += window->saved;
}

/* "4 tasks, 'a' to 'b'" */
static void add_tasks(const ti_explain_window *w, ti_strbuf *out)
{
    ti_strbuf_add(out, "%d task%s, '%s'", w->tasks, w->tasks == 1 ? "" : "s", w->first);
    if (w->tasks > 1) {
        ti_strbuf_add(out, " to '%s'", w->last);
    }
}

void ti_explain_windows_choice(ti_explain_windows *w, const char *sentence)
{
    ti_vec_push(&w->choice, ti_strdup(sentence));
}

void ti_explain_windows_text(const ti_explain_windows *w, ti_strbuf *out)
{
    for (size_t i = 0; i < w->choice.count; i++) {
        ti_strbuf_add(out, "%s  %s\n", i ? "" : "TACIT_LATENCY=auto chose\n", w->choice.data[i]);
    }
    if (!w->row.count) {
        return;
    }
    ti_strbuf_add(out, "Windows of pure tasks (TACIT_LATENCY), as this node sees them:\n");
    for (size_t i = 0; i < w->row.count; i++) {
        const row *r = &w->row.data[i];
        ti_strbuf_add(out, "  %" PRIu64 " x ", r->times);
        add_tasks(&r->window, out);
        ti_strbuf_add(out, ": %" PRId64 " messages less to receive, %" PRIu64 " redundant items (%.2f %%); closed: ",
                      r->window.saved, r->window.redundant,
                      r->window.items ? 100.0 * (double)r->window.redundant / (double)r->window.items : 0.0);
        if (r->window.closer) {
            ti_strbuf_add(out, "'%s' ", r->window.closer);
        }
        ti_strbuf_add(out, "%s", r->window.why);
        ti_strbuf_add(out, r->window.stages ? "; not in stages: %s\n" : "\n", r->window.stages);
    }
    if (w->others) {
        ti_strbuf_add(out, "  and %" PRIu64 " of other kinds\n", w->others);
    }
}

void ti_explain_windows_json(const ti_explain_windows *w, ti_strbuf *out)
{
    ti_strbuf_add(out, "[");
    for (size_t i = 0; i < w->row.count; i++) {
        const row *r = &w->row.data[i];
        ti_strbuf_add(out, "%s\n    {\"times\": %" PRIu64 ", \"tasks\": %d", i ? "," : "", r->times, r->window.tasks);
        ti_strbuf_add_json_entry(out, "first", r->window.first);
        ti_strbuf_add_json_entry(out, "last", r->window.last);
        ti_strbuf_add(out, ", \"items\": %" PRIu64 ", \"redundant_items\": %" PRIu64 ", \"saved_messages\": %" PRId64,
                      r->window.items, r->window.redundant, r->window.saved);
        ti_strbuf_add_json_entry(out, "closed_by", r->window.closer);
        ti_strbuf_add_json_entry(out, "why", r->window.why);
        ti_strbuf_add_json_entry(out, "not_in_stages", r->window.stages);
        ti_strbuf_add(out, "}");
    }
    ti_strbuf_add(out, "%s]", w->row.count ? "\n  " : "");
}

void ti_explain_windows_choices_json(const ti_explain_windows *w, ti_strbuf *out)
{
    ti_strbuf_add(out, "[");
    for (size_t i = 0; i < w->choice.count; i++) {
        ti_strbuf_add(out, "%s", i ? ", " : "");
        ti_strbuf_add_json(out, w->choice.data[i]);
    }
    ti_strbuf_add(out, "]");
}
