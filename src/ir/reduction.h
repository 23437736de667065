/* Built-in reduction operators: sizes, identities, combination. Any thread. */
#ifndef TI_REDUCTION_H
#define TI_REDUCTION_H

#include "base/macro.h"
#include "tacit/tacit.h"

size_t ti_type_size(int type);            /* bytes; 0 if there is no such type */
const char *ti_type_name(int type);
const char *ti_op_name(int kind);         /* "sum"; NULL if there is no such operator */
bool ti_op_is_valid(tacit_op op);         /* operator and type exist and go together */
void ti_op_fill_identity(tacit_op op, void *at, size_t n);
void ti_op_combine(tacit_op op, void *into, const void *from, size_t n); /* into[i] = into[i] op from[i] */

#endif
