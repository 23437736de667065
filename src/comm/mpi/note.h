/* Notes over MPI (comm.h): a communicator of their own, so that they meet neither the tags nor the order of messages.
 *
 * One receive from anybody is always posted. Sends are synchronous: they complete when the other side has taken the
 * note, so what lies unread in MPI's memory is bounded by the number of slots. Functions return codes of MPI. Executor
 * role. */
#ifndef TI_MPI_NOTE_H
#define TI_MPI_NOTE_H

#include "comm/comm.h"

#include "comm/mpi/type.h"

enum { TI_MPI_NOTE_SLOTS = 4 };

typedef struct ti_mpi_notes {
    bool open;
    const char *call; /* the last function of MPI that was called */
    MPI_Comm mpi;
    MPI_Request request[TI_MPI_NOTE_SLOTS + 1]; /* the last one: the receive */
    char out[TI_MPI_NOTE_SLOTS][TI_NOTE_BYTES];
    char in[TI_NOTE_BYTES];
} ti_mpi_notes;

int ti_mpi_notes_open(ti_mpi_notes *notes, MPI_Comm parent); /* all nodes */
int ti_mpi_notes_close(ti_mpi_notes *notes);                 /* does nothing unless open */

/* *sent: whether there was a slot. */
int ti_mpi_notes_send(ti_mpi_notes *notes, int peer, const void *note, size_t bytes, bool *sent);
/* *bytes of the next note, 0: none. `pending` is set to the number of sends that are not complete. */
int ti_mpi_notes_poll(ti_mpi_notes *notes, int *origin, void *note, int *bytes, uint64_t *pending);

#endif
