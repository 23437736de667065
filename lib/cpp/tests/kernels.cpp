/* Kernels of tests/codegen, each as a lambda over items (NAME_views) and with plain pointers (NAME_hand). codegen_test.py
 * compares what a compiler makes of the two; nothing here is run. */
#include <tacit/tacit.hpp>

using tacit::accessor;

template <int D, class... V, class F> static void call(const tacit_launch *k, const F &)
{
    tacit::detail::call_kernel<D, F, V...>(k);
}

extern "C" {
/* Jacobi's iteration as in examples/jacobi.c: five points and a right-hand side. */
struct grid {
    double x2, y2, scale;
};

static inline double relaxed(const grid &g, double f, double up, double down, double left, double right)
{
    return (f + g.x2 * (left + right) + g.y2 * (up + down)) * g.scale;
}

void jacobi_views(const tacit_launch *k, grid g)
{
    using in = accessor<const double, 2>;
    call<2, in, in, accessor<double, 2>>(k, [g](size_t i, size_t j, auto u, auto f, auto w) {
        w(i, j) = relaxed(g, f(i, j), u(i - 1, j), u(i + 1, j), u(i, j - 1), u(i, j + 1));
    });
}

void jacobi_hand(const grid *given, const double *u, const double *f, double *w, const size_t size[3])
{
    const grid g = *given;
    const size_t rows = size[0], columns = size[1], ld = size[2];
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            w[i * ld + j] = relaxed(g, f[i * ld + j], u[(i - 1) * ld + j], u[(i + 1) * ld + j], u[i * ld + j - 1],
                                    u[i * ld + j + 1]);
}

/* Seven points in three dimensions. */
void heat_views(const tacit_launch *k)
{
    call<3, accessor<const double, 3>, accessor<double, 3>>(k, [](size_t h, size_t i, size_t j, auto u, auto w) {
        const double sum = u(h, i, j - 1) + u(h, i, j + 1) + u(h, i - 1, j) + u(h, i + 1, j) + u(h - 1, i, j) +
                           u(h + 1, i, j);
        w(h, i, j) = sum - 6.0 * u(h, i, j);
    });
}

void heat_hand(const double *u, double *w, const size_t size[3])
{
    const size_t planes = size[0], rows = size[1], columns = size[2];
    for (size_t h = 0; h < planes; h++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++) {
                const double *c = u + (h * rows + i) * columns + j;
                const double sum = c[-1] + c[1] + *(c - columns) + c[columns] + *(c - rows * columns) +
                                   c[rows * columns];
                w[(h * rows + i) * columns + j] = sum - 6.0 * *c;
            }
}

/* y += a x. */
void axpy_views(const tacit_launch *k, double a)
{
    call<1, accessor<const double, 1>, accessor<double, 1>>(k, [a](size_t i, auto x, auto y) { y(i) += a * x(i); });
}

void axpy_hand(double a, const double *x, double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* Elements of the type of the loop's end, which a compiler must not take for it. */
void index_views(const tacit_launch *k)
{
    call<1, accessor<const size_t, 1>, accessor<size_t, 1>>(k, [](size_t i, auto x, auto y) { y(i) = x(i) + i; });
}

void index_hand(const size_t *x, size_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] + i;
}
}
