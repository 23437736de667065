/* A folder for the temporary files of one job of Open MPI 4. See tool.h.
 *
 * Its launchers share a folder of the machine, which the last one that ends removes: one that starts meanwhile fails
 * ("mkdir was unable to create the desired directory", open-mpi/ompi issue 8510). With a folder for each, jobs may
 * start and end side by side. Other machines would keep an empty folder: jobs that go there share one as before. */
#include "tool.h"

#include "base/macro.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char setting[] = "OMPI_MCA_orte_tmpdir_base";

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    remove(path);
    return 0;
}

/* Where the user has said where these files go, they go there; where nothing can be written, the launcher says so. */
bool tool_session_begin(char folder[PATH_MAX])
{
    static const char *const users[] = { setting, "OMPI_MCA_orte_local_tmpdir_base", "OMPI_MCA_orte_remote_tmpdir_base",
                                         "OMPI_MCA_orte_default_hostfile" };
    for (size_t i = 0; i < TI_COUNT(users); i++) {
        if (getenv(users[i])) {
            return false;
        }
    }
    const char *parent = getenv("TMPDIR");
    int length = snprintf(folder, PATH_MAX, "%s/tacit-XXXXXX", parent && *parent ? parent : "/tmp");
    return length < PATH_MAX && mkdtemp(folder) && setenv(setting, folder, 1) == 0;
}

/* A launcher that was killed leaves files. */
void tool_session_end(const char *folder)
{
    enum { DESCRIPTORS = 8 };
    nftw(folder, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    unsetenv(setting);
}
