/* Calling a kernel so that a touch of a protected page of its guarded copies comes back as a value.
 *
 * The handler of SIGSEGV and SIGBUS is one per process, because signals are: it is set while any context checks bounds,
 * finds the call that the address belongs to, and leaves everything else to the handler that was there before. A thread
 * that the kernel itself has started cannot return to our caller: the handler then says what it knows and lets the
 * process die, which ends the job. */
#ifndef TI_FAULT_H
#define TI_FAULT_H

#include "device/bounds/guarded.h"
#include "tacit/tacit.h"

#include <setjmp.h>

typedef enum ti_touch { TI_TOUCH_READ, TI_TOUCH_WRITE, TI_TOUCH_UNKNOWN } ti_touch;
const char *ti_touch_verb(ti_touch touch); /* "reads" */

/* One call of a kernel, by one thread. */
typedef struct ti_fault_call {
    const ti_guarded *copy; /* mapped */
    size_t copies;
    /* The outcome, if the call was left by a fault. */
    size_t hit; /* index of the copy */
    const char *address;
    ti_touch touch;
    /* For the handler. */
    const tacit_launch *launch;
    sigjmp_buf back;
} ti_fault_call;

void ti_fault_install(void);
void ti_fault_remove(void); /* as often as installed */

/* Calls the kernel; false if it touched a protected page of one of the copies. Installed. */
bool ti_fault_run(ti_fault_call *call, tacit_host_kernel *kernel, const tacit_launch *launch);

#endif
