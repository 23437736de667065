/* How far the clocks of nodes are apart: see clock_sync.h. */
#include "trace/clock_sync.h"

#include "base/clock.h"

#include <sched.h>
#include <string.h>

/* A round trip that nobody interrupted tells most. Where nodes share cores, that may take many. */
enum { MIN_ROUNDS = 10, MAX_ROUNDS = 2000, GOOD_NS = 2000, LONG_NS = 20 * 1000 * 1000 };
#define NO_MORE UINT64_MAX

/* Others may still be under way at the end of a run: notes of the agreement, which nobody waits for any more. */
typedef struct note {
    char what[16];
    uint64_t round, time; /* the round that is asked for or answered */
} note;
#define WHAT "tacit clock"

static bool is_over(uint64_t since, uint64_t patience)
{
    return patience && ti_clock_ns() - since > patience;
}

static bool send(ti_comm *comm, int peer, uint64_t round, uint64_t since, uint64_t patience)
{
    note n = { .what = WHAT, .round = round, .time = ti_clock_ns() };
    while (!comm->ops->note_send(comm, peer, &n, sizeof(n))) {
        if (comm->stats.error || is_over(since, patience)) {
            return false;
        }
        sched_yield();
    }
    return true;
}

static bool receive(ti_comm *comm, int peer, note *out, uint64_t since, uint64_t patience)
{
    _Alignas(note) char room[TI_NOTE_BYTES];
    while (!comm->stats.error && !is_over(since, patience)) {
        int origin, bytes = comm->ops->note_poll(comm, &origin, room);
        if (bytes < 0) {
            return false;
        }
        memcpy(out, room, sizeof(*out));
        if (bytes == sizeof(*out) && origin == peer && strcmp(out->what, WHAT) == 0) {
            return true;
        }
        if (bytes == 0) {
            sched_yield();
        }
    }
    return false;
}

static bool wants_more(uint64_t round, uint64_t error, uint64_t since)
{
    return round < MIN_ROUNDS || (error > GOOD_NS && round < MAX_ROUNDS && ti_clock_ns() - since < LONG_NS);
}

static void ask(ti_comm *comm, int peer, uint64_t patience, ti_trace_clock *out)
{
    uint64_t since = ti_clock_ns();
    *out = (ti_trace_clock){ .node = (uint32_t)peer, .error = UINT64_MAX };
    for (uint64_t round = 0; wants_more(round, out->error, since); round++) {
        note answer;
        uint64_t before = ti_clock_ns();
        if (!send(comm, peer, round, since, patience) || !receive(comm, peer, &answer, since, patience)) {
            return;
        }
        uint64_t after = ti_clock_ns(), error = (after - before) / 2;
        if (error < out->error) {
            out->time = before + error;
            out->offset = (int64_t)(answer.time - out->time);
            out->error = error;
        }
    }
    (void)send(comm, peer, NO_MORE, since, patience);
}

static void answer(ti_comm *comm, uint64_t patience)
{
    uint64_t since = ti_clock_ns();
    note question = { .round = 0 };
    while (receive(comm, 0, &question, since, patience * (uint64_t)comm->num_nodes) && question.round != NO_MORE &&
           send(comm, 0, question.round, since, patience * (uint64_t)comm->num_nodes)) {
    }
}

void ti_clock_sync(ti_comm *comm, uint64_t patience, ti_trace_clock *clock)
{
    uint64_t since = ti_clock_ns();
    char ignored[TI_NOTE_BYTES];
    int origin;
    if (comm->node == 0) {
        clock[0] = (ti_trace_clock){ .time = ti_clock_ns() };
        for (int q = 1; q < comm->num_nodes; q++) {
            ask(comm, q, patience, &clock[q]);
        }
    } else {
        answer(comm, patience);
    }
    /* What was sent must have left this node before the network may be closed. */
    while (comm->notes_pending && !comm->stats.error && !is_over(since, 1000000000u) &&
           comm->ops->note_poll(comm, &origin, ignored) >= 0) {
    }
}
