/* tacit/cpp/kernel.hpp: what kernels are called with in C++, and how a lambda is called. Programs include <tacit/tacit.hpp>. */
#ifndef TACIT_CPP_KERNEL_HPP
#define TACIT_CPP_KERNEL_HPP

#include <tacit/cpp/values.hpp>

#include <exception>
#include <tuple>

namespace tacit
{
/* ================================================================================== accessors
 *
 * An accessor is what a kernel sees of one access. a(i, j) is the element at these indices of the buffer, wherever it lies
 * in memory: an lvalue for write, update and reductions, and const for read. A buffer of 0 dimensions has one element, a().
 * Unless NDEBUG or TACIT_UNCHECKED is defined, each index is checked, as by TACIT_AT. */
template <class T, int D> class accessor
{
  public:
    /* Each number is a member of its own: compilers keep arrays in memory for too long. */
    explicit accessor(const tacit_view &v)
        : data_(static_cast<T *>(v.data)), view_(&v), min0_(v.box.min[0]), min1_(v.box.min[1]), min2_(v.box.min[2]),
          stride0_(v.stride[0]), stride1_(v.stride[1])
    {
    }

    template <class... I> T &operator()(I... i) const
    {
        static_assert(sizeof...(I) == D, "tacit: as many indices as the buffer has dimensions");
        static_assert((std::is_convertible_v<I, std::size_t> && ...), "tacit: indices are integers");
#if defined(NDEBUG) || defined(TACIT_UNCHECKED)
        return *address(static_cast<std::size_t>(i)...);
#else
        return *static_cast<T *>(check(static_cast<std::size_t>(i)...));
#endif
    }

    /* The same in an access in parts (in_parts), of which one has the element. */
    template <class... I> T &part(I... i) const
    {
        static_assert(sizeof...(I) == D, "tacit: as many indices as the buffer has dimensions");
        std::size_t at[TACIT_MAX_DIMS] = { static_cast<std::size_t>(i)... };
        void *const element = tacit_part_element_(view_, sizeof(T), !std::is_const_v<T>, D, at[0], at[1], at[2]);
        return *static_cast<T *>(element);
    }

    /* For code that wants plain pointers, such as a BLAS: the first element of box(), and the elements from one row to
     * the next. Do not take rows for contiguous. */
    T *data() const { return data_; }
    std::size_t ld() const { return view_->ld; }
    /* The smallest box around what the access declares for this node's chunk. */
    const tacit::box &box() const { return view_->box; }
    const tacit_view &raw() const { return *view_; }

  private:
    T *address() const { return data_; }
    T *address(std::size_t i) const { return data_ + (i - min0_); }
    T *address(std::size_t i, std::size_t j) const
    {
        return reinterpret_cast<T *>(bytes() + (i - min0_) * stride0_) + (j - min1_);
    }
    T *address(std::size_t i, std::size_t j, std::size_t k) const
    {
        return reinterpret_cast<T *>(bytes() + (i - min0_) * stride0_ + (j - min1_) * stride1_) + (k - min2_);
    }
    auto bytes() const { return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const char, char> *>(data_); }
    void *check(std::size_t i = 0, std::size_t j = 0, std::size_t k = 0) const
    {
        return tacit_view_check(view_, sizeof(T), !std::is_const_v<T>, i, j, k);
    }

    T *data_;
    const tacit_view *view_;
    std::size_t min0_, min1_, min2_, stride0_, stride1_;
};

/* What a kernel that takes whole chunks gets first: which items, and where it runs. */
template <int D> class launch
{
  public:
    explicit launch(const tacit_launch *raw) : raw_(raw) {}
    /* The items [begin(d), end(d)) of dimension d, in indices of the task's range. */
    std::size_t begin(int d) const { return raw_->chunk.min[d]; }
    std::size_t end(int d) const { return raw_->chunk.max[d]; }
    const box &chunk() const { return raw_->chunk; }
    int node() const { return raw_->node; }
    int num_nodes() const { return raw_->num_nodes; }
    /* The calling worker of this node, of how many: for scratch memory of one's own. */
    int worker() const { return raw_->worker; }
    int num_workers() const { return raw_->num_workers; }
    /* The run has failed, for this reason: it ends on all nodes with TACIT_ERROR_KERNEL. An exception that leaves the
     * kernel does the same, with its what(). */
    void fail(const char *reason) const { tacit_kernel_fail(raw_, "%s", reason); }
    const tacit_launch *raw() const { return raw_; }

  private:
    const tacit_launch *raw_;
};

namespace detail
{
/* A kernel is called for each item, with its indices, or for each chunk, with a launch. */
template <int D, class F, class... V> constexpr bool takes_items()
{
    using size = std::size_t;
    if constexpr (D == 0)
        return std::is_invocable_v<const F &, V...>;
    else if constexpr (D == 1)
        return std::is_invocable_v<const F &, size, V...>;
    else if constexpr (D == 2)
        return std::is_invocable_v<const F &, size, size, V...>;
    else
        return std::is_invocable_v<const F &, size, size, size, V...>;
}

template <int D, class F, class... V> inline void each_item(const tacit_box &chunk, const F &f, const V &...v)
{
    /* TACIT_FOR reads the end of a loop once: a write to an element could change it, for all that a compiler knows */
    if constexpr (D == 0) {
        f(v...);
    } else if constexpr (D == 1) {
        TACIT_FOR (i, chunk, 0)
            f(i, v...);
    } else if constexpr (D == 2) {
        TACIT_FOR (i, chunk, 0)
            TACIT_FOR (j, chunk, 1)
                f(i, j, v...);
    } else {
        TACIT_FOR (i, chunk, 0)
            TACIT_FOR (j, chunk, 1)
                TACIT_FOR (k, chunk, 2)
                    f(i, j, k, v...);
    }
}

/* Make the accessors one after the other, as variables, and call the kernel. */
template <int D, class F, class... V, class... Made>
inline void call_views(const tacit_launch *k, const F &f, const Made &...made)
{
    if constexpr (sizeof...(Made) < sizeof...(V)) {
        const std::tuple_element_t<sizeof...(Made), std::tuple<V...>> next(k->view[sizeof...(Made)]);
        call_views<D, F, V...>(k, f, made..., next);
    } else if constexpr (takes_items<D, F, V...>()) {
        each_item<D>(k->chunk, f, made...);
    } else {
        f(launch<D>(k), made...);
    }
}

/* The lambda of a task: its arguments, if it has captures. */
template <class F> const F &lambda_of(const tacit_launch *k)
{
    alignas(F) static const char nothing[sizeof(F)] = {};
    return *static_cast<const F *>(std::is_empty_v<F> ? static_cast<const void *>(nothing) : k->args);
}

/* The function that tacit calls for a lambda F over D dimensions with accessors V. */
template <int D, class F, class... V> void call_kernel(const tacit_launch *k)
{
#if defined(__cpp_exceptions)
    try {
        const F f = lambda_of<F>(k);
        call_views<D, F, V...>(k, f);
    } catch (const std::exception &e) {
        tacit_kernel_fail(k, "%s", e.what());
    } catch (...) {
        tacit_kernel_fail(k, "the kernel threw something that is no std::exception");
    }
#else
    const F f = lambda_of<F>(k);
    call_views<D, F, V...>(k, f);
#endif
}
} // namespace detail
} // namespace tacit

#endif
