/* examples/sort_kernels.h: the keys of sort, and its kernels for OpenCL and CUDA devices.
 *
 * A work-item has a piece of the keys, or a bucket, which it sorts as a heap. */
#ifndef TACIT_EXAMPLES_SORT_KERNELS_H
#define TACIT_EXAMPLES_SORT_KERNELS_H

#include <tacit/tacit.h>

#define SORT_KERNELS                                                                                                   \
    "#define PLACE(p, b) TACIT_GET2(uint64_t, places, p, b)\n"                                                         \
    "#define START(b) TACIT_GET1(uint64_t, start, b)\n"                                                                \
    "TACIT_KERNEL count_kept(TACIT_VIEW(kept), TACIT_CHUNK(c), TACIT_VALUE(struct draw_args, a))\n"                    \
    "{\n"                                                                                                              \
    "    TACIT_FOR (p, c, 0) {\n"                                                                                      \
    "        uint64_t sum = 0, key;\n"                                                                                 \
    "        for (uint64_t i = share(a.items, a.pieces, p); i < share(a.items, a.pieces, p + 1); i++)\n"               \
    "            sum += is_kept(a.seed, a.first + i, &key);\n"                                                         \
    "        TACIT_AT1(uint64_t, kept, p) = sum;\n"                                                                    \
    "    }\n"                                                                                                          \
    "}\n"                                                                                                              \
    "TACIT_KERNEL draw(TACIT_VIEW(start), TACIT_VIEW(keys), TACIT_CHUNK(c), TACIT_VALUE(struct draw_args, a))\n"       \
    "{\n"                                                                                                              \
    "    TACIT_FOR (p, c, 0) {\n"                                                                                      \
    "        uint64_t at = TACIT_GET1(uint64_t, start, p), key;\n"                                                     \
    "        for (uint64_t i = share(a.items, a.pieces, p); i < share(a.items, a.pieces, p + 1); i++)\n"               \
    "            if (is_kept(a.seed, a.first + i, &key))\n"                                                            \
    "                TACIT_AT1(uint64_t, keys, at++) = key;\n"                                                         \
    "    }\n"                                                                                                          \
    "}\n"                                                                                                              \
    "TACIT_KERNEL group(TACIT_VIEW(keys), TACIT_VIEW(grouped), TACIT_VIEW(counts), TACIT_CHUNK(c),\n"                  \
    "                   TACIT_VALUE(struct group_args, a))\n"                                                          \
    "{\n"                                                                                                              \
    "    TACIT_FOR (p, c, 0) {\n"                                                                                      \
    "        const uint64_t first = share(a.keys, a.pieces, p), end = share(a.keys, a.pieces, p + 1);\n"               \
    "        TACIT_GLOBAL uint64_t *count = &TACIT_AT2(uint64_t, counts, p, 0);\n"                                     \
    "        for (uint64_t b = 0; b < a.buckets; b++)\n"                                                               \
    "            count[b] = 0;\n"                                                                                      \
    "        for (uint64_t i = first; i < end; i++)\n"                                                                 \
    "            count[bucket_of(TACIT_GET1(uint64_t, keys, i), a.buckets)]++;\n"                                      \
    "        for (uint64_t b = 0, at = first; b < a.buckets; b++)\n"                                                   \
    "            count[b] = at += count[b];\n"                                                                         \
    "        for (uint64_t i = end; i > first; i--) {\n"                                                               \
    "            const uint64_t key = TACIT_GET1(uint64_t, keys, i - 1);\n"                                            \
    "            TACIT_AT1(uint64_t, grouped, --count[bucket_of(key, a.buckets)]) = key;\n"                            \
    "        }\n"                                                                                                      \
    "        for (uint64_t b = 0; b < a.buckets; b++)\n"                                                               \
    "            count[b] = (b + 1 < a.buckets ? count[b + 1] : end) - count[b];\n"                                    \
    "    }\n"                                                                                                          \
    "}\n"                                                                                                              \
    "static void sink(TACIT_GLOBAL uint64_t *heap, uint64_t i, uint64_t n)\n"                                          \
    "{\n"                                                                                                              \
    "    const uint64_t key = heap[i];\n"                                                                              \
    "    for (uint64_t child; (child = 2 * i + 1) < n; i = child) {\n"                                                 \
    "        child += child + 1 < n && heap[child + 1] > heap[child];\n"                                               \
    "        if (heap[child] <= key)\n"                                                                                \
    "            break;\n"                                                                                             \
    "        heap[i] = heap[child];\n"                                                                                 \
    "    }\n"                                                                                                          \
    "    heap[i] = key;\n"                                                                                             \
    "}\n"                                                                                                              \
    "TACIT_KERNEL sort_buckets(TACIT_VIEW(grouped), TACIT_VIEW(places), TACIT_VIEW(start), TACIT_VIEW(sorted),\n"      \
    "                          TACIT_CHUNK(c), TACIT_VALUE(struct group_args, a))\n"                                   \
    "{\n"                                                                                                              \
    "    TACIT_FOR (b, c, 0) {\n"                                                                                      \
    "        const uint64_t first = START(b), n = START(b + 1) - first;\n"                                             \
    "        TACIT_GLOBAL uint64_t *out = &TACIT_AT1(uint64_t, sorted, first);\n"                                      \
    "        uint64_t to = 0;\n"                                                                                       \
    "        for (uint64_t p = 0; p < a.pieces; p++)\n"                                                                \
    "            for (uint64_t i = PLACE(p, b); i < PLACE(p, b + 1); i++)\n"                                           \
    "                out[to++] = TACIT_GET1(uint64_t, grouped, i);\n"                                                  \
    "        for (uint64_t i = n / 2; i > 0; i--)\n"                                                                   \
    "            sink(out, i - 1, n);\n"                                                                               \
    "        for (uint64_t end = n; end > 1; end--) {\n"                                                               \
    "            const uint64_t largest = out[0];\n"                                                                   \
    "            out[0] = out[end - 1];\n"                                                                             \
    "            out[end - 1] = largest;\n"                                                                            \
    "            sink(out, 0, end - 1);\n"                                                                             \
    "        }\n"                                                                                                      \
    "    }\n"                                                                                                          \
    "}\n"                                                                                                              \
    "TACIT_KERNEL check(TACIT_VIEW(sorted), TACIT_VIEW(start), TACIT_VIEW(sums), TACIT_CHUNK(c))\n"                    \
    "{\n"                                                                                                              \
    "    TACIT_GLOBAL uint64_t *sum = TACIT_RESULT(uint64_t, sums);\n"                                                 \
    "    TACIT_GROUP_EACH (i, 2)\n"                                                                                    \
    "        sum[i] = 0;\n"                                                                                            \
    "    TACIT_BARRIER();\n"                                                                                           \
    "    TACIT_EACH (b, c, 0)\n"                                                                                       \
    "        for (uint64_t i = START(b); i < START(b + 1); i++) {\n"                                                   \
    "            const uint64_t key = TACIT_GET1(uint64_t, sorted, i);\n"                                              \
    "            TACIT_ADD(&sum[0], i > 0 && TACIT_GET1(uint64_t, sorted, i - 1) > key);\n"                            \
    "            TACIT_ADD(&sum[1], random_bits(key));\n"                                                              \
    "        }\n"                                                                                                      \
    "}\n"

TACIT_BOTH(
    sort_text, SORT_KERNELS,
    /* The candidates [first, first + items) in pieces. */
    struct draw_args { uint64_t seed, first, items, pieces; };

    struct group_args { uint64_t keys, pieces, buckets; };

    /* Random number i (splitmix64), which needs none before it. */
    static uint64_t random_bits(uint64_t i) {
        uint64_t x = (i + 1) * 0x9e3779b97f4a7c15;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return x ^ (x >> 31);
    }

    /* Candidate i. It is kept with the probability (1 - key / 2^64)^4: one in five, and of small keys nearly all. */
    static bool is_kept(uint64_t seed, uint64_t i, uint64_t *key) {
        uint64_t at = (seed << 40) + 2 * i;
        *key = random_bits(at);
        uint64_t t = 0xffffffff - (*key >> 32);
        uint64_t t2 = t * t >> 32;
        return random_bits(at + 1) >> 32 < t2 * t2 >> 32;
    }

    static uint64_t bucket_of(uint64_t key, uint64_t buckets) { return (key >> 32) * buckets >> 32; }

    /* Where part i begins if n things are dealt to `parts`. */
    static uint64_t share(uint64_t n, uint64_t parts, uint64_t i) {
        return n / parts * i + (i < n % parts ? i : n % parts);
    });

#endif
