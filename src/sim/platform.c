/* Clusters as text: see platform.h. */
#include "sim/platform.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum unit { TIME, SIZE, COUNT, RATE } unit;

typedef struct key {
    const char *name;
    size_t field;
    unit unit;
    bool needed;
} key;

#define FIELD(name) offsetof(ti_platform, name)
static const key keys[] = {
    { "latency", FIELD(latency), TIME, true },
    { "send_overhead", FIELD(send_overhead), TIME, true },
    { "receive_overhead", FIELD(receive_overhead), TIME, true },
    { "gap", FIELD(gap), TIME, true },
    { "bandwidth", FIELD(byte_time), RATE, true },
    { "eager", FIELD(eager), SIZE, true },
    { "rendezvous", FIELD(rendezvous), TIME, false },
    { "ports", FIELD(ports), COUNT, false },
    { "stripe", FIELD(stripe), SIZE, false },
    { "bisection", FIELD(bisection_byte), RATE, false },
    { "workers", FIELD(workers), COUNT, true },
    { "item", FIELD(item), TIME, false },
    { "start", FIELD(start), TIME, false },
    { "handling", FIELD(handling), TIME, false },
    { "copy", FIELD(copy), TIME, false },
    { "copy_bandwidth", FIELD(copy_byte), RATE, false },
    { "combine_bandwidth", FIELD(combine_byte), RATE, false },
    { "launch", FIELD(launch), TIME, false },
    { "device_item", FIELD(device_item), TIME, false },
    { "device_lanes", FIELD(device_lanes), COUNT, false },
    { "device_copy", FIELD(device_copy), TIME, false },
    { "to_device", FIELD(to_device), RATE, false },
    { "from_device", FIELD(from_device), RATE, false },
    { "among_devices", FIELD(among_devices), RATE, false },
    { "device_memory", FIELD(device_memory), SIZE, false },
    { "task", FIELD(task), TIME, false },
    { "command", FIELD(command), TIME, false },
    { "instruction", FIELD(instruction), TIME, false },
};

static const struct {
    const char *name;
    unit unit;
    double factor;
} units[] = {
    { "ps", TIME, 1e-3 },        { "ns", TIME, 1 },        { "us", TIME, 1e3 },      { "ms", TIME, 1e6 },
    { "s", TIME, 1e9 },          { "B", SIZE, 1 },         { "KiB", SIZE, 1024 },    { "MiB", SIZE, 1048576 },
    { "GiB", SIZE, 1073741824 }, { "", COUNT, 1 },         { "B/s", RATE, 1 },       { "MB/s", RATE, 1e6 },
    { "GB/s", RATE, 1e9 },       { "Mb/s", RATE, 1.25e5 }, { "Gb/s", RATE, 1.25e8 },
};
static const char *const unit_names[] = { "ps, ns, us, ms or s", "B, KiB, MiB or GiB", "no unit",
                                          "B/s, MB/s, GB/s, Mb/s or Gb/s" };

void ti_platform_init(ti_platform *p)
{
    *p = (ti_platform){ .ports = 1,
                        .item = 1,
                        .start = 1000,
                        .copy = 200,
                        .copy_byte = 0.1,
                        .combine_byte = 0.125,
                        .launch = 5000,
                        .device_lanes = 4,
                        .device_copy = 5000,
                        .to_device = 0.1,
                        .from_device = 0.1,
                        .among_devices = 0.1,
                        .task = 300,
                        .command = 200,
                        .instruction = 300 };
}

/* ---- times per item, by name of the task */

static void forget(ti_platform_kernels *k)
{
    for (size_t i = 0; i < k->count; i++) {
        ti_strfree(k->data[i].task);
    }
    ti_vec_fini(k);
}

/* NULL: nothing is said of it. */
static double *find(const ti_platform_kernels *k, const char *task)
{
    for (size_t i = 0; i < k->count; i++) {
        if (strcmp(k->data[i].task, task) == 0) {
            k->data[i].met = true;
            return &k->data[i].item;
        }
    }
    return NULL;
}

void ti_platform_fini(ti_platform *p)
{
    forget(&p->kernels);
    forget(&p->device_kernels);
    ti_strfree(p->replay);
}

double ti_platform_item(const ti_platform *p, const char *task, double cost)
{
    const double *item = find(&p->kernels, task);
    return item ? *item : cost > 0 ? cost : p->item;
}

double ti_platform_device_item(const ti_platform *p, const char *task, double cost)
{
    const double *item = find(&p->device_kernels, task);
    return item ? *item : p->device_item > 0 ? p->device_item : ti_platform_item(p, task, cost) / TI_MAX(p->workers, 1);
}

/* ---- values */

static bool parse_value(const char *text, unit wanted, double *out)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || !isfinite(number) || number < 0) {
        return false;
    }
    end += strspn(end, " \t");
    for (size_t i = 0; i < TI_COUNT(units); i++) {
        if (units[i].unit == wanted && strcmp(units[i].name, end) == 0) {
            *out = number * units[i].factor;
            *out = wanted == RATE ? 1e9 / *out : *out;
            return wanted == RATE ? number > 0 : wanted == COUNT ? number >= 1 && number == floor(number) : true;
        }
    }
    return false;
}

bool ti_platform_time(const char *text, double *ns)
{
    return parse_value(text, TIME, ns);
}

static bool set_kernel(ti_platform_kernels *k, const char *name, const char *task, const char *value, ti_strbuf *why)
{
    double item;
    if (!*task || !parse_value(value, TIME, &item)) {
        ti_strbuf_add(why, "the time per item of %s is '%s', but must be a time, such as 2.5 ns", name, value);
        return false;
    }
    for (size_t i = 0; i < k->count; i++) {
        if (strcmp(k->data[i].task, task) == 0) {
            k->data[i].item = item;
            return true;
        }
    }
    ti_vec_push(k, ((ti_platform_kernel){ .task = ti_strdup(task), .item = item }));
    return true;
}

static const char *nearest(const char *name)
{
    size_t least = SIZE_MAX;
    const char *found = "";
    for (size_t i = 0; i < TI_COUNT(keys); i++) {
        size_t distance = ti_edit_distance(name, keys[i].name);
        found = distance < least ? keys[i].name : found;
        least = TI_MIN(least, distance);
    }
    return found;
}

/* ---- lines */

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

static bool set_algorithm(ti_platform *p, const char *value, ti_strbuf *why)
{
    p->algorithm = ti_algorithm_of(value);
    if (p->algorithm == TI_ALGORITHMS) {
        ti_strbuf_add(why,
                      "algorithm is '%s', but must be auto, linear, binomial, scatter-allgather, ring, bruck, "
                      "recursive-doubling, pairwise or nonblocking",
                      value);
    }
    return p->algorithm < TI_ALGORITHMS;
}

static bool set_planning(ti_platform *p, const char *value, ti_strbuf *why)
{
    p->measured = strcmp(value, "measured") == 0;
    if (!p->measured && strcmp(value, "given") != 0) {
        ti_strbuf_add(why, "planning is '%s', but must be given or measured", value);
        return false;
    }
    return true;
}

static bool set_progress(ti_platform *p, const char *value, ti_strbuf *why)
{
    static const char *const names[] = { "thread", "shared", "inline" };
    for (int i = 0; i < (int)TI_COUNT(names); i++) {
        if (strcmp(value, names[i]) == 0) {
            p->progress = (ti_platform_progress)i;
            return true;
        }
    }
    ti_strbuf_add(why, "progress is '%s', but must be thread, shared or inline", value);
    return false;
}

static bool set(ti_platform *p, const char *name, const char *value, ti_strbuf *why)
{
    if (strcmp(name, "algorithm") == 0) {
        return set_algorithm(p, value, why);
    }
    if (strcmp(name, "planning") == 0) {
        return set_planning(p, value, why);
    }
    if (strcmp(name, "progress") == 0) {
        return set_progress(p, value, why);
    }
    if (strcmp(name, "replay") == 0 || strcmp(name, "durations") == 0) {
        ti_strfree(p->replay);
        p->replay = ti_strdup(value);
        p->in_order = *name == 'r';
        return true;
    }
    if (strncmp(name, "kernel ", 7) == 0) {
        return set_kernel(&p->kernels, name, name + 7, value, why);
    }
    if (strncmp(name, "device kernel ", 14) == 0) {
        return set_kernel(&p->device_kernels, name, name + 14, value, why);
    }
    for (size_t i = 0; i < TI_COUNT(keys); i++) {
        if (strcmp(keys[i].name, name) == 0) {
            p->given |= UINT64_C(1) << i;
            if (!parse_value(value, keys[i].unit, (double *)(void *)((char *)p + keys[i].field))) {
                ti_strbuf_add(why, "%s is '%s', but must be a number that is not negative, with %s", name, value,
                              unit_names[keys[i].unit]);
                return false;
            }
            return true;
        }
    }
    ti_strbuf_add(why, "there is no key '%s'; did you mean %s?", name, nearest(name));
    return false;
}

static bool read_line(ti_platform *p, char *line, ti_strbuf *why)
{
    line[strcspn(line, "#")] = '\0';
    char *equals = strchr(line, '=');
    if (!equals) {
        if (*trimmed(line)) {
            ti_strbuf_add(why, "'%s' is not 'key = value'", trimmed(line));
            return false;
        }
        return true;
    }
    *equals = '\0';
    return set(p, trimmed(line), trimmed(equals + 1), why);
}

bool ti_platform_read(ti_platform *p, const char *path, ti_strbuf *why)
{
    char line[PATH_MAX + 64]; /* one may have a path */
    ti_strbuf what = { 0 };
    FILE *file = fopen(path, "r");
    bool good = file != NULL;
    if (!file) {
        ti_strbuf_add(why, "cannot read '%s': %s", path, strerror(errno));
        return false;
    }
    for (int number = 1; good && fgets(line, sizeof(line), file); number++) {
        good = read_line(p, line, &what);
        if (!good) {
            ti_strbuf_add(why, "%s:%d: %s", path, number, ti_strbuf_text(&what));
        }
    }
    if (good && ferror(file)) {
        ti_strbuf_add(why, "cannot read '%s': %s", path, strerror(errno));
        good = false;
    }
    fclose(file);
    ti_strbuf_fini(&what);
    return good;
}

bool ti_platform_is_complete(const ti_platform *p, const char *files, ti_strbuf *why)
{
    for (size_t i = 0; i < TI_COUNT(keys); i++) {
        if (keys[i].needed && !(p->given >> i & 1)) {
            ti_strbuf_add(why, "no line says %s, which the file of the %s must (read were %s); add '%s = ...' with %s",
                          keys[i].name, offsetof(ti_platform, workers) <= keys[i].field ? "machine" : "network", files,
                          keys[i].name, unit_names[keys[i].unit]);
            return false;
        }
    }
    return true;
}
