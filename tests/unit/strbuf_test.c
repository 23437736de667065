/* The growing string against one big snprintf. */
#include "base/strbuf.h"

#include "random.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static uint64_t seed;

static void pieces_add_up(void **state)
{
    (void)state;
    enum { LONGEST = 60000 };
    rng r = rng_from(seed);
    char *expected = malloc(LONGEST);
    ti_strbuf buf = { 0 };
    assert_string_equal(ti_strbuf_text(&buf), "");
    ti_strbuf_clear(&buf);
    for (int round = 0; round < 5; round++) {
        size_t length = 0;
        expected[0] = '\0';
        for (int i = 0; i < 500; i++) {
            int n = (int)rng_between(&r, -5000, 5000), width = (int)rng_between(&r, 1, 90);
            ti_strbuf_add(&buf, "%*d|%s", width, n, i % 7 ? "" : "x%y");
            length += (size_t)snprintf(expected + length, LONGEST - length, "%*d|%s", width, n, i % 7 ? "" : "x%y");
            assert_int_equal(buf.length, length);
        }
        assert_string_equal(ti_strbuf_text(&buf), expected);
        assert_true(buf.capacity > buf.length);
        ti_strbuf_clear(&buf);
        assert_string_equal(ti_strbuf_text(&buf), "");
        assert_int_equal(buf.length, 0);
    }
    ti_strbuf_fini(&buf);
    assert_string_equal(ti_strbuf_text(&buf), "");
    assert_int_equal(ti_alloc_live(), 0);
    free(expected);
}

static void adding_nothing(void **state)
{
    (void)state;
    ti_strbuf buf = { 0 };
    ti_strbuf_add(&buf, "%s", "");
    assert_string_equal(ti_strbuf_text(&buf), "");
    ti_strbuf_add(&buf, "a");
    ti_strbuf_add(&buf, "%s", "");
    assert_string_equal(ti_strbuf_text(&buf), "a");
    ti_strbuf_fini(&buf);
    assert_int_equal(ti_alloc_live(), 0);
}

static void strings_of_json(void **state)
{
    (void)state;
    static const struct {
        const char *text, *json;
    } cases[] = {
        { "", "\"\"" },
        { "halo of U", "\"halo of U\"" },
        { "a\"b\\c/d", "\"a\\u0022b\\u005cc/d\"" },
        { "one\ntwo\t\x1f\x7f", "\"one\\u000atwo\\u0009\\u001f\x7f\"" },
        { "r\xc3\xa4umlich %s", "\"r\xc3\xa4umlich %s\"" },
        { "\xe2\x82\xac \xf0\x9f\x8c\x8d", "\"\xe2\x82\xac \xf0\x9f\x8c\x8d\"" },
        /* No UTF-8: Latin 1, cut, too long, half a pair, too large. */
        { "r\xe4u", "\"r\xef\xbf\xbdu\"" },
        { "\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xf4\x90\x80\x80x", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\"" },
    };
    for (size_t i = 0; i < TI_COUNT(cases); i++) {
        ti_strbuf buf = { 0 };
        ti_strbuf_add(&buf, "x: ");
        ti_strbuf_add_json(&buf, cases[i].text);
        assert_memory_equal(ti_strbuf_text(&buf), "x: ", 3);
        assert_string_equal(ti_strbuf_text(&buf) + 3, cases[i].json);
        ti_strbuf_fini(&buf);
    }
    assert_int_equal(ti_alloc_live(), 0);
}

static void bytes_for_people(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = { { 0, "0 B" },
                  { 1023, "1023 B" },
                  { 1024, "1.00 KiB" },
                  { 20000, "19.5 KiB" },
                  { 300 << 20, "300 MiB" },
                  { (uint64_t)10 << 30, "10.0 GiB" },
                  { (uint64_t)1 << 56, "64.0 PiB" },
                  { UINT64_MAX, "16.0 EiB" } };
    for (size_t i = 0; i < TI_COUNT(cases); i++) {
        char text[TI_BYTES_TEXT];
        assert_string_equal(ti_bytes_format(cases[i].bytes, text), cases[i].text);
    }
}

/* All of it is there, or an error says why: also where the disk has room for a part, or nothing is known before the
 * end. */
static void files(void **state)
{
    (void)state;
    char path[] = "/tmp/strbuf_test_XXXXXX", back[8] = "";
    int file = mkstemp(path);
    assert_true(file >= 0);
    ti_strbuf buf = { 0 };
    assert_true(ti_strbuf_write(&buf, path));
    assert_int_equal(read(file, back, sizeof(back)), 0);
    ti_strbuf_add(&buf, "short");
    assert_true(ti_strbuf_write(&buf, path));
    assert_int_equal(read(file, back, sizeof(back)), 5);
    assert_memory_equal(back, "short", 5);
    for (int large = 0; large < 2; large++) { /* larger than a stream's buffer */
        errno = 0;
        assert_false(ti_strbuf_write(&buf, "/dev/full"));
        assert_int_equal(errno, ENOSPC);
        ti_strbuf_add(&buf, "%100000d", 0);
    }
    assert_false(ti_strbuf_write(&buf, "/none/x"));
    assert_int_equal(errno, ENOENT);
    ti_strbuf_fini(&buf);
    close(file);
    unlink(path);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(pieces_add_up), cmocka_unit_test(adding_nothing),
                                        cmocka_unit_test(strings_of_json), cmocka_unit_test(bytes_for_people),
                                        cmocka_unit_test(files) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
