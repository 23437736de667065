/* Messages to the user: see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static struct {
    _Atomic int level, node;
} sink = { TI_LOG_WARNING, -1 };

void ti_log_setup(int level, int node)
{
    atomic_store_explicit(&sink.level, level, memory_order_relaxed);
    atomic_store_explicit(&sink.node, node, memory_order_relaxed);
}

bool ti_log_enabled(int level)
{
    return level <= atomic_load_explicit(&sink.level, memory_order_relaxed);
}

void ti_log_text(int level, const char *text)
{
    static const char *const names[] = { "", "error", "warning", "info", "debug" };
    if (!ti_log_enabled(level)) {
        return;
    }
    int node = atomic_load_explicit(&sink.node, memory_order_relaxed);
    if (node >= 0) {
        fprintf(stderr, "tacit %s (node %d): %s\n", names[level], node, text);
    } else {
        fprintf(stderr, "tacit %s: %s\n", names[level], text);
    }
}

void ti_log(int level, const char *format, ...)
{
    if (!ti_log_enabled(level)) {
        return;
    }
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ti_log_text(level, text);
}
