/* Which cores the threads of a node are bound to: see pin.h. */
#include "run/pin.h"

#include "base/check.h"
#include "device/host.h"

#include <string.h>
#include <unistd.h>

static bool find_listed(const char *text, const ti_cores *all, ti_cores *out, ti_strbuf *why)
{
    if (!ti_cores_parse(text, out)) {
        ti_strbuf_add(why, "TACIT_PIN is '%s', but must be auto, off, or a list of cores such as 0-3,8", text);
        return false;
    }
    for (int core = 0; core < TI_MAX_CORES; core++) {
        if (ti_cores_has(out, core) && !ti_cores_has(all, core)) {
            ti_strbuf_add(
                why, "TACIT_PIN names core %d, which this process may not use; `tacit info` shows which it may", core);
            return false;
        }
    }
    return true;
}

/* This node's part of the cores that it shares with others. */
static void divide(ti_pin *pin, const ti_cores *cores, const ti_comm *comm)
{
    int list[TI_MAX_CORES], total = ti_cores_count(cores);
    int machine = total ? total : (int)TI_MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    int nodes = TI_MAX(comm->sharing ? comm->sharing : comm->local_nodes, 1);
    pin->cores = TI_MAX(machine / nodes, 1);
    pin->part = (int)(INT64_C(1000) * machine / nodes);
    pin->is_crowded = machine < nodes;
    pin->count = comm->sharing && total ? total / nodes : 0;
    if (pin->count == 0) {
        pin->reason = total ? "because nodes of this machine share cores" : "because the cores are not known";
        return;
    }
    int begin = (int)((int64_t)total * comm->sharing_before / nodes);
    TI_ASSERT(0 <= comm->sharing_before && comm->sharing_before < nodes);
    TI_ASSERT(begin + pin->count <= total);
    (void)ti_host_order(cores, list);
    for (int i = 0; i < pin->count; i++) {
        pin->core[i] = list[begin + i];
        ti_cores_add(&pin->share, list[begin + i]);
    }
    TI_ASSERT(ti_cores_count(&pin->share) == pin->count);
}

bool ti_pin_find(ti_pin *pin, const char *text, const ti_comm *comm, ti_strbuf *why)
{
    bool is_off = text && strcmp(text, "off") == 0;
    *pin = (ti_pin){ .kind = TI_PIN_NONE };
    ti_cores_of_process(&pin->all);
    ti_cores cores = pin->all;
    pin->is_listed = text && !is_off && strcmp(text, "auto") != 0;
    if (pin->is_listed && !find_listed(text, &pin->all, &cores, why)) {
        return false;
    }
    divide(pin, &cores, comm);
    if (is_off) {
        pin->count = 0;
        pin->reason = "because TACIT_PIN=off";
    }
    return true;
}

void ti_pin_decide(ti_pin *pin, int threads)
{
    if (pin->count == 0) {
        return;
    }
    bool is_part = ti_cores_count(&pin->share) < ti_cores_count(&pin->all);
    if (threads > pin->count) {
        pin->reason = "because there are more threads than cores";
    } else if (threads == pin->count || pin->is_listed) {
        pin->kind = TI_PIN_EACH;
    } else if (is_part) {
        pin->kind = TI_PIN_SHARE;
    } else {
        pin->reason = "because there are more cores than threads";
    }
}

void ti_pin_begin(ti_pin *pin)
{
    TI_ASSERT(!pin->has_taken);
    pin->thread = ti_cores_thread();
    ti_cores_of_thread(&pin->before);
    pin->has_taken = pin->kind != TI_PIN_NONE && ti_cores_take(&pin->share);
    if (pin->kind != TI_PIN_NONE && !pin->has_taken) {
        pin->kind = TI_PIN_NONE;
        pin->reason = "because another context or process has the cores";
    }
    if (ti_pin_set(pin)) {
        ti_cores_bind(0, ti_pin_set(pin));
    }
}

void ti_pin_end(ti_pin *pin, int worker)
{
    if (pin->kind == TI_PIN_NONE) {
        ti_cores_bind(0, &pin->before);
    } else if (worker >= 0) {
        ti_pin_thread(pin, worker);
    }
}

void ti_pin_release(ti_pin *pin)
{
    if (pin->has_taken) {
        ti_cores_bind(pin->thread, &pin->before);
        ti_cores_give_back(&pin->share);
        pin->has_taken = false;
    }
}

void ti_pin_thread(const ti_pin *pin, int index)
{
    ti_cores own = { .word = { 0 } };
    TI_ASSERT(pin->kind != TI_PIN_EACH || (0 <= index && index < pin->count));
    if (pin->kind == TI_PIN_EACH) {
        ti_cores_add(&own, pin->core[index]);
        ti_cores_bind(0, &own);
    }
}

static void add_cores(const ti_cores *cores, ti_strbuf *out)
{
    const char *before = "";
    for (int core = 0; core < TI_MAX_CORES; core++) {
        int first = core;
        if (!ti_cores_has(cores, core)) {
            continue;
        }
        while (ti_cores_has(cores, core + 1)) {
            core++;
        }
        ti_strbuf_add(out, first == core ? "%s%d" : "%s%d-%d", before, first, core);
        before = ",";
    }
}

void ti_pin_describe(const ti_pin *pin, ti_strbuf *out)
{
    if (pin->kind == TI_PIN_NONE) {
        ti_strbuf_add(out, "nothing, %s", pin->reason);
        return;
    }
    ti_strbuf_add(out, pin->kind == TI_PIN_EACH ? "each thread to its own of the cores " : "all threads to the cores ");
    add_cores(&pin->share, out);
}
