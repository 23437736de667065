/* Fuzz target: the algebra of regions against bitmaps. */
#include "fuzz_input.h"

#include "region_ops.h"

#include <string.h>

enum { SIDE = 7, REGIONS = 3, MOST_STEPS = 64 };

typedef struct set {
    ti_region region;
    bool bit[SIDE][SIDE][SIDE];
} set;

#define EACH(i, j, k)                                                                                                  \
    for (int i = 0; i < SIDE; i++)                                                                                     \
        for (int j = 0; j < SIDE; j++)                                                                                 \
            for (int k = 0; k < SIDE; k++)

static ti_box take_box(fuzz_input *in)
{
    ti_box b;
    for (int d = 0; d < 3; d++) {
        b.min[d] = fuzz_between(in, 0, SIDE);
        b.max[d] = fuzz_between(in, 0, SIDE);
    }
    return b;
}

static bool holds(const ti_box *b, int i, int j, int k)
{
    return i >= b->min[0] && i < b->max[0] && j >= b->min[1] && j < b->max[1] && k >= b->min[2] && k < b->max[2];
}

/* One operation of a set with a box, on both sides. */
static void with_box(set *s, int operation, const ti_box *b)
{
    if (operation == 0) {
        ti_region_add(&s->region, b);
    } else if (operation == 1) {
        region_remove(&s->region, b);
    } else {
        ti_region_clip(&s->region, b);
    }
    EACH(i, j, k)
    {
        bool in = holds(b, i, j, k), *bit = &s->bit[i][j][k];
        *bit = operation == 0 ? *bit || in : operation == 1 ? *bit && !in : *bit && in;
    }
}

static void with_set(set *s, int operation, const set *o)
{
    if (operation == 0) {
        region_union(&s->region, &o->region);
    } else if (operation == 1) {
        region_subtract(&s->region, &o->region);
    } else {
        region_intersect(&s->region, &o->region);
    }
    EACH(i, j, k)
    {
        bool in = o->bit[i][j][k], *bit = &s->bit[i][j][k];
        *bit = operation == 0 ? *bit || in : operation == 1 ? *bit && !in : *bit && in;
    }
}

static void with_many(set *s, fuzz_input *in)
{
    ti_box boxes[12];
    size_t n = (size_t)fuzz_between(in, 0, TI_COUNT(boxes));
    for (size_t b = 0; b < n; b++) {
        boxes[b] = take_box(in);
        EACH(i, j, k)
        {
            s->bit[i][j][k] |= holds(&boxes[b], i, j, k);
        }
    }
    region_add_all(&s->region, boxes, n);
}

static void check(set *s, const set *o, const ti_box *probe)
{
    int64_t volume = 0;
    bool equal = true, covers = true, meets = false, same = true;
    bool touched = ti_region_meets(&s->region, probe);
    ti_region_settle(&s->region);
    FUZZ_REQUIRE(ti_region_meets(&s->region, probe) == touched);
    FUZZ_REQUIRE(ti_boxes_are_normal(&s->region.boxes));
    EACH(i, j, k)
    {
        ti_box one = { { i, j, k }, { i + 1, j + 1, k + 1 } };
        bool bit = s->bit[i][j][k];
        volume += bit;
        same &= ti_region_meets(&s->region, &one) == bit;
        equal &= bit == o->bit[i][j][k];
        covers &= bit || !holds(probe, i, j, k);
        meets |= bit && holds(probe, i, j, k);
    }
    FUZZ_REQUIRE(same);
    FUZZ_REQUIRE(ti_region_volume(&s->region) == volume);
    FUZZ_REQUIRE(ti_region_is_empty(&s->region) == (volume == 0));
    FUZZ_REQUIRE(region_equal(&s->region, &o->region) == equal);
    if (!ti_box_is_empty(probe)) {
        FUZZ_REQUIRE(region_covers(&s->region, probe) == covers);
        FUZZ_REQUIRE(ti_region_meets(&s->region, probe) == meets);
    }
    ti_box around = ti_region_bounding(&s->region);
    FUZZ_REQUIRE(ti_box_is_empty(&around) == (volume == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = { data, data + size };
    static set sets[REGIONS];
    for (int step = 0; step < MOST_STEPS && in.at < in.end; step++) {
        set *s = &sets[fuzz_between(&in, 0, REGIONS - 1)], *o = &sets[fuzz_between(&in, 0, REGIONS - 1)];
        int what = (int)fuzz_between(&in, 0, 7);
        ti_box box = take_box(&in);
        if (what < 3) {
            with_box(s, what, &box);
        } else if (what < 6 && s != o) {
            with_set(s, what - 3, o);
        } else if (what == 6) {
            with_many(s, &in);
        } else if (s != o) {
            region_copy(&s->region, &o->region);
            memcpy(s->bit, o->bit, sizeof(s->bit));
        }
        check(s, o, &box);
    }
    for (int i = 0; i < REGIONS; i++) {
        ti_region_fini(&sets[i].region);
    }
    memset(sets, 0, sizeof(sets));
    return 0;
}
