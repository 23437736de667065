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

typedef struct ti_interner ti_interner;

/* What values are of. */
typedef struct ti_interner_kind {
    void (*drop)(ti_interned *value, bool keep_memory); /* the value goes; its memory too, unless it is kept */
    /* Before some values go (ti_interner_drops): who points to them without a reference lets go of them; or NULL. */
    void (*trimming)(ti_interner *t, uint64_t since);
    uint32_t per_referred; /* so many more are kept for each that somebody refers to */
} ti_interner_kind;

struct ti_interner {
    const ti_interner_kind *kind;
    ti_interned **bucket;
    size_t buckets, count;
    uint64_t clock, next_trim;
    uint64_t referred;  /* when it was trimmed last */
    ti_interned *spare; /* whose memory serves again: loops over many tiles need new values all the time */
    size_t spares;
};

/* Nobody refers to the value, and nobody has asked for it since then. */
static inline bool ti_interner_drops(const ti_interned *v, uint64_t since)
{
    return v->refs == 0 && v->last_use < since;
}

/* The values go, also those that somebody still refers to. */
void ti_interner_fini(ti_interner *t);

/* The first of the values that may have this hash; the others follow by `next`. */
ti_interned *ti_interner_first(const ti_interner *t, uint64_t hash);
/* Memory for a value of this size: zeroed, or what `drop` left of another. */
void *ti_interner_take(ti_interner *t, size_t size);
/* A value that was not found is one from now on. */
void ti_interner_add(ti_interner *t, ti_interned *value, uint64_t hash);

#endif
