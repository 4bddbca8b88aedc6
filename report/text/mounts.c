/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of mounts. */
#define _GNU_SOURCE /* asprintf */
#include "config.h"

#include "report/text/text_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "report/layout.h"
#include "report/table.h"

char *text_waiting_short(const struct text *t, uint64_t time_ns, char buf[UNITS_SIZE])
{
    double percent = summary_waiting(&t->s, time_ns);

    if (percent <= 0)
        return strcpy(buf, "-");
    if (percent < 1)
        return strcpy(buf, "<1%");
    snprintf(buf, UNITS_SIZE, "%.0f%%", percent);
    return buf;
}

/* With the mount they take 80 columns. */
enum column {
    MOUNT,
    READ,
    READ_MEAN,
    READ_PEAK,
    WRITE,
    WRITE_MEAN,
    WRITE_PEAK,
    CALLS,
    SIZE,
    META,
    ERRORS,
    WAIT
};

static const struct table_column columns[] = {
    [MOUNT] = {"mount", 0, 0, true, 0}, /* as wide as the others leave room for */
    [READ] = {"read", 7, 0, false, 0},
    [READ_MEAN] = {"mean/s", 7, 80, false, 0},
    [READ_PEAK] = {"peak/s", 7, 70, false, 0},
    [WRITE] = {"write", 7, 0, false, 0},
    [WRITE_MEAN] = {"mean/s", 7, 80, false, 0},
    [WRITE_PEAK] = {"peak/s", 7, 70, false, 0},
    [CALLS] = {"calls", 6, 60, false, 0},
    [SIZE] = {"~size", 7, 40, false, 0}, /* hidden first if names need the room */
    [META] = {"meta", 5, 40, false, 0},
    [ERRORS] = {"errs", 5, 50, false, 0},
    [WAIT] = {"wait", 5, 0, false, 0},
};

#define LEAST_MOUNT 8
#define MOST_MOUNT 32

/* The columns that the other cells leave for the mount. */
static unsigned room_for_mounts(const struct table *table, const struct text *t)
{
    unsigned used = table_width(table), all = (unsigned)text_columns(t);

    return all > used + LEAST_MOUNT ? all - used : LEAST_MOUNT;
}

/* The width of the longest name of the first `limit` mounts, with a star behind it. */
static size_t longest_name(const struct text *t, size_t limit)
{
    size_t longest = LEAST_MOUNT;

    for (size_t i = 0; i < t->s.n && i < limit; i++) {
        _free_ char *name = layout_fit(t->s.rows[i].mount->mount, MOST_MOUNT);
        size_t width = (name ? layout_width(name) : 0) + t->s.rows[i].mount->private;

        longest = width > longest ? width : longest;
    }
    return longest > MOST_MOUNT ? MOST_MOUNT : longest;
}

static struct table mounts_table(FILE *out, const struct text *t, size_t limit)
{
    struct table table = table_make(out, columns, ARRAY_SIZE(columns), text_columns(t));
    unsigned room = room_for_mounts(&table, t);

    if (longest_name(t, limit) > room) {
        table.columns[SIZE].width = 0;
        room = room_for_mounts(&table, t);
    }
    table.columns[MOUNT].width = room;
    table.brief = true;
    if (summary_has_peak_bounds(t->s.job))
        table.columns[READ_PEAK].title = table.columns[WRITE_PEAK].title = ">=peak";
    return table;
}

static uint64_t peak_of(const struct text *t, uint64_t peak, uint64_t mean)
{
    return peak && summary_has_peak_bounds(t->s.job) ? max_u64(peak, mean) : peak;
}

static void table_row(struct table *table, const struct text *t, const struct summary_row *row,
                      const char *name)
{
    uint64_t requests = row->sums.reads.requests, elapsed = t->s.job->elapsed_ns;
    uint64_t reads = io_per_second(row->sums.reads.bytes, elapsed);
    uint64_t writes = io_per_second(row->sums.writes.bytes, elapsed);
    char buf[UNITS_SIZE];

    add_saturating(&requests, row->sums.writes.requests);
    table_cell(table, name);
    table_bytes(table, row->sums.reads.bytes);
    table_bytes(table, reads);
    table_bytes(table, peak_of(t, row->read_peak, reads));
    table_bytes(table, row->sums.writes.bytes);
    table_bytes(table, writes);
    table_bytes(table, peak_of(t, row->write_peak, writes));
    table_count(table, requests);
    table_cell(table, units_bytes_bound_short(io_quantile(row->sizes, 0.5, io_size_bound), buf));
    table_count(table, row->shown.meta.requests);
    table_count(table, row->shown.all.errors);
    table_cell(table, text_waiting_short(t, row->sums.all.time_ns, buf));
    table_end(table);
}

/* A mount in the job's own namespace may have the name of another one: it gets a star. */
static void mount_row(struct table *table, const struct text *t, const struct summary_row *row)
{
    bool own = row->mount->private;
    _free_ char *name = layout_fit(row->mount->mount, table->columns[MOUNT].width - own);
    _free_ char *starred = NULL;

    if (own && name && asprintf(&starred, "%s*", name) < 0)
        starred = NULL;
    table_row(table, t, row, own && starred ? starred : name ? name : "?");
}

/* Failed opens that reached no file system: worth a line when there are many, or when they took
 * time. The account has all of them. */
static bool is_worth_a_row(const struct text *t, const struct summary_row *row)
{
    return strcmp(row->mount->mount, IO_NO_MOUNT) != 0 || row->sums.all.errors >= 1000 ||
           summary_waiting(&t->s, row->sums.all.time_ns) >= 1;
}

void text_table(FILE *out, const struct text *t, size_t limit)
{
    struct table table = mounts_table(out, t, limit);
    _free_ char *mapped = limit ? summary_mapped(&t->s) : NULL;
    struct summary_row rest = {0};
    size_t shown = 0, others = 0;
    bool star = false, aggregated = false;

    if (!t->s.n) {
        fputs(job_not_counted(t->s.job) ? "" : "no I/O was counted\n", out);
        return;
    }
    table_titles(&table);
    for (size_t i = 0; i < t->s.n; i++) {
        const struct summary_row *row = &t->s.rows[i];

        aggregated = aggregated || strcmp(row->mount->mount, IO_OTHER_MOUNTS) == 0;
        if (!is_worth_a_row(t, row))
            continue;
        if (shown == limit) {
            summary_row_add(&rest, row);
            others++;
            continue;
        }
        mount_row(&table, t, row);
        star = star || row->mount->private;
        shown++;
    }
    if (others) {
        char name[UNITS_SIZE];

        /* The busiest intervals of two mounts need not be the same one: no peak of the sum. */
        rest.read_peak = rest.write_peak = 0;
        snprintf(name, sizeof(name), "%u more", (unsigned)others);
        table_row(&table, t, &rest, name);
    }
    if (star)
        text_lines(out, t, TEXT_PLAIN, "* mounted in the job's own namespace only", 2);
    if (aggregated)
        text_lines(out, t, TEXT_PLAIN,
                   IO_OTHER_MOUNTS ": a step used more mounts than are counted separately", 2);
    if (mapped)
        text_lines(out, t, TEXT_PLAIN, mapped, 2);
}
