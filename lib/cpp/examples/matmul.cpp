/* matmul.cpp: products of matrices in C++: I I = I, and I (I I) = I, checked by every node for its own part.
 *     $ build/bin/tacit run -n 2 build/bin/matmul_cpp [SIZE] */
#include <cstdio>
#include <cstdlib>
#include <tacit/tacit.hpp>

using matrix = tacit::buffer<float, 2>;

/* The kernels of OpenCL and CUDA devices. */
static const char on_devices[] = "TACIT_KERNEL identity(TACIT_VIEW(m), TACIT_CHUNK(c))\n"
                                 "{\n"
                                 "    TACIT_FOR (i, c, 0)\n"
                                 "        TACIT_FOR (j, c, 1)\n"
                                 "            TACIT_AT2(float, m, i, j) = i == j ? 1.0f : 0.0f;\n"
                                 "}\n"
                                 "TACIT_KERNEL multiply(TACIT_VIEW(a), TACIT_VIEW(b), TACIT_VIEW(r), TACIT_CHUNK(c),\n"
                                 "                      TACIT_VALUE(uint64_t, n))\n"
                                 "{\n"
                                 "    TACIT_FOR (i, c, 0)\n"
                                 "        TACIT_FOR (j, c, 1) {\n"
                                 "            float sum = 0;\n"
                                 "            for (uint64_t l = 0; l < n; l++)\n"
                                 "                sum += TACIT_GET2(float, a, i, l) * TACIT_GET2(float, b, l, j);\n"
                                 "            TACIT_AT2(float, r, i, j) = sum;\n"
                                 "        }\n"
                                 "}\n";

static tacit::task task(const char *name) { return tacit::task(name).opencl(on_devices, name).cuda(on_devices, name); }

static void set_identity(tacit::context &ctx, matrix &m)
{
    ctx.submit(task("identity"), m.extent(), tacit::write(m, tacit::one_to_one()),
               [](size_t i, size_t j, auto m) { m(i, j) = i == j ? 1.0f : 0.0f; });
}

/* c = a b: the rows of c that a node has need the same rows of a, and all of b. */
static void multiply(tacit::context &ctx, matrix &a, matrix &b, matrix &c)
{
    const size_t n = a.extent()[1];
    ctx.submit(task("multiply"), c.extent(), tacit::read(a, tacit::slice(1)), tacit::read(b, tacit::slice(0)),
               tacit::write(c, tacit::one_to_one()), [n](const tacit::launch<2> &k, auto a, auto b, auto c) {
                   for (size_t i = k.begin(0); i < k.end(0); i++) {
                       const size_t first = k.begin(1), columns = k.end(1) - first;
                       float *const row = &c(i, first);
                       std::fill(row, row + columns, 0.0f);
                       for (size_t l = 0; l < n; l++) {
                           const float factor = a(i, l), *const from = &b(l, first);
                           for (size_t j = 0; j < columns; j++)
                               row[j] += factor * from[j];
                       }
                   }
               });
}

/* How many elements are not those of the identity. */
static unsigned count_wrong(tacit::context &ctx, matrix &m)
{
    tacit::buffer<unsigned, 0> wrong(ctx, {}, "wrong");
    ctx.submit("check", m.extent(), tacit::read(m, tacit::one_to_one()), tacit::reduce(wrong, tacit::sum),
               [](size_t i, size_t j, auto m, auto wrong) { wrong() += m(i, j) != (i == j ? 1.0f : 0.0f); });
    return wrong.read();
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
    tacit::context ctx;
    matrix a(ctx, { n, n }, "a"), b(ctx, { n, n }, "b"), c(ctx, { n, n }, "c");
    set_identity(ctx, a);
    set_identity(ctx, b);
    multiply(ctx, a, b, c);
    multiply(ctx, b, c, a);
    const unsigned wrong = count_wrong(ctx, c) + count_wrong(ctx, a);
    if (ctx.node() == 0)
        std::printf("%zu x %zu: %s\n", n, n, wrong ? "WRONG" : "right");
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
