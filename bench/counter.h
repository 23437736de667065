/* The processor's count of instructions that this thread executes in user space, where the kernel of the operating
 * system lets one read it.
 *
 * Unlike time it does not depend on what else the machine does. Virtual machines and containers often have no such
 * counter. One thread. */
#ifndef BENCH_COUNTER_H
#define BENCH_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct instruction_counter {
    int file; /* -1: there is none */
} instruction_counter;

instruction_counter counter_open(void);
void counter_close(instruction_counter *c);
static inline bool counter_works(const instruction_counter *c)
{
    return c->file >= 0;
}
/* Instructions since it was opened; 0 where there is no counter. */
uint64_t counter_read(const instruction_counter *c);

#endif
