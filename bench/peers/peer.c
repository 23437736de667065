/* Command line, clock and output of the programs in this folder: see peer.h. */
#include "peer.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Steps of a hundredth of a second: a short round is often undisturbed by others. */
static int choose_steps(const struct peer_kernel *k, size_t n)
{
    double steps = 8e6 / (k->weight * pow((double)n, k->power) + 3000);
    return steps < 2 ? 2 : steps > 2000 ? 2000 : (int)steps;
}

const struct peer_kernel *peer_start(struct peer *p, const struct peer_kernel *kernels, int argc, char **argv)
{
    for (const struct peer_kernel *k = kernels; argc > 2 && k->name; k++) {
        if (strcmp(k->name, argv[1]) == 0) {
            *p = (struct peer){ .n = (size_t)strtoull(argv[2], NULL, 10), .group = k->group, .fastest = INFINITY };
            p->steps = argc > 3 ? atoi(argv[3]) : choose_steps(k, p->n);
            p->rounds = argc > 4 ? atoi(argv[4]) : 10;
            if (p->n > 0 && p->steps > 0 && p->rounds > 0) {
                return k;
            }
        }
    }
    fprintf(stderr, "usage: %s KERNEL SIZE [STEPS [ROUNDS]]; kernels:", argv[0]);
    for (const struct peer_kernel *k = kernels; k->name; k++) {
        fprintf(stderr, " %s", k->name);
    }
    fputc('\n', stderr);
    exit(2);
}

bool peer_again(struct peer *p)
{
    double seconds = (now() - p->begin) / p->steps;
    p->fastest = p->round > 1 && seconds < p->fastest ? seconds : p->fastest;
    if (p->round++ > p->rounds) {
        return false;
    }
    p->begin = now();
    return true;
}

void peer_result(const struct peer *p, const double *values, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, values + i, sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3;
        hash ^= hash >> 29;
        sum += values[i];
    }
    printf("{ \"seconds\": %.9f, \"processor_seconds\": %.9f, \"steps\": %d, \"hash\": \"%016llx\", \"sum\": %.17g }\n",
           p->fastest, p->processor, p->steps, (unsigned long long)hash, sum);
}

double *peer_alloc(size_t count)
{
    double *memory = malloc((count ? count : 1) * sizeof *memory);
    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}
