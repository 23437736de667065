/* Names of files that are not complete, what is left of them, and whether nodes see the same file. Threads of host
 * tasks.
 *
 * The mark in a name is new for each file that is written. A node that does not see the file system of node 0 then
 * finds nothing, instead of a file of an earlier run; and one that remembers names for a while, as clients of NFS do,
 * has nothing to remember. */
#include "file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MARK = 8, SAMPLE = 4096 };
static const char suffix[] = ".part";

const char *io_part_path(const io_plan *plan, const io_state *s, char out[IO_PART_PATH])
{
    snprintf(out, IO_PART_PATH, "%s.%08" PRIx32 "%s", plan->path, s->mark, suffix);
    return out;
}

uint32_t io_new_mark(void)
{
    uint32_t mark;
    struct timespec now;
    if (getrandom(&mark, sizeof(mark), GRND_NONBLOCK) == (ssize_t)sizeof(mark)) {
        return mark;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint32_t)now.tv_nsec * 2654435761u ^ (uint32_t)now.tv_sec ^ (uint32_t)getpid() << 16;
}

/* ---- what is left of runs that were killed */

/* NAME.1f3a9c02.part */
static bool is_left(const char *entry, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(entry, name, length) != 0 || entry[length] != '.') {
        return false;
    }
    entry += length + 1;
    for (int i = 0; i < MARK; i++) {
        if (!isxdigit((unsigned char)entry[i])) {
            return false;
        }
    }
    return strcmp(entry + MARK, suffix) == 0;
}

void io_sweep(const io_plan *plan)
{
    char folder[IO_PATH] = ".";
    const char *slash = strrchr(plan->path, '/'), *name = slash ? slash + 1 : plan->path;
    if (slash) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(name - plan->path), plan->path);
    }
    DIR *all = opendir(folder);
    const struct dirent *entry;
    while (all && (entry = readdir(all)) != NULL) {
        if (is_left(entry->d_name, name)) {
            unlinkat(dirfd(all), entry->d_name, 0);
        }
    }
    if (all) {
        closedir(all);
    }
}

/* ---- whether it is the same file */

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ b[i]) * 1099511628211u;
    }
    return hash;
}

uint64_t io_print_of(const char *path)
{
    unsigned char bytes[SAMPLE];
    struct stat is;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &is) != 0) {
        if (file >= 0) {
            close(file);
        }
        return 0;
    }
    const uint64_t size = (uint64_t)is.st_size, last = size > SAMPLE ? size - SAMPLE : 0;
    const uint64_t at[] = { 0, last / 2, last };
    uint64_t hash = add_bytes(14695981039346656037u, &size, sizeof(size));
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        const ssize_t got = pread(file, bytes, sizeof(bytes), (off_t)at[i]);
        hash = add_bytes(hash, bytes, got > 0 ? (size_t)got : 0);
    }
    close(file);
    return hash | 1;
}

/* ---- copies */

/* What of `in` is left, by hand: the system does not copy between these two itself. */
static int copy_by_hand(int in, int out)
{
    enum { ROOM = 1 << 18 };
    char *room = malloc(ROOM);
    ssize_t got = 0;
    int error = room ? 0 : ENOMEM;
    while (!error && (got = read(in, room, ROOM)) != 0) {
        const char *at = room;
        for (error = got < 0 && errno != EINTR ? errno : 0; !error && got > 0;) {
            const ssize_t put = write(out, at, (size_t)got);
            error = put < 0 && errno != EINTR ? errno : 0;
            at += put > 0 ? put : 0;
            got -= put > 0 ? put : 0;
        }
    }
    free(room);
    return error;
}

static int copy_between(int in, int out)
{
    enum { MOST = 1 << 30 };
    ssize_t moved;
    do {
        moved = copy_file_range(in, NULL, out, NULL, MOST, 0);
    } while (moved > 0 || (moved < 0 && errno == EINTR));
    const bool by_hand = moved < 0 && (errno == EXDEV || errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP);
    return moved == 0 ? 0 : by_hand ? copy_by_hand(in, out) : errno;
}

int io_copy_file(const char *from, const char *to)
{
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) {
        return errno;
    }
    const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = out < 0 ? errno : copy_between(in, out);
    if (out >= 0 && close(out) != 0 && !error) {
        error = errno;
    }
    close(in);
    return error;
}
