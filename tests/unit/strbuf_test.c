/* The growing string against one big snprintf. */
#include "base/strbuf.h"

#include "random.h"

#include <string.h>

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

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(pieces_add_up), cmocka_unit_test(adding_nothing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
