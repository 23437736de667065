/* Loops at the end of random programs, for what planners do not derive again. */
#ifndef TEST_LOOPS_H
#define TEST_LOOPS_H

#include "gen.h"

/* Append loops over tasks that the program has done, without host objects and collective groups: a loop, something
 * else, and another loop. Some are interrupted, and some are of up to `longest` tasks. */
enum { LOOPS_LONGEST = 100 };
void loops_append(gen_program *program, gen_rng *rng, int longest);

#endif
