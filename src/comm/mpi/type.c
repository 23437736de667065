/* Payloads as MPI datatypes: see type.h.
 *
 * A run is contiguous bytes, a block is vectors of vectors of runs (hvectors), a payload is a list of blocks (hindexed
 * if all of them are single runs, else a struct). MPI counts with int; larger numbers are vectors of a whole number of
 * parts of PART, and a rest if there is one. */
#include "comm/mpi/type.h"

#include "base/check.h"

#include <limits.h>
#include <string.h>

enum { PART = 1 << 30, WORDS_PER_BLOCK = 6 };

#define CALL(...) TI_MPI_CALL(call, __VA_ARGS__)

/* ---- building */

/* `n` elements of `type`, `stride` bytes apart. */
static int vector_create(size_t n, MPI_Aint stride, MPI_Datatype type, MPI_Datatype *out, const char **call)
{
    TI_ASSERT(n > 0 && n <= INT_MAX);
    if (type == MPI_BYTE && stride == 1) {
        return CALL(MPI_Type_contiguous, (int)n, type, out);
    }
    return CALL(MPI_Type_create_hvector, (int)n, 1, stride, type, out);
}

/* The same for any `n` up to PART * INT_MAX. */
static int long_vector_create(size_t n, MPI_Aint stride, MPI_Datatype type, MPI_Datatype *out, const char **call)
{
    if (n <= INT_MAX) {
        return vector_create(n, stride, type, out, call);
    }
    MPI_Datatype part, piece[2];
    int ones[2] = { 1, 1 };
    MPI_Aint at[2] = { 0, (MPI_Aint)(n / PART * PART) * stride };
    TI_MPI_TRY(vector_create(PART, stride, type, &part, call));
    TI_MPI_TRY(vector_create(n / PART, PART * stride, part, &piece[0], call));
    TI_MPI_TRY(CALL(MPI_Type_free, &part));
    if (n % PART == 0) {
        *out = piece[0];
        return MPI_SUCCESS;
    }
    TI_MPI_TRY(vector_create(n % PART, stride, type, &piece[1], call));
    TI_MPI_TRY(CALL(MPI_Type_create_struct, 2, ones, at, piece, out));
    TI_MPI_TRY(CALL(MPI_Type_free, &piece[0]));
    return CALL(MPI_Type_free, &piece[1]);
}

/* Replaces *type by a vector of it. */
static int repeat(size_t n, size_t stride, MPI_Datatype *type, const char **call)
{
    if (n == 1) {
        return MPI_SUCCESS;
    }
    MPI_Datatype vector;
    TI_MPI_TRY(long_vector_create(n, (MPI_Aint)stride, *type, &vector, call));
    int code = CALL(MPI_Type_free, type);
    *type = vector;
    return code;
}

static int block_create(const ti_block *b, MPI_Datatype *out, const char **call)
{
    TI_MPI_TRY(long_vector_create(b->run, 1, MPI_BYTE, out, call));
    TI_MPI_TRY(repeat(b->count[1], b->stride[1], out, call));
    return repeat(b->count[0], b->stride[0], out, call);
}

/* Signed: a later block may lie below the first. */
static MPI_Aint offset_of(const ti_payload *payload, uint32_t i)
{
    return (MPI_Aint)((intptr_t)payload->block[i].base - (intptr_t)payload->block[0].base);
}

static bool has_single_runs_only(const ti_payload *payload)
{
    bool single = true;
    for (uint32_t i = 0; i < payload->count && single; i++) {
        const ti_block *b = &payload->block[i];
        single = b->count[0] == 1 && b->count[1] == 1 && b->run <= INT_MAX;
    }
    return single;
}

static int list_create(const ti_payload *payload, int *lengths, MPI_Aint *offsets, MPI_Datatype *parts,
                       MPI_Datatype *out, const char **call)
{
    int count = (int)payload->count;
    bool runs = has_single_runs_only(payload);
    for (int i = 0; i < count; i++) {
        offsets[i] = offset_of(payload, (uint32_t)i);
        lengths[i] = runs ? (int)payload->block[i].run : 1;
        TI_MPI_TRY(runs ? MPI_SUCCESS : block_create(&payload->block[i], &parts[i], call));
    }
    if (runs) {
        return CALL(MPI_Type_create_hindexed, count, lengths, offsets, MPI_BYTE, out);
    }
    TI_MPI_TRY(CALL(MPI_Type_create_struct, count, lengths, offsets, parts, out));
    for (int i = 0; i < count; i++) {
        TI_MPI_TRY(CALL(MPI_Type_free, &parts[i]));
    }
    return MPI_SUCCESS;
}

int ti_mpi_type_create(const ti_payload *payload, MPI_Datatype *out, const char **call)
{
    TI_ASSERT(payload->count > 0 && payload->count <= INT_MAX);
    size_t n = payload->count;
    int code;
    if (n == 1) {
        code = block_create(payload->block, out, call);
    } else {
        int *lengths = ti_alloc(n * sizeof(*lengths));
        MPI_Aint *offsets = ti_alloc(n * sizeof(*offsets));
        MPI_Datatype *parts = ti_alloc(n * sizeof(*parts));
        code = list_create(payload, lengths, offsets, parts, out, call);
        ti_free(lengths, n * sizeof(*lengths));
        ti_free(offsets, n * sizeof(*offsets));
        ti_free(parts, n * sizeof(*parts));
    }
    return code ? code : CALL(MPI_Type_commit, out);
}

/* ---- the cache */

void ti_mpi_types_init(ti_mpi_types *types)
{
    *types = (ti_mpi_types){ .entry = TI_NEW_ARRAY(ti_mpi_type, TI_MPI_TYPES) };
}

int ti_mpi_types_fini(ti_mpi_types *types, bool mpi_is_up)
{
    int code = MPI_SUCCESS;
    for (int i = 0; i < types->count; i++) {
        ti_mpi_type *e = &types->entry[i];
        ti_free(e->key, e->words * sizeof(uint64_t));
        if (mpi_is_up && !code) {
            code = MPI_Type_free(&e->type);
        }
    }
    ti_free(types->entry, TI_MPI_TYPES * sizeof(ti_mpi_type));
    ti_map_fini(&types->by_hash);
    ti_vec_fini(&types->key);
    return code;
}

/* Strides of a single vector or run mean nothing and are left out of the shape. */
static void describe(ti_mpi_types *types, const ti_payload *payload)
{
    ti_vec_clear(&types->key);
    ti_vec_reserve(&types->key, (size_t)payload->count * WORDS_PER_BLOCK);
    uint64_t *word = types->key.data;
    for (uint32_t i = 0; i < payload->count; i++) {
        const ti_block *b = &payload->block[i];
        *word++ = (uint64_t)offset_of(payload, i);
        *word++ = b->run;
        *word++ = b->count[0];
        *word++ = b->count[1];
        *word++ = b->count[0] > 1 ? b->stride[0] : 0;
        *word++ = b->count[1] > 1 ? b->stride[1] : 0;
    }
    types->key.count = (size_t)payload->count * WORDS_PER_BLOCK;
}

static int oldest_of(const ti_mpi_types *types)
{
    int oldest = 0;
    for (int i = 1; i < types->count; i++) {
        oldest = types->entry[i].last_use < types->entry[oldest].last_use ? i : oldest;
    }
    return oldest;
}

/* Makes room for a shape with hash `hash`: an entry that is not in the map. */
static int entry_take(ti_mpi_types *types, uint64_t hash, int *code, const char **call)
{
    const uint64_t *same = ti_map_find(&types->by_hash, hash);
    if (!same && types->count < TI_MPI_TYPES) {
        return types->count++;
    }
    int i = same ? (int)*same : oldest_of(types);
    TI_ASSERT(i >= 0 && i < types->count);
    ti_mpi_type *e = &types->entry[i];
    ti_map_remove(&types->by_hash, e->hash, NULL);
    ti_free(e->key, e->words * sizeof(uint64_t));
    *code = CALL(MPI_Type_free, &e->type);
    return i;
}

static int entry_create(ti_mpi_types *types, uint64_t hash, const ti_payload *payload, MPI_Datatype *out,
                        const char **call)
{
    int code = MPI_SUCCESS;
    TI_MPI_TRY(ti_mpi_type_create(payload, out, call));
    types->built++;
    int i = entry_take(types, hash, &code, call);
    ti_mpi_type *e = &types->entry[i];
    *e = (ti_mpi_type){ .words = types->key.count, .hash = hash, .type = *out, .last_use = ++types->clock };
    e->key = ti_alloc(e->words * sizeof(uint64_t));
    memcpy(e->key, types->key.data, e->words * sizeof(uint64_t));
    *ti_map_at(&types->by_hash, hash) = (uint64_t)i;
    return code;
}

int ti_mpi_types_get(ti_mpi_types *types, const ti_payload *payload, MPI_Datatype *out, const char **call)
{
    TI_ASSERT(payload->count > 0 && payload->count <= TI_MPI_TYPE_BLOCKS);
    describe(types, payload);
    uint64_t hash = ti_hash_words(types->key.data, types->key.count * sizeof(uint64_t), 0);
    const uint64_t *found = ti_map_find(&types->by_hash, hash);
    ti_mpi_type *e = found ? &types->entry[*found] : NULL;
    if (!e || e->words != types->key.count || memcmp(e->key, types->key.data, e->words * sizeof(uint64_t)) != 0) {
        return entry_create(types, hash, payload, out, call);
    }
    e->last_use = ++types->clock;
    *out = e->type;
    return MPI_SUCCESS;
}
