/* Output of benchmarks that use MPI: see pairs.h. */
#include "pairs.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pairs_print_json(json_t *head, json_t *results)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\n,")] = '\0';
    bool ok = json_object_set_new(head, "mpi", json_string(library)) == 0;
    ok = json_object_set_new(head, "results", results) == 0 && ok; /* takes them in any case */
    ok = json_dumpf(head, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0 && ok;
    putchar('\n');
    json_decref(head);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
