/* The instruction graph, tiles: see impl.h. Executions of a window of pure tasks that follow each other are compiled
 * tile by tile (plan/tolerance/tiles.h), so that what a tile touches stays in the cache.
 *
 * Ready kernels of equal priority start in the order in which they were compiled (exec/engine.h), so all that is
 * decided here is this order. Dependencies are those that the trackers find, and one more: a tile begins when an
 * earlier one has ended, or else devices would begin with the first task of every tile. The order is kept for windows
 * that come again: it is found by shapes and pieces, from which alone it follows. Scheduler thread. */
#include "base/hash.h"
#include "plan/stream/impl.h"
#include "plan/tolerance/tiles.h"
#include "trace/explain.h"

#include <string.h>

enum { MAX_TILINGS = 64 };

/* A kernel, of the command with this number in the group. */
typedef struct tiled_kernel {
    uint32_t command;
    int32_t after; /* as in ti_tile_kernel */
    ti_device_piece at;
} tiled_kernel;

/* What became of some of the commands. */
typedef struct tiled_part {
    uint32_t first, commands;
    ti_tile_verdict verdict;
    ti_tile_order made; /* without the list */
} tiled_part;

typedef struct ti_tiling {
    TI_VEC(uint64_t) key;
    uint64_t used; /* when */
    ti_arena arena;
    TI_VEC(tiled_kernel) kernel;
    TI_VEC(tiled_part) part;
} ti_tiling;

/* Executions that follow each other. */
typedef struct group {
    ti_instruction_graph *graph;
    const ti_command *const *command;
    size_t commands;
    const size_t *first; /* piece of the graph's window, of each command */
    size_t end;
} group;

static void destroy(ti_tiling *t)
{
    ti_vec_fini(&t->key);
    ti_vec_fini(&t->kernel);
    ti_vec_fini(&t->part);
    ti_arena_fini(&t->arena);
    TI_DELETE(t);
}

void ti_instruction_tilings_fini(ti_instruction_graph *graph)
{
    for (size_t i = 0; i < graph->tiles.known.count; i++) {
        destroy(graph->tiles.known.data[i]);
    }
    ti_vec_fini(&graph->tiles.known);
    ti_vec_fini(&graph->tiles.kernel);
}

static size_t end_of(const group *g, size_t c)
{
    return c + 1 < g->commands ? g->first[c + 1] : g->end;
}

/* ---- a new order */

static void add_kernel(const group *g, ti_tiling *t, size_t c, const ti_device_piece *piece, const ti_box *items,
                       int32_t after)
{
    const ti_shape *shape = g->command[c]->task->shape;
    TI_ASSERT(ti_box_covers(&piece->piece->chunk, items) && after < (int32_t)t->kernel.count);
    ti_piece *own = TI_ARENA_NEW(&t->arena, ti_piece);
    ti_footprint *f = TI_ARENA_ARRAY(&t->arena, ti_footprint, shape->accesses);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        ti_footprint_fill(&f[i], &shape->access[i], items, &t->arena);
    }
    *own = (ti_piece){ *items, f };
    ti_vec_push(&t->kernel, ((tiled_kernel){ (uint32_t)c, after, { own, piece->device, piece->memory } }));
}

static void add_whole(const group *g, ti_tiling *t, size_t c)
{
    for (size_t p = g->first[c]; p < end_of(g, c); p++) {
        const ti_device_piece *piece = &g->graph->window.piece.data[p];
        add_kernel(g, t, c, piece, &piece->piece->chunk, -1);
    }
}

static bool is_on_hosts(const group *g, size_t c)
{
    bool all = true;
    for (size_t p = g->first[c]; p < end_of(g, c); p++) {
        all &= g->graph->window.piece.data[p].device < ti_system_hosts(g->graph->system);
    }
    return all;
}

/* Tiles of so many commands. */
static ti_tile_verdict make(const group *g, size_t c, size_t commands, ti_tile_order *out)
{
    const ti_system *system = g->graph->system;
    TI_VEC(const ti_shape *) shape = { 0 };
    TI_VEC(ti_tile_piece) piece = { 0 };
    bool hosts = true;
    for (size_t i = c; i < c + commands; i++) {
        hosts &= is_on_hosts(g, i);
        ti_vec_push(&shape, g->command[i]->task->shape);
        for (size_t p = g->first[i]; p < end_of(g, i); p++) {
            const ti_device_piece *at = &g->graph->window.piece.data[p];
            ti_vec_push(&piece, ((ti_tile_piece){ (uint32_t)(i - c), at->device, at->piece->chunk }));
        }
    }
    const ti_tile_request request = { .shape = shape.data,
                                      .tasks = (uint32_t)commands,
                                      .pieces = (uint32_t)piece.count,
                                      .piece = piece.data,
                                      .bytes = system->tile_bytes,
                                      .least = system->tile_least,
                                      .ahead = system->workers > 1 ? 2 : 1 };
    const ti_tile_verdict verdict = hosts ? ti_tile_order_make(&request, out) : TI_TILES_DEVICE;
    ti_vec_fini(&shape);
    ti_vec_fini(&piece);
    return verdict;
}

static void add_tiles(const group *g, ti_tiling *t, size_t c, const ti_tile_order *tiles)
{
    const int32_t before = (int32_t)t->kernel.count;
    for (size_t i = 0; i < tiles->kernel.count; i++) {
        const ti_tile_kernel *k = &tiles->kernel.data[i];
        const size_t p = g->first[c] + k->piece;
        size_t of = c;
        TI_ASSERT(p < end_of(g, g->commands - 1));
        while (p >= end_of(g, of)) {
            of++;
        }
        add_kernel(g, t, of, &g->graph->window.piece.data[p], &k->items, k->after < 0 ? -1 : before + k->after);
    }
}

/* As many commands from number `c` on as tiles are large enough for, or the first of them as it is. How many. */
static size_t add_part(const group *g, ti_tiling *t, size_t c)
{
    ti_tile_order tiles = { .tiles = 0 };
    size_t commands = g->commands - c;
    ti_tile_verdict verdict;
    while ((verdict = make(g, c, commands, &tiles)) == TI_TILES_SKEW && commands > 2) {
        commands = (commands + 1) / 2;
    }
    if (verdict == TI_TILES_MADE) {
        add_tiles(g, t, c, &tiles);
    } else {
        commands = verdict == TI_TILES_SKEW ? 1 : commands;
        for (size_t i = 0; i < commands; i++) {
            add_whole(g, t, c + i);
        }
    }
    TI_ASSERT(commands > 0 && c + commands <= g->commands);
    tiled_part part = { (uint32_t)c, (uint32_t)commands, verdict, tiles };
    memset(&part.made.kernel, 0, sizeof(part.made.kernel));
    tiled_part *last = t->part.count ? &t->part.data[t->part.count - 1] : NULL;
    if (last && verdict != TI_TILES_MADE && last->verdict == verdict) {
        last->commands += part.commands;
    } else {
        ti_vec_push(&t->part, part);
    }
    ti_tile_order_fini(&tiles);
    return commands;
}

/* ---- orders that are known */

/* All that an order follows from; empty if a shape comes once. */
static void find_key(const group *g, ti_tiling *t)
{
    for (size_t c = 0; c < g->commands; c++) {
        const uint64_t serial = g->command[c]->task->shape->serial;
        ti_vec_push(&t->key, serial);
        ti_vec_push(&t->key, end_of(g, c) - g->first[c]);
        for (size_t p = g->first[c]; p < end_of(g, c); p++) {
            const ti_device_piece *at = &g->graph->window.piece.data[p];
            ti_vec_push(&t->key, (uint64_t)at->device);
            for (int d = 0; d < 3; d++) {
                ti_vec_push(&t->key, (uint64_t)at->piece->chunk.min[d]);
                ti_vec_push(&t->key, (uint64_t)at->piece->chunk.max[d]);
            }
        }
        if (!serial) {
            ti_vec_clear(&t->key);
            return;
        }
    }
}

static ti_tiling *find(ti_instruction_graph *graph, const ti_tiling *like)
{
    for (size_t i = 0; i < graph->tiles.known.count && like->key.count; i++) {
        ti_tiling *t = graph->tiles.known.data[i];
        if (t->key.count == like->key.count &&
            memcmp(t->key.data, like->key.data, like->key.count * sizeof(uint64_t)) == 0) {
            return t;
        }
    }
    return NULL;
}

/* In the place of the one that was not used for longest, if there are many. */
static void keep(ti_instruction_graph *graph, ti_tiling *fresh)
{
    size_t place = 0;
    if (graph->tiles.known.count < MAX_TILINGS) {
        ti_vec_push(&graph->tiles.known, fresh);
        return;
    }
    for (size_t i = 1; i < graph->tiles.known.count; i++) {
        place = graph->tiles.known.data[i]->used < graph->tiles.known.data[place]->used ? i : place;
    }
    destroy(graph->tiles.known.data[place]);
    graph->tiles.known.data[place] = fresh;
}

/* ---- the report */

static const char *const reasons[TI_TILES_VERDICTS] = {
    [TI_TILES_MADE] = NULL,
    [TI_TILES_ONE] = "there is one task, or one between messages",
    [TI_TILES_FIXED] = "a task may not be cut",
    [TI_TILES_SMALL] = "what they touch is no larger than the cache",
    [TI_TILES_SKEW] = "a tile would be smaller than what one task reads around another's items",
    [TI_TILES_MANY] = "there would be too many kernels",
    [TI_TILES_DEVICE] = "an accelerator executes them",
};

static void tell(const group *g, const tiled_part *part)
{
    TI_ASSERT((part->verdict == TI_TILES_MADE) == !reasons[part->verdict]);
    ti_explain_tiles row = { .first = g->command[part->first]->task->shape->name,
                             .last = g->command[part->first + part->commands - 1]->task->shape->name,
                             .tasks = (int)part->commands,
                             .why = reasons[part->verdict] };
    if (part->verdict == TI_TILES_MADE) {
        row.dims = g->command[part->first]->task->shape->dims;
        row.tiles = part->made.tiles;
        row.bytes = part->made.bytes;
        memcpy(row.extent, part->made.extent, sizeof(row.extent));
    }
    ti_explain_note_tiles(g->graph->system->explain, &row);
}

/* ---- from outside */

/* How many executions of one window follow each other and may be tiled. */
static size_t count_commands(const ti_command *const *command, size_t left)
{
    size_t n = 0;
    while (n < left && command[n]->kind == TI_COMMAND_EXECUTE && command[n]->as.execute.window &&
           command[n]->as.execute.window == command[0]->as.execute.window &&
           ti_tile_order_admits(command[n]->task->shape)) {
        n++;
    }
    return n;
}

static void compile(const group *g, const ti_tiling *t)
{
    ti_instruction_graph *graph = g->graph;
    ti_vec_clear(&graph->tiles.kernel);
    for (size_t i = 0; i < t->kernel.count; i++) {
        const tiled_kernel *k = &t->kernel.data[i];
        TI_ASSERT(k->after < (int32_t)i && k->command < g->commands);
        const uint64_t after = k->after < 0 ? 0 : graph->tiles.kernel.data[k->after];
        ti_vec_push(&graph->tiles.kernel, ti_instruction_compile_kernel(graph, g->command[k->command], &k->at, after));
    }
    for (size_t i = 0; i < t->part.count; i++) {
        graph->tiles.tiles += t->part.data[i].made.tiles;
        if (graph->system->explain) {
            tell(g, &t->part.data[i]);
        }
    }
}

size_t ti_instruction_compile_tiles(ti_instruction_graph *graph, size_t index)
{
    const ti_window *w = &graph->window;
    group g = { .graph = graph, .command = &w->command.data[index], .first = &w->first_piece.data[index] };
    g.commands = count_commands(g.command, w->command.count - index);
    if (g.commands == 0) {
        if (graph->system->explain) {
            tell(&g, &(tiled_part){ .commands = 1, .verdict = TI_TILES_FIXED });
        }
        return 0;
    }
    g.end = index + g.commands < w->command.count ? w->first_piece.data[index + g.commands] : w->piece.count;
    ti_tiling *t = TI_NEW(ti_tiling);
    find_key(&g, t);
    ti_tiling *known = find(graph, t);
    if (known) {
        destroy(t);
        t = known;
        graph->tiles.replayed++;
    } else {
        for (size_t c = 0; c < g.commands;) {
            c += add_part(&g, t, c);
        }
        if (t->key.count) {
            keep(graph, t);
        }
    }
    const tiled_part *last = &t->part.data[t->part.count - 1];
    TI_ASSERT(last->first + last->commands == g.commands);
    t->used = graph->emit.next_id;
    compile(&g, t);
    if (!t->key.count) {
        destroy(t);
    }
    return g.commands;
}
