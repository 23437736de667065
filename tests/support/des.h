/* Recorded commands of all nodes, executed in random order with messages that are eager or not, and receive targets
 * that hold nothing while a message is on its way.
 *
 * Every command starts when its dependencies have ended and not before: values must be the right ones nevertheless,
 * every message must find its receive, reductions must get all contributions, and nothing may wait for ever. Needs
 * sim_options::record. One thread. */
#ifndef TEST_DES_H
#define TEST_DES_H

#include "sim.h"

/* False if something is wrong; s->why says what. */
bool des_run(sim *s, uint64_t seed);

#endif
