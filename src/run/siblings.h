/* Contexts that one thread has at the same time, and whose work it does itself (inline).
 *
 * A thread that waits in one of them does nothing for the others, although other nodes may wait for it there: that is
 * found and reported. Only contexts of several nodes have such waits. Any thread; a context belongs to the thread that
 * created it. */
#ifndef TI_SIBLINGS_H
#define TI_SIBLINGS_H

#include "base/macro.h"

#include <pthread.h>

enum { TI_SIBLINGS_SECONDS = 2 };

typedef struct ti_siblings_member {
    struct ti_siblings_member *next, *previous;
    pthread_t thread;
    bool (*is_behind)(const void *user); /* whether it has work that is not done; NULL: has not joined */
    const void *user;
    bool told;
} ti_siblings_member;

void ti_siblings_join(ti_siblings_member *member, bool (*is_behind)(const void *user), const void *user);
void ti_siblings_leave(ti_siblings_member *member); /* also one that has not joined */
/* The calling thread has waited for TI_SIBLINGS_SECONDS in this one: say once if another has work that is not done. */
void ti_siblings_look(ti_siblings_member *member);

#endif
