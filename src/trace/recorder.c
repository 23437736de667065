/* The recorder of one node: see recorder.h. */
#include "trace/recorder.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/park.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CAPACITY = 1 << 14, MAX_NAMES = 4096, NAP_NS = 20 * 1000 * 1000 };

struct ti_recorder {
    int file;
    int error; /* errno of the first write that failed; nothing is written after it */
    char *path;
    int rings;
    ti_trace_ring *ring;
    uint64_t records;
    bool given; /* the start: times are not those of this machine's clock */
    ti_lock writing;
    TI_VEC(char *) names;
    ti_map name_index; /* hash of the text to index, plus one */
    pthread_t thread;
    bool threaded;
    _Atomic bool stop;
    ti_lot lot;
};

void ti_recorder_path(const char *prefix, int node, ti_strbuf *out)
{
    ti_strbuf_add(out, "%s.%d.tacit-trace", prefix, node);
}

void ti_recorder_context(const char *path, unsigned context, ti_strbuf *out)
{
    ti_strbuf_add(out, "%s", path);
    if (context > 1) {
        ti_strbuf_add(out, ".context%u", context);
    }
}

/* ---- the file; all under the lock */

static void write_all(ti_recorder *r, struct iovec *part, int parts)
{
    while (parts > 0 && !r->error) {
        ssize_t n = writev(r->file, part, parts);
        if (n < 0 && errno != EINTR) {
            r->error = errno;
        }
        for (; parts > 0 && n >= 0 && (size_t)n >= part->iov_len; part++, parts--) {
            n -= (ssize_t)part->iov_len;
        }
        if (parts > 0 && n > 0) {
            part->iov_base = (char *)part->iov_base + n;
            part->iov_len -= (size_t)n;
        }
    }
}

static void write_block(ti_recorder *r, ti_trace_block_kind kind, uint32_t id, const void *data, size_t bytes)
{
    ti_trace_block block = { .kind = kind, .id = id, .bytes = bytes };
    struct iovec part[2] = { { &block, sizeof(block) }, { (void *)(uintptr_t)data, bytes } };
    write_all(r, part, 2);
}

static void add_block(ti_recorder *r, ti_trace_block_kind kind, uint32_t id, const void *data, size_t bytes)
{
    ti_lock_take(&r->writing);
    write_block(r, kind, id, data, bytes);
    ti_lock_drop(&r->writing);
}

/* What lies in the ring, in one block of one or two pieces. */
static void empty_ring(ti_recorder *r, uint32_t index)
{
    ti_trace_ring *ring = &r->ring[index];
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t count = atomic_load_explicit(&ring->tail, memory_order_acquire) - head;
    if (count == 0) {
        return;
    }
    uint64_t first = head & (ring->capacity - 1), straight = TI_MIN(count, ring->capacity - first);
    ti_trace_block block = { .kind = TI_BLOCK_RECORDS, .id = index, .bytes = count * sizeof(ti_trace_record) };
    struct iovec part[3] = { { &block, sizeof(block) },
                             { &ring->record[first], straight * sizeof(ti_trace_record) },
                             { ring->record, (count - straight) * sizeof(ti_trace_record) } };
    write_all(r, part, count > straight ? 3 : 2);
    r->records += count;
    atomic_store_explicit(&ring->head, head + count, memory_order_release);
}

void ti_recorder_flush(ti_recorder *r)
{
    ti_lock_take(&r->writing);
    for (int i = 0; i < r->rings; i++) {
        empty_ring(r, (uint32_t)i);
    }
    ti_lock_drop(&r->writing);
}

static void *recorder_main(void *user)
{
    ti_recorder *r = user;
    while (!atomic_load_explicit(&r->stop, memory_order_acquire)) {
        uint32_t ticket = ti_lot_ticket(&r->lot);
        ti_recorder_flush(r);
        ti_lot_sleep(&r->lot, ticket, NAP_NS);
    }
    return NULL;
}

static void hurry_thread(void *user)
{
    ti_recorder *r = user;
    ti_lot_wake(&r->lot, 1);
}

static void hurry_oneself(void *user)
{
    ti_recorder_flush(user);
}

/* ---- creation */

/* Without the thread it goes on as well, in the threads that write. */
static void start_thread(ti_recorder *r)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r->threaded = pthread_create(&r->thread, NULL, recorder_main, r) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r->threaded) {
        pthread_setname_np(r->thread, "tacit-recorder");
    }
}

static void write_header(ti_recorder *r, const ti_recorder_desc *desc)
{
    ti_trace_header header = { .magic = TI_TRACE_MAGIC,
                               .version = TI_TRACE_VERSION,
                               .node = (uint32_t)desc->node,
                               .nodes = (uint32_t)desc->nodes,
                               .record_bytes = sizeof(ti_trace_record),
                               .rings = (uint32_t)desc->rings,
                               .start = desc->start ? desc->start : ti_clock_ns() };
    struct iovec part = { &header, sizeof(header) };
    write_all(r, &part, 1);
}

ti_recorder *ti_recorder_create(const ti_recorder_desc *desc, ti_strbuf *why)
{
    ti_strbuf path = { 0 };
    ti_recorder_path(desc->prefix, desc->node, &path);
    int file = open(path.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        ti_strbuf_add(why, "cannot write '%s': %s; set TACIT_TRACE to a path in a folder that exists and has room",
                      path.text, strerror(errno));
        ti_strbuf_fini(&path);
        return NULL;
    }
    ti_recorder *r = TI_NEW(ti_recorder);
    r->file = file;
    r->path = ti_strdup(path.text);
    ti_strbuf_fini(&path);
    r->rings = desc->rings;
    r->given = desc->start != 0;
    r->ring = ti_alloc_aligned(sizeof(ti_trace_ring) * (size_t)desc->rings);
    write_header(r, desc);
    if (desc->threaded) {
        start_thread(r);
    }
    for (int i = 0; i < desc->rings; i++) {
        r->ring[i].capacity = desc->capacity ? desc->capacity : CAPACITY;
        TI_ASSERT(r->ring[i].capacity >= 4 && (r->ring[i].capacity & (r->ring[i].capacity - 1)) == 0);
        r->ring[i].record = ti_alloc(r->ring[i].capacity * sizeof(ti_trace_record));
        r->ring[i].hurry = r->threaded ? hurry_thread : hurry_oneself;
        r->ring[i].user = r;
    }
    return r;
}

bool ti_recorder_destroy(ti_recorder *r, ti_strbuf *why)
{
    atomic_store_explicit(&r->stop, true, memory_order_release);
    if (r->threaded) {
        ti_lot_wake(&r->lot, 1);
        pthread_join(r->thread, NULL);
    }
    ti_recorder_flush(r);
    ti_trace_end end = { r->given ? 0 : ti_clock_ns(), r->records, ti_recorder_dropped(r) };
    write_block(r, TI_BLOCK_END, 0, &end, sizeof(end));
    int failed = close(r->file) != 0 && !r->error ? errno : r->error;
    if (failed && why) {
        ti_strbuf_add(why, "'%s' is not complete: %s; set TACIT_TRACE to a path in a folder that exists and has room",
                      r->path, strerror(failed));
    }
    for (int i = 0; i < r->rings; i++) {
        ti_free(r->ring[i].record, r->ring[i].capacity * sizeof(ti_trace_record));
    }
    for (size_t i = 0; i < r->names.count; i++) {
        ti_strfree(r->names.data[i]);
    }
    ti_vec_fini(&r->names);
    ti_map_fini(&r->name_index);
    ti_free(r->ring, sizeof(ti_trace_ring) * (size_t)r->rings);
    ti_strfree(r->path);
    TI_DELETE(r);
    return !failed;
}

ti_trace_ring *ti_recorder_ring(ti_recorder *r, int index)
{
    TI_ASSERT(index >= 0 && index < r->rings);
    return &r->ring[index];
}

uint64_t ti_recorder_dropped(const ti_recorder *r)
{
    uint64_t all = 0;
    for (int i = 0; i < r->rings; i++) {
        all += atomic_load_explicit(&r->ring[i].dropped, memory_order_relaxed);
    }
    return all;
}

/* ---- texts */

uint32_t ti_recorder_name(ti_recorder *r, const char *name)
{
    const char *wanted = r->names.count < MAX_NAMES - 1 ? name : "(others)";
    for (const char *text = name;; text = wanted) { /* many names: those that are known stay what they are */
        uint64_t key = ti_hash_bytes(text, strlen(text)), *at = ti_map_find(&r->name_index, key);
        while (at && strcmp(r->names.data[*at - 1], text) != 0) {
            at = ti_map_find(&r->name_index, ++key);
        }
        if (at) {
            return (uint32_t)*at;
        }
        if (text == wanted) {
            ti_vec_push(&r->names, ti_strdup(text));
            *ti_map_at(&r->name_index, key) = r->names.count;
            add_block(r, TI_BLOCK_NAME, (uint32_t)r->names.count, text, strlen(text));
            return (uint32_t)r->names.count;
        }
    }
}

void ti_recorder_buffer(ti_recorder *r, uint64_t serial, const char *name)
{
    add_block(r, TI_BLOCK_BUFFER, (uint32_t)serial + 1, name, strlen(name));
}

void ti_recorder_fact(ti_recorder *r, const char *key, const char *value)
{
    ti_strbuf text = { 0 };
    ti_strbuf_add(&text, "%s=%s", key, value);
    add_block(r, TI_BLOCK_FACT, 0, text.text, text.length);
    ti_strbuf_fini(&text);
}

void ti_recorder_values(ti_recorder *r, uint64_t fence, const void *data, size_t bytes)
{
    add_block(r, TI_BLOCK_VALUES, (uint32_t)fence, data, bytes);
}

void ti_recorder_clocks(ti_recorder *r, const ti_trace_clock *clock, size_t count)
{
    add_block(r, TI_BLOCK_CLOCKS, 0, clock, count * sizeof(*clock));
}
