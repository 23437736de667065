/* What a node waits for: see wait.h. */
#include "exec/wait.h"

static void describe_collective(const ti_instruction *i, uint64_t next, ti_strbuf *out)
{
    const char *state = i->as.collective.sequence < next ? "" : ", which waits for one before it";
    ti_strbuf_add(out, "\n  collective %llu (%s) with all nodes: buffer '%s', for task '%s'%s",
                  (unsigned long long)i->as.collective.sequence, ti_pattern_name(i->as.collective.what->pattern),
                  i->as.collective.buffer->name, i->task->shape->name, state);
}

static void describe_transfer(const ti_instruction *i, ti_strbuf *out)
{
    char text[TI_BOX_TEXT];
    const ti_buffer_info *buffer = i->as.transfer.buffer;
    ti_strbuf_add(out, "\n  message %llu %s node %d: buffer '%s' %s%s, for task '%s'",
                  (unsigned long long)i->as.transfer.counter, i->kind == TI_INSTRUCTION_SEND ? "to" : "from",
                  i->as.transfer.peer, buffer->name,
                  ti_box_format(&i->as.transfer.box[0].box, TI_MAX(buffer->dims, 1), text),
                  i->as.transfer.boxes > 1 ? " and more" : "", i->task->shape->name);
}

bool ti_wait_describe(const ti_instruction *i, uint64_t next, ti_strbuf *out)
{
    if (i->kind == TI_INSTRUCTION_SEND || i->kind == TI_INSTRUCTION_RECEIVE) {
        describe_transfer(i, out);
    } else if (i->kind == TI_INSTRUCTION_COLLECTIVE) {
        describe_collective(i, next, out);
    } else if (i->kind == TI_INSTRUCTION_EPOCH) {
        ti_strbuf_add(out, "\n  the other nodes, to finish together with them (tacit_finalize)");
    } else {
        return false;
    }
    return true;
}
