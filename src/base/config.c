/* Settings: see config.h.
 *
 * A new setting is a row of the table here and a field of tacit_config, for which zero means the default. */
#include "base/config.h"

#include "base/check.h"
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum { MAX_NAME = TI_EDIT_MAX /* longer names are cut: they are wrong anyway */, MAX_WORDS = 5 };

/* The types of fields: int, size_t, const char * (any text, or an amount of memory), and int as one of several
 * words. */
typedef enum kind { KIND_INT, KIND_SIZE, KIND_TEXT, KIND_MEMORY, KIND_WORDS } kind;

typedef struct row {
    ti_setting doc;
    kind kind;
    size_t field;
    long long preset;     /* the default of numbers and words; 0: it is decided elsewhere */
    long long min, max;   /* of numbers */
    int value[MAX_WORDS]; /* of the words, which doc.values names in the same order */
} row;

#define ROW(kind, name, field, values, initial, help, ...)                                                             \
    {                                                                                                                  \
        { name, values, initial, help }, kind, offsetof(tacit_config, field), __VA_ARGS__                              \
    }
/* One macro per type. After name and field: preset and limits where there are any, the values in words (INT makes them
 * of its limits), the default in words, the help, and what each of the words stands for. */
#define INT(name, field, preset, min, max, ...)                                                                        \
    ROW(KIND_INT, name, field, #min ".." #max, __VA_ARGS__, preset, min, max, { 0 })
#define SIZE(name, field, preset, min, max, ...) ROW(KIND_SIZE, name, field, __VA_ARGS__, preset, min, max, { 0 })
#define TEXT(name, field, ...) ROW(KIND_TEXT, name, field, __VA_ARGS__, 0, 0, 0, { 0 })
#define MEMORY(name, field, ...) ROW(KIND_MEMORY, name, field, __VA_ARGS__, 0, 0, 0, { 0 })
#define WORDS(name, field, preset, values, initial, help, ...)                                                         \
    ROW(KIND_WORDS, name, field, values, initial, help, preset, 0, 0, { __VA_ARGS__ })

static const row table[] = {
    INT("TACIT_WORKERS", workers, 0, 1, 4096, "the cores this node may use, less those kept for the runtime",
        "threads that run kernels on this node"),
    WORDS("TACIT_THREADS", threads, 0, "0|1", "1, or 0 on one core",
          "0 runs everything inline in the calling thread: for debugging and for one-core nodes", TACIT_THREADS_INLINE,
          TACIT_THREADS_ON),
    WORDS("TACIT_PROGRESS", progress, 0, "shared|thread", "shared up to 7 cores, thread from 8 on",
          "whether idle threads take the scheduler and executor roles, or threads of their own", TACIT_PROGRESS_SHARED,
          TACIT_PROGRESS_THREAD),
    TEXT("TACIT_PIN", pin, "auto, off, or a list of cores such as 0-3,8", "auto",
         "what threads are bound to: auto gives each a core where the node has as many cores for itself, a list those "
         "that it names"),
    TEXT(
        "TACIT_DEVICES", devices,
        "auto, or a list of host, host:COUNT, host:COUNT:discrete, cuda:INDEX, opencl:INDEX, opencl:INDEX/PARTS, each "
        "perhaps with *WEIGHT",
        "auto, but host in dry runs and with checks of kernels",
        "devices that run kernels: auto are the GPUs, dealt out among the nodes of a machine, or the cores; a list has "
        "the cores, as several devices or with memories of their own, CUDA's or OpenCL's; a weight of 1 to 1000 (else "
        "1) says how large a part of a node's work is theirs"),
    TEXT("TACIT_HOST_DEVICES", host_devices, "count or count:discrete", "1",
         "the same as TACIT_DEVICES=host:COUNT, if that is not set"),
    MEMORY(
        "TACIT_DEVICE_MEMORY", device_memory, "bytes, with k, M, G or T, or 1% to 100% of the device's memory", "100%",
        "what a device with a memory of its own may allocate there; what no task needs next makes room, by way of the "
        "host's memory"),
    TEXT("TACIT_KERNEL_CACHE", kernel_cache, "directory, or off", "$XDG_CACHE_HOME/tacit, or ~/.cache/tacit",
         "where compiled kernels of OpenCL and CUDA devices are kept, so that later runs need not compile them; nodes "
         "and programs may share it"),
    MEMORY(
        "TACIT_MEMORY_LIMIT", memory_limit, "bytes, with k, M, G or T, or 1% to 100% of the machine's memory", "100%",
        "what a node may allocate for buffers and results; what needs more is refused before it is allocated. Nodes of "
        "one machine share percentages equally"),
    WORDS(
        "TACIT_LOOKAHEAD", lookahead, 0, "off|on|full", "on",
        "whether allocations wait until the next tasks are known: on waits briefly, full until a fence, a wait or the "
        "second horizon; off allocates for each task by itself",
        TACIT_LOOKAHEAD_OFF, TACIT_LOOKAHEAD_ON, TACIT_LOOKAHEAD_FULL),
    WORDS(
        "TACIT_COLLECTIVES", collectives, TACIT_COLLECTIVES_LOOKAHEAD, "off|discover|lookahead", "lookahead",
        "what becomes of transfers in which all nodes take part: messages, collectives found for each task by itself, "
        "or for a window of tasks",
        TACIT_COLLECTIVES_OFF, TACIT_COLLECTIVES_DISCOVER, TACIT_COLLECTIVES_LOOKAHEAD),
    WORDS("TACIT_COLLECTIVE_SCHEDULE", collective_schedule, TACIT_COLLECTIVE_SCHEDULE_AUTO,
          "auto|mpi|direct|measure|packed", "auto",
          "who carries out collectives: MPI, or messages between pairs of nodes; auto takes what is usually faster, "
          "measure what is faster when tacit starts, packed is mpi with small transpositions packed. The same on all "
          "nodes",
          TACIT_COLLECTIVE_SCHEDULE_AUTO, TACIT_COLLECTIVE_SCHEDULE_MPI, TACIT_COLLECTIVE_SCHEDULE_DIRECT,
          TACIT_COLLECTIVE_SCHEDULE_MEASURE, TACIT_COLLECTIVE_SCHEDULE_PACKED),
    INT("TACIT_RUN_AHEAD", run_ahead, 8, 1, 100000, "8", "horizons that submission may be ahead of execution"),
    INT("TACIT_HORIZON_STEP", horizon_step, 4, 1, 1000000, "4", "growth of the critical path that makes a horizon"),
    INT("TACIT_HORIZON_FRONT", horizon_front, 0, 1, 100000000, "64 to 1024: 32 x workers of all nodes",
        "width of the execution front that makes a horizon"),
    SIZE("TACIT_EARLY_BYTES", early_bytes, 1 << 20, 1024, 1ll << 40, "1024 bytes (1k) to 1T, with k, M, G or T", "1M",
         "per peer, bytes sent for which no receive is known; later messages wait"),
    WORDS("TACIT_LOCAL_MESSAGES", local_messages, TACIT_LOCAL_MESSAGES_AUTO, "auto|mpi", "auto",
          "by which way messages of up to 16 KiB go between nodes of one machine: through memory that their processes "
          "share, where they can, or by MPI as all others",
          TACIT_LOCAL_MESSAGES_AUTO, TACIT_LOCAL_MESSAGES_MPI),
    WORDS("TACIT_BROADCAST", broadcast, TACIT_BROADCAST_AUTO, "auto|flat|binomial|binary|chain", "auto",
          "by which tree a payload travels that several placed tasks wait for; auto chooses by its size, or is flat "
          "if all nodes are on one machine; flat sends to each node directly. The same on all nodes",
          TACIT_BROADCAST_AUTO, TACIT_BROADCAST_FLAT, TACIT_BROADCAST_BINOMIAL, TACIT_BROADCAST_BINARY,
          TACIT_BROADCAST_CHAIN),
    WORDS("TACIT_MULTICAST", multicast, TACIT_MULTICAST_AUTO, "auto|dynamic|planned|off", "auto",
          "who finds that several placed tasks wait for one payload: its sender when it is ready (dynamic), or the "
          "planners of all nodes from the next tasks (planned); auto is dynamic on one machine, and between several "
          "whichever is sooner there by size and number of nodes, or planned if one of them cannot forward while it "
          "computes. The same on all nodes",
          TACIT_MULTICAST_AUTO, TACIT_MULTICAST_DYNAMIC, TACIT_MULTICAST_PLANNED, TACIT_MULTICAST_OFF),
    SIZE("TACIT_RELAY_BYTES", relay_bytes, 64 << 20, 1024, 1ll << 40, "1024 bytes (1k) to 1T, with k, M, G or T", "64M",
         "memory that a node lends to payloads that it forwards or that come early; what finds no room comes from its "
         "sender directly"),
    INT("TACIT_WATCHDOG", watchdog, 60, -1, 1000000, "60",
        "seconds without progress after which a node says what it waits for, and those of a kernel after which it is "
        "named; -1: never"),
    WORDS("TACIT_REPRODUCIBLE", reproducible, 0, "0|1", "0",
          "1 combines every reduction in one fixed order: the bits depend neither on workers, nor devices, nor nodes",
          0, 1),
    WORDS("TACIT_BOUNDS_CHECK", bounds_check, 0, "0|1", "0",
          "1 finds kernels that touch what their accesses do not declare; they run twice, on guarded copies", 0, 1),
    WORDS("TACIT_DIVERGENCE", divergence, 0, "on|off", "on",
          "whether nodes compare what they submit, and name the first difference; costs nothing on one node",
          TACIT_DIVERGENCE_ON, TACIT_DIVERGENCE_OFF),
    TEXT(
        "TACIT_LATENCY", latency, "off, auto, auto:CHOICES, halo[:TASKS] or staged[:TASKS]", "off",
        "whether nodes compute a little of their neighbours' parts to save messages: of windows of so many tasks (4) "
        "with the hint pure, only the first needs any. With staged they compute less, and receive what neighbours have "
        "computed of several steps in one message; auto measures what pays, at some waits and at tacit_retune, or "
        "repeats the choices of another run, such as auto:off,8. The same on all nodes"),
    WORDS(
        "TACIT_OVERLAP", overlap, TACIT_OVERLAP_AUTO, "auto|on|off", "auto",
        "whether the part of a chunk that needs nothing of other nodes is executed while messages travel, and the rest "
        "after: auto where that is worth two more launches, by .cost and the number of items; on wherever it is "
        "possible. The same on all nodes",
        TACIT_OVERLAP_AUTO, TACIT_OVERLAP_ON, TACIT_OVERLAP_OFF),
    WORDS("TACIT_ROUNDS", rounds, TACIT_ROUNDS_AUTO, "auto|on|off", "auto",
          "whether the program's thread carries out steady loops of tasks itself, and shares each kernel with the "
          "workers, on one node, or inline on nodes of one machine: auto where kernels are short and the thread has "
          "little else to do, on whatever they take",
          TACIT_ROUNDS_AUTO, TACIT_ROUNDS_ON, TACIT_ROUNDS_OFF),
    TEXT("TACIT_BALANCE", balance,
         "off, auto, or weights of the nodes, and perhaps of their devices: 2,1,1 or 16:2=8+1,1,1/64:3,1,1", "off",
         "how large the shares of nodes, and of the devices of a node, are in split tasks: equal, in proportion to how "
         "fast each has computed (auto: measured, and taken over at some waits and at tacit_retune), or as given, from "
         "the start or after so many tasks, as the log of another run says. The same on all nodes"),
    WORDS("TACIT_DEVICE_MPI", device_mpi, TACIT_DEVICE_MPI_AUTO, "auto|on|off", "auto",
          "whether messages and collectives use the memory of CUDA devices: if the MPI says that it can "
          "(MPIX_Query_cuda_support), or whatever it says; off: all go by way of the host's memory",
          TACIT_DEVICE_MPI_AUTO, TACIT_DEVICE_MPI_ON, TACIT_DEVICE_MPI_OFF),
    WORDS("TACIT_NCCL", nccl, TACIT_NCCL_AUTO, "auto|on|off", "auto",
          "whether NCCL (libnccl.so.2) carries out collectives in the memory of CUDA devices: where each node has one, "
          "and all of them different ones; on: or the start fails, and says why. The same on all nodes",
          TACIT_NCCL_AUTO, TACIT_NCCL_ON, TACIT_NCCL_OFF),
    INT("TACIT_COMM_DELAY", comm_delay, 0, 0, 1000000, "0",
        "microseconds by which every message and collective is delivered later than it would be: for trials of "
        "programs on networks of a larger latency"),
    WORDS(
        "TACIT_ADVICE", advice, 0, "0|1", "1 on a terminal",
        "1 says at the end of a run what has cost time in it, and the cure; nothing where all is well. That of node 0 "
        "counts for all",
        TACIT_ADVICE_OFF, TACIT_ADVICE_ON),
    WORDS("TACIT_CHECK_PURE", check_pure, 0, "0|1", "0",
          "1 finds kernels that are marked pure and are not: nodes compare samples of what windows of TACIT_LATENCY "
          "compute on several of them, whenever the program waits. The same on all nodes",
          0, 1),
    TEXT("TACIT_LATENCY_TILE", latency_tile, "off, auto or bytes", "off",
         "whether windows of TACIT_LATENCY are executed tile by tile, so that a tile goes through all tasks in the "
         "cache: auto where they touch more than the last-level cache holds, by tiles of an eighth of it; or by tiles "
         "of so many bytes, with k, M, G or T. Then one node has windows, too"),
    TEXT("TACIT_GRAPH", graph, "path", "none", "write the task, command and instruction graphs to PATH.*.dot"),
    TEXT("TACIT_GRAPH_TASKS", graph_tasks, "first:last", "all tasks", "which tasks the graphs show, last not included"),
    TEXT(
        "TACIT_TRACE", trace, "path", "none",
        "record what every node does, and when, in PATH.NODE.tacit-trace; `tacit trace` makes a report of it. The same "
        "on all nodes; of dry runs only simulated ones are recorded"),
    TEXT("TACIT_DRY_RUN", dry_run, "NODES or NODES:NODE", "none",
         "plan as node NODE (0) of NODES, without MPI, and execute nothing; a report follows"),
    TEXT("TACIT_DRY_RUN_REPORT", dry_run_report, "path", "none", "write the report of a dry run as JSON, too"),
    TEXT("TACIT_SIMULATE", simulate, "path or path:path...", "none",
         "with TACIT_DRY_RUN: execute the plans of all nodes on a simulated cluster, which these files describe"),
    TEXT("TACIT_SIMULATE_REPORT", simulate_report, "path", "stderr", "write what the simulation found as JSON"),
    TEXT(
        "TACIT_EXPLAIN", explain, "1 or path", "none",
        "say at the end what became of each edge between tasks, and why it is no collective: on stderr (1), in a file, "
        "or as JSON in a file whose name ends in .json"),
    WORDS("TACIT_LOG", log, TI_LOG_WARNING, "error|warning|info|debug", "warning", "how much tacit says on stderr",
          TI_LOG_ERROR, TI_LOG_WARNING, TI_LOG_INFO, TI_LOG_DEBUG),
};

const ti_setting *ti_config_setting(size_t index)
{
    return index < TI_COUNT(table) ? &table[index].doc : NULL;
}

/* ---- fields of tacit_config */

static bool is_text(const row *r)
{
    return r->kind == KIND_TEXT || r->kind == KIND_MEMORY;
}

static const char *get_text(const row *r, const tacit_config *from)
{
    return *(const char *const *)(const void *)((const char *)from + r->field);
}

static long long get_number(const row *r, const tacit_config *from)
{
    const void *field = (const char *)from + r->field;
    return r->kind == KIND_SIZE ? (long long)TI_MIN(*(const size_t *)field, (size_t)LLONG_MAX) : *(const int *)field;
}

static void set_number(const row *r, tacit_config *to, long long number)
{
    void *field = (char *)to + r->field;
    if (r->kind == KIND_SIZE) {
        *(size_t *)field = (size_t)number;
    } else {
        *(int *)field = (int)number;
    }
}

/* Whether the program has set the field: zero means default. */
static bool is_given(const row *r, const tacit_config *from)
{
    return is_text(r) ? get_text(r, from) != NULL : get_number(r, from) != 0;
}

ti_source ti_config_source(size_t index, const tacit_config *from)
{
    const row *r = &table[index];
    if (getenv(r->doc.name)) {
        return TI_FROM_ENVIRONMENT;
    }
    return from && is_given(r, from) ? TI_FROM_PROGRAM : TI_FROM_DEFAULT;
}

/* ---- values */

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
    char number[MAX_NAME + 1];
    long long n = 0;
    if (length == 0 || length > MAX_NAME) {
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

/* Word number `i` of "off|on|full", and its length; NULL behind the last one. */
static const char *word_at(const row *r, int i, size_t *length)
{
    const char *word = r->doc.values;
    for (; i > 0 && word; i--) {
        word = strchr(word, '|');
        word = word ? word + 1 : NULL;
    }
    *length = word ? strcspn(word, "|") : 0;
    return word;
}

/* What the word stands for. */
static bool parse_word(const row *r, const char *text, long long *out)
{
    size_t length;
    const char *word;
    for (int i = 0; (word = word_at(r, i, &length)); i++) {
        TI_ASSERT(i < MAX_WORDS);
        *out = r->value[i];
        if (strlen(text) == length && memcmp(text, word, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Stores the value of a variable; false if it is malformed. */
static bool set_field(const row *r, const char *text, tacit_config *out)
{
    uint64_t bytes;
    long long n = 0;
    if (is_text(r)) {
        *(const char **)(void *)((char *)out + r->field) = text;
        return r->kind == KIND_MEMORY ? ti_config_memory(text, 0, &bytes) : *text != '\0';
    }
    bool good = r->kind == KIND_WORDS ? parse_word(r, text, &n)
                                      : parse_number(text, r->kind == KIND_SIZE, &n) && n >= r->min && n <= r->max;
    set_number(r, out, n);
    return good;
}

/* Whether a program's own value is zero or one of those that the variable may have. A size may be smaller. */
static bool field_is_allowed(const row *r, const tacit_config *config)
{
    uint64_t bytes;
    size_t length;
    if (!is_given(r, config) || r->kind == KIND_TEXT) {
        return true;
    }
    if (r->kind == KIND_MEMORY) {
        return ti_config_memory(get_text(r, config), 0, &bytes);
    }
    long long number = get_number(r, config);
    for (int i = 0; r->kind == KIND_WORDS && word_at(r, i, &length); i++) {
        if (number == r->value[i]) {
            return true;
        }
    }
    return r->kind != KIND_WORDS && number <= r->max && (number >= r->min || r->kind == KIND_SIZE);
}

/* ---- copies */

static char **text_of(size_t i, tacit_config *config)
{
    return (char **)(void *)((char *)config + table[i].field);
}

void ti_config_own_texts(tacit_config *config)
{
    for (size_t i = 0; i < TI_COUNT(table); i++) {
        if (is_text(&table[i]) && *text_of(i, config)) {
            *text_of(i, config) = ti_strdup(*text_of(i, config));
        }
    }
}

void ti_config_free_texts(tacit_config *config)
{
    for (size_t i = 0; i < TI_COUNT(table); i++) {
        if (is_text(&table[i])) {
            ti_strfree(*text_of(i, config));
            *text_of(i, config) = NULL;
        }
    }
}

/* ---- what nodes must have in common: plans and their order of collectives depend on it */

static bool is_shared(const row *r)
{
    static const size_t fields[] = { offsetof(tacit_config, dry_run),      offsetof(tacit_config, collectives),
                                     offsetof(tacit_config, horizon_step), offsetof(tacit_config, collective_schedule),
                                     offsetof(tacit_config, reproducible), offsetof(tacit_config, horizon_front),
                                     offsetof(tacit_config, trace),        offsetof(tacit_config, broadcast),
                                     offsetof(tacit_config, multicast),    offsetof(tacit_config, latency),
                                     offsetof(tacit_config, check_pure),   offsetof(tacit_config, latency_tile),
                                     offsetof(tacit_config, overlap),      offsetof(tacit_config, balance),
                                     offsetof(tacit_config, nccl) };
    for (size_t i = 0; i < TI_COUNT(fields); i++) {
        if (r->field == fields[i]) {
            return true;
        }
    }
    return false;
}

/* As the variable would say it. */
static void add_value(const row *r, const tacit_config *config, ti_strbuf *out)
{
    size_t length;
    const char *word;
    for (int i = 0; r->kind == KIND_WORDS && (word = word_at(r, i, &length)); i++) {
        if (r->value[i] == get_number(r, config)) {
            ti_strbuf_add(out, "%.*s", (int)length, word);
            return;
        }
    }
    if (!is_given(r, config)) {
        ti_strbuf_add(out, "not set");
    } else if (is_text(r)) {
        ti_strbuf_add(out, "%s", get_text(r, config));
    } else {
        ti_strbuf_add(out, "%lld", get_number(r, config));
    }
}

static void add_setting(const row *r, const tacit_config *config, ti_strbuf *out)
{
    ti_strbuf_add(out, "%s=", r->doc.name);
    add_value(r, config, out);
    ti_strbuf_add(out, "\n");
}

void ti_config_shared(const tacit_config *config, ti_strbuf *out)
{
    for (size_t i = 0; i < TI_COUNT(table); i++) {
        if (is_shared(&table[i])) {
            add_setting(&table[i], config, out);
        }
    }
}

void ti_config_all(const tacit_config *config, ti_strbuf *out)
{
    for (size_t i = 0; i < TI_COUNT(table); i++) {
        add_setting(&table[i], config, out);
    }
}

/* ---- names */

static tacit_status check_names(ti_strbuf *why)
{
    for (char **e = environ; *e; e++) {
        if (strncmp(*e, "TACIT_", 6) != 0) {
            continue;
        }
        size_t nearest = 0, least = SIZE_MAX;
        char name[MAX_NAME + 1];
        snprintf(name, sizeof(name), "%.*s", (int)TI_MIN(strcspn(*e, "="), (size_t)MAX_NAME), *e);
        for (size_t i = 0; i < TI_COUNT(table); i++) {
            size_t distance = ti_edit_distance(name, table[i].doc.name);
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

tacit_status ti_config_resolve(const tacit_config *from, tacit_config *out, ti_strbuf *why)
{
    *out = from ? *from : (tacit_config){ 0 };
    for (size_t i = 0; i < TI_COUNT(table); i++) {
        if (!field_is_allowed(&table[i], out)) {
            ti_strbuf_add(
                why,
                "the field of tacit_config for %s has a value that is not allowed; it must be %s, or zero for "
                "the default",
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
        if (!is_given(&table[i], out) && !is_text(&table[i])) {
            set_number(&table[i], out, table[i].preset);
        }
    }
    return check_names(why);
}
