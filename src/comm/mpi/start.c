/* On which processes a communicator over MPI is created, and MPI_Init_thread where the application has not called it:
 * see start.h. Nothing else here waits for other processes. */
#include "comm/mpi/start.h"

#include "comm/launched.h"
#include "tacit/mpi.h"

#include <stdio.h>
#include <string.h>

const char *ti_mpi_error_text(int code, char text[MPI_MAX_ERROR_STRING])
{
    int length = 0, up = 0, down = 1;
    if (MPI_Initialized(&up) != MPI_SUCCESS || !up || MPI_Finalized(&down) != MPI_SUCCESS || down ||
        MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
        snprintf(text, MPI_MAX_ERROR_STRING, "MPI error %d", code);
    }
    return text;
}

static bool succeeded(int code, const char *what, char *why, size_t why_size)
{
    char text[MPI_MAX_ERROR_STRING];
    if (code == MPI_SUCCESS) {
        return true;
    }
    snprintf(why, why_size, "%s failed: %s", what, ti_mpi_error_text(code, text));
    return false;
}

/* A call of MPI; the sentence if it fails. */
#define CALLED(function, ...) succeeded(function(__VA_ARGS__), #function, why, why_size)

/* ---- thread levels */

/* An application that has initialised MPI calls it when it likes, from whichever threads the level allows. */
static bool ask_level(ti_mpi_start *start, char *why, size_t why_size)
{
    int level = MPI_THREAD_SINGLE;
    if (!CALLED(MPI_Query_thread, &level)) {
        return false;
    }
    start->threads = level >= MPI_THREAD_MULTIPLE    ? TI_COMM_THREADS_ALL
                     : level < MPI_THREAD_SERIALIZED ? TI_COMM_THREADS_CREATOR
                     : start->finalizes              ? TI_COMM_THREADS_ONE_BY_ONE
                                                     : TI_COMM_THREADS_INSIDE_CALLS;
    start->level = level >= MPI_THREAD_MULTIPLE     ? NULL
                   : level >= MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                   : level >= MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
                                                    : "MPI_THREAD_SINGLE";
    return true;
}

/* ---- all processes */

static bool initialize(ti_mpi_start *start, char *why, size_t why_size)
{
    int level = MPI_THREAD_SINGLE;
    start->finalizes = true;
    /* Datatype calls report to these communicators; those of an application that initialised MPI are left alone. */
    return CALLED(MPI_Init_thread, NULL, NULL, MPI_THREAD_MULTIPLE, &level) &&
           CALLED(MPI_Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_RETURN) &&
           CALLED(MPI_Comm_set_errhandler, MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

bool ti_mpi_start_world(ti_mpi_start *out, char *why, size_t why_size)
{
    int initialized = 0, finalized = 0;
    *out = (ti_mpi_start){ .parent = MPI_COMM_WORLD };
    if (!CALLED(MPI_Initialized, &initialized) || !CALLED(MPI_Finalized, &finalized)) {
        return false;
    }
    if (finalized) {
        out->over = true;
        snprintf(why, why_size,
                 "MPI was finalized in this process already and cannot start again; call MPI_Init before the first "
                 "tacit_init and MPI_Finalize after the last tacit_finalize");
        return false;
    }
    return (initialized || initialize(out, why, why_size)) && ask_level(out, why, why_size);
}

/* ---- the application's processes */

static const char *library_name(int library)
{
    return library == TACIT_MPI_OPEN_MPI ? "Open MPI" : library == TACIT_MPI_MPICH ? "MPICH" : "another MPI";
}

static tacit_status check_is_running(char *why, size_t why_size)
{
    int initialized = 0, finalized = 0;
    (void)MPI_Initialized(&initialized);
    (void)MPI_Finalized(&finalized);
    if (!initialized || finalized) {
        snprintf(why, why_size,
                 "tacit_init_mpi: MPI is %s; call it between MPI_Init_thread and MPI_Finalize, or use tacit_init",
                 finalized ? "finalized" : "not initialised");
        return TACIT_ERROR_STATE;
    }
    return TACIT_OK;
}

static tacit_status check_communicator(MPI_Comm comm, char *why, size_t why_size)
{
    int is_inter = 0;
    if (comm == MPI_COMM_NULL) {
        snprintf(why, why_size,
                 "tacit_init_mpi: the communicator is MPI_COMM_NULL; only processes that belong to one may call it");
        return TACIT_ERROR_ARGUMENT;
    }
    if (!CALLED(MPI_Comm_test_inter, comm, &is_inter)) {
        return TACIT_ERROR_NETWORK;
    }
    if (is_inter) {
        snprintf(why, why_size,
                 "tacit_init_mpi: this is an inter-communicator, whose ranks are not one row of nodes; use "
                 "MPI_Intercomm_merge, or an intra-communicator");
        return TACIT_ERROR_ARGUMENT;
    }
    return TACIT_OK;
}

static tacit_status check_thread(const ti_mpi_start *start, char *why, size_t why_size)
{
    int is_main = 0;
    if (start->threads != TI_COMM_THREADS_CREATOR) {
        return TACIT_OK;
    }
    if (!CALLED(MPI_Is_thread_main, &is_main)) {
        return TACIT_ERROR_NETWORK;
    }
    if (!is_main) {
        snprintf(why, why_size,
                 "tacit_init_mpi: MPI was initialised with %s, so only the thread that did it may call tacit; call it "
                 "there, or initialise MPI with MPI_THREAD_MULTIPLE",
                 start->level);
        return TACIT_ERROR_STATE;
    }
    return TACIT_OK;
}

bool ti_mpi_is_same(const tacit_mpi_comm *given)
{
    return given->library == TACIT_MPI_LIBRARY_ && given->size == sizeof(MPI_Comm);
}

tacit_status ti_mpi_start_on(const tacit_mpi_comm *given, ti_mpi_start *out, char *why, size_t why_size)
{
    *out = (ti_mpi_start){ .parent = MPI_COMM_NULL };
    if (!ti_mpi_is_same(given)) {
        snprintf(why, why_size,
                 "tacit_init_mpi: the program is compiled with %s, but tacit was built with %s; compile it with that "
                 "one, or build tacit with -DTACIT_MPI_FLAVOUR=openmpi or mpich",
                 library_name(given->library), ti_comm_mpi_library());
        return TACIT_ERROR_UNSUPPORTED;
    }
    memcpy(&out->parent, given->address, sizeof(out->parent));
    tacit_status status = check_is_running(why, why_size);
    if (status == TACIT_OK) {
        status = check_communicator(out->parent, why, why_size);
    }
    if (status == TACIT_OK && !ask_level(out, why, why_size)) {
        status = TACIT_ERROR_NETWORK;
    }
    return status == TACIT_OK ? check_thread(out, why, why_size) : status;
}

/* ---- what launchers have started */

bool ti_comm_mpi_is_launched(void)
{
    return ti_launched();
}

bool ti_comm_mpi_has_others(void)
{
    return ti_launched_with_others();
}

bool ti_comm_mpi_is_alone(void)
{
    int processes = 0, initialized = 0, finalized = 0;
    return MPI_Initialized(&initialized) == MPI_SUCCESS && initialized && MPI_Finalized(&finalized) == MPI_SUCCESS &&
           !finalized && MPI_Comm_size(MPI_COMM_WORLD, &processes) == MPI_SUCCESS && processes == 1;
}

/* Of the library that tacit was built with. */
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *ti_comm_mpi_library(void)
{
#if defined(OMPI_MAJOR_VERSION)
    return "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION);
#elif defined(I_MPI_VERSION)
    return "Intel MPI " I_MPI_VERSION;
#elif defined(MVAPICH2_VERSION)
    return "MVAPICH2 " MVAPICH2_VERSION;
#elif defined(MPICH_VERSION)
    return "MPICH " MPICH_VERSION;
#else
    return "MPI " TEXT(MPI_VERSION) "." TEXT(MPI_SUBVERSION);
#endif
}
