/* Compares the memory functions of static builds with loops over bytes, for every length up to 400 and for some long ones,
 * at both ends of a page whose neighbours cannot be read: reading or writing one byte too many ends the program.
 * Prints the number of comparisons, or the first that failed. */

#define memcpy tested_memcpy
#define memmove tested_memmove
#define memset tested_memset
#define memcmp tested_memcmp
#define bcmp tested_bcmp
#include "../../src/system/musl/memory.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef bcmp

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 16384, EVERY = 400 };

static const size_t LONG_LENGTHS[] = {511, 512, 513, 1000, 2047, 2048, 2049, 2111, 4096, 4097, 8191};
static unsigned long comparisons;

static void check(int holds, const char *what, size_t length, size_t other) {
    comparisons++;
    if (!holds) {
        printf("%s is wrong: length %zu, %zu\n", what, length, other);
        exit(1);
    }
}

/* Room between two pages that cannot be touched. */
static unsigned char *guarded(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *area = mmap(NULL, ROOM + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED || mprotect(area + page, ROOM, PROT_READ | PROT_WRITE) != 0) {
        perror("guarded memory");
        exit(1);
    }
    return area + page;
}

static unsigned char pattern(size_t at) { return (unsigned char)(at * 131 + (at >> 8) * 17 + 7); }

static void fill(unsigned char *room) {
    for (size_t at = 0; at < ROOM; at++) {
        room[at] = pattern(at);
    }
}

/* Whether the room holds its pattern, except for what was copied from one place to another. */
static int is_moved(const unsigned char *room, size_t to, size_t from, size_t length) {
    for (size_t at = 0; at < ROOM; at++) {
        unsigned char expected = at >= to && at < to + length ? pattern(at - to + from) : pattern(at);
        if (room[at] != expected) {
            return 0;
        }
    }
    return 1;
}

static void copies(unsigned char *room, unsigned char *other, size_t length) {
    size_t places[] = {0, 1, 7, ROOM - length};
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 4; j++) {
            fill(other);
            fill(room);
            void *returned = tested_memcpy(room + places[i], other + places[j], length);
            check(returned == room + places[i] && is_moved(room, places[i], places[j], length), "memcpy", length, i * 4 + j);
        }
    }
}

static void moves(unsigned char *room, size_t length) {
    size_t distances[] = {0, 1, 2, 8, 15, 16, 31, 63, 64, 65, 127, 128, 129, length / 2, length, length + 1};
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        size_t far = ROOM - length - (distances[i] > ROOM - length ? ROOM - length : distances[i]);
        size_t pairs[][2] = {{distances[i], 0}, {0, distances[i]}, {ROOM - length, far}, {far, ROOM - length}};
        for (size_t j = 0; j < 4; j++) {
            if (pairs[j][0] + length > ROOM || pairs[j][1] + length > ROOM) {
                continue;
            }
            fill(room);
            void *returned = tested_memmove(room + pairs[j][0], room + pairs[j][1], length);
            check(returned == room + pairs[j][0] && is_moved(room, pairs[j][0], pairs[j][1], length), "memmove", length, i);
        }
    }
}

static void fills(unsigned char *room, size_t length) {
    size_t places[] = {0, 1, 7, ROOM - length};
    for (size_t i = 0; i < 4; i++) {
        fill(room);
        void *returned = tested_memset(room + places[i], 0x1a5, length);
        int holds = returned == room + places[i];
        for (size_t at = 0; at < ROOM; at++) {
            holds &= room[at] == (at >= places[i] && at < places[i] + length ? 0xa5 : pattern(at));
        }
        check(holds, "memset", length, i);
    }
}

/* The first difference decides, as unsigned bytes; what follows it, and what lies behind the end, does not. */
static void orders(unsigned char *room, unsigned char *other, size_t length) {
    unsigned char *ends[][2] = {{room, other}, {room + ROOM - length, other + ROOM - length}, {room + 1, other + 1}};
    for (size_t i = 0; i < 3; i++) {
        unsigned char *left = ends[i][0], *right = ends[i][1];
        fill(room);
        fill(other);
        if (left + length < room + ROOM) {
            left[length] ^= 0xff;
        }
        check(tested_memcmp(left, right, length) == 0 && tested_bcmp(left, right, length) == 0, "memcmp", length, i);
        for (size_t at = 0; at < length; at++) {
            unsigned char before = left[at], next = at + 1 < length ? left[at + 1] : 0;
            left[at] = 0x7f;
            right[at] = 0x80;
            if (at + 1 < length) {
                left[at + 1] = 0xff;
                right[at + 1] = 0x00;
            }
            check(tested_memcmp(left, right, length) < 0, "memcmp, less", length, at);
            check(tested_memcmp(right, left, length) > 0, "memcmp, greater", length, at);
            check(tested_bcmp(left, right, length) != 0, "bcmp", length, at);
            left[at] = right[at] = before;
            if (at + 1 < length) {
                left[at + 1] = right[at + 1] = next;
            }
        }
    }
}

int main(void) {
    unsigned char *room = guarded(), *other = guarded();
    for (size_t i = 0; i <= EVERY + sizeof LONG_LENGTHS / sizeof *LONG_LENGTHS; i++) {
        size_t length = i <= EVERY ? i : LONG_LENGTHS[i - EVERY - 1];
        copies(room, other, length);
        moves(room, length);
        fills(room, length);
        orders(room, other, length);
    }
    printf("%lu comparisons hold\n", comparisons);
    return 0;
}
