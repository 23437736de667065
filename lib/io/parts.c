/* A node's part of a file: which bytes lie where, and moving them. The thread of the host task.
 *
 * The file is row-major, and so is memory, but rows of memory lie apart where an allocation is larger than what the
 * task sees. What is contiguous in the file goes in one call, however many pieces it has in memory, up to IOV_MAX. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 512 };

uint64_t io_bytes(const io_plan *plan)
{
    const tacit_box b = plan->box;
    return (uint64_t)plan->elem_size * (b.max[0] - b.min[0]) * (b.max[1] - b.min[1]) * (b.max[2] - b.min[2]);
}

/* Blocks are not asked for: some file systems would fill them with zeros before they are written. */
bool io_reserve(int file, uint64_t offset, uint64_t bytes)
{
    struct statvfs disk;
    if (fstatvfs(file, &disk) == 0 && disk.f_blocks > 0 && (offset + bytes) / disk.f_frsize > disk.f_bavail) {
        errno = ENOSPC;
        return false;
    }
    return ftruncate(file, (off_t)(offset + bytes)) == 0;
}

/* ---- runs: pieces of memory that are one piece of the file */

typedef struct run {
    int file;
    bool reads;
    off_t at; /* of the first piece */
    size_t bytes;
    int pieces;
    struct iovec piece[PIECES];
} run;

/* Moves what has been gathered. Calls may move less than they should. */
static io_failure flush(run *r)
{
    struct iovec *piece = r->piece;
    while (r->bytes > 0) {
        ssize_t moved = r->reads ? preadv(r->file, piece, r->pieces, r->at) : pwritev(r->file, piece, r->pieces, r->at);
        if (moved < 0 && errno == EINTR) {
            continue;
        }
        if (moved < 0) {
            return (io_failure){ r->reads ? IO_READ : IO_WRITE, errno };
        }
        if (moved == 0) {
            return (io_failure){ r->reads ? IO_SHORT : IO_WRITE, r->reads ? 0 : ENOSPC };
        }
        r->at += moved;
        r->bytes -= (size_t)moved;
        while (r->pieces > 0 && (size_t)moved >= piece->iov_len) {
            moved -= (ssize_t)piece->iov_len;
            piece++;
            r->pieces--;
        }
        if (r->pieces > 0) {
            piece->iov_base = (char *)piece->iov_base + moved;
            piece->iov_len -= (size_t)moved;
        }
    }
    r->pieces = 0;
    return (io_failure){ 0, 0 };
}

static io_failure add(run *r, off_t at, void *memory, size_t bytes)
{
    io_failure failure = { 0, 0 };
    if (r->pieces == PIECES || (r->pieces > 0 && r->at + (off_t)r->bytes != at)) {
        failure = flush(r);
    }
    struct iovec *last = r->pieces > 0 ? &r->piece[r->pieces - 1] : NULL;
    if (last && (char *)last->iov_base + last->iov_len == memory) {
        last->iov_len += bytes;
    } else {
        r->at = r->pieces > 0 ? r->at : at;
        r->piece[r->pieces++] = (struct iovec){ memory, bytes };
    }
    r->bytes += bytes;
    return failure;
}

/* The address of the element (i, j, k) of the buffer; dimensions that it does not have have index 0, box [0, 1). */
static char *element(const tacit_view *v, size_t i, size_t j, size_t k)
{
    return (char *)v->data + (v->dims > 0 ? (i - v->box.min[0]) * v->stride[0] : 0) +
           (v->dims > 1 ? (j - v->box.min[1]) * v->stride[1] : 0) +
           (v->dims > 2 ? (k - v->box.min[2]) * v->stride[2] : 0);
}

/* Rows lie along the last dimension that the buffer has: in 1D all of a part is one row. */
typedef struct rows {
    size_t outer, inner, length; /* of the part */
} rows;

static rows rows_of(const tacit_view *v, const tacit_box *part)
{
    const size_t n0 = part->max[0] - part->min[0], n1 = part->max[1] - part->min[1], n2 = part->max[2] - part->min[2];
    return v->dims >= 3 ? (rows){ n0, n1, n2 } : v->dims == 2 ? (rows){ n0, 1, n1 } : (rows){ 1, 1, n0 };
}

static char *row_at(const tacit_view *v, const tacit_box *part, size_t o, size_t i)
{
    return element(v, part->min[0] + o, part->min[1] + i, part->min[2]);
}

static io_failure move(const io_plan *plan, int file, uint64_t offset, const tacit_view *v, const tacit_box *part)
{
    const tacit_box all = plan->box;
    const rows n = rows_of(v, part);
    const size_t n1 = all.max[1] - all.min[1], n2 = all.max[2] - all.min[2];
    io_failure failure = { 0, 0 };
    run r = { .file = file, .reads = plan->reads };
    for (size_t o = 0; o < n.outer && !failure.step; o++) {
        for (size_t i = 0; i < n.inner && !failure.step; i++) {
            const size_t at = ((part->min[0] - all.min[0] + o) * n1 + (part->min[1] - all.min[1] + i)) * n2 +
                              part->min[2] - all.min[2];
            failure = add(&r, (off_t)(offset + at * plan->elem_size), row_at(v, part, o, i),
                          n.length * plan->elem_size);
        }
    }
    return failure.step ? failure : flush(&r);
}

/* ---- parts */

io_failure io_write_part(const io_plan *plan, const char *path, uint64_t offset, const tacit_view *v,
                         const tacit_box *part)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return (io_failure){ IO_OPEN, errno };
    }
    io_failure failure = move(plan, file, offset, v, part);
    if (!failure.step && plan->sync && fsync(file) != 0) {
        failure = (io_failure){ IO_CLOSE, errno };
    }
    if (close(file) != 0 && !failure.step) {
        failure = (io_failure){ IO_CLOSE, errno };
    }
    return failure;
}

io_failure io_read_part(const io_plan *plan, uint64_t offset, const tacit_view *v, const tacit_box *part)
{
    int file = open(plan->path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return (io_failure){ IO_OPEN, errno };
    }
    io_failure failure = move(plan, file, offset, v, part);
    close(file);
    return failure;
}

io_failure io_read_box(const io_plan *plan, const io_format *format, const tacit_view *v, const tacit_box *part)
{
    const rows n = rows_of(v, part);
    const size_t bytes = n.length * plan->elem_size;
    size_t start[TACIT_FILE_MAX_DIMS] = { 0 }, count[TACIT_FILE_MAX_DIMS];
    char *packed = malloc(n.outer * n.inner * bytes);
    io_state s = { 0 };
    if (!packed) {
        return (io_failure){ IO_MEMORY, 0 };
    }
    for (int d = 0; d < plan->array.dims; d++) {
        start[d] = d < v->dims ? part->min[d] - plan->box.min[d] : 0;
        count[d] = d < v->dims ? part->max[d] - part->min[d] : plan->array.size[d];
    }
    const bool good = format->read_box(plan, start, count, packed, &s);
    for (size_t o = 0; good && o < n.outer; o++) {
        for (size_t i = 0; i < n.inner; i++) {
            memcpy(row_at(v, part, o, i), packed + (o * n.inner + i) * bytes, bytes);
        }
    }
    free(packed);
    return (io_failure){ good ? 0 : IO_FORMAT, 0 };
}

void io_clear_part(const io_plan *plan, const tacit_view *v, const tacit_box *part)
{
    const rows n = rows_of(v, part);
    for (size_t o = 0; o < n.outer; o++) {
        for (size_t i = 0; i < n.inner; i++) {
            memset(row_at(v, part, o, i), 0, n.length * plan->elem_size);
        }
    }
}

/* ---- SIGXFSZ, which ends the process unless somebody cares */

io_quiet io_quiet_begin(void)
{
    sigset_t one, old;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &one, &old);
    return (io_quiet){ sigismember(&old, SIGXFSZ) };
}

void io_quiet_end(io_quiet q)
{
    const struct timespec now = { 0, 0 };
    sigset_t one;
    if (q.was_blocked) {
        return;
    }
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    while (sigtimedwait(&one, NULL, &now) > 0) {
    }
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}
