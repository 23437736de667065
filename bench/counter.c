/* Counted instructions: see counter.h. */
#include "counter.h"

#include <unistd.h>

#if defined(__linux__)

#include <linux/perf_event.h>
#include <sys/syscall.h>

instruction_counter counter_open(void)
{
    struct perf_event_attr what = { .type = PERF_TYPE_HARDWARE,
                                    .size = sizeof(what),
                                    .config = PERF_COUNT_HW_INSTRUCTIONS,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1 };
    return (instruction_counter){ (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, 0ul) };
}

#else

instruction_counter counter_open(void)
{
    return (instruction_counter){ -1 };
}

#endif

void counter_close(instruction_counter *c)
{
    if (counter_works(c)) {
        close(c->file);
    }
    c->file = -1;
}

uint64_t counter_read(const instruction_counter *c)
{
    uint64_t value = 0;
    return counter_works(c) && read(c->file, &value, sizeof(value)) == (ssize_t)sizeof(value) ? value : 0;
}
