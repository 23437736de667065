/* What kernels call (tacit/view.h): the checks behind TACIT_AT and TACIT_GET in programs built without NDEBUG, and
 * tacit_kernel_fail. Also the exit handler that ends the job if a kernel calls exit. Any thread. */
#include "api/context.h"
#include "base/check.h"
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of all threads and nodes that find something at the same time, one says so. On one node the process stops here, for
 * debuggers; on several this node ends the job, in its turn. */
__attribute__((noreturn)) static void stop(const tacit_view *v, const char *what)
{
    const tacit_launch *k = v->launch;
    const char *task = k ? k->name : "(unknown)";
    int node = k ? k->node : 0;
    char text[500];
    while (k && atomic_exchange(&k->context->stopping, true)) {
        pause(); /* another thread ends the process */
    }
    if (v->name) {
        snprintf(text, sizeof(text), "task '%s' on node %d, access %d to buffer '%s': %s", task, node, v->access,
                 v->name, what);
    } else {
        snprintf(text, sizeof(text), "task '%s' on node %d: %s", task, node, what);
    }
    ti_failure_kernel = NULL; /* that MPI calls exit is no news */
    if (k && k->num_nodes > 1) {
        ti_runtime_fail(k->context->runtime, TACIT_ERROR_KERNEL, "%s", text);
        ti_runtime_wait_points(k->context->runtime);
    }
    ti_log(TI_LOG_ERROR, "%s", text);
    ti_abort();
}

/* Whether a kernel of this process has had its accesses checked, and whether that has been said. */
static _Atomic int checked;
enum { CHECKED = 1, SAID };

bool ti_view_checks_are_news(void)
{
    int state = CHECKED;
    return atomic_compare_exchange_strong(&checked, &state, SAID);
}

static const char *outside_parts(const tacit_view *v, const size_t at[3], char *text, size_t size)
{
    char element[3 * 24] = "";
    size_t used = 0;
    for (int d = 0; d < v->dims && used < sizeof(element); d++) {
        used += (size_t)snprintf(element + used, sizeof(element) - used, d ? ",%td" : "%td", (ptrdiff_t)at[d]);
    }
    snprintf(text, size, "element [%s] is in none of the parts that the access declares for this chunk", element);
    return text;
}

/* The macro is for buffers of more dimensions, and an index that is too many is not 0. */
static void check_dimensions(const tacit_view *v, const size_t at[3])
{
    char text[160];
    for (int d = v->dims; d < 3; d++) {
        if (TI_UNLIKELY(at[d] != 0)) {
            snprintf(text, sizeof(text),
                     "the kernel gives an index of dimension %d, but the buffer has %d dimensions; use TACIT_AT%d or "
                     "TACIT_GET%d",
                     d, v->dims, v->dims, v->dims);
            stop(v, text);
        }
    }
}

void *tacit_view_check(const tacit_view *v, size_t elem_size, bool write, size_t i, size_t j, size_t k)
{
    char text[400];
    const size_t at[3] = { i, j, k };
    size_t offset = 0;
    if (TI_UNLIKELY(!atomic_load_explicit(&checked, memory_order_relaxed))) {
        atomic_store_explicit(&checked, CHECKED, memory_order_relaxed);
    }
    if (!v->elem_size) {
        snprintf(text, sizeof(text), "the kernel uses view[%d], but the task has only %d, counted from 0", v->access,
                 v->launch ? v->launch->num_views : 0);
        stop(v, text);
    }
    if (elem_size != v->elem_size) {
        snprintf(text, sizeof(text), "the type has %zu bytes, an element has %zu", elem_size, v->elem_size);
        stop(v, text);
    }
    if (write && v->mode == TACIT_READ) {
        stop(v, "TACIT_AT may write, but the access is tacit_read; use TACIT_GET");
    }
    if (v->parts) {
        stop(v, tacit_part_of(v, i, j, k)
                    ? "the access is in parts (tacit_in_parts), so its view has no elements of its own; use "
                      "TACIT_PART_GET or TACIT_PART_AT"
                    : outside_parts(v, at, text, sizeof(text)));
    }
    check_dimensions(v, at);
    for (int d = 0; d < v->dims; d++) {
        if (at[d] < v->box.min[d] || at[d] >= v->box.max[d]) {
            snprintf(text, sizeof(text),
                     "index %td of dimension %d is outside [%zu,%zu), which the access declares for this chunk",
                     (ptrdiff_t)at[d], d, v->box.min[d], v->box.max[d]);
            stop(v, text);
        }
        offset += (at[d] - v->box.min[d]) * v->stride[d];
    }
    return (char *)v->data + offset;
}

/* ---- kernels that end the process, which would look like a success */

static struct {
    _Atomic int process; /* whose exit handler is registered; a fork inherits both */
    _Atomic bool ending;
} watch;

/* A thread that calls exit finds no handler that another one runs already, and would end the process with its own
 * status: so there are some, and each is replaced first. */
static void end_of_process(void)
{
    enum { MAX_SECONDS = 10 };
    const tacit_launch *launch = ti_failure_kernel;
    if (!launch || atomic_load(&watch.process) != (int)getpid()) {
        return;
    }
    atexit(end_of_process);
    if (atomic_exchange(&watch.ending, true)) {
        sleep(MAX_SECONDS);
        _Exit(EXIT_FAILURE);
    }
    ti_log(TI_LOG_ERROR,
           "task '%s' on node %d: its kernel called exit, which ends the job; call tacit_kernel_fail to say what is "
           "wrong, and return",
           launch->name, launch->node);
    fflush(stdout);
    ti_failure_kernel = NULL;
    ti_runtime_abort(launch->context->runtime, "a kernel called exit");
}

void ti_view_watch_exit(void)
{
    enum { AT_ONCE = 8 };
    int me = (int)getpid();
    if (atomic_exchange(&watch.process, me) != me) {
        for (int i = 0; i < AT_ONCE; i++) {
            atexit(end_of_process);
        }
    }
}

void tacit_kernel_fail(const tacit_launch *launch, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ti_runtime_fail(launch->context->runtime, TACIT_ERROR_KERNEL, "task '%s' on node %d: %s", launch->name,
                    launch->node, text);
}
