/* The allocations of buffers: see memory.h. */
#include "plan/memory/memory.h"

#include <string.h>

ti_instruction *ti_emit_start(ti_emitter *e, ti_instruction_kind kind, const ti_task *task)
{
    ti_instruction *instruction = TI_ARENA_NEW(ti_arena_ring_top(&e->arenas), ti_instruction);
    instruction->kind = kind;
    instruction->priority = task->shape->priority;
    ti_emit_begin(e, instruction, task);
    return instruction;
}

void ti_emit_begin(ti_emitter *e, ti_instruction *instruction, const ti_task *task)
{
    instruction->id = e->next_id++;
    instruction->task = task;
    ti_deps_start(&e->deps, instruction->id);
    if (e->follows_horizon) {
        ti_deps_push(&e->deps, e->era.applied);
    }
}

void ti_emit_deps(ti_emitter *e, ti_instruction *instruction)
{
    size_t deps = e->deps.ids.count;
    uint64_t *dep = TI_ARENA_ARRAY(ti_arena_ring_top(&e->arenas), uint64_t, deps);
    if (TI_LIKELY(deps == 1)) {
        dep[0] = e->deps.ids.data[0];
    } else if (deps > 1) {
        memcpy(dep, e->deps.ids.data, deps * sizeof(uint64_t));
    }
    TI_ASSERT(e->deps.self == instruction->id && instruction->id < e->next_id);
    instruction->deps = (uint32_t)deps;
    instruction->dep = dep;
}

void ti_emit(ti_emitter *e, ti_instruction *instruction)
{
    ti_emit_deps(e, instruction);
    ti_vec_push(&e->batch, instruction);
}

void ti_buffer_memory_init(ti_buffer_memory *memory, const ti_system *system, int of, ti_emitter *emitter)
{
    memset(memory, 0, sizeof(*memory));
    memory->memory = of;
    memory->device = ti_system_server(system, of);
    memory->foreign = memory->device >= ti_system_hosts(system);
    ti_region_map_init(&memory->allocated);
    ti_region_map_init(&memory->wanted);
    ti_tracker_init(&memory->tracker, &emitter->era);
}

void ti_buffer_memory_fini(ti_buffer_memory *memory)
{
    ti_region_map_fini(&memory->allocated);
    ti_region_map_fini(&memory->wanted);
    ti_tracker_fini(&memory->tracker);
}

bool ti_buffer_memory_find(ti_buffer_memory *memory, const ti_box *box)
{
    if (ti_buffer_memory_has(memory, box)) {
        return true;
    }
    ti_region_refs *met = &memory->tracker.era->met; /* scratch */
    ti_region_map_refer(&memory->allocated, box, met);
    if (met->count != 1 || !ti_box_covers(met->data[0].box, box)) {
        return false;
    }
    memory->latest = (ti_allocation){ *met->data[0].value, *met->data[0].box };
    return true;
}

/* Grow to the bounding box of the entries of `map` that meet `box`, which are left in `found`. Whether it has grown. */
static bool grow_over(ti_region_map *map, ti_region_entries *found, ti_box *box)
{
    ti_box before = *box;
    ti_vec_clear(found);
    ti_region_map_query(map, box, found);
    for (size_t i = 0; i < found->count; i++) {
        *box = ti_box_bounding(box, &found->data[i].box);
    }
    return !ti_box_equal(box, &before);
}

/* ---- instructions */

/* The budget of a memory that a device has to itself; NULL: it is the host's memory. */
static ti_budget *own_budget(const ti_emitter *e, const ti_buffer_memory *memory)
{
    return memory->memory == TI_HOST_MEMORY ? NULL : &e->own[memory->memory];
}

static ti_instruction *start_free(ti_emitter *e, const ti_task *task, int device, ti_budget *own, size_t bytes,
                                  uint64_t allocation)
{
    ti_instruction *instruction = ti_emit_start(e, TI_INSTRUCTION_FREE, task);
    instruction->device = device;
    instruction->as.memory.allocation = allocation;
    instruction->as.memory.bytes = bytes;
    ti_budget_give(&e->budget, bytes, instruction->id, task->id);
    if (own) {
        ti_budget_give(own, bytes, instruction->id, task->id);
    }
    return instruction;
}

static void emit_free(ti_buffer_memory *memory, ti_emitter *e, const ti_task *task, const ti_buffer_info *buffer,
                      const ti_region_entry *old)
{
    ti_instruction *instruction = start_free(e, task, memory->device, own_budget(e, memory),
                                             ti_bytes_of(buffer, &old->box), old->value);
    instruction->as.memory.buffer = buffer;
    instruction->as.memory.box = old->box;
    ti_tracker_uses(&memory->tracker, &old->box, &e->deps);
    ti_emit(e, instruction);
}

/* `buffer` NULL: staging, `box` counts bytes. */
static ti_instruction *start_alloc(ti_emitter *e, const ti_task *task, int device, const ti_buffer_info *buffer,
                                   const ti_box *box, uint64_t *out)
{
    ti_instruction *instruction = ti_emit_start(e, TI_INSTRUCTION_ALLOC, task);
    *out = ++e->next_allocation;
    instruction->device = device;
    instruction->as.memory.allocation = *out;
    instruction->as.memory.buffer = buffer;
    instruction->as.memory.box = *box;
    instruction->as.memory.bytes = (size_t)ti_box_volume(box) * (buffer ? buffer->elem_size : 1);
    return instruction;
}

static uint64_t emit_alloc(ti_emitter *e, ti_instruction *alloc, ti_budget *own)
{
    const size_t more = alloc->as.memory.bytes - alloc->as.memory.grown_bytes;
    ti_budget_take(&e->budget, more, &e->deps);
    if (own) {
        ti_budget_take(own, more, &e->deps);
    }
    ti_emit(e, alloc);
    return alloc->id;
}

/* The old allocation is grown into the new one as soon as its users are done, so the two never exist side by side. */
static void take_over(ti_buffer_memory *memory, ti_emitter *e, const ti_buffer_info *buffer, const ti_region_entry *old,
                      ti_instruction *alloc)
{
    alloc->as.memory.grown = old->value;
    alloc->as.memory.grown_box = old->box;
    alloc->as.memory.grown_bytes = ti_bytes_of(buffer, &old->box);
    ti_tracker_uses(&memory->tracker, &old->box, &e->deps);
    ti_tracker_read(&memory->tracker, &old->box, alloc->id, &e->deps); /* all of it alike: no parts are told apart */
}

static void note_moved(ti_buffer_memory *memory, ti_emitter *e, const ti_buffer_info *buffer,
                       const ti_region_entry *old, uint64_t by)
{
    ti_tracker_write(&memory->tracker, &old->box, by, &e->deps);
    ti_region_map_remove(&memory->allocated, &old->box, old->value);
    e->reallocations++;
    e->reallocated_bytes += ti_bytes_of(buffer, &old->box);
}

/* Copy an old allocation into the new one and free it. Users of its box wait for the copy from now on. */
static void move_contents(ti_buffer_memory *memory, ti_emitter *e, const ti_task *task, const ti_buffer_info *buffer,
                          const ti_region_entry *old, const ti_allocation *fresh, uint64_t alloc)
{
    ti_instruction *copy = ti_emit_start(e, TI_INSTRUCTION_COPY, task);
    copy->device = memory->device;
    TI_ASSERT(ti_box_covers(&fresh->box, &old->box) && fresh->id > old->value);
    copy->as.copy.from = (ti_place){ .allocation = old->value, .whole = old->box };
    copy->as.copy.to = (ti_place){ .allocation = fresh->id, .whole = fresh->box };
    copy->as.copy.box = old->box;
    copy->as.copy.elem_size = buffer->elem_size;
    ti_deps_add(&e->deps, alloc);
    ti_tracker_read(&memory->tracker, &old->box, copy->id, &e->deps);
    ti_emit(e, copy);
    emit_free(memory, e, task, buffer, old);
    note_moved(memory, e, buffer, old, copy->id);
}

/* Where nothing was allocated before, users wait for the allocation. */
static void claim_new_parts(ti_buffer_memory *memory, ti_emitter *e, const ti_box *box, const ti_region_entries *old,
                            uint64_t alloc)
{
    ti_boxes rest = { 0 };
    ti_vec_push(&rest, *box);
    for (size_t i = 0; i < old->count; i++) {
        ti_boxes_subtract(&rest, &old->data[i].box);
    }
    for (size_t i = 0; i < rest.count; i++) {
        ti_tracker_write(&memory->tracker, &rest.data[i], alloc, &e->deps);
    }
    ti_vec_fini(&rest);
}

/* ---- growth */

enum { GROWTHS_WITHOUT_ROOM = 2 };

/* Whether a device's own memory has room for so much beside all that is wanted there. */
static bool has_own_room(const ti_emitter *e, int memory, uint64_t bytes)
{
    const ti_budget *own = memory == TI_HOST_MEMORY ? NULL : &e->own[memory];
    for (size_t i = 0; own && own->limit && i < e->wants.count && bytes <= own->limit; i++) {
        const ti_want *want = &e->wants.data[i];
        bytes += want->memory->memory == memory ? ti_bytes_of(want->buffer, &want->box) : 0;
    }
    return !own || ti_budget_allows(own, bytes);
}

/* Whether a larger box can be allocated in place of `old` old ones: it meets no other allocation, no want in part, and
 * keeps to the limit. */
static bool is_free(ti_buffer_memory *memory, ti_emitter *e, const ti_buffer_info *buffer, const ti_box *box,
                    size_t old)
{
    ti_vec_clear(&e->overlapping);
    ti_region_map_query(&memory->allocated, box, &e->overlapping);
    bool alone = e->overlapping.count == old;
    ti_vec_clear(&e->overlapping);
    ti_region_map_query(&memory->wanted, box, &e->overlapping);
    for (size_t i = 0; i < e->overlapping.count && alone; i++) {
        alone = ti_box_covers(box, &e->overlapping.data[i].box);
    }
    return alone && ti_budget_allows(&e->budget, ti_bytes_of(buffer, box) + e->wanted_bytes) &&
           has_own_room(e, memory->memory, ti_bytes_of(buffer, box));
}

static size_t largest_of(const ti_region_entries *list)
{
    size_t largest = 0;
    for (size_t i = 1; i < list->count; i++) {
        largest = ti_box_volume(&list->data[i].box) > ti_box_volume(&list->data[largest].box) ? i : largest;
    }
    return largest;
}

/* An allocation that has grown before will grow again: it gets room for half as much more, in those directions in which
 * it is larger now than the largest of the old allocations. */
static ti_box with_room(ti_buffer_memory *memory, ti_emitter *e, const ti_buffer_info *buffer, const ti_box *box,
                        const ti_region_entries *olds)
{
    ti_box old = olds->data[largest_of(olds)].box, roomy = *box;
    for (int d = 0; d < 3; d++) {
        int64_t more = (box->max[d] - box->min[d]) / 2;
        roomy.max[d] = box->max[d] > old.max[d] ? TI_MIN(box->max[d] + more, buffer->extent.max[d]) : box->max[d];
        roomy.min[d] = box->min[d] < old.min[d] ? TI_MAX(box->min[d] - more, buffer->extent.min[d]) : box->min[d];
    }
    return is_free(memory, e, buffer, &roomy, olds->count) ? roomy : *box;
}

/* Whether a box begins where another one ends along dimension 0, with the same extent in the others. */
static bool continues(const ti_box *box, const ti_box *before)
{
    ti_box same = *before;
    same.min[0] = box->min[0];
    same.max[0] = box->max[0];
    return box->min[0] == before->max[0] && ti_box_equal(box, &same);
}

/* Where rows are appended one after the other, and each is wanted alone, there would be an allocation for each of them.
 * So the new one gets room for half as many rows more than the one before. */
static ti_box with_next_rows(ti_buffer_memory *memory, ti_emitter *e, const ti_buffer_info *buffer, const ti_box *box)
{
    ti_box before = memory->latest.box, roomy = *box;
    if (!memory->latest.id || !continues(box, &before) || ++memory->appends <= GROWTHS_WITHOUT_ROOM) {
        return *box;
    }
    const int64_t rows = before.max[0] - before.min[0];
    roomy.max[0] = TI_MIN(TI_MAX(box->max[0], box->min[0] + rows + (rows + 1) / 2), buffer->extent.max[0]);
    return is_free(memory, e, buffer, &roomy, 0) ? roomy : *box;
}

static void allocate(ti_buffer_memory *memory, ti_emitter *e, const ti_task *task, const ti_buffer_info *buffer,
                     const ti_box *box)
{
    ti_region_entries *old = &e->scratch; /* allocations that become part of it */
    ti_allocation fresh = { .box = *box };
    while (grow_over(&memory->allocated, old, &fresh.box)) {
    }
    bool grows = old->count > 0;
    memory->growths += grows;
    e->growths = TI_MAX(e->growths, memory->growths);
    if (grows && memory->growths > GROWTHS_WITHOUT_ROOM) {
        fresh.box = with_room(memory, e, buffer, &fresh.box, old);
    } else if (!grows) {
        fresh.box = with_next_rows(memory, e, buffer, &fresh.box);
    }
    const size_t kept = memory->foreign ? SIZE_MAX : largest_of(old); /* the host moves what grows in place */
    ti_instruction *start = start_alloc(e, task, memory->device, buffer, &fresh.box, &fresh.id);
    if (kept < old->count) {
        take_over(memory, e, buffer, &old->data[kept], start);
    }
    uint64_t alloc = emit_alloc(e, start, own_budget(e, memory));
    claim_new_parts(memory, e, &fresh.box, old, alloc);
    for (size_t i = 0; i < old->count; i++) {
        if (i == kept) {
            note_moved(memory, e, buffer, &old->data[i], alloc);
        } else {
            move_contents(memory, e, task, buffer, &old->data[i], &fresh, alloc);
        }
    }
    ti_region_map_insert(&memory->allocated, &fresh.box, fresh.id);
    TI_ASSERT(ti_box_covers(&fresh.box, box) && ti_box_covers(&buffer->extent, &fresh.box));
    memory->latest = fresh;
    memory->changed = e->next_id - 1;
    e->changes++;
}

void ti_buffer_memory_ensure(ti_buffer_memory *memory, ti_emitter *e, const ti_task *task, const ti_buffer_info *buffer,
                             const ti_box *box)
{
    if (!ti_box_is_empty(box) && !ti_buffer_memory_find(memory, box)) {
        allocate(memory, e, task, buffer, box);
    }
}

/* ---- wants */

/* What a want counts against the limit: at most one byte more than the limit, so that sums do not overflow. */
static uint64_t counted_bytes(const ti_emitter *e, const ti_want *want)
{
    return e->budget.limit ? TI_MIN(ti_bytes_of(want->buffer, &want->box), e->budget.limit + 1) : 0;
}

static void note_largest(ti_want *want, ti_need need, const ti_box *footprint)
{
    if (ti_box_volume(footprint) > ti_box_volume(&want->footprint)) {
        want->largest = need;
        want->footprint = *footprint;
    }
}

uint64_t ti_allocated_bytes(ti_emitter *e, ti_buffer_memory *memory, const ti_buffer_info *buffer, const ti_box *box)
{
    uint64_t bytes = 0;
    ti_vec_clear(&e->overlapping);
    ti_region_map_query(&memory->allocated, box, &e->overlapping);
    for (size_t i = 0; i < e->overlapping.count; i++) {
        bytes += ti_bytes_of(buffer, &e->overlapping.data[i].box);
    }
    return bytes;
}

/* The want at `index` takes over those in the scratch list. */
static void join_wants(ti_buffer_memory *memory, ti_emitter *e, size_t index)
{
    ti_want *into = &e->wants.data[index];
    for (size_t i = 0; i < e->scratch.count; i++) {
        ti_want *from = &e->wants.data[e->scratch.data[i].value];
        ti_region_map_remove(&memory->wanted, &from->box, e->scratch.data[i].value);
        TI_ASSERT(e->wanted_bytes >= counted_bytes(e, from));
        e->wanted_bytes -= counted_bytes(e, from);
        if (from != into) {
            note_largest(into, from->largest, &from->footprint);
            from->box = (ti_box){ { 0 }, { 0 } };
        }
    }
}

/* Grow to everything that is allocated or wanted where it meets the box. What was met is left in the scratch list. */
static ti_box grow(ti_buffer_memory *memory, ti_emitter *e, const ti_box *box)
{
    ti_box grown = *box;
    while (grow_over(&memory->allocated, &e->scratch, &grown) || grow_over(&memory->wanted, &e->scratch, &grown)) {
    }
    return grown;
}

/* Elements of a list of disjoint boxes that do not lie in `box`; boxes that meet one of `others` are not counted. */
static int64_t volume_beside(const ti_region_entries *list, const ti_box *box, const ti_region_entries *others)
{
    int64_t volume = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool counted = false;
        for (size_t k = 0; others && k < others->count && !counted; k++) {
            counted = ti_box_meets(&others->data[k].box, &list->data[i].box);
        }
        ti_box common = ti_box_intersect(&list->data[i].box, box);
        volume += counted ? 0 : ti_box_volume(&list->data[i].box) - ti_box_volume(&common);
    }
    return volume;
}

ti_growth ti_buffer_memory_growth(ti_buffer_memory *memory, ti_emitter *e, const ti_box *box)
{
    ti_box grown = grow(memory, e, box);
    ti_vec_clear(&e->overlapping);
    ti_region_map_query(&memory->wanted, &grown, &e->overlapping);
    int64_t used = ti_box_volume(box) + volume_beside(&e->overlapping, box, NULL);
    ti_vec_clear(&e->scratch);
    ti_region_map_query(&memory->allocated, &grown, &e->scratch);
    used += volume_beside(&e->scratch, box, &e->overlapping); /* what meets a want lies inside of it */
    return (ti_growth){ ti_box_volume(&grown), used };
}

bool ti_buffer_memory_provides(ti_buffer_memory *memory, const ti_box *box)
{
    if (ti_buffer_memory_find(memory, box)) {
        return true;
    }
    ti_region_refs *met = &memory->tracker.era->met; /* scratch */
    ti_region_map_refer(&memory->wanted, box, met);
    return met->count == 1 && ti_box_covers(met->data[0].box, box);
}

ti_box ti_buffer_memory_want(ti_buffer_memory *memory, ti_emitter *e, ti_need need, const ti_buffer_info *buffer,
                             const ti_box *box)
{
    if (ti_box_is_empty(box) || ti_buffer_memory_find(memory, box)) {
        return *box;
    }
    ti_box grown = grow(memory, e, box);
    if (e->scratch.count == 1 && ti_box_equal(&e->scratch.data[0].box, &grown)) {
        note_largest(&e->wants.data[e->scratch.data[0].value], need, box);
        return grown;
    }
    e->new_want = true;
    size_t index = e->wants.count;
    for (size_t i = 0; i < e->scratch.count; i++) {
        index = TI_MIN(index, (size_t)e->scratch.data[i].value);
    }
    if (index == e->wants.count) {
        ti_want fresh = { .memory = memory, .buffer = buffer, .task = need.task };
        ti_vec_push(&e->wants, fresh);
    }
    join_wants(memory, e, index);
    TI_ASSERT(ti_box_covers(&grown, box));
    ti_want *want = &e->wants.data[index];
    want->box = grown;
    want->grows = ti_allocated_bytes(e, memory, buffer, &grown) > 0;
    note_largest(want, need, box);
    ti_region_map_insert(&memory->wanted, &grown, index);
    e->wanted_bytes += counted_bytes(e, want);
    return grown;
}

void ti_buffer_memory_yield(ti_buffer_memory *memory, ti_emitter *e, const ti_box *box)
{
    ti_vec_clear(&e->scratch);
    ti_region_map_query(&memory->wanted, box, &e->scratch);
    for (size_t i = 0; i < e->scratch.count; i++) {
        ti_want *want = &e->wants.data[e->scratch.data[i].value];
        if (!want->grows && ti_box_covers(box, &want->box)) {
            ti_region_map_remove(&memory->wanted, &want->box, e->scratch.data[i].value);
            e->wanted_bytes -= counted_bytes(e, want);
            want->box = (ti_box){ { 0 }, { 0 } };
        }
    }
}

/* Put the indices of what is to be allocated in order: allocations that grow come first, since others may want the room
 * that they get. */
static void order_wants(ti_emitter *e)
{
    ti_vec_clear(&e->order);
    for (int grows = 1; grows >= 0; grows--) {
        for (size_t i = 0; i < e->wants.count; i++) {
            const ti_want *want = &e->wants.data[i];
            if (!ti_box_is_empty(&want->box) && want->grows == (grows == 1)) {
                ti_vec_push(&e->order, i);
            }
        }
    }
}

enum { ALL_MEMORIES = -1 };

/* The largest number of bytes in use while all that is wanted in a memory, or in all, is allocated; `in_use` becomes
 * that in the end. */
static uint64_t peak_of(ti_emitter *e, int memory, uint64_t *in_use)
{
    uint64_t live = *in_use, peak = live;
    order_wants(e);
    for (size_t i = 0; i < e->order.count; i++) {
        const ti_want *want = &e->wants.data[e->order.data[i]];
        if (memory != ALL_MEMORIES && want->memory->memory != memory) {
            continue;
        }
        uint64_t old = ti_allocated_bytes(e, want->memory, want->buffer, &want->box);
        if (old && !want->memory->foreign) { /* the largest grows in place */
            uint64_t kept = ti_bytes_of(want->buffer, &e->overlapping.data[largest_of(&e->overlapping)].box);
            live -= kept;
            old -= kept;
        }
        if (__builtin_add_overflow(live, ti_bytes_of(want->buffer, &want->box), &live)) {
            *in_use = UINT64_MAX;
            return UINT64_MAX;
        }
        peak = TI_MAX(peak, live);
        live -= old;
    }
    *in_use = live;
    return peak;
}

uint64_t ti_wants_peak(ti_emitter *e, uint64_t staging)
{
    uint64_t live = e->budget.live + e->budget.results, peak = peak_of(e, ALL_MEMORIES, &live);
    return peak == UINT64_MAX ? peak : TI_MAX(peak, live + staging);
}

uint64_t ti_wants_peak_in(ti_emitter *e, int memory)
{
    uint64_t live = e->own[memory].live;
    return peak_of(e, memory, &live);
}

static void allocate_wanted(ti_emitter *e, bool on_host_only)
{
    order_wants(e);
    for (size_t i = 0; i < e->order.count; i++) {
        const ti_want want = e->wants.data[e->order.data[i]];
        if (on_host_only && want.memory->memory != TI_HOST_MEMORY) {
            continue;
        }
        ti_region_map_remove(&want.memory->wanted, &want.box, e->order.data[i]);
        e->wanted_bytes -= counted_bytes(e, &want);
        ti_buffer_memory_ensure(want.memory, e, want.task, want.buffer, &want.box);
        e->wants.data[e->order.data[i]].box = (ti_box){ { 0 }, { 0 } };
    }
}

void ti_wants_allocate_on_host(ti_emitter *e)
{
    allocate_wanted(e, true);
}

void ti_wants_allocate(ti_emitter *e)
{
    allocate_wanted(e, false);
    ti_vec_clear(&e->wants);
}

void ti_wants_drop(ti_emitter *e)
{
    for (size_t i = 0; i < e->wants.count; i++) {
        const ti_want *want = &e->wants.data[i];
        if (!ti_box_is_empty(&want->box)) {
            ti_region_map_remove(&want->memory->wanted, &want->box, i);
        }
    }
    ti_vec_clear(&e->wants);
    e->wanted_bytes = 0;
}

/* ---- releasing, staging */

void ti_buffer_memory_evict(ti_buffer_memory *memory, ti_emitter *e, const ti_task *task, const ti_buffer_info *buffer,
                            const ti_region_entry *at)
{
    emit_free(memory, e, task, buffer, at);
    ti_region_map_remove(&memory->allocated, &at->box, at->value);
    memory->latest = (ti_allocation){ .id = 0 };
    memory->changed = e->next_id - 1;
    e->changes++;
}

void ti_buffer_memory_release(ti_buffer_memory *memory, ti_emitter *e, const ti_task *task,
                              const ti_buffer_info *buffer)
{
    ti_vec_clear(&e->scratch);
    ti_region_map_query(&memory->allocated, &buffer->extent, &e->scratch);
    for (size_t i = 0; i < e->scratch.count; i++) {
        emit_free(memory, e, task, buffer, &e->scratch.data[i]);
    }
}

uint64_t ti_emit_staging(ti_emitter *e, const ti_task *task, int device, size_t bytes, uint64_t *out)
{
    ti_box box = { { 0, 0, 0 }, { (int64_t)bytes, 1, 1 } };
    return emit_alloc(e, start_alloc(e, task, device, NULL, &box, out), NULL);
}

void ti_emit_unstaging(ti_emitter *e, const ti_task *task, int device, size_t bytes, uint64_t allocation,
                       const uint64_t *after, size_t count)
{
    ti_instruction *release = start_free(e, task, device, NULL, bytes, allocation);
    ti_deps_add_all(&e->deps, after, count);
    ti_emit(e, release);
}
