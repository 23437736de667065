/* Reading trace files: see read.h. */
#include "trace/read.h"

#include "trace/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_blocks(FILE *file, ti_trace_found *found, void *user)
{
    ti_trace_block block;
    void *data = NULL;
    size_t room = 0;
    while (fread(&block, sizeof(block), 1, file) == 1 && block.bytes < (uint64_t)1 << 40) {
        if (block.bytes > room) {
            void *grown = realloc(data, block.bytes);
            if (!grown) {
                break;
            }
            data = grown;
            room = block.bytes;
        }
        size_t got = block.bytes ? fread(data, 1, block.bytes, file) : 0;
        bool whole = got == block.bytes;
        if (!whole && block.kind != TI_BLOCK_RECORDS) {
            break;
        }
        block.bytes = got - (block.kind == TI_BLOCK_RECORDS ? got % sizeof(ti_trace_record) : 0);
        found(user, &block, data);
        if (!whole) {
            break;
        }
    }
    free(data);
}

static bool is_ours(const ti_trace_header *header, const char *path, ti_strbuf *why)
{
    if (memcmp(header->magic, TI_TRACE_MAGIC, sizeof(TI_TRACE_MAGIC)) != 0 ||
        header->record_bytes != sizeof(ti_trace_record) || header->nodes == 0 || header->nodes > 1 << 24) {
        ti_strbuf_add(why, "%s is no trace of tacit", path);
        return false;
    }
    if (header->version != TI_TRACE_VERSION) {
        ti_strbuf_add(why, "%s has version %u of the format, and this tool reads version %d", path, header->version,
                      TI_TRACE_VERSION);
        return false;
    }
    return true;
}

bool ti_trace_read(const char *prefix, int node, ti_trace_header *header, ti_trace_found *found, void *user,
                   ti_strbuf *why)
{
    ti_strbuf path = { 0 };
    ti_recorder_path(prefix, node, &path);
    FILE *file = fopen(path.text, "rb");
    bool good = false;
    if (!file) {
        ti_strbuf_add(why, "%s cannot be read: %s", path.text, strerror(errno));
    } else if (fread(header, sizeof(*header), 1, file) != 1) {
        ti_strbuf_add(why, "%s is no trace of tacit", path.text);
    } else {
        good = is_ours(header, path.text, why);
    }
    if (good && found) {
        read_blocks(file, found, user);
    }
    if (file) {
        fclose(file);
    }
    ti_strbuf_fini(&path);
    return good;
}

const char *ti_trace_kind_name(uint8_t kind)
{
    static const char *const names[TI_TRACE_KINDS] = {
        [TI_TRACE_NONE] = "",
        [TI_TRACE_TASK] = "submission",
        [TI_TRACE_WAIT] = "wait",
        [TI_TRACE_COMMANDS] = "commands",
        [TI_TRACE_INSTRUCTIONS] = "instructions",
        [TI_TRACE_WINDOW] = "window",
        [TI_TRACE_ALLOC] = "alloc",
        [TI_TRACE_FREE] = "free",
        [TI_TRACE_COPY] = "copy",
        [TI_TRACE_KERNEL] = "kernel",
        [TI_TRACE_HOST] = "host task",
        [TI_TRACE_COLLECTIVE_HOST] = "task on every node",
        [TI_TRACE_SEND] = "send",
        [TI_TRACE_RECEIVE] = "receive",
        [TI_TRACE_COLLECTIVE] = "collective",
        [TI_TRACE_REDUCE] = "reduction",
        [TI_TRACE_FENCE] = "fence",
        [TI_TRACE_EPOCH] = "epoch",
        [TI_TRACE_HORIZON] = "horizon",
        [TI_TRACE_PART] = "kernel",
        [TI_TRACE_MEMBERS] = "members",
        [TI_TRACE_RELAY] = "relay",
        [TI_TRACE_LANE_KERNEL] = "kernel",
        [TI_TRACE_LANE_COPY] = "copy",
    };
    return kind < TI_TRACE_KINDS ? names[kind] : "";
}

/* ---- one clock */

void ti_trace_add_clocks(ti_trace_drift *drift, uint32_t nodes, const ti_trace_block *block, const char *data)
{
    ti_trace_clock clock;
    for (size_t i = 0; i < block->bytes / sizeof(clock); i++) {
        memcpy(&clock, data + i * sizeof(clock), sizeof(clock));
        if (clock.node < nodes && clock.error != UINT64_MAX) {
            ti_trace_drift *d = &drift[clock.node];
            d->first = d->known ? d->first : clock;
            d->last = clock;
            d->known = true;
        }
    }
}

int64_t ti_trace_common_time(const ti_trace_drift *d, int64_t time)
{
    if (!d->known) {
        return time;
    }
    double span = (double)(d->last.time - d->first.time);
    double at = (double)(time - d->first.offset - (int64_t)d->first.time);
    double more = span > 0 ? (double)(d->last.offset - d->first.offset) * at / span : 0;
    return time - d->first.offset - (int64_t)more;
}
