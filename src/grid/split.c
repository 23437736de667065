/* Splits: see split.h. The rules are R9 of the version rules (doc/internals.md). */
#include "grid/split.h"

#include "base/check.h"
#include "base/map.h"

#include <string.h>

void ti_split_grid(int64_t n, int64_t out[2])
{
    int64_t a = 1;
    TI_ASSERT(n >= 1);
    for (int64_t i = 1; i * i <= n; i++) {
        if (n % i == 0) {
            a = i;
        }
    }
    out[0] = n / a;
    out[1] = a;
}

/* One chunk per node; there are no borders. */
static void split_everywhere(ti_split *s)
{
    s->parts[0] = s->chunks = s->nodes;
    s->parts[1] = s->parts[2] = 1;
    s->gran[0] = s->gran[1] = s->gran[2] = 1;
    s->per_node = 1;
}

static void choose_parts(ti_split *s, const ti_split_request *r)
{
    int64_t granules[3], wanted = (int64_t)r->nodes * r->oversubscribe;
    for (int d = 0; d < 3; d++) {
        granules[d] = ti_ceil_div(s->hi[d] - s->lo[d], s->gran[d]);
        s->parts[d] = 1;
    }
    if (s->place < 0 && r->grid[0]) {
        for (int d = 0; d < 3; d++) {
            s->parts[d] = TI_MIN(r->grid[d], granules[d]);
        }
    } else if (s->place < 0 && r->two_dimensional) {
        int64_t f[2];
        ti_split_grid(wanted, f);
        bool wide = granules[0] < granules[1];
        s->parts[0] = TI_MIN(f[wide], granules[0]);
        s->parts[1] = TI_MIN(f[!wide], granules[1]);
    } else if (s->place < 0) {
        s->parts[0] = TI_MIN(wanted, granules[0]);
    }
    for (int d = 0; d < 3; d++) {
        TI_ASSERT(s->parts[d] >= 1 && s->parts[d] <= granules[d]); /* so no chunk is empty */
        s->quot[d] = granules[d] / s->parts[d];
        s->rest[d] = granules[d] % s->parts[d];
    }
}

/* Borders of dimension 0 in proportion to the weights; every part keeps at least one granule. */
static void fill_table(ti_split *s, const ti_split_request *r, int64_t *table)
{
    int64_t parts = s->parts[0], granules = s->quot[0] * parts + s->rest[0], per = ti_ceil_div(parts, r->nodes);
    uint64_t total = 0, sum = 0;
    for (int64_t i = 0; i < parts; i++) {
        total += TI_MAX(r->weights[i / per], 1u);
    }
    int64_t at = 0;
    for (int64_t i = 0; i < parts; i++) {
        table[i] = s->lo[0] + s->gran[0] * at;
        sum += TI_MAX(r->weights[i / per], 1u);
        int64_t ideal = (int64_t)((unsigned __int128)granules * sum / total);
        at = TI_MAX(at + 1, TI_MIN(ideal, granules - (parts - 1 - i)));
    }
    TI_ASSERT(at == granules);
    table[parts] = s->hi[0];
    s->table = table;
    s->quot[0] = s->rest[0] = 0;
}

static ti_split begin(const ti_split_request *r)
{
    TI_ASSERT(!ti_box_is_empty(&r->range) && r->nodes >= 1 && r->oversubscribe >= 1);
    ti_split s;
    memset(&s, 0, sizeof(s));
    for (int d = 0; d < 3; d++) {
        s.lo[d] = r->range.min[d];
        s.hi[d] = r->range.max[d];
        s.gran[d] = TI_MAX(r->gran[d], 1);
    }
    s.nodes = r->nodes;
    s.place = r->place;
    return s;
}

int64_t ti_split_cut(const ti_split_request *r, const ti_weights *items, int64_t *border)
{
    ti_split s = begin(r);
    choose_parts(&s, r);
    TI_ASSERT(s.place == TI_PLACE_SPLIT && s.parts[1] == 1 && s.parts[2] == 1);
    const ti_weights_cut cut = { .lo = s.lo[0],
                                 .hi = s.hi[0],
                                 .gran = s.gran[0],
                                 .parts = s.parts[0],
                                 .share = r->weights,
                                 .per = ti_ceil_div(s.parts[0], r->nodes) };
    ti_weights_borders(items, &cut, border);
    return s.parts[0] + 1;
}

ti_split ti_split_make(const ti_split_request *r, int64_t *table)
{
    ti_split s = begin(r);
    if (s.place == TI_PLACE_EVERYWHERE) {
        split_everywhere(&s);
        return s;
    }
    choose_parts(&s, r);
    s.chunks = s.parts[0] * s.parts[1] * s.parts[2];
    s.per_node = ti_ceil_div(s.chunks, r->nodes);
    TI_ASSERT(s.place >= 0 ? s.chunks == 1 : s.chunks <= (int64_t)r->nodes * r->oversubscribe);
    if (r->border && s.place < 0 && s.parts[1] == 1) {
        TI_ASSERT(r->border[0] == s.lo[0] && r->border[s.parts[0]] == s.hi[0]);
        s.table = r->border;
        s.quot[0] = s.rest[0] = 0;
    } else if (r->weights && s.place < 0 && s.parts[1] == 1) {
        fill_table(&s, r, table);
    }
    return s;
}

int64_t ti_split_part(const ti_split *s, int d, int64_t x)
{
    TI_ASSERT(x >= s->lo[d] && x < s->hi[d]);
    if (d == 0 && s->table) {
        int64_t low = 0, high = s->parts[0] - 1;
        while (low < high) {
            int64_t mid = (low + high + 1) / 2;
            if (s->table[mid] <= x) {
                low = mid;
            } else {
                high = mid - 1;
            }
        }
        return low;
    }
    if (s->parts[d] == 1) {
        return 0;
    }
    int64_t y = (x - s->lo[d]) / s->gran[d], large = s->rest[d] * (s->quot[d] + 1);
    return y < large ? y / (s->quot[d] + 1) : s->rest[d] + (y - large) / s->quot[d];
}

ti_box ti_split_chunk(const ti_split *s, int64_t c)
{
    int64_t at[3] = { c, 0, 0 };
    TI_ASSERT(c >= 0 && c < s->chunks);
    if (TI_UNLIKELY(s->place == TI_PLACE_EVERYWHERE)) {
        return ti_split_range(s);
    }
    if (s->chunks != s->parts[0]) {
        at[2] = c % s->parts[2];
        at[1] = c / s->parts[2] % s->parts[1];
        at[0] = c / s->parts[2] / s->parts[1];
    }
    ti_box b;
    for (int d = 0; d < 3; d++) {
        if (s->parts[d] == 1) {
            b.min[d] = s->lo[d];
            b.max[d] = s->hi[d];
            continue;
        }
        b.min[d] = ti_split_border(s, d, at[d]);
        b.max[d] = ti_split_border(s, d, at[d] + 1);
    }
    return b;
}

uint64_t ti_split_hash(const ti_split *s)
{
    uint64_t h = ti_hash_words(s, offsetof(ti_split, table), 0);
    return s->table ? ti_hash_words(s->table, (size_t)(s->parts[0] + 1) * sizeof(int64_t), h) : h;
}

bool ti_split_equal(const ti_split *a, const ti_split *b)
{
    if (memcmp(a, b, offsetof(ti_split, table)) != 0 || !a->table != !b->table) {
        return false;
    }
    return !a->table || memcmp(a->table, b->table, (size_t)(a->parts[0] + 1) * sizeof(int64_t)) == 0;
}
