/* Advice: what is worth a sentence, on both sides of each border; nothing where all is well. */
#include "trace/advice.h"

#include "base/macro.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const ti_advice_facts well = {
    .span = 1000 * 1000 * 1000, .idle = 0.1, .growths = 2, .windows = 100, .early = 1, .early_why = "at a fence"
};

/* How many sentences the facts are worth; the last of them in `out`. */
static int count(const ti_advice_facts *facts, ti_strbuf *out)
{
    int said = 0;
    for (int a = 0; a < TI_ADVICE_KINDS; a++) {
        ti_strbuf why = { 0 };
        if (ti_advice_say((ti_advice)a, facts, &why)) {
            said++;
            ti_strbuf_fini(out);
            ti_strbuf_add(out, "%s", why.text);
        }
        ti_strbuf_fini(&why);
    }
    return said;
}

/* Only this one is said, with its cure and a pointer. */
static void expect(const ti_advice_facts *facts, ti_advice advice, const char *words)
{
    ti_strbuf text = { 0 };
    assert_int_equal(count(facts, &text), 1);
    assert_non_null(strstr(text.text, words));
    assert_non_null(strstr(text.text, ti_advice_cure(advice)));
    assert_non_null(strstr(text.text, " (doc/"));
    ti_strbuf_fini(&text);
}

static void expect_nothing(const ti_advice_facts *facts)
{
    ti_strbuf text = { 0 };
    assert_int_equal(count(facts, &text), 0);
    ti_strbuf_fini(&text);
}

static void nothing_where_all_is_well(void **state)
{
    (void)state;
    const ti_advice_facts none = { .span = 0 };
    expect_nothing(&none);
    expect_nothing(&well);
}

static void workers_without_kernels(void **state)
{
    (void)state;
    ti_advice_facts f = well;
    f.idle = 0.49;
    expect_nothing(&f);
    f.idle = 0.62;
    expect(&f, TI_ADVICE_STARVED, "in 62 % of the time");
    f.span = TI_ADVICE_LEAST_NS - 1;
    expect_nothing(&f);
}

static void a_late_node(void **state)
{
    (void)state;
    ti_advice_facts f = well;
    f.late = 2;
    f.late_factor = 1.4;
    expect_nothing(&f);
    f.late_factor = 3;
    f.idle = 0.7; /* the others wait, which is no other advice */
    expect(&f, TI_ADVICE_LATE, "node 2 computed 3.0 times as long as the others");
    f.span = TI_ADVICE_LEAST_NS - 1;
    expect_nothing(&f);
}

static void memory_that_grows(void **state)
{
    (void)state;
    ti_advice_facts f = well;
    f.growths = TI_ADVICE_GROWTHS - 1;
    expect_nothing(&f);
    f.growths = TI_ADVICE_GROWTHS;
    expect(&f, TI_ADVICE_GROWTH, "grow 8 times");
}

static void checked_accesses(void **state)
{
    (void)state;
    ti_advice_facts f = well;
    f.checked = true;
    expect(&f, TI_ADVICE_CHECKED, "14 to 18 times slower");
}

static void messages(void **state)
{
    (void)state;
    ti_advice_facts f = well;
    f.uncollected_why = "partition";
    f.uncollected = TI_ADVICE_UNCOLLECTED - 1;
    expect_nothing(&f);
    f.uncollected = 40;
    expect(&f, TI_ADVICE_MESSAGES,
           "40 times a task got by messages between pairs of nodes what a collective might bring "
           "(partition)");
}

static void windows(void **state)
{
    (void)state;
    ti_advice_facts f = well;
    f.early = 49;
    expect_nothing(&f);
    f.early = 50;
    expect(&f, TI_ADVICE_WINDOWS, "50 of 100 windows of pure tasks closed before they were full (at a fence)");
    f.early_why = "reduces";
    f.early_by_task = true;
    expect(&f, TI_ADVICE_WINDOWS, "(the next task reduces)");
    f.windows = f.early = TI_ADVICE_EARLY - 1;
    expect_nothing(&f);
}

static void memory_that_is_idle(void **state)
{
    (void)state;
    ti_advice_facts f = well;
    f.loose_buffer = "wide";
    f.loose_bytes = (5 << 20) - 1;
    f.loose_used = 4 << 20;
    expect_nothing(&f);
    f.loose_bytes = 5 << 20;
    f.loose_task = "ends";
    f.loose_access = 2;
    expect(&f, TI_ADVICE_LOOSE,
           "5.0 MiB of buffer 'wide' lie in one piece on node 0, mostly for access 2 of task 'ends', "
           "and 4.0 MiB of it are touched; use tacit_in_parts");
    f.loose_task = NULL;
    expect_nothing(&f); /* no kernel needs it: contents that are passed on */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_where_all_is_well),
        cmocka_unit_test(workers_without_kernels),
        cmocka_unit_test(a_late_node),
        cmocka_unit_test(memory_that_grows),
        cmocka_unit_test(checked_accesses),
        cmocka_unit_test(messages),
        cmocka_unit_test(windows),
        cmocka_unit_test(memory_that_is_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
