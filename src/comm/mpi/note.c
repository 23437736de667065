/* Notes over MPI: see note.h. */
#include "comm/mpi/note.h"

#include "base/check.h"

#include <string.h>

#define CALL(notes, ...) TI_MPI_CALL(&(notes)->call, __VA_ARGS__)

static int post_receive(ti_mpi_notes *notes)
{
    return CALL(notes, MPI_Irecv, notes->in, TI_NOTE_BYTES, MPI_BYTE, MPI_ANY_SOURCE, 0, notes->mpi,
                &notes->request[TI_MPI_NOTE_SLOTS]);
}

int ti_mpi_notes_open(ti_mpi_notes *notes, MPI_Comm parent)
{
    for (int i = 0; i <= TI_MPI_NOTE_SLOTS; i++) {
        notes->request[i] = MPI_REQUEST_NULL;
    }
    TI_MPI_TRY(CALL(notes, MPI_Comm_dup, parent, &notes->mpi));
    notes->open = true;
    TI_MPI_TRY(CALL(notes, MPI_Comm_set_errhandler, notes->mpi, MPI_ERRORS_RETURN));
    return post_receive(notes);
}

/* After an error sends may still be pending, whose memory is part of what the caller frees: they are cancelled as far
 * as MPI can. */
int ti_mpi_notes_close(ti_mpi_notes *notes)
{
    if (!notes->open) {
        return MPI_SUCCESS;
    }
    notes->open = false;
    for (int i = 0; i <= TI_MPI_NOTE_SLOTS; i++) {
        if (notes->request[i] != MPI_REQUEST_NULL) {
            TI_MPI_TRY(CALL(notes, MPI_Cancel, &notes->request[i]));
            TI_MPI_TRY(CALL(notes, MPI_Request_free, &notes->request[i]));
        }
    }
    return CALL(notes, MPI_Comm_free, &notes->mpi);
}

static int test_sends(ti_mpi_notes *notes, uint64_t *pending)
{
    *pending = 0;
    for (int i = 0; i < TI_MPI_NOTE_SLOTS; i++) {
        int done = 1;
        if (notes->request[i] != MPI_REQUEST_NULL) {
            TI_MPI_TRY(CALL(notes, MPI_Test, &notes->request[i], &done, MPI_STATUS_IGNORE));
        }
        *pending += !done;
    }
    return MPI_SUCCESS;
}

static int free_slot(const ti_mpi_notes *notes)
{
    int slot = 0;
    while (slot < TI_MPI_NOTE_SLOTS && notes->request[slot] != MPI_REQUEST_NULL) {
        slot++;
    }
    return slot;
}

int ti_mpi_notes_send(ti_mpi_notes *notes, int peer, const void *note, size_t bytes, bool *sent)
{
    TI_ASSERT(notes->open && bytes <= TI_NOTE_BYTES);
    int slot = free_slot(notes);
    *sent = false;
    if (slot == TI_MPI_NOTE_SLOTS) { /* the caller may be one that does not poll before it has sent */
        uint64_t pending;
        TI_MPI_TRY(test_sends(notes, &pending));
        slot = free_slot(notes);
    }
    if (slot == TI_MPI_NOTE_SLOTS) {
        return MPI_SUCCESS;
    }
    char *out = memcpy(notes->out[slot], note, bytes);
    TI_MPI_TRY(CALL(notes, MPI_Issend, out, (int)bytes, MPI_BYTE, peer, 0, notes->mpi, &notes->request[slot]));
    *sent = true;
    return MPI_SUCCESS;
}

int ti_mpi_notes_poll(ti_mpi_notes *notes, int *origin, void *note, int *bytes, uint64_t *pending)
{
    int done = 0;
    MPI_Status status;
    *bytes = 0;
    TI_MPI_TRY(test_sends(notes, pending));
    TI_ASSERT(notes->open);
    TI_MPI_TRY(CALL(notes, MPI_Test, &notes->request[TI_MPI_NOTE_SLOTS], &done, &status));
    if (!done) {
        return MPI_SUCCESS;
    }
    TI_MPI_TRY(CALL(notes, MPI_Get_count, &status, MPI_BYTE, bytes));
    TI_ASSERT(*bytes >= 0 && *bytes <= TI_NOTE_BYTES);
    *origin = status.MPI_SOURCE;
    memcpy(note, notes->in, (size_t)*bytes);
    return post_receive(notes);
}
