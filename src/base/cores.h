/* Sets of cores (processing units, as the system numbers them), and which of them threads are bound to.
 *
 * A process has one set that it may use, which its contexts share: `ti_cores_of_process` says what it was before any
 * of them bound a thread, and no two contexts get the same cores to bind threads to. Any thread. */
#ifndef TI_CORES_H
#define TI_CORES_H

#include "base/macro.h"

enum { TI_MAX_CORES = 1024 };

typedef struct ti_cores {
    uint64_t word[TI_MAX_CORES / 64];
} ti_cores;

static inline void ti_cores_add(ti_cores *cores, int core)
{
    cores->word[core / 64] |= (uint64_t)1 << core % 64;
}
static inline bool ti_cores_has(const ti_cores *cores, int core)
{
    return core >= 0 && core < TI_MAX_CORES && (cores->word[core / 64] >> core % 64 & 1);
}
int ti_cores_count(const ti_cores *cores);
bool ti_cores_meet(const ti_cores *a, const ti_cores *b);

/* "0-3,8": false if the text is no such list. */
bool ti_cores_parse(const char *text, ti_cores *out);

/* What the process may use; empty if that is not known (more than TI_MAX_CORES). */
void ti_cores_of_process(ti_cores *out);

/* Of `count` processes of one machine, which may use these sets: how many have just the set that `self` has, and how
 * many of those are before it. 0: its set meets that of another without being equal, so nobody knows whose the cores
 * are. */
int ti_cores_sharing(const ti_cores *of, int count, int self, int *before);

/* A context binds threads to these cores from now on; false if another one has some of them, in this process or in
 * another one of the same user. */
bool ti_cores_take(const ti_cores *cores);
void ti_cores_give_back(const ti_cores *cores);

/* Bind the thread with this number of the system (0: the calling thread) to all of these cores. Nothing happens if the
 * system refuses, or the thread has ended. */
void ti_cores_bind(int thread, const ti_cores *cores);
void ti_cores_of_thread(ti_cores *out); /* of the calling one */
/* The system's number of the calling thread. */
int ti_cores_thread(void);

#endif
