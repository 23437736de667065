/* How far a long command is: one line on the terminal that is written again and again. Of the tool, and of benchmarks
 * that it starts. One thread. */
#ifndef PROGRESS_H
#define PROGRESS_H

/* A line that replaces the one before; nothing where there is no terminal. Its end removes it. */
void tool_progress(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
void tool_progress_end(void);
/* Programs that are started from here on write to this terminal, too, though their stderr may be a launcher's. */
void tool_progress_pass_on(void);

#endif
