/* The instruction graph, lookahead: see impl.h. Which commands wait for which others before memory is allocated.
 *
 * Every command goes through the window. Its needs are noted, unless all that it needs is there. If nothing is wanted
 * when a batch has been noted, all of it is compiled at once, which is the case in the steady state of every loop. The
 * creation of a buffer does not wait behind the window: nothing in the window knows the buffer, and the application may
 * be waiting until its initial contents have been copied.
 *
 * Where the limit would be exceeded and a buffer's end waits in the window, what lies before the newest task is
 * compiled first, so that the buffer's memory counts as free. Scheduler thread. */
#include "plan/stream/impl.h"

enum { MAX_COMMANDS = 4096, CALM_HORIZONS = 2 };

/* The next commands are of this task, which may be joined with the one before. */
static void begin_task(ti_window *w, const ti_task *task, bool joined)
{
    TI_ASSERT(w->command.count == 0 || w->newest < w->command.count);
    if (w->command.count == 0 || (!joined && w->command.data[w->newest]->task != task)) {
        w->newest = w->command.count;
        w->newest_staging = 0;
    }
}

static void note(ti_instruction_graph *graph, const ti_command *command)
{
    ti_window *w = &graph->window;
    size_t first = w->piece.count;
    begin_task(w, command->task, command->joined);
    ti_vec_push(&w->command, command);
    ti_vec_push(&w->first_piece, first);
    TI_ASSERT(w->command.count == w->first_piece.count);
    if (command->kind == TI_COMMAND_EXECUTE) {
        ti_instruction_place_pieces(graph, command);
    } else if (command->kind == TI_COMMAND_REDUCE) {
        w->newest_staging += ti_instruction_staging_bytes(graph, command, w->first_piece.data[w->newest], first);
        w->staging = TI_MAX(w->staging, w->newest_staging);
    } else if ((command->kind == TI_COMMAND_SEND || command->kind == TI_COMMAND_RECEIVE) &&
               command->as.transfer.bundle) {
        for (uint32_t i = 0; i < command->as.transfer.boxes; i++) {
            w->bundled += ti_bytes_of(command->as.transfer.buffer, &command->as.transfer.box[i]);
        }
    }
    ti_instruction_note_command(graph, command, first, w->piece.count);
}

static void clear(ti_window *w)
{
    ti_vec_clear(&w->command);
    ti_vec_clear(&w->piece);
    ti_vec_clear(&w->first_piece);
    w->horizons = w->calm_horizons = 0;
    w->newest = 0;
    w->staging = w->newest_staging = w->bundled = 0;
}

static void refuse(ti_instruction_graph *graph, int memory)
{
    ti_instruction_refuse(graph, memory);
    ti_wants_drop(&graph->emit);
    clear(&graph->window);
}

static bool fits(ti_instruction_graph *graph)
{
    uint64_t limit = graph->emit.budget.limit;
    return limit == 0 || ti_wants_peak(&graph->emit, graph->window.staging + graph->window.bundled) <= limit;
}

/* Where the commands of the first task end, with those that are joined with it. */
static size_t end_of_task(const ti_command *const *command, size_t first, size_t count)
{
    TI_ASSERT(first < count);
    size_t end = first + 1;
    while (end < count && (command[end]->joined || command[end]->task == command[first]->task)) {
        end++;
    }
    return end;
}

static void close_window(ti_instruction_graph *graph);

typedef TI_VEC(const ti_command *) command_list;

/* Empty the window; what waited there is left in the list. */
static void take_back(ti_instruction_graph *graph, command_list *out)
{
    for (size_t i = 0; i < graph->window.command.count; i++) {
        ti_vec_push(out, graph->window.command.data[i]);
    }
    ti_wants_drop(&graph->emit);
    clear(&graph->window);
}

/* Compile the window task by task, as if there were no lookahead: what one task needs may lie where the next one's
 * will. */
static void close_by_task(ti_instruction_graph *graph)
{
    command_list all = { 0 };
    take_back(graph, &all);
    for (size_t i = 0; i < all.count && !graph->refused;) {
        for (size_t end = end_of_task(all.data, i, all.count); i < end; i++) {
            note(graph, all.data[i]);
        }
        close_window(graph);
    }
    ti_vec_fini(&all);
}

/* Note the commands of the window again: memory is not what it was. */
static void note_again(ti_instruction_graph *graph)
{
    command_list all = { 0 };
    take_back(graph, &all);
    for (size_t i = 0; i < all.count; i++) {
        note(graph, all.data[i]);
    }
    ti_vec_fini(&all);
}

/* Choose what is freed on devices, and free more where that is not enough. Returns the memory in which there is no room
 * all the same; TI_HOST_MEMORY: there is room. */
static int make_room(ti_instruction_graph *graph)
{
    int memory = ti_instruction_choose_spills(graph);
    for (ti_spill what = TI_SPILL_GROWING; memory != TI_HOST_MEMORY && what <= TI_SPILL_ALL; what++) {
        ti_instruction_choose_more(graph, what);
        if (!fits(graph)) { /* with what goes home */
            return memory;
        }
        ti_instruction_spill(graph);
        note_again(graph);
        memory = ti_instruction_choose_spills(graph);
    }
    return memory;
}

/* Make room on devices, or refuse. Whether the window is still to be closed. */
static bool clear_devices(ti_instruction_graph *graph)
{
    ti_window *w = &graph->window;
    if (!ti_instruction_is_device_short(graph)) {
        return true;
    }
    if (end_of_task(w->command.data, 0, w->command.count) < w->command.count) {
        close_by_task(graph);
        return false;
    }
    const int memory = make_room(graph);
    if (memory != TI_HOST_MEMORY) {
        refuse(graph, memory);
    }
    return memory == TI_HOST_MEMORY;
}

static void close_window(ti_instruction_graph *graph)
{
    ti_window *w = &graph->window;
    if (graph->emit.wants.count > 0 && !clear_devices(graph)) {
        return;
    }
    if ((graph->emit.wants.count > 0 || w->staging > 0 || w->bundled > 0) && !fits(graph)) {
        refuse(graph, TI_HOST_MEMORY);
        return;
    }
    if (graph->emit.wants.count > 0) {
        ti_instruction_spill(graph);
        ti_wants_allocate(&graph->emit);
    }
    for (size_t i = 0; i < w->command.count;) {
        i += ti_instruction_compile(graph, i);
        TI_ASSERT(i <= w->command.count);
    }
    clear(w);
}

/* ---- where memory is short */

static bool ends_a_buffer(const ti_window *w, size_t commands)
{
    for (size_t i = 0; i < commands; i++) {
        if (w->command.data[i]->kind == TI_COMMAND_DESTROY) {
            return true;
        }
    }
    return false;
}

/* Compile what lies before the newest task, and note that one again. */
static void split_window(ti_instruction_graph *graph)
{
    command_list all = { 0 };
    const size_t before = graph->window.newest;
    take_back(graph, &all);
    TI_ASSERT(before > 0 && before < all.count);
    for (size_t i = 0; i < before; i++) {
        note(graph, all.data[i]);
    }
    close_window(graph);
    for (size_t i = before; i < all.count && !graph->refused; i++) {
        note(graph, all.data[i]);
    }
    ti_vec_fini(&all);
}

static bool is_short(ti_instruction_graph *graph, uint64_t more)
{
    return !ti_budget_allows(&graph->emit.budget,
                             graph->emit.wanted_bytes + graph->window.staging + graph->window.bundled + more);
}

/* ---- what closes it */

static bool must_close(ti_window *w, const ti_command *command, int lookahead)
{
    if (command->kind != TI_COMMAND_EPOCH) {
        return command->kind == TI_COMMAND_FENCE;
    }
    w->horizons++;
    TI_ASSERT(w->calm_horizons < w->horizons);
    return command->task->kind == TI_TASK_EPOCH || ++w->calm_horizons >= CALM_HORIZONS || w->horizons >= lookahead;
}

/* Whether `bytes` may be allocated now, and all that is wanted after it. */
static bool fits_before(ti_instruction_graph *graph, uint64_t bytes)
{
    graph->emit.budget.live += bytes;
    bool good = fits(graph);
    graph->emit.budget.live -= bytes;
    return good;
}

/* Bytes of the initial contents that this node has. */
static uint64_t initial_bytes(const ti_task *task)
{
    const ti_user_copy *init = &task->as.create.init;
    uint64_t bytes = 0;
    for (size_t i = 0; i < init->pieces; i++) {
        bytes += ti_bytes_of(task->as.create.buffer, &init->piece[i].box);
    }
    return bytes;
}

static void create(ti_instruction_graph *graph, const ti_task *task)
{
    const ti_buffer_info *info = task->as.create.buffer;
    uint64_t bytes = initial_bytes(task);
    bool taken = info->slot < graph->buffer.count && graph->buffer.data[info->slot];
    if (taken || (bytes > 0 && is_short(graph, bytes))) {
        close_window(graph);
    }
    if (graph->refused) {
        return;
    }
    ti_instruction_open_buffer(graph, task);
    if (bytes == 0 || fits_before(graph, bytes)) {
        ti_instruction_fill_buffer(graph, task);
        return;
    }
    for (size_t i = 0; i < task->as.create.init.pieces; i++) {
        ti_instruction_want(graph, (ti_need){ task, -1 }, info, &task->as.create.init.piece[i].box, TI_HOST_MEMORY);
    }
    refuse(graph, TI_HOST_MEMORY);
}

static void add(ti_instruction_graph *graph, const ti_command *command)
{
    ti_window *w = &graph->window;
    graph->emit.new_want = false;
    if (command->kind == TI_COMMAND_CREATE) {
        create(graph, command->task);
        return;
    }
    note(graph, command);
    if (graph->emit.new_want) {
        w->calm_horizons = 0;
    }
    if (TI_UNLIKELY(is_short(graph, 0)) && ends_a_buffer(w, w->newest)) {
        split_window(graph);
    }
    if (must_close(w, command, graph->system->lookahead)) {
        close_window(graph);
    }
}

/* Add messages that want nothing, if any come first: how many. */
static size_t add_messages(ti_instruction_graph *graph, const ti_command *const *command, size_t left)
{
    ti_window *w = &graph->window;
    size_t n = TI_UNLIKELY(is_short(graph, 0)) ? 0 : ti_instruction_count_allocated(graph, command, left);
    if (n == 0) {
        return 0;
    }
    begin_task(w, command[0]->task, command[0]->joined);
    ti_vec_reserve(&w->command, w->command.count + n);
    ti_vec_reserve(&w->first_piece, w->first_piece.count + n);
    for (size_t i = 0; i < n; i++) {
        w->command.data[w->command.count++] = command[i];
        w->first_piece.data[w->first_piece.count++] = w->piece.count;
    }
    return n;
}

/* Whether a reduction finds the buffer where its result goes. */
static bool has_result(ti_instruction_graph *graph, const ti_command *reduce)
{
    const ti_buffer_info *buffer = reduce->task->shape->access[reduce->as.reduce.access].buffer;
    const ti_buffer_state *state = ti_instruction_buffer(graph, buffer);
    return !ti_command_is_root(reduce) || (ti_instruction_is_simple(graph, state) &&
                                           ti_buffer_memory_has(state->place.data[TI_HOST_MEMORY], &buffer->extent));
}

/* Whether there is memory for the partial results, without freeing what is kept. */
static bool has_room(ti_instruction_graph *graph, const ti_command *const *reduce, size_t count, size_t piece)
{
    const ti_budget *b = &graph->emit.budget;
    bool fits = ti_budget_allows(b, b->kept);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count && fits; i++) {
        bytes += ti_instruction_staging_bytes(graph, reduce[i], piece, piece + 1);
        fits = ti_budget_allows(b, b->kept + bytes);
    }
    return fits;
}

/* Add an execution, and its reductions, if they want nothing and nothing waits: how many commands. */
static size_t add_execution(ti_instruction_graph *graph, const ti_command *const *command, size_t left)
{
    ti_window *w = &graph->window;
    size_t n = 1, piece = w->piece.count;
    if (command[0]->kind != TI_COMMAND_EXECUTE || graph->emit.wants.count > 0) {
        return 0;
    }
    for (; n < left && command[n]->kind == TI_COMMAND_REDUCE; n++) {
        if (!has_result(graph, command[n])) {
            return 0;
        }
    }
    if (!ti_instruction_place_at_once(graph, command[0])) {
        return 0;
    }
    TI_ASSERT(w->piece.count == piece + 1);
    if (!has_room(graph, command + 1, n - 1, piece)) {
        w->piece.count = piece;
        return 0;
    }
    begin_task(w, command[0]->task, command[0]->joined);
    for (size_t i = 0; i < n; i++) {
        ti_vec_push(&w->command, command[i]);
        ti_vec_push(&w->first_piece, piece + (i > 0));
    }
    return n;
}

/* ---- from outside */

bool ti_instruction_graph_is_waiting(const ti_instruction_graph *graph)
{
    return graph->window.command.count > 0;
}

static void add_all(ti_instruction_graph *graph, const ti_command *const *command, size_t count)
{
    /* One execution, which wants nothing, where nothing waits, passes by the window: nearly all tasks of a loop do. */
    if (!graph->refused && count == 1 && command[0]->kind == TI_COMMAND_EXECUTE && graph->window.command.count == 0 &&
        ti_instruction_compile_at_once(graph, command[0])) {
        return;
    }
    if (count > 1 || (count == 1 && command[0]->kind != TI_COMMAND_EPOCH)) {
        ti_follow_catch_up(graph);
    }
    for (size_t i = 0, n; i < count && !graph->refused; i += n) {
        n = add_messages(graph, &command[i], count - i);
        n = n ? n : add_execution(graph, &command[i], count - i);
        if (n == 0) {
            add(graph, command[i]);
            n = 1;
        }
    }
    if (graph->emit.wants.count == 0 || graph->system->lookahead == 0 || graph->window.command.count >= MAX_COMMANDS) {
        close_window(graph);
    }
}

/* Add commands of which only the last may end a segment. */
static void add_segment(ti_instruction_graph *graph, const ti_command *const *command, size_t count)
{
    const size_t known = ti_cycle_repeat(graph, command, count);
    if (known < count) {
        const size_t first = graph->emit.batch.count;
        add_all(graph, command + known, count - known);
        ti_cycle_note(graph, command + known, count - known, first);
    }
}

ti_instruction_batch ti_instruction_graph_add(ti_instruction_graph *graph, ti_command_batch commands)
{
    ti_vec_clear(&graph->emit.batch);
    if (commands.count == 0) { /* a task that runs elsewhere: what waits does so for more */
        return (ti_instruction_batch){ graph->emit.batch.data, 0 };
    }
    ti_instruction_give_unbundled(graph);
    for (size_t at = 0, count; at < commands.count; at += count) {
        count = ti_cycle_segment(commands.command + at, commands.count - at);
        TI_ASSERT(count > 0 && at + count <= commands.count);
        add_segment(graph, commands.command + at, count);
    }
    return (ti_instruction_batch){ graph->emit.batch.data, graph->emit.batch.count };
}

ti_instruction_batch ti_instruction_graph_close(ti_instruction_graph *graph)
{
    ti_vec_clear(&graph->emit.batch);
    close_window(graph);
    TI_ASSERT(graph->window.command.count == 0 && graph->emit.wants.count == 0);
    return (ti_instruction_batch){ graph->emit.batch.data, graph->emit.batch.count };
}

const ti_refusal *ti_instruction_graph_refusal(const ti_instruction_graph *graph)
{
    return graph->refused ? &graph->refusal : NULL;
}
