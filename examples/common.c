/* examples/common.c: checked calls, options and results of the examples, and two small tacit programs of their own:
 * a progress line and the sum of a counter over all nodes. See common.h. */
#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* All nodes make the same calls and so meet the same errors: node 0 speaks for all, unless there is no context yet. */
void example_check(const tacit_context *ctx, tacit_status status, const char *file, int line)
{
    if (status == TACIT_OK)
        return;
    if (!ctx || tacit_node(ctx) == 0)
        fprintf(stderr, "%s:%d: %s: %s\n", file, line, tacit_status_name(status), tacit_last_error(ctx));
    exit(EXIT_FAILURE);
}

static bool speaks_for_all(const tacit_context *ctx, const struct example_options *options)
{
    return ctx ? tacit_node(ctx) == 0 : options->speaks;
}

/* ---------------------------------------------------------------- options */

enum { KEY_VERIFY = 0x1000, KEY_JSON, KEY_PROGRESS, KEY_HELP, KEY_USAGE };

/* The first OF_RESULTS options are for programs that report results. */
enum { OF_RESULTS = 2 };
static const struct argp_option common_list[] = {
    { "json", KEY_JSON, NULL, 0, "Print the results as one JSON object", 90 },
    { "progress", KEY_PROGRESS, NULL, 0, "Show progress on standard error, even if that is not a terminal", 90 },
    { "verify", KEY_VERIFY, NULL, 0, "Compute the same sequentially and compare; exit status 1 if anything differs",
      90 },
    { "help", KEY_HELP, NULL, 0, "Show this text", 91 },
    { "usage", KEY_USAGE, NULL, 0, "Show a short reminder of the options", 91 },
    { 0 },
};

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
    struct example_options *o = state->input;
    (void)arg;
    switch (key) {
    case KEY_VERIFY:
        o->verify = true;
        return 0;
    case KEY_JSON:
        o->json = true;
        return 0;
    case KEY_PROGRESS:
        o->progress = true;
        return 0;
    case KEY_HELP:
    case KEY_USAGE:
        if (!o->help && !(state->flags & ARGP_NO_ERRS))
            argp_state_help(state, stdout, key == KEY_HELP ? ARGP_HELP_STD_HELP : ARGP_HELP_USAGE);
        o->help = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct both {
    struct example_options *common;
    void *own;
};

static error_t pass_on(int key, char *arg, struct argp_state *state)
{
    const struct both *inputs = state->input;
    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = inputs->own;
    state->child_inputs[1] = inputs->common;
    return 0;
}

/* Every node parses, node 0 speaks. argp must not end the program itself, because the run has started already. */
int example_parse(const tacit_context *ctx, const struct argp *argp, struct example_options *common, int argc,
                  char **argv, void *input)
{
    const struct argp shared = { .options = common_list + (common->plain ? OF_RESULTS : 0), .parser = parse_common };
    const struct argp_child children[] = { { argp, 0, NULL, 0 }, { &shared, 0, NULL, 0 }, { 0 } };
    const struct argp all = { .parser = pass_on, .children = children };
    struct both inputs = { common, input };
    unsigned flags = ARGP_NO_EXIT | ARGP_NO_HELP | (speaks_for_all(ctx, common) ? 0 : ARGP_NO_ERRS);

    error_t error = argp_parse(&all, argc, argv, flags, NULL, &inputs);
    if (tacit_is_dry_run(ctx))
        common->verify = false; /* there is no result */
    return error && !common->help ? EXIT_FAILURE : 0;
}

error_t example_parse_size(struct argp_state *state, const char *option, const char *text, size_t min, size_t max,
                           size_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || strchr(text, '-') || value < min || value > max) {
        argp_error(state, "%s wants a whole number from %zu to %zu, not '%s'", option, min, max, text);
        return EINVAL;
    }
    *out = (size_t)value;
    return 0;
}

error_t example_parse_real(struct argp_state *state, const char *option, const char *text, double min, double max,
                           double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= min && value <= max)) {
        argp_error(state, "%s wants a number from %g to %g, not '%s'", option, min, max, text);
        return EINVAL;
    }
    *out = value;
    return 0;
}

error_t example_parse_split(struct argp_state *state, const char *option, const char *text, int *out)
{
    if (strcmp(text, "1d") == 0)
        *out = TACIT_SPLIT_1D;
    else if (strcmp(text, "2d") == 0)
        *out = TACIT_SPLIT_2D;
    else
        argp_error(state, "%s wants 1d or 2d, not '%s'", option, text);
    return *out ? 0 : EINVAL;
}

/* ---------------------------------------------------------------- results */

void example_report_begin(struct example_report *r, const tacit_context *ctx, const struct example_options *options,
                          const char *title)
{
    *r = (struct example_report){ .active = speaks_for_all(ctx, options), .json = options->json };
    if (r->active && r->json)
        putchar('{');
    else if (r->active)
        printf("%s\n", title);
    if (tacit_is_dry_run(ctx))
        example_report_text(r, "dry_run", "dry run", "nothing was computed: results mean nothing");
    if (ctx)
        example_report_count(r, "nodes", "nodes", (uint64_t)tacit_num_nodes(ctx));
}

/* The part of a result before its value. Returns false if nothing is to be printed. Keys are plain identifiers. */
static bool entry(struct example_report *r, const char *key, const char *label)
{
    if (!r->active)
        return false;
    if (r->json)
        printf("%s\n  \"%s\": ", r->entries ? "," : "", key);
    else
        printf("  %-28s ", label);
    r->entries++;
    return true;
}

/* Texts are words of the examples themselves and need no escapes in JSON. */
void example_report_text(struct example_report *r, const char *key, const char *label, const char *text)
{
    if (entry(r, key, label))
        printf(r->json ? "\"%s\"" : "%s\n", text);
}

void example_report_count(struct example_report *r, const char *key, const char *label, uint64_t value)
{
    if (entry(r, key, label))
        printf(r->json ? "%" PRIu64 : "%" PRIu64 "\n", value);
}

void example_report_real(struct example_report *r, const char *key, const char *label, double value, const char *unit)
{
    if (!entry(r, key, label))
        return;
    if (!r->json)
        printf("%.6g%s%s\n", value, *unit ? " " : "", unit);
    else if (isfinite(value))
        printf("%.17g", value);
    else
        printf("null");
}

void example_report_verified(struct example_report *r, const struct example_options *options, bool good)
{
    if (options->verify)
        example_report_text(r, "verified", "same as sequential", good ? "yes" : "NO");
}

void example_report_end(struct example_report *r)
{
    if (r->active && r->json)
        printf("\n}\n");
    fflush(stdout);
}

int example_end(tacit_context *ctx, int error, bool good)
{
    bool speaks = tacit_node(ctx) == 0;
    tacit_status status = tacit_finalize(ctx);
    if (status && speaks)
        fprintf(stderr, "the run failed: %s\n", tacit_status_name(status));
    return error || status || !good ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---------------------------------------------------------------- kernels */

tacit_kernel example_kernel(tacit_host_kernel *host, const char *text, const char *entry, size_t scratch)
{
    return (tacit_kernel){
        .host = host,
        .opencl = { .source = text, .entry = entry, .group = { EXAMPLE_GROUP }, .local_bytes = scratch },
        .cuda = { .source = text, .entry = entry, .group = { EXAMPLE_GROUP }, .local_bytes = scratch },
    };
}

/* ---------------------------------------------------------------- small tools */

double example_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void *example_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "not enough memory for %zu elements of %zu bytes\n", count, size);
        exit(EXIT_FAILURE);
    }
    return memory;
}

uint64_t example_hash(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3;
    return hash;
}

struct progress {
    size_t done, total;
    bool forced;
};

/* A host task may talk to the operating system. It runs on one node, so only that node's terminal counts. */
static void show_progress(const tacit_launch *k)
{
    const struct progress *p = k->args;
    if (p->forced || isatty(STDERR_FILENO))
        fprintf(stderr, "\r  step %zu of %zu (%zu %%)%s", p->done, p->total, p->done * 100 / p->total,
                p->done == p->total ? "\n" : "");
}

/* Every node must submit the same tasks, so the decision to print is made in the kernel and not here. */
void example_progress(tacit_context *ctx, const struct example_options *options, tacit_buffer *watched, size_t done,
                      size_t total)
{
    const struct progress p = { done, total, options->progress };
    if (total < 100 || (done % (total / 100) && done != total))
        return;
    const tacit_task show_it = {
        .name = "progress",
        .on = TACIT_ON_ONE_NODE,
        .kernel = { .host = show_progress },
        TACIT_ARGS(p),
        .access = { tacit_read(watched, tacit_fixed(tacit_box3(0, 1, 0, 1, 0, 1))) },
    };
    CHECK(tacit_submit(ctx, &show_it));
}

bool example_shows_progress(const tacit_context *ctx, const struct example_options *options)
{
    return tacit_node(ctx) == 0 && (options->progress || isatty(STDERR_FILENO));
}

struct example_traffic example_traffic_here(tacit_context *ctx)
{
    tacit_counters c;
    CHECK(tacit_wait(ctx));
    CHECK(tacit_get_counters(ctx, &c));
    return (struct example_traffic){ c.messages_sent,
                                     c.bytes_received + c.collective_bytes_received,
                                     c.collectives,
                                     c.broadcasts + c.multicasts,
                                     c.broadcast_recipients + c.multicast_recipients,
                                     c.shared_versions,
                                     c.shared_versions_late };
}

struct mine {
    const struct example_traffic *sent;
};

/* Each node's chunk is one element; a kernel that runs on the host may look at what its own process knows. */
static void tell_traffic(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT1(struct example_traffic, k->view[0], i) = (struct example_traffic){ 0 };
    TACIT_AT1(struct example_traffic, k->view[0], k->chunk.min[0]) = *((const struct mine *)k->args)->sent;
}

/* The counters of a node are known to that node only. To add them up they go into a buffer with one element per
 * node, written by a host task that is split over the nodes, and a fence brings the whole buffer to every node. */
struct example_traffic example_traffic_since(tacit_context *ctx, struct example_traffic start)
{
    const size_t nodes = (size_t)tacit_num_nodes(ctx);
    struct example_traffic here = example_traffic_here(ctx), sum = { 0 }, *all = example_alloc(nodes, sizeof *all);
    const struct mine args = { &here };

    here = (struct example_traffic){ here.messages - start.messages,
                                     here.bytes - start.bytes,
                                     here.collectives - start.collectives,
                                     here.broadcasts - start.broadcasts,
                                     here.recipients - start.recipients,
                                     here.shared - start.shared,
                                     here.late - start.late };
    if (tacit_is_dry_run(ctx)) { /* it has the numbers of this node only */
        free(all);
        return here;
    }
    const tacit_buffer_desc desc = { .name = "traffic", .range = TACIT_RANGE(nodes), .elem_size = sizeof *all };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    const tacit_task tell_it = {
        .name = "tell traffic",
        .range = TACIT_RANGE(nodes),
        .on = TACIT_ON_HOST,
        .kernel = { .host = tell_traffic },
        TACIT_ARGS(args),
        .access = { tacit_write(buffer, tacit_one_to_one()) },
        .hint.whole_chunk = true,
    };
    CHECK(tacit_submit(ctx, &tell_it));
    CHECK(tacit_fence_read(ctx, buffer, TACIT_BOX_ALL, all));
    CHECK(tacit_buffer_destroy(ctx, buffer));
    for (size_t i = 0; i < nodes; i++) {
        sum.messages += all[i].messages;
        sum.bytes += all[i].bytes;
        sum.broadcasts += all[i].broadcasts;
        sum.recipients += all[i].recipients;
        sum.shared += all[i].shared;
        sum.late += all[i].late;
        sum.collectives = all[i].collectives; /* the same on all nodes */
    }
    free(all);
    return sum;
}

void example_report_traffic(struct example_report *r, const struct example_traffic *traffic, double steps,
                            const char *step)
{
    const struct {
        const char *key, *label;
        uint64_t value;
    } rows[] = { { "messages", "messages", traffic->messages },
                 { "collectives", "collectives", traffic->collectives },
                 { "bytes", "bytes sent", traffic->bytes } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char key[64], label[64];
        if (steps == 0) {
            example_report_count(r, rows[i].key, rows[i].label, rows[i].value);
            continue;
        }
        snprintf(key, sizeof key, "%s_per_%s", rows[i].key, step);
        snprintf(label, sizeof label, "%s per %s", rows[i].label, step);
        example_report_real(r, key, label, (double)rows[i].value / steps, "");
    }
}
