/* Reductions over the nodes as messages between pairs.
 *
 * The elements are cut into a part per node that combines. Every node sends its values of a part to the node that
 * combines it, and that node sends the result to all who want it; both in *segments*, so that what has arrived is
 * combined while it lies in a cache, and later ones travel meanwhile. Values that are small are sent to everybody who
 * wants the result, and each combines all of them: one trip less. Values are always combined in the order of the nodes
 * and element by element, so all nodes get the same bits, in every run, and operators need not commute.
 *
 * Messages of one pair of nodes, one collective and one phase are started in the same order on both sides, and have an
 * index; a communicator may match them by either. Few of them are under way at once. Their tokens carry
 * TI_COMBINING_TOKEN.
 *
 * Small values are often complete at once, without tokens: sent where there is room, and received where others have
 * sent earlier, or do so in a moment. The latest reduction of such is *open* until then, or until it is closed: then
 * what is missing is received as all else is.
 *
 * In place: the value of this node lies where the result will. Where no result comes, it may be overwritten too. Owned
 * by the communicator, touched by its thread only. */
#ifndef TI_COMBINING_H
#define TI_COMBINING_H

#include "base/vec.h"
#include "comm/exchange.h"

#define TI_COMBINING_TOKEN ((uint64_t)1 << 62)

typedef struct ti_combining_message {
    int peer;
    uint64_t sequence; /* of the collective */
    int phase;         /* 0: values, 1: results */
    uint64_t index;    /* of this phase and pair */
    char *at;
    size_t bytes;
    uint64_t token;
} ti_combining_message;

typedef struct ti_combining_operation ti_combining_operation;

typedef struct ti_combining {
    void (*send)(void *comm, const ti_combining_message *message);
    void (*receive)(void *comm, const ti_combining_message *message);
    /* The same of a message that is complete by that. False: nothing was done. `looks`: so often one that has not come
     * is looked for again, which is counted down. */
    bool (*send_at_once)(void *comm, const ti_combining_message *message);
    bool (*receive_at_once)(void *comm, const ti_combining_message *message, int *looks);
    void *comm;
    int node;
    size_t segment; /* bytes of one message, at most; one element if that has more */
    size_t whole;   /* values of at most so many bytes, times the other nodes, are sent to everybody */
    TI_VEC(ti_combining_operation *) operation; /* all there are, by number */
    TI_VEC(uint32_t) unused, ready;             /* numbers */
    ti_combining_operation *open;               /* or NULL */
} ti_combining;

/* Begin. True: it is complete, and its token is not reported. Else ti_combining_close and ti_combining_advance follow.
 * The same on all nodes: the exchange, and `segment` and `whole`. */
bool ti_combining_start(ti_combining *all, const ti_exchange *x, uint64_t token);
/* Look into what is open, and so often again. True: it is complete, and its token is not reported. */
bool ti_combining_look(ti_combining *all, int looks);
void ti_combining_close(ti_combining *all);
/* A message is done. */
void ti_combining_message_done(ti_combining *all, uint64_t message_token);
/* Combine what has come and start what may start. True: *token is that of a collective that is complete, and there may
 * be more. */
bool ti_combining_advance(ti_combining *all, uint64_t *token);
/* What is under way is left alone, with its memory, if messages may still touch that. */
void ti_combining_fini(ti_combining *all, bool with_pending);

#endif
