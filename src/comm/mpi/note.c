/* Notes over MPI: see note.h. */
#include "comm/mpi/note.h"

#include "base/check.h"

#include <string.h>

/* Remembers the call for messages. */
#define CALL(notes, function, ...) ((notes)->call = #function, function(__VA_ARGS__))

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
    int code = CALL(notes, MPI_Comm_dup, parent, &notes->mpi);
    if (code) {
        return code;
    }
    notes->open = true;
    code = CALL(notes, MPI_Comm_set_errhandler, notes->mpi, MPI_ERRORS_RETURN);
    return code ? code : post_receive(notes);
}

/* After an error sends may still be pending, whose memory is part of what the caller frees: they are cancelled as far
 * as MPI can. */
int ti_mpi_notes_close(ti_mpi_notes *notes)
{
    int code = MPI_SUCCESS;
    if (!notes->open) {
        return code;
    }
    notes->open = false;
    for (int i = 0; i <= TI_MPI_NOTE_SLOTS && !code; i++) {
        if (notes->request[i] != MPI_REQUEST_NULL) {
            code = CALL(notes, MPI_Cancel, &notes->request[i]);
            code = code ? code : CALL(notes, MPI_Request_free, &notes->request[i]);
        }
    }
    return code ? code : CALL(notes, MPI_Comm_free, &notes->mpi);
}

static int test_sends(ti_mpi_notes *notes, uint64_t *pending)
{
    int code = MPI_SUCCESS;
    *pending = 0;
    for (int i = 0; i < TI_MPI_NOTE_SLOTS && !code; i++) {
        int done = 1;
        if (notes->request[i] != MPI_REQUEST_NULL) {
            code = CALL(notes, MPI_Test, &notes->request[i], &done, MPI_STATUS_IGNORE);
        }
        *pending += !done;
    }
    return code;
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
    int slot = free_slot(notes), code = MPI_SUCCESS;
    *sent = false;
    if (slot == TI_MPI_NOTE_SLOTS) { /* the caller may be one that does not poll before it has sent */
        uint64_t pending;
        code = test_sends(notes, &pending);
        slot = free_slot(notes);
    }
    if (code || slot == TI_MPI_NOTE_SLOTS) {
        return code;
    }
    memcpy(notes->out[slot], note, bytes);
    code = CALL(notes, MPI_Issend, notes->out[slot], (int)bytes, MPI_BYTE, peer, 0, notes->mpi, &notes->request[slot]);
    *sent = !code;
    return code;
}

int ti_mpi_notes_poll(ti_mpi_notes *notes, int *origin, void *note, int *bytes, uint64_t *pending)
{
    int done = 0, code = test_sends(notes, pending);
    MPI_Status status;
    TI_ASSERT(notes->open || code);
    *bytes = 0;
    code = code ? code : CALL(notes, MPI_Test, &notes->request[TI_MPI_NOTE_SLOTS], &done, &status);
    if (code || !done) {
        return code;
    }
    code = CALL(notes, MPI_Get_count, &status, MPI_BYTE, bytes);
    if (code) {
        return code;
    }
    TI_ASSERT(*bytes >= 0 && *bytes <= TI_NOTE_BYTES);
    *origin = status.MPI_SOURCE;
    memcpy(note, notes->in, (size_t)*bytes);
    return post_receive(notes);
}
