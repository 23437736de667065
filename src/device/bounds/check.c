/* Checking what kernels touch: see check.h.
 *
 * Garbage: every element that has no contents is filled with one of six bytes, by a hash of its indices: zeros, all
 * ones (no number as float, -1 as integer), and moderate and large values of both signs; each has another one for when
 * it is "changed", and one of the two is moderate, so that adding to it or multiplying it shows. So a kernel that
 * compares, adds, multiplies with zero or takes a maximum betrays itself somewhere. Garbage elements are numbered in
 * the order of the walk; a run changes those with numbers below its `limit`. */
#include "device/bounds/check.h"

#include "base/log.h"
#include "device/bounds/fault.h"
#include "device/bounds/report.h"

#include <stdio.h>
#include <string.h>

enum { MAX_GUARDED_ROWS = 8192, USUAL_MAPPINGS = 65530, MAPPINGS_PER_ROW = 2, MIN_TELLING_BYTES = 8 };
#define CHANGE_ALL UINT64_MAX

struct ti_bounds {
    ti_failure *failure;
    int64_t guarded_rows; /* of all copies of one call */
    atomic_bool said_compact, said_unsteady;
};

/* A call of a kernel that is being checked. */
typedef struct trial {
    ti_bounds *bounds;
    tacit_host_kernel *kernel;
    bool once;
    ti_bounds_subject is;
    tacit_launch launch; /* with the views of the copies */
    uint64_t seed;
    char *kept; /* the outputs of the first run, packed in the order of the walk */
    size_t kept_bytes;
} trial;

/* ---- one per context */

/* Guards are mappings, which are limited for the whole process: kernels that run at once share half of them. */
static int64_t rows_to_guard(int concurrent)
{
    long mappings = USUAL_MAPPINGS;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    if (file) {
        if (fscanf(file, "%ld", &mappings) != 1) {
            mappings = USUAL_MAPPINGS;
        }
        fclose(file);
    }
    return TI_MIN(mappings / 2 / MAPPINGS_PER_ROW / TI_MAX(concurrent, 1), MAX_GUARDED_ROWS);
}

ti_bounds *ti_bounds_create(int concurrent, ti_failure *failure)
{
    ti_bounds *bounds = TI_NEW(ti_bounds);
    bounds->failure = failure;
    bounds->guarded_rows = rows_to_guard(concurrent);
    ti_fault_install();
    return bounds;
}

void ti_bounds_destroy(ti_bounds *bounds)
{
    if (bounds) {
        ti_fault_remove();
        TI_DELETE(bounds);
    }
}

/* Copies with too many rows for guards become compact, the largest first. */
static void share_guards(trial *t)
{
    for (;;) {
        int64_t rows = 0, most = 0;
        uint32_t largest = 0;
        for (uint32_t c = 0; c < t->is.copies; c++) {
            int64_t n = t->is.copy[c].compact ? 0 : ti_guarded_rows(&t->is.copy[c]);
            rows += n;
            largest = n > most ? c : largest;
            most = TI_MAX(n, most);
        }
        if (rows <= t->bounds->guarded_rows) {
            return;
        }
        t->is.copy[largest].compact = true;
        if (!atomic_exchange(&t->bounds->said_compact, true)) {
            ti_log(TI_LOG_WARNING,
                   "bounds check: task '%s' touches %lld rows of '%s' in one call, and there can be guards for %lld "
                   "rows of all buffers (see vm.max_map_count); without them, reads beside rows are seen only if they "
                   "change a result",
                   t->is.task->shape->name, (long long)most, t->is.copy[largest].name,
                   (long long)t->bounds->guarded_rows);
        }
    }
}

/* ---- garbage */

static unsigned char garbage(const trial *t, const int64_t at[3], bool changed)
{
    static const unsigned char first[8] = { 0x00, 0x41, 0xFF, 0xC1, 0x7B, 0xFB, 0x41, 0xC1 };
    static const unsigned char other[8] = { 0xC1, 0xFB, 0x41, 0x7B, 0xC1, 0x41, 0xFF, 0x00 };
    uint64_t h = t->seed;
    for (int d = 0; d < 3; d++) {
        h = (h ^ (uint64_t)at[d]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    h = t->once ? 4 | (h & 3) : h & 7; /* neither zeros nor ones: these are what kernels write, too */
    return changed ? other[h] : first[h];
}

static bool all_bytes_are(const char *at, size_t bytes, unsigned char value)
{
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)at[i] != value) {
            return false;
        }
    }
    return true;
}

/* Walks over all copies, run by run. Zeroed, it has not begun. */
typedef struct walk {
    const ti_guarded *copy;
    ti_guarded_run run; /* of that copy */
    uint64_t number;    /* of the run's first element, if that is garbage */
    ti_guarded_walk inside;
} walk;

static bool walk_next(walk *w, const trial *t)
{
    w->number += w->run.kind & TI_GUARDED_CONTENTS ? 0 : w->run.count;
    while (!w->copy || !ti_guarded_walk_next(&w->inside, &w->run)) {
        w->copy = w->copy ? w->copy + 1 : t->is.copy;
        if (w->copy == t->is.copy + t->is.copies) {
            return false;
        }
        ti_guarded_walk_begin(&w->inside, w->copy);
    }
    return true;
}

static ti_bounds_element element_at(const trial *t, const walk *w)
{
    const int64_t *at = w->run.at;
    return (ti_bounds_element){ (uint32_t)(w->copy - t->is.copy), { at[0], at[1], at[2] } };
}

/* Bring a run's real contents to `here`, or back to where they belong. */
static void move_real(const ti_guarded *copy, const ti_guarded_run *run, char *here, bool back)
{
    int64_t at[3] = { run->at[0], run->at[1], run->at[2] };
    for (size_t left = run->count, count; left > 0; left -= count) {
        count = left;
        char *real = ti_guarded_real(copy, at, &count);
        memcpy(back ? real : here, back ? here : real, count * copy->elem_size);
        here += count * copy->elem_size;
        at[2] += (int64_t)count;
    }
}

static bool is_real(const ti_guarded *copy, const int64_t at[3], const char *now)
{
    size_t count = 1;
    return memcmp(now, ti_guarded_real(copy, at, &count), copy->elem_size) == 0;
}

static void fill(trial *t, uint64_t limit)
{
    for (walk w = { 0 }; walk_next(&w, t);) {
        size_t elem = w.copy->elem_size;
        char *to = ti_guarded_address(w.copy, w.run.at);
        if (w.run.kind & TI_GUARDED_CONTENTS) {
            move_real(w.copy, &w.run, to, false);
            continue;
        }
        for (size_t i = 0; i < w.run.count; i++, w.run.at[2]++) {
            memset(to + i * elem, garbage(t, w.run.at, w.number + i < limit), elem);
        }
    }
}

/* Finds an element that may not be written and has changed. */
static bool find_written(trial *t, uint64_t limit, ti_bounds_element *out)
{
    for (walk w = { 0 }; walk_next(&w, t);) {
        size_t elem = w.copy->elem_size;
        for (size_t i = 0; !(w.run.kind & TI_GUARDED_WRITABLE) && i < w.run.count; i++, w.run.at[2]++) {
            const char *now = ti_guarded_address(w.copy, w.run.at);
            bool same = w.run.kind ? is_real(w.copy, w.run.at, now)
                                   : all_bytes_are(now, elem, garbage(t, w.run.at, w.number + i < limit));
            if (!same) {
                *out = element_at(t, &w);
                return true;
            }
        }
    }
    return false;
}

/* ---- one run of the kernel */

static void close_copies(trial *t)
{
    for (uint32_t c = 0; c < t->is.copies; c++) {
        ti_guarded_unmap(&t->is.copy[c]);
    }
}

static bool open_copies(trial *t, bool at_end)
{
    for (uint32_t c = 0; c < t->is.copies; c++) {
        if (!ti_guarded_map(&t->is.copy[c], at_end)) {
            ti_bounds_report_memory(&t->is, t->is.copy[c].name);
            close_copies(t);
            return false;
        }
    }
    return true;
}

/* False if there is nothing more to do: something was found, or the kernel has failed. The copies stay mapped until
 * close_copies. */
static bool run_once(trial *t, bool at_end, uint64_t limit)
{
    if (!open_copies(t, at_end)) {
        return false;
    }
    fill(t, limit);
    for (uint32_t c = 0; c < t->is.copies; c++) {
        if (ti_region_is_empty(&t->is.copy[c].writable)) {
            ti_guarded_seal(&t->is.copy[c]);
        }
    }
    ti_bounds_subject_point_views(&t->is);
    ti_fault_call call = { .copy = t->is.copy, .copies = t->is.copies };
    if (!ti_fault_run(&call, t->kernel, &t->launch)) {
        ti_bounds_element e = { .copy = (uint32_t)call.hit };
        ti_guarded_locate(&t->is.copy[call.hit], call.address, e.at);
        ti_bounds_report_touch(&t->is, &e, call.touch);
        return false;
    }
    ti_bounds_element e;
    if (find_written(t, limit, &e)) {
        ti_bounds_report_touch(&t->is, &e, TI_TOUCH_WRITE);
        return false;
    }
    return ti_failure_get(t->bounds->failure) == TACIT_OK;
}

/* ---- outputs */

typedef enum outputs_do { KEEP, COPY_BACK } outputs_do;

static void move_outputs(trial *t, outputs_do what)
{
    char *kept = t->kept;
    for (walk w = { 0 }; walk_next(&w, t);) {
        size_t bytes = w.run.count * w.copy->elem_size;
        if (!(w.run.kind & TI_GUARDED_WRITABLE)) {
            continue;
        }
        if (what == KEEP) {
            memcpy(kept, ti_guarded_address(w.copy, w.run.at), bytes);
        } else {
            move_real(w.copy, &w.run, kept, true);
        }
        kept += bytes;
    }
}

static bool allocate_kept(trial *t)
{
    for (uint32_t c = 0; c < t->is.copies; c++) {
        const ti_guarded *copy = &t->is.copy[c];
        t->kept_bytes += (size_t)ti_region_volume(&copy->writable) * copy->elem_size;
    }
    t->kept = ti_user_alloc(t->kept_bytes);
    if (!t->kept) {
        ti_bounds_report_memory(&t->is, "its buffers");
    }
    return t->kept != NULL;
}

typedef struct difference {
    bool differs, unwritten;
    ti_bounds_element at; /* the first that was not written, else the first that differs */
} difference;

/* Bytes that both runs have left as they were may be padding, which nobody writes; unless it is all of the element. */
static void compare_element(const char *kept, const char *now, size_t bytes, const unsigned char was[2],
                            difference *out)
{
    bool same = true;
    for (size_t i = 0; i < bytes && same; i++) {
        unsigned char first = (unsigned char)kept[i], second = (unsigned char)now[i];
        same = first == second || (first == was[0] && second == was[1]);
    }
    out->differs = !same;
    out->unwritten = was[0] != was[1] && all_bytes_are(kept, bytes, was[0]) && all_bytes_are(now, bytes, was[1]);
}

/* What the mapped copies have in other bits than the first run. */
static difference compare(trial *t, uint64_t limit)
{
    const char *kept = t->kept;
    difference found = { 0 };
    for (walk w = { 0 }; walk_next(&w, t);) {
        size_t elem = w.copy->elem_size;
        bool contents = w.run.kind & TI_GUARDED_CONTENTS, looks = w.run.kind & TI_GUARDED_WRITABLE;
        for (size_t i = 0; looks && i < w.run.count; i++, w.run.at[2]++, kept += elem) {
            const char *now = ti_guarded_address(w.copy, w.run.at);
            difference d = { .differs = contents && memcmp(kept, now, elem) != 0 };
            if (!contents) {
                unsigned char was[2] = { garbage(t, w.run.at, false), garbage(t, w.run.at, w.number + i < limit) };
                compare_element(kept, now, elem, was, &d);
            }
            if ((d.unwritten && !found.unwritten) || (d.differs && !found.differs && !found.unwritten)) {
                found.at = element_at(t, &w);
            }
            found.differs |= d.differs;
            found.unwritten |= d.unwritten;
        }
    }
    return found;
}

/* ---- why outputs differ */

static bool run_again(trial *t, uint64_t limit, bool *differs)
{
    bool good = run_once(t, true, limit);
    if (good) {
        difference d = compare(t, limit);
        *differs = d.differs || d.unwritten;
    }
    close_copies(t);
    return good;
}

/* The garbage element with this number, and how many there are. */
static uint64_t find_garbage(const trial *t, uint64_t wanted, ti_bounds_element *out, int *kind)
{
    walk w = { 0 };
    while (walk_next(&w, t)) {
        bool contents = w.run.kind & TI_GUARDED_CONTENTS;
        if (!contents && wanted >= w.number && wanted - w.number < w.run.count) {
            w.run.at[2] += (int64_t)(wanted - w.number);
            *out = element_at(t, &w);
            *kind = w.run.kind;
        }
    }
    return w.number;
}

static void say_unsteady(trial *t, const ti_bounds_element *e, const char *why)
{
    if (!atomic_exchange(&t->bounds->said_unsteady, true)) {
        char text[TI_BOUNDS_TEXT];
        ti_log(TI_LOG_WARNING,
               "bounds check: task '%s' on node %d writes other bits to %s %s; more of this is not reported",
               t->is.task->shape->name, t->launch.node, ti_bounds_element_text(&t->is, e, text), why);
    }
}

static bool say_restless(trial *t, const ti_bounds_element *e)
{
    say_unsteady(t, e, "each time that it runs (time, random numbers, or something that no access declares)");
    return true;
}

/* Finds the garbage element without which, and with which, the outputs differ, given that no changed ones are the same
 * and all are not. */
static bool bisect(trial *t, uint64_t all, uint64_t *out)
{
    uint64_t same = 0, changed = all;
    while (changed - same > 1) {
        uint64_t middle = same + (changed - same) / 2;
        bool differs = false;
        if (!run_again(t, middle, &differs)) {
            return false;
        }
        *(differs ? &changed : &same) = middle;
    }
    *out = same;
    return true;
}

/* The outputs of two runs differ at `where`. True if the program may go on. */
static bool explain(trial *t, const ti_bounds_element *where)
{
    ti_bounds_element e = *where;
    int kind = 0;
    uint64_t found = 0;
    bool differs = false, steady_differs = false;
    /* Only the garbage of the first run is other: is it that, or the place in memory? And does the very first run
     * repeat itself? */
    if (!run_again(t, CHANGE_ALL, &differs) || !run_again(t, 0, &steady_differs)) {
        return false;
    }
    if (steady_differs) {
        return say_restless(t, where);
    }
    if (!differs) {
        say_unsteady(
            t, where,
            "when its data lie elsewhere in memory (a sum in another order, as -ffast-math allows, or something that "
            "no access declares)");
        return true;
    }
    /* Both sides once more in the end: a kernel that does not always do the same would have led astray. */
    if (!bisect(t, find_garbage(t, CHANGE_ALL, &e, &kind), &found) || !run_again(t, found, &steady_differs) ||
        !run_again(t, found + 1, &differs)) {
        return false;
    }
    if (steady_differs || !differs) {
        return say_restless(t, where);
    }
    find_garbage(t, found, &e, &kind);
    if (kind & TI_GUARDED_WRITABLE) {
        ti_bounds_report_contents(&t->is, &e, false);
    } else {
        ti_bounds_report_touch(&t->is, &e, TI_TOUCH_READ);
    }
    return false;
}

/* ---- all of it */

static void check_twice(trial *t)
{
    bool good = run_once(t, true, 0);
    if (good) {
        move_outputs(t, KEEP);
    }
    close_copies(t);
    if (!good) {
        return;
    }
    difference d = { 0 };
    good = run_once(t, false, CHANGE_ALL);
    if (good) {
        d = compare(t, CHANGE_ALL);
    }
    close_copies(t);
    if (d.unwritten) {
        ti_bounds_report_contents(&t->is, &d.at, true);
    } else if (good && (!d.differs || explain(t, &d.at))) {
        /* `explain` has left the layout of the first run, and the walk gives outputs in the same order in any. */
        move_outputs(t, COPY_BACK);
    }
}

/* Without a second run: an element that still holds its garbage, and is large enough for that not to be chance. */
static bool find_unwritten(const trial *t, ti_bounds_element *out)
{
    for (walk w = { 0 }; walk_next(&w, t);) {
        size_t elem = w.copy->elem_size;
        bool looks = w.run.kind == TI_GUARDED_WRITABLE && elem >= MIN_TELLING_BYTES;
        for (size_t i = 0; looks && i < w.run.count; i++, w.run.at[2]++) {
            if (all_bytes_are(ti_guarded_address(w.copy, w.run.at), elem, garbage(t, w.run.at, false))) {
                *out = element_at(t, &w);
                return true;
            }
        }
    }
    return false;
}

static void check_once(trial *t)
{
    ti_bounds_element e;
    if (run_once(t, true, 0)) {
        if (find_unwritten(t, &e)) {
            ti_bounds_report_contents(&t->is, &e, true);
        } else {
            move_outputs(t, KEEP);
            move_outputs(t, COPY_BACK);
        }
    }
    close_copies(t);
}

void ti_bounds_run(const ti_device_kernel *job, const tacit_launch *launch)
{
    trial *t = TI_NEW(trial);
    t->bounds = job->bounds;
    t->kernel = job->host;
    t->once = job->task->shape->on_host;
    t->seed = job->task->id;
    t->launch = *launch;
    t->launch.view = t->is.view;
    t->is = (ti_bounds_subject){ .task = job->task, .node = launch->node, .failure = t->bounds->failure };
    bool good = ti_bounds_subject_init(&t->is, launch);
    share_guards(t);
    if (good && allocate_kept(t)) {
        (t->once ? check_once : check_twice)(t);
    }
    ti_bounds_subject_fini(&t->is);
    ti_user_free(t->kept);
    TI_DELETE(t);
}
