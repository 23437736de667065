/* Kernels as text: see kernel_text.h.
 *
 * doc/devices.md explains the macros. A view is two parameters: the memory, and where element 0 would be in it with
 * the bytes from an index to the next; of a reduction, where the first group's partial result is, with the bytes to
 * that of the next group. TACIT_DIMS is defined when a program is compiled, one for each number of dimensions of a
 * range. Dimension 0 of devices is the one whose items are neighbours in memory, which is tacit's last. A language
 * defines tacit_global_, the index of a work-item, and TACIT_IN_MEMORY_, before these; for kernels with reductions,
 * whose groups lie along one dimension, it defines the number of the group and of the item in it (tacit_group_,
 * tacit_place_), and how many there are (tacit_groups_, tacit_places_). Each group has a run of items along the range's
 * dimension 0, in the order of partial results. */
#include "device/kernel_text.h"

#include <string.h>

const char *const ti_text_views =
    "typedef struct tacit_view_ { long origin, stride[2]; } tacit_view_;\n"
    "typedef struct tacit_items_ { ulong min[3], max[3]; } tacit_items_;\n"
    "#define TACIT_VIEW(v) TACIT_IN_MEMORY_ char *v##_data_, const tacit_view_ v\n"
    "#define TACIT_CHUNK(c) const tacit_items_ c\n"
    "#define TACIT_VALUE(type, x) const type x\n"
    "#define TACIT_PTR1_(type, v, i) ((TACIT_IN_MEMORY_ type *)(v##_data_ + (v).origin) + (i))\n"
    "#define TACIT_PTR2_(type, v, i, j) \\\n"
    "    ((TACIT_IN_MEMORY_ type *)(v##_data_ + (v).origin + (long)(i) * (v).stride[0]) + (j))\n"
    "#define TACIT_PTR3_(type, v, i, j, k) \\\n"
    "    ((TACIT_IN_MEMORY_ type *)(v##_data_ + (v).origin + (long)(i) * (v).stride[0] + (long)(j) * (v).stride[1]) "
    "+ (k))\n"
    "#define TACIT_AT0(type, v) (*TACIT_PTR1_(type, v, 0))\n"
    "#define TACIT_AT1(type, v, i) (*TACIT_PTR1_(type, v, i))\n"
    "#define TACIT_AT2(type, v, i, j) (*TACIT_PTR2_(type, v, i, j))\n"
    "#define TACIT_AT3(type, v, i, j, k) (*TACIT_PTR3_(type, v, i, j, k))\n"
    "#define TACIT_GET0(type, v) (*TACIT_PTR1_(const type, v, 0))\n"
    "#define TACIT_GET1(type, v, i) (*TACIT_PTR1_(const type, v, i))\n"
    "#define TACIT_GET2(type, v, i, j) (*TACIT_PTR2_(const type, v, i, j))\n"
    "#define TACIT_GET3(type, v, i, j, k) (*TACIT_PTR3_(const type, v, i, j, k))\n"
    "#define TACIT_WRAP(i, n) tacit_wrap_((long)(i), (ulong)(n))\n"
    "static inline ulong tacit_wrap_(long i, ulong n)\n"
    "{ return i < 0 ? (ulong)i + n : (ulong)i >= n ? (ulong)i - n : (ulong)i; }\n"
    "#define TACIT_INDEX(c, d) ((c).min[d] + tacit_global_(TACIT_DIMS - 1 - (d)))\n"
    "#define TACIT_FOR(i, c, d) for (ulong i = TACIT_INDEX(c, d); i < (c).max[d]; i = (c).max[d])\n"
    "#define TACIT_BORDER_(c, g) ((c).min[0] + ((c).max[0] - (c).min[0]) * (ulong)(g) / tacit_groups_())\n"
    "#define TACIT_EACH(i, c, d) \\\n"
    "    for (ulong i = ((d) == 0 ? TACIT_BORDER_(c, tacit_group_()) : (c).min[d]) + \\\n"
    "                   ((d) == TACIT_DIMS - 1 ? tacit_place_() : 0), \\\n"
    "               i##_end_ = (d) == 0 ? TACIT_BORDER_(c, tacit_group_() + 1) : (c).max[d]; \\\n"
    "         i < i##_end_; i += (d) == TACIT_DIMS - 1 ? tacit_places_() : 1)\n"
    "#define TACIT_RESULT(type, v) \\\n"
    "    ((TACIT_IN_MEMORY_ type *)(v##_data_ + (v).origin + (long)tacit_group_() * (v).stride[0]))\n"
    "#define TACIT_GROUP_EACH(i, n) for (ulong i = tacit_place_(); i < (n); i += tacit_places_())\n"
    "#define TACIT_GROUP_SUM(scratch, x) do { \\\n"
    "    const uint place_ = tacit_place_(), places_ = tacit_places_(); \\\n"
    "    TACIT_BARRIER(); \\\n"
    "    (scratch)[place_] = (x); \\\n"
    "    TACIT_BARRIER(); \\\n"
    "    for (uint step_ = 1; step_ < places_; step_ *= 2) { \\\n"
    "        if (place_ % (2 * step_) == 0 && place_ + step_ < places_) \\\n"
    "            (scratch)[place_] += (scratch)[place_ + step_]; \\\n"
    "        TACIT_BARRIER(); \\\n"
    "    } } while (0)\n";

/* A dense array; that of a group begins where the one before ends. */
static ti_text_view view_of_results(const tacit_view *v, int64_t offset)
{
    int64_t bytes = (int64_t)v->elem_size;
    for (int k = 0; k < v->dims; k++) {
        bytes *= (int64_t)v->extent[k];
    }
    return (ti_text_view){ .origin = offset, .stride = { bytes, 0 } };
}

ti_text_view ti_text_view_of(const tacit_view *v, int64_t offset)
{
    const size_t stride[2] = { v->dims > 1 ? v->stride[0] : 0, v->dims > 2 ? v->stride[1] : 0 };
    if (v->mode == TACIT_REDUCE) {
        return view_of_results(v, offset);
    }
    ti_text_view view = { .origin = offset, .stride = { (int64_t)stride[0], (int64_t)stride[1] } };
    for (int k = 0; v->data && k < v->dims; k++) {
        view.origin -= (int64_t)(v->box.min[k] * v->stride[k]);
    }
    return view;
}

ti_text_items ti_text_items_of(const tacit_box *chunk)
{
    ti_text_items items;
    for (int i = 0; i < TACIT_MAX_DIMS; i++) {
        items.min[i] = chunk->min[i];
        items.max[i] = chunk->max[i];
    }
    return items;
}

bool ti_text_has_local(ti_failure *failure, const char *task, const ti_text_local *local)
{
    if (local->wanted <= local->most) {
        return true;
    }
    ti_failure_set(failure, TACIT_ERROR_KERNEL,
                   "task '%.100s': .local_bytes of its %s kernel '%.100s' is %zu, but a group on device %s has at most "
                   "%zu",
                   task, local->language, local->entry, local->wanted, local->device, local->most);
    return false;
}

void ti_text_add_mark(const char *task, ti_strbuf *out)
{
    ti_strbuf_add(out, "#line 1 \"task ");
    for (const char *c = task; *c; c++) {
        ti_strbuf_add(out, "%c", *c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? '_' : *c);
    }
    ti_strbuf_add(out, "\"\n");
}

const char *ti_text_important_line(char *log)
{
    char *line = strstr(log, "error");
    while (line && line > log && line[-1] != '\n') {
        line--;
    }
    line = line ? line : log;
    line[strcspn(line, "\n")] = '\0';
    return *line ? line : "the compiler does not say why";
}
