// The program of consumer.c in C++17, which has neither compound literals nor designated initialisers.
#include <tacit/tacit.h>

#include <cstdint>
#include <cstdio>

namespace {

constexpr std::size_t items = 100;

void square(const tacit_launch *k)
{
    for (std::size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT1(std::int64_t, k->view[0], i) = static_cast<std::int64_t>(i * i);
}

void add_neighbours(const tacit_launch *k)
{
    for (std::size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        std::int64_t left = i > 0 ? TACIT_GET1(std::int64_t, k->view[0], i - 1) : 0;
        std::int64_t right = i + 1 < items ? TACIT_GET1(std::int64_t, k->view[0], i + 1) : 0;
        TACIT_AT0(std::int64_t, k->view[1]) += left + right;
    }
}

tacit_buffer *create(tacit_context *ctx, const char *name, const tacit_range *range)
{
    tacit_buffer *buffer = nullptr;
    tacit_buffer_desc desc = {};
    desc.name = name;
    desc.elem_size = sizeof(std::int64_t);
    if (range)
        desc.range = *range;
    return tacit_buffer_create(ctx, &desc, &buffer) == TACIT_OK ? buffer : nullptr;
}

bool run(tacit_context *ctx)
{
    std::int64_t sum = 0;
    const tacit_range range = TACIT_RANGE(items);
    tacit_buffer *squares = create(ctx, "squares", &range), *total = create(ctx, "total", nullptr);
    if (!squares || !total)
        return false;
    tacit_task squaring = {}, adding = {};
    squaring.name = "square";
    squaring.range = range;
    squaring.kernel.host = square;
    squaring.access[0] = tacit_write(squares, tacit_one_to_one());
    adding.name = "add_neighbours";
    adding.range = range;
    adding.kernel.host = add_neighbours;
    adding.access[0] = tacit_read(squares, tacit_neighborhood(1, 0, 0));
    adding.access[1] = tacit_reduce(total, tacit_sum(TACIT_INT64));
    if (tacit_submit(ctx, &squaring) != TACIT_OK || tacit_submit(ctx, &adding) != TACIT_OK ||
        tacit_fence_read(ctx, total, TACIT_BOX_ALL, &sum) != TACIT_OK)
        return false;
    if (tacit_node(ctx) == 0)
        std::printf("sum %lld on %d nodes\n", static_cast<long long>(sum), tacit_num_nodes(ctx));
    return true;
}

} // namespace

int main()
{
    tacit_context *ctx = nullptr;
    if (tacit_init(nullptr, &ctx) != TACIT_OK) {
        std::fprintf(stderr, "%s\n", tacit_last_error(nullptr));
        return 1;
    }
    const bool good = run(ctx);
    if (!good)
        std::fprintf(stderr, "%s\n", tacit_last_error(ctx));
    return tacit_finalize(ctx) == TACIT_OK && good ? 0 : 1;
}
