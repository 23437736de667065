/* Weights of nodes and devices: see balance.h. */
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

/* ---- the setting */

/* A number of at most DIGITS, behind which *text is afterwards. */
static bool take_number(const char **text, uint64_t least, uint64_t *out)
{
    size_t digits = strspn(*text, "0123456789");
    *out = digits >= 1 && digits <= DIGITS ? strtoull(*text, NULL, 10) : 0;
    *text += digits;
    return digits >= 1 && digits <= DIGITS && *out >= least;
}

/* A choice of a setting. */
typedef struct choice {
    uint64_t after; /* so many tasks */
    int nodes;      /* that it has weights of */
    int odd;        /* the first of them whose devices it has another number of weights of than there are; -1: none */
    int given;      /* that number */
} choice;

/* =8+1, behind which *text is afterwards. */
static bool take_devices(const char **text, uint32_t row[TI_MAX_MEMORIES], int *count)
{
    uint64_t number;
    for (*count = 0; **text == (*count ? '+' : '='); ++*count) {
        ++*text;
        if (*count == TI_MAX_MEMORIES || !take_number(text, 1, &number) || number > MAX_WEIGHT) {
            return false;
        }
        row[*count] = (uint32_t)number;
    }
    return true;
}

/* Weight, and those of its devices, of the next node. */
static bool take_node(const char **text, ti_balance *b, bool holds, choice *c)
{
    uint32_t row[TI_MAX_MEMORIES] = { 0 };
    uint64_t number;
    const int node = c->nodes++;
    if (!take_number(text, 1, &number) || number > MAX_WEIGHT || !take_devices(text, row, &c->given)) {
        return false;
    }
    if (node >= b->comm->num_nodes) {
        return true;
    }
    const bool is_known = node == b->comm->node || b->shares.are_alike;
    if (is_known && c->given && c->odd < 0 && c->given != ti_shares_count(&b->shares)) {
        c->odd = node;
    }
    if (holds) {
        b->weight[node] = (uint32_t)number;
    }
    if (holds && ti_shares_of(&b->shares, node)) {
        memcpy(ti_shares_of(&b->shares, node), row, sizeof(row));
    }
    return c->odd < 0;
}

/* The choice at *text, behind which it is afterwards, holds from now on, or is only looked at. False: it means
 * nothing, or, if it is `odd`, nothing here. */
static bool take_choice(const char **text, ti_balance *b, bool holds, choice *c)
{
    const char *colon = strchr(*text, ':'), *slash = strchr(*text, '/');
    *c = (choice){ .odd = -1 };
    if (colon && (!slash || colon < slash) && (!take_number(text, 0, &c->after) || *(*text)++ != ':')) {
        return false;
    }
    for (; take_node(text, b, holds, c); ++*text) {
        if (**text != ',') {
            bool ends = **text == '\0' || **text == '/';
            *text += **text == '/' && (*text)[1];
            return ends && (*text)[0] != '/';
        }
    }
    return false;
}

static void refuse(const ti_balance *b, const char *setting, const choice *c, ti_strbuf *why)
{
    if (c->odd >= 0) {
        ti_strbuf_add(
            why,
            "TACIT_BALANCE is '%.*s', which has %d weights for the devices of node %d, but %d share its work; "
            "give one for each, or leave out = and what follows it",
            SHOWN, setting, c->given, c->odd, ti_shares_count(&b->shares));
        return;
    }
    ti_strbuf_add(why,
                  "TACIT_BALANCE is '%.*s', but must be off, auto, or one weight from 1 to %d for each node, as in "
                  "2,1,1, and perhaps of its devices, as in 2=8+1,1,1; behind a slash others may follow that count "
                  "after so many tasks, as in 2,1/64:3,1",
                  SHOWN, setting, MAX_WEIGHT);
}

/* All choices of a setting; they come in order. */
static bool check_list(ti_balance *b, const char *setting, ti_strbuf *why)
{
    uint64_t last = 0;
    choice c;
    const char *at = setting;
    do {
        bool is_first = at == setting;
        if (!take_choice(&at, b, false, &c) || (!is_first && c.after <= last)) {
            refuse(b, setting, &c, why);
            return false;
        }
        if (c.nodes != b->comm->num_nodes) {
            ti_strbuf_add(why,
                          "TACIT_BALANCE is '%.*s', which has %d weights where there are %d nodes; give one for each "
                          "node, or auto",
                          SHOWN, setting, c.nodes, b->comm->num_nodes);
            return false;
        }
        last = c.after;
    } while (*at);
    return true;
}

static void find_next(ti_balance *b)
{
    const char *at = b->list;
    choice c = { .after = UINT64_MAX };
    if (at && *at) {
        take_choice(&at, b, false, &c);
    }
    b->due = c.after;
}

static void take_next(ti_balance *b)
{
    choice c;
    const bool means = take_choice(&b->list, b, true, &c);
    TI_ASSERT(means && c.nodes == b->comm->num_nodes); /* the list has been checked */
    b->has_weights = true;
    find_next(b);
}

static void add_weights(const ti_balance *b, ti_strbuf *out)
{
    for (int i = 0; i < b->comm->num_nodes; i++) {
        ti_strbuf_add(out, "%s%u", i ? "," : "", b->weight[i]);
        ti_shares_add(&b->shares, i, out);
    }
}

/* The weights that hold from now on. */
static void remember(ti_balance *b)
{
    ti_strbuf_add(&b->said, "%s%llu:", b->said.length ? "/" : "", (unsigned long long)b->tasks);
    add_weights(b, &b->said);
}

/* Whether there is anything to choose. */
static bool measures(const ti_balance *b, bool is_dry)
{
    return !is_dry && (b->comm->num_nodes > 1 || ti_shares_count(&b->shares) > 1);
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
    for (int i = 0; i < nodes; i++) {
        b->weight[i] = TI_SHARES_FULL;
    }
    ti_shares_init(&b->shares, system, is_dry);
    if (strcmp(setting, "auto") == 0) {
        b->on = b->measures = measures(b, is_dry);
        b->due = FIRST_TASKS;
    } else if (check_list(b, setting, why)) {
        b->on = true;
        b->list = setting;
        find_next(b);
    }
    if (b->measures || strchr(setting, '=')) {
        ti_shares_open(&b->shares);
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
    ti_shares_fini(&b->shares);
    ti_strbuf_fini(&b->said);
}

/* ---- measuring */

/* Of what all workers share, one needs so much of the device's time. What not all devices share is the node's, of which
 * host devices have a share each. */
void ti_balance_note_part(ti_balance *b, const ti_host_part *part)
{
    const ti_shape *shape = part->task ? part->task->shape : NULL;
    if (!shape || !shape->balanced) {
        return;
    }
    TI_ASSERT(part->parts > 0 && 0 <= part->worker && part->worker < b->system->devices * b->system->workers);
    const uint64_t ns = (ti_clock_ns() - part->start) / (uint64_t)TI_MIN(part->parts, b->system->workers);
    if (ti_shape_is_shared(shape, b->system)) {
        ti_shares_note(&b->shares, part->worker / b->system->workers, part->items, ns);
        return;
    }
    atomic_fetch_add_explicit(&b->ns, ns / (uint64_t)ti_system_hosts(b->system), memory_order_relaxed);
    atomic_fetch_add_explicit(&b->done, part->items, memory_order_relaxed);
}

/* Items in a second, of all nodes. False: too little was measured to say anything. */
static bool measure(ti_balance *b, uint64_t *rate)
{
    uint64_t done, ns;
    const int64_t enough = (int64_t)MIN_NS * b->comm->num_nodes;
    const uint64_t of_node = atomic_load_explicit(&b->ns, memory_order_relaxed);
    const uint64_t longest = ti_shares_sum(&b->shares, &done, &ns);
    done += atomic_load_explicit(&b->done, memory_order_relaxed);
    ns += of_node;
    if (b->comm->ops->sum(b->comm, (int64_t)(longest + of_node)) < enough) {
        return false;
    }
    unsigned __int128 own = (unsigned __int128)done * 1000000000u / TI_MAX(ns, (uint64_t)1);
    ti_gather(b->comm, done && ns ? (uint64_t)TI_MIN(own, (unsigned __int128)INT64_MAX) : 0, rate);
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
        add_weights(b, &now);
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
    const bool of_devices = ti_shares_choose(&b->shares, b->comm);
    const bool of_nodes = ti_weigh(rate, b->weight, b->comm->num_nodes, weight);
    if (!of_devices && !of_nodes) {
        say_no(b, "others would save less than a tenth");
        return false;
    }
    if (of_nodes) {
        memcpy(b->weight, weight, bytes);
        b->has_weights = true;
    }
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
