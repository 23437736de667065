/* Reductions into an array, with OpenMP by hand: arrays_openmp BYTES. Each thread has an array of its own, which stays;
 * all of them combine. */
#include "arrays.h"

#include <omp.h>
#include <string.h>

int main(int argc, char **argv)
{
    size_t n = arrays_elements(argc, argv), items = (size_t)omp_get_max_threads();
    int repeats = arrays_repeats(n);
    double fastest = 1e9, *sum = malloc(n * sizeof(double)), **own = malloc(items * sizeof(*own));
    for (size_t t = 0; t < items; t++) {
        own[t] = malloc(n * sizeof(double));
    }
    for (int round = -1; round < ROUNDS; round++) {
        double start = arrays_now();
        for (int r = 0; r < repeats; r++) {
#pragma omp parallel
            {
                size_t me = (size_t)omp_get_thread_num();
                memset(own[me], 0, n * sizeof(double));
                arrays_add(own[me], n, me);
#pragma omp barrier
#pragma omp for schedule(static)
                for (size_t j = 0; j < n; j++) {
                    double value = own[0][j];
                    for (size_t t = 1; t < items; t++) {
                        value += own[t][j];
                    }
                    sum[j] = value;
                }
            }
        }
        double seconds = (arrays_now() - start) / repeats;
        fastest = round >= 0 && seconds < fastest ? seconds : fastest;
    }
    int code = arrays_report(sum, n, items, fastest);
    for (size_t t = 0; t < items; t++) {
        free(own[t]);
    }
    free(own);
    free(sum);
    return code;
}
