/* tacit/tacit.hpp: tacit in C++17: typed buffers that end with their scope, lambdas as kernels and mappers, exceptions.
 *
 *     #include <tacit/tacit.hpp>
 *
 *     int main()
 *     {
 *         tacit::context ctx;
 *         tacit::buffer<double, 1> a(ctx, { 1000 }, "a");
 *         tacit::buffer<double, 0> total(ctx, {}, "total");
 *         const double scale = 0.5;
 *         ctx.submit("fill", a.extent(), tacit::write(a, tacit::one_to_one()),
 *                    [=](size_t i, auto a) { a(i) = scale * double(i); });
 *         ctx.submit("sum", a.extent(), tacit::read(a, tacit::one_to_one()), tacit::reduce(total, tacit::sum),
 *                    [](size_t i, auto a, auto total) { total() += a(i); });
 *         std::printf("%g\n", total.read());
 *     }
 *
 * It is a thin layer over <tacit/tacit.h>, whose rules and words hold here, too: what a task is, who computes what, which
 * calls all nodes make in the same order. Nothing of it is in the library, so programs link what C programs link. In
 * programs compiled with -DNDEBUG an accessor is the bare address computation; otherwise it checks every index.
 *
 * Errors. Every call that can fail comes twice: `submit` throws tacit::error, `try_submit` returns the status. With
 * -fno-exceptions the first kind prints the sentence and ends the process by std::abort.
 *
 * What is not here is there in C: get() of a context and of a buffer gives the handle. */
#ifndef TACIT_TACIT_HPP
#define TACIT_TACIT_HPP

#include <tacit/cpp/kernel.hpp>
#include <tacit/cpp/values.hpp>

#include <cstring>
#include <memory>
#include <vector>

namespace tacit
{
/* ==================================================================================== accesses */

template <class T, int D> class buffer;

/* An access of a task, made by the functions below; the kernel gets an accessor<T, D> for it. */
template <class T, int D> struct access {
    using view = accessor<T, D>;
    tacit_access raw;
    status problem; /* of a mapper that could not be made; submit returns it */
};

namespace detail
{
template <class F> status mapper_of(core &c, const F &f, unsigned properties, mapper *out)
{
    static_assert(can_travel<F>, "tacit: a mapper captures values and pointers only (it must be trivially copyable)");
    int handle = 0;
    const status s = tacit_mapper_create(c.handle, call_mapper<F>, &f, sizeof f, properties, &handle);
    *out = tacit_custom(handle);
    return s;
}

/* A mapper that stands in place: the same function with the same captures is the same mapper. */
template <class F> status mapper_in_place(core &c, const F &f, mapper *out)
{
    static_assert(std::is_empty_v<F> || std::has_unique_object_representations_v<F>,
                  "tacit: equal captures of a mapper in place must have equal bytes (no floating point, no padding); "
                  "make this one once, by context::make_mapper");
    std::string bytes(std::is_empty_v<F> ? 0 : sizeof f, '\0');
    std::memcpy(bytes.data(), &f, bytes.size());
    const auto key = std::make_pair(static_cast<tacit_mapper_fn *>(call_mapper<F>), bytes);
    const auto known = c.mappers.find(key);
    if (known != c.mappers.end()) {
        *out = tacit_custom(known->second);
        return TACIT_OK;
    }
    const status s = mapper_of(c, f, 0, out);
    if (s == TACIT_OK)
        c.mappers.emplace(key, out->arg);
    return s;
}

template <class T, int D, class B, class M> access<T, D> make_access(B &b, int mode, const M &m)
{
    mapper named = {};
    status s = TACIT_OK;
    if constexpr (std::is_convertible_v<const M &, mapper>) {
        named = m;
    } else {
        static_assert(is_mapper<M>,
                      "tacit: a mapper, or a lambda (const box &chunk, const tacit_range &extent, region &out)");
        s = mapper_in_place(b.core_of(), m, &named);
    }
    return { tacit_access_make(b.get(), mode, named), s };
}

/* A context that is still to come. */
struct nothing {
};
} // namespace detail

/* The kernel reads what the mapper names, a mapper or a lambda in place:
 *
 *     read(x, [matrix](const box &rows, const tacit_range &, region &out) { ... out.add(tacit_box1(c, c + 1)); }) */
template <class T, int D, class M> access<const T, D> read(buffer<T, D> &b, const M &m)
{
    return detail::make_access<const T, D>(b, TACIT_READ, m);
}
/* The kernel writes every element that the mapper names, without reading it. */
template <class T, int D, class M> access<T, D> write(buffer<T, D> &b, const M &m)
{
    return detail::make_access<T, D>(b, TACIT_WRITE, m);
}
/* The kernel reads the elements, and writes all, some or none of them. */
template <class T, int D, class M> access<T, D> update(buffer<T, D> &b, const M &m)
{
    return detail::make_access<T, D>(b, TACIT_UPDATE, m);
}
/* The kernel combines into a private copy of the whole buffer. */
template <class T, int D> access<T, D> reduce(buffer<T, D> &b, tacit_op op)
{
    return { tacit_reduce(b.get(), op), TACIT_OK };
}
template <class T, int D> access<T, D> reduce(buffer<T, D> &b, built_in_operator op)
{
    return reduce(b, tacit_op_make(op.kind, detail::type_of<T>()));
}
/* The same; the old contents are part of the result. */
template <class T, int D, class Op> access<T, D> reduce_into(buffer<T, D> &b, const Op &op)
{
    access<T, D> a = reduce(b, op);
    a.raw.include_old = true;
    return a;
}
/* The same access, whose boxes may lie apart in memory; its kernel uses accessor::part. */
template <class T, int D> access<T, D> in_parts(access<T, D> a)
{
    a.raw = tacit_in_parts(a.raw);
    return a;
}

/* ======================================================================================= tasks */

/* The name of a task, and how it is to run where the defaults do not do:
 *
 *     ctx.submit(task("factor").at(node).priority(3), ...);
 *
 * tacit/task.h says what each of these means. A name alone is enough for submit. */
class task
{
  public:
    task(const char *name) { raw_.name = name; }
    task &on_host() { return on(TACIT_ON_HOST); }
    task &on_one_node() { return on(TACIT_ON_ONE_NODE); }
    task &on_one_node(int node) { return at(node).on(TACIT_ON_ONE_NODE); }
    task &on_every_node() { return on(TACIT_ON_EVERY_NODE); }
    task &at(int node) { return set(raw_.place, tacit_place_node(node)); }
    task &at_owner(int access) { return set(raw_.place, tacit_place_owner(access)); }
    task &split_2d() { return set(raw_.hint.split, static_cast<int>(TACIT_SPLIT_2D)); }
    task &priority(int p) { return set(raw_.hint.priority, p); }
    task &oversubscribe(int chunks) { return set(raw_.hint.oversubscribe, chunks); }
    task &whole_chunk() { return set(raw_.hint.whole_chunk, true); }
    task &no_collectives() { return set(raw_.hint.no_collectives, true); }
    task &pure() { return set(raw_.hint.pure, true); }
    task &window(int tasks) { return set(raw_.hint.window, tasks); }
    task &weights(const std::uint32_t *w) { return set(raw_.hint.weights, w); }
    task &item_weights(tacit_weights *w) { return set(raw_.hint.item_weights, w); }
    task &group(tacit_collective_group *g) { return set(raw_.group, g); }
    template <class... N> task &granularity(N... n) { return list(raw_.hint.granularity, n...); }
    template <class... N> task &offset(N... n) { return list(raw_.offset, n...); }
    /* All nodes capture the same values, which they compare. */
    task &compare_captures() { return set(raw_.hash_args, true); }
    task &cost(double nanoseconds) { return set(raw_.cost, nanoseconds); }
    /* The kernel for OpenCL or CUDA devices beside the lambda: a text and the name of its TACIT_KERNEL (doc/devices.md),
     * which is compiled when it is first needed; texts are not copied. Its TACIT_VALUE is what the lambda is: the members
     * of a struct with an operator() lie where the text has them. A lambda without captures is none.
     *   group  items of a work-group in each dimension; none: the driver chooses */
    template <class... N> task &opencl(const char *source, const char *entry, N... group)
    {
        raw_.kernel.opencl.source = source;
        raw_.kernel.opencl.entry = entry;
        return list(raw_.kernel.opencl.group, group...);
    }
    template <class... N> task &cuda(const char *source, const char *entry, N... group)
    {
        raw_.kernel.cuda.source = source;
        raw_.kernel.cuda.entry = entry;
        return list(raw_.kernel.cuda.group, group...);
    }
    task &uses(tacit_host_object *object)
    {
        for (tacit_host_object *&o : raw_.host_object)
            if (!o)
                return set(o, object);
        return set(too_many_, true);
    }
    /* The description, for what has no word here. */
    tacit_task &raw() { return raw_; }
    const tacit_task &raw() const { return raw_; }
    bool has_too_many_objects() const { return too_many_; }

  private:
    task &on(tacit_on where) { return set(raw_.on, where); }
    template <class T> task &set(T &field, T value)
    {
        field = value;
        return *this;
    }
    template <class... N> task &list(std::size_t (&field)[TACIT_MAX_DIMS], N... n)
    {
        static_assert(sizeof...(N) <= TACIT_MAX_DIMS, "tacit: at most 3 dimensions");
        std::size_t d = 0;
        ((field[d++] = static_cast<std::size_t>(n)), ...);
        return *this;
    }
    tacit_task raw_ = {};
    bool too_many_ = false;
};

/* ===================================================================================== context */

/* tacit running on this node. It ends with its scope, which waits for everything; finish() does the same and says how it
 * went. All nodes make it, and end it. Not copied; moved.
 *
 * Where an exception leaves the scope on one of several nodes, the others may wait for what this one will not do. So the
 * context is not ended then, and the end of the process ends the job with an error. On one node it is ended always. */
class context
{
  public:
    context() : context(tacit_config{}) {}
    explicit context(const tacit_config &config) { detail::check(nullptr, try_create(*this, config)); }
    /* Take over a context of tacit_init or tacit_init_mpi. */
    static context adopt(tacit_context *handle)
    {
        context c{ detail::nothing() };
        c.core_ = std::make_shared<detail::core>();
        c.core_->handle = handle;
        return c;
    }
    static context none() { return context(detail::nothing()); } /* to be filled by try_create, or by a move */
    static status try_create(context &out, const tacit_config &config = tacit_config{})
    {
        tacit_context *handle = nullptr;
        const status s = tacit_init(&config, &handle);
        if (s == TACIT_OK)
            out = adopt(handle);
        return s;
    }
    context(context &&) noexcept = default;
    context &operator=(context &&other) noexcept
    {
        if (this != &other) {
            try_finish();
            core_ = std::move(other.core_);
        }
        return *this;
    }
    context(const context &) = delete;
    context &operator=(const context &) = delete;
    /* An error of the run has been printed by then; finish() throws it. */
    ~context()
    {
        if (std::uncaught_exceptions() <= exceptions_ || num_nodes() == 1)
            try_finish();
    }

    /* Wait for everything on all nodes, and end. Buffers that are left have nothing more to do. */
    void finish()
    {
        const status waited = get() ? try_wait() : TACIT_OK;
        const std::string sentence = waited ? last_error() : "";
        const status s = try_finish();
        if (waited != TACIT_OK)
            detail::raise(waited, sentence.c_str());
        if (s != TACIT_OK)
            detail::raise(s, "tacit could not write a report or a graph that was asked for; stderr says which");
    }
    status try_finish()
    {
        tacit_context *const handle = get();
        if (!handle)
            return TACIT_OK;
        core_->handle = nullptr;
        return tacit_finalize(handle);
    }

    /* Wait until all that this node has to do for the tasks submitted so far is done. */
    void wait() { detail::check(get(), try_wait()); }
    status try_wait() { return tacit_wait(get()); }
    /* Wait until all nodes have executed everything submitted so far. */
    void barrier() { detail::check(get(), try_barrier()); }
    status try_barrier() { return tacit_barrier(get()); }
    /* Wait for all nodes, and choose anew what TACIT_LATENCY=auto chooses by measurements. */
    void retune() { detail::check(get(), try_retune()); }
    status try_retune() { return tacit_retune(get()); }
    /* Let everything submitted so far begin. */
    void flush() { detail::check(get(), try_flush()); }
    status try_flush() { return tacit_flush(get()); }

    int node() const { return tacit_node(get()); }
    int num_nodes() const { return tacit_num_nodes(get()); }
    int workers() const { return tacit_workers(get()); }
    bool is_dry_run() const { return tacit_is_dry_run(get()); }
    /* The sentence about the error of the last call. */
    const char *last_error() const { return tacit_last_error(get()); }
    tacit_counters counters() const
    {
        tacit_counters c;
        detail::check(get(), tacit_get_counters(get(), &c));
        return c;
    }
    tacit_context *get() const { return core_ ? core_->handle : nullptr; }

    /* Submit a task: its name, its range, its accesses, its kernel. The kernel is a lambda that is called for each item
     * with the item's indices, or for each chunk with a launch; after that come the accessors, in the order of the accesses:
     *
     *     ctx.submit("scale", range(n, m), update(a, one_to_one()), [=](size_t i, size_t j, auto a) { a(i, j) *= s; });
     *     ctx.submit("scale", range(n, m), update(a, one_to_one()), [=](const launch<2> &k, auto a) {
     *         cblas_dscal(...); });
     *
     * It is copied, and runs after the call has returned: it captures values, by [=], and pointers to what stays valid
     * until the task is done. A capture by reference dangles. What it captures must be trivially copyable. */
    template <int D, class... Rest> void submit(const task &t, range<D> items, const Rest &...accesses_and_kernel)
    {
        detail::check(get(), try_submit(t, items, accesses_and_kernel...));
    }
    template <int D, class... Rest>
    [[nodiscard]] status try_submit(const task &t, range<D> items, const Rest &...accesses_and_kernel)
    {
        static_assert(sizeof...(Rest) >= 1, "tacit: the last argument is the kernel");
        return submit_all(t, items, std::tie(accesses_and_kernel...), std::make_index_sequence<sizeof...(Rest) - 1>());
    }
    /* The same for a task of one item: submit(task("print").on_one_node(), read(a, all()), [](auto a) { ... }). */
    template <class First, class... Rest, class = decltype(std::declval<const First &>().raw)>
    void submit(const task &t, const First &access, const Rest &...accesses_and_kernel)
    {
        submit(t, range<0>(), access, accesses_and_kernel...);
    }
    template <class First, class... Rest, class = decltype(std::declval<const First &>().raw)>
    [[nodiscard]] status try_submit(const task &t, const First &access, const Rest &...accesses_and_kernel)
    {
        return try_submit(t, range<0>(), access, accesses_and_kernel...);
    }

    /* Describe a task once, and submit it often: tacit/task.h, "prepared tasks". What the kernel captures is kept. It
     * lives until forget, or as long as the context. */
    template <int D, class... Rest>
    tacit_prepared *prepare(const task &t, range<D> items, const Rest &...accesses_and_kernel)
    {
        tacit_prepared *p = nullptr;
        detail::check(get(), try_prepare(p, t, items, accesses_and_kernel...));
        return p;
    }
    template <int D, class... Rest>
    [[nodiscard]] status try_prepare(tacit_prepared *&out, const task &t, range<D> items,
                                     const Rest &...accesses_and_kernel)
    {
        static_assert(sizeof...(Rest) >= 1, "tacit: the last argument is the kernel");
        return submit_all(t, items, std::tie(accesses_and_kernel...), std::make_index_sequence<sizeof...(Rest) - 1>(),
                          &out);
    }
    void start(tacit_prepared *p) { detail::check(get(), try_start(p)); }
    [[nodiscard]] status try_start(tacit_prepared *p) { return tacit_start(get(), p, nullptr); }
    status forget(tacit_prepared *p) { return tacit_prepared_destroy(get(), p); }

    /* A mapper from a lambda (const box &chunk, const tacit_range &extent, region &out), to be kept and used in many
     * tasks. A pure function: see tacit_mapper_fn. It lives until forget, or as long as the context. */
    template <class F> mapper make_mapper(const F &f, unsigned properties = 0)
    {
        mapper m;
        detail::check(get(), try_make_mapper(m, f, properties));
        return m;
    }
    template <class F> [[nodiscard]] status try_make_mapper(mapper &out, const F &f, unsigned properties = 0)
    {
        static_assert(detail::is_mapper<F>,
                      "tacit: a mapper is called with (const box &, const tacit_range &, region &)");
        return core_ ? detail::mapper_of(*core_, f, properties, &out) : TACIT_ERROR_STATE;
    }
    status forget(const mapper &m) { return tacit_mapper_destroy(get(), m.arg); }

    /* An operator from a lambda (T a, T b) -> T, associative and pure, where a comes before b in the order of the range;
     * `identity` changes nothing. It lives until forget, or as long as the context. */
    template <class T, class F> tacit_op make_operator(const T &identity, const F &f, bool commutative = false)
    {
        tacit_op op;
        detail::check(get(), try_make_operator(op, identity, f, commutative));
        return op;
    }
    template <class T, class F>
    [[nodiscard]] status try_make_operator(tacit_op &out, const T &identity, const F &f, bool commutative = false)
    {
        static_assert(std::is_invocable_r_v<T, const F &, const T &, const T &>, "tacit: an operator is (T, T) -> T");
        static_assert(std::is_trivially_copyable_v<T> && detail::can_travel<F>,
                      "tacit: elements, and what an operator captures, are trivially copyable");
        tacit_op_desc desc = {};
        desc.combine = detail::call_combine<F, T>;
        desc.identity = &identity;
        desc.elem_size = sizeof(T);
        desc.user = &f;
        desc.user_size = sizeof f;
        desc.commutative = commutative;
        return tacit_op_create(get(), &desc, &out);
    }
    status forget(tacit_op op) { return tacit_op_destroy(get(), op); }

    /* Behind buffers. */
    const std::shared_ptr<detail::core> &core() const { return core_; }

  private:
    explicit context(detail::nothing) {}

    /* Or prepares it, if there is `out`. */
    template <int D, class Tuple, std::size_t... N>
    status submit_all(const task &t, const range<D> &items, const Tuple &rest, std::index_sequence<N...>,
                      tacit_prepared **out = nullptr)
    {
        using F = std::decay_t<std::tuple_element_t<sizeof...(N), Tuple>>;
        return submit_kernel<D, F, typename std::decay_t<std::tuple_element_t<N, Tuple>>::view...>(
            out, t, items, std::get<sizeof...(N)>(rest), std::get<N>(rest)...);
    }

    template <int D, class F, class... V, class... A>
    status submit_kernel(tacit_prepared **out, const task &t, const range<D> &items, const F &f, const A &...a)
    {
        constexpr bool by_item = detail::takes_items<D, F, V...>();
        static_assert(
            by_item || std::is_invocable_v<const F &, const launch<D> &, V...>,
            "tacit: the kernel is called with the indices of an item, or with a launch, and then one accessor for each access");
        static_assert(detail::can_travel<F>,
                      "tacit: a kernel captures values and pointers only (it must be trivially copyable)");
        static_assert(sizeof...(A) <= TACIT_MAX_ACCESSES, "tacit: a task has at most 16 accesses");
        tacit_task raw = t.raw();
        raw.range = items.raw();
        raw.kernel.host = detail::call_kernel<D, F, V...>;
        if constexpr (!std::is_empty_v<F>) {
            raw.args = &f;
            raw.args_size = sizeof f;
        }
        status problem = t.has_too_many_objects() ? TACIT_ERROR_ARGUMENT : TACIT_OK;
        std::size_t n = 0;
        ((raw.access[n++] = a.raw, problem = problem ? problem : a.problem), ...);
        return problem ? problem : out ? tacit_prepare(get(), &raw, out) : tacit_submit(get(), &raw);
    }

    std::shared_ptr<detail::core> core_;
    int exceptions_ = std::uncaught_exceptions(); /* that were on their way when it was made */
};

/* ===================================================================================== buffers */

/* Values that a fence asked for: see buffer::fence. */
template <class T> class ticket
{
  public:
    explicit ticket(tacit_fence_ticket *raw) : raw_(raw) {}
    ticket(ticket &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    ticket &operator=(ticket &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~ticket() { tacit_fence_release(raw_); }
    /* Wait for the values, row-major and packed; they are valid as long as the ticket. */
    const T *get() const
    {
        const void *data = nullptr;
        detail::check(nullptr, tacit_fence_get(raw_, &data));
        return static_cast<const T *>(data);
    }

  private:
    tacit_fence_ticket *raw_;
};

/* A virtual array of T with D dimensions, shared by all nodes. It ends with its scope; tasks that were submitted before
 * still use it. All nodes make and end buffers in the same order. Not copied; moved, so std::swap works. */
template <class T, int D> class buffer
{
    static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>, "tacit: elements are trivially copyable");
    static_assert(!std::is_same_v<T, bool>, "tacit: take unsigned char for elements that are true or false");

  public:
    /* `init`: the contents, row-major, the same on all nodes, copied. */
    buffer(context &ctx, range<D> extent, const char *name = nullptr, const T *init = nullptr) : extent_(extent)
    {
        tacit_buffer_desc desc = {};
        desc.name = name;
        desc.init = init;
        detail::check(ctx.get(), create(ctx, desc));
    }
    /* With a description; its range and size of elements are those of this type. */
    buffer(context &ctx, range<D> extent, const tacit_buffer_desc &desc) : extent_(extent)
    {
        detail::check(ctx.get(), create(ctx, desc));
    }
    static status try_create(buffer &out, context &ctx, range<D> extent, const tacit_buffer_desc &desc = {})
    {
        buffer b;
        b.extent_ = extent;
        const status s = b.create(ctx, desc);
        if (s == TACIT_OK)
            out = std::move(b);
        return s;
    }
    buffer() : extent_(empty(std::make_index_sequence<D>())) {} /* to be filled by try_create, or by a move */
    buffer(buffer &&other) noexcept
        : core_(std::move(other.core_)), raw_(std::exchange(other.raw_, nullptr)), extent_(other.extent_)
    {
    }
    buffer &operator=(buffer &&other) noexcept
    {
        std::swap(core_, other.core_);
        std::swap(raw_, other.raw_);
        std::swap(extent_, other.extent_);
        return *this;
    }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    ~buffer()
    {
        if (raw_ && core_ && core_->handle)
            tacit_buffer_destroy(core_->handle, raw_);
    }

    const range<D> &extent() const { return extent_; }
    tacit_buffer *get() const { return raw_; }

    /* Set all elements to one value. */
    void fill(const T &value) { detail::check(handle(), try_fill(value)); }
    status try_fill(const T &value) { return tacit_fill(handle(), raw_, &value); }

    /* Another extent: what both have keeps its contents. */
    void resize(range<D> extent) { detail::check(handle(), try_resize(extent)); }
    status try_resize(range<D> extent)
    {
        const status s = tacit_buffer_resize(handle(), raw_, extent.raw());
        if (s == TACIT_OK)
            extent_ = extent;
        return s;
    }

    /* Wait for the newest contents, which all nodes get: all elements, or the one of a buffer without dimensions. */
    auto read() const
    {
        if constexpr (D == 0) {
            T value;
            read(TACIT_BOX_ALL, &value);
            return value;
        } else {
            std::vector<T> values(extent_.count());
            read(TACIT_BOX_ALL, values.data());
            return values;
        }
    }
    /* The elements of a box, to `out`, row-major and packed. */
    void read(box b, T *out) const { detail::check(handle(), try_read(b, out)); }
    status try_read(box b, T *out) const { return tacit_fence_read(handle(), raw_, b, out); }
    /* This node's own part, by the distribution; see tacit_fence_local. */
    void read_local(T *out) const { detail::check(handle(), try_read_local(out)); }
    status try_read_local(T *out) const { return tacit_fence_local(handle(), raw_, out); }

    /* Ask for contents without waiting: those of now, whatever is submitted before they are looked at. */
    ticket<T> fence(box b = TACIT_BOX_ALL) const
    {
        tacit_fence_ticket *raw = nullptr;
        detail::check(handle(), tacit_fence(handle(), raw_, b, &raw));
        return ticket<T>(raw);
    }

    /* Behind accesses. */
    detail::core &core_of() const
    {
        if (!core_)
            detail::raise(TACIT_ERROR_STATE, "this buffer was not created, or its contents were moved away");
        return *core_;
    }

  private:
    template <std::size_t... N> static range<D> empty(std::index_sequence<N...>) { return range<D>((N * 0)...); }
    tacit_context *handle() const { return core_ ? core_->handle : nullptr; }
    status create(context &ctx, tacit_buffer_desc desc)
    {
        desc.range = extent_.raw();
        desc.elem_size = sizeof(T);
        core_ = ctx.core();
        return tacit_buffer_create(ctx.get(), &desc, &raw_);
    }

    std::shared_ptr<detail::core> core_;
    tacit_buffer *raw_ = nullptr;
    range<D> extent_;
};

/* What host tasks share outside of tacit: task("log").on_one_node().uses(object.get()). Ends with its scope. */
class host_object
{
  public:
    explicit host_object(context &ctx) : core_(ctx.core())
    {
        detail::check(ctx.get(), tacit_host_object_create(ctx.get(), &raw_));
    }
    /* With contents of this node, which `end` (or nobody, if it is nullptr) ends. */
    host_object(context &ctx, void *contents, void (*end)(void *) = nullptr) : core_(ctx.core())
    {
        tacit_host_object_desc desc{};
        desc.contents = contents;
        desc.end = end;
        detail::check(ctx.get(), tacit_host_object_create_with(ctx.get(), &desc, &raw_));
    }
    /* When all tasks so far that name it are done on this node: its contents. */
    void *fence()
    {
        void *contents = nullptr;
        detail::check(core_->handle, tacit_host_object_fence(core_->handle, raw_, &contents));
        return contents;
    }
    host_object(host_object &&other) noexcept : core_(std::move(other.core_)), raw_(std::exchange(other.raw_, nullptr))
    {
    }
    ~host_object()
    {
        if (raw_ && core_ && core_->handle)
            tacit_host_object_destroy(core_->handle, raw_);
    }
    tacit_host_object *get() const { return raw_; }

  private:
    std::shared_ptr<detail::core> core_;
    tacit_host_object *raw_ = nullptr;
};

} // namespace tacit

#endif
