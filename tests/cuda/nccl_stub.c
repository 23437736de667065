/* NCCL without GPUs, for the driver of the tests (driver_stub.c): what ranks send each other lies in files of a folder,
 * whose name is the id of the communicator. So ranks may be processes, or nodes in one process.
 *
 * Communicators do not block: a group is given to its stream when somebody has asked often enough whether it is there.
 * Nobody may give the stream anything meanwhile that is to come behind it. */
#define _GNU_SOURCE
#include "device/cuda/driver.h"
#include "stream_stub.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INTERNAL_ERROR = 3, INVALID_USAGE = 5, MOST_RANKS = 64, MOST_CALLS = 1024, PATH = 160 };

typedef struct message {
    ti_nccl_comm comm;
    bool is_sent;
    int peer;
    char *at;
    size_t bytes;
    unsigned long number; /* from one rank to another */
    ti_cu_stream stream;
    bool is_done;
    struct message *next; /* of the communicator */
} message;

struct ncclComm {
    char folder[64];
    int rank, ranks, state, asked, error;
    bool has_begun; /* all ranks have come */
    bool aborted;
    unsigned long sent[MOST_RANKS], received[MOST_RANKS];
    message *coming[MOST_CALLS]; /* of a group that is not in the stream */
    int count;
    message *all;
    ti_nccl_comm next; /* aborted */
};

static ti_nccl_comm aborted; /* which streams may still know */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local struct {
    int depth;
    ti_nccl_comm comm;
} group;

static void misuse(const char *what)
{
    fprintf(stderr, "nccl stub: %s\n", what);
    abort();
}

static void path_of(char out[PATH], const ti_nccl_comm comm, const char *kind, int from, int to, unsigned long number)
{
    snprintf(out, PATH, "%s/%s.%d.%d.%lu", comm->folder, kind, from, to, number);
}

static void touch(const ti_nccl_comm comm, const char *kind)
{
    char path[PATH];
    path_of(path, comm, kind, comm->rank, 0, 0);
    const int file = open(path, O_CREAT | O_WRONLY, 0600);
    if (file >= 0) {
        close(file);
    }
}

static bool all_have(const ti_nccl_comm comm, const char *kind)
{
    char path[PATH];
    bool all = true;
    for (int q = 0; q < comm->ranks && all; q++) {
        path_of(path, comm, kind, q, 0, 0);
        all = access(path, F_OK) == 0;
    }
    return all;
}

/* ---- messages, when the stream comes to them */

static bool give(const message *m)
{
    char path[PATH], begun[PATH];
    path_of(path, m->comm, "data", m->comm->rank, m->peer, m->number);
    path_of(begun, m->comm, "part", m->comm->rank, m->peer, m->number);
    const int file = open(begun, O_CREAT | O_WRONLY, 0600);
    if (file < 0 || write(file, m->at, m->bytes) != (ssize_t)m->bytes) {
        misuse("a message cannot be written");
    }
    close(file);
    return rename(begun, path) == 0;
}

static bool take(const message *m)
{
    char path[PATH];
    struct stat facts;
    path_of(path, m->comm, "data", m->peer, m->comm->rank, m->number);
    const int file = open(path, O_RDONLY);
    if (file < 0) {
        return false;
    }
    if (fstat(file, &facts) != 0 || (size_t)facts.st_size != m->bytes ||
        read(file, m->at, m->bytes) != (ssize_t)m->bytes) {
        misuse("a message has another length than its receiver knows");
    }
    close(file);
    unlink(path);
    return true;
}

static bool try_message(void *user)
{
    message *m = user;
    m->is_done = m->is_done || m->comm->aborted || (m->is_sent ? give(m) : take(m));
    return m->is_done;
}

static int add(ti_nccl_comm comm, const char *name, bool is_sent, const void *at, size_t bytes, int peer,
               ti_cu_stream stream)
{
    if (group.depth == 0 || (group.comm && group.comm != comm) || comm->state != TI_NCCL_SUCCESS || !comm->has_begun) {
        misuse("a call outside of a group, or while the communicator is busy");
    }
    group.comm = comm;
    if (stub_call(name)) {
        return INTERNAL_ERROR;
    }
    stub_check_memory(at, bytes);
    if (comm->count == MOST_CALLS) {
        misuse("too many calls in a group");
    }
    message *m = calloc(1, sizeof(*m));
    *m = (message){ .comm = comm,
                    .is_sent = is_sent,
                    .peer = peer,
                    .at = (char *)(uintptr_t)at,
                    .bytes = bytes,
                    .number = is_sent ? comm->sent[peer]++ : comm->received[peer]++,
                    .stream = stream,
                    .next = comm->all };
    comm->all = comm->coming[comm->count++] = m;
    return TI_NCCL_SUCCESS;
}

/* All sends come first, so that nobody waits for what is behind him. */
static void give_all(ti_nccl_comm comm)
{
    for (int sends = 1; sends >= 0; sends--) {
        for (int i = 0; i < comm->count; i++) {
            message *m = comm->coming[i];
            if (m->is_sent == (bool)sends) {
                stub_give_try(m->stream, try_message, m);
            }
        }
    }
    comm->count = 0;
}

/* ---- the interface */

#define DECLARE(member, symbol, parameters) int symbol parameters;
TI_NCCL_FUNCTIONS(DECLARE)
const char *ncclGetErrorString(int code);

int ncclGetVersion(int *out)
{
    *out = 22803;
    return TI_NCCL_SUCCESS;
}

const char *ncclGetErrorString(int code)
{
    return code == INTERNAL_ERROR ? "internal error" : code == INVALID_USAGE ? "invalid usage" : "no error";
}

int ncclGetUniqueId(ti_nccl_id *out)
{
    char folder[64] = "/tmp/nccl_stub_XXXXXX";
    memset(out, 0, sizeof(*out));
    if (stub_call("ncclGetUniqueId") || !mkdtemp(folder)) {
        return INTERNAL_ERROR;
    }
    memcpy(out->internal, folder, sizeof(folder));
    return TI_NCCL_SUCCESS;
}

int ncclCommInitRankConfig(ti_nccl_comm *out, int ranks, ti_nccl_id id, int rank, ti_nccl_config *config)
{
    if (config->size != sizeof(*config) || config->magic != TI_NCCL_MAGIC || config->version != TI_NCCL_VERSION ||
        config->blocking || ranks > MOST_RANKS) {
        misuse("the configuration of a communicator");
    }
    *out = calloc(1, sizeof(**out));
    memcpy((*out)->folder, id.internal, sizeof((*out)->folder));
    (*out)->rank = rank;
    (*out)->ranks = ranks;
    (*out)->state = TI_NCCL_IN_PROGRESS;
    (*out)->error = stub_call("ncclCommInitRankConfig") ? INVALID_USAGE : TI_NCCL_SUCCESS;
    touch(*out, "begin");
    return TI_NCCL_IN_PROGRESS;
}

int ncclCommGetAsyncError(ti_nccl_comm comm, int *out)
{
    enum { ASKED = 3 };
    if (stub_call("ncclCommGetAsyncError")) {
        comm->error = INTERNAL_ERROR;
    }
    if (!comm->error && comm->state == TI_NCCL_IN_PROGRESS && ++comm->asked >= ASKED) {
        comm->has_begun = comm->has_begun || all_have(comm, "begin");
        if (comm->has_begun) {
            give_all(comm);
            comm->state = TI_NCCL_SUCCESS;
        }
    }
    *out = comm->error ? comm->error : comm->state;
    return TI_NCCL_SUCCESS;
}

int ncclGroupStart(void)
{
    group.depth++;
    group.comm = NULL;
    return TI_NCCL_SUCCESS;
}

int ncclGroupEnd(void)
{
    const ti_nccl_comm comm = group.comm;
    if (--group.depth != 0) {
        misuse("groups in groups");
    }
    if (!comm) {
        return TI_NCCL_SUCCESS;
    }
    comm->state = TI_NCCL_IN_PROGRESS;
    comm->asked = 0;
    return stub_call("ncclGroupEnd") ? INTERNAL_ERROR : TI_NCCL_IN_PROGRESS;
}

int ncclSend(const void *at, size_t bytes, int type, int peer, ti_nccl_comm comm, ti_cu_stream stream)
{
    return type != TI_NCCL_INT8 || peer == comm->rank ? INVALID_USAGE
                                                      : add(comm, "ncclSend", true, at, bytes, peer, stream);
}

int ncclRecv(void *at, size_t bytes, int type, int peer, ti_nccl_comm comm, ti_cu_stream stream)
{
    return type != TI_NCCL_INT8 || peer == comm->rank ? INVALID_USAGE
                                                      : add(comm, "ncclRecv", false, at, bytes, peer, stream);
}

int ncclBroadcast(const void *from, void *to, size_t bytes, int type, int root, ti_nccl_comm comm, ti_cu_stream stream)
{
    int code = type == TI_NCCL_INT8 && from == to ? TI_NCCL_SUCCESS : INVALID_USAGE;
    for (int q = 0; q < comm->ranks && comm->rank == root && code == TI_NCCL_SUCCESS; q++) {
        code = q == root ? code : add(comm, "ncclBroadcast", true, from, bytes, q, stream);
    }
    return code || comm->rank == root ? code : add(comm, "ncclBroadcast", false, to, bytes, root, stream);
}

int ncclAllGather(const void *from, void *to, size_t bytes, int type, ti_nccl_comm comm, ti_cu_stream stream)
{
    int code = type == TI_NCCL_INT8 && from == (char *)to + (size_t)comm->rank * bytes ? TI_NCCL_SUCCESS
                                                                                       : INVALID_USAGE;
    for (int q = 0; q < comm->ranks && code == TI_NCCL_SUCCESS; q++) {
        if (q != comm->rank) {
            char *at = (char *)to + (size_t)q * bytes;
            code = add(comm, "ncclAllGather", true, from, bytes, q, stream);
            code = code ? code : add(comm, "ncclAllGather", false, at, bytes, q, stream);
        }
    }
    return code;
}

int ncclCommFinalize(ti_nccl_comm comm)
{
    if (comm->state != TI_NCCL_SUCCESS) {
        misuse("a communicator ends while it is busy");
    }
    return stub_call("ncclCommFinalize") ? INTERNAL_ERROR : TI_NCCL_SUCCESS;
}

/* Who comes last removes the folder. */
static void leave(ti_nccl_comm comm)
{
    touch(comm, "end");
    if (all_have(comm, "end")) {
        char command[PATH];
        snprintf(command, sizeof(command), "rm -rf %s", comm->folder);
        if (system(command) != 0) {
            misuse("a folder cannot be removed");
        }
    }
}

int ncclCommDestroy(ti_nccl_comm comm)
{
    for (message *m = comm->all, *next; m; m = next) {
        next = m->next;
        if (!m->is_done) {
            misuse("a communicator is destroyed while messages are under way");
        }
        free(m);
    }
    leave(comm);
    free(comm);
    return TI_NCCL_SUCCESS;
}

/* What streams have of it ends when they come to it, so it is not freed. */
int ncclCommAbort(ti_nccl_comm comm)
{
    comm->aborted = true;
    pthread_mutex_lock(&mutex);
    comm->next = aborted;
    aborted = comm;
    pthread_mutex_unlock(&mutex);
    leave(comm);
    return TI_NCCL_SUCCESS;
}
