/* Transfers: see transfer.h. */
#include "plan/version/transfer.h"

#include "base/check.h"
#include "base/sort.h"

enum { MAX_APART = 64 }; /* boxes whose owners are looked for one by one */

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
    ti_vec_fini(&p->peers);
    ti_vec_fini(&p->other);
}

/* What is wanted, but for what collectives bring, becomes pieces of the message. */
static void add_wanted(ti_transfer_planner *p, ti_messages *list, int peer)
{
    for (size_t i = 0; i < p->covered.count && p->wanted.count; i++) {
        ti_boxes_subtract(&p->wanted, &p->covered.data[i]);
    }
    for (size_t i = 0; i < p->wanted.count; i++) {
        TI_ASSERT(peer != p->node);
        ti_vec_push(list, ((ti_message_piece){ peer, (uint32_t)list->count, p->wanted.data[i] }));
    }
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

/* Whether nobody lacks anything of an entry. */
static bool is_free(const ti_transfer_planner *p, const ti_version *v, ti_holders reads)
{
    for (size_t i = 0; i < p->covered.count; i++) {
        if (ti_box_covers(&p->covered.data[i], &v->box)) {
            return true;
        }
    }
    return ti_version_is_free(v, reads);
}

/* ---- what this node lacks, and who sends it */

static void receive_from_nodes(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holders reads)
{
    ti_version_wants(map, v, reads, p->node, &p->wanted, &p->demand);
    add_wanted(p, &p->incoming, v->a + p->node % (v->b - v->a));
}

/* The chunks that may own some of what this node demands, ascending. Boxes that lie apart, such as the two ends of a
 * torus, are asked for one by one: between them there may be very many chunks. */
static void find_owners(ti_transfer_planner *p, const ti_holder *writer)
{
    const ti_boxes *image = &p->demand.image;
    TI_ASSERT(image->count > 0);
    ti_box around = ti_boxes_bounding(image->data, image->count);
    if (image->count == 1 || image->count > MAX_APART ||
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
    ti_chunks_settle(&p->found, &p->chunks);
    ti_chunk_list swap = p->chunks;
    p->chunks = p->found;
    p->found = swap;
}

/* Owners are asked one by one for what they own, of which this node wrote nothing itself, unless images of the writer's
 * chunks overlap. */
static void receive_from_chunks(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holders reads)
{
    ti_demand_make(map, v, reads, p->node, &v->box, &p->demand);
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
                ti_demand_lacks(&p->demand, &p->owned.data[k], &p->wanted);
                add_wanted(p, &p->incoming, owner);
            }
        }
    }
}

/* ---- what others lack of what this node owns */

/* The nodes whose reads may meet `box`; with a stride, only those that are `residue` modulo it. */
static void find_readers(ti_transfer_planner *p, ti_holders reads, const ti_box *box, int stride, int residue)
{
    for (size_t i = 0; i < reads.count; i++) {
        const ti_split_ref *split = reads.data[i]->split;
        if (reads.data[i]->constant && !reads.data[i]->table) { /* all nodes with chunks read the same */
            for (int node = split->node_a; node < split->node_b; node++) {
                if (node != p->node && node % stride == residue) {
                    ti_vec_push(&p->peers, node);
                }
            }
            continue;
        }
        ti_holder_candidates(reads.data[i], box, &p->chunks);
        for (size_t k = 0; k < p->chunks.count; k++) {
            int node = ti_split_node(&split->split, p->chunks.data[k]);
            if (node != p->node && node % stride == residue) {
                ti_vec_push(&p->peers, node);
            }
        }
    }
}

/* Entry held by nodes [a,b): node a + q mod (b - a) serves node q. */
static void serve_from_nodes(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holders reads)
{
    if (p->node < v->a || p->node >= v->b) {
        return;
    }
    ti_vec_clear(&p->peers);
    find_readers(p, reads, &v->box, v->b - v->a, p->node - v->a);
    ti_chunks_settle(&p->peers, &p->chunks);
    for (size_t i = 0; i < p->peers.count; i++) {
        int peer = (int)p->peers.data[i];
        ti_version_wants(map, v, reads, peer, &p->wanted, &p->demand);
        add_wanted(p, &p->outgoing, peer);
    }
}

/* What another node lacks of a box that this one owns. It wrote none of that itself, unless images of the writer's
 * chunks overlap. */
static void serve_peer(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holders reads, int peer,
                       const ti_box *owned)
{
    ti_demand_make(map, v, reads, peer, owned, &p->demand);
    if (!v->writer->disjoint) {
        ti_demand_hold_own(map, v, peer, owned, &p->demand);
    }
    ti_demand_lacks(&p->demand, owned, &p->wanted);
    add_wanted(p, &p->outgoing, peer);
}

static void serve_from_chunks(ti_transfer_planner *p, ti_version_map *map, const ti_version *v, ti_holders reads)
{
    const ti_split_ref *split = v->writer->split;
    TI_ASSERT(v->kind == TI_WRITER_SPLIT);
    for (int64_t c = split->own_first; c < split->own_first + split->own_count; c++) {
        ti_version_owned(map, v, c, &p->owned);
        ti_vec_clear(&p->peers);
        for (size_t i = 0; i < p->owned.count; i++) {
            find_readers(p, reads, &p->owned.data[i], 1, 0);
        }
        ti_chunks_settle(&p->peers, &p->chunks);
        for (size_t i = 0; i < p->peers.count; i++) {
            for (size_t k = 0; k < p->owned.count; k++) {
                serve_peer(p, map, v, reads, (int)p->peers.data[i], &p->owned.data[k]);
            }
        }
    }
}

/* The entries of which somebody lacks something: in map->hit. */
static void find_lacking(ti_transfer_planner *p, ti_version_map *map, ti_holders reads)
{
    size_t kept = 0;
    ti_vec_clear(&p->mine);
    for (size_t i = 0; i < reads.count; i++) {
        for (size_t k = 0; k < reads.data[i]->image.count; k++) {
            ti_vec_push(&p->mine, reads.data[i]->image.data[k]);
        }
    }
    ti_vec_clear(&map->hit);
    if (p->mine.count) {
        ti_version_map_query_any(map, &p->mine);
    }
    for (size_t i = 0; i < map->hit.count; i++) {
        ti_version *v = map->hit.data[i];
        if (v->kind != TI_WRITER_UNDEFINED && !is_free(p, v, reads)) {
            map->hit.data[kept++] = v;
        }
    }
    map->hit.count = kept;
}

void ti_transfer_plan(ti_transfer_planner *p, ti_version_map *map, ti_holders reads)
{
    TI_ASSERT(map->dirty.count == 0);
    ti_vec_clear(&p->incoming);
    ti_vec_clear(&p->outgoing);
    find_lacking(p, map, reads);
    if (map->hit.count == 0) {
        return;
    }
    ti_vec_clear(&p->mine);
    for (size_t i = 0; i < reads.count; i++) {
        ti_holder_node(&map->holders, reads.data[i], p->node, &map->extent, &p->mine);
    }
    for (size_t i = 0; i < map->hit.count; i++) {
        const ti_version *v = map->hit.data[i];
        if (ti_boxes_meet(&p->mine, &v->box)) {
            (v->kind == TI_WRITER_NODES ? receive_from_nodes : receive_from_chunks)(p, map, v, reads);
        }
        (v->kind == TI_WRITER_NODES ? serve_from_nodes : serve_from_chunks)(p, map, v, reads);
    }
    group_by_peer(p, &p->incoming);
    group_by_peer(p, &p->outgoing);
}
