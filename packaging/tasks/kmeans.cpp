/* k-means in the plane: points around four centres. */
#include <cmath>
#include <cstdio>
#include <tacit/tacit.hpp>

constexpr size_t K = 4, N = 20000;

int main()
{
    tacit::context ctx;
    tacit::buffer<double, 2> points(ctx, { N, 2 }, "points");
    tacit::buffer<double, 2> centres(ctx, { K, 2 }, "centres");
    tacit::buffer<double, 2> sums(ctx, { K, 3 }, "sums");
    ctx.submit("points", tacit::range(N), tacit::write(points, tacit::components(tacit::dim(0), tacit::full())),
               [=](size_t i, auto p) {
                   const double a = double(i * 7919 % 10007) / 10007 * 6.283185307179586,
                                r = double(i * 104729 % 1009) / 1009;
                   p(i, 0) = (i % 4 < 2 ? 3 : -3) + r * std::cos(a);
                   p(i, 1) = (i % 2 ? 3 : -3) + r * std::sin(a);
               });
    ctx.submit("first", tacit::range(K), tacit::write(centres, tacit::components(tacit::dim(0), tacit::full())),
               [=](size_t k, auto c) {
                   c(k, 0) = k < 2 ? 1 : -1;
                   c(k, 1) = k % 2 ? 1 : -1;
               });
    for (int t = 0; t < 10; t++) {
        ctx.submit("assign", tacit::range(N), tacit::read(points, tacit::components(tacit::dim(0), tacit::full())),
                   tacit::read(centres, tacit::all()), tacit::reduce(sums, tacit::sum),
                   [=](size_t i, auto p, auto c, auto s) {
                       size_t best = 0;
                       double least = HUGE_VAL;
                       for (size_t k = 0; k < K; k++) {
                           const double d = std::hypot(p(i, 0) - c(k, 0), p(i, 1) - c(k, 1));
                           if (d < least)
                               least = d, best = k;
                       }
                       s(best, 0) += p(i, 0), s(best, 1) += p(i, 1), s(best, 2) += 1;
                   });
        ctx.submit("centres", tacit::range(K), tacit::read(sums, tacit::components(tacit::dim(0), tacit::full())),
                   tacit::write(centres, tacit::components(tacit::dim(0), tacit::full())),
                   [=](size_t k, auto s, auto c) {
                       c(k, 0) = s(k, 0) / s(k, 2);
                       c(k, 1) = s(k, 1) / s(k, 2);
                   });
    }
    const auto found = centres.read();
    if (ctx.node() == 0)
        for (size_t k = 0; k < K; k++)
            std::printf("%.4f %.4f\n", found[2 * k], found[2 * k + 1]);
}
