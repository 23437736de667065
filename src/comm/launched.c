/* What launchers say: see launched.h. */
#include "comm/launched.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

/* Slurm also describes the shell of a batch or interactive job, whose step numbers are reserved ones at the top of 32
 * bits. */
static bool is_slurm_step(void)
{
    const char *step = is_set("SLURM_STEP_ID") ? getenv("SLURM_STEP_ID") : getenv("SLURM_STEPID");
    return is_set("SLURM_PROCID") && step && *step && strtoull(step, NULL, 10) < 0xfffffff0u;
}

bool ti_launched(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK",
                                         "MPI_LOCALNRANKS" };
    for (size_t i = 0; i < TI_COUNT(names); i++) {
        if (is_set(names[i])) {
            return true;
        }
    }
    return is_slurm_step();
}

bool ti_launched_with_others(void)
{
    static const char *const sizes[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS",
                                         "SLURM_STEP_NUM_TASKS" };
    for (size_t i = 0; ti_launched() && i < TI_COUNT(sizes); i++) {
        if (is_set(sizes[i]) && atoi(getenv(sizes[i])) > 1) {
            return true;
        }
    }
    return false;
}

bool ti_launched_as_speaker(void)
{
    static const char *const ranks[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MPI_LOCALRANKID",
                                         "SLURM_PROCID" };
    if (!ti_launched_with_others()) { /* PMIx alone says no size, but who has rank 1 is not alone */
        return is_set("PMIX_RANK") && atoi(getenv("PMIX_RANK")) == 1;
    }
    for (size_t i = 0; i < TI_COUNT(ranks); i++) {
        if (is_set(ranks[i])) {
            return atoi(getenv(ranks[i])) == 0;
        }
    }
    return true;
}

/* The signal comes when the thread that started this process ends, so only for a launcher with one thread. */
void ti_launched_end_with_launcher(void)
{
    char path[64], name[32] = "";
    pid_t parent = getppid();
    snprintf(path, sizeof(path), "/proc/%ld/comm", (long)parent);
    FILE *file = fopen(path, "r");
    bool hydra = file && fgets(name, sizeof(name), file) && strcmp(name, "hydra_pmi_proxy\n") == 0;
    if (file) {
        fclose(file);
    }
    if (hydra && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() != parent) {
        raise(SIGKILL);
    }
}
