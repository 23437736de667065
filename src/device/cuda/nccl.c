/* Collectives by NCCL: see nccl.h. */
#include "device/cuda/nccl.h"

#include "base/check.h"
#include "base/clock.h"
#include "device/cuda/copy.h"
#include "device/cuda/staging.h"

#include <sched.h>
#include <string.h>

/* The others end at the same point of the program; who waits longer for them has lost them. */
enum { END_NS = 1000 * 1000 * 1000 };

/* A share of a group: where NCCL finds it, or is to leave it. */
typedef struct part {
    ti_device_share is; /* whose blocks are the group's */
    size_t block;       /* its first one there */
    size_t at;          /* in the packing memory; NOWHERE: its only block is one run, and used in place */
} part;
#define NOWHERE SIZE_MAX

typedef struct group {
    uint64_t token;
    int kind;
    TI_VEC(part) part;
    TI_VEC(ti_block) block;
    size_t packed; /* bytes */
} group;

struct ti_cuda_nccl {
    ti_cuda_nccl_desc is;
    ti_nccl_api api;
    ti_nccl_comm comm; /* NULL: aborted */
    int node;
    char *packing; /* memory of the device */
    size_t room;
    TI_VEC(group) group; /* those that have not been given to the stream */
    bool is_coming;      /* the first of them is on its way there */
    uint64_t given;      /* since then, for who looks on */
};

/* ---- errors */

static void fail(ti_cuda_nccl *n, const char *why)
{
    ti_failure_set(
        n->is.device->failure, TACIT_ERROR_NETWORK,
        "a collective on device %s: NCCL says: %s; NCCL_DEBUG=WARN says more, TACIT_NCCL=off does without it",
        n->is.device->name, why);
}

/* Whether NCCL has done what it was asked for. */
static bool has_settled(ti_cuda_nccl *n)
{
    int state = TI_NCCL_SUCCESS;
    const int code = n->api.state(n->comm, &state);
    const int worst = code ? code : state;
    if (worst != TI_NCCL_SUCCESS && worst != TI_NCCL_IN_PROGRESS) {
        fail(n, n->api.error_text(worst));
    }
    return worst == TI_NCCL_SUCCESS;
}

/* ---- begin and end */

/* Until it is done, or so many nanoseconds have passed. Returns NCCL's code. */
static int wait_until(const ti_nccl_api *api, ti_nccl_comm comm, int code, uint64_t most)
{
    const uint64_t begin = ti_clock_ns();
    int state = code;
    while ((code == TI_NCCL_SUCCESS || code == TI_NCCL_IN_PROGRESS) &&
           (code = api->state(comm, &state)) == TI_NCCL_SUCCESS && state == TI_NCCL_IN_PROGRESS &&
           ti_clock_ns() - begin < most) {
        sched_yield();
    }
    return code == TI_NCCL_SUCCESS || code == TI_NCCL_IN_PROGRESS ? state : code;
}

ti_cuda_nccl *ti_cuda_nccl_create(const ti_cuda_nccl_desc *desc, int node, int nodes, const void *id, ti_strbuf *why)
{
    ti_nccl_config config = {
        .size = sizeof(config), .magic = TI_NCCL_MAGIC, .version = TI_NCCL_VERSION, .blocking = 0
    };
    ti_nccl_id name;
    ti_cuda_nccl *n = TI_NEW(ti_cuda_nccl);
    n->is = *desc;
    n->node = node;
    memcpy(&name, id, sizeof(name));
    int code = TI_NCCL_SUCCESS;
    bool good = ti_nccl_load(&n->api, why);
    if (good) {
        code = n->api.init(&n->comm, nodes, name, node, &config);
        code = n->comm ? wait_until(&n->api, n->comm, code, UINT64_MAX) : code;
        good = n->comm && code == TI_NCCL_SUCCESS;
    }
    if (!good) {
        if (code) {
            ti_strbuf_add(why, "%s", n->api.error_text(code));
        }
        if (n->comm) {
            n->api.abort(n->comm);
        }
        TI_DELETE(n);
        return NULL;
    }
    return n;
}

static void drop_first(ti_cuda_nccl *n)
{
    group *g = &n->group.data[0];
    ti_vec_fini(&g->part);
    ti_vec_fini(&g->block);
    n->group.count--;
    memmove(g, g + 1, n->group.count * sizeof(*g));
    n->is.device->base.silent--;
}

void ti_cuda_nccl_abort(ti_cuda_nccl *n)
{
    const ti_lane *lane = &n->is.device->lane[n->is.lane];
    const bool failed = ti_failure_get(n->is.device->failure) != TACIT_OK; /* then the lane does not tell */
    if (n->comm && (failed || n->group.count || lane->first < lane->operation.count)) {
        n->api.abort(n->comm);
        n->comm = NULL;
    }
    while (n->group.count) {
        drop_first(n);
    }
    n->is_coming = false;
}

void ti_cuda_nccl_destroy(ti_cuda_nccl *n)
{
    TI_ASSERT(n->group.count == 0);
    if (n->comm && wait_until(&n->api, n->comm, n->api.finalize(n->comm), END_NS) == TI_NCCL_SUCCESS) {
        n->api.destroy(n->comm);
    } else if (n->comm) {
        n->api.abort(n->comm);
    }
    if (n->packing) {
        ti_cuda_memory_destroy(n->is.session, n->packing);
    }
    ti_vec_fini(&n->group);
    TI_DELETE(n);
}

/* ---- groups */

static bool is_one_run(const ti_device_share *s)
{
    return s->blocks == 1 && s->block->count[0] * s->block->count[1] == 1;
}

/* An all-gather needs all shares one after another. */
static bool lie_in_turn(const ti_device_exchange *x)
{
    bool all = true;
    for (uint32_t i = 0; i < x->shares && all; i++) {
        all = is_one_run(&x->share[i]) && x->share[i].block->base == x->share[0].block->base + i * x->share[0].bytes;
    }
    return all;
}

void ti_cuda_nccl_exchange(ti_cuda_nccl *n, const ti_device_exchange *x, uint64_t token)
{
    const bool in_place = x->kind != TI_DEVICE_ALL_GATHER || lie_in_turn(x);
    ti_vec_push(&n->group, ((group){ .token = token, .kind = x->kind }));
    group *g = &n->group.data[n->group.count - 1];
    for (uint32_t i = 0; i < x->shares; i++) {
        const ti_device_share *s = &x->share[i];
        part p = { .is = *s, .block = g->block.count, .at = NOWHERE };
        if (!in_place || !is_one_run(s)) {
            p.at = g->packed;
            g->packed += s->bytes;
        }
        for (uint32_t k = 0; k < s->blocks; k++) {
            ti_vec_push(&g->block, s->block[k]);
        }
        ti_vec_push(&g->part, p);
    }
    n->is.device->base.silent++; /* so that somebody polls */
    ti_cuda_nccl_turn(n);
}

static char *address_of(const ti_cuda_nccl *n, const group *g, const part *p)
{
    return p->at == NOWHERE ? g->block.data[p->block].base : n->packing + p->at;
}

static bool is_given_here(const ti_cuda_nccl *n, const group *g, const part *p)
{
    return g->kind == TI_DEVICE_MESSAGES ? p->is.gives : p->is.node == n->node;
}

/* Between blocks and the packing memory: what this node gives before, what it gets after. */
static ti_cu_result pack(const ti_cuda_nccl *n, const group *g, bool before)
{
    ti_cu_result code = TI_CU_SUCCESS;
    for (size_t i = 0; i < g->part.count; i++) {
        const part *p = &g->part.data[i];
        const bool is_packed = p->at != NOWHERE && is_given_here(n, g, p) == before;
        char *at = is_packed ? address_of(n, g, p) : NULL;
        for (uint32_t k = 0; is_packed && k < p->is.blocks && code == TI_CU_SUCCESS; k++) {
            const ti_block *block = &g->block.data[p->block + k], tight = ti_staged_tight(block, at);
            code = ti_cuda_give_copy(n->is.session, n->is.context, n->is.stream, before ? &tight : block,
                                     before ? block : &tight);
            at += ti_block_bytes(block);
        }
    }
    return code;
}

static int call_for(const ti_cuda_nccl *n, const group *g, const part *p)
{
    const ti_nccl_api *api = &n->api;
    char *at = address_of(n, g, p);
    if (g->kind == TI_DEVICE_BROADCASTS) {
        return api->broadcast(at, at, p->is.bytes, TI_NCCL_INT8, p->is.node, n->comm, n->is.stream);
    }
    return p->is.gives ? api->send(at, p->is.bytes, TI_NCCL_INT8, p->is.node, n->comm, n->is.stream)
                       : api->receive(at, p->is.bytes, TI_NCCL_INT8, p->is.node, n->comm, n->is.stream);
}

/* Codes that say that calls were taken. */
static int worse(int code, int other)
{
    return code == TI_NCCL_SUCCESS || code == TI_NCCL_IN_PROGRESS ? other : code;
}

static int call_all(const ti_cuda_nccl *n, const group *g)
{
    const part *p = g->part.data;
    int code = n->api.begin();
    if (g->kind == TI_DEVICE_ALL_GATHER) {
        code = worse(code, n->api.all_gather(address_of(n, g, &p[n->node]), address_of(n, g, p), p->is.bytes,
                                             TI_NCCL_INT8, n->comm, n->is.stream));
    }
    for (size_t i = 0; g->kind != TI_DEVICE_ALL_GATHER && i < g->part.count; i++) {
        code = worse(code, call_for(n, g, &p[i]));
    }
    return worse(code, n->api.end());
}

/* False: not yet, since others use that memory, or the run has failed. */
static bool has_room(ti_cuda_nccl *n, const group *g)
{
    const ti_lane *lane = &n->is.device->lane[n->is.lane];
    void *memory = NULL;
    if (g->packed <= n->room) {
        return true;
    }
    if (lane->first < lane->operation.count) {
        return false;
    }
    if (n->packing) {
        ti_cuda_memory_destroy(n->is.session, n->packing);
    }
    const bool good = ti_cuda_memory_create(n->is.session, n->is.context, g->packed, &memory) == TACIT_OK;
    n->packing = memory;
    n->room = good ? g->packed : 0;
    if (!good) {
        ti_failure_set(
            n->is.device->failure, TACIT_ERROR_MEMORY,
            "a collective on device %s: there is no memory to pack %zu bytes; set TACIT_DEVICE_MEMORY to less",
            n->is.device->name, g->packed);
    }
    return good;
}

static void start_first(ti_cuda_nccl *n)
{
    const group *g = &n->group.data[0];
    if (!has_room(n, g)) {
        return;
    }
    n->given = ti_accelerator_now(n->is.device);
    ti_cu_result code = ti_accelerator_wait_in(n->is.device, n->is.lane);
    code = code ? code : pack(n, g, true);
    if (code) {
        ti_accelerator_fail(n->is.device, NULL, "cannot be started", code);
        return;
    }
    n->is_coming = true;
    const int answer = call_all(n, g);
    if (answer != TI_NCCL_SUCCESS && answer != TI_NCCL_IN_PROGRESS) {
        fail(n, n->api.error_text(answer));
    }
}

static void end_first(ti_cuda_nccl *n)
{
    const group *g = &n->group.data[0];
    const ti_operation o = { .token = g->token, .given = n->given, .slot = -1 };
    ti_accelerator_start(n->is.device, n->is.lane, pack(n, g, false), &o);
    n->is_coming = false;
    drop_first(n);
}

void ti_cuda_nccl_turn(ti_cuda_nccl *n)
{
    const ti_lane *lane = &n->is.device->lane[n->is.lane];
    while (n->comm && ti_failure_get(n->is.device->failure) == TACIT_OK) {
        if (n->is_coming && has_settled(n)) {
            end_first(n);
        } else if (!n->is_coming && n->group.count) {
            start_first(n);
            if (!n->is_coming) {
                return;
            }
        } else {
            if (!n->is_coming && lane->first < lane->operation.count) {
                has_settled(n); /* or has failed meanwhile */
            }
            return;
        }
    }
}
