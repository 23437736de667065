/* Mappers of random programs: see gen.h.
 *
 * Kinds are drawn by the weights of their rows (src/grid/mapper_kinds.h); here each has a function draw_NAME that
 * draws its arguments. A kind that does not go with the task and the buffer gives `no_mapper`, and another one is
 * drawn. */
#include "gen_maker.h"

#include "grid/mapper_kinds.h"

/* For which access a mapper is drawn. */
typedef struct scene {
    maker *m;
    const gen_task *t;
    const gen_buffer *b;
    bool writes;
} scene;

static const tacit_mapper no_mapper = { .kind = 0 };

static gen_rng *rng_for(const scene *s)
{
    return rng_of(s->m);
}

static bool has_equal_dims(const scene *s)
{
    return s->b->range.dims == s->t->range.dims && s->b->range.dims > 0;
}

/* ---- arguments */

static size_t draw_halo(const scene *s, int d)
{
    int64_t n = d < s->b->range.dims ? (int64_t)s->b->range.size[d] : 1;
    switch (s->writes ? GEN_HALO_NONE : GEN_DRAW(rng_for(s), gen_halos)) {
    case GEN_HALO_ONE:
        return 1;
    case GEN_HALO_TWO:
        return 2;
    case GEN_HALO_HALF:
        return (size_t)n / 2;
    case GEN_HALO_ALL:
        return (size_t)gen_between(rng_for(s), n - 1, n);
    case GEN_HALO_MORE:
        return (size_t)gen_between(rng_for(s), 0, 2 * n + 2);
    default:
        return 0;
    }
}

/* Which dimension of the task dimension d of the buffer follows. */
static int draw_followed(const scene *s, int d)
{
    int last = s->t->range.dims - 1;
    return chance(s->m, GEN_PERCENT_SAME_DIM) ? TI_MIN(d, last) : (int)gen_between(rng_for(s), 0, last);
}

/* A halo on both sides, or on one, or a shift; writes have none or shift. */
static tacit_component draw_dim(const scene *s, int d)
{
    int k = draw_followed(s, d);
    int64_t scale = GEN_DRAW(rng_for(s), gen_scales);
    int64_t h = GEN_DRAW(rng_for(s), gen_component_halos), lo = h, hi = h;
    switch (gen_between(rng_for(s), s->writes ? 3 : 0, 5)) {
    case 0:
        break;
    case 1:
        lo = 0;
        break;
    case 2:
        hi = chance(s->m, GEN_PERCENT_SHRINK) ? -1 : 0;
        break;
    case 3:
        hi = -h;
        break;
    case 4:
        lo = -h;
        break;
    default:
        lo = hi = 0;
        break;
    }
    return tacit_dim_scaled(k, (int)(scale / 100), (int)(scale % 100), lo, hi);
}

tacit_component gen_random_span(maker *m, size_t size)
{
    int64_t n = (int64_t)size, unit = (m->tiles || chance(m, GEN_PERCENT_ON_QUARTERS)) && n >= 4 ? n / 4 : 1;
    int64_t a = unit * gen_between(rng_of(m), 0, (n - 1) / unit);
    int64_t b = a + unit * gen_between(rng_of(m), 1, unit > 1 ? 2 : n - a);
    return tacit_span((size_t)a, (size_t)(b < n ? b : n));
}

static tacit_component draw_component(const scene *s, int d)
{
    int64_t kind = GEN_DRAW(rng_for(s), gen_components);
    if (kind == GEN_SPAN) {
        return gen_random_span(s->m, s->b->range.size[d]);
    }
    if (kind == GEN_FULL || s->t->range.dims == 0) {
        return tacit_full();
    }
    return kind == GEN_DIM ? draw_dim(s, d) : tacit_dim_periodic(draw_followed(s, d), draw_halo(s, d));
}

/* ---- one function for each kind */

static tacit_mapper draw_one_to_one(const scene *s)
{
    return has_equal_dims(s) ? tacit_one_to_one() : no_mapper;
}

static tacit_mapper draw_all(const scene *s)
{
    (void)s;
    return tacit_all();
}

tacit_mapper gen_random_fixed(maker *m, const gen_buffer *b)
{
    tacit_box box = tacit_box3(0, 1, 0, 1, 0, 1);
    for (int d = 0; d < b->range.dims; d++) {
        tacit_component c = gen_random_span(m, b->range.size[d]);
        box.min[d] = (size_t)c.lo;
        box.max[d] = (size_t)c.hi;
    }
    return tacit_fixed(box);
}

static tacit_mapper draw_fixed(const scene *s)
{
    return gen_random_fixed(s->m, s->b);
}

static tacit_mapper draw_neighborhood(const scene *s)
{
    return has_equal_dims(s) ? tacit_neighborhood(draw_halo(s, 0), draw_halo(s, 1), draw_halo(s, 2)) : no_mapper;
}

static tacit_mapper draw_star(const scene *s)
{
    return has_equal_dims(s) ? tacit_star(draw_halo(s, 0), draw_halo(s, 1), draw_halo(s, 2)) : no_mapper;
}

static tacit_mapper draw_periodic(const scene *s)
{
    return has_equal_dims(s) ? tacit_periodic(draw_halo(s, 0), draw_halo(s, 1), draw_halo(s, 2)) : no_mapper;
}

static tacit_mapper draw_slice(const scene *s)
{
    return has_equal_dims(s) ? tacit_slice((int)gen_between(rng_for(s), 0, s->b->range.dims - 1)) : no_mapper;
}

/* Dimensions in turn. */
static tacit_mapper draw_transposed(const scene *s)
{
    int dims = s->b->range.dims, p = dims ? (int)gen_between(rng_for(s), 0, dims - 1) : 0;
    if (!has_equal_dims(s)) {
        return no_mapper;
    }
    return tacit_transposed(p, dims > 1 ? (p + 1) % dims : 0, dims > 2 ? (p + 2) % dims : 0);
}

static tacit_mapper draw_components(const scene *s)
{
    tacit_component c[3] = { tacit_full(), tacit_full(), tacit_full() };
    for (int d = 0; d < s->b->range.dims; d++) {
        c[d] = draw_component(s, d);
    }
    return tacit_components(c[0], c[1], c[2]);
}

static tacit_mapper draw_replicated(const scene *s)
{
    return s->writes ? tacit_replicated() : no_mapper;
}

/* One of gen_custom_kind. */
static tacit_mapper draw_custom(const scene *s)
{
    int64_t n = (int64_t)s->b->range.size[0];
    gen_custom c = { .kind = gen_between(rng_for(s), GEN_CUSTOM_SHIFTS, GEN_CUSTOM_FIXED) };
    if (s->b->range.dims == 0 || s->t->range.dims == 0) {
        return no_mapper;
    }
    bool strides = c.kind == GEN_CUSTOM_STRIDE;
    c.a = gen_between(rng_for(s), strides, strides ? 3 : n - 1);
    c.b = gen_between(rng_for(s), 0, n - 1);
    if (gen_chance(&s->m->more, GEN_PERCENT_CUSTOM_2D)) {
        c = (gen_custom){ GEN_CUSTOM_CHECKER + gen_between(&s->m->more, 0, 1), c.a % 3, c.b % 3 };
    }
    ti_vec_push(&s->m->program->custom, c);
    return tacit_custom((int)s->m->program->custom.count - 1);
}

/* ---- any of them */

tacit_mapper gen_random_mapper(maker *m, const gen_task *t, const gen_buffer *b, bool writes)
{
#define ROW(KIND, name, arguments, rules, weight, touches) { weight, TACIT_MAPPER_##KIND },
    static const gen_row kinds[] = { TI_MAPPER_KINDS(ROW) };
#undef ROW
    const scene s = { m, t, b, writes };
    if (m->tiles && chance(m, GEN_PERCENT_FIXED_TILES)) {
        return draw_fixed(&s);
    }
    for (;;) {
        tacit_mapper found = no_mapper;
        switch (GEN_DRAW(rng_of(m), kinds)) {
#define ROW(KIND, name, arguments, rules, weight, touches)                                                             \
    case TACIT_MAPPER_##KIND:                                                                                          \
        found = draw_##name(&s);                                                                                       \
        break;
            TI_MAPPER_KINDS(ROW)
#undef ROW
        }
        if (found.kind) {
            return found;
        }
    }
}
