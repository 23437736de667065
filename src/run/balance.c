/* Weights of nodes: see balance.h. */
#include "run/balance.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_TASKS = 16,     /* after which the first wait chooses; then after twice as many */
    MIN_NS = 1000 * 1000, /* of kernels of a node: less says nothing */
    MAX_WEIGHT = 1000000,
    DIGITS = 15,
    SHOWN = 60 /* characters of a setting, in sentences */
};

/* ---- which weights */

static uint64_t mean_of_known(const uint64_t *rate, int nodes)
{
    unsigned __int128 sum = 0;
    unsigned known = 0;
    for (int i = 0; i < nodes; i++) {
        sum += rate[i];
        known += rate[i] > 0;
    }
    return known ? (uint64_t)(sum / known) : 0;
}

/* In proportion: a task takes as long as the node that has most, measured by its weight. */
static bool pays(const uint32_t *now, const uint32_t *weight, int nodes)
{
    unsigned __int128 before = 0, after = 0;
    bool any = false;
    for (int i = 0; i < nodes; i++) {
        before += now[i];
        after += weight[i];
    }
    for (int i = 0; i < nodes; i++) {
        any = any || 9 * now[i] * after >= 10 * weight[i] * before;
    }
    return any;
}

bool ti_balance_weigh(const uint64_t *rate, const uint32_t *now, int nodes, uint32_t *weight)
{
    const uint64_t mean = mean_of_known(rate, nodes);
    uint64_t most = TI_MAX(mean, (uint64_t)1);
    for (int i = 0; i < nodes; i++) {
        most = TI_MAX(most, rate[i]);
    }
    for (int i = 0; i < nodes; i++) {
        unsigned __int128 r = rate[i] ? rate[i] : mean;
        weight[i] = (uint32_t)TI_MAX((r * TI_BALANCE_FULL + most / 2) / most, (unsigned __int128)1);
    }
    return mean > 0 && pays(now, weight, nodes);
}

/* ---- the setting */

/* A number of at most DIGITS, behind which *text is afterwards. */
static bool take_number(const char **text, uint64_t least, uint64_t *out)
{
    size_t digits = strspn(*text, "0123456789");
    *out = digits >= 1 && digits <= DIGITS ? strtoull(*text, NULL, 10) : 0;
    *text += digits;
    return digits >= 1 && digits <= DIGITS && *out >= least;
}

/* The choice at *text, behind which it is afterwards: after how many tasks it counts, how many weights it has, and the
 * first `room` of these. */
static bool take_choice(const char **text, uint64_t *after, uint32_t *weight, int room, int *count)
{
    const char *colon = strchr(*text, ':'), *slash = strchr(*text, '/');
    *after = 0;
    *count = 0;
    if (colon && (!slash || colon < slash) && (!take_number(text, 0, after) || *(*text)++ != ':')) {
        return false;
    }
    for (uint64_t number; take_number(text, 1, &number) && number <= MAX_WEIGHT; ++*text) {
        if (*count < room) {
            weight[*count] = (uint32_t)number;
        }
        ++*count;
        if (**text != ',') {
            bool ends = **text == '\0' || **text == '/';
            *text += **text == '/' && (*text)[1];
            return ends && (*text)[0] != '/';
        }
    }
    return false;
}

/* All choices of a setting; they come in order. `weight` is scratch. */
static bool check_list(const char *setting, int nodes, uint32_t *weight, ti_strbuf *why)
{
    uint64_t after, last = 0;
    int count;
    const char *at = setting;
    do {
        bool is_first = at == setting;
        if (!take_choice(&at, &after, weight, nodes, &count) || (!is_first && after <= last)) {
            ti_strbuf_add(
                why,
                "TACIT_BALANCE is '%.*s', but must be off, auto, or one weight from 1 to %d for each node, as "
                "in 2,1,1; behind a slash others may follow that count after so many tasks, as in 2,1/64:3,1",
                SHOWN, setting, MAX_WEIGHT);
            return false;
        }
        if (count != nodes) {
            ti_strbuf_add(why,
                          "TACIT_BALANCE is '%.*s', which has %d weights where there are %d nodes; give one for each "
                          "node, or auto",
                          SHOWN, setting, count, nodes);
            return false;
        }
        last = after;
    } while (*at);
    return true;
}

static void find_next(ti_balance *b)
{
    const char *at = b->list;
    uint64_t after = UINT64_MAX;
    int count;
    if (at && *at) {
        take_choice(&at, &after, NULL, 0, &count);
    }
    b->due = after;
}

static void take_next(ti_balance *b)
{
    uint64_t after;
    int count;
    take_choice(&b->list, &after, b->weight, b->comm->num_nodes, &count);
    b->has_weights = true;
    find_next(b);
}

static void add_weights(ti_strbuf *out, const uint32_t *weight, int nodes)
{
    for (int i = 0; i < nodes; i++) {
        ti_strbuf_add(out, "%s%u", i ? "," : "", weight[i]);
    }
}

/* The weights that hold from now on. */
static void remember(ti_balance *b)
{
    ti_strbuf_add(&b->said, "%s%llu:", b->said.length ? "/" : "", (unsigned long long)b->tasks);
    add_weights(&b->said, b->weight, b->comm->num_nodes);
}

static bool measures(const ti_balance *b, bool is_dry)
{
    if (is_dry || b->comm->num_nodes == 1) {
        return false;
    }
    bool any = b->comm->ops->sum(b->comm, b->system->accelerators > 0) > 0;
    if (any && b->comm->node == 0) {
        ti_log(TI_LOG_WARNING, "TACIT_BALANCE=auto measures kernels on cores only, and a node has accelerators: all "
                               "nodes get equal shares; give weights instead, as in TACIT_BALANCE=2,1");
    }
    return !any;
}

bool ti_balance_init(ti_balance *b, const char *setting, ti_comm *comm, const ti_system *system, bool is_dry,
                     ti_strbuf *why)
{
    const int nodes = comm->num_nodes;
    b->comm = comm;
    b->system = system;
    b->due = UINT64_MAX;
    if (!setting || strcmp(setting, "off") == 0) {
        return true;
    }
    b->weight = TI_NEW_ARRAY(uint32_t, (size_t)nodes);
    if (strcmp(setting, "auto") == 0) {
        b->on = b->measures = measures(b, is_dry);
        b->due = FIRST_TASKS;
    } else if (check_list(setting, nodes, b->weight, why)) {
        b->on = true;
        b->list = setting;
        find_next(b);
    }
    for (int i = 0; i < nodes; i++) {
        b->weight[i] = TI_BALANCE_FULL;
    }
    if (b->list && b->due == 0) {
        take_next(b);
        remember(b);
    }
    return b->on || strcmp(setting, "auto") == 0;
}

void ti_balance_fini(ti_balance *b)
{
    ti_free(b->weight, b->weight ? (size_t)b->system->num_nodes * sizeof(*b->weight) : 0);
    ti_strbuf_fini(&b->said);
}

/* ---- measuring */

/* Of what all workers share, one needs so much of the device's time; devices have a share each. */
void ti_balance_note_part(ti_balance *b, const ti_host_part *part)
{
    if (part->task && part->task->shape->balanced) {
        uint64_t together = (uint64_t)(TI_MIN(part->parts, b->system->workers) * ti_system_hosts(b->system));
        atomic_fetch_add_explicit(&b->ns, (ti_clock_ns() - part->start) / together, memory_order_relaxed);
        atomic_fetch_add_explicit(&b->done, part->items, memory_order_relaxed);
    }
}

/* A rate travels as a number of 21 bits: its leading ones, and by how many bits these are shifted. So three of them fit
 * into a sum, where each node has a place of its own. */
enum { LEADING = 15, CODE = 21, CODES = 3 };

static uint64_t code_of(uint64_t rate)
{
    uint64_t shift = 0;
    while (rate >> shift >= (uint64_t)1 << LEADING) {
        shift++;
    }
    return shift << LEADING | rate >> shift;
}

static uint64_t rate_of(uint64_t code)
{
    return (code & (((uint64_t)1 << LEADING) - 1)) << (code >> LEADING);
}

static void gather(ti_comm *comm, uint64_t own, uint64_t *rate)
{
    const uint64_t mask = ((uint64_t)1 << CODE) - 1;
    for (int first = 0; first < comm->num_nodes; first += CODES) {
        int place = comm->node - first;
        uint64_t mine = place >= 0 && place < CODES ? code_of(own) << (CODE * place) : 0;
        uint64_t all = (uint64_t)comm->ops->sum(comm, (int64_t)mine);
        for (int i = 0; i < CODES && first + i < comm->num_nodes; i++) {
            rate[first + i] = rate_of(all >> (CODE * i) & mask);
        }
    }
}

/* Items in a second, of all nodes. False: too little was measured to say anything. */
static bool measure(ti_balance *b, uint64_t *rate)
{
    uint64_t done = atomic_load_explicit(&b->done, memory_order_relaxed);
    uint64_t ns = atomic_load_explicit(&b->ns, memory_order_relaxed);
    const int64_t enough = (int64_t)MIN_NS * b->comm->num_nodes;
    if (b->comm->ops->sum(b->comm, (int64_t)ns) < enough) {
        return false;
    }
    unsigned __int128 own = (unsigned __int128)done * 1000000000u / TI_MAX(ns, (uint64_t)1);
    gather(b->comm, done && ns ? (uint64_t)TI_MIN(own, (unsigned __int128)INT64_MAX) : 0, rate);
    atomic_store_explicit(&b->done, 0, memory_order_relaxed);
    atomic_store_explicit(&b->ns, 0, memory_order_relaxed);
    return true;
}

/* ---- choosing */

static void say(ti_balance *b, const char *why)
{
    remember(b);
    if (b->comm->node == 0) {
        ti_strbuf now = { 0 };
        add_weights(&now, b->weight, b->comm->num_nodes);
        ti_log(TI_LOG_INFO, "balance: after %llu tasks the nodes' weights are %s: %s; the same again: TACIT_BALANCE=%s",
               (unsigned long long)b->tasks, now.text, why, b->said.text);
        ti_strbuf_fini(&now);
    }
}

static void say_no(const ti_balance *b, const char *why)
{
    if (b->comm->node == 0) {
        ti_log(TI_LOG_INFO, "balance: after %llu tasks the nodes' weights stay as they are: %s",
               (unsigned long long)b->tasks, why);
    }
}

static bool choose_by_list(ti_balance *b)
{
    bool any = false;
    while (b->tasks >= b->due) {
        take_next(b);
        any = true;
    }
    if (any) {
        say(b, "so TACIT_BALANCE says");
    }
    return any;
}

static bool choose_by_rates(ti_balance *b, uint64_t *rate, uint32_t *weight)
{
    const size_t bytes = (size_t)b->comm->num_nodes * sizeof(*weight);
    if (!measure(b, rate)) {
        say_no(b, "kernels took too little time to measure them");
        return false;
    }
    if (!ti_balance_weigh(rate, b->weight, b->comm->num_nodes, weight)) {
        say_no(b, "others would save less than a tenth");
        return false;
    }
    memcpy(b->weight, weight, bytes);
    b->has_weights = true;
    say(b, "in proportion to the items in a second that were measured");
    return true;
}

bool ti_balance_choose(ti_balance *b)
{
    const size_t nodes = (size_t)b->comm->num_nodes;
    if (!b->on) {
        return false;
    }
    if (!b->measures) {
        return choose_by_list(b);
    }
    uint64_t *rate = TI_NEW_ARRAY(uint64_t, nodes);
    uint32_t *weight = TI_NEW_ARRAY(uint32_t, nodes);
    b->due = 2 * TI_MAX(b->tasks, (uint64_t)FIRST_TASKS);
    bool changed = choose_by_rates(b, rate, weight);
    ti_free(rate, nodes * sizeof(*rate));
    ti_free(weight, nodes * sizeof(*weight));
    return changed;
}
