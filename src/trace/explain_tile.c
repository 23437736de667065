/* Tiles of windows in the report: see explain_tile.h. */
#include "trace/explain_tile.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_ROWS = 1024 };

typedef struct ti_explain_tiles_row row;

void ti_explain_tilings_fini(ti_explain_tilings *t)
{
    for (size_t i = 0; i < t->row.count; i++) {
        ti_strfree((char *)(uintptr_t)t->row.data[i].tiles.first);
        ti_strfree((char *)(uintptr_t)t->row.data[i].tiles.last);
    }
    ti_vec_fini(&t->row);
}

static bool is_like(const ti_explain_tiles *a, const ti_explain_tiles *b)
{
    return a->tasks == b->tasks && a->why == b->why && a->tiles == b->tiles && a->bytes == b->bytes &&
           memcmp(a->extent, b->extent, sizeof(a->extent)) == 0 && strcmp(a->first, b->first) == 0 &&
           strcmp(a->last, b->last) == 0;
}

void ti_explain_tilings_note(ti_explain_tilings *t, const ti_explain_tiles *tiles)
{
    for (size_t i = 0; i < t->row.count; i++) {
        if (is_like(&t->row.data[i].tiles, tiles)) {
            t->row.data[i].times++;
            return;
        }
    }
    if (t->row.count == MAX_ROWS) {
        t->others++;
        return;
    }
    row fresh = { .tiles = *tiles, .times = 1 };
    fresh.tiles.first = ti_strdup(tiles->first);
    fresh.tiles.last = ti_strdup(tiles->last);
    ti_vec_push(&t->row, fresh);
}

static void add_extent(const ti_explain_tiles *t, const char *between, ti_strbuf *out)
{
    for (int d = 0; d < t->dims; d++) {
        ti_strbuf_add(out, "%s%" PRId64, d ? between : "", t->extent[d]);
    }
}

void ti_explain_tilings_text(const ti_explain_tilings *t, ti_strbuf *out)
{
    ti_strbuf_add(out, "%s", t->row.count ? "Tiles of windows (TACIT_LATENCY_TILE), on this node:\n" : "");
    for (size_t i = 0; i < t->row.count; i++) {
        const ti_explain_tiles *r = &t->row.data[i].tiles;
        ti_strbuf_add(out, "  %" PRIu64 " x %d task%s, '%s'", t->row.data[i].times, r->tasks, r->tasks == 1 ? "" : "s",
                      r->first);
        if (r->tasks > 1) {
            ti_strbuf_add(out, " to '%s'", r->last);
        }
        if (r->why) {
            ti_strbuf_add(out, ": no tiles: %s\n", r->why);
            continue;
        }
        ti_strbuf_add(out, ": %" PRIu64 " tiles of ", r->tiles);
        add_extent(r, " x ", out);
        ti_strbuf_add(out, " items of '%s'; all touch %.1f MiB\n", r->first, (double)r->bytes / 1048576);
    }
    if (t->others) {
        ti_strbuf_add(out, "  and %" PRIu64 " of other kinds\n", t->others);
    }
}

void ti_explain_tilings_json(const ti_explain_tilings *t, ti_strbuf *out)
{
    ti_strbuf_add(out, "[");
    for (size_t i = 0; i < t->row.count; i++) {
        const ti_explain_tiles *r = &t->row.data[i].tiles;
        ti_strbuf_add(out, "%s\n    {\"times\": %" PRIu64 ", \"tasks\": %d", i ? "," : "", t->row.data[i].times,
                      r->tasks);
        ti_strbuf_add_json_entry(out, "first", r->first);
        ti_strbuf_add_json_entry(out, "last", r->last);
        ti_strbuf_add_json_entry(out, "no_tiles", r->why);
        ti_strbuf_add(out, ", \"tiles\": %" PRIu64 ", \"extent\": [", r->tiles);
        add_extent(r, ", ", out);
        ti_strbuf_add(out, "], \"bytes\": %" PRIu64 "}", r->bytes);
    }
    ti_strbuf_add(out, "%s]", t->row.count ? "\n  " : "");
}
