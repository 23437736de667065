/* What the tool finds out about programs and about this machine, by asking them. See tool.h. */
#include "tool.h"

#include "base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    struct stat s;
    return access(path, X_OK) == 0 && stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

char *tool_find(const char *name)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/')) {
        return is_program(name) ? ti_strdup(name) : NULL;
    }
    for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path && *name;) {
        int length = (int)strcspn(path, ":");
        ti_strbuf candidate = { 0 };
        ti_strbuf_add(&candidate, "%.*s/%s", length ? length : 1, length ? path : ".", name);
        char *found = is_program(candidate.text) ? ti_strdup(candidate.text) : NULL;
        ti_strbuf_fini(&candidate);
        if (found) {
            return found;
        }
        path += length + (path[length] == ':');
    }
    return NULL;
}

char *tool_prefix(void)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0) {
        return NULL;
    }
    self[length] = '\0';
    return ti_strdup(dirname(dirname(self)));
}

/* What `program option argument` prints (`option`: NULL, or one before the argument); empty if it cannot be run. */
static void read_output(const char *program, const char *option, const char *argument, ti_strbuf *out)
{
    int ends[2];
    char chunk[4096];
    ssize_t n;
    if (pipe(ends) != 0) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, 0);
        dup2(ends[1], 1);
        dup2(nowhere, 2);
        close(ends[0]);
        execlp(program, program, option ? option : argument, option ? argument : (char *)NULL, (char *)NULL);
        _exit(TOOL_NOT_FOUND);
    }
    close(ends[1]);
    while (child > 0 && ((n = read(ends[0], chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR))) {
        ti_strbuf_add(out, "%.*s", n > 0 ? (int)n : 0, chunk);
    }
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

static int find_loader(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_INTERP) {
            *(const char **)user = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    return 1; /* this program comes first */
}

/* One line per library of a program. Asks the loader of this tool, for ldd is a script that starts three programs; it
 * knows other loaders, though. */
static void list_libraries(const char *path, ti_strbuf *out)
{
    const char *loader = NULL;
    dl_iterate_phdr(find_loader, &loader);
    if (loader) {
        read_output(loader, "--list", path, out);
    }
    if (!out->length) {
        read_output("ldd", NULL, path, out);
    }
}

/* libmpi.so.12 is the name that MPICH and its relatives agreed on; Open MPI's libmpi.so has had other numbers, 40
 * since 2017. */
tool_mpi tool_mpi_of(const char *path)
{
    ti_strbuf libraries = { 0 };
    tool_mpi mpi = TOOL_MPI_UNKNOWN;
    list_libraries(path, &libraries);
    const char *text = ti_strbuf_text(&libraries);
    if (strstr(text, "libmpich.so.") || strstr(text, "libmpi.so.12")) {
        mpi = TOOL_MPI_MPICH;
    } else if (strstr(text, "libmpi.so.")) {
        mpi = TOOL_MPI_OPENMPI;
    } else if (strstr(text, "libtacit.so.")) {
        mpi = TOOL_MPI_NONE;
    }
    ti_strbuf_fini(&libraries);
    return mpi;
}

tool_mpi tool_mpi_of_launcher(const char *path)
{
    ti_strbuf version = { 0 };
    tool_mpi mpi = TOOL_MPI_UNKNOWN;
    read_output(path, NULL, "--version", &version);
    const char *text = ti_strbuf_text(&version);
    if (strstr(text, "Open MPI") || strstr(text, "OpenRTE") || strstr(text, "PRRTE")) {
        mpi = TOOL_MPI_OPENMPI;
    } else if (strstr(text, "HYDRA") || strstr(text, "Intel(R) MPI")) {
        mpi = TOOL_MPI_MPICH;
    }
    ti_strbuf_fini(&version);
    return mpi;
}

bool tool_can_read_processes(void)
{
    volatile char here = 1;
    char there = 0;
    int status = 1;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* as Open MPI's processes do for each other */
    pid_t child = fork();
    if (child == 0) {
        struct iovec to = { &there, 1 }, from = { (void *)(uintptr_t)&here, 1 };
        _exit(process_vm_readv(getppid(), &to, 1, &from, 1, 0) == 1 ? 0 : 1);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    prctl(PR_SET_PTRACER, 0, 0, 0, 0);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
