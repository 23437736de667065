/* Why an edge between tasks is no collective, in words, and what can be done: see explain.h. doc/collectives.md has an
 * entry for every sentence (tests/cli/explain_page_test.py compares them). Pure functions; any thread. */
#include "trace/explain.h"

#include "base/check.h"

#include <string.h>

typedef struct explanation {
    const char *name;
    const char *reason; /* {P}, {C}, {B}: producer, consumer, buffer */
    const char *remedy;
} explanation;

static const explanation explanations[TI_VERDICTS] = {
    [TI_VERDICT_FREE] = { "free", "nothing moves: '{C}' reads '{B}' where '{P}' wrote it", "Nothing is better." },
    [TI_VERDICT_COLLECTIVE] = { "collective", "all nodes exchange what '{C}' reads of '{B}' at once",
                                "Nothing is to be done." },
    [TI_VERDICT_MIXED] = { "mixed", "the region of '{B}' that '{C}' reads lies on the nodes in several ways",
                           "Let one access of '{P}' write all of the region." },
    [TI_VERDICT_MOVED] = { "moved",
                           "what '{C}' reads of '{B}' is on other nodes already, or in many pieces: others read it "
                           "before",
                           "Nothing, as a rule: what is there does not travel again. One collective for all readers "
                           "needs a first reader that reads all that the others read." },
    [TI_VERDICT_REPLICATED] = { "replicated", "several nodes, but not all, have all that '{P}' wrote in '{B}'",
                                "Let '{P}' run on one node or on every node, or write parts." },
    [TI_VERDICT_OVERLAP] = { "overlap",
                             "the producer mapper of '{P}' on '{B}' overlaps: several nodes have the same parts",
                             "Let each item write elements of its own." },
    [TI_VERDICT_ONE_TO_ONE] = { "one_to_one", "'{B}' goes from the one node that has it to the one that runs '{C}'",
                                "One message is best. Nothing moves if both tasks are placed on one node." },
    [TI_VERDICT_FEW_GIVE] = { "few_give", "'{C}' runs on one node, and not every other node has a part of '{B}' for it",
                              "Split '{P}' over all nodes: its range needs a block of its granularity for each. With "
                              "few nodes that give, messages are right." },
    [TI_VERDICT_FEW_GET] = { "few_get", "only some of the nodes get parts of '{B}' for '{C}', neither one nor all",
                             "Split '{C}' over all nodes: its range needs a block of its granularity for each, and "
                             "what it reads must be long enough; or place it on one node." },
    [TI_VERDICT_NEITHER] = { "neither", "the consumer mapper of '{C}' on '{B}' is neither constant nor non-overlapping",
                             "Nothing for a halo (tacit_neighborhood, tacit_star, tacit_periodic): neighbours exchange "
                             "messages. Else let all chunks read the same (tacit_all, tacit_fixed), or each its own "
                             "part." },
    [TI_VERDICT_PARTITION] = { "partition",
                               "'{P}' and '{C}' divide '{B}' over the nodes differently, but not as a transposition",
                               "Give both the same range, split and granularity and the same mapper, and nothing "
                               "moves; or divide all of '{B}' along different dimensions." },
    [TI_VERDICT_SEVERAL_READS] = { "several_reads",
                                   "'{C}' reads the region of '{B}' by several mappers, none of which is constant",
                                   "Declare one access that covers them." },
    [TI_VERDICT_GROUP_CHUNKS] = { "group_chunks",
                                  "'{C}' reads rows or columns of its chunks of '{B}', but nodes have several chunks",
                                  "Do not set .oversubscribe for '{C}', so that every node has one chunk." },
    [TI_VERDICT_GROUP_GRID] = { "group_grid",
                                "'{C}' reads rows or columns of its chunks of '{B}', but '{P}' has no such grid of "
                                "chunks",
                                "Split '{P}' in two dimensions like '{C}' (.hint.split = TACIT_SPLIT_2D), with ranges "
                                "that are longer in the same dimension and have enough blocks of the granularity, and "
                                "without .oversubscribe." },
    [TI_VERDICT_GROUP_BORDERS] = { "group_borders",
                                   "'{C}' reads rows or columns of its chunks of '{B}', which '{P}' divides along "
                                   "other borders",
                                   "Give both the same offset, length and granularity in the dimension that the rows "
                                   "or columns follow, and let '{P}' write with the same mapper in it." },
    [TI_VERDICT_CAME] = { "came", "what '{C}' reads of '{B}' is where it is read: it came with an earlier transfer",
                          "Nothing is to be done." },
    [TI_VERDICT_MULTICAST] = { "multicast",
                               "tasks on several nodes read what '{P}' wrote in '{B}': with the first '{C}' it travels "
                               "down a tree to all of them",
                               "Nothing is to be done." },
    [TI_VERDICT_BROADCAST] = { "broadcast",
                               "tasks on several nodes read what '{P}' wrote in '{B}', which is so long that its "
                               "sender's broadcast brings it sooner than a planned multicast",
                               "Nothing is to be done. TACIT_MULTICAST=planned plans all." },
    [TI_VERDICT_EARLIER] = { "earlier", "a task before '{C}' had this region of '{B}' moved, or tried to",
                             "TACIT_COLLECTIVES=lookahead decides anew for every reader." },
    [TI_VERDICT_HINT] = { "hint", "'{C}' has the hint no_collectives", "Remove the hint." },
    [TI_VERDICT_OFF] = { "off", "collectives are off", "Set TACIT_COLLECTIVES to lookahead or discover." },
};

const char *ti_verdict_name(ti_verdict verdict)
{
    return explanations[verdict].name;
}

ti_verdict ti_explain_verdict(const ti_explain_edge *edge)
{
    return edge->verdict == TI_VERDICT_COLLECTIVE && edge->messages ? edge->rest : edge->verdict;
}

static void expand(const char *text, const ti_explain_edge *edge, ti_strbuf *out)
{
    for (const char *c = text; *c;) {
        size_t plain = strcspn(c, "{");
        ti_strbuf_add(out, "%.*s", (int)plain, c);
        c += plain;
        if (*c) {
            ti_strbuf_add(out, "%s", c[1] == 'P' ? edge->producer : c[1] == 'C' ? edge->consumer : edge->buffer);
            c += strlen("{P}");
        }
    }
}

void ti_explain_reason(const ti_explain_edge *edge, ti_strbuf *out)
{
    expand(explanations[ti_explain_verdict(edge)].reason, edge, out);
}

void ti_explain_remedy(const ti_explain_edge *edge, ti_strbuf *out)
{
    expand(explanations[ti_explain_verdict(edge)].remedy, edge, out);
}
