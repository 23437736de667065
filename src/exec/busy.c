/* How long accelerators are busy: see busy.h. */
#include "exec/busy.h"

#include "base/check.h"

void ti_busy_launched(ti_busy *busy, int device, uint64_t items, uint64_t before, uint64_t now)
{
    ti_busy_device *b = &busy->device[device];
    for (int d = 0; d < TI_MAX_MEMORIES && now - before > TI_BUSY_LONG_LAUNCH; d++) {
        busy->device[d].spoilt |= busy->device[d].running > 0;
    }
    if (items == 0) {
        return;
    }
    if (b->running == 0) {
        *b = (ti_busy_device){ .since = now };
    }
    b->running++;
    b->items += items;
}

void ti_busy_ended(ti_busy *busy, int device, uint64_t now)
{
    ti_busy_device *b = &busy->device[device];
    TI_ASSERT(b->running > 0);
    if (--b->running == 0 && !b->spoilt) {
        busy->done(busy->user, device, b->items, now - b->since);
    }
}
