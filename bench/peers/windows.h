/* The grids of `tacit bench latency` with MPI by hand, with halos of a chosen width: what a user would write who wants
 * to save messages. */
#ifndef PEER_WINDOWS_H
#define PEER_WINDOWS_H

#include "grids.h"

#include <stddef.h>

/* `steps` steps in windows of `width`: in each, one message to each neighbour, then what needs none of its own, then
 * the borders of all steps. A message is looked at `delay` seconds after it was sent, or later. `warm_up` steps come
 * first. Returns the seconds, from a barrier to the end of this rank, and in *result, of grid_elements doubles, the
 * newest field, on rank 0. Every rank has at least 2 x width rows. */
double windows_run(const grid *g, int steps, int warm_up, int width, double delay, double *result);

#endif
