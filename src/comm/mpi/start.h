/* On which processes a communicator over MPI is created (create.c does that), and who initialises MPI: it is done here,
 * or the application has done it and gives a communicator.
 *
 * What the thread level allows follows from who initialised MPI: if the application did, it also calls MPI. Any thread.
 */
#ifndef TI_MPI_START_H
#define TI_MPI_START_H

#include "comm/mpi/type.h"

typedef struct ti_mpi_start {
    MPI_Comm parent; /* to duplicate */
    bool finalizes;  /* MPI was initialised here, and ends with the communicator */
    bool over;       /* the application has finalised MPI */
    ti_comm_threads threads;
    const char *level; /* the name of the thread level, or NULL: all is allowed */
} ti_mpi_start;

/* What MPI says of an error code: it has texts only while it is up, and ends the process that asks before or after. */
const char *ti_mpi_error_text(int code, char text[MPI_MAX_ERROR_STRING]);

/* All processes; initialises MPI unless somebody has. False and a sentence in `why` on failure. */
bool ti_mpi_start_world(ti_mpi_start *out, char *why, size_t why_size);
/* Whether the application was compiled with the MPI of tacit. */
bool ti_mpi_is_same(const tacit_mpi_comm *given);
/* The processes of the application's communicator. */
tacit_status ti_mpi_start_on(const tacit_mpi_comm *given, ti_mpi_start *out, char *why, size_t why_size);

#endif
