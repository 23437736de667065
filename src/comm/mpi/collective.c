/* Collectives as MPI knows them: see collective.h. */
#include "comm/mpi/collective.h"

#include "base/check.h"

#include <limits.h>

/* Up to so many nodes combine so many bytes each, or more, by messages between pairs. */
enum { COMBINING_NODES = 16, COMBINING_BYTES = 64 * 1024 };
/* So many nodes of one machine do all that is not long so: it was measured for up to 7. */
enum { NEAR_NODES = 8 };

#define CALL(all, ...) TI_MPI_CALL(&(all)->call, __VA_ARGS__)

/* ---- who takes part */

/* All nodes, or this node's group: none, if it has no part in the collective. */
typedef struct team {
    MPI_Comm mpi;
    int nodes;
    ti_box region; /* the first one, or the group's part of it */
    size_t bytes;  /* of all regions */
} team;

static void find_team(const ti_mpi_collectives *all, const ti_exchange *x, team *out)
{
    const ti_collective *what = x->what;
    TI_ASSERT(x->elem_size > 0 && what->regions > 0);
    *out = (team){ .mpi = all->mpi, .nodes = ti_collective_members(what, all->node) };
    if (what->members) {
        out->mpi = ti_mpi_grid_find(&all->grid, what->members, what->stride);
    }
    for (uint32_t i = what->regions; i-- > 0;) {
        bool any = ti_collective_together(what, all->node, i, &out->region);
        out->bytes += any ? (size_t)ti_box_volume(&out->region) * x->elem_size : 0;
    }
    out->nodes = out->bytes ? out->nodes : 0;
}

/* ---- slabs: what all nodes know alike */

/* The parts of all nodes that take part are slabs along `dim`; the one of rank q has [bound[q].min[dim],
 * bound[q].max[dim]). */
typedef struct cut {
    int dim;
    int64_t least, end; /* of all parts that are not empty */
    /* Indices that one unit has: 1, unless counts would not fit an int or units would be bytes far apart. */
    int64_t unit;
    bool in_rows; /* a unit is a box in the order of memory, not index after index */
} cut;

/* In which dimension `part` is not as long as the region; *dim is that of the parts before, or -1. False if it is
 * another one. */
static bool find_dim(const ti_box *region, const ti_box *part, int *dim)
{
    for (int d = 0; d < 3; d++) {
        if (part->min[d] == region->min[d] && part->max[d] == region->max[d]) {
            continue;
        }
        if (*dim >= 0 && *dim != d) {
            return false;
        }
        *dim = d;
    }
    return true;
}

/* The part of `node`, empty or a slab. False if it is something else. All of its boxes have to be slabs: who has only
 * this part may keep each of them in an allocation of its own. */
static bool bound_part(ti_mpi_collectives *all, const ti_parts *parts, const ti_box *region, int node, int *dim,
                       ti_box *out)
{
    int64_t volume = 0;
    ti_vec_clear(&all->boxes[0]);
    ti_parts_of(parts, node, region, &all->boxes[0]);
    *out = (ti_box){ 0 };
    for (size_t i = 0; i < all->boxes[0].count; i++) {
        const ti_box *box = &all->boxes[0].data[i];
        if (!find_dim(region, box, dim)) {
            return false;
        }
        volume += ti_box_volume(box);
        *out = i ? ti_box_bounding(out, box) : *box;
    }
    return ti_box_volume(out) == volume;
}

static int first_long_dim(const ti_box *region)
{
    int d = 0;
    while (d < 2 && region->max[d] - region->min[d] == 1) {
        d++;
    }
    return d;
}

/* A unit of the last dimension is a plane of single elements; a vector of them would be a loop more than blocks
 * have. */
static bool has_units(const ti_box *region, int dim)
{
    return dim < 2 || region->max[0] - region->min[0] == 1 || region->max[1] - region->min[1] == 1;
}

/* Where units are kept in many runs of bytes, longer runs are fewer. */
static bool find_unit(ti_mpi_collectives *all, cut *c)
{
    int64_t divisor = 0, length = c->end - c->least;
    for (size_t q = 0; q < all->bound.count; q++) {
        const ti_box *part = &all->bound.data[q];
        if (!ti_box_is_empty(part)) {
            divisor = ti_gcd(part->min[c->dim] - c->least, divisor);
            divisor = ti_gcd(part->max[c->dim] - c->least, divisor);
        }
    }
    c->unit = length <= INT_MAX && !c->in_rows ? 1 : divisor;
    TI_ASSERT(c->unit > 0); /* some part is not empty */
    return length / c->unit <= INT_MAX;
}

static bool find_cut(ti_mpi_collectives *all, const ti_collective *what, const ti_parts *parts,
                     const ti_mpi_share *share, cut *out)
{
    const ti_box *region = &share->region;
    *out = (cut){ .dim = -1, .least = INT64_MAX, .end = INT64_MIN };
    ti_vec_clear(&all->bound);
    for (int q = 0; q < share->nodes; q++) {
        ti_box part;
        if (!bound_part(all, parts, region, ti_collective_member(what, all->node, q), &out->dim, &part)) {
            return false;
        }
        ti_vec_push(&all->bound, part);
    }
    out->dim = out->dim < 0 ? first_long_dim(region) : out->dim;
    for (int q = 0; q < share->nodes; q++) {
        const ti_box *part = &all->bound.data[q];
        if (!ti_box_is_empty(part)) {
            out->least = TI_MIN(out->least, part->min[out->dim]);
            out->end = TI_MAX(out->end, part->max[out->dim]);
        }
    }
    /* All nodes of an all-gather have units of the same shape; of others, some have their own part alone. */
    out->in_rows = what->pattern == TI_PATTERN_ALL_GATHER && out->dim > first_long_dim(region);
    return out->least < out->end && (out->in_rows || has_units(region, out->dim)) && find_unit(all, out);
}

/* ---- units: where this node keeps them */

static ti_block locate_box(ti_mpi_collectives *all, const ti_exchange *x, const ti_box *box)
{
    ti_vec_clear(&all->boxes[1]);
    ti_vec_push(&all->boxes[1], *box);
    ti_payload payload = x->locate(x->user, &all->boxes[1]);
    TI_ASSERT(payload.count == 1);
    return payload.block[0];
}

/* Bytes from one index of `dim` to the next. */
static size_t step_of(ti_mpi_collectives *all, const ti_exchange *x, const ti_box *box, int dim)
{
    ti_box one = *box;
    TI_ASSERT(box->max[dim] - box->min[dim] > 1);
    one.max[dim] = one.min[dim] + 1;
    char *here = locate_box(all, x, &one).base;
    one.min[dim]++;
    one.max[dim]++;
    return (size_t)(locate_box(all, x, &one).base - here);
}

/* A box as a vector of units, one after another whatever lies between. */
static ti_block slab_block(ti_mpi_collectives *all, const ti_exchange *x, const ti_box *box, int dim)
{
    ti_box one = *box;
    size_t n = (size_t)(box->max[dim] - box->min[dim]);
    one.max[dim] = one.min[dim] + 1;
    ti_block b = locate_box(all, x, &one);
    if (n == 1) {
        return b;
    }
    size_t step = step_of(all, x, box, dim);
    TI_ASSERT(b.count[0] == 1);
    if (b.count[1] > 1) {
        b.count[0] = n;
        b.stride[0] = step;
    } else if (b.run == step) {
        b.run *= n;
    } else {
        b.count[1] = n;
        b.stride[1] = step;
    }
    return b;
}

/* What offsets count from: what has no base counts from here. Not from NULL, since buffers at addresses like 0 and 1
 * have meanings of their own (MPI_BOTTOM, and MPI_IN_PLACE in Open MPI). */
static intptr_t origin_of(const ti_mpi_collectives *all, const ti_exchange *x)
{
    return x->layout && x->base ? (intptr_t)x->base : (intptr_t)all;
}

static MPI_Aint offset_of(const ti_mpi_collectives *all, const ti_exchange *x, const char *address)
{
    return (MPI_Aint)((intptr_t)address - origin_of(all, x));
}

static void *address_of(const ti_mpi_collectives *all, const ti_exchange *x, MPI_Aint offset)
{
    return (void *)(origin_of(all, x) + (intptr_t)offset);
}

/* The unit at the start of `part`, as long as the distance to the next. */
static int make_unit(ti_mpi_collectives *all, const ti_exchange *x, const cut *c, const ti_box *part, ti_mpi_share *out)
{
    ti_box one = *part;
    one.max[c->dim] = one.min[c->dim] + c->unit;
    ti_block block = c->in_rows ? locate_box(all, x, &one) : slab_block(all, x, &one, c->dim);
    size_t extent = ti_block_bytes(&block);
    if (part->max[c->dim] - part->min[c->dim] > c->unit) {
        extent = step_of(all, x, part, c->dim) * (size_t)c->unit;
    }
    MPI_Datatype tight;
    out->first = offset_of(all, x, block.base);
    TI_MPI_TRY(ti_mpi_type_create(&(ti_payload){ &block, 1, ti_block_bytes(&block) }, &tight, &all->call));
    TI_MPI_TRY(CALL(all, MPI_Type_create_resized, tight, 0, (MPI_Aint)extent, &out->unit));
    TI_MPI_TRY(CALL(all, MPI_Type_commit, &out->unit));
    return CALL(all, MPI_Type_free, &tight);
}

/* There is one per chunk of this node, mostly in order already. */
static void sort_boxes(ti_boxes *boxes, int dim)
{
    for (size_t i = 1; i < boxes->count; i++) {
        ti_box box = boxes->data[i];
        size_t k = i;
        for (; k && boxes->data[k - 1].min[dim] > box.min[dim]; k--) {
            boxes->data[k] = boxes->data[k - 1];
        }
        boxes->data[k] = box;
    }
}

/* What this node gives or gets as one element: it may lie in several allocations. */
static int make_own(ti_mpi_collectives *all, const ti_exchange *x, const cut *c, const ti_parts *parts,
                    ti_mpi_share *out)
{
    ti_vec_clear(&all->boxes[0]);
    ti_parts_of(parts, all->node, &out->region, &all->boxes[0]);
    ti_payload payload = { 0 };
    sort_boxes(&all->boxes[0], c->dim);
    ti_vec_clear(&all->blocks);
    for (size_t i = 0; i < all->boxes[0].count; i++) {
        ti_block b = slab_block(all, x, &all->boxes[0].data[i], c->dim);
        ti_vec_push(&all->blocks, b);
        payload.bytes += ti_block_bytes(&b);
    }
    payload.block = all->blocks.data;
    payload.count = (uint32_t)all->blocks.count;
    out->own = payload.count > 0;
    if (!payload.count) {
        return MPI_SUCCESS;
    }
    out->first = offset_of(all, x, payload.block[0].base);
    return ti_mpi_type_create(&payload, &out->unit, &all->call);
}

/* ---- shares */

static void count_units(ti_mpi_collectives *all, const cut *c, ti_mpi_share *out)
{
    TI_ASSERT(all->bound.count == (size_t)out->nodes);
    out->count = TI_NEW_ARRAY(int, (size_t)out->nodes);
    out->at = TI_NEW_ARRAY(int, (size_t)out->nodes);
    out->way = TI_MPI_WAY_EVEN;
    for (int q = 0; q < out->nodes; q++) {
        const ti_box *part = &all->bound.data[q];
        if (!ti_box_is_empty(part)) {
            TI_ASSERT((part->min[c->dim] - c->least) % c->unit == 0 && (part->max[c->dim] - c->least) % c->unit == 0);
            out->count[q] = (int)((part->max[c->dim] - part->min[c->dim]) / c->unit);
            out->at[q] = (int)((part->min[c->dim] - c->least) / c->unit);
        }
        if (out->count[q] != out->count[0] || (int64_t)out->at[q] != (int64_t)q * out->count[0]) {
            out->way = TI_MPI_WAY_UNEVEN;
        }
    }
}

/* MPI_Iallgatherv of MPICH 4.0.2 brings wrong bytes, or never ends, where several with strided datatypes are under way
 * on three nodes. Whether they are strided depends on where a node keeps them, so none is trusted. */
#if defined(OPEN_MPI)
enum { GATHERS_UNEVENLY = true };
#else
enum { GATHERS_UNEVENLY = false };
#endif

/* All nodes have parts of it: all of them here, or only this node's. */
static int make_slabs(ti_mpi_collectives *all, const ti_exchange *x, const ti_parts *parts, bool is_whole,
                      ti_mpi_share *out)
{
    cut c;
    if (!find_cut(all, x->what, parts, out, &c)) {
        return MPI_SUCCESS;
    }
    count_units(all, &c, out);
    if (!GATHERS_UNEVENLY && out->way == TI_MPI_WAY_UNEVEN && x->what->pattern == TI_PATTERN_ALL_GATHER) {
        out->way = TI_MPI_WAY_DIRECT;
        return MPI_SUCCESS;
    }
    if (!is_whole) {
        return make_own(all, x, &c, parts, out);
    }
    ti_box box = out->region;
    box.min[c.dim] = c.least;
    box.max[c.dim] = c.end;
    return make_unit(all, x, &c, &box, out);
}

static int make_broadcast(ti_mpi_collectives *all, const ti_exchange *x, ti_mpi_share *out)
{
    const ti_box *region = &out->region;
    cut c = { .dim = first_long_dim(region) };
    c.least = region->min[c.dim];
    c.end = region->max[c.dim];
    ti_vec_clear(&all->bound);
    ti_vec_push(&all->bound, *region);
    if (!find_unit(all, &c)) {
        return MPI_SUCCESS;
    }
    out->way = TI_MPI_WAY_EVEN;
    out->own = (int)((c.end - c.least) / c.unit);
    return make_unit(all, x, &c, region, out);
}

/* The message from node r to node q as one element at the exchange's base plus `shift`. */
static int make_pair(ti_mpi_collectives *all, const ti_exchange *x, int r, int q, MPI_Aint shift, int *count,
                     MPI_Datatype *out)
{
    TI_ASSERT(r != q);
    ti_vec_clear(&all->boxes[0]);
    ti_collective_message(x->what, r, q, &all->boxes[0], &all->boxes[1]);
    *out = MPI_BYTE;
    *count = all->boxes[0].count > 0;
    if (!all->boxes[0].count) {
        return MPI_SUCCESS;
    }
    MPI_Datatype message;
    ti_payload payload = x->locate(x->user, &all->boxes[0]);
    MPI_Aint at = offset_of(all, x, payload.block[0].base) - shift;
    TI_MPI_TRY(ti_mpi_type_create(&payload, &message, &all->call));
    TI_MPI_TRY(CALL(all, MPI_Type_create_hindexed, 1, &(int){ 1 }, &at, message, out));
    TI_MPI_TRY(CALL(all, MPI_Type_commit, out));
    return CALL(all, MPI_Type_free, &message);
}

/* MPI wants two buffers, which may not be the same: the second begins at the second byte of the first. */
static int make_pairs(ti_mpi_collectives *all, const ti_exchange *x, ti_mpi_share *out)
{
    size_t n = (size_t)all->nodes;
    out->way = TI_MPI_WAY_PAIRS;
    out->count = TI_NEW_ARRAY(int, n);
    out->at = TI_NEW_ARRAY(int, n);
    out->type = ti_alloc_zero(2 * n * sizeof(MPI_Datatype));
    for (size_t q = 0; q < 2 * n; q++) {
        out->type[q] = MPI_BYTE;
    }
    for (int q = 0; q < all->nodes; q++) {
        if (q != all->node) {
            TI_MPI_TRY(make_pair(all, x, all->node, q, 0, &out->count[q], &out->type[q]));
            TI_MPI_TRY(make_pair(all, x, q, all->node, 1, &out->at[q], &out->type[n + (size_t)q]));
        }
    }
    return MPI_SUCCESS;
}

/* As long as which slab the parts of all nodes are along *dim, which is -1 before; 0: they are not slabs of one
 * length. */
static int64_t equal_slabs(ti_mpi_collectives *all, const ti_collective *what, const ti_parts *parts, int *dim)
{
    int64_t length = 0;
    for (int q = 0; q < what->nodes; q++) {
        ti_box part;
        if (!bound_part(all, parts, what->region, q, dim, &part) || *dim < 0) {
            return 0;
        }
        int64_t own = part.max[*dim] - part.min[*dim];
        if (own == 0 || (q && own != length)) {
            return 0;
        }
        length = own;
    }
    return length;
}

/* Bytes from each node to each other one; 0: they are not all the same. */
static size_t equal_pieces(ti_mpi_collectives *all, const ti_exchange *x)
{
    const ti_collective *what = x->what;
    int given = -1, got = -1;
    if (what->regions != 1 || what->members) {
        return 0;
    }
    int64_t rows = equal_slabs(all, what, &what->from, &given);
    int64_t columns = rows ? equal_slabs(all, what, &what->to, &got) : 0;
    if (!columns || given == got) {
        return 0;
    }
    ti_box piece = what->region[0];
    piece.max[given] = piece.min[given] + rows;
    piece.max[got] = piece.min[got] + columns;
    return (size_t)ti_box_volume(&piece) * x->elem_size;
}

static int make_transposition(ti_mpi_collectives *all, const ti_exchange *x, const team *t, ti_mpi_share *out)
{
    int size = ti_mpi_size_class(t->bytes / (size_t)t->nodes);
    size_t piece = all->choice.packed[size] && !all->never_packs ? equal_pieces(all, x) : 0;
    if (piece && ti_mpi_is_small(t->nodes, piece)) {
        ti_direct_plan_make(&out->pieces, x, all->node, all->boxes);
        out->way = TI_MPI_WAY_PACKED;
        return MPI_SUCCESS;
    }
    return all->choice.by_mpi[TI_PATTERN_ALL_TO_ALL][size] ? make_pairs(all, x, out) : MPI_SUCCESS;
}

static int make_reduction(ti_mpi_collectives *all, const ti_exchange *x, ti_mpi_share *out)
{
    ti_block block = locate_box(all, x, x->what->region);
    TI_ASSERT(block.count[0] == 1 && block.count[1] == 1);
    out->way = TI_MPI_WAY_COMBINE;
    out->own = (int)ti_box_volume(x->what->region);
    out->first = offset_of(all, x, block.base);
    return ti_mpi_reducer_open(&x->what->reducer, &out->reducer, &all->call);
}

static int make_share(ti_mpi_collectives *all, const ti_exchange *x, const team *t, ti_mpi_share *out)
{
    const ti_collective *what = x->what;
    bool is_root = what->root == all->node;
    if (what->regions != 1 && what->pattern != TI_PATTERN_ALL_TO_ALL) {
        return MPI_SUCCESS;
    }
    switch (what->pattern) {
    case TI_PATTERN_ALL_GATHER:
    case TI_PATTERN_GATHER:
        return make_slabs(all, x, &what->from, is_root || what->pattern == TI_PATTERN_ALL_GATHER, out);
    case TI_PATTERN_SCATTER:
        return make_slabs(all, x, &what->to, is_root, out);
    case TI_PATTERN_BROADCAST:
        return make_broadcast(all, x, out);
    case TI_PATTERN_ALL_TO_ALL:
        return make_transposition(all, x, t, out);
    case TI_PATTERN_REDUCE:
    case TI_PATTERN_ALL_REDUCE:
        return make_reduction(all, x, out);
    case TI_PATTERN_NONE:
    case TI_PATTERN_KINDS:
        break;
    }
    TI_UNREACHABLE();
}

static int free_type(ti_mpi_collectives *all, MPI_Datatype *type)
{
    return *type == MPI_BYTE || *type == MPI_DATATYPE_NULL ? MPI_SUCCESS : CALL(all, MPI_Type_free, type);
}

static int empty_share(ti_mpi_collectives *all, ti_mpi_share *share, bool mpi_is_up)
{
    size_t n = (size_t)share->nodes;
    int code = mpi_is_up ? free_type(all, &share->unit) : MPI_SUCCESS;
    for (size_t q = 0; share->type && mpi_is_up && q < 2 * n && !code; q++) {
        code = free_type(all, &share->type[q]);
    }
    ti_free(share->count, share->count ? n * sizeof(int) : 0);
    ti_free(share->at, share->at ? n * sizeof(int) : 0);
    ti_free(share->type, share->type ? 2 * n * sizeof(MPI_Datatype) : 0);
    if (share->reducer) {
        int closed = ti_mpi_reducer_close(share->reducer, mpi_is_up && !code, &all->call);
        code = code ? code : closed;
    }
    ti_direct_plan_fini(&share->pieces);
    *share = (ti_mpi_share){ .unit = MPI_BYTE };
    return code;
}

/* Room for one more: that of the share used longest ago, if there are many. */
static ti_mpi_share *take_share(ti_mpi_collectives *all, int *code)
{
    ti_mpi_share *oldest = NULL;
    for (size_t i = 0; i < all->share.count && all->share.count >= TI_MPI_SHARES; i++) {
        ti_mpi_share *s = all->share.data[i];
        if (!s->under_way && (!oldest || s->last_use < oldest->last_use)) {
            oldest = s;
        }
    }
    if (oldest) {
        *code = empty_share(all, oldest, true);
        return oldest;
    }
    ti_mpi_share *s = TI_NEW(ti_mpi_share);
    s->unit = MPI_BYTE;
    ti_vec_push(&all->share, s);
    return s;
}

static int share_of(ti_mpi_collectives *all, const ti_exchange *x, const team *t, ti_mpi_share **out)
{
    for (size_t i = 0; i < all->share.count && x->layout; i++) {
        ti_mpi_share *s = all->share.data[i];
        if (s->serial == x->what->serial && s->layout == x->layout) {
            *out = s;
            return MPI_SUCCESS;
        }
    }
    int code = MPI_SUCCESS;
    ti_mpi_share *s = take_share(all, &code);
    TI_ASSERT(!s->under_way && !s->count && !s->type && !s->reducer);
    *out = s;
    TI_MPI_TRY(code);
    s->serial = x->layout ? x->what->serial : 0;
    s->layout = x->layout;
    s->mpi = t->mpi;
    s->nodes = t->nodes;
    s->region = t->region;
    return make_share(all, x, t, s);
}

/* ---- calls */

/* What MPI looks at on the root or on the others only is given everywhere. */
static int call_slabs(ti_mpi_collectives *all, const ti_mpi_share *s, const ti_collective *what, void *at,
                      MPI_Request *r)
{
    bool even = s->way == TI_MPI_WAY_EVEN;
    int n = s->count ? s->count[0] : 0, root = what->root;
    void *mine = root == all->node ? MPI_IN_PLACE : at;
    switch (what->pattern) {
    case TI_PATTERN_ALL_GATHER:
        return even ? CALL(all, MPI_Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at, n, s->unit, s->mpi, r)
                    : CALL(all, MPI_Iallgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at, s->count, s->at, s->unit,
                           s->mpi, r);
    case TI_PATTERN_GATHER:
        return even ? CALL(all, MPI_Igather, mine, s->own, s->unit, at, n, s->unit, root, s->mpi, r)
                    : CALL(all, MPI_Igatherv, mine, s->own, s->unit, at, s->count, s->at, s->unit, root, s->mpi, r);
    case TI_PATTERN_SCATTER:
        return even ? CALL(all, MPI_Iscatter, at, n, s->unit, mine, s->own, s->unit, root, s->mpi, r)
                    : CALL(all, MPI_Iscatterv, at, s->count, s->at, s->unit, mine, s->own, s->unit, root, s->mpi, r);
    case TI_PATTERN_BROADCAST:
        return CALL(all, MPI_Ibcast, at, s->own, s->unit, root, s->mpi, r);
    case TI_PATTERN_ALL_TO_ALL:
    case TI_PATTERN_REDUCE:
    case TI_PATTERN_ALL_REDUCE:
    case TI_PATTERN_NONE:
    case TI_PATTERN_KINDS:
        break;
    }
    TI_UNREACHABLE();
}

static int call_pairs(ti_mpi_collectives *all, const ti_mpi_share *s, const ti_exchange *x, MPI_Request *r)
{
    if (!all->zeroes) {
        all->zeroes = TI_NEW_ARRAY(int, (size_t)all->nodes);
    }
    return CALL(all, MPI_Ialltoallw, address_of(all, x, 0), s->count, all->zeroes, s->type, address_of(all, x, 1),
                s->at, all->zeroes, s->type + all->nodes, s->mpi, r);
}

static int call_combine(ti_mpi_collectives *all, const ti_mpi_share *s, const ti_collective *what, void *at,
                        MPI_Request *r)
{
    MPI_Datatype type = s->reducer->type;
    MPI_Op op = s->reducer->op;
    if (what->pattern == TI_PATTERN_ALL_REDUCE) {
        return CALL(all, MPI_Iallreduce, MPI_IN_PLACE, at, s->own, type, op, s->mpi, r);
    }
    bool is_root = what->root == all->node;
    return CALL(all, MPI_Ireduce, is_root ? MPI_IN_PLACE : at, is_root ? at : NULL, s->own, type, op, what->root,
                s->mpi, r);
}

static int call_mpi(ti_mpi_collectives *all, const ti_mpi_share *s, const ti_exchange *x, ti_mpi_packing **packing,
                    MPI_Request *request)
{
    switch (s->way) {
    case TI_MPI_WAY_EVEN:
    case TI_MPI_WAY_UNEVEN:
        return call_slabs(all, s, x->what, address_of(all, x, s->first), request);
    case TI_MPI_WAY_PAIRS:
        return call_pairs(all, s, x, request);
    case TI_MPI_WAY_PACKED:
        all->call = "MPI_Ialltoall";
        return ti_mpi_packed_start(&all->packings, &s->pieces, x, s->mpi, packing, request);
    case TI_MPI_WAY_COMBINE:
        return call_combine(all, s, x->what, address_of(all, x, s->first), request);
    case TI_MPI_WAY_DIRECT:
        break;
    }
    TI_UNREACHABLE();
}

/* Few nodes of one machine, whose short messages do not go by MPI. */
static bool is_near(const ti_mpi_collectives *all, int nodes)
{
    return all->near && !all->never_packs && nodes <= NEAR_NODES;
}

/* What auto takes. Two nodes: the direct schedule has no tree to lose against, and starts faster: 0.6 us instead of 1.2
 * to 1.9 for an all-gather of 8 bytes, and never slower at any size, with Open MPI 4.1 and MPICH 4.0. The
 * transpositions of both are messages between pairs too. Near nodes: 0.4 to 1.0 of the time of MPI, and the same from
 * 256 KiB per node on, for 3, 4 and 7 nodes with Open MPI. */
static bool is_usually_by_mpi(const ti_mpi_collectives *all, int nodes, ti_pattern pattern, int size)
{
    return nodes > 2 && pattern != TI_PATTERN_ALL_TO_ALL && (!is_near(all, nodes) || size == TI_MPI_SIZES - 1);
}

/* Between two nodes, or few near ones, and of large values, messages between pairs are faster; MPI counts elements in
 * an int. */
static bool combines_by_mpi(const ti_mpi_collectives *all, const ti_exchange *x, const team *t)
{
    if (ti_box_volume(x->what->region) > INT_MAX || all->schedule == TACIT_COLLECTIVE_SCHEDULE_DIRECT) {
        return false;
    }
    return all->schedule == TACIT_COLLECTIVE_SCHEDULE_MPI || all->schedule == TACIT_COLLECTIVE_SCHEDULE_PACKED ||
           t->nodes > COMBINING_NODES ||
           (t->nodes > 2 && t->bytes / (size_t)t->nodes < COMBINING_BYTES && !is_near(all, t->nodes));
}

/* What the last of these says of two nodes, without asking for more. */
static bool combines_between_two(const ti_mpi_collectives *all, const ti_exchange *x)
{
    return all->nodes == 2 && all->schedule == TACIT_COLLECTIVE_SCHEDULE_AUTO && ti_pattern_combines(x->what->pattern);
}

static bool is_by_mpi(const ti_mpi_collectives *all, const ti_exchange *x, const team *t)
{
    if (ti_pattern_combines(x->what->pattern)) {
        return combines_by_mpi(all, x, t);
    }
    if (t->mpi == MPI_COMM_NULL || t->nodes < 2) {
        return false;
    }
    int size = ti_mpi_size_class(t->bytes / (size_t)t->nodes);
    if (all->schedule == TACIT_COLLECTIVE_SCHEDULE_AUTO) {
        return is_usually_by_mpi(all, t->nodes, x->what->pattern, size);
    }
    return all->choice.by_mpi[x->what->pattern][size] ||
           (x->what->pattern == TI_PATTERN_ALL_TO_ALL && all->choice.packed[size] && !all->never_packs);
}

int ti_mpi_collectives_start(ti_mpi_collectives *all, const ti_exchange *x, ti_mpi_operation *out, MPI_Request *request)
{
    ti_mpi_share *s;
    team t;
    *out = (ti_mpi_operation){ 0 };
    if (combines_between_two(all, x)) {
        return MPI_SUCCESS;
    }
    find_team(all, x, &t);
    if (!is_by_mpi(all, x, &t)) {
        return MPI_SUCCESS;
    }
    int code = share_of(all, x, &t, &s);
    s->last_use = ++all->clock;
    if (code || s->way == TI_MPI_WAY_DIRECT) {
        return code;
    }
    TI_MPI_TRY(call_mpi(all, s, x, &out->packing, request));
    s->under_way++;
    out->share = s;
    return MPI_SUCCESS;
}

void ti_mpi_collectives_done(ti_mpi_collectives *all, const ti_mpi_operation *operation)
{
    TI_ASSERT(operation->share && operation->share->under_way > 0);
    if (operation->packing) {
        ti_mpi_packed_done(&all->packings, operation->packing);
    }
    operation->share->under_way--;
}

/* ---- life */

int ti_mpi_collectives_init(ti_mpi_collectives *all, MPI_Comm mpi, int node, int nodes, int schedule, bool near)
{
    *all = (ti_mpi_collectives){ .mpi = mpi, .node = node, .nodes = nodes, .schedule = schedule, .near = near };
    /* Nodes whose schedules differ are told so later. */
    TI_MPI_TRY(ti_mpi_grid_init(&all->grid, mpi, node, nodes, &all->call));
    for (int s = 0; s < TI_MPI_SIZES; s++) {
        all->choice.packed[s] = schedule == TACIT_COLLECTIVE_SCHEDULE_PACKED;
        for (int p = TI_PATTERN_GATHER; p < TI_PATTERN_REDUCE; p++) {
            all->choice.by_mpi[p][s] = schedule == TACIT_COLLECTIVE_SCHEDULE_MPI ||
                                       schedule == TACIT_COLLECTIVE_SCHEDULE_PACKED;
        }
    }
    return MPI_SUCCESS;
}

int ti_mpi_collectives_fini(ti_mpi_collectives *all, bool mpi_is_up)
{
    int code = MPI_SUCCESS;
    for (size_t i = 0; i < all->share.count; i++) {
        int failed = empty_share(all, all->share.data[i], mpi_is_up && !code);
        code = code ? code : failed;
        TI_DELETE(all->share.data[i]);
    }
    if (mpi_is_up && !code) {
        code = ti_mpi_grid_fini(&all->grid, &all->call);
    }
    ti_free(all->zeroes, all->zeroes ? (size_t)all->nodes * sizeof(int) : 0);
    ti_mpi_packings_fini(&all->packings);
    ti_vec_fini(&all->share);
    ti_vec_fini(&all->boxes[0]);
    ti_vec_fini(&all->boxes[1]);
    ti_vec_fini(&all->bound);
    ti_vec_fini(&all->blocks);
    return code;
}
