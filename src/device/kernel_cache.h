/* Compiled kernels on disk: what a compiler has made in one run is taken over by the next.
 *
 * An entry is found by its key, a text of all that the code depends on: source, options, device, driver. A file has the
 * whole key, and a sum of its bytes: what is damaged, cut off, or of another key, counts as not there, and is written
 * again. Files are written under another name first, so any number of processes may share a directory. What cannot be
 * kept is a warning, once. One thread at a time. */
#ifndef TI_KERNEL_CACHE_H
#define TI_KERNEL_CACHE_H

#include "base/strbuf.h"

#include <stdbool.h>

typedef struct ti_kernel_cache {
    char *folder; /* NULL: nothing is kept */
    bool has_warned;
    int compiled, found; /* programs of this run, counted by whoever compiles, and here */
} ti_kernel_cache;

/* `setting` is TACIT_KERNEL_CACHE: a directory, which is made when it is needed, or "off"; NULL: `tacit` in the user's
 * directory for caches ($XDG_CACHE_HOME, or $HOME/.cache). */
void ti_kernel_cache_init(ti_kernel_cache *cache, const char *setting);
/* Says in the log what became of the programs, if there were any. */
void ti_kernel_cache_fini(ti_kernel_cache *cache);

/* The code that was kept for this key, into `code`, which is empty; false if there is none. */
bool ti_kernel_cache_find(ti_kernel_cache *cache, const ti_strbuf *key, ti_strbuf *code);
void ti_kernel_cache_keep(ti_kernel_cache *cache, const ti_strbuf *key, const ti_strbuf *code);

#endif
