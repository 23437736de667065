/* The arithmetic of the programs in this folder: see kernels.h. */
#include "kernels.h"

#include <math.h>
#include <stdbool.h>

size_t share(size_t n, size_t k, size_t of)
{
    return n / of * k + (k < n % of ? k : n % of);
}

/* Numbers without any order (splitmix64). */
static uint64_t scramble(uint64_t x)
{
    x = (x + 1) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

void start(size_t begin, size_t end, size_t columns, struct part to)
{
    for (size_t i = begin; i < end; i++) {
        double *row = at(to, i, 0);
        for (size_t j = 0; j < columns; j++) {
            row[j] = (double)(scramble(i * columns + j) >> 11) * 0x1p-53 + 0.25;
        }
    }
}

/* ---------------------------------------------------------------- grids */

void stencil(size_t n, size_t begin, size_t end, struct part old, struct part new)
{
    for (size_t i = begin; i < end; i++) {
        const double *here = at(old, i, 0);
        double *restrict to = at(new, i, 0);
        if (i == 0 || i + 1 == n) {
            for (size_t j = 0; j < n; j++) {
                to[j] = here[j];
            }
            continue;
        }
        const double *up = at(old, i - 1, 0), *down = at(old, i + 1, 0);
        to[0] = here[0];
        for (size_t j = 1; j + 1 < n; j++) {
            to[j] = 0.25 * ((up[j] + down[j]) + (here[j - 1] + here[j + 1]));
        }
        to[n - 1] = here[n - 1];
    }
}

void stencil2(size_t n, size_t begin, size_t end, struct part old, struct part new)
{
    for (size_t i = begin; i < end; i++) {
        const double *here = at(old, i, 0);
        double *restrict to = at(new, i, 0);
        bool is_border = i < 2 || i + 2 >= n;
        for (size_t j = 0; j < n; j++) {
            to[j] = here[j];
        }
        if (is_border) {
            continue;
        }
        const double *up = at(old, i - 1, 0), *down = at(old, i + 1, 0);
        const double *above = at(old, i - 2, 0), *below = at(old, i + 2, 0);
        for (size_t j = 2; j + 2 < n; j++) {
            double near = (up[j] + down[j]) + (here[j - 1] + here[j + 1]);
            double far = (above[j] + below[j]) + (here[j - 2] + here[j + 2]);
            to[j] = 0.1875 * near + 0.0625 * far;
        }
    }
}

void points(size_t work, size_t begin, size_t end, struct part old, struct part new)
{
    for (size_t i = begin; i < end; i++) {
        const double left = *at(old, i > 0 ? i - 1 : i, 0), right = *at(old, i + 1 < POINTS ? i + 1 : i, 0);
        double x = 0.5 * *at(old, i, 0) + 0.25 * (left + right);
        for (size_t k = 0; k < work; k++) {
            x = x * 0.9990234375 + 0.0009765625;
        }
        *at(new, i, 0) = x;
    }
}

void wave(size_t n, size_t begin, size_t end, struct part now, struct part last)
{
    for (size_t i = begin; i < end; i++) {
        if (i == 0 || i + 1 == n) {
            continue;
        }
        const double *here = at(now, i, 0), *up = at(now, i - 1, 0), *down = at(now, i + 1, 0);
        double *restrict to = at(last, i, 0);
        for (size_t j = 1; j + 1 < n; j++) {
            double bent = (up[j] + down[j]) + (here[j - 1] + here[j + 1]) - 4.0 * here[j];
            to[j] = 2.0 * here[j] - to[j] + 0.25 * bent;
        }
    }
}

void jacobi(size_t n, size_t begin, size_t end, struct part old, struct part f, struct part new)
{
    for (size_t i = begin; i < end; i++) {
        const double *here = at(old, i, 0);
        double *restrict to = at(new, i, 0);
        if (i == 0 || i + 1 == n) {
            for (size_t j = 0; j < n; j++) {
                to[j] = here[j];
            }
            continue;
        }
        const double *up = at(old, i - 1, 0), *down = at(old, i + 1, 0), *right = at(f, i, 0);
        to[0] = here[0];
        for (size_t j = 1; j + 1 < n; j++) {
            to[j] = 0.25 * ((up[j] + down[j]) + (here[j - 1] + here[j + 1]) + right[j]);
        }
        to[n - 1] = here[n - 1];
    }
}

double residual(size_t n, size_t begin, size_t end, struct part u, struct part f)
{
    double largest = 0;
    for (size_t i = begin; i < end; i++) {
        if (i == 0 || i + 1 == n) {
            continue;
        }
        const double *here = at(u, i, 0), *up = at(u, i - 1, 0), *down = at(u, i + 1, 0), *right = at(f, i, 0);
        for (size_t j = 1; j + 1 < n; j++) {
            double off = fabs((up[j] + down[j]) + (here[j - 1] + here[j + 1]) + right[j] - 4.0 * here[j]);
            largest = off > largest ? off : largest;
        }
    }
    return largest;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

void transpose(const size_t rows[2], const size_t columns[2], struct part from, struct part to)
{
    enum { TILE = 32 }; /* two tiles lie in the first-level cache */
    for (size_t i0 = rows[0]; i0 < rows[1]; i0 += TILE) {
        for (size_t j0 = columns[0]; j0 < columns[1]; j0 += TILE) {
            const size_t i1 = smaller(i0 + TILE, rows[1]), j1 = smaller(j0 + TILE, columns[1]);
            for (size_t i = i0; i < i1; i++) {
                double *restrict out = at(to, i, j0);
                for (size_t j = j0; j < j1; j++) {
                    out[j - j0] = *at(from, j, i) + 1.0;
                }
            }
        }
    }
}

void wavefront(const size_t rows[2], const size_t columns[2], struct part above, struct part left, struct part own)
{
    const size_t first = columns[0], width = columns[1] - columns[0];
    for (size_t i = rows[0]; i < rows[1]; i++) {
        const double *up = i == rows[0] ? at(above, i - 1, first) : at(own, i - 1, first);
        double *here = at(own, i, first), value = *at(left, i, first - 1);
        double corner = i == rows[0] ? *at(above, i - 1, first - 1) : *at(left, i - 1, first - 1);
        for (size_t j = 0; j < width; j++) {
            value = up[j] + value - corner;
            corner = up[j];
            here[j] = value;
        }
    }
}

void wavefront_start(const size_t rows[2], const size_t columns[2], struct part own)
{
    for (size_t i = rows[0]; i < rows[1]; i++) {
        for (size_t j = columns[0]; j < columns[1]; j++) {
            *at(own, i, j) = i == 0 ? (double)j : j == 0 ? (double)i : 0.0;
        }
    }
}

/* ---------------------------------------------------------------- bodies */

void kick(size_t n, size_t begin, size_t end, struct part position, struct part velocity)
{
    const double *all = at(position, 0, 0);
    for (size_t i = begin; i < end; i++) {
        const double *me = all + 3 * i;
        double x = 0, y = 0, z = 0, *v = at(velocity, i, 0);
        for (size_t j = 0; j < n; j++) {
            double dx = all[3 * j] - me[0], dy = all[3 * j + 1] - me[1], dz = all[3 * j + 2] - me[2];
            double r2 = dx * dx + dy * dy + dz * dz + 1e-3, weight = 1.0 / (r2 * sqrt(r2));
            x += weight * dx;
            y += weight * dy;
            z += weight * dz;
        }
        v[0] += 1e-9 * x;
        v[1] += 1e-9 * y;
        v[2] += 1e-9 * z;
    }
}

void drift(size_t begin, size_t end, struct part velocity, struct part position)
{
    for (size_t i = begin; i < end; i++) {
        for (size_t d = 0; d < 3; d++) {
            *at(position, i, d) += 1e-3 * *at(velocity, i, d);
        }
    }
}

/* ---------------------------------------------------------------- sparse matrices */

struct sparse band_matrix(size_t n)
{
    return (struct sparse){ .n = n, .width = 8, .band = n / 64 + 1 };
}

struct sparse laplace_matrix(size_t side)
{
    return (struct sparse){ .n = side * side, .width = 5, .band = side, .side = side };
}

static void fill_band(const struct sparse *a, size_t i, double *value, uint32_t *column)
{
    const size_t low = i < a->band ? 0 : i - a->band, high = i + a->band < a->n ? i + a->band : a->n - 1;
    for (size_t e = 0; e < a->width; e++) {
        column[e] = (uint32_t)(low + scramble(i * a->width + e) % (high - low + 1));
        value[e] = 0.125;
    }
}

static void fill_laplace(const struct sparse *a, size_t i, double *value, uint32_t *column)
{
    const size_t side = a->side, to[5] = { i - side, i - 1, i, i + 1, i + side };
    const int is_there[5] = { i >= side, i % side > 0, 1, i % side + 1 < side, i + side < a->n };
    for (size_t e = 0; e < a->width; e++) {
        column[e] = (uint32_t)(is_there[e] ? to[e] : i);
        value[e] = !is_there[e] ? 0.0 : e == 2 ? 4.0 : -1.0;
    }
}

void sparse_fill(const struct sparse *a, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        const size_t k = (i - begin) * a->width;
        (a->side ? fill_laplace : fill_band)(a, i, a->value + k, a->column + k);
    }
}

void multiply(const struct sparse *a, size_t begin, size_t end, struct part x, struct part y)
{
    const double *value = a->value;
    const uint32_t *column = a->column;
    for (size_t i = begin; i < end; i++) {
        double sum = 0;
        for (size_t e = 0; e < a->width; e++) {
            sum += *value++ * *at(x, *column++, 0);
        }
        *at(y, i, 0) = sum;
    }
}

/* ---------------------------------------------------------------- vectors */

double dot(size_t begin, size_t end, struct part x, struct part y)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        sum += *at(x, i, 0) * *at(y, i, 0);
    }
    return sum;
}

double cg_begin(size_t begin, size_t end, struct part x, struct part r, struct part p)
{
    start(begin, end, 1, r);
    for (size_t i = begin; i < end; i++) {
        *at(p, i, 0) = *at(r, i, 0);
        *at(x, i, 0) = 0;
    }
    return dot(begin, end, r, r);
}

double cg_advance(const size_t rows[2], double step, const struct part of[4])
{
    const double *p = at(of[0], rows[0], 0), *q = at(of[1], rows[0], 0);
    double *restrict x = at(of[2], rows[0], 0), *restrict r = at(of[3], rows[0], 0), sum = 0;
    for (size_t i = 0; i < rows[1] - rows[0]; i++) {
        x[i] += step * p[i];
        r[i] -= step * q[i];
        sum += r[i] * r[i];
    }
    return sum;
}

void cg_turn(size_t begin, size_t end, double share_of_old, struct part r, struct part p)
{
    for (size_t i = begin; i < end; i++) {
        *at(p, i, 0) = *at(r, i, 0) + share_of_old * *at(p, i, 0);
    }
}

void accumulate(size_t n, size_t item, double *to)
{
    for (size_t j = 0; j < n; j++) {
        to[j] += (double)(j & 1023) * 0.5 + (double)item;
    }
}
