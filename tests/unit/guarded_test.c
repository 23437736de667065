/* Guarded copies of random regions of random views, in both layouts and compact: which addresses are accessible, what
 * the walk says of every element, that addresses are found again, and that first and last columns lie at guards. */
#include "device/bounds/guarded.h"

#include "random.h"
#include "region_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static uint64_t seed;

enum { MOST_BOXES = 4, SIZE = 9 };

static int ends[2]; /* of a pipe */

/* Whether the byte can be read: the system call says so where a load would fault. */
static bool is_accessible(const char *address)
{
    char sink;
    return write(ends[1], address, 1) == 1 && read(ends[0], &sink, 1) == 1;
}

static bool contains(const ti_region *region, const int64_t at[3])
{
    const ti_box one = { { at[0], at[1], at[2] }, { at[0] + 1, at[1] + 1, at[2] + 1 } };
    return ti_region_meets(region, &one);
}

static int kind_of(const ti_guarded *copy, const int64_t at[3])
{
    return (contains(&copy->contents, at) ? TI_GUARDED_CONTENTS : 0) |
           (contains(&copy->writable, at) ? TI_GUARDED_WRITABLE : 0);
}

/* A box in the last `dims` dimensions. */
static ti_box aligned_box(rng *r, int dims)
{
    ti_box b = rng_box(r, dims, SIZE, 1, SIZE), out = { { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < dims; d++) {
        out.min[3 - dims + d] = b.min[d];
        out.max[3 - dims + d] = b.max[d];
    }
    return out;
}

static void fill_random(rng *r, ti_guarded *copy)
{
    static const size_t sizes[] = { 1, 4, 8, 12, 24, 100, 5000 };
    *copy = (ti_guarded){ .name = "U", .dims = (int)rng_between(r, 1, 3), .elem_size = sizes[rng_between(r, 0, 6)] };
    copy->reach = aligned_box(r, copy->dims);
    for (int64_t n = rng_between(r, 0, MOST_BOXES); n > 0; n--) {
        ti_box box = aligned_box(r, copy->dims);
        box = ti_box_intersect(&box, &copy->reach);
        if (!ti_box_is_empty(&box)) {
            ti_region_add(rng_between(r, 0, 1) ? &copy->contents : &copy->writable, &box);
        }
    }
    ti_region_settle(&copy->contents);
    ti_region_settle(&copy->writable);
    copy->slack = rng_between(r, 0, 1);
    copy->compact = rng_between(r, 0, 3) == 0;
}

/* All declared elements come once, in order, as what they are; holes are what the walk says else. */
static void check_walk(const ti_guarded *copy)
{
    ti_guarded_walk walk;
    ti_guarded_run run;
    ti_region both = { 0 };
    int64_t declared = 0, last[3] = { INT64_MIN, 0, 0 };
    ti_guarded_walk_begin(&walk, copy);
    while (ti_guarded_walk_next(&walk, &run)) {
        assert_true(run.count > 0);
        assert_true(run.at[0] > last[0] || (run.at[0] == last[0] && run.at[1] > last[1]) ||
                    (run.at[0] == last[0] && run.at[1] == last[1] && run.at[2] > last[2]));
        for (size_t i = 0; i < run.count; i++, run.at[2]++) {
            int64_t found[3];
            char *address = ti_guarded_address(copy, run.at);
            assert_int_equal(run.kind, kind_of(copy, run.at));
            if (i == 0 || i + 1 == run.count) {
                assert_true(is_accessible(address) && is_accessible(address + copy->elem_size - 1));
            }
            assert_true(ti_guarded_locate(copy, address + copy->elem_size - 1, found));
            if (run.kind) {
                assert_memory_equal(found, run.at, sizeof(found));
            }
            declared += run.kind != 0;
        }
        memcpy(last, run.at, sizeof(last));
        last[2]--;
    }
    region_union(&both, &copy->contents);
    region_union(&both, &copy->writable);
    assert_int_equal(declared, ti_region_volume(&both));
    ti_region_fini(&both);
}

/* Elements around the view: those in rows without a declared element, and beyond the column at the boundary, are
 * protected. */
static void check_guards(const ti_guarded *copy)
{
    int64_t at[3], found[3];
    const ti_box *b = &copy->bounding;
    const int64_t *min = copy->reach.min, *max = copy->reach.max;
    for (at[0] = min[0] - (copy->dims > 2); at[0] < max[0] + (copy->dims > 2); at[0]++) {
        for (at[1] = min[1] - (copy->dims > 1); at[1] < max[1] + (copy->dims > 1); at[1]++) {
            bool row = false;
            for (at[2] = b->min[2]; at[2] < b->max[2]; at[2]++) {
                row = row || kind_of(copy, at);
            }
            at[2] = copy->at_end ? b->max[2] : b->min[2] - 1;
            char *beside = ti_guarded_address(copy, at), *edge = copy->at_end ? beside : beside + copy->elem_size - 1;
            assert_false(is_accessible(edge));
            assert_true(ti_guarded_locate(copy, edge, found));
            assert_memory_equal(found, at, sizeof(found));
            at[2] = copy->at_end ? b->max[2] - 1 : b->min[2];
            if (b->min[2] < b->max[2]) {
                edge = ti_guarded_address(copy, at) + (copy->at_end ? copy->elem_size - 1 : 0);
                assert_int_equal(is_accessible(edge), row);
            }
        }
    }
}

static void random_copies(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    assert_int_equal(pipe(ends), 0);
    for (int round = 0; round < 150; round++) {
        ti_guarded copy;
        fill_random(&r, &copy);
        for (int at_end = 0; at_end < 2; at_end++) {
            int64_t found[3];
            bool compact = copy.compact;
            assert_true(ti_guarded_map(&copy, at_end));
            assert_int_equal(copy.compact, compact);
            check_walk(&copy);
            if (!compact) {
                check_guards(&copy);
            }
            assert_false(ti_guarded_locate(&copy, copy.map - 1, found));
            assert_false(ti_guarded_locate(&copy, copy.map + copy.map_bytes, found));
            ti_guarded_unmap(&copy);
            assert_false(ti_guarded_locate(&copy, copy.origin, found));
        }
        ti_guarded_fini(&copy);
    }
    close(ends[0]);
    close(ends[1]);
}

/* More rows than the system grants mappings for: the copy becomes compact by itself. */
static void too_many_rows(void **state)
{
    (void)state;
    enum { ROWS = 200000 };
    ti_guarded copy = { .name = "U", .dims = 2, .elem_size = 8, .reach = { { 0, 0, 0 }, { 1, ROWS, 3 } } };
    long limit = 0;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    if (!file || fscanf(file, "%ld", &limit) != 1 || limit > ROWS) {
        skip();
    }
    fclose(file);
    ti_region_add(&copy.writable, &copy.reach);
    assert_int_equal(ti_guarded_rows(&copy), ROWS);
    assert_true(ti_guarded_map(&copy, true));
    assert_true(copy.compact);
    *ti_guarded_address(&copy, (int64_t[3]){ 0, ROWS - 1, 2 }) = 1;
    ti_guarded_unmap(&copy);
    ti_guarded_fini(&copy);
}

/* Rows at multiples of both the page and a million odd bytes would need more addresses than are asked for. */
static void too_many_addresses(void **state)
{
    (void)state;
    ti_guarded copy = { .name = "U", .dims = 2, .elem_size = 1000003, .reach = { { 0, 0, 0 }, { 1, 2000, 3 } } };
    const ti_box one = { { 0, 7, 1 }, { 1, 8, 2 } };
    ti_region_add(&copy.writable, &one);
    assert_true(ti_guarded_map(&copy, true));
    assert_true(copy.compact);
    ti_guarded_unmap(&copy);
    ti_guarded_fini(&copy);
}

static void sealed(void **state)
{
    (void)state;
    int zero = open("/dev/zero", O_RDONLY);
    ti_guarded copy = { .name = "U", .dims = 2, .elem_size = 8, .reach = { { 0, 0, 0 }, { 1, 4, 3 } } };
    ti_region_add(&copy.contents, &copy.reach);
    for (int compact = 0; compact < 2; compact++) {
        copy.compact = compact;
        assert_true(ti_guarded_map(&copy, true));
        char *address = ti_guarded_address(&copy, (int64_t[3]){ 0, 2, 1 });
        assert_int_equal(read(zero, address, 8), 8);
        ti_guarded_seal(&copy);
        assert_int_equal(*address, 0);
        assert_true(read(zero, address, 8) < 0 && errno == EFAULT);
        ti_guarded_unmap(&copy);
    }
    ti_guarded_fini(&copy);
    close(zero);
}

static void folded_elements(void **state)
{
    (void)state;
    const ti_guarded copy = { .dims = 1, .fold = 3 };
    int64_t out[3];
    ti_guarded_unfold(&copy, (int64_t[3]){ 0, 5, 14 }, out);
    assert_true(out[0] == 5 && out[1] == 4 && out[2] == 2);
    ti_guarded_unfold(&copy, (int64_t[3]){ 0, 0, -1 }, out);
    assert_true(out[0] == 0 && out[1] == -1 && out[2] == 2);
    assert_int_equal(ti_guarded_buffer_dims(&copy), 2);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_copies), cmocka_unit_test(too_many_rows),   cmocka_unit_test(too_many_addresses),
        cmocka_unit_test(sealed),        cmocka_unit_test(folded_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
