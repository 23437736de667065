/* What pure kernels have computed on several nodes: see purity.h. */
#include "exec/purity.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/vec.h"

#include <string.h>

enum {
    MAX_TASKS = 256,  /* kept between two points */
    VALUE_BYTES = 64, /* kept of an element */
    NAME_BYTES = 40,
    TEXT_BYTES = 480, /* of the sentence */
    SUM_BITS = 40     /* of a fingerprint: those of all nodes fit into a sum */
};

#define SUM_MASK (((uint64_t)1 << SUM_BITS) - 1)

typedef struct record {
    uint64_t number, key, fingerprint;
    int64_t element[3];
    size_t elem_size;
    int dims;
    int32_t others; /* as in a ti_sample */
    char task[NAME_BYTES], buffer[NAME_BYTES];
    unsigned char value[VALUE_BYTES]; /* the first bytes, and zeros */
} record;

struct ti_purity {
    ti_comm *comm;
    uint64_t before; /* number of the last task that was compared */
    uint64_t stride; /* a power of two: of tasks behind that, every so many-th is kept */
    uint64_t tasks, elements;
    TI_VEC(record) kept;
};

ti_purity *ti_purity_create(ti_comm *comm)
{
    ti_purity *p = TI_NEW(ti_purity);
    p->comm = comm;
    p->stride = 1;
    return p;
}

void ti_purity_destroy(ti_purity *p)
{
    if (p) {
        ti_vec_fini(&p->kept);
        TI_DELETE(p);
    }
}

uint64_t ti_purity_tasks(const ti_purity *p)
{
    return p->tasks;
}

uint64_t ti_purity_elements(const ti_purity *p)
{
    return p->elements;
}

/* ---- what is kept */

static bool is_kept(const ti_purity *p, uint64_t number)
{
    return (number - p->before - 1) % p->stride == 0;
}

/* There have been tasks up to this number: not too many of them are kept. */
static void thin_out(ti_purity *p, uint64_t number)
{
    uint64_t stride = p->stride;
    while ((number - p->before - 1) / p->stride >= MAX_TASKS) {
        p->stride *= 2;
    }
    if (stride != p->stride) {
        size_t left = 0;
        for (size_t i = 0; i < p->kept.count; i++) {
            if (is_kept(p, p->kept.data[i].number)) {
                p->kept.data[left++] = p->kept.data[i];
            }
        }
        p->kept.count = left;
    }
}

/* As much of it as there is room for; the rest of `to` is zeros already. */
static void copy_text(char *to, const char *text, size_t room)
{
    memcpy(to, text, TI_MIN(strlen(text), room - 1));
}

static void keep(ti_purity *p, const ti_samples *of, const ti_sample *sample, const ti_task *task, const void *value)
{
    const ti_buffer_info *buffer = task->shape->access[sample->access].buffer;
    record r = { .number = of->number,
                 .key = sample->key,
                 .elem_size = buffer->elem_size,
                 .dims = buffer->dims,
                 .others = sample->others };
    memcpy(r.element, sample->element, sizeof(r.element));
    memcpy(r.value, value, TI_MIN(buffer->elem_size, (size_t)VALUE_BYTES));
    r.fingerprint = ti_hash_mix(ti_hash_mix(ti_hash_bytes(value, buffer->elem_size), r.number), r.key);
    copy_text(r.task, task->shape->name, NAME_BYTES);
    copy_text(r.buffer, buffer->name, NAME_BYTES);
    ti_vec_push(&p->kept, r);
}

static bool has_item(const ti_box *chunk, const int64_t item[3])
{
    bool has = true;
    for (int d = 0; d < TACIT_MAX_DIMS; d++) {
        has &= item[d] >= chunk->min[d] && item[d] < chunk->max[d];
    }
    return has;
}

void ti_purity_note_kernel(ti_purity *p, ti_allocation_table *table, const ti_instruction *i)
{
    const ti_samples *samples = i->as.kernel.samples;
    TI_ASSERT(samples->number > p->before);
    thin_out(p, samples->number);
    for (uint32_t k = 0; k < samples->count && is_kept(p, samples->number); k++) {
        const ti_sample *s = &samples->sample[k];
        const ti_instruction_view *view = &i->as.kernel.view[s->access];
        if (has_item(&i->as.kernel.chunk, s->item)) {
            const char *base = ti_allocation_table_base(table, &view->place);
            keep(p, samples, s, i->task,
                 base + ti_layout_offset(&view->place.whole, s->element, view->buffer->elem_size));
        }
    }
}

/* ---- sums over all nodes */

static uint64_t sum(const ti_purity *p, uint64_t value)
{
    return (uint64_t)p->comm->ops->sum(p->comm, (int64_t)value);
}

/* Tasks and keys from the first to the last one. */
typedef struct extent {
    uint64_t number[2], key[2];
} extent;

static bool is_in(const extent *e, const record *r)
{
    return r->number >= e->number[0] && r->number <= e->number[1] && r->key >= e->key[0] && r->key <= e->key[1];
}

static bool differ(const ti_purity *p, const extent *e)
{
    uint64_t mine = 0;
    for (size_t i = 0; i < p->kept.count; i++) {
        const record *r = &p->kept.data[i];
        mine += is_in(e, r) ? (uint64_t)(int64_t)r->others * r->fingerprint : 0;
    }
    return (sum(p, mine & SUM_MASK) & SUM_MASK) != 0;
}

/* Of an extent in which something differs, `bound` is that of numbers or keys: until it has one. */
static void narrow(const ti_purity *p, extent *e, uint64_t bound[2])
{
    while (bound[0] < bound[1] && !p->comm->stats.error) {
        const uint64_t last = bound[1], middle = bound[0] + (last - bound[0]) / 2;
        bound[1] = middle;
        if (!differ(p, e)) {
            bound[0] = middle + 1;
            bound[1] = last;
        }
    }
}

/* The bytes of the one node that has any, on all nodes; a multiple of a word. */
static void share(const ti_purity *p, const void *mine, void *all, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint32_t)) {
        uint32_t word = 0;
        if (mine) {
            memcpy(&word, (const char *)mine + at, sizeof(word));
        }
        word = (uint32_t)sum(p, word);
        memcpy((char *)all + at, &word, sizeof(word));
    }
}

/* The first node whose copy differs, or none: the number of nodes. */
static int first_of(const ti_purity *p, bool mine)
{
    int low = 0, high = p->comm->num_nodes;
    while (low < high && !p->comm->stats.error) {
        int middle = low + (high - low) / 2, node = p->comm->node;
        bool any = sum(p, mine && node >= low && node <= middle) != 0;
        low = any ? low : middle + 1;
        high = any ? middle : high;
    }
    return low;
}

/* ---- the sentence */

/* An element of the size of a number as a number, of others what differs. */
static void add_value(const record *r, const unsigned char *value, size_t from, ti_strbuf *out)
{
    if (r->elem_size == sizeof(double)) {
        double number;
        uint64_t bits;
        memcpy(&number, value, sizeof(number));
        memcpy(&bits, value, sizeof(bits));
        ti_strbuf_add(out, "0x%016llx (%.17g)", (unsigned long long)bits, number);
    } else if (r->elem_size == sizeof(float)) {
        float number;
        uint32_t bits;
        memcpy(&number, value, sizeof(number));
        memcpy(&bits, value, sizeof(bits));
        ti_strbuf_add(out, "0x%08x (%.9g)", bits, (double)number);
    } else {
        ti_strbuf_add(out, "0x");
        for (size_t i = from; i < TI_MIN(r->elem_size, from + sizeof(uint64_t)); i++) {
            ti_strbuf_add(out, "%02x", i < VALUE_BYTES ? value[i] : 0);
        }
        ti_strbuf_add(out, " (bytes from %zu on)", from);
    }
}

static void describe(const ti_purity *p, const record *r, const unsigned char *theirs, int owner, ti_strbuf *why)
{
    ti_strbuf at = { 0 }, mine = { 0 }, other = { 0 };
    size_t from = 0;
    while (from + 1 < TI_MIN(r->elem_size, (size_t)VALUE_BYTES) && r->value[from] == theirs[from]) {
        from++;
    }
    for (int d = 0; d < r->dims; d++) {
        ti_strbuf_add(&at, "[%lld]", (long long)r->element[d]);
    }
    add_value(r, r->value, from, &mine);
    add_value(r, theirs, from, &other);
    ti_strbuf_add(why,
                  "task '%s' is marked pure, but it has written %s to element %s of buffer '%s' on node %d, and %s on "
                  "node %d, whose part it is; its kernel, or that of an earlier task, reads or writes more than its "
                  "views and arguments: mend it, or take .hint.pure away",
                  r->task, mine.text, ti_strbuf_text(&at), r->buffer, p->comm->node, other.text, owner);
    ti_strbuf_fini(&at);
    ti_strbuf_fini(&mine);
    ti_strbuf_fini(&other);
}

static const record *find(const ti_purity *p, uint64_t number, uint64_t key)
{
    for (size_t i = 0; i < p->kept.count; i++) {
        if (p->kept.data[i].number == number && p->kept.data[i].key == key) {
            return &p->kept.data[i];
        }
    }
    return NULL;
}

/* Something differs: the first task, one of its elements, who has it. */
static void explain(const ti_purity *p, uint64_t planned, ti_strbuf *why)
{
    extent e = { { p->before + 1, planned }, { 0, UINT64_MAX } };
    unsigned char theirs[VALUE_BYTES];
    char text[TEXT_BYTES] = "";
    uint64_t fingerprint;
    narrow(p, &e, e.number);
    narrow(p, &e, e.key);
    const record *mine = find(p, e.number[0], e.key[0]);
    const record *owned = mine && mine->others > 0 ? mine : NULL;
    int owner = (int)sum(p, owned ? (uint64_t)p->comm->node : 0);
    share(p, owned ? owned->value : NULL, theirs, sizeof(theirs));
    share(p, owned ? &owned->fingerprint : NULL, &fingerprint, sizeof(fingerprint));
    int node = first_of(p, mine && !owned && mine->fingerprint != fingerprint);
    ti_strbuf said = { 0 };
    if (node == p->comm->node) {
        describe(p, mine, theirs, owner, &said);
        copy_text(text, ti_strbuf_text(&said), sizeof(text));
    }
    share(p, node == p->comm->node ? text : NULL, text, sizeof(text));
    ti_strbuf_add(why, "%s", text);
    ti_strbuf_fini(&said);
}

bool ti_purity_compare(ti_purity *p, uint64_t planned, ti_strbuf *why)
{
    const uint64_t tasks = planned - p->before;
    const extent all = { { 0, UINT64_MAX }, { 0, UINT64_MAX } };
    if (!tasks) {
        return true;
    }
    thin_out(p, planned);
    bool equal = !differ(p, &all) || p->comm->stats.error;
    if (!equal) {
        explain(p, planned, why);
        TI_ASSERT(why->length || p->comm->stats.error);
    }
    p->tasks += (tasks + p->stride - 1) / p->stride;
    p->elements += p->kept.count;
    p->before = planned;
    p->stride = 1;
    ti_vec_clear(&p->kept);
    return equal || p->comm->stats.error;
}
