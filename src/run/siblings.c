/* Contexts of one thread: see siblings.h. */
#include "run/siblings.h"

#include "base/log.h"
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

static bool is_any_behind(const ti_siblings_member *member)
{
    bool any = false;
    ti_lock_take(&siblings.lock);
    for (ti_siblings_member *m = siblings.first; m; m = m->next) {
        any |= m != member && pthread_equal(m->thread, pthread_self()) && m->is_behind(m->user);
    }
    ti_lock_drop(&siblings.lock);
    return any;
}

void ti_siblings_look(ti_siblings_member *m)
{
    if (!m->told && is_any_behind(m)) {
        m->told = true;
        ti_log(TI_LOG_WARNING,
               "this thread has waited in one context for %d s while another of its contexts has work that is not "
               "done, which nobody else does, since they run inline; call tacit_wait with the other one before",
               TI_SIBLINGS_SECONDS);
    }
}
