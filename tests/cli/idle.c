/* A program for calibrate_test.py: it begins and ends, and runs no kernel. */
#include "tacit/tacit.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    tacit_context *ctx;
    if (tacit_init(NULL, &ctx) != TACIT_OK || tacit_finalize(ctx) != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(NULL));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
