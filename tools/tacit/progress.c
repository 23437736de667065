/* How far a long command is: see progress.h. */
#include "progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char passed_on[] = "PROGRESS_ON_TERMINAL";
static bool shown;

static bool has_terminal(void)
{
    return isatty(STDERR_FILENO) || getenv(passed_on);
}

void tool_progress_pass_on(void)
{
    if (isatty(STDERR_FILENO)) {
        setenv(passed_on, "1", 1);
    }
}

/* The cursor stays at the beginning of the line, so that what a program prints replaces it. */
void tool_progress(const char *format, ...)
{
    va_list args;
    if (!has_terminal()) {
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
