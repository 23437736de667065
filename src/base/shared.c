/* Memory that processes of one machine share: see shared.h. */
#include "base/shared.h"

#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static ti_shared map(int file, size_t size)
{
    ti_shared out = { .size = size, .file = file };
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        close(file);
        return (ti_shared){ .file = -1 };
    }
    out.at = at;
    return out;
}

/* Making a file longer than the process may is a signal. */
static bool may_be_as_long(size_t size)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && (most.rlim_cur == RLIM_INFINITY || size <= most.rlim_cur);
}

ti_shared ti_shared_create(size_t size, ti_shared_name *name)
{
    *name = (ti_shared_name){ 0 };
    int file = memfd_create("tacit", MFD_CLOEXEC);
    if (file < 0) {
        return (ti_shared){ .file = -1 };
    }
    if (!may_be_as_long(size) || ftruncate(file, (off_t)size)) {
        close(file);
        return (ti_shared){ .file = -1 };
    }
    ti_shared out = map(file, size);
    if (out.at) {
        *name = (ti_shared_name){
            .process = getpid(), .file = file, .mark = ti_clock_ns() ^ (uint64_t)(uintptr_t)out.at, .size = size
        };
        memcpy(out.at, &name->mark, sizeof(name->mark));
    }
    return out;
}

ti_shared ti_shared_attach(const ti_shared_name *name)
{
    ti_shared out = { .file = -1 };
    char path[64];
    snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", (long long)name->process, (long long)name->file);
    int file = name->size ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) {
        return out;
    }
    if (lseek(file, 0, SEEK_END) != (off_t)name->size) {
        close(file);
        return out;
    }
    out = map(file, name->size);
    ti_shared_close_file(&out);
    if (out.at && memcmp(out.at, &name->mark, sizeof(name->mark)) != 0) {
        ti_shared_fini(&out);
    }
    return out;
}

void ti_shared_close_file(ti_shared *shared)
{
    if (shared->file >= 0) {
        close(shared->file);
    }
    shared->file = -1;
}

void ti_shared_fini(ti_shared *shared)
{
    ti_shared_close_file(shared);
    if (shared->at) {
        munmap(shared->at, shared->size);
    }
    *shared = (ti_shared){ .file = -1 };
}
