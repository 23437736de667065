/* Advice at the end of a run: what has cost time in it, the cure, and where the documents say more. TACIT_ADVICE.
 *
 * The facts are gathered elsewhere (run/advice.h); here stands which of them are worth a sentence, and the words, which
 * `tacit trace` says, too, where it is about the same. doc/errors.md, "Hints", has an entry for every sentence. A pure
 * function of the facts. Any thread. */
#ifndef TI_TRACE_ADVICE_H
#define TI_TRACE_ADVICE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum ti_advice {
    TI_ADVICE_STARVED,  /* workers had no ready kernels */
    TI_ADVICE_LATE,     /* one node computes longer than the others */
    TI_ADVICE_GROWTH,   /* allocations grew again and again */
    TI_ADVICE_CHECKED,  /* kernels checked their accesses */
    TI_ADVICE_MESSAGES, /* messages that a collective would replace */
    TI_ADVICE_WINDOWS,  /* windows of pure tasks that closed early */
    TI_ADVICE_LOOSE,    /* memory that is more than twice what is touched of it */
    TI_ADVICE_KINDS
} ti_advice;

/* A zeroed one is of a run in which all is well. */
typedef struct ti_advice_facts {
    uint64_t span;               /* ns from the first kernel to the last, at most on a node; 0: nobody has looked */
    double idle;                 /* share of the workers' time in which they ran none, of all nodes together */
    int late;                    /* a node that computes longer than the others */
    double late_factor;          /* than their mean; 0: there is none */
    uint32_t growths;            /* of the memory that one buffer has in one place, at most */
    bool checked;                /* accesses of kernels to elements */
    uint64_t uncollected;        /* times that a task got by messages what a collective might have brought */
    const char *uncollected_why; /* the verdict about the first of them: a word */
    uint64_t windows, early;     /* of pure tasks, and of these the ones that closed with fewer than they might have */
    const char *early_why;       /* why most of these did */
    bool early_by_task;          /* this says something about the task that came then */
    uint64_t loose_bytes;     /* of the allocation of node 0 of which most lies idle, and less than half is touched */
    uint64_t loose_used;      /* bytes of it that are */
    const char *loose_buffer; /* whose it is */
    const char *loose_task;   /* whose access asks for most of it; NULL: no kernel's, or there is none */
    int loose_access;
} ti_advice_facts;

/* From which on a fact is worth a sentence. */
enum {
    TI_ADVICE_LEAST_NS = 100 * 1000 * 1000, /* of a run in which time counts */
    TI_ADVICE_IDLE_PERCENT = 50,
    TI_ADVICE_LATE_PERCENT = 150, /* of the mean of the others */
    TI_ADVICE_GROWTHS = 8,
    TI_ADVICE_UNCOLLECTED = 8,
    TI_ADVICE_EARLY = 4,            /* and half of all windows */
    TI_ADVICE_LOOSE_BYTES = 1 << 20 /* that lie idle */
};

/* The sentence with its cure, appended to `why`; false: there is nothing to say. */
bool ti_advice_say(ti_advice advice, const ti_advice_facts *facts, ti_strbuf *why);

/* The cure alone. */
const char *ti_advice_cure(ti_advice advice);

#endif
