/* How far a long command is: one line on the terminal that is written again and again, and nothing where stderr is no
 * terminal. See tool.h. */
#include "tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static bool shown;

/* The cursor stays at the beginning of the line, so that what a program prints replaces it. */
void tool_progress(const char *format, ...)
{
    va_list args;
    if (!isatty(STDERR_FILENO)) {
        return;
    }
    va_start(args, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, args);
    fputc('\r', stderr);
    fflush(stderr);
    va_end(args);
    shown = true;
}

void tool_progress_end(void)
{
    if (shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    shown = false;
}
