/* Reduction operators, built in and the program's own: sizes, identities, combination. Any thread. */
#ifndef TI_REDUCTION_H
#define TI_REDUCTION_H

#include "base/macro.h"
#include "tacit/tacit.h"

size_t ti_type_size(int type); /* bytes; 0 if there is no such type */
const char *ti_type_name(int type);
const char *ti_op_name(int kind); /* "sum"; NULL if there is no such operator */
bool ti_op_is_valid(tacit_op op); /* a built-in operator, and the type goes with it */

/* An operator of the program's. Lives as long as the context, since networks know it by its address. */
typedef struct ti_user_op {
    tacit_op_desc desc; /* with copies of identity and user bytes, until it is destroyed and no task uses it any more */
    bool destroyed;     /* by the program */
} ti_user_op;

/* An operator that is ready for use. */
typedef struct ti_reducer {
    tacit_op op;
    const ti_user_op *user; /* NULL: built in */
} ti_reducer;

void ti_reducer_fill_identity(const ti_reducer *r, void *at, size_t n);
void ti_reducer_combine(const ti_reducer *r, void *into, const void *from, size_t n); /* into[i] = into[i] op from[i] */

#endif
