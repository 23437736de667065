/* A dry run whose plans a simulated cluster executes (sim/cluster.h): its settings, and its report.
 *
 * The dry run itself goes on as always, as one node, so that the program gets its zeros at once; the cluster has all
 * nodes, and is given the same tasks. Application thread. */
#ifndef TI_SIMULATION_H
#define TI_SIMULATION_H

#include "sim/cluster.h"
#include "tacit/tacit.h"

typedef struct ti_simulation ti_simulation;

/* config->simulate has the files that describe the network and the nodes, with colons between them. NULL and a sentence
 * if they do not. `system` has the number of nodes, and gets that of all their workers. */
ti_simulation *ti_simulation_create(const tacit_config *config, ti_system *system, ti_strbuf *why);
/* Before the first task, once `system` is complete. False and a sentence if no trace can be written. */
bool ti_simulation_begin(ti_simulation *s, const ti_system *system, const tacit_config *config, ti_strbuf *why);
void ti_simulation_destroy(ti_simulation *s);

void ti_simulation_submit(ti_simulation *s, const ti_task *const *task, size_t count);
void ti_simulation_wait(ti_simulation *s, ti_cluster_event what);
void ti_simulation_choose(ti_simulation *s, const ti_system *system);
uint64_t ti_simulation_executed(const ti_simulation *s);
/* Whether a recorded run is followed. */
bool ti_simulation_replays(const ti_simulation *s);
/* What the program got from its n-th fence then. Zeros stay where that is not recorded. */
void ti_simulation_give_values(ti_simulation *s, uint64_t fence, void *data, size_t bytes);

/* Simulates the rest. One JSON object in `path`, or for people on stderr if that is NULL. */
bool ti_simulation_report(ti_simulation *s, const char *path, ti_strbuf *why);

#endif
