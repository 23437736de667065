/* Lists of numbers, which `plan` and `simulate` take. See tool.h. */
#include "tool.h"

#include <errno.h>
#include <stdlib.h>

int tool_parse_counts(tool_counts *out, const char *list, long most, const char *option)
{
    const char *at = list;
    for (out->count = 0; out->count < TOOL_MOST_COUNTS;) {
        char *end;
        errno = 0;
        long n = strtol(at, &end, 10);
        if (errno || end == at || n < 1 || n > most || (*end && *end != ',')) {
            break;
        }
        out->number[out->count++] = n;
        if (!*end) {
            return TOOL_OK;
        }
        at = end + 1;
    }
    return tool_fail(TOOL_USAGE, "%s is '%s', but must be up to %d numbers from 1 to %ld, such as 4,64,1024", option,
                     list, TOOL_MOST_COUNTS, most);
}
