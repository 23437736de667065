/* Guarded copies: see guarded.h.
 *
 * The mapping is reserved as a whole, inaccessible; then the pages of rows are made accessible, so everything else is a
 * guard. The distance of rows is a multiple of the page size and of the element size (`ld` counts elements); between
 * planes there are rows that nothing is in; before the first and after the last element there is room for a whole plane
 * and more. All of it costs addresses, not memory. */
#include "device/bounds/guarded.h"

#include "base/check.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* More addresses than this are not asked for: the copy is compact then. */
#define MAX_RESERVED ((size_t)1 << 42)
enum { MIN_MARGIN = 1 << 20, MAX_GAP = 1 << 16, GAP_PAGES = 3, MAX_GAP_ROWS = 8, PAD_BYTES = 64 };

/* ---- arithmetic on sizes that may be too large */

static size_t times(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static size_t plus(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

static size_t round_up(size_t n, size_t unit)
{
    return n % unit ? plus(n, unit - n % unit) : n;
}

static size_t common_multiple(size_t a, size_t b)
{
    return times(a / (size_t)ti_gcd((int64_t)a, (int64_t)b), b);
}

static size_t extent(const ti_box *box, int d)
{
    return (size_t)TI_MAX(box->max[d] - box->min[d], 0);
}

/* ---- rows */

static bool region_has_row(const ti_region *region, int64_t plane, int64_t row)
{
    for (size_t b = 0; b < region->boxes.count; b++) {
        const ti_box *box = &region->boxes.data[b];
        if (box->min[0] <= plane && plane < box->max[0] && box->min[1] <= row && row < box->max[1]) {
            return true;
        }
    }
    return false;
}

static bool row_is_memory(const ti_guarded *copy, int64_t plane, int64_t row)
{
    return copy->compact || region_has_row(&copy->contents, plane, row) || region_has_row(&copy->writable, plane, row);
}

/* The rows among which those that are memory are found. A compact copy has one more after the last of each plane. */
static ti_box rows_of(const ti_guarded *copy)
{
    ti_box rows = copy->compact ? copy->reach : copy->bounding;
    rows.max[1] += copy->compact;
    return rows;
}

/* Moves on to the next row that is memory; false if there is none. */
static bool next_row(const ti_guarded *copy, int64_t at[3])
{
    const ti_box rows = rows_of(copy);
    do {
        if (++at[1] >= rows.max[1]) {
            at[1] = rows.min[1];
            at[0]++;
        }
        if (at[0] >= rows.max[0] || rows.min[1] >= rows.max[1]) {
            return false;
        }
    } while (!row_is_memory(copy, at[0], at[1]));
    return true;
}

static void before_first_row(const ti_guarded *copy, int64_t at[3])
{
    const ti_box rows = rows_of(copy);
    at[0] = rows.min[0];
    at[1] = rows.min[1] - 1;
    at[2] = copy->anchor;
}

static void add_all(ti_region *to, const ti_region *from)
{
    for (size_t b = 0; b < from->boxes.count; b++) {
        ti_region_add(to, &from->boxes.data[b]);
    }
}

int64_t ti_guarded_rows(const ti_guarded *copy)
{
    ti_region both = { 0 };
    int64_t rows = 0;
    add_all(&both, &copy->contents);
    add_all(&both, &copy->writable);
    ti_region_settle(&both);
    for (size_t b = 0; b < both.boxes.count; b++) { /* boxes that lie side by side count their rows twice */
        const ti_box *box = &both.boxes.data[b];
        rows += (box->max[0] - box->min[0]) * (box->max[1] - box->min[1]);
    }
    ti_region_fini(&both);
    return rows;
}

/* ---- layout */

static void lay_out_guarded(ti_guarded *copy)
{
    size_t elem = copy->elem_size, row = times(extent(&copy->reach, 2), elem);
    size_t gap = plus(GAP_PAGES * copy->page, TI_MIN(row, (size_t)MAX_GAP));
    size_t unit = copy->dims > 1 ? common_multiple(copy->page, elem) : copy->page;
    size_t gap_rows = copy->dims > 2 ? TI_MIN(extent(&copy->reach, 1), (size_t)MAX_GAP_ROWS) + 1 : 0;
    copy->stride[2] = elem;
    copy->stride[1] = round_up(plus(row, gap), unit);
    copy->stride[0] = times(extent(&copy->reach, 1) + gap_rows, copy->stride[1]);
    copy->anchor = copy->at_end ? copy->bounding.max[2] : copy->bounding.min[2];
    size_t declared = extent(&copy->bounding, 2);
    int64_t slots = (int64_t)(copy->slack ? round_up(times(declared, elem), copy->page) / elem : declared);
    copy->slot_begin = copy->at_end ? copy->anchor - slots : copy->anchor;
    copy->slot_end = copy->slot_begin + slots;
}

static void lay_out_compact(ti_guarded *copy)
{
    size_t elem = copy->elem_size, pad = TI_MAX(PAD_BYTES / elem, 2);
    copy->stride[2] = elem;
    copy->stride[1] = times(extent(&copy->reach, 2) + 2 * pad, elem);
    copy->stride[0] = times(extent(&copy->reach, 1) + 1, copy->stride[1]);
    copy->anchor = copy->reach.min[2];
    copy->slot_begin = copy->reach.min[2] - (int64_t)pad;
    copy->slot_end = copy->reach.max[2] + (int64_t)pad;
}

/* Bytes from the first row of `reach` to the first element of it. The anchor is then at a page boundary, in every
 * row. */
static size_t lead_of(const ti_guarded *copy)
{
    if (copy->compact) {
        return (size_t)(copy->reach.min[2] - copy->slot_begin) * copy->elem_size;
    }
    size_t before = (size_t)(copy->anchor - copy->reach.min[2]) * copy->elem_size;
    TI_ASSERT(copy->reach.min[2] <= copy->anchor);
    return round_up(before, copy->page) - before;
}

static void find_bounding(ti_guarded *copy)
{
    ti_box a = ti_region_bounding(&copy->contents), b = ti_region_bounding(&copy->writable);
    copy->bounding = ti_box_is_empty(&a) ? b : ti_box_is_empty(&b) ? a : ti_box_bounding(&a, &b);
    if (ti_box_is_empty(&copy->bounding)) { /* nothing is declared: no rows, somewhere in reach */
        copy->bounding = copy->reach;
        copy->bounding.max[0] = copy->bounding.min[0];
        copy->bounding.max[2] = copy->bounding.min[2];
    }
}

/* ---- mapping */

static size_t row_bytes(const ti_guarded *copy)
{
    return round_up(extent(&copy->bounding, 2) * copy->elem_size, copy->page);
}

/* Before the first and after the last plane: room for another one, and for a row of yet another. */
static size_t margin_of(const ti_guarded *copy)
{
    size_t around = plus(copy->stride[0], times(2, copy->stride[1]));
    return round_up(TI_MAX(around, (size_t)MIN_MARGIN), copy->page);
}

static bool protect_rows(const ti_guarded *copy, int protection)
{
    int64_t at[3];
    size_t margin = margin_of(copy);
    TI_ASSERT(2 * margin <= copy->map_bytes);
    if (copy->compact) {
        return mprotect(copy->map + margin, copy->map_bytes - 2 * margin, protection) == 0;
    }
    before_first_row(copy, at);
    while (next_row(copy, at)) {
        char *boundary = ti_guarded_address(copy, at);
        TI_ASSERT((uintptr_t)boundary % copy->page == 0);
        if (mprotect(copy->at_end ? boundary - row_bytes(copy) : boundary, row_bytes(copy), protection) != 0) {
            return false;
        }
    }
    return true;
}

static bool reserve(ti_guarded *copy)
{
    size_t margin = margin_of(copy);
    size_t inside = round_up(times(TI_MAX(extent(&copy->reach, 0), 1), copy->stride[0]), copy->page);
    size_t bytes = plus(inside, times(2, margin));
    if (bytes > MAX_RESERVED && (!copy->compact || bytes > PTRDIFF_MAX)) {
        return false;
    }
    void *map = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    copy->map = map;
    copy->map_bytes = bytes;
    copy->origin = copy->map + margin + lead_of(copy);
    return true;
}

static bool map_layout(ti_guarded *copy)
{
    if (copy->compact) {
        lay_out_compact(copy);
    } else {
        lay_out_guarded(copy);
    }
    if (reserve(copy) && protect_rows(copy, PROT_READ | PROT_WRITE)) {
        return true;
    }
    ti_guarded_unmap(copy);
    return false;
}

bool ti_guarded_map(ti_guarded *copy, bool at_end)
{
    TI_ASSERT(!copy->map && copy->elem_size > 0);
    copy->page = (size_t)sysconf(_SC_PAGESIZE);
    copy->at_end = at_end;
    find_bounding(copy);
    if (!copy->compact && map_layout(copy)) {
        return true;
    }
    copy->compact = true;
    return map_layout(copy);
}

void ti_guarded_seal(ti_guarded *copy)
{
    /* What cannot be protected is still looked at afterwards. */
    (void)protect_rows(copy, PROT_READ);
}

void ti_guarded_unmap(ti_guarded *copy)
{
    if (copy->map) {
        munmap(copy->map, copy->map_bytes);
        copy->map = NULL;
    }
}

void ti_guarded_fini(ti_guarded *copy)
{
    TI_ASSERT(!copy->map);
    ti_region_fini(&copy->contents);
    ti_region_fini(&copy->writable);
    ti_vec_fini(&copy->sources);
}

char *ti_guarded_real(const ti_guarded *copy, const int64_t at[3], size_t *count)
{
    const ti_box element = { { at[0], at[1], at[2] }, { at[0] + 1, at[1] + 1, at[2] + 1 } };
    size_t i = 0;
    while (i + 1 < copy->sources.count && !ti_box_covers(&copy->sources.data[i].box, &element)) {
        i++;
    }
    const ti_guarded_source *source = &copy->sources.data[i];
    TI_ASSERT(i < copy->sources.count && ti_box_covers(&source->box, &element));
    *count = TI_MIN(*count, (size_t)(source->box.max[2] - at[2]));
    return source->data + ti_guarded_offset(&source->box, at, source->stride);
}

/* ---- from addresses to elements */

/* The gap between two rows (or planes) belongs half to the one before it and half to the one after it. */
bool ti_guarded_locate(const ti_guarded *copy, const char *address, int64_t at[3])
{
    if (!copy->map || address < copy->map || address >= copy->map + copy->map_bytes) {
        return false;
    }
    int64_t offset = address - copy->origin, plane = 0, row = 0;
    int64_t plane_bytes = (int64_t)copy->stride[0], row_stride = (int64_t)copy->stride[1];
    int64_t row_gap = row_stride - (int64_t)(extent(&copy->reach, 2) * copy->elem_size);
    if (copy->dims > 2) {
        int64_t gap = plane_bytes - (int64_t)extent(&copy->reach, 1) * row_stride;
        plane = ti_floor_div(offset + gap / 2 + row_gap / 2, plane_bytes);
        offset -= plane * plane_bytes;
    }
    if (copy->dims > 1) {
        row = ti_floor_div(offset + row_gap / 2, row_stride);
        offset -= row * row_stride;
    }
    at[0] = copy->reach.min[0] + plane;
    at[1] = copy->reach.min[1] + row;
    at[2] = copy->reach.min[2] + ti_floor_div(offset, (int64_t)copy->elem_size);
    return true;
}

/* ---- walking */

static void paint(ti_guarded_walk *walk, const ti_region *region, unsigned char kind)
{
    for (size_t b = 0; b < region->boxes.count; b++) {
        const ti_box *box = &region->boxes.data[b];
        if (box->min[0] <= walk->at[0] && walk->at[0] < box->max[0] && box->min[1] <= walk->at[1] &&
            walk->at[1] < box->max[1]) {
            int64_t begin = TI_MAX(box->min[2], walk->block), end = TI_MIN(box->max[2], walk->end);
            for (int64_t k = begin; k < end; k++) {
                walk->kind[k - walk->block] |= kind;
            }
        }
    }
}

void ti_guarded_walk_begin(ti_guarded_walk *walk, const ti_guarded *copy)
{
    walk->copy = copy;
    before_first_row(copy, walk->at);
    walk->at[2] = copy->slot_end; /* the row is at its end: look for the next one */
    walk->block = walk->end = copy->slot_end;
}

bool ti_guarded_walk_next(ti_guarded_walk *walk, ti_guarded_run *run)
{
    const ti_guarded *copy = walk->copy;
    if (walk->at[2] == copy->slot_end) {
        if (copy->slot_begin == copy->slot_end || !next_row(copy, walk->at)) {
            return false;
        }
        walk->at[2] = walk->end = copy->slot_begin;
    }
    if (walk->at[2] == walk->end) {
        walk->block = walk->end;
        walk->end = TI_MIN(walk->block + TI_GUARDED_BLOCK, copy->slot_end);
        memset(walk->kind, 0, sizeof(walk->kind));
        paint(walk, &copy->contents, TI_GUARDED_CONTENTS);
        paint(walk, &copy->writable, TI_GUARDED_WRITABLE);
    }
    memcpy(run->at, walk->at, sizeof(run->at));
    run->kind = walk->kind[walk->at[2] - walk->block];
    while (walk->at[2] < walk->end && walk->kind[walk->at[2] - walk->block] == run->kind) {
        walk->at[2]++;
    }
    TI_ASSERT(run->at[2] < walk->at[2]);
    run->count = (size_t)(walk->at[2] - run->at[2]);
    return true;
}
