/* Evaluating custom mappers: see custom.h. */
#include "ir/custom.h"

#include "base/hash.h"
#include "base/park.h"

#include <string.h>

/* ---- answers */

static const size_t max_bytes = (size_t)64 << 20, max_answer = (size_t)16 << 20; /* of one mapper; of one answer */

/* All bytes count. */
typedef struct question {
    ti_box items, extent;
    int64_t dims;
} question;

typedef struct answer {
    question asked;
    uint64_t hash;
    ti_box *box;
    size_t boxes;
    struct answer *next; /* in its chain */
} answer;

enum { CHAINS = 64 };

struct ti_custom_answers {
    ti_lock lock;
    size_t bytes;
    answer *chain[CHAINS];
};

ti_custom_answers *ti_custom_answers_create(void)
{
    return TI_NEW(ti_custom_answers);
}

static void forget_all(ti_custom_answers *answers)
{
    for (int i = 0; i < CHAINS; i++) {
        for (answer *a = answers->chain[i], *next; a; a = next) {
            next = a->next;
            ti_free(a->box, a->boxes * sizeof(ti_box));
            TI_DELETE(a);
        }
        answers->chain[i] = NULL;
    }
    answers->bytes = 0;
}

void ti_custom_answers_destroy(ti_custom_answers *answers)
{
    if (answers) {
        forget_all(answers);
        TI_DELETE(answers);
    }
}

/* Under the lock. */
static const answer *find_answer(const ti_custom_answers *answers, const question *q, uint64_t hash)
{
    const answer *a = answers->chain[hash % CHAINS];
    while (a && (a->hash != hash || memcmp(&a->asked, q, sizeof(*q)) != 0)) {
        a = a->next;
    }
    return a;
}

static void push_all(ti_boxes *out, const ti_box *box, size_t count)
{
    ti_vec_reserve(out, out->count + count);
    for (size_t i = 0; i < count; i++) {
        out->data[out->count++] = box[i];
    }
}

static bool recall(ti_custom_answers *answers, const question *q, uint64_t hash, ti_boxes *out)
{
    ti_lock_take(&answers->lock);
    const answer *a = find_answer(answers, q, hash);
    if (a) {
        push_all(out, a->box, a->boxes);
    }
    ti_lock_drop(&answers->lock);
    return a != NULL;
}

/* Another thread may have kept the same meanwhile. */
static void keep(ti_custom_answers *answers, const question *q, uint64_t hash, const ti_box *box, size_t boxes)
{
    size_t size = boxes * sizeof(ti_box);
    if (size > max_answer) {
        return;
    }
    ti_lock_take(&answers->lock);
    if (!find_answer(answers, q, hash)) {
        if (answers->bytes + size > max_bytes) {
            forget_all(answers);
        }
        answer *a = TI_NEW(answer);
        *a = (answer){ *q, hash, ti_alloc(size), boxes, answers->chain[hash % CHAINS] };
        if (boxes) {
            memcpy(a->box, box, size);
        }
        answers->chain[hash % CHAINS] = a;
        answers->bytes += size + sizeof(*a);
    }
    ti_lock_drop(&answers->lock);
}

static void evaluate(const ti_custom_mapper *m, const ti_box *items, const ti_box *extent, int dims, ti_boxes *out)
{
    tacit_region collected = { .extent = *extent };
    const tacit_box chunk = ti_box_to_public(items);
    const tacit_range range = { .size = { (size_t)extent->max[0], (size_t)extent->max[1], (size_t)extent->max[2] },
                                .dims = dims };
    m->fn(&chunk, &range, m->user, &collected);
    ti_region_settle(&collected.region);
    push_all(out, collected.region.boxes.data, collected.region.boxes.count);
    ti_region_fini(&collected.region);
}

void ti_custom_image(const ti_custom_mapper *m, const ti_box *items, const ti_box *extent, int dims, ti_boxes *out)
{
    const question q = { *items, *extent, dims };
    uint64_t hash = ti_hash_bytes(&q, sizeof(q));
    size_t before = out->count;
    if (m->answers && recall(m->answers, &q, hash, out)) {
        return;
    }
    evaluate(m, items, extent, dims, out);
    if (m->answers) {
        keep(m->answers, &q, hash, out->data + before, out->count - before);
    }
}

/* ---- accesses */

/* Appends the other arms of a star to the first one, unless they are clamped to what that one has: how many boxes
 * there are then. */
static TI_NOINLINE uint32_t add_arms(const ti_access *access, const ti_box *items, uint32_t boxes, ti_box *box)
{
    for (uint32_t i = 1; i < access->mappers; i++) {
        int some = ti_mapper_image(&access->mapper[i], &access->buffer->extent, items, &box[boxes]);
        bool known = boxes && some == 1 && ti_box_covers(box, &box[boxes]);
        boxes += known ? 0 : (uint32_t)some;
    }
    return boxes;
}

static void fill_many(ti_footprint *out, const ti_access *access, const ti_box *items, ti_arena *arena)
{
    ti_boxes boxes = { 0 };
    ti_custom_image(access->custom, items, &access->buffer->extent, access->buffer->dims, &boxes);
    out->boxes = (uint32_t)boxes.count;
    out->box = ti_arena_copy(arena, boxes.data, boxes.count * sizeof(ti_box));
    ti_vec_fini(&boxes);
}

void ti_footprint_fill(ti_footprint *out, const ti_access *access, const ti_box *items, ti_arena *arena)
{
    *out = (ti_footprint){ .box = NULL };
    if (TI_UNLIKELY(access->custom != NULL)) {
        fill_many(out, access, items, arena);
    } else if (access->mode == TACIT_REDUCE) {
        out->box = &access->buffer->extent;
        out->boxes = 1;
    } else {
        ti_box box[TI_MAPPER_BOXES];
        uint32_t boxes = (uint32_t)ti_mapper_image(access->mapper, &access->buffer->extent, items, box);
        if (access->mappers > 1) {
            boxes = add_arms(access, items, boxes, box);
        }
        ti_box *kept = TI_ARENA_ARRAY(arena, ti_box, boxes);
        for (uint32_t i = 0; i < boxes; i++) {
            kept[i] = box[i];
        }
        out->box = kept;
        out->boxes = boxes;
    }
    for (uint32_t i = 0; i < out->boxes; i++) {
        out->bounding = i ? ti_box_bounding(&out->bounding, &out->box[i]) : out->box[i];
    }
}

void ti_shape_fill_footprints(ti_shape *shape, ti_arena *arena)
{
    ti_footprint *footprint = TI_ARENA_ARRAY(arena, ti_footprint, shape->accesses);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        ti_footprint_fill(&footprint[i], &shape->access[i], &shape->range, arena);
    }
    shape->footprint = footprint;
}

void ti_mapper_of_tile(ti_mapper *out, int dims, const ti_box *box, unsigned full)
{
    memset(out, 0, sizeof(*out));
    out->dims = dims;
    out->custom = -1;
    for (int d = 0; d < dims; d++) {
        if (full >> d & 1) {
            out->c[d].kind = TACIT_COMPONENT_FULL;
        } else {
            out->c[d].kind = TACIT_COMPONENT_SPAN;
            out->c[d].lo = box->min[d];
            out->c[d].hi = box->max[d];
        }
    }
}

const ti_shape *ti_shape_complete(const ti_shape *shape, ti_arena *arena)
{
    if (!shape->bare) {
        return shape;
    }
    ti_shape *out = ti_arena_copy(arena, shape, sizeof(*shape));
    ti_access *access = ti_arena_copy(arena, shape->access, shape->accesses * sizeof(*access));
    ti_mapper *mapper = TI_ARENA_ARRAY(arena, ti_mapper, shape->accesses);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        access[i].mapper = ti_shape_mapper(shape, i, 0, &mapper[i]);
    }
    out->access = access;
    out->bare = false;
    return out;
}

void ti_access_image(const ti_access *access, const ti_box *items, ti_boxes *out)
{
    if (access->custom) {
        ti_custom_image(access->custom, items, &access->buffer->extent, access->buffer->dims, out);
        return;
    }
    if (access->mode == TACIT_REDUCE) {
        ti_vec_push(out, access->buffer->extent);
        return;
    }
    for (uint32_t i = 0; i < access->mappers; i++) {
        ti_box image[TI_MAPPER_BOXES];
        push_all(out, image, (size_t)ti_mapper_image(&access->mapper[i], &access->buffer->extent, items, image));
    }
}
