/* Sets of cores: see cores.h.
 *
 * Processes find each other by locks on the bytes of one file in memory, a byte per core. The system drops them when a
 * process ends, however it does. Where there is no such file, processes know nothing of each other. */
#include "base/cores.h"

#include "base/check.h"
#include "base/park.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(ti_cores) == sizeof(cpu_set_t), "both have a bit for each of the first 1024 cores");

/* Once a thread is bound, the system does not tell any more what the process had. */
static struct {
    ti_lock lock;
    int users;       /* contexts that have taken cores */
    ti_cores before; /* with users: what the process might use before the first of them */
    ti_cores taken;
    int file; /* with users: of the locks; -1: there is none */
} process;

int ti_cores_count(const ti_cores *cores)
{
    int count = 0;
    for (size_t i = 0; i < TI_COUNT(cores->word); i++) {
        count += __builtin_popcountll(cores->word[i]);
    }
    return count;
}

bool ti_cores_meet(const ti_cores *a, const ti_cores *b)
{
    for (size_t i = 0; i < TI_COUNT(a->word); i++) {
        if (a->word[i] & b->word[i]) {
            return true;
        }
    }
    return false;
}

/* A number below TI_MAX_CORES, and what follows it. */
static bool parse_core(const char **text, int *out)
{
    char *end;
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    unsigned long number = strtoul(*text, &end, 10);
    *text = end;
    *out = (int)TI_MIN(number, (unsigned long)TI_MAX_CORES);
    return number < TI_MAX_CORES;
}

bool ti_cores_parse(const char *text, ti_cores *out)
{
    *out = (ti_cores){ .word = { 0 } };
    for (;; text++) {
        int first, last;
        if (!parse_core(&text, &first)) {
            return false;
        }
        last = first;
        if (*text == '-') {
            text++;
            if (!parse_core(&text, &last) || last < first) {
                return false;
            }
        }
        for (int core = first; core <= last; core++) {
            ti_cores_add(out, core);
        }
        if (*text != ',') {
            return *text == '\0';
        }
    }
}

void ti_cores_of_thread(ti_cores *out)
{
    cpu_set_t set;
    *out = (ti_cores){ .word = { 0 } };
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        memcpy(out, &set, sizeof(set));
    }
}

void ti_cores_of_process(ti_cores *out)
{
    ti_lock_take(&process.lock);
    if (process.users > 0) {
        *out = process.before;
    } else {
        ti_cores_of_thread(out);
    }
    ti_lock_drop(&process.lock);
}

int ti_cores_sharing(const ti_cores *of, int count, int self, int *before)
{
    int sharing = 0;
    *before = 0;
    for (int i = 0; i < count; i++) {
        bool same = memcmp(&of[i], &of[self], sizeof(*of)) == 0;
        if (!same && ti_cores_meet(&of[i], &of[self])) {
            return 0;
        }
        sharing += same;
        *before += same && i < self;
    }
    return sharing;
}

/* ---- who has which */

static int open_in(const char *folder)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/tacit-cores-%ld", folder, (long)getuid());
    return n < (int)sizeof(path) ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
}

static int open_locks(void)
{
    const char *own = getenv("XDG_RUNTIME_DIR");
    int file = own ? open_in(own) : -1;
    return file < 0 ? open_in("/dev/shm") : file;
}

/* Of one core; true if nobody else has it. */
static bool set_lock(int core, short type)
{
#ifdef F_OFD_SETLK
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = core, .l_len = 1 };
    return process.file < 0 || fcntl(process.file, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
#else
    (void)core, (void)type;
    return true;
#endif
}

/* Lock all of them, or none. */
static bool lock_cores(const ti_cores *cores)
{
    for (int core = 0; core < TI_MAX_CORES; core++) {
        if (ti_cores_has(cores, core) && !set_lock(core, F_WRLCK)) {
            while (--core >= 0) {
                if (ti_cores_has(cores, core)) {
                    (void)set_lock(core, F_UNLCK);
                }
            }
            return false;
        }
    }
    return true;
}

/* The last one that leaves closes the file. */
static void leave(void)
{
    if (--process.users == 0 && process.file >= 0) {
        close(process.file);
    }
}

bool ti_cores_take(const ti_cores *cores)
{
    ti_lock_take(&process.lock);
    if (process.users++ == 0) {
        ti_cores_of_thread(&process.before);
        process.taken = (ti_cores){ .word = { 0 } };
        process.file = open_locks();
    }
    bool free = !ti_cores_meet(&process.taken, cores) && lock_cores(cores);
    for (size_t i = 0; free && i < TI_COUNT(cores->word); i++) {
        process.taken.word[i] |= cores->word[i];
    }
    if (!free) {
        leave();
    }
    ti_lock_drop(&process.lock);
    return free;
}

void ti_cores_give_back(const ti_cores *cores)
{
    ti_lock_take(&process.lock);
    TI_ASSERT(process.users > 0);
    for (int core = 0; core < TI_MAX_CORES; core++) {
        if (ti_cores_has(cores, core)) {
            (void)set_lock(core, F_UNLCK);
        }
    }
    for (size_t i = 0; i < TI_COUNT(cores->word); i++) {
        process.taken.word[i] &= ~cores->word[i];
    }
    leave();
    ti_lock_drop(&process.lock);
}

void ti_cores_bind(int thread, const ti_cores *cores)
{
    cpu_set_t set;
    memcpy(&set, cores, sizeof(set));
    (void)sched_setaffinity(thread, sizeof(set), &set);
}

int ti_cores_thread(void)
{
    return (int)syscall(SYS_gettid);
}
