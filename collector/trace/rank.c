/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/trace/rank.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/proc_stat.h"

/* A process can say that its environment is anywhere, and as large as it likes. */
#define MAX_ENVIRON (1 << 20)

/* Slurm's number is that of the launched process: a launcher of MPI that it started has ranks of
 * its own. */
static const char *const names[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK",
                                    "SLURM_PROCID"};

struct scan {
    char variable[64]; /* longer ones are not ranks */
    size_t n;
    size_t best; /* the index in `names` of the rank */
    uint32_t rank;
};

static void use_variable(struct scan *scan)
{
    uint64_t rank;

    for (size_t i = 0; i < scan->best; i++) {
        size_t n = strlen(names[i]);

        if (strncmp(scan->variable, names[i], n) != 0 || scan->variable[n] != '=')
            continue;
        if (number_parse(scan->variable + n + 1, 0, UINT32_MAX, &rank) < 0)
            return;
        scan->best = i;
        scan->rank = (uint32_t)rank;
        return;
    }
}

static void use_char(struct scan *scan, char c)
{
    if (c && scan->n < sizeof(scan->variable))
        scan->variable[scan->n++] = c;
    if (c)
        return;
    if (scan->n < sizeof(scan->variable)) {
        scan->variable[scan->n] = '\0';
        use_variable(scan);
    }
    scan->n = 0;
}

/* Returns false if not all was read: a variable that counts more may be in the rest. */
static bool scan_file(FILE *file, struct scan *scan)
{
    char piece[4096];
    size_t n, all = 0;

    while ((n = fread(piece, 1, sizeof(piece), file)) > 0 && (all += n) <= MAX_ENVIRON)
        for (size_t i = 0; i < n; i++)
            use_char(scan, piece[i]);
    use_char(scan, '\0');
    return !n && all && !ferror(file);
}

static bool is_younger(const char *proc, uint32_t pid, uint64_t seen_ns)
{
    _fclose_ FILE *file = NULL;
    char path[256], line[1024];
    uint64_t ticks, start_ns;

    (void)snprintf(path, sizeof(path), "%.200s/%u/stat", proc, pid);
    file = fopen(path, "re");
    if (!file || !fgets(line, sizeof(line), file) ||
        proc_stat_number(line, PROC_STAT_START, &ticks) < 0)
        return true;
    start_ns = ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    return clock_ns(CLOCK_BOOTTIME) - start_ns < clock_ns(CLOCK_MONOTONIC) - seen_ns;
}

enum rank_state rank_read(const char *proc, uint32_t pid, uint64_t seen_ns, uint32_t *ret)
{
    struct scan scan = {.best = ARRAY_SIZE(names)};
    _fclose_ FILE *file = NULL;
    char path[256];

    (void)snprintf(path, sizeof(path), "%.200s/%u/environ", proc, pid);
    file = fopen(path, "re");
    /* The age last: what was read is of this process, or of one before it. */
    if (!file || !scan_file(file, &scan) || is_younger(proc, pid, seen_ns))
        return RANK_UNREAD;
    if (scan.best == ARRAY_SIZE(names))
        return RANK_NONE;
    *ret = scan.rank;
    return RANK_FOUND;
}
