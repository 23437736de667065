/* What every device must do, whatever its kind: the host device, one and two OpenCL devices, parts of one, and CUDA
 * devices on one GPU and two.
 *
 * Usage: device_test [SEED]. Contents are compared with what ti_layout_copy does in memory, and kernels with the same
 * formula computed here. Devices that are not there are left out, which the test says. With the
 * driver of tests/cuda, CUDA's are there without a GPU, and OpenCL's, which have a run of their own, are left out. */
#include "base/check.h"
#include "cuda/stub.h"
#include "device/cuda.h"
#include "device/host.h"
#include "device/opencl.h"
#include "grid/layout.h"
#include "random.h"

#include <string.h>

static uint64_t seed;

/* ---- devices of a kind */

typedef struct machine {
    const char *name;
    int count; /* of devices; 0: a host device */
    ti_opencl_name opencl[2];
    bool is_cuda;
    int cuda[2];
    ti_device *device[2];
    ti_lot lot;
    ti_failure failure;
} machine;

static const machine kinds[] = {
    { .name = "host" },
    { .name = "opencl:0", .count = 1, .opencl = { { 0, 0, 1 } } },
    { .name = "opencl:0,opencl:0", .count = 2, .opencl = { { 0, 0, 1 }, { 0, 0, 1 } } },
    { .name = "opencl:0/2", .count = 2, .opencl = { { 0, 0, 2 }, { 0, 1, 2 } } },
    { .name = "cuda:0", .count = 1, .is_cuda = true },
    { .name = "cuda:0,cuda:0", .count = 2, .is_cuda = true },
    { .name = "cuda:0,cuda:1", .count = 2, .is_cuda = true, .cuda = { 0, 1 } },
    { .name = "cuda:3,cuda:1", .count = 2, .is_cuda = true, .cuda = { 3, 1 } },
};

/* Whether the devices are there. */
static bool has(const machine *kind)
{
    ti_opencl_fact fact;
    ti_cuda_fact gpu;
    if (kind->is_cuda) {
        return ti_cuda_fact_of(kind->cuda[0], &gpu) && ti_cuda_fact_of(kind->cuda[1], &gpu);
    }
    return kind->count == 0 ||
           (!stub_find() && ti_opencl_is_built() && ti_opencl_fact_of(0, &fact) && fact.units >= kind->opencl[0].parts);
}

static machine *start(const machine *kind)
{
    machine *m = malloc(sizeof(*m));
    ti_strbuf why = { 0 };
    *m = *kind;
    m->failure.lot = &m->lot;
    if (kind->count == 0) {
        m->device[0] = ti_device_host_create(&(ti_host_desc){ .workers = 2, .threads = 2, .lot = &m->lot });
        m->count = 1;
        assert_non_null(m->device[0]);
    } else if (!(m->is_cuda ? ti_cuda_create(m->cuda, m->count, "off", &m->failure, m->device, &why)
                            : ti_opencl_create(m->opencl, m->count, "off", &m->failure, m->device, &why))) {
        fail_msg("%s: %s", m->name, ti_strbuf_text(&why));
    }
    ti_strbuf_fini(&why);
    return m;
}

static void end(machine *m)
{
    for (int d = 0; d < m->count; d++) {
        m->device[d]->ops->stop(m->device[d]);
    }
    for (int d = 0; d < m->count; d++) {
        assert_int_equal(m->device[d]->silent, 0);
        m->device[d]->ops->destroy(m->device[d]);
    }
    free(m);
}

static void for_all(void (*check)(machine *m, rng *r))
{
    for (size_t i = 0; i < TI_COUNT(kinds); i++) {
        if (!has(&kinds[i])) {
            print_message("there are no devices %s here\n", kinds[i].name);
            continue;
        }
        rng r = rng_from(seed + i);
        machine *m = start(&kinds[i]);
        check(m, &r);
        end(m);
    }
}

/* Until the device tells of the operation, or the run has failed. */
static void await(machine *m, ti_device *device, uint64_t token)
{
    uint64_t got = 0;
    while (device->ops->poll(device, &got, 1) == 0 && ti_failure_get(&m->failure) == TACIT_OK) {
        sched_yield();
    }
    if (ti_failure_get(&m->failure) == TACIT_OK) {
        assert_int_equal(got, token);
    }
}

static void *allocate(ti_device *device, size_t bytes)
{
    void *address = NULL;
    assert_int_equal(device->ops->alloc(device, bytes, &address), TACIT_OK);
    assert_non_null(address);
    return address;
}

static void copy(machine *m, ti_device *device, ti_block to, ti_block from)
{
    static uint64_t token;
    device->ops->copy(device, 0, &to, &from, ++token);
    await(m, device, token);
    assert_int_equal(ti_failure_get(&m->failure), TACIT_OK);
}

/* ---- copies */

static ti_box around(rng *r, const ti_box *box)
{
    ti_box whole = *box;
    for (int d = 0; d < 3; d++) {
        whole.min[d] -= rng_between(r, 0, 1) * rng_between(r, 0, 3);
        whole.max[d] += rng_between(r, 0, 1) * rng_between(r, 0, 3);
    }
    return whole;
}

/* Random boxes go from the host to a device, to another allocation there or on the next device, and back. */
static void copy_boxes(machine *m, rng *r)
{
    static const size_t sizes[] = { 1, 4, 8, 12, 40 };
    for (int round = 0; round < 100; round++) {
        size_t elem = sizes[rng_between(r, 0, TI_COUNT(sizes) - 1)];
        ti_box box = rng_box(r, (int)rng_between(r, 1, 3), 7, 1, 7), whole[4];
        size_t bytes[4];
        char *at[4];
        ti_device *first = m->device[0], *second = m->device[m->count - 1];
        for (int i = 0; i < 4; i++) {
            whole[i] = around(r, &box);
            bytes[i] = (size_t)ti_box_volume(&whole[i]) * elem;
        }
        char *expected = malloc(bytes[3]);
        at[0] = malloc(bytes[0]);
        at[3] = malloc(bytes[3]);
        at[1] = allocate(first, bytes[1]);
        at[2] = allocate(second, bytes[2]);
        for (size_t i = 0; i < bytes[0]; i++) {
            at[0][i] = (char)rng_next(r);
        }
        memset(at[3], 0xee, bytes[3]);
        memset(expected, 0xee, bytes[3]);
        ti_block block[4];
        for (int i = 0; i < 4; i++) {
            block[i] = ti_layout_block(at[i], &whole[i], &box, elem);
        }
        copy(m, first, block[1], block[0]);
        copy(m, second, block[2], block[1]);
        copy(m, second, block[3], block[2]);
        ti_block wanted = ti_layout_block(expected, &whole[3], &box, elem);
        ti_layout_copy(&wanted, &block[0]);
        assert_memory_equal(at[3], expected, bytes[3]);
        first->ops->free(first, at[1], bytes[1]);
        second->ops->free(second, at[2], bytes[2]);
        free(at[0]);
        free(at[3]);
        free(expected);
    }
}

static void boxes_are_copied(void **state)
{
    (void)state;
    for_all(copy_boxes);
}

/* ---- kernels */

typedef struct numbers {
    int64_t a, b;
} numbers;

/* A formula that tells dimensions, views and arguments apart. */
static int64_t formula(const numbers *n, int64_t i, int64_t j, int64_t k, int64_t old)
{
    return n->a * i + n->b * j + 7 * k + 3 * old;
}

static void compute_1(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int64_t, k->view[1], i) = formula(k->args, (int64_t)i, 0, 0, TACIT_GET1(int64_t, k->view[0], i));
    }
}
static void compute_2(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            TACIT_AT2(int64_t, k->view[1], i, j) = formula(k->args, (int64_t)i, (int64_t)j, 0,
                                                           TACIT_GET2(int64_t, k->view[0], i, j));
        }
    }
}
static void compute_3(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            TACIT_FOR (l, k->chunk, 2) {
                TACIT_AT3(int64_t, k->view[1], i, j, l) = formula(k->args, (int64_t)i, (int64_t)j, (int64_t)l,
                                                                  TACIT_GET3(int64_t, k->view[0], i, j, l));
            }
        }
    }
}

static const char compute_source[] =
    "struct numbers { int64_t a, b; };\n"
    "TACIT_KERNEL compute_1(TACIT_VIEW(x), TACIT_VIEW(y), TACIT_CHUNK(c), TACIT_VALUE(struct numbers, n)) {\n"
    "    TACIT_FOR (i, c, 0) TACIT_AT1(int64_t, y, i) = n.a * i + 3 * TACIT_GET1(int64_t, x, i);\n"
    "}\n"
    "TACIT_KERNEL compute_2(TACIT_VIEW(x), TACIT_VIEW(y), TACIT_CHUNK(c), TACIT_VALUE(struct numbers, n)) {\n"
    "    TACIT_FOR (i, c, 0) TACIT_FOR (j, c, 1)\n"
    "        TACIT_AT2(int64_t, y, i, j) = n.a * i + n.b * j + 3 * TACIT_GET2(int64_t, x, i, j);\n"
    "}\n"
    "TACIT_KERNEL compute_3(TACIT_VIEW(x), TACIT_VIEW(y), TACIT_CHUNK(c), TACIT_VALUE(struct numbers, n)) {\n"
    "    TACIT_FOR (i, c, 0) TACIT_FOR (j, c, 1) TACIT_FOR (k, c, 2)\n"
    "        TACIT_AT3(int64_t, y, i, j, k) = n.a * i + n.b * j + 7 * k + 3 * TACIT_GET3(int64_t, x, i, j, k);\n"
    "}\n";
static tacit_host_kernel *const host_entry[] = { compute_1, compute_2, compute_3 };
static const char *const text_entry[] = { "compute_1", "compute_2", "compute_3" };

static tacit_view view_of(char *base, const ti_box *whole, const ti_box *box, int dims, int mode)
{
    tacit_view v = { .box = ti_box_to_public(box), .elem_size = 8, .dims = dims, .mode = mode, .name = "buffer" };
    size_t step = 8;
    for (int d = 2; d >= 0; d--) {
        if (d < dims) {
            v.stride[d] = step;
        }
        step *= (size_t)(whole->max[d] - whole->min[d]);
    }
    v.data = base + ti_layout_offset(whole, box->min, 8);
    return v;
}

/* A box of a larger allocation is computed from another; what lies around it stays as it was. */
static void compute_boxes(machine *m, rng *r)
{
    for (int round = 0; round < 24; round++) {
        int dims = 1 + round % 3;
        ti_device *device = m->device[round % m->count];
        ti_box box = rng_box(r, dims, 9, 1, 9), whole = box;
        for (int d = 0; d < dims; d++) {
            whole.min[d] = 0; /* chunks are made of indices, which are not negative */
            box.min[d] = rng_between(r, 0, 4);
            box.max[d] = box.min[d] + rng_between(r, 1, 9);
            whole.max[d] = box.max[d] + rng_between(r, 0, 3);
        }
        size_t count = (size_t)ti_box_volume(&whole), bytes = count * 8;
        int64_t *in = malloc(bytes), *out = malloc(bytes);
        char *x = allocate(device, bytes), *y = allocate(device, bytes);
        for (size_t i = 0; i < count; i++) {
            in[i] = rng_between(r, -1000, 1000);
            out[i] = -1;
        }
        ti_block all[4] = { ti_layout_block((char *)in, &whole, &whole, 8),
                            ti_layout_block((char *)out, &whole, &whole, 8), ti_layout_block(x, &whole, &whole, 8),
                            ti_layout_block(y, &whole, &whole, 8) };
        copy(m, device, all[2], all[0]);
        copy(m, device, all[3], all[1]);
        const numbers n = { rng_between(r, -50, 50), rng_between(r, -50, 50) };
        const tacit_view view[3] = { view_of(x, &whole, &box, dims, TACIT_READ),
                                     view_of(y, &whole, &box, dims, TACIT_WRITE) };
        const size_t group = round % 8 == 0 ? 0 : 4;
        const tacit_kernel kernel = {
            .host = host_entry[dims - 1],
            .opencl = { .source = compute_source, .entry = text_entry[dims - 1], .group = { group, 2, 1 } },
            .cuda = { .source = compute_source, .entry = text_entry[dims - 1], .group = { group, 2, 1 } }
        };
        ti_device_kernel job = { .host = kernel.host,
                                 .kernel = &kernel,
                                 .launch = { .chunk = ti_box_to_public(&box),
                                             .view = view,
                                             .args = &n,
                                             .args_size = sizeof(n),
                                             .name = "compute",
                                             .num_views = 2,
                                             .dims = dims },
                                 .token = 77 };
        assert_true(device->ops->room(device) > 0);
        device->ops->launch(device, 0, &job);
        await(m, device, 77);
        assert_string_equal(m->failure.text, "");
        copy(m, device, all[1], all[3]);
        int64_t *at = out, *from = in;
        for (int64_t i = whole.min[0]; i < whole.max[0]; i++) {
            for (int64_t j = whole.min[1]; j < whole.max[1]; j++) {
                for (int64_t k = whole.min[2]; k < whole.max[2]; k++, at++, from++) {
                    ti_box here = { { i, j, k }, { i + 1, j + 1, k + 1 } };
                    assert_int_equal(*at, ti_box_covers(&box, &here)
                                              ? formula(&n, i, dims > 1 ? j : 0, dims > 2 ? k : 0, *from)
                                              : -1);
                }
            }
        }
        device->ops->free(device, x, bytes);
        device->ops->free(device, y, bytes);
        free(in);
        free(out);
    }
}

static void kernels_compute_boxes(void **state)
{
    (void)state;
    for_all(compute_boxes);
}

/* Groups share memory: each item gets what its neighbour in the group has put there. */
static void use_scratch(machine *m, rng *r)
{
    enum { ITEMS = 40, GROUP = 8 };
    static const char source[] =
        "TACIT_KERNEL turn(TACIT_VIEW(x), TACIT_CHUNK(c), TACIT_SCRATCH(int64_t, s)) {\n"
        "    const ulong i = TACIT_INDEX(c, 0), n = TACIT_GROUP_SIZE(0), here = TACIT_GROUP_ID(0);\n"
        "    s[here] = i < c.max[0] ? TACIT_GET1(int64_t, x, i) : 0;\n"
        "    TACIT_BARRIER();\n"
        "    if (i < c.max[0]) TACIT_AT1(int64_t, x, i) = s[(here + 1) % n];\n"
        "}\n";
    const tacit_kernel kernel = {
        .opencl = { .source = source, .entry = "turn", .group = { GROUP }, .local_bytes = GROUP * 8 },
        .cuda = { .source = source, .entry = "turn", .group = { GROUP }, .local_bytes = GROUP * 8 }
    };
    const ti_box box = { { 0, 0, 0 }, { ITEMS, 1, 1 } };
    ti_device *device = m->device[m->count - 1];
    int64_t x[ITEMS], y[ITEMS];
    if (strcmp(device->ops->name, "host") == 0) {
        return;
    }
    char *at = allocate(device, sizeof(x));
    for (int i = 0; i < ITEMS; i++) {
        x[i] = rng_between(r, 0, 1000);
    }
    copy(m, device, ti_layout_block(at, &box, &box, 8), ti_layout_block((char *)x, &box, &box, 8));
    const tacit_view view = view_of(at, &box, &box, 1, TACIT_UPDATE);
    ti_device_kernel job = {
        .host = kernel.host,
        .kernel = &kernel,
        .launch = { .chunk = ti_box_to_public(&box), .view = &view, .name = "turn", .num_views = 1, .dims = 1 },
        .token = 5
    };
    device->ops->launch(device, 0, &job);
    await(m, device, 5);
    copy(m, device, ti_layout_block((char *)y, &box, &box, 8), ti_layout_block(at, &box, &box, 8));
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(y[i], x[i / GROUP * GROUP + (i + 1) % GROUP]);
    }
    device->ops->free(device, at, sizeof(x));
}

static void groups_share_memory(void **state)
{
    (void)state;
    for_all(use_scratch);
}

/* ---- what fails */

/* Memory that no machine has is a status, and the device goes on. */
static void ask_for_too_much(machine *m, rng *r)
{
    (void)r;
    for (int d = 0; d < m->count; d++) {
        ti_device *device = m->device[d];
        void *address = NULL;
        assert_int_equal(device->ops->alloc(device, (size_t)1 << 60, &address), TACIT_ERROR_MEMORY);
        address = allocate(device, 100);
        device->ops->free(device, address, 100);
    }
    assert_int_equal(ti_failure_get(&m->failure), TACIT_OK);
}

static void too_much_memory_is_refused(void **state)
{
    (void)state;
    for_all(ask_for_too_much);
}

typedef struct wrong {
    tacit_kernel kernel;
    size_t args_size;
    const char *says; /* words of the sentence */
} wrong;

static const wrong wrongs[] = {
    { { .opencl = { .source = "TACIT_KERNEL f(TACIT_VIEW(x), TACIT_CHUNK(c)) {\n  x = 1 +;\n}", .entry = "f" } },
      0,
      "task task:2:" },
    { { .opencl = { .source = "TACIT_KERNEL f(TACIT_VIEW(x), TACIT_CHUNK(c)) {}", .entry = "g" } },
      0,
      "has no kernel 'g'" },
    { { .opencl = { .source = "TACIT_KERNEL f(TACIT_VIEW(x)) {}", .entry = "f" } },
      0,
      "must have 1 TACIT_VIEW, one for each access, then TACIT_CHUNK" },
    { { .opencl = { .source = "TACIT_KERNEL f(TACIT_VIEW(x), TACIT_CHUNK(c)) {}", .entry = "f" } },
      8,
      "then TACIT_VALUE for .args" },
    { { .opencl = { .source = "TACIT_KERNEL f(TACIT_VIEW(x), TACIT_CHUNK(c), TACIT_VALUE(int, n)) {}", .entry = "f" } },
      8,
      "CL_INVALID_ARG_SIZE" },
    { { .opencl = { .source = "TACIT_KERNEL f(TACIT_VIEW(x), TACIT_CHUNK(c), TACIT_VALUE(int, n)) {}", .entry = "f" } },
      1 << 20,
      "put them into a buffer" },
    { { .opencl = { .source = "TACIT_KERNEL f(TACIT_VIEW(x), TACIT_CHUNK(c)) {}",
                    .entry = "f",
                    .group = { 1 << 30 } } },
      0,
      "CL_INVALID_WORK_" },
};

/* A launch that cannot be is the error of the run, never completes, and leaves nothing behind. */
static void wrong_kernels_are_named(void **state)
{
    (void)state;
    static const char args[1 << 20];
    for (size_t i = 0; i < TI_COUNT(wrongs) && has(&kinds[1]); i++) {
        machine *m = start(&kinds[1]);
        ti_device *device = m->device[0];
        const ti_box box = { { 0, 0, 0 }, { 4, 1, 1 } };
        char *at = allocate(device, 32);
        const tacit_view view = view_of(at, &box, &box, 1, TACIT_UPDATE);
        ti_device_kernel job = { .host = wrongs[i].kernel.host,
                                 .kernel = &wrongs[i].kernel,
                                 .launch = { .chunk = ti_box_to_public(&box),
                                             .view = &view,
                                             .args = args,
                                             .args_size = wrongs[i].args_size,
                                             .name = "task",
                                             .num_views = 1,
                                             .dims = 1 },
                                 .token = 1 };
        device->ops->launch(device, 0, &job);
        uint64_t token;
        assert_int_equal(device->ops->poll(device, &token, 1), 0);
        assert_int_equal(ti_failure_get(&m->failure), TACIT_ERROR_KERNEL);
        if (!strstr(m->failure.text, wrongs[i].says) || !strstr(m->failure.text, "task 'task'")) {
            fail_msg("'%s' does not say '%s'", m->failure.text, wrongs[i].says);
        }
        device->ops->stop(device);
        device->ops->free(device, at, 32);
        end(m);
    }
}

static void devices_that_are_not_there(void **state)
{
    (void)state;
    const ti_opencl_name names[] = { { 4711, 0, 1 }, { 0, 0, 4096 } };
    for (size_t i = 0; i < TI_COUNT(names) && has(&kinds[1]); i++) {
        ti_strbuf why = { 0 };
        ti_device *device = NULL;
        ti_failure failure = { .lot = NULL };
        assert_false(ti_opencl_create(&names[i], 1, "off", &failure, &device, &why));
        assert_non_null(strstr(ti_strbuf_text(&why), i ? "divides opencl:0 into 4096 parts" : "names opencl:4711"));
        ti_strbuf_fini(&why);
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_copied),        cmocka_unit_test(kernels_compute_boxes),
        cmocka_unit_test(groups_share_memory),     cmocka_unit_test(too_much_memory_is_refused),
        cmocka_unit_test(wrong_kernels_are_named), cmocka_unit_test(devices_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
