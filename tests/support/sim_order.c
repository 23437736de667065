/* Whether dependencies order all conflicts: see sim.h.
 *
 * For each vertex the set of vertices that it follows, directly or not, is a row of bits. It is enough to look at
 * neighbours in program order: a reader must follow the last writer, a writer the last writer and all readers since. */
#include "sim.h"

#include <string.h>

typedef struct use {
    size_t vertex;
    struct use *next;
} use;

typedef struct order {
    sim *s;
    const char *what;
    size_t words;
    uint64_t *row;  /* per vertex */
    size_t *writer; /* per element, 1 + vertex */
    use **reader;   /* per element */
    ti_arena arena;
} order;

static bool follows(const order *o, size_t later, size_t earlier)
{
    return later == earlier || (o->row[later * o->words + earlier / 64] >> earlier % 64 & 1);
}

static void fill_row(order *o, sim_command *const *vertex, size_t i, uint64_t *row)
{
    const sim_command *v = vertex[i];
    for (size_t k = 0; v->kind == TI_COMMAND_EPOCH && k < i; k++) {
        row[k / 64] |= (uint64_t)1 << k % 64;
    }
    for (size_t k = 0; k < v->deps; k++) {
        size_t d = (size_t)v->dep[k] - 1;
        for (size_t w = 0; w < o->words; w++) {
            row[w] |= o->row[d * o->words + w];
        }
        row[d / 64] |= (uint64_t)1 << d % 64;
    }
}

static bool check_read(order *o, size_t i, uint32_t e)
{
    SIM_CHECK(o->s, !o->writer[e] || follows(o, i, o->writer[e] - 1),
              "%s: %zu reads element %u before %zu has written it", o->what, i + 1, e, o->writer[e]);
    use *u = TI_ARENA_NEW(&o->arena, use);
    *u = (use){ i, o->reader[e] };
    o->reader[e] = u;
    return true;
}

static bool check_write(order *o, size_t i, uint32_t e)
{
    SIM_CHECK(o->s, !o->writer[e] || follows(o, i, o->writer[e] - 1), "%s: %zu writes element %u with %zu", o->what,
              i + 1, e, o->writer[e]);
    for (use *u = o->reader[e]; u; u = u->next) {
        SIM_CHECK(o->s, follows(o, i, u->vertex), "%s: %zu writes element %u while %zu reads it", o->what, i + 1, e,
                  u->vertex + 1);
    }
    o->writer[e] = i + 1;
    o->reader[e] = NULL;
    return true;
}

static bool check_vertex(order *o, sim_command *const *vertex, size_t i, uint64_t applied)
{
    const sim_command *v = vertex[i];
    SIM_CHECK(o->s, v->id == i + 1, "%s: ids have a gap at %zu", o->what, i + 1);
    for (size_t k = 0; k < v->deps; k++) {
        bool known = v->dep[k] >= 1 && v->dep[k] < v->id;
        SIM_CHECK(o->s, known && v->dep[k] >= applied, "%s: %zu depends on %llu, but %llu is applied", o->what, i + 1,
                  (unsigned long long)v->dep[k], (unsigned long long)applied);
    }
    for (size_t k = 0; k < v->deps && v->kind != TI_COMMAND_EPOCH; k++) {
        SIM_CHECK(o->s, vertex[v->dep[k] - 1]->kind != TI_COMMAND_EPOCH || v->dep[k] == applied,
                  "%s: %zu depends on a horizon too early", o->what, i + 1);
    }
    fill_row(o, vertex, i, &o->row[i * o->words]);
    for (size_t k = 0; k < v->read.count; k++) {
        if (!check_read(o, i, v->read.data[k])) {
            return false;
        }
    }
    for (size_t k = 0; k < v->write.count; k++) {
        if (!check_write(o, i, v->write.data[k])) {
            return false;
        }
    }
    return true;
}

/* The horizon below which nothing has a name once `v` has come: an epoch at once, a horizon when the next one comes. */
static uint64_t applied_after(const sim_command *v, uint64_t *newest, uint64_t applied)
{
    if (v->kind != TI_COMMAND_EPOCH) {
        return applied;
    }
    uint64_t result = v->is_wait ? v->id : *newest;
    *newest = v->id;
    return TI_MAX(result, applied);
}

bool sim_check_order(sim *s, sim_command *const *vertex, size_t count, const char *what)
{
    order o = { .s = s, .what = what, .words = count / 64 + 1 };
    size_t row_bytes = count * o.words * sizeof(uint64_t) + 1, element_bytes = s->elements * sizeof(size_t) + 1;
    uint64_t newest = 0, applied = 0;
    o.row = ti_alloc_zero(row_bytes);
    o.writer = ti_alloc_zero(element_bytes);
    o.reader = ti_alloc_zero(element_bytes);
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        good = check_vertex(&o, vertex, i, applied);
        applied = applied_after(vertex[i], &newest, applied);
    }
    ti_arena_fini(&o.arena);
    ti_free(o.row, row_bytes);
    ti_free(o.writer, element_bytes);
    ti_free(o.reader, element_bytes);
    return good;
}

static void print_elements(const char *what, const sim_elements *list, FILE *out)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t end = i + 1;
        while (end < list->count && list->data[end] == list->data[end - 1] + 1) {
            end++;
        }
        fprintf(out, "%s%u-%u", i ? "," : what, list->data[i], list->data[end - 1]);
        i = end - 1;
    }
}

void sim_print(const sim *s, int node, FILE *out)
{
    static const char *const names[] = { "execute", "send",  "receive", "collective", "reduce",
                                         "fence",   "epoch", "create",  "destroy" };
    const sim_node *n = &s->node[node];
    fprintf(out, "commands of node %d\n", node);
    for (size_t i = 0; i < n->command.count; i++) {
        const sim_command *c = n->command.data[i];
        fprintf(out, "%4llu step %zu %s", (unsigned long long)c->id, c->step, names[c->kind]);
        if (c->kind == TI_COMMAND_SEND || c->kind == TI_COMMAND_RECEIVE) {
            fprintf(out, " peer %d counter %llu b%d", c->peer, (unsigned long long)c->counter, c->buffer);
        }
        if (c->kind == TI_COMMAND_COLLECTIVE) {
            fprintf(out, " %llu %s root %d b%d", (unsigned long long)c->counter, ti_pattern_name(c->pattern), c->root,
                    c->buffer);
        }
        for (size_t k = 0; k < c->deps; k++) {
            fprintf(out, "%s%llu", k ? "," : " after ", (unsigned long long)c->dep[k]);
        }
        print_elements(" reads ", &c->read, out);
        print_elements(" writes ", &c->write, out);
        fprintf(out, "\n");
    }
}
