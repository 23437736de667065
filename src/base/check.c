/* Assertions: see check.h. */
#include "base/check.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void ti_panic(const char *file, int line, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "tacit: internal error at %s:%d: %s\n", file, line, text);
    fflush(stderr);
    abort();
}

void ti_stop(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ti_log(TI_LOG_ERROR, "%s", text);
    fflush(stderr);
    abort();
}
