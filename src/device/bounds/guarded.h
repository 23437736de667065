/* A guarded copy: the elements that accesses of one kernel call declare of a buffer, in a mapping of their own with
 * protected pages around them.
 *
 * Indices are right-aligned: dimension 2 is the contiguous one, so a 1D buffer is one row. Every row has pages of its
 * own. They begin where the declared columns begin, or end where these end, so that the element next to them lies in a
 * protected page; which of the two, the caller chooses each time it maps. Rows and planes without a declared element,
 * and the neighbours of all of them, are protected too. Elements that are not declared but share pages with declared
 * ones are *holes*; the caller fills them and looks whether they change. The number of mappings in a process is
 * limited: a copy with very many rows is `compact`, which has guards only around the whole and holes around each row. A
 * copy is used by one thread, but ti_guarded_locate may be called in a signal handler. */
#ifndef TI_GUARDED_H
#define TI_GUARDED_H

#include "grid/region.h"

/* What an element is; 0: a hole. */
enum { TI_GUARDED_CONTENTS = 1, TI_GUARDED_WRITABLE = 2 };

/* Where a box of the buffer really lies. */
typedef struct ti_guarded_source {
    ti_box box;
    char *data; /* its first element */
    size_t stride[3];
} ti_guarded_source;

typedef struct ti_guarded {
    /* Filled in by the caller. */
    const char *name; /* of the buffer */
    int dims;         /* of the buffer, less one if it is folded */
    int64_t fold;     /* elements of a last dimension that is part of the one before it (ti_guarded_unfold); 0: none */
    size_t elem_size;
    ti_box reach;       /* what the views that the kernel gets span; more than is declared for these items */
    ti_region contents; /* the kernel may read, so its contents are brought in */
    ti_region writable;
    TI_VEC(ti_guarded_source) sources; /* whatever is declared lies in one of them */
    bool compact;
    /* What is left of a row's pages is holes, too; else nobody looks there, because the other layout has a guard
     * there. */
    bool slack;
    /* The layout. */
    ti_box bounding; /* of what is declared */
    size_t page;
    size_t stride[3];
    int64_t slot_begin, slot_end; /* the columns of a row that are memory */
    int64_t anchor;               /* the column that lies at a page boundary */
    bool at_end;                  /* rows end there, else they begin there */
    char *map;
    size_t map_bytes;
    char *origin; /* address of the first element of `reach`, which may be protected */
} ti_guarded;

/* An element in the dimensions of the buffer, right-aligned. */
static inline void ti_guarded_unfold(const ti_guarded *copy, const int64_t at[3], int64_t out[3])
{
    int64_t fold = copy->fold, rest = fold ? (at[2] % fold + fold) % fold : at[2];
    out[0] = fold ? at[1] : at[0];
    out[1] = fold ? (at[2] - rest) / fold : at[1];
    out[2] = rest;
}
static inline int ti_guarded_buffer_dims(const ti_guarded *copy)
{
    return copy->dims + (copy->fold > 0);
}

void ti_guarded_fini(ti_guarded *copy); /* the regions; not mapped any more */
/* Rows that have pages of their own unless the copy is compact. */
int64_t ti_guarded_rows(const ti_guarded *copy);
/* Lay the copy out and map it, zeroed and writable. Becomes compact if the system does not grant the guards. False if
 * there is no memory. */
bool ti_guarded_map(ti_guarded *copy, bool at_end);
/* Nothing may be written from now on. */
void ti_guarded_seal(ti_guarded *copy);
void ti_guarded_unmap(ti_guarded *copy); /* the layout stays known */

/* Bytes from the first element of `box`, if elements are so far apart. */
static inline ptrdiff_t ti_guarded_offset(const ti_box *box, const int64_t at[3], const size_t stride[3])
{
    ptrdiff_t offset = 0;
    for (int d = 0; d < 3; d++) {
        offset += (ptrdiff_t)(at[d] - box->min[d]) * (ptrdiff_t)stride[d];
    }
    return offset;
}
static inline char *ti_guarded_address(const ti_guarded *copy, const int64_t at[3])
{
    return copy->origin + ti_guarded_offset(&copy->reach, at, copy->stride);
}
/* The real memory of a declared element. Of `count` elements of its row that are declared, so many lie side by side. */
char *ti_guarded_real(const ti_guarded *copy, const int64_t at[3], size_t *count);
/* Which element an address inside the mapping belongs to, also outside `reach`; false if it is not inside the mapping.
 * Safe in signal handlers. */
bool ti_guarded_locate(const ti_guarded *copy, const char *address, int64_t at[3]);

/* Walks over all elements that are memory, row by row, in runs of one kind. The order of declared elements is the same
 * in every layout. */
enum { TI_GUARDED_BLOCK = 1024 };
typedef struct ti_guarded_walk {
    const ti_guarded *copy;
    int64_t at[3];      /* where the next run begins */
    int64_t block, end; /* the columns that `kind` stands for */
    unsigned char kind[TI_GUARDED_BLOCK];
} ti_guarded_walk;

typedef struct ti_guarded_run {
    int64_t at[3];
    size_t count;
    int kind;
} ti_guarded_run;

void ti_guarded_walk_begin(ti_guarded_walk *walk, const ti_guarded *copy);
bool ti_guarded_walk_next(ti_guarded_walk *walk, ti_guarded_run *run);

#endif
