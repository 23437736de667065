/* A device: what can hold memory and run kernels. One table of operations; host, OpenCL and CUDA devices implement it.
 *
 * Operations are asynchronous: start them, then poll for tokens of the completed ones. A lane is an in-order queue of a
 * device; the host device runs independent operations of a lane in any order that its workers find, since the executor
 * starts only what is ready. start/poll are called by one thread at a time (the executor role). Out of memory is a
 * status, not a failure.
 *
 * An accelerator chooses the queue of an operation itself. What it allocates is not the host's to touch: addresses
 * there are names, which only devices of its kind understand. */
#ifndef TI_DEVICE_H
#define TI_DEVICE_H

#include "grid/layout.h"
#include "tacit/tacit.h"

typedef struct ti_device ti_device;

/* Who lets an accelerator reach memory of the host by itself, as far as that is granted. Zeroed: nobody. */
typedef struct ti_pinner {
    void *user;
    void (*pin)(void *user, void *memory, size_t bytes);
    void (*unpin)(void *user, void *memory); /* before it is freed; also if it was not granted */
} ti_pinner;

/* A kernel on one box of items; views and arguments stay valid until completion. What differs when a kernel comes again
 * lies together: other cores have the rest already. */
typedef struct ti_device_kernel {
    tacit_host_kernel *host;    /* for workers, or NULL */
    const tacit_kernel *kernel; /* all kernels, if there are others, or NULL */
    tacit_launch launch;        /* chunk = the whole box; worker is filled in by the device */
    uint64_t token;
    void *user;
    const struct ti_task *task; /* whose accesses are checked then, and whose items may have weights; or NULL */
    void *at;                   /* the device's, from launch to completion */
    bool whole;                 /* one call for the whole chunk */
    bool brief;                 /* it takes less than starting it does, and is neither cut nor measured */
    int64_t granule; /* cuts along dimension 0 lie on multiples of it from the chunk's begin; see ti_split_share */
    /* Of a task with reductions on an accelerator: how many groups, of so many work-items, have a partial result each;
     * 0: the items of the chunk decide. */
    uint32_t groups, group_items;
    /* Reductions: calls the kernel for a part, whose chunk is in `launch`; NULL: called once, with `launch`. */
    void (*run)(struct ti_device_kernel *job, int part, int parts, tacit_launch *launch);
    /* Host: the kernel runs on guarded copies (device/bounds/check.h). NULL: on the views themselves. */
    struct ti_bounds *bounds;
} ti_device_kernel;

/* What travels between devices of several nodes, as blocks in this node's device; how many bytes that is all who take
 * part know alike. */
typedef struct ti_device_share {
    int node;   /* whose contents they are; of a message, the other one */
    bool gives; /* a message: this node sends it, else it receives it */
    uint32_t blocks;
    const ti_block *block;
    size_t bytes;
} ti_device_share;

/* This node's part of a collective in the memory of devices that reach each other's. */
typedef struct ti_device_exchange {
    enum {
        TI_DEVICE_MESSAGES,   /* between pairs of nodes */
        TI_DEVICE_BROADCASTS, /* each share goes from its node to all others */
        TI_DEVICE_ALL_GATHER  /* the same, with a share of each node, in order, all of one size */
    } kind;
    uint32_t shares;
    const ti_device_share *share;
} ti_device_exchange;

/* A kernel or copy that a lane of a device has carried out, by the clock of who looks on. */
typedef struct ti_lane_use {
    uint64_t token, start, end;
    int lane;
    bool is_kernel;
} ti_lane_use;

/* Who looks on: traced runs. Zeroed: nobody. Executor role. */
typedef struct ti_lane_tap {
    void *user;
    int device; /* as `user` counts */
    uint64_t (*now)(void *user);
    void (*used)(void *user, int device, const ti_lane_use *use);
} ti_lane_tap;

typedef struct ti_device_ops {
    const char *name;
    void (*destroy)(ti_device *device);
    /* Ends what has been started: nothing runs any more, and nothing touches memory. What is queued may be dropped.
     * Before the structures go away that kernels and completions use; more than once does no harm. */
    void (*stop)(ti_device *device);
    tacit_status (*alloc)(ti_device *device, size_t bytes, void **out); /* not touched; 64-byte aligned */
    void (*free)(ti_device *device, void *ptr, size_t bytes);
    /* More bytes with the same contents at the begin; the old address means nothing then. If there is no memory, all
     * stays as it was. Both are not held at once, or not for long. */
    tacit_status (*grow)(ti_device *device, void *ptr, size_t bytes, size_t more, void **out);
    void (*copy)(ti_device *device, int lane, const ti_block *to, const ti_block *from, uint64_t token);
    void (*launch)(ti_device *device, int lane, ti_device_kernel *job); /* job lives until its token was polled */
    /* Starts this node's part of a collective; all nodes start these in one order. What `x` points to is read before
     * this returns. NULL, or the device has not been connected with those of other nodes: it cannot. */
    void (*exchange)(ti_device *device, const ti_device_exchange *x, uint64_t token);
    int (*poll)(ti_device *device, uint64_t *tokens, int max);
    /* The next copy or launch begins when the operation `token` of `other`, a device of the same kind, has ended; it
     * was started, and no poll has reported it. The later one may be reported sooner. False: this cannot be, and
     * nothing is awaited any more. NULL: the device has no such thing. */
    bool (*await)(ti_device *device, ti_device *other, uint64_t token);
    int (*room)(ti_device *device); /* how many more kernels it wants now, so that the rest can still be reordered */
    /* A kernel that waits for nothing but `first`, which was launched, and what that follows, may follow it: whoever
     * ends `first` starts it, or lets others start it, and it may be reported sooner. may_be_followed: whether a kernel
     * may follow `first` now. follow: launch `job` so; false: `first` has ended already, or `job` is not short enough,
     * and nothing has happened. tell: whoever ends `first` is to look for what else waits for it. All three NULL: the
     * device has no such thing. */
    bool (*may_be_followed)(ti_device *device, const ti_device_kernel *first);
    bool (*follow)(ti_device *device, ti_device_kernel *first, ti_device_kernel *job);
    void (*tell)(ti_device *device, ti_device_kernel *first);
} ti_device_ops;

struct ti_device {
    const ti_device_ops *ops;
    int workers;      /* how many parts of a kernel can run at once */
    uint64_t memory;  /* bytes for allocations, of an accelerator; 0: not known */
    int silent;       /* operations under way of whose end nobody hears but by `poll`; executor role */
    ti_lane_tap tap;  /* the caller's, before the first operation; devices without lanes do not use it */
    ti_pinner pinner; /* of what a host device allocates; before it allocates anything */
};

/* Operations of the devices [from, to) that somebody must poll for, as for messages. */
static inline size_t ti_devices_silent(ti_device *const *device, int from, int to)
{
    size_t count = 0;
    for (int d = from; d < to; d++) {
        count += (size_t)device[d]->silent;
    }
    return count;
}

#endif
