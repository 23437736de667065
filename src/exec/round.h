/* A round of a steady loop that is carried out in order, without the engine: the program's thread runs its parts of
 * kernels and combines results, and the workers see for themselves what is next (device/host_fork.h). What does not
 * differ from round to round is prepared once: also which kernels go to which worker alone, when what they need has
 * ended (round_spread.h). Where workers are worth it is found by trials (round_choice.h). With
 * one host device; and on several nodes only where these are near each other: what waits for a message waits in order,
 * so nothing is done meanwhile. Executor role. */
#ifndef TI_EXEC_ROUND_H
#define TI_EXEC_ROUND_H

#include "device/host_fork.h"
#include "exec/collective_issue.h"
#include "exec/executor.h"
#include "exec/round_spread.h"

struct ti_signal;

/* What is known of an instruction of the round. */
typedef struct ti_round_op {
    ti_instruction *instruction;
    ti_instruction_kind kind;
    bool turn;
    bool may_move;        /* a kernel in one piece, which may run beside others */
    struct ti_job *job;   /* of a kernel: this and the next ones */
    size_t choice;        /* whether it is cut */
    size_t args, bytes;   /* where they lie, twice: in turns; of a message: its size */
    ti_host_wait part[2]; /* when it has ended: the latest turn, and the one before */
    uint64_t ns;          /* that it takes, as far as is known */
    int pieces;
    char *slots, *to;        /* of a reduction */
    ti_block from;           /* of a copy to the program's memory */
    size_t block;            /* of a message: the first; of a reduction that is kept: 1 + its number, else 0 */
    uint64_t number, stride; /* of a message or a collective: of the next one, and how many there are in a round */
} ti_round_op;

/* Aligned as arguments are. */
typedef struct ti_round_bytes {
    _Alignas(16) char bytes[16];
} ti_round_bytes;

/* A receive that has not been started, since its message may come in a moment: of which instruction, and its number. */
typedef struct ti_round_open {
    size_t at;
    uint64_t number;
} ti_round_open;

/* A zeroed one is fresh. */
typedef struct ti_round_ops {
    TI_VEC(ti_round_op) op;
    TI_VEC(ti_round_bytes) args;
    TI_VEC(ti_block) block;
    TI_VEC(ti_kept_reduction) kept;
    TI_VEC(ti_round_open) open;
    ti_host_fork *fork; /* the device's */
    int self;           /* the worker that the caller is, or -1 */
    uint64_t long_ns;   /* longer than all kernels of a round should take; 0: not known */
    ti_spread spread;
    size_t spreads; /* whether kernels are spread so: a choice; SIZE_MAX: there is none */
} ti_round_ops;

/* Whether instructions of this kind can be carried out so. */
bool ti_round_can(const ti_instruction *instruction);
/* Everything submitted before is complete. `instruction` stays where it is until the end, and its dependencies say how
 * many instructions before it they are. False: some kernel is not
 * known to be short, unless `always`, or somebody looks on; then there is nothing to end. */
bool ti_executor_begin_round(ti_executor *executor, ti_round_ops *ops, ti_instruction *instruction, size_t count,
                             int self, bool always);
/* Of an instruction that is a message or a collective, before the first round: the number of the first one, and how
 * many of those that are counted with it are in a round. */
void ti_round_number(ti_round_ops *ops, size_t at, uint64_t number, uint64_t stride);
static inline bool ti_round_talks(const ti_instruction *i)
{
    return i->kind == TI_INSTRUCTION_SEND || i->kind == TI_INSTRUCTION_RECEIVE || i->kind == TI_INSTRUCTION_COLLECTIVE;
}
/* Start a message or a collective, when nothing that runs touches what it does; `ti_executor_progress::round_messages`
 * counts what has not ended. Then poll, until all has, or so often. Other threads learn what is under way when the
 * caller leaves: until then it sees to that itself. */
void ti_executor_round_talk(ti_executor *executor, ti_round_ops *ops, size_t at);
bool ti_executor_round_poll(ti_executor *executor, ti_round_ops *ops, int looks);
void ti_executor_round_leave(ti_executor *executor, ti_round_ops *ops);
/* The next instruction that is neither. `args`: of the task's kernels. `memory`, `signal`: of a fence. */
void ti_executor_round_op(ti_executor *executor, ti_round_ops *ops, size_t at, const void *args, void *memory,
                          struct ti_signal *signal);
void ti_executor_round_horizon(ti_executor *executor); /* one has come */
void ti_executor_rest_round(ti_executor *executor);    /* all of it has ended */
void ti_executor_end_round(ti_executor *executor, ti_round_ops *ops);
void ti_round_ops_fini(ti_round_ops *ops);

/* Instructions that were carried out so are not submitted: so many, with so many points; or this one, unless it
 * allocates or frees memory, which is done now. */
void ti_executor_pass_all(ti_executor *executor, uint64_t instructions, uint64_t points);
void ti_executor_pass(ti_executor *executor, const ti_instruction *instruction);

#endif
