/* What tacit/mpi.h is made of, in a program without MPI: tacit_init_mpi is refused, with the cure, also by a build
 * that has no MPI. With MPI, tests/mpi/adopt_test.c has the rest. */
#include "tacit/tacit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void refused(void **state)
{
    char handle = 0;
    tacit_mpi_comm comm = { &handle, sizeof(handle), TACIT_MPI_OTHER };
    tacit_context *ctx = (tacit_context *)(void *)&handle;
    (void)state;
    assert_int_equal(tacit_init_mpi_sized(&comm, NULL, sizeof(tacit_config), &ctx), TACIT_ERROR_UNSUPPORTED);
    assert_null(ctx);
    const char *sentence = tacit_last_error(NULL);
#if defined(TI_WITH_MPI)
    assert_non_null(strstr(sentence, "the program is compiled with another MPI, but tacit was built with "));
    assert_non_null(strstr(sentence, "-DTACIT_MPI_FLAVOUR"));
#else
    assert_non_null(strstr(sentence, "this build of tacit has no MPI; build it with -DTACIT_MPI=ON"));
#endif
    assert_int_equal(tacit_init_mpi_sized(&comm, NULL, sizeof(tacit_config), NULL), TACIT_ERROR_ARGUMENT);
    assert_non_null(strstr(tacit_last_error(NULL), "tacit_init_mpi: out is NULL"));
    setenv("TACIT_WORKERS", "many", 1);
    assert_int_equal(tacit_init_mpi_sized(&comm, NULL, sizeof(tacit_config), &ctx), TACIT_ERROR_CONFIG);
    unsetenv("TACIT_WORKERS");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
