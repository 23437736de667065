/* What launchers say about this process in its environment. Any thread. */
#ifndef TI_LAUNCHED_H
#define TI_LAUNCHED_H

#include "base/macro.h"

/* Whether a launcher started this process. */
bool ti_launched(void);
/* And whether it started others with it. */
bool ti_launched_with_others(void);
/* The same, and this is the process that speaks for all of them: true in one, as far as launchers number them. */
bool ti_launched_as_speaker(void);
/* From now on this process ends when its launcher's process on this machine is killed, as Open MPI's and Slurm's do by
 * themselves, and those of Hydra (MPICH) do not. Lasts as long as the calling thread. */
void ti_launched_end_with_launcher(void);

#endif
