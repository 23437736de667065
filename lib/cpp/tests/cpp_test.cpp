/* cpp_test.cpp: what tacit.hpp promises, on any number of nodes. Every node checks the same values; the first that is wrong
 * is said, and the program ends with 1. */
#include <cstdio>
#include <tacit/tacit.hpp>

namespace
{
int failures;

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                             \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

/* The status and the sentence of what a call throws. */
template <class F> std::pair<tacit::status, std::string> thrown(F f)
{
    try {
        f();
    } catch (const tacit::error &e) {
        return { e.code(), e.what() };
    }
    return { TACIT_OK, "" };
}

bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

void kernels_of_all_dimensions(tacit::context &ctx)
{
    const size_t n = 13;
    tacit::buffer<double, 0> one(ctx, {}, "one");
    tacit::buffer<double, 1> line(ctx, { n }, "line");
    tacit::buffer<double, 2> plane(ctx, { n, n + 1 }, "plane");
    tacit::buffer<double, 3> cube(ctx, { n, n + 1, n + 2 }, "cube");
    ctx.submit(tacit::task("one").on_one_node(), tacit::write(one, tacit::all()), [](auto a) { a() = 7; });
    ctx.submit("line", line.extent(), tacit::write(line, tacit::one_to_one()),
               [](size_t i, auto a) { a(i) = double(i); });
    ctx.submit("plane", plane.extent(), tacit::write(plane, tacit::one_to_one()),
               [](size_t i, size_t j, auto a) { a(i, j) = double(i * 100 + j); });
    ctx.submit("cube", cube.extent(), tacit::write(cube, tacit::one_to_one()),
               [](size_t i, size_t j, size_t k, auto a) { a(i, j, k) = double(i * 10000 + j * 100 + k); });
    EXPECT(one.read() == 7);
    const auto l = line.read();
    const auto p = plane.read();
    const auto c = cube.read();
    for (size_t i = 0; i < n; i++) {
        EXPECT(l[i] == double(i));
        EXPECT(p[i * (n + 1) + 3] == double(i * 100 + 3));
        EXPECT(c[(i * (n + 1) + 4) * (n + 2) + 5] == double(i * 10000 + 405));
    }
    double part[2];
    plane.read(tacit_box2(2, 3, 5, 7), part);
    EXPECT(part[0] == 205 && part[1] == 206);
}

/* A stencil with chunks, swapped buffers, and captures. */
void chunks(tacit::context &ctx)
{
    const size_t n = 50;
    tacit::buffer<float, 1> now(ctx, { n }, "now"), next(ctx, { n }, "next");
    now.fill(1.0f);
    const float half = 0.5f;
    for (int t = 0; t < 5; t++, std::swap(now, next))
        ctx.submit(tacit::task("smooth").granularity(3).oversubscribe(2), now.extent(),
                   tacit::read(now, tacit::neighborhood(1)), tacit::write(next, tacit::one_to_one()),
                   [=](const tacit::launch<1> &k, auto a, auto b) {
                       for (size_t i = k.begin(0); i < k.end(0); i++) {
                           const float left = i ? a(i - 1) : 0, right = i + 1 < n ? a(i + 1) : 0;
                           b(i) = half * (left + right);
                       }
                   });
    const auto result = now.read();
    EXPECT(result[n / 2] == 1.0f && result[0] == result[n - 1] && result[0] < 1.0f);
}

/* All built-in operators on several types, one of the program's own, and old contents. */
void reductions(tacit::context &ctx)
{
    const size_t n = 1000;
    tacit::buffer<std::int64_t, 0> total(ctx, {}, "total");
    tacit::buffer<double, 0> most(ctx, {}, "most");
    tacit::buffer<std::uint8_t, 0> bits(ctx, {}, "bits");
    ctx.submit("reduce", tacit::range(n), tacit::reduce(total, tacit::sum), tacit::reduce(most, tacit::max),
               tacit::reduce(bits, tacit::bit_or), [](size_t i, auto s, auto m, auto b) {
                   s() += std::int64_t(i);
                   m() = m() > double(i) ? m() : double(i);
                   b() |= std::uint8_t(1u << i % 5);
               });
    ctx.submit("again", tacit::range(n), tacit::reduce_into(total, tacit::sum), [](size_t, auto s) { s()++; });
    EXPECT(total.read() == std::int64_t(n * (n - 1) / 2 + n));
    EXPECT(most.read() == double(n - 1));
    EXPECT(bits.read() == 31);

    struct place {
        double value;
        std::uint64_t at;
    };
    const tacit_op highest = ctx.make_operator<place>(
        { -1, UINT64_MAX },
        [](const place &a, const place &b) { return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a; },
        true);
    tacit::buffer<place, 0> peak(ctx, {}, "peak");
    ctx.submit("peak", tacit::range(n), tacit::reduce(peak, highest), [](size_t i, auto p) {
        const double value = double(i * 37 % 101);
        if (value > p().value)
            p() = { value, i };
    });
    const place found = peak.read();
    EXPECT(found.value == 100 && found.at * 37 % 101 == 100 && found.at < 101);
    EXPECT(ctx.forget(highest) == TACIT_OK);
}

/* Mappers made of components, by their names without the prefix. */
void components(tacit::context &ctx)
{
    const size_t n = 9;
    tacit::buffer<int, 2> m(ctx, { n, 4 }, "m");
    tacit::buffer<int, 1> sums(ctx, { n }, "sums"), around(ctx, { n }, "around"), twice(ctx, { 2 * n }, "twice");
    ctx.submit("m", m.extent(), tacit::write(m, tacit::one_to_one()),
               [](size_t i, size_t j, auto m) { m(i, j) = int(10 * i + j); });
    ctx.submit("sums", tacit::range(n), tacit::read(m, tacit::components(tacit::dim(0), tacit::span(1, 3))),
               tacit::write(sums, tacit::one_to_one()), [](size_t i, auto m, auto s) { s(i) = m(i, 1) + m(i, 2); });
    ctx.submit("around", tacit::range(n), tacit::read(sums, tacit::components(tacit::dim_periodic(0, 1))),
               tacit::read(m, tacit::components(tacit::halo(0, 1), tacit::full())),
               tacit::write(around, tacit::one_to_one()), [=](size_t i, auto s, auto m, auto a) {
                   a(i) = s((i + n - 1) % n) + s((i + 1) % n) + (i > 0 ? m(i - 1, 3) : 0);
               });
    ctx.submit("twice", tacit::range(n), tacit::read(around, tacit::one_to_one()),
               tacit::write(twice, tacit::components(tacit::dim_scaled(0, 2, 1))),
               [](size_t i, auto a, auto t) { t(2 * i) = t(2 * i + 1) = a(i); });
    const auto result = twice.read();
    for (size_t i = 0; i < n; i++) {
        const size_t left = (i + n - 1) % n, right = (i + 1) % n;
        EXPECT(result[2 * i] == int(20 * left + 3 + 20 * right + 3 + (i > 0 ? 10 * (i - 1) + 3 : 0)));
        EXPECT(result[2 * i + 1] == result[2 * i]);
    }
}

/* Mappers as lambdas: in place, with captures, kept; in parts. */
void mappers(tacit::context &ctx)
{
    const size_t n = 40;
    std::vector<size_t> other(n);
    for (size_t i = 0; i < n; i++)
        other[i] = i * 7 % n;
    tacit::buffer<int, 1> x(ctx, { n }, "x"), y(ctx, { n }, "y");
    ctx.submit("x", x.extent(), tacit::write(x, tacit::one_to_one()), [](size_t i, auto a) { a(i) = int(i); });
    const size_t *const table = other.data();
    const auto gathered = [table](const tacit::box &chunk, const tacit_range &, tacit::region &out) {
        for (size_t i = chunk.min[0]; i < chunk.max[0]; i++)
            out.add(tacit_box1(table[i], table[i] + 1));
    };
    for (int round = 0; round < 3; round++)
        ctx.submit("gather", y.extent(), tacit::read(x, gathered), tacit::write(y, tacit::one_to_one()),
                   [table](size_t i, auto a, auto b) { b(i) = a(table[i]); });
    EXPECT(ctx.core()->mappers.size() == 1); /* the same lambda with the same captures is one mapper */
    auto result = y.read();
    for (size_t i = 0; i < n; i++)
        EXPECT(result[i] == int(other[i]));

    const tacit::mapper kept = ctx.make_mapper(gathered);
    ctx.submit("parts", y.extent(), tacit::in_parts(tacit::read(x, kept)), tacit::write(y, tacit::one_to_one()),
               [table](size_t i, auto a, auto b) { b(i) = -a.part(table[i]); });
    result = y.read();
    for (size_t i = 0; i < n; i++)
        EXPECT(result[i] == -int(other[i]));
    EXPECT(ctx.forget(kept) == TACIT_OK);
    const auto [code, sentence] = thrown([&] {
        ctx.submit("gone", y.extent(), tacit::read(x, kept), tacit::write(y, tacit::one_to_one()),
                   [](size_t, auto, auto) {});
    });
    EXPECT(code == TACIT_ERROR_STATE && has(sentence, "'gone'"));
}

/* Placed tasks, host tasks on every node, host objects, tickets, and contents at creation. */
void places(tacit::context &ctx)
{
    const std::vector<int> start = { 5, 6, 7, 8 };
    tacit::buffer<int, 1> a(ctx, { start.size() }, "a", start.data());
    const auto before = a.fence();
    for (int i = 0; i < 4; i++)
        ctx.submit(tacit::task("double").at(i % ctx.num_nodes()).priority(i),
                   tacit::update(a, tacit::fixed(tacit_box1(size_t(i), size_t(i) + 1))), [i](auto v) { v(i) *= 2; });
    tacit::buffer<int, 1> owners(ctx, { start.size() }, "owners");
    ctx.submit(tacit::task("owner").at_owner(0), tacit::range(1), tacit::write(owners, tacit::all()),
               [](const tacit::launch<1> &k, auto v) {
                   for (size_t i = v.box().min[0]; i < v.box().max[0]; i++)
                       v(i) = k.node();
               });
    EXPECT(a.read() == std::vector<int>({ 10, 12, 14, 16 }));
    EXPECT(std::memcmp(before.get(), start.data(), start.size() * sizeof(int)) == 0);
    EXPECT(owners.read() == std::vector<int>({ 0, 0, 0, 0 }));

    tacit::host_object log(ctx);
    int calls = 0;
    int *const count = &calls;
    for (int i = 0; i < 3; i++)
        ctx.submit(tacit::task("log").on_every_node().uses(log.get()), tacit::read(a, tacit::all()),
                   [count](auto v) { *count += v(0) == 10; });
    ctx.wait();
    EXPECT(calls == 3);
    tacit::host_object counted(ctx, count);
    EXPECT(static_cast<int *>(counted.fence()) == count && *count == 3);
    std::vector<int> mine(start.size());
    a.read_local(mine.data());
    const tacit_counters c = ctx.counters();
    EXPECT(c.tasks > 0);
}

/* Statuses instead of exceptions, and what is refused. */
/* Described once, with what the kernel captures; started often, between others. */
void prepared_tasks(tacit::context &ctx)
{
    const size_t n = 40;
    tacit::buffer<double, 1> a(ctx, { n }, "prepared");
    ctx.submit("zero", a.extent(), tacit::write(a, tacit::one_to_one()), [](size_t i, auto x) { x(i) = 0; });
    double more = 3;
    tacit_prepared *add = ctx.prepare("add", a.extent(), tacit::update(a, tacit::one_to_one()),
                                      [=](size_t i, auto x) { x(i) += more; });
    more = 1000;
    for (int step = 0; step < 50; step++) {
        ctx.start(add);
        ctx.submit("half", a.extent(), tacit::update(a, tacit::one_to_one()), [](size_t i, auto x) { x(i) /= 2; });
    }
    double expected = 0;
    for (int step = 0; step < 50; step++) {
        expected = (expected + 3) / 2;
    }
    EXPECT(a.read()[n - 1] == expected);
    EXPECT(ctx.forget(add) == TACIT_OK);
    EXPECT(ctx.try_start(add) == TACIT_ERROR_STATE);
    EXPECT(has(ctx.last_error(), "tacit_start: the prepared task is destroyed"));
}

void refusals(tacit::context &ctx)
{
    tacit::buffer<double, 1> a(ctx, { 10 }, "a"), b;
    const auto nothing = [](size_t, auto) {};
    EXPECT(ctx.try_submit("early", a.extent(), tacit::read(a, tacit::one_to_one()), nothing) ==
           TACIT_ERROR_UNINITIALIZED);
    EXPECT(has(ctx.last_error(), "'early'") && has(ctx.last_error(), "'a'"));
    const auto [code, sentence] =
        thrown([&] { ctx.submit("far", tacit::range(11), tacit::write(a, tacit::one_to_one()), nothing); });
    EXPECT(code == TACIT_ERROR_RANGE && has(sentence, "'far'"));
    tacit_buffer_desc desc = {};
    desc.name = "b";
    EXPECT((tacit::buffer<double, 1>::try_create(b, ctx, tacit::range(0), desc) == TACIT_ERROR_RANGE));
    EXPECT((tacit::buffer<double, 1>::try_create(b, ctx, tacit::range(3), desc) == TACIT_OK));
    EXPECT(b.try_fill(4) == TACIT_OK && b.read()[2] == 4);
    EXPECT(b.try_resize(tacit::range(0)) == TACIT_ERROR_RANGE && b.extent().count() == 3);
    EXPECT(b.try_resize(tacit::range(2)) == TACIT_OK && b.extent().count() == 2);
    EXPECT(b.read() == std::vector<double>(2, 4));
    double out;
    EXPECT(a.try_read(tacit_box1(0, 1), &out) == TACIT_ERROR_UNINITIALIZED);
    EXPECT(ctx.try_wait() == TACIT_OK && ctx.try_barrier() == TACIT_OK && ctx.try_flush() == TACIT_OK);
    tacit::buffer<double, 1> moved(std::move(b));
    EXPECT(moved.read()[0] == 4);
    EXPECT(thrown([&] { b.read(); }).first != TACIT_OK);
    EXPECT(thrown([&] { tacit::read(b, [](const tacit::box &, const tacit_range &, tacit::region &) {}); }).first ==
           TACIT_ERROR_STATE);
    tacit::task many("many");
    tacit::host_object object(ctx);
    for (int i = 0; i <= TACIT_MAX_HOST_OBJECTS; i++)
        many.uses(object.get());
    EXPECT(ctx.try_submit(many.on_host(), a.extent(), tacit::write(a, tacit::one_to_one()), nothing) ==
           TACIT_ERROR_ARGUMENT);
}

/* On one node: an exception that leaves a kernel is the error of the run; a context ends with its scope, also by an
 * exception, and buffers may end after it. */
void ends()
{
    tacit::buffer<int, 0> survivor;
    try {
        tacit::context ctx;
        survivor = tacit::buffer<int, 0>(ctx, {}, "survivor");
        ctx.submit(tacit::task("thrower").on_one_node(), tacit::write(survivor, tacit::all()),
                   [](auto) { throw std::runtime_error("the file is missing"); });
        ctx.finish();
        EXPECT(!"reached");
    } catch (const tacit::error &e) {
        EXPECT(e.code() == TACIT_ERROR_KERNEL);
        EXPECT(has(e.what(), "'thrower'") && has(e.what(), "the file is missing"));
    }
    EXPECT(thrown([&] { survivor.read(); }).first == TACIT_ERROR_ARGUMENT);
    tacit::context again = tacit::context::none();
    EXPECT(again.get() == nullptr && tacit::context::try_create(again) == TACIT_OK && again.num_nodes() == 1);
    const auto [code, sentence] = thrown([] {
        tacit_config bad = {};
        bad.workers = -5;
        tacit::context ctx(bad);
    });
    EXPECT(code == TACIT_ERROR_CONFIG && !sentence.empty());
    again.finish();
}

} // namespace

int main(int argc, char **)
{
    if (argc > 1) { /* what only a program of one node can survive */
        ends();
        return failures != 0;
    }
    tacit::context ctx;
    kernels_of_all_dimensions(ctx);
    chunks(ctx);
    reductions(ctx);
    components(ctx);
    mappers(ctx);
    places(ctx);
    prepared_tasks(ctx);
    refusals(ctx);
    ctx.finish();
    return failures != 0;
}
