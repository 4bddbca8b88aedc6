// SPDX-License-Identifier: GPL-2.0-or-later
// Print the frequency of this machine's time stamp counter, in kHz.
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define TRIES 50

struct moment {
    uint64_t ticks, ns;
};

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// The reading that was interrupted least: on a busy machine another process may run within one.
static struct moment moment_read(void)
{
    struct moment best = {0, 0};
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        uint64_t before = __rdtsc();
        uint64_t ns = clock_ns();
        uint64_t took = __rdtsc() - before;

        if (took < least) {
            least = took;
            best = (struct moment){before + took / 2, ns};
        }
    }
    return best;
}

int main(void)
{
    struct moment start = moment_read(), end;

    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    end = moment_read();
    printf("%.0f\n", (double)(end.ticks - start.ticks) * 1e6 / (double)(end.ns - start.ns));
    return 0;
}
