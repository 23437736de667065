/* The arithmetic of the benchmark: see grids.h. */
#include "grids.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

const char *const grid_names[GRID_KINDS] = { "heat1d", "wave2d", "star3d" };

int grid_dims(const grid *g)
{
    return g->kind + 1;
}

size_t grid_row(const grid *g)
{
    return (g->kind > 0 ? g->n[1] : 1) * (g->kind > 1 ? g->n[2] : 1);
}

size_t grid_elements(const grid *g)
{
    return g->n[0] * grid_row(g);
}

bool grid_updates(const grid *g)
{
    return g->kind == 1;
}

void grid_start(const grid *g, size_t begin, size_t end, cells to)
{
    size_t second = g->kind > 0 ? g->n[1] : 1, third = g->kind > 1 ? g->n[2] : 1;
    for (size_t i = begin; i < end; i++)
        for (size_t j = 0; j < second; j++)
            for (size_t k = 0; k < third; k++)
                to.origin[i * to.stride[0] + j * to.stride[1] + k] = (double)((i * 31 + j * 17 + k * 7) % 97) / 97;
}

static void heat(size_t n, size_t begin, size_t end, const double *now, double *last)
{
    for (size_t i = begin; i < end; i++)
        last[i] = i == 0 || i + 1 == n ? now[i] : now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
}

static void wave(const grid *g, size_t i, cells now, cells last)
{
    size_t m = g->n[1], up = now.stride[0];
    double *out = last.origin + i * last.stride[0];
    const double *in = now.origin + i * up;
    bool wall = i == 0 || i + 1 == g->n[0];
    for (size_t j = 0; j < m && wall; j++)
        out[j] = 0;
    for (size_t j = 1; j + 1 < m && !wall; j++)
        out[j] = 2 * in[j] - out[j] + 0.25 * (in[j - up] + in[j + up] + in[j - 1] + in[j + 1] - 4 * in[j]);
    out[0] = out[m - 1] = 0;
}

static void star(const grid *g, size_t i, cells now, cells last)
{
    size_t plane = now.stride[0], row = now.stride[1], m = g->n[2];
    for (size_t j = 0; j < g->n[1]; j++) {
        const double *in = now.origin + i * plane + j * row;
        double *out = last.origin + i * last.stride[0] + j * last.stride[1];
        bool wall = i == 0 || i + 1 == g->n[0] || j == 0 || j + 1 == g->n[1];
        for (size_t k = 0; k < m && wall; k++)
            out[k] = in[k];
        for (size_t k = 1; k + 1 < m && !wall; k++)
            out[k] = in[k] + 0.125 * (in[k - plane] + in[k + plane] + in[k - row] + in[k + row] + in[k - 1] +
                                      in[k + 1] - 6 * in[k]);
        out[0] = in[0];
        out[m - 1] = in[m - 1];
    }
}

void grid_step(const grid *g, size_t begin, size_t end, cells now, cells last)
{
    if (g->kind == 0)
        heat(g->n[0], begin, end, now.origin, last.origin);
    for (size_t i = begin; g->kind > 0 && i < end; i++)
        (g->kind == 1 ? wave : star)(g, i, now, last);
}
