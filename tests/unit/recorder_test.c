/* The recorder: what several threads write comes into the file once each and in order; a full ring drops what does not
 * fit and counts it; a file that ends anywhere can be read up to there. */
#include "trace/recorder.h"

#include "random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char prefix[64];

static int make_prefix(void **state)
{
    (void)state;
    snprintf(prefix, sizeof(prefix), "/tmp/tacit-recorder-XXXXXX");
    int file = mkstemp(prefix);
    return file < 0 || close(file) != 0;
}

static int remove_files(void **state)
{
    (void)state;
    ti_strbuf path = { 0 };
    ti_recorder_path(prefix, 3, &path);
    unlink(path.text);
    ti_strbuf_fini(&path);
    return unlink(prefix);
}

static ti_recorder *create(int rings, size_t capacity, bool threaded)
{
    ti_strbuf why = { 0 };
    ti_recorder *r = ti_recorder_create(
        &(ti_recorder_desc){
            .prefix = prefix, .node = 3, .nodes = 5, .rings = rings, .capacity = capacity, .threaded = threaded },
        &why);
    assert_non_null(r);
    return r;
}

/* What a file holds: records by ring, which must be numbered 0, 1 ... but for gaps where some were dropped. */
typedef struct found {
    uint64_t records[16], next[16], dropped, gaps;
    size_t texts;
    bool complete;
} found;

static void take(found *f, const ti_trace_block *block, const char *data)
{
    for (size_t i = 0; block->kind == TI_BLOCK_RECORDS && i < block->bytes / sizeof(ti_trace_record); i++) {
        ti_trace_record r;
        memcpy(&r, data + i * sizeof(r), sizeof(r));
        assert_int_equal(r.where, block->id);
        assert_true(r.value >= f->next[block->id]);
        assert_int_equal(r.end - r.start, r.value * 3); /* as it was written: no mixture of two */
        f->gaps += r.value - f->next[block->id];
        f->next[block->id] = r.value + 1;
        f->records[block->id]++;
    }
    f->texts += block->kind == TI_BLOCK_NAME || block->kind == TI_BLOCK_BUFFER || block->kind == TI_BLOCK_FACT;
    if (block->kind == TI_BLOCK_END) {
        ti_trace_end end;
        memcpy(&end, data, sizeof(end));
        f->dropped = end.dropped;
        f->complete = true;
    }
}

static void read_file(found *f)
{
    ti_strbuf path = { 0 };
    ti_trace_header header;
    ti_trace_block block;
    memset(f, 0, sizeof(*f));
    ti_recorder_path(prefix, 3, &path);
    FILE *file = fopen(path.text, "rb");
    assert_non_null(file);
    assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
    assert_string_equal(header.magic, TI_TRACE_MAGIC);
    assert_int_equal(header.node, 3);
    assert_int_equal(header.nodes, 5);
    while (fread(&block, sizeof(block), 1, file) == 1) {
        char *data = malloc(block.bytes + 1);
        assert_int_equal(fread(data, 1, block.bytes, file), block.bytes);
        take(f, &block, data);
        free(data);
    }
    fclose(file);
    ti_strbuf_fini(&path);
}

static void add(ti_recorder *r, int ring, uint64_t value)
{
    ti_trace_add(
        ti_recorder_ring(r, ring),
        &(ti_trace_record){
            .start = 7 * value, .end = 10 * value, .value = value, .kind = TI_TRACE_PART, .where = (uint32_t)ring });
}

/* Nobody empties the ring while it is filled, since whoever would is told later. */
static void nobody(void *user)
{
    (void)user;
}

static void a_full_ring_drops_and_counts(void **state)
{
    (void)state;
    for (uint64_t more = 0; more <= 37; more += 37) {
        found f;
        ti_recorder *r = create(2, 64, false);
        ti_recorder_ring(r, 1)->hurry = nobody;
        for (uint64_t i = 0; i < 64 + more; i++) {
            add(r, 1, i);
        }
        assert_int_equal(ti_recorder_dropped(r), more);
        ti_recorder_flush(r);
        for (uint64_t i = 0; i < 5; i++) { /* there is room again */
            add(r, 1, 64 + more + i);
        }
        assert_true(ti_recorder_destroy(r, NULL));
        read_file(&f);
        assert_int_equal(f.records[1], 69);
        assert_int_equal(f.gaps, more);
        assert_int_equal(f.dropped, more);
        assert_true(f.complete);
    }
}

static void without_a_thread_nothing_is_dropped(void **state)
{
    (void)state;
    found f;
    ti_recorder *r = create(3, 16, false);
    for (uint64_t i = 0; i < 1003; i++) {
        add(r, 1 + (int)(i % 2), i / 2);
    }
    assert_true(ti_recorder_destroy(r, NULL));
    read_file(&f);
    assert_int_equal(f.records[1] + f.records[2], 1003);
    assert_int_equal(f.dropped + f.gaps, 0);
}

enum { THREADS = 3, EACH = 30011 };

typedef struct writer {
    ti_recorder *recorder;
    int ring;
} writer;

static void *write_records(void *user)
{
    const writer *w = user;
    for (uint64_t i = 0; i < EACH; i++) {
        add(w->recorder, w->ring, i);
        if (i % 1000 == 0) {
            ti_recorder_buffer(w->recorder, i, "buffer");
        }
    }
    return NULL;
}

static void threads_write_at_once(void **state)
{
    (void)state;
    found f;
    pthread_t thread[THREADS];
    writer w[THREADS];
    ti_recorder *r = create(THREADS, 256, true);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (writer){ r, i };
        assert_int_equal(pthread_create(&thread[i], NULL, write_records, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    uint64_t dropped = ti_recorder_dropped(r), all = 0;
    assert_true(ti_recorder_destroy(r, NULL));
    read_file(&f);
    for (int i = 0; i < THREADS; i++) {
        all += f.records[i];
        f.gaps += EACH - f.next[i]; /* dropped at the end */
    }
    assert_int_equal(all + dropped, THREADS * EACH);
    assert_int_equal(f.gaps, dropped);
    assert_int_equal(f.dropped, dropped);
    assert_true(all >= THREADS * 256);
    assert_int_equal(f.texts, THREADS * (EACH / 1000 + 1));
}

static void names_are_written_once(void **state)
{
    (void)state;
    found f;
    char text[32];
    ti_recorder *r = create(1, 16, false);
    uint32_t first = ti_recorder_name(r, "a"), second = ti_recorder_name(r, "b"), others = 0;
    assert_int_not_equal(first, second);
    for (int i = 0; i < 5000; i++) { /* a program that numbers its tasks */
        snprintf(text, sizeof(text), "task %d", i);
        others = ti_recorder_name(r, text);
        assert_int_equal(ti_recorder_name(r, "a"), first);
        assert_int_equal(ti_recorder_name(r, "b"), second);
    }
    assert_int_equal(ti_recorder_name(r, "(others)"), others);
    assert_true(ti_recorder_destroy(r, NULL));
    read_file(&f);
    assert_int_equal(f.texts, 4096);
}

static void a_path_that_cannot_be_written(void **state)
{
    (void)state;
    ti_strbuf why = { 0 };
    ti_recorder *r = ti_recorder_create(&(ti_recorder_desc){ .prefix = "/nowhere/at/all", .nodes = 1, .rings = 1 },
                                        &why);
    assert_null(r);
    assert_non_null(strstr(why.text, "'/nowhere/at/all.0.tacit-trace'"));
    assert_non_null(strstr(why.text, "TACIT_TRACE"));
    ti_strbuf_fini(&why);
}

/* A disk that is full: the run goes on, and the end says so. */
static void a_file_that_takes_nothing(void **state)
{
    (void)state;
    ti_strbuf why = { 0 }, path = { 0 };
    ti_recorder_path(prefix, 3, &path);
    unlink(path.text);
    assert_int_equal(symlink("/dev/full", path.text), 0);
    ti_recorder *r = create(1, 16, false);
    for (uint64_t i = 0; i < 100; i++) {
        add(r, 0, i);
    }
    assert_int_equal(ti_recorder_dropped(r), 0);
    assert_false(ti_recorder_destroy(r, &why));
    assert_non_null(strstr(why.text, "is not complete"));
    unlink(path.text);
    ti_strbuf_fini(&path);
    ti_strbuf_fini(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_ring_drops_and_counts),  cmocka_unit_test(without_a_thread_nothing_is_dropped),
        cmocka_unit_test(threads_write_at_once),         cmocka_unit_test(names_are_written_once),
        cmocka_unit_test(a_path_that_cannot_be_written), cmocka_unit_test(a_file_that_takes_nothing),
    };
    return cmocka_run_group_tests(tests, make_prefix, remove_files);
}
