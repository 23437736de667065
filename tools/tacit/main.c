/* tacit: start programs on several nodes, run the benchmarks, explain the settings. See tool.h. */
#include "tool.h"

#include "base/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifndef TOOL_MPI_NAME
#define TOOL_MPI_NAME "none"
#endif

static const char usage[] =
    "Usage: tacit run [-n NODES] PROGRAM [ARGUMENTS]   start a program, on one node or on several\n"
    "       tacit bench NAME [ARGUMENTS]               measure tacit on this machine (tacit bench --list)\n"
    "       tacit help [run|bench|settings]            explain a command, or the TACIT_* variables\n"
    "       tacit --version\n"
    "\n"
    "`tacit run --help` and `tacit bench --help` tell more.\n";

int tool_fail(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("tacit: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return status;
}

void tool_print_settings(void)
{
    const ti_setting *setting;
    puts("Settings are read from the environment by every node when it starts; they win over the program's own.\n");
    for (size_t i = 0; (setting = ti_config_setting(i)); i++) {
        printf("  %s=%s\n      %s\n      default: %s\n", setting->name, setting->values, setting->help,
               setting->initial);
    }
}

/* The same table for doc/configuration.md. */
static void print_settings_markdown(void)
{
    const ti_setting *setting;
    puts("| variable | values | default | what it does |\n|---|---|---|---|");
    for (size_t i = 0; (setting = ti_config_setting(i)); i++) {
        printf("| `%s` | `", setting->name);
        for (const char *c = setting->values; *c; c++) {
            printf(*c == '|' ? "\\|" : "%c", *c);
        }
        printf("` | %s | %s |\n", setting->initial, setting->help);
    }
}

static int help(int argc, char **argv)
{
    const char *topic = argc > 1 ? argv[1] : "";
    char option[] = "--help", *command[] = { argv[0], option, NULL };
    if (strcmp(topic, "settings") == 0) {
        if (argc > 2 && strcmp(argv[2], "--markdown") == 0) {
            print_settings_markdown();
        } else {
            tool_print_settings();
        }
        return TOOL_OK;
    }
    if (strcmp(topic, "run") == 0) {
        return tool_run(2, command);
    }
    if (strcmp(topic, "bench") == 0) {
        return tool_bench(2, command);
    }
    if (*topic) {
        return tool_fail(TOOL_USAGE, "there is no help about '%s'; there is about run, bench and settings", topic);
    }
    fputs(usage, stdout);
    return TOOL_OK;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "run") == 0) {
        return tool_run(argc - 1, argv + 1);
    }
    if (strcmp(command, "bench") == 0) {
        return tool_bench(argc - 1, argv + 1);
    }
    if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
        return help(argc - 1, argv + 1);
    }
    if (strcmp(command, "--version") == 0) {
        printf("tacit %d.%d.%d (MPI: %s)\n", TACIT_VERSION_MAJOR, TACIT_VERSION_MINOR, TACIT_VERSION_PATCH,
               TOOL_MPI_NAME);
        return TOOL_OK;
    }
    if (*command) {
        tool_fail(TOOL_USAGE, "there is no command '%s'", command);
    }
    fputs(usage, stderr);
    return TOOL_USAGE;
}
