/* How a node runs: decided from its settings, its communicator and the machine, before anything is created.
 *
 * Pure functions but for the look at the cores of the machine. Any thread. */
#ifndef TI_CHOOSE_H
#define TI_CHOOSE_H

#include "base/strbuf.h"
#include "comm/comm.h"
#include "device/device.h"
#include "ir/system.h"
#include "run/device_list.h"
#include "run/pin.h"

/* Who takes the roles of scheduler and executor: see runtime.h. */
typedef enum ti_run_mode { TI_RUN_INLINE, TI_RUN_SHARED, TI_RUN_THREAD } ti_run_mode;

typedef struct ti_choice {
    ti_run_mode mode;
    int workers; /* per host device, at least 1 */
    ti_device_list list;
    bool attended;  /* there is an attendant (run/attendant.h) */
    uint32_t spins; /* of a thread that waits, before it gives up its core: ti_lot */
    uint32_t share; /* thousandths of a core that the threads may expect: base/crowd.h */
    ti_pin pin;     /* what threads are bound to */
} ti_choice;

/* What planning may depend on beside the settings. */
typedef struct ti_run_kind {
    ti_run_mode mode;
    bool is_dry, is_replay; /* of a recorded run, dry */
} ti_run_kind;

/* False and a sentence in `why` if what the settings ask for is not possible. Programs may be farther ahead if windows
 * need that. */
bool ti_choose(tacit_config *config, const ti_comm *comm, bool is_dry, ti_choice *out, ti_strbuf *why);

/* What planners may know of the devices. */
void ti_choose_system(const ti_choice *choice, ti_system *system);

/* Nanoseconds that threads with little to do but wait keep yielding: ti_lot's patience. */
uint32_t ti_choose_yields(const ti_choice *choice, const ti_system *system);

/* Nanoseconds that a window of allocations waits for more tasks; 0: until it is closed. */
uint64_t ti_choose_patience(ti_run_mode mode, const tacit_config *config);

/* How planners work: how often horizons come, how many a window of allocations may span, what becomes of collectives
 * and of what several nodes read, which all nodes choose alike; and what this node records. */
void ti_choose_planning(ti_system *system, const tacit_config *config, const ti_run_kind *kind, ti_comm *comm);

/* Whether messages leave from and arrive in the memory of accelerators: TACIT_DEVICE_MPI. */
void ti_choose_direct(ti_system *system, const tacit_config *config, ti_comm *comm);

/* Fills in what the planners may know of memory: from the machine, the nodes that share it equally, and
 * TACIT_MEMORY_LIMIT. */
void ti_choose_memory(ti_system *system, const tacit_config *config, int local_nodes);

/* Open the relays of broadcasts, if there are to be any. All nodes call this, before their threads start. */
/* What devices may allocate in memories of their own, when there are devices. */
void ti_choose_device_memory(ti_system *system, const tacit_config *config, ti_device *const *device);
void ti_choose_relays(const ti_system *system, ti_comm *comm);

#endif
