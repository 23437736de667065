/* Contexts of one thread: see siblings.h. */
#include "run/siblings.h"

#include "base/park.h"

/* All that have joined, of all threads; the lock is held for a few instructions. */
static struct {
    ti_lock lock;
    ti_siblings_member *first;
} siblings;

void ti_siblings_join(ti_siblings_member *m, bool (*is_behind)(const void *user), const void *user)
{
    *m = (ti_siblings_member){ .thread = pthread_self(), .is_behind = is_behind, .user = user };
    ti_lock_take(&siblings.lock);
    m->next = siblings.first;
    if (m->next) {
        m->next->previous = m;
    }
    siblings.first = m;
    ti_lock_drop(&siblings.lock);
}

void ti_siblings_leave(ti_siblings_member *m)
{
    if (!m->is_behind) {
        return;
    }
    ti_lock_take(&siblings.lock);
    *(m->previous ? &m->previous->next : &siblings.first) = m->next;
    if (m->next) {
        m->next->previous = m->previous;
    }
    ti_lock_drop(&siblings.lock);
    m->is_behind = NULL;
}

bool ti_siblings_are_behind(const ti_siblings_member *member)
{
    bool any = false;
    ti_lock_take(&siblings.lock);
    for (ti_siblings_member *m = siblings.first; m; m = m->next) {
        any |= m != member && pthread_equal(m->thread, pthread_self()) && m->is_behind(m->user);
    }
    ti_lock_drop(&siblings.lock);
    return any;
}
