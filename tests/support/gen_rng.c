/* Random numbers: see gen.h. The generator is splitmix64. */
#include "gen_manual.h"

uint64_t gen_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t gen_next(gen_rng *r)
{
    uint64_t value = gen_mix(r->state);
    r->state += 0x9e3779b97f4a7c15u;
    return value;
}

int64_t gen_between(gen_rng *r, int64_t least, int64_t most)
{
    return least + (int64_t)(gen_next(r) % (uint64_t)(most - least + 1));
}

bool gen_chance(gen_rng *r, int percent)
{
    return gen_between(r, 0, 99) < percent;
}

int64_t gen_draw(gen_rng *r, const gen_row *row, size_t rows)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rows; i++) {
        sum += row[i].weight;
    }
    int64_t at = gen_between(r, 0, sum - 1);
    while (at >= row->weight) {
        at -= row++->weight;
    }
    return row->value;
}
