/* tacit help settings: the TACIT_* variables, from the table in src/base/config.c, as text, as JSON, or as
 * doc/configuration.md. See tool.h. */
#include "report.h"

#include "base/config.h"

#include <stdio.h>
#include <string.h>

static const char usage[] = "Usage: tacit help settings [--json | --markdown]   explain the TACIT_* variables\n"
                            "       (--markdown prints doc/configuration.md)\n";

void tool_print_settings(void)
{
    const ti_setting *setting;
    puts("Settings are read from the environment by every node when it starts; they win over the program's own.\n");
    for (size_t i = 0; (setting = ti_config_setting(i)); i++) {
        printf("  %s=%s\n      %s\n      default: %s\n", setting->name, setting->values, setting->help,
               setting->initial);
    }
}

/* A bar would end the cell. */
static void print_cell(const char *text)
{
    for (const char *c = text; *c; c++) {
        printf(*c == '|' ? "\\|" : "%c", *c);
    }
}

static void print_markdown(void)
{
    static const char intro[] =
        "# Configuration\n"
        "\n"
        "<!-- Printed by `tacit help settings --markdown` from the table in src/base/config.c: "
        "change that, not this. -->\n"
        "\n"
        "A setting comes from the environment, from the program (a field of `tacit_config`, given to `tacit_init`),\n"
        "or it has its default; the first of these wins. A variable that begins with `TACIT_` and is none of these,\n"
        "or a value that means nothing, is refused with the nearest name or the values allowed: a misspelled setting\n"
        "is never ignored.\n"
        "\n"
        "    TACIT_WORKERS=4 TACIT_LOG=info tacit run -n 2 ./program\n"
        "\n"
        "Settings are read once, by `tacit_init`. All nodes must have the same: `tacit run` passes the variables on,\n"
        "also to other machines. Where a difference would do harm, nodes compare a setting when they start, and the\n"
        "job ends with its name and both values. `tacit info` shows the value that each setting has here and now,\n"
        "and where it comes from.\n"
        "\n"
        "| variable | values | default | what it does |\n"
        "|---|---|---|---|\n";
    const ti_setting *setting;
    fputs(intro, stdout);
    for (size_t i = 0; (setting = ti_config_setting(i)); i++) {
        printf("| `%s` | `", setting->name);
        print_cell(setting->values);
        fputs("` | ", stdout);
        print_cell(setting->initial);
        fputs(" | ", stdout);
        print_cell(setting->help);
        puts(" |");
    }
}

int tool_settings(int argc, char **argv)
{
    const char *option = argc > 1 ? argv[1] : "";
    if (strcmp(option, "--help") == 0) {
        fputs(usage, stdout);
    } else if (strcmp(option, "--markdown") == 0) {
        print_markdown();
    } else if (strcmp(option, "--json") == 0) {
        return tool_json_is_there() ? tool_json_settings() : TOOL_FAILURE;
    } else if (*option) {
        return tool_fail(TOOL_USAGE, "there is no option '%s'; there are --json and --markdown", option);
    } else {
        tool_print_settings();
    }
    return TOOL_OK;
}
