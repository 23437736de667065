/* A communicator over another one, which delivers everything later by a given time (TACIT_COMM_DELAY): a network of a
 * larger latency, to try programs with.
 *
 * Where all nodes have one clock, because they are on one machine, a message of at most TI_DELAY_COPIED bytes is sent
 * at once, and says when that was: whoever receives it waits until it is due. So no thread of the sender has to be
 * there. Others, and those where broadcasts may bring what is received (relay.h), are handed to the other communicator
 * when they are due.
 *
 * A payload of at most TI_DELAY_COPIED bytes is copied, and complete for its sender at once, as with a network that
 * sends small messages eagerly. That holds only if some thread polls in any case; if not, nobody might come back to
 * send it, so it is complete when it has been sent. So are larger ones. The frames and segments of broadcasts are late
 * at every relay. A collective or barrier is started at once, and its end is reported that much later: it costs one
 * delay, whatever its algorithm. Notes are not delayed: they carry no data of the program.
 *
 * Nothing waits in here: `due` of the communicator says when poll has something to do, so that waiting threads can
 * sleep until then, and `nap_ns` how long they may sleep at most, since what others send comes without a sign. */
#ifndef TI_DELAY_H
#define TI_DELAY_H

#include "comm/comm.h"

enum { TI_DELAY_COPIED = 256 << 10, TI_DELAY_COPIES = 64 << 20 /* bytes of all such copies together */ };

typedef struct ti_delay_clock {
    uint64_t (*now)(void *user); /* ns; NULL: the clock of the machine */
    void *user;
} ti_delay_clock;

/* Owns `inner` from now on. */
ti_comm *ti_comm_delay_create(ti_comm *inner, uint64_t delay_ns, ti_delay_clock clock);

#endif
