/* Memory that processes of one machine share. It has no name in any file system: others find it by the process that
 * created it and its descriptor there, so nothing is left behind, however a process ends. Any thread. */
#ifndef TI_SHARED_H
#define TI_SHARED_H

#include "base/macro.h"

typedef struct ti_shared {
    char *at; /* NULL: none */
    size_t size;
    int file;
} ti_shared;

/* What another process has to know. */
typedef struct ti_shared_name {
    int64_t process, file;
    uint64_t mark; /* another one for each */
    uint64_t size; /* 0: there is no memory */
} ti_shared_name;

/* Zeroed memory, or none. */
ti_shared ti_shared_create(size_t size, ti_shared_name *name);
/* The memory of that name, or none: it may not be opened, or its process is one of another machine or container. */
ti_shared ti_shared_attach(const ti_shared_name *name);
/* All that want it have it. */
void ti_shared_close_file(ti_shared *shared);
void ti_shared_fini(ti_shared *shared);

/* For its users, behind what attach looks at to know that it has the right one. */
enum { TI_SHARED_HEAD = TI_CACHE_LINE };

#endif
