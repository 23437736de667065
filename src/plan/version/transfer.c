/* Transfers: see transfer.h. */
#include "plan/version/transfer.h"

#include "base/check.h"
#include "base/sort.h"

enum { MOST_APART = 64 }; /* boxes whose owners are looked for one by one */

void ti_transfer_init(ti_transfer_planner *planner, int node)
{
    *planner = (ti_transfer_planner){ .node = node };
}

void ti_transfer_fini(ti_transfer_planner *p)
{
    ti_vec_fini(&p->covered);
    ti_vec_fini(&p->incoming);
    ti_vec_fini(&p->outgoing);
    ti_vec_fini(&p->mine);
    ti_vec_fini(&p->wanted);
    ti_vec_fini(&p->owned);
    ti_demand_fini(&p->demand);
    ti_vec_fini(&p->chunks);
    ti_vec_fini(&p->found);
    ti_vec_fini(&p->other_found);
    ti_vec_fini(&p->peers);
    ti_vec_fini(&p->other_peers);
    ti_vec_fini(&p->other);
}

static void add_piece(ti_messages *list, int peer, const ti_box *box)
{
    ti_message_piece piece = { peer, (uint32_t)list->count, *box };
    ti_vec_push(list, piece);
}

/* What collectives bring is not wanted any more. */
static void leave_out_covered(ti_transfer_planner *p)
{
    for (size_t i = 0; i < p->covered.count && p->wanted.count; i++) {
        ti_boxes_subtract(&p->wanted, &p->covered.data[i]);
    }
}

/* What a node lacks of what the chunk owns that was asked for last. */
static void add_lacking(ti_transfer_planner *p, ti_messages *list, int peer, const ti_box *owned)
{
    ti_demand_lacks(&p->demand, owned, &p->wanted);
    leave_out_covered(p);
    for (size_t i = 0; i < p->wanted.count; i++) {
        add_piece(list, peer, &p->wanted.data[i]);
    }
}

static int by_chunk(const void *a, const void *b)
{
    return (*(const int64_t *)a > *(const int64_t *)b) - (*(const int64_t *)a < *(const int64_t *)b);
}

static int by_peer(const void *a, const void *b)
{
    const ti_message_piece *x = a, *y = b;
    if (x->peer != y->peer) {
        return x->peer < y->peer ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1;
}

static void group_by_peer(ti_transfer_planner *p, ti_messages *list)
{
    for (size_t i = 1; i < list->count; i++) {
        if (list->data[i - 1].peer > list->data[i].peer) {
            ti_vec_sort(list, &p->other, by_peer);
            return;
        }
    }
}

/* What node q lacks of an entry, but for what collectives bring. */
static void find_wanted(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holder *const *reads,
                        size_t count, int q)
{
    ti_version_wants(map, v, reads, count, q, &p->wanted, &p->demand);
    leave_out_covered(p);
}

/* Whether nobody lacks anything of an entry. */
static bool is_free(const ti_transfer_planner *p, const ti_version *v, ti_holder *const *reads, size_t count)
{
    for (size_t i = 0; i < p->covered.count; i++) {
        if (ti_box_covers(&p->covered.data[i], &v->box)) {
            return true;
        }
    }
    return ti_version_is_free(v, reads, count);
}

/* ---- what this node lacks, and who sends it */

static void receive_from_nodes(ti_transfer_planner *p, ti_version_map *map, const ti_version *v,
                               ti_holder *const *reads, size_t count)
{
    find_wanted(p, map, v, reads, count, p->node);
    for (size_t i = 0; i < p->wanted.count; i++) {
        add_piece(&p->incoming, v->a + p->node % (v->b - v->a), &p->wanted.data[i]);
    }
}

/* The chunks that may own some of what this node demands, ascending. Boxes that lie apart, such as the two ends of a
 * torus, are asked for one by one: between them there may be very many chunks. */
static void find_owners(ti_transfer_planner *p, const ti_holder *writer)
{
    const ti_boxes *image = &p->demand.image;
    ti_box around = ti_boxes_bounding(image->data, image->count);
    if (image->count == 1 || image->count > MOST_APART ||
        ti_box_volume(&around) <= 2 * ti_boxes_volume(image->data, image->count)) {
        ti_holder_candidates(writer, &around, &p->chunks);
        return;
    }
    ti_vec_clear(&p->found);
    for (size_t i = 0; i < image->count; i++) {
        ti_holder_candidates(writer, &image->data[i], &p->chunks);
        for (size_t k = 0; k < p->chunks.count; k++) {
            ti_vec_push(&p->found, p->chunks.data[k]);
        }
    }
    ti_vec_clear(&p->chunks);
    ti_vec_sort(&p->found, &p->other_found, by_chunk);
    for (size_t i = 0; i < p->found.count; i++) {
        if (i == 0 || p->found.data[i] != p->found.data[i - 1]) {
            ti_vec_push(&p->chunks, p->found.data[i]);
        }
    }
}

/* Owners are asked one by one for what they own, of which this node wrote nothing itself, unless images of the writer's chunks overlap. */
static void receive_from_chunks(ti_transfer_planner *p, ti_version_map *map, const ti_version *v,
                                ti_holder *const *reads, size_t count)
{
    ti_demand_make(map, v, reads, count, p->node, &v->box, &p->demand);
    if (!p->demand.image.count) {
        return;
    }
    if (!v->writer->disjoint) {
        ti_demand_hold_own(map, v, p->node, &v->box, &p->demand);
    }
    find_owners(p, v->writer);
    for (size_t i = 0; i < p->chunks.count; i++) {
        int owner = ti_split_node(&v->writer->split->split, p->chunks.data[i]);
        if (owner != p->node) {
            ti_version_owned(map, v, p->chunks.data[i], &p->owned);
            for (size_t k = 0; k < p->owned.count; k++) {
                add_lacking(p, &p->incoming, owner, &p->owned.data[k]);
            }
        }
    }
}

static void receive_entry(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holder *const *reads,
                          size_t count)
{
    switch (v->kind) {
    case TI_WRITER_UNDEFINED:
        break;
    case TI_WRITER_NODES:
        receive_from_nodes(p, map, v, reads, count);
        break;
    case TI_WRITER_SPLIT:
        receive_from_chunks(p, map, v, reads, count);
        break;
    }
}

/* What this node reads. */
static void find_mine(ti_transfer_planner *p, const ti_version_map *map, ti_holder *const *reads, size_t count)
{
    ti_vec_clear(&p->mine);
    for (size_t i = 0; i < count; i++) {
        ti_holder_node(&map->holders, reads[i], p->node, &map->extent, &p->mine);
    }
}

static bool meets_any(const ti_boxes *boxes, const ti_box *box)
{
    for (size_t i = 0; i < boxes->count; i++) {
        if (ti_box_meets(&boxes->data[i], box)) {
            return true;
        }
    }
    return false;
}

/* ---- what others lack of what this node owns */

static void add_peer(ti_transfer_planner *p, int node)
{
    for (size_t i = p->peers.count; i-- > 0;) {
        if (p->peers.data[i] == node) {
            return;
        }
        if (p->peers.data[i] < node) {
            break;
        }
    }
    ti_vec_push(&p->peers, node);
}

static int by_value(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Leaves the nodes in ascending order, each once. */
static void sort_peers(ti_transfer_planner *p)
{
    size_t kept = 0;
    for (size_t i = 1; i < p->peers.count; i++) {
        if (p->peers.data[i - 1] >= p->peers.data[i]) {
            ti_vec_sort(&p->peers, &p->other_peers, by_value);
            break;
        }
    }
    for (size_t i = 0; i < p->peers.count; i++) {
        if (kept == 0 || p->peers.data[kept - 1] != p->peers.data[i]) {
            p->peers.data[kept++] = p->peers.data[i];
        }
    }
    p->peers.count = kept;
}

/* Whether all nodes with chunks read the same. */
static bool is_alike(const ti_holder *read)
{
    return read->constant && !read->table;
}

/* The nodes whose reads may meet `box`; with a stride, only those that are `residue` modulo it. */
static void find_readers(ti_transfer_planner *p, ti_holder *const *reads, size_t count, const ti_box *box, int stride,
                         int residue)
{
    for (size_t i = 0; i < count; i++) {
        const ti_split *split = &reads[i]->split->split;
        if (is_alike(reads[i])) {
            for (int node = reads[i]->split->node_a; node < reads[i]->split->node_b; node++) {
                if (node != p->node && node % stride == residue) {
                    add_peer(p, node);
                }
            }
            continue;
        }
        ti_holder_candidates(reads[i], box, &p->chunks);
        for (size_t k = 0; k < p->chunks.count; k++) {
            int node = ti_split_node(split, p->chunks.data[k]);
            if (node != p->node && node % stride == residue) {
                add_peer(p, node);
            }
        }
    }
}

/* Entry held by nodes [a,b): node a + q mod (b - a) serves node q. */
static void serve_from_nodes(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holder *const *reads,
                             size_t count)
{
    if (p->node < v->a || p->node >= v->b) {
        return;
    }
    ti_vec_clear(&p->peers);
    find_readers(p, reads, count, &v->box, v->b - v->a, p->node - v->a);
    sort_peers(p);
    for (size_t i = 0; i < p->peers.count; i++) {
        find_wanted(p, map, v, reads, count, p->peers.data[i]);
        for (size_t k = 0; k < p->wanted.count; k++) {
            add_piece(&p->outgoing, p->peers.data[i], &p->wanted.data[k]);
        }
    }
}

/* What another node lacks of a box that this one owns. It wrote none of that itself, unless images of the writer's chunks overlap. */
static void serve_peer(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holder *const *reads,
                       size_t count, int peer, const ti_box *owned)
{
    ti_demand_make(map, v, reads, count, peer, owned, &p->demand);
    if (!v->writer->disjoint) {
        ti_demand_hold_own(map, v, peer, owned, &p->demand);
    }
    add_lacking(p, &p->outgoing, peer, owned);
}

static void serve_from_chunk(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holder *const *reads,
                             size_t count)
{
    ti_vec_clear(&p->peers);
    for (size_t i = 0; i < p->owned.count; i++) {
        find_readers(p, reads, count, &p->owned.data[i], 1, 0);
    }
    sort_peers(p);
    for (size_t i = 0; i < p->peers.count; i++) {
        for (size_t k = 0; k < p->owned.count; k++) {
            serve_peer(p, map, v, reads, count, p->peers.data[i], &p->owned.data[k]);
        }
    }
}

static void serve_entry(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holder *const *reads,
                        size_t count)
{
    if (v->kind == TI_WRITER_NODES) {
        serve_from_nodes(p, map, v, reads, count);
        return;
    }
    const ti_split_ref *split = v->writer->split;
    for (int64_t c = split->own_first; c < split->own_first + split->own_count; c++) {
        ti_version_owned(map, v, c, &p->owned);
        if (p->owned.count) {
            serve_from_chunk(p, map, v, reads, count);
        }
    }
}

/* The entries of which somebody lacks something: in map->hit. */
static void find_lacking(ti_transfer_planner *p, ti_version_map *map, ti_holder *const *reads, size_t count)
{
    size_t kept = 0;
    ti_vec_clear(&p->mine);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < reads[i]->image.count; k++) {
            ti_vec_push(&p->mine, reads[i]->image.data[k]);
        }
    }
    ti_vec_clear(&map->hit);
    if (p->mine.count) {
        ti_version_map_query_any(map, &p->mine);
    }
    for (size_t i = 0; i < map->hit.count; i++) {
        ti_version *v = map->hit.data[i];
        if (v->kind != TI_WRITER_UNDEFINED && !is_free(p, v, reads, count)) {
            map->hit.data[kept++] = v;
        }
    }
    map->hit.count = kept;
}

void ti_transfer_plan(ti_transfer_planner *p, ti_version_map *map, ti_holder *const *reads, size_t count)
{
    ti_vec_clear(&p->incoming);
    ti_vec_clear(&p->outgoing);
    find_lacking(p, map, reads, count);
    if (map->hit.count == 0) {
        return;
    }
    find_mine(p, map, reads, count);
    for (size_t i = 0; i < map->hit.count; i++) {
        const ti_version *v = map->hit.data[i];
        if (meets_any(&p->mine, &v->box)) {
            receive_entry(p, map, v, reads, count);
        }
        serve_entry(p, map, v, reads, count);
    }
    group_by_peer(p, &p->incoming);
    group_by_peer(p, &p->outgoing);
}
