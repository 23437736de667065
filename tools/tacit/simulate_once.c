/* One simulation of a program for `tacit simulate`: a dry run with the files that describe the cluster. See
 * simulate.h. */
#include "sim/platform.h"
#include "simulate.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

char *simulate_platform(const char *name)
{
    ti_strbuf text = { 0 };
    char *prefix = strchr(name, '/') || access(name, R_OK) == 0 ? NULL : tool_prefix(), *path;
    if (prefix) {
        ti_strbuf_add(&text, "%s/share/tacit/platforms/%s.txt", prefix, name);
    }
    path = prefix && access(ti_strbuf_text(&text), R_OK) == 0 ? ti_strdup(text.text)
           : access(name, R_OK) == 0                          ? ti_strdup(name)
                                                              : NULL;
    ti_strbuf_fini(&text);
    ti_strfree(prefix);
    return path;
}

static const char *platform_at(const void *list, size_t index)
{
    const glob_t *files = list;
    return index < files->gl_pathc ? files->gl_pathv[index] : NULL;
}

int simulate_no_platform(const char *kind, const char *name)
{
    glob_t files = { 0 };
    ti_strbuf text = { 0 };
    char *prefix = tool_prefix();
    ti_strbuf_add(&text, "%s/share/tacit/platforms/*.txt", prefix ? prefix : "");
    const bool found = glob(text.text, 0, NULL, &files) == 0;
    for (size_t i = 0; found && i < files.gl_pathc; i++) {
        char *file = files.gl_pathv[i], *base = strrchr(file, '/') + 1;
        base[strlen(base) - strlen(".txt")] = '\0';
        memmove(file, base, strlen(base) + 1);
    }
    const char *nearest = found ? tool_nearest(name, platform_at, &files) : NULL;
    if (nearest) {
        tool_fail(TOOL_USAGE, "there is no %s '%s'; did you mean '%s'?", kind, name, nearest);
    } else {
        tool_fail(TOOL_USAGE,
                  "there is no %s '%s': it is neither a file nor one of the names in `tacit simulate --help`", kind,
                  name);
    }
    globfree(&files);
    ti_strbuf_fini(&text);
    ti_strfree(prefix);
    return TOOL_USAGE;
}

static int set_platform(const simulate_options *o, const char *folder)
{
    const char *names[] = { o->network, o->machine };
    ti_strbuf files = { 0 }, lines = { 0 };
    int status = TOOL_OK;
    for (int i = 0; i < 2 && status == TOOL_OK; i++) {
        char *path = simulate_platform(names[i]);
        if (!path) {
            status = simulate_no_platform(i ? "machine" : "network", names[i]);
        } else {
            ti_strbuf_add(&files, "%s%s", i ? ":" : "", path);
        }
        ti_strfree(path);
    }
    if (status == TOOL_OK && o->kernels && access(o->kernels, R_OK) != 0) {
        status = tool_fail(TOOL_USAGE, "cannot read %s: %s", o->kernels, strerror(errno));
    } else if (o->kernels) {
        ti_strbuf_add(&files, ":%s", o->kernels);
    }
    ti_strbuf_add(&lines, "%s/lines", folder);
    if (status == TOOL_OK && !ti_strbuf_write(&o->lines, lines.text)) {
        status = tool_fail(TOOL_FAILURE, "cannot write %s: %s", lines.text, strerror(errno));
    }
    if (o->lines.length) {
        ti_strbuf_add(&files, ":%s", lines.text);
    }
    if (status == TOOL_OK) {
        setenv("TACIT_SIMULATE", files.text, 1);
    }
    ti_strbuf_fini(&files);
    ti_strbuf_fini(&lines);
    return status;
}

typedef struct waiting {
    long nodes;
    time_t since;
} waiting;

static void say_how_long(void *user)
{
    const waiting *w = user;
    tool_progress("tacit simulate: %ld nodes, %lld s", w->nodes, (long long)(time(NULL) - w->since));
}

int simulate_once(const simulate_options *o, const char *folder, long nodes, tool_simulation *out)
{
    char report[256], setting[64];
    int output = -1, how = 0, status = set_platform(o, folder);
    if (status != TOOL_OK) {
        return status;
    }
    snprintf(report, sizeof(report), "%s/report.json", folder);
    snprintf(setting, sizeof(setting), "%ld", nodes);
    setenv("TACIT_DRY_RUN", setting, 1);
    setenv("TACIT_SIMULATE_REPORT", report, 1);
    unlink(report);
    tool_progress("tacit simulate: %ld nodes", nodes);
    tool_hint_later();
    waiting w = { nodes, time(NULL) };
    tool_tick(say_how_long, &w);
    status = tool_run_quietly(o->path, o->program, &output, &how);
    tool_tick(NULL, NULL);
    tool_progress_end();
    bool there = status == TOOL_OK && !tool_caught() && tool_json_read_simulation(report, out);
    if (tool_caught()) {
        status = 128 + tool_caught();
    } else if (status == TOOL_OK && !there) {
        bool said = tool_show_output(output);
        status = said ? tool_fail(TOOL_FAILURE, "%s was not simulated on %ld nodes (see above)", o->program[0], nodes)
                      : tool_fail(TOOL_FAILURE,
                                  "%s was not simulated on %ld nodes: it ended with status %d, and said nothing; a "
                                  "program must call tacit_init and tacit_finalize",
                                  o->program[0], nodes, how);
    } else if (status == TOOL_OK && how) {
        tool_simulation_fini(out);
        tool_show_output(output);
        status =
            tool_fail(how,
                      "%s ended with status %d on %ld simulated nodes (see above), so its time says nothing; fences "
                      "give zeros there, so leave out what checks results if tacit_is_dry_run",
                      o->program[0], how, nodes);
    }
    unlink(report);
    close(output);
    return status;
}

int simulate_parse_time(const char *option, const char *text, double *ns)
{
    char spaced[64];
    size_t digits = strspn(text, "0123456789.eE+-");
    snprintf(spaced, sizeof(spaced), "%.*s %s", (int)digits, text, text + digits + strspn(text + digits, " "));
    if (!ti_platform_time(spaced, ns)) {
        return tool_fail(TOOL_USAGE, "%s is '%s', but must be a time, such as 2.5us", option, text);
    }
    return TOOL_OK;
}

void simulate_say_unmet(const simulate_options *o, const tool_simulation *r)
{
    for (size_t i = 0; i < r->unmet; i++) {
        ti_strbuf line = { 0 };
        ti_strbuf_add(&line, "kernel %s =", r->unmet_kernel[i]);
        if (strstr(ti_strbuf_text(&o->lines), line.text)) {
            tool_fail(0, "--kernel %s has no effect: no kernel of the program belongs to a task of this name",
                      r->unmet_kernel[i]);
        }
        ti_strbuf_fini(&line);
    }
}

void simulate_say_idle(const tool_simulation *r)
{
    if (r->idle_nodes > 0 && r->most_busy > 0) {
        tool_fail(0,
                  "%ld of %ld nodes run no kernel: no task has items for them; take fewer nodes, or a larger problem",
                  r->idle_nodes, r->nodes);
    }
}

int simulate_traced(const simulate_options *o, const char *folder, long nodes, tool_simulation *out)
{
    char prefix[PATH_MAX], explain[PATH_MAX + 16];
    int status = tool_trace_prefix(o->trace, prefix);
    if (status != TOOL_OK) {
        return status;
    }
    tool_trace_remove(prefix);
    snprintf(explain, sizeof(explain), "%s.explain", prefix);
    setenv("TACIT_TRACE", prefix, 1);
    setenv("TACIT_EXPLAIN", explain, 1);
    status = simulate_once(o, folder, nodes, out);
    if (status != TOOL_OK) {
        tool_trace_remove(prefix);
    }
    return status;
}

int simulate_report_trace(const simulate_options *o)
{
    char prefix[PATH_MAX];
    int status = tool_trace_prefix(o->trace, prefix);
    if (status == TOOL_OK) {
        fputs(o->json ? "" : "\n", stdout);
        status = tool_trace_report(prefix, o->json ? NULL : "simulated");
        tool_trace_remove(prefix);
    }
    return status;
}

int simulate_folder(char *folder, size_t size)
{
    snprintf(folder, size, "/tmp/tacit-simulate-XXXXXX");
    tool_catch_signals();
    return mkdtemp(folder) ? TOOL_OK : tool_fail(TOOL_FAILURE, "nothing can be written to /tmp: %s", strerror(errno));
}

void simulate_clean(const char *folder)
{
    char lines[256];
    snprintf(lines, sizeof(lines), "%s/lines", folder);
    unlink(lines);
    rmdir(folder);
}

void simulate_print_time(double ns)
{
    static const char *const unit[] = { "ns", "us", "ms", "s" };
    int i = 0;
    for (; ns >= 1000 && i < 3; i++) {
        ns /= 1000;
    }
    printf(" %8.*f %-2s", ns < 10 ? 3 : ns < 100 ? 2 : 1, ns, unit[i]);
}

void tool_simulation_fini(tool_simulation *s)
{
    for (size_t i = 0; i < s->paths; i++) {
        ti_strfree(s->path[i].name);
    }
    ti_free(s->path, (s->paths ? s->paths : 1) * sizeof(*s->path));
    for (size_t i = 0; i < s->unmet; i++) {
        ti_strfree(s->unmet_kernel[i]);
    }
    ti_free(s->unmet_kernel, s->unmet * sizeof(*s->unmet_kernel));
    *s = (tool_simulation){ 0 };
}
