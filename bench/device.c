/* tacit on a device against the bare interface of its driver, on the same device and in the same run: how long an empty
 * kernel takes from launch to completion, copies between host and device, a copy beside a kernel, steps of N-body and
 * of the wave equation.
 *
 * Both take turns, sample by sample; medians count, and of the ratios of samples that follow each other the median and
 * the interval in which it lies with 95 % probability. The programs must compute the same bits. */
#include "tacit/tacit.h"

#include "device/cuda.h"
#include "device/opencl.h"
#include "pairs.h"
#include "peers/device.h"
#include "progress.h"

#include <jansson.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_DEVICE = 3, KERNELS = 20, WARM_UP = 2, MOST_RESULTS = 16 };

typedef struct options {
    bool json;
    char name[32]; /* of the device, as in TACIT_DEVICES; empty: the first there is */
    size_t bytes, bodies, side, steps, samples;
} options;

/* A way to do one thing once, by tacit or by hand. */
typedef struct subject {
    peer_device *device;
    const peer_block *block;
    int count; /* kernels, or steps */
    bool to_device, has_copy;
    uint32_t spins;
} subject;
typedef void action(const subject *s);

typedef struct result {
    const char *name, *unit;
    double tacit, bare;      /* medians, in the unit */
    double speed, low, high; /* of tacit over the bare interface's: below 1, tacit is slower */
} result;

typedef struct bench {
    options o;
    char model[128];
    peer_device *tacit, *bare;
    peer_block contiguous, strided;
    result result[MOST_RESULTS];
    int results;
    bool same; /* both programs have computed the same bits */
} bench;

/* ---- samples */

static double seconds_of(action *act, const subject *s)
{
    double start = pairs_now();
    act(s);
    return pairs_now() - start;
}

/* In turns; `scale` makes the unit out of the seconds of a sample, or of their inverse if it is a rate. */
static void compare(bench *b, const char *name, action *tacit, action *bare, subject s, double scale, bool is_rate)
{
    double seconds[2][MOST_PAIRS], ratio[MOST_PAIRS];
    const int samples = (int)b->o.samples;
    subject by_hand = s;
    s.device = b->tacit;
    by_hand.device = b->bare;
    tool_progress("tacit bench device: %s", name);
    for (int i = -WARM_UP; i < samples; i++) {
        const int at = i < 0 ? 0 : i;
        seconds[0][at] = seconds_of(tacit, &s);
        seconds[1][at] = seconds_of(bare, &by_hand);
        ratio[at] = seconds[1][at] / seconds[0][at];
    }
    tool_progress_end();
    const double t = pairs_median(seconds[0], samples), h = pairs_median(seconds[1], samples);
    result r = { .name = name, .unit = is_rate ? "GB/s" : "us", .speed = pairs_median(ratio, samples) };
    r.tacit = is_rate ? scale / t : scale * t;
    r.bare = is_rate ? scale / h : scale * h;
    pairs_interval(ratio, samples, &r.low, &r.high);
    b->result[b->results++] = r;
}

static void launch(const subject *s)
{
    peer_tacit_launch(s->device, s->count);
}
static void empty(const subject *s)
{
    s->device->empty(s->device, s->count);
}
static void chain(const subject *s)
{
    s->device->chain(s->device, s->count);
}
static void copy(const subject *s)
{
    s->device->copy(s->device, s->to_device, s->block);
}
static void both(const subject *s)
{
    s->device->overlap(s->device, s->block, s->has_copy, s->spins);
}
static void step(const subject *s)
{
    s->device->step(s->device, s->count);
}

/* ---- what is compared */

static void compare_kernels(bench *b)
{
    const subject s = { .count = KERNELS };
    compare(b, "empty kernel", launch, empty, s, 1e6 / KERNELS, false);
    compare(b, "empty task", empty, empty, s, 1e6 / KERNELS, false);
    compare(b, "empty task of a chain", chain, chain, s, 1e6 / KERNELS, false);
}

static void compare_copies(bench *b)
{
    static const char *const names[2][2] = { { "device to host", "device to host, rows" },
                                             { "host to device", "host to device, rows" } };
    for (int i = 0; i < 4; i++) {
        const peer_block *block = i % 2 ? &b->strided : &b->contiguous;
        const subject s = { .to_device = i < 2, .block = block };
        compare(b, names[i < 2][i % 2], copy, copy, s, 1e-9 * (double)(block->rows * block->bytes), true);
    }
}

/* So many additions take as long as the copy, on the bare interface. */
static uint32_t find_spins(const bench *b)
{
    subject s = { .device = b->bare, .block = &b->contiguous, .has_copy = true };
    double copies[3];
    uint32_t spins = 1 << 10;
    for (int i = 0; i < 3; i++) {
        copies[i] = seconds_of(both, &s);
    }
    s.has_copy = false;
    for (s.spins = spins; seconds_of(both, &s) < pairs_median(copies, 3) && spins < 1u << 30; s.spins = spins) {
        spins *= 2;
    }
    return spins;
}

static void compare_overlap(bench *b)
{
    subject s = { .block = &b->contiguous, .has_copy = true, .spins = 0 };
    const uint32_t spins = find_spins(b);
    compare(b, "copy by itself", both, both, s, 1e6, false);
    s = (subject){ .block = &b->contiguous, .has_copy = false, .spins = spins };
    compare(b, "kernel by itself", both, both, s, 1e6, false);
    s.has_copy = true;
    compare(b, "copy beside kernel", both, both, s, 1e6, false);
}

/* Where both compute `steps` steps from the same begin: they end alike. */
static void compare_program(bench *b, const char *name, const peer_program *program)
{
    const subject s = { .count = (int)b->o.steps };
    void *tacit = malloc(program->bytes), *bare = malloc(program->bytes);
    b->tacit->open_program(b->tacit, program);
    b->bare->open_program(b->bare, program);
    compare(b, name, step, step, s, 1e6 / (double)b->o.steps, false);
    b->tacit->close_program(b->tacit, tacit);
    b->bare->close_program(b->bare, bare);
    if (memcmp(tacit, bare, program->bytes) != 0) {
        fprintf(stderr, "tacit bench device: %s: tacit and the program by hand do not compute the same\n", name);
        b->same = false;
    }
    free(tacit);
    free(bare);
}

static void compare_nbody(bench *b)
{
    const size_t n = b->o.bodies;
    peer_body *body = calloc(n, sizeof(*body)), *velocity = calloc(n, sizeof(*velocity));
    for (size_t i = 0; i < n; i++) {
        const double a = 2.399963 * (double)i, r = sqrt((double)(i + 1) / (double)n);
        body[i] = (peer_body){ r * cos(a), r * sin(a), 0.1 * sin(3 * a), 1.0 / (double)n };
    }
    const peer_program p = {
        .is_nbody = true, .size = (uint32_t)n, .first = body, .second = velocity, .bytes = n * sizeof(*body)
    };
    compare_program(b, "step of N-body", &p);
    free(body);
    free(velocity);
}

static void compare_waves(bench *b)
{
    const size_t side = b->o.side, cells = side * side;
    double *now = calloc(cells, sizeof(*now));
    for (size_t i = 0; i < cells; i++) {
        const double y = (double)(i / side) / (double)side - 0.4, x = (double)(i % side) / (double)side - 0.35;
        now[i] = exp(-400 * (x * x + y * y));
    }
    const peer_program p = { .size = (uint32_t)side, .first = now, .second = now, .bytes = cells * sizeof(*now) };
    compare_program(b, "step of waves", &p);
    free(now);
}

/* ---- output */

/* What a copy beside a kernel takes, over the longer of both by itself; 1: all of the shorter one is hidden. */
static double over_longer(const bench *b, bool is_tacit)
{
    double copies = 0, kernels = 0, together = 0;
    for (int i = 0; i < b->results; i++) {
        const result *r = &b->result[i];
        const double value = is_tacit ? r->tacit : r->bare;
        copies = strcmp(r->name, "copy by itself") == 0 ? value : copies;
        kernels = strcmp(r->name, "kernel by itself") == 0 ? value : kernels;
        together = strcmp(r->name, "copy beside kernel") == 0 ? value : together;
    }
    return together / fmax(copies, kernels);
}

static void print_text(const bench *b)
{
    printf("%s (%s)\n%-24s %12s %12s %6s %8s\n", b->o.name, b->model, "", "tacit", "by hand", "", "speed");
    for (int i = 0; i < b->results; i++) {
        const result *r = &b->result[i];
        printf("%-24s %12.3f %12.3f %-6s %8.3f [%.3f, %.3f]\n", r->name, r->tacit, r->bare, r->unit, r->speed, r->low,
               r->high);
    }
    printf("a copy beside a kernel takes %.2f of the longer one by itself; by hand %.2f\n", over_longer(b, true),
           over_longer(b, false));
    printf("copies of %zu bytes; %zu bodies, %zu x %zu cells\n", b->o.bytes, b->o.bodies, b->o.side, b->o.side);
}

static int print_json(const bench *b)
{
    json_t *list = json_array();
    for (int i = 0; i < b->results; i++) {
        const result *r = &b->result[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:f, s:f, s:f, s:[f,f]}", "name", r->name, "unit", r->unit, "tacit",
                                        r->tacit, "by_hand", r->bare, "speed", r->speed, "speed_95", r->low, r->high));
    }
    json_t *all = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:f, s:f, s:o}", "benchmark", "device",
                            "device", b->o.name, "model", b->model, "bytes", (json_int_t)b->o.bytes, "bodies",
                            (json_int_t)b->o.bodies, "side", (json_int_t)b->o.side, "steps", (json_int_t)b->o.steps,
                            "samples", (json_int_t)b->o.samples, "same_results", b->same, "overlap_over_longer",
                            over_longer(b, true), "overlap_over_longer_by_hand", over_longer(b, false), "results",
                            list);
    const bool good = all && json_dumpf(all, stdout, JSON_INDENT(2)) == 0;
    puts("");
    json_decref(all);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- the command line */

static void usage(FILE *out)
{
    fputs("usage: tacit bench device [--device NAME] [--bytes N] [--bodies N] [--side N] [--steps N] [--samples N] "
          "[--json]\n"
          "tacit on a device against OpenCL or CUDA by hand, on the same device and in the same run.\n"
          "  --device NAME  opencl:N or cuda:N (default: the first GPU of CUDA, else the first device of OpenCL)\n"
          "  --bytes N      bytes of a copy (default 67108864)\n"
          "  --bodies N     bodies of N-body (default 16384)\n"
          "  --side N       cells of a side, of waves (default 2048)\n"
          "  --steps N      steps of a sample (default 10)\n"
          "  --samples N    samples of each, from 5 to 201 (default 21)\n"
          "  --json         JSON on standard output\n"
          "Exit status 3: there is no such device.\n",
          out);
}

static bool take_name(const char *value, char *out, size_t size)
{
    int index, length = 0;
    const bool good = (sscanf(value, "opencl:%5d%n", &index, &length) == 1 ||
                       sscanf(value, "cuda:%5d%n", &index, &length) == 1) &&
                      index >= 0 && value[length] == '\0';
    snprintf(out, size, "%s", value);
    return good;
}

static bool take(const char *name, const char *value, void *to)
{
    options *o = to;
    const struct {
        const char *name;
        size_t *at, least, most;
    } numbers[] = { { "--bytes", &o->bytes, 4096, (size_t)1 << 32 },
                    { "--bodies", &o->bodies, 1, 1 << 24 },
                    { "--side", &o->side, 3, 1 << 15 },
                    { "--steps", &o->steps, 1, 1 << 20 },
                    { "--samples", &o->samples, 5, MOST_PAIRS } };
    if (strcmp(name, "--device") == 0) {
        return take_name(value, o->name, sizeof(o->name));
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            char *end;
            const unsigned long long n = strtoull(value, &end, 10);
            *numbers[i].at = (size_t)n;
            return end != value && !*end && *value != '-' && n >= numbers[i].least && n <= numbers[i].most;
        }
    }
    return false;
}

/* Into `o->name`, if it is not given. False: there is none. */
static bool find_device(options *o)
{
    ti_cuda_fact gpu;
    ti_opencl_fact fact;
    const int index = *o->name ? atoi(strchr(o->name, ':') + 1) : 0;
    const bool is_open = !*o->name, wants_cuda = is_open || strncmp(o->name, "cuda", 4) == 0;
    if (wants_cuda && ti_cuda_fact_of(index, &gpu)) {
        snprintf(o->name, sizeof(o->name), "cuda:%d", index);
        return true;
    }
    if ((is_open || !wants_cuda) && ti_opencl_fact_of(index, &fact)) {
        snprintf(o->name, sizeof(o->name), "opencl:%d", index);
        return true;
    }
    fprintf(stderr, "tacit bench device: there is no %s here, so nothing is measured; `tacit info` lists devices%s\n",
            is_open ? "CUDA or OpenCL device" : o->name,
            is_open || !wants_cuda ? ", and pocl-opencl-icd makes one of the processor" : "");
    return false;
}

static bool open_devices(bench *b)
{
    const int index = atoi(strchr(b->o.name, ':') + 1);
    if (strncmp(b->o.name, "cuda", 4) == 0) {
        b->bare = peer_cuda_open(index, b->o.bytes, b->model);
    }
#ifdef BENCH_OPENCL
    else {
        b->bare = peer_opencl_open(index, b->o.bytes, b->model);
    }
#endif
    if (!b->bare) {
        fprintf(stderr, "tacit bench device: %s cannot be used by hand\n", b->o.name);
        return false;
    }
    b->tacit = peer_tacit_open(b->o.name, b->o.bytes);
    return true;
}

int main(int argc, char **argv)
{
    static bench b;
    b = (bench){ .o = { .bytes = 64 << 20, .bodies = 16384, .side = 2048, .steps = 10, .samples = 21 }, .same = true };
    int status = pairs_parse(argc, argv, usage, take, &b.o, &b.o.json);
    if (status >= 0) {
        return status;
    }
    if (!find_device(&b.o) || !open_devices(&b)) {
        return NO_DEVICE;
    }
    /* Rows of half a page, a page apart. */
    b.contiguous = (peer_block){ .rows = 1, .bytes = b.o.bytes, .pitch = b.o.bytes };
    b.strided = (peer_block){ .rows = b.o.bytes / 4096, .bytes = 2048, .pitch = 4096 };
    compare_kernels(&b);
    compare_copies(&b);
    compare_overlap(&b);
    compare_nbody(&b);
    compare_waves(&b);
    b.tacit->close(b.tacit);
    b.bare->close(b.bare);
    status = EXIT_SUCCESS;
    if (b.o.json) {
        status = print_json(&b);
    } else {
        print_text(&b);
    }
    return b.same ? status : EXIT_FAILURE;
}
