/* Options of the tool behind the name of the program that it runs: see tool.h. */
#include "tool.h"

#include <getopt.h>
#include <string.h>

static bool is_option(const struct option *options, const char *word)
{
    for (const struct option *at = options; at->name; at++) {
        size_t length = strlen(at->name);
        if (at->val != 'h' && strncmp(word, "--", 2) == 0 && strncmp(word + 2, at->name, length) == 0 &&
            (word[2 + length] == '\0' || word[2 + length] == '=')) {
            return true;
        }
    }
    return false;
}

int tool_take_late(const struct option *options, int argc, char **argv, int (*take)(void *user, int option), void *user,
                   char ***out)
{
    int status = TOOL_OK, program = optind++;
    while (status == TOOL_OK && optind < argc && is_option(options, argv[optind])) {
        int c = getopt_long(argc, argv, "+", options, NULL);
        status = c == '?' ? tool_wrong_option(argv, options) : take(user, c);
    }
    argv[optind - 1] = argv[program];
    *out = argv + optind - 1;
    return status;
}
