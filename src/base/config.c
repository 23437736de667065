/* Settings: see config.h. */
#include "base/config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

typedef enum kind {
    KIND_INT,
    KIND_SIZE,
    KIND_STRING,
    KIND_PROGRESS,
    KIND_THREADS,
    KIND_LOOKAHEAD,
    KIND_COLLECTIVES,
    KIND_SCHEDULE,
    KIND_MEMORY,
    KIND_SWITCH,
    KIND_OTHER
} kind;

typedef struct row {
    ti_setting doc;
    kind kind;
    size_t field;
    long long least, most;
} row;

enum { LONGEST_NAME = 100 }; /* longer names are cut: they are wrong anyway */

#define FIELD(f) offsetof(tacit_config, f)

static const row table[] = {
    { { "TACIT_WORKERS", "1..4096", "the cores this node may use, less those kept for the runtime",
        "threads that run kernels on this node" },
      KIND_INT,
      FIELD(workers),
      1,
      4096 },
    { { "TACIT_THREADS", "0|1", "1, or 0 on one core",
        "0 runs everything inline in the calling thread: for debugging and for one-core nodes" },
      KIND_THREADS,
      FIELD(threads),
      0,
      1 },
    { { "TACIT_PROGRESS", "shared|thread", "shared up to 7 cores, thread from 8 on",
        "whether idle threads take the scheduler and executor roles, or threads of their own" },
      KIND_PROGRESS,
      FIELD(progress),
      0,
      0 },
    { { "TACIT_HOST_DEVICES", "count or count:discrete", "1",
        "devices that the cores are divided into; discrete ones have a memory each, as GPUs do" },
      KIND_STRING,
      FIELD(host_devices),
      0,
      0 },
    { { "TACIT_MEMORY_LIMIT", "bytes, with k, M, G or T, or 1% to 100% of the machine's memory", "100%",
        "what a node may allocate for buffers and results; what needs more is refused before it is allocated. Nodes of one "
        "machine share percentages equally" },
      KIND_MEMORY,
      FIELD(memory_limit),
      0,
      0 },
    { { "TACIT_LOOKAHEAD", "off|on|full", "on",
        "whether allocations wait until the next tasks are known: on waits briefly, full until a fence, a wait or the second "
        "horizon; off allocates for each task by itself" },
      KIND_LOOKAHEAD,
      FIELD(lookahead),
      0,
      0 },
    { { "TACIT_COLLECTIVES", "off|discover|lookahead", "lookahead",
        "what becomes of transfers in which all nodes take part: messages, collectives found for each task by itself, or for a "
        "window of tasks" },
      KIND_COLLECTIVES,
      FIELD(collectives),
      0,
      0 },
    { { "TACIT_COLLECTIVE_SCHEDULE", "auto|mpi|direct|measure|packed", "auto",
        "who carries out collectives: MPI, or messages between pairs of nodes; auto takes what is usually faster, measure what is faster when tacit starts, packed is mpi with small transpositions packed. The same on all nodes" },
      KIND_SCHEDULE,
      FIELD(collective_schedule),
      0,
      0 },
    { { "TACIT_RUN_AHEAD", "1..100000", "8", "horizons that submission may be ahead of execution" },
      KIND_INT,
      FIELD(run_ahead),
      1,
      100000 },
    { { "TACIT_HORIZON_STEP", "1..1000000", "4", "growth of the critical path that makes a horizon" },
      KIND_INT,
      FIELD(horizon_step),
      1,
      1000000 },
    { { "TACIT_HORIZON_FRONT", "1..100000000", "64 to 1024: 32 x workers of all nodes",
        "width of the execution front that makes a horizon" },
      KIND_INT,
      FIELD(horizon_front),
      1,
      100000000 },
    { { "TACIT_EARLY_BYTES", "bytes, with k, M, G or T", "1M",
        "per peer, bytes sent for which no receive is known; later messages wait" },
      KIND_SIZE,
      FIELD(early_bytes),
      1024,
      1ll << 40 },
    { { "TACIT_WATCHDOG", "-1..1000000", "60",
        "seconds without progress after which a node says what it waits for; -1: never" },
      KIND_INT,
      FIELD(watchdog),
      -1,
      1000000 },
    { { "TACIT_REPRODUCIBLE", "0|1", "0",
        "1 combines every reduction in one fixed order: the bits depend neither on workers, nor devices, nor nodes" },
      KIND_INT,
      FIELD(reproducible),
      0,
      1 },
    { { "TACIT_BOUNDS_CHECK", "0|1", "0",
        "1 finds kernels that touch what their accesses do not declare; they run twice, on guarded copies" },
      KIND_INT,
      FIELD(bounds_check),
      0,
      1 },
    { { "TACIT_DIVERGENCE", "on|off", "on",
        "whether nodes compare what they submit, and name the first difference; costs nothing on one node" },
      KIND_SWITCH,
      FIELD(divergence),
      0,
      0 },
    { { "TACIT_GRAPH", "path", "none", "write the task, command and instruction graphs to PATH.*.dot" },
      KIND_STRING,
      FIELD(graph),
      0,
      0 },
    { { "TACIT_GRAPH_TASKS", "first:last", "all tasks", "which tasks the graphs show, last not included" },
      KIND_STRING,
      FIELD(graph_tasks),
      0,
      0 },
    { { "TACIT_DRY_RUN", "NODES or NODES:NODE", "none",
        "plan as node NODE (0) of NODES, without MPI, and execute nothing; a report follows" },
      KIND_STRING,
      FIELD(dry_run),
      0,
      0 },
    { { "TACIT_DRY_RUN_REPORT", "path", "none", "write the report of a dry run as JSON, too" },
      KIND_STRING,
      FIELD(dry_run_report),
      0,
      0 },
    { { "TACIT_EXPLAIN", "1 or path", "none",
        "say at the end what became of each edge between tasks, and why it is no collective: on stderr (1), in a file, or as JSON "
        "in a file whose name ends in .json" },
      KIND_STRING,
      FIELD(explain),
      0,
      0 },
    { { "TACIT_LOG", "error|warning|info|debug", "warning", "how much tacit says on stderr" },
      KIND_OTHER,
      FIELD(log),
      0,
      0 },
};

const ti_setting *ti_config_setting(size_t index)
{
    return index < TI_COUNT(table) ? &table[index].doc : NULL;
}

/* Whether the program has set the field of this setting: zero means default. */
static bool is_given(const row *r, const tacit_config *from)
{
    const char *field = (const char *)from + r->field;
    switch (r->kind) {
    case KIND_STRING:
    case KIND_MEMORY:
        return *(const char *const *)(const void *)field != NULL;
    case KIND_SIZE:
        return *(const size_t *)(const void *)field != 0;
    case KIND_INT:
    case KIND_PROGRESS:
    case KIND_THREADS:
    case KIND_LOOKAHEAD:
    case KIND_COLLECTIVES:
    case KIND_SCHEDULE:
    case KIND_SWITCH:
    case KIND_OTHER:
        break;
    }
    return *(const int *)(const void *)field != 0;
}

ti_source ti_config_source(size_t index, const tacit_config *from)
{
    const row *r = &table[index];
    if (getenv(r->doc.name)) {
        return TI_FROM_ENVIRONMENT;
    }
    return from && is_given(r, from) ? TI_FROM_PROGRAM : TI_FROM_DEFAULT;
}

static bool parse_number(const char *text, bool with_unit, long long *out)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)text[text[0] == '-'])) {
        return false; /* strtoll would skip spaces and take a plus */
    }
    long long n = strtoll(text, &end, 10);
    if (errno || end == text) {
        return false;
    }
    if (with_unit && *end) {
        const char *units = "kMGT", *u = strchr(units, *end == 'K' ? 'k' : *end);
        if (!u || n < 0 || n > LLONG_MAX >> 10 * (u - units + 1)) {
            return false;
        }
        n <<= 10 * (u - units + 1);
        end++;
    }
    *out = n;
    return *end == '\0';
}

bool ti_config_memory(const char *text, uint64_t machine, uint64_t *out)
{
    size_t length = strlen(text);
    char number[LONGEST_NAME + 1];
    long long n = 0;
    if (length == 0 || length > LONGEST_NAME) {
        return false;
    }
    if (text[length - 1] != '%') {
        *out = 0;
        return parse_number(text, true, &n) && n > 0 && (*out = (uint64_t)n);
    }
    snprintf(number, sizeof(number), "%.*s", (int)length - 1, text);
    bool good = parse_number(number, false, &n) && n >= 1 && n <= 100;
    *out = machine / 100 * (uint64_t)n + machine % 100 * (uint64_t)n / 100;
    return good;
}

static int index_of(const char *text, const char *const *names)
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* Stores the value of one variable; false if it is malformed. */
static bool set_field(const row *r, const char *text, tacit_config *out)
{
    static const char *const levels[] = { "", "error", "warning", "info", "debug", NULL };
    static const char *const progress[] = { "", "shared", "thread", NULL };
    static const char *const lookahead[] = { "", "off", "on", "full", NULL };
    static const char *const collectives[] = { "", "off", "discover", "lookahead", NULL };
    static const char *const schedule[] = { "", "auto", "mpi", "direct", "measure", "packed", NULL };
    uint64_t bytes;
    char *field = (char *)out + r->field;
    long long n = 0;
    switch (r->kind) {
    case KIND_STRING:
        *(const char **)(void *)field = text;
        return *text != '\0';
    case KIND_MEMORY:
        *(const char **)(void *)field = text;
        return ti_config_memory(text, 0, &bytes);
    case KIND_LOOKAHEAD:
        *(int *)(void *)field = index_of(text, lookahead);
        return *(int *)(void *)field > 0;
    case KIND_COLLECTIVES:
    case KIND_SCHEDULE:
        *(int *)(void *)field = index_of(text, r->kind == KIND_SCHEDULE ? schedule : collectives);
        return *(int *)(void *)field > 0;
    case KIND_PROGRESS:
    case KIND_OTHER:
        *(int *)(void *)field = index_of(text, r->kind == KIND_OTHER ? levels : progress);
        return *(int *)(void *)field > 0;
    case KIND_SWITCH:
        *(int *)(void *)field = strcmp(text, "on") == 0 ? 1 : -1;
        return strcmp(text, "on") == 0 || strcmp(text, "off") == 0;
    case KIND_THREADS:
    case KIND_INT:
    case KIND_SIZE:
        break;
    }
    if (!parse_number(text, r->kind == KIND_SIZE, &n) || n < r->least || n > r->most) {
        return false;
    }
    if (r->kind == KIND_SIZE) {
        *(size_t *)(void *)field = (size_t)n;
    } else {
        *(int *)(void *)field = r->kind == KIND_THREADS ? (n ? TACIT_THREADS_ON : TACIT_THREADS_INLINE) : (int)n;
    }
    return true;
}

/* Number of single-character changes between two names, for "did you mean". */
static size_t edit_distance(const char *a, const char *b)
{
    size_t before[LONGEST_NAME + 1], na = strlen(a), nb = strlen(b);
    for (size_t j = 0; j <= nb; j++) {
        before[j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t corner = before[0];
        before[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t keep = corner + (a[i - 1] != b[j - 1]);
            corner = before[j];
            before[j] = TI_MIN(keep, TI_MIN(before[j], before[j - 1]) + 1);
        }
    }
    return before[nb];
}

static tacit_status check_names(ti_strbuf *why)
{
    for (char **e = environ; *e; e++) {
        if (strncmp(*e, "TACIT_", 6) != 0) {
            continue;
        }
        size_t nearest = 0, least = SIZE_MAX;
        char name[LONGEST_NAME + 1];
        snprintf(name, sizeof(name), "%.*s", (int)TI_MIN(strcspn(*e, "="), (size_t)LONGEST_NAME), *e);
        for (size_t i = 0; i < TI_COUNT(table); i++) {
            size_t distance = edit_distance(name, table[i].doc.name);
            if (distance < least) {
                least = distance;
                nearest = i;
            }
        }
        if (least > 0) {
            ti_strbuf_add(why, "there is no setting %s; did you mean %s? (unset it, or see `tacit help settings`)",
                          name, table[nearest].doc.name);
            return TACIT_ERROR_CONFIG;
        }
    }
    return TACIT_OK;
}

static void apply_defaults(tacit_config *c)
{
    c->collectives = c->collectives ? c->collectives : TACIT_COLLECTIVES_LOOKAHEAD;
    c->collective_schedule = c->collective_schedule ? c->collective_schedule : TACIT_COLLECTIVE_SCHEDULE_AUTO;
    c->run_ahead = c->run_ahead ? c->run_ahead : 8;
    c->horizon_step = c->horizon_step ? c->horizon_step : 4;
    c->early_bytes = c->early_bytes ? c->early_bytes : (size_t)1 << 20;
    c->watchdog = c->watchdog ? c->watchdog : 60;
    c->log = c->log ? c->log : 2;
}

/* Whether a program's own value of a field is zero or one of those that the variable may have. */
static bool field_is_allowed(const row *r, const tacit_config *config)
{
    const char *field = (const char *)config + r->field;
    int number = 0;
    uint64_t bytes;
    if (r->kind != KIND_STRING && r->kind != KIND_MEMORY && r->kind != KIND_SIZE) {
        number = *(const int *)(const void *)field;
    }
    switch (r->kind) {
    case KIND_STRING:
        return true;
    case KIND_MEMORY:
        return !is_given(r, config) || ti_config_memory(*(const char *const *)(const void *)field, 0, &bytes);
    case KIND_SIZE:
        return *(const size_t *)(const void *)field <= (size_t)r->most;
    case KIND_INT:
        return number == 0 || (number >= r->least && number <= r->most);
    case KIND_PROGRESS:
        return number >= TACIT_PROGRESS_DEFAULT && number <= TACIT_PROGRESS_THREAD;
    case KIND_SWITCH:
        return number >= -1 && number <= 1;
    case KIND_THREADS:
        return number >= TACIT_THREADS_INLINE && number <= TACIT_THREADS_ON;
    case KIND_LOOKAHEAD:
        return number >= TACIT_LOOKAHEAD_DEFAULT && number <= TACIT_LOOKAHEAD_FULL;
    case KIND_COLLECTIVES:
        return number >= TACIT_COLLECTIVES_DEFAULT && number <= TACIT_COLLECTIVES_LOOKAHEAD;
    case KIND_SCHEDULE:
        return number >= TACIT_COLLECTIVE_SCHEDULE_DEFAULT && number <= TACIT_COLLECTIVE_SCHEDULE_PACKED;
    case KIND_OTHER:
        return number >= 0 && number <= 4;
    }
    return false;
}

tacit_status ti_config_resolve(const tacit_config *from, tacit_config *out, ti_strbuf *why)
{
    *out = from ? *from : (tacit_config){ 0 };
    for (size_t i = 0; i < TI_COUNT(table); i++) {
        if (!field_is_allowed(&table[i], out)) {
            ti_strbuf_add(
                why,
                "the field of tacit_config for %s has a value that is not allowed; it must be %s, or zero for the default",
                table[i].doc.name, table[i].doc.values);
            return TACIT_ERROR_CONFIG;
        }
    }
    for (size_t i = 0; i < TI_COUNT(table); i++) {
        const char *text = getenv(table[i].doc.name);
        if (text && !set_field(&table[i], text, out)) {
            ti_strbuf_add(why, "%s is '%s', but must be %s", table[i].doc.name, text, table[i].doc.values);
            return TACIT_ERROR_CONFIG;
        }
    }
    apply_defaults(out);
    return check_names(why);
}
