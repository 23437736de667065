/* Whether kernels that are marked pure are (TACIT_CHECK_PURE): what several nodes have computed of the same elements,
 * compared between them, bit by bit.
 *
 * When a kernel has run, the node keeps the values of its samples (ti_samples): elements that other nodes compute, too.
 * At points where all nodes wait for each other, they add up fingerprints: each copy counts once, and the value of the
 * node whose part it is counts against all of them, so the sum is 0 if all are equal. One sum over all nodes, however
 * many samples there are. If it is not 0, sums over fewer samples lead to the first task with a difference and one of
 * its elements, and then to the two values and a sentence that all nodes know.
 *
 * Of long stretches between two such points every 2nd, 4th, 8th ... task is kept, by its number, which is the same on
 * all nodes: so are the samples that are left. Executor role. */
#ifndef TI_PURITY_H
#define TI_PURITY_H

#include "base/strbuf.h"
#include "comm/comm.h"
#include "exec/allocation_table.h"

typedef struct ti_purity ti_purity;

ti_purity *ti_purity_create(ti_comm *comm);
void ti_purity_destroy(ti_purity *purity);

/* The instruction has been executed: keep what a kernel has left in the samples of its task. `purity` may be NULL. */
void ti_purity_note_kernel(ti_purity *purity, ti_allocation_table *table, const ti_instruction *instruction);
static inline void ti_purity_note(ti_purity *purity, ti_allocation_table *table, const ti_instruction *i)
{
    bool runs = i->kind == TI_INSTRUCTION_KERNEL || i->kind == TI_INSTRUCTION_HOST;
    if (TI_UNLIKELY(purity != NULL) && runs && i->as.kernel.samples) {
        ti_purity_note_kernel(purity, table, i);
    }
}

/* All nodes, which have planned and executed the same: compare what was kept since the last time. `planned`: the number
 * of the latest task that may have samples. False: something differs, and `why` says what, the same on all nodes. */
bool ti_purity_compare(ti_purity *purity, uint64_t planned, ti_strbuf *why);

/* Tasks that were compared so far; the same on all nodes. And elements on this one. */
uint64_t ti_purity_tasks(const ti_purity *purity);
uint64_t ti_purity_elements(const ti_purity *purity);

#endif
