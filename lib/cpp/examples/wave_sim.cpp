/* wave_sim.cpp: the wave equation on a square of n x n cells in C++, with frames that are sampled into a file.
 *     $ build/bin/tacit run -n 2 build/bin/wave_sim_cpp [-n SIZE] [-t TIME] [--dt STEP] [--sample-every STEPS] [--verify]
 * The file wave_sim.bin has the size and the number of frames as two 64-bit integers, and then the frames. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <tacit/tacit.hpp>

using grid = tacit::buffer<float, 2>;

struct options {
    size_t n = 512, sample_every = 0; /* steps; 0: no file */
    float time = 100, dt = 0.25f;
    bool verify = false;
    size_t steps() const { return static_cast<size_t>(std::ceil(time / dt)); }
    size_t frames() const { return sample_every ? steps() / sample_every + 1 : 1; }
};

/* A bump a quarter of the way along both axes. */
static float start_height(size_t n, size_t i, size_t j)
{
    const float c = float(n) / 4, s = float(n) / 8, y = float(i) - c, x = float(j) - c;
    return std::exp(-(x * x + y * y) / (2 * s * s));
}

/* 2 u - before + dt^2 laplace(u). The first step has no before: it takes half of all but that. This is also the begin of
 * the text for OpenCL and CUDA devices, whose kernel stands before it here. */
TACIT_BOTH(
    on_devices,
    "TACIT_KERNEL step_wave(TACIT_VIEW(u), TACIT_VIEW(w), TACIT_CHUNK(c), TACIT_VALUE(struct wave, s))\n"
    "{\n"
    "    TACIT_FOR (i, c, 0)\n"
    "        TACIT_FOR (j, c, 1)\n"
    "            TACIT_AT2(float, w, i, j) = next_height(\n"
    "                s, TACIT_GET2(float, u, i, j), TACIT_GET2(float, u, i ? i - 1 : i, j),\n"
    "                TACIT_GET2(float, u, i + 1 < s.n ? i + 1 : i, j), TACIT_GET2(float, u, i, j ? j - 1 : j),\n"
    "                TACIT_GET2(float, u, i, j + 1 < s.n ? j + 1 : j), TACIT_GET2(float, w, i, j));\n"
    "}\n",
    struct wave {
        uint64_t n;
        float c2;
        int32_t first;
    };
    static float next_height(struct wave s, float here, float up, float down, float left, float right, float before) {
        const float change = s.c2 * (((down - here) - (here - up)) + ((right - here) - (here - left)));
        return s.first ? here + 0.5f * change : 2 * here - before + change;
    });

/* Cells beyond the border are as high as the border. */
template <class A> static float height_at(const wave &s, size_t i, size_t j, A u, float before)
{
    return next_height(s, u(i, j), u(i ? i - 1 : i, j), u(i + 1 < s.n ? i + 1 : i, j), u(i, j ? j - 1 : j),
                       u(i, j + 1 < s.n ? j + 1 : j), before);
}

static void start(tacit::context &ctx, const options &o, grid &u, grid &before)
{
    ctx.submit("start", u.extent(), tacit::write(u, tacit::one_to_one()),
               [n = o.n](size_t i, size_t j, auto u) { u(i, j) = start_height(n, i, j); });
    before.fill(0.0f);
}

static void step(tacit::context &ctx, const options &o, grid &u, grid &before, bool first)
{
    const wave s = { o.n, o.dt * o.dt, first };
    ctx.submit(tacit::task("step").opencl(on_devices, "step_wave").cuda(on_devices, "step_wave"), u.extent(),
               tacit::read(u, tacit::neighborhood(1, 1)), tacit::update(before, tacit::one_to_one()),
               [s](size_t i, size_t j, auto u, auto before) { before(i, j) = height_at(s, i, j, u, before(i, j)); });
}

/* Frame number `frame` gets all of u. */
static void sample(tacit::context &ctx, grid &u, tacit::buffer<float, 3> &frames, size_t frame)
{
    const size_t n = u.extent()[0];
    ctx.submit(tacit::task("sample").on_one_node(), tacit::read(u, tacit::all()),
               tacit::write(frames, tacit::fixed(tacit_box3(frame, frame + 1, 0, n, 0, n))), [=](auto u, auto frames) {
                   for (size_t i = 0; i < n; i++)
                       std::memcpy(&frames(frame, i, 0), &u(i, 0), n * sizeof(float));
               });
}

static void store(tacit::context &ctx, tacit::buffer<float, 3> &frames)
{
    ctx.submit(tacit::task("store").on_one_node(), tacit::read(frames, tacit::all()), [](auto frames) {
        const size_t t = frames.box().max[0], n = frames.box().max[1];
        const std::uint64_t header[2] = { n, t };
        std::ofstream file("wave_sim.bin", std::ios::binary);
        file.write(reinterpret_cast<const char *>(header), sizeof header);
        for (size_t f = 0; f < t; f++)
            for (size_t i = 0; i < n; i++)
                file.write(reinterpret_cast<const char *>(&frames(f, i, 0)), std::streamsize(n * sizeof(float)));
        if (!file.flush())
            throw std::runtime_error("cannot write wave_sim.bin");
    });
}

/* Whether a plain sequential program gets the same bits. */
static bool is_right(const options &o, const std::vector<float> &result)
{
    const size_t n = o.n;
    std::vector<float> u(n * n), before(n * n);
    for (size_t i = 0; i < n * n; i++)
        u[i] = start_height(n, i / n, i % n);
    for (size_t t = 0; t <= o.steps(); t++, std::swap(u, before))
        for (size_t i = 0; i < n * n; i++)
            before[i] = height_at(
                { n, o.dt * o.dt, t == 0 }, i / n, i % n, [&u, n](size_t a, size_t b) { return u[a * n + b]; },
                before[i]);
    return std::memcmp(u.data(), result.data(), n * n * sizeof(float)) == 0;
}

static options parse(int argc, char **argv)
{
    options o;
    for (int i = 1; i < argc; i++) {
        const std::string name = argv[i];
        const char *const value = i + 1 < argc ? argv[i + 1] : "-1";
        if (name == "--verify")
            o.verify = true;
        else if (++i; name == "-n")
            o.n = std::strtoul(value, nullptr, 10);
        else if (name == "-t")
            o.time = std::strtof(value, nullptr);
        else if (name == "--dt")
            o.dt = std::strtof(value, nullptr);
        else if (name == "--sample-every")
            o.sample_every = std::strtoul(value, nullptr, 10);
        else
            std::cerr << "unknown option " << name << '\n', std::exit(EXIT_FAILURE);
    }
    if (o.n == 0 || o.n > 100000 || !(o.time >= 0) || !(o.dt > 0))
        std::cerr << "the size is 1 to 100000, the step positive, the time not negative\n", std::exit(EXIT_FAILURE);
    return o;
}

int main(int argc, char **argv)
{
    const options o = parse(argc, argv);
    tacit::context ctx;
    grid u(ctx, { o.n, o.n }, "u"), before(ctx, { o.n, o.n }, "before");
    tacit::buffer<float, 3> frames(ctx, { o.frames(), o.n, o.n }, "frames");
    start(ctx, o, u, before);
    for (size_t t = 0; t <= o.steps(); t++, std::swap(u, before)) {
        if (o.sample_every && t % o.sample_every == 0)
            sample(ctx, u, frames, t / o.sample_every);
        step(ctx, o, u, before, t == 0);
    }
    if (o.sample_every)
        store(ctx, frames);
    const bool good = !o.verify || is_right(o, u.read());
    if (ctx.node() == 0)
        std::cout << o.steps() << " steps of " << o.n << " x " << o.n << (o.verify ? good ? ": right" : ": WRONG" : "")
                  << '\n';
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
