/* Built-in operators: every type and operator against plain arithmetic, and identities that change nothing. */
#include "ir/reduction.h"

#include "meaning.h"
#include "random.h"

#include <math.h>
#include <string.h>

static uint64_t seed;

enum { N = 37 };

static void names_and_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = { 0, 1, 2, 4, 8, 1, 2, 4, 8, sizeof(float), sizeof(double) };
    for (int t = TACIT_INT8; t <= TACIT_DOUBLE; t++) {
        assert_int_equal(ti_type_size(t), sizes[t]);
        assert_non_null(ti_type_name(t));
    }
    assert_int_equal(ti_type_size(0), 0);
    assert_int_equal(ti_type_size(TACIT_DOUBLE + 1), 0);
    assert_int_equal(ti_type_size(-1), 0);
    assert_string_equal(ti_op_name(TACIT_OP_SUM), "sum");
    assert_string_equal(ti_op_name(TACIT_OP_XOR), "xor");
    assert_null(ti_op_name(0));
    assert_null(ti_op_name(TACIT_OP_XOR + 1));
}

static void validity(void **state)
{
    (void)state;
    for (int t = -1; t <= TACIT_DOUBLE + 1; t++) {
        for (int k = -1; k <= TACIT_OP_XOR + 1; k++) {
            bool type = t >= TACIT_INT8 && t <= TACIT_DOUBLE, kind = k >= TACIT_OP_SUM && k <= TACIT_OP_XOR;
            bool bits = k >= TACIT_OP_AND;
            assert_int_equal(ti_op_is_valid((tacit_op){ k, t }), type && kind && !(bits && t >= TACIT_FLOAT));
        }
    }
}

static void integers(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int t = TACIT_INT8; t <= TACIT_UINT64; t++) {
        for (int k = TACIT_OP_SUM; k <= TACIT_OP_XOR; k++) {
            tacit_op op = tacit_op_make(k, (tacit_type)t);
            size_t size = ti_type_size(t);
            _Alignas(8) unsigned char a[8 * N], b[8 * N], expected[8 * N], before[8 * N];
            for (size_t i = 0; i < sizeof(a); i++) {
                a[i] = (unsigned char)rng_next(&r);
                b[i] = (unsigned char)rng_next(&r);
            }
            memcpy(expected, a, sizeof(a));
            memcpy(before, b, sizeof(b));
            for (size_t i = 0; i < N; i++) {
                meaning_combine(op, expected + i * size, b + i * size);
            }
            ti_reducer_combine(&(ti_reducer){ .op = op }, a, b, N);
            assert_memory_equal(a, expected, sizeof(a));
            assert_memory_equal(b, before, sizeof(b));
            ti_reducer_fill_identity(&(ti_reducer){ .op = op }, b, N);
            ti_reducer_combine(&(ti_reducer){ .op = op }, a, b, N);
            assert_memory_equal(a, expected, N * size);
            ti_reducer_combine(&(ti_reducer){ .op = op }, b, a, N);
            assert_memory_equal(b, expected, N * size);
        }
    }
}

static void floating(void **state)
{
    (void)state;
    static const double x[] = { 1.5, -2.25, 0.0, 1e30, -INFINITY }, y[] = { -0.5, -4.0, 3.0, 2.0, 7.0 };
    static const double expected[][5] = { { 1.0, -6.25, 3.0, 1e30 + 2.0, -INFINITY },
                                          { -0.75, 9.0, 0.0, 2e30, -INFINITY },
                                          { -0.5, -4.0, 0.0, 2.0, -INFINITY },
                                          { 1.5, -2.25, 3.0, 1e30, 7.0 } };
    for (int k = TACIT_OP_SUM; k <= TACIT_OP_MAX; k++) {
        double a[5], id[5];
        float f[5], g[5];
        for (int i = 0; i < 5; i++) {
            a[i] = x[i];
            f[i] = (float)x[i];
            g[i] = (float)y[i];
        }
        ti_reducer_combine(&(ti_reducer){ .op = tacit_op_make(k, TACIT_DOUBLE) }, a, y, 5);
        ti_reducer_combine(&(ti_reducer){ .op = tacit_op_make(k, TACIT_FLOAT) }, f, g, 5);
        for (int i = 0; i < 5; i++) {
            assert_true(a[i] == expected[k - 1][i]);
            assert_true(f[i] == (float)expected[k - 1][i]);
        }
        ti_reducer_fill_identity(&(ti_reducer){ .op = tacit_op_make(k, TACIT_DOUBLE) }, id, 5);
        ti_reducer_combine(&(ti_reducer){ .op = tacit_op_make(k, TACIT_DOUBLE) }, id, x, 5);
        assert_memory_equal(id, x, sizeof(id));
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_sizes),
        cmocka_unit_test(validity),
        cmocka_unit_test(integers),
        cmocka_unit_test(floating),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
