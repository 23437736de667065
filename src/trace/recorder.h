/* The recorder of one node: the rings that a traced run writes to, and the file PREFIX.NODE.tacit-trace.
 *
 * A thread of its own empties the rings every 20 ms, or when a quarter of one has been filled; it sleeps otherwise.
 * Without threads whoever fills a quarter does it, and nothing is dropped. A file that cannot be written is one
 * sentence at the end; the run goes on. Created and destroyed by one thread; texts and flush: any thread. */
#ifndef TI_RECORDER_H
#define TI_RECORDER_H

#include "base/strbuf.h"
#include "trace/record.h"

typedef struct ti_recorder ti_recorder;

typedef struct ti_recorder_desc {
    const char *prefix;
    int node, nodes;
    int rings;       /* TI_TRACE_WORKER and one per worker */
    size_t capacity; /* records of each, a power of two; 0: what usually suffices */
    bool threaded;
    uint64_t start; /* 0: now; else no time comes from this machine's clock */
} ti_recorder_desc;

/* NULL and a sentence in `why` if the file cannot be made. */
ti_recorder *ti_recorder_create(const ti_recorder_desc *desc, ti_strbuf *why);
/* False and a sentence in `why` if not everything got into the file. `why` may be NULL. */
bool ti_recorder_destroy(ti_recorder *recorder, ti_strbuf *why);

ti_trace_ring *ti_recorder_ring(ti_recorder *recorder, int index);
uint64_t ti_recorder_dropped(const ti_recorder *recorder);

/* The number of a task's name. Names beyond the first thousands are one: "(others)". One thread at a time. */
uint32_t ti_recorder_name(ti_recorder *recorder, const char *name);
void ti_recorder_buffer(ti_recorder *recorder, uint64_t serial, const char *name);
void ti_recorder_fact(ti_recorder *recorder, const char *key, const char *value);
void ti_recorder_values(ti_recorder *recorder, uint64_t fence, const void *data, size_t bytes);
void ti_recorder_clocks(ti_recorder *recorder, const ti_trace_clock *clock, size_t count);

/* Empty the rings into the file now: before the process ends by force. */
void ti_recorder_flush(ti_recorder *recorder);

/* PREFIX.NODE.tacit-trace */
void ti_recorder_path(const char *prefix, int node, ti_strbuf *out);
/* The path of the first context of a program, and for another one the same with .contextN behind it, from 2 on. */
enum { TI_RECORDER_CONTEXTS = 16 };
void ti_recorder_context(const char *path, unsigned context, ti_strbuf *out);

#endif
