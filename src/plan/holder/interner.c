/* Interned values: see interner.h. */
#include "plan/holder/interner.h"

#include "base/alloc.h"
#include "base/check.h"

enum { MIN_BUCKETS = 2, IDLE_KEPT = 32, MAX_SPARES = 512 };

ti_interned *ti_interner_first(const ti_interner *t, uint64_t hash)
{
    return t->buckets ? t->bucket[hash % t->buckets] : NULL;
}

static void rehash(ti_interner *t, size_t buckets)
{
    ti_interned **fresh = TI_NEW_ARRAY(ti_interned *, buckets);
    for (size_t i = 0; i < t->buckets; i++) {
        for (ti_interned *v = t->bucket[i], *next; v; v = next) {
            next = v->next;
            v->next = fresh[v->hash % buckets];
            fresh[v->hash % buckets] = v;
        }
    }
    ti_free(t->bucket, t->buckets * sizeof(*t->bucket));
    t->bucket = fresh;
    t->buckets = buckets;
}

static void drop(ti_interner *t, ti_interned *v)
{
    bool keep = t->spares < MAX_SPARES;
    t->kind->drop(v, keep);
    if (keep) {
        v->next = t->spare;
        t->spare = v;
        t->spares++;
    }
}

void *ti_interner_take(ti_interner *t, size_t size)
{
    ti_interned *v = t->spare;
    if (!v) {
        return ti_alloc_zero(size);
    }
    t->spare = v->next;
    t->spares--;
    return v;
}

/* Drop what nobody refers to and nobody asked for lately. */
static void trim(ti_interner *t)
{
    uint64_t kept = IDLE_KEPT + t->kind->per_referred * t->referred, since = t->clock > kept ? t->clock - kept : 0;
    if (t->kind->trimming) {
        t->kind->trimming(t, since);
    }
    t->referred = 0;
    for (size_t i = 0; i < t->buckets; i++) {
        for (ti_interned **at = &t->bucket[i]; *at;) {
            ti_interned *v = *at;
            t->referred += v->refs > 0;
            if (ti_interner_drops(v, since)) {
                *at = v->next;
                t->count--;
                drop(t, v);
            } else {
                at = &v->next;
            }
        }
    }
}

void ti_interner_add(ti_interner *t, ti_interned *v, uint64_t hash)
{
    if (t->count > 2 * IDLE_KEPT && t->clock >= t->next_trim) {
        trim(t);
        t->next_trim = t->clock + IDLE_KEPT + t->count; /* what is in use is not searched for every time */
    }
    if (2 * t->count >= t->buckets) {
        rehash(t, t->buckets ? 2 * t->buckets : MIN_BUCKETS);
    }
    TI_ASSERT(v->refs == 0 && t->buckets > t->count);
    v->hash = hash;
    v->next = t->bucket[hash % t->buckets];
    t->bucket[hash % t->buckets] = v;
    t->count++;
}

void ti_interner_fini(ti_interner *t)
{
    for (size_t i = 0; i < t->buckets; i++) {
        for (ti_interned *v = t->bucket[i], *next; v; v = next) {
            next = v->next;
            t->kind->drop(v, false);
        }
    }
    for (ti_interned *v = t->spare, *next; v; v = next) {
        next = v->next;
        t->kind->drop(v, false);
    }
    ti_free(t->bucket, t->buckets * sizeof(*t->bucket));
}
