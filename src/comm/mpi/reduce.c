/* Reduction operators as MPI knows them: see reduce.h. */
#include "comm/mpi/reduce.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdatomic.h>
#include <string.h>

#define CALL TI_MPI_CALL

enum { SCRATCH_BYTES = 4096 };

/* ---- MPI's own */

static MPI_Datatype type_of(int type)
{
    const MPI_Datatype types[] = {
        [TACIT_INT8] = MPI_INT8_T,     [TACIT_INT16] = MPI_INT16_T,   [TACIT_INT32] = MPI_INT32_T,
        [TACIT_INT64] = MPI_INT64_T,   [TACIT_UINT8] = MPI_UINT8_T,   [TACIT_UINT16] = MPI_UINT16_T,
        [TACIT_UINT32] = MPI_UINT32_T, [TACIT_UINT64] = MPI_UINT64_T, [TACIT_FLOAT] = MPI_FLOAT,
        [TACIT_DOUBLE] = MPI_DOUBLE
    };
    TI_ASSERT(type >= TACIT_INT8 && type <= TACIT_DOUBLE);
    return types[type];
}

/* MPICH 4.0 compares unsigned numbers as if they were signed. */
#if defined(OPEN_MPI)
enum { ORDERS_UNSIGNED = true };
#else
enum { ORDERS_UNSIGNED = false };
#endif

/* Whether MPI_MIN and MPI_MAX are what tacit says they are. */
static bool orders(int type)
{
    bool is_unsigned = type >= TACIT_UINT8 && type <= TACIT_UINT64;
    return type != TACIT_FLOAT && type != TACIT_DOUBLE && (ORDERS_UNSIGNED || !is_unsigned);
}

/* MPI_OP_NULL: ours. */
static MPI_Op op_of(tacit_op op)
{
    const MPI_Op ops[] = {
        [TACIT_OP_SUM] = MPI_SUM,  [TACIT_OP_PRODUCT] = MPI_PROD, [TACIT_OP_MIN] = MPI_MIN, [TACIT_OP_MAX] = MPI_MAX,
        [TACIT_OP_AND] = MPI_BAND, [TACIT_OP_OR] = MPI_BOR,       [TACIT_OP_XOR] = MPI_BXOR
    };
    bool differs = op.kind == TACIT_OP_SUM ? ti_type_size(op.type) < 4
                                           : (op.kind == TACIT_OP_MIN || op.kind == TACIT_OP_MAX) && !orders(op.type);
    TI_ASSERT(op.kind >= TACIT_OP_SUM && op.kind <= TACIT_OP_XOR);
    return differs ? MPI_OP_NULL : ops[op.kind];
}

/* ---- ours */

/* The key of the attribute: one for the process, as long as MPI lives. */
static _Atomic int attribute = MPI_KEYVAL_INVALID;

static int open_attribute(const char **call)
{
    int fresh = MPI_KEYVAL_INVALID, none = MPI_KEYVAL_INVALID;
    if (atomic_load(&attribute) != MPI_KEYVAL_INVALID) {
        return MPI_SUCCESS;
    }
    TI_MPI_TRY(CALL(call, MPI_Type_create_keyval, MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &fresh, NULL));
    bool is_first = atomic_compare_exchange_strong(&attribute, &none, fresh);
    return is_first ? MPI_SUCCESS : CALL(call, MPI_Type_free_keyval, &fresh);
}

/* inout = in op inout: what is in `in` comes from nodes before. */
static void combine(void *in, void *inout, int *len, MPI_Datatype *type)
{
    ti_mpi_reducer *r = NULL;
    int found = 0;
    if (MPI_Type_get_attr(*type, atomic_load(&attribute), &r, &found) != MPI_SUCCESS || !found) {
        TI_PANIC("MPI does not know the operator of a reduction any more (MPI_Type_get_attr)");
    }
    for (size_t at = 0, n; at < (size_t)*len; at += n) {
        char *to = (char *)inout + at * r->elem_size;
        n = TI_MIN(r->at_once, (size_t)*len - at);
        memcpy(r->scratch, (char *)in + at * r->elem_size, n * r->elem_size);
        ti_reducer_combine(&r->reducer, r->scratch, to, n);
        memcpy(to, r->scratch, n * r->elem_size);
    }
}

static int open_own(ti_mpi_reducer *r, const char **call)
{
    r->own = true;
    r->elem_size = r->reducer.user ? r->reducer.user->desc.elem_size : ti_type_size(r->reducer.op.type);
    TI_ASSERT(r->elem_size > 0);
    r->at_once = TI_MAX(SCRATCH_BYTES / r->elem_size, (size_t)1);
    r->scratch = ti_alloc(r->at_once * r->elem_size);
    TI_MPI_TRY(open_attribute(call));
    TI_MPI_TRY(CALL(call, MPI_Type_contiguous, (int)r->elem_size, MPI_BYTE, &r->type));
    TI_MPI_TRY(CALL(call, MPI_Type_commit, &r->type));
    TI_MPI_TRY(CALL(call, MPI_Type_set_attr, r->type, atomic_load(&attribute), r));
    return CALL(call, MPI_Op_create, combine, 0, &r->op);
}

/* ---- */

int ti_mpi_reducer_open(const ti_reducer *reducer, ti_mpi_reducer **out, const char **call)
{
    ti_mpi_reducer *r = *out = TI_NEW(ti_mpi_reducer);
    r->reducer = *reducer;
    r->type = MPI_DATATYPE_NULL;
    r->op = reducer->user ? MPI_OP_NULL : op_of(reducer->op);
    if (r->op == MPI_OP_NULL) {
        return open_own(r, call);
    }
    r->type = type_of(reducer->op.type);
    return MPI_SUCCESS;
}

int ti_mpi_reducer_close(ti_mpi_reducer *r, bool mpi_is_up, const char **call)
{
    int code = MPI_SUCCESS;
    if (r->own && mpi_is_up && r->op != MPI_OP_NULL) {
        code = CALL(call, MPI_Op_free, &r->op);
    }
    if (!code && r->own && mpi_is_up && r->type != MPI_DATATYPE_NULL) {
        code = CALL(call, MPI_Type_free, &r->type);
    }
    ti_free(r->scratch, r->at_once * r->elem_size);
    TI_DELETE(r);
    return code;
}
