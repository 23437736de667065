/* examples/common.h: what the examples share: checked calls, options, results, progress.
 *
 * Every example makes its calls of tacit through CHECK, understands --verify, --json, --progress and --help, and
 * prints on node 0 only. All functions are called by the program's own thread. */
#ifndef TACIT_EXAMPLES_COMMON_H
#define TACIT_EXAMPLES_COMMON_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tacit/tacit.h>

/* Make a call of tacit, or end the program with tacit's sentence about what is wrong. Uses the variable `ctx`. */
#define CHECK(...) example_check(ctx, (__VA_ARGS__), __FILE__, __LINE__)
void example_check(const tacit_context *ctx, tacit_status status, const char *file, int line);

/* ---------------------------------------------------------------- options */

struct example_options {
    bool plain;    /* set before parsing: offer only --verify and --help */
    bool speaks;   /* set before parsing by programs without a context: this process prints for all */
    bool verify;   /* compute the same thing sequentially and compare */
    bool json;     /* results as one JSON object */
    bool progress; /* a line on standard error; on by itself if that is a terminal */
    bool help;     /* --help or --usage was given and answered: nothing is left to do */
};

/* Parse the command line with the example's own options (`input` is what its parser gets) and the common ones above.
 * Returns 0, or EXIT_FAILURE after a message on node 0. */
int example_parse(const tacit_context *ctx, const struct argp *argp, struct example_options *common, int argc,
                  char **argv, void *input);

/* Values of options. A malformed value or one outside [min, max] is reported through `state`. */
error_t example_parse_size(struct argp_state *state, const char *option, const char *text, size_t min, size_t max,
                           size_t *out);
error_t example_parse_real(struct argp_state *state, const char *option, const char *text, double min, double max,
                           double *out);

/* "1d" or "2d", as a split hint. */
error_t example_parse_split(struct argp_state *state, const char *option, const char *text, int *out);

/* ---------------------------------------------------------------- results */

/* A list of results, printed as lines "label  value unit", or as one JSON object. Silent on other nodes than 0. */
struct example_report {
    bool active, json;
    int entries;
};

/* `ctx` may be NULL in programs that have none. */
void example_report_begin(struct example_report *r, const tacit_context *ctx, const struct example_options *options,
                          const char *title);
void example_report_text(struct example_report *r, const char *key, const char *label, const char *text);
void example_report_count(struct example_report *r, const char *key, const char *label, uint64_t value);
void example_report_real(struct example_report *r, const char *key, const char *label, double value, const char *unit);
void example_report_end(struct example_report *r);

/* Finalize tacit. Returns the exit status of the program: a failure if an error was met or the result is not good. */
int example_end(tacit_context *ctx, int error, bool good);

/* The line "verified" or "FAILED", if --verify was given. */
void example_report_verified(struct example_report *r, const struct example_options *options, bool good);

/* ---------------------------------------------------------------- kernels */

/* A kernel for the host, and the kernel `entry` of a text for OpenCL and CUDA devices, in groups of EXAMPLE_GROUP items
 * along dimension 0. `scratch`: bytes that a group shares. The text must live as long as the context. */
enum { EXAMPLE_GROUP = 64 };
tacit_kernel example_kernel(tacit_host_kernel *host, const char *text, const char *entry, size_t scratch);

/* ---------------------------------------------------------------- small tools */

/* Seconds of a clock that only goes forward. */
double example_seconds(void);

/* Memory, or the end of the program with a message. */
void *example_alloc(size_t count, size_t size);

/* A hash of bytes (FNV-1a, 64 bits), to compare results of several runs. */
uint64_t example_hash(const void *data, size_t bytes);

/* Submit a host task that keeps a progress line on standard error: it runs when `watched` (any one element of a
 * buffer, on the node that has it) has reached step `done` of `total`. */
void example_progress(tacit_context *ctx, const struct example_options *options, tacit_buffer *watched, size_t done,
                      size_t total);

/* Whether this node writes lines of progress itself: node 0, if they are wanted. */
bool example_shows_progress(const tacit_context *ctx, const struct example_options *options);

/* What travelled between nodes: messages, bytes (of both), and collectives, in each of which all nodes take part. So
 * many broadcasts to so many recipients, found by their senders or planned, are among the messages. `shared`: contents
 * that several nodes got; `late`: of these, not all messages left at once. */
struct example_traffic {
    uint64_t messages, bytes, collectives, broadcasts, recipients, shared, late;
};

/* Report it, for one of `steps` steps, or with 0 steps all of it. `step` says what a step is. */
void example_report_traffic(struct example_report *r, const struct example_traffic *traffic, double steps,
                            const char *step);

/* What this node has taken part in until now: bytes that it got. Waits until all submitted tasks are done. */
struct example_traffic example_traffic_here(tacit_context *ctx);

/* The same of all nodes together since `start`, which each of them took for itself. */
struct example_traffic example_traffic_since(tacit_context *ctx, struct example_traffic start);

#endif
