/* Messages to the user: one line on stderr with a node prefix, filtered by level.
 *
 * Quiet in a healthy run: errors and warnings by default. Lowercase, the cause and not a guess, one line. The level and
 * the node number belong to the process's last context; they only decorate. Any thread. */
#ifndef TI_LOG_H
#define TI_LOG_H

#include "base/macro.h"

enum { TI_LOG_ERROR = 1, TI_LOG_WARNING, TI_LOG_INFO, TI_LOG_DEBUG };

void ti_log_setup(int level, int node); /* node < 0: no prefix */
bool ti_log_enabled(int level);
void ti_log(int level, const char *format, ...) TI_PRINTF(2, 3);
/* Several lines of any length, such as a table, that stay together. */
void ti_log_text(int level, const char *text);

#endif
