/* Advice at the end of a run: see advice.h. */
#include "trace/advice.h"

#include "base/check.h"

/* What helps, and where it is explained: a page and a section of it (tests/cli/advice_page_test.py looks). */
static const struct advice_text {
    const char *cure, *page, *section;
} texts[TI_ADVICE_KINDS] = {
    [TI_ADVICE_STARVED] = { "make tasks larger, or submit more before the program waits; `tacit trace` says what "
                            "workers wait for",
                            "doc/guide/slow.md", "3. The trace: where the time of a run goes" },
    [TI_ADVICE_LATE] = { "give it a smaller share (TACIT_BALANCE=auto, .hint.weights), or split the range otherwise",
                         "doc/guide/slow.md", "3. The trace: where the time of a run goes" },
    [TI_ADVICE_GROWTH] = { "let an early task access all that later ones do, or set TACIT_LOOKAHEAD=full",
                           "doc/internals.md", "Windows: allocations that are made once" },
    [TI_ADVICE_CHECKED] = { "compile the program with -O2 -DNDEBUG once it works", "doc/performance.md", "Views" },
    [TI_ADVICE_MESSAGES] = { "`tacit explain` says which messages are no collectives, and why", "doc/collectives.md",
                             "What became of my program" },
    [TI_ADVICE_LOOSE] = { "use tacit_in_parts, an access for each box, or a buffer for each way to cut it; `tacit "
                          "plan` says which of them",
                          "doc/model.md", "Around the end" },
    [TI_ADVICE_WINDOWS] = { "`tacit explain` lists windows and what closed them", "doc/latency.md", "Windows" },
};

static bool is_long(const ti_advice_facts *f)
{
    return f->span >= TI_ADVICE_LEAST_NS;
}

/* Others wait for a node that is late, so of the two only that is said. */
static bool is_late(const ti_advice_facts *f)
{
    return is_long(f) && f->late_factor * 100 >= TI_ADVICE_LATE_PERCENT;
}

static bool is_worth_saying(ti_advice advice, const ti_advice_facts *f)
{
    switch (advice) {
    case TI_ADVICE_STARVED:
        return is_long(f) && !is_late(f) && f->idle * 100 >= TI_ADVICE_IDLE_PERCENT;
    case TI_ADVICE_LATE:
        return is_late(f);
    case TI_ADVICE_GROWTH:
        return f->growths >= TI_ADVICE_GROWTHS;
    case TI_ADVICE_CHECKED:
        return f->checked;
    case TI_ADVICE_MESSAGES:
        return f->uncollected >= TI_ADVICE_UNCOLLECTED;
    case TI_ADVICE_WINDOWS:
        return f->early >= TI_ADVICE_EARLY && 2 * f->early >= f->windows;
    case TI_ADVICE_LOOSE:
        return f->loose_task && f->loose_bytes - f->loose_used >= TI_ADVICE_LOOSE_BYTES;
    case TI_ADVICE_KINDS:
        break;
    }
    TI_UNREACHABLE();
}

static void say_loose(const ti_advice_facts *f, const char *cure, ti_strbuf *why)
{
    const double mebibyte = 1 << 20;
    ti_strbuf_add(
        why,
        "%.1f MiB of buffer '%s' lie in one piece on node 0, mostly for access %d of task '%s', and %.1f MiB of "
        "it are touched; %s",
        (double)f->loose_bytes / mebibyte, f->loose_buffer, f->loose_access, f->loose_task,
        (double)f->loose_used / mebibyte, cure);
}

static void say(ti_advice advice, const ti_advice_facts *f, ti_strbuf *why)
{
    const char *cure = texts[advice].cure;
    switch (advice) {
    case TI_ADVICE_STARVED:
        ti_strbuf_add(why,
                      "workers had nothing to compute in %.0f %% of the time between the first kernel and the last; %s",
                      100 * f->idle, cure);
        return;
    case TI_ADVICE_LATE:
        ti_strbuf_add(why, "node %d computed %.1f times as long as the others on average, which wait for it; %s",
                      f->late, f->late_factor, cure);
        return;
    case TI_ADVICE_GROWTH:
        ti_strbuf_add(why, "the memory of a buffer had to grow %u times; %s", (unsigned)f->growths, cure);
        return;
    case TI_ADVICE_CHECKED:
        ti_strbuf_add(
            why, "every access of kernels to an element was checked, which makes them 14 to 18 times slower; %s", cure);
        return;
    case TI_ADVICE_MESSAGES:
        ti_strbuf_add(why,
                      "%llu times a task got by messages between pairs of nodes what a collective might bring (%s); %s",
                      (unsigned long long)f->uncollected, f->uncollected_why, cure);
        return;
    case TI_ADVICE_WINDOWS:
        ti_strbuf_add(why, "%llu of %llu windows of pure tasks closed before they were full (%s%s); %s",
                      (unsigned long long)f->early, (unsigned long long)f->windows,
                      f->early_by_task ? "the next task " : "", f->early_why, cure);
        return;
    case TI_ADVICE_LOOSE:
        say_loose(f, cure, why);
        return;
    case TI_ADVICE_KINDS:
        break;
    }
    TI_UNREACHABLE();
}

bool ti_advice_say(ti_advice advice, const ti_advice_facts *facts, ti_strbuf *why)
{
    if (!is_worth_saying(advice, facts)) {
        return false;
    }
    say(advice, facts, why);
    ti_strbuf_add(why, " (%s, \"%s\")", texts[advice].page, texts[advice].section);
    return true;
}

const char *ti_advice_cure(ti_advice advice)
{
    return texts[advice].cure;
}
