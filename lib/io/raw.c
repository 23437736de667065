/* Raw files: the elements and nothing else. Node 0's host task. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool make(const io_plan *plan, const char *path, io_state *s)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        return io_say(s, "%s cannot be created: %s", path, strerror(errno));
    }
    s->direct = true;
    s->offset = 0;
    bool good = io_reserve(file, 0, io_bytes(plan));
    int error = errno;
    close(file);
    return good || io_say(s, "there is no room for %" PRIu64 " bytes: %s", io_bytes(plan), strerror(error));
}

static bool look(const io_plan *plan, io_state *s)
{
    struct stat file;
    if (stat(plan->path, &file) != 0) {
        return io_say(s, "it cannot be opened: %s", strerror(errno));
    }
    s->direct = true;
    s->offset = 0;
    if (plan->elem_size && (uint64_t)file.st_size != io_bytes(plan)) {
        return io_say(s,
                      "it has %" PRIu64 " bytes, but the buffer's box %" PRIu64
                      "; a raw file has those of the box and nothing else",
                      (uint64_t)file.st_size, io_bytes(plan));
    }
    const io_array bytes = { .dims = 1, .size = { (size_t)file.st_size }, .type = TACIT_UINT8, .type_size = 1 };
    const io_array *a = plan->elem_size ? &plan->array : &bytes; /* the file itself does not know */
    s->facts.dims = a->dims;
    memcpy(s->facts.size, a->size, sizeof(a->size));
    s->facts.type = (tacit_type)a->type;
    s->facts.type_size = a->type_size;
    return true;
}

const io_format io_raw = { .name = "raw", .suffix = { ".raw", ".bin" }, .make = make, .look = look };
