/* Random programs as text, for the person who replays a failure: see gen.h. */
#include "gen.h"

#include "grid/mapper_kinds.h"

static const char *mapper_name(int kind)
{
#define ROW(KIND, name, arguments, rules, weight, touches) [TACIT_MAPPER_##KIND] = #name,
    static const char *const names[] = { TI_MAPPER_KINDS(ROW) };
#undef ROW
    return names[kind];
}

static const char *component_name(int kind)
{
#define ROW(KIND, name, rules) [TACIT_COMPONENT_##KIND] = #name,
    static const char *const names[] = { TI_COMPONENT_KINDS(ROW) };
#undef ROW
    return names[kind];
}

static void print_component(const tacit_component *c, FILE *out)
{
    if (c->kind == TACIT_COMPONENT_FULL) {
        fprintf(out, " full");
    } else if (c->kind == TACIT_COMPONENT_SPAN) {
        fprintf(out, " [%lld,%lld)", (long long)c->lo, (long long)c->hi);
    } else {
        fprintf(out, " %s%d*%d/%d-%lld+%lld", component_name(c->kind), c->dim, c->mul, c->div, (long long)c->lo,
                (long long)c->hi);
    }
}

static void print_access(const gen_program *program, const gen_access *a, FILE *out)
{
    static const char *const modes[] = { "?", "read", "write", "update", "reduce" };
    fprintf(out, " %s%s(b%d", modes[a->mode], a->in_parts ? " in parts" : "", a->buffer);
    if (a->mode == TACIT_REDUCE) {
        fprintf(out, " op %d type %d%s)", a->op.kind, a->op.type, a->include_old ? " and old" : "");
        return;
    }
    fprintf(out, " %s", mapper_name(a->mapper.kind));
    if (a->mapper.kind == TACIT_MAPPER_CUSTOM) {
        const gen_custom *c = &program->custom.data[a->mapper.arg];
        fprintf(out, " #%d kind %lld a %lld b %lld)", a->mapper.arg, (long long)c->kind, (long long)c->a,
                (long long)c->b);
        return;
    }
    for (int d = 0; d < program->buffer.data[a->buffer].range.dims; d++) {
        print_component(&a->mapper.c[d], out);
    }
    fprintf(out, ")");
}

void gen_print_task(const gen_program *program, const gen_task *t, FILE *out)
{
    gen_box items = gen_items(t);
    for (int d = 0; d < t->range.dims; d++) {
        fprintf(out, "%s[%lld,%lld)/%zu", d ? "x" : "", (long long)items.min[d], (long long)items.max[d],
                t->granularity[d]);
    }
    fprintf(out, " %s", t->split == TACIT_SPLIT_2D ? "2D" : "1D");
    if (t->on == TACIT_ON_ONE_NODE || t->place >= 0) {
        fprintf(out, " on node %d%s", t->place < 0 ? 0 : t->place, t->on == TACIT_ON_ONE_NODE ? " (one node)" : "");
    }
    fprintf(out, "%s", gen_is_everywhere(t) ? " on every node" : "");
    if (t->group) {
        fprintf(out, " group %d", t->group);
    }
    if (t->objects) {
        fprintf(out, " objects %x", t->objects);
    }
    fprintf(out, "%s", t->oversubscribe > 1 ? (t->oversubscribe == 2 ? " x2" : " x3") : "");
    if (t->window) {
        fprintf(out, " window %d", t->window);
    }
    fprintf(out, "%s%s%s%s", t->no_collectives ? " no collectives" : "", t->pure ? " pure" : "",
            t->whole_chunk ? " whole" : "", t->weights ? " weights" : "");
    for (int i = 0; t->weights && i < program->nodes; i++) {
        fprintf(out, "%s%u", i ? "," : " ", t->weights[i]);
    }
    for (size_t i = 0; i < t->item_count; i++) {
        fprintf(out, "%s%llu", i ? "," : " items ", (unsigned long long)t->items[i]);
    }
    for (int i = 0; i < t->accesses; i++) {
        print_access(program, &t->access[i], out);
    }
    fprintf(out, "\n");
}

static void print_box(const gen_box *b, FILE *out)
{
    for (int d = 0; d < 3; d++) {
        fprintf(out, "%s[%lld,%lld)", d ? "x" : "", (long long)b->min[d], (long long)b->max[d]);
    }
    fprintf(out, "\n");
}

static void print_step(const gen_program *program, const gen_step *s, FILE *out)
{
    switch (s->kind) {
    case GEN_CREATE: {
        const gen_buffer *b = &program->buffer.data[s->index];
        const tacit_distribution *o = &b->distribution;
        fprintf(out, "create b%d, %zu bytes, %s, %s %zux%zux%zu over %dx%dx%d, ", s->index, b->elem_size,
                b->local_init    ? "local init"
                : b->initialised ? "init"
                                 : "undefined",
                o->kind == TACIT_DISTRIBUTE_CYCLIC ? "cyclic" : "block", o->block[0], o->block[1], o->block[2],
                o->grid[0], o->grid[1], o->grid[2]);
        gen_box extent = gen_extent(b);
        print_box(&extent, out);
        break;
    }
    case GEN_RESIZE: {
        gen_box extent = gen_extent(&program->buffer.data[s->index]);
        fprintf(out, "resize b%d to b%d, ", s->old, s->index);
        print_box(&extent, out);
        break;
    }
    case GEN_FILL:
        fprintf(out, "fill b%d\n", s->index);
        break;
    case GEN_DESTROY:
        fprintf(out, "destroy b%d\n", s->index);
        break;
    case GEN_TASK:
        fprintf(out, "task %d: ", s->index);
        gen_print_task(program, &program->task.data[s->index], out);
        break;
    case GEN_FENCE:
        fprintf(out, "fence%s b%d ", s->local ? " local" : s->blocking ? "" : " later", s->index);
        print_box(&s->box, out);
        break;
    case GEN_WAIT:
        fprintf(out, "%s\n", s->index == GEN_ALONE ? "wait" : s->index == GEN_BARRIER ? "barrier" : "retune");
        break;
    case GEN_FLUSH:
        fprintf(out, "flush\n");
        break;
    }
}

void gen_print(const gen_program *program, FILE *out)
{
    fprintf(out, "program with seed %llu on %d nodes\n", (unsigned long long)program->seed, program->nodes);
    for (size_t i = 0; i < program->step.count; i++) {
        fprintf(out, "%4zu ", i);
        print_step(program, &program->step.data[i], out);
    }
}
