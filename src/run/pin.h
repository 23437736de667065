/* Which cores the threads of a node are bound to.
 *
 * A node has a share of the cores that its process may use: all of them, or an equal part where several nodes of one
 * machine may use the same. If its workers (and the two threads that plan and execute, where there are such) are just
 * as many as the cores of the share, each is bound to one of its own; if they are fewer, all threads of the node are
 * bound to the share; if they are more, or if another process or context has some of these cores, nothing is bound.
 * With a list (TACIT_PIN) the cores of the list are divided instead, and fewer threads get cores of their own, too.
 *
 * The application's thread is bound from ti_pin_end to ti_pin_release. It calls these functions, but ti_pin_thread. */
#ifndef TI_PIN_H
#define TI_PIN_H

#include "base/cores.h"
#include "base/strbuf.h"
#include "comm/comm.h"

typedef enum ti_pin_kind { TI_PIN_NONE, TI_PIN_SHARE, TI_PIN_EACH } ti_pin_kind;

typedef struct ti_pin {
    ti_pin_kind kind;
    int cores;       /* that this node may use, at least 1 */
    int part;        /* the same in thousandths of a core, also less than one */
    bool is_crowded; /* the machine has fewer cores than nodes */
    bool is_listed;  /* the share is of a list */
    int count;       /* of the share; 0: there is none */
    int core[TI_MAX_CORES];
    ti_cores share, all; /* all: that the process may use; empty: not known */
    const char *reason;  /* with TI_PIN_NONE */
    bool has_taken;
    int thread; /* of the application: what it was bound to before */
    ti_cores before;
} ti_pin;

/* The share of this node; `text` is TACIT_PIN. False and a sentence in `why` if that means nothing here. */
bool ti_pin_find(ti_pin *pin, const char *text, const ti_comm *comm, ti_strbuf *why);
/* What is to be bound: so many threads want a core each. */
void ti_pin_decide(ti_pin *pin, int threads);

/* Before threads are created: they inherit what the calling thread is bound to now. */
void ti_pin_begin(ti_pin *pin);
/* They exist. The calling thread is worker number `worker` (-1: none). */
void ti_pin_end(ti_pin *pin, int worker);
/* They have ended: the calling thread may use what it might before. */
void ti_pin_release(ti_pin *pin);

/* Bind the calling thread to core number `index` of the share, if each has its own. Any thread. */
void ti_pin_thread(const ti_pin *pin, int index);
/* The list of cores of workers from number `first` on, or NULL. */
static inline const int *ti_pin_list(const ti_pin *pin, int first)
{
    return pin->kind == TI_PIN_EACH ? &pin->core[first] : NULL;
}
/* What threads that have no core of their own are bound to, or NULL: they are not. */
static inline const ti_cores *ti_pin_set(const ti_pin *pin)
{
    return pin->kind != TI_PIN_NONE ? &pin->share : ti_cores_count(&pin->all) > 0 ? &pin->all : NULL;
}

/* "each thread to its own of the cores 0-3", "all threads to the cores 0-3", or "nothing, REASON". */
void ti_pin_describe(const ti_pin *pin, ti_strbuf *out);

#endif
