/* Interned values: equal values are one object, so that they are compared by pointer and what follows from them is
 * computed once.
 *
 * A hash table with chains. Values are counted by those who refer to them. Some that nobody refers to are kept, because
 * loops ask for them again. What is found depends on values only, never on addresses. Scheduler thread. */
#ifndef TI_INTERNER_H
#define TI_INTERNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of what is interned. */
typedef struct ti_interned {
    uint64_t hash;
    struct ti_interned *next;
    uint64_t last_use;
    uint32_t refs;
} ti_interned;

typedef struct ti_interner {
    ti_interned **bucket;
    size_t buckets, count;
    uint64_t clock, next_trim;
    uint64_t trims;        /* values go only when this changes */
    uint32_t per_referred; /* so many more are kept for each that somebody refers to */
    uint64_t referred;     /* when it was trimmed last */
    ti_interned *spare;    /* whose memory serves again: loops over many tiles need new values all the time */
    size_t spares;
    void (*drop)(ti_interned *value, bool keep_memory); /* the value goes; its memory too, unless it is kept */
} ti_interner;

/* The values go, also those that somebody still refers to. */
void ti_interner_fini(ti_interner *t);

/* The first of the values that may have this hash; the others follow by `next`. */
ti_interned *ti_interner_first(const ti_interner *t, uint64_t hash);
/* Memory for a value of this size: zeroed, or what `drop` left of another. */
void *ti_interner_take(ti_interner *t, size_t size);
/* A value that was not found is one from now on. */
void ti_interner_add(ti_interner *t, ti_interned *value, uint64_t hash);

#endif
