/* One box: see box.h. */
#include "grid/box.h"

#include "base/check.h"

#include <stdio.h>

int ti_box_subtract(const ti_box *a, const ti_box *b, ti_box out[6])
{
    if (!ti_box_meets(a, b)) {
        out[0] = *a;
        return 1;
    }
    int n = 0;
    ti_box rest = *a;
    for (int d = 0; d < 3; d++) {
        if (rest.min[d] < b->min[d]) {
            out[n] = rest;
            out[n++].max[d] = b->min[d];
            rest.min[d] = b->min[d];
        }
        if (b->max[d] < rest.max[d]) {
            out[n] = rest;
            out[n++].min[d] = b->max[d];
            rest.max[d] = b->max[d];
        }
    }
    TI_ASSERT(ti_box_covers(b, &rest)); /* what was cut off is all that `b` leaves */
    return n;
}

bool ti_box_join(const ti_box *a, const ti_box *b, ti_box *out)
{
    int along = -1;
    for (int d = 0; d < 3; d++) {
        if (a->min[d] != b->min[d] || a->max[d] != b->max[d]) {
            if (along >= 0) {
                return false;
            }
            along = d;
        }
    }
    if (along < 0 || (a->max[along] != b->min[along] && b->max[along] != a->min[along])) {
        return false;
    }
    *out = ti_box_bounding(a, b);
    return true;
}

const char *ti_box_format(const ti_box *a, int dims, char text[TI_BOX_TEXT])
{
    int used = 0;
    text[0] = '\0';
    if (dims == 0) {
        snprintf(text, TI_BOX_TEXT, "[]");
    }
    for (int d = 0; d < dims && d < 3; d++) {
        used += snprintf(text + used, (size_t)(TI_BOX_TEXT - used), "%s[%lld,%lld)", d ? "x" : "", (long long)a->min[d],
                         (long long)a->max[d]);
    }
    TI_ASSERT(used < TI_BOX_TEXT);
    return text;
}
