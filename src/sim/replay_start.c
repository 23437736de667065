/* What instructions take that were recorded: see replay.h. */
#include "sim/impl.h"

#include "base/check.h"

static const ti_recorded_instruction *recorded_of(const ti_cluster *c, const node *n, const ti_instruction *i)
{
    const ti_recorded_instruction *r = ti_recorded_at(c->replay->recorded, n->system.node, i->id);
    TI_ASSERT(r); /* compared when it was planned */
    return r;
}

static double duration(const ti_recorded_instruction *r)
{
    return (double)TI_MAX(r->end - r->start, 0);
}

static void end_after(ti_cluster *c, int q, uint64_t id, double ns, int slot)
{
    ti_sim_later(c, c->now + ns, q, EVENT_DONE, id, slot);
}

/* A message is there when both sides have begun and as much time has passed since as then. */
static void end_receive(ti_cluster *c, int to, uint64_t id, uint64_t sender_id, int from)
{
    const ti_recorded_instruction *receive = ti_recorded_at(c->replay->recorded, to, id);
    const ti_recorded_instruction *send = ti_recorded_at(c->replay->recorded, from, sender_id);
    int64_t ns = receive->end - TI_MAX(receive->start, send->start);
    end_after(c, to, id, (double)TI_MAX(ns, 0), TI_PATH_MESSAGES);
}

static void replay_send(ti_cluster *c, const node *n, const ti_instruction *i, const ti_recorded_instruction *r)
{
    int to = i->as.transfer.peer, from = n->system.node;
    const uint64_t *other = ti_map_find(&c->replay->recorded->receives,
                                        ti_recorded_message(from, to, r->record.number));
    c->result.messages++;
    c->result.bytes += r->record.value;
    end_after(c, from, i->id, duration(r), TI_PATH_MESSAGES);
    if (other && ti_recorded_at(c->replay->recorded, to, *other)->began >= 0) {
        end_receive(c, to, *other, i->id, from);
    }
}

static void replay_receive(ti_cluster *c, node *n, const ti_instruction *i, const ti_recorded_instruction *r)
{
    int from = i->as.transfer.peer, to = n->system.node;
    const uint64_t *other = ti_map_find(&c->replay->recorded->sends, ti_recorded_message(from, to, r->record.number));
    n->waiting++;
    if (!other) { /* the trace lacks its sender, which is a difference that will be found */
        end_after(c, to, i->id, duration(r), TI_PATH_MESSAGES);
    } else if (ti_recorded_at(c->replay->recorded, from, *other)->began >= 0) {
        end_receive(c, to, i->id, *other, from);
    }
}

/* ---- collectives and barriers */

typedef struct meeting {
    ti_trace_kind kind;
    uint64_t number;           /* the sequence number, or the task of the epoch */
    const ti_collective *what; /* NULL: a barrier */
    int node, members;
} meeting;

static int member_of(const meeting *m, int k)
{
    return m->what ? ti_collective_member(m->what, m->node, k) : k;
}

/* The instruction of a member, and its record. */
static ti_recorded_instruction *share_of(const ti_cluster *c, const meeting *m, int q, uint64_t *id)
{
    const uint64_t *at = ti_map_find(&c->replay->recorded->meetings, ti_recorded_meeting(q, m->kind, m->number));
    *id = at ? *at : 0;
    return at ? ti_recorded_at(c->replay->recorded, q, *at) : NULL;
}

/* When the last one began then. */
static int64_t last_start(const ti_cluster *c, const meeting *m)
{
    int64_t last = INT64_MIN;
    uint64_t id;
    for (int k = 0; k < m->members; k++) {
        const ti_recorded_instruction *r = share_of(c, m, member_of(m, k), &id);
        last = r ? TI_MAX(last, r->start) : last;
    }
    return last;
}

/* Who was through before the last one began had not waited for that one: it takes as long as it took. The others are
 * through so long after the last one has begun as they were. */
static void replay_meeting(ti_cluster *c, const node *n, const ti_instruction *i, const meeting *m)
{
    const ti_recorded_instruction *mine = recorded_of(c, n, i);
    int64_t last = last_start(c, m);
    if (mine->end < last || m->members <= 1) {
        end_after(c, n->system.node, i->id, duration(mine), TI_PATH_MESSAGES);
    }
    uint64_t key = ti_recorded_meeting(member_of(m, 0), m->kind, m->number), id;
    if (++*ti_map_at(&c->replay->meetings, key) < (uint64_t)m->members) {
        return;
    }
    ti_map_remove(&c->replay->meetings, key, NULL);
    for (int k = 0; k < m->members && m->members > 1; k++) {
        const ti_recorded_instruction *r = share_of(c, m, member_of(m, k), &id);
        if (r && r->end >= last) {
            end_after(c, member_of(m, k), id, (double)(r->end - last), TI_PATH_MESSAGES);
        }
    }
}

static void replay_collective(ti_cluster *c, node *n, const ti_instruction *i)
{
    const ti_collective *what = i->as.collective.what;
    int me = n->system.node;
    c->result.collectives++;
    n->waiting++;
    replay_meeting(c, n, i,
                   &(meeting){ .kind = TI_TRACE_COLLECTIVE,
                               .number = (uint32_t)i->as.collective.sequence,
                               .what = what,
                               .node = me,
                               .members = ti_collective_members(what, me) });
}

/* Who executes it by itself is busy meanwhile; what a worker or a thread of its own did is not in the way of others. */
static void replay_work(ti_cluster *c, node *n, const ti_instruction *i, const ti_recorded_instruction *r)
{
    if (r->parts > 0 || i->kind == TI_INSTRUCTION_COLLECTIVE_HOST) {
        end_after(c, n->system.node, i->id, duration(r), TI_PATH_COPIES);
    } else {
        ti_sim_later(c, ti_sim_use(c, &n->executor, duration(r)), n->system.node, EVENT_DONE, i->id, TI_PATH_COPIES);
    }
}

bool ti_sim_replay_start(ti_cluster *c, node *n, const ti_instruction *i)
{
    const ti_recorded_instruction *r = recorded_of(c, n, i);
    bool in_order = c->replay->in_order;
    switch (i->kind) {
    case TI_INSTRUCTION_SEND:
        if (in_order) {
            replay_send(c, n, i, r);
        }
        return in_order;
    case TI_INSTRUCTION_RECEIVE:
        if (in_order) {
            replay_receive(c, n, i, r);
        }
        return in_order;
    case TI_INSTRUCTION_COLLECTIVE:
        if (in_order) {
            replay_collective(c, n, i);
        }
        return in_order;
    case TI_INSTRUCTION_EPOCH:
        if (in_order && i->as.epoch.barrier) {
            replay_meeting(c, n, i,
                           &(meeting){ .kind = TI_TRACE_EPOCH, .number = (uint32_t)i->task->id, .members = c->nodes });
            return true;
        }
        return false;
    case TI_INSTRUCTION_FENCE:
        return false;
    case TI_INSTRUCTION_ALLOC:
    case TI_INSTRUCTION_FREE:
    case TI_INSTRUCTION_COPY:
    case TI_INSTRUCTION_REDUCE:
    case TI_INSTRUCTION_COLLECTIVE_HOST:
        replay_work(c, n, i, r);
        return true;
    case TI_INSTRUCTION_KERNEL:
    case TI_INSTRUCTION_HOST:
        break; /* by the devices */
    }
    TI_UNREACHABLE();
}

int ti_sim_replay_parts(const ti_cluster *c, const node *n, const ti_instruction *i)
{
    return (int)TI_MAX(recorded_of(c, n, i)->parts, 1u);
}

double ti_sim_replay_part(const ti_cluster *c, const node *n, uint64_t instruction, int part)
{
    const ti_recorded_instruction *r = ti_recorded_at(c->replay->recorded, n->system.node, instruction);
    if (r->parts == 0) { /* of tasks on every node parts may not be recorded */
        return duration(r);
    }
    const ti_recorded_part *p = &c->replay->recorded->node[n->system.node].part.data[r->first_part + (uint32_t)part];
    return (double)TI_MAX(p->end - p->start, 0);
}
