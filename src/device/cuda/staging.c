/* Pieces of copies: see staging.h. */
#include "device/cuda/staging.h"

#include "base/check.h"

bool ti_staged_at_end(const ti_staged *staged)
{
    return staged->plane == staged->to.count[0];
}

static ti_block piece_of(const ti_staged *s, const ti_block *whole, size_t planes, size_t rows, size_t bytes)
{
    ti_block piece = *whole;
    piece.base += s->plane * whole->stride[0] + s->row * whole->stride[1] + s->byte;
    piece.count[0] = planes;
    piece.count[1] = rows;
    piece.run = bytes;
    return piece;
}

bool ti_staged_next(ti_staged *s, size_t most, ti_block *to, ti_block *from)
{
    const size_t run = s->to.run, rows = s->to.count[1], planes = s->to.count[0];
    TI_ASSERT(most > 0 && run > 0 && s->from.run == run);
    size_t p = 1, r = 1, b = run;
    if (ti_staged_at_end(s)) {
        return false;
    }
    if (s->row == 0 && s->byte == 0 && run * rows <= most) {
        p = TI_MIN(planes - s->plane, most / (run * rows));
        r = rows;
    } else if (s->byte == 0 && run <= most) {
        r = TI_MIN(rows - s->row, most / run);
    } else {
        b = TI_MIN(run - s->byte, most);
    }
    TI_ASSERT(0 < p && 0 < r && 0 < b && p * r * b <= most);
    *to = piece_of(s, &s->to, p, r, b);
    *from = piece_of(s, &s->from, p, r, b);
    s->byte += b;
    s->row += s->byte == run ? r : 0;
    s->byte = s->byte == run ? 0 : s->byte;
    s->plane += s->row == rows ? p : 0;
    s->row = s->row == rows ? 0 : s->row;
    TI_ASSERT(s->plane <= planes && s->row < rows && s->byte < run);
    return true;
}

ti_block ti_staged_tight(const ti_block *piece, char *slot)
{
    ti_block tight = *piece;
    tight.base = slot;
    tight.stride[1] = piece->run;
    tight.stride[0] = piece->run * piece->count[1];
    return tight;
}
