/* What tests of plans state: commands, literally, and the verdict on what task R reads of buffer A. After cmocka.h. */
#ifndef TEST_PLAN_EXPECT_H
#define TEST_PLAN_EXPECT_H

#include "plan.h"

#include <string.h>

static inline void expect(const plan *p, int node, const char *text)
{
    assert_string_equal(plan_text(p, node), text);
}

static inline void expect_verdict(const plan *p, ti_verdict verdict)
{
    const ti_explain_edge *edge = plan_edge(p, "R", "A");
    assert_non_null(edge);
    assert_string_equal(ti_verdict_name(edge->verdict), ti_verdict_name(verdict));
}

/* No node has a collective for its latest task. */
static inline void expect_messages(const plan *p, ti_verdict verdict)
{
    for (int i = 0; i < p->count; i++) {
        assert_null(strstr(plan_text(p, i), " give "));
        assert_null(strstr(plan_text(p, i), " get "));
    }
    expect_verdict(p, verdict);
}

#endif
