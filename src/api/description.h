/* Descriptions of tasks as words, for the table of shapes (api/shapes.h): written down, compared by value, hashed.
 *
 * Everything but the bytes of arguments counts; one list says so (`fields` in description.c). The description of a
 * form leaves out node, buffers and boxes. Application thread. */
#ifndef TI_DESCRIPTION_H
#define TI_DESCRIPTION_H

#include "base/arena.h"
#include "tacit/tacit.h"

/* What a description's words depend on. */
typedef struct ti_measures {
    uint32_t accesses;
    bool has_form;        /* there may be a form of it */
    size_t name, weights; /* bytes */
    size_t others;        /* bytes of the kernel's other entries than that of the host; 0: it has none */
    uint64_t hash;        /* 0: it is not kept; whoever asks sets it */
    uint64_t form_hash;   /* likewise, if there may be a form */
} ti_measures;

ti_measures ti_description_measure(const tacit_task *t, int num_nodes); /* without hashes */
/* Whether it has any other entry of the kernel than that of the host. */
bool ti_description_has_others(const tacit_task *t);
size_t ti_description_words(const ti_measures *m); /* at most */
uint64_t *ti_description_write(const tacit_task *t, const ti_measures *m, bool of_form, ti_arena *arena);
/* Whether these words were written of such a description. */
bool ti_description_is(const tacit_task *t, const ti_measures *m, uint64_t *word, bool of_form);
/* Of what nearly always tells descriptions apart; not 0. */
uint64_t ti_description_hash(const tacit_task *t, const ti_measures *m);
uint64_t ti_description_form_hash(const tacit_task *t, const ti_measures *m);

/* What a description has of a form, as it lies there: where that is equal, so are the fields. Whoever writes
 * descriptions field by field may leave anything in between; then the fields are compared. */
typedef struct ti_form_bytes {
    tacit_range range;
    size_t offset[TACIT_MAX_DIMS];
    tacit_kernel kernel;
    struct {
        size_t args_size;
        tacit_on on;
        int place;
    } middle;
    char rest[sizeof(tacit_task) - offsetof(tacit_task, hint)];
    uint64_t access[TACIT_MAX_ACCESSES]; /* tile_fields */
    ti_measures of;
    const char *name; /* "": none */
    bool args;
} ti_form_bytes;

/* They are kept in the arena; `of` is all of the measures. */
const ti_form_bytes *ti_form_bytes_take(const tacit_task *t, const ti_measures *m, ti_arena *arena);
/* Whether the description has them. If so it has the form; if not, its fields may be the same. */
bool ti_form_bytes_are(const tacit_task *t, const ti_form_bytes *b);

/* All of a description that counts, as it lies there: where that is equal, so are all fields. */
typedef struct ti_task_bytes {
    int64_t low;      /* of the first access's mapper: tiles often differ in it */
    const char *name; /* "": none */
    size_t accesses, head_bytes;
    /* From the kernel to the end. In it is the address of arguments, of which counts only whether there are any: that
     * of the latest description. */
    char tail[sizeof(tacit_task) - offsetof(tacit_task, kernel)];
    char head[]; /* from the range to the last access */
} ti_task_bytes;

/* They are kept in the arena; NULL: they do not tell all, since there are weights. */
ti_task_bytes *ti_task_bytes_take(const tacit_task *t, const ti_measures *m, ti_arena *arena);
size_t ti_task_bytes_size(const ti_measures *m);
/* Whether the description has them. If not, its fields may be the same. First a look that costs nothing. */
static inline bool ti_task_bytes_may_be(const tacit_task *t, const ti_task_bytes *b)
{
    return t->access[0].mapper.c[0].lo == b->low;
}
bool ti_task_bytes_are(const tacit_task *t, ti_task_bytes *b);

static inline uint64_t ti_pair(int64_t a, int64_t b)
{
    return (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
}
static inline uint64_t ti_address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

#endif
