/* A submission as a value: what all nodes must agree on when a program submits something, and nothing else.
 *
 * A plain record without pointers, so that nodes can compare and exchange it: what kind of call it was, its name, range
 * and sizes, and per access the buffer (by order of creation), mode and mapper. Addresses differ between nodes and are
 * left out: kernels, contents, the functions of custom mappers, which count by order of creation. The bytes of
 * arguments count only for tasks that ask for it (`hash_args`). What changes neither messages nor results is left out
 * too, such as priorities. Unused bytes are zero. Two records with equal hashes count as equal. Any thread. */
#ifndef TI_SUBMISSION_H
#define TI_SUBMISSION_H

#include "base/strbuf.h"
#include "ir/task.h"

#include <stddef.h>
#include <string.h>

typedef enum ti_submission_kind {
    TI_SUBMITTED_SETTINGS, /* what planning depends on: comes first */
    TI_SUBMITTED_TASK,
    TI_SUBMITTED_FENCE,
    TI_SUBMITTED_WAIT,
    TI_SUBMITTED_FLUSH,
    TI_SUBMITTED_CREATE,
    TI_SUBMITTED_DESTROY,
    TI_SUBMITTED_MAPPER,
    TI_SUBMITTED_OPERATOR,
    TI_SUBMITTED_OWNERS, /* comes before the buffer */
    TI_SUBMITTED_FINALIZE,
    TI_SUBMITTED_RETUNE,
    TI_SUBMITTED_WEIGHTS, /* number: how many; bytes: their hash */
    TI_SUBMITTED_RESIZE,
    TI_SUBMITTED_BARRIER
} ti_submission_kind;

enum { TI_SUBMISSION_NAME = 24, TI_SUBMITTED_PURE = 1 << 16 };

typedef struct ti_submission {
    uint64_t hash; /* of all that follows `id` */
    uint64_t id;   /* of the task; horizons are counted, as in graphs */
    uint32_t kind, accesses;
    char name[TI_SUBMISSION_NAME]; /* of the task or the buffer; its beginning, without a 0 if it is longer */
    ti_box box;                    /* range of the task, box of the fence, extent of the buffer */
    uint32_t dims, name_rest;      /* hash of what `name` has no room for */
    uint64_t bytes;                /* size of arguments, of an element, of the user's data */
    uint32_t args, split;          /* hashes: argument bytes; granularity, parts, weights */
    int32_t place;
    uint32_t where;  /* .on, and TI_SUBMITTED_PURE; properties of a mapper or an operator */
    uint64_t number; /* of a mapper or an operator; hash of host objects; whether a buffer has contents; settings */
    uint64_t window; /* the hint of a task */
    struct ti_submission_access {
        uint32_t buffer; /* number by creation, from 1 */
        uint32_t mapper; /* hash */
        uint32_t mode;
        uint32_t op; /* hash of operator and include_old */
    } access[TACIT_MAX_ACCESSES];
} ti_submission;

/* Of what is about to be submitted; a horizon is one that the program asks for. The shape of a fence, or of tasks whose
 * arguments do not count, may keep what all of them have in common (ti_shape::submission). */
void ti_submission_of_shape(const ti_shape *shape, int num_nodes, ti_submission *out);
void ti_submission_of_task(const ti_task *task, int num_nodes, ti_submission *out);
/* The bytes of a record that matter: it ends with its last access. */
static inline size_t ti_submission_size(const ti_submission *s)
{
    return offsetof(ti_submission, access) + s->accesses * sizeof(s->access[0]);
}
static inline void ti_submission_copy(ti_submission *to, const ti_submission *from)
{
    memcpy(to, from, ti_submission_size(from));
}
/* Of other calls. */
void ti_submission_of_call(ti_submission_kind kind, uint64_t number, uint64_t bytes, unsigned properties,
                           ti_submission *out);

/* Append what a node did, as in "submitted task 17 'smooth' over [0,512)". */
void ti_submission_describe(const ti_submission *s, ti_strbuf *out);

/* The name of a buffer by its number, or NULL if it is not known any more. */
typedef const char *ti_buffer_name(void *user, uint32_t number);

/* Append in what two submissions of one kind differ, as in "the mapper of access 2 (buffer 'U')"; nothing if they do
 * not. */
void ti_submission_difference(const ti_submission *a, const ti_submission *b, ti_buffer_name *name, void *user,
                              ti_strbuf *out);

#endif
