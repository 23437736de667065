/* What became of the edges between tasks, and why: the report of TACIT_EXPLAIN.
 *
 * An edge is what one task (consumer) reads of what another one (producer) wrote, in one buffer. The task graph says
 * which there are and which of them are free, the command graph what became of the others. Edges of equal names and
 * equal outcomes are one row of the table. Names are copied, since tasks and buffers do not live until the report.
 * Names are taken by the application thread, rows by the scheduler thread, the report when both have ended. */
#ifndef TI_EXPLAIN_H
#define TI_EXPLAIN_H

#include "base/strbuf.h"
#include "ir/collective.h"
#include "ir/system.h"
#include "trace/explain_overlap.h"
#include "trace/explain_tile.h"
#include "trace/explain_window.h"

#include <stdio.h>

typedef struct ti_explain ti_explain;

ti_explain *ti_explain_create(void);
void ti_explain_destroy(ti_explain *explain);

/* The name, for as long as there is a report; equal names are one pointer. */
const char *ti_explain_name(ti_explain *explain, const char *name);

/* One edge of one task. Names are of ti_explain_name. */
typedef struct ti_explain_edge {
    const char *producer, *consumer, *buffer;
    ti_verdict verdict;
    ti_verdict rest;         /* of a collective: on what it leaves to messages */
    ti_pattern pattern;      /* of a collective, else none */
    int groups, members;     /* within so many groups of so many nodes; 0: among all nodes */
    bool merged;             /* the collective serves later tasks, too: lookahead */
    const char *region;      /* an example; copied */
    uint64_t recipients;     /* of a planned multicast, on all nodes together */
    uint32_t depth;          /* of its tree */
    uint64_t bytes;          /* of the region, on all nodes together */
    int peers;               /* nodes that this one exchanges messages with, because of the edge */
    uint64_t messages;       /* those, both ways */
    uint64_t sent, received; /* bytes, of this node, by messages and collectives */
} ti_explain_edge;

void ti_explain_note(ti_explain *explain, const ti_explain_edge *edge);

void ti_explain_note_overlap(ti_explain *explain, const ti_explain_overlap *what);
void ti_explain_note_window(ti_explain *explain, const ti_explain_window *window);
void ti_explain_note_tiles(ti_explain *explain, const ti_explain_tiles *tiles);
/* What TACIT_LATENCY=auto chose, and why. While nothing is planned. */
void ti_explain_note_choice(ti_explain *explain, const char *sentence);

/* How often collectives of each pattern were carried out, and by whom. Nothing
 * if `explain` is NULL. */
void ti_explain_carried(ti_explain *explain, const uint64_t carried[TI_PATTERN_KINDS][TI_CARRIERS]);

/* The rows, in the order in which they came up first: their peers and depth at most, all else in sum. */
size_t ti_explain_rows(const ti_explain *explain);
const ti_explain_edge *ti_explain_row(const ti_explain *explain, size_t index, uint64_t *times);

/* What was planned on `system`: a table for people. */
void ti_explain_text(const ti_explain *explain, const ti_system *system, ti_strbuf *out);
/* The system's, to stderr if `path` is "1", as JSON if it ends in .json, else as a table. False and a sentence if it
 * cannot be written. */
bool ti_explain_write(const ti_system *system, const char *path, ti_strbuf *why);

/* Why an edge did not become a collective, or not all of it: a word, a sentence about it, and what to do. */
ti_verdict ti_explain_verdict(const ti_explain_edge *edge);
const char *ti_verdict_name(ti_verdict verdict);
void ti_explain_reason(const ti_explain_edge *edge, ti_strbuf *out);
void ti_explain_remedy(const ti_explain_edge *edge, ti_strbuf *out);

#endif
