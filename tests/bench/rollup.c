/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup STORE: make the daily sums as jobiod does in the background, and print the time. */
#include <stdio.h>
#include <time.h>

#include "collector/store/store.h"

static double now_s(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct store_options options = {.path = argc == 2 ? argv[1] : NULL};
    double begun = now_s(CLOCK_PROCESS_CPUTIME_ID), longest = 0;
    uint64_t real_ns = (uint64_t)time(NULL) * 1000000000u;
    struct store *store = NULL;
    struct error error;
    unsigned sweeps = 0;
    bool more = true;
    int r;

    if (!options.path) {
        (void)fputs("usage: rollup STORE\n", stderr);
        return 2;
    }
    r = store_open(&store, &options, &error);
    for (; r == 0 && more; sweeps++) {
        double start = now_s(CLOCK_PROCESS_CPUTIME_ID), took;

        r = store_sweep(store, real_ns, &more, &error);
        took = now_s(CLOCK_PROCESS_CPUTIME_ID) - start;
        longest = took > longest ? took : longest;
    }
    store_close(store);
    if (r < 0) {
        (void)fprintf(stderr, "rollup: %s\n", error.text);
        return 1;
    }
    (void)printf("sums of days: %.1f s of the processor in %u parts, the longest %.0f ms\n",
                 now_s(CLOCK_PROCESS_CPUTIME_ID) - begun, sweeps, longest * 1000);
    return 0;
}
