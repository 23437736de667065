/* What devices with a driver have in common: lanes of operations under way, whose events are polled; how they fail.
 *
 * A lane is an in-order queue of the driver (a queue of OpenCL, a stream of CUDA) with the operations it was given, the
 * oldest first. The first lanes are for kernels, the others for copies; which lane takes a copy is the driver's
 * matter. What the executor starts is ready, or the device awaits what it is behind: operations of other lanes, also
 * of other devices of the session, whose events the driver waits for. A kernel goes to the lane of one that it awaits,
 * where there is nothing to wait for. Only the oldest event of a lane is polled; a blocking call is made in `stop`
 * alone.
 *
 * A device's struct begins with a ti_accelerator, its table ti_device_ops takes `poll`, `room`, `stop` and `grow` from
 * here, and the rest is the driver's. Executor role, but for creation and the end. */
#ifndef TI_ACCELERATOR_H
#define TI_ACCELERATOR_H

#include "base/failure.h"
#include "base/vec.h"
#include "device/accelerator/memories.h"
#include "device/device.h"
#include "device/kernel_cache.h"
#include "ir/system.h"

/* What the devices of a node share, whatever their driver. */
typedef struct ti_session {
    ti_failure *failure;
    int users; /* the last one that leaves ends the session */
    ti_memories memory;
    ti_kernel_cache cache;
} ti_session;

typedef struct ti_operation {
    void *event; /* the driver's; NULL: the last one of its lane needs none */
    uint64_t token;
    uint64_t given;               /* ti_accelerator_now before the driver gets it, which may start it at once */
    const char *task;             /* NULL: a copy */
    bool is_part;                 /* another one behind it has the same token and tells it */
    const struct ti_lane *behind; /* another lane that it began after something of, or NULL */
    int slot;                     /* of the driver's, that it uses */
    ti_block home;                /* where the contents of the slot go at the end, if base is not NULL */
} ti_operation;

typedef struct ti_lane {
    TI_VEC(ti_operation) operation;
    size_t first; /* that has not been seen to end */
    /* If somebody looks on: when the last one ended, and when the first of the parts began that come before. */
    uint64_t ended, begun;
} ti_lane;

typedef struct ti_accelerator ti_accelerator;

/* What an operation that is going to be started is behind. */
typedef struct ti_awaited {
    ti_accelerator *device;
    int lane;
    uint64_t token;
} ti_awaited;

/* What the driver does. Codes are its own; 0 is success everywhere. */
typedef struct ti_driver_ops {
    const char *(*error_name)(const ti_accelerator *device, int code);
    bool (*is_shortage)(int code); /* of memory */
    /* Around all other calls: what they need to know the device. NULL: nothing. */
    int (*enter)(ti_accelerator *device);
    void (*leave)(ti_accelerator *device);
    /* An event behind the last operation of a lane that has none, between enter and leave. The driver's code; an event
     * that is set is released all the same. NULL: all operations have one. */
    int (*mark)(ti_accelerator *device, int lane, void **event);
    /* Whether the event has come, or what the lane has been given has all ended if there is none; `code` says whether
     * it can be told, and what preceded it went well. */
    bool (*has_come)(ti_accelerator *device, int lane, void *event, int *code);
    /* What the lane is given from now on begins after the event, of any lane of the session. Between enter and leave.
     */
    int (*wait)(ti_accelerator *device, int lane, void *event);
    /* What has been given to the driver starts, if it may still wait. NULL: it never does. */
    void (*flush)(ti_accelerator *device, int lane);
    /* It has ended well; before `release`. NULL: nothing is to be done. */
    void (*ended)(ti_accelerator *device, int lane, const ti_operation *operation);
    /* Its event, and what else it holds. */
    void (*release)(ti_accelerator *device, int lane, const ti_operation *operation);
    /* After a lane was polled: what waited for room in it. NULL: nothing does. */
    void (*feed)(ti_accelerator *device, int lane);
    /* Waits for all that a lane was given, and forgets what waits for room. */
    void (*drain)(ti_accelerator *device, int lane);
} ti_driver_ops;

enum { TI_MAX_LANES = 8 };

struct ti_accelerator {
    ti_device base;
    const ti_driver_ops *driver;
    ti_failure *failure;
    char name[TI_DEVICE_NAME]; /* as TACIT_DEVICES has it */
    int kernel_lanes, lanes;
    int ahead; /* kernels that wait in lanes: those that run, and those whose start must not wait for a poll */
    ti_lane lane[TI_MAX_LANES];
    TI_VEC(ti_awaited) awaited;
    const ti_lane *behind; /* of what has been awaited last, until the operation is started */
};

/* The caller is its first user; `cache` is TACIT_KERNEL_CACHE, or NULL. */
void ti_session_init(ti_session *session, const char *cache, ti_failure *failure);
void ti_session_fini(ti_session *session);

/* All or none of `count` devices, the i-th by `create`, into `out`. */
bool ti_accelerators_create(ti_device *(*create)(void *user, int i), void *user, int count, ti_device **out);

/* By the clock of who looks on; 0: nobody does. */
static inline uint64_t ti_accelerator_now(const ti_accelerator *device)
{
    return device->base.tap.used ? device->base.tap.now(device->base.tap.user) : 0;
}
/* Behind what a lane has been given: the operation, with its event. `code` says whether that was possible; if not, the
 * run has failed, and the operation never completes: nothing that needs it will run. */
void ti_accelerator_start(ti_accelerator *device, int lane, int code, const ti_operation *operation);
/* `task` cannot be started, has failed, ...; NULL: a copy. */
void ti_accelerator_fail(ti_accelerator *device, const char *task, const char *what, int code);
/* A kernel cannot be started; `group` is what its task says of groups, zeros if nothing. */
void ti_accelerator_fail_kernel(ti_accelerator *device, const char *task, const size_t group[TACIT_MAX_DIMS], int code);
/* The lane of the kernel that is awaited; else the one of kernels that has the fewest. */
int ti_accelerator_kernel_lane(const ti_accelerator *device);
/* Before an operation is given to a lane, between enter and leave: what is awaited, and an event for the operation
 * before, if it needs one. The driver's code. */
int ti_accelerator_wait_in(ti_accelerator *device, int lane);
/* Frees what the lanes have here; nothing is under way. */
void ti_accelerator_fini(ti_accelerator *device);

/* For ti_device_ops. */
int ti_accelerator_poll(ti_device *device, uint64_t *tokens, int max);
bool ti_accelerator_await(ti_device *device, ti_device *other, uint64_t token);
int ti_accelerator_room(ti_device *device);
void ti_accelerator_stop(ti_device *device);
/* The planner copies instead: nobody could move the contents but by commands. */
tacit_status ti_accelerator_grow(ti_device *device, void *ptr, size_t bytes, size_t more, void **out);

#endif
