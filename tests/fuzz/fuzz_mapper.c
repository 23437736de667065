/* Fuzz target: mappers and splits. Small ones against brute force, index by index; those near the limits of what
 * descriptions may say (api/check_task.c) must not overflow, and the inverse must find the chunks that the image
 * proves. */
#include "fuzz_input.h"

#include "api/check_task.h"
#include "grid/mapper.h"
#include "support/touches.h"

#include <string.h>

enum { MOST_NODES = 9, MOST_CHUNKS = 4 * MOST_NODES };

typedef struct sample {
    ti_split split;
    ti_mapper mapper;
    ti_box extent;
    int64_t table[MOST_CHUNKS + 1];
    uint32_t weights[MOST_NODES];
} sample;

static const int64_t most = (int64_t)1 << TI_MAX_ITEMS_BITS;

/* At most `limit`, near it if the input says so. */
static int64_t size_of(fuzz_input *in, int64_t small, int64_t limit, bool extreme)
{
    return extreme ? (int64_t)(fuzz_number(in) % (uint64_t)(limit + 1)) : fuzz_between(in, 0, small);
}

static void take_split(fuzz_input *in, bool extreme, sample *s)
{
    ti_split_request r = { .nodes = (int)fuzz_between(in, 1, MOST_NODES), .place = -1 };
    for (int d = 0; d < 3; d++) {
        r.range.min[d] = size_of(in, 5, most, extreme);
        r.range.max[d] = r.range.min[d] + 1 + size_of(in, 11, most - 1, extreme);
        r.gran[d] = 1 + size_of(in, 3, most - 1, extreme);
    }
    r.oversubscribe = (int)fuzz_between(in, 1, 4);
    r.two_dimensional = fuzz_byte(in) & 1;
    r.place = fuzz_byte(in) % 8 ? -1 : (int)fuzz_between(in, 0, r.nodes - 1);
    if (!r.two_dimensional && fuzz_byte(in) % 4 == 0) {
        for (int i = 0; i < r.nodes; i++) {
            s->weights[i] = (uint32_t)fuzz_number(in);
        }
        r.weights = s->weights;
    }
    s->split = ti_split_make(&r, s->table);
}

static int64_t halo_of(fuzz_input *in, bool extreme)
{
    return extreme ? (int64_t)(fuzz_number(in) % (uint64_t)(2 * most + 1)) - most : fuzz_between(in, -3, 4);
}

static void take_mapper(fuzz_input *in, bool extreme, sample *s)
{
    tacit_component c[3];
    memset(c, 0, sizeof(c));
    int dims = (int)fuzz_between(in, 0, 3), most_scale = extreme ? 1 << 14 : 4;
    s->extent = (ti_box){ { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < dims; d++) {
        s->extent.max[d] = 1 + size_of(in, 14, most - 1, extreme);
        int kind = (int)fuzz_between(in, 0, 4);
        c[d] = kind == 0 ? tacit_full() : tacit_dim((int)fuzz_between(in, 0, 2));
        if (kind == 1) {
            int64_t a = size_of(in, 14, s->extent.max[d], extreme) % s->extent.max[d];
            c[d] = tacit_span((size_t)a,
                              (size_t)(a + size_of(in, 14, s->extent.max[d], extreme) % (s->extent.max[d] - a + 1)));
        } else if (kind == 2) {
            c[d] = tacit_dim_scaled(c[d].dim, 1 + (int)(fuzz_word(in) % (unsigned)most_scale),
                                    1 + (int)(fuzz_word(in) % (unsigned)most_scale), 0, 0);
        }
        if (c[d].kind == TACIT_COMPONENT_DIM) {
            c[d].lo = halo_of(in, extreme);
            c[d].hi = halo_of(in, extreme);
        }
        if (kind == 4) { /* a ring does not shift */
            c[d].kind = TACIT_COMPONENT_PERIODIC;
            c[d].lo = c[d].lo < 0 ? -c[d].lo : c[d].lo;
            c[d].hi = c[d].hi < 0 ? -c[d].hi : c[d].hi;
        }
    }
    tacit_mapper from = tacit_components(c[0], c[1], c[2]);
    ti_mapper parts[TI_MAPPER_PARTS];
    FUZZ_REQUIRE(ti_mapper_expand(&from, dims, parts) == 1);
    s->mapper = parts[0];
}

/* ---- what must hold for all sizes */

static void check_chunks(const sample *s)
{
    const ti_split *p = &s->split;
    int a, b;
    ti_split_nodes(p, &a, &b);
    FUZZ_REQUIRE(p->chunks >= 1 && p->chunks <= MOST_CHUNKS && a >= 0 && a < b && b <= p->nodes);
    for (int64_t c = 0; c < p->chunks; c++) {
        ti_box chunk = ti_split_chunk(p, c), range = ti_split_range(p);
        int64_t part = 0, first;
        FUZZ_REQUIRE(!ti_box_is_empty(&chunk) && ti_box_covers(&range, &chunk));
        for (int d = 0; d < 3; d++) {
            int64_t low = ti_split_part(p, d, chunk.min[d]);
            FUZZ_REQUIRE(low == ti_split_part(p, d, chunk.max[d] - 1));
            FUZZ_REQUIRE((chunk.min[d] - p->lo[d]) % p->gran[d] == 0);
            part = part * p->parts[d] + low;
        }
        FUZZ_REQUIRE(part == c);
        int node = ti_split_node(p, c);
        int64_t n = ti_split_chunks_of(p, node, &first);
        FUZZ_REQUIRE(node >= a && node < b && c >= first && c < first + n);
    }
    for (int64_t i = 0; i < p->parts[0]; i++) { /* chunks touch */
        FUZZ_REQUIRE(ti_split_border(p, 0, i) < ti_split_border(p, 0, i + 1));
    }
}

static bool in_parts(const ti_split *s, int64_t c, const int64_t first[3], const int64_t last[3])
{
    int64_t part[3] = { c / s->parts[2] / s->parts[1], c / s->parts[2] % s->parts[1], c % s->parts[2] };
    for (int d = 0; d < 3; d++) {
        bool around = first[d] > last[d];
        if (around ? part[d] < first[d] && part[d] > last[d] : part[d] < first[d] || part[d] > last[d]) {
            return false;
        }
    }
    return true;
}

typedef struct image {
    ti_box box[TI_MAPPER_BOXES];
    int boxes;
} image;

static image image_of(const sample *s, int64_t c)
{
    ti_box items = ti_split_chunk(&s->split, c);
    image out;
    out.boxes = ti_mapper_image(&s->mapper, &s->extent, &items, out.box);
    return out;
}

static bool images_meet(const image *a, const image *b)
{
    bool meet = false;
    for (int i = 0; i < a->boxes; i++) {
        for (int k = 0; k < b->boxes; k++) {
            meet = meet || ti_box_meets(&a->box[i], &b->box[k]);
        }
    }
    return meet;
}

/* Whichever chunk's image meets the box is among the candidates; images lie in the extent. */
static void check_inverse(const sample *s, const ti_box *box)
{
    int64_t first[3], last[3];
    bool any = ti_mapper_inverse(&s->mapper, &s->split, &s->extent, box, first, last);
    const image wanted = { .box = { *box }, .boxes = 1 };
    for (int64_t c = 0; c < s->split.chunks; c++) {
        image found = image_of(s, c);
        FUZZ_REQUIRE(found.boxes >= 0 && found.boxes <= TI_MAPPER_BOXES);
        for (int i = 0; i < found.boxes; i++) {
            FUZZ_REQUIRE(!ti_box_is_empty(&found.box[i]) && ti_box_covers(&s->extent, &found.box[i]));
            FUZZ_REQUIRE(i == 0 || ti_box_compare(&found.box[i - 1], &found.box[i]) < 0);
        }
        FUZZ_REQUIRE(!images_meet(&found, &wanted) || (any && in_parts(&s->split, c, first, last)));
    }
}

static void check_properties(const sample *s)
{
    bool constant = ti_mapper_is_constant(&s->mapper, &s->split, &s->extent);
    bool disjoint = ti_mapper_is_disjoint(&s->mapper, &s->split);
    image zero = image_of(s, 0);
    for (int64_t c = 0; c < s->split.chunks; c++) {
        image a = image_of(s, c);
        FUZZ_REQUIRE(!constant || a.boxes == zero.boxes);
        for (int i = 0; i < a.boxes && constant; i++) {
            FUZZ_REQUIRE(ti_box_equal(&a.box[i], &zero.box[i]));
        }
        for (int64_t e = c + 1; disjoint && e < s->split.chunks; e++) {
            image b = image_of(s, e);
            FUZZ_REQUIRE(!images_meet(&a, &b));
        }
    }
    FUZZ_REQUIRE(ti_mapper_covers(&s->mapper, &s->mapper));
}

/* ---- small ones: index by index */

static void check_image(const sample *s, int64_t c)
{
    ti_box items = ti_split_chunk(&s->split, c);
    image found = image_of(s, c);
    int64_t volume = 1, sum = 0;
    for (int d = 0; d < s->mapper.dims; d++) {
        const tacit_component *component = &s->mapper.c[d];
        int64_t count = 0, a = items.min[component->dim], b = items.max[component->dim];
        for (int64_t x = 0; x < s->extent.max[d]; x++) {
            bool in = touches(component, a, b, s->extent.max[d], x);
            count += in;
            for (int i = 0; i < found.boxes; i++) {
                FUZZ_REQUIRE(in || x < found.box[i].min[d] || x >= found.box[i].max[d]);
            }
        }
        volume *= count;
    }
    for (int i = 0; i < found.boxes; i++) {
        sum += ti_box_volume(&found.box[i]);
        for (int k = 0; k < i; k++) {
            FUZZ_REQUIRE(!ti_box_meets(&found.box[i], &found.box[k]));
        }
    }
    FUZZ_REQUIRE(sum == volume);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = { data, data + size };
    sample s;
    memset(&s, 0, sizeof(s));
    bool extreme = fuzz_byte(&in) & 1;
    take_split(&in, extreme, &s);
    take_mapper(&in, extreme, &s);
    check_chunks(&s);
    check_properties(&s);
    for (int i = 0; i < 4; i++) {
        ti_box box = s.extent;
        for (int d = 0; d < s.mapper.dims; d++) {
            box.min[d] = size_of(&in, 14, s.extent.max[d], extreme) % s.extent.max[d];
            box.max[d] = box.min[d] + 1 + size_of(&in, 14, s.extent.max[d], extreme) % (s.extent.max[d] - box.min[d]);
        }
        check_inverse(&s, &box);
    }
    for (int64_t c = 0; !extreme && c < s.split.chunks; c++) {
        check_image(&s, c);
    }
    return 0;
}
