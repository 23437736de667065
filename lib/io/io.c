/* The public calls, and the tasks that they submit. Calls: application thread; kernels: any. */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MESSAGE = IO_SENTENCE };

/* ---- the result of all nodes, as one number: the lowest node that failed, what it tried, and errno */

enum { STEP_BITS = 8, ERROR_BITS = 24 };

static uint64_t code_of(int node, io_failure f)
{
    return ((uint64_t)node << (STEP_BITS + ERROR_BITS)) | ((uint64_t)f.step << ERROR_BITS) | (uint64_t)f.error;
}

static void say_code(const io_plan *plan, uint64_t code, io_state *s)
{
    const int node = (int)(code >> (STEP_BITS + ERROR_BITS));
    const int step = (int)(code >> ERROR_BITS & ((1 << STEP_BITS) - 1));
    const char *why = strerror((int)(code & ((1 << ERROR_BITS) - 1)));
    switch (step) {
    case IO_OPEN:
        io_say(s, "node %d does not find it: %s; it must lie on a file system that all nodes see", node, why);
        break;
    case IO_OTHER:
        io_say(s, "node %d finds another file there than node 0; it must lie on a file system that all nodes see",
               node);
        break;
    case IO_SHORT:
        io_say(s, "it ends before the part of node %d; it was cut off meanwhile", node);
        break;
    case IO_FORMAT:
        io_say(s, "node %d cannot read its part of the dataset '%s'", node, plan->dataset);
        break;
    case IO_MEMORY:
        io_say(s, "node %d has no memory for its part of the dataset '%s'", node, plan->dataset);
        break;
    default:
        io_say(s, "node %d cannot %s its part: %s", node, step == IO_READ ? "read" : "write", why);
        break;
    }
}

/* ---- kernels */

/* Whether the file has all the bytes that the array lies in. */
static bool is_long_enough(const io_plan *plan, io_state *s)
{
    struct stat is;
    if (!s->direct || (stat(plan->path, &is) == 0 && (uint64_t)is.st_size >= s->offset + io_bytes(plan))) {
        return true;
    }
    return io_say(s, "it is cut off: it should have at least %" PRIu64 " bytes", s->offset + io_bytes(plan));
}

static void start_over(io_state *s)
{
    s->failed = 0;
    s->direct = false;
    s->offset = 0;
    s->print = 0;
    s->why[0] = 0;
    memset(&s->facts, 0, sizeof(s->facts));
}

/* View: the order. */
static void begin_file(const tacit_launch *k)
{
    const io_plan *plan = k->args;
    const io_format *format = io_format_of(plan->format);
    io_state *s = &TACIT_AT0(io_state, k->view[0]);
    char path[IO_PART_PATH];
    start_over(s);
    const io_quiet quiet = io_quiet_begin();
    if (!plan->reads) {
        io_sweep(plan);
        s->mark = io_new_mark();
        format->make(plan, io_part_path(plan, s, path), s);
    } else if (format->look(plan, s) && io_fits(plan, &s->facts, s) && is_long_enough(plan, s)) {
        s->print = k->num_nodes > 1 ? io_print_of(plan->path) : 0;
    }
    io_quiet_end(quiet);
}

/* A node that has a disk of its own may have a file of this name there, too. */
static io_failure compare_file(const tacit_launch *k, const io_plan *plan, const io_state *s)
{
    const bool asks = plan->reads && k->node != 0 && s->print != 0;
    const uint64_t print = asks ? io_print_of(plan->path) : 0;
    return (io_failure){ asks && print != 0 && print != s->print ? IO_OTHER : 0, 0 };
}

static io_failure move_elements(const tacit_launch *k, const io_plan *plan, const io_state *s)
{
    char path[IO_PART_PATH];
    const io_failure f = compare_file(k, plan, s);
    if (f.step) {
        return f;
    }
    if (!plan->reads) {
        return io_write_part(plan, io_part_path(plan, s, path), s->offset, &k->view[1], &k->chunk);
    }
    return s->direct ? io_read_part(plan, s->offset, &k->view[1], &k->chunk)
                     : io_read_box(plan, io_format_of(plan->format), &k->view[1], &k->chunk);
}

/* Views: the order; the buffer; the result. */
static void move_part(const tacit_launch *k)
{
    const io_plan *plan = k->args;
    const io_state *s = &TACIT_GET0(io_state, k->view[0]);
    uint64_t *result = &TACIT_AT0(uint64_t, k->view[2]);
    if (s->failed) {
        if (plan->reads) {
            io_clear_part(plan, &k->view[1], &k->chunk);
        }
        return;
    }
    const io_quiet quiet = io_quiet_begin();
    const io_failure f = move_elements(k, plan, s);
    io_quiet_end(quiet);
    if (f.step && plan->reads) {
        io_clear_part(plan, &k->view[1], &k->chunk);
    }
    if (f.step && code_of(k->node, f) < *result) {
        *result = code_of(k->node, f);
    }
}

/* A file that has all its contents gets its name. */
static bool give_name(const io_plan *plan, const char *part, io_state *s)
{
    if (rename(part, plan->path) != 0) {
        return io_say(s, "%s cannot be renamed: %s", part, strerror(errno));
    }
    if (plan->sync) {
        char folder[IO_PATH] = ".";
        const char *slash = strrchr(plan->path, '/');
        if (slash) {
            snprintf(folder, sizeof(folder), "%.*s", (int)(slash - plan->path) + 1, plan->path);
        }
        const int d = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (d >= 0) {
            fsync(d);
            close(d);
        }
    }
    return !*plan->xdmf || io_xdmf_add(plan, s);
}

/* The operation has failed: the run does, or it is kept. */
static void report(const tacit_launch *k, const io_plan *plan, io_state *s)
{
    char text[IO_SENTENCE + IO_PATH + 16];
    snprintf(text, sizeof(text), "%s '%s': %s", plan->reads ? "reading" : "writing", plan->path, s->why);
    if (!plan->tolerant) {
        tacit_kernel_fail(k, "%s", text);
    } else if (!s->kept[0]) {
        snprintf(s->kept, sizeof(s->kept), "%.*s", (int)sizeof(s->kept) - 1, text);
    }
}

/* Views: the result; the order. */
static void end_file(const tacit_launch *k)
{
    const io_plan *plan = k->args;
    const uint64_t code = TACIT_GET0(uint64_t, k->view[0]);
    io_state *s = &TACIT_AT0(io_state, k->view[1]);
    char path[IO_PART_PATH];
    io_part_path(plan, s, path);
    const io_quiet quiet = io_quiet_begin();
    if (!s->failed && code != UINT64_MAX) {
        say_code(plan, code, s);
    }
    if (!s->failed && !plan->reads && !plan->abandoned) {
        give_name(plan, path, s);
    }
    if (!plan->reads && (s->failed || plan->abandoned)) {
        unlink(path);
    }
    io_quiet_end(quiet);
    if (s->failed && !plan->abandoned) {
        report(k, plan, s);
    }
    s->failed = 0;
}

/* View: the order. */
static void look_at_file(const tacit_launch *k)
{
    const io_plan *plan = k->args;
    const io_format *format = io_format_of(plan->format);
    io_state *s = &TACIT_AT0(io_state, k->view[0]);
    start_over(s);
    s->attribute = plan->attribute[0];
    s->facts.found = plan->num_attributes ? format->get_attribute(plan, s) : format->look(plan, s);
    s->facts.format = plan->format;
    snprintf(s->facts.why, sizeof(s->facts.why), "%.*s", (int)sizeof(s->facts.why) - 1, s->why);
    s->failed = 0;
}

/* View: the order. */
static void forget_failure(const tacit_launch *k)
{
    TACIT_AT0(io_state, k->view[0]).kept[0] = 0;
}

/* ---- kernels of pictures */

static double value_at(const io_plan *plan, const tacit_view *v, size_t i, size_t j)
{
    const char *element = (const char *)v->data + (i - v->box.min[0]) * v->stride[0] +
                          (j - v->box.min[1]) * v->stride[1];
    return io_type_value(plan->array.type, element);
}

/* Views: the buffer; the least and the greatest value. */
static void find_range(const tacit_launch *k)
{
    const io_plan *plan = k->args;
    double low = TACIT_AT0(double, k->view[1]), high = TACIT_AT0(double, k->view[2]);
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            const double x = value_at(plan, &k->view[0], i, j);
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
    }
    TACIT_AT0(double, k->view[1]) = low;
    TACIT_AT0(double, k->view[2]) = high;
}

/* Views: the buffer; the pixels; the least and the greatest value, if they had to be found. */
static void colour(const tacit_launch *k)
{
    const io_plan *plan = k->args;
    const double low = plan->has_range ? plan->low : TACIT_GET0(double, k->view[2]);
    const double high = plan->has_range ? plan->high : TACIT_GET0(double, k->view[3]);
    const double scale = high != low ? 1 / (high - low) : 0;
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            const double x = (value_at(plan, &k->view[0], i, j) - low) * scale;
            TACIT_AT2(unsigned char, k->view[1], i, j) = (unsigned char)(x > 0 ? x < 1 ? 255 * x + 0.5 : 255 : 0);
        }
    }
}

/* Views: the order; the pixels. */
static void write_picture(const tacit_launch *k)
{
    const io_plan *plan = k->args;
    const tacit_view pixels = k->view[1];
    io_state *s = &TACIT_AT0(io_state, k->view[0]);
    char path[IO_PART_PATH];
    start_over(s);
    s->mark = io_new_mark();
    io_part_path(plan, s, path);
    const io_quiet quiet = io_quiet_begin();
    io_sweep(plan);
    bool good = io_png_write(path, plan->array.size[0], plan->array.size[1], pixels.data, pixels.stride[0],
                             plan->colours, s) &&
                give_name(plan, path, s);
    if (!good) {
        unlink(path);
    }
    io_quiet_end(quiet);
    if (!good) {
        report(k, plan, s);
    }
    s->failed = 0;
}

/* ---- tasks */

static tacit_task task_of(const char *name, const io_plan *plan, tacit_host_kernel *kernel)
{
    return (tacit_task){ .name = name,
                         .on = TACIT_ON_ONE_NODE,
                         .args = plan,
                         .args_size = sizeof(*plan),
                         .hash_args = true,
                         .kernel.host = kernel };
}

/* Over the elements of the box. */
static void spread(tacit_task *task, tacit_on on, const tacit_file_options *o, const io_plan *plan, int dims)
{
    task->on = on;
    task->range.dims = dims;
    for (int d = 0; d < dims; d++) {
        task->offset[d] = plan->box.min[d];
        task->range.size[d] = plan->box.max[d] - plan->box.min[d];
    }
    if (o) {
        task->hint = o->hint;
        task->hint.pure = false;
    }
}

static tacit_status submit_picture(tacit_context *ctx, const io_session *s, tacit_buffer *buffer,
                                   const tacit_file_options *o, const io_plan *plan, tacit_range range)
{
    const tacit_buffer_desc desc = { .name = "pixels", .range = range, .elem_size = 1 };
    tacit_buffer *pixels;
    tacit_status status = tacit_buffer_create(ctx, &desc, &pixels);
    if (status) {
        return status;
    }
    tacit_task find = task_of("range of picture", plan, find_range);
    tacit_task paint = task_of("colours", plan, colour);
    tacit_task put = task_of("write picture", plan, write_picture);
    spread(&find, TACIT_ON_DEVICES, o, plan, range.dims);
    spread(&paint, TACIT_ON_DEVICES, o, plan, range.dims);
    find.access[0] = paint.access[0] = tacit_read(buffer, tacit_one_to_one());
    find.access[1] = tacit_reduce(s->low, tacit_min(TACIT_DOUBLE));
    find.access[2] = tacit_reduce(s->high, tacit_max(TACIT_DOUBLE));
    paint.access[1] = tacit_write(pixels, tacit_one_to_one());
    if (!plan->has_range) {
        paint.access[2] = tacit_read(s->low, tacit_all());
        paint.access[3] = tacit_read(s->high, tacit_all());
        status = tacit_submit(ctx, &find);
    }
    status = status ? status : tacit_submit(ctx, &paint);
    put.access[0] = tacit_update(s->order, tacit_all());
    put.access[1] = tacit_read(pixels, tacit_fixed(plan->box));
    status = status ? status : tacit_submit(ctx, &put);
    if (status) {
        char sentence[MESSAGE * 2];
        snprintf(sentence, sizeof(sentence), "%s", tacit_last_error(ctx));
        tacit_buffer_destroy(ctx, pixels);
        return tacit_refuse(ctx, status, "%s", sentence);
    }
    return tacit_buffer_destroy(ctx, pixels);
}

static tacit_status submit_file(tacit_context *ctx, const io_session *s, tacit_buffer *buffer,
                                const tacit_file_options *o, io_plan *plan, int dims)
{
    tacit_task begin = task_of("begin file", plan, begin_file);
    tacit_task move = task_of(plan->reads ? "read file" : "write file", plan, move_part);
    tacit_task end = task_of("end file", plan, end_file);
    spread(&move, TACIT_ON_HOST, o, plan, dims);
    begin.access[0] = tacit_update(s->order, tacit_all());
    move.access[0] = tacit_read(s->order, tacit_all());
    move.access[1] = plan->reads ? tacit_write(buffer, tacit_one_to_one()) : tacit_read(buffer, tacit_one_to_one());
    move.access[2] = tacit_reduce(s->result, tacit_min(TACIT_UINT64));
    end.access[0] = tacit_read(s->result, tacit_all());
    end.access[1] = tacit_update(s->order, tacit_all());
    tacit_status status = tacit_submit(ctx, &begin);
    if (status) {
        return status;
    }
    status = tacit_submit(ctx, &move);
    if (!status) {
        return tacit_submit(ctx, &end);
    }
    /* The buffer cannot be used like this, or the hints make no sense: what was begun is taken back. */
    static const uint64_t nothing = UINT64_MAX;
    char sentence[MESSAGE * 2];
    snprintf(sentence, sizeof(sentence), "%s", tacit_last_error(ctx));
    plan->abandoned = true;
    if (!tacit_fill(ctx, s->result, &nothing) && !tacit_submit(ctx, &end)) {
        tacit_refuse(ctx, status, "%s", sentence);
    }
    return status;
}

static tacit_status transfer(tacit_context *ctx, const char *who, tacit_buffer *buffer, const char *path,
                             const tacit_file_options *given, size_t size, bool reads)
{
    tacit_file_options options = { 0 };
    tacit_buffer_facts facts;
    io_session session;
    if (given) {
        memcpy(&options, given, size < sizeof(options) ? size : sizeof(options));
    }
    tacit_status status = tacit_buffer_get_facts(ctx, buffer, &facts);
    if (status) {
        return status;
    }
    io_plan *plan = calloc(1, sizeof(*plan)); /* also what lies between fields is the same on all nodes */
    if (!plan) {
        return tacit_refuse(ctx, TACIT_ERROR_MEMORY, "%s: no memory for %zu bytes", who, sizeof(*plan));
    }
    plan->reads = reads;
    status = io_plan_make(ctx, who, path, &options, &facts, plan);
    status = status ? status : io_session_get(ctx, &session);
    if (!status && plan->format == TACIT_FILE_PNG) {
        status = submit_picture(ctx, &session, buffer, &options, plan, facts.range);
    } else if (!status) {
        status = submit_file(ctx, &session, buffer, &options, plan, facts.range.dims);
    }
    free(plan);
    return status;
}

tacit_status tacit_buffer_write_sized(tacit_context *ctx, tacit_buffer *buffer, const char *path,
                                      const tacit_file_options *options, size_t size)
{
    return transfer(ctx, "tacit_buffer_write", buffer, path, options, size, false);
}

tacit_status tacit_buffer_read_sized(tacit_context *ctx, tacit_buffer *buffer, const char *path,
                                     const tacit_file_options *options, size_t size)
{
    return transfer(ctx, "tacit_buffer_read", buffer, path, options, size, true);
}

/* ---- questions */

/* Node 0 looks, and all nodes get what it saw. In a dry run, which computes nothing, each looks for itself. */
static tacit_status ask(tacit_context *ctx, const io_plan *plan, io_state *out)
{
    io_session session;
    if (tacit_is_dry_run(ctx)) {
        const tacit_view view = { .data = out, .elem_size = sizeof(*out), .mode = TACIT_UPDATE };
        const tacit_launch launch = { .view = &view, .args = plan, .args_size = sizeof(*plan), .num_views = 1 };
        memset(out, 0, sizeof(*out));
        look_at_file(&launch);
        return TACIT_OK;
    }
    tacit_task look = task_of("look at file", plan, look_at_file);
    tacit_status status = io_session_get(ctx, &session);
    look.access[0] = status ? look.access[0] : tacit_update(session.order, tacit_all());
    status = status ? status : tacit_submit(ctx, &look);
    return status ? status : tacit_fence_read(ctx, session.order, TACIT_BOX_ALL, out);
}

static tacit_status question(tacit_context *ctx, const char *who, const char *path, const tacit_file_options *options,
                             const io_attribute *attribute, io_state *out)
{
    io_plan *plan = calloc(1, sizeof(*plan));
    if (!plan) {
        return tacit_refuse(ctx, TACIT_ERROR_MEMORY, "%s: no memory for %zu bytes", who, sizeof(*plan));
    }
    plan->reads = true;
    tacit_status status = io_plan_make(ctx, who, path, options, NULL, plan);
    if (!status && attribute && plan->format != TACIT_FILE_HDF5) {
        status = tacit_refuse(ctx, TACIT_ERROR_ARGUMENT, "%s: '%s': attributes belong to HDF5 files", who, path);
    }
    if (!status && attribute) {
        plan->attribute[0] = *attribute;
        plan->num_attributes = 1;
    }
    status = status ? status : ask(ctx, plan, out);
    free(plan);
    return status;
}

tacit_status tacit_file_look(tacit_context *ctx, const char *path, const tacit_file_options *options,
                             tacit_file_facts *out)
{
    io_state s;
    if (!out) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT, "tacit_file_look: out is NULL");
    }
    const tacit_status status = question(ctx, "tacit_file_look", path, options, NULL, &s);
    if (!status) {
        *out = s.facts;
    }
    return status;
}

tacit_status tacit_file_get_attribute(tacit_context *ctx, const char *path, const tacit_file_options *options,
                                      const char *name, tacit_type type, void *value, bool *found)
{
    static const char who[] = "tacit_file_get_attribute";
    io_attribute attribute = { .type = (int)type };
    io_state s;
    if (!name || !*name || strlen(name) >= IO_NAME || !value || ((int)type != 0 && !io_type_size(type))) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT,
                            "%s: there is no name of 1 to %d bytes, no place for the value, or no such type", who,
                            IO_NAME - 1);
    }
    snprintf(attribute.name, sizeof(attribute.name), "%s", name);
    const tacit_status status = question(ctx, who, path, options, &attribute, &s);
    if (status) {
        return status;
    }
    const bool is_there = s.facts.found && s.attribute.name[0];
    if (found) {
        *found = is_there;
    }
    if (is_there && type) {
        memcpy(value, &s.attribute.value, io_type_size(type));
    } else if (is_there) {
        memcpy(value, s.attribute.value.text, strlen(s.attribute.value.text) + 1);
    } else if (!found) {
        return tacit_refuse(ctx, TACIT_ERROR_ARGUMENT, "%s: '%s' has no attribute '%s': %s", who, path, name,
                            s.facts.found ? "there is none of that name" : s.facts.why);
    }
    return TACIT_OK;
}

tacit_status tacit_files_wait(tacit_context *ctx)
{
    io_session session;
    io_state s;
    io_plan *plan;
    tacit_status status = io_session_get(ctx, &session);
    status = status ? status : tacit_fence_read(ctx, session.order, TACIT_BOX_ALL, &s);
    if (status || !s.kept[0]) {
        return status;
    }
    plan = calloc(1, sizeof(*plan));
    if (plan) {
        tacit_task forget = task_of("forget failure", plan, forget_failure);
        forget.access[0] = tacit_update(session.order, tacit_all());
        status = tacit_submit(ctx, &forget);
    }
    free(plan);
    return status ? status : tacit_refuse(ctx, TACIT_ERROR_KERNEL, "%s", s.kept);
}
