/* Planned multicasts: who reads a version as far as a window shows, and trees over them. Tasks are made by hand; trees
 * are compared with lists that are handed down from node to node, as relays do it. */
#include "plan/version/multicast.h"

#include "base/arena.h"
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- tasks: each reads up to two boxes of one buffer */

enum { MOST_TASKS = 64, READS = 2 };

typedef struct made_task {
    ti_task task;
    ti_shape shape;
    ti_access access[READS];
    ti_footprint footprint[READS];
    ti_box box[READS];
    uint64_t source[READS];
} made_task;

typedef struct scene {
    ti_buffer_info buffer;
    made_task made[MOST_TASKS];
    size_t count;
    ti_multicast_window window;
    ti_arena arena;
    ti_multicasts out;
} scene;

static void begin(scene *s)
{
    memset(s, 0, sizeof(*s));
}

static void end(scene *s)
{
    ti_multicast_window_fini(&s->window);
    ti_arena_fini(&s->arena);
    ti_vec_fini(&s->out);
}

/* A task on a node, which reads two boxes [from, from + 4) of these sources; 0: not that one. */
static void push(scene *s, int node, int priority, uint64_t source, int64_t from, uint64_t other_source,
                 int64_t other_from)
{
    assert_true(s->count < MOST_TASKS);
    made_task *m = &s->made[s->count++];
    const uint64_t sources[READS] = { source, other_source };
    const int64_t begins[READS] = { from, other_from };
    m->shape.place = node;
    m->shape.priority = priority;
    m->shape.accesses = READS;
    m->shape.access = m->access;
    m->shape.footprint = m->footprint;
    for (int i = 0; i < READS; i++) {
        m->box[i] = (ti_box){ { begins[i], 0, 0 }, { begins[i] + 4, 1, 1 } };
        m->footprint[i] = (ti_footprint){ .box = &m->box[i], .boxes = 1, .bounding = m->box[i] };
        m->access[i].buffer = &s->buffer;
        m->source[i] = sources[i];
    }
    m->task.id = s->count;
    m->task.shape = &m->shape;
    m->task.source = source || other_source ? m->source : NULL;
    ti_multicast_window_push(&s->window, &m->task);
}

/* What begins with the next task: "[0,4) to 2 1; [8,12) to 3 4". */
static const char *pop(scene *s)
{
    static char text[400];
    char box[TI_BOX_TEXT];
    size_t length = 0;
    text[0] = 0;
    ti_vec_clear(&s->out);
    const ti_task *task = ti_multicast_window_pop(&s->window, &s->arena, &s->out);
    for (size_t i = 0; i < s->out.count; i++) {
        const ti_multicast *m = &s->out.data[i];
        assert_ptr_equal(m->task, task);
        assert_ptr_equal(m->buffer, &s->buffer);
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s to", i ? "; " : "",
                                   ti_box_format(m->box, 1, box));
        for (uint32_t k = 0; k < m->readers; k++) {
            assert_int_equal(m->reader[k].node, m->reader[k].task->shape->place);
            assert_true(ti_box_equal(m->reader[k].task->shape->footprint[m->reader[k].access].box, m->box));
            length += (size_t)snprintf(text + length, sizeof(text) - length, " %d", m->reader[k].node);
        }
    }
    return text;
}

static void readers_of_one_version_are_found(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    push(&s, 1, 0, 7, 0, 0, 0);
    push(&s, 2, 0, 0, 0, 0, 0); /* reads nothing from afar */
    push(&s, 2, 0, 7, 0, 0, 0);
    push(&s, 1, 0, 7, 0, 0, 0); /* again: one transfer */
    push(&s, 3, 0, 7, 0, 0, 0);
    assert_int_equal(ti_multicast_window_count(&s.window), 5);
    assert_string_equal(pop(&s), "[0,4) to 1 2 3");
    for (int i = 0; i < 4; i++) {
        assert_string_equal(pop(&s), ""); /* they have been told */
    }
    assert_int_equal(ti_multicast_window_count(&s.window), 0);
    assert_int_equal(s.window.groups.count, 0); /* nothing remains */
    end(&s);
}

static void versions_and_boxes_are_told_apart(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    push(&s, 1, 0, 7, 0, 8, 8);
    push(&s, 2, 0, 7, 1, 0, 0); /* another box of the same task */
    push(&s, 2, 0, 9, 0, 0, 0); /* the box, after it has been written again */
    push(&s, 3, 0, 8, 8, 7, 1);
    push(&s, 4, 0, 7, 0, 9, 0);
    assert_string_equal(pop(&s), "[0,4) to 1 4; [8,12) to 1 3");
    assert_string_equal(pop(&s), "[1,5) to 2 3");
    assert_string_equal(pop(&s), "[0,4) to 2 4");
    assert_string_equal(pop(&s), "");
    assert_string_equal(pop(&s), "");
    assert_int_equal(s.window.groups.count, 0);
    end(&s);
}

static void one_reader_needs_no_tree(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    push(&s, 1, 0, 7, 0, 7, 0); /* by two accesses */
    push(&s, 1, 0, 7, 0, 0, 0);
    assert_string_equal(pop(&s), "");
    assert_string_equal(pop(&s), "");
    end(&s);
}

static void higher_priorities_come_first(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    push(&s, 1, 0, 7, 0, 0, 0);
    push(&s, 2, 5, 7, 0, 0, 0);
    push(&s, 3, 0, 7, 0, 0, 0);
    push(&s, 4, 5, 7, 0, 0, 0);
    push(&s, 5, -1, 7, 0, 0, 0);
    assert_string_equal(pop(&s), "[0,4) to 2 4 1 3 5");
    end(&s);
}

/* Who comes after the first has left is told later, if there are several. */
static void a_window_slides(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    push(&s, 1, 0, 7, 0, 0, 0);
    push(&s, 2, 0, 7, 0, 0, 0);
    assert_string_equal(pop(&s), "[0,4) to 1 2");
    push(&s, 3, 0, 7, 0, 0, 0);
    push(&s, 1, 0, 7, 0, 0, 0);
    push(&s, 4, 0, 7, 0, 0, 0);
    assert_string_equal(pop(&s), "");
    assert_string_equal(pop(&s), "[0,4) to 3 4");
    push(&s, 5, 0, 7, 0, 0, 0);
    assert_string_equal(pop(&s), "");
    assert_string_equal(pop(&s), "");
    assert_string_equal(pop(&s), ""); /* 5 alone */
    assert_int_equal(s.window.groups.count, 0);
    end(&s);
}

/* ---- trees */

enum { MOST = 130 };

/* Hand the list down as relays do: comm/tree.h. */
static void hand_down(ti_tree tree, int sender, const uint32_t *list, uint32_t count, uint32_t depth, int *parent,
                      uint32_t *deepest)
{
    *deepest = TI_MAX(*deepest, depth);
    for (uint32_t c = 0; c < ti_tree_children(tree, count); c++) {
        uint32_t mine[MOST], n = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (ti_tree_child_of(tree, i) == c) {
                mine[n++] = list[i];
            }
        }
        parent[mine[0]] = sender;
        hand_down(tree, (int)mine[0], mine + 1, n - 1, depth + 1, parent, deepest);
    }
}

static void everybody_knows_its_place(void **state)
{
    (void)state;
    ti_multicast_place place = { 0 };
    for (int tree = 0; tree < TI_TREE_KINDS; tree++) {
        for (uint32_t count = 0; count < MOST; count += 1 + count / 9) {
            int parent[MOST];
            uint32_t list[MOST], deepest = 0, children[MOST + 1] = { 0 };
            for (uint32_t i = 0; i < count; i++) {
                list[i] = i;
            }
            hand_down((ti_tree)tree, TI_MULTICAST_ROOT, list, count, 0, parent, &deepest);
            assert_int_equal(ti_tree_depth((ti_tree)tree, count), deepest);
            for (int who = TI_MULTICAST_ROOT; who < (int)count; who++) {
                ti_multicast_place_find(&place, (ti_tree)tree, count, who);
                assert_true(who == TI_MULTICAST_ROOT || place.parent == parent[who]);
                for (size_t c = 0; c < place.child.count; c++) {
                    assert_int_equal(parent[place.child.data[c]], who);
                    children[who + 1]++;
                }
            }
            uint32_t sum = 0;
            for (uint32_t i = 0; i <= count; i++) {
                sum += children[i];
            }
            assert_int_equal(sum, count); /* nobody is left out */
        }
    }
    ti_multicast_place_fini(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_of_one_version_are_found),
        cmocka_unit_test(versions_and_boxes_are_told_apart),
        cmocka_unit_test(one_reader_needs_no_tree),
        cmocka_unit_test(higher_priorities_come_first),
        cmocka_unit_test(a_window_slides),
        cmocka_unit_test(everybody_knows_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
