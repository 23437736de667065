/* Range mappers against brute force: images, the inverse, and what is decided from components without looking at chunks. */
#include "grid/mapper.h"

#include "random.h"

#include <string.h>

static uint64_t seed;

typedef struct sample {
    ti_split split;
    ti_mapper mapper;
    ti_box extent;
} sample;

static int64_t pick(rng *r, const int64_t *list, size_t n)
{
    return list[rng_between(r, 0, (int64_t)n - 1)];
}
#define PICK(r, ...)                                                                                                   \
    pick((r), (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

static ti_split random_split(rng *r)
{
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
    return ti_split_make(&q, NULL);
}

static tacit_component random_component(rng *r)
{
    int64_t kind = rng_between(r, 0, 9);
    if (kind == 0) {
        return tacit_full();
    }
    if (kind == 1) {
        size_t a = (size_t)rng_between(r, 0, 10);
        return tacit_span(a, a + (size_t)rng_between(r, 0, 12));
    }
    int64_t halo[2];
    for (int i = 0; i < 2; i++) {
        halo[i] = PICK(r, 0, 0, 0, 1, 5, -1, -3, 30);
    }
    int mul = (int)PICK(r, 1, 1, 1, 2, 3, 7), div = (int)PICK(r, 1, 1, 1, 2, 3, 7);
    return tacit_dim_scaled((int)rng_between(r, 0, 2), mul, div, halo[0], halo[1]);
}

static ti_mapper random_mapper(rng *r, int dims)
{
    ti_mapper out[TI_MAPPER_PARTS];
    tacit_mapper from = tacit_components(random_component(r), random_component(r), random_component(r));
    assert_int_equal(ti_mapper_expand(&from, dims, out), 1);
    return out[0];
}

static sample random_sample(rng *r)
{
    sample s = { .split = random_split(r), .extent = { { 0, 0, 0 }, { 1, 1, 1 } } };
    int dims = (int)rng_between(r, 0, 3);
    for (int d = 0; d < dims; d++) {
        s.extent.max[d] = rng_between(r, 1, 20);
    }
    s.mapper = random_mapper(r, dims);
    return s;
}

/* Whether chunk c's image has anything, by the formula, index by index: x is in [floor(a m / d) - lo, ceil(b m / d) + hi). */
static bool maps_to(const sample *s, const ti_box *items, int d, int64_t x)
{
    const tacit_component *c = &s->mapper.c[d];
    if (c->kind == TACIT_COMPONENT_FULL) {
        return true;
    }
    if (c->kind == TACIT_COMPONENT_SPAN) {
        return c->lo <= x && x < c->hi;
    }
    /* floor(p / q) <= y is p < (y + 1) q, and ceil(p / q) > y is p > y q */
    return items->min[c->dim] * c->mul < (x + c->lo + 1) * c->div && items->max[c->dim] * c->mul > (x - c->hi) * c->div;
}

/* The image of a box by brute force; false if it is empty. */
static bool brute_image(const sample *s, const ti_box *items, ti_box *out)
{
    *out = (ti_box){ { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < s->mapper.dims; d++) {
        int64_t first = -1, last = -1;
        for (int64_t x = 0; x < s->extent.max[d]; x++) {
            if (maps_to(s, items, d, x)) {
                first = first < 0 ? x : first;
                last = x;
            }
        }
        if (first < 0) {
            return false;
        }
        out->min[d] = first;
        out->max[d] = last + 1;
    }
    return true;
}

static bool chunk_image(const sample *s, int64_t c, ti_box *out)
{
    ti_box items = ti_split_chunk(&s->split, c);
    return brute_image(s, &items, out);
}

static void images(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int i = 0; i < 20000; i++) {
        sample s = random_sample(&r);
        ti_box items = ti_split_chunk(&s.split, rng_between(&r, 0, s.split.chunks - 1)), expected, found;
        bool any = brute_image(&s, &items, &expected);
        assert_int_equal(ti_mapper_image(&s.mapper, &s.extent, &items, &found), any);
        assert_true(!any || ti_box_equal(&expected, &found));
    }
}

static bool in_parts(const ti_split *s, int64_t c, const int64_t first[3], const int64_t last[3])
{
    int64_t part[3] = { c / s->parts[2] / s->parts[1], c / s->parts[2] % s->parts[1], c % s->parts[2] };
    for (int d = 0; d < 3; d++) {
        if (part[d] < first[d] || part[d] > last[d]) {
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
    for (int i = 0; i < 20000; i++) {
        sample s = random_sample(&r);
        ti_box box = s.extent;
        for (int d = 0; d < s.mapper.dims; d++) {
            box.min[d] = rng_between(&r, 0, s.extent.max[d] - 1);
            box.max[d] = rng_between(&r, box.min[d] + 1, s.extent.max[d]);
        }
        int64_t first[3], last[3];
        bool any = ti_mapper_inverse(&s.mapper, &s.split, &box, first, last);
        for (int64_t c = 0; c < s.split.chunks; c++) {
            ti_box image;
            bool meets = chunk_image(&s, c, &image) && ti_box_meets(&image, &box);
            bool named = any && in_parts(&s.split, c, first, last);
            assert_true(named || !meets);
            right += meets;
            proposed += named;
        }
    }
    assert_true(proposed < right + right / 5);
}

/* Constant: all chunks have the same image. Disjoint: no two have an element in common. */
static void properties(void **state)
{
    (void)state;
    rng r = rng_from(seed + 2);
    int constants = 0, disjoints = 0;
    for (int i = 0; i < 20000; i++) {
        sample s = random_sample(&r);
        bool constant = ti_mapper_is_constant(&s.mapper, &s.split, &s.extent);
        bool disjoint = ti_mapper_is_disjoint(&s.mapper, &s.split);
        constants += constant && s.split.chunks > 1;
        disjoints += disjoint && s.split.chunks > 1;
        ti_box whole;
        bool any = chunk_image(&s, 0, &whole);
        for (int64_t c = 1; c < s.split.chunks; c++) {
            ti_box image;
            bool same = chunk_image(&s, c, &image) == any;
            assert_true(!constant || (same && (!any || ti_box_equal(&image, &whole))));
        }
        for (int64_t c = 0; c < s.split.chunks && disjoint; c++) {
            ti_box image, other;
            bool some = chunk_image(&s, c, &image);
            for (int64_t e = c + 1; e < s.split.chunks && some; e++) {
                assert_false(chunk_image(&s, e, &other) && ti_box_meets(&image, &other));
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
        sample s = random_sample(&r), t = s;
        for (int d = 0; d < s.mapper.dims; d++) {
            tacit_component *c = &t.mapper.c[d];
            int64_t change = rng_between(&r, 0, 3);
            if (change == 0) {
                c->lo += c->kind == TACIT_COMPONENT_SPAN ? -1 : c->kind == TACIT_COMPONENT_DIM;
            } else if (change == 1) {
                c->hi += c->kind == TACIT_COMPONENT_FULL ? 0 : rng_between(&r, -1, 1);
            } else if (change == 2 && rng_between(&r, 0, 1)) {
                t.mapper.c[d] = random_mapper(&r, 3).c[d];
            }
        }
        if (!ti_mapper_covers(&t.mapper, &s.mapper)) {
            continue;
        }
        covers += !ti_mapper_equal(&t.mapper, &s.mapper);
        for (int64_t c = 0; c < s.split.chunks; c++) {
            ti_box small, large;
            if (chunk_image(&s, c, &small)) {
                assert_true(chunk_image(&t, c, &large) && ti_box_covers(&large, &small));
            }
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

/* Names as the program wrote them, where that can be told from the components. */
static void names(void **state)
{
    (void)state;
    const struct {
        tacit_mapper mapper;
        int dims;
        const char *name;
    } cases[] = {
        { tacit_one_to_one(), 2, "tacit_one_to_one" },
        { tacit_all(), 3, "tacit_all" },
        { tacit_replicated(), 1, "tacit_all" },
        { tacit_fixed(tacit_box2(1, 2, 3, 4)), 2, "tacit_fixed" },
        { tacit_slice(1), 2, "tacit_slice" },
        { tacit_neighborhood(1, 0, 0), 2, "tacit_neighborhood" },
        { tacit_star(1, 1, 0), 2, "tacit_star" },
        { tacit_transposed(1, 0, 2), 2, "tacit_transposed" },
        { tacit_components(tacit_dim(0), tacit_span(1, 3), tacit_full()), 3, "tacit_components" },
        { tacit_components(tacit_dim_scaled(0, 2, 1, 0, 0), tacit_full(), tacit_full()), 1, "tacit_components" },
        { tacit_components(tacit_dim_scaled(0, 1, 1, 1, 0), tacit_full(), tacit_full()), 1, "tacit_components" },
        { tacit_custom(3), 2, "a custom mapper" }
    };
    for (size_t i = 0; i < TI_COUNT(cases); i++) {
        ti_mapper m[TI_MAPPER_PARTS];
        int parts = ti_mapper_expand(&cases[i].mapper, cases[i].dims, m);
        assert_string_equal(ti_mapper_name(m, (uint32_t)parts), cases[i].name);
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images),   cmocka_unit_test(inverse),   cmocka_unit_test(properties),
        cmocka_unit_test(covering), cmocka_unit_test(expansion), cmocka_unit_test(equality),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
