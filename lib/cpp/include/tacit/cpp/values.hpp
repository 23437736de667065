/* tacit/cpp/values.hpp: plain values in C++: errors, ranges, mappers, operators. Programs include <tacit/tacit.hpp>. */
#ifndef TACIT_CPP_VALUES_HPP
#define TACIT_CPP_VALUES_HPP

#include <tacit/tacit.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace tacit
{
/* ======================================================================================= words
 *
 * Plain values of the C headers, under their names without the prefix. */

using status = tacit_status;
using box = tacit_box;
using mapper = tacit_mapper;
using component = tacit_component;

/* What a call that throws throws. what() is the sentence of tacit_last_error. */
class error : public std::runtime_error
{
  public:
    error(status code, const char *sentence) : std::runtime_error(sentence), code_(code) {}
    status code() const noexcept { return code_; }

  private:
    status code_;
};

/* The extent of a buffer or of a task with D dimensions, 0 to 3: range(rows, columns). */
template <int D> struct range {
    static_assert(D >= 0 && D <= TACIT_MAX_DIMS, "tacit: ranges have 0 to 3 dimensions");
    std::array<std::size_t, D> size;

    template <class... N,
              class = std::enable_if_t<int(sizeof...(N)) == D && (std::is_convertible_v<N, std::size_t> && ...)>>
    constexpr range(N... n) : size{ { static_cast<std::size_t>(n)... } }
    {
    }
    constexpr std::size_t operator[](int d) const { return size[static_cast<std::size_t>(d)]; }
    /* How many elements or items that is. */
    constexpr std::size_t count() const
    {
        std::size_t n = 1;
        for (std::size_t s : size)
            n *= s;
        return n;
    }
    tacit_range raw() const
    {
        tacit_range r = tacit_range_make(D, 1, 1, 1);
        for (std::size_t d = 0; d < size.size(); d++)
            r.size[d] = size[d];
        return r;
    }
};
template <class... N> range(N...) -> range<int(sizeof...(N))>;

/* Mappers: tacit/mapper.h has their meaning, and pictures. */
inline mapper one_to_one() { return tacit_one_to_one(); }
inline mapper all() { return tacit_all(); }
inline mapper fixed(box b) { return tacit_fixed(b); }
inline mapper slice(int dim) { return tacit_slice(dim); }
inline mapper neighborhood(std::size_t e0, std::size_t e1 = 0, std::size_t e2 = 0)
{
    return tacit_neighborhood(e0, e1, e2);
}
inline mapper star(std::size_t e0, std::size_t e1 = 0, std::size_t e2 = 0) { return tacit_star(e0, e1, e2); }
inline mapper periodic(std::size_t e0, std::size_t e1 = 0, std::size_t e2 = 0) { return tacit_periodic(e0, e1, e2); }
inline mapper transposed(int p0 = 1, int p1 = 0, int p2 = 2) { return tacit_transposed(p0, p1, p2); }
inline mapper replicated() { return tacit_replicated(); }
/* What one dimension of the buffer sees of a chunk: components(dim(0), full()) are the rows of a matrix. */
inline component full() { return tacit_full(); }
inline component span(std::size_t a, std::size_t b) { return tacit_span(a, b); }
inline component dim(int k) { return tacit_dim(k); }
inline component dim_scaled(int k, int mul, int div, std::int64_t lo = 0, std::int64_t hi = 0)
{
    return tacit_dim_scaled(k, mul, div, lo, hi);
}
inline component halo(int k, std::size_t e) { return tacit_halo(k, e); }
inline component dim_periodic(int k, std::size_t e) { return tacit_dim_periodic(k, e); }
inline mapper components(component c0, component c1 = tacit_full(), component c2 = tacit_full())
{
    return tacit_components(c0, c1, c2);
}

/* Operators of reductions: reduce(total, sum). The type is that of the buffer's elements. */
struct built_in_operator {
    int kind;
};
inline constexpr built_in_operator sum{ TACIT_OP_SUM }, product{ TACIT_OP_PRODUCT }, min{ TACIT_OP_MIN },
    max{ TACIT_OP_MAX }, bit_and{ TACIT_OP_AND }, bit_or{ TACIT_OP_OR }, bit_xor{ TACIT_OP_XOR };

/* What a lambda that is a mapper adds boxes to: see context::make_mapper. */
class region
{
  public:
    explicit region(tacit_region *raw) : raw_(raw) {}
    void add(box b) { tacit_region_add(raw_, b); }

  private:
    tacit_region *raw_;
};

namespace detail
{
[[noreturn]] inline void raise(status code, const char *sentence)
{
#if defined(__cpp_exceptions)
    throw error(code, sentence);
#else
    std::fprintf(stderr, "%s (status %d)\n", sentence, static_cast<int>(code));
    std::abort();
#endif
}

inline void check(const tacit_context *ctx, status code)
{
    if (code != TACIT_OK)
        raise(code, tacit_last_error(ctx));
}

/* What a context knows, shared with its buffers, which may end after it. */
struct core {
    tacit_context *handle = nullptr; /* NULL after the end */
    /* Mappers that were given as lambdas in place: by their function, and the bytes that they captured. */
    std::map<std::pair<tacit_mapper_fn *, std::string>, int> mappers;
};

/* std::is_trivially_copyable says the same, but not of all lambdas with gcc 12. */
template <class F>
constexpr bool can_travel = std::is_trivially_copy_constructible_v<F> &&std::is_trivially_destructible_v<F> &&
                            alignof(F) <= 16;

template <class T> constexpr tacit_type type_of()
{
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8,
                  "tacit: this type needs an operator: context::make_operator");
    if constexpr (std::is_same_v<T, float>)
        return TACIT_FLOAT;
    else if constexpr (std::is_floating_point_v<T>)
        return TACIT_DOUBLE;
    else
        return static_cast<tacit_type>((std::is_signed_v<T> ? TACIT_INT8 : TACIT_UINT8) + (sizeof(T) == 1   ? 0
                                                                                           : sizeof(T) == 2 ? 1
                                                                                           : sizeof(T) == 4 ? 2
                                                                                                            : 3));
}

template <class F>
void call_mapper(const tacit_box *chunk, const tacit_range *extent, const void *user, tacit_region *out)
{
    region r(out);
    (*static_cast<const F *>(user))(*chunk, *extent, r);
}

template <class F, class T> void call_combine(void *into, const void *from, std::size_t n, const void *user)
{
    T *const a = static_cast<T *>(into);
    const T *const b = static_cast<const T *>(from);
    for (std::size_t i = 0; i < n; i++)
        a[i] = (*static_cast<const F *>(user))(static_cast<const T &>(a[i]), b[i]);
}

template <class F>
constexpr bool is_mapper = std::is_invocable_v<const F &, const box &, const tacit_range &, region &>;
} // namespace detail
} // namespace tacit

#endif
