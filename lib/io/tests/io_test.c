/* io_test.c: what tacit/io.h promises, on any number of nodes. Every node checks the same; the first that is wrong is
 * said, and the program ends with 1.
 *
 * Usage: io_test FOLDER            all but what follows
 *        io_test FOLDER save|load  writes files of all formats, or reads them again, perhaps on another number of nodes
 *        io_test FOLDER fail FILE..  reads each into a buffer of 5 x 7 doubles, tolerantly, and prints the sentence
 *        io_test FOLDER full FILE..  writes each, tolerantly, and prints the sentence
 *        io_test FOLDER keep FILE..  adds a dataset "more/data" to each, tolerantly, and prints the sentence
 *        io_test FOLDER texts FILE..  prints the text "title" of the file itself, and "unit" of its dataset */
#include <tacit/io.h>
#include <tacit/layer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 13, COLUMNS = 7, PLANES = 5 };
struct vector {
    float x, y, z;
};
static int failures;
static char path[512];
static const char *folder;
static tacit_context *ctx;

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: node %d: not true: %s (%s)\n", __FILE__, __LINE__, tacit_node(ctx), #condition,    \
                    tacit_last_error(ctx));                                                                            \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static double value(size_t i, size_t j, size_t k)
{
    return (double)(100 * i + 10 * j + k) + 0.5;
}

static void fill(const tacit_launch *k)
{
    const tacit_view v = k->view[0];
    TACIT_FOR (a, k->chunk, 0) {
        TACIT_FOR (b, k->chunk, 1) {
            TACIT_FOR (c, k->chunk, 2) {
                if (v.elem_size == 3 * sizeof(float)) {
                    TACIT_AT1(struct vector, v, a) = (struct vector){ (float)a, 2, -1 };
                } else if (v.dims == 3) {
                    TACIT_AT3(double, v, a, b, c) = value(a, b, c);
                } else if (v.dims == 2) {
                    TACIT_AT2(double, v, a, b) = value(a, b, 0);
                } else if (v.dims == 1) {
                    TACIT_AT1(double, v, a) = value(a, 0, 0);
                } else {
                    TACIT_AT0(double, v) = value(0, 0, 0);
                }
            }
        }
    }
}

static tacit_buffer *create(tacit_range range, size_t elem_size, bool filled)
{
    const tacit_buffer_desc desc = { .name = "u", .range = range, .elem_size = elem_size };
    tacit_buffer *b = NULL;
    EXPECT(tacit_buffer_create(ctx, &desc, &b) == TACIT_OK);
    if (filled) {
        const tacit_task task = {
            .name = "fill", .range = range, .kernel.host = fill, .access = { tacit_write(b, tacit_one_to_one()) }
        };
        EXPECT(tacit_submit(ctx, &task) == TACIT_OK);
    }
    return b;
}

static bool holds(tacit_buffer *b, tacit_range range, tacit_box box)
{
    static double got[PLANES * ROWS * COLUMNS];
    const tacit_box all = tacit_box3(0, range.size[0], 0, range.dims > 1 ? range.size[1] : 1, 0,
                                     range.dims > 2 ? range.size[2] : 1);
    if (box.max[0] == SIZE_MAX) {
        box = all;
    }
    const double *at = got;
    if (tacit_fence_read(ctx, b, box, got)) {
        return false;
    }
    for (size_t i = box.min[0]; i < box.max[0]; i++) {
        for (size_t j = box.min[1]; j < box.max[1]; j++) {
            for (size_t k = box.min[2]; k < box.max[2]; k++) {
                if (*at++ != value(i, j, k)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static const char *const formats[] = { "h5", "npy", "raw" };
static const tacit_file_options doubles = { .type = TACIT_DOUBLE };

static tacit_range range_of(int dims)
{
    return dims == 3 ? tacit_range3(PLANES, ROWS, COLUMNS) : tacit_range_make(dims, ROWS, COLUMNS, 1);
}

static void save(void)
{
    for (int dims = 0; dims <= 3; dims++) {
        tacit_buffer *u = create(range_of(dims), sizeof(double), true);
        for (int f = 0; f < 3; f++) {
            char name[32];
            snprintf(name, sizeof(name), "u%d.%s", dims, formats[f]);
            EXPECT(tacit_buffer_write(ctx, u, in_folder(name), &doubles) == TACIT_OK);
        }
        EXPECT(tacit_buffer_destroy(ctx, u) == TACIT_OK);
    }
}

static void load(void)
{
    for (int dims = 0; dims <= 3; dims++) {
        for (int f = 0; f < 3; f++) {
            char name[32];
            tacit_buffer *u = create(range_of(dims), sizeof(double), false);
            snprintf(name, sizeof(name), "u%d.%s", dims, formats[f]);
            EXPECT(tacit_buffer_read(ctx, u, in_folder(name), &doubles) == TACIT_OK);
            const tacit_box all = dims ? TACIT_BOX_ALL : tacit_box1(0, 1);
            EXPECT(holds(u, range_of(dims), all));
            EXPECT(tacit_buffer_destroy(ctx, u) == TACIT_OK);
        }
    }
}

/* A box of a buffer, split in two dimensions; written and read at other places. */
static void boxes(void)
{
    tacit_buffer *u = create(range_of(2), sizeof(double), true), *v = create(range_of(2), sizeof(double), true);
    for (int f = 0; f < 3; f++) {
        char name[32];
        tacit_file_options o = { .type = TACIT_DOUBLE, .box = tacit_box2(3, 11, 2, 6), .hint.split = TACIT_SPLIT_2D };
        snprintf(name, sizeof(name), "box.%s", formats[f]);
        EXPECT(tacit_buffer_write(ctx, u, in_folder(name), &o) == TACIT_OK);
        tacit_file_facts facts;
        EXPECT(tacit_file_look(ctx, path, NULL, &facts) == TACIT_OK && facts.found);
        EXPECT(f == 2 ? facts.size[0] == 8 * 4 * sizeof(double) && facts.dims == 1
                      : facts.size[0] == 8 && facts.size[1] == 4 && facts.dims == 2 && facts.type == TACIT_DOUBLE);
        const double zero = 0;
        EXPECT(tacit_fill(ctx, v, &zero) == TACIT_OK);
        EXPECT(tacit_buffer_read(ctx, v, path, &o) == TACIT_OK);
        EXPECT(holds(v, range_of(2), o.box));
        double outside;
        EXPECT(tacit_fence_read(ctx, v, tacit_box2(2, 3, 2, 3), &outside) == TACIT_OK && outside == 0);
    }
    EXPECT(tacit_buffer_destroy(ctx, u) == TACIT_OK && tacit_buffer_destroy(ctx, v) == TACIT_OK);
}

static void add_one(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(double, k->view[0], i) += 1;
    }
}

/* Files have what the buffer held when they were submitted, and later files follow earlier ones. */
static void order(void)
{
    tacit_buffer *u = create(tacit_range1(ROWS), sizeof(double), true),
                 *v = create(tacit_range1(ROWS), sizeof(double), false);
    const tacit_task task = { .name = "add one",
                              .range = TACIT_RANGE(ROWS),
                              .kernel.host = add_one,
                              .access = { tacit_update(u, tacit_one_to_one()) } };
    for (int i = 0; i < 4; i++) {
        EXPECT(tacit_buffer_write(ctx, u, in_folder("same.npy"), &doubles) == TACIT_OK);
        EXPECT(tacit_submit(ctx, &task) == TACIT_OK);
    }
    EXPECT(tacit_buffer_read(ctx, v, in_folder("same.npy"), &doubles) == TACIT_OK);
    EXPECT(tacit_buffer_write(ctx, u, in_folder("same.npy"), &doubles) == TACIT_OK);
    double seen[ROWS], last[ROWS];
    EXPECT(tacit_fence_read(ctx, v, TACIT_BOX_ALL, seen) == TACIT_OK && seen[ROWS - 1] == value(ROWS - 1, 0, 0) + 3);
    EXPECT(tacit_buffer_read(ctx, v, in_folder("same.npy"), &doubles) == TACIT_OK);
    EXPECT(tacit_fence_read(ctx, v, TACIT_BOX_ALL, last) == TACIT_OK && last[0] == value(0, 0, 0) + 4);
}

/* Attributes, groups, vectors as elements, series, pictures. */
static void details(void)
{
    tacit_buffer *u = create(tacit_range1(ROWS), 3 * sizeof(float), true),
                 *p = create(range_of(2), sizeof(double), true);
    const int64_t step = 42;
    const double time = 0.125;
    const tacit_file_attribute list[] = { { "step", TACIT_INT64, &step },
                                          { "time", TACIT_DOUBLE, &time },
                                          { "unit", 0, "K" } };
    char series[512];
    snprintf(series, sizeof(series), "%s/series.xdmf", folder);
    const tacit_file_options o = { .type = TACIT_FLOAT, .dataset = "run/1/x", .attributes = list, .num_attributes = 3 };
    EXPECT(tacit_buffer_write(ctx, u, in_folder("vectors.h5"), &o) == TACIT_OK);
    EXPECT(tacit_buffer_write(ctx, u, in_folder("vectors.npy"), &(tacit_file_options){ .type = TACIT_FLOAT }) ==
           TACIT_OK);
    EXPECT(tacit_buffer_write(ctx, u, in_folder("opaque.npy"), NULL) == TACIT_OK);
    EXPECT(tacit_buffer_write(ctx, u, in_folder("opaque.h5"), NULL) == TACIT_OK);
    EXPECT(tacit_buffer_read(ctx, u, in_folder("opaque.h5"), NULL) == TACIT_OK);
    EXPECT(tacit_buffer_read(ctx, u, in_folder("opaque.npy"), NULL) == TACIT_OK);
    int64_t got_step = 0;
    double got_time = 0;
    float step_as_float = 0;
    char unit[128] = "";
    bool found = true;
    in_folder("vectors.h5");
    EXPECT(tacit_file_get_attribute(ctx, path, &o, "step", TACIT_INT64, &got_step, NULL) == TACIT_OK &&
           got_step == step);
    EXPECT(tacit_file_get_attribute(ctx, path, &o, "time", TACIT_DOUBLE, &got_time, NULL) == TACIT_OK &&
           got_time == time);
    EXPECT(tacit_file_get_attribute(ctx, path, &o, "step", TACIT_FLOAT, &step_as_float, NULL) == TACIT_OK &&
           step_as_float == 42);
    EXPECT(tacit_file_get_attribute(ctx, path, &o, "unit", 0, unit, NULL) == TACIT_OK && strcmp(unit, "K") == 0);
    EXPECT(tacit_file_get_attribute(ctx, path, &o, "none", TACIT_DOUBLE, &got_time, &found) == TACIT_OK && !found);
    EXPECT(tacit_file_get_attribute(ctx, path, &o, "none", TACIT_DOUBLE, &got_time, NULL) == TACIT_ERROR_ARGUMENT);
    for (int i = 0; i < 5; i++) { /* the last two begin again at time 2 */
        char name[32];
        const int t = i < 3 ? i : i - 1;
        snprintf(name, sizeof(name), "frame%d.h5", t);
        const tacit_file_options frame = { .type = TACIT_DOUBLE, .xdmf = series, .time = t };
        EXPECT(tacit_buffer_write(ctx, p, in_folder(name), &frame) == TACIT_OK);
    }
    const tacit_file_options grey = { .type = TACIT_DOUBLE, .colours = TACIT_COLOURS_GREY };
    const tacit_file_options part = { .type = TACIT_DOUBLE, .box = tacit_box2(1, 5, 2, 4), .low = 0, .high = 1000 };
    EXPECT(tacit_buffer_write(ctx, p, in_folder("grey.png"), &grey) == TACIT_OK);
    EXPECT(tacit_buffer_write(ctx, p, in_folder("part.png"), &part) == TACIT_OK);
    EXPECT(tacit_files_wait(ctx) == TACIT_OK);
}

/* The file's length when all that was submitted is written. */
static long long length_of(const char *file)
{
    struct stat is;
    EXPECT(tacit_files_wait(ctx) == TACIT_OK);
    return stat(file, &is) == 0 ? (long long)is.st_size : -1;
}

/* Several datasets in one file, added and replaced one at a time; what else is there stays. */
static void kept(void)
{
    tacit_buffer *p = create(range_of(2), sizeof(double), true), *u = create(range_of(3), sizeof(double), true);
    const int64_t step = 7;
    const tacit_file_attribute list[] = { { "step", TACIT_INT64, &step } };
    const tacit_file_options a = { .type = TACIT_DOUBLE, .dataset = "a", .keep = true };
    const tacit_file_options b = {
        .type = TACIT_DOUBLE, .dataset = "grid/b", .keep = true, .attributes = list, .num_attributes = 1
    };
    EXPECT(tacit_buffer_write(ctx, p, in_folder("several.h5"), &a) == TACIT_OK); /* there is none yet */
    EXPECT(tacit_buffer_write(ctx, u, path, &b) == TACIT_OK);
    const long long both = length_of(path);
    for (int i = 0; i < 3; i++) { /* takes the place of the one before */
        EXPECT(tacit_buffer_write(ctx, p, path, &a) == TACIT_OK);
    }
    const long long again = length_of(path);
    EXPECT(both > 0 && again > 0 && again - both < (long long)(ROWS * COLUMNS * sizeof(double)));
    tacit_file_facts facts;
    EXPECT(tacit_file_look(ctx, path, &a, &facts) == TACIT_OK && facts.found && facts.dims == 2);
    EXPECT(tacit_file_look(ctx, path, &b, &facts) == TACIT_OK && facts.found && facts.dims == 3);
    int64_t got = 0;
    EXPECT(tacit_file_get_attribute(ctx, path, &b, "step", TACIT_INT64, &got, NULL) == TACIT_OK && got == step);
    tacit_buffer *v = create(range_of(3), sizeof(double), false), *w = create(range_of(2), sizeof(double), false);
    EXPECT(tacit_buffer_read(ctx, v, path, &b) == TACIT_OK && tacit_buffer_read(ctx, w, path, &a) == TACIT_OK);
    EXPECT(holds(v, range_of(3), TACIT_BOX_ALL) && holds(w, range_of(2), TACIT_BOX_ALL));
}

static void expect_refused(tacit_status got, tacit_status wanted, const char *part, int line)
{
    if (got != wanted || !strstr(tacit_last_error(ctx), part)) {
        fprintf(stderr, "line %d: %s: %s\n", line, tacit_status_name(got), tacit_last_error(ctx));
        failures++;
    }
}
#define REFUSED(call, status, part) expect_refused((call), (status), (part), __LINE__)

static void refused(void)
{
    tacit_buffer *u = create(range_of(2), sizeof(double), true), *empty = create(range_of(2), sizeof(double), false);
    tacit_buffer *line = create(tacit_range1(3), sizeof(double), true);
    char long_name[2000];
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = 0;
    in_folder("u.npy");
    REFUSED(tacit_buffer_write(ctx, u, NULL, &doubles), TACIT_ERROR_ARGUMENT, "the path is NULL");
    REFUSED(tacit_buffer_write(ctx, u, "u.dat", &doubles), TACIT_ERROR_ARGUMENT, "does not end with");
    REFUSED(tacit_buffer_write(ctx, u, long_name, &doubles), TACIT_ERROR_RANGE, "at most 1000");
    REFUSED(tacit_buffer_write(ctx, u, path, &(tacit_file_options){ .format = 9 }), TACIT_ERROR_ARGUMENT,
            "no format 9");
    REFUSED(tacit_buffer_write(ctx, line, path, &(tacit_file_options){ .type = (tacit_type)77 }), TACIT_ERROR_ARGUMENT,
            ".type is 77");
    REFUSED(tacit_buffer_write(ctx, u, path, &(tacit_file_options){ .box = tacit_box2(0, 99, 0, 1) }),
            TACIT_ERROR_RANGE, ".box");
    REFUSED(tacit_buffer_write(ctx, empty, path, &doubles), TACIT_ERROR_UNINITIALIZED, "");
    REFUSED(tacit_buffer_write(ctx, line, "p.png", &doubles), TACIT_ERROR_DIMENSION, "2 dimensions");
    REFUSED(tacit_buffer_read(ctx, u, "p.png", &doubles), TACIT_ERROR_UNSUPPORTED, "written only");
    REFUSED(tacit_buffer_write(ctx, u, path, &(tacit_file_options){ .xdmf = "x" }), TACIT_ERROR_ARGUMENT,
            "belong to HDF5");
    REFUSED(tacit_buffer_write(ctx, u, path, &(tacit_file_options){ .keep = true }), TACIT_ERROR_ARGUMENT,
            ".keep is for HDF5");
    REFUSED(tacit_file_look(ctx, "none.npy", NULL, NULL), TACIT_ERROR_ARGUMENT, "out is NULL");
    tacit_file_facts facts;
    EXPECT(tacit_file_look(ctx, in_folder("none.npy"), NULL, &facts) == TACIT_OK && !facts.found);
    EXPECT(strstr(facts.why, "cannot be opened"));
    EXPECT(tacit_files_wait(ctx) == TACIT_OK);
    EXPECT(access(in_folder("u.npy"), F_OK) != 0 && access(in_folder("u.npy.part"), F_OK) != 0);
}

/* What layers stand on. */
static void layers(void)
{
    static const char key;
    tacit_buffer *u = create(range_of(2), sizeof(double), false);
    tacit_buffer_facts facts;
    int mine = 3;
    EXPECT(tacit_buffer_get_facts(ctx, u, &facts) == TACIT_OK && facts.range.dims == 2 &&
           facts.range.size[1] == COLUMNS);
    EXPECT(facts.elem_size == sizeof(double) && strcmp(facts.name, "u") == 0);
    EXPECT(tacit_attached(ctx, &key) == NULL && tacit_attach(ctx, &key, &mine, NULL) == TACIT_OK);
    EXPECT(tacit_attached(ctx, &key) == &mine);
    REFUSED(tacit_attach(ctx, &key, &mine, NULL), TACIT_ERROR_STATE, "already");
    REFUSED(tacit_attach(ctx, NULL, &mine, NULL), TACIT_ERROR_ARGUMENT, "NULL");
    REFUSED(tacit_refuse(ctx, TACIT_ERROR_RANGE, "no %d", 7), TACIT_ERROR_RANGE, "no 7");
}

/* One operation, which may fail: node 0 prints why, and all go on. */
static void one(const char *what, const char *file)
{
    const bool keeps = strcmp(what, "keep") == 0, writes = keeps || strcmp(what, "full") == 0;
    const tacit_file_options o = {
        .type = TACIT_DOUBLE, .tolerant = true, .keep = keeps, .dataset = keeps ? "more/data" : NULL
    };
    tacit_buffer *u = create(tacit_range2(5, 7), sizeof(double), writes);
    in_folder(file);
    EXPECT((writes ? tacit_buffer_write : tacit_buffer_read)(ctx, u, path, &o) == TACIT_OK);
    const tacit_status status = tacit_files_wait(ctx);
    EXPECT(status == TACIT_ERROR_KERNEL || (writes && !status));
    if (tacit_node(ctx) == 0) {
        puts(status ? tacit_last_error(ctx) : "written");
    }
    EXPECT(tacit_files_wait(ctx) == TACIT_OK && tacit_buffer_destroy(ctx, u) == TACIT_OK);
}

/* What another program has written beside the data. */
static void texts(const char *file)
{
    const tacit_file_options root = { .dataset = "/" };
    char title[128] = "", unit[128] = "";
    in_folder(file);
    EXPECT(tacit_file_get_attribute(ctx, path, &root, "title", 0, title, NULL) == TACIT_OK);
    EXPECT(tacit_file_get_attribute(ctx, path, NULL, "unit", 0, unit, NULL) == TACIT_OK);
    if (tacit_node(ctx) == 0) {
        printf("%s, %s\n", title, unit);
    }
}

int main(int argc, char **argv)
{
    folder = argv[1];
    if (argc < 2 || tacit_init(NULL, &ctx)) {
        return 2;
    }
    if (argc == 2) {
        save();
        load();
        boxes();
        order();
        details();
        kept();
        refused();
        layers();
    } else if (argc == 3) {
        (strcmp(argv[2], "save") == 0 ? save : load)();
    } else {
        for (int i = 3; i < argc; i++) {
            if (strcmp(argv[2], "texts") == 0) {
                texts(argv[i]);
            } else {
                one(argv[2], argv[i]);
            }
        }
    }
    return tacit_finalize(ctx) != TACIT_OK || failures > 0;
}
