/* Distributions in the API: see owners.h. The mapper: any thread.
 *
 * What every node owns is written down as an access like any other, so that versions and transfers need to know nothing
 * of distributions. A block distribution is one-to-one over a split of the buffer. A cyclic one is a custom mapper over
 * an imaginary range in which node q has the items [q * places, (q + 1) * places), one for each block that it may have.
 * Equal distributions share one mapper: so a reader that has the writer's distribution is known to lack nothing. */
#include "api/owners.h"

#include "base/check.h"
#include "ir/custom.h"

#include <string.h>

enum { MAX_BLOCKS_BITS = 24 };

/* ---- checks */

static tacit_status check_grid(tacit_context *ctx, const char *who, const tacit_distribution *d, int dims)
{
    int64_t nodes = 1;
    bool any = d->grid[0] || d->grid[1] || d->grid[2];
    for (int k = 0; any && k < TACIT_MAX_DIMS; k++) {
        if (d->grid[k] < 0 || (k < dims && d->grid[k] == 0) || (k >= TI_MAX(dims, 1) && d->grid[k] > 1)) {
            return ti_context_error(
                ctx, TACIT_ERROR_DIMENSION,
                "%s: the distribution's grid has %d nodes in dimension %d; give at least 1 for each of the %d "
                "dimensions, or all 0",
                who, d->grid[k], k, dims);
        }
        nodes *= TI_MAX(d->grid[k], 1);
        if (nodes > tacit_num_nodes(ctx)) {
            return ti_context_error(
                ctx, TACIT_ERROR_RANGE,
                "%s: the distribution's grid %d x %d x %d has more nodes than the run, which has %d", who, d->grid[0],
                TI_MAX(d->grid[1], 1), TI_MAX(d->grid[2], 1), tacit_num_nodes(ctx));
        }
    }
    return TACIT_OK;
}

static tacit_status check_blocks(tacit_context *ctx, const char *who, const tacit_distribution *given,
                                 const ti_box *extent)
{
    int64_t places = 1;
    for (int k = 0; k < TACIT_MAX_DIMS; k++) {
        int64_t block = (int64_t)TI_MAX(given->block[k], (size_t)1), grid = TI_MAX(given->grid[k], 1);
        int64_t blocks = given->block[k] > (size_t)INT64_MAX / 2 ? 1 : (extent->max[k] - 1) / block + 1;
        if (given->kind == TACIT_DISTRIBUTE_BLOCK && blocks < grid && k > 0) {
            return ti_context_error(
                ctx, TACIT_ERROR_RANGE,
                "%s: the distribution's grid has %lld nodes in dimension %d, but there are only %lld blocks; use a "
                "smaller grid or block",
                who, (long long)grid, k, (long long)blocks);
        }
        bool many = __builtin_mul_overflow(places, blocks, &places) || places > (int64_t)1 << MAX_BLOCKS_BITS;
        if (given->kind == TACIT_DISTRIBUTE_CYCLIC && many) {
            return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                    "%s: the cyclic distribution has more than 2^%d blocks; use larger blocks", who,
                                    MAX_BLOCKS_BITS);
        }
    }
    return TACIT_OK;
}

tacit_status ti_check_distribution(tacit_context *ctx, const char *who, const tacit_distribution *given, int dims,
                                   const ti_box *extent)
{
    if (!given) {
        return TACIT_OK;
    }
    if (given->kind != TACIT_DISTRIBUTE_BLOCK && given->kind != TACIT_DISTRIBUTE_CYCLIC) {
        return ti_context_error(
            ctx, TACIT_ERROR_ARGUMENT,
            "%s: there is no distribution of kind %d; use TACIT_DISTRIBUTE_BLOCK or TACIT_DISTRIBUTE_CYCLIC", who,
            given->kind);
    }
    TI_TRY(check_grid(ctx, who, given, dims));
    return check_blocks(ctx, who, given, extent);
}

/* ---- distributions as accesses */

typedef struct owner_map {
    ti_distribution distribution;
    int64_t nodes;
} owner_map;

/* The mapper of a cyclic distribution. Holders know it by its address, so it stays when it has ended, without a map. */
struct ti_owners {
    ti_custom_mapper mapper; /* whose `user` is an owner_map */
    ti_owners *next;
    size_t users; /* buffers */
};

/* No handle of the program's. */
enum { NO_HANDLE = -1, MAX_UNUSED = 16 };

static void add_block(tacit_region *out, const ti_box *b)
{
    if (!ti_box_is_empty(b)) {
        tacit_region_add(out, ti_box_to_public(b));
    }
}

static void map_owners(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const owner_map *o = user;
    int64_t places = ti_distribution_places(&o->distribution);
    (void)range;
    if (chunk->max[0] - chunk->min[0] == (size_t)(places * o->nodes)) {
        add_block(out, &o->distribution.extent);
        return;
    }
    TI_ASSERT(chunk->max[0] <= (size_t)(places * o->nodes));
    for (size_t c = chunk->min[0]; c < chunk->max[0]; c++) {
        ti_box block = ti_distribution_block(&o->distribution, (int)((int64_t)c / places), (int64_t)c % places);
        add_block(out, &block);
    }
}

/* Where in the list an equal map is; NULL: nowhere. */
static ti_owners **find_owners(ti_owners **list, const owner_map *wanted)
{
    for (ti_owners **at = list; *at; at = &(*at)->next) {
        if (memcmp((*at)->mapper.user, wanted, sizeof(*wanted)) == 0) {
            return at;
        }
    }
    return NULL;
}

static void move_to(ti_owners **list, ti_owners **at)
{
    ti_owners *moved = *at;
    *at = moved->next;
    moved->next = *list;
    *list = moved;
}

static ti_owners *new_owners(const owner_map *map)
{
    ti_owners *owners = TI_NEW(ti_owners);
    owners->mapper = (ti_custom_mapper){ .fn = map_owners,
                                         .user = memcpy(ti_alloc(sizeof(*map)), map, sizeof(*map)),
                                         .user_size = sizeof(*map),
                                         .handle = NO_HANDLE,
                                         .answers = ti_custom_answers_create() };
    return owners;
}

/* Buffers with equal distributions share them. */
static const ti_custom_mapper *mapper_of(tacit_context *ctx, tacit_buffer *buffer, const ti_distribution *distribution)
{
    if (!buffer->owners) {
        owner_map wanted;
        memset(&wanted, 0, sizeof(wanted));
        wanted.distribution = *distribution;
        wanted.nodes = tacit_num_nodes(ctx);
        ti_owners **used = find_owners(&ctx->owners, &wanted);
        ti_owners **unused = used ? NULL : find_owners(&ctx->unused_owners, &wanted);
        if (!used && !unused) {
            ti_owners *fresh = new_owners(&wanted);
            move_to(&ctx->owners, &fresh);
        } else if (unused) {
            move_to(&ctx->owners, unused);
        }
        buffer->owners = used ? *used : ctx->owners;
        buffer->owners->users++;
    }
    return &buffer->owners->mapper;
}

static void end_map(ti_owners *owners)
{
    ti_free(owners->mapper.user, owners->mapper.user ? owners->mapper.user_size : 0);
    ti_custom_answers_destroy(owners->mapper.answers);
    owners->mapper.user = NULL;
    owners->mapper.answers = NULL;
}

/* Some are kept, latest first: programs make buffers with the same distribution again and again. */
void ti_release_owners(tacit_context *ctx, tacit_buffer *buffer)
{
    ti_owners *owners = buffer->owners, **at = &ctx->owners;
    buffer->owners = NULL;
    TI_ASSERT(!owners || owners->users > 0);
    if (!owners || --owners->users) {
        return;
    }
    while (*at != owners) {
        at = &(*at)->next;
        TI_ASSERT(*at); /* who has users is in the list */
    }
    move_to(&ctx->unused_owners, at);
    at = &ctx->unused_owners;
    for (int i = 0; i < MAX_UNUSED && *at; i++) {
        at = &(*at)->next;
    }
    if (*at) {
        end_map(*at);
        move_to(&ctx->ended_owners, at);
    }
}

void ti_free_all_owners(tacit_context *ctx)
{
    ti_owners **list[] = { &ctx->owners, &ctx->unused_owners, &ctx->ended_owners };
    for (size_t i = 0; i < TI_COUNT(list); i++) {
        while (*list[i]) {
            ti_owners *first = *list[i];
            *list[i] = first->next;
            end_map(first);
            TI_DELETE(first);
        }
    }
}

void ti_distribution_shape(tacit_context *ctx, ti_shape *shape, ti_arena *arena, tacit_buffer *buffer, int mode)
{
    const ti_distribution distribution = ti_buffer_distribution(buffer), *d = &distribution;
    bool cyclic = d->cyclic;
    tacit_mapper mapper = cyclic ? tacit_custom(0) : tacit_one_to_one();
    ti_mapper part[TI_MAPPER_PARTS];
    ti_access *access = TI_ARENA_NEW(arena, ti_access);
    *access = (ti_access){ .buffer = buffer->info, .mode = mode, .mappers = 1 };
    ti_mapper_expand(&mapper, buffer->info->dims, part);
    access->mapper = ti_arena_copy(arena, part, sizeof(part[0]));
    access->custom = cyclic ? mapper_of(ctx, buffer, d) : NULL;
    shape->access = access;
    shape->accesses = 1;
    shape->place = -1;
    shape->oversubscribe = cyclic ? (int)ti_distribution_places(d) : 1;
    shape->dims = cyclic ? 1 : buffer->info->dims;
    shape->range = cyclic ? (ti_box){ { 0, 0, 0 }, { ti_distribution_places(d) * tacit_num_nodes(ctx), 1, 1 } }
                          : d->extent;
    for (int k = 0; k < 3; k++) {
        shape->gran[k] = cyclic ? 1 : d->block[k];
        shape->grid[k] = cyclic ? 0 : d->grid[k];
    }
    ti_shape_fill_footprints(shape, arena);
}

ti_user_copy ti_distribution_copy(const tacit_context *ctx, ti_arena *arena, const tacit_buffer *buffer,
                                  const void *memory)
{
    ti_local_pieces pieces = { 0 };
    const ti_distribution distribution = ti_buffer_distribution(buffer);
    ti_distribution_pieces(&distribution, tacit_node(ctx), &pieces);
    ti_user_copy copy = { .memory = (void *)(uintptr_t)memory,
                          .piece = ti_arena_copy(arena, pieces.data, pieces.count * sizeof(*pieces.data)),
                          .pieces = pieces.count };
    ti_vec_fini(&pieces);
    return copy;
}

int ti_distribution_place(const tacit_buffer *buffer, const ti_access *access, const ti_box *items)
{
    ti_boxes image = { 0 };
    ti_access_image(access, items, &image);
    ti_box around = ti_boxes_bounding(image.data, image.count);
    ti_vec_fini(&image);
    const ti_distribution distribution = ti_buffer_distribution(buffer);
    return ti_distribution_owner(&distribution, around.min);
}

/* ---- questions of the program */

static tacit_status resolve(tacit_context *ctx, const char *who, const tacit_distribution *given, tacit_range range,
                            ti_distribution *out)
{
    static const tacit_distribution none;
    ti_box extent;
    TI_TRY(ti_context_enter(ctx));
    TI_TRY(ti_check_extent(ctx, who, range, 1, &extent));
    TI_TRY(ti_check_distribution(ctx, who, given, range.dims, &extent));
    *out = ti_distribution_make(given ? given : &none, &extent, tacit_num_nodes(ctx));
    return TACIT_OK;
}

static ti_box around(const ti_distribution *d, int node)
{
    ti_local_pieces pieces = { 0 };
    ti_box box = { { 0, 0, 0 }, { 0, 0, 0 } };
    ti_distribution_pieces(d, node, &pieces);
    for (size_t i = 0; i < pieces.count; i++) {
        box = i == 0 ? pieces.data[i].box : ti_box_bounding(&box, &pieces.data[i].box);
    }
    ti_vec_fini(&pieces);
    return box;
}

tacit_status tacit_distribution_local(tacit_context *ctx, const tacit_distribution *distribution, tacit_range range,
                                      int node, tacit_box *box, tacit_range *local)
{
    ti_distribution d;
    TI_TRY(ti_check_handle(ctx, "tacit_distribution_local"));
    TI_TRY(resolve(ctx, "tacit_distribution_local", distribution, range, &d));
    if (node < 0 || node >= tacit_num_nodes(ctx)) {
        return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                "tacit_distribution_local: there is no node %d; the run has nodes 0 to %d", node,
                                tacit_num_nodes(ctx) - 1);
    }
    int64_t size[3];
    ti_distribution_local(&d, node, size);
    if (box) {
        ti_box b = around(&d, node);
        *box = ti_box_to_public(&b);
    }
    if (local) {
        *local = (tacit_range){ .size = { (size_t)size[0], (size_t)size[1], (size_t)size[2] }, .dims = range.dims };
    }
    return TACIT_OK;
}

tacit_status tacit_distribution_owner(tacit_context *ctx, const tacit_distribution *distribution, tacit_range range,
                                      size_t i, size_t j, size_t k, int *node)
{
    ti_distribution d;
    const size_t index[3] = { i, j, k };
    int64_t at[3];
    TI_TRY(ti_check_handle(ctx, "tacit_distribution_owner"));
    TI_TRY(resolve(ctx, "tacit_distribution_owner", distribution, range, &d));
    if (!node) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_distribution_owner: node is NULL");
    }
    for (int a = 0; a < 3; a++) {
        if (index[a] >= (size_t)d.extent.max[a]) {
            return ti_context_error(
                ctx, TACIT_ERROR_RANGE,
                "tacit_distribution_owner: index %zu in dimension %d leaves the range, which is [0,%lld) there",
                index[a], a, (long long)d.extent.max[a]);
        }
        at[a] = (int64_t)index[a];
    }
    *node = ti_distribution_owner(&d, at);
    return TACIT_OK;
}
