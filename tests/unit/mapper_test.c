/* Range mappers against brute force: images, the inverse, and what is decided from components without looking at
 * chunks. */
#include "grid/mapper.h"

#include "random.h"
#include "touches.h"

#include <string.h>

static uint64_t seed;

enum { MOST_EXTENT = 20, MOST_PARTS = 16 * 3 + 1 };

typedef struct sample {
    ti_split split;
    int64_t table[MOST_PARTS];
    ti_mapper mapper;
    ti_box extent;
} sample;

static int64_t pick(rng *r, const int64_t *list, size_t n)
{
    return list[rng_between(r, 0, (int64_t)n - 1)];
}
#define PICK(r, ...)                                                                                                   \
    pick((r), (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

static ti_split random_split(rng *r, int64_t *table)
{
    static uint32_t weights[16];
    static const int64_t sizes[] = { 40, 14, 7 };
    int dims = (int)rng_between(r, 1, 3);
    ti_split_request q = {
        .range = { { 0, 0, 0 }, { 1, 1, 1 } }, .gran = { 1, 1, 1 }, .nodes = (int)rng_between(r, 1, 16), .place = -1
    };
    q.oversubscribe = (int)rng_between(r, 1, 3);
    q.two_dimensional = rng_between(r, 0, 1);
    q.place = rng_between(r, 0, 9) ? TI_PLACE_SPLIT : TI_PLACE_EVERYWHERE;
    for (int d = 0; d < dims; d++) {
        q.range.min[d] = rng_between(r, 0, 6);
        q.range.max[d] = q.range.min[d] + rng_between(r, 1, sizes[dims - 1]);
        q.gran[d] = PICK(r, 1, 1, 2, 3, 5);
    }
    for (int i = 0; i < q.nodes; i++) {
        weights[i] = (uint32_t)rng_between(r, 0, 3);
    }
    q.weights = q.two_dimensional || rng_between(r, 0, 3) ? NULL : weights;
    return ti_split_make(&q, table);
}

/* Of any kind that has a row, with whatever its rules allow. */
static tacit_component random_component(rng *r)
{
#define ROW(KIND, name, rules) { TACIT_COMPONENT_##KIND, rules },
    static const struct {
        int kind, rules;
    } rows[] = { TI_COMPONENT_KINDS(ROW) };
#undef ROW
    size_t at = rng_between(r, 0, 2) ? (size_t)rng_between(r, 0, TI_COUNT(rows) - 1) : 0; /* the first is `dim` */
    tacit_component c = tacit_component_make(rows[at].kind, 0, 0, 0);
    if (!(rows[at].rules & TI_FOLLOWS)) {
        c.lo = rng_between(r, 0, 10);
        c.hi = c.lo + rng_between(r, 0, 12);
        return c;
    }
    c.dim = (uint8_t)rng_between(r, 0, 2);
    c.mul = (int32_t)PICK(r, 1, 1, 1, 2, 3, 7);
    c.div = (int32_t)PICK(r, 1, 1, 1, 2, 3, 7);
    c.lo = PICK(r, 0, 0, 0, 1, 5, -1, -3, 30);
    c.hi = PICK(r, 0, 0, 0, 1, 5, -1, -3, 30);
    if (!(rows[at].rules & TI_SHIFTS)) {
        c.lo = c.lo < 0 ? -c.lo : c.lo;
        c.hi = c.hi < 0 ? -c.hi : c.hi;
    }
    return c;
}

static ti_mapper random_mapper(rng *r, int dims)
{
    ti_mapper out[TI_MAPPER_PARTS];
    tacit_mapper from = tacit_components(random_component(r), random_component(r), random_component(r));
    assert_int_equal(ti_mapper_expand(&from, dims, out), 1);
    return out[0];
}

/* Ranges reach behind the buffer, except for some whose components go around. */
static void random_sample(rng *r, sample *s)
{
    *s = (sample){ .extent = { { 0, 0, 0 }, { 1, 1, 1 } } };
    s->split = random_split(r, s->table);
    int dims = (int)rng_between(r, 0, 3);
    s->mapper = random_mapper(r, dims);
    bool torus = rng_between(r, 0, 3) == 0;
    for (int d = 0; d < dims && torus; d++) {
        s->mapper.c[d] = tacit_dim_periodic(d, (size_t)rng_between(r, 1, 3));
    }
    for (int d = 0; d < dims; d++) {
        const tacit_component *c = &s->mapper.c[d];
        int64_t most = s->split.hi[c->dim];
        bool inside = c->kind == TACIT_COMPONENT_PERIODIC && most <= MOST_EXTENT && (torus || rng_between(r, 0, 3));
        s->extent.max[d] = rng_between(r, inside ? most : 1, MOST_EXTENT);
    }
}

/* What items touch, element by element: a product of sets, one per dimension. */
typedef struct shape {
    bool at[3][MOST_EXTENT];
    int64_t count[3];
    bool any;
} shape;

static shape shape_of(const sample *s, const ti_box *items)
{
    shape out = { .any = true };
    for (int d = 0; d < 3; d++) {
        const tacit_component *c = &s->mapper.c[d];
        for (int64_t x = 0; x < s->extent.max[d]; x++) {
            out.at[d][x] = d >= s->mapper.dims ||
                           touches(c, items->min[c->dim], items->max[c->dim], s->extent.max[d], x);
            out.count[d] += out.at[d][x];
        }
        out.any = out.any && out.count[d] > 0;
    }
    return out;
}

static shape chunk_shape(const sample *s, int64_t c)
{
    ti_box items = ti_split_chunk(&s->split, c);
    return shape_of(s, &items);
}

static bool shapes_meet(const shape *a, const shape *b)
{
    bool meet[3] = { false, false, false };
    for (int d = 0; d < 3; d++) {
        for (int64_t x = 0; x < MOST_EXTENT; x++) {
            meet[d] = meet[d] || (a->at[d][x] && b->at[d][x]);
        }
    }
    return meet[0] && meet[1] && meet[2];
}

static bool shape_covers(const shape *a, const shape *b)
{
    bool covers = true;
    for (int d = 0; d < 3 && b->any; d++) {
        for (int64_t x = 0; x < MOST_EXTENT; x++) {
            covers = covers && (a->at[d][x] || !b->at[d][x]);
        }
    }
    return covers;
}

static bool shapes_are_equal(const shape *a, const shape *b)
{
    return a->any == b->any && shape_covers(a, b) && shape_covers(b, a);
}

static shape shape_of_box(const ti_box *box)
{
    shape out = { .any = true };
    for (int d = 0; d < 3; d++) {
        for (int64_t x = box->min[d]; x < box->max[d]; x++) {
            out.at[d][x] = true;
        }
    }
    return out;
}

/* Boxes are disjoint, sorted, and together what the elements say. */
static void images(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    int several[TI_MAPPER_BOXES + 1] = { 0 };
    for (int i = 0; i < 40000; i++) {
        sample s;
        random_sample(&r, &s);
        ti_box items = ti_split_chunk(&s.split, rng_between(&r, 0, s.split.chunks - 1)), found[TI_MAPPER_BOXES];
        shape expected = shape_of(&s, &items);
        int boxes = ti_mapper_image(&s.mapper, &s.extent, &items, found);
        int64_t volume = 0;
        assert_int_equal(boxes > 0, expected.any);
        assert_true(boxes >= 0 && boxes <= TI_MAPPER_BOXES);
        for (int k = 0; k < boxes; k++) {
            shape box = shape_of_box(&found[k]);
            assert_true(ti_box_covers(&s.extent, &found[k]) && shape_covers(&expected, &box));
            assert_true(k == 0 || ti_box_compare(&found[k - 1], &found[k]) < 0);
            for (int j = 0; j < k; j++) {
                assert_false(ti_box_meets(&found[j], &found[k]));
            }
            volume += ti_box_volume(&found[k]);
        }
        assert_true(!expected.any || volume == expected.count[0] * expected.count[1] * expected.count[2]);
        several[boxes]++;
    }
    assert_true(several[1] > 1000 && several[2] > 1000 && several[4] > 300 && several[8] > 20);
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

/* The inverse never misses a chunk. It may propose others, but not many: counted over all samples. */
static void inverse(void **state)
{
    (void)state;
    rng r = rng_from(seed + 1);
    int64_t right = 0, proposed = 0;
    int arcs = 0;
    for (int i = 0; i < 20000; i++) {
        sample s;
        random_sample(&r, &s);
        ti_box box = s.extent;
        for (int d = 0; d < s.mapper.dims; d++) {
            box.min[d] = rng_between(&r, 0, s.extent.max[d] - 1);
            box.max[d] = rng_between(&r, box.min[d] + 1, s.extent.max[d]);
        }
        int64_t first[3], last[3];
        bool any = ti_mapper_inverse(&s.mapper, &s.split, &s.extent, &box, first, last);
        shape wanted = shape_of_box(&box);
        for (int64_t c = 0; c < s.split.chunks; c++) {
            shape image = chunk_shape(&s, c);
            bool meets = shapes_meet(&image, &wanted);
            bool named = any && in_parts(&s.split, c, first, last);
            assert_true(named || !meets);
            right += meets;
            proposed += named;
        }
        for (int d = 0; d < 3; d++) {
            assert_true(!any ||
                        (first[d] >= 0 && first[d] < s.split.parts[d] && last[d] >= 0 && last[d] < s.split.parts[d]));
            arcs += any && first[d] > last[d];
        }
    }
    assert_true(arcs > 10);
    assert_true(proposed < right + right / 5);
}

/* Constant: all chunks have the same image. Disjoint: no two have an element in common. */
static void properties(void **state)
{
    (void)state;
    rng r = rng_from(seed + 2);
    int constants = 0, disjoints = 0;
    for (int i = 0; i < 20000; i++) {
        sample s;
        random_sample(&r, &s);
        bool constant = ti_mapper_is_constant(&s.mapper, &s.split, &s.extent);
        bool disjoint = ti_mapper_is_disjoint(&s.mapper, &s.split);
        constants += constant && s.split.chunks > 1;
        disjoints += disjoint && s.split.chunks > 1;
        for (int64_t c = 0; c < s.split.chunks && (constant || disjoint); c++) {
            shape image = chunk_shape(&s, c);
            for (int64_t e = c + 1; e < (disjoint ? s.split.chunks : TI_MIN(c + 2, s.split.chunks)); e++) {
                shape other = chunk_shape(&s, e);
                assert_true(!constant || shapes_are_equal(&image, &other));
                assert_false(disjoint && shapes_meet(&image, &other));
            }
        }
    }
    assert_true(constants > 500 && disjoints > 500);
}

static void covering(void **state)
{
    (void)state;
    rng r = rng_from(seed + 3);
    int covers = 0;
    for (int i = 0; i < 20000; i++) {
        sample s, t;
        random_sample(&r, &s);
        t = s;
        for (int d = 0; d < s.mapper.dims; d++) {
            tacit_component *c = &t.mapper.c[d];
            int64_t change = rng_between(&r, 0, 3);
            if (change == 0) {
                c->lo += c->kind == TACIT_COMPONENT_SPAN ? -1 : ti_component_follows(c);
            } else if (change == 1) {
                c->hi += c->kind == TACIT_COMPONENT_FULL ? 0 : rng_between(&r, c->hi > 0 ? -1 : 0, 1);
            } else if (change == 3 && ti_component_follows(c) && c->lo >= 0 && c->hi >= 0 && c->lo + c->hi > 0) {
                c->kind = rng_between(&r, 0, 1) ? TACIT_COMPONENT_PERIODIC : TACIT_COMPONENT_DIM;
            } else if (change == 2 && rng_between(&r, 0, 1)) {
                t.mapper.c[d] = random_mapper(&r, 3).c[d];
            }
        }
        if (!ti_mapper_covers(&t.mapper, &s.mapper)) {
            continue;
        }
        covers += !ti_mapper_equal(&t.mapper, &s.mapper);
        for (int64_t c = 0; c < s.split.chunks; c++) {
            shape small = chunk_shape(&s, c), large = chunk_shape(&t, c);
            assert_true(shape_covers(&large, &small) && (large.any || !small.any));
        }
    }
    assert_true(covers > 500);
}

static void expansion(void **state)
{
    (void)state;
    ti_mapper out[TI_MAPPER_PARTS], one[TI_MAPPER_PARTS];
    tacit_mapper m = tacit_one_to_one();
    assert_int_equal(ti_mapper_expand(&m, 2, one), 1);
    assert_int_equal(one[0].custom, -1);
    m = tacit_star(0, 0, 0);
    assert_int_equal(ti_mapper_expand(&m, 2, out), 1);
    assert_true(ti_mapper_equal(&out[0], &one[0]) && ti_mapper_hash(&out[0]) == ti_mapper_hash(&one[0]));
    m = tacit_star(2, 0, 3);
    assert_int_equal(ti_mapper_expand(&m, 3, out), 2);
    assert_true(out[0].c[0].lo == 2 && out[0].c[0].hi == 2 && out[0].c[2].lo == 0 && out[0].c[2].hi == 0);
    assert_true(out[1].c[0].lo == 0 && out[1].c[2].lo == 3 && out[1].c[2].hi == 3);
    m = tacit_star(1, 1, 1);
    assert_int_equal(ti_mapper_expand(&m, 2, out), 2);
    assert_int_equal(ti_mapper_expand(&m, 3, out), 3);
    m = tacit_periodic(0, 0, 0);
    assert_int_equal(ti_mapper_expand(&m, 2, out), 1);
    assert_true(ti_mapper_equal(&out[0], &one[0]));
    m = tacit_all();
    assert_int_equal(ti_mapper_expand(&m, 0, out), 1);
    m = tacit_custom(7);
    assert_int_equal(ti_mapper_expand(&m, 3, out), 1);
    assert_int_equal(out[0].custom, 7);
    assert_false(ti_mapper_equal(&out[0], &one[0]));
}

/* Equal mappers have equal bytes, whatever lay there before. */
static void equality(void **state)
{
    (void)state;
    ti_mapper a[TI_MAPPER_PARTS], b[TI_MAPPER_PARTS];
    tacit_mapper x, y;
    memset(a, 0x55, sizeof(a));
    memset(b, 0xaa, sizeof(b));
    memset(&x, 0x11, sizeof(x));
    memset(&y, 0x22, sizeof(y));
    x.kind = y.kind = TACIT_MAPPER_COMPONENTS;
    for (int d = 0; d < 3; d++) {
        x.c[d].kind = y.c[d].kind = TACIT_COMPONENT_DIM;
        x.c[d].dim = y.c[d].dim = 0;
        x.c[d].lo = y.c[d].lo = x.c[d].hi = y.c[d].hi = 0;
        x.c[d].mul = y.c[d].mul = x.c[d].div = y.c[d].div = 1;
    }
    x.c[1].kind = y.c[1].kind = TACIT_COMPONENT_FULL;
    ti_mapper_expand(&x, 2, a);
    ti_mapper_expand(&y, 2, b);
    assert_true(ti_mapper_equal(&a[0], &b[0]));
    assert_int_equal(ti_mapper_hash(&a[0]), ti_mapper_hash(&b[0]));
}

/* Every kind has a row, and nothing else has. */
static void kinds(void **state)
{
    (void)state;
    assert_null(ti_mapper_kind_of(0));
    assert_null(ti_mapper_kind_of(-1));
    assert_null(ti_mapper_kind_of(INT32_MAX));
    assert_null(ti_mapper_kind_of(TI_MAPPER_KIND_COUNT + 1));
    assert_string_equal(ti_mapper_kind_of(TACIT_MAPPER_PERIODIC)->name, "tacit_periodic");
    for (int kind = 1; kind <= TI_MAPPER_KIND_COUNT; kind++) {
        assert_non_null(ti_mapper_kind_of(kind));
        assert_non_null(ti_mapper_kind_of(kind)->name);
    }
    for (int kind = 0; kind < 256; kind++) {
        tacit_component c = tacit_component_make(kind, 0, 1, 1);
#define ROW(KIND, name, rules) || (kind == TACIT_COMPONENT_##KIND && ((rules)&TI_FOLLOWS))
        bool follows = false TI_COMPONENT_KINDS(ROW);
#undef ROW
        assert_int_equal(ti_component_follows(&c), follows);
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images),   cmocka_unit_test(inverse),   cmocka_unit_test(properties),
        cmocka_unit_test(covering), cmocka_unit_test(expansion), cmocka_unit_test(equality),
        cmocka_unit_test(kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
