/* How much memory a node may use: see memory_limit.h. */
#include "run/memory_limit.h"

#include "base/config.h"
#include "base/machine.h"

void ti_memory_limit_choose(ti_system *system, const tacit_config *config, int local_nodes)
{
    system->local_nodes = TI_MAX(local_nodes, 1);
    system->machine = ti_machine_memory();
    uint64_t share = system->machine / (uint64_t)system->local_nodes;
    system->memory = config->dry_run ? 0
                                     : share; /* nothing is allocated then, unless the program asks what would fit */
    if (config->memory_limit) {
        ti_config_memory(config->memory_limit, share, &system->memory);
    }
}
