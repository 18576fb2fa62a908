/* The memory functions of builds for musl on x86-64.
 *
 * musl copies and moves with string instructions, whose start-up costs more than copying a few hundred bytes, fills long
 * ranges with them, and compares byte by byte. Most copies of this program are that small. Here, up to 128 bytes are copied
 * without a loop: everything is read before anything is written, from both ends, and the two halves may overlap. Longer
 * ranges are copied and filled 64 bytes at a time, the target aligned. String instructions would be faster on some
 * processors for very long ranges, and are many times slower on others.
 *
 * Everything is SSE2, which every x86-64 processor has. flags.rs says how the file is compiled: a loop in here must not
 * become a call of the function that it implements, and the C library calls these functions before it can keep a canary
 * for the stack. */

#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef struct __attribute__((packed, may_alias)) { uint64_t value; } unaligned64;
typedef struct __attribute__((packed, may_alias)) { uint32_t value; } unaligned32;
typedef struct __attribute__((packed, may_alias)) { uint16_t value; } unaligned16;

#define READ64(from) (((const unaligned64 *)(from))->value)
#define READ32(from) (((const unaligned32 *)(from))->value)
#define READ16(from) (((const unaligned16 *)(from))->value)
#define WRITE64(to, what) (((unaligned64 *)(to))->value = (what))
#define WRITE32(to, what) (((unaligned32 *)(to))->value = (what))
#define WRITE16(to, what) (((unaligned16 *)(to))->value = (what))
#define READ128(from) _mm_loadu_si128((const __m128i *)(const void *)(from))
#define WRITE128(to, what) _mm_storeu_si128((__m128i *)(void *)(to), (what))
#define WRITE_ALIGNED(to, what) _mm_store_si128((__m128i *)(void *)(to), (what))

/* How many bytes to the next multiple of 16, from 1 to 16. */
#define TO_ALIGNED(to) (16 - ((uintptr_t)(to) & 15))

/* Copies at most 128 bytes. The ranges may overlap. */
static inline __attribute__((always_inline)) void move_short(unsigned char *to, const unsigned char *from, size_t length) {
    if (length >= 16) {
        __m128i first = READ128(from), last = READ128(from + length - 16);
        if (length > 32) {
            __m128i second = READ128(from + 16), third = READ128(from + length - 32);
            if (length > 64) {
                __m128i a = READ128(from + 32), b = READ128(from + 48);
                __m128i c = READ128(from + length - 64), d = READ128(from + length - 48);
                WRITE128(to + 32, a);
                WRITE128(to + 48, b);
                WRITE128(to + length - 64, c);
                WRITE128(to + length - 48, d);
            }
            WRITE128(to + 16, second);
            WRITE128(to + length - 32, third);
        }
        WRITE128(to, first);
        WRITE128(to + length - 16, last);
    } else if (length >= 8) {
        uint64_t first = READ64(from), last = READ64(from + length - 8);
        WRITE64(to, first);
        WRITE64(to + length - 8, last);
    } else if (length >= 4) {
        uint32_t first = READ32(from), last = READ32(from + length - 4);
        WRITE32(to, first);
        WRITE32(to + length - 4, last);
    } else if (length >= 2) {
        uint16_t first = READ16(from), last = READ16(from + length - 2);
        WRITE16(to, first);
        WRITE16(to + length - 2, last);
    } else if (length == 1) {
        *to = *from;
    }
}

/* Copies more than 128 bytes, lowest address first. The target may begin below the source, but not inside it. */
static inline __attribute__((always_inline)) void move_up(unsigned char *to, const unsigned char *from, size_t length) {
    const unsigned char *end = from + length - 64;
    unsigned char *last = to + length - 64;
    __m128i a = READ128(end), b = READ128(end + 16), c = READ128(end + 32), d = READ128(end + 48);
    __m128i first = READ128(from);
    size_t skipped = TO_ALIGNED(to);
    unsigned char *start = to;
    from += skipped;
    to += skipped;
    __m128i e = READ128(from), f = READ128(from + 16), g = READ128(from + 32), h = READ128(from + 48);
    WRITE128(start, first);
    for (;;) {
        WRITE_ALIGNED(to, e);
        WRITE_ALIGNED(to + 16, f);
        WRITE_ALIGNED(to + 32, g);
        WRITE_ALIGNED(to + 48, h);
        from += 64;
        to += 64;
        if (from >= end) {
            break;
        }
        e = READ128(from), f = READ128(from + 16), g = READ128(from + 32), h = READ128(from + 48);
    }
    WRITE128(last, a);
    WRITE128(last + 16, b);
    WRITE128(last + 32, c);
    WRITE128(last + 48, d);
}

/* Copies more than 128 bytes, highest address first. The target may begin inside the source. */
static inline __attribute__((always_inline)) void move_down(unsigned char *to, const unsigned char *from, size_t length) {
    __m128i a = READ128(from), b = READ128(from + 16), c = READ128(from + 32), d = READ128(from + 48);
    for (size_t left = length; left > 64; left -= 64) {
        const unsigned char *source = from + left - 64;
        unsigned char *target = to + left - 64;
        __m128i e = READ128(source), f = READ128(source + 16), g = READ128(source + 32), h = READ128(source + 48);
        WRITE128(target, e);
        WRITE128(target + 16, f);
        WRITE128(target + 32, g);
        WRITE128(target + 48, h);
    }
    WRITE128(to, a);
    WRITE128(to + 16, b);
    WRITE128(to + 32, c);
    WRITE128(to + 48, d);
}

void *memcpy(void *restrict target, const void *restrict source, size_t length) {
    if (length <= 128) {
        move_short(target, source, length);
    } else {
        move_up(target, source, length);
    }
    return target;
}

void *memmove(void *target, const void *source, size_t length) {
    if (length <= 128) {
        move_short(target, source, length);
    } else if ((uintptr_t)target - (uintptr_t)source >= length) {
        move_up(target, source, length);
    } else {
        move_down(target, source, length);
    }
    return target;
}

void *memset(void *target, int value, size_t length) {
    unsigned char *to = target;
    uint64_t word = (unsigned char)value * UINT64_C(0x0101010101010101);
    if (length < 16) {
        if (length >= 8) {
            WRITE64(to, word);
            WRITE64(to + length - 8, word);
        } else if (length >= 4) {
            WRITE32(to, (uint32_t)word);
            WRITE32(to + length - 4, (uint32_t)word);
        } else if (length >= 2) {
            WRITE16(to, (uint16_t)word);
            WRITE16(to + length - 2, (uint16_t)word);
        } else if (length == 1) {
            *to = (unsigned char)value;
        }
    } else {
        __m128i block = _mm_set1_epi64x((int64_t)word);
        unsigned char *end = to + length;
        WRITE128(to, block);
        to += TO_ALIGNED(to);
        for (; end - to >= 64; to += 64) {
            WRITE_ALIGNED(to, block);
            WRITE_ALIGNED(to + 16, block);
            WRITE_ALIGNED(to + 32, block);
            WRITE_ALIGNED(to + 48, block);
        }
        for (; end - to >= 16; to += 16) {
            WRITE_ALIGNED(to, block);
        }
        WRITE128(end - 16, block);
    }
    return target;
}

/* A bit for each of 16 bytes that differ. */
static inline __attribute__((always_inline)) unsigned differences(const unsigned char *left, const unsigned char *right) {
    return 0xffffU ^ (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(READ128(left), READ128(right)));
}

static inline __attribute__((always_inline)) int order(uint64_t left, uint64_t right) {
    left = __builtin_bswap64(left);
    right = __builtin_bswap64(right);
    return (left > right) - (left < right);
}

int memcmp(const void *one, const void *other, size_t length) {
    const unsigned char *left = one, *right = other;
    if (length >= 16) {
        size_t last = length - 16;
        for (size_t at = 0;; at += 16) {
            if (at > last) {
                at = last;
            }
            unsigned found = differences(left + at, right + at);
            if (found != 0) {
                at += (size_t)__builtin_ctz(found);
                return left[at] - right[at];
            }
            if (at == last) {
                return 0;
            }
        }
    }
    if (length >= 8) {
        int first = order(READ64(left), READ64(right));
        return first != 0 ? first : order(READ64(left + length - 8), READ64(right + length - 8));
    }
    if (length >= 4) {
        int first = order((uint64_t)READ32(left) << 32, (uint64_t)READ32(right) << 32);
        return first != 0 ? first : order((uint64_t)READ32(left + length - 4) << 32, (uint64_t)READ32(right + length - 4) << 32);
    }
    for (size_t at = 0; at < length; at++) {
        if (left[at] != right[at]) {
            return left[at] - right[at];
        }
    }
    return 0;
}

int bcmp(const void *one, const void *other, size_t length) { return memcmp(one, other, length); }
