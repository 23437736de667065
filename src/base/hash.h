/* Hashes of many words at a time: sums of products that do not wait for each other.
 *
 * Equal on all machines of one byte order. Any thread. */
#ifndef TI_HASH_H
#define TI_HASH_H

#include <stdint.h>
#include <string.h>

#define TI_HASH_KEY 0x9e3779b97f4a7c15u

/* The two halves of a product of 128 bits, each of which depends on all bits of the factors that matter. */
static inline uint64_t ti_hash_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* One more word: not symmetric, so that the order counts. */
static inline uint64_t ti_hash_mix(uint64_t h, uint64_t w)
{
    return ti_hash_fold(h ^ TI_HASH_KEY, w ^ 0xa0761d6478bd642fu);
}

/* The 16 bytes at `p`, which are pair number `place` of what is hashed: hashes of pairs are added up. */
static inline uint64_t ti_hash_pair(const void *p, uint64_t place)
{
    uint64_t word[2], key = (place + 1) * TI_HASH_KEY;
    memcpy(word, p, sizeof(word));
    return ti_hash_fold(word[0] ^ key, word[1] ^ ~key);
}

/* `size` bytes; what is missing to a pair counts as zeros. */
static inline uint64_t ti_hash_bytes(const void *data, size_t size)
{
    char rest[16] = { 0 };
    size_t pairs = size / sizeof(rest);
    uint64_t h = 0;
    for (size_t i = 0; i < pairs; i++) {
        h += ti_hash_pair((const char *)data + i * sizeof(rest), i);
    }
    memcpy(rest, (const char *)data + pairs * sizeof(rest), size % sizeof(rest));
    return ti_hash_mix(h + ti_hash_pair(rest, pairs), size);
}

#endif
